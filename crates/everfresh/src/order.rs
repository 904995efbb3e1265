//! In which order the pages are visited, and what that makes of freshness and age (CGM03 section 4).
//!
//! The order decides the gap W between two visits of one page whose mean is the period I:
//!
//! | order | the gap | in words |
//! | --- | --- | --- |
//! | fixed | I | the same list again and again |
//! | random | I (V₁ + V₂), V uniform on 0..1 | a new shuffle each round: triangular on 0..2I |
//! | purely random | exponential with mean I | each visit picks any page |
//!
//! The mean divergence is `E[area(W)]/I`, and the gain of one more visit per time is `E[U(W)]`: the law of the whole
//! library, "visit when weight x utility >= price x cost", holds under every order once the utility is averaged over the
//! gap. With r = λ/f all of it is a function of r alone, for each of the three objectives.
//!
//! The closed forms below are those of CGM03 Table II, rewritten in the functions `E_n` of [`Phi`] so that they keep
//! their digits from r = 1e-8 to 1e6. The Laplace transform of the triangular gap is `E_1^2`, which is where the products
//! come from.

use crate::error::{Result, within};
use crate::kernel;
use crate::numeric::{Evaluation, Phi, ein, gamma_lower, solve};
use crate::units::{Period, Rate};
use std::ops::Bound;

/// What a plan makes large or small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Objective {
    /// The share of time that a copy is fresh (CGM03 definition 2.1).
    Freshness,
    /// The time since the first change that the copy misses (CGM03 definition 2.2).
    Age,
    /// n missed changes cost 1 + 1/2 + ... + 1/n (Kolobov et al., NeurIPS 2019): no page is ever given up.
    Harmonic,
}

/// In which order the pages are visited (CGM03 section 3, item 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Order {
    /// The same order each round: a fixed period.
    Fixed,
    /// A new shuffle each round.
    Random,
    /// Each visit picks any page.
    PurelyRandom,
}

impl Objective {
    /// Every objective.
    pub const ALL: [Objective; 3] = [Objective::Freshness, Objective::Age, Objective::Harmonic];

    /// The power of 1/λ in the utility: freshness and harmonic have the unit of time, age of time squared.
    pub const fn time_power(self) -> i32 {
        match self {
            Objective::Freshness | Objective::Harmonic => 1,
            Objective::Age => 2,
        }
    }

    /// The utility of a page left alone for ever, times `λ^time_power`: finite only for freshness.
    pub const fn ceiling(self) -> f64 {
        match self {
            Objective::Freshness => 1.0,
            Objective::Age | Objective::Harmonic => f64::INFINITY,
        }
    }
}

/// The second moment of the triangular gap, E[(V₁ + V₂)²].
const GAP_SQUARED: f64 = 7.0 / 6.0;

impl Order {
    /// Every order, best first.
    pub const ALL: [Order; 3] = [Order::Fixed, Order::Random, Order::PurelyRandom];

    /// Mean freshness at frequency ratio r = λ/f (CGM03 Table II).
    ///
    /// Fixed `(1-e^-r)/r`; random `(1/r)(1 - ((1-e^-r)/r)^2)`; purely random `1/(1+r)`. From 1 at r = 0 to 0 at infinity.
    ///
    /// ```
    /// use everfresh::Order;
    /// assert!((Order::Fixed.freshness(1.0) - 0.632_120_558_829).abs() < 1e-12);
    /// assert!((Order::Random.freshness(1.0) - 0.600_423_599_106).abs() < 1e-12);
    /// assert_eq!(Order::PurelyRandom.freshness(1.0), 0.5);
    /// ```
    pub fn freshness(self, r: f64) -> f64 {
        let phi = Phi::at(r);
        match self {
            Order::Fixed => phi.e1,
            Order::Random => phi.e2 * (1.0 + phi.e1),
            Order::PurelyRandom => (1.0 + r).recip(),
        }
    }

    /// Mean staleness, `1 - freshness`, with all its digits where r is small.
    pub fn staleness(self, r: f64) -> f64 {
        if r.is_infinite() {
            return 1.0;
        }
        let phi = Phi::at(r);
        match self {
            Order::Fixed => r * phi.e2,
            Order::Random => r * (phi.e2 / 2.0 + phi.e3 * (1.0 + phi.e1)),
            Order::PurelyRandom => r / (1.0 + r),
        }
    }

    /// Mean age in periods, `f A`, at frequency ratio r = λ/f (CGM03 Table II).
    ///
    /// Fixed `1/2 - 1/r + (1-e^-r)/r^2`; random `1/3 + (1/2 - 1/r)^2 - ((1-e^-r)/r^2)^2`; purely random `r/(1+r)`.
    /// From 0 to 1/2, 7/12 and 1.
    ///
    /// ```
    /// use everfresh::Order;
    /// assert!((Order::Fixed.age_in_periods(1.0) - 0.132_120_558_829).abs() < 1e-12);
    /// ```
    pub fn age_in_periods(self, r: f64) -> f64 {
        let phi = Phi::at(r);
        match self {
            Order::Fixed if r.is_infinite() => 0.5,
            Order::Random if r.is_infinite() => GAP_SQUARED / 2.0,
            Order::PurelyRandom if r.is_infinite() => 1.0,
            Order::Fixed => r * phi.e3,
            Order::Random if r < 1.0 => r * random_age_over_r(r, &phi),
            Order::Random => 1.0 / 3.0 + phi.e3 * (r / 2.0 - 1.0 - phi.e1),
            Order::PurelyRandom => r / (1.0 + r),
        }
    }

    /// [`Order::freshness`] and [`Order::age_in_periods`] for the price of one.
    #[inline]
    pub fn freshness_and_age(self, r: f64) -> (f64, f64) {
        if self == Order::Fixed && r.is_finite() {
            let phi = Phi::at(r);
            return (phi.e1, r * phi.e3);
        }
        (self.freshness(r), self.age_in_periods(r))
    }

    /// Mean harmonic penalty (1 + 1/2 + ... + 1/n for n missed changes) at frequency ratio r.
    ///
    /// Fixed `Ein(r) - k(r)/r`; purely random `ln(1+r)`; random in closed form through the third integral of Ein.
    pub fn harmonic(self, r: f64) -> f64 {
        match self {
            _ if r.is_infinite() => r,
            Order::Fixed => ein(r) - r * Phi::at(r).e2,
            Order::Random if r < 1.0 => random_harmonic_series(r),
            Order::Random => (ein_integrated_thrice(2.0 * r) - 2.0 * ein_integrated_thrice(r)) / (r * r * r),
            Order::PurelyRandom => r.ln_1p(),
        }
    }

    /// Mean divergence of the objective; for age in periods.
    pub fn mean_divergence(self, objective: Objective, r: f64) -> f64 {
        match objective {
            Objective::Freshness => self.staleness(r),
            Objective::Age => self.age_in_periods(r),
            Objective::Harmonic => self.harmonic(r),
        }
    }

    /// What one more visit per time gains, times `λ^time_power`: the utility averaged over the gap, E[U(W)].
    ///
    /// Under fixed order these are [`kernel::g`], [`kernel::h`] and [`kernel::k`]. Increasing in r, 0 at 0.
    ///
    /// ```
    /// use everfresh::{Objective, Order};
    /// // Purely random order and freshness: (r/(1+r))^2.
    /// assert_eq!(Order::PurelyRandom.utility(Objective::Freshness, 1.0), 0.25);
    /// ```
    pub fn utility(self, objective: Objective, r: f64) -> f64 {
        match (self, objective) {
            _ if r.is_infinite() => objective.ceiling(),
            (Order::Fixed, Objective::Freshness) => kernel::g(r),
            (Order::Fixed, Objective::Age) => kernel::h(r),
            (Order::Fixed, Objective::Harmonic) => kernel::k(r),
            (Order::Random, Objective::Freshness) => random_freshness_utility(r),
            (Order::Random, Objective::Age) => random_age_utility(r),
            (Order::Random, Objective::Harmonic) => r * r * (16.0 * Phi::at(2.0 * r).e4 - 2.0 * Phi::at(r).e4),
            (Order::PurelyRandom, Objective::Freshness) => (r / (1.0 + r)).powi(2),
            (Order::PurelyRandom, Objective::Age) => r * r * r * (r + 2.0) / (1.0 + r).powi(2),
            (Order::PurelyRandom, Objective::Harmonic) => r * r / (1.0 + r),
        }
    }

    /// The elasticity of the utility, `r u'(r)/u(r)`: how a plan's frequencies answer to its price.
    pub fn utility_elasticity(self, objective: Objective, r: f64) -> f64 {
        let phi = Phi::at(r);
        let slope_times_r = match (self, objective) {
            (Order::Fixed, Objective::Freshness) => r * r * phi.e0,
            (Order::Fixed, Objective::Age) => r * r * r * phi.e1,
            (Order::Fixed, Objective::Harmonic) => r * r * phi.e1,
            (Order::Random, Objective::Freshness) => r * r * random_gap_squared(r, &phi),
            // Below 0.01 the difference cancels and the leading power serves.
            (Order::Random, Objective::Age) if r < 0.01 => return 3.0,
            (Order::Random, Objective::Age) => r * r * (GAP_SQUARED - random_gap_squared(r, &phi)),
            (Order::Random, Objective::Harmonic) => r * r * (phi.e2 + 2.0 * (phi.e2 - phi.e3) * phi.e1),
            (Order::PurelyRandom, Objective::Freshness) => return 2.0 / (1.0 + r),
            (Order::PurelyRandom, Objective::Age) => return 3.0 + r / (r + 2.0) - 2.0 * r / (1.0 + r),
            (Order::PurelyRandom, Objective::Harmonic) => return 2.0 - r / (1.0 + r),
        };
        slope_times_r / self.utility(objective, r)
    }

    /// The frequency ratio at which the utility is y: the inverse of [`Order::utility`]. Infinite from the ceiling up.
    ///
    /// Closed forms for purely random order with freshness and harmonic; Newton's method elsewhere.
    pub fn ratio_at_utility(self, objective: Objective, y: f64) -> f64 {
        if y <= 0.0 {
            return 0.0;
        }
        if y >= objective.ceiling() {
            return f64::INFINITY;
        }
        match (self, objective) {
            (Order::Fixed, Objective::Freshness) => kernel::g_inverse(y),
            (Order::Fixed, Objective::Age) => kernel::h_inverse(y),
            (Order::Fixed, Objective::Harmonic) => kernel::k_inverse(y),
            (Order::Random, Objective::Freshness) if y > 0.5 => self.ratio_at_complement(1.0 - y),
            (Order::PurelyRandom, Objective::Freshness) => purely_random_ratio(y, 1.0 - y),
            (Order::PurelyRandom, Objective::Harmonic) => (y + (y * y + 4.0 * y).sqrt()) / 2.0,
            _ => solve(y, first_guess(objective, y), |r| Evaluation {
                value: self.utility(objective, r),
                elasticity: self.utility_elasticity(objective, r),
            }),
        }
    }

    /// The frequency ratio at which the utility for freshness is 1 - q, with all digits where q is small.
    pub(crate) fn ratio_at_complement(self, q: f64) -> f64 {
        match self {
            Order::Fixed => kernel::g_complement_inverse(q),
            Order::Random => random_ratio_at_complement(q),
            Order::PurelyRandom => purely_random_ratio(1.0 - q, q),
        }
    }

    /// The frequency ratio at which the mean freshness is `freshness`, in 0..=1: 0 for 1 and infinite for 0.
    ///
    /// ```
    /// use everfresh::Order;
    /// // CGM03 section 7.3: freshness 0.8 needs r = 0.46, that is two visits per change.
    /// assert!((Order::Fixed.ratio_for_freshness(0.8)? - 0.46421).abs() < 5e-6);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn ratio_for_freshness(self, freshness: f64) -> Result<f64> {
        within("freshness", freshness, Bound::Included(0.0), Bound::Included(1.0), "between 0 and 1")?;
        let staleness = 1.0 - freshness;
        Ok(if freshness == 0.0 {
            f64::INFINITY
        } else if freshness == 1.0 {
            0.0
        } else if self == Order::PurelyRandom {
            staleness / freshness
        } else if freshness > 0.5 {
            solve(staleness, 2.0 * staleness, |r| {
                let value = self.staleness(r);
                Evaluation { value, elasticity: self.staleness_slope_times_r(r) / value }
            })
        } else {
            solve(freshness.recip(), freshness.recip(), |r| {
                let value = self.freshness(r);
                Evaluation { value: value.recip(), elasticity: self.staleness_slope_times_r(r) / value }
            })
        })
    }

    /// `-r F'(r) = u(r)/r`: the utility for freshness is `-r^2 F'(r)`.
    fn staleness_slope_times_r(self, r: f64) -> f64 {
        self.utility(Objective::Freshness, r) / r
    }

    /// The frequency ratio at which the mean age is `age_times_rate = λA`: any number from 0 up has one.
    pub fn ratio_for_age(self, age_times_rate: f64) -> Result<f64> {
        within("age times rate", age_times_rate, Bound::Included(0.0), Bound::Unbounded, "at least 0")?;
        if age_times_rate == 0.0 || age_times_rate.is_infinite() {
            return Ok(age_times_rate);
        }
        // λA = r (f A), and its derivative is the utility for age over r^2.
        Ok(solve(age_times_rate, 1.0 + age_times_rate, |r| {
            let value = r * self.age_in_periods(r);
            Evaluation { value, elasticity: self.utility(Objective::Age, r) / (r * value) }
        }))
    }

    /// Mean age of a page: 0 for a static one, infinite for one that changes and is never visited.
    pub fn age(self, rate: Rate, period: Period) -> Period {
        if rate == Rate::STATIC {
            return Period::ZERO;
        }
        Period::raw(period.seconds() * self.age_in_periods(rate * period))
    }

    /// The longest period whose mean freshness is at least `freshness`; never for a static page.
    pub fn period_for_freshness(self, rate: Rate, freshness: f64) -> Result<Period> {
        let ratio = self.ratio_for_freshness(freshness)?;
        Ok(period_of_ratio(ratio, rate))
    }

    /// The longest period whose mean age is at most `age`; never for a static page.
    pub fn period_for_age(self, rate: Rate, age: Period) -> Result<Period> {
        let ratio = self.ratio_for_age(if rate == Rate::STATIC { f64::INFINITY } else { rate * age })?;
        Ok(period_of_ratio(ratio, rate))
    }
}

/// About the r at which a utility is y: the power law that it follows for small r, or the one for large r.
fn first_guess(objective: Objective, y: f64) -> f64 {
    match objective {
        Objective::Age if y < 1.0 => (2.0 * y).cbrt(),
        Objective::Harmonic if y > 1.0 => y,
        _ => (2.0 * y).sqrt(),
    }
}

fn period_of_ratio(ratio: f64, rate: Rate) -> Period {
    if rate == Rate::STATIC { Period::NEVER } else { Period::raw(ratio / rate.per_second()) }
}

/// E[g(rX)] for the triangular gap X: `1 - E_1 (3 E_1 - 2 E_0)`.
fn random_freshness_utility(r: f64) -> f64 {
    let phi = Phi::at(r);
    if r < 1.0 {
        // -E_1' = E_1 - E_2 and -E_2' = E_2 - 2 E_3.
        r * r * ((phi.e2 - 2.0 * phi.e3) * (1.0 + phi.e1) + phi.e2 * (phi.e1 - phi.e2))
    } else {
        1.0 - phi.e1 * (3.0 * phi.e1 - 2.0 * phi.e0)
    }
}

/// The inverse of the above near its ceiling, where `1 - u = E_1 (3 E_1 - 2 E_0)` falls like 3/r².
fn random_ratio_at_complement(q: f64) -> f64 {
    solve(q.recip(), (3.0 / q).sqrt(), |r| {
        let phi = Phi::at(r);
        let complement = phi.e1 * (3.0 * phi.e1 - 2.0 * phi.e0);
        Evaluation { value: complement.recip(), elasticity: r * r * random_gap_squared(r, &phi) / complement }
    })
}

/// The inverse of `(r/(1+r))^2` at y, given 1 - y too: `sqrt(y)/(1 - sqrt(y))` without cancellation.
fn purely_random_ratio(y: f64, complement: f64) -> f64 {
    let root = y.sqrt();
    root * (1.0 + root) / complement
}

/// E[X² e^(-rX)] for the triangular gap X: the second derivative of `E_1^2`.
fn random_gap_squared(r: f64, phi: &Phi) -> f64 {
    let (slope1, slope2) = if r < 1.0 {
        (phi.e1 - phi.e2, phi.e2 - 2.0 * phi.e3)
    } else {
        ((phi.e1 - phi.e0) / r, (2.0 * phi.e2 - phi.e1) / r)
    };
    2.0 * (slope1 * slope1 + phi.e1 * (slope1 - slope2))
}

/// `f A / r` under random order for r < 1.
fn random_age_over_r(r: f64, phi: &Phi) -> f64 {
    1.0 / 12.0 + phi.e2 / 6.0 + phi.e4 * (2.0 - r / 2.0 - r * phi.e2)
}

/// E[h(rX)] for the triangular gap X: `7/12 r^2 - E[g(rX)]`.
fn random_age_utility(r: f64) -> f64 {
    if r >= 1.0 {
        return GAP_SQUARED / 2.0 * r * r - random_freshness_utility(r);
    }
    // r^2 d/dr (r f A), with f A = r B.
    let phi = Phi::at(r);
    let slope2 = phi.e2 - 2.0 * phi.e3;
    let slope4 = phi.e4 - 4.0 * phi.e5;
    let b = random_age_over_r(r, &phi);
    let b_slope = -slope2 / 6.0 - slope4 * (2.0 - r / 2.0 - r * phi.e2) + phi.e4 * (r * slope2 - 0.5 - phi.e2);
    r * r * r * (2.0 * b + r * b_slope)
}

/// The harmonic penalty under random order: `sum over k of -(-r)^k (2^(k+3) - 2)/(k (k+3)!)`.
fn random_harmonic_series(r: f64) -> f64 {
    let mut total = 0.0;
    let mut power = -1.0 / 6.0;
    let mut two = 8.0;
    for k in 1..40 {
        let k = f64::from(k);
        power *= -r / (k + 3.0);
        two *= 2.0;
        total += power * (two - 2.0) / k;
    }
    total
}

/// The third integral of Ein from 0: `1/6 integral of (x-s)^3 (1-e^-s)/s over 0..x`.
fn ein_integrated_thrice(x: f64) -> f64 {
    let rising = x * x * x * (ein(x) - 3.0 + 1.5 - 1.0 / 3.0);
    let falling = -3.0 * x * x * (-x).exp_m1() - 3.0 * x * gamma_lower(2.0, x) + gamma_lower(3.0, x);
    (rising + falling) / 6.0
}
