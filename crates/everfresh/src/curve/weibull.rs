use super::{DivergenceCurve, unless_static};
use crate::error::{Result, within};
use crate::numeric::gamma_lower;
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
        // At 0.006 the ceiling Γ(1 + 1/k) overflows; above 50 the curve is a step.
        within("Weibull shape", shape, Bound::Included(0.02), Bound::Included(50.0), "between 0.02 and 50")?;
        Ok(Weibull { rate, shape })
    }

    /// The curve that reaches 1/2 after `half_life`: `λ = (ln 2)^(1/k) / t½`.
    pub fn with_half_life(half_life: Period, shape: f64) -> Result<Self> {
        let unit = Weibull::new(Rate::once_per(half_life)?, shape)?;
        let scale = std::f64::consts::LN_2.powf(shape.recip());
        Weibull::new(Rate::per(unit.rate.per_second() * scale, Unit::Second)?, shape)
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

    fn mean_freshness(&self, period: Period) -> f64 {
        let (r, z) = (self.rate * period, self.z(period));
        if r.is_infinite() {
            return 0.0;
        }
        // Where z has underflowed, nothing has decayed.
        if z < 1e-300 { 1.0 } else { (gamma_lower(self.shape.recip(), z) / (self.shape * r)).min(1.0) }
    }
}
