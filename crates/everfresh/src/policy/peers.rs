//! The rules of other crawlers, with their own defaults: the baselines of the laboratory.
//!
//! Each was read from its project's code in mid-2026. All choose their own load. What they lack in a laboratory, the dates
//! that a server sends, is replaced by what they would otherwise take: the time at which they saw a change themselves.

use super::{About, Outcome, Policy, Pricing, Visit};
use crate::curve::{DivergenceCurve, Exponential};
use crate::units::{Period, Rate, Unit};
use std::collections::VecDeque;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

/// The memory of a rule: its interval and when it last saw a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    interval_s: f64,
    due_s: f64,
    changed_s: f64,
    failures: u8,
}

/// Nutch calls a page gone that failed so often in a row.
const STRIKES: u8 = 3;

impl Interval {
    const fn starting(seconds: f64) -> Interval {
        Interval { interval_s: seconds, due_s: seconds, changed_s: f64::NAN, failures: 0 }
    }

    /// Nutch after a visit that saw nothing: again in a day, and after three strikes as if the page were gone. False for others.
    fn strikes(&mut self, outcome: Outcome) -> bool {
        let failed = outcome == Outcome::Failed;
        self.failures = if failed { self.failures.saturating_add(1) } else { 0 };
        if failed && self.failures < STRIKES {
            self.due_s = DAY;
        } else if failed || outcome == Outcome::Gone {
            self.set((1.5 * self.interval_s).min(365.0 * DAY));
        }
        failed || outcome == Outcome::Gone
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
    counts_strikes: bool,
}

impl Fixed {
    /// Nutch's `DefaultFetchSchedule`: 30 days; a failure is tried again after a day, the third makes the page gone.
    pub const NUTCH: Fixed = Fixed { interval_s: 30.0 * DAY, counts_strikes: true };
    /// changedetection.io: 3 hours.
    pub const CHANGEDETECTION: Fixed = Fixed { interval_s: 3.0 * HOUR, counts_strikes: false };

    /// Cron: this interval.
    pub const fn every(interval: Period) -> Fixed {
        Fixed { interval_s: interval.seconds(), counts_strikes: false }
    }
}

impl Rule for Fixed {
    fn start_s(&self) -> f64 {
        self.interval_s
    }

    fn adapt(&self, memory: &mut Interval, visit: &Visit<'_>) {
        if self.counts_strikes && !memory.strikes(visit.outcome) {
            memory.set(self.interval_s);
        }
    }
}

/// Nutch's `AdaptiveFetchSchedule`: 1.4 times the interval after no change, 0.8 times after one, moved towards the change.
///
/// With `sync_delta`: `δ = now - last change`; an interval below δ becomes δ, and the next visit is due at
/// `now - 0.3 δ + interval`. Between a minute and a year, starting at 30 days. A transient failure is tried again after a day,
/// three of them in a row make a page gone; what is gone is looked for after one and a half times the interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct NutchAdaptive;

impl Rule for NutchAdaptive {
    fn start_s(&self) -> f64 {
        30.0 * DAY
    }

    fn adapt(&self, memory: &mut Interval, visit: &Visit<'_>) {
        if memory.strikes(visit.outcome) {
            return;
        }
        if let Outcome::Changed { last_change, .. } = visit.outcome {
            memory.interval_s *= 0.8;
            memory.changed_s = visit.now_s - last_change.map_or(0.0, Period::seconds);
        } else {
            memory.interval_s *= 1.4;
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

/// What a reader of feeds knows of a feed: when its last entries came. A change that a visit saw is an entry.
#[derive(Clone, Debug)]
pub struct Entries {
    /// The latest, in order of time.
    times_s: VecDeque<f64>,
    /// When the feed was found.
    since_s: f64,
    now_s: f64,
    failures: u8,
}

/// More entries than that are not remembered.
const ENTRIES: usize = 4096;

impl Entries {
    const fn since(now_s: f64) -> Entries {
        Entries { times_s: VecDeque::new(), since_s: now_s, now_s, failures: 0 }
    }

    fn observe(&mut self, visit: &Visit<'_>) {
        self.now_s = visit.now_s;
        self.failures = if visit.saw() { 0 } else { self.failures.saturating_add(1) };
        if visit.changed() {
            self.times_s.push_back(visit.now_s);
        }
        // Nobody looks back further than a month, but for the entries that a feed shows.
        let forgotten = |times: &VecDeque<f64>| {
            let old = times.front().is_some_and(|time| visit.now_s - time > 31.0 * DAY);
            times.len() > ENTRIES || (old && times.len() > SHOWN)
        };
        while forgotten(&self.times_s) {
            self.times_s.pop_front();
        }
    }

    fn within(&self, seconds: f64) -> usize {
        self.times_s.iter().rev().take_while(|time| self.now_s - **time <= seconds).count()
    }

    /// Since the last entry, or since the feed was found.
    fn silence_s(&self) -> f64 {
        self.now_s - self.times_s.back().copied().unwrap_or(self.since_s)
    }

    /// The mean time between the entries that the feed shows; none with fewer than two.
    fn mean_gap_s(&self) -> Option<f64> {
        let first = self.times_s.len().saturating_sub(SHOWN);
        let (first, last) = (self.times_s.get(first)?, self.times_s.back()?);
        let gaps = self.times_s.len().min(SHOWN) - 1;
        (gaps > 0).then(|| (last - first) / gaps as f64)
    }
}

/// So many entries stand in a feed.
const SHOWN: usize = 20;

/// A rule of a reader of feeds: an interval from the entries that were seen.
pub trait FeedRule: Sync {
    /// The interval after the last visit, in seconds.
    fn interval_s(&self, about: &About, feed: &Entries) -> f64;
}

/// A [`FeedRule`] as a policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feed<R>(pub R);

impl<R: FeedRule> Policy for Feed<R> {
    type Memory = Entries;

    fn remember(&self, _: &About, now_s: f64, _: &[u64]) -> Entries {
        Entries::since(now_s)
    }

    fn observe(&self, _: &About, memory: &mut Entries, visit: &Visit<'_>) {
        memory.observe(visit);
    }

    fn period(&self, about: &About, memory: &Entries, _: f64) -> Period {
        Period::raw(self.0.interval_s(about, memory))
    }

    fn pricing(&self) -> Pricing {
        Pricing::Own
    }
}

/// Miniflux's `entry_frequency`: a week divided by the entries of the last week, between 5 minutes and 24 hours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Miniflux;

impl FeedRule for Miniflux {
    fn interval_s(&self, _: &About, feed: &Entries) -> f64 {
        (7.0 * DAY / feed.within(7.0 * DAY).max(1) as f64).clamp(5.0 * MINUTE, DAY)
    }
}

/// `CommaFeed`'s empirical interval: a table over silence, 5 minutes to 4 hours.
///
/// Silent for 30 days: 4 hours; for 14: 2; for 7: 1; else half the mean time between entries, within 5 minutes and an hour; 4
/// hours while that is not known. Failures: every 5 minutes, from the third on an hour more each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommaFeed;

impl FeedRule for CommaFeed {
    fn interval_s(&self, _: &About, feed: &Entries) -> f64 {
        const MOST: f64 = 4.0 * HOUR;
        if feed.failures > 0 {
            return (f64::from(feed.failures.saturating_sub(2)) * HOUR).clamp(5.0 * MINUTE, MOST);
        }
        match (feed.silence_s() / DAY, feed.mean_gap_s()) {
            (30.0.., _) => MOST,
            (14.0.., _) => MOST / 2.0,
            (7.0.., _) => MOST / 4.0,
            (_, Some(gap)) => (gap / 2.0).clamp(5.0 * MINUTE, MOST / 4.0),
            (_, None) => MOST,
        }
    }
}

/// `NewsBlur`'s table over stories per day, silence and subscribers, which stand here as the weight of a page.
///
/// A story a day or more: 6 minutes above ten subscribers, 15 above one, else an hour. Fewer: an hour, or 12 with one subscriber,
/// less in proportion to the stories. None in a month: 6, 12 or 24 hours, times the months of silence. At most 12 hours, 48
/// without a subscriber; times the failures, at most a week. Its random quarter is left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewsBlur;

impl FeedRule for NewsBlur {
    fn interval_s(&self, about: &About, feed: &Entries) -> f64 {
        let stories = feed.within(30.0 * DAY) as f64 / 30.0;
        let subscribers = about.weight;
        let many = subscribers > 1.0;
        let minutes = if stories >= 1.0 {
            [60.0, 15.0, 6.0][usize::from(many) + usize::from(subscribers > 10.0)]
        } else if stories > 0.0 {
            (1.0 - stories) * if many { 60.0 } else { 720.0 }
        } else {
            let hours = [24.0, 12.0, 6.0][usize::from(many) + usize::from(subscribers >= 1.0)];
            hours * 60.0 * (feed.silence_s() / (30.0 * DAY)).max(1.0)
        };
        let most = if subscribers >= 1.0 { 12.0 * HOUR } else { 48.0 * HOUR };
        let failures = f64::from(feed.failures.max(1));
        ((minutes * MINUTE).min(most) * failures).clamp(MINUTE, 7.0 * DAY)
    }
}

/// Feedbin: every feed in each round, those with one subscriber (a weight of at most 1) in every second.
///
/// A round begins when the last is done. How long that takes is a matter of its machines: half an hour here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feedbin;

impl FeedRule for Feedbin {
    fn interval_s(&self, about: &About, _: &Entries) -> f64 {
        if about.weight > 1.0 { 30.0 * MINUTE } else { HOUR }
    }
}

/// meguri (Go, 2026): Cho's estimator over the mean interval, and a gate that funds or starves a page at one visit a day.
///
/// The rate is `-ln((quiet + 1/2)/(n + 1))` per mean interval, pulled down by a streak s of quiet visits with the weight
/// `1 - e^(-s/8)` towards the rate that the streak alone tells, between one change a year and four an hour. A page whose utility
/// after a day is at most the price is looked at every 14 days; the others as the optimum says, which is then more often than daily.
/// Where looking every 14 days alone exceeds the budget it has no rule; here all pages are then slowed down alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meguri;

/// What meguri keeps of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    visits: u32,
    changes: u32,
    streak: u32,
    watched_s: f64,
}

impl Counted {
    /// λ per second.
    fn rate(&self) -> f64 {
        const LEAST: f64 = 1.0 / (365.0 * DAY);
        const MOST: f64 = 4.0 / HOUR;
        let visits = f64::from(self.visits);
        let mean_s = self.watched_s / visits;
        if self.visits == 0 || mean_s <= 0.0 {
            return LEAST;
        }
        let quiet = f64::from(self.visits - self.changes);
        let whole = -((quiet + 0.5) / (visits + 1.0)).ln() / mean_s;
        let streak = f64::from(self.streak);
        let recent = -((streak + 0.5) / (streak + 1.0)).ln() / mean_s;
        let kept = (-streak / 8.0).exp();
        (kept * whole + (1.0 - kept) * recent).min(whole).clamp(LEAST, MOST)
    }
}

impl Policy for Meguri {
    type Memory = Counted;

    fn remember(&self, _: &About, _: f64, _: &[u64]) -> Counted {
        Counted::default()
    }

    fn observe(&self, _: &About, memory: &mut Counted, visit: &Visit<'_>) {
        if visit.saw() {
            let changed = u32::from(visit.changed());
            memory.visits = memory.visits.saturating_add(1);
            memory.changes = memory.changes.saturating_add(changed);
            memory.streak = if changed > 0 { 0 } else { memory.streak.saturating_add(1) };
            memory.watched_s += visit.elapsed.seconds();
        }
    }

    fn period(&self, about: &About, memory: &Counted, price: f64) -> Period {
        const STARVED: f64 = 14.0 * DAY;
        let threshold = about.threshold(price);
        let Ok(rate) = Rate::per(memory.rate(), Unit::Second) else { return Period::NEVER };
        let curve = Exponential::new(rate);
        if curve.utility(Period::raw(DAY)) > threshold {
            return Period::raw(curve.period(threshold).seconds().clamp(HOUR / 4.0, 365.0 * DAY));
        }
        // No utility after a day is above a day: from there on all are starved.
        Period::raw(STARVED * (threshold / DAY).max(1.0))
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

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGED: Outcome = Outcome::Changed { divergence: 1.0, last_change: None };

    /// The period after these visits, each so many days after the one before, at a price of an hour.
    fn after<P: Policy>(policy: &P, about: &About, visits: &[(f64, Outcome)]) -> f64 {
        let (mut memory, mut now_s) = (policy.remember(about, 0.0, &[1]), 0.0);
        for (days, outcome) in visits {
            now_s += days * DAY;
            let visit = Visit { now_s, elapsed: Period::raw(days * DAY), outcome: *outcome, fragments: &[1] };
            policy.observe(about, &mut memory, &visit);
        }
        policy.period(about, &memory, HOUR).seconds()
    }

    fn page(weight: f64) -> About {
        About { weight, ..About::new(Rate::STATIC) }
    }

    /// What each rule waits after changes (c) and quiet visits (q), a day apart, in days.
    #[test]
    fn rules_are_those_of_their_projects() {
        fn check<P: Policy>(policy: &P, cases: &[(&str, f64)]) {
            for (letters, days) in cases {
                let outcome = |letter| if letter == 'c' { CHANGED } else { Outcome::Unchanged };
                let visits: Vec<_> = letters.chars().map(|letter| (1.0, outcome(letter))).collect();
                let waits = after(policy, &page(1.0), &visits) / DAY;
                assert!((waits / days - 1.0).abs() < 1e-9, "{letters}: {waits}, not {days}");
            }
        }
        let (quiet, busy, busier) = ("q".repeat(40), "c".repeat(40), "c".repeat(80));
        let (quiet, busy, busier) = (quiet.as_str(), busy.as_str(), busier.as_str());
        // i 0.8 after a change and 1.4 after none, from 30 days; due at now - 0.3 (now - last change) + i; at most a year.
        let nutch = [("c", 24.0), ("cc", 19.2), ("cq", 24.0 * 1.4 - 0.3), ("q", 30.0 * 1.4 - 0.3)];
        check(&NutchAdaptive, &nutch);
        check(&NutchAdaptive, &[(quiet, 365.0 - 0.3 * 40.0), (busier, 1.0 / 1440.0)]);
        // Half the way to an hour after a change, half as long again after none, from a day; at most 14.
        let hour = 1.0 / 24.0;
        let storm = [("", 1.0), ("c", 0.5 + 0.5 * hour), ("q", 1.5), ("qqc", 1.125 + 0.5 * hour), (quiet, 14.0)];
        check(&StormCrawler::DEFAULT, &storm);
        check(&StormCrawler::NEWS, &[("c", 0.8 + 0.2 * 1.5 * hour), ("q", 1.5), (quiet, 90.0)]);
        check(&Heritrix, &[("", 1.0), ("c", 1.0 / 1.5), ("q", 1.5), ("qc", 1.0), (quiet, 28.0), (busy, hour)]);
        // A week by the entries of a week, seven days back among them; at most a day.
        check(&Feed(Miniflux), &[("", 1.0), ("c", 1.0), ("cccccccc", 7.0 / 8.0), ("ccccccccqqqqqqqq", 1.0)]);
    }

    #[test]
    fn nutch_counts_three_strikes() {
        let failed = |times: usize| vec![(1.0, Outcome::Failed); times];
        for (times, days) in [(1, 1.0), (2, 1.0), (3, 45.0), (4, 67.5)] {
            assert_eq!(after(&NutchAdaptive, &page(1.0), &failed(times)), days * DAY);
            assert_eq!(after(&Fixed::NUTCH, &page(1.0), &failed(times)), days * DAY);
        }
        let back = [failed(2), vec![(1.0, Outcome::Unchanged), (1.0, Outcome::Failed)]].concat();
        assert_eq!(after(&Fixed::NUTCH, &page(1.0), &back), DAY);
        assert_eq!(after(&Fixed::CHANGEDETECTION, &page(1.0), &failed(3)), 3.0 * HOUR);
    }

    #[test]
    fn commafeed_reads_silence_first() {
        let entries = [(1.0, CHANGED), (0.05, CHANGED)];
        for (quiet_days, hours) in [(0.01, 0.6), (7.0, 1.0), (14.0, 2.0), (30.0, 4.0)] {
            let visits = [&entries[..], &[(quiet_days, Outcome::Unchanged)]].concat();
            assert!((after(&Feed(CommaFeed), &page(1.0), &visits) / HOUR - hours).abs() < 1e-9, "{quiet_days}");
        }
        assert_eq!(after(&Feed(CommaFeed), &page(1.0), &[]), 4.0 * HOUR);
        assert_eq!(after(&Feed(CommaFeed), &page(1.0), &[(1.0, Outcome::Failed); 4]), 2.0 * HOUR);
    }

    #[test]
    fn newsblur_reads_its_table() {
        let busy = [(0.5, CHANGED); 40];
        for (subscribers, minutes) in [(20.0, 6.0), (5.0, 15.0), (1.0, 60.0)] {
            assert_eq!(after(&Feed(NewsBlur), &page(subscribers), &busy), minutes * MINUTE);
        }
        // Six stories in the last month: a fifth of a story a day.
        let some = [(1.0, CHANGED); 6];
        assert!((after(&Feed(NewsBlur), &page(1.0), &some) / MINUTE - 576.0).abs() < 1e-9);
        assert!((after(&Feed(NewsBlur), &page(2.0), &some) / MINUTE - 48.0).abs() < 1e-9);
        let silent = [(90.0, Outcome::Unchanged)];
        for (subscribers, hours) in [(0.5, 48.0), (1.0, 12.0), (2.0, 12.0)] {
            assert_eq!(after(&Feed(NewsBlur), &page(subscribers), &silent), hours * HOUR);
        }
    }

    /// A day's utility at λ a day is g(λ)/λ days: 6.3 hours at 1, 1.1 at 0.1, and 0.6 at 40.
    #[test]
    fn meguri_funds_more_often_than_daily_or_starves() {
        let alternating: Vec<_> =
            (0..40).map(|n| (1.0, if n % 2 == 0 { Outcome::Unchanged } else { CHANGED })).collect();
        let funded = after(&Meguri, &page(1.0), &alternating);
        let rate = Exponential::new(Rate::per(-(20.5f64 / 41.0).ln(), Unit::Day).unwrap());
        assert!((funded / rate.period(HOUR).seconds() - 1.0).abs() < 1e-9 && funded < DAY);
        assert_eq!(after(&Meguri, &page(1.0), &[(1.0, Outcome::Unchanged); 40]), 14.0 * DAY);
        assert_eq!(after(&Meguri, &page(1.0), &[(0.02, CHANGED); 200]), 14.0 * DAY);
        assert_eq!(Meguri.period(&page(1.0), &Counted::default(), 2.0 * DAY).seconds(), 28.0 * DAY);
    }
}
