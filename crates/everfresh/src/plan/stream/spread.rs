//! How weight is spread over rates: all that the uniform and the proportional allocation without limits depend on.

use super::columns::{BLOCK, Columns};
use super::histogram::{Filled, Histogram};
use crate::numeric::{Sum, lanes_of};
use crate::order::{Objective, Order};
use crate::plan::{Allocation, Kept, Totals};
use crate::units::{Frequency, Period, Unit};
use fearless_simd::{Level, dispatch};

/// Buckets per binade as powers of two.
type Rates = Histogram<6, 6>;

/// The distribution of weight over rates; those of parts add up.
#[derive(Clone, Debug)]
pub struct Spread {
    histogram: Rates,
    /// Rate and weight of pages beyond the reach of the histogram.
    far: Vec<(f64, f64)>,
    static_weight: Sum,
    /// The sums of counts, of costs, and of costs times rates, of pages that change.
    pages: Sum,
    cost: Sum,
    cost_times_rate: Sum,
    times_rate: Sum,
}

impl Default for Spread {
    fn default() -> Self {
        let [static_weight, pages, cost, cost_times_rate, times_rate] = [Sum::default(); 5];
        Spread { histogram: Histogram::new(), far: Vec::new(), static_weight, pages, cost, cost_times_rate, times_rate }
    }
}

impl Spread {
    /// Adds pages, which must be legal.
    pub fn add(&mut self, columns: Columns<'_>) {
        for start in (0..columns.len()).step_by(BLOCK) {
            let block = columns.part(start, columns.len().min(start + BLOCK));
            dispatch!(Level::new(), _ => self.add_block(block));
        }
    }

    /// Adds a block of pages. One loop for each step, as in a plan's own histogram.
    #[inline(always)]
    fn add_block(&mut self, block: Columns<'_>) {
        let (n, ones, mut masses) = (block.len(), [1.0; BLOCK], [0.0; BLOCK]);
        let [weights, counts, costs] =
            [block.weight, block.count, block.cost].map(|column| column.unwrap_or(&ones[..n]));
        let rates = block.rate;
        for ((mass, count), weight) in masses.iter_mut().zip(counts).zip(weights) {
            *mass = count * weight;
        }
        let masses = &masses[..n];
        let (mut paid, mut addresses, mut moments) = ([0.0; BLOCK], [0; BLOCK], [[0.0; 4]; BLOCK]);
        for ((paid, count), cost) in paid.iter_mut().zip(counts).zip(costs) {
            *paid = count * cost;
        }
        let paid = &paid[..n];
        for (sum, part) in [
            (&mut self.static_weight, lanes_of(rates, masses, |rate, mass| if rate == 0.0 { mass } else { 0.0 })),
            (&mut self.pages, lanes_of(rates, counts, |rate, count| if rate == 0.0 { 0.0 } else { count })),
            (&mut self.cost, lanes_of(rates, paid, |rate, paid| if rate == 0.0 { 0.0 } else { paid })),
            (&mut self.cost_times_rate, lanes_of(rates, paid, |rate, paid| rate * paid)),
            (&mut self.times_rate, lanes_of(rates, counts, |rate, count| rate * count)),
        ] {
            sum.add(part);
        }
        for (((address, moments), rate), mass) in addresses.iter_mut().zip(&mut moments).zip(rates).zip(masses) {
            let u;
            (*address, u) = Rates::address(rate * Unit::Day.seconds());
            *moments = Rates::moments(*mass, u);
        }
        // Static pages belong into no bucket either.
        let is_far = |i: &usize| (addresses[*i] == Rates::NOWHERE) & (rates[*i] > 0.0);
        if (0..n).fold(false, |any, i| any | is_far(&i)) {
            self.far.extend((0..n).filter(is_far).map(|i| (rates[i], masses[i])));
        }
        for (address, moments) in addresses[..n].iter().zip(&moments) {
            self.histogram.add_at(*address, moments);
        }
    }

    /// All weight.
    pub fn weight(&self) -> f64 {
        self.sum(&self.histogram.filled(), &|_| 1.0) + self.static_weight.value()
    }

    /// Adds another part of the pages.
    pub fn merge(&mut self, other: &Spread) {
        self.histogram.merge(&other.histogram);
        self.far.extend(&other.far);
        for (sum, part) in [
            (&mut self.static_weight, other.static_weight),
            (&mut self.pages, other.pages),
            (&mut self.cost, other.cost),
            (&mut self.cost_times_rate, other.cost_times_rate),
            (&mut self.times_rate, other.times_rate),
        ] {
            sum.add(part.value());
        }
    }

    /// What the uniform or the proportional allocation of a budget, in cost per second, gives. The harmonic penalty is there
    /// only if it is the objective.
    pub fn totals(&self, allocation: Allocation, order: Order, objective: Objective, budget: f64) -> Totals {
        let by_rate = allocation == Allocation::Proportional;
        let shares = if by_rate { self.cost_times_rate.value() } else { self.cost.value() };
        // Visits per second of a page, over its rate where it is in proportion.
        let unit = if shares > 0.0 { budget / shares } else { 0.0 };
        let ratio = |rate: f64| if by_rate { unit.recip() } else { rate / unit };
        let filled = self.histogram.filled();
        let sum = |value: &dyn Fn(f64) -> f64| self.sum(&filled, value);
        let changing = sum(&|_| 1.0);
        let weight = changing + self.static_weight.value();
        let fresh = sum(&|rate| order.freshness(ratio(rate)));
        // Without visits every page that changes grows old for ever.
        let age = sum(&|rate| order.age_in_periods(ratio(rate)) * ratio(rate) / rate);
        let is_kept = unit > 0.0 || changing == 0.0;
        let harmonic = if objective == Objective::Harmonic { sum(&|rate| order.harmonic(ratio(rate))) } else { 0.0 };
        let kept_weight = if is_kept { weight } else { self.static_weight.value() };
        let kept_age = if is_kept { age } else { 0.0 };
        Totals {
            visits: Frequency::raw(unit * if by_rate { self.times_rate.value() } else { self.pages.value() }),
            spending_per_second: if shares > 0.0 { budget } else { 0.0 },
            freshness: (fresh + self.static_weight.value()) / weight,
            age: if is_kept { Period::raw(kept_age / weight) } else { Period::NEVER },
            kept: (kept_weight > 0.0)
                .then(|| Kept { age: Period::raw(kept_age / kept_weight), weight_share: kept_weight / weight }),
            harmonic: harmonic / weight,
            weight,
        }
    }

    /// The sum of weight times a function of the rate, over all pages that change.
    fn sum(&self, filled: &Filled, value: &dyn Fn(f64) -> f64) -> f64 {
        let (near, _) = filled.sums(|x| (value(x / Unit::Day.seconds()), 0.0));
        near + self.far.iter().map(|(rate, weight)| weight * value(*rate)).sum::<f64>()
    }
}
