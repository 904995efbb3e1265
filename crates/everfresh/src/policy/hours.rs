//! The hours and weekdays at which pages change, and visits that come just after them.
//!
//! A page whose rate is `λ h(t)`, h being the same for all pages and 1 on average, is best visited at t between two other visits, at
//! v and w, where `D(v, t) = λ h(t) F`, F being the time that a copy made at t stays fresh until w: a moment's wait costs the divergence that
//! there is, and gains what changes in that moment. (For the time until a change is seen it is Sia and Cho's condition.) At an
//! even rate that is half way between v and w, after the period T of the law. There `D = λF`; what a visit after t loses against one
//! after T is then, to second order,
//!
//! `D(T) [ ∫ (1 - h) dt from T to t ] + D'(T) (t - T) (S(t) - T)`, with `S(t) = ∫ h dt` from the last visit on.
//!
//! The bracket is the same function of the week for all pages: how far changes are behind an even rate. The rest is how much a
//! page minds: little where copies are mostly stale anyway.

use crate::curve::{DivergenceCurve, Lomax};
use crate::estimate::Observation;
use crate::units::{Period, Unit};
use std::collections::VecDeque;

const HOUR: f64 = Unit::Hour.seconds();
const DAY: f64 = Unit::Day.seconds();
const WEEK: f64 = Unit::Week.seconds();
const WEEK_HOURS: usize = 168;

/// Each hour and weekday starts even, as if so many changes had been seen in it.
const SHRINKAGE: f64 = 1.0;

/// No hour is believed to differ more from the others.
const STEEPEST: f64 = 100.0;

/// No single visit decides, however surprising.
const SURPRISE: f64 = 5.0;

/// Whether something foretells, beyond chance: the gain of a stretch of time, as a logarithm of likelihoods, is one witness.
///
/// Pages of one site change together, and a thousand pages in one edit are one witness: the error of the gain is taken from how
/// stretches differ, not from the number of visits.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Witness {
    stretches: u32,
    /// Over the stretches: gain, visits, and their squares and product.
    sums: [f64; 5],
    is_earned: bool,
}

/// It is believed when it gains so many standard errors, and no more when it gains less than one. Two would do for one look; here is
/// looked again and again.
const EARNED: f64 = 3.0;

/// So many stretches are needed to tell how they differ.
const STRETCHES: u32 = 4;

impl Witness {
    /// Takes in a stretch of some visits.
    pub(super) fn hear(&mut self, gain: f64, visits: f64) {
        let parts = [gain, visits, gain * gain, gain * visits, visits * visits];
        self.sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        self.stretches += 1;
        let [gain, visits, gain2, both, visits2] = self.sums;
        let each = gain / visits;
        let error = (gain2 - 2.0 * each * both + each * each * visits2).max(0.0).sqrt();
        // Long stretches say most of it: all are worth so many equal ones.
        let equal = visits * visits / visits2;
        let bound = if self.is_earned { error } else { student(EARNED, equal - 1.0) * error };
        self.is_earned = self.stretches >= STRETCHES && gain > bound;
    }

    pub(super) const fn is_earned(&self) -> bool {
        self.is_earned
    }
}

/// The bound of Student's t with so many degrees of freedom that is passed as seldom as a normal variable passes z (the expansion of
/// Cornish and Fisher): an error that was itself told by few says less.
fn student(z: f64, freedom: f64) -> f64 {
    let freedom = freedom.max(1.0);
    let (first, second) = ((z.powi(3) + z) / 4.0, (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0);
    z + first / freedom + second / (freedom * freedom)
}

/// The time between two visits to a page that was believed to change at a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Watch {
    /// When it ended, in seconds.
    end_s: f64,
    seconds: f64,
    /// Per second.
    rate: f64,
    changed: bool,
}

impl Watch {
    /// ln P of what was seen, where so many changes were expected.
    fn foreseen(&self, expected: f64) -> f64 {
        if self.changed { (-(-expected).exp_m1()).max(1e-12).ln() } else { -expected }
    }
}

/// The last watches of a page of the panel, between two lessons.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Clocked {
    /// A number of its own.
    lot: u64,
    /// How long before the last visit the one before it was.
    last_s: f64,
    watches: VecDeque<Watch>,
}

/// So many watches of a page are kept for the next lesson.
const KEPT: usize = 16;

/// So much of what copies are fresh, or stale, whichever is less, is spent on visits at other hours.
const SPENT: f64 = 0.004;

/// No visit is displaced that would cost so much of that.
const DEAR: f64 = 0.35;

/// At most one visit in so many is displaced.
const OFTEN: f64 = 8.0;

/// Once hours are known, so many times fewer are.
const SELDOM: f64 = 8.0;

impl Clocked {
    pub(super) fn new(lot: u64) -> Clocked {
        Clocked { lot, last_s: 0.0, watches: VecDeque::new() }
    }

    /// Takes in a visit to a page that was believed to change at a rate per second.
    pub(super) fn observe(&mut self, now_s: f64, observation: &Observation, rate: f64) {
        let seconds = observation.elapsed().seconds();
        self.last_s = seconds;
        // More than a week has all hours in it.
        if seconds > WEEK || !now_s.is_finite() {
            return;
        }
        if self.watches.len() == KEPT {
            self.watches.pop_front();
        }
        self.watches.push_back(Watch { end_s: now_s, seconds, rate, changed: observation.has_changed() });
    }

    /// Visits a day apart say nothing of the hours: now and then one comes at another time, the more seldom the more that costs.
    ///
    /// Spent is a share of what could be gained: no more than copies are stale, or fresh, and no more than if all changes came at one
    /// moment of the week, when a visit could come half a week, or half its period, nearer to it.
    /// Where hours are known already, that is done `seldom` times less often, to keep an eye on them.
    pub(super) fn displaced(
        &self,
        visits: u32,
        period: Period,
        curve: &impl DivergenceCurve,
        seldom: f64,
    ) -> Option<Period> {
        let (draw, seconds) = (seldom * self.drawn(visits, 1), period.seconds());
        if draw > 1.0 / OFTEN || !seconds.is_finite() || self.was_displaced(visits) {
            return None;
        }
        let other = self.other(visits, period);
        // The visit after it comes where it would have come.
        let rest = Period::raw(2.0 * seconds - other.seconds());
        let stale = curve.area(period);
        let costs = (curve.area(other) + curve.area(rest)) / 2.0 - stale;
        let most = stale.min(seconds - stale).min(curve.divergence(period) * seconds.min(WEEK) / 2.0);
        (costs <= DEAR * most && draw * costs <= SPENT * most).then_some(other)
    }

    /// The period, or what is left of it and the one before where the last visit was displaced.
    pub(super) fn regular(&self, visits: u32, period: Period) -> Period {
        let left_s = if self.was_displaced(visits) { (period.seconds() - self.last_s).max(0.0) } else { 0.0 };
        Period::raw(period.seconds() + left_s)
    }

    /// After how long a visit comes that is displaced: within a day, or about its period where that is no longer.
    fn other(&self, visits: u32, period: Period) -> Period {
        let seconds = period.seconds();
        // Where a period is long is drawn, too: one that hardly moves must not move a visit that is waited for.
        let is_long = seconds > DAY * (1.0 + self.drawn(visits, 3));
        Period::raw(if is_long { self.soon_s(visits) } else { (0.5 + self.drawn(visits, 2)) * seconds })
    }

    /// A time within a day.
    fn soon_s(&self, visits: u32) -> f64 {
        DAY * self.drawn(visits, 2)
    }

    /// Did the last of so many visits come within a day because it was displaced?
    fn was_displaced(&self, visits: u32) -> bool {
        let before = visits.wrapping_sub(1);
        visits > 0 && self.drawn(before, 1) <= 1.0 / OFTEN && (self.last_s - self.soon_s(before)).abs() < 1.0
    }

    /// A number between 0 and 1 that is always the same for a page, a visit and a purpose.
    fn drawn(&self, visit: u32, purpose: u64) -> f64 {
        let mix = |bits: u64| (bits ^ (bits >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let bits = mix(mix(self.lot ^ u64::from(visit).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(purpose));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// How changes lie within a day, or a week: in each of its cells the rate has another factor.
#[derive(Clone, Debug, PartialEq)]
struct Cycle {
    /// How long a cell is, in seconds.
    cell_s: f64,
    factors: Vec<f64>,
    /// The changes that were expected in each cell, at an even rate.
    expected: Vec<f64>,
    /// The last watches that found a change.
    changed: Vec<Watch>,
    witness: Witness,
}

/// A moment of a cycle: the cell, and the seconds since it began.
#[derive(Clone, Copy, Debug)]
struct Place {
    cell: usize,
    seconds: f64,
}

/// From a moment of one cycle to a moment of the same or of one so many cycles later.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Place,
    to: Place,
    cycles: f64,
}

/// The seconds that spans spend in each cell, each counting so much: what a span adds takes no longer the more cells it has, and is told cell
/// by cell only when all were added.
struct Times {
    /// How much whole cycles count.
    cycles: f64,
    /// How much all cells before each count, and each but for its seconds.
    before: Vec<f64>,
    within: Vec<f64>,
}

impl Times {
    fn new(cells: usize) -> Times {
        Times { cycles: 0.0, before: vec![0.0; cells], within: vec![0.0; cells] }
    }

    fn add(&mut self, span: &Span, counts: f64) {
        self.cycles += counts * span.cycles;
        for (place, counts) in [(&span.to, counts), (&span.from, -counts)] {
            self.before[place.cell] += counts;
            self.within[place.cell] += counts * place.seconds;
        }
    }

    /// The seconds in each cell, of a length.
    fn in_cells(self, cell_s: f64) -> impl Iterator<Item = f64> {
        let mut after = self.before.iter().sum::<f64>() + self.cycles;
        self.before.into_iter().zip(self.within).map(move |(before, within)| {
            after -= before;
            // What cancels may leave a little less than nothing.
            (after * cell_s + within).max(0.0)
        })
    }
}

/// So many watches with a change are remembered.
const CHANGES: usize = 4096;

/// Steps of expectation and maximisation in a lesson.
const STEPS: usize = 20;

impl Cycle {
    fn new(cell_s: f64, cells: usize) -> Cycle {
        let (factors, expected) = (vec![1.0; cells], vec![0.0; cells]);
        Cycle { cell_s, factors, expected, changed: Vec::new(), witness: Witness::default() }
    }

    fn length_s(&self) -> f64 {
        self.cell_s * self.factors.len() as f64
    }

    /// Does a watch tell cells apart? One of whole cycles does not, nor one of many.
    fn is_told_by(&self, watch: &Watch) -> bool {
        let cycles = watch.seconds / self.length_s();
        cycles < 3.0 && (0.05..0.95).contains(&cycles.fract())
    }

    /// Where a watch begins and ends.
    fn span(&self, watch: &Watch) -> Span {
        let cells = self.factors.len();
        let place = |time_s: f64| {
            let index = (time_s / self.cell_s).floor();
            let cycle = (index / cells as f64).floor();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the number of cells")]
            let cell = ((index - cycle * cells as f64) as usize).min(cells - 1);
            (cycle, Place { cell, seconds: (time_s - index * self.cell_s).clamp(0.0, self.cell_s) })
        };
        let ((before, from), (after, to)) = (place(watch.end_s - watch.seconds), place(watch.end_s));
        Span { from, to, cycles: after - before }
    }

    /// `∫ h dt` from the start of a cycle to the start of each of its cells, and to its end.
    fn operational(&self) -> Vec<f64> {
        let mut sum = 0.0;
        let ends = self.factors.iter().map(|factor| {
            sum += factor * self.cell_s;
            sum
        });
        std::iter::once(0.0).chain(ends).collect()
    }

    /// `∫ h dt` over a span.
    fn operational_s(&self, operational: &[f64], span: &Span) -> f64 {
        let up_to = |place: &Place| operational[place.cell] + self.factors[place.cell] * place.seconds;
        span.cycles * operational[self.factors.len()] + up_to(&span.to) - up_to(&span.from)
    }

    /// Takes in the watches since the last lesson.
    fn learn(&mut self, watches: &[Watch]) {
        let told: Vec<&Watch> = watches.iter().filter(|watch| self.is_told_by(watch)).collect();
        if told.is_empty() {
            return;
        }
        let operational = self.operational();
        let gain: f64 = told.iter().map(|watch| self.gain(&operational, watch)).sum();
        self.witness.hear(gain, told.len() as f64);
        let mut times = Times::new(self.factors.len());
        for watch in &told {
            times.add(&self.span(watch), watch.rate);
        }
        self.expected.iter_mut().zip(times.in_cells(self.cell_s)).for_each(|(expected, more)| *expected += more);
        self.changed.extend(told.into_iter().filter(|watch| watch.changed));
        self.forget();
        let spans: Vec<(f64, Span)> = self.changed.iter().map(|watch| (watch.rate, self.span(watch))).collect();
        (0..STEPS).for_each(|_| self.step(&spans));
    }

    /// By how much better than at an even rate a watch was foreseen.
    fn gain(&self, operational: &[f64], watch: &Watch) -> f64 {
        let even = watch.foreseen(watch.rate * watch.seconds);
        let operational_s = self.operational_s(operational, &self.span(watch));
        (watch.foreseen(watch.rate * operational_s) - even).clamp(-SURPRISE, SURPRISE)
    }

    /// Forgets the oldest changes where there are too many, and as much of the time that was watched.
    fn forget(&mut self) {
        let (number, most) = (self.changed.len(), CHANGES);
        if number > most {
            self.changed.drain(..number - most);
            self.expected.iter_mut().for_each(|expected| *expected *= most as f64 / number as f64);
        }
    }

    /// Shares changes out over the cells in which they may have come, given the rates and spans of the watches that found them; factors are what
    /// came to what was expected, 1 on average.
    fn step(&mut self, changed: &[(f64, Span)]) {
        let (operational, mut times) = (self.operational(), Times::new(self.factors.len()));
        for (rate, span) in changed {
            let operational_s = self.operational_s(&operational, span);
            let expected = rate * operational_s;
            // So many changes are expected where there is at least one.
            let changes = if expected > 0.0 { expected / -(-expected).exp_m1() } else { 1.0 };
            times.add(span, changes / operational_s.max(1e-3));
        }
        let seen: Vec<f64> =
            times.in_cells(self.cell_s).zip(&self.factors).map(|(seconds, factor)| seconds * factor).collect();
        // All factors alike is another rate, not another hour.
        let level = seen.iter().sum::<f64>() / self.expected.iter().sum::<f64>().max(1e-9);
        let factor = |(seen, expected): (&f64, &f64)| (seen + SHRINKAGE) / (level * expected + SHRINKAGE);
        let factors: Vec<f64> = seen.iter().zip(&self.expected).map(factor).collect();
        let mean = factors.iter().sum::<f64>() / factors.len() as f64;
        self.factors = factors.iter().map(|factor| (factor / mean).clamp(1.0 / STEEPEST, STEEPEST)).collect();
    }
}

/// What the panel's visits told of the hours and weekdays.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hours {
    day: Cycle,
    week: Cycle,
    /// The end of the last watch that was learnt from.
    learnt_s: f64,
    /// The factor of every hour of the week, and how far changes are behind an even rate where it begins, `∫ (1 - h) dt`, in seconds.
    hours: Vec<(f64, f64)>,
}

impl Default for Hours {
    fn default() -> Self {
        let (day, week) = (Cycle::new(HOUR, 24), Cycle::new(DAY, 7));
        Hours { day, week, learnt_s: f64::NEG_INFINITY, hours: Vec::new() }
    }
}

impl Hours {
    /// How many times less often than at first visits are displaced.
    pub(super) const fn seldom(&self) -> f64 {
        if self.are_known() { SELDOM } else { 1.0 }
    }

    /// Do the hours or weekdays that were learnt foretell when pages change?
    pub(super) const fn are_known(&self) -> bool {
        self.day.witness.is_earned() || self.week.witness.is_earned()
    }

    /// Learns from all pages of the panel.
    pub(super) fn learn<'a>(&mut self, seats: impl Iterator<Item = &'a Clocked>) {
        let all = seats.flat_map(|seat| &seat.watches).copied();
        let watches: Vec<Watch> = all.filter(|watch| watch.end_s > self.learnt_s).collect();
        if watches.is_empty() {
            return;
        }
        self.learnt_s = watches.iter().map(|watch| watch.end_s).fold(self.learnt_s, f64::max);
        self.day.learn(&watches);
        self.week.learn(&watches);
        self.tabulate();
    }

    /// Puts what is known of day and week together.
    fn tabulate(&mut self) {
        let of = |cycle: &Cycle, cell: usize| if cycle.witness.is_earned() { cycle.factors[cell] } else { 1.0 };
        let factors = (0..WEEK_HOURS).map(|hour| of(&self.day, hour % 24) * of(&self.week, hour / 24));
        let mean = factors.clone().sum::<f64>() / WEEK_HOURS as f64;
        let mut behind_s = 0.0;
        let row = |factor: f64| {
            let before_s = behind_s;
            behind_s += HOUR * (1.0 - factor);
            (factor, before_s)
        };
        self.hours = factors.map(|factor| factor / mean).map(row).collect();
    }

    /// How far changes are behind an even rate at a time, in seconds.
    fn behind_s(&self, time_s: f64) -> f64 {
        let hours = (time_s / HOUR).rem_euclid(WEEK_HOURS as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 167")]
        let hour = (hours as usize).min(WEEK_HOURS - 1);
        let (factor, behind_s) = self.hours[hour];
        behind_s + (hours - hour as f64) * HOUR * (1.0 - factor)
    }

    /// The best time near a period after a visit, at the end of an hour.
    pub(super) fn moved(&self, visited_s: f64, period: Period, curve: &Lomax) -> Period {
        let seconds = period.seconds();
        if !self.are_known() || !visited_s.is_finite() || !seconds.is_finite() {
            return period;
        }
        let minds = curve.slope(period) / curve.divergence(period);
        let (due_s, most_s) = (visited_s + seconds, (0.9 * seconds).min(WEEK / 2.0));
        let behind_then_s = self.behind_s(visited_s);
        let loses = |time_s: f64| {
            let behind_s = self.behind_s(time_s);
            let late_s = time_s - due_s;
            behind_s + minds * late_s * (late_s - (behind_s - behind_then_s))
        };
        let first = ((due_s - most_s) / HOUR).ceil();
        let ends = (0..WEEK_HOURS).map(|hour| HOUR * (first + hour as f64)).filter(|time_s| *time_s <= due_s + most_s);
        let best = ends.chain([due_s]).min_by(|a, b| loses(*a).total_cmp(&loses(*b))).unwrap_or(due_s);
        Period::raw(best - visited_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// The seconds of spans in cells, beside those that are counted one by one.
    #[test]
    fn times_are_those_of_every_second() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(20_261_118);
        let cycle = Cycle::new(10.0, 7);
        let (mut times, mut counted) = (Times::new(7), [0.0; 7]);
        for number in 0..200 {
            let (start, seconds) = (f64::from(rng.random_range(-500..500)), f64::from(rng.random_range(1..200)));
            let watch = Watch { end_s: start + seconds, seconds, rate: 1.0, changed: true };
            let counts = 1.0 + f64::from(number % 3);
            let span = cycle.span(&watch);
            times.add(&span, counts);
            for second in 0..200 {
                let at = start + f64::from(second) + 0.5;
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 6")]
                let cell = (at.rem_euclid(70.0) / 10.0) as usize;
                counted[cell] += if at < watch.end_s { counts } else { 0.0 };
            }
            assert!((cycle.operational_s(&cycle.operational(), &span) - seconds).abs() < 1e-9);
        }
        for (seconds, counted) in times.in_cells(10.0).zip(counted) {
            assert!((seconds - counted).abs() < 1e-6, "{seconds} {counted}");
        }
    }

    /// Hours that were learnt from 40 lessons of 50 watches between an hour and two days, of pages for which `changed` tells
    /// whether something changed between two times.
    fn learnt(mut changed: impl FnMut(f64, f64, f64) -> bool) -> Hours {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(20_261_117);
        let mut hours = Hours::default();
        for lesson in 0..40 {
            let mut pages = vec![Clocked::new(0); 50];
            for page in &mut pages {
                let end_s = DAY * (3.0 * f64::from(lesson) + 3.0 + rng.random::<f64>());
                let seconds = HOUR * (1.0 + 47.0 * rng.random::<f64>());
                let elapsed = Period::raw(seconds);
                let seen = if changed(end_s - seconds, end_s, rng.random()) {
                    Observation::changed(elapsed)
                } else {
                    Observation::unchanged(elapsed)
                };
                page.observe(end_s, &seen.unwrap(), 1.0 / DAY);
            }
            hours.learn(pages.iter());
        }
        hours
    }

    fn curve() -> Lomax {
        Lomax::new(10.0, Period::raw(10.0 * DAY)).unwrap()
    }

    #[test]
    fn pages_that_change_at_half_past_five_are_visited_soon_after() {
        let day_of = |time_s: f64| (time_s / DAY - 5.5 / 24.0).floor();
        let hours = learnt(|start_s, end_s, _| day_of(start_s) < day_of(end_s));
        assert!(hours.are_known());
        for visited in 0..48 {
            for days in [1.0, 1.7, 5.0, 30.0] {
                let visited_s = HOUR * f64::from(visited) + 100.0;
                let due_s = visited_s + hours.moved(visited_s, Period::raw(days * DAY), &curve()).seconds();
                assert!((6.0..=7.0).contains(&(due_s.rem_euclid(DAY) / HOUR)), "{visited} {days}");
                assert!((due_s - visited_s - days * DAY).abs() <= WEEK / 2.0);
            }
        }
    }

    #[test]
    fn pages_that_change_at_any_hour_are_visited_after_their_period() {
        let hours = learnt(|start_s, end_s, lot| lot < 1.0 - ((start_s - end_s) / DAY).exp());
        assert!(!hours.are_known());
        assert_eq!(hours.moved(12_345.0, Period::raw(DAY), &curve()), Period::raw(DAY));
    }

    #[test]
    fn few_stretches_must_differ_less() {
        // The quantile 0.99865 of Student's t with 10 degrees of freedom is 3.957.
        assert!((student(3.0, 10.0) - 3.957).abs() < 0.05 && (student(3.0, 1e9) - 3.0).abs() < 1e-6);
        let earned = |stretches: u32| {
            let mut witness = Witness::default();
            // A gain of 2 and one of 0 in turn: 4.5 standard errors after 20, 2 after 4.
            (0..stretches).for_each(|number| witness.hear(2.0 * f64::from(number % 2), 10.0));
            witness.is_earned()
        };
        assert!(!earned(4) && !earned(10) && earned(20));
    }

    #[test]
    fn after_a_displaced_visit_the_next_comes_where_it_would_have_come() {
        let (week, fast) = (Period::raw(WEEK), curve());
        let found = (0..10_000).map(|lot| Clocked::new(lot * 7919));
        let mut displaced = found.filter_map(|page| Some((page.displaced(3, week, &fast, 1.0)?, page)));
        let (other, mut page) = displaced.next().unwrap();
        assert!(other.seconds() < DAY);
        page.observe(10.0 * WEEK, &Observation::unchanged(other).unwrap(), 1.0 / DAY);
        assert_eq!(page.displaced(4, week, &fast, 1.0), None);
        assert_eq!(page.regular(4, week).seconds(), 2.0 * WEEK - other.seconds());
        page.observe(12.0 * WEEK, &Observation::unchanged(week).unwrap(), 1.0 / DAY);
        assert_eq!(page.regular(5, week), week);
    }

    #[test]
    fn visits_are_displaced_seldom_and_only_where_that_is_cheap() {
        let displaced = |days: f64, curve: &Lomax| {
            let all = (0..10_000)
                .filter_map(|lot| Clocked::new(lot * 7919).displaced(3, Period::raw(days * DAY), curve, 1.0));
            all.map(|period| period.seconds() / DAY).collect::<Vec<_>>()
        };
        // A change a day: at a visit a day some come between half a day and one and a half.
        let daily = displaced(1.0, &curve());
        assert!(
            (50..1250).contains(&daily.len()) && daily.iter().all(|days| (0.5..1.5).contains(days)),
            "{}",
            daily.len()
        );
        // A change a year and a visit a month: a second visit within a day would be wasted.
        let slow = Lomax::new(10.0, Period::raw(3650.0 * DAY)).unwrap();
        assert!(displaced(30.0, &slow).is_empty());
    }
}
