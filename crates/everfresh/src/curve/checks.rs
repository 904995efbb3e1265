//! The conformance suite: what every divergence curve must satisfy.
//!
//! ```
//! use everfresh::curve::{Exponential, checks};
//! use everfresh::{Rate, Unit};
//!
//! checks::conforms(checks::DivergenceUnit::Share, |stretch| {
//!     Exponential::new(Rate::per(3.0 / stretch, Unit::Day).unwrap())
//! });
//! ```

use super::DivergenceCurve;
use crate::units::Period;

/// The unit of a curve's divergence, which says how its utility answers to stretched time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivergenceUnit {
    /// A number without a unit: stretching time by s scales U by s.
    Share,
    /// A time, such as age: stretching time by s scales D by s and U by s².
    Time,
}

/// Asserts the whole suite for a curve that `make` builds with time stretched by its argument (1 is the curve itself).
///
/// * `D(0) = area(0) = U(0) = 0`; D, area and U do not decrease;
/// * `area' = D` and `D' = slope`, by differences;
/// * the mean divergence is `area / t`, and the mean freshness one less it;
/// * `U = t D - area`, within the rounding of the larger terms, and U stays at or below the ceiling;
/// * `period` is the inverse of U: at once for nothing, never at the ceiling;
/// * units: stretching time by s scales D and U as [`DivergenceUnit`] says.
///
/// # Panics
///
/// Panics with the property, the time and both values where one does not hold.
pub fn conforms<C: DivergenceCurve>(unit: DivergenceUnit, make: impl Fn(f64) -> C) {
    let curve = make(1.0);
    check_start(&curve);
    check_end(&curve);
    for window in times().collect::<Vec<_>>().windows(2) {
        check_monotone(&curve, window[0], window[1]);
        check_area_is_the_integral(&curve, window[0], window[1]);
    }
    for t in times() {
        check_utility_identity(&curve, t);
        check_period_inverts(&curve, t);
        for stretch in [0.125, 3.0, 4096.0] {
            check_stretch(unit, &curve, &make(stretch), t, stretch);
        }
    }
}

/// Twelve decades of elapsed time, from a hundredth of a second to three centuries.
fn times() -> impl Iterator<Item = Period> {
    (0..=480).map(|i| Period::raw(1e-2 * 10f64.powf(f64::from(i) / 40.0)))
}

#[track_caller]
fn near(property: &str, at: Period, left: f64, right: f64, tolerance: f64) {
    let same = left == right || (left - right).abs() <= tolerance;
    assert!(same, "{property} at {at}: {left} is not {right} within {tolerance:e}");
}

fn check_start<C: DivergenceCurve>(curve: &C) {
    let zero = Period::ZERO;
    near("D(0) = 0", zero, curve.divergence(zero), 0.0, 0.0);
    near("area(0) = 0", zero, curve.area(zero), 0.0, 0.0);
    near("U(0) = 0", zero, curve.utility(zero), 0.0, 0.0);
    near("mean divergence of no period", zero, curve.mean_divergence(zero), 0.0, 0.0);
    near("mean freshness of no period", zero, curve.mean_freshness(zero), 1.0, 0.0);
    assert!(curve.slope(zero) >= 0.0, "slope at the start: {}", curve.slope(zero));
    for nothing in [0.0, -1.0, f64::NEG_INFINITY] {
        assert_eq!(curve.period(nothing), zero, "a utility of {nothing} is reached at once");
    }
}

fn check_end<C: DivergenceCurve>(curve: &C) {
    let never = Period::NEVER;
    let values =
        [curve.divergence(never), curve.area(never), curve.utility(never), curve.ceiling(), curve.slope(never)];
    assert!(values.iter().all(|v| *v >= 0.0), "D, area, U, ceiling and slope after an infinite time: {values:?}");
    near("U ends at its ceiling", never, curve.utility(never), curve.ceiling(), 1e-12 * curve.ceiling());
    assert_eq!(curve.period(f64::INFINITY), never, "no visit gains an infinite utility");
    for beyond in [curve.ceiling() + f64::MIN_POSITIVE, curve.ceiling() * 2.0 + f64::MIN_POSITIVE] {
        assert_eq!(curve.period(beyond), never, "no visit is made for a gain of {beyond}, the ceiling or more");
    }
}

fn check_monotone<C: DivergenceCurve>(curve: &C, t: Period, later: Period) {
    for (name, now, then) in [
        ("D", curve.divergence(t), curve.divergence(later)),
        ("area", curve.area(t), curve.area(later)),
        ("U", curve.utility(t), curve.utility(later)),
    ] {
        assert!(now >= 0.0 && then >= now * (1.0 - 1e-14), "{name} must not fall: {now} at {t}, {then} at {later}");
    }
    let (u, ceiling) = (curve.utility(later), curve.ceiling());
    assert!(u <= ceiling * (1.0 + 1e-14), "U = {u} is above its ceiling {ceiling} at {later}");
}

/// `area(b) - area(a)` against Simpson's rule, or against the bounds `D(a)` and `D(b)` where the curve has a corner.
fn check_area_is_the_integral<C: DivergenceCurve>(curve: &C, a: Period, b: Period) {
    let width = b.seconds() - a.seconds();
    let mid = Period::raw(a.seconds() + width / 2.0);
    let gained = curve.area(b) - curve.area(a);
    let (low, high) = (curve.divergence(a) * width, curve.divergence(b) * width);
    let slack = 1e-13 * (curve.area(b) + high);
    assert!(gained >= low - slack && gained <= high + slack, "area over {a}..{b}: {gained} is not in {low}..{high}");
    let (slope_a, slope_m, slope_b) = (curve.slope(a), curve.slope(mid), curve.slope(b));
    let smooth = (slope_a - slope_b).abs() < 0.2 * slope_m && slope_m >= slope_a.min(slope_b) * (1.0 - 1e-9);
    if smooth {
        let simpson = (low + high + 4.0 * curve.divergence(mid) * width) / 6.0;
        near("area' = D", a, gained, simpson, 2e-4 * (high - low) + slack);
        let mean_slope = (slope_a + 4.0 * slope_m + slope_b) / 6.0;
        let rise = curve.divergence(b) - curve.divergence(a);
        near("D' = slope", a, rise, mean_slope * width, 2e-3 * rise.abs() + 1e-13 * curve.divergence(b));
    }
}

fn check_utility_identity<C: DivergenceCurve>(curve: &C, t: Period) {
    let (rising, area) = (t.seconds() * curve.divergence(t), curve.area(t));
    near("U = t D - area", t, curve.utility(t), rising - area, 1e-13 * (rising + area));
    near("mean divergence = area / t", t, curve.mean_divergence(t) * t.seconds(), area, 1e-14 * area);
    near("freshness = 1 - mean divergence", t, curve.mean_freshness(t), 1.0 - area / t.seconds(), 1e-13);
}

/// `period(U(t))` comes back to t where U rises; at a jump or on a level stretch to the first time with that utility.
fn check_period_inverts<C: DivergenceCurve>(curve: &C, t: Period) {
    let utility = curve.utility(t);
    if utility >= curve.ceiling() * (1.0 - 1e-12) {
        return;
    }
    let found = curve.period(utility);
    // How far a rounding error of U moves the period: little where U is steep, far where it is almost level.
    let elasticity = t.seconds().powi(2) * curve.slope(t) / utility;
    if elasticity > 0.0 {
        near("period(U(t)) = t", t, found.seconds(), t.seconds(), t.seconds() * (1e-13 + 4e-15 / elasticity));
    } else {
        assert!(found <= t, "the first time with the utility of {t} is {found}");
    }
    let again = curve.utility(found);
    assert!(again >= utility * (1.0 - 1e-12), "U(period(u)) = {again} is below u = {utility} at {found}");
}

fn check_stretch<C: DivergenceCurve>(unit: DivergenceUnit, curve: &C, stretched: &C, t: Period, stretch: f64) {
    let scale = match unit {
        DivergenceUnit::Share => 1.0,
        DivergenceUnit::Time => stretch,
    };
    let later = Period::raw(t.seconds() * stretch);
    let (d, u) = (curve.divergence(t) * scale, curve.utility(t) * scale * stretch);
    near("stretched D", t, stretched.divergence(later), d, 1e-12 * d);
    near("stretched U", t, stretched.utility(later), u, 1e-12 * u);
}
