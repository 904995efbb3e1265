/// A running sum with Neumaier's correction: the error does not grow with the number of terms.
///
/// A budget over a million pages is to be spent to twelve digits; a plain sum would lose four of them.
///
/// ```
/// use everfresh::numeric::Sum;
/// let sum: Sum = [1.0, 1e100, 1.0, -1e100].into_iter().collect();
/// assert_eq!(sum.value(), 2.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        let next = self.total + term;
        // An infinite term has no rounding error to remember.
        if next.is_finite() {
            let (large, small) = if self.total.abs() >= term.abs() { (self.total, term) } else { (term, self.total) };
            self.lost += (large - next) + small;
        }
        self.total = next;
    }

    /// The sum so far.
    pub fn value(self) -> f64 {
        self.total + self.lost
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut sum = Sum::default();
        terms.into_iter().for_each(|term| sum.add(term));
        sum
    }
}

/// The sum of some terms in eight lanes, of which a machine adds as many at a time as it can: it comes out the same on all. Plain sums:
/// they lose nothing that counts over a few thousand terms.
#[inline(always)]
pub(crate) fn lanes(terms: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (eights, rest) = terms.as_chunks::<8>();
    for eight in eights {
        sums.iter_mut().zip(eight).for_each(|(sum, term)| *sum += term);
    }
    sums.iter().chain(rest).sum()
}

/// The same where a term is made of two numbers, in columns of one length.
#[inline(always)]
pub(crate) fn lanes_of(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let ((a_eights, a_rest), (b_eights, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a_eights.iter().zip(b_eights) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += term(*a, *b));
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| term(*a, *b));
    sums.into_iter().chain(rest).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_sum_every_term() {
        let terms: Vec<f64> = (1..=100).map(f64::from).collect();
        for n in 0..terms.len() {
            let sum = (n * (n + 1) / 2) as f64;
            assert_eq!(lanes(&terms[..n]), sum);
            assert_eq!(lanes_of(&terms[..n], &terms[..n], |a, b| 3.0 * a - b), 2.0 * sum);
        }
    }
}
