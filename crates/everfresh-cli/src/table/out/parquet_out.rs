//! Tables as Parquet: one row group per batch, its columns encoded by the worker that made it.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, ColumnPath};

use super::super::cells;
use super::coded::Coded;

/// A column has few values if so many rows, spread over it, have so few.
const LOOKED_AT: usize = 512;
const FEW: usize = 64;

/// Makes the writers of columns: for many different values, and for few.
pub(crate) struct Factories {
    plain: ArrowRowGroupWriterFactory,
    few: ArrowRowGroupWriterFactory,
    columns: Vec<ColumnDescPtr>,
}

/// A column of a row group: encoded by the library, or here.
pub(super) enum Chunk {
    Arrow(ArrowColumnChunk),
    Coded(Coded),
}

/// Begins a file.
pub(super) fn create<W: Write + Send>(
    file: W,
    schema: &SchemaRef,
) -> ParquetResult<(SerializedFileWriter<W>, Factories)> {
    let (writer, plain) =
        ArrowWriter::try_new(file, Arc::clone(schema), Some(properties(schema, false)?))?.into_serialized_writer()?;
    // A factory takes its properties from a writer; this one writes nothing.
    let (_, few) = ArrowWriter::try_new(std::io::sink(), Arc::clone(schema), Some(properties(schema, true)?))?
        .into_serialized_writer()?;
    let columns = writer.schema_descr().columns().to_vec();
    Ok((writer, Factories { plain, few, columns }))
}

fn properties(schema: &Schema, dictionary: bool) -> ParquetResult<WriterProperties> {
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("everfresh ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_dictionary_enabled(dictionary)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(1 << 14);
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        let kind = field.data_type();
        if kind.is_floating() {
            // Their digits are noise, which nothing packs and whose bounds help nobody to skip rows.
            builder = builder
                .set_column_encoding(column.clone(), Encoding::PLAIN)
                .set_column_statistics_enabled(column, EnabledStatistics::None);
        } else if kind.is_integer() {
            builder = builder.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        } else if let DataType::Dictionary(..) = kind {
            builder = builder.set_column_dictionary_enabled(column, true);
        } else {
            let fastest = Compression::ZSTD(ZstdLevel::try_new(1)?);
            builder = builder.set_column_compression(column, fastest);
        }
    }
    Ok(builder.build())
}

impl Factories {
    /// The columns of a row group.
    pub(super) fn encode(&self, batch: &RecordBatch) -> Result<Vec<Chunk>> {
        // The number of a row group matters to encryption only.
        let (plain, few) = (self.plain.create_column_writers(0)?, self.few.create_column_writers(0)?);
        let schema = batch.schema();
        let mut chunks = Vec::with_capacity(plain.len());
        let mut writers = plain.into_iter().zip(few);
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            if let Some(coded) = Coded::of(array, &self.columns[chunks.len()])? {
                chunks.push(Chunk::Coded(coded));
                writers.next();
                continue;
            }
            let has_few = has_few_values(array);
            for leaf in compute_leaves(field, array)? {
                let Some((plain, few)) = writers.next() else { break };
                let mut writer = if has_few { few } else { plain };
                writer.write(&leaf)?;
                chunks.push(Chunk::Arrow(writer.close()?));
            }
        }
        Ok(chunks)
    }
}

/// Is a dictionary of the texts worth it?
fn has_few_values(array: &ArrayRef) -> bool {
    let rows = array.len();
    if !matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        return false;
    }
    let texts = cells::cells(array);
    let looked_at = (0..rows).step_by(rows.div_ceil(LOOKED_AT).max(1));
    looked_at.map(|row| cells::text(&texts, row)).collect::<HashSet<_>>().len() <= FEW.min(rows / 4)
}

/// Puts a row group into the file.
pub(super) fn append<W: Write + Send>(writer: &mut SerializedFileWriter<W>, chunks: Vec<Chunk>) -> ParquetResult<()> {
    let mut group = writer.next_row_group()?;
    for chunk in chunks {
        match chunk {
            Chunk::Arrow(chunk) => chunk.append_to_row_group(&mut group)?,
            Chunk::Coded(coded) => {
                let (bytes, close) = coded.into_parts();
                group.append_column(&bytes, close)?;
            }
        }
    }
    group.close()?;
    Ok(())
}
