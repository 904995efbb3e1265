use super::{Estimate, Estimator, Evidence, Gamma, Knowledge, Observation, Posterior, Prior, Seen};
use crate::error::{Result, magnitude, within};
use crate::units::Period;
use std::ops::Bound;

/// How the pages of a group are busy and quiet by turns: a Poisson process whose rate a hidden Markov chain switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRates {
    /// Multiples of the page's mean rate, in quiet and busy times.
    factors: [f64; 2],
    /// Switching, per second: from quiet to busy, and from busy to quiet.
    switch: [f64; 2],
}

impl TwoRates {
    /// Busy times of `busy_for` and quiet times of `quiet_for` on average, with `contrast` (1 to 1e6) times as many
    /// changes per time in the busy ones.
    pub fn new(busy_for: Period, quiet_for: Period, contrast: f64) -> Result<Self> {
        let busy = magnitude("length of busy times in seconds", busy_for.seconds())?;
        let quiet = magnitude("length of quiet times in seconds", quiet_for.seconds())?;
        within("contrast", contrast, Bound::Included(1.0), Bound::Included(1e6), "between 1 and 1e6")?;
        // The factors average to 1 over time.
        let low = (busy + quiet) / (quiet + busy * contrast);
        Ok(TwoRates { factors: [low, low * contrast], switch: [1.0 / quiet, 1.0 / busy] })
    }

    /// The mean length of busy times.
    pub fn busy_for(&self) -> Period {
        Period::raw(1.0 / self.switch[1])
    }

    /// The mean length of quiet times.
    pub fn quiet_for(&self) -> Period {
        Period::raw(1.0 / self.switch[0])
    }

    /// How many times as many changes per time there are in busy times.
    pub fn contrast(&self) -> f64 {
        self.factors[1] / self.factors[0]
    }

    /// The share of time that is busy.
    fn busy_share(&self) -> f64 {
        self.switch[0] / (self.switch[0] + self.switch[1])
    }

    /// The mean factor over the next `t` seconds, from a probability of being busy.
    fn mean_factor(&self, busy: f64, t: f64) -> f64 {
        let st = (self.switch[0] + self.switch[1]) * t;
        let lag = if st > 0.0 { -(-st).exp_m1() / st } else { 1.0 };
        let mean = self.busy_share() + (busy - self.busy_share()) * lag;
        self.factors[0] + (self.factors[1] - self.factors[0]) * mean
    }

    /// How much more than a Poisson count the changes of a page of this mean rate vary, over long times:
    /// `1 + 2 π_b π_q (λ_b - λ_q)² / (μ (s_b + s_q))`.
    fn dispersion(&self, rate: f64) -> f64 {
        let share = self.busy_share();
        let spread = (self.factors[1] - self.factors[0]).powi(2);
        1.0 + 2.0 * share * (1.0 - share) * spread * rate / (self.switch[0] + self.switch[1])
    }

    /// `v e^(Mt)`, where M switches and, at the mean rate `rate`, loses what changes.
    fn flow(&self, v: [f64; 2], rate: f64, t: f64) -> [f64; 2] {
        let [a, b] = self.switch;
        let (m11, m22) = (-a - rate * self.factors[0], -b - rate * self.factors[1]);
        // e^(Mt) = e^(mt) [cosh(dt) + sinh(dt)/d (M - m)], with m the mean of the diagonal.
        let (m, half) = ((m11 + m22) / 2.0, (m11 - m22) / 2.0);
        let d = (half * half + a * b).sqrt();
        let (slow, fast) = (((m + d) * t).exp(), ((m - d) * t).exp());
        let (c, s) = ((slow + fast) / 2.0, (slow - fast) / (2.0 * d));
        [v[0] * (c + s * half) + v[1] * s * b, v[0] * s * a + v[1] * (c - s * half)]
    }
}

/// A page with busy and quiet times: a Markov-modulated Poisson filter. State: the evidence for its mean rate, and the
/// probability that it is busy now.
///
/// With `v = (quiet, busy)`, `Q` the switching and `Λ` the rates: a quiet visit after I leaves `v e^((Q-Λ)I)`, a changed one
/// `v (e^(QI) - e^((Q-Λ)I))`, one whose last change is s old `v e^(Q(I-s)) Λ e^((Q-Λ)s)`; each divided by its sum. All are 2x2
/// matrices in closed form. The mean rate is learnt as by [`Evidence`], in the time that the filter expects to count, and
/// divided by the dispersion that busy times cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRate {
    prior: Prior,
    rates: TwoRates,
    evidence: Evidence,
    busy: f64,
}

impl TwoRate {
    /// A page of which nothing is known but the prior of its mean rate and the rhythm of its group.
    pub fn new(prior: Prior, rates: TwoRates) -> Self {
        TwoRate { prior, rates, evidence: Evidence::NONE, busy: rates.busy_share() }
    }

    /// The probability that the page is in a busy time now.
    pub const fn busy(&self) -> f64 {
        self.busy
    }

    /// What is believed of the mean rate.
    pub fn posterior(&self) -> Posterior {
        let dispersion = self.rates.dispersion(self.prior.alpha() / self.prior.beta().seconds());
        self.evidence.scaled(1.0 / dispersion).posterior(self.prior)
    }

    fn mean_rate(&self) -> f64 {
        self.posterior().mean().per_second()
    }

    /// The state of the filter after an observation, not yet divided by its sum.
    fn filtered(&self, observation: &Observation) -> [f64; 2] {
        let (v, rate, t) = ([1.0 - self.busy, self.busy], self.mean_rate(), observation.elapsed().seconds());
        let [low, high] = self.rates.factors;
        match observation.seen() {
            Seen::Unchanged => self.rates.flow(v, rate, t),
            Seen::Changed => {
                let (all, quiet) = (self.rates.flow(v, 0.0, t), self.rates.flow(v, rate, t));
                [all[0] - quiet[0], all[1] - quiet[1]]
            }
            Seen::LastChange(since) => {
                let at = self.rates.flow(v, 0.0, t - since.seconds());
                self.rates.flow([at[0] * low, at[1] * high], rate, since.seconds())
            }
            Seen::Changes(n) => {
                // As if all of the switching lay in the middle of the interval's changes.
                let middle = self.rates.flow(v, 0.0, t / 2.0);
                let odds = f64::from(n) * (high / low).ln() - rate * t * (high - low);
                let odds = odds.clamp(-300.0, 300.0).exp();
                self.rates.flow([middle[0], middle[1] * odds], 0.0, t / 2.0)
            }
        }
    }
}

impl Estimator for TwoRate {
    fn observe(&mut self, observation: &Observation) {
        let after = self.filtered(observation);
        // What the visit tells of the mean rate, in the time that was expected to count.
        let factor = self.rates.mean_factor(self.busy, observation.elapsed().seconds());
        let operational = observation.stretched(observation.elapsed().seconds() * factor);
        self.evidence.observe(&self.prior, &operational);
        let busy = after[1].max(0.0) / (after[0].max(0.0) + after[1].max(0.0));
        // Of visits too close or too far apart to tell anything, the sum underflows: then time alone counts.
        if busy.is_finite() {
            self.busy = busy;
        } else {
            self.busy = self.rates.flow([1.0 - self.busy, self.busy], 0.0, observation.elapsed().seconds())[1];
        }
    }

    fn estimate(&self) -> Estimate {
        let estimate = self.posterior().estimate();
        let evidence = self.posterior().evidence();
        Estimate { knowledge: Knowledge::new(evidence.changes(), evidence.exposure().seconds()), ..estimate }
    }

    fn change_probability(&self, elapsed: Period) -> f64 {
        if elapsed == Period::ZERO {
            return 0.0;
        }
        let quiet = self.rates.flow([1.0 - self.busy, self.busy], self.mean_rate(), elapsed.seconds());
        (1.0 - quiet[0] - quiet[1]).clamp(0.0, 1.0)
    }
}

/// The rhythm under which these pages' visits were foreseen best, each visit by those before it; none unless that was clearly better than by
/// [`Gamma`], a constant rate that is not known.
///
/// Busy times are tried of a tenth of the mean time between changes up to all of it, quiet times of that up to ten times as long, with 5 to
/// 100 times as many changes in the busy ones.
pub fn best_rhythm(prior: Prior, pages: &[&[Observation]]) -> Option<TwoRates> {
    let gap = prior.beta().seconds() / prior.alpha();
    let mut rhythms = Vec::new();
    for busy in [0.1, 0.3, 1.0] {
        for quiet in [1.0, 3.0, 10.0] {
            let rhythm = |contrast| TwoRates::new(Period::raw(gap * busy), Period::raw(gap * quiet), contrast).ok();
            rhythms.extend([5.0, 30.0, 100.0].into_iter().filter_map(rhythm));
        }
    }
    let best = super::best_foreseen(rhythms, pages, |rhythm| Some(TwoRate::new(prior, rhythm)))?;
    let is_better = super::foresight::is_clearly_better(pages, || TwoRate::new(prior, best), || Gamma::new(prior));
    is_better.then_some(best)
}
