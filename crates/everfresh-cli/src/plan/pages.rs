//! Tables as the solver reads them: again and again, in batches, with hosts as numbers.

use std::cell::{Ref, RefCell};
use std::collections::HashMap;

use anyhow::{Result, anyhow};
use everfresh::curve::Shape;
use everfresh::plan::stream::{BadPage, Columns, Pages, Spread};
use everfresh::{Error, Objective, Order};

use crate::args::{ColumnArgs, CurveArgs};
use crate::output;
use crate::progress::ProgressLine;
use crate::table::{self, Batch, HostCount, HostNumbers, Input, Quantity, SomeHosts, Wanted};

/// The numbers of the wanted columns.
const RATE: usize = 0;
const WEIGHT: usize = 1;
const COST: usize = 2;
const COUNT: usize = 3;
const MIN_PERIOD: usize = 4;
const MAX_PERIOD: usize = 5;
const CURVE: usize = 6;
const SHAPE: usize = 7;

/// The names of columns that were asked for, besides those of every table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked<'a> {
    pub weight: Option<&'a str>,
    pub count: Option<&'a str>,
    pub min_period: Option<&'a str>,
    pub max_period: Option<&'a str>,
    pub host: Option<&'a str>,
    pub curve: Option<&'a str>,
    pub shape: Option<&'a str>,
}

/// The columns of a table of pages.
pub(crate) fn wanted(columns: &ColumnArgs, asked: Asked<'_>) -> table::Columns {
    let ColumnArgs { page_column, rate_column, cost_column, unit } = columns;
    table::Columns {
        key: Some(page_column.clone()),
        host: asked.host.map(str::to_owned),
        numbers: vec![
            Wanted::required(rate_column, Quantity::Rate { may_be_absent: true }),
            Wanted::optional(asked.weight, "weight", Quantity::Weight),
            Wanted::optional(cost_column.as_deref(), "cost", Quantity::Cost),
            Wanted::optional(asked.count, "count", Quantity::Count),
            Wanted::optional(asked.min_period, "min_period", Quantity::Period { absent: 0.0 }),
            Wanted::optional(asked.max_period, "max_period", Quantity::Period { absent: f64::INFINITY }),
            Wanted::optional(asked.curve, "curve", Quantity::Curve),
            Wanted::optional(asked.shape, "shape", Quantity::Shape).beside(CURVE),
        ],
        texts: Vec::new(),
        unit: unit.unwrap_or(everfresh::Unit::Day),
    }
}

/// Where plans know no curves, rates alone count, and that is said: estimates have curves whatever they are wanted for. A column that was
/// asked for by name stays, to be refused.
pub(crate) fn leave_curves(input: &mut Input, asked: &CurveArgs, order: Order, objective: Objective) -> Result<()> {
    let are_planned = (objective, order) == (Objective::Freshness, Order::Fixed);
    if are_planned || asked.curve_column.is_some() || !input.has(CURVE) {
        return Ok(());
    }
    input.leave_out(CURVE)?;
    input.leave_out(SHAPE)?;
    output::say("rates alone count, not the column `curve`: only freshness under fixed order is planned by curves");
    Ok(())
}

/// A table that the solver can scan.
pub(crate) struct FilePages<'a> {
    pub input: &'a Input,
    /// If they count.
    hosts: Option<HostNumbers>,
    census: RefCell<Option<Census>>,
    /// What the next scans are for, as the progress line says it.
    pass: RefCell<String>,
}

/// Is there a column of counts?
pub(crate) fn have_counts(input: &Input) -> bool {
    input.has(COUNT)
}

/// What the first scan sees of all pages.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    pub spread: Spread,
    /// Is there a weight, or a cost, other than 1?
    pub weights: bool,
    pub costs: bool,
    /// Are all counts whole numbers?
    pub whole_counts: bool,
}

impl Default for Census {
    fn default() -> Self {
        Census { spread: Spread::default(), weights: false, costs: false, whole_counts: true }
    }
}

/// Up to here every whole number is one of floating point.
const LARGEST_WHOLE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

impl Census {
    fn of(columns: Columns<'_>) -> Census {
        let differs = |column: Option<&[f64]>| column.is_some_and(|column| column.iter().any(|value| *value != 1.0));
        let mut spread = Spread::default();
        spread.add(columns);
        let is_whole = |count: &f64| count.fract() == 0.0 && *count <= LARGEST_WHOLE;
        let whole_counts = columns.count.is_none_or(|column| column.iter().all(is_whole));
        Census { spread, weights: differs(columns.weight), costs: differs(columns.cost), whole_counts }
    }

    fn merge(&mut self, other: &Census) {
        self.spread.merge(&other.spread);
        self.weights |= other.weights;
        self.costs |= other.costs;
        self.whole_counts &= other.whole_counts;
    }
}

/// What the first scan sees, and how many rates are not known.
#[derive(Default)]
struct FirstScan {
    census: Census,
    unknown: usize,
}

impl FirstScan {
    fn of(batch: &Batch) -> Result<FirstScan> {
        Ok(FirstScan { census: with_columns(None, batch, Census::of)?, unknown: unknown(batch).len() })
    }

    fn merge(&mut self, other: &FirstScan) {
        self.census.merge(&other.census);
        self.unknown += other.unknown;
    }

    fn say(&self, with_promises: bool) {
        if self.unknown > 0 {
            let rows = output::count(self.unknown as f64, "row");
            let visited = if with_promises { "visited only as max_period promises" } else { "not visited" };
            output::say(&format!("{rows} without a rate: these pages are {visited} and count for nothing"));
        }
    }
}

impl<'a> FilePages<'a> {
    /// The pages of an input; names are checked where that is cheap.
    pub(crate) fn new(input: &'a Input) -> Result<Self> {
        input.check_names()?;
        Ok(FilePages { input, hosts: None, census: RefCell::new(None), pass: RefCell::new("reading".to_owned()) })
    }

    /// The same with hosts, whose names are read in a scan.
    pub(crate) fn with_hosts(input: &'a Input) -> Result<Self> {
        let mut pages = FilePages::new(input)?;
        let (mut first, mut hosts) = (FirstScan::default(), HostCount::new());
        let line = ProgressLine::new("reading hosts", input, "pages");
        let of_batch = |batch: Batch| Ok((FirstScan::of(&batch)?, SomeHosts::of(&batch)));
        input.scan(false, of_batch, |(part, some), done| {
            line.at(done);
            first.merge(&part);
            hosts.add(&some)
        })?;
        drop(line);
        first.say(input.has(MAX_PERIOD));
        pages.hosts = Some(hosts.finish()?);
        pages.census = RefCell::new(Some(first.census));
        Ok(pages)
    }

    pub(crate) fn call_pass(&self, name: &str) {
        name.clone_into(&mut self.pass.borrow_mut());
    }

    /// Are there columns of periods?
    pub(crate) fn have_bounds(&self) -> bool {
        self.input.has(MIN_PERIOD) || self.input.has(MAX_PERIOD)
    }

    /// Is there a column of curves?
    pub(crate) fn have_curves(&self) -> bool {
        self.input.has(CURVE)
    }

    /// What the first scan saw: scans if there was none yet.
    pub(crate) fn census(&self) -> Result<Ref<'_, Census>> {
        if self.census.borrow().is_none() {
            self.scan(&|_| Ok(()), &mut |()| {})?;
        }
        Ref::filter_map(self.census.borrow(), Option::as_ref).map_err(|_| anyhow!("the table was not scanned"))
    }

    /// The names of all hosts, by number.
    pub(crate) fn host_names(&self) -> &[String] {
        self.hosts.as_ref().map_or(&[], HostNumbers::names)
    }

    /// The numbers of hosts, where they count.
    pub(crate) const fn hosts(&self) -> Option<&HostNumbers> {
        self.hosts.as_ref()
    }
}

/// The columns of a batch, handed to `with`.
pub(crate) fn with_columns<T>(
    hosts: Option<&HostNumbers>,
    batch: &Batch,
    with: impl FnOnce(Columns<'_>) -> T,
) -> Result<T> {
    let shapes = shapes(batch)?;
    let hosts = hosts.map(|hosts| hosts.of(batch)).transpose()?;
    let number = |wanted: usize| batch.numbers[wanted].as_deref();
    let known = known(batch);
    let (rate, weight) =
        known.as_ref().map_or((number(RATE), number(WEIGHT)), |(rate, weight)| (Some(rate), Some(weight)));
    Ok(with(Columns {
        rate: rate.unwrap_or_default(),
        weight,
        cost: number(COST),
        count: number(COUNT),
        min_period: number(MIN_PERIOD),
        max_period: number(MAX_PERIOD),
        host: hosts.as_deref(),
        shape: shapes.as_deref(),
    }))
}

/// The rows whose rate is not known, so that the plan leaves them alone.
pub(crate) fn unknown(batch: &Batch) -> Vec<usize> {
    let rates = batch.numbers[RATE].as_deref().unwrap_or_default();
    // As a rule there are none.
    if !has_unknown(rates) {
        return Vec::new();
    }
    rates.iter().enumerate().filter(|(_, rate)| rate.is_nan()).map(|(row, _)| row).collect()
}

/// Is there a rate that is not known? Without a branch for each.
fn has_unknown(rates: &[f64]) -> bool {
    rates.iter().fold(false, |any, rate| any | rate.is_nan())
}

/// Rates and weights of a batch with pages whose rate is empty: these are as pages that never change and do not count.
fn known(batch: &Batch) -> Option<(Vec<f64>, Vec<f64>)> {
    let rates = batch.numbers[RATE].as_deref().filter(|rates| has_unknown(rates))?;
    let weights = batch.numbers[WEIGHT].as_deref();
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let both = |(row, rate): (usize, &f64)| if rate.is_nan() { (0.0, 0.0) } else { (*rate, weight(row)) };
    Some(rates.iter().enumerate().map(both).unzip())
}

/// The shapes of the curves of a batch; none if all are exponential.
fn shapes(batch: &Batch) -> Result<Option<Vec<Shape>>> {
    let Some(curves) = batch.numbers[CURVE].as_deref().filter(|curves| curves.iter().any(|curve| *curve != 0.0)) else {
        return Ok(None);
    };
    let numbers = batch.numbers[SHAPE].as_deref();
    let shape = |(row, curve): (usize, &f64)| {
        let number = numbers.map_or(f64::NAN, |numbers| numbers[row]);
        let shape = match *curve {
            0.0 => return Ok(Shape::Exponential),
            1.0 => Shape::Lomax(number),
            2.0 => Shape::Weibull(number),
            _ => Shape::Bursts(number),
        };
        if number.is_nan() {
            let name = match shape {
                Shape::Lomax(_) => "lomax",
                Shape::Weibull(_) => "weibull",
                _ => "bursts",
            };
            return Err(batch.wrong(row, CURVE, &format!("a {name} curve needs a shape, got nothing")));
        }
        shape.checked().map_err(|error| batch.wrong(row, SHAPE, &error.to_string()))
    };
    curves.iter().enumerate().map(shape).collect::<Result<_>>().map(Some)
}

impl Pages for FilePages<'_> {
    type Error = anyhow::Error;

    fn scan<T: Send>(
        &self,
        each: &(dyn Fn(Columns<'_>) -> std::result::Result<T, BadPage> + Sync),
        take: &mut dyn FnMut(T),
    ) -> Result<()> {
        let line = ProgressLine::new(&self.pass.borrow(), self.input, "pages");
        let is_first = self.census.borrow().is_none();
        let mut first = FirstScan::default();
        let hosts = self.hosts.as_ref();
        let of_batch = |batch: Batch| {
            let part = is_first.then(|| FirstScan::of(&batch)).transpose()?;
            let result = with_columns(hosts, &batch, each)?;
            // Values are checked by the reader: what is left is that two contradict each other, or the terms.
            let column = |error: &Error| if let Error::CurveNotPlanned { .. } = error { CURVE } else { MAX_PERIOD };
            let result = result.map_err(|(row, error)| batch.wrong(row, column(&error), &error.to_string()))?;
            Ok((part, result))
        };
        self.input.scan_without_hosts(false, of_batch, |(part, result), done| {
            line.at(done);
            if let Some(part) = part {
                first.merge(&part);
            }
            take(result);
            Ok(())
        })?;
        drop(line);
        if is_first {
            first.say(self.input.has(MAX_PERIOD));
            *self.census.borrow_mut() = Some(first.census);
        }
        Ok(())
    }

    fn have_shapes(&self) -> bool {
        self.have_curves()
    }

    fn sample(&self, each: &mut dyn FnMut(Columns<'_>)) -> Result<f64> {
        let (batches, share) = self.input.sample()?;
        for batch in &batches {
            with_columns(self.hosts.as_ref(), batch, &mut *each)?;
        }
        Ok(share)
    }

    /// All pages: what a few row groups tell of hosts is worth little where the pages of a host stand together, and a scan that names no
    /// host is cheaper than one more that gathers.
    fn large_sample(&self, each: &(dyn Fn(Columns<'_>) + Sync)) -> Result<f64> {
        // Pages with other columns go the longer way, whatever is sampled.
        if [COST, COUNT, MIN_PERIOD, MAX_PERIOD, CURVE].into_iter().any(|column| self.input.has(column)) {
            return self.sample(&mut |chunk| each(chunk));
        }
        let of_chunk = |chunk: Columns<'_>| {
            each(chunk);
            Ok(())
        };
        self.scan(&of_chunk, &mut |()| {})?;
        Ok(1.0)
    }
}

/// The cap of each host: its own, or the one for all. A page without a host has no cap.
pub(crate) fn caps(names: &[String], own: &[(String, f64)], for_all: Option<f64>) -> Vec<f64> {
    let places: HashMap<&str, usize> = names.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let mut caps = vec![for_all.unwrap_or(f64::INFINITY); names.len()];
    let mut idle = Vec::new();
    for (name, cap) in own {
        match places.get(name.as_str()) {
            Some(place) => caps[*place] = *cap,
            None => idle.push(name.as_str()),
        }
    }
    if let Some(place) = places.get("") {
        caps[*place] = f64::INFINITY;
    }
    if let Some(first) = idle.first() {
        // Perhaps misspelt.
        output::say(&format!(
            "{} of {} in --host-caps without pages, such as `{first}`",
            idle.len(),
            output::count(own.len() as f64, "host")
        ));
    }
    caps
}
