//! Where snapshots come from: directories of dated files, JSON lines, traces of fragments.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, anyhow, bail};
use everfresh::longevity::Cut;
use rayon::prelude::*;

use super::long::{self, LONGEST, Long};
use super::rows::Row;
use super::sample::{Sample, Sampler};
use super::snapshots::Snapshots;
use super::trace;
use crate::interrupt;
use crate::progress::ProgressLine;
use crate::table::{self, Done, TextFile};

/// Bytes of JSON that are taken at a time.
const BATCH: usize = 1 << 25;

/// Files that are read at a time.
const FILES: usize = 256;

/// Bytes of a file at a time.
const PIECE: usize = 1 << 16;

/// Everything that a path names, by page; `only` that page if one is asked for. Traces are watched every so many seconds.
pub(super) fn read(path: &Path, cut: Cut, only: Option<&str>, every: u64) -> Result<Snapshots> {
    if !path.is_dir() {
        return json_lines(path, cut, only);
    }
    match trace::find(path) {
        Some(file) => trace::read(path, &file, only, every),
        None => dated_files(path, cut, only),
    }
}

/// Lines of JSON: page, time and text.
fn json_lines(path: &Path, cut: Cut, only: Option<&str>) -> Result<Snapshots> {
    let TextFile { name, size, reader, read } = table::open_text(path)?;
    let mut reader = BufReader::with_capacity(1 << 18, reader);
    let line = ProgressLine::of("reading", None, size, "snapshots");
    let (mut snapshots, mut first) = (Snapshots::default(), 1);
    loop {
        interrupt::check()?;
        let lines = lines(&mut reader, cut).with_context(|| format!("cannot read `{name}`"))?;
        if lines.is_empty() {
            return if first == 1 { Err(anyhow!("{name}: there is no snapshot")) } else { Ok(snapshots) };
        }
        let count = lines.len();
        let numbered = lines.into_par_iter().enumerate().map(|(at, line)| (first + at, line));
        let rows: Vec<Result<Option<Long>>> = numbered
            .map(|(number, line)| {
                interrupt::check()?;
                row(line, cut, only).map_err(|why| anyhow!("{name}:{number}: {why}"))
            })
            .collect();
        first += count;
        for row in rows {
            if let Some(Long { page, time, sample }) = row? {
                snapshots.add(&page, time, sample);
            }
        }
        line.at(Done { rows: first as u64 - 1, bytes: read.load(Ordering::Relaxed) });
    }
}

/// A line of JSON.
enum Line {
    Whole(Vec<u8>),
    /// Too long to be held, and so read already.
    Long(Result<Long, String>),
}

/// The next lines, of about [`BATCH`] bytes together; none at the end.
fn lines(reader: &mut impl BufRead, cut: Cut) -> Result<Vec<Line>> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    while bytes < BATCH {
        let mut line = Vec::new();
        let length = reader.take(LONGEST as u64).read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        bytes += length;
        let is_long = length == LONGEST && line.last() != Some(&b'\n');
        lines.push(if is_long { Line::Long(long::read(&line, reader, cut)?) } else { Line::Whole(line) });
    }
    Ok(lines)
}

/// A line of JSON; nothing for an empty line or another page.
fn row(line: Line, cut: Cut, only: Option<&str>) -> Result<Option<Long>, String> {
    let is_wanted = |page: &str| only.is_none_or(|only| only == page);
    let line = match line {
        Line::Whole(line) => line,
        Line::Long(row) => return row.map(|row| is_wanted(&row.page).then_some(row)),
    };
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let Row { page, time, text } = Row::read(line.trim_ascii_end())?;
    Ok(is_wanted(&page).then(|| Long { time, sample: Sample::of(&text, cut), page }))
}

/// A file with the page and the time that its path names.
struct Dated {
    path: PathBuf,
    page: String,
    time: u64,
}

fn dated_files(folder: &Path, cut: Cut, only: Option<&str>) -> Result<Snapshots> {
    let (mut files, mut snapshots) = (Vec::new(), Snapshots::default());
    walk(folder, "", &mut files, &mut snapshots)?;
    if files.is_empty() {
        bail!(
            "`{}`: there is no dated file in this directory: PAGE/TIME.txt or PAGE@TIME.txt, where TIME is 2024-05-01, \
             20240501120000 or seconds since 1970",
            folder.display()
        );
    }
    files.retain(|file| only.is_none_or(|only| only == file.page));
    let line = ProgressLine::of("reading", Some(files.len() as u64), 0, "files");
    let mut done = 0;
    for some in files.chunks(FILES) {
        interrupt::check()?;
        let read: Vec<Result<Sample>> = some.par_iter().map(|file| fragments(&file.path, cut)).collect();
        for (file, fragments) in some.iter().zip(read) {
            snapshots.add(&file.page, file.time, fragments?);
        }
        done += some.len() as u64;
        line.at(Done { rows: done, bytes: 0 });
    }
    Ok(snapshots)
}

/// The fragments of a file of any length, read in pieces.
fn fragments(path: &Path, cut: Cut) -> Result<Sample> {
    let mut reader = table::open_text(path)?.reader;
    let (mut shingler, mut piece) = (Sampler::shingler(cut), vec![0; PIECE]);
    loop {
        interrupt::check()?;
        match reader.read(&mut piece).with_context(|| format!("cannot read `{}`", path.display()))? {
            0 => return Ok(shingler.finish().finish()),
            length => shingler.push_bytes(&piece[..length]),
        }
    }
}

/// All dated files in a folder and those below it, whose path is `below`, sorted by name.
fn walk(folder: &Path, below: &str, files: &mut Vec<Dated>, snapshots: &mut Snapshots) -> Result<()> {
    let cannot = |error: std::io::Error| anyhow!("cannot open `{}`: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(cannot)?.collect::<std::io::Result<Vec<_>>>().map_err(cannot)?;
    let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        interrupt::check()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let place = || path.display().to_string();
        if path.is_dir() && path.is_symlink() {
            snapshots.skip("directory", "a link to a directory may lead in a circle", place);
        } else if path.is_dir() {
            let below = if below.is_empty() { name } else { format!("{below}/{name}") };
            walk(&path, &below, files, snapshots)?;
        } else if !path.is_file() {
            snapshots.skip("file", "it is no regular file, or is not there", place);
        } else if let Some((page, time)) = dated(below, &name) {
            files.push(Dated { path, page, time });
        } else {
            snapshots.skip("file", "there is no time in its name", place);
        }
    }
    Ok(())
}

/// The page and the time of a file: `PAGE@TIME.ext`, or `TIME.ext` in the folder of the page.
fn dated(below: &str, name: &str) -> Option<(String, u64)> {
    let (page, time) = match name.rsplit_once('@') {
        Some((page, time)) if below.is_empty() => (page.to_owned(), time),
        Some((page, time)) => (format!("{below}/{page}"), time),
        None => (below.to_owned(), name),
    };
    let time = time_in(time)?;
    (!page.is_empty()).then_some((page, time))
}

/// The time that a name begins with, whatever endings it has.
fn time_in(name: &str) -> Option<u64> {
    let mut stem = name;
    loop {
        if let Some(time) = stamp(stem) {
            return Some(time);
        }
        stem = stem.rsplit_once('.')?.0;
    }
}

/// Seconds since 1970, a date, or a date and a time of day, also as file names have them: 20240501, 20240501120000 and
/// 2024-05-01T12-00-00Z.
fn stamp(text: &str) -> Option<u64> {
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let date = || format!("{}-{}-{}", part(0, 4), part(4, 6), part(6, 8));
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let spelt = match (digits, text.len()) {
        (true, 8) => date(),
        (true, 14) => format!("{}T{}:{}:{}", date(), part(8, 10), part(10, 12), part(12, 14)),
        (false, 19..) if text.is_ascii() => format!("{}{}", part(0, 11), part(11, text.len()).replacen('-', ":", 2)),
        _ => text.to_owned(),
    };
    table::moment(&spelt).ok().map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_say_page_and_time() {
        let may = 1_714_521_600;
        for (below, name, page, time) in [
            ("news", "2024-05-01.txt", "news", may),
            ("news/local", "1714521600.html.gz", "news/local", may),
            ("", "news@20240501.txt", "news", may),
            ("x.org", "a@b@2024-05-01T12:00:00Z", "x.org/a@b", may + 43_200),
            ("", "index.html@2024-05-01T12-00-00Z.html", "index.html", may + 43_200),
            ("p", "20240501120000.md", "p", may + 43_200),
            ("p", "2024-05-01T14-00-00+02:00.md", "p", may + 43_200),
        ] {
            assert_eq!(dated(below, name), Some((page.to_owned(), time)), "{name}");
        }
        for (below, name) in [("", "2024-05-01.txt"), ("p", "README.md"), ("p", "20241301.txt"), ("p", "a@b.txt")] {
            assert_eq!(dated(below, name), None, "{name}");
        }
    }
}
