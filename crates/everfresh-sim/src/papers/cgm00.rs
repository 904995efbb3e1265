//! CGM00: *Synchronizing a database to improve freshness*, SIGMOD: tables of CGM99 and CGM03 under other numbers.

use everfresh::Result;

use super::{Exhibit, Maker, Paper, Printed, cgm03};

pub(super) const EXHIBITS: [Maker; 3] = [table_4, table_5, table_6];

/// Table 4: what CGM03 calls Table III.
fn table_4(seed: u64) -> Result<Exhibit> {
    Ok(Exhibit { paper: Paper::Cgm00, name: "Table 4".to_owned(), ..cgm03::table_iii(seed)? })
}

/// Table 5: what CGM03 calls Table IV.
fn table_5(seed: u64) -> Result<Exhibit> {
    Ok(Exhibit { paper: Paper::Cgm00, name: "Table 5".to_owned(), ..cgm03::table_iv(seed)? })
}

/// Table 6: the columns of all sites of what CGM03 calls Table VII.
fn table_6(_seed: u64) -> Result<Exhibit> {
    Ok(Exhibit::new(Paper::Cgm00, "Table 6", "Freshness and age of the web of 1999 under three policies.")
        .with_figures(cgm03::overall(Printed::new(100.0, -2))?))
}
