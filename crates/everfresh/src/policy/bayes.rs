use super::{About, Outcome, Policy, Visit};
use crate::error::{Error, Result};
use crate::numeric::{Evaluation, solve};
use crate::units::{Period, Rate};

/// The law under the exact posterior of a Poisson rate, for somebody who is told how the rates of all pages are distributed, but not
/// which page has which: what can be had from the visits themselves.
///
/// The prior is a list of rates, each as likely as the others. A visit after I multiplies the probability of λ by `e^-λI`, or by
/// `1 - e^-λI` when it found a change; a page is visited when `w Σ p g(λt)/λ = price c`. Nothing is tried for the sake of
/// learning: it takes every visit as if it were the last thing to be learnt.
///
/// ```
/// use everfresh::policy::{About, Bayes, Policy};
/// use everfresh::Rate;
///
/// let rates = ["1/day".parse()?, "1/week".parse()?];
/// let (policy, about) = (Bayes::new(&rates)?, About::new(Rate::STATIC));
/// let memory = policy.remember(&about, 0.0, &[]);
/// // Half a page that changes daily and half one that changes weekly: a visit can gain at most four days.
/// let day = 86_400.0;
/// assert!(policy.period(&about, &memory, 3.99 * day).seconds() < 100.0 * day);
/// assert!(policy.period(&about, &memory, 4.0 * day).seconds().is_infinite());
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bayes {
    rates: Vec<f64>,
}

impl Bayes {
    /// With these rates, at least one of which must not be static.
    pub fn new(rates: &[Rate]) -> Result<Bayes> {
        let rates: Vec<f64> = rates.iter().map(|rate| rate.per_second()).filter(|rate| *rate > 0.0).collect();
        if rates.is_empty() {
            return Err(Error::Inconsistent("a prior needs at least one page that changes".into()));
        }
        Ok(Bayes { rates })
    }

    fn terms<'a>(&'a self, beliefs: &'a [f64]) -> impl Iterator<Item = (f64, f64)> {
        self.rates.iter().copied().zip(beliefs.iter().copied()).filter(|(_, belief)| *belief > 0.0)
    }

    /// `U(t) = Σ p g(λt)/λ`, and `U'/t = Σ p λ e^-λt`.
    fn utility(&self, beliefs: &[f64], elapsed: f64) -> (f64, f64) {
        self.terms(beliefs).fold((0.0, 0.0), |(utility, slope), (rate, belief)| {
            let (g, quiet) = g_and_exp(rate * elapsed);
            (utility + belief * g / rate, slope + belief * rate * quiet)
        })
    }
}

/// [`g`](crate::kernel::g) of r to 1e-9, and `e^-r`, by one exponential: more digits of a belief would say nothing.
fn g_and_exp(r: f64) -> (f64, f64) {
    let quiet = (-r).exp();
    let g = if r < 1e-3 { r * r * (0.5 - r * (1.0 / 3.0 - r / 8.0)) } else { 1.0 - (1.0 + r) * quiet };
    (g, quiet)
}

/// A rate that is less probable than this is none: it would take as many changes out of all expectation to come back.
const IMPROBABLE: f64 = 1e-12;

impl Policy for Bayes {
    /// How probable each of the rates is.
    type Memory = Box<[f64]>;

    fn remember(&self, _: &About, _: f64, _: &[u64]) -> Box<[f64]> {
        vec![1.0 / self.rates.len() as f64; self.rates.len()].into()
    }

    fn observe(&self, _: &About, beliefs: &mut Box<[f64]>, visit: &Visit<'_>) {
        let elapsed = visit.elapsed.seconds();
        let likelihood = |rate: f64| match visit.outcome {
            Outcome::Unchanged => (-rate * elapsed).exp(),
            Outcome::Changed { last_change: None, .. } => -(-rate * elapsed).exp_m1(),
            Outcome::Changed { last_change: Some(since), .. } => rate * (-rate * since.seconds()).exp(),
            Outcome::Gone | Outcome::Failed => 1.0,
        };
        // What is out of the question needs no likelihood.
        let likelihood = |rate: f64, belief: f64| if belief > 0.0 { belief * likelihood(rate) } else { 0.0 };
        let products: Vec<f64> = self.rates.iter().zip(&**beliefs).map(|(rate, p)| likelihood(*rate, *p)).collect();
        let whole: f64 = products.iter().sum();
        // What no rate explains (a change in no time) tells nothing.
        if whole > 0.0 && whole.is_finite() {
            let normed = |product: f64| if product > IMPROBABLE * whole { product / whole } else { 0.0 };
            beliefs.iter_mut().zip(products).for_each(|(belief, product)| *belief = normed(product));
        }
    }

    fn period(&self, about: &About, beliefs: &Box<[f64]>, price: f64) -> Period {
        let threshold = about.threshold(price);
        let ceiling: f64 = self.terms(beliefs).map(|(rate, belief)| belief / rate).sum();
        if threshold >= ceiling {
            return Period::NEVER;
        }
        let mean: f64 = self.terms(beliefs).map(|(rate, belief)| belief * rate).sum();
        Period::raw(solve(threshold, (2.0 * threshold / mean).sqrt(), |elapsed| {
            let (value, slope) = self.utility(beliefs, elapsed);
            Evaluation { value, elasticity: elapsed * elapsed * slope / value }
        }))
    }

    fn due_within(&self, about: &About, beliefs: &Box<[f64]>, price: f64, elapsed: Period) -> Option<Period> {
        if self.utility(beliefs, elapsed.seconds()).0 < about.threshold(price) {
            return None;
        }
        Some(self.period(about, beliefs, price)).filter(|period| *period <= elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::g_and_exp;

    #[test]
    fn g_has_nine_digits() {
        for step in -80..30 {
            let r = 1.3f64.powi(step);
            let (g, exact) = (g_and_exp(r).0, crate::kernel::g(r));
            assert!((g / exact - 1.0).abs() < 1e-9, "{g} for {exact} at {r}");
        }
    }
}
