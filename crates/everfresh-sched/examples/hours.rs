//! What a host with short hours gets: `cargo run --release -p everfresh-sched --example hours`.
//!
//! A thousand pages, half of them on a host that bears so many visits an hour and is open for some hours of the day; the other half on one
//! without limits. After ten days, thirty are counted. It can get what it bears, what the budget brings in its hours with a burst, and what the plan wants for its
//! pages, whatever is least; and the budget is to be spent in any case.

#![allow(clippy::print_stdout)]

use everfresh::{Period, Unit};
use everfresh_sched::{Error, HostId, HostLimits, Memory, Outcome, PageId, PageTerms, Scheduler, Settings, Week};

const DAY: f64 = 86_400.0;
const HOUR: f64 = 3600.0;
/// A Monday, 00:00 UTC.
const START_S: f64 = 1_767_571_200.0;
const PAGES: u32 = 1000;

/// Follows the wake-ups from a day to another, with a plan a day; counts visits to host 0 and to all.
fn drive(scheduler: &mut Scheduler<Memory>, (from, to): (f64, f64)) -> Result<(f64, f64), Error> {
    let (mut now_s, end_s, mut replan_at_s) = (START_S + from * DAY, START_S + to * DAY, START_S + from * DAY);
    let (mut limited, mut all) = (0.0, 0.0);
    while now_s < end_s {
        if now_s >= replan_at_s {
            scheduler.replan(now_s)?;
            scheduler.compact()?;
            replan_at_s = now_s + DAY;
        }
        for lease in scheduler.lease(now_s, 100)? {
            let is_changed = ((now_s - START_S) / HOUR + lease.page.0 as f64) % 3.0 < 1.0;
            let changed = Outcome::Changed { divergence: 1.0, last_change: None };
            scheduler.complete(now_s, lease.id, if is_changed { changed } else { Outcome::Unchanged })?;
            limited += f64::from(u8::from(lease.host == HostId(0)));
            all += 1.0;
        }
        let next = scheduler.next_wakeup(now_s).unwrap_or(f64::INFINITY);
        now_s = next.max(now_s + 1e-3).min(replan_at_s).min(end_s);
    }
    Ok((limited / (to - from), all / (to - from)))
}

/// Visits a day that the plan wants for the pages of host 0, each with its mean wait for an open hour.
fn wanted(scheduler: &Scheduler<Memory>, hours: u8, now_s: f64) -> Result<f64, Error> {
    let closed = 24.0 - f64::from(hours);
    let wait_s = closed / 24.0 * closed / 2.0 * HOUR;
    let mut sum = 0.0;
    for page in (0..PAGES).step_by(2) {
        let period = scheduler.explain(now_s, PageId(page.into()))?.period;
        sum += DAY / (period.seconds() + wait_s);
    }
    Ok(sum)
}

fn main() -> Result<(), Error> {
    println!("hours  bears/h  budget/day  bears/day  brought/day  wanted/day  got/day  of the least  budget spent");
    for (hours, per_hour) in [(6, 30), (2, 30), (1, 30), (1, 6), (1, 120)] {
        for budget in [12_000.0, 3000.0, 1000.0, 500.0, 200.0, 50.0] {
            let settings = Settings::new(budget, Unit::Day)?.with_start(START_S)?;
            let mut scheduler = Scheduler::open(settings, Memory::new(), START_S)?;
            let limits = HostLimits::NONE.with_visits(per_hour, Period::of(HOUR, Unit::Second)?)?;
            let limits = limits.with_week(Week::of(|_, hour| hour < hours)?);
            scheduler.limit(START_S, HostId(0), limits)?;
            for page in 0..PAGES {
                scheduler.add(START_S, PageId(page.into()), PageTerms::new(HostId(page % 2)))?;
            }
            drive(&mut scheduler, (0.0, 10.0))?;
            let (got, all) = drive(&mut scheduler, (10.0, 40.0))?;
            let (bears, wanted) =
                (f64::from(per_hour) * f64::from(hours), wanted(&scheduler, hours, START_S + 40.0 * DAY)?);
            // As Settings::new says.
            let burst = (0.01 * budget).clamp(1.0, 10.0);
            let brought = budget * f64::from(hours) / 24.0 + burst;
            println!(
                "{hours:>5}  {per_hour:>7}  {budget:>10}  {bears:>9}  {brought:>11.1}  {wanted:>10.1}  {got:>7.1}  {:>12.3}  {:>12.3}",
                got / bears.min(wanted).min(brought),
                all / budget,
            );
        }
    }
    Ok(())
}
