//! OP08: *Recrawl scheduling based on information longevity*.
//!
//! The paper's pages are not public. Ours are made by its own generative model (section 3.3), so these exhibits show what the
//! model says, and whether the policies rank as the paper found.

mod contents;
mod lifetimes;
mod policies;
mod replay;
mod world;

use super::Maker;

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
