//! `everfresh income`: RN15 for one page, or for a table of them.

use std::path::Path;

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use everfresh::curve::{DivergenceCurve, Exponential, Linear, Lomax, Weibull};
use everfresh::income::{Asset, Income, Optimum, Population, explaining_benefit};
use everfresh::{Frequency, Period, Rate, Unit};
use serde::Serialize;

use crate::args::{DecayArg, IncomeArgs};
use crate::output::{self, Grid, count, days, finite, number, percent};
use crate::table::{self, Columns, Input, Quantity, Wanted};

/// One page, for machines.
#[derive(Serialize)]
struct PageRow {
    page: String,
    rate_per_day: Option<f64>,
    benefit_per_day: f64,
    cost: f64,
    period_days: Option<f64>,
    frequency_per_day: f64,
    freshness: f64,
    net_income_per_day: f64,
    most_per_visit: Option<f64>,
    verdict: &'static str,
}

#[derive(Serialize)]
struct IncomeRow {
    visits_per_day: f64,
    spending_per_day: f64,
    net_income_per_day: f64,
}

#[derive(Serialize)]
struct Report<'a> {
    best: IncomeRow,
    futile: usize,
    budget_per_day: Option<f64>,
    on_budget: Option<IncomeRow>,
    loss_on_budget: Option<f64>,
    pages: &'a [PageRow],
}

/// How fast a copy goes wrong.
#[derive(Clone, Copy)]
enum Speed {
    Rate(Rate),
    HalfLife(Period),
}

/// What is known of a page before its optimum.
struct Given {
    speed: Speed,
    benefit_per_second: f64,
    cost: f64,
    asset: Asset<Curve>,
}

type Curve = Box<dyn DivergenceCurve>;

pub(crate) fn run(args: &IncomeArgs) -> Result<()> {
    check_shape(args.decay, args.shape)?;
    if let Some(frequency) = args.observed_frequency {
        return explain(args, frequency);
    }
    args.output.out.as_deref().map(table::check_ending).transpose()?;
    let given = match &args.pages {
        Some(path) => read(path, args)?,
        None => vec![("page".to_owned(), single(args)?)],
    };
    let mut assets = Vec::with_capacity(given.len());
    let mut rows = Vec::with_capacity(given.len());
    for (key, Given { speed, benefit_per_second, cost, asset }) in given {
        rows.push(row(key, speed, benefit_per_second, cost, &asset.optimum()));
        assets.push(asset);
    }
    let population = Population::new(assets)?;
    if let Some(path) = &args.output.out {
        table::write_whole(path, &batch(&rows)?)?;
    }
    let report = report(args, &population, &rows)?;
    if args.output.json {
        return output::print_json(&report);
    }
    let unit = unit(args);
    let mut text = String::new();
    match args.pages {
        None => text.push_str(&one(&rows[0], unit)),
        Some(_) if args.output.out.is_some() => text.push_str(&summary(&report, unit)),
        Some(_) => {
            text.push_str(&summary(&report, unit));
            text.push_str(&table(&rows, args.output.rows, unit));
        }
    }
    text.push_str(&budget_lines(&report, unit));
    output::print(&text)
}

/// The unit of the output: as asked, else as the benefit was written.
fn unit(args: &IncomeArgs) -> Unit {
    args.columns.unit.or(args.benefit.map(|benefit| benefit.unit)).unwrap_or(Unit::Day)
}

fn single(args: &IncomeArgs) -> Result<Given> {
    let benefit = args.benefit.context("say what a right copy earns: --benefit 1/year")?;
    let speed = speed(args)?;
    let curve = curve(args, speed).context("--rate or --half-life")?;
    let asset = Asset::new(curve, benefit.per_second, Unit::Second, args.cost).context("--benefit or --cost")?;
    Ok(Given { speed, benefit_per_second: benefit.per_second, cost: args.cost, asset })
}

fn speed(args: &IncomeArgs) -> Result<Speed> {
    match (args.rate, args.half_life) {
        (Some(rate), _) => Ok(Speed::Rate(rate)),
        (None, Some(half_life)) => Ok(Speed::HalfLife(half_life)),
        (None, None) => bail!("say how often the page changes: --rate or --half-life"),
    }
}

/// The bounds of a shape, told before any page is named.
fn check_shape(decay: DecayArg, shape: Option<f64>) -> Result<()> {
    let Some(shape) = shape else { return Ok(()) };
    let checked = match decay {
        DecayArg::Exponential | DecayArg::Linear => bail!("--shape is for weibull and lomax decay only"),
        DecayArg::Weibull => Weibull::new(Rate::STATIC, shape).map(drop),
        DecayArg::Lomax => Lomax::new(shape, Period::of(1.0, Unit::Day)?).map(drop),
    };
    checked.context("--shape")
}

fn curve(args: &IncomeArgs, speed: Speed) -> Result<Curve> {
    let shape = args.shape.unwrap_or(1.0);
    Ok(match (args.decay, speed) {
        // A page that does not change is certain not to, whatever the shape.
        (_, Speed::Rate(Rate::STATIC)) => Box::new(Exponential::new(Rate::STATIC)),
        (DecayArg::Exponential, Speed::Rate(rate)) => Box::new(Exponential::new(rate)),
        (DecayArg::Exponential, Speed::HalfLife(time)) => Box::new(Exponential::new(Rate::from_half_life(time)?)),
        (DecayArg::Linear, Speed::Rate(rate)) => Box::new(Linear::new(rate)),
        (DecayArg::Linear, Speed::HalfLife(time)) => Box::new(Linear::with_half_life(time)?),
        (DecayArg::Weibull, Speed::Rate(rate)) => Box::new(Weibull::new(rate, shape)?),
        (DecayArg::Weibull, Speed::HalfLife(time)) => Box::new(Weibull::with_half_life(time, shape)?),
        (DecayArg::Lomax, Speed::Rate(rate)) => Box::new(Lomax::with_mean_rate(shape, rate)?),
        (DecayArg::Lomax, Speed::HalfLife(time)) => Box::new(Lomax::with_half_life(time, shape)?),
    })
}

/// The places of the columns among those that [`columns`] asks for.
const RATE: usize = 0;
const BENEFIT: usize = 1;
const COST: usize = 2;

fn columns(args: &IncomeArgs) -> Columns {
    let numbers = vec![
        Wanted::required(&args.columns.rate_column, Quantity::Rate { may_be_absent: false }),
        Wanted::optional(args.benefit_column.as_deref(), "benefit", Quantity::PerTime { what: "benefit" }),
        Wanted::optional(args.columns.cost_column.as_deref(), "cost", Quantity::Cost),
    ];
    let key = Some(args.columns.page_column.clone());
    Columns { key, host: None, numbers, texts: Vec::new(), unit: args.columns.unit.unwrap_or(Unit::Day) }
}

/// The rows as columns.
fn batch(rows: &[PageRow]) -> Result<RecordBatch> {
    let number =
        |value: fn(&PageRow) -> Option<f64>| -> ArrayRef { Arc::new(rows.iter().map(value).collect::<Float64Array>()) };
    let text =
        |value: fn(&PageRow) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(value))) };
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("page", text(|row| &row.page), false),
        ("rate_per_day", number(|row| row.rate_per_day), true),
        ("benefit_per_day", number(|row| Some(row.benefit_per_day)), true),
        ("cost", number(|row| Some(row.cost)), true),
        ("period_days", number(|row| row.period_days), true),
        ("frequency_per_day", number(|row| Some(row.frequency_per_day)), true),
        ("freshness", number(|row| Some(row.freshness)), true),
        ("net_income_per_day", number(|row| Some(row.net_income_per_day)), true),
        ("most_per_visit", number(|row| row.most_per_visit), true),
        ("verdict", text(|row| row.verdict), false),
    ])?)
}

fn read(path: &Path, args: &IncomeArgs) -> Result<Vec<(String, Given)>> {
    let table = Input::open(&[path.to_owned()], columns(args))?;
    if !table.has(BENEFIT) && args.benefit.is_none() {
        bail!("{}: say what right copies earn: a column `benefit`, or --benefit 0.3/day", path.display());
    }
    table.pages(|batch, row| {
        let value = |column: usize| batch.numbers[column].as_ref().map(|values| values[row]);
        let given = args.benefit.map_or(0.0, |benefit| benefit.per_second);
        let benefit_per_second = value(BENEFIT).unwrap_or(given);
        let cost = value(COST).unwrap_or(args.cost);
        let speed = Speed::Rate(Rate::per(value(RATE).unwrap_or(0.0), Unit::Second)?);
        let curve = curve(args, speed).map_err(|error| batch.wrong(row, RATE, &format!("{error:#}")))?;
        let asset = Asset::new(curve, benefit_per_second, Unit::Second, cost).map_err(|error| {
            let column = if error.to_string().starts_with("benefit") { BENEFIT } else { COST };
            let column = if value(column).is_some() { column } else { RATE };
            batch.wrong(row, column, &error.to_string())
        })?;
        Ok(Given { speed, benefit_per_second, cost, asset })
    })
}

fn row(key: String, speed: Speed, benefit_per_second: f64, cost: f64, best: &Optimum) -> PageRow {
    let verdict = match best.period {
        _ if best.is_futile() => "futile",
        Period::NEVER => "static",
        _ => "worth it",
    };
    PageRow {
        page: key,
        rate_per_day: match speed {
            Speed::Rate(rate) => Some(rate.per_day()),
            Speed::HalfLife(_) => None,
        },
        benefit_per_day: benefit_per_second * Unit::Day.seconds(),
        cost,
        period_days: days(best.period),
        frequency_per_day: best.frequency.per_day(),
        freshness: best.freshness,
        net_income_per_day: best.net_income_per_second * Unit::Day.seconds(),
        most_per_visit: finite(best.most_per_visit),
        verdict,
    }
}

fn income_row(income: &Income) -> IncomeRow {
    IncomeRow {
        visits_per_day: income.visits.per_day(),
        spending_per_day: income.spending_per_second * Unit::Day.seconds(),
        net_income_per_day: income.net_income_per_second * Unit::Day.seconds(),
    }
}

fn report<'a>(args: &IncomeArgs, population: &Population<Curve>, pages: &'a [PageRow]) -> Result<Report<'a>> {
    let best = population.optimum();
    let on_budget =
        args.budget.map(|budget| population.on_budget(budget, Unit::Second)).transpose().context("--budget")?;
    let loss_on_budget = on_budget.as_ref().and_then(|had| best.loss_with(had));
    let futile = pages.iter().filter(|row| row.verdict == "futile").count();
    let on_budget = on_budget.as_ref().map(income_row);
    let budget_per_day = args.budget.map(|per_second| per_second * Unit::Day.seconds());
    Ok(Report { best: income_row(&best), futile, budget_per_day, on_budget, loss_on_budget, pages })
}

/// An amount per day, per `unit`.
fn amount(per_day: f64, unit: Unit) -> String {
    format!("{}/{unit}", number(per_day / Unit::Day.seconds() * unit.seconds()))
}

/// `3 visits/day`
fn visits(per_day: f64, unit: Unit) -> String {
    format!("{} visits/{unit}", number(per_day / Unit::Day.seconds() * unit.seconds()))
}

fn one(row: &PageRow, unit: Unit) -> String {
    let mut text = match row.verdict {
        "static" => "the page does not change: its copy is always right, without a visit\n".to_owned(),
        "futile" => format!(
            "futile: a visit earns at most {} and costs {}; no visit is worth it\n",
            number(row.most_per_visit.unwrap_or_default()),
            number(row.cost)
        ),
        _ => {
            let period = Period::of(row.period_days.unwrap_or(f64::INFINITY), Unit::Day);
            let period = period.map_or_else(|_| "never".to_owned(), |period| period.to_string());
            format!("best period:   {period}\nvisits:        {}\n", amount(row.frequency_per_day, unit))
        }
    };
    text.push_str(&format!(
        "freshness:     {}\nnet income:    {}\n",
        number(row.freshness),
        amount(row.net_income_per_day, unit)
    ));
    text
}

fn summary(report: &Report<'_>, unit: Unit) -> String {
    let best = &report.best;
    let mut text = format!(
        "{}: the best net income takes {} that cost {}, and is {}\n",
        count(report.pages.len() as f64, "page"),
        visits(best.visits_per_day, unit),
        amount(best.spending_per_day, unit),
        amount(best.net_income_per_day, unit),
    );
    if report.futile > 0 {
        text.push_str(&format!(
            "futile: {} on which no visit is worth its cost\n",
            count(report.futile as f64, "page")
        ));
    }
    text
}

fn table(rows: &[PageRow], most: usize, unit: Unit) -> String {
    let scale = unit.seconds() / Unit::Day.seconds();
    let (changes, visits, income) = (format!("changes/{unit}"), format!("visits/{unit}"), format!("income/{unit}"));
    let headings = ["page", &changes, &visits, "period", "freshness", &income, "verdict"];
    let mut grid = Grid::new(&headings).left(6);
    for row in rows.iter().take(most) {
        let frequency = Frequency::per(row.frequency_per_day, Unit::Day).unwrap_or_default();
        grid.row(vec![
            row.page.clone(),
            row.rate_per_day.map_or_else(String::new, |rate| number(rate * scale)),
            number(row.frequency_per_day * scale),
            frequency.period().to_string(),
            number(row.freshness),
            number(row.net_income_per_day * scale),
            row.verdict.to_owned(),
        ]);
    }
    format!("\n{}{}", grid.text(), output::more_line(rows.len().saturating_sub(most) as f64))
}

fn budget_lines(report: &Report<'_>, unit: Unit) -> String {
    let Some(had) = &report.on_budget else { return String::new() };
    let loss = match report.loss_on_budget {
        Some(loss) => format!("{} of the best is lost", percent(loss)),
        None => "no visit is worth its cost".to_owned(),
    };
    let asked = report.budget_per_day.unwrap_or_default();
    let spent = if (had.spending_per_day / asked - 1.0).abs() < 1e-9 {
        format!("spending exactly {} instead", amount(asked, unit))
    } else {
        // Beyond some frequency a visit gains nothing, or less than can be told.
        format!(
            "of a budget of {} only {} can be spent with any gain",
            amount(asked, unit),
            amount(had.spending_per_day, unit)
        )
    };
    format!(
        "\n{spent}: {}, net income {}: {loss}\n",
        visits(had.visits_per_day, unit),
        amount(had.net_income_per_day, unit)
    )
}

#[derive(Serialize)]
struct Explanation {
    observed_frequency_per_day: f64,
    benefit_cost_ratio_per_day: f64,
    benefit_per_day: f64,
}

fn explain(args: &IncomeArgs, frequency: Frequency) -> Result<()> {
    let ratio = explaining_benefit(&curve(args, speed(args)?)?, frequency)? * Unit::Day.seconds();
    let explanation = Explanation {
        observed_frequency_per_day: frequency.per_day(),
        benefit_cost_ratio_per_day: ratio,
        benefit_per_day: ratio * args.cost,
    };
    if args.output.json {
        return output::print_json(&explanation);
    }
    let unit = unit(args);
    output::print(&format!(
        "{} is the best frequency if a right copy earns {}: {} times the cost of a visit, per {unit}\n",
        amount(frequency.per_day(), unit),
        amount(ratio * args.cost, unit),
        number(ratio / Unit::Day.seconds() * unit.seconds()),
    ))
}
