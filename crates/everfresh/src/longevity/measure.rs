use super::points::Point;
use super::sketch::Fragments;
use crate::error::{Error, Result, within};
use crate::units::Period;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// The versions of a page as somebody saw them, in order of time: what OP08 section 3 measures.
///
/// ```
/// use everfresh::longevity::{Class, Cut, Fragments, History};
/// let cut = Cut::words(1)?;
/// // A template, and a list of two items of which the newest stands first.
/// let texts = ["menu b a", "menu c b", "menu d c", "menu e d", "menu f e"];
/// let versions = (0_u64..).zip(texts).map(|(day, text)| (day * 86_400, Fragments::of(text, cut)));
/// let history = History::new(versions.collect())?;
/// assert_eq!(history.change_frequency(), Some(1.0));
/// assert_eq!(history.longevity(), Some(2.0)); // c, d and e: two versions each
/// assert_eq!(history.makeup().class, Class::Scroll { items: 2 });
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    versions: Vec<(u64, Fragments)>,
    /// For each version how many changes there were up to it.
    changes: Vec<u32>,
    /// In order of their beginnings.
    spells: Vec<Spell>,
}

/// A fragment's stay on a page: the versions in a row that have it. One that comes back has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spell {
    /// The first version that has it, counted from 0.
    pub first: usize,
    /// The last version in a row that has it.
    pub last: usize,
    /// The fragment.
    pub fragment: u64,
}

/// How long a spell was, as far as it can be known from versions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lifetime {
    /// Beginning and end were seen: from the middle between two versions to the middle between two others.
    Seen(Period),
    /// It was there in the first or in the last version, so that it was longer than this.
    LongerThan(Period),
}

/// What a page does, by the larger part of what changes on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// No version differs from the one before.
    Static,
    /// Most of what changes is gone with the next change.
    Churn,
    /// Most of what changes survives a change: a list of this many items (K).
    Scroll {
        /// The median number of changes of the list that a fragment of it lives through, its end included.
        items: u32,
    },
}

/// Of what a page is made, as shares of its fragments over time that sum to 1 (0 for a page that is always empty).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Makeup {
    /// What stayed from the first version to the last.
    pub static_share: f64,
    /// What was gone with the next change (K = 1).
    pub churn_share: f64,
    /// What survived changes and left (K > 1).
    pub scroll_share: f64,
    /// How many lives of fragments, seen from beginning to end, the next change ended (K = 1).
    pub churn_lives: u64,
    /// How many survived a change (K > 1). OP08 section 3.3.2 has 67 of the first for 33 of these.
    pub scroll_lives: u64,
    /// The most frequent K among fragments whose beginning and end were seen, in page changes (OP08 section 3.3.1).
    pub dominant_k: Option<u32>,
    /// What this makes of the page.
    pub class: Class,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Static,
    Churn,
    Scroll,
    Undecided,
}

impl History {
    /// Versions with the second at which each was seen, at least one, times rising.
    pub fn new(versions: Vec<(u64, Fragments)>) -> Result<Self> {
        if versions.is_empty() {
            return Err(Error::Empty("a history must have at least one version"));
        }
        if let Some([a, b]) = versions.array_windows().find(|[a, b]| a.0 >= b.0) {
            let message = format!("times of a history must rise, got {} s after {} s", b.0, a.0);
            return Err(Error::Inconsistent(message));
        }
        let mut changes = vec![0];
        for [before, after] in versions.array_windows() {
            changes.push(changes[changes.len() - 1] + u32::from(before.1 != after.1));
        }
        let spells = spells(&versions);
        Ok(History { versions, changes, spells })
    }

    /// The versions with their times.
    pub fn versions(&self) -> &[(u64, Fragments)] {
        &self.versions
    }

    /// From the first version to the last.
    pub fn span(&self) -> Period {
        self.between(0, self.versions.len() - 1)
    }

    /// How many versions differ from the one before.
    pub fn changes(&self) -> u32 {
        self.changes[self.versions.len() - 1]
    }

    /// The share of versions that differ from the one before (OP08 section 3.2); nothing of a single version.
    pub fn change_frequency(&self) -> Option<f64> {
        let pairs = self.versions.len() - 1;
        (pairs > 0).then(|| f64::from(self.changes()) / pairs as f64)
    }

    /// The stays of all fragments, in order of their beginnings (OP08 figure 1).
    pub fn spells(&self) -> &[Spell] {
        &self.spells
    }

    /// Was a spell there in the first or the last version, so that its lifetime is not known?
    pub fn is_censored(&self, spell: &Spell) -> bool {
        let spell = self.own(spell);
        spell.first == 0 || self.goes_on(&spell)
    }

    fn goes_on(&self, spell: &Spell) -> bool {
        spell.last + 1 == self.versions.len()
    }

    /// How long a spell was.
    pub fn lifetime(&self, spell: &Spell) -> Lifetime {
        let spell = &self.own(spell);
        let middle = |before: usize, after: usize| {
            let [a, b] = [self.versions[before].0, self.versions[after].0];
            a as f64 + (b - a) as f64 / 2.0
        };
        let born = if spell.first == 0 { self.versions[0].0 as f64 } else { middle(spell.first - 1, spell.first) };
        let end =
            if self.goes_on(spell) { self.versions[spell.last].0 as f64 } else { middle(spell.last, spell.last + 1) };
        let period = Period::raw((end - born).max(0.0));
        if self.is_censored(spell) { Lifetime::LongerThan(period) } else { Lifetime::Seen(period) }
    }

    /// The mean number of versions in a row that have a fragment, over those whose beginning and end were seen (OP08 section
    /// 3.2, the horizontal axis of figure 3). Short lives are over-represented: long ones are rarely seen whole.
    pub fn longevity(&self) -> Option<f64> {
        let whole: Vec<f64> = self.whole().map(|spell| (spell.last + 1 - spell.first) as f64).collect();
        (!whole.is_empty()).then(|| whole.iter().sum::<f64>() / whole.len() as f64)
    }

    fn whole(&self) -> impl Iterator<Item = &Spell> {
        self.spells.iter().filter(|spell| !self.is_censored(spell))
    }

    /// The median lifetime of the fragments whose beginning was seen; those that live still count as living (Kaplan and Meier
    /// 1958). Nothing when fewer than half are known to have ended.
    pub fn median_lifetime(&self) -> Option<Period> {
        let mut lives: Vec<(f64, bool)> = Vec::new();
        for spell in self.spells.iter().filter(|spell| spell.first > 0) {
            lives.push(match self.lifetime(spell) {
                Lifetime::Seen(period) => (period.seconds(), true),
                Lifetime::LongerThan(period) => (period.seconds(), false),
            });
        }
        // Of the same length the ended come first: who is still alive then was at risk.
        lives.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut surviving = 1.0;
        for (at, (seconds, ended)) in lives.iter().enumerate() {
            if *ended {
                let at_risk = (lives.len() - at) as f64;
                surviving *= 1.0 - 1.0 / at_risk;
            }
            // A rounding below one half is still a half.
            if surviving <= 0.5 + 1e-12 {
                return Some(Period::raw(*seconds));
            }
        }
        None
    }

    /// How many changes of the page a spell is known to have survived.
    pub fn survived(&self, spell: &Spell) -> u32 {
        let spell = self.own(spell);
        self.changes[spell.last] - self.changes[spell.first]
    }

    /// A spell of this history; one of another is put inside its bounds.
    fn own(&self, spell: &Spell) -> Spell {
        let last = spell.last.min(self.versions.len() - 1);
        Spell { first: spell.first.min(last), last, ..*spell }
    }

    /// K of a spell: how many changes of the page it took until it was gone (OP08 section 3.3.1); 1 if the first one did.
    /// Nothing where beginning or end were not seen.
    pub fn k(&self, spell: &Spell) -> Option<u32> {
        let spell = &self.own(spell);
        (!self.is_censored(spell)).then(|| self.changes[spell.last + 1] - self.changes[spell.first])
    }

    /// Of what the page is made.
    ///
    /// A fragment that is always there is static; of the others those that the next change removed churn, those that survived a
    /// change scroll. Fragments that were there at the beginning or the end are judged by the changes that they are known to have
    /// survived; where that is none, they count in proportion to the rest. A version counts for the time from the middle
    /// before it to the middle behind it. K of a list is counted in changes of the list alone (versions in which something that scrolls
    /// is new), so that an advertisement which changes at every visit does not lengthen it; of several items that were
    /// new at once K counts the batch.
    pub fn makeup(&self) -> Makeup {
        let (mut shares, mut undecided) = ([0.0; 3], 0.0);
        let weights = self.weights();
        for spell in &self.spells {
            let weight = weights[spell.last + 1] - weights[spell.first];
            match self.kind(spell) {
                Kind::Static => shares[0] += weight,
                Kind::Churn => shares[1] += weight,
                Kind::Scroll => shares[2] += weight,
                Kind::Undecided => undecided += weight,
            }
        }
        let moving: f64 = shares[1] + shares[2];
        // With nothing decided, gone at the first change that could be seen is churn.
        let lean = if moving > 0.0 { shares[2] / moving } else { 0.0 };
        shares[1] += undecided * (1.0 - lean);
        shares[2] += undecided * lean;
        let all: f64 = shares.iter().sum();
        let [static_share, churn_share, scroll_share] = shares.map(|share| if all > 0.0 { share / all } else { 0.0 });
        let class = if self.changes() == 0 {
            Class::Static
        } else if scroll_share > churn_share {
            Class::Scroll { items: self.list_length() }
        } else {
            Class::Churn
        };
        let lives = |kind: Kind| self.whole().filter(|spell| self.kind(spell) == kind).count() as u64;
        let (churn_lives, scroll_lives) = (lives(Kind::Churn), lives(Kind::Scroll));
        let dominant_k = self.dominant_k();
        Makeup { static_share, churn_share, scroll_share, churn_lives, scroll_lives, dominant_k, class }
    }

    /// The sums of the versions' weights: each counts for the time around it.
    fn weights(&self) -> Vec<f64> {
        let last = self.versions.len() - 1;
        let weight = |at: usize| {
            let (before, after) = (self.versions[at.saturating_sub(1)].0, self.versions[(at + 1).min(last)].0);
            if last == 0 { 1.0 } else { (after - before) as f64 / 2.0 }
        };
        let mut sums = vec![0.0];
        for at in 0..=last {
            sums.push(sums[at] + weight(at));
        }
        sums
    }

    fn kind(&self, spell: &Spell) -> Kind {
        match (spell.first == 0, self.goes_on(spell)) {
            (true, true) => Kind::Static,
            _ if self.survived(spell) > 0 => Kind::Scroll,
            (false, false) => Kind::Churn,
            _ => Kind::Undecided,
        }
    }

    fn dominant_k(&self) -> Option<u32> {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for k in self.whole().filter_map(|spell| self.k(spell)) {
            *counts.entry(k).or_default() += 1;
        }
        // Of two that are as frequent, the smaller.
        counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(k, _)| k)
    }

    fn scrolling(&self) -> impl Iterator<Item = &Spell> {
        self.spells.iter().filter(|spell| self.kind(spell) == Kind::Scroll)
    }

    /// For each version how many changes of the list there were up to it: versions in which something that scrolls is new.
    fn list_changes(&self) -> Vec<u32> {
        let mut is_change = vec![false; self.versions.len()];
        self.scrolling().filter(|spell| spell.first > 0).for_each(|spell| is_change[spell.first] = true);
        let mut changes = 0;
        let so_far = |is_change| {
            changes += u32::from(is_change);
            changes
        };
        is_change.into_iter().map(so_far).collect()
    }

    /// The median K of what scrolls, in changes of the list; the most that was survived where no whole life was seen.
    fn list_length(&self) -> u32 {
        let changes = self.list_changes();
        let whole = self.scrolling().filter(|spell| !self.is_censored(spell));
        let mut lengths: Vec<u32> = whole.map(|spell| changes[spell.last + 1] - changes[spell.first]).collect();
        lengths.sort_unstable();
        let seen = lengths.get(lengths.len() / 2).copied();
        let survived = || self.scrolling().map(|spell| changes[spell.last] - changes[spell.first]).max();
        seen.or_else(survived).unwrap_or(1).max(2)
    }

    fn divergence(&self, base: usize, other: usize) -> f64 {
        self.versions[base].1.distance(&self.versions[other].1)
    }

    /// How early between two versions changes come, from 0 to 1: the mean of `D(0,1)/D(0,2)` over three versions in a row
    /// (OP08 appendix B). High where content turns over quickly. Nothing where no three versions differ.
    pub fn eagerness(&self) -> Option<f64> {
        let mut ratios = Vec::new();
        for [a, b, c] in self.versions.array_windows() {
            let whole = a.1.distance(&c.1);
            if whole > 0.0 {
                ratios.push((a.1.distance(&b.1) / whole).min(1.0));
            }
        }
        (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
    }

    /// The divergence from version `base` at a time between versions (OP08 appendix B): of the two around it
    /// `(1 - E) D(before) + E D(after)` with the eagerness E. At a version its own; after the last version that of the last.
    ///
    /// ```
    /// use everfresh::longevity::{Fragments, History};
    /// let set = |names: &[u64]| Fragments::from_names(names.iter().copied());
    /// let history = History::new(vec![(0, set(&[1, 2])), (10, set(&[1, 3])), (20, set(&[4, 3]))])?;
    /// let e = history.eagerness().unwrap();
    /// assert!((e - 2.0 / 3.0).abs() < 1e-12); // D(0,1) = 2/3, D(0,2) = 1
    /// assert!((history.divergence_at(0, 15, e)? - (2.0 / 9.0 + 2.0 / 3.0)).abs() < 1e-12);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn divergence_at(&self, base: usize, time_s: u64, eagerness: f64) -> Result<f64> {
        let (zero, one) = (Bound::Included(0.0), Bound::Included(1.0));
        within("eagerness", eagerness, zero, one, "between 0 and 1")?;
        let Some((base_time, _)) = self.versions.get(base) else {
            let (what, bound) = ("number of a version", "below the number of versions");
            return Err(Error::OutOfBounds { what, bound, value: base as f64 });
        };
        if time_s < *base_time {
            let message = format!("time must not be before the base version at {base_time} s, got {time_s} s");
            return Err(Error::Inconsistent(message));
        }
        let next = self.versions.partition_point(|(time, _)| *time <= time_s);
        let before = self.divergence(base, next - 1);
        if self.versions[next - 1].0 == time_s || next == self.versions.len() {
            return Ok(before);
        }
        Ok((1.0 - eagerness) * before + eagerness * self.divergence(base, next))
    }

    /// Change profiles out of the whole history (OP08 section 4.1): from up to `most` bases, spread evenly, the divergence at up to `points`
    /// later versions each, the nearest and then in steps that grow.
    ///
    /// [`combine`](super::combine) makes one of them: for regular versions the mean divergence at every separation, which is
    /// what FS-S goes by (section 3.4). A history of one version has none.
    pub fn profiles(&self, most: usize, points: usize) -> Vec<Vec<Point>> {
        let last = self.versions.len() - 1;
        let bases = most.min(last);
        let profile = |number: usize| {
            let base = number * last / bases;
            steps(last - base, points).filter_map(|step| self.point(base, base + step)).collect()
        };
        (0..bases).map(profile).collect()
    }

    fn point(&self, base: usize, other: usize) -> Option<Point> {
        Point::new(self.between(base, other), self.divergence(base, other)).ok()
    }

    fn between(&self, first: usize, last: usize) -> Period {
        Period::raw((self.versions[last].0 - self.versions[first].0) as f64)
    }
}

/// Up to `count` numbers from 1 to `last`: all of them if there are no more, else in steps that grow.
fn steps(last: usize, count: usize) -> impl Iterator<Item = usize> {
    let mut step = 0;
    (1..=count.min(last)).map(move |number| {
        // From here the rest is reached by equal factors, each number at least one further than the last.
        let left = count.min(last) - number;
        let factor = (last as f64 / (step.max(1)) as f64).powf(1.0 / (left as f64 + 1.0));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and last")]
        let next = (step as f64 * factor).round() as usize;
        step = next.clamp(step + 1, last - left).max(if left == 0 { last } else { 0 });
        step
    })
}

/// The stays of all fragments, in order of their beginnings.
fn spells(versions: &[(u64, Fragments)]) -> Vec<Spell> {
    let mut open: HashMap<u64, usize> = HashMap::new();
    let mut spells = Vec::new();
    for (at, (_, fragments)) in versions.iter().enumerate() {
        if at > 0 {
            // Nothing comes or goes, as for most versions of most pages.
            if versions[at - 1].1 == *fragments {
                continue;
            }
            for fragment in versions[at - 1].1.hashes().iter().filter(|fragment| !fragments.contains(**fragment)) {
                if let Some(first) = open.remove(fragment) {
                    spells.push(Spell { first, last: at - 1, fragment: *fragment });
                }
            }
        }
        for fragment in fragments.hashes() {
            open.entry(*fragment).or_insert(at);
        }
    }
    let last = versions.len() - 1;
    spells.extend(open.into_iter().map(|(fragment, first)| Spell { first, last, fragment }));
    spells.sort_unstable();
    spells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_and_reach_the_end() {
        assert_eq!(steps(4, 9).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(steps(1000, 1).collect::<Vec<_>>(), [1000]);
        let many: Vec<usize> = steps(1000, 12).collect();
        assert!(many.len() == 12 && many[0] == 1 && many[11] == 1000, "{many:?}");
        assert!(many.array_windows().all(|[a, b]| a < b), "{many:?}");
        assert_eq!(steps(0, 5).count(), 0);
    }
}
