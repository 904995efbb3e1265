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
