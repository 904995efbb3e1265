//! The hours and weekdays at which the pages of a host or group change.
//!
//! A periodic Poisson rate: `λ(t) = λ h(hour of day) d(weekday)`, with the page's own λ and factors that the group shares
//! and that average to 1. Like a Weibull page, a periodic one is plain Poisson in its operational time
//! `∫ h d dt`, so that every estimator can be given that in place of the elapsed time.
//!
//! A profile is used only where it foresees visits better than a constant rate: every visit is first foreseen both ways,
//! from those before it, and then learnt from.

use super::{Observation, Seen};
use crate::error::{LARGEST, Result, SMALLEST, within};
use crate::units::{Period, Rate, Unit};
use std::ops::Bound;

const HOURS: usize = 24;
const WEEKDAYS: usize = 7;
const HOUR: f64 = Unit::Hour.seconds();
const WEEK: f64 = Unit::Week.seconds();

/// Each factor starts at 1 as if so many changes had been seen there.
const SHRINKAGE: f64 = 10.0;

/// By so much, as a logarithm, a profile must have foreseen visits better before it is used: 20 to 1.
const BETTER: f64 = 3.0;

/// No hour is believed to differ more from the others.
const STEEPEST: f64 = 100.0;

/// No single visit decides, however surprising.
const SURPRISE: f64 = 5.0;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cell {
    seen: f64,
    expected: f64,
}

impl Cell {
    fn factor(self) -> f64 {
        ((self.seen + SHRINKAGE) / (self.expected + SHRINKAGE)).clamp(1.0 / STEEPEST, STEEPEST)
    }
}

/// The factors of some cells, over their mean.
fn normalised<const N: usize>(cells: &[Cell; N]) -> [f64; N] {
    let factors = cells.map(Cell::factor);
    let mean = factors.iter().sum::<f64>() / N as f64;
    factors.map(|factor| factor / mean)
}

/// How a group's changes lie over the day and the week.
///
/// Times are seconds since the start of 1970, in whatever zone the group lives in: whoever calls shifts them.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    hours: [Cell; HOURS],
    weekdays: [Cell; WEEKDAYS],
    gain: f64,
}

impl Default for Profile {
    fn default() -> Self {
        Profile { hours: [Cell::default(); HOURS], weekdays: [Cell::default(); WEEKDAYS], gain: 0.0 }
    }
}

/// All factors, averaging to 1.
struct Factors {
    hours: [f64; HOURS],
    weekdays: [f64; WEEKDAYS],
}

impl Factors {
    /// `∫ h d dt`, over a time of at most a week.
    fn operational(&self, start_s: f64, seconds: f64) -> f64 {
        stretches(start_s, seconds).map(|s| self.hours[s.hour] * self.weekdays[s.weekday] * s.seconds).sum()
    }
}

/// The weekday, of which Monday is 0, of an hour of a week that starts as 1970 did, on a Thursday.
const fn weekday(hour: usize) -> usize {
    (hour / HOURS + 3) % WEEKDAYS
}

/// A stretch of time within one hour of the clock.
struct Stretch {
    hour: usize,
    weekday: usize,
    seconds: f64,
}

/// The stretches of a time of at most a week.
fn stretches(start_s: f64, seconds: f64) -> impl Iterator<Item = Stretch> {
    let (mut at, end) = (start_s, start_s + seconds);
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let index = (at / HOUR).floor();
        // Rounding must not let the clock stand still.
        let next = ((index + 1.0) * HOUR).min(end).max(at + 1e-3);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 167")]
        let of_week = index.rem_euclid(168.0) as usize;
        let stretch = Stretch { hour: of_week % HOURS, weekday: weekday(of_week), seconds: next - at };
        at = next;
        Some(stretch)
    })
}

impl Profile {
    /// Nothing known: every hour alike.
    pub fn new() -> Profile {
        Profile::default()
    }

    /// The factor of a weekday (Monday is 0) and an hour; 1 for a weekday or an hour that there is not.
    pub fn factor(&self, weekday: usize, hour: usize) -> f64 {
        let factors = self.factors();
        factors.weekdays.get(weekday).zip(factors.hours.get(hour)).map_or(1.0, |(day, hour)| day * hour)
    }

    fn factors(&self) -> Factors {
        Factors { hours: normalised(&self.hours), weekdays: normalised(&self.weekdays) }
    }

    /// Takes in what a visit saw; `start_s` is when the visit before was made, `rate` what is believed of the page's rate.
    ///
    /// Visits more than a week apart say nothing of hours and are left out.
    pub fn observe(&mut self, start_s: f64, observation: &Observation, rate: Rate) -> Result<()> {
        let start = within("time in seconds", start_s, Bound::Included(-1e12), Bound::Included(1e12), "within 1e12")?;
        let elapsed = observation.elapsed().seconds();
        if elapsed > WEEK || rate == Rate::STATIC {
            return Ok(());
        }
        let factors = self.factors();
        let gain = foreseen(rate.per_second() * factors.operational(start, elapsed), observation)
            - foreseen(rate.per_second() * elapsed, observation);
        self.gain += gain.clamp(-SURPRISE, SURPRISE);
        self.learn(&factors, start, observation, rate.per_second());
        Ok(())
    }

    /// One step of expectation and maximisation: changes are shared out over the hours in which they may have come.
    fn learn(&mut self, factors: &Factors, start: f64, observation: &Observation, rate: f64) {
        let elapsed = observation.elapsed().seconds();
        let (watched_from, watched, changes) = match observation.seen() {
            Seen::Unchanged => (start, elapsed, 0.0),
            Seen::Changes(n) => (start, elapsed, f64::from(n)),
            Seen::Changed => {
                let mean = rate * factors.operational(start, elapsed);
                // The expected number of changes where there is at least one.
                (start, elapsed, if mean > 0.0 { mean / -(-mean).exp_m1() } else { 1.0 })
            }
            Seen::LastChange(since) => {
                let at = start + elapsed - since.seconds();
                if let Some(stretch) = stretches(at, 1.0).next() {
                    self.hours[stretch.hour].seen += 1.0;
                    self.weekdays[stretch.weekday].seen += 1.0;
                }
                (at, since.seconds(), 0.0)
            }
        };
        let total = factors.operational(watched_from, watched);
        for Stretch { hour, weekday, seconds } in stretches(watched_from, watched) {
            let (of_hour, of_day) = (factors.hours[hour], factors.weekdays[weekday]);
            let share = if total > 0.0 { changes * of_hour * of_day * seconds / total } else { 0.0 };
            // Each factor is what its changes are to those expected from the other factor alone.
            self.hours[hour].seen += share;
            self.hours[hour].expected += rate * seconds * of_day;
            self.weekdays[weekday].seen += share;
            self.weekdays[weekday].expected += rate * seconds * of_hour;
        }
    }

    /// By how much, as a logarithm, the profile has foreseen visits better than a constant rate.
    pub const fn gain(&self) -> f64 {
        self.gain
    }

    /// Has it foreseen visits clearly better than a constant rate?
    pub fn is_better(&self) -> bool {
        self.gain > BETTER
    }

    /// The clock by which the pages are Poisson with a constant rate: none unless the profile [is better](Self::is_better).
    pub fn clock(&self) -> Option<Clock> {
        if !self.is_better() {
            return None;
        }
        let factors = self.factors();
        let mut until = [0.0; HOURS * WEEKDAYS + 1];
        for hour in 0..HOURS * WEEKDAYS {
            let factor = factors.hours[hour % HOURS] * factors.weekdays[weekday(hour)];
            until[hour + 1] = until[hour] + factor * HOUR;
        }
        Some(Clock { until })
    }

    /// The operational time of a time from `start_s` on: the plain time unless the profile [is better](Self::is_better).
    pub fn operational(&self, start_s: f64, elapsed: Period) -> Period {
        self.clock().map_or(elapsed, |clock| clock.operational(start_s, elapsed))
    }
}

/// Operational time: runs fast at the hours at which a group's pages change, and slowly at others; a week is a week.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    /// The operational seconds from the start of a week to the start of each of its hours, and to its end. A week of the clock
    /// starts as 1970 did, on a Thursday.
    until: [f64; HOURS * WEEKDAYS + 1],
}

impl Clock {
    /// The operational seconds from the start of a week to a time of it.
    fn within_week(&self, seconds: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 167")]
        let hour = ((seconds / HOUR) as usize).min(HOURS * WEEKDAYS - 1);
        let share = seconds / HOUR - hour as f64;
        self.until[hour] + (self.until[hour + 1] - self.until[hour]) * share
    }

    /// The operational time of a time from `start_s` on.
    pub fn operational(&self, start_s: f64, elapsed: Period) -> Period {
        let seconds = elapsed.seconds();
        if !seconds.is_finite() || start_s.is_nan() || start_s.abs() > 1e12 {
            return elapsed;
        }
        let weeks = (seconds / WEEK).floor() * WEEK;
        let from = start_s.rem_euclid(WEEK);
        let to = from + (seconds - weeks);
        let to = if to < WEEK { self.within_week(to) } else { WEEK + self.within_week(to - WEEK) };
        Period::raw(weeks + (to - self.within_week(from)).max(0.0))
    }

    /// What a visit saw, in operational time: any estimator can be given that. `start_s` is when the visit before was made.
    ///
    /// ```
    /// use everfresh::estimate::{Observation, Profile};
    /// use everfresh::{Period, Unit};
    /// let (mut profile, hour) = (Profile::new(), Period::of(1.0, Unit::Hour)?);
    /// // Every noon a change, and none at midnight.
    /// for day in 0..60 {
    ///     let midnight = f64::from(day) * 86_400.0;
    ///     profile.observe(midnight, &Observation::unchanged(hour)?, "1/day".parse()?)?;
    ///     profile.observe(midnight + 12.0 * 3600.0, &Observation::changed(hour)?, "1/day".parse()?)?;
    /// }
    /// let clock = profile.clock().unwrap();
    /// let seen = Observation::unchanged(hour)?;
    /// assert!(clock.observed(0.0, &seen).elapsed() < hour && clock.observed(12.0 * 3600.0, &seen).elapsed() > hour);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    #[must_use]
    pub fn observed(&self, start_s: f64, observation: &Observation) -> Observation {
        let elapsed = self.operational(start_s, observation.elapsed()).seconds().clamp(SMALLEST, LARGEST);
        let seen = match observation.seen() {
            Seen::LastChange(since) => {
                let at = start_s + observation.elapsed().seconds() - since.seconds();
                Seen::LastChange(Period::raw(self.operational(at, since).seconds().min(elapsed)))
            }
            other => other,
        };
        Observation { elapsed, seen }
    }
}

/// ln P of what was seen, at an expected number of changes.
fn foreseen(mean: f64, observation: &Observation) -> f64 {
    if observation.has_changed() { (-(-mean).exp_m1()).max(1e-12).ln() } else { -mean }
}
