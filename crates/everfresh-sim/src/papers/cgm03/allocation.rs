//! Sections 5 and 6: how visits are shared out.

use everfresh::once_per_interval::{benefit, best_split};
use everfresh::{Objective, Order, Page, Plan, Price, Rate, Result, Terms, Unit};

use crate::papers::{Axis, Exhibit, Figure, Mark, Paper, Picture, Printed, curve, peak};

const DAY: f64 = Unit::Day.seconds();

/// The benefits that Table III prints: visits to the page that changes nine times a day and to the one that changes once,
/// and the fraction of a day that these keep the copies fresh.
const BENEFITS: [(u32, u32, u32, u32); 10] = [
    (1, 0, 1, 36),
    (0, 1, 9, 36),
    (2, 0, 2, 36),
    (1, 1, 10, 36),
    (0, 2, 12, 36),
    (3, 2, 30, 72),
    (2, 3, 31, 72),
    (9, 1, 36, 72),
    (7, 3, 41, 72),
    (5, 5, 40, 72),
];

/// Table III: two pages that change exactly nine times and once a day.
pub(in crate::papers) fn table_iii(_seed: u64) -> Result<Exhibit> {
    let mut figures = Vec::new();
    for (f1, f2, numerator, denominator) in BENEFITS {
        let ours = benefit(9, f1)? + benefit(1, f2)?;
        let row = format!("visits ({f1}, {f2})");
        figures.push(Figure::new(row, "benefit", ours).beside(Printed::fraction(numerator, denominator)));
    }
    for (visits, fast) in [(1, 0), (2, 0), (5, 2), (10, 7)] {
        let best = best_split(&[9, 1], visits)?;
        let row = format!("of {visits} visits the best for the fast page");
        figures.push(Figure::new(row, "", f64::from(best[0])).beside(Printed::new(f64::from(fast), 0)));
    }
    let caption = "One page changes nine times a day, one once: the share of a day that visits (first, second) keep the \
                   copies fresh. In proportion, (9, 1), is worse than evenly, (5, 5).";
    Ok(Exhibit::new(Paper::Cgm03, "Table III", caption).with_figures(figures))
}

/// Pages by rate per day and weight, and the visits a day for all of them.
struct Example {
    pages: Vec<(f64, f64)>,
    budget: f64,
}

/// Example 5.4.
fn five() -> Example {
    Example { pages: [1.0, 2.0, 3.0, 4.0, 5.0].map(|rate| (rate, 1.0)).into(), budget: 5.0 }
}

/// Example 6.2.
fn six() -> Example {
    Example { pages: vec![(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (1.0, 2.0), (2.0, 2.0), (3.0, 2.0)], budget: 6.0 }
}

impl Example {
    fn plan(&self, objective: Objective) -> Result<Plan> {
        let page = |&(rate, weight): &(f64, f64)| Page::new(Rate::per(rate, Unit::Day)?).with_weight(weight);
        let pages = self.pages.iter().map(page).collect::<Result<Vec<_>>>()?;
        Plan::new(&pages, Terms { objective, ..Terms::new(Price::for_budget(self.budget, Unit::Day)?) })
    }

    /// The price in days (days squared for age).
    fn price(&self, objective: Objective) -> Result<f64> {
        Ok(self.plan(objective)?.price().unwrap_or_default() / DAY.powi(objective.time_power()))
    }

    /// The figures of one row of a table.
    fn row(&self, names: &[&str], objective: Objective, printed: &[f64]) -> Result<Vec<Figure>> {
        let row = format!("best for {}", word(objective));
        let plan = self.plan(objective)?;
        let each = plan.entries().iter().zip(names).zip(printed);
        Ok(each
            .map(|((entry, name), printed)| {
                Figure::new(&row, *name, entry.frequency.per_day()).beside(Printed::new(*printed, 2))
            })
            .collect())
    }
}

fn word(objective: Objective) -> &'static str {
    match objective {
        Objective::Freshness => "freshness",
        Objective::Age => "age",
        Objective::Harmonic => "harmonic",
    }
}

/// The law: visits a day for a page of `rate` a day at a price (over the weight) in days or days squared.
fn frequency(objective: Objective, price: f64, rate: f64) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    rate / Order::Fixed.ratio_at_utility(objective, price * rate.powi(objective.time_power()))
}

/// Table IV: five pages that change one to five times a day, five visits a day.
pub(in crate::papers) fn table_iv(_seed: u64) -> Result<Exhibit> {
    let names = ["e1", "e2", "e3", "e4", "e5"];
    let caption = "Visits a day to five pages that change one to five times a day, five visits in all. For freshness the \
                   page that changes most is given up; for age all are treated almost alike.";
    Ok(Exhibit::new(Paper::Cgm03, "Table IV", caption)
        .with_figures(five().row(&names, Objective::Freshness, &[1.15, 1.36, 1.35, 1.14, 0.00])?)
        .with_figures(five().row(&names, Objective::Age, &[0.84, 0.97, 1.03, 1.07, 1.09])?))
}

/// The curve of an example's law for one weight, with the example's pages of that weight on it.
fn with_curve(picture: Picture, example: &Example, objective: Objective, weight: f64, end: f64) -> Result<Picture> {
    let price = example.price(objective)? / weight;
    let plan = example.plan(objective)?;
    let dots = example.pages.iter().zip(plan.entries()).filter(|(page, _)| page.1 == weight);
    let dots = dots.map(|(page, entry)| (page.0, entry.frequency.per_day())).collect();
    let name = format!("pages of weight {weight}");
    Ok(picture
        .with(
            format!("the law for weight {weight}"),
            Mark::Line,
            curve(0.0, end, 400, |rate| frequency(objective, price, rate)),
        )
        .with(name, Mark::Dots, dots))
}

fn law_picture(title: &'static str) -> Picture {
    Picture::new(title, Axis::linear("changes a day"), Axis::linear("visits a day"))
}

/// Figure 11: Table IV on the law.
pub(super) fn figure_11(_seed: u64) -> Result<Exhibit> {
    let price = five().price(Objective::Freshness)?;
    let top = peak(&curve(0.0, 6.0, 6000, |rate| frequency(Objective::Freshness, price, rate)));
    Ok(Exhibit::new(
        Paper::Cgm03,
        "Figure 11",
        "The best visits a day against the changes a day, for the pages of Table IV.",
    )
    .with_picture(with_curve(law_picture("(a) for freshness"), &five(), Objective::Freshness, 1.0, 6.0)?)
    .with_picture(with_curve(law_picture("(b) for age"), &five(), Objective::Age, 1.0, 6.0)?)
    .with_figures([
        Figure::new("changes a day beyond which visits become fewer", "", top.0).beside(Printed::new(2.5, 1))
    ]))
}

/// Figure 12: the law at two prices.
pub(super) fn figure_12(_seed: u64) -> Result<Exhibit> {
    let law = |price: f64| curve(0.0, 1.0, 20_000, move |rate| frequency(Objective::Freshness, price, rate));
    let mut figures = Vec::new();
    for price in [1.0, 2.0] {
        let (rate, visits) = peak(&law(price));
        // The rate from which a page is given up: no visit gains the price.
        let given_up = law(price).into_iter().find(|(rate, visits)| *rate > 0.0 && *visits == 0.0);
        let given_up = given_up.map_or(f64::NAN, |(rate, _)| rate);
        let figure = |column, ours, printed| Figure::new(format!("mu = {price}"), column, ours).beside(printed);
        figures.extend([
            figure("mu x rate at the peak", price * rate, Printed::new(0.53, 2)),
            figure("mu x visits there", price * visits, Printed::new(0.3, 1)),
            figure("mu x rate that is given up", price * given_up, Printed::new(1.0, 0)),
        ]);
    }
    let picture = Picture::new("", Axis::linear("changes per time"), Axis::linear("visits per time"))
        .with("mu = 1", Mark::Line, curve(0.0, 1.1, 440, |rate| frequency(Objective::Freshness, 1.0, rate)))
        .with("mu = 2", Mark::Line, curve(0.0, 1.1, 440, |rate| frequency(Objective::Freshness, 2.0, rate)));
    Ok(Exhibit::new(Paper::Cgm03, "Figure 12", "The law at the prices mu = 1 and 2: the same curve, half as large.")
        .with_figures(figures)
        .with_picture(picture))
}

/// Table V: three pages of weight 1 and three of weight 2, six visits a day.
pub(super) fn table_v(_seed: u64) -> Result<Exhibit> {
    let names = ["e11", "e12", "e13", "e21", "e22", "e23"];
    let caption = "Visits a day to pages that change one, two and three times a day, the first three of weight 1, the \
                   others of weight 2, six visits in all. Twice the weight is not twice the visits.";
    Ok(Exhibit::new(Paper::Cgm03, "Table V", caption)
        .with_figures(six().row(&names, Objective::Freshness, &[0.78, 0.76, 0.00, 1.28, 1.56, 1.62])?)
        .with_figures(six().row(&names, Objective::Age, &[0.76, 0.88, 0.94, 0.99, 1.17, 1.26])?))
}

/// Figure 13: Table V on the law, and theorems 6.3 and 6.4.
pub(super) fn figure_13(_seed: u64) -> Result<Exhibit> {
    let mut exhibit = Exhibit::new(
        Paper::Cgm03,
        "Figure 13",
        "The best visits a day against the changes a day, for the pages of Table V.",
    );
    for (objective, title) in [(Objective::Freshness, "(a) for freshness"), (Objective::Age, "(b) for age")] {
        let inner = with_curve(law_picture(title), &six(), objective, 1.0, 4.0)?;
        exhibit = exhibit.with_picture(with_curve(inner, &six(), objective, 2.0, 4.0)?);
    }
    // How much larger the curve of weight 2 is: a point of the inner curve, moved outwards from the origin, lies on it.
    let larger = |objective: Objective, factor: f64| -> Result<f64> {
        let price = six().price(objective)?;
        Ok(frequency(objective, price / 2.0, factor * 1.3) / frequency(objective, price, 1.3))
    };
    Ok(exhibit.with_figures([
        Figure::new("how much larger the curve of weight 2 is, for freshness", "", larger(Objective::Freshness, 2.0)?)
            .beside(Printed::formula(2.0)),
        Figure::new("the same for age", "", larger(Objective::Age, std::f64::consts::SQRT_2)?)
            .beside(Printed::formula(std::f64::consts::SQRT_2)),
    ]))
}
