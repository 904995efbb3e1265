//! Applying a plan: one scan, which writes the pages, keeps the first of them for people, and sums everything up.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt8Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use everfresh::plan::Reason;
use everfresh::plan::stream::{Answer, Answers, Columns, Tally};
use everfresh::{Objective, Unit};

use super::{FilePages, Plans, out_table};
use crate::args::PlanArgs;
use crate::chart::Cloud;
use crate::output;
use crate::progress::ProgressLine;
use crate::table::{self, Batch, Encoded, Encoder, HostNumbers, Input};

const DAY: f64 = Unit::Day.seconds();

/// What a scan that applies a plan gives.
pub(super) struct Applied {
    pub tally: Tally,
    /// Of the other plans that are to be summed up.
    pub others: Vec<Tally>,
    pub shown: Vec<Shown>,
    pub cloud: Cloud,
}

/// A page that people see.
pub(crate) struct Shown {
    pub key: String,
    /// Per second.
    pub rate: f64,
    pub weight: f64,
    pub cost: f64,
    pub count: f64,
    pub answer: Answer,
    /// Was its rate empty?
    pub is_unknown: bool,
}

/// What one batch gives.
struct Part {
    encoded: Option<Encoded>,
    json: Option<Vec<u8>>,
    tally: Tally,
    others: Vec<Tally>,
    shown: Vec<Shown>,
    cloud: Cloud,
}

/// What every batch is done with.
struct Work<'a> {
    plans: &'a Plans<'a>,
    schema: SchemaRef,
    encoder: Option<Encoder>,
    json: bool,
    most_shown: usize,
    plot: bool,
    with_counts: bool,
}

impl Applied {
    pub(super) fn of(pages: &FilePages<'_>, plans: &Plans<'_>, args: &PlanArgs) -> Result<Applied> {
        let schema = schema(pages.input, pages.census()?.whole_counts, args);
        let mut out = out_table(args, &schema)?;
        let work = Work {
            plans,
            schema,
            encoder: out.as_ref().map(table::OutTable::encoder),
            json: args.output.json,
            most_shown: if out.is_some() || args.output.json { 0 } else { args.output.rows },
            plot: args.plot.is_some(),
            with_counts: super::pages::have_counts(pages.input),
        };
        let mut applied = Applied {
            tally: Tally::default(),
            others: vec![Tally::default(); plans.to_sum().count()],
            shown: Vec::new(),
            cloud: Cloud::default(),
        };
        let mut rows_printed = false;
        if work.json {
            output::print_raw("{\n\"pages\": [\n")?;
        }
        let line = ProgressLine::new("planning", pages.input, "pages");
        let hosts = pages.hosts();
        pages.input.scan_without_hosts(
            true,
            |batch| work.part(&batch, hosts),
            |part, done| {
                line.at(done);
                if let (Some(out), Some(encoded)) = (&mut out, part.encoded) {
                    out.append(encoded)?;
                }
                if let Some(rows) = part.json.filter(|rows| !rows.is_empty()) {
                    output::print_raw(if rows_printed { ",\n" } else { "" })?;
                    output::print_raw(std::str::from_utf8(&rows).context("a name is not UTF-8")?)?;
                    rows_printed = true;
                }
                applied.tally.merge(&part.tally);
                applied.others.iter_mut().zip(&part.others).for_each(|(sum, part)| sum.merge(part));
                let room = work.most_shown.saturating_sub(applied.shown.len());
                applied.shown.extend(part.shown.into_iter().take(room));
                applied.cloud.merge(&part.cloud);
                Ok(())
            },
        )?;
        drop(line);
        if let Some(out) = out {
            let rows = out.finish()?;
            table::say_written(args.output.out.as_deref().unwrap_or(Path::new("-")), rows);
        }
        Ok(applied)
    }
}

/// The names of pages, and what the plan adds to them; counts are integers where all of them are.
pub(super) fn schema(input: &Input, whole_counts: bool, args: &PlanArgs) -> SchemaRef {
    let price = if Objective::from(args.objective).time_power() == 2 { "price_days_squared" } else { "price_days" };
    let number = |name: &str| Field::new(name, DataType::Float64, false);
    let reason = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
    let mut fields = vec![Field::new(&args.columns.page_column, input.key_type(), false)];
    let count = if whole_counts { DataType::Int64 } else { DataType::Float64 };
    fields.extend(super::pages::have_counts(input).then(|| Field::new("count", count, false)));
    fields.extend(["frequency_per_day", "period_days", price, "freshness", "age_days"].map(number));
    fields.push(Field::new("reason", reason, false));
    Arc::new(Schema::new(fields))
}

/// The words for reasons, by their code.
const REASONS: [&str; 10] = [
    "visited",
    "static",
    "weightless",
    "given up",
    "nothing spent",
    "at max_period",
    "at min_period",
    "at floor",
    "at host cap",
    UNKNOWN,
];

/// Why a page without a rate is not visited, and the place of these words.
pub(super) const UNKNOWN: &str = "rate unknown";
const UNKNOWN_CODE: u8 = 9;

fn code(reason: Reason) -> u8 {
    match reason {
        Reason::Visited => 0,
        Reason::Static => 1,
        Reason::Weightless => 2,
        Reason::TooExpensive { .. } => 3,
        Reason::NothingSpent => 4,
        Reason::AtMaxPeriod => 5,
        Reason::AtMinPeriod => 6,
        Reason::AtFloor => 7,
        Reason::AtHostCap => 8,
    }
}

/// The word for a reason.
pub(super) fn word(reason: Reason) -> &'static str {
    REASONS[usize::from(code(reason))]
}

impl Work<'_> {
    fn part(&self, batch: &Batch, hosts: Option<&HostNumbers>) -> Result<Part> {
        super::pages::with_columns(hosts, batch, |columns| self.of_columns(batch, columns))?
    }

    fn of_columns(&self, batch: &Batch, columns: Columns<'_>) -> Result<Part> {
        let mut cloud = Cloud::default();
        let mut shown = Vec::new();
        let wants_table = self.encoder.is_some() || self.json;
        let price_unit = DAY.powi(self.plans.chosen.terms().objective.time_power());
        let mut made = Made::with_room(if wants_table { batch.rows } else { 0 }, price_unit);
        let tally = self.plans.chosen.answers(columns, |start, answers| {
            if wants_table {
                made.extend(&answers);
            }
            for (i, frequency) in (start..).zip(answers.frequency).filter(|_| self.plot) {
                cloud.add(columns.rate[i], *frequency, columns.count.map_or(1.0, |counts| counts[i]));
            }
            let room = self.most_shown.saturating_sub(shown.len());
            shown.extend(
                (start..).zip(answers.one_by_one()).take(room).map(|(i, answer)| Shown::of(columns, i, answer)),
            );
        });
        for row in super::pages::unknown(batch) {
            if wants_table {
                made.forget(row);
            }
            if let Some(shown) = shown.get_mut(row) {
                (shown.is_unknown, shown.answer) = (true, unknown(shown.answer));
            }
        }
        if let (Some(keys), false) = (&batch.key, shown.is_empty()) {
            let mut names = shown.iter_mut();
            let first = keys.slice(0, names.len());
            table::for_each_text(&first, |name| {
                if let Some(shown) = names.next() {
                    name.clone_into(&mut shown.key);
                }
            });
        }
        let others = self.plans.to_sum().map(|other| other.tally(columns)).collect();
        let (mut encoded, mut json) = (None, None);
        if wants_table {
            let rows = made.batch(&self.schema, batch, columns.count.filter(|_| self.with_counts))?;
            json = self.json.then(|| table::json_objects(&rows)).transpose()?;
            encoded = self.encoder.as_ref().map(|encoder| encoder.encode(&rows)).transpose()?;
        }
        Ok(Part { encoded, json, tally, others, shown, cloud })
    }
}

impl Shown {
    fn of(columns: Columns<'_>, i: usize, answer: Answer) -> Shown {
        let at = |column: Option<&[f64]>| column.map_or(1.0, |column| column[i]);
        Shown {
            key: String::new(),
            rate: columns.rate[i],
            weight: at(columns.weight),
            cost: at(columns.cost),
            count: at(columns.count),
            answer,
            is_unknown: false,
        }
    }
}

/// Nobody knows how fresh a page is whose rate is not known.
fn unknown(answer: Answer) -> Answer {
    Answer { freshness: f64::NAN, age: f64::NAN, ..answer }
}

/// The columns that the plan adds to a batch.
struct Made {
    /// What a day is to prices: they may be squared times.
    price_unit: f64,
    frequency: Vec<f64>,
    period: Vec<f64>,
    price: Vec<f64>,
    freshness: Vec<f64>,
    age: Vec<f64>,
    reason: Vec<u8>,
}

impl Made {
    fn with_room(rows: usize, price_unit: f64) -> Made {
        let column = || Vec::with_capacity(rows);
        Made {
            price_unit,
            frequency: column(),
            period: column(),
            price: column(),
            freshness: column(),
            age: column(),
            reason: Vec::with_capacity(rows),
        }
    }

    /// Adds what the plan says of some pages, column by column: so the compiler does several at a time.
    fn extend(&mut self, answers: &Answers<'_>) {
        self.frequency.extend(answers.frequency.iter().map(|frequency| frequency * DAY));
        self.period.extend(answers.frequency.iter().map(|frequency| (frequency * DAY).recip()));
        self.price.extend(answers.price.iter().map(|price| price / self.price_unit));
        self.freshness.extend_from_slice(answers.freshness);
        self.age.extend(answers.age.iter().map(|age| age / DAY));
        self.reason.extend(answers.reason.iter().map(|reason| code(*reason)));
    }

    /// Takes back what is said of a page whose rate is not known.
    fn forget(&mut self, row: usize) {
        (self.freshness[row], self.age[row], self.reason[row]) = (f64::NAN, f64::NAN, UNKNOWN_CODE);
    }

    fn batch(self, schema: &SchemaRef, batch: &Batch, counts: Option<&[f64]>) -> Result<RecordBatch> {
        let column = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
        let words = Arc::new(StringArray::from(REASONS.to_vec()));
        let reasons = DictionaryArray::<UInt8Type>::try_new(UInt8Array::from(self.reason), words)?;
        let mut columns: Vec<ArrayRef> = vec![Arc::clone(batch.key.as_ref().context("no names were read")?)];
        if let Some(counts) = counts {
            let is_whole = schema.field(columns.len()).data_type() == &DataType::Int64;
            columns.push(if is_whole { whole(counts) } else { column(counts.to_vec()) });
        }
        columns.extend([self.frequency, self.period, self.price, self.freshness, self.age].map(column));
        columns.push(Arc::new(reasons));
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }
}

/// Counts that are whole and small enough for every bit of them to count.
fn whole(counts: &[f64]) -> ArrayRef {
    #[expect(clippy::cast_possible_truncation, reason = "the census has seen that they are whole")]
    let counts = counts.iter().map(|count| *count as i64).collect::<Vec<i64>>();
    Arc::new(Int64Array::from(counts))
}
