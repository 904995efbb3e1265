use super::{DivergenceCurve, unless_static};
use crate::error::Result;
use crate::units::{Period, Rate};

/// Linear decay: `D(t) = min(λt, 1)`; every copy is wrong after 1/λ (RN15 section 4).
///
/// `area = λt²/2`, then `t - 1/(2λ)`; `U = λt²/2` up to its ceiling `1/(2λ)`, which is reached: the period at the
/// ceiling is never, since a visit that gains just what it costs is not worth making (RN15: futile if B <= 2λC).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// λ, the inverse of the longest lifetime.
    pub rate: Rate,
}

impl Linear {
    /// The curve of a source that is certain to have changed after one over `rate`.
    pub const fn new(rate: Rate) -> Self {
        Linear { rate }
    }

    /// The curve that reaches 1/2 after `half_life`: `λ = 1/(2 t½)`.
    pub fn with_half_life(half_life: Period) -> Result<Self> {
        Ok(Linear::new(Rate::once_per(Period::raw(2.0 * half_life.seconds()))?))
    }
}

impl DivergenceCurve for Linear {
    fn divergence(&self, elapsed: Period) -> f64 {
        (self.rate * elapsed).min(1.0)
    }

    fn slope(&self, elapsed: Period) -> f64 {
        if self.rate * elapsed < 1.0 { self.rate.per_second() } else { 0.0 }
    }

    fn area(&self, elapsed: Period) -> f64 {
        let r = self.rate * elapsed;
        let t = elapsed.seconds();
        if r < 1.0 { unless_static!(self.rate, t * r / 2.0) } else { t - self.ceiling() }
    }

    fn utility(&self, elapsed: Period) -> f64 {
        let r = (self.rate * elapsed).min(1.0);
        unless_static!(self.rate, r * r * self.ceiling())
    }

    fn ceiling(&self) -> f64 {
        unless_static!(self.rate, 0.5 / self.rate.per_second())
    }

    fn period(&self, utility: f64) -> Period {
        if utility <= 0.0 {
            Period::ZERO
        } else if utility >= self.ceiling() {
            Period::NEVER
        } else {
            Period::raw((2.0 * utility / self.rate.per_second()).sqrt())
        }
    }

    fn mean_freshness(&self, period: Period) -> f64 {
        let r = self.rate * period;
        if r < 1.0 { 1.0 - r / 2.0 } else { 0.5 / r }
    }
}
