//! Olston & Pandey, *Recrawl scheduling based on information longevity*, WWW 2008: utility, and why longevity matters.
//!
//! `cargo run --example op08`

#![allow(clippy::print_stdout, missing_docs)]

use everfresh::curve::{Churn, DivergenceCurve, Exponential, Observed, Scroll};
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
/// 4.3: the divergence may have jumped right after one observation or right before the next.
fn profile() -> Result<(), Error> {
    let at = |points: &[(f64, f64)]| -> Result<Observed, Error> {
        let points = points.iter().map(|&(t, d)| Ok((days(t)?, d))).collect::<Result<Vec<_>, Error>>()?;
        Observed::new(&points)
    };
    let instant = 1e-6;
    let upper = at(&[(instant, 0.0), (instant, 0.2), (5.0, 0.2), (5.0, 0.3), (13.0, 0.3)])?;
    let line = at(&[(2.0, 0.2), (5.0, 0.2), (13.0, 0.3)])?;
    let lower = at(&[(2.0, 0.0), (2.0, 0.2), (13.0, 0.2), (13.0, 0.3)])?;
    println!("\nThe change profile of section 4.1   upper bound   straight lines   lower bound");
    let t = days(13.0)?;
    let row = |what: &str, value: &dyn Fn(&Observed) -> f64| {
        println!(
            "  {what:<28} {:>15.4} {:>16.4} {:>13.4}",
            value(&upper) / DAY,
            value(&line) / DAY,
            value(&lower) / DAY
        );
    };
    row("area after 13 days, days", &|curve| curve.area(t));
    row("utility after 13 days, days", &|curve| curve.utility(t));
    Ok(())
}

/// Appendix A: holistic staleness is the exponential curve, and the utility `1/λ - (t + 1/λ) e^-λt` gives CGM's allocation.
fn appendix_a() -> Result<(), Error> {
    let (lambda, t) = (2.0f64, 0.7f64);
    let paper = 1.0 / lambda - (t + 1.0 / lambda) * (-lambda * t).exp();
    let ours = Exponential::new(Rate::per(lambda, Unit::Day)?).utility(days(t)?) / DAY;
    println!("\nAppendix A: utility at two changes a day after 0.7 days: ours {ours:.9}, paper {paper:.9}");
    Ok(())
}
