//! `everfresh audit`: a random sample of pages is visited now, and how many copies are fresh is counted instead of estimated.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use everfresh_crawl::fetch::{Address, Sources};
use everfresh_crawl::warc::Archive;
use everfresh_sched::{HostId, HostLimits, LeaseId, Outcome, PageId};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Setup;
use super::args::AuditArgs;
use super::clock::Clock;
use super::keeper::runtime;
use super::note::{AllRules, Note};
use super::visit::{Found, Task, visit};
use crate::desk::{Desk, failure};
use crate::interrupt;
use crate::output;
use crate::progress::CountLine;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Audit {
    pub fresh: u64,
    pub stale: u64,
    /// Those that could not be seen.
    pub failed: u64,
    /// Those that were seen and could not be compared: nothing is known of their copies, or these were read by other rules.
    pub not_compared: u64,
    /// Pages with copies whose hosts or groups want to be left alone, or are closed at this hour.
    pub left_alone: u64,
    /// Pages that are to be copied and were not yet: nothing can be measured of them.
    pub without_copy: u64,
    pub measured_freshness: f64,
    pub low: f64,
    pub high: f64,
    pub estimated_freshness: f64,
    pub seed: u64,
}

/// `everfresh audit`
pub(crate) fn run(args: &AuditArgs) -> Result<()> {
    let setup = Setup::of(&args.source)?;
    let mut desk = Desk::look(&setup.store())?;
    let rules = setup.rules(&mut desk)?;
    let seed = args.seed.unwrap_or_else(|| Clock::Real.now_s().to_bits());
    let Drawn { sample, estimated, without_copy, left_alone } = draw(&desk, usize::from(args.sample), seed)?;
    if sample.is_empty() && left_alone > 0 {
        bail!("cannot audit now: {} of hosts or groups that are closed", output::count(left_alone as f64, "page"));
    }
    if sample.is_empty() {
        bail!("cannot audit before anything was copied: `everfresh run` copies");
    }
    // Without copies, or their index, there is only what was noted.
    let archive = Archive::read_only(&setup.data.join("copies")).ok();
    let tasks = tasks(&mut desk, archive.as_ref(), &sample, &rules)?;
    setup.complaint(&args.source).iter().for_each(|text| output::say(text));
    let sources = setup.sources(&args.source)?;
    let line = CountLine::new("pages");
    let all = runtime()?.block_on(look(&sources, tasks, &line))?;
    drop(line);
    let mut audit = Audit { estimated_freshness: estimated, without_copy, seed, ..count(&all) };
    audit.left_alone += left_alone;
    if audit.fresh + audit.stale == 0 {
        bail!("cannot measure: none of the {} pages could be seen and compared", output::number(all.len() as f64));
    }
    print(&audit, args.json)
}

/// The pages that are looked at.
struct Drawn {
    sample: Vec<PageId>,
    /// How fresh their copies are believed to be, on average.
    estimated: f64,
    without_copy: u64,
    left_alone: u64,
}

/// Draws pages that have copies and may be visited now, by weight and without repetition: those with the largest `u^(1/w)`.
fn draw(desk: &Desk, size: usize, seed: u64) -> Result<Drawn> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (state, mut without_copy, mut left_alone) = (desk.scheduler.state(), 0, 0);
    let mut keyed: Vec<(f64, PageId, f64)> = Vec::new();
    for page in state.pages() {
        let Some(believed) = state.freshness_of(desk.now_s, page) else {
            without_copy += u64::from(state.seen_s(page).is_none());
            continue;
        };
        if state.is_closed(desk.now_s, page).map_err(failure)? {
            left_alone += 1;
            continue;
        }
        let lot: f64 = rng.random();
        if believed.weight > 0.0 {
            keyed.push((lot.ln() / believed.weight, page, believed.freshness));
        }
    }
    keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
    keyed.truncate(size);
    let estimated = keyed.iter().map(|(_, _, freshness)| freshness).sum::<f64>() / keyed.len().max(1) as f64;
    let sample = keyed.into_iter().map(|(_, page, _)| page).collect();
    Ok(Drawn { sample, estimated, without_copy, left_alone })
}

/// Visits that keep a gap between them.
struct Pace {
    gap: Duration,
    next: Mutex<Instant>,
}

impl Pace {
    /// None where there is no gap.
    fn of(limits: HostLimits) -> Option<Arc<Pace>> {
        // A clock ends somewhere.
        let gap = Duration::try_from_secs_f64(limits.gap().seconds()).unwrap_or(Duration::MAX).min(LONGEST_GAP);
        (gap > Duration::ZERO).then(|| Arc::new(Pace { gap, next: Mutex::new(Instant::now()) }))
    }

    /// Waits until a visit may begin that keeps several.
    async fn turn(paces: &[Arc<Pace>]) {
        let mut kept = Vec::new();
        for pace in paces {
            kept.push((pace.next.lock().await, pace.gap));
        }
        if let Some(last) = kept.iter().map(|(next, _)| **next).max() {
            tokio::time::sleep_until(last).await;
        }
        for (next, gap) in &mut kept {
            **next = Instant::now() + *gap;
        }
    }
}

/// Nobody waits for the end of a longer one.
const LONGEST_GAP: Duration = Duration::from_hours(24 * 365);

/// The pages by host, each with the paces that it keeps: its group's and its host's.
type Tasks = BTreeMap<HostId, Vec<(Task, Vec<Arc<Pace>>)>>;

fn tasks(desk: &mut Desk, archive: Option<&Archive>, sample: &[PageId], rules: &AllRules) -> Result<Tasks> {
    let (mut tasks, mut hosts, mut groups) = (Tasks::new(), HashMap::new(), HashMap::new());
    for page in sample {
        let state = desk.scheduler.state();
        let terms = state.terms(*page)?;
        let (host, group) = (terms.host(), terms.group());
        let by_group = groups.entry(group).or_insert_with(|| Pace::of(state.group_limits(group)));
        let by_host = hosts.entry(host).or_insert_with(|| Pace::of(state.host_limits(host)));
        // Pages of one host wait for each other anyway: who waits for it with its group's turn holds up nobody else.
        let paces = by_group.iter().chain(by_host.iter()).cloned().collect();
        let text = desk.scheduler.store_mut().address(*page).map_err(failure)?.unwrap_or_default();
        let (note, rules) = Note::of(&mut desk.scheduler, archive, *page, &text, rules)?;
        // Nothing is given out: the lease has no number.
        let task = Task {
            lease: LeaseId(u64::MAX),
            page: *page,
            address: Address::configured(&text)?,
            note,
            rules,
            level: None,
        };
        tasks.entry(host).or_default().push((task, paces));
    }
    Ok(tasks)
}

/// What came of a page of the sample.
#[derive(Clone, Copy)]
enum Saw {
    Fresh,
    Stale,
    NotSeen,
    NotCompared,
    /// Its host had asked to be left alone meanwhile.
    LeftAlone,
}

impl Saw {
    fn of(found: &Found) -> Saw {
        match found.outcome {
            Outcome::Failed { .. } => Saw::NotSeen,
            _ if !found.is_compared => Saw::NotCompared,
            Outcome::Unchanged => Saw::Fresh,
            Outcome::Changed { .. } | Outcome::Gone => Saw::Stale,
        }
    }
}

/// Visits hosts side by side, and the pages of each one after the other, until it asks to be left alone.
async fn look(sources: &Sources, tasks: Tasks, line: &CountLine) -> Result<Vec<Saw>> {
    let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
    for tasks in tasks.into_values() {
        let (sources, send) = (sources.clone(), send.clone());
        tokio::spawn(async move {
            let mut is_busy = false;
            for (task, paces) in tasks {
                let saw = match task.note.known {
                    _ if is_busy => Saw::LeftAlone,
                    // What is not known cannot be compared: a state that was rebuilt, of a page that must not be kept.
                    None => Saw::NotCompared,
                    Some(_) => {
                        Pace::turn(&paces).await;
                        let found = visit(&sources, task, Clock::Real).await;
                        is_busy = found.manners.iter().any(|host| host.slow_down || host.blocked_until.is_some());
                        Saw::of(&found)
                    }
                };
                if send.send(saw).is_err() {
                    return;
                }
            }
        });
    }
    drop(send);
    let mut all = Vec::new();
    while let Some(saw) = receive.recv().await {
        interrupt::check()?;
        all.push(saw);
        line.at(all.len() as u64);
    }
    Ok(all)
}

fn count(all: &[Saw]) -> Audit {
    let mut audit = Audit::default();
    for saw in all {
        match saw {
            Saw::Fresh => audit.fresh += 1,
            Saw::Stale => audit.stale += 1,
            Saw::NotSeen => audit.failed += 1,
            Saw::NotCompared => audit.not_compared += 1,
            Saw::LeftAlone => audit.left_alone += 1,
        }
    }
    let seen = audit.fresh + audit.stale;
    audit.measured_freshness = audit.fresh as f64 / seen.max(1) as f64;
    (audit.low, audit.high) = wilson(audit.fresh, seen);
    audit
}

/// Wilson's interval of a share at 95 %: for k of n, `(p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)`.
fn wilson(k: u64, n: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if n == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (n as f64, k as f64 / n as f64);
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
}

fn print(audit: &Audit, json: bool) -> Result<()> {
    if json {
        return output::print_json(audit);
    }
    let percent = output::percent;
    let mut text = format!(
        "measured freshness   {} (95 % between {} and {})\nestimated freshness  {}\n",
        percent(audit.measured_freshness),
        percent(audit.low),
        percent(audit.high),
        percent(audit.estimated_freshness),
    );
    text.push_str(&format!(
        "of these copies {} were fresh and {} not; {} could not be seen, {} not compared; seed {}\n",
        audit.fresh, audit.stale, audit.failed, audit.not_compared, audit.seed
    ));
    for (pages, why) in
        [(audit.without_copy, "without a copy"), (audit.left_alone, "whose hosts or groups want to be left alone now")]
    {
        if pages > 0 {
            text.push_str(&format!("not counted: {} {why}\n", output::count(pages as f64, "page")));
        }
    }
    let is_within = (audit.low..=audit.high).contains(&audit.estimated_freshness);
    text.push_str(if is_within {
        "the estimate agrees with what was seen\n"
    } else {
        "the estimate does not agree with what was seen\n"
    });
    output::print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilsons_interval_is_that_of_the_books() {
        let close = |found: (f64, f64), low: f64, high: f64| {
            assert!((found.0 - low).abs() < 5e-4 && (found.1 - high).abs() < 5e-4, "{found:?}");
        };
        // Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20.
        close(wilson(81, 263), 0.2553, 0.3662);
        close(wilson(15, 148), 0.0624, 0.1605);
        close(wilson(0, 20), 0.0, 0.1611);
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }
}
