use super::Point;
use crate::error::{Error, Result, magnitude};
use crate::units::Period;

/// Upper and lower bounds of the divergence that a profile leaves open: no more is assumed than that divergence does not fall
/// (OP08 section 4.3, step 1, and figure 7).
///
/// Between two observations the divergence may have jumped right after the first (upper bound) or right before the second
/// (lower bound); at an observation both meet. Beyond the last one the lower bound stays level, and the upper bound is 1.
///
/// Where the observations do fall (OP08 footnote 3: fragments come back), the bounds are the tightest non-decreasing ones
/// with all observations between them: the upper bound is the largest observation so far, the lower one the least to come.
///
/// ```
/// use everfresh::longevity::{Bounds, Point};
/// use everfresh::{Period, Unit};
/// // OP08 section 4.1: (10, 0), (12, 0.2), (15, 0.2), (23, 0.3), relative to its base time 10.
/// let day = |n| Period::of(n, Unit::Day);
/// let profile = [Point::new(day(2.0)?, 0.2)?, Point::new(day(5.0)?, 0.2)?, Point::new(day(13.0)?, 0.3)?];
/// let bounds = Bounds::new(&profile)?;
/// assert_eq!((bounds.lower(day(1.0)?), bounds.upper(day(1.0)?)), (0.0, 0.2));
/// assert_eq!((bounds.lower(day(5.0)?), bounds.upper(day(5.0)?)), (0.2, 0.2));
/// assert_eq!((bounds.lower(day(6.0)?), bounds.upper(day(6.0)?)), (0.2, 0.3));
/// // A_min = 11 x 0.2 and A_max = 5 x 0.2 + 8 x 0.3, so U is between 13 x 0.3 less each.
/// let utility = bounds.utility(day(13.0)?);
/// assert!((utility.low / Unit::Day.seconds() - 0.5).abs() < 1e-12);
/// assert!((utility.high / Unit::Day.seconds() - 1.7).abs() < 1e-12);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    knots: Vec<Knot>,
}

/// An observation: its time, in seconds, and the bounds at that time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    time: f64,
    low: f64,
    high: f64,
}

impl Bounds {
    /// The bounds of a profile, whose points must be in order of time; without points nothing is known.
    pub fn new(profile: &[Point]) -> Result<Bounds> {
        let mut knots: Vec<Knot> = Vec::with_capacity(profile.len());
        for point in profile {
            let (time, divergence) = (point.elapsed().seconds(), point.divergence());
            let before = knots.last().map_or(Knot { time: 0.0, low: 0.0, high: 0.0 }, |knot| *knot);
            if time <= before.time {
                let message = "points of a profile must be in order of time, got";
                return Err(Error::Inconsistent(format!("{message} {time} s after {} s", before.time)));
            }
            knots.push(Knot { time, low: divergence, high: before.high.max(divergence) });
        }
        let mut least = f64::INFINITY;
        for knot in knots.iter_mut().rev() {
            least = least.min(knot.low);
            knot.low = least;
        }
        Ok(Bounds { knots })
    }

    /// The elapsed time of the last observation: zero without any.
    pub fn reach(&self) -> Period {
        self.knots.last().map_or(Period::ZERO, |knot| Period::raw(knot.time))
    }

    /// The least that the divergence can be.
    pub fn lower(&self, elapsed: Period) -> f64 {
        let next = self.knots.partition_point(|knot| knot.time <= elapsed.seconds());
        if next == 0 { 0.0 } else { self.knots[next - 1].low }
    }

    /// The most that the divergence can be: 0 at no elapsed time.
    pub fn upper(&self, elapsed: Period) -> f64 {
        if elapsed == Period::ZERO {
            return 0.0;
        }
        let next = self.knots.partition_point(|knot| knot.time < elapsed.seconds());
        self.knots.get(next).map_or(1.0, |knot| knot.high)
    }

    /// The bounds of the area under the divergence: `A_min` and `A_max` of OP08 figure 7, in seconds.
    pub fn area(&self, elapsed: Period) -> (f64, f64) {
        (self.integral(elapsed, Side::Lower, 1.0), self.integral(elapsed, Side::Upper, 1.0))
    }

    /// The bounds of the utility `U = t D(t) - area(t)`, in seconds (OP08 section 4.3, step 3).
    ///
    /// At an observation, where D(t) is known, these are `t D - A_max` and `t D - A_min`. Between observations D(t) itself is
    /// open: the utility is least when nothing happened since the last observation, and most when all happens now.
    pub fn utility(&self, elapsed: Period) -> UtilityBounds {
        if elapsed == Period::NEVER {
            return UtilityBounds { low: 0.0, high: f64::INFINITY };
        }
        let elapsed = self.observed_near(elapsed);
        let (t, least) = (elapsed.seconds(), self.lower(elapsed));
        let low = t * least - self.integral(elapsed, Side::Upper, least);
        let high = t * self.upper(elapsed) - self.integral(elapsed, Side::Lower, 1.0);
        UtilityBounds { low: low.max(0.0), high: high.max(0.0) }
    }

    /// The observation at this time, if there is one within a thousandth: a time that was added up from periods, or stored in
    /// few bits, must not fall beside the observation that it means.
    fn observed_near(&self, elapsed: Period) -> Period {
        let t = elapsed.seconds();
        let distance = |knot: &&Knot| (knot.time - t).abs();
        let nearest = self.knots.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.filter(|knot| distance(knot) <= SAME * t).map_or(elapsed, |knot| Period::raw(knot.time))
    }

    /// The integral over 0..t of one bound, or of `cap` where that is less.
    fn integral(&self, elapsed: Period, side: Side, cap: f64) -> f64 {
        let end = elapsed.seconds();
        let (mut from, mut low, mut area) = (0.0, 0.0, 0.0);
        for knot in &self.knots {
            let to = knot.time.min(end);
            let level = if side == Side::Upper { knot.high } else { low };
            area += level.min(cap) * (to - from);
            (from, low) = (to, knot.low);
        }
        let beyond = if side == Side::Upper { 1.0 } else { low };
        // What is beyond the last point must not be 0 times infinity.
        if end > from { area + beyond.min(cap) * (end - from) } else { area }
    }
}

/// Times that differ by less than this share are the same.
const SAME: f64 = 1e-3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

/// Between what the utility of a visit lies, in seconds (divergence times time).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UtilityBounds {
    /// `U_min`
    pub low: f64,
    /// `U_max`
    pub high: f64,
}

/// The bounds of the utility after `window`, from all profiles of a page: the mean of what each one says (OP08 section
/// 4.3, steps 2 and 3). Utility is linear in divergence, so that this is the utility of the mean bounds.
///
/// Only profiles count that reach as far as the window, as the one does whose base time is the reference time; a profile that ends
/// before knows nothing of the rest, and would blur what the others know. Where none reaches it all count, and where there is
/// none nothing is known: the utility is between 0 and the window.
pub fn utility_bounds<'a>(profiles: impl IntoIterator<Item = &'a Bounds>, window: Period) -> UtilityBounds {
    let (mut reaching, mut all) = (Mean::default(), Mean::default());
    for bounds in profiles {
        let utility = bounds.utility(window);
        all.add(utility);
        if bounds.reach().seconds() >= window.seconds() * (1.0 - SAME) {
            reaching.add(utility);
        }
    }
    let unknown = UtilityBounds { low: 0.0, high: window.seconds() };
    reaching.mean().or(all.mean()).unwrap_or(unknown)
}

#[derive(Default)]
struct Mean {
    low: f64,
    high: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, bounds: UtilityBounds) {
        self.low += bounds.low;
        self.high += bounds.high;
        self.count += 1.0;
    }

    fn mean(&self) -> Option<UtilityBounds> {
        (self.count > 0.0).then(|| UtilityBounds { low: self.low / self.count, high: self.high / self.count })
    }
}

/// What the bound-based policy did after a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjustment {
    /// `U_max < T`: the optimal period is longer than the window; the period is now twice the window.
    Doubled,
    /// `U_min >= T`: the optimal period was reached or passed; the search starts anew here, with half the period.
    Restarted,
    /// The bounds straddle T: the period stays.
    Kept,
}

/// The search of the bound-based policy for one page: its period and the time since its reference time (OP08 section 4.3).
///
/// 16 bytes. After each visit: call [`BoundSearch::visited`] with the time since the visit before, ask the profiles for the
/// utility bounds at the [`window`](BoundSearch::window), and [`adjust`](BoundSearch::adjust).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundSearch {
    period: f64,
    window: f64,
}

impl BoundSearch {
    /// A search that starts at a visit made now, which becomes the reference time, with this period to the next.
    pub fn new(period: Period) -> Result<BoundSearch> {
        Ok(BoundSearch { period: magnitude("first period in seconds", period.seconds())?, window: 0.0 })
    }

    /// A visit was made, so long after the one before.
    pub fn visited(&mut self, elapsed: Period) {
        self.window = (self.window + elapsed.seconds().max(0.0)).min(crate::error::LARGEST);
    }

    /// `t - t_R`, the time since the reference time.
    pub const fn window(&self) -> Period {
        Period::raw(self.window)
    }

    /// `φ`, the time to wait before the next visit.
    pub const fn period(&self) -> Period {
        Period::raw(self.period)
    }

    /// Keeps the period at or below `longest` (OP08 section 4.5).
    pub fn limit(&mut self, longest: Period) {
        self.period = self.period.min(longest.seconds().max(crate::error::SMALLEST));
    }

    /// Adjusts period and reference time to the utility bounds at the window and the price T, in seconds (OP08 section 4.3,
    /// step 4, to the letter):
    ///
    /// * `U_max < T`: `φ := 2 (t - t_R)`, the reference time stays;
    /// * `U_min >= T`: `t_R := t`, `φ := φ/2`;
    /// * else, that is `U_min < T <= U_max`: neither changes.
    ///
    /// Periods are kept between 1e-20 and 1e20 seconds, and at no window (the first visit) nothing changes.
    pub fn adjust(&mut self, utility: UtilityBounds, price: f64) -> Adjustment {
        if self.window == 0.0 {
            return Adjustment::Kept;
        }
        let adjustment = if utility.high < price {
            self.period = self.window * 2.0;
            Adjustment::Doubled
        } else if utility.low >= price {
            self.window = 0.0;
            self.period /= 2.0;
            Adjustment::Restarted
        } else {
            Adjustment::Kept
        };
        self.period = self.period.clamp(crate::error::SMALLEST, crate::error::LARGEST);
        adjustment
    }
}
