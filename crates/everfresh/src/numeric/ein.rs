/// The entire exponential integral `Ein(r) = integral of (1 - e^-s)/s over 0..r`.
///
/// Ein(r) is the expected harmonic number of a Poisson count with mean r: the harmonic divergence of `crate::curve`.
/// Domain: r >= 0; `Ein(0) = 0`, infinite at infinity. Relative error below 1e-14.
///
/// ```
/// use everfresh::numeric::ein;
/// assert!((ein(1.0) - 0.796_599_599_297_053).abs() < 1e-15);
/// ```
pub fn ein(r: f64) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    if r < 3.0 {
        series(r)
    } else if r.is_infinite() {
        r
    } else {
        r.ln() + EULER + exponential_integral(r)
    }
}

/// `sum over k >= 1 of -(-r)^k / (k k!)`.
fn series(r: f64) -> f64 {
    let mut power = -1.0;
    let mut total = 0.0;
    let mut k = 1.0;
    loop {
        power *= -r / k;
        let term = power / k;
        total += term;
        if term.abs() <= f64::EPSILON * 1e-2 * total.abs() {
            return total;
        }
        k += 1.0;
    }
}

/// `E1(r) = integral of e^-s/s over r..infinity` by its continued fraction, evaluated forwards (Lentz), for r >= 3.
fn exponential_integral(r: f64) -> f64 {
    let mut b = r + 1.0;
    let mut c = 1.0 / f64::MIN_POSITIVE;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..200 {
        let a = -f64::from(i * i);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction * (-r).exp()
}
