use crate::error::{Error, Result};
use crate::event::{Event, Lease, LeaseId, Outcome};
use crate::explain::{Explanation, Status};
use crate::forecast::{Forecast, Freshness, Overload, Standing};
use crate::hint::HintKind;
use crate::state::State;
use crate::store::Store;
use crate::terms::{GroupId, GroupRule, HostId, HostLimits, PageId, PageTerms, Settings};
use crate::tick::Tick;
use crate::within::Constraints;
use std::collections::HashSet;

/// The state machine and its store: events and `now` in, leases out.
///
/// Every operation that changes anything is appended to the store before it is acknowledged; when the store refuses, it did
/// not happen. Times are seconds on any clock; one that jumps back stands still until it has caught up.
#[derive(Debug)]
pub struct Scheduler<S> {
    pub(crate) state: State,
    pub(crate) store: S,
    /// Is what happens written with the next leases?
    holds: bool,
}

impl<S: Store> Scheduler<S> {
    /// A scheduler with all that its store knows. Seed and start must be those with which the store was begun.
    ///
    /// Where the settings are others than before, the new ones count from now on.
    pub fn open(settings: Settings, store: S, now_s: f64) -> Result<Scheduler<S>> {
        Scheduler::resume(store, now_s, |_| Ok(settings))
    }

    /// A scheduler with all that its store knows, and settings made from those it had last, if any.
    pub fn resume(
        mut store: S,
        now_s: f64,
        settings: impl FnOnce(Option<Settings>) -> Result<Settings>,
    ) -> Result<Scheduler<S>> {
        let mut state = store.snapshot()?;
        store.replay(&mut |event| State::fold(&mut state, event))?;
        let before = state.as_ref().map(|state| state.settings);
        let settings = settings(before)?;
        let mut scheduler = Scheduler::of(state.unwrap_or_else(|| State::new(settings)), store);
        if before != Some(settings) {
            scheduler.record(Event::Configured { now_s, settings })?;
        }
        Ok(scheduler)
    }

    pub(crate) const fn of(state: State, store: S) -> Scheduler<S> {
        Scheduler { state, store, holds: false }
    }

    /// From now on what happens is written with the next leases, for one wait for the disk in all: what a crawler does all the time.
    ///
    /// Until these are given out nothing of it is acknowledged. When the store refuses them, it has happened all the same, and is written
    /// with what the store takes next.
    pub const fn hold(&mut self) {
        self.holds = true;
    }

    /// Writes what is held now.
    pub fn release(&mut self) -> Result<()> {
        self.holds = false;
        self.store.append(&[])
    }

    fn write(&mut self, events: &[Event]) -> Result<()> {
        if self.holds { self.store.stage(events) } else { self.store.append(events) }
    }

    /// The time that an event is written with: that of the scheduler, also where the clock was set back. Else whoever replays it would let the
    /// time pass twice that the scheduler had heard of and not written down, and spend it twice.
    fn stamp(&mut self, now_s: f64) -> f64 {
        let (now, start) = (self.state.clock(now_s), self.state.settings.start_s);
        if now_s - start == now { now_s } else { start + now }
    }

    fn stamped(&mut self, mut event: Event) -> Event {
        let time = event.time_mut();
        *time = self.stamp(*time);
        event
    }

    /// Checks, appends, applies.
    fn record(&mut self, event: Event) -> Result<()> {
        let event = self.stamped(event);
        self.state.check(&event)?;
        self.write(&[event])?;
        self.state.apply(&event)
    }

    /// Checks each, hands those that may happen to the store all at once, applies them.
    fn record_all(
        &mut self,
        events: impl Iterator<Item = Event>,
        mut check: impl FnMut(&Event) -> Result<()>,
    ) -> Result<Vec<Result<()>>> {
        let mut may = Vec::with_capacity(events.size_hint().0);
        let answers = events
            .map(|event| {
                let event = self.stamped(event);
                self.state.check(&event).and_then(|()| check(&event))?;
                may.push(event);
                Ok(())
            })
            .collect();
        if !may.is_empty() {
            self.write(&may)?;
            may.iter().try_for_each(|event| self.state.apply(event))?;
        }
        Ok(answers)
    }

    /// Makes room for so many more pages at once, which saves memory where their number is known.
    pub fn reserve(&mut self, pages: usize) {
        self.state.pages.reserve(pages);
        self.state.queues.reserve(pages);
    }

    /// Takes a page in, or back if it was retired.
    pub fn add(&mut self, now_s: f64, page: PageId, terms: PageTerms) -> Result<()> {
        self.record(Event::Added { now_s, page, terms })
    }

    /// Takes many pages in at once, written together; which ones were known already is said one by one.
    pub fn add_all(&mut self, now_s: f64, pages: &[(PageId, PageTerms)]) -> Result<Vec<Result<()>>> {
        let mut seen = HashSet::with_capacity(pages.len());
        let event = |(page, terms): &(PageId, PageTerms)| Event::Added { now_s, page: *page, terms: *terms };
        let check = |event: &Event| match event {
            Event::Added { page, .. } if !seen.insert(*page) => Err(Error::KnownPage(*page)),
            _ => Ok(()),
        };
        self.record_all(pages.iter().map(event), check)
    }

    /// Forgets a page and all that was learnt of it; its lease, if any, is dead.
    pub fn remove(&mut self, now_s: f64, page: PageId) -> Result<()> {
        self.record(Event::Removed { now_s, page })
    }

    /// Asks something else for a page. What was learnt stays; a live lease stays where it was given.
    pub fn change(&mut self, now_s: f64, page: PageId, terms: PageTerms) -> Result<()> {
        self.record(Event::Altered { now_s, page, terms })
    }

    /// Sets what a host bears.
    pub fn limit(&mut self, now_s: f64, host: HostId, limits: HostLimits) -> Result<()> {
        self.record(Event::Limited { now_s, host, limits })
    }

    /// Sets a group's rule. It counts for pages as they are visited, and for all from the next plan on.
    pub fn rule(&mut self, now_s: f64, group: GroupId, rule: GroupRule) -> Result<()> {
        self.record(Event::Ruled { now_s, group, rule })
    }

    /// Leaves a host alone until a time (Retry-After).
    pub fn block(&mut self, now_s: f64, host: HostId, until_s: f64) -> Result<()> {
        self.record(Event::Blocked { now_s, host, until_s })
    }

    /// Ends a block.
    pub fn unblock(&mut self, now_s: f64, host: HostId) -> Result<()> {
        self.record(Event::Blocked { now_s, host, until_s: f64::NEG_INFINITY })
    }

    /// Sets what a group bears, whatever its hosts bear.
    pub fn limit_group(&mut self, now_s: f64, group: GroupId, limits: HostLimits) -> Result<()> {
        self.record(Event::GroupLimited { now_s, group, limits })
    }

    /// Leaves a group alone until a time.
    pub fn block_group(&mut self, now_s: f64, group: GroupId, until_s: f64) -> Result<()> {
        self.record(Event::GroupBlocked { now_s, group, until_s })
    }

    /// Ends a group's block.
    pub fn unblock_group(&mut self, now_s: f64, group: GroupId) -> Result<()> {
        self.record(Event::GroupBlocked { now_s, group, until_s: f64::NEG_INFINITY })
    }

    /// Up to so many pages to visit now; leases whose time is over expire first.
    pub fn lease(&mut self, now_s: f64, limit: usize) -> Result<Vec<Lease>> {
        self.lease_some(now_s, limit, None)
    }

    /// The same for somebody who cannot take every page. Nothing is taken from a page that is worth more and that they cannot take: while
    /// the budget does not allow for both, only what would be lost is given out.
    ///
    /// Before they are due only pages are found that would be among the first 512.
    pub fn lease_within(&mut self, now_s: f64, limit: usize, wanted: &Constraints) -> Result<Vec<Lease>> {
        for group in wanted.groups() {
            if self.state.gates.lane(group.0).is_none() {
                self.record(Event::GroupLimited { now_s, group, limits: HostLimits::NONE })?;
            }
        }
        let now = self.state.clock(now_s);
        self.state.begin_view(now, wanted);
        let leases = self.lease_some(now_s, limit, None);
        self.state.end_view();
        leases
    }

    /// The same for those who come only now and then, and spend what the time since then has brought: when nothing is due, also
    /// pages that would be due later, first due first, unless they were seen since `unseen_since_s`.
    pub fn lease_ahead(&mut self, now_s: f64, limit: usize, unseen_since_s: f64) -> Result<Vec<Lease>> {
        let since = Tick::floor(unseen_since_s - self.state.settings.start_s).seconds();
        self.lease_some(now_s, limit, Some(since))
    }

    fn lease_some(&mut self, now_s: f64, limit: usize, unseen_since: Option<f64>) -> Result<Vec<Lease>> {
        self.expire(now_s)?;
        let (now_s, now) = (self.stamp(now_s), self.state.clock(now_s));
        let (mut events, mut leases) = (Vec::new(), Vec::new());
        while leases.len() < limit
            && let Some(slot) = self.state.choose(now, unseen_since)
        {
            let (lease, page) = (LeaseId(self.state.next_lease), self.state.pages.id(slot));
            self.state.give_out(now_s, lease, slot);
            events.push(Event::Leased { now_s, lease, page });
            let (host, start) = (HostId(self.state.pages.get(slot).host), self.state.settings.start_s);
            self.state.count_given(host);
            leases.push(Lease { id: lease, page, host, until_s: start + now + self.state.settings.lease_s });
        }
        self.holds = false;
        // Also where nothing is given out: something may be staged.
        if let Err(error) = self.store.append(&events) {
            leases.iter().rev().for_each(|lease| self.state.withdraw(lease.id));
            return Err(error);
        }
        Ok(leases)
    }

    /// Takes in what a visit found; refused when its lease is not live.
    pub fn complete(&mut self, now_s: f64, lease: LeaseId, outcome: Outcome) -> Result<()> {
        self.expire(now_s)?;
        self.record(Event::Completed { now_s, lease, outcome })
    }

    /// Takes in what many visits found, written together; whose lease is not live is said one by one.
    pub fn complete_all(&mut self, now_s: f64, visits: &[(LeaseId, Outcome)]) -> Result<Vec<Result<()>>> {
        self.expire(now_s)?;
        let mut seen = HashSet::with_capacity(visits.len());
        let event =
            |(lease, outcome): &(LeaseId, Outcome)| Event::Completed { now_s, lease: *lease, outcome: *outcome };
        let check = |event: &Event| match event {
            Event::Completed { lease, .. } if !seen.insert(*lease) => Err(Error::DeadLease(*lease)),
            _ => Ok(()),
        };
        self.record_all(visits.iter().map(event), check)
    }

    /// Ends all leases whose time is over, and says how many; their pages wait as after a failure that may be retried.
    pub fn expire(&mut self, now_s: f64) -> Result<usize> {
        let (now_s, now) = (self.stamp(now_s), self.state.clock(now_s));
        let over = self.state.expiries.iter().take_while(|(bits, _)| f64::from_bits(*bits) <= now);
        let events: Vec<Event> = over.map(|(_, lease)| Event::Expired { now_s, lease: *lease }).collect();
        if !events.is_empty() {
            self.write(&events)?;
            events.iter().try_for_each(|event| self.state.apply(event))?;
        }
        Ok(events.len())
    }

    /// Ends all live leases, as if their time were over: their workers are gone. Says how many.
    pub fn abandon(&mut self, now_s: f64) -> Result<usize> {
        let now_s = self.stamp(now_s);
        let events: Vec<Event> =
            self.state.leases.keys().map(|lease| Event::Expired { now_s, lease: *lease }).collect();
        if !events.is_empty() {
            self.write(&events)?;
            events.iter().try_for_each(|event| self.state.apply(event))?;
        }
        Ok(events.len())
    }

    /// Learns from all pages, finds the price at which they spend the budget, and sets anew when each is due.
    pub fn replan(&mut self, now_s: f64) -> Result<()> {
        self.record(Event::Replanned { now_s })
    }

    /// Makes a slice of such a plan, over at most so many pages, and says whether the plan is made now. Between two slices
    /// pages are given out and visits taken in, so that many pages hold nobody up.
    ///
    /// A slice is written with what is written next; a crash may lose it, and the plan goes on before it.
    pub fn plan_on(&mut self, now_s: f64, most: u32) -> Result<bool> {
        let event = self.stamped(Event::Planned { now_s, most });
        self.state.check(&event)?;
        self.store.stage(&[event])?;
        self.state.apply(&event)?;
        Ok(!self.is_planning())
    }

    /// Makes at once what is left of a plan that is being made in slices.
    pub fn finish_plan(&mut self) -> Result<()> {
        while let Some(event) = self.state.rest_of_plan() {
            self.store.stage(&[event])?;
            self.state.apply(&event)?;
        }
        Ok(())
    }

    /// Is a plan being made in slices?
    pub const fn is_planning(&self) -> bool {
        self.state.planning.is_some()
    }

    /// When to ask again: something is due, a host opens, the budget allows a visit, or a lease expires. None: nothing waits.
    pub fn next_wakeup(&mut self, now_s: f64) -> Option<f64> {
        let now = self.state.clock(now_s);
        let start = self.state.settings.start_s;
        self.state.wakeup(now).map(|next| start + next)
    }

    /// The same for somebody who cannot take every page: never too late, but it may be that nothing is for them then.
    pub fn next_wakeup_within(&mut self, now_s: f64, wanted: &Constraints) -> Option<f64> {
        let now = self.state.clock(now_s);
        self.state.begin_view(now, wanted);
        let next = self.next_wakeup(now_s);
        self.state.end_view();
        next
    }

    /// What is known of a page, when it is visited next, and why then.
    pub fn explain(&self, now_s: f64, page: PageId) -> Result<Explanation> {
        self.state.explain(now_s, page)
    }

    /// How things stand.
    pub fn status(&mut self, now_s: f64) -> Status {
        self.state.status(now_s)
    }

    /// Lets the store keep the state, so that it need not replay what led to it. A plan that is being made is made first.
    pub fn compact(&mut self) -> Result<()> {
        self.finish_plan()?;
        self.store.keep(&self.state)
    }

    /// The state, to compare.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// The state to read, and the store for what it does beside events.
    pub const fn parts(&mut self) -> (&State, &mut S) {
        (&self.state, &mut self.store)
    }

    /// The store, for what it does beside events.
    pub const fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// Lets go of the store.
    pub fn into_store(self) -> S {
        self.store
    }

    /// Bytes held for pages beyond their keys of eight bytes: records, index and calendar. The policy's panel, at most 8 MB
    /// however many pages there are, and hosts are not counted.
    pub fn resident_bytes(&self) -> usize {
        self.state.pages.resident_bytes() + self.state.queues.resident_bytes()
    }
    /// How fresh the copies are believed to be now: all, by group, and the hosts with the most weight that is stale.
    ///
    /// Of more than a million pages every n-th is looked at; the answer says how many.
    pub fn standing(&mut self, now_s: f64, hosts: usize) -> Standing {
        self.state.standing(now_s, hosts)
    }

    /// What can be expected in the long run with so many times the budget: 1 if nothing changes; positive and finite.
    ///
    /// It takes about as long as a plan and changes nothing.
    pub fn forecast(&self, budget_factor: f64) -> Result<Forecast> {
        if budget_factor > 0.0 && budget_factor.is_finite() {
            return Ok(self.state.forecast(budget_factor));
        }
        let (what, bound, value) = ("factor of the budget", "positive and finite", budget_factor);
        Err(everfresh::Error::OutOfBounds { what, bound, value }.into())
    }

    /// What the last plan leads to: about what [`Scheduler::forecast`] says of the budget as it is, told by some 65,536 pages, so
    /// that it holds up nobody. Hosts and groups that cannot keep promises are known from the first plan on that this scheduler makes.
    pub fn expected(&self) -> Freshness {
        self.state.expected()
    }

    /// What it costs now that not all that is due is visited.
    pub fn overload(&mut self, now_s: f64) -> Overload {
        self.state.overload(now_s)
    }

    /// Takes in a hint that a page changed, or will change, at a time in seconds; it is believed as far as such hints proved right.
    ///
    /// Nothing comes of one that is older than the last visit, of one for a page that has no copy yet, or while a better one waits.
    pub fn hint(&mut self, now_s: f64, page: PageId, kind: HintKind, changed_at_s: f64) -> Result<()> {
        self.record(Event::Hinted { now_s, page, kind, changed_at_s })
    }

    /// Takes in many hints at once, written together; pages that are not known are said one by one.
    pub fn hint_all(&mut self, now_s: f64, hints: &[(PageId, HintKind, f64)]) -> Result<Vec<Result<()>>> {
        let event = |hint: &(PageId, HintKind, f64)| {
            let (page, kind, changed_at_s) = *hint;
            Event::Hinted { now_s, page, kind, changed_at_s }
        };
        self.record_all(hints.iter().map(event), |_| Ok(()))
    }
}
