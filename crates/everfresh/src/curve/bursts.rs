use super::{DivergenceCurve, unless_static};
use crate::error::{Result, within};
use crate::numeric::{Evaluation, gamma_lower, gamma_lower_inverse, solve};
use crate::units::{Period, Rate};
use std::ops::Bound;

/// A source that changes in bursts, from any moment on: `D(t) = P(1/k, (gλt)^k)` with `g = Γ(1 + 1/k)`, where P is the regularised
/// lower incomplete gamma function.
///
/// The times between changes follow a [`Weibull`](super::Weibull) law of shape k with the mean 1/λ. That law is the time to the next
/// change from a change on. A visit comes at any moment, and most moments lie in long quiet times; from there on the next change comes
/// by the law of the forward recurrence time, `D'(t) = λ e^-(gλt)^k` (Cox, *Renewal Theory*, 1962, section 5.2). At first it is that of a
/// Poisson source of the same rate, λt; later there are fewer visits that find a change.
///
/// With `z = (gλt)^k`: `U = γ(2/k, z)/(k g² λ)` and the ceiling `Γ(2/k)/(k g² λ)`. The dispersion of the gaps (their squared relative deviation)
/// is `Γ(1+2/k)/g² - 1`: 1 for k = 1, which is the exponential curve, 5 for k = 1/2.
///
/// ```
/// use everfresh::curve::{Bursts, DivergenceCurve, Weibull};
/// use everfresh::{Period, Rate, Unit};
///
/// // At k = 1/2 the mean gap is twice the scale: D = 1 - (1 + z) e^-z with z = √(2λt).
/// let (day, rate) = (Period::of(1.0, Unit::Day)?, Rate::per(0.02, Unit::Day)?);
/// let z = 0.2f64;
/// assert!((Bursts::new(rate, 0.5)?.divergence(day) - (1.0 - (1.0 + z) * (-z).exp())).abs() < 1e-15);
/// // No more than the expected number of changes; right after a change it would be ten times as much.
/// assert!(Bursts::new(rate, 0.5)?.divergence(day) < 0.02);
/// assert!(Weibull::new(Rate::per(0.04, Unit::Day)?, 0.5)?.divergence(day) > 0.18);
/// assert!((Bursts::with_dispersion(rate, 5.0)?.shape() - 0.5).abs() < 1e-12);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    rate: Rate,
    shape: f64,
}

impl Bursts {
    /// The least shape: below, bursts are farther apart than anybody watches.
    const LEAST: f64 = 0.1;

    /// The curve of a mean `rate` and a `shape` k from 0.1 to 1.
    pub fn new(rate: Rate, shape: f64) -> Result<Self> {
        Bursts::check(shape)?;
        Ok(Bursts { rate, shape })
    }

    /// The curve of gaps with this dispersion, at least 1: as [`poisson::examine`](crate::estimate::poisson::examine) finds it. What is
    /// beyond that of the least shape is taken for that.
    pub fn with_dispersion(rate: Rate, dispersion: f64) -> Result<Self> {
        let most = Bursts::dispersion_of(Bursts::LEAST);
        within("dispersion", dispersion, Bound::Included(1.0), Bound::Unbounded, "at least 1")?;
        if dispersion >= most {
            return Bursts::new(rate, Bursts::LEAST);
        }
        // 1/k rises with the dispersion, in logarithms nearly straight.
        let inverse = solve(1.0 + dispersion, 1.0, |inverse| {
            let value = 1.0 + Bursts::dispersion_of(inverse.recip());
            let digamma = crate::numeric::digamma;
            let elasticity = 2.0 * inverse * (digamma(1.0 + 2.0 * inverse) - digamma(1.0 + inverse));
            Evaluation { value, elasticity }
        });
        Bursts::new(rate, inverse.recip().clamp(Bursts::LEAST, 1.0))
    }

    /// The squared relative deviation of Weibull gaps.
    fn dispersion_of(shape: f64) -> f64 {
        (libm::lgamma(1.0 + 2.0 / shape) - 2.0 * libm::lgamma(1.0 + 1.0 / shape)).exp() - 1.0
    }

    /// k.
    pub const fn shape(&self) -> f64 {
        self.shape
    }

    /// Is the shape within its bounds?
    pub(super) fn check(shape: f64) -> Result<()> {
        within("shape of bursts", shape, Bound::Included(Bursts::LEAST), Bound::Included(1.0), "between 0.1 and 1")
            .map(drop)
    }

    /// The curve of rate 1 per second, for a shape that is within its bounds.
    pub(super) const fn unit(shape: f64) -> Self {
        Bursts { rate: Rate::UNIT, shape }
    }

    /// g, the mean gap over the scale.
    fn mean_gap(&self) -> f64 {
        libm::tgamma(1.0 + self.shape.recip())
    }

    fn z(&self, elapsed: Period) -> f64 {
        (self.mean_gap() * (self.rate * elapsed)).powf(self.shape)
    }

    /// `λ^n ∫ t^n D'(t) dt` up to z: `γ((n+1)/k, z)/(k g^(n+1))`.
    fn moment(&self, n: i32, z: f64) -> f64 {
        gamma_lower(f64::from(n + 1) / self.shape, z) / (self.shape * self.mean_gap().powi(n + 1))
    }

    /// Mean age in periods of a page visited every `period`: half the mean of `(I-t)²/I²` over the moments t of the first change.
    pub(crate) fn age_in_periods(&self, period: Period) -> f64 {
        let (r, z) = (self.rate * period, self.z(period));
        if r.is_infinite() {
            return 0.5;
        }
        if r < 1e-300 {
            return 0.0;
        }
        0.5 * (self.moment(0, z) - 2.0 * self.moment(1, z) / r + self.moment(2, z) / (r * r))
    }
}

impl DivergenceCurve for Bursts {
    fn divergence(&self, elapsed: Period) -> f64 {
        if self.rate * elapsed == f64::INFINITY { 1.0 } else { self.moment(0, self.z(elapsed)).min(1.0) }
    }

    fn slope(&self, elapsed: Period) -> f64 {
        self.rate.per_second() * (-self.z(elapsed)).exp()
    }

    fn area(&self, elapsed: Period) -> f64 {
        if self.rate * elapsed == f64::INFINITY {
            return f64::INFINITY;
        }
        unless_static!(self.rate, elapsed.seconds() * self.divergence(elapsed) - self.utility(elapsed))
    }

    fn utility(&self, elapsed: Period) -> f64 {
        if self.rate * elapsed == f64::INFINITY {
            return self.ceiling();
        }
        unless_static!(self.rate, self.moment(1, self.z(elapsed)) / self.rate.per_second())
    }

    fn ceiling(&self) -> f64 {
        let whole = libm::tgamma(2.0 / self.shape) / (self.shape * self.mean_gap().powi(2));
        unless_static!(self.rate, whole / self.rate.per_second())
    }

    fn period(&self, utility: f64) -> Period {
        if utility <= 0.0 {
            return Period::ZERO;
        }
        if utility >= self.ceiling() {
            return Period::NEVER;
        }
        let (rate, g) = (self.rate.per_second(), self.mean_gap());
        let z = gamma_lower_inverse(2.0 / self.shape, utility * rate * self.shape * g * g);
        Period::raw(z.powf(self.shape.recip()) / (g * rate))
    }
}
