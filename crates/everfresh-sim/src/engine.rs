//! A policy in a world, event by event.
//!
//! Time is cut into epochs. Within one the price stands, so that pages do not depend on each other: each lives through its
//! own changes and visits, in parallel, and all is integrated exactly between them. At its end the policy learns from all
//! pages, and the price is found at which the next epoch spends what the budget allows, less what was spent too much before.
//! Only pages of a host with a cap depend on each other: they live through an epoch together, and wait for their turn.

use crate::price;
use crate::score::{PageScore, Score};
use crate::world::{Pair, World, stream};
use everfresh::policy::{About, Clairvoyance, Outcome, Policy, Pricing, Visit};
use everfresh::{Order, Period, Unit};
use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::SplitMix64;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Under which conditions a policy runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// How long, in seconds.
    pub duration_s: f64,
    /// The time at the start that does not count, in seconds.
    pub warmup_s: f64,
    /// Visits per second and live page; rules that choose their own load do not look.
    pub budget: f64,
    /// The price that is given to policies that cannot be steered; 0 where there are none.
    pub price: f64,
    /// In which order pages are visited.
    pub order: Order,
    /// The seed of changes, phases and failures.
    pub seed: u64,
}

/// Is told how far a run is, and may stop it.
pub trait Watch: Sync {
    /// After each epoch: the share done. False stops the run.
    fn goes_on(&self, share: f64) -> bool;
}

impl<F: Fn(f64) -> bool + Sync> Watch for F {
    fn goes_on(&self, share: f64) -> bool {
        self(share)
    }
}

/// Pages of which a price is found, and from which is learnt, at most.
const SAMPLE: usize = 8192;
const CHUNK: usize = 256;
/// How closely the demand must meet what is due: what is missed is made up for later.
const CLOSE: f64 = 1e-3;
/// How closely where all periods follow the price: who takes pages for alike visits them when uniform does, and not at hours of its own.
const STEERED_CLOSE: f64 = 1e-6;
/// What was spent too much or too little is made up for within so many epochs.
const MAKE_UP: f64 = 12.0;
/// Of all visits of a run, this share may be too many or too few without being made up for.
const SLACK: f64 = 0.005;
/// With fewer visits a page than this in a run, an epoch is a small part of a period: a price that falls a little makes many more pages due
/// than it adds to their frequencies. Those that will be due are counted then.
const SPARSE: f64 = 12.0;

/// Runs a policy; nothing when the watch stopped it.
pub fn run<P: Policy>(world: &World, mut policy: P, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
    let mut cells: Vec<Cell<P::Memory>> = (0..world.pages.len())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|index| Cell::new(world, &policy, conditions, index))
        .collect();
    let mut hosts = Hosts::of(world, conditions.seed);
    let epochs = epochs(conditions, policy.pricing());
    let mut prices =
        Prices::new(if conditions.price > 0.0 { conditions.price } else { 1.0 / conditions.budget }, &hosts);
    let (mut spent, mut allowed, mut from) = (0.0, 0.0, 0.0);
    let whole = conditions.budget * there_s(&cells, 0.0, conditions.duration_s);
    let mut retries = Retries::of(world);
    for (number, to) in epochs.iter().copied().enumerate() {
        if from == conditions.warmup_s {
            cells.par_iter_mut().for_each(Cell::forget_score);
        }
        let learns = learns_at(number);
        if learns {
            let sample: Vec<_> = sampled(&cells).map(|cell| (&cell.about, &cell.memory)).collect();
            policy.learn(&sample);
        }
        let budget = conditions.budget * there_s(&cells, from, to);
        let due = (budget + behind(allowed - spent, whole, cells.len()) / MAKE_UP).max(0.2 * budget);
        match policy.pricing() {
            Pricing::Steered if conditions.budget * conditions.duration_s < SPARSE => {
                prices.rank(&policy, &cells, step(cells.len()), budget + allowed - spent, (from, to));
            }
            Pricing::Steered => prices.meet(&policy, &cells, retries.without(due), (from, to)),
            Pricing::Ranked => {
                prices.rank_hosts(&policy, &cells, &hosts, (from, to));
                prices.rank(&policy, &cells, 1, budget + allowed - spent, (from, to));
            }
            Pricing::Given | Pricing::Own => {}
        }
        prices.hold_hosts(&policy, &cells, &hosts, (from, to));
        let scene = Scene { world, policy: &policy, conditions, prices: &prices, learnt: learns };
        let visits = scene.advance_all(&mut cells, &mut hosts, from, to) as f64;
        retries.learn(visits, due);
        spent += visits;
        allowed += budget;
        from = to;
        if !watch.goes_on((number + 1) as f64 / epochs.len() as f64) {
            return None;
        }
    }
    let events = cells.iter().map(|cell| u64::from(cell.events)).sum();
    Some(Score { pages: cells.into_iter().map(|cell| cell.score).collect(), events })
}

/// The ends of the epochs, the end of the warm-up among them: about half the mean period each, 60 to 500 of them. Where pages
/// are ranked, an epoch is what can be visited at a time, and ten times as short.
fn epochs(conditions: &Conditions, pricing: Pricing) -> Vec<f64> {
    let Conditions { duration_s, warmup_s, budget, .. } = *conditions;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let number = match pricing {
        Pricing::Ranked => (20.0 * duration_s * budget).clamp(60.0, 5000.0) as usize,
        _ => (2.0 * duration_s * budget).clamp(60.0, 500.0) as usize,
    };
    let mut ends: Vec<f64> = (1..=number).map(|n| duration_s * n as f64 / number as f64).collect();
    if warmup_s > 0.0 {
        ends.push(warmup_s);
        ends.sort_by(f64::total_cmp);
        ends.dedup();
    }
    ends
}

/// What is to be made up for. The phases of so many pages alone move a count by about the root of their number, which comes
/// back by itself: correcting it would only make regular visits irregular. Of a run with few visits a page that would be much.
fn behind(visits: f64, whole: f64, pages: usize) -> f64 {
    let by_chance = (2.0 * (pages as f64).sqrt()).min(SLACK * whole);
    visits - visits.clamp(-by_chance, by_chance)
}

/// How long pages are there between two times, together.
fn there_s<M>(cells: &[Cell<M>], from: f64, to: f64) -> f64 {
    cells.iter().map(|cell| (cell.dies_s.min(to) - cell.born_s.max(from)).max(0.0)).sum()
}

/// Often at first, then whenever a tenth more time has passed.
fn learns_at(epoch: usize) -> bool {
    epoch < 10 || epoch.is_multiple_of(epoch / 10)
}

fn sampled<M>(cells: &[Cell<M>]) -> impl Iterator<Item = &Cell<M>> {
    cells.iter().step_by(step(cells.len()))
}

/// Every how many pages there is one of the sample.
fn step(pages: usize) -> usize {
    pages.div_ceil(SAMPLE).max(1)
}

/// How many visits there are for each that is due: where some fail and are soon tried again, more than one.
struct Retries {
    each: f64,
    most: f64,
}

impl Retries {
    fn of(world: &World) -> Retries {
        Retries { each: 1.0, most: 1.0 / (1.0 - world.failures.clamp(0.0, 0.99)) }
    }

    /// What may be due, so that with retries it is `visits`.
    fn without(&self, visits: f64) -> f64 {
        visits / self.each
    }

    /// An epoch that was to have so many visits had these.
    fn learn(&mut self, visits: f64, wanted: f64) {
        if wanted > 0.0 {
            let seen = self.each * visits / wanted;
            self.each = (self.each + (seen - self.each) / MAKE_UP).clamp(1.0, self.most);
        }
    }
}

/// Hosts that have caps.
struct Hosts {
    capped: Vec<Gate>,
    /// By its number, where in that list a host is.
    places: Vec<Option<usize>>,
}

/// A host with a cap: between two visits to it lies its gap.
struct Gate {
    host: u32,
    /// Visits per second, at most.
    cap: f64,
    pages: Vec<usize>,
    /// When the next visit may be.
    free_s: f64,
    /// Were visits due at the end of the last epoch that had to wait?
    is_behind: bool,
}

impl Gate {
    /// How many visits it has room for until a time.
    fn room(&self, (from, to): (f64, f64)) -> f64 {
        ((to - self.free_s.max(from)) * self.cap).ceil().max(0.0)
    }
}

impl Hosts {
    fn of(world: &World, seed: u64) -> Hosts {
        let gate = |(cap, host): (&f64, u32)| {
            // A host whose gap is longer than the run has a visit with the probability that its cap says.
            let free_s = stream(seed, u64::from(host), 6).random::<f64>() / cap;
            Gate { host, cap: *cap, pages: Vec::new(), free_s, is_behind: false }
        };
        let mut capped: Vec<Gate> = world.host_caps.iter().zip(0u32..).map(gate).collect();
        for (index, page) in world.pages.iter().enumerate() {
            if let Some(gate) = capped.get_mut(page.host as usize) {
                gate.pages.push(index);
            }
        }
        capped.retain(|gate| gate.cap.is_finite() && !gate.pages.is_empty());
        let mut places = vec![None; world.host_caps.len()];
        for (place, gate) in capped.iter().enumerate() {
            places[gate.host as usize] = Some(place);
        }
        Hosts { capped, places }
    }

    fn place(&self, host: u32) -> Option<usize> {
        self.places.get(host as usize).copied().flatten()
    }
}

/// The price, and what holds the hosts that have caps.
struct Prices {
    price: f64,
    /// Of each host, where it has one: its own price, at which its pages keep to its cap.
    of_host: Vec<f64>,
    /// Of each host: by which factor the periods of rules that know no price are stretched.
    stretch: Vec<f64>,
}

impl Prices {
    fn new(price: f64, hosts: &Hosts) -> Prices {
        Prices { price, of_host: vec![0.0; hosts.places.len()], stretch: vec![1.0; hosts.places.len()] }
    }

    fn stretch(&self, host: u32) -> f64 {
        self.stretch.get(host as usize).copied().unwrap_or(1.0)
    }

    /// The price of a page on this host, when that of all is `price`.
    fn on_host(&self, host: u32, price: f64) -> f64 {
        self.of_host.get(host as usize).map_or(price, |own| own.max(price))
    }

    /// Finds the price at which pages are visited `due` times in an epoch, judged on a sample.
    fn meet<P: Policy>(&mut self, policy: &P, cells: &[Cell<P::Memory>], due: f64, (from, to): (f64, f64)) {
        let sample: Vec<_> = sampled(cells).filter(|cell| cell.lives(from, to)).collect();
        if sample.is_empty() || due <= 0.0 {
            return;
        }
        let scale = cells.iter().filter(|cell| cell.lives(from, to)).count() as f64 / sample.len() as f64;
        let demand = |price: f64| {
            let parts = sample.par_chunks(CHUNK).map(|chunk| {
                let wanted = |cell: &Cell<_>| cell.demand(policy, self.on_host(cell.host, price), (from, to));
                chunk.iter().map(|cell| cell.about.cost * wanted(cell)).sum()
            });
            scale * parts.collect::<Vec<f64>>().iter().sum::<f64>()
        };
        // Pages that never change want no visit at any price.
        self.price = price::meeting(due, self.price, STEERED_CLOSE, demand).clamp(1e-30, 1e30);
    }

    /// Finds the price at which as many visits are due before the end of an epoch as there are free ones, counted on every n-th page.
    fn rank<P: Policy>(&mut self, policy: &P, cells: &[Cell<P::Memory>], step: usize, free: f64, epoch: (f64, f64)) {
        let live: Vec<_> = cells.iter().step_by(step).filter(|cell| cell.lives(epoch.0, epoch.1)).collect();
        let due = |price: f64| {
            let visits = |cell: &&Cell<P::Memory>| cell.due_in(policy, self.on_host(cell.host, price), epoch);
            step as f64 * live.par_iter().map(visits).sum::<u64>() as f64
        };
        // Half a visit is no visit.
        self.price =
            if free < 0.5 { 1e30 } else { price::meeting(free, self.price.min(1e25), CLOSE, due).clamp(1e-30, 1e30) };
    }

    /// The same on each host that has a cap, for the visits that it has room for.
    fn rank_hosts<P: Policy>(&mut self, policy: &P, cells: &[Cell<P::Memory>], hosts: &Hosts, (from, to): (f64, f64)) {
        for gate in &hosts.capped {
            let live: Vec<_> = gate.pages.iter().map(|at| &cells[*at]).filter(|cell| cell.lives(from, to)).collect();
            let due = |price: f64| live.iter().filter(|cell| cell.is_due(policy, price, to)).count() as f64;
            let room = gate.room((from, to));
            let own = &mut self.of_host[gate.host as usize];
            *own = if room < 0.5 {
                1e30
            } else if due(1e-30) <= room {
                0.0
            } else {
                // Whole visits meet no number exactly; rather one waits than that a turn is lost.
                let price = price::meeting(room, own.clamp(1.0, 1e25), CLOSE, due).clamp(1e-30, 1e30);
                let enough = (0..64).map(|n| price * 0.97f64.powi(n)).find(|price| due(*price) >= room);
                enough.unwrap_or(price)
            };
        }
    }

    /// Slows down the pages of hosts that would get more than their cap: by a price of their own (as in a plan), or, where a
    /// rule knows no price, by stretching all periods alike. What is still too much waits for its turn.
    fn hold_hosts<P: Policy>(&mut self, policy: &P, cells: &[Cell<P::Memory>], hosts: &Hosts, (from, to): (f64, f64)) {
        if policy.pricing() == Pricing::Ranked {
            return;
        }
        for gate in &hosts.capped {
            let live: Vec<_> = gate.pages.iter().map(|at| &cells[*at]).filter(|cell| cell.lives(from, to)).collect();
            let demand = |price: f64| live.iter().map(|cell| cell.demand(policy, price, (from, to))).sum::<f64>();
            let (wanted, host, room) = (demand(self.price), gate.host as usize, gate.cap * (to - from));
            let own = &mut self.of_host[host];
            if policy.clairvoyance() != Clairvoyance::None {
                // What will happen is not known even to them: the price goes up while visits wait, from a first guess on.
                let guess = 0.2 * live.len() as f64 / gate.cap;
                let dearer = if *own > self.price { 1.2 * *own } else { guess.max(self.price) };
                *own = if gate.is_behind { dearer } else { *own / 1.2 };
            } else if policy.pricing() == Pricing::Steered {
                *own = if wanted > room { price::meeting(room, own.max(self.price), CLOSE, demand) } else { 0.0 };
            } else {
                self.stretch[host] = (wanted / room).max(1.0);
            }
        }
    }
}

/// What all pages share within an epoch.
struct Scene<'a, P> {
    world: &'a World,
    policy: &'a P,
    conditions: &'a Conditions,
    prices: &'a Prices,
    /// Has the policy learnt just before?
    learnt: bool,
}

/// A page in a run.
pub(crate) struct Cell<M> {
    pub(crate) about: About,
    pub(crate) host: u32,
    pub(crate) born_s: f64,
    pub(crate) dies_s: f64,
    /// When its end is told; infinite where only the next visit finds it out.
    told_s: f64,
    pair: Pair,
    memory: M,
    /// The next visit is due so many periods after the last.
    factor: f64,
    /// Where in its turn the last visit came, under random order.
    place: f64,
    visited_s: f64,
    saw_s: f64,
    /// Did the last visit fail?
    failed: bool,
    /// How long a visit takes on average, in seconds.
    latency_s: f64,
    /// The price at which the period was last asked for, and the period: it is the same until the page is visited, the policy
    /// learns or the price moves.
    asked: (f64, f64),
    /// Up to when the score is integrated.
    now_s: f64,
    stale_since_s: Option<f64>,
    divergence: f64,
    gathered_utility: f64,
    /// Did a visit find nothing? It was the last.
    retired: bool,
    pub(crate) events: u32,
    rng: SplitMix64,
    pub(crate) score: PageScore,
}

impl<M> Cell<M> {
    pub(crate) fn new<P: Policy<Memory = M>>(
        world: &World,
        policy: &P,
        conditions: &Conditions,
        index: usize,
    ) -> Cell<M> {
        let page = &world.pages[index];
        let pair = Pair::new(page, conditions.seed);
        let memory = policy.remember(&page.about, page.born_s, pair.fragments());
        let mut rng = stream(conditions.seed, page.key, 4);
        // The first visits are spread over the first period.
        let factor = if conditions.order == Order::PurelyRandom { Exp1.sample(&mut rng) } else { rng.random() };
        let is_told = world.ends_are_known || policy.clairvoyance() != Clairvoyance::None;
        let score = PageScore { weight: page.about.weight, ..PageScore::default() };
        Cell {
            about: page.about,
            host: page.host,
            born_s: page.born_s,
            dies_s: page.dies_s,
            told_s: if is_told { page.dies_s } else { f64::INFINITY },
            pair,
            memory,
            factor,
            place: factor,
            visited_s: page.born_s,
            saw_s: page.born_s,
            failed: false,
            latency_s: world.latency_s,
            asked: (f64::NAN, 0.0),
            now_s: page.born_s,
            stale_since_s: None,
            divergence: 0.0,
            gathered_utility: 0.0,
            retired: false,
            events: 0,
            rng,
            score,
        }
    }

    pub(crate) fn forget_score(&mut self) {
        self.score = PageScore { weight: self.score.weight, ..PageScore::default() };
    }

    /// Is it there in an epoch, as far as anybody knows?
    fn lives(&self, from: f64, to: f64) -> bool {
        self.born_s < to && self.told_s > from && !self.retired
    }

    /// When it changes next, before its end.
    fn next_change_s(&self) -> f64 {
        Some(self.pair.next_s()).filter(|next_s| *next_s < self.dies_s).unwrap_or(f64::INFINITY)
    }

    /// Is it there before a time, and has that not been lived through?
    pub(crate) fn has_part_in(&self, to: f64) -> bool {
        self.born_s < to && self.now_s < self.dies_s.min(to)
    }

    /// In seconds, and at least one.
    fn period<P: Policy<Memory = M>>(&self, policy: &P, price: f64) -> f64 {
        policy.period(&self.about, &self.memory, price).seconds().max(1.0)
    }

    /// How often it is to be visited in an epoch. The next wait begins when a visit is over. What failed is tried again once,
    /// however soon, and then goes on as before: a short wait is not one of many in an epoch.
    fn demand<P: Policy<Memory = M>>(&self, policy: &P, price: f64, (from, to): (f64, f64)) -> f64 {
        let period = self.period(policy, price) + self.latency_s;
        let believed_s = (self.told_s.min(to) - self.born_s.max(from)).max(0.0);
        believed_s / if self.failed { period.max(to - from) } else { period }
    }

    fn is_due<P: Policy<Memory = M>>(&self, policy: &P, price: f64, to: f64) -> bool {
        self.visited_s + self.factor * self.period(policy, price) < to
    }

    /// How many visits are due before the end of an epoch.
    fn due_in<P: Policy<Memory = M>>(&self, policy: &P, price: f64, (from, to): (f64, f64)) -> u64 {
        let (period, end) = (self.period(policy, price), self.told_s.min(to));
        let left = end - (self.visited_s + self.factor * period).max(from);
        // See `demand`.
        let again = if self.failed { period.max(to - from) } else { period };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and at most one a second"
        )]
        if left > 0.0 { 1 + (left / (again + self.latency_s)) as u64 } else { 0 }
    }

    /// Adds the time up to `to` to the score.
    fn integrate(&mut self, to: f64) {
        let to = to.min(self.dies_s);
        let elapsed = to - self.now_s;
        if elapsed <= 0.0 {
            return;
        }
        self.score.live_s += elapsed;
        self.score.divergence_s += self.divergence * elapsed;
        match self.stale_since_s {
            None => self.score.fresh_s += elapsed,
            Some(since) => self.score.age_s2 += elapsed * (self.now_s + to - 2.0 * since) / 2.0,
        }
        self.now_s = to;
    }

    fn change(&mut self, clairvoyance: Clairvoyance) {
        let time = self.pair.next_s();
        self.pair.change();
        self.events += 1;
        let before = self.seen_divergence(clairvoyance);
        self.divergence = self.pair.divergence();
        self.stale_since_s = if self.pair.is_fresh() { None } else { self.stale_since_s.or(Some(time)) };
        // U = t D - area rises by t ΔD at a change, and not between changes.
        self.gathered_utility += (time - self.saw_s) * (self.seen_divergence(clairvoyance) - before);
    }

    /// Lets it change up to a time, with nobody looking.
    pub(crate) fn live_until(&mut self, to: f64) {
        while self.pair.next_s() < to.min(self.dies_s) {
            self.integrate(self.pair.next_s());
            self.change(Clairvoyance::None);
        }
        self.integrate(to);
    }

    /// Looks at it: what is found.
    pub(crate) fn look(&mut self, world: &World, now_s: f64) -> Outcome {
        self.events += 1;
        self.score.visits += 1;
        self.visited_s = now_s;
        self.failed = world.failures > 0.0 && self.rng.random::<f64>() < world.failures;
        if self.failed {
            Outcome::Failed
        } else if now_s >= self.dies_s {
            Outcome::Gone
        } else if self.pair.is_fresh() {
            Outcome::Unchanged
        } else {
            Outcome::Changed { divergence: self.pair.seen_divergence(), last_change: None }
        }
    }

    /// The copy is what it is now.
    pub(crate) fn copy(&mut self, now_s: f64) {
        self.saw_s = now_s;
        self.pair.copy();
        (self.divergence, self.stale_since_s, self.gathered_utility) = (0.0, None, 0.0);
    }

    /// How long a visit takes, in seconds.
    pub(crate) fn takes_s(&mut self, world: &World) -> f64 {
        if world.latency_s > 0.0 {
            let unit: f64 = Exp1.sample(&mut self.rng);
            return world.latency_s * unit;
        }
        0.0
    }

    fn seen_divergence(&self, clairvoyance: Clairvoyance) -> f64 {
        match clairvoyance {
            Clairvoyance::None => 0.0,
            Clairvoyance::Content => self.divergence,
            Clairvoyance::Whole => f64::from(u8::from(self.stale_since_s.is_some())),
        }
    }
}

fn seconds(time: f64) -> Period {
    Period::of(time.max(0.0), Unit::Second).unwrap_or(Period::NEVER)
}

impl<P: Policy> Scene<'_, P> {
    /// Lets all pages live through an epoch; the number of visits. Pages of a host with a cap wait for each other.
    fn advance_all(&self, cells: &mut [Cell<P::Memory>], hosts: &mut Hosts, from: f64, to: f64) -> u64 {
        if hosts.capped.is_empty() {
            return cells.par_chunks_mut(CHUNK).map(|chunk| self.advance(chunk.iter_mut(), from, to)).sum();
        }
        let mut open: Vec<&mut Cell<P::Memory>> = Vec::new();
        let mut of_hosts: Vec<Vec<&mut Cell<P::Memory>>> = hosts.capped.iter().map(|_| Vec::new()).collect();
        for cell in cells {
            hosts.place(cell.host).map_or(&mut open, |place| &mut of_hosts[place]).push(cell);
        }
        let chunks = open.par_chunks_mut(CHUNK);
        let visits: u64 = chunks.map(|chunk| self.advance(chunk.iter_mut().map(|cell| &mut **cell), from, to)).sum();
        let gated = hosts.capped.par_iter_mut().zip(of_hosts);
        visits + gated.map(|(gate, mut cells)| self.advance_host(gate, &mut cells, from, to)).sum::<u64>()
    }

    fn advance<'c>(&self, cells: impl Iterator<Item = &'c mut Cell<P::Memory>>, from: f64, to: f64) -> u64
    where
        P::Memory: 'c,
    {
        cells.filter(|cell| cell.lives(from, to)).fold(0, |sum, cell| {
            let before = cell.score.visits;
            self.live(cell, from, to);
            sum + u64::from(cell.score.visits - before)
        })
    }

    /// The pages of one host: whoever is due first is visited first, none before the gap after the last visit is over.
    fn advance_host(&self, gate: &mut Gate, cells: &mut [&mut Cell<P::Memory>], from: f64, to: f64) -> u64 {
        let mut visits = 0;
        let is_ranked = self.policy.pricing() == Pricing::Ranked;
        gate.is_behind = false;
        // Times are never negative, and so in the order of their bits.
        let mut due = BinaryHeap::new();
        for (index, cell) in cells.iter_mut().enumerate().filter(|(_, cell)| cell.lives(from, to)) {
            due.extend(self.first_wish(cell, from, to).map(|time| Reverse((time.to_bits(), index))));
        }
        while let Some(Reverse((bits, index))) = due.pop() {
            let cell = &mut *cells[index];
            // Who ranks pages visits the best of them whenever a visit is free.
            let due_s = if is_ranked { from } else { f64::from_bits(bits) };
            let time = due_s.max(gate.free_s).max(from).max(cell.now_s);
            if time >= to {
                gate.is_behind = true;
                self.until(cell, f64::INFINITY, to, Clairvoyance::None);
            } else if self.until(cell, time, to, Clairvoyance::None).is_some() {
                self.visit(cell, time);
                visits += 1;
                gate.free_s = time + 1.0 / gate.cap;
                let stretch = self.prices.stretch(cell.host);
                let next = if is_ranked { f64::INFINITY } else { self.due(cell, stretch, to) };
                let wish = self.until(cell, next, to, self.policy.clairvoyance());
                due.extend(wish.map(|time| Reverse((time.to_bits(), index))));
            }
        }
        visits
    }

    /// When a page on a host with a cap is to be visited first in an epoch, or was to be before it.
    fn first_wish(&self, cell: &mut Cell<P::Memory>, from: f64, to: f64) -> Option<f64> {
        if self.learnt {
            cell.asked.0 = f64::NAN;
        }
        if self.is_worth_it(cell) {
            return Some(cell.saw_s);
        }
        let due = self.due(cell, self.prices.stretch(cell.host), to);
        let is_chosen = self.policy.pricing() == Pricing::Ranked && due < to;
        if due < from || is_chosen { Some(due) } else { self.until(cell, due, to, self.policy.clairvoyance()) }
    }

    /// Has enough happened for a policy that is told of it?
    fn is_worth_it(&self, cell: &Cell<P::Memory>) -> bool {
        let price = self.prices.on_host(cell.host, self.prices.price);
        self.policy.clairvoyance() != Clairvoyance::None && cell.gathered_utility >= cell.about.threshold(price)
    }

    fn live(&self, cell: &mut Cell<P::Memory>, from: f64, to: f64) {
        let clairvoyance = self.policy.clairvoyance();
        let stretch = self.prices.stretch(cell.host);
        if self.learnt {
            cell.asked.0 = f64::NAN;
        }
        let mut due = self.due(cell, stretch, to);
        if due < from {
            // Cheaper visits make many pages due at once: a crawler takes them one after the other, and none later than it is late.
            due = from + cell.rng.random::<f64>() * (to - from).min(from - due);
            if self.policy.minds_hours(&cell.memory) {
                let timed = self.policy.timed(&cell.about, &cell.memory, seconds(due - cell.visited_s));
                due = (cell.visited_s + timed.seconds()).max(from);
            }
        }
        while let Some(time) = self.until(cell, due, to, clairvoyance) {
            self.visit(cell, time);
            due = self.due(cell, stretch, to);
        }
    }

    /// Lets a page change until its next visit, which is due at a time or, for those who are told of changes, when enough has
    /// happened: when that is, if it is in this epoch and nobody was told that the page is gone. Else the next visit finds it out.
    #[inline]
    fn until(&self, cell: &mut Cell<P::Memory>, due: f64, to: f64, clairvoyance: Clairvoyance) -> Option<f64> {
        let due = if due < cell.told_s { due } else { f64::INFINITY };
        loop {
            let change = cell.next_change_s();
            let event = change.min(due);
            if event >= to {
                cell.integrate(to);
                return None;
            }
            cell.integrate(event);
            if due < change {
                return Some(due);
            }
            cell.change(self.policy.clairvoyance());
            if clairvoyance != Clairvoyance::None && self.is_worth_it(cell) {
                return Some(change);
            }
        }
    }

    /// When the next visit is due, if there is one before the end of the epoch; a clairvoyant policy goes when something has happened.
    fn due(&self, cell: &mut Cell<P::Memory>, stretch: f64, to: f64) -> f64 {
        if self.policy.clairvoyance() != Clairvoyance::None || cell.retired {
            return f64::INFINITY;
        }
        let price = self.prices.on_host(cell.host, self.prices.price);
        if cell.asked.0 != price {
            let within = (to - cell.visited_s) / (stretch * cell.factor);
            let due = if self.policy.minds_hours(&cell.memory) {
                let period = self.policy.period(&cell.about, &cell.memory, price);
                Some(self.policy.timed(&cell.about, &cell.memory, period))
            } else {
                self.policy.due_within(&cell.about, &cell.memory, price, seconds(within))
            };
            let Some(period) = due else { return f64::INFINITY };
            cell.asked = (price, period.seconds().max(1.0));
        }
        cell.visited_s + cell.asked.1 * stretch * cell.factor
    }

    fn visit(&self, cell: &mut Cell<P::Memory>, due: f64) {
        // Who remembers nothing has the same period as before.
        if size_of::<P::Memory>() > 0 {
            cell.asked.0 = f64::NAN;
        }
        self.draw_factor(cell);
        let outcome = cell.look(self.world, due);
        if outcome == Outcome::Gone {
            cell.retired = true;
            return;
        }
        let elapsed = seconds(due - cell.saw_s);
        let visit = Visit { now_s: due, elapsed, outcome, fragments: cell.pair.fragments() };
        self.policy.observe(&cell.about, &mut cell.memory, &visit);
        if outcome != Outcome::Failed {
            cell.copy(due);
        }
        cell.visited_s += cell.takes_s(self.world);
    }

    /// How many periods until the next visit: one in fixed order; in random order each period has one visit at a random place.
    fn draw_factor(&self, cell: &mut Cell<P::Memory>) {
        cell.factor = match self.conditions.order {
            Order::Fixed => 1.0,
            Order::PurelyRandom => Exp1.sample(&mut cell.rng),
            Order::Random => {
                let place: f64 = cell.rng.random();
                1.0 + place - std::mem::replace(&mut cell.place, place)
            }
        };
    }
}
