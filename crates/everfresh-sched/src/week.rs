use crate::zone::Zone;
use everfresh::{Error, Result};
use serde::{Deserialize, Serialize};

/// The hours of a week in which visits may begin ("only at night"; the synchronization points of CGM03 section 4, made weekly).
///
/// Times are seconds since 1970-01-01 UTC, so that a scheduler with such limits must be told that time. Hours are those of a
/// [`Zone`], summer time included: where clocks are turned, an hour is missing once a year and comes twice once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Week {
    /// A bit for each of the 168 hours, from Monday midnight.
    hours: [u64; 3],
    zone: Zone,
    mean_wait_s: f64,
}

const HOURS: u32 = 168;
const HOUR_S: f64 = 3600.0;
/// 1970 began on a Thursday, 72 hours after a Monday began.
const FIRST_HOUR: f64 = 72.0;
/// The end of a wait is not missed for the rounding of its time.
const ROUNDING_S: f64 = 1e-6;

impl Week {
    /// Every hour.
    pub const ALWAYS: Week = Week { hours: [u64::MAX; 3], zone: Zone::UTC, mean_wait_s: 0.0 };

    /// The hours for which `is_open(day, hour)`: days from 0, Monday, to 6, hours from 0 to 23. At least one.
    ///
    /// ```
    /// use everfresh_sched::Week;
    /// // At night, and all of Sunday, in a zone one hour east of UTC.
    /// let week = Week::of(|day, hour| hour < 6 || day == 6)?.east_of_utc(3600)?;
    /// // 1970-01-01, a Thursday, 5:00 UTC: it is 6 there, and 18 hours until midnight.
    /// assert_eq!(week.wait_s(5.0 * 3600.0), 18.0 * 3600.0);
    /// assert_eq!(week.open_share(), (6.0 * 6.0 + 24.0) / 168.0);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn of(is_open: impl Fn(u8, u8) -> bool) -> Result<Week> {
        let mut week = Week { hours: [0; 3], zone: Zone::UTC, mean_wait_s: 0.0 };
        for day in 0..7u8 {
            for hour in (0..24u8).filter(|hour| is_open(day, *hour)) {
                let number = u32::from(day) * 24 + u32::from(hour);
                week.hours[(number / 64) as usize] |= 1 << (number % 64);
            }
        }
        if week.hours == [0; 3] {
            return Err(Error::OutOfBounds { what: "open hours in a week", bound: "at least 1", value: 0.0 });
        }
        // Whoever comes in the middle of an hour waits as long as one comes on average within it.
        let middles = (0..HOURS).map(|number| week.wait_s((f64::from(number) + 0.5) * HOUR_S));
        week.mean_wait_s = middles.sum::<f64>() / f64::from(HOURS);
        Ok(week)
    }

    /// How long one waits on average who comes at any time, in seconds.
    pub const fn mean_wait_s(&self) -> f64 {
        self.mean_wait_s
    }

    /// How long one waits on average, in seconds, where as many come as can be served in the open hours: for these, and in the queue that has
    /// grown meanwhile.
    ///
    /// All come at a steady rate a and are served at a/share while it is open. The queue is then how far the sum of both is above its
    /// lowest, which it touches once a week, and the mean wait is the mean queue over a (Little's law).
    ///
    /// ```
    /// use everfresh_sched::Week;
    /// // It grows for 18 hours and shrinks for 6, between 0 and 18 hours' worth.
    /// assert!((Week::of(|_, hour| hour < 6)?.mean_wait_in_queue_s() / 3600.0 - 9.0).abs() < 1e-9);
    /// assert_eq!(Week::ALWAYS.mean_wait_in_queue_s(), 0.0);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn mean_wait_in_queue_s(&self) -> f64 {
        if self.hours == Week::ALWAYS.hours {
            return 0.0;
        }
        let (share, mut sum, mut least, mut total) = (self.open_share(), 0.0, 0.0f64, 0.0);
        for number in 0..HOURS {
            let before = sum;
            sum += 1.0 - if self.is_open(number) { 1.0 / share } else { 0.0 };
            (least, total) = (least.min(sum), total + (before + sum) / 2.0);
        }
        (total / f64::from(HOURS) - least) * HOUR_S
    }

    /// The same in a zone so many seconds east of UTC: at most a day.
    pub fn east_of_utc(self, seconds: i32) -> Result<Week> {
        Ok(self.in_zone(Zone::east_of_utc(seconds)?))
    }

    /// The same by the clocks of a zone.
    #[must_use]
    pub const fn in_zone(self, zone: Zone) -> Week {
        Week { zone, ..self }
    }

    fn is_open(&self, number: u32) -> bool {
        self.hours[(number / 64) as usize] >> (number % 64) & 1 == 1
    }

    /// How long to wait at a time until an hour is open, in seconds: 0 if one is, and at the end of all time.
    pub fn wait_s(&self, unix_s: f64) -> f64 {
        if self.hours == Week::ALWAYS.hours || !unix_s.is_finite() {
            return 0.0;
        }
        let (mut at, mut waited) = (unix_s, 0.0);
        // Each turn of the clocks that is waited through is looked at anew; a week has two at most.
        for _ in 0..4 {
            let wait = self.wait_on_the_wall(at + self.zone.offset_s(at) + FIRST_HOUR * HOUR_S);
            match self.zone.turns_after(at) {
                Some(turn) if wait > 0.0 && turn <= at + wait + ROUNDING_S => {
                    waited += turn - at;
                    at = turn;
                }
                _ => return waited + wait,
            }
        }
        waited
    }

    /// The same, if clocks are not turned, from a time since a Monday's beginning.
    fn wait_on_the_wall(&self, local_s: f64) -> f64 {
        let begun = ((local_s + ROUNDING_S) / HOUR_S).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an hour of the week")]
        let now = begun.rem_euclid(f64::from(HOURS)) as u32 % HOURS;
        match (0..HOURS).find(|later| self.is_open((now + later) % HOURS)) {
            None | Some(0) => 0.0,
            Some(later) => (begun + f64::from(later)) * HOUR_S - local_s,
        }
    }

    /// The share of the week that is open.
    pub fn open_share(&self) -> f64 {
        (0..HOURS).filter(|number| self.is_open(*number)).count() as f64 / f64::from(HOURS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::lot;

    #[test]
    fn a_wait_ends_in_an_open_hour_and_skips_none() {
        for start in [0.0, 1.7e9, -1e9] {
            let week = Week::of(|day, hour| lot(3, day.into(), hour.into()) < 0.1).unwrap().east_of_utc(-5400).unwrap();
            for step in 0..3000 {
                let unix_s = start + 1e6 * lot(4, step, 0);
                let wait = week.wait_s(unix_s);
                assert_eq!(week.wait_s(unix_s + wait), 0.0, "{unix_s} {wait}");
                let mut before = 0.0;
                while before < wait - 1.0 {
                    assert!(week.wait_s(unix_s + before) > 0.0, "{unix_s} {before} {wait}");
                    before += 600.0;
                }
            }
        }
    }

    #[test]
    fn the_mean_wait_is_that_of_times_at_random() {
        let nights = Week::of(|_, hour| hour < 6).unwrap();
        // 18 hours of 24 are closed, and the wait in them is 9 hours on average.
        assert!((nights.mean_wait_s() / HOUR_S - 0.75 * 9.0).abs() < 1e-9);
        let week = Week::of(|day, hour| lot(3, day.into(), hour.into()) < 0.1).unwrap();
        let mean = (0..100_000).map(|step| week.wait_s(7.0 * 86_400.0 * lot(5, step, 0))).sum::<f64>() / 1e5;
        assert!((mean / week.mean_wait_s() - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn hours_are_those_of_the_clock_on_the_wall() {
        let berlin = Week::of(|_, hour| hour == 3).unwrap().in_zone(Zone::named("Europe/Berlin").unwrap());
        // 3:00 is 2:00 UTC in winter and 1:00 UTC from 2026-03-29, 1:00 UTC, on: at the turn itself it is 3:00.
        let (winter, turn) = (1_774_576_800.0, 1_774_746_000.0);
        assert_eq!((berlin.wait_s(winter), berlin.wait_s(winter - 60.0)), (0.0, 60.0));
        assert_eq!((berlin.wait_s(turn), berlin.wait_s(turn - 7200.0)), (0.0, 7200.0));
        assert_eq!(berlin.wait_s(turn + 3600.0), 23.0 * HOUR_S);
        for step in 0..2000 {
            let unix_s = turn + 6e7 * (lot(6, step, 0) - 0.5);
            let wait = berlin.wait_s(unix_s);
            assert!(wait <= 25.0 * HOUR_S && berlin.wait_s(unix_s + wait) == 0.0, "{unix_s} {wait}");
            assert!(wait < 1.0 || berlin.wait_s(unix_s + 0.9 * wait) > 0.0, "{unix_s} {wait}");
        }
    }

    #[test]
    fn monday_is_monday() {
        // 2026-01-05 was a Monday; 00:00 UTC.
        let monday = Week::of(|day, hour| (day, hour) == (0, 0)).unwrap();
        assert_eq!(monday.wait_s(1_767_571_200.0), 0.0);
        assert_eq!(monday.wait_s(1_767_571_200.0 - 1.0), 1.0);
        assert_eq!(monday.wait_s(1_767_571_200.0 + 3600.0), 167.0 * 3600.0);
    }
}
