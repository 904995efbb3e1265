//! The laboratory: deterministic worlds that drive every policy, and say how fresh it kept the copies.
//!
//! * [`world`]: pages that change, synthetic or recorded;
//! * [`run`]: a policy in a world, with a budget or at the load it chooses, event by event;
//! * [`Score`]: freshness, age, divergence and visits, each with its standard error;
//! * [`scheduled`]: the scheduler itself in a world;
//! * [`contest`]: every policy by name, compared at the same visits;
//! * [`entry`]: the same with their parameters;
//! * [`papers`]: every table and figure of the papers, computed anew;
//! * [`trace`]: recorded histories from files.
//!
//! One seed, one result, whatever the number of threads.

pub mod contest;
mod engine;
pub mod entry;
pub mod log;
pub mod papers;
mod price;
pub mod scheduled;
mod score;
pub mod trace;
mod truth;
pub mod world;

pub use engine::{Conditions, Watch, run};
pub use score::{Measured, PageScore, Score};
