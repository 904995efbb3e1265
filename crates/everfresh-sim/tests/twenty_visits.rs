//! What twenty visits can tell, as the example has it in closed form.

#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "../examples/twenty_visits.rs"]
mod example;

use everfresh::{Period, Rate, Unit};

fn rates(per_day: impl Iterator<Item = f64>) -> Vec<Rate> {
    per_day.map(|rate| Rate::per(rate, Unit::Day).unwrap()).collect()
}

/// Where pages differ, counting changes gains something, and less than the rates themselves.
#[test]
fn visits_tell_something_and_not_all() {
    let log_uniform = rates((0..200).map(|n| 1e-3 * 1e4_f64.powf(f64::from(n) / 200.0)));
    for days in [1.0, 7.0, 30.0] {
        let every = Period::of(days, Unit::Day).unwrap();
        let [uniform, optimum, told] = example::closed_form(&log_uniform, every).unwrap();
        let share = (told - uniform) / (optimum - uniform);
        assert!((0.3..0.95).contains(&share), "{days}: {uniform} {told} {optimum}");
    }
}

/// Where visits tell two kinds apart for sure, who counts changes knows all; where pages are alike, there is nothing to know.
#[test]
fn what_is_told_for_sure_is_worth_all() {
    let every = Period::of(1.0, Unit::Day).unwrap();
    let [uniform, optimum, told] = example::closed_form(&rates((0..10).map(|n| [0.001, 3.0][n % 2])), every).unwrap();
    assert!(optimum > uniform + 0.01 && (told - optimum).abs() < 1e-4, "{uniform} {told} {optimum}");
    let [uniform, optimum, told] = example::closed_form(&rates((0..10).map(|_| 0.5)), every).unwrap();
    assert!((told - uniform).abs() < 1e-9 && (optimum - uniform).abs() < 1e-5, "{uniform} {told} {optimum}");
}
