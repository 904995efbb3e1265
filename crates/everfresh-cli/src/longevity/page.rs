//! What is measured of a page, and what is believed of it once all pages are measured.

use anyhow::Result;
use everfresh::curve::{DivergenceCurve, Lomax};
use everfresh::estimate::{Evidence, Hierarchy, Observation, Posterior, Prior};
use everfresh::longevity::{Believed, ContentPrior, Depths, Fitted, History, Lesson, Makeup, Point, combine, fit};
use everfresh::{Period, Rate, Unit};

use super::snapshots::Page;
use crate::args::CurveArg;

/// Bases of profiles, and points of each.
const BASES: usize = 24;
const POINTS: usize = 24;

/// Versions from which a page's second half is a lesson about its first.
const LESSON: usize = 6;

/// A page as its snapshots show it.
pub(super) struct Measured {
    pub name: String,
    pub makeup: Makeup,
    pub versions: usize,
    pub changes: u32,
    pub change_frequency: Option<f64>,
    /// The mean number of versions that have a fragment.
    pub longevity: Option<f64>,
    pub median_lifetime: Option<Period>,
    pub last: u64,
    /// The share of its fragments that was looked at, and the standard error of divergences that comes of it, at most.
    pub share: f64,
    pub error: f64,
    pub whole: Told,
    halves: Option<(Told, Vec<Point>)>,
}

/// What visits told of a page, or of a part of its history.
#[derive(Default)]
pub(super) struct Told {
    observations: Vec<Observation>,
    depths: Depths,
    /// Profiles, combined.
    pub points: Vec<Point>,
}

impl Told {
    fn of(history: &History) -> Result<Told> {
        let mut told = Told::default();
        for [before, after] in history.versions().array_windows() {
            let divergence = before.1.distance(&after.1);
            told.observations.push(Observation::between(before.0 as f64, after.0 as f64, divergence > 0.0)?);
            if divergence > 0.0 {
                told.depths.observe(divergence)?;
            }
        }
        told.points = points(history);
        Ok(told)
    }

    fn evidence(&self, prior: &Prior) -> Evidence {
        let mut evidence = Evidence::NONE;
        self.observations.iter().for_each(|observation| evidence.observe(prior, observation));
        evidence
    }

    fn rate(&self, prior: Prior) -> Posterior {
        self.evidence(&prior).posterior(prior)
    }
}

fn points(history: &History) -> Vec<Point> {
    let profiles = history.profiles(BASES, POINTS);
    combine(profiles.iter().map(Vec::as_slice))
}

/// The versions of a page as a history of its own.
pub(super) fn history(page: &Page) -> Result<History> {
    part(page, 0, page.versions.len())
}

fn part(page: &Page, from: usize, to: usize) -> Result<History> {
    let versions = page.versions[from..to].iter().map(|(time, fragments)| (*time, fragments.as_ref().clone()));
    Ok(History::new(versions.collect())?)
}

impl Measured {
    pub(super) fn of(page: &Page) -> Result<Measured> {
        let history = history(page)?;
        let (versions, middle) = (page.versions.len(), page.versions.len() / 2);
        let halves = if versions >= LESSON {
            let after = points(&part(page, middle, versions)?);
            Some((Told::of(&part(page, 0, middle + 1)?)?, after))
        } else {
            None
        };
        Ok(Measured {
            name: page.name.clone(),
            makeup: history.makeup(),
            versions,
            changes: history.changes(),
            change_frequency: history.change_frequency(),
            longevity: history.longevity(),
            median_lifetime: history.median_lifetime(),
            last: page.versions[versions - 1].0,
            share: page.share,
            error: page.error,
            whole: Told::of(&history)?,
            halves,
        })
    }
}

/// What all pages say of each: how often pages like it change, and how far.
pub(super) struct Beliefs {
    rate: Prior,
    content: ContentPrior,
}

/// What is believed of a page.
pub(super) struct Curves {
    /// The closest curve to the page's own points.
    pub fitted: Fitted,
    /// That curve and the other pages, each with its weight.
    pub believed: Believed,
}

/// A curve as plans know it: a Lomax curve, whose rate and shape these are, times a weight.
pub(super) struct Planned {
    pub rate: Rate,
    pub shape: f64,
    pub weight: f64,
}

impl Curves {
    /// What is believed, for a plan: with the end of the believed curve for its weight, the time to half of it, and the shape
    /// of the part that doubts. Where the page's own fit has no weight, this is the believed curve itself.
    pub(super) fn planned(&self) -> Result<Planned> {
        let (end, shape) = (self.believed.divergence(Period::NEVER), self.believed.doubtful().whole().alpha());
        let lomax = Lomax::with_half_life(self.half_time(end)?, shape)?;
        let rate = Rate::per(shape / lomax.beta().seconds(), Unit::Second)?;
        Ok(Planned { rate, shape, weight: end })
    }

    /// When the believed curve is half-way to its end, by halving.
    fn half_time(&self, end: f64) -> Result<Period> {
        let (mut low, mut high) = (-46.0_f64, 46.0_f64);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.believed.divergence(Period::of(middle.exp(), Unit::Second)?) < end / 2.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Period::of(high.exp(), Unit::Second)?)
    }
}

/// One of the two.
#[derive(Clone, Copy)]
pub(super) enum Curve {
    Fitted(Fitted),
    Believed(Believed),
}

impl Curves {
    /// The curve that is asked for.
    pub(super) fn chosen(&self, by: CurveArg) -> Curve {
        match by {
            CurveArg::Fitted => Curve::Fitted(self.fitted),
            CurveArg::Believed => Curve::Believed(self.believed),
        }
    }
}

/// Hands every question to the curve.
macro_rules! ask {
    ($($method:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        impl DivergenceCurve for Curve {
            $(fn $method(&self, $($argument: $kind),*) -> $answer {
                match self {
                    Curve::Fitted(curve) => curve.$method($($argument),*),
                    Curve::Believed(curve) => curve.$method($($argument),*),
                }
            })*
        }
    };
}
ask! {
    divergence(elapsed: Period) -> f64;
    slope(elapsed: Period) -> f64;
    area(elapsed: Period) -> f64;
    utility(elapsed: Period) -> f64;
    ceiling() -> f64;
    period(utility: f64) -> Period;
}

impl Beliefs {
    /// Learns from all pages; twice, since what a visit told depends a little on what was believed before.
    pub(super) fn learn(pages: &[Measured]) -> Result<Beliefs> {
        let base = Prior::new(0.5, Rate::per(1.0, Unit::Month)?)?;
        let mut rate = base;
        for _ in 0..2 {
            let mut all = Hierarchy::new(base);
            pages.iter().filter(|page| page.versions > 1).for_each(|page| all.add(0, page.whole.evidence(&rate)));
            all.learn();
            rate = all.global();
        }
        let halves = pages.iter().filter_map(|page| page.halves.as_ref());
        let lessons: Vec<Lesson<'_>> = halves
            .map(|(told, next)| Lesson { rate: told.rate(rate), depths: told.depths, points: &told.points, next })
            .collect();
        Ok(Beliefs { rate, content: ContentPrior::default().learn(&lessons) })
    }

    pub(super) fn of(&self, page: &Measured) -> Result<Curves> {
        let told = &page.whole;
        let believed = self.content.believed(&told.rate(self.rate), told.depths, &told.points)?;
        Ok(Curves { fitted: fit(&told.points, *believed.doubtful()), believed })
    }
}
