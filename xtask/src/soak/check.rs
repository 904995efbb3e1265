//! What must be true after a soak: nothing that was acknowledged is lost, and no time had more visits than its budget.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use everfresh_crawl::warc::{Archive, payload_digest};
use everfresh_sched::Event;
use everfresh_store::log;

use super::Course;

/// Windows in which the budget is counted, in seconds.
const WINDOWS_S: [f64; 4] = [1.0, 10.0, 60.0, 600.0];
/// Names in a table of what is known have this as their first column.
const FIRST_COLUMN: &str = "page";

/// What the program said of its visits; each line is an acknowledgement.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// By page: visits that found something, and all visits.
    pages: HashMap<String, (u64, u64)>,
    outcomes: BTreeMap<String, u64>,
    /// How long starts took, until the first visit was acknowledged.
    starts: Vec<Duration>,
    is_begun: bool,
    last: String,
}

impl Told {
    /// Takes a line down. What is no line of a visit, or half of one, acknowledges nothing.
    pub(super) fn take(&mut self, line: &str, since_start: Duration) {
        line.clone_into(&mut self.last);
        let Ok(said) = serde_json::from_str::<serde_json::Value>(line) else { return };
        let (Some(page), Some(outcome)) = (said["page"].as_str(), said["outcome"].as_str()) else { return };
        if !std::mem::replace(&mut self.is_begun, true) {
            self.starts.push(since_start);
        }
        let counts = self.pages.entry(page.to_owned()).or_default();
        counts.0 += u64::from(["changed", "unchanged"].contains(&outcome));
        counts.1 += 1;
        *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: Told) {
        for (page, (found, all)) in other.pages {
            let counts = self.pages.entry(page).or_default();
            *counts = (counts.0 + found, counts.1 + all);
        }
        for (outcome, times) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += times;
        }
        self.starts.extend(other.starts);
        self.last = other.last;
    }

    pub(super) fn last_words(&self) -> &str {
        &self.last
    }

    fn visits(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

/// Checks everything, and tells what was counted.
pub(super) fn check(course: &Course, pages: &[String], told: &Told, text: &mut String) -> Result<()> {
    ensure!(told.visits() > 0, "there must have been visits: {}", told.last_words());
    let _ = writeln!(text, "visits acknowledged       {:>8}", told.visits());
    for (outcome, times) in &told.outcomes {
        let _ = writeln!(text, "  {outcome:24}{times:>8}");
    }
    let slowest = told.starts.iter().max().copied().unwrap_or_default();
    let _ =
        writeln!(text, "slowest start             {:>10.1} s until a visit was acknowledged", slowest.as_secs_f64());
    check_log(course, told, text)?;
    check_copies(course, told, text)?;
    check_store(course, pages, text)
}

/// The visit log has every visit, and what was given out kept the budget.
fn check_log(course: &Course, told: &Told, text: &mut String) -> Result<()> {
    let mut logged: HashMap<String, u64> = HashMap::new();
    let (mut given, mut lost) = (Vec::new(), 0u64);
    for path in log::files(&course.data())? {
        log::read(&path, &mut |read| {
            match read.row.event {
                Event::Leased { now_s, .. } => given.push(now_s),
                Event::Completed { .. } => *logged.entry(read.address.unwrap_or_default()).or_default() += 1,
                Event::Expired { .. } => lost += 1,
                _ => {}
            }
            Ok(())
        })?;
    }
    for (page, (_, visits)) in &told.pages {
        let there = logged.get(page).copied().unwrap_or(0);
        ensure!(there >= *visits, "{visits} visits to {page} were acknowledged, the log has {there}");
    }
    let all: u64 = logged.values().sum();
    let _ = writeln!(
        text,
        "visits in the log         {all:>8}, {} more than the program came to tell of",
        all - told.visits()
    );
    let _ = writeln!(text, "visits cut off            {lost:>8}, given out and never back");
    check_budget(f64::from(course.options.budget_per_s), &given, text)
}

/// In no window of time were more visits given out than the budget brings and the burst allows.
fn check_budget(per_s: f64, given: &[f64], text: &mut String) -> Result<()> {
    // As the scheduler has it by default: a second of the budget, ten visits at least.
    let burst = per_s.max(10.0);
    let whole = given.first().zip(given.last()).map_or(0.0, |(first, last)| last - first);
    for window in WINDOWS_S.into_iter().filter(|window| *window < whole).chain([whole]) {
        let (most, allowed) = (most_within(given, window), per_s * window + burst);
        let _ = writeln!(text, "most visits in {window:>7.0} s  {most:>8} of {allowed:.0} allowed");
        ensure!(most as f64 <= allowed, "{most} visits within {window} s, where {allowed} are allowed");
    }
    Ok(())
}

/// The most times within a window, wherever it begins; times are in order.
fn most_within(times: &[f64], window: f64) -> usize {
    let (mut first, mut most) = (0, 0);
    for (last, time) in times.iter().enumerate() {
        while time - times[first] > window {
            first += 1;
        }
        most = most.max(last - first + 1);
    }
    most
}

/// For each visit that found something there is a copy, and every copy reads as its digest says.
fn check_copies(course: &Course, told: &Told, text: &mut String) -> Result<()> {
    let archive = Archive::read_only(&course.data().join("copies"))?;
    let (mut versions, mut contents) = (0, 0);
    for (page, (found, _)) in &told.pages {
        let history = archive.history(page)?;
        let there = history.len() as u64;
        ensure!(there >= *found, "{found} visits to {page} found something, there are {there} copies");
        for version in history.iter().filter(|version| version.is_content()) {
            let kept = archive.read(version).with_context(|| format!("a copy of {page} cannot be read"))?;
            ensure!(payload_digest(&kept.bytes) == version.digest, "a copy of {page} is not what it was");
            contents += u64::from(!version.revisit);
        }
        versions += there;
    }
    let _ = writeln!(text, "copies                    {versions:>8}, {contents} of them with content; all were read");
    Ok(())
}

/// Every page is there, and the same is known of each after rebuilding from the visit log alone.
fn check_store(course: &Course, pages: &[String], text: &mut String) -> Result<()> {
    // The same time for both, later than all.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs() + 60;
    let export = || said(course, &["export", "--data", "data", "--now", &now.to_string()]);
    let before = export()?;
    let lines = before.lines().filter(|line| !line.starts_with(FIRST_COLUMN));
    let there: std::collections::HashSet<&str> = lines.filter_map(|line| line.split(',').next()).collect();
    let missing: Vec<_> = pages.iter().filter(|page| !there.contains(page.as_str())).collect();
    ensure!(missing.is_empty(), "pages are lost: {missing:?}");
    std::fs::remove_dir_all(course.data().join("engine"))?;
    said(course, &["rebuild", "--data", "data"])?;
    let after = export()?;
    if let Some((before, after)) = before.lines().zip(after.lines()).find(|(before, after)| before != after) {
        bail!("rebuilt from the log, a page is another:\n{before}\n{after}");
    }
    ensure!(before.len() == after.len(), "rebuilt from the log, there are other pages");
    let _ =
        writeln!(text, "pages in the store        {:>8}, and the same of each after `everfresh rebuild`", there.len());
    Ok(())
}

/// What a command prints.
fn said(course: &Course, arguments: &[&str]) -> Result<String> {
    let done = course.command().args(arguments).output()?;
    ensure!(done.status.success(), "{arguments:?} failed: {}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_window_is_found_and_overspending_refused() {
        let times = [0.0, 1.0, 1.5, 2.0, 10.0];
        assert_eq!((most_within(&times, 0.0), most_within(&times, 1.0), most_within(&times, 100.0)), (1, 3, 5));
        let mut text = String::new();
        let steady: Vec<f64> = (0..1000).map(|visit| f64::from(visit) / 20.0).collect();
        check_budget(20.0, &steady, &mut text).unwrap();
        let hasty: Vec<f64> = (0..1000).map(|visit| f64::from(visit) / 40.0).collect();
        let refused = check_budget(20.0, &hasty, &mut text).unwrap_err().to_string();
        assert_eq!(refused, "41 visits within 1 s, where 40 are allowed");
    }

    #[test]
    fn only_whole_lines_of_visits_acknowledge() {
        let mut told = Told::default();
        for line in [
            r#"{"event":"visit","page":"http://a/","outcome":"changed","said":"copied 3 bytes"}"#,
            r#"{"event":"visit","page":"http://a/","outcome":"failed","said":"no answer"}"#,
            r#"{"event":"end","visits":2}"#,
            r#"{"event":"visit","page":"http://a/","outc"#,
        ] {
            told.take(line, Duration::from_secs(1));
        }
        assert_eq!((told.pages["http://a/"], told.visits(), told.starts.len()), ((1, 2), 2, 1));
    }
}
