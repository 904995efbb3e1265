use super::{Bursts, DivergenceCurve, Exponential, Lomax, Weibull};
use crate::error::Result;
use crate::order::Order;
use crate::units::{Period, Rate};

/// The form of a curve of staleness, whatever its rate: all that a plan needs to know of a page besides the rate.
///
/// A page of rate λ has the curve `D(t) = D_shape(λt)`, so that with r = λt its utility is `u(r)/λ`, and the law reads
/// `f = λ / u^-1(T c λ / w)` for every shape.
///
/// ```
/// use everfresh::curve::Shape;
/// // A rate known only as Gamma(2, β) has u(r) = 2 (1 - (1+r)(1+r/2)^-2), which is 2/9 at r = 1.
/// assert!((Shape::Lomax(2.0).visits(2.0 / 9.0) - 1.0).abs() < 1e-12);
/// assert_eq!(Shape::Lomax(2.0).visits(2.0), 0.0); // its ceiling
/// assert!((Shape::Weibull(1.0).visits(0.5) * 1.678_346_990_016_66 - 1.0).abs() < 1e-12); // as for the exponential
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Shape {
    /// [`Exponential`]: `1 - e^-r`.
    #[default]
    Exponential,
    /// [`Lomax`] with this α and mean rate λ, so β = α/λ: `1 - (1 + r/α)^-α`. From 1e-12 to 1e20.
    Lomax(f64),
    /// [`Weibull`] with this k: `1 - e^-(r^k)`. From 0.02 to 50.
    Weibull(f64),
    /// [`Bursts`] with this k. From 0.1 to 1.
    Bursts(f64),
}

impl Shape {
    /// The same, if its number is within its bounds.
    pub fn checked(self) -> Result<Self> {
        match self {
            Shape::Exponential => {}
            Shape::Lomax(alpha) => Lomax::check(alpha)?,
            Shape::Weibull(shape) => Weibull::check(shape)?,
            Shape::Bursts(shape) => Bursts::check(shape)?,
        }
        Ok(self)
    }

    /// Its name and its number in bits, by which equal ones are known.
    pub(crate) fn key(self) -> (u8, u64) {
        match self {
            Shape::Exponential => (0, 0),
            Shape::Lomax(alpha) => (1, alpha.to_bits()),
            Shape::Weibull(shape) => (2, shape.to_bits()),
            Shape::Bursts(shape) => (3, shape.to_bits()),
        }
    }

    /// sup u: the utility, times λ, that no visit reaches. Infinite for Lomax up to α = 1.
    pub fn ceiling(self) -> f64 {
        self.at_unit_rate(|curve| curve.ceiling())
    }

    /// Visits per change, `1/u^-1(x)`: 0 from the ceiling up, infinite at 0. Relative error below 1e-11.
    pub fn visits(self, x: f64) -> f64 {
        self.at_unit_rate(|curve| curve.period(x).seconds().recip())
    }

    /// The same, and how much less of it per ln x: `1/(r e)`, where the elasticity e of u is `r² D'(r)/u`.
    pub(crate) fn visits_with_fall(self, x: f64) -> (f64, f64) {
        self.at_unit_rate(|curve| {
            let period = curve.period(x);
            let visits = period.seconds().recip();
            let fall = x * visits.powi(3) / curve.slope(period);
            (visits, if fall.is_finite() { fall } else { 0.0 })
        })
    }

    /// Mean freshness and mean age in periods, `f A`, of a page visited `1/r` times per change.
    ///
    /// The age of a copy is the time since the first change that it misses, so its mean a time t after a visit is the area
    /// under the curve up to t, whatever the curve.
    pub fn freshness_and_age(self, r: f64) -> (f64, f64) {
        let period = Period::raw(r);
        match self {
            Shape::Exponential => Order::Fixed.freshness_and_age(r),
            Shape::Lomax(alpha) => {
                let curve = Lomax::unit(alpha);
                (curve.mean_freshness(period), curve.age_in_periods(period))
            }
            Shape::Weibull(shape) => {
                let curve = Weibull::unit(shape);
                (curve.mean_freshness(period), curve.age_in_periods(period))
            }
            Shape::Bursts(shape) => {
                let curve = Bursts::unit(shape);
                (curve.mean_freshness(period), curve.age_in_periods(period))
            }
        }
    }

    /// Asks the curve of a page that changes once a second.
    fn at_unit_rate<T>(self, ask: impl FnOnce(&dyn DivergenceCurve) -> T) -> T {
        match self {
            Shape::Exponential => ask(&Exponential::new(Rate::UNIT)),
            Shape::Lomax(alpha) => ask(&Lomax::unit(alpha)),
            Shape::Weibull(shape) => ask(&Weibull::unit(shape)),
            Shape::Bursts(shape) => ask(&Bursts::unit(shape)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 19] = [
        Shape::Exponential,
        Shape::Lomax(1e-3),
        Shape::Lomax(0.3),
        Shape::Lomax(0.999),
        Shape::Lomax(1.0),
        Shape::Lomax(1.0 + 1e-9),
        Shape::Lomax(1.02),
        Shape::Lomax(2.0),
        Shape::Lomax(37.0),
        Shape::Lomax(1e6),
        Shape::Lomax(1e15),
        Shape::Weibull(0.02),
        Shape::Weibull(0.4),
        Shape::Weibull(1.0),
        Shape::Weibull(3.0),
        Shape::Weibull(50.0),
        Shape::Bursts(0.1),
        Shape::Bursts(0.6),
        Shape::Bursts(1.0),
    ];

    /// The inverse of the utility that the suite of curves has checked, over all magnitudes and up to the ceiling.
    #[test]
    fn visits_invert_the_utility() {
        for shape in SHAPES {
            for r in (-60..60).map(|i| (f64::from(i) / 3.0).exp2()) {
                let (x, elasticity) = shape.at_unit_rate(|curve| {
                    let x = curve.utility(Period::raw(r));
                    (x, r * r * curve.slope(Period::raw(r)) / x)
                });
                // Where u has come to its ceiling or underflows, r cannot be told from it.
                if x >= shape.ceiling() * (1.0 - 1e-9) || x < 1e-290 {
                    continue;
                }
                let (visits, fall) = shape.visits_with_fall(x);
                // The utility itself is known to the last places.
                let tolerance = 1e-11 + 1e-15 / elasticity;
                assert!((visits * r - 1.0).abs() < tolerance, "{shape:?} {r}: {visits}");
                assert!((fall * r * elasticity - 1.0).abs() < 20.0 * tolerance, "{shape:?} {r}: {fall} {elasticity}");
            }
            assert_eq!(shape.visits(shape.ceiling()), 0.0);
            assert_eq!(shape.visits(0.0), f64::INFINITY);
        }
    }

    /// Ages against the sum of the areas, by Simpson's rule.
    #[test]
    fn ages_are_means_of_areas() {
        for shape in SHAPES {
            for r in [0.01, 0.3, 1.0, 4.0] {
                let area = |t: f64| shape.at_unit_rate(|curve| curve.area(Period::raw(t)));
                let n = 2000;
                let weight = |i: i32| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
                // In the square root of time, since areas start like powers of it.
                let step = |i: i32| f64::from(i) / f64::from(n);
                let sum: f64 = (0..=n).map(|i| weight(i) * area(r * step(i).powi(2)) * 2.0 * step(i)).sum();
                let mean = sum / (3.0 * f64::from(n));
                let (freshness, age) = shape.freshness_and_age(r);
                assert!((age * r / mean - 1.0).abs() < 1e-6, "{shape:?} {r}: {} {mean}", age * r);
                let mean_freshness = shape.at_unit_rate(|curve| curve.mean_freshness(Period::raw(r)));
                assert!((freshness - mean_freshness).abs() < 1e-14);
            }
        }
    }
}
