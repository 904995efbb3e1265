//! What a column holds: how its values are read, and between which bounds they lie.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, types};
use arrow_schema::{DataType, TimeUnit};
use everfresh::units::parse_per_time;
use everfresh::{Error, Page, Period, Rate, Unit};

/// What a column holds. All values come out as `f64`, with times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quantity {
    /// Changes per second: `3/day`, or a bare number per unit. An empty value is `absent`, if there is such a thing, and comes out
    /// as NaN.
    Rate {
        /// May values be empty?
        may_be_absent: bool,
    },
    /// Seconds: `2weeks`, or a bare number of units. An empty value is `absent`.
    Period {
        /// What stands for an empty value.
        absent: f64,
    },
    /// 0, or between 1e-20 and 1e20.
    Weight,
    /// Between 1e-20 and 1e20.
    Cost,
    /// Positive and finite.
    Count,
    /// An amount per second: `3/day`, or a bare number per unit; at least 0 and finite.
    PerTime {
        /// Its name in messages.
        what: &'static str,
    },
    /// Seconds since 1970: a number, or a date as people or HTTP write it, or a timestamp. An empty value, and a number below 0, which
    /// some write for one, is `absent`, if there is such a thing, and comes out as NaN.
    Time {
        /// May values be empty?
        may_be_absent: bool,
    },
    /// 0 or 1, `false` or `true`. An empty value comes out as NaN.
    Flag,
    /// The name of a curve, as its place in [`CURVES`]; an empty value is the first.
    Curve,
    /// The number that goes with a curve: positive and finite. An empty value comes out as NaN.
    Shape,
}

/// The first second that a time does not have, in the year 5138: what is meant are milliseconds.
const LAST_TIME: f64 = 1e11;

/// The curves that pages may have.
pub(crate) const CURVES: [&str; 4] = ["exponential", "lomax", "weibull", "bursts"];

/// The bounds of the library's numbers, to be checked without a branch; its own messages follow where the check fails.
const SMALLEST: f64 = 1e-20;
const LARGEST: f64 = 1e20;

/// A value that does not do: its row, and why.
pub(super) struct Bad {
    pub row: usize,
    pub why: String,
}

impl Quantity {
    /// A value as people write it.
    pub(super) fn text(self, text: &str, unit: Unit) -> Result<f64, String> {
        let said = |error: Error| error.to_string();
        match self {
            Quantity::Rate { .. } | Quantity::PerTime { .. } | Quantity::Period { .. } if is_bare(text) => {
                // The library reads the same, but looks for units first.
                let value = text.parse().map_err(|_| format!("expected a number, got `{text}`"))?;
                match self {
                    Quantity::Period { .. } if value == f64::INFINITY => {
                        Period::parse(text, Some(unit)).map(Period::seconds).map_err(said)
                    }
                    _ => self.number(value, unit),
                }
            }
            Quantity::Rate { may_be_absent: true }
            | Quantity::Time { may_be_absent: true }
            | Quantity::Flag
            | Quantity::Shape
                if text.is_empty() =>
            {
                Ok(f64::NAN)
            }
            Quantity::Rate { .. } => Rate::parse(text, Some(unit)).map(Rate::per_second).map_err(said),
            Quantity::Period { absent } if text.is_empty() => Ok(absent),
            Quantity::Period { .. } => Period::parse(text, Some(unit)).map(Period::seconds).map_err(said),
            Quantity::PerTime { what } => parse_per_time(what, text, Some(unit)).map_err(said),
            Quantity::Time { .. } => match text.parse() {
                Ok(seconds) => self.number(seconds, unit),
                Err(_) => self.number(date(text)?, unit),
            },
            Quantity::Flag => match text {
                "0" | "1" => Ok(f64::from(u8::from(text == "1"))),
                _ if text.eq_ignore_ascii_case("true") => Ok(1.0),
                _ if text.eq_ignore_ascii_case("false") => Ok(0.0),
                _ => Err(format!("expected 0, 1, true or false, got `{text}`")),
            },
            Quantity::Curve if text.is_empty() => Ok(0.0),
            Quantity::Curve => match CURVES.iter().position(|curve| text.eq_ignore_ascii_case(curve)) {
                Some(place) => Ok(place as f64),
                None => Err(format!("expected exponential, lomax, weibull or bursts, got `{text}`")),
            },
            Quantity::Weight | Quantity::Cost | Quantity::Count | Quantity::Shape => {
                let value = text.parse().map_err(|_| format!("expected a number, got `{text}`"))?;
                self.number(value, unit)
            }
        }
    }

    /// What stands for an empty value, where one may be.
    const fn absent(self) -> Option<f64> {
        match self {
            Quantity::Period { absent } => Some(absent),
            Quantity::Rate { may_be_absent: true }
            | Quantity::Time { may_be_absent: true }
            | Quantity::Flag
            | Quantity::Shape => Some(f64::NAN),
            Quantity::Curve => Some(0.0),
            _ => None,
        }
    }

    /// Can a column of this type be read?
    pub(super) fn reads(self, kind: &DataType) -> bool {
        let more = match self {
            Quantity::Time { .. } => matches!(kind, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64),
            Quantity::Flag => *kind == DataType::Boolean,
            Quantity::Curve => return is_text(kind),
            _ => false,
        };
        more || is_readable(kind)
    }

    /// What a column may be, in words.
    pub(super) const fn readable(self) -> &'static str {
        match self {
            Quantity::Time { .. } => "a time, a number or text",
            Quantity::Flag => "a truth value, a number or text",
            Quantity::Curve => "text",
            _ => "a number or text",
        }
    }

    /// A bare number.
    fn number(self, value: f64, unit: Unit) -> Result<f64, String> {
        let page = Page::new(Rate::STATIC);
        let out = |what, bound| Err(Error::OutOfBounds { what, bound, value });
        let checked = match self {
            Quantity::Rate { .. } => Rate::per(value, unit).map(Rate::per_second),
            Quantity::Period { .. } => Period::of(value, unit).map(Period::seconds),
            Quantity::Weight => page.with_weight(value).map(|page| page.weight()),
            Quantity::Cost => page.with_cost(value).map(|page| page.cost()),
            Quantity::Count | Quantity::Shape if value > 0.0 && value.is_finite() => Ok(value),
            Quantity::Count => out("number", "positive and finite"),
            Quantity::PerTime { .. } if value >= 0.0 && value.is_finite() => Ok(value / unit.seconds() + 0.0),
            Quantity::PerTime { what } => out(what, "at least 0 and finite"),
            Quantity::Time { may_be_absent: true } if value < 0.0 => Ok(f64::NAN),
            Quantity::Time { .. } if (0.0..LAST_TIME).contains(&value) => Ok(value),
            Quantity::Time { .. } => out("time in seconds", "between 0 (1970) and 1e11 (5138)"),
            Quantity::Flag if value == 0.0 || value == 1.0 => Ok(value),
            Quantity::Flag => out("flag", "0 or 1"),
            Quantity::Shape => out("shape", "positive and finite"),
            Quantity::Curve => out("curve", "exponential, lomax, weibull or bursts"),
        };
        checked.map_err(|error| error.to_string())
    }

    /// Checks bare numbers and brings them to seconds, in place.
    fn numbers(self, values: &mut [f64], unit: Unit) -> Result<(), Bad> {
        let seconds = unit.seconds();
        let in_bounds = |value: f64| value == 0.0 || (SMALLEST..=LARGEST).contains(&value);
        let bad = |row: usize, value: f64| match self.number(value, unit) {
            Err(why) => Bad { row, why },
            Ok(_) => Bad { row, why: format!("the value {value} is out of bounds") },
        };
        match self {
            // A division, not a product with the reciprocal: the same number is read from every format.
            Quantity::Rate { .. } => {
                each(values, |value| in_bounds(value / seconds), |value| value / seconds + 0.0, bad)
            }
            Quantity::Period { .. } => each(values, |value| value >= 0.0, |value| value * seconds + 0.0, bad),
            Quantity::Weight => each(values, in_bounds, |value| value + 0.0, bad),
            Quantity::Cost => each(values, |value| (SMALLEST..=LARGEST).contains(&value), |value| value, bad),
            Quantity::Count | Quantity::Shape => {
                each(values, |value| value > 0.0 && value < f64::INFINITY, |value| value, bad)
            }
            Quantity::PerTime { .. } => {
                let good = |value| (0.0..f64::INFINITY).contains(&value);
                each(values, good, |value| value / seconds + 0.0, bad)
            }
            Quantity::Time { may_be_absent: true } => {
                let good = |value: f64| value.is_nan() | (value < LAST_TIME);
                each(values, good, |value| if value < 0.0 { f64::NAN } else { value }, bad)
            }
            Quantity::Time { .. } => each(values, |value| (0.0..LAST_TIME).contains(&value), |value| value, bad),
            Quantity::Flag => each(values, |value| value == 0.0 || value == 1.0, |value| value + 0.0, bad),
            // Names are never numbers.
            Quantity::Curve => each(values, |_| false, |value| value, bad),
        }
    }

    /// A whole column.
    pub(super) fn column(self, array: ArrayRef, unit: Unit) -> Result<Vec<f64>, Bad> {
        if let (Some(row), None) = (first_null(&array), self.absent()) {
            return Err(Bad { row, why: "the value is empty".to_owned() });
        }
        if is_text(array.data_type()) {
            return self.texts(&array, unit);
        }
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let mut values = floats(array);
        let Some((absent, nulls)) = self.absent().zip(nulls) else {
            self.numbers(&mut values, unit)?;
            return Ok(values);
        };
        // What stands in an empty place is anything.
        let empty = || nulls.iter().enumerate().filter(|(_, valid)| !valid).map(|(row, _)| row);
        let legal = if let Quantity::Shape = self { 1.0 } else { 0.0 };
        empty().for_each(|row| values[row] = legal);
        self.numbers(&mut values, unit)?;
        empty().for_each(|row| values[row] = absent);
        Ok(values)
    }

    fn texts(self, array: &ArrayRef, unit: Unit) -> Result<Vec<f64>, Bad> {
        let read = |(row, text): (usize, Option<&str>)| match text {
            Some(text) => self.text(text.trim(), unit).map_err(|why| Bad { row, why }),
            // Elsewhere an empty place was refused above.
            None => Ok(self.absent().unwrap_or(f64::NAN)),
        };
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().enumerate().map(read).collect(),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().enumerate().map(read).collect(),
            DataType::Utf8View => array.as_string_view().iter().enumerate().map(read).collect(),
            _ => self.dictionary(array, unit),
        }
    }

    /// Every text of the dictionary is read once; one that no row uses may be anything.
    fn dictionary(self, array: &ArrayRef, unit: Unit) -> Result<Vec<f64>, Bad> {
        let dictionary = array.as_any_dictionary();
        let words = dictionary.values();
        if words.is_empty() {
            return Ok(vec![self.absent().unwrap_or(f64::NAN); array.len()]);
        }
        let read: Vec<Result<f64, String>> = (0..words.len())
            .map(|word| self.texts(&words.slice(word, 1), unit).map(|value| value[0]).map_err(|bad| bad.why))
            .collect();
        let nulls = array.logical_nulls();
        let absent = self.absent().unwrap_or(f64::NAN);
        let keys = dictionary.normalized_keys();
        keys.into_iter()
            .enumerate()
            .map(|(row, key)| match &read[key] {
                _ if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) => Ok(absent),
                Ok(value) => Ok(*value),
                Err(why) => Err(Bad { row, why: why.clone() }),
            })
            .collect()
    }
}

/// A time as a column has it, in whole seconds since 1970, up to 2106.
pub(crate) fn moment(text: &str) -> Result<u32, String> {
    let seconds = Quantity::Time { may_be_absent: false }.text(text.trim(), Unit::Second)?;
    if seconds > f64::from(u32::MAX) {
        return Err(format!("time in seconds must be between 0 (1970) and {} (2106), got {seconds}", u32::MAX));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Such times fit.
    Ok(seconds as u32)
}

/// A date, or a date and a time of day, in UTC unless it says otherwise; or as HTTP writes it (RFC 9110 section 5.6.7).
fn date(text: &str) -> Result<f64, String> {
    let wrong = || format!("expected seconds since 1970 or a date such as `2024-05-01T12:00:00Z`, got `{text}`");
    if let Ok(at) = httpdate::parse_http_date(text) {
        return at.duration_since(std::time::UNIX_EPOCH).map(|since| since.as_secs_f64()).map_err(|_| wrong());
    }
    let at = if let Ok(at) = text.parse::<jiff::Timestamp>() {
        at
    } else {
        let civil: jiff::civil::DateTime = text.parse().map_err(|_| wrong())?;
        jiff::tz::TimeZone::UTC.to_timestamp(civil).map_err(|_| wrong())?
    };
    Ok(at.as_duration().as_secs_f64())
}

/// Digits and nothing that could be a unit.
fn is_bare(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_digit)
        && bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'-' | b'+'))
        && bytes.last().is_some_and(u8::is_ascii_digit)
}

/// Checks and changes every value. The check of a whole chunk has no branch, so that the compiler can do several values at a
/// time; only when it fails is the culprit looked for.
#[inline(always)]
fn each(
    values: &mut [f64],
    good: impl Fn(f64) -> bool,
    fit: impl Fn(f64) -> f64,
    bad: impl Fn(usize, f64) -> Bad,
) -> Result<(), Bad> {
    const CHUNK: usize = 4096;
    for (number, chunk) in values.chunks_mut(CHUNK).enumerate() {
        if !chunk.iter().fold(true, |all, &value| all & good(value)) {
            let row = chunk.iter().position(|&value| !good(value)).unwrap_or(0);
            return Err(bad(number * CHUNK + row, chunk[row]));
        }
        for value in chunk {
            *value = fit(*value);
        }
    }
    Ok(())
}

/// Can a column of this type be read as numbers?
fn is_readable(kind: &DataType) -> bool {
    kind.is_numeric() || is_text(kind)
}

/// Text, or a dictionary of it.
pub(super) fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => {
            matches!(**values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        }
        _ => false,
    }
}

/// The first row without a value.
pub(super) fn first_null(array: &ArrayRef) -> Option<usize> {
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
    nulls.iter().position(|valid| !valid)
}

/// Any numbers as `f64`. Those that are so already are taken as they are, without a copy if nobody else has them.
fn floats(array: ArrayRef) -> Vec<f64> {
    fn cast<T: ArrowPrimitiveType>(array: &ArrayRef, to: impl Fn(T::Native) -> f64) -> Vec<f64> {
        array.as_primitive::<T>().values().iter().map(|&value| to(value)).collect()
    }
    macro_rules! cast_as {
        ($kind:ident) => {
            cast::<types::$kind>(&array, |value| value as f64)
        };
    }
    let scaled = |scale: i8| 10_f64.powi(i32::from(scale));
    match array.data_type() {
        DataType::Float64 => own(array),
        DataType::Float32 => cast::<types::Float32Type>(&array, f64::from),
        DataType::Float16 => cast::<types::Float16Type>(&array, f64::from),
        DataType::Int8 => cast::<types::Int8Type>(&array, f64::from),
        DataType::Int16 => cast::<types::Int16Type>(&array, f64::from),
        DataType::Int32 => cast::<types::Int32Type>(&array, f64::from),
        DataType::Int64 => cast_as!(Int64Type),
        DataType::UInt8 => cast::<types::UInt8Type>(&array, f64::from),
        DataType::UInt16 => cast::<types::UInt16Type>(&array, f64::from),
        DataType::UInt32 => cast::<types::UInt32Type>(&array, f64::from),
        DataType::UInt64 => cast_as!(UInt64Type),
        DataType::Decimal32(_, scale) => {
            cast::<types::Decimal32Type>(&array, |value| f64::from(value) / scaled(*scale))
        }
        DataType::Decimal64(_, scale) => cast::<types::Decimal64Type>(&array, |value| value as f64 / scaled(*scale)),
        DataType::Decimal128(_, scale) => cast::<types::Decimal128Type>(&array, |value| value as f64 / scaled(*scale)),
        DataType::Decimal256(_, scale) => cast::<types::Decimal256Type>(&array, |value| {
            value.to_i128().map_or_else(|| value.to_string().parse().unwrap_or(f64::NAN), |value| value as f64)
                / scaled(*scale)
        }),
        DataType::Boolean => array.as_boolean().values().iter().map(|value| f64::from(u8::from(value))).collect(),
        DataType::Date32 => cast::<types::Date32Type>(&array, |days| f64::from(days) * 86_400.0),
        DataType::Date64 => cast::<types::Date64Type>(&array, |millis| millis as f64 / 1e3),
        DataType::Timestamp(TimeUnit::Second, _) => cast_as!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            cast::<types::TimestampMillisecondType>(&array, |n| n as f64 / 1e3)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            cast::<types::TimestampMicrosecondType>(&array, |n| n as f64 / 1e6)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            cast::<types::TimestampNanosecondType>(&array, |n| n as f64 / 1e9)
        }
        // `reads` has let nothing else through.
        _ => vec![f64::NAN; array.len()],
    }
}

fn own(array: ArrayRef) -> Vec<f64> {
    let floats: PrimitiveArray<types::Float64Type> = array.as_primitive().clone();
    drop(array);
    let (_, values, _) = floats.into_parts();
    let length = values.len();
    match values.into_inner().into_vec::<f64>() {
        Ok(mut values) => {
            values.truncate(length);
            values
        }
        Err(buffer) => buffer.typed_data::<f64>()[..length].to_vec(),
    }
}
