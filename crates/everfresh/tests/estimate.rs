//! Estimators: every one passes the suite, and does what is known of it on simulated pages.
//!
//! Simulations are seeded: the same pages on every machine.

#![allow(clippy::unwrap_used, clippy::panic)]

use everfresh::estimate::checks::conforms;
use everfresh::estimate::{Gamma, LastChange, MaximumLikelihood, Naive, Prior, Ratio};
use everfresh::{Rate, Unit};

fn prior(alpha: f64, per_day: f64) -> Prior {
    Prior::new(alpha, Rate::per(per_day, Unit::Day).unwrap()).unwrap()
}

#[test]
fn estimators_conform() {
    conforms(|_| Naive::new());
    conforms(|_| Ratio::new());
    conforms(|_| MaximumLikelihood::new());
    conforms(|_| LastChange::new());
    for alpha in [0.05, 0.3, 1.0, 40.0] {
        conforms(|stretch| Gamma::new(prior(alpha, 0.1 / stretch)));
    }
}
