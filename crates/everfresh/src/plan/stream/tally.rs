//! What a plan gives, summed over pages.

use super::columns::{BLOCK, Columns, One};
use crate::curve::Shape;
use crate::numeric::Sum;
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

/// How well a copy is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fate {
    /// The share of time that it is fresh.
    pub freshness: f64,
    /// Its mean age in seconds.
    pub age: f64,
}

impl Fate {
    /// Of a copy whose source never changes.
    const FRESH: Fate = Fate { freshness: 1.0, age: 0.0 };
    /// Of one that is never visited.
    const LEFT: Fate = Fate { freshness: 0.0, age: f64::INFINITY };

    /// Of a page that is visited with some frequency.
    #[inline(always)]
    pub(super) fn of(order: Order, page: &One, frequency: f64) -> Fate {
        if page.rate == 0.0 {
            return Fate::FRESH;
        }
        if frequency == 0.0 {
            return Fate::LEFT;
        }
        let r = page.rate / frequency;
        let (freshness, age_in_periods) = match page.shape {
            Shape::Exponential => order.freshness_and_age(r),
            shape => shape.freshness_and_age(r),
        };
        Fate { freshness, age: age_in_periods / frequency }
    }

    /// The same for a block of pages without shapes. Those that are visited are found first, and of these such that change less
    /// and more often than they are visited, which have different formulas: no branch depends on a page.
    fn of_block(order: Order, rates: &[f64], frequencies: &[f64], fates: &mut [Fate]) {
        let (mut rarely, mut often) = ([0; BLOCK], [0; BLOCK]);
        let (mut rare, mut many) = (0, 0);
        for (i, (rate, frequency)) in rates.iter().zip(frequencies).enumerate() {
            let r = rate / frequency;
            fates[i] = if *rate == 0.0 { Fate::FRESH } else { Fate::LEFT };
            rarely[rare] = i;
            rare += usize::from((r > 0.0) & (r < 1.0));
            often[many] = i;
            many += usize::from((1.0..f64::INFINITY).contains(&r));
        }
        let mut answer = |list: &[usize]| {
            for &i in list {
                let (freshness, age_in_periods) = order.freshness_and_age(rates[i] / frequencies[i]);
                fates[i] = Fate { freshness, age: age_in_periods / frequencies[i] };
            }
        };
        answer(&rarely[..rare]);
        answer(&often[..many]);
    }

    /// The same for pages in columns.
    pub(super) fn of_all(order: Order, columns: Columns<'_>, frequencies: &[f64], fates: &mut [Fate]) {
        if columns.shape.is_some() {
            for (i, fate) in fates[..columns.len()].iter_mut().enumerate() {
                *fate = Fate::of(order, &columns.one(i), frequencies[i]);
            }
            return;
        }
        let blocks = columns.rate.chunks(BLOCK).zip(frequencies.chunks(BLOCK)).zip(fates.chunks_mut(BLOCK));
        blocks.for_each(|((rates, frequencies), fates)| Fate::of_block(order, rates, frequencies, fates));
    }
}

impl Part {
    /// Counts a page.
    #[inline(always)]
    pub(super) fn add(&mut self, order: Order, with_harmonic: bool, page: &One, frequency: f64, fate: Fate) {
        let weight = page.count * page.weight;
        self.pages += page.count;
        self.visits += page.count * frequency;
        self.spending += page.count * page.cost * frequency;
        self.weight += weight;
        self.fresh += weight * fate.freshness;
        // Choices, not branches: which pages are visited cannot be foreseen.
        let is_kept = fate.age < f64::INFINITY;
        self.kept_weight += if is_kept { weight } else { 0.0 };
        self.kept_age += weight * if is_kept { fate.age } else { 0.0 };
        // A page without weight counts for nothing, not even where its penalty is infinite.
        if with_harmonic && page.rate > 0.0 && weight > 0.0 {
            self.harmonic += weight * order.harmonic(page.rate / frequency);
        }
    }

    pub(super) fn count(&mut self, page: &One, frequency: f64, reason: Reason) {
        let is_left = frequency == 0.0 && matches!(reason, Reason::TooExpensive { .. } | Reason::AtHostCap);
        self.given_up += if is_left { page.count } else { 0.0 };
        self.static_pages += if page.rate == 0.0 { page.count } else { 0.0 };
    }
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
