//! The utilities of an exponential source in the one variable r = λt, and their inverses.
//!
//! | objective | U(t) | kernel |
//! | --- | --- | --- |
//! | freshness | `g(r)/λ` | `g(r) = 1 - (1+r) e^-r` |
//! | age | `h(r)/λ^2` | `h(r) = r^2/2 - g(r)` |
//! | harmonic | `k(r)/λ` | `k(r) = r - 1 + e^-r` |
//!
//! All three are increasing, vanish at 0 like a power of r, and are written so that nothing cancels. The inverses are
//! what a plan evaluates per page: a page of weight w and visit cost c at price T is visited with
//! `f = λ / g^-1(T c λ / w)`.

mod table;

pub use table::Reciprocal;
pub(crate) use table::{BLOCK, LogChance, Lookup, chebyshev_nodes, interpolate};

use crate::numeric::{Evaluation, Phi, solve};

/// `g(r) = 1 - (1+r) e^-r`: the utility of a visit for freshness, times λ (CGM03 section 5.3: `∂F/∂f = g(r)/λ`).
///
/// Domain r >= 0; from 0 (like r²/2) to 1.
///
/// ```
/// use everfresh::kernel::g;
/// assert!((g(1.0) - 0.264_241_117_657_115).abs() < 1e-15);
/// assert_eq!(g(f64::INFINITY), 1.0);
/// ```
pub fn g(r: f64) -> f64 {
    if r < 1.0 {
        let phi = Phi::at(r);
        r * r * (0.5 - r * (phi.e2 - phi.e3))
    } else {
        1.0 - g_complement(r)
    }
}

/// `1 - g(r) = (1+r) e^-r`, which keeps its digits where g is near 1.
pub fn g_complement(r: f64) -> f64 {
    if r.is_infinite() { 0.0 } else { (1.0 + r) * (-r).exp() }
}

/// The r with `g(r) = y`; infinite for y >= 1: no r reaches the ceiling, and the page is given up.
///
/// In terms of Lambert's function, `-1 - W_-1(-(1-y)/e)`; that form loses the digits of a small y.
///
/// ```
/// use everfresh::kernel::g_inverse;
/// assert!((g_inverse(0.5) - 1.678_346_990_016_66).abs() < 1e-13);
/// assert_eq!(g_inverse(1.0), f64::INFINITY);
/// ```
pub fn g_inverse(y: f64) -> f64 {
    if y <= 0.0 {
        0.0
    } else if y >= 1.0 {
        f64::INFINITY
    } else if y < 0.5 {
        solve(y, (2.0 * y).sqrt(), |r| {
            let value = g(r);
            Evaluation { value, elasticity: r * r * (-r).exp() / value }
        })
    } else {
        // 1 - y is exact, and solving for it keeps the digits that y has lost near 1.
        g_complement_inverse(1.0 - y)
    }
}

/// The r with `1 - g(r) = q`, for q up to about 1/2: the inverse of g for those who know how far y is from 1.
///
/// ```
/// use everfresh::kernel::g_complement_inverse;
/// assert!((g_complement_inverse(1e-6) - 16.688_420_790_859_9).abs() < 1e-13);
/// ```
pub fn g_complement_inverse(q: f64) -> f64 {
    if q <= 0.0 {
        return f64::INFINITY;
    }
    let start = -q.ln();
    solve(q.recip(), start + start.ln_1p(), |r| Evaluation {
        value: g_complement(r).recip(),
        elasticity: r * r / (1.0 + r),
    })
}

/// `h(r) = r^2/2 - g(r)`: the utility of a visit for age, times λ².
///
/// Domain r >= 0; from 0 (like r³/3) to infinity, so that for age no page is ever given up.
///
/// ```
/// use everfresh::kernel::h;
/// assert!((h(1.0) - 0.235_758_882_342_885).abs() < 1e-15);
/// ```
pub fn h(r: f64) -> f64 {
    if r.is_infinite() {
        return r;
    }
    let phi = Phi::at(r);
    r * r * r * (phi.e2 - phi.e3)
}

/// The r with `h(r) = z`.
pub fn h_inverse(z: f64) -> f64 {
    if z <= 0.0 || z.is_infinite() {
        return z.max(0.0);
    }
    let start = if z < 1.0 { (3.0 * z).cbrt() } else { (2.0 * (z + 1.0)).sqrt() };
    solve(z, start, |r| {
        let value = h(r);
        Evaluation { value, elasticity: -r * r * (-r).exp_m1() / value }
    })
}

/// `k(r) = r - 1 + e^-r`: the utility of a visit for the harmonic objective, times λ (Kolobov et al., NeurIPS 2019).
///
/// Domain r >= 0; from 0 (like r²/2) to infinity.
pub fn k(r: f64) -> f64 {
    if r.is_infinite() { r } else { r * r * Phi::at(r).e2 }
}

/// The r with `k(r) = y`: `1 + y + W_0(-e^-(1+y))`.
pub fn k_inverse(y: f64) -> f64 {
    if y <= 0.0 || y.is_infinite() {
        return y.max(0.0);
    }
    let start = if y < 1.0 { (2.0 * y).sqrt() } else { 1.0 + y };
    solve(y, start, |r| {
        let value = k(r);
        Evaluation { value, elasticity: -r * (-r).exp_m1() / value }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another implementation as a judge: Lambert's function, where its form does not cancel.
    #[test]
    fn inverses_agree_with_lamberts_function() {
        let e = std::f64::consts::E;
        for i in 1..1000 {
            let y = f64::from(i) / 1000.0;
            let lambert = -1.0 - lambert_w::lambert_wm1(-(1.0 - y) / e);
            let tolerance = if y < 0.1 { 1e-12 } else { 1e-14 };
            assert!((g_inverse(y) / lambert - 1.0).abs() < tolerance, "{y}: {} {lambert}", g_inverse(y));
            let z = 20.0 * y;
            let lambert = 1.0 + z + lambert_w::lambert_w0(-(-1.0 - z).exp());
            assert!((k_inverse(z) / lambert - 1.0).abs() < 1e-12, "{z}: {} {lambert}", k_inverse(z));
        }
    }

    #[test]
    fn edges_are_exact() {
        assert_eq!(g_inverse(0.0), 0.0);
        assert_eq!(g_inverse(-1.0), 0.0);
        assert_eq!(g_inverse(2.0), f64::INFINITY);
        assert_eq!(h_inverse(0.0), 0.0);
        assert_eq!(h_inverse(f64::INFINITY), f64::INFINITY);
        assert_eq!(k_inverse(f64::INFINITY), f64::INFINITY);
        assert_eq!((g(0.0), h(0.0), k(0.0)), (0.0, 0.0, 0.0));
        assert_eq!((h(f64::INFINITY), k(f64::INFINITY)), (f64::INFINITY, f64::INFINITY));
        assert!(g_inverse(1.0 - f64::EPSILON / 2.0) > 40.0);
        assert!(g_inverse(f64::MIN_POSITIVE) > 0.0);
    }
}
