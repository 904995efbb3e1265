//! Policies: when a page is to be visited again, given what its own visits have shown.
//!
//! A [`Policy`] keeps a small *memory* of every page, takes in what a visit saw, and says after which time the next visit
//! is due at a *price*. It does not know the clock, other pages, or the truth: whoever runs it (a scheduler, a laboratory)
//! finds the price at which all pages together spend the budget. A rule that chooses its own load does not look at the price.
//!
//! | policy | period | from |
//! | --- | --- | --- |
//! | [`Uniform`] | the price itself | CGM03 section 5 |
//! | [`Proportional`] | price/λ, λ given | CGM03 section 5 |
//! | [`Known`] | where `w U(t) = price c` under the true curve | CGM03, OP08, RN15: the optimum |
//! | [`Greedy`] | any of these, ranked at every free visit instead of priced | folklore; equal to the optimum for many pages |
//! | [`Bayes`] | the same under the exact posterior, told the distribution of rates | textbook: what visits can tell |
//! | [`Posterior`] | the same under what is believed of the rate | this project |
//! | [`Told`], [`Foreknowing`] | the same under true curves; when the truth is worth the price | OP08 section 3.4 |
//! | [`Priced`] | any of these, at the price that is given | OP08: an administrator sets it |
//! | [`AtPrice`] | curve fitting, bounds, CGM's estimates, at a given price | OP08 sections 4 and 5.3 |
//! | [`peers`] | multiplicative and fixed rules | other crawlers, with their defaults |
//!
//! Uniform is the policy whose period *is* the price: everything that can spend a budget does it by the same search.

mod bayes;
pub mod checks;
mod hours;
mod known;
mod op08;
pub mod peers;
mod posterior;

pub use bayes::Bayes;
pub use known::{Greedy, Known, Proportional, Uniform};
pub use op08::{AtPrice, Foreknowing, Priced, Profiled, Told};
pub use posterior::{Aim, Divergences, Panel, Posterior, Watched};

use crate::estimate::Observation;
use crate::units::{Period, Rate};

/// What is known of a page before any visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct About {
    /// Its number among all pages, for the policies that were told of each.
    pub number: u32,
    /// Importance, or benefit per second.
    pub weight: f64,
    /// What one visit costs.
    pub cost: f64,
    /// The group of pages that it is learnt with.
    pub group: u32,
    /// λ, for the policies that are told ([`Known`], [`Proportional`]); nobody else may look.
    pub rate: Rate,
}

impl About {
    /// A page of weight and cost 1.
    pub const fn new(rate: Rate) -> About {
        About { number: 0, weight: 1.0, cost: 1.0, group: 0, rate }
    }

    /// The utility that makes a visit worth its price: `price c / w`.
    pub fn threshold(&self, price: f64) -> f64 {
        price * self.cost / self.weight
    }
}

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// The content that the copy has.
    Unchanged,
    /// Other content, so far from the copy (0 to 1; 1 where only equality is known).
    Changed {
        /// The divergence of the copy from what was found.
        divergence: f64,
        /// How long ago the source says it changed, where it says so.
        last_change: Option<Period>,
    },
    /// Nothing is there any more.
    Gone,
    /// Nothing could be seen.
    Failed,
}

/// A visit, as the policy of its page is told.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// When, in seconds from any fixed start.
    pub now_s: f64,
    /// The time since the last visit that saw the page; for the first one since the copy was made.
    pub elapsed: Period,
    /// What was found.
    pub outcome: Outcome,
    /// The content's fragments as sorted hashes; one for the whole where nothing finer is known.
    pub fragments: &'a [u64],
}

impl Visit<'_> {
    /// Did the visit see the page?
    pub const fn saw(&self) -> bool {
        matches!(self.outcome, Outcome::Unchanged | Outcome::Changed { .. })
    }

    /// Did the visit see other content?
    pub const fn changed(&self) -> bool {
        matches!(self.outcome, Outcome::Changed { .. })
    }

    /// What it tells of the page's rate, unless it tells nothing.
    pub fn observation(&self) -> Option<Observation> {
        match self.outcome {
            Outcome::Changed { last_change: Some(since), .. } => Observation::dated(self.elapsed, since).ok(),
            Outcome::Changed { .. } => Observation::changed(self.elapsed).ok(),
            Outcome::Unchanged => Observation::unchanged(self.elapsed).ok(),
            Outcome::Gone | Outcome::Failed => None,
        }
    }

    /// How far the copy was from what was found.
    pub const fn divergence(&self) -> f64 {
        match self.outcome {
            Outcome::Changed { divergence, .. } => divergence,
            _ => 0.0,
        }
    }
}

/// When to look again.
pub trait Policy: Sync {
    /// What is kept of a page between visits.
    type Memory: Clone + Send + Sync;

    /// The memory of a page that was just copied for the first time.
    fn remember(&self, about: &About, now_s: f64, fragments: &[u64]) -> Self::Memory;

    /// Takes in what a visit saw.
    fn observe(&self, about: &About, memory: &mut Self::Memory, visit: &Visit<'_>);

    /// The time after the last visit at which the next is due, at a price. Non-decreasing in the price.
    fn period(&self, about: &About, memory: &Self::Memory, price: f64) -> Period;

    /// The period, if the next visit is due at most `elapsed` after the last: for those who only ask whether it is.
    fn due_within(&self, about: &About, memory: &Self::Memory, price: f64, elapsed: Period) -> Option<Period> {
        Some(self.period(about, memory, price)).filter(|period| *period <= elapsed)
    }

    /// May the next visit to a page come at another hour than its period says?
    fn minds_hours(&self, _memory: &Self::Memory) -> bool {
        false
    }

    /// The time after the last visit at which it is best made, where it would be due after `period`: a better hour nearby.
    fn timed(&self, _about: &About, _memory: &Self::Memory, period: Period) -> Period {
        period
    }

    /// Learns from all pages together: priors and shared habits. Called now and then, between visits.
    fn learn(&mut self, _pages: &[(&About, &Self::Memory)]) {}

    /// How it obeys a price.
    fn pricing(&self) -> Pricing {
        Pricing::Steered
    }

    /// What it sees of the truth between visits, if anything: only the unreachable bounds of OP08 section 3.4 do.
    fn clairvoyance(&self) -> Clairvoyance {
        Clairvoyance::None
    }
}

/// How a policy obeys the price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pricing {
    /// At once: a price can be found at any time at which all pages together spend a budget.
    Steered,
    /// No price is solved for: whenever a visit is free, it goes to the page that is due at the highest price.
    Ranked,
    /// It was made for one price, and its load is what follows from that.
    Given,
    /// Not at all: a rule that chooses its own load.
    Own,
}

/// How a policy that cannot exist is told of changes as they happen (OP08 section 3.4, "dynamic").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clairvoyance {
    /// Not at all: it learns from its visits.
    None,
    /// It visits when the utility really gathered, `t D(t) - area(t)` of the true divergence, reaches the price.
    Content,
    /// The same with a divergence of 0 or 1: has anything changed?
    Whole,
}
