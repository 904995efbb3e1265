use super::{Estimate, Estimator, Interval, Knowledge, LEVEL, Observation, Seen};
use crate::numeric::gamma_quantile;
use crate::units::Rate;

/// Changes seen divided by time: `X / T` (CGM03 section 7.4).
///
/// Several changes between two visits are seen as one, so that the estimate is low where pages change faster than they are
/// visited: by the ratio `(1 - e^-r)/r` at r changes per visit. The interval is Garwood's for a Poisson count, which is
/// blind to that bias.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Naive {
    changes: f64,
    elapsed: f64,
}

impl Naive {
    /// Nothing observed.
    pub const fn new() -> Self {
        Naive { changes: 0.0, elapsed: 0.0 }
    }
}

/// How many changes an observation shows.
pub(super) fn seen_changes(observation: &Observation) -> f64 {
    match observation.seen() {
        Seen::Unchanged => 0.0,
        Seen::Changed | Seen::LastChange(_) => 1.0,
        Seen::Changes(n) => f64::from(n),
    }
}

/// Garwood's interval of a rate from `changes` changes in `seconds`.
pub(super) fn garwood(changes: f64, seconds: f64) -> Interval {
    if seconds == 0.0 {
        return Interval::per_second(0.0, f64::INFINITY);
    }
    let tail = (1.0 - LEVEL) / 2.0;
    let low = if changes > 0.0 { gamma_quantile(changes, tail) } else { 0.0 };
    Interval::per_second(low / seconds, gamma_quantile(changes + 1.0, 1.0 - tail) / seconds)
}

impl Estimator for Naive {
    fn observe(&mut self, observation: &Observation) {
        self.changes += seen_changes(observation);
        self.elapsed += observation.elapsed().seconds();
    }

    fn estimate(&self) -> Estimate {
        let rate = if self.elapsed > 0.0 { self.changes / self.elapsed } else { 0.0 };
        Estimate {
            rate: Rate::estimated(rate),
            interval: garwood(self.changes, self.elapsed),
            knowledge: Knowledge::new(self.changes, self.elapsed),
        }
    }
}
