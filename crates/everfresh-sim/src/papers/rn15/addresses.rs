//! Sections 4 and 5: addresses of people of four ages.

use everfresh::curve::{DivergenceCurve, Exponential, Linear};
use everfresh::income::{Asset, Population};
use everfresh::{Period, Rate, Result, Unit};

use crate::papers::{Axis, Exhibit, Figure, Mark, Paper, Picture, Printed, curve};

const YEAR: f64 = Unit::Year.seconds();

/// What Table 1 prints of people of one age.
struct Group {
    age: u32,
    moved_percent: f64,
    linear_rate: f64,
    exponential_rate: f64,
    half_life: f64,
}

const GROUPS: [Group; 4] = [
    Group { age: 25, moved_percent: 36.7, linear_rate: 0.37, exponential_rate: 0.457, half_life: 1.52 },
    Group { age: 30, moved_percent: 27.1, linear_rate: 0.27, exponential_rate: 0.316, half_life: 2.19 },
    Group { age: 40, moved_percent: 15.0, linear_rate: 0.15, exponential_rate: 0.163, half_life: 4.25 },
    Group { age: 50, moved_percent: 9.3, linear_rate: 0.09, exponential_rate: 0.098, half_life: 7.07 },
];

impl Group {
    fn name(&self) -> String {
        format!("age {}", self.age)
    }

    /// Addresses as the paper takes them: decaying exponentially at the printed rate.
    fn decay(&self) -> Result<Exponential> {
        Ok(Exponential::new(Rate::per(self.exponential_rate, Unit::Year)?))
    }

    /// With a benefit of 1 a year and a cost of 1 a visit.
    fn asset(&self) -> Result<Asset<Exponential>> {
        Asset::new(self.decay()?, 1.0, Unit::Year, 1.0)
    }
}

fn years(length: f64) -> Result<Period> {
    Period::of(length, Unit::Year)
}

/// Figure 3: how many people move, by age.
pub(super) fn figure_3(_seed: u64) -> Result<Exhibit> {
    let mut figures = Vec::new();
    let mut points = Vec::new();
    for group in &GROUPS {
        let moved = 100.0 * group.decay()?.divergence(years(1.0)?);
        points.push((f64::from(group.age), moved));
        figures.push(
            Figure::new(group.name(), "% that move within a year", moved).beside(Printed::new(group.moved_percent, 1)),
        );
    }
    Ok(Exhibit::new(Paper::Rn15, "Figure 3", "The share of people that move within a year, by age.")
        .with_figures(figures)
        .with_picture(
            Picture::new("", Axis::linear("age, years").from_to(20.0, 55.0), Axis::linear("% that move within a year").from_to(0.0, 40.0))
                .with("the four ages of Table 1", Mark::Dots, points.clone())
                .with("joined", Mark::Dashed, points),
        )
        .with_remark("The paper draws every age from census records; here are the four whose numbers it prints, from their printed rates."))
}

/// Table 1: from the share that moves to rates and half-lives.
pub(super) fn table_1(_seed: u64) -> Result<Exhibit> {
    let mut figures = Vec::new();
    for group in &GROUPS {
        let moved = group.moved_percent / 100.0;
        let half_life = std::f64::consts::LN_2 / group.exponential_rate;
        let figure = |column, ours, printed| Figure::new(group.name(), column, ours).beside(printed);
        figures.extend([
            figure("linear rate", moved, Printed::new(group.linear_rate, 2)),
            figure("exponential rate", -(-moved).ln_1p(), Printed::new(group.exponential_rate, 3)),
            figure("half-life, years", half_life, Printed::new(group.half_life, 2)),
        ]);
    }
    Ok(Exhibit::new(Paper::Rn15, "Table 1", "Rates of decay, per year, from the share of people that moved within a year.")
        .with_figures(figures)
        .with_remark("The paper takes the half-lives from the rounded rates, and so do we; with all digits the last two are 4.27 and 7.10."))
}

const PERIODS: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 5.0, 10.0];
const CORRECT_PERCENT: [[f64; 6]; 4] = [
    [94.0, 89.0, 80.0, 66.0, 39.0, 22.0],
    [96.0, 93.0, 86.0, 74.0, 50.0, 30.0],
    [98.0, 96.0, 92.0, 85.0, 68.0, 49.0],
    [99.0, 98.0, 95.0, 91.0, 79.0, 64.0],
];

/// Table 2: mean correctness by age and period.
pub(super) fn table_2(_seed: u64) -> Result<Exhibit> {
    let mut figures = Vec::new();
    for (group, printed) in GROUPS.iter().zip(CORRECT_PERCENT) {
        for (period, percent) in PERIODS.into_iter().zip(printed) {
            let ours = 100.0 * group.decay()?.mean_freshness(years(period)?);
            figures.push(
                Figure::new(group.name(), format!("every {period} years"), ours).beside(Printed::new(percent, 0)),
            );
        }
    }
    Ok(Exhibit::new(Paper::Rn15, "Table 2", "How many % of addresses are right, by age and time between visits.")
        .with_figures(figures))
}

/// Figure 5: net income against the period.
pub(super) fn figure_5(_seed: u64) -> Result<Exhibit> {
    let mut picture =
        Picture::new("", Axis::linear("years between visits"), Axis::linear("net income a year").from_to(-0.4, 0.7));
    let mut best = Vec::new();
    let mut figures = Vec::new();
    for (group, about) in GROUPS.iter().zip([Some((3.0, 0.2)), None, None, Some((5.0, 0.6))]) {
        let asset = group.asset()?;
        let income = |t: f64| years(t).map_or(f64::NAN, |period| asset.net_income_per_second(period) * YEAR);
        picture = picture.with(group.name(), Mark::Line, curve(0.75, 15.0, 200, income));
        let optimum = asset.optimum();
        let at = (optimum.period.seconds() / YEAR, optimum.net_income_per_second * YEAR);
        best.push(at);
        if let Some((period, income)) = about {
            figures.push(Figure::new(group.name(), "best period, years", at.0).beside(Printed::new(period, 0)));
            figures.push(Figure::new(group.name(), "income there", at.1).beside(Printed::new(income, 1)));
        }
    }
    Ok(Exhibit::new(
        Paper::Rn15,
        "Figure 5",
        "Net income a year from an address, against the time between visits; a right address earns 1 a year, a visit \
         costs 1.",
    )
    .with_picture(picture.with("best", Mark::Dots, best))
    .with_figures(figures))
}

/// Example 3 and 4: the optima, and what is futile.
pub(super) fn example_3(_seed: u64) -> Result<Exhibit> {
    let mut figures = Vec::new();
    for (group, (period, income)) in GROUPS.iter().zip([(3.38, 0.21), (3.61, 0.32), (4.42, 0.49), (5.36, 0.59)]) {
        let best = group.asset()?.optimum();
        figures.extend([
            Figure::new(group.name(), "best period, years", best.period.seconds() / YEAR)
                .beside(Printed::new(period, 2)),
            Figure::new(group.name(), "net income a year", best.net_income_per_second * YEAR)
                .beside(Printed::new(income, 2)),
        ]);
    }
    let population = Population::new(GROUPS.iter().map(Group::asset).collect::<Result<Vec<_>>>()?)?;
    let mean = |income: f64| income * YEAR / 4.0;
    let best = mean(population.optimum().net_income_per_second);
    let uniform_years = 4.0 / (population.optimum().visits.per_second() * YEAR);
    let uniform = mean(population.at_frequency(years(uniform_years)?.frequency()).net_income_per_second);
    let claim = |what, ours, value, places| Figure::new(what, "", ours).beside(Printed::new(value, places));
    let one = Rate::per(1.0, Unit::Year)?;
    Ok(Exhibit::new(
        Paper::Rn15,
        "Example 3",
        "The best time between visits to addresses of people of four ages, and the income it gives; with it example 4: \
         the rates from which no visit pays.",
    )
    .with_figures(figures)
    .with_figures([
        claim("years between visits if all are visited alike", uniform_years, 4.06, 2),
        claim("mean income then", uniform, 0.3973, 4),
        claim("mean income at the optima", best, 0.4026, 4),
        claim("% gained", 100.0 * (best / uniform - 1.0), 1.3, 1),
        claim("linear rate a year from which no visit pays", Linear::new(one).ceiling() / YEAR, 0.5, 1),
        claim("exponential rate a year from which no visit pays", Exponential::new(one).ceiling() / YEAR, 1.0, 0),
        claim(
            "half-life in years at that rate",
            std::f64::consts::LN_2 * Exponential::new(one).ceiling() / YEAR,
            0.69,
            2,
        ),
    ]))
}
