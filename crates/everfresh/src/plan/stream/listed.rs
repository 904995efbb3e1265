//! The pages of hosts that reach their caps, in lists, and the price at which such a list spends a cap.

use fearless_simd::{Level, Simd, dispatch};
use rayon::prelude::*;

use super::columns::{BLOCK, BadPage, Columns, One, Pages};
use super::gather::{Block, Bounds, Gathered, Kinked, SPENT, Window, are_given_up, guess, spending_of, start};
use super::hosts::Places;
use super::loads::{Pools, Room, Spare, check_hosts};
use super::rule::Rule;
use super::visited::Visited;
use crate::curve::Shape;
use crate::kernel::Lookup;
use crate::numeric::Sum;
use crate::plan::price::Blend;

/// A page without bounds as its host's own plan sees it: a third of the memory of a [`Kinked`], which is what sorting costs.
#[derive(Clone, Copy, Debug, Default)]
struct Free {
    mass: f64,
    y: f64,
}

/// The pages of some hosts in one chunk, sorted by host: either all without bounds, or all that may have them.
///
/// Pages without bounds that are given up at the lowest price are left out, since no host's price lies below it: as a rule that
/// is half of them.
pub(super) struct Sorted {
    free: Vec<Free>,
    /// With what the promise of each costs.
    bound: Vec<(Kinked, f64)>,
    /// Where the pages of each host start, and where the last end.
    starts: Vec<usize>,
}

/// What a scan makes of pages while hosts that reach their caps have no prices yet.
pub(super) struct Sieve<'a, R> {
    rule: R,
    bounds: &'a Bounds<'a>,
    /// The hosts whose pages are listed.
    places: &'a Places,
    /// No host's price lies below it.
    lowest: f64,
    spare: Spare<Vec<(u32, Free)>>,
}

/// What a scan makes of a chunk: the pages that are listed, what the others spend in a window of prices, whose lowest is that of the
/// sieve, and what their hosts spend at this.
pub(super) type Parts = (Sorted, Gathered, Pools);

/// Where the pages of a chunk go.
struct Parted<'a> {
    listed: &'a mut Vec<(u32, Free)>,
    gathered: &'a mut Gathered,
    pools: &'a mut Pools,
}

impl<'a, R: Rule> Sieve<'a, R> {
    pub(super) fn new(rule: R, bounds: &'a Bounds<'a>, places: &'a Places, lowest: f64) -> Self {
        Sieve { rule, bounds, places, lowest, spare: Spare::default() }
    }

    /// The pages of the listed hosts.
    pub(super) fn sift(&self, chunk: Columns<'_>) -> Sorted {
        if self.bounds.leave_free(chunk) {
            let mut listed = self.spare.take();
            dispatch!(Level::new(), simd => self.list_free(simd, chunk, &mut listed));
            return self.sorted(listed);
        }
        let on_host =
            |i: usize| Some((self.places.get(chunk.host_of(i))?, kinked(self.rule, self.bounds, &chunk.one(i))));
        let pages: Vec<(u32, (Kinked, f64))> = (0..chunk.len()).filter_map(on_host).collect();
        let (bound, starts) = by_place(&pages, self.places.len());
        Sorted { free: Vec::new(), bound, starts }
    }

    /// The pages of the listed hosts, and what the others spend; none where pages have bounds.
    pub(super) fn part(&self, chunk: Columns<'_>, window: Window) -> Result<Option<Parts>, BadPage> {
        let caps = self.bounds.hosts.caps();
        check_hosts(chunk, caps.len())?;
        if !self.bounds.leave_free(chunk) {
            return Ok(None);
        }
        let (mut listed, mut gathered, mut pools) = (self.spare.take(), Gathered::new(), Pools::new(caps.len()));
        let mut parted = Parted { listed: &mut listed, gathered: &mut gathered, pools: &mut pools };
        dispatch!(Level::new(), simd => self.part_free(simd, chunk, window, &mut parted))?;
        gathered.unite_if_crowded(chunk.len());
        Ok(Some((self.sorted(listed), gathered, pools)))
    }

    fn sorted(&self, mut listed: Vec<(u32, Free)>) -> Sorted {
        let (free, starts) = by_place(&listed, self.places.len());
        listed.clear();
        self.spare.give_back(listed);
        Sorted { free, bound: Vec::new(), starts }
    }

    /// Lists the pages that are on listed hosts and are visited at the lowest price, each with the place of its host. No branch
    /// depends on a page: which are on a full host cannot be foreseen. The pages are legal.
    #[inline(always)]
    fn list_free<S: Simd>(&self, simd: S, chunk: Columns<'_>, listed: &mut Vec<(u32, Free)>) {
        let ([mut ys, mut masses], mut some) = ([[0.0; BLOCK]; 2], [(0, Free::default()); BLOCK]);
        let (none, end) = (self.places.none(), self.rule.cliff(Shape::Exponential) / self.lowest);
        let mut visited = Visited::new();
        for start in (0..chunk.len()).step_by(BLOCK) {
            let block = chunk.part(start, chunk.len().min(start + BLOCK));
            if !visited.pack(simd, self.rule, block, end) {
                let pages = (0..block.len()).map(|i| block.one(i)).filter(|page| !self.rule.is_out(page));
                listed.extend(pages.filter_map(|page| Some((self.places.get(page.host)?, free(self.rule, &page)))));
                continue;
            }
            visited.place(self.rule, 1.0, 1.0, &mut ys, &mut masses);
            let mut count = 0;
            for ((place, y), mass) in visited.places(simd).zip(&ys).zip(&masses) {
                let slot = self.places.slot(block.host_of(place));
                some[count] = (slot, Free { mass: *mass, y: *y });
                count += usize::from(slot != none);
            }
            listed.extend_from_slice(&some[..count]);
        }
    }

    /// The same, and gathers the others that are visited at some price of the window, with what they spend at its lowest.
    #[inline(always)]
    fn part_free<S: Simd>(
        &self,
        simd: S,
        chunk: Columns<'_>,
        window: Window,
        parted: &mut Parted<'_>,
    ) -> Result<(), BadPage> {
        let ([mut ys, mut masses], mut some) = ([[0.0; BLOCK]; 2], [(0, Free::default()); BLOCK]);
        let (mut visited, mut rest_hosts) = (Visited::new(), [0; BLOCK]);
        let (none, end) = (self.places.none(), self.rule.cliff(Shape::Exponential) / self.lowest);
        let (mut rest, mut room) = (Block::new(self.rule, window), Room::new());
        for start in (0..chunk.len()).step_by(BLOCK) {
            let block = chunk.part(start, chunk.len().min(start + BLOCK));
            chunk.glance(start + BLOCK);
            if !visited.pack(simd, self.rule, block, end) {
                self.part_odd(block, window, parted).map_err(|(i, error)| (start + i, error))?;
                continue;
            }
            visited.place(self.rule, 1.0, 1.0, &mut ys, &mut masses);
            // Once is enough, and as a rule in the first block.
            let is_other = |host| self.places.get(host).is_none();
            parted.gathered.wanting = parted.gathered.wanting || are_given_up(self.rule, block, end, is_other);
            let (mut count, mut left) = (0, 0);
            for ((place, y), mass) in visited.places(simd).zip(&ys).zip(&masses) {
                let host = block.host_of(place);
                let slot = self.places.slot(host);
                some[count] = (slot, Free { mass: *mass, y: *y });
                count += usize::from(slot != none);
                (rest.xs[left], rest.masses[left], rest_hosts[left]) = (window.base * y, *mass, host);
                left += usize::from(slot == none);
            }
            parted.listed.extend_from_slice(&some[..count]);
            let left_over = (&rest_hosts[..left], &rest.masses[..left], &rest.xs[..left]);
            parted.pools.add(self.rule, left_over, window.width.recip(), &mut room);
            parted.gathered.add_block(simd, &mut rest, left);
        }
        Ok(())
    }

    /// The same for a block with a page that does not change, does not count or is not legal.
    #[inline(never)]
    fn part_odd(&self, block: Columns<'_>, window: Window, parted: &mut Parted<'_>) -> Result<(), BadPage> {
        for i in 0..block.len() {
            let page = block.one(i);
            match self.places.get(page.host) {
                Some(_) if !page.is_legal() => return Err((i, page.illness())),
                Some(slot) if !self.rule.is_out(&page) => parted.listed.push((slot, free(self.rule, &page))),
                Some(_) => {}
                None => {
                    let one = parted.gathered.add(block.part(i, i + 1), self.rule, self.bounds, window);
                    one.map_err(|(_, error)| (i, error))?;
                    parted.pools.add_one(self.rule, &page, self.lowest);
                }
            }
        }
        Ok(())
    }
}

/// A page without bounds as its host's own plan sees it.
fn free<R: Rule>(rule: R, page: &One) -> Free {
    let (mass, y) = rule.place(page);
    Free { mass, y }
}

/// Sorts by place, in the order of the pages within each, and says where each place starts and the last ends.
fn by_place<T: Copy>(pages: &[(u32, T)], places: usize) -> (Vec<T>, Vec<usize>) {
    let mut starts = vec![0; places + 1];
    for (place, _) in pages {
        starts[*place as usize + 1] += 1;
    }
    for place in 0..places {
        starts[place + 1] += starts[place];
    }
    let mut next = starts.clone();
    // Filled with the first page, for want of a better one: every place is written to.
    let mut sorted = pages.first().map_or(Vec::new(), |(_, first)| vec![*first; pages.len()]);
    for (place, page) in pages {
        let at = &mut next[*place as usize];
        sorted[*at] = *page;
        *at += 1;
    }
    (sorted, starts)
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

/// How spending falls as the price rises from the lowest one, over a sample of all pages: hosts differ less in this than in
/// their sizes, so it tells about where a host's price lies.
pub(super) struct Usual {
    /// No price lies below it.
    lowest: f64,
    start: f64,
    /// At the starting price, and at prices [`Usual::STEP`] times the one before.
    spent: Vec<f64>,
}

impl Usual {
    const STEP: f64 = 1.25;
    /// Steps at most: up to a price some 1e9 times the lowest.
    const STEPS: i32 = 96;
    /// Of the sample every so many pages are looked at, and of these at most so many.
    const EVERY: usize = 32;
    const PAGES: usize = 1 << 11;

    pub(super) fn of<R: Rule, P: Pages>(pages: &P, rule: R, lowest: f64) -> Result<Usual, P::Error> {
        let mut sample = Vec::new();
        pages.sample(&mut |chunk| {
            let some = (0..chunk.len()).step_by(Self::EVERY).map(|i| chunk.one(i));
            let legal = some.filter(|page| page.is_legal() && !rule.is_out(page));
            sample.extend(legal.map(|page| Kinked::new(&page, rule.place(&page), (0.0, f64::INFINITY))));
        })?;
        let some: Vec<Kinked> = sample.iter().step_by(sample.len().div_ceil(Self::PAGES).max(1)).copied().collect();
        let prices = (0..Self::STEPS).map(|step| lowest * Self::STEP.powi(step));
        let spent: Vec<f64> = prices.map(|price| spending_of(&some, rule, price).0).collect();
        Ok(Usual { lowest, start: lowest, spent })
    }

    pub(super) const fn lowest(&self) -> f64 {
        self.lowest
    }

    /// The same where no price lies below another one.
    pub(super) fn from(&self, lowest: f64) -> Usual {
        Usual { lowest, spent: self.spent.clone(), ..*self }
    }

    /// About the price at which a host keeps its cap that would spend `excess` times it at the starting price.
    pub(super) fn price(&self, excess: f64) -> f64 {
        let target = self.spent[0] / excess;
        let above = self.spent.iter().position(|spent| *spent <= target).unwrap_or(self.spent.len() - 1).max(1);
        let (more, less) = (self.spent[above - 1], self.spent[above]);
        let share = ((more / target).ln() / (more / less).ln()).clamp(0.0, 1.0);
        let share = if share.is_nan() { 0.0 } else { share };
        (self.start * Self::STEP.powf(above as f64 - 1.0 + share)).max(self.lowest)
    }
}

/// The pages of one host, chunk by chunk.
pub(super) struct Listed<'a> {
    free: Vec<&'a [Free]>,
    bound: Vec<&'a [(Kinked, f64)]>,
}

impl Sorted {
    pub(super) fn len(&self) -> usize {
        self.free.len() + self.bound.len()
    }
}

impl<'a> Listed<'a> {
    pub(super) fn of(parts: &'a [Sorted], place: usize) -> Self {
        let range = |part: &Sorted| part.starts[place]..part.starts[place + 1];
        let free = parts.iter().filter_map(|part| part.free.get(range(part)));
        let bound = parts.iter().filter_map(|part| part.bound.get(range(part)));
        Listed {
            free: free.filter(|pages| !pages.is_empty()).collect(),
            bound: bound.filter(|pages| !pages.is_empty()).collect(),
        }
    }

    fn len(&self) -> usize {
        let free = self.free.iter().map(|pages| pages.len());
        free.chain(self.bound.iter().map(|pages| pages.len())).sum()
    }

    /// What they spend at a price, and how much less of it per ln price. Long lists are summed in parallel, chunk by chunk.
    pub(super) fn spending<R: Rule>(&self, rule: R, price: f64) -> (f64, f64) {
        let of_free = |pages: &&[Free]| spending_of_free(pages, rule, price);
        let of_bound =
            |pages: &&[(Kinked, f64)]| pages.iter().map(|(page, _)| page.spending(rule, price)).fold((0.0, 0.0), plus);
        if self.len() < LONG {
            return self.free.iter().map(of_free).chain(self.bound.iter().map(of_bound)).fold((0.0, 0.0), plus);
        }
        let parts: Vec<(f64, f64)> =
            self.free.par_iter().map(of_free).chain(self.bound.par_iter().map(of_bound)).collect();
        parts.into_iter().fold((0.0, 0.0), plus)
    }

    /// Adds those without bounds, where no other was listed, to what is gathered around a price: with the price of their host they
    /// have a bound.
    pub(super) fn gather<R: Rule>(&self, rule: R, own: Blend, window: Window, gathered: &mut Gathered) {
        // A price below the window binds nowhere in it.
        if own.price <= window.lowest() {
            return dispatch!(Level::new(), simd => self.gather_unbound(simd, rule, window, gathered));
        }
        let shape = Shape::Exponential;
        let high = |y: f64| own.mix(|price| rule.answer(price * y, shape));
        let pages = self.free.iter().flat_map(|pages| pages.iter());
        let pages = pages.map(|page| Kinked { mass: page.mass, x: page.y, low: 0.0, high: high(page.y), shape });
        gathered.add_kinked(rule, pages, window);
    }

    #[inline(always)]
    fn gather_unbound<R: Rule, S: Simd>(&self, simd: S, rule: R, window: Window, gathered: &mut Gathered) {
        let mut block = Block::new(rule, window);
        for pages in self.free.iter().flat_map(|pages| pages.chunks(BLOCK)) {
            for (i, page) in pages.iter().enumerate() {
                (block.xs[i], block.masses[i]) = (window.base * page.y, page.mass);
            }
            gathered.add_block(simd, &mut block, pages.len());
        }
    }

    /// The sums of what their lower bounds and their promises cost.
    pub(super) fn promised(&self) -> (f64, f64) {
        let pages = || self.bound.iter().flat_map(|pages| pages.iter());
        let lowest: Sum = pages().map(|(page, _)| page.mass * page.low).collect();
        (lowest.value(), pages().map(|(_, promise)| *promise).collect::<Sum>().value())
    }

    /// The price at which they spend a cap, which is about `near`; some price below the lowest where they do not reach it there.
    pub(super) fn price<R: Rule>(&self, rule: R, cap: f64, near: f64, lowest: f64) -> Blend {
        if !self.bound.is_empty() {
            return self.price_of_bound(rule, cap);
        }
        let mut price = if near > lowest { self.rough_price(rule, cap, near).max(lowest) } else { lowest };
        let mut reach = FAR;
        for _ in 0..ROUNDS {
            let nearby = Nearby::of(&self.free, rule, price, reach);
            let blend = nearby.price(rule, cap);
            let next = blend.price.clamp(price / LEAP, price * LEAP);
            let change = (next / price - 1.0).abs();
            if change < SETTLED * reach {
                return blend;
            }
            if price <= lowest && next < lowest {
                return Blend::at(next);
            }
            reach = if change < FAR / 2.0 { CLOSE } else { FAR };
            price = next.max(lowest);
        }
        Blend::spending_within(SPENT, cap, price, |price| self.spending(rule, price))
    }

    /// What some of many pages without bounds take for their price: a round over all is worth it only near by.
    fn rough_price<R: Rule>(&self, rule: R, cap: f64, near: f64) -> f64 {
        const STEP: usize = 16;
        if self.len() < STEP * SOME {
            return near;
        }
        let some: Vec<Free> = self.free.iter().flat_map(|pages| pages.iter()).step_by(STEP).copied().collect();
        let cap = cap * some.len() as f64 / self.len() as f64;
        (0..2).fold(near, |price, _| {
            let next = Nearby::of(&[&some], rule, price, FAR).price(rule, cap).price;
            next.clamp(price / LEAP, price * LEAP)
        })
    }

    /// The same where there may be bounds.
    ///
    /// Some of many pages tell the price to some hundredths, more of them to thousandths, and from there Newton's steps over all
    /// pages need three rounds; what they do not settle is solved to the last place.
    fn price_of_bound<R: Rule>(&self, rule: R, cap: f64) -> Blend {
        let step = self.len() / SOME;
        if step < 2 {
            let all = self.every(1);
            return Blend::spending_within(SPENT, cap, start(rule, cap, &all), |price| self.spending(rule, price));
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
            Err(price) => Blend::spending_within(SPENT, cap, price, |price| self.spending(rule, price)),
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

fn spending_of_free<R: Rule>(pages: &[Free], rule: R, price: f64) -> (f64, f64) {
    pages.iter().fold((0.0, 0.0), |(spent, fall), page| {
        let (answer, falls) = rule.answer_with_fall(price * page.y, Shape::Exponential);
        (spent + page.mass * answer, fall + page.mass * falls)
    })
}

/// What pages without bounds spend at prices near one price.
///
/// All that are away from the cliff are one cubic in the change of the price: the sum of those in the table. Those near the cliff
/// are kept one by one, since their answers bend too much: with a few of them inside, the sum's own slope would say
/// little about its next value.
struct Nearby {
    price: f64,
    /// The share by which the price may change before the cubic is prolonged by a power of the price. Cubics hold for such changes
    /// twice as far from the cliff, to (change / distance)⁴.
    reach: f64,
    cubic: [f64; 4],
    steep: Vec<Free>,
}

/// While the price is known to some hundredths, and when it is known better: the fewer pages are kept one by one.
const FAR: f64 = 1.0 / 16.0;
const CLOSE: f64 = 1.0 / 256.0;

/// After a change by such a share of the reach the cubic was as good as the pages: to 1e-11 of what is spent near the cliff, which is
/// little.
const SETTLED: f64 = 1.0 / 256.0;

/// Rounds over a list, of which three are usual, before its price is searched for in small steps; and how far one leads.
const ROUNDS: u32 = 8;
const LEAP: f64 = 4.0;

impl Nearby {
    /// Long lists are summed in parallel, some chunks at a time.
    fn of<R: Rule>(lists: &[&[Free]], rule: R, price: f64, reach: f64) -> Nearby {
        let of_part = |lists: &[&[Free]]| {
            let mut part = Nearby { price, reach, cubic: [0.0; 4], steep: Vec::new() };
            dispatch!(Level::new(), _ => part.add(lists, rule));
            part
        };
        if lists.iter().map(|pages| pages.len()).sum::<usize>() < LONG {
            return of_part(lists);
        }
        let mut whole = of_part(&[]);
        for part in lists.par_chunks(8).map(of_part).collect::<Vec<Nearby>>() {
            whole.add_cubic(part.cubic, 1.0);
            whole.steep.extend(part.steep);
        }
        whole
    }

    /// Adds pages. Those that are given up for certain are left out and the steep ones kept without a branch: which they are cannot be
    /// foreseen.
    #[inline(always)]
    fn add<R: Rule>(&mut self, lists: &[&[Free]], rule: R) {
        let (cliff, reach) = (rule.cliff(Shape::Exponential), self.reach);
        let (steep_from, given_up_from) = (cliff * (1.0 - 2.0 * reach) / (1.0 + reach), cliff * (1.0 + reach));
        let (mut xs, mut masses, mut steep) = ([0.0; BLOCK], [0.0; BLOCK], [Free::default(); BLOCK]);
        let (mut lookup, mut count) = (Lookup::new(), 0);
        // The pages of a small host are few in each chunk: together they fill a block.
        for block in lists.iter().flat_map(|pages| pages.chunks(BLOCK)) {
            if count + block.len() > BLOCK {
                self.add_block(rule, &xs[..count], &masses[..count], &mut lookup);
                count = 0;
            }
            let mut steeps = 0;
            for page in block {
                let x = self.price * page.y;
                (xs[count], masses[count], steep[steeps]) = (x, page.mass, *page);
                count += usize::from(x < steep_from);
                steeps += usize::from((x >= steep_from) & (x < given_up_from));
            }
            self.steep.extend_from_slice(&steep[..steeps]);
        }
        self.add_block(rule, &xs[..count], &masses[..count], &mut lookup);
    }

    #[inline(always)]
    fn add_block<R: Rule>(&mut self, rule: R, xs: &[f64], masses: &[f64], lookup: &mut Lookup) {
        if rule.holds_all(xs) {
            self.add_cubic(rule.sum_around(xs, masses, lookup), 1.0);
        } else {
            xs.iter().zip(masses).for_each(|(x, mass)| self.add_cubic(rule.answer_around(*x), *mass));
        }
    }

    #[inline(always)]
    fn add_cubic(&mut self, cubic: [f64; 4], mass: f64) {
        self.cubic.iter_mut().zip(cubic).for_each(|(sum, part)| *sum += mass * part);
    }

    /// The price at which they would spend a cap, if these sums held there. A page at the very edge of the cliff may lead Newton's
    /// steps nowhere: then by small steps.
    fn price<R: Rule>(&self, rule: R, cap: f64) -> Blend {
        let spending = |price| self.spending(rule, price);
        match newton(cap, self.price, 8, spending) {
            Ok(price) => Blend::at(price),
            Err(near) => Blend::spending_within(SPENT, cap, near, spending),
        }
    }

    /// What they spend at a price, and how much less of it per ln price.
    fn spending<R: Rule>(&self, rule: R, price: f64) -> (f64, f64) {
        let [a, b, c, d] = self.cubic;
        let full = price / self.price - 1.0;
        let change = full.clamp(-self.reach, self.reach);
        let smooth = a + change * (b + change * (c + change * d));
        let fall = -(b + change * (2.0 * c + change * 3.0 * d)) * (1.0 + change);
        let smooth = if change == full || smooth <= 0.0 {
            (smooth, fall)
        } else {
            let beyond = ((1.0 + full) / (1.0 + change)).powf(-fall / smooth);
            (smooth * beyond, fall * beyond)
        };
        plus(smooth, spending_of_free(&self.steep, rule, price))
    }
}

/// The price at which a budget is spent, but for [`SPENT`] of it, by so many of Newton's steps; else the last one tried.
fn newton(budget: f64, start: f64, steps: u32, spending: impl Fn(f64) -> (f64, f64)) -> Result<f64, f64> {
    let mut price = start;
    for _ in 0..steps {
        let (spent, fall) = spending(price);
        let gap = (spent / budget).ln();
        if gap.abs() < SPENT {
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
