//! The visit log: every event as a row of a Parquet file, and back.
//!
//! | column | what |
//! | --- | --- |
//! | `number` | counts all events from 0 |
//! | `time` | when, in UTC, to the microsecond |
//! | `event` | `add`, `lease`, `visit`, `lost` (a lease that expired), `remove`, `alter`, `limit`, `block`, `rule`, `hint`, `replan`, `configure`, ... |
//! | `page`, `address`, `host`, `group` | about which |
//! | `lease` | its number |
//! | `outcome` | of a visit: `unchanged`, `changed`, `gone`, `failed` (may be tried again), `refused` |
//! | `divergence`, `last_change_s` | of a change: how far off the copy was; how long ago the source says that it changed |
//! | `record` | the event as [`everfresh_sched::record`] writes it, where the columns do not say all |
//!
//! Files appear whole or not at all, and never change. Parquet has checksums that hardly anybody writes, so that each file says in its
//! metadata what the hash of its rows is, and whoever reads all of them compares.

use crate::engine::Engine;
use crate::failed;
use crate::names::Names;
use arrow_array::builder::{BinaryBuilder, Float64Builder, StringBuilder, TimestampMicrosecondBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use everfresh::{Period, Unit};
use everfresh_sched::{Error, Event, GroupId, HostId, LeaseId, Outcome, PageId, Result, record};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::Hasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// So many rows are put together at a time.
const ROWS: usize = 65_536;

/// An event, its number, and the page that it is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Counts all events from 0.
    pub number: u64,
    /// What happened.
    pub event: Event,
    /// To which page, if to one.
    pub page: Option<PageId>,
}

/// The files of the visit log in a store's directory, in order.
pub fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let dir = dir.join("visits");
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| failed(&dir.display().to_string())(&error))?,
    };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let is_log = |path: &PathBuf| path.extension().is_some_and(|end| end == "parquet") && generation(path).is_some();
    let mut found: Vec<PathBuf> = paths.filter(is_log).collect();
    found.sort_by_key(|path| generation(path));
    Ok(found)
}

/// The number of the last event in the log, as the footer of its last file says; none where it does not.
pub(crate) fn last_number(dir: &Path) -> Result<Option<u64>> {
    let Some(path) = files(dir)?.pop() else { return Ok(None) };
    let footer = || File::open(&path).map_err(Into::into).and_then(SerializedFileReader::new);
    let Ok(footer) = whole(&path.display().to_string(), footer) else {
        return Ok(None);
    };
    // Statistics know signed numbers; those of events are far from where that matters.
    let last = footer.metadata().row_groups().last().and_then(|group| match group.column(0).statistics() {
        Some(Statistics::Int64(numbers)) => numbers.max_opt().copied(),
        _ => None,
    });
    Ok(last.and_then(|last| u64::try_from(last).ok()))
}

/// The number in the name of a file of the log.
pub(crate) fn generation(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

fn schema() -> Schema {
    let field = |name: &str, kind: DataType| Field::new(name, kind, true);
    Schema::new(vec![
        Field::new("number", DataType::UInt64, false),
        Field::new("time", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), false),
        Field::new("event", DataType::Utf8, false),
        field("page", DataType::UInt64),
        field("address", DataType::Utf8),
        field("host", DataType::Utf8),
        field("group", DataType::Utf8),
        field("lease", DataType::UInt64),
        field("outcome", DataType::Utf8),
        field("divergence", DataType::Float64),
        field("last_change_s", DataType::Float64),
        field("record", DataType::Binary),
    ])
}

/// One file in the making.
pub(crate) struct Writer {
    path: PathBuf,
    rows: Vec<Row>,
    names: Option<Names>,
    schema: Arc<Schema>,
    hash: RowHash,
    file: ArrowWriter<NamedTempFile>,
}

impl Writer {
    pub(crate) fn new(dir: &Path, generation: u64) -> Result<Writer> {
        let dir = dir.join("visits");
        let path = dir.join(format!("{generation:08}.parquet"));
        let shown = path.display().to_string();
        fs::create_dir_all(&dir).map_err(|error| failed(&shown)(&error))?;
        let file = NamedTempFile::with_prefix_in(".visits-", &dir).map_err(|error| failed(&shown)(&error))?;
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let schema = Arc::new(schema());
        let file = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties));
        let file = file.map_err(|error| failed(&shown)(&error))?;
        Ok(Writer { path, rows: Vec::new(), names: None, schema, hash: RowHash::new(), file })
    }

    pub(crate) fn push(&mut self, row: Row, engine: &Engine) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() < ROWS { Ok(()) } else { self.write_rows(engine) }
    }

    fn write_rows(&mut self, engine: &Engine) -> Result<()> {
        let names = match self.names.take() {
            Some(names) => names,
            None => Names::load(engine)?,
        };
        let addresses = addresses(&self.rows, engine)?;
        let mut columns = Columns::default();
        for row in self.rows.drain(..) {
            columns.push(&row, &names, &addresses)?;
        }
        self.names = Some(names);
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns.finish());
        let written = batch.map_err(parquet::errors::ParquetError::from).and_then(|batch| {
            self.hash.take(&batch);
            self.file.write(&batch)
        });
        written.map_err(|error| failed(&self.path.display().to_string())(&error))
    }

    /// Lets the file appear, whole and on the disk.
    pub(crate) fn finish(mut self, engine: &Engine) -> Result<()> {
        self.write_rows(engine)?;
        let shown = self.path.display().to_string();
        self.file.append_key_value_metadata(KeyValue::new(HASH.to_owned(), self.hash.text()));
        let file = self.file.into_inner().map_err(|error| failed(&shown)(&error))?;
        file.as_file().sync_all().map_err(|error| failed(&shown)(&error))?;
        let renamed = file.persist(&self.path).map_err(|error| failed(&shown)(&error))?;
        drop(renamed);
        let dir = self.path.parent().map(File::open);
        dir.map_or(Ok(()), |dir| dir.and_then(|dir| dir.sync_all())).map_err(|error| failed(&shown)(&error))
    }
}

/// The addresses of the pages of some rows. They are asked for in order, so that each block of the engine is read once.
fn addresses(rows: &[Row], engine: &Engine) -> Result<HashMap<PageId, String>> {
    let mut pages: Vec<PageId> = rows.iter().filter_map(|row| row.page).collect();
    pages.sort_unstable();
    pages.dedup();
    let mut found = HashMap::with_capacity(pages.len());
    for page in pages {
        if let Some(address) = engine.pages.get(page.0.to_be_bytes()).map_err(|error| failed("names")(&error))? {
            found.insert(page, String::from_utf8_lossy(&address).into_owned());
        }
    }
    Ok(found)
}

#[derive(Default)]
struct Columns {
    number: UInt64Builder,
    time: TimestampMicrosecondBuilder,
    event: StringBuilder,
    page: UInt64Builder,
    address: StringBuilder,
    host: StringBuilder,
    group: StringBuilder,
    lease: UInt64Builder,
    outcome: StringBuilder,
    divergence: Float64Builder,
    last_change_s: Float64Builder,
    record: BinaryBuilder,
}

impl Columns {
    fn push(&mut self, row: &Row, names: &Names, addresses: &HashMap<PageId, String>) -> Result<()> {
        let about = About::of(&row.event);
        self.number.append_value(row.number);
        self.time.append_value(micros(about.now_s));
        self.event.append_value(about.word);
        self.page.append_option(row.page.map(|page| page.0));
        self.address.append_option(row.page.and_then(|page| addresses.get(&page)));
        self.host.append_option(about.host.and_then(|host| names.host(host)));
        self.group.append_option(about.group.and_then(|group| names.group(group)));
        self.lease.append_option(about.lease.map(|lease| lease.0));
        let (outcome, divergence, last_change) = about.outcome.map_or((None, None, None), words);
        self.outcome.append_option(outcome);
        self.divergence.append_option(divergence);
        self.last_change_s.append_option(last_change.map(Period::seconds));
        let record = if about.is_plain { None } else { Some(record::of_events(&[row.event])?) };
        self.record.append_option(record);
        Ok(())
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.number.finish()),
            Arc::new(self.time.finish().with_timezone("UTC")),
            Arc::new(self.event.finish()),
            Arc::new(self.page.finish()),
            Arc::new(self.address.finish()),
            Arc::new(self.host.finish()),
            Arc::new(self.group.finish()),
            Arc::new(self.lease.finish()),
            Arc::new(self.outcome.finish()),
            Arc::new(self.divergence.finish()),
            Arc::new(self.last_change_s.finish()),
            Arc::new(self.record.finish()),
        ]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
fn micros(now_s: f64) -> i64 {
    (now_s * 1e6).round() as i64
}

/// What the columns say of an event.
struct About {
    word: &'static str,
    now_s: f64,
    lease: Option<LeaseId>,
    outcome: Option<Outcome>,
    host: Option<HostId>,
    group: Option<GroupId>,
    /// Do the columns say all?
    is_plain: bool,
}

impl About {
    fn of(event: &Event) -> About {
        let about =
            |word, now_s| About { word, now_s, lease: None, outcome: None, host: None, group: None, is_plain: false };
        match *event {
            Event::Leased { now_s, lease, .. } => About { lease: Some(lease), is_plain: true, ..about("lease", now_s) },
            Event::Completed { now_s, lease, outcome } => {
                About { lease: Some(lease), outcome: Some(outcome), is_plain: true, ..about("visit", now_s) }
            }
            Event::Expired { now_s, lease } => About { lease: Some(lease), is_plain: true, ..about("lost", now_s) },
            Event::Added { now_s, terms, .. } => {
                About { host: Some(terms.host()), group: Some(terms.group()), ..about("add", now_s) }
            }
            Event::Altered { now_s, terms, .. } => {
                About { host: Some(terms.host()), group: Some(terms.group()), ..about("alter", now_s) }
            }
            Event::Limited { now_s, host, .. } => About { host: Some(host), ..about("limit", now_s) },
            Event::Blocked { now_s, host, .. } => About { host: Some(host), ..about("block", now_s) },
            Event::GroupLimited { now_s, group, .. } => About { group: Some(group), ..about("limit", now_s) },
            Event::GroupBlocked { now_s, group, .. } => About { group: Some(group), ..about("block", now_s) },
            Event::Ruled { now_s, group, .. } => About { group: Some(group), ..about("rule", now_s) },
            Event::Hinted { now_s, .. } => about("hint", now_s),
            Event::Removed { now_s, .. } => about("remove", now_s),
            Event::Replanned { now_s } | Event::Planned { now_s, .. } => about("replan", now_s),
            Event::Configured { now_s, .. } => about("configure", now_s),
            _ => about("other", 0.0),
        }
    }
}

fn words(outcome: Outcome) -> (Option<&'static str>, Option<f64>, Option<Period>) {
    match outcome {
        Outcome::Unchanged => (Some("unchanged"), None, None),
        Outcome::Changed { divergence, last_change } => (Some("changed"), Some(divergence), last_change),
        Outcome::Gone => (Some("gone"), None, None),
        Outcome::Failed { retryable: true } => (Some("failed"), None, None),
        Outcome::Failed { retryable: false } => (Some("refused"), None, None),
    }
}

/// A row that was read: the event, and the names that stand beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The event with its number and page.
    pub row: Row,
    /// The page's address.
    pub address: Option<String>,
    /// The host's name.
    pub host: Option<String>,
    /// The group's name.
    pub group: Option<String>,
}

/// A step in reading a file. Readers of damaged files may panic.
fn whole<T, E: std::error::Error>(shown: &str, step: impl FnOnce() -> std::result::Result<T, E>) -> Result<T> {
    let read = catch_unwind(AssertUnwindSafe(step));
    let read = read.map_err(|_| Error::Store(format!("{shown} is damaged: it cannot be read")))?;
    read.map_err(|error| failed(shown)(&error))
}

/// Reads a file of the visit log, row by row, until one is refused.
pub fn read(path: &Path, take: &mut dyn FnMut(Read) -> Result<()>) -> Result<()> {
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|error| failed(&shown)(&error))?;
    let reader = whole(&shown, || ParquetRecordBatchReaderBuilder::try_new(file))?;
    let (written, mut found) = (written_hash(reader.metadata()), RowHash::new());
    let mut reader = whole(&shown, || reader.with_batch_size(8192).build())?;
    while let Some(batch) = whole(&shown, || reader.next().transpose())? {
        let columns = Stored::of(&batch).map_err(|error| failed(&shown)(&error))?;
        found.take(&batch);
        for row in 0..batch.num_rows() {
            let read =
                columns.row(row).map_err(|error| failed(&format!("{shown}, event {}", columns.number(row)))(&error))?;
            take(read)?;
        }
    }
    match written {
        Some(written) if written != found.text() => Err(Error::Store(format!(
            "{shown} is damaged: the hash of its rows must be {written}, got {}",
            found.text()
        ))),
        _ => Ok(()),
    }
}

/// Where a file says what the hash of its rows is. The first files did not.
const HASH: &str = "everfresh.rows.xxh3";

fn written_hash(metadata: &ParquetMetaData) -> Option<String> {
    let pairs = metadata.file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == HASH)?.value.clone()
}

/// A hash of rows, column by column, so that it does not depend on how they are cut into batches.
struct RowHash(Vec<Xxh3Default>);

impl RowHash {
    fn new() -> RowHash {
        RowHash(schema().fields().iter().map(|_| Xxh3Default::new()).collect())
    }

    fn take(&mut self, batch: &RecordBatch) {
        for (column, hash) in batch.columns().iter().zip(&mut self.0) {
            match column.data_type() {
                DataType::UInt64 => put_all(hash, column.as_primitive::<UInt64Type>().iter(), u64::to_le_bytes),
                DataType::Float64 => put_all(hash, column.as_primitive::<Float64Type>().iter(), f64::to_le_bytes),
                DataType::Utf8 => column.as_string::<i32>().iter().for_each(|text| put(hash, text.map(str::as_bytes))),
                DataType::Binary => column.as_binary::<i32>().iter().for_each(|bytes| put(hash, bytes)),
                _ => put_all(hash, column.as_primitive::<TimestampMicrosecondType>().iter(), i64::to_le_bytes),
            }
        }
    }

    fn text(&self) -> String {
        let columns: Vec<u8> = self.0.iter().flat_map(|hash| hash.finish().to_le_bytes()).collect();
        format!("{:016x}", xxh3_64(&columns))
    }
}

/// Hands over the pages that were leased since a time, by a file of the log; only the columns that tell are read, and only where their
/// footers say that there may be any. False if there are none: then files before it have none either.
pub(crate) fn leased_since(path: &Path, since_s: f64, take: &mut dyn FnMut(PageId)) -> Result<bool> {
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|error| failed(&shown)(&error))?;
    let reader = whole(&shown, || ParquetRecordBatchReaderBuilder::try_new(file))?;
    let is_since = |group: usize| match reader.metadata().row_group(group).column(TIME).statistics() {
        Some(Statistics::Int64(times)) => times.max_opt().is_none_or(|last| *last >= micros(since_s)),
        _ => true,
    };
    let groups: Vec<usize> = (0..reader.metadata().num_row_groups()).filter(|group| is_since(*group)).collect();
    let is_any = !groups.is_empty();
    let columns = ProjectionMask::columns(reader.parquet_schema(), LEASED);
    let mut reader = whole(&shown, || reader.with_projection(columns).with_row_groups(groups).build())?;
    while let Some(batch) = whole(&shown, || reader.next().transpose())? {
        let stored = Stored::with(&batch, &LEASED).map_err(|error| failed(&shown)(&error))?;
        for row in (0..batch.num_rows()).filter(|row| stored.text("event", *row) == Some("lease")) {
            if stored.time(row).is_some_and(|time| time >= micros(since_s)) {
                stored.whole("page", row).into_iter().for_each(|page| take(PageId(page)));
            }
        }
    }
    Ok(is_any)
}

/// Takes a value in, so that no two ways of cutting bytes into values are the same.
fn put(hash: &mut Xxh3Default, value: Option<&[u8]>) {
    hash.write(&value.map_or(u64::MAX, |bytes| bytes.len() as u64).to_le_bytes());
    hash.write(value.unwrap_or_default());
}

fn put_all<T>(hash: &mut Xxh3Default, values: impl Iterator<Item = Option<T>>, bytes: fn(T) -> [u8; 8]) {
    values.for_each(|value| put(hash, value.map(bytes).as_ref().map(<[u8; 8]>::as_slice)));
}

/// The place of the time among the columns.
const TIME: usize = 1;
/// The columns that tell who was leased when.
const LEASED: [&str; 3] = ["time", "event", "page"];

/// The columns of a batch that was read.
struct Stored<'a>(&'a RecordBatch);

impl<'a> Stored<'a> {
    /// A batch with the columns that the log has.
    fn of(batch: &'a RecordBatch) -> Result<Stored<'a>> {
        let names: Vec<String> = schema().fields().iter().map(|field| field.name().clone()).collect();
        Stored::with(batch, &names)
    }

    /// A batch with some of them.
    fn with(batch: &'a RecordBatch, names: &[impl AsRef<str>]) -> Result<Stored<'a>> {
        let expected = schema();
        let is_wanted = |field: &&Arc<Field>| names.iter().any(|name| name.as_ref() == field.name());
        for field in expected.fields().iter().filter(is_wanted) {
            let found = batch.schema_ref().field_with_name(field.name());
            if found.ok().map(Field::data_type) != Some(field.data_type()) {
                let text = format!("column {} must be there and of type {}", field.name(), field.data_type());
                return Err(Error::Store(text));
            }
        }
        Ok(Stored(batch))
    }

    fn column(&self, name: &str, row: usize) -> Option<&ArrayRef> {
        self.0.column_by_name(name).filter(|column| column.is_valid(row))
    }

    fn number(&self, row: usize) -> u64 {
        self.whole("number", row).unwrap_or(0)
    }

    fn whole(&self, name: &str, row: usize) -> Option<u64> {
        self.column(name, row).map(|column| column.as_primitive::<UInt64Type>().value(row))
    }

    fn real(&self, name: &str, row: usize) -> Option<f64> {
        self.column(name, row).map(|column| column.as_primitive::<Float64Type>().value(row))
    }

    fn time(&self, row: usize) -> Option<i64> {
        self.column("time", row).map(|column| column.as_primitive::<TimestampMicrosecondType>().value(row))
    }

    fn text(&self, name: &str, row: usize) -> Option<&str> {
        self.column(name, row).map(|column| column.as_string::<i32>().value(row))
    }

    fn row(&self, row: usize) -> Result<Read> {
        let owned = |name| self.text(name, row).map(str::to_owned);
        Ok(Read {
            row: Row { number: self.number(row), event: self.event(row)?, page: self.whole("page", row).map(PageId) },
            address: owned("address"),
            host: owned("host"),
            group: owned("group"),
        })
    }

    fn event(&self, row: usize) -> Result<Event> {
        if let Some(column) = self.column("record", row) {
            let events = record::events(column.as_binary::<i32>().value(row))?;
            let [event] = events[..] else { return Err(Error::Store("a record must hold one event".to_owned())) };
            return Ok(event);
        }
        let time = self.time(row);
        let missing = |name: &str| Error::Store(format!("column {name} must not be empty here"));
        let now_s = time.ok_or_else(|| missing("time"))? as f64 / 1e6;
        let lease = LeaseId(self.whole("lease", row).ok_or_else(|| missing("lease"))?);
        match self.text("event", row) {
            Some("lease") => {
                let page = PageId(self.whole("page", row).ok_or_else(|| missing("page"))?);
                Ok(Event::Leased { now_s, lease, page })
            }
            Some("visit") => Ok(Event::Completed { now_s, lease, outcome: self.outcome(row)? }),
            Some("lost") => Ok(Event::Expired { now_s, lease }),
            other => {
                Err(Error::Store(format!("event must be lease, visit or lost where record is empty, got {other:?}")))
            }
        }
    }

    fn outcome(&self, row: usize) -> Result<Outcome> {
        Ok(match self.text("outcome", row) {
            Some("unchanged") => Outcome::Unchanged,
            Some("changed") => {
                let last_change = self.real("last_change_s", row).map(|s| Period::of(s, Unit::Second)).transpose()?;
                Outcome::Changed { divergence: self.real("divergence", row).unwrap_or(1.0), last_change }
            }
            Some("gone") => Outcome::Gone,
            Some("failed") => Outcome::Failed { retryable: true },
            Some("refused") => Outcome::Failed { retryable: false },
            other => {
                let text = "outcome must be unchanged, changed, gone, failed or refused, got";
                return Err(Error::Store(format!("{text} {other:?}")));
            }
        })
    }
}
