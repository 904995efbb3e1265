/// Spreads the bits of a number evenly, one to one (the finaliser of `SplitMix64`: Steele and others, OOPSLA 2014).
#[inline(always)]
pub(crate) fn spread(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}
