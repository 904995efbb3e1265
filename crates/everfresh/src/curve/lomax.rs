use super::DivergenceCurve;
use crate::error::{Result, positive};
use crate::numeric::exp_difference;
use crate::units::{Period, Rate};

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
    /// The curve for a rate distributed as Gamma(`alpha`, `beta`); both positive and finite.
    pub fn new(alpha: f64, beta: Period) -> Result<Self> {
        Ok(Lomax { alpha: positive("shape alpha", alpha)?, beta: positive("time beta", beta.seconds())? })
    }

    /// The curve for a gamma-distributed rate with shape `alpha` and mean `rate` > 0.
    pub fn with_mean_rate(alpha: f64, rate: Rate) -> Result<Self> {
        let rate = positive("mean rate", rate.per_second())?;
        Lomax::new(alpha, Period::raw(positive("shape alpha", alpha)? / rate))
    }

    /// The mean of the rate, α/β.
    pub fn mean_rate(&self) -> Result<Rate> {
        Rate::per(self.alpha / self.beta, crate::units::Unit::Second)
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
        let share = self.alpha * l * l * exp_difference(&mut [-l, 0.0, -self.alpha * l]) / -(-l).exp_m1();
        elapsed.seconds() * share
    }

    fn utility(&self, elapsed: Period) -> f64 {
        let l = self.log(elapsed);
        if l.is_infinite() {
            return self.ceiling();
        }
        self.beta * self.alpha * l * l * exp_difference(&mut [0.0, (1.0 - self.alpha) * l, -self.alpha * l])
    }

    fn ceiling(&self) -> f64 {
        if self.alpha > 1.0 { self.beta / (self.alpha - 1.0) } else { f64::INFINITY }
    }

    fn mean_freshness(&self, period: Period) -> f64 {
        let l = self.log(period);
        if l == 0.0 {
            return 1.0;
        }
        if l.is_infinite() {
            return 0.0;
        }
        l * exp_difference(&mut [-l, -self.alpha * l]) / -(-l).exp_m1()
    }
}
