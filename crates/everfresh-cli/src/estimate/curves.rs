//! The curve of each page, for plans: how its copy diverges, given what is known of its rate.

use everfresh::curve::{DivergenceCurve, Weibull};
use everfresh::estimate::Posterior;
use everfresh::estimate::poisson::{Group, Law};
use everfresh::{Rate, Result, Unit};

/// Bursty pages, by the time between their changes in seconds: the shapes of their Weibull laws. Only where that law foresees
/// changes clearly better than any Poisson page would.
pub(super) struct Laws(Vec<(std::ops::Range<f64>, f64)>);

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
            matches!(group.law, Law::Weibull(_)).then_some(gaps).zip(group.shape)
        };
        Laws(groups.iter().filter_map(bursty).collect())
    }

    /// The curve of a page of this mean rate and, where the estimator has one, this posterior.
    pub(super) fn curve(&self, rate: Rate, posterior: Option<Posterior>) -> Result<Curve> {
        let gap = rate.per_second().recip();
        if let Some((_, shape)) = self.0.iter().find(|(gaps, _)| gaps.contains(&gap)) {
            // The mean lifetime of the curve with scale 1.
            let factor = Weibull::new(Rate::per(1.0, Unit::Second)?, *shape)?.ceiling();
            return Ok(Curve { name: 2, factor, shape: Some(*shape) });
        }
        Ok(match posterior {
            Some(posterior) => Curve { name: 1, factor: 1.0, shape: Some(posterior.alpha()) },
            None => Curve { name: 0, factor: 1.0, shape: None },
        })
    }
}
