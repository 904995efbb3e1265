//! Lists of pages: one address a line, sitemaps, tables.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use everfresh::Period;
use everfresh_crawl::content::{Content, HintFrom, Kind, Rules};
use everfresh_crawl::fetch::Address;

/// What a list says of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listed {
    pub address: String,
    pub group: Option<String>,
    pub host: Option<String>,
    pub weight: Option<f64>,
    pub cost: Option<f64>,
    pub min_period: Option<Period>,
    pub max_period: Option<Period>,
    pub pin: Option<Period>,
}

/// An address of a list as it is kept.
pub(crate) fn normal(address: &str) -> Result<String> {
    if address.len() > LONGEST {
        bail!("cannot take an address of {} bytes: it must have at most {LONGEST}", address.len());
    }
    Ok(Address::of_page(address)?.to_string())
}

/// An address of the operator's own, which may be a command.
pub(crate) fn configured(address: &str) -> Result<String> {
    Ok(Address::configured(address)?.to_string())
}

/// An address of a configuration in `base`: that of a file begins there, as its other paths do.
pub(crate) fn seen_from(base: &Path, address: String) -> String {
    match Address::configured(&address) {
        // By its parts: `sub/./notes.txt` is `sub/notes.txt`.
        Ok(Address::File(path)) => Address::File(base.join(path).components().collect()).to_string(),
        // What is wrong with it is said where it is taken in.
        _ => address,
    }
}

/// Longer addresses are hardly any.
const LONGEST: usize = 8192;

/// The host of an address: what is to be spared.
pub(crate) fn host(address: &str) -> String {
    Address::configured(address).map_or_else(|_| "local".to_owned(), |address| address.host())
}

/// Hands over every page of a file, in order.
pub(crate) fn read(path: &Path, take: &mut dyn FnMut(Listed) -> Result<()>) -> Result<()> {
    let shown = path.display().to_string();
    if path == Path::new("-") {
        return lines("stdin", io::stdin().lock(), take);
    }
    let file = open(path)?;
    let lower = shown.to_lowercase();
    let name = lower.strip_suffix(".gz").unwrap_or(&lower);
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let plain: Box<dyn Read> =
        if name.len() < lower.len() { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut plain = BufReader::new(plain);
    if ending == "csv" || ending == "tsv" {
        table(&shown, plain, if ending == "tsv" { b'\t' } else { b',' }, take)
    } else if ending == "xml" {
        let mut bytes = Vec::new();
        plain.read_to_end(&mut bytes).with_context(|| format!("cannot read `{shown}`"))?;
        sitemap(&shown, &bytes, take)
    } else {
        lines(&shown, plain, take)
    }
}

fn open(path: &Path) -> Result<File> {
    File::open(path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// Is it there? Better asked before a store is begun for it.
pub(crate) fn check(path: &Path) -> Result<()> {
    if path == Path::new("-") { Ok(()) } else { open(path).map(|_| ()) }
}

fn lines(shown: &str, file: impl BufRead, take: &mut dyn FnMut(Listed) -> Result<()>) -> Result<()> {
    for (number, line) in (1..).zip(file.lines()) {
        let place = || format!("{shown}, line {number}");
        let line = line.with_context(place)?;
        let text = line.trim().trim_start_matches('\u{feff}');
        if !text.is_empty() && !text.starts_with('#') {
            let address = normal(text).with_context(place)?;
            take(Listed { address, ..Listed::default() }).with_context(place)?;
        }
    }
    Ok(())
}

fn sitemap(shown: &str, bytes: &[u8], take: &mut dyn FnMut(Listed) -> Result<()>) -> Result<()> {
    let content = Content::read(bytes, Some("application/xml"), &Rules::default());
    if !matches!(content.kind(), Kind::Sitemap | Kind::Feed) {
        bail!("cannot read `{shown}`: it must be a sitemap or a feed");
    }
    if content.hints().iter().any(|hint| hint.from == HintFrom::SitemapIndex) {
        bail!(
            "cannot take pages from `{shown}`: it is an index of sitemaps; name these, or let `everfresh run` follow them: `address` \
             and `follow = true` of a source in everfresh.toml"
        );
    }
    for (number, hint) in (1..).zip(content.hints()) {
        let place = || format!("{shown}, entry {number}");
        let address = normal(&hint.address).with_context(place)?;
        take(Listed { address, ..Listed::default() }).with_context(place)?;
    }
    Ok(())
}

/// The columns that a table may have.
const COLUMNS: [&str; 8] = ["address", "group", "host", "weight", "cost", "min_period", "max_period", "pin"];

fn table(shown: &str, file: impl Read, delimiter: u8, take: &mut dyn FnMut(Listed) -> Result<()>) -> Result<()> {
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(file);
    let headings = reader.headers().with_context(|| format!("cannot read `{shown}`"))?.clone();
    let place_of = |name: &str| headings.iter().position(|heading| heading.eq_ignore_ascii_case(name));
    let address = ["address", "url", "page"].iter().find_map(|name| place_of(name));
    let Some(address) = address else {
        let found = headings.iter().collect::<Vec<_>>().join(", ");
        bail!("{shown}: there must be a column address (or url, or page); there are {found}");
    };
    let places = COLUMNS.map(place_of);
    for (row, record) in (2u64..).zip(reader.records()) {
        let record = record.with_context(|| format!("cannot read `{shown}`"))?;
        let line = record.position().map_or(row, csv::Position::line);
        let place = || format!("{shown}, line {line}");
        let cell = |column: usize| places[column].and_then(|place| record.get(place)).filter(|text| !text.is_empty());
        let listed = of_row(record.get(address).unwrap_or_default(), cell).with_context(place)?;
        take(listed).with_context(place)?;
    }
    Ok(())
}

fn of_row<'a>(address: &str, cell: impl Fn(usize) -> Option<&'a str>) -> Result<Listed> {
    let number = |column: usize| {
        let parsed = cell(column).map(|text| text.parse::<f64>().with_context(|| bad(column, text, "a number")));
        parsed.transpose()
    };
    let period = |column: usize| {
        let parsed =
            cell(column).map(|text| text.parse::<Period>().with_context(|| bad(column, text, "a time such as 6h")));
        parsed.transpose()
    };
    Ok(Listed {
        address: normal(address)?,
        group: cell(1).map(str::to_owned),
        host: cell(2).map(str::to_owned),
        weight: number(3)?,
        cost: number(4)?,
        min_period: period(5)?,
        max_period: period(6)?,
        pin: period(7)?,
    })
}

fn bad(column: usize, text: &str, wanted: &str) -> String {
    format!("column {} must be {wanted}, got `{text}`", COLUMNS[column])
}
