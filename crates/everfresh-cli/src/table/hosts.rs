//! The hosts of all rows as numbers: names are read in one scan, and scans after it read the numbers that it gave.

use std::io::{self, Write};

use anyhow::{Context, Result};
use arrow_array::{Array, ArrayRef, StringViewArray};
use bytes::Bytes;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use tempfile::{SpooledData, SpooledTempFile};

use super::source::Source;
use super::{Batch, as_texts};
use crate::output::machine;

/// Numbers of so many bytes are held, those of 32 million rows; more go to a temporary file.
const HELD: usize = 128 << 20;

const WIDTH: usize = size_of::<u32>();

/// The host of every row as a number. Numbers are given in the order in which names stand in the table, whatever threads do.
pub(crate) struct HostNumbers {
    names: Vec<String>,
    /// The first row of each part of the table.
    starts: HashMap<(usize, u64), u64, RandomState>,
    numbers: Source,
}

/// The hosts of one batch, numbered within it.
pub(crate) struct SomeHosts {
    names: StringViewArray,
    /// For each number a row that has its name.
    firsts: Vec<usize>,
    numbers: Vec<u32>,
    part: ((usize, u64), u64),
}

/// Numbers as they are given, batch by batch in the order of the rows.
pub(crate) struct HostCount {
    known: HashMap<String, u32, RandomState>,
    starts: HashMap<(usize, u64), u64, RandomState>,
    rows: u64,
    numbers: SpooledTempFile,
}

impl SomeHosts {
    /// Numbers the hosts of a batch, in any thread.
    pub(crate) fn of(batch: &Batch) -> SomeHosts {
        let none: ArrayRef = arrow_array::new_empty_array(&arrow_schema::DataType::Utf8View);
        let names = as_texts(batch.host.as_ref().unwrap_or(&none));
        let (mut firsts, mut numbers) = (Vec::new(), Vec::with_capacity(names.len()));
        let mut known: HashMap<&str, u32, RandomState> = HashMap::default();
        let mut last = None;
        for row in 0..names.len() {
            let name = names.value(row);
            // Pages of a host often stand together.
            let number = match last {
                Some((same, number)) if same == name => number,
                _ => *known.entry(name).or_insert_with(|| {
                    firsts.push(row);
                    next_number(firsts.len() - 1)
                }),
            };
            last = Some((name, number));
            numbers.push(number);
        }
        drop(known);
        SomeHosts { names, firsts, numbers, part: batch.part() }
    }
}

/// There are fewer hosts than 2^32, since their names are held.
fn next_number(known: usize) -> u32 {
    u32::try_from(known).unwrap_or(u32::MAX - 1)
}

impl HostCount {
    pub(crate) fn new() -> HostCount {
        HostCount::holding(HELD)
    }

    fn holding(bytes: usize) -> HostCount {
        let numbers = SpooledTempFile::new(bytes);
        HostCount { known: HashMap::default(), starts: HashMap::default(), rows: 0, numbers }
    }

    /// Takes the next batch.
    pub(crate) fn add(&mut self, some: &SomeHosts) -> Result<()> {
        let number = |row: &usize| {
            let (name, next) = (some.names.value(*row), next_number(self.known.len()));
            *self.known.entry_ref(name).or_insert(next)
        };
        let given: Vec<u32> = some.firsts.iter().map(number).collect();
        let bytes: Vec<u8> = some.numbers.iter().flat_map(|number| given[*number as usize].to_le_bytes()).collect();
        self.numbers.write_all(&bytes).map_err(cannot_keep)?;
        let (part, first) = some.part;
        self.starts.entry(part).or_insert(self.rows - first);
        self.rows += some.numbers.len() as u64;
        Ok(())
    }

    /// What all batches gave.
    pub(crate) fn finish(self) -> Result<HostNumbers> {
        let mut names = vec![String::new(); self.known.len()];
        for (name, number) in self.known {
            names[number as usize] = name;
        }
        let numbers = match self.numbers.into_inner() {
            SpooledData::InMemory(bytes) => Source::memory("the hosts", Bytes::from(bytes.into_inner())),
            SpooledData::OnDisk(file) => Source::file("the hosts".to_owned(), file)?,
        };
        Ok(HostNumbers { names, starts: self.starts, numbers })
    }
}

fn cannot_keep(error: io::Error) -> anyhow::Error {
    machine("cannot keep the numbers of hosts in a temporary file", error)
}

impl HostNumbers {
    /// The names of all hosts, by number.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The hosts of a batch of the same table.
    pub(crate) fn of(&self, batch: &Batch) -> Result<Vec<u32>> {
        let (part, first) = batch.part();
        let start = self.starts.get(&part).context("the table has changed while it was read")? + first;
        let bytes = self.numbers.bytes(start * WIDTH as u64, batch.rows * WIDTH).map_err(cannot_keep)?;
        Ok(bytes.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Columns, Input};
    use super::*;

    fn columns() -> Columns {
        let (key, host) = (Some("page".to_owned()), Some("host".to_owned()));
        Columns { key, host, numbers: Vec::new(), texts: Vec::new(), unit: everfresh::Unit::Day }
    }

    #[test]
    fn numbers_are_those_of_the_names_from_memory_and_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for file in 0..3 {
            // Several blocks each.
            let row = |row: usize| format!("{file}/{row},{}\n", (row * 7919 + file) % 1000 / 7);
            let text: String = std::iter::once("page,host\n".to_owned()).chain((0..400_000).map(row)).collect();
            std::fs::write(folder.path().join(format!("{file}.csv")), text).unwrap();
        }
        let input = Input::open(&[folder.path().to_owned()], columns()).unwrap();
        for held in [usize::MAX, 1 << 16] {
            let mut count = HostCount::holding(held);
            let mut names = Vec::new();
            let each = |batch: Batch| Ok((SomeHosts::of(&batch), as_texts(batch.host.as_ref().unwrap())));
            let collect = |(some, texts): (SomeHosts, StringViewArray), _| {
                names.extend(texts.iter().flatten().map(str::to_owned));
                count.add(&some)
            };
            input.scan(false, each, collect).unwrap();
            let hosts = count.finish().unwrap();
            assert_eq!(hosts.names().len(), 143);
            assert_eq!(hosts.names()[..3], ["0", "131", "119"]);
            let mut found = Vec::new();
            let collect = |numbers: Vec<u32>, _| {
                found.extend(numbers.iter().map(|number| hosts.names()[*number as usize].clone()));
                Ok(())
            };
            input.scan_without_hosts(true, |batch| hosts.of(&batch), collect).unwrap();
            assert!(found == names, "{held}");
        }
    }
}
