//! CGM03 section 5.2: pages that change exactly once in every interval of equal length, at a moment unknown.
//!
//! The papers use two such pages, one changing nine times a day and one once a day, to show why visiting in proportion
//! to the rate is wrong. A day is cut into λ intervals; k visits within one of them, evenly spaced, find the change
//! `k/(2(k+1))` of an interval earlier on average than the interval's end. That is the benefit of the visits: the share
//! of the day for which they make the copy fresh.

use crate::error::{Error, Result};

/// The expected benefit of `visits` a day to a page that changes once in each of `intervals` a day, as a share of a day.
///
/// The visits are spread over the intervals as evenly as they go, which is best because each further visit to the same
/// interval gains less. `intervals` must be at least 1.
///
/// ```
/// use everfresh::once_per_interval::benefit;
/// // CGM03 Table III, rows (b), (e) and (h).
/// assert_eq!(benefit(1, 1)?, 9.0 / 36.0);
/// assert_eq!(benefit(1, 2)?, 12.0 / 36.0);
/// assert_eq!(benefit(9, 9)? + benefit(1, 1)?, 36.0 / 72.0);
/// # Ok::<(), everfresh::Error>(())
/// ```
pub fn benefit(intervals: u32, visits: u32) -> Result<f64> {
    check(intervals)?;
    let each = f64::from(visits / intervals);
    let one_more = f64::from(visits % intervals);
    let of_interval = |k: f64| k / (2.0 * (k + 1.0));
    let n = f64::from(intervals);
    Ok(((n - one_more) * of_interval(each) + one_more * of_interval(each + 1.0)) / n)
}

/// The split of `visits` a day over pages with the given numbers of intervals a day that has the highest benefit.
///
/// Gives each visit in turn to the page where it gains most; as every further visit gains less, no split is better.
/// Among equal gains the earlier page is served first.
///
/// ```
/// use everfresh::once_per_interval::best_split;
/// // CGM03 Table III: with 1, 2, 5 and 10 visits the best splits are (0,1), (0,2), (2,3) and (7,3).
/// assert_eq!(best_split(&[9, 1], 5)?, [2, 3]);
/// assert_eq!(best_split(&[9, 1], 10)?, [7, 3]);
/// # Ok::<(), everfresh::Error>(())
/// ```
pub fn best_split(intervals: &[u32], visits: u32) -> Result<Vec<u32>> {
    if intervals.is_empty() {
        return Err(Error::Empty("cannot split visits over no pages"));
    }
    intervals.iter().try_for_each(|&n| check(n))?;
    if visits > MOST_VISITS {
        return Err(Error::OutOfBounds {
            what: "number of visits",
            bound: "at most 1000000",
            value: f64::from(visits),
        });
    }
    let mut split = vec![0u32; intervals.len()];
    for _ in 0..visits {
        // The gain of one more visit is 1/(2λ(q+1)(q+2)) with q visits in each interval already: least divisor first.
        let divisor = |page: usize| {
            let q = u128::from(split[page] / intervals[page]);
            u128::from(intervals[page]) * (q + 1) * (q + 2)
        };
        if let Some(best) = (0..intervals.len()).min_by_key(|&page| divisor(page)) {
            split[best] += 1;
        }
    }
    Ok(split)
}

/// The most visits that are split: they are given away one by one.
pub const MOST_VISITS: u32 = 1_000_000;

fn check(intervals: u32) -> Result<()> {
    if intervals == 0 {
        return Err(Error::OutOfBounds { what: "number of intervals", bound: "at least 1", value: 0.0 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slow and obvious way: try every split.
    #[test]
    fn best_split_is_best() {
        for (a, b) in [(9, 1), (4, 3), (5, 5), (12, 2)] {
            for visits in 0..40 {
                let value = |first: u32| benefit(a, first).unwrap() + benefit(b, visits - first).unwrap();
                let best = (0..=visits).map(value).fold(0.0, f64::max);
                let split = best_split(&[a, b], visits).unwrap();
                assert_eq!(split.iter().sum::<u32>(), visits);
                assert!((value(split[0]) - best).abs() < 1e-15, "{a} {b} {visits}: {split:?}");
            }
        }
    }

    #[test]
    fn nothing_to_split_is_an_error() {
        assert_eq!(best_split(&[], 3).unwrap_err().to_string(), "cannot split visits over no pages");
        assert_eq!(best_split(&[0], 3).unwrap_err().to_string(), "number of intervals must be at least 1, got 0");
        let many = best_split(&[9, 1], u32::MAX).unwrap_err().to_string();
        assert_eq!(many, "number of visits must be at most 1000000, got 4294967295");
        assert_eq!(benefit(0, 3).unwrap_err().to_string(), "number of intervals must be at least 1, got 0");
    }
}
