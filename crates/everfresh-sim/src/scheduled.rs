//! The scheduler itself in a world, as `everfresh run` drives it: leases, visits that come back, replans, hosts with gaps.
//!
//! Where [`run`](crate::run) asks a policy and keeps the budget by its own means, here all of that is the scheduler's: its price, its
//! floor under every page, its bucket, what it makes of failures and of pages that are gone.

use crate::engine::{Cell, Conditions, Watch};
use crate::score::Score;
use crate::world::World;
use everfresh::policy::{self, Uniform};
use everfresh::{Period, Unit};
use everfresh_sched::{GroupId, HostId, HostLimits, LeaseId, Memory, Outcome, PageId, PageTerms, Scheduler, Settings};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A scheduler's clock lasts for 17 years.
pub const LONGEST_S: f64 = 17.0 * 365.0 * 86_400.0;

/// Plans in a run, about as many as a policy has epochs, and the least time between two: as often as `everfresh run` makes them. A lease lasts as
/// long.
const PLANS: f64 = 500.0;
const SHORTEST_S: f64 = 600.0;

/// The budget is set anew where the number of pages has moved by more than this.
const MOVED: f64 = 0.01;

/// Runs the scheduler; nothing when the watch stopped it.
///
/// # Panics
///
/// If the scheduler refuses what the world is made of: a bug.
#[expect(clippy::expect_used, reason = "worlds and conditions are checked when they are made")]
pub(crate) fn run(world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
    Stage::new(world, conditions).and_then(|stage| stage.play(watch)).expect("the scheduler takes every world")
}

/// A world, and the scheduler of it.
struct Stage<'a> {
    world: &'a World,
    conditions: &'a Conditions,
    settings: Settings,
    scheduler: Scheduler<Memory>,
    cells: Vec<Cell<()>>,
    /// Pages by when they appear, last first.
    unborn: Vec<usize>,
    /// When pages end, known or not.
    ends: Agenda<usize>,
    /// Visits under way, by when they come back.
    under_way: Agenda<LeaseId>,
    found: BTreeMap<LeaseId, Outcome>,
    live: f64,
}

type Result<T> = everfresh_sched::Result<T>;

/// What happens when. Times are never negative, and so in the order of their bits.
struct Agenda<T>(BinaryHeap<Reverse<(u64, T)>>);

impl<T: Copy + Ord> Agenda<T> {
    fn new() -> Agenda<T> {
        Agenda(BinaryHeap::new())
    }

    fn put(&mut self, time_s: f64, what: T) {
        self.0.push(Reverse((time_s.to_bits(), what)));
    }

    fn next_s(&self) -> f64 {
        self.0.peek().map_or(f64::INFINITY, |Reverse((time, _))| f64::from_bits(*time))
    }

    /// The first, if its time has come.
    fn before(&mut self, now_s: f64) -> Option<T> {
        if self.next_s() > now_s {
            return None;
        }
        self.0.pop().map(|Reverse((_, what))| what)
    }
}

impl<'a> Stage<'a> {
    fn new(world: &'a World, conditions: &'a Conditions) -> Result<Stage<'a>> {
        let cells: Vec<_> = (0..world.pages.len()).map(|at| Cell::new(world, &Uniform, conditions, at)).collect();
        let mut unborn: Vec<usize> = (0..cells.len()).collect();
        unborn.sort_by(|a, b| cells[*b].born_s.total_cmp(&cells[*a].born_s));
        // Whoever visits slow pages gives them time.
        let lease_s = SHORTEST_S.max(20.0 * world.latency_s).min(LONGEST_S);
        let settings = Settings::new(conditions.budget, Unit::Second)?
            .with_seed(conditions.seed)
            .with_lease(Period::of(lease_s, Unit::Second)?)?;
        let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0)?;
        for (cap, host) in world.host_caps.iter().zip(0..).filter(|(cap, _)| cap.is_finite()) {
            let gap = Period::of(1.0 / cap, Unit::Second)?;
            scheduler.limit(0.0, HostId(host), HostLimits::NONE.with_gap(gap)?)?;
        }
        Ok(Stage {
            world,
            conditions,
            settings,
            scheduler,
            cells,
            unborn,
            ends: Agenda::new(),
            under_way: Agenda::new(),
            found: BTreeMap::new(),
            live: 0.0,
        })
    }

    fn play(mut self, watch: &dyn Watch) -> Result<Option<Score>> {
        let Conditions { duration_s, warmup_s, .. } = *self.conditions;
        let between_s = (duration_s / PLANS).max(SHORTEST_S).min(duration_s / 60.0);
        let (mut now_s, mut plan_at_s, mut is_warm) = (0.0, 0.0, warmup_s <= 0.0);
        while now_s < duration_s {
            if now_s >= warmup_s && !is_warm {
                self.live_until(warmup_s);
                self.cells.iter_mut().for_each(Cell::forget_score);
                is_warm = true;
            }
            self.come_and_go(now_s)?;
            if now_s >= plan_at_s {
                self = self.plan(now_s)?;
                plan_at_s = now_s + between_s;
                if !watch.goes_on(now_s / duration_s) {
                    return Ok(None);
                }
            }
            self.take_back(now_s)?;
            self.give_out(now_s)?;
            now_s = self.next_s(now_s).min(plan_at_s);
        }
        self.live_until(duration_s);
        let events = self.cells.iter().map(|cell| u64::from(cell.events)).sum();
        Ok(Some(Score { pages: self.cells.into_iter().map(|cell| cell.score).collect(), events }))
    }

    /// When something happens next.
    fn next_s(&mut self, now_s: f64) -> f64 {
        let wakes_s = self.scheduler.next_wakeup(now_s).unwrap_or(f64::INFINITY);
        let born_s = self.unborn.last().map_or(f64::INFINITY, |at| self.cells[*at].born_s);
        // The scheduler reckons in eighths of a second.
        let next_s = born_s.min(self.under_way.next_s()).min(self.ends.next_s());
        wakes_s.max(now_s + 0.125).min(next_s.max(now_s.next_up()))
    }

    fn live_until(&mut self, now_s: f64) {
        self.cells.iter_mut().filter(|cell| cell.has_part_in(now_s)).for_each(|cell| cell.live_until(now_s));
    }

    /// Pages that appear are added; those that end no longer have a share of the budget, and are removed where that is known.
    fn come_and_go(&mut self, now_s: f64) -> Result<()> {
        let mut born = Vec::new();
        while let Some(at) = self.unborn.pop_if(|at| self.cells[*at].born_s <= now_s) {
            let about = &self.cells[at].about;
            let group = GroupId(u16::try_from(about.group).unwrap_or(u16::MAX));
            let terms = PageTerms::new(HostId(self.cells[at].host)).in_group(group);
            born.push((PageId(at as u64), terms.with_weight(about.weight)?.with_cost(about.cost)?));
            let dies_s = self.cells[at].dies_s;
            if dies_s < self.conditions.duration_s {
                self.ends.put(dies_s, at);
            }
        }
        self.live += born.len() as f64;
        self.scheduler.add_all(now_s, &born)?.into_iter().collect::<Result<()>>()?;
        while let Some(at) = self.ends.before(now_s) {
            self.live -= 1.0;
            if self.world.ends_are_known {
                self.scheduler.remove(now_s, PageId(at as u64))?;
            }
        }
        Ok(())
    }

    /// Makes a plan, with a budget for the pages that there are now.
    fn plan(mut self, now_s: f64) -> Result<Stage<'a>> {
        let budget = self.conditions.budget * self.live.max(1.0);
        if (budget / self.settings.budget_per_second() - 1.0).abs() > MOVED {
            // Opened anew with another budget, as an operator does it.
            self.settings = self.settings.with_budget(budget, Unit::Second)?;
            self.scheduler = Scheduler::open(self.settings, self.scheduler.into_store(), now_s)?;
        }
        self.scheduler.replan(now_s)?;
        // What led here need not be kept.
        self.scheduler.compact()?;
        Ok(self)
    }

    fn give_out(&mut self, now_s: f64) -> Result<()> {
        for lease in self.scheduler.lease(now_s, usize::MAX)? {
            let at = usize::try_from(lease.page.0).unwrap_or(usize::MAX);
            let Some(cell) = self.cells.get_mut(at) else { continue };
            cell.live_until(now_s);
            let found = cell.look(self.world, now_s);
            let outcome = match found {
                policy::Outcome::Gone => Outcome::Gone,
                policy::Outcome::Unchanged => Outcome::Unchanged,
                policy::Outcome::Changed { divergence, last_change } => Outcome::Changed { divergence, last_change },
                policy::Outcome::Failed => Outcome::Failed { retryable: true },
            };
            if matches!(found, policy::Outcome::Unchanged | policy::Outcome::Changed { .. }) {
                cell.copy(now_s);
            }
            let back_s = now_s + cell.takes_s(self.world);
            self.found.insert(lease.id, outcome);
            self.under_way.put(back_s, lease.id);
        }
        self.take_back(now_s)
    }

    /// Completes the visits that have come back.
    fn take_back(&mut self, now_s: f64) -> Result<()> {
        let mut back = Vec::new();
        while let Some(lease) = self.under_way.before(now_s) {
            back.extend(self.found.remove(&lease).map(|outcome| (lease, outcome)));
        }
        // One that took longer than its lease is refused, and comes again.
        self.scheduler.complete_all(now_s, &back)?;
        Ok(())
    }
}
