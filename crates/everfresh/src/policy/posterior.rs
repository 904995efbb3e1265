use super::{About, Outcome, Policy, Visit};
use crate::curve::{Age, DivergenceCurve, Lomax};
use crate::error::Result;
use crate::estimate::{self, Habits, Hierarchy, Observation, PageState, Population, Prior};
use crate::kernel::Reciprocal;
use crate::order::{Objective, Order};
use crate::units::Period;

/// What the copies are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
/// doubt, so that it is visited again.
///
/// * freshness: `w U(t) = price c` with U of the Lomax curve;
/// * harmonic: `D' = E(1 - e^-λt)/t`, so that the utility is the area under the Lomax curve;
/// * age: the curve of the mean rate;
/// * content: the Lomax curve times the mean divergence of this page's changes, shrunk to that of its group.
///
/// How fast evidence fades, and how much less than a Poisson count it says where changes come in bursts, is learnt too: a
/// panel of every eighth page is followed under all [`Habits`] on trial, and those that foresaw the panel's visits best count
/// for all pages. So is the steadiness κ of a page: even where its mean rate is known, that of the next weeks is
/// Gamma(κ)-distributed about it, which gives the curve a heavier tail, `1/α' = 1/α + 1/κ` at the same mean.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Posterior {
    aim: Aim,
    base: Prior,
    trials: Vec<Trial>,
    /// Which of the habits on trial count, and with which steadiness.
    chosen: (usize, usize),
    hierarchy: Hierarchy,
    depth: Depth,
}

/// Habits on trial, and the prior that goes with them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Trial {
    habits: Habits,
    prior: Prior,
}

/// What [`Posterior`] remembers of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    state: PageState,
    depth: Depth,
    failures: u8,
    /// A page of the panel, under each of the habits on trial.
    panel: Option<Box<[Panelist]>>,
}

/// What a page of the panel is followed by, under each of the habits on trial: 480 bytes. Opaque; see [`Watched::parts`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Panel(Box<[Panelist]>);

impl Watched {
    /// A memory put together again: what is known of the rate, the mean divergence of its changes, and its seat on the panel.
    ///
    /// Whoever keeps very many pages keeps these apart, since only few pages have a panel and failures are the
    /// scheduler's: [`Watched::parts`] takes a memory apart. A memory with failures comes back without them.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a share needs few digits")]
    pub fn of_parts(state: PageState, mean_divergence: f64, panel: Option<Panel>) -> Watched {
        let changes = state.changes() as f32;
        let depth = Depth { sum: mean_divergence.clamp(0.0, 1.0) as f32 * changes, changes };
        Watched { state, depth, failures: 0, panel: panel.map(|panel| panel.0) }
    }

    /// What [`Watched::of_parts`] takes; the mean divergence of no changes is 0.
    ///
    /// ```
    /// use everfresh::policy::{About, Aim, Outcome, Policy, Posterior, Visit, Watched};
    /// use everfresh::{Period, Rate, Unit};
    ///
    /// let (policy, about) = (Posterior::new(Aim::Content), About::new(Rate::STATIC));
    /// let mut memory = policy.remember(&about, 0.0, &[7]);
    /// let outcome = Outcome::Changed { divergence: 0.25, last_change: None };
    /// let elapsed = Period::of(1.0, Unit::Day)?;
    /// policy.observe(&about, &mut memory, &Visit { now_s: 86_400.0, elapsed, outcome, fragments: &[8] });
    /// let (state, mean_divergence, panel) = memory.clone().parts();
    /// assert_eq!((state.changes(), mean_divergence), (1, 0.25));
    /// assert_eq!(Watched::of_parts(state, mean_divergence, panel), memory);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn parts(self) -> (PageState, f64, Option<Panel>) {
        let mean = if self.depth.changes > 0.0 { f64::from(self.depth.sum / self.depth.changes) } else { 0.0 };
        (self.state, mean, self.panel.map(Panel))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Panelist {
    state: PageState,
    /// The sums of `-ln P` of what its visits saw, by steadiness.
    surprise: [f32; STEADINESSES.len()],
}

/// One page in so many is on the panel.
const PANEL: u64 = 8;

/// The habits on trial: evidence that counts half after so many days, and so much less than it seems.
const HALF_LIVES: [f64; 3] = [f64::INFINITY, 360.0, 90.0];
const DISPERSIONS: [f64; 4] = [2.0, 1.0, 4.0, 8.0];

/// The steadinesses on trial: the first is a page whose rate stays.
const STEADINESSES: [f64; 4] = [f64::INFINITY, 2.0, 0.7, 0.25];

/// So much better must habits foresee than those that counted before, in nats.
const CONVINCED: f64 = 3.0;

/// The mean divergence that a visit finds when it finds a change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Depth {
    pub(super) sum: f32,
    pub(super) changes: f32,
}

/// A group's mean depth counts as so many changes of the page.
const DEPTH_PRIOR: f32 = 2.0;

impl Depth {
    pub(super) fn add(&mut self, outcome: Outcome) {
        if let Outcome::Changed { divergence, .. } = outcome {
            #[expect(clippy::cast_possible_truncation, reason = "a share needs few digits")]
            let divergence = divergence as f32;
            self.sum += divergence;
            self.changes += 1.0;
        }
    }

    pub(super) fn mean_towards(self, group: Depth) -> f64 {
        let shared = if group.changes > 0.0 { group.sum / group.changes } else { 1.0 };
        f64::from((self.sum + DEPTH_PRIOR * shared) / (self.changes + DEPTH_PRIOR))
    }
}

/// Once a month, but nobody knows: the prior before anything was seen.
const BASE: Prior = Prior::raw(0.5, 0.5 * 30.0 * 86_400.0);

impl Posterior {
    /// A policy that knows nothing yet.
    pub fn new(aim: Aim) -> Posterior {
        let on_trial = HALF_LIVES.iter().flat_map(|days| DISPERSIONS.map(|dispersion| (days * 86_400.0, dispersion)));
        let trials = on_trial
            .map(|(half_life_s, dispersion)| Trial { habits: Habits::raw(half_life_s, dispersion), prior: BASE });
        let nothing = Depth { sum: 0.0, changes: 0.0 };
        Posterior {
            aim,
            base: BASE,
            trials: trials.collect(),
            chosen: (0, 0),
            hierarchy: Hierarchy::new(BASE),
            depth: nothing,
        }
    }

    /// The habits that foresaw best so far.
    pub fn habits(&self) -> Habits {
        self.trials[self.chosen.0].habits
    }

    /// What is believed of a page's rate.
    pub fn belief(&self, about: &About, memory: &Watched) -> estimate::Posterior {
        memory.state.posterior(self.hierarchy.prior(about.group as usize), &self.habits())
    }

    /// The curve that is believed in: that of the rate, as steady as pages were found to be.
    pub fn curve(&self, about: &About, memory: &Watched) -> Result<Lomax> {
        let posterior = self.belief(about, memory);
        unsteady(posterior.alpha(), posterior.beta(), STEADINESSES[self.chosen.1])
    }

    /// The mean divergence that counts for [`Aim::Content`].
    fn depth(&self, memory: &Watched) -> f64 {
        memory.depth.mean_towards(self.depth).max(1e-3)
    }

    /// The period at a price as by [`Policy::period`], for any aim and whatever visits failed: what was learnt of pages
    /// does not depend on the aim, so that one policy serves groups with different ones.
    pub fn period_for(&self, aim: Aim, about: &About, memory: &Watched, price: f64) -> Period {
        let threshold = about.threshold(price);
        let Ok(curve) = self.curve(about, memory) else { return Period::NEVER };
        match aim {
            Aim::Freshness => curve.period(threshold),
            Aim::Content => curve.period(threshold / self.depth(memory)),
            Aim::Harmonic => curve.period_by_area(threshold),
            Aim::Age => Age::new(self.belief(about, memory).estimate().rate).period(threshold),
        }
    }

    /// As [`Posterior::period_for`], by tables: with a relative error below 1e-4, in a tenth of the time.
    ///
    /// ```
    /// use everfresh::Rate;
    /// use everfresh::policy::{About, Aim, Policy, Posterior};
    ///
    /// let (policy, about) = (Posterior::new(Aim::Freshness), About::new(Rate::STATIC));
    /// let memory = policy.remember(&about, 0.0, &[7]);
    /// for aim in [Aim::Freshness, Aim::Age, Aim::Harmonic, Aim::Content] {
    ///     let quick = policy.period_quickly(aim, &about, &memory, 1e5).seconds();
    ///     assert!((quick / policy.period_for(aim, &about, &memory, 1e5).seconds() - 1.0).abs() < 1e-4);
    /// }
    /// ```
    pub fn period_quickly(&self, aim: Aim, about: &About, memory: &Watched, price: f64) -> Period {
        let threshold = about.threshold(price);
        let Ok(curve) = self.curve(about, memory) else { return Period::NEVER };
        match aim {
            Aim::Freshness => curve.period_quickly(threshold),
            Aim::Content => curve.period_quickly(threshold / self.depth(memory)),
            Aim::Harmonic => curve.period_by_area_quickly(threshold),
            Aim::Age => {
                let belief = self.belief(about, memory);
                let rate = belief.alpha() / belief.beta().seconds();
                let reciprocal = Reciprocal::of(Order::Fixed, Objective::Age).at(threshold * rate * rate);
                Period::raw(1.0 / (rate * reciprocal))
            }
        }
    }

    /// U(elapsed), the utility whose inverse is [`Posterior::period_for`]: a visit is due when `w U >= price c`.
    ///
    /// In seconds; for the age in seconds squared. A page whose curve cannot be computed has none.
    ///
    /// ```
    /// use everfresh::Rate;
    /// use everfresh::policy::{About, Aim, Policy, Posterior};
    ///
    /// let (policy, about) = (Posterior::new(Aim::Freshness), About::new(Rate::STATIC));
    /// let memory = policy.remember(&about, 0.0, &[7]);
    /// for aim in [Aim::Freshness, Aim::Age, Aim::Harmonic, Aim::Content] {
    ///     let period = policy.period_for(aim, &about, &memory, 1e5);
    ///     assert!((policy.utility(aim, &about, &memory, period) / 1e5 - 1.0).abs() < 1e-9);
    /// }
    /// ```
    pub fn utility(&self, aim: Aim, about: &About, memory: &Watched, elapsed: Period) -> f64 {
        let Ok(curve) = self.curve(about, memory) else { return 0.0 };
        match aim {
            Aim::Freshness => curve.utility(elapsed),
            Aim::Content => curve.utility(elapsed) * self.depth(memory),
            Aim::Harmonic => curve.area(elapsed),
            Aim::Age => Age::new(self.belief(about, memory).estimate().rate).utility(elapsed),
        }
    }

    fn try_habits(&self, panel: &mut [Panelist], observation: &Observation) {
        for (trial, page) in self.trials.iter().zip(panel) {
            let posterior = page.state.posterior(trial.prior, &trial.habits);
            for (surprise, steadiness) in page.surprise.iter_mut().zip(STEADINESSES) {
                let curve = unsteady(posterior.alpha(), posterior.beta(), steadiness);
                let changed = curve.map_or(0.0, |curve| curve.divergence(observation.elapsed()));
                let foreseen = if observation.has_changed() { changed } else { 1.0 - changed };
                #[expect(clippy::cast_possible_truncation, reason = "seven digits of surprise suffice")]
                let nats = -foreseen.max(1e-12).ln() as f32;
                *surprise += nats;
            }
            page.state.observe(&trial.prior, &trial.habits, observation);
        }
    }

    /// Which habits foresaw best, and the priors that go with each.
    fn judge(&mut self, pages: &[(&About, &Watched)]) {
        let panel: Vec<&[Panelist]> = pages.iter().filter_map(|(_, memory)| memory.panel.as_deref()).collect();
        let mut surprises = vec![[0.0; STEADINESSES.len()]; self.trials.len()];
        for (number, trial) in self.trials.iter_mut().enumerate() {
            let mut population = Population::new();
            for page in &panel {
                population.add(page[number].state.evidence().scaled(1.0 / trial.habits.dispersion()));
                for (sum, part) in surprises[number].iter_mut().zip(page[number].surprise) {
                    *sum += f64::from(part);
                }
            }
            trial.prior = population.learn(self.base, 1.0);
        }
        let of = |(trial, steadiness): (usize, usize)| -> f64 { surprises[trial][steadiness] };
        let all = (0..surprises.len()).flat_map(|trial| (0..STEADINESSES.len()).map(move |s| (trial, s)));
        let best = all.min_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap_or(self.chosen);
        if of(best) + CONVINCED < of(self.chosen) {
            self.chosen = best;
        }
    }
}

impl Policy for Posterior {
    type Memory = Watched;

    fn remember(&self, _: &About, _: f64, fragments: &[u64]) -> Watched {
        // Which pages are on the panel is a matter of chance, but always the same.
        let lot =
            fragments.iter().fold(0u64, |mix, hash| mix.rotate_left(5) ^ hash).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let is_on_panel = (lot >> 32).is_multiple_of(PANEL);
        let panel = is_on_panel.then(|| vec![Panelist::default(); self.trials.len()].into_boxed_slice());
        Watched { panel, ..Watched::default() }
    }

    fn observe(&self, about: &About, memory: &mut Watched, visit: &Visit<'_>) {
        if !visit.saw() {
            memory.failures = memory.failures.saturating_add(1);
            return;
        }
        memory.failures = 0;
        // Two visits at the same instant tell nothing.
        let Some(observation) = visit.observation() else { return };
        let prior = self.hierarchy.prior(about.group as usize);
        memory.state.observe(&prior, &self.habits(), &observation);
        if let Some(panel) = &mut memory.panel {
            self.try_habits(panel, &observation);
        }
        memory.depth.add(visit.outcome);
    }

    fn period(&self, about: &About, memory: &Watched, price: f64) -> Period {
        if memory.failures > 0 {
            return backoff(memory.failures);
        }
        self.period_for(self.aim, about, memory, price)
    }

    fn learn(&mut self, pages: &[(&About, &Watched)]) {
        self.judge(pages);
        let mut hierarchy = Hierarchy::new(self.base);
        let mut depth = Depth::default();
        for (about, memory) in pages {
            let evidence = memory.state.evidence().scaled(1.0 / self.habits().dispersion());
            hierarchy.add(about.group as usize, evidence);
            depth.sum += memory.depth.sum;
            depth.changes += memory.depth.changes;
        }
        hierarchy.learn();
        self.hierarchy = hierarchy;
        self.depth = depth;
    }
}

/// The curve of a rate that is Gamma(α, β) and varies about that by Gamma(κ): the same mean, a heavier tail.
fn unsteady(alpha: f64, beta: Period, steadiness: f64) -> Result<Lomax> {
    let shape = 1.0 / (1.0 / alpha + 1.0 / steadiness);
    Lomax::new(shape, Period::raw(beta.seconds() * shape / alpha))
}

/// An hour after the first failure, then twice as long each time, at most a month.
pub(super) fn backoff(failures: u8) -> Period {
    let doublings = i32::from(failures.min(20)) - 1;
    Period::raw((3600.0 * 2f64.powi(doublings)).min(30.0 * 86_400.0))
}
