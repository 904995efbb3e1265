use super::{About, Policy, Pricing, Visit};
use crate::kernel::Reciprocal;
use crate::order::{Objective, Order};
use crate::units::Period;

/// Every page equally often (CGM03 section 5): the period is the price.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform;

impl Policy for Uniform {
    type Memory = ();

    fn remember(&self, _: &About, _: f64, _: &[u64]) {}

    fn observe(&self, _: &About, (): &mut (), _: &Visit<'_>) {}

    fn period(&self, _: &About, (): &(), price: f64) -> Period {
        Period::raw(price)
    }
}

/// Pages that change twice as often are visited twice as often (CGM03 section 5), at known rates: `I = price/λ`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proportional;

impl Policy for Proportional {
    type Memory = ();

    fn remember(&self, _: &About, _: f64, _: &[u64]) {}

    fn observe(&self, _: &About, (): &mut (), _: &Visit<'_>) {}

    fn period(&self, about: &About, (): &(), price: f64) -> Period {
        Period::raw(price / about.rate.per_second())
    }
}

/// The optimum at known rates of Poisson sources (CGM03 section 5.3), for any objective; periods to 1e-9.
#[derive(Clone, Copy, Debug)]
pub struct Known(pub Objective);

impl Policy for Known {
    type Memory = ();

    fn remember(&self, _: &About, _: f64, _: &[u64]) {}

    fn observe(&self, _: &About, (): &mut (), _: &Visit<'_>) {}

    fn period(&self, about: &About, (): &(), price: f64) -> Period {
        // `u(λ I) = threshold λ^p`, by the table that plans use: a simulation asks for each page at each price.
        let rate = about.rate.per_second();
        let y = about.threshold(price) * rate.powi(self.0.time_power());
        let frequency = rate * Reciprocal::of(Order::Fixed, self.0).at(y);
        if frequency > 0.0 { Period::raw(frequency.recip()) } else { Period::NEVER }
    }
}

/// A policy without a price: every free visit goes to the page whose `w U(elapsed)/c` is largest.
///
/// With many pages to choose from, the utility at which pages are visited hardly moves: it is the price that a solver would have
/// found, so that the frequencies are the same, and it follows a changing budget at once.
#[derive(Clone, Copy, Debug)]
pub struct Greedy<P>(pub P);

impl<P: Policy> Policy for Greedy<P> {
    type Memory = P::Memory;

    fn remember(&self, about: &About, now_s: f64, fragments: &[u64]) -> P::Memory {
        self.0.remember(about, now_s, fragments)
    }

    fn observe(&self, about: &About, memory: &mut P::Memory, visit: &Visit<'_>) {
        self.0.observe(about, memory, visit);
    }

    fn period(&self, about: &About, memory: &P::Memory, price: f64) -> Period {
        self.0.period(about, memory, price)
    }

    fn learn(&mut self, pages: &[(&About, &P::Memory)]) {
        self.0.learn(pages);
    }

    fn pricing(&self) -> Pricing {
        Pricing::Ranked
    }
}
