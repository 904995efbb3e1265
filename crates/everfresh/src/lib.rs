//! The mathematics of keeping copies fresh.
//!
//! A *source* changes on its own; we hold a *copy* and may *visit* the source so and so often. This crate says when.
//! One law carries it: **visit a page when weight x utility(elapsed) >= price x cost**.
//!
//! * [`units`]: [`Rate`] (how often it changes), [`Frequency`] and [`Period`] (how often we visit);
//! * [`curve`]: how copy and source diverge with time, and the utility of a visit that follows;
//! * [`order`]: fixed, random and purely random order in closed form;
//! * [`plan`]: a budget, a price or a cost in; every page's frequency, freshness and age out;
//! * [`estimate`]: from what visits saw to how fast a page changes, with what is not known;
//! * [`longevity`]: how long content stays, and what of it a visit would still find;
//! * [`income`]: what a visit is worth when it costs real money;
//! * [`gamma_model`] and [`once_per_interval`]: the two side models of the papers;
//! * [`kernel`] and [`numeric`]: the functions underneath, exact at their edges.
//!
//! It does no IO, reads no clock, starts no thread and holds no randomness; it does not know what an address is.
//!
//! The papers, by their short names: CGM03 (Cho & Garcia-Molina, *Effective page refresh policies for web crawlers*, TODS
//! 28(4), 2003), CGM99 and CGM00 (the same authors, *Synchronizing a database to improve freshness*, technical report 1999
//! and SIGMOD 2000), OP08 (Olston & Pandey, *Recrawl scheduling based on information longevity*, WWW 2008), RN15
//! (Razniewski & Nutt, *Long-term Optimization of Update Frequencies for Decaying Information*, WebDB 2015).
//!
//! ```
//! use everfresh::{Page, Plan, Price, Rate, Terms, Unit};
//!
//! // CGM03 Table IV: five pages that change 1 to 5 times a day, five visits a day.
//! let pages: Vec<Page> = (1..=5)
//!     .map(|n| Ok(Page::new(Rate::per(f64::from(n), Unit::Day)?)))
//!     .collect::<Result<_, everfresh::Error>>()?;
//! let budget = Price::for_budget(5.0, Unit::Day)?;
//! let plan = Plan::new(&pages, Terms::new(budget))?;
//! let visits: Vec<String> = plan.entries().iter().map(|e| format!("{:.2}", e.frequency.per_day())).collect();
//! assert_eq!(visits, ["1.15", "1.36", "1.35", "1.14", "0.00"]);
//! # Ok::<(), everfresh::Error>(())
//! ```

pub mod curve;
mod error;
pub mod estimate;
pub mod gamma_model;
pub mod income;
pub mod kernel;
pub mod longevity;
pub mod numeric;
pub mod once_per_interval;
pub mod order;
pub mod plan;
pub mod policy;
pub mod units;

pub use error::{Error, Result};
pub use order::{Objective, Order};
pub use plan::{Allocation, Page, Plan, Price, Terms};
pub use units::{Frequency, Period, Rate, Unit};

/// The prose of the project is compiled: every code block of these files is a test.
#[cfg(doctest)]
mod prose {
    #[doc = include_str!("../../../DESIGN.md")]
    struct Design;
    #[doc = include_str!("../../../README.md")]
    struct Readme;
}
