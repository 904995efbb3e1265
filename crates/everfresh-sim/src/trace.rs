//! Recorded histories from files.
//!
//! A trace is a directory: `visits.csv.gz` has a row for every recorded revision (`page, time_unix, content_hash, kind`; other
//! columns are not looked at), `shingles.csv.zst`, where it is, the fragments that came and went (`page, time_unix, n, added,
//! removed`, hexadecimal hashes; n are there afterwards), `pages.csv.gz` the path of each page, whose folder is its group. Where shingles are asked
//! for and `visits_text.csv.gz` is there, that is the list of revisions.
//!
//! `kind` t is a change of the collector's extraction, not of the page; d, or the hash `-`, a page that is gone; everything
//! else is a change, mass edits (b) too. A page that comes back was there all the time.

use crate::world::{History, Page, Revision, Source, World};
use everfresh::longevity::{self, Fragments};
use everfresh::policy::About;
use everfresh::{Rate, Unit};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is wrong with a trace, and where.
#[derive(Debug, thiserror::Error)]
#[error("cannot read trace: `{}`{}: {fact}", file.display(), line.map_or(String::new(), |line| format!(", line {line}")))]
pub struct Error {
    file: PathBuf,
    line: Option<u64>,
    fact: String,
}

/// The part of a trace that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// From when on, in Unix seconds; else when half of the pages are there.
    pub from_unix: Option<f64>,
    /// Until when; else the last row.
    pub to_unix: Option<f64>,
    /// With fragments, so that divergence is a share of the content.
    pub with_fragments: bool,
    /// How often somebody looked who recorded the changes, in seconds: each happened at some time since the look before. 0 where times are
    /// exact.
    pub looked_every_s: f64,
    /// Where between two looks a change is taken to have happened: 1 right after the first, 0 right before the second (OP08 appendix B). Else
    /// half way in a trace, and in snapshots by each page's own eagerness.
    pub eagerness: Option<f64>,
}

/// Where nothing tells.
const HALF_WAY: f64 = 0.5;

/// A trace as a world, and how long it lasts in seconds.
pub fn load(folder: &Path, window: &Window) -> Result<(World, f64), Error> {
    let text = folder.join("visits_text.csv.gz");
    let visits = if window.with_fragments && text.exists() { text } else { folder.join("visits.csv.gz") };
    let mut rows = revisions(&visits)?;
    if window.with_fragments {
        add_fragments(&mut rows, &folder.join("shingles.csv.zst"))?;
    }
    let last_s = last_of(&rows);
    for (_, rows) in &mut rows {
        rows.move_back(window.looked_every_s, window.eagerness.unwrap_or(HALF_WAY));
    }
    let groups = groups(&folder.join("pages.csv.gz"))?;
    let name = folder.file_name().map_or_else(|| "trace".into(), |name| name.to_string_lossy().into_owned());
    build(name, rows, last_s, &groups, window).map_err(|fact| Error { file: folder.to_owned(), line: None, fact })
}

/// Snapshots of pages as a world: of every page when, in Unix seconds, and its fragments, sorted.
///
/// A page is there from its first snapshot to its last. What differs between two snapshots changed in between, the sooner the eagerer the
/// page (OP08 appendix B: its divergence from a base rises steeply at first where content turns over fast); half way where three snapshots do
/// not tell. Equal fragments are equal content. A page with one snapshot tells nothing and is left out.
pub fn of_snapshots(name: &str, pages: &[Vec<(f64, Vec<u64>)>], window: &Window) -> Result<(World, f64), Error> {
    let several = pages.iter().filter(|versions| versions.len() > 1);
    let rows: ByPage = several.map(|versions| (String::new(), watched(versions, window.eagerness))).collect();
    let last_s = last_of(&rows);
    let built = build(name.to_owned(), rows, last_s, &HashMap::new(), window);
    let (world, duration_s) = built.map_err(|fact| Error { file: name.into(), line: None, fact })?;
    Ok((World { ends_are_known: true, ..world }, duration_s))
}

/// How eagerly a page turns its content over, as far as its snapshots tell.
fn eagerness(versions: &[(f64, Vec<u64>)]) -> Option<f64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "Unix seconds")]
    let seen = |(time_s, fragments): &(f64, Vec<u64>)| (*time_s as u64, Fragments::from_hashes(fragments.clone()));
    longevity::History::new(versions.iter().map(seen).collect()).ok()?.eagerness()
}

/// A page's snapshots as revisions.
fn watched(versions: &[(f64, Vec<u64>)], given: Option<f64>) -> Rows {
    let eagerness = given.or_else(|| eagerness(versions)).unwrap_or(HALF_WAY);
    let mut contents: HashMap<&[u64], u32> = HashMap::new();
    let mut rows = Rows { has_fragments: true, gone_s: versions.last().map(|last| last.0), ..Rows::default() };
    let mut before: (f64, &[u64]) = versions.first().map_or((0.0, &[]), |first| (first.0, &[]));
    for (time_s, fragments) in versions {
        let next = u32::try_from(contents.len()).unwrap_or(u32::MAX);
        let content = *contents.entry(fragments).or_insert(next);
        if rows.revisions.last().is_none_or(|last| last.content != content) {
            let only_in = |a: &[u64], b: &[u64]| a.iter().copied().filter(|x| b.binary_search(x).is_err()).collect();
            let (added, removed) = (only_in(fragments, before.1), only_in(before.1, fragments));
            let time_s = time_s - eagerness * (time_s - before.0);
            rows.revisions.push(Revision { time_s, content, added, removed, is_reset: false });
        }
        before = (*time_s, fragments);
    }
    rows
}

/// A page's rows: revisions, and when it was gone.
#[derive(Default)]
struct Rows {
    revisions: Vec<Revision>,
    /// When each row was, and which revision it is; none for a row that says that the page is gone.
    listed: Vec<(f64, Option<usize>)>,
    hashes: HashMap<String, u32>,
    gone_s: Option<f64>,
    has_fragments: bool,
}

impl Rows {
    /// Moves changes back to where they are taken to have happened: no further than to the one before, those of one second together, and not the
    /// first, since nothing is known before it.
    fn move_back(&mut self, looked_every_s: f64, eagerness: f64) {
        let times: Vec<f64> = self.revisions.iter().map(|revision| revision.time_s).collect();
        let moved = |time_s: f64| match times.partition_point(|earlier| *earlier < time_s).checked_sub(1) {
            Some(before) => time_s - eagerness * looked_every_s.min(time_s - times[before]),
            None => time_s,
        };
        for revision in &mut self.revisions {
            revision.time_s = moved(revision.time_s);
        }
        self.gone_s = self.gone_s.map(moved);
    }
}

type ByPage = Vec<(String, Rows)>;

fn groups(file: &Path) -> Result<HashMap<String, u32>, Error> {
    let mut numbers = HashMap::new();
    let mut groups = HashMap::new();
    if file.exists() {
        each_row(file, ["page", "path"], |[page, path]| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            groups.insert(page.to_owned(), *numbers.entry(folder).or_insert(next));
            Ok(())
        })?;
    }
    Ok(groups)
}

/// Rows of one page stand together or not; within a page they must be in order of time.
fn revisions(file: &Path) -> Result<ByPage, Error> {
    let mut pages: ByPage = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    each_row(file, ["page", "time_unix", "content_hash", "kind"], |[page, time, hash, kind]| {
        let time_s = number(time)?;
        let place = *places.entry(page.to_owned()).or_insert_with(|| {
            pages.push((page.to_owned(), Rows::default()));
            pages.len() - 1
        });
        let rows = &mut pages[place].1;
        let last = rows.revisions.last().map(|last| last.time_s).into_iter().chain(rows.gone_s).fold(0.0, f64::max);
        if time_s < last {
            return Err(format!("time must not go back, got {time} after {last} for page `{page}`"));
        }
        if hash == "-" || kind == "d" {
            rows.gone_s = Some(time_s);
            rows.listed.push((time_s, None));
            return Ok(());
        }
        rows.gone_s = None;
        rows.listed.push((time_s, Some(rows.revisions.len())));
        let next = u32::try_from(rows.hashes.len()).unwrap_or(u32::MAX);
        let content = *rows.hashes.entry(hash.to_owned()).or_insert(next);
        let is_reset = kind == "t" && !rows.revisions.is_empty();
        rows.revisions.push(Revision { time_s, content, is_reset, ..Revision::default() });
        Ok(())
    })?;
    pages.retain(|(_, rows)| !rows.revisions.is_empty());
    Ok(pages)
}

/// Puts the fragments to their revisions; pages without fragments are left out.
fn add_fragments(pages: &mut ByPage, file: &Path) -> Result<(), Error> {
    let places: HashMap<String, usize> = pages.iter().enumerate().map(|(at, (page, _))| (page.clone(), at)).collect();
    let mut replays: Vec<Deltas> = pages.iter().map(|_| Deltas::default()).collect();
    each_row(file, ["page", "time_unix", "n", "added", "removed"], |[page, time, n, added, removed]| {
        let Some(at) = places.get(page) else { return Ok(()) };
        let (rows, deltas) = (&mut pages[*at].1, &mut replays[*at]);
        let time_s = number(time)?;
        if time_s < deltas.time_s {
            return Err(format!("time must not go back, got {time} after {} for page `{page}`", deltas.time_s));
        }
        deltas.take(n, &hashes(added)?, &hashes(removed)?)?;
        if let Some(revision) = deltas.revision_at(time_s, &rows.listed) {
            deltas.put(&mut rows.revisions[revision]);
            rows.has_fragments = true;
        }
        Ok(())
    })?;
    pages.retain(|(_, rows)| rows.has_fragments);
    Ok(())
}

/// The fragments of a page while its rows are read.
#[derive(Default)]
struct Deltas {
    /// All that are there.
    live: HashSet<u64>,
    /// What came (true) or went since the last revision that the list of revisions has.
    since: BTreeMap<u64, bool>,
    time_s: f64,
    /// How many rows of this time there were.
    rows: usize,
}

impl Deltas {
    fn take(&mut self, n: &str, added: &[u64], removed: &[u64]) -> Result<(), String> {
        for hash in added {
            self.live.insert(*hash);
            self.since.insert(*hash, true);
        }
        for hash in removed {
            self.live.remove(hash);
            self.since.insert(*hash, false);
        }
        let live = self.live.len();
        if n.parse() == Ok(live) { Ok(()) } else { Err(format!("`n`: {live} fragments are there now, got `{n}`")) }
    }

    /// The revision of a row: rows of the same second follow each other as those of the list do. None where the page is gone, or where
    /// the list has nothing, since nothing changed that counts there: what came and went is then told with the next revision.
    fn revision_at(&mut self, time_s: f64, listed: &[(f64, Option<usize>)]) -> Option<usize> {
        self.rows = if time_s == self.time_s { self.rows + 1 } else { 1 };
        self.time_s = time_s;
        let first = listed.partition_point(|(listed_s, _)| *listed_s < time_s);
        let of_this_time = listed[first..].iter().take_while(|(listed_s, _)| *listed_s == time_s);
        of_this_time.take(self.rows).last().and_then(|(_, revision)| *revision)
    }

    /// Tells a revision what came and went, after what it was told before.
    fn put(&mut self, revision: &mut Revision) {
        revision.added.retain(|hash| !self.since.contains_key(hash));
        revision.removed.retain(|hash| !self.since.contains_key(hash));
        for (hash, came) in std::mem::take(&mut self.since) {
            if came { revision.added.push(hash) } else { revision.removed.push(hash) }
        }
        revision.added.sort_unstable();
        revision.removed.sort_unstable();
    }
}

/// The time of the last row of all.
fn last_of(rows: &ByPage) -> f64 {
    let ends =
        rows.iter().flat_map(|(_, rows)| rows.revisions.last().map(|last| last.time_s).into_iter().chain(rows.gone_s));
    ends.fold(0.0, f64::max)
}

/// The pages of a window of time; up to `last_s` something is known.
fn build(
    name: String,
    rows: ByPage,
    last_s: f64,
    groups: &HashMap<String, u32>,
    window: &Window,
) -> Result<(World, f64), String> {
    let mut births: Vec<f64> = rows.iter().map(|(_, rows)| rows.revisions[0].time_s).collect();
    births.sort_by(f64::total_cmp);
    let Some(middle) = births.get(births.len() / 2) else { return Err("no pages".into()) };
    let from = window.from_unix.unwrap_or(*middle);
    let last = last_s.max(from);
    let to = window.to_unix.unwrap_or(last);
    if to > last {
        return Err(format!("nothing is known after {}, got a window to {}", date(last), date(to)));
    }
    if window.from_unix.is_some() && from >= last_s {
        return Err(format!("nothing is known after {}, got a window from {}", date(last_s), date(from)));
    }
    if from.is_nan() || to.is_nan() || from >= to {
        return Err(format!("the window must end after it starts, got {} to {}", date(from), date(to)));
    }
    let group = |name: &String| groups.get(name).copied().unwrap_or(0);
    let found =
        rows.into_iter().zip(0u64..).filter_map(|((name, rows), key)| page(rows, key, group(&name), (from, to)));
    let pages: Vec<Page> = found.collect();
    if pages.is_empty() {
        return Err(format!("no page is there between {} and {}", date(from), date(to)));
    }
    Ok((World::new(name, pages), to - from))
}

/// A time as people write it.
fn date(unix_s: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "whole seconds will do")]
    jiff::Timestamp::from_second(unix_s as i64).map_or_else(|_| unix_s.to_string(), |time| time.to_string())
}

/// A page, if it is there in the window.
fn page(mut rows: Rows, key: u64, group: u32, (from, to): (f64, f64)) -> Option<Page> {
    for revision in &mut rows.revisions {
        revision.time_s -= from;
    }
    let born_s = rows.revisions[0].time_s.max(0.0);
    let dies_s = rows.gone_s.map_or(f64::INFINITY, |gone| gone - from);
    let end = dies_s.min(to - from);
    if born_s >= end {
        return None;
    }
    let history = History { revisions: rows.revisions, has_fragments: rows.has_fragments };
    let rate = Rate::per(history.rate_between(born_s, end), Unit::Second).ok()?;
    let about = About { group, ..About::new(rate) };
    Some(Page { key, about, host: group, born_s, dies_s, source: Source::Recorded(Arc::new(history)) })
}

fn number(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|time: &f64| (0.0..=1e11).contains(time))
        .ok_or_else(|| format!("`time_unix` must be a number between 0 and 1e11, got `{text}`"))
}

fn hashes(text: &str) -> Result<Vec<u64>, String> {
    let one = |word| u64::from_str_radix(word, 16).map_err(|_| format!("a fragment must be hexadecimal, got `{word}`"));
    let mut all = text.split_ascii_whitespace().map(one).collect::<Result<Vec<u64>, _>>()?;
    all.sort_unstable();
    Ok(all)
}

/// Calls `each` with the wanted columns of every row of a compressed table.
fn each_row<const N: usize>(
    file: &Path,
    wanted: [&str; N],
    mut each: impl FnMut([&str; N]) -> Result<(), String>,
) -> Result<(), Error> {
    let fail = |line: Option<u64>, fact: String| Error { file: file.to_owned(), line, fact };
    let opened = File::open(file).map_err(|error| fail(None, error.to_string()))?;
    let plain: Box<dyn Read> = match file.extension().and_then(|extension| extension.to_str()) {
        Some("zst") => Box::new(zstd_reader(opened).map_err(|error| fail(None, error.to_string()))?),
        _ => Box::new(flate2::read::MultiGzDecoder::new(opened)),
    };
    let mut reader = csv::ReaderBuilder::new().from_reader(plain);
    let header = reader.headers().map_err(|error| fail(Some(1), error.to_string()))?.clone();
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(wanted) {
        let found = header.iter().position(|column| column == name);
        *place = found.ok_or_else(|| {
            fail(Some(1), format!("no column `{name}`; there are {}", header.iter().collect::<Vec<_>>().join(", ")))
        })?;
    }
    let mut row = csv::StringRecord::new();
    while reader.read_record(&mut row).map_err(|error| fail(None, error.to_string()))? {
        let line = row.position().map(csv::Position::line);
        each(places.map(|place| row.get(place).unwrap_or_default())).map_err(|fact| fail(line, fact))?;
    }
    Ok(())
}

fn zstd_reader(file: File) -> std::io::Result<impl Read> {
    let mut decoder = zstd::Decoder::new(file)?;
    decoder.window_log_max(27)?;
    Ok(decoder)
}
