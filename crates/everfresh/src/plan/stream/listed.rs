//! The pages of hosts that reach their caps, in lists, and the price at which such a list spends a cap.

use fearless_simd::{Level, dispatch};
use rayon::prelude::*;

use super::columns::{BLOCK, BadPage, Columns, One, Pages};
use super::gather::{Block, Bounds, Gathered, Kinked, Window, guess, spending_of, start};
use super::hosts::Places;
use super::rule::Rule;
use crate::curve::Shape;
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
    pub rule: R,
    pub bounds: &'a Bounds<'a>,
    /// The hosts whose pages are listed.
    pub places: &'a Places,
    /// No host's price lies below it.
    pub lowest: f64,
    /// Where the plan's price may lie: the pages of all other hosts, if they have no bounds, are gathered around it in the same scan.
    pub window: Option<Window>,
}

impl<R: Rule> Sieve<'_, R> {
    /// The pages of the listed hosts, and what the others spend, if that was asked for.
    pub(super) fn sift(&self, chunk: Columns<'_>) -> Result<(Sorted, Option<Gathered>), BadPage> {
        let hosts = self.places.len();
        if is_free(chunk, self.bounds) {
            let mut others = self.window.map(|_| Gathered::new());
            let found = dispatch!(Level::new(), _ => self.free_pages(chunk, others.as_mut()))?;
            let (free, starts) = by_place(&found, hosts);
            if let Some(others) = &mut others {
                others.unite_if_crowded(chunk.len());
            }
            return Ok((Sorted { free, bound: Vec::new(), starts }, others));
        }
        let on_host =
            |i: usize| Some((self.places.get(chunk.host_of(i))?, kinked(self.rule, self.bounds, &chunk.one(i))));
        let pages: Vec<(u32, (Kinked, f64))> = (0..chunk.len()).filter_map(on_host).collect();
        let (bound, starts) = by_place(&pages, hosts);
        Ok((Sorted { free: Vec::new(), bound, starts }, None))
    }

    /// The pages of a chunk that are on listed hosts and are visited at the lowest price, each with the place of its host. The
    /// others are gathered. No branch depends on a page: which are on a full host cannot be foreseen.
    #[inline(always)]
    fn free_pages(&self, chunk: Columns<'_>, mut others: Option<&mut Gathered>) -> Result<Vec<(u32, Free)>, BadPage> {
        let mut found = Vec::new();
        let (mut ys, mut slots, mut some) = ([0.0; BLOCK], [0; BLOCK], [(0, Free::default()); BLOCK]);
        let (none, cliff) = (self.places.none(), self.rule.cliff(Shape::Exponential));
        let window = self.window.unwrap_or(Window::around(1.0));
        let mut rest = Block::new(self.rule, window);
        for start in (0..chunk.len()).step_by(BLOCK) {
            let block = chunk.part(start, chunk.len().min(start + BLOCK));
            if !block.resistances(self.rule, 1.0, 1.0, &mut ys) {
                self.odd_pages(block, &mut found, others.as_deref_mut()).map_err(|(i, error)| (start + i, error))?;
                continue;
            }
            self.places.slots(block, &mut slots);
            let (mut count, mut left) = (0, 0);
            for ((slot, y), rate) in slots.iter().zip(&ys).zip(block.rate) {
                let mass = self.rule.place(&One::plain(*rate, 1.0)).0;
                some[count] = (*slot, Free { mass, y: *y });
                count += usize::from((*slot != none) & (self.lowest * y < cliff));
                rest.xs[left] = window.base * y;
                rest.masses[left] = mass;
                left += usize::from(*slot == none);
            }
            found.extend_from_slice(&some[..count]);
            if let Some(others) = &mut others {
                others.add_block(&mut rest, left);
            }
        }
        Ok(found)
    }

    /// The same for a block with a page that does not change, does not count or is not legal.
    #[inline(never)]
    fn odd_pages(
        &self,
        block: Columns<'_>,
        found: &mut Vec<(u32, Free)>,
        mut others: Option<&mut Gathered>,
    ) -> Result<(), BadPage> {
        for i in 0..block.len() {
            let page = block.one(i);
            match (self.places.get(page.host), &mut others) {
                (Some(slot), _) if !self.rule.is_out(&page) => {
                    let (mass, y) = self.rule.place(&page);
                    found.push((slot, Free { mass, y }));
                }
                (None, Some(others)) => {
                    let window = self.window.unwrap_or(Window::around(1.0));
                    let one = others.add(block.part(i, i + 1), self.rule, self.bounds, window);
                    one.map_err(|(_, error)| (i, error))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Do the pages of a chunk have no bounds but the caps?
pub(super) fn is_free(chunk: Columns<'_>, bounds: &Bounds<'_>) -> bool {
    chunk.is_plain() && bounds.floor == 0.0
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
    lowest: f64,
    /// At the lowest price, and at prices [`Usual::STEP`] times the one before.
    spent: Vec<f64>,
}

impl Usual {
    const STEP: f64 = 1.25;
    /// Steps at most: up to a price some 1e9 times the lowest.
    const STEPS: i32 = 96;
    /// Pages of the sample that are looked at.
    const PAGES: usize = 1 << 13;

    pub(super) fn of<R: Rule, P: Pages>(pages: &P, rule: R, lowest: f64) -> Result<Usual, P::Error> {
        let mut sample = Vec::new();
        pages.sample(&mut |chunk| {
            let legal = (0..chunk.len()).map(|i| chunk.one(i)).filter(|page| page.is_legal() && !rule.is_out(page));
            sample.extend(legal.map(|page| Kinked::new(&page, rule.place(&page), (0.0, f64::INFINITY))));
        })?;
        let some: Vec<Kinked> = sample.iter().step_by(sample.len().div_ceil(Self::PAGES).max(1)).copied().collect();
        let prices = (0..Self::STEPS).map(|step| lowest * Self::STEP.powi(step));
        let spent: Vec<f64> = prices.map(|price| spending_of(&some, rule, price).0).collect();
        Ok(Usual { lowest, spent })
    }

    pub(super) const fn lowest(&self) -> f64 {
        self.lowest
    }

    /// About the price at which a host keeps its cap that would spend `excess` times it at the lowest price.
    pub(super) fn price(&self, excess: f64) -> f64 {
        let target = self.spent[0] / excess;
        let above = self.spent.iter().position(|spent| *spent <= target).unwrap_or(self.spent.len() - 1).max(1);
        let (more, less) = (self.spent[above - 1], self.spent[above]);
        let share = ((more / target).ln() / (more / less).ln()).clamp(0.0, 1.0);
        let share = if share.is_nan() { 0.0 } else { share };
        self.lowest * Self::STEP.powf(above as f64 - 1.0 + share)
    }
}

/// The pages of one host, chunk by chunk.
pub(super) struct Listed<'a> {
    free: Vec<&'a [Free]>,
    bound: Vec<&'a [(Kinked, f64)]>,
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
        let shape = Shape::Exponential;
        // A price below the window binds nowhere in it.
        let is_bound = own.price > window.base / window.width;
        let high = |y: f64| if is_bound { own.mix(|price| rule.answer(price * y, shape)) } else { f64::INFINITY };
        let pages = self.free.iter().flat_map(|pages| pages.iter());
        let pages = pages.map(|page| Kinked { mass: page.mass, x: page.y, low: 0.0, high: high(page.y), shape });
        gathered.add_kinked(rule, pages, window);
    }

    /// The sums of what their lower bounds and their promises cost.
    pub(super) fn promised(&self) -> (f64, f64) {
        let pages = || self.bound.iter().flat_map(|pages| pages.iter());
        let lowest: Sum = pages().map(|(page, _)| page.mass * page.low).collect();
        (lowest.value(), pages().map(|(_, promise)| *promise).collect::<Sum>().value())
    }

    /// The price at which they spend a cap, which is about `near`.
    pub(super) fn price<R: Rule>(&self, rule: R, cap: f64, near: f64) -> Blend {
        if !self.bound.is_empty() {
            return self.price_of_bound(rule, cap);
        }
        let mut price = near;
        for _ in 0..ROUNDS {
            let nearby = Nearby::of(&self.free, rule, price);
            let blend = Blend::spending(cap, price, |price| nearby.spending(rule, price));
            let next = blend.near();
            if (next / price - 1.0).abs() < SETTLED {
                return blend;
            }
            price = if next > 0.0 { next.clamp(price / LEAP, price * LEAP) } else { price / LEAP };
        }
        Blend::spending(cap, price, |price| self.spending(rule, price))
    }

    /// The same where there may be bounds.
    ///
    /// Some of many pages tell the price to some hundredths, more of them to thousandths, and from there Newton's steps over all
    /// pages need three rounds; what they do not settle is solved to the last place.
    fn price_of_bound<R: Rule>(&self, rule: R, cap: f64) -> Blend {
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
    cubic: [f64; 4],
    steep: Vec<Free>,
}

/// The share by which the price may change before the cubic is prolonged by a power of the price.
const REACH: f64 = 1.0 / 16.0;

/// Cubics hold for such changes so far from the cliff, to (change / distance)⁴.
const DISTANCE: f64 = 1.0 / 8.0;

/// After a change so small the cubic was as good as the pages: to 1e-15 of what is spent near the cliff.
const SETTLED: f64 = 2e-5;

/// Rounds over a list, of which three are usual, before its price is searched for in small steps; and how far one leads.
const ROUNDS: u32 = 8;
const LEAP: f64 = 4.0;

impl Nearby {
    /// Long lists are summed in parallel, chunk by chunk.
    fn of<R: Rule>(lists: &[&[Free]], rule: R, price: f64) -> Nearby {
        let mut whole = Nearby { price, cubic: [0.0; 4], steep: Vec::new() };
        if lists.iter().map(|pages| pages.len()).sum::<usize>() < LONG {
            for pages in lists {
                whole.add(pages, rule);
            }
            return whole;
        }
        let of_part = |pages: &&[Free]| {
            let mut part = Nearby { price, cubic: [0.0; 4], steep: Vec::new() };
            part.add(pages, rule);
            part
        };
        for part in lists.par_iter().map(of_part).collect::<Vec<Nearby>>() {
            whole.cubic.iter_mut().zip(part.cubic).for_each(|(sum, part)| *sum += part);
            whole.steep.extend(part.steep);
        }
        whole
    }

    /// Adds pages: first those that are given up for certain are left out, without a branch, since half of them may be.
    fn add<R: Rule>(&mut self, pages: &[Free], rule: R) {
        let cliff = rule.cliff(Shape::Exponential);
        let (steep_from, given_up_from) = (cliff * (1.0 - DISTANCE) / (1.0 + REACH), cliff * (1.0 + REACH));
        let mut kept = [Free::default(); BLOCK];
        for block in pages.chunks(BLOCK) {
            let mut count = 0;
            for page in block {
                kept[count] = *page;
                count += usize::from(self.price * page.y < given_up_from);
            }
            for page in &kept[..count] {
                let x = self.price * page.y;
                if x >= steep_from {
                    self.steep.push(*page);
                    continue;
                }
                for (sum, part) in self.cubic.iter_mut().zip(rule.answer_around(x)) {
                    *sum += page.mass * part;
                }
            }
        }
    }

    /// What they spend at a price, and how much less of it per ln price.
    fn spending<R: Rule>(&self, rule: R, price: f64) -> (f64, f64) {
        let [a, b, c, d] = self.cubic;
        let full = price / self.price - 1.0;
        let change = full.clamp(-REACH, REACH);
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
