use super::hierarchy::shape_of_log_variance;
use super::{Prior, Sightings};
use crate::numeric::{digamma, trigamma};
use crate::units::Rate;
use rayon::prelude::*;
use std::collections::BTreeMap;

impl Prior {
    /// A prior that was learnt from these pages, with what they leave open of it.
    ///
    /// Where most pages had changed at every visit, their rates are bounded from below only, and so is what can be learnt of rates in
    /// general: the likelihood of a prior hardly falls as its mean grows, and the likeliest one says where nothing was seen how alike
    /// pages are. Then all priors are weighed instead of taking the likeliest, with a weak hyperprior: ln α is normal around ln ½ with a
    /// deviation of 1, and the logarithm of the mean rate around that of `guess` with a deviation of 3, a factor of 20 up or
    /// down. The answer is the gamma law whose ln λ has the same mean and variance as that of a new page under all of them:
    /// `E ln λ = E(ψ(α) - ln β)` and `Var ln λ = E ψ'(α) + Var(ψ(α) - ln β)`.
    ///
    /// Where half of the pages or more had a quiet visit, or dates, the prior stays as it is. `guess` is a rate of the right
    /// magnitude for visits that see every change: changes seen over the time watched.
    ///
    /// Beyond some hundreds of changes between two visits nothing helps but to visit more often, or dates of last changes.
    ///
    /// ```
    /// use everfresh::estimate::{Observation, Prior, Sightings};
    /// use everfresh::{Period, Unit};
    /// let mut seen = Sightings::NONE;
    /// for _ in 0..10 {
    ///     seen.observe(&Observation::changed(Period::of(1.0, Unit::Day)?)?);
    /// }
    /// // A hundred pages, all of them changed at each of ten daily visits: ten times a day, or hundreds?
    /// let learnt = Prior::new(9.0, "10/day".parse()?)?;
    /// let doubting = learnt.with_doubt(&[seen; 100], "1/day".parse()?);
    /// let above = |prior| seen.estimate(prior).interval.high.map(|high| high.per_day());
    /// assert!(above(learnt).unwrap() < 20.0 && above(doubting).unwrap() > 200.0);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    #[must_use]
    pub fn with_doubt(self, pages: &[Sightings], guess: Rate) -> Prior {
        let unbounded = pages.iter().filter(|page| page.is_unbounded()).count();
        if 2 * unbounded <= pages.len() || guess == Rate::STATIC {
            return self;
        }
        let seen = distinct(pages);
        let mut area = Area::whole(guess.per_second().ln());
        let mut nodes = area.nodes(&seen);
        // Where much is known, the whole is too coarse.
        for _ in 0..2 {
            area = area.around(&nodes);
            nodes = area.nodes(&seen);
        }
        new_page(&nodes).unwrap_or(self)
    }
}

/// Pages that are asked at most.
const PAGES: usize = 256;

/// Pages that saw the same, and how many of all they stand for.
fn distinct(pages: &[Sightings]) -> Vec<(f64, Sightings)> {
    let some = pages.iter().step_by(pages.len().div_ceil(PAGES).max(1));
    let each = pages.len() as f64 / some.len() as f64;
    let mut known: BTreeMap<[u32; 5], (f64, Sightings)> = BTreeMap::new();
    for page in some {
        known.entry(page.key()).or_insert((0.0, *page)).0 += each;
    }
    known.into_values().collect()
}

/// The hyperprior: the middle of ln α and the deviations of ln α and of ln of the mean rate.
const MIDDLE_SHAPE: f64 = -std::f64::consts::LN_2;
const SHAPE_SPREAD: f64 = 1.0;
const MEAN_SPREAD: f64 = 3.0;

/// Priors to be weighed: ranges of ln α and of ln of the mean rate per second.
#[derive(Clone, Copy)]
struct Area {
    shapes: (f64, f64),
    means: (f64, f64),
    guess: f64,
}

/// A prior, by ln α and ln of the mean rate, and the logarithm of its weight.
#[derive(Clone, Copy)]
struct Node {
    shape: f64,
    mean: f64,
    weight: f64,
}

/// Priors along each side, and the logarithm of the weight, below that of the best, from which they do not count.
const SIDE: u32 = 21;
const DROP: f64 = 12.0;

impl Area {
    /// All that the hyperprior allows. The guess is low where changes hide others, never much too high.
    fn whole(guess: f64) -> Area {
        Area { shapes: (MIDDLE_SHAPE - 3.0, MIDDLE_SHAPE + 4.0), means: (guess - 3.0, guess + 11.0), guess }
    }

    fn nodes(&self, seen: &[(f64, Sightings)]) -> Vec<Node> {
        let at = |(from, to): (f64, f64), place: u32| from + (to - from) * f64::from(place) / f64::from(SIDE - 1);
        let node = |number: u32| {
            let (shape, mean) = (at(self.shapes, number / SIDE), at(self.means, number % SIDE));
            let prior = Prior::raw(shape.exp(), (shape - mean).exp());
            let told: f64 = seen.iter().map(|(pages, seen)| pages * seen.log_probability(&prior)).sum();
            let hyper = ((shape - MIDDLE_SHAPE) / SHAPE_SPREAD).powi(2) + ((mean - self.guess) / MEAN_SPREAD).powi(2);
            Node { shape, mean, weight: told - 0.5 * hyper }
        };
        (0..SIDE * SIDE).into_par_iter().map(node).collect()
    }

    /// The part of it where priors count, and a step more on every side.
    fn around(&self, nodes: &[Node]) -> Area {
        let top = nodes.iter().map(|node| node.weight).fold(f64::NEG_INFINITY, f64::max);
        let count = || nodes.iter().filter(|node| node.weight > top - DROP);
        let range = |of: fn(&Node) -> f64, (from, to): (f64, f64)| {
            let step = (to - from) / f64::from(SIDE - 1);
            let (low, high) = count().map(of).fold((to, from), |(low, high), at| (low.min(at), high.max(at)));
            (low - step, high + step)
        };
        Area {
            shapes: range(|node| node.shape, self.shapes),
            means: range(|node| node.mean, self.means),
            guess: self.guess,
        }
    }
}

/// The gamma law of a new page's rate, by the mean and the variance of its logarithm; none where no prior has a weight.
fn new_page(nodes: &[Node]) -> Option<Prior> {
    let top = nodes.iter().map(|node| node.weight).fold(f64::NEG_INFINITY, f64::max);
    let (mut total, mut log, mut squares, mut within) = (0.0, 0.0, 0.0, 0.0);
    for node in nodes {
        let (alpha, weight) = (node.shape.exp(), (node.weight - top).exp());
        let mean_log = digamma(alpha) + node.mean - node.shape;
        total += weight;
        log += weight * mean_log;
        squares += weight * mean_log * mean_log;
        within += weight * trigamma(alpha);
    }
    let mean_log = log / total;
    let variance = within / total + (squares / total - mean_log * mean_log).max(0.0);
    let alpha = shape_of_log_variance(variance);
    let beta = (digamma(alpha) - mean_log).exp();
    (alpha.is_finite() && beta.is_normal()).then(|| Prior::raw(alpha, beta))
}
