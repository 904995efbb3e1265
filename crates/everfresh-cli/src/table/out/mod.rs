//! Writing a table batch by batch: encoded in the workers, put into the file in order, and there only when whole.

mod arrow_out;
mod coded;
mod parquet_out;
mod text_out;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use parquet::file::writer::SerializedFileWriter;

use crate::interrupt;
use crate::output::{self, ReaderGone, cannot_write};
use crate::whole::{self, WholeFile};
use parquet_out::Factories;
use text_out::{Style, TextFormat};

/// Endings, for messages.
const ENDINGS: &str = ".csv, .tsv, .json, .jsonl (also with .gz or .zst), .parquet, .arrow, .ipc, .feather or .arrows";

type File = BufWriter<WholeFile>;

/// A table being written.
pub(crate) struct OutTable {
    path: PathBuf,
    encoder: Encoder,
    sink: Sink,
    rows: u64,
}

enum Sink {
    Text(File),
    Parquet(SerializedFileWriter<File>),
    ArrowFile(FileWriter<File>),
    ArrowStream(StreamWriter<File>),
}

/// Encodes batches, in any thread.
#[derive(Clone)]
pub(crate) enum Encoder {
    Text(Arc<TextFormat>),
    Parquet(Arc<Factories>),
    /// With the schema of a file that has no dictionaries.
    Arrow {
        unpack: Option<SchemaRef>,
    },
}

/// A batch in the format of its file.
pub(crate) struct Encoded {
    rows: u64,
    form: Form,
}

enum Form {
    Text(Vec<u8>),
    Parquet(Vec<parquet_out::Chunk>),
    Arrow(RecordBatch),
}

/// What a name asks for.
enum Asked {
    Text(TextFormat),
    Parquet,
    ArrowFile,
    ArrowStream,
}

/// Refuses a table with two columns of one name, as columns that are called as those of the result would give: who reads it would not
/// know which is meant.
pub(crate) fn check_columns(schema: &Schema) -> Result<()> {
    let mut names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    names.sort_unstable();
    match names.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => bail!("the result would have two columns `{}`: give that of the table another name", two[0]),
        None => Ok(()),
    }
}

impl OutTable {
    /// Begins a table in the format of its ending; `-` is CSV on stdout.
    pub(crate) fn create(path: &Path, schema: &SchemaRef) -> Result<OutTable> {
        let asked = asked(path)?;
        check_columns(schema)?;
        if let Asked::Text(_) = asked {
            text_out::check(schema)?;
        }
        let file = if path == Path::new("-") { Ok(WholeFile::stdout()) } else { WholeFile::create(path) };
        let mut file = BufWriter::with_capacity(1 << 16, file.map_err(|error| cannot_write(path, error))?);
        let broken = |error: ArrowError| arrow_failure(path, error);
        let (encoder, sink) = match asked {
            Asked::Text(format) => {
                let header = format.header(schema).map_err(|error| io_failure(path, error))?;
                file.write_all(&header).map_err(|error| io_failure(path, error))?;
                (Encoder::Text(Arc::new(format)), Sink::Text(file))
            }
            Asked::Parquet => {
                let (writer, factories) =
                    parquet_out::create(file, schema).map_err(|error| parquet_failure(path, error))?;
                (Encoder::Parquet(Arc::new(factories)), Sink::Parquet(writer))
            }
            Asked::ArrowFile => {
                let schema = arrow_out::without_dictionaries(schema);
                let writer = FileWriter::try_new(file, &schema).map_err(broken)?;
                (Encoder::Arrow { unpack: Some(schema) }, Sink::ArrowFile(writer))
            }
            Asked::ArrowStream => {
                let writer = StreamWriter::try_new(file, schema).map_err(broken)?;
                (Encoder::Arrow { unpack: None }, Sink::ArrowStream(writer))
            }
        };
        Ok(OutTable { path: path.to_owned(), encoder, sink, rows: 0 })
    }

    /// What encodes the batches.
    pub(crate) fn encoder(&self) -> Encoder {
        self.encoder.clone()
    }

    /// Puts the next batch into the file.
    pub(crate) fn append(&mut self, encoded: Encoded) -> Result<()> {
        interrupt::check()?;
        let path = &self.path;
        match (&mut self.sink, encoded.form) {
            (Sink::Text(file), Form::Text(bytes)) => {
                let comma = if let (Encoder::Text(format), true) = (&self.encoder, self.rows > 0 && encoded.rows > 0) {
                    format.between()
                } else {
                    Ok(Vec::new())
                };
                let written = comma.and_then(|comma| file.write_all(&comma)).and_then(|()| file.write_all(&bytes));
                written.map_err(|error| io_failure(path, error))?;
            }
            (Sink::Parquet(writer), Form::Parquet(chunks)) => {
                parquet_out::append(writer, chunks).map_err(|error| parquet_failure(path, error))?;
            }
            (Sink::ArrowFile(writer), Form::Arrow(batch)) => {
                writer.write(&batch).map_err(|error| arrow_failure(path, error))?;
            }
            (Sink::ArrowStream(writer), Form::Arrow(batch)) => {
                writer.write(&batch).map_err(|error| arrow_failure(path, error))?;
            }
            _ => bail!("a batch was encoded for another file"),
        }
        self.rows += encoded.rows;
        Ok(())
    }

    /// Ends the table, which appears, and tells its rows.
    pub(crate) fn finish(self) -> Result<u64> {
        let OutTable { path, encoder, sink, rows } = self;
        let path = &path;
        interrupt::check()?;
        let file = match sink {
            Sink::Text(mut file) => {
                if let Encoder::Text(format) = &encoder {
                    let end = format.footer(rows);
                    let written = end.and_then(|end| file.write_all(&end));
                    written.map_err(|error| io_failure(path, error))?;
                }
                file
            }
            Sink::Parquet(writer) => writer.into_inner().map_err(|error| parquet_failure(path, error))?,
            Sink::ArrowFile(writer) => writer.into_inner().map_err(|error| arrow_failure(path, error))?,
            Sink::ArrowStream(writer) => writer.into_inner().map_err(|error| arrow_failure(path, error))?,
        };
        let file = file.into_inner().map_err(|error| io_failure(path, error.into_error()))?;
        file.finish().map_err(|error| io_failure(path, error))?;
        Ok(rows)
    }
}

impl Encoder {
    /// A batch in the format of the file.
    pub(crate) fn encode(&self, batch: &RecordBatch) -> Result<Encoded> {
        let rows = batch.num_rows() as u64;
        let form = match self {
            Encoder::Text(format) => Form::Text(format.encode(batch)?),
            Encoder::Parquet(factories) => Form::Parquet(factories.encode(batch)?),
            Encoder::Arrow { unpack: None } => Form::Arrow(batch.clone()),
            Encoder::Arrow { unpack: Some(schema) } => Form::Arrow(arrow_out::unpacked(batch, schema)?),
        };
        Ok(Encoded { rows, form })
    }
}

/// Is there a format for the ending of this name, and a place for the file?
pub(crate) fn check_ending(path: &Path) -> Result<()> {
    asked(path)?;
    if path == Path::new("-") { Ok(()) } else { whole::check_place(path) }
}

/// Writes a table that is one batch, and says so.
pub(crate) fn write_whole(path: &Path, batch: &RecordBatch) -> Result<()> {
    let mut table = OutTable::create(path, &batch.schema())?;
    let encoded = table.encoder().encode(batch)?;
    table.append(encoded)?;
    let rows = table.finish()?;
    say_written(path, rows);
    Ok(())
}

/// Says where a table went; one on stdout speaks for itself.
pub(crate) fn say_written(path: &Path, rows: u64) {
    if path != Path::new("-") {
        output::say(&format!("{} written to {}", output::count(rows as f64, "row"), path.display()));
    }
}

/// The rows of a batch as JSON objects, a line each, with commas between them.
pub(crate) fn json_objects(batch: &RecordBatch) -> Result<Vec<u8>> {
    TextFormat { style: Style::Json, packing: text_out::Packing::None }.encode(batch)
}

/// The format that a name asks for.
fn asked(path: &Path) -> Result<Asked> {
    let delimited = |delimiter| TextFormat { style: Style::Delimited(delimiter), packing: text_out::Packing::None };
    if path == Path::new("-") {
        return Ok(Asked::Text(delimited(b',')));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let (stem, packing) = match name.rsplit_once('.') {
        Some((stem, "gz")) => (stem, text_out::Packing::Gzip),
        Some((stem, "zst")) => (stem, text_out::Packing::Zstd),
        _ => (name.as_str(), text_out::Packing::None),
    };
    let ending = stem.rsplit_once('.').map_or("", |(_, ending)| ending);
    let style = match ending {
        "csv" => Style::Delimited(b','),
        "tsv" => Style::Delimited(b'\t'),
        "json" => Style::Json,
        "jsonl" => Style::JsonLines,
        "parquet" if packing == text_out::Packing::None => return Ok(Asked::Parquet),
        "arrow" | "ipc" | "feather" if packing == text_out::Packing::None => return Ok(Asked::ArrowFile),
        "arrows" if packing == text_out::Packing::None => return Ok(Asked::ArrowStream),
        _ => bail!("--out `{}`: the ending must be {ENDINGS}, got `{ending}`", path.display()),
    };
    Ok(Asked::Text(TextFormat { style, packing }))
}

/// A failure of the machine, but for a reader of stdout that has seen enough.
fn io_failure(path: &Path, error: io::Error) -> anyhow::Error {
    if path != Path::new("-") {
        return cannot_write(path, error);
    }
    if error.kind() == io::ErrorKind::BrokenPipe {
        return ReaderGone.into();
    }
    crate::output::machine("cannot write to stdout", error)
}

fn arrow_failure(path: &Path, error: ArrowError) -> anyhow::Error {
    match error {
        ArrowError::IoError(_, error) => io_failure(path, error),
        error => cannot_write(path, error),
    }
}

fn parquet_failure(path: &Path, error: parquet::errors::ParquetError) -> anyhow::Error {
    match error {
        parquet::errors::ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => io_failure(path, *error),
            Err(error) => cannot_write(path, error),
        },
        error => cannot_write(path, error),
    }
}
