//! Real pages by their fragments: read from the traces, visited every three days, and what curves foresee of them.
//!
//! The traces are not part of the project. They are looked for where `EVERFRESH_DATA` says, else at `../shared/data` beside
//! the workspace. Pages are looked at from 2023 on, or from when the collector last changed how it reads them (rows of kind
//! `t`: no divergence is measured across those), to the end of the trace or until nothing is left of them.

use everfresh::curve::DivergenceCurve;
use everfresh::estimate::{Evidence, Hierarchy, Observation, Posterior, Prior};
use everfresh::longevity::{Depths, Lesson, OnlinePolicy, Point, Visit, combine};
use everfresh::{Period, Rate, Unit};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

pub const TRACES: [&str; 6] = ["ota-contrib", "ota-pga", "eol-releases", "mamip", "telegram-web", "gh-trending"];
const DAY: u64 = 86_400;
/// The start of 2023.
const FROM: u64 = 1_672_531_200;
/// Days between visits, and the fewest visits that a page must have.
const STEP_DAYS: u64 = 3;
const FEWEST: usize = 80;

pub fn data() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("EVERFRESH_DATA").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("no traces at {}: nothing tested", folder.display());
    None
}

type Fragments = HashSet<u32>;

/// A page as visits every three days see it: the divergence between any two of them.
pub struct Page {
    /// The version at each visit, and the versions themselves.
    visits: Vec<usize>,
    versions: Vec<Fragments>,
    known: RefCell<HashMap<(usize, usize), f64>>,
}

fn jaccard(a: &Fragments, b: &Fragments) -> f64 {
    let shared = a.intersection(b).count();
    let union = a.len() + b.len() - shared;
    if union == 0 { 0.0 } else { 1.0 - shared as f64 / union as f64 }
}

impl Page {
    pub fn len(&self) -> usize {
        self.visits.len()
    }

    pub fn divergence(&self, base: usize, then: usize) -> f64 {
        let (a, b) = (self.visits[base], self.visits[then]);
        if a == b {
            return 0.0;
        }
        let pair = (a.min(b), a.max(b));
        *self.known.borrow_mut().entry(pair).or_insert_with(|| jaccard(&self.versions[a], &self.versions[b]))
    }

    /// The combined change profiles from five visits between two, none reaching beyond.
    fn points(&self, from: usize, end: usize) -> Vec<Point> {
        let bases = (0..5).map(|i| from + i * (end - from) / 5);
        let profiles = bases.map(|base| {
            let later = AFTER.into_iter().filter(|steps| base + steps < end);
            later.map(|steps| Point::new(steps_long(steps), self.divergence(base, base + steps)).unwrap()).collect()
        });
        let profiles: Vec<Vec<Point>> = profiles.collect();
        combine(profiles.iter().map(Vec::as_slice))
    }

    /// What the visits between two saw, in order.
    pub fn past(&self, from: usize, end: usize) -> Past {
        let mut past = Past { seen: Vec::new(), depths: Depths::NONE, points: self.points(from, end) };
        for i in from + 1..end {
            let moved = self.divergence(i - 1, i);
            past.seen.push(Observation::between(0.0, steps_long(1).seconds(), moved > 0.0).unwrap());
            if moved > 0.0 {
                past.depths.observe(moved).unwrap();
            }
        }
        past
    }
}

/// The points of a profile, in visits after its base.
const AFTER: [usize; 12] = [1, 2, 3, 4, 6, 8, 11, 15, 20, 26, 33, 40];

/// What is known of a page from a stretch of visits.
pub struct Past {
    pub seen: Vec<Observation>,
    pub depths: Depths,
    pub points: Vec<Point>,
}

impl Past {
    pub fn rate(&self, prior: Prior) -> Posterior {
        let mut evidence = Evidence::NONE;
        for observation in &self.seen {
            evidence.observe(&prior, observation);
        }
        evidence.posterior(prior)
    }

    pub fn lesson<'a>(&'a self, prior: Prior, next: &'a Past) -> Lesson<'a> {
        Lesson { rate: self.rate(prior), depths: self.depths, points: &self.points, next: &next.points }
    }
}

/// The prior of all pages' rates, in three rounds, since evidence depends on the prior it was weighed under.
pub fn learnt_rates(pasts: &[Past]) -> Prior {
    let base = Prior::new(0.5, Rate::per(1.0, Unit::Month).unwrap()).unwrap();
    let mut prior = base;
    for _ in 0..3 {
        let mut hierarchy = Hierarchy::new(base);
        for past in pasts {
            hierarchy.add(0, past.rate(prior).evidence());
        }
        hierarchy.learn();
        prior = hierarchy.global();
    }
    prior
}

/// The root of the mean square error of the curves on the second halves, at so many visits after a base; pages weigh alike.
pub fn error(pages: &[Page], curves: &[Box<dyn DivergenceCurve>], lag: usize) -> f64 {
    let mut sum = 0.0;
    for (page, curve) in pages.iter().zip(curves) {
        let foreseen = curve.divergence(steps_long(lag));
        let bases: Vec<usize> = (page.len() / 2..page.len() - lag).step_by(3).collect();
        let squares = bases.iter().map(|base| (page.divergence(*base, base + lag) - foreseen).powi(2));
        sum += squares.sum::<f64>() / bases.len() as f64;
    }
    (sum / pages.len() as f64).sqrt()
}

/// The mean divergence of the copies over the second halves under a plan that the curves make for a budget of visits per
/// page and visit step, frozen; the first visit falls anywhere in the first period (five times).
pub fn frozen_plan(pages: &[Page], curves: &[Box<dyn DivergenceCurve>], budget: f64) -> f64 {
    let step = steps_long(1).seconds();
    let periods = |price: f64| curves.iter().map(move |curve| (curve.period(price).seconds() / step).max(1.0));
    let (mut low, mut high) = (1e-6 * step, 1e6 * step);
    for _ in 0..60 {
        let price = f64::sqrt(low * high);
        let spent: f64 = periods(price).map(f64::recip).sum();
        if spent > budget * pages.len() as f64 { low = price } else { high = price }
    }
    let periods: Vec<f64> = periods(high).collect();
    staleness(pages, &periods)
}

/// Runs a policy on all visits of the pages, with five profiles of up to twelve points, periods rounded up to visit steps: over the
/// second halves the mean divergence of the copies, and the visits per page and step.
pub fn online<P: OnlinePolicy>(pages: &[Page], policy: &P) -> (f64, f64) {
    let (mut staleness, mut spent) = (0.0, 0.0);
    for (i, page) in pages.iter().enumerate() {
        // Discovered one after the other, thrice: in step, all pages would meet the same mass edits equally late.
        for shift in [0, 7, 13] {
            let (divergence, visits) = second_half(page, &visits_by(page, policy, (i + shift) % 20));
            staleness += divergence;
            spent += visits;
        }
    }
    let runs = 3.0 * pages.len() as f64;
    (staleness / runs, spent / runs)
}

/// The mean divergence and the visits per step in the second half, of a copy that was visited at these times.
fn second_half(page: &Page, times: &[usize]) -> (f64, f64) {
    let (half, mut staleness, mut visits) = (page.len() / 2, 0.0, 0.0);
    for now in half + 1..page.len() {
        let made = times.partition_point(|time| *time < now);
        staleness += page.divergence(times[made - 1], now);
        visits += f64::from(u8::from(times.get(made) == Some(&now)));
    }
    let steps = (page.len() - half - 1) as f64;
    (staleness / steps, visits / steps)
}

/// Visits every page alike, so many steps apart on average: in memory is by how much the last period was rounded up.
pub struct Alike(pub f64);

impl OnlinePolicy for Alike {
    type Memory = f64;

    fn discovered(&self) -> f64 {
        0.0
    }

    fn next_period(&self, early: &mut f64, _: &Visit<'_>) -> everfresh::Result<Period> {
        let exact = self.0 - *early;
        *early = exact.ceil() - exact;
        Period::of(exact.ceil() * STEP_DAYS as f64, Unit::Day)
    }
}

/// When a policy visits a page, in visit steps.
fn visits_by<P: OnlinePolicy>(page: &Page, policy: &P, start: usize) -> Vec<usize> {
    let (mut memory, mut times, mut now) = (policy.discovered(), Vec::new(), start);
    let mut profiles: Vec<(usize, Vec<Point>)> = Vec::new();
    while now < page.len() {
        for (base, profile) in &mut profiles {
            if profile.len() < 12 {
                profile.push(Point::new(steps_long(now - *base), page.divergence(*base, now)).unwrap());
            }
        }
        let before = times.last().copied().unwrap_or(now);
        times.push(now);
        let kept: Vec<&[Point]> = profiles.iter().map(|(_, profile)| profile.as_slice()).collect();
        let visit = Visit {
            elapsed: steps_long(now - before),
            visits: u32::try_from(times.len()).unwrap(),
            divergence: page.divergence(before, now),
            profiles: &kept,
        };
        let steps = policy.next_period(&mut memory, &visit).unwrap().days() / STEP_DAYS as f64;
        if profiles.len() == 5 {
            profiles.remove(0);
        }
        profiles.push((now, Vec::new()));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the length of a page")]
        let steps = steps.ceil().clamp(1.0, page.len() as f64) as usize;
        now += steps;
    }
    times
}

/// The mean divergence over the second halves of copies that are visited with these periods, in visit steps.
pub fn staleness(pages: &[Page], periods: &[f64]) -> f64 {
    let mut total = 0.0;
    for (page, period) in pages.iter().zip(periods) {
        let (from, end) = (page.len() / 2, page.len());
        for phase in [0.1, 0.3, 0.5, 0.7, 0.9] {
            let (mut base, mut next, mut sum) = (from, from as f64 + phase * period, 0.0);
            for now in from + 1..end {
                sum += page.divergence(base, now);
                if now as f64 >= next {
                    (base, next) = (now, next + period);
                }
            }
            total += sum / (end - from - 1) as f64 / 5.0;
        }
    }
    total / pages.len() as f64
}

pub fn steps_long(steps: usize) -> Period {
    Period::of((steps as u64 * STEP_DAYS) as f64, Unit::Day).unwrap()
}

fn rows(file: &Path) -> Vec<Vec<String>> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Since when each page is read with the same extraction: from its last row of kind `t` on.
fn read_alike_since(folder: &Path) -> HashMap<String, u64> {
    let text = folder.join("visits_text.csv.gz");
    let file = if text.is_file() { text } else { folder.join("visits.csv.gz") };
    let resets = rows(&file).into_iter().filter(|row| row[4] == "t");
    resets.map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
}

/// The pages of a trace that are long enough, evenly drawn, at most `wanted`.
pub fn pages(folder: &Path, wanted: usize) -> Vec<Page> {
    let since = read_alike_since(folder);
    let (histories, end) = histories(folder);
    let step = histories.len().div_ceil(wanted).max(1);
    let chosen = histories.into_iter().step_by(step);
    let visited = |(page, versions): (String, _)| visited(versions, since.get(&page).copied().unwrap_or(0), end);
    chosen.filter_map(visited).collect()
}

type History = Vec<(u64, Fragments)>;

/// Every version of every page, and the time of the last.
fn histories(folder: &Path) -> (Vec<(String, History)>, u64) {
    let file = std::fs::File::open(folder.join("shingles.csv.zst")).unwrap();
    let mut histories: Vec<(String, History)> = Vec::new();
    let mut end = 0;
    for line in BufReader::new(zstd::Decoder::new(file).unwrap()).lines().skip(1) {
        let line = line.unwrap();
        let fields: Vec<&str> = line.split(',').collect();
        let time: u64 = fields[1].parse().unwrap();
        end = end.max(time);
        if histories.last().is_none_or(|(page, _)| page != fields[0]) {
            histories.push((fields[0].to_owned(), Vec::new()));
        }
        let versions = &mut histories.last_mut().unwrap().1;
        let mut now = versions.last().map_or_else(Fragments::new, |(_, fragments)| fragments.clone());
        let hashes = |text: &str| text.split(' ').filter_map(|h| u32::from_str_radix(h, 16).ok()).collect::<Vec<_>>();
        for gone in hashes(fields[4]) {
            now.remove(&gone);
        }
        now.extend(hashes(fields[3]));
        versions.push((time, now));
    }
    (histories, end)
}

/// The page at visits every three days, while it has any fragments.
fn visited(history: History, since: u64, end: u64) -> Option<Page> {
    let start = FROM.max(since).max(history[0].0);
    let mut visits = Vec::new();
    let mut now = start;
    while now <= end {
        let index = history.partition_point(|(time, _)| *time <= now) - 1;
        if history[index].1.is_empty() {
            break;
        }
        visits.push(index);
        now += STEP_DAYS * DAY;
    }
    let versions = history.into_iter().map(|(_, fragments)| fragments).collect();
    (visits.len() >= FEWEST).then_some(Page { visits, versions, known: RefCell::default() })
}
