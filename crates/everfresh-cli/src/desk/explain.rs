//! `everfresh explain`: one page, in words.

use anyhow::Result;
use everfresh::{Period, Unit};
use everfresh_sched::{Binding, Closed, Explanation};
use serde::Serialize;

use super::args::ExplainArgs;
use super::{Desk, failure};
use crate::output;

/// A page for machines.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    pub page: String,
    pub host: Option<String>,
    pub group: Option<String>,
    pub visits: u32,
    pub changes: u32,
    pub rate_per_day: f64,
    pub elapsed_days: Option<f64>,
    pub utility_days: Option<f64>,
    pub price_days: f64,
    pub period_days: Option<f64>,
    pub due: Option<String>,
    pub waits_for: String,
}

/// `everfresh explain`
pub(crate) fn run(args: &ExplainArgs) -> Result<()> {
    let mut desk = Desk::look(&args.store)?;
    let page = desk.page(&args.page)?;
    let found = desk.scheduler.explain(desk.now_s, page).map_err(failure)?;
    let told = tell(&mut desk, &found)?;
    if args.json {
        return output::print_json(&told);
    }
    let is_copied = desk.scheduler.state().seen_s(page).is_some();
    output::print(&text(&found, &told, desk.now_s, is_copied))
}

/// What is known of a page, with names.
pub(crate) fn tell(desk: &mut Desk, found: &Explanation) -> Result<Page> {
    let store = desk.scheduler.store_mut();
    let names = store.names();
    let (host, group) = (names.host(found.terms.host()), names.group(found.terms.group()));
    let (host, group) = (host.map(str::to_owned), group.map(str::to_owned));
    Ok(Page {
        page: store.address(found.page).map_err(failure)?.unwrap_or_else(|| found.page.0.to_string()),
        host,
        group,
        visits: found.visits,
        changes: found.changes,
        rate_per_day: found.rate.per_day(),
        elapsed_days: output::days(found.elapsed),
        utility_days: found.value.map(|value| value / Unit::Day.seconds()),
        price_days: found.price / Unit::Day.seconds(),
        period_days: output::days(found.period),
        due: found.due_s.map(moment),
        waits_for: reason(found.binding),
    })
}

/// A time for people and machines: in UTC, to the second.
pub(crate) fn moment(unix_s: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
    let second = unix_s.round() as i64;
    jiff::Timestamp::from_second(second).map_or_else(|_| "never".to_owned(), |moment| moment.to_string())
}

fn text(found: &Explanation, told: &Page, now_s: f64, is_copied: bool) -> String {
    let mut grid = output::Grid::new(&[&told.page, ""]).left(1);
    let mut line = |name: &str, value: String| grid.row(vec![name.to_owned(), value]);
    line("host", told.host.clone().unwrap_or_default());
    line("group", told.group.clone().unwrap_or_default());
    line("compared", format!("{}, {} changed", output::count(f64::from(told.visits), "time"), told.changes));
    line("believed to change", format!("{} a day", output::number(told.rate_per_day)));
    line(if is_copied { "since the last visit" } else { "not yet copied, added" }, found.elapsed.to_string());
    let days =
        |value: f64| Period::of(value, Unit::Day).map_or_else(|_| output::number(value), |time| time.to_string());
    line("a visit now is worth", told.utility_days.map_or_else(|| "what its period says".to_owned(), days));
    line("the price", days(told.price_days));
    line("visited every", found.period.to_string());
    line(
        "next visit",
        told.due.clone().map_or_else(|| "none is planned".to_owned(), |due| when(&due, found.due_s, now_s)),
    );
    line("because of", told.waits_for.clone());
    grid.text()
}

fn when(due: &str, due_s: Option<f64>, now_s: f64) -> String {
    let wait = due_s.map_or(0.0, |due| due - now_s);
    let time = |seconds: f64| Period::of(seconds, Unit::Second).map(|time| time.to_string()).unwrap_or_default();
    if wait > 0.0 { format!("{due}, in {}", time(wait)) } else { format!("{due}, {} ago", time(-wait)) }
}

/// What binds, in words.
pub(crate) fn reason(binding: Binding) -> String {
    match binding {
        Binding::Price => "the price: until then a visit is not worth it".to_owned(),
        Binding::HostPrice => "its host, which bears no more and has a higher price".to_owned(),
        Binding::GroupPrice => "its group, which bears no more and has a higher price".to_owned(),
        Binding::MinPeriod => "its minimum period".to_owned(),
        Binding::MaxPeriod => "its maximum period".to_owned(),
        Binding::Floor => "the floor: every page is visited so often".to_owned(),
        Binding::Pin => "its pin".to_owned(),
        Binding::GroupPeriod => "its group's period".to_owned(),
        Binding::Backoff { failures } => format!("{failures} failed in a row: it waits"),
        Binding::Gone { misses } => format!("gone, seen {misses} times in a row: it is probed ever more rarely"),
        Binding::Hint => "a hint that it changes or has changed".to_owned(),
        Binding::Retired => "it was gone for good: `everfresh add` takes it back".to_owned(),
        Binding::Leased { until_s, .. } => format!("it is being visited, until {} at the latest", moment(until_s)),
        Binding::Host(closed) => held("host", closed),
        Binding::Group(closed) => held("group", closed),
        Binding::Budget => "the budget: it is due".to_owned(),
    }
}

fn held(what: &str, closed: Closed) -> String {
    match closed {
        Closed::Blocked { until_s } => format!("its {what} is to be left alone until {}", moment(until_s)),
        Closed::Concurrency => format!("its {what}, where as many visits are going on as it bears"),
        Closed::Gap { until_s } => format!("its {what}'s gap, until {}", moment(until_s)),
        Closed::Hours { until_s } => format!("its {what}'s hours: it opens at {}", moment(until_s)),
    }
}
