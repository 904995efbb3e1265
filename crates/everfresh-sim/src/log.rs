//! A world from a log of visits, and how fresh those very visits kept the copies.

use crate::score::{PageScore, Score};
use crate::world::{History, Page, Revision, Source, World};
use everfresh::estimate::{Observation, Seen};
use everfresh::policy::About;
use everfresh::{Rate, Unit};
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

/// Makes a world of what visits saw: of every page its group and its observations, in order.
///
/// A change that a visit found happened at the time that the source says, else by `eagerness` (OP08 appendix B): 1 right after the
/// visit before, 0 right before the visit that found it. Nothing is known of what changed and was undone, or changed twice,
/// between two visits. Nothing for a log in which no page was visited twice.
pub fn replayed(pages: &[(u32, Vec<Observation>)], eagerness: f64) -> Option<Logged> {
    let (mut worlds, mut scores) = (Vec::new(), Vec::new());
    for ((group, seen), key) in pages.iter().zip(0u64..).filter(|((_, seen), _)| !seen.is_empty()) {
        let (history, score) = lived(seen, eagerness);
        let rate = Rate::per(history.rate_between(0.0, score.live_s), Unit::Second).ok()?;
        let about = About { group: *group, ..About::new(rate) };
        let source = Source::Recorded(Arc::new(history));
        worlds.push(Page { key, about, host: *group, born_s: 0.0, dies_s: score.live_s, source });
        scores.push(score);
    }
    let duration_s = scores.iter().map(|score| score.live_s).fold(0.0, f64::max);
    let world = World::new("log", worlds);
    (duration_s > 0.0).then_some(Logged { world, own: Score { pages: scores, events: 0 }, duration_s })
}

/// A page's history, and how its own visits did.
fn lived(seen: &[Observation], eagerness: f64) -> (History, PageScore) {
    let mut history = History { revisions: vec![Revision::default()], has_fragments: false };
    let mut score = PageScore { weight: 1.0, ..PageScore::default() };
    for observation in seen {
        let elapsed = observation.elapsed().seconds();
        let stale = match observation.seen() {
            Seen::Unchanged => 0.0,
            Seen::LastChange(since) => since.seconds(),
            Seen::Changed | Seen::Changes(_) => eagerness * elapsed,
        };
        if observation.has_changed() {
            let content = u32::try_from(history.revisions.len()).unwrap_or(u32::MAX);
            let time_s = score.live_s + elapsed - stale;
            history.revisions.push(Revision { time_s, content, ..Revision::default() });
        }
        score.live_s += elapsed;
        score.fresh_s += elapsed - stale;
        score.divergence_s += stale;
        score.age_s2 += stale * stale / 2.0;
        score.visits += 1;
    }
    (history, score)
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
        let logged = replayed(&[(0, seen), (0, Vec::new())], 0.2).unwrap();
        assert_eq!(logged.world.pages.len(), 1);
        // Stale for a fifth of the second interval and for the dated hour of the third: 3 of 30 hours.
        assert!((logged.own.freshness().mean - 0.9).abs() < 1e-12);
        assert_eq!(logged.own.visits(), 3);
        assert!(replayed(&[(0, Vec::new())], 0.5).is_none());
    }
}
