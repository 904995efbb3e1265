//! Hosts that may not be visited more often than their cap: each that reaches it has a price of its own.
//!
//! The own price of a host is the one at which its pages spend its cap. It does not depend on the other hosts, and at a lower
//! price its pages stay where they are: a cap is an upper bound on each of its pages, and the plan is solved with it as
//! with any other bound.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use fearless_simd::{Level, dispatch};
use rayon::prelude::*;

use super::columns::{BLOCK, BadPage, Columns, One, Pages};
use super::gather::{Bounds, Gathered, Window};
use super::listed::{Listed, Sieve, Sorted, Usual, is_free};
use super::rule::Rule;
use super::spend_by;
use crate::curve::Shape;
use crate::error::Error;
use crate::kernel::Lookup;
use crate::numeric::Sum;
use crate::plan::price::Blend;

/// The caps of all hosts and the prices of those that may reach them.
#[derive(Clone, Debug)]
pub(super) struct Hosts<'a> {
    /// Cost per second; infinite for none.
    caps: &'a [f64],
    /// For each host that may reach its cap the place of its price.
    places: Places,
    prices: Vec<HostPrice>,
}

/// A number for some of very many hosts. Most pages ask for a host that has none, and learn it from one bit: a million of them
/// stay in the cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    bits: Vec<u64>,
    places: Vec<u32>,
    count: u32,
}

impl Places {
    /// Of so many hosts these have numbers, in their order.
    fn of(hosts: usize, some: impl Iterator<Item = u32>) -> Places {
        let mut all = Places { bits: vec![0; hosts.div_ceil(64)], places: vec![0; hosts], count: 0 };
        for (place, host) in (0u32..).zip(some) {
            all.bits[host as usize / 64] |= 1 << (host % 64);
            all.places[host as usize] = place;
            all.count = place + 1;
        }
        all
    }

    /// How many hosts have a number.
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// What [`Places::slot`] says of hosts without one.
    pub(super) fn none(&self) -> u32 {
        self.count
    }

    #[inline(always)]
    pub(super) fn get(&self, host: u32) -> Option<u32> {
        // Without caps this is the length of an empty list.
        let bits = *self.bits.get(host as usize / 64)?;
        if bits >> (host % 64) & 1 == 0 {
            return None;
        }
        self.places.get(host as usize).copied()
    }

    /// The numbers of the hosts of some pages, as [`Places::slot`] says them.
    pub(super) fn slots(&self, pages: Columns<'_>, slots: &mut [u32]) {
        match pages.host {
            Some(hosts) => slots.iter_mut().zip(hosts).for_each(|(slot, host)| *slot = self.slot(*host)),
            None => slots[..pages.len()].fill(self.slot(0)),
        }
    }

    /// The number of a host, or the first that none has. No branch: which pages are on a full host cannot be foreseen, and
    /// the others ask for the place of the same host.
    #[inline(always)]
    pub(super) fn slot(&self, host: u32) -> u32 {
        let bits = self.bits.get(host as usize / 64).copied().unwrap_or(0);
        let has = 0u32.wrapping_sub(u32::from(bits >> (host % 64) & 1 != 0));
        let place = self.places.get((host & has) as usize).copied().unwrap_or(0);
        place & has | self.count & !has
    }
}

/// The price of a host that may reach its cap.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostPrice {
    pub blend: Blend,
    /// What it can afford of the floor beyond the promises: 1, unless the floor alone exceeds the cap.
    pub floor_share: f64,
    /// What is spent on it at that price, and what its promises and its floor take of that.
    spent: f64,
    promised: f64,
}

impl HostPrice {
    /// That of a host without promises whose price lies about there.
    fn about(price: f64, cap: f64) -> HostPrice {
        HostPrice { blend: Blend::at(price), floor_share: 1.0, spent: cap, promised: 0.0 }
    }
}

/// Pages of hosts that are held in memory at the same time, half a gigabyte of them: such without bounds, and others.
const FREE_TOGETHER: usize = 1 << 25;
const TOGETHER: usize = 1 << 23;

impl<'a> Hosts<'a> {
    pub(super) const fn new(caps: &'a [f64]) -> Self {
        Hosts { caps, places: Places { bits: Vec::new(), places: Vec::new(), count: 0 }, prices: Vec::new() }
    }

    /// Does no host have a price of its own?
    pub(super) fn is_empty(&self) -> bool {
        self.prices.is_empty()
    }

    pub(super) fn are_capped(&self) -> bool {
        self.caps.iter().any(|cap| cap.is_finite())
    }

    pub(super) fn prices(&self) -> impl Iterator<Item = &HostPrice> {
        self.prices.iter()
    }

    /// A value for each host that may reach its cap, and one for all others; [`Hosts::slot`] says where.
    pub(super) fn table<T>(&self, of: impl Fn(&HostPrice) -> T, other: T) -> Vec<T> {
        self.prices.iter().map(of).chain([other]).collect()
    }

    /// The places of the hosts of some pages in a table.
    pub(super) fn slots(&self, pages: Columns<'_>, slots: &mut [u32]) {
        self.places.slots(pages, slots);
    }

    /// The place of a host in a table.
    #[inline(always)]
    pub(super) fn slot(&self, host: u32) -> usize {
        self.places.slot(host) as usize
    }

    /// Does every page of a host stay at its cap while the plan's price is below `price`? Then its pages need not be looked at.
    #[inline(always)]
    pub(super) fn is_still(&self, host: u32, price: f64) -> bool {
        self.price(host).is_some_and(|own| own.blend.price > price)
    }

    /// What is spent on the hosts that are still, and what is promised to them.
    pub(super) fn still(&self, price: f64) -> (f64, f64) {
        let still = || self.prices.iter().filter(|own| own.blend.price > price);
        (
            still().map(|own| own.spent).collect::<Sum>().value(),
            still().map(|own| own.promised).collect::<Sum>().value(),
        )
    }

    /// The price of a host, if it may reach its cap.
    #[inline(always)]
    pub(super) fn price(&self, host: u32) -> Option<&HostPrice> {
        self.prices.get(self.places.get(host)? as usize)
    }
}

/// What hosts spend at one price, as shares of their caps, and how many of their pages will be listed: of those without bounds
/// only such that are visited at that price.
///
/// Both in one whole number per host, which adds up to the same in every order: rows in the lower half; in the upper one
/// shares of the cap in units of 2^-16, rounded up.
struct Loads {
    sums: Vec<AtomicU64>,
    /// Has no page bounds of its own?
    are_free: AtomicBool,
    /// Memory that chunks before have used: fresh pages of it cost as much as summing up.
    used: Mutex<Vec<Spent>>,
}

const SHARE_UNIT: f64 = (1u64 << 16) as f64;

/// A host as full as this is not filled further, so that nothing overflows.
const FULL_ENOUGH: u64 = 1 << 60;

impl Loads {
    /// Reads all pages, at a price that the plan does not go below.
    fn of<R: Rule, P: Pages>(pages: &P, rule: R, bounds: &Bounds<'_>, lowest: f64) -> Result<Loads, P::Error> {
        let sums = bounds.hosts.caps.iter().map(|_| AtomicU64::new(0)).collect();
        let loads = Loads { sums, are_free: AtomicBool::new(true), used: Mutex::default() };
        pages.scan(&|chunk| loads.add(chunk, rule, bounds, lowest), &mut |()| {})?;
        Ok(loads)
    }

    fn add<R: Rule>(&self, chunk: Columns<'_>, rule: R, bounds: &Bounds<'_>, lowest: f64) -> Result<(), BadPage> {
        let hosts = bounds.hosts.caps.len();
        // All at once first, in vector instructions.
        if chunk.host.map_or(0, |column| column.iter().copied().max().unwrap_or(0)) as usize >= hosts {
            let unknown = (0..chunk.len()).find(|i| chunk.host_of(*i) as usize >= hosts).unwrap_or(0);
            return Err((unknown, unknown_host(chunk.host_of(unknown), hosts)));
        }
        let mut spent = self.used.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let is_free = is_free(chunk, bounds);
        self.are_free.fetch_and(is_free, Ordering::Relaxed);
        let (level, mut room) = (Level::new(), Room::new());
        for start in (0..chunk.len()).step_by(BLOCK) {
            let block = chunk.part(start, chunk.len().min(start + BLOCK));
            if is_free && dispatch!(level, _ => spent.add_free(block, rule, lowest, &mut room)) {
                continue;
            }
            for i in 0..block.len() {
                let page = block.one(i);
                if !page.is_legal() {
                    return Err((start + i, page.illness()));
                }
                let (scale, y) = rule.place(&page);
                let (low, high) = bounds.of(rule, &page, scale, y);
                let free = if rule.is_out(&page) { low } else { scale * rule.answer(lowest * y, page.shape) };
                spent.pages.push((page.host, rounded_up(page.count * page.cost * free.clamp(low, high))));
            }
        }
        spent.tell(self, bounds.hosts.caps);
        self.used.lock().unwrap_or_else(PoisonError::into_inner).push(spent);
        Ok(())
    }

    fn note(&self, caps: &[f64], (host, spent, rows): (u32, f64, u32)) {
        let sum = &self.sums[host as usize];
        // Not negative, and at most 2^24: a hundred threads that do so at the same time do no harm.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let share = ((spent / caps[host as usize]).min(256.0) * SHARE_UNIT).ceil() as u64;
        let share = if sum.load(Ordering::Relaxed) < FULL_ENOUGH { share } else { 0 };
        sum.fetch_add(share << 32 | u64::from(rows), Ordering::Relaxed);
    }

    /// The hosts that reach their caps.
    fn full(&self) -> Vec<Full> {
        let sums = (0u32..).zip(self.sums.iter().map(|sum| sum.load(Ordering::Relaxed)));
        let full = sums.map(|(host, sum)| Full {
            host,
            rows: usize::try_from(sum & u64::from(u32::MAX)).unwrap_or(usize::MAX),
            excess: (sum >> 32) as f64 / SHARE_UNIT,
        });
        full.filter(|full| full.excess >= 1.0).collect()
    }
}

/// A host that reaches its cap at the lowest price.
#[derive(Clone, Copy, Debug)]
struct Full {
    host: u32,
    rows: usize,
    /// What it would spend then over its cap, about.
    excess: f64,
}

/// What the pages of a chunk spend, by host. Sums of very many hosts do not fit into the cache, so the pages are first parted
/// by the leading bits of their hosts, then summed part by part.
#[derive(Default)]
struct Spent {
    /// Host and spending, which is rounded up so that both fit into eight bytes.
    pages: Vec<(u32, f32)>,
    parted: Vec<(u32, f32)>,
}

/// Where a block of pages is answered.
struct Room {
    xs: [f64; BLOCK],
    answers: [f64; BLOCK],
    some: [(u32, f32); BLOCK],
    lookup: Lookup,
}

impl Room {
    const fn new() -> Self {
        Room { xs: [0.0; BLOCK], answers: [0.0; BLOCK], some: [(0, 0.0); BLOCK], lookup: Lookup::new() }
    }
}

impl Spent {
    /// Hosts of a part, as a power of two.
    const PART: u32 = 12;

    /// Adds a block of pages without bounds, but for those that are given up at a price: no branch, since which cannot be foreseen.
    /// Says no where one of them does not change, does not count or is not legal.
    #[inline(always)]
    fn add_free<R: Rule>(&mut self, block: Columns<'_>, rule: R, price: f64, room: &mut Room) -> bool {
        let xs = &mut room.xs[..block.len()];
        if !(block.resistances(rule, price, 1.0, xs) & rule.holds_all(xs)) {
            return false;
        }
        rule.answers(xs, &mut room.lookup, &mut room.answers);
        let mut count = 0;
        for (i, (rate, answer)) in block.rate.iter().zip(&room.answers).enumerate() {
            let spent = answer * rule.place(&One::plain(*rate, 1.0)).0;
            room.some[count] = (block.host_of(i), rounded_up(spent));
            count += usize::from(spent > 0.0);
        }
        self.pages.extend_from_slice(&room.some[..count]);
        true
    }

    /// Adds all to the loads, and forgets them.
    fn tell(&mut self, loads: &Loads, caps: &[f64]) {
        let parts = (caps.len() >> Self::PART) + 1;
        let mut starts = vec![0usize; parts + 1];
        for (host, _) in &self.pages {
            starts[(host >> Self::PART) as usize + 1] += 1;
        }
        for part in 0..parts {
            starts[part + 1] += starts[part];
        }
        let mut next = starts.clone();
        let length = self.pages.len();
        self.parted.resize(self.parted.len().max(length), (0, 0.0));
        for page in self.pages.drain(..) {
            let place = &mut next[(page.0 >> Self::PART) as usize];
            self.parted[*place] = page;
            *place += 1;
        }
        let mut sums = vec![(0.0, 0u32); 1 << Self::PART];
        for (part, first_host) in (0..parts).zip((0u32..).step_by(1 << Self::PART)) {
            for (host, spent) in &self.parted[starts[part]..starts[part + 1]] {
                let sum = &mut sums[(host & ((1 << Self::PART) - 1)) as usize];
                sum.0 += f64::from(*spent);
                sum.1 += 1;
            }
            for (host, sum) in (first_host..).zip(&mut sums) {
                if sum.1 > 0 {
                    loads.note(caps, (host, sum.0, sum.1));
                    *sum = (0.0, 0);
                }
            }
        }
    }
}

/// In half the memory, and not less.
#[inline(always)]
fn rounded_up(spent: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounded up before")]
    let rounded = (spent * (1.0 + 1e-7)) as f32;
    rounded
}

fn unknown_host(host: u32, known: usize) -> Error {
    Error::Inconsistent(format!("host {host}, counted from 0, has no cap: there are {known}"))
}

/// What a plan spends around some price, found on the way to the prices of hosts.
pub(super) type Foreseen = Option<(Window, Gathered)>;

/// Gives each host that may reach its cap, at prices from `lowest` up, a price of its own. Where the pages of all these hosts can
/// be listed together, and have no bounds, the same scan tells what is spent at prices around the one that a sample
/// foretells for this budget.
pub(super) fn settle<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &mut Bounds<'_>,
    lowest: f64,
    budget: Option<f64>,
) -> Result<Foreseen, P::Error> {
    bounds.hosts = Hosts::new(bounds.hosts.caps);
    let loads = Loads::of(pages, rule, bounds, lowest)?;
    let most = if loads.are_free.load(Ordering::Relaxed) { FREE_TOGETHER } else { TOGETHER };
    let full = loads.full();
    let usual = Usual::of(pages, rule, lowest)?;
    let caps = bounds.hosts.caps;
    let places = Places::of(caps.len(), full.iter().map(|full| full.host));
    let is_one_scan = loads.are_free.into_inner() && full.iter().map(|full| full.rows).sum::<usize>() <= most;
    if let (Some(budget), true) = (budget, is_one_scan && !full.is_empty()) {
        // Where their prices usually are, to foretell the plan's.
        let about = |full: &Full| HostPrice::about(usual.price(full.excess), caps[full.host as usize]);
        bounds.hosts = Hosts { caps, places, prices: full.iter().map(about).collect() };
        let window = Window::around(super::first_guess(pages, rule, bounds, budget)?);
        bounds.hosts = Hosts::new(caps);
        if window.base / window.width >= lowest {
            return settle_and_foresee(pages, rule, bounds, (&full, &usual), window);
        }
    }
    let mut prices = Vec::with_capacity(full.len());
    let mut rest = full.as_slice();
    while let Some(first) = rest.first() {
        let mut together = 1;
        if first.rows > most {
            prices.push(settle_giant(pages, rule, bounds, first.host)?);
        } else {
            let mut sum = 0;
            let fits = |full: &&Full| {
                sum += full.rows;
                sum <= most
            };
            together = rest.iter().take_while(fits).count();
            prices.extend(settle_some(pages, rule, bounds, &rest[..together], &usual)?);
        }
        rest = &rest[together..];
    }
    let places = Places::of(caps.len(), full.iter().map(|full| full.host));
    bounds.hosts = Hosts { caps, places, prices };
    Ok(None)
}

/// Prices for all full hosts, whose pages have no bounds and fit into memory together, and what all pages spend in a window.
fn settle_and_foresee<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &mut Bounds<'_>,
    (full, usual): (&[Full], &Usual),
    window: Window,
) -> Result<Foreseen, P::Error> {
    let caps = bounds.hosts.caps;
    let places = Places::of(caps.len(), full.iter().map(|full| full.host));
    let sieve = Sieve { rule, bounds, places: &places, lowest: usual.lowest(), window: Some(window) };
    let (mut parts, mut gathered) = (Vec::new(), Gathered::new());
    pages.scan(&|chunk| sieve.sift(chunk), &mut |(part, others)| {
        parts.push(part);
        if let Some(others) = others {
            gathered.merge(others);
        }
    })?;
    let prices = solve_lists(rule, caps, full, usual, &parts)?;
    for (place, own) in prices.iter().enumerate().filter(|(_, own)| own.blend.price <= window.base * window.width) {
        Listed::of(&parts, place).gather(rule, own.blend, window, &mut gathered);
    }
    bounds.hosts = Hosts { caps, places, prices };
    gathered.end(bounds, window);
    Ok(Some((window, gathered)))
}

/// Prices for hosts whose pages fit into memory together: those are sorted by host, then each host is solved by itself.
fn settle_some<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &Bounds<'_>,
    hosts: &[Full],
    usual: &Usual,
) -> Result<Vec<HostPrice>, P::Error> {
    let places = Places::of(bounds.hosts.caps.len(), hosts.iter().map(|full| full.host));
    let sieve = Sieve { rule, bounds, places: &places, lowest: usual.lowest(), window: None };
    let mut parts = Vec::new();
    pages.scan(&|chunk| sieve.sift(chunk), &mut |(part, _)| parts.push(part))?;
    Ok(solve_lists(rule, bounds.hosts.caps, hosts, usual, &parts)?)
}

/// The prices of hosts whose pages were listed.
fn solve_lists<R: Rule>(
    rule: R,
    caps: &[f64],
    hosts: &[Full],
    usual: &Usual,
    parts: &[Sorted],
) -> crate::error::Result<Vec<HostPrice>> {
    let jobs = hosts.par_iter().enumerate().map(|(place, full)| {
        let cap = caps[full.host as usize];
        settle_one(rule, (full.host, cap), &Listed::of(parts, place), usual.price(full.excess))
    });
    jobs.collect()
}

/// The price at which the pages of a host spend its cap, which is about `near`.
fn settle_one<R: Rule>(
    rule: R,
    (host, cap): (u32, f64),
    pages: &Listed<'_>,
    near: f64,
) -> crate::error::Result<HostPrice> {
    let (lowest, promised) = pages.promised();
    if let Some(price) = all_is_promised(host, cap, promised, lowest)? {
        return Ok(price);
    }
    let blend = pages.price(rule, cap, near);
    // Where minimum periods allow no more, less than the cap.
    let spent = if blend.price > 0.0 { cap } else { pages.spending(rule, blend.near()).0 };
    Ok(HostPrice { blend, floor_share: 1.0, spent, promised: lowest })
}

/// The price of a host whose promises and floor leave nothing over, or an error where the promises alone exceed the cap.
fn all_is_promised(host: u32, cap: f64, promised: f64, lowest: f64) -> crate::error::Result<Option<HostPrice>> {
    if promised > cap * (1.0 + 1e-12) {
        return Err(Error::HostInfeasible { host, needed_per_second: promised, cap_per_second: cap });
    }
    let nothing_left = lowest >= cap * (1.0 - 1e-12);
    let floor_share = if lowest > cap { (cap - promised).max(0.0) / (lowest - promised) } else { 1.0 };
    let spent = lowest.min(cap);
    Ok(nothing_left.then_some(HostPrice { blend: Blend::at(f64::INFINITY), floor_share, spent, promised: spent }))
}

/// The price of one host that is too large to be held: like a plan of its own with its cap as the budget.
fn settle_giant<R: Rule, P: Pages>(pages: &P, rule: R, bounds: &Bounds<'_>, host: u32) -> Result<HostPrice, P::Error> {
    let cap = bounds.hosts.caps[host as usize];
    let only = Only { pages, host };
    let whole = Gathered::of(&only, rule, bounds, Window::around(1.0))?;
    let mut promised = Sum::default();
    let promises = |chunk: Columns<'_>| {
        Ok((0..chunk.len()).map(|i| chunk.one(i)).map(|page| page.count * page.cost * page.promise).sum())
    };
    only.scan(&promises, &mut |sum: f64| promised.add(sum))?;
    if let Some(price) = all_is_promised(host, cap, promised.value(), whole.promised.value())? {
        return Ok(price);
    }
    let guess = super::first_guess(&only, rule, bounds, cap)?;
    let (base, blend) = spend_by(rule, cap, guess, false, |window| Gathered::of(&only, rule, bounds, window))?;
    let blend = blend.times(base);
    let spent = if blend.price > 0.0 {
        cap
    } else {
        Gathered::of(&only, rule, bounds, Window::around(blend.near()))?.spent(rule)
    };
    Ok(HostPrice { blend, floor_share: 1.0, spent, promised: whole.promised.value() })
}

/// The pages of one host.
struct Only<'a, P> {
    pages: &'a P,
    host: u32,
}

impl<P: Pages> Pages for Only<'_, P> {
    type Error = P::Error;

    fn scan<T: Send>(
        &self,
        each: &(dyn Fn(Columns<'_>) -> Result<T, BadPage> + Sync),
        take: &mut dyn FnMut(T),
    ) -> Result<(), P::Error> {
        let host = self.host;
        self.pages.scan(&move |chunk| each(Chosen::of(chunk, host).columns()), take)
    }

    fn sample(&self, each: &mut dyn FnMut(Columns<'_>)) -> Result<f64, P::Error> {
        self.pages.sample(&mut |chunk| each(Chosen::of(chunk, self.host).columns()))
    }
}

/// Rows of a chunk, copied out.
struct Chosen {
    rate: Vec<f64>,
    others: [Option<Vec<f64>>; 5],
    host: Vec<u32>,
    shape: Option<Vec<Shape>>,
}

impl Chosen {
    fn of(chunk: Columns<'_>, host: u32) -> Chosen {
        let rows: Vec<usize> = (0..chunk.len()).filter(|i| chunk.host_of(*i) == host).collect();
        let pick = |column: &[f64]| rows.iter().map(|i| column[*i]).collect::<Vec<f64>>();
        let others = [chunk.weight, chunk.cost, chunk.count, chunk.min_period, chunk.max_period];
        Chosen {
            rate: pick(chunk.rate),
            others: others.map(|column| column.map(pick)),
            host: vec![host; rows.len()],
            shape: chunk.shape.map(|column| rows.iter().map(|i| column[*i]).collect()),
        }
    }

    fn columns(&self) -> Columns<'_> {
        let [weight, cost, count, min_period, max_period] = self.others.each_ref().map(Option::as_deref);
        let (host, shape) = (Some(self.host.as_slice()), self.shape.as_deref());
        Columns { rate: &self.rate, weight, cost, count, min_period, max_period, host, shape }
    }
}
