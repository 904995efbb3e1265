use crate::error::Result;
use crate::event::LeaseId;
use crate::hint::HintKind;
use crate::host::Gate;
use crate::page::{Page, Trouble};
use crate::state::{State, Why};
use crate::terms::{GroupRule, HostLimits, PageId, PageTerms};
use crate::tick::Tick;
use everfresh::curve::Lomax;
use everfresh::{Period, Rate, Unit};

/// What is known of a page, when it is visited next, and why then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explanation {
    /// The page.
    pub page: PageId,
    /// What is asked for it.
    pub terms: PageTerms,
    /// Visits that saw it, but for the first, which made the copy.
    pub visits: u32,
    /// How many of them found a change.
    pub changes: u32,
    /// Do its visits see it?
    pub trouble: Trouble,
    /// The mean of what is believed of its rate.
    pub rate: Rate,
    /// How copy and source diverge, as far as is believed; none where there is no such curve.
    pub curve: Option<Lomax>,
    /// The time since it was last seen, or else since it was added.
    pub elapsed: Period,
    /// What a visit is worth now: `w U(elapsed) / c`, in seconds; see [`GroupRule::Aim`] for age. None for pages that do not follow the price.
    pub value: Option<f64>,
    /// The price that it has to reach, that of its host or its group if that is higher.
    pub price: f64,
    /// A hint that no visit has tried yet, and the probability with which it is believed.
    pub hint: Option<(HintKind, f64)>,
    /// How often it is visited while it is in no trouble and nothing is hinted.
    pub period: Period,
    /// When the next visit is due, in seconds; none for a page that is retired or leased.
    pub due_s: Option<f64>,
    /// Why it is not visited now, or would not be sooner.
    pub binding: Binding,
}

/// What holds a visit back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binding {
    /// Before it is due: a visit is not yet worth the price.
    Price,
    /// Before it is due: its host bears no more, and has a higher price.
    HostPrice,
    /// Before it is due: its group bears no more, and has a higher price.
    GroupPrice,
    /// Before it is due: the page's minimum period.
    MinPeriod,
    /// Before it is due; it will be because of the page's maximum period.
    MaxPeriod,
    /// Before it is due; it will be because of the floor that every page has.
    Floor,
    /// Before it is due: the page is pinned to a period.
    Pin,
    /// Before it is due: its group has a period.
    GroupPeriod,
    /// Before it is due; it will be because of a hint, as far as that is believed.
    Hint,
    /// So many visits in a row failed.
    Backoff {
        /// How many.
        failures: u8,
    },
    /// So many visits in a row found nothing.
    Gone {
        /// How many.
        misses: u8,
    },
    /// It was gone for good.
    Retired,
    /// It is being visited.
    Leased {
        /// By which lease.
        lease: LeaseId,
        /// Until when, in seconds.
        until_s: f64,
    },
    /// Due, but its host cannot be visited now.
    Host(Closed),
    /// Due, but its group cannot be visited now.
    Group(Closed),
    /// Due: it waits for its turn within the budget.
    Budget,
}

/// Why a host or a group cannot be visited now; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closed {
    /// It is blocked until then.
    Blocked {
        /// Until when.
        until_s: f64,
    },
    /// It has all the leases that it may have.
    Concurrency,
    /// It was visited just now.
    Gap {
        /// Until when it is spared.
        until_s: f64,
    },
    /// This is none of its hours.
    Hours {
        /// Until when it is closed.
        until_s: f64,
    },
}

/// How things stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Pages known.
    pub pages: usize,
    /// Those whose last visits failed.
    pub failing: usize,
    /// Those that were gone when last visited.
    pub gone: usize,
    /// Those that are no longer visited.
    pub retired: usize,
    /// Live leases.
    pub leased: usize,
    /// Pages that are due and not yet visited.
    pub backlog: usize,
    /// The price of the last plan.
    pub price: f64,
    /// The price that counts now, moved by the lateness.
    pub steered_price: f64,
    /// How late visits come on average, in seconds; negative where there is more budget than is asked for.
    pub lag_s: f64,
    /// What may be spent at once.
    pub tokens: f64,
}

impl State {
    pub(crate) fn explain(&self, now_s: f64, id: PageId) -> Result<Explanation> {
        let slot = self.slot(id)?;
        let (page, rare) = (self.pages.get(slot), self.pages.rare(slot));
        let now = (now_s - self.settings.start_s).max(self.now_s);
        let (about, memory, elapsed) = (self.about(slot), self.memory(slot), self.elapsed(slot, now));
        let (price, own) = (self.steered_price(), self.own_prices(slot));
        let why = self.period_s(slot, price).1;
        let period = self.usual_under(slot, price, own, self.round());
        let aim = if let GroupRule::Aim(aim) = self.rule(page.group) { Some(aim) } else { None };
        let is_waiting = !page.is_leased() && page.due < Tick::LAST;
        Ok(Explanation {
            page: id,
            terms: self.pages.terms(slot),
            visits: page.state.visits(),
            changes: page.state.changes(),
            trouble: self.pages.trouble(slot),
            curve: self.policy.curve(&about, &memory).ok(),
            rate: self.policy.belief(&about, &memory).mean(),
            elapsed,
            value: aim
                .filter(|_| rare.pin_s.is_none())
                .map(|aim| about.weight * self.utility_s(slot, aim, elapsed) / about.cost),
            price: price.max(own.most()),
            hint: rare.hint.map(|hint| (hint.kind, f64::from(hint.believed))),
            period: Period::of(period, Unit::Second).unwrap_or(Period::NEVER),
            due_s: is_waiting.then(|| self.settings.start_s + self.lets_in_s(page, now).unwrap_or(page.due.seconds())),
            binding: self.binding(slot, why, now),
        })
    }

    fn binding(&self, slot: u32, why: Why, now: f64) -> Binding {
        let page = self.pages.get(slot);
        let held = page.is_leased().then(|| self.leases.iter().find(|(_, live)| live.slot == slot)).flatten();
        if let Some((lease, live)) = held {
            return Binding::Leased { lease: *lease, until_s: self.settings.start_s + live.until_s };
        }
        match self.pages.trouble(slot) {
            Trouble::Retired => Binding::Retired,
            _ if page.due <= Tick::floor(now) => self.holding_back(page, now),
            Trouble::Failing(failures) => Binding::Backoff { failures },
            Trouble::Gone(misses) => Binding::Gone { misses },
            Trouble::None if self.lets_in_s(page, now).is_some() => self.holding_back(page, page.due.seconds()),
            Trouble::None => match why {
                Why::Price => Binding::Price,
                Why::HostPrice => Binding::HostPrice,
                Why::GroupPrice => Binding::GroupPrice,
                Why::MinPeriod => Binding::MinPeriod,
                Why::MaxPeriod => Binding::MaxPeriod,
                Why::Floor => Binding::Floor,
                Why::Pin => Binding::Pin,
                Why::GroupPeriod => Binding::GroupPeriod,
                Why::Hint => Binding::Hint,
            },
        }
    }

    /// Must a page not be visited now, whoever would? Its host or its group is blocked, or this is none of its hours.
    pub fn is_closed(&self, now_s: f64, id: PageId) -> Result<bool> {
        let (page, start) = (self.pages.get(self.slot(id)?), self.settings.start_s);
        let now = (now_s - start).max(self.now_s);
        let is_closed = |gate: Option<&Gate>, limits: &HostLimits| {
            gate.is_some_and(|gate| gate.blocked_until_s > now) || limits.week().wait_s(start + now) > 0.0
        };
        let host = self.hosts.get(&page.host).map(|host| &host.gate);
        Ok(is_closed(host, &self.limits(page.host))
            || is_closed(self.gates.0.get(&page.group), &self.gates.limits(page.group)))
    }

    /// When host and group let a page in, if their hours or a rest end after it is due. Gaps are short, and begin anew with every visit.
    fn lets_in_s(&self, page: &Page, now: f64) -> Option<f64> {
        let from = page.due.seconds().max(now);
        let opens = |gate: &Gate, limits: &HostLimits, from: f64| {
            let rested = gate.blocked_until_s.max(from);
            rested + limits.week().wait_s(self.settings.start_s + rested)
        };
        let host = self.hosts.get(&page.host).map(|host| opens(&host.gate, &self.limits(page.host), from));
        let from_host = host.unwrap_or(from);
        let gate = self.gates.0.get(&page.group);
        let both = gate.map_or(from_host, |gate| opens(gate, &self.gates.limits(page.group), from_host));
        (both > from).then_some(both)
    }

    /// What keeps a page that is due from being visited.
    fn holding_back(&self, page: &Page, now: f64) -> Binding {
        let host = self.hosts.get(&page.host).and_then(|host| self.closed(&host.gate, &self.limits(page.host), now));
        let gate = self.gates.0.get(&page.group);
        let group = || gate.and_then(|gate| self.closed(gate, &self.gates.limits(page.group), now));
        host.map(Binding::Host).or_else(|| group().map(Binding::Group)).unwrap_or(Binding::Budget)
    }

    fn closed(&self, gate: &Gate, limits: &HostLimits, now: f64) -> Option<Closed> {
        let start = self.settings.start_s;
        if gate.blocked_until_s > now {
            Some(Closed::Blocked { until_s: start + gate.blocked_until_s })
        } else if gate.live >= limits.concurrency() {
            Some(Closed::Concurrency)
        } else if gate.gap_ends_s(limits) > now {
            Some(Closed::Gap { until_s: start + gate.gap_ends_s(limits) })
        } else if limits.week().wait_s(start + now) > 0.0 {
            Some(Closed::Hours { until_s: start + gate.opens_s(limits, start, now) })
        } else {
            None
        }
    }

    pub(crate) fn status(&mut self, now_s: f64) -> Status {
        let now = self.clock(now_s);
        let count = |is: fn(Trouble) -> bool| self.pages.troubles().filter(|trouble| is(*trouble)).count();
        Status {
            pages: self.pages.len(),
            failing: count(|trouble| matches!(trouble, Trouble::Failing(_))),
            gone: count(|trouble| matches!(trouble, Trouble::Gone(_))),
            retired: count(|trouble| trouble == Trouble::Retired),
            leased: self.leases.len(),
            price: self.price,
            steered_price: self.steered_price(),
            lag_s: self.lag_s,
            tokens: self.bucket.available(now),
            backlog: self.backlog(now),
        }
    }
}
