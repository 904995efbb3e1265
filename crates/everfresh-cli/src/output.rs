//! Writing: tables for people, JSON for machines, files that appear whole or not at all.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, ContentArrangement, Table};
use everfresh::{Period, Unit};
use serde::Serialize;

use crate::args::{self, HEADING};

/// A failure of the machine, not of the input: exit code 1.
#[derive(Debug)]
pub(crate) struct MachineFailure(String);

impl fmt::Display for MachineFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MachineFailure {}

/// Whoever read our stdout has seen enough (`| head`): no failure, but a reason to end.
#[derive(Debug)]
pub(crate) struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads stdout any more")
    }
}

impl std::error::Error for ReaderGone {}

/// A path that could not be written.
pub(crate) fn cannot_write(path: &Path, error: impl fmt::Display) -> anyhow::Error {
    machine(format_args!("cannot write `{}`", path.display()), error)
}

/// Creates a directory and those above it.
pub(crate) fn create_directory(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| cannot_write(path, error))
}

pub(crate) fn machine(what: impl fmt::Display, error: impl fmt::Display) -> anyhow::Error {
    MachineFailure(format!("{what}: {error}")).into()
}

/// Prints to stdout; a reader that has seen enough (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<()> {
    finish(anstream::stdout().lock(), text)
}

/// Prints bytes as they are: a page may have any name, and terminals' marks in it are none of ours.
pub(crate) fn print_raw(text: &str) -> Result<()> {
    finish(io::stdout().lock(), text)
}

fn finish(mut stdout: impl Write, text: &str) -> Result<()> {
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| machine("cannot write to stdout", error)),
    }
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value).context("cannot write JSON")?;
    text.push('\n');
    print_raw(&text)
}

/// An aligned table without lines: the first column to the left, the others to the right, as people read numbers.
pub(crate) struct Grid {
    table: Table,
    left: Vec<usize>,
}

impl Grid {
    pub(crate) fn new(headings: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(headings);
        Grid { table, left: vec![0] }
    }

    /// Aligns another column to the left: words, not numbers.
    pub(crate) fn left(mut self, column: usize) -> Self {
        self.left.push(column);
        self
    }

    /// Aligns the first column to the right: numbers, not names.
    pub(crate) fn numbers_first(mut self) -> Self {
        self.left.retain(|column| *column != 0);
        self
    }

    /// Adds a row. Names may come from anywhere: what would move the cursor or the colours of a terminal is shown as a mark.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        let tame = |cell: String| cell.replace(char::is_control, "\u{fffd}");
        self.table.add_row(cells.into_iter().map(tame));
    }

    pub(crate) fn text(mut self) -> String {
        for (i, column) in self.table.column_iter_mut().enumerate() {
            let alignment = if self.left.contains(&i) { CellAlignment::Left } else { CellAlignment::Right };
            column.set_padding((u16::from(i > 0), 1)).set_cell_alignment(alignment);
        }
        let text = self.table.to_string();
        let mut lines = text.lines().map(str::trim_end);
        let heading = lines.next().unwrap_or_default();
        let mut out = format!("{HEADING}{heading}{HEADING:#}\n");
        for line in lines {
            out.push_str(line);
            out.push('\n');
        }
        out
    }
}

/// A number to four significant digits.
pub(crate) fn number(value: f64) -> String {
    everfresh::units::significant(value, 4)
}

/// An amount per second as a number per `unit`.
pub(crate) fn per(per_second: f64, unit: Unit) -> String {
    number(per_second * unit.seconds())
}

/// An age for people.
pub(crate) fn age(age: Period) -> String {
    if age == Period::NEVER { "infinite".to_owned() } else { age.to_string() }
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A period in days for machines: nothing where it is infinite, since JSON has no infinity.
pub(crate) fn days(period: Period) -> Option<f64> {
    finite(period.days())
}

/// A number for machines: nothing where it is infinite.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// `1 page`, `2 pages`.
pub(crate) fn count(n: f64, one: &str) -> String {
    let plural = if n == 1.0 { "" } else { "s" };
    // Rows may stand for any number of pages.
    if n.fract() == 0.0 { format!("{n} {one}{plural}") } else { format!("{} {one}{plural}", number(n)) }
}

/// The line under a table that was cut.
pub(crate) fn more_line(more: f64) -> String {
    if more <= 0.0 {
        return String::new();
    }
    format!("and {} more: --rows shows them, --out and --json have all\n", count(more, "page"))
}

/// An error as it is said.
pub(crate) fn error_line(error: &anyhow::Error) -> String {
    format!("{}error:{:#} {error:#}", args::ERROR, args::ERROR)
}

/// Says where a file went, to people: stderr, so that stdout stays data.
pub(crate) fn say(text: &str) {
    // Without a stderr there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "{text}");
}
