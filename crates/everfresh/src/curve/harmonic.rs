use super::{DivergenceCurve, period_by_inverse, unless_static};
use crate::kernel::{k, k_inverse};
use crate::numeric::{Phi, ein};
use crate::order::Order;
use crate::units::{Period, Rate};

/// The harmonic penalty of an exponential source: n missed changes cost 1 + 1/2 + ... + 1/n, on average `Ein(r)`.
///
/// Kolobov et al., *Staying up to Date with Online Content Changes Using Reinforcement Learning for Scheduling*,
/// NeurIPS 2019. `D'(t) = (1-e^-r)/t`, `U = (r - 1 + e^-r)/λ`, no ceiling: no page is ever given up, which makes the
/// objective robust where rates are badly known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Harmonic {
    /// λ, how often the source changes.
    pub rate: Rate,
}

impl Harmonic {
    /// The harmonic penalty of a source that changes at `rate`.
    pub const fn new(rate: Rate) -> Self {
        Harmonic { rate }
    }
}

impl DivergenceCurve for Harmonic {
    fn divergence(&self, elapsed: Period) -> f64 {
        ein(self.rate * elapsed)
    }

    fn slope(&self, elapsed: Period) -> f64 {
        self.rate.per_second() * Phi::at(self.rate * elapsed).e1
    }

    fn area(&self, elapsed: Period) -> f64 {
        let r = self.rate * elapsed;
        if r.is_infinite() {
            return r;
        }
        unless_static!(self.rate, elapsed.seconds() * Order::Fixed.harmonic(r))
    }

    fn utility(&self, elapsed: Period) -> f64 {
        unless_static!(self.rate, k(self.rate * elapsed) / self.rate.per_second())
    }

    fn ceiling(&self) -> f64 {
        unless_static!(self.rate, f64::INFINITY)
    }

    fn period(&self, utility: f64) -> Period {
        period_by_inverse(self.rate, utility, self.ceiling(), 1, k_inverse)
    }
}
