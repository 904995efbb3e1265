//! `everfresh status` and `everfresh forecast`: how fresh the copies are believed to be, and what will be.

use anyhow::Result;
use everfresh::{Period, Unit};
use everfresh_sched::{Broken, Forecast, PageId, Part};
use serde::Serialize;

use super::args::{ForecastArgs, StatusArgs, StoreArgs};
use super::{Desk, failure};
use crate::output::{self, Grid};

/// A group or a host for machines.
#[derive(Debug, Serialize)]
struct Named {
    name: String,
    pages: f64,
    weight: f64,
    freshness: f64,
    age_days: Option<f64>,
    predicted_freshness: f64,
    predicted_age_days: Option<f64>,
    spending_per_day: f64,
    backlog: f64,
    /// Of whoever has one of its own.
    price_days: Option<f64>,
}

fn named(name: Option<&str>, part: &Part) -> Named {
    let days = |seconds: f64| output::finite(seconds / Unit::Day.seconds());
    Named {
        name: name.unwrap_or("?").to_owned(),
        pages: part.now.pages,
        weight: part.now.weight,
        freshness: part.now.freshness,
        age_days: days(part.now.age_s),
        predicted_freshness: part.expected.freshness,
        predicted_age_days: days(part.expected.age_s),
        spending_per_day: part.spending_per_s * Unit::Day.seconds(),
        backlog: part.due,
        price_days: days(part.own_price).filter(|price| *price > 0.0),
    }
}

/// A time in words.
pub(crate) fn time(seconds: f64) -> String {
    // Nobody asks for less than a millisecond.
    let seconds = if seconds < 1e-3 { 0.0 } else { seconds };
    Period::of(seconds, Unit::Second).map_or_else(|_| "never".to_owned(), |time| time.to_string())
}

/// What was spent in the last day, or since the store began.
fn spent(desk: &mut Desk, args: &StoreArgs) -> Result<f64> {
    let (mut spent, since_s) = (0.0, desk.now_s - Unit::Day.seconds());
    let (state, store) = desk.scheduler.parts();
    // What a page that was removed has cost nobody knows.
    let mut count = |page: PageId| spent += state.terms(page).map_or(1.0, |terms| terms.cost());
    store.leased_since(&args.data, since_s, &mut count).map_err(failure)?;
    Ok(spent)
}

/// `everfresh status`
pub(crate) fn status(args: &StatusArgs) -> Result<()> {
    let mut desk = Desk::look(&args.store)?;
    let now_s = desk.now_s;
    let status = desk.scheduler.status(now_s);
    let standing = desk.scheduler.standing(now_s, args.rows);
    let forecast = desk.scheduler.forecast(1.0).map_err(failure)?;
    let overload = desk.scheduler.overload(now_s);
    let spent = spent(&mut desk, &args.store)?;
    let names = desk.scheduler.store().names();
    let groups: Vec<Named> = standing.groups.iter().map(|(group, part)| named(names.group(*group), part)).collect();
    let hosts: Vec<Named> = standing.hosts.iter().map(|(host, part)| named(names.host(*host), part)).collect();
    let resting = resting(&desk);
    let budget = desk.scheduler.state().settings().budget_per_second();
    if args.json {
        return output::print_json(&serde_json::json!({
            "pages": status.pages, "failing": status.failing, "gone": status.gone, "retired": status.retired,
            "freshness": standing.all.freshness, "age_days": output::finite(standing.all.age_s / Unit::Day.seconds()),
            "predicted_freshness": forecast.all.freshness,
            "predicted_age_days": output::finite(forecast.all.age_s / Unit::Day.seconds()),
            "price_days": status.steered_price / Unit::Day.seconds(),
            "budget_per_day": budget * Unit::Day.seconds(), "spending_per_day": forecast.spending_per_s * Unit::Day.seconds(),
            "spent_last_day": spent, "under_way": status.leased, "backlog": overload.backlog, "backlog_clears_days": output::finite(overload.clears_s / Unit::Day.seconds()),
            "freshness_lost_to_overload": overload.freshness_lost, "promised_and_due": overload.promised,
            "looked_at": standing.sample, "groups": groups, "hosts": hosts,
            "resting": resting.iter().map(|(host, rest_s)| serde_json::json!({ "host": host, "seconds": rest_s.ceil() })).collect::<Vec<_>>(),
        }));
    }
    let mut grid = Grid::new(&[&desk.scheduler.store().dir().display().to_string(), "now", "expected"]);
    let mut line = |name: &str, now: String, then: String| grid.row(vec![name.to_owned(), now, then]);
    line("freshness", output::percent(standing.all.freshness), output::percent(forecast.all.freshness));
    line("age", time(standing.all.age_s), time(forecast.all.age_s));
    line("price", time(status.steered_price), time(forecast.price));
    let per_day = |per_s: f64| format!("{} a day", output::per(per_s, Unit::Day));
    line(
        "spending",
        format!("{} in the last day", output::number(spent)),
        format!("{} of {}", output::per(forecast.spending_per_s, Unit::Day), per_day(budget)),
    );
    line("pages", status.pages.to_string(), String::new());
    line("failing, gone, retired", format!("{}, {}, {}", status.failing, status.gone, status.retired), String::new());
    line("due and waiting", overload.backlog.to_string(), String::new());
    let mut text = grid.text();
    if overload.backlog > 0 {
        let lost = output::percent(overload.freshness_lost);
        text.push_str(&format!(
            "what is due takes {} of the budget and costs {lost} of freshness\n",
            time(overload.clears_s)
        ));
    }
    if overload.latest > 1.05 {
        text.push_str(&format!(
            "the longest wait of a page that is due is {} times what was promised\n",
            output::number(overload.latest)
        ));
    }
    if let Some((host, rest_s)) = resting.first() {
        let number = output::count(resting.len() as f64, "host");
        text.push_str(&format!("{number} left alone, longest {host} for another {}\n", time(*rest_s)));
    }
    text.push_str(&table("group", &groups, args.rows));
    text.push_str(&table("host with most that is stale", &hosts, args.rows));
    if standing.sample < status.pages {
        text.push_str(&format!("freshness is that of {} pages\n", standing.sample));
    }
    output::print(&text)
}

/// Hosts that are left alone and for how long yet, longest first.
fn resting(desk: &Desk) -> Vec<(&str, f64)> {
    let names = desk.scheduler.store().names();
    let blocked = desk.scheduler.state().blocked_hosts(desk.now_s);
    let mut resting: Vec<(&str, f64)> =
        blocked.map(|(host, until_s)| (names.host(host).unwrap_or("?"), until_s - desk.now_s)).collect();
    resting.sort_by(|a, b| b.1.total_cmp(&a.1));
    resting
}

fn table(name: &str, rows: &[Named], most: usize) -> String {
    let mut grid = Grid::new(&[name, "pages", "freshness", "expected", "age", "visits a day", "due"]);
    for row in rows.iter().take(most) {
        let age = row.age_days.map_or_else(|| "never copied".to_owned(), |days| time(days * Unit::Day.seconds()));
        grid.row(vec![
            row.name.clone(),
            output::number(row.pages),
            output::percent(row.freshness),
            output::percent(row.predicted_freshness),
            age,
            output::number(row.spending_per_day),
            output::number(row.backlog),
        ]);
    }
    let more = rows.len().saturating_sub(most);
    let more = if more > 0 { format!("and {more} more: --rows shows them, --json has all\n") } else { String::new() };
    if rows.is_empty() || most == 0 { String::new() } else { format!("\n{}{more}", grid.text()) }
}

/// Budgets that a forecast is made for, as multiples of the present one.
const FACTORS: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];

/// `everfresh forecast`
pub(crate) fn forecast(args: &ForecastArgs) -> Result<()> {
    let desk = Desk::look(&args.store)?;
    let all: Vec<Forecast> =
        FACTORS.iter().map(|factor| desk.scheduler.forecast(*factor).map_err(failure)).collect::<Result<_>>()?;
    let names = desk.scheduler.store().names();
    let who = |broken: &Broken| match (broken.host, broken.group) {
        (Some(host), _) => names.host(host).unwrap_or("?").to_owned(),
        (None, Some(group)) => format!("group {}", names.group(group).unwrap_or("?")),
        (None, None) => "the budget".to_owned(),
    };
    let broken = &all[1].broken;
    if args.json {
        let rows: Vec<_> = all.iter().zip(FACTORS).map(|(one, factor)| serde_json::json!({
            "budget_factor": factor, "budget_per_day": one.budget_per_s * Unit::Day.seconds(),
            "spending_per_day": one.spending_per_s * Unit::Day.seconds(), "price_days": one.price / Unit::Day.seconds(),
            "freshness": one.all.freshness, "age_days": output::finite(one.all.age_s / Unit::Day.seconds()),
            "full_hosts": one.full_hosts, "full_groups": one.full_groups,
        })).collect();
        let broken: Vec<_> = broken
            .iter()
            .map(|one| {
                serde_json::json!({
                    "by": who(one), "promised_per_day": one.promised_per_s * Unit::Day.seconds(),
                    "available_per_day": one.available_per_s * Unit::Day.seconds(),
                })
            })
            .collect();
        return output::print_json(&serde_json::json!({ "budgets": rows, "broken_promises": broken }));
    }
    let heads = ["budget a day", "spent", "freshness", "age", "price", "full hosts", "full groups"];
    let mut grid = Grid::new(&heads).numbers_first();
    for one in &all {
        grid.row(vec![
            output::per(one.budget_per_s, Unit::Day),
            output::percent(one.spending_per_s / one.budget_per_s),
            output::percent(one.all.freshness),
            time(one.all.age_s),
            time(one.price),
            one.full_hosts.to_string(),
            one.full_groups.to_string(),
        ]);
    }
    let mut text = grid.text();
    if broken.is_empty() {
        text.push_str("all promises can be kept\n");
    }
    for one in broken {
        let per_day = |per_s: f64| output::per(per_s, Unit::Day);
        text.push_str(&format!(
            "promises that cannot be kept: {} visits a day, and {} has {}: periods will be {} times as long\n",
            per_day(one.promised_per_s),
            who(one),
            per_day(one.available_per_s),
            output::number(one.late()),
        ));
    }
    output::print(&text)
}
