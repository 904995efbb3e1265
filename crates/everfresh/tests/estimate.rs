//! Estimators: every one passes the suite, and does what is known of it on simulated pages.
//!
//! Simulations are seeded: the same pages on every machine.

#![allow(clippy::unwrap_used, clippy::panic)]

use everfresh::estimate::checks::conforms;
use everfresh::estimate::{
    Drifting, Gamma, Habits, LastChange, MaximumLikelihood, Naive, Prior, Ratio, Renewal, TwoRate, TwoRates,
};
use everfresh::{Period, Rate, Unit};

fn days(n: f64) -> Period {
    Period::of(n, Unit::Day).unwrap()
}

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
        conforms(|stretch| Drifting::new(prior(alpha, 0.1 / stretch), Habits::STEADY));
        conforms(|stretch| Drifting::new(prior(alpha, 0.1 / stretch), Habits::new(days(50.0 * stretch), 3.0).unwrap()));
        conforms(|stretch| Renewal::new(prior(alpha, 0.1 / stretch), 0.5).unwrap());
        conforms(|stretch| Renewal::new(prior(alpha, 0.1 / stretch), 1.0).unwrap());
        let rhythm = |stretch: f64| TwoRates::new(days(2.0 * stretch), days(30.0 * stretch), 20.0).unwrap();
        conforms(|stretch| TwoRate::new(prior(alpha, 0.1 / stretch), rhythm(stretch)));
    }
}
