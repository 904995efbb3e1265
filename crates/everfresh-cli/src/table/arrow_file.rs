//! Arrow IPC: the batches of a file are decoded in parallel, those of a stream in order.

use std::io::BufReader;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, StreamReader, read_footer_length};
use arrow_ipc::{Block, MetadataVersion, convert, root_as_footer, root_as_message};
use arrow_schema::{Schema, SchemaRef};

use super::columns::Columns;
use super::guard::guarded;
use super::source::{Source, SourceReader};
use super::{At, Batch, Job, TableFile, Wish};
use crate::output;

/// Rows that are handed on at once, where a batch has more.
const ROWS: usize = 1 << 18;

/// Length of the end of a file: the length of the footer and the mark.
const TRAILER: usize = 10;

/// The end of a stream.
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// What a footer says.
pub(super) struct Footer {
    schema: SchemaRef,
    version: MetadataVersion,
    dictionaries: Vec<Block>,
    /// Each batch and how many rows it has.
    batches: Vec<(Block, u64)>,
}

/// What is wrong with the bytes of a file.
fn broken(name: &str, what: &str, error: &anyhow::Error) -> anyhow::Error {
    anyhow!("{name}: {what}: {error:#}")
}

/// Reads the footer, and the head of each batch for its rows.
pub(super) fn open(source: &Source) -> Result<Footer> {
    guarded(|| footer(source)).map_err(|error| broken(&source.name, "cannot read the footer", &error))
}

fn footer(source: &Source) -> Result<Footer> {
    let end = source.size.checked_sub(TRAILER as u64).context("the file ends too early")?;
    let trailer: [u8; TRAILER] = source.bytes(end, TRAILER)?.as_ref().try_into()?;
    let length = read_footer_length(trailer)?;
    let start = end.checked_sub(length as u64).context("the footer is longer than the file")?;
    let bytes = source.bytes(start, length)?;
    let footer = root_as_footer(&bytes).map_err(|error| anyhow!("{error}"))?;
    let schema = Arc::new(convert::try_fb_to_schema(footer.schema().context("there is no schema")?)?);
    let mut batches = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        batches.push((*block, rows(source, block)?));
    }
    let dictionaries = footer.dictionaries().iter().flatten().copied().collect();
    Ok(Footer { schema, version: footer.version(), dictionaries, batches })
}

/// The rows of a batch, from its head.
fn rows(source: &Source, block: &Block) -> Result<u64> {
    let head = source.bytes(u64::try_from(block.offset())?, usize::try_from(block.metaDataLength())?)?;
    // Newer files put a mark before the length.
    let message = if head.starts_with(&[0xFF; 4]) { head.get(8..) } else { head.get(4..) };
    let message = root_as_message(message.context("a batch without a head")?).map_err(|error| anyhow!("{error}"))?;
    let batch = message.header_as_record_batch().context("a batch without rows")?;
    Ok(u64::try_from(batch.length())?)
}

fn body(source: &Source, block: &Block) -> Result<Buffer> {
    let length = usize::try_from(block.metaDataLength())?
        .checked_add(usize::try_from(block.bodyLength())?)
        .context("a batch of no possible length")?;
    Ok(Buffer::from(source.bytes(u64::try_from(block.offset())?, length)?))
}

impl Footer {
    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(super) fn rows(&self) -> u64 {
        self.batches.iter().map(|(_, rows)| rows).sum()
    }

    fn decoder(&self, source: &Source, taken: &[usize]) -> Result<FileDecoder> {
        let mut decoder = FileDecoder::new(Arc::clone(&self.schema), self.version).with_projection(taken.to_vec());
        for block in &self.dictionaries {
            decoder.read_dictionary(block, &body(source, block)?)?;
        }
        Ok(decoder)
    }
}

/// The batches of a file as jobs; only a few, spread over the file, if `sample` is given.
pub(super) fn jobs(
    file: &Arc<TableFile>,
    footer: &Footer,
    columns: &Arc<Columns>,
    wish: Wish,
    sample: Option<usize>,
) -> Result<impl Iterator<Item = Result<Job>> + use<>> {
    let taken = file.places.taken(wish);
    let name = &file.source.name;
    let decoder = guarded(|| footer.decoder(&file.source, &taken));
    let decoder = Arc::new(decoder.map_err(|error| broken(name, "cannot read the dictionaries", &error))?);
    let (file, columns) = (Arc::clone(file), Arc::clone(columns));
    let step = sample.map_or(1, |batches| footer.batches.len().div_ceil(batches).max(1));
    let batches: Vec<_> = footer.batches.iter().copied().enumerate().step_by(step).collect();
    Ok(batches.into_iter().filter(|(_, (_, rows))| *rows > 0).map(move |(number, (block, rows))| {
        let (file, columns, decoder) = (Arc::clone(&file), Arc::clone(&columns), Arc::clone(&decoder));
        let taken = taken.clone();
        let bytes = u64::try_from(block.bodyLength()).unwrap_or(0);
        let decode = move || {
            let batch = guarded(|| decode(&file.source, &decoder, &block, rows));
            let batch = batch.map_err(|error| broken(&file.source.name, &format!("record batch {number}"), &error))?;
            let (at, rows) = (At::RecordBatch { number, first: 0 }, batch.num_rows());
            Batch::gather(&file, &columns, at, rows, std::iter::once(Ok(batch)), (&taken, wish))
        };
        Ok(Job::one(bytes, decode))
    }))
}

fn decode(source: &Source, decoder: &FileDecoder, block: &Block, rows: u64) -> Result<RecordBatch> {
    let batch = decoder.read_record_batch(block, &body(source, block)?)?.context("it has no rows")?;
    if batch.num_rows() as u64 != rows {
        bail!("expected {rows} rows, got {}", batch.num_rows());
    }
    Ok(batch)
}

/// The schema of a stream.
pub(super) fn open_stream(source: &Source) -> Result<SchemaRef> {
    let schema = reader(source, None)?.schema();
    let end = source.size.checked_sub(END.len() as u64);
    let has_end = end.is_some_and(|end| source.bytes(end, END.len()).is_ok_and(|bytes| bytes == END[..]));
    // The format allows it, but so ends what was cut off between two batches.
    if !has_end {
        output::say(&format!("{}: the Arrow stream has no end mark: if it was cut off, rows are missing", source.name));
    }
    Ok(schema)
}

fn reader(source: &Source, taken: Option<Vec<usize>>) -> Result<StreamReader<BufReader<SourceReader>>> {
    let bytes = BufReader::with_capacity(1 << 20, source.reader(0));
    let reader = guarded(|| Ok(StreamReader::try_new(bytes, taken)?));
    reader.map_err(|error| broken(&source.name, "cannot read the schema", &error))
}

/// The batches of a stream as jobs. They are decoded one after the other, which copies and little else.
pub(super) fn stream_jobs(
    file: &Arc<TableFile>,
    columns: &Arc<Columns>,
    wish: Wish,
) -> Result<impl Iterator<Item = Result<Job>> + use<>> {
    let taken = file.places.taken(wish);
    let mut reader = reader(&file.source, Some(taken.clone()))?;
    let (file, columns) = (Arc::clone(file), Arc::clone(columns));
    let (mut number, size) = (0, file.source.size);
    let mut failed = false;
    let batches = std::iter::from_fn(move || {
        if failed {
            return None;
        }
        let batch = guarded(|| Ok(reader.next().transpose()?)).transpose();
        let batch = batch.or_else(|| more_behind(reader.get_ref(), size).map(Err))?;
        let at = number;
        number += 1;
        failed = batch.is_err();
        Some(batch.map(|batch| (at, batch)))
    });
    let name = file.source.name.clone();
    let jobs = batches.flat_map(move |batch| match batch {
        Ok((number, batch)) => pieces(&file, &columns, number, &batch, &taken, wish),
        Err(error) => vec![Err(broken(&name, "cannot read a record batch", &error))],
    });
    Ok(jobs)
}

/// What is wrong with bytes behind the end of a stream: they may be a second one, whose rows would be left out.
fn more_behind(reader: &BufReader<SourceReader>, size: u64) -> Option<anyhow::Error> {
    let end = reader.get_ref().place() - reader.buffer().len() as u64;
    (end < size)
        .then(|| anyhow!("{} bytes follow the end of the stream: give each stream a file of its own", size - end))
}

fn pieces(
    file: &Arc<TableFile>,
    columns: &Arc<Columns>,
    number: usize,
    batch: &RecordBatch,
    taken: &[usize],
    wish: Wish,
) -> Vec<Result<Job>> {
    let piece = |first: usize| {
        let piece = batch.slice(first, ROWS.min(batch.num_rows() - first));
        let (file, columns, taken) = (Arc::clone(file), Arc::clone(columns), taken.to_vec());
        let bytes = (piece.get_array_memory_size() * piece.num_rows() / batch.num_rows().max(1)) as u64;
        let at = At::RecordBatch { number, first };
        let decode = move || {
            let rows = piece.num_rows();
            Batch::gather(&file, &columns, at, rows, std::iter::once(Ok(piece)), (&taken, wish))
        };
        Ok(Job::one(bytes, decode))
    };
    (0..batch.num_rows()).step_by(ROWS).map(piece).collect()
}
