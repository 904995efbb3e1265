use super::{About, Outcome, Policy, Visit};
use crate::error::{Error, Result};
use crate::numeric::{Evaluation, solve};
use crate::units::{Period, Rate};

/// The law under the exact posterior of a Poisson rate, for somebody who is told how the rates of all pages are distributed, but not
/// which page has which: what can be had from the visits themselves.
///
/// The prior is a list of rates, each as likely as the others. A visit after I multiplies the probability of λ by `e^-λI`, or by
/// `1 - e^-λI` when it found a change; a page is visited when `w Σ p g(λt)/λ = price c`. Nothing is tried for the sake of
/// learning: it takes every visit as if it were the last thing to be learnt. No probability falls below 1e-12, where a rate no longer
/// counts: a page that is quiet for a year and then changes weekly is soon believed.
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
        self.rates.iter().copied().zip(beliefs.iter().copied()).filter(|(_, belief)| *belief > IMPROBABLE)
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

/// No rate becomes less probable than this, so that a page of other habits is believed again after a few visits; while it is no more
/// probable it does not count, for what it adds to a utility is nothing.
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
        let products: Vec<f64> = self.rates.iter().zip(&**beliefs).map(|(rate, p)| p * likelihood(*rate)).collect();
        let whole: f64 = products.iter().sum();
        // What no rate explains (a change in no time) tells nothing.
        if whole > 0.0 && whole.is_finite() {
            let normed = |product: f64| (product / whole).max(IMPROBABLE);
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
    use super::*;
    use crate::units::Unit;

    /// What is all but ruled out by 520 quiet weeks, to below the smallest number there is, is believed after some weekly changes.
    #[test]
    fn a_page_that_wakes_up_is_believed() -> Result<()> {
        let (weekly, rare) = (Rate::per(2.0, Unit::Week)?, Rate::per(0.1, Unit::Year)?);
        let (policy, about) = (Bayes::new(&[weekly, rare])?, About::new(Rate::STATIC));
        let mut beliefs = policy.remember(&about, 0.0, &[]);
        let elapsed = Period::of(1.0, Unit::Week)?;
        let week = |beliefs: &mut Box<[f64]>, outcome: Outcome| {
            policy.observe(&about, beliefs, &Visit { now_s: 0.0, elapsed, outcome, fragments: &[] });
            policy.period(&about, beliefs, Period::of(1.0, Unit::Day).map_or(0.0, Period::seconds))
        };
        let rarely = (0..520).map(|_| week(&mut beliefs, Outcome::Unchanged)).last();
        let changed = Outcome::Changed { divergence: 1.0, last_change: None };
        let often = (0..8).map(|_| week(&mut beliefs, changed)).last();
        let alone = Bayes::new(&[weekly])?;
        let known = alone.period(&about, &alone.remember(&about, 0.0, &[]), 86_400.0);
        let (rarely, often) = (rarely.unwrap_or(known).seconds(), often.unwrap_or(Period::NEVER).seconds());
        assert!(
            rarely > 10.0 * known.seconds() && (often / known.seconds() - 1.0).abs() < 1e-3,
            "{rarely} {often} {known}"
        );
        Ok(())
    }

    #[test]
    fn g_has_nine_digits() {
        for step in -80..30 {
            let r = 1.3f64.powi(step);
            let (g, exact) = (g_and_exp(r).0, crate::kernel::g(r));
            assert!((g / exact - 1.0).abs() < 1e-9, "{g} for {exact} at {r}");
        }
    }
}
