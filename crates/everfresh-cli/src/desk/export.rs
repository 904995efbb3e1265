//! `everfresh export`: what is known of every page, as a table that `everfresh plan` takes.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::builder::{Float64Builder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use everfresh_sched::PageId;

use super::args::ExportArgs;
use super::explain::{Page, tell};
use super::{Desk, failure};
use crate::interrupt;
use crate::output;
use crate::progress::CountLine;
use crate::table::{OutTable, say_written};

/// So many rows are written at a time.
const ROWS: usize = 8192;

/// `everfresh export`
pub(crate) fn run(args: &ExportArgs) -> Result<()> {
    let mut desk = Desk::look(&args.store)?;
    let path = args.out.as_deref().unwrap_or(Path::new("-"));
    let schema = schema();
    let mut out = OutTable::create(path, &schema)?;
    let line = CountLine::new("pages");
    let pages: Vec<PageId> = desk.scheduler.state().pages().collect();
    let mut done = 0;
    for some in pages.chunks(ROWS) {
        interrupt::check()?;
        let encoded = out.encoder().encode(&batch(&mut desk, some, &schema)?)?;
        out.append(encoded)?;
        done += some.len() as u64;
        line.at(done);
    }
    drop(line);
    let rows = out.finish()?;
    if args.out.is_some() {
        say_written(path, rows);
    }
    Ok(())
}

fn schema() -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let real = |name: &str| Field::new(name, DataType::Float64, true);
    let whole = |name: &str| Field::new(name, DataType::UInt32, false);
    Arc::new(Schema::new(vec![
        text("page"),
        text("host"),
        text("group"),
        text("state"),
        real("weight"),
        real("cost"),
        whole("visits"),
        whole("changes"),
        real("rate_per_day"),
        real("period_days"),
        real("elapsed_days"),
        text("due"),
        text("waits_for"),
    ]))
}

fn batch(desk: &mut Desk, pages: &[PageId], schema: &SchemaRef) -> Result<RecordBatch> {
    let mut texts: [StringBuilder; 6] = Default::default();
    let mut reals: [Float64Builder; 5] = Default::default();
    let mut wholes: [UInt32Builder; 2] = Default::default();
    for page in pages {
        let found = desk.scheduler.explain(desk.now_s, *page).map_err(failure)?;
        let (weight, cost) = (found.terms.weight(), found.terms.cost());
        let Page {
            page,
            host,
            group,
            state,
            visits,
            changes,
            rate_per_day,
            elapsed_days,
            period_days,
            due,
            waits_for,
            ..
        } = tell(desk, &found)?;
        for (column, value) in
            texts.iter_mut().zip([Some(page), host, group, Some(state.to_owned()), due, Some(waits_for)])
        {
            column.append_option(value);
        }
        let values = [Some(weight), Some(cost), Some(rate_per_day), period_days, elapsed_days];
        reals.iter_mut().zip(values).for_each(|(column, value)| column.append_option(value));
        wholes.iter_mut().zip([visits, changes]).for_each(|(column, value)| column.append_value(value));
    }
    let [page, host, group, state, due, waits] = texts.map(|mut column| Arc::new(column.finish()) as ArrayRef);
    let [weight, cost, rate, period, elapsed] = reals.map(|mut column| Arc::new(column.finish()) as ArrayRef);
    let [visits, changes] = wholes.map(|mut column| Arc::new(column.finish()) as ArrayRef);
    let columns = vec![page, host, group, state, weight, cost, visits, changes, rate, period, elapsed, due, waits];
    RecordBatch::try_new(Arc::clone(schema), columns)
        .context("cannot make a table")
        .map_err(|error| output::machine("cannot export", error))
}
