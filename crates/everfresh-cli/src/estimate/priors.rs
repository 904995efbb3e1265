//! What is believed of pages before they are visited, learnt from all of them.
//!
//! The procedure is the same for the same pages, in whatever order and batches their rows came: pages are taken by name.

use anyhow::Result;
use everfresh::estimate::{Evidence, Hierarchy, Population, Prior, Sightings};
use everfresh::{Rate, Unit};
use rayon::prelude::*;

use super::Learner;
use super::model::GammaModel;
use super::store;

/// What is believed of a page before it was visited, by the number of its group.
pub(super) struct Priors {
    pub all: Prior,
    pub by_group: Vec<Prior>,
    /// By how many pages a group is held back; none without groups.
    pub pooling: Option<f64>,
}

/// So many pages tell what all are like, and so many what a group is like: more would hardly move it.
const PAGES: usize = 1 << 13;
const PAGES_OF_GROUP: usize = 500;

/// Rounds of weighing and learning at most, and the change at which they end, on few pages and on all; rounds for groups.
const ROUNDS: usize = 40;
const NEAR: (usize, f64) = (8, 1e-3);
const SETTLED: (usize, f64) = (1, 3e-4);
const GROUP_ROUNDS: usize = 2;

impl Priors {
    /// One change a month, but pages differ by decades: nothing is learnt yet.
    pub(super) fn new() -> everfresh::Result<Priors> {
        Priors::around(Rate::per(1.0, Unit::Month)?)
    }

    fn around(mean: Rate) -> everfresh::Result<Priors> {
        Ok(Priors { all: Prior::new(0.5, mean)?, by_group: Vec::new(), pooling: None })
    }

    #[inline]
    pub(super) fn of(&self, group: u32) -> Prior {
        self.by_group.get(group as usize).copied().unwrap_or(self.all)
    }

    /// Learns the prior of all pages: weighs what was seen under it, and learns again, until it stays.
    fn learn_all(&mut self, pages: &[Sightings]) {
        let base = self.all;
        for (step, settled) in [NEAR, SETTLED] {
            for _ in 0..ROUNDS {
                let told: Vec<Evidence> = pages.par_iter().step_by(step).map(|seen| seen.weighed(&self.all)).collect();
                let mut population = Population::new();
                for told in told {
                    population.add(told);
                }
                // The first belief counts as one page.
                let before = std::mem::replace(&mut self.all, population.learn(base, 1.0));
                let moved = |a: f64, b: f64| (a / b - 1.0).abs();
                let mean = moved(before.mean().per_second(), self.all.mean().per_second());
                if mean.max(moved(before.alpha(), self.all.alpha())) < settled {
                    break;
                }
            }
        }
        self.all = self.all.with_doubt(pages, base.mean());
    }

    /// Learns the priors of groups; `ranks` are the places of groups by name, so that their order does not depend on the rows.
    fn learn_groups(&mut self, pages: &[(u32, Sightings)], ranks: &[u32]) {
        for _ in 0..GROUP_ROUNDS {
            let told: Vec<Evidence> = pages.par_iter().map(|(group, seen)| seen.weighed(&self.of(*group))).collect();
            let mut hierarchy = Hierarchy::new(self.all);
            for ((group, _), told) in pages.iter().zip(told) {
                hierarchy.add(ranks[*group as usize] as usize, told);
            }
            hierarchy.learn_under(self.all);
            self.by_group = ranks.iter().map(|rank| hierarchy.prior(*rank as usize)).collect();
            self.pooling = Some(hierarchy.pooling());
        }
    }
}

impl Learner<GammaModel> {
    /// Learns the priors; what was seen counts only the share `factor`.
    pub(super) fn learn(&mut self, factor: f64) -> Result<()> {
        let names = self.table.groups.names();
        let (mut seen, mut changes, mut seconds) = (Vec::new(), 0_u64, 0_u64);
        for (shard, number) in self.by_name() {
            let shard = &self.shards[usize::from(shard)];
            let page = &shard.pages[number as usize];
            if page.visits > 1 {
                changes += u64::from(page.changes);
                seconds += u64::from(page.last - page.first);
                seen.push((shard.group(number as usize), self.model.sightings(page)?.scaled(factor)));
            }
        }
        if seconds > 0 {
            // All pages together: low where changes hide behind others, but of the right magnitude.
            let mean = Rate::per((changes as f64 + 0.5) / seconds as f64, Unit::Second)?;
            self.model.priors = Priors::around(mean)?;
        }
        let some: Vec<Sightings> =
            seen.iter().step_by(seen.len().div_ceil(PAGES).max(1)).map(|(_, seen)| *seen).collect();
        self.model.priors.learn_all(&some);
        if names.len() > 1 {
            let some = some_of_each(&seen, names.len());
            self.model.priors.learn_groups(&some, &store::ranks(&names));
        }
        Ok(())
    }
}

/// Up to so many pages of each group, evenly.
fn some_of_each(pages: &[(u32, Sightings)], groups: usize) -> Vec<(u32, Sightings)> {
    let mut counts = vec![0_usize; groups];
    for (group, _) in pages {
        counts[*group as usize] += 1;
    }
    let mut at = vec![0_usize; groups];
    let wanted = |(group, _): &&(u32, Sightings)| {
        let (at, step) = (&mut at[*group as usize], counts[*group as usize].div_ceil(PAGES_OF_GROUP));
        *at += 1;
        (*at - 1) % step == 0
    };
    pages.iter().filter(wanted).copied().collect()
}
