use super::{DivergenceCurve, unless_static};
use crate::error::{Result, within};
use crate::numeric::{gamma_lower, gamma_lower_inverse};
use crate::units::{Period, Rate, Unit};
use std::ops::Bound;

/// Weibull decay: `D(t) = 1 - e^-(λt)^k` (named in RN15 section 3).
///
/// k < 1: what has just changed will soon change again (bursts, as in most real documents); k = 1: exponential; k > 1:
/// the longer ago, the likelier. With `z = (λt)^k`: `U = γ(1 + 1/k, z)/λ` and the ceiling `Γ(1 + 1/k)/λ`, the mean lifetime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weibull {
    rate: Rate,
    shape: f64,
}

impl Weibull {
    /// The curve with scale `1/rate` and a `shape` from 0.02 to 50.
    pub fn new(rate: Rate, shape: f64) -> Result<Self> {
        Weibull::check(shape)?;
        Ok(Weibull { rate, shape })
    }

    /// The curve that reaches 1/2 after `half_life`: `λ = (ln 2)^(1/k) / t½`.
    pub fn with_half_life(half_life: Period, shape: f64) -> Result<Self> {
        let unit = Weibull::new(Rate::once_per(half_life)?, shape)?;
        let scale = std::f64::consts::LN_2.powf(shape.recip());
        Weibull::new(Rate::per(unit.rate.per_second() * scale, Unit::Second)?, shape)
    }

    /// Is the shape within its bounds?
    pub(super) fn check(shape: f64) -> Result<()> {
        // At 0.006 the ceiling Γ(1 + 1/k) overflows; above 50 the curve is a step.
        within("Weibull shape", shape, Bound::Included(0.02), Bound::Included(50.0), "between 0.02 and 50").map(drop)
    }

    /// The curve of rate 1 per second, for a shape that is within its bounds.
    pub(super) const fn unit(shape: f64) -> Self {
        Weibull { rate: Rate::UNIT, shape }
    }

    /// Mean age in periods of a page visited every `period`: the mean of the area under the curve, over the period.
    ///
    /// Half the mean of `(I-t)²/I²` over the moments t of the first change, which with `z = (λI)^k` is
    /// `(γ(1,z) - 2 γ(1+1/k, z)/λI + γ(1+2/k, z)/(λI)²)/2`. From 0 to 1/2.
    pub(crate) fn age_in_periods(&self, period: Period) -> f64 {
        let (r, z) = (self.rate * period, self.z(period));
        if r.is_infinite() {
            return 0.5;
        }
        if z < 1e-300 {
            return 0.0;
        }
        let moment = |power: f64| gamma_lower(1.0 + power / self.shape, z) / r.powf(power);
        0.5 * (moment(0.0) - 2.0 * moment(1.0) + moment(2.0))
    }

    fn z(&self, elapsed: Period) -> f64 {
        (self.rate * elapsed).powf(self.shape)
    }
}

impl DivergenceCurve for Weibull {
    fn divergence(&self, elapsed: Period) -> f64 {
        -(-self.z(elapsed)).exp_m1()
    }

    fn slope(&self, elapsed: Period) -> f64 {
        let z = self.z(elapsed);
        // Where all has decayed, nothing falls; the powers below would be infinite.
        if z > 745.0 || self.rate == Rate::STATIC {
            return 0.0;
        }
        self.shape * self.rate.per_second() * (self.rate * elapsed).powf(self.shape - 1.0) * (-z).exp()
    }

    fn area(&self, elapsed: Period) -> f64 {
        if self.rate * elapsed == f64::INFINITY {
            return f64::INFINITY;
        }
        unless_static!(self.rate, elapsed.seconds() * self.divergence(elapsed) - self.utility(elapsed))
    }

    fn utility(&self, elapsed: Period) -> f64 {
        unless_static!(self.rate, gamma_lower(1.0 + self.shape.recip(), self.z(elapsed)) / self.rate.per_second())
    }

    fn ceiling(&self) -> f64 {
        unless_static!(self.rate, libm::tgamma(1.0 + self.shape.recip()) / self.rate.per_second())
    }

    fn period(&self, utility: f64) -> Period {
        if utility <= 0.0 {
            return Period::ZERO;
        }
        if utility >= self.ceiling() {
            return Period::NEVER;
        }
        let z = gamma_lower_inverse(1.0 + self.shape.recip(), utility * self.rate.per_second());
        Period::raw(z.powf(self.shape.recip()) / self.rate.per_second())
    }

    fn mean_freshness(&self, period: Period) -> f64 {
        let (r, z) = (self.rate * period, self.z(period));
        if r.is_infinite() {
            return 0.0;
        }
        // Where z has underflowed, nothing has decayed.
        if z < 1e-300 { 1.0 } else { (gamma_lower(self.shape.recip(), z) / (self.shape * r)).min(1.0) }
    }
}
