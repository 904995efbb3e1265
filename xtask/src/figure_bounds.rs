//! The picture of the bound-based search on its way to the optimal period (OP08 section 4.3).

use anyhow::{Result, anyhow};
use everfresh::curve::{DivergenceCurve, Scroll};
use everfresh::longevity::{BoundBased, OnlinePolicy, Point, RiskControl, Visit};
use everfresh::{Period, Rate, Unit};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::figures::{AGE, FRESHNESS, PROPORTIONAL, line};

/// Visits that are drawn, and profiles that are kept (h of the paper).
const VISITS: usize = 24;
const PROFILES: usize = 5;

/// The price of a visit in days, and ρ of the paper.
const PRICE: f64 = 0.3;
const RHO: f64 = 10.0;

type Failure = Box<dyn std::error::Error>;

/// Every period of the search over the optimal one, visit by visit, from three first periods; and from one that is far too long,
/// without risk control. The pages diverge after every visit as they did after the one before.
pub fn draw() -> Result<String> {
    let mut svg = String::new();
    let panels = |svg: &mut String| -> Result<(), Failure> {
        let area = SVGBackend::with_string(svg, (760, 400)).into_drawing_area();
        area.fill(&WHITE)?;
        let [left, right] = area.split_evenly((1, 2)).try_into().map_err(|_| "two panels")?;
        panel(&left, "half of the page overwritten 0.2 times a day", &page(0.2, 1)?, false)?;
        panel(&right, "a list of 20, 2 new items a day", &page(2.0, 20)?, true)?;
        area.present()?;
        Ok(())
    };
    panels(&mut svg).map_err(|error| anyhow!("cannot draw: {error}"))?;
    Ok(svg)
}

/// A page of which one half is a list of so many items; of one item it is a region that is overwritten.
fn page(per_day: f64, items: u32) -> everfresh::Result<Scroll> {
    Scroll::new(Rate::per(per_day, Unit::Day)?, items, 0.5)
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    title: &str,
    page: &Scroll,
    has_legend: bool,
) -> Result<(), Failure> {
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(title, ("sans-serif", 15))
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..VISITS as f64, (0.005..200.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("visits")
        .y_desc("period / optimal period")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y}"))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.08))
        .label_style(("sans-serif", 14))
        .draw()?;
    chart.draw_series(LineSeries::new([(0.0, 1.0), (VISITS as f64, 1.0)], BLACK.stroke_width(1)))?;
    let best = page.period(PRICE * Unit::Day.seconds()).days();
    for (label, colour, start, is_bare) in [
        ("from 1/100 of the optimum", FRESHNESS, 0.01, false),
        ("from the optimum", BLACK, 1.0, false),
        ("from 100 times it", AGE, 100.0, false),
        ("from 20 times it, no risk control", PROPORTIONAL, 20.0, true),
    ] {
        let periods = periods(page, best * start, is_bare)?;
        let places: Vec<_> = periods.iter().enumerate().map(|(n, period)| (n as f64, period / best)).collect();
        chart.draw_series(LineSeries::new(places.clone(), colour.stroke_width(2)))?.label(label).legend(line(colour));
        chart.draw_series(places.into_iter().map(|at| Circle::new(at, 2, colour.filled())))?;
    }
    if has_legend {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .label_font(("sans-serif", 13))
            .border_style(TRANSPARENT)
            .background_style(WHITE.mix(0.8))
            .draw()?;
    }
    Ok(())
}

/// The periods, in days, that the policy asks for after each of the first visits.
fn periods(page: &Scroll, first: f64, is_bare: bool) -> everfresh::Result<Vec<f64>> {
    let price = Period::of(PRICE, Unit::Day)?;
    let bare = BoundBased::new(price, Period::of(first, Unit::Day)?)?;
    if is_bare { visited(&bare, page) } else { visited(&RiskControl::new(bare, price, RHO)?, page) }
}

fn visited<P: OnlinePolicy>(policy: &P, page: &Scroll) -> everfresh::Result<Vec<f64>> {
    let (mut memory, mut now, mut elapsed) = (policy.discovered(), 0.0, Period::ZERO);
    let mut profiles: Vec<(f64, Vec<Point>)> = Vec::new();
    let mut periods = Vec::with_capacity(VISITS);
    for visits in 1.. {
        for (base, points) in &mut profiles {
            let since = Period::of(now - *base, Unit::Day)?;
            points.push(Point::new(since, page.divergence(since))?);
        }
        let kept: Vec<&[Point]> = profiles.iter().map(|(_, points)| points.as_slice()).collect();
        let visit = Visit { elapsed, visits, divergence: page.divergence(elapsed), profiles: &kept };
        elapsed = policy.next_period(&mut memory, &visit)?;
        periods.push(elapsed.days());
        if periods.len() > VISITS {
            break;
        }
        if profiles.len() == PROFILES {
            profiles.remove(0);
        }
        profiles.push((now, Vec::new()));
        now += elapsed.days();
    }
    Ok(periods)
}
