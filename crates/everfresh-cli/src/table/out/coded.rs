//! Columns whose form in Parquet is known without looking at every row: a dictionary with for each row a number in it, and plain
//! numbers.
//!
//! The library finds a dictionary by hashing every row, and lists the places of all rows before it takes the values from them.
//! Who has the numbers already, or only one value, or all values in a row need not: of a plan of a billion pages that is every
//! column but the name.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt8Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// A column chunk, ready to be put into a file.
pub(super) struct Coded {
    bytes: Bytes,
    close: ColumnCloseResult,
}

/// What the pages of a column chunk hold.
struct Codes {
    /// The values of a dictionary, each as Parquet writes it plainly, and how many.
    dictionary: Option<(Vec<u8>, u32)>,
    /// The rows of each page, and how many. With a dictionary these are numbers in it by the rules of Parquet's RLE and bit-packing
    /// hybrid, behind the width in bits; else they are the values.
    pages: Vec<(Bytes, usize)>,
}

/// The header of a page is shorter.
const HEADER: usize = 64;

/// Rows of a page of plain numbers: a megabyte, as other writers have it.
const PAGE: usize = 1 << 17;

impl Coded {
    /// The column, if its rows are numbers in a dictionary of at most sixteen texts, all the same number, or plain numbers.
    pub(super) fn of(array: &ArrayRef, column: &ColumnDescPtr) -> Result<Option<Coded>> {
        if column.max_def_level() > 0 || array.is_empty() {
            return Ok(None);
        }
        match constant(array).or_else(|| texts(array)).or_else(|| plain(array)) {
            Some(codes) => Coded::written(codes, column).map(Some),
            None => Ok(None),
        }
    }

    fn written(codes: Codes, column: &ColumnDescPtr) -> Result<Coded> {
        let bytes = codes.pages.iter().map(|(page, _)| page.len() + HEADER).sum();
        let rows = codes.pages.iter().map(|(_, rows)| rows).sum::<usize>();
        let mut file = TrackedWrite::new(Vec::with_capacity(bytes));
        let mut pages = SerializedPageWriter::new(&mut file);
        let mut write = |page: Page| {
            let size = page.buffer().len();
            pages.write_page(CompressedPage::new(page, size))
        };
        let mut metadata = ColumnChunkMetaData::builder(column.clone());
        let mut encodings = vec![Encoding::PLAIN];
        if let Some((values, count)) = codes.dictionary {
            let (encoding, is_sorted) = (Encoding::PLAIN, false);
            let page = Page::DictionaryPage { buf: values.into(), num_values: count, encoding, is_sorted };
            let written = write(page)?;
            encodings.extend([Encoding::RLE, Encoding::RLE_DICTIONARY]);
            metadata = metadata
                .set_dictionary_page_offset(Some(0))
                .set_data_page_offset(i64::try_from(written.compressed_size)?);
        }
        for (buf, rows) in codes.pages {
            write(Page::DataPage {
                buf,
                num_values: u32::try_from(rows)?,
                encoding: encodings.last().copied().unwrap_or(Encoding::PLAIN),
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            })?;
        }
        let bytes = Bytes::from(file.into_inner()?);
        let size = i64::try_from(bytes.len())?;
        let metadata = metadata
            .set_encodings(encodings)
            .set_compression(Compression::UNCOMPRESSED)
            .set_num_values(i64::try_from(rows)?)
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(size)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(Coded { bytes, close })
    }

    /// The bytes, and what the file is to know of them.
    pub(super) fn into_parts(self) -> (Bytes, ColumnCloseResult) {
        (self.bytes, self.close)
    }
}

/// A column of one number: one run of it.
fn constant(array: &ArrayRef) -> Option<Codes> {
    let values = array.as_primitive_opt::<Float64Type>()?.values();
    let first = values.first()?;
    // Most columns differ soon.
    if values.iter().any(|value| value.to_bits() != first.to_bits()) {
        return None;
    }
    let mut rows = vec![1];
    varint((values.len() as u64) << 1, &mut rows);
    rows.push(0);
    let dictionary = Some((first.to_le_bytes().to_vec(), 1));
    Some(Codes { dictionary, pages: vec![(rows.into(), values.len())] })
}

/// A column of texts by number, four bits each: groups of eight rows, packed from the lowest bit up.
fn texts(array: &ArrayRef) -> Option<Codes> {
    let dictionary = array.as_dictionary_opt::<UInt8Type>()?;
    let words = dictionary.values().as_string_opt::<i32>()?;
    if words.is_empty() || words.len() > 16 || array.null_count() + words.null_count() > 0 {
        return None;
    }
    let mut plain = Vec::new();
    for word in words.iter().flatten() {
        plain.extend_from_slice(&u32::try_from(word.len()).ok()?.to_le_bytes());
        plain.extend_from_slice(word.as_bytes());
    }
    let keys: &[u8] = dictionary.keys().values();
    let groups = keys.len().div_ceil(8);
    let mut rows = Vec::with_capacity(4 * groups + 16);
    rows.push(4);
    varint((groups as u64) << 1 | 1, &mut rows);
    rows.extend(keys.chunks(2).map(|pair| pair[0] | pair.get(1).copied().unwrap_or(0) << 4));
    let packed = keys.len().div_ceil(2);
    rows.resize(rows.len() + 4 * groups - packed, 0);
    Some(Codes { dictionary: Some((plain, u32::try_from(words.len()).ok()?)), pages: vec![(rows.into(), keys.len())] })
}

/// A column of numbers: what Parquet calls plain is how they stand in the memory of most machines.
fn plain(array: &ArrayRef) -> Option<Codes> {
    if cfg!(target_endian = "big") || array.null_count() > 0 {
        return None;
    }
    let values = array.as_primitive_opt::<Float64Type>()?.values();
    let bytes = Bytes::from_owner(Owned(values.inner().clone()));
    let page = |start: usize| {
        let end = values.len().min(start + PAGE);
        (bytes.slice(start * size_of::<f64>()..end * size_of::<f64>()), end - start)
    };
    Some(Codes { dictionary: None, pages: (0..values.len()).step_by(PAGE).map(page).collect() })
}

/// Lends bytes without a copy.
struct Owned(Buffer);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Seven bits at a time, the lowest first.
fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 127 {
        bytes.push((number & 127) as u8 | 128);
        number >>= 7;
    }
    bytes.push((number & 127) as u8);
}
