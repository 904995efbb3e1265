//! What other budgets would give: every budget question, from one scan of the pages.
//!
//! The distribution of y that prices a plan also tells what the plan gives: a page's weight is `mass / y` (over λ for age), and
//! its divergence is a function of T y. So spending and freshness (age, harmonic penalty) at every price are sums over one
//! histogram, and their ratio of slopes is the price: one more visit gains T.

use super::columns::{BadPage, Columns, One, Pages, refuse_shapes};
use super::gather::{Kinked, Window, spending_of, unite_equal};
use super::histogram::{Filled, Histogram};
use super::rule::{Optimal, Rule};
use crate::curve::Shape;
use crate::error::{Error, Result, magnitude, within};
use crate::kernel::Reciprocal;
use crate::numeric::{Evaluation, Sum, solve};
use crate::order::{Objective, Order};
use crate::plan::price::Blend;
use rayon::prelude::*;
use std::ops::{Bound, Range, RangeInclusive};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the optimal plan of some pages gives, for every price and every budget.
///
/// ```
/// use everfresh::plan::stream::{Columns, Outlook};
/// use everfresh::{Objective, Order};
/// let rates = [1.0, 2.0, 3.0, 4.0, 5.0];
/// let outlook = Outlook::of(&Columns::new(&rates), Order::Fixed, Objective::Freshness)?;
/// assert!((outlook.at_budget(5.0)?.value - 0.3739).abs() < 1e-4); // CGM03 Table IV
/// assert!((outlook.for_value(0.3739)?.spending - 5.0).abs() < 5e-3);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outlook {
    order: Order,
    objective: Objective,
    /// The histogram is of x = base x y.
    base: f64,
    free: Filled,
    /// Pages with bounds or curves of their own, or out of the histogram's reach; x is y here.
    bound: Vec<Kinked>,
    /// What promised visits cost that gain nothing: to static and weightless pages.
    idle: f64,
    /// All weight.
    weight: f64,
    /// The weight of pages that change.
    changing: f64,
    /// The prices at which it tells what a plan spends to nine digits, the lowest and the highest; none if these are the other way round.
    exact: (f64, f64),
}

/// What the optimal plan gives at one price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// T, in weight x seconds (squared for age) per cost.
    pub price: f64,
    /// Cost per second.
    pub spending: f64,
    /// The weighted mean of the objective: freshness, age in seconds, or harmonic penalty.
    pub value: f64,
    /// What one more unit of cost per second gains of that mean.
    pub gain: f64,
}

/// So few pages are kept one by one in any case: their histogram would have a page or none in each bucket.
const FEW: usize = 1 << 13;

/// Pages that an outlook keeps one by one.
const MOST_BOUND: usize = if cfg!(test) { 1 << 14 } else { 1 << 24 };

/// Prices that differ from the one around which pages are read by so much are told exactly: many times as much as an outlook errs that was
/// not read around any price.
const NEAR: f64 = 1.0 + 1.0 / 256.0;

/// How pages are read.
struct Reading {
    order: Order,
    objective: Objective,
    base: f64,
    /// Is every page kept by itself?
    is_few: bool,
    /// The resistances of pages that are kept by themselves, since a bucket says little of them: the cliff of freshness at the prices around
    /// which is read.
    near: Range<f64>,
}

/// What one chunk of pages tells.
struct Part {
    histogram: Histogram<10, 10>,
    bound: Vec<Kinked>,
    /// How many of them there are, also where these are too many to be kept.
    bound_count: usize,
    idle: f64,
    weight: f64,
    changing: f64,
}

impl Outlook {
    /// Reads all pages. Their periods are kept; hosts and counts in [`Columns`] count, caps and a floor do not.
    ///
    /// Of more than some thousand pages its prices for freshness are right to about 1e-4: a bucket that is just given up is not a page.
    ///
    /// # Errors
    ///
    /// A page that is not legal; no weight; more than 16 million pages with bounds or curves of their own.
    pub fn of<P: Pages>(pages: &P, order: Order, objective: Objective) -> std::result::Result<Outlook, P::Error> {
        Outlook::read(pages, order, objective, None)
    }

    /// The same around a price, that of another outlook of these and other pages: in its neighbourhood, of 0.4 %, a budget's price is
    /// that of the whole plan to nine digits. Pages that are given up at about that price are kept one by one, some in a hundred.
    ///
    /// # Errors
    ///
    /// As [`of`](Outlook::of).
    pub fn around<P: Pages>(
        pages: &P,
        order: Order,
        objective: Objective,
        price: f64,
    ) -> std::result::Result<Outlook, P::Error> {
        Outlook::read(pages, order, objective, Some(price))
    }

    fn read<P: Pages>(
        pages: &P,
        order: Order,
        objective: Objective,
        around: Option<f64>,
    ) -> std::result::Result<Outlook, P::Error> {
        refuse_shapes(pages, order, objective)?;
        let reading = Reading::of(pages, order, objective, around)?;
        let mut histogram = Histogram::new();
        let mut bound = Vec::new();
        let [mut idle, mut weight, mut changing] = [Sum::default(); 3];
        let (mut bound_count, kept) = (0, AtomicUsize::new(0));
        let rule = |chunk: Columns<'_>| {
            let mut part = match objective.time_power() {
                2 => Part::of::<true>(chunk, &reading),
                _ => Part::of::<false>(chunk, &reading),
            }?;
            // Too many are an error in the end, and are only counted until then.
            part.bound_count = part.bound.len();
            if kept.fetch_add(part.bound_count, Ordering::Relaxed) + part.bound_count > MOST_BOUND {
                part.bound = Vec::new();
            }
            Ok(part)
        };
        pages.scan(&rule, &mut |part: Part| {
            histogram.merge(&part.histogram);
            bound.extend(part.bound);
            bound_count += part.bound_count;
            idle.add(part.idle);
            weight.add(part.weight);
            changing.add(part.changing);
        })?;
        let (idle, weight, changing) = (idle.value(), weight.value(), changing.value());
        if weight == 0.0 {
            return Err(Error::Empty("cannot plan: all weights are zero").into());
        }
        check_bound(bound_count)?;
        let (base, exact) = (reading.base, reading.exact(around));
        Ok(Outlook { order, objective, base, free: histogram.filled(), bound, idle, weight, changing, exact })
    }

    /// Adds the outlook of other pages, as if all had been read together: so that shards on several machines have one price.
    ///
    /// ```
    /// use everfresh::plan::stream::{Columns, Outlook};
    /// use everfresh::{Objective, Order};
    /// let of = |rates: &[f64]| Outlook::of(&Columns::new(rates), Order::Fixed, Objective::Freshness);
    /// let mut all = of(&[1.0, 2.0])?;
    /// all.merge(of(&[3.0, 4.0, 5.0])?)?;
    /// assert!((all.at_budget(5.0)?.value - 0.3739).abs() < 1e-4);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Another objective or order; more than 16 million pages with bounds or curves of their own in all.
    pub fn merge(&mut self, other: Outlook) -> Result<()> {
        if (self.order, self.objective) != (other.order, other.objective) {
            let word = |outlook: &Outlook| format!("{:?} in {:?} order", outlook.objective, outlook.order);
            return Err(Error::Inconsistent(format!(
                "outlooks must be for the same, got one for {} and one for {}",
                word(self),
                word(&other)
            )));
        }
        check_bound(self.bound.len() + other.bound.len())?;
        self.free.merge(other.free, self.base / other.base);
        self.bound.extend(other.bound);
        self.idle += other.idle;
        self.weight += other.weight;
        self.changing += other.changing;
        self.exact = (self.exact.0.max(other.exact.0), self.exact.1.min(other.exact.1));
        Ok(())
    }

    /// Can it be an outlook? One that was read from elsewhere may be anything.
    pub fn is_legal(&self) -> bool {
        let is_amount = |value: f64| value >= 0.0 && value.is_finite();
        let is_page =
            |page: &Kinked| is_amount(page.mass) && is_amount(page.x) && is_amount(page.low) && page.high >= page.low;
        [self.idle, self.changing].into_iter().all(is_amount)
            && [self.base, self.weight].into_iter().all(|value| value > 0.0 && value.is_finite())
            && self.bound.len() <= MOST_BOUND
            && self.bound.iter().all(is_page)
            && !self.exact.0.is_nan()
            && !self.exact.1.is_nan()
            && self.free.is_legal()
    }

    /// The order of visits.
    pub const fn order(&self) -> Order {
        self.order
    }

    /// The objective.
    pub const fn objective(&self) -> Objective {
        self.objective
    }

    /// Does a plan at the price of this point, which was told here, spend as much, to nine digits? Not where it is not one of
    /// [`exact_prices`](Outlook::exact_prices), and not where a page is just given up: the last places of the price decide on up to a
    /// thirtieth of its rate, so that what is spent lies between two neighbouring prices.
    pub fn is_exact(&self, point: &Point) -> bool {
        let is_told = self.exact_prices().is_some_and(|exact| exact.contains(&point.price));
        is_told && (self.spending(point.price).0 / point.spending - 1.0).abs() < 1e-9
    }

    /// The prices at which a plan spends what is said here to nine digits: all of few pages, some of what was read around a price.
    pub fn exact_prices(&self) -> Option<RangeInclusive<f64>> {
        let (lowest, highest) = self.exact;
        (lowest <= highest).then_some(lowest..=highest)
    }

    /// A point in the middle of things: where pages are visited about as often as they change.
    pub fn middle(&self) -> Point {
        self.at_price(self.base)
    }

    /// What the plan at a price gives. The price is positive.
    pub fn at_price(&self, price: f64) -> Point {
        let (spending, divergence, _) = self.sums(price);
        let mean = divergence / self.weight;
        let value = if self.objective == Objective::Freshness { 1.0 - mean } else { mean };
        Point { price, spending, value, gain: price / self.weight }
    }

    /// What a budget, in cost per second, gives. Where not all of it can be spent, the best there is.
    pub fn at_budget(&self, budget: f64) -> Result<Point> {
        magnitude("budget", budget)?;
        let least = self.spending(f64::MAX).0;
        if budget < least {
            return Err(Error::Infeasible { needed_per_second: least, budget_per_second: budget, with_floor: false });
        }
        if budget == least {
            return Ok(Point { spending: least, ..self.at_price(self.last_price(least)) });
        }
        let blend = Blend::spending(budget, self.base, |price| self.spending(price));
        Ok(self.at(&blend))
    }

    /// The price below which more is spent than on promises: what the first visit beyond them gains.
    fn last_price(&self, least: f64) -> f64 {
        let (mut spends_more, mut spends_least) = (1e-60 * self.base, 1e60 * self.base);
        while spends_least > spends_more * (1.0 + 1e-12) {
            let between = (spends_more * spends_least).sqrt();
            if self.spending(between).0 > least {
                spends_more = between;
            } else {
                spends_least = between;
            }
        }
        spends_least
    }

    fn at(&self, blend: &Blend) -> Point {
        let (low, high) = blend.ends();
        let low = self.at_price(low);
        if blend.is_one() {
            return Point { price: blend.price, gain: blend.price / self.weight, ..low };
        }
        let high = self.at_price(high);
        let mix = |value: fn(&Point) -> f64| blend.between(value(&low), value(&high));
        let (spending, value) = (mix(|point| point.spending), mix(|point| point.value));
        Point { price: blend.price, spending, value, gain: blend.price / self.weight }
    }

    /// The least budget whose plan gives a mean of the objective: freshness of at least `value`, age in seconds or harmonic
    /// penalty of at most `value`.
    ///
    /// # Errors
    ///
    /// A value out of bounds, or one that minimum periods put out of reach.
    pub fn for_value(&self, value: f64) -> Result<Point> {
        let divergence = match self.objective {
            Objective::Freshness => {
                1.0 - within("freshness", value, Bound::Excluded(0.0), Bound::Excluded(1.0), "above 0 and below 1")?
            }
            Objective::Age => magnitude("age in seconds", value)?,
            Objective::Harmonic => magnitude("harmonic penalty", value)?,
        };
        let target = divergence * self.weight;
        let least = self.divergence_at(f64::MAX);
        if least <= target {
            // Promises and static pages give it already.
            let (spending, value) = (self.spending(f64::MAX).0, self.at_price(f64::MAX).value);
            return Ok(Point { price: f64::INFINITY, spending, value, gain: 0.0 });
        }
        let price = solve(target, self.base, |price| {
            let (_, divergence, fall) = self.sums(price);
            // One visit more gains the price: so much more divergence per ln price.
            Evaluation { value: divergence, elasticity: price * fall / divergence }
        });
        let price = price.clamp(1e-60 * self.base, 1e60 * self.base);
        let divergence = |price: f64| self.divergence_at(price);
        if divergence(price / 2.0) > target {
            return Err(self.out_of_reach(value, self.at_price(price).value));
        }
        // Where a page is given up between two prices, none between them does.
        let is_exact = (divergence(price) / target - 1.0).abs() < 1e-12;
        let blend = if is_exact { Blend::at(price) } else { Blend::around(price, -target, |price| -divergence(price)) };
        Ok(self.at(&blend))
    }

    fn out_of_reach(&self, value: f64, best: f64) -> Error {
        let what = match self.objective {
            Objective::Freshness => "freshness",
            Objective::Age => "age in seconds",
            Objective::Harmonic => "harmonic penalty",
        };
        Error::Inconsistent(format!("{what} {value} is out of reach: the minimum periods allow {best} at best"))
    }

    /// Spending, weighted divergence, and how much less is spent per ln price.
    fn sums(&self, price: f64) -> (f64, f64, f64) {
        let (spending, fall) = self.spending(price);
        (spending, self.divergence_at(price), fall)
    }

    /// Spending, and how much less of it per ln price.
    fn spending(&self, price: f64) -> (f64, f64) {
        let table = Reciprocal::of(self.order, self.objective);
        let factor = price / self.base;
        let (smooth, mut fall) = self.free.sums(|x| table.with_fall(factor * x));
        let mut spent = Sum::default();
        spent.add(self.idle);
        spent.add(smooth);
        let (bound, bound_fall) = spending_of(&self.bound, self.rule(), price);
        spent.add(bound);
        fall += bound_fall;
        (spent.value(), fall)
    }

    /// The sum of weight times divergence.
    fn divergence_at(&self, price: f64) -> f64 {
        let table = Reciprocal::of(self.order, self.objective);
        let factor = price / self.base;
        let rule = self.rule();
        let mut sum = Sum::default();
        sum.add(self.free.sums(|x| (self.base / x * self.divergence(table.at(factor * x)), 0.0)).0);
        // In parts that do not depend on the number of threads.
        let of_part = |part: &[Kinked]| {
            let divergence = |page: &Kinked| {
                let kept = rule.answer(price * page.x, page.shape).clamp(page.low, page.high);
                let divergence = match page.shape {
                    Shape::Exponential => self.divergence(kept),
                    shape => 1.0 - shape.freshness_and_age(kept.recip()).0,
                };
                page.mass / page.x * divergence
            };
            part.iter().map(divergence).collect::<Sum>().value()
        };
        let parts: Vec<f64> = self.bound.par_chunks(1 << 12).map(of_part).collect();
        for part in parts {
            sum.add(part);
        }
        sum.value()
    }

    /// What pages answer: of their resistance, which is known, not of how it comes about.
    fn rule(&self) -> Optimal<false> {
        Optimal { table: Reciprocal::of(self.order, self.objective), cliff: self.objective.ceiling() }
    }

    /// The mean divergence of a page that is visited `visits` times per change; for age times its rate.
    fn divergence(&self, visits: f64) -> f64 {
        let r = visits.recip();
        match self.objective {
            Objective::Freshness => self.order.staleness(r),
            Objective::Age => r * self.order.age_in_periods(r),
            Objective::Harmonic => self.order.harmonic(r),
        }
    }

    /// The share of the weight that is always fresh: static pages.
    pub fn static_share(&self) -> f64 {
        (1.0 - self.changing / self.weight).max(0.0)
    }
}

/// About the price at which pages are visited as often as they change, the geometric mean over a sample; and whether there are
/// few pages.
fn middle<P: Pages>(pages: &P, order: Order, objective: Objective) -> std::result::Result<(f64, bool), P::Error> {
    let (mut logs, mut n, mut seen) = (0.0, 0.0, 0);
    let share = pages.sample(&mut |chunk| {
        seen += chunk.len();
        for page in (0..chunk.len()).map(|i| chunk.one(i)).filter(One::is_legal) {
            if page.rate > 0.0 && page.weight > 0.0 {
                logs += resistance(&page, order, objective).ln();
                n += 1.0;
            }
        }
    })?;
    // A power of two: so the buckets of all outlooks are the same, and merging them makes no more.
    let base = if n > 0.0 { (-logs / n / std::f64::consts::LN_2).round().exp2() } else { 1.0 };
    Ok((base, share == 1.0 && seen <= FEW))
}

fn check_bound(pages: usize) -> Result<()> {
    if pages <= MOST_BOUND {
        return Ok(());
    }
    Err(Error::Inconsistent(format!(
        "an outlook keeps at most {MOST_BOUND} pages with bounds or curves of their own, got {pages}"
    )))
}

fn resistance(page: &One, order: Order, objective: Objective) -> f64 {
    let table = Reciprocal::of(order, objective);
    let cliff = objective.ceiling();
    match objective.time_power() {
        2 => Optimal::<true> { table, cliff }.place(page).1,
        _ => Optimal::<false> { table, cliff }.place(page).1,
    }
}

impl Reading {
    fn of<P: Pages>(
        pages: &P,
        order: Order,
        objective: Objective,
        around: Option<f64>,
    ) -> std::result::Result<Reading, P::Error> {
        let (base, is_few) = middle(pages, order, objective)?;
        let rule = Optimal::<false> { table: Reciprocal::of(order, objective), cliff: objective.ceiling() };
        let near = around.map_or(f64::INFINITY..f64::INFINITY, |price| {
            // Of a bucket at the end of what is kept a part is missing: a wider stretch is kept than is told.
            let cliff = Window { base: price, width: NEAR * NEAR }.cliff(rule, Shape::Exponential);
            cliff.start / price..cliff.end / price
        });
        Ok(Reading { order, objective, base, is_few, near })
    }

    /// The prices that are told exactly.
    fn exact(&self, around: Option<f64>) -> (f64, f64) {
        match around {
            _ if self.is_few || self.objective.ceiling().is_infinite() => (0.0, f64::INFINITY),
            Some(price) => (price / NEAR, price * NEAR),
            None => (f64::INFINITY, 0.0),
        }
    }
}

impl Part {
    fn of<const SQUARED: bool>(chunk: Columns<'_>, reading: &Reading) -> std::result::Result<Part, BadPage> {
        let Reading { order, objective, base, is_few, near } = reading;
        let rule = Optimal::<SQUARED> { table: Reciprocal::of(*order, *objective), cliff: objective.ceiling() };
        let mut part = Part {
            histogram: Histogram::new(),
            bound: Vec::new(),
            bound_count: 0,
            idle: 0.0,
            weight: 0.0,
            changing: 0.0,
        };
        for i in 0..chunk.len() {
            let page = chunk.one(i);
            if !page.is_legal() {
                return Err((i, page.illness()));
            }
            part.weight += page.count * page.weight;
            if rule.is_out(&page) {
                part.idle += page.count * page.cost * page.promise;
                continue;
            }
            part.changing += page.count * page.weight;
            let (scale, y) = rule.place(&page);
            let kinked = Kinked::new(&page, (scale, y), (page.promise, page.most));
            let is_bound = *is_few || page.promise > 0.0 || page.most < f64::INFINITY || near.contains(&y);
            if is_bound || !rule.is_tabled(page.shape) || !part.histogram.add(base * y, kinked.mass) {
                part.bound.push(kinked);
            }
        }
        // Rates that were estimated from few visits are few: all pages of one may be given up at about the price.
        if !near.is_empty() {
            unite_equal(&mut part.bound);
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_pages_with_bounds_are_counted_and_not_kept() {
        let outlook = |pages: usize| {
            let (rates, periods) = (vec![1.0; pages], vec![2.0; pages]);
            let columns = Columns { min_period: Some(&periods), ..Columns::new(&rates) };
            Outlook::of(&columns, Order::Fixed, Objective::Freshness)
        };
        assert_eq!(outlook(MOST_BOUND).unwrap().bound.len(), MOST_BOUND);
        let said = outlook(MOST_BOUND + 1).unwrap_err().to_string();
        assert!(said.ends_with(&format!("got {}", MOST_BOUND + 1)), "{said}");
    }

    #[test]
    fn shards_add_up_in_any_order_and_make_no_more_buckets() {
        // Rates of 60 binades, weights that differ from shard to shard, and some bounds.
        let rates: Vec<f64> = (0..90_000).map(|i| 1e-6 * (f64::from(i) / 1500.0).exp2()).collect();
        let weights: Vec<f64> = (0..90_000).map(|i| 1.0 + f64::from(i / 30_000) * 1e3 + f64::from(i % 13)).collect();
        let of = |from: usize, to: usize| {
            let columns = Columns { weight: Some(&weights[from..to]), ..Columns::new(&rates[from..to]) };
            Outlook::of(&columns, Order::Fixed, Objective::Freshness).unwrap()
        };
        let whole = of(0, 90_000);
        let shards = [of(0, 30_000), of(30_000, 60_000), of(60_000, 90_000)];
        assert!(shards.iter().any(|shard| shard.base != shards[0].base), "each has a middle of its own");
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let mut merged = shards[order[0]].clone();
            merged.merge(shards[order[1]].clone()).unwrap();
            merged.merge(shards[order[2]].clone()).unwrap();
            assert!(merged.is_legal());
            assert!(merged.free.len() <= whole.free.len(), "{} {}", merged.free.len(), whole.free.len());
            for budget in [1e-3, 1.0, 1e3, 1e6] {
                let (one, all) = (merged.at_budget(budget).unwrap(), whole.at_budget(budget).unwrap());
                assert!((one.price / all.price - 1.0).abs() < 1e-9, "{budget}: {one:?} {all:?}");
                assert!((one.value - all.value).abs() < 1e-12, "{budget}: {one:?} {all:?}");
            }
        }
        let other = Outlook::of(&Columns::new(&rates), Order::Fixed, Objective::Age).unwrap();
        let said = whole.clone().merge(other).unwrap_err().to_string();
        assert!(said.ends_with("got one for Freshness in Fixed order and one for Age in Fixed order"), "{said}");
    }

    #[test]
    fn with_what_is_promised_the_next_visit_gains_the_most_there_is() {
        // A page that is promised a visit a day and a free one, which gains 1/λ, two days, by its first visit.
        let (rates, periods) = ([1.0, 0.5], [1.0, f64::INFINITY]);
        let columns = Columns { max_period: Some(&periods), ..Columns::new(&rates) };
        let outlook = Outlook::of(&columns, Order::Fixed, Objective::Freshness).unwrap();
        let least = outlook.spending(f64::MAX).0;
        let point = outlook.at_budget(least).unwrap();
        assert!((point.price - 2.0).abs() < 1e-9 && point.spending == least, "{point:?}");
        let next = outlook.at_budget(least + 1e-3).unwrap();
        assert!(((next.value - point.value) / 1e-3 / point.gain - 1.0).abs() < 1e-3, "{next:?} {point:?}");
    }
}
