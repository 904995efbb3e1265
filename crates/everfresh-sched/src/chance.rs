//! Chance that is the same each time: hashes of a seed, a page and a count instead of a generator with a state.

/// 64 bits that look random: the finalizer of `SplitMix64` over each part in turn.
pub(crate) fn hash(seed: u64, id: u64, count: u64) -> u64 {
    mix(mix(mix(seed) ^ id) ^ count)
}

/// A number from 0 up to but not including 1.
pub(crate) fn lot(seed: u64, id: u64, count: u64) -> f64 {
    (hash(seed, id, count) >> 11) as f64 / (1u64 << 53) as f64
}

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::lot;

    #[test]
    fn lots_are_spread_evenly_over_pages_and_counts() {
        for (pages, counts) in [(10_000, 1), (1, 10_000), (100, 100)] {
            let lots = || (0..pages).flat_map(|id| (0..counts).map(move |count| lot(7, id, count)));
            let mean = lots().sum::<f64>() / 1e4;
            let square = lots().map(|lot| lot * lot).sum::<f64>() / 1e4;
            assert!((mean - 0.5).abs() < 0.015 && (square - 1.0 / 3.0).abs() < 0.015, "{mean} {square}");
        }
    }
}
