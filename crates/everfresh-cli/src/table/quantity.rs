//! What a column holds: how its values are read, and between which bounds they lie.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, types};
use arrow_schema::DataType;
use everfresh::units::parse_per_time;
use everfresh::{Error, Page, Period, Rate, Unit};

/// What a column holds. All values come out as `f64`, with times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quantity {
    /// Changes per second: `3/day`, or a bare number per unit.
    Rate,
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
    #[allow(dead_code)]
    Count,
    /// An amount per second: `3/day`, or a bare number per unit; at least 0 and finite.
    PerTime {
        /// Its name in messages.
        what: &'static str,
    },
}

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
            Quantity::Rate | Quantity::PerTime { .. } | Quantity::Period { .. } if is_bare(text) => {
                // The library reads the same, but looks for units first.
                let value = text.parse().map_err(|_| format!("expected a number, got `{text}`"))?;
                match self {
                    Quantity::Period { .. } if value == f64::INFINITY => {
                        Period::parse(text, Some(unit)).map(Period::seconds).map_err(said)
                    }
                    _ => self.number(value, unit),
                }
            }
            Quantity::Rate => Rate::parse(text, Some(unit)).map(Rate::per_second).map_err(said),
            Quantity::Period { absent } if text.is_empty() => Ok(absent),
            Quantity::Period { .. } => Period::parse(text, Some(unit)).map(Period::seconds).map_err(said),
            Quantity::PerTime { what } => parse_per_time(what, text, Some(unit)).map_err(said),
            Quantity::Weight | Quantity::Cost | Quantity::Count => {
                let value = text.parse().map_err(|_| format!("expected a number, got `{text}`"))?;
                self.number(value, unit)
            }
        }
    }

    /// A bare number.
    fn number(self, value: f64, unit: Unit) -> Result<f64, String> {
        let page = Page::new(Rate::STATIC);
        let out = |what, bound| Err(Error::OutOfBounds { what, bound, value });
        let checked = match self {
            Quantity::Rate => Rate::per(value, unit).map(Rate::per_second),
            Quantity::Period { .. } => Period::of(value, unit).map(Period::seconds),
            Quantity::Weight => page.with_weight(value).map(|page| page.weight()),
            Quantity::Cost => page.with_cost(value).map(|page| page.cost()),
            Quantity::Count if value > 0.0 && value.is_finite() => Ok(value),
            Quantity::Count => out("number", "positive and finite"),
            Quantity::PerTime { .. } if value >= 0.0 && value.is_finite() => Ok(value / unit.seconds() + 0.0),
            Quantity::PerTime { what } => out(what, "at least 0 and finite"),
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
            Quantity::Rate => each(values, |value| in_bounds(value / seconds), |value| value / seconds + 0.0, bad),
            Quantity::Period { .. } => each(values, |value| value >= 0.0, |value| value * seconds + 0.0, bad),
            Quantity::Weight => each(values, in_bounds, |value| value + 0.0, bad),
            Quantity::Cost => each(values, |value| (SMALLEST..=LARGEST).contains(&value), |value| value, bad),
            Quantity::Count => each(values, |value| value > 0.0 && value < f64::INFINITY, |value| value, bad),
            Quantity::PerTime { .. } => {
                let good = |value| (0.0..f64::INFINITY).contains(&value);
                each(values, good, |value| value / seconds + 0.0, bad)
            }
        }
    }

    /// A whole column.
    pub(super) fn column(self, array: ArrayRef, unit: Unit) -> Result<Vec<f64>, Bad> {
        if let (Some(row), false) = (first_null(&array), matches!(self, Quantity::Period { .. })) {
            return Err(Bad { row, why: "the value is empty".to_owned() });
        }
        if is_text(array.data_type()) {
            return self.texts(&array, unit);
        }
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let mut values = floats(array);
        let Some((Quantity::Period { absent }, nulls)) = nulls.map(|nulls| (self, nulls)) else {
            self.numbers(&mut values, unit)?;
            return Ok(values);
        };
        // What stands in an empty place is anything.
        let empty = || nulls.iter().enumerate().filter(|(_, valid)| !valid).map(|(row, _)| row);
        empty().for_each(|row| values[row] = 0.0);
        self.numbers(&mut values, unit)?;
        empty().for_each(|row| values[row] = absent);
        Ok(values)
    }

    fn texts(self, array: &ArrayRef, unit: Unit) -> Result<Vec<f64>, Bad> {
        let read = |(row, text): (usize, Option<&str>)| match text {
            Some(text) => self.text(text.trim(), unit).map_err(|why| Bad { row, why }),
            // Elsewhere an empty place was refused above.
            None => Ok(if let Quantity::Period { absent } = self { absent } else { f64::NAN }),
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
            let absent = if let Quantity::Period { absent } = self { absent } else { f64::NAN };
            return Ok(vec![absent; array.len()]);
        }
        let read: Vec<Result<f64, String>> = (0..words.len())
            .map(|word| self.texts(&words.slice(word, 1), unit).map(|value| value[0]).map_err(|bad| bad.why))
            .collect();
        let nulls = array.logical_nulls();
        let absent = if let Quantity::Period { absent } = self { absent } else { f64::NAN };
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
pub(super) fn is_readable(kind: &DataType) -> bool {
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
        // `is_readable` has let nothing else through.
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
