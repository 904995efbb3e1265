//! `everfresh export`: what is known of every page, as a table that `everfresh plan` takes; or all visits, for `estimate` and `compare`.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use everfresh_sched::{Outcome, PageId};
use everfresh_store::Visited;
use jiff::Timestamp;

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
    let rows = if args.visits { visits(&mut desk, &args.store.data, path)? } else { pages(&mut desk, path)? };
    if args.out.is_some() {
        say_written(path, rows);
    }
    Ok(())
}

fn pages(desk: &mut Desk, path: &Path) -> Result<u64> {
    let schema = schema();
    let mut out = OutTable::create(path, &schema)?;
    let line = CountLine::new("pages");
    let pages: Vec<PageId> = desk.scheduler.state().pages().collect();
    let mut done = 0;
    for some in pages.chunks(ROWS) {
        interrupt::check()?;
        let encoded = out.encoder().encode(&batch(desk, some, &schema)?)?;
        out.append(encoded)?;
        done += some.len() as u64;
        line.at(done);
    }
    drop(line);
    out.finish()
}

/// The visits of all pages, in the order of their times. Those that did not see their page tell nothing of how it changes.
fn visits(desk: &mut Desk, data: &Path, path: &Path) -> Result<u64> {
    let (state, store) = desk.scheduler.parts();
    let names = store.names().clone();
    let mut rows = VisitRows::new();
    let mut out = OutTable::create(path, &rows.schema)?;
    let line = CountLine::new("visits");
    let (mut done, mut failed) = (0, None);
    let mut take = |visited: Visited| -> Result<()> {
        let changed = match visited.outcome {
            Outcome::Unchanged => false,
            Outcome::Changed { .. } => true,
            _ => return Ok(()),
        };
        let terms = state.terms(visited.page).ok();
        let host = terms.as_ref().and_then(|terms| names.host(terms.host()));
        let group = terms.as_ref().and_then(|terms| names.group(terms.group()));
        rows.push(&visited, changed, host, group)?;
        done += 1;
        if rows.count == ROWS {
            interrupt::check()?;
            out.append(out.encoder().encode(&rows.batch()?)?)?;
            line.at(done);
        }
        Ok(())
    };
    let read = store.visits(data, &mut |visited| {
        take(visited).map_err(|error| {
            let text = error.to_string();
            failed = Some(error);
            everfresh_sched::Error::Store(text)
        })
    });
    // What went wrong here is told as it is, not as the store hands it on.
    failed.map_or(Ok(()), Err)?;
    read.map_err(failure)?;
    drop(line);
    out.append(out.encoder().encode(&rows.batch()?)?)?;
    out.finish()
}

/// Rows of visits, being gathered.
struct VisitRows {
    schema: SchemaRef,
    count: usize,
    /// Page, time, host and group.
    texts: [StringBuilder; 4],
    changed: BooleanBuilder,
}

impl VisitRows {
    fn new() -> VisitRows {
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        let changed = Field::new("changed", DataType::Boolean, false);
        let schema = Schema::new(vec![text("page"), text("time"), changed, text("host"), text("group")]);
        VisitRows { schema: Arc::new(schema), count: 0, texts: Default::default(), changed: BooleanBuilder::new() }
    }

    fn push(&mut self, visited: &Visited, changed: bool, host: Option<&str>, group: Option<&str>) -> Result<()> {
        #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
        let time = Timestamp::from_second(visited.now_s as i64)?.to_string();
        let texts = [Some(visited.address.as_str()), Some(&time), host, group];
        self.texts.iter_mut().zip(texts).for_each(|(column, text)| column.append_option(text));
        self.changed.append_value(changed);
        self.count += 1;
        Ok(())
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        self.count = 0;
        let [page, time, host, group] = self.texts.each_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let columns = vec![page, time, Arc::new(self.changed.finish()), host, group];
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
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
