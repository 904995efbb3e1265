//! The picture of a page: the life lines of its fragments (OP08 figure 1) above its divergence curve with the utility (figure 2).

use std::collections::HashMap;

use anyhow::Result;
use everfresh::curve::DivergenceCurve;
use everfresh::longevity::{History, Point, Spell};
use everfresh::{Period, Unit};
use plotters::prelude::*;

use super::page::{Curve, Curves};
use crate::args::CurveArg;
use crate::chart::{self, Area, Failure, LAW, PAGES};
use crate::output::number;

const SIZE: (u32, u32) = (760, 760);
const STATIC: RGBColor = RGBColor(120, 120, 120);

/// Height of a legend.
const LEGEND: u32 = 30;
/// Points of a curve: places are whole pixels, and more of them would make steps.
const STEPS: u32 = 80;

/// Fragments that are drawn at most: those with the least hashes.
const MOST: usize = 500;

/// What is drawn.
pub(super) struct Picture<'a> {
    pub history: &'a History,
    pub points: &'a [Point],
    pub curves: &'a Curves,
    /// The curve that the utility is told by.
    pub by: CurveArg,
    /// The recommended period, else the time since the last version.
    pub mark: (Period, &'static str),
}

pub(super) fn draw(picture: &Picture<'_>) -> Result<String> {
    chart::sized(SIZE, |area| {
        let (upper, lower) = area.split_vertically(SIZE.1 / 2);
        life_lines(&upper, picture.history)?;
        divergence(&lower, picture)
    })
}

/// How a thing is drawn, for the legend.
enum Mark {
    Block(RGBAColor),
    Dot(RGBAColor),
    Line(ShapeStyle),
}

/// What is drawn how, on a line of its own above the picture, where it hides nothing.
fn legend(area: &Area<'_>, marks: &[(Mark, String)]) -> Result<(), Failure> {
    let mut x = 82;
    for (mark, words) in marks {
        match mark {
            Mark::Block(ink) => area.draw(&Rectangle::new([(x, 13), (x + 16, 23)], ink.filled()))?,
            Mark::Dot(ink) => area.draw(&Circle::new((x + 8, 18), 4, ink.filled()))?,
            Mark::Line(style) => area.draw(&PathElement::new([(x, 18), (x + 16, 18)], *style))?,
        }
        let style = ("sans-serif", 13).into_font().color(&BLACK.mix(0.8));
        area.draw(&Text::new(words.clone(), (x + 22, 12), style))?;
        // About the width of the words.
        x += 40 + 7 * i32::try_from(words.chars().count()).unwrap_or(0);
    }
    Ok(())
}

/// A stripe for each fragment from when it came to when it went, first come lowest.
fn life_lines(area: &Area<'_>, history: &History) -> Result<(), Failure> {
    let versions = history.versions();
    let start = versions[0].0;
    let day = |time: u64| (time - start) as f64 / Unit::Day.seconds();
    let last = versions.len() - 1;
    // A single version has no length: a day is drawn.
    let end = if last == 0 { 1.0 } else { day(versions[last].0) };
    let (drawn, rows, all) = stripes(history);
    let (top, area) = area.split_vertically(LEGEND);
    let kinds = [(STATIC, "always there"), (PAGES, "gone at the next change"), (LAW, "there for longer")];
    legend(&top, &kinds.map(|(ink, words)| (Mark::Block(ink.to_rgba()), words.to_owned())))?;
    let sample = if rows < all { format!(" ({rows} of {all})") } else { String::new() };
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end * 1.02, 0.0..rows as f64)?;
    chart
        .configure_mesh()
        .x_desc("days since the first version")
        .y_desc(format!("fragments, as they came{sample}"))
        // Few rows have marks between them.
        .y_label_formatter(&|row| if row.fract() == 0.0 { format!("{row:.0}") } else { String::new() })
        .x_label_formatter(&|x| number(*x))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.06))
        .label_style(("sans-serif", 13))
        .draw()?;
    let thick = if rows > 120 { 0.0 } else { 0.12 };
    for (kind, (ink, _)) in kinds.into_iter().enumerate() {
        let of_kind = drawn.iter().filter(|(spell, _)| kind_of(history, spell) == kind);
        let stripe = |(spell, row): &(Spell, usize)| {
            // Until it was first not seen; the last version has no width of its own.
            let gone = if spell.last == last { end * 1.02 } else { day(versions[spell.last + 1].0) };
            let (low, high) = (*row as f64 + thick, (*row + 1) as f64 - thick);
            Rectangle::new([(day(versions[spell.first].0), low), (gone, high)], ink.filled())
        };
        chart.draw_series(of_kind.map(stripe))?;
    }
    Ok(())
}

/// Spells with the rows of their fragments, of which one that came back has one, the number of rows, and of all fragments.
fn stripes(history: &History) -> (Vec<(Spell, usize)>, usize, usize) {
    let mut fragments: Vec<u64> = history.spells().iter().map(|spell| spell.fragment).collect();
    fragments.sort_unstable();
    fragments.dedup();
    let below = fragments.get(MOST).copied().unwrap_or(u64::MAX);
    let mut spells: Vec<Spell> = history.spells().iter().copied().filter(|spell| spell.fragment < below).collect();
    // Of those that came together the longest first, so that what stays lies at the bottom.
    spells.sort_by_key(|spell| (spell.first, std::cmp::Reverse(spell.last), spell.fragment));
    let mut rows: HashMap<u64, usize> = HashMap::new();
    let mut placed = Vec::with_capacity(spells.len());
    for spell in spells {
        let next = rows.len();
        placed.push((spell, *rows.entry(spell.fragment).or_insert(next)));
    }
    let many = rows.len().max(1);
    (placed, many, fragments.len())
}

/// Static, churn (or not known to have survived a change), or scroll.
fn kind_of(history: &History, spell: &Spell) -> usize {
    let is_static = spell.first == 0 && spell.last + 1 == history.versions().len();
    match (is_static, history.survived(spell)) {
        (true, _) => 0,
        (false, 0) => 1,
        (false, _) => 2,
    }
}

/// The points of the profiles, the curves, and the area above one up to the marked time: the utility of a visit then.
fn divergence(area: &Area<'_>, picture: &Picture<'_>) -> Result<(), Failure> {
    let (at, words) = picture.mark;
    let (by, other) = (picture.curves.chosen(picture.by), picture.curves.chosen(picture.by.other()));
    let seen = picture.points.last().map_or(0.0, |point| point.elapsed().days());
    let wide =
        if at == Period::NEVER { seen } else { seen.clamp(1.2 * at.days(), (8.0 * at.days()).max(seen.min(1.0))) };
    // With nothing seen and no time passed, a day.
    let wide = if wide > 0.0 { wide } else { 1.0 };
    let height = |curve: &Curve, days: f64| Period::of(days, Unit::Day).map_or(0.0, |t| curve.divergence(t));
    let points = picture.points.iter().map(|point| (point.elapsed().days(), point.divergence()));
    let points: Vec<(f64, f64)> = points.filter(|point| point.0 <= wide).collect();
    let highest = points.iter().map(|point| point.1).chain([height(&by, wide), height(&other, wide)]);
    let high = (1.1 * highest.fold(1e-3, f64::max)).min(1.05);
    let (top, area) = area.split_vertically(LEGEND);
    let utility = Period::of(by.utility(at), Unit::Second).unwrap_or_default();
    let fine = STATIC.stroke_width(1);
    legend(
        &top,
        &[
            (Mark::Dot(PAGES.to_rgba()), "seen".to_owned()),
            (Mark::Line(LAW.stroke_width(2)), picture.by.words().to_owned()),
            (Mark::Line(fine), picture.by.other().words().to_owned()),
            (Mark::Block(LAW.mix(0.2)), format!("utility {words}: {utility}")),
        ],
    )?;
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..wide, 0.0..high)?;
    chart
        .configure_mesh()
        .x_desc("days since a visit")
        .y_desc("divergence")
        .x_label_formatter(&|x| number(*x))
        .y_label_formatter(&|y| number(*y))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.06))
        .label_style(("sans-serif", 13))
        .draw()?;
    let line = |curve: Curve, to: f64| {
        let steps = (0..=STEPS).map(move |step| to * f64::from(step) / f64::from(STEPS));
        steps.map(move |x| (x, height(&curve, x))).collect::<Vec<_>>()
    };
    let marked = at.days().min(wide);
    let mut outline = line(by, marked);
    outline.push((0.0, height(&by, marked)));
    chart.draw_series([Polygon::new(outline, LAW.mix(0.2).filled())])?;
    chart.draw_series(LineSeries::new(line(other, wide), fine))?;
    chart.draw_series(LineSeries::new(line(by, wide), LAW.stroke_width(2)))?;
    chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, PAGES.mix(0.7).filled())))?;
    Ok(())
}
