//! Years of virtual time with everything that goes wrong: crashes, clocks that jump, a store that refuses for a while or takes longer than
//! a lease lasts, workers that are lost. `EVERFRESH_YEARS` sets how many years each seed lives; seeds are printed with what they find.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

use everfresh::{Period, Unit};
use everfresh_sched::{
    Error, Event, HintKind, HostId, HostLimits, LeaseId, Memory, Outcome, PageId, PageTerms, Result, Scheduler,
    Settings, State, Store, Week, Zone,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

const DAY: f64 = 86_400.0;
/// 2026-01-05, a Monday.
const START_S: f64 = 1_767_571_200.0;
const PAGES: u64 = 60;
const HOSTS: u32 = 6;
const PER_DAY: f64 = 150.0;
const BURST: f64 = 4.0;
const DEAREST: f64 = 3.0;
/// With a fifth of the budget, all pages once: cost at most 80.
const FLOOR_S: f64 = 80.0 / (0.2 * PER_DAY) * DAY;

/// A store that refuses now and then, for a while.
#[derive(Clone, Default)]
struct Moody {
    memory: Memory,
    appends: u64,
    refuses: bool,
}

impl Store for Moody {
    fn append(&mut self, events: &[Event]) -> Result<()> {
        self.appends += 1;
        let is_full = self.refuses && self.appends % 400 < 12;
        if is_full { Err(Error::Store("no space left".to_owned())) } else { self.memory.append(events) }
    }

    fn keep(&mut self, snapshot: &State) -> Result<()> {
        self.memory.keep(snapshot)
    }

    fn snapshot(&mut self) -> Result<Option<State>> {
        self.memory.snapshot()
    }

    fn replay(&mut self, take: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        self.memory.replay(take)
    }
}

/// What is known of a page from outside.
#[derive(Clone, Copy, Default)]
struct Known {
    cost: f64,
    lease: Option<(LeaseId, f64)>,
    /// When it was seen, on the scheduler's clock; none before the first visit.
    seen_s: Option<f64>,
    visits: u32,
    changes: u32,
    /// Since when it waits, in time that was served; none while it is in trouble.
    waits_since_s: Option<f64>,
}

/// A visit on its way: when it comes back, and what it found.
struct Visit {
    at_s: f64,
    page: u64,
    lease: LeaseId,
    outcome: Outcome,
}

struct World {
    seed: u64,
    rng: Xoshiro256PlusPlus,
    /// The clock, the latest that it showed, and the latest that the scheduler was told: it may be set back before that hears of it.
    now_s: f64,
    latest_s: f64,
    told_s: f64,
    /// Time in which somebody asked for work.
    served_s: f64,
    scheduler: Scheduler<Moody>,
    pages: Vec<Known>,
    visits: Vec<Visit>,
    /// Spending less its share of time, now and at its least: no window has more than the difference.
    surplus: f64,
    least_surplus: f64,
    last_at_host: BTreeMap<u32, f64>,
    trail: Vec<(u64, u64, u64)>,
    crashes: u32,
    refusals: u32,
    slow: u32,
    longest_wait_s: f64,
}

fn seconds(seconds: f64) -> Period {
    Period::of(seconds, Unit::Second).unwrap()
}

fn settings(seed: u64) -> Settings {
    let settings = Settings::new(PER_DAY, Unit::Day).unwrap().with_burst(BURST).unwrap().with_floor(0.2).unwrap();
    settings.with_seed(seed).with_start(START_S).unwrap()
}

fn limits(host: u32) -> HostLimits {
    match host {
        0 => HostLimits::NONE.with_gap(seconds(1200.0)).unwrap().with_concurrency(1).unwrap(),
        1 => {
            let nights = Week::of(|_, hour| hour < 8).unwrap();
            HostLimits::NONE.with_week(nights.in_zone(Zone::named("America/New_York").unwrap()))
        }
        _ => HostLimits::NONE.with_concurrency(2).unwrap(),
    }
}

impl World {
    fn new(seed: u64) -> World {
        let store = Moody { refuses: false, ..Moody::default() };
        let mut scheduler = Scheduler::open(settings(seed), store, START_S).unwrap();
        let mut pages = Vec::new();
        for host in 0..2 {
            scheduler.limit(START_S, HostId(host), limits(host)).unwrap();
        }
        (2..HOSTS).for_each(|host| scheduler.limit(START_S, HostId(host), limits(host)).unwrap());
        for id in 0..PAGES {
            let cost = if id % 30 == 7 { DEAREST } else { 1.0 };
            let terms = PageTerms::new(HostId((id % u64::from(HOSTS)) as u32)).with_cost(cost).unwrap();
            scheduler.add(START_S, PageId(id), terms.with_weight(1.0 + (id % 5) as f64).unwrap()).unwrap();
            pages.push(Known { cost, waits_since_s: Some(0.0), ..Known::default() });
        }
        let mut store = scheduler.into_store();
        store.refuses = true;
        World {
            seed,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            now_s: START_S,
            latest_s: START_S,
            told_s: START_S,
            served_s: 0.0,
            scheduler: Scheduler::open(settings(seed), store, START_S).unwrap(),
            pages,
            visits: Vec::new(),
            surplus: 0.0,
            least_surplus: 0.0,
            last_at_host: BTreeMap::new(),
            trail: Vec::new(),
            crashes: 0,
            refusals: 0,
            slow: 0,
            longest_wait_s: 0.0,
        }
    }

    /// Lets time pass, or jump.
    fn pass(&mut self) {
        let step_s = match self.rng.random_range(0..2000) {
            0 => 3.0 * DAY,
            1 => -7200.0,
            2 => -20.0 * DAY,
            _ => 600.0 * self.rng.random::<f64>(),
        };
        self.advance(step_s);
    }

    /// The store takes its time, now and then more than a lease has: whoever waits for it hears of it that much later.
    fn wait_for_store(&mut self) {
        if self.rng.random_range(0..30) == 0 {
            let wait_s = 900.0 * self.rng.random::<f64>();
            self.advance(wait_s);
            self.slow += 1;
        }
    }

    fn advance(&mut self, step_s: f64) {
        self.now_s += step_s;
        // A clock that went wrong by weeks is set right again.
        if self.latest_s - self.now_s > 10.0 * DAY {
            self.now_s = self.latest_s;
        }
        let passed = (self.now_s - self.latest_s).max(0.0);
        self.served_s += passed.min(600.0);
        self.latest_s += passed;
        self.surplus -= PER_DAY / DAY * passed;
        self.least_surplus = self.least_surplus.min(self.surplus);
    }

    fn lease(&mut self) {
        self.told_s = self.told_s.max(self.now_s);
        let Ok(leases) = self.scheduler.lease(self.now_s, 3) else {
            self.refusals += 1;
            return;
        };
        for lease in leases {
            let (seed, latest_s) = (self.seed, self.latest_s);
            let page = &mut self.pages[usize::try_from(lease.page.0).unwrap()];
            let is_free = page.lease.is_none_or(|(_, until_s)| until_s <= latest_s);
            assert!(is_free, "seed {seed}: page {} is leased twice", lease.page.0);
            page.lease = Some((lease.id, lease.until_s));
            if let Some(since_s) = page.waits_since_s.take() {
                self.longest_wait_s = self.longest_wait_s.max(self.served_s - since_s);
            }
            self.surplus += page.cost;
            let spent = self.surplus - self.least_surplus;
            assert!(spent <= BURST.max(DEAREST) + 1e-6, "seed {seed}: {spent} more than its share in some window");
            self.check_host(lease.host.0);
            self.trail.push((lease.id.0, lease.page.0, self.now_s.to_bits()));
            self.send(lease.page.0, lease.id);
        }
    }

    fn check_host(&mut self, host: u32) {
        let (seed, now_s, limits) = (self.seed, self.latest_s, limits(host));
        assert!(limits.week().wait_s(now_s) == 0.0, "seed {seed}: host {host} is visited at {now_s}");
        if let Some(before_s) = self.last_at_host.insert(host, now_s) {
            assert!(now_s - before_s >= limits.gap().seconds(), "seed {seed}: host {host} after {}", now_s - before_s);
        }
        let held = |(id, page): (usize, &Known)| {
            id as u32 % HOSTS == host && page.lease.is_some_and(|(_, until_s)| until_s > now_s)
        };
        let live = self.pages.iter().enumerate().filter(|page| held(*page)).count();
        assert!(live <= limits.concurrency() as usize, "seed {seed}: host {host} has {live} leases");
    }

    /// A worker goes; one in twenty never comes back.
    fn send(&mut self, page: u64, lease: LeaseId) {
        let outcome = match self.rng.random_range(0..40) {
            0 => Outcome::Failed { retryable: true },
            1 => Outcome::Gone,
            2..15 => Outcome::Changed { divergence: self.rng.random(), last_change: None },
            _ => Outcome::Unchanged,
        };
        if self.rng.random_range(0..20) > 0 {
            let at_s = self.latest_s + 900.0 * self.rng.random::<f64>().powi(3);
            self.visits.push(Visit { at_s, page, lease, outcome });
        }
    }

    fn complete(&mut self) {
        if self.visits.iter().any(|visit| visit.at_s <= self.latest_s) {
            self.told_s = self.told_s.max(self.now_s);
        }
        let (back, away): (Vec<Visit>, Vec<Visit>) =
            std::mem::take(&mut self.visits).into_iter().partition(|visit| visit.at_s <= self.latest_s);
        self.visits = away;
        for visit in back {
            let known = &mut self.pages[usize::try_from(visit.page).unwrap()];
            let (_, until_s) = known.lease.filter(|(lease, _)| *lease == visit.lease).unwrap_or((visit.lease, 0.0));
            match self.scheduler.complete(self.now_s, visit.lease, visit.outcome) {
                Ok(()) => {
                    assert!(until_s > self.told_s, "seed {}: a dead lease was completed", self.seed);
                    take_in(known, visit.outcome, self.latest_s, self.served_s);
                }
                Err(Error::DeadLease(_)) => assert!(until_s <= self.latest_s, "seed {}: a live one is dead", self.seed),
                // The worker tries again.
                Err(Error::Store(_)) => self.visits.push(visit),
                Err(error) => assert_eq!(error, Error::Log("none"), "seed {}", self.seed),
            }
        }
    }

    /// The process dies; what its store has is all that there is.
    fn crash(&mut self) {
        let mut store = self.scheduler.store().clone();
        store.refuses = false;
        let opened = Scheduler::open(settings(self.seed), store, self.now_s).unwrap();
        let mut store = opened.into_store();
        store.refuses = true;
        self.scheduler = Scheduler::open(settings(self.seed), store, self.now_s).unwrap();
        // Of times at which nothing was written it knows nothing.
        (self.told_s, self.crashes) = (self.told_s.min(self.now_s), self.crashes + 1);
        for (id, known) in (0..).zip(&self.pages) {
            let found = self.scheduler.explain(self.now_s, PageId(id)).unwrap();
            let expected = (known.visits, known.changes);
            assert_eq!((found.visits, found.changes), expected, "seed {}: page {id} lost something", self.seed);
        }
    }

    fn step(&mut self, number: u32) {
        self.pass();
        if self.rng.random_range(0..10) == 0 {
            let (page, now_s) = (PageId(self.rng.random_range(0..PAGES)), self.now_s);
            _ = self.scheduler.hint(now_s, page, HintKind::Sitemap, now_s - 3600.0 * self.rng.random::<f64>());
        }
        self.lease();
        self.wait_for_store();
        self.complete();
        self.wait_for_store();
        if number.is_multiple_of(288) || self.scheduler.is_planning() {
            _ = self.scheduler.plan_on(self.now_s, 30);
        }
        if number.is_multiple_of(288) {
            _ = self.scheduler.compact();
        }
        if self.rng.random_range(0..700) == 0 {
            self.crash();
        }
        for known in &self.pages {
            let waits_s = known.waits_since_s.map_or(0.0, |since_s| self.served_s - since_s);
            assert!(waits_s <= 1.5 * FLOOR_S, "seed {}: a page waits for {} days", self.seed, waits_s / DAY);
        }
    }
}

fn take_in(known: &mut Known, outcome: Outcome, now_s: f64, served_s: f64) {
    known.lease = None;
    let changed = match outcome {
        Outcome::Unchanged => false,
        Outcome::Changed { .. } => true,
        Outcome::Gone | Outcome::Failed { .. } => return,
    };
    // Visits within one eighth of a second tell nothing.
    if known.seen_s.is_some_and(|seen_s| now_s - START_S > ((seen_s - START_S) * 8.0).floor() / 8.0) {
        known.visits += 1;
        known.changes += u32::from(changed);
    }
    (known.seen_s, known.waits_since_s) = (Some(now_s), Some(served_s));
}

fn live(seed: u64, years: f64) -> (World, Vec<u8>) {
    let mut world = World::new(seed);
    let mut number = 0;
    while world.latest_s < START_S + years * 365.0 * DAY {
        world.step(number);
        number += 1;
    }
    let mut bytes = Vec::new();
    let put = &mut |record: &[u8]| {
        bytes.extend_from_slice(record);
        Ok(())
    };
    world.scheduler.state().write(put).unwrap();
    (world, bytes)
}

#[test]
fn years_of_mishaps_break_no_promise() {
    let years = std::env::var("EVERFRESH_YEARS").ok().and_then(|years| years.parse().ok()).unwrap_or(0.5);
    for seed in 0..3 {
        let (world, bytes) = live(seed, years);
        let visits = world.trail.len() as f64 / years / 365.0;
        println!(
            "seed {seed}: {years} years, {visits:.1} visits a day, {} crashes, {} refusals, {} waits for the store, longest wait {:.2} days",
            world.crashes,
            world.refusals,
            world.slow,
            world.longest_wait_s / DAY
        );
        assert!(world.crashes > 10 && world.refusals > 10 && world.slow > 100, "seed {seed}");
        if seed == 0 {
            let (again, same) = live(seed, years);
            assert!(again.trail == world.trail && same == bytes, "the same seed gave other bytes");
        }
    }
}
