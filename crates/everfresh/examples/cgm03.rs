//! Cho & Garcia-Molina, *Effective page refresh policies for web crawlers*, TODS 28(4), 2003: its tables, beside ours.
//!
//! `cargo run --example cgm03`

#![allow(clippy::print_stdout, missing_docs)]

use everfresh::once_per_interval::{benefit, best_split};
use everfresh::{Allocation, Error, Objective, Order, Page, Plan, Price, Rate, Terms, Unit};

fn main() -> Result<(), Error> {
    table_ii();
    table_iii()?;
    table_iv()?;
    table_v()?;
    table_vii()
}

/// Section 4: with r changes per visit, what does the order of visits do to freshness and age? Table II has formulas; the
/// text reads three numbers off them, at r = 1. It says that the age under fixed order is a quarter of that under *random*
/// order; it is a quarter of that under *purely random* order.
fn table_ii() {
    println!("Table II, at r = 1          freshness  paper    f x age");
    for (order, name, paper) in [
        (Order::Fixed, "fixed order", "0.63"),
        (Order::Random, "random order", "   -"),
        (Order::PurelyRandom, "purely random", "0.5 "),
    ] {
        println!("  {name:<24} {:>10.3} {paper:>6} {:>10.3}", order.freshness(1.0), order.age_in_periods(1.0));
    }
}

/// Section 5.2: one page changes nine times a day, one once. Visiting in proportion, (9, 1), is worse than evenly, (5, 5);
/// the best of ten visits are (7, 3).
fn table_iii() -> Result<(), Error> {
    println!("\nTable III, benefit of (f1, f2) visits   ours    paper");
    for (f1, f2, paper) in [
        (1, 0, "1/36"),
        (0, 1, "9/36"),
        (2, 0, "2/36"),
        (1, 1, "10/36"),
        (0, 2, "12/36"),
        (3, 2, "30/72"),
        (2, 3, "31/72"),
        (9, 1, "36/72"),
        (7, 3, "41/72"),
        (5, 5, "40/72"),
    ] {
        let ours = benefit(9, f1)? + benefit(1, f2)?;
        println!("  ({f1}, {f2}) {ours:>36.4}  {paper:>7}");
    }
    for visits in [1, 2, 5, 10] {
        println!("  best split of {visits:>2}: {:?}", best_split(&[9, 1], visits)?);
    }
    Ok(())
}

/// Example 5.4: five pages that change 1 to 5 times a day, five visits a day. For freshness, the page that changes most
/// is given up; for age, it is visited most, but hardly more than the others.
fn table_iv() -> Result<(), Error> {
    let pages = [1.0, 2.0, 3.0, 4.0, 5.0].map(|rate| (rate, 1.0));
    println!("\nTable IV, visits a day");
    frequencies(&pages, 5.0, Objective::Freshness, "1.15 1.36 1.35 1.14 0.00")?;
    frequencies(&pages, 5.0, Objective::Age, "0.84 0.97 1.03 1.07 1.09")
}

/// Example 6.2: three pages of weight 1 and three of weight 2. Twice the weight is not twice the visits.
fn table_v() -> Result<(), Error> {
    let pages = [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (1.0, 2.0), (2.0, 2.0), (3.0, 2.0)];
    println!("\nTable V, visits a day");
    frequencies(&pages, 6.0, Objective::Freshness, "0.78 0.76 0.00 1.28 1.56 1.62")?;
    frequencies(&pages, 6.0, Objective::Age, "0.76 0.88 0.94 0.99 1.17 1.26")
}

fn frequencies(pages: &[(f64, f64)], budget: f64, objective: Objective, paper: &str) -> Result<(), Error> {
    let pages = pages
        .iter()
        .map(|&(rate, weight)| Page::new(Rate::per(rate, Unit::Day)?).with_weight(weight))
        .collect::<Result<Vec<_>, _>>()?;
    let plan = Plan::new(&pages, Terms { objective, ..Terms::new(Price::for_budget(budget, Unit::Day)?) })?;
    let ours: Vec<String> = plan.entries().iter().map(|entry| format!("{:.3}", entry.frequency.per_day())).collect();
    println!("  for {:<9}   ours  {}", format!("{objective:?}").to_lowercase(), ours.join("  "));
    println!("                  paper {}", paper.replace(' ', "   "));
    Ok(())
}

/// Section 7.5: the web of 1999 in five classes, visited once per page in thirty days.
///
/// The overall shares stand in the text. Those of com and gov stand only in a figure that is lost; the ones here are
/// fitted to the printed results, not taken from the paper.
fn table_vii() -> Result<(), Error> {
    println!("\nTable VII                          freshness  paper   age, days  paper");
    let overall = [0.23, 0.15, 0.16, 0.16, 0.30];
    classes("overall", overall, [("0.12", "400"), ("0.57", "5.6"), ("0.62", "4.3")])?;
    let com = [0.40, 0.20, 0.20, 0.05, 0.15];
    classes("com (fitted shares)", com, [("0.07", "386"), ("0.38", "8.5"), ("0.44", "7.4")])?;
    let gov = [0.00, 0.15, 0.00, 0.30, 0.55];
    classes("gov (fitted shares)", gov, [("0.69", "19.3"), ("0.82", "2.0"), ("0.85", "1.3")])
}

/// A class of pages is one page whose weight and cost are the share of the class.
fn classes(name: &str, shares: [f64; 5], paper: [(&str, &str); 3]) -> Result<(), Error> {
    let intervals = [1.0, 7.0, 30.0, 120.0, 365.0];
    let pages = intervals
        .into_iter()
        .zip(shares)
        .filter(|(_, share)| *share > 0.0)
        .map(|(days, share)| Page::new(Rate::per(1.0 / days, Unit::Day)?).with_weight(share)?.with_cost(share))
        .collect::<Result<Vec<_>, _>>()?;
    let price = Price::for_budget(shares.iter().sum::<f64>() / 30.0, Unit::Day)?;
    for (allocation, (freshness, age)) in
        [Allocation::Proportional, Allocation::Uniform, Allocation::Optimal].into_iter().zip(paper)
    {
        let plan = |objective| Plan::new(&pages, Terms { objective, allocation, ..Terms::new(price) });
        println!(
            "  {name:<20} {:<12} {:>8.3} {freshness:>6} {:>11.2} {age:>6}",
            format!("{allocation:?}").to_lowercase(),
            plan(Objective::Freshness)?.totals().freshness,
            plan(Objective::Age)?.totals().age.days(),
        );
    }
    Ok(())
}
