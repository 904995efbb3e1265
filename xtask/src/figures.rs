//! The pictures of the documentation, drawn from the library.

use anyhow::{Result, anyhow};
use everfresh::estimate::{Drifting, Estimator, Gamma, Habits, Naive, Observation, Prior, Ratio};
use everfresh::{Objective, Order, Page, Period, Plan, Price, Rate, Terms, Unit};
use plotters::prelude::*;

use crate::figure_bounds;

/// Every picture: its path from the root, and its content.
pub fn all() -> Result<Vec<(&'static str, String)>> {
    Ok(vec![
        ("docs/frequency-against-rate.svg", frequency_against_rate()?),
        ("docs/bias-of-estimators.svg", bias_of_estimators()?),
        ("docs/bound-based-search.svg", figure_bounds::draw()?),
    ])
}

pub(crate) const FRESHNESS: RGBColor = RGBColor(0, 114, 178);
pub(crate) const AGE: RGBColor = RGBColor(213, 94, 0);
pub(crate) const PROPORTIONAL: RGBColor = RGBColor(120, 120, 120);
const DRIFTING: RGBColor = RGBColor(0, 158, 115);

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

/// The mean of estimates over the truth, and their standard deviation, against the changes per visit: exactly, over the number of
/// visits that find a change. At regular visits the maximum of the likelihood is the corrected ratio.
fn bias_of_estimators() -> Result<String> {
    let mut svg = String::new();
    let draw = |svg: &mut String| -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(svg, (760, 720)).into_drawing_area();
        area.fill(&WHITE)?;
        let prior = Prior::new(0.5, Rate::per(1.0, Unit::Day)?)?;
        let estimators = [
            ("naive, 10 visits", PROPORTIONAL, by_changed_visits(10, Naive::new)?),
            ("corrected ratio and maximum likelihood, 10 visits", FRESHNESS, by_changed_visits(10, Ratio::new)?),
            ("the same, 50 visits", BLACK, by_changed_visits(50, Ratio::new)?),
            ("gamma posterior, 10 visits, prior around 1", AGE, by_changed_visits(10, || Gamma::new(prior))?),
            (
                "drifting, 10 visits, the same prior",
                DRIFTING,
                by_changed_visits(10, || Drifting::new(prior, Habits::STEADY))?,
            ),
        ];
        let panels = area.split_evenly((2, 1));
        for (panel, what, of) in [
            (&panels[0], "mean estimate / truth", mean_estimate as fn(&[f64], f64) -> f64),
            (&panels[1], "standard deviation / truth", deviation),
        ] {
            let mut chart = ChartBuilder::on(panel)
                .margin(16)
                .x_label_area_size(44)
                .y_label_area_size(52)
                .build_cartesian_2d(0.0..5.0, 0.0..1.6)?;
            chart
                .configure_mesh()
                .x_desc("changes per visit")
                .y_desc(what)
                .light_line_style(TRANSPARENT)
                .bold_line_style(BLACK.mix(0.08))
                .label_style(("sans-serif", 14))
                .draw()?;
            for (label, colour, estimates) in &estimators {
                let curve = (4..=250).map(|i| f64::from(i) / 50.0).map(|r| (r, of(estimates, r) / r));
                let series = chart.draw_series(LineSeries::new(curve, colour.stroke_width(2)))?;
                series.label(*label).legend(line(*colour));
            }
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperRight)
                .label_font(("sans-serif", 14))
                .border_style(TRANSPARENT)
                .background_style(WHITE.mix(0.8))
                .draw()?;
        }
        area.present()?;
        Ok(())
    };
    draw(&mut svg).map_err(|error| anyhow!("cannot draw: {error}"))?;
    Ok(svg)
}

/// What an estimator says after so many daily visits, by how many of them found a change, these spread evenly.
fn by_changed_visits<E: Estimator>(visits: u32, make: impl Fn() -> E) -> everfresh::Result<Vec<f64>> {
    let day = Period::of(1.0, Unit::Day)?;
    let mut estimates = Vec::new();
    for changed in 0..=visits {
        let mut estimator = make();
        for visit in 0..visits {
            let finds = (visit + 1) * changed / visits > visit * changed / visits;
            estimator.observe(&if finds { Observation::changed(day)? } else { Observation::unchanged(day)? });
        }
        estimates.push(estimator.estimate().rate.per_day());
    }
    Ok(estimates)
}

/// Their standard deviation there.
fn deviation(estimates: &[f64], r: f64) -> f64 {
    let squares: Vec<f64> = estimates.iter().map(|estimate| estimate * estimate).collect();
    (mean_estimate(&squares, r) - mean_estimate(estimates, r).powi(2)).max(0.0).sqrt()
}

/// Their mean when the page changes r times per visit: a binomial number of visits finds a change.
fn mean_estimate(estimates: &[f64], r: f64) -> f64 {
    let (visits, odds) = (estimates.len() - 1, r.exp_m1());
    let mut probability = (-r * visits as f64).exp();
    let mut mean = 0.0;
    for (changed, estimate) in estimates.iter().enumerate() {
        mean += probability * estimate;
        probability *= odds * (visits - changed) as f64 / (changed + 1) as f64;
    }
    mean
}

pub(crate) fn line(colour: RGBColor) -> impl Fn((i32, i32)) -> PathElement<(i32, i32)> {
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
