//! The periods of [`Lomax`] curves by table: five digits in a tenth of the time, for whoever asks for millions of them.
//!
//! With `v = ln(1 + t/β)` and `s = -ln(1 - (α-1) U/β)/(α-1)` the law `U(t) = U` is `s = (αv - ln(1 + α(e^v - 1)))/(α-1)`, which has
//! nothing special at α = 1 nor at the ceiling. Between its ends, `αv = √(2αs)` and `αv = αs`, the factor to `√(αs(2 + αs))`
//! is smooth in the logarithms of α and αs: a grid of four points a binade holds it to five digits. So is, for the
//! area, that of αt/β to the same expression of α area/β.

use super::{DivergenceCurve, Lomax};
use crate::numeric::{Evaluation, solve};
use crate::units::Period;
use std::sync::OnceLock;

/// Points in a binade.
const FINENESS: f64 = 4.0;
/// Binary logarithms of the first and last α and of the first and last y that are on a grid.
const ALPHAS: (i32, i32) = (-8, 20);
const YS: (i32, i32) = (-24, 14);
/// The grid stands between the powers of two, so that α = 1 is not on it.
const OFFSET: f64 = 0.125;

/// A function of α and y on a grid of their logarithms.
struct Grid {
    values: Box<[f64]>,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constants, small and positive")]
const fn points((first, last): (i32, i32)) -> usize {
    (last - first) as usize * FINENESS as usize
}

fn node(first: i32, number: usize) -> f64 {
    (f64::from(first) + OFFSET + number as f64 / FINENESS).exp2()
}

/// The simple form: exact for small y, and for large y up to a factor that stays.
fn simple(y: f64) -> f64 {
    (y * (2.0 + y)).sqrt()
}

/// The weights of four equidistant points for a place between the second and the third.
fn weights(u: f64) -> [f64; 4] {
    let (before, after, last) = (u + 1.0, 1.0 - u, 2.0 - u);
    [-u * after * last / 6.0, before * after * last / 2.0, before * u * last / 2.0, -before * u * after / 6.0]
}

/// The first of the four points around a logarithm, and the place between the middle ones; none beyond the grid.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the grid")]
fn place(log2: f64, ends: (i32, i32)) -> Option<(usize, f64)> {
    let x = (log2 - f64::from(ends.0) - OFFSET) * FINENESS;
    let inside = x >= 1.0 && x < (points(ends) - 2) as f64;
    inside.then(|| (x as usize - 1, x - x.floor()))
}

impl Grid {
    fn new(function: impl Fn(f64, f64) -> f64) -> Grid {
        let row = |i: usize| (0..points(YS)).map(move |j| (node(ALPHAS.0, i), node(YS.0, j)));
        let nodes = (0..points(ALPHAS)).flat_map(row);
        Grid { values: nodes.map(|(alpha, y)| function(alpha, y) / simple(y)).collect() }
    }

    fn at(&self, alpha: f64, y: f64) -> Option<f64> {
        let ((i, u), (j, w)) = (place(alpha.log2(), ALPHAS)?, place(y.log2(), YS)?);
        let (across, down) = (weights(w), weights(u));
        let mut sum = 0.0;
        for (row, weight) in (i..i + 4).zip(down) {
            let start = row * points(YS) + j;
            let four = self.values.get(start..start + 4)?;
            sum += weight * (four[0] * across[0] + four[1] * across[1] + four[2] * across[2] + four[3] * across[3]);
        }
        Some(sum * simple(y))
    }
}

/// αv, given α and αs.
fn by_utility() -> &'static Grid {
    static GRID: OnceLock<Grid> = OnceLock::new();
    GRID.get_or_init(|| {
        Grid::new(|alpha, y| {
            let s = y / alpha;
            let start = (2.0 * s / alpha).sqrt().hypot(s);
            let v = solve(s, start, |v| {
                let m = alpha * v.exp_m1();
                // e^v may overflow; its logarithm need not.
                let log = if v < 600.0 { m.ln_1p() } else { v + alpha.ln() };
                let value = (alpha * v - log) / (alpha - 1.0);
                Evaluation { value, elasticity: v / (1.0 + m.recip()) / value }
            });
            alpha * v
        })
    })
}

/// v, given α and s, to five digits; none where the table ends, or where e^v does.
pub(super) fn start(alpha: f64, s: f64) -> Option<f64> {
    by_utility().at(alpha, alpha * s).map(|scaled| scaled / alpha).filter(|v| *v < 300.0)
}

/// αt/β, given α and α area/β.
fn by_area() -> &'static Grid {
    static GRID: OnceLock<Grid> = OnceLock::new();
    GRID.get_or_init(|| Grid::new(|alpha, y| alpha * Lomax::raw(alpha, 1.0).period_by_area(y / alpha).seconds()))
}

impl Lomax {
    /// As [`DivergenceCurve::period`], with a relative error below 1e-4.
    ///
    /// ```
    /// use everfresh::Period;
    /// use everfresh::curve::{DivergenceCurve, Lomax};
    /// let curve = Lomax::with_mean_rate(2.5, "1/day".parse()?)?;
    /// let (quick, exact) = (curve.period_quickly(1e4), curve.period(1e4));
    /// assert!((quick.seconds() / exact.seconds() - 1.0).abs() < 1e-4);
    /// assert_eq!(curve.period_quickly(1e9), Period::NEVER);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn period_quickly(&self, utility: f64) -> Period {
        let (alpha, beta) = (self.alpha(), self.beta().seconds());
        let (share, excess) = (utility / beta, alpha - 1.0);
        if share <= 0.0 || share * excess >= 1.0 {
            return self.period(utility);
        }
        let s = if excess.abs() < 1e-9 { share } else { -(-share * excess).ln_1p() / excess };
        match by_utility().at(alpha, alpha * s) {
            Some(scaled) => Period::raw(beta * (scaled / alpha).exp_m1()),
            None => self.period(utility),
        }
    }

    /// As [`Lomax::period_by_area`], with a relative error below 1e-4.
    pub(crate) fn period_by_area_quickly(&self, area: f64) -> Period {
        let (alpha, beta) = (self.alpha(), self.beta().seconds());
        match by_area().at(alpha, area * alpha / beta) {
            Some(scaled) => Period::raw(scaled * beta / alpha),
            None => self.period_by_area(area),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Off the grid, at its edges and beyond.
    fn places() -> impl Iterator<Item = (f64, f64)> {
        let alphas = (0..180).map(|i| 10f64.powf(-3.5 + f64::from(i) * 0.061)).chain([1.0, 1.0 + 1e-10, 1.0 - 1e-5]);
        alphas.flat_map(|alpha| (0..130).map(move |j| (alpha, 10f64.powf(-9.0 + f64::from(j) * 0.113))))
    }

    #[test]
    fn quick_periods_are_those_of_the_law_to_four_digits() {
        let (mut worst, mut never) = (0f64, 0);
        for (alpha, y) in places() {
            let curve = Lomax::raw(alpha, 1000.0);
            let (exact, quick) = (curve.period(y * 1000.0 / alpha), curve.period_quickly(y * 1000.0 / alpha));
            if exact == Period::NEVER || exact.seconds() > 1e30 {
                assert!(quick.seconds() > 1e29, "{alpha} {y} {quick:?}");
                never += 1;
            } else {
                worst = worst.max((quick.seconds() / exact.seconds() - 1.0).abs());
            }
            assert!(worst < 1e-4, "{alpha} {y}: {quick:?} {exact:?}");
        }
        println!("worst {worst:e}, {never} never");
        assert!(never > 1000);
    }

    #[test]
    fn quick_areas_are_reached_to_four_digits() {
        for (alpha, y) in places() {
            let curve = Lomax::raw(alpha, 1000.0);
            let quick = curve.period_by_area_quickly(y * 1000.0 / alpha);
            let exact = curve.period_by_area(y * 1000.0 / alpha);
            if exact.seconds() < 1e30 {
                assert!((quick.seconds() / exact.seconds() - 1.0).abs() < 1e-4, "{alpha} {y}: {quick:?} {exact:?}");
            }
        }
    }
}
