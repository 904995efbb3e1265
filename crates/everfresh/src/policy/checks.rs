//! The suite that every policy passes: sane periods whatever visits show, and obedience to the price.

use super::{About, Outcome, Policy, Pricing, Visit};
use crate::error::{Error, Result};
use crate::units::{Period, Rate, Unit};

/// Runs a policy through bland and hostile visits, or says what it does wrong.
pub fn conforms<P: Policy>(policy: &P) -> Result<()> {
    let about = About::new(Rate::per(0.1, Unit::Day)?);
    let found = [
        Outcome::Unchanged,
        Outcome::Changed { divergence: 1.0, last_change: None },
        Outcome::Failed,
        Outcome::Changed { divergence: 0.0, last_change: Some(Period::ZERO) },
        Outcome::Gone,
        Outcome::Unchanged,
    ];
    for elapsed in [0.0, 1e-6, 1.0, 86_400.0, 1e9] {
        let mut memory = policy.remember(&about, 0.0, &[1]);
        let mut now = 0.0;
        obeys_price(policy, &about, &memory)?;
        for (visit, outcome) in found.iter().cycle().take(60).enumerate() {
            now += elapsed;
            let fragments = [visit as u64 / 3];
            let visit = Visit { now_s: now, elapsed: Period::raw(elapsed), outcome: *outcome, fragments: &fragments };
            policy.observe(&about, &mut memory, &visit);
            obeys_price(policy, &about, &memory)?;
        }
    }
    Ok(())
}

/// Periods are times, and do not fall as visits get dearer; a rule that chooses its own load keeps its period.
fn obeys_price<P: Policy>(policy: &P, about: &About, memory: &P::Memory) -> Result<()> {
    let mut last = 0.0;
    for price in [1e-6, 1.0, 1e3, 1e5, 1e7, 1e12] {
        let period = policy.period(about, memory, price).seconds();
        let has_own = matches!(policy.pricing(), Pricing::Given | Pricing::Own);
        let moved = has_own && last > 0.0 && period != last;
        if period.is_nan() || period < last * (1.0 - 1e-9) || moved {
            return Err(Error::Inconsistent(format!(
                "a policy gave the period {period} s at the price {price} after {last} s at a lower one"
            )));
        }
        knows_what_is_due(policy, about, memory, price, period)?;
        last = period;
    }
    Ok(())
}

/// What is due within a time is what has a period of at most that.
fn knows_what_is_due<P: Policy>(policy: &P, about: &About, memory: &P::Memory, price: f64, period: f64) -> Result<()> {
    let due = |elapsed: f64| policy.due_within(about, memory, price, Period::raw(elapsed)).map(Period::seconds);
    let early = period.is_finite() && due(period * (1.0 - 1e-6)).is_some_and(|due| due > 0.0);
    let late = period.is_finite() && due(period * (1.0 + 1e-6)) != Some(period);
    if early || late {
        return Err(Error::Inconsistent(format!(
            "a policy with the period {period} s at the price {price} is due {:?} s before it and {:?} s after it",
            due(period * (1.0 - 1e-6)),
            due(period * (1.0 + 1e-6)),
        )));
    }
    Ok(())
}
