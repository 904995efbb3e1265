//! Traces of fragments: what came and went with every revision of a page, as hashes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, anyhow, bail};
use everfresh::longevity::Fragments;

use super::snapshots::Snapshots;
use crate::interrupt;
use crate::progress::ProgressLine;
use crate::table::{self, Done, TextFile};

/// The file of a trace, whatever it is compressed with.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    ["shingles.csv.zst", "shingles.csv.gz", "shingles.csv"]
        .map(|name| folder.join(name))
        .into_iter()
        .find(|f| f.is_file())
}

/// A page between two rows.
#[derive(Default)]
struct Live {
    page: String,
    /// The revisions: when, and the fragments from then on.
    revisions: Vec<(u64, Arc<Fragments>)>,
    fragments: BTreeSet<u64>,
}

/// Reads `page,time_unix,n,added,removed`, by page and then by time. A trace has a row where something changed, and nothing was
/// seen to change between: it is as if the page had been visited every `every` seconds, to the end of the trace.
pub(super) fn read(folder: &Path, file: &Path, only: Option<&str>, every: u64) -> Result<Snapshots> {
    let names = names(folder)?;
    let TextFile { name, size, reader, read } = table::open_text(file)?;
    let mut csv = csv::ReaderBuilder::new().from_reader(BufReader::with_capacity(1 << 18, reader));
    let header = csv.headers().with_context(|| name.clone())?.clone();
    if header.iter().ne(["page", "time_unix", "n", "added", "removed"]) {
        bail!("{name}:1: the columns must be page,time_unix,n,added,removed, got {}", header.as_slice());
    }
    let line = ProgressLine::of("reading", None, size, "revisions");
    let (mut pages, mut live, mut end) = (Vec::new(), Live::default(), 0);
    let (mut record, mut begun) = (csv::StringRecord::new(), HashSet::new());
    while csv.read_record(&mut record).with_context(|| name.clone())? {
        let place = record.position().map_or(0, csv::Position::line);
        if place.is_multiple_of(1024) {
            interrupt::check()?;
            line.at(Done { rows: place, bytes: read.load(Ordering::Relaxed) });
        }
        if record[0] != live.page {
            if !begun.insert(record[0].to_owned()) {
                bail!("{name}:{place}: the rows of page `{}` must be together, and others lie between", &record[0]);
            }
            pages.push(std::mem::replace(&mut live, Live { page: record[0].to_owned(), ..Live::default() }));
        }
        let time = live.take(&record).map_err(|why| anyhow!("{name}:{place}: {why}"))?;
        end = end.max(time);
    }
    pages.push(live);
    let looks = |page: &Live| page.revisions.first().map_or(0, |(first, _)| (end - first) / every);
    let looks: u64 = pages.iter().map(looks).sum();
    if looks > MOST_LOOKS {
        bail!(
            "{name}: --every must be longer: the pages would be looked at {looks} times, at most {MOST_LOOKS} are kept"
        );
    }
    let mut snapshots = Snapshots::default();
    for page in pages.iter().filter(|page| !page.revisions.is_empty()) {
        interrupt::check()?;
        let called = names.get(&page.page).unwrap_or(&page.page);
        if only.is_none_or(|only| only == called) {
            page.watch(called, end, every, &mut snapshots);
        }
    }
    Ok(snapshots)
}

impl Live {
    /// Takes in a revision, and tells its time.
    fn take(&mut self, row: &csv::StringRecord) -> Result<u64, String> {
        let time = u64::from(table::moment(&row[1]).map_err(|why| format!("column `time_unix`: {why}"))?);
        if let Some((before, _)) = self.revisions.last().filter(|(before, _)| time < *before) {
            return Err(format!("times of a page must not fall, got {time} after {before}"));
        }
        for (column, is_added) in [(3, true), (4, false)] {
            for hash in row[column].split_ascii_whitespace() {
                let number = u64::from_str_radix(hash, 16).map_err(|_| format!("`{hash}` is no hash in hex"))?;
                if is_added {
                    self.fragments.insert(number);
                } else {
                    self.fragments.remove(&number);
                }
            }
        }
        let live = self.fragments.len();
        if row[2].parse() != Ok(live) {
            return Err(format!("column `n`: {live} fragments are there now, got {}", &row[2]));
        }
        self.revisions.retain(|(before, _)| *before != time);
        self.revisions.push((time, Arc::new(Fragments::from_names(self.fragments.iter().copied()))));
        Ok(time)
    }

    /// Snapshots at regular times.
    fn watch(&self, called: &str, end: u64, every: u64, snapshots: &mut Snapshots) {
        let mut now = self.revisions[0].0;
        while now <= end {
            let next = self.revisions.partition_point(|(time, _)| *time <= now);
            snapshots.add_whole(called, now, Arc::clone(&self.revisions[next - 1].1));
            now += every;
        }
    }
}

/// What is seen of pages is kept until all of them are known.
const MOST_LOOKS: u64 = 10_000_000;

/// The names of the pages, where the trace has them: `page,path,...`.
fn names(folder: &Path) -> Result<HashMap<String, String>> {
    let Some(file) = ["pages.csv.gz", "pages.csv"].map(|name| folder.join(name)).into_iter().find(|f| f.is_file())
    else {
        return Ok(HashMap::new());
    };
    let TextFile { name, reader, .. } = table::open_text(&file)?;
    let mut names = HashMap::new();
    for record in csv::ReaderBuilder::new().flexible(true).from_reader(reader).records() {
        let record = record.with_context(|| name.clone())?;
        if let (Some(page), Some(path)) = (record.get(0), record.get(1)) {
            names.insert(page.to_owned(), path.to_owned());
        }
    }
    Ok(names)
}
