//! `everfresh add`: pages into a store.

use anyhow::{Context, Result};
use everfresh_sched::{PageId, PageTerms, Trouble};
use everfresh_store::Durable;
use serde::Serialize;
use std::collections::HashMap;

use super::args::{AddArgs, TermArgs};
use super::list::{self, Listed};
use super::{Desk, failure};
use crate::interrupt::{self, Interrupted};
use crate::output;
use crate::progress::CountLine;

/// So many pages are written at a time.
const TOGETHER: usize = 10_000;

/// What became of the pages of a list.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Added {
    pub added: u64,
    pub changed: u64,
    pub known: u64,
}

/// `everfresh add`
pub(crate) fn run(args: &AddArgs) -> Result<()> {
    args.files.iter().try_for_each(|file| list::check(file))?;
    let is_new = !Durable::exists(&args.store.data);
    let mut desk = Desk::begin(&args.store, args.budget, args.floor)?;
    let done = match add_all(&mut desk, args) {
        Err(error) if is_new && !error.is::<Interrupted>() => {
            // Whoever corrects a list begins with the next try, and may mean another place.
            drop(desk);
            Durable::remove(&args.store.data, &super::who()).map_err(failure)?;
            return Err(error);
        }
        done => done?,
    };
    desk.scheduler.replan(desk.now_s).map_err(failure)?;
    let pages = desk.scheduler.state().len();
    desk.close()?;
    if args.json {
        return output::print_json(&serde_json::json!({
            "added": done.added, "changed": done.changed, "known": done.known, "pages": pages,
        }));
    }
    output::say(&format!(
        "added {}; {} were known, {} of them changed; there are {pages} now",
        output::count(done.added as f64, "page"),
        done.known + done.changed,
        done.changed,
    ));
    Ok(())
}

/// Takes in every page of the lists.
fn add_all(desk: &mut Desk, args: &AddArgs) -> Result<Added> {
    let line = CountLine::new("pages");
    let mut adding = Adding { takes_back: true, ..Adding::new(desk, &args.terms) };
    for file in &args.files {
        list::read(file, &mut |listed| {
            line.at(adding.count());
            if interrupt::is_wanted() {
                return Err(Interrupted("what was read so far may be in: adding it again does no harm").into());
            }
            adding.take(&listed)
        })?;
    }
    adding.finish()
}

/// Pages on their way into a store, many at a time.
pub(crate) struct Adding<'a> {
    desk: &'a mut Desk,
    terms: &'a TermArgs,
    waiting: Vec<(PageId, PageTerms)>,
    /// Where pages wait.
    named: HashMap<PageId, usize>,
    /// So many were changed and are not written yet.
    altered: usize,
    /// Are pages taken back that are retired? A list that a run reads each time it begins is no wish for them.
    takes_back: bool,
    done: Added,
}

impl<'a> Adding<'a> {
    pub(crate) fn new(desk: &'a mut Desk, terms: &'a TermArgs) -> Adding<'a> {
        Adding {
            desk,
            terms,
            waiting: Vec::new(),
            named: HashMap::new(),
            altered: 0,
            takes_back: false,
            done: Added::default(),
        }
    }

    fn count(&self) -> u64 {
        self.done.added + self.done.known + self.done.changed + self.waiting.len() as u64
    }

    pub(crate) fn take(&mut self, listed: &Listed) -> Result<()> {
        let store = self.desk.scheduler.store_mut();
        let host = store.host(&listed.host.clone().unwrap_or_else(|| list::host(&listed.address))).map_err(failure)?;
        let named = listed.group.as_ref().or(self.terms.group.as_ref());
        let group = named.map(|name| store.group(name)).transpose().map_err(failure)?;
        let (page, is_named) = self.desk.find(&listed.address)?;
        let waits = self.named.get(&page).copied();
        let known = self.desk.scheduler.state().terms(page).ok();
        let before = waits.map(|at| self.waiting[at].1).or(known);
        let mut terms = before.unwrap_or_else(|| PageTerms::new(host));
        if listed.host.is_some() {
            terms = terms.at_host(host);
        }
        if let Some(group) = group {
            terms = terms.in_group(group);
        }
        let terms = with_terms(terms, listed, self.terms)?;
        if let Some(at) = waits {
            // A list may name a page twice: the second time it says more of one that is known.
            self.waiting[at].1 = terms;
            self.done.known += 1;
            return Ok(());
        }
        let is_retired = self.desk.scheduler.state().trouble(page) == Some(Trouble::Retired);
        match before {
            Some(_) if is_retired && self.takes_back => self.wait(page, terms),
            Some(before) if before == terms => self.done.known += 1,
            Some(_) => {
                // Waiting for the disk page by page would take a quarter of an hour for a million.
                self.desk.scheduler.hold();
                self.altered += 1;
                self.desk.scheduler.change(self.desk.now_s, page, terms).map_err(failure)?;
                self.done.changed += 1;
            }
            None => {
                if !is_named {
                    self.desk.scheduler.store_mut().name_page(page, &listed.address);
                }
                self.wait(page, terms);
            }
        }
        if self.waiting.len() + self.altered < TOGETHER { Ok(()) } else { self.write() }
    }

    fn wait(&mut self, page: PageId, terms: PageTerms) {
        self.named.insert(page, self.waiting.len());
        self.waiting.push((page, terms));
    }

    fn write(&mut self) -> Result<()> {
        let answers = self.desk.scheduler.add_all(self.desk.now_s, &self.waiting).map_err(failure)?;
        self.done.added += answers.iter().filter(|answer| answer.is_ok()).count() as u64;
        self.waiting.clear();
        self.named.clear();
        self.desk.scheduler.release().map_err(failure)?;
        self.altered = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Added> {
        self.write()?;
        Ok(self.done)
    }
}

/// What a list asks for a page, and what the command line asks for all.
fn with_terms(mut terms: PageTerms, listed: &Listed, all: &TermArgs) -> Result<PageTerms> {
    if let Some(weight) = listed.weight.or(all.weight) {
        terms = terms.with_weight(weight)?;
    }
    if let Some(cost) = listed.cost.or(all.cost) {
        terms = terms.with_cost(cost)?;
    }
    let (min, max) = (listed.min_period.or(all.min_period), listed.max_period.or(all.max_period));
    if min.is_some() || max.is_some() {
        // The bound that is not named stays.
        let (min, max) = (min.unwrap_or(terms.min_period()), max.unwrap_or(terms.max_period()));
        terms = terms.with_periods(min, max).context("cannot set its bounds")?;
    }
    match listed.pin {
        Some(pin) => Ok(terms.pinned(pin)?),
        None => Ok(terms),
    }
}
