//! `everfresh papers`: every table and figure of the papers, ours beside the printed number.

mod files;
mod page;
mod picture;
mod summary;

use anyhow::Result;
use everfresh_sim::papers::{self, Exhibit, Paper};

use crate::args::PapersArgs;
use crate::output;

pub(crate) fn run(args: &PapersArgs) -> Result<()> {
    let wanted = |paper: &Paper| args.only.is_empty() || args.only.iter().any(|only| Paper::from(*only) == *paper);
    let mut exhibits: Vec<Exhibit> = Vec::new();
    for paper in Paper::ALL.into_iter().filter(wanted) {
        crate::interrupt::check()?;
        exhibits.extend(papers::of(paper, args.seed)?);
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
