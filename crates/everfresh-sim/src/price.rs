//! The price at which a demand for visits meets a budget.

/// The price at which a non-increasing demand equals `budget` > 0 but for a share of `close`, starting from a guess.
///
/// Brackets the price, then closes in on it in logarithms (the Illinois variant of regula falsi). Where the demand stays
/// below the budget at any price, or above it, it is the last price that was tried.
pub(crate) fn meeting(budget: f64, guess: f64, close: f64, demand: impl Fn(f64) -> f64) -> f64 {
    let excess = |log: f64| (demand(log.exp()) / budget).max(1e-30).ln().min(60.0);
    let mut log = guess.ln();
    let mut value = excess(log);
    if value.abs() < close {
        return guess;
    }
    // A demand that goes as the square root or the inverse of the price: the step that meets it, and more each time.
    let mut step = value;
    let (mut other, mut other_value) = (log, value);
    for _ in 0..60 {
        log = other + step;
        value = excess(log);
        if value.abs() < close {
            return log.exp();
        }
        if value.signum() != other_value.signum() {
            return close_in((other, other_value), (log, value), close, excess);
        }
        (other, other_value) = (log, value);
        step *= 2.0;
        if !(-600.0..600.0).contains(&(other + step)) {
            break;
        }
    }
    log.exp()
}

fn close_in(mut a: (f64, f64), mut b: (f64, f64), close: f64, excess: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let mut log = (a.0 * b.1 - b.0 * a.1) / (b.1 - a.1);
        if !log.is_finite() {
            log = (a.0 + b.0) / 2.0;
        }
        let value = excess(log);
        if value.abs() < close || (b.0 - a.0).abs() < 1e-6 * close.max(1e-3) {
            return log.exp();
        }
        if value.signum() == b.1.signum() {
            a.1 /= 2.0;
        } else {
            a = b;
        }
        b = (log, value);
    }
    b.0.exp()
}

#[cfg(test)]
mod tests {
    use super::meeting;

    #[test]
    fn a_demand_is_met_from_anywhere() {
        for guess in [1e-9, 1.0, 1e12] {
            let price = meeting(5.0, guess, 1e-3, |price| 300.0 / price.sqrt());
            assert!((price / 3600.0 - 1.0).abs() < 3e-3, "{price}");
            let steep = meeting(0.5, guess, 1e-3, |price| (-price / 1000.0).exp());
            assert!((steep / 693.147 - 1.0).abs() < 3e-3, "{steep}");
        }
    }

    #[test]
    fn a_demand_that_cannot_be_met_ends() {
        assert!(meeting(5.0, 1.0, 1e-3, |_| 1.0).is_finite());
        assert!(meeting(5.0, 1.0, 1e-3, |_| 9.0) > 1e100);
    }
}
