use super::{Estimate, Estimator, Interval, Knowledge, LEVEL, Observation};
use crate::numeric::normal_quantile;
use crate::units::Rate;

/// The bias-corrected ratio for regular visits: `-ln((n - X + 0.5)/(n + 0.5)) / I`, with X of n visits that found a change.
///
/// Cho & Garcia-Molina, *Estimating frequency of change*, ACM TOIT 3(3), 2003. Within 1 % of the truth on average at 50
/// visits up to r = 3 changes per visit; at 10 visits up to r = 1. It counts visits, not changes, and takes the mean
/// elapsed time for I: for irregular visits use [`MaximumLikelihood`](super::MaximumLikelihood), which is equal to it at
/// regular ones. The interval is Wilson's for the share X/n.
///
/// ```
/// use everfresh::estimate::{Estimator, Observation, Ratio};
/// use everfresh::{Period, Unit};
///
/// let mut page = Ratio::new();
/// for day in 0..10 {
///     page.observe(&Observation::between(f64::from(day) * 86_400.0, f64::from(day + 1) * 86_400.0, day < 6)?);
/// }
/// assert!((page.estimate().rate.per_day() + (4.5f64 / 10.5).ln()).abs() < 1e-12);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ratio {
    visits: f64,
    changed: f64,
    elapsed: f64,
}

impl Ratio {
    /// Nothing observed.
    pub const fn new() -> Self {
        Ratio { visits: 0.0, changed: 0.0, elapsed: 0.0 }
    }
}

impl Estimator for Ratio {
    fn observe(&mut self, observation: &Observation) {
        self.visits += 1.0;
        self.changed += f64::from(u8::from(observation.has_changed()));
        self.elapsed += observation.elapsed().seconds();
    }

    fn estimate(&self) -> Estimate {
        let (n, x) = (self.visits, self.changed);
        if n == 0.0 {
            let interval = Interval::per_second(0.0, f64::INFINITY);
            return Estimate { rate: Rate::STATIC, interval, knowledge: Knowledge::new(0.0, 0.0) };
        }
        let period = self.elapsed / n;
        // The share that changed, as a rate.
        let rate_of = |share: f64| -(-share.clamp(0.0, 1.0)).ln_1p() / period;
        let rate = rate_of(x / (n + 0.5));
        let z = normal_quantile((1.0 + LEVEL) / 2.0);
        let (middle, spread) = (x + z * z / 2.0, z * (x * (n - x) / n + z * z / 4.0).sqrt());
        // The ends are exact where they touch 0 and 1.
        let low = if x == 0.0 { 0.0 } else { (middle - spread) / (n + z * z) };
        let high = if x == n { 1.0 } else { (middle + spread) / (n + z * z) };
        let r = rate * period;
        // The expected information of n visits; of changes so rare that none was seen, all of the time.
        let exposure = if r > 0.0 { self.elapsed * r / r.exp_m1() } else { self.elapsed };
        Estimate {
            rate: Rate::estimated(rate),
            interval: Interval::per_second(rate_of(low), rate_of(high)),
            knowledge: Knowledge::new(rate * exposure, exposure),
        }
    }
}
