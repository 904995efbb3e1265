//! The snapshots of many pages as they are gathered: of each the fragments, of long pages an even sample of them.

use std::collections::HashMap;
use std::sync::Arc;

use everfresh::longevity::Fragments;

use super::sample::{MOST, Sample, halved};
use crate::output::{self, count, number};

/// A page as it is gathered.
#[derive(Default)]
pub(super) struct Gathered {
    /// In any order; those of a trace share what did not change.
    versions: Vec<(u64, Arc<Fragments>)>,
    /// Hashes from here up are left out.
    below: Option<u64>,
}

impl Gathered {
    fn add(&mut self, version: (u64, Arc<Fragments>), below: Option<u64>) {
        self.versions.push(version);
        let last = self.versions.len() - 1;
        match [self.below, below].into_iter().flatten().min() {
            bound if bound == self.below => self.shorten(last),
            bound => self.lower(bound),
        }
        while self.versions[last].1.len() > MOST {
            self.lower(Some(halved(self.below)));
        }
    }

    /// Lowers the bound, for all versions.
    fn lower(&mut self, below: Option<u64>) {
        self.below = below;
        (0..self.versions.len()).for_each(|version| self.shorten(version));
    }

    fn shorten(&mut self, version: usize) {
        let Some(below) = self.below else { return };
        let hashes = self.versions[version].1.hashes();
        let kept = hashes.partition_point(|hash| *hash < below);
        if kept < hashes.len() {
            self.versions[version].1 = Arc::new(Fragments::from_hashes(hashes[..kept].to_vec()));
        }
    }

    /// The share of the fragments that is looked at.
    fn share(&self) -> f64 {
        self.below.map_or(1.0, |below| below as f64 / 2f64.powi(64))
    }

    /// The standard error of the divergence of any two versions, at most: that of a share of one half, `1/2 / sqrt(n)`, in an even sample of n
    /// fragments of either. Two versions have at least as many as the second smallest of all. 0 where all fragments are looked at.
    fn error(&self) -> f64 {
        if self.below.is_none() {
            return 0.0;
        }
        let mut sizes: Vec<usize> = self.versions.iter().map(|(_, fragments)| fragments.len()).collect();
        sizes.sort_unstable();
        let least = sizes.get(1).or(sizes.first()).copied().unwrap_or_default();
        0.5 / (least.max(1) as f64).sqrt()
    }
}

/// A page with all its snapshots.
pub(super) struct Page {
    pub name: String,
    /// Times rising.
    pub versions: Vec<(u64, Arc<Fragments>)>,
    /// The share of the fragments that is looked at: 1, or less of long pages.
    pub share: f64,
    /// The standard error of divergences that comes of it, at most.
    pub error: f64,
}

/// All pages by name, and what was skipped.
#[derive(Default)]
pub(super) struct Snapshots {
    pages: HashMap<String, Gathered>,
    skipped: Vec<(&'static str, &'static str, u64, String)>,
}

impl Snapshots {
    /// Adds a snapshot with all its fragments.
    pub(super) fn add_whole(&mut self, page: &str, time: u64, fragments: Arc<Fragments>) {
        self.put(page, (time, fragments), None);
    }

    /// Adds a snapshot with those of its fragments that were kept.
    pub(super) fn add(&mut self, page: &str, time: u64, sample: Sample) {
        self.put(page, (time, Arc::new(sample.fragments)), sample.below);
    }

    fn put(&mut self, page: &str, version: (u64, Arc<Fragments>), below: Option<u64>) {
        if let Some(gathered) = self.pages.get_mut(page) {
            gathered.add(version, below);
        } else {
            self.pages.entry(page.to_owned()).or_default().add(version, below);
        }
    }

    /// Notes that something was skipped, and where the first was.
    pub(super) fn skip(&mut self, what: &'static str, why: &'static str, place: impl FnOnce() -> String) {
        match self.skipped.iter_mut().find(|known| known.1 == why) {
            Some(known) => known.2 += 1,
            None => self.skipped.push((what, why, 1, place())),
        }
    }

    /// The pages by name, their snapshots in order; says what was skipped, and of which pages a sample stands for the whole.
    ///
    /// Snapshots that are later than now, in seconds since 1970, are none: a clock was wrong, or a name.
    pub(super) fn finish(mut self, now: u64) -> Vec<Page> {
        let mut pages: Vec<(String, Gathered)> = std::mem::take(&mut self.pages).into_iter().collect();
        pages.sort_by(|a, b| a.0.cmp(&b.0));
        let sampled = pages.iter().filter(|(_, gathered)| gathered.below.is_some()).count();
        let mut done = Vec::with_capacity(pages.len());
        for (name, mut gathered) in pages {
            gathered.versions.sort_by_key(|version| version.0);
            let known = gathered.versions.partition_point(|version| version.0 <= now);
            for (time, _) in gathered.versions.drain(known..) {
                self.skip("snapshot", "the time is later than now", || format!("page `{name}` at {}", date(time)));
            }
            if gathered.versions.is_empty() {
                continue;
            }
            let before = gathered.versions.len();
            let mut last = None;
            gathered.versions.retain(|version| last.replace(version.0) != Some(version.0));
            for _ in gathered.versions.len()..before {
                self.skip("snapshot", "two snapshots of a page in the same second", || format!("page `{name}`"));
            }
            let (share, error) = (gathered.share(), gathered.error());
            done.push(Page { name, versions: gathered.versions, share, error });
        }
        for (what, why, skipped, first) in &self.skipped {
            output::say(&format!("{} skipped: {why} (first: {first})", count(*skipped as f64, what)));
        }
        if sampled > 0 {
            let (pages, error) =
                (count(sampled as f64, "page"), done.iter().map(|page| page.error).fold(0.0, f64::max));
            output::say(&format!(
                "{pages} with more than {MOST} fragments: an even sample of them is looked at; the standard error of a divergence is at most {}",
                number(error)
            ));
        }
        done
    }
}

/// A time as people write it.
fn date(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(|| seconds.to_string(), |time| time.to_string())
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
            snapshots.add_whole("page", time, Arc::new(fragments.clone()));
        }
        snapshots.add("page", 2, Sample::default());
        let pages = snapshots.finish(u64::MAX);
        let versions = &pages[0].versions;
        assert_eq!(versions.len(), 3);
        assert!(versions.iter().all(|(_, fragments)| fragments.len() <= MOST));
        let wrong = (versions[1].1.distance(&versions[2].1) - whole[1].distance(&whole[2])).abs();
        // The first version has a few dozen fragments below the bound, by which the worst pair is told.
        let error = 0.5 / (versions[1].1.len() as f64).sqrt();
        assert!(wrong < 2.0 * error && error < 0.016 && pages[0].error >= error, "{wrong} {error} {}", pages[0].error);
        assert_eq!(pages[0].share, 1.0 / 32.0);
    }
}
