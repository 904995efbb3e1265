//! `everfresh freshness`: CGM03 section 4 for one page, and CGM99's gamma model for many.

use anyhow::{Context, Result};
use everfresh::gamma_model::GammaModel;
use everfresh::{Order, Period, Rate, Unit};
use serde::Serialize;

use crate::args::{FreshnessArgs, Question, Word};
use crate::output::{self, Grid, number};

/// One order's answer.
#[derive(Serialize)]
struct Answer {
    order: &'static str,
    period_days: Option<f64>,
    frequency_per_day: f64,
    freshness: f64,
    age_days: Option<f64>,
    #[serde(skip)]
    period: Period,
    #[serde(skip)]
    age: Period,
}

#[derive(Serialize)]
struct Report {
    rate_per_day: f64,
    orders: Vec<Answer>,
}

/// One allocation's answer for pages whose rates differ (CGM99 Table 3).
#[derive(Serialize)]
struct Collection {
    allocation: &'static str,
    freshness: f64,
    age_days: Option<f64>,
    #[serde(skip)]
    age: Period,
}

#[derive(Serialize)]
struct CollectionReport {
    mean_rate_per_day: f64,
    delta: f64,
    mean_period_days: Option<f64>,
    allocations: Vec<Collection>,
}

/// CGM99's gamma model: fixed order, uniform and proportional allocation.
fn run_collection(args: &FreshnessArgs, delta: f64) -> Result<()> {
    let model = GammaModel::new(delta).context("--delta")?;
    let period = asked_period(args.rate, &args.question, Order::Fixed)?;
    let r = args.rate * period;
    let row =
        |allocation, freshness: everfresh::Result<f64>, age_in_periods: everfresh::Result<f64>| -> Result<Collection> {
            let age = Period::of(age_in_periods? * period.seconds(), Unit::Second)?;
            Ok(Collection { allocation, freshness: freshness?, age_days: output::days(age), age })
        };
    let allocations = vec![
        row("uniform", model.uniform_freshness(r), model.uniform_age_in_periods(r))?,
        row("proportional", model.proportional_freshness(r), model.proportional_age_in_periods(r))?,
    ];
    let mean_rate_per_day = args.rate.per_day();
    let report = CollectionReport { mean_rate_per_day, delta, mean_period_days: output::days(period), allocations };
    if args.json {
        return output::print_json(&report);
    }
    let mut grid = Grid::new(&["allocation", "freshness", "age"]);
    for row in &report.allocations {
        grid.row(vec![row.allocation.to_owned(), number(row.freshness), output::age(row.age)]);
    }
    let heading =
        format!("mean rate of change: {}, delta {}, visited every {period} on average", args.rate, number(delta));
    output::print(&format!("{heading}\n\n{}", grid.text()))
}

pub(crate) fn run(args: &FreshnessArgs) -> Result<()> {
    if let Some(delta) = args.delta {
        return run_collection(args, delta);
    }
    let orders = Order::ALL.into_iter().map(|order| answer(args.rate, &args.question, order)).collect::<Result<_>>()?;
    let report = Report { rate_per_day: args.rate.per_day(), orders };
    if args.json { output::print_json(&report) } else { output::print(&people(args, &report)) }
}

/// The period that is asked about, or that the target needs.
fn asked_period(rate: Rate, question: &Question, order: Order) -> Result<Period> {
    Ok(match *question {
        Question { period: Some(period), .. } => period,
        Question { frequency: Some(frequency), .. } => frequency.period(),
        Question { target: Some(target), .. } => order.period_for_freshness(rate, target)?,
        Question { target_age: Some(age), .. } => order.period_for_age(rate, age)?,
        _ => anyhow::bail!("ask with --period, --frequency, --target or --target-age"),
    })
}

fn answer(rate: Rate, question: &Question, order: Order) -> Result<Answer> {
    let period = asked_period(rate, question, order)?;
    let age = order.age(rate, period);
    Ok(Answer {
        order: order.word(),
        period_days: output::days(period),
        frequency_per_day: period.frequency().per_day(),
        freshness: order.freshness(rate * period),
        age_days: output::days(age),
        period,
        age,
    })
}

fn people(args: &FreshnessArgs, report: &Report) -> String {
    let mut grid = Grid::new(&["order", "period", "frequency", "visits per change", "freshness", "age"]);
    for answer in &report.orders {
        let per_change = answer.frequency_per_day / report.rate_per_day;
        grid.row(vec![
            answer.order.to_owned(),
            answer.period.to_string(),
            answer.period.frequency().to_string(),
            if per_change.is_finite() { number(per_change) } else { "-".to_owned() },
            number(answer.freshness),
            output::age(answer.age),
        ]);
    }
    let mut text = format!("rate of change: {}\n\n{}", args.rate, grid.text());
    if args.rate == Rate::STATIC {
        text.push_str("\nit does not change: its copy is always fresh, without a visit\n");
    }
    text
}
