//! The pictures of the documentation, drawn from the library.

use anyhow::{Result, anyhow};
use everfresh::{Objective, Order, Page, Plan, Price, Rate, Terms, Unit};
use plotters::prelude::*;

/// Every picture: its path from the root, and its content.
pub fn all() -> Result<Vec<(&'static str, String)>> {
    Ok(vec![("docs/frequency-against-rate.svg", frequency_against_rate()?)])
}

const FRESHNESS: RGBColor = RGBColor(0, 114, 178);
const AGE: RGBColor = RGBColor(213, 94, 0);
const PROPORTIONAL: RGBColor = RGBColor(120, 120, 120);

/// CGM03 figure 11: how often a page is to be visited, against how often it changes; the five pages of Table IV on it.
fn frequency_against_rate() -> Result<String> {
    let mut svg = String::new();
    let draw = |svg: &mut String| -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(svg, (760, 400)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(52)
            .build_cartesian_2d(0.0..6.0, 0.0..2.0)?;
        chart
            .configure_mesh()
            .x_desc("changes of the page per day")
            .y_desc("visits per day")
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .label_style(("sans-serif", 14))
            .draw()?;
        for (label, colour, objective) in
            [("best for freshness", FRESHNESS, Objective::Freshness), ("best for age", AGE, Objective::Age)]
        {
            let price = price_of_table_iv(objective)?;
            let curve = (1..=600).map(|i| f64::from(i) / 100.0).map(|rate| (rate, frequency(rate, objective, price)));
            chart.draw_series(LineSeries::new(curve, colour.stroke_width(2)))?.label(label).legend(line(colour));
            let dots = (1..=5).map(f64::from).map(|rate| (rate, frequency(rate, objective, price)));
            chart.draw_series(dots.map(|at| Circle::new(at, 4, colour.filled())))?;
        }
        let proportional = [(0.0, 0.0), (6.0, 2.0)];
        chart
            .draw_series(LineSeries::new(proportional, PROPORTIONAL.stroke_width(1)))?
            .label("in proportion to the changes")
            .legend(line(PROPORTIONAL));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(("sans-serif", 14))
            .border_style(TRANSPARENT)
            .background_style(WHITE.mix(0.8))
            .draw()?;
        area.present()?;
        Ok(())
    };
    draw(&mut svg).map_err(|error| anyhow!("cannot draw: {error}"))?;
    Ok(svg)
}

fn line(colour: RGBColor) -> impl Fn((i32, i32)) -> PathElement<(i32, i32)> {
    move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2))
}

/// The price of a visit when five pages that change 1 to 5 times a day share five visits a day.
fn price_of_table_iv(objective: Objective) -> everfresh::Result<f64> {
    let rates = (1..=5).map(|n| Rate::per(f64::from(n), Unit::Day));
    let pages = rates.map(|rate| rate.map(Page::new)).collect::<everfresh::Result<Vec<_>>>()?;
    let budget = Price::for_budget(5.0, Unit::Day)?;
    let plan = Plan::new(&pages, Terms { objective, ..Terms::new(budget) })?;
    Ok(plan.price().unwrap_or_default() / Unit::Day.seconds().powi(objective.time_power()))
}

/// The law itself: f = λ / u⁻¹(T λ^p), in days.
fn frequency(rate: f64, objective: Objective, price: f64) -> f64 {
    rate / Order::Fixed.ratio_at_utility(objective, price * rate.powi(objective.time_power()))
}
