//! Olston & Pandey, *Recrawl scheduling based on information longevity*, WWW 2008: utility, and why longevity matters.
//!
//! `cargo run --example op08`

#![allow(clippy::print_stdout, missing_docs)]

use everfresh::curve::{Churn, DivergenceCurve, Exponential, Observed, Scroll};
use everfresh::longevity::{BoundSearch, Bounds, Point};
use everfresh::{Error, Period, Rate, Unit};

const DAY: f64 = Unit::Day.seconds();

fn main() -> Result<(), Error> {
    figure_4()?;
    longevity()?;
    profile()?;
    appendix_a()
}

fn days(n: f64) -> Result<Period, Error> {
    Period::of(n, Unit::Day)
}

/// Section 3.3: how long a fragment lives, in a region that is overwritten and in a list of K = 10 items, both changing 0.25
/// times a day. The paper plots it: in the list hardly anything is short-lived.
fn figure_4() -> Result<(), Error> {
    let rate = Rate::per(0.25, Unit::Day)?;
    let churn = Churn::new(rate, 1.0)?;
    let scroll = Scroll::new(rate, 10, 1.0)?;
    println!("Figure 4: share of fragments gone after   churn   scroll");
    for t in [2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0] {
        println!("  {t:>4} days {:>36.4} {:>8.4}", churn.divergence(days(t)?), scroll.lifetime_by(days(t)?));
    }
    Ok(())
}

/// Section 2.3: two pages that change equally often, four times a day; on one the change lasts, on the other it does
/// not. A policy that sees only whether a page changed treats them alike; the utility does not. At a price at which the
/// churning page is given up, the scrolling one is visited.
fn longevity() -> Result<(), Error> {
    let rate = Rate::per(4.0, Unit::Day)?;
    let churn = Churn::of_share(rate, 0.6)?;
    let scroll = Scroll::new(rate, 20, 0.6)?;
    println!("\nA share of 0.6 of a page changes four times a day     churn   scroll, K = 20");
    println!(
        "  divergence in the end        {:>28.3} {:>8.3}",
        churn.divergence(Period::NEVER),
        scroll.divergence(Period::NEVER)
    );
    println!("  utility of a visit, at most, days {:>23.3} {:>8.3}", churn.ceiling() / DAY, scroll.ceiling() / DAY);
    for price in [0.05, 0.1, 0.2, 0.5] {
        let period = |curve: &dyn DivergenceCurve| curve.period(price * DAY).to_string();
        println!("  visited at price {price:<4} days every {:>24} {:>10}", period(&churn), period(&scroll));
    }
    Ok(())
}

/// Section 4.1: the paper's example of a change profile, (10, 0), (12, 0.2), (15, 0.2), (23, 0.3), and the bounds of section
/// 4.3, as figure 7 draws them: the divergence may have jumped right after one observation (o) or right before the next.
fn profile() -> Result<(), Error> {
    let observed = [(2.0, 0.2), (5.0, 0.2), (13.0, 0.3)];
    let points = observed.iter().map(|&(t, d)| Point::new(days(t)?, d)).collect::<Result<Vec<_>, Error>>()?;
    let bounds = Bounds::new(&points)?;
    let line = Observed::new(&points.iter().map(|p| (p.elapsed(), p.divergence())).collect::<Vec<_>>())?;
    println!("\nThe change profile of section 4.1, its upper bound (^) and its lower bound (_)");
    for level in [0.3, 0.2, 0.1, 0.0] {
        let row = (0..=26).map(|half| cell(&bounds, &observed, f64::from(half) / 2.0, level));
        let line = format!("  {level:.1} {}", row.collect::<Result<String, Error>>()?);
        println!("{}", line.trim_end());
    }
    println!("      0   2     5               13 days");
    let end = days(13.0)?;
    let ((least, most), utility) = (bounds.area(end), bounds.utility(end));
    println!("  after 13 days       at least  straight lines  at most");
    let row = |what: &str, numbers: [f64; 3]| {
        let [low, middle, high] = numbers.map(|number| number / DAY);
        println!("  {what:<17} {low:>10.4} {middle:>15.4} {high:>8.4}");
    };
    row("area, days", [least, line.area(end), most]);
    row("utility, days", [utility.low, line.utility(end), utility.high]);
    // Section 4.3, step 4: T = 2 days is above all that the utility can be, T = 0.4 below, T = 1 between.
    for price in [2.0, 1.0, 0.4] {
        let mut search = BoundSearch::new(days(8.0)?)?;
        search.visited(end);
        let did = search.adjust(utility, price * DAY);
        println!("  at a price of {price} days a period of 8 days is {did:?}: {} days now", search.period().days());
    }
    Ok(())
}

/// What stands at a time and a level: an observation, a bound, both (=) or nothing.
fn cell(bounds: &Bounds, observed: &[(f64, f64)], time: f64, level: f64) -> Result<char, Error> {
    let near = |value: f64| (value - level).abs() < 0.05;
    let here = days(time)?;
    let (upper, lower) = (near(bounds.upper(here)), near(bounds.lower(here)));
    let is_observed = time == 0.0 && level == 0.0 || observed.iter().any(|&(t, d)| t == time && near(d));
    Ok(match (is_observed, upper, lower) {
        (true, ..) => 'o',
        (_, true, true) => '=',
        (_, true, false) => '^',
        (_, false, true) => '_',
        _ => ' ',
    })
}

/// Appendix A: holistic staleness is the exponential curve, and the utility `1/λ - (t + 1/λ) e^-λt` gives CGM's allocation.
fn appendix_a() -> Result<(), Error> {
    let (lambda, t) = (2.0f64, 0.7f64);
    let paper = 1.0 / lambda - (t + 1.0 / lambda) * (-lambda * t).exp();
    let ours = Exponential::new(Rate::per(lambda, Unit::Day)?).utility(days(t)?) / DAY;
    println!("\nAppendix A: utility at two changes a day after 0.7 days: ours {ours:.9}, paper {paper:.9}");
    Ok(())
}
