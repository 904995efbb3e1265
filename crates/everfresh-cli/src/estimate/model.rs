//! What is remembered of a page, and how: one model per estimator.

use std::marker::PhantomData;

use everfresh::estimate::{Estimate, Estimator, Evidence, Habits, Hierarchy, Observation, PageState, Prior};

/// An estimator for many pages: what they share is here, the rest in the state of each.
pub(super) trait Model: Sync {
    type State: Clone + Default + Send + Sync;

    fn observe(&self, group: u32, state: &mut Self::State, observation: &Observation);

    fn estimate(&self, group: u32, state: &Self::State) -> Estimate;

    /// What a page's visits told, for the priors.
    fn evidence(&self, _: &Self::State) -> Evidence {
        Evidence::NONE
    }

    /// The priors, where the model has such.
    fn priors(&mut self) -> Option<&mut Priors> {
        None
    }
}

/// What is believed of a page before it was visited, by the number of its group.
pub(super) struct Priors {
    base: Prior,
    pub all: Prior,
    pub by_group: Vec<Prior>,
    /// By how many pages a group is held back.
    pub pooling: f64,
}

/// How far a prior may have been off, for the evidence that was weighed under it to stay: a factor.
const FAR_OFF: f64 = 2.0;

/// The share of pages whose prior may have been far off.
const FEW: f64 = 0.05;

impl Priors {
    /// One change a month, but pages differ by decades: nothing is learnt yet.
    pub(super) fn new() -> everfresh::Result<Priors> {
        let base = Prior::new(0.5, everfresh::Rate::per(1.0, everfresh::Unit::Month)?)?;
        Ok(Priors { base, all: base, by_group: Vec::new(), pooling: 0.0 })
    }

    #[inline]
    pub(super) fn of(&self, group: u32) -> Prior {
        self.by_group.get(group as usize).copied().unwrap_or(self.all)
    }

    /// Learns from what the visits of all pages told, given with their groups; `ranks` are the places of groups by name.
    /// True if many pages were weighed under a prior that was far off.
    pub(super) fn learn(&mut self, mut told: Vec<(u32, Evidence)>, ranks: &[u32]) -> bool {
        use rayon::slice::ParallelSliceMut;
        let rank = |group: u32| ranks.get(group as usize).copied().unwrap_or(0);
        // Sums depend on their order, so that it must not depend on the order of the rows or on the number of threads.
        told.par_sort_unstable_by_key(|(group, evidence)| {
            (rank(*group), evidence.changes().to_bits(), evidence.exposure().seconds().to_bits())
        });
        let mut hierarchy = Hierarchy::new(self.base);
        for (group, evidence) in &told {
            hierarchy.add(rank(*group) as usize, *evidence);
        }
        hierarchy.learn();
        let before = std::mem::replace(
            self,
            Priors {
                base: self.base,
                all: hierarchy.global(),
                by_group: ranks.iter().map(|rank| hierarchy.prior(*rank as usize)).collect(),
                pooling: hierarchy.pooling(),
            },
        );
        let is_far = |group: u32| {
            let ratio = before.of(group).mean().per_second() / self.of(group).mean().per_second();
            !(FAR_OFF.recip()..=FAR_OFF).contains(&ratio)
        };
        let far = told.iter().filter(|(group, _)| is_far(*group)).count();
        far as f64 > FEW * told.len() as f64
    }
}

/// Gamma posteriors: two numbers a page.
pub(super) struct GammaModel(pub Priors);

impl Model for GammaModel {
    type State = Evidence;

    #[inline]
    fn observe(&self, group: u32, state: &mut Evidence, observation: &Observation) {
        state.observe(&self.0.of(group), observation);
    }

    fn estimate(&self, group: u32, state: &Evidence) -> Estimate {
        state.posterior(self.0.of(group)).estimate()
    }

    fn evidence(&self, state: &Evidence) -> Evidence {
        *state
    }

    fn priors(&mut self) -> Option<&mut Priors> {
        Some(&mut self.0)
    }
}

/// The same for pages that change their habits.
pub(super) struct DriftingModel {
    pub priors: Priors,
    pub habits: Habits,
}

impl Model for DriftingModel {
    type State = PageState;

    fn observe(&self, group: u32, state: &mut PageState, observation: &Observation) {
        state.observe(&self.priors.of(group), &self.habits, observation);
    }

    fn estimate(&self, group: u32, state: &PageState) -> Estimate {
        state.posterior(self.priors.of(group), &self.habits).estimate()
    }

    fn evidence(&self, state: &PageState) -> Evidence {
        state.evidence().scaled(1.0 / self.habits.dispersion())
    }

    fn priors(&mut self) -> Option<&mut Priors> {
        Some(&mut self.priors)
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

    fn estimate(&self, _: u32, state: &E) -> Estimate {
        state.estimate()
    }
}
