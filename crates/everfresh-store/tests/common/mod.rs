//! A scheduler's work, the same every time: step by step, on any store.

use everfresh::Unit;
use everfresh_sched::{GroupId, HostId, HostLimits, Outcome, PageId, PageTerms, Result, Scheduler, Settings, Store};
use std::path::Path;

pub(crate) fn settings() -> Settings {
    Settings::new(5.0, Unit::Second).unwrap().with_seed(7)
}

/// Does step number `step`: it adds, removes, blocks, leases, completes or replans.
pub(crate) fn step<S: Store>(scheduler: &mut Scheduler<S>, step: u64) -> Result<()> {
    let now_s = step as f64 * 0.5;
    match step % 10 {
        0 => scheduler.add(now_s, PageId(step), PageTerms::new(HostId((step % 7) as u32))),
        1 => {
            let terms = PageTerms::new(HostId((step % 5) as u32)).with_weight(1.0 + step as f64)?.with_cost(0.5)?;
            let pages: Vec<_> = (0..20).map(|more| (PageId(1_000_000 + 20 * step + more), terms)).collect();
            scheduler.add_all(now_s, &pages).map(|_| ())
        }
        2 if step % 100 == 2 && scheduler.state().knows(PageId(step - 2)) => scheduler.remove(now_s, PageId(step - 2)),
        3 if step % 50 == 3 => scheduler.replan(now_s),
        6 => scheduler.plan_on(now_s, 40).map(|_| ()),
        4 if step % 30 == 4 => scheduler.block(now_s, HostId((step % 7) as u32), now_s + 20.0),
        5 if step % 200 == 5 => scheduler.limit(now_s, HostId(3), HostLimits::NONE.with_concurrency(2)?),
        5 if step % 200 == 15 => scheduler.limit_group(now_s, GroupId(0), HostLimits::NONE.with_concurrency(500)?),
        _ => {
            let leases = scheduler.lease(now_s, 5)?;
            let kept = leases.iter().filter(|lease| lease.id.0 % 17 != 0);
            let outcomes: Vec<_> = kept.map(|lease| (lease.id, outcome(lease.id.0))).collect();
            if step.is_multiple_of(2) {
                return scheduler.complete_all(now_s + 0.1, &outcomes).map(|_| ());
            }
            // With one wait for the disk, and what a host asks for in between.
            scheduler.hold();
            scheduler.complete_all(now_s + 0.1, &outcomes)?;
            scheduler.block(now_s + 0.1, HostId((step % 3) as u32), now_s + 5.0)?;
            let leases = scheduler.lease(now_s + 0.1, 1)?;
            leases.iter().try_for_each(|lease| scheduler.complete(now_s + 0.2, lease.id, outcome(lease.id.0)))
        }
    }
}

fn outcome(number: u64) -> Outcome {
    match number % 6 {
        0 => Outcome::Changed { divergence: 0.25, last_change: None },
        1 => Outcome::Failed { retryable: number % 4 == 1 },
        2 => Outcome::Gone,
        _ => Outcome::Unchanged,
    }
}

pub(crate) fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy_all(&entry, &target);
        } else {
            std::fs::copy(&entry, &target).unwrap();
        }
    }
}
