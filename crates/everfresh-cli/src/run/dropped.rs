//! What a configuration no longer says: it holds no longer. What was said otherwise, by `everfresh add` or `pin`, stays.
//!
//! The store cannot tell who set a weight or a pin; so the configuration that was last followed is kept beside it, and compared.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use everfresh::Period;
use everfresh::policy::Aim;
use everfresh_sched::{GroupId, GroupRule, HostId, HostLimits, PageTerms};

use super::config::{Config, Group, Source, aim};
use super::{Setup, beside};
use crate::desk::{Desk, failure, list};

/// The configuration that was last followed.
const FILE: &str = "followed.toml";

/// Takes back what the last configuration said and this one does not.
pub(crate) fn take_back(setup: &Setup, desk: &mut Desk) -> Result<()> {
    // Without it, or with one that cannot be read, nothing is known to have been said.
    let before = beside::recall(&setup.data, FILE).and_then(|text| Config::parse(&text).ok());
    let Config { sources, hosts, groups, .. } = before.unwrap_or_default();
    for mut before in sources {
        before.address = before.address.map(|address| list::seen_from(&setup.base, address));
        let same = |source: &&Source| (&source.address, &source.list) == (&before.address, &before.list);
        if let Some(source) = setup.config.sources.iter().find(same) {
            reset(setup, desk, source, &before)?;
        }
    }
    let usual = GroupRule::Aim(setup.config.objective.as_deref().map_or(Ok(Aim::Freshness), aim)?);
    for name in groups.keys().chain(setup.config.groups.keys()) {
        let said = setup.config.groups.get(name);
        let group = desk.scheduler.store_mut().group(name).map_err(failure)?;
        if said.map(Group::rule).transpose()?.flatten().is_none() {
            desk.rule_group(group, usual)?;
        }
        if said.is_none() {
            desk.limit_group(group, HostLimits::NONE)?;
        }
    }
    let usual = *desk.scheduler.state().settings().limits();
    for name in hosts.keys().filter(|name| !setup.config.hosts.contains_key(*name)) {
        if let Ok(address) = list::configured(name) {
            let host = desk.scheduler.store_mut().host(&list::host(&address)).map_err(failure)?;
            desk.limit_host(host, usual)?;
        }
    }
    Ok(())
}

/// Keeps a configuration that is followed from now on.
pub(crate) fn remember(data: &Path, config: &Path) -> Result<()> {
    let text = fs::read_to_string(config).with_context(|| format!("cannot read `{}`", config.display()))?;
    beside::remember(data, FILE, &text, "the configuration")
}

/// Gives the pages of a source what they would have had without what it no longer says.
fn reset(setup: &Setup, desk: &mut Desk, source: &Source, before: &Source) -> Result<()> {
    // To go through millions of pages for nothing takes a while.
    if without(PageTerms::new(HostId(0)), source, before)?.is_none() {
        return Ok(());
    }
    desk.scheduler.hold();
    setup.each_page(source, &mut |listed| {
        let (page, is_known) = desk.find(&listed.address)?;
        if is_known {
            let terms = desk.scheduler.state().terms(page)?;
            if let Some(changed) = without(terms, source, before)?.filter(|changed| *changed != terms) {
                desk.scheduler.change(desk.now_s, page, changed).map_err(failure)?;
            }
        }
        Ok(())
    })?;
    desk.scheduler.release().map_err(failure)?;
    Ok(())
}

/// What is asked for a page, without what a source said before and says no longer; nothing if it says as much.
fn without(mut terms: PageTerms, source: &Source, before: &Source) -> Result<Option<PageTerms>> {
    let mut any = false;
    let mut is_dropped = |was: bool, is: bool| {
        any |= was && !is;
        was && !is
    };
    if is_dropped(before.weight.is_some(), source.weight.is_some()) {
        terms = terms.with_weight(1.0)?;
    }
    if is_dropped(before.cost.is_some(), source.cost.is_some()) {
        terms = terms.with_cost(1.0)?;
    }
    let bounds = |source: &Source| source.min_period.is_some() || source.max_period.is_some();
    if is_dropped(bounds(before), bounds(source)) {
        terms = terms.with_periods(Period::ZERO, Period::NEVER)?;
    }
    if is_dropped(before.group.is_some(), source.group.is_some()) {
        terms = terms.in_group(GroupId::default());
    }
    if is_dropped(before.pin.is_some(), source.pin.is_some()) {
        terms = terms.unpinned();
    }
    Ok(any.then_some(terms))
}
