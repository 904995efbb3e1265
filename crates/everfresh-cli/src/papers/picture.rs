//! The pictures of exhibits as SVG that lives in a page: small enough for a phone, in the page's own colours.

use std::ops::Range;

use anyhow::Result;
use everfresh_sim::papers::{Axis, Mark, Picture, Scale, Series};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::chart::{self, Failure};

/// How many units of the drawing are a pixel on a phone: points fall on whole units.
const FINE: u32 = 8;

/// Narrow, so that the words are readable at the width of a phone.
const SIZE: (u32, u32) = (380 * FINE, 280 * FINE);

/// The width of a line.
const STROKE: u32 = 2 * FINE;

/// Colours of series that the page defines, for light and for dark.
pub(super) const COLOURS: usize = 6;

/// A colour that stands for a variable of the page until the picture is done.
fn placeholder(number: usize) -> RGBColor {
    RGBColor(1, u8::try_from(number % COLOURS).unwrap_or(0), 0)
}

/// The name of the page's variable for a series.
pub(super) fn variable(number: usize) -> String {
    format!("var(--s{})", number % COLOURS)
}

/// Which colour each series has: dots of simulated or measured values have that of the line before them.
pub(super) fn colours(picture: &Picture) -> Vec<usize> {
    let mut next = 0;
    let mut colours: Vec<usize> = Vec::new();
    for (place, series) in picture.series.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| &picture.series[before]);
        let follows = before.is_some_and(|before| {
            before.mark == Mark::Line && series.mark == Mark::Dots && follows(&before.name, &series.name)
        });
        match colours.last() {
            Some(last) if follows => colours.push(*last),
            _ => {
                colours.push(next);
                next += 1;
            }
        }
    }
    colours
}

/// `fixed order, visited` belongs to `fixed order`, and the pages of a weight to their law.
fn follows(line: &str, dots: &str) -> bool {
    dots.starts_with(line) || line.rsplit(' ').next() == dots.rsplit(' ').next()
}

/// The picture as SVG that takes the width it gets.
pub(super) fn svg(picture: &Picture) -> Result<String> {
    let (x, y) = (Frame::new(picture, true), Frame::new(picture, false));
    let drawn = chart::drawn(SIZE, |area| draw(area, picture, &x, &y))?;
    Ok(in_the_pages_colours(&drawn, &label(picture)))
}

/// What the picture is, for those who do not see it.
fn label(picture: &Picture) -> String {
    let names: Vec<&str> = picture.series.iter().map(|series| series.name.as_str()).collect();
    format!("{} against {}: {}", picture.y.words, picture.x.words, names.join(", "))
}

fn in_the_pages_colours(svg: &str, label: &str) -> String {
    let (width, height) = SIZE;
    let label = super::page::escaped(label);
    let mut svg = svg
        .replacen(
            &format!("width=\"{width}\" height=\"{height}\" "),
            &format!("role=\"img\" aria-label=\"{label}\" "),
            1,
        )
        .replace("\"#000000\"", "\"currentColor\"");
    for number in 0..COLOURS {
        let RGBColor(r, g, b) = placeholder(number);
        svg = svg.replace(&format!("\"#{r:02X}{g:02X}{b:02X}\""), &format!("\"{}\"", variable(number)));
    }
    svg
}

/// One axis of a picture: how numbers are placed on it, what it shows, and where it is marked.
struct Frame<'a> {
    axis: &'a Axis,
    range: Range<f64>,
    ticks: Vec<f64>,
}

impl<'a> Frame<'a> {
    fn new(picture: &'a Picture, is_x: bool) -> Frame<'a> {
        let axis = if is_x { &picture.x } else { &picture.y };
        let pick = |point: &(f64, f64)| if is_x { point.0 } else { point.1 };
        let asked = axis.range.into_iter().flat_map(|(low, high)| [low, high]);
        let has_bars = !is_x && picture.series.iter().any(|series| series.mark == Mark::Bars);
        let values = picture.series.iter().flat_map(|series| series.points.iter().map(pick));
        let values = values.chain(asked).chain(has_bars.then_some(0.0));
        let places = values.map(|value| place(&axis.scale, value)).filter(|place| place.is_finite());
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let range = match &axis.scale {
            Scale::Classes(names) => 0.0..names.len() as f64,
            _ if low >= high => low - 1.0..low + 1.0,
            // Room above the highest point, but not beyond a range that was asked for, nor at the sides.
            _ if is_x || axis.range.is_some() => low..high,
            _ => low..high + 0.05 * (high - low),
        };
        let ticks = ticks(&axis.scale, &range);
        Frame { axis, range, ticks }
    }

    fn place(&self, value: f64) -> f64 {
        place(&self.axis.scale, value)
    }

    fn ruler(&self) -> Ruler {
        Ruler { even: self.range.clone().into(), ticks: self.ticks.clone() }
    }

    fn label(&self, place: f64) -> String {
        match &self.axis.scale {
            Scale::Linear => everfresh::units::significant((place * 1e9).round() / 1e9, 3),
            Scale::Log => everfresh::units::significant(10f64.powf(place), 2),
            // The middle of the class with that number.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Scale::Classes(names) => names.get(place.max(0.0) as usize).cloned().unwrap_or_default(),
        }
    }
}

/// Where a value is on its axis, before pixels.
fn place(scale: &Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear | Scale::Classes(_) => value,
        Scale::Log => value.log10(),
    }
}

/// Where an axis is marked: round numbers, at most seven.
fn ticks(scale: &Scale, range: &Range<f64>) -> Vec<f64> {
    match scale {
        Scale::Classes(names) => (0..names.len()).map(|class| class as f64 + 0.5).collect(),
        Scale::Linear => even_ticks(range),
        Scale::Log => log_ticks(range),
    }
}

fn even_ticks(range: &Range<f64>) -> Vec<f64> {
    let length = range.end - range.start;
    let decade = 10f64.powf((length / 7.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * decade).into_iter().find(|step| length / step <= 6.0);
    let step = step.unwrap_or(10.0 * decade);
    multiples(step, range)
}

/// The multiples of a step that lie within a range.
fn multiples(step: f64, range: &Range<f64>) -> Vec<f64> {
    let slack = 1e-9 * (range.end - range.start);
    let first = ((range.start - slack) / step).ceil();
    let all = (0..1000).map(|i| (first + f64::from(i)) * step);
    all.take_while(|tick| *tick <= range.end + slack).collect()
}

/// Whole decades, every second or third where they are many; between them 2 and 5 where they are few.
fn log_ticks(range: &Range<f64>) -> Vec<f64> {
    let decades = range.end - range.start;
    if decades > 2.5 {
        return multiples((decades / 6.0).ceil(), range);
    }
    let within = |tick: &f64| *tick >= range.start - 1e-9 && *tick <= range.end + 1e-9;
    let whole = multiples(1.0, &(range.start.floor()..range.end.ceil()));
    whole.into_iter().flat_map(|decade| [1.0f64, 2.0, 5.0].map(|digit| decade + digit.log10())).filter(within).collect()
}

/// An even range that is marked where we say.
struct Ruler {
    even: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Ranged for Ruler {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.even.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.even.range()
    }
}

type Axes<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ruler, Ruler>>;

fn draw(area: &chart::Area<'_>, picture: &Picture, x: &Frame<'_>, y: &Frame<'_>) -> Result<(), Failure> {
    let mut axes = ChartBuilder::on(area)
        .margin(6 * FINE)
        .margin_right(14 * FINE)
        .x_label_area_size(44 * FINE)
        .y_label_area_size(60 * FINE)
        .build_cartesian_2d(x.ruler(), y.ruler())?;
    let mut mesh = axes.configure_mesh();
    if matches!(x.axis.scale, Scale::Classes(_)) {
        mesh.disable_x_mesh();
    }
    mesh.x_desc(x.axis.words)
        .y_desc(y.axis.words)
        .x_labels(x.ticks.len())
        .y_labels(y.ticks.len())
        .x_label_formatter(&|place| x.label(*place))
        .y_label_formatter(&|place| y.label(*place))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12).stroke_width(FINE))
        .axis_style(BLACK.mix(0.5).stroke_width(FINE))
        .set_all_tick_mark_size(5 * FINE)
        .label_style(("sans-serif", 16 * FINE))
        .draw()?;
    let bars = picture.series.iter().filter(|series| series.mark == Mark::Bars).count();
    let mut bar = 0;
    for (series, colour) in picture.series.iter().zip(colours(picture)) {
        let points: Vec<(f64, f64)> = series
            .points
            .iter()
            .map(|point| (x.place(point.0), y.place(point.1)))
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect();
        draw_series(&mut axes, series, points, placeholder(colour), (bar, bars))?;
        bar += usize::from(series.mark == Mark::Bars);
    }
    Ok(())
}

/// Draws one series; of bars it is number `bar` of `bars` that stand side by side.
fn draw_series(
    axes: &mut Axes<'_, '_>,
    series: &Series,
    points: Vec<(f64, f64)>,
    ink: RGBColor,
    (bar, bars): (usize, usize),
) -> Result<(), Failure> {
    match series.mark {
        Mark::Line => {
            axes.draw_series(LineSeries::new(points, ink.stroke_width(STROKE)))?;
        }
        Mark::Dashed => {
            axes.draw_series(DashedLineSeries::new(points, 5 * FINE, 4 * FINE, ink.stroke_width(STROKE)))?;
        }
        Mark::Dots => {
            let (size, shade) = if points.len() > 100 { (2 * FINE, 0.6) } else { (4 * FINE, 1.0) };
            axes.draw_series(points.into_iter().map(|at| Circle::new(at, size, ink.mix(shade).filled())))?;
        }
        Mark::Bars => {
            let width = 0.8 / bars.max(1) as f64;
            let left = |class: f64| class + 0.1 + bar as f64 * width;
            let bar = |(class, top)| Rectangle::new([(left(class), 0.0), (left(class) + width, top)], ink.filled());
            axes.draw_series(points.into_iter().map(bar))?;
        }
        Mark::Area => {
            axes.draw_series([Polygon::new(points, ink.mix(0.25).filled())])?;
        }
        Mark::Strokes => {
            let strokes = points.chunks_exact(2).map(|ends| PathElement::new(ends.to_vec(), ink.stroke_width(FINE)));
            axes.draw_series(strokes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_marked_at_round_numbers() {
        assert_eq!(even_ticks(&(0.0..2.0)), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(even_ticks(&(0.0..22.0)), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(log_ticks(&(-3.0..2.0)), [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0]);
        let few: Vec<f64> = log_ticks(&(-1.0..0.4)).into_iter().map(|log| 10f64.powf(log)).collect();
        let close = |(found, wanted): (&f64, f64)| (found - wanted).abs() < 1e-9;
        assert!(few.iter().zip([0.1, 0.2, 0.5, 1.0, 2.0]).all(close) && few.len() == 5, "{few:?}");
    }

    #[test]
    fn no_colour_is_fixed() {
        let picture = Picture::new("", Axis::log("x"), Axis::linear("y"))
            .with("line", Mark::Line, vec![(0.1, 1.0), (10.0, 2.0)])
            .with("line, simulated", Mark::Dots, vec![(1.0, 1.5), (0.0, 1.0), (2.0, f64::NAN)])
            .with("other", Mark::Dashed, vec![(0.1, 2.0), (10.0, 1.0)]);
        assert_eq!(colours(&picture), [0, 0, 1]);
        let svg = svg(&picture).unwrap();
        assert!(!svg.contains("\"#"), "{svg}");
        assert!(svg.contains("var(--s0)") && svg.contains("var(--s1)") && svg.contains("currentColor"));
        assert_eq!(svg.matches("<circle").count(), 1, "what has no place is left out");
    }
}
