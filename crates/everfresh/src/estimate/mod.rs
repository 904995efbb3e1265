//! Estimators: from what visits saw to how fast a page changes, with what is not known.
//!
//! An [`Observation`] is what two consecutive visits say together: the time between them, and what changed. An
//! [`Estimator`] takes observations in and gives an [`Estimate`] out: a rate, an interval that holds it nine times in ten, and
//! how much it knows. A failed visit is no observation; the next good one covers the time since the last good one.
//!
//! | estimator | takes | state | for |
//! | --- | --- | --- | --- |
//! | [`Naive`] | anything | 2 numbers | comparison: biased low when pages change faster than they are visited |
//! | [`Ratio`] | changed or not, at regular visits | 3 numbers | CGM's bias-corrected estimator |
//! | [`MaximumLikelihood`] | anything | up to 64 pairs | irregular visits, without a prior |
//! | [`LastChange`] | last-change times | 3 numbers | sources that tell when they last changed |
//! | [`Gamma`] | anything | 20 bytes and a shared [`Prior`] | everything: few visits, many pages |
//! | [`Drifting`] | anything | 24 bytes and shared habits | pages that change their habits |
//! | [`Renewal`] | anything | 3 numbers and a shared shape | bursty pages: a change makes the next likelier |
//! | [`TwoRate`] | anything | 3 numbers and a shared [`TwoRates`] | pages with busy and quiet times |
//!
//! [`Hierarchy`] learns priors from the pages themselves, by group; [`profile`] learns the hours and weekdays of a group;
//! [`poisson`] asks whether changes are Poisson at all; [`foresight`](foresight()) scores any of them on what comes next. Every estimator passes the suite in [`checks`].

pub mod checks;
mod doubt;
mod drift;
mod foresight;
mod gamma;
mod hierarchy;
mod last_change;
mod likelihood;
mod naive;
pub mod poisson;
pub mod profile;
mod ratio;
mod renewal;
mod sightings;
mod two_rate;

pub use drift::{Drifting, Habits, PageState};
pub use foresight::{Foresight, best_foreseen, foresight};
pub use gamma::{Ends, Evidence, Gamma, Posterior, Prior};
pub use hierarchy::{Hierarchy, Population};
pub use last_change::LastChange;
pub use likelihood::MaximumLikelihood;
pub use naive::Naive;
pub use profile::{Clock, Profile};
pub use ratio::Ratio;
pub use renewal::{Renewal, best_shape};
pub use sightings::{Sightings, is_certain};
pub use two_rate::{TwoRate, TwoRates, best_rhythm};

use crate::error::{Error, Result, magnitude};
use crate::units::{Period, Rate};

/// The level of every [`Interval`]: nine in ten.
pub const LEVEL: f64 = 0.9;

/// What a visit saw of the time since the visit before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// The same content: no change.
    Unchanged,
    /// Another content: at least one change.
    Changed,
    /// Another content, whose last change the source dates: so long before the visit.
    LastChange(Period),
    /// So many changes, all of them known (a feed, a version number). None is the same as unchanged.
    Changes(u32),
}

/// What two consecutive visits say together: the time between them and what changed meanwhile.
///
/// ```
/// use everfresh::estimate::Observation;
/// use everfresh::{Period, Unit};
///
/// let day = Period::of(1.0, Unit::Day)?;
/// let seen = Observation::last_change(day, Period::of(2.0, Unit::Hour)?)?;
/// assert!(seen.has_changed());
/// let error = Observation::between(1000.0, 400.0, false).unwrap_err();
/// assert_eq!(error.to_string(), "elapsed time in seconds must be positive and finite, got -600");
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    elapsed: f64,
    seen: Seen,
}

impl Observation {
    /// The same content as `elapsed` before.
    pub fn unchanged(elapsed: Period) -> Result<Self> {
        Observation::new(elapsed, Seen::Unchanged)
    }

    /// Another content than `elapsed` before.
    pub fn changed(elapsed: Period) -> Result<Self> {
        Observation::new(elapsed, Seen::Changed)
    }

    /// Another content than `elapsed` before, that the source says it has had for the time `since_change` (at most
    /// `elapsed`).
    pub fn last_change(elapsed: Period, since_change: Period) -> Result<Self> {
        Observation::new(elapsed, Seen::LastChange(since_change))
    }

    /// Another content than `elapsed` before, with the date of its last change as a server gave it: `since_change` before the visit.
    ///
    /// A date that is within a thousandth of the elapsed time of the visit is the visit's own, as servers give it that make
    /// their pages when they are asked for. It says no more than that there was a change: believed, a handful of such pages would have everybody
    /// change every second. Only pages that change hundreds of times between visits have true dates so close.
    ///
    /// ```
    /// use everfresh::estimate::Observation;
    /// use everfresh::{Period, Unit};
    /// let day = Period::of(1.0, Unit::Day)?;
    /// assert_eq!(Observation::dated(day, Period::of(1.0, Unit::Second)?)?, Observation::changed(day)?);
    /// let hours = Period::of(3.0, Unit::Hour)?;
    /// assert_eq!(Observation::dated(day, hours)?, Observation::last_change(day, hours)?);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn dated(elapsed: Period, since_change: Period) -> Result<Self> {
        let is_of_the_visit = since_change.seconds() < elapsed.seconds() / 1000.0;
        if is_of_the_visit { Observation::changed(elapsed) } else { Observation::last_change(elapsed, since_change) }
    }

    /// `changes` changes since `elapsed` before; 0 is the same as unchanged.
    pub fn changes(elapsed: Period, changes: u32) -> Result<Self> {
        Observation::new(elapsed, if changes == 0 { Seen::Unchanged } else { Seen::Changes(changes) })
    }

    /// What two visits say, by their times in seconds from any common start; time must not run backwards or stand still.
    #[inline]
    pub fn between(before_s: f64, now_s: f64, changed: bool) -> Result<Self> {
        let elapsed = Period::raw(now_s - before_s);
        Observation::new(elapsed, if changed { Seen::Changed } else { Seen::Unchanged })
    }

    #[inline]
    fn new(elapsed: Period, seen: Seen) -> Result<Self> {
        let seconds = magnitude("elapsed time in seconds", elapsed.seconds())?;
        if let Seen::LastChange(since) = seen
            && !(since.seconds() >= 0.0 && since <= elapsed)
        {
            return Err(Error::Inconsistent(format!(
                "last change must lie between the two visits, {elapsed} apart, got {since} before the second"
            )));
        }
        Ok(Observation { elapsed: seconds, seen })
    }

    /// The same observation with another elapsed time, which must be of a legal magnitude: for operational time.
    pub(crate) fn stretched(&self, seconds: f64) -> Self {
        let elapsed = seconds.clamp(crate::error::SMALLEST, crate::error::LARGEST);
        let seen = match self.seen {
            Seen::LastChange(since) => Seen::LastChange(Period::raw(since.seconds() * elapsed / self.elapsed)),
            other => other,
        };
        Observation { elapsed, seen }
    }

    /// The time between the two visits.
    pub const fn elapsed(&self) -> Period {
        Period::raw(self.elapsed)
    }

    /// What the second visit saw.
    pub const fn seen(&self) -> Seen {
        self.seen
    }

    /// Was there a change?
    pub const fn has_changed(&self) -> bool {
        !matches!(self.seen, Seen::Unchanged)
    }
}

/// Between which rates the truth lies, with what certainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: Rate,
    /// The upper end; none where the data set none: every visit found a change.
    pub high: Option<Rate>,
    /// The certainty, [`LEVEL`].
    pub level: f64,
}

impl Interval {
    /// An interval from ends per second; an infinite end is none.
    pub(crate) fn per_second(low: f64, high: f64) -> Interval {
        Interval { low: Rate::estimated(low), high: high.is_finite().then(|| Rate::estimated(high)), level: LEVEL }
    }

    /// Does the interval hold this rate?
    pub fn contains(&self, rate: Rate) -> bool {
        self.low <= rate && self.high.is_none_or(|high| rate <= high)
    }
}

/// How much the visits told: as much as watching a page without pause for `exposure` and seeing `changes` changes.
///
/// The relative standard error of a rate is about `1/sqrt(changes)`. Nothing observed is zero and zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knowledge {
    /// The number of changes that would tell as much.
    pub changes: f64,
    /// The time of watching that would tell as much.
    pub exposure: Period,
}

impl Knowledge {
    pub(crate) fn new(changes: f64, seconds: f64) -> Knowledge {
        Knowledge { changes, exposure: Period::raw(seconds) }
    }
}

/// What an estimator says of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// λ: the mean of what the page's rate may be, or the point estimate of an estimator without a prior.
    pub rate: Rate,
    /// Where the rate lies, nine times in ten.
    pub interval: Interval,
    /// How much the visits told.
    pub knowledge: Knowledge,
}

/// Learns how fast one page changes from what its visits saw.
pub trait Estimator {
    /// Takes in what the next visit saw.
    fn observe(&mut self, observation: &Observation);

    /// The rate, as far as it is known now. Always finite; with nothing observed the prior, or a static page without one.
    fn estimate(&self) -> Estimate;

    /// The probability that a visit finds a change when it comes `elapsed` after the last one: 0 at 0, non-decreasing.
    ///
    /// It is the predictive divergence curve D(t). Unless an estimator knows better, that of its point estimate.
    fn change_probability(&self, elapsed: Period) -> f64 {
        -(-(self.estimate().rate * elapsed)).exp_m1()
    }
}

impl<E: Estimator + ?Sized> Estimator for Box<E> {
    fn observe(&mut self, observation: &Observation) {
        (**self).observe(observation);
    }

    fn estimate(&self) -> Estimate {
        (**self).estimate()
    }

    fn change_probability(&self, elapsed: Period) -> f64 {
        (**self).change_probability(elapsed)
    }
}
