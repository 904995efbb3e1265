use super::hours::{Clocked, Hours, Witness};
use super::{About, Outcome, Policy, Visit};
use crate::curve::{Age, DivergenceCurve, Linear, Lomax};
use crate::error::Result;
use crate::estimate::{self, Habits, Hierarchy, Observation, PageState, Population, Prior};
use crate::kernel::Reciprocal;
use crate::order::{Objective, Order};
use crate::units::{Period, Rate, Unit};

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
/// * content: as harmonic, times the mean divergence of this page's changes, shrunk to that of its group: what was missed adds up.
///   There pages are told apart once that foretells how far visits find copies off, better than for a stranger, and while copies
///   are off by less than half.
///
/// How fast evidence fades, and how much less than a Poisson count it says where changes come in bursts, is learnt too: a
/// panel of every eighth page is followed under all [`Habits`] on trial, and those that foresaw the panel's visits best count
/// for all pages. So is the steadiness κ of a page: even where its mean rate is known, that of the next weeks is
/// Gamma(κ)-distributed about it, which gives the curve a heavier tail, `1/α' = 1/α + 1/κ` at the same mean.
///
/// Pages of one site change together now and then, whatever they did before. Changes that the panel's pages were not believed to
/// make, per page and time, are taken for the rate of that, which is the same for all; before any was seen, half of one is
/// expected in the time watched. So no page is believed to be quiet for longer than the site was watched.
///
/// Pages are told apart only once that pays: as long as what was learnt of each page does not foretell better than a stranger could,
/// who knows only what pages are like, which visits find a change (by three standard errors over stretches of time), all pages are taken for
/// alike, and visits are uniform, but for weights and costs, which then count as for the age, by their roots: one freshness curve for
/// all pages, near its ceiling, would give them all up together.
///
/// The hours and weekdays at which pages change are learnt from the panel, too, and once they foretell changes (again by three
/// standard errors) visits are moved to just after them, by at most half a week; see [`Policy::timed`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Posterior {
    aim: Aim,
    base: Prior,
    trials: Vec<Trial>,
    /// Which of the habits on trial count, and with which steadiness.
    chosen: (usize, usize),
    /// Does it pay to know a page?
    trust: Trust,
    /// Does it pay to know how far a page's content moves? Stored apart, see [`Posterior::divergences`].
    #[cfg_attr(feature = "serde", serde(skip))]
    likeness: Trust,
    hierarchy: Hierarchy,
    depth: Depth,
    /// Not stored: memories that are stored have no clock.
    #[cfg_attr(feature = "serde", serde(skip))]
    hours: Hours,
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
    /// A page of the panel.
    panel: Option<Box<Seat>>,
    /// When it was last visited; none where visits keep to no hours.
    visited_s: Option<f64>,
    /// A page of the panel, by the clock.
    clocked: Option<Box<Clocked>>,
}

/// What a page of the panel is followed by, under each of the habits on trial: half a kilobyte. Opaque; see [`Watched::parts`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Panel(Box<Seat>);

/// What was learnt of how far pages' contents move, of all and of the pages of a panel: see [`Posterior::divergences`].
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Divergences {
    all: Trust,
    pages: Vec<Likeness>,
}

impl Watched {
    /// A memory put together again: what is known of the rate, the mean divergence of its changes, and its seat on the panel.
    ///
    /// Whoever keeps very many pages keeps these apart, since only few pages have a panel and failures are the
    /// scheduler's: [`Watched::parts`] takes a memory apart. A memory comes back without failures, and without its clock: it does not
    /// learn of hours, and its visits keep to none. Who spreads visits over the day has no use for it.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a share needs few digits")]
    pub fn of_parts(state: PageState, mean_divergence: f64, panel: Option<Panel>) -> Watched {
        let changes = state.changes() as f32;
        let depth = Depth { sum: mean_divergence.clamp(0.0, 1.0) as f32 * changes, changes };
        let panel = panel.map(|panel| panel.0);
        Watched { state, depth, failures: 0, panel, visited_s: None, clocked: None }
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
    /// assert_eq!(Watched::of_parts(state, mean_divergence, panel).parts(), memory.parts());
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn parts(self) -> (PageState, f64, Option<Panel>) {
        let mean = if self.depth.changes > 0.0 { f64::from(self.depth.sum / self.depth.changes) } else { 0.0 };
        (self.state, mean, self.panel.map(Panel))
    }
}

/// A page of the panel: under each of the habits on trial, and how well its own visits told it from a stranger.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Seat {
    trials: [Panelist; TRIALS],
    apart: Apart,
    /// Stored apart, see [`Posterior::divergences`].
    #[cfg_attr(feature = "serde", serde(skip))]
    likeness: Likeness,
}

/// How well the visits of a page told how far its content moves from that of a stranger.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Likeness {
    apart: Apart,
    /// The divergences that visits found, in all.
    seen: f32,
}

impl Likeness {
    #[expect(clippy::cast_possible_truncation, reason = "seven digits suffice")]
    fn add(&mut self, own: f64, stranger: f64, seen: f64, elapsed: Period) {
        self.apart.add(own, stranger, seen, elapsed);
        self.seen += seen as f32;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Panelist {
    state: PageState,
    /// The sums of `-ln P` of what its visits saw, by steadiness.
    surprise: [f32; STEADINESSES.len()],
}

/// What the visits of a page, or of many, told of whether pages can be told apart. With the probability p of a change as it was
/// foreseen for this page, and `p_0` for a stranger of whom only is known what pages are like, and x = 1 for a visit that found a
/// change and 0 for others; or with expected divergences p and `p_0` and the divergence x that was found:
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Apart {
    /// `Σ p` over all visits.
    own: f32,
    /// `Σ p_0` over all visits.
    stranger: f32,
    /// `Σ x ln p/p_0`.
    changed: f32,
    /// `Σ (1-x) ln (1-p)/(1-p_0)`.
    quiet: f32,
    /// The time that was watched, in seconds.
    watched_s: f32,
}

impl Apart {
    #[expect(clippy::cast_possible_truncation, reason = "seven digits suffice")]
    fn add(&mut self, own: f64, stranger: f64, seen: f64, elapsed: Period) {
        self.watched_s += elapsed.seconds() as f32;
        let (own, stranger) = (own.clamp(1e-9, 1.0 - 1e-9), stranger.clamp(1e-9, 1.0 - 1e-9));
        self.own += own as f32;
        self.stranger += stranger as f32;
        self.changed += (seen * (own / stranger).ln()) as f32;
        self.quiet += ((1.0 - seen) * ((1.0 - own) / (1.0 - stranger)).ln()) as f32;
    }
}

/// Whether what was learnt of pages tells them apart, beyond chance.
///
/// The gain is the logarithm of how much likelier it makes *which* visits of a stretch of time found a change, given how many did
/// (as in Cox's partial likelihood): `Σ ln p/p_0 - K ln(Σp/Σp_0)` over the K changes, and likewise for the visits that found none.
/// How much pages change at a time does not count: the price takes care of that. Pages of one site change together, and a
/// thousand pages in one edit are one witness: the error of the gain is taken from how stretches differ, not from the number
/// of visits.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Trust {
    /// Of the panel up to the last lesson: visits, changes, and the first four sums of [`Apart`].
    before: [f64; 6],
    /// How often all pages changed together, a part of them as a part; and how long a page was watched on average, in seconds.
    shocks: f64,
    watched_s: f64,
    witness: Witness,
}

impl Trust {
    /// How often something befalls all pages alike, per second: what was seen of it, and half of one that was not seen yet.
    fn common_rate(&self) -> f64 {
        if self.watched_s > 0.0 { (self.shocks + 0.5) / self.watched_s } else { 0.0 }
    }

    /// Can what was missed still add up? Where visits find copies off by more than half on average, it cannot: a page that moves
    /// further than others then gains least by a visit, and not most.
    const fn adds_up(&self) -> bool {
        let [visits, seen, ..] = self.before;
        seen <= 0.5 * visits
    }

    /// Takes in a stretch: what the panel's sums come to now, over so many pages.
    fn learn(&mut self, now: [f64; 6], pages: f64) {
        let mut part = now;
        part.iter_mut().zip(self.before).for_each(|(part, before)| *part -= before);
        self.before = now;
        let [visits, changes, own, stranger, changed, quiet] = part;
        let (quiets, own_quiet, stranger_quiet) = (visits - changes, visits - own, visits - stranger);
        // Pages that left took their visits with them.
        if [visits, own, stranger, own_quiet, stranger_quiet].iter().any(|sum| *sum <= 0.0) {
            return;
        }
        // More changes than were foreseen are common to pages.
        self.shocks += (changes - own).max(0.0) / pages;
        let gain = changed - changes * (own / stranger).ln() + quiet - quiets * (own_quiet / stranger_quiet).ln();
        self.witness.hear(gain, visits);
    }
}

/// One page in so many is on the panel, and the first few are.
const PANEL: u64 = 8;
const FEW: u32 = 256;

/// The habits on trial: evidence that counts half after so many days, and so much less than it seems.
const HALF_LIVES: [f64; 3] = [f64::INFINITY, 360.0, 90.0];
const DISPERSIONS: [f64; 4] = [2.0, 1.0, 4.0, 8.0];

/// All pairs of these are tried.
const TRIALS: usize = HALF_LIVES.len() * DISPERSIONS.len();

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
            trust: Trust::default(),
            likeness: Trust::default(),
            hierarchy: Hierarchy::new(BASE),
            depth: nothing,
            hours: Hours::default(),
        }
    }

    /// What was learnt of how far contents move, with the panel's part of it. Policies and panels are stored without, as they were
    /// before it was learnt.
    pub fn divergences<'a>(&self, panel: impl IntoIterator<Item = &'a Panel>) -> Divergences {
        Divergences { all: self.likeness.clone(), pages: panel.into_iter().map(|seat| seat.0.likeness).collect() }
    }

    /// Gives back what [`Posterior::divergences`] took, to the same panel in the same order.
    pub fn restore_divergences<'a>(&mut self, panel: impl IntoIterator<Item = &'a mut Panel>, stored: Divergences) {
        self.likeness = stored.all;
        panel.into_iter().zip(stored.pages).for_each(|(seat, page)| seat.0.likeness = page);
    }

    /// The habits that foresaw best so far.
    pub fn habits(&self) -> Habits {
        self.trials[self.chosen.0].habits
    }

    /// What is believed of a page's rate.
    pub fn belief(&self, about: &About, memory: &Watched) -> estimate::Posterior {
        memory.state.posterior(self.hierarchy.prior(about.group as usize), &self.habits())
    }

    /// Is every page followed by what its own visits told? Else all are taken for alike, which makes visits uniform.
    pub const fn tells_pages_apart(&self) -> bool {
        self.tells_apart_for(self.aim)
    }

    /// The same for any aim: for content by how far copies were off, for all others by which changed.
    const fn tells_apart_for(&self, aim: Aim) -> bool {
        match aim {
            Aim::Content => self.likeness.witness.is_earned() && self.likeness.adds_up(),
            _ => self.trust.witness.is_earned(),
        }
    }

    /// The belief that counts: that of the page, once it has proved to foretell more than that of a stranger.
    ///
    /// α and β of Gamma(α, β) + c, c being the rate at which something befalls all pages: those with the same mean and variance.
    fn trusted(&self, aim: Aim, about: &About, memory: &Watched) -> (f64, Period) {
        if !self.tells_apart_for(aim) {
            let all = self.hierarchy.global();
            return (all.alpha(), all.beta());
        }
        let own = self.belief(about, memory);
        let (alpha, beta) = (own.alpha(), own.beta().seconds());
        let stretched = 1.0 + self.trust.common_rate() * beta / alpha;
        (alpha * stretched * stretched, Period::raw(beta * stretched))
    }

    /// The mean rate that is believed in, per second.
    fn rate_per_s(&self, aim: Aim, about: &About, memory: &Watched) -> f64 {
        let (alpha, beta) = self.trusted(aim, about, memory);
        alpha / beta.seconds()
    }

    /// The curve of the age at that rate.
    fn age(&self, aim: Aim, about: &About, memory: &Watched) -> Age {
        Age::new(Rate::per(self.rate_per_s(aim, about, memory), Unit::Second).unwrap_or(Rate::STATIC))
    }

    /// The curve that is believed in: that of the rate, as steady as pages were found to be.
    pub fn curve(&self, about: &About, memory: &Watched) -> Result<Lomax> {
        self.curve_for(self.aim, about, memory)
    }

    fn curve_for(&self, aim: Aim, about: &About, memory: &Watched) -> Result<Lomax> {
        let (alpha, beta) = self.trusted(aim, about, memory);
        unsteady(alpha, beta, STEADINESSES[self.chosen.1])
    }

    /// The mean divergence that counts for [`Aim::Content`].
    fn depth(&self, memory: &Watched) -> f64 {
        // Pages that are taken for alike are so in this too.
        let own = if self.tells_apart_for(Aim::Content) { memory.depth } else { Depth::default() };
        own.mean_towards(self.depth).max(1e-3)
    }

    /// The period at a price as by [`Policy::period`], for any aim and whatever visits failed: what was learnt of pages
    /// does not depend on the aim, so that one policy serves groups with different ones.
    pub fn period_for(&self, aim: Aim, about: &About, memory: &Watched, price: f64) -> Period {
        let threshold = about.threshold(price);
        let Ok(curve) = self.curve_for(aim, about, memory) else { return Period::NEVER };
        match aim {
            Aim::Freshness if self.trust.witness.is_earned() => curve.period(threshold),
            Aim::Content => curve.period_by_area(threshold / self.depth(memory)),
            Aim::Harmonic => curve.period_by_area(threshold),
            Aim::Freshness => self.age(aim, about, memory).period(threshold / self.rate_per_s(aim, about, memory)),
            Aim::Age => self.age(aim, about, memory).period(threshold),
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
        let Ok(curve) = self.curve_for(aim, about, memory) else { return Period::NEVER };
        match aim {
            Aim::Freshness if self.trust.witness.is_earned() => curve.period_quickly(threshold),
            Aim::Content => curve.period_by_area_quickly(threshold / self.depth(memory)),
            Aim::Harmonic => curve.period_by_area_quickly(threshold),
            Aim::Freshness | Aim::Age => {
                let rate = self.rate_per_s(aim, about, memory);
                let threshold = if aim == Aim::Age { threshold } else { threshold / rate };
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
        let Ok(curve) = self.curve_for(aim, about, memory) else { return 0.0 };
        match aim {
            Aim::Freshness if self.trust.witness.is_earned() => curve.utility(elapsed),
            Aim::Content => curve.area(elapsed) * self.depth(memory),
            Aim::Harmonic => curve.area(elapsed),
            Aim::Freshness => self.age(aim, about, memory).utility(elapsed) * self.rate_per_s(aim, about, memory),
            Aim::Age => self.age(aim, about, memory).utility(elapsed),
        }
    }

    /// How a page of the panel was foreseen, by itself and under all habits on trial, before what was seen is taken in.
    fn judge_visit(
        &self,
        seat: &mut Seat,
        belief: &estimate::Posterior,
        depth: Depth,
        visit: &Visit<'_>,
        observation: &Observation,
    ) {
        let (elapsed, has_changed) = (observation.elapsed(), observation.has_changed());
        let stranger = PageState::default().posterior(self.hierarchy.global(), &self.habits());
        let (own, other) = (belief.change_probability(elapsed), stranger.change_probability(elapsed));
        seat.apart.add(own, other, f64::from(u8::from(has_changed)), elapsed);
        // How far a copy is off: as far as changes move it, if there was one.
        let (own, other) = (own * depth.mean_towards(self.depth), other * Depth::default().mean_towards(self.depth));
        seat.likeness.add(own, other, visit.divergence(), elapsed);
        for (trial, page) in self.trials.iter().zip(&mut seat.trials) {
            let posterior = page.state.posterior(trial.prior, &trial.habits);
            for (surprise, steadiness) in page.surprise.iter_mut().zip(STEADINESSES) {
                let curve = unsteady(posterior.alpha(), posterior.beta(), steadiness);
                let changed = curve.map_or(0.0, |curve| curve.divergence(elapsed));
                let foreseen = if has_changed { changed } else { 1.0 - changed };
                #[expect(clippy::cast_possible_truncation, reason = "seven digits of surprise suffice")]
                let nats = -foreseen.max(1e-12).ln() as f32;
                *surprise += nats;
            }
            page.state.observe(&trial.prior, &trial.habits, observation);
        }
    }

    /// Which habits foresaw best, and the priors that go with each.
    fn judge(&mut self, pages: &[(&About, &Watched)]) {
        let seated = || pages.iter().filter_map(|(_, memory)| Some((memory, memory.panel.as_deref()?)));
        let seats = seated().count().max(1) as f64;
        self.trust.watched_s = seated().map(|(_, seat)| f64::from(seat.apart.watched_s)).sum::<f64>() / seats;
        let sums = |of: fn(&Seat, &Watched) -> (Apart, f64)| {
            seated().fold([0.0; 6], |sums, (memory, seat)| {
                let (Apart { own, stranger, changed, quiet, .. }, seen) = of(seat, memory);
                let parts =
                    [memory.state.visits().into(), seen, own.into(), stranger.into(), changed.into(), quiet.into()];
                std::array::from_fn(|at| sums[at] + parts[at])
            })
        };
        let (changes, divergences) = (
            sums(|seat, memory| (seat.apart, memory.state.changes().into())),
            sums(|seat, _| (seat.likeness.apart, seat.likeness.seen.into())),
        );
        self.trust.learn(changes, seats);
        self.likeness.learn(divergences, seats);
        self.hours.learn(pages.iter().filter_map(|(_, memory)| memory.clocked.as_deref()));
        let panel: Vec<&[Panelist; TRIALS]> = seated().map(|(_, seat)| &seat.trials).collect();
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

    fn remember(&self, about: &About, now_s: f64, fragments: &[u64]) -> Watched {
        // Which pages are on the panel is a matter of chance, but always the same; where there are few, all of them are.
        let lot = fragments
            .iter()
            .fold(u64::from(about.number), |mix, hash| mix.rotate_left(5) ^ hash)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let is_on_panel = about.number < FEW || (lot >> 32).is_multiple_of(PANEL);
        let panel = is_on_panel.then(Box::default);
        let clocked = is_on_panel.then(|| Box::new(Clocked::new(lot)));
        Watched { panel, visited_s: Some(now_s), clocked, ..Watched::default() }
    }

    fn observe(&self, about: &About, memory: &mut Watched, visit: &Visit<'_>) {
        memory.visited_s = memory.visited_s.and(Some(visit.now_s));
        if !visit.saw() {
            memory.failures = memory.failures.saturating_add(1);
            return;
        }
        memory.failures = 0;
        // Two visits at the same instant tell nothing.
        let Some(observation) = visit.observation() else { return };
        let prior = self.hierarchy.prior(about.group as usize);
        if let Some(seat) = &mut memory.panel {
            let belief = memory.state.posterior(prior, &self.habits());
            self.judge_visit(seat, &belief, memory.depth, visit, &observation);
            if let Some(clocked) = &mut memory.clocked {
                clocked.observe(visit.now_s, &observation, belief.alpha() / belief.beta().seconds());
            }
        }
        memory.state.observe(&prior, &self.habits(), &observation);
        memory.depth.add(visit.outcome);
    }

    fn period(&self, about: &About, memory: &Watched, price: f64) -> Period {
        if memory.failures > 0 {
            return backoff(memory.failures);
        }
        self.period_for(self.aim, about, memory, price)
    }

    fn due_within(&self, about: &About, memory: &Watched, price: f64, elapsed: Period) -> Option<Period> {
        // The utility is cheaper than its inverse.
        let is_early = memory.failures == 0 && self.utility(self.aim, about, memory, elapsed) < about.threshold(price);
        if is_early { None } else { Some(self.period(about, memory, price)).filter(|period| *period <= elapsed) }
    }

    fn minds_hours(&self, memory: &Watched) -> bool {
        memory.failures == 0 && memory.visited_s.is_some() && (self.hours.are_known() || memory.clocked.is_some())
    }

    fn timed(&self, about: &About, memory: &Watched, period: Period) -> Period {
        let (Ok(curve), Some(visited_s)) = (self.curve(about, memory), memory.visited_s) else { return period };
        let Some(clocked) = &memory.clocked else { return self.hours.moved(visited_s, period, &curve) };
        let visits = memory.state.visits();
        // Copies that are not fresh any more can be stale no more; for all other aims what is missed adds up.
        let displaced = if self.aim == Aim::Freshness {
            clocked.displaced(visits, period, &curve, self.hours.seldom())
        } else {
            let adds_up = Rate::once_per(Period::raw(4.0 * period.seconds())).map(Linear::new);
            adds_up.ok().and_then(|curve| clocked.displaced(visits, period, &curve, self.hours.seldom()))
        };
        displaced.unwrap_or_else(|| self.hours.moved(visited_s, clocked.regular(visits, period), &curve))
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
