use super::DivergenceCurve;
use crate::error::{Error, Result, positive};
use crate::units::Period;

/// A weighted sum of curves: `D = Σ w_i D_i`, and likewise its area and its utility.
///
/// The regions of a page (OP08 section 3.3), or the possible behaviours of a page weighted by their probabilities.
pub struct Mixture {
    parts: Vec<(f64, Box<dyn DivergenceCurve + Send + Sync>)>,
}

impl Mixture {
    /// The sum of `weight x curve` over the parts: at least one part, weights positive and finite.
    ///
    /// ```
    /// use everfresh::curve::{Churn, DivergenceCurve, Mixture, Scroll};
    /// use everfresh::Period;
    /// let advertisement = Churn::new("12/day".parse()?, 1.0)?;
    /// let news = Scroll::new("1/day".parse()?, 10, 1.0)?;
    /// let page = Mixture::new(vec![(0.2, Box::new(advertisement)), (0.3, Box::new(news))])?;
    /// assert_eq!(page.divergence(Period::NEVER), 0.5);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn new(parts: Vec<(f64, Box<dyn DivergenceCurve + Send + Sync>)>) -> Result<Self> {
        if parts.is_empty() {
            return Err(Error::Empty("a mixture of curves must have at least one part"));
        }
        for (weight, _) in &parts {
            positive("weight of a part", *weight)?;
        }
        Ok(Mixture { parts })
    }

    fn sum(&self, part: impl Fn(&dyn DivergenceCurve) -> f64) -> f64 {
        self.parts.iter().map(|(weight, curve)| weight * part(curve.as_ref())).sum()
    }
}

impl DivergenceCurve for Mixture {
    fn divergence(&self, elapsed: Period) -> f64 {
        self.sum(|curve| curve.divergence(elapsed))
    }

    fn slope(&self, elapsed: Period) -> f64 {
        self.sum(|curve| curve.slope(elapsed))
    }

    fn area(&self, elapsed: Period) -> f64 {
        self.sum(|curve| curve.area(elapsed))
    }

    fn utility(&self, elapsed: Period) -> f64 {
        self.sum(|curve| curve.utility(elapsed))
    }

    fn ceiling(&self) -> f64 {
        self.sum(|curve| curve.ceiling())
    }
}
