//! The time of a run: that of the world, or one that goes faster.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Tells the time in seconds since 1970, to the microsecond, as the visit log has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// The system's.
    Real,
    /// One that said `start_s` at `since` and goes `speed` times as fast.
    Fast { start_s: f64, since: Instant, speed: f64 },
}

impl Clock {
    /// A clock that begins now and goes `speed` times as fast.
    pub(crate) fn fast(start_s: f64, speed: f64) -> Clock {
        Clock::Fast { start_s, since: Instant::now(), speed }
    }

    pub(crate) fn now_s(&self) -> f64 {
        let seconds = match self {
            Clock::Real => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
            Clock::Fast { start_s, since, speed } => start_s + speed * since.elapsed().as_secs_f64(),
        };
        (1e6 * seconds).round() / 1e6
    }

    /// The time as a date.
    pub(crate) fn date(&self) -> jiff::Timestamp {
        #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
        let micros = (1e6 * self.now_s()).round() as i64;
        jiff::Timestamp::from_microsecond(micros).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }

    /// How long one really waits until a time.
    pub(crate) fn wait(&self, until_s: f64) -> Duration {
        let speed = if let Clock::Fast { speed, .. } = self { *speed } else { 1.0 };
        Duration::try_from_secs_f64(((until_s - self.now_s()) / speed).clamp(0.0, 1e9)).unwrap_or_default()
    }
}
