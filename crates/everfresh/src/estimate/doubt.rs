use super::{Prior, Sightings};
use crate::numeric::{digamma, gamma_shares, shape_of_log_gap};
use rayon::prelude::*;
use std::collections::BTreeMap;

impl Prior {
    /// The prior that these pages tell of, with what they leave open of it; none where they were not watched for any time.
    ///
    /// The likeliest prior is too sure of itself: pages that were visited twice tell one number (how many changed) of a law that has two,
    /// and pages that had changed at every visit bound rates from below only. So all priors are weighed by the likelihood of the pages instead of
    /// taking the likeliest, with a weak hyperprior. ln α is normal around ln ½ with a deviation of 1. The logarithm of the mean rate is
    /// normal around that of changes over time, which changes that hide others make too low: with a deviation of `0.3 + 4 s`, s being the share of the
    /// time that lies between a visit and one that found a change, at most 3 (a factor of 20), and what few changes leave open.
    ///
    /// The answer is the gamma law with the mean ln λ of a new page under all of them, `E(ψ(α) - ln β)`, and their geometric mean of mean
    /// rates. With much data it is the likeliest prior. Its mean is at most that factor above what the fastest page alone tells of itself: where
    /// some pages change at every visit and others hardly ever, the tail that a gamma law needs for both would have the mean.
    ///
    /// Beyond some hundreds of changes between two visits nothing helps but to visit more often, or dates of last changes.
    ///
    /// ```
    /// use everfresh::estimate::{Observation, Prior, Sightings};
    /// use everfresh::{Period, Unit};
    /// let day = Period::of(1.0, Unit::Day)?;
    /// let (mut changed, mut quiet) = (Sightings::NONE, Sightings::NONE);
    /// changed.observe(&Observation::changed(day)?);
    /// quiet.observe(&Observation::unchanged(day)?);
    /// // Half of many pages had changed after a day: all of them ln 2 times a day, or half of them static? Either may be.
    /// let once = Prior::learnt_from(&[changed, quiet].repeat(500)).unwrap();
    /// assert!(once.alpha() < 0.5);
    /// // Each changed after one of two days: they are alike.
    /// let twice = Prior::learnt_from(&[changed.plus(quiet); 1000]).unwrap();
    /// assert!(twice.alpha() > 5.0 && (twice.mean().per_day() / 2f64.ln() - 1.0).abs() < 0.1);
    /// assert_eq!(Prior::learnt_from(&[]), None);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn learnt_from(pages: &[Sightings]) -> Option<Prior> {
        let guess = Guess::from(pages)?;
        let seen = distinct(pages, guess.mean);
        let mut area = Area::whole(guess);
        let mut nodes = area.nodes(&seen);
        // Where much is known, the whole is too coarse.
        for _ in 0..2 {
            area = area.around(&nodes);
            nodes = area.nodes(&seen);
        }
        let fastest = pages.iter().filter_map(Sightings::alone).map(|own| own.mean().per_second()).fold(0.0, f64::max);
        new_page(&nodes).map(|prior| no_faster(prior, MOST_SPREAD.exp() * fastest))
    }
}

/// The same form with a mean rate per second of at most so much.
fn no_faster(prior: Prior, fastest: f64) -> Prior {
    if prior.mean().per_second() > fastest { Prior::raw(prior.alpha(), prior.alpha() / fastest) } else { prior }
}

/// What is thought of the mean rate before pages are asked one by one: ln of it, per second, and the deviation of that.
#[derive(Clone, Copy)]
struct Guess {
    mean: f64,
    spread: f64,
}

/// How much changes that hide others may raise the mean rate: nearly nothing, and as much more as visits find changes; at most so much.
const LEAST_SPREAD: f64 = 0.3;
const HIDDEN_SPREAD: f64 = 4.0;
const MOST_SPREAD: f64 = 3.0;

impl Guess {
    fn from(pages: &[Sightings]) -> Option<Guess> {
        let all = pages.iter().fold([0.0; 3], |sums, page| {
            let told = page.totals();
            [sums[0] + told.changes, sums[1] + told.quiet, sums[2] + told.within]
        });
        let [changes, quiet, within] = all;
        let time = quiet + within;
        let spread = (LEAST_SPREAD + HIDDEN_SPREAD * within / time).hypot((changes + 0.5).sqrt().recip());
        let guess = Guess { mean: ((changes + 0.5) / time).ln(), spread: spread.min(MOST_SPREAD) };
        (time > 0.0 && guess.mean.is_finite()).then_some(guess)
    }
}

/// Different pages that are asked at most.
const PAGES: usize = 2048;

/// Rates in cells of ln λ: their width, and how far below and above the guess they reach. What lies beyond falls into the outermost.
const WIDTH: f64 = 0.15;
const BELOW: f64 = 25.0;
const CELLS: u32 = 300;

/// A page that saw more changes than this counts as if it had seen so many: its likelihood must be wider than a cell.
const MOST_CHANGES: f64 = 150.0;

/// What a page saw: the likelihood of the rates of some cells, of others 0; and how many pages saw the same.
struct Seen {
    pages: f64,
    from: usize,
    likely: Vec<f64>,
}

/// Pages that saw the same are asked once; of too many different ones some, evenly by what they saw.
fn distinct(pages: &[Sightings], middle: f64) -> Vec<Seen> {
    let mut known: BTreeMap<[u32; 5], (f64, Sightings)> = BTreeMap::new();
    for page in pages {
        let page = page.with_at_most(MOST_CHANGES);
        known.entry(page.key()).or_insert((0.0, page)).0 += 1.0;
    }
    let step = known.len().div_ceil(PAGES).max(1);
    let some: Vec<_> = known.into_values().step_by(step).collect();
    let each = pages.len() as f64 / some.iter().map(|(pages, _)| pages).sum::<f64>();
    some.par_iter().map(|(pages, page)| Seen::new(pages * each, page, middle)).collect()
}

/// The middle of a cell, in ln λ.
fn cell(number: u32, middle: f64) -> f64 {
    middle - BELOW + (f64::from(number) + 0.5) * WIDTH
}

impl Seen {
    fn new(pages: f64, page: &Sightings, middle: f64) -> Seen {
        let logs: Vec<f64> = page.log_likelihoods((0..CELLS).map(|number| cell(number, middle)));
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let counts = |log: &f64| *log > top - 30.0;
        let from = logs.iter().position(counts).unwrap_or(0);
        let to = logs.iter().rposition(counts).map_or(from, |last| last + 1);
        Seen { pages, from, likely: logs[from..to].iter().map(|log| (log - top).exp()).collect() }
    }

    /// The logarithm of the probability under a prior, by the shares of the cells, up to a constant.
    fn log_probability(&self, shares: &[f64]) -> f64 {
        let there = self.likely.iter().zip(&shares[self.from..]).map(|(likely, share)| likely * share);
        there.sum::<f64>().max(f64::MIN_POSITIVE).ln()
    }
}

/// Which share of the rates lies in each cell.
fn shares(prior: &Prior, middle: f64) -> Vec<f64> {
    let up_to = |number: u32| match number {
        0 => (0.0, 1.0),
        CELLS => (1.0, 0.0),
        _ => gamma_shares(prior.alpha(), prior.beta().seconds() * (cell(number, middle) - 0.5 * WIDTH).exp()),
    };
    let mut before = up_to(0);
    let share = |number: u32| {
        let (from, to) = (before, up_to(number));
        before = to;
        // The smaller of both shares has the digits.
        if from.0 > 0.5 { from.1 - to.1 } else { to.0 - from.0 }
    };
    (1..=CELLS).map(share).collect()
}

/// The hyperprior: the middle of ln α and its deviation.
const MIDDLE_SHAPE: f64 = -std::f64::consts::LN_2;
const SHAPE_SPREAD: f64 = 1.0;

/// Priors to be weighed: ranges of ln α and of ln of the mean rate per second.
#[derive(Clone, Copy)]
struct Area {
    shapes: (f64, f64),
    means: (f64, f64),
    guess: Guess,
}

/// A prior, by ln α and ln of the mean rate, and the logarithm of its weight.
#[derive(Clone, Copy)]
struct Node {
    shape: f64,
    mean: f64,
    weight: f64,
}

/// Priors along each side, and the logarithm of the weight, below that of the best, from which they do not count.
const SIDE: u32 = 19;
const DROP: f64 = 12.0;

impl Area {
    /// All that the hyperprior allows. The guess is low where changes hide others, never much too high.
    fn whole(guess: Guess) -> Area {
        let (from, to) = (guess.mean - 3.0, guess.mean + 11.0);
        Area { shapes: (MIDDLE_SHAPE - 3.0, MIDDLE_SHAPE + 5.0), means: (from, to), guess }
    }

    fn nodes(&self, seen: &[Seen]) -> Vec<Node> {
        let at = |(from, to): (f64, f64), place: u32| from + (to - from) * f64::from(place) / f64::from(SIDE - 1);
        let node = |number: u32| {
            let (shape, mean) = (at(self.shapes, number / SIDE), at(self.means, number % SIDE));
            let shares = shares(&Prior::raw(shape.exp(), (shape - mean).exp()), self.guess.mean);
            let told: f64 = seen.iter().map(|seen| seen.pages * seen.log_probability(&shares)).sum();
            let (x, y) = ((shape - MIDDLE_SHAPE) / SHAPE_SPREAD, (mean - self.guess.mean) / self.guess.spread);
            Node { shape, mean, weight: told - 0.5 * (x * x + y * y) }
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

/// The gamma law of a new page's rate, by the means of ln λ and of ln of the mean rate; none where no prior has a weight.
fn new_page(nodes: &[Node]) -> Option<Prior> {
    let top = nodes.iter().map(|node| node.weight).fold(f64::NEG_INFINITY, f64::max);
    let (mut total, mut means, mut gaps) = (0.0, 0.0, 0.0);
    for node in nodes {
        let weight = (node.weight - top).exp();
        total += weight;
        means += weight * node.mean;
        gaps += weight * (node.shape - digamma(node.shape.exp()));
    }
    let alpha = shape_of_log_gap(gaps / total);
    let beta = alpha / (means / total).exp();
    (alpha.is_finite() && beta.is_normal()).then(|| Prior::raw(alpha, beta))
}
