//! The curve of each page, for plans: how its copy diverges, given what is known of its rate.

use std::ops::Range;

use everfresh::Rate;
use everfresh::curve::{Bursts, Shape};
use everfresh::estimate::Posterior;
use everfresh::estimate::poisson::{Group, Law};

/// Bursty pages, by the time between their changes in seconds: the shape k, below 1, of the Weibull law of these times, seen at visits
/// that come at any time. Only where the gaps within pages are no Poisson page's of whatever rate.
///
/// The shape has the dispersion of the gaps of each page: a law fitted to the gaps of all would take pages that differ for pages that burst. That
/// the rates of pages of like gaps differ is in the posterior of each already, and is not counted again.
#[derive(Default)]
pub(super) struct Laws(Vec<(Range<f64>, f64)>);

/// A page's curve: the number of its name, and its shape.
pub(super) struct Curve {
    pub name: u8,
    pub shape: Option<f64>,
}

impl Curve {
    pub(super) const NAMES: [&str; 3] = ["exponential", "lomax", "bursts"];

    const fn lomax(alpha: f64) -> Curve {
        Curve { name: 1, shape: Some(alpha) }
    }

    const fn bursts(shape: f64) -> Curve {
        Curve { name: 2, shape: Some(shape) }
    }
}

impl Laws {
    pub(super) fn new(groups: &[Group]) -> Laws {
        let bursty = |group: &Group| {
            let Law::Weibull(_) = group.law else { return None };
            let gaps = group.mean_gap.0.seconds()..group.mean_gap.1.seconds();
            // None for clockwork, which bursts less than Poisson pages do.
            let shape = Bursts::with_dispersion(Rate::STATIC, group.dispersion?).ok()?.shape();
            Some((gaps, shape))
        };
        Laws(groups.iter().filter_map(bursty).collect())
    }

    /// The same law for all pages: Weibull of this shape, at most 1.
    pub(super) fn of_shape(shape: f64) -> Laws {
        Laws(if shape < 1.0 { vec![(0.0..f64::INFINITY, shape)] } else { Vec::new() })
    }

    /// The curve of a page of this mean rate and, where the estimator has one, this posterior.
    ///
    /// Both bursts and not knowing the rate make long quiet times likelier. No curve here has both: the page gets the one that makes more
    /// of it.
    pub(super) fn curve(&self, rate: Rate, posterior: Option<Posterior>) -> Curve {
        let gap = rate.per_second().recip();
        let burst = self.0.iter().find(|(gaps, _)| gaps.contains(&gap)).map(|(_, shape)| *shape);
        match (burst, posterior.map(|posterior| posterior.alpha())) {
            (Some(shape), Some(alpha)) if quiet(Shape::Lomax(alpha)) > quiet(Shape::Bursts(shape)) => {
                Curve::lomax(alpha)
            }
            (Some(shape), _) => Curve::bursts(shape),
            (None, Some(alpha)) => Curve::lomax(alpha),
            (None, None) => Curve { name: 0, shape: None },
        }
    }
}

/// How fresh a page of such a curve is that is visited once per change: the more, the longer its quiet times.
fn quiet(shape: Shape) -> f64 {
    shape.freshness_and_age(1.0).0
}
