//! The price, found anew over all live pages.

use crate::host::Gate;
use crate::page::{Page, Trouble};
use crate::state::{OwnPrices, Round, State};
use crate::terms::HostLimits;
use crate::tick::Tick;
use everfresh::policy::{About, Policy, Watched};
use rayon::prelude::*;
use std::collections::HashMap;

/// From so many pages priors and habits are learnt at most.
const LEARNT_FROM: usize = 8192;
/// Of so many pages the price is found at most: what a sample of them misses by is steered away.
pub(crate) const PRICED: usize = 65_536;
/// So many pages of a host or a group show whether it might be full.
const FEW: usize = 32;
/// How closely a demand must meet what there is.
const CLOSE: f64 = 1e-4;
/// A full host or group is asked for a little more than it bears, so that none of its few visits is lost while nobody is due. Its pages
/// then wait a little, which lengthens their periods by just as much: the queue does not grow.
const GATE_LOAD: f64 = 1.03;

impl State {
    /// Is there something at the source, as far as is known?
    pub(crate) fn is_live(&self, slot: u32) -> bool {
        matches!(self.pages.trouble(slot), Trouble::None | Trouble::Failing(_))
    }

    /// What visiting all of these once costs.
    pub(crate) fn cost_of(&self, live: &[u32]) -> f64 {
        sum(live, |slot| self.pages.rare(*slot).cost)
    }

    /// Learns habits from some of the pages.
    pub(crate) fn learn(&mut self) {
        let copied = self.pages.strided(LEARNT_FROM).filter(|slot| self.pages.get(*slot).is_copied());
        let sample: Vec<(About, Watched)> = copied
            .map(|slot| {
                let (state, depth, _) = self.memory(slot).parts();
                let panel = self.pages.panels.get(&slot).cloned();
                (self.about(slot), Watched::of_parts(state, depth, panel))
            })
            .collect();
        if !sample.is_empty() {
            let sample: Vec<(&About, &Watched)> = sample.iter().map(|(about, memory)| (about, memory)).collect();
            self.policy.learn(&sample);
        }
    }

    /// The price at which so many live pages spend the budget, told by a sample of them, given the prices of their hosts and groups.
    pub(crate) fn price_for(&self, sample: &[u32], live: usize) -> f64 {
        let sample: Vec<Asking> = sample.par_iter().map(|slot| self.asking(*slot, self.own_prices(*slot))).collect();
        let scale = live as f64 / sample.len() as f64;
        let round = self.round();
        let demand = |price: f64| scale * sum(&sample, |page| page.cost / self.gap_s(page, price, round));
        meeting(self.settings.budget_per_s * self.unhinted_share(), self.price, demand)
    }

    /// What a page's demand depends on beside the price.
    pub(crate) fn asking(&self, slot: u32, own: OwnPrices) -> Asking {
        let page = self.pages.get(slot);
        Asking { slot, cost: self.pages.rare(slot).cost, own, wait_s: self.wait_s(page.host, page.group) }
    }

    /// The time between two visits at a price in the long run: the period, and the wait for an hour of its host and group.
    pub(crate) fn gap_s(&self, page: &Asking, price: f64, round: Round) -> f64 {
        self.usual_under(page.slot, price, page.own, round) + page.wait_s
    }

    /// Gives every host and group whose pages ask for more than it bears a price of its own.
    pub(crate) fn set_gate_prices(&mut self, full: &Full) {
        let mut other = Vec::new();
        for (id, host) in &mut self.hosts {
            let before = std::mem::replace(&mut host.gate.price, full.price_of_host(*id));
            if (before > 0.0) != (host.gate.price > 0.0) {
                other.push(*id);
            }
        }
        // Those that have one stand apart.
        for host in other {
            self.settle(host);
        }
        for (id, gate) in &mut self.gates.0 {
            gate.price = full.price_of_group(*id);
        }
    }

    /// Is there a host, and a group, between whose visits time must pass, or which has hours?
    pub(crate) fn any_gaps(&self) -> (bool, bool) {
        let has_gap = |limits: &HostLimits| self.bears_per_s(limits) < f64::INFINITY;
        let limited = |gate: &Gate| gate.limits.as_ref().is_some_and(has_gap);
        let any_host = has_gap(&self.settings.limits) || self.hosts.values().any(|host| limited(&host.gate));
        (any_host, self.gates.0.values().any(limited))
    }

    /// The hosts and groups whose pages would ask for more than they bear if the price were about this, or even a quarter of it.
    ///
    /// A page pays the highest of the prices of its host, its group and all. Where hosts lie within groups or groups within hosts, that
    /// is the optimum once the inner ones are known; so each is found given the other, twice. Where they cross it comes close.
    pub(crate) fn full(&self, live: &[u32], price: f64, round: Round) -> Full {
        let (any_host, any_group) = self.any_gaps();
        let by = |gate_of: fn(&Page) -> u32| -> Vec<(u32, u32)> {
            live.par_iter().map(|slot| (gate_of(self.pages.get(*slot)), *slot)).collect()
        };
        let mut full = Full::default();
        for _ in 0..if any_host && any_group { 2 } else { 1 } {
            if any_host {
                full.hosts = self.full_hosts(&mut by(|page| page.host), &full, (price, round)).into_iter().collect();
            }
            if any_group {
                full.groups =
                    self.full_groups(&mut by(|page| page.group.into()), &full, (price, round)).into_iter().collect();
            }
        }
        full
    }

    /// Those of the hosts of these pages, given the prices of groups.
    pub(crate) fn full_hosts(
        &self,
        pages: &mut [(u32, u32)],
        full: &Full,
        terms: (f64, Round),
    ) -> Vec<(u32, FullGate)> {
        let other = |slot: u32| full.price_of_group(self.pages.get(slot).group);
        self.full_gates(pages, |id| self.limits(id), other, terms)
    }

    /// Those of the groups of these pages, given the prices of hosts.
    pub(crate) fn full_groups(
        &self,
        pages: &mut [(u32, u32)],
        full: &Full,
        terms: (f64, Round),
    ) -> Vec<(u32, FullGate)> {
        let other = |slot: u32| full.price_of_host(self.pages.get(slot).host);
        let limits = |id: u32| u16::try_from(id).map_or(HostLimits::NONE, |id| self.gates.limits(id));
        self.full_gates(pages, limits, other, terms)
    }

    /// Those of the hosts, or of the groups, of these pages, given the prices that pages have otherwise.
    fn full_gates(
        &self,
        pages: &mut [(u32, u32)],
        limits: impl Fn(u32) -> HostLimits + Sync,
        other_price: impl Fn(u32) -> f64 + Sync,
        (price, round): (f64, Round),
    ) -> Vec<(u32, FullGate)> {
        // Sorted, hosts are looked up once each, and in their order.
        pages.par_sort_unstable();
        let gates: Vec<&[(u32, u32)]> = pages.chunk_by(|(gate, _), (other, _)| gate == other).collect();
        let full_gate = |pages: &&[(u32, u32)]| {
            let id = pages.first()?.0;
            Some((id, self.full_gate(pages, &limits(id), &other_price, (price, round))?))
        };
        gates.par_iter().filter_map(full_gate).collect()
    }

    /// How many visits a host or a group bears, in the long run. One with hours gets no more than the budget brings in them, all for itself:
    /// what it brings at other times cannot be kept for it.
    fn bears_per_s(&self, limits: &HostLimits) -> f64 {
        let (open, most) = (limits.week().open_share(), 1.0 / limits.gap().seconds());
        open * if open < 1.0 { most.min(self.settings.budget_per_s) } else { most }
    }

    /// A host or a group, if its pages might ask for more than it bears.
    fn full_gate(
        &self,
        pages: &[(u32, u32)],
        limits: &HostLimits,
        other_price: impl Fn(u32) -> f64,
        (price, round): (f64, Round),
    ) -> Option<FullGate> {
        let bears_per_s = self.bears_per_s(limits);
        // Where it is full its pages wait for each other, too.
        let queue_s = limits.week().mean_wait_in_queue_s();
        let gap_s = |slot: u32, price: f64| {
            let (page, own) = (self.pages.get(slot), OwnPrices { host: other_price(slot), group: 0.0 });
            self.usual_under(slot, price, own, round) + self.wait_s(page.host, page.group).max(queue_s)
        };
        let demand_of = |most: usize, price: f64| {
            let step = pages.len().div_ceil(most);
            let asked: f64 = pages.iter().step_by(step).map(|(_, slot)| 1.0 / gap_s(*slot, price)).sum();
            asked * pages.len() as f64 / pages.len().div_ceil(step) as f64
        };
        // One that bears what is asked at a quarter of the price will hardly be full; for most that shows in a few pages.
        let (low, bears) = (price / 4.0, GATE_LOAD * bears_per_s);
        let may_be_full = demand_of(FEW, low) > bears / 4.0 && demand_of(PRICED, low) > bears;
        may_be_full.then(|| {
            let promised_per_s = demand_of(PRICED, HIGHEST);
            let price = meeting(bears, price, |price| demand_of(PRICED, price));
            FullGate { price, promised_per_s, bears_per_s }
        })
    }

    /// Sets all queues anew: whoever waits stands in the calendar.
    pub(crate) fn enqueue_all(&mut self) {
        let waits = |slot: &u32| !self.pages.get(*slot).is_leased() && self.pages.get(*slot).due < Tick::LAST;
        let mut entries = Vec::with_capacity(self.pages.len());
        entries.extend(self.pages.slots().filter(waits).map(|slot| (self.pages.get(slot).due, slot)));
        self.queues.reset(entries);
        self.set_dues_again();
        for host in self.hosts.values_mut() {
            (host.lanes, host.closed) = (Vec::new(), None);
        }
    }
}

/// What a page's demand depends on beside the price.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    pub(crate) slot: u32,
    pub(crate) cost: f64,
    pub(crate) own: OwnPrices,
    pub(crate) wait_s: f64,
}

/// A host or a group whose pages ask for more than it bears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FullGate {
    /// At which they ask for just that.
    pub(crate) price: f64,
    /// What they ask for at any price: it was promised.
    pub(crate) promised_per_s: f64,
    pub(crate) bears_per_s: f64,
}

impl FullGate {
    /// By which factor promised periods are longer than promised, if they are.
    pub(crate) fn late(&self) -> f64 {
        self.promised_per_s / self.bears_per_s
    }
}

/// The hosts and groups that are full, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Full {
    pub(crate) hosts: HashMap<u32, FullGate>,
    pub(crate) groups: HashMap<u32, FullGate>,
}

impl Full {
    pub(crate) fn price_of_host(&self, host: u32) -> f64 {
        self.hosts.get(&host).map_or(0.0, |host| host.price)
    }

    fn price_of_group(&self, group: u16) -> f64 {
        self.groups.get(&group.into()).map_or(0.0, |group| group.price)
    }

    pub(crate) fn prices(&self, page: &Page) -> OwnPrices {
        OwnPrices { host: self.price_of_host(page.host), group: self.price_of_group(page.group) }
    }

    /// By which factor a page's promised period is longer than promised, for its host or its group, if it is.
    pub(crate) fn late(&self, page: &Page) -> f64 {
        let gates = [self.hosts.get(&page.host), self.groups.get(&page.group.into())];
        gates.into_iter().flatten().map(FullGate::late).fold(1.0, f64::max)
    }
}

/// Sums are made in pieces of so many, so that they do not depend on the number of threads.
pub(crate) const PIECE: usize = 4096;

/// A sum over many, the same whatever the number of threads.
pub(crate) fn sum<T: Sync>(of: &[T], value: impl Fn(&T) -> f64 + Sync) -> f64 {
    let pieces: Vec<f64> = of.par_chunks(PIECE).map(|piece| piece.iter().map(&value).sum()).collect();
    // Of nothing it is 0, and not the -0 that sums begin with.
    pieces.iter().sum::<f64>() + 0.0
}

/// Every so many-th, so that at most `most` are left.
pub(crate) fn strided(slots: &[u32], most: usize) -> impl Iterator<Item = u32> {
    slots.iter().copied().step_by(slots.len().div_ceil(most).max(1))
}

/// The price at which a non-increasing demand meets `supply` > 0, from a guess.
///
/// Demands go about as the inverse root of the price: straight lines in logarithms, on which false position (with Illinois'
/// halving, and bisection where that stalls) needs few steps. Where the demand stays above the supply at any price, or
/// below it, the price is the highest or lowest that was tried.
pub(crate) fn meeting(supply: f64, guess: f64, demand: impl Fn(f64) -> f64) -> f64 {
    let most = HIGHEST.ln();
    let excess = |log: f64| (demand(log.exp()) / supply).ln();
    let start = guess.ln().clamp(-most, most);
    let first = excess(start);
    if first.abs() < CLOSE / 2.0 {
        return start.exp();
    }
    // A bracket: from the guess as far as a root says and a little, then ever further.
    let (mut near, mut far, mut step) = ((start, first), (start, first), (2.5 * first).clamp(-most, most));
    let is_inside = |log: f64| if first > 0.0 { log < most } else { log > -most };
    while (far.1 > 0.0) == (first > 0.0) && is_inside(far.0) {
        near = far;
        let log = (far.0 + step).clamp(-most, most);
        far = (log, excess(log));
        step *= 2.0;
    }
    if (far.1 > 0.0) == (first > 0.0) {
        return far.0.exp();
    }
    within(near, far, excess).exp()
}

/// Where a non-increasing function is 0, between two points at which its signs differ.
fn within(mut a: (f64, f64), mut b: (f64, f64), function: impl Fn(f64) -> f64) -> f64 {
    for step in 1..200 {
        let false_position = b.0 - b.1 * (b.0 - a.0) / (b.1 - a.1);
        let is_inside = false_position > a.0.min(b.0) && false_position < a.0.max(b.0);
        let x = if is_inside && step % 4 != 0 { false_position } else { (a.0 + b.0) / 2.0 };
        let value = function(x);
        if value.abs() < CLOSE / 2.0 || (a.0 - b.0).abs() < CLOSE {
            return x;
        }
        if (value > 0.0) == (b.1 > 0.0) {
            a.1 /= 2.0;
        } else {
            a = b;
        }
        b = (x, value);
    }
    b.0
}

/// Prices between the inverse of this and this are tried.
pub(crate) const HIGHEST: f64 = 1e40;

#[cfg(test)]
mod tests {
    use super::meeting;

    #[test]
    fn a_demand_is_met_from_anywhere() {
        for guess in [1e-9, 1.0, 1e12] {
            let price = meeting(5.0, guess, |price| 300.0 / price.sqrt());
            assert!((price / 3600.0 - 1.0).abs() < 2e-4, "{price}");
            let steep = meeting(0.5, guess, |price| (-price / 1000.0).exp());
            assert!((steep / 693.147 - 1.0).abs() < 2e-4, "{steep}");
        }
    }

    #[test]
    fn a_price_that_fell_as_far_as_prices_fall_rises_again() {
        let (lowest, highest) = (meeting(5.0, 1.0, |_| 1.0), meeting(5.0, 1.0, |_| 9.0));
        for guess in [lowest, highest] {
            let price = meeting(5.0, guess, |price| 300.0 / price.sqrt());
            assert!((price / 3600.0 - 1.0).abs() < 2e-4, "{price} from {guess}");
        }
    }

    #[test]
    fn a_demand_that_cannot_be_met_ends() {
        assert!(meeting(5.0, 1.0, |_| 1.0) < 1e-30);
        assert!(meeting(5.0, 1.0, |_| 9.0) > 1e30);
        assert!(meeting(5.0, 1.0, |_| 9.0).is_finite());
    }
}
