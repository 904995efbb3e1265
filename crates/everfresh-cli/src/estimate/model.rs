//! What is remembered of a page, and how: one model per estimator.

use std::marker::PhantomData;
use std::sync::Arc;

use everfresh::estimate::{
    Drifting, Ends, Estimate, Estimator, Habits, Observation, PageState, Posterior, Prior, Seen, Sightings,
};
use everfresh::{Period, Result, Unit};

use super::hours::Hours;
use super::priors::Priors;
use super::store::{Page, whole};
use super::visits::Told;

/// An estimator for many pages: what they share is here, the rest in the state of each.
pub(super) trait Model: Sync {
    type State: Clone + Default + Send + Sync;

    /// Is it not told of bare changes that were certain, and reckons without them?
    const LEAVES_OUT: bool = false;

    fn observe(&self, group: u32, state: &mut Self::State, observation: &Observation);

    /// The ends are those of the page before: pages in a row often have the same.
    fn estimate(&self, group: u32, page: &Page<Self::State>, ends: &mut Ends) -> Result<Estimate>;

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

    /// What was learnt of all pages together, beside the priors: in words, and as the curve of each of them.
    fn common(&self) -> Option<&Common> {
        None
    }
}

/// What all pages of a model have in common.
pub(super) struct Common {
    pub words: String,
    /// Of a Weibull law, where times between changes have one.
    pub shape: Option<f64>,
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
    pub hours: Option<Arc<Hours>>,
}

impl GammaModel {
    /// What the visits of a page saw.
    pub(super) fn sightings(&self, group: u32, page: &Page<Watched>) -> Result<Sightings> {
        let seconds = |seconds: u32| Period::of(f64::from(seconds), Unit::Second);
        let quiet = page.state.quiet;
        let (counted, bare, within) = match self.told {
            Told::Digest | Told::Changed => {
                let (left, left_s) = page.left_out();
                let bare = page.changes.saturating_sub(left);
                let within = self.watched_for(group, page)?.saturating_sub(quiet).saturating_sub(left_s);
                // What is rounded at every visit must not leave changes without any time.
                (0, bare, within.max(bare))
            }
            Told::LastModified => {
                let (bare, within) = page.undated();
                (page.changes.saturating_sub(bare), bare, within)
            }
            Told::EveryChange => (page.changes, 0, 0),
        };
        let counted = Sightings::watched(counted, seconds(quiet)?)?;
        let bare = Sightings::bare(bare, seconds(within)?, f64::from(page.state.logs), Period::ZERO)?;
        Ok(counted.plus(bare))
    }

    /// Seconds from the first visit to the last, of the clock of the group.
    fn watched_for(&self, group: u32, page: &Page<Watched>) -> Result<u32> {
        let seconds = page.last - page.first;
        let Some(clock) = self.hours.as_ref().and_then(|hours| hours.clock(group)) else { return Ok(seconds) };
        let elapsed = Period::of(f64::from(seconds), Unit::Second)?;
        Ok(whole(clock.operational(f64::from(page.first), elapsed)))
    }
}

impl Model for GammaModel {
    type State = Watched;

    const LEAVES_OUT: bool = true;

    #[inline]
    fn observe(&self, _: u32, state: &mut Watched, observation: &Observation) {
        match observation.seen() {
            Seen::LastChange(since) => state.quiet = state.quiet.saturating_add(whole(since)),
            #[allow(clippy::cast_possible_truncation)]
            Seen::Changed => state.logs += (observation.elapsed().seconds() as f32).ln(),
            Seen::Unchanged | Seen::Changes(_) => {
                state.quiet = state.quiet.saturating_add(whole(observation.elapsed()));
            }
        }
    }

    fn estimate(&self, group: u32, page: &Page<Watched>, ends: &mut Ends) -> Result<Estimate> {
        let seen = self.sightings(group, page)?;
        let mut estimate = seen.estimate_open_by(self.priors.of_page(group, &seen), ends);
        if seen == Sightings::NONE && self.priors.are_open() {
            estimate.interval.high = None;
        }
        Ok(estimate)
    }

    fn posterior(&self, group: u32, page: &Page<Watched>) -> Result<Option<Posterior>> {
        let seen = self.sightings(group, page)?;
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

    fn estimate(&self, group: u32, page: &Page<PageState>, _: &mut Ends) -> Result<Estimate> {
        Ok(opened(page.state.posterior(self.prior(group), &self.habits).estimate(), self.told, page))
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

/// Models in which more is shared than the priors: each page has one that is made for its prior.
pub(super) struct Fitted<E, F> {
    pub priors: Priors,
    pub told: Told,
    pub common: Common,
    pub make: F,
    /// The gamma posterior of a page, where there is such.
    pub posterior: fn(&E) -> Option<Posterior>,
}

impl<E: Estimator + Clone + Send + Sync, F: Fn(Prior) -> E + Sync> Model for Fitted<E, F> {
    type State = Option<E>;

    fn observe(&self, group: u32, state: &mut Option<E>, observation: &Observation) {
        state.get_or_insert_with(|| (self.make)(self.priors.of(group))).observe(observation);
    }

    fn estimate(&self, group: u32, page: &Page<Option<E>>, _: &mut Ends) -> Result<Estimate> {
        let fresh = || (self.make)(self.priors.of(group)).estimate();
        Ok(opened(page.state.as_ref().map_or_else(fresh, E::estimate), self.told, page))
    }

    fn posterior(&self, group: u32, page: &Page<Option<E>>) -> Result<Option<Posterior>> {
        let fresh = || (self.posterior)(&(self.make)(self.priors.of(group)));
        Ok(page.state.as_ref().map_or_else(fresh, self.posterior))
    }

    fn foresee(&self, group: u32, before: &[Observation], elapsed: Period) -> f64 {
        foreseen((self.make)(self.priors.of(group)), before, elapsed)
    }

    fn priors(&self) -> Option<&Priors> {
        Some(&self.priors)
    }

    fn common(&self) -> Option<&Common> {
        Some(&self.common)
    }
}

/// The estimate without an upper end where every visit found a change: none of them sets one.
fn opened<S>(mut estimate: Estimate, told: Told, page: &Page<S>) -> Estimate {
    if told.is_bare() && page.visits > 1 && page.changes == page.visits - 1 {
        estimate.interval.high = None;
    }
    estimate
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

    fn estimate(&self, _: u32, page: &Page<E>, _: &mut Ends) -> Result<Estimate> {
        Ok(page.state.estimate())
    }

    fn foresee(&self, _: u32, before: &[Observation], elapsed: Period) -> f64 {
        foreseen(E::default(), before, elapsed)
    }
}
