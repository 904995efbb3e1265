use serde::{Deserialize, Serialize};
/// Ticks in a second.
const PER_SECOND: f64 = 8.0;

/// A time in eighths of a second since the scheduler's start: four bytes that last for 17 years.
///
/// Later times are [`Tick::LAST`]; so is "never", since a page that is due after 17 years is not due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Tick(u32);

impl Tick {
    pub(crate) const LAST: Tick = Tick(u32::MAX);

    /// The last tick that is not after a time.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
    pub(crate) fn floor(seconds: f64) -> Tick {
        Tick((seconds * PER_SECOND) as u32)
    }

    /// The first tick that is not before a time.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
    pub(crate) fn ceil(seconds: f64) -> Tick {
        Tick((seconds * PER_SECOND).ceil() as u32)
    }

    /// Seconds since the start.
    pub(crate) fn seconds(self) -> f64 {
        f64::from(self.0) / PER_SECOND
    }
}
