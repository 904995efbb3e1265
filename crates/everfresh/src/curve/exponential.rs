use super::{DivergenceCurve, period_by_inverse, unless_static};
use crate::kernel::{g, g_inverse};
use crate::numeric::Phi;
use crate::units::{Period, Rate};

/// Staleness of a source that changes as a Poisson process: `D(t) = 1 - e^(-λt)` (CGM03 section 2.2).
///
/// `area = t - (1-e^-r)/λ`, `U = g(r)/λ`, ceiling `1/λ`, the mean time between changes.
///
/// ```
/// use everfresh::curve::{DivergenceCurve, Exponential};
/// use everfresh::{Period, Rate, Unit};
///
/// // RN15 example 3: an address that changes 0.457 times a year, benefit 1 a year, cost 1, is worth a visit
/// // every 3.38 years: there the utility, in years, is cost / benefit = 1.
/// let curve = Exponential::new("0.457/year".parse()?);
/// let period = curve.period(Unit::Year.seconds());
/// assert_eq!(format!("{period:.3}"), "3.38years");
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    /// λ, how often the source changes.
    pub rate: Rate,
}

impl Exponential {
    /// The curve of a source that changes at `rate`.
    pub const fn new(rate: Rate) -> Self {
        Exponential { rate }
    }
}

impl DivergenceCurve for Exponential {
    fn divergence(&self, elapsed: Period) -> f64 {
        -(-(self.rate * elapsed)).exp_m1()
    }

    fn slope(&self, elapsed: Period) -> f64 {
        self.rate.per_second() * (-(self.rate * elapsed)).exp()
    }

    fn area(&self, elapsed: Period) -> f64 {
        let r = self.rate * elapsed;
        if r.is_infinite() {
            return r;
        }
        unless_static!(self.rate, elapsed.seconds() * r * Phi::at(r).e2)
    }

    fn utility(&self, elapsed: Period) -> f64 {
        unless_static!(self.rate, g(self.rate * elapsed) / self.rate.per_second())
    }

    fn ceiling(&self) -> f64 {
        unless_static!(self.rate, self.rate.per_second().recip())
    }

    fn period(&self, utility: f64) -> Period {
        period_by_inverse(self.rate, utility, self.ceiling(), 1, g_inverse)
    }

    fn mean_freshness(&self, period: Period) -> f64 {
        Phi::at(self.rate * period).e1
    }
}
