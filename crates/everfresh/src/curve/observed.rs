use super::DivergenceCurve;
use crate::error::{Error, Result, not_negative};
use crate::units::Period;

/// A curve through observed points: straight lines between them, from (0, 0), and level after the last.
///
/// Two points at the same time are a jump, so that the upper and lower bounds of OP08 section 4.3 are such curves too.
/// All of it is exact: the area under straight lines, `U` a piece of a parabola, and its inverse a square root. What
/// lies beyond the last point is not known; the curve stays level there, and the ceiling is the utility at that point.
///
/// ```
/// use everfresh::curve::{DivergenceCurve, Observed};
/// use everfresh::{Period, Unit};
/// // OP08 section 4.1: the change profile (10, 0), (12, 0.2), (15, 0.2), (23, 0.3), relative to its base time.
/// let day = |n| Period::of(n, Unit::Day);
/// let profile = Observed::new(&[(day(2.0)?, 0.2), (day(5.0)?, 0.2), (day(13.0)?, 0.3)])?;
/// assert!((profile.divergence(day(9.0)?) - 0.25).abs() < 1e-15);
/// assert!((profile.area(day(5.0)?) / Unit::Day.seconds() - 0.8).abs() < 1e-15);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    knots: Vec<Knot>,
}

/// A point of the curve with what has gathered up to it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    time: f64,
    divergence: f64,
    area: f64,
    utility: f64,
}

const ORIGIN: Knot = Knot { time: 0.0, divergence: 0.0, area: 0.0, utility: 0.0 };

impl Knot {
    /// The slope of the line to the next knot; 0 for a jump.
    fn slope_to(self, next: Knot) -> f64 {
        if next.time > self.time { (next.divergence - self.divergence) / (next.time - self.time) } else { 0.0 }
    }

    /// The curve at a time on the line from here with the given slope.
    fn follow(self, slope: f64, time: f64) -> Knot {
        let elapsed = time - self.time;
        let divergence = self.divergence + slope * elapsed;
        Knot {
            time,
            divergence,
            area: self.area + elapsed * (self.divergence + divergence) / 2.0,
            utility: self.utility + slope * elapsed * (self.time + time) / 2.0,
        }
    }
}

impl Observed {
    /// A page on which nothing was ever seen to differ.
    pub fn flat() -> Observed {
        Observed { knots: vec![ORIGIN] }
    }

    /// The curve through `(elapsed, divergence)` points, in order of time; neither may fall, and nothing differs at
    /// elapsed time zero.
    pub fn new(points: &[(Period, f64)]) -> Result<Self> {
        let mut knots = vec![ORIGIN];
        let mut last = ORIGIN;
        for &(time, divergence) in points {
            let time = not_negative("elapsed time of a point, in seconds,", time.seconds())?;
            not_negative("divergence of a point", divergence)?;
            if time < last.time || divergence < last.divergence {
                return Err(Error::Inconsistent(format!(
                    "points of an observed curve must not fall, got ({time} s, {divergence}) after ({} s, {})",
                    last.time, last.divergence
                )));
            }
            if time == 0.0 && divergence > 0.0 {
                return Err(Error::Inconsistent(format!("divergence at elapsed time 0 must be 0, got {divergence}")));
            }
            last = if time > last.time {
                last.follow((divergence - last.divergence) / (time - last.time), time)
            } else {
                Knot { utility: last.utility + time * (divergence - last.divergence), ..last }
            };
            // The given value, not the one that the line arrives at within rounding.
            last.divergence = divergence;
            knots.push(last);
        }
        Ok(Observed { knots })
    }

    /// The last knot at or before a time, and the slope behind it.
    fn locate(&self, time: f64) -> (Knot, f64) {
        let next = self.knots.partition_point(|knot| knot.time <= time);
        let here = self.knots[next - 1];
        (here, self.knots.get(next).map_or(0.0, |next| here.slope_to(*next)))
    }

    fn at(&self, elapsed: Period) -> Knot {
        let (here, slope) = self.locate(elapsed.seconds());
        here.follow(slope, elapsed.seconds())
    }

    fn last(&self) -> Knot {
        self.knots.last().copied().unwrap_or(ORIGIN)
    }
}

impl DivergenceCurve for Observed {
    fn divergence(&self, elapsed: Period) -> f64 {
        if elapsed == Period::NEVER { self.last().divergence } else { self.at(elapsed).divergence }
    }

    fn slope(&self, elapsed: Period) -> f64 {
        self.locate(elapsed.seconds()).1
    }

    fn area(&self, elapsed: Period) -> f64 {
        if elapsed < Period::NEVER {
            self.at(elapsed).area
        } else if self.last().divergence > 0.0 {
            f64::INFINITY
        } else {
            0.0
        }
    }

    fn utility(&self, elapsed: Period) -> f64 {
        if elapsed == Period::NEVER { self.ceiling() } else { self.at(elapsed).utility }
    }

    fn ceiling(&self) -> f64 {
        self.last().utility
    }

    fn period(&self, utility: f64) -> Period {
        if utility.is_nan() || utility <= 0.0 {
            return Period::ZERO;
        }
        if utility >= self.ceiling() {
            return Period::NEVER;
        }
        let next = self.knots.partition_point(|knot| knot.utility < utility);
        let Some(there) = self.knots.get(next) else { return Period::NEVER };
        let here = self.knots[next - 1];
        let slope = here.slope_to(*there);
        if slope == 0.0 {
            return Period::raw(there.time);
        }
        // U = U_here + slope (t² - t_here²)/2.
        let squared = here.time * here.time + 2.0 * (utility - here.utility) / slope;
        Period::raw(squared.sqrt().clamp(here.time, there.time))
    }
}
