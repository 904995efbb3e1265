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

/// `z^a e^-z sum over n of z^n / (a (a+1) ... (a+n))`: all terms positive.
fn lower_series(a: f64, z: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut total = term;
    let mut n = a;
    while term > f64::EPSILON * 1e-2 * total {
        n += 1.0;
        term *= z / n;
        total += term;
    }
    // The power is exact to the last places but overflows; in logarithms a large one keeps thirteen digits.
    let scale = if a < 100.0 { z.powf(a) * (-z).exp() } else { (a * z.ln() - z).exp() };
    scale * total
}

/// The upper incomplete gamma function by its continued fraction (Lentz), for z >= a + 1.
fn upper_fraction(a: f64, z: f64) -> f64 {
    if z.is_infinite() {
        return 0.0;
    }
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
    // In logarithms: z^a may overflow where the product does not.
    (a * z.ln() - z).exp() * fraction
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
    fn far_above_every_count_all_tails_are_one() {
        assert!(poisson_tails(3, 1e6).all(|tail| tail.at_least == 1.0 && tail.more == 1.0));
    }
}
