//! `everfresh audit`: a random sample of pages is visited now, and how many copies are fresh is counted instead of estimated.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use everfresh_crawl::content::Rules;
use everfresh_crawl::fetch::{Address, Sources};
use everfresh_crawl::warc::Archive;
use everfresh_sched::{HostId, LeaseId, Outcome, PageId};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use super::Setup;
use super::args::AuditArgs;
use super::clock::Clock;
use super::keeper::runtime;
use super::note::Note;
use super::visit::{Task, visit};
use crate::desk::{Desk, failure};
use crate::interrupt;
use crate::output;
use crate::progress::CountLine;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Audit {
    pub fresh: u64,
    pub stale: u64,
    pub failed: u64,
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
    let Drawn { sample, estimated, without_copy } = draw(&desk, usize::from(args.sample), seed);
    if sample.is_empty() {
        bail!("cannot audit before anything was copied: `everfresh run` copies");
    }
    // Without copies, or their index, there is only what was noted.
    let archive = Archive::read_only(&setup.data.join("copies")).ok();
    let tasks = tasks(&mut desk, archive.as_ref(), &sample, &rules)?;
    setup.complaint(&args.source).iter().for_each(|text| output::say(text));
    let sources = setup.sources(&args.source)?;
    let gaps = gaps(&desk, &tasks);
    let line = CountLine::new("pages");
    let outcomes = runtime()?.block_on(look(&sources, tasks, gaps, &line))?;
    drop(line);
    let audit = Audit { estimated_freshness: estimated, without_copy, seed, ..count(&outcomes) };
    if audit.fresh + audit.stale == 0 {
        bail!("cannot measure: none of the {} pages could be seen and compared", output::number(audit.failed as f64));
    }
    print(&audit, args.json)
}

/// The pages that are looked at.
struct Drawn {
    sample: Vec<PageId>,
    /// How fresh their copies are believed to be, on average.
    estimated: f64,
    without_copy: u64,
}

/// Draws pages that have copies, by weight and without repetition: those with the largest `u^(1/w)`.
fn draw(desk: &Desk, size: usize, seed: u64) -> Drawn {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (state, mut without_copy) = (desk.scheduler.state(), 0);
    let mut keyed: Vec<(f64, PageId, f64)> = Vec::new();
    for page in state.pages() {
        let Some(believed) = state.freshness_of(desk.now_s, page) else {
            without_copy += u64::from(state.seen_s(page).is_none());
            continue;
        };
        let lot: f64 = rng.random();
        if believed.weight > 0.0 {
            keyed.push((lot.ln() / believed.weight, page, believed.freshness));
        }
    }
    keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
    keyed.truncate(size);
    let estimated = keyed.iter().map(|(_, _, freshness)| freshness).sum::<f64>() / keyed.len().max(1) as f64;
    Drawn { sample: keyed.into_iter().map(|(_, page, _)| page).collect(), estimated, without_copy }
}

/// The pages by host.
type Tasks = BTreeMap<HostId, Vec<Task>>;

fn tasks(desk: &mut Desk, archive: Option<&Archive>, sample: &[PageId], rules: &super::RulesOf) -> Result<Tasks> {
    let mut tasks = Tasks::new();
    for page in sample {
        let host = desk.scheduler.state().terms(*page)?.host();
        let text = desk.scheduler.store_mut().address(*page).map_err(failure)?.unwrap_or_default();
        let rules = rules.get(page).cloned().unwrap_or_else(|| Arc::new(Rules::default()));
        let note = Note::of(&mut desk.scheduler, archive, *page, &text, &rules)?;
        // Nothing is given out: the lease has no number.
        let task = Task {
            lease: LeaseId(u64::MAX),
            page: *page,
            address: Address::configured(&text)?,
            note,
            rules,
            level: None,
        };
        tasks.entry(host).or_default().push(task);
    }
    Ok(tasks)
}

/// The pause after each visit to a host.
fn gaps(desk: &Desk, tasks: &Tasks) -> BTreeMap<HostId, Duration> {
    let gap = |host: &HostId| desk.scheduler.state().host_limits(*host).gap().seconds();
    tasks.keys().map(|host| (*host, Duration::try_from_secs_f64(gap(host)).unwrap_or_default())).collect()
}

/// Visits hosts side by side, and the pages of each one after the other.
async fn look(
    sources: &Sources,
    tasks: Tasks,
    gaps: BTreeMap<HostId, Duration>,
    line: &CountLine,
) -> Result<Vec<Outcome>> {
    let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
    for (host, tasks) in tasks {
        let (sources, send, gap) = (sources.clone(), send.clone(), gaps.get(&host).copied().unwrap_or_default());
        tokio::spawn(async move {
            for task in tasks {
                // What is not known cannot be compared: a state that was rebuilt, of a page that must not be kept.
                let outcome = match task.note.known {
                    Some(_) => visit(&sources, task, Clock::Real).await.outcome,
                    None => Outcome::Failed { retryable: true },
                };
                if send.send(outcome).is_err() {
                    return;
                }
                tokio::time::sleep(gap).await;
            }
        });
    }
    drop(send);
    let mut outcomes = Vec::new();
    while let Some(outcome) = receive.recv().await {
        interrupt::check()?;
        outcomes.push(outcome);
        line.at(outcomes.len() as u64);
    }
    Ok(outcomes)
}

fn count(outcomes: &[Outcome]) -> Audit {
    let mut audit = Audit::default();
    for outcome in outcomes {
        match outcome {
            Outcome::Unchanged => audit.fresh += 1,
            Outcome::Changed { .. } | Outcome::Gone => audit.stale += 1,
            Outcome::Failed { .. } => audit.failed += 1,
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
        "of these copies {} were fresh, {} not, and {} could not be seen or compared; seed {}\n",
        audit.fresh, audit.stale, audit.failed, audit.seed
    ));
    if audit.without_copy > 0 {
        text.push_str(&format!("not counted: {} without a copy\n", output::count(audit.without_copy as f64, "page")));
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
