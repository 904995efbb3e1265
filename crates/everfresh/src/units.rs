//! Rates, frequencies and periods: three quantities that are easily mistaken for each other, as three types.
//!
//! | type | letter | meaning | zero | infinity |
//! | --- | --- | --- | --- | --- |
//! | [`Rate`] | λ | how often the source changes | a static page | not legal |
//! | [`Frequency`] | f | how often we visit | never | the edge of a period of zero |
//! | [`Period`] | I = 1/f | time between visits, or time elapsed | just visited | never |
//!
//! All are kept per second or in seconds. People write and read them with a unit:
//!
//! ```
//! use everfresh::{Frequency, Period, Rate};
//!
//! let rate: Rate = "3/day".parse()?;
//! let frequency: Frequency = "1/2weeks".parse()?;
//! let period: Period = "45min".parse()?;
//! assert_eq!(rate.to_string(), "3/day");
//! assert_eq!(frequency.period().to_string(), "2weeks");
//! assert_eq!(period.frequency().to_string(), "1.333/h");
//! assert_eq!("never".parse::<Period>()?.frequency(), Frequency::NEVER);
//! # Ok::<(), everfresh::Error>(())
//! ```
//!
//! # Grammar
//!
//! ```text
//! period     = number unit { number unit } | unit | "never"        1h30min, 2 weeks, day
//! per time   = number "/" period | "never"                         3/day, 1/2weeks, 0.457/year
//! unit       = s | min | h | day | week | month | year             and their usual spellings
//! ```
//!
//! A month is 30 days and a year is 365 days, as in CGM03; `DESIGN.md` says why.

use std::fmt;
use std::ops::{Bound, Div, Mul};
use std::str::FromStr;

use crate::error::{Error, Result, within};

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One second.
    Second,
    /// 60 seconds.
    Minute,
    /// 60 minutes.
    Hour,
    /// 24 hours.
    Day,
    /// 7 days.
    Week,
    /// 30 days.
    Month,
    /// 365 days.
    Year,
}

/// Every spelling that is read.
const SPELLINGS: [(Unit, &[&str]); 7] = [
    (Unit::Second, &["s", "sec", "secs", "second", "seconds"]),
    (Unit::Minute, &["min", "mins", "minute", "minutes"]),
    (Unit::Hour, &["h", "hr", "hrs", "hour", "hours"]),
    (Unit::Day, &["day", "d", "days"]),
    (Unit::Week, &["week", "w", "weeks"]),
    (Unit::Month, &["month", "mo", "months"]),
    (Unit::Year, &["year", "y", "yr", "yrs", "years"]),
];

/// The units that printing chooses from, shortest first. A month is left out: people disagree about its length.
const PRINTED: [Unit; 6] = [Unit::Second, Unit::Minute, Unit::Hour, Unit::Day, Unit::Week, Unit::Year];

impl Unit {
    /// The length of this unit in seconds.
    pub const fn seconds(self) -> f64 {
        match self {
            Unit::Second => 1.0,
            Unit::Minute => 60.0,
            Unit::Hour => 3_600.0,
            Unit::Day => 86_400.0,
            Unit::Week => 7.0 * 86_400.0,
            Unit::Month => 30.0 * 86_400.0,
            Unit::Year => 365.0 * 86_400.0,
        }
    }

    /// The short name, as in `3/day`.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Second => "s",
            Unit::Minute => "min",
            Unit::Hour => "h",
            Unit::Day => "day",
            Unit::Week => "week",
            Unit::Month => "month",
            Unit::Year => "year",
        }
    }

    /// The name behind a number other than one: `2weeks`, but `2min`.
    const fn plural(self) -> &'static str {
        match self {
            Unit::Day => "days",
            Unit::Week => "weeks",
            Unit::Month => "months",
            Unit::Year => "years",
            _ => self.name(),
        }
    }

    fn find(word: &str) -> std::result::Result<Unit, String> {
        let lower = word.to_lowercase();
        let found = SPELLINGS.iter().find(|(_, spellings)| spellings.contains(&lower.as_str()));
        match found {
            Some((unit, _)) => Ok(*unit),
            None if lower == "m" => Err("`m` may be a minute or a month: write `min` or `month`".to_owned()),
            None => Err(format!("unknown unit `{word}`: use s, min, h, day, week, month or year")),
        }
    }
}

impl FromStr for Unit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Unit::find(text.trim()).map_err(|why| Error::Unreadable { what: "unit of time", text: text.to_owned(), why })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How often a source changes: λ, changes per time. Zero is a static page.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(f64);

/// How often a page is visited: f, visits per time. Zero is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Frequency(f64);

/// Time between two visits, or time elapsed since one: I = 1/f. Infinity is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Period(f64);

impl Rate {
    /// A page that does not change.
    pub const STATIC: Rate = Rate(0.0);

    /// A change a second: the rate of curves that are asked in terms of r = λt.
    pub(crate) const UNIT: Rate = Rate(1.0);

    /// `changes` per `unit`: 0, or between 1e-20 and 1e20 per second.
    ///
    /// ```
    /// use everfresh::{Rate, Unit};
    /// assert_eq!(Rate::per(2.0, Unit::Week)?.to_string(), "2/week");
    /// assert!(Rate::per(-1.0, Unit::Day).is_err());
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn per(changes: f64, unit: Unit) -> Result<Rate> {
        crate::error::not_negative("rate", changes)?;
        Rate::checked(changes / unit.seconds())
    }

    /// The rate of a page that changes once per `interval` on average; an infinite interval is a static page.
    pub fn once_per(interval: Period) -> Result<Rate> {
        crate::error::within("mean interval", interval.0, Bound::Excluded(0.0), Bound::Unbounded, "positive")?;
        Rate::checked(interval.0.recip())
    }

    /// The rate of a page of which half the copies are still right after `half_life` (RN15 section 4: ln 2 / t½).
    pub fn from_half_life(half_life: Period) -> Result<Rate> {
        Rate::checked(Rate::once_per(half_life)?.0 * std::f64::consts::LN_2)
    }

    fn checked(per_second: f64) -> Result<Rate> {
        crate::error::magnitude_or_zero("rate per second", per_second).map(Rate)
    }

    /// A rate that the library estimated, per second: what is below or above the legal magnitudes is put at their edge.
    pub(crate) fn estimated(per_second: f64) -> Rate {
        if per_second < crate::error::SMALLEST { Rate::STATIC } else { Rate(per_second.min(crate::error::LARGEST)) }
    }

    /// Changes per second.
    pub const fn per_second(self) -> f64 {
        self.0
    }

    /// Changes per day.
    pub const fn per_day(self) -> f64 {
        self.0 * Unit::Day.seconds()
    }

    /// Reads a rate; a bare number is per `bare`.
    pub fn parse(text: &str, bare: Option<Unit>) -> Result<Rate> {
        Rate::checked(parse_per_time("rate", text, bare)?)
    }
}

impl Frequency {
    /// No visits.
    pub const NEVER: Frequency = Frequency(0.0);

    /// `visits` per `unit`; at least 0 and finite.
    pub fn per(visits: f64, unit: Unit) -> Result<Frequency> {
        Ok(Frequency(crate::error::not_negative("frequency", visits)? / unit.seconds()))
    }

    /// A frequency that the library computed, per second.
    pub(crate) const fn raw(per_second: f64) -> Frequency {
        Frequency(per_second)
    }

    /// Visits per second.
    pub const fn per_second(self) -> f64 {
        self.0
    }

    /// Visits per day.
    pub const fn per_day(self) -> f64 {
        self.0 * Unit::Day.seconds()
    }

    /// The time between two visits: 1/f, infinite for [`Frequency::NEVER`].
    pub fn period(self) -> Period {
        Period(self.0.recip())
    }

    /// Reads a frequency; a bare number is per `bare`.
    pub fn parse(text: &str, bare: Option<Unit>) -> Result<Frequency> {
        parse_per_time("frequency", text, bare).map(Frequency)
    }
}

impl Period {
    /// No time at all: the moment of a visit.
    pub const ZERO: Period = Period(0.0);
    /// No next visit.
    pub const NEVER: Period = Period(f64::INFINITY);

    /// `length` times `unit`; at least 0, and infinity means never.
    ///
    /// ```
    /// use everfresh::{Period, Unit};
    /// assert_eq!(Period::of(36.0, Unit::Hour)?, Period::of(1.5, Unit::Day)?);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn of(length: f64, unit: Unit) -> Result<Period> {
        within("period", length, Bound::Included(0.0), Bound::Unbounded, "at least 0")?;
        Ok(Period(length * unit.seconds() + 0.0))
    }

    /// A period that the library computed, in seconds.
    pub(crate) const fn raw(seconds: f64) -> Period {
        Period(seconds)
    }

    /// The length in seconds.
    pub const fn seconds(self) -> f64 {
        self.0
    }

    /// The length in days.
    pub const fn days(self) -> f64 {
        self.0 / Unit::Day.seconds()
    }

    /// Visits per time: 1/I, [`Frequency::NEVER`] for an infinite period.
    pub fn frequency(self) -> Frequency {
        Frequency(self.0.recip())
    }

    /// Reads a period; a bare number is in `bare`.
    pub fn parse(text: &str, bare: Option<Unit>) -> Result<Period> {
        parse_period("period", text, bare).map(Period)
    }
}

/// The expected number of changes in a period: r = λI. A static page has none, however long the period.
impl Mul<Period> for Rate {
    type Output = f64;

    fn mul(self, period: Period) -> f64 {
        if self.0 == 0.0 { 0.0 } else { self.0 * period.0 }
    }
}

/// The frequency ratio of CGM03: r = λ/f.
impl Div<Frequency> for Rate {
    type Output = f64;

    fn div(self, frequency: Frequency) -> f64 {
        if self.0 == 0.0 { 0.0 } else { self.0 / frequency.0 }
    }
}

macro_rules! from_text {
    ($($kind:ident),*) => {$(
        impl FromStr for $kind {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                $kind::parse(text, None)
            }
        }
    )*};
}
from_text!(Rate, Frequency, Period);

impl fmt::Display for Rate {
    /// In the shortest unit that holds at least one, to four significant digits or to the precision asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_text(f, &per_time_text(self.0, f.precision()))
    }
}

impl fmt::Display for Frequency {
    /// In the shortest unit that holds at least one, to four significant digits or to the precision asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_text(f, &per_time_text(self.0, f.precision()))
    }
}

impl fmt::Display for Period {
    /// The period in the longest unit that it fills, to four significant digits or to the precision asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(PEOPLE_DIGITS);
        let text = if self.0.is_infinite() {
            "never".to_owned()
        } else {
            let unit = PRINTED.into_iter().rev().find(|unit| self.0 >= unit.seconds() * ALMOST).unwrap_or(Unit::Second);
            let number = significant(self.0 / unit.seconds(), digits);
            let name = if number == "1" { unit.name() } else { unit.plural() };
            format!("{number}{name}")
        };
        write_text(f, &text)
    }
}

/// Like `Formatter::pad`, which would cut the text to the precision; here the precision means digits.
fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let width = f.width().unwrap_or(0);
    match f.align() {
        Some(fmt::Alignment::Left) => write!(f, "{text:<width$}"),
        _ => write!(f, "{text:>width$}"),
    }
}

const PEOPLE_DIGITS: usize = 4;

/// A week read as seven days must print as a week although 1/7 of a day is not exact.
const ALMOST: f64 = 1.0 - 1e-12;

fn per_time_text(per_second: f64, digits: Option<usize>) -> String {
    if per_second == 0.0 {
        return "never".to_owned();
    }
    let unit = PRINTED.into_iter().find(|unit| per_second * unit.seconds() >= ALMOST).unwrap_or(Unit::Year);
    format!("{}/{}", significant(per_second * unit.seconds(), digits.unwrap_or(PEOPLE_DIGITS)), unit.name())
}

/// A number to so many significant digits, without trailing zeros; very large and very small ones with an exponent.
///
/// ```
/// use everfresh::units::significant;
/// assert_eq!(significant(1.149_87, 4), "1.15");
/// assert_eq!(significant(1_234_567.0, 4), "1234567");
/// assert_eq!(significant(3.2e-9, 4), "3.2e-9");
/// ```
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = digits.clamp(1, 17);
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..9).contains(&exponent) {
        return format!("{}e{exponent}", trimmed(mantissa));
    }
    let decimals = usize::try_from(i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent).unwrap_or(0);
    trimmed(&format!("{value:.decimals$}")).to_owned()
}

fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Reads an amount per time, in amounts per second: `3/day`, `1/2weeks`, `never`. `what` names it in an error.
///
/// Besides rates and frequencies this reads budgets and benefits, which are amounts per time too.
pub fn parse_per_time(what: &'static str, text: &str, bare: Option<Unit>) -> Result<f64> {
    let unreadable = |why: String| Error::Unreadable { what, text: text.to_owned(), why };
    let trimmed = text.trim();
    if trimmed.eq_ignore_ascii_case("never") {
        return Ok(0.0);
    }
    let Some((amount, time)) = trimmed.split_once('/') else {
        let (value, rest) = number(trimmed).map_err(unreadable)?;
        if !rest.is_empty() {
            return Err(unreadable(format!("expected an amount per time such as `{value}/day`")));
        }
        let unit = bare.ok_or_else(|| unreadable(format!("it has no unit of time: write `{value}/day`")))?;
        return Ok(crate::error::not_negative(what, value)? / unit.seconds());
    };
    let (value, rest) = number(amount.trim()).map_err(unreadable)?;
    if !rest.is_empty() {
        return Err(unreadable(format!("expected a number before `/`, got `{}`", amount.trim())));
    }
    crate::error::not_negative(what, value)?;
    let seconds = span(time.trim()).map_err(unreadable)?;
    if seconds <= 0.0 || seconds.is_infinite() {
        return Err(unreadable("the time after `/` must be positive and finite".to_owned()));
    }
    crate::error::not_negative(what, value / seconds)
}

fn parse_period(what: &'static str, text: &str, bare: Option<Unit>) -> Result<f64> {
    let unreadable = |why: String| Error::Unreadable { what, text: text.to_owned(), why };
    let trimmed = text.trim();
    if trimmed.eq_ignore_ascii_case("never") {
        return Ok(f64::INFINITY);
    }
    let seconds = match (bare, number(trimmed)) {
        (Some(unit), Ok((value, ""))) => value * unit.seconds(),
        (None, Ok((value, ""))) => return Err(unreadable(format!("it has no unit of time: write `{value}days`"))),
        _ => span(trimmed).map_err(unreadable)?,
    };
    let seconds = seconds + 0.0;
    within(what, seconds, Bound::Included(0.0), Bound::Excluded(f64::INFINITY), "at least 0 and finite, or `never`")
}

/// `number unit {number unit}` or a lone `unit`, in seconds.
fn span(text: &str) -> std::result::Result<f64, String> {
    if text.is_empty() {
        return Err("the time is missing".to_owned());
    }
    if text.starts_with(char::is_alphabetic) {
        return Unit::find(text).map(Unit::seconds);
    }
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        if seconds != 0.0 && rest.starts_with(['+', '-']) {
            return Err(format!("expected a number without a sign before `{rest}`"));
        }
        let (value, behind) = number(rest)?;
        let behind = behind.trim_start();
        let end = behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len());
        if end == 0 {
            return Err(format!("`{value}` has no unit of time"));
        }
        seconds += value * Unit::find(&behind[..end])?.seconds();
        rest = behind[end..].trim_start();
    }
    Ok(seconds)
}

/// The decimal number at the start of a text, and what stands behind it.
fn number(text: &str) -> std::result::Result<(f64, &str), String> {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mut end = digits(sign);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digits(exponent) > exponent {
            end = digits(exponent);
        }
    }
    let value = text[..end].parse().map_err(|_| "expected a number".to_owned())?;
    Ok((value, text[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rate(text: &str, per_day: f64) {
        let rate: Rate = text.parse().unwrap();
        assert!((rate.per_day() - per_day).abs() <= 1e-15 * per_day, "{text}: {} per day", rate.per_day());
    }

    #[track_caller]
    fn check_error<T: FromStr<Err = Error> + fmt::Debug>(text: &str, message: &str) {
        assert_eq!(text.parse::<T>().unwrap_err().to_string(), message);
    }

    #[test]
    fn rates_are_read() {
        check_rate("3/day", 3.0);
        check_rate(" 3 / day ", 3.0);
        check_rate("1/2weeks", 1.0 / 14.0);
        check_rate("1/2 weeks", 1.0 / 14.0);
        check_rate("0.457/year", 0.457 / 365.0);
        check_rate("2.5e-3/h", 0.06);
        check_rate("1/1h30min", 16.0);
        check_rate("1/month", 1.0 / 30.0);
        check_rate("never", 0.0);
        check_rate("0/day", 0.0);
    }

    #[test]
    fn quantities_are_written_for_people() {
        let written = |text: &str| text.parse::<Frequency>().unwrap().to_string();
        assert_eq!(written("3/day"), "3/day");
        assert_eq!(written("1/2weeks"), "26.07/year");
        assert_eq!(written("1/week"), "1/week");
        assert_eq!(written("1/7days"), "1/week");
        assert_eq!(written("0.457/year"), "0.457/year");
        assert_eq!(written("never"), "never");
        assert_eq!(written("90/min"), "1.5/s");
        let written = |text: &str| text.parse::<Period>().unwrap().to_string();
        assert_eq!(written("45min"), "45min");
        assert_eq!(written("1day"), "1day");
        assert_eq!(written("24h"), "1day");
        assert_eq!(written("3.38years"), "3.38years");
        assert_eq!(written("0.5s"), "0.5s");
        assert_eq!(written("1h30min"), "1.5h");
        assert_eq!(written("never"), "never");
        assert_eq!(format!("{:.2}", Period::of(1.0 / 3.0, Unit::Day).unwrap()), "8h");
        assert_eq!(format!("{:>8.2}|", Period::of(1.239, Unit::Hour).unwrap()), "    1.2h|");
        assert_eq!(format!("{:>8}|", Rate::per(2.0, Unit::Day).unwrap()), "   2/day|");
    }

    #[test]
    fn unreadable_quantities_say_why() {
        check_error::<Rate>("3", "cannot read `3` as a rate: it has no unit of time: write `3/day`");
        check_error::<Rate>("-3/day", "rate must be at least 0 and finite, got -3");
        check_error::<Rate>("1e999/day", "rate must be at least 0 and finite, got inf");
        check_error::<Rate>("NaN/day", "cannot read `NaN/day` as a rate: expected a number");
        check_error::<Rate>("3/0day", "cannot read `3/0day` as a rate: the time after `/` must be positive and finite");
        check_error::<Rate>(
            "3/fortnight",
            "cannot read `3/fortnight` as a rate: unknown unit `fortnight`: use s, min, h, day, week, month or year",
        );
        check_error::<Rate>(
            "3 apples/day",
            "cannot read `3 apples/day` as a rate: expected a number before `/`, got `3 apples`",
        );
        check_error::<Rate>("45min", "cannot read `45min` as a rate: expected an amount per time such as `45/day`");
        check_error::<Period>(
            "2m",
            "cannot read `2m` as a period: `m` may be a minute or a month: write `min` or `month`",
        );
        check_error::<Period>("-2h", "period must be at least 0 and finite, or `never`, got -7200");
        check_error::<Period>("2", "cannot read `2` as a period: it has no unit of time: write `2days`");
        check_error::<Period>("", "cannot read `` as a period: the time is missing");
        check_error::<Period>(
            "2h-90min",
            "cannot read `2h-90min` as a period: expected a number without a sign before `-90min`",
        );
        check_error::<Rate>("1e-30/s", "rate per second must be 0 or between 1e-20 and 1e20, got 1e-30");
        check_error::<Period>("5/day", "cannot read `5/day` as a period: `5` has no unit of time");
        check_error::<Frequency>("", "cannot read `` as a frequency: expected a number");
    }

    #[test]
    fn bare_numbers_take_the_unit_of_their_column() {
        assert_eq!(Rate::parse("2", Some(Unit::Week)).unwrap(), "2/week".parse().unwrap());
        assert_eq!(Rate::parse("2/day", Some(Unit::Week)).unwrap(), "2/day".parse().unwrap());
        assert_eq!(Period::parse("2", Some(Unit::Week)).unwrap(), "2weeks".parse().unwrap());
    }

    #[test]
    fn a_static_page_never_visited_has_no_expected_changes() {
        assert_eq!(Rate::STATIC * Period::NEVER, 0.0);
        let negative_zero: Frequency = "-0/day".parse().unwrap();
        assert_eq!(negative_zero.period(), Period::NEVER);
        assert!("-0s".parse::<Period>().unwrap().frequency() > Frequency::NEVER);
        assert_eq!(Rate::STATIC / Frequency::NEVER, 0.0);
        assert_eq!(Rate::per(1.0, Unit::Day).unwrap() / Frequency::NEVER, f64::INFINITY);
    }
}
