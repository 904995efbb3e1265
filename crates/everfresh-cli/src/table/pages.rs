//! Tables whose pages are named once, and such that are small enough to hold in memory.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::BuildHasher;

use anyhow::Result;
use foldhash::quality::RandomState;

use super::{Batch, Input, cells, for_each_text};

/// Tables of so many rows are checked for pages that are named twice: to know more names takes memory.
const NAMES_CHECKED: u64 = if cfg!(test) { 1 << 12 } else { 1 << 22 };

/// Why a scan ends early: nothing is wrong.
#[derive(Debug)]
struct Enough;

impl fmt::Display for Enough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("enough was read")
    }
}

impl std::error::Error for Enough {}

impl Input {
    /// Refuses a page that is named twice, in tables of up to four million rows.
    ///
    /// Of each name 64 bits are kept, and the names themselves are looked at when two are alike: so four million take 80 MB however
    /// long they are and however well the file is packed.
    pub(crate) fn check_names(&self) -> Result<()> {
        if self.known_rows().is_some_and(|rows| rows > NAMES_CHECKED) {
            return Ok(());
        }
        let state = RandomState::default();
        let each = |batch: Batch| Ok(hashes(&batch, &state));
        let (mut seen, mut repeated) = (HashSet::with_hasher(foldhash::fast::RandomState::default()), None);
        let read = self.scan_without_hosts(true, each, |some, done| {
            if done.rows > NAMES_CHECKED {
                return Err(Enough.into());
            }
            repeated = some.into_iter().find(|hash| !seen.insert(*hash));
            if repeated.is_some() { Err(Enough.into()) } else { Ok(()) }
        });
        match read {
            Err(error) if !error.is::<Enough>() => Err(error),
            _ => repeated.map_or(Ok(()), |hash| self.refuse_twice(hash, &state)),
        }
    }

    /// Looks for a name that is there twice among those with the same bits.
    fn refuse_twice(&self, hash: u64, state: &RandomState) -> Result<()> {
        let each = |batch: Batch| {
            let found = hashes(&batch, state).into_iter().enumerate().filter(|(_, other)| *other == hash);
            let rows: Vec<usize> = found.map(|(row, _)| row).collect();
            Ok((!rows.is_empty()).then_some((batch, rows)))
        };
        let (mut batches, mut seen) = (Vec::new(), HashMap::new());
        self.scan_without_hosts(true, each, |found, _| {
            let Some((batch, rows)) = found else { return Ok(()) };
            batches.push(batch);
            rows.into_iter().try_for_each(|row| see(&mut seen, &batches, row).map(|_| ()))
        })
    }

    /// Reads every row into memory; `each` gets the batch and the row within it. Pages must be named once.
    pub(crate) fn pages<T>(&self, each: impl Fn(&Batch, usize) -> Result<T>) -> Result<Vec<(String, T)>> {
        let mut batches: Vec<Batch> = Vec::new();
        self.scan(true, Ok, |batch, _| {
            batches.push(batch);
            Ok(())
        })?;
        let mut pages = Vec::new();
        let mut seen: HashMap<String, (usize, usize)> = HashMap::new();
        for (number, batch) in batches.iter().enumerate() {
            for row in 0..batch.rows {
                let key = see(&mut seen, &batches[..=number], row)?;
                pages.push((key, each(batch, row)?));
            }
        }
        Ok(pages)
    }
}

/// The bits of the names in a batch.
fn hashes(batch: &Batch, state: &RandomState) -> Vec<u64> {
    let mut hashes = Vec::with_capacity(batch.rows);
    if let Some(keys) = &batch.key {
        for_each_text(keys, |name| hashes.push(state.hash_one(name)));
    }
    hashes
}

/// The name in a row of the last batch, which must not be among those that were seen.
fn see(seen: &mut HashMap<String, (usize, usize)>, batches: &[Batch], row: usize) -> Result<String> {
    let Some(batch) = batches.last() else { return Ok(String::new()) };
    let key = batch.key.as_ref().map_or_else(String::new, |keys| cells::text(&cells::cells(keys), row));
    match seen.entry(key.clone()) {
        Entry::Occupied(first) => {
            let (first, first_row) = *first.get();
            Err(twice(&key, batch, row, &batches[first], first_row))
        }
        Entry::Vacant(place) => {
            place.insert((batches.len() - 1, row));
            Ok(key)
        }
    }
}

fn twice(key: &str, batch: &Batch, row: usize, first: &Batch, first_row: usize) -> anyhow::Error {
    let place = first.place(first_row);
    let on = if place.starts_with("line") { "on" } else { "in" };
    let file = &first.file.source.name;
    let file = if *file == batch.file.source.name { String::new() } else { format!(" of `{file}`") };
    batch.wrong_key(row, &format!("`{key}` is there twice, first {on} {place}{file}"))
}
