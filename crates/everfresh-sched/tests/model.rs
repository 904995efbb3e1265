//! Random operations against a naive model: seeds are printed with what they find.

#![allow(clippy::unwrap_used)]

use everfresh::policy::Aim;
use everfresh::{Period, Unit};
use everfresh_sched::{
    Constraints, Error, Event, GroupId, GroupRule, HostId, HostLimits, Lease, LeaseId, Memory, Outcome, PageId,
    PageTerms, Result, Scheduler, Settings, State, Store, Trouble, Week,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};

const BUDGET_PER_S: f64 = 0.2;
const BURST: f64 = 3.0;
const DEAREST: f64 = 4.0;
const LEASE_S: f64 = 300.0;
const HOSTS: u32 = 5;

/// A store that now and then refuses, and then has kept nothing.
#[derive(Clone, Default)]
struct Moody {
    memory: Memory,
    appends: u64,
    refuses_every: u64,
}

impl Store for Moody {
    fn append(&mut self, events: &[Event]) -> Result<()> {
        self.appends += 1;
        if self.refuses_every > 0 && self.appends.is_multiple_of(self.refuses_every) {
            return Err(Error::Store("no space left".to_owned()));
        }
        self.memory.append(events)
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

/// What must be true of a page, kept in the plainest way.
#[derive(Clone, Debug)]
struct Known {
    host: u32,
    group: u16,
    cost: f64,
    min_s: f64,
    lease: Option<(LeaseId, f64)>,
    copied: bool,
    seen_s: f64,
    visits: u32,
    changes: u32,
    gone: u32,
}

/// What somebody asks for.
#[derive(Clone, Debug)]
struct Wanted {
    hosts: Option<BTreeSet<u32>>,
    not_hosts: BTreeSet<u32>,
    group: Option<u16>,
    per_host: Option<usize>,
    most_hosts: Option<usize>,
    cost: Option<f64>,
}

impl Wanted {
    fn random(rng: &mut Xoshiro256PlusPlus) -> Wanted {
        let some_hosts = |rng: &mut Xoshiro256PlusPlus| (0..HOSTS).filter(|_| rng.random()).collect();
        Wanted {
            hosts: rng.random::<bool>().then(|| some_hosts(rng)),
            not_hosts: if rng.random_range(0..4) == 0 { some_hosts(rng) } else { BTreeSet::new() },
            // Group 3 has no pages.
            group: (rng.random_range(0..4) == 0).then(|| rng.random_range(0..4)),
            per_host: (rng.random_range(0..3) == 0).then(|| rng.random_range(0..3)),
            most_hosts: (rng.random_range(0..3) == 0).then(|| rng.random_range(0..4)),
            cost: (rng.random_range(0..3) == 0).then(|| rng.random_range(0.0..DEAREST)),
        }
    }

    fn constraints(&self) -> Constraints {
        let named = |hosts: &BTreeSet<u32>| hosts.iter().map(|host| HostId(*host)).collect::<Vec<_>>();
        let mut constraints = Constraints::new().not_on(named(&self.not_hosts));
        if let Some(hosts) = &self.hosts {
            constraints = constraints.on(named(hosts));
        }
        if let Some(group) = self.group {
            constraints = constraints.in_groups([GroupId(group)]);
        }
        if let Some(most) = self.per_host {
            constraints = constraints.at_most_per_host(most);
        }
        if let Some(most) = self.most_hosts {
            constraints = constraints.of_at_most_hosts(most);
        }
        self.cost.map_or(constraints.clone(), |cost| constraints.costing_at_most(cost))
    }
}

struct Model {
    seed: u64,
    now_s: f64,
    pages: BTreeMap<u64, Known>,
    limits: BTreeMap<u32, HostLimits>,
    blocked: BTreeMap<u32, f64>,
    group_limits: BTreeMap<u16, HostLimits>,
    group_blocked: BTreeMap<u16, f64>,
    /// When each group was last visited.
    group_visited: BTreeMap<u16, f64>,
    /// Hosts with hours.
    weekly: BTreeSet<u32>,
    /// Every lease ever: when, where, what it cost.
    given: Vec<(f64, u32, f64)>,
    /// Where each lease that is live is held.
    held: BTreeMap<LeaseId, (u32, f64)>,
    dead: Vec<LeaseId>,
    rng: Xoshiro256PlusPlus,
}

fn seconds(seconds: f64) -> Period {
    Period::of(seconds, Unit::Second).unwrap()
}

/// Which hours a host has, if any.
fn hours_of(host: u32, day: u8, hour: u8) -> bool {
    (u32::from(day) + u32::from(hour) + host).is_multiple_of(2)
}

fn settings(seed: u64) -> Settings {
    let settings = Settings::new(BUDGET_PER_S, Unit::Second).unwrap().with_burst(BURST).unwrap();
    settings.with_seed(seed).with_lease(seconds(LEASE_S)).unwrap()
}

impl Model {
    fn new(seed: u64) -> Model {
        Model {
            seed,
            now_s: 0.0,
            pages: BTreeMap::new(),
            limits: BTreeMap::new(),
            blocked: BTreeMap::new(),
            group_limits: BTreeMap::new(),
            group_blocked: BTreeMap::new(),
            group_visited: BTreeMap::new(),
            weekly: BTreeSet::new(),
            given: Vec::new(),
            held: BTreeMap::new(),
            dead: Vec::new(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    fn terms(&mut self) -> (PageTerms, Known) {
        let (host, group) = (self.rng.random_range(0..HOSTS), self.rng.random_range(0..3));
        let mut terms = PageTerms::new(HostId(host)).in_group(GroupId(group));
        terms = terms.with_weight(self.rng.random_range(0..4).into()).unwrap();
        let (mut cost, mut min_s) = (1.0, 0.0);
        match self.rng.random_range(0..10) {
            0 => cost = self.rng.random_range(0.1..DEAREST),
            1 => min_s = self.rng.random_range(1.0..2000.0),
            2 => terms = terms.pinned(seconds(self.rng.random_range(100.0..5000.0))).unwrap(),
            _ => {}
        }
        terms = terms.with_cost(cost).unwrap().with_periods(seconds(min_s), Period::NEVER).unwrap();
        let seen_s = self.now_s;
        let (lease, copied, visits, changes, gone) = (None, false, 0, 0, 0);
        (terms, Known { host, group, cost, min_s, lease, copied, seen_s, visits, changes, gone })
    }

    fn some_page(&mut self) -> u64 {
        self.rng.random_range(0..60)
    }

    /// Forgets leases whose time is over.
    fn expire(&mut self) {
        let now_s = self.now_s;
        for page in self.pages.values_mut() {
            if page.lease.is_some_and(|(_, until_s)| until_s <= now_s) {
                page.lease = None;
            }
        }
        let over: Vec<LeaseId> =
            self.held.iter().filter(|(_, (_, until))| *until <= now_s).map(|(lease, _)| *lease).collect();
        for lease in over {
            self.held.remove(&lease);
            self.dead.push(lease);
        }
    }

    /// Is a page let alone for good? Never after one miss, and always after seven: 1, 3, 9, ... 729 days.
    fn is_retired<S: Store>(&self, scheduler: &Scheduler<S>, id: u64) -> bool {
        let misses = self.pages.get(&id).map_or(0, |page| page.gone);
        let is_retired = scheduler.state().trouble(PageId(id)) == Some(Trouble::Retired);
        assert!(
            if is_retired { misses > 1 } else { misses < 7 },
            "seed {}: page {id} after {misses} misses",
            self.seed
        );
        is_retired
    }

    fn add<S: Store>(&mut self, scheduler: &mut Scheduler<S>) {
        let id = self.some_page();
        let (terms, known) = self.terms();
        let is_retired = self.is_retired(scheduler, id);
        match scheduler.add(self.now_s, PageId(id), terms) {
            Ok(()) if is_retired => {
                let page = self.pages.get_mut(&id).unwrap();
                (page.host, page.group, page.cost) = (known.host, known.group, known.cost);
                (page.min_s, page.gone) = (known.min_s, 0);
            }
            Ok(()) => assert!(self.pages.insert(id, known).is_none(), "seed {}", self.seed),
            Err(Error::KnownPage(_)) => assert!(self.pages.contains_key(&id) && !is_retired, "seed {}", self.seed),
            Err(error) => assert!(matches!(error, Error::Store(_)), "seed {}: {error}", self.seed),
        }
    }

    fn remove<S: Store>(&mut self, scheduler: &mut Scheduler<S>) {
        let id = self.some_page();
        match scheduler.remove(self.now_s, PageId(id)) {
            Ok(()) => {
                let page = self.pages.remove(&id).unwrap();
                if let Some((lease, _)) = page.lease {
                    self.held.remove(&lease);
                    self.dead.push(lease);
                }
            }
            Err(Error::UnknownPage(_)) => assert!(!self.pages.contains_key(&id), "seed {}", self.seed),
            Err(error) => assert!(matches!(error, Error::Store(_)), "seed {}: {error}", self.seed),
        }
    }

    fn change<S: Store>(&mut self, scheduler: &mut Scheduler<S>) {
        let id = self.some_page();
        let (terms, known) = self.terms();
        if scheduler.change(self.now_s, PageId(id), terms).is_ok() {
            let page = self.pages.get_mut(&id).unwrap();
            (page.host, page.group) = (known.host, known.group);
            (page.cost, page.min_s) = (known.cost, known.min_s);
        }
    }

    fn limit<S: Store>(&mut self, scheduler: &mut Scheduler<S>) {
        let host = self.rng.random_range(0..HOSTS);
        match self.rng.random_range(0..4) {
            0 => {
                let gap = seconds(self.rng.random_range(0.0..40.0));
                let limits = HostLimits::NONE.with_gap(gap).unwrap();
                let mut limits = limits.with_concurrency(self.rng.random_range(1..4)).unwrap();
                let weekly = self.rng.random_range(0..3) == 0;
                if weekly {
                    limits = limits.with_week(Week::of(|day, hour| hours_of(host, day, hour)).unwrap());
                }
                if scheduler.limit(self.now_s, HostId(host), limits).is_ok() {
                    self.limits.insert(host, limits);
                    self.weekly.remove(&host);
                    self.weekly.extend(weekly.then_some(host));
                }
            }
            1 => {
                let until_s = self.now_s + self.rng.random_range(0.0..500.0);
                if scheduler.block(self.now_s, HostId(host), until_s).is_ok() {
                    self.blocked.insert(host, until_s);
                }
            }
            2 => {
                if scheduler.unblock(self.now_s, HostId(host)).is_ok() {
                    self.blocked.remove(&host);
                }
            }
            _ => {
                let aims = [Aim::Freshness, Aim::Harmonic, Aim::Content, Aim::Age];
                let rule = match self.rng.random_range(0..5) {
                    4 => GroupRule::Every(seconds(self.rng.random_range(10.0..9000.0))),
                    aim => GroupRule::Aim(aims[aim]),
                };
                _ = scheduler.rule(self.now_s, GroupId(self.rng.random_range(0..3)), rule);
            }
        }
    }

    fn limit_group<S: Store>(&mut self, scheduler: &mut Scheduler<S>) {
        let group = self.rng.random_range(0..3);
        match self.rng.random_range(0..3) {
            0 => {
                let gap = seconds(self.rng.random_range(0.0..20.0));
                let limits = HostLimits::NONE.with_gap(gap).unwrap();
                let limits = limits.with_concurrency(self.rng.random_range(1..5)).unwrap();
                if scheduler.limit_group(self.now_s, GroupId(group), limits).is_ok() {
                    self.group_limits.insert(group, limits);
                }
            }
            1 => {
                let until_s = self.now_s + self.rng.random_range(0.0..300.0);
                if scheduler.block_group(self.now_s, GroupId(group), until_s).is_ok() {
                    self.group_blocked.insert(group, until_s);
                }
            }
            _ => {
                if scheduler.unblock_group(self.now_s, GroupId(group)).is_ok() {
                    self.group_blocked.remove(&group);
                }
            }
        }
    }

    /// May a group be visited now?
    fn check_group(&self, group: u16) {
        let (seed, now_s) = (self.seed, self.now_s);
        let limits = self.group_limits.get(&group).copied().unwrap_or(HostLimits::NONE);
        let live = self.pages.values().filter(|page| page.group == group && page.lease.is_some()).count();
        assert!(live < limits.concurrency() as usize, "seed {seed}: group {group} has {live} leases");
        if let Some(last) = self.group_visited.get(&group) {
            assert!(now_s - last >= limits.gap().seconds(), "seed {seed}: group {group} after {}", now_s - last);
        }
        assert!(self.group_blocked.get(&group).is_none_or(|until| *until <= now_s), "seed {seed}: {group} is blocked");
    }

    fn lease<S: Store>(&mut self, scheduler: &mut Scheduler<S>) {
        let limit = self.rng.random_range(1..6);
        if self.rng.random() {
            scheduler.hold();
        }
        let wanted = self.rng.random::<bool>().then(|| Wanted::random(&mut self.rng));
        let leases = match &wanted {
            Some(wanted) => scheduler.lease_within(self.now_s, limit, &wanted.constraints()),
            None => scheduler.lease(self.now_s, limit),
        };
        let Ok(leases) = leases else { return };
        self.expire();
        assert!(leases.len() <= limit);
        if let Some(wanted) = wanted {
            self.check_wanted(&leases, &wanted);
        }
        for lease in leases {
            let (seed, now_s) = (self.seed, self.now_s);
            let page = self.pages.get_mut(&lease.page.0).unwrap();
            assert!(page.lease.is_none(), "seed {seed}: page {} leased twice", lease.page.0);
            assert_ne!(
                scheduler.state().trouble(lease.page),
                Some(Trouble::Retired),
                "seed {seed}: a retired page is visited"
            );
            let since = now_s - page.seen_s;
            assert!(!page.copied || since >= page.min_s - 0.25, "seed {seed}: {since} < {}", page.min_s);
            assert_eq!(lease.host.0, page.host);
            let (host, group, cost) = (page.host, page.group, page.cost);
            self.check_host(host);
            self.check_group(group);
            self.pages.get_mut(&lease.page.0).unwrap().lease = Some((lease.id, lease.until_s));
            self.group_visited.insert(group, now_s);
            self.given.push((now_s, host, cost));
            self.held.insert(lease.id, (host, lease.until_s));
        }
        self.check_budget();
    }

    /// Was all of it asked for?
    fn check_wanted(&self, leases: &[Lease], wanted: &Wanted) {
        let seed = self.seed;
        let mut given: BTreeMap<u32, usize> = BTreeMap::new();
        for lease in leases {
            let page = &self.pages[&lease.page.0];
            *given.entry(page.host).or_default() += 1;
            assert!(wanted.hosts.as_ref().is_none_or(|hosts| hosts.contains(&page.host)), "seed {seed}: {wanted:?}");
            assert!(!wanted.not_hosts.contains(&page.host), "seed {seed}: {wanted:?}");
            assert!(wanted.group.is_none_or(|group| group == page.group), "seed {seed}: {wanted:?}");
            assert!(wanted.cost.is_none_or(|most| page.cost <= most), "seed {seed}: {} {wanted:?}", page.cost);
        }
        assert!(
            wanted.per_host.is_none_or(|most| given.values().all(|pages| *pages <= most)),
            "seed {seed}: {given:?}"
        );
        assert!(wanted.most_hosts.is_none_or(|most| given.len() <= most), "seed {seed}: {given:?}");
    }

    /// May a host be visited now?
    fn check_host(&self, host: u32) {
        let (seed, now_s) = (self.seed, self.now_s);
        let limits = self.limits.get(&host).copied().unwrap_or(HostLimits::NONE);
        let live = self.held.values().filter(|(other, _)| *other == host).count();
        assert!(live < limits.concurrency() as usize, "seed {seed}: host {host} has {live} leases");
        if let Some((last, ..)) = self.given.iter().rev().find(|(_, other, _)| *other == host) {
            assert!(now_s - last >= limits.gap().seconds(), "seed {seed}: host {host} visited after {}", now_s - last);
        }
        // Time 0 is a Thursday.
        let (day, hour) = ((now_s / 86_400.0 + 3.0) % 7.0, now_s / 3600.0 % 24.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "floor")]
        let is_open = hours_of(host, day as u8, hour as u8);
        assert!(is_open || !self.weekly.contains(&host), "seed {seed}: host {host} visited at {now_s}");
        assert!(self.blocked.get(&host).is_none_or(|until_s| *until_s <= now_s), "seed {seed}: {host} is blocked");
    }

    /// Does any window that ends now have more than its share?
    fn check_budget(&self) {
        let mut sum = 0.0;
        for (from_s, _, cost) in self.given.iter().rev() {
            sum += cost;
            let most = BUDGET_PER_S * (self.now_s - from_s) + DEAREST;
            assert!(sum <= most + 1e-6, "seed {}: {sum} since {from_s}, now {}", self.seed, self.now_s);
        }
    }

    fn complete<S: Store>(&mut self, scheduler: &mut Scheduler<S>) {
        let live: Vec<u64> = self.pages.iter().filter(|(_, page)| page.lease.is_some()).map(|(id, _)| *id).collect();
        let outcome = match self.rng.random_range(0..12) {
            0..3 => Outcome::Changed { divergence: self.rng.random(), last_change: None },
            3 => Outcome::Changed { divergence: 1.0, last_change: Some(seconds(self.rng.random_range(0.0..9000.0))) },
            4 => Outcome::Failed { retryable: true },
            5 => Outcome::Failed { retryable: false },
            6 => Outcome::Gone,
            _ => Outcome::Unchanged,
        };
        if live.is_empty() || self.rng.random_range(0..8) == 0 {
            let dead = self.dead.get(self.rng.random_range(0..self.dead.len().max(1))).copied();
            let dead = dead.unwrap_or(LeaseId(u64::MAX));
            let refusal = scheduler.complete(self.now_s, dead, outcome);
            assert!(matches!(refusal, Err(Error::DeadLease(_) | Error::Store(_))), "seed {}", self.seed);
            return;
        }
        let id = live[self.rng.random_range(0..live.len())];
        let (lease, until_s) = self.pages[&id].lease.unwrap();
        let refused = Outcome::Changed { divergence: 1.5, last_change: None };
        assert!(scheduler.complete(self.now_s, lease, refused).is_err());
        match scheduler.complete(self.now_s, lease, outcome) {
            Ok(()) => {
                assert!(self.now_s < until_s, "seed {}: a dead lease was completed", self.seed);
                self.take_in(id, lease, outcome);
            }
            Err(Error::DeadLease(_)) => assert!(self.now_s >= until_s, "seed {}: a live lease was refused", self.seed),
            Err(error) => assert!(matches!(error, Error::Store(_)), "seed {}: {error}", self.seed),
        }
    }

    fn take_in(&mut self, id: u64, lease: LeaseId, outcome: Outcome) {
        self.held.remove(&lease);
        self.dead.push(lease);
        let now_s = self.now_s;
        let page = self.pages.get_mut(&id).unwrap();
        page.lease = None;
        match outcome {
            Outcome::Unchanged | Outcome::Changed { .. } => {
                // Visits within one eighth of a second tell nothing.
                page.visits += u32::from(page.copied && now_s > (page.seen_s * 8.0).floor() / 8.0);
                let changed = matches!(outcome, Outcome::Changed { .. });
                page.changes += u32::from(page.copied && changed && now_s > (page.seen_s * 8.0).floor() / 8.0);
                (page.copied, page.seen_s, page.gone) = (true, now_s, 0);
            }
            Outcome::Gone => page.gone += 1,
            Outcome::Failed { .. } => {}
        }
    }

    /// Whatever was acknowledged is known.
    fn compare<S: Store>(&self, scheduler: &Scheduler<S>) {
        for id in 0..60 {
            let found = scheduler.explain(self.now_s, PageId(id));
            let Some(page) = self.pages.get(&id) else {
                assert_eq!(found, Err(Error::UnknownPage(PageId(id))));
                continue;
            };
            let found = found.unwrap();
            assert_eq!((found.visits, found.changes), (page.visits, page.changes), "seed {} page {id}", self.seed);
            assert_eq!(found.terms.host().0, page.host);
        }
    }

    fn step<S: Store>(&mut self, scheduler: &mut Scheduler<S>) {
        let jump = match self.rng.random_range(0..100) {
            0 => 1e5,
            1..10 => 200.0,
            _ => 8.0,
        };
        self.now_s += jump * self.rng.random::<f64>();
        match self.rng.random_range(0..100) {
            0..12 => self.add(scheduler),
            12..15 => self.remove(scheduler),
            15..20 => self.change(scheduler),
            20..24 => self.limit(scheduler),
            24..26 => self.limit_group(scheduler),
            26..60 => self.lease(scheduler),
            60..90 => self.complete(scheduler),
            90 => _ = scheduler.replan(self.now_s),
            91..93 => _ = scheduler.plan_on(self.now_s, self.rng.random_range(1..40)),
            93 => _ = scheduler.expire(self.now_s),
            94 => assert!(matches!(scheduler.compact(), Ok(()) | Err(Error::Store(_)))),
            95 => _ = scheduler.next_wakeup_within(self.now_s, &Wanted::random(&mut self.rng).constraints()),
            _ => _ = scheduler.next_wakeup(self.now_s),
        }
    }
}

fn steps() -> usize {
    std::env::var("EVERFRESH_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(3000)
}

#[test]
fn random_operations_keep_every_promise_and_replay_to_the_same() {
    for seed in 0..12 {
        let mut model = Model::new(seed);
        let mut scheduler = Scheduler::open(settings(seed), Memory::new(), 0.0).unwrap();
        for step in 0..steps() {
            model.step(&mut scheduler);
            if step % 100 == 0 {
                model.compare(&scheduler);
                let replayed = Scheduler::open(settings(seed), scheduler.store().clone(), model.now_s).unwrap();
                assert!(replayed.state() == scheduler.state(), "seed {seed} step {step}: another state");
                // What was rebuilt goes on as the other would have.
                scheduler = if step % 200 == 0 { replayed } else { scheduler };
            }
        }
        assert!(model.given.len() > steps() / 20, "seed {seed}: only {} visits", model.given.len());
    }
}

#[test]
fn a_store_that_refuses_costs_work_but_no_promise() {
    for seed in 100..106 {
        let mut model = Model::new(seed);
        let store = Moody { refuses_every: 5, ..Moody::default() };
        let mut scheduler = Scheduler::open(settings(seed), store, 0.0).unwrap();
        for step in 0..steps() {
            model.step(&mut scheduler);
            if step % 100 == 0 {
                model.compare(&scheduler);
                // What the store has is what was acknowledged: a crash here loses nothing.
                let mut store = scheduler.store().clone();
                store.refuses_every = 0;
                let mut rebuilt = Scheduler::open(settings(seed), store, model.now_s).unwrap();
                model.compare(&rebuilt);
                rebuilt.expire(model.now_s).unwrap();
            }
        }
    }
}

/// Everything that is leased, with times.
fn trail(seed: u64, reopen: bool) -> Vec<(u64, u64, f64)> {
    let mut scheduler = Scheduler::open(settings(seed), Memory::new(), 0.0).unwrap();
    let mut trail = Vec::new();
    for id in 0..40 {
        let terms = PageTerms::new(HostId(id % 4)).with_weight(f64::from(id + 1)).unwrap();
        scheduler.add(0.0, PageId(u64::from(id)), terms).unwrap();
    }
    let mut now_s = 0.0;
    for step in 0..2000u32 {
        if step % 50 == 0 {
            scheduler.replan(now_s).unwrap();
        } else if step % 3 == 0 {
            scheduler.plan_on(now_s, 7).unwrap();
        }
        let hosts = Constraints::new().on([HostId(step % 4), HostId(step % 3)]);
        let wanted = if step % 7 < 3 { hosts } else { Constraints::new().at_most_per_host(1).costing_at_most(1.0) };
        let leases = if step % 2 == 0 { scheduler.lease(now_s, 3) } else { scheduler.lease_within(now_s, 3, &wanted) };
        for lease in leases.unwrap() {
            trail.push((lease.id.0, lease.page.0, now_s));
            let outcome = match (lease.page.0 + u64::from(step)) % 5 {
                0 => Outcome::Changed { divergence: 0.3, last_change: None },
                1 if step % 7 == 0 => Outcome::Failed { retryable: true },
                _ => Outcome::Unchanged,
            };
            scheduler.complete(now_s, lease.id, outcome).unwrap();
        }
        now_s = scheduler.next_wakeup(now_s).unwrap().max(now_s + 0.01);
        if reopen && step % 17 == 0 {
            scheduler = Scheduler::open(settings(seed), scheduler.into_store(), now_s).unwrap();
        }
    }
    trail
}

#[test]
fn the_same_seed_gives_the_same_leases_also_when_rebuilt_on_the_way() {
    let plain = trail(1, false);
    assert!(plain.len() > 1000, "{}", plain.len());
    assert_eq!(plain, trail(1, false));
    assert_eq!(plain, trail(1, true));
    assert_ne!(plain, trail(2, false));
}
