//! Sections 1 and 4: two pages that decay linearly, and what decay is.

use everfresh::curve::{DivergenceCurve, Exponential, Linear};
use everfresh::income::Asset;
use everfresh::{Period, Rate, Result, Unit};

use crate::papers::{Axis, Exhibit, Figure, Mark, Paper, Picture, Printed, curve};

const DAY: f64 = Unit::Day.seconds();

fn days(length: f64) -> Period {
    Period::of(length, Unit::Day).unwrap_or(Period::ZERO)
}

/// A page that is outdated within so many days, linearly.
fn within(lifetime_days: f64) -> Result<Linear> {
    Ok(Linear::new(Rate::per(1.0 / lifetime_days, Unit::Day)?))
}

/// What a page earns in ten days, visited every so many, at a benefit of 1 a day and a cost of 1.
fn income_in_ten_days(curve: Linear, period_days: f64) -> Result<f64> {
    let asset = Asset::new(curve, 1.0, Unit::Day, 1.0)?;
    Ok(asset.net_income_per_second(days(period_days)) * 10.0 * DAY)
}

/// What section 1 prints of one page: period, visits in ten days, correctness, income.
struct Best {
    name: &'static str,
    lifetime_days: f64,
    printed: [f64; 4],
}

const BEST: [Best; 2] = [
    Best { name: "page A, best", lifetime_days: 10.0, printed: [4.5, 2.2, 0.78, 5.6] },
    Best { name: "page B, best", lifetime_days: 20.0, printed: [6.3, 1.6, 0.83, 6.8] },
];

fn best_figures(best: &Best) -> Result<Vec<Figure>> {
    let curve = within(best.lifetime_days)?;
    let optimum = Asset::new(curve, 1.0, Unit::Day, 1.0)?.optimum();
    let period = optimum.period.days();
    let [every, visits, correct, income] = best.printed;
    let figure = |column, ours, printed| Figure::new(best.name, column, ours).beside(printed);
    let correctness = figure("correctness", optimum.freshness, Printed::new(correct, 2));
    Ok(vec![
        figure("period, days", period, Printed::new(every, 1)),
        figure("visits in 10 days", 10.0 / period, Printed::new(visits, 1)),
        if best.lifetime_days == 20.0 {
            correctness.slip("page B is right 0.84 of the time: with 0.83 its income would be 6.7, not the printed 6.8")
        } else {
            correctness
        },
        figure("income in 10 days", income_in_ten_days(curve, period)?, Printed::new(income, 1)),
    ])
}

/// Section 1: short-term and long-term optimum of two pages.
pub(super) fn section_1(_seed: u64) -> Result<Exhibit> {
    let (a, b) = (within(10.0)?, within(20.0)?);
    let right = |curve: &Linear, period: f64| curve.mean_freshness(days(period));
    let best_income = |curve: Linear| -> Result<f64> {
        income_in_ten_days(curve, Asset::new(curve, 1.0, Unit::Day, 1.0)?.optimum().period.days())
    };
    let (before, after) =
        (income_in_ten_days(a, 5.0)? + income_in_ten_days(b, 10.0)?, best_income(a)? + best_income(b)?);
    let claim = |what, ours, value, places| Figure::new(what, "", ours).beside(Printed::new(value, places));
    let mut exhibit = Exhibit::new(
        Paper::Rn15,
        "Section 1",
        "Page A is outdated within 10 days, page B within 20, linearly; a right copy earns 1 a day, a visit costs 1.",
    );
    for best in &BEST {
        exhibit = exhibit.with_figures(best_figures(best)?);
    }
    Ok(exhibit
        .with_figures([
            claim(
                "correctness with A every 5 days, B every 10",
                f64::midpoint(right(&a, 5.0), right(&b, 10.0)),
                0.75,
                2,
            ),
            claim("correctness the other way round", f64::midpoint(right(&a, 10.0), right(&b, 5.0)), 0.6875, 4),
            claim("A visited 3 times in 10 days: correctness", right(&a, 10.0 / 3.0), 0.83, 2),
            claim("A visited 3 times in 10 days: income", income_in_ten_days(a, 10.0 / 3.0)?, 5.3, 1),
            claim("A visited 2 times in 10 days: income", income_in_ten_days(a, 5.0)?, 5.5, 1),
            claim("B visited once in 10 days: income", income_in_ten_days(b, 10.0)?, 6.5, 1),
            claim("income of both with 3 visits in 10 days", before, 12.0, 0),
            claim("income of both at their best", after, 12.4, 1),
            claim("% gained", 100.0 * (after / before - 1.0), 3.3, 1),
        ])
        .with_remark("3.3 % is 12.4 over 12, both rounded; with all digits it is 3.0 %. So is 5.6 = 7.8 - 2.2.")
        .with_slip("U is called a frequency, but is the period between two visits"))
}

/// Figure 1: the two pages in time.
pub(super) fn figure_1(_seed: u64) -> Result<Exhibit> {
    let (a, b) = (within(10.0)?, within(20.0)?);
    let right = |curve: Linear, period: f64| move |t: f64| 1.0 - curve.divergence(days(t % period));
    let axes = |title| {
        Picture::new(title, Axis::linear("days"), Axis::linear("probability that the copy is right").from_to(0.0, 1.0))
    };
    Ok(Exhibit::new(Paper::Rn15, "Figure 1", "Linear decay of pages A and B, without visits and with.")
        .with_picture(axes("without visits").with("A", Mark::Line, curve(0.0, 22.0, 220, right(a, 1e6))).with(
            "B",
            Mark::Line,
            curve(0.0, 22.0, 220, right(b, 1e6)),
        ))
        .with_picture(
            axes("A every 5 days, B every 10").with("A", Mark::Line, curve(0.0, 22.0, 2200, right(a, 5.0))).with(
                "B",
                Mark::Line,
                curve(0.0, 22.0, 2200, right(b, 10.0)),
            ),
        )
        .with_figures([
            Figure::new("A after 5 days", "", right(a, 1e6)(5.0)).beside(Printed::new(0.5, 2)),
            Figure::new("B after 5 days", "", right(b, 1e6)(5.0)).beside(Printed::new(0.75, 2)),
            Figure::new("A after 8 days", "", right(a, 1e6)(8.0)).beside(Printed::new(0.2, 2)),
            Figure::new("B after 8 days", "", right(b, 1e6)(8.0)).beside(Printed::new(0.6, 2)),
        ]))
}

/// Figure 2: exponential decay.
pub(super) fn figure_2(_seed: u64) -> Result<Exhibit> {
    let stale = Exponential::new(Rate::per(1.0, Unit::Day)?);
    let right = |t: f64| 1.0 - stale.divergence(days(t));
    let half_life = std::f64::consts::LN_2;
    Ok(Exhibit::new(Paper::Rn15, "Figure 2", "The probability that a copy is still right, under exponential decay.")
        .with_picture(
            Picture::new(
                "",
                Axis::linear("mean lifetimes"),
                Axis::linear("probability that it is right").from_to(0.0, 1.0),
            )
            .with("exponential decay", Mark::Line, curve(0.0, 5.0, 200, right))
            .with("half-life", Mark::Dots, vec![(half_life, right(half_life))]),
        )
        .with_figures([Figure::new("at the half-life", "", right(half_life)).beside(Printed::new(0.5, 1))]))
}

/// Figure 4: mean correctness as an area.
pub(super) fn figure_4(_seed: u64) -> Result<Exhibit> {
    let rate = 0.457;
    let stale = Exponential::new(Rate::per(rate, Unit::Day)?);
    let right = |t: f64| 1.0 - stale.divergence(days(t));
    let period = 2.0;
    let mean = stale.mean_freshness(days(period));
    let mut area = curve(0.0, period, 100, right);
    area.extend([(period, 0.0), (0.0, 0.0)]);
    // Equation 2 as it is printed.
    let r: f64 = rate * period;
    let printed = (r.exp() - 1.0) / (r * r.exp());
    Ok(Exhibit::new(
        Paper::Rn15,
        "Figure 4",
        "The mean correctness of a copy visited every two units of time: the area under the decay up to the visit, over \
         the time.",
    )
    .with_picture(
        Picture::new("", Axis::linear("time"), Axis::linear("probability that it is right").from_to(0.0, 1.0))
            .with("area up to the visit", Mark::Area, area)
            .with("decay", Mark::Line, curve(0.0, 5.0, 200, right))
            .with("mean correctness", Mark::Dashed, vec![(0.0, mean), (period, mean)]),
    )
    .with_figures([
        Figure::new("rate 0.457, visited every 2", "mean correctness", mean).beside(Printed::formula(printed)),
        Figure::new("linear decay at rate 0.2, visited every 2", "mean correctness", within(5.0)?.mean_freshness(days(2.0)))
            .beside(Printed::formula(1.0 - 0.2 * 2.0 / 2.0)),
    ])
    .with_remark("The paper draws the area; the numbers are its equations 1 and 2, evaluated as they stand.")
    .with_slip("equations 1 and 4 hold for U <= 1/lambda, not for the printed U <= lambda"))
}
