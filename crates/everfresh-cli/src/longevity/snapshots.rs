//! The snapshots of many pages as they are gathered: of each the fragments, of long pages an even sample of them.

use std::collections::HashMap;
use std::sync::Arc;

use everfresh::longevity::Fragments;

use crate::output::{self, count};

/// Fragments of a version that are kept at most; of more, those with the least hashes, the same for all versions of a page.
const MOST: usize = 2048;

/// A page as it is gathered.
#[derive(Default)]
pub(super) struct Gathered {
    /// In any order; those of a trace share what did not change.
    versions: Vec<(u64, Arc<Fragments>)>,
    /// Hashes from here up are left out.
    below: Option<u64>,
}

impl Gathered {
    fn add(&mut self, time: u64, fragments: Arc<Fragments>) {
        self.versions.push((time, fragments));
        let last = self.versions.len() - 1;
        if let Some(below) = self.below {
            self.shorten(last, below);
        }
        while self.versions[last].1.len() > MOST {
            let below = self.below.map_or(1 << 63, |below| below / 2);
            self.below = Some(below);
            (0..=last).for_each(|version| self.shorten(version, below));
        }
    }

    fn shorten(&mut self, version: usize, below: u64) {
        let hashes = self.versions[version].1.hashes();
        let kept = hashes.partition_point(|hash| *hash < below);
        if kept < hashes.len() {
            self.versions[version].1 = Arc::new(Fragments::from_hashes(hashes[..kept].to_vec()));
        }
    }
}

/// A page with all its snapshots.
pub(super) struct Page {
    pub name: String,
    /// Times rising.
    pub versions: Vec<(u64, Arc<Fragments>)>,
}

/// All pages by name, and what was skipped.
#[derive(Default)]
pub(super) struct Snapshots {
    pages: HashMap<String, Gathered>,
    skipped: Vec<(&'static str, &'static str, u64, String)>,
}

impl Snapshots {
    pub(super) fn add(&mut self, page: &str, time: u64, fragments: Arc<Fragments>) {
        if let Some(gathered) = self.pages.get_mut(page) {
            gathered.add(time, fragments);
        } else {
            self.pages.entry(page.to_owned()).or_default().add(time, fragments);
        }
    }

    /// Notes that something was skipped, and where the first was.
    pub(super) fn skip(&mut self, what: &'static str, why: &'static str, place: impl Into<String>) {
        match self.skipped.iter_mut().find(|known| known.1 == why) {
            Some(known) => known.2 += 1,
            None => self.skipped.push((what, why, 1, place.into())),
        }
    }

    /// The pages by name, their snapshots in order; says what was skipped, and of which pages a sample stands for the whole.
    pub(super) fn finish(mut self) -> Vec<Page> {
        let mut pages: Vec<(String, Gathered)> = std::mem::take(&mut self.pages).into_iter().collect();
        pages.sort_by(|a, b| a.0.cmp(&b.0));
        let sampled = pages.iter().filter(|(_, gathered)| gathered.below.is_some()).count();
        let mut done = Vec::with_capacity(pages.len());
        for (name, mut gathered) in pages {
            gathered.versions.sort_by_key(|version| version.0);
            let before = gathered.versions.len();
            let mut last = None;
            gathered.versions.retain(|version| last.replace(version.0) != Some(version.0));
            for _ in gathered.versions.len()..before {
                self.skip("snapshot", "two snapshots of a page in the same second", format!("page `{name}`"));
            }
            done.push(Page { name, versions: gathered.versions });
        }
        for (what, why, skipped, first) in &self.skipped {
            output::say(&format!("{} skipped: {why} (first: {first})", count(*skipped as f64, what)));
        }
        if sampled > 0 {
            let pages = count(sampled as f64, "page");
            output::say(&format!("{pages} with more than {MOST} fragments: an even sample of them is looked at"));
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_long_pages_keep_their_distances() {
        let mut snapshots = Snapshots::default();
        let sets = [0..1000, 0..60_000, 20_000..80_000];
        let whole: Vec<Fragments> = sets.map(Fragments::from_names).into();
        for (time, fragments) in (0..).zip(&whole) {
            snapshots.add("page", time, Arc::new(fragments.clone()));
        }
        snapshots.add("page", 2, Arc::default());
        let pages = snapshots.finish();
        let versions = &pages[0].versions;
        assert_eq!(versions.len(), 3);
        assert!(versions.iter().all(|(_, fragments)| fragments.len() <= MOST));
        assert!((versions[1].1.distance(&versions[2].1) - whole[1].distance(&whole[2])).abs() < 0.03);
    }
}
