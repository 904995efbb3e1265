//! One page in time: its changes, its visits, and how fresh its copy was, exactly.

use everfresh::Order;
use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The times of a Poisson process of `rate`, from 0 to `end`.
pub(super) fn poisson(rate: f64, end: f64, rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let mut times = Vec::new();
    let mut now = 0.0;
    loop {
        let gap: f64 = Exp1.sample(rng);
        now += gap / rate;
        if now >= end {
            return times;
        }
        times.push(now);
    }
}

/// The times of visits to one page, every `period` on average, from 0 to `end` (CGM03 section 3, item 3).
pub(super) fn visits(order: Order, period: f64, end: f64, rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let rounds = || (0..).map(move |round| f64::from(round) * period).take_while(move |start| *start < end);
    match order {
        Order::Fixed => {
            let phase = rng.random::<f64>() * period;
            rounds().map(|start| start + phase).filter(|time| *time < end).collect()
        }
        Order::Random => {
            let times = rounds().map(|start| start + rng.random::<f64>() * period);
            times.filter(|time| *time < end).collect()
        }
        Order::PurelyRandom => poisson(period.recip(), end, rng),
    }
}

/// Mean freshness and mean age of a copy between its first and its last visit (CGM03 definitions 2.1 to 2.3).
///
/// Both lists are in order. Nothing for fewer than two visits.
pub(super) fn freshness_and_age(changes: &[f64], visits: &[f64]) -> Option<(f64, f64)> {
    let (first, last) = (visits.first()?, visits.last()?);
    let (mut fresh, mut age) = (0.0, 0.0);
    for gap in visits.windows(2) {
        let next = changes.partition_point(|change| *change <= gap[0]);
        let stale_from = changes.get(next).copied().unwrap_or(f64::INFINITY).min(gap[1]);
        fresh += stale_from - gap[0];
        age += (gap[1] - stale_from).powi(2) / 2.0;
    }
    let length = last - first;
    (length > 0.0).then(|| (fresh / length, age / length))
}

/// Mean and standard error of some numbers.
pub(super) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::random;

    #[test]
    fn a_copy_is_fresh_until_the_first_change() {
        // Visits at 0, 4 and 8; changes at 1, 3 and 7: fresh for 1 and 3, stale for 3 and 1.
        let (freshness, age) = freshness_and_age(&[1.0, 3.0, 7.0], &[0.0, 4.0, 8.0]).unwrap();
        assert_eq!(freshness, 0.5);
        assert_eq!(age, (4.5 + 0.5) / 8.0);
        assert_eq!(freshness_and_age(&[1.0], &[2.0]), None);
    }

    /// CGM03 Table II, by simulation.
    #[test]
    fn simulated_orders_follow_the_closed_forms() {
        let mut rng = random(11, 0);
        for order in Order::ALL {
            for r in [0.1, 1.0, 10.0] {
                let page = |rng: &mut Xoshiro256PlusPlus| {
                    let end = 2000.0;
                    freshness_and_age(&poisson(r, end, rng), &visits(order, 1.0, end, rng)).unwrap()
                };
                let pages: Vec<(f64, f64)> = (0..200).map(|_| page(&mut rng)).collect();
                let (freshness, error) = mean_and_error(&pages.iter().map(|page| page.0).collect::<Vec<_>>());
                assert!((freshness - order.freshness(r)).abs() < 4.0 * error, "{order:?} {r}: {freshness}");
                let (age, error) = mean_and_error(&pages.iter().map(|page| page.1).collect::<Vec<_>>());
                assert!((age - order.age_in_periods(r)).abs() < 4.0 * error, "{order:?} {r}: {age}");
            }
        }
    }
}
