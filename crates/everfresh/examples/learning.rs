//! How well rates are learnt from visits, on simulated pages.
//!
//! `cargo run --release --example learning`

#![allow(clippy::print_stdout, missing_docs)]

#[path = "../tests/laboratory/mod.rs"]
#[allow(dead_code, unreachable_pub, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
mod laboratory;

use everfresh::estimate::{Estimator, Observation, Prior, Ratio};
use everfresh::{Error, Period, Rate, Unit};
use laboratory::{Law, NAMES};

const SEED: u64 = 7;

fn main() -> Result<(), Error> {
    bias()?;
    exact_bias()?;
    coverage()?;
    learnt_coverage()?;
    plans()
}

/// Estimate / truth, mean and standard deviation, of pages with r changes between two visits.
fn bias() -> Result<(), Error> {
    println!("estimate / truth after n visits, r changes per visit; seed {SEED}");
    for deviation in [false, true] {
        let what = if deviation { "standard deviation" } else { "mean" };
        println!("\n{what:<20}{}", NAMES.map(|name| format!("{name:>12}")).join(""));
        for (n, pages) in [(10, 3000), (50, 2000)] {
            for r in [0.1, 0.5, 1.0, 2.0, 3.0, 10.0] {
                let cells = laboratory::bias(SEED, r, n, pages)?
                    .map(|(mean, spread)| format!("{:>12.3}", if deviation { spread } else { mean }));
                println!("n = {n:>3}, r = {r:>4} {}", cells.join("").trim_end());
            }
        }
    }
    Ok(())
}

/// The mean of the corrected ratio over the truth without the noise of a simulation: regular visits of a Poisson page find a binomial number
/// of changes.
fn exact_bias() -> Result<(), Error> {
    println!("\nthe mean of the corrected ratio, exactly");
    let (visit, rates) = (Period::of(1.0, Unit::Day)?, [0.1, 0.5, 1.0, 2.0, 3.0, 10.0]);
    println!("visits  {}", rates.map(|r| format!("{:>9}", format!("r = {r}"))).join(""));
    for visits in [10, 20, 50] {
        let mut means = [0.0; 6];
        let mut ways = 1.0;
        for changed in 0..=visits {
            let mut page = Ratio::new();
            for visit_number in 0..visits {
                page.observe(&if visit_number < changed {
                    Observation::changed(visit)?
                } else {
                    Observation::unchanged(visit)?
                });
            }
            for (mean, r) in means.iter_mut().zip(rates) {
                let likely = ways * (-f64::exp_m1(-r)).powi(changed) * (-r * f64::from(visits - changed)).exp();
                *mean += likely * page.estimate().rate.per_day() / r;
            }
            ways *= f64::from(visits - changed) / f64::from(changed + 1);
        }
        println!("{visits:>6}  {}", means.map(|mean| format!("{mean:>9.4}")).join(""));
    }
    Ok(())
}

/// How often the interval of the gamma posterior holds the truth.
fn coverage() -> Result<(), Error> {
    let prior = Prior::new(0.3, Rate::per(0.3, Unit::Day)?)?;
    for (name, gaps) in [
        ("irregular visits (2.4 h to 30 days)", laboratory::IRREGULAR),
        ("late visits (20 to 30 days), which tell little", laboratory::LATE),
    ] {
        println!("\nintervals at 90 %, {name}: the truth is");
        println!("visits   below   inside    above   rates span");
        for visits in [2, 5, 20, 100] {
            let c = laboratory::coverage(SEED, prior, gaps, visits, 10_000)?;
            println!(
                "{visits:>6} {:>6.1}% {:>7.1}% {:>7.1}%   {:.1} decades",
                100.0 * c.below,
                100.0 * c.inside,
                100.0 * c.above,
                c.decades
            );
        }
    }
    Ok(())
}

/// The same with priors learnt from the pages themselves, as `everfresh estimate` does.
fn learnt_coverage() -> Result<(), Error> {
    println!(
        "\nintervals at 90 %, prior learnt from 3000 pages visited daily: truths inside, and the mean rate learnt"
    );
    println!("rates per day                     2 visits               5              20             100");
    let gamma = |shape, mean| (format!("gamma, shape {shape}, mean {mean}"), Law::Gamma(shape, mean));
    let laws = [gamma(0.2, 16.0), gamma(0.3, 1.0), gamma(1.0, 0.05), gamma(1.0, 10.0), gamma(1.0, 100.0)];
    for (name, law) in laws.into_iter().chain([("even over .001 to 1000".to_owned(), Law::SixDecades)]) {
        let mut row = format!("{name:<27}");
        for visits in [2, 5, 20, 100] {
            let pages = laboratory::daily(SEED, law, visits - 1, 3000)?;
            let (prior, inside) = laboratory::learnt_coverage(&pages);
            let mean = prior.map_or(0.0, |prior| prior.mean().per_day());
            row.push_str(&format!("{:>8.1}% {mean:>6.2}", 100.0 * inside));
        }
        println!("{}", row.trim_end());
    }
    Ok(())
}

/// Freshness lost by planning with estimates instead of true rates.
fn plans() -> Result<(), Error> {
    println!(
        "\nfreshness lost against the plan with known rates, in points; 1000 pages, a visit per page every 5 days;"
    );
    println!("where an estimator says 0, half a change in the time watched is planned for");
    let prior = Prior::new(0.3, Rate::per(0.3, Unit::Day)?)?;
    println!(
        "visits  optimum   all alike{}  gamma curve   and dates",
        NAMES.map(|name| format!("{name:>12}")).join("")
    );
    for visits in [3, 10, 30] {
        let p = laboratory::plans(SEED, prior, visits, 1000, 0.2)?;
        let lost = |freshness: f64| format!("{:>12.2}", 100.0 * (p.optimum - freshness));
        println!(
            "{visits:>6} {:>8.4} {:>11}{}{:>13}{:>12}",
            p.optimum,
            lost(p.uniform).trim(),
            p.estimated.map(lost).join(""),
            lost(p.curve).trim(),
            lost(p.dated).trim()
        );
    }
    Ok(())
}
