use super::{Evaluation, solve};

/// The lower incomplete gamma function `γ(a, z) = integral of s^(a-1) e^-s over 0..z`, not regularised.
///
/// Domain: a > 0, z >= 0. Relative error below 1e-13 for a up to 170; beyond it the value overflows.
///
/// ```
/// use everfresh::numeric::gamma_lower;
/// // γ(2, r) = 1 - (1+r) e^-r, the utility of an exponential source.
/// assert!((gamma_lower(2.0, 1.0) - 0.264_241_117_657_115).abs() < 1e-15);
/// ```
pub fn gamma_lower(a: f64, z: f64) -> f64 {
    if z <= 0.0 {
        0.0
    } else if z < a + 1.0 {
        lower_series(a, z)
    } else {
        libm::tgamma(a) - upper_fraction(a, z)
    }
}

/// The z with `γ(a, z) = y`, for 0 < y < Γ(a).
///
/// Domain: a from 1 to 170. Relative error below 1e-12, and more where y comes so near to Γ(a) that it says little of z.
pub(crate) fn gamma_lower_inverse(a: f64, y: f64) -> f64 {
    let whole = libm::tgamma(a);
    let start = quantile_start(a, (y / whole).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0));
    let point = |z: f64| if a < 100.0 { z.powf(a) * (-z).exp() } else { (a * z.ln() - z).exp() };
    if y < 0.5 * whole {
        solve(y, start, |z| {
            let point = point(z);
            let value = if z < a + 1.0 { point * series_sum(a, z) } else { whole - point * fraction(a, z) };
            Evaluation { value, elasticity: point / value }
        })
    } else {
        // What is left to the whole keeps its digits.
        solve((whole - y).recip(), start, |z| {
            let point = point(z);
            let left = if z < a + 1.0 { whole - point * series_sum(a, z) } else { point * fraction(a, z) };
            Evaluation { value: left.recip(), elasticity: point / left }
        })
    }
}

/// `z^a e^-z sum over n of z^n / (a (a+1) ... (a+n))`: all terms positive.
fn lower_series(a: f64, z: f64) -> f64 {
    // The power is exact to the last places but overflows; in logarithms a large one keeps thirteen digits.
    let scale = if a < 100.0 { z.powf(a) * (-z).exp() } else { (a * z.ln() - z).exp() };
    scale * series_sum(a, z)
}

/// `sum over n of z^n / (a (a+1) ... (a+n))`.
fn series_sum(a: f64, z: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut total = term;
    let mut n = a;
    while term > f64::EPSILON * 1e-2 * total {
        n += 1.0;
        term *= z / n;
        total += term;
    }
    total
}

/// The upper incomplete gamma function by its continued fraction, for z >= a + 1.
fn upper_fraction(a: f64, z: f64) -> f64 {
    if z.is_infinite() {
        return 0.0;
    }
    // In logarithms: z^a may overflow where the product does not.
    (a * z.ln() - z).exp() * fraction(a, z)
}

/// The continued fraction of the upper incomplete gamma function (Lentz), for z >= a + 1.
fn fraction(a: f64, z: f64) -> f64 {
    let mut b = z + 1.0 - a;
    let mut c = 1.0 / f64::MIN_POSITIVE;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..500 {
        let i = f64::from(i);
        b += 2.0;
        d = 1.0 / (i * (a - i) * d + b);
        c = b + i * (a - i) / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

/// The shares of a gamma distribution of shape a (and scale 1) below and above z: P(a, z) and Q(a, z) = 1 - P.
///
/// The smaller of the two is exact to about ten digits for a up to 1000.
pub(crate) fn gamma_shares(a: f64, z: f64) -> (f64, f64) {
    if z <= 0.0 {
        return (0.0, 1.0);
    }
    // z^a e^-z / Γ(a+1).
    let point = poisson_point(a, z);
    if z < a + 1.0 {
        let below = (point * a * series_sum(a, z)).min(1.0);
        (below, 1.0 - below)
    } else {
        let above = if z.is_infinite() { 0.0 } else { (point * a * fraction(a, z)).min(1.0) };
        (1.0 - above, above)
    }
}

/// The z below which a gamma distribution of shape `a` (and scale 1) has the share `p`.
///
/// Domain: a > 0, 0 < p < 1; it underflows to 0 for tiny shapes. Eight digits: what intervals for people need.
///
/// ```
/// use everfresh::numeric::gamma_quantile;
/// // Shape 1 is the exponential distribution.
/// assert!((gamma_quantile(1.0, 0.9) / 10f64.ln() - 1.0).abs() < 1e-8);
/// ```
pub fn gamma_quantile(a: f64, p: f64) -> f64 {
    if a > 1000.0 {
        return hilferty(a, p);
    }
    let low = near_zero(a, p);
    if low < 1e-9 {
        return low;
    }
    let start = quantile_start(a, p);
    let elasticity = |z: f64, share: f64| a * poisson_point(a, z) / share;
    if p <= 0.5 {
        solve(p, start, |z| {
            let value = gamma_shares(a, z).0;
            Evaluation { value, elasticity: elasticity(z, value) }
        })
    } else {
        // The odds against the upper share rise from 0: they keep their digits where P is near 1.
        solve(1.0 / (1.0 - p), start, |z| {
            let above = gamma_shares(a, z).1;
            Evaluation { value: 1.0 / above, elasticity: elasticity(z, above) }
        })
    }
}

/// About the z below which a gamma distribution has the share p.
fn quantile_start(a: f64, p: f64) -> f64 {
    let start = hilferty(a, p);
    if a > 1.0 && start > 0.1 * a { start } else { near_zero(a, p).min(a + 1.0) }
}

/// The same by Wilson and Hilferty: the cube root of a gamma variable is nearly normal.
fn hilferty(a: f64, p: f64) -> f64 {
    a * (1.0 - 1.0 / (9.0 * a) + normal_quantile(p) / (3.0 * a.sqrt())).powi(3)
}

/// The same where that is useless: near zero the share is z^a / Γ(a+1).
fn near_zero(a: f64, p: f64) -> f64 {
    ((p.ln() + libm::lgamma(a + 1.0)) / a).exp()
}

/// The z below which a standard normal variable has the share `p` (Acklam's rational approximation, 1e-9).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let polynomial = |x: f64, c: &[f64]| c.iter().fold(0.0, |sum, c| sum * x + c);
    if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        let top = [-7.784_894_002e-3, -0.322_396_458, -2.400_758_277, -2.549_732_539, 4.374_664_141, 2.938_163_983];
        return polynomial(q, &top)
            / polynomial(q, &[7.784_695_709e-3, 0.322_467_129, 2.445_134_137, 3.754_408_661, 1.0]);
    }
    let q = p - 0.5;
    let top = [-39.696_830_29, 220.946_098_4, -275.928_510_4, 138.357_751_9, -30.664_798_07, 2.506_628_277];
    q * polynomial(q * q, &top)
        / polynomial(q * q, &[-54.476_098_8, 161.585_836_9, -155.698_979_9, 66.801_311_89, -13.280_681_55, 1.0])
}

/// One step of [`poisson_tails`].
pub(crate) struct Tail {
    /// The count j.
    pub j: u32,
    /// `P(J = j-1)`
    pub point_before: f64,
    /// `P(J >= j)`
    pub at_least: f64,
    /// `P(J >= j+1)`
    pub more: f64,
}

/// The tails of a Poisson count with mean r > 0, for j from k (or from where the tail underflows) down to 1.
///
/// Both sides stay exact: below the mean the upper tail is a sum of positive terms, above it it is near one.
pub(crate) fn poisson_tails(k: u32, r: f64) -> impl Iterator<Item = Tail> {
    let (start, mut point) = poisson_start(k, r);
    let top = f64::from(start);
    let mut more = if r < top + 1.0 { upper_tail(top, r, point) } else { 1.0 - lower_sum(top, r, point) };
    (1..=start).rev().map(move |j| {
        let tail = Tail { j, point_before: point * f64::from(j) / r, at_least: (more + point).min(1.0), more };
        point = tail.point_before;
        more = tail.at_least;
        tail
    })
}

/// The largest j up to k with a `P(J = j)` that does not underflow, and that probability.
fn poisson_start(k: u32, r: f64) -> (u32, f64) {
    // e^-r is exact to the last place; where it underflows, start from the mode instead.
    let (mut j, mut point) = if r < 700.0 {
        (0, (-r).exp())
    } else {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most k")]
        let mode = r.min(f64::from(k)) as u32;
        (mode, poisson_point(f64::from(mode), r))
    };
    while j < k {
        let next = point * r / f64::from(j + 1);
        // Beyond the mean the terms only fall.
        if next < 1e-290 && f64::from(j) > r {
            break;
        }
        (j, point) = (j + 1, next);
    }
    (j, point)
}

/// `P(J = m)` for large r: `e^-(m(d - ln(1+d)) + s(m)) / sqrt(2πm)` with d = (r-m)/m and s the error of Stirling's formula.
///
/// Loader's saddle-point form: no large logarithms are subtracted, so that lists of 100,000 items keep twelve digits.
fn poisson_point(m: f64, r: f64) -> f64 {
    if m < 16.0 {
        return (m * r.ln() - r - libm::lgamma(m + 1.0)).exp();
    }
    let d = (r - m) / m;
    let stirling = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / (m * m)) / (m * m)) / m;
    (-(m * (d - d.ln_1p()) + stirling)).exp() / (std::f64::consts::TAU * m).sqrt()
}

/// `P(J >= k+1)` from `P(J = k)`, upwards; the terms fall because r < k + 1.
fn upper_tail(k: f64, r: f64, point: f64) -> f64 {
    let mut term = point;
    let mut total = 0.0;
    let mut i = k;
    loop {
        i += 1.0;
        term *= r / i;
        total += term;
        if term <= f64::EPSILON * 1e-2 * total {
            return total;
        }
    }
}

/// `P(J <= k)` from `P(J = k)`, downwards; the terms fall because r >= k + 1.
fn lower_sum(k: f64, r: f64, point: f64) -> f64 {
    let mut term = point;
    let mut total = 0.0;
    let mut i = k;
    while i >= 0.0 && term > f64::EPSILON * 1e-2 * total {
        total += term;
        term *= i / r;
        i -= 1.0;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_tails_are_exact_on_both_sides_of_the_mean() {
        for (k, r) in [(1, 1e-8), (5, 0.3), (10, 10.5), (10, 11.5), (10, 650.0), (2000, 1990.0), (2000, 2500.0)] {
            let mut seen = 0;
            for Tail { j, point_before, at_least, more } in poisson_tails(k, r) {
                let exact = (f64::from(j - 1) * r.ln() - r - libm::lgamma(f64::from(j))).exp();
                assert!(
                    exact < 1e-290 || (point_before - exact).abs() <= 3e-11 * exact,
                    "P(J = {}) at {r}: {point_before} {exact}",
                    j - 1
                );
                assert!(at_least >= more && at_least <= 1.0, "{j} {r}");
                seen = j;
            }
            assert_eq!(seen, 1);
        }
    }

    #[test]
    fn small_tails_keep_their_digits() {
        for k in [1, 4, 2000] {
            let last = poisson_tails(k, 1e-8).last().unwrap().at_least;
            assert!((last + (-1e-8f64).exp_m1()).abs() <= 1e-15 * last, "{k}: {last}");
        }
    }

    #[test]
    fn quantiles_are_where_the_shares_say() {
        for a in [0.05, 0.3, 1.0, 2.5, 17.0, 400.0, 999.0, 1e4] {
            for p in [0.001, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999] {
                let z = gamma_quantile(a, p);
                let found = gamma_shares(a, z).0;
                assert!((found - p).abs() < 2e-6 * p.min(1.0 - p).max(0.05), "{a} {p}: {z} has {found}");
            }
        }
        // Tables of the chi-squared distribution: one degree of freedom, and twenty.
        assert!((2.0 * gamma_quantile(0.5, 0.9) - 2.705_543_454).abs() < 1e-7);
        assert!((2.0 * gamma_quantile(10.0, 0.05) - 10.850_811_39).abs() < 1e-6);
    }

    #[test]
    fn far_above_every_count_all_tails_are_one() {
        assert!(poisson_tails(3, 1e6).all(|tail| tail.at_least == 1.0 && tail.more == 1.0));
    }
}
