//! All pages: what is remembered of each, found by name.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use anyhow::Result;
use everfresh::estimate::Observation;
use everfresh::{Period, Unit};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::grouping::Sorter;
use super::model::Model;
use super::visits::{Fault, Key, Skipped, Told, Visits};

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
    numbers: HashTable<(Key, u32)>,
}

impl Names {
    fn name(&self, number: usize) -> &str {
        name(&self.text, &self.ends, number)
    }

    /// The number of a page, old or new.
    fn number<'a>(&mut self, key: Key, name: impl FnOnce() -> &'a str) -> u32 {
        match self.numbers.entry(key.0, |(known, _)| *known == key, |(known, _)| known.0) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(place) => {
                // A shard with more names would need more memory than there is.
                let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
                place.insert((key, number));
                self.text.push_str(name());
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

    /// Forgets the visits of all pages, but not their names.
    pub(super) fn begin(&mut self) {
        for page in &mut self.pages {
            let fresh = Page { state: std::mem::take(&mut page.state), ..Page::default() };
            *page = if page.visits > 0 { Page::default() } else { fresh };
        }
    }

    /// The same pages, without visits, with other states. The names go with them, until they are [given back](Self::take_back).
    pub(super) fn lend<T>(&mut self, state: impl Fn(usize) -> T) -> Shard<T> {
        let page = |number| Page { seen: 0, state: state(number), first: 0, last: 0, visits: 0, changes: 0 };
        let pages = (0..self.pages.len()).map(page).collect();
        Shard { names: std::mem::take(&mut self.names), pages, groups: std::mem::take(&mut self.groups) }
    }

    /// Takes the names back.
    pub(super) fn take_back<T>(&mut self, lent: Shard<T>) {
        self.names = lent.names;
        self.groups = lent.groups;
    }

    /// Takes in its visits of some batches; what was skipped of each.
    pub(super) fn take<M: Model<State = S>>(
        &mut self,
        shard: usize,
        batches: &[Visits],
        with: &With<'_, M>,
    ) -> Result<Vec<Skipped>> {
        let mut numbers = Vec::new();
        let one = |visits: &Visits| {
            let mut skipped = Skipped::default();
            self.numbers(visits, shard, with.groups, &mut numbers);
            for (visit, &number) in visits.shards[shard].iter().zip(&numbers) {
                if let Err(fault) = self.visit(number, visit.time, visit.seen, with)? {
                    skipped.add(fault, visit.row);
                }
            }
            Ok(skipped)
        };
        batches.iter().map(one).collect()
    }

    /// Hands its visits of some batches to a sorter; those that are earlier than the one before are counted.
    pub(super) fn gather(
        &mut self,
        shard: usize,
        batches: &[Visits],
        groups: &Groups,
        sorter: &mut Sorter,
    ) -> Result<Vec<Skipped>> {
        let mut numbers = Vec::new();
        let one = |visits: &Visits| {
            let mut earlier = Skipped::default();
            self.numbers(visits, shard, groups, &mut numbers);
            for (visit, &number) in visits.shards[shard].iter().zip(&numbers) {
                let page = &mut self.pages[number as usize];
                if visit.time < page.last {
                    earlier.add(Fault::Backwards, visit.row);
                }
                page.last = visit.time;
                sorter.push((number, visit.time, visit.seen))?;
            }
            Ok(earlier)
        };
        batches.iter().map(one).collect()
    }

    /// Takes in what a sorter has; the number of visits in the same second as another, with the first page, by name, and its time.
    pub(super) fn take_sorted<M: Model<State = S>>(
        &mut self,
        sorter: Sorter,
        with: &With<'_, M>,
    ) -> Result<(u64, Option<(String, u32)>)> {
        let (mut same, mut first): (u64, Option<(u32, u32)>) = (0, None);
        sorter.each(|(number, time, seen)| {
            if self.visit(number, time, seen, with)?.is_err() {
                same += 1;
                if first.is_none_or(|(page, _)| self.name(number as usize) < self.name(page as usize)) {
                    first = Some((number, time));
                }
            }
            Ok(())
        })?;
        Ok((same, first.map(|(number, time)| (self.name(number as usize).to_owned(), time))))
    }

    /// The numbers of the pages of a batch. Apart from what follows, so that the processor can look for several at a time.
    fn numbers(&mut self, visits: &Visits, shard: usize, groups: &Groups, numbers: &mut Vec<u32>) {
        numbers.clear();
        // Visits of a page often stand together.
        let mut before: Option<(Key, u32)> = None;
        for visit in &visits.shards[shard] {
            if let Some((_, number)) = before.filter(|(key, _)| *key == visit.key) {
                numbers.push(number);
                continue;
            }
            let row = visit.row as usize;
            let number = self.names.number(visit.key, || visits.names.value(row));
            if number as usize >= self.pages.len() {
                self.pages.push(Page::default());
                self.groups.extend(visits.groups.as_ref().map(|names| groups.number(names.value(row))));
            }
            numbers.push(number);
            before = Some((visit.key, number));
        }
    }

    #[inline]
    fn visit<M: Model<State = S>>(
        &mut self,
        number: u32,
        time: u32,
        seen: u64,
        with: &With<'_, M>,
    ) -> Result<Result<(), Fault>> {
        let group = self.group(number as usize);
        let observe = |state: &mut S, observation: &Observation| with.model.observe(group, state, observation);
        self.pages[number as usize].visit(time, seen, with.told, observe)
    }
}

/// What visits are taken in with.
pub(super) struct With<'a, M> {
    pub told: Told,
    pub model: &'a M,
    pub groups: &'a Groups,
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
                Told::LastModified if seen > u64::from(self.last) => {
                    Observation::dated(seconds(f64::from(time - self.last))?, seconds(f64::from(time) - seen as f64)?)?
                }
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
        assert_eq!(size_of::<Page<super::super::model::Watched>>(), 32);
    }
}
