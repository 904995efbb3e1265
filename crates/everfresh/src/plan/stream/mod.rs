//! The optimal plan for any number of pages, in two passes over them.
//!
//! At price T a page is visited with `f = λ / u^-1(T y)`, `y = c λ^p / w`: the whole demand depends on the pages only through
//! the distribution of y, weighted with `c λ`. So
//!
//! 1. a sample of the pages gives a first guess of the price;
//! 2. one pass gathers the distribution around the guess, in a histogram of log y (`histogram.rs`) and a short list of the
//!    pages that are about to be given up or reach a bound (`gather.rs`): the price is a root of a function of one
//!    number, found in milliseconds however many pages there are, and spends the budget to 1e-9 or better;
//! 3. one pass applies the price.
//!
//! Where the guess was bad, step 2 is repeated from what it found. Everything that keeps a page from following the price
//! (minimum and maximum periods, the floor, the cap of its host) is a bound on its frequency, inside the optimum; hosts at
//! their caps have prices of their own (`hosts.rs`).
//!
//! Chunks are added up in their order: the result does not depend on the number of threads. It equals
//! [`Plan`](super::Plan) to nine digits, which is what the tables of [`Reciprocal`](crate::kernel::Reciprocal) hold.

mod columns;
mod even;
mod foresee;
mod gather;
mod histogram;
mod hosts;
mod listed;
mod loads;
mod outlook;
mod rule;
mod spread;
mod tally;
mod visited;

pub use columns::{BadPage, Columns, Pages};
pub use outlook::{Outlook, Point};
pub use spread::Spread;
pub use tally::Tally;
use tally::{Fates, Part};

use super::{Reason, Terms};
use crate::curve::Shape;
use crate::error::{Error, Result, magnitude, within};
use crate::kernel::Lookup;
use crate::numeric::{Sum, lanes};
use crate::order::Objective;
use crate::plan::price::{Blend, Funding};
use columns::{BLOCK, One, refuse_shapes};
use fearless_simd::{Level, Simd, dispatch};
use gather::{Bounds, Gathered, Kinked, Window};
use hosts::{HostPrice, Hosts};
use rule::{Rule, with_rule};
use std::ops::Bound;
use visited::Visited;

/// Pages that are answered together: their frequencies stay in the cache.
const STRETCH: usize = 1 << 10;

/// What limits a plan besides its budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The share of the budget that is spread evenly over all pages with weight, static ones too, as a frequency that none
    /// falls below: a wrong rate never starves a page. From 0 to 1; needs a budget.
    pub floor: f64,
    /// What the pages of each host may cost per second; infinite for any. [`Columns::host`] counts in this list.
    pub caps: Vec<f64>,
}

/// A plan for pages that are not held: what it takes to tell each page its frequency.
#[derive(Clone, Debug)]
pub struct Solution<'a> {
    terms: Terms,
    bounds: Bounds<'a>,
    /// The price is `base` times what is blended: so the last places are those that were solved for.
    base: f64,
    blend: Blend,
    /// The prices that pages without bounds answer to, by host, each as a base and a factor, which is negative where one is mixed of two.
    host_prices: Vec<(f64, f64)>,
}

/// What a plan says of one page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// f, visits per second.
    pub frequency: f64,
    /// The price that the page answers to: the plan's, or that of its host.
    pub price: f64,
    /// The share of time that its copy is fresh.
    pub freshness: f64,
    /// The mean age of its copy in seconds: infinite if it changes and is not visited.
    pub age: f64,
    /// Why.
    pub reason: Reason,
}

/// What a plan says of some pages, in columns of one length.
#[derive(Clone, Copy, Debug)]
pub struct Answers<'a> {
    /// f, visits per second.
    pub frequency: &'a [f64],
    /// The prices that the pages answer to.
    pub price: &'a [f64],
    /// The shares of time that their copies are fresh.
    pub freshness: &'a [f64],
    /// The mean ages of their copies in seconds.
    pub age: &'a [f64],
    /// Why.
    pub reason: &'a [Reason],
}

impl Answers<'_> {
    /// One after the other.
    pub fn one_by_one(&self) -> impl Iterator<Item = Answer> {
        (0..self.frequency.len()).map(|i| Answer {
            frequency: self.frequency[i],
            price: self.price[i],
            freshness: self.freshness[i],
            age: self.age[i],
            reason: self.reason[i],
        })
    }
}

/// What a plan of columns comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// T, in weight x seconds (squared for age) per cost; 0 where not all can be spent.
    pub price: f64,
    /// What the frequencies cost per second: the budget, but for one part in a billion.
    pub spent: f64,
}

/// Fills `frequencies` with the plan of columns in memory.
///
/// ```
/// use everfresh::plan::stream::{Columns, Limits, plan};
/// use everfresh::{Price, Terms, Unit};
/// // CGM03 Table IV.
/// let columns = Columns::new(&[1.0, 2.0, 3.0, 4.0, 5.0]);
/// let mut frequencies = [0.0; 5];
/// plan(columns, Terms::new(Price::for_budget(5.0, Unit::Second)?), &Limits::default(), &mut frequencies)?;
/// assert_eq!(frequencies.map(|f| format!("{f:.3}")), ["1.150", "1.358", "1.354", "1.138", "0.000"]);
/// # Ok::<(), everfresh::Error>(())
/// ```
///
/// # Errors
///
/// Columns of different lengths or none, the first page with a value out of bounds, by its place, and limits that cannot be
/// kept.
pub fn plan(columns: Columns<'_>, terms: Terms, limits: &Limits, frequencies: &mut [f64]) -> Result<Outcome> {
    let columns = columns.checked()?;
    if columns.len() != frequencies.len() {
        return Err(Error::Inconsistent(format!(
            "columns must be of one length, got {} rates and {} frequencies",
            columns.len(),
            frequencies.len()
        )));
    }
    if columns.is_empty() {
        return Err(Error::Empty("cannot plan: there are no pages"));
    }
    let solution = Solution::of(&columns, terms, limits)?;
    let spent = columns.fill(frequencies, |chunk, out| solution.frequencies(chunk, out));
    Ok(Outcome { price: solution.price(), spent: spent.into_iter().collect::<Sum>().value() })
}

impl<'a> Solution<'a> {
    /// Solves for the price: one scan of the pages, as a rule; more where a sample misleads, and for floors and caps.
    ///
    /// Under the uniform and the proportional allocation a price stands for the budget that the optimum would spend at it.
    pub fn of<P: Pages>(pages: &P, terms: Terms, limits: &'a Limits) -> std::result::Result<Self, P::Error> {
        check(terms, limits)?;
        refuse_shapes(pages, terms.order, terms.objective)?;
        let mut terms = terms;
        if terms.allocation != Optimal && matches!(terms.price.in_seconds(terms.objective), Funding::Price(_)) {
            let optimum = Solution::of(pages, Terms { allocation: Optimal, ..terms }, limits)?;
            let spent = optimum.spending(pages)?;
            if spent == 0.0 {
                return Ok(Solution::new(terms, Bounds::new(limits), 1.0, Blend::at(f64::INFINITY)));
            }
            terms.price = super::Price::for_budget(spent, crate::units::Unit::Second)?;
        }
        let (bounds, base, blend) = with_rule!(terms, |rule| solve(pages, rule, terms, limits))?;
        Ok(Solution::new(terms, bounds, base, blend))
    }

    fn new(terms: Terms, bounds: Bounds<'a>, base: f64, blend: Blend) -> Self {
        let price = base * blend.price;
        // Of a host that is full the price itself was solved for.
        let of = |own: &HostPrice| match own.blend.price {
            low if low <= price => (base, blend.near()),
            high if own.blend.is_one() => (high, 1.0),
            _ => (own.blend.near(), -1.0),
        };
        let host_prices = bounds.hosts.table(of, (base, blend.near()));
        Solution { terms, bounds, base, blend, host_prices }
    }

    /// The terms on which it was made.
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// T, in weight x seconds (squared for age) per cost: 0 where not all of a budget can be spent, infinite where all of
    /// it is promised. Under the uniform and the proportional allocation it means nothing.
    pub fn price(&self) -> f64 {
        self.base * self.blend.price
    }

    /// The frequency per second that every page with weight has at least; 0 without a floor.
    pub const fn floor(&self) -> f64 {
        self.bounds.floor
    }

    /// How many hosts have a higher price than the plan, because they are at their caps.
    pub fn hosts_at_cap(&self) -> usize {
        self.bounds.hosts.prices().filter(|host| self.is_capped(host.blend.price)).count()
    }

    /// Above the plan's price, by more than the last places?
    fn is_capped(&self, host_price: f64) -> bool {
        host_price > self.price() * (1.0 + 1e-12)
    }

    /// Writes the frequencies of some pages, which must be legal, and returns what they cost per second.
    pub fn frequencies(&self, columns: Columns<'_>, out: &mut [f64]) -> f64 {
        let out = &mut out[..columns.len()];
        let is_plain = columns.is_plain() && self.bounds.floor == 0.0 && self.blend.is_one();
        let level = Level::new();
        if is_plain && self.bounds.hosts.is_empty() {
            return with_rule!(
                self.terms,
                |rule| dispatch!(level, simd => self.free_frequencies(simd, rule, columns, out))
            );
        }
        if is_plain {
            return with_rule!(
                self.terms,
                |rule| dispatch!(level, simd => self.capped_frequencies(simd, rule, columns, out))
            );
        }
        with_rule!(self.terms, |rule| self.bound_frequencies(rule, columns, out))
    }

    /// The same for pages without bounds. Blocks with a page that does not change or does not count go the long way.
    #[inline(always)]
    fn free_frequencies<R: Rule, S: Simd>(&self, simd: S, rule: R, columns: Columns<'_>, out: &mut [f64]) -> f64 {
        let [mut xs, mut scales, mut answers] = [[0.0; BLOCK]; 3];
        let (mut visited, mut lookup) = (Visited::new(), Lookup::new());
        let end = rule.cliff(Shape::Exponential) / (self.base * self.blend.near());
        let mut spent = 0.0;
        for start in (0..columns.len()).step_by(BLOCK) {
            let block = columns.part(start, columns.len().min(start + BLOCK));
            columns.glance(start + BLOCK);
            let out = &mut out[start..start + block.len()];
            let is_packed = visited.pack(simd, rule, block, end);
            let n = visited.len();
            visited.place(rule, self.base, self.blend.near(), &mut xs, &mut scales);
            if !(is_packed && rule.holds_all(&xs[..n])) {
                spent += self.bound_frequencies(rule, block, out);
                continue;
            }
            rule.answers(&xs[..n], &mut lookup, &mut answers);
            answers[..n].iter_mut().zip(&scales).for_each(|(answer, scale)| *answer *= scale);
            visited.unpack(simd, &answers, out);
            spent += lanes(&answers[..n]);
        }
        spent
    }

    /// The same where hosts may have prices of their own: without other bounds a page answers to the higher of the two.
    #[inline(always)]
    fn capped_frequencies<R: Rule, S: Simd>(&self, simd: S, rule: R, columns: Columns<'_>, out: &mut [f64]) -> f64 {
        let [mut xs, mut scales, mut answers] = [[0.0; BLOCK]; 3];
        let (mut visited, mut lookup, mut mixed) = (Visited::new(), Lookup::new(), [(0, 0); BLOCK]);
        // Who is given up at the plan's price need not ask for that of its host.
        let end = rule.cliff(Shape::Exponential) / (self.base * self.blend.near());
        let mut spent = 0.0;
        for start in (0..columns.len()).step_by(BLOCK) {
            let block = columns.part(start, columns.len().min(start + BLOCK));
            columns.glance(start + BLOCK);
            let out = &mut out[start..start + block.len()];
            if !visited.pack(simd, rule, block, end) {
                spent += self.bound_frequencies(rule, block, out);
                continue;
            }
            let n = visited.len();
            visited.place(rule, 1.0, 1.0, &mut xs, &mut scales);
            let mut mixes = 0;
            for ((k, place), x) in visited.places(simd).enumerate().zip(&mut xs) {
                let (base, factor) = self.host_prices[self.bounds.hosts.slot(block.host_of(place))];
                *x = base * *x * factor.abs();
                mixed[mixes] = (k, place);
                mixes += usize::from(factor < 0.0);
            }
            if !rule.holds_all(&xs[..n]) {
                spent += self.bound_frequencies(rule, block, out);
                continue;
            }
            rule.answers(&xs[..n], &mut lookup, &mut answers);
            answers[..n].iter_mut().zip(&scales).for_each(|(answer, scale)| *answer *= scale);
            for (k, place) in &mixed[..mixes] {
                answers[*k] = self.frequency(rule, &block.one(*place));
            }
            visited.unpack(simd, &answers, out);
            spent += lanes(&answers[..n]);
        }
        spent
    }

    #[inline(never)]
    fn bound_frequencies<R: Rule>(&self, rule: R, columns: Columns<'_>, out: &mut [f64]) -> f64 {
        let mut spent = 0.0;
        for (i, out) in out.iter_mut().enumerate() {
            let page = columns.one(i);
            *out = self.frequency(rule, &page);
            spent += page.count * page.cost * *out;
        }
        spent
    }

    /// Calls `each` with what the plan says of all pages, which must be legal: the place of the first of a stretch of pages, and
    /// the answers for it, in order. Sums everything up.
    pub fn answers(&self, columns: Columns<'_>, mut each: impl FnMut(usize, Answers<'_>)) -> Tally {
        let most = columns.len().min(STRETCH);
        let (mut prices, mut reasons) = (vec![0.0; most], vec![Reason::Visited; most]);
        self.fold(columns, |start, some, frequencies, fates, part| {
            let (prices, reasons) = (&mut prices[..some.len()], &mut reasons[..some.len()]);
            prices.fill(self.price());
            reasons.fill(Reason::Visited);
            with_rule!(self.terms, |rule| self.explain(rule, some, frequencies, part, (prices, reasons)));
            let (freshness, age) = (&fates.freshness[..some.len()], &fates.age[..some.len()]);
            each(start, Answers { frequency: frequencies, price: prices, freshness, age, reason: reasons });
        })
    }

    /// Sums stretches of pages up, and calls `each` with the place of the first, the pages, their frequencies and fates, and the sums.
    fn fold(&self, columns: Columns<'_>, mut each: impl FnMut(usize, Columns<'_>, &[f64], &Fates, &mut Part)) -> Tally {
        let mut tally = Tally::default();
        let most = columns.len().min(STRETCH);
        let (mut frequencies, mut fates) = (vec![0.0; most], Fates::with_room(most));
        let (level, order) = (Level::new(), self.terms.order);
        let with_harmonic = self.terms.objective == Objective::Harmonic;
        for start in (0..columns.len()).step_by(STRETCH) {
            let some = columns.part(start, columns.len().min(start + STRETCH));
            let frequencies = &mut frequencies[..some.len()];
            self.frequencies(some, frequencies);
            let mut part = dispatch!(level, _ => {
                fates.fill(order, some, frequencies);
                Part::of(order, with_harmonic, some, frequencies, &fates)
            });
            each(start, some, frequencies, &fates, &mut part);
            tally.add(&part);
        }
        tally
    }

    /// What the plan sums to over some pages, all legal, without the reasons.
    pub fn tally(&self, columns: Columns<'_>) -> Tally {
        self.fold(columns, |_, _, _, _, _| {})
    }

    /// Says of some pages who is not visited for its own sake, or answers to the price of its host.
    fn explain<R: Rule>(
        &self,
        rule: R,
        columns: Columns<'_>,
        frequencies: &[f64],
        part: &mut Part,
        (prices, reasons): (&mut [f64], &mut [Reason]),
    ) {
        // Without bounds, who is visited is visited for its own sake.
        let is_plain = columns.is_plain() && self.bounds.floor == 0.0 && self.bounds.hosts.is_empty();
        if !is_plain {
            for (i, frequency) in frequencies.iter().enumerate() {
                let page = columns.one(i);
                let host = self.bounds.hosts.price(page.host).map(|host| host.blend.price);
                let capped = host.filter(|price| self.is_capped(*price));
                prices[i] = capped.unwrap_or(prices[i]);
                reasons[i] = self.reason(rule, &page, *frequency, capped.is_some());
                part.count_given_up(&page, *frequency, reasons[i]);
            }
            return;
        }
        let (mut others, mut found) = ([0; STRETCH], 0);
        for (i, frequency) in frequencies.iter().enumerate() {
            others[found] = i;
            found += usize::from(*frequency == 0.0);
        }
        for &i in &others[..found] {
            let page = One::plain(columns.rate[i], columns.weight.map_or(1.0, |weights| weights[i]));
            reasons[i] = self.reason_unvisited(rule, &page);
            part.count_given_up(&page, 0.0, reasons[i]);
        }
    }

    #[inline(always)]
    fn frequency<R: Rule>(&self, rule: R, page: &One) -> f64 {
        let (scale, y) = rule.place(page);
        let (low, high) = self.bounds.of(rule, page, scale, y);
        if rule.is_out(page) {
            return low;
        }
        let x = self.base * y;
        self.blend.mix(|factor| (scale * rule.answer(factor * x, page.shape)).clamp(low, high))
    }

    #[inline(always)]
    fn reason<R: Rule>(&self, rule: R, page: &One, frequency: f64, capped: bool) -> Reason {
        // On a bound, but for the last places of a price.
        let reaches = |f: f64, bound: f64| f >= bound * (1.0 - 1e-12);
        if frequency > 0.0 && reaches(page.promise, frequency) {
            Reason::AtMaxPeriod
        } else if reaches(frequency, page.most) {
            Reason::AtMinPeriod
        } else if capped && !reaches(frequency, self.bounds.floor) && page.rate > 0.0 {
            Reason::AtHostCap
        } else if frequency > 0.0 && reaches(self.bounds.floor, frequency) {
            Reason::AtFloor
        } else if capped && !rule.is_out(page) {
            Reason::AtHostCap
        } else if frequency > 0.0 && !rule.is_out(page) {
            Reason::Visited
        } else {
            self.reason_unvisited(rule, page)
        }
    }

    /// Why a page is not visited for its own sake at the plan's price.
    #[inline(always)]
    fn reason_unvisited<R: Rule>(&self, rule: R, page: &One) -> Reason {
        if page.rate == 0.0 {
            Reason::Static
        } else if rule.is_out(page) {
            Reason::Weightless
        } else if self.terms.allocation == Optimal {
            let (_, y) = rule.place(page);
            Reason::TooExpensive { worth: rule.cliff(page.shape) / y }
        } else {
            Reason::NothingSpent
        }
    }

    /// What the plan costs per second: one scan.
    pub fn spending<P: Pages>(&self, pages: &P) -> std::result::Result<f64, P::Error> {
        let mut spent = Sum::default();
        let of_chunk = |chunk: Columns<'_>| Ok(self.frequencies(chunk, &mut vec![0.0; chunk.len()]));
        pages.scan(&of_chunk, &mut |part: f64| spent.add(part))?;
        Ok(spent.value())
    }
}

use super::Allocation::Optimal;

impl<'a> Bounds<'a> {
    fn new(limits: &'a Limits) -> Self {
        Bounds { floor: 0.0, hosts: Hosts::new(&limits.caps) }
    }
}

fn check(terms: Terms, limits: &Limits) -> Result<()> {
    within("floor", limits.floor, Bound::Included(0.0), Bound::Included(1.0), "between 0 and 1")?;
    if limits.floor > 0.0 && matches!(terms.price.in_seconds(terms.objective), Funding::Price(_)) {
        return Err(Error::Inconsistent("a floor is a share of a budget: it needs one, not a price".to_owned()));
    }
    for cap in limits.caps.iter().filter(|cap| **cap != f64::INFINITY) {
        magnitude("cap of a host per second", *cap)?;
    }
    Ok(())
}

/// The bounds, and the price as a base and a factor.
fn solve<'a, R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    terms: Terms,
    limits: &'a Limits,
) -> std::result::Result<(Bounds<'a>, f64, Blend), P::Error> {
    let mut bounds = Bounds::new(limits);
    let budget = match terms.price.in_seconds(terms.objective) {
        Funding::Price(price) => {
            if bounds.hosts.are_capped() {
                hosts::settle(pages, rule, &mut bounds, price)?;
            } else {
                pages.scan(&|chunk: Columns<'_>| chunk.check_each(), &mut |()| {})?;
            }
            return Ok((bounds, 1.0, Blend::at(price)));
        }
        Funding::Budget(per_second) => per_second,
    };
    if limits.floor > 0.0 {
        bounds.floor = limits.floor * budget / cost_of_weighted(pages)?;
    }
    if terms.allocation != Optimal
        && bounds.hosts.are_capped()
        && let Some((base, blend)) = even::spend(pages, rule, &mut bounds, budget)?
    {
        return Ok((bounds, base, blend));
    }
    let guess = first_guess(pages, rule, &bounds, budget)?;
    if !bounds.hosts.are_capped() {
        let (base, blend) = spend_by(rule, budget, Window::around(guess), limits.floor > 0.0, |window| {
            Gathered::of(pages, rule, &bounds, window)
        })?;
        return Ok((bounds, base, blend));
    }
    let mut foreseen = foresee::foresee(pages, rule, &mut bounds, budget, guess)?;
    // The less the capped hosts take, the lower the price, and the more hosts reach their caps.
    let mut lowest = guess / 4.0;
    loop {
        let first = if let Some((window, _)) = &foreseen {
            lowest = window.lowest();
            *window
        } else {
            hosts::settle(pages, rule, &mut bounds, lowest)?;
            Window::around(first_guess(pages, rule, &bounds, budget)?)
        };
        let (base, blend) = spend_by(rule, budget, first, limits.floor > 0.0, |window| match foreseen.take() {
            Some((_, gathered)) => Ok(gathered),
            None => Gathered::of(pages, rule, &bounds, window),
        })?;
        let price = base * blend.price;
        if price >= lowest {
            return Ok((bounds, base, blend));
        }
        lowest = price / 4.0;
    }
}

/// The cost of one visit to every page with weight, which a floor pays for: at least 1e-20.
fn cost_of_weighted<P: Pages>(pages: &P) -> std::result::Result<f64, P::Error> {
    let mut cost = Sum::default();
    let of_chunk = |chunk: Columns<'_>| {
        let mut sum = 0.0;
        for page in (0..chunk.len()).map(|i| chunk.one(i)) {
            sum += if page.weight > 0.0 { page.count * page.cost } else { 0.0 };
        }
        Ok(sum)
    };
    pages.scan(&of_chunk, &mut |part: f64| cost.add(part))?;
    Ok(if cost.value() > 0.0 { cost.value() } else { f64::INFINITY })
}

/// The price at which a sample of the pages spends its share of the budget: about, from some of them, and then from all.
fn first_guess<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &Bounds<'_>,
    budget: f64,
) -> std::result::Result<f64, P::Error> {
    let (rough, seen) = rough_guess(pages, rule, bounds, budget, 16)?;
    if seen < 1 << 10 {
        return Ok(rough_guess(pages, rule, bounds, budget, 1)?.0);
    }
    let window = Window::wide(rough);
    let (mut gathered, mut is_legal) = (Gathered::new(), true);
    let share = pages.sample(&mut |chunk| is_legal &= gathered.add_chunk(chunk, rule, bounds, window).is_ok())?;
    gathered.end(&bounds.hosts, window, share);
    let guess = window.base * gathered.price(rule, budget * share).near();
    // What is not legal the first scan will say.
    Ok(if is_legal && guess > 0.0 && guess.is_finite() { guess } else { rough })
}

/// The same from every so many pages of the sample, and how many these were.
fn rough_guess<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &Bounds<'_>,
    budget: f64,
    step: usize,
) -> std::result::Result<(f64, usize), P::Error> {
    let mut some: Vec<Kinked> = Vec::new();
    let (mut fixed, mut seen, mut all) = (0.0, 0, 0);
    let share = pages.sample(&mut |chunk| {
        for page in (0..chunk.len()).step_by(step).map(|i| chunk.one(i)).filter(One::is_legal) {
            let (scale, y) = rule.place(&page);
            let (low, high) = bounds.of(rule, &page, scale, y);
            if rule.is_out(&page) {
                fixed += page.count * page.cost * low;
            } else {
                some.push(Kinked::new(&page, (scale, y), (low, high)));
            }
            seen += 1;
        }
        all += chunk.len();
    })?;
    let share = share * seen as f64 / all.max(1) as f64;
    Ok((gather::guess(rule, budget * share - fixed, &some), seen))
}

/// The price that spends the budget, as a base and a factor of it: what pages spend is gathered in windows of prices until the
/// price lies in one.
fn spend_by<R: Rule, E: From<Error>>(
    rule: R,
    budget: f64,
    first: Window,
    with_floor: bool,
    mut gather: impl FnMut(Window) -> std::result::Result<Gathered, E>,
) -> std::result::Result<(f64, Blend), E> {
    let mut search = Search::new(first.base);
    let mut window = first;
    loop {
        let gathered = gather(window)?;
        let promised = gathered.promised.value();
        if promised > budget * (1.0 + 1e-12) {
            let [needed_per_second, budget_per_second] = [promised, budget];
            return Err(Error::Infeasible { needed_per_second, budget_per_second, with_floor }.into());
        }
        if promised >= budget * (1.0 - 1e-12) {
            return Ok((1.0, Blend::at(f64::INFINITY)));
        }
        let spent = gathered.spent(rule);
        if gathered.is_still() && !gathered.wanting && spent < budget {
            // Every page is visited as often as it may be.
            return Ok((window.base, Blend::unspent()));
        }
        let blend = gathered.price(rule, budget);
        if gathered.tells(window, blend.near()) && blend.price > 0.0 || search.is_over() {
            return Ok((window.base, blend));
        }
        search.go_on(spent >= budget, window.base * blend.near());
        window = Window::around(search.price);
    }
}

/// A search for the price by passes, where each tells on which side it lies and about where.
struct Search {
    price: f64,
    low: f64,
    high: f64,
    leap: f64,
    passes: u32,
}

impl Search {
    fn new(price: f64) -> Self {
        Search { price, low: 0.0, high: f64::INFINITY, leap: 16.0, passes: 0 }
    }

    fn is_over(&self) -> bool {
        self.passes > 200 || self.high / self.low < 1.0 + 1e-15
    }

    /// The price lies above or below the last one, and perhaps at `next`.
    fn go_on(&mut self, above: bool, next: f64) {
        self.passes += 1;
        if above {
            self.low = self.price;
        } else {
            self.high = self.price;
        }
        let inside = next > self.low && next < self.high && next > f64::MIN_POSITIVE;
        // Estimates that lead nowhere are left for halving, or for ever longer leaps where one side is open.
        self.price = if inside && !self.passes.is_multiple_of(4) {
            next
        } else if self.low > 0.0 && self.high.is_finite() {
            self.low.sqrt() * self.high.sqrt()
        } else {
            self.leap = (self.leap * self.leap).min(1e150);
            if above { self.low * self.leap } else { self.high / self.leap }
        };
    }
}
