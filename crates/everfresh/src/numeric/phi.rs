/// The functions `E_n(r) = sum over k >= 0 of (-r)^k / (k+n)!`, for n = 0 to 5, at one r.
///
/// Every closed form of CGM03 for an exponential source is a polynomial in these, and in that shape none of them
/// cancels: `E_0 = e^-r`, `E_1 = (1 - e^-r)/r` (freshness under fixed order), `E_2 = (1 - E_1)/r`,
/// `E_3 = (1/2 - E_2)/r` (age: `f A = r E_3`), and so on. All are positive and decreasing.
///
/// Domain: r >= 0; at infinity all are 0. Relative error: below 1e-15 up to `E_3`, below 2e-14 for the others.
///
/// ```
/// use everfresh::numeric::Phi;
/// // CGM03 section 4.4: visited as often as it changes, a page is fresh 63 % of the time.
/// assert!((Phi::at(1.0).e1 - 0.632_120_558_828_558).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Phi {
    /// `E_0 = e^-r`
    pub e0: f64,
    /// `E_1 = (1 - e^-r)/r`
    pub e1: f64,
    /// `E_2 = (1 - E_1)/r`
    pub e2: f64,
    /// `E_3 = (1/2 - E_2)/r`
    pub e3: f64,
    /// `E_4 = (1/6 - E_3)/r`
    pub e4: f64,
    /// `E_5 = (1/24 - E_4)/r`
    pub e5: f64,
}

impl Phi {
    /// Evaluates all six at r.
    #[inline]
    pub fn at(r: f64) -> Phi {
        if r < 1.0 { Phi::downward(r) } else { Phi::upward(r) }
    }

    /// The series for `E_5`, then `E_(n-1) = 1/(n-1)! - r E_n`, which loses nothing while r < 1.
    #[inline(always)]
    pub(crate) fn downward(r: f64) -> Phi {
        let e5 = series(r);
        let e4 = 1.0 / 24.0 - r * e5;
        let e3 = 1.0 / 6.0 - r * e4;
        let e2 = 0.5 - r * e3;
        Phi { e0: (-r).exp(), e1: 1.0 - r * e2, e2, e3, e4, e5 }
    }

    #[inline]
    fn upward(r: f64) -> Phi {
        let e0 = (-r).exp();
        let e1 = -(-r).exp_m1() / r;
        let e2 = (1.0 - e1) / r;
        let e3 = (0.5 - e2) / r;
        let e4 = (1.0 / 6.0 - e3) / r;
        Phi { e0, e1, e2, e3, e4, e5: (1.0 / 24.0 - e4) / r }
    }
}

/// `E_5`, its terms in four sums that do not wait for each other.
#[inline(always)]
fn series(r: f64) -> f64 {
    let (r2, r4) = (r * r, r * r * r * r);
    let sum = |k: usize| SERIES[k] + r4 * (SERIES[k + 4] + r4 * (SERIES[k + 8] + r4 * SERIES[k + 12]));
    (sum(0) - r * sum(1)) + r2 * (sum(2) - r * sum(3))
}

/// `1/(k+5)!`: the next one is below the last place of the first.
const SERIES: [f64; 16] = {
    let mut coefficients = [1.0 / 120.0; 16];
    let mut k = 1;
    while k < 16 {
        coefficients[k] = coefficients[k - 1] / (k + 5) as f64;
        k += 1;
    }
    coefficients
};
