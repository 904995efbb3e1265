/// The divided difference of the exponential function at some nodes: `exp[x_0, ..., x_n]`.
///
/// `exp[a] = e^a`, `exp[a, b] = (e^b - e^a)/(b - a)`, and so on; for equal nodes the limit. It is how the formulas of
/// CGM99's gamma model are written without their removable singularities: `(1 - (1+x)^(1-a))/(a-1)` is
/// `L exp[0, (1-a) L]` with `L = ln(1+x)`, which has nothing special at a = 1.
///
/// The result is positive and symmetric in its nodes. Relative error: about 1e-14 for up to four nodes.
///
/// ```
/// use everfresh::numeric::exp_difference;
/// assert_eq!(exp_difference([0.0, 0.0, 0.0]), 0.5);
/// let direct = (1f64.exp() - 1.0) / 1.0;
/// assert!((exp_difference([0.0, 1.0]) - direct).abs() < 1e-15);
/// ```
pub fn exp_difference<const N: usize>(mut nodes: [f64; N]) -> f64 {
    const { assert!(N <= MOST_NODES) };
    nodes.sort_unstable_by(f64::total_cmp);
    sorted(&nodes)
}

/// The formulas here need four.
const MOST_NODES: usize = 8;

fn sorted(nodes: &[f64]) -> f64 {
    let (Some(&low), Some(&high)) = (nodes.first(), nodes.last()) else { return 0.0 };
    if nodes.len() == 1 {
        return low.exp();
    }
    if nodes.len() == 2 {
        // From the higher node down, so that nothing overflows that need not.
        return if high == low { low.exp() } else { high.exp() * -(low - high).exp_m1() / (high - low) };
    }
    if high - low < 1.0 {
        return series(nodes);
    }
    // The difference quotient over the widest pair: with a spread of at least 1 it loses less than a digit.
    (sorted(&nodes[1..]) - sorted(&nodes[..nodes.len() - 1])) / (high - low)
}

/// `e^m sum over k of h_k(x - m)/(k+n)!` with `h_k` the complete homogeneous symmetric polynomials and m the mean.
fn series(nodes: &[f64]) -> f64 {
    let mean = nodes.iter().sum::<f64>() / nodes.len() as f64;
    let n = nodes.len() - 1;
    // h[j] is h_k of the first j+1 shifted nodes: h_k(x_0..x_j) = h_k(x_0..x_(j-1)) + x_j h_(k-1)(x_0..x_j).
    let mut h = [1.0f64; MOST_NODES];
    let mut factorial: f64 = (1..=n).map(|i| i as f64).product();
    let mut total = 1.0 / factorial;
    for k in 1..60 {
        let mut before = 0.0;
        for (h, node) in h.iter_mut().zip(nodes) {
            *h = before + (node - mean) * *h;
            before = *h;
        }
        factorial *= (k + n) as f64;
        total += before / factorial;
        // h_1 vanishes at the mean, so a single small term is no sign of the end: the bound of the tail is.
        if 1.0 / factorial < f64::EPSILON * 1e-3 * total {
            break;
        }
    }
    mean.exp() * total
}
