//! Reading and writing tables of any size in bounded memory.
//!
//! A table is delimited text (compressed or not), Parquet or Arrow IPC, in one file or in many. An [`Input`] is opened and checked
//! once and read any number of times, batch by batch, in parallel and in order. Every value is checked as it is read: an error
//! names the file, the line (or the row group and the row), the column, the value and the bound.

mod arrow_file;
mod cells;
mod columns;
mod guard;
mod hosts;
mod lines;
mod out;
mod pages;
mod parquet_file;
mod pipeline;
mod quantity;
mod source;
#[cfg(test)]
mod tests;
mod text;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray};
use arrow_schema::{DataType, SchemaRef};

use columns::Places;
pub(crate) use columns::{Columns, Wanted};
pub(crate) use hosts::{HostCount, HostNumbers, SomeHosts};
pub(crate) use out::{Encoded, Encoder, OutTable, check_columns, check_ending, json_objects, say_written, write_whole};
pub(crate) use quantity::{Quantity, moment};
use source::{Kind, Source};
pub(crate) use source::{TextFile, is_table, open_text};

/// What is wrong with a page that has no name.
const NAMELESS: &str = "a page must have a name, got nothing";

/// Row groups, or files, of a sample, and rows of each.
const SAMPLE_PLACES: usize = 8;
const SAMPLE_ROWS: usize = 1 << 15;

/// A table, opened and checked.
pub(crate) struct Input {
    columns: Arc<Columns>,
    files: Vec<Arc<TableFile>>,
}

/// One file of a table.
struct TableFile {
    /// Counted from 0.
    number: usize,
    source: Source,
    places: Places,
    format: Format,
}

enum Format {
    Text(text::Layout),
    Parquet(parquet_file::Footer),
    ArrowFile(arrow_file::Footer),
    ArrowStream(SchemaRef),
}

/// Some rows of a table.
pub(crate) struct Batch {
    /// The names of the pages, if they were asked for.
    pub key: Option<ArrayRef>,
    /// The hosts, if they were asked for.
    pub host: Option<ArrayRef>,
    /// For each wanted column its values, checked; nothing where the table has no such column.
    pub numbers: Vec<Option<Vec<f64>>>,
    /// For each further column of text its values; nothing where the table has no such column.
    pub texts: Vec<Option<ArrayRef>>,
    pub rows: usize,
    file: Arc<TableFile>,
    at: At,
}

/// Where a batch begins.
enum At {
    Block(Arc<text::Block>, u8),
    RowGroup { group: usize, first: usize },
    RecordBatch { number: usize, first: usize },
}

/// How much of a pass is done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Done {
    pub rows: u64,
    /// About.
    pub bytes: u64,
}

/// Rows that are still to be decoded, by whichever worker takes them: into one batch or, where parts were asked for, several.
struct Job {
    /// Bytes of the file, about.
    bytes: u64,
    decode: Box<Decode>,
}

/// Hands on one batch after the other.
type Decode = dyn FnOnce(&mut dyn FnMut(Batch) -> Result<()>) -> Result<()> + Send;

impl Job {
    /// One that decodes a single batch.
    fn one(bytes: u64, decode: impl FnOnce() -> Result<Batch> + Send + 'static) -> Job {
        Job { bytes, decode: Box::new(|give| give(decode()?)) }
    }

    /// What `each` makes of the batches.
    fn map<T>(self, each: impl Fn(Batch) -> Result<T>) -> Result<Vec<T>> {
        let mut all = Vec::new();
        (self.decode)(&mut |batch| {
            all.push(each(batch)?);
            Ok(())
        })?;
        Ok(all)
    }
}

/// What is decoded of a table.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
struct Wish {
    with_key: bool,
    with_host: bool,
    /// Only some beginnings?
    sample: bool,
    /// As the decoder gives them, while they are in the cache, or all rows of a job as one batch?
    in_parts: bool,
}

impl Wish {
    /// Every row with all its columns, all rows of a job in one batch.
    const ALL: Wish = Wish { with_key: true, with_host: true, sample: false, in_parts: false };
}

type Jobs = Box<dyn Iterator<Item = Result<Job>>>;

impl Input {
    /// Opens files, all tables in directories, and stdin for `-`.
    pub(crate) fn open(paths: &[PathBuf], columns: Columns) -> Result<Input> {
        Input::from_sources(source::sources(paths)?, columns)
    }

    /// A table that is built in.
    pub(crate) fn from_text(name: &str, text: &'static str, columns: Columns) -> Result<Input> {
        Input::from_sources(vec![Source::memory(name, text.as_bytes())], columns)
    }

    fn from_sources(sources: Vec<Source>, columns: Columns) -> Result<Input> {
        let open = |(number, source)| TableFile::open(number, source, &columns).map(Arc::new);
        let files = sources.into_iter().enumerate().map(open).collect::<Result<Vec<_>>>()?;
        let Some((first, others)) = files.split_first() else { bail!("there is no table to read") };
        for other in others {
            agree(first, other, &columns)?;
        }
        Ok(Input { columns: Arc::new(columns), files })
    }

    /// The number of rows, where all files say it: Parquet and Arrow files do.
    pub(crate) fn known_rows(&self) -> Option<u64> {
        self.files.iter().map(|file| file.known_rows()).sum()
    }

    /// Bytes of all files.
    pub(crate) fn size(&self) -> u64 {
        self.files.iter().map(|file| file.source.size).sum()
    }

    /// Does the table have the wanted column of this number?
    pub(crate) fn has(&self, wanted: usize) -> bool {
        self.files[0].places.numbers.get(wanted).is_some_and(Option::is_some)
    }

    /// From here on as if the table had no such column.
    pub(crate) fn leave_out(&mut self, wanted: usize) -> Result<()> {
        for file in &mut self.files {
            let file = Arc::get_mut(file).context("the table is being read")?;
            file.places.numbers[wanted] = None;
        }
        Ok(())
    }

    /// Does the table have the further column of text of this number?
    pub(crate) fn has_text(&self, text: usize) -> bool {
        self.files[0].places.texts.get(text).is_some_and(Option::is_some)
    }

    /// The names of the columns of the first file.
    pub(crate) fn column_names(&self) -> &[String] {
        &self.files[0].places.names
    }

    /// The type of the names of pages.
    pub(crate) fn key_type(&self) -> DataType {
        self.files[0].key_type()
    }

    /// What the table is called in messages: its file, or the first of them.
    pub(crate) fn name(&self) -> &str {
        &self.files[0].source.name
    }

    /// Calls `each` on every batch, in parallel, and `collect` on what it gives, in the order of the rows. The names of pages
    /// are read only `with_key`.
    ///
    /// It waits for rayon's pool, so it must not be called from within.
    pub(crate) fn scan<T: Send>(
        &self,
        with_key: bool,
        each: impl Fn(Batch) -> Result<T> + Sync,
        collect: impl FnMut(T, Done) -> Result<()>,
    ) -> Result<()> {
        self.scan_whole(Wish { with_key, ..Wish::ALL }, each, collect)
    }

    /// The same without the hosts.
    pub(crate) fn scan_without_hosts<T: Send>(
        &self,
        with_key: bool,
        each: impl Fn(Batch) -> Result<T> + Sync,
        collect: impl FnMut(T, Done) -> Result<()>,
    ) -> Result<()> {
        self.scan_whole(Wish { with_key, with_host: false, ..Wish::ALL }, each, collect)
    }

    fn scan_whole<T: Send>(
        &self,
        wish: Wish,
        each: impl Fn(Batch) -> Result<T> + Sync,
        mut collect: impl FnMut(T, Done) -> Result<()>,
    ) -> Result<()> {
        self.scan_as(wish, each, |results, done| results.into_iter().try_for_each(|result| collect(result, done)))
    }

    /// The same in small batches, with the names of pages; `collect` gets those of several together.
    pub(crate) fn scan_parts<T: Send>(
        &self,
        each: impl Fn(Batch) -> Result<T> + Sync,
        collect: impl FnMut(Vec<T>, Done) -> Result<()>,
    ) -> Result<()> {
        self.scan_as(Wish { in_parts: true, ..Wish::ALL }, each, collect)
    }

    fn scan_as<T: Send>(
        &self,
        wish: Wish,
        each: impl Fn(Batch) -> Result<T> + Sync,
        mut collect: impl FnMut(Vec<T>, Done) -> Result<()>,
    ) -> Result<()> {
        // Files are opened one after the other, as their turn comes.
        let jobs = self.files.iter().flat_map(|file| match file.jobs(&self.columns, wish) {
            Ok(jobs) => jobs,
            Err(error) => Box::new(std::iter::once(Err(error))),
        });
        let mut done = Done::default();
        let work = |job: Job| {
            let bytes = job.bytes;
            let results = job.map(|batch| Ok((batch.rows as u64, each(batch)?)))?;
            Ok((bytes, results))
        };
        pipeline::ordered(jobs, work, |(bytes, results): (u64, Vec<(u64, T)>)| {
            let rows: u64 = results.iter().map(|(rows, _)| rows).sum();
            done = Done { rows: done.rows + rows, bytes: done.bytes + bytes };
            collect(results.into_iter().map(|(_, result)| result).collect(), done)
        })?;
        if done.rows == 0 {
            let header = if matches!(self.files[0].format, Format::Text(_)) { "a header and " } else { "" };
            bail!("{}: the table is empty: it has {header}no pages", self.name());
        }
        Ok(())
    }

    /// Some rows from different places, without the names of pages and hosts, for a first guess, and about which share of all rows
    /// they are: the beginnings of a few row groups, or of a few files.
    pub(crate) fn sample(&self) -> Result<(Vec<Batch>, f64)> {
        let (mut batches, mut bytes) = (Vec::new(), 0);
        for file in self.files.iter().step_by(self.files.len().div_ceil(SAMPLE_PLACES)) {
            let most = match file.format {
                Format::Text(_) | Format::ArrowStream(_) => 1,
                Format::Parquet(_) | Format::ArrowFile(_) => SAMPLE_PLACES.div_ceil(self.files.len()),
            };
            let wish = Wish { with_key: false, with_host: false, sample: true, in_parts: false };
            for job in file.jobs(&self.columns, wish)?.take(most) {
                let job = job?;
                bytes += job.bytes;
                batches.extend(job.map(Ok)?);
            }
        }
        let rows: usize = batches.iter().map(|batch| batch.rows).sum();
        let share = match self.known_rows() {
            Some(known) => rows as f64 / known as f64,
            None => bytes as f64 / self.size() as f64,
        };
        Ok((batches, share.min(1.0)))
    }
}

/// All values of a column as text: a column of plain text as it is, without a copy.
pub(crate) fn as_texts(array: &ArrayRef) -> StringViewArray {
    match (array.data_type(), array.null_count()) {
        (DataType::Utf8View, 0) => return array.as_string_view().clone(),
        (DataType::Utf8, 0) => return StringViewArray::from(array.as_string::<i32>()),
        _ => {}
    }
    let mut texts = StringViewBuilder::with_capacity(array.len());
    for_each_text(array, |text| texts.append_value(text));
    texts.finish()
}

/// Hands every value of a column to a function, as text.
pub(crate) fn for_each_text(array: &ArrayRef, mut each: impl FnMut(&str)) {
    let values = cells::cells(array);
    for row in 0..array.len() {
        values(row, &mut |cell| match cell {
            cells::Cell::Empty => each(""),
            cells::Cell::Bare(text) | cells::Cell::Text(text) => each(text),
        });
    }
}

/// Files of one table must have the same columns.
fn agree(first: &TableFile, other: &TableFile, columns: &Columns) -> Result<()> {
    let (first_name, name) = (&first.source.name, &other.source.name);
    for (number, wanted) in columns.numbers.iter().enumerate() {
        let (has, other_has) = (first.places.numbers[number].is_some(), other.places.numbers[number].is_some());
        let column = &wanted.name;
        match (has, other_has) {
            (true, false) => bail!("{name}: there is no column `{column}`, but `{first_name}` has one"),
            (false, true) => bail!("{name}: there is a column `{column}`, but `{first_name}` has none"),
            _ => {}
        }
    }
    for (number, (column, _)) in columns.texts.iter().enumerate() {
        match (first.places.texts[number], other.places.texts[number]) {
            (Some(_), None) => bail!("{name}: there is no column `{column}`, but `{first_name}` has one"),
            (None, Some(_)) => bail!("{name}: there is a column `{column}`, but `{first_name}` has none"),
            _ => {}
        }
    }
    if let (true, Some(key)) = (first.key_type() != other.key_type(), other.places.key) {
        let (key, kind, first_kind) = (&other.places.names[key], other.key_type(), first.key_type());
        bail!("{name}: column `{key}` is {kind}, but in `{first_name}` it is {first_kind}");
    }
    Ok(())
}

impl TableFile {
    fn open(number: usize, source: Source, columns: &Columns) -> Result<TableFile> {
        let (places, format) = match source.kind()? {
            Kind::Text(compression) => {
                let (layout, names, place) = text::open(&source, compression, columns)?;
                (Places::find(columns, names, &place)?, Format::Text(layout))
            }
            Kind::Parquet => {
                let footer = parquet_file::open(&source)?;
                (Places::fit(columns, footer.schema(), &source.name)?, Format::Parquet(footer))
            }
            Kind::ArrowFile => {
                let footer = arrow_file::open(&source)?;
                (Places::fit(columns, footer.schema(), &source.name)?, Format::ArrowFile(footer))
            }
            Kind::ArrowStream => {
                let schema = arrow_file::open_stream(&source)?;
                (Places::fit(columns, &schema, &source.name)?, Format::ArrowStream(schema))
            }
        };
        Ok(TableFile { number, source, places, format })
    }

    fn known_rows(&self) -> Option<u64> {
        match &self.format {
            Format::Parquet(footer) => Some(footer.rows()),
            Format::ArrowFile(footer) => Some(footer.rows()),
            Format::Text(_) | Format::ArrowStream(_) => None,
        }
    }

    fn key_type(&self) -> DataType {
        let schema = match &self.format {
            Format::Parquet(footer) => footer.schema(),
            Format::ArrowFile(footer) => footer.schema(),
            Format::ArrowStream(schema) => schema,
            Format::Text(_) => return DataType::Utf8,
        };
        self.places.key.map_or(DataType::Utf8, |key| schema.field(key).data_type().clone())
    }

    fn jobs(self: &Arc<Self>, columns: &Arc<Columns>, wish: Wish) -> Result<Jobs> {
        let sample = wish.sample;
        Ok(match &self.format {
            Format::Text(layout) => Box::new(text::jobs(self, layout, columns, wish)?),
            Format::Parquet(footer) => {
                let sample = sample.then_some((SAMPLE_PLACES, SAMPLE_ROWS));
                Box::new(parquet_file::jobs(self, footer, columns, wish, sample))
            }
            Format::ArrowFile(footer) => {
                let sample = sample.then_some(SAMPLE_PLACES);
                Box::new(arrow_file::jobs(self, footer, columns, wish, sample)?)
            }
            Format::ArrowStream(_) => Box::new(arrow_file::stream_jobs(self, columns, wish)?),
        })
    }
}

impl Batch {
    /// A batch from what a decoder gave for the columns `taken`, part by part.
    fn gather(
        file: &Arc<TableFile>,
        columns: &Columns,
        at: At,
        rows: usize,
        parts: impl Iterator<Item = Result<RecordBatch>>,
        (taken, wish): (&[usize], Wish),
    ) -> Result<Batch> {
        let places = &file.places;
        let numbers = places.numbers.iter().map(|index| index.map(|_| Vec::new())).collect();
        let texts = Vec::new();
        let mut batch = Batch { key: None, host: None, numbers, texts, rows: 0, file: Arc::clone(file), at };
        let (mut keys, mut hosts, mut texts) = (Vec::new(), Vec::new(), vec![Vec::new(); places.texts.len()]);
        for part in parts {
            let part = part?;
            let length = part.num_rows();
            let mut part = Part { arrays: part.columns().iter().cloned().map(Some).collect(), places, taken, wish };
            if let Some(index) = places.key.filter(|_| wish.with_key) {
                let key = part.take(index);
                if let Some(row) = nameless(&key) {
                    return Err(batch.error(batch.rows + row, index, NAMELESS));
                }
                keys.push(key);
            }
            hosts.extend(places.host.filter(|_| wish.with_host).map(|index| part.take(index)));
            for (index, parts) in places.texts.iter().zip(&mut texts) {
                parts.extend(index.map(|index| part.take(index)));
            }
            for (number, wanted) in columns.numbers.iter().enumerate() {
                let Some(index) = places.numbers[number] else { continue };
                let values = wanted.quantity.column(part.take(index), columns.unit);
                let values = values.map_err(|bad| batch.error(batch.rows + bad.row, index, &bad.why))?;
                match &mut batch.numbers[number] {
                    // All in one part is taken as it is.
                    Some(all) if all.is_empty() && length == rows => *all = values,
                    Some(all) => {
                        all.reserve_exact(rows.saturating_sub(all.len()));
                        all.extend_from_slice(&values);
                    }
                    None => {}
                }
            }
            batch.rows += length;
        }
        batch.key = join(keys)?;
        batch.host = join(hosts)?;
        batch.texts = texts.into_iter().map(join).collect::<Result<_>>()?;
        Ok(batch)
    }

    /// The part of a table that the batch is in, whatever is decoded of it, and the row within that part at which the batch begins:
    /// parts are blocks of text, row groups or record batches.
    fn part(&self) -> ((usize, u64), u64) {
        let (part, first) = match &self.at {
            At::Block(block, _) => (block.line(), 0),
            At::RowGroup { group, first } => (*group as u64, *first),
            At::RecordBatch { number, first } => (*number as u64, *first),
        };
        ((self.file.number, part), first as u64)
    }

    /// An error in a row of this batch and the wanted column of this number.
    pub(crate) fn wrong(&self, row: usize, wanted: usize, why: &str) -> anyhow::Error {
        match self.file.places.numbers.get(wanted).copied().flatten() {
            Some(index) => self.error(row, index, why),
            None => anyhow!("{}: {why}", self.where_is(row)),
        }
    }

    /// An error in the name of a page.
    pub(crate) fn wrong_key(&self, row: usize, why: &str) -> anyhow::Error {
        self.error(row, self.file.places.key.unwrap_or(0), why)
    }

    /// The place of a row within its file: `line 7`, or `row group 2, row 5`, both counted from 0 as Parquet does.
    pub(crate) fn place(&self, row: usize) -> String {
        match &self.at {
            At::Block(block, delimiter) => format!("line {}", text::line(block, *delimiter, row)),
            At::RowGroup { group, first } => format!("row group {group}, row {}", first + row),
            At::RecordBatch { number, first } => format!("record batch {number}, row {}", first + row),
        }
    }

    /// The file and the place of a row in it.
    pub(crate) fn where_is(&self, row: usize) -> String {
        let name = &self.file.source.name;
        match &self.at {
            At::Block(block, delimiter) => format!("{name}:{}", text::line(block, *delimiter, row)),
            _ => format!("{name}: {}", self.place(row)),
        }
    }

    fn error(&self, row: usize, index: usize, why: &str) -> anyhow::Error {
        anyhow!("{}: column `{}`: {why}", self.where_is(row), self.file.places.names[index])
    }
}

/// What a decoder gave, column by column.
struct Part<'a> {
    arrays: Vec<Option<ArrayRef>>,
    places: &'a Places,
    taken: &'a [usize],
    wish: Wish,
}

impl Part<'_> {
    /// A column of the file. Who alone wants it gets it for itself, and need not copy it.
    fn take(&mut self, index: usize) -> ArrayRef {
        let place = self.taken.iter().position(|taken| *taken == index).unwrap_or(0);
        let alone = self.places.taken_times(index, self.wish) == 1;
        let array = if alone { self.arrays[place].take() } else { self.arrays[place].clone() };
        array.unwrap_or_else(|| arrow_array::new_empty_array(&DataType::Null))
    }
}

/// The parts of a column as one.
fn join(mut parts: Vec<ArrayRef>) -> Result<Option<ArrayRef>> {
    if parts.len() <= 1 {
        return Ok(parts.pop());
    }
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    Ok(Some(arrow_select::concat::concat(&parts)?))
}

/// The first page without a name.
fn nameless(keys: &ArrayRef) -> Option<usize> {
    if let Some(row) = quantity::first_null(keys) {
        return Some(row);
    }
    match keys.data_type() {
        DataType::Utf8 => keys.as_string::<i32>().offsets().windows(2).position(|ends| ends[0] == ends[1]),
        DataType::LargeUtf8 => keys.as_string::<i64>().offsets().windows(2).position(|ends| ends[0] == ends[1]),
        DataType::Utf8View => keys.as_string_view().iter().position(|key| key == Some("")),
        _ => None,
    }
}
