use super::DivergenceCurve;
use crate::error::{Result, within};
use crate::units::Period;
use std::ops::Bound;

/// Another curve times a depth: `D = d C`, and likewise its area and its utility.
///
/// The page of which only a part behaves as C says, or of which a change moves only the share d of the content. Unlike
/// [`Mixture`](super::Mixture) it is as small as its curve, and keeps that curve's closed inverse.
///
/// ```
/// use everfresh::curve::{DivergenceCurve, Lomax, Scaled};
/// use everfresh::{Period, Unit};
/// // A rate of about one a day, a change of which moves a fifth of the page: a tenth differs after a day.
/// let curve = Scaled::new(Lomax::with_mean_rate(1.0, "1/day".parse()?)?, 0.2)?;
/// assert!((curve.divergence(Period::of(1.0, Unit::Day)?) - 0.1).abs() < 1e-15);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled<C> {
    whole: C,
    depth: f64,
}

impl<C> Scaled<C> {
    /// `depth` times the curve; above 0 and at most 1.
    pub fn new(whole: C, depth: f64) -> Result<Self> {
        let depth = within("depth", depth, Bound::Excluded(0.0), Bound::Included(1.0), "above 0 and at most 1")?;
        Ok(Scaled { whole, depth })
    }

    /// The curve before scaling.
    pub const fn whole(&self) -> &C {
        &self.whole
    }

    /// d, what the curve is multiplied by.
    pub const fn depth(&self) -> f64 {
        self.depth
    }
}

impl<C: DivergenceCurve> DivergenceCurve for Scaled<C> {
    fn divergence(&self, elapsed: Period) -> f64 {
        self.depth * self.whole.divergence(elapsed)
    }

    fn slope(&self, elapsed: Period) -> f64 {
        self.depth * self.whole.slope(elapsed)
    }

    fn area(&self, elapsed: Period) -> f64 {
        self.depth * self.whole.area(elapsed)
    }

    fn utility(&self, elapsed: Period) -> f64 {
        self.depth * self.whole.utility(elapsed)
    }

    fn ceiling(&self) -> f64 {
        self.depth * self.whole.ceiling()
    }

    fn period(&self, utility: f64) -> Period {
        // Asked of the scaled ceiling, since dividing may round below that of the whole.
        if utility > 0.0 && utility >= self.ceiling() {
            return Period::NEVER;
        }
        self.whole.period(utility / self.depth)
    }
}
