//! Visits as a batch of a table has them, ready to be taken in.

use anyhow::{Context as _, Result, bail};
use arrow_array::{Array as _, StringViewArray};
use foldhash::quality::{FixedState, RandomState};
use std::hash::BuildHasher;
use std::sync::{Mutex, PoisonError};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::args::{RowsArg, VisitArgs};
use crate::table::{self, Batch, Columns, Input, Quantity, Wanted};

/// The numbers of the wanted columns, and of the texts.
const TIME: usize = 0;
const CHANGED: usize = 1;
const LAST_MODIFIED: usize = 2;
const DIGEST: usize = 0;
const GROUPS: [usize; 2] = [1, 2];

/// In so many parts pages are kept, by their names: each fits a cache, and several are worked on at a time.
pub(super) const SHARDS: usize = 64;

/// Which column says what a visit saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Told {
    Digest,
    Changed,
    LastModified,
    /// None: every row is a change, at its time.
    EveryChange,
}

impl Told {
    /// Are visits known that may have found a change or not, without the time of the change?
    pub(super) fn is_bare(self) -> bool {
        matches!(self, Told::Digest | Told::Changed)
    }
}

/// Why a visit is skipped, that it comes too late, or what else is to be said of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    Backwards,
    SameSecond,
    Future,
    Empty,
    AfterVisit,
    /// In the same second as another that saw something else.
    Differs,
    /// Of another group than the first of its page.
    OtherGroup,
    /// With another date of the last change than the visit before, though no later than that.
    OtherDate,
}

pub(super) const FAULTS: [Fault; 8] = [
    Fault::Backwards,
    Fault::SameSecond,
    Fault::Future,
    Fault::Empty,
    Fault::AfterVisit,
    Fault::Differs,
    Fault::OtherGroup,
    Fault::OtherDate,
];

/// How many visits are skipped for what, and the row of the first of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skipped([(u64, u32); FAULTS.len()]);

impl Skipped {
    #[cold]
    pub(super) fn add(&mut self, fault: Fault, row: u32) {
        let (count, first) = &mut self.0[fault as usize];
        *first = if *count == 0 { row } else { row.min(*first) };
        *count += 1;
    }

    pub(super) fn merge(&mut self, other: &Skipped) {
        for ((count, first), (more, row)) in self.0.iter_mut().zip(&other.0) {
            *first = if *count == 0 || (*more > 0 && row < first) { *row } else { *first };
            *count += more;
        }
    }

    /// The number of visits skipped for a fault, and the first row.
    pub(super) fn of(&self, fault: Fault) -> (u64, u32) {
        self.0[fault as usize]
    }
}

/// The columns of a table of visits, or of changes.
pub(super) fn columns(args: &VisitArgs, rows: RowsArg) -> Columns {
    let told = &args.told;
    let some = rows == RowsArg::Changes
        || told.digest_column.is_some()
        || told.changed_column.is_some()
        || told.last_modified_column.is_some();
    // One that was named stands alone: the others are not looked for.
    let name = |asked: &Option<String>, default: &str| match asked {
        Some(name) => (name.clone(), true),
        None => (if some { String::new() } else { default.to_owned() }, false),
    };
    let number = |asked: &Option<String>, default: &str, quantity: Quantity| {
        let (name, required) = name(asked, default);
        Wanted { name, required, quantity, beside: None }
    };
    let [group, host] = group_names(args);
    Columns {
        key: Some(args.page_column.clone()),
        host: None,
        numbers: vec![
            Wanted::required(&args.time_column, Quantity::Time { may_be_absent: false }),
            number(&told.changed_column, "changed", Quantity::Flag),
            number(&told.last_modified_column, "last_modified", Quantity::Time { may_be_absent: true }),
        ],
        texts: vec![
            name(&told.digest_column, "digest"),
            (group, args.group_column.is_some()),
            (host, args.host_column.is_some()),
        ],
        unit: everfresh::Unit::Second,
    }
}

/// Which of the columns says what a visit saw: there must be one, unless rows are changes.
pub(super) fn told(input: &Input, rows: RowsArg) -> Result<Told> {
    if rows == RowsArg::Changes {
        return Ok(Told::EveryChange);
    }
    let there: Vec<(Told, &str)> = [
        (Told::Digest, "digest", input.has_text(DIGEST)),
        (Told::Changed, "changed", input.has(CHANGED)),
        (Told::LastModified, "last_modified", input.has(LAST_MODIFIED)),
    ]
    .into_iter()
    .filter_map(|(told, name, is_there)| is_there.then_some((told, name)))
    .collect();
    match there.as_slice() {
        [(told, _)] => Ok(*told),
        [] => {
            let columns: Vec<String> = input.column_names().iter().map(|name| format!("`{name}`")).collect();
            bail!(
                "{}: there is no column `digest`, `changed` or `last_modified`: the columns are {}",
                input.name(),
                columns.join(", ")
            )
        }
        [(_, a), (_, b), ..] => bail!(
            "{}: there are columns `{a}` and `{b}`: say which one counts, with --{}-column or --{}-column",
            input.name(),
            a.replace('_', "-"),
            b.replace('_', "-")
        ),
    }
}

/// What the columns of groups and of hosts are called; a column that was named as that of groups is not looked for as that of hosts.
fn group_names(args: &VisitArgs) -> [String; 2] {
    let group = args.group_column.clone().unwrap_or_else(|| "group".to_owned());
    let host = args.host_column.clone().unwrap_or_else(|| "host".to_owned());
    let is_one = group == host;
    match args.group_column {
        None if is_one => [String::new(), host],
        _ if is_one => [group, String::new()],
        _ => [group, host],
    }
}

/// The names of the columns of groups and of hosts, as far as there are any.
pub(super) fn group_columns(input: &Input, args: &VisitArgs) -> Vec<String> {
    GROUPS.into_iter().zip(group_names(args)).filter(|(text, _)| input.has_text(*text)).map(|(_, name)| name).collect()
}

/// Has the table groups and hosts?
pub(super) fn are_pairs(input: &Input) -> bool {
    GROUPS.into_iter().all(|text| input.has_text(text))
}

/// Stands behind the length of a group.
const BEHIND: char = ':';

/// The group and the host of each row as one text, which no other pair has, whatever letters they are of.
fn pairs(groups: &StringViewArray, hosts: &StringViewArray) -> StringViewArray {
    let pair = |row: usize| {
        let group = groups.value(row);
        format!("{}{BEHIND}{group}{}", group.len(), hosts.value(row))
    };
    StringViewArray::from_iter_values((0..groups.len()).map(pair))
}

/// What a group is called: by its own name, or a host of it by both.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupName {
    pub group: String,
    /// Where the table has groups and hosts.
    pub host: Option<String>,
}

impl GroupName {
    /// A lone group.
    pub(super) fn lone(group: &str) -> GroupName {
        GroupName { group: group.to_owned(), host: None }
    }

    /// A group and a host, as [`pairs`] writes them.
    pub(super) fn pair(text: &str) -> GroupName {
        let both = text.split_once(BEHIND).and_then(|(length, both)| both.split_at_checked(length.parse().ok()?));
        both.map_or_else(
            || GroupName::lone(text),
            |(group, host)| GroupName { group: group.to_owned(), host: Some(host.to_owned()) },
        )
    }

    /// Its names, one for each column.
    pub(super) fn parts(&self) -> [Option<&str>; 2] {
        [Some(&self.group), self.host.as_deref()]
    }
}

/// How visits are read.
pub(super) struct Reader {
    pub told: Told,
    /// Later visits are in the future.
    pub now: u32,
    /// A hash of a name stands for it: nobody who does not know the seed finds two names with the same.
    seed: u64,
    /// What batches were divided into that are taken in: to be filled again, since memory that is new has to be cleared first.
    spare: Mutex<Vec<Divided>>,
}

/// What stands for the name of a page: 96 bits, of which two of a billion pages are the same once in a hundred billion tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Key {
    pub hash: u64,
    pub more: u32,
}

impl Key {
    #[allow(clippy::cast_possible_truncation)]
    fn of(name: &str, seed: u64) -> Key {
        let bits = xxh3_128_with_seed(name.as_bytes(), seed);
        Key { hash: bits as u64, more: (bits >> 64) as u32 }
    }

    /// By bits that the tables do not use.
    const fn shard(self) -> usize {
        self.more as usize % SHARDS
    }
}

/// Room for so many times the rows of a batch is kept for another.
const MOST_ROOM: usize = 4;

/// One row: 24 bytes.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    hash: u64,
    more: u32,
    /// 32 bits of the hash of the digest, whether it changed, or the second of the last change.
    pub seen: u32,
    /// In seconds since 1970.
    pub time: u32,
    /// In the batch.
    pub row: u32,
}

impl Visit {
    pub(super) const fn key(&self) -> Key {
        Key { hash: self.hash, more: self.more }
    }
}

/// The rows of a batch, by shards.
pub(super) struct Divided {
    /// The visits of each shard, in the order of the rows.
    pub visits: Vec<Vec<Visit>>,
    /// The rows of each shard that are skipped: all that they tell is that there is such a page.
    pub named: Vec<Vec<(Key, u32)>>,
}

impl Divided {
    fn new(rows: usize) -> Divided {
        Divided {
            visits: (0..SHARDS).map(|_| Vec::with_capacity(rows / SHARDS * 5 / 4)).collect(),
            named: vec![Vec::new(); SHARDS],
        }
    }

    fn clear(&mut self) {
        self.visits.iter_mut().for_each(Vec::clear);
        self.named.iter_mut().for_each(Vec::clear);
    }

    /// Rows that there is room for: more than a batch has, where pages of other batches fell together otherwise.
    fn room(&self) -> usize {
        let visits: usize = self.visits.iter().map(Vec::capacity).sum();
        visits + self.named.iter().map(Vec::capacity).sum::<usize>()
    }
}

/// The visits of a batch.
pub(super) struct Visits {
    pub batch: Batch,
    pub names: StringViewArray,
    pub groups: Option<StringViewArray>,
    pub divided: Divided,
    pub skipped: Skipped,
}

impl Reader {
    pub(super) fn new(told: Told, now: u32) -> Reader {
        Reader { told, now, seed: RandomState::default().hash_one(0), spare: Mutex::default() }
    }

    /// Some batches are taken in.
    pub(super) fn take_back(&self, batches: Vec<Visits>) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        for Visits { batch, mut divided, .. } in batches {
            if divided.room() <= MOST_ROOM * batch.rows {
                divided.clear();
                spare.push(divided);
            }
        }
    }

    /// All are taken in: nothing is filled again.
    pub(super) fn end(&self) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Prepares a batch; what needs no other visit to be known as a fault is skipped here.
    pub(super) fn visits(&self, mut batch: Batch) -> Result<Visits> {
        let names = table::as_texts(&batch.key.take().context("no names were read")?);
        let times = batch.numbers[TIME].take().unwrap_or_default();
        let groups = match GROUPS.map(|text| batch.texts[text].take().map(|names| table::as_texts(&names))) {
            [Some(groups), Some(hosts)] => Some(pairs(&groups, &hosts)),
            [groups, hosts] => groups.or(hosts),
        };
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut visits = Visits {
            divided: spare.unwrap_or_else(|| Divided::new(times.len())),
            groups,
            skipped: Skipped::default(),
            names,
            batch,
        };
        match self.told {
            Told::Digest => {
                let digests = visits.batch.texts[DIGEST].take().context("no digests were read")?;
                let digests = table::as_texts(&digests);
                let mut before = Repeated::default();
                self.divide(&mut visits, &times, |row, _| {
                    // The same in every run: where several digests are of one second, their hashes decide. Of two digests in a row one pair
                    // in four billion is taken for the same; there is no room for more bits.
                    let hash = before.value(&digests, row, |digest| match digest {
                        "" => None,
                        #[allow(clippy::cast_possible_truncation)]
                        digest => Some((FixedState::default().hash_one(digest) >> 32) as u32),
                    });
                    hash.ok_or(Fault::Empty)
                });
            }
            Told::Changed => {
                let changed = visits.batch.numbers[CHANGED].take().unwrap_or_default();
                self.divide(&mut visits, &times, |row, _| match changed[row] {
                    flag if flag.is_nan() => Err(Fault::Empty),
                    flag => Ok(u32::from(flag != 0.0)),
                });
            }
            Told::EveryChange => self.divide(&mut visits, &times, |_, _| Ok(0)),
            Told::LastModified => {
                let dates = visits.batch.numbers[LAST_MODIFIED].take().unwrap_or_default();
                self.divide(&mut visits, &times, |row, time| match dates[row] {
                    date if date.is_nan() => Err(Fault::Empty),
                    date if whole(date) > time => Err(Fault::AfterVisit),
                    date => Ok(whole(date)),
                });
            }
        }
        Ok(visits)
    }

    fn divide(
        &self,
        visits: &mut Visits,
        times: &[f64],
        mut seen: impl FnMut(usize, u32) -> std::result::Result<u32, Fault>,
    ) {
        let mut before = Repeated::default();
        for (row, time) in (0_u32..).zip(times) {
            let time = whole(*time);
            let told = if time > self.now { Err(Fault::Future) } else { seen(row as usize, time) };
            let key = before.value(&visits.names, row as usize, |name| Key::of(name, self.seed));
            let (shard, Key { hash, more }) = (key.shard(), key);
            match told {
                Ok(seen) => visits.divided.visits[shard].push(Visit { hash, more, seen, time, row }),
                Err(fault) => {
                    visits.skipped.add(fault, row);
                    visits.divided.named[shard].push((key, row));
                }
            }
        }
    }
}

/// What was made of a text. Texts from a dictionary stand in one place however often they come: most rows by page, and most digests, which do
/// not change, need not be hashed again.
#[derive(Default)]
struct Repeated<T>(Option<(u128, T)>);

impl<T: Copy> Repeated<T> {
    #[inline]
    fn value(&mut self, texts: &StringViewArray, row: usize, make: impl FnOnce(&str) -> T) -> T {
        let view = texts.views()[row];
        match self.0 {
            // The same place, or the same few letters.
            Some((same, value)) if same == view => value,
            _ => {
                let value = make(texts.value(row));
                self.0 = Some((view, value));
                value
            }
        }
    }
}

/// Whole seconds; those that do not fit are as late as can be, in 2106.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(seconds: f64) -> u32 {
    seconds as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_told_apart_whatever_they_are_of() {
        for (group, host) in
            [("", ""), ("a", ""), ("", "a"), ("1:a", "b"), ("1", ":ab"), ("ä:", "\u{1f}"), ("news", "x.org")]
        {
            let texts = pairs(&StringViewArray::from(vec![group]), &StringViewArray::from(vec![host]));
            let name = GroupName::pair(texts.value(0));
            assert_eq!(name.parts(), [Some(group), Some(host)]);
        }
    }
}
