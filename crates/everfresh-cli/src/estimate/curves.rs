//! The curve of each page, for plans: how its copy diverges, given what is known of its rate.

use everfresh::Rate;
use everfresh::curve::Bursts;
use everfresh::estimate::Posterior;
use everfresh::estimate::poisson::{Group, Law};

/// Bursty pages, by the time between their changes in seconds: their laws. Only where that law foresees changes clearly better
/// than any Poisson page would.
pub(super) struct Laws(Vec<(std::ops::Range<f64>, Burst)>);

/// How changes burst.
#[derive(Clone, Copy)]
enum Burst {
    /// k, below 1: times between changes of a Weibull law, seen at visits that come at any time. It has the dispersion of the gaps of each page:
    /// a law fitted to the gaps of all would take pages that differ for pages that burst.
    Weibull(f64),
    /// The rate of the next weeks varies about the mean as Gamma(κ): among pages of like gaps it is not their rates that differ.
    Lomax(f64),
}

/// A page's curve: the number of its name, and its shape.
pub(super) struct Curve {
    pub name: u8,
    pub shape: Option<f64>,
}

impl Curve {
    pub(super) const NAMES: [&str; 3] = ["exponential", "lomax", "bursts"];
}

impl Laws {
    pub(super) fn new(groups: &[Group]) -> Laws {
        let bursty = |group: &Group| {
            let gaps = group.mean_gap.0.seconds()..group.mean_gap.1.seconds();
            let burst = match group.law {
                Law::Weibull(_) => {
                    // None for clockwork, which bursts less than Poisson pages do.
                    let shape = Bursts::with_dispersion(Rate::STATIC, group.dispersion?).ok()?.shape();
                    Burst::Weibull(shape)
                }
                Law::Lomax(_) => Burst::Lomax(group.shape?),
                Law::Exponential(_) => return None,
            };
            Some((gaps, burst))
        };
        Laws(groups.iter().filter_map(bursty).collect())
    }

    /// The same law for all pages: Weibull of this shape, at most 1.
    pub(super) fn of_shape(shape: f64) -> Laws {
        Laws(if shape < 1.0 { vec![(0.0..f64::INFINITY, Burst::Weibull(shape))] } else { Vec::new() })
    }

    /// The curve of a page of this mean rate and, where the estimator has one, this posterior.
    pub(super) fn curve(&self, rate: Rate, posterior: Option<Posterior>) -> Curve {
        let gap = rate.per_second().recip();
        let burst = self.0.iter().find(|(gaps, _)| gaps.contains(&gap)).map(|(_, burst)| *burst);
        let lomax = |shape: f64| Curve { name: 1, shape: Some(shape) };
        match (burst, posterior) {
            (Some(Burst::Weibull(shape)), _) => Curve { name: 2, shape: Some(shape) },
            (Some(Burst::Lomax(kappa)), Some(posterior)) => lomax(1.0 / (1.0 / kappa + 1.0 / posterior.alpha())),
            (Some(Burst::Lomax(kappa)), None) => lomax(kappa),
            (None, Some(posterior)) => lomax(posterior.alpha()),
            (None, None) => Curve { name: 0, shape: None },
        }
    }
}
