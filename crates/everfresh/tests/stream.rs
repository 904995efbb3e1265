//! The streaming solver equals the exact one, whatever the number of threads.

#![allow(clippy::unwrap_used)]

use everfresh::plan::stream::{Columns, Histogram, plan};
use everfresh::{Objective, Page, Plan, Price, Rate, Terms, Unit};
use proptest::prelude::*;

/// The exact plan of the same columns, per second.
fn exact(columns: Columns<'_>, objective: Objective, budget: f64) -> (f64, Vec<f64>) {
    let at = |column: Option<&[f64]>, i: usize| column.map_or(1.0, |column| column[i]);
    let page = |i: usize| {
        let page = Page::new(Rate::per(columns.rate[i], Unit::Second).unwrap());
        page.with_weight(at(columns.weight, i)).unwrap().with_cost(at(columns.cost, i)).unwrap()
    };
    let pages: Vec<Page> = (0..columns.rate.len()).map(page).collect();
    let price = Price::for_budget(budget, Unit::Second).unwrap();
    let plan = Plan::new(&pages, Terms { objective, ..Terms::new(price) }).unwrap();
    (plan.price().unwrap(), plan.entries().iter().map(|entry| entry.frequency.per_second()).collect())
}

#[track_caller]
fn check(columns: Columns<'_>, objective: Objective, budget: f64) {
    let mut ours = vec![f64::NAN; columns.rate.len()];
    let outcome = plan(columns, objective, budget, &mut ours).unwrap();
    let (price, theirs) = exact(columns, objective, budget);
    assert!((outcome.spent / budget - 1.0).abs() < 1e-9, "{objective:?} spends {} of {budget}", outcome.spent);
    assert!((outcome.price / price - 1.0).abs() < 1e-8, "{objective:?} price {} {price}", outcome.price);
    for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        // A page about to be given up answers to the last digits of the price.
        assert!((ours - theirs).abs() <= 1e-7 * theirs + 1e-9 * budget, "{objective:?} page {i}: {ours} {theirs}");
    }
}

fn columns_of(n: usize) -> impl Strategy<Value = (Vec<f64>, Vec<f64>, Vec<f64>)> {
    let power = |range: std::ops::Range<f64>| range.prop_map(|log| 10f64.powf(log));
    let zero_or = |range| prop_oneof![1 => Just(0.0), 9 => power(range)];
    prop::collection::vec((zero_or(-6.0..3.0), zero_or(-3.0..3.0), power(-2.0..2.0)), 1..n).prop_map(|pages| {
        let mut columns = (Vec::new(), Vec::new(), Vec::new());
        for (rate, weight, cost) in pages {
            columns.0.push(rate);
            columns.1.push(weight);
            columns.2.push(cost);
        }
        columns
    })
}

proptest! {
    #[test]
    fn streaming_equals_exact((rate, weight, cost) in columns_of(200), log_budget in -4.0..4.0f64) {
        prop_assume!(rate.iter().zip(&weight).any(|(rate, weight)| rate * weight > 0.0));
        let columns = Columns { rate: &rate, weight: Some(&weight), cost: Some(&cost) };
        for objective in Objective::ALL {
            check(columns, objective, 10f64.powf(log_budget));
        }
    }
}

#[test]
fn starving_budgets_are_spent() {
    for budget in [1.0, 0.1, 1e-3, 1e-6] {
        check(Columns { rate: &[1.0; 7], weight: None, cost: None }, Objective::Freshness, budget);
    }
}

/// A block of identical pages about to be given up is one page to the search; slow, this would take minutes unoptimised.
#[test]
fn large_blocks_of_identical_pages_are_planned() {
    let rate = vec![2.0; 300_000];
    for budget in [1e-9, 1.0, 1e5] {
        let mut out = vec![0.0; rate.len()];
        let outcome =
            plan(Columns { rate: &rate, weight: None, cost: None }, Objective::Freshness, budget, &mut out).unwrap();
        assert!((outcome.spent / budget - 1.0).abs() < 1e-9, "{outcome:?}");
        assert!(out.iter().all(|f| (f * 3e5 / budget - 1.0).abs() < 1e-9));
    }
}

/// Histograms of parts add up to the histogram of the whole.
#[test]
fn histograms_add_up() {
    let rate: Vec<f64> = (1..1000).map(|i| 1.0 / f64::from(i)).collect();
    let of = |rate: &[f64]| {
        let mut histogram = Histogram::new(Objective::Freshness);
        histogram.add(Columns { rate, weight: None, cost: None }).unwrap();
        histogram
    };
    let mut parts = of(&rate[..300]);
    parts.merge(&of(&rate[300..]));
    let (whole, parts) = (of(&rate).price(3.0).unwrap(), parts.price(3.0).unwrap());
    assert!((whole / parts - 1.0).abs() < 1e-12, "{whole} {parts}");
    let mut out = vec![0.0; rate.len()];
    let exact =
        plan(Columns { rate: &rate, weight: None, cost: None }, Objective::Freshness, 3.0, &mut out).unwrap().price;
    assert!((whole / exact - 1.0).abs() < 1e-3, "{whole} {exact}");
}

/// Two and a half chunks of rates over six decades, by one thread and by three: the same bits.
#[test]
fn the_number_of_threads_does_not_matter() {
    let n = 5 << 19;
    let mut state = 7u64;
    let rate: Vec<f64> = (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            10f64.powf((state >> 11) as f64 / (1u64 << 53) as f64 * 6.0 - 4.0)
        })
        .collect();
    let columns = Columns { rate: &rate, weight: None, cost: None };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut frequencies = vec![0.0; n];
        let outcome = pool.install(|| plan(columns, Objective::Freshness, 1e5, &mut frequencies)).unwrap();
        assert!((outcome.spent / 1e5 - 1.0).abs() < 1e-9, "{outcome:?}");
        (outcome, frequencies)
    };
    assert!(run(1) == run(3));
}

#[test]
fn bad_columns_are_refused() {
    let refused = |rate: &[f64], weight: Option<&[f64]>, budget: f64| {
        let mut out = vec![0.0; rate.len()];
        plan(Columns { rate, weight, cost: None }, Objective::Age, budget, &mut out).unwrap_err().to_string()
    };
    assert_eq!(refused(&[], None, 1.0), "cannot plan: there are no pages");
    assert_eq!(refused(&[1.0], None, 0.0), "budget must be positive and finite, got 0");
    assert_eq!(
        refused(&[1.0, f64::NAN], None, 1.0),
        "page 1, counted from 0: rate must be at least 0 and finite, got NaN"
    );
    assert_eq!(
        refused(&[1.0, 2.0], Some(&[1.0, -3.0]), 1.0),
        "page 1, counted from 0: weight must be at least 0 and finite, got -3"
    );
    assert_eq!(refused(&[1.0, 2.0], Some(&[1.0]), 1.0), "columns must be of one length, got 2 rates and 1 others");
    // Nothing to visit is no error.
    let mut out = [1.0];
    let columns = Columns { rate: &[0.0], weight: None, cost: None };
    assert_eq!(plan(columns, Objective::Age, 1.0, &mut out).unwrap().spent, 0.0);
    assert_eq!(out, [0.0]);
}

/// The exact solver starts from a histogram when there are many pages: it spends the budget just the same.
#[test]
fn large_exact_plans_spend_their_budget() {
    let rate: Vec<f64> = (1..20_000).map(|i| f64::from(i) / 1000.0).collect();
    for objective in Objective::ALL {
        check(Columns { rate: &rate, weight: None, cost: None }, objective, 1e4);
    }
}
