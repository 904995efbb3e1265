//! The scheduler: a crawler asks it "what now?" and tells it "this is what I saw".
//!
//! It is a state machine. Every operation takes the time as an argument, so that the same operations give the same leases on
//! a clock, in a laboratory and when a log is replayed; it reads no clock, draws no random number and does no IO of its own
//! but through the [`Store`].
//!
//! * [`Scheduler`]: the operations, each written to the store before it is acknowledged;
//! * [`Settings`], [`PageTerms`], [`HostLimits`], [`GroupRule`]: what is asked of it;
//! * [`Constraints`], [`Lease`], [`Outcome`]: what a crawler can take, what goes to it and what comes back;
//! * [`Explanation`], [`Status`]: what it says of a page, and of all; [`Standing`], [`Forecast`], [`Overload`]: how fresh
//!   copies are, will be, and could be;
//! * [`Event`], [`Store`], [`State`]: what is kept, and what is rebuilt from it. [`checks`] is the suite that every store passes.
//!
//! What it promises, whatever is asked of it and in whichever order:
//!
//! * a page has at most one live lease; a completion whose lease is not live is refused;
//! * in any time W at most `budget W + max(burst, dearest visit)` is spent, replays included;
//! * between two visits to a host lies its gap, none begins outside of its hours, and never are more of its leases live than it
//!   allows;
//! * failures never erase what was learnt; pages that are gone are probed ever more rarely, then retired, never forgotten;
//! * what was acknowledged is in the store, and replaying the store gives an equal state.
//!
//! The law says when a page is due: `weight x U(elapsed) >= price x cost` under what is believed of it
//! ([`Posterior`](everfresh::policy::Posterior)). The price is found by [`Scheduler::replan`], or in slices by [`Scheduler::plan_on`], over all live pages and
//! moved in between by how late visits come. Where not all that is due can be visited, promises (pins, group periods, maximum
//! periods, the floor) come first, then what is worth most by now.
//!
//! ```
//! use everfresh::{Period, Unit};
//! use everfresh_sched::{HostId, Memory, Outcome, PageId, PageTerms, Scheduler, Settings};
//!
//! let settings = Settings::new(2.0, Unit::Minute)?.with_burst(1.0)?;
//! let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0)?;
//! for page in 0..4 {
//!     scheduler.add(0.0, PageId(page), PageTerms::new(HostId(0)))?;
//! }
//! scheduler.replan(0.0)?;
//! // Two visits a minute: at first one, half a minute later the next, although nothing is due yet.
//! let leases = scheduler.lease(0.0, 10)?;
//! assert_eq!(leases.len(), 1);
//! assert_eq!(scheduler.next_wakeup(1.0), Some(30.0));
//! scheduler.complete(2.0, leases[0].id, Outcome::Unchanged)?;
//! assert!(scheduler.complete(3.0, leases[0].id, Outcome::Unchanged).is_err());
//! assert_eq!(scheduler.lease(30.0, 10)?.len(), 1);
//! # Ok::<(), everfresh_sched::Error>(())
//! ```

mod bucket;
mod calendar;
mod chance;
pub mod checks;
mod choose;
mod error;
mod event;
mod explain;
mod forecast;
mod hint;
mod host;
mod page;
mod planning;
mod rank;
pub mod record;
mod replan;
mod scheduler;
mod state;
mod store;
mod terms;
mod tick;
mod week;
mod within;
mod zone;

pub use error::{Error, Result};
pub use event::{Event, Lease, LeaseId, Outcome};
pub use explain::{Binding, Closed, Explanation, Status};
pub use forecast::{Broken, Forecast, Freshness, Overload, Part, Standing};
pub use hint::HintKind;
pub use page::Trouble;
pub use scheduler::Scheduler;
pub use state::State;
pub use store::{Memory, Store};
pub use terms::{GroupId, GroupRule, HostId, HostLimits, PageId, PageTerms, Settings};
pub use week::Week;
pub use within::Constraints;
pub use zone::Zone;
