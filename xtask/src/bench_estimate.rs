//! `cargo xtask bench estimate`: observations per second, beside the machine's bound, and learning priors anew.
//!
//! One canonical workload: pages with gamma-distributed rates, visits 2.4 hours to 30 days apart, each page visited once a
//! round. The bound is the same rounds without estimating: reading a visit and writing two numbers of its page.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::Result;
use everfresh::estimate::{Evidence, Habits, Hierarchy, Observation, PageState, Prior};
use everfresh::{Period, Rate, Unit};
use rand::prelude::*;
use rand_distr::{Distribution, Gamma};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::bench::Options;

/// A million pages, and no rival.
pub const OPTIONS: Options = Options { pages: 1_000_000, rival_pages: 0, runs: 3, hosts: 0 };

const SEED: u64 = 7;
const ROUNDS: usize = 10;
const PAGES_PER_GROUP: usize = 20;
/// Of so many pages one is visited in the files.
const PAGES_PER_FILE: usize = 5;
/// Below so many pages the program itself is not measured.
const WORTH_BUILDING: usize = 100_000;

/// One round of visits: what each page's visit saw.
fn round(rates: &[f64], seed: u64) -> Result<Vec<Observation>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut one = |rate: &f64| -> Result<Observation> {
        let elapsed = 0.1 * 300f64.powf(rng.random::<f64>());
        let period = Period::of(elapsed, Unit::Day)?;
        let changed = rng.random::<f64>() < -f64::exp_m1(-rate * elapsed);
        Ok(if changed { Observation::changed(period)? } else { Observation::unchanged(period)? })
    };
    rates.iter().map(&mut one).collect()
}

/// The best time of some runs over all rounds, from fresh pages each time; the pages of the last run.
fn measure<S: Clone + Send>(
    rounds: &[Vec<Observation>],
    runs: usize,
    fresh: &S,
    observe: impl Fn(&mut S, &Observation) + Sync,
) -> (f64, Vec<S>) {
    let (mut best, mut pages) = (f64::INFINITY, Vec::new());
    for _ in 0..runs.max(1) {
        pages = vec![fresh.clone(); rounds[0].len()];
        let start = Instant::now();
        for round in rounds {
            let chunks = pages.par_chunks_mut(1 << 14).zip(round.par_chunks(1 << 14));
            chunks.for_each(|(pages, round)| pages.iter_mut().zip(round).for_each(|(page, seen)| observe(page, seen)));
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    (best, pages)
}

/// Measures and returns what to print.
pub fn run(options: Options) -> Result<String> {
    let Options { pages, runs, .. } = options;
    let prior = Prior::new(0.3, Rate::per(0.3, Unit::Day)?)?;
    let habits = Habits::new(Period::of(1.0, Unit::Year)?, 2.0)?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let gamma = Gamma::new(0.3, 1.0)?;
    let rates: Vec<f64> = (0..pages).map(|_| gamma.sample(&mut rng)).collect();
    let rounds = (1..=ROUNDS).map(|i| round(&rates, SEED + i as u64)).collect::<Result<Vec<_>>>()?;
    let mut text = format!("{pages} pages, {ROUNDS} visits each (gamma rates, seed {SEED}), best of {runs}\n\n");
    let _ = writeln!(text, "threads   million observations/s   with drift    bound");
    let mut learnt = Vec::new();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let speed = |seconds: f64| (pages * ROUNDS) as f64 / seconds / 1e6;
        let (plain, evidence) = pool.install(|| {
            measure(&rounds, runs, &Evidence::NONE, |page: &mut Evidence, seen| page.observe(&prior, seen))
        });
        let (drift, states) = pool.install(|| {
            measure(&rounds, runs, &PageState::default(), |page: &mut PageState, seen| {
                page.observe(&prior, &habits, seen);
            })
        });
        let (bound, sums) = pool.install(|| {
            measure(&rounds, runs, &(0.0f32, 0.0f64), |page: &mut (f32, f64), seen| {
                *page = (page.0 + f32::from(u8::from(seen.has_changed())), page.1 + seen.elapsed().seconds());
            })
        });
        anyhow::ensure!(states.len() == sums.len(), "every page is measured");
        let _ = writeln!(text, "{threads:>7} {:>24.1} {:>12.1} {:>8.1}", speed(plain), speed(drift), speed(bound));
        learnt = evidence;
    }
    let mut hierarchy = Hierarchy::new(prior);
    for (page, evidence) in learnt.iter().enumerate() {
        hierarchy.add(page / PAGES_PER_GROUP, *evidence);
    }
    let start = Instant::now();
    hierarchy.learn();
    let seconds = start.elapsed().as_secs_f64();
    let groups = pages.div_ceil(PAGES_PER_GROUP);
    let _ = writeln!(text, "\npriors of {groups} groups learnt anew: {seconds:.2} s");
    let _ = writeln!(
        text,
        "prior of all pages: shape {:.3}, mean {}",
        hierarchy.global().alpha(),
        hierarchy.global().mean()
    );
    // A tiny run, as tests make it, is not worth building the program for.
    if pages >= WORTH_BUILDING {
        text.push_str(&crate::bench_visits::run(pages.div_ceil(PAGES_PER_FILE), runs, SEED)?);
    }
    Ok(text)
}
