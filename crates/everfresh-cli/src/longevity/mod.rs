//! `everfresh longevity`: from snapshots of pages to how long their content stays, and when to visit them (OP08).

mod draw;
mod long;
mod page;
mod read;
mod report;
mod rows;
mod sample;
mod snapshots;
mod trace;

use std::path::Path;

use anyhow::{Context, Result, bail};
use everfresh::curve::DivergenceCurve;
use everfresh::longevity::Cut;
use everfresh::longevity::offline::price_for_budget;
use everfresh::{Frequency, Period, Unit};
use rayon::prelude::*;

use crate::args::LongevityArgs;
use crate::progress::ProgressLine;
use crate::table::{self, Done};
use crate::{chart, interrupt, output, whole};
use draw::Picture;
use page::{Beliefs, Curves, Measured};
use report::{PageRow, Report, Terms};
use snapshots::Page;

/// Pages that are measured between two looks at Ctrl-C.
const PAGES: usize = 256;

pub(crate) fn run(args: &LongevityArgs) -> Result<()> {
    args.output.out.as_deref().map(table::check_ending).transpose()?;
    check_draw(args)?;
    for path in [&args.output.out, &args.draw].into_iter().flatten() {
        whole::check_not_read(path, std::slice::from_ref(&args.snapshots))?;
    }
    let every = whole_seconds(args.every)?;
    let now = u64::from(args.now.map_or_else(clock, Ok)?);
    let pages = read::read(&args.snapshots, args.fragments, only(args), every)?.finish(now);
    if pages.is_empty() {
        match &args.page {
            Some(page) => bail!("`{}`: there is no page `{page}`", args.snapshots.display()),
            None => bail!("`{}`: there is no snapshot", args.snapshots.display()),
        }
    }
    let measured = measure(&pages)?;
    let beliefs = Beliefs::learn(&measured)?;
    let curves = measured.par_iter().map(|page| beliefs.of(page)).collect::<Result<Vec<Curves>>>()?;
    let price = price(args, &curves)?;
    let terms = Terms { now, price, by: args.by };
    let place = |page: &str| measured.iter().position(|measured| measured.name == page);
    let rows: Vec<PageRow> = match args.page.as_deref().map(place) {
        Some(Some(at)) => vec![report::row(&measured[at], &curves[at], &terms)?],
        Some(None) => {
            bail!("`{}`: there is no page `{}`", args.snapshots.display(), args.page.as_deref().unwrap_or(""))
        }
        None => {
            let both = measured.par_iter().zip(&curves);
            both.map(|(page, curves)| report::row(page, curves, &terms)).collect::<Result<_>>()?
        }
    };
    if let (Some(path), Some(at)) = (&args.draw, args.page.as_deref().and_then(place)) {
        picture(path, &pages[at], &measured[at], &curves[at], &terms)?;
    }
    print(args, &Report::new(&rows, price))
}

/// The snapshots of every page that a path names, in order of time.
pub(crate) fn versions(path: &Path) -> Result<Vec<PageVersions>> {
    let pages = read::read(path, Cut::EIGHT_WORDS, None, DAY_S)?.finish(u64::MAX);
    if pages.is_empty() {
        bail!("`{}`: there is no snapshot", path.display());
    }
    let of = |page: Page| page.versions.iter().map(|(time, text)| (*time as f64, text.hashes().to_vec())).collect();
    Ok(pages.into_iter().map(of).collect())
}

/// A page's snapshots: when, in Unix seconds, and its fragments.
pub(crate) type PageVersions = Vec<(f64, Vec<u64>)>;

/// Traces have revisions, not snapshots: they are looked at every day.
const DAY_S: u64 = 86_400;

fn print(args: &LongevityArgs, report: &Report<'_>) -> Result<()> {
    if let Some(path) = &args.output.out {
        table::write_whole(path, &report::batch(report.pages)?)?;
    }
    if args.output.json {
        return output::print_json(report);
    }
    let mut text = report.summary();
    match &args.output.out {
        Some(path) if path == Path::new("-") => {
            output::say(text.trim_end());
            return Ok(());
        }
        Some(_) => {}
        None => text.push_str(&report.table(args.output.rows)),
    }
    output::print(&text)
}

fn check_draw(args: &LongevityArgs) -> Result<()> {
    let Some(path) = &args.draw else { return Ok(()) };
    if !path.extension().is_some_and(|ending| ending == "svg" || ending == "html") {
        bail!("--draw `{}`: the ending must be .svg or .html", path.display());
    }
    whole::check_place(path)
}

/// A budget and what is believed of a page are shared by all pages; only the page alone needs no others.
fn only(args: &LongevityArgs) -> Option<&str> {
    args.page.as_deref().filter(|_| args.alone)
}

fn whole_seconds(every: Period) -> Result<u64> {
    let seconds = every.seconds();
    if !(1.0..1e10).contains(&seconds) {
        bail!("--every must be at least 1 second and finite, got {every}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 1e10")]
    Ok(seconds.round() as u64)
}

/// Now, in whole seconds since 1970.
fn clock() -> Result<u32> {
    Ok(u32::try_from(jiff::Timestamp::now().as_second())?)
}

fn measure(pages: &[Page]) -> Result<Vec<Measured>> {
    let line = ProgressLine::of("measuring", Some(pages.len() as u64), 0, "pages");
    let mut measured = Vec::with_capacity(pages.len());
    for some in pages.chunks(PAGES) {
        interrupt::check()?;
        let one = |page: &Page| Measured::of(page).with_context(|| format!("page `{}`", page.name));
        measured.extend(some.par_iter().map(one).collect::<Result<Vec<Measured>>>()?);
        line.at(Done { rows: measured.len() as u64, bytes: 0 });
    }
    Ok(measured)
}

/// The price in seconds, as given or so that the budget is spent.
fn price(args: &LongevityArgs, curves: &[Curves]) -> Result<Option<f64>> {
    match (args.price, args.budget) {
        (Some(price), _) => Ok(Some(price.seconds())),
        (None, Some(budget)) => {
            let chosen: Vec<_> = curves.iter().map(|curves| curves.chosen(args.by)).collect();
            let budget = Frequency::per(budget, Unit::Second).context("--budget")?;
            Ok(Some(price_for_budget(&chosen, budget).context("--budget")?))
        }
        (None, None) => Ok(None),
    }
}

fn picture(path: &Path, page: &Page, measured: &Measured, curves: &Curves, terms: &Terms) -> Result<()> {
    let elapsed = Period::of(terms.now.saturating_sub(measured.last) as f64, Unit::Second)?;
    let period = terms.price.map(|price| curves.chosen(terms.by).period(price));
    let period = period.filter(|period| *period < Period::NEVER);
    let mark = period.map_or((elapsed, "now"), |period| (period, "at the period"));
    let history = page::history(page)?;
    let points = &measured.whole.points;
    let svg = draw::draw(&Picture { history: &history, points, curves, by: terms.by, mark })?;
    let row = report::row(measured, curves, terms)?;
    let report = Report::new(std::slice::from_ref(&row), terms.price);
    let title = format!("How long the content of {} stays", page.name);
    chart::write(path, &title, &svg, &format!("{}{}", report.summary(), report.table(1)))
}
