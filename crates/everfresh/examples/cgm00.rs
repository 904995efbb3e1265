//! Cho & Garcia-Molina, *Synchronizing a database to improve freshness*, SIGMOD 2000: what it answers, beside ours.
//!
//! `cargo run --example cgm00`

#![allow(clippy::print_stdout, missing_docs)]

use everfresh::{Allocation, Error, Objective, Order, Page, Plan, Price, Rate, Terms, Unit};

fn main() -> Result<(), Error> {
    guarantees()?;
    table_5()?;
    table_6()
}

/// Section 4: the questions that the formulas of Table 2 answer.
fn guarantees() -> Result<(), Error> {
    let fixed = Order::Fixed;
    println!("Section 4                                                ours   paper");
    println!("  freshness when visited as often as it changes  {:>12.3}    0.63", fixed.freshness(1.0));
    let gain = fixed.freshness(1.0) / Order::PurelyRandom.freshness(1.0) - 1.0;
    println!("  fixed order above purely random there          {:>10.0} %    30 %", 100.0 * gain);
    let ratio = fixed.ratio_for_freshness(0.8)?;
    println!("  changes per visit that allow a freshness of 0.8{ratio:>12.3}    0.46");
    println!("  visits per change that this takes              {:>12.2}       2", 1.0 / ratio);
    Ok(())
}

/// Table 5: the five pages of example 4.
fn table_5() -> Result<(), Error> {
    let rates = [1.0, 2.0, 3.0, 4.0, 5.0].map(|rate| Rate::per(rate, Unit::Day));
    let pages = rates.into_iter().map(|rate| Ok(Page::new(rate?))).collect::<Result<Vec<_>, Error>>()?;
    println!("\nTable 5, visits a day                e1     e2     e3     e4     e5");
    for (objective, paper) in [
        (Objective::Freshness, "  1.15   1.36   1.35   1.14   0.00"),
        (Objective::Age, "  0.84   0.97   1.03   1.07   1.09"),
    ] {
        let price = Price::for_budget(5.0, Unit::Day)?;
        let plan = Plan::new(&pages, Terms { objective, ..Terms::new(price) })?;
        let ours: Vec<String> = plan.entries().iter().map(|e| format!("{:>6.2}", e.frequency.per_day())).collect();
        let name = format!("{objective:?}").to_lowercase();
        println!("  optimal for {name:<10}  ours  {}", ours.join(" "));
        println!("                          paper {paper}");
    }
    Ok(())
}

/// Table 6: the web of 1999, one visit per page in thirty days.
fn table_6() -> Result<(), Error> {
    let classes = [(1.0, 0.23), (7.0, 0.15), (30.0, 0.16), (120.0, 0.16), (365.0, 0.30)];
    let page =
        |(days, share): (f64, f64)| Page::new(Rate::per(1.0 / days, Unit::Day)?).with_weight(share)?.with_cost(share);
    let pages = classes.into_iter().map(page).collect::<Result<Vec<_>, _>>()?;
    let price = Price::for_budget(1.0 / 30.0, Unit::Day)?;
    println!("\nTable 6             freshness  paper   age, days   paper");
    for (allocation, freshness, age) in [
        (Allocation::Proportional, "0.12", "400"),
        (Allocation::Uniform, "0.57", "5.6"),
        (Allocation::Optimal, "0.62", "4.3"),
    ] {
        let plan = |objective| Plan::new(&pages, Terms { objective, allocation, ..Terms::new(price) });
        println!(
            "  {:<14} {:>12.3} {freshness:>6} {:>11.2} {age:>7}",
            format!("{allocation:?}").to_lowercase(),
            plan(Objective::Freshness)?.totals().freshness,
            plan(Objective::Age)?.totals().age.days(),
        );
    }
    Ok(())
}
