//! How fresh the copies are now, what can be expected, what overload costs, and which promises cannot be kept.
//!
//! All of it under what is believed of every page: with `D` its curve and t the time since it was seen, a copy is fresh with
//! probability `1 - D(t)` and its expected age is the area under D up to t; visited every I, these are
//! averaged over I (CGM03 section 3). A page that was never copied is not fresh. Pages that are gone count for nothing.

use crate::choose::counts_by;
use crate::rank::PROMISED;
use crate::replan::{Asking, Full, FullGate, HIGHEST, PIECE, PRICED, meeting, strided, sum};
use crate::state::{Round, State};
use crate::terms::{GroupId, HostId, PageId};
use crate::tick::Tick;
use everfresh::curve::DivergenceCurve;
use everfresh::{Period, Unit};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Of more pages than this a sample is taken: every n-th.
const SAMPLED: usize = 1 << 20;

/// Freshness and age, averaged by weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Freshness {
    /// Pages that count; of a sample, as many as it stands for.
    pub pages: f64,
    /// The sum of their weights.
    pub weight: f64,
    /// The expected share of weight whose copies are fresh: 0 to 1.
    pub freshness: f64,
    /// The mean of the time since the first change that a copy misses, in seconds.
    pub age_s: f64,
}

impl Freshness {
    /// Adds pages of a weight that are fresh with a probability.
    fn add(&mut self, other: Freshness) {
        let weight = self.weight + other.weight;
        let share = if weight > 0.0 { other.weight / weight } else { 0.0 };
        self.freshness += share * (other.freshness - self.freshness);
        if share > 0.0 {
            self.age_s =
                if other.age_s.is_finite() { self.age_s + share * (other.age_s - self.age_s) } else { f64::INFINITY };
        }
        (self.pages, self.weight) = (self.pages + other.pages, weight);
    }

    /// The weight that is expected to be stale.
    pub fn stale_weight(&self) -> f64 {
        self.weight * (1.0 - self.freshness)
    }

    fn scaled(self, scale: f64) -> Freshness {
        Freshness { pages: self.pages * scale, weight: self.weight * scale, ..self }
    }
}

/// How some of the pages stand: a group's, or a host's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// What is believed of their copies now.
    pub now: Freshness,
    /// What they will be on average.
    pub expected: Freshness,
    /// How many are due; of a sample, as many as it stands for.
    pub due: f64,
    /// What the plan spends on them, per second.
    pub spending_per_s: f64,
    /// The price that they pay where their host or group has one of its own, as it bears less than they are worth; else 0.
    pub own_price: f64,
}

impl Part {
    fn add(&mut self, other: Part) {
        self.now.add(other.now);
        self.expected.add(other.expected);
        self.due += other.due;
        self.spending_per_s += other.spending_per_s;
    }

    fn scaled(self, scale: f64) -> Part {
        Part {
            now: self.now.scaled(scale),
            expected: self.expected.scaled(scale),
            due: self.due * scale,
            spending_per_s: self.spending_per_s * scale,
            ..self
        }
    }
}

/// How fresh the copies are believed to be at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// All pages together.
    pub all: Freshness,
    /// By group.
    pub groups: Vec<(GroupId, Part)>,
    /// The hosts with the most weight that is stale, most first.
    pub hosts: Vec<(HostId, Part)>,
    /// How many pages were looked at.
    pub sample: usize,
}

/// What can be expected in the long run if sources go on as they do.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The budget, per second.
    pub budget_per_s: f64,
    /// What is spent of it: less where hosts and minimum periods leave nothing to spend it on.
    pub spending_per_s: f64,
    /// The price of a visit.
    pub price: f64,
    /// What the copies will be on average.
    pub all: Freshness,
    /// Hosts whose pages are worth more visits than they bear.
    pub full_hosts: usize,
    /// Groups whose pages are worth more visits than they bear.
    pub full_groups: usize,
    /// Promises that cannot be kept, worst first, at most 20. None: all can be.
    pub broken: Vec<Broken>,
    /// How many pages were looked at.
    pub sample: usize,
}

/// Visits that were promised (pins, group periods, maximum periods, the floor), and that there is no room for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Broken {
    /// The host that does not bear them, if it is one.
    pub host: Option<HostId>,
    /// The group that does not bear them, if it is one. Neither: the budget does not.
    pub group: Option<GroupId>,
    /// What was promised, in visits (of a budget: their cost) per second.
    pub promised_per_s: f64,
    /// What there is.
    pub available_per_s: f64,
}

impl Broken {
    /// By which factor periods will be longer than promised.
    pub fn late(&self) -> f64 {
        self.promised_per_s / self.available_per_s
    }
}

/// What it costs that not all that is due is visited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overload {
    /// Pages that are due.
    pub backlog: usize,
    /// What visiting them costs.
    pub cost: f64,
    /// In which time the budget would visit them, if nothing else became due, in seconds.
    pub clears_s: f64,
    /// How many of them were promised a visit by now.
    pub promised: usize,
    /// The greatest ratio of the time since a visit to that promised; 1 or less: all promises are kept.
    pub latest: f64,
    /// Weight that is expected to be stale and would not be, had everything been visited when it was due.
    pub stale_weight: f64,
    /// The same as a share of all weight: what overload takes from the freshness now, and each day while it lasts.
    pub freshness_lost: f64,
}

/// Sums by group and by host.
#[derive(Default)]
struct Sums {
    groups: BTreeMap<u16, Part>,
    hosts: BTreeMap<u32, Part>,
}

/// The promises that cannot be kept, worst first.
fn broken(full: &Full, whole: Broken) -> Vec<Broken> {
    let of =
        |gate: &FullGate| Broken { promised_per_s: gate.promised_per_s, available_per_s: gate.bears_per_s, ..whole };
    let hosts = full.hosts.iter().map(|(id, gate)| Broken { host: Some(HostId(*id)), ..of(gate) });
    let groups = full.groups.iter().filter_map(|(id, gate)| {
        let group = GroupId(u16::try_from(*id).ok()?);
        Some(Broken { group: Some(group), ..of(gate) })
    });
    let mut broken: Vec<Broken> = hosts.chain(groups).chain([whole]).filter(|one| one.late() > 1.0).collect();
    broken.sort_by(|a, b| b.late().total_cmp(&a.late()).then((a.host, a.group).cmp(&(b.host, b.group))));
    broken.truncate(20);
    broken
}

fn seconds(seconds: f64) -> Period {
    Period::of(seconds.max(0.0), Unit::Second).unwrap_or(Period::NEVER)
}

impl State {
    fn live_slots(&self) -> Vec<u32> {
        self.pages.slots().filter(|slot| self.is_live(*slot)).collect()
    }

    /// The probability that a copy of this page, so long after a visit, differs, and its expected age.
    fn staleness(&self, slot: u32, elapsed: Period) -> (f64, f64) {
        let curve = self.policy.curve(&self.about(slot), &self.memory(slot));
        curve.map_or((1.0, elapsed.seconds()), |curve| (curve.divergence(elapsed), curve.area(elapsed)))
    }

    /// What is believed of the copy of a page at a time; nothing where there is no copy, or the page is gone.
    pub fn freshness_of(&self, now_s: f64, page: PageId) -> Option<Freshness> {
        let slot = self.pages.find(page).filter(|slot| self.is_live(*slot) && self.pages.get(*slot).is_copied())?;
        Some(self.freshness_now(slot, (now_s - self.settings.start_s).max(self.now_s)))
    }

    fn freshness_now(&self, slot: u32, now: f64) -> Freshness {
        let (page, elapsed) = (self.pages.get(slot), self.elapsed(slot, now));
        let (stale, age_s) = if page.is_copied() { self.staleness(slot, elapsed) } else { (1.0, elapsed.seconds()) };
        Freshness { pages: 1.0, weight: f64::from(page.weight), freshness: 1.0 - stale, age_s }
    }

    pub(crate) fn standing(&mut self, now_s: f64, hosts: usize) -> Standing {
        let now = self.clock(now_s);
        let live = self.live_slots();
        let sample: Vec<u32> = strided(&live, SAMPLED).collect();
        let scale = live.len() as f64 / sample.len().max(1) as f64;
        let (priced, each) = self.priced();
        let (tick, round, late) = (Tick::floor(now), self.round(), self.late_by_budget(&priced, each));
        let piece = |slots: &[u32]| {
            let mut sums = Sums::default();
            for slot in slots {
                let (page, asking) = (self.pages.get(*slot), self.asking(*slot, self.own_prices(*slot)));
                let gap_s = self.gap_s(&asking, self.price, round) * late.max(self.full.late(page));
                let one = Part {
                    now: self.freshness_now(*slot, now),
                    expected: self.freshness_every(*slot, seconds(gap_s)),
                    due: if counts_by(page, tick) { 1.0 } else { 0.0 },
                    spending_per_s: asking.cost / gap_s,
                    own_price: 0.0,
                };
                sums.groups.entry(page.group).or_default().add(one);
                sums.hosts.entry(page.host).or_default().add(one);
            }
            sums
        };
        let pieces: Vec<Sums> = sample.par_chunks(16 * PIECE).map(piece).collect();
        let mut total = Sums::default();
        for piece in pieces {
            piece.groups.into_iter().for_each(|(group, sum)| total.groups.entry(group).or_default().add(sum));
            piece.hosts.into_iter().for_each(|(host, sum)| total.hosts.entry(host).or_default().add(sum));
        }
        let mut all = Freshness::default();
        total.groups.values().for_each(|group| all.add(group.now));
        let of_group = |group: &u16| self.gates.0.get(group).map_or(0.0, |gate| gate.price);
        let of_host = |host: &u32| self.hosts.get(host).map_or(0.0, |host| host.gate.price);
        let groups = total
            .groups
            .iter()
            .map(|(group, sum)| (GroupId(*group), Part { own_price: of_group(group), ..sum.scaled(scale) }));
        let groups = groups.collect();
        let mut by_loss: Vec<(HostId, Part)> = total
            .hosts
            .iter()
            .map(|(host, sum)| (HostId(*host), Part { own_price: of_host(host), ..sum.scaled(scale) }))
            .collect();
        by_loss.sort_by(|(_, a), (_, b)| b.now.stale_weight().total_cmp(&a.now.stale_weight()));
        by_loss.truncate(hosts);
        Standing { all: all.scaled(scale), groups, hosts: by_loss, sample: sample.len() }
    }

    pub(crate) fn forecast(&self, factor: f64) -> Forecast {
        let live = self.live_slots();
        let budget_per_s = self.settings.budget_per_s * factor;
        let round = Round::of(self.cost_of(&live) / budget_per_s, &self.settings);
        // Periods go about as the root of the price.
        let guess = self.price / (factor * factor);
        let full = self.full(&live, guess, round);
        let one = |slot: &u32| self.asking(*slot, full.prices(self.pages.get(*slot)));
        let asking =
            |most: usize| -> Vec<Asking> { strided(&live, most).collect::<Vec<u32>>().par_iter().map(one).collect() };
        let priced = asking(PRICED);
        let scale = live.len() as f64 / priced.len().max(1) as f64;
        let demand = |price: f64| scale * sum(&priced, |page| page.cost / self.gap_s(page, price, round));
        let planned_per_s = budget_per_s * self.unhinted_share();
        let price = if live.is_empty() { self.price } else { meeting(planned_per_s, guess, demand) };
        let promised_per_s = demand(HIGHEST);
        let whole = Broken { host: None, group: None, promised_per_s, available_per_s: budget_per_s };
        let broken = broken(&full, whole);
        let gap_s = |page: &Asking| {
            let late = full.late(self.pages.get(page.slot)).max(whole.late());
            self.gap_s(page, price, round) * late
        };
        let sample = asking(SAMPLED);
        let scale = live.len() as f64 / sample.len().max(1) as f64;
        let all = self.freshness_at(&sample, gap_s).scaled(scale);
        let usual_per_s = scale * sum(&sample, |page| page.cost / gap_s(page));
        let spending_per_s = usual_per_s + (budget_per_s - planned_per_s);
        let (full_hosts, full_groups) = (full.hosts.len(), full.groups.len());
        Forecast { budget_per_s, spending_per_s, price, all, full_hosts, full_groups, broken, sample: sample.len() }
    }

    /// What the last plan leads to, told by a sample as large as it had.
    pub(crate) fn expected(&self) -> Freshness {
        let (sample, scale) = self.priced();
        let (round, late) = (self.round(), self.late_by_budget(&sample, scale));
        let gap_s =
            |page: &Asking| self.gap_s(page, self.price, round) * late.max(self.full.late(self.pages.get(page.slot)));
        self.freshness_at(&sample, gap_s).scaled(scale)
    }

    /// As many pages as a plan looks at for a price, and how many each stands for.
    fn priced(&self) -> (Vec<Asking>, f64) {
        let some: Vec<u32> = self.pages.strided(PRICED).collect();
        let live = some.par_iter().filter(|slot| self.is_live(**slot));
        let sample = live.map(|slot| self.asking(*slot, self.own_prices(*slot))).collect();
        (sample, self.pages.len() as f64 / some.len().max(1) as f64)
    }

    /// By which factor all that is promised takes more than the budget; at least 1.
    fn late_by_budget(&self, sample: &[Asking], scale: f64) -> f64 {
        let round = self.round();
        let promised_per_s = scale * sum(sample, |page| page.cost / self.gap_s(page, HIGHEST, round));
        (promised_per_s / self.settings.budget_per_s).max(1.0)
    }

    /// What a page is on average that is visited every so often.
    fn freshness_every(&self, slot: u32, gap: Period) -> Freshness {
        let weight = f64::from(self.pages.get(slot).weight);
        let nothing = Freshness { pages: 1.0, weight, freshness: 0.0, age_s: gap.seconds() };
        self.policy.curve(&self.about(slot), &self.memory(slot)).map_or(nothing, |curve| Freshness {
            freshness: curve.mean_freshness(gap),
            age_s: curve.mean_age(gap).seconds(),
            ..nothing
        })
    }

    /// What pages are on average that are visited every so often.
    fn freshness_at(&self, pages: &[Asking], gap_s: impl Fn(&Asking) -> f64 + Sync) -> Freshness {
        let one = |page: &Asking| self.freshness_every(page.slot, seconds(gap_s(page)));
        let piece = |pages: &[Asking]| {
            let mut sum = Freshness::default();
            for page in pages {
                sum.add(one(page));
            }
            sum
        };
        let pieces: Vec<Freshness> = pages.par_chunks(PIECE).map(piece).collect();
        let mut all = Freshness::default();
        for piece in pieces {
            all.add(piece);
        }
        all
    }

    pub(crate) fn overload(&mut self, now_s: f64) -> Overload {
        let now = self.clock(now_s);
        let (tick, all) = (Tick::floor(now), self.live_slots());
        let due: Vec<u32> = all.iter().copied().filter(|slot| counts_by(self.pages.get(*slot), tick)).collect();
        let weight = sum(&all, |slot| f64::from(self.pages.get(*slot).weight));
        let stale_weight = sum(&due, |slot| self.lost_by_waiting(*slot, now));
        let late = |slot: &u32| self.elapsed(*slot, now).seconds() / self.promised_s(*slot);
        let promised = due.iter().filter(|slot| self.rank(**slot, tick).0.level.0 >= PROMISED).count();
        let cost = self.cost_of(&due);
        Overload {
            backlog: due.len(),
            cost,
            clears_s: cost / self.settings.budget_per_s,
            promised,
            latest: due.iter().map(late).fold(0.0, f64::max),
            stale_weight,
            freshness_lost: if weight > 0.0 { stale_weight / weight } else { 0.0 },
        }
    }

    /// The weight of a page that is due, times by how much likelier it is stale than if it had been visited whenever it was due.
    fn lost_by_waiting(&self, slot: u32, now: f64) -> f64 {
        let (page, elapsed) = (self.pages.get(slot), self.elapsed(slot, now));
        let period = self.usual_under(slot, self.steered_price(), self.own_prices(slot), self.round());
        let on_time = seconds(((now - page.due.seconds()) % period).min(elapsed.seconds()));
        let stale = if page.is_copied() { self.staleness(slot, elapsed).0 } else { 1.0 };
        f64::from(page.weight) * (stale - self.staleness(slot, on_time).0)
    }
}
