//! `everfresh cat`, `history` and `diff`: the copies, while a run may add to them.

use std::collections::HashSet;
use std::io::Write;

use anyhow::{Result, anyhow, bail};
use everfresh_crawl::content::Rules;
use everfresh_crawl::warc::{Archive, Version};
use jiff::Timestamp;
use serde::Serialize;

use super::args::{CatArgs, DiffArgs, HistoryArgs};
use super::note::Note;
use crate::desk::args::StoreArgs;
use crate::desk::explain::moment;
use crate::desk::list;
use crate::output::{self, Grid};

fn open(args: &StoreArgs) -> Result<Archive> {
    let folder = args.data.join("copies");
    if !folder.is_dir() {
        bail!("cannot find copies in `{}`: `everfresh run` keeps them there", args.data.display());
    }
    if !folder.join("index").is_dir() {
        bail!("cannot find the index of the copies in `{}`: the next `everfresh run` makes it anew", folder.display());
    }
    Archive::read_only(&folder).map_err(|error| output::machine("cannot open the copies", error))
}

fn read_failed(error: everfresh_crawl::warc::Error) -> anyhow::Error {
    output::machine("cannot read a copy", error)
}

/// The version at a time, or the current one.
fn version(archive: &Archive, address: &str, at: Option<u32>) -> Result<Version> {
    let found = match at {
        // Times are given in seconds, and versions have milliseconds.
        Some(second) => archive.at(address, Timestamp::from_millisecond(i64::from(second) * 1000 + 999)?),
        None => archive.current(address),
    };
    found.map_err(read_failed)?.ok_or_else(|| anyhow!("cannot find a copy of `{address}`"))
}

/// What a run remembers of a page. Copies can be read without it.
fn note(args: &StoreArgs, address: &str) -> Note {
    Note::look(&args.data, address).unwrap_or_else(|error| {
        output::say(&format!("cannot tell by which rules the page is read, nor whether it is gone: {error:#}"));
        Note::default()
    })
}

/// Says that the last copy is not what the source has now, if that is known.
fn say_absent(note: &Note, at: Option<u32>) {
    let since = note.absent_since.unwrap_or(0);
    if at.is_some_and(|at| u64::from(at) < since) {
        return;
    }
    let since = if since == 0 { String::new() } else { format!(" since {}", moment(since as f64)) };
    if note.was_gone {
        output::say(&format!("gone{since}: what was kept is from before"));
    } else if note.forbids_archiving == Some(true) {
        output::say(&format!("not kept{since}, as its source asks: what was kept is from before"));
    }
}

/// `everfresh cat`
pub(crate) fn cat(args: &CatArgs) -> Result<()> {
    let archive = open(&args.store)?;
    let address = list::configured(&args.page)?;
    let found = version(&archive, &address, args.at)?;
    let note = note(&args.store, &address);
    say_absent(&note, args.at);
    let bytes = if args.text {
        let rules = note.rules().unwrap_or_default();
        let mut text = archive.content(&found, &rules).map_err(read_failed)?.text().to_owned();
        text.push('\n');
        text.into_bytes()
    } else {
        archive.read(&found).map_err(read_failed)?.bytes
    };
    match std::io::stdout().lock().write_all(&bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| output::machine("cannot write to stdout", error)),
    }
}

#[derive(Serialize)]
struct Row {
    time: String,
    status: Option<u16>,
    bytes: Option<usize>,
    same_as_before: bool,
    digest: String,
    file: String,
    offset: u64,
}

/// `everfresh history`
pub(crate) fn history(args: &HistoryArgs) -> Result<()> {
    let archive = open(&args.store)?;
    let address = list::configured(&args.page)?;
    let versions = archive.history(&address).map_err(read_failed)?;
    if versions.is_empty() {
        bail!("cannot find a copy of `{address}`");
    }
    say_absent(&note(&args.store, &address), None);
    let row = |version: &Version| -> Result<Row> {
        let bytes = if version.revisit { None } else { Some(archive.read(version).map_err(read_failed)?.bytes.len()) };
        Ok(Row {
            time: version.date.to_string(),
            status: version.status,
            bytes,
            same_as_before: version.revisit,
            digest: version.digest.clone(),
            file: version.file.clone(),
            offset: version.offset,
        })
    };
    let rows: Vec<Row> = versions.iter().map(row).collect::<Result<_>>()?;
    if args.json {
        return output::print_json(&rows);
    }
    let mut grid = Grid::new(&["time", "status", "bytes", "copy", "file"]).left(3).left(4);
    for row in rows {
        grid.row(vec![
            row.time,
            row.status.map_or_else(|| "-".to_owned(), |status| status.to_string()),
            row.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            if row.same_as_before { "as before" } else { "new" }.to_owned(),
            format!("{} at {}", row.file, row.offset),
        ]);
    }
    output::print(&grid.text())
}

/// `everfresh diff`
pub(crate) fn diff(args: &DiffArgs) -> Result<()> {
    let archive = open(&args.store)?;
    let address = list::configured(&args.page)?;
    let to = version(&archive, &address, args.to)?;
    let note = note(&args.store, &address);
    say_absent(&note, args.to);
    let rules = note.rules().unwrap_or_default();
    let from = match args.from {
        Some(_) => version(&archive, &address, args.from)?,
        None => before(&archive, &to, &rules)?,
    };
    output::print_raw(&archive.diff(&from, &to, &rules).map_err(read_failed)?)
}

/// The last version before one whose text is another: bytes may differ where nothing is said differently.
fn before(archive: &Archive, to: &Version, rules: &Rules) -> Result<Version> {
    let text = |version: &Version| archive.content(version, rules).map_err(read_failed);
    let (now, mut seen) = (text(to)?, HashSet::from([to.digest.clone()]));
    let versions = archive.history(&to.address).map_err(read_failed)?;
    for version in versions.into_iter().rev().filter(|version| version.date < to.date && version.is_content()) {
        if seen.insert(version.digest.clone()) && text(&version)?.text() != now.text() {
            return Ok(version);
        }
    }
    bail!("cannot find an earlier copy of `{}` whose text differs: there must be two versions", to.address)
}
