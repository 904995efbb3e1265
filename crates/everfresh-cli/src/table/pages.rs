//! A table small enough to hold in memory, whose pages are named once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use anyhow::Result;

use super::{Batch, Input, cells};

impl Input {
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
            let Some(keys) = &batch.key else { continue };
            let keys = cells::cells(keys);
            for row in 0..batch.rows {
                let key = cells::text(&keys, row);
                match seen.entry(key.clone()) {
                    Entry::Occupied(first) => {
                        let (first, first_row) = *first.get();
                        return Err(twice(&key, batch, row, &batches[first], first_row));
                    }
                    Entry::Vacant(place) => place.insert((number, row)),
                };
                pages.push((key, each(batch, row)?));
            }
        }
        Ok(pages)
    }
}

fn twice(key: &str, batch: &Batch, row: usize, first: &Batch, first_row: usize) -> anyhow::Error {
    let place = first.place(first_row);
    let on = if place.starts_with("line") { "on" } else { "in" };
    let file = &first.file.source.name;
    let file = if *file == batch.file.source.name { String::new() } else { format!(" of `{file}`") };
    batch.wrong_key(row, &format!("`{key}` is there twice, first {on} {place}{file}"))
}
