use super::fragment::{Cut, Shingler, Sink};
use crate::error::{Error, Result, magnitude};
use crate::numeric::spread;

/// The set of a page version's fragments, exactly: `F(P)` of OP08 equation 3.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragments {
    /// Sorted, each once.
    hashes: Vec<u64>,
}

impl Fragments {
    /// The fragments of a text.
    pub fn of(text: &str, cut: Cut) -> Self {
        let mut shingler = Shingler::new(cut, Vec::new());
        shingler.push(text);
        Fragments::from_hashes(shingler.finish())
    }

    /// The set of fragments that a [`Shingler`] found, in any order and with repetitions.
    pub fn from_hashes(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        Fragments { hashes }
    }

    /// The set of things that others named by numbers of any kind: they are spread evenly first, one to one.
    pub fn from_names(names: impl IntoIterator<Item = u64>) -> Self {
        Fragments::from_hashes(names.into_iter().map(spread).collect())
    }

    /// The hashes of the fragments, in order.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Has the page no word?
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Is this one of them?
    pub fn contains(&self, fragment: u64) -> bool {
        self.hashes.binary_search(&fragment).is_ok()
    }

    /// The Jaccard distance, `1 - |A ∩ B| / |A ∪ B|` (OP08 equation 3): 0 to 1.
    ///
    /// Two empty pages do not differ (0); an empty page and another differ wholly (1).
    ///
    /// ```
    /// use everfresh::longevity::{Cut, Fragments};
    /// let cut = Cut::words(1)?;
    /// let before = Fragments::of("soup salad bread", cut);
    /// let after = Fragments::of("Soup, salad, fish!", cut);
    /// assert_eq!(before.distance(&after), 0.5); // two of four words are on both menus
    /// assert_eq!(before.distance(&Fragments::default()), 1.0);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn distance(&self, other: &Fragments) -> f64 {
        jaccard_distance(&self.hashes, &other.hashes)
    }
}

/// The Jaccard distance of two sets given as rising sequences (OP08 equation 3); two empty sets do not differ.
pub fn jaccard_distance(left: &[u64], right: &[u64]) -> f64 {
    let (mut differ, mut either) = (0_u64, 0_u64);
    for (_, left, right) in union(left.iter().copied(), right.iter().copied()) {
        differ += u64::from(left != right);
        either += 1;
    }
    if either == 0 { 0.0 } else { differ as f64 / either as f64 }
}

/// The union of two rising sequences, in order, with which of the two has each.
fn union<T: Ord + Copy>(
    left: impl Iterator<Item = T>,
    right: impl Iterator<Item = T>,
) -> impl Iterator<Item = (T, bool, bool)> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || {
        let least = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => *a.min(b),
            (Some(one), None) | (None, Some(one)) => *one,
            (None, None) => return None,
        };
        Some((least, left.next_if_eq(&least).is_some(), right.next_if_eq(&least).is_some()))
    })
}

/// A set of fragments of which some matter more than others (OP08 footnote 1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weighted {
    /// Sorted by fragment, each once, weights positive and finite.
    parts: Vec<(u64, f64)>,
}

impl Weighted {
    /// Each fragment with the weight that `weight` gives it: 0, and then it does not count, or between 1e-20 and 1e20.
    pub fn new(fragments: &Fragments, weight: impl Fn(u64) -> f64) -> Result<Self> {
        Weighted::from_pairs(fragments.hashes.iter().map(|fragment| (*fragment, weight(*fragment))))
    }

    /// Fragments with weights; of a fragment that comes more than once the greatest counts.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (u64, f64)>) -> Result<Self> {
        let mut parts = Vec::new();
        for (fragment, weight) in pairs {
            if weight != 0.0 {
                parts.push((fragment, magnitude("weight of a fragment", weight)?));
            }
        }
        parts.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        parts.dedup_by_key(|part| part.0);
        Ok(Weighted { parts })
    }

    /// `1 - Σ min(a, b) / Σ max(a, b)` over all fragments, a and b being their weights on either side: 0 to 1.
    ///
    /// The Jaccard distance where all weights are the same; two empty sets do not differ.
    ///
    /// ```
    /// use everfresh::longevity::Weighted;
    /// let before = Weighted::from_pairs([(1, 3.0), (2, 1.0)])?;
    /// let after = Weighted::from_pairs([(1, 3.0), (5, 1.0)])?;
    /// assert_eq!(before.distance(&after), 0.4); // the heavy fragment stayed: 1 - 3/5, not 1 - 1/3
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn distance(&self, other: &Weighted) -> f64 {
        let (mut shared, mut either) = (0.0, 0.0);
        let (mut left, mut right) = (self.parts.iter().peekable(), other.parts.iter().peekable());
        while let Some(fragment) = [left.peek(), right.peek()].into_iter().flatten().map(|part| part.0).min() {
            let weight = |part: Option<&(u64, f64)>| part.map_or(0.0, |part| part.1);
            let a = weight(left.next_if(|part| part.0 == fragment));
            let b = weight(right.next_if(|part| part.0 == fragment));
            shared += a.min(b);
            either += a.max(b);
        }
        if either == 0.0 { 0.0 } else { 1.0 - shared / either }
    }
}

/// The m fragments of a page version whose hashes are least, of four bytes each (OP08 section 5.2).
///
/// Of 64 bits a hash keeps the place of its highest bit and the 26 behind it, which keeps the order: small hashes, which
/// sketches of long pages are made of, are told apart as well as large ones. Two fragments are mistaken for each other with a
/// probability of about `m 2^-26`.
///
/// A page with fewer than m fragments is kept whole, and distances between two such pages are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// Sorted, each once, at most `most`.
    kept: Box<[u32]>,
    most: u32,
}

/// A number that was estimated, with its standard error; 0 where it is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// The estimate.
    pub value: f64,
    /// The root of the mean squared error that is expected.
    pub standard_error: f64,
}

/// The sketch of an empty page, which would keep one fragment.
impl Default for Sketch {
    fn default() -> Self {
        Sketch { kept: Box::default(), most: 1 }
    }
}

impl Sketch {
    /// The most fragments that a sketch can keep.
    pub const MOST: usize = 4096;

    /// The sketch of a text, of at most `m` fragments, 1 to 4096.
    pub fn of(text: &str, cut: Cut, m: usize) -> Result<Self> {
        let mut shingler = Shingler::new(cut, Sketcher::new(m)?);
        shingler.push(text);
        Ok(shingler.finish().finish())
    }

    /// The sketch of a set of fragments.
    pub fn from_fragments(fragments: &Fragments, m: usize) -> Result<Self> {
        let mut sketcher = Sketcher::new(m)?;
        fragments.hashes.iter().take(sketcher.spare).for_each(|hash| sketcher.gathered.push(*hash));
        Ok(sketcher.finish())
    }

    /// From stored parts, if they are what a sketch can be: at most `most` numbers, rising, `most` being 1 to 4096.
    ///
    /// ```
    /// use everfresh::longevity::{Cut, Sketch};
    /// let page = Sketch::of("soup salad bread", Cut::words(1)?, 8)?;
    /// assert_eq!(Sketch::from_parts(page.kept().to_vec(), 8), Some(page));
    /// assert_eq!(Sketch::from_parts(vec![2, 1], 8), None);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn from_parts(kept: Vec<u32>, most: u32) -> Option<Self> {
        let is_legal =
            most > 0 && most as usize <= Sketch::MOST && kept.len() <= most as usize && kept.is_sorted_by(|a, b| a < b);
        is_legal.then(|| Sketch { kept: kept.into(), most })
    }

    /// What is kept of the fragments, in order: with [`Sketch::most`] all that is to be stored.
    pub fn kept(&self) -> &[u32] {
        &self.kept
    }

    /// The same page with at most `m` fragments kept.
    pub(super) fn shortened(&self, m: usize) -> Sketch {
        let most = u32::try_from(m).map_or(self.most, |m| self.most.min(m));
        Sketch { kept: self.kept.iter().take(most as usize).copied().collect(), most }
    }

    /// The number m: how many fragments it may keep.
    pub const fn most(&self) -> usize {
        self.most as usize
    }

    /// How many fragments it keeps.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Has the page no word?
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Are these all the fragments there are?
    pub fn is_whole(&self) -> bool {
        self.kept.len() < self.most()
    }

    /// The sketch of both pages together, as if it had been taken of the union of their fragments; m is the smaller one.
    #[must_use]
    pub fn union(&self, other: &Sketch) -> Sketch {
        let most = self.most.min(other.most);
        let both = union(self.kept.iter().copied(), other.kept.iter().copied());
        Sketch { kept: both.map(|(hash, ..)| hash).take(most as usize).collect(), most }
    }

    /// The Jaccard distance between the two pages, estimated without bias (Broder and others, 1997).
    ///
    /// The m least of the union are a sample of it without replacement, in which the share that only one page has is counted.
    /// The error is that of such a sample, `sqrt(J(1-J)/m (u-m)/(u-1))` with u the size of the union; for J stands
    /// `(x+1)/(m+2)`, x being what was counted, so that a sample in which nothing differs is not taken for certainty. m is
    /// the smaller of the two. Two empty pages do not differ; an empty page and another differ wholly.
    ///
    /// ```
    /// use everfresh::longevity::{Cut, Sketch};
    /// let sketch = |text: &str| Sketch::of(text, Cut::words(1).unwrap(), 8);
    /// let found = sketch("one two three four")?.distance(&sketch("two three four five")?);
    /// assert_eq!((found.value, found.standard_error), (0.4, 0.0)); // fewer than 8 words: exact
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn distance(&self, other: &Sketch) -> Estimated {
        let most = if self.is_whole() && other.is_whole() { usize::MAX } else { self.most().min(other.most()) };
        let (mut differ, mut seen) = (0_u32, 0_u32);
        for (_, left, right) in union(self.kept.iter().copied(), other.kept.iter().copied()).take(most) {
            differ += u32::from(left != right);
            seen += 1;
        }
        let value = if seen == 0 { 0.0 } else { f64::from(differ) / f64::from(seen) };
        if most == usize::MAX || self.is_empty() || other.is_empty() {
            return Estimated { value, standard_error: 0.0 };
        }
        let (x, m) = (f64::from(differ), f64::from(seen));
        let all = self.union(other).cardinality().value.max(m + 1.0);
        let share = (x + 1.0) / (m + 2.0);
        let squared = share * (1.0 - share) / m * (all - m) / (all - 1.0);
        Estimated { value, standard_error: squared.sqrt() }
    }

    /// How many fragments the page has, estimated without bias: `(m-1)/x`, x the m-th least hash as a share of all numbers.
    ///
    /// The error is the estimate over `sqrt(m-2)` (Bar-Yossef and others, 2002); of m = 1 or 2 there is none to be had, and it is infinite.
    pub fn cardinality(&self) -> Estimated {
        let (m, Some(&last)) = (self.kept.len() as f64, self.kept.last()) else {
            return Estimated { value: 0.0, standard_error: 0.0 };
        };
        if self.is_whole() {
            return Estimated { value: m, standard_error: 0.0 };
        }
        if self.most == 1 {
            return Estimated { value: 1.0 / expand(last), standard_error: f64::INFINITY };
        }
        let value = ((m - 1.0) / expand(last)).max(m);
        Estimated { value, standard_error: if m > 2.0 { value / (m - 2.0).sqrt() } else { f64::INFINITY } }
    }
}

/// Takes fragments as they come and keeps the m least, in memory for about 2m.
#[derive(Clone, Debug)]
pub struct Sketcher {
    most: usize,
    /// A few more than m: two hashes may become the same when they are shortened.
    spare: usize,
    /// Unsorted, with repetitions, all below `below`.
    gathered: Vec<u64>,
    /// What is not less than this is not among the m least.
    below: u64,
}

impl Sketcher {
    /// Of at most `m` fragments, 1 to 4096.
    pub fn new(m: usize) -> Result<Self> {
        if m == 0 || m > Sketch::MOST {
            let (what, bound) = ("number of fragments of a sketch", "between 1 and 4096");
            return Err(Error::OutOfBounds { what, bound, value: m as f64 });
        }
        let spare = m + 2 + m / 64;
        Ok(Sketcher { most: m, spare, gathered: Vec::with_capacity(2 * spare), below: u64::MAX })
    }

    /// The sketch of all that was taken.
    pub fn finish(mut self) -> Sketch {
        self.settle();
        let mut kept: Vec<u32> = self.gathered.iter().map(|hash| compact(*hash)).collect();
        kept.dedup();
        kept.truncate(self.most);
        #[expect(clippy::cast_possible_truncation, reason = "at most 4096")]
        let most = self.most as u32;
        Sketch { kept: kept.into(), most }
    }

    /// Sorts what was gathered and drops what is not among the least.
    fn settle(&mut self) {
        self.gathered.sort_unstable();
        self.gathered.dedup();
        self.gathered.truncate(self.spare);
        if self.gathered.len() == self.spare {
            self.below = self.gathered.last().copied().unwrap_or(u64::MAX);
        }
    }
}

impl Sink for Sketcher {
    #[inline(always)]
    fn take(&mut self, fragment: u64) {
        if fragment < self.below {
            self.gathered.push(fragment);
            if self.gathered.len() == 2 * self.spare {
                self.settle();
            }
        }
    }
}

/// The place of the highest bit and the 26 bits behind it.
fn compact(hash: u64) -> u32 {
    let hash = hash | 1;
    let zeros = hash.leading_zeros();
    let behind = ((hash << zeros << 1) >> 38) as u32;
    (63 - zeros) << 26 | behind
}

/// The hash that was shortened as a share of all numbers: the middle of those it may have been.
fn expand(kept: u32) -> f64 {
    let behind = f64::from(kept & ((1 << 26) - 1));
    (1.0 + (behind + 0.5) / f64::from(1 << 26)) * (f64::from(kept >> 26) - 64.0).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_hashes_keep_their_order_and_their_size() {
        let hashes = [0, 1, 2, 3, 7, 1 << 26, (1 << 27) - 1, 1 << 40, u64::MAX / 3, u64::MAX / 2, u64::MAX];
        assert!(hashes.map(compact).is_sorted());
        // Rounding costs 7.5e-9, and the last bit, which is always set, 1.5e-8 of the least of these.
        for hash in &hashes[5..] {
            let share = *hash as f64 / 2f64.powi(64);
            assert!((expand(compact(*hash)) / share - 1.0).abs() < 3e-8, "{hash}");
        }
    }

    #[test]
    fn a_sketcher_needs_memory_for_its_sketch_only() {
        let mut sketcher = Sketcher::new(8).unwrap();
        for name in 0..1_000_000 {
            sketcher.take(spread(name));
        }
        assert!(sketcher.gathered.capacity() <= 22);
        assert_eq!(sketcher.finish(), Sketch::from_fragments(&Fragments::from_names(0..1_000_000), 8).unwrap());
    }
}
