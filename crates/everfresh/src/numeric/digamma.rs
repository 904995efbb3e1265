/// From here on the asymptotic series below hold to the last places.
const FAR: f64 = 12.0;

/// The digamma function `ψ(x) = d ln Γ(x) / dx`, for x > 0.
///
/// It is the mean of the logarithm of a gamma variable of shape x. Absolute error about 1e-14.
///
/// ```
/// use everfresh::numeric::digamma;
/// assert!((digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-14);
/// ```
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < FAR {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y * (5.0 / 660.0)))));
    sum + x.ln() - 0.5 / x - series
}

/// The trigamma function `ψ'(x)`, for x > 0: the variance of the logarithm of a gamma variable of shape x.
///
/// ```
/// use everfresh::numeric::trigamma;
/// assert!((trigamma(1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-13);
/// ```
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < FAR {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * (5.0 / 66.0)))));
    sum + 1.0 / x + 0.5 * y + series / x
}

/// The shape α of the gamma variable whose mean's logarithm exceeds the mean of its logarithm by `gap` > 0: `ln α - ψ(α) = gap`.
pub(crate) fn shape_of_log_gap(gap: f64) -> f64 {
    // Within 1.5 % everywhere; each step of Newton's method for 1/α then squares the error.
    let mut alpha = (3.0 - gap + ((gap - 3.0).powi(2) + 24.0 * gap).sqrt()) / (12.0 * gap);
    // Beyond that the difference has no digits left, and the first term of its series is exact.
    if alpha > 1e6 {
        return alpha;
    }
    for _ in 0..3 {
        let miss = alpha.ln() - digamma(alpha) - gap;
        let slope = alpha - alpha * alpha * trigamma(alpha);
        alpha = (1.0 / alpha + miss / slope).recip();
    }
    alpha
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_found_from_their_log_gaps() {
        for alpha in [0.01_f64, 0.1, 0.5, 1.0, 3.0, 40.0, 1e4] {
            let found = shape_of_log_gap(alpha.ln() - digamma(alpha));
            assert!((found / alpha - 1.0).abs() < 1e-8, "{found} {alpha}");
        }
    }
}
