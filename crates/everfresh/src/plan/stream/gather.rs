//! One pass over the pages: what they spend at every price of a window.

use std::ops::Range;

use fearless_simd::{Level, Simd, SimdBase, SimdMask, dispatch};
use rayon::prelude::*;

use super::columns::{BLOCK, BadPage, Columns, One, Pages};
use super::histogram::{Filled, Histogram};
use super::hosts::Hosts;
use super::rule::Rule;
use super::visited::Visited;
use crate::curve::Shape;
use crate::numeric::{Evaluation, Sum, solve};
use crate::plan::price::Blend;

/// The prices that a pass answers for: from `base / width` to `base x width`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub base: f64,
    pub width: f64,
}

impl Window {
    pub(super) fn around(base: f64) -> Self {
        Window { base, width: 1.0 + 1.0 / 32.0 }
    }

    /// Where the price is known less well: more pages have to be kept one by one.
    pub(super) fn wide(base: f64) -> Self {
        Window { base, width: 1.0 + 1.0 / 8.0 }
    }

    pub(super) fn lowest(&self) -> f64 {
        self.base / self.width
    }

    pub(super) fn highest(&self) -> f64 {
        self.base * self.width
    }

    /// The x at which a page may reach the cliff within the window, or comes so near that its bucket is no cubic.
    pub(super) fn cliff<R: Rule>(&self, rule: R, shape: Shape) -> Range<f64> {
        let cliff = rule.cliff(shape);
        cliff * (1.0 - EDGE) / self.width..cliff * self.width
    }

    pub(super) fn contains(&self, factor: f64) -> bool {
        factor * self.width >= 1.0 && factor <= self.width
    }
}

/// What keeps a page's frequency from following the price.
#[derive(Clone, Debug)]
pub(super) struct Bounds<'a> {
    /// The frequency that every page with weight has at least, unless its minimum period forbids it.
    pub floor: f64,
    pub hosts: Hosts<'a>,
}

impl Bounds<'_> {
    /// Do the pages of a chunk have no bounds but the caps?
    pub(super) fn leave_free(&self, chunk: Columns<'_>) -> bool {
        chunk.is_plain() && self.floor == 0.0
    }

    /// The lowest and the highest frequency of a page, given its scale and resistance.
    #[inline(always)]
    pub(super) fn of<R: Rule>(&self, rule: R, page: &One, scale: f64, y: f64) -> (f64, f64) {
        let mut low = page.promise;
        if self.floor > 0.0 && page.weight > 0.0 {
            low = low.max(self.floor.min(page.most));
        }
        let Some(host) = self.hosts.price(page.host) else { return (low, page.most) };
        if host.floor_share < 1.0 {
            low = (page.promise + host.floor_share * (low - page.promise)).min(page.most);
        }
        let at_cap = |price: f64| (scale * rule.answer(price * y, page.shape)).clamp(low, page.most);
        (low, if rule.is_out(page) { low } else { host.blend.mix(at_cap) })
    }
}

/// A page whose answer is not smooth in the window, for one visit's worth of mass: the answer is kept within bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Kinked {
    pub mass: f64,
    pub x: f64,
    pub low: f64,
    pub high: f64,
    pub shape: Shape,
}

impl Kinked {
    /// A page of scale and resistance that costs so much and is kept between two frequencies.
    pub(super) fn new(page: &One, (scale, y): (f64, f64), (low, high): (f64, f64)) -> Kinked {
        let mass = page.count * page.cost * scale;
        Kinked { mass, x: y, low: low / scale, high: high / scale, shape: page.shape }
    }

    /// What it spends at a price, and how much less of it per ln price.
    pub(super) fn spending<R: Rule>(&self, rule: R, price: f64) -> (f64, f64) {
        let (answer, fall) = rule.answer_with_fall(price * self.x, self.shape);
        let kept = answer.clamp(self.low, self.high);
        (self.mass * kept, if kept == answer { self.mass * fall } else { 0.0 })
    }
}

/// What a list of pages spends at a price, and how much less of it per ln price. Long lists are summed in parallel, in parts
/// that do not depend on the number of threads.
pub(super) fn spending_of<R: Rule>(pages: &[Kinked], rule: R, price: f64) -> (f64, f64) {
    const PART: usize = 1 << 14;
    if pages.len() <= PART {
        return spending_of_part(pages, rule, price);
    }
    let parts: Vec<(f64, f64)> = pages.par_chunks(PART).map(|part| spending_of_part(part, rule, price)).collect();
    parts.into_iter().fold((0.0, 0.0), |(spent, fall), part| (spent + part.0, fall + part.1))
}

fn spending_of_part<R: Rule>(pages: &[Kinked], rule: R, price: f64) -> (f64, f64) {
    let (mut spent, mut falls) = (Sum::default(), 0.0);
    for page in pages {
        let (spending, fall) = page.spending(rule, price);
        spent.add(spending);
        falls += fall;
    }
    (spent.value(), falls)
}

/// Makes one of all pages that are equal.
pub(super) fn unite_equal(pages: &mut Vec<Kinked>) {
    let key = |page: &Kinked| (page.x.to_bits(), page.low.to_bits(), page.high.to_bits(), page.shape.key());
    pages.sort_by_key(key);
    pages.dedup_by(|next, kept| {
        let same = key(next) == key(kept);
        if same {
            kept.mass += next.mass;
        }
        same
    });
}

/// Pages without bounds near the cliff, in columns: a third of the memory of [`Kinked`] ones, and three times as fast to sum up, which is done
/// at every step of the search for a price.
#[derive(Default)]
struct Edges {
    masses: Vec<f64>,
    xs: Vec<f64>,
}

impl Edges {
    fn push(&mut self, mass: f64, x: f64) {
        self.masses.push(mass);
        self.xs.push(x);
    }

    fn merge(&mut self, other: &Edges) {
        self.masses.extend_from_slice(&other.masses);
        self.xs.extend_from_slice(&other.xs);
    }

    const fn len(&self) -> usize {
        self.xs.len()
    }

    /// What they spend at a price, and how much less of it per ln price: in parts that do not depend on the number of threads.
    fn spending<R: Rule>(&self, rule: R, price: f64) -> (f64, f64) {
        const PART: usize = 1 << 14;
        let of_part = |(masses, xs): (&[f64], &[f64])| {
            let (mut spent, mut falls) = (0.0, 0.0);
            for (mass, x) in masses.iter().zip(xs) {
                let (answer, fall) = rule.answer_with_fall(price * x, Shape::Exponential);
                spent += mass * answer;
                falls += mass * fall;
            }
            (spent, falls)
        };
        let parts = self.masses.par_chunks(PART).zip(self.xs.par_chunks(PART));
        let parts: Vec<(f64, f64)> = parts.map(of_part).collect();
        parts.into_iter().fold((0.0, 0.0), |(spent, fall), part| (spent + part.0, fall + part.1))
    }

    /// The same pages one by one.
    fn take(&mut self) -> impl Iterator<Item = Kinked> + use<> {
        let Edges { masses, xs } = std::mem::take(self);
        let kinked = |(mass, x)| Kinked { mass, x, low: 0.0, high: f64::INFINITY, shape: Shape::Exponential };
        masses.into_iter().zip(xs).map(kinked)
    }
}

/// About the price at which a list of pages spends a budget. Positive and finite.
pub(super) fn guess<R: Rule>(rule: R, budget: f64, pages: &[Kinked]) -> f64 {
    let start = start(rule, budget, pages);
    let price = solve(budget.recip(), start, |price| {
        let (spent, fall) = spending_of(pages, rule, price);
        Evaluation { value: spent.recip(), elasticity: fall / spent }
    });
    if price > 0.0 && price.is_finite() { price } else { start }
}

/// A first guess at the same: from some of the pages where there are many, else the mean price at which a page is visited
/// about as often as it changes.
pub(super) fn start<R: Rule>(rule: R, budget: f64, pages: &[Kinked]) -> f64 {
    if pages.len() <= 1000 {
        let mean = pages.iter().map(|page| page.x.recip()).sum::<f64>() / pages.len() as f64;
        return if mean > 0.0 && mean.is_finite() { mean } else { 1.0 };
    }
    let some: Vec<Kinked> = pages.iter().step_by(16).copied().collect();
    guess(rule, budget * some.len() as f64 / pages.len() as f64, &some)
}

/// What the pages spend in a window of prices.
///
/// Most pages follow the price smoothly there, and a [`Histogram`] of x = base price x resistance says all of them that have
/// one curve; of those with others the spending at the base price is summed up, and how it falls. Some stay at a bound: their
/// spending is a number. The few that are about to be given up, or reach a bound within the window, are kept one by one.
pub(super) struct Gathered {
    histogram: Demand,
    curved: Curved,
    kinked: Vec<Kinked>,
    /// Those without bounds.
    edges: Edges,
    /// Are there so many of these that there may be equal ones?
    is_crowded: bool,
    fixed: Sum,
    /// What the maximum periods and the floor cost.
    pub promised: Sum,
    /// Could any page be visited more often at a lower price?
    pub wanting: bool,
}

/// What pages spend that follow the base price smoothly, each by a curve of its own, and how much less of it per ln price.
///
/// Near the base their sum is a power of the price. Its error is of the second order, so that a search for the price by
/// passes squares its error with each, as Newton's does, and is done when it has come [`Curved::NEAR`].
#[derive(Clone, Copy, Debug, Default)]
struct Curved {
    spent: Sum,
    fall: Sum,
}

impl Curved {
    /// The power law holds for factors so near to 1: the rest is below (1e-5)², and most of that cancels.
    const NEAR: f64 = 1e-5;

    fn add(&mut self, (spent, fall): (f64, f64)) {
        self.spent.add(spent);
        self.fall.add(fall);
    }

    fn is_empty(&self) -> bool {
        self.spent.value() == 0.0
    }

    /// At a factor of the base price.
    fn spending(&self, factor: f64) -> (f64, f64) {
        if self.is_empty() {
            return (0.0, 0.0);
        }
        let elasticity = self.fall.value() / self.spent.value();
        let spent = self.spent.value() * factor.powf(-elasticity);
        (spent, spent * elasticity)
    }
}

/// A block of pages on its way into the histogram.
pub(super) struct Block {
    pub xs: [f64; BLOCK],
    pub masses: [f64; BLOCK],
    buckets: Buckets,
}

/// Which buckets the pages of a block belong into.
struct Buckets {
    /// From here up pages belong into none; those beyond the end of the range are given up in the whole window.
    cliff: Range<f64>,
    addresses: [u64; BLOCK],
    us: [f64; BLOCK],
}

impl Block {
    pub(super) fn new<R: Rule>(rule: R, window: Window) -> Self {
        let cliff = window.cliff(rule, Shape::Exponential);
        let [xs, masses, us] = [[0.0; BLOCK]; 3];
        Block { xs, masses, buckets: Buckets { cliff, addresses: [0; BLOCK], us } }
    }

    /// Moves those of the first pages whose hosts are not at their caps anywhere in the window to the front: so many. Lists those whose
    /// hosts are in a part of it: so many.
    #[inline(always)]
    fn set_aside(
        &mut self,
        part: Columns<'_>,
        places: impl Iterator<Item = usize>,
        bounds: &Bounds<'_>,
        roles: &[f64],
        unsure: &mut [usize; BLOCK],
    ) -> (usize, usize) {
        let (mut kept, mut listed) = (0, 0);
        for (k, place) in places.enumerate() {
            let role = roles[bounds.hosts.slot(part.host_of(place))];
            (self.xs[kept], self.masses[kept]) = (self.xs[k], self.masses[k]);
            kept += usize::from(role > 0.0);
            unsure[listed] = place;
            listed += usize::from(role < 0.0);
        }
        (kept, listed)
    }

    /// What becomes of the pages of each host, as a table of signs: 1 for those that follow the price in the whole window, 0
    /// for those that stay at a cap, -1 where it depends.
    fn roles(bounds: &Bounds<'_>, window: Window) -> Vec<f64> {
        let (low, high) = (window.lowest(), window.highest());
        let role = |price: f64| match price {
            _ if price <= low => 1.0,
            _ if price <= high => -1.0,
            _ => 0.0,
        };
        bounds.hosts.table(|own| role(own.blend.price), 1.0)
    }
}

/// A budget is spent but for such a share: far less than what the tables hold, and far more than sums of a great many pages lose,
/// so that two prices are blended only where pages are given up together.
pub(super) const SPENT: f64 = 1e-11;

/// Is there a page of a block that is given up though its host, if that is asked for, would let it be visited?
#[inline(never)]
pub(super) fn are_given_up<R: Rule>(rule: R, block: Columns<'_>, end: f64, is_asked: impl Fn(u32) -> bool) -> bool {
    (0..block.len()).any(|i| rule.place(&block.one(i)).1 >= end && is_asked(block.host_of(i)))
}

/// Buckets per binade as powers of two, elsewhere and around the cliff.
type Demand = Histogram<6, 10>;

/// Cubics on the fine stretch of the histogram are good so far from the cliff.
const EDGE: f64 = 1.0 / 64.0;

impl Gathered {
    pub(super) fn new() -> Self {
        Gathered {
            histogram: Histogram::new(),
            curved: Curved::default(),
            kinked: Vec::new(),
            edges: Edges::default(),
            is_crowded: false,
            fixed: Sum::default(),
            promised: Sum::default(),
            wanting: false,
        }
    }

    /// Reads all pages.
    pub(super) fn of<R: Rule, P: Pages>(
        pages: &P,
        rule: R,
        bounds: &Bounds<'_>,
        window: Window,
    ) -> Result<Gathered, P::Error> {
        let mut whole = Gathered::new();
        pages
            .scan(&|chunk| Gathered::of_chunk(chunk, rule, bounds, window), &mut |part: Gathered| whole.merge(part))?;
        whole.end(&bounds.hosts, window, 1.0);
        Ok(whole)
    }

    /// A share of all pages was added, but for those of hosts that stay at their caps.
    pub(super) fn end(&mut self, hosts: &Hosts<'_>, window: Window, share: f64) {
        if self.is_crowded {
            self.unite_equal();
        }
        let (still, still_promised) = hosts.still(window.highest());
        self.fixed.add(share * still);
        self.promised.add(share * still_promised);
    }

    fn of_chunk<R: Rule>(
        chunk: Columns<'_>,
        rule: R,
        bounds: &Bounds<'_>,
        window: Window,
    ) -> Result<Gathered, BadPage> {
        let mut gathered = Gathered::new();
        gathered.add_chunk(chunk, rule, bounds, window)?;
        gathered.unite_if_crowded(chunk.len());
        Ok(gathered)
    }

    /// Adds pages up to the first that is not legal.
    pub(super) fn add_chunk<R: Rule>(
        &mut self,
        chunk: Columns<'_>,
        rule: R,
        bounds: &Bounds<'_>,
        window: Window,
    ) -> Result<(), BadPage> {
        if bounds.leave_free(chunk) {
            dispatch!(Level::new(), simd => self.add_free(simd, chunk, rule, bounds, window))
        } else {
            self.add(chunk, rule, bounds, window)
        }
    }

    /// Adds pages without bounds. Blocks with a page that does not change, does not count or is not legal go the long way.
    #[inline(always)]
    fn add_free<R: Rule, S: Simd>(
        &mut self,
        simd: S,
        chunk: Columns<'_>,
        rule: R,
        bounds: &Bounds<'_>,
        window: Window,
    ) -> Result<(), BadPage> {
        let (mut block, mut visited, mut unsure) = (Block::new(rule, window), Visited::new(), [0; BLOCK]);
        let (roles, end) = (Block::roles(bounds, window), block.buckets.cliff.end / window.base);
        for start in (0..chunk.len()).step_by(BLOCK) {
            let part = chunk.part(start, chunk.len().min(start + BLOCK));
            chunk.glance(start + BLOCK);
            if !visited.pack(simd, rule, part, end) {
                self.add(part, rule, bounds, window).map_err(|(place, error)| (start + place, error))?;
                continue;
            }
            let mut kept = visited.len();
            visited.place(rule, window.base, 1.0, &mut block.xs, &mut block.masses);
            // Once is enough, and as a rule in the first block.
            self.wanting = self.wanting || are_given_up(rule, part, end, |host| roles[bounds.hosts.slot(host)] > 0.0);
            if !bounds.hosts.is_empty() {
                // Those of hosts that come to their caps within the window go the long way.
                let listed;
                (kept, listed) = block.set_aside(part, visited.places(simd), bounds, &roles, &mut unsure);
                for i in unsure[..listed].iter().copied() {
                    self.add(part.part(i, i + 1), rule, bounds, window)?;
                }
            }
            self.add_block(simd, &mut block, kept);
        }
        Ok(())
    }

    /// Adds the first pages of a block, all of which are visited at some price of the window. One loop for each step: the compiler
    /// makes vector instructions of the first.
    #[inline(always)]
    pub(super) fn add_block<S: Simd>(&mut self, simd: S, block: &mut Block, pages: usize) {
        let Block { xs, masses, buckets: Buckets { cliff, addresses, us } } = block;
        for ((x, address), u) in xs.iter().zip(addresses.iter_mut()).zip(us.iter_mut()).take(pages) {
            (*address, *u) = Demand::address(*x);
        }
        let lanes = S::f64s::LEN;
        for (i, some) in xs.chunks_exact(lanes).enumerate().take(pages.div_ceil(lanes)) {
            let some = S::f64s::from_slice(simd, some);
            let mut odd =
                (some.simd_ge(cliff.start) | some.simd_lt(Demand::LEAST) | some.simd_ge(Demand::MOST)).to_bitmask();
            // One in some dozens, as a rule.
            while odd != 0 {
                let k = i * lanes + odd.trailing_zeros() as usize;
                odd &= odd - 1;
                addresses[k] = Demand::NOWHERE;
                if k < pages {
                    self.edges.push(masses[k], xs[k]);
                }
            }
        }
        for ((address, u), mass) in addresses.iter().zip(us.iter()).zip(masses.iter()).take(pages) {
            self.histogram.add_at(*address, &Demand::moments(*mass, *u));
        }
    }

    /// Adds pages, whose x are their resistances yet.
    pub(super) fn add_kinked<R: Rule>(&mut self, rule: R, pages: impl Iterator<Item = Kinked>, window: Window) {
        let cliff = window.cliff(rule, Shape::Exponential);
        let fixed: Sum = pages.map(|page| self.add_one(rule, page, window, &cliff)).collect();
        self.fixed.add(fixed.value());
    }

    #[inline(never)]
    pub(super) fn add<R: Rule>(
        &mut self,
        chunk: Columns<'_>,
        rule: R,
        bounds: &Bounds<'_>,
        window: Window,
    ) -> Result<(), BadPage> {
        let (mut fixed, mut promised) = (0.0, 0.0);
        let cliff = window.cliff(rule, Shape::Exponential);
        for i in 0..chunk.len() {
            let page = chunk.one(i);
            if !page.is_legal() {
                return Err((i, page.illness()));
            }
            if bounds.hosts.is_still(page.host, window.highest()) {
                continue;
            }
            let cost = page.count * page.cost;
            let (scale, y) = rule.place(&page);
            let (low, high) = bounds.of(rule, &page, scale, y);
            promised += cost * low;
            if rule.is_out(&page) {
                fixed += cost * low;
                continue;
            }
            fixed += self.add_one(rule, Kinked::new(&page, (scale, y), (low, high)), window, &cliff);
        }
        self.fixed.add(fixed);
        self.promised.add(promised);
        Ok(())
    }

    /// Adds a page, whose x is its resistance yet, and returns what it spends in any case. The cliff is that of the table.
    #[inline(always)]
    fn add_one<R: Rule>(&mut self, rule: R, page: Kinked, window: Window, cliff: &Range<f64>) -> f64 {
        let Kinked { mass, x: y, low, high, shape } = page;
        let x = window.base * y;
        let mut is_smooth = true;
        if low > 0.0 || high < f64::INFINITY {
            let (most, least) = (rule.answer(x / window.width, shape), rule.answer(x * window.width, shape));
            if most <= low || least >= high {
                self.wanting |= most <= low && low < high;
                return mass * if most <= low { low } else { high };
            }
            is_smooth = least >= low && most <= high;
        }
        let page = Kinked { x, ..page };
        if !rule.is_tabled(shape) && is_smooth && !window.cliff(rule, shape).contains(&x) {
            self.curved.add(page.spending(rule, 1.0));
        } else if !is_smooth || !rule.is_tabled(shape) {
            self.kinked.push(page);
        } else if cliff.contains(&x) || !self.histogram.add(x, mass) {
            if low > 0.0 || high < f64::INFINITY { self.kinked.push(page) } else { self.edges.push(mass, x) }
        }
        0.0
    }

    pub(super) fn merge(&mut self, part: Gathered) {
        self.histogram.merge(&part.histogram);
        self.curved.add((part.curved.spent.value(), part.curved.fall.value()));
        self.kinked.extend(part.kinked);
        self.edges.merge(&part.edges);
        self.is_crowded |= part.is_crowded;
        self.fixed.add(part.fixed.value());
        self.promised.add(part.promised.value());
        self.wanting |= part.wanting;
    }

    /// A few of so many pages are not worth the sorting; blocks of equal pages are many.
    pub(super) fn unite_if_crowded(&mut self, pages: usize) {
        self.is_crowded = self.kinked.len() + self.edges.len() > pages / 16;
        if self.is_crowded {
            self.unite_equal();
        }
    }

    /// Equal pages are one: a large block of them would make every step of the search as slow as a pass.
    fn unite_equal(&mut self) {
        self.kinked.extend(self.edges.take());
        unite_equal(&mut self.kinked);
    }

    /// The price that spends a budget, as a factor of the window's base.
    pub(super) fn price<R: Rule>(&self, rule: R, budget: f64) -> Blend {
        let filled = self.histogram.filled();
        Blend::spending_within(SPENT, budget, 1.0, |factor| self.spending(&filled, rule, factor))
    }

    /// Does every page stay where it is in this window?
    pub(super) fn is_still(&self) -> bool {
        self.kinked.is_empty() && self.edges.len() == 0 && self.curved.is_empty() && self.histogram.filled().is_empty()
    }

    /// Does what was gathered tell the spending at this factor of the base price to the last digits that count?
    pub(super) fn tells(&self, window: Window, factor: f64) -> bool {
        window.contains(factor) && (self.curved.is_empty() || (factor - 1.0).abs() < Curved::NEAR)
    }

    /// What is spent at the base price.
    pub(super) fn spent<R: Rule>(&self, rule: R) -> f64 {
        self.spending(&self.histogram.filled(), rule, 1.0).0
    }

    fn spending<R: Rule>(&self, filled: &Filled, rule: R, factor: f64) -> (f64, f64) {
        let (smooth, smooth_fall) = filled.sums(|x| rule.answer_with_fall(factor * x, Shape::Exponential));
        let (curved, curved_fall) = self.curved.spending(factor);
        let (kinked, kinked_fall) = spending_of(&self.kinked, rule, factor);
        let (edges, edges_fall) = self.edges.spending(rule, factor);
        let mut spent = self.fixed;
        for part in [smooth, curved, kinked, edges] {
            spent.add(part);
        }
        (spent.value(), smooth_fall + curved_fall + kinked_fall + edges_fall)
    }
}
