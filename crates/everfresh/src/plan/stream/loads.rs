//! What hosts spend at one price: which of them reach their caps.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use fearless_simd::{Level, Simd, dispatch};

use super::columns::{BLOCK, BadPage, Columns, One, Pages};
use super::gather::Bounds;
use super::rule::Rule;
use super::visited::Visited;
use crate::curve::Shape;
use crate::error::Error;
use crate::kernel::Lookup;

/// Things that chunks before have used: fresh memory costs as much as what is done in it.
pub(super) struct Spare<T>(Mutex<Vec<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Spare(Mutex::default())
    }
}

impl<T: Default> Spare<T> {
    pub(super) fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(super) fn give_back(&self, thing: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(thing);
    }
}

/// What hosts spend at one price, as shares of their caps, and how many of their pages will be listed: of those without bounds
/// only such that are visited at that price.
///
/// Both in one whole number per host, which adds up to the same in every order: rows in the lower half; in the upper one
/// shares of the cap in units of 2^-16, rounded up.
pub(super) struct Loads {
    sums: Vec<AtomicU64>,
    /// Has no page bounds of its own?
    are_free: AtomicBool,
    spare: Spare<Spent>,
}

const SHARE_UNIT: f64 = (1u64 << 16) as f64;

/// A host as full as this is not filled further, so that nothing overflows.
const FULL_ENOUGH: u64 = 1 << 60;

/// A host that reaches its cap at the lowest price.
#[derive(Clone, Copy, Debug)]
pub(super) struct Full {
    pub host: u32,
    pub rows: usize,
    /// What it would spend then over its cap, about.
    pub excess: f64,
}

impl Loads {
    /// Those of so many hosts, of which nothing is known yet.
    pub(super) fn new(hosts: usize) -> Loads {
        let sums = (0..hosts).map(|_| AtomicU64::new(0)).collect();
        Loads { sums, are_free: AtomicBool::new(true), spare: Spare::default() }
    }

    /// Reads all pages, at a price that the plan does not go below.
    pub(super) fn of<R: Rule, P: Pages>(
        pages: &P,
        rule: R,
        bounds: &Bounds<'_>,
        lowest: f64,
    ) -> Result<Loads, P::Error> {
        let loads = Loads::new(bounds.hosts.caps().len());
        pages.scan(&|chunk| loads.add(chunk, rule, bounds, lowest), &mut |()| {})?;
        Ok(loads)
    }

    fn add<R: Rule>(&self, chunk: Columns<'_>, rule: R, bounds: &Bounds<'_>, lowest: f64) -> Result<(), BadPage> {
        let caps = bounds.hosts.caps();
        check_hosts(chunk, caps.len())?;
        let mut spent = self.spent();
        let is_free = bounds.leave_free(chunk);
        self.are_free.fetch_and(is_free, Ordering::Relaxed);
        let (level, mut room) = (Level::new(), Room::new());
        for start in (0..chunk.len()).step_by(BLOCK) {
            let block = chunk.part(start, chunk.len().min(start + BLOCK));
            if is_free && dispatch!(level, simd => spent.add_free(simd, block, rule, lowest, &mut room)) {
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
        self.take_in(spent, caps);
        Ok(())
    }

    /// Adds pages without bounds, as far as they are legal.
    pub(super) fn add_some<R: Rule>(&self, chunk: Columns<'_>, rule: R, bounds: &Bounds<'_>, price: f64) {
        let caps = bounds.hosts.caps();
        self.are_free.fetch_and(bounds.leave_free(chunk), Ordering::Relaxed);
        if check_hosts(chunk, caps.len()).is_ok() {
            let mut spent = self.spent();
            spent.add(chunk, rule, price, &mut Room::new());
            self.take_in(spent, caps);
        }
    }

    /// Has no page that was read bounds of its own?
    pub(super) fn are_free(&self) -> bool {
        self.are_free.load(Ordering::Relaxed)
    }

    /// A place for what the pages of a chunk spend.
    fn spent(&self) -> Spent {
        self.spare.take()
    }

    /// Adds what the pages of a chunk spend.
    fn take_in(&self, mut spent: Spent, caps: &[f64]) {
        spent.tell(self, caps);
        self.spare.give_back(spent);
    }

    fn note(&self, caps: &[f64], (host, spent, rows): (u32, f64, u32)) {
        let sum = &self.sums[host as usize];
        // A hundred threads that do so at the same time do no harm.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and at most 2^24")]
        let share = ((spent / caps[host as usize]).min(256.0) * SHARE_UNIT).ceil() as u64;
        let share = if sum.load(Ordering::Relaxed) < FULL_ENOUGH { share } else { 0 };
        sum.fetch_add(share << 32 | u64::from(rows), Ordering::Relaxed);
    }

    /// The hosts that spend such a share of their caps or more.
    pub(super) fn from(&self, share: f64) -> Vec<Full> {
        let sums = (0u32..).zip(self.sums.iter().map(|sum| sum.load(Ordering::Relaxed)));
        let full = sums.map(|(host, sum)| Full {
            host,
            rows: usize::try_from(sum & u64::from(u32::MAX)).unwrap_or(usize::MAX),
            excess: (sum >> 32) as f64 / SHARE_UNIT,
        });
        full.filter(|full| full.excess >= share).collect()
    }
}

/// Does every page of a chunk have a host that is known?
pub(super) fn check_hosts(chunk: Columns<'_>, known: usize) -> Result<(), BadPage> {
    // All at once first, in vector instructions.
    if (chunk.host.map_or(0, |column| column.iter().copied().max().unwrap_or(0)) as usize) < known {
        return Ok(());
    }
    let place = (0..chunk.len()).find(|i| chunk.host_of(*i) as usize >= known).unwrap_or(0);
    let host = chunk.host_of(place);
    Err((place, Error::Inconsistent(format!("host {host}, counted from 0, has no cap: there are {known}"))))
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
pub(super) struct Room {
    visited: Visited,
    xs: [f64; BLOCK],
    masses: [f64; BLOCK],
    answers: [f64; BLOCK],
    some: [(u32, f32); BLOCK],
    lookup: Lookup,
}

impl Room {
    pub(super) const fn new() -> Self {
        let [xs, masses, answers] = [[0.0; BLOCK]; 3];
        Room { visited: Visited::new(), xs, masses, answers, some: [(0, 0.0); BLOCK], lookup: Lookup::new() }
    }
}

impl Spent {
    /// Hosts of a part, as a power of two.
    const PART: u32 = 12;

    /// Adds pages without bounds, but for those that are not legal.
    fn add<R: Rule>(&mut self, chunk: Columns<'_>, rule: R, price: f64, room: &mut Room) {
        for start in (0..chunk.len()).step_by(BLOCK) {
            let block = chunk.part(start, chunk.len().min(start + BLOCK));
            if !dispatch!(Level::new(), simd => self.add_free(simd, block, rule, price, room)) {
                let legal = (0..block.len()).map(|i| block.one(i)).filter(One::is_legal);
                legal.for_each(|page| self.add_one(rule, &page, price));
            }
        }
    }

    /// Adds a block of pages without bounds, but for those that are given up at a price.
    /// Says no where one of them does not change, does not count or is not legal.
    #[inline(always)]
    fn add_free<R: Rule, S: Simd>(
        &mut self,
        simd: S,
        block: Columns<'_>,
        rule: R,
        price: f64,
        room: &mut Room,
    ) -> bool {
        let Room { visited, xs, masses, answers, some, lookup } = room;
        if !visited.pack(simd, rule, block, rule.cliff(Shape::Exponential) / price) {
            return false;
        }
        let n = visited.len();
        visited.place(rule, price, 1.0, xs, masses);
        if !rule.holds_all(&xs[..n]) {
            return false;
        }
        rule.answers(&xs[..n], lookup, answers);
        for (((some, place), mass), answer) in some.iter_mut().zip(visited.places(simd)).zip(masses).zip(answers) {
            *some = (block.host_of(place), rounded_up(*mass * *answer));
        }
        self.pages.extend_from_slice(&some[..n]);
        true
    }

    /// Adds one page without bounds at a price.
    fn add_one<R: Rule>(&mut self, rule: R, page: &One, price: f64) {
        if !rule.is_out(page) {
            self.pages.push((page.host, rounded_up(page.spending(rule, price))));
        }
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
        for part in 0..parts {
            let pages = &self.parted[starts[part]..starts[part + 1]];
            for (host, spent) in pages {
                let sum = &mut sums[(host & ((1 << Self::PART) - 1)) as usize];
                sum.0 += f64::from(*spent);
                sum.1 += 1;
            }
            // Once for each host that has any: the others are not looked at.
            for (host, _) in pages {
                let (spent, rows) = std::mem::take(&mut sums[(host & ((1 << Self::PART) - 1)) as usize]);
                if rows > 0 {
                    loads.note(caps, (*host, spent, rows));
                }
            }
        }
    }
}

/// What hosts spend at one price, many hosts in each sum: one that is below all their caps tells that none of them is full, and all sums
/// stay in the cache.
pub(super) struct Pools {
    sums: Vec<f64>,
}

impl Pools {
    /// Hosts in a pool, if these are not too many or too few.
    const TOGETHER: usize = 16;
    const FEWEST: usize = 1 << 10;
    const MOST: usize = 1 << 16;

    pub(super) fn new(hosts: usize) -> Self {
        let pools = (hosts / Self::TOGETHER).next_power_of_two().clamp(Self::FEWEST, Self::MOST);
        Pools { sums: vec![0.0; pools] }
    }

    fn pool(&self, host: u32) -> usize {
        host as usize & (self.sums.len() - 1)
    }

    /// Adds pages without bounds, by their hosts, masses and x, at a factor of the price that the x are for.
    #[inline(always)]
    pub(super) fn add<R: Rule>(
        &mut self,
        rule: R,
        (hosts, masses, xs): (&[u32], &[f64], &[f64]),
        factor: f64,
        room: &mut Room,
    ) {
        let (scaled, answers) = (&mut room.xs[..xs.len()], &mut room.answers[..xs.len()]);
        scaled.iter_mut().zip(xs).for_each(|(scaled, x)| *scaled = factor * x);
        if rule.holds_all(scaled) {
            rule.answers(scaled, &mut room.lookup, answers);
        } else {
            let all = answers.iter_mut().zip(scaled);
            all.for_each(|(answer, x)| *answer = rule.answer(*x, Shape::Exponential));
        }
        for ((host, mass), answer) in hosts.iter().zip(masses).zip(answers) {
            let pool = self.pool(*host);
            self.sums[pool] += mass * *answer;
        }
    }

    /// Adds one page without bounds at a price.
    pub(super) fn add_one<R: Rule>(&mut self, rule: R, page: &One, price: f64) {
        if !rule.is_out(page) {
            let pool = self.pool(page.host);
            self.sums[pool] += page.spending(rule, price);
        }
    }

    pub(super) fn merge(&mut self, other: &Pools) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
    }

    /// May one of the hosts that count reach its cap?
    pub(super) fn may_be_full(&self, caps: &[f64], counts: impl Fn(u32) -> bool) -> bool {
        let mut others = (0u32..).zip(caps).filter(|(host, _)| counts(*host));
        others.any(|(host, cap)| self.sums[self.pool(host)] >= cap * (1.0 - 1e-9))
    }
}

/// In half the memory, and not less.
#[inline(always)]
fn rounded_up(spent: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounded up before")]
    let rounded = (spent * (1.0 + 1e-7)) as f32;
    rounded
}
