//! CGM99's gamma model: the rates of the pages are gamma-distributed (section 5.1, Table 3 and appendix C).
//!
//! One number says how different the pages are: δ, the standard deviation of their rates over the mean. With r = λ/f
//! for the mean rate λ and the mean frequency f, freshness and age of the whole collection are closed forms:
//!
//! | allocation | freshness | age in periods, `f A` |
//! | --- | --- | --- |
//! | uniform | `(1 - (1+rδ²)^(1-1/δ²)) / (r (1-δ²))` | `[(1-δ²)/2 - 1/r + (1-(1+rδ²)^(2-1/δ²))/(r² (1-2δ²))] / (1-δ²)` |
//! | proportional | `(1-e^-r)/r` | `[1/2 - 1/r + (1-e^-r)/r²] / (1-δ²)` |
//!
//! The uniform forms have removable singularities at δ² = 1, 1/2 and 0. Written with divided differences of the
//! exponential function ([`exp_difference`](crate::numeric::exp_difference)) and `α = 1/δ²`, `L = ln(1+rδ²)` they have none:
//! freshness `L exp[-L, -αL] / (1-e^-L)` (that of the curve [`Lomax`]) and age `α L³ exp[-2L, -L, 0, -αL] / (1-e^-L)²`.
//!
//! Visited in proportion to their rates, pages that hardly change are hardly visited, and the mean age is finite only
//! for δ < 1.

use crate::curve::{DivergenceCurve, Lomax};
use crate::error::{Result, not_negative, within};
use crate::order::Order;
use crate::units::{Period, Rate, Unit};
use std::ops::Bound;

/// A collection whose rates are gamma-distributed.
///
/// ```
/// use everfresh::gamma_model::GammaModel;
/// let model = GammaModel::new(0.5)?;
/// assert!((model.uniform_freshness(1.0)? - 0.650_666_666_667).abs() < 1e-12);
/// assert!((model.uniform_age_in_periods(1.0)? - 0.126_666_666_667).abs() < 1e-12);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GammaModel {
    delta_squared: f64,
}

impl GammaModel {
    /// The model with relative standard deviation `delta`: from 0 (all rates equal) to a million.
    pub fn new(delta: f64) -> Result<Self> {
        within("delta", delta, Bound::Included(0.0), Bound::Included(1e6), "between 0 and 1e6")?;
        Ok(GammaModel { delta_squared: delta.powi(2) })
    }

    /// Mean freshness when every page is visited equally often, at r = mean rate / frequency.
    pub fn uniform_freshness(self, r: f64) -> Result<f64> {
        not_negative("frequency ratio", r)?;
        // A rate of r per second, visited every second.
        let rate = Rate::per(r, Unit::Second)?;
        if self.delta_squared == 0.0 || rate == Rate::STATIC {
            return Ok(Order::Fixed.freshness(r));
        }
        Ok(Lomax::with_mean_rate(self.delta_squared.recip(), rate)?.mean_freshness(Period::of(1.0, Unit::Second)?))
    }

    /// Mean age in periods when every page is visited equally often.
    pub fn uniform_age_in_periods(self, r: f64) -> Result<f64> {
        crate::error::magnitude_or_zero("frequency ratio", r)?;
        if r * self.delta_squared < f64::MIN_POSITIVE {
            return Ok(Order::Fixed.age_in_periods(r));
        }
        Ok(Lomax::unit(self.delta_squared.recip()).age_in_periods(Period::raw(r)))
    }

    /// Mean freshness when pages are visited in proportion to their rates: the same for every page, whatever δ.
    pub fn proportional_freshness(self, r: f64) -> Result<f64> {
        Ok(Order::Fixed.freshness(not_negative("frequency ratio", r)?))
    }

    /// Mean age in mean periods when pages are visited in proportion to their rates; infinite for δ >= 1 and r > 0.
    pub fn proportional_age_in_periods(self, r: f64) -> Result<f64> {
        let equal = Order::Fixed.age_in_periods(not_negative("frequency ratio", r)?);
        Ok(if equal == 0.0 {
            0.0
        } else if self.delta_squared >= 1.0 {
            f64::INFINITY
        } else {
            equal / (1.0 - self.delta_squared)
        })
    }
}
