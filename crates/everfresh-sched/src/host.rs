use crate::rank::Rank;
use crate::terms::HostLimits;
use crate::tick::Tick;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// When pages that wait rise, by their slots; with when they were due, and the epoch in which they came to wait.
pub(crate) type Rises = BinaryHeap<Reverse<(Tick, u32, Tick, u16)>>;

/// Pages that are due, who is first first.
pub(crate) type Waiting = BinaryHeap<Reverse<(Rank, u32)>>;

/// What is spared, a host or a group: what it bears, and what it bore. Times are seconds since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Gate {
    /// Its own limits, if it has any.
    pub(crate) limits: Option<HostLimits>,
    /// When its last visit began.
    pub(crate) visited_s: Option<f64>,
    pub(crate) blocked_until_s: f64,
    /// Live leases.
    pub(crate) live: u32,
    /// The price at which its pages ask for no more than it bears; 0 while they don't anyway.
    pub(crate) price: f64,
}

impl Gate {
    /// From when on it may be visited, as far as time matters, if it is `now` on a clock that began at `start_s`.
    pub(crate) fn opens_s(&self, limits: &HostLimits, start_s: f64, now: f64) -> f64 {
        let spared = self.gap_ends_s(limits).max(self.blocked_until_s).max(now);
        spared + limits.week().wait_s(start_s + spared)
    }

    pub(crate) fn gap_ends_s(&self, limits: &HostLimits) -> f64 {
        self.visited_s.map_or(0.0, |visited| visited + limits.gap().seconds())
    }

    /// Does it bear one more visit now?
    pub(crate) fn is_open(&self, limits: &HostLimits, start_s: f64, now: f64) -> bool {
        self.live < limits.concurrency() && self.opens_s(limits, start_s, now) <= now
    }

    pub(crate) fn enter(&mut self, now: f64) {
        self.live += 1;
        self.visited_s = Some(now);
    }

    pub(crate) fn leave(&mut self) {
        self.live = self.live.saturating_sub(1);
    }
}

/// The groups of which anything is known. Times are seconds since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Gates(pub(crate) BTreeMap<u16, Gate>);

impl Gates {
    /// In which lane pages of a group wait.
    pub(crate) fn lane(&self, group: u16) -> LaneId {
        self.0.get(&group).and_then(|gate| gate.limits).map(|_| group)
    }

    pub(crate) fn limits(&self, group: u16) -> HostLimits {
        self.0.get(&group).and_then(|gate| gate.limits).unwrap_or(HostLimits::NONE)
    }

    pub(crate) fn price(&self, group: u16) -> f64 {
        self.0.get(&group).map_or(0.0, |gate| gate.price)
    }

    pub(crate) fn of(&mut self, group: u16) -> &mut Gate {
        self.0.entry(group).or_default()
    }
}

/// Pages of a group with limits wait in a lane of its own, so that they hold up nobody while it is closed; all others in one.
pub(crate) type LaneId = Option<u16>;

/// A host and who waits for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) gate: Gate,
    /// Pages that are due. Derived.
    #[serde(skip)]
    pub(crate) lanes: Vec<Lane>,
    /// The bits of the time until which nobody may be visited who waits. Derived.
    #[serde(skip)]
    pub(crate) closed: Option<u64>,
}

/// Those of a host who wait in one lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    pub(crate) id: LaneId,
    pub(crate) waiting: Waiting,
    /// How many there were when those were dropped who no longer wait.
    pub(crate) swept: usize,
    /// The rank under which it stands among the open ones.
    pub(crate) open: Option<Rank>,
}

impl Host {
    /// A lane, new if need be.
    pub(crate) fn lane(&mut self, id: LaneId) -> &mut Lane {
        let place = self.lanes.iter().position(|lane| lane.id == id).unwrap_or_else(|| {
            self.lanes.push(Lane { id, ..Lane::default() });
            self.lanes.len() - 1
        });
        &mut self.lanes[place]
    }

    /// Who is first in a lane.
    pub(crate) fn first(&self, id: LaneId) -> Option<(Rank, u32)> {
        let lane = self.lanes.iter().find(|lane| lane.id == id)?;
        lane.waiting.peek().map(|Reverse(first)| *first)
    }
}

/// Equal ground state; queues are derived.
impl PartialEq for Host {
    fn eq(&self, other: &Host) -> bool {
        self.gate == other.gate
    }
}
