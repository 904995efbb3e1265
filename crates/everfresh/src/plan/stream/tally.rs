//! What a plan gives, summed over pages.

use super::STRETCH;
use super::columns::{BLOCK, Columns, One};
use crate::curve::Shape;
use crate::numeric::{Phi, Sum, lanes, lanes_of};
use crate::order::Order;
use crate::plan::{Kept, Reason, Totals};
use crate::units::{Frequency, Period};

/// Sums over some pages of a plan; those of parts add up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// How many pages there are.
    pub pages: f64,
    /// How many are not visited because no visit gains the price, of the plan or of their host.
    pub given_up: f64,
    /// How many do not change.
    pub static_pages: f64,
    visits: Sum,
    spending: Sum,
    weight: Sum,
    fresh: Sum,
    kept_weight: Sum,
    kept_age: Sum,
    harmonic: Sum,
}

/// The same of a few thousand pages at most: plain sums, which lose nothing that counts over so few.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pages: f64,
    given_up: f64,
    static_pages: f64,
    visits: f64,
    spending: f64,
    weight: f64,
    fresh: f64,
    kept_weight: f64,
    kept_age: f64,
    harmonic: f64,
}

/// How well the copies of some pages are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Fates {
    /// The share of time that each is fresh.
    pub freshness: Vec<f64>,
    /// Its mean age in seconds.
    pub age: Vec<f64>,
}

/// Freshness and age of a copy whose source never changes, and of one that is never visited.
const FRESH: (f64, f64) = (1.0, 0.0);
const LEFT: (f64, f64) = (0.0, f64::INFINITY);

impl Fates {
    pub(super) fn with_room(pages: usize) -> Self {
        Fates { freshness: vec![0.0; pages], age: vec![0.0; pages] }
    }

    /// Those of pages in columns that are visited with some frequencies.
    #[inline(always)]
    pub(super) fn fill(&mut self, order: Order, columns: Columns<'_>, frequencies: &[f64]) {
        if columns.shape.is_some() {
            for (i, frequency) in frequencies[..columns.len()].iter().enumerate() {
                (self.freshness[i], self.age[i]) = fate(order, &columns.one(i), *frequency);
            }
            return;
        }
        let blocks = columns.rate.chunks(BLOCK).zip(frequencies.chunks(BLOCK));
        let fates = self.freshness.chunks_mut(BLOCK).zip(self.age.chunks_mut(BLOCK));
        blocks.zip(fates).for_each(|((rates, frequencies), fates)| fill_block(order, (rates, frequencies), fates));
    }
}

/// The fate of a page that is visited with some frequency.
#[inline(never)]
fn fate(order: Order, page: &One, frequency: f64) -> (f64, f64) {
    if page.rate == 0.0 {
        return FRESH;
    }
    if frequency == 0.0 {
        return LEFT;
    }
    let r = page.rate / frequency;
    let (freshness, age_in_periods) = match page.shape {
        Shape::Exponential => order.freshness_and_age(r),
        shape => shape.freshness_and_age(r),
    };
    (freshness, age_in_periods / frequency)
}

/// The fates of a block of pages without shapes. Those that are visited are found first, and of these such that change less and more
/// often than they are visited, which have different formulas: no branch depends on a page.
#[inline(always)]
fn fill_block(order: Order, (rates, frequencies): (&[f64], &[f64]), (freshness, age): (&mut [f64], &mut [f64])) {
    let mut ratios = [0.0; BLOCK];
    for ((ratio, rate), frequency) in ratios.iter_mut().zip(rates).zip(frequencies) {
        *ratio = rate / frequency;
    }
    for ((rate, freshness), age) in rates.iter().zip(&mut *freshness).zip(&mut *age) {
        (*freshness, *age) = if *rate == 0.0 { FRESH } else { LEFT };
    }
    let (mut rarely, mut often, mut rare, mut many) = ([0; BLOCK], [0; BLOCK], 0, 0);
    let mut small = [0.0; BLOCK];
    for (i, r) in ratios[..rates.len()].iter().enumerate() {
        rarely[rare] = i;
        small[rare] = *r;
        rare += usize::from((*r > 0.0) & (*r < 1.0));
        often[many] = i;
        many += usize::from((1.0..f64::INFINITY).contains(r));
    }
    let mut told = [(0.0, 0.0); BLOCK];
    let told = &mut told[..rare];
    if order == Order::Fixed {
        // As `freshness_and_age` has it, without its choice.
        for (told, r) in told.iter_mut().zip(small) {
            let phi = Phi::downward(r);
            *told = (phi.e1, r * phi.e3);
        }
    } else {
        told.iter_mut().zip(small).for_each(|(told, r)| *told = order.freshness_and_age(r));
    }
    for (&i, (fresh, age_in_periods)) in rarely.iter().zip(told) {
        (freshness[i], age[i]) = (*fresh, *age_in_periods / frequencies[i]);
    }
    for &i in &often[..many] {
        let (fresh, age_in_periods) = order.freshness_and_age(ratios[i]);
        (freshness[i], age[i]) = (fresh, age_in_periods / frequencies[i]);
    }
}

impl Part {
    /// What some pages sum to, at most [`STRETCH`], but for who is given up.
    #[inline(always)]
    pub(super) fn of(
        order: Order,
        with_harmonic: bool,
        columns: Columns<'_>,
        frequencies: &[f64],
        fates: &Fates,
    ) -> Part {
        let n = columns.len();
        let (frequencies, freshness, age) = (&frequencies[..n], &fates.freshness[..n], &fates.age[..n]);
        if !columns.is_plain() {
            return Part::of_any(order, with_harmonic, columns, frequencies, (freshness, age));
        }
        let ones = [1.0; STRETCH];
        let weights = columns.weight.unwrap_or(&ones[..n]);
        let visits = lanes(frequencies);
        Part {
            pages: n as f64,
            static_pages: lanes_of(columns.rate, weights, |rate, _| if rate == 0.0 { 1.0 } else { 0.0 }),
            given_up: 0.0,
            visits,
            spending: visits,
            weight: lanes(weights),
            fresh: lanes_of(weights, freshness, |weight, freshness| weight * freshness),
            // Choices, not branches: which pages are visited cannot be foreseen.
            kept_weight: lanes_of(weights, age, |weight, age| if age < f64::INFINITY { weight } else { 0.0 }),
            kept_age: lanes_of(weights, age, |weight, age| weight * if age < f64::INFINITY { age } else { 0.0 }),
            harmonic: if with_harmonic { harmonic(order, columns, frequencies) } else { 0.0 },
        }
    }

    #[inline(never)]
    fn of_any(
        order: Order,
        with_harmonic: bool,
        columns: Columns<'_>,
        frequencies: &[f64],
        (freshness, age): (&[f64], &[f64]),
    ) -> Part {
        let mut part = Part::default();
        for (i, frequency) in frequencies.iter().enumerate() {
            let page = columns.one(i);
            let weight = page.count * page.weight;
            part.pages += page.count;
            part.static_pages += if page.rate == 0.0 { page.count } else { 0.0 };
            part.visits += page.count * frequency;
            part.spending += page.count * page.cost * frequency;
            part.weight += weight;
            part.fresh += weight * freshness[i];
            let is_kept = age[i] < f64::INFINITY;
            part.kept_weight += if is_kept { weight } else { 0.0 };
            part.kept_age += weight * if is_kept { age[i] } else { 0.0 };
        }
        part.harmonic = if with_harmonic { harmonic(order, columns, frequencies) } else { 0.0 };
        part
    }

    /// Counts a page that is not visited, if that is for its price.
    pub(super) fn count_given_up(&mut self, page: &One, frequency: f64, reason: Reason) {
        let is_left = frequency == 0.0 && matches!(reason, Reason::TooExpensive { .. } | Reason::AtHostCap);
        self.given_up += if is_left { page.count } else { 0.0 };
    }
}

/// The sum of weighted penalties. A page without weight counts for nothing, not even where its penalty is infinite.
#[inline(never)]
fn harmonic(order: Order, columns: Columns<'_>, frequencies: &[f64]) -> f64 {
    let pages = frequencies.iter().enumerate().map(|(i, frequency)| (columns.one(i), frequency));
    let counting = pages.filter(|(page, _)| page.rate > 0.0 && page.weight > 0.0);
    counting.map(|(page, frequency)| page.count * page.weight * order.harmonic(page.rate / frequency)).sum()
}

impl Tally {
    /// Adds a part.
    pub(super) fn add(&mut self, part: &Part) {
        self.pages += part.pages;
        self.given_up += part.given_up;
        self.static_pages += part.static_pages;
        for (sum, part) in [
            (&mut self.visits, part.visits),
            (&mut self.spending, part.spending),
            (&mut self.weight, part.weight),
            (&mut self.fresh, part.fresh),
            (&mut self.kept_weight, part.kept_weight),
            (&mut self.kept_age, part.kept_age),
            (&mut self.harmonic, part.harmonic),
        ] {
            sum.add(part);
        }
    }

    /// Adds what another part of the pages sums to.
    pub fn merge(&mut self, other: &Tally) {
        self.pages += other.pages;
        self.given_up += other.given_up;
        self.static_pages += other.static_pages;
        for (sum, other) in [
            (&mut self.visits, other.visits),
            (&mut self.spending, other.spending),
            (&mut self.weight, other.weight),
            (&mut self.fresh, other.fresh),
            (&mut self.kept_weight, other.kept_weight),
            (&mut self.kept_age, other.kept_age),
            (&mut self.harmonic, other.harmonic),
        ] {
            sum.add(other.value());
        }
    }

    /// The sums and means. The harmonic penalty is there only if it is the objective.
    pub fn totals(&self) -> Totals {
        let weight = self.weight.value();
        let kept_weight = self.kept_weight.value();
        let all_kept = kept_weight >= weight * (1.0 - 1e-12);
        Totals {
            visits: Frequency::raw(self.visits.value()),
            spending_per_second: self.spending.value(),
            freshness: self.fresh.value() / weight,
            age: if all_kept { Period::raw(self.kept_age.value() / weight) } else { Period::NEVER },
            kept: (kept_weight > 0.0).then(|| Kept {
                age: Period::raw(self.kept_age.value() / kept_weight),
                weight_share: kept_weight / weight,
            }),
            harmonic: self.harmonic.value() / weight,
            weight,
        }
    }
}
