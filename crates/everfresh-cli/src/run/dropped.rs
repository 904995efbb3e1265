//! What a configuration no longer says: it holds no longer. What was said otherwise, by `everfresh add` or `pin`, stays.
//!
//! The store cannot tell who set a weight or a pin; so the configuration that was last followed is kept beside it, and compared.

use std::fs;
use std::path::Path;

use anyhow::Result;
use everfresh::Period;
use everfresh::policy::Aim;
use everfresh_sched::{GroupId, GroupRule, HostId, PageTerms};

use super::Setup;
use super::config::{Config, Source, aim};
use crate::desk::{Desk, failure, list};
use crate::output;

/// The configuration that was last followed.
const FILE: &str = "followed.toml";

/// Takes back what the last configuration said and this one does not.
pub(crate) fn take_back(setup: &Setup, desk: &mut Desk) -> Result<()> {
    // Without it, or with one that cannot be read, nothing is known to have been said.
    let before = fs::read_to_string(setup.data.join(FILE)).ok().and_then(|text| Config::parse(&text).ok());
    for mut before in before.map_or_else(Vec::new, |config| config.sources) {
        before.address = before.address.map(|address| list::seen_from(&setup.base, address));
        let same = |source: &&Source| (&source.address, &source.list) == (&before.address, &before.list);
        if let Some(source) = setup.config.sources.iter().find(same) {
            reset(setup, desk, source, &before)?;
        }
    }
    let usual = GroupRule::Aim(setup.config.objective.as_deref().map_or(Ok(Aim::Freshness), aim)?);
    for (name, group) in &setup.config.groups {
        let is_unruled = group.rule()?.is_none();
        let group = desk.scheduler.store_mut().group(name).map_err(failure)?;
        if is_unruled && desk.scheduler.state().group_rule(group) != usual {
            desk.scheduler.rule(desk.now_s, group, usual).map_err(failure)?;
        }
    }
    Ok(())
}

/// Keeps a configuration that is followed from now on.
pub(crate) fn remember(data: &Path, config: &Path) -> Result<()> {
    // Whoever is cut off here has the file as it was, or the new one.
    let new = data.join(format!("{FILE}.new"));
    let kept = fs::copy(config, &new).and_then(|_| fs::rename(&new, data.join(FILE)));
    kept.map_err(|error| output::machine("cannot keep the configuration", error))
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
