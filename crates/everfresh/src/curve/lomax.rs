use super::{DivergenceCurve, period_by_utility, quick};
use crate::error::{Result, positive, within};
use crate::numeric::{Evaluation, exp_difference, solve};
use crate::units::{Period, Rate, Unit};
use std::ops::Bound;

/// Staleness when the rate itself is Gamma(α, β): `D(t) = 1 - (1 + t/β)^-α` (CGM99 section 5.1).
///
/// Either the rates of many pages are so distributed (CGM99), or the rate of one page is known only as a gamma
/// posterior; the law prices not knowing it the same way. α is the shape, β a time, the mean rate α/β; α to infinity
/// gives the [`Exponential`](super::Exponential) curve. The ceiling is `β/(α-1)`, infinite for α <= 1.
///
/// With `L = ln(1 + t/β)` all of it is a divided difference of the exponential function, without the singularities
/// that the textbook form has at α = 1: `area = β α L² exp[0, L, (1-α)L]` and `U = β α L² exp[0, (1-α)L, -αL]`.
///
/// ```
/// use everfresh::curve::{DivergenceCurve, Lomax};
/// use everfresh::{Period, Unit};
/// // CGM99 Table 3, uniform allocation with delta² = 1 and r = 1: freshness ln 2.
/// let curve = Lomax::with_mean_rate(1.0, "1/day".parse()?)?;
/// let freshness = 1.0 - curve.mean_divergence(Period::of(1.0, Unit::Day)?);
/// assert!((freshness - 2f64.ln()).abs() < 1e-15);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lomax {
    alpha: f64,
    beta: f64,
}

impl Lomax {
    /// The curve for a rate distributed as Gamma(`alpha`, `beta`); the mean rate α/β must be a legal rate.
    pub fn new(alpha: f64, beta: Period) -> Result<Self> {
        Lomax::check(alpha)?;
        let beta = positive("time beta", beta.seconds())?;
        Rate::per(alpha / beta, Unit::Second)?;
        Ok(Lomax { alpha, beta })
    }

    /// The curve for a gamma-distributed rate with shape `alpha` and mean `rate` > 0.
    pub fn with_mean_rate(alpha: f64, rate: Rate) -> Result<Self> {
        let rate = positive("mean rate", rate.per_second())?;
        Lomax::new(alpha, Period::raw(positive("shape alpha", alpha)? / rate))
    }

    /// The curve of shape `alpha` that reaches 1/2 after `half_life`: `β = t½ / (2^(1/α) - 1)`.
    pub fn with_half_life(half_life: Period, alpha: f64) -> Result<Self> {
        let alpha = positive("shape alpha", alpha)?;
        let half_life = positive("half-life", half_life.seconds())?;
        Lomax::new(alpha, Period::raw(half_life / (std::f64::consts::LN_2 / alpha).exp_m1()))
    }

    /// Is the shape within its bounds?
    pub(super) fn check(alpha: f64) -> Result<()> {
        within("shape alpha", alpha, Bound::Included(1e-12), Bound::Included(1e20), "between 1e-12 and 1e20").map(drop)
    }

    /// The curve of mean rate 1 per second, for a shape that is within its bounds.
    pub(crate) const fn unit(alpha: f64) -> Self {
        Lomax { alpha, beta: alpha }
    }

    /// α, the shape.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// β, a time.
    pub const fn beta(&self) -> Period {
        Period::raw(self.beta)
    }

    /// Mean age of a page visited every `period`: the mean over the period of the area under the curve; infinite if never visited.
    ///
    /// ```
    /// use everfresh::{Period, Unit};
    /// use everfresh::curve::Lomax;
    /// // CGM99 Table 3, uniform allocation with delta² = 1 and r = 1.
    /// let curve = Lomax::with_mean_rate(1.0, "1/day".parse()?)?;
    /// let age = curve.mean_age(Period::of(1.0, Unit::Day)?);
    /// assert!((age.days() - 0.113_705_638_88).abs() < 1e-10);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn mean_age(&self, period: Period) -> Period {
        let seconds = period.seconds();
        Period::raw(if seconds.is_finite() { seconds * self.age_in_periods(period) } else { seconds })
    }

    /// Mean age in periods of a page visited every `period`: the mean of the area under the curve, over the period.
    ///
    /// `α L³ exp[-2L, -L, 0, -αL] / (1-e^-L)²` with `L = ln(1 + I/β)` (CGM99 Table 3, without its singularities). From 0 to
    /// 1/2.
    pub(crate) fn age_in_periods(&self, period: Period) -> f64 {
        let l = self.log(period);
        if l < f64::MIN_POSITIVE {
            return 0.0;
        }
        if l.is_infinite() {
            return 0.5;
        }
        let difference = exp_difference([-2.0 * l, -l, 0.0, -self.alpha * l]);
        self.alpha * l * difference * (l / (-l).exp_m1()).powi(2)
    }

    /// The curve of a shape and a time that are within their bounds.
    pub(super) const fn raw(alpha: f64, beta: f64) -> Self {
        Lomax { alpha, beta }
    }

    /// The time at which the area under the curve reaches a value: the harmonic utility of a rate that is not known.
    pub(crate) fn period_by_area(&self, area: f64) -> Period {
        if area <= 0.0 {
            return Period::ZERO;
        }
        // The area starts as a parabola with the mean rate and ends as a line.
        let start = (2.0 * area * self.beta / self.alpha).sqrt() + area;
        Period::raw(solve(area, start, |seconds| {
            let elapsed = Period::raw(seconds);
            let value = self.area(elapsed);
            Evaluation { value, elasticity: seconds * self.divergence(elapsed) / value }
        }))
    }

    /// `ln(1 + t/β)`.
    fn log(&self, elapsed: Period) -> f64 {
        (elapsed.seconds() / self.beta).ln_1p()
    }
}

impl DivergenceCurve for Lomax {
    fn divergence(&self, elapsed: Period) -> f64 {
        -(-self.alpha * self.log(elapsed)).exp_m1()
    }

    fn slope(&self, elapsed: Period) -> f64 {
        self.alpha / self.beta * (-(self.alpha + 1.0) * self.log(elapsed)).exp()
    }

    fn area(&self, elapsed: Period) -> f64 {
        let l = self.log(elapsed);
        if l == 0.0 || l.is_infinite() {
            return l;
        }
        // The nodes shifted by L: t/β = e^L - 1 takes the factor e^L back.
        let share = self.alpha * l * l * exp_difference([-l, 0.0, -self.alpha * l]) / -(-l).exp_m1();
        elapsed.seconds() * share
    }

    fn utility(&self, elapsed: Period) -> f64 {
        let l = self.log(elapsed);
        if l.is_infinite() {
            return self.ceiling();
        }
        self.beta * self.alpha * l * l * exp_difference([0.0, (1.0 - self.alpha) * l, -self.alpha * l])
    }

    fn ceiling(&self) -> f64 {
        if self.alpha > 1.0 { self.beta / (self.alpha - 1.0) } else { f64::INFINITY }
    }

    /// With r = αt/β the utility is `β/(α-1) (1 - (1+r)(1+r/α)^-α)`: in v = ln(1+t/β) the logarithm of that product is between
    /// a square and a straight line, which makes few steps.
    fn period(&self, utility: f64) -> Period {
        if utility <= 0.0 {
            return Period::ZERO;
        }
        if utility >= self.ceiling() {
            return Period::NEVER;
        }
        let Lomax { alpha, beta } = *self;
        // Near α = 1 and for small r it cancels: then by the utility itself.
        let r = (2.0 * utility * alpha / beta).sqrt();
        if r * (1.0 - alpha.recip()).abs() < 0.1 {
            return period_by_utility(self, utility, r * beta / alpha);
        }
        let target = (utility / beta * (1.0 - alpha)).ln_1p().abs();
        let excess = (alpha - 1.0).abs();
        // αv - ln(1 + α(e^v - 1)), and its elasticity.
        let at = |v: f64| {
            let m = v.exp_m1();
            let value = (alpha * v - (alpha * m).ln_1p()).abs();
            Evaluation { value, elasticity: v * excess * alpha * m / (1.0 + alpha * m) / value }
        };
        let v = match quick::start(alpha, target / excess) {
            // Five digits: Newton's method doubles them with each of two steps.
            Some(start) => (0..2).fold(start, |v, _| {
                let Evaluation { value, elasticity } = at(v);
                v + v * (target / value - 1.0) / elasticity
            }),
            None => solve(target, (2.0 * target / (alpha * excess)).sqrt().hypot(target / excess), at),
        };
        Period::raw(beta * v.exp_m1())
    }

    fn mean_freshness(&self, period: Period) -> f64 {
        let l = self.log(period);
        if l == 0.0 {
            return 1.0;
        }
        if l.is_infinite() {
            return 0.0;
        }
        l * exp_difference([-l, -self.alpha * l]) / -(-l).exp_m1()
    }
}
