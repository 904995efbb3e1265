use super::{BoundSearch, Bounds, ContentPrior, Depths, Point, combine, fit, utility_bounds};
use crate::curve::{DivergenceCurve, Exponential, Scaled};
use crate::error::{Result, magnitude, within};
use crate::estimate::{Estimator, Habits, MaximumLikelihood, Observation, PageState, Posterior, Prior};
use crate::units::{Period, Rate};
use std::ops::Bound;

/// What a visit saw of a page, for a policy to say when the next one is due.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The time since the visit before; zero at the first.
    pub elapsed: Period,
    /// n, the visits so far, this one among them.
    pub visits: u32,
    /// How far the copy had diverged from the source: 0 to 1, 0 when nothing had changed.
    pub divergence: f64,
    /// The change profiles of the page, this visit in them, each in order of time (OP08 section 4.1).
    pub profiles: &'a [&'a [Point]],
}

impl Visit<'_> {
    /// What the visit says of the rate; nothing at the first visit.
    fn observation(&self) -> Result<Option<Observation>> {
        let (zero, one) = (Bound::Included(0.0), Bound::Included(1.0));
        within("divergence at a visit", self.divergence, zero, one, "between 0 and 1")?;
        if self.elapsed == Period::ZERO {
            return Ok(None);
        }
        let changed = self.divergence > 0.0;
        if changed { Observation::changed(self.elapsed) } else { Observation::unchanged(self.elapsed) }.map(Some)
    }

    fn combined(&self) -> Vec<Point> {
        combine(self.profiles.iter().copied())
    }
}

/// A policy that learns while it runs: after each visit it says how long to wait for the next (OP08 section 4).
///
/// A policy is shared by all pages and never changes; what it remembers of a page is a small value that the caller keeps. It
/// draws no randomness and reads no clock, so that a laboratory and a scheduler run the same.
pub trait OnlinePolicy {
    /// What is remembered of a page.
    type Memory: Clone;

    /// The memory of a page that was just discovered.
    fn discovered(&self) -> Self::Memory;

    /// φ, the time to wait after this visit; never where no visit is worth its price.
    ///
    /// Every visit of the page is told, in order, the first one with no time elapsed.
    fn next_period(&self, memory: &mut Self::Memory, visit: &Visit<'_>) -> Result<Period>;

    /// The period that was said is bounded by `longest`: a policy that goes on from its last period takes note.
    fn limit(&self, memory: &mut Self::Memory, longest: Period) {
        let _ = (memory, longest);
    }
}

/// The period that a policy says, bounded.
fn bounded<P: OnlinePolicy>(policy: &P, memory: &mut P::Memory, visit: &Visit<'_>, longest: Period) -> Result<Period> {
    let period = policy.next_period(memory, visit)?;
    if period <= longest {
        return Ok(period);
    }
    policy.limit(memory, longest);
    Ok(longest)
}

/// T, in seconds: the utility (divergence times time) at which a visit is worth its cost. For a page of weight w and cost c
/// it is `T c/w`.
fn price_s(price: Period) -> Result<f64> {
    magnitude("price in seconds", price.seconds())
}

/// What the curve-fitting policies remember of a page besides its profiles: 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Remembered {
    state: PageState,
    depths: Depths,
}

impl Remembered {
    /// Takes in a visit, under the beliefs of the page's group.
    pub fn observe(&mut self, beliefs: &Beliefs, visit: &Visit<'_>) -> Result<()> {
        if let Some(observation) = visit.observation()? {
            self.state.observe(&beliefs.rate, &beliefs.habits, &observation);
            if observation.has_changed() {
                self.depths.observe(visit.divergence)?;
            }
        }
        Ok(())
    }

    /// What is believed of the rate.
    pub fn rate(&self, beliefs: &Beliefs) -> Posterior {
        self.state.posterior(beliefs.rate, &beliefs.habits)
    }

    /// How far changes moved the page.
    pub const fn depths(&self) -> Depths {
        self.depths
    }
}

/// What is believed of the pages of a group before any visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beliefs {
    /// How often they change.
    pub rate: Prior,
    /// How they change their habits.
    pub habits: Habits,
    /// How far changes move them, and what their own fits are worth.
    pub content: ContentPrior,
}

/// The curve-fitting policy (OP08 section 4.2): the period at which the curve fitted to the page's profiles is worth the price.
///
/// While points are few it uses the gamma posterior's Lomax curve times the depth of a change, where the paper has
/// nothing to say. To be used as the paper does, put it into [`LearningPhase`] and [`RiskControl`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveFitting {
    price: f64,
    beliefs: Beliefs,
}

impl CurveFitting {
    /// The policy at a price, with what is believed of pages before their visits.
    pub fn new(price: Period, beliefs: Beliefs) -> Result<Self> {
        Ok(CurveFitting { price: price_s(price)?, beliefs })
    }
}

impl OnlinePolicy for CurveFitting {
    type Memory = Remembered;

    fn discovered(&self) -> Remembered {
        Remembered::default()
    }

    fn next_period(&self, memory: &mut Remembered, visit: &Visit<'_>) -> Result<Period> {
        memory.observe(&self.beliefs, visit)?;
        let few = Scaled::new(memory.rate(&self.beliefs).curve()?, self.beliefs.content.depth_of(memory.depths))?;
        Ok(fit(&visit.combined(), few).period(self.price))
    }
}

/// The policy that believes with care: the period at which the page's [`Believed`](super::Believed) curve is worth the price.
///
/// What the curve-fitting policy of the paper lacks: fits count by their evidence, and a page that was quiet is visited again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Content {
    price: f64,
    beliefs: Beliefs,
}

impl Content {
    /// The policy at a price, with what is believed of pages before their visits.
    pub fn new(price: Period, beliefs: Beliefs) -> Result<Self> {
        Ok(Content { price: price_s(price)?, beliefs })
    }
}

impl OnlinePolicy for Content {
    type Memory = Remembered;

    fn discovered(&self) -> Remembered {
        Remembered::default()
    }

    fn next_period(&self, memory: &mut Remembered, visit: &Visit<'_>) -> Result<Period> {
        memory.observe(&self.beliefs, visit)?;
        let curve = self.beliefs.content.believed(&memory.rate(&self.beliefs), memory.depths, &visit.combined())?;
        Ok(curve.period(self.price))
    }
}

/// The bound-based policy (OP08 section 4.3): doubles, halves or keeps the period by what the profiles leave open.
///
/// From a first period below the optimal one it settles into a round of periods between a quarter of it and all of it. From
/// one at which the page has long diverged as far as it ever does it finds no way down: all may have happened right
/// after the visit (utility 0) or right before the next, the bounds straddle any price, and the period stays for ever. So
/// begin with a short period and put it into [`RiskControl`], as the paper does with ρ = 10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundBased {
    price: f64,
    first: BoundSearch,
}

impl BoundBased {
    /// The policy at a price; pages begin with the period `first`.
    pub fn new(price: Period, first: Period) -> Result<Self> {
        Ok(BoundBased { price: price_s(price)?, first: BoundSearch::new(first)? })
    }
}

impl OnlinePolicy for BoundBased {
    type Memory = BoundSearch;

    fn discovered(&self) -> BoundSearch {
        self.first
    }

    fn next_period(&self, memory: &mut BoundSearch, visit: &Visit<'_>) -> Result<Period> {
        memory.visited(visit.elapsed);
        let bounds = visit.profiles.iter().map(|profile| Bounds::new(profile)).collect::<Result<Vec<_>>>()?;
        memory.adjust(utility_bounds(&bounds, memory.window()), self.price);
        Ok(memory.period())
    }

    fn limit(&self, memory: &mut BoundSearch, longest: Period) {
        memory.limit(longest);
    }
}

/// The policy of Cho & Garcia-Molina as OP08 section 5.3 compares with it: an estimated rate, and the optimal period for
/// holistic staleness at the price (OP08 appendix A). It sees whether a page changed, not how far.
///
/// The rate is the maximum-likelihood one of CGM's *Estimating frequency of change*, which irregular visits need. Put it into
/// [`WarmUp`], as the paper does: else a page whose first visits are quiet is never visited again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cgm {
    price: f64,
}

impl Cgm {
    /// The policy at a price.
    pub fn new(price: Period) -> Result<Self> {
        Ok(Cgm { price: price_s(price)? })
    }
}

/// What [`Cgm`] remembers of a page: what its visits saw, and its rate at the last one, from which the next is found.
#[derive(Clone, Debug, PartialEq)]
pub struct Rated {
    seen: MaximumLikelihood,
    rate: Rate,
}

impl OnlinePolicy for Cgm {
    type Memory = Rated;

    fn discovered(&self) -> Rated {
        Rated { seen: MaximumLikelihood::new(), rate: Rate::STATIC }
    }

    fn next_period(&self, memory: &mut Rated, visit: &Visit<'_>) -> Result<Period> {
        if let Some(observation) = visit.observation()? {
            memory.seen.observe(&observation);
            memory.rate = memory.seen.rate_near(memory.rate);
        }
        Ok(Exponential::new(memory.rate).period(self.price))
    }
}

/// Any policy, with a learning phase: the n-th visit is followed by a period of at most `l n` (OP08 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearningPhase<P> {
    policy: P,
    step: f64,
}

impl<P> LearningPhase<P> {
    /// `step` is l, positive: the longest first period, by which the longest period grows with each visit.
    pub fn new(policy: P, step: Period) -> Result<Self> {
        Ok(LearningPhase { policy, step: magnitude("learning step in seconds", step.seconds())? })
    }
}

impl<P: OnlinePolicy> OnlinePolicy for LearningPhase<P> {
    type Memory = P::Memory;

    fn discovered(&self) -> P::Memory {
        self.policy.discovered()
    }

    fn next_period(&self, memory: &mut P::Memory, visit: &Visit<'_>) -> Result<Period> {
        bounded(&self.policy, memory, visit, Period::raw(self.step * f64::from(visit.visits.max(1))))
    }

    fn limit(&self, memory: &mut P::Memory, longest: Period) {
        self.policy.limit(memory, longest);
    }
}

/// Any policy, with bounded risk: no period is longer than `ρ T/D_max`, so that the utility lost between visits is at
/// most ρ T whatever the page does (OP08 section 4.5). `D_max` is 1, as for every share of content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiskControl<P> {
    policy: P,
    longest: f64,
}

impl<P> RiskControl<P> {
    /// `rho` is ρ, at least 1: how many times the price may be lost at worst.
    pub fn new(policy: P, price: Period, rho: f64) -> Result<Self> {
        within("risk parameter rho", rho, Bound::Included(1.0), Bound::Included(1e9), "between 1 and 1e9")?;
        Ok(RiskControl { policy, longest: rho * price_s(price)? })
    }
}

impl<P: OnlinePolicy> OnlinePolicy for RiskControl<P> {
    type Memory = P::Memory;

    fn discovered(&self) -> P::Memory {
        self.policy.discovered()
    }

    fn next_period(&self, memory: &mut P::Memory, visit: &Visit<'_>) -> Result<Period> {
        bounded(&self.policy, memory, visit, Period::raw(self.longest))
    }

    fn limit(&self, memory: &mut P::Memory, longest: Period) {
        self.policy.limit(memory, longest);
    }
}

/// Any policy, after a warm-up in which periods grow linearly: `l n` after the n-th of the first visits (OP08 section 5.3).
///
/// Unlike [`LearningPhase`], which sets a bound, this is the schedule itself, the same for every policy that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUp<P> {
    policy: P,
    step: f64,
    visits: u32,
}

impl<P> WarmUp<P> {
    /// `step` is l, positive; the first `visits` visits warm up.
    pub fn new(policy: P, step: Period, visits: u32) -> Result<Self> {
        Ok(WarmUp { policy, step: magnitude("warm-up step in seconds", step.seconds())?, visits })
    }
}

impl<P: OnlinePolicy> OnlinePolicy for WarmUp<P> {
    type Memory = P::Memory;

    fn discovered(&self) -> P::Memory {
        self.policy.discovered()
    }

    fn next_period(&self, memory: &mut P::Memory, visit: &Visit<'_>) -> Result<Period> {
        let period = self.policy.next_period(memory, visit)?;
        let growing = Period::raw(self.step * f64::from(visit.visits.max(1)));
        Ok(if visit.visits <= self.visits { growing } else { period })
    }

    fn limit(&self, memory: &mut P::Memory, longest: Period) {
        self.policy.limit(memory, longest);
    }
}
