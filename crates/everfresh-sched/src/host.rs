use crate::rank::Rank;
use crate::terms::HostLimits;
use crate::tick::Tick;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Entries by due time: a page is found by its slot, and an entry counts while the page is due just then.
pub(crate) type DueHeap = BinaryHeap<Reverse<(Tick, u32)>>;

/// Pages that are due, who is first first.
pub(crate) type Waiting = BinaryHeap<Reverse<(Rank, u32)>>;

/// A host: what it bears, what it bore, and who waits for it. Times are seconds since the start.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Host {
    /// Its own limits, if it has any.
    pub(crate) limits: Option<HostLimits>,
    /// When its last visit began.
    pub(crate) visited_s: Option<f64>,
    pub(crate) blocked_until_s: f64,
    /// Live leases.
    pub(crate) live: u32,
    /// The price at which its pages ask for no more than it bears; 0 while they don't anyway.
    pub(crate) price: f64,
    /// Pages that are due. Derived.
    #[serde(skip)]
    pub(crate) waiting: Waiting,
    /// Where it stands among hosts. Derived.
    #[serde(skip)]
    pub(crate) place: Place,
}

/// Where a host stands among those with pages that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Place {
    /// Nobody waits, or all its leases are out.
    #[default]
    Nowhere,
    /// It may be visited; its first page has this rank.
    Open(Rank),
    /// It may be visited from a time on, given by its bits.
    Closed(u64),
}

impl Host {
    /// From when on it may be visited, as far as time matters, if it is `now` on a clock that began at `start_s`.
    pub(crate) fn opens_s(&self, limits: &HostLimits, start_s: f64, now: f64) -> f64 {
        let spared = self.gap_ends_s(limits).max(self.blocked_until_s).max(now);
        spared + limits.week().wait_s(start_s + spared)
    }

    pub(crate) fn gap_ends_s(&self, limits: &HostLimits) -> f64 {
        self.visited_s.map_or(0.0, |visited| visited + limits.gap().seconds())
    }
}

/// Equal ground state; queues are derived.
impl PartialEq for Host {
    fn eq(&self, other: &Host) -> bool {
        (self.limits, self.visited_s, self.blocked_until_s, self.live, self.price)
            == (other.limits, other.visited_s, other.blocked_until_s, other.live, other.price)
    }
}
