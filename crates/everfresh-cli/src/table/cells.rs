//! The values of a column as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::quantity::is_text;

/// A value as text, and how a format has to treat it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    /// No value, or an infinite number.
    Empty,
    /// A number or a truth value: no format needs quotes for it.
    Bare(&'a str),
    Text(&'a str),
}

/// Hands every value of a column to a function, by its row.
pub(super) type Cells<'a> = Box<dyn Fn(usize, &mut dyn FnMut(Cell<'_>)) + 'a>;

/// Can columns of this type be written as text?
pub(super) fn is_writable(kind: &DataType) -> bool {
    use DataType as D;
    match kind {
        D::Dictionary(_, values) => !matches!(**values, D::Dictionary(..)) && is_writable(values),
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) | D::Boolean => true,
        _ => kind.is_integer() || is_text(kind) || matches!(kind, D::Float32 | D::Float64),
    }
}

/// The values of a column; of types that are not writable all are empty.
pub(super) fn cells(array: &ArrayRef) -> Cells<'_> {
    use DataType as D;
    match array.data_type() {
        D::Utf8 => texts(array, |row| array.as_string::<i32>().value(row)),
        D::LargeUtf8 => texts(array, |row| array.as_string::<i64>().value(row)),
        D::Utf8View => texts(array, |row| array.as_string_view().value(row)),
        D::Binary => bytes(array, |row| array.as_binary::<i32>().value(row)),
        D::LargeBinary => bytes(array, |row| array.as_binary::<i64>().value(row)),
        D::BinaryView => bytes(array, |row| array.as_binary_view().value(row)),
        D::FixedSizeBinary(_) => bytes(array, |row| array.as_fixed_size_binary().value(row)),
        D::Float64 => floats::<Float64Type>(array),
        D::Float32 => floats::<Float32Type>(array),
        D::Int8 => integers::<Int8Type>(array),
        D::Int16 => integers::<Int16Type>(array),
        D::Int32 => integers::<Int32Type>(array),
        D::Int64 => integers::<Int64Type>(array),
        D::UInt8 => integers::<UInt8Type>(array),
        D::UInt16 => integers::<UInt16Type>(array),
        D::UInt32 => integers::<UInt32Type>(array),
        D::UInt64 => integers::<UInt64Type>(array),
        D::Boolean => {
            let values = array.as_boolean();
            let word = |value| Cell::Bare(if value { "true" } else { "false" });
            Box::new(move |row, take| take(if values.is_null(row) { Cell::Empty } else { word(values.value(row)) }))
        }
        D::Dictionary(..) => dictionary(array),
        _ => Box::new(|_, take| take(Cell::Empty)),
    }
}

fn texts<'a>(array: &'a ArrayRef, value: impl Fn(usize) -> &'a str + 'a) -> Cells<'a> {
    Box::new(move |row, take| take(if array.is_null(row) { Cell::Empty } else { Cell::Text(value(row)) }))
}

/// Bytes in hexadecimal; sixteen of them as a UUID is written.
fn bytes<'a>(array: &'a ArrayRef, value: impl Fn(usize) -> &'a [u8] + 'a) -> Cells<'a> {
    Box::new(move |row, take| {
        if array.is_null(row) {
            return take(Cell::Empty);
        }
        let value = value(row);
        let mut text = String::with_capacity(2 * value.len() + 4);
        for (place, byte) in value.iter().enumerate() {
            if value.len() == 16 && [4, 6, 8, 10].contains(&place) {
                text.push('-');
            }
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or_default());
            }
        }
        take(Cell::Text(&text));
    })
}

fn floats<T: ArrowPrimitiveType<Native: zmij::Float + Into<f64>>>(array: &ArrayRef) -> Cells<'_> {
    let values = array.as_primitive::<T>();
    Box::new(move |row, take| {
        let value = values.value(row);
        if values.is_null(row) || !value.into().is_finite() {
            take(Cell::Empty);
        } else {
            take(Cell::Bare(zmij::Buffer::new().format_finite(value)));
        }
    })
}

fn integers<T: ArrowPrimitiveType<Native: itoa::Integer>>(array: &ArrayRef) -> Cells<'_> {
    let values = array.as_primitive::<T>();
    Box::new(move |row, take| {
        if values.is_null(row) {
            take(Cell::Empty);
        } else {
            take(Cell::Bare(itoa::Buffer::new().format(values.value(row))));
        }
    })
}

fn dictionary(array: &ArrayRef) -> Cells<'_> {
    let dictionary = array.as_any_dictionary();
    let words = cells(dictionary.values());
    let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
    Box::new(move |row, take| match keys.get(row) {
        Some(key) if !array.is_null(row) => words(*key, take),
        _ => take(Cell::Empty),
    })
}

/// One value as text; nothing for an empty one.
pub(super) fn text(cells: &Cells<'_>, row: usize) -> String {
    let mut text = String::new();
    cells(row, &mut |cell| {
        if let Cell::Bare(value) | Cell::Text(value) = cell {
            text.push_str(value);
        }
    });
    text
}
