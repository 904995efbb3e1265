//! The durable store of a scheduler: one directory that survives `kill -9` at any instruction.
//!
//! ```text
//! DIR/holder             who has it open
//! DIR/engine/            fjall, an embedded engine: events since the last kept state, that state, names, notes
//! DIR/visits/N.parquet   the visit log: everything that ever happened, as DuckDB, pandas or Spark read it
//! ```
//!
//! * [`Durable`]: events are appended in groups and synced before they are acknowledged; states are kept in the background;
//! * [`Durable::look`]: a store that another process has open, as it is at this moment;
//! * [`Names`]: the addresses of pages and the names of hosts and groups;
//! * [`log`]: events as rows, and back;
//! * [`rebuild`]: all state from the visit log alone;
//! * [`Backup`]: a copy of all of it, whole, while another process works with it.
//!
//! What is due when is not stored: it is derived on opening. With an index by due time each visit would be a random read, a
//! deletion and two insertions, and with a record for every page a random insertion, where an event is some bytes at the end of a log.

mod backup;
mod durable;
mod engine;
mod holder;
mod keep;
pub mod log;
mod look;
mod names;
mod rebuild;
mod space;

pub use backup::{BackedUp, Backup, Kind, backups};
pub use durable::{Durable, Visited};
pub use names::{Names, page_id};
pub use rebuild::{Rebuilt, rebuild};
pub use space::is_full;

use everfresh_sched::Error;

/// An error of ours as the scheduler's.
fn failed(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Error + '_ {
    move |error| Error::Store(format!("{what}: {error}"))
}
