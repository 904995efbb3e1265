use crate::week::Week;
use everfresh::policy::Aim;
use everfresh::{Error, Page, Period, Price, Rate, Result, Unit};
use serde::{Deserialize, Serialize};

/// A page, by the number that its owner knows it by: a hash of an address, or a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PageId(pub u64);

/// A host: what is to be spared, be it a server, a registered domain or a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostId(pub u32);

/// A group of pages that are learnt together and share a rule, and limits if it has any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupId(pub u16);

/// What is asked for a page.
///
/// Costs other than 1, bounds and pins are kept apart from the other 44 bytes of a page, at about 60 bytes each: they should
/// be rare where pages are many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageTerms {
    pub(crate) host: HostId,
    pub(crate) group: GroupId,
    pub(crate) weight: f32,
    pub(crate) cost: f64,
    pub(crate) min_period: Period,
    pub(crate) max_period: Period,
    pub(crate) pin: Option<Period>,
}

impl PageTerms {
    /// A page on a host, in group 0, of weight and cost 1, without bounds.
    pub const fn new(host: HostId) -> PageTerms {
        PageTerms {
            host,
            group: GroupId(0),
            weight: 1.0,
            cost: 1.0,
            min_period: Period::ZERO,
            max_period: Period::NEVER,
            pin: None,
        }
    }

    /// The same in another group.
    #[must_use]
    pub const fn in_group(self, group: GroupId) -> PageTerms {
        PageTerms { group, ..self }
    }

    /// The same with another weight: 0, or between 1e-20 and 1e20; seven digits are kept.
    pub fn with_weight(self, weight: f64) -> Result<PageTerms> {
        Page::new(Rate::STATIC).with_weight(weight)?;
        #[expect(clippy::cast_possible_truncation, reason = "nobody knows a weight to seven digits")]
        let weight = weight as f32;
        Ok(PageTerms { weight, ..self })
    }

    /// The same with another cost of one visit, in the unit of the budget: between 1e-20 and 1e20.
    pub fn with_cost(self, cost: f64) -> Result<PageTerms> {
        Page::new(Rate::STATIC).with_cost(cost)?;
        Ok(PageTerms { cost, ..self })
    }

    /// The same with bounds on the time between visits: at least `min_period` (zero: any), at most `max_period` (never: any).
    ///
    /// The minimum is kept always, be the page pinned or failing; the maximum as far as budget and host allow.
    pub fn with_periods(self, min_period: Period, max_period: Period) -> Result<PageTerms> {
        Page::new(Rate::STATIC).with_periods(min_period, max_period)?;
        Ok(PageTerms { min_period, max_period, ..self })
    }

    /// The same visited every so often, whatever is known of it.
    pub fn pinned(self, period: Period) -> Result<PageTerms> {
        Ok(PageTerms { pin: Some(proper("pinned period in seconds", period)?), ..self })
    }

    /// The same on another host.
    #[must_use]
    pub const fn at_host(self, host: HostId) -> PageTerms {
        PageTerms { host, ..self }
    }

    /// The same, left to the price again.
    #[must_use]
    pub const fn unpinned(self) -> PageTerms {
        PageTerms { pin: None, ..self }
    }

    /// The host.
    pub const fn host(&self) -> HostId {
        self.host
    }

    /// How much a fresh copy matters.
    pub fn weight(&self) -> f64 {
        self.weight.into()
    }

    /// What a visit costs.
    pub const fn cost(&self) -> f64 {
        self.cost
    }

    /// The group.
    pub const fn group(&self) -> GroupId {
        self.group
    }

    /// The least time between visits; zero where any will do.
    pub const fn min_period(&self) -> Period {
        self.min_period
    }

    /// The most time between visits that was promised; never where none was.
    pub const fn max_period(&self) -> Period {
        self.max_period
    }
}

/// A period that can be waited for: positive and finite.
fn proper(what: &'static str, period: Period) -> Result<Period> {
    let value = period.seconds();
    if value > 0.0 && value.is_finite() {
        return Ok(period);
    }
    Err(Error::OutOfBounds { what, bound: "positive and finite", value })
}

/// How much a host bears, or a group.
///
/// A number of visits per time is kept by spacing: n visits in a time w are at least w/n apart, so that no window of that
/// length, wherever it begins, has more than n of them, and the host sees no bursts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostLimits {
    gap_s: f64,
    concurrency: u32,
    week: Week,
}

impl HostLimits {
    /// Everything is allowed.
    pub const NONE: HostLimits = HostLimits { gap_s: 0.0, concurrency: u32::MAX, week: Week::ALWAYS };

    /// The same with at least so much time between the starts of two visits.
    pub fn with_gap(self, gap: Period) -> Result<HostLimits> {
        let value = gap.seconds();
        if !value.is_finite() {
            return Err(Error::OutOfBounds { what: "gap in seconds", bound: "finite", value });
        }
        Ok(HostLimits { gap_s: self.gap_s.max(value), ..self })
    }

    /// The same with just so much time between the starts of two visits, whatever it was before.
    pub fn paced(self, gap: Period) -> Result<HostLimits> {
        HostLimits { gap_s: 0.0, ..self }.with_gap(gap)
    }

    /// The same with at most so many visits in any time of this length.
    ///
    /// ```
    /// use everfresh::{Period, Unit};
    /// use everfresh_sched::HostLimits;
    /// let limits = HostLimits::NONE.with_visits(6, Period::of(1.0, Unit::Minute)?)?;
    /// assert_eq!(limits.gap(), Period::of(10.0, Unit::Second)?);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn with_visits(self, visits: u32, window: Period) -> Result<HostLimits> {
        if visits == 0 {
            return Err(Error::OutOfBounds { what: "visits per window", bound: "at least 1", value: 0.0 });
        }
        self.with_gap(Period::of(window.seconds() / f64::from(visits), Unit::Second)?)
    }

    /// The same with at most so many live leases at a time: at least 1.
    pub fn with_concurrency(self, concurrency: u32) -> Result<HostLimits> {
        if concurrency == 0 {
            return Err(Error::OutOfBounds { what: "concurrency", bound: "at least 1", value: 0.0 });
        }
        Ok(HostLimits { concurrency, ..self })
    }

    /// The same with visits in some hours of the week only.
    #[must_use]
    pub const fn with_week(self, week: Week) -> HostLimits {
        HostLimits { week, ..self }
    }

    /// The hours in which visits may begin.
    pub const fn week(&self) -> &Week {
        &self.week
    }

    /// The least time between the starts of two visits.
    pub fn gap(&self) -> Period {
        Period::of(self.gap_s, Unit::Second).unwrap_or(Period::ZERO)
    }

    /// How many leases may be live at a time.
    pub const fn concurrency(&self) -> u32 {
        self.concurrency
    }
}

/// By which rule the pages of a group become due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum GroupRule {
    /// By the price, for an aim. Groups with different aims share a price: a copy whose age is two thirds of the time in which the budget visits every
    /// page once counts like a stale one, so that equal groups of pages that change rarely get equal numbers of visits.
    Aim(Aim),
    /// Every so often, whatever is known; not shorter than a second.
    Every(Period),
}

impl GroupRule {
    pub(crate) fn checked(self) -> Result<GroupRule> {
        if let GroupRule::Every(period) = self {
            proper("period of a group in seconds", period)?;
        }
        Ok(self)
    }
}

/// What is asked of a scheduler as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub(crate) budget_per_s: f64,
    pub(crate) burst: f64,
    pub(crate) start_s: f64,
    pub(crate) seed: u64,
    pub(crate) floor_share: f64,
    pub(crate) lease_s: f64,
    pub(crate) limits: HostLimits,
    pub(crate) rule: GroupRule,
}

impl Settings {
    /// A budget of so many visits (or cost) per time, and the defaults: a small burst; 5 % of the budget as a floor; leases of 10
    /// minutes; hosts without limits; groups that aim at freshness.
    ///
    /// The burst is ten visits or a second of the budget, what is more, but not over a hundredth of what a day may spend, and
    /// at least one visit. With less, a host that opens between two visits of the budget finds nothing left for it:
    /// one that bears 30 visits an hour got 21 when there were 42 for all, one by one.
    pub fn new(budget: f64, per: Unit) -> Result<Settings> {
        let budget_per_s = Price::for_budget(budget, per)?.budget_per_second().unwrap_or(0.0);
        Ok(Settings {
            budget_per_s,
            burst: budget_per_s.max(10.0).min(864.0 * budget_per_s).max(1.0),
            start_s: 0.0,
            seed: 0,
            floor_share: 0.05,
            lease_s: 600.0,
            limits: HostLimits::NONE,
            rule: GroupRule::Aim(Aim::Freshness),
        })
    }

    /// The same with another budget, and the burst that belongs to it.
    pub fn with_budget(self, budget: f64, per: Unit) -> Result<Settings> {
        let new = Settings::new(budget, per)?;
        Ok(Settings { budget_per_s: new.budget_per_s, burst: new.burst, ..self })
    }

    /// The same with another burst: what may be spent at once after a time of rest, in visits (or cost).
    pub fn with_burst(self, burst: f64) -> Result<Settings> {
        Page::new(Rate::STATIC).with_cost(burst)?;
        Ok(Settings { burst, ..self })
    }

    /// The same for a clock that begins at `start_s`: no time before it exists, and the scheduler lasts 17 years from it.
    pub fn with_start(self, start_s: f64) -> Result<Settings> {
        if !start_s.is_finite() {
            return Err(Error::OutOfBounds { what: "start in seconds", bound: "finite", value: start_s });
        }
        Ok(Settings { start_s, ..self })
    }

    /// The same with another seed for all that is left to chance.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Settings {
        Settings { seed, ..self }
    }

    /// The same with another share of the budget, 0 to 1, that is spread evenly over all pages, so that a wrong belief is found
    /// out: a maximum period for every page, `cost of visiting all once / (share x budget)`.
    pub fn with_floor(self, share: f64) -> Result<Settings> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::OutOfBounds { what: "floor", bound: "between 0 and 1", value: share });
        }
        Ok(Settings { floor_share: share, ..self })
    }

    /// The same with leases that expire after another time.
    pub fn with_lease(self, period: Period) -> Result<Settings> {
        Ok(Settings { lease_s: proper("length of a lease in seconds", period)?.seconds(), ..self })
    }

    /// The same with limits for all hosts that have none of their own.
    #[must_use]
    pub const fn with_limits(self, limits: HostLimits) -> Settings {
        Settings { limits, ..self }
    }

    /// The same with a rule for all groups that have none of their own.
    pub fn with_rule(self, rule: GroupRule) -> Result<Settings> {
        Ok(Settings { rule: rule.checked()?, ..self })
    }

    /// What hosts bear that have no limits of their own.
    pub const fn limits(&self) -> &HostLimits {
        &self.limits
    }

    /// What may be spent in a second.
    pub const fn budget_per_second(&self) -> f64 {
        self.budget_per_s
    }
}
