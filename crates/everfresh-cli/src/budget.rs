//! `everfresh budget`: what a budget gives, and what a freshness costs.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use everfresh::plan::stream::{Outlook, Point};
use everfresh::{Error, Objective, Order, Period, Unit};
use serde::Serialize;

use crate::args::{BudgetArgs, Word};
use crate::chart;
use crate::interrupt;
use crate::limited::Limited;
use crate::output::{self, Grid, finite, number};
use crate::plan::{Asked, FilePages, given_price, in_context, leave_curves, limits, unit, wanted};
use crate::saved;
use crate::table::Input;
use crate::whole;

/// A point of the curve, for machines.
#[derive(Serialize)]
struct PointRow {
    budget_per_day: f64,
    freshness: Option<f64>,
    age_days: Option<f64>,
    harmonic: Option<f64>,
    /// What one more unit of cost per day gains of that: freshness more, or days of age or penalty less.
    gain_per_daily_cost: f64,
    price_days: Option<f64>,
    price_days_squared: Option<f64>,
}

#[derive(Serialize)]
struct AnswerRow {
    question: String,
    /// Does a plan at this price spend this budget to nine digits? Null with caps or a floor.
    is_exact: Option<bool>,
    #[serde(flatten)]
    point: PointRow,
}

#[derive(Serialize)]
struct Report {
    objective: &'static str,
    order: &'static str,
    static_weight_share: f64,
    answers: Vec<AnswerRow>,
    curve: Vec<PointRow>,
}

/// The budgets of the curve: so many halvings and doublings of the one in the middle, in so many steps each.
const DOUBLINGS: i32 = 5;
const STEPS: i32 = 4;

pub(crate) fn run(args: &BudgetArgs) -> Result<()> {
    let objective: Objective = args.objective.into();
    let order: Order = args.order.into();
    args.plot.as_deref().map(chart::check_ending).transpose()?;
    let inputs: Vec<PathBuf> = args.pages.iter().chain(&args.limits.host_caps).cloned().collect();
    for path in args.plot.iter().chain(&args.save) {
        whole::check_not_read(path, &inputs)?;
        whole::check_place(path)?;
    }
    if args.save.as_ref().is_some_and(|path| !saved::is_one(path)) {
        bail!("--save must end in .{}, by which the file is known again", saved::ENDING);
    }
    if args.limits.floor.is_none() && !args.limits.cap_hosts() {
        let around = args.around.as_deref().map(|text| given_price("--around", text, objective)).transpose()?;
        let outlook = read(args, order, objective, around)?;
        args.save.as_deref().map(|path| saved::write(path, &outlook)).transpose()?;
        return tell(args, &Teller::Free(&outlook)).map_err(|error| named(error, &args.pages[0].display()));
    }
    if let Some(path) = args.pages.iter().find(|path| saved::is_one(path)) {
        bail!("`{}` knows neither hosts nor a floor: with these give the tables themselves", path.display());
    }
    let mut input = open(args, &args.pages)?;
    leave_curves(&mut input, &args.curves, order, objective)?;
    let pages = if args.limits.cap_hosts() { FilePages::with_hosts(&input)? } else { FilePages::new(&input)? };
    pages.call_pass("reading");
    let limits = limits(&args.limits, unit(&args.columns), &pages)?;
    let outlook = Outlook::of(&pages, order, objective).map_err(|error| named(error, &input.name()))?;
    let limited = Limited::new(&pages, &limits, &outlook);
    tell(args, &Teller::Limited(&limited, &outlook)).map_err(|error| in_context(error, &input, &pages))
}

/// Who knows what budgets give.
#[derive(Clone, Copy)]
enum Teller<'a> {
    Free(&'a Outlook),
    Limited(&'a Limited<'a>, &'a Outlook),
}

impl<'a> Teller<'a> {
    /// Of the pages without caps and a floor.
    const fn outlook(&self) -> &'a Outlook {
        match self {
            Teller::Free(outlook) | Teller::Limited(_, outlook) => outlook,
        }
    }

    fn at_budget(&self, budget: f64) -> Result<Point> {
        match self {
            Teller::Free(outlook) => Ok(outlook.at_budget(budget)?),
            Teller::Limited(limited, _) => limited.at_budget(budget),
        }
    }

    fn at_price(&self, price: f64) -> Result<Point> {
        match self {
            Teller::Free(outlook) => Ok(outlook.at_price(price)),
            Teller::Limited(limited, _) => limited.at_price(price),
        }
    }

    fn for_value(&self, value: f64) -> Result<Point> {
        match self {
            Teller::Free(outlook) => Ok(outlook.for_value(value)?),
            Teller::Limited(limited, _) => limited.for_value(value),
        }
    }

    /// The budgets of the curve, in steps of a doubling from the one in the middle.
    fn steps(&self) -> Vec<i32> {
        match self {
            Teller::Free(_) => (-DOUBLINGS * STEPS..=DOUBLINGS * STEPS).collect(),
            // A plan for each.
            Teller::Limited(..) => (1 - DOUBLINGS..DOUBLINGS).map(|doubling| doubling * STEPS).collect(),
        }
    }

    fn curve(&self, middle: f64) -> Result<Vec<(i32, Point)>> {
        let mut curve = Vec::new();
        for step in self.steps() {
            interrupt::check()?;
            match self.at_budget(middle * (f64::from(step) / f64::from(STEPS)).exp2()) {
                Ok(point) => curve.push((step, point)),
                // Budgets below what is promised have no plan, and so no point; nor has one of nothing.
                Err(error)
                    if matches!(error.downcast_ref(), Some(Error::Infeasible { .. } | Error::OutOfBounds { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(curve)
    }

    /// Does a plan at this price spend this budget to nine digits? None where hosts or a floor have a say in what it spends.
    fn is_exact(&self, point: &Point) -> Option<bool> {
        match self {
            Teller::Free(outlook) => Some(outlook.is_exact(point)),
            Teller::Limited(..) => None,
        }
    }
}

/// Answers what was asked, and draws.
fn tell(args: &BudgetArgs, teller: &Teller<'_>) -> Result<()> {
    let (outlook, order) = (teller.outlook(), args.order.into());
    let answers = answers(args, teller)?;
    if let Teller::Free(outlook) = teller {
        say_who_is_beyond(outlook, &answers);
    }
    let asked = answers.iter().map(|(_, point)| point.spending).find(|spending| *spending > 0.0);
    let curve = teller.curve(asked.unwrap_or(outlook.middle().spending))?;
    let view = View { teller, unit: unit(&args.columns), answers, curve };
    if let Some(path) = &args.plot {
        let points = |points: &mut dyn Iterator<Item = &Point>| -> Vec<(f64, f64)> {
            points.map(|point| (point.spending * view.unit.seconds(), view.drawn(point))).collect()
        };
        let line = points(&mut view.curve.iter().map(|(_, point)| point));
        let asked = points(&mut view.answers.iter().map(|(_, point)| point));
        let picture = chart::curve(&line, &asked, view.unit, view.axis())?;
        chart::write(path, "What budgets give", &picture, &view.text(order))?;
    }
    if args.json { output::print_json(&view.report(order)) } else { output::print(&view.text(order)) }
}

/// Says where to read again if all prices lie so far from the one around which was read that none is exact.
fn say_who_is_beyond(outlook: &Outlook, answers: &[(String, Point)]) {
    let (Some(exact), Some((question, point))) = (outlook.exact_prices(), answers.first()) else { return };
    let is_told = |(_, point): &(String, Point)| point.price.is_infinite() || exact.contains(&point.price);
    if !answers.iter().any(is_told) {
        let price = shown_price(outlook.objective(), point.price);
        output::say(&format!("{question}: the price, {price}, is not exact: read again with --around {price}"));
    }
}

/// A price with all its digits, as flags take it.
fn shown_price(objective: Objective, price: f64) -> String {
    let power = objective.time_power();
    format!("{}days{}", price / Unit::Day.seconds().powi(power), if power == 2 { "2" } else { "" })
}

/// What tables and saved outlooks tell together.
fn read(args: &BudgetArgs, order: Order, objective: Objective, around: Option<f64>) -> Result<Outlook> {
    let (files, tables): (Vec<PathBuf>, Vec<PathBuf>) =
        args.pages.iter().cloned().partition(|path| saved::is_one(path));
    if around.is_some() && tables.is_empty() {
        bail!("--around is for tables: what saved outlooks know of a price is in them");
    }
    let mut all = (!tables.is_empty()).then(|| read_tables(args, &tables, (order, objective), around)).transpose()?;
    for path in files {
        let one = saved::read(&path)?;
        if (one.order(), one.objective()) != (order, objective) {
            let (objective, order) = (one.objective().word(), one.order().word());
            bail!("`{}` is for --objective {objective} --order {order}: ask for these", path.display());
        }
        all = Some(match all {
            None => one,
            Some(mut all) => {
                all.merge(one).with_context(|| path.display().to_string())?;
                all
            }
        });
    }
    all.context("cannot do without pages")
}

fn read_tables(
    args: &BudgetArgs,
    tables: &[PathBuf],
    (order, objective): (Order, Objective),
    around: Option<f64>,
) -> Result<Outlook> {
    let mut input = open(args, tables)?;
    leave_curves(&mut input, &args.curves, order, objective)?;
    let pages = FilePages::new(&input)?;
    pages.call_pass("reading");
    let outlook = match around {
        Some(price) => Outlook::around(&pages, order, objective, price),
        None => Outlook::of(&pages, order, objective),
    };
    outlook.map_err(|error| named(error, &input.name()))
}

fn open(args: &BudgetArgs, tables: &[PathBuf]) -> Result<Input> {
    let asked = Asked {
        weight: args.weight_column.as_deref(),
        count: args.count_column.as_deref(),
        min_period: args.min_period_column.as_deref(),
        max_period: args.max_period_column.as_deref(),
        host: args.limits.cap_hosts().then_some(args.limits.host_column.as_str()),
        curve: args.curves.curve_column.as_deref(),
        shape: args.curves.shape_column.as_deref(),
    };
    Input::open(tables, wanted(&args.columns, asked))
}

fn named(error: anyhow::Error, name: &dyn std::fmt::Display) -> anyhow::Error {
    if error.is::<everfresh::Error>() { error.context(name.to_string()) } else { error }
}

/// What was asked, in words, and the point that answers it.
fn answers(args: &BudgetArgs, teller: &Teller<'_>) -> Result<Vec<(String, Point)>> {
    let unit = unit(&args.columns);
    let mut answers = Vec::new();
    let outlook = teller.outlook();
    let mut say = |question: String, point: Result<Point>| -> Result<()> {
        answers.push((question, point?));
        Ok(())
    };
    if let Some(freshness) = args.target {
        expect(outlook, Objective::Freshness, "--target needs")?;
        say(format!("for freshness {freshness}"), teller.for_value(freshness))?;
    }
    if let Some(age) = args.target_age {
        expect(outlook, Objective::Age, "--target-age needs")?;
        say(format!("for a mean age of {age}"), teller.for_value(age.seconds()))?;
    }
    if let Some(budget) = args.budget {
        say(format!("with {}/{unit}", output::per(budget, unit)), teller.at_budget(budget))?;
        say(format!("with twice that, {}/{unit}", output::per(2.0 * budget, unit)), teller.at_budget(2.0 * budget))?;
    }
    if let (Some(cost), Some(worth)) = (args.cost, args.worth) {
        expect(outlook, Objective::Freshness, "--cost and --worth need")?;
        let price = cost / worth.per_second;
        let question = format!(
            "if a visit costs {} and a fresh copy of weight 1 earns {}/{}",
            number(cost),
            number(worth.per_second * worth.unit.seconds()),
            worth.unit
        );
        say(question, teller.at_price(price))?;
    }
    Ok(answers)
}

fn expect(outlook: &Outlook, objective: Objective, who_needs: &str) -> Result<()> {
    if outlook.objective() == objective {
        return Ok(());
    }
    bail!("{who_needs} --objective {}, got {}", objective.word(), outlook.objective().word())
}

/// What is known, and how to say it.
struct View<'a> {
    teller: &'a Teller<'a>,
    unit: Unit,
    answers: Vec<(String, Point)>,
    curve: Vec<(i32, Point)>,
}

impl View<'_> {
    fn objective(&self) -> Objective {
        self.teller.outlook().objective()
    }

    fn row(&self, point: &Point) -> PointRow {
        let day = Unit::Day.seconds();
        let value = |objective: Objective, scale: f64| {
            Some(point.value / scale).and_then(finite).filter(|_| self.objective() == objective)
        };
        let power = self.objective().time_power();
        let price = |of: i32| Some(point.price / day.powi(of)).and_then(finite).filter(|_| power == of);
        PointRow {
            budget_per_day: point.spending * day,
            freshness: value(Objective::Freshness, 1.0),
            age_days: value(Objective::Age, day),
            harmonic: value(Objective::Harmonic, 1.0),
            // Per cost a day; an age in days, too.
            gain_per_daily_cost: point.gain / day.powi(power),
            price_days: price(1),
            price_days_squared: price(2),
        }
    }

    fn report(&self, order: Order) -> Report {
        let answer = |(question, point): &(String, Point)| AnswerRow {
            question: question.clone(),
            is_exact: self.teller.is_exact(point),
            point: self.row(point),
        };
        Report {
            objective: self.objective().word(),
            order: order.word(),
            static_weight_share: self.teller.outlook().static_share(),
            answers: self.answers.iter().map(answer).collect(),
            curve: self.curve.iter().map(|(_, point)| self.row(point)).collect(),
        }
    }

    /// The number on the axis of a picture.
    fn drawn(&self, point: &Point) -> f64 {
        if self.objective() == Objective::Age { point.value / Unit::Day.seconds() } else { point.value }
    }

    fn axis(&self) -> &'static str {
        match self.objective() {
            Objective::Freshness => "freshness",
            Objective::Age => "age in days",
            Objective::Harmonic => "harmonic penalty",
        }
    }

    fn value(&self, point: &Point) -> String {
        match self.objective() {
            Objective::Age => seconds(point.value),
            Objective::Freshness | Objective::Harmonic => number(point.value),
        }
    }

    fn gain(&self, point: &Point) -> String {
        let gain = point.gain / self.unit.seconds();
        if self.objective() == Objective::Age { seconds(gain) } else { number(gain) }
    }

    fn text(&self, order: Order) -> String {
        let objective = self.objective().word();
        let limits =
            if let Teller::Limited(..) = self.teller { ", within caps of hosts and a floor as asked for" } else { "" };
        let mut text = format!("the optimal plan for {objective}, {} order{limits}\n", order.word().replace('-', " "));
        let share = self.teller.outlook().static_share();
        if share > 0.0 {
            text.push_str(&format!("static pages have {} of the weight\n", output::percent(share)));
        }
        text.push('\n');
        for (question, point) in &self.answers {
            text.push_str(&format!(
                "{question}: budget {}/{}, {objective} {}\n",
                output::per(point.spending, self.unit),
                self.unit,
                self.value(point)
            ));
        }
        if !self.answers.is_empty() {
            text.push('\n');
        }
        text.push_str(&self.table());
        text
    }

    /// The curve at every doubling, with bars.
    fn table(&self) -> String {
        let budget = format!("budget/{}", self.unit);
        let gain = format!("gain of 1/{} more", self.unit);
        let mut grid = Grid::new(&[&budget, self.objective().word(), &gain, ""]).numbers_first().left(3);
        let rows = || self.curve.iter().filter(|(i, _)| i % STEPS == 0).map(|(_, point)| point);
        let longest = rows().map(|point| point.value).filter(|value| value.is_finite()).fold(0.0, f64::max);
        let longest = if self.objective() == Objective::Freshness { 1.0 } else { longest };
        for point in rows() {
            let share = (point.value / longest).clamp(0.0, 1.0);
            // At most 30.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let bar = "█".repeat((30.0 * share).round() as usize);
            grid.row(vec![output::per(point.spending, self.unit), self.value(point), self.gain(point), bar]);
        }
        grid.text()
    }
}

fn seconds(seconds: f64) -> String {
    Period::of(seconds, Unit::Second).map_or_else(|_| number(seconds), |period| period.to_string())
}
