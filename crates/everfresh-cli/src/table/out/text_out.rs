//! Tables as text: CSV, TSV, JSON and JSON lines.

use std::io::{self, Write};

use anyhow::{Result, bail};
use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::super::cells::{self, Cell, Cells};

/// How much is done for less space; more takes longer than the disk.
const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 3;

/// A format of text.
pub(crate) struct TextFormat {
    pub(super) style: Style,
    pub(super) packing: Packing,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Style {
    Delimited(u8),
    /// An array with an object per line.
    Json,
    /// An object per line.
    JsonLines,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Packing {
    None,
    Gzip,
    Zstd,
}

/// Can every column be written as text?
pub(super) fn check(schema: &Schema) -> Result<()> {
    for field in schema.fields() {
        if !cells::is_writable(field.data_type()) {
            bail!("column `{}` is {}, which has no form as text", field.name(), field.data_type());
        }
    }
    Ok(())
}

impl TextFormat {
    /// What stands before the rows.
    pub(super) fn header(&self, schema: &Schema) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.style {
            Style::Delimited(delimiter) => {
                for (place, field) in schema.fields().iter().enumerate() {
                    if place > 0 {
                        bytes.push(delimiter);
                    }
                    push_field(&mut bytes, delimiter, field.name());
                }
                bytes.push(b'\n');
            }
            Style::Json => bytes.extend_from_slice(b"[\n"),
            Style::JsonLines => {}
        }
        self.pack(bytes)
    }

    /// What stands between the rows of two batches.
    pub(super) fn between(&self) -> io::Result<Vec<u8>> {
        self.pack(if self.style == Style::Json { b",\n".to_vec() } else { Vec::new() })
    }

    /// What stands behind the rows.
    pub(super) fn footer(&self, rows: u64) -> io::Result<Vec<u8>> {
        let end: &[u8] = if rows > 0 { b"\n]\n" } else { b"]\n" };
        self.pack(if self.style == Style::Json { end.to_vec() } else { Vec::new() })
    }

    pub(super) fn encode(&self, batch: &RecordBatch) -> Result<Vec<u8>> {
        let columns: Vec<Cells<'_>> = batch.columns().iter().map(cells::cells).collect();
        let mut bytes = Vec::with_capacity(batch.num_rows() * batch.num_columns() * 12);
        match self.style {
            Style::Delimited(delimiter) => delimited(&mut bytes, &columns, batch.num_rows(), delimiter),
            Style::Json => objects(&mut bytes, batch, &columns, b",\n")?,
            Style::JsonLines => {
                objects(&mut bytes, batch, &columns, b"\n")?;
                bytes.push(b'\n');
            }
        }
        Ok(self.pack(bytes)?)
    }

    /// Packed on its own: members and frames that follow each other are one file.
    fn pack(&self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        match self.packing {
            _ if bytes.is_empty() => Ok(bytes),
            Packing::None => Ok(bytes),
            Packing::Gzip => {
                let packed = Vec::with_capacity(bytes.len() / 2);
                let mut packer = flate2::write::GzEncoder::new(packed, flate2::Compression::new(GZIP_LEVEL));
                packer.write_all(&bytes)?;
                packer.finish()
            }
            Packing::Zstd => zstd::bulk::compress(&bytes, ZSTD_LEVEL),
        }
    }
}

fn delimited(bytes: &mut Vec<u8>, columns: &[Cells<'_>], rows: usize, delimiter: u8) {
    for row in 0..rows {
        let start = bytes.len();
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                bytes.push(delimiter);
            }
            column(row, &mut |cell| match cell {
                Cell::Empty => {}
                Cell::Bare(text) => bytes.extend_from_slice(text.as_bytes()),
                Cell::Text(text) => push_field(bytes, delimiter, text),
            });
        }
        if bytes.len() == start {
            // An empty line would be no record.
            bytes.extend_from_slice(b"\"\"");
        }
        bytes.push(b'\n');
    }
}

/// A field, in quotes where it needs them.
fn push_field(bytes: &mut Vec<u8>, delimiter: u8, text: &str) {
    let special = |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r') || *byte == delimiter;
    // A reader that trims, as ours does, needs quotes no more for blanks than for letters.
    if !text.as_bytes().iter().any(special) {
        return bytes.extend_from_slice(text.as_bytes());
    }
    bytes.push(b'"');
    for part in text.split_inclusive('"') {
        bytes.extend_from_slice(part.as_bytes());
        if part.ends_with('"') {
            bytes.push(b'"');
        }
    }
    bytes.push(b'"');
}

fn objects(bytes: &mut Vec<u8>, batch: &RecordBatch, columns: &[Cells<'_>], between: &[u8]) -> Result<()> {
    let mut names = Vec::with_capacity(columns.len());
    for (place, field) in batch.schema_ref().fields().iter().enumerate() {
        let start = if place == 0 { "{" } else { "," };
        names.push(format!("{start}{}:", serde_json::to_string(field.name())?));
    }
    let mut failure = None;
    for row in 0..batch.num_rows() {
        if row > 0 {
            bytes.extend_from_slice(between);
        }
        for (name, column) in names.iter().zip(columns) {
            bytes.extend_from_slice(name.as_bytes());
            column(row, &mut |cell| match cell {
                Cell::Empty => bytes.extend_from_slice(b"null"),
                Cell::Bare(text) => bytes.extend_from_slice(text.as_bytes()),
                Cell::Text(text) => failure = serde_json::to_writer(&mut *bytes, text).err().or(failure.take()),
            });
        }
        bytes.push(b'}');
    }
    failure.map_or(Ok(()), |error| Err(error.into()))
}
