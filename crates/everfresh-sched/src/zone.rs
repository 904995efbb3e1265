use everfresh::{Error, Result};
use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::{Offset, TimeZone};
use serde::{Deserialize, Serialize};

/// How far a clock on the wall is from UTC, with summer time by a yearly rule: 36 bytes that need no database to be read.
///
/// A rule is what the IANA database foresees from 2026 on; for times before that it is only like the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// East of UTC, outside of summer time.
    standard_s: i32,
    summer: Option<Summer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Summer {
    east_s: i32,
    begins: Turn,
    ends: Turn,
}

/// A time that comes once a year: so many seconds after the beginning of a certain weekday of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Turn {
    month: i8,
    /// Which of them; -1 is the last.
    nth: i8,
    /// From 1, Monday, to 7.
    weekday: i8,
    seconds: i32,
}

const DAY_S: i64 = 86_400;
/// 2026-01-01 and twenty years later, in seconds since 1970: the rule must hold in between.
const RULED: (i64, i64) = (1_767_225_600, 2_398_377_600);

impl Turn {
    /// When it comes in a year, in seconds since 1970 on a clock on the wall.
    fn in_year(self, year: i16) -> Option<i64> {
        let weekday = Weekday::from_monday_one_offset(self.weekday).ok()?;
        let date = Date::new(year, self.month, 1).ok()?.nth_weekday_of_month(self.nth, weekday).ok()?;
        let midnight = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?.as_second();
        Some(midnight + i64::from(self.seconds))
    }

    /// The turn that comes at all of these times (on a clock on the wall), a year apart each. Zones whose rule is "the Friday before the
    /// last Sunday" count from another day than that of the turn.
    fn at_all(walls: &[i64]) -> Option<Turn> {
        let first = *walls.first()?;
        let turns = (-1..=1i64).flat_map(|days| [1, 2, 3, 4, -1].map(|nth| (days, nth)));
        turns
            .filter_map(|(days, nth)| Turn::like(first, days, nth))
            .find(|turn| walls.iter().all(|wall| year_of(*wall).and_then(|year| turn.in_year(year)) == Some(*wall)))
    }

    /// A turn at a time, counted from the n-th of the weekday so many days before.
    fn like(wall: i64, days: i64, nth: i8) -> Option<Turn> {
        let midnight = wall.div_euclid(DAY_S) * DAY_S - days * DAY_S;
        let date = Offset::UTC.to_datetime(Timestamp::from_second(midnight).ok()?).date();
        let seconds = i32::try_from(wall - midnight).ok()?;
        Some(Turn { month: date.month(), nth, weekday: date.weekday().to_monday_one_offset(), seconds })
    }
}

fn year_of(wall: i64) -> Option<i16> {
    Some(Offset::UTC.to_datetime(Timestamp::from_second(wall).ok()?).year())
}

impl Zone {
    /// The clock that all times are told by.
    pub const UTC: Zone = Zone { standard_s: 0, summer: None };

    /// A zone so many seconds east of UTC, all year: at most a day.
    pub fn east_of_utc(seconds: i32) -> Result<Zone> {
        if !(-86_400..=86_400).contains(&seconds) {
            let value = seconds.into();
            return Err(Error::OutOfBounds { what: "distance from UTC in seconds", bound: "at most a day", value });
        }
        Ok(Zone { standard_s: seconds, summer: None })
    }

    /// A zone by its name in the IANA database, a copy of which is built in.
    ///
    /// Refused where there is no such zone, or none with one yearly rule from 2026 on: Morocco's summer time follows the moon.
    ///
    /// ```
    /// use everfresh_sched::Zone;
    /// let berlin = Zone::named("Europe/Berlin")?;
    /// // 2026-01-15 and 2026-07-15, both at 12:00 UTC.
    /// assert_eq!(berlin.offset_s(1_768_478_400.0), 3600.0);
    /// assert_eq!(berlin.offset_s(1_784_116_800.0), 7200.0);
    /// assert!(Zone::named("Europe/Atlantis").is_err());
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Zone> {
        let refused =
            Error::OutOfBounds { what: "time zone", bound: "a known zone with a yearly rule", value: f64::NAN };
        let zone = TimeZone::get(name).map_err(|_| refused.clone())?;
        Zone::of(&zone).ok_or(refused)
    }

    fn of(zone: &TimeZone) -> Option<Zone> {
        let (from, to) = (Timestamp::from_second(RULED.0).ok()?, Timestamp::from_second(RULED.1).ok()?);
        let mut before = zone.to_offset(from).seconds();
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        let mut offsets = vec![before];
        for turn in zone.following(from).take_while(|turn| turn.timestamp() < to) {
            let (after, at) = (turn.offset().seconds(), turn.timestamp().as_second());
            let wall = at + i64::from(before);
            if after > before {
                begins.push(wall);
            } else {
                ends.push(wall);
            }
            offsets.push(after);
            before = after;
        }
        let (standard_s, east_s) = (*offsets.iter().min()?, *offsets.iter().max()?);
        if begins.is_empty() && ends.is_empty() {
            return Some(Zone { standard_s, summer: None });
        }
        let is_one_rule = offsets.iter().all(|offset| [standard_s, east_s].contains(offset))
            && (begins.len(), ends.len()) == (20, 20);
        let summer = Summer { east_s, begins: Turn::at_all(&begins)?, ends: Turn::at_all(&ends)? };
        is_one_rule.then_some(Zone { standard_s, summer: Some(summer) })
    }

    /// The two turns of the year of a time, in UTC: into summer time and out of it.
    fn turns(&self, year: i16) -> Option<(f64, f64)> {
        let summer = self.summer?;
        let begins = summer.begins.in_year(year)? - i64::from(self.standard_s);
        let ends = summer.ends.in_year(year)? - i64::from(summer.east_s);
        Some((begins as f64, ends as f64))
    }

    fn year(unix_s: f64) -> Option<i16> {
        #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate, and no such year exists")]
        year_of(unix_s.floor() as i64)
    }

    /// How far its clocks are ahead of UTC, in seconds, at a time in seconds since 1970.
    pub fn offset_s(&self, unix_s: f64) -> f64 {
        let standard = f64::from(self.standard_s);
        let Some(summer) = self.summer else { return standard };
        let Some((begins, ends)) = Zone::year(unix_s).and_then(|year| self.turns(year)) else { return standard };
        // South of the equator summer begins in the autumn of the calendar.
        let is_summer =
            if begins < ends { begins <= unix_s && unix_s < ends } else { !(ends <= unix_s && unix_s < begins) };
        if is_summer { f64::from(summer.east_s) } else { standard }
    }

    /// When its clocks are turned next after a time, if ever.
    pub(crate) fn turns_after(&self, unix_s: f64) -> Option<f64> {
        self.summer?;
        let year = Zone::year(unix_s)?;
        let turns = [year, year.checked_add(1)?].into_iter().filter_map(|year| self.turns(year));
        turns.flat_map(|(begins, ends)| [begins, ends]).filter(|turn| *turn > unix_s).min_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::lot;

    #[test]
    fn rules_say_what_the_database_says() {
        let names = ["Europe/Berlin", "America/New_York", "Australia/Sydney", "Europe/Dublin", "Asia/Kolkata"];
        let more = ["Asia/Jerusalem", "America/Sao_Paulo", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo"];
        for name in names.into_iter().chain(more) {
            let (zone, truth) = (Zone::named(name).unwrap(), TimeZone::get(name).unwrap());
            for step in 0..5000 {
                #[expect(clippy::cast_possible_truncation, reason = "whole seconds")]
                let at = RULED.0 + (lot(1, step, 2) * (RULED.1 - RULED.0) as f64) as i64;
                let offset = truth.to_offset(Timestamp::from_second(at).unwrap()).seconds();
                assert_eq!(zone.offset_s(at as f64), f64::from(offset), "{name} at {at}");
            }
            let from = Timestamp::from_second(RULED.0).unwrap();
            for turn in truth.following(from).take(20) {
                let at = turn.timestamp().as_second() as f64;
                assert_eq!(zone.turns_after(at - 1.0), Some(at), "{name}");
                assert_eq!(zone.offset_s(at), f64::from(turn.offset().seconds()), "{name}");
            }
        }
        assert!(Zone::named("Africa/Casablanca").is_err());
    }
}
