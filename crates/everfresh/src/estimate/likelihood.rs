use super::{Estimate, Estimator, Interval, Knowledge, Observation, Seen};
use crate::numeric::{Evaluation, solve};
use crate::units::Rate;

/// Maximum likelihood for visits at any times: the λ with `k/λ + Σ over changed I/(e^(λI) - 1) = exposure`.
///
/// The exposure is the time that showed no change; k counts changes that were dated or counted one by one. Finite also when
/// every visit found a change: half an imaginary quiet visit, as long as the harmonic mean of the changed ones, is added. At
/// regular visits that is CGM's corrected [`Ratio`](super::Ratio), digit by digit, and it takes off most of the bias elsewhere. The
/// harmonic mean, since a change after a long outage tells nothing, and must not lengthen the imaginary visit.
///
/// The interval is what the data support: the rates whose likelihood (without the imaginary visit) is within
/// `χ²(0.9)/2 = 1.353` of the best. It has no upper end where every visit found a change, and starts at 0 where none did. Where
/// the imaginary visit would take the estimate out of it (lengths that differ by decades), the estimate is its nearer end.
///
/// ```
/// use everfresh::estimate::{Estimator, MaximumLikelihood, Observation};
///
/// // Every other hour had a change: 16.6 a day, or 15.5 corrected. Then nobody looked for a year.
/// let mut page = MaximumLikelihood::new();
/// for hour in 0..10 {
///     page.observe(&Observation::between(f64::from(hour) * 3600.0, f64::from(hour + 1) * 3600.0, hour % 2 == 0)?);
/// }
/// let before = page.estimate().rate.per_day();
/// page.observe(&Observation::between(0.0, 365.0 * 86_400.0, true)?);
/// assert!((page.estimate().rate.per_day() / before - 1.0).abs() < 0.02);
/// # Ok::<(), everfresh::Error>(())
/// ```
///
/// Quiet visits and counts need two numbers. Changed visits need their lengths: at most 64 are kept, and of more the
/// closest two are merged, which moves the estimate by less than the square of their relative distance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaximumLikelihood {
    /// Changes that were dated or counted.
    counted: f64,
    /// Seconds without a change.
    exposure: f64,
    /// Visits that found a change: how long after the one before, and how many; by length.
    changed: Vec<(f64, f64)>,
}

/// As many different lengths are kept.
const KEPT: usize = 64;

/// `χ²(0.9)/2`: so far the logarithm of the likelihood falls within the interval.
const FALL: f64 = 1.352_771_727_047_702;

impl MaximumLikelihood {
    /// Nothing observed.
    pub const fn new() -> Self {
        MaximumLikelihood { counted: 0.0, exposure: 0.0, changed: Vec::new() }
    }

    fn insert(&mut self, elapsed: f64) {
        let at = self.changed.partition_point(|(length, _)| *length < elapsed);
        match self.changed.get_mut(at) {
            Some((length, count)) if *length == elapsed => *count += 1.0,
            _ => self.changed.insert(at, (elapsed, 1.0)),
        }
        if self.changed.len() > KEPT {
            self.merge_closest();
        }
    }

    fn merge_closest(&mut self) {
        let ratio = |i: &usize| self.changed[i + 1].0 / self.changed[*i].0;
        let closest = (0..self.changed.len() - 1).min_by(|a, b| ratio(a).total_cmp(&ratio(b))).unwrap_or(0);
        let (length, count) = self.changed.remove(closest + 1);
        let kept = &mut self.changed[closest];
        kept.0 = (kept.0 * kept.1 + length * count) / (kept.1 + count);
        kept.1 += count;
    }

    /// `k/λ + Σ I/(e^(λI) - 1)` and its elasticity: falling in λ.
    fn pull(&self, rate: f64) -> (f64, f64) {
        let (mut value, mut slope) = (self.counted / rate, -self.counted / rate);
        for (length, count) in &self.changed {
            let r = rate * length;
            let grown = r.exp_m1();
            let term = count * length / grown;
            value += term;
            // d/d ln λ of I/(e^r - 1) is -I r e^r/(e^r - 1)², and e^r/(e^r - 1) = 1 + 1/(e^r - 1).
            slope -= term * r * (1.0 + grown.recip());
        }
        (value, slope / value)
    }

    /// How many visits found a change, and changes were counted.
    fn changes(&self) -> f64 {
        self.counted + self.changed.iter().map(|(_, count)| count).sum::<f64>()
    }

    /// The λ at which the pull of the changes balances an exposure; infinite for none.
    fn balance(&self, exposure: f64) -> f64 {
        self.balance_near(exposure, self.changes() / exposure)
    }

    /// The same, searched for from a guess on.
    fn balance_near(&self, exposure: f64, guess: f64) -> f64 {
        if self.counted == 0.0 && self.changed.is_empty() {
            return 0.0;
        }
        if exposure == 0.0 {
            return f64::INFINITY;
        }
        solve(1.0 / exposure, guess, |rate| {
            let (value, elasticity) = self.pull(rate);
            Evaluation { value: 1.0 / value, elasticity: -elasticity }
        })
    }

    /// The rate of [`Estimator::estimate`] alone, to 1e-12: a tenth of the work for who asks after every visit and guesses well, as by the
    /// rate before.
    ///
    /// ```
    /// use everfresh::estimate::{Estimator, MaximumLikelihood, Observation};
    /// use everfresh::Rate;
    ///
    /// let mut page = MaximumLikelihood::new();
    /// let mut rate = Rate::STATIC;
    /// for hour in 0..10 {
    ///     page.observe(&Observation::between(f64::from(hour) * 3600.0, f64::from(hour + 1) * 3600.0, hour % 2 == 0)?);
    ///     rate = page.rate_near(rate);
    /// }
    /// assert!((rate.per_day() / page.estimate().rate.per_day() - 1.0).abs() < 1e-12);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn rate_near(&self, guess: Rate) -> Rate {
        let half = self.half_a_visit();
        let (exposure, changes) = (self.exposure + half, self.changes());
        let guess = if guess == Rate::STATIC { changes / exposure } else { guess.per_second() };
        let rate = self.balance_near(exposure, guess).min(crate::error::LARGEST);
        // The logarithm of the likelihood is concave, its slope here is the half visit, and its best below changes/exposure: mostly the
        // tangent tells that the rate is within the interval. Else how far the best is above it does.
        let is_within = rate == 0.0
            || half * (changes / self.exposure - rate) < FALL
            || self.top(self.balance_near(self.exposure, rate)) - self.log_likelihood(rate) < FALL;
        if is_within { Rate::estimated(rate) } else { self.estimate().rate }
    }

    /// Half the harmonic mean of the changed lengths; nothing where there are none.
    fn half_a_visit(&self) -> f64 {
        let sums = |(n, sum): (f64, f64), (length, count): &(f64, f64)| (n + count, sum + count / length);
        let (changed, inverse) = self.changed.iter().fold((0.0, 0.0), sums);
        if changed > 0.0 { 0.5 * changed / inverse } else { 0.0 }
    }

    /// The logarithm of the likelihood, up to a constant.
    fn log_likelihood(&self, rate: f64) -> f64 {
        let counted = if self.counted > 0.0 { self.counted * rate.ln() } else { 0.0 };
        let changed = self.changed.iter().map(|(length, count)| count * (-(-rate * length).exp_m1()).ln());
        counted - rate * self.exposure + changed.sum::<f64>()
    }

    /// The logarithm of the likelihood at the best rate: where that is infinite, all that was seen was certain.
    fn top(&self, best: f64) -> f64 {
        if best.is_finite() { self.log_likelihood(best) } else { 0.0 }
    }

    /// The rates whose likelihood is within the fall of the best.
    fn interval(&self) -> Interval {
        let best = self.balance(self.exposure);
        if best == 0.0 {
            let high = if self.exposure > 0.0 { FALL / self.exposure } else { f64::INFINITY };
            return Interval::per_second(0.0, high);
        }
        let top = self.top(best);
        let start = if best.is_finite() { best } else { self.changed.first().map_or(1.0, |(length, _)| 1.0 / length) };
        // The loss on one side of the best; λ times its slope is λ (pull - exposure).
        let loss = |rate: f64| (top - self.log_likelihood(rate)).max(0.0);
        let slope = |rate: f64| rate * (self.pull(rate).0 - self.exposure);
        let low = solve(1.0 / FALL, start * 0.5, |rate| {
            let loss = if rate < best { loss(rate) } else { 0.0 };
            Evaluation { value: 1.0 / loss, elasticity: slope(rate) / loss }
        });
        let high = if best.is_finite() {
            solve(FALL, best * 2.0, |rate| {
                let loss = if rate > best { loss(rate) } else { 0.0 };
                Evaluation { value: loss, elasticity: -slope(rate) / loss }
            })
        } else {
            best
        };
        Interval::per_second(low, high)
    }
}

impl Estimator for MaximumLikelihood {
    fn observe(&mut self, observation: &Observation) {
        let elapsed = observation.elapsed().seconds();
        match observation.seen() {
            Seen::Unchanged => self.exposure += elapsed,
            Seen::Changed => self.insert(elapsed),
            Seen::LastChange(since) => {
                self.counted += 1.0;
                self.exposure += since.seconds();
            }
            Seen::Changes(n) => {
                self.counted += f64::from(n);
                self.exposure += elapsed;
            }
        }
    }

    fn estimate(&self) -> Estimate {
        let interval = self.interval();
        // One dated change at the very visit has no exposure: then nothing bounds the rate.
        let rate = self.balance(self.exposure + self.half_a_visit()).min(crate::error::LARGEST);
        let high = interval.high.map_or(f64::INFINITY, Rate::per_second);
        let rate = rate.min(high).max(interval.low.per_second());
        // Observed information times λ²: a counted change tells 1, a changed visit r² e^r/(e^r - 1)².
        let told = self.changed.iter().map(|(length, count)| {
            let r = rate * length;
            if r < 700.0 { count * r * r / (r.exp_m1() * -(-r).exp_m1()) } else { 0.0 }
        });
        let changes = self.counted + if rate > 0.0 { told.sum() } else { 0.0 };
        let exposure = if rate > 0.0 { changes / rate } else { self.exposure };
        Estimate { rate: Rate::estimated(rate), interval, knowledge: Knowledge::new(changes, exposure) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LEVEL;
    use super::*;
    use crate::numeric::gamma_quantile;

    #[test]
    fn twice_the_fall_is_chi_squared() {
        assert!((FALL / gamma_quantile(0.5, LEVEL) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_rate_from_any_guess_is_the_estimate() -> crate::Result<()> {
        let mut page = MaximumLikelihood::new();
        for visit in 0u32..300 {
            // Minutes to weeks apart, changed, quiet and dated ones, at first only changes.
            let elapsed = 60.0 * 1.4f64.powi((visit * 7 % 29).cast_signed());
            let observation = match visit % 5 {
                1 if visit > 10 => Observation::dated(crate::Period::raw(elapsed), crate::Period::raw(elapsed / 3.0))?,
                2 | 3 if visit > 20 => Observation::between(0.0, elapsed, false)?,
                _ => Observation::between(0.0, elapsed, true)?,
            };
            page.observe(&observation);
            let estimate = page.estimate().rate;
            for guess in [0.0, 1e-9, 1.0, 0.9 * estimate.per_second()] {
                let rate = page.rate_near(Rate::estimated(guess));
                let off = (rate.per_second() / estimate.per_second() - 1.0).abs();
                assert!(off < 1e-11, "after {visit} visits, from {guess}: {rate} for {estimate}");
            }
        }
        Ok(())
    }
}
