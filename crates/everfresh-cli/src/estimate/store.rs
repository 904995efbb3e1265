//! All pages: what is remembered of each, found by name.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use anyhow::Result;
use everfresh::estimate::{Clock, Observation, Seen, is_certain};
use everfresh::{Period, Unit};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::grouping::Sorter;
use super::hours::Hours;
use super::model::Model;
use super::visits::{Fault, GroupName, Key, Skipped, Told, Visits};

/// What is remembered of a page: 24 bytes and the state of its estimator, which for gamma is 8.
#[derive(Clone, Default)]
pub(super) struct Page<S> {
    /// What the last visit saw: the hash of a digest, or a flag. Where changes are dated, the seconds from the visits before to those that
    /// found one without a date.
    seen: u32,
    /// Changes that are reckoned with apart: see [`LeftOut`] and, where changes are dated, [`Undated`].
    apart: u32,
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
    /// Some of the numbers of groups, to be known without waiting for others.
    known_groups: HashMap<String, u32, foldhash::fast::RandomState>,
}

/// As many groups are known to a shard at a time.
const KNOWN_GROUPS: usize = 4096;

/// The names of pages, one behind the other, numbered in the order in which they come.
#[derive(Default)]
struct Names {
    text: String,
    ends: Vec<usize>,
    numbers: HashTable<Known>,
}

/// The number of a page, by its key.
struct Known {
    hash: u64,
    more: u32,
    number: u32,
}

impl Names {
    fn name(&self, number: usize) -> &str {
        name(&self.text, &self.ends, number)
    }

    /// The number of a page, old or new.
    fn number<'a>(&mut self, key: Key, name: impl FnOnce() -> &'a str) -> u32 {
        let Key { hash, more } = key;
        let is_same = |known: &Known| known.hash == hash && known.more == more;
        match self.numbers.entry(hash, is_same, |known| known.hash) {
            Entry::Occupied(known) => known.get().number,
            Entry::Vacant(place) => {
                // A shard with more names would need more memory than there is.
                let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
                place.insert(Known { hash, more, number });
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
pub(super) struct Groups {
    numbers: RwLock<HashMap<String, u32>>,
    /// Is each a group and a host?
    are_pairs: bool,
}

impl Groups {
    pub(super) fn new(are_pairs: bool) -> Groups {
        Groups { numbers: RwLock::default(), are_pairs }
    }

    fn number(&self, name: &str) -> u32 {
        // A writer does nothing that could fail half-way.
        if let Some(number) = self.numbers.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return *number;
        }
        let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX - 1);
        *numbers.entry(name.to_owned()).or_insert(next)
    }

    /// All names by number.
    pub(super) fn names(&self) -> Vec<GroupName> {
        let numbers = self.numbers.read().unwrap_or_else(PoisonError::into_inner);
        let mut names = vec![GroupName::default(); numbers.len()];
        for (name, number) in numbers.iter() {
            names[*number as usize] = if self.are_pairs { GroupName::pair(name) } else { GroupName::lone(name) };
        }
        names
    }
}

impl<S: Clone + Default> Shard<S> {
    pub(super) fn new() -> Shard<S> {
        Shard { names: Names::default(), pages: Vec::new(), groups: Vec::new(), known_groups: HashMap::default() }
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
        let page = |number| Page { seen: 0, apart: 0, state: state(number), first: 0, last: 0, visits: 0, changes: 0 };
        let pages = (0..self.pages.len()).map(page).collect();
        let (names, groups) = (std::mem::take(&mut self.names), std::mem::take(&mut self.groups));
        Shard { names, pages, groups, known_groups: HashMap::default() }
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
            let mut skipped = self.numbers(visits, shard, with.groups, &mut numbers);
            for (visit, &number) in visits.divided.visits[shard].iter().zip(&numbers) {
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
            let mut earlier = self.numbers(visits, shard, groups, &mut numbers);
            for (visit, &number) in visits.divided.visits[shard].iter().zip(&numbers) {
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

    /// Takes in what a sorter has, the visits of a second as one; what is to be said of them.
    pub(super) fn take_sorted<M: Model<State = S>>(
        &mut self,
        sorter: Sorter,
        with: &With<'_, M>,
    ) -> Result<ToldOfSorted> {
        let (mut told, mut at, mut seen) = (ToldOfSorted::default(), None, Vec::new());
        sorter.each(|(number, time, one)| {
            if let Some((page, second)) = at.filter(|at| *at != (number, time)) {
                self.visit_second(page, second, &mut seen, with, &mut told)?;
            }
            at = Some((number, time));
            seen.push(one);
            Ok(())
        })?;
        if let Some((page, second)) = at {
            self.visit_second(page, second, &mut seen, with, &mut told)?;
        }
        Ok(told)
    }

    /// Takes in all that was seen of a page in a second.
    fn visit_second<M: Model<State = S>>(
        &mut self,
        number: u32,
        time: u32,
        seen: &mut Vec<u32>,
        with: &With<'_, M>,
        told: &mut ToldOfSorted,
    ) -> Result<()> {
        let visits = seen.len();
        seen.sort_unstable();
        seen.dedup();
        let name = self.names.name(number as usize);
        told[0].add(visits - seen.len(), name, time);
        told[1].add(seen.len() - 1, name, time);
        let one = self.pages[number as usize].one_of(seen, with.told);
        seen.clear();
        // The sorter gives the seconds of a page in order: there is nothing else to be said.
        if self.visit(number, time, one, with)? == Err(Fault::OtherDate) {
            told[2].add(1, self.names.name(number as usize), time);
        }
        Ok(())
    }

    /// The numbers of the pages of a batch, and which rows name another group than the first of their page. Apart from what follows, so that
    /// the processor can look for several at a time.
    fn numbers(&mut self, visits: &Visits, shard: usize, groups: &Groups, numbers: &mut Vec<u32>) -> Skipped {
        numbers.clear();
        let mut skipped = Skipped::default();
        // Visits of a page often stand together.
        let mut before: Option<(Key, u32)> = None;
        // In the order of the rows: the first of a page names its group, skipped or not.
        let mut named = visits.divided.named[shard].iter().peekable();
        for visit in &visits.divided.visits[shard] {
            while let Some((key, row)) = named.next_if(|(_, row)| *row < visit.row) {
                self.name_page(*key, *row, visits, groups, &mut skipped);
            }
            let number = match before.filter(|(key, _)| *key == visit.key()) {
                Some((_, number)) => number,
                None => self.names.number(visit.key(), || visits.names.value(visit.row as usize)),
            };
            if !self.is_of_its_group(number, visits, visit.row, groups) {
                skipped.add(Fault::OtherGroup, visit.row);
            }
            numbers.push(number);
            before = Some((visit.key(), number));
        }
        named.for_each(|(key, row)| self.name_page(*key, *row, visits, groups, &mut skipped));
        skipped
    }

    /// All that a row tells that is skipped: that there is such a page.
    #[cold]
    fn name_page(&mut self, key: Key, row: u32, visits: &Visits, groups: &Groups, skipped: &mut Skipped) {
        let number = self.names.number(key, || visits.names.value(row as usize));
        if !self.is_of_its_group(number, visits, row, groups) {
            skipped.add(Fault::OtherGroup, row);
        }
    }

    /// Is the group of a row that of its page? That of a new page it is.
    #[inline]
    fn is_of_its_group(&mut self, number: u32, visits: &Visits, row: u32, groups: &Groups) -> bool {
        let is_new = number as usize >= self.pages.len();
        if is_new {
            self.pages.push(Page::default());
        }
        let Some(names) = &visits.groups else { return true };
        let name = names.value(row as usize);
        let group = match self.known_groups.get(name) {
            Some(group) => *group,
            None => self.learn_group(name, groups),
        };
        if is_new {
            self.groups.push(group);
        }
        self.groups[number as usize] == group
    }

    #[cold]
    fn learn_group(&mut self, name: &str, groups: &Groups) -> u32 {
        if self.known_groups.len() == KNOWN_GROUPS {
            self.known_groups.clear();
        }
        let group = groups.number(name);
        self.known_groups.insert(name.to_owned(), group);
        group
    }

    /// Rows are changes, and known up to this second: until then nothing more happened.
    pub(super) fn end<M: Model<State = S>>(&mut self, second: u32, model: &M) -> Result<()> {
        for number in 0..self.pages.len() {
            let (group, page) = (self.group(number), &mut self.pages[number]);
            if page.visits > 0 && page.last < second {
                let quiet = Observation::between(f64::from(page.last), f64::from(second), false)?;
                model.observe(group, &mut page.state, &quiet);
            }
        }
        Ok(())
    }

    #[inline]
    fn visit<M: Model<State = S>>(
        &mut self,
        number: u32,
        time: u32,
        seen: u32,
        with: &With<'_, M>,
    ) -> Result<Result<(), Fault>> {
        let group = self.group(number as usize);
        let observe = |state: &mut S, observation: &Observation| with.model.observe(group, state, observation);
        let clock = with.hours.and_then(|hours| hours.clock(group));
        self.pages[number as usize].visit((time, seen), with.told, M::LEAVES_OUT, clock, observe)
    }
}

/// What visits are taken in with.
pub(super) struct With<'a, M> {
    pub told: Told,
    pub model: &'a M,
    pub groups: &'a Groups,
    pub hours: Option<&'a Hours>,
}

/// What is said of visits that were sorted: those that were the same as another of their second, those that were not, and those with another
/// date that is no later.
pub(super) type ToldOfSorted = [SomeVisits; 3];

/// How many visits, and the first page by name, with its time.
#[derive(Default)]
pub(super) struct SomeVisits {
    pub visits: u64,
    pub first: Option<(String, u32)>,
}

impl SomeVisits {
    fn add(&mut self, visits: usize, page: &str, time: u32) {
        self.visits += visits as u64;
        if visits > 0 && self.first.as_ref().is_none_or(|(first, at)| (page, time) < (first, *at)) {
            self.first = Some((page.to_owned(), time));
        }
    }

    pub(super) fn merge(&mut self, other: SomeVisits) {
        self.visits += other.visits;
        self.first = [self.first.take(), other.first].into_iter().flatten().min();
    }
}

/// Changes that were certain and tell nothing, packed: how many, at most 63, and the time from the visits before, in units of 64 seconds. What is
/// left of a unit stays with the other changes.
struct LeftOut;

impl LeftOut {
    const UNIT: u32 = 64;
    const MOST: u32 = 63;
    /// Shorter times do not count: what is left of a unit would.
    const SHORTEST: u32 = 3600;

    fn packed(changes: u32, units: u32) -> u32 {
        changes << 26 | units.min((1 << 26) - 1)
    }

    /// How many, and units.
    const fn parts(packed: u32) -> (u32, u32) {
        (packed >> 26, packed & ((1 << 26) - 1))
    }
}

/// Where changes are dated, packed: how many dates said nothing, 24 bits, and 8 bits of the last date, by which another is known but for
/// one in 256.
struct Undated;

impl Undated {
    const MOST: u32 = (1 << 24) - 1;

    const fn packed(changes: u32, date: u8) -> u32 {
        changes << 8 | date as u32
    }

    const fn parts(packed: u32) -> (u32, u8) {
        let [date, ..] = packed.to_le_bytes();
        (packed >> 8, date)
    }

    /// Dates often differ by whole hours or days: all of their bits count.
    fn bits(date: u32) -> u8 {
        let [.., highest] = u64::from(date).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        highest
    }
}

impl<S> Page<S> {
    /// The changes whose dates say nothing, where changes are dated: how many, and the seconds from the visits before.
    pub(super) const fn undated(&self) -> (u32, u32) {
        (Undated::parts(self.apart).0, self.seen)
    }

    fn add_undated(&mut self, elapsed: u32) {
        let (changes, date) = Undated::parts(self.apart);
        self.apart = Undated::packed((changes + 1).min(Undated::MOST), date);
        self.seen = self.seen.saturating_add(elapsed);
    }

    /// The changes that were certain, where changes are not dated: how many, and the seconds from the visits before.
    pub(super) const fn left_out(&self) -> (u32, u32) {
        let (changes, units) = LeftOut::parts(self.apart);
        (changes, units * LeftOut::UNIT)
    }

    /// Leaves out a change, if it was certain and there is room to remember that.
    #[inline]
    fn leaves_out(&mut self, observation: &Observation) -> Result<bool> {
        let (elapsed, (left, units)) = (whole(observation.elapsed()), LeftOut::parts(self.apart));
        if observation.seen() != Seen::Changed || left == LeftOut::MOST || elapsed < LeftOut::SHORTEST {
            return Ok(false);
        }
        let watched = (self.last - self.first).saturating_sub(units * LeftOut::UNIT);
        let watched = Period::of(f64::from(watched), Unit::Second)?;
        let is_certain = is_certain(f64::from(self.changes - left), watched, observation.elapsed());
        if is_certain {
            self.apart = LeftOut::packed(left + 1, units + elapsed / LeftOut::UNIT);
        }
        Ok(is_certain)
    }

    /// What counts of all that was seen in one second, whatever the order: the latest date, or a change rather than none.
    fn one_of(&self, seen: &[u32], told: Told) -> u32 {
        let before = self.seen;
        let is_new = |seen: &&u32| self.visits == 0 || told != Told::Digest || **seen != before;
        seen.iter().filter(is_new).max().copied().unwrap_or(before)
    }

    /// What a visit saw, later than the last.
    #[inline]
    fn observed(&self, (time, seen): (u32, u32), told: Told) -> Result<Observation> {
        let between = |changed: bool| Observation::between(f64::from(self.last), f64::from(time), changed);
        let seconds = |seconds: f64| Period::of(seconds, Unit::Second);
        Ok(match told {
            Told::Digest => between(seen != self.seen)?,
            Told::Changed => between(seen != 0)?,
            Told::LastModified if seen > self.last => {
                Observation::dated(seconds(f64::from(time - self.last))?, seconds(f64::from(time) - f64::from(seen))?)?
            }
            // Another date, though no later than the visit before: there was a change, and its time is not known.
            Told::LastModified => between(Undated::bits(seen) != Undated::parts(self.apart).1)?,
            Told::EveryChange => Observation::changes(seconds(f64::from(time - self.last))?, 1)?,
        })
    }

    /// Takes in a visit, or says what is wrong with it or else to be said of it.
    #[inline]
    fn visit(
        &mut self,
        (time, seen): (u32, u32),
        told: Told,
        may_leave_out: bool,
        clock: Option<&Clock>,
        observe: impl FnOnce(&mut S, &Observation),
    ) -> Result<Result<(), Fault>> {
        let mut said = Ok(());
        if self.visits == 0 {
            self.first = time;
        } else if time < self.last {
            return Ok(Err(Fault::Backwards));
        } else if time == self.last {
            // What a dated visit saw is not remembered: it may have been the same or not.
            let is_same = told == Told::EveryChange || (told.is_bare() && seen == self.seen);
            return Ok(Err(if is_same { Fault::SameSecond } else { Fault::Differs }));
        } else {
            let observation = self.observed((time, seen), told)?;
            let observation = clock.map_or(observation, |clock| clock.observed(f64::from(self.last), &observation));
            if told == Told::LastModified && observation.seen() == Seen::Changed {
                self.add_undated(whole(observation.elapsed()));
                said = if seen > self.last { said } else { Err(Fault::OtherDate) };
            }
            if !(may_leave_out && told.is_bare() && self.leaves_out(&observation)?) {
                observe(&mut self.state, &observation);
            }
            self.changes = self.changes.saturating_add(u32::from(observation.has_changed()));
        }
        self.remember(seen, told);
        self.last = time;
        self.visits = self.visits.saturating_add(1);
        Ok(said)
    }

    /// What the next visit is compared with.
    #[inline]
    fn remember(&mut self, seen: u32, told: Told) {
        match told {
            Told::Digest | Told::Changed => self.seen = seen,
            Told::LastModified => {
                self.apart = Undated::packed(Undated::parts(self.apart).0, Undated::bits(seen));
            }
            Told::EveryChange => {}
        }
    }
}

/// Whole seconds, at least one: no visit is in the same second as the one before.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times fit")]
pub(super) fn whole(period: Period) -> u32 {
    (period.seconds() + 0.5).max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_32_bytes() {
        assert_eq!(size_of::<Page<super::super::model::Watched>>(), 32);
    }
}
