//! Divergence curves: how different copy and source are expected to be, a time t after a visit.
//!
//! A curve is all that the law needs to know of a page. From `D(t)`, with `D(0) = 0` and non-decreasing, follow
//!
//! * `area(t)`, its integral over 0..t: a page visited every I has the mean divergence `area(I)/I`;
//! * `U(t) = t D(t) - area(t)`, the utility (OP08 equation 4): what one more visit per time gains;
//! * the period at a given utility: the t with `U(t) = price x cost / weight`, because `U'(t) = t D'(t) >= 0`;
//! * `sup U`, the ceiling: a page whose ceiling is below that is worth no visit at any time.
//!
//! | curve | D(t), r = λt | used by |
//! | --- | --- | --- |
//! | [`Exponential`] | `1 - e^-r` | CGM03 freshness, RN15 exponential decay |
//! | [`Age`] | `t - (1-e^-r)/λ` | CGM03 age |
//! | [`Harmonic`] | `Ein(r)` | Kolobov et al. 2019 |
//! | [`Lomax`] | `1 - (1+t/β)^-α` | CGM99's gamma-distributed rates; a rate known only as a posterior |
//! | [`Linear`] | `min(r, 1)` | RN15 linear decay |
//! | [`Weibull`] | `1 - e^-(r^k)` | sources that burst (k < 1) or age (k > 1), seen from their last change on |
//! | [`Bursts`] | `P(1/k, (gr)^k)`, g = Γ(1+1/k) | the same bursts, seen from any moment on, as visits do |
//! | [`Churn`] | `d (1 - e^-r)` | OP08 section 3.3, content that is overwritten |
//! | [`Scroll`] | expectation over the items replaced | OP08 section 3.3, content that scrolls away |
//! | [`Mixture`] | `sum of w_i D_i` | pages made of several regions |
//! | [`Scaled`] | `d C(t)` | pages of which only a part behaves so |
//! | [`Observed`] | straight lines between points | OP08 section 4.1, change profiles |
//!
//! Every curve passes the public suite in [`checks`]; a new one gets its tests by adding one line.

mod age;
mod bursts;
pub mod checks;
mod exponential;
mod harmonic;
mod linear;
mod lomax;
mod mixture;
mod observed;
mod quick;
mod region;
mod scaled;
mod shape;
mod weibull;

pub use age::Age;
pub use bursts::Bursts;
pub use exponential::Exponential;
pub use harmonic::Harmonic;
pub use linear::Linear;
pub use lomax::Lomax;
pub use mixture::Mixture;
pub use observed::Observed;
pub use region::{Churn, Scroll};
pub use scaled::Scaled;
pub use shape::Shape;
pub use weibull::Weibull;

use crate::numeric::{Evaluation, solve};
use crate::units::{Period, Rate};

/// The expected divergence of a copy in the time after a visit.
///
/// Times are [`Period`]s; a divergence has the unit of its curve (a share for staleness, seconds for age), areas and
/// utilities that unit times seconds. All methods accept every elapsed time from zero to infinity.
pub trait DivergenceCurve {
    /// D(t): 0 at 0, non-decreasing.
    fn divergence(&self, elapsed: Period) -> f64;

    /// D'(t), per second; 0 at a jump and where nothing is known of it, infinite where the curve starts vertically.
    fn slope(&self, elapsed: Period) -> f64;

    /// The integral of D over 0..t.
    fn area(&self, elapsed: Period) -> f64;

    /// U(t) = t D(t) - area(t), written so that it does not cancel (OP08 equation 4).
    fn utility(&self, elapsed: Period) -> f64;

    /// sup U: what a visit gains at most, however late it is made. May be infinite.
    fn ceiling(&self) -> f64;

    /// The first elapsed time at which the utility is `utility`: never from the ceiling up.
    ///
    /// A utility of zero or less is reached at once. Curves with a closed form override this.
    fn period(&self, utility: f64) -> Period {
        if utility <= 0.0 {
            return Period::ZERO;
        }
        if utility >= self.ceiling() {
            return Period::NEVER;
        }
        period_by_utility(self, utility, 1.0)
    }

    /// The mean divergence of a page visited every `period`: area(I)/I, with its limits at zero and infinity.
    fn mean_divergence(&self, period: Period) -> f64 {
        if period == Period::ZERO {
            0.0
        } else if period == Period::NEVER {
            self.divergence(period)
        } else {
            self.area(period) / period.seconds()
        }
    }

    /// One less the mean divergence, for curves whose divergence is a share of at most 1.
    ///
    /// Curves that tend to 1 override this with a form that keeps its digits where little freshness is left.
    fn mean_freshness(&self, period: Period) -> f64 {
        1.0 - self.mean_divergence(period)
    }
}

/// A pointer to a curve is a curve.
macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<C: DivergenceCurve + ?Sized> DivergenceCurve for $pointer {
            fn divergence(&self, elapsed: Period) -> f64 {
                (**self).divergence(elapsed)
            }

            fn slope(&self, elapsed: Period) -> f64 {
                (**self).slope(elapsed)
            }

            fn area(&self, elapsed: Period) -> f64 {
                (**self).area(elapsed)
            }

            fn utility(&self, elapsed: Period) -> f64 {
                (**self).utility(elapsed)
            }

            fn ceiling(&self) -> f64 {
                (**self).ceiling()
            }

            fn period(&self, utility: f64) -> Period {
                (**self).period(utility)
            }

            fn mean_divergence(&self, period: Period) -> f64 {
                (**self).mean_divergence(period)
            }

            fn mean_freshness(&self, period: Period) -> f64 {
                (**self).mean_freshness(period)
            }
        }
    )*};
}
forward!(Box<C>, &C);

/// The period of any curve, by steps from `start` in seconds, for a utility below its ceiling.
fn period_by_utility<C: DivergenceCurve + ?Sized>(curve: &C, utility: f64, start: f64) -> Period {
    Period::raw(solve(utility, start, |t| {
        let elapsed = Period::raw(t);
        let value = curve.utility(elapsed);
        Evaluation { value, elasticity: t * t * curve.slope(elapsed) / value }
    }))
}

/// The period of a curve whose utility is `kernel(λt)/λ^power`, by the kernel's inverse.
fn period_by_inverse(rate: Rate, utility: f64, ceiling: f64, power: i32, inverse: fn(f64) -> f64) -> Period {
    if utility <= 0.0 {
        Period::ZERO
    } else if utility >= ceiling {
        Period::NEVER
    } else {
        Period::raw(inverse(utility * rate.per_second().powi(power)) / rate.per_second())
    }
}

/// Zero for a page that does not change, else the value: areas and utilities of curves with a rate.
macro_rules! unless_static {
    ($rate:expr, $value:expr) => {
        if $rate == crate::units::Rate::STATIC { 0.0 } else { $value }
    };
}
use unless_static;
