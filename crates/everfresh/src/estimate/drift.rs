use super::{Estimate, Estimator, Evidence, Observation, Posterior, Prior};
use crate::error::{Result, within};
use crate::units::Period;
use std::f64::consts::LN_2;
use std::ops::Bound;

/// How the pages of a group change their habits: shared by all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Habits {
    half_life: f64,
    dispersion: f64,
}

/// The odds, as a logarithm, from which a new habit is believed: about 3000 to 1.
const BELIEVED: f64 = 8.0;

impl Habits {
    /// Evidence counts half after `half_life` (never: for ever); the number of changes in a time varies `dispersion`
    /// (1 to 1000) times as much as a Poisson count would.
    ///
    /// The dispersion is what [`poisson::examine`](super::poisson::examine) finds, or `Γ(1+2/k)/Γ(1+1/k)² - 1` for a
    /// Weibull shape k: 1 for Poisson, 5 for k = 1/2. Evidence and alarms are divided by it: six edits in an hour are then one
    /// burst, not six witnesses.
    pub fn new(half_life: Period, dispersion: f64) -> Result<Habits> {
        within("half-life in seconds", half_life.seconds(), Bound::Excluded(0.0), Bound::Unbounded, "positive")?;
        within("dispersion", dispersion, Bound::Included(1.0), Bound::Included(1000.0), "between 1 and 1000")?;
        Ok(Habits { half_life: half_life.seconds(), dispersion })
    }

    pub(crate) const fn raw(half_life: f64, dispersion: f64) -> Habits {
        Habits { half_life, dispersion }
    }

    /// Poisson changes at a rate that stays.
    pub const STEADY: Habits = Habits { half_life: f64::INFINITY, dispersion: 1.0 };

    /// The time after which evidence counts half.
    pub const fn half_life(&self) -> Period {
        Period::raw(self.half_life)
    }

    /// How much more than a Poisson count the number of changes varies.
    pub const fn dispersion(&self) -> f64 {
        self.dispersion
    }
}

/// What is remembered of a page whose habits may change: 24 bytes.
///
/// The whole past, half-forgotten; the run, the end of it that looks like another habit; and plain counts for people.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PageState {
    past: Evidence,
    run: Evidence,
    visits: u32,
    changes: u32,
}

impl PageState {
    /// Takes in what the next visit saw. True when it broke a habit: the past before the run is then forgotten.
    ///
    /// The run goes on while it is likelier at twice or half the rate of the whole past than at that rate itself, and starts anew
    /// when it is not (as in Page's CUSUM, with one run for both directions). A new habit is believed when run and rest differ
    /// as two Poisson samples: with the rates `λ_1, λ_2` of both and λ of both together,
    /// `[k_1 ln(λ_1/λ) + k_2 ln(λ_2/λ)] / dispersion > 8`.
    pub fn observe(&mut self, prior: &Prior, habits: &Habits, observation: &Observation) -> bool {
        let kept = (-observation.elapsed().seconds() / habits.half_life).exp2();
        let before = self.past.scaled(kept);
        let told = before.scaled(1.0 / habits.dispersion).told_by(prior, observation);
        self.past = before.plus(told);
        self.run = self.run.scaled(kept).plus(told);
        self.visits = self.visits.saturating_add(1);
        self.changes = self.changes.saturating_add(u32::from(observation.has_changed()));
        let all = self.past.posterior(*prior);
        let rate = all.alpha() / all.beta().seconds();
        let (seen, expected) = (self.run.changes() * LN_2, rate * self.run.exposure().seconds());
        if seen <= expected && 0.5 * expected <= seen {
            self.run = Evidence::NONE;
            return false;
        }
        let broken = two_rates(self.run, self.past) > BELIEVED * habits.dispersion;
        if broken {
            self.past = self.run;
            self.run = Evidence::NONE;
        }
        broken
    }

    /// What is believed of the rate now.
    pub fn posterior(&self, prior: Prior, habits: &Habits) -> Posterior {
        self.past.scaled(1.0 / habits.dispersion).posterior(prior)
    }

    /// The evidence that counts now, not yet divided by the dispersion.
    pub const fn evidence(&self) -> Evidence {
        self.past
    }

    /// The number of visits, as far as a `u32` counts.
    pub const fn visits(&self) -> u32 {
        self.visits
    }

    /// The number of visits that found a change.
    pub const fn changes(&self) -> u32 {
        self.changes
    }
}

/// The logarithm of the likelihood ratio for two rates, of a run and of the rest of the past, against one.
fn two_rates(run: Evidence, past: Evidence) -> f64 {
    let (k, e) = (past.changes(), past.exposure().seconds());
    let (k1, e1) = (run.changes().min(k), run.exposure().seconds());
    // k ln(k/e) with its limit at no changes.
    let part = |k: f64, e: f64| if k > 1e-6 { k * (k / e).ln() } else { 0.0 };
    // Rounding must not make a rest of what is none.
    if e1 <= 0.0 || e - e1 <= 1e-6 * e {
        return 0.0;
    }
    part(k1, e1) + part(k - k1, e - e1) - part(k, e)
}

/// The gamma posterior of a page whose habits may change: [`PageState`] with its prior and habits, as an [`Estimator`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drifting {
    prior: Prior,
    habits: Habits,
    state: PageState,
}

impl Drifting {
    /// A page of which nothing is known but the prior and the habits of its group.
    pub fn new(prior: Prior, habits: Habits) -> Self {
        Drifting { prior, habits, state: PageState::default() }
    }

    /// What is remembered.
    pub const fn state(&self) -> &PageState {
        &self.state
    }

    /// What is believed of the rate now.
    pub fn posterior(&self) -> Posterior {
        self.state.posterior(self.prior, &self.habits)
    }
}

impl Estimator for Drifting {
    fn observe(&mut self, observation: &Observation) {
        self.state.observe(&self.prior, &self.habits, observation);
    }

    fn estimate(&self) -> Estimate {
        self.posterior().estimate()
    }

    fn change_probability(&self, elapsed: Period) -> f64 {
        self.posterior().change_probability(elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_at_most_32_bytes() {
        assert!(size_of::<Evidence>() == 8 && size_of::<PageState>() <= 32, "{}", size_of::<PageState>());
    }
}
