//! `everfresh estimate`: from a table of visits to how often each page changes.
//!
//! Batches are decoded and divided by the names of their pages in parallel, and taken in in order, all shards at a time. What a
//! bare change told depends a little on the prior, which is learnt from a first batch; if all pages then tell another one,
//! the table is read again.

mod model;
mod report;
mod rows;
mod store;
mod visits;

use anyhow::{Result, bail};
use everfresh::Unit;
use everfresh::estimate::{Evidence, Habits, LastChange, MaximumLikelihood, Naive, Ratio};
use rayon::prelude::*;

use crate::args::{EstimateArgs, EstimatorArg};
use crate::output::{self, count, number};
use crate::progress::ProgressLine;
use crate::table::{self, Input};
use model::{Alone, DriftingModel, GammaModel, Model, Priors};
use store::{Groups, Shard};
use visits::{FAULTS, Fault, Reader, SHARDS, Skipped, Told, Visits};

/// Scans at most: the second has nearly always the right prior.
const SCANS: usize = 3;

pub(crate) fn run(args: &EstimateArgs) -> Result<()> {
    table::check_ending(&args.out)?;
    if let Some(path) = args.report.as_ref().filter(|path| path.extension().is_none_or(|ending| ending != "html")) {
        bail!("--report `{}`: the ending must be .html", path.display());
    }
    if args.estimator != EstimatorArg::Drifting && (args.half_life.is_some() || args.dispersion.is_some()) {
        bail!("--half-life and --dispersion need --estimator drifting");
    }
    match args.estimator {
        EstimatorArg::Gamma => estimate(args, GammaModel(Priors::new()?)),
        EstimatorArg::Drifting => estimate(args, DriftingModel { priors: Priors::new()?, habits: habits(args)? }),
        EstimatorArg::Naive => estimate(args, Alone::<Naive>::new()),
        EstimatorArg::Ratio => estimate(args, Alone::<Ratio>::new()),
        EstimatorArg::Likelihood => estimate(args, Alone::<MaximumLikelihood>::new()),
        EstimatorArg::LastChange => estimate(args, Alone::<LastChange>::new()),
    }
}

fn habits(args: &EstimateArgs) -> Result<Habits> {
    let half_life = args.half_life.unwrap_or(everfresh::Period::NEVER);
    Ok(Habits::new(half_life, args.dispersion.unwrap_or(1.0))?)
}

fn estimate<M: Model>(args: &EstimateArgs, model: M) -> Result<()> {
    let input = Input::open(&args.visits, visits::columns(args))?;
    let reader = Reader { told: visits::told(&input)?, now: args.now.map_or_else(clock, Ok)?, hasher: <_>::default() };
    let shards = (0..SHARDS).map(|_| Shard::new()).collect();
    let mut learner = Learner { input, reader, model, shards, groups: Groups::default() };
    let skipped = learner.learn()?;
    skipped.say(learner.reader.told);
    let told = learner.write(args)?;
    let summary = learner.summary(&told);
    output::say(&summary);
    match &args.report {
        Some(path) => learner.report(path, &summary),
        None => Ok(()),
    }
}

/// Now, in whole seconds since 1970.
fn clock() -> Result<u32> {
    Ok(u32::try_from(jiff::Timestamp::now().as_second())?)
}

/// All pages, and what their visits are read with.
struct Learner<M: Model> {
    input: Input,
    reader: Reader,
    model: M,
    shards: Vec<Shard<M::State>>,
    groups: Groups,
}

impl<M: Model> Learner<M> {
    /// Reads the table, again if the priors were far off.
    fn learn(&mut self) -> Result<SkippedVisits> {
        let mut scans = 0;
        loop {
            scans += 1;
            let skipped = self.scan(if scans == 1 { "reading" } else { "reading again" }, scans == 1)?;
            let was_far = self.learn_priors();
            // Dated changes tell the same under every prior.
            if !was_far || scans == SCANS || self.reader.told == Told::LastModified {
                return Ok(skipped);
            }
            self.reset();
        }
    }

    fn scan(&mut self, pass: &str, is_first: bool) -> Result<SkippedVisits> {
        let Learner { input, reader, model, shards, groups } = self;
        let mut skipped = SkippedVisits::default();
        let line = ProgressLine::new(pass, input, "visits");
        let mut to_try = is_first && model.priors().is_some() && reader.told != Told::LastModified;
        input.scan(
            true,
            |batch| reader.visits(batch),
            |visits, done| {
                line.at(done);
                for _ in 0..if to_try { 2 } else { 0 } {
                    take(shards, &visits, reader, model, groups)?;
                    learn_priors(shards, model, groups);
                    shards.par_iter_mut().for_each(Shard::reset);
                }
                to_try = false;
                skipped.add(&visits, &take(shards, &visits, reader, model, groups)?);
                Ok(())
            },
        )?;
        Ok(skipped)
    }

    fn learn_priors(&mut self) -> bool {
        learn_priors(&self.shards, &mut self.model, &self.groups)
    }

    fn reset(&mut self) {
        self.shards.par_iter_mut().for_each(Shard::reset);
    }

    fn summary(&mut self, told: &rows::Totals) -> String {
        let count = |n: u64, one: &str| count(n as f64, one);
        let mut text = format!(
            "{}, {}, {} seen; {} visited again but never seen to change",
            count(told.pages, "page"),
            count(told.visits, "visit"),
            count(told.changes, "change"),
            count(told.quiet, "page"),
        );
        if told.once > 0 {
            text.push_str(&format!(", {} visited once", count(told.once, "page")));
        }
        let groups = self.groups.names().len();
        if let Some(priors) = self.model.priors() {
            let (mean, alpha) = (priors.all.mean(), priors.all.alpha());
            text.push_str(&format!("\na page changes {mean} on average; rates differ by a gamma law of shape "));
            text.push_str(&number(alpha));
            if groups > 1 {
                let own = number(priors.pooling);
                text.push_str(&format!("; {}, each held to that as by {own} pages", count(groups as u64, "group")));
            }
        }
        text
    }
}

/// Every shard takes in its visits.
fn take<M: Model>(
    shards: &mut [Shard<M::State>],
    visits: &Visits,
    reader: &Reader,
    model: &M,
    groups: &Groups,
) -> Result<Skipped> {
    let of_shard = |(shard, rows): (&mut Shard<M::State>, &Vec<u32>)| shard.take(visits, rows, reader, model, groups);
    let parts: Vec<Result<Skipped>> = shards.par_iter_mut().zip(&visits.rows).map(of_shard).collect();
    let mut skipped = visits.skipped;
    for part in parts {
        skipped.merge(&part?);
    }
    Ok(skipped)
}

/// Learns the priors; true if they were far off for many pages.
fn learn_priors<M: Model>(shards: &[Shard<M::State>], model: &mut M, groups: &Groups) -> bool {
    if model.priors().is_none() {
        return false;
    }
    let of_shard = |shard: &Shard<M::State>| -> Vec<(u32, Evidence)> {
        let watched = shard.pages.iter().enumerate().filter(|(_, page)| page.visits > 1);
        watched.map(|(number, page)| (shard.group(number), model.evidence(&page.state))).collect()
    };
    let told: Vec<(u32, Evidence)> = shards.iter().flat_map(of_shard).collect();
    let ranks = store::ranks(&groups.names());
    model.priors().is_some_and(|priors| priors.learn(told, &ranks))
}

/// All visits that were skipped, and the place of the first of each kind.
#[derive(Default)]
struct SkippedVisits([(u64, String); FAULTS.len()]);

impl SkippedVisits {
    fn add(&mut self, visits: &Visits, skipped: &Skipped) {
        for (fault, (count, first)) in FAULTS.into_iter().zip(&mut self.0) {
            let (more, row) = skipped.of(fault);
            if *count == 0 && more > 0 {
                *first = visits.batch.where_is(row as usize);
            }
            *count += more;
        }
    }

    fn say(&self, told: Told) {
        for (fault, (skipped, first)) in FAULTS.into_iter().zip(&self.0).filter(|(_, (skipped, _))| *skipped > 0) {
            let why = match fault {
                Fault::Backwards => "time goes backwards: sort the visits of each page by time",
                Fault::SameSecond => "two visits of a page in the same second",
                Fault::Future => "the time is in the future",
                Fault::Empty if told == Told::LastModified => "there is no time of the last change",
                Fault::Empty => "the digest is empty",
                Fault::AfterVisit => "the last change is later than the visit",
            };
            output::say(&format!("{} skipped: {why} (first: {first})", count(*skipped as f64, "visit")));
        }
    }
}

/// Per day.
fn per_day(rate: everfresh::Rate) -> f64 {
    rate.per_second() * Unit::Day.seconds()
}
