//! CGM03: *Effective page refresh policies for web crawlers*.

mod allocation;
mod orders;
mod web;

use super::recording::Recording;
use super::{Exhibit, Maker};
use everfresh::Result;

pub(super) use allocation::{table_iii, table_iv};
pub(super) use web::overall;

/// The figures whose data are not public, of a trace: those that it has pages for.
pub(super) fn of_trace(trace: &Recording, seed: u64) -> Result<Vec<Exhibit>> {
    let exhibits =
        [web::traced_figure_14(trace)?, orders::traced_figure_15(trace, seed)?, web::traced_figure_17(trace)?];
    Ok(exhibits.into_iter().flatten().collect())
}

/// In the order of the paper.
pub(super) const EXHIBITS: [Maker; 16] = [
    orders::figure_1,
    orders::figure_2,
    orders::figure_6,
    orders::table_ii,
    orders::figure_9,
    allocation::table_iii,
    allocation::table_iv,
    allocation::figure_11,
    allocation::figure_12,
    allocation::figure_13,
    allocation::table_v,
    web::figure_14,
    orders::figure_15,
    web::figure_17,
    web::table_vii,
    web::figure_18,
];
