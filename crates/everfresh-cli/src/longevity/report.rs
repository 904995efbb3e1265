//! The result: a row per page, for people and for machines.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use everfresh::curve::DivergenceCurve;
use everfresh::longevity::{Class, Fitted};
use everfresh::{Period, Rate, Unit};
use serde::Serialize;

use super::page::{Curves, Measured};
use crate::args::CurveArg;
use crate::output::{self, Grid, count, days, finite, number, percent};

/// A page, for machines.
#[derive(Serialize)]
pub(super) struct PageRow {
    pub page: String,
    class: &'static str,
    items: Option<u32>,
    static_share: f64,
    churn_share: f64,
    scroll_share: f64,
    churn_lives: u64,
    scroll_lives: u64,
    dominant_k: Option<u32>,
    /// The share of the fragments that was looked at: 1, or less of long pages.
    sampled_share: f64,
    /// The standard error of a divergence that comes of it, at most.
    divergence_error: f64,
    versions: u32,
    changes: u32,
    change_frequency: Option<f64>,
    longevity_versions: Option<f64>,
    median_lifetime_days: Option<f64>,
    /// The curve fitted to the page's own points: its name, how far it rises in the end, its rate, the items of a list, and how much it
    /// counts in what is believed.
    fit: &'static str,
    fit_depth: Option<f64>,
    fit_rate_per_day: Option<f64>,
    fit_items: Option<u32>,
    fit_weight: f64,
    /// What is believed of the page, as `everfresh plan` reads it: changes per day, a weight, a curve and its shape.
    rate: f64,
    weight: f64,
    curve: &'static str,
    shape: f64,
    elapsed_days: f64,
    divergence_now: f64,
    utility_now_days: f64,
    period_days: Option<f64>,
    frequency_per_day: Option<f64>,
    mean_divergence: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct Report<'a> {
    pub price_days: Option<f64>,
    pub visits_per_day: Option<f64>,
    /// Lives of fragments, seen from beginning to end.
    pub lives: u64,
    /// The share of them that the next change ended (OP08 section 3.3.2: 0.67).
    pub churn_of_lives: Option<f64>,
    /// Between change frequency and longevity, over the pages that have both (OP08 section 3.2: 0.67 without its sign).
    pub correlation: Option<f64>,
    pub pages: &'a [PageRow],
}

/// What the numbers of a page depend on beside itself.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// In seconds since 1970.
    pub now: u64,
    /// In seconds, if there is one.
    pub price: Option<f64>,
    /// The curve that is gone by.
    pub by: CurveArg,
}

/// What is seen of a page.
pub(super) fn row(page: &Measured, curves: &Curves, terms: &Terms) -> Result<PageRow> {
    let Terms { now, price, by } = *terms;
    let elapsed = Period::of(now.saturating_sub(page.last) as f64, Unit::Second).unwrap_or(Period::ZERO);
    let (makeup, chosen) = (&page.makeup, curves.chosen(by));
    let (fit, rate, fit_items) = described(&curves.fitted);
    let planned = curves.planned()?;
    let period = price.map(|price| chosen.period(price));
    Ok(PageRow {
        page: page.name.clone(),
        class: match makeup.class {
            Class::Static => "static",
            Class::Churn => "churn",
            Class::Scroll { .. } => "scroll",
        },
        items: if let Class::Scroll { items } = makeup.class { Some(items) } else { None },
        static_share: makeup.static_share,
        churn_share: makeup.churn_share,
        scroll_share: makeup.scroll_share,
        churn_lives: makeup.churn_lives,
        scroll_lives: makeup.scroll_lives,
        dominant_k: makeup.dominant_k,
        sampled_share: page.share,
        divergence_error: page.error,
        versions: u32::try_from(page.versions).unwrap_or(u32::MAX),
        changes: page.changes,
        change_frequency: page.change_frequency,
        longevity_versions: page.longevity,
        median_lifetime_days: page.median_lifetime.and_then(days),
        fit,
        fit_depth: rate.map(|_| curves.fitted.divergence(Period::NEVER)),
        fit_rate_per_day: rate.map(Rate::per_day),
        fit_items,
        fit_weight: curves.believed.weight(),
        rate: planned.rate.per_day(),
        weight: planned.weight,
        curve: "lomax",
        shape: planned.shape,
        elapsed_days: elapsed.days(),
        divergence_now: chosen.divergence(elapsed),
        utility_now_days: chosen.utility(elapsed) / Unit::Day.seconds(),
        period_days: period.and_then(days),
        frequency_per_day: period.map(|period| period.frequency().per_day()),
        mean_divergence: period.map(|period| chosen.mean_divergence(period)),
    })
}

/// The name of a fitted curve, its rate and its K.
fn described(fitted: &Fitted) -> (&'static str, Option<Rate>, Option<u32>) {
    match fitted {
        Fitted::Static => ("static", None, None),
        Fitted::Churn(churn) => ("churn", Some(churn.rate()), None),
        Fitted::Scroll(list) => ("scroll", Some(list.rate()), Some(list.items())),
        // Points were too few to fit anything: the curve of pages like it.
        Fitted::Lomax(_) => ("group", None, None),
    }
}

/// The rows as columns.
pub(super) fn batch(rows: &[PageRow]) -> Result<RecordBatch> {
    let number =
        |value: fn(&PageRow) -> Option<f64>| -> ArrayRef { Arc::new(rows.iter().map(value).collect::<Float64Array>()) };
    let whole =
        |value: fn(&PageRow) -> Option<u32>| -> ArrayRef { Arc::new(rows.iter().map(value).collect::<UInt32Array>()) };
    let counted =
        |value: fn(&PageRow) -> u64| -> ArrayRef { Arc::new(UInt64Array::from_iter_values(rows.iter().map(value))) };
    let text =
        |value: fn(&PageRow) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(value))) };
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("page", text(|row| &row.page), false),
        ("class", text(|row| row.class), false),
        ("items", whole(|row| row.items), true),
        ("static_share", number(|row| Some(row.static_share)), true),
        ("churn_share", number(|row| Some(row.churn_share)), true),
        ("scroll_share", number(|row| Some(row.scroll_share)), true),
        ("churn_lives", counted(|row| row.churn_lives), true),
        ("scroll_lives", counted(|row| row.scroll_lives), true),
        ("dominant_k", whole(|row| row.dominant_k), true),
        ("sampled_share", number(|row| Some(row.sampled_share)), true),
        ("divergence_error", number(|row| Some(row.divergence_error)), true),
        ("versions", whole(|row| Some(row.versions)), true),
        ("changes", whole(|row| Some(row.changes)), true),
        ("change_frequency", number(|row| row.change_frequency), true),
        ("longevity_versions", number(|row| row.longevity_versions), true),
        ("median_lifetime_days", number(|row| row.median_lifetime_days), true),
        ("fit", text(|row| row.fit), false),
        ("fit_depth", number(|row| row.fit_depth), true),
        ("fit_rate_per_day", number(|row| row.fit_rate_per_day), true),
        ("fit_items", whole(|row| row.fit_items), true),
        ("fit_weight", number(|row| Some(row.fit_weight)), true),
        ("rate", number(|row| Some(row.rate)), true),
        ("weight", number(|row| Some(row.weight)), true),
        ("curve", text(|row| row.curve), false),
        ("shape", number(|row| Some(row.shape)), true),
        ("elapsed_days", number(|row| Some(row.elapsed_days)), true),
        ("divergence_now", number(|row| Some(row.divergence_now)), true),
        ("utility_now_days", number(|row| Some(row.utility_now_days)), true),
        ("period_days", number(|row| row.period_days), true),
        ("frequency_per_day", number(|row| row.frequency_per_day), true),
        ("mean_divergence", number(|row| row.mean_divergence), true),
    ])?)
}

impl<'a> Report<'a> {
    pub(super) fn new(pages: &'a [PageRow], price: Option<f64>) -> Report<'a> {
        let churn: u64 = pages.iter().map(|row| row.churn_lives).sum();
        let lives = churn + pages.iter().map(|row| row.scroll_lives).sum::<u64>();
        let both = pages.iter().filter_map(|row| row.change_frequency.zip(row.longevity_versions));
        Report {
            price_days: price.map(|price| price / Unit::Day.seconds()),
            visits_per_day: pages.iter().map(|row| row.frequency_per_day).sum(),
            lives,
            churn_of_lives: (lives > 0).then(|| churn as f64 / lives as f64),
            correlation: correlation(&both.collect::<Vec<_>>()),
            pages,
        }
    }

    pub(super) fn summary(&self) -> String {
        let of = |class: &str| self.pages.iter().filter(|row| row.class == class).count();
        let mut text = format!(
            "{}: {} static, {} churn, {} scroll",
            count(self.pages.len() as f64, "page"),
            of("static"),
            of("churn"),
            of("scroll")
        );
        if let Some(churn) = self.churn_of_lives {
            let lives = if self.lives == 1 { "life" } else { "lives" };
            text.push_str(&format!(
                "; of {} {lives} of fragments the next change ended {}",
                self.lives,
                percent(churn)
            ));
        }
        if let Some(correlation) = self.correlation {
            text.push_str(&format!("\nchange frequency and longevity: correlation {}", number(correlation)));
        }
        if let Some((price, visits)) = self.price_days.zip(self.visits_per_day) {
            let price = Period::of(price, Unit::Day).unwrap_or_default();
            text.push_str(&format!("\nat a price of {price} a visit: {} visits/day", number(visits)));
        }
        text.push('\n');
        text
    }

    pub(super) fn table(&self, most: usize) -> String {
        let headings = [
            "page",
            "class",
            "static",
            "changes",
            "median life",
            "fit",
            "elapsed",
            "utility now",
            "period",
            "divergence",
        ];
        let mut grid = Grid::new(&headings).left(1).left(5);
        for row in self.pages.iter().take(most) {
            grid.row(vec![
                row.page.clone(),
                row.items.map_or_else(|| row.class.to_owned(), |items| format!("scroll of {items}")),
                percent(row.static_share),
                format!("{} in {}", row.changes, row.versions),
                time(row.median_lifetime_days, "longer"),
                row.fit_words(),
                time(Some(row.elapsed_days), ""),
                time(Some(row.utility_now_days), ""),
                row.frequency_per_day.map_or_else(|| "-".to_owned(), |_| time(row.period_days, "never")),
                row.mean_divergence.map_or_else(|| "-".to_owned(), number),
            ]);
        }
        format!("\n{}{}", grid.text(), output::more_line(self.pages.len().saturating_sub(most) as f64))
    }
}

impl PageRow {
    /// The fitted curve for people: `churn to 0.3, 2/day`.
    pub(super) fn fit_words(&self) -> String {
        let rate = self.fit_rate_per_day.and_then(|rate| Rate::per(rate, Unit::Day).ok());
        match (self.fit_depth, rate, self.fit_items) {
            (Some(depth), Some(rate), None) => format!("{} to {}, {rate}", self.fit, number(depth)),
            (Some(depth), Some(rate), Some(items)) => format!("{} of {items} to {}, {rate}", self.fit, number(depth)),
            _ if self.fit == "group" => "too few points".to_owned(),
            _ => self.fit.to_owned(),
        }
    }
}

/// A number of days as a time.
fn time(days: Option<f64>, without: &str) -> String {
    let period = days.and_then(finite).and_then(|days| Period::of(days, Unit::Day).ok());
    period.map_or_else(|| without.to_owned(), |period| period.to_string())
}

/// Pearson's correlation; nothing for fewer than three pairs, or where one side is always the same.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>() / n;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |value: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>();
    let (xx, yy) = (sum(&|pair| (pair.0 - x).powi(2)), sum(&|pair| (pair.1 - y).powi(2)));
    let xy = sum(&|pair| (pair.0 - x) * (pair.1 - y));
    (pairs.len() > 2 && xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}
