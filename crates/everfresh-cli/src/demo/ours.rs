//! Everfresh in the demo: the scheduler, with what visits find.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use everfresh::{Period, Unit};
use everfresh_crawl::fetch::{Manners, Sources};
use everfresh_sched::{GroupId, HostId, HostLimits, LeaseId, Memory, Outcome, PageId, PageTerms, Scheduler, Settings};
use tokio::task::JoinSet;

use super::look::{self, Held, Listed, Saw, Seen};
use crate::interrupt;
use crate::run::clock::Clock;

/// Visits at a time.
pub(super) const AT_A_TIME: usize = 64;
/// How often the price is found anew, in seconds of the run.
const REPLAN_S: f64 = 21_600.0;
/// The longest time that passes until an interrupt is noticed.
pub(super) const NOTICE: Duration = Duration::from_millis(200);
/// The longest time that a visit may take, of the world, before its page is given out again.
const LEASE: Duration = Duration::from_secs(30);

/// For so long the machine may have other things to do before visits are lost: minutes of a clock that goes fast.
const STALL: Duration = Duration::from_millis(250);

/// A visit that is over.
struct Done {
    lease: LeaseId,
    page: usize,
    held: Held,
    saw: Saw,
    manners: Vec<Manners>,
}

struct Run<'a> {
    pages: &'a [Listed],
    hosts: HashMap<String, u32>,
    gaps: HashMap<u32, Duration>,
    clock: Clock,
    scheduler: Scheduler<Memory>,
    sources: Sources,
    held: Vec<Held>,
    flying: JoinSet<Done>,
}

/// Keeps copies of pages fresh until a time, and tells of every visit.
pub(super) fn ours(
    pages: &[Listed],
    budget_per_s: f64,
    clock: Clock,
    until_s: f64,
    seen: &mut dyn FnMut(Seen),
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { Run::new(pages, budget_per_s, clock)?.until(until_s, seen).await })
}

impl<'a> Run<'a> {
    fn new(pages: &'a [Listed], budget_per_s: f64, clock: Clock) -> Result<Run<'a>> {
        let now_s = clock.now_s();
        let speed = if let Clock::Fast { speed, .. } = clock { speed } else { 1.0 };
        let lease_s = speed * LEASE.as_secs_f64();
        let settings = Settings::new(budget_per_s, Unit::Second)?
            .with_start(now_s)?
            .with_burst((budget_per_s * speed * STALL.as_secs_f64()).max(1.0))?
            .with_lease(Period::of(lease_s, Unit::Second)?)?;
        let mut scheduler = Scheduler::open(settings, Memory::new(), now_s)?;
        let terms = |page: &Listed| PageTerms::new(HostId(page.host)).in_group(group(page.host));
        let all: Vec<_> = (0..).map(PageId).zip(pages.iter().map(terms)).collect();
        scheduler.add_all(now_s, &all)?;
        scheduler.replan(now_s)?;
        Ok(Run {
            pages,
            hosts: look::hosts(pages),
            gaps: HashMap::new(),
            clock,
            scheduler,
            sources: look::sources()?,
            held: vec![Held::default(); pages.len()],
            flying: JoinSet::new(),
        })
    }

    async fn until(mut self, until_s: f64, seen: &mut dyn FnMut(Seen)) -> Result<()> {
        let mut replan_s = self.clock.now_s() + REPLAN_S;
        loop {
            interrupt::check()?;
            let now_s = self.clock.now_s();
            if now_s >= until_s {
                return Ok(());
            }
            if now_s >= replan_s {
                self.scheduler.replan(now_s)?;
                replan_s = now_s + REPLAN_S;
            }
            self.send_out(now_s)?;
            let wakes_s = self.scheduler.next_wakeup(now_s).unwrap_or(until_s).min(replan_s).min(until_s);
            let is_full = self.flying.len() >= AT_A_TIME;
            let wait = if is_full { NOTICE } else { self.clock.wait(wakes_s).min(NOTICE) };
            tokio::select! {
                Some(done) = self.flying.join_next() => self.take(done?, seen)?,
                () = tokio::time::sleep(wait) => {}
            }
            while let Some(done) = self.flying.try_join_next() {
                self.take(done?, seen)?;
            }
        }
    }

    /// Begins all visits that may begin now.
    fn send_out(&mut self, now_s: f64) -> Result<()> {
        for lease in self.scheduler.lease(now_s, AT_A_TIME - self.flying.len().min(AT_A_TIME))? {
            let page = usize::try_from(lease.page.0)?;
            let (sources, listed, date) = (self.sources.clone(), self.pages[page].clone(), self.clock.date());
            let mut held = std::mem::take(&mut self.held[page]);
            self.flying.spawn(async move {
                let (saw, manners) = look::look(&sources, &listed, date, &mut held).await;
                Done { lease: lease.id, page, held, saw, manners }
            });
        }
        Ok(())
    }

    fn take(&mut self, done: Done, seen: &mut dyn FnMut(Seen)) -> Result<()> {
        let now_s = self.clock.now_s();
        let outcome = match done.saw {
            Saw::Text { divergence, last_change, .. } => Outcome::Changed { divergence, last_change },
            Saw::Same { .. } => Outcome::Unchanged,
            Saw::Gone => Outcome::Gone,
            Saw::Failed { retryable } => Outcome::Failed { retryable },
        };
        self.held[done.page] = done.held;
        // A lease that expired meanwhile is refused; the copy is there all the same.
        let _ = self.scheduler.complete(now_s, done.lease, outcome);
        for manners in &done.manners {
            self.mind(manners, now_s)?;
        }
        seen(Seen { page: done.page, at_s: now_s, saw: done.saw });
        Ok(())
    }

    /// Does as a host asks.
    fn mind(&mut self, manners: &Manners, now_s: f64) -> Result<()> {
        let Some(host) = self.hosts.get(&manners.host).copied() else { return Ok(()) };
        if let Some(gap) = manners.crawl_delay
            && self.gaps.insert(host, gap) != Some(gap)
        {
            let limits = HostLimits::NONE.with_gap(Period::of(gap.as_secs_f64(), Unit::Second)?)?;
            self.scheduler.limit(now_s, HostId(host), limits)?;
        }
        if let Some(until) = manners.blocked_until {
            #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970")]
            let until_s = until.as_millisecond() as f64 / 1e3;
            self.scheduler.block(now_s, HostId(host), until_s)?;
        }
        Ok(())
    }
}

/// Pages of a host are learnt together.
fn group(host: u32) -> GroupId {
    GroupId(u16::try_from(host).unwrap_or(u16::MAX))
}
