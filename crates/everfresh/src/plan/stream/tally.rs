//! What a plan gives, summed over pages.

use super::columns::One;
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

impl Part {
    /// Counts a page, and returns its freshness and its age in seconds.
    #[inline(always)]
    pub(super) fn add(&mut self, order: Order, with_harmonic: bool, page: &One, frequency: f64) -> (f64, f64) {
        let weight = page.count * page.weight;
        self.pages += page.count;
        self.visits += page.count * frequency;
        self.spending += page.count * page.cost * frequency;
        self.weight += weight;
        let (freshness, age) = if page.rate == 0.0 {
            (1.0, 0.0)
        } else if frequency == 0.0 {
            (0.0, f64::INFINITY)
        } else {
            let r = page.rate / frequency;
            let (freshness, age_in_periods) = match page.shape {
                Shape::Exponential => order.freshness_and_age(r),
                shape => shape.freshness_and_age(r),
            };
            (freshness, age_in_periods / frequency)
        };
        self.fresh += weight * freshness;
        if age < f64::INFINITY {
            self.kept_weight += weight;
            self.kept_age += weight * age;
        }
        // A page without weight counts for nothing, not even where its penalty is infinite.
        if with_harmonic && page.rate > 0.0 && weight > 0.0 {
            self.harmonic += weight * order.harmonic(page.rate / frequency);
        }
        (freshness, age)
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
