//! Every policy by its name, and what they reach at the same visits.

use crate::engine::{Conditions, Watch, run};
use crate::score::Score;
use crate::world::World;
use everfresh::estimate::{Habits, Prior};
use everfresh::policy::peers::{Fixed, Held, Heritrix, Miniflux, NutchAdaptive, StormCrawler};
use everfresh::policy::{Aim, Known, Posterior, Proportional, Uniform};
use everfresh::{Objective, Period, Rate, Unit};

/// A policy that can be run by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Entrant {
    Uniform,
    Proportional,
    Optimal,
    OptimalAge,
    OptimalHarmonic,
    Posterior,
    Harmonic,
    Content,
    Nutch,
    NutchAdaptive,
    StormCrawler,
    NewsCrawl,
    Heritrix,
    Changedetection,
    Miniflux,
}

use Entrant as E;

impl Entrant {
    /// All of them: those that are told the truth, ours, the rules of others.
    pub const ALL: [Entrant; 15] = [
        E::Uniform,
        E::Proportional,
        E::Optimal,
        E::OptimalAge,
        E::OptimalHarmonic,
        E::Posterior,
        E::Harmonic,
        E::Content,
        E::Nutch,
        E::NutchAdaptive,
        E::StormCrawler,
        E::NewsCrawl,
        E::Heritrix,
        E::Changedetection,
        E::Miniflux,
    ];

    /// Its name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            E::Uniform => "uniform",
            E::Proportional => "proportional",
            E::Optimal => "optimal",
            E::OptimalAge => "optimal-age",
            E::OptimalHarmonic => "optimal-harmonic",
            E::Posterior => "posterior",
            E::Harmonic => "harmonic",
            E::Content => "content",
            E::Nutch => "nutch",
            E::NutchAdaptive => "nutch-adaptive",
            E::StormCrawler => "stormcrawler",
            E::NewsCrawl => "news-crawl",
            E::Heritrix => "heritrix",
            E::Changedetection => "changedetection",
            E::Miniflux => "miniflux",
        }
    }

    /// Does it choose its own load?
    pub const fn is_peer(self) -> bool {
        use Entrant::{Changedetection, Heritrix, Miniflux, NewsCrawl, Nutch, NutchAdaptive, StormCrawler};
        matches!(self, Nutch | NutchAdaptive | StormCrawler | NewsCrawl | Heritrix | Changedetection | Miniflux)
    }

    /// Runs it: peers at the load they choose, all others at the budget.
    pub fn run(self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        match self {
            E::Uniform => run(world, &mut Uniform, conditions, watch),
            E::Proportional => run(world, &mut Proportional, conditions, watch),
            E::Optimal => run(world, &mut Known(Objective::Freshness), conditions, watch),
            E::OptimalAge => run(world, &mut Known(Objective::Age), conditions, watch),
            E::OptimalHarmonic => run(world, &mut Known(Objective::Harmonic), conditions, watch),
            E::Posterior => run(world, &mut ours(Aim::Freshness, conditions), conditions, watch),
            E::Harmonic => run(world, &mut ours(Aim::Harmonic, conditions), conditions, watch),
            E::Content => run(world, &mut ours(Aim::Content, conditions), conditions, watch),
            E::Nutch => run(world, &mut Fixed::NUTCH, conditions, watch),
            E::NutchAdaptive => run(world, &mut NutchAdaptive, conditions, watch),
            E::StormCrawler => run(world, &mut StormCrawler::DEFAULT, conditions, watch),
            E::NewsCrawl => run(world, &mut StormCrawler::NEWS, conditions, watch),
            E::Heritrix => run(world, &mut Heritrix, conditions, watch),
            E::Changedetection => run(world, &mut Fixed::CHANGEDETECTION, conditions, watch),
            E::Miniflux => run(world, &mut Miniflux, conditions, watch),
        }
    }

    /// Runs a rule that chooses its own load held to the budget: all its intervals times the same factor.
    pub fn run_held(self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        match self {
            E::Nutch => run(world, &mut Held(Fixed::NUTCH), conditions, watch),
            E::NutchAdaptive => run(world, &mut Held(NutchAdaptive), conditions, watch),
            E::StormCrawler => run(world, &mut Held(StormCrawler::DEFAULT), conditions, watch),
            E::NewsCrawl => run(world, &mut Held(StormCrawler::NEWS), conditions, watch),
            E::Heritrix => run(world, &mut Held(Heritrix), conditions, watch),
            E::Changedetection => run(world, &mut Held(Fixed::CHANGEDETECTION), conditions, watch),
            E::Miniflux => run(world, &mut Held(Miniflux), conditions, watch),
            other => other.run(world, conditions, watch),
        }
    }
}

/// Before anything is known: a change about as often as there is a visit, give or take decades.
fn ours(aim: Aim, conditions: &Conditions) -> Posterior {
    let rate = Rate::per(conditions.budget, Unit::Second).unwrap_or(Rate::STATIC);
    let base = Prior::new(0.5, rate).or_else(|_| Prior::new(0.5, ONCE_A_MONTH)).unwrap_or_else(|_| unreachable());
    let half_life: f64 = std::env::var("HL").map_or(180.0, |v| v.parse().unwrap());
    let dispersion: f64 = std::env::var("DI").map_or(2.0, |v| v.parse().unwrap());
    Posterior::new(aim, base, Habits::new(Period::of(half_life, Unit::Day).unwrap(), dispersion).unwrap())
}
const ONCE_A_MONTH: Rate = Rate::STATIC;
fn unreachable() -> Prior { panic!() }
