//! A policy on recorded snapshots, as the paper simulates it: at each snapshot a page is visited or not.

use std::ops::Range;

use everfresh::curve::{DivergenceCurve, Exponential};
use everfresh::longevity::offline::{Foreknowing, Staleness, time_averaged};
use everfresh::longevity::{ChangeProfile, Memory, OnlinePolicy, Point, Profiles, Sketch, Visit};
use everfresh::{Period, Rate, Result, Unit};
use rayon::prelude::*;

use super::world::{STEP_DAYS, Watched, step};

/// What a policy cost, and how stale its copies were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Visits over snapshots: 1 visits every page at every snapshot.
    pub(super) cost: f64,
    /// The mean divergence of copies, over pages and time.
    pub(super) staleness: f64,
}

/// Decides, at each snapshot of a page, whether it is visited.
pub(super) trait Visitor {
    /// Is the page, copied at snapshot `copy`, to be visited at snapshot `now`? If so it is, and the copy is that of now.
    fn is_due(&mut self, page: &Watched, copy: usize, now: usize) -> Result<bool>;
}

/// The mean over pages, counting only the snapshots of a window.
pub(super) fn replay<V: Visitor>(
    pages: &[Watched],
    window: &Range<usize>,
    visitor: impl Fn(usize, &Watched) -> Result<V> + Sync,
) -> Result<Outcome> {
    let one = |(number, page): (usize, &Watched)| one_page(page, window, visitor(number, page)?);
    let outcomes = pages.par_iter().enumerate().map(one).collect::<Result<Vec<_>>>()?;
    let n = outcomes.len() as f64;
    Ok(Outcome {
        cost: outcomes.iter().map(|outcome| outcome.cost).sum::<f64>() / n,
        staleness: outcomes.iter().map(|outcome| outcome.staleness).sum::<f64>() / n,
    })
}

/// Between two snapshots the divergence is that of both, by the page's eagerness (OP08 appendix B).
fn one_page(page: &Watched, window: &Range<usize>, mut visitor: impl Visitor) -> Result<Outcome> {
    let mut copy = 0;
    let mut sums = Outcome::default();
    for now in 0..page.snapshots() - 1 {
        let is_visited = now > 0 && visitor.is_due(page, copy, now)?;
        if is_visited {
            copy = now;
        }
        if window.contains(&now) {
            sums.cost += f64::from(u8::from(is_visited));
            let (here, next) = (page.divergence(copy, now), page.divergence(copy, now + 1));
            sums.staleness += (1.0 - page.eagerness) * here + page.eagerness * next;
        }
    }
    let counted = window.end.min(page.snapshots() - 1) - window.start;
    Ok(Outcome { cost: sums.cost / counted as f64, staleness: sums.staleness / counted as f64 })
}

/// Visits every so many snapshots on average.
pub(super) struct Every {
    period: f64,
    phase: f64,
}

impl Every {
    pub(super) fn new(period: f64, number: usize) -> Every {
        // Pages are spread evenly over the period.
        Every { period, phase: (number as f64 * 0.618_034).fract() }
    }
}

impl Visitor for Every {
    fn is_due(&mut self, _: &Watched, _: usize, now: usize) -> Result<bool> {
        let turns = |snapshot: usize| (snapshot as f64 / self.period + self.phase).floor();
        Ok(turns(now) > turns(now - 1))
    }
}

/// Visits when the time since the last visit has reached a period.
pub(super) struct Static(Period);

impl Static {
    /// FS-S: the page's own time-averaged divergence at the price.
    pub(super) fn by_fragments(page: &Watched, price: Period) -> Result<Static> {
        let points = |base: usize| {
            let each = page.profile(base).iter().zip(1u32..);
            each.map(|(divergence, steps)| {
                Point::new(Period::of(f64::from(steps) * STEP_DAYS, Unit::Day)?, *divergence)
            })
            .collect::<Result<Vec<_>>>()
        };
        let profiles = (0..page.snapshots() - 1).map(points).collect::<Result<Vec<_>>>()?;
        let curve = time_averaged(profiles.iter().map(Vec::as_slice))?;
        Ok(Static(curve.period(price.seconds())))
    }

    /// HS-S: the page's own mean rate at the price.
    pub(super) fn by_changes(page: &Watched, price: Period) -> Result<Static> {
        let rate = Rate::per(f64::from(page.history.changes()) / page.history.span().seconds(), Unit::Second)?;
        Ok(Static(Exponential::new(rate).period(price.seconds())))
    }
}

impl Visitor for Static {
    fn is_due(&mut self, _: &Watched, copy: usize, now: usize) -> Result<bool> {
        Ok((now - copy) as f64 * step()?.seconds() >= self.0.seconds())
    }
}

/// FS-D and HS-D: when the utility that really arose has reached the price.
pub(super) struct Dynamic(Foreknowing);

impl Dynamic {
    pub(super) fn new(staleness: Staleness, page: &Watched, price: Period) -> Result<Dynamic> {
        Ok(Dynamic(Foreknowing::new(staleness, price, page.eagerness)?))
    }
}

impl Visitor for Dynamic {
    fn is_due(&mut self, page: &Watched, copy: usize, now: usize) -> Result<bool> {
        self.0.is_due(step()?, page.divergence(copy, now))
    }
}

/// A policy that learns from its own visits only.
pub(super) struct Online<'a, P: OnlinePolicy> {
    policy: &'a P,
    memory: P::Memory,
    profiles: Profiles,
    visits: u32,
    /// The snapshot of the next visit, not yet rounded up.
    next: f64,
}

impl<'a, P: OnlinePolicy> Online<'a, P> {
    /// A page whose first copy is made at the first snapshot, with so much memory for its profiles.
    pub(super) fn new(policy: &'a P, memory: Memory, page: &Watched) -> Result<Self> {
        let (profiles, first) = (Profiles::new(memory), policy.discovered());
        let mut online = Online { policy, memory: first, profiles, visits: 0, next: 0.0 };
        online.visit(page, 0, 0)?;
        Ok(online)
    }

    fn visit(&mut self, page: &Watched, copy: usize, now: usize) -> Result<()> {
        let (time_s, fragments) = &page.history.versions()[now];
        let m = self.profiles.memory().fragments();
        self.profiles.visit(*time_s, &Sketch::from_fragments(fragments, m)?)?;
        self.visits += 1;
        let points: Vec<Vec<Point>> = self.profiles.profiles().map(ChangeProfile::points).collect();
        let profiles: Vec<&[Point]> = points.iter().map(Vec::as_slice).collect();
        let visit = Visit {
            elapsed: Period::of((now - copy) as f64 * STEP_DAYS, Unit::Day)?,
            visits: self.visits,
            divergence: page.divergence(copy, now),
            profiles: &profiles,
        };
        let period = self.policy.next_period(&mut self.memory, &visit)?;
        self.next = now as f64 + (period.days() / STEP_DAYS).max(1.0);
        Ok(())
    }
}

impl<P: OnlinePolicy> Visitor for Online<'_, P> {
    fn is_due(&mut self, page: &Watched, copy: usize, now: usize) -> Result<bool> {
        let is_due = now as f64 >= self.next - 1e-9;
        if is_due {
            self.visit(page, copy, now)?;
        }
        Ok(is_due)
    }
}

#[cfg(test)]
mod tests {
    use super::super::world::Collection;
    use super::*;

    #[test]
    fn visiting_always_and_never_bound_all_policies() {
        let pages = Collection::HighQuality.pages(60, 3).unwrap();
        let whole = 0..pages[0].snapshots() - 1;
        let uniform = |period: f64| replay(&pages, &whole, |number, _| Ok(Every::new(period, number))).unwrap();
        let (always, never) = (uniform(1.0), uniform(f64::INFINITY));
        // The first snapshot is the copy, not a visit.
        assert!((always.cost - 28.0 / 29.0).abs() < 1e-12, "{always:?}");
        assert_eq!(never.cost, 0.0);
        let price = Period::of(0.5, Unit::Day).unwrap();
        let fs_d = replay(&pages, &whole, |_, page| Dynamic::new(Staleness::Fragment, page, price)).unwrap();
        assert!(always.staleness < fs_d.staleness && fs_d.staleness < never.staleness, "{always:?} {fs_d:?} {never:?}");
    }
}
