use serde::{Deserialize, Serialize};
/// A token bucket: what may be spent fills up at a steady rate to a capacity.
///
/// In any time W at most `rate W + max(capacity, dearest)` is taken. What costs more than the capacity waits for a full bucket
/// and leaves a debt. Only [`Bucket::take`] changes it, so that looking more often does not round differently.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bucket {
    rate: f64,
    capacity: f64,
    tokens: f64,
    at: f64,
}

/// Rounding must not make anybody wait for the last digit.
const ROUNDING: f64 = 1e-9;

impl Bucket {
    /// A full one.
    pub(crate) const fn new(rate: f64, capacity: f64, at: f64) -> Bucket {
        Bucket { rate, capacity, tokens: capacity, at }
    }

    /// The same with other terms: all that came since something was taken stays, as far as it fits now. Whoever visits once a day has
    /// the day's, though the bucket was small when the last visit of the day before was paid.
    pub(crate) fn with_terms(self, rate: f64, capacity: f64, now: f64) -> Bucket {
        let came = self.rate * (now - self.at).max(0.0);
        Bucket { rate, capacity, tokens: (self.tokens + came).min(capacity), at: now.max(self.at) }
    }

    pub(crate) fn available(&self, now: f64) -> f64 {
        (self.tokens + self.rate * (now - self.at).max(0.0)).min(self.capacity)
    }

    fn needed(&self, cost: f64) -> f64 {
        cost.min(self.capacity) * (1.0 - ROUNDING)
    }

    pub(crate) fn affords(&self, now: f64, cost: f64) -> bool {
        self.available(now) >= self.needed(cost)
    }

    /// Is it so full that what comes would be lost?
    pub(crate) fn is_full(&self, now: f64) -> bool {
        self.affords(now, self.capacity)
    }

    /// When it affords a cost.
    pub(crate) fn affords_at(&self, cost: f64) -> f64 {
        self.at + ((cost.min(self.capacity) - self.tokens) / self.rate).max(0.0)
    }

    /// When it is full.
    pub(crate) fn full_at(&self) -> f64 {
        self.affords_at(self.capacity)
    }

    pub(crate) fn take(&mut self, now: f64, cost: f64) {
        self.tokens = self.available(now) - cost;
        self.at = now.max(self.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::lot;

    #[test]
    fn no_window_spends_more_than_its_share_and_a_burst() {
        let (rate, capacity, dearest) = (2.0, 5.0, 9.0);
        let mut bucket = Bucket::new(rate, capacity, 0.0);
        let (mut now, mut spent) = (0.0, Vec::new());
        for step in 0..2000 {
            now += 3.0 * lot(1, step, 0).powi(4);
            let cost = dearest * lot(1, step, 1);
            if bucket.affords(now, cost) {
                bucket.take(now, cost);
                spent.push((now, cost));
            }
        }
        for (first, (from, _)) in spent.iter().enumerate() {
            let mut sum = 0.0;
            for (to, cost) in &spent[first..] {
                sum += cost;
                assert!(sum <= rate * (to - from) + dearest + 1e-6, "{sum} from {from} to {to}");
            }
        }
        let total: f64 = spent.iter().map(|(_, cost)| cost).sum();
        assert!(total > 0.8 * rate * now, "{total} of {}", rate * now);
    }

    #[test]
    fn what_came_since_the_last_visit_fills_a_larger_one() {
        let mut bucket = Bucket::new(2.0, 10.0, 0.0);
        bucket.take(5.0, 10.0);
        assert_eq!(bucket.with_terms(2.0, 1000.0, 105.0).available(105.0), 200.0);
        assert_eq!(bucket.with_terms(2.0, 50.0, 105.0).available(105.0), 50.0);
        assert_eq!(bucket.with_terms(2.0, 1000.0, 1.0).available(1.0), 0.0);
    }

    #[test]
    fn it_affords_what_it_says_when_it_says() {
        let mut bucket = Bucket::new(0.3, 4.0, 0.0);
        for step in 0..1000 {
            let cost = 8.0 * lot(2, step, 0);
            let when = bucket.affords_at(cost);
            assert!(bucket.affords(when, cost));
            bucket.take(when, cost);
        }
    }
}
