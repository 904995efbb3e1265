use everfresh::longevity::{Cut, Fragments, Generator, Regions, Sketch};
use everfresh::{Period, Result};
use rand_xoshiro::SplitMix64;

/// Lines of a page.
const LINES: usize = 40;

/// Fragments that a visit sees of a page, at most: those with the least hashes, as a sketch keeps them.
const SEEN: usize = 64;

/// A page that is a text (OP08 section 3.3, written out), and its copy.
///
/// What counts is how the fragments of both texts differ; what a visit sees of them is a sketch.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    page: Generator<SplitMix64>,
    next_s: f64,
    now: Fragments,
    copy: Fragments,
    /// What the next change has to wait for; never where the page cannot go on.
    wait: Period,
}

impl Written {
    pub(crate) fn new(regions: &Regions, born_s: f64, rng: SplitMix64) -> Result<Written> {
        let page = Generator::new(regions, LINES, rng)?;
        let now = Fragments::of(&page.text(), Cut::EIGHT_WORDS);
        let wait = page.next_change();
        Ok(Written { page, next_s: born_s + wait.seconds(), copy: now.clone(), now, wait })
    }

    pub(crate) const fn next_s(&self) -> f64 {
        self.next_s
    }

    pub(crate) fn change(&mut self) {
        self.wait = self.page.advance(self.wait).map_or(Period::NEVER, |_| self.page.next_change());
        self.next_s += self.wait.seconds();
        self.now = Fragments::of(&self.page.text(), Cut::EIGHT_WORDS);
    }

    pub(crate) fn copy(&mut self) {
        self.copy.clone_from(&self.now);
    }

    pub(crate) fn divergence(&self) -> f64 {
        self.now.distance(&self.copy)
    }

    /// The divergence as sketches of both tell it.
    pub(crate) fn seen_divergence(&self) -> f64 {
        let sketch = |fragments: &Fragments| Sketch::from_fragments(fragments, SEEN);
        let both = sketch(&self.now).and_then(|now| Ok(now.distance(&sketch(&self.copy)?)));
        both.map_or_else(|_| self.divergence(), |seen| seen.value)
    }

    pub(crate) fn fragments(&self) -> &[u64] {
        let hashes = self.now.hashes();
        &hashes[..hashes.len().min(SEEN)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everfresh::curve::DivergenceCurve;
    use everfresh::longevity::Region;
    use everfresh::{Rate, Unit};
    use rand::SeedableRng;

    /// Over many pages the divergence of texts follows the curve of the model, but for fragments that reach over the edge of
    /// an item: with items of whole lines of eight words, and fragments of eight, up to 7/8 of the item's own on each side.
    #[test]
    fn texts_diverge_as_their_model_says() {
        let rate = Rate::per(1.0, Unit::Day).unwrap();
        let regions = Regions::new(&[Region::churn(0.5, rate).unwrap()]).unwrap();
        let mut sum = 0.0;
        for seed in 0..200 {
            let mut page = Written::new(&regions, 0.0, SplitMix64::seed_from_u64(seed)).unwrap();
            while page.next_s() <= 86_400.0 {
                page.change();
            }
            assert!((page.seen_divergence() - page.divergence()).abs() < 0.35);
            sum += page.divergence();
        }
        let expected = regions.divergence(Period::of(1.0, Unit::Day).unwrap());
        assert!((sum / 200.0 - expected).abs() < 0.07, "{} {expected}", sum / 200.0);
    }
}
