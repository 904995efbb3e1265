//! CGM99: *Synchronizing a database to improve freshness*, the technical report, with the gamma model.

use everfresh::gamma_model::GammaModel;
use everfresh::{Order, Result};

use super::{Axis, Exhibit, Figure, Maker, Mark, Paper, Picture, Printed, cgm03, curve, peak};

pub(super) const EXHIBITS: [Maker; 6] = [table_3, figure_7, table_4, figure_9, table_5, table_6];

/// Table 4: what CGM03 calls Table III.
fn table_4(seed: u64) -> Result<Exhibit> {
    Ok(Exhibit { paper: Paper::Cgm99, name: "Table 4".to_owned(), ..cgm03::table_iii(seed)? })
}

/// Table 5: what CGM03 calls Table IV.
fn table_5(seed: u64) -> Result<Exhibit> {
    Ok(Exhibit { paper: Paper::Cgm99, name: "Table 5".to_owned(), ..cgm03::table_iv(seed)? })
}

/// Table 6: the columns of all sites of what CGM03 calls Table VII.
fn table_6(_seed: u64) -> Result<Exhibit> {
    Ok(Exhibit::new(Paper::Cgm99, "Table 6", "Freshness and age of the web of 1999 under three policies.")
        .with_figures(cgm03::overall(Printed::new(100.0, -2))?))
}

/// The formulas of Table 3 as they are printed, at δ² and r: freshness and age in periods, uniform and proportional.
fn printed_formulas(d2: f64, r: f64) -> [f64; 4] {
    let freshness = (1.0 - (1.0 + r * d2).powf(1.0 - 1.0 / d2)) / (r * (1.0 - d2));
    let last = (1.0 - (1.0 + r * d2).powf(2.0 - 1.0 / d2)) / (r.powi(2) * (1.0 - 2.0 * d2));
    let age = ((1.0 - d2) / 2.0 - 1.0 / r + last) / (1.0 - d2);
    let lost = 1.0 - (-r).exp();
    [freshness, age, lost / r, (0.5 - 1.0 / r + lost / r.powi(2)) / (1.0 - d2)]
}

/// Ours at the same place.
fn ours(delta: f64, r: f64) -> Result<[f64; 4]> {
    let model = GammaModel::new(delta)?;
    Ok([
        model.uniform_freshness(r)?,
        model.uniform_age_in_periods(r)?,
        model.proportional_freshness(r)?,
        model.proportional_age_in_periods(r)?,
    ])
}

const COLUMNS: [&str; 4] = ["uniform: freshness", "uniform: age/I", "proportional: freshness", "proportional: age/I"];

/// Table 3: gamma-distributed rates, uniform and proportional visits.
fn table_3(_seed: u64) -> Result<Exhibit> {
    let mut figures = Vec::new();
    for (delta, r) in [(0.5, 0.1), (0.5, 1.0), (0.5, 5.0), (0.9, 1.0), (0.9, 5.0), (2.0, 1.0), (2.0, 5.0)] {
        let printed = printed_formulas(delta * delta, r);
        for ((column, ours), printed) in COLUMNS.into_iter().zip(ours(delta, r)?).zip(printed) {
            let figure =
                Figure::new(format!("delta = {delta}, r = {r}"), column, ours).beside(Printed::formula(printed));
            let beyond = delta >= 1.0 && column == COLUMNS[3];
            figures.push(if beyond {
                figure.slip("the printed age of the proportional policy holds for delta < 1 only; from 1 on it is infinite, and the formula turns negative")
            } else {
                figure
            });
        }
    }
    let half = 0.5f64.sqrt();
    for (delta, name) in [(half, "delta² = 1/2, r = 1"), (1.0, "delta² = 1, r = 1")] {
        let both = COLUMNS.into_iter().zip(ours(delta, 1.0)?).take(2);
        figures.extend(both.map(|(column, ours)| Figure::new(name, column, ours)));
    }
    Ok(Exhibit::new(
        Paper::Cgm99,
        "Table 3",
        "Freshness and age (in periods) of pages with gamma-distributed rates: delta is their standard deviation over \
         their mean, r the mean changes per visit. The printed column is the report's formula, evaluated as it stands.",
    )
    .with_figures(figures)
    .with_remark("At delta² = 1/2 and 1 the printed formulas divide zero by zero; ours take the limits."))
}

/// Freshness of proportional over uniform visits, and age of uniform over proportional ones.
fn ratios(delta: f64, r: f64) -> (f64, f64) {
    ours(delta, r).map_or((f64::NAN, f64::NAN), |[fu, au, fp, ap]| (fp / fu, au / ap))
}

const RATIOS_R: [f64; 4] = [0.1, 1.0, 5.0, 10.0];

/// Figure 7: how much worse proportional visits are.
fn figure_7(_seed: u64) -> Result<Exhibit> {
    let panel = |title, words, end: f64, value: &dyn Fn(f64, f64) -> f64| {
        let axes = Picture::new(title, Axis::linear("delta"), Axis::linear(words).from_to(0.0, 1.0));
        RATIOS_R.into_iter().fold(axes, |picture, r| {
            picture.with(format!("r = {r}"), Mark::Line, curve(0.0, end, 120, |delta| value(delta, r)))
        })
    };
    let grid = || (5..=40).flat_map(|i| RATIOS_R.map(|r| ratios(f64::from(i) * 0.05, r)));
    let worst = |pick: fn(&(f64, f64)) -> f64| grid().map(|both| pick(&both)).fold(0.0, f64::max);
    let spread = |pick: fn((f64, f64)) -> f64| {
        let at_half = RATIOS_R.map(|r| pick(ratios(0.5, r)));
        at_half.into_iter().fold(0.0, f64::max) - at_half.into_iter().fold(1.0, f64::min)
    };
    Ok(Exhibit::new(
        Paper::Cgm99,
        "Figure 7",
        "Freshness of proportional over uniform visits, and age of uniform over proportional visits: below 1 wherever \
         the pages differ at all.",
    )
    .with_picture(panel("(a) freshness, proportional / uniform", "ratio", 2.0, &|delta, r| ratios(delta, r).0))
    .with_picture(panel("(b) age, uniform / proportional", "ratio", 1.2, &|delta, r| ratios(delta, r).1))
    .with_figures([
        Figure::new("largest freshness ratio, delta from 0.25 to 2", "", worst(|both| both.0))
            .beside(Printed::below(1.0, 0)),
        Figure::new("largest age ratio, delta from 0.25 to 2", "", worst(|both| both.1)).beside(Printed::below(1.0, 0)),
        Figure::new("how far r moves the freshness ratio at delta = 0.5", "", spread(|both| both.0)),
        Figure::new("how far r moves the age ratio at delta = 0.5", "", spread(|both| both.1)),
    ]))
}

/// The mean freshness of two pages that change nine times and once a day, of whose `total` visits a day the second gets
/// the share x.
fn two_pages(total: f64, x: f64) -> f64 {
    let freshness = |rate: f64, visits: f64| if visits > 0.0 { Order::Fixed.freshness(rate / visits) } else { 0.0 };
    (freshness(9.0, total * (1.0 - x)) + freshness(1.0, total * x)) / 2.0
}

/// Figure 9: the two pages as Poisson processes.
fn figure_9(_seed: u64) -> Result<Exhibit> {
    let axes = Picture::new(
        "",
        Axis::linear("share of the visits that the slow page gets"),
        Axis::linear("freshness, over that of equal visits"),
    );
    let normalized = |total: f64| move |x: f64| two_pages(total, x) / two_pages(total, 0.5);
    let totals = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
    let picture = totals.into_iter().fold(axes, |picture, total| {
        picture.with(format!("{total} visits a day"), Mark::Line, curve(0.0, 1.0, 200, normalized(total)))
    });
    let picture = picture.with(
        "in proportion to the changes",
        Mark::Dots,
        totals.iter().map(|total| (0.1, normalized(*total)(0.1))).collect(),
    );
    let best = |total: f64| peak(&curve(0.0, 1.0, 10_000, normalized(total))).0;
    let worst = totals.iter().map(|total| normalized(*total)(0.1)).fold(0.0, f64::max);
    Ok(Exhibit::new(
        Paper::Cgm99,
        "Figure 9",
        "Two pages that change nine times and once a day: freshness against the share of the visits that the slow page \
         gets, for several numbers of visits. A half is uniform, a tenth proportional.",
    )
    .with_picture(picture)
    .with_figures([
        Figure::new("best share with few visits (one in two days)", "", best(0.5)).beside(Printed::new(1.0, 2)),
        Figure::new("best share with few visits (1 a day)", "", best(1.0)).beside(Printed::new(1.0, 2)),
        Figure::new("best share with many visits (10 a day)", "", best(10.0)).beside(Printed::new(0.3, 1)),
        Figure::new("proportional over uniform freshness, at most", "", worst).beside(Printed::below(1.0, 0)),
    ])
    .with_remark("The text does not say how many visits each graph stands for; these are ours."))
}
