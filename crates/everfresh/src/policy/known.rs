use super::{About, Policy, Visit};
use crate::curve::{Age, DivergenceCurve, Exponential, Harmonic};
use crate::order::Objective;
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

/// The optimum at known rates of Poisson sources (CGM03 section 5.3), for any objective.
#[derive(Clone, Copy, Debug)]
pub struct Known(pub Objective);

impl Policy for Known {
    type Memory = ();

    fn remember(&self, _: &About, _: f64, _: &[u64]) {}

    fn observe(&self, _: &About, (): &mut (), _: &Visit<'_>) {}

    fn period(&self, about: &About, (): &(), price: f64) -> Period {
        let threshold = about.threshold(price);
        match self.0 {
            Objective::Freshness => Exponential::new(about.rate).period(threshold),
            Objective::Age => Age::new(about.rate).period(threshold),
            Objective::Harmonic => Harmonic::new(about.rate).period(threshold),
        }
    }
}
