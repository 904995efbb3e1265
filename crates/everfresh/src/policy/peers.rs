//! The rules of other crawlers, with their own defaults: the baselines of the laboratory.
//!
//! Each was read from its project's code in mid-2026. All choose their own load. What they lack in a laboratory, the dates
//! that a server sends, is replaced by what they would otherwise take: the time at which they saw a change themselves.

use super::{About, Outcome, Policy, Pricing, Visit};
use crate::units::Period;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

/// The memory of a rule: its interval and when it last saw a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    interval_s: f64,
    due_s: f64,
    changed_s: f64,
}

impl Interval {
    const fn starting(seconds: f64) -> Interval {
        Interval { interval_s: seconds, due_s: seconds, changed_s: f64::NAN }
    }

    fn set(&mut self, seconds: f64) {
        self.interval_s = seconds;
        self.due_s = seconds;
    }
}

/// A rule whose interval follows from the last one and what a visit found.
pub trait Rule: Sync {
    /// The first interval, in seconds.
    fn start_s(&self) -> f64;

    /// The interval after a visit.
    fn adapt(&self, memory: &mut Interval, visit: &Visit<'_>);
}

impl<R: Rule> Policy for R {
    type Memory = Interval;

    fn remember(&self, _: &About, _: f64, _: &[u64]) -> Interval {
        Interval::starting(self.start_s())
    }

    fn observe(&self, _: &About, memory: &mut Interval, visit: &Visit<'_>) {
        self.adapt(memory, visit);
    }

    fn period(&self, _: &About, memory: &Interval, _: f64) -> Period {
        Period::raw(memory.due_s)
    }

    fn pricing(&self) -> Pricing {
        Pricing::Own
    }
}

/// The same interval for every page: Nutch's default schedule (30 days), changedetection.io (3 hours), cron.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    interval_s: f64,
}

impl Fixed {
    /// Nutch's `DefaultFetchSchedule`: 30 days.
    pub const NUTCH: Fixed = Fixed { interval_s: 30.0 * DAY };
    /// changedetection.io: 3 hours.
    pub const CHANGEDETECTION: Fixed = Fixed { interval_s: 3.0 * HOUR };

    /// Cron: this interval.
    pub const fn every(interval: Period) -> Fixed {
        Fixed { interval_s: interval.seconds() }
    }
}

impl Rule for Fixed {
    fn start_s(&self) -> f64 {
        self.interval_s
    }

    fn adapt(&self, _: &mut Interval, _: &Visit<'_>) {}
}

/// Nutch's `AdaptiveFetchSchedule`: 1.4 times the interval after no change, 0.8 times after one, moved towards the change.
///
/// With `sync_delta`: `δ = now - last change`; an interval below δ becomes δ, and the next visit is due at
/// `now - 0.3 δ + interval`. Between a minute and a year, starting at 30 days. A transient failure is tried again after a day;
/// what is gone is looked for half as often again.
#[derive(Clone, Copy, Debug, Default)]
pub struct NutchAdaptive;

impl Rule for NutchAdaptive {
    fn start_s(&self) -> f64 {
        30.0 * DAY
    }

    fn adapt(&self, memory: &mut Interval, visit: &Visit<'_>) {
        match visit.outcome {
            Outcome::Failed => return memory.due_s = DAY,
            Outcome::Gone => return memory.set(1.5 * memory.interval_s),
            Outcome::Changed { last_change, .. } => {
                memory.interval_s *= 0.8;
                memory.changed_s = visit.now_s - last_change.map_or(0.0, Period::seconds);
            }
            Outcome::Unchanged => memory.interval_s *= 1.4,
        }
        if memory.changed_s.is_nan() {
            memory.changed_s = visit.now_s - visit.elapsed.seconds();
        }
        let delta = visit.now_s - memory.changed_s;
        memory.interval_s = memory.interval_s.max(delta).clamp(MINUTE, 365.0 * DAY);
        memory.due_s = (memory.interval_s - 0.3 * delta).max(MINUTE);
    }
}

/// The `AdaptiveScheduler` of `StormCrawler`: half as long again after no change, half the way to the least interval after one.
///
/// Any failure forgets everything.
#[derive(Clone, Copy, Debug)]
pub struct StormCrawler {
    least_s: f64,
    most_s: f64,
    longer: f64,
    shorter: f64,
}

impl StormCrawler {
    /// The defaults: 1 hour to 14 days, both rates 0.5, starting at a day.
    pub const DEFAULT: StormCrawler = StormCrawler { least_s: HOUR, most_s: 14.0 * DAY, longer: 0.5, shorter: 0.5 };
    /// Common Crawl's news crawl: 90 minutes to 90 days, 0.5 and 0.2.
    pub const NEWS: StormCrawler =
        StormCrawler { least_s: 90.0 * MINUTE, most_s: 90.0 * DAY, longer: 0.5, shorter: 0.2 };
}

impl Rule for StormCrawler {
    fn start_s(&self) -> f64 {
        DAY
    }

    fn adapt(&self, memory: &mut Interval, visit: &Visit<'_>) {
        let next = match visit.outcome {
            Outcome::Changed { .. } => (1.0 - self.shorter) * memory.interval_s + self.shorter * self.least_s,
            Outcome::Unchanged => (memory.interval_s * (1.0 + self.longer)).min(self.most_s),
            Outcome::Gone | Outcome::Failed => DAY,
        };
        memory.set(next);
    }
}

/// Heritrix 1's `WaitEvaluator`: 1.5 times as long after no change, as short after one; 1 hour to 28 days, from a day.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heritrix;

impl Rule for Heritrix {
    fn start_s(&self) -> f64 {
        DAY
    }

    fn adapt(&self, memory: &mut Interval, visit: &Visit<'_>) {
        let next = match visit.outcome {
            Outcome::Changed { .. } => memory.interval_s / 1.5,
            _ => memory.interval_s * 1.5,
        };
        memory.set(next.clamp(HOUR, 28.0 * DAY));
    }
}

/// Miniflux's `entry_frequency`: a week divided by the entries of the last week, between 5 minutes and 24 hours.
///
/// A change that a visit saw is an entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Miniflux;

/// The visits of the last week that saw a change.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    times_s: std::collections::VecDeque<f64>,
}

impl Policy for Miniflux {
    type Memory = Entries;

    fn remember(&self, _: &About, _: f64, _: &[u64]) -> Entries {
        Entries::default()
    }

    fn observe(&self, _: &About, memory: &mut Entries, visit: &Visit<'_>) {
        while memory.times_s.front().is_some_and(|time| visit.now_s - time > 7.0 * DAY) {
            memory.times_s.pop_front();
        }
        if visit.changed() {
            memory.times_s.push_back(visit.now_s);
        }
    }

    fn period(&self, _: &About, memory: &Entries, _: f64) -> Period {
        let interval = 7.0 * DAY / memory.times_s.len().max(1) as f64;
        Period::raw(interval.clamp(5.0 * MINUTE, DAY))
    }

    fn pricing(&self) -> Pricing {
        Pricing::Own
    }
}

/// A rule held to a budget: all its intervals times the price. Its order of preference stays, its load is ours.
#[derive(Clone, Copy, Debug)]
pub struct Held<P>(pub P);

impl<P: Policy> Policy for Held<P> {
    type Memory = P::Memory;

    fn remember(&self, about: &About, now_s: f64, fragments: &[u64]) -> P::Memory {
        self.0.remember(about, now_s, fragments)
    }

    fn observe(&self, about: &About, memory: &mut P::Memory, visit: &Visit<'_>) {
        self.0.observe(about, memory, visit);
    }

    fn period(&self, about: &About, memory: &P::Memory, price: f64) -> Period {
        Period::raw(price * self.0.period(about, memory, price).seconds())
    }
}
