//! `everfresh demo`: a web whose truth is known, and who keeps copies of it how fresh.
//!
//! [`world`] says what every page says at any time, [`web`] serves that; [`ours`] and [`rivals`] visit it at the same time,
//! on a clock that goes faster than the world's, and [`score`] compares what they saw with the truth.

pub(crate) mod args;
mod look;
mod ours;
mod report;
mod rivals;
mod score;
mod site;
mod text;
mod web;
mod world;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use everfresh_crawl::fetch::Address;

use crate::interrupt;
use crate::output::{cannot_write, say};
use crate::progress::ShareLine;
use crate::run::clock::Clock;
use crate::whole::WholeFile;
use args::DemoArgs;
use look::{Listed, Seen};
use report::Scores;
use web::{Bound, Time};
use world::{DAY_S, World};

/// When the demo's time begins: a Monday, at midnight (2026-01-05, UTC).
const START_S: f64 = 1_767_571_200.0;
/// Below this share of its budget Everfresh was held up by the machine.
const HELD_UP: f64 = 0.9;

pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    if let Some(path) = &args.plot {
        crate::chart::check_ending(path)?;
    }
    let world = Arc::new(World::new(args.pages, f64::from(args.days), args.seed));
    let web = Bound::new()?;
    if let Some(path) = &args.serve {
        return serve(args, &world, web, path);
    }
    let scores = contest(args, &world, web)?;
    warn_if_held_up(args, &scores);
    if let Some(path) = &args.plot {
        report::plot(path, args, &scores)?;
    }
    report::print(args, &scores)
}

/// How much faster than the world's the demo's time goes.
fn speed(args: &DemoArgs) -> f64 {
    f64::from(args.days) * DAY_S / args.takes.seconds()
}

/// Only the web, until the program is asked to end.
fn serve(args: &DemoArgs, world: &Arc<World>, web: Bound, path: &Path) -> Result<()> {
    let list: String = world.pages.iter().map(|page| web.address(page) + "\n").collect();
    let written = WholeFile::create(path).and_then(|mut file| {
        std::io::Write::write_all(&mut file, list.as_bytes())?;
        file.finish()
    });
    written.map_err(|error| cannot_write(path, error))?;
    // Whoever visits goes by the world's clock, from which the web's starts.
    let start_s = Clock::Real.now_s();
    let time = Time { clock: Clock::fast(start_s, speed(args)), start_s, seconds_per_visitors: speed(args) };
    let _serving = web.serve(world, time)?;
    let day = args.takes.seconds() / f64::from(args.days);
    say(&format!(
        "serving {} pages, a day in {} s, until Ctrl-C; their addresses are in `{}`",
        args.pages,
        crate::output::number(day),
        path.display()
    ));
    while interrupt::check().is_ok() {
        std::thread::sleep(ours::NOTICE);
    }
    Ok(())
}

/// Lets all crawlers run at the same time, and scores them.
fn contest(args: &DemoArgs, world: &Arc<World>, web: Bound) -> Result<Scores> {
    let listed = |page: &world::Page| {
        let host = u32::try_from(page.site)?;
        Ok(Listed { address: Address::of_page(&web.address(page))?, host })
    };
    let pages: Vec<Listed> = world.pages.iter().map(listed).collect::<Result<_>>()?;
    let clock = Clock::fast(START_S, speed(args));
    let serving = web.serve(world, Time { clock, start_s: START_S, seconds_per_visitors: 1.0 })?;
    let until_s = START_S + world.length_s;
    let budget_per_s = args.budget * f64::from(args.pages) / DAY_S;
    let seen = race(&pages, budget_per_s, clock, until_s)?;
    drop(serving);
    let parts = usize::try_from(args.days.clamp(10, 200))?;
    let names = std::iter::once("everfresh").chain(rivals::NAMES);
    names.zip(&seen).map(|(name, seen)| Ok((name, score::score(world, seen, START_S, parts)?))).collect()
}

/// Every crawler's visits, ours first.
fn race(pages: &[Listed], budget_per_s: f64, clock: Clock, until_s: f64) -> Result<Vec<Vec<Seen>>> {
    let allowed = AtomicU64::new(0);
    let course = rivals::Course { pages, clock, until_s, allowed: &allowed };
    std::thread::scope(|scope| {
        let mine = scope.spawn(|| {
            let mut visits = Vec::new();
            let mut seen = |seen: Seen| {
                visits.push(seen);
                allowed.fetch_add(1, Ordering::Relaxed);
            };
            ours::ours(pages, budget_per_s, clock, until_s, &mut seen).map(|()| visits)
        });
        let others: Vec<_> =
            (0..rivals::NAMES.len()).map(|rival| scope.spawn(move || rivals::run(rival, course))).collect();
        show(clock, until_s);
        let all = std::iter::once(mine).chain(others);
        all.map(|crawler| crawler.join().map_err(|_| anyhow!("a crawler of the demo failed"))?).collect()
    })
}

/// Shows how far the time is, until it is over.
fn show(clock: Clock, until_s: f64) {
    let line = ShareLine::new();
    while interrupt::check().is_ok() && clock.now_s() < until_s {
        let gone_s = clock.now_s() - START_S;
        line.at(gone_s / (until_s - START_S), &format!("day {:.0}", gone_s / DAY_S));
        std::thread::sleep(clock.wait(until_s).min(Duration::from_millis(100)));
    }
}

/// Everybody makes as many visits as Everfresh, so that the comparison stays fair; but it is not the one asked for.
fn warn_if_held_up(args: &DemoArgs, scores: &Scores) {
    let wanted = args.budget * f64::from(args.pages) * f64::from(args.days);
    let made = scores.first().map_or(0.0, |(_, score)| score.visits as f64);
    if made < HELD_UP * wanted {
        say(&format!(
            "this machine was too slow for {wanted:.0} visits by each: --takes gives it more time, --pages less to do"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everfresh::{Period, Unit};

    #[test]
    fn a_small_demo_runs_with_equal_visits_for_all() {
        let takes = Period::of(4.0, Unit::Second).unwrap();
        let args = DemoArgs { pages: 60, days: 20, budget: 0.3, takes, seed: 1, plot: None, json: false, serve: None };
        let world = Arc::new(World::new(args.pages, f64::from(args.days), args.seed));
        let scores = contest(&args, &world, Bound::new().unwrap()).unwrap();
        assert_eq!(
            scores.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["everfresh", "uniform", "stormcrawler", "nutch"]
        );
        let visits = scores[0].1.visits;
        assert!((60..=376).contains(&visits), "{visits}");
        for (name, score) in &scores {
            // Who makes its last visit when time is up does not get its answer.
            assert!(score.visits <= visits && score.visits + 64 >= visits, "{name}: {} of {visits}", score.visits);
            assert!(score.freshness > 0.1 && score.freshness < 0.9, "{name}: {score:?}");
            assert_eq!(score.over_time.len(), 20);
            assert!(score.not_modified > 0 && score.changes >= 40, "{name}: {score:?}");
        }
        let svg = report::plot(&std::env::temp_dir().join("x.pdf"), &args, &scores);
        assert!(svg.is_err());
    }
}
