//! `cargo xtask bench schedule`: the scheduler on its durable store, beside the engine's own durable writes.
//!
//! One canonical workload: pages with addresses of 60 bytes on hosts of 100 pages each, added in groups of 10,000 (as `everfresh add`
//! does) and visited in groups of 1,000, each group synced to the disk before it is acknowledged; one visit in ten finds a change.
//! The rival is the engine alone: blind puts of records of a page's size under random keys, in groups of the same size, synced as often.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use everfresh::Unit;
use everfresh_sched::{HostId, Outcome, PageTerms, Scheduler, Settings};
use everfresh_store::{Durable, page_id};
use fjall::{Database, KeyspaceCreateOptions, PersistMode};

use crate::bench::Options;

/// Ten million pages.
pub const OPTIONS: Options = Options { pages: 10_000_000, rival_pages: 0, runs: 1, hosts: 0 };

/// So many visits are synced together.
const GROUP: usize = 1000;
/// And so many new pages.
const ADDED: usize = 10_000;
/// A plan is made in slices of so many pages.
const SLICE: u32 = 1 << 18;
/// A page's record in the engine alone: what we keep of a page.
const RECORD: usize = 64;
/// Visits that are measured, at most.
const VISITS: usize = 2_000_000;

/// Measures and returns what to print.
pub fn run(options: Options) -> Result<String> {
    let pages = options.pages;
    let folder = Path::new("target/bench");
    std::fs::create_dir_all(folder)?;
    let folder = tempfile::tempdir_in(folder).context("cannot make a folder for the bench")?;
    let mut text = format!(
        "{pages} pages, groups of {ADDED} added and {GROUP} visited, each synced before it is acknowledged\n\n"
    );
    let (dir, records) = (folder.path().join("ours"), pages.min(VISITS));
    let alone = engine_alone(&folder.path().join("alone-adding"), records, ADDED)?;
    let adds = add(&dir, pages)?;
    let _ = writeln!(text, "engine alone, blind puts   {alone:>12.0} /s   in groups of {ADDED}");
    let _ = writeln!(text, "add                        {adds:>12.0} /s   {:.2} of the engine alone", adds / alone);
    let alone = engine_alone(&folder.path().join("alone-visiting"), records, GROUP)?;
    let _ = writeln!(text, "engine alone, blind puts   {alone:>12.0} /s   in groups of {GROUP}");
    visit(&dir, pages, alone, &mut text)?;
    Ok(text)
}

fn engine_alone(dir: &Path, records: usize, group: usize) -> Result<f64> {
    let db = Database::builder(dir).open()?;
    let keyspace = db.keyspace("pages", KeyspaceCreateOptions::default)?;
    let start = Instant::now();
    for first in (0..records).step_by(group) {
        let mut batch = db.batch().durability(Some(PersistMode::SyncAll));
        for record in first..records.min(first + group) {
            let key = page_id(&record.to_string()).0.to_be_bytes();
            batch.insert(&keyspace, key, [7u8; RECORD]);
        }
        batch.commit()?;
    }
    Ok(records as f64 / start.elapsed().as_secs_f64())
}

/// An address of 60 bytes.
fn address(page: usize) -> String {
    format!("https://host-{:07}.example.org/pages/{page:010}/index.html", page / 100)
}

fn settings(pages: usize) -> Result<Settings> {
    // Each page once in a thousand seconds on average.
    Ok(Settings::new(pages as f64 / 1000.0, Unit::Second)?.with_burst(2.0 * GROUP as f64)?)
}

fn add(dir: &Path, pages: usize) -> Result<f64> {
    let mut scheduler = Scheduler::open(settings(pages)?, Durable::open(dir, "a bench")?, 0.0)?;
    let start = Instant::now();
    let mut group = Vec::with_capacity(ADDED);
    for first in (0..pages).step_by(ADDED) {
        group.clear();
        for page in first..pages.min(first + ADDED) {
            let address = address(page);
            let (state, store) = scheduler.parts();
            let (id, _) = store.page(&address, |id| state.knows(id))?;
            store.name_page(id, &address);
            group.push((id, PageTerms::new(HostId(u32::try_from(page / 100)?))));
        }
        scheduler.add_all(0.0, &group)?;
    }
    let speed = pages as f64 / start.elapsed().as_secs_f64();
    scheduler.compact()?;
    Ok(speed)
}

fn visit(dir: &Path, pages: usize, puts: f64, text: &mut String) -> Result<()> {
    let start = Instant::now();
    let mut scheduler = Scheduler::open(settings(pages)?, Durable::open(dir, "a bench")?, 0.0)?;
    let _ = writeln!(text, "open                       {:>12.2} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    scheduler.replan(0.0)?;
    let _ = writeln!(text, "replan                     {:>12.2} s", start.elapsed().as_secs_f64());
    let per_s = pages as f64 / 1000.0;
    let (now_s, pairs) = serve(&mut scheduler, 1.0, per_s, pages.min(VISITS))?;
    let _ = writeln!(text, "lease and complete         {pairs:>12.0} /s   {:.2} of the engine alone", pairs / puts);
    let id = page_id(&address(pages / 2));
    let start = Instant::now();
    scheduler.explain(now_s, id)?;
    let _ = writeln!(text, "explain                    {:>12.1} us", 1e6 * start.elapsed().as_secs_f64());
    let start = Instant::now();
    scheduler.replan(now_s)?;
    let _ = writeln!(text, "replan after the visits    {:>12.2} s", start.elapsed().as_secs_f64());
    let now_s = plan_while_serving(&mut scheduler, now_s, per_s, text)?;
    let start = Instant::now();
    scheduler.compact()?;
    let _ = writeln!(text, "keep, until work goes on   {:>12.2} s", start.elapsed().as_secs_f64());
    let resident = scheduler.resident_bytes() as f64 / pages as f64;
    scheduler.store_mut().settle()?;
    let _ = writeln!(text, "keep, until it is kept     {:>12.2} s", start.elapsed().as_secs_f64());
    let (engine, log) = scheduler.store_mut().disk_bytes()?;
    let _ = writeln!(text, "memory for a page          {resident:>12.1} bytes beyond its key of 8");
    let _ = writeln!(text, "resident in all            {:>12.1} bytes a page", resident_bytes()? / pages as f64);
    let _ = writeln!(text, "disk for a page            {:>12.1} bytes", engine as f64 / pages as f64);
    let _ = writeln!(
        text,
        "visit log                  {:>12.1} bytes an event",
        log as f64 / scheduler.store().events() as f64
    );
    open_as_after_a_kill(scheduler, dir, pages, now_s, text)
}

/// Gives out and takes in visits until there were so many; says when it ended, and how many there were per second.
fn serve(scheduler: &mut Scheduler<Durable>, mut now_s: f64, per_s: f64, count: usize) -> Result<(f64, f64)> {
    let (start, mut done, mut visits) = (Instant::now(), 0, Vec::new());
    while done < count {
        now_s += GROUP as f64 / per_s;
        scheduler.hold();
        scheduler.complete_all(now_s, &visits)?;
        let leases = scheduler.lease(now_s, GROUP)?;
        visits = leases.iter().map(|lease| (lease.id, outcome(lease.id.0))).collect();
        done += visits.len();
    }
    scheduler.complete_all(now_s, &visits)?;
    Ok((now_s, done as f64 / start.elapsed().as_secs_f64()))
}

/// Opens a store whose state was not kept for as long as `everfresh run` lets it be at most: an eighth as many events as there are pages.
fn open_as_after_a_kill(
    mut scheduler: Scheduler<Durable>,
    dir: &Path,
    pages: usize,
    now_s: f64,
    text: &mut String,
) -> Result<()> {
    let kept = scheduler.store().events();
    // A lease and a visit.
    let (now_s, _) = serve(&mut scheduler, now_s, pages as f64 / 1000.0, pages / 16)?;
    let events = scheduler.store().events() - kept;
    drop(scheduler);
    let start = Instant::now();
    Scheduler::open(settings(pages)?, Durable::open(dir, "a bench")?, now_s)?;
    let took = start.elapsed().as_secs_f64();
    let _ = writeln!(text, "open as after a kill       {took:>12.2} s    with {events} events to replay");
    Ok(())
}

/// Makes a plan in slices, with a group of visits after each; says when it ended.
fn plan_while_serving(
    scheduler: &mut Scheduler<Durable>,
    mut now_s: f64,
    per_s: f64,
    text: &mut String,
) -> Result<f64> {
    let (begun, mut slices, mut groups, mut visits, mut done) = (Instant::now(), Vec::new(), Vec::new(), Vec::new(), 0);
    let mut is_made = false;
    while !is_made {
        let start = Instant::now();
        is_made = scheduler.plan_on(now_s, SLICE)?;
        slices.push(start.elapsed());
        now_s += GROUP as f64 / per_s;
        let start = Instant::now();
        scheduler.hold();
        scheduler.complete_all(now_s, &visits)?;
        let leases = scheduler.lease(now_s, GROUP)?;
        groups.push(start.elapsed());
        visits = leases.iter().map(|lease| (lease.id, outcome(lease.id.0))).collect();
        done += visits.len();
    }
    scheduler.complete_all(now_s, &visits)?;
    let (took, planning) = (begun.elapsed().as_secs_f64(), slices.iter().sum::<Duration>().as_secs_f64());
    let longest = |times: &[Duration]| 1e3 * times.iter().max().map_or(0.0, Duration::as_secs_f64);
    let (count, slice, group) = (slices.len(), longest(&slices), longest(&groups));
    let _ = writeln!(
        text,
        "replan while serving       {planning:>12.2} s    of {took:.2} s, in {count} slices, the longest {slice:.0} ms"
    );
    let pairs = done as f64 / took;
    let _ = writeln!(text, "  lease and complete       {pairs:>12.0} /s   meanwhile, the longest group {group:.0} ms");
    Ok(now_s)
}

fn outcome(number: u64) -> Outcome {
    if number.is_multiple_of(10) { Outcome::Changed { divergence: 0.5, last_change: None } } else { Outcome::Unchanged }
}

/// What the operating system says that this process holds.
fn resident_bytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("cannot ask for the memory of this process")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("it must be there")?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().context("it must be a number")?;
    Ok(1024.0 * kilobytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_size_runs() {
        let text = run(Options { pages: 3000, ..OPTIONS }).unwrap();
        assert!(text.contains("lease and complete") && text.contains("open as after a kill"), "{text}");
        assert_eq!(address(1_234_567).len(), 60);
    }
}
