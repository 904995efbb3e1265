//! Pictures: a plan's pages on the curve of its law, and what budgets give.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use everfresh::{Allocation, Unit};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::output::cannot_write;
use crate::plan::Planned;
use crate::whole::{self, WholeFile};

pub(crate) const LAW: RGBColor = RGBColor(0, 114, 178);
pub(crate) const PAGES: RGBColor = RGBColor(213, 94, 0);
const SIZE: (u32, u32) = (760, 440);

pub(crate) type Failure = Box<dyn std::error::Error>;

/// How often pages change and how often they are visited: each of few, of many how many are in each cell.
#[derive(Default)]
pub(crate) struct Cloud {
    /// Rate, frequency and count; per day, as decimal logarithms; none for a page that is never visited.
    few: Vec<(f64, Option<f64>, f64)>,
    /// The same in cells of a twentieth of a decade, once there are many.
    cells: HashMap<(i32, Option<i32>), f64>,
}

const CELLS_PER_DECADE: f64 = 20.0;
const FEW: usize = 1000;

impl Cloud {
    pub(crate) fn add(&mut self, rate: f64, frequency: f64, count: f64) {
        let log = |per_second: f64| (per_second * Unit::Day.seconds()).log10();
        if rate > 0.0 {
            self.few.push((log(rate), (frequency > 0.0).then(|| log(frequency)), count));
            self.thin_out();
        }
    }

    pub(crate) fn merge(&mut self, other: &Cloud) {
        self.few.extend(&other.few);
        for (cell, count) in &other.cells {
            *self.cells.entry(*cell).or_default() += count;
        }
        self.thin_out();
    }

    /// Counts pages in cells once they are many.
    fn thin_out(&mut self) {
        if self.few.len() <= FEW && self.cells.is_empty() {
            return;
        }
        // The logarithm of a legal rate or frequency is small.
        #[allow(clippy::cast_possible_truncation)]
        let cell = |log: f64| (log * CELLS_PER_DECADE).round() as i32;
        for (rate, frequency, count) in self.few.drain(..) {
            *self.cells.entry((cell(rate), frequency.map(cell))).or_default() += count;
        }
    }

    /// The dots of the picture, the same each time it is drawn.
    fn dots(&self) -> Vec<(f64, Option<f64>, f64)> {
        if self.cells.is_empty() {
            return self.few.clone();
        }
        let mut cells: Vec<_> = self.cells.iter().collect();
        cells.sort_by_key(|(cell, _)| **cell);
        let place = |cell: i32| f64::from(cell) / CELLS_PER_DECADE;
        cells.into_iter().map(|((rate, frequency), count)| (place(*rate), frequency.map(place), *count)).collect()
    }
}

/// A range in decades that holds all values, and at least one decade.
fn decades(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low > high {
        return -1.0..1.0;
    }
    (low - 0.25).min(high - 1.0)..(high + 0.25).max(low + 1.0)
}

/// CGM03 figure 11 with the pages of a plan: frequency against rate, both per day.
pub(crate) fn plan(planned: &Planned<'_>, cloud: &Cloud) -> Result<String> {
    let dots = cloud.dots();
    let x_range = decades(dots.iter().map(|dot| dot.0));
    let mut y_range = decades(dots.iter().filter_map(|dot| dot.1));
    // Room below for those that are never visited.
    y_range.start -= 0.3;
    let never = y_range.start + 0.1;
    let law = law(planned, x_range.clone());
    let legend = format!("the law for a page of weight {}", crate::output::number(planned.mean_weight()));
    picture(|area| {
        let mut chart =
            axes(area, x_range.clone(), y_range.clone(), ("changes of the page per day", "visits per day"), &|y| {
                power_of_ten(*y)
            })?;
        let inside: Vec<_> = law.iter().copied().filter(|(_, y)| *y > y_range.start && *y < y_range.end).collect();
        if !inside.is_empty() {
            chart
                .draw_series(LineSeries::new(inside, LAW.stroke_width(2)))?
                .label(&legend)
                .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], LAW.stroke_width(2)));
        }
        let size = if dots.len() > FEW / 5 { 2.0 } else { 3.0 };
        let pages = chart.draw_series(dots.iter().map(|(x, y, count)| {
            let ink = if y.is_some() { PAGES.mix(0.7).filled() } else { BLACK.mix(0.35).filled() };
            #[allow(clippy::cast_possible_truncation)]
            Circle::new((*x, y.unwrap_or(never)), (size + count.log10().max(0.0)).round() as i32, ink)
        }))?;
        pages.label("pages").legend(|(x, y)| Circle::new((x + 9, y), 4, PAGES.filled()));
        if dots.iter().any(|dot| dot.1.is_none()) {
            let style = ("sans-serif", 13).into_font().color(&BLACK.mix(0.6));
            chart.draw_series([Text::new("never visited", (x_range.start + 0.05, never + 0.05), style)])?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(("sans-serif", 13))
            .border_style(TRANSPARENT)
            .background_style(WHITE.mix(0.8))
            .draw()?;
        Ok(())
    })
}

/// The law for a page of mean weight and cost 1, in decades per day.
fn law(planned: &Planned<'_>, range: std::ops::Range<f64>) -> Vec<(f64, f64)> {
    let terms = planned.solution.terms();
    if terms.allocation != Allocation::Optimal {
        return Vec::new();
    }
    let price = planned.solution.price() / planned.mean_weight();
    let day = Unit::Day.seconds();
    let points = (0..=400).map(|i| range.start + (range.end - range.start) * f64::from(i) / 400.0);
    let frequency = |rate: f64| {
        let y = price * rate.powi(terms.objective.time_power());
        rate / terms.order.ratio_at_utility(terms.objective, y)
    };
    points.map(|x| (x, (frequency(10f64.powf(x) / day) * day).log10())).filter(|(_, y)| y.is_finite()).collect()
}

/// What budgets give: a curve over the decades of the budget, and the points that were asked for.
pub(crate) fn curve(points: &[(f64, f64)], asked: &[(f64, f64)], unit: Unit, value: &str) -> Result<String> {
    let logs = |points: &[(f64, f64)]| points.iter().map(|(x, y)| (x.log10(), *y)).collect::<Vec<_>>();
    let (points, asked) = (logs(points), logs(asked));
    let x_range = decades(points.iter().map(|(x, _)| *x));
    let top = points.iter().map(|(_, y)| *y).filter(|y| y.is_finite()).fold(0.0, f64::max);
    picture(|area| {
        let budget = format!("budget per {unit}");
        let mut chart =
            axes(area, x_range.clone(), 0.0..top * 1.05 + 1e-12, (&budget, value), &|y| crate::output::number(*y))?;
        let drawn = points.iter().copied().filter(|(_, y)| y.is_finite());
        chart.draw_series(LineSeries::new(drawn, LAW.stroke_width(2)))?;
        chart.draw_series(asked.iter().map(|at| Circle::new(*at, 5, PAGES.filled())))?;
        Ok(())
    })
}

/// Curves over decades of x; points are marked, and what each curve is stands below the picture.
pub(crate) fn lines(series: &[(String, Vec<(f64, f64)>)], words: (&str, &str)) -> Result<String> {
    let all = || series.iter().flat_map(|(_, points)| points);
    let x_range = decades(all().map(|(x, _)| x.log10()));
    let top = all().map(|(_, y)| *y).filter(|y| y.is_finite()).fold(0.0, f64::max);
    let columns = columns(series.iter().map(|(name, _)| name.as_str()));
    #[expect(clippy::cast_possible_truncation, reason = "a handful of rows")]
    let rows = series.len().div_ceil(columns) as u32;
    sized((NARROW, 400 + KEY_HEIGHT * rows + 8), |area| {
        let (above, below) = area.split_vertically(400);
        let y_range = 0.0..top * 1.05 + 1e-12;
        let mut chart = axes(&above, x_range.clone(), y_range, words, &|y| crate::output::number(*y))?;
        for (number, (name, points)) in series.iter().enumerate() {
            let stroke = Stroke::of(number);
            let points: Vec<_> = points.iter().map(|(x, y)| (x.log10(), *y)).filter(|(_, y)| y.is_finite()).collect();
            match stroke.dash {
                Some((size, gap)) => {
                    let line = DashedLineSeries::new(points.iter().copied(), size, gap, stroke.ink.stroke_width(2));
                    chart.draw_series(line)?;
                }
                None => drop(chart.draw_series(LineSeries::new(points.iter().copied(), stroke.ink.stroke_width(2)))?),
            }
            chart.draw_series(points.iter().map(|at| stroke.mark(*at)))?;
            key(&below, (number, columns), name)?;
        }
        Ok(())
    })
}

/// So wide are pictures that phones show too: letters stay legible.
const NARROW: u32 = 600;

/// Keys side by side below a picture, and how high a row of them is.
const KEYS: usize = 3;
const KEY_HEIGHT: u32 = 22;

/// Letters for which a key has room beside others.
const KEY_LETTERS: usize = 17;

/// How many keys stand side by side: one where a name is long, as that of a policy with parameters.
fn columns<'a>(mut names: impl Iterator<Item = &'a str>) -> usize {
    if names.any(|name| name.len() > KEY_LETTERS) { 1 } else { KEYS }
}

/// How a curve is drawn: no two of 21 look alike.
struct Stroke {
    ink: RGBColor,
    /// The lengths of dashes and gaps; none for a line.
    dash: Option<(u32, u32)>,
}

impl Stroke {
    fn of(number: usize) -> Stroke {
        let dash = [None, Some((9, 5)), Some((2, 4))][number / INKS.len() % 3];
        Stroke { ink: INKS[number % INKS.len()], dash }
    }

    /// A dot, hollow on dashed lines.
    fn mark<P>(&self, at: P) -> Circle<P, i32> {
        let style = if self.dash.is_none() { self.ink.filled() } else { self.ink.stroke_width(2) };
        Circle::new(at, 4, style)
    }
}

/// What a curve is, below the picture.
fn key(area: &Area<'_>, (number, columns): (usize, usize), name: &str) -> Result<(), Failure> {
    let stroke = Stroke::of(number);
    let (column, row) = (i32::try_from(number % columns)?, i32::try_from(number / columns)?);
    let (width, height) = (i32::try_from(NARROW)? / i32::try_from(KEYS)?, i32::try_from(KEY_HEIGHT)?);
    let (x, y) = (20 + column * (width - 8), height / 2 + row * height);
    let (size, gap) = stroke.dash.map_or((30, 0), |(size, gap)| (size.cast_signed(), gap.cast_signed()));
    let mut from = x;
    while from < x + 30 {
        let to = (from + size).min(x + 30);
        area.draw(&PathElement::new([(from, y), (to, y)], stroke.ink.stroke_width(2)))?;
        from += size + gap.max(1);
    }
    area.draw(&stroke.mark((x + 15, y)))?;
    area.draw(&Text::new(name.to_owned(), (x + 38, y - 7), ("sans-serif", 15)))?;
    Ok(())
}

/// How wide a letter of a name beside bars is, about.
const ROW_LETTER: i32 = 7;

/// A share with its error, in a row of its own.
pub(crate) struct Row {
    pub name: String,
    pub share: f64,
    pub error: f64,
}

/// Shares as bars to the right of nothing and to the left of it, each with its error; beyond -100 and 130 % they are cut.
pub(crate) fn rows(rows: &[Row], words: &str) -> Result<String> {
    const LOW: f64 = -1.0;
    const HIGH: f64 = 1.3;
    #[expect(clippy::cast_possible_truncation, reason = "a handful of rows")]
    let height = 24 * rows.len() as u32 + 76;
    let letters = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    // Names get the room they need, but leave half of the picture to the bars.
    let names = i32::try_from(letters).unwrap_or(i32::MAX).saturating_mul(ROW_LETTER).clamp(124, 280);
    sized((NARROW, height), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(names + 6)
            .build_cartesian_2d(LOW..HIGH, 0.0..rows.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_desc(words)
            .x_labels(7)
            .x_label_formatter(&|share| format!("{:.0} %", 100.0 * share))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .label_style(("sans-serif", 14))
            .draw()?;
        let style = ("sans-serif", 14).into_font().color(&BLACK.mix(0.85));
        for (number, row) in rows.iter().enumerate() {
            let middle = rows.len() as f64 - number as f64 - 0.5;
            let share = row.share.clamp(LOW, HIGH);
            let ink = if row.share < 0.0 { PAGES } else { LAW };
            chart.draw_series([Rectangle::new(
                [(0.0, middle - 0.32), (share, middle + 0.32)],
                ink.mix(0.75).filled(),
            )])?;
            let ends = [-row.error, row.error].map(|error| (share + error).clamp(LOW, HIGH));
            chart.draw_series([PathElement::new(ends.map(|end| (end, middle)), BLACK.stroke_width(2))])?;
            let (x, y) = chart.backend_coord(&(LOW, middle));
            area.draw(&Text::new(row.name.clone(), (x - names, y - 7), style.clone()))?;
        }
        chart.draw_series([PathElement::new([(0.0, 0.0), (0.0, rows.len() as f64)], BLACK.mix(0.6))])?;
        Ok(())
    })
}

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn picture(draw: impl Fn(&Area<'_>) -> Result<(), Failure>) -> Result<String> {
    sized(SIZE, draw)
}

/// A picture of a size of its own.
pub(crate) fn sized(size: (u32, u32), draw: impl Fn(&Area<'_>) -> Result<(), Failure>) -> Result<String> {
    drawn(size, |area| {
        area.fill(&WHITE)?;
        draw(area)
    })
}

/// The same on whatever is behind it.
pub(crate) fn drawn(size: (u32, u32), draw: impl Fn(&Area<'_>) -> Result<(), Failure>) -> Result<String> {
    let mut svg = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&area).and_then(|()| area.present().map_err(Failure::from))
    };
    drawn.map_err(|error| anyhow!("cannot draw: {error}"))?;
    Ok(svg)
}

/// Decades of x against y, which is labelled as asked.
fn axes<'a>(
    area: &Area<'a>,
    x: std::ops::Range<f64>,
    y: std::ops::Range<f64>,
    (x_words, y_words): (&str, &str),
    y_label: &dyn Fn(&f64) -> String,
) -> Result<Chart<'a>, Failure> {
    let mut chart =
        ChartBuilder::on(area).margin(16).x_label_area_size(44).y_label_area_size(64).build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(x_words)
        .y_desc(y_words)
        .x_label_formatter(&|x| power_of_ten(*x))
        .y_label_formatter(y_label)
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.08))
        .label_style(("sans-serif", 13))
        .draw()?;
    Ok(chart)
}

/// The number whose decimal logarithm this is, to two digits.
fn power_of_ten(log: f64) -> String {
    let digit = 10f64.powf(log.floor() - 1.0);
    everfresh::units::significant((10f64.powf(log) / digit).round() * digit, 2)
}

/// The colours of bars, told apart by all eyes.
const BARS: [RGBColor; 5] = [LAW, PAGES, RGBColor(0, 158, 115), RGBColor(230, 159, 0), RGBColor(204, 121, 167)];

/// The colours of curves: Okabe and Ito's but for the yellow, which white paper swallows.
const INKS: [RGBColor; 7] = [
    LAW,
    PAGES,
    RGBColor(0, 158, 115),
    RGBColor(230, 159, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(70, 70, 70),
];

/// The pictures of a report: so wide that letters are legible on a phone, which shows three quarters of it.
const SMALL: (u32, u32) = (480, 320);

/// Letters of a name that fit below a picture.
const LETTERS: usize = 56;

/// Bars side by side: for each word one of every series, in shares; what the series are stands below.
pub(crate) fn bars(words: &[String], series: &[(String, Vec<f64>)], y_words: &str) -> Result<String> {
    let top = series.iter().flat_map(|(_, shares)| shares).fold(0.01_f64, |top, share| top.max(*share));
    let width = 0.8 / series.len().max(1) as f64;
    #[expect(clippy::cast_possible_truncation, reason = "a handful of series")]
    let keys = KEY_HEIGHT * series.len() as u32 + 8;
    sized((SMALL.0, SMALL.1 + keys), |area| {
        let (above, below) = area.split_vertically(SMALL.1);
        let mut chart = ChartBuilder::on(&above)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..words.len() as f64, 0.0..1.05 * top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .y_desc(y_words)
            .y_labels(6)
            .y_label_formatter(&|share| crate::output::percent(*share))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .label_style(("sans-serif", 14))
            .draw()?;
        for (number, (name, shares)) in series.iter().enumerate() {
            let ink = BARS[number % BARS.len()];
            let left = |place: usize| place as f64 + 0.1 + number as f64 * width;
            chart.draw_series(shares.iter().enumerate().map(|(place, share)| {
                Rectangle::new([(left(place), 0.0), (left(place) + width, *share)], ink.filled())
            }))?;
            bar_key(&below, number, name)?;
        }
        for (place, word) in words.iter().enumerate().step_by(words.len().div_ceil(6)) {
            let (x, y) = chart.backend_coord(&(place as f64 + 0.1, 0.0));
            under_bars(&above, (x, y + 4), word)?;
        }
        Ok(())
    })
}

/// What bars are of, below the picture, a row each.
fn bar_key(area: &Area<'_>, number: usize, name: &str) -> Result<(), Failure> {
    let y = i32::try_from(number)? * i32::try_from(KEY_HEIGHT)? + 4;
    area.draw(&Rectangle::new([(20, y), (34, y + 14)], BARS[number % BARS.len()].filled()))?;
    let mut shown: String = name.chars().take(LETTERS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    Ok(area.draw(&Text::new(shown, (42, y), ("sans-serif", 14)))?)
}

/// What stands under bars: a range in two lines.
fn under_bars(area: &Area<'_>, (x, y): (i32, i32), word: &str) -> Result<(), Failure> {
    let (from, to) = word.split_once(" to ").filter(|_| word.len() > 11).unwrap_or((word, ""));
    area.draw(&Text::new(from.to_owned(), (x, y), ("sans-serif", 13)))?;
    if !to.is_empty() {
        area.draw(&Text::new(format!("to {to}"), (x, y + 16), ("sans-serif", 13)))?;
    }
    Ok(())
}

/// What was seen against what was foreseen, and how far chance may part them; as shares.
pub(crate) struct Dot {
    pub x: f64,
    pub y: f64,
    pub spread: f64,
}

/// Shares that were seen against those that were foreseen: right ones lie on the diagonal.
pub(crate) fn calibration(dots: &[Dot]) -> Result<String> {
    sized(SMALL, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(30)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
        chart
            .configure_mesh()
            .x_desc("foreseen: probability of a change at the last visit")
            .x_labels(6)
            .y_labels(6)
            .y_desc("seen: share that did")
            .x_label_formatter(&|share| crate::output::percent(*share))
            .y_label_formatter(&|share| crate::output::percent(*share))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .label_style(("sans-serif", 14))
            .draw()?;
        chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], BLACK.mix(0.4)))?;
        let bar = |dot: &Dot| {
            let ends = [-1.0, 1.0].map(|side| (dot.x, (dot.x + side * dot.spread).clamp(0.0, 1.0)));
            PathElement::new(ends, LAW.stroke_width(3))
        };
        chart.draw_series(dots.iter().map(bar))?;
        chart.draw_series(dots.iter().map(|dot| Circle::new((dot.x, dot.y), 5, PAGES.filled())))?;
        for (number, (words, ink)) in [("seen", PAGES), ("within chance", LAW)].into_iter().enumerate() {
            let style = ("sans-serif", 14).into_font().color(&ink);
            chart.draw_series([Text::new(words, (0.02, 0.97 - 0.07 * number as f64), style)])?;
        }
        Ok(())
    })
}

/// Writes a page of pictures, each with the words about it; either may be empty.
pub(crate) fn write_page(path: &Path, title: &str, sections: &[(String, String)]) -> Result<()> {
    let text = page(title, sections);
    let written = WholeFile::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.finish()
    });
    written.map_err(|error| cannot_write(path, error))
}

/// Is there a format for the ending of this name?
pub(crate) fn check_ending(path: &Path) -> Result<()> {
    is_page(path)?;
    whole::check_place(path)
}

/// Is this the name of a page?
pub(crate) fn check_page(path: &Path, flag: &str) -> Result<()> {
    if path.extension().is_none_or(|ending| ending != "html") {
        bail!("{flag} `{}`: the ending must be .html", path.display());
    }
    whole::check_place(path)
}

/// Is it to be a page, not a bare picture?
fn is_page(path: &Path) -> Result<bool> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(false),
        Some("html") => Ok(true),
        _ => bail!("--plot `{}`: the ending must be .svg or .html", path.display()),
    }
}

/// Writes a picture as SVG, or with the words about it as a page of its own.
pub(crate) fn write(path: &Path, title: &str, svg: &str, words: &str) -> Result<()> {
    let text = if is_page(path)? { page(title, &[(svg.to_owned(), words.to_owned())]) } else { svg.to_owned() };
    let written = WholeFile::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.finish()
    });
    written.map_err(|error| cannot_write(path, error))
}

/// A page that needs nothing else.
fn page(title: &str, sections: &[(String, String)]) -> String {
    let section = |(svg, words): &(String, String)| {
        let plain = anstream::adapter::strip_str(words).to_string().replace('&', "&amp;").replace('<', "&lt;");
        let mut blocks: Vec<String> = plain.trim_end().split("\n\n").map(block).collect();
        // Behind the heading, if there is one.
        blocks.insert(usize::from(plain.starts_with("## ")), scalable(svg));
        blocks.join("\n")
    };
    let sections: Vec<String> = sections.iter().map(section).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n:root {{ color-scheme: light dark; font-family: sans-serif }}\n\
         body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}\n\
         .wide {{ overflow-x: auto }}\n\
         svg {{ width: 100%; min-width: 34rem; height: auto; border-radius: .5rem }}\nsvg[viewBox^=\"0 0 480 \"] {{ max-width: 40rem }}\n\
         pre {{ overflow-x: auto; font-size: .8rem }}\n\
         @media (prefers-color-scheme: dark) {{ svg {{ filter: invert(.9) hue-rotate(180deg) }} }}\n</style>\n\
         <h1>{title}</h1>\n{}\n</html>\n",
        sections.join("\n")
    )
}

/// Columns keep their places and may be moved sideways; sentences take the width they get; a line behind two marks is a heading.
fn block(text: &str) -> String {
    if let Some(heading) = text.strip_prefix("## ") {
        return format!("<h2>{heading}</h2>");
    }
    let has_columns = |line: &str| line.trim().contains("  ");
    if text.lines().any(has_columns) { format!("<pre>{text}</pre>") } else { format!("<p>{text}</p>") }
}

/// A picture that takes the width it gets; where that is too little for its words, as on a phone, it may be moved sideways.
fn scalable(svg: &str) -> String {
    let without = || {
        let (before, behind) = svg.split_once("width=\"")?;
        // Of all attributes of the first element the size comes first, and the box that it shows stays.
        Some(format!("{before}{}", &behind[behind.find("viewBox=")?..]))
    };
    without().map_or_else(|| svg.to_owned(), |svg| format!("<div class=\"wide\">\n{svg}</div>"))
}
