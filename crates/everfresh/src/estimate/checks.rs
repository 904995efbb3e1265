//! The conformance suite: what every estimator must satisfy.
//!
//! ```
//! use everfresh::estimate::{Naive, checks};
//!
//! checks::conforms(|_| Naive::new());
//! ```

use super::{Estimator, LEVEL, Observation};
use crate::units::Period;

/// Asserts the whole suite for an estimator that `make` builds with time stretched by its argument (1 is the estimator
/// itself): one with a prior stretches its times, one without ignores it.
///
/// * whatever is observed, in whatever order and at whatever lengths, the estimate is finite, lies in its interval or
///   at its edge, and nothing is NaN;
/// * nothing observed is nothing known;
/// * the probability of a change starts at 0, does not fall, and stays at or below 1;
/// * quick changes do not lower the estimate, a quiet time does not raise it;
/// * units: stretching time by s divides every rate by s.
///
/// # Panics
///
/// Panics with the property, the history and the values where one does not hold.
pub fn conforms<E: Estimator + Clone>(make: impl Fn(f64) -> E) {
    let fresh = make(1.0);
    let estimate = fresh.estimate();
    assert_eq!(estimate.knowledge.changes, 0.0, "nothing observed is nothing known");
    assert_eq!(estimate.knowledge.exposure, Period::ZERO, "nothing observed is nothing known");
    check_sane(&fresh, "nothing observed");
    for (name, history) in histories() {
        let mut estimator = make(1.0);
        for observation in &history {
            estimator.observe(observation);
            check_sane(&estimator, name);
        }
        check_direction(&estimator, &fresh, name);
        for stretch in [0.125, 4096.0] {
            check_stretch(&estimator, make(stretch), stretch, &history, name);
        }
    }
}

fn days(n: f64) -> Period {
    Period::raw(n * 86_400.0)
}

/// An observation, from values that are legal by construction.
fn observed(elapsed: f64, kind: usize) -> Option<Observation> {
    match kind % 5 {
        0 | 1 => Observation::unchanged(days(elapsed)),
        2 => Observation::changed(days(elapsed)),
        3 => Observation::last_change(days(elapsed), days(elapsed * 0.3)),
        _ => Observation::changes(days(elapsed), 4),
    }
    .ok()
}

/// Histories of visits: none, all and some changed, regular and not, tiny and huge times, and every kind mixed.
fn histories() -> Vec<(&'static str, Vec<Observation>)> {
    let make = |n: usize, f: &dyn Fn(usize) -> (f64, usize)| -> Vec<Observation> {
        (0..n).filter_map(|i| observed(f(i).0, f(i).1)).collect()
    };
    // Lengths that look irregular and need no randomness: golden-ratio steps over four decades.
    let irregular = |i: usize| 10f64.powf((i as f64 * 0.618_034).fract() * 4.0 - 2.0);
    vec![
        ("one quiet visit", make(1, &|_| (1.0, 0))),
        ("one changed visit", make(1, &|_| (1.0, 2))),
        ("never changed", make(50, &|_| (1.0, 0))),
        ("always changed", make(50, &|_| (1.0, 2))),
        ("every third changed", make(60, &|i| (1.0, if i % 3 == 0 { 2 } else { 0 }))),
        ("irregular", make(200, &|i| (irregular(i), if i % 3 == 0 { 2 } else { 0 }))),
        ("irregular, always changed", make(200, &|i| (irregular(i), 2))),
        ("last changes", make(30, &|i| (irregular(i), 3))),
        ("counts", make(30, &|i| (irregular(i), 4))),
        ("everything", make(100, &|i| (irregular(i), i))),
        ("microseconds", make(20, &|i| (1e-11, i))),
        ("ages", make(20, &|i| (1e9, i))),
        ("a microsecond, then ages", make(20, &|i| (if i % 2 == 0 { 1e-11 } else { 1e9 }, i / 2))),
    ]
}

fn check_sane<E: Estimator>(estimator: &E, name: &str) {
    let estimate = estimator.estimate();
    let (rate, interval, knowledge) = (estimate.rate, estimate.interval, estimate.knowledge);
    assert!(rate.per_second().is_finite(), "{name}: the rate is finite: {estimate:?}");
    assert_eq!(interval.level, LEVEL, "{name}");
    assert!(interval.high.is_none_or(|high| high >= interval.low), "{name}: the interval is in order: {estimate:?}");
    assert!(interval.high.is_none_or(|high| high.per_second().is_finite()), "{name}: an end is finite: {estimate:?}");
    let near = |rate: f64| crate::units::Rate::estimated(rate);
    let (a_bit_less, a_bit_more) = (near(rate.per_second() * (1.0 - 1e-6)), near(rate.per_second() * (1.0 + 1e-6)));
    let lies_within = interval.contains(rate) || interval.contains(a_bit_less) || interval.contains(a_bit_more);
    assert!(lies_within, "{name}: the rate lies in its interval: {estimate:?}");
    assert!(knowledge.changes >= 0.0 && knowledge.changes.is_finite(), "{name}: knowledge: {estimate:?}");
    assert!(knowledge.exposure >= Period::ZERO && knowledge.exposure < Period::NEVER, "{name}: {estimate:?}");
    assert_eq!(estimator.change_probability(Period::ZERO), 0.0, "{name}: no time, no change");
    let mut before = 0.0;
    for step in 0..40 {
        let probability = estimator.change_probability(Period::raw(1e-3 * 10f64.powf(f64::from(step) / 3.0)));
        assert!(
            probability >= before - 1e-12 && probability <= 1.0 + 1e-12,
            "{name}: the probability of a change must not fall nor exceed 1: {before} {probability}"
        );
        before = probability;
    }
}

fn check_direction<E: Estimator + Clone>(estimator: &E, fresh: &E, name: &str) {
    let rate = estimator.estimate().rate.per_second();
    if rate == 0.0 {
        return;
    }
    // Quiet for as long as changes are apart on average; bias corrections may outweigh a shorter time.
    let mean = (1.0 / rate).clamp(1e-18, 1e18);
    let after = |observation: crate::Result<Observation>| {
        let mut next = estimator.clone();
        if let Ok(observation) = observation {
            next.observe(&observation);
        }
        next.estimate().rate.per_second()
    };
    // What forgets returns to where it began.
    let begun = fresh.estimate().rate.per_second();
    let begun = if begun > 0.0 { begun } else { rate };
    let quiet = after(Observation::unchanged(Period::raw(mean)));
    assert!(quiet <= rate.max(begun) * (1.0 + 1e-6), "{name}: a quiet visit raised the rate from {rate} to {quiet}");
    let counted = after(Observation::changes(Period::raw(0.1 * mean), 3));
    assert!(
        counted >= rate.min(begun) * (1.0 - 1e-6),
        "{name}: three quick changes lowered the rate from {rate} to {counted}"
    );
}

fn check_stretch<E: Estimator>(estimator: &E, mut stretched: E, stretch: f64, history: &[Observation], name: &str) {
    for observation in history {
        stretched.observe(&observation.stretched(observation.elapsed().seconds() * stretch));
    }
    let (one, other) = (estimator.estimate().rate.per_second(), stretched.estimate().rate.per_second() * stretch);
    assert!((one - other).abs() <= 1e-4 * one.max(other), "{name}: stretched by {stretch}: {one} is not {other}");
}
