//! `everfresh papers`: every table and figure of the papers, ours beside the printed number.

mod files;
mod page;
mod picture;
mod summary;

use std::collections::HashSet;

use anyhow::{Result, bail};
use everfresh_sim::papers::{self, Exhibit, Paper, Recording};

use crate::args::PapersArgs;
use crate::output;

pub(crate) fn run(args: &PapersArgs) -> Result<()> {
    let wanted = |paper: &Paper| args.only.is_empty() || args.only.iter().any(|only| Paper::from(*only) == *paper);
    let traces = args.data.iter().map(|folder| Recording::load(folder)).collect::<Result<Vec<_>, _>>()?;
    // Files are called after them, in letters and digits only.
    let mut names = HashSet::new();
    if let Some(twice) = traces
        .iter()
        .find(|trace| !names.insert(trace.name.replace(|c: char| !c.is_alphanumeric(), " ").to_lowercase()))
    {
        bail!("--data: two traces have the name `{}`, but for case and marks", twice.name);
    }
    let mut exhibits: Vec<Exhibit> = Vec::new();
    for paper in Paper::ALL.into_iter().filter(wanted) {
        crate::interrupt::check()?;
        exhibits.extend(papers::of(paper, args.seed)?);
        for trace in &traces {
            crate::interrupt::check()?;
            exhibits.extend(papers::of_trace(paper, trace, args.seed)?);
        }
    }
    if let Some(directory) = &args.out {
        files::write(directory, &exhibits, args.seed)?;
    }
    if args.json {
        output::print_json(&files::report(&exhibits, args.seed))
    } else {
        output::print(&summary::text(&exhibits, args.seed))
    }
}
