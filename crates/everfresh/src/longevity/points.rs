use crate::error::{Result, magnitude, within};
use crate::units::Period;
use std::ops::Bound;

/// What one visit saw of a page, relative to an earlier version of it: a measurement of a change profile (OP08 section 4.1).
///
/// The elapsed time is that since the base time of the profile; the divergence is that from the base version, a share.
///
/// ```
/// use everfresh::longevity::Point;
/// use everfresh::{Period, Unit};
/// let day = Period::of(1.0, Unit::Day)?;
/// assert_eq!(Point::new(day, 0.2)?.divergence(), 0.2);
/// let error = Point::new(day, 1.5).unwrap_err();
/// assert_eq!(error.to_string(), "divergence of a point must be between 0 and 1, got 1.5");
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    elapsed: Period,
    divergence: f64,
}

impl Point {
    /// A point at an elapsed time between 1e-20 and 1e20 seconds, with a divergence between 0 and 1.
    pub fn new(elapsed: Period, divergence: f64) -> Result<Point> {
        magnitude("elapsed time of a point, in seconds,", elapsed.seconds())?;
        let (zero, one) = (Bound::Included(0.0), Bound::Included(1.0));
        within("divergence of a point", divergence, zero, one, "between 0 and 1")?;
        Ok(Point { elapsed, divergence })
    }

    /// The time since the base version was seen.
    pub const fn elapsed(&self) -> Period {
        self.elapsed
    }

    /// How different the page was from the base version.
    pub const fn divergence(&self) -> f64 {
        self.divergence
    }
}

/// All profiles of a page as one: the union of their points, of which those at the same elapsed time are averaged (OP08
/// section 4.2, step 1). In order of time, whatever the order that they came in.
///
/// ```
/// use everfresh::longevity::{Point, combine};
/// use everfresh::{Period, Unit};
/// let at = |day, divergence| Point::new(Period::of(day, Unit::Day)?, divergence);
/// let (older, newer) = ([at(2.0, 0.2)?, at(5.0, 0.2)?], [at(3.0, 0.1)?, at(2.0, 0.4)?]);
/// let combined = combine([&older[..], &newer[..]]);
/// assert_eq!(combined.iter().map(|p| p.elapsed().days()).collect::<Vec<_>>(), [2.0, 3.0, 5.0]);
/// assert!((combined[0].divergence() - 0.3).abs() < 1e-15);
/// # Ok::<(), everfresh::Error>(())
/// ```
pub fn combine<'a>(profiles: impl IntoIterator<Item = &'a [Point]>) -> Vec<Point> {
    let mut all: Vec<Point> = profiles.into_iter().flatten().copied().collect();
    all.sort_by(|a, b| a.elapsed.seconds().total_cmp(&b.elapsed.seconds()));
    let same_time = all.chunk_by(|a, b| a.elapsed == b.elapsed);
    same_time
        .map(|points| {
            let sum: f64 = points.iter().map(|point| point.divergence).sum();
            Point { elapsed: points[0].elapsed, divergence: (sum / points.len() as f64).min(1.0) }
        })
        .collect()
}
