//! Every policy by its name, and what they reach at the same visits.

use crate::engine::{Conditions, Watch, run};
use crate::score::Score;
use crate::world::World;
use everfresh::policy::peers::{Fixed, Held, Heritrix, Miniflux, NutchAdaptive, StormCrawler};
use everfresh::policy::{Aim, Known, Posterior, Proportional, Uniform};
use everfresh::Objective;

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
            E::Uniform => run(world, Uniform, conditions, watch),
            E::Proportional => run(world, Proportional, conditions, watch),
            E::Optimal => run(world, Known(Objective::Freshness), conditions, watch),
            E::OptimalAge => run(world, Known(Objective::Age), conditions, watch),
            E::OptimalHarmonic => run(world, Known(Objective::Harmonic), conditions, watch),
            E::Posterior => run(world, Posterior::new(Aim::Freshness), conditions, watch),
            E::Harmonic => run(world, Posterior::new(Aim::Harmonic), conditions, watch),
            E::Content => run(world, Posterior::new(Aim::Content), conditions, watch),
            E::Nutch => run(world, Fixed::NUTCH, conditions, watch),
            E::NutchAdaptive => run(world, NutchAdaptive, conditions, watch),
            E::StormCrawler => run(world, StormCrawler::DEFAULT, conditions, watch),
            E::NewsCrawl => run(world, StormCrawler::NEWS, conditions, watch),
            E::Heritrix => run(world, Heritrix, conditions, watch),
            E::Changedetection => run(world, Fixed::CHANGEDETECTION, conditions, watch),
            E::Miniflux => run(world, Miniflux, conditions, watch),
        }
    }

    /// Runs a rule that chooses its own load held to the budget: all its intervals times the same factor.
    pub fn run_held(self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        match self {
            E::Nutch => run(world, Held(Fixed::NUTCH), conditions, watch),
            E::NutchAdaptive => run(world, Held(NutchAdaptive), conditions, watch),
            E::StormCrawler => run(world, Held(StormCrawler::DEFAULT), conditions, watch),
            E::NewsCrawl => run(world, Held(StormCrawler::NEWS), conditions, watch),
            E::Heritrix => run(world, Held(Heritrix), conditions, watch),
            E::Changedetection => run(world, Held(Fixed::CHANGEDETECTION), conditions, watch),
            E::Miniflux => run(world, Held(Miniflux), conditions, watch),
            other => other.run(world, conditions, watch),
        }
    }
}

