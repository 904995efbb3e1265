//! `everfresh freshness`: CGM03 section 4 for one page.

use anyhow::Result;
use everfresh::{Order, Period, Rate};
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

pub(crate) fn run(args: &FreshnessArgs) -> Result<()> {
    let orders = Order::ALL.into_iter().map(|order| answer(args.rate, &args.question, order)).collect::<Result<_>>()?;
    let report = Report { rate_per_day: args.rate.per_day(), orders };
    if args.json { output::print_json(&report) } else { output::print(&people(args, &report)) }
}

fn answer(rate: Rate, question: &Question, order: Order) -> Result<Answer> {
    let period = match *question {
        Question { period: Some(period), .. } => period,
        Question { frequency: Some(frequency), .. } => frequency.period(),
        Question { target: Some(target), .. } => order.period_for_freshness(rate, target)?,
        Question { target_age: Some(age), .. } => order.period_for_age(rate, age)?,
        _ => anyhow::bail!("ask with --period, --frequency, --target or --target-age"),
    };
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
