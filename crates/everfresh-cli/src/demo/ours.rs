//! Everfresh in the demo: the real program, on a clock that goes faster.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use everfresh::{Period, Unit};
use everfresh_crawl::warc::{self, Archive};
use everfresh_sched::{Outcome, PageId, PageTerms, Scheduler, Settings};
use everfresh_store::Durable;

use super::look::{self, Listed, Saw, Seen};
use crate::output;
use crate::run::clock::Clock;
use crate::run::keeper::{Keeper, Until, Watch};
use crate::run::visit::Found;

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

/// Keeps copies of pages fresh until a time, and tells of every visit.
pub(super) fn ours(
    pages: &[Listed],
    budget_per_s: f64,
    clock: Clock,
    until_s: f64,
    seen: &mut dyn FnMut(Seen),
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut keeper, places) = keeper(folder.path(), pages, budget_per_s, clock)?;
    let mut told = Told { places, until_s, seen };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(keeper.run(Until::Time(until_s), &mut told))
}

/// A run in a folder, and the places of its pages in the list.
fn keeper(
    folder: &Path,
    pages: &[Listed],
    budget_per_s: f64,
    clock: Clock,
) -> Result<(Keeper, HashMap<PageId, usize>)> {
    let now_s = clock.now_s();
    let speed = if let Clock::Fast { speed, .. } = clock { speed } else { 1.0 };
    let settings = Settings::new(budget_per_s, Unit::Second)?
        .with_start(now_s)?
        .with_burst((budget_per_s * speed * STALL.as_secs_f64()).max(1.0))?
        .with_lease(Period::of(speed * LEASE.as_secs_f64(), Unit::Second)?)?;
    let mut scheduler = Scheduler::open(settings, Durable::open(folder, "everfresh demo")?, now_s)?;
    let (mut places, mut all) = (HashMap::new(), Vec::new());
    for (place, listed) in pages.iter().enumerate() {
        let (state, store) = scheduler.parts();
        let (address, host) = (listed.address.to_string(), listed.address.host());
        let page = store.page(&address, |page| state.knows(page))?.0;
        store.name_page(page, &address);
        // Pages of a host are learnt together.
        all.push((page, PageTerms::new(store.host(&host)?).in_group(store.group(&host)?)));
        places.insert(page, place);
    }
    scheduler.add_all(now_s, &all)?;
    let archive = Archive::open(&folder.join("copies"), warc::Settings::default());
    let archive = archive.map_err(|error| output::machine("cannot keep copies", error))?;
    let mut keeper = Keeper::new(scheduler, Some(archive), look::sources()?, clock);
    (keeper.workers, keeper.replan_s) = (AT_A_TIME, REPLAN_S);
    Ok((keeper, places))
}

/// Tells whoever keeps the score.
struct Told<'a> {
    places: HashMap<PageId, usize>,
    until_s: f64,
    seen: &'a mut dyn FnMut(Seen),
}

impl Watch for Told<'_> {
    fn visited(&mut self, found: &Found) {
        let saw = match found.outcome {
            Outcome::Unchanged => Saw::Same { not_modified: found.is_not_modified },
            Outcome::Changed { divergence, last_change } => {
                let known = found.note.as_ref().and_then(|note| note.known.as_ref());
                let Some(known) = known else { return };
                Saw::Text { digest: known.text_digest(), divergence, last_change }
            }
            Outcome::Gone => Saw::Gone,
            Outcome::Failed { retryable } => Saw::Failed { retryable },
        };
        if let Some(page) = self.places.get(&found.page).filter(|_| found.at_s < self.until_s) {
            (self.seen)(Seen { page: *page, at_s: found.at_s, saw });
        }
    }

    fn moment(&mut self, _keeper: &mut Keeper) -> Result<()> {
        Ok(())
    }
}
