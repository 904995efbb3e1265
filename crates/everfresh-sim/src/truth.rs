//! What really happens to a page: its true divergence curve, for the policies that are told (OP08 section 3.4).

use crate::world::{Page, Pair};
use everfresh::curve::Observed;
use everfresh::{Period, Unit};

/// Copies from which a curve is measured, and times after them.
const BASES: u32 = 24;
const TIMES: i32 = 48;

/// The mean divergence of a page from copies made at even times of its life, as a curve that does not fall.
///
/// Of its content, or 0 and 1 for equal or not. Measured up to half the page's life.
pub(crate) fn mean_curve(page: &Page, seed: u64, duration_s: f64, of_content: bool) -> Option<Observed> {
    let life_s = page.dies_s.min(duration_s) - page.born_s;
    let reach = life_s / 2.0;
    let times: Vec<f64> = (0..TIMES).map(|n| reach * 1e-4f64.powf(1.0 - f64::from(n + 1) / f64::from(TIMES))).collect();
    let mut sums = vec![0.0; times.len()];
    let mut live = Pair::new(page, seed);
    for base in 0..BASES {
        let base_s = page.born_s + reach * f64::from(base) / f64::from(BASES);
        advance(&mut live, base_s);
        let mut copied = live.clone();
        copied.copy();
        for (sum, time) in sums.iter_mut().zip(&times) {
            advance(&mut copied, base_s + time);
            *sum += if of_content { copied.divergence() } else { f64::from(u8::from(!copied.is_fresh())) };
        }
    }
    let mut highest = 0.0f64;
    let points: Vec<(Period, f64)> = times
        .iter()
        .zip(sums)
        .filter_map(|(time, sum)| {
            highest = highest.max(sum / f64::from(BASES));
            Some((Period::of(*time, Unit::Second).ok()?, highest))
        })
        .collect();
    Observed::new(&points).ok()
}

/// Of a page that does not change, or too short to tell.
pub(crate) fn flat() -> Observed {
    Observed::flat()
}

fn advance(pair: &mut Pair, to_s: f64) {
    while pair.next_s() <= to_s {
        pair.change();
    }
}
