//! `everfresh estimate`: from a table of visits to how often each page changes.
//!
//! Batches are decoded and divided by the names of their pages in parallel, and taken in in order, all shards at a time. What is
//! kept of a page depends on no prior; the priors are learnt when all pages are known. Where the visits of a page are not in the
//! order of their times, the table is read again and sorted first.

mod calibration;
mod curves;
mod grouping;
mod hours;
mod model;
mod priors;
mod report;
mod rows;
mod store;
mod visits;

use std::sync::Arc;

use anyhow::{Result, bail};
use everfresh::estimate::{
    Estimator, Habits, LastChange, MaximumLikelihood, Naive, Observation, Ratio, Renewal, TwoRate, TwoRates,
    best_rhythm, best_shape, poisson,
};
use everfresh::{Period, Unit};
use rayon::prelude::*;

use crate::args::{CurvesArg, EstimateArgs, EstimatorArg, RowsArg, VisitArgs};
use crate::chart;
use crate::output::{self, count, number};
use crate::progress::ProgressLine;
use crate::table::{self, Input};
use crate::whole;
use curves::Laws;
use grouping::Sorter;
use hours::Hours;
use model::{Alone, Common, DriftingModel, Fitted, GammaModel, Model};
use priors::Priors;
use rows::Place;
use store::{Groups, Shard, With};
use visits::{FAULTS, Fault, Reader, SHARDS, Skipped, Told, Visits};

pub(crate) fn run(args: &EstimateArgs) -> Result<()> {
    table::check_ending(&args.out)?;
    args.report.as_deref().map(|path| chart::check_page(path, "--report")).transpose()?;
    for path in [Some(&args.out), args.report.as_ref()].into_iter().flatten() {
        whole::check_not_read(path, &args.visits.visits)?;
    }
    if args.estimator != EstimatorArg::Drifting && (args.half_life.is_some() || args.dispersion.is_some()) {
        bail!("--half-life and --dispersion need --estimator drifting");
    }
    if args.rows == RowsArg::Changes {
        if matches!(args.estimator, EstimatorArg::Renewal | EstimatorArg::TwoRates) {
            bail!("--estimator {} learns from visits, not from --rows changes", rows::word(args));
        }
        if args.hours {
            bail!("--hours learns from visits, not from --rows changes");
        }
    }
    let mut table = Table::open(&args.visits, args.rows)?;
    table::check_columns(&rows::schema(args, &table.input))?;
    if args.hours {
        table = hours::learnt(table)?;
    }
    match args.estimator {
        EstimatorArg::Gamma => watched(table, 1.0)?.finish(args),
        EstimatorArg::Drifting => drifting(table, args),
        EstimatorArg::Renewal => renewal(table)?.finish(args),
        EstimatorArg::TwoRates => two_rates(table)?.finish(args),
        EstimatorArg::Naive => alone::<Naive>(table, args),
        EstimatorArg::Ratio => alone::<Ratio>(table, args),
        EstimatorArg::Likelihood => alone::<MaximumLikelihood>(table, args),
        EstimatorArg::LastChange => alone::<LastChange>(table, args),
    }
}

fn alone<E: Estimator + Clone + Default + Send + Sync>(table: Table, args: &EstimateArgs) -> Result<()> {
    Learner::new(table, Alone::<E>::new())?.finish(args)
}

/// All pages as gamma posteriors have them, with their priors; what was seen counts only the share `factor`.
fn watched(table: Table, factor: f64) -> Result<Learner<GammaModel>> {
    let model = GammaModel { priors: Priors::new()?, told: table.reader.told, hours: table.hours.clone() };
    let mut learner = Learner::new(table, model)?;
    learner.learn(factor)?;
    Ok(learner)
}

/// What fades depends on the prior that it faded under: that is learnt first, and the table is read again.
fn drifting(table: Table, args: &EstimateArgs) -> Result<()> {
    let half_life = args.half_life.unwrap_or(Period::NEVER);
    let habits = Habits::new(half_life, args.dispersion.unwrap_or(1.0))?;
    let learner = watched(table, habits.dispersion().recip())?;
    learner.again(|priors, told| DriftingModel { priors, habits, told })?.finish(args)
}

/// Bursts, whose shape is that under which some pages were foreseen best.
fn renewal(table: Table) -> Result<Learner<impl Model>> {
    let mut learner = watched(table, 1.0)?;
    let seen = learner.some()?;
    let shape = best_shape(learner.model.priors.all, &seen.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let words = if shape < 1.0 {
        format!("of all Weibull laws of shape 0.3 to 1, that of shape {} foresees visits best", number(shape))
    } else {
        "no Weibull law of shape 0.3 to 0.9 foresees visits clearly better than a constant rate".to_owned()
    };
    let common = Common { words, shape: Some(shape) };
    let legal = Renewal::new(learner.model.priors.all, shape)?;
    let make = move |prior| Renewal::new(prior, shape).unwrap_or(legal);
    learner.again(|priors, told| Fitted { priors, told, common, make, posterior: Renewal::poisson })
}

/// Busy and quiet times, whose rhythm is that under which some pages were foreseen best.
fn two_rates(table: Table) -> Result<Learner<impl Model>> {
    let mut learner = watched(table, 1.0)?;
    let seen = learner.some()?;
    let prior = learner.model.priors.all;
    let best = best_rhythm(prior, &seen.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let words = match best {
        Some(rhythm) => format!(
            "busy times of {} and quiet ones of {} on average, with {} times as many changes in the busy ones, foresee visits best",
            rhythm.busy_for(),
            rhythm.quiet_for(),
            number(rhythm.contrast())
        ),
        None => "no busy and quiet times foresee visits better than a constant rate".to_owned(),
    };
    let gap = Period::of(prior.mean().per_second().recip(), Unit::Second)?;
    let rhythm = best.map_or_else(|| TwoRates::new(gap, gap, 1.0), Ok)?;
    let common = Common { words, shape: None };
    let make = move |prior| TwoRate::new(prior, rhythm);
    learner.again(|priors, told| Fitted {
        priors,
        told,
        common,
        make,
        posterior: |page: &TwoRate| Some(page.posterior()),
    })
}

/// The group of a page, and what its visits saw.
type Grouped = (u32, Vec<Observation>);

/// What the visits of pages saw, with the group of each: of some thousands at most, evenly drawn by name. And how many pages there are.
pub(crate) fn observations(args: &VisitArgs) -> Result<(usize, Vec<Grouped>)> {
    let mut learner = Learner::new(Table::open(args, RowsArg::Visits)?, Alone::<Naive>::new())?;
    let pages = Arc::clone(&learner.pages);
    let seen = learner.record(&pages)?.into_iter().map(|page| (page.group, page.visits)).collect();
    Ok((pages.len(), seen))
}

/// Now, in whole seconds since 1970.
fn clock() -> Result<u32> {
    Ok(u32::try_from(jiff::Timestamp::now().as_second())?)
}

/// A table of visits, and how it is read.
struct Table {
    input: Input,
    reader: Reader,
    groups: Groups,
    /// Must the visits of pages be sorted?
    is_disordered: bool,
    /// Where rows are changes: up to when they are known; none is the last of all.
    end: Option<u32>,
    /// By which the time between visits is counted.
    hours: Option<Arc<Hours>>,
    /// Has been said what was skipped?
    is_told: bool,
}

impl Table {
    fn open(args: &VisitArgs, rows: RowsArg) -> Result<Table> {
        let input = Input::open(&args.visits, visits::columns(args, rows))?;
        let now = args.now.map_or_else(clock, Ok)?;
        let reader = Reader::new(visits::told(&input, rows)?, now);
        let groups = Groups::new(visits::are_pairs(&input));
        Ok(Table { input, reader, groups, is_disordered: false, end: args.now, hours: None, is_told: false })
    }

    /// Takes in all visits, sorted where they must be, and the time after the last where rows are changes.
    fn scan<M: Model>(&mut self, pass: &str, model: &M, shards: &mut [Shard<M::State>]) -> Result<SkippedVisits> {
        let skipped = self.scan_visits(pass, model, shards)?;
        self.reader.end();
        if self.reader.told == Told::EveryChange {
            let last = shards.iter().flat_map(|shard| &shard.pages).map(|page| page.last).max();
            let end = self.end.or(last).unwrap_or(0);
            shards.par_iter_mut().map(|shard| shard.end(end, model)).collect::<Result<()>>()?;
        }
        Ok(skipped)
    }

    fn scan_visits<M: Model>(
        &mut self,
        pass: &str,
        model: &M,
        shards: &mut [Shard<M::State>],
    ) -> Result<SkippedVisits> {
        if !self.is_disordered {
            match self.scan_in_order(pass, model, shards) {
                Err(error) if error.is::<Disorder>() => self.is_disordered = true,
                result => return result,
            }
        }
        self.scan_sorted(pass, model, shards)
    }

    fn with<'a, M: Model>(&'a self, model: &'a M) -> With<'a, M> {
        With { told: self.reader.told, model, groups: &self.groups, hours: self.hours.as_deref() }
    }

    fn scan_in_order<M: Model>(&self, pass: &str, model: &M, shards: &mut [Shard<M::State>]) -> Result<SkippedVisits> {
        let with = self.with(model);
        let mut skipped = SkippedVisits::default();
        let line = ProgressLine::new(pass, &self.input, "visits");
        self.input.scan_parts(
            |batch| self.reader.visits(batch),
            |batches: Vec<Visits>, done| {
                line.at(done);
                let take = |(number, shard): (usize, &mut Shard<M::State>)| shard.take(number, &batches, &with);
                let parts: Vec<_> = shards.par_iter_mut().enumerate().map(take).collect();
                skipped.add(&batches, parts)?;
                self.reader.take_back(batches);
                let is_disordered = skipped.of(Fault::Backwards) + skipped.of(Fault::Differs) > 0;
                if is_disordered { Err(Disorder.into()) } else { Ok(()) }
            },
        )?;
        Ok(skipped)
    }

    fn scan_sorted<M: Model>(&self, pass: &str, model: &M, shards: &mut [Shard<M::State>]) -> Result<SkippedVisits> {
        let with = self.with(model);
        let mut skipped = SkippedVisits::default();
        let mut sorters: Vec<Sorter> = (0..SHARDS).map(|_| Sorter::default()).collect();
        shards.par_iter_mut().for_each(Shard::begin);
        let line = ProgressLine::new(&format!("{pass} and sorting"), &self.input, "visits");
        self.input.scan_parts(
            |batch| self.reader.visits(batch),
            |batches: Vec<Visits>, done| {
                line.at(done);
                let both = shards.par_iter_mut().zip(&mut sorters).enumerate();
                let gather = |(number, (shard, sorter)): (usize, (&mut Shard<M::State>, &mut Sorter))| {
                    shard.gather(number, &batches, &self.groups, sorter)
                };
                let parts: Vec<_> = both.map(gather).collect();
                skipped.add(&batches, parts)?;
                self.reader.take_back(batches);
                Ok(())
            },
        )?;
        shards.par_iter_mut().for_each(Shard::begin);
        let both: Vec<_> = shards.iter_mut().zip(sorters).collect();
        let take = |(shard, sorter): (&mut Shard<M::State>, Sorter)| shard.take_sorted(sorter, &with);
        let parts: Vec<_> = both.into_par_iter().map(take).collect();
        let mut all = store::ToldOfSorted::default();
        for part in parts {
            all.iter_mut().zip(part?).for_each(|(all, part)| all.merge(part));
        }
        for (fault, told) in [Fault::SameSecond, Fault::Differs, Fault::OtherDate].into_iter().zip(all) {
            skipped.set(fault, told)?;
        }
        Ok(skipped)
    }
}

/// All pages of a table, as a model has them.
struct Learner<M: Model> {
    table: Table,
    model: M,
    shards: Vec<Shard<M::State>>,
    /// The shards and numbers of all pages, by name: the same, in whatever order the rows came.
    pages: Arc<[Place]>,
}

impl<M: Model> Learner<M> {
    /// Reads the table and says what was skipped.
    fn new(mut table: Table, model: M) -> Result<Learner<M>> {
        let mut shards: Vec<_> = (0..SHARDS).map(|_| Shard::new()).collect();
        let skipped = table.scan("reading", &model, &mut shards)?;
        if !std::mem::replace(&mut table.is_told, true) {
            skipped.say(table.reader.told);
        }
        let pages = rows::by_name(&shards).into();
        Ok(Learner { table, model, shards, pages })
    }

    /// Writes everything.
    fn finish(mut self, args: &EstimateArgs) -> Result<()> {
        let pages = Arc::clone(&self.pages);
        let curves = rows::curves(args);
        let is_asked = curves == CurvesArg::Bursts || args.report.is_some();
        let seen = if is_asked { self.record(&pages)? } else { Vec::new() };
        let visits = seen.iter().map(|page| page.visits.as_slice());
        let groups = match args.rows {
            RowsArg::Visits => poisson::examine(visits),
            RowsArg::Changes => poisson::examine_logs(visits),
        };
        let shape = self.model.common().and_then(|common| common.shape);
        let laws = match (curves, shape) {
            (CurvesArg::None, _) => None,
            (_, Some(shape)) => Some(Laws::of_shape(shape)),
            (CurvesArg::Rates, None) => Some(Laws::default()),
            (CurvesArg::Bursts, None) => Some(Laws::new(&groups)),
        };
        let told = self.write(args, &pages, laws.as_ref())?;
        let mut summary = self.summary(&told, args);
        let learnt =
            [self.model.common().map(|common| common.words.clone()), self.table.hours.as_deref().map(Hours::summary)];
        learnt.into_iter().flatten().for_each(|words| summary.push_str(&format!("\n{words}")));
        output::say(&summary);
        match &args.report {
            Some(path) => self.report(path, &summary, &groups, &seen),
            None => Ok(()),
        }
    }

    /// What is to be thought of visits that (nearly) always found a change: they say no more than "at least as often as I come".
    fn suspicion(&self, told: &rows::Totals) -> String {
        let again = told.visits.saturating_sub(told.pages - told.never);
        let share = told.changes as f64 / again.max(1) as f64;
        if !self.table.reader.told.is_bare() || share <= 0.95 {
            return String::new();
        }
        if share >= LOG_SHARE && again >= LOG_ROWS {
            let later = count(again as f64, "later visit");
            let (whose, else_) = if told.changes == again {
                (
                    format!("every one of {later}"),
                    "nothing bounds rates from above: rate is hardly more than a guess, and rate_high is empty",
                )
            } else {
                let whose = format!("{} of {later}", output::percent(share));
                (
                    whose,
                    "hardly anything bounds rates from above: visit some pages more often, or give last-change times",
                )
            };
            return format!(
                "\nwarning: {whose} found a change: is this a log of changes, not of visits? Then say --rows changes. If they are visits, {else_}"
            );
        }
        format!(
            "\nhint: {} of the visits found a change: how much more often pages change than they are visited can hardly be told. \
             Visit some pages more often, or give last-change times",
            output::percent(share)
        )
    }

    fn summary(&self, told: &rows::Totals, args: &EstimateArgs) -> String {
        let count = |n: u64, one: &str| count(n as f64, one);
        let is_log = args.rows == RowsArg::Changes;
        let mut text = if is_log { told.of_changes() } else { told.of_visits() };
        if told.never > 0 {
            text.push_str(&format!(", {} without a visit that counts", count(told.never, "page")));
        }
        text.push_str(&self.suspicion(told));
        let Some(priors) = self.model.priors() else {
            if told.once + told.never > 0 && !is_log {
                let estimator = rows::word(args);
                text.push_str(&format!(
                    "\n{estimator} knows nothing of a page that was not visited again: its rate is empty; gamma would have the rate of its like"
                ));
            }
            let quiet = if is_log { told.once } else { told.quiet };
            if quiet > 0 {
                text.push_str(&format!(
                    "\n{} with rate 0, since no change was seen: a plan takes that for static and never visits; --estimator gamma has the rate that is still likely",
                    count(quiet, "page")
                ));
            }
            return text;
        };
        if priors.unbounded.1 == 0 && !is_log {
            text.push_str("\nno page was visited again: this is what is thought of pages of which nothing is known");
        }
        if priors.unbounded.0 > 0 && !priors.are_blind {
            text.push_str(&format!(
                "\n{} had changed at every visit: such rates are known from below only",
                count(priors.unbounded.0 as u64, "page")
            ));
        }
        if priors.are_blind {
            text.push_str(
                "\nno visit found a page unchanged: what pages have in common cannot be learnt, and each stands alone",
            );
            return text;
        }
        let (mean, alpha) = (priors.all.mean(), priors.all.alpha());
        text.push_str(&format!("\na page changes {mean} on average; rates differ by a gamma law of shape "));
        text.push_str(&number(alpha));
        if let Some(held) = &priors.held {
            let groups = count(held.groups as u64, "group");
            text.push_str(&format!("; {groups}, each held to that as by {}", output::count(held.by, "page")));
            if held.hosts > held.groups {
                text.push_str(&format!("; {}, each held to its group", count(held.hosts as u64, "host")));
            }
        }
        text
    }
}

/// Observations that tell what all pages have in common: more would hardly move it.
const SOME: usize = 1 << 19;

impl Learner<GammaModel> {
    /// What the visits of some pages saw, evenly drawn by name.
    fn some(&mut self) -> Result<Vec<Vec<Observation>>> {
        let pages = Arc::clone(&self.pages);
        let seen = self.record(&pages)?;
        let all: usize = seen.iter().map(|page| page.visits.len()).sum();
        Ok(seen.into_iter().step_by(all.div_ceil(SOME).max(1)).map(|page| page.visits).collect())
    }

    /// The same pages under a model that needs the priors: the table is read again.
    fn again<M: Model>(self, model: impl FnOnce(Priors, Told) -> M) -> Result<Learner<M>> {
        let Learner { mut table, model: GammaModel { priors, told, .. }, shards, pages } = self;
        let mut shards: Vec<_> = shards.into_iter().map(|mut shard| shard.lend(|_| <_>::default())).collect();
        let model = model(priors, told);
        table.scan("reading again", &model, &mut shards)?;
        Ok(Learner { table, model, shards, pages })
    }
}

/// So many visits do not find a change, nearly each, by chance.
const LOG_ROWS: u64 = 10;
const LOG_SHARE: f64 = 0.99;

/// The visits of a page are not in the order of their times, or of one second and saw different things.
#[derive(Debug)]
struct Disorder;

impl std::fmt::Display for Disorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the visits of a page are not in the order of their times")
    }
}

impl std::error::Error for Disorder {}

/// All visits that were skipped, and the place of the first of each kind.
#[derive(Default)]
struct SkippedVisits([(u64, String); FAULTS.len()]);

impl SkippedVisits {
    /// Adds what some batches skipped, and what each shard skipped of each.
    fn add(&mut self, batches: &[Visits], shards: Vec<Result<Vec<Skipped>>>) -> Result<()> {
        let mut skipped: Vec<Skipped> = batches.iter().map(|visits| visits.skipped).collect();
        for shard in shards {
            skipped.iter_mut().zip(&shard?).for_each(|(all, one)| all.merge(one));
        }
        for (visits, skipped) in batches.iter().zip(&skipped) {
            for (fault, (count, first)) in FAULTS.into_iter().zip(&mut self.0) {
                let (more, row) = skipped.of(fault);
                if *count == 0 && more > 0 {
                    *first = visits.batch.where_is(row as usize);
                }
                *count += more;
            }
        }
        Ok(())
    }

    fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize].0
    }

    /// Says of how many visits that were sorted something is to be said.
    fn set(&mut self, fault: Fault, told: store::SomeVisits) -> Result<()> {
        let place = |(page, second): (String, u32)| -> Result<String> {
            let page = report::shortened_to(200, &page);
            Ok(format!("page `{page}` at {}", jiff::Timestamp::from_second(i64::from(second))?))
        };
        self.0[fault as usize] = (told.visits, told.first.map_or_else(|| Ok(String::new()), place)?);
        Ok(())
    }

    fn say(&self, told: Told) {
        for (fault, (visits, first)) in FAULTS.into_iter().zip(&self.0).filter(|(_, (visits, _))| *visits > 0) {
            let visits = count(*visits as f64, "visit");
            let said = match fault {
                Fault::Backwards => format!("{visits} earlier than the one before: all were sorted by time"),
                Fault::SameSecond if told == Told::EveryChange => {
                    format!("{} skipped: the page changed in the same second", visits.replace("visit", "change"))
                }
                Fault::SameSecond => format!("{visits} skipped: the page was visited in the same second"),
                Fault::Future => format!("{visits} skipped: the time is in the future"),
                Fault::Empty if told == Told::LastModified => {
                    format!("{visits} skipped: there is no time of the last change")
                }
                Fault::Empty if told == Told::Changed => {
                    format!("{visits} skipped: it is not said whether the page had changed")
                }
                Fault::Empty => format!("{visits} skipped: the digest is empty"),
                Fault::AfterVisit => format!("{visits} skipped: the last change is later than the visit"),
                Fault::Differs => format!(
                    "{visits} in the same second as another saw something else: taken as one, that saw a change unless it is the page's first"
                ),
                Fault::OtherDate => format!(
                    "{visits} with another date of the last change, though no later than the visit before: a change, at a time that is not known"
                ),
                Fault::OtherGroup => {
                    format!("{visits} with another group than the first of the page: the first counts")
                }
            };
            output::say(&format!("{said} (first: {first})"));
        }
    }
}

/// Per day.
fn per_day(rate: everfresh::Rate) -> f64 {
    rate.per_second() * Unit::Day.seconds()
}
