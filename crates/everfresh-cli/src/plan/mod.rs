//! `everfresh plan`: from a table of pages of any size and a budget to how often each is visited.
//!
//! The table is scanned to find the price, under caps of hosts a few times, and once more to apply it; it is not held.

mod pages;
mod rows;
mod summary;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use everfresh::plan::Totals;
use everfresh::plan::stream::{Limits, Solution, Tally};
use everfresh::{Allocation, Objective, Period, Price, Terms, Unit};

use crate::args::{ColumnArgs, LimitArgs, PlanArgs, PriceArgs};
use crate::chart;
use crate::output;
use crate::table::{self, Input, OutTable, Quantity, Wanted};
use crate::whole;
pub(crate) use pages::{Asked, FilePages, caps, leave_curves, wanted};
use rows::{Applied, Shown};

/// CGM03 example 5.4: the table that `--example` plans.
const EXAMPLE: &str = "page,rate\ne1,1/day\ne2,2/day\ne3,3/day\ne4,4/day\ne5,5/day\n";
const EXAMPLE_BUDGET_PER_DAY: f64 = 5.0;

/// Everything that is said about a plan, besides its pages.
pub(crate) struct Planned<'a> {
    pub solution: Solution<'a>,
    pub tally: Tally,
    /// Of the uniform, the proportional and the optimal allocation.
    pub totals: Vec<(Allocation, Totals)>,
    /// Do weights, or costs, differ?
    pub weights: bool,
    pub costs: bool,
    pub hosts: usize,
    /// Does the table have minimum or maximum periods?
    pub bounds: bool,
    pub shown: Vec<Shown>,
    pub unit: Unit,
    pub price: &'a PriceArgs,
}

pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    if args.output.json && args.output.out.as_deref() == Some(Path::new("-")) {
        bail!("--json and --out - both want stdout");
    }
    args.output.out.as_deref().map(table::check_ending).transpose()?;
    args.plot.as_deref().map(chart::check_ending).transpose()?;
    let inputs: Vec<PathBuf> = args.pages.iter().chain(&args.limits.host_caps).cloned().collect();
    for path in [&args.output.out, &args.plot].into_iter().flatten() {
        whole::check_not_read(path, &inputs)?;
    }
    let price = price(args)?;
    let mut input = open(args)?;
    leave_curves(&mut input, &args.curves, args.order.into(), args.objective.into())?;
    if args.output.json || args.output.out.is_some() {
        table::check_columns(&rows::schema(&input, false, args))?;
    }
    let pages = if args.limits.cap_hosts() { FilePages::with_hosts(&input)? } else { FilePages::new(&input)? };
    let limits = limits(&args.limits, unit(&args.columns), &pages)?;
    let terms =
        Terms { objective: args.objective.into(), order: args.order.into(), allocation: args.allocation.into(), price };
    let plans = Plans::solve(&pages, terms, &limits).map_err(|error| in_context(error, &input, &pages))?;
    let applied = Applied::of(&pages, &plans, args)?;
    let (weights, costs) = pages.census().map(|census| (census.weights, census.costs))?;
    let planned = Planned {
        totals: plans.totals(&applied),
        tally: applied.tally,
        weights,
        costs,
        hosts: limits.caps.len(),
        bounds: pages.have_bounds(),
        shown: applied.shown,
        unit: unit(&args.columns),
        price: &args.price,
        solution: plans.chosen,
    };
    if let Some(path) = &args.plot {
        let picture = chart::plan(&planned, &applied.cloud)?;
        chart::write(path, "How often each page is to be visited", &picture, &planned.summary())?;
    }
    if args.output.json {
        return output::print_raw(&planned.json_end()?);
    }
    let mut text = planned.summary();
    match &args.output.out {
        // The table itself went to stdout.
        Some(path) if path == Path::new("-") => {
            output::say(text.trim_end());
            return Ok(());
        }
        Some(_) => {}
        None => text.push_str(&planned.table()),
    }
    output::print(&text)
}

pub(crate) fn unit(columns: &ColumnArgs) -> Unit {
    columns.unit.unwrap_or(Unit::Day)
}

fn open(args: &PlanArgs) -> Result<Input> {
    let asked = Asked {
        weight: args.weight_column.as_deref(),
        count: args.count_column.as_deref(),
        min_period: args.min_period_column.as_deref(),
        max_period: args.max_period_column.as_deref(),
        host: args.limits.cap_hosts().then_some(args.limits.host_column.as_str()),
        curve: args.curves.curve_column.as_deref(),
        shape: args.curves.shape_column.as_deref(),
    };
    let columns = wanted(&args.columns, asked);
    if args.example {
        return Input::from_text("the example", EXAMPLE, columns);
    }
    Input::open(&args.pages, columns)
}

/// The floor and the caps of hosts.
pub(crate) fn limits(args: &LimitArgs, unit: Unit, pages: &FilePages<'_>) -> Result<Limits> {
    let floor = args.floor.unwrap_or(0.0);
    if !args.cap_hosts() {
        return Ok(Limits { floor, caps: Vec::new() });
    }
    let own = args.host_caps.as_ref().map(|path| host_caps(path, unit)).transpose()?.unwrap_or_default();
    Ok(Limits { floor, caps: caps(pages.host_names(), &own, args.host_cap) })
}

/// A table of hosts and caps.
fn host_caps(path: &PathBuf, unit: Unit) -> Result<Vec<(String, f64)>> {
    let cap = Wanted::required("cap", Quantity::PerTime { what: "cap" });
    let columns =
        table::Columns { key: Some("host".to_owned()), host: None, numbers: vec![cap], texts: Vec::new(), unit };
    let input = Input::open(std::slice::from_ref(path), columns)?;
    input.pages(|batch, row| {
        let cap = batch.numbers[0].as_deref().map_or(f64::INFINITY, |caps| caps[row]);
        // As the library demands of it, but named by its place.
        match Price::for_budget(cap, Unit::Second) {
            Ok(_) => Ok(cap),
            Err(_) => Err(batch.wrong(row, 0, "a cap must be positive and between 1e-20 and 1e20 per second")),
        }
    })
}

/// The plan that is asked for, and the other allocations of the same spending, for comparison.
struct Plans<'a> {
    chosen: Solution<'a>,
    others: Vec<(Allocation, Other<'a>)>,
}

enum Other<'a> {
    /// Told by the spread of the rates.
    Known(Totals),
    /// To be summed up over the pages.
    Solved(Solution<'a>),
}

impl<'a> Plans<'a> {
    fn solve(pages: &FilePages<'_>, terms: Terms, limits: &'a Limits) -> Result<Plans<'a>> {
        pages.call_pass("finding the price");
        let chosen = Solution::of(pages, terms, limits)?;
        if pages.census()?.spread.weight() == 0.0 {
            bail!("cannot plan: all weights are zero");
        }
        // A price stands for the budget that the optimum spends at it.
        let budget = match terms.price.budget_per_second() {
            Some(budget) => budget,
            None => chosen.spending(pages)?,
        };
        let is_free = !pages.have_bounds() && !pages.have_curves() && limits.floor == 0.0 && limits.caps.is_empty();
        pages.call_pass("comparing");
        let other = |allocation: Allocation| -> Result<Other<'a>> {
            if (is_free || budget == 0.0) && allocation != Allocation::Optimal {
                let spread = &pages.census()?.spread;
                return Ok(Other::Known(spread.totals(allocation, terms.order, terms.objective, budget)));
            }
            let price = if budget > 0.0 { Price::for_budget(budget, Unit::Second)? } else { terms.price };
            Ok(Other::Solved(Solution::of(pages, Terms { allocation, price, ..terms }, limits)?))
        };
        let others = Allocation::ALL.into_iter().filter(|allocation| *allocation != terms.allocation);
        let others = others.map(|allocation| Ok((allocation, other(allocation)?))).collect::<Result<_>>()?;
        Ok(Plans { chosen, others })
    }

    /// Those of the others that are to be summed up.
    fn to_sum(&self) -> impl Iterator<Item = &Solution<'a>> {
        self.others.iter().filter_map(|(_, other)| match other {
            Other::Solved(solution) => Some(solution),
            Other::Known(_) => None,
        })
    }

    /// The totals of all allocations.
    fn totals(&self, applied: &Applied) -> Vec<(Allocation, Totals)> {
        let mut summed = applied.others.iter();
        let mut other = |allocation: Allocation| match self.others.iter().find(|other| other.0 == allocation) {
            None => applied.tally.totals(),
            Some((_, Other::Known(totals))) => *totals,
            Some((_, Other::Solved(_))) => summed.next().unwrap_or(&applied.tally).totals(),
        };
        Allocation::ALL.into_iter().map(|allocation| (allocation, other(allocation))).collect()
    }
}

/// The solver's own errors get the table's name, and hosts their names.
pub(crate) fn in_context(error: anyhow::Error, input: &Input, pages: &FilePages<'_>) -> anyhow::Error {
    let Some(known) = error.downcast_ref::<everfresh::Error>() else {
        return match error.to_string() {
            said if said.starts_with("cannot plan") => error.context(input.name().to_owned()),
            _ => error,
        };
    };
    let mut said = known.to_string();
    if let everfresh::Error::HostInfeasible { host, .. } = known {
        let name = pages.host_names().get(*host as usize).map_or("?", String::as_str);
        said = said.replacen(&format!("on host {host} "), &format!("on host `{name}` "), 1);
    }
    anyhow::anyhow!("{}: {said}", input.name())
}

fn price(args: &PlanArgs) -> Result<Price> {
    let objective = args.objective.into();
    Ok(match &args.price {
        PriceArgs { budget: Some(per_second), .. } => {
            Price::for_budget(*per_second, Unit::Second).context("--budget")?
        }
        PriceArgs { price: Some(text), .. } => {
            let seconds = given_price("--price", text, objective)?;
            Price::given(seconds, Unit::Second).with_context(|| format!("--price `{text}`"))?
        }
        PriceArgs { cost: Some(cost), .. } => Price::for_cost(*cost, unit(&args.columns)).context("--cost")?,
        _ if args.example => Price::for_budget(EXAMPLE_BUDGET_PER_DAY, Unit::Day)?,
        _ => bail!("say what pays for the visits: --budget 500/day, --price 6h or --cost 0.002"),
    })
}

/// `6h` for freshness and harmonic; `2h2`, `2h^2` or `2h²`, hours squared, for age; in seconds (squared).
pub(crate) fn given_price(flag: &str, text: &str, objective: Objective) -> Result<f64> {
    use crate::args::Word;
    let squared = ["^2", "²", "2"].into_iter().find_map(|suffix| text.strip_suffix(suffix));
    let squared = squared.filter(|time| time.ends_with(char::is_alphabetic));
    let seconds = match (objective.time_power(), squared) {
        (1, None) => time(text),
        (2, Some(time)) => squared_time(time),
        (2, None) => bail!("{flag}: for age it is a squared time such as `2h2`, got `{text}`"),
        _ => bail!("{flag}: for {} it is a time such as `6h`, got `{text}`", objective.word()),
    };
    let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0 && seconds.is_finite()) else {
        bail!("{flag} must be positive and finite, a number with a unit, got `{text}`");
    };
    Ok(seconds)
}

fn time(text: &str) -> Option<f64> {
    text.parse().ok().map(Period::seconds)
}

/// `2h` read as two hours squared.
fn squared_time(text: &str) -> Option<f64> {
    let end = text.trim_end_matches(char::is_alphabetic).len();
    let unit: Unit = text[end..].parse().ok()?;
    // One number and one unit: nobody knows what `1h30min` squared is meant to be.
    text[..end].trim().parse::<f64>().ok()?;
    Some(time(text)? * unit.seconds())
}

/// Creates the file that the plan's pages go to, if one is asked for.
fn out_table(args: &PlanArgs, schema: &arrow_schema::SchemaRef) -> Result<Option<OutTable>> {
    args.output.out.as_deref().map(|path| OutTable::create(path, schema)).transpose()
}
