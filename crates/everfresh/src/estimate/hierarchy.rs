use super::{Evidence, Prior};
use crate::numeric::{Evaluation, digamma, solve, trigamma};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// What the visits of many pages told, compressed: pages with nearly the same evidence share a bucket.
///
/// The likelihood of a prior depends on the pages only through the distribution of their evidence. A bucket is the first
/// bits of both numbers (eight per octave) and keeps their means, which cancels the first-order error of its width. So a
/// population takes pages in and out in a logarithm of time, adds up over machines, and needs memory only for the buckets.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Population {
    buckets: BTreeMap<(u32, u32), Bucket>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Bucket {
    pages: f64,
    changes: f64,
    exposure: f64,
}

/// Sign, exponent and three bits of the mantissa.
fn first_bits(value: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "evidence has seven digits")]
    let bits = (value as f32).to_bits();
    bits >> 20
}

impl Population {
    /// No pages.
    pub const fn new() -> Population {
        Population { buckets: BTreeMap::new() }
    }

    /// Adds a page.
    pub fn add(&mut self, evidence: Evidence) {
        self.put(evidence, 1.0);
    }

    /// Takes a page out that was added with this very evidence.
    pub fn remove(&mut self, evidence: Evidence) {
        self.put(evidence, -1.0);
    }

    fn put(&mut self, evidence: Evidence, pages: f64) {
        let (changes, exposure) = (evidence.changes(), evidence.exposure().seconds());
        let key = (first_bits(changes), first_bits(exposure));
        let bucket = self.buckets.entry(key).or_default();
        bucket.pages += pages;
        bucket.changes += pages * changes;
        bucket.exposure += pages * exposure;
        if bucket.pages < 0.5 {
            self.buckets.remove(&key);
        }
    }

    /// Adds all pages of another population.
    pub fn merge(&mut self, other: &Population) {
        for (key, other) in &other.buckets {
            let bucket = self.buckets.entry(*key).or_default();
            bucket.pages += other.pages;
            bucket.changes += other.changes;
            bucket.exposure += other.exposure;
        }
    }

    /// Two halves, as by the toss of a coin for every page, the same each time. Halves that were balanced would foretell each other.
    fn halves(&self, group: usize) -> (Population, Population) {
        let (mut one, mut other) = (Population::new(), Population::new());
        for (key, bucket) in &self.buckets {
            let toss = |page: u32| BuildHasherDefault::<DefaultHasher>::default().hash_one((group, key, page)) % 2;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of pages")]
            let heads = (0..bucket.pages as u32).map(toss).sum::<u64>() as f64;
            for (half, pages) in [(&mut one, heads), (&mut other, bucket.pages - heads)] {
                let share = pages / bucket.pages;
                if pages > 0.5 {
                    let (changes, exposure) = (bucket.changes * share, bucket.exposure * share);
                    half.buckets.insert(*key, Bucket { pages, changes, exposure });
                }
            }
        }
        (one, other)
    }

    /// The number of pages.
    pub fn pages(&self) -> f64 {
        self.buckets.values().map(|bucket| bucket.pages).sum()
    }

    /// Pages, mean changes and mean exposure of every bucket.
    fn terms(&self) -> Vec<(f64, f64, f64)> {
        let mean = |b: &Bucket| (b.pages, (b.changes / b.pages).max(0.0), (b.exposure / b.pages).max(0.0));
        self.buckets.values().map(mean).collect()
    }

    /// The prior under which these pages are likeliest, held back by `base` as by `pooling` > 0 pages whose rates are known
    /// and distributed as `base` says.
    ///
    /// Empirical Bayes: maximises `Σ ln[Γ(α+k)/Γ(α) β^α/(β+e)^(α+k)] - pooling KL(base || Gamma(α, β))`. With no pages it
    /// is `base`. For each α the best β is one root, since `Σ (α+k) β/(β+e)` rises with β; the best α is found by halving.
    #[must_use]
    pub fn learn(&self, base: Prior, pooling: f64) -> Prior {
        let terms = self.terms();
        if terms.is_empty() {
            return base;
        }
        let (mut low, mut high) = SHAPES;
        for _ in 0..28 {
            let alpha = (low * high).sqrt();
            let beta = best_beta(&terms, base, pooling, alpha);
            if shape_slope(&terms, base, pooling, alpha, beta) > 0.0 {
                low = alpha;
            } else {
                high = alpha;
            }
        }
        let alpha = (low * high).sqrt();
        Prior::raw(alpha, best_beta(&terms, base, pooling, alpha))
    }
}

/// The shapes that are looked for: below, pages differ by more decades than there are; above, they are all alike.
const SHAPES: (f64, f64) = (0.02, 1000.0);

fn best_beta(terms: &[(f64, f64, f64)], base: Prior, pooling: f64, alpha: f64) -> f64 {
    let pages: f64 = terms.iter().map(|(pages, ..)| pages).sum();
    let mean = base.alpha() / base.beta().seconds();
    solve(alpha * (pages + pooling), base.beta().seconds(), |beta| {
        let (mut value, mut slope) = (pooling * mean * beta, pooling * mean * beta);
        for (pages, changes, exposure) in terms {
            let share = beta / (beta + exposure);
            value += pages * (alpha + changes) * share;
            slope += pages * (alpha + changes) * share * (1.0 - share);
        }
        Evaluation { value, elasticity: slope / value }
    })
    .clamp(crate::error::SMALLEST, crate::error::LARGEST)
}

/// The slope of the penalised likelihood in α.
fn shape_slope(terms: &[(f64, f64, f64)], base: Prior, pooling: f64, alpha: f64, beta: f64) -> f64 {
    let psi = digamma(alpha);
    let base_log = digamma(base.alpha()) - base.beta().seconds().ln();
    let pull = pooling * (beta.ln() - psi + base_log);
    let own = terms
        .iter()
        .map(|(pages, changes, exposure)| pages * (digamma(alpha + changes) - psi - (exposure / beta).ln_1p()));
    pull + own.sum::<f64>()
}

/// Priors learnt from the pages themselves, on two levels: all pages, and each group (a host, a section, a kind).
///
/// A group's prior is that of all pages, moved by the group's own pages: partial pooling. How far is learnt too. Where groups
/// differ much, a few pages suffice; where they are alike, a group's own pages count little: a group is held back by as
/// many pages as make one half of its pages likeliest given the other, tried on up to 200 groups.
///
/// Pages are put in with their [`Evidence`]; one that was visited again is replaced, so that a hierarchy grows with the data.
/// [`Hierarchy::learn`] looks at buckets, not at pages.
///
/// What a bare change told was weighed under some prior: [`Sightings::weighed`](super::Sightings::weighed) under any. Learn, weigh
/// again under what was learnt, and repeat: where it comes to rest the pages are likeliest, whatever the start. Counts and
/// dated changes do not depend on the prior.
///
/// ```
/// use everfresh::estimate::{Evidence, Hierarchy, Prior};
/// use everfresh::{Period, Unit};
///
/// let mut hierarchy = Hierarchy::new(Prior::new(0.5, "1/month".parse()?)?);
/// for page in 0..100 {
///     let (busy, quiet) = (Evidence::watched(page % 20, Period::of(10.0, Unit::Day)?)?, Evidence::NONE);
///     hierarchy.add(0, busy);
///     hierarchy.add(1, quiet);
/// }
/// hierarchy.learn();
/// // 9.5 changes in ten days on average; of the other group nothing is known but that it belongs here.
/// assert!((hierarchy.prior(0).mean().per_day() / 0.95 - 1.0).abs() < 0.1);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hierarchy {
    base: Prior,
    all: Prior,
    pooling: f64,
    groups: Vec<Group>,
}

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Group {
    population: Population,
    prior: Prior,
}

/// How much `base` counts for all pages together: as one page.
const BASE_PAGES: f64 = 1.0;

/// By how many pages a group may be held back.
const POOLINGS: [f64; 8] = [0.3, 1.0, 2.0, 4.0, 10.0, 30.0, 100.0, 1000.0];

/// So many groups decide.
const JUDGES: usize = 200;

/// Without groups to compare, all pages are alike.
const fn most_pooling() -> f64 {
    POOLINGS[POOLINGS.len() - 1]
}

impl Hierarchy {
    /// No pages yet: every group has the prior `base`, which later counts as one page.
    pub const fn new(base: Prior) -> Hierarchy {
        Hierarchy { base, all: base, pooling: most_pooling(), groups: Vec::new() }
    }

    /// Adds a page to a group; groups are numbered from 0 and begin when they are first named.
    pub fn add(&mut self, group: usize, evidence: Evidence) {
        self.population(group).add(evidence);
    }

    /// Says that the evidence of a page of a group has grown from `before` to `now`.
    pub fn replace(&mut self, group: usize, before: Evidence, now: Evidence) {
        let population = self.population(group);
        population.remove(before);
        population.add(now);
    }

    fn population(&mut self, group: usize) -> &mut Population {
        while self.groups.len() <= group {
            self.groups.push(Group { population: Population::new(), prior: self.all });
        }
        &mut self.groups[group].population
    }

    /// Learns all priors anew from the evidence that is there.
    pub fn learn(&mut self) {
        let mut everything = Population::new();
        for group in &self.groups {
            everything.merge(&group.population);
        }
        self.learn_held(everything.learn(self.base, BASE_PAGES), 0.0);
    }

    /// Learns the priors of groups anew, where that of all pages is known otherwise: from more pages than are here, say.
    ///
    /// Groups are then held back by one page at least, for the sake of intervals: by less, a group of three pages that are visited often
    /// is too sure of itself. Where groups differ by decades its intervals of 90 % hold 83 % of the rates, held back by one page 88 %.
    pub fn learn_under(&mut self, all: Prior) {
        self.learn_held(all, 1.0);
    }

    fn learn_held(&mut self, all: Prior, least: f64) {
        self.all = all;
        self.pooling = pooling(self.groups.iter().map(|group| &group.population), self.all).max(least);
        let pooling = self.pooling;
        self.groups.par_iter_mut().for_each(|group| group.prior = group.population.learn(all, pooling));
    }

    /// The prior of all pages, for a page of no known group.
    pub const fn global(&self) -> Prior {
        self.all
    }

    /// The prior of a group; of a group that was never named, that of all pages.
    pub fn prior(&self, group: usize) -> Prior {
        self.groups.get(group).map_or(self.all, |group| group.prior)
    }

    /// By how many pages a group is held back.
    pub const fn pooling(&self) -> f64 {
        self.pooling
    }
}

/// By how many pages groups are best held back: that under which one half of the pages of each group is likeliest, given the other.
fn pooling<'a>(groups: impl Iterator<Item = &'a Population>, all: Prior) -> f64 {
    let judges = groups.enumerate().filter(|(_, group)| group.pages() > 1.5).take(JUDGES);
    let judges: Vec<_> = judges.map(|(number, group)| group.halves(number)).collect();
    if judges.is_empty() {
        return most_pooling();
    }
    let held_out = |train: &Population, test: &Population, pooling: f64| {
        let prior = train.learn(all, pooling);
        test.terms().iter().map(|(pages, changes, exposure)| pages * log_likelihood(prior, *changes, *exposure)).sum()
    };
    let score = |(a, b): &(Population, Population), pooling: f64| -> f64 {
        let there: f64 = held_out(a, b, pooling);
        there + held_out(b, a, pooling)
    };
    let scores: Vec<[f64; POOLINGS.len()]> =
        judges.par_iter().map(|halves| POOLINGS.map(|pooling| score(halves, pooling))).collect();
    let total = |number: usize| scores.iter().map(|scores| scores[number]).sum::<f64>();
    let best = (0..POOLINGS.len()).max_by(|a, b| total(*a).total_cmp(&total(*b)));
    best.map_or(most_pooling(), |number| POOLINGS[number])
}

/// `ln[Γ(α+k)/Γ(α) β^α/(β+e)^(α+k)]`, of a page's evidence under a prior, up to what does not depend on the prior.
fn log_likelihood(prior: Prior, changes: f64, exposure: f64) -> f64 {
    let (alpha, beta) = (prior.alpha(), prior.beta().seconds());
    libm::lgamma(alpha + changes)
        - libm::lgamma(alpha)
        - alpha * (exposure / beta).ln_1p()
        - changes * (beta + exposure).ln()
}

/// The shape whose gamma variable has a logarithm of this variance: the inverse of ψ'.
pub(super) fn shape_of_log_variance(variance: f64) -> f64 {
    solve(1.0 / variance, 1.0 / variance, |alpha| Evaluation { value: 1.0 / trigamma(alpha), elasticity: 1.5 })
}
