//! The price, found anew over all live pages.

use crate::page::Trouble;
use crate::state::State;
use crate::tick::Tick;
use everfresh::policy::{About, Policy, Watched};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// From so many pages priors and habits are learnt at most.
const LEARNT_FROM: usize = 8192;
/// Of so many pages the price is found at most: what a sample of them misses by is steered away.
const PRICED: usize = 65_536;
/// How closely a demand must meet what there is.
const CLOSE: f64 = 1e-4;
/// A full host is asked for a little more than it bears, so that none of its few visits is lost while nobody is due. Its pages
/// then wait a little, which lengthens their periods by just as much: the queue does not grow.
const HOST_LOAD: f64 = 1.03;

impl State {
    /// Learns from all pages, finds the price at which they spend the budget, and sets anew when each is due.
    pub(crate) fn replan(&mut self, now_s: f64) {
        let now = self.clock(now_s);
        let all: Vec<u32> = self.pages.slots().collect();
        self.learn(&all);
        let asking = |slot: &u32| matches!(self.pages.trouble(*slot), Trouble::None | Trouble::Failing(_));
        let live: Vec<u32> = all.iter().copied().filter(asking).collect();
        let round: f64 = live.iter().map(|slot| self.pages.rare(*slot).cost).sum();
        if round > 0.0 {
            self.round_s = round / self.settings.budget_per_s;
            self.price_hosts(&live);
            let sample: Vec<u32> = strided(&live, PRICED).collect();
            let scale = live.len() as f64 / sample.len() as f64;
            let cost = |slot: &u32| self.pages.rare(*slot).cost;
            let demand =
                |price: f64| scale * sample.iter().map(|slot| cost(slot) / self.gap_s(*slot, price)).sum::<f64>();
            self.price = meeting(self.settings.budget_per_s, self.price, demand);
        }
        self.replanned_s = now;
        self.set_dues(&all);
    }

    fn learn(&mut self, all: &[u32]) {
        let sample: Vec<(About, Watched)> = strided(all, LEARNT_FROM)
            .filter(|slot| self.pages.get(*slot).is_copied())
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

    /// The time between two visits at a price: the period, and the wait for an hour of its host.
    fn gap_s(&self, slot: u32, price: f64) -> f64 {
        self.period_s(slot, price).0 + self.limits(self.pages.get(slot).host).week().mean_wait_s()
    }

    /// Gives every host whose pages ask for more than it bears a price of its own, which does not depend on that of others.
    fn price_hosts(&mut self, live: &[u32]) {
        let mut by_host: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for slot in live {
            let host = self.pages.get(*slot).host;
            if self.limits(host).gap().seconds() > 0.0 {
                by_host.entry(host).or_default().push(*slot);
            }
        }
        self.hosts.values_mut().for_each(|host| host.price = 0.0);
        for (id, slots) in by_host {
            let limits = self.limits(id);
            let bears = HOST_LOAD * limits.week().open_share() / limits.gap().seconds();
            let demand = |price: f64| slots.iter().map(|slot| 1.0 / self.gap_s(*slot, price)).sum::<f64>();
            // A host that bears what is asked at a quarter of the price will hardly be full.
            if demand(self.price / 4.0) > bears {
                let price = meeting(bears, self.price, demand);
                self.hosts.entry(id).or_default().price = price;
            }
        }
    }

    /// Sets when each page is due that does not wait for another reason, and all queues anew.
    fn set_dues(&mut self, all: &[u32]) {
        for slot in all {
            if self.pages.trouble(*slot) == Trouble::None {
                self.pages.get_mut(*slot).due = self.due(*slot);
            }
        }
        self.enqueue_all();
    }

    /// Sets all queues anew: whoever waits stands in the calendar.
    pub(crate) fn enqueue_all(&mut self) {
        let waits = |slot: &u32| !self.pages.get(*slot).is_leased() && self.pages.get(*slot).due < Tick::LAST;
        let entries = self.pages.slots().filter(waits).map(|slot| Reverse((self.pages.get(slot).due, slot)));
        self.queues.reset(entries.collect());
        for host in self.hosts.values_mut() {
            host.waiting.clear();
            host.place = crate::host::Place::Nowhere;
        }
    }
}

/// Every so many-th, so that at most `most` are left.
fn strided(slots: &[u32], most: usize) -> impl Iterator<Item = u32> {
    slots.iter().copied().step_by(slots.len().div_ceil(most).max(1))
}

/// The price at which a non-increasing demand meets `supply` > 0, from a guess: by halving its logarithm.
///
/// Where the demand stays above the supply at any price, or below it, the price is the highest or lowest that was tried.
fn meeting(supply: f64, guess: f64, demand: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (guess, guess);
    let mut factor = 2.0;
    if demand(guess) > supply {
        while high < HIGHEST && demand(high) > supply {
            (low, high) = (high, (high * factor).min(HIGHEST));
            factor *= factor;
        }
    } else {
        while low > 1.0 / HIGHEST && demand(low) <= supply {
            (low, high) = ((low / factor).max(1.0 / HIGHEST), low);
            factor *= factor;
        }
    }
    while high / low > 1.0 + CLOSE {
        let middle = low.sqrt() * high.sqrt();
        if demand(middle) > supply {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Prices between the inverse of this and this are tried.
const HIGHEST: f64 = 1e40;

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
    fn a_demand_that_cannot_be_met_ends() {
        assert!(meeting(5.0, 1.0, |_| 1.0) < 1e-30);
        assert!(meeting(5.0, 1.0, |_| 9.0) > 1e30);
        assert!(meeting(5.0, 1.0, |_| 9.0).is_finite());
    }
}
