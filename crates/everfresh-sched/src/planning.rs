//! A plan is made in slices, between which pages are given out and visits taken in: that of ten million pages takes most of a second.
//!
//! 1. Habits are learnt from a sample of the pages.
//! 2. Live pages are counted, and told apart by the hosts and groups that bear only so much.
//! 3. Hosts and groups that are asked for more than they bear get prices of their own.
//! 4. The price is found.
//! 5. Pages get their new due times. Those that have none yet are due as before.
//!
//! What happens meanwhile counts from the next stage on. Slices are events: whoever replays them makes the same plan.

use crate::page::Trouble;
use crate::replan::{Full, PIECE, PRICED};
use crate::state::State;
use crate::tick::Tick;
use rayon::prelude::*;

/// A plan that is being made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Planning {
    stage: Stage,
    /// The slot, or the bucket, with which the next slice of this stage begins.
    next: usize,
    live: usize,
    /// What visiting all live pages once costs; the last of them are not yet in it.
    round: f64,
    last: f64,
    sample: Sample,
    hosts: Buckets,
    groups: Buckets,
    full: Full,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Learn,
    Count,
    /// Hosts, then groups; where both bear only so much each is found given the other, twice.
    Gates(u8),
    Price,
    Dues,
    Done,
}

/// After so many turns of hosts and groups all have their prices.
const TURNS: u8 = 4;

/// Live pages, every so many-th: at most twice [`PRICED`], and all if there are no more than that.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sample {
    every: usize,
    met: usize,
    slots: Vec<u32>,
}

impl Default for Sample {
    fn default() -> Self {
        Sample { every: 1, met: 0, slots: Vec::new() }
    }
}

impl Sample {
    fn meet(&mut self, slot: u32) {
        if self.met.is_multiple_of(self.every) {
            self.slots.push(slot);
        }
        self.met += 1;
        if self.slots.len() > 2 * PRICED {
            let mut places = 0usize..;
            self.slots.retain(|_| places.next().is_some_and(|place| place.is_multiple_of(2)));
            self.every *= 2;
        }
    }
}

/// Pages by their hosts, or by their groups, so that each is found whole within one bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Buckets {
    /// One more than the highest number that was there at the beginning.
    numbers: u64,
    /// Empty where nobody bears only so much.
    pages: Vec<Vec<(u32, u32)>>,
}

/// So many buckets: one of ten million pages has some ten thousand.
const BUCKETS: usize = 1024;

impl Buckets {
    fn new(highest: u32) -> Buckets {
        Buckets { numbers: u64::from(highest) + 1, pages: vec![Vec::new(); BUCKETS] }
    }

    #[expect(clippy::cast_possible_truncation, reason = "less than the number of buckets")]
    fn put(&mut self, number: u32, slot: u32) {
        if let Some(last) = self.pages.len().checked_sub(1) {
            let bucket = (u64::from(number) * BUCKETS as u64 / self.numbers) as usize;
            self.pages[bucket.min(last)].push((number, slot));
        }
    }

    /// Buckets from one on, until they have so many pages; and the next bucket.
    fn take(&self, from: usize, most: usize) -> (Vec<(u32, u32)>, usize) {
        let (mut taken, mut next) = (Vec::new(), from);
        while next < self.pages.len() && (taken.is_empty() || taken.len() + self.pages[next].len() <= most) {
            taken.extend_from_slice(&self.pages[next]);
            next += 1;
        }
        (taken, next)
    }
}

impl State {
    /// Makes a plan at once.
    pub(crate) fn replan(&mut self, now_s: f64) {
        let now = self.clock(now_s);
        self.planning = Some(Planning::default());
        while self.planning.is_some() {
            self.plan_slice(now, usize::MAX);
        }
    }

    /// Makes the next slice of a plan, over so many pages; the first one of a new plan if none is being made.
    pub(crate) fn plan_on(&mut self, now_s: f64, most: usize) {
        let now = self.clock(now_s);
        // Whoever is due by now has the level that it had before this slice, whenever somebody looked.
        self.drain(now);
        self.plan_slice(now, most);
    }

    fn plan_slice(&mut self, now: f64, most: usize) {
        let mut planning = self.planning.take().unwrap_or_default();
        let stage = planning.stage;
        let next = match stage {
            Stage::Learn => self.begin(&mut planning),
            Stage::Count => self.count_some(&mut planning, most),
            Stage::Gates(turn) => self.price_some_gates(&mut planning, turn, most),
            Stage::Price => self.set_price(&mut planning),
            Stage::Dues => self.set_some_dues(&mut planning, now, most),
            Stage::Done => Stage::Done,
        };
        if next != stage {
            (planning.stage, planning.next) = (next, 0);
        }
        self.planning = (next != Stage::Done).then_some(planning);
    }

    fn begin(&mut self, planning: &mut Planning) -> Stage {
        self.learn();
        let (any_host, any_group) = self.any_gaps();
        if any_host {
            planning.hosts = Buckets::new(self.hosts.keys().next_back().copied().unwrap_or(0));
        }
        if any_group {
            planning.groups = Buckets::new(self.gates.0.keys().next_back().copied().unwrap_or(0).into());
        }
        Stage::Count
    }

    fn count_some(&mut self, planning: &mut Planning, most: usize) -> Stage {
        let slots = self.pages.slots_from(planning.next, most);
        let live: Vec<u32> = slots.into_par_iter().filter(|slot| self.is_live(*slot)).collect();
        planning.next = planning.next.saturating_add(most);
        for slot in live {
            let page = self.pages.get(slot);
            // Summed as all at once are.
            planning.last += self.pages.rare(slot).cost;
            planning.live += 1;
            if planning.live.is_multiple_of(PIECE) {
                planning.round += std::mem::take(&mut planning.last);
            }
            planning.sample.meet(slot);
            planning.hosts.put(page.host, slot);
            if !planning.groups.pages.is_empty() && self.gates.limits(page.group).gap().seconds() > 0.0 {
                planning.groups.put(page.group.into(), slot);
            }
        }
        if planning.next < self.pages.slot_count() {
            return Stage::Count;
        }
        planning.round += std::mem::take(&mut planning.last);
        if planning.round > 0.0 {
            self.round_s = planning.round / self.settings.budget_per_s;
        }
        Stage::Gates(0)
    }

    /// Finds the hosts and groups whose pages ask for more than they bear, some at a time.
    fn price_some_gates(&self, planning: &mut Planning, turn: u8, most: usize) -> Stage {
        let is_hosts = turn.is_multiple_of(2);
        let (own, others) =
            if is_hosts { (&planning.hosts, &planning.groups) } else { (&planning.groups, &planning.hosts) };
        // Given nobody else's prices, one turn tells all.
        let last_turn = if others.pages.is_empty() { 2 } else { TURNS };
        if own.pages.is_empty() || turn >= last_turn || planning.next >= own.pages.len() {
            return if turn + 1 < TURNS { Stage::Gates(turn + 1) } else { Stage::Price };
        }
        let (mut pages, next) = own.take(planning.next, most);
        let full = &planning.full;
        let found = if is_hosts {
            self.full_hosts(&mut pages, full, (self.price, self.round()))
        } else {
            self.full_groups(&mut pages, full, (self.price, self.round()))
        };
        let of = if is_hosts { &mut planning.full.hosts } else { &mut planning.full.groups };
        if planning.next == 0 {
            of.clear();
        }
        of.extend(found);
        planning.next = next;
        Stage::Gates(turn)
    }

    fn set_price(&mut self, planning: &mut Planning) -> Stage {
        (planning.hosts, planning.groups) = (Buckets::default(), Buckets::default());
        if planning.round > 0.0 {
            self.set_gate_prices(&planning.full);
            let sample = std::mem::take(&mut planning.sample.slots);
            self.price = self.price_for(&sample, planning.live);
        }
        self.queues.begin_epoch();
        Stage::Dues
    }

    /// Sets when some pages are due that do not wait for another reason.
    fn set_some_dues(&mut self, planning: &mut Planning, now: f64, most: usize) -> Stage {
        let slots = self.pages.slots_from(planning.next, most);
        let dues = self.dues(&slots, &planning.full);
        let mut run = Vec::with_capacity(slots.len());
        for (slot, due) in slots.into_iter().zip(dues) {
            let page = self.pages.get_mut(slot);
            page.due = due;
            if due < Tick::LAST && !page.is_leased() {
                run.push((due, slot));
            }
        }
        planning.next = planning.next.saturating_add(most);
        self.queues.enter(planning.next, run);
        // Nobody is late for a time that was not set yet.
        self.replanned_s = now;
        if planning.next < self.pages.slot_count() {
            return Stage::Dues;
        }
        self.queues.end_entering();
        self.full = std::mem::take(&mut planning.full);
        Stage::Done
    }

    fn dues(&self, slots: &[u32], full: &Full) -> Vec<Tick> {
        let (price, round) = (self.steered_price(), self.round());
        let due = |slot: &u32| {
            let page = self.pages.get(*slot);
            match self.pages.trouble(*slot) {
                Trouble::None => self.due_after(*slot, self.period_under(*slot, price, full.prices(page), round)),
                _ => page.due,
            }
        };
        slots.par_iter().map(due).collect()
    }

    /// After queues were set anew while due times are, these begin with the first page again.
    pub(crate) fn set_dues_again(&mut self) {
        if let Some(planning) = &mut self.planning
            && planning.stage == Stage::Dues
        {
            planning.next = 0;
            self.queues.begin_epoch();
        }
    }
}
