//! `cargo xtask bench simulate`: events per second of the laboratory, beside the machine's bound.
//!
//! One canonical workload: pages with lognormal rates, one visit in five days each, for a year. The bound draws as many
//! exponential times and adds them up, page by page, without visits, policies or scores.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use everfresh::Order;
use everfresh_sim::Conditions;
use everfresh_sim::contest::Entrant;
use everfresh_sim::world::{Habit, Rates, Synthetic, Weights};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::SplitMix64;
use rayon::prelude::*;

use crate::bench::Options;

/// A hundred thousand pages.
pub const OPTIONS: Options = Options { pages: 100_000, rival_pages: 0, runs: 3, hosts: 0 };

const SEED: u64 = 7;
const DAYS: f64 = 365.0;
const DAY: f64 = 86_400.0;
const ENTRANTS: [Entrant; 4] = [Entrant::Uniform, Entrant::Optimal, Entrant::Posterior, Entrant::StormCrawler];

/// Draws `events` times on all threads; the seconds it took.
fn bound(pages: usize, events: u64) -> f64 {
    let each = events / pages as u64;
    let start = Instant::now();
    let sum: f64 = (0..pages as u64)
        .into_par_iter()
        .map(|page| {
            let mut rng = SplitMix64::seed_from_u64(page);
            (0..each).map(|_| -> f64 { Exp1.sample(&mut rng) }).sum::<f64>()
        })
        .sum();
    black_box(sum);
    start.elapsed().as_secs_f64()
}

/// Measures and returns what to print.
pub fn run(options: Options) -> Result<String> {
    let Options { pages, runs, .. } = options;
    let duration_s = DAYS * DAY;
    let (rates, weights, habit) = (Rates::Lognormal, Weights::Uniform, Habit::Poisson);
    let world = Synthetic { pages, rates, weights, habit, duration_s, seed: SEED }.build();
    let conditions =
        Conditions { duration_s, warmup_s: 0.0, budget: 0.2 / DAY, price: 0.0, order: Order::Fixed, seed: SEED };
    let mut text = format!("{pages} pages for {DAYS} days (lognormal rates, seed {SEED}), best of {runs}\n\n");
    let _ = writeln!(text, "policy          threads   million events   million events/s   of the bound");
    for entrant in ENTRANTS {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let (mut best, mut drawn, mut events) = (f64::INFINITY, f64::INFINITY, 0);
            for _ in 0..runs.max(1) {
                let start = Instant::now();
                let score = pool.install(|| entrant.run(&world, &conditions, &|_: f64| true));
                best = best.min(start.elapsed().as_secs_f64());
                events = score.context("nobody stopped it")?.events;
                drawn = drawn.min(pool.install(|| bound(pages, events)));
            }
            let million = events as f64 / 1e6;
            let (speed, share) = (million / best, drawn / best);
            let _ =
                writeln!(text, "{:<15} {threads:>7}   {million:>14.2}   {speed:>16.1}   {share:>12.3}", entrant.name());
        }
    }
    Ok(text)
}
