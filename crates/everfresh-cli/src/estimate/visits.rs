//! Visits as a batch of a table has them, ready to be taken in.

use anyhow::{Context, Result, bail};
use arrow_array::StringArray;
use foldhash::quality::RandomState;
use std::hash::BuildHasher;

use crate::args::EstimateArgs;
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
}

/// Why a visit is skipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    Backwards,
    SameSecond,
    Future,
    Empty,
    AfterVisit,
}

pub(super) const FAULTS: [Fault; 5] =
    [Fault::Backwards, Fault::SameSecond, Fault::Future, Fault::Empty, Fault::AfterVisit];

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

/// The columns of a table of visits.
pub(super) fn columns(args: &EstimateArgs) -> Columns {
    let told = &args.told;
    let some = told.digest_column.is_some() || told.changed_column.is_some() || told.last_modified_column.is_some();
    // One that was named stands alone: the others are not looked for.
    let name = |asked: &Option<String>, default: &str| match asked {
        Some(name) => (name.clone(), true),
        None => (if some { String::new() } else { default.to_owned() }, false),
    };
    let number = |asked: &Option<String>, default: &str, quantity: Quantity| {
        let (name, required) = name(asked, default);
        Wanted { name, required, quantity }
    };
    let groups = match &args.group_column {
        Some(name) => [(name.clone(), true), (String::new(), false)],
        None => [("group".to_owned(), false), ("host".to_owned(), false)],
    };
    let [group, host] = groups;
    Columns {
        key: Some(args.page_column.clone()),
        host: None,
        numbers: vec![
            Wanted::required(&args.time_column, Quantity::Time { may_be_absent: false }),
            number(&told.changed_column, "changed", Quantity::Flag),
            number(&told.last_modified_column, "last_modified", Quantity::Time { may_be_absent: true }),
        ],
        texts: vec![name(&told.digest_column, "digest"), group, host],
        unit: everfresh::Unit::Second,
    }
}

/// Which of the columns says what a visit saw: there must be one.
pub(super) fn told(input: &Input) -> Result<Told> {
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

/// The name of the column of groups, if there is one.
pub(super) fn group_column(input: &Input, args: &EstimateArgs) -> Option<String> {
    let place = GROUPS.into_iter().find(|text| input.has_text(*text))?;
    let default = if place == GROUPS[0] { "group" } else { "host" };
    Some(args.group_column.clone().unwrap_or_else(|| default.to_owned()))
}

/// How visits are read.
pub(super) struct Reader {
    pub told: Told,
    /// Later visits are in the future.
    pub now: u32,
    pub hasher: RandomState,
}

/// The visits of a batch.
pub(super) struct Visits {
    pub batch: Batch,
    pub names: StringArray,
    pub groups: Option<StringArray>,
    /// Of the names.
    pub hashes: Vec<u64>,
    /// In seconds since 1970.
    pub times: Vec<u32>,
    /// The hash of the digest, whether it changed, or the second of the last change.
    pub seen: Vec<u64>,
    /// The rows of each shard.
    pub rows: Vec<Vec<u32>>,
    pub skipped: Skipped,
}

impl Reader {
    pub(super) fn hash(&self, name: &str) -> u64 {
        self.hasher.hash_one(name)
    }

    /// Prepares a batch; what needs no other visit to be known as a fault is skipped here.
    pub(super) fn visits(&self, mut batch: Batch) -> Result<Visits> {
        let names = table::as_texts(batch.key.as_ref().context("no names were read")?);
        // Whole seconds; the reader has checked that they fit.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = |seconds: f64| seconds as u32;
        let times = batch.numbers[TIME].take().unwrap_or_default();
        let times: Vec<u32> = times.into_iter().map(whole).collect();
        let mut visits = Visits {
            hashes: names.iter().map(|name| self.hash(name.unwrap_or_default())).collect(),
            seen: Vec::new(),
            rows: (0..SHARDS).map(|_| Vec::with_capacity(times.len() / SHARDS * 5 / 4)).collect(),
            groups: GROUPS.into_iter().find_map(|text| batch.texts[text].take()).map(|groups| table::as_texts(&groups)),
            skipped: Skipped::default(),
            names,
            times,
            batch,
        };
        match self.told {
            Told::Digest => {
                let digests = table::as_texts(visits.batch.texts[DIGEST].as_ref().context("no digests were read")?);
                visits.seen = digests.iter().map(|digest| self.hash(digest.unwrap_or_default())).collect();
                self.divide(&mut visits, |row| digests.value(row).is_empty().then_some(Fault::Empty));
            }
            Told::Changed => {
                let changed = visits.batch.numbers[CHANGED].take().unwrap_or_default();
                visits.seen = changed.into_iter().map(|changed| u64::from(changed != 0.0)).collect();
                self.divide(&mut visits, |_| None);
            }
            Told::LastModified => {
                let dates = visits.batch.numbers[LAST_MODIFIED].take().unwrap_or_default();
                visits.seen = dates.iter().map(|date| u64::from(whole(*date))).collect();
                let times = visits.times.clone();
                self.divide(&mut visits, |row| match dates[row] {
                    date if date.is_nan() => Some(Fault::Empty),
                    date if whole(date) > times[row] => Some(Fault::AfterVisit),
                    _ => None,
                });
            }
        }
        visits.batch.key = None;
        visits.batch.texts.clear();
        Ok(visits)
    }

    fn divide(&self, visits: &mut Visits, fault: impl Fn(usize) -> Option<Fault>) {
        for (row, (hash, time)) in (0_u32..).zip(visits.hashes.iter().zip(&visits.times)) {
            let fault = if *time > self.now { Some(Fault::Future) } else { fault(row as usize) };
            match fault {
                Some(fault) => visits.skipped.add(fault, row),
                None => visits.rows[shard(*hash)].push(row),
            }
        }
    }
}

/// By bits that the tables do not use.
#[allow(clippy::cast_possible_truncation)]
const fn shard(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}
