//! RN15: *Long-term optimization* of how often decaying information is checked.

mod addresses;
mod decay;
mod web;

use super::Maker;

/// In the order of the paper.
pub(super) const EXHIBITS: [Maker; 11] = [
    decay::section_1,
    decay::figure_1,
    decay::figure_2,
    addresses::figure_3,
    addresses::table_1,
    decay::figure_4,
    addresses::table_2,
    addresses::figure_5,
    addresses::example_3,
    web::section_5,
    web::section_6,
];
