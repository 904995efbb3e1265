//! Hosts that may not be visited more often than their cap: each that reaches it has a price of its own.
//!
//! The own price of a host is the one at which its pages spend its cap. It does not depend on the other hosts, and at a lower
//! price its pages stay where they are: a cap is an upper bound on each of its pages, and the plan is solved with it as
//! with any other bound.

use rayon::prelude::*;

use super::columns::{BadPage, Columns, Pages};
use super::gather::{Bounds, Gathered, Window};
use super::listed::{Listed, Sieve, Sorted, Usual};
use super::loads::{Full, Loads};
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

/// A number for some of very many hosts.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    places: Vec<u32>,
    count: u32,
}

impl Places {
    /// Of so many hosts these have numbers, in their order.
    pub(super) fn of(hosts: usize, some: impl Iterator<Item = u32> + Clone) -> Places {
        let count = (0u32..).zip(some.clone()).map(|(place, _)| place + 1).last().unwrap_or(0);
        let mut places = vec![count; hosts];
        for (place, host) in (0u32..).zip(some) {
            places[host as usize] = place;
        }
        Places { places, count }
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
        Some(self.slot(host)).filter(|slot| *slot != self.count)
    }

    /// The number of a host, or the first that none has. No branch: which pages are on a full host cannot be foreseen.
    #[inline(always)]
    pub(super) fn slot(&self, host: u32) -> u32 {
        // Without caps the list is empty.
        self.places.get(host as usize).copied().unwrap_or(self.count)
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
    pub(super) fn about(price: f64, cap: f64) -> HostPrice {
        HostPrice { blend: Blend::at(price), floor_share: 1.0, spent: cap, promised: 0.0 }
    }
}

/// Pages of hosts that are held in memory at the same time, half a gigabyte of them: such without bounds, and others.
/// Fewer in tests, which then meet hosts that are too large.
pub(super) const FREE_TOGETHER: usize = if cfg!(test) { 128 } else { 1 << 25 };
const TOGETHER: usize = if cfg!(test) { 64 } else { 1 << 23 };

impl<'a> Hosts<'a> {
    pub(super) const fn new(caps: &'a [f64]) -> Self {
        Hosts { caps, places: Places { places: Vec::new(), count: 0 }, prices: Vec::new() }
    }

    /// The same caps, and prices for some hosts.
    pub(super) const fn with(caps: &'a [f64], places: Places, prices: Vec<HostPrice>) -> Self {
        Hosts { caps, places, prices }
    }

    /// Cost per second, for each host; infinite for none.
    pub(super) const fn caps(&self) -> &'a [f64] {
        self.caps
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

/// Gives each host that may reach its cap, at prices from `lowest` up, a price of its own.
pub(super) fn settle<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &mut Bounds<'_>,
    lowest: f64,
) -> Result<(), P::Error> {
    let caps = bounds.hosts.caps;
    bounds.hosts = Hosts::new(caps);
    let loads = Loads::of(pages, rule, bounds, lowest)?;
    let most = if loads.are_free() { FREE_TOGETHER } else { TOGETHER };
    let full = loads.from(1.0);
    let usual = Usual::of(pages, rule, lowest)?;
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
    Ok(())
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
    let sieve = Sieve::new(rule, bounds, &places, usual.lowest());
    let mut parts = Vec::new();
    pages.scan(&|chunk| Ok(sieve.sift(chunk)), &mut |part| parts.push(part))?;
    Ok(solve_lists(rule, bounds.hosts.caps, hosts, usual, &parts)?)
}

/// The prices of hosts whose pages were listed.
pub(super) fn solve_lists<R: Rule>(
    rule: R,
    caps: &[f64],
    hosts: &[Full],
    usual: &Usual,
    parts: &[Sorted],
) -> crate::error::Result<Vec<HostPrice>> {
    let jobs = hosts.par_iter().enumerate().map(|(place, full)| {
        let cap = caps[full.host as usize];
        settle_one(rule, (full.host, cap), &Listed::of(parts, place), usual, full.excess)
    });
    jobs.collect()
}

/// The price at which the pages of a host spend its cap, which at the lowest price they would exceed so many times.
fn settle_one<R: Rule>(
    rule: R,
    (host, cap): (u32, f64),
    pages: &Listed<'_>,
    usual: &Usual,
    excess: f64,
) -> crate::error::Result<HostPrice> {
    let (lowest, promised) = pages.promised();
    if let Some(price) = all_is_promised(host, cap, promised, lowest)? {
        return Ok(price);
    }
    let blend = pages.price(rule, cap, usual.price(excess), usual.lowest());
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
    let (base, blend) =
        spend_by(rule, cap, Window::around(guess), false, |window| Gathered::of(&only, rule, bounds, window))?;
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

#[cfg(test)]
mod tests {
    use crate::plan::stream::{Columns, Limits, Outcome, plan};
    use crate::plan::{Price, Terms};
    use crate::units::Unit;

    fn planned(columns: Columns<'_>, budget: f64, caps: Vec<f64>) -> (Outcome, Vec<f64>) {
        let terms = Terms::new(Price::for_budget(budget, Unit::Second).unwrap());
        let mut frequencies = vec![0.0; columns.len()];
        let outcome = plan(columns, terms, &Limits { floor: 0.0, caps }, &mut frequencies).unwrap();
        (outcome, frequencies)
    }

    /// A full host is planned as if its cap were a budget of its own, also where its pages do not fit into memory.
    #[test]
    fn a_giant_host_spends_its_cap_as_a_plan_of_its_own() {
        let n = 400_u32;
        let rates: Vec<f64> = (1..=n).map(|i| f64::from(i * 7919 % 1000 + 1) / 100.0).collect();
        let hosts: Vec<u32> = (0..n).map(|i| i % 2).collect();
        let promises: Vec<f64> = (0..n).map(|i| if i % 10 == 0 { 20.0 } else { f64::INFINITY }).collect();
        let even = |column: &[f64]| column.iter().step_by(2).copied().collect::<Vec<f64>>();
        let (own_rates, own_promises) = (even(&rates), even(&promises));
        for with_promises in [false, true] {
            let max_period = |column| Some(column).filter(|_| with_promises);
            let own = Columns { max_period: max_period(&own_promises[..]), ..Columns::new(&own_rates) };
            let (_, own) = planned(own, 10.0, Vec::new());
            let all =
                Columns { host: Some(hosts.as_slice()), max_period: max_period(&promises[..]), ..Columns::new(&rates) };
            let (outcome, frequencies) = planned(all, 200.0, vec![10.0, f64::INFINITY]);
            assert!((outcome.spent / 200.0 - 1.0).abs() < 1e-9, "{outcome:?}");
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-7 * b;
            assert!(even(&frequencies).iter().zip(&own).all(near), "{with_promises}");
        }
    }
}
