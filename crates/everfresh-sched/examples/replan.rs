//! How long a plan takes: `cargo run --release -p everfresh-sched --example replan -- [pages] [hosts] [gap in seconds] [days] [plans]`.
//!
//! Every page is visited once a day on average before, so that many have evidence of their own.

#![allow(clippy::print_stdout, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use everfresh::{Period, Unit};
use everfresh_sched::{
    Error, Event, HostId, HostLimits, Outcome, PageId, PageTerms, Scheduler, Settings, State, Store,
};
use std::time::Instant;

/// A store that keeps nothing.
struct Nowhere;

impl Store for Nowhere {
    fn append(&mut self, _: &[Event]) -> Result<(), Error> {
        Ok(())
    }

    fn keep(&mut self, _: &State) -> Result<(), Error> {
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Option<State>, Error> {
        Ok(None)
    }

    fn replay(&mut self, _: &mut dyn FnMut(&Event) -> Result<(), Error>) -> Result<(), Error> {
        Ok(())
    }
}

/// Seconds of processor time so far, all threads together; 0 where the system does not say.
fn processor_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() -> Result<(), Error> {
    let arguments: Vec<f64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let number = |index: usize, default: f64| arguments.get(index).copied().unwrap_or(default);
    let (pages, hosts, gap_s) = (number(0, 1e6), number(1, 1e4) as u64, number(2, 0.0));
    let limits = HostLimits::NONE.with_gap(Period::of(gap_s, Unit::Second)?)?;
    // All pages once a day.
    let settings = Settings::new(pages, Unit::Day)?.with_burst(10_000.0)?.with_limits(limits);
    let mut scheduler = Scheduler::open(settings, Nowhere, 0.0)?;
    let begun = Instant::now();
    scheduler.reserve(pages as usize);
    for id in 0..pages as u64 {
        let terms = PageTerms::new(HostId((id % hosts) as u32)).with_weight(1.0 + (id % 97) as f64)?;
        scheduler.add(0.0, PageId(id), terms)?;
    }
    println!("{pages} pages added in {:.2?}", begun.elapsed());
    let begun = Instant::now();
    let (mut visits, mut now_s) = (0, 0.0);
    while now_s < number(3, 2.0) * 86_400.0 {
        for lease in scheduler.lease(now_s, 10_000)? {
            let changed = (lease.page.0 + lease.id.0) % 7 < lease.page.0 % 5;
            let change = Outcome::Changed { divergence: 1.0, last_change: None };
            scheduler.complete(now_s, lease.id, if changed { change } else { Outcome::Unchanged })?;
            visits += 1;
        }
        now_s += 10_000.0 * 86_400.0 / pages;
    }
    println!("{visits} visits in {:.2?}", begun.elapsed());
    for round in 0..number(4, 3.0) as u32 {
        let (begun, used, now_s) = (Instant::now(), processor_s(), now_s + f64::from(round));
        scheduler.replan(now_s)?;
        let (took, used) = (begun.elapsed(), processor_s() - used);
        let price = scheduler.explain(now_s, PageId(0))?.price;
        println!("plan {round}: {took:.3?}, {used:.2} s of processors, price {price:.6}");
        let (begun, mut slices) = (Instant::now(), Vec::new());
        loop {
            let begun = Instant::now();
            let is_made = scheduler.plan_on(now_s, 65_536)?;
            slices.push(begun.elapsed());
            if is_made {
                break;
            }
        }
        let took = begun.elapsed();
        let longest = slices.iter().enumerate().max_by_key(|(_, took)| **took);
        println!("in {} slices: {took:.3?}, the longest {longest:.3?}", slices.len());
    }
    println!("{:.1} bytes a page", scheduler.resident_bytes() as f64 / pages);
    Ok(())
}
