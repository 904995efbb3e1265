//! Columns of few values as Parquet has them: a dictionary, and for each row a number in it.
//!
//! The library finds the dictionary by hashing every row. Who has the numbers already, or only one value, need not: of a plan
//! of a billion pages two columns of seven are such.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt8Type};
use arrow_array::{Array, ArrayRef};
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

/// The values of a dictionary, each as Parquet writes it plainly, and for each row the number of its value.
struct Codes {
    dictionary: Vec<u8>,
    values: u32,
    /// By the rules of Parquet's RLE and bit-packing hybrid, behind the width in bits.
    rows: Vec<u8>,
}

impl Coded {
    /// The column, if its rows are numbers in a dictionary of at most sixteen texts, or all the same number.
    pub(super) fn of(array: &ArrayRef, column: &ColumnDescPtr) -> Result<Option<Coded>> {
        if column.max_def_level() > 0 || array.is_empty() {
            return Ok(None);
        }
        match constant(array).or_else(|| texts(array)) {
            Some(codes) => Coded::written(codes, array.len(), column).map(Some),
            None => Ok(None),
        }
    }

    fn written(codes: Codes, rows: usize, column: &ColumnDescPtr) -> Result<Coded> {
        let mut file = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut file);
        let mut write = |page: Page| {
            let size = page.buffer().len();
            pages.write_page(CompressedPage::new(page, size))
        };
        let dictionary = write(Page::DictionaryPage {
            buf: codes.dictionary.into(),
            num_values: codes.values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        })?;
        write(Page::DataPage {
            buf: codes.rows.into(),
            num_values: u32::try_from(rows)?,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        let bytes = Bytes::from(file.into_inner()?);
        let size = i64::try_from(bytes.len())?;
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_compression(Compression::UNCOMPRESSED)
            .set_num_values(i64::try_from(rows)?)
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(size)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(i64::try_from(dictionary.compressed_size)?)
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
    Some(Codes { dictionary: first.to_le_bytes().to_vec(), values: 1, rows })
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
    Some(Codes { dictionary: plain, values: u32::try_from(words.len()).ok()?, rows })
}

/// Seven bits at a time, the lowest first.
fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 127 {
        bytes.push((number & 127) as u8 | 128);
        number >>= 7;
    }
    bytes.push((number & 127) as u8);
}
