//! Sections 5 and 6: web sites, and a search engine.

use everfresh::curve::Exponential;
use everfresh::income::{Asset, Population, explaining_benefit};
use everfresh::{Frequency, Period, Rate, Result, Unit};

use crate::papers::{Axis, Exhibit, Figure, Mark, Paper, Picture, Printed, log_curve};

const SITES: f64 = 270.0;
const CLASSES: [(f64, f64); 5] = [(1.0, 0.23), (7.0, 0.15), (30.0, 0.16), (120.0, 0.16), (365.0, 0.30)];

const HALF_LIVES: &str = "the intervals between changes (1, 7, 30, 120, 365 days) are called means, but the numbers come \
                          out only if they are read as half-lives";

/// The 270 sites at a ratio of the benefit a day to the cost of a visit.
fn sites(benefit_cost_ratio: f64) -> Result<Population<Exponential>> {
    let class = |(days, share): (f64, f64)| {
        let rate = Rate::from_half_life(Period::of(days, Unit::Day)?)?;
        // A class of n sites earns n times as much and costs n times as much to visit.
        let n = SITES * share;
        Asset::new(Exponential::new(rate), benefit_cost_ratio * n, Unit::Day, n)
    };
    Population::new(CLASSES.into_iter().map(class).collect::<Result<Vec<_>>>()?)
}

/// The best visits in a month of thirty days, and the share of the income that is lost with 270 instead.
fn best_visits_and_loss(benefit_cost_ratio: f64) -> Result<(f64, f64)> {
    let population = sites(benefit_cost_ratio)?;
    // With a cost of 1 per site the spending counts the visits.
    let visits = population.optimum().spending_per_second * Unit::Month.seconds();
    Ok((visits, population.loss_on_budget(SITES, Unit::Month)?.unwrap_or_default()))
}

/// The table of section 5.
pub(super) fn section_5(_seed: u64) -> Result<Exhibit> {
    let mut figures = Vec::new();
    for (ratio, printed_visits, printed_loss) in [
        (0.1, 60.0, Some(18.5)),
        (0.3, 242.0, Some(0.1)),
        (0.355, 270.0, None),
        (0.5, 333.0, Some(0.5)),
        (1.0, 1033.0, Some(6.0)),
        (10.0, 4710.0, Some(25.8)),
        (100.0, 15_882.0, Some(31.8)),
    ] {
        let (visits, loss) = best_visits_and_loss(ratio)?;
        let row = format!("B/C = {ratio}");
        let visits = Figure::new(&row, "best visits a month", visits).beside(Printed::new(printed_visits, 0));
        let loss = Figure::new(&row, "% lost with 270", 100.0 * loss);
        let loss = match printed_loss {
            Some(percent) => loss.beside(Printed::new(percent, 1)),
            None => loss,
        };
        let first = |figure: Figure| {
            if ratio == 0.1 {
                figure.slip("the first row of the web-page table (60 visits, 18.5 %) comes out neither with means nor with half-lives")
            } else {
                figure
            }
        };
        figures.extend([first(visits), first(loss)]);
    }
    let visits = |ratio: f64| best_visits_and_loss(ratio).map_or(f64::NAN, |(visits, _)| visits);
    let picture = Picture::new("", Axis::log("benefit a day over cost of a visit"), Axis::log("best visits a month"))
        .with("best visits", Mark::Line, log_curve(0.05, 200.0, 150, visits))
        .with("one per site", Mark::Dashed, vec![(0.05, SITES), (200.0, SITES)]);
    Ok(Exhibit::new(
        Paper::Rn15,
        "Section 5",
        "270 web sites in the five classes of CGM03: how many visits a month are best, and how much income is lost by \
         making 270 instead, for several ratios of the benefit a day to the cost of a visit.",
    )
    .with_figures(figures)
    .with_picture(picture)
    .with_slip(HALF_LIVES))
}

/// The benefit a day in costs of a visit that explains 75 visits a day.
fn explained(half_life_days: f64) -> Result<f64> {
    let rate = Rate::from_half_life(Period::of(half_life_days, Unit::Day)?)?;
    Ok(explaining_benefit(&Exponential::new(rate), Frequency::per(75.0, Unit::Day)?)? * Unit::Day.seconds())
}

/// The example of section 6.
pub(super) fn section_6(_seed: u64) -> Result<Exhibit> {
    let cost_cents = 0.0002;
    let (once, twice) = (explained(1.0)?, explained(0.5)?);
    Ok(Exhibit::new(
        Paper::Rn15,
        "Section 6",
        "A page that changes daily is visited 75 times a day by a search engine, at 0.0002 cents a visit: what must a right \
         copy be worth?",
    )
    .with_figures([
        Figure::new("benefit a day over cost of a visit", "", once).beside(Printed::new(16_000.0, -3)),
        Figure::new("cents a day", "", once * cost_cents).beside(Printed::new(3.2, 1)),
        Figure::new("cents a day if it changes twice a day", "", twice * cost_cents).beside(Printed::new(1.6, 1)),
    ])
    .with_slip(HALF_LIVES))
}
