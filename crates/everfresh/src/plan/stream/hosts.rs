//! Hosts that may not be visited more often than their cap: each that reaches it has a price of its own.
//!
//! The own price of a host is the one at which its pages spend its cap. It does not depend on the other hosts, and at a lower
//! price its pages stay where they are: a cap is an upper bound on each of its pages, and the plan is solved with it as
//! with any other bound.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use super::columns::{BLOCK, BadPage, Columns, One, Pages};
use super::gather::{Bounds, Gathered, Kinked, Window, guess, spending_of, start};
use super::rule::Rule;
use super::spend_by;
use crate::curve::Shape;
use crate::error::Error;
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
struct Places {
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

    #[inline(always)]
    fn get(&self, host: u32) -> Option<u32> {
        // Without caps this is the length of an empty list.
        let bits = *self.bits.get(host as usize / 64)?;
        if bits >> (host % 64) & 1 == 0 {
            return None;
        }
        self.places.get(host as usize).copied()
    }

    /// The pages of hosts that have a number: the number and the row.
    fn find(&self, chunk: Columns<'_>) -> Vec<(u32, u32)> {
        let mut found = vec![(0, 0); chunk.len() + 1];
        let mut count = 0;
        for (row, i) in (0u32..).zip(0..chunk.len()) {
            let slot = self.slot(chunk.host_of(i));
            found[count] = (slot, row);
            count += usize::from(slot != self.count);
        }
        found.truncate(count);
        found
    }

    /// The number of a host, or the first that none has. No branch: which pages are on a full host cannot be foreseen, and
    /// the others ask for the place of the same host.
    #[inline(always)]
    fn slot(&self, host: u32) -> u32 {
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
    pub(super) fn table(&self, of: impl Fn(&HostPrice) -> f64, other: f64) -> Vec<f64> {
        self.prices.iter().map(of).chain([other]).collect()
    }

    /// The place of a host in a table.
    #[inline(always)]
    pub(super) fn slot(&self, host: u32) -> usize {
        self.places.slot(host) as usize
    }

    /// The prices that pages answer to when the plan's is `price`, as a table; infinite where one is mixed of two.
    pub(super) fn prices_above(&self, price: f64) -> Vec<f64> {
        let of = |own: &HostPrice| match own.blend.price {
            low if low <= price => price,
            high if own.blend.is_one() => high,
            _ => f64::INFINITY,
        };
        self.table(of, price)
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

/// What hosts spend at one price, as shares of their caps, and how many rows they have.
///
/// Both in one whole number per host, which adds up to the same in every order: rows in the lower half; in the upper one
/// shares of the cap in units of 2^-16, rounded up.
struct Loads {
    sums: Vec<AtomicU64>,
    /// Has no page bounds of its own?
    are_free: AtomicBool,
}

const SHARE_UNIT: f64 = (1u64 << 16) as f64;

/// A host as full as this is not filled further, so that nothing overflows.
const FULL_ENOUGH: u64 = 1 << 60;

impl Loads {
    /// Reads all pages, at a price that the plan does not go below.
    fn of<R: Rule, P: Pages>(pages: &P, rule: R, bounds: &Bounds<'_>, lowest: f64) -> Result<Loads, P::Error> {
        let sums = bounds.hosts.caps.iter().map(|_| AtomicU64::new(0)).collect();
        let loads = Loads { sums, are_free: AtomicBool::new(true) };
        pages.scan(&|chunk| loads.add(chunk, rule, bounds, lowest), &mut |()| {})?;
        Ok(loads)
    }

    fn add<R: Rule>(&self, chunk: Columns<'_>, rule: R, bounds: &Bounds<'_>, lowest: f64) -> Result<(), BadPage> {
        let hosts = bounds.hosts.caps.len();
        if let Some(i) = (0..chunk.len()).find(|i| chunk.host_of(*i) as usize >= hosts) {
            return Err((i, unknown_host(chunk.host_of(i), hosts)));
        }
        let mut spent = Spent { pages: Vec::with_capacity(chunk.len()) };
        let is_free = is_free(chunk, bounds);
        self.are_free.fetch_and(is_free, Ordering::Relaxed);
        let mut xs = [0.0; BLOCK];
        for start in (0..chunk.len()).step_by(BLOCK) {
            let block = chunk.part(start, chunk.len().min(start + BLOCK));
            if is_free && block.resistances(rule, lowest, 1.0, &mut xs) {
                for (i, x) in xs[..block.len()].iter().enumerate() {
                    let (scale, _) = rule.place(&One::plain(block.rate[i], 1.0));
                    spent.add(block.host_of(i), scale * rule.answer(*x, Shape::Exponential));
                }
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
                spent.add(page.host, page.count * page.cost * free.clamp(low, high));
            }
        }
        spent.tell(self, bounds.hosts.caps);
        Ok(())
    }

    fn note(&self, caps: &[f64], (host, spent, rows): (u32, f64, u32)) {
        let sum = &self.sums[host as usize];
        // Not negative, and at most 2^19.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let share = ((spent / caps[host as usize]).min(8.0) * SHARE_UNIT).ceil() as u64;
        let share = if sum.load(Ordering::Relaxed) < FULL_ENOUGH { share } else { 0 };
        sum.fetch_add(share << 32 | u64::from(rows), Ordering::Relaxed);
    }

    /// The hosts that reach their caps, with their numbers of rows.
    fn full(sums: &[AtomicU64]) -> Vec<(u32, usize)> {
        let sums = (0u32..).zip(sums.iter().map(|sum| sum.load(Ordering::Relaxed)));
        let full = sums.filter(|(_, sum)| (sum >> 32) as f64 >= SHARE_UNIT);
        full.map(|(host, sum)| (host, usize::try_from(sum & u64::from(u32::MAX)).unwrap_or(usize::MAX))).collect()
    }
}

/// What the pages of a chunk spend, by host. Sums of very many hosts do not fit into the cache, so the pages are first parted
/// by the leading bits of their hosts, then summed part by part.
struct Spent {
    /// Host and spending, which is rounded up so that both fit into eight bytes.
    pages: Vec<(u32, f32)>,
}

impl Spent {
    /// Hosts of a part, as a power of two.
    const PART: u32 = 12;

    #[inline(always)]
    fn add(&mut self, host: u32, spent: f64) {
        #[allow(clippy::cast_possible_truncation)]
        let rounded = (spent * (1.0 + 1e-7)) as f32;
        self.pages.push((host, rounded));
    }

    fn tell(self, loads: &Loads, caps: &[f64]) {
        let parts = (caps.len() >> Self::PART) + 1;
        let mut starts = vec![0usize; parts + 1];
        for (host, _) in &self.pages {
            starts[(host >> Self::PART) as usize + 1] += 1;
        }
        for part in 0..parts {
            starts[part + 1] += starts[part];
        }
        let mut next = starts.clone();
        let mut parted = vec![(0u32, 0f32); self.pages.len()];
        for page in self.pages {
            let place = &mut next[(page.0 >> Self::PART) as usize];
            parted[*place] = page;
            *place += 1;
        }
        let mut sums = vec![(0.0, 0u32); 1 << Self::PART];
        for (part, first_host) in (0..parts).zip((0u32..).step_by(1 << Self::PART)) {
            for (host, spent) in &parted[starts[part]..starts[part + 1]] {
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

fn unknown_host(host: u32, known: usize) -> Error {
    Error::Inconsistent(format!("host {host}, counted from 0, has no cap: there are {known}"))
}

/// Gives each host that may reach its cap, at prices from `lowest` up, a price of its own.
pub(super) fn settle<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &mut Bounds<'_>,
    lowest: f64,
) -> Result<(), P::Error> {
    bounds.hosts = Hosts::new(bounds.hosts.caps);
    let loads = Loads::of(pages, rule, bounds, lowest)?;
    let most = if loads.are_free.into_inner() { FREE_TOGETHER } else { TOGETHER };
    let full = Loads::full(&loads.sums);
    let mut prices = Vec::with_capacity(full.len());
    let mut rest = full.as_slice();
    while let Some((first, rows)) = rest.first() {
        let mut together = 1;
        if *rows > most {
            prices.push(settle_giant(pages, rule, bounds, *first)?);
        } else {
            let mut sum = 0;
            together = rest
                .iter()
                .take_while(|(_, rows)| {
                    sum += rows;
                    sum <= most
                })
                .count();
            prices.extend(settle_some(pages, rule, bounds, &rest[..together])?);
        }
        rest = &rest[together..];
    }
    let places = Places::of(bounds.hosts.caps.len(), full.iter().map(|(host, _)| *host));
    bounds.hosts = Hosts { caps: bounds.hosts.caps, places, prices };
    Ok(())
}

/// Prices for hosts whose pages fit into memory together: those are sorted by host, then each host is solved by itself.
fn settle_some<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &Bounds<'_>,
    hosts: &[(u32, usize)],
) -> Result<Vec<HostPrice>, P::Error> {
    let places = Places::of(bounds.hosts.caps.len(), hosts.iter().map(|(host, _)| *host));
    let mut parts = Vec::new();
    let of_chunk = |chunk: Columns<'_>| Ok(Sorted::of(chunk, rule, bounds, &places, hosts.len()));
    pages.scan(&of_chunk, &mut |part: Sorted| parts.push(part))?;
    let jobs = hosts.par_iter().enumerate().map(|(place, (host, _))| {
        let listed = Listed::of(&parts, place);
        settle_one(rule, *host, bounds.hosts.caps[*host as usize], &listed)
    });
    Ok(jobs.collect::<crate::error::Result<Vec<HostPrice>>>()?)
}

/// A page without bounds as its host's own plan sees it: a third of the memory of a [`Kinked`], which is what sorting costs.
#[derive(Clone, Copy, Debug, Default)]
struct Free {
    mass: f64,
    y: f64,
}

/// The pages of some hosts in one chunk, sorted by host: either all without bounds, or all that may have them.
struct Sorted {
    free: Vec<Free>,
    /// With what the promise of each costs.
    bound: Vec<(Kinked, f64)>,
    /// Where the pages of each host start, and where the last end.
    starts: Vec<usize>,
}

impl Sorted {
    fn of<R: Rule>(chunk: Columns<'_>, rule: R, bounds: &Bounds<'_>, places: &Places, hosts: usize) -> Sorted {
        let found = places.find(chunk);
        let mut starts = vec![0; hosts + 1];
        for (place, _) in &found {
            starts[*place as usize + 1] += 1;
        }
        for place in 0..hosts {
            starts[place + 1] += starts[place];
        }
        let mut next = starts.clone();
        let ordered = found.into_iter().map(|(place, i)| {
            let at = &mut next[place as usize];
            *at += 1;
            (*at - 1, i as usize)
        });
        let (mut free, mut bound) = (Vec::new(), Vec::new());
        if is_free(chunk, bounds) {
            free = vec![Free::default(); starts[hosts]];
            for (at, i) in ordered {
                let page = One::plain(chunk.rate[i], chunk.weight.map_or(1.0, |weights| weights[i]));
                let (mass, y) = rule.place(&page);
                // One that gains nothing weighs nothing.
                free[at] = if rule.is_out(&page) { Free { mass: 0.0, y: 1.0 } } else { Free { mass, y } };
            }
        } else {
            let none = Kinked { mass: 0.0, x: 1.0, low: 0.0, high: 0.0, shape: Shape::Exponential };
            bound = vec![(none, 0.0); starts[hosts]];
            for (at, i) in ordered {
                bound[at] = kinked(rule, bounds, &chunk.one(i));
            }
        }
        Sorted { free, bound, starts }
    }
}

/// Do the pages of a chunk have no bounds but the caps?
fn is_free(chunk: Columns<'_>, bounds: &Bounds<'_>) -> bool {
    chunk.is_plain() && bounds.floor == 0.0
}

/// A page as a host's own plan sees it, and what its promise costs. A page that gains nothing has mass and bound in one.
fn kinked<R: Rule>(rule: R, bounds: &Bounds<'_>, page: &One) -> (Kinked, f64) {
    let cost = page.count * page.cost;
    let (scale, y) = rule.place(page);
    let (low, high) = bounds.of(rule, page, scale, y);
    let kinked = if rule.is_out(page) {
        Kinked { mass: cost, x: 1.0, low, high: low, shape: Shape::Exponential }
    } else {
        Kinked::new(page, (scale, y), (low, high))
    };
    (kinked, cost * page.promise)
}

/// The pages of one host, chunk by chunk.
struct Listed<'a> {
    free: Vec<&'a [Free]>,
    bound: Vec<&'a [(Kinked, f64)]>,
}

impl<'a> Listed<'a> {
    fn of(parts: &'a [Sorted], place: usize) -> Self {
        let range = |part: &Sorted| part.starts[place]..part.starts[place + 1];
        Listed {
            free: parts
                .iter()
                .filter_map(|part| part.free.get(range(part)))
                .filter(|pages| !pages.is_empty())
                .collect(),
            bound: parts
                .iter()
                .filter_map(|part| part.bound.get(range(part)))
                .filter(|pages| !pages.is_empty())
                .collect(),
        }
    }

    fn len(&self) -> usize {
        let free = self.free.iter().map(|pages| pages.len());
        free.chain(self.bound.iter().map(|pages| pages.len())).sum()
    }

    /// What they spend at a price, and how much less of it per ln price. Long lists are summed in parallel, chunk by chunk.
    fn spending<R: Rule>(&self, rule: R, price: f64) -> (f64, f64) {
        let of_free = |pages: &&[Free]| {
            pages.iter().fold((0.0, 0.0), |(spent, fall), page| {
                let (answer, falls) = rule.answer_with_fall(price * page.y, Shape::Exponential);
                (spent + page.mass * answer, fall + page.mass * falls)
            })
        };
        let of_bound =
            |pages: &&[(Kinked, f64)]| pages.iter().map(|(page, _)| page.spending(rule, price)).fold((0.0, 0.0), plus);
        if self.len() < LONG {
            return self.free.iter().map(of_free).chain(self.bound.iter().map(of_bound)).fold((0.0, 0.0), plus);
        }
        let parts: Vec<(f64, f64)> =
            self.free.par_iter().map(of_free).chain(self.bound.par_iter().map(of_bound)).collect();
        parts.into_iter().fold((0.0, 0.0), plus)
    }

    /// The sums of what their lower bounds and their promises cost.
    fn promised(&self) -> (f64, f64) {
        let pages = || self.bound.iter().flat_map(|pages| pages.iter());
        let lowest: Sum = pages().map(|(page, _)| page.mass * page.low).collect();
        (lowest.value(), pages().map(|(_, promise)| *promise).collect::<Sum>().value())
    }

    /// The price at which they spend a cap.
    ///
    /// Some of many pages tell the price to some hundredths, more of them to thousandths, and from there Newton's steps over all
    /// pages need three rounds; what they do not settle is solved to the last place.
    fn price<R: Rule>(&self, rule: R, cap: f64) -> Blend {
        let step = self.len() / SOME;
        if step < 2 {
            let all = self.every(1);
            return Blend::spending(cap, start(rule, cap, &all), |price| self.spending(rule, price));
        }
        let share = |some: &[Kinked]| cap * some.len() as f64 / self.len() as f64;
        let some = self.every(step);
        let mut price = guess(rule, share(&some), &some);
        if step > 16 {
            let more = self.every(16);
            price = newton(share(&more), price, 2, |price| spending_of(&more, rule, price)).unwrap_or_else(|near| near);
        }
        match newton(cap, price, 6, |price| self.spending(rule, price)) {
            Ok(price) => Blend::at(price),
            Err(price) => Blend::spending(cap, price, |price| self.spending(rule, price)),
        }
    }

    /// Every so many pages.
    fn every(&self, step: usize) -> Vec<Kinked> {
        let shape = Shape::Exponential;
        let free = self.free.iter().flat_map(|pages| pages.iter()).step_by(step);
        let free = free.map(|page| Kinked { mass: page.mass, x: page.y, low: 0.0, high: f64::INFINITY, shape });
        let bound = self.bound.iter().flat_map(|pages| pages.iter()).step_by(step).map(|(page, _)| *page);
        free.chain(bound).collect()
    }
}

/// The price at which a budget is spent, but for 1e-10 of it, by so many of Newton's steps; else the last one tried.
fn newton(budget: f64, start: f64, steps: u32, spending: impl Fn(f64) -> (f64, f64)) -> Result<f64, f64> {
    let mut price = start;
    for _ in 0..steps {
        let (spent, fall) = spending(price);
        let gap = (spent / budget).ln();
        if gap.abs() < 1e-10 {
            return Ok(price);
        }
        let step = gap * spent / fall;
        if !step.is_finite() || step.abs() > 1.0 {
            break;
        }
        price *= step.exp();
    }
    Err(price)
}

fn plus(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 + b.0, a.1 + b.1)
}

/// So many pages of a longer list tell about where its price lies.
const SOME: usize = 1 << 9;

/// A list so long is summed in parallel.
const LONG: usize = 1 << 16;

/// The price at which the pages of a host spend its cap.
fn settle_one<R: Rule>(rule: R, host: u32, cap: f64, pages: &Listed<'_>) -> crate::error::Result<HostPrice> {
    let (lowest, promised) = pages.promised();
    if let Some(price) = all_is_promised(host, cap, promised, lowest)? {
        return Ok(price);
    }
    let blend = pages.price(rule, cap);
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
