use super::{About, Outcome, Policy, Visit};
use crate::curve::{Age, DivergenceCurve, Lomax};
use crate::estimate::{Estimator, Evidence, Habits, Hierarchy, Observation, PageState, Prior};
use crate::numeric::{Evaluation, solve};
use crate::units::Period;

/// What the copies are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Equal to the source for as much of the time as possible.
    Freshness,
    /// Behind the source for as short as possible.
    Age,
    /// A page that missed n changes costs 1 + 1/2 + ... + 1/n: no page is ever given up.
    Harmonic,
    /// Like the source: what counts is the share of content that differs.
    Content,
}

/// The law under what is believed of every page: a gamma posterior of its rate, from a prior learnt over its group.
///
/// Not knowing a rate is priced by the same law: the predictive curve is [`Lomax`]. A page that was quiet so far keeps some
/// doubt, so that it is visited again; evidence fades with a half-life, and counts less where changes come in bursts.
///
/// * freshness: `w U(t) = price c` with U of the Lomax curve;
/// * harmonic: `D' = E(1 - e^-λt)/t`, so that the utility is the area under the Lomax curve;
/// * age: the curve of the mean rate;
/// * content: the Lomax curve times the mean divergence of this page's changes, shrunk to that of its group.
#[derive(Clone, Debug)]
pub struct Posterior {
    aim: Aim,
    base: Prior,
    habits: Habits,
    hierarchy: Hierarchy,
    depth: Depth,
}

/// What [`Posterior`] remembers of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Believed {
    state: PageState,
    depth: Depth,
    failures: u8,
}

/// The mean divergence that a visit finds when it finds a change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Depth {
    sum: f32,
    changes: f32,
}

/// A group's mean depth counts as so many changes of the page.
const DEPTH_PRIOR: f32 = 2.0;

impl Depth {
    fn mean_towards(self, group: Depth) -> f64 {
        let shared = if group.changes > 0.0 { group.sum / group.changes } else { 1.0 };
        f64::from((self.sum + DEPTH_PRIOR * shared) / (self.changes + DEPTH_PRIOR))
    }
}

impl Posterior {
    /// A policy that starts from the prior `base` for all pages and learns better ones.
    pub const fn new(aim: Aim, base: Prior, habits: Habits) -> Posterior {
        let nothing = Depth { sum: 0.0, changes: 0.0 };
        Posterior { aim, base, habits, hierarchy: Hierarchy::new(base), depth: nothing }
    }

    fn curve(&self, about: &About, memory: &Believed) -> Option<Lomax> {
        let prior = self.hierarchy.prior(about.group as usize);
        memory.state.posterior(prior, &self.habits).curve().ok()
    }
}

impl Policy for Posterior {
    type Memory = Believed;

    fn remember(&self, _: &About, _: &[u64]) -> Believed {
        Believed::default()
    }

    fn observe(&self, about: &About, memory: &mut Believed, visit: &Visit<'_>) {
        if !visit.saw() {
            memory.failures = memory.failures.saturating_add(1);
            return;
        }
        memory.failures = 0;
        let observation = match visit.outcome {
            Outcome::Changed { last_change: Some(since), .. } => Observation::last_change(visit.elapsed, since),
            Outcome::Changed { .. } => Observation::changed(visit.elapsed),
            _ => Observation::unchanged(visit.elapsed),
        };
        // Two visits at the same instant tell nothing.
        let Ok(observation) = observation else { return };
        let prior = self.hierarchy.prior(about.group as usize);
        memory.state.observe(&prior, &self.habits, &observation);
        if let Outcome::Changed { divergence, .. } = visit.outcome {
            #[expect(clippy::cast_possible_truncation, reason = "a share needs few digits")]
            let divergence = divergence as f32;
            memory.depth.sum += divergence;
            memory.depth.changes += 1.0;
        }
    }

    fn period(&self, about: &About, memory: &Believed, price: f64) -> Period {
        if memory.failures > 0 {
            return backoff(memory.failures);
        }
        let threshold = about.threshold(price);
        let Some(curve) = self.curve(about, memory) else { return Period::NEVER };
        match self.aim {
            Aim::Freshness => curve.period(threshold),
            Aim::Content => curve.period(threshold / memory.depth.mean_towards(self.depth).max(1e-3)),
            Aim::Harmonic => period_by_area(&curve, threshold),
            Aim::Age => {
                let prior = self.hierarchy.prior(about.group as usize);
                Age::new(memory.state.posterior(prior, &self.habits).estimate().rate).period(threshold)
            }
        }
    }

    fn learn(&mut self, pages: &[(&About, &Believed)]) {
        let mut hierarchy = Hierarchy::new(self.base);
        let mut depth = Depth::default();
        for (about, memory) in pages {
            let evidence: Evidence = memory.state.evidence().scaled(1.0 / self.habits.dispersion());
            hierarchy.add(about.group as usize, evidence);
            depth.sum += memory.depth.sum;
            depth.changes += memory.depth.changes;
        }
        hierarchy.learn();
        self.hierarchy = hierarchy;
        self.depth = depth;
    }
}

/// An hour after the first failure, then twice as long each time, at most a month.
fn backoff(failures: u8) -> Period {
    let doublings = i32::from(failures.min(20)) - 1;
    Period::raw((3600.0 * 2f64.powi(doublings)).min(30.0 * 86_400.0))
}

/// The time at which the area under a curve reaches a value: the harmonic utility of a rate that is not known.
fn period_by_area(curve: &Lomax, area: f64) -> Period {
    if area <= 0.0 {
        return Period::ZERO;
    }
    // The area starts as a parabola with the mean rate and ends as a line.
    let start = (2.0 * area * curve.beta().seconds() / curve.alpha()).sqrt() + area;
    Period::raw(solve(area, start, |seconds| {
        let elapsed = Period::raw(seconds);
        let value = curve.area(elapsed);
        Evaluation { value, elasticity: seconds * curve.divergence(elapsed) / value }
    }))
}
