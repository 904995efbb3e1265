//! `cargo xtask bench bakeoff`: every policy on recorded traces, at budgets from a visit a day to one in 90 days.
//!
//! Policies learn only from their own visits; the recorded truth only scores them. Rules of other crawlers are held to the
//! budget: all their intervals times the same factor. Each number is the mean over seeds, which place the visits; beside it stands
//! the difference from uniform and its standard error over seeds. `bench/bakeoff.md` has a dated result.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use everfresh::Order;
use everfresh_sim::Conditions;
use everfresh_sim::contest::{Contest, Entrant, Goal};
use everfresh_sim::trace::{Window, load};
use everfresh_sim::world::World;
use rayon::prelude::*;

use crate::bench::Options;

/// At most 1,500 pages of each trace; five seeds.
pub const OPTIONS: Options = Options { pages: 1500, rival_pages: 0, runs: 5, hosts: 0 };

const DAY: f64 = 86_400.0;
const EVERY_DAYS: [f64; 4] = [1.0, 7.0, 30.0, 90.0];

/// The start of 2023: before it some collections were thin.
const FROM_UNIX: f64 = 1_672_531_200.0;

/// The traces: where `EVERFRESH_DATA` says, else beside the project.
fn folders() -> Result<Vec<PathBuf>> {
    let beside = || crate::root().join("../shared/data");
    let data = std::env::var_os("EVERFRESH_DATA").map_or_else(beside, PathBuf::from);
    let listed = std::fs::read_dir(&data).with_context(|| format!("no traces at `{}`", data.display()))?;
    let mut folders: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.retain(|folder| folder.join("visits.csv.gz").exists());
    folders.sort();
    if folders.is_empty() {
        bail!("no trace at `{}` has a visits.csv.gz", data.display());
    }
    Ok(folders)
}

fn entrants(goal: Goal) -> Vec<Entrant> {
    use Entrant as E;
    let known = match goal {
        Goal::Freshness => [E::Uniform, E::Optimal, E::Posterior, E::Harmonic, E::Scheduler].as_slice(),
        Goal::Content => {
            &[E::Uniform, E::FsS, E::HsS, E::FsD, E::Content, E::Longevity, E::CurveFitting, E::BoundBased, E::Cgm]
        }
    };
    let peers = Entrant::all().filter(|entrant| entrant.is_peer());
    known.iter().copied().chain(peers.filter(|peer| !peer.is_blind())).collect()
}

/// What each seed reached, and how it compares with the baseline.
fn cell(reached: &[f64], baseline: &[f64]) -> String {
    let number = reached.len() as f64;
    let mean = reached.iter().sum::<f64>() / number;
    let gains: Vec<f64> = reached.iter().zip(baseline).map(|(a, b)| a - b).collect();
    let gain = gains.iter().sum::<f64>() / number;
    let spread = gains.iter().map(|x| (x - gain).powi(2)).sum::<f64>() / (number - 1.0).max(1.0);
    let error = (spread / number).sqrt();
    if error > 0.0 { format!("{mean:.4} ({gain:+.4} +- {error:.4})") } else { format!("{mean:.4}") }
}

fn row(world: &World, duration_s: f64, goal: Goal, days: f64, seeds: usize) -> Result<String> {
    let budget = 1.0 / (days * DAY);
    let conditions = Conditions { duration_s, warmup_s: 0.0, budget, price: 0.0, order: Order::Fixed, seed: 1 };
    let contest = Contest { world, conditions, seeds: seeds as u64, goal, hold_peers: true };
    let reached = |entrant: Entrant| -> Result<Vec<f64>> {
        let scores = contest.run(entrant, &|_: f64| true).context("nobody stopped it")?;
        Ok(scores.iter().map(|score| goal.reached(score).mean).collect())
    };
    // A trace of thirty pages keeps one thread busy, so that policies run beside each other.
    let entrants = entrants(goal);
    let all = entrants.par_iter().map(|entrant| reached(*entrant)).collect::<Result<Vec<_>>>()?;
    let baseline = entrants.iter().position(|entrant| *entrant == Entrant::Uniform).context("no baseline")?;
    let cells: Vec<String> = all.iter().map(|each| cell(each, &all[baseline])).collect();
    Ok(format!("| {} | {days} | {} |", world.name, cells.join(" | ")))
}

fn heading(goal: Goal) -> String {
    let names: Vec<&str> = entrants(goal).into_iter().map(Entrant::name).collect();
    format!("| trace | days | {} |\n|{}", names.join(" | "), " --- |".repeat(names.len() + 2))
}

/// A trace as a world, where it has what the goal asks for.
fn world(folder: &Path, goal: Goal, pages: usize) -> Result<Option<(World, f64)>> {
    let with_fragments = goal == Goal::Content;
    if with_fragments && !folder.join("shingles.csv.zst").exists() {
        return Ok(None);
    }
    let (world, duration_s) =
        load(folder, &Window { from_unix: Some(FROM_UNIX), with_fragments, ..Window::default() })?;
    Ok(Some((world.sample(pages), duration_s)))
}

/// Measures, and writes Markdown to `out`: each row as soon as it is known.
pub fn run(options: Options, out: &mut dyn Write) -> Result<()> {
    let Options { pages, runs, .. } = options;
    writeln!(out, "# Every policy on recorded traces\n\n`cargo xtask bench bakeoff --pages {pages} --runs {runs}`\n")?;
    writeln!(out, "At most {pages} pages of each trace, from 2023 on, with {runs} seeds.")?;
    writeln!(out, "In brackets: the difference from uniform and its standard error over seeds.")?;
    for (goal, words) in [(Goal::Freshness, "Share of time fresh"), (Goal::Content, "1 - mean divergence of content")] {
        writeln!(out, "\n## {words}\n\n{}", heading(goal))?;
        for folder in folders()? {
            let Some((world, duration_s)) = world(&folder, goal, pages)? else { continue };
            for days in EVERY_DAYS {
                writeln!(out, "{}", row(&world, duration_s, goal, days, runs)?)?;
                out.flush()?;
            }
        }
    }
    Ok(())
}
