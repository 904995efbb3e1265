//! What is remembered of a page, and how: one model per estimator.

use std::marker::PhantomData;

use everfresh::estimate::{
    Drifting, Estimate, Estimator, Habits, Observation, PageState, Posterior, Prior, Seen, Sightings,
};
use everfresh::{Period, Result, Unit};

use super::priors::Priors;
use super::store::Page;
use super::visits::Told;

/// An estimator for many pages: what they share is here, the rest in the state of each.
pub(super) trait Model: Sync {
    type State: Clone + Default + Send + Sync;

    fn observe(&self, group: u32, state: &mut Self::State, observation: &Observation);

    fn estimate(&self, group: u32, page: &Page<Self::State>) -> Result<Estimate>;

    /// The gamma posterior of a page, where the model has such.
    fn posterior(&self, _: u32, _: &Page<Self::State>) -> Result<Option<Posterior>> {
        Ok(None)
    }

    /// The probability of a change so long after these observations.
    fn foresee(&self, group: u32, before: &[Observation], elapsed: Period) -> f64;

    /// What was believed of pages before they were visited, where the model has such beliefs.
    fn priors(&self) -> Option<&Priors> {
        None
    }
}

fn foreseen(mut estimator: impl Estimator, before: &[Observation], elapsed: Period) -> f64 {
    for observation in before {
        estimator.observe(observation);
    }
    estimator.change_probability(elapsed)
}

/// What a gamma posterior needs of a page beside the counts and times that are there anyway: 8 bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Watched {
    /// Seconds known to be without a change.
    quiet: u32,
    /// Of the others, the logarithms of the seconds from visit to visit, added up.
    logs: f32,
}

/// Gamma posteriors.
pub(super) struct GammaModel {
    pub priors: Priors,
    pub told: Told,
}

impl GammaModel {
    /// What the visits of a page saw.
    pub(super) fn sightings(&self, page: &Page<Watched>) -> Result<Sightings> {
        let seconds = |seconds: u32| Period::of(f64::from(seconds), Unit::Second);
        let quiet = page.state.quiet;
        let (bare, within) = match self.told {
            Told::Digest | Told::Changed => (page.changes, (page.last - page.first).saturating_sub(quiet)),
            Told::LastModified => page.undated(),
            Told::EveryChange => (0, 0),
        };
        let counted = Sightings::watched(page.changes.saturating_sub(bare), seconds(quiet)?)?;
        let bare = Sightings::bare(bare, seconds(within)?, f64::from(page.state.logs), Period::ZERO)?;
        Ok(counted.plus(bare))
    }
}

impl Model for GammaModel {
    type State = Watched;

    #[inline]
    fn observe(&self, _: u32, state: &mut Watched, observation: &Observation) {
        // Times are whole seconds that fit.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = |period: Period| period.seconds() as u32;
        match observation.seen() {
            Seen::LastChange(since) => state.quiet = state.quiet.saturating_add(whole(since)),
            #[allow(clippy::cast_possible_truncation)]
            Seen::Changed => state.logs += (observation.elapsed().seconds() as f32).ln(),
            Seen::Unchanged | Seen::Changes(_) => {
                state.quiet = state.quiet.saturating_add(whole(observation.elapsed()));
            }
        }
    }

    fn estimate(&self, group: u32, page: &Page<Watched>) -> Result<Estimate> {
        let seen = self.sightings(page)?;
        let mut estimate = seen.estimate_open(self.priors.of_page(group, &seen));
        if seen == Sightings::NONE && self.priors.are_open() {
            estimate.interval.high = None;
        }
        Ok(estimate)
    }

    fn posterior(&self, group: u32, page: &Page<Watched>) -> Result<Option<Posterior>> {
        let seen = self.sightings(page)?;
        Ok(Some(seen.posterior(self.priors.of_page(group, &seen))))
    }

    fn foresee(&self, group: u32, before: &[Observation], elapsed: Period) -> f64 {
        let mut seen = Sightings::NONE;
        for observation in before {
            seen.observe(observation);
        }
        seen.posterior(self.priors.of_page(group, &seen)).change_probability(elapsed)
    }

    fn priors(&self) -> Option<&Priors> {
        Some(&self.priors)
    }
}

/// The same for pages that change their habits.
pub(super) struct DriftingModel {
    pub priors: Priors,
    pub habits: Habits,
    pub told: Told,
}

/// What other pages tell of one that may change its habits counts as so many changes at most.
const MOST_TOLD: f64 = 2.0;

impl DriftingModel {
    /// What is believed of a page at first: how pages were in all, and hardly how they are now.
    fn prior(&self, group: u32) -> Prior {
        let learnt = self.priors.of(group);
        let weak = || Prior::new(MOST_TOLD, learnt.mean()).unwrap_or(learnt);
        if learnt.alpha() > MOST_TOLD { weak() } else { learnt }
    }
}

impl Model for DriftingModel {
    type State = PageState;

    fn observe(&self, group: u32, state: &mut PageState, observation: &Observation) {
        state.observe(&self.prior(group), &self.habits, observation);
    }

    fn estimate(&self, group: u32, page: &Page<PageState>) -> Result<Estimate> {
        let mut estimate = page.state.posterior(self.prior(group), &self.habits).estimate();
        if self.told.is_bare() && page.visits > 1 && page.changes == page.visits - 1 {
            // Every visit found a change: none of them sets an upper end.
            estimate.interval.high = None;
        }
        Ok(estimate)
    }

    fn posterior(&self, group: u32, page: &Page<PageState>) -> Result<Option<Posterior>> {
        Ok(Some(page.state.posterior(self.prior(group), &self.habits)))
    }

    fn foresee(&self, group: u32, before: &[Observation], elapsed: Period) -> f64 {
        foreseen(Drifting::new(self.prior(group), self.habits), before, elapsed)
    }

    fn priors(&self) -> Option<&Priors> {
        Some(&self.priors)
    }
}

/// An estimator that knows nothing but its page.
pub(super) struct Alone<E>(PhantomData<fn() -> E>);

impl<E> Alone<E> {
    pub(super) const fn new() -> Self {
        Alone(PhantomData)
    }
}

impl<E: Estimator + Clone + Default + Send + Sync> Model for Alone<E> {
    type State = E;

    fn observe(&self, _: u32, state: &mut E, observation: &Observation) {
        state.observe(observation);
    }

    fn estimate(&self, _: u32, page: &Page<E>) -> Result<Estimate> {
        Ok(page.state.estimate())
    }

    fn foresee(&self, _: u32, before: &[Observation], elapsed: Period) -> f64 {
        foreseen(E::default(), before, elapsed)
    }
}
