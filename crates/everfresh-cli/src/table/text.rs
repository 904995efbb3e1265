//! Delimited text: cut into blocks at the ends of records, which are then parsed in parallel.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, anyhow, bail};
use arrow_array::{ArrayRef, builder::StringBuilder};
use csv::{ByteRecord, StringRecord};

use super::columns::{Columns, Places};
use super::lines::{ends, line_of};
use super::source::{Compression, Source, is_tsv};
use super::{At, Batch, Job, TableFile, Wish};

/// Bytes of a block, before the rest of its last record.
const BLOCK: usize = 4 << 20;
/// A record longer than this is no record, but a quote that nobody closed.
const LONGEST_RECORD: usize = 64 << 20;
/// The mark that some programs put before UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// How a text is read.
#[derive(Debug)]
pub(super) struct Layout {
    compression: Compression,
    delimiter: u8,
    /// Where the records begin, behind the mark and the header, and on which line.
    body: u64,
    line: u64,
}

/// Whole records, and the line of the first byte.
pub(super) struct Block {
    bytes: Vec<u8>,
    line: u64,
}

impl Block {
    /// The line of the first byte.
    pub(super) const fn line(&self) -> u64 {
        self.line
    }
}

/// Reads the header: the layout of the text, the names of its columns, and the place of the header for messages.
pub(super) fn open(
    source: &Source,
    compression: Compression,
    columns: &Columns,
) -> Result<(Layout, Vec<String>, String)> {
    let name = &source.name;
    let mut blocks = Blocks::new(source, compression, b',', 1 << 16)?;
    let first = blocks.next().transpose()?;
    let bytes = first.map_or_else(Vec::new, |block| block.bytes);
    if bytes.starts_with(b"PAR1") || bytes.starts_with(b"ARROW1") {
        bail!("{name}: Parquet and Arrow compress their columns themselves: unpack the file first");
    }
    if matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[')) {
        bail!(
            "{name}: this looks like JSON, which is written for other programs but not read: use CSV, TSV, Parquet or Arrow"
        );
    }
    let delimiter = delimiter(name, &bytes);
    // Cut again, now that the delimiter, which may stand before a quote, is known.
    let bytes = if delimiter == b',' { bytes } else { first_block(source, compression, delimiter)? };
    let mut reader = reader(delimiter, &bytes);
    let mut header = StringRecord::new();
    let there = reader.read_record(&mut header).map_err(|error| anyhow!("{name}: {}", plain(&error)))?;
    if !there || header.is_empty() {
        bail!("{name}: the table is empty: it needs a header line such as `{}`", columns.header());
    }
    let start = header.position().map_or(0, csv::Position::byte);
    let header_line = line_of(&bytes, usize::try_from(start).unwrap_or(0)) + 1;
    let mut end = usize::try_from(reader.position().byte()).unwrap_or(0).min(bytes.len());
    if bytes[..end].ends_with(b"\r") && bytes[end..].starts_with(b"\n") {
        end += 1;
    }
    let layout = Layout { compression, delimiter, body: end as u64, line: ends(&bytes[..end]) + 1 };
    Ok((layout, header.iter().map(str::to_owned).collect(), format!("{name}:{header_line}")))
}

fn first_block(source: &Source, compression: Compression, delimiter: u8) -> Result<Vec<u8>> {
    Ok(Blocks::new(source, compression, delimiter, 1 << 16)?
        .next()
        .transpose()?
        .map_or_else(Vec::new, |block| block.bytes))
}

/// A tab where the name says so, or where the header has tabs and no commas.
fn delimiter(name: &str, bytes: &[u8]) -> u8 {
    let start = bytes.iter().position(|byte| !matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len());
    let end = memchr::memchr2(b'\n', b'\r', &bytes[start..]).map_or(bytes.len(), |end| start + end);
    let header = &bytes[start..end];
    if is_tsv(name) || (header.contains(&b'\t') && !header.contains(&b',')) { b'\t' } else { b',' }
}

/// The number of fields is checked elsewhere, to say it better.
fn reader(delimiter: u8, bytes: &[u8]) -> csv::Reader<&[u8]> {
    let mut builder = csv::ReaderBuilder::new();
    builder.delimiter(delimiter).has_headers(false).flexible(true).trim(csv::Trim::All).from_reader(bytes)
}

/// What went wrong, without the reader's own idea of a place.
fn plain(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => format!("field {} is not UTF-8", err.field() + 1),
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

/// The blocks of a file as jobs.
pub(super) fn jobs(
    file: &Arc<TableFile>,
    layout: &Layout,
    columns: &Arc<Columns>,
    wish: Wish,
) -> Result<impl Iterator<Item = Result<Job>> + use<>> {
    let mut blocks = Blocks::new(&file.source, layout.compression, layout.delimiter, BLOCK)?;
    blocks.skip(layout)?;
    let (file, columns, delimiter) = (Arc::clone(file), Arc::clone(columns), layout.delimiter);
    let mut before = 0;
    Ok(std::iter::from_fn(move || {
        let block = match blocks.next()? {
            Ok(block) => Arc::new(block),
            Err(error) => return Some(Err(error)),
        };
        let bytes = blocks.packed.load(Ordering::Relaxed) - before;
        before += bytes;
        let (file, columns) = (Arc::clone(&file), Arc::clone(&columns));
        Some(Ok(Job::one(bytes, move || parse(&file, &columns, &block, delimiter, wish))))
    }))
}

/// A text on its way into blocks.
struct Blocks {
    name: String,
    text: Box<dyn Read>,
    delimiter: u8,
    /// Bytes of the file that have been read, and those that they unpacked to.
    packed: Arc<AtomicU64>,
    unpacked: u64,
    /// What is read and not given out: the start of a record.
    rest: Vec<u8>,
    line: u64,
    size: usize,
    ended: bool,
}

impl Blocks {
    fn new(source: &Source, compression: Compression, delimiter: u8, size: usize) -> Result<Blocks> {
        let packed = Arc::default();
        let text = source.text(compression, &packed).map_err(|error| unreadable(&source.name, &error))?;
        let mut blocks = Blocks {
            name: source.name.clone(),
            text,
            delimiter,
            packed,
            unpacked: 0,
            rest: Vec::new(),
            line: 1,
            size,
            ended: false,
        };
        // The mark of UTF-8 is no part of the first name.
        blocks.fill(MARK.len())?;
        if blocks.rest.starts_with(MARK) {
            blocks.rest.clear();
        }
        Ok(blocks)
    }

    /// Goes past the header; nothing has been given out yet.
    fn skip(&mut self, layout: &Layout) -> Result<()> {
        let mut left = layout.body;
        while left > 0 {
            if self.rest.is_empty() {
                self.fill(1 << 16)?;
            }
            if self.rest.is_empty() {
                bail!("{}: the file has become shorter while it was read", self.name);
            }
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.rest.len());
            self.rest.drain(..length);
            left -= length as u64;
        }
        self.line = layout.line;
        Ok(())
    }

    /// Reads on until so many bytes wait, or the text ends.
    fn fill(&mut self, length: usize) -> Result<()> {
        let missing = length.saturating_sub(self.rest.len()) as u64;
        self.rest.reserve(usize::try_from(missing).unwrap_or(0));
        let read = Read::by_ref(&mut self.text).take(missing).read_to_end(&mut self.rest);
        let read = read.map_err(|error| unreadable(&self.name, &error))? as u64;
        self.unpacked += read;
        self.ended |= read < missing;
        Ok(())
    }

    fn next(&mut self) -> Option<Result<Block>> {
        self.block().transpose()
    }

    fn block(&mut self) -> Result<Option<Block>> {
        let mut size = self.size;
        loop {
            if !self.ended {
                self.fill(size)?;
            }
            if self.rest.is_empty() {
                return Ok(None);
            }
            let end = if self.ended { Some(self.rest.len()) } else { cut(&self.rest, self.delimiter) };
            let Some(end) = end else {
                if size > LONGEST_RECORD {
                    bail!("{}:{}: a record is longer than 64 MiB: a quote may not be closed", self.name, self.line);
                }
                size *= 2;
                continue;
            };
            let mut bytes = Vec::with_capacity(self.size + self.size / 4);
            bytes.extend_from_slice(&self.rest[end..]);
            std::mem::swap(&mut bytes, &mut self.rest);
            bytes.truncate(end);
            let line = self.line;
            self.line += ends(&bytes);
            return Ok(Some(Block { bytes, line }));
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> anyhow::Error {
    anyhow!("{name}: cannot read: {error}")
}

/// The end of the last whole record, if there is one. The bytes start with a record.
///
/// By the rules of the CSV reader a quote opens a field only where the field starts, so that counting quotes is not enough.
fn cut(bytes: &[u8], delimiter: u8) -> Option<usize> {
    let (mut end, mut quoted, mut at) = (None, false, 0);
    // The start of what is not in quotes.
    let mut open = 0;
    while let Some(quote) = memchr::memchr(b'"', &bytes[at..]).map(|found| at + found) {
        at = quote + 1;
        if !quoted {
            let before = quote.checked_sub(1).map(|before| bytes[before]);
            if before.is_none_or(|before| matches!(before, b'\n' | b'\r') || before == delimiter) {
                end = last_end(bytes, open, quote).or(end);
                quoted = true;
            }
        } else if bytes.get(at) == Some(&b'"') {
            at += 1;
        } else {
            quoted = false;
            open = at;
        }
    }
    if quoted { end } else { last_end(bytes, open, bytes.len()).or(end) }
}

/// The end of the last line in a range. A CR at the very end may be half of a CRLF.
fn last_end(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let mut found = memchr::memrchr2(b'\n', b'\r', &bytes[start..end])? + start;
    if bytes[found] == b'\r' && found + 1 == bytes.len() {
        found = memchr::memrchr2(b'\n', b'\r', &bytes[start..found])? + start;
    }
    Some(found + 1)
}

/// What is wrong with a record.
enum Wrong {
    Column(usize, String),
    Other(String),
}

/// The columns of a block, as they fill.
struct Parser<'a> {
    columns: &'a Columns,
    places: &'a Places,
    key: Option<StringBuilder>,
    host: Option<StringBuilder>,
    texts: Vec<Option<StringBuilder>>,
    numbers: Vec<Option<Vec<f64>>>,
    rows: usize,
}

/// The fields of a record.
trait Fields {
    fn count(&self) -> usize;
    fn field(&self, index: usize) -> &str;
}

impl Fields for StringRecord {
    fn count(&self) -> usize {
        self.len()
    }

    fn field(&self, index: usize) -> &str {
        self.get(index).unwrap_or_default()
    }
}

impl Fields for Vec<&str> {
    fn count(&self) -> usize {
        self.len()
    }

    fn field(&self, index: usize) -> &str {
        self[index].trim()
    }
}

impl Parser<'_> {
    fn record(&mut self, fields: &impl Fields) -> Result<(), Wrong> {
        let (expected, got) = (self.places.names.len(), fields.count());
        if expected != got {
            return Err(Wrong::Other(format!("expected {expected} fields, got {got}")));
        }
        if let Some(index) = self.places.key {
            let key = fields.field(index);
            if key.is_empty() {
                return Err(Wrong::Column(index, super::NAMELESS.to_owned()));
            }
            if let Some(keys) = &mut self.key {
                keys.append_value(key);
            }
        }
        if let (Some(index), Some(hosts)) = (self.places.host, &mut self.host) {
            hosts.append_value(fields.field(index));
        }
        for (index, values) in self.places.texts.iter().zip(&mut self.texts) {
            if let (Some(index), Some(values)) = (index, values) {
                values.append_value(fields.field(*index));
            }
        }
        for ((wanted, index), values) in self.columns.numbers.iter().zip(&self.places.numbers).zip(&mut self.numbers) {
            if let (Some(index), Some(values)) = (index, values) {
                let value = wanted.quantity.text(fields.field(*index), self.columns.unit);
                values.push(value.map_err(|why| Wrong::Column(*index, why))?);
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// A block without quotes: fields are between delimiters, and nothing is copied.
    fn plain(&mut self, text: &str, delimiter: u8) -> Result<(), Wrong> {
        let mut fields: Vec<&str> = Vec::new();
        let mut start = 0;
        while start < text.len() {
            fields.clear();
            let rest = &text.as_bytes()[start..];
            let end = start + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            if end > start {
                let mut from = start;
                for at in memchr::memchr_iter(delimiter, &text.as_bytes()[start..end]) {
                    fields.push(&text[from..start + at]);
                    from = start + at + 1;
                }
                fields.push(&text[from..end]);
                self.record(&fields)?;
            }
            start = end + 1;
        }
        Ok(())
    }

    fn quoted(&mut self, bytes: &[u8], delimiter: u8) -> Result<(), Wrong> {
        let mut reader = reader(delimiter, bytes);
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(|error| Wrong::Other(plain(&error)))? {
            self.record(&record)?;
        }
        Ok(())
    }
}

fn parse(file: &Arc<TableFile>, columns: &Columns, block: &Arc<Block>, delimiter: u8, wish: Wish) -> Result<Batch> {
    let places = &file.places;
    // Rows are rarely shorter than this.
    let rows = block.bytes.len() / 16;
    let mut parser = Parser {
        columns,
        places,
        key: places.key.filter(|_| wish.with_key).map(|_| StringBuilder::with_capacity(rows, block.bytes.len() / 2)),
        host: places.host.filter(|_| wish.with_host).map(|_| StringBuilder::new()),
        texts: places.texts.iter().map(|index| index.map(|_| StringBuilder::new())).collect(),
        numbers: places.numbers.iter().map(|index| index.map(|_| Vec::with_capacity(rows))).collect(),
        rows: 0,
    };
    let text = std::str::from_utf8(&block.bytes).ok().filter(|text| memchr::memchr(b'"', text.as_bytes()).is_none());
    let read = match text {
        Some(text) => parser.plain(text, delimiter),
        None => parser.quoted(&block.bytes, delimiter),
    };
    if let Err(wrong) = read {
        let place = format!("{}:{}", file.source.name, line(block, delimiter, parser.rows));
        return Err(match wrong {
            Wrong::Column(index, why) => anyhow!("{place}: column `{}`: {why}", places.names[index]),
            Wrong::Other(why) => anyhow!("{place}: {why}"),
        });
    }
    let array = |builder: Option<StringBuilder>| builder.map(|mut builder| Arc::new(builder.finish()) as ArrayRef);
    Ok(Batch {
        key: array(parser.key),
        host: array(parser.host),
        texts: parser.texts.into_iter().map(array).collect(),
        numbers: parser.numbers,
        rows: parser.rows,
        file: Arc::clone(file),
        at: At::Block(Arc::clone(block), delimiter),
    })
}

/// The line of a record of a block, counted from 0. Only an error asks, so it is looked for anew.
pub(super) fn line(block: &Block, delimiter: u8, row: usize) -> u64 {
    let mut reader = reader(delimiter, &block.bytes);
    let mut record = ByteRecord::new();
    let mut start = 0;
    for _ in 0..=row {
        start = reader.position().byte();
        if !reader.read_byte_record(&mut record).unwrap_or(false) {
            break;
        }
    }
    block.line + line_of(&block.bytes, usize::try_from(start).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cut that is found stands where the CSV reader ends a record.
    #[test]
    fn cuts_are_ends_of_records() {
        let texts = [
            "a,1\nb,2\nc,3\n",
            "a,1\r\nb,2\r\nc,3\r\n",
            "a,1\rb,2\rc,3\r",
            "\"a\nx\",1\n\"b\"\"\n\",2\nc,3\n",
            "a\"b,1\n\"c\nd\",2\ne\"f\",3\n",
            "a,\"1\n2\"\n\n\nb,\"\"\n",
            "\"a\"b\"c,1\nd,2\n",
        ];
        for text in texts {
            let mut ends = Vec::new();
            let mut reader = reader(b',', text.as_bytes());
            let mut record = ByteRecord::new();
            while reader.read_byte_record(&mut record).unwrap() {
                ends.push(usize::try_from(reader.position().byte()).unwrap());
            }
            for length in 1..=text.len() {
                let Some(cut) = cut(&text.as_bytes()[..length], b',') else {
                    continue;
                };
                let skipped =
                    text.as_bytes()[..cut].iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
                assert!((cut - skipped..=cut).any(|end| ends.contains(&end)), "{text:?} cut at {cut} of {length}");
            }
        }
    }

    #[test]
    fn blocks_are_the_whole_text_with_its_lines() {
        let rows: Vec<String> = (0..5000).map(|row| format!("\"page\n{row}\",{row}\r\n")).collect();
        let text = rows.concat();
        let source = Source::memory("x", text.clone().into_bytes());
        let mut blocks = Blocks::new(&source, Compression::None, b',', 1000).unwrap();
        let (mut whole, mut count) = (Vec::new(), 0);
        while let Some(block) = blocks.next() {
            let block = block.unwrap();
            assert_eq!(block.line, ends(&whole) + 1);
            whole.extend_from_slice(&block.bytes);
            count += 1;
        }
        assert_eq!(whole, text.as_bytes());
        assert!(count > 50, "{count}");
    }
}
