//! The pages of a block that are visited at some price, packed together: as a rule most are given up, and need no answer.
//!
//! Which they are cannot be foreseen, so a branch for each page costs more than what it decides about. Vector instructions move
//! several pages at once, without one.

use fearless_simd::{Simd, SimdBase, SimdMask};

use super::columns::{BLOCK, Columns, One};
use super::rule::Rule;
use crate::error::{LARGEST, SMALLEST};

/// Some pages of a block, in their order.
pub(super) struct Visited {
    rates: [f64; BLOCK],
    weights: [f64; BLOCK],
    places: [f64; BLOCK],
    len: usize,
    /// Which pages they are: bits of as many pages as a vector holds, two at least.
    masks: [u64; BLOCK / 2],
}

/// Pages without weights weigh the same.
const ONES: [f64; BLOCK] = [1.0; BLOCK];

/// The places in a block, as the bits of numbers that can be packed.
const PLACES: [f64; BLOCK] = {
    let mut places = [0.0; BLOCK];
    let mut i = 0;
    while i < BLOCK {
        places[i] = f64::from_bits(i as u64);
        i += 1;
    }
    places
};

/// Products and quotients differ in the last place: a few pages more do no harm, since they answer 0.
const MARGIN: f64 = 1e-15;

impl Visited {
    pub(super) const fn new() -> Self {
        let [rates, weights, places] = [[0.0; BLOCK]; 3];
        Visited { rates, weights, places, len: 0, masks: [0; BLOCK / 2] }
    }

    /// Takes those pages of a block, without bounds, whose resistance is below `end`. Says no where a page does not change, does not
    /// count or is not legal, or where the block is not full: such go the long way.
    #[inline(always)]
    pub(super) fn pack<R: Rule, S: Simd>(&mut self, simd: S, rule: R, block: Columns<'_>, end: f64) -> bool {
        let lanes = S::f64s::LEN;
        let weights = block.weight.unwrap_or(&ONES);
        if block.len() != BLOCK || weights.len() != BLOCK {
            return false;
        }
        let end = end * (1.0 + MARGIN);
        let mut are_sane = <S::f64s as SimdBase<S>>::Mask::splat(simd, true);
        let mut kept = 0;
        let pages = block.rate.chunks_exact(lanes).zip(weights.chunks_exact(lanes));
        for ((rate, weight), mask) in pages.zip(&mut self.masks) {
            let (rate, weight) = (S::f64s::from_slice(simd, rate), S::f64s::from_slice(simd, weight));
            let is_sane = |x: S::f64s| x.simd_ge(SMALLEST) & x.simd_le(LARGEST);
            are_sane = are_sane & is_sane(rate) & is_sane(weight);
            // y = pressure / weight, without the division.
            let is_below = rule.pressure::<S>(rate).simd_lt(weight * end);
            rate.compress(is_below).store_slice(&mut self.rates[kept..kept + lanes]);
            weight.compress(is_below).store_slice(&mut self.weights[kept..kept + lanes]);
            *mask = is_below.to_bitmask();
            kept += mask.count_ones() as usize;
        }
        self.len = kept;
        are_sane.all_true()
    }

    /// How many pages were taken.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Fills `xs` with `factor` x resistance x `last`, and `masses` with the scales.
    #[inline(always)]
    pub(super) fn place<R: Rule>(&self, rule: R, factor: f64, last: f64, xs: &mut [f64], masses: &mut [f64]) {
        let pages = self.rates[..self.len].iter().zip(&self.weights);
        for (((rate, weight), x), mass) in pages.zip(xs).zip(masses) {
            let (scale, y) = rule.place(&One::plain(*rate, *weight));
            *x = factor * y * last;
            *mass = scale;
        }
    }

    /// The places of the pages in their block.
    #[inline(always)]
    pub(super) fn places<S: Simd>(&mut self, simd: S) -> impl Iterator<Item = usize> {
        let mut kept = 0;
        for (places, mask) in PLACES.chunks_exact(S::f64s::LEN).zip(&self.masks) {
            let is_kept = <S::f64s as SimdBase<S>>::Mask::from_bitmask(simd, *mask);
            S::f64s::from_slice(simd, places)
                .compress(is_kept)
                .store_slice(&mut self.places[kept..kept + S::f64s::LEN]);
            kept += mask.count_ones() as usize;
        }
        // The remainder is the number itself, which the compiler then need not check.
        #[expect(clippy::cast_possible_truncation, reason = "a place in a block")]
        let place = |place: &f64| place.to_bits() as usize % BLOCK;
        self.places[..self.len].iter().map(place)
    }

    /// Puts values of the pages where these are in their block, and 0 elsewhere.
    #[inline(always)]
    pub(super) fn unpack<S: Simd>(&self, simd: S, values: &[f64; BLOCK], block: &mut [f64]) {
        let mut taken = 0;
        for (places, mask) in block.chunks_exact_mut(S::f64s::LEN).zip(&self.masks) {
            let is_kept = <S::f64s as SimdBase<S>>::Mask::from_bitmask(simd, *mask);
            S::f64s::from_slice(simd, &values[taken..taken + S::f64s::LEN]).expand(is_kept).store_slice(places);
            taken += mask.count_ones() as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Reciprocal;
    use crate::order::{Objective, Order};
    use crate::plan::stream::rule::Optimal;
    use fearless_simd::{Level, dispatch};

    #[test]
    fn what_is_packed_comes_back() {
        let rates: Vec<f64> = (0..BLOCK).map(|i| 1.0 + (i * 7919 % 13) as f64).collect();
        let weights: Vec<f64> = (0..BLOCK).map(|i| 1.0 + (i % 2) as f64).collect();
        let rule = Optimal::<false> { table: Reciprocal::of(Order::Fixed, Objective::Freshness), cliff: 1.0 };
        for end in [0.0, 0.6, 3.1, 6.1, 100.0, f64::INFINITY] {
            let block = Columns { weight: Some(&weights), ..Columns::new(&rates) };
            let mut visited = Visited::new();
            let (mut xs, mut masses, mut back) = ([0.0; BLOCK], [0.0; BLOCK], [f64::NAN; BLOCK]);
            let places: Vec<usize> = dispatch!(Level::new(), simd => {
                assert!(visited.pack(simd, rule, block, end));
                visited.place(rule, 2.0, 3.0, &mut xs, &mut masses);
                visited.unpack(simd, &masses, &mut back);
                visited.places(simd).collect()
            });
            let wanted: Vec<usize> = (0..BLOCK).filter(|i| rates[*i] / weights[*i] < end).collect();
            assert_eq!(places, wanted, "{end}");
            for (k, i) in places.iter().enumerate() {
                assert_eq!((xs[k], masses[k]), (6.0 * (rates[*i] / weights[*i]), rates[*i]));
            }
            for i in 0..BLOCK {
                assert_eq!(back[i], if wanted.contains(&i) { rates[i] } else { 0.0 });
            }
        }
    }

    #[test]
    fn odd_blocks_go_the_long_way() {
        let rule = Optimal::<true> { table: Reciprocal::of(Order::Fixed, Objective::Age), cliff: f64::INFINITY };
        let packs =
            |rates: &[f64]| dispatch!(Level::new(), simd => Visited::new().pack(simd, rule, Columns::new(rates), 1.0));
        assert!(packs(&[1.0; BLOCK]));
        assert!(!packs(&[1.0; BLOCK - 1]));
        for odd in [0.0, -1.0, 1e-21, 1e21, f64::NAN, f64::INFINITY] {
            let mut rates = [1.0; BLOCK];
            rates[77] = odd;
            assert!(!packs(&rates), "{odd}");
        }
    }
}
