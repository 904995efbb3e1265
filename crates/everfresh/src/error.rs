use std::ops::Bound;

/// What can be wrong with a value handed to this library.
///
/// A message names the thing, its bound and the value that was given, in lower case and without a full stop, so that a
/// program can put its own context in front: `pages.csv line 3: rate must be at least 0 and finite, got -2`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number lies outside the domain of what it stands for.
    #[error("{what} must be {bound}, got {}", plain(*value))]
    OutOfBounds {
        /// What the number stands for.
        what: &'static str,
        /// The bound, in words that follow "must be".
        bound: &'static str,
        /// The number.
        value: f64,
    },
    /// A text is not a quantity in the grammar of [`crate::units`].
    #[error("cannot read `{text}` as a {what}: {why}")]
    Unreadable {
        /// What was expected, for example "rate".
        what: &'static str,
        /// The text as given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A collection that must have content has none, or none that counts.
    #[error("{0}")]
    Empty(&'static str),
    /// What is promised costs more than there is.
    #[error(
        "cannot plan: the maximum periods {} cost {} per day, {} more than the budget of {}",
        if *with_floor { "and the floor together" } else { "alone" },
        per_day(*needed_per_second),
        per_day(needed_per_second - budget_per_second),
        per_day(*budget_per_second)
    )]
    Infeasible {
        /// What the maximum periods cost.
        needed_per_second: f64,
        /// What there is.
        budget_per_second: f64,
        /// Whether that is with a floor.
        with_floor: bool,
    },
    /// What is promised to the pages of a host costs more than its cap.
    #[error(
        "cannot plan: the maximum periods on host {host} alone cost {} per day, {} more than its cap of {}",
        per_day(*needed_per_second),
        per_day(needed_per_second - cap_per_second),
        per_day(*cap_per_second)
    )]
    HostInfeasible {
        /// The host, by its place in the list of caps.
        host: u32,
        /// What the maximum periods of its pages cost.
        needed_per_second: f64,
        /// Its cap.
        cap_per_second: f64,
    },
    /// A page whose curve is not the exponential, on terms on which only that one is planned.
    #[error("only exponential pages are planned for {on}: other curves for freshness under fixed order")]
    CurveNotPlanned {
        /// The terms, in words.
        on: &'static str,
    },
    /// Two facts that were given contradict each other.
    #[error("{0}")]
    Inconsistent(String),
}

fn per_day(per_second: f64) -> String {
    crate::units::significant(per_second * crate::units::Unit::Day.seconds(), 6)
}

/// A number as people write it: very large and very small ones with an exponent.
fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() || (1e-6..1e15).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// The result of everything here that can be handed a bad value.
pub type Result<T> = std::result::Result<T, Error>;

/// Checks that `value` is a number between two bounds; the words say the same for the reader of the message.
pub(crate) fn within(
    what: &'static str,
    value: f64,
    low: Bound<f64>,
    high: Bound<f64>,
    bound: &'static str,
) -> Result<f64> {
    let above = match low {
        Bound::Included(low) => value >= low,
        Bound::Excluded(low) => value > low,
        Bound::Unbounded => !value.is_nan(),
    };
    let below = match high {
        Bound::Included(high) => value <= high,
        Bound::Excluded(high) => value < high,
        Bound::Unbounded => !value.is_nan(),
    };
    if above && below { Ok(value) } else { Err(Error::OutOfBounds { what, bound, value }) }
}

/// A number above zero and below infinity.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64> {
    within(what, value, Bound::Excluded(0.0), Bound::Excluded(f64::INFINITY), "positive and finite")
}

/// The magnitudes that the library computes with: wider than any page (a change in 3e12 years, 1e20 changes a second) and
/// narrow enough that no product of rates, weights, costs and utilities overflows.
pub(crate) const SMALLEST: f64 = 1e-20;
pub(crate) const LARGEST: f64 = 1e20;

/// A positive number of a sane magnitude.
#[inline]
pub(crate) fn magnitude(what: &'static str, value: f64) -> Result<f64> {
    if (SMALLEST..=LARGEST).contains(&value) { Ok(value) } else { no_magnitude(what, value) }
}

#[cold]
fn no_magnitude(what: &'static str, value: f64) -> Result<f64> {
    positive(what, value)?;
    within(what, value, Bound::Included(SMALLEST), Bound::Included(LARGEST), "between 1e-20 and 1e20")
}

/// Zero, or a positive number of a sane magnitude.
pub(crate) fn magnitude_or_zero(what: &'static str, value: f64) -> Result<f64> {
    if not_negative(what, value)? == 0.0 {
        return Ok(0.0);
    }
    within(what, value, Bound::Included(SMALLEST), Bound::Included(LARGEST), "0 or between 1e-20 and 1e20")
}

/// A number from zero up, below infinity.
pub(crate) fn not_negative(what: &'static str, value: f64) -> Result<f64> {
    // Adding zero takes the sign off a negative zero, whose reciprocal would be minus infinity.
    Ok(within(what, value, Bound::Included(0.0), Bound::Excluded(f64::INFINITY), "at least 0 and finite")? + 0.0)
}
