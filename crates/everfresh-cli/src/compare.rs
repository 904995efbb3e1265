//! `everfresh compare`: how fresh a log's own visits kept the copies, beside what other policies make of as many.

use anyhow::{Context, Result};
use everfresh::{Order, Unit};
use everfresh_sim::contest::{Contest, Entrant, Goal, Standing};
use everfresh_sim::entry::Entry;
use everfresh_sim::log::{Between, Logged, replayed};
use everfresh_sim::{Conditions, Score};
use serde::Serialize;

use crate::args::CompareArgs;
use crate::estimate;
use crate::output::{self, Grid, number, percent};
use crate::progress::ShareLine;
use crate::simulate::{Runner, lasting};

pub(crate) fn run(args: &CompareArgs) -> Result<()> {
    let entries = Entry::list(&args.policies.join(","))?;
    let (pages, seen) = estimate::observations(&args.visits)?;
    let between = args.eagerness.map_or(Between::Likely(args.seed), Between::Eager);
    let logged = replayed(&seen, between).context("no page was visited twice: there is nothing to compare")?;
    let entries = lasting(entries, &args.policies, logged.duration_s)?;
    let budget = logged.own.load();
    let conditions = Conditions {
        duration_s: logged.duration_s,
        warmup_s: 0.0,
        budget,
        price: 0.0,
        order: Order::Fixed,
        seed: args.seed,
    };
    let contest =
        Contest { world: &logged.world, conditions, seeds: args.seeds, goal: Goal::Freshness, hold_peers: true };
    let line = ShareLine::new();
    let runs = Runner { line: &line, of: 0.8, from: 0.0 }.run(&contest, &entries)?;
    let standings: Vec<Standing> = runs.iter().map(|(entry, scores)| Standing::alone(*entry, scores)).collect();
    let needs = Runner { line: &line, of: 0.2, from: 0.8 }.visits_for(&contest, logged.own.freshness().mean)?;
    drop(line);
    let report = Report::new(pages, &logged, &standings, needs);
    if args.json { output::print_json(&report) } else { output::print(&report.people()) }
}

/// So often the visits are halved in search of those that suffice.
const HALVINGS: i32 = 6;
const FEWEST: f64 = 1.0 / 64.0;

impl Runner<'_> {
    /// The share of the budget with which ours reaches a freshness, down to a 64th; none where it needs more.
    fn visits_for(&self, contest: &Contest<'_>, freshness: f64) -> Result<Option<f64>> {
        let mut above: Option<(f64, f64)> = None;
        for halvings in 0..=HALVINGS {
            let share = 0.5f64.powi(halvings);
            let conditions = Conditions { budget: contest.conditions.budget * share, ..contest.conditions };
            let fewer = Contest { conditions, seeds: 1, ..*contest };
            let scores = self.watched(f64::from(halvings) / f64::from(HALVINGS + 1), 0.1, "fewer visits", |watch| {
                fewer.run(Entrant::Posterior, &watch)
            })?;
            let here = scores.iter().map(|score| score.freshness().mean).sum::<f64>() / scores.len() as f64;
            match above {
                _ if here >= freshness => above = Some((share, here)),
                // Straight between the two over the logarithm of the visits.
                Some((last, there)) => {
                    return Ok(Some(share * (last / share).powf((freshness - here) / (there - here))));
                }
                None => return Ok(None),
            }
        }
        Ok(above.map(|(share, _)| share))
    }
}

#[derive(Serialize)]
struct Report {
    /// All pages of the log, and those that were looked at.
    pages_in_log: usize,
    pages: usize,
    days: f64,
    visits: u64,
    visits_per_page_per_day: f64,
    freshness: f64,
    age_days: f64,
    /// What ours makes of as many visits, and which share of them gives the same freshness.
    could_be: Option<f64>,
    share_of_visits_needed: Option<f64>,
    policies: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    policy: String,
    visits_per_page_per_day: f64,
    freshness: f64,
    freshness_error: f64,
    age_days: f64,
}

impl Report {
    fn new(pages_in_log: usize, logged: &Logged, standings: &[Standing], needs: Option<f64>) -> Report {
        let day = Unit::Day.seconds();
        let own: &Score = &logged.own;
        let row = |standing: &Standing| Row {
            policy: standing.entry.to_string(),
            visits_per_page_per_day: standing.load * day,
            freshness: standing.freshness.mean,
            freshness_error: standing.freshness.error,
            age_days: standing.age_s.mean / day,
        };
        let ours = standings.iter().find(|standing| standing.entry.entrant() == Entrant::Posterior);
        Report {
            pages_in_log,
            pages: logged.world.pages.len(),
            days: logged.duration_s / day,
            visits: own.visits(),
            visits_per_page_per_day: own.load() * day,
            freshness: own.freshness().mean,
            age_days: own.age_s().mean / day,
            could_be: ours.map(|ours| ours.freshness.mean),
            share_of_visits_needed: needs,
            policies: standings.iter().map(row).collect(),
        }
    }

    fn people(&self) -> String {
        let mut grid = Grid::new(&["policy", "visits/page/day", "freshness", "error", "age in days"]);
        let four = |share: f64| format!("{share:.4}");
        let mut row = |name: &str, load: f64, freshness: f64, error: Option<f64>, age: f64| {
            let error = error.map_or_else(String::new, four);
            grid.row(vec![name.to_owned(), number(load), four(freshness), error, number(age)]);
        };
        row("your visits", self.visits_per_page_per_day, self.freshness, None, self.age_days);
        for policy in &self.policies {
            let Row { policy, visits_per_page_per_day, freshness, freshness_error, age_days } = policy;
            row(policy, *visits_per_page_per_day, *freshness, Some(*freshness_error), *age_days);
        }
        let mut text = format!(
            "{} of {} in the log, {}, {}\n\n{}",
            self.pages,
            output::count(self.pages_in_log as f64, "page"),
            output::count(self.visits as f64, "visit"),
            output::count(self.days, "day"),
            grid.text()
        );
        text.push_str(&self.verdict());
        text
    }

    /// You have so much; the same visits could give so much; what you have needs so many of them.
    fn verdict(&self) -> String {
        let Some(could_be) = self.could_be else { return String::new() };
        let have = format!("\nyou have {:.3} now", self.freshness);
        let same = if could_be > self.freshness {
            format!("; the same visits could give {could_be:.3}")
        } else {
            "; learning while visiting would not have made more of the same visits".to_owned()
        };
        let needs = self.share_of_visits_needed.filter(|share| *share < 1.0).map_or_else(String::new, |share| {
            let most = if share <= FEWEST { "at most " } else { "" };
            format!("; {:.3} needs {most}{} of them", self.freshness, percent(share))
        });
        format!("{have}{same}{needs}\n")
    }
}
