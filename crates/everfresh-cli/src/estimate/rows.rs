//! The result: a row per page, by name.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, RecordBatch, StringArray, UInt8Array, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use clap::ValueEnum;
use everfresh::estimate::Ends;
use rayon::prelude::*;

use super::curves::{Curve, Laws};
use super::model::Model;
use super::store::{Page, Shard};
use super::visits::{GroupName, Told};
use super::{Learner, per_day, visits};
use crate::args::{CurvesArg, EstimateArgs, EstimatorArg};
use crate::output::count;
use crate::table::{self, Input, OutTable};

/// Pages of a batch.
const ROWS: usize = 1 << 15;

/// The shard and the number of a page.
pub(super) type Place = (u8, u32);

/// What is said of all pages.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub pages: u64,
    pub visits: u64,
    pub changes: u64,
    /// Pages that were visited again and never seen to change.
    pub quiet: u64,
    pub once: u64,
    /// Pages of which no visit counts.
    pub never: u64,
}

impl Totals {
    fn add<S>(&mut self, page: &Page<S>) {
        self.pages += 1;
        self.visits += u64::from(page.visits);
        self.changes += u64::from(page.changes);
        self.once += u64::from(page.visits == 1);
        self.never += u64::from(page.visits == 0);
        self.quiet += u64::from(page.visits > 1 && page.changes == 0);
    }

    /// In words, where rows are visits.
    pub(super) fn of_visits(&self) -> String {
        let mut text = format!(
            "{}, {}, {} seen; {} visited again but never seen to change",
            count(self.pages as f64, "page"),
            count(self.visits as f64, "visit"),
            count(self.changes as f64, "change"),
            count(self.quiet as f64, "page"),
        );
        if self.once > 0 {
            text.push_str(&format!(", {} visited once", count(self.once as f64, "page")));
        }
        text
    }

    /// In words, where rows are changes.
    pub(super) fn of_changes(&self) -> String {
        format!(
            "{}, {} after the first of each; {} without one",
            count(self.pages as f64, "page"),
            count(self.changes as f64, "change"),
            count(self.once as f64, "page"),
        )
    }
}

/// The columns of the result.
pub(super) fn schema(args: &EstimateArgs, input: &Input) -> SchemaRef {
    let number = |name: &str, may_be_absent: bool| Field::new(name, DataType::Float64, may_be_absent);
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let word = |name: &str| {
        let words = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
        Field::new(name, words, false)
    };
    let mut fields = vec![text(&args.visits.page_column), number("rate", true)];
    fields.extend(["rate_low", "rate_high"].map(|name| number(name, false)));
    fields.extend(["knowledge_changes", "knowledge_days"].map(|name| number(name, false)));
    fields.push(word("estimator"));
    fields.extend(["visits", "changes"].map(|name| Field::new(name, DataType::UInt32, false)));
    fields.extend(["first_seen", "last_seen"].map(|name| Field::new(name, DataType::Utf8, true)));
    if curves(args) != CurvesArg::None {
        fields.extend([word("curve"), number("shape", true)]);
    }
    fields.extend(visits::group_columns(input, &args.visits).iter().map(|name| text(name)));
    Arc::new(Schema::new(fields))
}

/// Which curves are written: without a prior nothing says how exactly a rate is known.
pub(super) fn curves(args: &EstimateArgs) -> CurvesArg {
    args.curves.unwrap_or(match args.estimator {
        EstimatorArg::Gamma | EstimatorArg::Drifting | EstimatorArg::Renewal | EstimatorArg::TwoRates => {
            CurvesArg::Rates
        }
        EstimatorArg::Naive | EstimatorArg::Ratio | EstimatorArg::Likelihood | EstimatorArg::LastChange => {
            CurvesArg::None
        }
    })
}

/// The shards and numbers of all pages, by name.
pub(super) fn by_name<S: Clone + Default + Sync>(shards: &[Shard<S>]) -> Vec<Place> {
    let pages = |(number, shard): (u8, &Shard<S>)| {
        (0_u32..).zip(&shard.pages).map(|(page, _)| (number, page)).collect::<Vec<_>>()
    };
    let mut all: Vec<Place> = (0_u8..).zip(shards).flat_map(pages).collect();
    let name = |(shard, page): &Place| shards[usize::from(*shard)].name(*page as usize);
    all.par_sort_unstable_by(|a, b| name(a).cmp(name(b)));
    all
}

impl<M: Model> Learner<M> {
    /// Does the model know anything of a page? One without a prior needs a time in which it was watched.
    pub(super) fn is_known(&self, page: &Page<M::State>) -> bool {
        let is_watched = page.visits > u32::from(self.table.reader.told != Told::EveryChange);
        self.model.priors().is_some() || is_watched
    }

    /// Writes the result, with the curves of pages where there are laws.
    pub(super) fn write(&self, args: &EstimateArgs, pages: &[Place], laws: Option<&Laws>) -> Result<Totals> {
        let schema = schema(args, &self.table.input);
        let mut out = OutTable::create(&args.out, &schema)?;
        let encoder = out.encoder();
        let (word, groups) = (word(args), self.table.groups.names());
        let mut totals = Totals::default();
        for (shard, page) in pages {
            totals.add(&self.shards[usize::from(*shard)].pages[*page as usize]);
        }
        let rows = |pages: &[Place]| encoder.encode(&self.rows(pages, &schema, &word, &groups, laws)?);
        // As much as the threads can do at a time.
        for some in pages.chunks(ROWS * 2 * rayon::current_num_threads()) {
            let encoded: Vec<_> = some.par_chunks(ROWS).map(rows).collect();
            for encoded in encoded {
                out.append(encoded?)?;
            }
        }
        let rows = out.finish()?;
        table::say_written(&args.out, rows);
        Ok(totals)
    }

    fn rows(
        &self,
        pages: &[Place],
        schema: &SchemaRef,
        word: &str,
        groups: &[GroupName],
        laws: Option<&Laws>,
    ) -> Result<RecordBatch> {
        let place = |(shard, page): &Place| (&self.shards[usize::from(*shard)], *page as usize);
        let page = |at: &Place| &place(at).0.pages[place(at).1];
        let (mut rates, mut low, mut high, mut curves) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut known = Vec::new();
        let mut ends = Ends::default();
        for at in pages {
            let (shard, number) = place(at);
            let (group, page) = (shard.group(number), &shard.pages[number]);
            let estimate = self.model.estimate(group, page, &mut ends)?;
            if let Some(laws) = laws {
                curves.push(laws.curve(estimate.rate, self.model.posterior(group, page)?));
            }
            rates.push(self.is_known(page).then(|| per_day(estimate.rate)));
            low.push(per_day(estimate.interval.low));
            high.push(estimate.interval.high.map_or(f64::INFINITY, per_day));
            known.push(estimate.knowledge);
        }
        let whole = |value: &dyn Fn(&Page<M::State>) -> u32| -> ArrayRef {
            Arc::new(pages.iter().map(|at| value(page(at))).collect::<UInt32Array>())
        };
        let dates = |second: &dyn Fn(&Page<M::State>) -> u32| -> Result<ArrayRef> {
            let date = |at| match page(at).visits {
                0 => Ok(None),
                _ => Ok(Some(jiff::Timestamp::from_second(i64::from(second(page(at))))?.to_string())),
            };
            Ok(Arc::new(StringArray::from(pages.iter().map(date).collect::<Result<Vec<Option<String>>>>()?)))
        };
        let names = pages.iter().map(|at| place(at).0.name(place(at).1));
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(names)),
            Arc::new(Float64Array::from(rates)),
            Arc::new(Float64Array::from(low)),
            Arc::new(Float64Array::from(high)),
            Arc::new(known.iter().map(|known| Some(known.changes)).collect::<Float64Array>()),
            Arc::new(known.iter().map(|known| Some(known.exposure.days())).collect::<Float64Array>()),
            words(&[word], vec![0; pages.len()])?,
            whole(&|page| page.visits),
            whole(&|page| page.changes),
            dates(&|page| page.first)?,
            dates(&|page| page.last)?,
        ];
        if laws.is_some() {
            columns.push(words(&Curve::NAMES, curves.iter().map(|curve| curve.name).collect())?);
            columns.push(Arc::new(curves.iter().map(|curve| curve.shape).collect::<Float64Array>()));
        }
        for part in 0..schema.fields().len() - columns.len() {
            let name = |at| groups.get(place(at).0.group(place(at).1) as usize).and_then(|name| name.parts()[part]);
            let part = |at| name(at).unwrap_or_default();
            columns.push(Arc::new(StringArray::from_iter_values(pages.iter().map(part))));
        }
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }
}

/// The name of the estimator.
pub(super) fn word(args: &EstimateArgs) -> String {
    args.estimator.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A column of few words, by their numbers.
fn words(words: &[&str], numbers: Vec<u8>) -> Result<ArrayRef> {
    let words = Arc::new(StringArray::from(words.to_vec()));
    Ok(Arc::new(DictionaryArray::<UInt8Type>::try_new(UInt8Array::from(numbers), words)?))
}
