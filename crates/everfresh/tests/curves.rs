//! Every curve passes the conformance suite.

#![allow(clippy::unwrap_used, clippy::panic)]

use everfresh::curve::checks::{DivergenceUnit, conforms};
use everfresh::curve::{
    Age, Bursts, Churn, DivergenceCurve, Exponential, Harmonic, Linear, Lomax, Mixture, Observed, Scaled, Scroll,
    Weibull,
};
use everfresh::{Period, Rate, Unit};

fn per_day(changes: f64, stretch: f64) -> Rate {
    Rate::per(changes / stretch, Unit::Day).unwrap()
}

fn days(n: f64, stretch: f64) -> Period {
    Period::of(n * stretch, Unit::Day).unwrap()
}

/// Rates at which λ times 1/λ is not 1, so that the ceiling must be asked for and not computed around.
const AWKWARD: [f64; 3] = [3.0, 35.0, 47.0];

#[test]
fn exponential_conforms() {
    for rate in AWKWARD {
        conforms(DivergenceUnit::Share, |s| Exponential::new(per_day(rate, s)));
        conforms(DivergenceUnit::Share, |s| Churn::new(per_day(rate, s), 0.7).unwrap());
    }
    conforms(DivergenceUnit::Share, |s| Exponential::new(per_day(3.0, s)));
}

#[test]
fn age_conforms() {
    conforms(DivergenceUnit::Time, |s| Age::new(per_day(3.0, s)));
}

#[test]
fn harmonic_conforms() {
    conforms(DivergenceUnit::Share, |s| Harmonic::new(per_day(3.0, s)));
}

#[test]
fn static_pages_conform() {
    conforms(DivergenceUnit::Share, |_| Exponential::new(Rate::STATIC));
    conforms(DivergenceUnit::Time, |_| Age::new(Rate::STATIC));
    conforms(DivergenceUnit::Share, |_| Harmonic::new(Rate::STATIC));
    conforms(DivergenceUnit::Share, |_| Linear::new(Rate::STATIC));
    conforms(DivergenceUnit::Share, |_| Weibull::new(Rate::STATIC, 0.7).unwrap());
    conforms(DivergenceUnit::Share, |_| Churn::new(Rate::STATIC, 0.5).unwrap());
    conforms(DivergenceUnit::Share, |_| Scroll::new(Rate::STATIC, 10, 0.5).unwrap());
    conforms(DivergenceUnit::Share, |_| Observed::new(&[]).unwrap());
}

#[test]
fn lomax_conforms() {
    for alpha in [0.05, 0.5, 1.0, 1.0 + 1e-9, 1.5, 2.0, 8.0, 1e5] {
        conforms(DivergenceUnit::Share, |s| Lomax::with_mean_rate(alpha, per_day(3.0, s)).unwrap());
    }
}

#[test]
fn linear_conforms() {
    conforms(DivergenceUnit::Share, |s| Linear::new(per_day(3.0, s)));
}

#[test]
fn bursts_conform() {
    for shape in [0.1, 0.42, 0.7, 1.0] {
        conforms(DivergenceUnit::Share, |s| Bursts::new(per_day(3.0, s), shape).unwrap());
    }
    conforms(DivergenceUnit::Share, |_| Bursts::new(Rate::STATIC, 0.7).unwrap());
}

#[test]
fn weibull_conforms() {
    for shape in [0.1, 0.42, 0.7, 1.0, 1.8, 6.0] {
        conforms(DivergenceUnit::Share, |s| Weibull::new(per_day(3.0, s), shape).unwrap());
    }
}

#[test]
fn churn_conforms() {
    conforms(DivergenceUnit::Share, |s| Churn::of_share(per_day(3.0, s), 0.2).unwrap());
}

#[test]
fn scroll_conforms() {
    for items in [1, 2, 10, 300] {
        conforms(DivergenceUnit::Share, |s| Scroll::new(per_day(3.0, s), items, 0.6).unwrap());
    }
}

#[test]
fn scaled_conforms() {
    for rate in AWKWARD {
        conforms(DivergenceUnit::Share, |s| Scaled::new(Exponential::new(per_day(rate, s)), 0.7).unwrap());
    }
    conforms(DivergenceUnit::Share, |s| {
        Scaled::new(Lomax::with_mean_rate(0.4, per_day(3.0, s)).unwrap(), 0.03).unwrap()
    });
    assert!(Scaled::new(Exponential::new(Rate::STATIC), 0.0).is_err());
}

#[test]
fn mixture_conforms() {
    conforms(DivergenceUnit::Share, |s| {
        let parts: Vec<(f64, Box<dyn DivergenceCurve + Send + Sync>)> = vec![
            (0.2, Box::new(Churn::new(per_day(500.0, s), 1.0).unwrap())),
            (0.5, Box::new(Scroll::new(per_day(1.0, s), 10, 1.0).unwrap())),
            (0.1, Box::new(Linear::new(per_day(0.01, s)))),
        ];
        Mixture::new(parts).unwrap()
    });
}

#[test]
fn observed_conforms() {
    conforms(DivergenceUnit::Share, |s| {
        Observed::new(&[(days(2.0, s), 0.2), (days(5.0, s), 0.2), (days(13.0, s), 0.3)]).unwrap()
    });
}

/// OP08 section 4.3: the bounds of a profile are curves with jumps.
#[test]
fn observed_with_jumps_conforms() {
    conforms(DivergenceUnit::Share, |s| {
        let points = [(2.0, 0.0), (2.0, 0.2), (5.0, 0.2), (13.0, 0.2), (13.0, 0.3), (20.0, 0.4)];
        Observed::new(&points.map(|(t, d)| (days(t, s), d))).unwrap()
    });
}

#[test]
fn half_lives_are_half_lives() {
    let half_life = days(7.0, 1.0);
    let curves: [Box<dyn DivergenceCurve>; 4] = [
        Box::new(Exponential::new(Rate::from_half_life(half_life).unwrap())),
        Box::new(Linear::with_half_life(half_life).unwrap()),
        Box::new(Weibull::with_half_life(half_life, 0.6).unwrap()),
        Box::new(Lomax::with_half_life(half_life, 0.6).unwrap()),
    ];
    for curve in curves {
        assert!((curve.divergence(half_life) - 0.5).abs() < 1e-14, "{}", curve.divergence(half_life));
    }
}

/// K = 1 is churn (OP08 footnote 4); a shape of 1 is exponential; a rate known exactly is exponential.
#[test]
fn degenerate_curves_are_the_simple_ones() {
    let exponential = Exponential::new(per_day(3.0, 1.0));
    let same: [Box<dyn DivergenceCurve>; 5] = [
        Box::new(Scroll::new(per_day(3.0, 1.0), 1, 1.0).unwrap()),
        Box::new(Churn::new(per_day(3.0, 1.0), 1.0).unwrap()),
        Box::new(Weibull::new(per_day(3.0, 1.0), 1.0).unwrap()),
        Box::new(Bursts::new(per_day(3.0, 1.0), 1.0).unwrap()),
        Box::new(Lomax::with_mean_rate(1e15, per_day(3.0, 1.0)).unwrap()),
    ];
    for curve in same {
        for t in [1e-6, 0.01, 0.3, 1.0, 5.0] {
            let t = days(t, 1.0);
            assert!((curve.utility(t) / exponential.utility(t) - 1.0).abs() < 1e-12, "{t}");
            assert!((curve.area(t) / exponential.area(t) - 1.0).abs() < 1e-12, "{t}");
        }
    }
}

#[test]
fn bad_parameters_are_named() {
    let message = |result: Result<(), everfresh::Error>| result.unwrap_err().to_string();
    let rate = per_day(3.0, 1.0);
    assert_eq!(message(Lomax::new(0.0, days(1.0, 1.0)).map(drop)), "shape alpha must be between 1e-12 and 1e20, got 0");
    assert_eq!(message(Lomax::new(1.0, Period::NEVER).map(drop)), "time beta must be positive and finite, got inf");
    assert_eq!(message(Bursts::new(rate, 2.0).map(drop)), "shape of bursts must be between 0.1 and 1, got 2");
    assert_eq!(message(Bursts::with_dispersion(rate, 0.5).map(drop)), "dispersion must be at least 1, got 0.5");
    assert_eq!(message(Weibull::new(rate, f64::NAN).map(drop)), "Weibull shape must be between 0.02 and 50, got NaN");
    assert_eq!(message(Churn::new(rate, 1.5).map(drop)), "depth of a change must be above 0 and at most 1, got 1.5");
    assert_eq!(message(Scroll::new(rate, 0, 0.5).map(drop)), "number of items must be between 1 and 100000, got 0");
    assert_eq!(message(Mixture::new(vec![]).map(drop)), "a mixture of curves must have at least one part");
    let fall = [(days(2.0, 1.0), 0.2), (days(1.0, 1.0), 0.3)];
    assert_eq!(
        message(Observed::new(&fall).map(drop)),
        "points of an observed curve must not fall, got (86400 s, 0.3) after (172800 s, 0.2)"
    );
    assert_eq!(
        message(Observed::new(&[(Period::ZERO, 0.1)]).map(drop)),
        "divergence at elapsed time 0 must be 0, got 0.1"
    );
    assert_eq!(
        message(Observed::new(&[(Period::NEVER, 0.1)]).map(drop)),
        "elapsed time of a point, in seconds, must be at least 0 and finite, got inf"
    );
}
