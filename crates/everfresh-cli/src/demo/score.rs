//! How fresh a crawler's copies were, by the truth.

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::look::{Saw, Seen};
use super::world::{Page, Said, World};

/// What a crawler made of its visits.
#[derive(Clone, Debug, Default)]
pub(super) struct Score {
    pub visits: u64,
    pub changes: u64,
    pub not_modified: u64,
    pub gone: u64,
    pub failures: u64,
    /// The share of copies that were fresh, in each of some equal parts of the time.
    pub over_time: Vec<f64>,
    /// The same over all of the time, and over its second half.
    pub freshness: f64,
    pub second_half: f64,
    /// The mean age of a copy, in seconds: zero while it is fresh, else the time since it ceased to be; without a copy, the
    /// time since the start.
    pub age_s: f64,
}

/// A time in which a copy was fresh, or one in which it was not.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spell {
    from_s: f64,
    to_s: f64,
    /// Since when the copy has been stale, if it is.
    stale_since_s: Option<f64>,
}

/// Scores a crawler's visits; times of these are those of a clock that said `start_s` when the world began.
///
/// Pages that robots.txt forbids are not counted: nobody may look.
pub(super) fn score(world: &World, seen: &[Seen], start_s: f64, parts: usize) -> Result<Score> {
    let mut by_page: Vec<Vec<&Seen>> = vec![Vec::new(); world.pages.len()];
    let in_time: Vec<&Seen> = seen.iter().filter(|seen| seen.at_s - start_s < world.length_s).collect();
    for seen in &in_time {
        by_page.get_mut(seen.page).context("a page that was never listed")?.push(seen);
    }
    let counted: Vec<_> = world.pages.iter().zip(&by_page).filter(|(page, _)| !page.is_forbidden).collect();
    let spells: Result<Vec<Vec<Spell>>> = counted
        .par_iter()
        .map(|(page, seen)| {
            let copies: Result<Vec<_>> = seen.iter().filter_map(|seen| copy(world, page, seen, start_s)).collect();
            Ok(spells(page, &copies?, world.length_s))
        })
        .collect();
    let spells: Vec<Spell> = spells?.into_iter().flatten().collect();
    let whole = counted.len() as f64 * world.length_s;
    let fresh_s = |from_s: f64, to_s: f64| spells.iter().map(|spell| spell.fresh_s(from_s, to_s)).sum::<f64>();
    let count = |is: fn(&Saw) -> bool| in_time.iter().filter(|seen| is(&seen.saw)).count() as u64;
    Ok(Score {
        visits: in_time.len() as u64,
        changes: count(|saw| matches!(saw, Saw::Text { .. })),
        not_modified: count(|saw| matches!(saw, Saw::Same { not_modified: true })),
        gone: count(|saw| matches!(saw, Saw::Gone)),
        failures: count(|saw| matches!(saw, Saw::Failed { .. })),
        over_time: over_time(&spells, world.length_s, parts).iter().map(|s| s * parts as f64 / whole).collect(),
        freshness: fresh_s(0.0, world.length_s) / whole,
        second_half: fresh_s(world.length_s / 2.0, world.length_s) / (whole / 2.0),
        age_s: spells.iter().map(Spell::age_area).sum::<f64>() / whole,
    })
}

/// What a visit made of the copy, and when; nothing where it stayed what it was.
fn copy(world: &World, page: &Page, seen: &Seen, start_s: f64) -> Option<Result<(f64, Said)>> {
    let at_s = seen.at_s - start_s;
    match seen.saw {
        Saw::Text { digest, .. } => {
            let said = world.said(page, digest, at_s);
            let never = || format!("cannot score: `{}` was seen with a text that it never had", page.path);
            Some(said.with_context(never).map(|said| (at_s, said)))
        }
        Saw::Gone => Some(Ok((at_s, None))),
        Saw::Same { .. } | Saw::Failed { .. } => None,
    }
}

impl Spell {
    /// The time between two times in which it was fresh.
    fn fresh_s(&self, from_s: f64, to_s: f64) -> f64 {
        let shared = self.to_s.min(to_s) - self.from_s.max(from_s);
        if self.stale_since_s.is_some() { 0.0 } else { shared.max(0.0) }
    }

    /// The integral of the age over it.
    fn age_area(&self) -> f64 {
        let square = |since: f64| ((self.to_s - since).powi(2) - (self.from_s - since).powi(2)) / 2.0;
        self.stale_since_s.map_or(0.0, square)
    }
}

/// The fresh time of all copies in each of some equal parts of the time.
fn over_time(spells: &[Spell], length_s: f64, parts: usize) -> Vec<f64> {
    let width_s = length_s / parts as f64;
    let mut fresh_s = vec![0.0; parts];
    for spell in spells.iter().filter(|spell| spell.stale_since_s.is_none()) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are not negative")]
        let first = (spell.from_s / width_s) as usize;
        for (part, sum) in fresh_s.iter_mut().enumerate().skip(first) {
            let from_s = part as f64 * width_s;
            if from_s >= spell.to_s {
                break;
            }
            *sum += spell.fresh_s(from_s, from_s + width_s);
        }
    }
    fresh_s
}

/// The times in which a copy was fresh or stale, in order, without gaps, from the start to `length_s`.
fn spells(page: &Page, copies: &[(f64, Said)], length_s: f64) -> Vec<Spell> {
    let history: Vec<(f64, Said)> = page.history().collect();
    let mut times: Vec<f64> = history.iter().chain(copies).map(|(time, _)| *time).collect();
    times.sort_by(f64::total_cmp);
    times.push(length_s);
    let (mut source, mut copied) = (0, 0);
    let mut spells = Vec::new();
    for pair in times.windows(2) {
        while history.get(source + 1).is_some_and(|(time, _)| *time <= pair[0]) {
            source += 1;
        }
        while copies.get(copied).is_some_and(|(time, _)| *time <= pair[0]) {
            copied += 1;
        }
        let copy = copied.checked_sub(1).map(|last| copies[last].1);
        let stale_since_s = stale_since(&history[..=source], copy);
        let to_s = pair[1].min(length_s);
        if pair[0] < to_s {
            spells.push(Spell { from_s: pair[0], to_s, stale_since_s });
        }
    }
    spells
}

/// Since when the source has said something else than the copy; none while they are equal.
fn stale_since(history: &[(f64, Said)], copy: Option<Said>) -> Option<f64> {
    let Some(copy) = copy else { return Some(0.0) };
    match history.iter().rposition(|(_, said)| *said == copy) {
        Some(last) => history.get(last + 1).map(|(time, _)| *time),
        None => Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::text;
    use crate::demo::world::{DAY_S, dice};
    use rand::RngExt;

    const START: f64 = 1e9;

    /// Visits at random times, some of which fail, with what the source said a little earlier.
    fn visits(world: &World) -> Vec<Seen> {
        let mut rng = dice(4, 0, 0, 0);
        let mut visits: Vec<Seen> = Vec::new();
        for (number, page) in world.pages.iter().enumerate() {
            for _ in 0..rng.random_range(0..12) {
                let time = world.length_s * rng.random::<f64>();
                let asked = (time - 0.05 * DAY_S * rng.random::<f64>()).max(0.0);
                let saw = match page.at(asked).0 {
                    _ if rng.random::<f64>() < 0.2 => Saw::Failed { retryable: true },
                    None => Saw::Gone,
                    Some(said) => {
                        let digest = text::digest(&world.blocks(page, said));
                        Saw::Text { digest, divergence: 1.0, last_change: None }
                    }
                };
                visits.push(Seen { page: number, at_s: START + time, saw });
            }
        }
        visits.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        visits
    }

    /// Texts compared as texts, at a time.
    fn fresh_at(world: &World, page: usize, visits: &[Seen], time: f64) -> bool {
        let telling =
            |seen: &&Seen| seen.page == page && seen.at_s - START <= time && !matches!(seen.saw, Saw::Failed { .. });
        let now = world.pages[page].at(time).0.map(|said| text::digest(&world.blocks(&world.pages[page], said)));
        visits.iter().rfind(telling).is_some_and(|seen| match seen.saw {
            Saw::Text { digest, .. } => now == Some(digest),
            _ => now.is_none(),
        })
    }

    #[test]
    fn freshness_is_what_looking_at_many_times_finds() {
        let world = World::new(120, 12.0, 3);
        let visits = visits(&world);
        let score = score(&world, &visits, START, 6).unwrap();
        let mut fresh = [0.0; 6];
        let (mut looks, mut hits) = (0.0, 0.0);
        for (number, page) in world.pages.iter().enumerate().filter(|(_, page)| !page.is_forbidden) {
            assert_eq!(page.number as usize, number);
            for step in 0..600_u16 {
                let is_fresh = fresh_at(&world, number, &visits, world.length_s * (f64::from(step) + 0.5) / 600.0);
                looks += 1.0;
                hits += f64::from(u8::from(is_fresh));
                fresh[usize::from(step) / 100] += f64::from(u8::from(is_fresh));
            }
        }
        assert!((score.freshness - hits / looks).abs() < 2e-3, "{} and {}", score.freshness, hits / looks);
        for (part, hits) in score.over_time.iter().zip(fresh) {
            assert!((part - 6.0 * hits / looks).abs() < 5e-3, "{part}");
        }
        assert!((score.over_time.iter().sum::<f64>() / 6.0 - score.freshness).abs() < 1e-9);
        assert!((score.over_time[3..].iter().sum::<f64>() / 3.0 - score.second_half).abs() < 1e-9);
    }

    #[test]
    fn age_is_the_time_since_a_copy_was_fresh() {
        let history = [(0.0, Some(0)), (5.0, Some(1)), (7.0, Some(0)), (9.0, Some(3)), (12.0, None)];
        assert_eq!(stale_since(&history[..1], Some(Some(0))), None);
        assert_eq!(stale_since(&history[..2], Some(Some(0))), Some(5.0));
        assert_eq!(stale_since(&history[..3], Some(Some(0))), None);
        assert_eq!(stale_since(&history[..3], Some(Some(1))), Some(7.0));
        assert_eq!(stale_since(&history, Some(Some(0))), Some(9.0));
        assert_eq!(stale_since(&history, Some(None)), None);
        assert_eq!(stale_since(&history, None), Some(0.0));
        let spell = Spell { from_s: 6.0, to_s: 10.0, stale_since_s: Some(5.0) };
        assert_eq!(spell.age_area(), 12.0);
    }

    #[test]
    fn a_text_that_a_page_never_had_is_an_error() {
        let world = World::new(20, 2.0, 3);
        let digest = everfresh_crawl::content::Digest::of(b"never");
        let page = world.pages.iter().position(|page| !page.is_forbidden).unwrap();
        let saw = Saw::Text { digest, divergence: 1.0, last_change: None };
        let error = score(&world, &[Seen { page, at_s: START + 1.0, saw }], START, 2).unwrap_err();
        assert!(error.to_string().ends_with("was seen with a text that it never had"), "{error}");
    }
}
