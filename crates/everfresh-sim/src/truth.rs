//! What really happens to a page: its true divergence curve, for the policies that are told (OP08 section 3.4).

use crate::engine::Conditions;
use crate::world::{History, Page, Pair, Source, Versions, World};
use everfresh::curve::Observed;
use everfresh::policy::Told;
use everfresh::{Period, Unit};
use rayon::prelude::*;
use std::collections::HashMap;

/// Times at which a curve is measured.
const TIMES: i32 = 48;

/// Copies from which the curve of a page that is made up is measured.
const BASES: u32 = 24;

/// The mean divergence of a page from copies of it, as a curve that does not fall.
///
/// Of its content, or 0 and 1 for equal or not. A recorded page is compared at every moment of its life with the copy that was made
/// so long before, exactly; one that is made up with copies made at even times of the first half of its life, up to the other half.
pub(crate) fn mean_curve(page: &Page, seed: u64, duration_s: f64, of_content: bool) -> Option<Observed> {
    let life_s = page.dies_s.min(duration_s) - page.born_s;
    let (times, divergences) = if let Source::Recorded(history) = &page.source {
        let times = times(life_s);
        let life = Life::new(history, (page.born_s, page.born_s + life_s), of_content && history.has_fragments);
        let divergences = life.divergences(&times);
        (times, divergences)
    } else {
        let times = times(life_s / 2.0);
        let divergences = from_bases(page, seed, &times, of_content);
        (times, divergences)
    };
    let divergences = rising(&times, divergences);
    let point = |(time, divergence): (f64, f64)| Some((Period::of(time, Unit::Second).ok()?, divergence));
    Observed::new(&times.into_iter().zip(divergences).filter_map(point).collect::<Vec<_>>()).ok()
}

/// The curves of all pages of a world, for [`Told`].
pub(crate) fn told(world: &World, conditions: &Conditions, of_content: bool) -> Told<Observed> {
    let curve = |page: &Page| mean_curve(page, conditions.seed, conditions.duration_s, of_content);
    Told(world.pages.par_iter().map(|page| curve(page).unwrap_or_else(flat)).collect())
}

/// Even in logarithms over four decades.
fn times(reach_s: f64) -> Vec<f64> {
    (0..TIMES).map(|n| reach_s * 1e-4f64.powf(1.0 - f64::from(n + 1) / f64::from(TIMES))).collect()
}

fn from_bases(page: &Page, seed: u64, times: &[f64], of_content: bool) -> Vec<f64> {
    let reach = times.last().copied().unwrap_or_default();
    let mut sums = vec![0.0; times.len()];
    let mut live = Pair::new(page, seed);
    for base in 0..BASES {
        let base_s = page.born_s + reach * f64::from(base) / f64::from(BASES);
        advance(&mut live, base_s);
        let mut copied = live.clone();
        copied.copy();
        for (sum, time) in sums.iter_mut().zip(times) {
            advance(&mut copied, base_s + time);
            *sum += if of_content { copied.divergence() } else { f64::from(u8::from(!copied.is_fresh())) };
        }
    }
    sums.iter().map(|sum| sum / f64::from(BASES)).collect()
}

/// A recorded page between two times.
struct Life<'a> {
    versions: Versions<'a>,
    of_content: bool,
    /// From when on there is which revision, in order; the first from the start of the life.
    stages: Vec<(f64, usize)>,
    end_s: f64,
}

impl Life<'_> {
    fn new(history: &History, (from_s, end_s): (f64, f64), of_content: bool) -> Life<'_> {
        let revisions = &history.revisions;
        let first = revisions.partition_point(|revision| revision.time_s <= from_s).saturating_sub(1);
        let later = (first + 1..revisions.len()).map(|at| (revisions[at].time_s, at));
        let stages = std::iter::once((from_s, first)).chain(later.filter(|(time, _)| *time < end_s)).collect();
        Life { versions: Versions::of(history), of_content, stages, end_s }
    }

    /// At each time after the copy, the mean over the whole life.
    fn divergences(&self, times: &[f64]) -> Vec<f64> {
        let mut known = HashMap::new();
        let mut between = |base: usize, at: usize| {
            if base == at {
                0.0
            } else if self.of_content {
                *known.entry((base, at)).or_insert_with(|| self.versions.divergence(base, at))
            } else {
                f64::from(u8::from(!self.versions.is_fresh(base, at)))
            }
        };
        times.iter().map(|time| self.mean_after(*time, &mut between)).collect()
    }

    /// The mean of `between` over all moments of the life, each with the copy that was made so long before, or with the first one:
    /// between two steps of either nothing changes.
    fn mean_after(&self, time_s: f64, between: &mut impl FnMut(usize, usize) -> f64) -> f64 {
        let stages = &self.stages;
        let starts = |at: usize| stages.get(at).map_or(f64::INFINITY, |stage| stage.0);
        let (mut base, mut there) = (0, 0);
        let (mut now_s, mut sum) = (stages[0].0, 0.0);
        while now_s < self.end_s {
            let next_s = starts(there + 1).min(starts(base + 1) + time_s).min(self.end_s);
            sum += (next_s - now_s) * between(stages[base].1, stages[there].1);
            now_s = next_s;
            there += usize::from(starts(there + 1) <= next_s);
            base += usize::from(starts(base + 1) + time_s <= next_s);
        }
        sum / (self.end_s - stages[0].0)
    }
}

/// The curve that does not fall, as near as can be to one that may: where it falls, its mean over time.
///
/// A page that returns to what it was is nearer to an old copy than to a younger one. The best period at a price c is where
/// `(area + c)/t` is least, which is a point of the lower convex hull of the area, whose slope is this curve.
fn rising(times: &[f64], divergences: Vec<f64>) -> Vec<f64> {
    // The mean, how long, and how many points.
    let mut levels: Vec<(f64, f64, usize)> = Vec::new();
    let mut before = 0.0;
    for (time, divergence) in times.iter().zip(divergences) {
        let mut level = (divergence, time - before, 1);
        before = *time;
        while let Some(last) = levels.pop_if(|last| last.0 > level.0) {
            let long = last.1 + level.1;
            level = ((last.0 * last.1 + level.0 * level.1) / long, long, last.2 + level.2);
        }
        levels.push(level);
    }
    levels.into_iter().flat_map(|(mean, _, points)| std::iter::repeat_n(mean, points)).collect()
}

/// Of a page that does not change, or too short to tell.
pub(crate) fn flat() -> Observed {
    Observed::flat()
}

fn advance(pair: &mut Pair, to_s: f64) {
    while pair.next_s() <= to_s {
        pair.change();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Revision;
    use everfresh::Rate;
    use everfresh::curve::DivergenceCurve;
    use everfresh::policy::About;
    use std::sync::Arc;

    fn page(revisions: Vec<Revision>) -> Page {
        let history = History { revisions, has_fragments: true };
        let source = Source::Recorded(Arc::new(history));
        Page { key: 0, about: About::new(Rate::STATIC), host: 0, born_s: 0.0, dies_s: f64::INFINITY, source }
    }

    fn revision(time_s: f64, content: u32, added: Vec<u64>, removed: Vec<u64>) -> Revision {
        Revision { time_s, content, added, removed, is_reset: false }
    }

    /// One change after 75 of 100 seconds, of two thirds of the fragments: for t after it, or to the end, copies are behind.
    #[test]
    fn a_recorded_curve_is_exact() {
        let page = page(vec![revision(0.0, 0, vec![1, 2], vec![]), revision(75.0, 1, vec![3], vec![2])]);
        for (of_content, depth) in [(true, 2.0 / 3.0), (false, 1.0)] {
            let curve = mean_curve(&page, 1, 100.0, of_content).unwrap();
            for t in times(100.0) {
                let expected = depth * t.min(25.0) / 100.0;
                let measured = curve.divergence(Period::of(t, Unit::Second).unwrap());
                assert!((measured - expected).abs() < 1e-12, "{t}: {measured} {expected}");
            }
        }
    }

    /// A change of the way it was looked at moves no copy away.
    #[test]
    fn a_reset_is_no_change() {
        let reset = Revision { is_reset: true, ..revision(50.0, 1, vec![3], vec![2]) };
        let page = page(vec![revision(0.0, 0, vec![1, 2], vec![]), reset]);
        for of_content in [true, false] {
            assert_eq!(mean_curve(&page, 1, 100.0, of_content).unwrap().ceiling(), 0.0);
        }
    }

    #[test]
    fn what_falls_is_levelled() {
        assert_eq!(rising(&[1.0, 2.0, 4.0, 5.0], vec![0.1, 0.7, 0.4, 0.8]), [0.1, 0.5, 0.5, 0.8]);
    }
}
