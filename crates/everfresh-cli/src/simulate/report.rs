//! The report: what every policy reaches for how many visits.

use std::path::Path;

use anyhow::Result;
use everfresh_sim::contest::{Goal, Standing};

use super::sweep::Figure;
use crate::chart::{self, Row};

/// Lines are drawn for policies on a budget, dots for rules at the load they chose.
pub(super) fn write(path: &Path, table: &str, figures: &[Figure], standings: &[Standing], goal: Goal) -> Result<()> {
    let left = match goal {
        Goal::Freshness => "share of time that copies differ",
        Goal::Content => "mean divergence of content",
    };
    let mut sections = vec![(String::new(), table.to_owned())];
    for figure in figures {
        let curves = figure.curves.iter();
        let series: Vec<_> = curves.map(|(entry, points)| (entry.to_string(), points.clone())).collect();
        let svg = chart::lines(&series, ("visits per page and day", left))?;
        sections.push((svg, figure.words.clone()));
    }
    let row = |standing: &Standing| {
        let share = standing.share?;
        Some(Row { name: standing.entry.to_string(), share: share.mean, error: share.error })
    };
    let rows: Vec<Row> = standings.iter().filter_map(row).collect();
    if !rows.is_empty() {
        let svg = chart::rows(&rows, "share of the optimum's gain over uniform")?;
        let words = "At the visits each policy made: 0 % is uniform, 100 % the optimum; lines are standard errors.";
        sections.push((svg, words.to_owned()));
    }
    chart::write_page(path, "Policies compared", &sections)
}
