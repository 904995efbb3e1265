use super::{Ends, Estimate, Evidence, Interval, Knowledge, LEVEL, Observation, Posterior, Prior, Seen};
use crate::error::{Error, Result, not_negative};
use crate::kernel::LogChance;
use crate::numeric::{Evaluation, shape_of_log_gap, solve};
use crate::units::{Period, Rate};

/// What the visits of one page saw, beside any prior: the likelihood `λ^k e^(-λe) Π (1 - e^(-λI))`. Five numbers, 20 bytes.
///
/// k changes were counted or dated, the time e is known to have none (but those), and each bare change came within some I since
/// the visit before. Of the X lengths I their number, sum and product are kept, and stand for lengths spread log-uniformly with the
/// same means: exact for regular visits and, to the second order, where visits are more frequent than changes. Visits of two very
/// different lengths (minutes and days, say) move the rate by a fifth, at ten changes a day by a third.
/// A change that [was certain](is_certain) after what was seen before is left out: it tells nothing, and its length (an outage, say)
/// would stretch the law of all others.
/// It depends on no prior, adds up, fades by a factor and, but for what is left out, does not depend on the order of the visits.
///
/// ```
/// use everfresh::estimate::{Observation, Prior, Sightings};
/// use everfresh::{Period, Unit};
///
/// let day = Period::of(1.0, Unit::Day)?;
/// let mut seen = Sightings::NONE;
/// for changed in [true, false, true] {
///     seen.observe(&if changed { Observation::changed(day)? } else { Observation::unchanged(day)? });
/// }
/// // Under Gamma(1, 1 day): ∫ λ e^(-2λ) (1-e^-λ)² dλ / ∫ e^(-2λ) (1-e^-λ)² dλ = 0.0902778 / 0.0833333 = 13/12.
/// let estimate = seen.estimate(Prior::new(1.0, "1/day".parse()?)?);
/// assert!((estimate.rate.per_day() - 13.0 / 12.0).abs() < 1e-6);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sightings {
    counted: f32,
    exposure_s: f32,
    changed: f32,
    changed_s: f32,
    /// The sum of the logarithms of their seconds.
    changed_logs: f32,
}

impl Sightings {
    /// Nothing observed.
    pub const NONE: Sightings =
        Sightings { counted: 0.0, exposure_s: 0.0, changed: 0.0, changed_s: 0.0, changed_logs: 0.0 };

    /// `changed` bare changes, the times between their visits and the visits before adding up to `within`, the logarithms of these
    /// times in seconds to `logs`; and a time `quiet` without a change.
    pub fn bare(changed: u32, within: Period, logs: f64, quiet: Period) -> Result<Sightings> {
        let within = not_negative("time of changed visits in seconds", within.seconds())?;
        let quiet = not_negative("quiet time in seconds", quiet.seconds())?;
        if !logs.is_finite() || (changed > 0 && within == 0.0) {
            let got = format!("{changed} changes within {within} s, logarithms {logs}");
            return Err(Error::Inconsistent(format!("changed visits must take some time, got {got}")));
        }
        Ok(Sightings::raw(0.0, quiet, f64::from(changed), within, logs))
    }

    /// Watching for `exposure` and seeing `changes` changes, each of them dated or counted.
    pub fn watched(changes: u32, exposure: Period) -> Result<Sightings> {
        let seconds = not_negative("exposure in seconds", exposure.seconds())?;
        Ok(Sightings::raw(f64::from(changes), seconds, 0.0, 0.0, 0.0))
    }

    #[expect(clippy::cast_possible_truncation, reason = "seven digits suffice")]
    fn raw(counted: f64, exposure: f64, changed: f64, within: f64, logs: f64) -> Sightings {
        let [counted, exposure_s, changed, changed_s, changed_logs] =
            [counted, exposure.min(1e30), changed, within.min(1e30), logs].map(|number| number as f32);
        Sightings { counted, exposure_s, changed, changed_s, changed_logs }
    }

    /// Takes in what the next visit saw.
    pub fn observe(&mut self, observation: &Observation) {
        let elapsed = observation.elapsed().seconds();
        if observation.seen() == Seen::Changed && self.is_certain(elapsed) {
            return;
        }
        *self = self.plus(match observation.seen() {
            Seen::Unchanged => Sightings::raw(0.0, elapsed, 0.0, 0.0, 0.0),
            Seen::Changes(n) => Sightings::raw(f64::from(n), elapsed, 0.0, 0.0, 0.0),
            Seen::LastChange(since) => Sightings::raw(1.0, since.seconds(), 0.0, 0.0, 0.0),
            Seen::Changed => Sightings::raw(0.0, 0.0, 1.0, elapsed, elapsed.ln()),
        });
    }

    fn is_certain(&self, elapsed: f64) -> bool {
        let [counted, quiet, changed, within] =
            [self.counted, self.exposure_s, self.changed, self.changed_s].map(f64::from);
        is_certain(counted + changed, Period::raw(quiet + within), Period::raw(elapsed))
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Sightings) -> Sightings {
        Sightings {
            counted: self.counted + other.counted,
            exposure_s: self.exposure_s + other.exposure_s,
            changed: self.changed + other.changed,
            changed_s: self.changed_s + other.changed_s,
            changed_logs: self.changed_logs + other.changed_logs,
        }
    }

    /// The same, counting only the share `factor`, 0 to 1.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Sightings {
        let part = |number: f32| f64::from(number) * factor;
        let (changed_s, logs) = (part(self.changed_s), part(self.changed_logs));
        Sightings::raw(part(self.counted), part(self.exposure_s), part(self.changed), changed_s, logs)
    }

    /// What they tell under a prior: as much as watching so long and seeing so many changes.
    ///
    /// Exact without bare changes. With them the posterior is no gamma distribution; the one nearest to it (in the sense of Kullback
    /// and Leibler: that with the same mean of λ and of ln λ) takes its place.
    pub fn weighed(&self, prior: &Prior) -> Evidence {
        if self.changed == 0.0 {
            return Evidence::raw(f64::from(self.counted), f64::from(self.exposure_s));
        }
        self.grid(prior).evidence(prior)
    }

    /// The gamma posterior under a prior, with what was seen [weighed](Self::weighed) under it.
    pub fn posterior(&self, prior: Prior) -> Posterior {
        self.weighed(&prior).posterior(prior)
    }

    /// The rate, its interval and how much was told. Unlike the [posterior](Self::posterior), the interval is that of the likelihood
    /// itself.
    pub fn estimate(&self, prior: Prior) -> Estimate {
        self.estimate_by(prior, &mut Ends::default())
    }

    fn estimate_by(&self, prior: Prior, ends: &mut Ends) -> Estimate {
        if self.changed == 0.0 {
            return self.posterior(prior).estimate_by(ends);
        }
        let grid = self.grid(&prior);
        let (evidence, tail) = (grid.evidence(&prior), (1.0 - LEVEL) / 2.0);
        Estimate {
            rate: Rate::estimated(grid.mean),
            interval: Interval::per_second(grid.quantile(tail), grid.quantile(1.0 - tail)),
            knowledge: Knowledge::new(evidence.changes(), evidence.exposure().seconds()),
        }
    }

    /// The same under a prior that was learnt from other such pages: with no upper end where every visit found a change.
    ///
    /// There the visits set none, and how far rates reach beyond what visits can tell apart is the form of the prior, not what was
    /// learnt. The truth then lies above the lower end nine times in ten.
    ///
    /// ```
    /// use everfresh::estimate::{Observation, Prior, Sightings};
    /// use everfresh::{Period, Unit};
    /// let (day, prior) = (Period::of(1.0, Unit::Day)?, Prior::new(1.0, "1/day".parse()?)?);
    /// let mut seen = Sightings::NONE;
    /// seen.observe(&Observation::changed(day)?);
    /// // The density is e^-λ (1 - e^-λ), so that a tenth lies below -ln(1 - √0.1) = 0.3801.
    /// let interval = seen.estimate_open(prior).interval;
    /// assert!((interval.low.per_day() / 0.3801 - 1.0).abs() < 1e-3 && interval.high.is_none());
    /// seen.observe(&Observation::unchanged(day)?);
    /// assert_eq!(seen.estimate_open(prior), seen.estimate(prior));
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn estimate_open(&self, prior: Prior) -> Estimate {
        self.estimate_open_by(prior, &mut Ends::default())
    }

    /// The same for one of many pages, with the ends of intervals that are common to them.
    pub fn estimate_open_by(&self, prior: Prior, ends: &mut Ends) -> Estimate {
        let mut estimate = self.estimate_by(prior, ends);
        if self.is_unbounded() {
            let low = self.grid(&prior).quantile(1.0 - LEVEL);
            // The mean lies above: the density of ln λ is log-concave, and more than a third of such lies below its mean.
            estimate.interval = Interval::per_second(low, f64::INFINITY);
        }
        estimate
    }

    /// The prior to weigh this under: `learnt` from other pages, unless what was seen is a thousand times as likely under the weak
    /// prior of the page [alone](Self::alone).
    ///
    /// A gamma law has thin tails: without this a page that changes a hundred times as often as its like is taken for one of them,
    /// however clear its visits are. And where every visit found a change, other pages may tell that a page is slower than it seems, and hardly that
    /// it is faster (twice at most): how far rates reach beyond what visits can tell apart is the form of the prior, which nobody saw.
    ///
    /// ```
    /// use everfresh::estimate::{Observation, Prior, Sightings};
    /// use everfresh::{Period, Unit};
    /// let learnt = Prior::new(1.0, "0.2/day".parse()?)?;
    /// let mut seen = Sightings::NONE;
    /// for hour in 0..10 {
    ///     let hour_s = f64::from(hour) * 3600.0;
    ///     seen.observe(&Observation::between(hour_s, hour_s + 3600.0, hour < 7)?);
    /// }
    /// // Seven of ten hours had a change: 29 a day, which such a prior would never have thought of.
    /// assert!(seen.estimate(learnt).rate.per_day() < 2.0);
    /// assert!((25.0..33.0).contains(&seen.estimate(seen.believed(learnt)).rate.per_day()));
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    #[must_use]
    pub fn believed(&self, learnt: Prior) -> Prior {
        let gain = |own: &Prior| self.log_probability(own) - self.log_probability(&learnt);
        let is_stranger = |own: &Prior| is_far(own.mean().per_second(), &learnt) && gain(own) > OWN_ODDS.ln();
        let is_slower = |own: &Prior| self.is_unbounded() && OWN_FACTOR * self.grid(own).mean < self.grid(&learnt).mean;
        self.alone().filter(|own| is_slower(own) || is_stranger(own)).unwrap_or(learnt)
    }

    /// A weak prior around the page's own rate, of shape ½: for pages whose like is not known. None where nothing was seen.
    pub fn alone(&self) -> Option<Prior> {
        let own = Prior::raw(OWN_SHAPE, OWN_SHAPE / self.own_rate());
        own.beta().seconds().is_normal().then_some(own)
    }

    /// The likeliest rate per second, with half a quiet visit more, as long as the changed ones on average; half a change where none was seen.
    fn own_rate(&self) -> f64 {
        let [counted, exposure, changed, within] =
            [self.counted, self.exposure_s, self.changed, self.changed_s].map(f64::from);
        if changed == 0.0 {
            return counted.max(0.5) / exposure;
        }
        let time = exposure + 0.5 * within / changed;
        Density { shape: counted, time, within: self.within() }.mode().0
    }

    /// The logarithm of the probability of what was seen under a prior, up to what does not depend on the prior:
    /// `ln ∫ λ^k e^(-λe) Π (1 - e^(-λI)) dGamma(λ; α, β)`.
    fn log_probability(&self, prior: &Prior) -> f64 {
        let (alpha, beta) = (prior.alpha(), prior.beta().seconds());
        let of_prior = alpha * beta.ln() - libm::lgamma(alpha);
        if self.changed > 0.0 {
            return of_prior + self.grid(prior).log_sum;
        }
        let shape = alpha + f64::from(self.counted);
        of_prior + libm::lgamma(shape) - shape * (beta + f64::from(self.exposure_s)).ln()
    }

    /// The logarithms of the likelihoods of some rates, given as ln λ.
    pub(super) fn log_likelihoods(&self, log_rates: impl Iterator<Item = f64>) -> Vec<f64> {
        let density =
            Density { shape: f64::from(self.counted), time: f64::from(self.exposure_s), within: self.within() };
        log_rates.map(|log| density.log_at(log.exp(), log)).collect()
    }

    /// All changes, the seconds without one, and those between a visit and one that found a bare change.
    pub(super) fn totals(&self) -> Totals {
        let [counted, quiet, changed, within] =
            [self.counted, self.exposure_s, self.changed, self.changed_s].map(f64::from);
        Totals { changes: counted + changed, quiet, within }
    }

    /// The same rate, known no better than by so many changes.
    pub(super) fn with_at_most(&self, changes: f64) -> Sightings {
        let all = f64::from(self.counted) + f64::from(self.changed);
        if all > changes { self.scaled(changes / all) } else { *self }
    }

    /// Did every visit find a change, so that the rate is bounded from below only?
    pub fn is_unbounded(&self) -> bool {
        self.changed > 0.0 && self.exposure_s == 0.0
    }

    /// Its numbers in bits, by which equal ones are known.
    pub(super) fn key(&self) -> [u32; 5] {
        [self.counted, self.exposure_s, self.changed, self.changed_s, self.changed_logs].map(f32::to_bits)
    }

    /// How many bare changes there are, and within which times they came: one, or the three of Gauss's rule for a log-uniform law
    /// with this arithmetic and geometric mean.
    fn within(&self) -> Within {
        let changed = f64::from(self.changed);
        if changed == 0.0 {
            return Within { parts: [(0.0, 1.0); 3], len: 1 };
        }
        let mean = f64::from(self.changed_s) / changed;
        let log = (f64::from(self.changed_logs) / changed).min(mean.ln());
        let reach = 0.6f64.sqrt() * half_width(mean.ln() - log);
        if reach < 1e-2 {
            return Within { parts: [(changed, log.exp()); 3], len: 1 };
        }
        let part = |share: f64, x: f64| (share * changed, (log + x).exp());
        Within { parts: [part(5.0 / 18.0, -reach), part(8.0 / 18.0, 0.0), part(5.0 / 18.0, reach)], len: 3 }
    }

    fn grid(&self, prior: &Prior) -> Grid {
        let density = Density {
            shape: prior.alpha() + f64::from(self.counted),
            time: prior.beta().seconds() + f64::from(self.exposure_s),
            within: self.within(),
        };
        Grid::new(&density)
    }
}

/// Was a change certain within `elapsed`, for a page that was seen to change so often while it was watched for the time `watched`?
///
/// The rate is at least `λ = k (1 - 1/(9k) - 2/(3√k))³ / watched` with a probability of 98 % (Wilson and Hilferty's quantile of a gamma law; changes
/// that hide others only raise it), and `λ elapsed > 5`: hardly one such visit in a hundred finds no change.
///
/// ```
/// use everfresh::estimate::is_certain;
/// use everfresh::{Period, Unit};
/// let hours = |n| Period::of(n, Unit::Hour);
/// // Five changes in ten hours: one a day is certain to be seen, one in three hours is not.
/// assert!(is_certain(5.0, hours(10.0)?, hours(48.0)?) && !is_certain(5.0, hours(10.0)?, hours(3.0)?));
/// // Of a page that changed once hardly anything is.
/// assert!(!is_certain(1.0, hours(10.0)?, hours(1000.0)?));
/// # Ok::<(), everfresh::Error>(())
/// ```
pub fn is_certain(changes: f64, watched: Period, elapsed: Period) -> bool {
    let times = elapsed.seconds() / watched.seconds();
    // Most visits are not worth a root.
    if changes * times <= SURELY {
        return false;
    }
    let least = 1.0 - 1.0 / (9.0 * changes) - 2.0 / (3.0 * changes.sqrt());
    changes * least.max(0.0).powi(3) * times > SURELY
}

/// As many changes, expected, are certain to be at least one.
const SURELY: f64 = 5.0;

/// Is a rate so far from what a prior expects that a page might be no page of its kind? By the exponent of its large deviations; what is nearer
/// has no odds of a thousand, and is not worth two integrals.
fn is_far(rate: f64, prior: &Prior) -> bool {
    let (alpha, x) = (prior.alpha(), rate * prior.beta().seconds());
    x - alpha - alpha * (x / alpha).ln() > 4.0
}

/// What the visits of a page saw, in sums.
pub(super) struct Totals {
    pub changes: f64,
    pub quiet: f64,
    pub within: f64,
}

/// The shape of the weak prior of a page that contradicts its like, and how much likelier that must be.
const OWN_SHAPE: f64 = 0.5;
const OWN_ODDS: f64 = 1000.0;

/// Other pages may raise the rate of one that changed at every visit by so much.
const OWN_FACTOR: f64 = 2.0;

/// Up to three times and how many bare changes came within each.
struct Within {
    parts: [(f64, f64); 3],
    len: usize,
}

impl Within {
    fn iter(&self) -> impl Iterator<Item = (f64, f64)> {
        self.parts.iter().copied().take(self.len)
    }
}

/// The half width w of the log-uniform law whose mean's logarithm exceeds the mean of its logarithm by `gap`: `ln(sinh(w)/w) = gap`.
fn half_width(gap: f64) -> f64 {
    if gap < 1e-6 {
        return (6.0 * gap).sqrt();
    }
    solve(gap, (6.0 * gap).sqrt().max(gap), |w| {
        let value = w + (-(-2.0 * w).exp_m1() / (2.0 * w)).ln();
        Evaluation { value: value.max(0.0), elasticity: (w / w.tanh() - 1.0) / value }
    })
}

/// The posterior density of ln λ: `λ^shape e^(-time λ) Π (1 - e^(-λ length))^count`. Its logarithm is concave.
struct Density {
    shape: f64,
    time: f64,
    within: Within,
}

/// `r/(e^r - 1)`, which falls from 1 to 0, and its slope in ln r.
fn pull(r: f64) -> (f64, f64) {
    let pull = if r > 0.0 { r / r.exp_m1() } else { 1.0 };
    (pull, if pull > 0.0 { pull * (1.0 - pull - r) } else { 0.0 })
}

impl Density {
    /// The logarithm, at λ = `mode` e^x, up to a constant.
    fn log(&self, mode: f64, x: f64) -> f64 {
        self.log_at(mode * x.exp(), x)
    }

    fn log_at(&self, rate: f64, x: f64) -> f64 {
        let chance = LogChance::table();
        let seen: f64 = self.within.iter().map(|(count, length)| count * chance.at(rate * length)).sum();
        self.shape * x - self.time * rate + seen
    }

    /// The λ at which it is largest, and its width there: where `time λ` balances the pull of the changes.
    fn mode(&self) -> (f64, f64) {
        let balance = |rate: f64| {
            let (mut pulled, mut slope) = (self.shape, 0.0);
            for (count, length) in self.within.iter() {
                let (pull, its_slope) = pull(rate * length);
                (pulled, slope) = (pulled + count * pull, slope + count * its_slope);
            }
            (pulled, 1.0 - slope / pulled)
        };
        let (count, time) =
            self.within.iter().fold((0.0, 0.0), |(n, time), (count, length)| (n + count, time + count * length));
        let mode = solve(1.0, (self.shape + count) / (self.time + 0.5 * time), |rate| {
            let (pulled, elasticity) = balance(rate);
            Evaluation { value: self.time * rate / pulled, elasticity }
        });
        let (pulled, elasticity) = balance(mode);
        (mode, (pulled * elasticity).sqrt().recip())
    }
}

/// The density of ln λ at evenly spaced points, from where it begins to count to where it ends.
struct Grid {
    /// The first λ, and the logarithm of the ratio of two neighbours.
    first: f64,
    step: f64,
    /// At each point, their sum being 1; beyond the last point 0.
    share: [f64; MOST_POINTS],
    points: usize,
    mean: f64,
    /// ln of the mean less the mean of ln λ.
    log_gap: f64,
    /// ln of the integral of the density.
    log_sum: f64,
}

/// The sum over points converges faster than any power of their distance: a third of the width of the peak gives six digits. Quantiles
/// between points, and peaks that are steep on one side, need some more.
const MOST_POINTS: usize = 49;
const FEWEST_POINTS: f64 = 29.0;

/// Where the density is e^-16 of its peak it no longer counts.
const DROP: f64 = 16.0;

impl Grid {
    fn new(density: &Density) -> Grid {
        let (mode, width) = density.mode();
        let top = density.log(mode, 0.0);
        let reach = |direction: f64| {
            let mut x = 4.0 * width;
            // Rates do not lie farther apart.
            while x < 200.0 && density.log(mode, direction * x) > top - DROP {
                x *= 1.2;
            }
            x
        };
        let (below, above) = (reach(-1.0), reach(1.0));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
        let points = ((below + above) / (0.33 * width)).clamp(FEWEST_POINTS, MOST_POINTS as f64) as usize;
        let step = (below + above) / (points - 1) as f64;
        let (first, ratio) = (mode * (-below).exp(), step.exp());
        let (mut rate, mut share, mut sums) = (first, [0.0; MOST_POINTS], [0.0; 3]);
        for (point, share) in share.iter_mut().enumerate().take(points) {
            let x = point as f64 * step - below;
            *share = (density.log_at(rate, x) - top).exp();
            sums = [sums[0] + *share, sums[1] + *share * rate, sums[2] + *share * x];
            rate *= ratio;
        }
        let [total, rates, logs] = sums;
        let mean = rates / total;
        let log_gap = ((mean / mode).ln() - logs / total).max(1e-12);
        let log_sum = density.shape * mode.ln() + top + (total * step).ln();
        Grid { first, step, share: share.map(|share| share / total), points, mean, log_gap, log_sum }
    }

    /// What the nearest gamma distribution has beyond the prior.
    fn evidence(&self, prior: &Prior) -> Evidence {
        let shape = shape_of_log_gap(self.log_gap);
        Evidence::raw((shape - prior.alpha()).max(0.0), (shape / self.mean - prior.beta().seconds()).max(0.0))
    }

    /// The λ below which lies this share.
    fn quantile(&self, share: f64) -> f64 {
        let at = |point: usize| self.share.get(point).copied().unwrap_or(0.0);
        let (mut sum, mut before) = (0.0, 0.0);
        for point in 0..self.points {
            // The integral up to a point: half of the point's own share, and the first correction of Euler and Maclaurin.
            let (near, far) = (at(point + 1) - at(point.wrapping_sub(1)), at(point + 2) - at(point.wrapping_sub(2)));
            let up_to = sum + 0.5 * at(point) - (8.0 * near - far) / 144.0;
            if up_to >= share && point > 0 {
                let within = hermite(before, up_to, at(point - 1), at(point), share);
                return self.first * (((point - 1) as f64 + within) * self.step).exp();
            }
            sum += at(point);
            before = up_to;
        }
        self.first * ((self.points - 1) as f64 * self.step).exp()
    }
}

/// Where between 0 and 1 the cubic with these values and slopes at both ends has the value `target`.
fn hermite(from: f64, to: f64, from_slope: f64, to_slope: f64, target: f64) -> f64 {
    let value = |t: f64| {
        let u = 1.0 - t;
        from * u * u * (1.0 + 2.0 * t) + to * t * t * (3.0 - 2.0 * t) + t * u * (u * from_slope - t * to_slope)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..10 {
        let middle = 0.5 * (low + high);
        if value(middle) < target { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}
