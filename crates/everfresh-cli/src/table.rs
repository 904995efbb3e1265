//! Reading a table of pages: every error names the file, the line, the column, the value and the bound.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

use anyhow::{Result, anyhow, bail};
use csv::StringRecord;

use crate::lines::{Lines, Noted};

/// A delimited table with a header, being read.
pub(crate) struct Table {
    name: String,
    header: StringRecord,
    header_line: u64,
    reader: csv::Reader<Noted>,
    lines: Rc<RefCell<Lines>>,
}

/// The place of a column, and its name for messages.
#[derive(Clone)]
pub(crate) struct Column {
    index: usize,
    name: String,
}

/// One line of a table.
pub(crate) struct Row<'a> {
    table: &'a str,
    line: u64,
    record: &'a StringRecord,
}

impl Table {
    /// Opens a file, or stdin for `-`.
    pub(crate) fn open(path: &Path) -> Result<Table> {
        if path == Path::new("-") {
            return Table::read("stdin", b',', Box::new(io::stdin()));
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| anyhow!("cannot open `{name}`: {error}"))?;
        let delimiter =
            if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("tsv")) { b'\t' } else { b',' };
        Table::read(&name, delimiter, Box::new(file))
    }

    /// Reads from anything; `name` stands for it in messages.
    pub(crate) fn read(name: &str, delimiter: u8, source: Box<dyn Read>) -> Result<Table> {
        let (source, lines) = Noted::new(source);
        // The number of fields is checked here, to say it better.
        let mut reader =
            csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).flexible(true).from_reader(source);
        let header = reader.headers().map_err(|error| anyhow!("{name}: {}", plain(&error)))?.clone();
        if header.is_empty() {
            bail!("{name}: the table is empty: it needs a header line such as `page,rate`");
        }
        let header_line = lines.borrow_mut().line_of(header.position().map_or(0, csv::Position::byte));
        Ok(Table { name: name.to_owned(), header, header_line, reader, lines })
    }

    /// A column that must be there.
    pub(crate) fn column(&self, name: &str) -> Result<Column> {
        self.find(name)?.ok_or_else(|| {
            let there: Vec<String> = self.header.iter().map(|column| format!("`{column}`")).collect();
            anyhow!(
                "{}:{}: there is no column `{name}`: the columns are {}",
                self.name,
                self.header_line,
                there.join(", ")
            )
        })
    }

    /// A column that may be there: one that was asked for by name must.
    pub(crate) fn optional_column(&self, asked: Option<&str>, default: &str) -> Result<Option<Column>> {
        match asked {
            Some(name) => self.column(name).map(Some),
            None => self.find(default),
        }
    }

    fn find(&self, name: &str) -> Result<Option<Column>> {
        let mut places = self.header.iter().enumerate().filter(|(_, column)| column.eq_ignore_ascii_case(name));
        let first = places.next();
        if let (Some((a, _)), Some((b, _))) = (first, places.next()) {
            bail!(
                "{}:{}: column `{name}` is there twice, as column {} and {}",
                self.name,
                self.header_line,
                a + 1,
                b + 1
            );
        }
        Ok(first.map(|(index, column)| Column { index, name: column.to_owned() }))
    }

    /// Reads every row; pages must be named and named once.
    pub(crate) fn rows<T>(mut self, page: &Column, each: impl Fn(&Row<'_>) -> Result<T>) -> Result<Vec<(String, T)>> {
        let mut rows = Vec::new();
        let mut seen: HashMap<String, u64> = HashMap::new();
        let mut record = StringRecord::new();
        while self.reader.read_record(&mut record).map_err(|error| self.broken(&error))? {
            let line = self.line_of(record.position());
            let row = Row { table: &self.name, line, record: &record };
            if record.len() != self.header.len() {
                bail!("{}:{line}: expected {} fields, got {}", self.name, self.header.len(), record.len());
            }
            let key = row.text(page);
            if key.is_empty() {
                return Err(row.wrong(page, "a page must have a name, got nothing"));
            }
            match seen.entry(key.to_owned()) {
                Entry::Occupied(first) => {
                    return Err(row.wrong(page, &format!("`{key}` is there twice, first on line {}", first.get())));
                }
                Entry::Vacant(place) => place.insert(line),
            };
            rows.push((key.to_owned(), each(&row)?));
        }
        if rows.is_empty() {
            bail!("{}: the table is empty: it has a header and no pages", self.name);
        }
        Ok(rows)
    }

    fn line_of(&self, position: Option<&csv::Position>) -> u64 {
        self.lines.borrow_mut().line_of(position.map_or(0, csv::Position::byte))
    }

    /// The place and the reason of what the reader could not read.
    fn broken(&self, error: &csv::Error) -> anyhow::Error {
        anyhow!("{}:{}: {}", self.name, self.line_of(error.position()), plain(error))
    }
}

/// What went wrong, without the reader's own idea of a place.
fn plain(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => format!("field {} is not UTF-8", err.field() + 1),
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

impl Row<'_> {
    pub(crate) fn text(&self, column: &Column) -> &str {
        self.record.get(column.index).unwrap_or_default()
    }

    /// A field read by `parse`, whose message gets the place in front.
    pub(crate) fn field<T>(&self, column: &Column, parse: impl Fn(&str) -> everfresh::Result<T>) -> Result<T> {
        parse(self.text(column)).map_err(|error| self.wrong(column, &error.to_string()))
    }

    /// A plain number.
    pub(crate) fn number(&self, column: &Column) -> Result<f64> {
        let text = self.text(column);
        text.parse().map_err(|_| self.wrong(column, &format!("expected a number, got `{text}`")))
    }

    /// An error at this place.
    pub(crate) fn wrong(&self, column: &Column, why: &str) -> anyhow::Error {
        anyhow!("{}:{}: column `{}`: {why}", self.table, self.line, column.name)
    }
}
