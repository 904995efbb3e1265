use crate::bucket::Bucket;
use crate::chance;
use crate::choose::Queues;
use crate::error::{Error, Result};
use crate::event::{Event, LeaseId, Outcome};
use crate::hint::{HintKind, Tried, Whose};
use crate::host::{Gates, Host};
use crate::page::{Pages, Trouble};
use crate::planning::Planning;
use crate::replan::Full;
use crate::terms::{GroupId, GroupRule, HostId, HostLimits, PageId, PageTerms, Settings};
use crate::tick::Tick;
use everfresh::policy::{self, About, Aim, Policy, Posterior, Visit, Watched};
use everfresh::{Period, Rate, Unit};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// All that a scheduler knows: what its events made of it.
///
/// Opaque but for [`PartialEq`]; a [`Store`](crate::Store) keeps it as a snapshot. Times inside are seconds since the start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    pub(crate) settings: Settings,
    /// The latest time of any operation: clocks that jump back stand still.
    pub(crate) now_s: f64,
    pub(crate) pages: Pages,
    pub(crate) hosts: BTreeMap<u32, Host>,
    groups: BTreeMap<u16, GroupRule>,
    pub(crate) leases: BTreeMap<LeaseId, Live>,
    /// When leases expire, by the bits of the time. Derived.
    #[serde(skip)]
    pub(crate) expiries: BTreeSet<(u64, LeaseId)>,
    pub(crate) next_lease: u64,
    pub(crate) bucket: Bucket,
    pub(crate) policy: Posterior,
    pub(crate) price: f64,
    /// How late visits come, on average over the last ones.
    pub(crate) lag_s: f64,
    pub(crate) replanned_s: f64,
    /// The time in which the budget visits every page once.
    pub(crate) round_s: f64,
    /// How many hints were right, by whose they were.
    pub(crate) hints: BTreeMap<(Whose, HintKind), Tried>,
    /// Written after all else: it was not there at first.
    #[serde(skip)]
    pub(crate) gates: Gates,
    /// The share of visits that hints bring about beyond what is planned. As the gates.
    #[serde(skip)]
    pub(crate) hinted_share: f64,
    /// The plan that is being made. States are kept when none is.
    #[serde(skip)]
    pub(crate) planning: Option<Planning>,
    /// What the last plan found full: for those who ask what to expect.
    #[serde(skip)]
    pub(crate) full: Full,
    /// Derived.
    #[serde(skip)]
    pub(crate) queues: Queues,
}

/// A live lease.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Live {
    pub(crate) slot: u32,
    /// Where it is held, wherever the page is now.
    pub(crate) host: u32,
    pub(crate) until_s: f64,
}

/// Equal ground state: queues, and times at which nothing happened, are not part of it.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.settings == other.settings
            && self.pages == other.pages
            && self.hosts == other.hosts
            && self.groups == other.groups
            && self.leases == other.leases
            && self.next_lease == other.next_lease
            && self.bucket == other.bucket
            && self.policy == other.policy
            && self.hints == other.hints
            && self.gates == other.gates
            && self.hinted_share == other.hinted_share
            && self.planning == other.planning
            && (self.price, self.lag_s, self.replanned_s, self.round_s)
                == (other.price, other.lag_s, other.replanned_s, other.round_s)
    }
}

/// The price before any plan: a utility of a day.
const FIRST_PRICE: f64 = 86_400.0;
/// The round before any plan: with a floor of 5 % no page waits longer than five days then.
const FIRST_ROUND_S: f64 = 21_600.0;
/// Lateness is averaged over as many visits as there are pages, and at least so many: steered faster than in the round that
/// a price needs to show, it would swing.
const LAG_VISITS: usize = 64;
/// How far lateness may move the price from what was planned.
const STEERING: f64 = 4.0;
/// Periods are spread by so much, so that what fell together does not stay together.
const JITTER: f64 = 0.1;
/// No page is visited more often than this.
const LEAST_PERIOD_S: f64 = 1.0;
/// The first waits after a failure, by whether a retry makes sense, and the longest.
const RETRY_S: f64 = 900.0;
const REFUSED_S: f64 = 86_400.0;
const LONGEST_BACKOFF_S: f64 = 30.0 * 86_400.0;
/// After more failures than one the waits are those that begin with so many periods of the page: one that fails must not get more visits than one
/// that does not, but for a few.
const RETRY_PERIODS: f64 = 1.0 / 64.0;
/// Pages that are gone are probed after their period, but not before a day and within nine: of a hundred thousand recorded pages that came back a
/// thousandth took longer than nine days, and of those that were away for longer hardly any ever came (DESIGN.md). Then three times as long after that each
/// time, or after nine times their period and nine times that, what is later: a page that was visited every hour is probed five times, one that was
/// visited once in fifty days once. One that would have to wait for more than a year is retired.
const PROBE_S: f64 = 86_400.0;
const PROBED_BY_S: f64 = 9.0 * 86_400.0;
const RARER: f64 = 3.0;
const MUCH_RARER: f64 = 9.0;
const LONGEST_PROBE_S: f64 = 365.0 * 86_400.0;
/// So many pages are on the policy's panel at most: 8 MB.
const PANEL: usize = 16_384;

/// Why a page has its period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Price,
    HostPrice,
    GroupPrice,
    MinPeriod,
    MaxPeriod,
    Floor,
    Pin,
    GroupPeriod,
    Hint,
}

/// The prices at which a page's host and group are asked for no more than they bear; 0 where they aren't anyway.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnPrices {
    pub(crate) host: f64,
    pub(crate) group: f64,
}

impl OwnPrices {
    pub(crate) const fn most(self) -> f64 {
        self.host.max(self.group)
    }
}

/// The time in which a budget visits every page once, as it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// The most time between visits that the floor leaves any page, in seconds.
    pub(crate) floor_s: f64,
    /// The age that counts as much as a stale copy does, in seconds: by it groups that aim at age share a price with others.
    ///
    /// Of a page that hardly changes the utility after t is `λ t^2/2` for freshness and `λ t^3/3` for age. They are worth the same after a round, so
    /// that of equal groups neither takes the visits of the other.
    pub(crate) stale_age_s: f64,
}

impl Round {
    pub(crate) fn of(round_s: f64, settings: &Settings) -> Round {
        Round { floor_s: round_s / settings.floor_share, stale_age_s: 2.0 / 3.0 * round_s }
    }
}

impl State {
    pub(crate) fn new(settings: Settings) -> State {
        State {
            settings,
            now_s: 0.0,
            pages: Pages::new(settings.seed),
            hosts: BTreeMap::new(),
            groups: BTreeMap::new(),
            leases: BTreeMap::new(),
            expiries: BTreeSet::new(),
            next_lease: 0,
            bucket: Bucket::new(settings.budget_per_s, settings.burst, 0.0),
            policy: Posterior::new(Aim::Freshness),
            price: FIRST_PRICE,
            lag_s: 0.0,
            replanned_s: 0.0,
            round_s: f64::INFINITY,
            hints: BTreeMap::new(),
            gates: Gates::default(),
            hinted_share: 0.0,
            planning: None,
            full: Full::default(),
            queues: Queues::default(),
        }
    }

    /// Lets the next event of a log happen; the first one must be settings.
    pub fn fold(state: &mut Option<State>, event: &Event) -> Result<()> {
        match (state, event) {
            (Some(state), event) => state.apply(event),
            (none, Event::Configured { settings, .. }) => none.insert(State::new(*settings)).apply(event),
            _ => Err(Error::Log("it must begin with settings")),
        }
    }

    /// Is the page known, be it retired?
    pub fn knows(&self, page: PageId) -> bool {
        self.pages.find(page).is_some()
    }

    /// The live leases and their pages.
    pub fn live(&self) -> impl Iterator<Item = (LeaseId, PageId)> {
        self.leases.iter().map(|(lease, live)| (*lease, self.pages.id(live.slot)))
    }

    /// Do the visits of a page see it? Nothing of a page that is not known.
    pub fn trouble(&self, page: PageId) -> Option<Trouble> {
        self.pages.find(page).map(|slot| self.pages.trouble(slot))
    }

    /// When a page was last seen; nothing while there is no copy of it.
    pub fn seen_s(&self, page: PageId) -> Option<f64> {
        let page = self.pages.get(self.pages.find(page)?);
        page.is_copied().then(|| self.settings.start_s + page.saw.seconds())
    }

    /// The longest gap that is between visits of a host with pages which were not seen since a time, failing ones left aside. Nothing
    /// if there are none, or no visit can be paid: then nothing comes of waiting.
    pub fn gap_of_unseen(&self, now_s: f64, unseen_since_s: f64) -> Option<Period> {
        let start_s = self.settings.start_s;
        let (now, since) = (now_s - start_s, Tick::floor(unseen_since_s - start_s));
        let is_unseen = |slot: &u32| {
            let page = self.pages.get(*slot);
            let is_live =
                self.pages.trouble(*slot) == Trouble::None && self.bucket.affords(now, self.pages.rare(*slot).cost);
            is_live && !page.is_leased() && !(page.is_copied() && page.saw >= since)
        };
        let gap = |slot: u32| self.limits(self.pages.get(slot).host).gap();
        self.pages.slots().filter(is_unseen).map(gap).max_by(|a, b| a.seconds().total_cmp(&b.seconds()))
    }

    /// The latest time that it was told, in seconds: a clock that is behind it stands still until then.
    pub fn latest_s(&self) -> f64 {
        self.settings.start_s + self.now_s
    }

    /// How many pages there are, retired ones included.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Is there no page?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every page, by slot.
    pub fn pages(&self) -> impl Iterator<Item = PageId> {
        self.pages.slots().map(|slot| self.pages.id(slot))
    }

    /// What makes the rest of a plan that is being made, if one is: it may take several. States are kept when none is.
    pub fn rest_of_plan(&self) -> Option<Event> {
        let now_s = self.settings.start_s + self.now_s;
        self.planning.as_ref().map(|_| Event::Planned { now_s, most: u32::MAX })
    }

    /// What it was opened with last.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What a host bears.
    pub fn host_limits(&self, host: HostId) -> HostLimits {
        self.limits(host.0)
    }

    /// Until when times can be told apart: some 17 years after the start.
    pub fn ends_s(&self) -> f64 {
        self.settings.start_s + Tick::LAST.seconds()
    }

    /// Until when a host is left alone; in the past, or 0, where it is not.
    pub fn host_blocked_until_s(&self, host: HostId) -> f64 {
        let until = self.hosts.get(&host.0).map_or(0.0, |host| host.gate.blocked_until_s);
        if until > 0.0 { self.settings.start_s + until } else { 0.0 }
    }

    /// Hosts that are left alone after a time, with until when.
    pub fn blocked_hosts(&self, now_s: f64) -> impl Iterator<Item = (HostId, f64)> + '_ {
        let until_s = |host: &u32| (HostId(*host), self.host_blocked_until_s(HostId(*host)));
        self.hosts.keys().map(until_s).filter(move |(_, until_s)| *until_s > now_s)
    }

    /// Hosts that have limits of their own.
    pub fn limited_hosts(&self) -> impl Iterator<Item = (HostId, HostLimits)> + '_ {
        self.hosts.iter().filter_map(|(host, entry)| Some((HostId(*host), entry.gate.limits?)))
    }

    /// What a group bears.
    pub fn group_limits(&self, group: GroupId) -> HostLimits {
        self.gates.limits(group.0)
    }

    /// A group's rule.
    pub fn group_rule(&self, group: GroupId) -> GroupRule {
        self.rule(group.0)
    }

    /// What is asked for a page.
    pub fn terms(&self, page: PageId) -> Result<PageTerms> {
        Ok(self.pages.terms(self.slot(page)?))
    }

    /// Seconds since the start, never less than before. A time that is no number is the last one.
    pub(crate) fn clock(&mut self, now_s: f64) -> f64 {
        let now = now_s - self.settings.start_s;
        if now.is_finite() {
            self.now_s = self.now_s.max(now);
        }
        self.now_s
    }

    /// May this happen now?
    pub(crate) fn check(&self, event: &Event) -> Result<()> {
        match *event {
            Event::Added { page, .. } => match self.pages.find(page) {
                Some(slot) if self.pages.trouble(slot) != Trouble::Retired => Err(Error::KnownPage(page)),
                None if !self.pages.has_room() => Err(Error::Log("there are as many pages as can be counted")),
                _ => Ok(()),
            },
            Event::Removed { page, .. } | Event::Altered { page, .. } | Event::Hinted { page, .. } => {
                self.slot(page).map(|_| ())
            }
            Event::Ruled { rule, .. } => Ok(rule.checked().map(|_| ())?),
            Event::Planned { most: 0, .. } => {
                let (what, bound) = ("number of pages of a slice", "at least 1");
                Err(everfresh::Error::OutOfBounds { what, bound, value: 0.0 }.into())
            }
            Event::Leased { page, lease, .. } => {
                let slot = self.slot(page)?;
                let fits = !self.pages.get(slot).is_leased() && lease.0 >= self.next_lease;
                if fits { Ok(()) } else { Err(Error::Log("a page was leased twice at once")) }
            }
            Event::Completed { lease, outcome, .. } => {
                if !self.leases.contains_key(&lease) {
                    return Err(Error::DeadLease(lease));
                }
                check_outcome(outcome)
            }
            Event::Expired { lease, .. } if !self.leases.contains_key(&lease) => Err(Error::DeadLease(lease)),
            Event::Configured { settings, .. }
                if (settings.seed, settings.start_s) != (self.settings.seed, self.settings.start_s) =>
            {
                Err(Error::Log("its seed and its start must be those of the settings"))
            }
            _ => Ok(()),
        }
    }

    /// Lets something happen that may.
    pub(crate) fn apply(&mut self, event: &Event) -> Result<()> {
        self.check(event)?;
        match *event {
            Event::Configured { now_s, settings } => self.configure(now_s, settings),
            Event::Added { now_s, page, terms } => self.add(now_s, page, &terms),
            Event::Removed { now_s, page } => self.remove(now_s, page)?,
            Event::Altered { now_s, page, terms } => self.alter(now_s, page, &terms)?,
            Event::Limited { now_s, host, limits } => {
                self.clock(now_s);
                self.hosts.entry(host.0).or_default().gate.limits = Some(limits);
                self.settle(host.0);
            }
            Event::Blocked { now_s, host, until_s } => {
                self.clock(now_s);
                let until = (until_s - self.settings.start_s).max(0.0);
                self.hosts.entry(host.0).or_default().gate.blocked_until_s = until;
                self.settle(host.0);
            }
            Event::GroupLimited { now_s, group, limits } => {
                self.clock(now_s);
                self.limit_group(group.0, limits);
            }
            Event::GroupBlocked { now_s, group, until_s } => {
                self.clock(now_s);
                self.limit_group(group.0, self.gates.limits(group.0));
                self.gates.of(group.0).blocked_until_s = (until_s - self.settings.start_s).max(0.0);
            }
            Event::Ruled { now_s, group, rule } => {
                self.clock(now_s);
                self.groups.insert(group.0, rule);
                // What pages of the group are worth, and what was promised them, is something else now.
                self.enqueue_all();
            }
            Event::Leased { now_s, lease, page } => self.give_out(now_s, lease, self.slot(page)?),
            Event::Completed { now_s, lease, outcome } => self.complete(now_s, lease, outcome),
            Event::Expired { now_s, lease } => self.complete(now_s, lease, Outcome::Failed { retryable: true }),
            Event::Replanned { now_s } => self.replan(now_s),
            Event::Planned { now_s, most } => self.plan_on(now_s, most as usize),
            Event::Hinted { now_s, page, kind, changed_at_s } => {
                self.clock(now_s);
                self.hint(self.slot(page)?, kind, changed_at_s);
            }
        }
        Ok(())
    }

    pub(crate) fn slot(&self, page: PageId) -> Result<u32> {
        self.pages.find(page).ok_or(Error::UnknownPage(page))
    }

    pub(crate) fn limits(&self, host: u32) -> HostLimits {
        self.hosts.get(&host).and_then(|host| host.gate.limits).unwrap_or(self.settings.limits)
    }

    /// Sets what a group bears. The first time its pages begin to wait in a lane of their own.
    fn limit_group(&mut self, group: u16, limits: HostLimits) {
        let before = self.gates.of(group).limits.replace(limits);
        if before.is_none() {
            self.enqueue_all();
        }
    }

    pub(crate) fn rule(&self, group: u16) -> GroupRule {
        self.groups.get(&group).copied().unwrap_or(self.settings.rule)
    }

    fn configure(&mut self, now_s: f64, settings: Settings) {
        let now = self.clock(now_s);
        self.bucket = self.bucket.with_terms(settings.budget_per_s, settings.burst, now);
        self.settings = settings;
        self.enqueue_all();
    }

    fn add(&mut self, now_s: f64, id: PageId, terms: &PageTerms) {
        let now = self.clock(now_s);
        self.hosts.entry(terms.host.0).or_default();
        let slot = if let Some(slot) = self.pages.find(id) {
            // It was retired and is asked for again: what was learnt stays.
            self.pages.set_trouble(slot, Trouble::None);
            self.pages.set_terms(slot, terms);
            slot
        } else {
            self.pages.insert(id, terms, Tick::floor(now))
        };
        self.schedule(slot);
    }

    fn remove(&mut self, now_s: f64, id: PageId) -> Result<()> {
        self.clock(now_s);
        let slot = self.slot(id)?;
        if let Some(lease) = self.lease_of(slot) {
            self.end_lease(lease);
        }
        let host = self.pages.get(slot).host;
        self.pages.remove(slot);
        self.settle(host);
        Ok(())
    }

    fn alter(&mut self, now_s: f64, id: PageId, terms: &PageTerms) -> Result<()> {
        self.clock(now_s);
        let slot = self.slot(id)?;
        let before = *self.pages.get(slot);
        self.hosts.entry(terms.host.0).or_default();
        self.pages.set_terms(slot, terms);
        if before.is_leased() {
            // A lease goes with its page from group to group; where it is held is its host.
            self.gates.of(before.group).leave();
            self.gates.of(terms.group.0).live += 1;
        } else {
            self.reschedule(slot);
        }
        self.settle(before.host);
        Ok(())
    }

    /// Sets anew when a page is due, unless it waits in trouble or is being visited.
    pub(crate) fn reschedule(&mut self, slot: u32) {
        match self.pages.trouble(slot) {
            _ if self.pages.get(slot).is_leased() => {}
            Trouble::None => self.schedule(slot),
            _ => self.wait_until(slot, self.pages.get(slot).due),
        }
    }

    pub(crate) fn lease_of(&self, slot: u32) -> Option<LeaseId> {
        self.leases.iter().find(|(_, live)| live.slot == slot).map(|(lease, _)| *lease)
    }

    /// Leases a page that may be leased.
    pub(crate) fn give_out(&mut self, now_s: f64, lease: LeaseId, slot: u32) {
        let now = self.clock(now_s);
        let page = *self.pages.get(slot);
        self.note_lag(slot, now);
        self.note_hint(slot, now);
        self.pages.get_mut(slot).set_leased(true);
        self.bucket.take(now, self.pages.rare(slot).cost);
        let until_s = now + self.settings.lease_s;
        self.leases.insert(lease, Live { slot, host: page.host, until_s });
        self.expiries.insert((until_s.to_bits(), lease));
        self.next_lease = lease.0 + 1;
        self.gates.of(page.group).enter(now);
        self.hosts.entry(page.host).or_default().gate.enter(now);
        self.settle(page.host);
    }

    /// Takes in how late a visit comes, if it is the price that made it due.
    fn note_lag(&mut self, slot: u32, now: f64) {
        let (page, rare) = (self.pages.get(slot), self.pages.rare(slot));
        let follows = matches!(self.rule(page.group), GroupRule::Aim(_));
        let is_priced = follows && rare.trouble == Trouble::None && rare.pin_s.is_none();
        // Who waits for a host or a group that is full, or for its hours, does not wait for the budget.
        let is_held = self.own_prices(slot).most() > self.price || self.wait_s(page.host, page.group) > 0.0;
        if is_priced && !is_held && page.due < Tick::LAST {
            let late = now - page.due.seconds().max(self.replanned_s);
            self.lag_s += (late - self.lag_s) / self.visits_averaged();
        }
    }

    /// Takes in how much sooner than planned a visit comes for a hint: by the share of its period that is left, it is one more.
    fn note_hint(&mut self, slot: u32, now: f64) {
        let price = self.steered_price();
        let is_hinted = self.pages.rare(slot).hint.is_some() && self.period_s(slot, price).1 == Why::Hint;
        let more = if is_hinted {
            let usual = self.usual_under(slot, price, self.own_prices(slot), self.round());
            (1.0 - self.elapsed(slot, now).seconds() / usual).max(0.0)
        } else {
            0.0
        };
        self.hinted_share += (more - self.hinted_share) / self.visits_averaged();
    }

    /// Over so many visits what they are like is averaged.
    fn visits_averaged(&self) -> f64 {
        self.pages.len().max(LAG_VISITS) as f64
    }

    /// The share of visits that hints bring about beyond what is planned.
    pub const fn hinted_share(&self) -> f64 {
        self.hinted_share
    }

    /// The share of the budget that hints leave; at least the floor.
    pub(crate) fn unhinted_share(&self) -> f64 {
        (1.0 - self.hinted_share).max(self.settings.floor_share)
    }

    /// The price, moved by how late visits come: where all come late by L, periods that average M should be L longer. They go
    /// about as the root of the price.
    pub(crate) fn steered_price(&self) -> f64 {
        let stretch = 1.0 + (self.lag_s / self.round_s).max(-1.0);
        self.price * (stretch * stretch).clamp(1.0 / STEERING, STEERING)
    }

    pub(crate) fn end_lease(&mut self, lease: LeaseId) -> Option<u32> {
        let live = self.leases.remove(&lease)?;
        self.expiries.remove(&(live.until_s.to_bits(), lease));
        self.pages.get_mut(live.slot).set_leased(false);
        self.gates.of(self.pages.get(live.slot).group).leave();
        self.hosts.entry(live.host).or_default().gate.leave();
        self.settle(live.host);
        Some(live.slot)
    }

    fn complete(&mut self, now_s: f64, lease: LeaseId, outcome: Outcome) {
        let now = self.clock(now_s);
        let Some(slot) = self.end_lease(lease) else { return };
        match outcome {
            Outcome::Unchanged => self.saw(slot, now, policy::Outcome::Unchanged),
            Outcome::Changed { divergence, last_change } => {
                self.saw(slot, now, policy::Outcome::Changed { divergence, last_change });
            }
            Outcome::Gone => self.missed(slot, now),
            Outcome::Failed { retryable } => self.failed(slot, now, retryable),
        }
    }

    fn saw(&mut self, slot: u32, now: f64, outcome: policy::Outcome) {
        self.pages.set_trouble(slot, Trouble::None);
        if self.pages.get(slot).is_copied() {
            self.learn_from(slot, now, outcome);
        } else {
            // The first visit makes the copy: there was nothing that it could differ from.
            self.pages.get_mut(slot).set_copied();
            self.seat(slot, now);
        }
        self.pages.get_mut(slot).saw = Tick::floor(now);
        self.schedule(slot);
    }

    /// Puts a page on the policy's panel, if its lot says so and there is a seat.
    fn seat(&mut self, slot: u32, now: f64) {
        let lot = chance::hash(self.settings.seed, self.pages.id(slot).0, u64::MAX);
        if self.pages.panels.len() < PANEL
            && let (_, _, Some(panel)) = self.policy.remember(&self.about(slot), now, &[lot]).parts()
        {
            self.pages.panels.insert(slot, panel);
        }
    }

    fn learn_from(&mut self, slot: u32, now: f64, outcome: policy::Outcome) {
        let elapsed = self.elapsed(slot, now);
        let is_change = matches!(outcome, policy::Outcome::Changed { .. });
        let foretold = self.try_hint(slot, now, is_change);
        let outcome = match outcome {
            // It was visited because it changed: one change in all the time since, and not one at some time within it.
            policy::Outcome::Changed { divergence, .. } if foretold => {
                policy::Outcome::Changed { divergence, last_change: Some(elapsed) }
            }
            // A source whose clock is wrong still changed.
            policy::Outcome::Changed { divergence, last_change } => {
                policy::Outcome::Changed { divergence, last_change: last_change.filter(|since| *since <= elapsed) }
            }
            other => other,
        };
        let (about, page) = (self.about(slot), *self.pages.get(slot));
        let panel = self.pages.panels.remove(&slot);
        let mut memory = Watched::of_parts(page.state, f64::from(page.depth) / 255.0, panel);
        self.policy.observe(&about, &mut memory, &Visit { now_s: now, elapsed, outcome, fragments: &[] });
        let (state, depth, panel) = memory.parts();
        if let Some(panel) = panel {
            self.pages.panels.insert(slot, panel);
        }
        let lot = chance::lot(self.settings.seed, self.pages.id(slot).0, u64::from(state.visits()) << 1);
        let page = self.pages.get_mut(slot);
        page.state = state;
        if matches!(outcome, policy::Outcome::Changed { .. }) {
            page.depth = in_255ths(depth, lot);
        }
    }

    fn failed(&mut self, slot: u32, now: f64, retryable: bool) {
        let before = match self.pages.trouble(slot) {
            Trouble::Failing(failures) => failures,
            // A page that is gone stays so until it is seen: its next probe is not put forward.
            Trouble::Gone(misses) => return self.ask_again(slot, now, misses),
            // Somebody says that it is there again, and nobody could see: it is asked for once more.
            Trouble::Retired => {
                self.pages.set_trouble(slot, Trouble::Gone(1));
                return self.ask_again(slot, now, 1);
            }
            Trouble::None => 0,
        };
        self.pages.set_trouble(slot, Trouble::Failing(before.saturating_add(1)));
        let period_s = self.usual_period_s(slot);
        let first = if retryable { RETRY_S } else { REFUSED_S };
        // The first may be an accident, or that of a worker who was lost.
        let first = if before == 0 { first } else { first.max(RETRY_PERIODS * period_s) };
        let wait = (first * 2f64.powi(i32::from(before.min(30)))).min(LONGEST_BACKOFF_S.max(period_s));
        self.retry_after(slot, now, wait, u64::from(before));
    }

    /// A page that was gone is not seen now: that is no miss, so it must not come more often than if it were there.
    fn ask_again(&mut self, slot: u32, now: f64, misses: u8) {
        let wait_s = self.probe_s(slot, misses).min(LONGEST_PROBE_S).max(self.usual_period_s(slot));
        self.retry_after(slot, now, wait_s, u64::from(misses));
    }

    /// How often a page would be visited that is in no trouble; at least once a year.
    fn usual_period_s(&self, slot: u32) -> f64 {
        self.usual_under(slot, self.steered_price(), self.own_prices(slot), self.round()).min(LONGEST_PROBE_S)
    }

    /// How long a page is let alone that was gone so many times in a row.
    fn probe_s(&self, slot: u32, misses: u8) -> f64 {
        let again = i32::from(misses.max(1)) - 1;
        let (period, soonest) = (self.usual_period_s(slot), PROBE_S * RARER.powi(again));
        if again == 0 { period.clamp(soonest, PROBED_BY_S) } else { soonest.max(period * MUCH_RARER.powi(again)) }
    }

    fn missed(&mut self, slot: u32, now: f64) {
        let before = match self.pages.trouble(slot) {
            Trouble::Gone(misses) => misses,
            // A log of before pages were retired sooner.
            Trouble::Retired => return self.probe_later(slot, now),
            Trouble::None | Trouble::Failing(_) => 0,
        };
        let misses = before.saturating_add(1);
        let is_over = self.probe_s(slot, misses) > LONGEST_PROBE_S;
        let trouble = if is_over { Trouble::Retired } else { Trouble::Gone(misses) };
        self.pages.set_trouble(slot, trouble);
        self.probe_later(slot, now);
    }

    fn probe_later(&mut self, slot: u32, now: f64) {
        if let Trouble::Gone(misses) = self.pages.trouble(slot) {
            self.retry_after(slot, now, self.probe_s(slot, misses).min(LONGEST_PROBE_S), u64::from(misses));
        } else {
            self.pages.get_mut(slot).due = Tick::LAST;
        }
    }

    fn retry_after(&mut self, slot: u32, now: f64, wait_s: f64, count: u64) {
        let lot = self.lot(slot, count << 32);
        self.wait_until(slot, Tick::ceil(now + wait_s * (1.0 + JITTER * (lot - 0.5))));
    }

    /// Lets a page wait until a time, and not for less than its minimum period.
    pub(crate) fn wait_until(&mut self, slot: u32, due: Tick) {
        self.pages.get_mut(slot).due = due.max(self.earliest(slot));
        self.enqueue(slot);
    }

    /// When the minimum period of a page is over; a page that was never seen has none.
    fn earliest(&self, slot: u32) -> Tick {
        let page = self.pages.get(slot);
        if page.is_copied() { Tick::ceil(page.saw.seconds() + self.pages.rare(slot).min_s) } else { Tick::default() }
    }

    /// A lot that is drawn anew after each visit that saw the page.
    fn lot(&self, slot: u32, count: u64) -> f64 {
        let visits = u64::from(self.pages.get(slot).state.visits());
        chance::lot(self.settings.seed, self.pages.id(slot).0, count + (visits << 1) + 1)
    }

    pub(crate) fn elapsed(&self, slot: u32, now: f64) -> Period {
        Period::of((now - self.pages.get(slot).saw.seconds()).max(0.0), Unit::Second).unwrap_or(Period::ZERO)
    }

    pub(crate) fn about(&self, slot: u32) -> About {
        let page = self.pages.get(slot);
        let (weight, cost) = (f64::from(page.weight), self.pages.rare(slot).cost);
        About { number: slot, weight, cost, group: u32::from(page.group), rate: Rate::STATIC }
    }

    /// What the policy remembers of a page, but for the panel.
    pub(crate) fn memory(&self, slot: u32) -> Watched {
        let page = self.pages.get(slot);
        Watched::of_parts(page.state, f64::from(page.depth) / 255.0, None)
    }

    /// The time in which the budget visits every page once, as far as is known.
    pub(crate) fn round(&self) -> Round {
        Round::of(if self.round_s.is_finite() { self.round_s } else { FIRST_ROUND_S }, &self.settings)
    }

    /// The most time between visits that the floor leaves any page.
    pub(crate) fn floor_s(&self) -> f64 {
        self.round().floor_s
    }

    /// How often a page in no trouble is visited at a price, in seconds, and why.
    pub(crate) fn period_s(&self, slot: u32, price: f64) -> (f64, Why) {
        self.period_under(slot, price, self.own_prices(slot), self.round())
    }

    /// The prices of a page's host and group.
    pub(crate) fn own_prices(&self, slot: u32) -> OwnPrices {
        let page = self.pages.get(slot);
        let host = self.hosts.get(&page.host).map_or(0.0, |host| host.gate.price);
        OwnPrices { host, group: self.gates.price(page.group) }
    }

    /// How long one waits on average for an hour of a host and a group, in seconds.
    pub(crate) fn wait_s(&self, host: u32, group: u16) -> f64 {
        self.limits(host).week().mean_wait_s().max(self.gates.limits(group).week().mean_wait_s())
    }

    /// How often a page is visited at a price, if its host and its group have these and every page comes once in so much time.
    pub(crate) fn period_under(&self, slot: u32, price: f64, own: OwnPrices, round: Round) -> (f64, Why) {
        self.period_by(slot, round.floor_s, |aim| {
            let (wanted, is_hinted) = self.wanted_s(slot, aim, price.max(own.most()), round);
            let why = match is_hinted {
                true => Why::Hint,
                false if own.most() <= price => Why::Price,
                false if own.group > own.host => Why::GroupPrice,
                false => Why::HostPrice,
            };
            (wanted, why)
        })
    }

    /// The same in the long run, in seconds: what a hint brings about once does not come again.
    pub(crate) fn usual_under(&self, slot: u32, price: f64, own: OwnPrices, round: Round) -> f64 {
        self.period_by(slot, round.floor_s, |aim| (self.plain_s(slot, aim, price.max(own.most()), round), Why::Price)).0
    }

    /// How often a page is visited whose weight has it visited so often for an aim, and why.
    fn period_by(&self, slot: u32, floor: f64, wanted: impl FnOnce(Aim) -> (f64, Why)) -> (f64, Why) {
        let (page, rare) = (self.pages.get(slot), self.pages.rare(slot));
        if let Some(pin) = rare.pin_s {
            return (pin.max(LEAST_PERIOD_S), Why::Pin);
        }
        let aim = match self.rule(page.group) {
            GroupRule::Every(period) => return (period.seconds().max(LEAST_PERIOD_S), Why::GroupPeriod),
            GroupRule::Aim(aim) => aim,
        };
        let (wanted, why) = if page.weight > 0.0 { wanted(aim) } else { (f64::INFINITY, Why::Price) };
        let (most, binding) = if rare.max_s <= floor { (rare.max_s, Why::MaxPeriod) } else { (floor, Why::Floor) };
        let (period, why) = if wanted > most { (most, binding) } else { (wanted, why) };
        let least = rare.min_s.max(LEAST_PERIOD_S);
        if period < least { (least, Why::MinPeriod) } else { (period, why) }
    }

    /// Sets when a page in no trouble is due, and lets it wait for that.
    fn schedule(&mut self, slot: u32) {
        self.wait_until(slot, self.due(slot));
    }

    fn due(&self, slot: u32) -> Tick {
        self.due_after(slot, self.period_s(slot, self.steered_price()))
    }

    /// When a page in no trouble is due that is visited every so often.
    pub(crate) fn due_after(&self, slot: u32, (period, why): (f64, Why)) -> Tick {
        let page = self.pages.get(slot);
        let lot = self.lot(slot, 0);
        let wait = if matches!(why, Why::Pin | Why::GroupPeriod) {
            self.until_its_turn_s(slot, period)
        } else if !page.is_copied() {
            // As if its turn began at any time of its period: pages that come together are not visited together.
            period * lot
        } else if why == Why::Hint {
            period
        } else {
            (period * (1.0 + JITTER * (lot - 0.5))).min(self.pages.rare(slot).max_s)
        };
        Tick::ceil(page.saw.seconds() + wait).max(self.earliest(slot))
    }

    /// How long after the last visit a page is due that is visited every so often. Its turn comes at times of its own, whenever the
    /// last visit was: pages that were late together are apart again within a period, and lateness does not add up.
    fn until_its_turn_s(&self, slot: u32, period: f64) -> f64 {
        let phase = period * chance::lot(self.settings.seed, self.pages.id(slot).0, u64::MAX - 1);
        let wait = period - (self.pages.get(slot).saw.seconds() - phase).rem_euclid(period);
        // A turn is had within the tick that it begins in.
        if wait > 0.25 { wait } else { wait + period }
    }

    /// Gives a lease back that never reached anybody: what was spent on it is lost.
    pub(crate) fn withdraw(&mut self, lease: LeaseId) {
        if let Some(slot) = self.end_lease(lease) {
            self.enqueue(slot);
        }
    }

    /// Sets a host's place anew after anything that may have changed it.
    pub(crate) fn settle(&mut self, host: u32) {
        let limits = self.limits(host);
        if let Some(entry) = self.hosts.get_mut(&host) {
            let times = (self.settings.start_s, self.now_s);
            self.queues.settle(HostId(host), entry, &limits, (&self.pages, &self.gates), times);
        }
    }
}

/// Rounds a share up or down as a lot says, so that on average it stays.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn in_255ths(share: f64, lot: f64) -> u8 {
    (share * 255.0 + lot).floor().clamp(0.0, 255.0) as u8
}

fn check_outcome(outcome: Outcome) -> Result<()> {
    match outcome {
        Outcome::Changed { divergence: value, .. } if !(0.0..=1.0).contains(&value) => {
            Err(everfresh::Error::OutOfBounds { what: "divergence", bound: "between 0 and 1", value }.into())
        }
        _ => Ok(()),
    }
}
