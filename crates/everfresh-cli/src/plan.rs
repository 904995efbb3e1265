//! `everfresh plan`: from a table of pages and a budget to how often each is visited.

use std::path::Path;

use anyhow::{Context, Result, bail};
use everfresh::plan::{Entry, Reason, Totals};
use everfresh::{Allocation, Objective, Order, Page, Period, Plan, Price, Rate, Terms, Unit};
use serde::Serialize;

use crate::args::{PlanArgs, PriceArgs, Word};
use crate::output::{self, Grid, OutFile, count, days, finite, number, percent};
use crate::table::{Batch, Columns, Input, Quantity, Wanted};

/// CGM03 example 5.4: the table that `--example` plans.
const EXAMPLE: &str = "page,rate\ne1,1/day\ne2,2/day\ne3,3/day\ne4,4/day\ne5,5/day\n";
const EXAMPLE_BUDGET_PER_DAY: f64 = 5.0;

/// One page of the plan, for machines. Infinite periods and ages are empty.
#[derive(Serialize)]
struct PageRow<'a> {
    page: &'a str,
    rate_per_day: f64,
    weight: f64,
    cost: f64,
    frequency_per_day: f64,
    period_days: Option<f64>,
    freshness: f64,
    age_days: Option<f64>,
    reason: &'static str,
    /// For a page that is given up: the price below which it would be visited, in days (squared for age).
    worth: Option<f64>,
}

/// The sums of one allocation, for machines.
#[derive(Serialize)]
struct TotalsRow {
    allocation: &'static str,
    freshness: f64,
    age_days: Option<f64>,
    age_days_without_given_up: Option<f64>,
    harmonic: Option<f64>,
    visits_per_day: f64,
    spending_per_day: f64,
}

#[derive(Serialize)]
struct Report<'a> {
    objective: &'static str,
    order: &'static str,
    allocation: &'static str,
    /// Weight x days that a visit must gain per cost; only the optimal allocation has a price.
    price_days: Option<f64>,
    /// The same for age, where it is weight x days squared.
    price_days_squared: Option<f64>,
    /// With --cost: benefit less cost, per day.
    net_income_per_day: Option<f64>,
    given_up: usize,
    given_up_weight_share: f64,
    static_pages: usize,
    allocations: Vec<TotalsRow>,
    pages: Vec<PageRow<'a>>,
}

/// Everything the output needs: the plan asked for, and the other allocations to compare.
struct Outcome {
    keys: Vec<String>,
    pages: Vec<Page>,
    plans: Vec<Plan>,
    chosen: usize,
    unit: Unit,
    budget_per_second: Option<f64>,
    cost: Option<f64>,
}

pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    let out = args.output.out.as_deref().map(OutFile::new).transpose()?;
    let outcome = solve(args)?;
    let rows = outcome.rows();
    if let Some(out) = &out {
        out.write(&rows)?;
    }
    if args.output.json {
        return output::print_json(&outcome.report(rows));
    }
    let mut text = outcome.summary();
    if out.is_none() {
        text.push_str(&outcome.table(args.output.rows));
    }
    output::print(&text)
}

fn solve(args: &PlanArgs) -> Result<Outcome> {
    let (objective, order) = (args.objective.into(), args.order.into());
    let price = price(&args.price, args, objective)?;
    let columns = columns(args);
    let table = if args.example {
        Input::from_text("the example", EXAMPLE, columns)?
    } else {
        let path = args.pages.clone().context("name a table of pages, or --example")?;
        Input::open(&[path], columns)?
    };
    let (keys, pages): (Vec<_>, Vec<_>) = table.pages(page)?.into_iter().unzip();
    let plan = |allocation| Plan::new(&pages, Terms { objective, order, allocation, price });
    let plans = Allocation::ALL.into_iter().map(plan).collect::<everfresh::Result<Vec<_>>>();
    let plans =
        plans.with_context(|| args.pages.as_deref().unwrap_or(Path::new("the example")).display().to_string())?;
    let allocation: Allocation = args.allocation.into();
    let chosen = plans.iter().position(|plan| plan.terms().allocation == allocation).unwrap_or(0);
    let unit = args.columns.unit.unwrap_or(Unit::Day);
    let PriceArgs { budget: budget_per_second, cost, .. } = args.price;
    Ok(Outcome { keys, pages, plans, chosen, unit, budget_per_second, cost })
}

/// The places of the columns among those that [`columns`] asks for.
const RATE: usize = 0;
const WEIGHT: usize = 1;
const COST: usize = 2;
const MIN_PERIOD: usize = 3;
const MAX_PERIOD: usize = 4;

fn columns(args: &PlanArgs) -> Columns {
    let period = |absent: Period| Quantity::Period { absent: absent.seconds() };
    let numbers = vec![
        Wanted::required(&args.columns.rate_column, Quantity::Rate),
        Wanted::optional(args.weight_column.as_deref(), "weight", Quantity::Weight),
        Wanted::optional(args.columns.cost_column.as_deref(), "cost", Quantity::Cost),
        Wanted::optional(args.min_period_column.as_deref(), "min_period", period(Period::ZERO)),
        Wanted::optional(args.max_period_column.as_deref(), "max_period", period(Period::NEVER)),
    ];
    let key = Some(args.columns.page_column.clone());
    Columns { key, host: None, numbers, unit: args.columns.unit.unwrap_or(Unit::Day) }
}

fn page(batch: &Batch, row: usize) -> Result<Page> {
    let value = |column: usize| batch.numbers[column].as_ref().map(|values| values[row]);
    let mut page = Page::new(Rate::per(value(RATE).unwrap_or(0.0), Unit::Second)?);
    if let Some(weight) = value(WEIGHT) {
        page = page.with_weight(weight)?;
    }
    if let Some(cost) = value(COST) {
        page = page.with_cost(cost)?;
    }
    let period = |column, absent| value(column).map_or(Ok(absent), |seconds| Period::of(seconds, Unit::Second));
    let (min, max) = (period(MIN_PERIOD, Period::ZERO)?, period(MAX_PERIOD, Period::NEVER)?);
    let column = if value(MAX_PERIOD).is_some() { MAX_PERIOD } else { MIN_PERIOD };
    page.with_periods(min, max).map_err(|error| batch.wrong(row, column, &error.to_string()))
}

fn price(asked: &PriceArgs, args: &PlanArgs, objective: Objective) -> Result<Price> {
    Ok(match asked {
        PriceArgs { budget: Some(per_second), .. } => {
            Price::for_budget(*per_second, Unit::Second).context("--budget")?
        }
        PriceArgs { price: Some(text), .. } => given_price(text, objective)?,
        PriceArgs { cost: Some(cost), .. } => {
            Price::for_cost(*cost, args.columns.unit.unwrap_or(Unit::Day)).context("--cost")?
        }
        _ if args.example => Price::for_budget(EXAMPLE_BUDGET_PER_DAY, Unit::Day)?,
        _ => bail!("say what pays for the visits: --budget 500/day, --price 6h or --cost 0.002"),
    })
}

/// `6h` for freshness and harmonic; `2h2`, `2h^2` or `2h²`, hours squared, for age.
fn given_price(text: &str, objective: Objective) -> Result<Price> {
    let squared = ["^2", "²", "2"].into_iter().find_map(|suffix| text.strip_suffix(suffix));
    let squared = squared.filter(|time| time.ends_with(char::is_alphabetic));
    let seconds = match (objective.time_power(), squared) {
        (1, None) => time(text),
        (2, Some(time)) => squared_time(time),
        (2, None) => bail!("--price: for age it is a squared time such as `2h2`, got `{text}`"),
        _ => bail!("--price: for {} it is a time such as `6h`, got `{text}`", objective.word()),
    };
    let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0 && seconds.is_finite()) else {
        bail!("--price must be positive and finite, a number with a unit, got `{text}`");
    };
    Price::given(seconds, Unit::Second).with_context(|| format!("--price `{text}`"))
}

fn time(text: &str) -> Option<f64> {
    text.parse().ok().map(Period::seconds)
}

/// `2h` read as two hours squared.
fn squared_time(text: &str) -> Option<f64> {
    let unit = text.trim_end_matches(char::is_alphabetic).len();
    let unit: Unit = text[unit..].parse().ok()?;
    Some(time(text)? * unit.seconds())
}

fn reason(entry: &Entry) -> &'static str {
    match entry.reason {
        Reason::Visited => "visited",
        Reason::Static => "static",
        Reason::Weightless => "weightless",
        Reason::TooExpensive { .. } => "given up",
        Reason::NothingSpent => "nothing spent",
        Reason::AtMaxPeriod => "at max_period",
        Reason::AtMinPeriod => "at min_period",
    }
}

impl Outcome {
    fn plan(&self) -> &Plan {
        &self.plans[self.chosen]
    }

    fn each(&self) -> impl Iterator<Item = (&str, &Page, &Entry)> {
        self.keys
            .iter()
            .zip(&self.pages)
            .zip(self.plan().entries())
            .map(|((key, page), entry)| (key.as_str(), page, entry))
    }

    fn rows(&self) -> Vec<PageRow<'_>> {
        let objective = self.plan().terms().objective;
        let row = |(key, page, entry)| page_row(key, page, entry, objective);
        self.each().map(row).collect()
    }

    fn count(&self, is: impl Fn(&Reason) -> bool) -> usize {
        self.plan().entries().iter().filter(|entry| is(&entry.reason)).count()
    }

    /// Do weights differ from 1?
    fn weights(&self) -> bool {
        self.pages.iter().any(|page| page.weight() != 1.0)
    }

    /// Do costs differ from 1?
    fn costs(&self) -> bool {
        self.pages.iter().any(|page| page.cost() != 1.0)
    }

    fn given_up(&self) -> usize {
        self.count(|reason| matches!(reason, Reason::TooExpensive { .. }))
    }

    /// The price in days (squared for age), as people think of it.
    fn price_days(&self) -> Option<f64> {
        let power = self.plan().terms().objective.time_power();
        self.plan().price().map(|price| price / Unit::Day.seconds().powi(power))
    }

    /// Benefit less cost, per unit of time: with --cost the weights are benefits.
    fn net_income(&self) -> Option<f64> {
        let Totals { weight, freshness, spending_per_second, .. } = *self.plan().totals();
        let freshness = (self.plan().terms().objective == Objective::Freshness).then_some(freshness)?;
        self.cost.map(|cost| weight * freshness - cost * spending_per_second * self.unit.seconds())
    }

    fn report<'a>(&self, pages: Vec<PageRow<'a>>) -> Report<'a> {
        let plan = self.plan();
        Report {
            objective: plan.terms().objective.word(),
            order: plan.terms().order.word(),
            allocation: plan.terms().allocation.word(),
            price_days: self.price_days().and_then(finite).filter(|_| plan.terms().objective.time_power() == 1),
            price_days_squared: self.price_days().and_then(finite).filter(|_| plan.terms().objective.time_power() == 2),
            net_income_per_day: self.net_income().map(|income| income / self.unit.seconds() * Unit::Day.seconds()),
            given_up: self.given_up(),
            given_up_weight_share: 1.0 - plan.totals().kept.map_or(0.0, |kept| kept.weight_share),
            static_pages: self.count(|reason| *reason == Reason::Static),
            allocations: self.plans.iter().map(totals_row).collect(),
            pages,
        }
    }

    fn summary(&self) -> String {
        let plan = self.plan();
        let totals = plan.totals();
        let spent = totals.spending_per_second * self.unit.seconds();
        let visits = output::per(totals.visits.per_second(), self.unit);
        let mut text = format!("{}, {visits} {}", count(self.pages.len(), "page"), per_unit("visit", self.unit));
        if (spent / (totals.visits.per_second() * self.unit.seconds()) - 1.0).abs() > 1e-9 {
            text.push_str(&format!(" that cost {} per {}", number(spent), self.unit));
        }
        text.push_str(&format!(
            ", {} order, for {}\n\n",
            order_words(plan.terms().order),
            plan.terms().objective.word()
        ));
        text.push_str(&self.comparison());
        let income = self.net_income().map(|income| format!("net income: {} per {}\n", number(income), self.unit));
        let remarks =
            [self.unspent_line(), self.price_line(), self.given_up_line(), income.unwrap_or_default()].concat();
        if !remarks.is_empty() {
            text.push('\n');
            text.push_str(&remarks);
        }
        text
    }

    fn comparison(&self) -> String {
        let harmonic = self.plan().terms().objective == Objective::Harmonic;
        let mut headings = vec!["allocation", "freshness", "age"];
        if harmonic {
            headings.push("harmonic");
        }
        let mut grid = Grid::new(&headings);
        for plan in &self.plans {
            let totals = plan.totals();
            let mut row =
                vec![plan.terms().allocation.word().to_owned(), number(totals.freshness), output::age(totals.age)];
            if harmonic {
                row.push(number(totals.harmonic));
            }
            grid.row(row);
        }
        grid.text()
    }

    fn price_line(&self) -> String {
        let Some(days) = self.price_days().and_then(finite).filter(|days| *days > 0.0) else { return String::new() };
        let gained = match self.plan().terms().objective {
            Objective::Freshness => format!("{} of freshness", day_text(days)),
            Objective::Age => format!("{} day² of age", number(days)),
            Objective::Harmonic => format!("{} of missed changes", day_text(days)),
        };
        let scale = if self.weights() || self.costs() { ", times its cost over its weight" } else { "" };
        format!("price: a visit must gain {gained}{scale}\n")
    }

    /// Static pages and minimum periods may leave money over; nobody is to find that out from a sum.
    fn unspent_line(&self) -> String {
        let spent = self.plan().totals().spending_per_second;
        match self.budget_per_second {
            Some(budget) if spent < budget * (1.0 - 1e-9) => format!(
                "not all is spent: {} of {} per {}; static pages and minimum periods allow no more\n",
                output::per(spent, self.unit),
                output::per(budget, self.unit),
                self.unit
            ),
            _ => String::new(),
        }
    }

    fn given_up_line(&self) -> String {
        let given_up = self.given_up();
        if given_up == 0 {
            return String::new();
        }
        let kept = self.plan().totals().kept;
        format!(
            "given up: {} with {} of the weight: no visit gains the price{}\n",
            count(given_up, "page"),
            percent(1.0 - kept.map_or(0.0, |kept| kept.weight_share)),
            kept.map_or_else(String::new, |kept| format!("; the age of the others is {}", output::age(kept.age))),
        )
    }

    fn table(&self, most: usize) -> String {
        let (weights, costs) = (self.weights(), self.costs());
        let per_unit = |what: &str| per_unit(what, self.unit);
        let (changes, visits) = (per_unit("change"), per_unit("visit"));
        let mut headings = vec!["page", changes.as_str()];
        headings.extend(weights.then_some("weight"));
        headings.extend(costs.then_some("cost"));
        headings.extend([visits.as_str(), "period", "freshness", "age", "why"]);
        let mut grid = Grid::new(&headings).left(headings.len() - 1);
        for (key, page, entry) in self.each().take(most) {
            let mut row = vec![key.to_owned(), output::per(page.rate().per_second(), self.unit)];
            row.extend(weights.then(|| number(page.weight())));
            row.extend(costs.then(|| number(page.cost())));
            row.extend([
                output::per(entry.frequency.per_second(), self.unit),
                entry.frequency.period().to_string(),
                number(entry.freshness),
                output::age(entry.age),
                self.why(entry),
            ]);
            grid.row(row);
        }
        format!("\n{}{}", grid.text(), output::more_line(self.pages.len(), most))
    }

    fn why(&self, entry: &Entry) -> String {
        match worth_days(entry, self.plan().terms().objective) {
            Some(days) => format!("given up: a visit gains at most {}", day_text(days)),
            None => reason(entry).to_owned(),
        }
    }
}

/// What a visit to a page that is given up gains at most, in days (squared for age).
fn worth_days(entry: &Entry, objective: Objective) -> Option<f64> {
    match entry.reason {
        Reason::TooExpensive { worth } => Some(worth / Unit::Day.seconds().powi(objective.time_power())),
        _ => None,
    }
}

fn page_row<'a>(key: &'a str, page: &Page, entry: &Entry, objective: Objective) -> PageRow<'a> {
    PageRow {
        page: key,
        rate_per_day: page.rate().per_day(),
        weight: page.weight(),
        cost: page.cost(),
        frequency_per_day: entry.frequency.per_day(),
        period_days: days(entry.frequency.period()),
        freshness: entry.freshness,
        age_days: days(entry.age),
        reason: reason(entry),
        worth: worth_days(entry, objective),
    }
}

fn totals_row(plan: &Plan) -> TotalsRow {
    let totals = plan.totals();
    TotalsRow {
        allocation: plan.terms().allocation.word(),
        freshness: totals.freshness,
        age_days: days(totals.age),
        age_days_without_given_up: totals.kept.map(|kept| kept.age.days()),
        harmonic: finite(totals.harmonic),
        visits_per_day: totals.visits.per_day(),
        spending_per_day: totals.spending_per_second * Unit::Day.seconds(),
    }
}

fn day_text(days: f64) -> String {
    Period::of(days, Unit::Day).map_or_else(|_| number(days), |period| period.to_string())
}

fn per_unit(what: &str, unit: Unit) -> String {
    format!("{what}s/{unit}")
}

fn order_words(order: Order) -> String {
    order.word().replace('-', " ")
}
