use super::error::{Error, Result};
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

/// Lines are looked at backwards in pieces of so many bytes, each twice as long as the one before.
const PIECE: u64 = 4096;

/// A file of lines in the order of their bytes.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

impl Segment {
    /// The name of its file.
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// All lines that begin with `prefix`, found by halving: memory for these lines only.
    pub(super) fn find(&self, prefix: &str, found: &mut Vec<String>) -> Result<()> {
        self.search(prefix, found).map_err(Error::file("read", &self.path))
    }

    fn search(&self, prefix: &str, found: &mut Vec<String>) -> io::Result<()> {
        let mut input = BufReader::with_capacity(4096, File::open(&self.path)?);
        let first = self.place(&mut input, prefix)?;
        input.seek(SeekFrom::Start(first))?;
        for line in input.lines() {
            let line = line?;
            if !line.starts_with(prefix) {
                break;
            }
            found.push(line);
        }
        Ok(())
    }

    /// The last line that begins with `prefix` and is wanted, found by halving and then backwards: it is read no further than need be.
    pub(super) fn find_last<W>(&self, prefix: &str, wanted: impl Fn(&str) -> Option<W>) -> Result<Option<W>> {
        self.search_last(prefix, wanted).map_err(Error::file("read", &self.path))
    }

    fn search_last<W>(&self, prefix: &str, wanted: impl Fn(&str) -> Option<W>) -> io::Result<Option<W>> {
        let mut input = BufReader::with_capacity(4096, File::open(&self.path)?);
        // No line has a letter beyond these right behind its prefix.
        let mut end = self.place(&mut input, &format!("{prefix}\u{10ffff}"))?;
        let mut piece = PIECE;
        while end > 0 {
            let start = end.saturating_sub(piece);
            let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(usize::MAX)];
            input.seek(SeekFrom::Start(start))?;
            input.read_exact(&mut bytes)?;
            // The first line may begin before the piece; the last ends with it.
            let first = bytes.iter().position(|byte| *byte == b'\n').filter(|_| start > 0);
            let cut = first.map_or(0, |at| at + 1);
            for line in bytes[cut..].split(|byte| *byte == b'\n').rev().filter(|line| !line.is_empty()) {
                let Some(line) = std::str::from_utf8(line).ok().filter(|line| line.starts_with(prefix)) else {
                    return Ok(None);
                };
                if let Some(wanted) = wanted(line) {
                    return Ok(Some(wanted));
                }
            }
            end = start + cut as u64;
            piece *= 2;
        }
        Ok(None)
    }

    /// Where the first line begins that is not less than `key`.
    fn place(&self, input: &mut BufReader<File>, key: &str) -> io::Result<u64> {
        let mut line = Vec::new();
        // It begins at or behind `low`, and at or before the first one behind `high`.
        let (mut low, mut high) = (0, self.bytes);
        while high - low > 4096 {
            let middle = low + (high - low) / 2;
            input.seek(SeekFrom::Start(middle))?;
            line.clear();
            let skipped = input.read_until(b'\n', &mut line)? as u64;
            line.clear();
            let length = input.read_until(b'\n', &mut line)?;
            if length == 0 || line.as_slice().cmp(key.as_bytes()) != Ordering::Less {
                high = middle;
            } else {
                low = middle + skipped;
            }
        }
        input.seek(SeekFrom::Start(low))?;
        loop {
            line.clear();
            let length = input.read_until(b'\n', &mut line)?;
            if length == 0 || line.as_slice().cmp(key.as_bytes()) != Ordering::Less {
                return Ok(low);
            }
            low += length as u64;
        }
    }

    fn lines(&self) -> Result<Peekable<impl Iterator<Item = io::Result<String>> + use<>>> {
        let file = File::open(&self.path).map_err(Error::file("open", &self.path))?;
        Ok(BufReader::with_capacity(1 << 16, file).lines().peekable())
    }
}

/// Writes lines, which must come in order, to a new file that appears whole or not at all.
pub(super) fn write(path: &Path, lines: impl Iterator<Item = io::Result<String>>) -> Result<Segment> {
    let begun = path.with_extension("begun");
    let failed = || Error::file("write", path);
    let mut out = BufWriter::with_capacity(1 << 16, File::create(&begun).map_err(failed())?);
    for line in lines {
        let line = line.map_err(failed())?;
        writeln!(out, "{line}").map_err(failed())?;
    }
    let file = out.into_inner().map_err(|error| failed()(error.into_error()))?;
    file.sync_all().map_err(failed())?;
    let bytes = file.metadata().map_err(failed())?.len();
    std::fs::rename(&begun, path).map_err(failed())?;
    Ok(Segment { path: path.to_owned(), bytes })
}

/// The lines of two files as one file; a line that both have comes once.
pub(super) fn merge(left: &Segment, right: &Segment, path: &Path) -> Result<Segment> {
    let (mut left, mut right) = (left.lines()?, right.lines()?);
    let lines = std::iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (Some(Ok(a)), Some(Ok(b))) => a.cmp(b),
            (Some(_), None) | (Some(Err(_)), _) => Ordering::Less,
            _ => Ordering::Greater,
        };
        if order == Ordering::Equal {
            left.next();
        }
        if order == Ordering::Less { left.next() } else { right.next() }
    });
    write(path, lines)
}
