//! A plan in words, for people and for machines.

use anyhow::{Context, Result};
use everfresh::plan::{Reason, Totals};
use everfresh::{Allocation, Objective, Order, Period, Unit};
use serde::Serialize;

use super::Planned;
use super::rows::{Shown, UNKNOWN, word};
use crate::args::{PriceArgs, Word};
use crate::output::{self, Grid, count, days, finite, number, percent};

/// The sums of one allocation, for machines.
#[derive(Serialize)]
struct TotalsRow {
    allocation: &'static str,
    freshness: f64,
    age_days: Option<f64>,
    age_days_without_given_up: Option<f64>,
    /// Only where it is the objective.
    harmonic: Option<f64>,
    visits_per_day: f64,
    spending_per_day: f64,
}

/// What follows the pages in JSON.
#[derive(Serialize)]
struct Report {
    objective: &'static str,
    order: &'static str,
    allocation: &'static str,
    /// Weight x days that a visit must gain per cost; only the optimal allocation has a price.
    price_days: Option<f64>,
    /// The same for age, where it is weight x days squared.
    price_days_squared: Option<f64>,
    /// With --cost: benefit less cost, per day.
    net_income_per_day: Option<f64>,
    given_up: f64,
    given_up_weight_share: f64,
    static_pages: f64,
    hosts: usize,
    hosts_at_cap: usize,
    floor_per_day: Option<f64>,
    allocations: Vec<TotalsRow>,
}

impl Planned<'_> {
    fn totals(&self) -> Totals {
        self.tally.totals()
    }

    pub(crate) fn objective(&self) -> Objective {
        self.solution.terms().objective
    }

    fn allocation(&self) -> Allocation {
        self.solution.terms().allocation
    }

    /// The mean weight of a page: its law is drawn.
    pub(crate) fn mean_weight(&self) -> f64 {
        self.totals().weight / self.tally.pages
    }

    /// The price in days (squared for age), as people think of it.
    fn price_days(&self) -> Option<f64> {
        let is_optimal = self.allocation() == Allocation::Optimal;
        is_optimal.then(|| self.solution.price() / Unit::Day.seconds().powi(self.objective().time_power()))
    }

    /// Benefit less cost, per unit of time: with --cost the weights are benefits.
    fn net_income(&self) -> Option<f64> {
        let Totals { weight, freshness, spending_per_second, .. } = self.totals();
        let freshness = (self.objective() == Objective::Freshness).then_some(freshness)?;
        let PriceArgs { cost, .. } = self.price;
        cost.map(|cost| weight * freshness - cost * spending_per_second * self.unit.seconds())
    }

    /// The end of the JSON whose beginning are the pages.
    pub(super) fn json_end(&self) -> Result<String> {
        let price = |power: i32| self.price_days().and_then(finite).filter(|_| self.objective().time_power() == power);
        let totals = self.totals();
        let report = Report {
            objective: self.objective().word(),
            order: self.solution.terms().order.word(),
            allocation: self.allocation().word(),
            price_days: price(1),
            price_days_squared: price(2),
            net_income_per_day: self.net_income().map(|income| income / self.unit.seconds() * Unit::Day.seconds()),
            given_up: self.tally.given_up,
            given_up_weight_share: 1.0 - totals.kept.map_or(0.0, |kept| kept.weight_share),
            static_pages: self.tally.static_pages,
            hosts: self.hosts,
            hosts_at_cap: self.solution.hosts_at_cap(),
            floor_per_day: Some(self.solution.floor() * Unit::Day.seconds()).filter(|floor| *floor > 0.0),
            allocations: self.totals.iter().map(|(allocation, totals)| self.totals_row(*allocation, totals)).collect(),
        };
        let report = serde_json::to_string_pretty(&report).context("cannot write JSON")?;
        // The object began with its pages.
        Ok(format!("\n],{}\n", report.trim_start_matches('{')))
    }

    fn totals_row(&self, allocation: Allocation, totals: &Totals) -> TotalsRow {
        TotalsRow {
            allocation: allocation.word(),
            freshness: totals.freshness,
            age_days: days(totals.age),
            age_days_without_given_up: totals.kept.map(|kept| kept.age.days()),
            harmonic: finite(totals.harmonic).filter(|_| self.objective() == Objective::Harmonic),
            visits_per_day: totals.visits.per_day(),
            spending_per_day: totals.spending_per_second * Unit::Day.seconds(),
        }
    }

    pub(super) fn summary(&self) -> String {
        let totals = self.totals();
        let spent = totals.spending_per_second * self.unit.seconds();
        let visits = output::per(totals.visits.per_second(), self.unit);
        let mut text = format!("{}, {visits} {}", count(self.tally.pages, "page"), per_unit("visit", self.unit));
        if (spent / (totals.visits.per_second() * self.unit.seconds()) - 1.0).abs() > 1e-9 {
            text.push_str(&format!(" that cost {} per {}", number(spent), self.unit));
        }
        let order = order_words(self.solution.terms().order);
        text.push_str(&format!(", {order} order, for {}\n\n", self.objective().word()));
        text.push_str(&self.comparison());
        let income = self.net_income().map(|income| format!("net income: {} per {}\n", number(income), self.unit));
        let remarks = [
            self.unspent_line(),
            self.price_line(),
            self.given_up_line(),
            self.floor_line(),
            self.caps_line(),
            income.unwrap_or_default(),
        ]
        .concat();
        if !remarks.is_empty() {
            text.push('\n');
            text.push_str(&remarks);
        }
        text
    }

    fn comparison(&self) -> String {
        let harmonic = self.objective() == Objective::Harmonic;
        let mut headings = vec!["allocation", "freshness", "age"];
        headings.extend(harmonic.then_some("harmonic"));
        let mut grid = Grid::new(&headings);
        for (allocation, totals) in &self.totals {
            let mut row = vec![allocation.word().to_owned(), number(totals.freshness), output::age(totals.age)];
            row.extend(harmonic.then(|| number(totals.harmonic)));
            grid.row(row);
        }
        grid.text()
    }

    fn price_line(&self) -> String {
        let Some(days) = self.price_days().and_then(finite).filter(|days| *days > 0.0) else { return String::new() };
        let gained = match self.objective() {
            Objective::Freshness => format!("{} of freshness", day_text(days)),
            Objective::Age => format!("{} day² of age", number(days)),
            Objective::Harmonic => format!("{} of missed changes", day_text(days)),
        };
        let weighted = self.weights || self.costs;
        let scale = if weighted { ", times its cost over its weight" } else { "" };
        format!("price: a visit must gain {gained}{scale}\n")
    }

    /// Static pages, minimum periods and caps may leave money over; nobody is to find that out from a sum.
    fn unspent_line(&self) -> String {
        let spent = self.totals().spending_per_second;
        let PriceArgs { budget, .. } = self.price;
        match budget {
            Some(budget) if spent < budget * (1.0 - 1e-8) => format!(
                "not all is spent: {} of {} per {}; static pages, minimum periods{} allow no more\n",
                output::per(spent, self.unit),
                output::per(*budget, self.unit),
                self.unit,
                if self.hosts > 0 { " and caps of hosts" } else { "" },
            )
            .replacen("static pages, minimum periods allow", "static pages and minimum periods allow", 1),
            _ => String::new(),
        }
    }

    fn given_up_line(&self) -> String {
        let given_up = self.tally.given_up;
        if given_up == 0.0 {
            return String::new();
        }
        let kept = self.totals().kept;
        format!(
            "given up: {} with {} of the weight: no visit gains the price{}{}\n",
            count(given_up, "page"),
            percent(1.0 - kept.map_or(0.0, |kept| kept.weight_share)),
            if self.solution.hosts_at_cap() > 0 { ", or that of its host" } else { "" },
            kept.map_or_else(String::new, |kept| format!("; the age of the others is {}", output::age(kept.age))),
        )
    }

    fn floor_line(&self) -> String {
        let floor = self.solution.floor();
        if floor == 0.0 {
            return String::new();
        }
        let period =
            Period::of(floor.recip(), Unit::Second).map_or_else(|_| number(floor), |period| period.to_string());
        let unless = if self.hosts > 0 || self.bounds { ", as far as caps and minimum periods allow" } else { "" };
        format!("floor: every page with weight is visited at least once in {period}{unless}\n")
    }

    fn caps_line(&self) -> String {
        match self.hosts {
            0 => String::new(),
            hosts => format!("caps: {} of {} at the cap\n", self.solution.hosts_at_cap(), count(hosts as f64, "host")),
        }
    }

    pub(super) fn table(&self) -> String {
        let (weights, costs) = (self.weights, self.costs);
        let counts = self.shown.iter().any(|page| page.count != 1.0);
        let per_unit = |what: &str| per_unit(what, self.unit);
        let (changes, visits) = (per_unit("change"), per_unit("visit"));
        let mut headings = vec!["page"];
        headings.extend(counts.then_some("count"));
        headings.push(&changes);
        headings.extend(weights.then_some("weight"));
        headings.extend(costs.then_some("cost"));
        headings.extend([visits.as_str(), "period", "freshness", "age", "why"]);
        let mut grid = Grid::new(&headings).left(headings.len() - 1);
        for page in &self.shown {
            let mut row = vec![page.key.clone()];
            row.extend(counts.then(|| number(page.count)));
            row.push(if page.is_unknown { "-".to_owned() } else { output::per(page.rate, self.unit) });
            row.extend(weights.then(|| number(page.weight)));
            row.extend(costs.then(|| number(page.cost)));
            let seconds = |seconds: f64| Period::of(seconds, Unit::Second).unwrap_or(Period::NEVER);
            row.extend([
                output::per(page.answer.frequency, self.unit),
                seconds(page.answer.frequency.recip()).to_string(),
                if page.is_unknown { "-".to_owned() } else { number(page.answer.freshness) },
                if page.is_unknown { "-".to_owned() } else { output::age(seconds(page.answer.age)) },
                self.why(page),
            ]);
            grid.row(row);
        }
        let rows: f64 = self.shown.iter().map(|page| page.count).sum();
        format!("\n{}{}", grid.text(), output::more_line(self.tally.pages - rows))
    }

    fn why(&self, page: &Shown) -> String {
        let unit = Unit::Day.seconds().powi(self.objective().time_power());
        match page.answer.reason {
            _ if page.is_unknown => UNKNOWN.to_owned(),
            Reason::TooExpensive { worth } => format!("given up: a visit gains at most {}", day_text(worth / unit)),
            reason => word(reason).to_owned(),
        }
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
