//! Razniewski & Nutt, *Long-term Optimization of Update Frequencies for Decaying Information*, WebDB 2015: its tables.
//!
//! `cargo run --example rn15`

#![allow(clippy::print_stdout, missing_docs)]

use everfresh::curve::{DivergenceCurve, Exponential, Linear};
use everfresh::income::{Asset, Population, explaining_benefit};
use everfresh::{Error, Period, Rate, Unit};

const YEAR: f64 = Unit::Year.seconds();

/// Addresses of people of four ages: the share that moved within a year, and the paper's rate of exponential decay.
const GROUPS: [(u32, f64, f64); 4] = [(25, 0.367, 0.457), (30, 0.271, 0.316), (40, 0.150, 0.163), (50, 0.093, 0.098)];

fn main() -> Result<(), Error> {
    introduction()?;
    table_1();
    table_2()?;
    optima()?;
    web_pages()?;
    search_engine()
}

/// Section 1: page A is outdated within 10 days, page B within 20, linearly; a benefit of 1 a day, a cost of 1 a visit.
fn introduction() -> Result<(), Error> {
    println!("Section 1, linear decay           best period, days   income in 10 days");
    println!("                                     ours   paper        ours   paper");
    for (name, lifetime, period, income) in [("A", 10.0, "4.5", "5.6"), ("B", 20.0, "6.3", "6.8")] {
        let best = Asset::new(Linear::new(Rate::per(1.0 / lifetime, Unit::Day)?), 1.0, Unit::Day, 1.0)?.optimum();
        let in_ten_days = best.net_income_per_second * 10.0 * Unit::Day.seconds();
        println!("  page {name} {:>33.2} {period:>7} {in_ten_days:>11.2} {income:>7}", best.period.days());
    }
    Ok(())
}

/// Table 1: from the share that moves within a year to rate and half-life.
fn table_1() {
    println!("\nTable 1       rate a year  paper   half-life, years  paper");
    for ((age, moved, paper_rate), paper_half_life) in GROUPS.into_iter().zip(["1.52", "2.19", "4.25", "7.07"]) {
        let rate = -(1.0f64 - moved).ln();
        let half_life = std::f64::consts::LN_2 / rate;
        println!("  age {age} {rate:>14.3} {paper_rate:>7} {half_life:>15.2} {paper_half_life:>8}");
    }
}

/// Table 2: the mean correctness of an address that is checked every so many years.
fn table_2() -> Result<(), Error> {
    let paper = ["94 89 80 66 39 22", "96 93 86 74 50 30", "98 96 92 85 68 49", "99 98 95 91 79 64"];
    println!("\nTable 2, percent right, checked every   1/4  1/2    1    2    5   10 years");
    for ((age, _, rate), paper) in GROUPS.into_iter().zip(paper) {
        let curve = Exponential::new(Rate::per(rate, Unit::Year)?);
        let mut ours = String::new();
        for years in [0.25, 0.5, 1.0, 2.0, 5.0, 10.0] {
            ours += &format!("{:>5.0}", 100.0 * curve.mean_freshness(Period::of(years, Unit::Year)?));
        }
        println!("  age {age}                         ours {ours}");
        println!("                                 paper    {}", paper.replace(' ', "   "));
    }
    Ok(())
}

/// Example 3: a benefit of 1 a year and a cost of 1.
fn optima() -> Result<(), Error> {
    println!("\nExample 3     best period, years   paper   net income a year   paper");
    let mut assets = Vec::new();
    for ((age, _, rate), (period, income)) in
        GROUPS.into_iter().zip([("3.38", "0.21"), ("3.61", "0.32"), ("4.42", "0.49"), ("5.36", "0.59")])
    {
        let asset = Asset::new(Exponential::new(Rate::per(rate, Unit::Year)?), 1.0, Unit::Year, 1.0)?;
        let best = asset.optimum();
        let years = best.period.seconds() / YEAR;
        println!("  age {age} {years:>24.2} {period:>7} {:>19.3} {income:>7}", best.net_income_per_second * YEAR);
        assets.push(asset);
    }
    let population = Population::new(assets)?;
    let mean = |income: f64| income * YEAR / 4.0;
    println!("  mean of the best {:>40.5}  0.4026", mean(population.optimum().net_income_per_second));
    let uniform = population.at_frequency(Period::of(4.06, Unit::Year)?.frequency());
    println!("  all every 4.06 years {:>36.5}  0.3973", mean(uniform.net_income_per_second));
    Ok(())
}

/// Section 5, use case: 270 web sites in five classes and a month of 30 days. How many visits are best for a ratio of
/// benefit to cost, and what is lost by making 270 instead?
///
/// The numbers come out if the change intervals are read as half-lives, although the text calls them means; the paper's
/// first row comes out either way not.
fn web_pages() -> Result<(), Error> {
    println!("\nWeb pages   B/C   best visits a month   paper   lost with 270   paper");
    for (ratio, visits, loss) in [
        (0.1, "60", "18.5 %"),
        (0.3, "242", "0.1 %"),
        (0.355, "270", "-"),
        (0.5, "333", "0.5 %"),
        (1.0, "1033", "6.0 %"),
        (10.0, "4710", "25.8 %"),
        (100.0, "15882", "31.8 %"),
    ] {
        let population = sites(ratio)?;
        let best = population.optimum().spending_per_second * Unit::Month.seconds();
        let lost = population.loss_on_budget(270.0, Unit::Month)?.unwrap_or_default();
        println!("  {ratio:>13} {best:>21.0} {visits:>7} {:>13.1} % {loss:>7}", 100.0 * lost);
    }
    Ok(())
}

fn sites(benefit_cost_ratio: f64) -> Result<Population<Exponential>, Error> {
    let classes = [(1.0, 0.23), (7.0, 0.15), (30.0, 0.16), (120.0, 0.16), (365.0, 0.30)];
    let assets = classes.into_iter().map(|(days, share)| {
        let rate = Rate::from_half_life(Period::of(days, Unit::Day)?)?;
        // A class of n sites earns n times as much and costs n times as much to visit.
        let n = 270.0 * share;
        Asset::new(Exponential::new(rate), benefit_cost_ratio * n, Unit::Day, n)
    });
    Population::new(assets.collect::<Result<Vec<_>, _>>()?)
}

/// Section 6: a page that changes daily is visited 75 times a day. What must it earn, in costs of a visit?
fn search_engine() -> Result<(), Error> {
    println!("\nSection 6: benefit a day of 75 visits a day, in costs of a visit");
    for (half_life, paper) in [(1.0, "16000"), (0.5, "half of it")] {
        let rate = Rate::from_half_life(Period::of(half_life, Unit::Day)?)?;
        let ratio = explaining_benefit(&Exponential::new(rate), "75/day".parse()?)? * Unit::Day.seconds();
        println!("  half-life {half_life:>3} days: ours {ratio:.0}, paper {paper}");
    }
    Ok(())
}
