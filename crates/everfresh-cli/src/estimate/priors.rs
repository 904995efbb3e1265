//! What is believed of pages before they are visited, learnt from all of them.
//!
//! The procedure is the same for the same pages, in whatever order and batches their rows came: pages are taken by name.

use anyhow::Result;
use everfresh::estimate::{Evidence, Hierarchy, Prior, Sightings};
use everfresh::{Rate, Unit};
use rayon::prelude::*;

use super::Learner;
use super::model::GammaModel;
use super::visits::GroupName;

/// What is believed of a page before it was visited, by the number of its group, or of its host in its group.
pub(super) struct Priors {
    pub all: Prior,
    pub by_group: Vec<Prior>,
    /// What holds groups back; none without groups.
    pub held: Option<Held>,
    /// Did every visit of every page find a change? Then how far rates reach is not known at all, and pages have to do with what they
    /// saw themselves.
    pub are_blind: bool,
    /// Pages that had changed at every visit, and all that were visited again.
    pub unbounded: (usize, usize),
}

/// So many pages tell what all are like, and so many what a group is like: more would hardly move it.
const PAGES: usize = 1 << 13;
const PAGES_OF_GROUP: usize = 500;

/// Rounds of weighing and learning for groups.
const GROUP_ROUNDS: usize = 2;

impl Priors {
    /// One change a month, but pages differ by decades: nothing is learnt yet.
    pub(super) fn new() -> everfresh::Result<Priors> {
        Ok(Priors {
            all: Prior::new(0.5, Rate::per(1.0, Unit::Month)?)?,
            by_group: Vec::new(),
            held: None,
            are_blind: false,
            unbounded: (0, 0),
        })
    }

    #[inline]
    pub(super) fn of(&self, group: u32) -> Prior {
        self.by_group.get(group as usize).copied().unwrap_or(self.all)
    }

    /// Did most pages change at every visit? Then nobody knows how far those reach that were visited once.
    pub(super) fn are_open(&self) -> bool {
        2 * self.unbounded.0 > self.unbounded.1
    }

    /// What is believed of a page that saw this.
    pub(super) fn of_page(&self, group: u32, seen: &Sightings) -> Prior {
        let learnt = self.of(group);
        let alone = if self.are_blind && seen.is_unbounded() { seen.alone() } else { None };
        alone.unwrap_or_else(|| seen.believed(learnt))
    }

    /// Learns the priors of groups and, where there are such, of the hosts of each.
    fn learn_groups(&mut self, pages: &[(u32, Sightings)], places: &Places) {
        for _ in 0..GROUP_ROUNDS {
            let told: Vec<Evidence> = pages.par_iter().map(|(number, seen)| seen.weighed(&self.of(*number))).collect();
            let mut groups = Hierarchy::new(self.all);
            for ((number, _), told) in pages.iter().zip(&told) {
                groups.add(places.of[*number as usize].0, *told);
            }
            groups.learn_under(self.all);
            let mut hosts: Vec<Hierarchy> =
                (0..places.hosts.len()).map(|group| Hierarchy::new(groups.prior(group))).collect();
            for ((number, _), told) in pages.iter().zip(told) {
                let (group, host) = places.of[*number as usize];
                // One host is its group: its pages must not count twice.
                if places.hosts[group] > 1 {
                    hosts[group].add(host, told);
                }
            }
            let several = hosts.par_iter_mut().enumerate().filter(|(group, _)| places.hosts[*group] > 1);
            several.for_each(|(group, hosts)| hosts.learn_under(groups.prior(group)));
            self.by_group = places.of.iter().map(|(group, host)| hosts[*group].prior(*host)).collect();
            self.held = Some(Held { groups: places.hosts.len(), hosts: places.of.len(), by: groups.pooling() });
        }
    }
}

/// How many groups and hosts there are, and by how many pages a group is held back.
pub(super) struct Held {
    pub groups: usize,
    /// As many as groups where there are no hosts.
    pub hosts: usize,
    pub by: f64,
}

/// Where groups and hosts stand by name, so that their order does not depend on the rows.
struct Places {
    /// By number: the place of the group, and that of the host in it.
    of: Vec<(usize, usize)>,
    /// The hosts of each group; one where there are none.
    hosts: Vec<usize>,
}

impl Places {
    fn new(names: &[GroupName]) -> Places {
        let mut sorted: Vec<(&GroupName, usize)> = names.iter().zip(0..).collect();
        sorted.sort_unstable();
        let (mut of, mut hosts, mut before) = (vec![(0, 0); names.len()], Vec::new(), None);
        for (name, number) in sorted {
            if before != Some(&name.group) {
                hosts.push(0);
                before = Some(&name.group);
            }
            let group = hosts.len() - 1;
            of[number] = (group, hosts[group]);
            hosts[group] += 1;
        }
        Places { of, hosts }
    }
}

impl Learner<GammaModel> {
    /// Learns the priors; what was seen counts only the share `factor`.
    pub(super) fn learn(&mut self, factor: f64) -> Result<()> {
        let names = self.table.groups.names();
        let (mut seen, mut changes, mut seconds) = (Vec::new(), 0_u64, 0_u64);
        for (shard, number) in self.pages.iter() {
            let shard = &self.shards[usize::from(*shard)];
            let page = &shard.pages[*number as usize];
            if page.visits > 0 {
                changes += u64::from(page.changes);
                seconds += u64::from(page.last - page.first);
                let group = shard.group(*number as usize);
                seen.push((group, self.model.sightings(group, page)?.scaled(factor)));
            }
        }
        seen.retain(|(_, seen)| *seen != Sightings::NONE);
        let unbounded = seen.iter().filter(|(_, seen)| seen.is_unbounded()).count();
        self.model.priors.unbounded = (unbounded, seen.len());
        self.model.priors.are_blind = !seen.is_empty() && unbounded == seen.len();
        let some = seen.iter().step_by(seen.len().div_ceil(PAGES).max(1)).map(|(_, seen)| *seen);
        let some: Vec<Sightings> = some.collect();
        if self.model.priors.are_blind {
            // Of a page that was not visited again no more is thought than what was seen of the others.
            self.model.priors.all = Prior::new(0.5, Rate::per(changes as f64 / seconds as f64, Unit::Second)?)?;
        } else if let Some(learnt) = Prior::learnt_from(&some) {
            self.model.priors.all = learnt;
        }
        if names.len() > 1 && !self.model.priors.are_blind {
            let some = some_of_each(&seen, names.len());
            self.model.priors.learn_groups(&some, &Places::new(&names));
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
