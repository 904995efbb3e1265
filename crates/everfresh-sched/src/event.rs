use crate::hint::HintKind;
use crate::terms::{GroupId, GroupRule, HostId, HostLimits, PageId, PageTerms, Settings};
use everfresh::Period;
use serde::{Deserialize, Serialize};

/// A lease, by its number; no number is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LeaseId(pub u64);

/// The right to visit one page until a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lease {
    /// What a completion presents.
    pub id: LeaseId,
    /// What is to be visited.
    pub page: PageId,
    /// Where it is.
    pub host: HostId,
    /// Until when it is live, in seconds.
    pub until_s: f64,
}

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// The content that the copy has.
    Unchanged,
    /// Other content, or a page that is copied for the first time.
    Changed {
        /// How far the copy was from what was found: 0 to 1, and 1 where only equality is known.
        divergence: f64,
        /// How long ago the source says that it changed, where it says so.
        last_change: Option<Period>,
    },
    /// Nothing is there any more: the page is probed ever more rarely, then retired.
    Gone,
    /// Nothing could be seen.
    Failed {
        /// Could it be otherwise soon? A time-out, yes; a refusal, hardly.
        retryable: bool,
    },
}

/// What happened: the ground state. Times are in seconds as given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the arguments of the operations")]
pub enum Event {
    /// The scheduler was opened with other settings than before.
    Configured { now_s: f64, settings: Settings },
    /// A page came, or came back.
    Added { now_s: f64, page: PageId, terms: PageTerms },
    /// A page is to be forgotten.
    Removed { now_s: f64, page: PageId },
    /// Something else is asked for a page.
    Altered { now_s: f64, page: PageId, terms: PageTerms },
    /// A host got limits of its own.
    Limited { now_s: f64, host: HostId, limits: HostLimits },
    /// A host must be left alone until a time, or, if that has passed, no longer.
    Blocked { now_s: f64, host: HostId, until_s: f64 },
    /// A group got a rule of its own.
    Ruled { now_s: f64, group: GroupId, rule: GroupRule },
    /// A page was given out.
    Leased { now_s: f64, lease: LeaseId, page: PageId },
    /// A visit came back.
    Completed { now_s: f64, lease: LeaseId, outcome: Outcome },
    /// A visit did not come back in time.
    Expired { now_s: f64, lease: LeaseId },
    /// The price was found anew.
    Replanned { now_s: f64 },
    /// Somebody said that a page changed, or will change, at a time.
    Hinted { now_s: f64, page: PageId, kind: HintKind, changed_at_s: f64 },
    /// A group got limits.
    GroupLimited { now_s: f64, group: GroupId, limits: HostLimits },
    /// A group must be left alone until a time, or, if that has passed, no longer.
    GroupBlocked { now_s: f64, group: GroupId, until_s: f64 },
    /// A slice of a plan was made, over at most so many pages.
    Planned { now_s: f64, most: u32 },
}

impl Event {
    /// When it happened.
    pub(crate) const fn time_mut(&mut self) -> &mut f64 {
        let (Event::Configured { now_s, .. }
        | Event::Added { now_s, .. }
        | Event::Removed { now_s, .. }
        | Event::Altered { now_s, .. }
        | Event::Limited { now_s, .. }
        | Event::Blocked { now_s, .. }
        | Event::Ruled { now_s, .. }
        | Event::Leased { now_s, .. }
        | Event::Completed { now_s, .. }
        | Event::Expired { now_s, .. }
        | Event::Replanned { now_s }
        | Event::Hinted { now_s, .. }
        | Event::GroupLimited { now_s, .. }
        | Event::GroupBlocked { now_s, .. }
        | Event::Planned { now_s, .. }) = self;
        now_s
    }
}
