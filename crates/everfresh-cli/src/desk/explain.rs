//! `everfresh explain`: one page, in words.

use anyhow::Result;
use everfresh::curve::DivergenceCurve;
use everfresh::{Period, Unit};
use everfresh_sched::{Binding, Closed, Explanation, HintKind, Trouble};
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
    pub weight: f64,
    pub cost: f64,
    /// The bounds on the time between visits.
    pub min_period_days: Option<f64>,
    pub max_period_days: Option<f64>,
    pub visits: u32,
    pub changes: u32,
    /// live, failing, gone or retired
    pub state: &'static str,
    pub rate_per_day: f64,
    /// Of the curve `1 - (1 + t/beta)^-alpha` by which copy and source diverge.
    pub curve_alpha: Option<f64>,
    pub curve_beta_days: Option<f64>,
    /// The probability that the copy is fresh, now and when it is visited next.
    pub freshness: Option<f64>,
    pub freshness_at_visit: Option<f64>,
    pub hint: Option<&'static str>,
    pub hint_believed: Option<f64>,
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
    let is_copied = desk.scheduler.state().seen_s(found.page).is_some();
    let fresh = |after: Period| found.curve.filter(|_| is_copied).map(|curve| 1.0 - curve.divergence(after));
    let wait_s = found.due_s.map_or(0.0, |due| (due - desk.now_s).max(0.0));
    let at_visit = Period::of(found.elapsed.seconds() + wait_s, Unit::Second).ok().filter(|_| found.due_s.is_some());
    let store = desk.scheduler.store_mut();
    let names = store.names();
    let (host, group) = (names.host(found.terms.host()), names.group(found.terms.group()));
    let (host, group) = (host.map(str::to_owned), group.map(str::to_owned));
    Ok(Page {
        page: store.address(found.page).map_err(failure)?.unwrap_or_else(|| found.page.0.to_string()),
        host,
        group,
        weight: found.terms.weight(),
        cost: found.terms.cost(),
        min_period_days: output::days(found.terms.min_period()).filter(|days| *days > 0.0),
        max_period_days: output::days(found.terms.max_period()),
        visits: found.visits,
        changes: found.changes,
        state: state(found.trouble),
        rate_per_day: found.rate.per_day(),
        curve_alpha: found.curve.map(|curve| curve.alpha()),
        curve_beta_days: found.curve.and_then(|curve| output::days(curve.beta())),
        freshness: fresh(found.elapsed),
        freshness_at_visit: at_visit.and_then(fresh),
        hint: found.hint.map(|(kind, _)| hinted(kind)),
        hint_believed: found.hint.map(|(_, believed)| believed),
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

fn state(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::None => "live",
        Trouble::Failing(_) => "failing",
        Trouble::Gone(_) => "gone",
        Trouble::Retired => "retired",
    }
}

fn hinted(kind: HintKind) -> &'static str {
    match kind {
        HintKind::Push => "notice",
        HintKind::Feed => "feed",
        HintKind::Sitemap => "sitemap",
        HintKind::LastModified => "last-modified",
        HintKind::Expires => "expires",
    }
}

/// What is asked for a page beside what is asked for any.
fn asked(found: &Explanation) -> Option<String> {
    let terms = &found.terms;
    let parts = [
        (terms.weight() != 1.0).then(|| format!("weight {}", output::number(terms.weight()))),
        (terms.cost() != 1.0).then(|| format!("cost {}", output::number(terms.cost()))),
        (terms.min_period() > Period::ZERO).then(|| format!("at least {} between visits", terms.min_period())),
        (terms.max_period() < Period::NEVER).then(|| format!("at most {} between visits", terms.max_period())),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn text(found: &Explanation, told: &Page, now_s: f64, is_copied: bool) -> String {
    let mut grid = output::Grid::new(&[&told.page, ""]).left(1);
    let mut line = |name: &str, value: String| grid.row(vec![name.to_owned(), value]);
    line("host", told.host.clone().unwrap_or_default());
    line("group", told.group.clone().unwrap_or_default());
    if let Some(asked) = asked(found) {
        line("asked", asked);
    }
    line("compared", format!("{}, {} changed", output::count(f64::from(told.visits), "time"), told.changes));
    line("believed to change", format!("{} a day", output::number(told.rate_per_day)));
    if let Some(curve) = found.curve {
        let stale = |days: f64| Period::of(days, Unit::Day).map_or(0.0, |time| curve.divergence(time));
        line(
            "stale after a day, a week, 30 days",
            [1.0, 7.0, 30.0].map(|days| output::percent(stale(days))).join(", "),
        );
    }
    line(if is_copied { "since the last visit" } else { "not yet copied, added" }, found.elapsed.to_string());
    if let Some(now) = told.freshness {
        let then = told.freshness_at_visit.map(|then| format!(", {} when next visited", output::percent(then)));
        line("probably fresh", output::percent(now) + &then.unwrap_or_default());
    }
    if let (Some(hint), Some(believed)) = (told.hint, told.hint_believed) {
        line("hint of a change", format!("{hint}, believed {}", output::percent(believed)));
    }
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
