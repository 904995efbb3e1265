//! A recorded trace in the place of a paper's own data, which are not public.

use std::path::Path;

use everfresh::Unit;
use everfresh::longevity::{self, Fragments};

use crate::trace::{self, Window, load};
use crate::world::{History, Page, Revision, Source, Versions};

const DAY: f64 = Unit::Day.seconds();

/// Pages as a collector recorded them.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What it is called.
    pub name: String,
    pub(super) pages: Vec<Lived>,
    /// Snapshots of some pages; none where the trace has no fragments.
    pub(super) snapshots: Vec<longevity::History>,
}

/// A page in time.
#[derive(Clone, Debug, Default)]
pub(super) struct Lived {
    /// When it changed, in days since it was there.
    pub(super) changes: Vec<f64>,
    /// On which of its days, from 1 on, a daily visit found another content than the day before.
    pub(super) seen: Vec<u32>,
    /// How many days it was there.
    pub(super) days: u32,
}

/// Pages and snapshots that stand for a paper's collection: as many and as far apart as in OP08.
const PAGES: usize = 300;
const SNAPSHOTS: u32 = 30;
pub(super) const STEP_S: u64 = 2 * 86_400;

/// Pages that were watched for less tell little.
const LEAST_DAYS: u32 = 60;

impl Recording {
    /// Reads a trace (see [`trace`]), from when half of its pages are there.
    ///
    /// # Errors
    ///
    /// What is wrong with its files, and where.
    pub fn load(folder: &Path) -> Result<Recording, trace::Error> {
        let (world, duration_s) = load(folder, &Window::default())?;
        let pages = world.pages.iter().filter_map(|page| Lived::of(page, duration_s)).collect();
        let snapshots = if folder.join("shingles.csv.zst").exists() {
            let (world, duration_s) = load(folder, &Window { with_fragments: true, ..Window::default() })?;
            let whole: Vec<&Page> = world.pages.iter().filter(|page| is_whole(page, duration_s)).collect();
            // Evenly drawn, as many as there are up to the most.
            let some = (0..whole.len().min(PAGES)).map(|number| whole[number * whole.len() / whole.len().min(PAGES)]);
            some.filter_map(|page| last_snapshots(page, duration_s)).collect()
        } else {
            Vec::new()
        };
        Ok(Recording { name: world.name, pages, snapshots })
    }
}

fn recorded(page: &Page) -> Option<&History> {
    match &page.source {
        Source::Recorded(history) => Some(history),
        _ => None,
    }
}

/// The revision that was there at a time.
fn at(history: &History, time_s: f64) -> usize {
    history.revisions.partition_point(|revision| revision.time_s <= time_s).saturating_sub(1)
}

impl Lived {
    /// A page that was there for long enough.
    fn of(page: &Page, duration_s: f64) -> Option<Lived> {
        let history = recorded(page)?;
        let end_s = page.dies_s.min(duration_s);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "days of a life")]
        let days = ((end_s - page.born_s) / DAY).floor().max(0.0) as u32;
        if days < LEAST_DAYS {
            return None;
        }
        let is_change = |pair: &[Revision]| pair[0].content != pair[1].content && !pair[1].is_reset;
        let of_life = |time_s: f64| time_s > page.born_s && time_s <= end_s;
        let changes = history.revisions.windows(2).filter(|pair| is_change(pair) && of_life(pair[1].time_s));
        let changes: Vec<f64> = changes.map(|pair| (pair[1].time_s - page.born_s) / DAY).collect();
        let versions = Versions::of(history);
        let morning = |day: u32| at(history, page.born_s + f64::from(day) * DAY);
        let seen = (1..=days).filter(|day| !versions.is_fresh(morning(day - 1), morning(*day))).collect();
        Some(Lived { changes, seen, days })
    }

    /// Days between changes, as daily visits saw them; infinite where they saw none.
    pub(super) fn seen_interval(&self) -> f64 {
        f64::from(self.days) / self.seen.len() as f64
    }
}

/// When the first of the last snapshots is made.
fn first_s(duration_s: f64) -> f64 {
    duration_s - f64::from(SNAPSHOTS - 1) * STEP_S as f64
}

/// Was a page there while the last snapshots were made, and always looked at in the same way?
fn is_whole(page: &Page, duration_s: f64) -> bool {
    let from_s = first_s(duration_s);
    let is_same =
        |history: &History| !history.revisions.iter().any(|revision| revision.is_reset && revision.time_s > from_s);
    page.born_s <= from_s && page.dies_s > duration_s && recorded(page).is_some_and(is_same)
}

/// The last snapshots of a page.
fn last_snapshots(page: &Page, duration_s: f64) -> Option<longevity::History> {
    let (history, from_s) = (recorded(page)?, first_s(duration_s));
    let versions = Versions::of(history);
    let snapshot = |number: u32| {
        let revision = at(history, from_s + f64::from(number) * STEP_S as f64);
        (u64::from(number) * STEP_S, Fragments::from_hashes(versions.fragments(revision).to_vec()))
    };
    longevity::History::new((0..SNAPSHOTS).map(snapshot).collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use everfresh::Rate;
    use everfresh::policy::About;
    use std::sync::Arc;

    fn page(revisions: Vec<Revision>, has_fragments: bool) -> Page {
        let source = Source::Recorded(Arc::new(History { revisions, has_fragments }));
        let about = About::new(Rate::STATIC);
        Page { key: 0, about, host: 0, born_s: 0.0, dies_s: f64::INFINITY, source }
    }

    fn revision(day: f64, content: u32) -> Revision {
        Revision { time_s: day * DAY, content, ..Revision::default() }
    }

    /// What comes and goes between two visits is not seen, and a reset is no change.
    #[test]
    fn daily_visits_see_what_they_can() {
        let reset = Revision { is_reset: true, ..revision(40.5, 9) };
        let revisions =
            [revision(0.0, 0), revision(3.2, 1), revision(3.4, 0), revision(10.1, 2), revision(10.2, 3), reset];
        let lived = Lived::of(&page(revisions.to_vec(), false), 80.0 * DAY).unwrap();
        assert_eq!(lived.changes.len(), 4);
        assert_eq!((lived.days, lived.seen.as_slice()), (80, [11].as_slice()));
        assert_eq!(lived.seen_interval(), 80.0);
        assert!(Lived::of(&page(revisions.to_vec(), false), 30.0 * DAY).is_none());
    }

    #[test]
    fn the_last_snapshots_have_the_fragments_of_their_days() {
        let first = Revision { added: vec![1, 2], ..revision(0.0, 0) };
        let later = Revision { added: vec![3], removed: vec![1], ..revision(99.0, 1) };
        let history = last_snapshots(&page(vec![first.clone(), later.clone()], true), 100.0 * DAY).unwrap();
        assert_eq!(history.versions().len(), 30);
        assert_eq!(history.changes(), 1);
        assert_eq!(history.versions()[28].1.hashes(), [1, 2]);
        assert_eq!(history.versions()[29].1.hashes(), [2, 3]);
        let reset = Revision { is_reset: true, ..later };
        assert!(is_whole(&page(vec![first.clone()], true), 100.0 * DAY));
        assert!(!is_whole(&page(vec![first, reset], true), 100.0 * DAY));
    }
}
