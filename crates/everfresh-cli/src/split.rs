//! `everfresh split`: CGM03 section 5.2, pages that change exactly once per interval.

use anyhow::{Result, bail};
use everfresh::once_per_interval::{benefit, best_split};
use serde::Serialize;

use crate::args::SplitArgs;
use crate::output::{self, Grid, number};

#[derive(Serialize)]
struct Split {
    visits: Vec<u32>,
    /// The share of a day for which the visits make each copy fresh.
    benefits: Vec<f64>,
    benefit: f64,
}

#[derive(Serialize)]
struct Report {
    changes: Vec<u32>,
    best: Split,
    given: Option<Split>,
}

pub(crate) fn run(args: &SplitArgs) -> Result<()> {
    let best = split(&args.changes, best_split(&args.changes, args.visits)?)?;
    let given = match &args.given {
        None => None,
        Some(visits) if visits.len() == args.changes.len() => Some(split(&args.changes, visits.clone())?),
        Some(visits) => {
            bail!("--given must have as many numbers as --changes, {}, got {}", args.changes.len(), visits.len())
        }
    };
    let report = Report { changes: args.changes.clone(), best, given };
    if args.json { output::print_json(&report) } else { output::print(&people(&report)) }
}

fn split(changes: &[u32], visits: Vec<u32>) -> Result<Split> {
    let each = changes.iter().zip(&visits).map(|(changes, visits)| benefit(*changes, *visits));
    let benefits = each.collect::<everfresh::Result<Vec<f64>>>()?;
    Ok(Split { benefit: benefits.iter().sum(), visits, benefits })
}

fn people(report: &Report) -> String {
    let mut headings = vec!["changes a day", "best visits", "benefit"];
    if report.given.is_some() {
        headings.extend(["given visits", "benefit"]);
    }
    let mut grid = Grid::new(&headings);
    let cells = |split: &Split, i: usize| [split.visits[i].to_string(), number(split.benefits[i])];
    for (i, changes) in report.changes.iter().enumerate() {
        let mut row = vec![changes.to_string()];
        row.extend(cells(&report.best, i));
        row.extend(report.given.iter().flat_map(|given| cells(given, i)));
        grid.row(row);
    }
    let total =
        |split: &Split| [split.visits.iter().map(|v| u64::from(*v)).sum::<u64>().to_string(), number(split.benefit)];
    let mut row = vec!["all".to_owned()];
    row.extend(total(&report.best));
    row.extend(report.given.iter().flat_map(total));
    grid.row(row);
    grid.text()
}
