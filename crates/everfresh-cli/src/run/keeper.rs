//! The loop of a run: what is due is given out, what came back is kept, learnt from and acknowledged.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use anyhow::{Context, Result};
use everfresh::{Period, Unit};
use everfresh_crawl::content::{Hint, HintFrom};
use everfresh_crawl::fetch::{Address, Manners, Sources};
use everfresh_crawl::warc::{self, Archive};
use everfresh_sched::{
    Freshness, HintKind, HostId, HostLimits, LeaseId, Outcome, PageId, PageTerms, Scheduler, Status, Trouble,
};
use everfresh_store::{Durable, is_full};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::clock::Clock;
use super::note::{AllRules, Note};
use super::notices::Notices;
use super::robots;
use super::slowed::Slowed;
use super::space::is_of_space;
use super::visit::{Copy, Found, Task, record, visit};
use crate::desk::status::time;
use crate::desk::{BEHIND_S, failure};
use crate::interrupt;
use crate::output;

/// When a run ends by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    /// When it is stopped.
    Stopped,
    /// When what the time before has brought is spent, or every page was seen since the run began.
    Idle,
    /// At a time of its clock.
    Time(f64),
}

/// A run under way.
pub(crate) struct Keeper {
    pub scheduler: Scheduler<Durable>,
    pub archive: Option<Archive>,
    pub sources: Sources,
    pub clock: Clock,
    /// Visits that go on at a time, at most.
    pub workers: usize,
    /// The price is found anew so often.
    pub replan_s: f64,
    /// Which parts of pages count.
    pub rules: AllRules,
    /// Feeds and sitemaps whose pages are taken in.
    pub follows: HashSet<PageId>,
    /// From so many pages on, those bring in no more.
    pub most_pages: usize,
    /// Limits of hosts that were set for them.
    pub limits: HashMap<HostId, HostLimits>,
    pub tally: Tally,
    going_on: HashSet<LeaseId>,
    /// What came back and is not kept yet: it stays here while the disk is full.
    unkept: Vec<Found>,
    /// What is kept and not yet known to be on the disk.
    untold: Vec<Found>,
    began_s: f64,
    replanned_s: f64,
    expected: Freshness,
    kept_events: u64,
    slowed: Slowed,
    /// Was it said that there are as many pages as there may be?
    is_full_said: bool,
    /// When it was last said that the clock was set back.
    clock_said_s: f64,
    /// Hosts that are left alone, and until when.
    resting: HashMap<HostId, f64>,
    notices: Notices,
}

/// What was done so far in this run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub visits: u64,
    pub changed: u64,
    pub unchanged: u64,
    pub gone: u64,
    pub failed: u64,
}

/// Hears of every visit, and now and then of all.
pub(crate) trait Watch {
    /// A visit came back.
    fn visited(&mut self, found: &Found);
    /// A moment has passed.
    fn moment(&mut self, keeper: &mut Keeper) -> Result<()>;
    /// Something must be said.
    fn word(&mut self, text: &str) {
        output::say(text);
    }
    /// May it go on?
    fn goes_on(&self) -> bool {
        true
    }
}

/// What a visit found, sent when it ends, also by a panic: otherwise it would hold its worker for ever.
struct Word {
    found: Option<Found>,
    send: mpsc::UnboundedSender<Found>,
}

impl Word {
    fn is(&mut self, found: Found) {
        self.found = Some(found);
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        if let Some(found) = self.found.take() {
            // Nobody listens when the run has ended: the lease expires.
            let _ = self.send.send(found);
        }
    }
}

/// One who comes now and then does not wait for the second visit to a host with a longer gap.
const LONGEST_GAP_S: f64 = 60.0;

/// While the disk is full this is waited between two looks.
const FULL_PAUSE: Duration = Duration::from_secs(2);

/// Where more visits than these go on, those that come back within this time are kept together: one wait for the disk is all theirs.
const FEW: usize = 8;
const GATHERING: Duration = Duration::from_millis(5);

/// Nobody waits longer than this for a word that something is to stop.
const PATIENCE: Duration = Duration::from_millis(100);
/// Who is stopped waits so long for visits that are under way.
const LAST_VISITS: Duration = Duration::from_secs(10);
/// A plan is made in slices of so many pages, some thirty milliseconds each.
const PLANNED: u32 = 1 << 18;
/// A state is kept after so many events, or after an eighth as many as there are pages: who is killed has no more to replay.
const KEEP_EVENTS: u64 = 200_000;

/// A promise that nothing changes for less than this is no promise.
const SHORTEST_PROMISE_S: f64 = 60.0;

/// An index of sitemaps names sitemaps, not pages; it is followed by naming these as sources.
fn is_page(hint: &Hint) -> bool {
    hint.from != HintFrom::SitemapIndex
}

impl Keeper {
    pub(crate) fn new(
        scheduler: Scheduler<Durable>,
        archive: Option<Archive>,
        sources: Sources,
        clock: Clock,
    ) -> Keeper {
        Keeper {
            kept_events: scheduler.store().events(),
            notices: Notices::of(scheduler.store().dir()),
            slowed: Slowed::recall(scheduler.store().dir()),
            resting: scheduler.state().blocked_hosts(clock.now_s()).collect(),
            scheduler,
            archive,
            sources,
            clock,
            workers: 64,
            replan_s: 600.0,
            rules: AllRules::default(),
            follows: HashSet::new(),
            most_pages: 1_000_000,
            is_full_said: false,
            limits: HashMap::new(),
            tally: Tally::default(),
            going_on: HashSet::new(),
            unkept: Vec::new(),
            untold: Vec::new(),
            began_s: 0.0,
            replanned_s: f64::NEG_INFINITY,
            expected: Freshness::default(),
            clock_said_s: f64::NEG_INFINITY,
        }
    }

    /// Works until its time has come.
    pub(crate) async fn run(&mut self, until: Until, watch: &mut dyn Watch) -> Result<()> {
        let (send, mut receive) = mpsc::unbounded_channel();
        self.began_s = self.clock.now_s();
        // Whoever held leases when the last run was cut off is gone.
        self.scheduler.abandon(self.began_s).map_err(failure)?;
        let mut active_s = self.began_s;
        loop {
            let now_s = self.clock.now_s();
            let worked = self.work(now_s, until == Until::Idle, &send, &mut receive, watch).await;
            match worked {
                Ok(true) => active_s = now_s,
                Ok(false) => {}
                // Who comes only now and then is better told at once.
                Err(error) if until != Until::Idle && is_of_space(&error, self.scheduler.store().dir()) => {
                    self.wait_for_space(&error, watch).await?;
                }
                Err(error) => return Err(error),
            }
            let is_over = match until {
                Until::Stopped => false,
                Until::Idle => self.is_idle(now_s, active_s),
                Until::Time(end_s) => now_s >= end_s,
            };
            if is_over || !watch.goes_on() || interrupt::is_wanted() {
                break;
            }
        }
        self.finish(&mut receive, watch).await
    }

    /// Is there nothing more to come for one who comes now and then? A host's gap may be all that is waited for.
    fn is_idle(&self, now_s: f64, active_s: f64) -> bool {
        let state = self.scheduler.state();
        let usual_s = state.settings().limits().gap().seconds();
        // To look at every page takes a moment.
        now_s - active_s > 1.5 * usual_s && {
            let gap_s = state.gap_of_unseen(now_s, self.began_s).map_or(0.0, Period::seconds);
            gap_s > LONGEST_GAP_S || now_s - active_s > 1.5 * gap_s
        }
    }

    /// One round: gives out what is due, and keeps what comes back; says whether there was anything to do.
    async fn work(
        &mut self,
        now_s: f64,
        ahead: bool,
        send: &mpsc::UnboundedSender<Found>,
        receive: &mut mpsc::UnboundedReceiver<Found>,
        watch: &mut dyn Watch,
    ) -> Result<bool> {
        self.keep_unkept()?;
        self.tend(now_s)?;
        let is_busy = self.give_out(now_s, ahead, send)? > 0 || !self.going_on.is_empty();
        self.tell(watch);
        watch.moment(self)?;
        self.wait(now_s, receive).await;
        Ok(is_busy)
    }

    /// Says that the disk is full and waits until it is not; what came back meanwhile is kept then.
    async fn wait_for_space(&mut self, error: &anyhow::Error, watch: &mut dyn Watch) -> Result<()> {
        let dir = self.scheduler.store().dir().to_owned();
        watch.word(&format!(
            "`{}` is full: waiting for space, with what was acknowledged safe ({error:#})",
            dir.display()
        ));
        while watch.goes_on() && !interrupt::is_wanted() {
            tokio::time::sleep(FULL_PAUSE).await;
            if !is_full(&dir) && self.archive.as_mut().is_none_or(|archive| archive.reopen().is_ok()) {
                watch.word("there is space again: going on");
                break;
            }
            watch.moment(self)?;
        }
        Ok(())
    }

    /// Waits for what comes back, or for the time when something is due.
    async fn wait(&mut self, now_s: f64, receive: &mut mpsc::UnboundedReceiver<Found>) {
        let is_full = self.going_on.len() >= self.workers;
        let next = self.scheduler.next_wakeup(now_s).filter(|_| !is_full);
        // A bucket that fills up drop by drop is looked at no more often than a thousand times a second.
        let least = Duration::from_millis(1);
        let most = if self.scheduler.is_planning() { least } else { PATIENCE };
        let pause = next.map_or(most, |next| self.clock.wait(next).clamp(least, most));
        if let Ok(Some(first)) = tokio::time::timeout(pause, receive.recv()).await {
            self.unkept.push(first);
            if self.going_on.len() > FEW {
                tokio::time::sleep(GATHERING).await;
            }
            while let Ok(more) = receive.try_recv() {
                self.unkept.push(more);
            }
        }
    }

    /// Waits for the last visits; those that take too long are lost to their leases.
    async fn finish(&mut self, receive: &mut mpsc::UnboundedReceiver<Found>, watch: &mut dyn Watch) -> Result<()> {
        let deadline = tokio::time::Instant::now() + LAST_VISITS;
        loop {
            self.keep_unkept()?;
            self.scheduler.release().map_err(failure)?;
            self.tell(watch);
            if self.going_on.is_empty() {
                break;
            }
            match tokio::time::timeout_at(deadline, receive.recv()).await {
                Ok(Some(found)) => self.unkept.push(found),
                _ => break,
            }
        }
        if let Some(archive) = &mut self.archive {
            archive.settle().map_err(|error| output::machine("cannot keep copies", error))?;
        }
        self.remember()?;
        self.scheduler.compact().map_err(failure)?;
        self.scheduler.store_mut().settle().map_err(failure)
    }

    /// Takes notices in, finds the price anew and keeps the state, now and then.
    fn tend(&mut self, now_s: f64) -> Result<()> {
        self.notices.take(&mut self.scheduler, now_s)?;
        self.mind_clock(now_s);
        if (self.scheduler.is_planning() || now_s - self.replanned_s >= self.replan_s) && self.plan_on(now_s)? {
            self.replanned_s = now_s;
            self.remember()?;
            self.expected = self.scheduler.expected();
            debug!(pages = self.scheduler.state().len(), freshness = self.expected.freshness, "planned");
        }
        let events = self.scheduler.store().events();
        let enough = KEEP_EVENTS.max(self.scheduler.state().len() as u64 / 8);
        if events - self.kept_events > enough && !self.scheduler.store().is_keeping() && !self.scheduler.is_planning() {
            self.scheduler.compact().map_err(failure)?;
            debug!(events = events - self.kept_events, "keeping the state");
            self.kept_events = events;
        }
        Ok(())
    }

    /// Keeps what hosts said beside the store.
    fn remember(&mut self) -> Result<()> {
        let dir = self.scheduler.store().dir();
        robots::remember(&self.sources, dir)?;
        self.slowed.remember(dir)
    }

    /// Says so, once an hour, when the clock was set back: nothing becomes due until it has come to where it was.
    fn mind_clock(&mut self, now_s: f64) {
        let ahead_s = self.scheduler.state().latest_s() - now_s;
        if ahead_s > BEHIND_S && (now_s - self.clock_said_s).abs() > 3600.0 {
            self.clock_said_s = now_s;
            warn!(
                seconds = ahead_s.ceil(),
                "the clock was set back: nothing becomes due until it has come that far again"
            );
        }
    }

    /// Plans on; says whether the plan is made. Few pages are planned at once.
    fn plan_on(&mut self, now_s: f64) -> Result<bool> {
        if self.scheduler.state().len() > PLANNED as usize || self.scheduler.is_planning() {
            return self.scheduler.plan_on(now_s, PLANNED).map_err(failure);
        }
        self.scheduler.replan(now_s).map_err(failure)?;
        Ok(true)
    }

    /// Sends out visits that may be made now; says how many.
    fn give_out(&mut self, now_s: f64, ahead: bool, send: &mpsc::UnboundedSender<Found>) -> Result<usize> {
        let free = self.workers.saturating_sub(self.going_on.len());
        if free == 0 {
            self.scheduler.release().map_err(failure)?;
            return Ok(0);
        }
        let leased = if ahead {
            self.scheduler.lease_ahead(now_s, free, self.began_s)
        } else {
            self.scheduler.lease(now_s, free)
        };
        let leases = leased.map_err(failure)?;
        let given = leases.len();
        for lease in leases {
            let text = self.scheduler.store_mut().address(lease.page).map_err(failure)?.unwrap_or_default();
            let archive = self.archive.as_ref();
            let (note, rules) = Note::of(&mut self.scheduler, archive, lease.page, &text, &self.rules)?;
            // Commands come into a store from the configuration only.
            let Ok(address) = Address::configured(&text) else {
                let refused = [(lease.id, Outcome::Failed { retryable: false })];
                self.scheduler.complete_all(now_s, &refused).map_err(failure)?;
                continue;
            };
            let level = self.archive.is_some().then_some(warc::Settings::LEVEL);
            let task = Task { lease: lease.id, page: lease.page, address, note, rules, level };
            let (sources, clock) = (self.sources.clone(), self.clock);
            let mut word = Word { found: Some(Found::nothing(&task, now_s)), send: send.clone() };
            self.going_on.insert(lease.id);
            tokio::spawn(async move {
                word.is(visit(&sources, task, clock).await);
            });
        }
        Ok(given)
    }

    /// Keeps what came back, with the next leases that are given out; if that fails it is still there to be kept.
    fn keep_unkept(&mut self) -> Result<()> {
        let all = std::mem::take(&mut self.unkept);
        if all.is_empty() {
            return Ok(());
        }
        let now_s = self.clock.now_s();
        if let Err(error) = self.keep_all(now_s, &all) {
            self.unkept = all;
            return Err(error);
        }
        for found in &all {
            self.going_on.remove(&found.lease);
            self.mind_manners(now_s, found)?;
        }
        self.take_hints(now_s, &all)?;
        self.untold.extend(all);
        Ok(())
    }

    /// Tells of visits that are safe.
    fn tell(&mut self, watch: &mut dyn Watch) {
        for found in self.untold.drain(..) {
            self.tally.count(found.outcome);
            watch.visited(&found);
        }
    }

    /// Keeps copies, notes and outcomes of visits, in this order: what is acknowledged has its copy.
    fn keep_all(&mut self, now_s: f64, all: &[Found]) -> Result<()> {
        for found in all {
            let is_kept = self.keep_copy(found)?;
            if let Some(note) = &found.note {
                // What there is no copy of must come whole the next time.
                let note = if is_kept { note.encode() } else { Note { validators: None, ..note.clone() }.encode() };
                self.scheduler.store_mut().note(found.page, note);
            }
        }
        if let Some(archive) = &mut self.archive {
            archive.sync().map_err(|error| output::machine("cannot keep copies", error))?;
        }
        self.scheduler.hold();
        let outcomes: Vec<_> = all.iter().map(|found| (found.lease, found.outcome)).collect();
        // One whose lease has expired meanwhile is refused, and visited again.
        self.scheduler.complete_all(now_s, &outcomes).map_err(failure)?;
        let is_retired = |found: &&Found| self.scheduler.state().trouble(found.page) == Some(Trouble::Retired);
        for found in all.iter().filter(|found| found.outcome == Outcome::Gone).filter(is_retired) {
            warn!(page = found.address, "gone for good: it is visited no more; `everfresh add` takes it back");
        }
        Ok(())
    }

    /// Keeps a copy, if there is one to be kept; says no where the source said that a copy is as before and there is none.
    fn keep_copy(&mut self, found: &Found) -> Result<bool> {
        let Some(archive) = &mut self.archive else { return Ok(true) };
        let kept = match &found.copy {
            None => return Ok(true),
            Some(Copy::Resource { content_type, bytes }) => {
                archive.keep_resource(&found.address, date(found.at_s), content_type, bytes).map(Some)
            }
            Some(Copy::Answer { exchange, body, prepared }) => {
                let (request, head) = (exchange.request_head(), exchange.response_head(body.len()));
                let answer = record(&found.address, exchange, &request, &head, body);
                match prepared {
                    Some(prepared) => archive.keep_prepared(&answer, prepared).map(Some),
                    None => archive.keep(&answer).map(Some),
                }
            }
            Some(Copy::Unchanged { exchange }) => {
                let (request, head) = (exchange.request_head(), exchange.response_head(0));
                archive.keep_unchanged(&record(&found.address, exchange, &request, &head, &[]))
            }
        };
        kept.map(|kept| kept.is_some()).map_err(|error| output::machine("cannot keep a copy", error))
    }

    /// Does as the hosts ask that were met.
    fn mind_manners(&mut self, now_s: f64, found: &Found) -> Result<()> {
        self.move_to_host(now_s, found)?;
        if !found.manners.iter().any(|manners| manners.slow_down) && !matches!(found.outcome, Outcome::Failed { .. }) {
            self.slowed.forget(&found.host);
        }
        for manners in &found.manners {
            let Some(host) = self.scheduler.store().names().find_host(&manners.host) else { continue };
            self.mind_delay(now_s, host, manners)?;
            if let Some(until_s) = self.rest_until(now_s, manners) {
                // Of several visits that came back together one may have been told of a longer rest.
                let until_s = until_s.max(self.scheduler.state().host_blocked_until_s(host));
                self.scheduler.block(now_s, host, until_s).map_err(failure)?;
                info!(host = manners.host, seconds = (until_s - now_s).ceil(), "left alone");
                self.resting.retain(|_, until_s| *until_s > now_s);
                self.resting.insert(host, until_s);
            }
        }
        Ok(())
    }

    /// Lets a host rest: until when it says, or, if it only says that it is too much, ever longer.
    fn rest_until(&mut self, now_s: f64, manners: &Manners) -> Option<f64> {
        if let Some(date) = manners.blocked_until {
            return Some(date.as_millisecond() as f64 / 1e3);
        }
        if !manners.slow_down {
            return None;
        }
        Some(now_s + self.slowed.rest_s(&manners.host))
    }

    /// A host's robots.txt may ask for more room than it is given, not for less; what it no longer asks for, it no longer gets.
    fn mind_delay(&mut self, now_s: f64, host: HostId, manners: &Manners) -> Result<()> {
        if manners.crawl_delay.or(manners.earlier_delay).is_none() {
            return Ok(());
        }
        let state = self.scheduler.state();
        let (limits, usual): (HostLimits, HostLimits) = (state.host_limits(host), *state.settings().limits());
        let given = self.limits.get(&host).copied().unwrap_or(usual);
        let asked_s = manners.crawl_delay.map_or(0.0, |delay| delay.as_secs_f64());
        let wanted = given.with_gap(Period::of(asked_s, Unit::Second)?)?;
        if wanted != limits {
            self.scheduler.limit(now_s, host, wanted).map_err(failure)?;
            let gap_s = wanted.gap().seconds();
            info!(host = self.scheduler.store().names().host(host), gap_s, "asks for another gap");
        }
        Ok(())
    }

    /// Lets a page wait with the host that its redirects lead to: it is that host which is visited and must be spared.
    fn move_to_host(&mut self, now_s: f64, found: &Found) -> Result<()> {
        let Ok(terms) = self.scheduler.state().terms(found.page) else { return Ok(()) };
        let names = self.scheduler.store().names();
        // A list may have said otherwise where pages wait.
        let is_origin = names.host(terms.host()).is_some_and(|name| name.starts_with("http"));
        if !is_origin || names.find_host(&found.host) == Some(terms.host()) {
            return Ok(());
        }
        let host = self.scheduler.store_mut().host(&found.host).map_err(failure)?;
        self.scheduler.change(now_s, found.page, terms.at_host(host)).map_err(failure)
    }

    /// Hands on what sources say of themselves and of others: dates that are later than what was seen.
    fn take_hints(&mut self, now_s: f64, all: &[Found]) -> Result<()> {
        let (mut hints, mut new) = (Vec::new(), Vec::new());
        for found in all {
            if let Some(fresh_for) = found.fresh_for_s.filter(|time| *time >= SHORTEST_PROMISE_S) {
                hints.push((found.page, HintKind::Expires, found.at_s + fresh_for));
            }
            for (address, hint) in &found.hints {
                self.take_hint(found, (address, hint), &mut hints, &mut new)?;
            }
        }
        if !new.is_empty() {
            self.scheduler.add_all(now_s, &new).map_err(failure)?;
        }
        if !hints.is_empty() {
            self.scheduler.hint_all(now_s, &hints).map_err(failure)?;
        }
        Ok(())
    }

    /// One page that a feed or a sitemap names: known, or new and wanted.
    fn take_hint(
        &mut self,
        found: &Found,
        (address, hint): (&Address, &Hint),
        hints: &mut Vec<(PageId, HintKind, f64)>,
        new: &mut Vec<(PageId, PageTerms)>,
    ) -> Result<()> {
        let text = address.to_string();
        let (state, store) = self.scheduler.parts();
        let (page, is_known) = store.page(&text, |page| state.knows(page)).map_err(failure)?;
        if is_known {
            let kind = if hint.from == HintFrom::Feed { HintKind::Feed } else { HintKind::Sitemap };
            let changed_at = hint.changed_at.map(|second| second as f64);
            let is_news = |at: &f64| state.seen_s(page).is_some_and(|seen| *at > seen);
            hints.extend(changed_at.filter(is_news).map(|at| (page, kind, at)));
        } else if self.follows.contains(&found.page) && is_page(hint) {
            if state.len() + new.len() >= self.most_pages {
                if !std::mem::replace(&mut self.is_full_said, true) {
                    let (most_pages, by) = (self.most_pages, &found.address);
                    warn!(most_pages, by, "there are as many pages as there may be: no more are taken in");
                }
                return Ok(());
            }
            let host = store.host(&address.host()).map_err(failure)?;
            store.name_page(page, &text);
            store.note(page, Note { named_by: Some(found.page.0), ..Note::default() }.encode());
            new.push((page, state.terms(found.page)?.at_host(host).unpinned()));
        }
        Ok(())
    }

    /// Why no visit was made, and when one will be.
    pub(crate) fn why_idle(&mut self) -> String {
        let now_s = self.clock.now_s();
        let status = self.scheduler.status(now_s);
        let next = self.scheduler.next_wakeup(now_s).map_or("no visit is foreseen".to_owned(), |next| {
            format!("the next can be made in {}", time((next - now_s).max(1.0)))
        });
        let Status { failing, gone, retired, .. } = status;
        format!(
            "no visit could be made now: what may be spent is spent, or nothing is due ({failing} failing, {gone} gone, {retired} retired); {next}"
        )
    }

    /// What the copies will be on average, as last foreseen.
    pub(crate) fn expected(&self) -> Freshness {
        self.expected
    }

    /// Hosts that asked to be left alone and still are.
    pub(crate) fn resting(&self, now_s: f64) -> usize {
        self.resting.values().filter(|until_s| **until_s > now_s).count()
    }

    /// Visits per second since the run began.
    pub(crate) fn spending_per_s(&self, now_s: f64) -> f64 {
        // Over the first second nothing can be said of a second.
        self.tally.visits as f64 / (now_s - self.began_s).max(1.0)
    }

    /// Visits that are under way.
    pub(crate) fn going_on(&self) -> usize {
        self.going_on.len()
    }
}

impl Tally {
    fn count(&mut self, outcome: Outcome) {
        self.visits += 1;
        match outcome {
            Outcome::Unchanged => self.unchanged += 1,
            Outcome::Changed { .. } => self.changed += 1,
            Outcome::Gone => self.gone += 1,
            Outcome::Failed { .. } => self.failed += 1,
        }
    }
}

fn date(unix_s: f64) -> jiff::Timestamp {
    #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
    let micros = (1e6 * unix_s).round() as i64;
    jiff::Timestamp::from_microsecond(micros).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// A runtime with a thread for each core.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().build().context("cannot start threads")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_that_panics_is_heard_of() {
        let (send, mut receive) = mpsc::unbounded_channel();
        let (address, note) = (Address::of_page("http://a.example/").unwrap(), Note::default());
        let (lease, page, rules) = (LeaseId(1), PageId(2), std::sync::Arc::default());
        let task = Task { lease, page, address, note, rules, level: None };
        let word = || Word { found: Some(Found::nothing(&task, 1.0)), send: send.clone() };
        let (broken, mut whole) = (word(), word());
        let gone = Found { outcome: Outcome::Gone, ..Found::nothing(&task, 1.0) };
        runtime().unwrap().block_on(async move {
            let visit = tokio::spawn(async move {
                let _word = broken;
                panic!("what no test has met");
            });
            assert!(visit.await.is_err());
            tokio::spawn(async move { whole.is(gone) }).await.unwrap();
        });
        let outcomes = [receive.try_recv().unwrap().outcome, receive.try_recv().unwrap().outcome];
        assert_eq!(outcomes, [Outcome::Failed { retryable: true }, Outcome::Gone]);
        assert!(receive.try_recv().is_err());
    }
}
