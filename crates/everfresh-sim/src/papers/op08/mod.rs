//! OP08: *Recrawl scheduling based on information longevity*.
//!
//! The paper's pages are not public. Ours are made by its own generative model (section 3.3), so these exhibits show what the
//! model says, and whether the policies rank as the paper found.

mod contents;
mod lifetimes;
mod policies;
mod replay;
mod world;

use super::recording::Recording;
use super::{Exhibit, Maker};
use everfresh::Result;

/// The figures whose data are not public, of a trace that has fragments: those that it has pages for.
pub(super) fn of_trace(trace: &Recording) -> Result<Vec<Exhibit>> {
    let mut exhibits: Vec<Exhibit> = contents::traced_figure_3(trace).into_iter().collect();
    if let Some(stage) = policies::Stage::recorded(trace) {
        exhibits.extend([
            policies::offline(&stage)?,
            policies::beginning(&stage, "Policies that learn from their own visits, in the first 30 days.")?,
            policies::learnt(&stage, "The same in the last 30 days. FS-D knows what no online policy can.")?,
            policies::with_less_memory(&stage)?,
            policies::beside_cgm(&stage)?,
        ]);
    }
    Ok(exhibits)
}

/// In the order of the paper.
pub(super) const EXHIBITS: [Maker; 12] = [
    contents::figure_1,
    contents::figure_2,
    contents::figure_3,
    lifetimes::figure_4,
    lifetimes::figure_5,
    policies::figure_6,
    contents::figure_7,
    policies::figure_8,
    policies::figure_9,
    policies::figure_10,
    policies::figure_11,
    policies::figure_12,
];
