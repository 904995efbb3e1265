//! What whoever asks can take, and the queues as they see them.
//!
//! While somebody asks, hosts that are not for them stand aside, in an order of their own; what is chosen is chosen among the others as
//! always. So an answer takes the time of what was asked for (hosts that are named, pages that are too dear and come first), and
//! never that of all pages or hosts.
//!
//! The order by value holds over all who ask: nobody is given what a page that stands aside and comes first would then want for,
//! unless the bucket is full, so that nothing is lost if nobody comes for that page.

use crate::choose::{Firsts, Queues};
use crate::host::{Host, LaneId};
use crate::rank::Rank;
use crate::state::State;
use crate::terms::{GroupId, HostId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Which pages somebody can take: a worker that has its own hosts, knows one kind of page, or has little time.
///
/// ```
/// use everfresh::Unit;
/// use everfresh_sched::{Constraints, HostId, Memory, PageId, PageTerms, Scheduler, Settings};
///
/// let settings = Settings::new(3600.0, Unit::Hour)?.with_burst(100.0)?;
/// let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0)?;
/// for page in 0..100u32 {
///     scheduler.add(0.0, PageId(page.into()), PageTerms::new(HostId(page % 10)))?;
/// }
/// scheduler.replan(0.0)?;
/// // All are due by now. Two of each host, of all hosts but one.
/// let wanted = Constraints::new().at_most_per_host(2).not_on([HostId(3)]);
/// let leases = scheduler.lease_within(7200.0, 50, &wanted)?;
/// assert_eq!(leases.len(), 18);
/// assert!(leases.iter().all(|lease| lease.host != HostId(3)));
/// # Ok::<(), everfresh_sched::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraints {
    hosts: Option<BTreeSet<HostId>>,
    not_hosts: BTreeSet<HostId>,
    groups: Option<BTreeSet<GroupId>>,
    per_host: Option<usize>,
    most_hosts: Option<usize>,
    dearest: Option<f64>,
}

impl Constraints {
    /// Any page.
    pub const fn new() -> Constraints {
        Constraints {
            hosts: None,
            not_hosts: BTreeSet::new(),
            groups: None,
            per_host: None,
            most_hosts: None,
            dearest: None,
        }
    }

    /// The same on these hosts only, and on those that were named before.
    #[must_use]
    pub fn on(mut self, hosts: impl IntoIterator<Item = HostId>) -> Constraints {
        self.hosts.get_or_insert_default().extend(hosts);
        self
    }

    /// The same without these hosts.
    #[must_use]
    pub fn not_on(mut self, hosts: impl IntoIterator<Item = HostId>) -> Constraints {
        self.not_hosts.extend(hosts);
        self
    }

    /// The same in these groups only, and in those that were named before.
    ///
    /// The first time that anybody asks for a group its pages begin to wait apart from others, which takes as long as opening does, once;
    /// it is then a group with limits that limit nothing.
    #[must_use]
    pub fn in_groups(mut self, groups: impl IntoIterator<Item = GroupId>) -> Constraints {
        self.groups.get_or_insert_default().extend(groups);
        self
    }

    /// The same with at most so many pages of a host at a time.
    #[must_use]
    pub const fn at_most_per_host(mut self, pages: usize) -> Constraints {
        self.per_host = Some(pages);
        self
    }

    /// The same with pages of at most so many hosts at a time.
    #[must_use]
    pub const fn of_at_most_hosts(mut self, hosts: usize) -> Constraints {
        self.most_hosts = Some(hosts);
        self
    }

    /// The same with no page that costs more. Dearer pages that are due and would come first are passed over one by one: there
    /// should be few.
    #[must_use]
    pub const fn costing_at_most(mut self, cost: f64) -> Constraints {
        self.dearest = Some(cost);
        self
    }

    /// The groups that are asked for by name.
    pub(crate) fn groups(&self) -> impl Iterator<Item = GroupId> {
        self.groups.iter().flatten().copied()
    }

    fn takes_host(&self, host: HostId) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.contains(&host)) && !self.not_hosts.contains(&host)
    }

    fn takes_group(&self, group: u16) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.contains(&GroupId(group)))
    }

    /// For what is no number nothing is cheap enough.
    fn takes_cost(&self, cost: f64) -> bool {
        self.dearest.is_none_or(|dearest| cost <= dearest)
    }
}

/// A host's place among those that may be visited, in a lane.
type Place = (LaneId, (Rank, HostId));

/// Somebody who asks, and what they were given so far.
#[derive(Clone, Debug)]
pub(crate) struct View {
    wanted: Constraints,
    /// Do all groups that are asked for by name have lanes of their own?
    has_lanes: bool,
    given: BTreeMap<HostId, usize>,
    /// Too dear pages that came first, and would again; they are put back in the end.
    passed_over: Vec<(Place, u32)>,
    /// The first of them.
    first_over: Option<((Rank, HostId), u32)>,
}

impl View {
    fn takes(&self, host: HostId, lane: LaneId) -> bool {
        let given = self.given.get(&host).copied().unwrap_or(0);
        self.takes_lane(lane)
            && self.wanted.takes_host(host)
            && self.wanted.per_host.is_none_or(|most| given < most)
            && self.wanted.most_hosts.is_none_or(|most| given > 0 || self.given.len() < most)
    }

    fn takes_lane(&self, lane: LaneId) -> bool {
        match lane {
            Some(group) => self.wanted.takes_group(group),
            None => self.wanted.groups.is_none() || !self.has_lanes,
        }
    }

    /// The hosts of which more may be given, if they are few enough to be named.
    fn named(&self) -> Option<Vec<HostId>> {
        match self.wanted.most_hosts {
            _ if self.wanted.per_host == Some(0) => Some(Vec::new()),
            Some(most) if self.given.len() >= most => Some(self.given.keys().copied().collect()),
            _ => self.wanted.hosts.as_ref().map(|hosts| hosts.iter().copied().collect()),
        }
    }
}

impl Queues {
    /// Where a host stands in a lane: among those who may be chosen, or aside.
    pub(crate) fn place(&mut self, lane: LaneId, host: HostId) -> &mut BTreeSet<(Rank, HostId)> {
        let is_aside = self.view.as_ref().is_some_and(|view| !view.takes(host, lane));
        let firsts = if is_aside { &mut self.aside } else { &mut self.open };
        firsts.entry(lane).or_default()
    }

    /// Takes a host from where it stands.
    pub(crate) fn leave(&mut self, lane: LaneId, place: (Rank, HostId)) {
        for firsts in [&mut self.open, &mut self.aside] {
            if let Some(hosts) = firsts.get_mut(&lane) {
                hosts.remove(&place);
            }
        }
    }

    fn place_again(&mut self, id: HostId, hosts: &BTreeMap<u32, Host>) {
        let Some(host) = hosts.get(&id.0) else { return };
        for (lane, rank) in host.lanes.iter().filter_map(|lane| Some((lane.id, lane.open?))) {
            self.leave(lane, (rank, id));
            self.place(lane, id).insert((rank, id));
        }
    }

    /// Lets those stand aside who are not for whoever asks. Where it is said who is, nobody else is looked at.
    fn sort_out(&mut self, hosts: &BTreeMap<u32, Host>) {
        let Some(view) = &self.view else { return };
        let (named, not_hosts) = (view.named(), view.wanted.not_hosts.clone());
        let is_out = |lane: &LaneId| named.is_some() || !view.takes_lane(*lane);
        let lanes: Vec<LaneId> = self.open.keys().copied().filter(is_out).collect();
        for lane in lanes {
            let out = self.open.remove(&lane).unwrap_or_default();
            merge(&mut self.aside, lane, out);
        }
        for host in named.unwrap_or_else(|| not_hosts.into_iter().collect()) {
            self.place_again(host, hosts);
        }
    }
}

/// Puts hosts to others, the fewer to the more.
fn merge(firsts: &mut Firsts, lane: LaneId, mut hosts: BTreeSet<(Rank, HostId)>) {
    let there = firsts.entry(lane).or_default();
    if there.len() < hosts.len() {
        std::mem::swap(there, &mut hosts);
    }
    there.extend(hosts);
}

impl State {
    /// From now on, and until [`State::end_view`], pages are chosen among those that somebody can take.
    pub(crate) fn begin_view(&mut self, now: f64, wanted: &Constraints) {
        self.drain(now);
        let view = View {
            wanted: wanted.clone(),
            has_lanes: wanted.groups().all(|group| self.gates.lane(group.0).is_some()),
            given: BTreeMap::new(),
            passed_over: Vec::new(),
            first_over: None,
        };
        self.queues.view = Some(Box::new(view));
        self.queues.sort_out(&self.hosts);
    }

    /// Whoever asks was given a page of a host.
    pub(crate) fn count_given(&mut self, host: HostId) {
        let Some(view) = &mut self.queues.view else { return };
        let is_new = !view.given.contains_key(&host);
        *view.given.entry(host).or_default() += 1;
        if is_new && view.wanted.most_hosts == Some(view.given.len()) {
            self.queues.sort_out(&self.hosts);
        } else {
            self.queues.place_again(host, &self.hosts);
        }
    }

    /// Everybody stands where they would had nobody asked.
    pub(crate) fn end_view(&mut self) {
        let Some(view) = self.queues.view.take() else { return };
        for (lane, hosts) in std::mem::take(&mut self.queues.aside) {
            merge(&mut self.queues.open, lane, hosts);
        }
        for ((lane, (rank, id)), slot) in view.passed_over {
            if let Some(host) = self.hosts.get_mut(&id.0) {
                host.lane(lane).waiting.push(Reverse((rank, slot)));
                self.settle(id.0);
            }
        }
    }

    /// Can whoever asks take a page, wherever it waits?
    pub(crate) fn is_wanted(&self, slot: u32) -> bool {
        let (page, cost) = (self.pages.get(slot), self.pages.rare(slot).cost);
        self.queues.view.as_ref().is_none_or(|view| {
            view.takes(HostId(page.host), self.gates.lane(page.group))
                && view.wanted.takes_group(page.group)
                && view.wanted.takes_cost(cost)
        })
    }

    /// Passes over a page that came first in its place, if it is too dear.
    pub(crate) fn pass_over(&mut self, (lane, (rank, id)): Place, slot: u32) -> bool {
        let cost = self.pages.rare(slot).cost;
        let Some(view) = self.queues.view.as_mut().filter(|view| !view.wanted.takes_cost(cost)) else { return false };
        view.passed_over.push(((lane, (rank, id)), slot));
        view.first_over = view.first_over.into_iter().chain([((rank, id), slot)]).min();
        if let Some(host) = self.hosts.get_mut(&id.0) {
            host.lane(lane).waiting.pop();
        }
        self.settle(id.0);
        true
    }

    /// What the page costs that comes first of all, if it comes before a place and whoever asks cannot take it.
    pub(crate) fn cost_of_first(&self, before: (Rank, HostId), now: f64) -> Option<f64> {
        let view = self.queues.view.as_ref()?;
        let aside = self.first_of(&self.queues.aside, now);
        let (place, slot) = aside.into_iter().chain(view.first_over).min()?;
        (place < before).then(|| self.pages.rare(slot).cost)
    }
}
