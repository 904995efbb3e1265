//! Visits of a page that do not come in the order of their times: they are sorted first, in bounded memory.
//!
//! Each shard gathers its visits and, when it has many, sorts them and puts them into a temporary file as a run; in the end its
//! runs are merged. Where few visits come, no file is made. A temporary file has no name: whatever ends the program, nothing
//! of it stays.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};

use anyhow::Result;

use super::visits::SHARDS;
use crate::interrupt;
use crate::output::machine;

/// A visit: the number of its page, its second, and what it saw.
pub(super) type Visit = (u32, u32, u32);

/// Bytes of a visit in a file.
const BYTES: usize = 12;

/// Visits that all shards together hold in memory: 192 MiB.
const HELD: usize = 1 << 24;

/// Visits of a run that are read at a time.
const CHUNK: usize = 1 << 12;

/// The visits of a shard, to be sorted by page and time; those of the same second stay in the order in which they came.
pub(super) struct Sorter {
    held: Vec<Visit>,
    most: usize,
    file: Option<File>,
    /// Where each run ends in the file, in visits.
    ends: Vec<u64>,
}

impl Default for Sorter {
    fn default() -> Sorter {
        Sorter::holding(HELD / SHARDS)
    }
}

impl Sorter {
    fn holding(most: usize) -> Sorter {
        Sorter { held: Vec::new(), most, file: None, ends: Vec::new() }
    }

    pub(super) fn push(&mut self, visit: Visit) -> Result<()> {
        self.held.push(visit);
        if self.held.len() < self.most {
            return Ok(());
        }
        interrupt::check()?;
        self.spill().map_err(|error| cannot(&error))
    }

    fn sort(&mut self) {
        self.held.sort_by_key(|(page, time, _)| (*page, *time));
    }

    fn spill(&mut self) -> std::io::Result<()> {
        self.sort();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut out = BufWriter::with_capacity(1 << 18, file);
        for (page, time, seen) in &self.held {
            let mut bytes = [0; BYTES];
            bytes[..4].copy_from_slice(&page.to_le_bytes());
            bytes[4..8].copy_from_slice(&time.to_le_bytes());
            bytes[8..].copy_from_slice(&seen.to_le_bytes());
            out.write_all(&bytes)?;
        }
        out.flush()?;
        self.ends.push(self.ends.last().unwrap_or(&0) + self.held.len() as u64);
        self.held.clear();
        Ok(())
    }

    /// Gives all visits, by page and time.
    pub(super) fn each(mut self, mut give: impl FnMut(Visit) -> Result<()>) -> Result<()> {
        self.sort();
        let Some(file) = self.file else { return self.held.into_iter().try_for_each(give) };
        let mut runs: Vec<Run> = Vec::new();
        let mut start = 0;
        for end in self.ends {
            runs.push(Run { next: start, end, chunk: Vec::new().into_iter() });
            start = end;
        }
        // What is still held came last.
        runs.push(Run { next: 0, end: 0, chunk: self.held.into_iter() });
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            heads.extend(run.next(&file)?.map(|(page, time, seen)| Reverse((page, time, number, seen))));
        }
        while let Some(Reverse((page, time, number, seen))) = heads.pop() {
            give((page, time, seen))?;
            heads.extend(runs[number].next(&file)?.map(|(page, time, seen)| Reverse((page, time, number, seen))));
        }
        Ok(())
    }
}

/// A run being read.
struct Run {
    next: u64,
    end: u64,
    chunk: std::vec::IntoIter<Visit>,
}

impl Run {
    fn next(&mut self, file: &File) -> Result<Option<Visit>> {
        if let Some(visit) = self.chunk.next() {
            return Ok(Some(visit));
        }
        interrupt::check()?;
        let count = usize::try_from(self.end - self.next).unwrap_or(usize::MAX).min(CHUNK);
        self.chunk = read(file, self.next, count).map_err(|error| cannot(&error))?.into_iter();
        self.next += count as u64;
        Ok(self.chunk.next())
    }
}

fn read(mut file: &File, first: u64, count: usize) -> std::io::Result<Vec<Visit>> {
    let mut bytes = vec![0; count * BYTES];
    file.seek(SeekFrom::Start(first * BYTES as u64))?;
    file.read_exact(&mut bytes)?;
    let visit = |bytes: &[u8]| {
        let four = |range: std::ops::Range<usize>| bytes[range].iter().rev().fold(0, |n, b| n << 8 | u32::from(*b));
        (four(0..4), four(4..8), four(8..12))
    };
    Ok(bytes.chunks_exact(BYTES).map(visit).collect())
}

fn cannot(error: &std::io::Error) -> anyhow::Error {
    machine(format_args!("cannot sort the visits in `{}`", std::env::temp_dir().display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many runs, some of them in a file and one in memory, against a sort of everything.
    #[test]
    fn runs_come_back_in_order() {
        for most in [3, 100, 5000, 20_000] {
            let mut sorter = Sorter::holding(most);
            let visits: Vec<Visit> = (0..10_000_u32)
                .map(|i| (i.wrapping_mul(2_654_435_761) >> 24, i.wrapping_mul(40_503) % 97, i.rotate_left(13)))
                .collect();
            for visit in &visits {
                sorter.push(*visit).unwrap();
            }
            let mut sorted = visits;
            sorted.sort_by_key(|(page, time, _)| (*page, *time));
            let mut found = Vec::new();
            sorter
                .each(|visit| {
                    found.push(visit);
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, sorted, "{most}");
        }
    }
}
