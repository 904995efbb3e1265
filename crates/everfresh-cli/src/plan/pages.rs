//! Tables as the solver reads them: again and again, in batches, with hosts as numbers.

use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use anyhow::{Result, anyhow};
use everfresh::Error;
use everfresh::curve::Shape;
use everfresh::plan::stream::{BadPage, Columns, Pages, Spread};

use crate::args::ColumnArgs;
use crate::output;
use crate::progress::ProgressLine;
use crate::table::{self, Batch, Input, Quantity, Wanted};

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

/// Tables up to this size are checked for pages that are named twice: to know all names takes memory.
const NAMES_CHECKED: u64 = 1 << 26;

/// A table that the solver can scan.
pub(crate) struct FilePages<'a> {
    pub input: &'a Input,
    hosts: Option<HostIds>,
    census: RefCell<Option<Census>>,
    /// What the next scans are for, as the progress line says it.
    pass: Cell<&'static str>,
}

/// What the first scan sees of all pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Census {
    pub spread: Spread,
    /// Is there a weight, or a cost, other than 1?
    pub weights: bool,
    pub costs: bool,
}

impl Census {
    fn of(columns: Columns<'_>) -> Census {
        let differs = |column: Option<&[f64]>| column.is_some_and(|column| column.iter().any(|value| *value != 1.0));
        let mut spread = Spread::default();
        spread.add(columns);
        Census { spread, weights: differs(columns.weight), costs: differs(columns.cost) }
    }

    fn merge(&mut self, other: &Census) {
        self.spread.merge(&other.spread);
        self.weights |= other.weights;
        self.costs |= other.costs;
    }
}

impl<'a> FilePages<'a> {
    /// The pages of an input; names are checked where that is cheap.
    pub(crate) fn new(input: &'a Input, with_hosts: bool) -> Result<Self> {
        if input.size() <= NAMES_CHECKED {
            input.pages(|_, _| Ok(()))?;
        }
        let hosts = with_hosts.then(HostIds::default);
        Ok(FilePages { input, hosts, census: RefCell::new(None), pass: Cell::new("reading") })
    }

    pub(crate) fn call_pass(&self, name: &'static str) {
        self.pass.set(name);
    }

    /// Are there columns of periods?
    pub(crate) fn have_bounds(&self) -> bool {
        self.input.has(MIN_PERIOD) || self.input.has(MAX_PERIOD)
    }

    /// Is there a column of curves?
    pub(crate) fn have_curves(&self) -> bool {
        self.input.has(CURVE)
    }

    pub(crate) fn have_counts(&self) -> bool {
        self.input.has(COUNT)
    }

    /// What the first scan saw: scans if there was none yet.
    pub(crate) fn census(&self) -> Result<Ref<'_, Census>> {
        if self.census.borrow().is_none() {
            self.scan(&|_| Ok(()), &mut |()| {})?;
        }
        Ref::filter_map(self.census.borrow(), Option::as_ref).map_err(|_| anyhow!("the table was not scanned"))
    }

    /// The names of all hosts, by number; known after a scan.
    pub(crate) fn host_names(&self) -> Vec<String> {
        self.hosts.as_ref().map(HostIds::names).unwrap_or_default()
    }

    /// The numbers of hosts, where they count.
    pub(crate) fn host_ids(&self) -> Option<&HostIds> {
        self.hosts.as_ref()
    }
}

/// The columns of a batch, handed to `with`.
pub(crate) fn with_columns<T>(
    hosts: Option<&HostIds>,
    batch: &Batch,
    with: impl FnOnce(Columns<'_>) -> T,
) -> Result<T> {
    let shapes = shapes(batch)?;
    let ids = hosts.map(|hosts| hosts.of(batch));
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
        host: ids.as_deref(),
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
        let line = ProgressLine::new(self.pass.get(), self.input, "pages");
        let is_first = self.census.borrow().is_none();
        let (mut census, mut unknown) = (Census::default(), 0);
        let hosts = self.hosts.as_ref();
        let of_batch = |batch: Batch| {
            let unknown = if is_first { self::unknown(&batch).len() } else { 0 };
            let (part, result) =
                with_columns(hosts, &batch, |columns| (is_first.then(|| Census::of(columns)), each(columns)))?;
            // Values are checked by the reader: what is left is that two contradict each other, or the terms.
            let column = |error: &Error| if let Error::CurveNotPlanned { .. } = error { CURVE } else { MAX_PERIOD };
            let result = result.map_err(|(row, error)| batch.wrong(row, column(&error), &error.to_string()))?;
            Ok((part, unknown, result))
        };
        self.input.scan(false, of_batch, |(part, more, result), done| {
            line.at(done);
            unknown += more;
            if let Some(part) = part {
                census.merge(&part);
            }
            take(result);
            Ok(())
        })?;
        drop(line);
        if is_first {
            *self.census.borrow_mut() = Some(census);
        }
        if unknown > 0 {
            let rows = output::count(unknown as f64, "row");
            output::say(&format!("{rows} without a rate: these pages are not visited and count for nothing"));
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
}

/// The numbers of hosts, given in the order in which they are met.
#[derive(Default)]
pub(crate) struct HostIds(RwLock<HashMap<String, u32>>);

impl HostIds {
    fn of(&self, batch: &Batch) -> Vec<u32> {
        let mut ids = Vec::with_capacity(batch.rows);
        if let Some(hosts) = &batch.host {
            table::for_each_text(hosts, |name| ids.push(self.id(name)));
        }
        ids
    }

    fn id(&self, name: &str) -> u32 {
        // A writer does nothing that could fail half-way.
        if let Some(id) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return *id;
        }
        let mut ids = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let next = u32::try_from(ids.len()).unwrap_or(u32::MAX - 1);
        *ids.entry(name.to_owned()).or_insert(next)
    }

    fn names(&self) -> Vec<String> {
        let ids = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut names = vec![String::new(); ids.len()];
        for (name, id) in ids.iter() {
            names[*id as usize].clone_from(name);
        }
        names
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
