//! The report: what every policy reaches for how many visits (the pictures of OP08 figures 6, 8, 9, 11 and 12).

use std::path::Path;

use anyhow::Result;
use everfresh_sim::contest::Standing;

use super::Sweep;
use crate::chart;

/// Lines are drawn for policies on a budget, dots for rules at the load they chose.
pub(super) fn write(path: &Path, table: &str, sweep: &Sweep, standings: &[Standing]) -> Result<()> {
    let mut sections = vec![(String::new(), table.to_owned())];
    for (words, wanted) in [
        ("Told the truth, or nothing: cost against what is left of divergence.", false),
        ("Other crawlers' rules beside them: at the load they chose.", true),
    ] {
        let series: Vec<_> = sweep
            .iter()
            .filter(|(entrant, _)| entrant.is_peer() == wanted || entrant.is_landmark())
            .map(|(entrant, points)| (entrant.name().to_owned(), points.clone()))
            .collect();
        if !series.is_empty() {
            let svg = chart::lines(&series, ("visits per page and day", "share of time or content that differs"))?;
            sections.push((svg, words.to_owned()));
        }
    }
    let names: Vec<String> = standings.iter().map(|standing| standing.entrant.name().to_owned()).collect();
    let shares = standings.iter().map(|standing| standing.share.unwrap_or(0.0).max(0.0)).collect();
    if !names.is_empty() {
        let svg = chart::bars(&names, &[("share of the optimum's gain over uniform".to_owned(), shares)], "share")?;
        sections.push((svg, "At the visits each policy made. Nothing drawn: no better than uniform.".to_owned()));
    }
    chart::write_page(path, "Policies compared", &sections)
}
