//! `everfresh simulate`: every policy in one world, beside the optimum.

mod report;
mod sweep;

use anyhow::{Context, Result, bail};
use everfresh::{Period, Unit};
use everfresh_sim::contest::{Contest, Entrant, Goal, Standing};
use everfresh_sim::entry::Entry;
use everfresh_sim::scheduled::LONGEST_S;
use everfresh_sim::trace::{self, Window};
use everfresh_sim::world::{Habit, Synthetic, Weights, World};
use everfresh_sim::{Conditions, Measured, Score};
use serde::Serialize;
use std::collections::HashSet;

use crate::args::{GoalArg, HabitArg, Load, SimulateArgs, WeightsArg, Word, WorldArg};
use crate::interrupt;
use crate::output::{self, Grid, number, percent};
use crate::progress::ShareLine;

pub(crate) fn run(args: &SimulateArgs) -> Result<()> {
    if let Some(path) = &args.report {
        crate::chart::check_page(path, "--report")?;
    }
    let entries = Entry::list(&args.policies.join(","))?;
    let (mut world, duration_s) = world(args)?;
    weather(args, &mut world);
    let entries = lasting(entries, &args.policies, duration_s)?;
    let contest = contest(args, &world, duration_s)?;
    let line = ShareLine::new();
    let compared = Runner { line: &line, of: 0.7, from: 0.0 }.compare(&contest, &entries)?;
    let earns = args.benefit.as_ref().map(|benefit| Earns { benefit: benefit.per_second, cost: args.visit_cost });
    let text = people(&contest, &compared, earns);
    if let Some(path) = &args.report {
        let figures = Runner { line: &line, of: 0.3, from: 0.7 }.sweep(&contest, &entries)?;
        report::write(path, &text, &figures, &compared.standings, contest.goal)?;
    }
    drop(line);
    if args.json { output::print_json(&machines(&contest, &compared, earns)) } else { output::print(&text) }
}

/// Those who last for as long as a world: the scheduler does not for more than 17 years, and is left out then unless it was named.
pub(crate) fn lasting(mut entries: Vec<Entry>, names: &[String], duration_s: f64) -> Result<Vec<Entry>> {
    if duration_s > LONGEST_S {
        if names.iter().any(|name| name.split(',').any(|name| name.trim() == Entrant::Scheduler.name())) {
            let (most, got) = (LONGEST_S / Unit::Day.seconds(), duration_s / Unit::Day.seconds());
            bail!("the scheduler's clock lasts for {most} days: a world must be no longer for it, got {got}");
        }
        entries.retain(|entry| entry.entrant() != Entrant::Scheduler);
    }
    Ok(entries)
}

fn world(args: &SimulateArgs) -> Result<(World, f64)> {
    match &args.world {
        WorldArg::Rates(rates) => {
            if args.from.is_some() || args.to.is_some() {
                bail!("--from and --to are for traces: a synthetic world lasts for --days");
            }
            if args.eagerness.is_some() || args.looked_every.is_some() {
                bail!(
                    "--eagerness and --looked-every are for traces: in a synthetic world it is known when pages change"
                );
            }
            let duration_s = args.days.unwrap_or(365.0) * Unit::Day.seconds();
            let habit = match args.habit.unwrap_or(HabitArg::Poisson) {
                HabitArg::Poisson => Habit::Poisson,
                HabitArg::Bursty => Habit::Bursty,
                HabitArg::Periodic => Habit::Periodic,
                HabitArg::Drifting => Habit::Drifting,
                HabitArg::Mortal => Habit::Mortal,
                HabitArg::Regions => Habit::Regions,
                HabitArg::Text => Habit::Text,
            };
            let weights = match args.weights.unwrap_or(WeightsArg::Uniform) {
                WeightsArg::Uniform => Weights::Uniform,
                WeightsArg::Zipf => Weights::Zipf,
                WeightsArg::ZipfByRate => Weights::ZipfByRate,
            };
            let pages = usize::try_from(args.pages.unwrap_or(2000)).context("--pages")?;
            let described = Synthetic { pages, rates: *rates, weights, habit, duration_s, seed: args.seed };
            Ok((described.build(), duration_s))
        }
        WorldArg::Trace(_) | WorldArg::Snapshots(_) => recorded(args),
    }
}

/// A world that was recorded, all of it or a sample.
fn recorded(args: &SimulateArgs) -> Result<(World, f64)> {
    if args.habit.is_some() || args.weights.is_some() || args.days.is_some() || args.hosts > 1 {
        bail!("--habit, --weights, --days and --hosts are for synthetic worlds: a trace is as it was recorded");
    }
    let is_trace = matches!(args.world, WorldArg::Trace(_));
    if is_trace && args.eagerness.is_some() && args.looked_every.is_none() {
        bail!("--eagerness of a trace needs --looked-every: without it the times of its changes are exact");
    }
    if !is_trace && args.looked_every.is_some() {
        bail!("--looked-every is for traces: snapshots say when somebody looked");
    }
    let window = Window {
        from_unix: args.from.map(f64::from),
        to_unix: args.to.map(f64::from),
        with_fragments: args.objective == GoalArg::Content,
        looked_every_s: args.looked_every.map_or(0.0, Period::seconds),
        eagerness: args.eagerness,
    };
    let (world, duration_s) = match &args.world {
        WorldArg::Snapshots(path) => {
            let versions = crate::longevity::versions(path)?;
            trace::of_snapshots(&path.display().to_string(), &versions, &window)?
        }
        WorldArg::Trace(folder) => trace::load(folder, &window)?,
        WorldArg::Rates(_) => bail!("a synthetic world was not recorded"),
    };
    let world = match args.pages {
        Some(pages) => world.sample(usize::try_from(pages).context("--pages")?),
        None => world,
    };
    Ok((world, duration_s))
}

/// What befalls visits: failures, time that they take, limits of hosts.
fn weather(args: &SimulateArgs, world: &mut World) {
    world.failures = args.failures.unwrap_or(0.0);
    world.latency_s = args.latency.map_or(0.0, Period::seconds);
    if matches!(args.world, WorldArg::Rates(_)) {
        for (page, number) in world.pages.iter_mut().zip(0u32..) {
            page.host = number % args.hosts;
        }
    }
    if let Some(cap) = args.host_cap {
        let hosts = world.pages.iter().map(|page| page.host as usize + 1).max().unwrap_or(0);
        world.host_caps = vec![cap; hosts];
    }
}

fn contest<'a>(args: &SimulateArgs, world: &'a World, duration_s: f64) -> Result<Contest<'a>> {
    let budget = match args.budget {
        Load::PerPage(each) => each,
        Load::InAll(all) => all / world.pages.len() as f64,
    };
    let warmup_s = args.warmup.map_or(0.0, Period::seconds);
    if warmup_s >= duration_s {
        bail!("--warmup must be shorter than the world lasts, {}", Period::of(duration_s, Unit::Second)?);
    }
    if budget * duration_s < 0.01 {
        bail!("--budget must be at least a hundredth of a visit to a page in all, got {}", number(budget * duration_s));
    }
    if budget * duration_s > 1e6 {
        bail!("--budget must be at most a million visits to a page in all, got {}", number(budget * duration_s));
    }
    let conditions = Conditions { duration_s, warmup_s, budget, price: 0.0, order: args.order.into(), seed: args.seed };
    let goal = match args.objective {
        GoalArg::Freshness => Goal::Freshness,
        GoalArg::Content => Goal::Content,
    };
    Ok(Contest { world, conditions, seeds: args.seeds, goal, hold_peers: args.hold_peers })
}

/// Runs policies and shows how far that is.
pub(crate) struct Runner<'a> {
    pub line: &'a ShareLine,
    /// The share of all work that this is, and what was done before.
    pub of: f64,
    pub from: f64,
}

impl Runner<'_> {
    /// Does a piece of work, unless the program is asked to end meanwhile.
    pub(crate) fn watched<T>(
        &self,
        share: f64,
        of: f64,
        what: &str,
        work: impl FnOnce(&(dyn Fn(f64) -> bool + Sync)) -> Option<T>,
    ) -> Result<T> {
        let watch = |part: f64| {
            self.line.at(self.from + self.of * (share + of * part), what);
            interrupt::check().is_ok()
        };
        let done = work(&watch);
        interrupt::check()?;
        done.context("the run was stopped")
    }

    /// Runs every policy with every seed.
    pub(crate) fn run(&self, contest: &Contest<'_>, entries: &[Entry]) -> Result<Vec<(Entry, Vec<Score>)>> {
        let part = 1.0 / entries.len() as f64;
        let run = |(number, entry): (usize, &Entry)| {
            let name = entry.entrant().name();
            let scores = self.watched(part * number as f64, part, name, |watch| contest.run(*entry, &watch))?;
            Ok((*entry, scores))
        };
        entries.iter().enumerate().map(run).collect()
    }

    /// The same, beside the optimum.
    fn compare(&self, contest: &Contest<'_>, entries: &[Entry]) -> Result<Compared> {
        let runs = Runner { of: 0.8 * self.of, ..*self }.run(contest, entries)?;
        let loads: Vec<f64> = runs.iter().flat_map(|(_, scores)| scores.iter().map(Score::load)).collect();
        let frontier = self.watched(0.8, 0.2, "the optimum", |watch| contest.frontier(&loads, &watch))?;
        let standings = runs.iter().map(|(entry, scores)| contest.standing(*entry, scores, &frontier)).collect();
        Ok(Compared { standings, optimum: frontier.optimum() })
    }
}

/// What all reached, and who the optimum is that they are compared with.
struct Compared {
    standings: Vec<Standing>,
    optimum: Entrant,
}

/// What a fresh copy earns per second, and what a visit costs.
#[derive(Clone, Copy)]
struct Earns {
    benefit: f64,
    cost: f64,
}

impl Earns {
    /// The net income per page and day (RN15): benefit of fresh time less the cost of visits.
    fn income_per_day(self, standing: &Standing) -> f64 {
        (self.benefit * standing.freshness.mean - self.cost * standing.load) * Unit::Day.seconds()
    }
}

#[derive(Serialize)]
struct Machines {
    world: String,
    pages: usize,
    days: f64,
    budget_per_page_per_day: f64,
    objective: &'static str,
    /// Who the optimum is.
    optimum: &'static str,
    order: &'static str,
    peers_held: bool,
    warmup_days: f64,
    failures: f64,
    latency_s: f64,
    hosts: usize,
    host_cap_per_day: Option<f64>,
    seed: u64,
    seeds: u64,
    policies: Vec<MachineRow>,
}

#[derive(Serialize)]
struct MachineRow {
    policy: String,
    visits: f64,
    visits_per_page_per_day: f64,
    /// Is it on the budget, and more than 2 % off it?
    misses_budget: bool,
    freshness: f64,
    freshness_error: f64,
    age_days: f64,
    age_error_days: f64,
    staleness: f64,
    staleness_error: f64,
    share_of_optimum: Option<f64>,
    share_of_optimum_error: Option<f64>,
    optimum_needs: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    income_per_page_per_day: Option<f64>,
}

fn machines(contest: &Contest<'_>, compared: &Compared, earns: Option<Earns>) -> Machines {
    let day = Unit::Day.seconds();
    let row = |standing: &Standing| MachineRow {
        policy: standing.entry.to_string(),
        visits: standing.visits,
        visits_per_page_per_day: standing.load * day,
        misses_budget: contest.misses_budget(standing),
        freshness: standing.freshness.mean,
        freshness_error: standing.freshness.error,
        age_days: standing.age_s.mean / day,
        age_error_days: standing.age_s.error / day,
        staleness: standing.divergence.mean,
        staleness_error: standing.divergence.error,
        share_of_optimum: standing.share.map(|share| share.mean),
        share_of_optimum_error: standing.share.map(|share| share.error).filter(|error| error.is_finite()),
        optimum_needs: standing.optimum_needs,
        income_per_page_per_day: earns.map(|earns| earns.income_per_day(standing)),
    };
    let World { name, pages, failures, latency_s, .. } = contest.world;
    Machines {
        world: name.clone(),
        pages: pages.len(),
        days: contest.conditions.duration_s / day,
        budget_per_page_per_day: contest.conditions.budget * day,
        objective: objective(contest.goal),
        optimum: compared.optimum.name(),
        order: contest.conditions.order.word(),
        peers_held: contest.hold_peers,
        warmup_days: contest.conditions.warmup_s / day,
        failures: *failures,
        latency_s: *latency_s,
        hosts: hosts(contest.world),
        host_cap_per_day: contest.world.host_caps.first().map(|cap| cap * day),
        seed: contest.conditions.seed,
        seeds: contest.seeds,
        policies: compared.standings.iter().map(row).collect(),
    }
}

const fn objective(goal: Goal) -> &'static str {
    match goal {
        Goal::Freshness => "freshness",
        Goal::Content => "content",
    }
}

/// On how many hosts the pages are.
fn hosts(world: &World) -> usize {
    world.pages.iter().map(|page| page.host).collect::<HashSet<_>>().len()
}

/// Under which conditions the policies ran; what is as usual is not said.
fn terms(contest: &Contest<'_>, optimum: Entrant) -> String {
    let (day, Conditions { order, warmup_s, .. }) = (Unit::Day.seconds(), contest.conditions);
    let World { failures, latency_s, host_caps, .. } = contest.world;
    let peers = if contest.hold_peers { "held to the budget" } else { "at the load they choose" };
    let mut terms = vec![
        format!("objective: {}", objective(contest.goal)),
        format!("order: {}", order.word()),
        format!("other crawlers: {peers}"),
    ];
    let mut add = |is_said: bool, term: String| terms.extend(is_said.then_some(term));
    // Known rates are the optimum that everybody means, where pages change at random.
    add(optimum != Entrant::Optimal || !contest.world.is_poisson(), format!("the optimum: {}", optimum.name()));
    add(contest.seeds > 1, format!("runs: {}", contest.seeds));
    add(warmup_s > 0.0, format!("warm-up: {} days", number(warmup_s / day)));
    add(*failures > 0.0, format!("failures: {}", percent(*failures)));
    add(*latency_s > 0.0, format!("latency: {} s", number(*latency_s)));
    if let Some(cap) = host_caps.first() {
        let visits = output::count(cap * day, "visit");
        add(true, format!("hosts: {}, {visits} a day each", hosts(contest.world)));
    }
    terms.join("; ")
}

fn people(contest: &Contest<'_>, compared: &Compared, earns: Option<Earns>) -> String {
    let day = Unit::Day.seconds();
    let mut headings = vec![
        "policy",
        "visits",
        "visits/page/day",
        "freshness",
        "error",
        "age in days",
        "staleness",
        "of the gain",
        "error",
        "optimum needs",
    ];
    headings.extend(earns.map(|_| "income/page/day"));
    let mut grid = Grid::new(&headings);
    let shares = |value: Measured| format!("{:.4}", value.mean);
    for standing in &compared.standings {
        let star = if contest.misses_budget(standing) { "*" } else { "" };
        let mut row = vec![
            standing.entry.to_string(),
            format!("{:.0}", standing.visits),
            format!("{star}{}", number(standing.load * day)),
            shares(standing.freshness),
            format!("{:.4}", standing.freshness.error),
            number(standing.age_s.mean / day),
            shares(standing.divergence),
            standing.share.map_or_else(|| "-".to_owned(), |share| percent(share.mean)),
            standing.share.map_or_else(|| "-".to_owned(), |share| percent(share.error)),
            standing.optimum_needs.map_or_else(|| "-".to_owned(), percent),
        ];
        row.extend(earns.map(|earns| number(earns.income_per_day(standing))));
        grid.row(row);
    }
    let Conditions { duration_s, budget, seed, .. } = contest.conditions;
    let any_misses = compared.standings.iter().any(|standing| contest.misses_budget(standing));
    format!(
        "world: {}, {} for {} days, seed {seed}; budget: {} visits per page and day\n{}\n\n{}{}",
        contest.world.name,
        output::count(contest.world.pages.len() as f64, "page"),
        number(duration_s / day),
        number(budget * day),
        terms(contest, compared.optimum),
        grid.text(),
        if any_misses { MISSES } else { "" }
    )
}

const MISSES: &str = "\n* more than 2 % off the budget: only the last three columns compare it with others\n";
