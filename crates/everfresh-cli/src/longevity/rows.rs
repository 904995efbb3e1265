//! A snapshot as a line of JSON.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use crate::table;

/// The names of the fields, short or long; others are passed over.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(alias = "p")]
    page: Value,
    #[serde(alias = "t")]
    time: Value,
    #[serde(alias = "x", borrow)]
    text: Cow<'a, str>,
}

/// A snapshot.
pub(super) struct Row<'a> {
    pub page: String,
    pub time: u64,
    pub text: Cow<'a, str>,
}

impl Row<'_> {
    /// What the field of the text is called.
    pub(super) const TEXT: [&'static str; 2] = ["text", "x"];

    /// Reads a line, or says what is wrong with it.
    pub(super) fn read(line: &[u8]) -> Result<Row<'_>, String> {
        let fields: Fields<'_> = serde_json::from_slice(line).map_err(|error| {
            let said = error.to_string();
            // The line is one of many, and its number is named already.
            let (why, _) = said.split_once(" at line ").unwrap_or((&said, ""));
            format!("column {}: {why}", error.column())
        })?;
        let page = match fields.page {
            Value::String(page) if !page.is_empty() => page,
            Value::Number(page) => page.to_string(),
            other => return Err(format!("`page` must be a name or a number, got {other}")),
        };
        let time = match &fields.time {
            Value::String(time) => table::moment(time),
            Value::Number(time) => table::moment(&time.to_string()),
            other => Err(format!("expected a number or a date, got {other}")),
        };
        let time = time.map_err(|why| format!("`time`: {why}"))?;
        Ok(Row { page, time: u64::from(time), text: fields.text })
    }
}
