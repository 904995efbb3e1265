//! The result: a row per page, by name.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, RecordBatch, StringArray, UInt8Array, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use clap::ValueEnum;
use rayon::prelude::*;

use super::model::Model;
use super::store::Page;
use super::{Learner, per_day, visits};
use crate::args::EstimateArgs;
use crate::table::{self, OutTable};

/// Pages of a batch.
const ROWS: usize = 1 << 15;

/// What is said of all pages.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub pages: u64,
    pub visits: u64,
    pub changes: u64,
    /// Pages that were visited again and never seen to change.
    pub quiet: u64,
    pub once: u64,
}

impl Totals {
    fn add<S>(&mut self, page: &Page<S>) {
        self.pages += 1;
        self.visits += u64::from(page.visits);
        self.changes += u64::from(page.changes);
        self.once += u64::from(page.visits == 1);
        self.quiet += u64::from(page.visits > 1 && page.changes == 0);
    }
}

impl<M: Model> Learner<M> {
    /// The shards and numbers of all pages, by name: the same, in whatever order the rows came.
    pub(super) fn by_name(&self) -> Vec<(u8, u32)> {
        let pages = |(number, shard): (u8, &super::Shard<M::State>)| {
            let known = (0_u32..).zip(&shard.pages).filter(|(_, page)| page.visits > 0);
            known.map(|(page, _)| (number, page)).collect::<Vec<_>>()
        };
        let mut all: Vec<(u8, u32)> = (0_u8..).zip(&self.shards).flat_map(pages).collect();
        let name = |(shard, page): &(u8, u32)| self.shards[usize::from(*shard)].name(*page as usize);
        all.par_sort_unstable_by(|a, b| name(a).cmp(name(b)));
        all
    }

    /// Writes the result.
    pub(super) fn write(&self, args: &EstimateArgs) -> Result<Totals> {
        let pages = self.by_name();
        let schema = self.schema(args);
        let mut out = OutTable::create(&args.out, &schema)?;
        let encoder = out.encoder();
        let word = args.estimator.to_possible_value().ok_or_else(|| anyhow!("an estimator without a name"))?;
        let groups = self.groups.names();
        let mut totals = Totals::default();
        for (shard, page) in &pages {
            totals.add(&self.shards[usize::from(*shard)].pages[*page as usize]);
        }
        // As much as the threads can do at a time.
        for some in pages.chunks(ROWS * 2 * rayon::current_num_threads()) {
            let encoded: Vec<_> = some
                .par_chunks(ROWS)
                .map(|pages| encoder.encode(&self.rows(pages, &schema, word.get_name(), &groups)?))
                .collect();
            for encoded in encoded {
                out.append(encoded?)?;
            }
        }
        let rows = out.finish()?;
        table::say_written(&args.out, rows);
        Ok(totals)
    }

    fn schema(&self, args: &EstimateArgs) -> SchemaRef {
        let number = |name: &str| Field::new(name, DataType::Float64, false);
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        let estimator = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
        let mut fields = vec![text(&args.page_column)];
        fields.extend(["rate", "rate_low", "rate_high"].map(number));
        fields.push(Field::new("estimator", estimator, false));
        fields.extend(["visits", "changes"].map(|name| Field::new(name, DataType::UInt32, false)));
        fields.extend(["first_seen", "last_seen"].map(text));
        fields.extend(visits::group_column(&self.input, args).map(|name| text(&name)));
        Arc::new(Schema::new(fields))
    }

    fn rows(&self, pages: &[(u8, u32)], schema: &SchemaRef, word: &str, groups: &[String]) -> Result<RecordBatch> {
        let place = |(shard, page): &(u8, u32)| (&self.shards[usize::from(*shard)], *page as usize);
        let page = |at: &(u8, u32)| &place(at).0.pages[place(at).1];
        let (mut rate, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
        for at in pages {
            let (shard, number) = place(at);
            let estimate = self.model.estimate(shard.group(number), &shard.pages[number].state);
            rate.push(per_day(estimate.rate));
            low.push(per_day(estimate.interval.low));
            high.push(estimate.interval.high.map_or(f64::INFINITY, per_day));
        }
        let floats = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
        let whole = |value: &dyn Fn(&Page<M::State>) -> u32| -> ArrayRef {
            Arc::new(pages.iter().map(|at| value(page(at))).collect::<UInt32Array>())
        };
        let dates = |second: &dyn Fn(&Page<M::State>) -> u32| -> Result<ArrayRef> {
            let date = |at| Ok(jiff::Timestamp::from_second(i64::from(second(page(at))))?.to_string());
            Ok(Arc::new(StringArray::from(pages.iter().map(date).collect::<Result<Vec<String>>>()?)))
        };
        let names = pages.iter().map(|at| place(at).0.name(place(at).1));
        let words = Arc::new(StringArray::from(vec![word]));
        let estimator = DictionaryArray::<UInt8Type>::try_new(UInt8Array::from(vec![0; pages.len()]), words)?;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(names)),
            floats(rate),
            floats(low),
            floats(high),
            Arc::new(estimator),
            whole(&|page| page.visits),
            whole(&|page| page.changes),
            dates(&|page| page.first)?,
            dates(&|page| page.last)?,
        ];
        if schema.fields().len() > columns.len() {
            let group = |at| groups.get(place(at).0.group(place(at).1) as usize).map_or("", String::as_str);
            columns.push(Arc::new(StringArray::from_iter_values(pages.iter().map(group))));
        }
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }
}
