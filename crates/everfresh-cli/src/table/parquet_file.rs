//! Parquet: the footer is read once; row groups, or pieces of large ones, are decoded in parallel.

use std::io::BufReader;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetStatisticsPolicy, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};

use super::columns::Columns;
use super::guard::guarded;
use super::source::{Source, SourceReader};
use super::{At, Batch, Job, TableFile, Wish};

/// Rows and bytes of a piece at most: what a worker decodes at once. With four times as many the kernel spends twice as long on fresh
/// memory.
const ROWS: usize = 1 << 18;
const BYTES: usize = 128 << 20;

/// Rows that the decoder gives at a time: few enough that its buffers stay in the cache and are used again.
const PART: usize = 1 << 14;

/// What a footer says.
pub(super) struct Footer {
    metadata: ArrowReaderMetadata,
}

/// A piece of a row group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub group: usize,
    pub first: usize,
    pub rows: usize,
}

/// Reads the footer.
pub(super) fn open(source: &Source) -> Result<Footer> {
    let options = ArrowReaderOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let metadata = guarded(|| Ok(ArrowReaderMetadata::load(source, options)?));
    Ok(Footer { metadata: metadata.map_err(|error| broken(&source.name, "cannot read the footer", &error))? })
}

/// The same file, whose texts are not copied but looked at where they are.
fn with_views(metadata: &ArrowReaderMetadata) -> ParquetResult<ArrowReaderMetadata> {
    let view = |field: &Arc<Field>| match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    };
    let fields: Vec<_> = metadata.schema().fields().iter().map(view).collect();
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)
}

fn broken(name: &str, what: &str, error: &anyhow::Error) -> anyhow::Error {
    anyhow!("{name}: {what}: {error:#}")
}

impl Footer {
    pub(super) fn schema(&self) -> &Schema {
        self.metadata.schema()
    }

    fn groups(&self) -> &[RowGroupMetaData] {
        self.metadata.metadata().row_groups()
    }

    pub(super) fn rows(&self) -> u64 {
        self.groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    /// All pieces of the columns that are taken.
    fn pieces(&self, mask: &ProjectionMask) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (group, metadata) in self.groups().iter().enumerate() {
            let rows = usize::try_from(metadata.num_rows()).unwrap_or(0);
            let bytes: usize = leaves(metadata, mask).map(|size| usize::try_from(size).unwrap_or(0)).sum();
            // As many pieces as the larger of the two measures asks for, all of a size.
            let count = rows.div_ceil(ROWS).max(bytes.div_ceil(BYTES)).max(1);
            let most = rows.div_ceil(count).max(1);
            pieces.extend((0..rows).step_by(most).map(|first| Piece { group, first, rows: most.min(rows - first) }));
        }
        pieces
    }

    /// The beginnings of a few row groups, spread over the file.
    fn sample(&self, groups: usize, rows: usize) -> Vec<Piece> {
        let count = self.groups().len();
        let step = count.div_ceil(groups).max(1);
        let rows = |group: usize| usize::try_from(self.groups()[group].num_rows()).unwrap_or(0).min(rows);
        (0..count).step_by(step).map(|group| Piece { group, first: 0, rows: rows(group) }).collect()
    }
}

/// The unpacked sizes of the column chunks that are taken.
fn leaves<'a>(group: &'a RowGroupMetaData, mask: &'a ProjectionMask) -> impl Iterator<Item = i64> + 'a {
    let chunks = group.columns().iter().enumerate();
    chunks.filter(|(leaf, _)| mask.leaf_included(*leaf)).map(|(_, chunk)| chunk.uncompressed_size())
}

/// The pieces of a file as jobs; only the beginnings of `sample` row groups if it is given.
pub(super) fn jobs(
    file: &Arc<TableFile>,
    footer: &Footer,
    columns: &Arc<Columns>,
    wish: Wish,
    sample: Option<(usize, usize)>,
) -> impl Iterator<Item = Result<Job>> + use<> {
    let in_parts = wish.in_parts;
    let taken = file.places.taken(wish);
    let mask = ProjectionMask::roots(footer.metadata.parquet_schema(), taken.iter().copied());
    let pieces = match sample {
        Some((groups, rows)) => footer.sample(groups, rows),
        None => footer.pieces(&mask),
    };
    let bytes_per_row = file.source.size as f64 / footer.rows().max(1) as f64;
    let views = in_parts.then(|| with_views(&footer.metadata).ok()).flatten();
    let (file, columns) = (Arc::clone(file), Arc::clone(columns));
    let metadata = views.unwrap_or_else(|| footer.metadata.clone());
    pieces.into_iter().map(move |piece| {
        let (file, columns, metadata) = (Arc::clone(&file), Arc::clone(&columns), metadata.clone());
        let (mask, taken) = (mask.clone(), taken.clone());
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bytes = (piece.rows as f64 * bytes_per_row) as u64;
        let decode = move |give: &mut dyn FnMut(Batch) -> Result<()>| {
            let failed =
                |error: anyhow::Error| broken(&file.source.name, &format!("row group {}", piece.group), &error);
            let mut reader = guarded(|| reader(&file.source, metadata, mask, piece)).map_err(failed)?;
            let parts = std::iter::from_fn(|| guarded(|| Ok(reader.next().transpose()?)).transpose());
            let mut parts = parts.map(|part| part.map_err(failed));
            let mut rows = 0;
            let mut gather = |wanted: usize, parts: &mut dyn Iterator<Item = Result<RecordBatch>>| -> Result<()> {
                let at = At::RowGroup { group: piece.group, first: piece.first + rows };
                let batch = Batch::gather(&file, &columns, at, wanted, parts, (&taken, wish))?;
                rows += batch.rows;
                give(batch)
            };
            if in_parts {
                for part in parts {
                    let part = part?;
                    gather(part.num_rows(), &mut std::iter::once(Ok(part)))?;
                }
            } else {
                gather(piece.rows, &mut parts)?;
            }
            if rows != piece.rows {
                return Err(failed(anyhow!("expected {} rows, got {rows}", piece.rows)));
            }
            Ok(())
        };
        Ok(Job { bytes, decode: Box::new(decode) })
    })
}

fn reader(
    source: &Source,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    piece: Piece,
) -> Result<ParquetRecordBatchReader> {
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(source.clone(), metadata)
        .with_row_groups(vec![piece.group])
        .with_projection(mask)
        .with_batch_size(PART);
    if piece.first > 0 {
        builder = builder.with_offset(piece.first);
    }
    Ok(builder.with_limit(piece.rows).build()?)
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Source {
    type T = BufReader<SourceReader>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        // It reads the header of a page, which is about this long.
        Ok(BufReader::with_capacity(512, self.reader(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.bytes(start, length).map_err(ParquetError::from)
    }
}
