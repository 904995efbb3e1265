//! How much can twenty visits tell?
//!
//! Pages change at random at rates that nobody knows. After twenty regular visits to each, the most that can be known of a page
//! is in how many of them found a change, and in how rates are distributed. Who plans by exactly that reaches, from then on, a
//! share of what the known rates would gain over uniform visits: a bound in closed form, without simulation. Beside it what exact
//! Bayes, told the distribution, and ours, told nothing, reach in simulated worlds between the twentieth and the fortieth visit.
//!
//! `cargo run --release --example twenty_visits`

#![allow(clippy::print_stdout)]

use everfresh::policy::{About, Bayes, Known, Outcome, Policy, Visit};
use everfresh::{Objective, Order, Period, Rate, Result, Unit};
use everfresh_sim::Conditions;
use everfresh_sim::contest::Entrant;
use everfresh_sim::world::{Habit, Rates, Synthetic, Weights, World};

const VISITS: u32 = 20;
const PAGES: usize = 1000;
const SEEDS: u64 = 3;

/// Pages that cannot be told apart: their share of all, the rates that they may have and how probable each is, and their period at a price.
struct Class<'a> {
    share: f64,
    rates: Vec<(Rate, f64)>,
    period: Box<dyn Fn(f64) -> Period + 'a>,
}

impl Class<'_> {
    fn freshness(&self, period: Period) -> f64 {
        let fresh = |rate: Rate| if period == Period::NEVER { 0.0 } else { Order::Fixed.freshness(rate * period) };
        self.rates.iter().map(|(rate, belief)| belief * fresh(*rate)).sum()
    }
}

/// The mean freshness at the price at which all spend the budget, in visits per second and page.
fn planned(classes: &[Class<'_>], budget: f64) -> f64 {
    let load = |price: f64| -> f64 {
        classes.iter().map(|class| class.share * (class.period)(price).frequency().per_second()).sum()
    };
    let (mut low, mut high) = (1e-3_f64, 1e12_f64);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if load(middle) > budget { low = middle } else { high = middle }
    }
    classes.iter().map(|class| class.share * class.freshness((class.period)(high))).sum()
}

/// What can be told apart after the visits: by how many of them found a change.
fn classes<'a>(bayes: &'a Bayes, rates: &[Rate], every: Period) -> Vec<Class<'a>> {
    let about = About::new(Rate::STATIC);
    let number = rates.len() as f64;
    let class = |changes: u32| {
        let mut beliefs = bayes.remember(&about, 0.0, &[]);
        for visit in 0..VISITS {
            let changed = Outcome::Changed { divergence: 1.0, last_change: None };
            let outcome = if visit < changes { changed } else { Outcome::Unchanged };
            bayes.observe(&about, &mut beliefs, &Visit { now_s: 0.0, elapsed: every, outcome, fragments: &[] });
        }
        let share = rates.iter().map(|rate| binomial(changes, -(-(*rate * every)).exp_m1())).sum::<f64>() / number;
        let rates = rates.iter().copied().zip(beliefs.iter().copied()).collect();
        Class { share, rates, period: Box::new(move |price| bayes.period(&about, &beliefs, price)) }
    };
    (0..=VISITS).map(class).collect()
}

/// The probability of so many changes in all visits, each finding one with a chance.
fn binomial(changes: u32, chance: f64) -> f64 {
    let ways: f64 = (0..changes).map(|n| f64::from(VISITS - n) / f64::from(n + 1)).product();
    ways * chance.powf(f64::from(changes)) * (1.0 - chance).powf(f64::from(VISITS - changes))
}

/// Uniform, the optimum and the bound: mean freshness.
pub(crate) fn closed_form(rates: &[Rate], every: Period) -> Result<[f64; 3]> {
    let (number, budget) = (rates.len() as f64, every.frequency().per_second());
    let uniform = rates.iter().map(|rate| Order::Fixed.freshness(*rate * every)).sum::<f64>() / number;
    let known = |rate: &Rate| {
        let about = About::new(*rate);
        let period = move |price| Known(Objective::Freshness).period(&about, &(), price);
        Class { share: 1.0 / number, rates: vec![(*rate, 1.0)], period: Box::new(period) }
    };
    let bayes = Bayes::new(rates)?;
    let optimum = planned(&rates.iter().map(known).collect::<Vec<_>>(), budget);
    Ok([uniform, optimum, planned(&classes(&bayes, rates, every), budget)])
}

/// What a policy gains over uniform from the twentieth to the fortieth visit, as a share of what the optimum gains.
fn share(world: &World, entrant: Entrant, every: Period) -> Option<f64> {
    let (warmup_s, budget) = (f64::from(VISITS) * every.seconds(), every.frequency().per_second());
    let reached = |entrant: Entrant| -> Option<f64> {
        let runs = (1..=SEEDS).map(|seed| {
            let duration_s = 2.0 * warmup_s;
            let conditions = Conditions { duration_s, warmup_s, budget, price: 0.0, order: Order::Fixed, seed };
            Some(entrant.run(world, &conditions, &|_: f64| true)?.freshness().mean)
        });
        Some(runs.sum::<Option<f64>>()? / SEEDS as f64)
    };
    let [uniform, optimum, own] = [Entrant::Uniform, Entrant::Optimal, entrant].map(reached);
    Some((own? - uniform?) / (optimum? - uniform?))
}

fn main() -> Result<()> {
    println!("world        days  uniform  optimum  20 visits can tell  bayes  posterior");
    for (name, rates) in [
        ("lognormal", Rates::Lognormal),
        ("gamma", Rates::Gamma),
        ("log-uniform", Rates::LogUniform),
        ("five-classes", Rates::FiveClasses),
    ] {
        for days in [1.0, 7.0, 30.0] {
            let every = Period::of(days, Unit::Day)?;
            let duration_s = 40.0 * every.seconds();
            let (weights, habit) = (Weights::Uniform, Habit::Poisson);
            let world = Synthetic { pages: PAGES, rates, weights, habit, duration_s, seed: 1 }.build();
            let all: Vec<Rate> = world.pages.iter().map(|page| page.about.rate).collect();
            let [uniform, optimum, told] = closed_form(&all, every)?;
            let percent =
                |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share));
            let bound = percent(Some((told - uniform) / (optimum - uniform)));
            let [bayes, ours] =
                [Entrant::Bayes, Entrant::Posterior].map(|entrant| percent(share(&world, entrant, every)));
            println!("{name:12} {days:4}  {uniform:7.4}  {optimum:7.4}  {bound:>18}  {bayes:>5}  {ours:>9}");
        }
    }
    Ok(())
}
