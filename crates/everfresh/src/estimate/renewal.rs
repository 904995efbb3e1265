use super::foresight::is_clearly_better;
use super::hierarchy::shape_of_log_variance;
use super::{Estimate, Estimator, Evidence, Interval, Knowledge, LEVEL, Observation, Posterior, Prior, Seen};
use crate::error::{Result, within};
use crate::numeric::digamma;
use crate::units::{Period, Rate};
use std::ops::Bound;

/// A bursty page: the times between its changes follow a Weibull law of shape k < 1, so that a change makes the next likelier.
///
/// For such times x, `x^k` is exponential with a rate θ: in the operational time `u = (a + t)^k - a^k`, with a the time from
/// the last change to the last visit, the page is Poisson again, and the gamma posterior of θ is all that is needed:
/// `P(no change within t) = (1 + u/β)^-α`. State: evidence in operational time, and a. Where visits do not date a change,
/// a is half the time between them; the shape is shared by a group ([`best_shape`]).
///
/// The rate of an estimate is the long-run one: `λ = θ^(1/k) / Γ(1 + 1/k)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Renewal {
    /// Of θ, in operational time.
    prior: Prior,
    shape: f64,
    evidence: Evidence,
    since_change: f64,
    /// The plain time watched, for the knowledge.
    elapsed: f64,
}

impl Renewal {
    /// A page of which nothing is known but a prior of its rate and the shape k (0.2 to 2).
    ///
    /// The prior of θ is the gamma distribution whose logarithm has the mean and variance that the prior of λ gives it. A
    /// page that was never seen to change is taken to have last changed one mean interval before the first visit.
    pub fn new(prior: Prior, shape: f64) -> Result<Self> {
        within("Weibull shape", shape, Bound::Included(0.2), Bound::Included(2.0), "between 0.2 and 2")?;
        let alpha = shape_of_log_variance(shape * shape * crate::numeric::trigamma(prior.alpha()));
        let mean_log = digamma(prior.alpha()) - prior.beta().seconds().ln() + libm::lgamma(1.0 + 1.0 / shape);
        let beta = (digamma(alpha) - shape * mean_log).exp();
        let since_change = prior.beta().seconds() / prior.alpha();
        Ok(Renewal { prior: Prior::raw(alpha, beta), shape, evidence: Evidence::NONE, since_change, elapsed: 0.0 })
    }

    /// The operational time of the next t seconds.
    fn operational(&self, t: f64) -> f64 {
        let a = self.since_change;
        if a <= 0.0 {
            return t.powf(self.shape);
        }
        // a^k ((1 + t/a)^k - 1), without cancelling.
        a.powf(self.shape) * (self.shape * (t / a).ln_1p()).exp_m1()
    }

    fn posterior(&self) -> Posterior {
        self.evidence.posterior(self.prior)
    }

    /// The gamma posterior of the rate where the shape is 1: then operational time is plain time, and the page Poisson. Else none.
    pub fn poisson(&self) -> Option<Posterior> {
        (self.shape >= 1.0).then(|| self.posterior())
    }

    /// The long-run rate that belongs to θ.
    fn rate_of(&self, theta: f64) -> f64 {
        theta.powf(1.0 / self.shape) / libm::tgamma(1.0 + 1.0 / self.shape)
    }
}

impl Estimator for Renewal {
    fn observe(&mut self, observation: &Observation) {
        let t = observation.elapsed().seconds();
        let told = match observation.seen() {
            Seen::Unchanged | Seen::Changed => {
                let operational = observation.stretched(self.operational(t));
                self.since_change = if observation.has_changed() { t / 2.0 } else { self.since_change + t };
                self.evidence.told_by(&self.prior, &operational)
            }
            Seen::LastChange(since) => {
                self.since_change = since.seconds();
                Evidence::raw(1.0, since.seconds().powf(self.shape))
            }
            Seen::Changes(n) => {
                // As if they lay evenly.
                let (n, gap) = (f64::from(n), t / (f64::from(n) + 1.0));
                let exposure = self.operational(gap) + n * gap.powf(self.shape);
                self.since_change = gap;
                Evidence::raw(n, exposure)
            }
        };
        self.evidence = self.evidence.plus(told);
        self.elapsed += t;
    }

    fn estimate(&self) -> Estimate {
        let (posterior, power) = (self.posterior(), 1.0 / self.shape);
        let tail = (1.0 - LEVEL) / 2.0;
        // E[θ^p] = Γ(α + p)/Γ(α) β^-p.
        let log_mean = libm::lgamma(posterior.alpha() + power)
            - libm::lgamma(posterior.alpha())
            - power * posterior.beta().seconds().ln();
        let rate = log_mean.exp() / libm::tgamma(1.0 + power);
        let (low, high) = (self.rate_of(posterior.quantile(tail)), self.rate_of(posterior.quantile(1.0 - tail)));
        Estimate {
            rate: Rate::estimated(rate),
            interval: Interval::per_second(low, high),
            knowledge: Knowledge::new(self.evidence.changes(), self.elapsed),
        }
    }

    fn change_probability(&self, elapsed: Period) -> f64 {
        if elapsed == Period::ZERO {
            return 0.0;
        }
        let posterior = self.posterior();
        let u = self.operational(elapsed.seconds());
        -(-posterior.alpha() * (u / posterior.beta().seconds()).ln_1p()).exp_m1()
    }
}

/// The Weibull shape, of 0.3 to 1, under which these pages' visits were foreseen best: each visit by those before it. 1, Poisson pages, unless
/// that was clearly better (three standard errors over pages).
///
/// A shape above 1 (pages that change like clockwork) is not among them: on real traces it did not last.
pub fn best_shape(prior: Prior, pages: &[&[Observation]]) -> f64 {
    let shapes = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
    let made = |shape: f64| Some((shape, Renewal::new(prior, shape).ok()?));
    // Every shape of the list is legal.
    let best = super::best_foreseen(shapes, pages, |shape| Renewal::new(prior, shape).ok()).and_then(made);
    match (best, Renewal::new(prior, 1.0)) {
        (Some((shape, bursty)), Ok(poisson)) if is_clearly_better(pages, || bursty, || poisson) => shape,
        _ => 1.0,
    }
}
