use super::{DivergenceCurve, Exponential, unless_static};
use crate::error::{Error, Result, within};
use crate::numeric::{Tail, poisson_tails};
use crate::units::{Period, Rate};
use std::ops::Bound;

fn share(what: &'static str, value: f64) -> Result<f64> {
    within(what, value, Bound::Excluded(0.0), Bound::Included(1.0), "above 0 and at most 1")
}

/// A page of which a region is overwritten at every change: `D(t) = d (1 - e^-r)` (OP08 section 3.3, churn).
///
/// d is the Jaccard distance after one change. A region that holds a share a of the page's fragments, the rest being
/// static, gives `d = 2a/(1+a)`: a fragments out, a in, of 1 + a in the union.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Churn {
    whole: Exponential,
    depth: f64,
}

impl Churn {
    /// A region that changes at `rate`, each change moving the page by `depth`, above 0 and at most 1.
    pub fn new(rate: Rate, depth: f64) -> Result<Self> {
        Ok(Churn { whole: Exponential::new(rate), depth: share("depth of a change", depth)? })
    }

    /// A region that holds the share `a` of the page's fragments, above 0 and at most 1.
    ///
    /// ```
    /// use everfresh::curve::{Churn, DivergenceCurve};
    /// use everfresh::Period;
    /// let curve = Churn::of_share("1/day".parse()?, 0.5)?;
    /// assert_eq!(curve.divergence(Period::NEVER), 2.0 / 3.0);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn of_share(rate: Rate, a: f64) -> Result<Self> {
        let a = share("share of the page", a)?;
        Churn::new(rate, 2.0 * a / (1.0 + a))
    }

    /// λ, how often the region is overwritten.
    pub const fn rate(&self) -> Rate {
        self.whole.rate
    }

    /// d, the Jaccard distance after one change.
    pub const fn depth(&self) -> f64 {
        self.depth
    }
}

impl DivergenceCurve for Churn {
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
        if utility > 0.0 && utility >= self.ceiling() {
            return Period::NEVER;
        }
        self.whole.period(utility / self.depth)
    }
}

/// A page with a list of K items, of which every change appends one and drops the oldest (OP08 section 3.3, scroll).
///
/// After j changes `m = min(j, K)` of the items are gone. With the list holding a share a of the page the Jaccard
/// distance is then `d_m = 2am/(K + am)`, and D is its expectation over `j ~ Poisson(λt)`:
///
/// `D = Σ Δ_j P(J >= j)`, `U = Σ Δ_j (j/λ) P(J >= j+1)`, over j = 1..K with `Δ_j = d_j - d_(j-1)`: every step is the
/// curve of one item, whose lifetime is the time of j changes. The ceiling is `Σ Δ_j j/λ`. K = 1 is [`Churn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scroll {
    rate: Rate,
    items: u32,
    share: f64,
}

impl Scroll {
    /// The most items that a list can have: evaluating a curve takes time in proportion.
    pub const MOST_ITEMS: u32 = 100_000;

    /// A list of `items`, holding the share `a` of the page, to which one item is added at `rate`.
    pub fn new(rate: Rate, items: u32, a: f64) -> Result<Self> {
        if items == 0 || items > Scroll::MOST_ITEMS {
            let (what, bound) = ("number of items", "between 1 and 100000");
            return Err(Error::OutOfBounds { what, bound, value: f64::from(items) });
        }
        Ok(Scroll { rate, items, share: share("share of the page", a)? })
    }

    /// λ, how often an item is added.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// K, the number of items.
    pub const fn items(&self) -> u32 {
        self.items
    }

    /// a, the share of the page that the list holds.
    pub const fn share(&self) -> f64 {
        self.share
    }

    /// `P(lifetime <= t)` of an item: K changes have happened (OP08 section 3.3).
    ///
    /// ```
    /// use everfresh::curve::Scroll;
    /// use everfresh::{Period, Unit};
    /// // OP08 figure 4: with K = 10 and a rate of 0.25 a day hardly any item is gone after 20 days, half after 39.
    /// let list = Scroll::new("0.25/day".parse()?, 10, 1.0)?;
    /// assert!(list.lifetime_by(Period::of(20.0, Unit::Day)?) < 0.04);
    /// assert!((list.lifetime_by(Period::of(38.7, Unit::Day)?) - 0.5).abs() < 0.01);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn lifetime_by(&self, elapsed: Period) -> f64 {
        match self.rate * elapsed {
            0.0 => 0.0,
            r if r.is_infinite() => 1.0,
            r => poisson_tails(self.items, r)
                .next()
                .filter(|tail| tail.j == self.items)
                .map_or(0.0, |tail| tail.at_least),
        }
    }

    /// `d_j - d_(j-1)` with `d_j = 2aj/(K + aj)`.
    fn step(&self, j: u32) -> f64 {
        let (a, k, j) = (self.share, f64::from(self.items), f64::from(j));
        2.0 * a * k / ((k + a * j) * (k + a * (j - 1.0)))
    }

    /// `Σ Δ_j part(j)`, smallest terms first; at no elapsed time all parts vanish.
    fn sum(&self, elapsed: Period, part: impl Fn(&Tail) -> f64) -> f64 {
        match self.rate * elapsed {
            0.0 => 0.0,
            r => poisson_tails(self.items, r).map(|tail| self.step(tail.j) * part(&tail)).sum(),
        }
    }

    fn most(&self) -> f64 {
        2.0 * self.share / (1.0 + self.share)
    }
}

impl DivergenceCurve for Scroll {
    fn divergence(&self, elapsed: Period) -> f64 {
        if self.rate * elapsed == f64::INFINITY {
            self.most()
        } else {
            self.sum(elapsed, |tail| tail.at_least).min(self.most())
        }
    }

    fn slope(&self, elapsed: Period) -> f64 {
        let per_second = self.rate.per_second();
        match self.rate * elapsed {
            0.0 => per_second * self.step(1),
            r if r.is_infinite() => 0.0,
            _ => per_second * self.sum(elapsed, |tail| tail.point_before),
        }
    }

    fn area(&self, elapsed: Period) -> f64 {
        let t = elapsed.seconds();
        let per_second = self.rate.per_second();
        match self.rate * elapsed {
            0.0 => 0.0,
            r if r.is_infinite() => r,
            _ => self.sum(elapsed, |tail| t * tail.at_least - f64::from(tail.j) / per_second * tail.more),
        }
    }

    fn utility(&self, elapsed: Period) -> f64 {
        let per_second = self.rate.per_second();
        if self.rate * elapsed == f64::INFINITY {
            return self.ceiling();
        }
        self.sum(elapsed, |tail| f64::from(tail.j) / per_second * tail.more)
    }

    fn ceiling(&self) -> f64 {
        let whole: f64 = (1..=self.items).rev().map(|j| self.step(j) * f64::from(j)).sum();
        unless_static!(self.rate, whole / self.rate.per_second())
    }
}
