//! Every policy by its name, and what they reach at the same visits.

use crate::engine::{Conditions, Watch, run};
use crate::score::{Measured, PageScore, Score};
use crate::world::World;
use crate::{entry::Entry, scheduled, truth};
use everfresh::curve::Observed;
use everfresh::policy::peers::{
    CommaFeed, Feed, Feedbin, Fixed, Held, Heritrix, Meguri, Miniflux, NewsBlur, NutchAdaptive, StormCrawler,
};
use everfresh::policy::{Aim, Bayes, Greedy, Known, Policy, Posterior, Proportional, Told, Uniform};
use everfresh::{Objective, Rate};

/// A policy that can be run by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entrant {
    /// Every page equally often.
    Uniform,
    /// In proportion to the true rates.
    Proportional,
    /// The optimum for freshness at the true rates.
    Optimal,
    /// The optimum for age at the true rates.
    OptimalAge,
    /// The optimum for harmonic divergence at the true rates.
    OptimalHarmonic,
    /// At every free visit the page that is worth it most, at the true rates.
    Greedy,
    /// Exact Bayes, told how the true rates are distributed but not which page has which.
    Bayes,
    /// OP08: told the mean divergence curves of content.
    FsS,
    /// OP08: told the mean curves of equality.
    HsS,
    /// OP08: told the content as it changes.
    FsD,
    /// OP08: told of changes as they happen.
    HsD,
    /// OP08 section 4.2.
    CurveFitting,
    /// OP08 section 4.3.
    BoundBased,
    /// OP08 section 5.3: Cho and Garcia-Molina's policy at estimated rates.
    Cgm,
    /// Ours, for freshness.
    Posterior,
    /// Ours, for harmonic divergence.
    Harmonic,
    /// Ours, for content.
    Content,
    /// Ours, for content: believed divergence curves, from what fragments lasted, at one price.
    Longevity,
    /// Ours, as `everfresh run` schedules it: see [`scheduled`].
    Scheduler,
    /// Nutch's default schedule.
    Nutch,
    /// Nutch's adaptive schedule.
    NutchAdaptive,
    /// The adaptive scheduler of `StormCrawler`.
    StormCrawler,
    /// Common Crawl's news crawl.
    NewsCrawl,
    /// Heritrix 1.
    Heritrix,
    /// changedetection.io.
    Changedetection,
    /// Miniflux by entry frequency.
    Miniflux,
    /// `CommaFeed`'s empirical interval.
    CommaFeed,
    /// `NewsBlur`'s table.
    NewsBlur,
    /// Feedbin's rounds.
    Feedbin,
    /// meguri's gate at one visit a day.
    Meguri,
}

use Entrant as E;

/// Names, in the order of tables: those that are told the truth, OP08's, ours, the rules of others.
const NAMES: [(Entrant, &str); 30] = [
    (E::Uniform, "uniform"),
    (E::Proportional, "proportional"),
    (E::Optimal, "optimal"),
    (E::OptimalAge, "optimal-age"),
    (E::OptimalHarmonic, "optimal-harmonic"),
    (E::Greedy, "greedy"),
    (E::Bayes, "bayes"),
    (E::FsS, "fs-s"),
    (E::HsS, "hs-s"),
    (E::FsD, "fs-d"),
    (E::HsD, "hs-d"),
    (E::CurveFitting, "curve-fitting"),
    (E::BoundBased, "bound-based"),
    (E::Cgm, "cgm"),
    (E::Posterior, "posterior"),
    (E::Harmonic, "harmonic"),
    (E::Content, "content"),
    (E::Longevity, "longevity"),
    (E::Scheduler, "scheduler"),
    (E::Nutch, "nutch"),
    (E::NutchAdaptive, "nutch-adaptive"),
    (E::StormCrawler, "stormcrawler"),
    (E::NewsCrawl, "news-crawl"),
    (E::Heritrix, "heritrix"),
    (E::Changedetection, "changedetection"),
    (E::Miniflux, "miniflux"),
    (E::CommaFeed, "commafeed"),
    (E::NewsBlur, "newsblur"),
    (E::Feedbin, "feedbin"),
    (E::Meguri, "meguri"),
];

/// What a policy has to go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Blind,
    Told,
    Learning,
    Peer,
}

impl Entrant {
    /// The names of the policies of each kind, in order: what the kind is, and who is of it.
    pub fn kinds() -> [(&'static str, Vec<&'static str>); 4] {
        let of =
            |kind: Kind| NAMES.iter().filter(|(entrant, _)| entrant.kind() == kind).map(|(_, name)| *name).collect();
        [
            ("told nothing", of(Kind::Blind)),
            ("told the truth", of(Kind::Told)),
            ("learning", of(Kind::Learning)),
            ("other crawlers", of(Kind::Peer)),
        ]
    }

    const fn kind(self) -> Kind {
        match self {
            E::Uniform => Kind::Blind,
            E::CurveFitting
            | E::BoundBased
            | E::Cgm
            | E::Posterior
            | E::Harmonic
            | E::Content
            | E::Longevity
            | E::Scheduler => Kind::Learning,
            peer if peer.is_peer() => Kind::Peer,
            _ => Kind::Told,
        }
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Entrant> {
        NAMES.iter().map(|(entrant, _)| *entrant)
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Entrant> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(entrant, _)| *entrant)
    }

    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(entrant, _)| *entrant == self).map_or("?", |(_, name)| name)
    }

    /// Is it the rule of another crawler?
    pub const fn is_peer(self) -> bool {
        self.chooses_load() || matches!(self, E::Meguri)
    }

    /// Does it learn from its own visits, and is told nothing else?
    pub fn learns(self) -> bool {
        self.kind() == Kind::Learning
    }

    /// Does it choose its own load?
    pub const fn chooses_load(self) -> bool {
        matches!(
            self,
            E::Nutch
                | E::NutchAdaptive
                | E::StormCrawler
                | E::NewsCrawl
                | E::Heritrix
                | E::Changedetection
                | E::Miniflux
                | E::CommaFeed
                | E::NewsBlur
                | E::Feedbin
        )
    }

    /// Does it treat all pages of the same weight alike, whatever visits saw? Held to a budget it is then uniform.
    pub const fn is_blind(self) -> bool {
        matches!(self, E::Uniform | E::Nutch | E::Changedetection | E::Feedbin)
    }

    /// Is it made for one price, which has to be found for a budget?
    pub(crate) const fn needs_price(self) -> bool {
        matches!(self, E::FsD | E::HsD | E::CurveFitting | E::BoundBased | E::Cgm | E::Longevity)
    }

    /// Is it drawn into every picture: the baseline, the optimum, and ours?
    pub const fn is_landmark(self) -> bool {
        matches!(self, E::Uniform | E::Optimal | E::Posterior)
    }

    /// Runs it: peers at the load they choose, all others at the budget; nothing when the watch stopped it.
    pub fn run(self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        Entry::from(self).run(world, conditions, watch)
    }

    /// Runs one that is not made for a price.
    pub(crate) fn run_steered(self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        match self {
            E::Uniform => run(world, Uniform, conditions, watch),
            E::Proportional => run(world, Proportional, conditions, watch),
            E::Optimal => run(world, Known(Objective::Freshness), conditions, watch),
            E::OptimalAge => run(world, Known(Objective::Age), conditions, watch),
            E::OptimalHarmonic => run(world, Known(Objective::Harmonic), conditions, watch),
            E::Greedy => run(world, Greedy(Known(Objective::Freshness)), conditions, watch),
            E::Bayes => run(world, informed(world)?, conditions, watch),
            E::FsS => run(world, truth::told(world, conditions, true), conditions, watch),
            E::HsS => run(world, truth::told(world, conditions, false), conditions, watch),
            E::Posterior => run(world, Posterior::new(Aim::Freshness), conditions, watch),
            E::Harmonic => run(world, Posterior::new(Aim::Harmonic), conditions, watch),
            E::Content => run(world, Posterior::new(Aim::Content), conditions, watch),
            E::Scheduler => scheduled::run(world, conditions, watch),
            E::Meguri => run(world, Meguri, conditions, watch),
            rule => rule.run_rule(world, conditions, watch, &AtOwnLoad),
        }
    }

    /// Runs a rule that chooses its own load held to the budget: all its intervals times the same factor.
    pub fn run_held(self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        if self.chooses_load() {
            return self.run_rule(world, conditions, watch, &HeldToBudget);
        }
        self.run(world, conditions, watch)
    }

    /// Runs a rule that chooses its own load.
    fn run_rule(self, world: &World, conditions: &Conditions, watch: &dyn Watch, how: &impl Harness) -> Option<Score> {
        match self {
            E::Nutch => how.run(world, Fixed::NUTCH, conditions, watch),
            E::NutchAdaptive => how.run(world, NutchAdaptive, conditions, watch),
            E::StormCrawler => how.run(world, StormCrawler::DEFAULT, conditions, watch),
            E::NewsCrawl => how.run(world, StormCrawler::NEWS, conditions, watch),
            E::Heritrix => how.run(world, Heritrix, conditions, watch),
            E::Changedetection => how.run(world, Fixed::CHANGEDETECTION, conditions, watch),
            E::Miniflux => how.run(world, Feed(Miniflux), conditions, watch),
            E::CommaFeed => how.run(world, Feed(CommaFeed), conditions, watch),
            E::NewsBlur => how.run(world, Feed(NewsBlur), conditions, watch),
            E::Feedbin => how.run(world, Feed(Feedbin), conditions, watch),
            _ => None,
        }
    }
}

/// How a rule that chooses its own load is run.
trait Harness {
    fn run<P: Policy>(&self, world: &World, rule: P, conditions: &Conditions, watch: &dyn Watch) -> Option<Score>;
}

struct AtOwnLoad;

impl Harness for AtOwnLoad {
    fn run<P: Policy>(&self, world: &World, rule: P, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        run(world, rule, conditions, watch)
    }
}

struct HeldToBudget;

impl Harness for HeldToBudget {
    fn run<P: Policy>(&self, world: &World, rule: P, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        run(world, Held(rule), conditions, watch)
    }
}

/// Rates by which [`Bayes`] is told the distribution of all.
const QUANTILES: usize = 64;

/// Somebody who knows how the rates of a world are distributed; nobody where no page changes.
fn informed(world: &World) -> Option<Bayes> {
    let mut rates: Vec<Rate> = world.pages.iter().map(|page| page.about.rate).collect();
    rates.retain(|rate| *rate != Rate::STATIC);
    rates.sort_by(|a, b| a.per_second().total_cmp(&b.per_second()));
    let number = QUANTILES.min(rates.len());
    let quantiles: Vec<Rate> = (0..number).map(|n| rates[(2 * n + 1) * rates.len() / (2 * number)]).collect();
    Bayes::new(&quantiles).ok()
}

/// What copies are to be: equal to their sources, or like them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The share of time that copy and source are equal.
    Freshness,
    /// One less the mean divergence of content.
    Content,
}

impl Goal {
    /// What a run reached, the more the better.
    pub fn reached(self, score: &Score) -> Measured {
        match self {
            Goal::Freshness => score.freshness(),
            Goal::Content => {
                let divergence = score.divergence();
                Measured { mean: 1.0 - divergence.mean, error: divergence.error }
            }
        }
    }

    /// What one page adds to it, in seconds.
    fn part(self, page: &PageScore) -> f64 {
        match self {
            Goal::Freshness => page.fresh_s,
            Goal::Content => page.live_s - page.divergence_s,
        }
    }

    /// Who may be the optimum of a world: policies that are told what each page is like, but not the changes themselves. Known rates are
    /// the best of that only where pages change at random, at constant rates; elsewhere known curves may be, and are not always.
    fn candidates(self, world: &World) -> &'static [Entrant] {
        match self {
            Goal::Content => &[E::FsS],
            Goal::Freshness if world.is_poisson() => &[E::Optimal],
            Goal::Freshness => &[E::Optimal, E::HsS],
        }
    }
}

/// Policies in one world, at one budget.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    /// The world.
    pub world: &'a World,
    /// The conditions; the seed is the first of several.
    pub conditions: Conditions,
    /// How many runs with other seeds each policy has.
    pub seeds: u64,
    /// What counts.
    pub goal: Goal,
    /// Are rules that choose their own load held to the budget?
    pub hold_peers: bool,
}

/// What a policy reached.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// The policy.
    pub entry: Entry,
    /// Visits per page and second.
    pub load: f64,
    /// Visits in all, on average over the seeds.
    pub visits: f64,
    /// The share of time that copies were equal.
    pub freshness: Measured,
    /// The mean age, in seconds.
    pub age_s: Measured,
    /// The mean divergence.
    pub divergence: Measured,
    /// How much of the optimum's gain over uniform, at the same visits, it has; none where there is nothing to gain. The error is
    /// that over the same pages under all three.
    pub share: Option<Measured>,
    /// How many visits the optimum needs for the same, relative to its own; none where it is beyond what was tried.
    pub optimum_needs: Option<f64>,
}

/// Pages on which the frontier is found, at most.
const FRONTIER_PAGES: usize = 2000;

/// What uniform and optimum reach at many loads, on a sample of the world.
#[derive(Clone, Debug)]
pub struct Frontier {
    step: usize,
    optimum: Entrant,
    points: Vec<Point>,
}

/// What uniform and optimum reach at a load.
#[derive(Clone, Debug)]
struct Point {
    load: f64,
    uniform: f64,
    optimum: f64,
    /// What each page adds under uniform and under the optimum, by weight.
    parts: Vec<(f64, f64)>,
}

impl Contest<'_> {
    /// Runs a policy with every seed; nothing when it was stopped.
    pub fn run(&self, entry: impl Into<Entry>, watch: &dyn Watch) -> Option<Vec<Score>> {
        let entry = entry.into();
        // A price is found once, for all seeds: that takes more runs than there are seeds.
        let price = entry.price(self.world, &self.conditions, watch)?.unwrap_or(self.conditions.price);
        self.seeds()
            .zip(0u64..)
            .map(|(seed, number)| {
                let conditions = Conditions { price, seed, ..self.conditions };
                let part = |share: f64| watch.goes_on((number as f64 + share) / self.seeds.max(1) as f64);
                if self.hold_peers {
                    entry.run_held(self.world, &conditions, &part)
                } else {
                    entry.run(self.world, &conditions, &part)
                }
            })
            .collect()
    }

    /// Finds what uniform and optimum reach between the loads of runs, and well below, on a sample of the world, with every seed.
    pub fn frontier(&self, loads: &[f64], watch: &dyn Watch) -> Option<Frontier> {
        let step = self.world.step(FRONTIER_PAGES);
        let world = self.world.sample(FRONTIER_PAGES);
        let base = self.conditions.budget;
        let powers = loads.iter().map(|load| (load / base).log2()).filter(|power| power.is_finite());
        let (low, high) = powers.fold((0.0f64, 0.0f64), |(low, high), power| (low.min(power), high.max(power)));
        #[expect(clippy::cast_possible_truncation, reason = "clamped")]
        let (first, last) = ((low - 5.0).floor().max(-30.0) as i32, (high + 0.01).ceil().min(30.0) as i32);
        let (seeds, mut done) = (self.seeds.max(1) as f64, 0.0);
        let best = self.optimum(&world, watch)?;
        let mut points: Vec<Point> = Vec::new();
        for seed in self.seeds() {
            let conditions = Conditions { seed, ..self.conditions };
            let optimum = Optimum::of(best, &world, &conditions);
            for (at, power) in (first..=last).enumerate() {
                let conditions = Conditions { budget: base * f64::from(power).exp2(), ..conditions };
                let share = done / (seeds * f64::from(last - first + 1));
                let point = self.point(&world, &optimum, &conditions, &|_: f64| watch.goes_on(share))?;
                done += 1.0;
                match points.get_mut(at) {
                    Some(sum) => sum.add(&point),
                    None => points.push(point),
                }
            }
        }
        for point in &mut points {
            point.divide(seeds);
        }
        // A load at which nobody was visited places nothing.
        points.retain(|point| point.load > 0.0 && point.optimum.is_finite());
        Some(Frontier { step, optimum: best, points })
    }

    /// Which of the candidates has more at the budget, over all seeds.
    fn optimum(&self, world: &World, watch: &dyn Watch) -> Option<Entrant> {
        let candidates = self.goal.candidates(world);
        if let [only] = candidates {
            return Some(*only);
        }
        let goes_on = |_: f64| watch.goes_on(0.0);
        let mut best = (E::Optimal, f64::NEG_INFINITY);
        for entrant in candidates.iter().copied() {
            let mut reached = 0.0;
            for seed in self.seeds() {
                let conditions = Conditions { seed, ..self.conditions };
                reached += self.goal.reached(&entrant.run_steered(world, &conditions, &goes_on)?).mean;
            }
            best = if reached > best.1 { (entrant, reached) } else { best };
        }
        Some(best.0)
    }

    /// What uniform and optimum reach in one run each.
    fn point(&self, world: &World, optimum: &Optimum, conditions: &Conditions, watch: &dyn Watch) -> Option<Point> {
        let uniform = E::Uniform.run(world, conditions, watch)?;
        let optimum = optimum.run(world, conditions, watch)?;
        let part = |page: &PageScore| page.weight * self.goal.part(page);
        let pages = uniform.pages.iter().zip(&optimum.pages);
        Some(Point {
            load: optimum.load(),
            uniform: self.goal.reached(&uniform).mean,
            optimum: self.goal.reached(&optimum).mean,
            parts: pages.map(|(uniform, optimum)| (part(uniform), part(optimum))).collect(),
        })
    }

    /// The seeds of the runs.
    fn seeds(&self) -> impl Iterator<Item = u64> {
        let first = self.conditions.seed;
        (0..self.seeds.max(1)).map(move |number| first.wrapping_add(number))
    }

    /// Is a policy on the budget, and its load more than a fiftieth off it? Then it is not to be compared with others as it is.
    pub fn misses_budget(&self, standing: &Standing) -> bool {
        let on_budget = self.hold_peers || !standing.entry.chooses_load();
        on_budget && !standing.entry.has_price() && (standing.load / self.conditions.budget - 1.0).abs() > 0.02
    }

    /// What a policy's runs come to, beside the frontier.
    pub fn standing(&self, entry: impl Into<Entry>, scores: &[Score], frontier: &Frontier) -> Standing {
        let load = mean(scores.iter().map(Score::load));
        let on_sample = mean(scores.iter().map(|score| self.goal.reached(&score.sample(frontier.step)).mean));
        let (uniform, optimum) = (frontier.at(load, |p| p.uniform), frontier.at(load, |p| p.optimum));
        // Where the optimum gains less than a part in five hundred over uniform, there is none to share.
        let share = (optimum - uniform > 2e-3).then(|| {
            let mean = (on_sample - uniform) / (optimum - uniform);
            Measured { mean, error: self.error_of_share(scores, frontier, load, mean) }
        });
        let optimum_needs = frontier.load_for(on_sample).map(|needed| needed / load);
        Standing { share, optimum_needs, ..Standing::alone(entry, scores) }
    }
}

impl Standing {
    /// What a policy's runs come to, compared with nobody.
    pub fn alone(entry: impl Into<Entry>, scores: &[Score]) -> Standing {
        Standing {
            entry: entry.into(),
            load: mean(scores.iter().map(Score::load)),
            visits: mean(scores.iter().map(|score| score.visits() as f64)),
            freshness: over_seeds(scores, Score::freshness),
            age_s: over_seeds(scores, Score::age_s),
            divergence: over_seeds(scores, Score::divergence),
            share: None,
            optimum_needs: None,
        }
    }
}

impl Contest<'_> {
    /// The standard error of a share `Σ (x - u) / Σ (o - u)` over pages: that of the residuals `x - u - share (o - u)`.
    fn error_of_share(&self, scores: &[Score], frontier: &Frontier, load: f64, share: f64) -> f64 {
        let Some((a, b, between)) = frontier.around(load) else { return f64::NAN };
        let sampled: Vec<Score> = scores.iter().map(|score| score.sample(frontier.step)).collect();
        let own = |page: usize| {
            let parts = sampled.iter().filter_map(|score| score.pages.get(page));
            mean(parts.map(|page| page.weight * self.goal.part(page)))
        };
        let (mut squares, mut whole) = (0.0, 0.0);
        for (page, (low, high)) in a.parts.iter().zip(&b.parts).enumerate() {
            let uniform = low.0 + between * (high.0 - low.0);
            let gain = low.1 + between * (high.1 - low.1) - uniform;
            squares += (own(page) - uniform - share * gain).powi(2);
            whole += gain;
        }
        squares.sqrt() / whole.abs()
    }
}

/// The optimum, told once what it has to be told for all budgets.
enum Optimum {
    Rates,
    Curves(Told<Observed>),
}

impl Optimum {
    fn of(entrant: Entrant, world: &World, conditions: &Conditions) -> Optimum {
        match entrant {
            E::FsS | E::HsS => Optimum::Curves(truth::told(world, conditions, entrant == E::FsS)),
            _ => Optimum::Rates,
        }
    }

    fn run(&self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        match self {
            Optimum::Rates => E::Optimal.run(world, conditions, watch),
            Optimum::Curves(told) => run(world, told.clone(), conditions, watch),
        }
    }
}

impl Point {
    fn add(&mut self, other: &Point) {
        self.load += other.load;
        self.uniform += other.uniform;
        self.optimum += other.optimum;
        for (sum, part) in self.parts.iter_mut().zip(&other.parts) {
            *sum = (sum.0 + part.0, sum.1 + part.1);
        }
    }

    fn divide(&mut self, number: f64) {
        self.load /= number;
        self.uniform /= number;
        self.optimum /= number;
        self.parts.iter_mut().for_each(|part| *part = (part.0 / number, part.1 / number));
    }
}

impl Frontier {
    /// Who the optimum is: of those who are told what pages are like the one that has most in this world.
    pub const fn optimum(&self) -> Entrant {
        self.optimum
    }

    /// The points below and above a load, and where it lies between them over the logarithm of the load.
    fn around(&self, load: f64) -> Option<(&Point, &Point, f64)> {
        if self.points.len() < 2 || load.is_nan() {
            return None;
        }
        let next = self.points.partition_point(|point| point.load < load).clamp(1, self.points.len() - 1);
        let (a, b) = (&self.points[next - 1], &self.points[next]);
        Some((a, b, ((load / a.load).ln() / (b.load / a.load).ln()).clamp(0.0, 1.0)))
    }

    /// The value at a load, straight between points over the logarithm of the load.
    fn at(&self, load: f64, value: impl Fn(&Point) -> f64) -> f64 {
        self.around(load).map_or(f64::NAN, |(a, b, share)| value(a) + share * (value(b) - value(a)))
    }

    /// The load at which the optimum reaches a value.
    fn load_for(&self, value: f64) -> Option<f64> {
        let next = self.points.iter().position(|point| point.optimum >= value).filter(|next| *next > 0)?;
        let (a, b) = (&self.points[next - 1], &self.points[next]);
        let share = (value - a.optimum) / (b.optimum - a.optimum);
        Some(a.load * (b.load / a.load).powf(share))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, number) = values.fold((0.0, 0.0), |(sum, number), value| (sum + value, number + 1.0));
    sum / number
}

/// The mean over seeds; its error is that over pages, and that over seeds where there are several.
fn over_seeds(scores: &[Score], part: impl Fn(&Score) -> Measured) -> Measured {
    let parts: Vec<Measured> = scores.iter().map(part).collect();
    let number = parts.len() as f64;
    let middle = mean(parts.iter().map(|part| part.mean));
    let pages = mean(parts.iter().map(|part| part.error.powi(2)));
    let squares: f64 = parts.iter().map(|part| (part.mean - middle).powi(2)).sum();
    let seeds = if number > 1.0 { squares / (number - 1.0) / number } else { 0.0 };
    Measured { mean: middle, error: (pages + seeds).sqrt() }
}
