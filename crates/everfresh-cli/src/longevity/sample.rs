//! The fragments of a text of any length in bounded memory: all of them, or of many an even sample.

use everfresh::longevity::{Cut, Fragments, Shingler, Sink};

/// Fragments of a version that are kept at most; of more, those with the least hashes, the same for all versions of a page.
pub(super) const MOST: usize = 2048;

/// The fragments of a version whose hashes are below a bound.
#[derive(Default)]
pub(super) struct Sample {
    pub fragments: Fragments,
    /// Hashes from here up were left out: a power of two, nothing where none was.
    pub below: Option<u64>,
}

/// The bound with half as many below it.
pub(super) fn halved(below: Option<u64>) -> u64 {
    below.map_or(1 << 63, |below| below / 2)
}

impl Sample {
    /// That of a text which is there whole.
    pub(super) fn of(text: &str, cut: Cut) -> Sample {
        let mut shingler = Sampler::shingler(cut);
        shingler.push(text);
        shingler.finish().finish()
    }
}

/// Takes fragments as they come, and keeps fewer than twice [`MOST`].
pub(super) struct Sampler {
    /// Unsorted, with repetitions, all below the bound.
    gathered: Vec<u64>,
    below: Option<u64>,
}

impl Sampler {
    /// Cuts a text that comes in pieces.
    pub(super) fn shingler(cut: Cut) -> Shingler<Sampler> {
        Shingler::new(cut, Sampler { gathered: Vec::new(), below: None })
    }

    pub(super) fn finish(mut self) -> Sample {
        self.settle();
        Sample { fragments: Fragments::from_hashes(self.gathered), below: self.below }
    }

    /// Drops repetitions, and halves the bound until few enough are below it.
    #[cold]
    fn settle(&mut self) {
        self.gathered.sort_unstable();
        self.gathered.dedup();
        while self.gathered.len() > MOST {
            let below = halved(self.below);
            self.gathered.truncate(self.gathered.partition_point(|hash| *hash < below));
            self.below = Some(below);
        }
    }
}

impl Sink for Sampler {
    #[inline]
    fn take(&mut self, fragment: u64) {
        if self.below.is_none_or(|below| fragment < below) {
            self.gathered.push(fragment);
            if self.gathered.len() == 2 * MOST {
                self.settle();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As from the whole set, the bound halved until few enough are left.
    #[test]
    fn a_sample_is_that_of_the_whole() {
        for words in [0, 1, 2047, 2048, 2049, 5000, 100_000] {
            let text = (0..words).map(|word| format!("w{} ", word % 70_000)).collect::<Vec<_>>().concat();
            let cut = Cut::words(1).unwrap();
            let (sample, whole) = (Sample::of(&text, cut), Fragments::of(&text, cut));
            let is_below = |hash: &&u64| sample.below.is_none_or(|below| **hash < below);
            let kept: Vec<u64> = whole.hashes().iter().filter(is_below).copied().collect();
            assert_eq!(sample.fragments.hashes(), kept);
            assert_eq!(sample.below.is_some(), whole.len() > MOST);
            let twice = |below: u64| whole.hashes().iter().filter(|hash| **hash / 2 < below).count();
            assert!(kept.len() <= MOST && sample.below.is_none_or(|below| twice(below) > MOST));
        }
    }
}
