use super::{DivergenceCurve, Exponential, period_by_inverse, unless_static};
use crate::kernel::{h, h_inverse};
use crate::numeric::Phi;
use crate::units::{Period, Rate};

/// Age of the copy of an exponential source: `D(t) = t - (1-e^-r)/λ`, in seconds (CGM03 section 2.2).
///
/// The area under the staleness curve, as the age of any source is. `area = t^2/2 - t/λ + (1-e^-r)/λ^2`,
/// `U = h(r)/λ^2`, no ceiling: an old copy is always worth a visit some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Age {
    /// λ, how often the source changes.
    pub rate: Rate,
}

impl Age {
    /// The age of the copy of a source that changes at `rate`.
    pub const fn new(rate: Rate) -> Self {
        Age { rate }
    }
}

impl DivergenceCurve for Age {
    fn divergence(&self, elapsed: Period) -> f64 {
        Exponential::new(self.rate).area(elapsed)
    }

    fn slope(&self, elapsed: Period) -> f64 {
        Exponential::new(self.rate).divergence(elapsed)
    }

    fn area(&self, elapsed: Period) -> f64 {
        let r = self.rate * elapsed;
        if r.is_infinite() {
            return r;
        }
        unless_static!(self.rate, elapsed.seconds().powi(2) * r * Phi::at(r).e3)
    }

    fn utility(&self, elapsed: Period) -> f64 {
        unless_static!(self.rate, h(self.rate * elapsed) / self.rate.per_second().powi(2))
    }

    fn ceiling(&self) -> f64 {
        unless_static!(self.rate, f64::INFINITY)
    }

    fn period(&self, utility: f64) -> Period {
        period_by_inverse(self.rate, utility, self.ceiling(), 2, h_inverse)
    }
}
