//! A world from a log of visits, and how fresh those very visits kept the copies.

use crate::score::{PageScore, Score};
use crate::world::{History, Page, Revision, Source, World, stream};
use everfresh::estimate::{Estimator, MaximumLikelihood, Observation, Seen};
use everfresh::policy::About;
use everfresh::{Rate, Unit};
use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::SplitMix64;
use std::sync::Arc;

/// What a log tells: the world as far as it was seen, how its visits did there, and how long it lasted, in seconds.
#[derive(Clone, Debug)]
pub struct Logged {
    /// The pages that were visited twice or more, each from its first visit to its last.
    pub world: World,
    /// How fresh the visits of the log kept them.
    pub own: Score,
    /// The longest time from a page's first visit to its last.
    pub duration_s: f64,
}

/// When the changes happened that visits found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Between {
    /// As those of a Poisson page of the likeliest rate that changed at least once: drawn from this seed, hidden ones too.
    Likely(u64),
    /// One change, placed by eagerness (OP08 appendix B): 1 right after the visit before, 0 right before the one that found it.
    Eager(f64),
}

/// Makes a world of what visits saw: of every page its group and its observations, in order.
///
/// A change that the source dates happened then. Nothing for a log in which no page was visited twice.
pub fn replayed(pages: &[(u32, Vec<Observation>)], between: Between) -> Option<Logged> {
    let (mut worlds, mut scores) = (Vec::new(), Vec::new());
    for ((group, seen), key) in pages.iter().zip(0u64..).filter(|((_, seen), _)| !seen.is_empty()) {
        let (history, score) = lived(seen, between, key);
        let rate = Rate::per(history.rate_between(0.0, score.live_s), Unit::Second).ok()?;
        let about = About { group: *group, ..About::new(rate) };
        let source = Source::Recorded(Arc::new(history));
        worlds.push(Page { key, about, host: *group, born_s: 0.0, dies_s: score.live_s, source });
        scores.push(score);
    }
    let duration_s = scores.iter().map(|score| score.live_s).fold(0.0, f64::max);
    let world = World { ends_are_known: true, ..World::new("log", worlds) };
    (duration_s > 0.0).then_some(Logged { world, own: Score { pages: scores, events: 0 }, duration_s })
}

/// A page's history, and how its own visits did.
fn lived(seen: &[Observation], between: Between, key: u64) -> (History, PageScore) {
    let mut history = History { revisions: vec![Revision::default()], has_fragments: false };
    let mut score = PageScore { weight: 1.0, ..PageScore::default() };
    let mut changes = Changes::new(seen, between, key);
    for observation in seen {
        let elapsed = observation.elapsed().seconds();
        let times = changes.times(observation);
        // The copy is stale from the first change on.
        let stale = times.first().map_or(0.0, |first| elapsed - first);
        for time in times {
            let content = u32::try_from(history.revisions.len()).unwrap_or(u32::MAX);
            history.revisions.push(Revision { time_s: score.live_s + time, content, ..Revision::default() });
        }
        score.live_s += elapsed;
        score.fresh_s += elapsed - stale;
        score.divergence_s += stale;
        score.age_s2 += stale * stale / 2.0;
        score.visits += 1;
    }
    (history, score)
}

/// Places the changes of one page.
struct Changes {
    between: Between,
    rate: f64,
    rng: SplitMix64,
}

/// Hidden changes of one interval, at most: more of them do not matter.
const MOST: usize = 1000;

impl Changes {
    fn new(seen: &[Observation], between: Between, key: u64) -> Changes {
        let mut likely = MaximumLikelihood::new();
        for observation in seen {
            likely.observe(observation);
        }
        let seed = if let Between::Likely(seed) = between { seed } else { 0 };
        Changes { between, rate: likely.estimate().rate.per_second(), rng: stream(seed, key, 5) }
    }

    /// The times of changes after the visit before, in order.
    fn times(&mut self, observation: &Observation) -> Vec<f64> {
        let elapsed = observation.elapsed().seconds();
        match (observation.seen(), self.between) {
            (Seen::Unchanged, _) => Vec::new(),
            (Seen::LastChange(since), Between::Eager(_)) => vec![elapsed - since.seconds()],
            (_, Between::Eager(eagerness)) => vec![(1.0 - eagerness) * elapsed],
            // Dated is the last change; before it there may have been others.
            (Seen::LastChange(since), _) => {
                let dated = elapsed - since.seconds();
                let mut times = self.until(dated, 0.0);
                times.push(dated);
                times
            }
            _ => {
                // The first, given that it came in time; then whatever followed.
                let certain = -(-self.rate * elapsed).exp_m1();
                let share: f64 = self.rng.random();
                let first = if self.rate * elapsed < 1e-9 {
                    share * elapsed
                } else {
                    (-(-share * certain).ln_1p() / self.rate).min(elapsed)
                };
                let mut times = vec![first];
                times.extend(self.until(elapsed, first));
                times
            }
        }
    }

    /// Poisson changes from a time on, up to another.
    fn until(&mut self, end: f64, mut time: f64) -> Vec<f64> {
        let mut times = Vec::new();
        while self.rate > 0.0 && times.len() < MOST {
            let unit: f64 = Exp1.sample(&mut self.rng);
            time += unit / self.rate;
            if time >= end {
                break;
            }
            times.push(time);
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everfresh::Period;

    #[test]
    fn a_log_says_how_fresh_it_was() {
        let hours = |n: f64| Period::of(n, Unit::Hour).unwrap();
        let seen = vec![
            Observation::unchanged(hours(10.0)).unwrap(),
            Observation::changed(hours(10.0)).unwrap(),
            Observation::last_change(hours(10.0), hours(1.0)).unwrap(),
        ];
        let logged = replayed(&[(0, seen), (0, Vec::new())], Between::Eager(0.2)).unwrap();
        assert_eq!(logged.world.pages.len(), 1);
        // Stale for a fifth of the second interval and for the dated hour of the third: 3 of 30 hours.
        assert!((logged.own.freshness().mean - 0.9).abs() < 1e-12);
        assert_eq!(logged.own.visits(), 3);
        assert!(replayed(&[(0, Vec::new())], Between::Likely(1)).is_none());
    }

    /// A page that changes twice a day, visited daily: it is fresh (1 - e^-2)/2 of the time, whatever visits did not see.
    #[test]
    fn changes_that_nobody_saw_are_made_up_for() {
        use rand::SeedableRng;
        let mut rng = SplitMix64::seed_from_u64(3);
        let day = Period::of(1.0, Unit::Day).unwrap();
        let expected = everfresh::Order::Fixed.freshness(2.0);
        let page = |_: u64| {
            let changed = |rng: &mut SplitMix64| rng.random::<f64>() < -f64::exp_m1(-2.0);
            let seen = |changed: bool| if changed { Observation::changed(day) } else { Observation::unchanged(day) };
            (0, (0..400).map(|_| seen(changed(&mut rng)).unwrap()).collect())
        };
        let pages: Vec<(u32, Vec<Observation>)> = (0..50).map(page).collect();
        let own = replayed(&pages, Between::Likely(1)).unwrap().own.freshness();
        assert!((own.mean - expected).abs() < 0.01, "{own:?} {expected}");
        let halves = replayed(&pages, Between::Eager(0.5)).unwrap().own.freshness();
        assert!(halves.mean > expected + 0.1, "half way between is too late: {halves:?}");
    }
}
