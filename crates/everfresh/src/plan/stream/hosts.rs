//! Hosts that may not be visited more often than their cap: each that reaches it has a price of its own.
//!
//! The own price of a host is the one at which its pages spend its cap. It does not depend on the other hosts, and at a lower
//! price its pages stay where they are: a cap is an upper bound on each of its pages, and the plan is solved with it as
//! with any other bound.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::columns::{BLOCK, BadPage, Columns, One, Pages};
use super::gather::{Bounds, Gathered, Kinked, Window, spending_of, start};
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
}

impl Places {
    /// Of so many hosts these have numbers, in their order.
    fn of(hosts: usize, some: impl Iterator<Item = u32>) -> Places {
        let mut all = Places { bits: vec![0; hosts.div_ceil(64)], places: vec![0; hosts] };
        for (place, host) in (0u32..).zip(some) {
            all.bits[host as usize / 64] |= 1 << (host % 64);
            all.places[host as usize] = place;
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

/// Pages of hosts that are held in memory at the same time.
const TOGETHER: usize = 1 << 24;

impl<'a> Hosts<'a> {
    pub(super) const fn new(caps: &'a [f64]) -> Self {
        Hosts { caps, places: Places { bits: Vec::new(), places: Vec::new() }, prices: Vec::new() }
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

    /// The price that the pages of a host answer to when the plan's is `price`, in one number; none where it is mixed of two.
    #[inline(always)]
    pub(super) fn price_or(&self, host: u32, price: f64) -> Option<f64> {
        match self.price(host) {
            None => Some(price),
            Some(own) if own.blend.price <= price => Some(price),
            Some(own) => own.blend.is_one().then_some(own.blend.price),
        }
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
struct Loads(Vec<AtomicU64>);

const SHARE_UNIT: f64 = (1u64 << 16) as f64;

/// A host as full as this is not filled further, so that nothing overflows.
const FULL_ENOUGH: u64 = 1 << 60;

impl Loads {
    /// Reads all pages, at a price that the plan does not go below.
    fn of<R: Rule, P: Pages>(pages: &P, rule: R, bounds: &Bounds<'_>, lowest: f64) -> Result<Loads, P::Error> {
        let loads = Loads(bounds.hosts.caps.iter().map(|_| AtomicU64::new(0)).collect());
        pages.scan(&|chunk| loads.add(chunk, rule, bounds, lowest), &mut |()| {})?;
        Ok(loads)
    }

    fn add<R: Rule>(&self, chunk: Columns<'_>, rule: R, bounds: &Bounds<'_>, lowest: f64) -> Result<(), BadPage> {
        let hosts = bounds.hosts.caps.len();
        if let Some(i) = (0..chunk.len()).find(|i| chunk.host_of(*i) as usize >= hosts) {
            return Err((i, unknown_host(chunk.host_of(i), hosts)));
        }
        let mut spent = Spent { pages: Vec::with_capacity(chunk.len()) };
        let is_free = chunk.is_plain() && bounds.floor == 0.0;
        let mut xs = [0.0; BLOCK];
        for start in (0..chunk.len()).step_by(BLOCK) {
            let block = chunk.part(start, chunk.len().min(start + BLOCK));
            if is_free && block.resistances(rule, lowest, 1.0, &mut xs) {
                for (i, x) in xs[..block.len()].iter().enumerate() {
                    let (scale, _) = rule.place(&One::plain(block.rate[i], 1.0));
                    spent.pages.push((block.host_of(i), scale * rule.answer(*x, Shape::Exponential)));
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
                spent.pages.push((page.host, page.count * page.cost * free.clamp(low, high)));
            }
        }
        spent.tell(self, bounds.hosts.caps);
        Ok(())
    }

    fn note(&self, caps: &[f64], (host, spent, rows): (u32, f64, u32)) {
        let sum = &self.0[host as usize];
        // Not negative, and at most 2^19.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let share = ((spent / caps[host as usize]).min(8.0) * SHARE_UNIT).ceil() as u64;
        let share = if sum.load(Ordering::Relaxed) < FULL_ENOUGH { share } else { 0 };
        sum.fetch_add(share << 32 | u64::from(rows), Ordering::Relaxed);
    }

    /// The hosts that reach their caps, with their numbers of rows.
    fn full(&self) -> Vec<(u32, usize)> {
        let sums = (0u32..).zip(self.0.iter().map(|sum| sum.load(Ordering::Relaxed)));
        let full = sums.filter(|(_, sum)| (sum >> 32) as f64 >= SHARE_UNIT);
        full.map(|(host, sum)| (host, usize::try_from(sum & u64::from(u32::MAX)).unwrap_or(usize::MAX))).collect()
    }
}

/// What the pages of a chunk spend, by host. Sums of very many hosts do not fit into the cache, so the pages are first parted
/// by the leading bits of their hosts, then summed part by part.
struct Spent {
    /// Host and spending.
    pages: Vec<(u32, f64)>,
}

impl Spent {
    /// Hosts of a part, as a power of two.
    const PART: u32 = 12;

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
        let mut parted = vec![(0u32, 0.0); self.pages.len()];
        for page in self.pages {
            let place = &mut next[(page.0 >> Self::PART) as usize];
            parted[*place] = page;
            *place += 1;
        }
        let mut sums = vec![(0.0, 0u32); 1 << Self::PART];
        for (part, first_host) in (0..parts).zip((0u32..).step_by(1 << Self::PART)) {
            for (host, spent) in &parted[starts[part]..starts[part + 1]] {
                let sum = &mut sums[(host & ((1 << Self::PART) - 1)) as usize];
                sum.0 += spent;
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
    let full = Loads::of(pages, rule, bounds, lowest)?.full();
    let mut prices = Vec::with_capacity(full.len());
    let mut rest = full.as_slice();
    while let Some((first, rows)) = rest.first() {
        let mut together = 1;
        if *rows > TOGETHER {
            prices.push(settle_giant(pages, rule, bounds, *first)?);
        } else {
            let mut sum = 0;
            together = rest
                .iter()
                .take_while(|(_, rows)| {
                    sum += rows;
                    sum <= TOGETHER
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

/// Prices for hosts whose pages fit into memory together: those are gathered by host, then each host is solved by itself.
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
    let jobs = hosts.par_iter().enumerate().map(|(place, (host, rows))| {
        let mut list = Vec::with_capacity(*rows);
        let mut promised = Sum::default();
        for part in &parts {
            list.extend_from_slice(&part.pages[part.starts[place]..part.starts[place + 1]]);
            part.promises.iter().filter(|promise| promise.0 == place).for_each(|promise| promised.add(promise.1));
        }
        settle_one(rule, *host, bounds.hosts.caps[*host as usize], &list, promised.value())
    });
    Ok(jobs.collect::<crate::error::Result<Vec<HostPrice>>>()?)
}

/// The pages of some hosts in one chunk, sorted by host.
struct Sorted {
    pages: Vec<Kinked>,
    /// Where the pages of each host start, and where the last end.
    starts: Vec<usize>,
    /// What is promised to each host, where anything is.
    promises: Vec<(usize, f64)>,
}

impl Sorted {
    fn of<R: Rule>(chunk: Columns<'_>, rule: R, bounds: &Bounds<'_>, places: &Places, hosts: usize) -> Sorted {
        let found: Vec<(u32, usize)> =
            (0..chunk.len()).filter_map(|i| Some((places.get(chunk.host_of(i))?, i))).collect();
        let mut starts = vec![0; hosts + 1];
        for (place, _) in &found {
            starts[*place as usize + 1] += 1;
        }
        for place in 0..hosts {
            starts[place + 1] += starts[place];
        }
        let mut next = starts.clone();
        let mut promised = vec![0.0; hosts];
        let none = Kinked { mass: 0.0, x: 1.0, low: 0.0, high: 0.0, shape: Shape::Exponential };
        let mut pages = vec![none; found.len()];
        for (place, i) in found {
            let (kinked, promise) = kinked(rule, bounds, &chunk.one(i));
            pages[next[place as usize]] = kinked;
            next[place as usize] += 1;
            promised[place as usize] += promise;
        }
        let promises = promised.into_iter().enumerate().filter(|(_, promise)| *promise > 0.0).collect();
        Sorted { pages, starts, promises }
    }
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

/// A list so long is gathered in a histogram.
const MANY: usize = 1 << 14;

/// The price at which the pages of a host spend its cap.
fn settle_one<R: Rule>(
    rule: R,
    host: u32,
    cap: f64,
    pages: &[Kinked],
    promised: f64,
) -> crate::error::Result<HostPrice> {
    let lowest = pages.iter().map(|page| page.mass * page.low).collect::<Sum>().value();
    if let Some(price) = all_is_promised(host, cap, promised, lowest)? {
        return Ok(price);
    }
    let start = start(rule, cap, pages);
    let blend = if pages.len() > MANY {
        let (base, blend) =
            spend_by(rule, cap, start, false, |window| Ok::<_, Error>(Gathered::of_list(pages, rule, window)))?;
        blend.times(base)
    } else {
        Blend::spending(cap, start, |price| spending_of(pages, rule, price))
    };
    // Where minimum periods allow no more, less than the cap.
    let spent = if blend.price > 0.0 { cap } else { spending_of(pages, rule, blend.near()).0 };
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
