//! All pages: what is remembered of each, found by name.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use anyhow::Result;
use everfresh::estimate::Observation;
use everfresh::{Period, Unit};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::model::Model;
use super::visits::{Fault, Reader, Skipped, Told, Visits};

/// What is remembered of a page: 24 bytes and the state of its estimator, which for gamma is 8.
#[derive(Clone, Default)]
pub(super) struct Page<S> {
    /// What the last visit saw: the hash of a digest.
    seen: u64,
    pub state: S,
    /// The first and the last visit, in seconds since 1970.
    pub first: u32,
    pub last: u32,
    pub visits: u32,
    pub changes: u32,
}

/// The pages whose names fall together.
pub(super) struct Shard<S> {
    names: Names,
    pub pages: Vec<Page<S>>,
    /// The number of each page's group, if there are groups.
    groups: Vec<u32>,
}

/// The names of pages, one behind the other, numbered in the order in which they come.
#[derive(Default)]
struct Names {
    text: String,
    ends: Vec<usize>,
    numbers: HashTable<u32>,
}

impl Names {
    fn name(&self, number: usize) -> &str {
        name(&self.text, &self.ends, number)
    }

    /// The number of a name, old or new.
    fn number(&mut self, hash: u64, wanted: &str, hash_of: impl Fn(&str) -> u64) -> u32 {
        let (text, ends) = (&self.text, &self.ends);
        let same = |number: &u32| name(text, ends, *number as usize) == wanted;
        match self.numbers.entry(hash, same, |number| hash_of(name(text, ends, *number as usize))) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                // A shard with more names would need more memory than there is.
                let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
                place.insert(number);
                self.text.push_str(wanted);
                self.ends.push(self.text.len());
                number
            }
        }
    }
}

fn name<'a>(text: &'a str, ends: &[usize], number: usize) -> &'a str {
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &text[start..ends[number]]
}

/// The numbers of groups, given as they come.
#[derive(Default)]
pub(super) struct Groups(RwLock<HashMap<String, u32>>);

impl Groups {
    fn number(&self, name: &str) -> u32 {
        // A writer does nothing that could fail half-way.
        if let Some(number) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return *number;
        }
        let mut numbers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX - 1);
        *numbers.entry(name.to_owned()).or_insert(next)
    }

    /// All names by number.
    pub(super) fn names(&self) -> Vec<String> {
        let numbers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut names = vec![String::new(); numbers.len()];
        for (name, number) in numbers.iter() {
            names[*number as usize].clone_from(name);
        }
        names
    }
}

/// The place of each name among all, in the order of the alphabet.
pub(super) fn ranks(names: &[String]) -> Vec<u32> {
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    sorted.sort_unstable_by_key(|number| &names[*number]);
    let mut ranks = vec![0; names.len()];
    for (rank, number) in (0..).zip(sorted) {
        ranks[number] = rank;
    }
    ranks
}

impl<S: Clone + Default> Shard<S> {
    pub(super) fn new() -> Shard<S> {
        Shard { names: Names::default(), pages: Vec::new(), groups: Vec::new() }
    }

    pub(super) fn name(&self, number: usize) -> &str {
        self.names.name(number)
    }

    pub(super) fn group(&self, number: usize) -> u32 {
        self.groups.get(number).copied().unwrap_or(0)
    }

    /// Forgets all visits, but not the names.
    pub(super) fn reset(&mut self) {
        self.pages.fill(Page::default());
    }

    /// The same pages, without visits, with other states.
    pub(super) fn with_states<T>(self, state: impl Fn(usize) -> T) -> Shard<T> {
        let page = |number| Page { seen: 0, state: state(number), first: 0, last: 0, visits: 0, changes: 0 };
        Shard { pages: (0..self.pages.len()).map(page).collect(), names: self.names, groups: self.groups }
    }

    /// Takes in its visits of a batch.
    pub(super) fn take<M: Model<State = S>>(
        &mut self,
        visits: &Visits,
        rows: &[u32],
        reader: &Reader,
        model: &M,
        groups: &Groups,
    ) -> Result<Skipped> {
        let mut skipped = Skipped::default();
        // Apart from what follows, so that the processor can look for several names at a time.
        let mut numbers = Vec::with_capacity(rows.len());
        for &row in rows {
            let row = row as usize;
            let number = self.names.number(visits.hashes[row], visits.names.value(row), |name| reader.hash(name));
            if number as usize >= self.pages.len() {
                self.pages.push(Page::default());
                self.groups.extend(visits.groups.as_ref().map(|names| groups.number(names.value(row))));
            }
            numbers.push(number);
        }
        for (&row, &number) in rows.iter().zip(&numbers) {
            let group = self.group(number as usize);
            let page = &mut self.pages[number as usize];
            let (time, seen) = (visits.times[row as usize], visits.seen[row as usize]);
            if let Err(fault) = page.visit(time, seen, reader.told, |state, seen| model.observe(group, state, seen))? {
                skipped.add(fault, row);
            }
        }
        Ok(skipped)
    }
}

impl<S> Page<S> {
    /// Takes in a visit, or says what is wrong with it.
    #[inline]
    fn visit(
        &mut self,
        time: u32,
        seen: u64,
        told: Told,
        observe: impl FnOnce(&mut S, &Observation),
    ) -> Result<Result<(), Fault>> {
        if self.visits == 0 {
            self.first = time;
        } else if time < self.last {
            return Ok(Err(Fault::Backwards));
        } else if time == self.last {
            return Ok(Err(Fault::SameSecond));
        } else {
            let between = |changed: bool| Observation::between(f64::from(self.last), f64::from(time), changed);
            let seconds = |seconds: f64| Period::of(seconds, Unit::Second);
            let observation = match told {
                Told::Digest => between(seen != self.seen)?,
                Told::Changed => between(seen != 0)?,
                Told::LastModified if seen > u64::from(self.last) => Observation::last_change(
                    seconds(f64::from(time - self.last))?,
                    seconds(f64::from(time) - seen as f64)?,
                )?,
                Told::LastModified => between(false)?,
            };
            self.changes = self.changes.saturating_add(u32::from(observation.has_changed()));
            observe(&mut self.state, &observation);
        }
        self.seen = seen;
        self.last = time;
        self.visits = self.visits.saturating_add(1);
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_32_bytes() {
        assert_eq!(size_of::<Page<everfresh::estimate::Evidence>>(), 32);
    }
}
