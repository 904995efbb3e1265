use everfresh::longevity::jaccard_distance;
use std::sync::Arc;

/// What a page was, revision by revision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// In order of time.
    pub revisions: Vec<Revision>,
    /// Are the fragments of the revisions known? Else a change is a change of everything.
    pub has_fragments: bool,
}

/// A revision: from when on, which content, and how its fragments differ from those before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Revision {
    /// From when on, in seconds from the start of the world.
    pub time_s: f64,
    /// Equal contents have equal numbers; a page may return to an older one.
    pub content: u32,
    /// Hashes of fragments that are new, sorted.
    pub added: Vec<u64>,
    /// Hashes of fragments that are no more, sorted.
    pub removed: Vec<u64>,
    /// Not the page changed but the way it was looked at: a copy that was equal is equal still.
    pub is_reset: bool,
}

impl History {
    /// Changes per second between two times: revisions whose content differs from the one before.
    pub fn rate_between(&self, from_s: f64, to_s: f64) -> f64 {
        let changes = self.revisions.windows(2).filter(|pair| {
            let in_time = pair[1].time_s > from_s && pair[1].time_s <= to_s;
            in_time && pair[0].content != pair[1].content && !pair[1].is_reset
        });
        changes.count() as f64 / (to_s - from_s)
    }
}

/// All revisions of a page with their fragments, to compare any two of them.
pub(crate) struct Versions<'a> {
    history: &'a History,
    fragments: Vec<Vec<u64>>,
    resets: Vec<usize>,
}

impl<'a> Versions<'a> {
    pub(crate) fn of(history: &'a History) -> Versions<'a> {
        let mut now = Vec::new();
        let mut version = |revision: &Revision| {
            take_in(&mut now, revision, history.has_fragments);
            now.clone()
        };
        let fragments = history.revisions.iter().map(&mut version).collect();
        let resets = (1..history.revisions.len()).filter(|at| history.revisions[*at].is_reset).collect();
        Versions { history, fragments, resets }
    }

    /// The fragments of a revision, sorted.
    pub(crate) fn fragments(&self, at: usize) -> &[u64] {
        &self.fragments[at]
    }

    /// The resets after one revision, up to another.
    fn resets_between(&self, base: usize, at: usize) -> impl Iterator<Item = usize> {
        let from = self.resets.partition_point(|reset| *reset <= base);
        self.resets[from..].iter().copied().take_while(move |reset| *reset <= at)
    }

    /// How far a copy of revision `base` is from revision `at`, which is not before it.
    pub(crate) fn divergence(&self, base: usize, at: usize) -> f64 {
        let mut resets = self.resets_between(base, at).peekable();
        if resets.peek().is_none() {
            return jaccard_distance(&self.fragments[at], &self.fragments[base]);
        }
        let mut copy = self.fragments[base].clone();
        for reset in resets {
            take_in(&mut copy, &self.history.revisions[reset], self.history.has_fragments);
        }
        jaccard_distance(&self.fragments[at], &copy)
    }

    /// Is a copy of revision `base` equal to revision `at`?
    pub(crate) fn is_fresh(&self, base: usize, at: usize) -> bool {
        let content = |at: usize| self.history.revisions[at].content;
        let copied = self
            .resets_between(base, at)
            .fold(content(base), |copied, reset| if copied == content(reset - 1) { content(reset) } else { copied });
        copied == content(at)
    }
}

fn take_in(fragments: &mut Vec<u64>, revision: &Revision, has_fragments: bool) {
    if !has_fragments {
        fragments.clear();
        fragments.push(u64::from(revision.content));
        return;
    }
    // All of them are sorted: what goes is met in order.
    let mut removed = revision.removed.iter().peekable();
    if !revision.removed.is_empty() {
        fragments.retain(|fragment| {
            while removed.next_if(|gone| *gone < fragment).is_some() {}
            removed.peek() != Some(&fragment)
        });
    }
    if !revision.added.is_empty() {
        fragments.extend(&revision.added);
        #[expect(clippy::stable_sort_primitive, reason = "it finds the two sorted runs and merges them")]
        fragments.sort();
        fragments.dedup();
    }
}

/// A recorded page as it is replayed, and its copy.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    history: Arc<History>,
    /// The revision that is there now.
    at: usize,
    copied: u32,
    now: Vec<u64>,
    copy: Vec<u64>,
}

impl Replay {
    /// The page at a time, with a copy just made; before its first revision it is as that.
    pub(crate) fn new(history: &Arc<History>, time_s: f64) -> Replay {
        let history = Arc::clone(history);
        let mut replay = Replay { history, at: 0, copied: 0, now: Vec::new(), copy: Vec::new() };
        replay.enter();
        while replay.next_s() <= time_s {
            replay.change();
        }
        replay.copy();
        replay
    }

    pub(crate) fn next_s(&self) -> f64 {
        self.history.revisions.get(self.at + 1).map_or(f64::INFINITY, |revision| revision.time_s)
    }

    pub(crate) fn change(&mut self) {
        self.at += 1;
        self.enter();
    }

    /// Takes in what the revision added and removed.
    fn enter(&mut self) {
        let Some(revision) = self.history.revisions.get(self.at) else { return };
        if revision.is_reset && self.at > 0 {
            if self.copied == self.history.revisions[self.at - 1].content {
                self.copied = revision.content;
            }
            take_in(&mut self.copy, revision, self.history.has_fragments);
        }
        take_in(&mut self.now, revision, self.history.has_fragments);
    }

    fn content(&self) -> u32 {
        self.history.revisions.get(self.at).map_or(0, |revision| revision.content)
    }

    pub(crate) fn copy(&mut self) {
        self.copied = self.content();
        self.copy.clone_from(&self.now);
    }

    pub(crate) fn is_fresh(&self) -> bool {
        self.content() == self.copied
    }

    pub(crate) fn divergence(&self) -> f64 {
        jaccard_distance(&self.now, &self.copy)
    }

    pub(crate) fn fragments(&self) -> &[u64] {
        &self.now
    }
}
