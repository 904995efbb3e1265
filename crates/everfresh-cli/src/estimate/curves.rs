//! The curve of each page, for plans: how its copy diverges, given what is known of its rate.

use everfresh::curve::{DivergenceCurve, Weibull};
use everfresh::estimate::Posterior;
use everfresh::estimate::poisson::{Group, Law};
use everfresh::{Rate, Result, Unit};

/// Bursty pages, by the time between their changes in seconds: their laws. Only where that law foresees changes clearly better
/// than any Poisson page would.
pub(super) struct Laws(Vec<(std::ops::Range<f64>, Burst)>);

/// How changes burst.
#[derive(Clone, Copy)]
enum Burst {
    /// k, below 1.
    Weibull(f64),
    /// The rate of the next weeks varies about the mean as Gamma(κ): among pages of like gaps it is not their rates that differ.
    Lomax(f64),
}

/// A page's curve: the number of its name, by what the mean rate is multiplied in its formula, and its shape.
pub(super) struct Curve {
    pub name: u8,
    pub factor: f64,
    pub shape: Option<f64>,
}

impl Curve {
    pub(super) const NAMES: [&str; 3] = ["exponential", "lomax", "weibull"];
}

impl Laws {
    pub(super) fn new(groups: &[Group]) -> Laws {
        let bursty = |group: &Group| {
            let gaps = group.mean_gap.0.seconds()..group.mean_gap.1.seconds();
            let burst = match (group.law, group.shape?) {
                (Law::Weibull(_), shape) => Burst::Weibull(shape),
                (Law::Lomax(_), shape) => Burst::Lomax(shape),
                (Law::Exponential(_), _) => return None,
            };
            Some((gaps, burst))
        };
        Laws(groups.iter().filter_map(bursty).collect())
    }

    /// The curve of a page of this mean rate and, where the estimator has one, this posterior.
    pub(super) fn curve(&self, rate: Rate, posterior: Option<Posterior>) -> Result<Curve> {
        let gap = rate.per_second().recip();
        let burst = self.0.iter().find(|(gaps, _)| gaps.contains(&gap)).map(|(_, burst)| *burst);
        let lomax = |shape: f64| Curve { name: 1, factor: 1.0, shape: Some(shape) };
        Ok(match (burst, posterior) {
            (Some(Burst::Weibull(shape)), _) => {
                // The mean lifetime of the curve with scale 1.
                let factor = Weibull::new(Rate::per(1.0, Unit::Second)?, shape)?.ceiling();
                Curve { name: 2, factor, shape: Some(shape) }
            }
            (Some(Burst::Lomax(kappa)), Some(posterior)) => lomax(1.0 / (1.0 / kappa + 1.0 / posterior.alpha())),
            (Some(Burst::Lomax(kappa)), None) => lomax(kappa),
            (None, Some(posterior)) => lomax(posterior.alpha()),
            (None, None) => Curve { name: 0, factor: 1.0, shape: None },
        })
    }
}
