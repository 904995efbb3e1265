use super::{Estimate, Estimator, Interval, Knowledge, LEVEL, Observation, Seen, Sightings};
use crate::curve::{DivergenceCurve, Lomax};
use crate::error::{Result, magnitude, within};
use crate::numeric::gamma_quantile;
use crate::units::{Period, Rate};
use std::ops::Bound;

/// What is believed of a page's rate before it was watched: λ ~ Gamma(α, β), as CGM99 section 5.1 models many pages.
///
/// α is the shape (small: pages differ by decades), β a time; the mean rate is α/β. The prior knows as much as watching
/// a page for β and seeing α changes would tell. [`Hierarchy`](super::Hierarchy) learns it from data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Prior {
    alpha: f64,
    beta: f64,
}

impl Prior {
    /// A prior of shape `alpha`, 0.01 to 1e6, and a mean rate > 0.
    pub fn new(alpha: f64, mean: Rate) -> Result<Self> {
        within("shape alpha", alpha, Bound::Included(0.01), Bound::Included(1e6), "between 0.01 and 1e6")?;
        let beta = magnitude("time beta in seconds", alpha / magnitude("mean rate per second", mean.per_second())?)?;
        Ok(Prior { alpha, beta })
    }

    pub(crate) const fn raw(alpha: f64, beta: f64) -> Prior {
        Prior { alpha, beta }
    }

    /// α, the shape.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// β, a time.
    pub const fn beta(&self) -> Period {
        Period::raw(self.beta)
    }

    /// α/β, the mean rate.
    pub fn mean(&self) -> Rate {
        Rate::estimated(self.alpha / self.beta)
    }
}

/// What the visits of one page have told, beside any prior: a likelihood `λ^k e^(-λ e)`. Two numbers, eight bytes.
///
/// For models whose time is not the clock's or whose past fades at every visit; plain visits are kept better as [`Sightings`].
///
/// It is as if the page had been watched for the exposure e and k changes had been seen. Added to a [`Prior`] it gives
/// the posterior Gamma(α + k, β + e). Kept apart from the prior, so that a prior that is learnt anew counts at once.
///
/// * unchanged after I: `e += I` (exact);
/// * n changes in I: `k += n`, `e += I` (exact);
/// * last change s before the visit: `k += 1`, `e += s` (exact: nothing is known of the time before that change);
/// * changed within I, assumed-density filtering: the posterior `λ^(α-1) e^(-βλ) (1 - e^(-λI))` is no gamma distribution;
///   the one with the same mean and variance takes its place.
///
/// The latter in closed form, with `L = ln(1 + I/β)` and `x = e^(-αL)`: the mean is `(α/β) (1 - x e^-L)/(1 - x)` and the
/// new shape `1/α' = 1/α - (1 + 1/α) x ((1 - e^-L)/(1 - x e^-L))²`. A change soon after a visit counts as one change, a
/// change after a time in which one was certain counts nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Evidence {
    changes: f32,
    exposure_s: f32,
}

impl Evidence {
    /// Nothing observed.
    pub const NONE: Evidence = Evidence { changes: 0.0, exposure_s: 0.0 };

    /// Watching for `exposure` and seeing `changes` changes.
    pub fn watched(changes: u32, exposure: Period) -> Result<Evidence> {
        let seconds = crate::error::not_negative("exposure in seconds", exposure.seconds())?;
        Ok(Evidence::raw(f64::from(changes), seconds))
    }

    #[expect(clippy::cast_possible_truncation, reason = "seven digits of evidence suffice")]
    pub(crate) fn raw(changes: f64, exposure_s: f64) -> Evidence {
        Evidence { changes: changes as f32, exposure_s: exposure_s.min(1e30) as f32 }
    }

    /// k, the changes seen, in effect.
    pub fn changes(&self) -> f64 {
        f64::from(self.changes)
    }

    /// e, the time watched, in effect.
    pub fn exposure(&self) -> Period {
        Period::raw(f64::from(self.exposure_s))
    }

    /// Takes in what the next visit saw, under the prior of the page.
    pub fn observe(&mut self, prior: &Prior, observation: &Observation) {
        *self = self.plus(self.told_by(prior, observation));
    }

    /// What an observation tells beyond this evidence: exact but for a bare change, which the posterior so far weighs.
    #[must_use]
    pub fn told_by(&self, prior: &Prior, observation: &Observation) -> Evidence {
        let elapsed = observation.elapsed().seconds();
        match observation.seen() {
            Seen::Unchanged => Evidence::raw(0.0, elapsed),
            Seen::Changes(n) => Evidence::raw(f64::from(n), elapsed),
            Seen::LastChange(since) => Evidence::raw(1.0, since.seconds()),
            Seen::Changed => {
                let (k, e) =
                    told_by_change(prior.alpha + self.changes(), prior.beta + self.exposure().seconds(), elapsed);
                Evidence::raw(k, e)
            }
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Evidence) -> Evidence {
        Evidence { changes: self.changes + other.changes, exposure_s: self.exposure_s + other.exposure_s }
    }

    /// The same evidence, counting only the share `factor`, 0 to 1.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Evidence {
        Evidence::raw(self.changes() * factor, self.exposure().seconds() * factor)
    }

    /// The posterior under a prior.
    pub fn posterior(self, prior: Prior) -> Posterior {
        Posterior { prior, evidence: self }
    }
}

/// What a bare change within `elapsed` adds to Gamma(α, β), in changes and exposure.
fn told_by_change(alpha: f64, beta: f64, elapsed: f64) -> (f64, f64) {
    let l = (elapsed / beta).ln_1p();
    let x = (-alpha * l).exp();
    // 1 - e^-L, 1 - x and 1 - x e^-L.
    let (a, a0, a1) = (-(-l).exp_m1(), -(-alpha * l).exp_m1(), -(-(alpha + 1.0) * l).exp_m1());
    if a == 0.0 {
        // No time passed that counts beside β.
        return (1.0, 0.0);
    }
    let shape = 1.0 / (1.0 / alpha - (1.0 + 1.0 / alpha) * x * (a / a1).powi(2));
    let mean = alpha / beta * (a1 / a0);
    ((shape - alpha).clamp(0.0, 1.0), (shape / mean - beta).max(0.0))
}

/// λ ~ Gamma(α + k, β + e): what is believed of a page's rate after a [`Prior`] and [`Evidence`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posterior {
    prior: Prior,
    evidence: Evidence,
}

impl Posterior {
    /// What was believed before.
    pub const fn prior(&self) -> Prior {
        self.prior
    }

    /// α + k, the shape.
    pub fn alpha(&self) -> f64 {
        self.prior.alpha + self.evidence.changes()
    }

    /// β + e, a time.
    pub fn beta(&self) -> Period {
        Period::raw(self.prior.beta + self.evidence.exposure().seconds())
    }

    /// (α + k)/(β + e), the mean rate.
    pub fn mean(&self) -> Rate {
        Rate::estimated(self.alpha() / self.beta().seconds())
    }

    /// What the visits told, beside the prior.
    pub const fn evidence(&self) -> Evidence {
        self.evidence
    }

    /// The rate below which the truth lies with probability `share`, per second.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        gamma_quantile(self.alpha(), share) / self.beta().seconds()
    }

    /// The predictive curve: how a copy diverges from a source whose rate is known only so far.
    pub fn curve(&self) -> Result<Lomax> {
        Lomax::new(self.alpha(), self.beta())
    }

    /// The mean rate, its interval and what was told.
    pub fn estimate(&self) -> Estimate {
        self.estimate_by(&mut Ends::default())
    }

    pub(super) fn estimate_by(&self, ends: &mut Ends) -> Estimate {
        let [low, high] = ends.of(self.alpha()).map(|end| end / self.beta().seconds());
        Estimate {
            rate: self.mean(),
            interval: Interval::per_second(low, high),
            knowledge: Knowledge::new(self.evidence.changes(), self.evidence.exposure().seconds()),
        }
    }

    /// The probability that a visit finds a change when it comes `elapsed` after the last one.
    pub fn change_probability(&self, elapsed: Period) -> f64 {
        self.curve().map_or(0.0, |curve| curve.divergence(elapsed))
    }
}

/// The ends of the interval of a gamma law of scale 1, found for the last shape that was asked for.
///
/// Pages that were never seen to change all have the shape of their prior, and finding the ends is most of what an estimate of theirs takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ends {
    shape: f64,
    ends: [f64; 2],
}

impl Ends {
    fn of(&mut self, shape: f64) -> [f64; 2] {
        if self.shape != shape {
            let tail = (1.0 - LEVEL) / 2.0;
            *self = Ends { shape, ends: [tail, 1.0 - tail].map(|share| gamma_quantile(shape, share)) };
        }
        self.ends
    }
}

/// A gamma posterior of a page's rate, from a [`Prior`] and the [`Sightings`] of the visits.
///
/// Its predictive curve is [`Lomax`], so that the law prices not knowing the rate. With nothing observed it is the prior.
///
/// ```
/// use everfresh::estimate::{Estimator, Gamma, Observation, Prior};
/// use everfresh::{Period, Unit};
///
/// // Before: about one change in ten days, but who knows. Then: three quiet visits a week apart.
/// let mut page = Gamma::new(Prior::new(0.5, "1/10days".parse()?)?);
/// for _ in 0..3 {
///     page.observe(&Observation::unchanged(Period::of(7.0, Unit::Day)?)?);
/// }
/// let estimate = page.estimate();
/// assert_eq!(estimate.rate.to_string(), "7.019/year"); // 0.5 changes in 5 + 21 days
/// assert_eq!(estimate.interval.high.unwrap().to_string(), "26.96/year"); // χ²(0.95)/2 = 1.92 changes in 26 days
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gamma {
    prior: Prior,
    sightings: Sightings,
}

impl Gamma {
    /// A page of which nothing is known but the prior.
    pub const fn new(prior: Prior) -> Gamma {
        Gamma { prior, sightings: Sightings::NONE }
    }

    /// What the visits saw, beside the prior.
    pub const fn sightings(&self) -> Sightings {
        self.sightings
    }

    /// The gamma distribution nearest to what is believed of the rate.
    pub fn posterior(&self) -> Posterior {
        self.sightings.posterior(self.prior)
    }

    /// The predictive curve: how a copy diverges from a source whose rate is known only so far.
    pub fn curve(&self) -> Result<Lomax> {
        self.posterior().curve()
    }
}

impl Estimator for Gamma {
    fn observe(&mut self, observation: &Observation) {
        self.sightings.observe(observation);
    }

    fn estimate(&self) -> Estimate {
        self.sightings.estimate(self.prior)
    }

    fn change_probability(&self, elapsed: Period) -> f64 {
        self.posterior().change_probability(elapsed)
    }
}
