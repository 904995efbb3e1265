//! The exhibits as files: one page with pictures, and CSV and JSON for machines.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use everfresh_sim::papers::{Exhibit, Figure, Note, Picture, Verdict};
use serde::Serialize;

use super::{page, summary};
use crate::output::{self, cannot_write, finite};
use crate::whole::WholeFile;

/// The name of the page.
const PAGE: &str = "papers.html";

/// Writes the page and the tables into a directory.
pub(super) fn write(directory: &Path, exhibits: &[Exhibit], seed: u64) -> Result<()> {
    output::create_directory(directory)?;
    for exhibit in exhibits {
        crate::interrupt::check()?;
        if !exhibit.figures.is_empty() {
            whole(&directory.join(numbers_name(exhibit)), &numbers(exhibit)?)?;
        }
        if !exhibit.pictures.is_empty() {
            whole(&directory.join(curves_name(exhibit)), &curves(exhibit)?)?;
        }
    }
    let page_path = directory.join(PAGE);
    whole(&page_path, page::html(exhibits, seed)?.as_bytes())?;
    output::say(&format!("wrote `{}` and the numbers beside it", page_path.display()));
    Ok(())
}

/// The file of an exhibit's numbers.
pub(super) fn numbers_name(exhibit: &Exhibit) -> String {
    format!("{}.csv", exhibit.slug())
}

/// The file of an exhibit's curves.
pub(super) fn curves_name(exhibit: &Exhibit) -> String {
    format!("{}-curves.csv", exhibit.slug())
}

fn whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = WholeFile::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.finish()
    });
    written.map_err(|error| cannot_write(path, error))
}

/// Rows as CSV.
fn csv_of(rows: impl IntoIterator<Item = Vec<String>>) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).context("cannot write CSV")?;
    }
    writer.into_inner().context("cannot write CSV")
}

/// A number with all its digits; empty where it is infinite.
fn cell(value: f64) -> String {
    finite(value).map(|value| value.to_string()).unwrap_or_default()
}

fn numbers(exhibit: &Exhibit) -> Result<Vec<u8>> {
    let heading = ["row", "column", "ours", "printed", "verdict"].map(str::to_owned).to_vec();
    let row = |figure: &Figure| {
        let printed = figure.printed.as_ref().map(ToString::to_string).unwrap_or_default();
        let verdict = figure.verdict().word().to_owned();
        vec![figure.row.clone(), figure.column.clone(), cell(figure.ours), printed, verdict]
    };
    csv_of(std::iter::once(heading).chain(exhibit.figures.iter().map(row)))
}

fn curves(exhibit: &Exhibit) -> Result<Vec<u8>> {
    let heading = ["picture", "series", "x", "y"].map(str::to_owned).to_vec();
    let rows = exhibit.pictures.iter().flat_map(|picture| {
        picture.series.iter().flat_map(|series| {
            let row = |&(x, y): &(f64, f64)| vec![picture.title.clone(), series.name.clone(), cell(x), cell(y)];
            series.points.iter().map(row)
        })
    });
    csv_of(std::iter::once(heading).chain(rows))
}

/// Everything, for machines.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    seed: u64,
    printed_numbers: usize,
    matches: usize,
    near: usize,
    slips: usize,
    differ: usize,
    on_our_worlds: usize,
    exhibits: Vec<ExhibitReport<'a>>,
}

#[derive(Serialize)]
struct ExhibitReport<'a> {
    paper: &'static str,
    name: &'a str,
    caption: &'a str,
    numbers: Vec<NumberReport<'a>>,
    slips: Vec<&'a str>,
    remarks: Vec<&'a str>,
    pictures: Vec<PictureReport<'a>>,
}

#[derive(Serialize)]
struct NumberReport<'a> {
    row: &'a str,
    column: &'a str,
    ours: Option<f64>,
    printed: Option<f64>,
    verdict: &'static str,
    slip: Option<&'a str>,
}

#[derive(Serialize)]
struct PictureReport<'a> {
    title: &'a str,
    x: &'a str,
    y: &'a str,
    series: Vec<SeriesReport<'a>>,
}

#[derive(Serialize)]
struct SeriesReport<'a> {
    name: &'a str,
    points: Vec<[Option<f64>; 2]>,
}

/// The exhibits as they are printed with `--json`.
pub(super) fn report(exhibits: &[Exhibit], seed: u64) -> Report<'_> {
    let [matches, near, slips, differ, on_our_worlds] =
        [Verdict::Match, Verdict::Near, Verdict::Slip, Verdict::Differs, Verdict::World]
            .map(|verdict| summary::total(exhibits, verdict));
    Report {
        seed,
        printed_numbers: matches + near + slips + differ,
        matches,
        near,
        slips,
        differ,
        on_our_worlds,
        exhibits: exhibits.iter().map(exhibit_report).collect(),
    }
}

fn exhibit_report<'a>(exhibit: &'a Exhibit) -> ExhibitReport<'a> {
    let remark = |note: &'a Note| match note {
        Note::Remark(text) => Some(text.as_str()),
        Note::Slip(_) => None,
    };
    ExhibitReport {
        paper: exhibit.paper.short(),
        name: &exhibit.name,
        caption: &exhibit.caption,
        numbers: exhibit.figures.iter().map(number_report).collect(),
        slips: exhibit.slips(),
        remarks: exhibit.notes.iter().filter_map(remark).collect(),
        pictures: exhibit.pictures.iter().map(picture_report).collect(),
    }
}

fn number_report(figure: &Figure) -> NumberReport<'_> {
    NumberReport {
        row: &figure.row,
        column: &figure.column,
        ours: finite(figure.ours),
        printed: figure.printed.as_ref().and_then(|printed| finite(printed.value())),
        verdict: figure.verdict().word(),
        slip: figure.slip.as_deref(),
    }
}

fn picture_report(picture: &Picture) -> PictureReport<'_> {
    let series = picture.series.iter().map(|series| SeriesReport {
        name: &series.name,
        points: series.points.iter().map(|(x, y)| [finite(*x), finite(*y)]).collect(),
    });
    PictureReport { title: &picture.title, x: picture.x.words, y: picture.y.words, series: series.collect() }
}
