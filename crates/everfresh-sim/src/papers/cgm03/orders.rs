//! Sections 2, 4 and 7.3: freshness and age in time, and what the order of visits does to them.

use everfresh::curve::{Age, DivergenceCurve, Exponential};
use everfresh::{Order, Period, Rate, Result, Unit};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::papers::path::{freshness_and_age, mean_and_error, poisson, visits};
use crate::papers::recording::{Lived, Recording};
use crate::papers::{Axis, Exhibit, Figure, Mark, Paper, Picture, Printed, curve, log_curve, random};

const ORDERS: [(Order, &str); 3] =
    [(Order::Fixed, "fixed order"), (Order::Random, "random order"), (Order::PurelyRandom, "purely random")];

fn days(length: f64) -> Result<Period> {
    Period::of(length, Unit::Day)
}

/// Figure 1: freshness and age of one copy, as it happens.
pub(super) fn figure_1(seed: u64) -> Result<Exhibit> {
    let (period, end) = (6.0, 30.0);
    let changes = poisson(0.25, end, &mut random(seed, 1));
    let stale_from = |t: f64| {
        let visit = (t / period).floor() * period;
        changes.iter().copied().find(|change| *change > visit && *change <= t)
    };
    let freshness = |t: f64| if stale_from(t).is_some() { 0.0 } else { 1.0 };
    let age = |t: f64| stale_from(t).map_or(0.0, |change| t - change);
    let strokes = |times: &[f64], top: f64| times.iter().flat_map(|t| [(*t, 0.0), (*t, top)]).collect::<Vec<_>>();
    let visits: Vec<f64> = (1..5).map(|i| f64::from(i) * period).collect();
    let picture = |title, words, top, value: &dyn Fn(f64) -> f64| {
        Picture::new(title, Axis::linear("days"), Axis::linear(words).from_to(0.0, top))
            .with(words, Mark::Line, curve(0.0, end, 3000, value))
            .with("the source changes", Mark::Strokes, strokes(&changes, top / 4.0))
            .with("a visit", Mark::Strokes, strokes(&visits, top))
    };
    let caption = "Freshness and age of one copy: it is fresh until the source changes, then grows older until the next \
                   visit; later changes before that visit make no difference.";
    Ok(Exhibit::new(Paper::Cgm03, "Figure 1", caption)
        .with_picture(picture("(a) freshness", "freshness", 1.1, &freshness))
        .with_picture(picture("(b) age", "age, days", period, &age))
        .with_remark(format!("One page of ours that changes every four days (seed {seed}), visited every six.")))
}

/// Figure 2: the expected freshness and age between two visits.
pub(super) fn figure_2(_seed: u64) -> Result<Exhibit> {
    let rate = Rate::per(1.0, Unit::Day)?;
    let (stale, age) = (Exponential::new(rate), Age::new(rate));
    let since = |t: f64| days(t % 2.0).unwrap_or(Period::ZERO);
    let axis = || Axis::linear("days");
    let one = days(1.0)?;
    Ok(Exhibit::new(
        Paper::Cgm03,
        "Figure 2",
        "Expected freshness and age of a page that changes once a day, visited after two.",
    )
    .with_picture(Picture::new("(a) freshness", axis(), Axis::linear("expected freshness").from_to(0.0, 1.0)).with(
        "freshness",
        Mark::Line,
        curve(0.0, 3.999, 800, |t| 1.0 - stale.divergence(since(t))),
    ))
    .with_picture(Picture::new("(b) age", axis(), Axis::linear("expected age, days").from_to(0.0, 1.5)).with(
        "age",
        Mark::Line,
        curve(0.0, 3.999, 800, |t| age.divergence(since(t)) / Unit::Day.seconds()),
    ))
    .with_figures([
        Figure::new("after one day", "freshness", 1.0 - stale.divergence(one)).beside(Printed::formula((-1f64).exp())),
        Figure::new("after one day", "age, days", age.divergence(one) / Unit::Day.seconds())
            .beside(Printed::formula(1.0 - (1.0 - (-1f64).exp()))),
    ])
    .with_remark("The paper draws the curves; the numbers are its formulas of section 2.2, evaluated as they stand."))
}

/// Figure 6: the expected freshness under fixed order.
pub(super) fn figure_6(_seed: u64) -> Result<Exhibit> {
    let stale = Exponential::new(Rate::per(1.0, Unit::Day)?);
    let expected = |t: f64| 1.0 - stale.divergence(days(t % 1.0).unwrap_or(Period::ZERO));
    let mean = stale.mean_freshness(days(1.0)?);
    Ok(Exhibit::new(
        Paper::Cgm03,
        "Figure 6",
        "Expected freshness of a page that changes as often as it is visited, in the same order each round.",
    )
    .with_picture(
        Picture::new("", Axis::linear("periods"), Axis::linear("expected freshness").from_to(0.0, 1.0))
            .with("expected freshness", Mark::Line, curve(0.0, 3.999, 1200, expected))
            .with("its mean in time", Mark::Dashed, vec![(0.0, mean), (4.0, mean)]),
    )
    .with_figures([Figure::new("mean in time", "freshness", mean).beside(Printed::new(0.63, 2))]))
}

/// The formulas of Table II as they are printed: freshness, and age in periods.
fn printed_formulas(order: Order, r: f64) -> (f64, f64) {
    let lost = 1.0 - (-r).exp();
    match order {
        Order::Fixed => (lost / r, 0.5 - 1.0 / r + lost / r.powi(2)),
        Order::Random => {
            ((1.0 - (lost / r).powi(2)) / r, 1.0 / 3.0 + (0.5 - 1.0 / r).powi(2) - (lost / r.powi(2)).powi(2))
        }
        Order::PurelyRandom => (1.0 / (1.0 + r), r / (1.0 + r)),
    }
}

/// Table II: the formulas, and what the text reads off them at r = 1.
pub(super) fn table_ii(_seed: u64) -> Result<Exhibit> {
    let mut figures = Vec::new();
    for (order, name) in ORDERS {
        for r in [0.1, 1.0, 10.0] {
            let (freshness, age) = printed_formulas(order, r);
            let figure = |column: String, ours| Figure::new(name, column, ours);
            figures.push(figure(format!("freshness, r = {r}"), order.freshness(r)).beside(Printed::formula(freshness)));
            figures.push(figure(format!("age/I, r = {r}"), order.age_in_periods(r)).beside(Printed::formula(age)));
        }
    }
    Ok(Exhibit::new(
        Paper::Cgm03,
        "Table II",
        "Freshness and age for r changes per visit, under three orders of visits; the printed column is the paper's \
         formula, evaluated as it stands.",
    )
    .with_figures(figures)
    .with_figures(readings()?))
}

/// What sections 4.4 and 7.3 read off the formulas.
fn readings() -> Result<Vec<Figure>> {
    let [fixed, random, purely] = ORDERS.map(|(order, _)| order.age_in_periods(1.0));
    let freshness = ORDERS.map(|(order, _)| order.freshness(1.0));
    let ratio = Order::Fixed.ratio_for_freshness(0.8)?;
    Ok(vec![
        Figure::new("freshness at r = 1, fixed order", "", freshness[0]).beside(Printed::new(0.63, 2)),
        Figure::new("by how many % that is above purely random", "", 100.0 * (freshness[0] / freshness[2] - 1.0))
            .beside(Printed::new(30.0, -1)),
        Figure::new("age at r = 1, fixed over random order", "", fixed / random)
            .beside(Printed::new(0.25, 2))
            .slip("a quarter is the age under fixed order against purely random order (0.132 to 0.5), not against random order (0.132 to 0.184)"),
        Figure::new("the same, fixed over purely random", "", fixed / purely),
        Figure::new("changes per visit that allow freshness 0.8", "", ratio).beside(Printed::new(0.46, 2)),
        Figure::new("visits per change that this takes", "", 1.0 / ratio).beside(Printed::new(2.0, 0)),
    ])
}

/// Figure 9: Table II as curves.
pub(super) fn figure_9(_seed: u64) -> Result<Exhibit> {
    let picture = |title, words, value: &dyn Fn(Order, f64) -> f64| {
        let axes = Picture::new(title, Axis::linear("changes per visit, r"), Axis::linear(words).from_to(0.0, 1.0));
        ORDERS.into_iter().fold(axes, |picture, (order, name)| {
            picture.with(name, Mark::Line, curve(0.0, 5.0, 200, |r| value(order, r)))
        })
    };
    Ok(Exhibit::new(Paper::Cgm03, "Figure 9", "Freshness and age (in periods) for r changes per visit.")
        .with_picture(picture("(a) freshness", "freshness", &Order::freshness))
        .with_picture(picture("(b) age", "age / period", &Order::age_in_periods))
        .with_figures([Figure::new("freshness at r = 1, fixed order", "", Order::Fixed.freshness(1.0))
            .beside(Printed::new(0.63, 2))]))
}

/// One dot of figure 15.
struct Dot {
    r: f64,
    freshness: f64,
    age_days: f64,
}

const CHANGE_INTERVAL: f64 = 14.0;
const PAGES: usize = 400;

/// Days between visits.
const PERIODS: [f64; 4] = [1.0, 7.0, 28.0, 56.0];

/// The means over pages that change every two weeks on average, of which each is given with its changes and its visits.
fn dot(period: f64, pages: impl Iterator<Item = (Vec<f64>, Vec<f64>)>) -> Dot {
    let pages: Vec<(f64, f64)> = pages.filter_map(|(changes, visits)| freshness_and_age(&changes, &visits)).collect();
    let mean = |values: Vec<f64>| mean_and_error(&values).0;
    Dot {
        r: period / CHANGE_INTERVAL,
        freshness: mean(pages.iter().map(|page| page.0).collect()),
        age_days: mean(pages.iter().map(|page| page.1).collect()),
    }
}

/// Pages that change every two weeks on average, visited for twenty years.
fn dots(order: Order, rng: &mut Xoshiro256PlusPlus) -> Vec<Dot> {
    let end = 20.0 * 365.0;
    let at = |period| {
        let page = |_| (poisson(CHANGE_INTERVAL.recip(), end, rng), visits(order, period, end, rng));
        dot(period, (0..PAGES).map(page))
    };
    PERIODS.map(at).into()
}

/// Figure 15: simulated visits on the curves of Table II.
pub(super) fn figure_15(seed: u64) -> Result<Exhibit> {
    let rng = &mut random(seed, 15);
    let caption = "Simulated visits every day, week, four and eight weeks (dots, and ours) on the curves of Table II (lines, and the paper).";
    Ok(on_the_curves("Figure 15", caption, |order| dots(order, rng)).with_remark(format!(
        "The paper's pages are not public. On our world: {PAGES} Poisson pages that change every 14 days, visited for 20 \
         years, integrated exactly (seed {seed})."
    )))
}

/// Figure 15 of a trace: its pages that change every two weeks, within a fifth. None where these are fewer than ten.
pub(super) fn traced_figure_15(trace: &Recording, seed: u64) -> Result<Option<Exhibit>> {
    let interval = |page: &Lived| f64::from(page.days) / page.changes.len() as f64;
    let chosen = trace.pages.iter().filter(|page| (interval(page) / CHANGE_INTERVAL - 1.0).abs() <= 0.2);
    let chosen: Vec<&Lived> = chosen.filter(|page| f64::from(page.days) > 3.0 * PERIODS[3]).collect();
    if chosen.len() < 10 {
        return Ok(None);
    }
    let rng = &mut random(seed, 115);
    let mut dots = |order| {
        let at = |period| {
            let page = |page: &&Lived| (page.changes.clone(), visits(order, period, f64::from(page.days), rng));
            dot(period, chosen.iter().map(page))
        };
        PERIODS.map(at).into()
    };
    let caption = "Visits every day, week, four and eight weeks to recorded pages (dots, and ours) beside the curves of Table II (lines, and \
                   the paper): what lies off them is due to changes that are no Poisson process.";
    let exhibit = on_the_curves(&format!("Figure 15 ({})", trace.name), caption, &mut dots);
    Ok(Some(exhibit.with_remark(format!(
        "The paper's pages are not public. On the trace {}: the {} pages that changed every 11 to 17 days on average; every change \
         makes a copy stale, also one back to what it was. Visits are placed by the seed {seed}.",
        trace.name,
        chosen.len()
    ))))
}

/// What visits under each order gave, on the curves.
fn on_the_curves(name: &str, caption: &str, mut dots: impl FnMut(Order) -> Vec<Dot>) -> Exhibit {
    let axis = || Axis::log("changes per visit, r");
    let mut freshness = Picture::new("(a) freshness", axis(), Axis::linear("freshness").from_to(0.0, 1.0));
    let mut age = Picture::new("(b) age", axis(), Axis::linear("age, days"));
    let mut figures = Vec::new();
    for (order, name) in ORDERS {
        let age_days = |r: f64| order.age_in_periods(r) * r * CHANGE_INTERVAL;
        let dots = dots(order);
        freshness = freshness.with(name, Mark::Line, log_curve(0.05, 5.0, 200, |r| order.freshness(r))).with(
            format!("{name}, visited"),
            Mark::Dots,
            dots.iter().map(|dot| (dot.r, dot.freshness)).collect(),
        );
        age = age.with(name, Mark::Line, log_curve(0.05, 5.0, 200, age_days)).with(
            format!("{name}, visited"),
            Mark::Dots,
            dots.iter().map(|dot| (dot.r, dot.age_days)).collect(),
        );
        for dot in dots {
            let column = |what| format!("{what}, r = {:.2}", dot.r);
            let figure =
                |what, ours, line| Figure::new(name, column(what), ours).beside(Printed::formula(line)).on_our_world();
            figures.push(figure("freshness", dot.freshness, order.freshness(dot.r)));
            figures.push(figure("age, days", dot.age_days, age_days(dot.r)));
        }
    }
    Exhibit::new(Paper::Cgm03, name, caption).with_figures(figures).with_picture(freshness).with_picture(age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_sit_on_their_lines() {
        for (order, name) in ORDERS {
            for dot in dots(order, &mut random(1, 15)) {
                let age = order.age_in_periods(dot.r) * dot.r * CHANGE_INTERVAL;
                assert!((dot.freshness - order.freshness(dot.r)).abs() < 0.005, "{name} {}", dot.r);
                assert!((dot.age_days - age).abs() < 0.03 * age, "{name} {}: {} {age}", dot.r, dot.age_days);
            }
        }
    }
}
