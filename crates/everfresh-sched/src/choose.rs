//! Which page comes next: among those that are due and whose host may be visited, the first by rank.
//!
//! A page that waits for its time stands in the calendar, one that is due with its host, never in both. Entries are not taken
//! out when a page changes its mind; they count only while the page is due just then, and are dropped when met. All this is
//! derived from pages and hosts, and what is chosen does not depend on when it was derived.
//!
//! A plan begins an epoch. While it sets when pages are due, slice by slice, those that it has come to count only as they are entered
//! in its epoch, the others as in the one before.

use crate::calendar::Calendar;
use crate::host::{Gate, Gates, Host, LaneId, Rises};
use crate::page::{Page, Pages, Trouble};
use crate::rank::Rank;
use crate::state::State;
use crate::terms::{GroupRule, HostId, HostLimits};
use crate::tick::Tick;
use crate::within::View;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Hosts, lane by lane, by the rank of their first page there.
pub(crate) type Firsts = BTreeMap<LaneId, BTreeSet<(Rank, HostId)>>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    calendar: Calendar,
    /// When pages that wait with their hosts rise to the next level.
    rises: Rises,
    /// Those that may be visited.
    pub(crate) open: Firsts,
    /// Those of them that are not for whoever asks now, and who that is.
    pub(crate) aside: Firsts,
    pub(crate) view: Option<Box<View>>,
    /// Hosts that may be visited later, by the bits of the time, which order as the time does.
    closed: BTreeSet<(u64, HostId)>,
    /// Those of them that have a price of their own.
    scarce: BTreeSet<(u64, HostId)>,
    epoch: u16,
    /// The slots below were entered in this epoch, if others are still to come.
    entered: Option<u32>,
}

/// So many pages that are not yet due are looked at for one that may be visited early.
const LOOKAHEAD: usize = 64;

/// So many if not every page is for whoever asks.
const LOOKAHEAD_WITHIN: usize = 512;

/// Beside twice as many as really waited there, so many entries may be in a lane.
const LEFTOVERS: usize = 64;

/// Does an entry of a queue still count?
fn counts(pages: &Pages, due: Tick, slot: u32) -> bool {
    let page = pages.get(slot);
    page.due == due && !page.is_leased() && due < Tick::LAST
}

/// The first host in each lane.
fn firsts(all: &Firsts) -> impl Iterator<Item = (LaneId, (Rank, HostId))> {
    all.iter().filter_map(|(lane, hosts)| hosts.first().map(|first| (*lane, *first)))
}

impl Queues {
    /// Finds a host's place, after dropping what no longer waits there.
    pub(crate) fn settle(
        &mut self,
        id: HostId,
        host: &mut Host,
        limits: &HostLimits,
        (pages, gates): (&Pages, &Gates),
        (start_s, now): (f64, f64),
    ) {
        if let Some(bits) = host.closed.take() {
            self.closed.remove(&(bits, id));
            self.scarce.remove(&(bits, id));
        }
        let (opens, bears_more) = (host.gate.opens_s(limits, start_s, now), host.gate.live < limits.concurrency());
        for lane in &mut host.lanes {
            if let Some(rank) = lane.open.take() {
                self.leave(lane.id, (rank, id));
            }
            while lane.waiting.peek().is_some_and(|Reverse(entry)| !self.waits(*entry, (id, lane.id), (pages, gates))) {
                lane.waiting.pop();
            }
            match lane.waiting.peek() {
                Some(Reverse((rank, _))) if bears_more && opens <= now => {
                    self.place(lane.id, id).insert((*rank, id));
                    lane.open = Some(*rank);
                }
                Some(_) if bears_more => host.closed = Some(opens.to_bits()),
                _ => {}
            }
        }
        self.closed.extend(host.closed.map(|bits| (bits, id)));
        self.scarce.extend(host.closed.filter(|_| host.gate.price > 0.0).map(|bits| (bits, id)));
    }

    /// Starts anew with who is due when.
    pub(crate) fn reset(&mut self, entries: Vec<(Tick, u32)>) {
        *self = Queues { calendar: Calendar::of(entries), epoch: self.epoch, ..Queues::default() };
    }

    pub(crate) const fn epoch(&self) -> u16 {
        self.epoch
    }

    /// Does an entry of an epoch count for a page?
    fn is_current(&self, epoch: u16, slot: u32) -> bool {
        let is_to_come = self.entered.is_some_and(|entered| slot >= entered);
        epoch == self.epoch || is_to_come && epoch == self.epoch.wrapping_sub(1)
    }

    /// Does a page still wait with a host, in a lane?
    fn waits(
        &self,
        (rank, slot): (Rank, u32),
        (host, lane): (HostId, LaneId),
        (pages, gates): (&Pages, &Gates),
    ) -> bool {
        let page = pages.get(slot);
        let is_here = page.host == host.0 && gates.lane(page.group) == lane;
        is_here && counts(pages, rank.due, slot) && self.is_current(rank.epoch, slot)
    }

    /// Begins an epoch: all pages come in again.
    pub(crate) fn begin_epoch(&mut self) {
        self.calendar.begin_replacing();
        (self.epoch, self.entered) = (self.epoch.wrapping_add(1), Some(0));
    }

    /// Takes in when a page is due: with those that are still to come, if it is one of them.
    fn push(&mut self, due: Tick, slot: u32) {
        if self.entered.is_some_and(|entered| slot >= entered) {
            self.calendar.push_old((due, slot));
        } else {
            self.calendar.push((due, slot));
        }
    }

    /// Takes in when pages up to a slot are due.
    pub(crate) fn enter(&mut self, to: usize, entries: Vec<(Tick, u32)>) {
        self.calendar.push_run(entries);
        self.entered = Some(u32::try_from(to).unwrap_or(u32::MAX));
    }

    /// All pages have come in.
    pub(crate) fn end_entering(&mut self) {
        self.calendar.end_replacing();
        self.entered = None;
    }

    /// Makes room for so many more pages.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.calendar.reserve(more);
    }

    /// The first host in each lane that may be visited, whoever asks.
    fn firsts(&self) -> impl Iterator<Item = (LaneId, (Rank, HostId))> {
        firsts(&self.open).chain(firsts(&self.aside))
    }

    pub(crate) fn resident_bytes(&self) -> usize {
        self.calendar.resident_bytes()
    }
}

impl State {
    /// Lets a page wait for its due time.
    pub(crate) fn enqueue(&mut self, slot: u32) {
        let page = self.pages.get(slot);
        if page.due == Tick::LAST || page.is_leased() {
            return;
        }
        // Entries that no longer count must not pile up.
        let slack = self.pages.len() / 32 + 256;
        if self.queues.calendar.len() >= self.pages.len() + slack {
            let pages = &self.pages;
            self.queues.calendar.retain(|(due, slot)| counts(pages, due, slot));
        }
        self.queues.push(self.pages.get(slot).due, slot);
    }

    /// Brings the queues up to a time: pages that are due go to their hosts, hosts whose time has come open.
    pub(crate) fn drain(&mut self, now: f64) {
        let tick = Tick::floor(now);
        while let Some((due, slot)) = self.queues.calendar.first()
            && due <= tick
        {
            self.queues.calendar.pop();
            if counts(&self.pages, due, slot) {
                self.let_wait(slot, due);
            }
        }
        while let Some(&Reverse((rise, slot, due, epoch))) = self.queues.rises.peek()
            && rise <= tick
        {
            self.queues.rises.pop();
            // What is believed may have changed since this time was found: its level is looked up anew.
            if self.queues.is_current(epoch, slot) && counts(&self.pages, due, slot) {
                self.let_wait(slot, rise);
            }
        }
        while let Some(&(bits, host)) = self.queues.closed.first()
            && f64::from_bits(bits) <= now
        {
            self.settle(host.0);
        }
        // An hour may have ended since a host was found open, or a plan have set who waits with it.
        while let Some(host) = self.first_over(now) {
            self.settle(host.0);
        }
    }

    /// A host that is first somewhere and may no longer be visited, or not for the page that made it first.
    fn first_over(&self, now: f64) -> Option<HostId> {
        let is_over = |(lane, (_, host)): &(LaneId, (Rank, HostId))| {
            !self.is_open(host.0, now) || !self.is_first_waiting(*host, *lane)
        };
        self.queues.firsts().find(is_over).map(|(_, (_, host))| host)
    }

    fn is_first_waiting(&self, host: HostId, lane: LaneId) -> bool {
        let first = self.hosts.get(&host.0).and_then(|host| host.first(lane));
        first.is_some_and(|first| self.queues.waits(first, (host, lane), (&self.pages, &self.gates)))
    }

    /// Lets a page that is due wait with its host, on the level that it has at a time. What it leaves on a lower level is dropped
    /// when met.
    fn let_wait(&mut self, slot: u32, at: Tick) {
        let ((rank, rises), page) = (self.rank(slot, at), self.pages.get(slot));
        let (host, lane) = (page.host, self.gates.lane(page.group));
        let found = self.hosts.entry(host).or_default().lane(lane);
        found.waiting.push(Reverse((rank, slot)));
        if found.waiting.len() > 2 * found.swept + LEFTOVERS {
            self.sweep(HostId(host), lane);
        }
        if rises < Tick::LAST {
            if self.queues.rises.len() > 2 * self.pages.len() + 1024 {
                let (pages, mut all) = (&self.pages, std::mem::take(&mut self.queues.rises));
                all.retain(|Reverse((_, slot, due, epoch))| {
                    counts(pages, *due, *slot) && self.queues.is_current(*epoch, *slot)
                });
                self.queues.rises = all;
            }
            self.queues.rises.push(Reverse((rises, slot, rank.due, self.queues.epoch)));
        }
        self.settle(host);
    }

    /// Leaves each page that waits in a lane its highest level only. At a host that is closed for long, and below those who come first,
    /// nothing else would be met.
    fn sweep(&mut self, id: HostId, lane_id: LaneId) {
        let Some(host) = self.hosts.get_mut(&id.0) else { return };
        let lane = host.lane(lane_id);
        let mut entries: Vec<(Rank, u32)> =
            std::mem::take(&mut lane.waiting).into_iter().map(|Reverse(entry)| entry).collect();
        entries.retain(|entry| self.queues.waits(*entry, (id, lane_id), (&self.pages, &self.gates)));
        entries.sort_unstable_by_key(|(rank, slot)| (*slot, *rank));
        entries.dedup_by_key(|(_, slot)| *slot);
        lane.swept = entries.len();
        lane.waiting = entries.into_iter().map(Reverse).collect();
    }

    /// Is it a time at which a host may be visited?
    fn is_open(&self, id: u32, now: f64) -> bool {
        let opens = |host: &Host| host.gate.opens_s(&self.limits(id), self.settings.start_s, now);
        self.hosts.get(&id).is_none_or(|host| opens(host) <= now)
    }

    /// Does a group bear one more visit now?
    fn is_group_open(&self, group: u16, now: f64) -> bool {
        let is_open = |gate: &Gate| gate.is_open(&self.gates.limits(group), self.settings.start_s, now);
        self.gates.0.get(&group).is_none_or(is_open)
    }

    /// When the first group opens that is closed for a time and for which somebody waits whose host is open.
    fn group_opens(&self, now: f64) -> Option<f64> {
        self.queues.firsts().filter_map(|(lane, _)| self.opens_later(lane?, now)).min_by(f64::total_cmp)
    }

    /// When a group opens, if it is closed for a time.
    fn opens_later(&self, group: u16, now: f64) -> Option<f64> {
        let (gate, limits) = (self.gates.0.get(&group)?, self.gates.limits(group));
        let opens = gate.opens_s(&limits, self.settings.start_s, now);
        (gate.live < limits.concurrency() && opens > now).then_some(opens)
    }

    /// The page to visit now, if any may be.
    ///
    /// When nothing is due that may be visited, and the bucket is full, so that what the budget allows would be lost, a page is
    /// visited before it is due: the one that would be due first.
    ///
    /// Whoever asks with a time `unseen_since` gets pages before they are due while there is any budget, if they were not seen
    /// since then.
    pub(crate) fn choose(&mut self, now: f64, unseen_since: Option<f64>) -> Option<u32> {
        self.drain(now);
        let first = self.first_due(now);
        let is_unseen = |(_, slot): &(_, u32)| unseen_since.is_none_or(|since| !self.is_seen_since(*slot, since));
        let slot = match first.filter(is_unseen) {
            Some((_, slot)) if unseen_since.is_none() && self.is_kept_for_another(slot, now) => return None,
            Some((place, slot)) if self.is_kept_for_first(place, slot, now) => return None,
            Some((_, slot)) => slot,
            None if unseen_since.is_some() || self.bucket.is_full(now) => self.first_early(now, unseen_since)?,
            None => return None,
        };
        self.bucket.affords(now, self.pages.rare(slot).cost).then_some(slot)
    }

    /// The first of those that are due, that may be visited and that whoever asks can take, and its place.
    fn first_due(&mut self, now: f64) -> Option<((Rank, HostId), u32)> {
        loop {
            let (lane, place) = self.first_place(&self.queues.open, now)?;
            let slot = self.slot_at(lane, place)?;
            if !self.pass_over((lane, place), slot) {
                return Some((place, slot));
            }
        }
    }

    /// The first of some hosts, and its page.
    pub(crate) fn first_of(&self, all: &Firsts, now: f64) -> Option<((Rank, HostId), u32)> {
        let (lane, place) = self.first_place(all, now)?;
        self.slot_at(lane, place).map(|slot| (place, slot))
    }

    fn first_place(&self, all: &Firsts, now: f64) -> Option<(LaneId, (Rank, HostId))> {
        let is_open = |(lane, _): &(LaneId, _)| lane.is_none_or(|group| self.is_group_open(group, now));
        firsts(all).filter(is_open).min_by_key(|(_, first)| *first)
    }

    fn slot_at(&self, lane: LaneId, (_, host): (Rank, HostId)) -> Option<u32> {
        self.hosts.get(&host.0)?.first(lane).map(|(_, slot)| slot)
    }

    /// Would the page that comes first of all, and that whoever asks cannot take, want for what a page costs? A bucket that is full
    /// is spent, as nobody may come for the other.
    fn is_kept_for_first(&self, place: (Rank, HostId), slot: u32, now: f64) -> bool {
        let mut left = self.bucket;
        left.take(now, self.pages.rare(slot).cost);
        !self.bucket.is_full(now) && self.cost_of_first(place, now).is_some_and(|cost| !left.affords(now, cost))
    }

    /// Is what a page would cost now better kept for one that is worth more, whose host or group bears less than is asked of it
    /// and opens before there is as much again?
    ///
    /// Such a host would otherwise wait for the budget after each of its gaps: one that bears 30 visits an hour, where the budget's visits are
    /// 29 s apart, lost a seventh of them. What is kept is never lost: a bucket that is full is spent.
    fn is_kept_for_another(&mut self, slot: u32, now: f64) -> bool {
        let (cost, mut left) = (self.pages.rare(slot).cost, self.bucket);
        left.take(now, cost);
        if left.affords(now, cost) || self.bucket.is_full(now) || self.own_prices(slot).most() > self.price {
            return false;
        }
        let again = left.affords_at(cost);
        self.scarce_host_opens(again) || self.scarce_group_opens(now, again)
    }

    /// Does a host open before a time whose price is higher than that of all, and with which somebody waits?
    fn scarce_host_opens(&mut self, before: f64) -> bool {
        let opens = |state: &State| {
            let soon = state.queues.scarce.range(..(before.to_bits(), HostId(0)));
            let mut hosts = soon.map(|(_, host)| *host);
            hosts.find(|host| state.hosts.get(&host.0).is_some_and(|host| host.gate.price > state.price))
        };
        while let Some(host) = opens(self) {
            // Those who waited may have gone: then it leaves its place.
            self.settle(host.0);
            if opens(self) == Some(host) {
                return true;
            }
        }
        false
    }

    /// The same for groups, with somebody whose host is open.
    fn scarce_group_opens(&self, now: f64, before: f64) -> bool {
        self.queues.firsts().filter_map(|(lane, _)| lane).any(|group| {
            self.gates.price(group) > self.price && self.opens_later(group, now).is_some_and(|opens| opens < before)
        })
    }

    fn first_early(&mut self, now: f64, unseen_since: Option<f64>) -> Option<u32> {
        let (mut seen, mut found) = (Vec::new(), None);
        let most = match unseen_since {
            Some(_) => usize::MAX,
            None if self.queues.view.is_some() => LOOKAHEAD_WITHIN,
            None => LOOKAHEAD,
        };
        while found.is_none() && seen.len() < most {
            let Some(((due, slot), place)) = self.queues.calendar.pop() else { break };
            if counts(&self.pages, due, slot) {
                seen.push(((due, slot), place));
                found = self.may_come_early(slot, now, unseen_since).then_some(slot);
            }
        }
        self.queues.calendar.put_back(seen);
        found
    }

    fn is_seen_since(&self, slot: u32, since: f64) -> bool {
        let page = self.pages.get(slot);
        page.is_copied() && page.saw.seconds() >= since
    }

    /// Nobody waits on purpose: no backoff, no pin, no minimum, no host or group that must be spared.
    fn may_come_early(&self, slot: u32, now: f64, unseen_since: Option<f64>) -> bool {
        let (page, rare) = (self.pages.get(slot), self.pages.rare(slot));
        let (limits, start_s) = (self.limits(page.host), self.settings.start_s);
        self.is_wanted(slot)
            && self.hosts.get(&page.host).is_none_or(|host| host.gate.is_open(&limits, start_s, now))
            && self.is_group_open(page.group, now)
            && rare.trouble == Trouble::None
            && unseen_since.is_none_or(|since| !self.is_seen_since(slot, since))
            && (rare.pin_s.is_none() || unseen_since.is_some() && !page.is_copied())
            && (matches!(self.rule(page.group), GroupRule::Aim(_)) || unseen_since.is_some() && !page.is_copied())
            && (!page.is_copied() || self.elapsed(slot, now).seconds() >= rare.min_s.max(1.0))
    }

    /// When something may happen next: a lease is possible, or one expires.
    pub(crate) fn wakeup(&mut self, now: f64) -> Option<f64> {
        self.drain(now);
        let next = match self.first_due(now) {
            Some((_, slot)) if self.is_kept_back(slot, now) => Some(self.bucket.full_at()),
            Some((place, slot)) => {
                let first = self.cost_of_first(place, now).unwrap_or(0.0);
                Some(self.bucket.affords_at(self.pages.rare(slot).cost + first))
            }
            None => self.first_early(now, None).map(|_| self.bucket.full_at()),
        };
        let opens = self.queues.closed.first().map(|(bits, _)| f64::from_bits(*bits));
        let due = self.queues.calendar.first().map(|(due, _)| due.seconds());
        let expires = self.expiries.first().map(|(bits, _)| f64::from_bits(*bits));
        let soonest = [next, opens, self.group_opens(now), due, expires].into_iter().flatten().min_by(f64::total_cmp);
        soonest.map(|soonest| soonest.max(now))
    }

    /// Could a page be paid, if it were not for another?
    fn is_kept_back(&mut self, slot: u32, now: f64) -> bool {
        self.bucket.affords(now, self.pages.rare(slot).cost) && self.is_kept_for_another(slot, now)
    }

    /// Pages that are due and not visited.
    pub(crate) fn backlog(&self, now: f64) -> usize {
        let tick = Tick::floor(now);
        self.pages.slots().filter(|slot| counts_by(self.pages.get(*slot), tick)).count()
    }
}

/// Is a page due by a time, and not being visited?
pub(crate) fn counts_by(page: &Page, tick: Tick) -> bool {
    page.due <= tick && page.due < Tick::LAST && !page.is_leased()
}

#[cfg(test)]
mod tests {
    use crate::{GroupId, GroupRule, HostId, Memory, Outcome, PageId, PageTerms, Scheduler, Settings};
    use everfresh::{Period, Unit};

    fn open(per_day: f64) -> Scheduler<Memory> {
        Scheduler::open(Settings::new(per_day, Unit::Day).unwrap(), Memory::new(), 0.0).unwrap()
    }

    #[test]
    fn lanes_do_not_grow_with_plans_while_a_host_is_closed() {
        let mut scheduler = open(1000.0);
        for id in 0..100u32 {
            let pin = Period::of(600.0 + f64::from(id), Unit::Second).unwrap();
            scheduler.add(0.0, PageId(id.into()), PageTerms::new(HostId(0)).pinned(pin).unwrap()).unwrap();
        }
        scheduler.block(0.0, HostId(0), 1e9).unwrap();
        for plan in 1..=100 {
            let now_s = f64::from(plan) * 3600.0;
            scheduler.replan(now_s).unwrap();
            assert!(scheduler.lease(now_s, 1).unwrap().is_empty());
        }
        let waiting: usize = scheduler.state.hosts[&0].lanes.iter().map(|lane| lane.waiting.len()).sum();
        assert!((100..=2 * 100 + super::LEFTOVERS).contains(&waiting), "{waiting}");
    }

    #[test]
    fn looking_ahead_within_a_plan_leaves_nobody_twice() {
        let (mut scheduler, pages) = (open(1e7), 2000);
        let daily = GroupRule::Every(Period::of(1.0, Unit::Day).unwrap());
        scheduler.rule(0.0, GroupId(0), daily).unwrap();
        (0..pages).for_each(|id| scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap());
        for now_s in (0..90_000).step_by(100).map(f64::from) {
            for lease in scheduler.lease(now_s, 1000).unwrap() {
                scheduler.complete(now_s, lease.id, Outcome::Unchanged).unwrap();
            }
        }
        // Habits, twice counting, four turns of hosts and groups: then the price, and half of the due times.
        (0..9).for_each(|_| assert!(!scheduler.plan_on(90_000.0, 1000).unwrap()));
        assert!(scheduler.lease_ahead(90_000.0, 1, 0.0).unwrap().is_empty());
        scheduler.finish_plan().unwrap();
        // One or the other is due by now, and waits with its host.
        let len = scheduler.state.queues.calendar.len();
        assert!((1990..=2000).contains(&len), "{len}");
    }
}
