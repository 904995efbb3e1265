//! The distribution of what a plan needs to know of its pages.

use crate::kernel::{chebyshev_nodes, interpolate};

/// Masses over a positive number x, in buckets addressed by the bits of x: `1 << COARSE` in each binade, and `1 << FINE` from
/// 1/2 to 2.
///
/// A bucket holds the first four moments of its mass, so that any function that is a cubic within each bucket is summed over
/// all pages exactly, and a smooth one to about (width of a bucket)⁴/100: 1e-10. Histograms add up: of chunks, of files,
/// of machines.
#[derive(Clone, Debug)]
pub(crate) struct Histogram<const COARSE: u32, const FINE: u32> {
    buckets: Vec<[f64; 4]>,
}

/// From 2^-REACH to 2^REACH.
const REACH: usize = 64;

/// The bits of 2^-REACH.
const LOWEST: u64 = (1023 - REACH as u64) << 52;

/// The fine stretch.
const FINE_FROM: f64 = 0.5;
const FINE_TO: f64 = 2.0;

const MANTISSA: u64 = (1 << 52) - 1;

impl<const COARSE: u32, const FINE: u32> Histogram<COARSE, FINE> {
    const COARSE_LEN: usize = (2 * REACH) << COARSE;
    const LEN: usize = Self::COARSE_LEN + (2 << FINE);

    /// The bucket behind all others takes what counts for nothing.
    pub(crate) const NOWHERE: u64 = Self::LEN as u64;

    pub(crate) fn new() -> Self {
        Histogram { buckets: vec![[0.0; 4]; Self::LEN + 1] }
    }

    /// Where the buckets begin and end.
    pub(crate) const LEAST: f64 = f64::from_bits(LOWEST);
    pub(crate) const MOST: f64 = f64::from_bits((1023 + REACH as u64) << 52);

    /// The bucket of x, or the one for nothing if x is out of reach, and the place in it, from 0 to 1.
    ///
    /// No branch: whether a page lies on the fine stretch cannot be foreseen, and a loop over pages becomes vector
    /// instructions. For these numbers are compared, not their bits: few machines compare whole numbers without a sign.
    #[inline(always)]
    pub(crate) fn address(x: f64) -> (u64, f64) {
        let bits = x.to_bits();
        // All ones where it is true; written as arithmetic, since a choice becomes a branch.
        let mask = |is: bool| 0u64.wrapping_sub(u64::from(is));
        let is_fine = mask((FINE_FROM..FINE_TO).contains(&x));
        let is_within = mask((Self::LEAST..Self::MOST).contains(&x));
        let coarse = (bits >> (52 - COARSE)).wrapping_sub(LOWEST >> (52 - COARSE));
        let fine = (bits >> (52 - FINE))
            .wrapping_sub((FINE_FROM.to_bits() >> (52 - FINE)).wrapping_sub(Self::COARSE_LEN as u64));
        let coarse = coarse & is_within | Self::NOWHERE & !is_within;
        let behind = (bits << COARSE) & !is_fine | (bits << FINE) & is_fine;
        // The bits behind the address as a number in 1..2, less one.
        let u = f64::from_bits(behind & MANTISSA | 1f64.to_bits()) - 1.0;
        (fine & is_fine | coarse & !is_fine, u)
    }

    /// What a mass at a place in a bucket adds to its moments.
    #[inline(always)]
    pub(crate) fn moments(mass: f64, u: f64) -> [f64; 4] {
        let first = mass * u;
        let second = first * u;
        [mass, first, second, second * u]
    }

    /// Adds moments to the bucket of an address.
    #[inline(always)]
    pub(crate) fn add_at(&mut self, address: u64, moments: &[f64; 4]) {
        let last = self.buckets.len() - 1;
        let bucket = &mut self.buckets[usize::try_from(address).unwrap_or(last).min(last)];
        // Written out, so that all four are added at once: as a loop it stayed one.
        let ([a, b, c, d], [e, f, g, h]) = (*bucket, *moments);
        *bucket = [a + e, b + f, c + g, d + h];
    }

    /// Adds a mass at x; says no where x is out of reach.
    #[inline(always)]
    pub(crate) fn add(&mut self, x: f64, mass: f64) -> bool {
        let (address, u) = Self::address(x);
        self.add_at(address, &Self::moments(mass, u));
        address != Self::NOWHERE
    }

    /// The range of x that a bucket spans.
    fn span(bucket: usize) -> (f64, f64) {
        let (base, place, fineness) = match bucket.checked_sub(Self::COARSE_LEN) {
            None => (LOWEST, bucket, COARSE),
            Some(place) => (FINE_FROM.to_bits(), place, FINE),
        };
        let edge = |place: u64| f64::from_bits(((base >> (52 - fineness)) + place) << (52 - fineness));
        (edge(place as u64), edge(place as u64 + 1))
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (bucket, other) in self.buckets.iter_mut().zip(&other.buckets) {
            for (moment, other) in bucket.iter_mut().zip(other) {
                *moment += other;
            }
        }
    }

    /// The buckets that hold something, ready to be summed over.
    pub(crate) fn filled(&self) -> Filled {
        let nodes = chebyshev_nodes();
        // The cubics that are 1 at one of the nodes and 0 at the others.
        let basis: [[f64; 4]; 4] = std::array::from_fn(|i| {
            let mut ones = [0.0; 4];
            ones[i] = 1.0;
            interpolate(&nodes, ones)
        });
        let buckets = self.buckets[..Self::LEN].iter().enumerate().filter(|(_, moments)| moments[0] > 0.0);
        let points = buckets.flat_map(|(i, moments)| {
            let (start, end) = Self::span(i);
            let weight = |cubic: [f64; 4]| cubic.iter().zip(moments).map(|(c, m)| c * m).sum::<f64>();
            let weights = basis.map(weight);
            nodes.into_iter().zip(weights).map(move |(u, weight)| (start + u * (end - start), weight))
        });
        Filled { points: points.collect() }
    }
}

/// The buckets of a histogram that hold something, each as four points with weights: a cubic is summed over its mass exactly.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Filled {
    points: Vec<(f64, f64)>,
}

impl Filled {
    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    /// Adds what another histogram holds, of x that count for `scale` times as much. Where buckets are the same they stay one.
    pub(crate) fn merge(&mut self, other: Filled, scale: f64) {
        self.points.extend(other.points.into_iter().map(|(x, weight)| (scale * x, weight)));
        self.points.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.points.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0.0 };
            is_same
        });
    }

    /// Can it be what a histogram holds? The weights of a bucket's points may be below 0, in all they are not.
    pub(crate) fn is_legal(&self) -> bool {
        let is_place = |x: f64| x > 0.0 && x.is_finite();
        self.points.iter().all(|(x, weight)| is_place(*x) && weight.is_finite())
            && self.points.iter().map(|(_, weight)| weight).sum::<f64>() >= 0.0
    }

    /// The sums of two functions of x over all mass.
    pub(crate) fn sums(&self, functions: impl Fn(f64) -> (f64, f64)) -> (f64, f64) {
        self.points.iter().fold((0.0, 0.0), |sums, (x, weight)| {
            let (first, second) = functions(*x);
            (sums.0 + weight * first, sums.1 + weight * second)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smooth_functions_are_summed_to_ten_digits() {
        let mut histogram = Histogram::<6, 10>::new();
        let mut exact = 0.0;
        for i in 0..20_000 {
            let x = (f64::from(i) / 300.0 - 30.0).exp2() * 1.1;
            let mass = 1.0 + f64::from(i % 7);
            assert!(histogram.add(x, mass));
            exact += mass * x.sqrt().recip();
        }
        let sum = histogram.filled().sums(|x| (x.sqrt().recip(), 1.0));
        assert!((sum.0 / exact - 1.0).abs() < 1e-10, "{} {exact}", sum.0);
        assert!((sum.1 / (0..20_000).map(|i| 1.0 + f64::from(i % 7)).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(!histogram.add(f64::INFINITY, 1.0));
        assert!(!histogram.add(1e-300, 1.0));
    }
}
