//! The report: what every policy reaches for how many visits (the pictures of OP08 figures 6, 8, 9, 11 and 12).

use std::path::Path;

use anyhow::Result;
use everfresh_sim::contest::Standing;

use super::Sweep;
use crate::chart::{self, Row};

/// Lines are drawn for policies on a budget, dots for rules at the load they chose.
pub(super) fn write(path: &Path, table: &str, sweep: &Sweep, standings: &[Standing], are_held: bool) -> Result<()> {
    let peers = if are_held {
        "Other crawlers' rules beside them: held to the same budgets."
    } else {
        "Other crawlers' rules beside them: at the load they chose."
    };
    let mut sections = vec![(String::new(), table.to_owned())];
    for (words, wanted) in
        [("Told the truth, or nothing: cost against what is left of divergence.", false), (peers, true)]
    {
        let series: Vec<_> = sweep
            .iter()
            .filter(|(entry, _)| entry.entrant().is_peer() == wanted || entry.entrant().is_landmark())
            .map(|(entry, points)| (entry.to_string(), points.clone()))
            .collect();
        if !series.is_empty() {
            let svg = chart::lines(&series, ("visits per page and day", "share of time or content that differs"))?;
            sections.push((svg, words.to_owned()));
        }
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
