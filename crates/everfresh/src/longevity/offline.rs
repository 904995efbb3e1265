//! The offline policies of OP08 section 3.4: they know the whole history of a page beforehand, and show what can be gained.
//!
//! | policy | period of a page |
//! | --- | --- |
//! | Uniform | [`uniform`]: the same for every page that changes at all |
//! | FS-S | [`time_averaged`] divergence, at the price: `curve.period(T)` |
//! | HS-S | [`Exponential`](crate::curve::Exponential) at the mean rate, `changes / span`, at the price: `curve.period(T)` |
//! | FS-D | [`Foreknowing`] with [`Staleness::Fragment`]: when the utility of what really happened since the last visit reaches T |
//! | HS-D | [`Foreknowing`] with [`Staleness::Holistic`] |
//!
//! [`price_for_budget`] finds the price at which static policies make so many visits.

use super::{Point, combine};
use crate::curve::{DivergenceCurve, Observed};
use crate::error::{Error, Result, magnitude, positive, within};
use crate::units::{Frequency, Period};
use std::ops::Bound;

/// Uniform: a budget of visits spread over the pages that ever change; static ones get none.
///
/// ```
/// use everfresh::longevity::offline::uniform;
/// use everfresh::{Frequency, Unit};
/// let frequencies = uniform(&[true, false, true], Frequency::per(1.0, Unit::Day)?)?;
/// assert_eq!(frequencies.iter().map(|f| f.per_day()).collect::<Vec<_>>(), [0.5, 0.0, 0.5]);
/// # Ok::<(), everfresh::Error>(())
/// ```
pub fn uniform(changes: &[bool], budget: Frequency) -> Result<Vec<Frequency>> {
    positive("budget in visits per second", budget.per_second())?;
    let changing = changes.iter().filter(|changes| **changes).count();
    let each = Frequency::raw(budget.per_second() / changing as f64);
    Ok(changes.iter().map(|changes| if *changes { each } else { Frequency::NEVER }).collect())
}

/// The divergence function of FS-S: for each elapsed time the mean divergence between pairs of versions so far apart.
///
/// `profiles` are the change profiles from every version as a base. Where the means fall, as chance and returning fragments make
/// them, the closest curve that does not fall takes their place (isotonic regression, all times weighing alike).
///
/// ```
/// use everfresh::curve::DivergenceCurve;
/// use everfresh::longevity::{Point, offline::time_averaged};
/// use everfresh::{Period, Unit};
/// let at = |day, divergence| Point::new(Period::of(day, Unit::Day)?, divergence);
/// let profiles = [vec![at(1.0, 0.1)?, at(2.0, 0.5)?, at(3.0, 0.3)?], vec![at(1.0, 0.3)?]];
/// let curve = time_averaged(profiles.iter().map(Vec::as_slice))?;
/// assert!((curve.divergence(Period::of(1.0, Unit::Day)?) - 0.2).abs() < 1e-15);
/// assert!((curve.divergence(Period::of(2.0, Unit::Day)?) - 0.4).abs() < 1e-15);
/// # Ok::<(), everfresh::Error>(())
/// ```
pub fn time_averaged<'a>(profiles: impl IntoIterator<Item = &'a [Point]>) -> Result<Observed> {
    let combined = combine(profiles);
    let levels = isotonic(combined.iter().map(Point::divergence));
    let points = combined.iter().map(Point::elapsed).zip(levels);
    Observed::new(&points.collect::<Vec<_>>())
}

/// The closest values that do not fall, by pooling neighbours that do.
fn isotonic(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let mut block = (value, 1);
        while let Some(before) = blocks.pop_if(|before| before.0 > block.0) {
            let count = before.1 + block.1;
            block = ((before.0 * before.1 as f64 + block.0 * block.1 as f64) / count as f64, count);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(level, count)| std::iter::repeat_n(level, count)).collect()
}

/// The price T, in seconds, at which pages with these curves are visited `budget` times together: the lowest at which they are not
/// visited more often.
///
/// Curves with jumps, as observed ones may have, leave gaps that no price spends exactly. A budget above what any page is worth
/// has the price 0, of which no curve is left: an error.
pub fn price_for_budget<C: DivergenceCurve>(curves: &[C], budget: Frequency) -> Result<f64> {
    let budget = positive("budget in visits per second", budget.per_second())?;
    let spent = |price: f64| curves.iter().map(|curve| curve.period(price).frequency().per_second()).sum::<f64>();
    let (mut low, mut high) = (crate::error::SMALLEST, crate::error::LARGEST);
    if spent(low) <= budget {
        return Err(Error::Empty("cannot find a price: the budget visits every page that changes at any price"));
    }
    while high / low > 1.0 + 1e-12 {
        let middle = low.sqrt() * high.sqrt();
        if spent(middle) > budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

/// What counts as divergence (OP08 section 2.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// The share of fragments that differ.
    Fragment,
    /// Whether anything differs: 0 or 1.
    Holistic,
}

/// FS-D and HS-D: visits a page when the utility of the divergence that really arose since the last visit reaches the price.
///
/// No online policy can do that, since it sees the divergence only by visiting. Fed with the history of a page, step by step;
/// inside a step the divergence is the mean of both ends, the later one weighing `eagerness` (OP08 appendix B).
///
/// ```
/// use everfresh::longevity::offline::{Foreknowing, Staleness};
/// use everfresh::{Period, Unit};
/// // A page that diverges by a tenth a day has the utility t²/20 days: 0.2 days after two days.
/// let day = Period::of(1.0, Unit::Day)?;
/// let mut policy = Foreknowing::new(Staleness::Fragment, Period::of(0.19, Unit::Day)?, 0.5)?;
/// assert!(!policy.is_due(day, 0.1)?);
/// assert!(policy.is_due(day, 0.2)?);
/// // Visited: the next divergence is that since now.
/// assert!(!policy.is_due(day, 0.1)?);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foreknowing {
    staleness: Staleness,
    price: f64,
    eagerness: f64,
    elapsed: f64,
    divergence: f64,
    area: f64,
}

impl Foreknowing {
    /// The policy for one page, just visited, at a price T > 0 (a time) and with an eagerness between 0 and 1.
    pub fn new(staleness: Staleness, price: Period, eagerness: f64) -> Result<Self> {
        let price = magnitude("price in seconds", price.seconds())?;
        within("eagerness", eagerness, Bound::Included(0.0), Bound::Included(1.0), "between 0 and 1")?;
        Ok(Foreknowing { staleness, price, eagerness, elapsed: 0.0, divergence: 0.0, area: 0.0 })
    }

    /// `t D(t) - area(t)` of what arose since the last visit, in seconds.
    pub fn utility(&self) -> f64 {
        self.elapsed * self.divergence - self.area
    }

    /// After a further `step` of time the copy differs from the source by `divergence`: is a visit due? If so it is made.
    pub fn is_due(&mut self, step: Period, divergence: f64) -> Result<bool> {
        let step = magnitude("step in seconds", step.seconds())?;
        within("divergence", divergence, Bound::Included(0.0), Bound::Included(1.0), "between 0 and 1")?;
        let now = match self.staleness {
            Staleness::Fragment => divergence,
            Staleness::Holistic => f64::from(u8::from(divergence > 0.0)),
        };
        self.area += step * ((1.0 - self.eagerness) * self.divergence + self.eagerness * now);
        self.elapsed += step;
        self.divergence = now;
        let due = self.utility() >= self.price;
        if due {
            (self.elapsed, self.divergence, self.area) = (0.0, 0.0, 0.0);
        }
        Ok(due)
    }
}
