//! The suite that every store passes: what was acknowledged comes back, in order, and a scheduler is rebuilt from it.

use crate::error::{Error, Result};
use crate::event::{Event, Outcome};
use crate::scheduler::Scheduler;
use crate::store::Store;
use crate::terms::{HostId, PageId, PageTerms, Settings};
use everfresh::Unit;

/// Runs an empty store through appending, keeping and opening anew, or says what it does wrong.
///
/// `reopen` closes a store and opens it again on what it left behind.
pub fn conforms<S: Store>(store: S, reopen: impl Fn(S) -> Result<S>) -> Result<()> {
    let store = keeps_order(store, &reopen)?;
    let settings = Settings::new(1.0, Unit::Second)?;
    // What came first is no scheduler's log: a snapshot stands for it.
    let mut scheduler = Scheduler::of(crate::State::new(settings), store);
    scheduler.compact()?;
    for round in 0..4u32 {
        work(&mut scheduler, round)?;
        if round == 1 {
            scheduler.compact()?;
        }
        let before = scheduler.state().clone();
        let now_s = f64::from(round + 1) * 1000.0;
        scheduler = Scheduler::open(settings, reopen(scheduler.into_store())?, now_s)?;
        expect(*scheduler.state() == before, "it gave back another state than it was given")?;
    }
    Ok(())
}

fn expect(holds: bool, otherwise: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Store(otherwise.to_owned())) }
}

/// Events come back in order, those that were staged and those of an empty batch included, over several openings.
fn keeps_order<S: Store>(mut store: S, reopen: &impl Fn(S) -> Result<S>) -> Result<S> {
    expect(store.snapshot()?.is_none(), "it was not empty")?;
    let event = |number: u32| Event::Replanned { now_s: f64::from(number) };
    let mut expected = Vec::new();
    for size in [1u32, 0, 3, 1000] {
        let first = expected.len();
        expected.extend((0..2 * size).map(event));
        let (staged, appended) = expected[first..].split_at(size as usize);
        store.stage(staged)?;
        store.append(appended)?;
        store = reopen(store)?;
        let mut found = Vec::new();
        store.replay(&mut |event| {
            found.push(*event);
            Ok(())
        })?;
        expect(found == expected, "events came back others than they were appended")?;
    }
    let mut taken = 0;
    let refusal = store.replay(&mut |_| {
        taken += 1;
        if taken < 3 { Ok(()) } else { Err(Error::Log("enough")) }
    });
    expect(refusal == Err(Error::Log("enough")) && taken == 3, "it went on after an event was refused")?;
    Ok(store)
}

fn work<S: Store>(scheduler: &mut Scheduler<S>, round: u32) -> Result<()> {
    let start_s = f64::from(round) * 1000.0;
    for page in 0..20 {
        let id = PageId(u64::from(20 * round + page));
        scheduler.add(start_s, id, PageTerms::new(HostId(page % 3)).with_weight(f64::from(page + 1))?)?;
    }
    scheduler.replan(start_s)?;
    for step in 0..200u32 {
        let now_s = start_s + f64::from(step);
        for lease in scheduler.lease(now_s, 2)? {
            let outcome = match (lease.id.0 + u64::from(step)) % 4 {
                0 => Outcome::Changed { divergence: 0.5, last_change: None },
                1 => Outcome::Failed { retryable: true },
                2 => Outcome::Gone,
                _ => Outcome::Unchanged,
            };
            scheduler.complete(now_s, lease.id, outcome)?;
        }
    }
    Ok(())
}
