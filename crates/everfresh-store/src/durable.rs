use crate::engine::{Engine, damaged};
use crate::failed;
use crate::holder::Holder;
use crate::keep::{Keep, Leased, Named, Roll};
use crate::log::{self, Read};
use crate::names::{Names, page_id};
use crate::space::is_full;
use everfresh_sched::{Error, Event, GroupId, HostId, Outcome, PageId, Result, State, Store, record};
use fjall::{Keyspace, PersistMode};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use tempfile::TempDir;

/// A store in a directory. See the [crate].
///
/// What [`Store::append`] acknowledged is on the disk. [`Store::keep`] returns at once and writes in the background: the
/// state, and the visit log of what led to it; [`Durable::settle`] waits for that. When the disk is full or fails, operations fail
/// and may be tried again; the engine is then opened anew.
pub struct Durable {
    dir: PathBuf,
    names: Names,
    /// Written with the next events, or by [`Durable::flush`].
    staged: Staged,
    /// Events go to this generation.
    generation: u64,
    /// The number of the next event.
    next: u64,
    /// None after a failure, until it is open again.
    open: Option<(Engine, Keyspace)>,
    /// What was leased when the first events began that are not in the visit log.
    leased: Leased,
    keeping: Option<JoinHandle<Result<Leased>>>,
    named: Named,
    /// Let go of when all else is.
    _holder: Holder,
    /// The copy that is looked at, if it is one: removed last.
    look: Option<TempDir>,
}

/// What is not written yet: names, notes, and events that wait for the next.
#[derive(Default)]
struct Staged {
    events: Vec<Event>,
    pages: HashMap<PageId, String, RandomState>,
    notes: HashMap<PageId, Vec<u8>, RandomState>,
    hosts: Vec<(HostId, String)>,
    groups: Vec<(GroupId, String)>,
}

impl Staged {
    fn len(&self) -> usize {
        self.events.len() + self.pages.len() + self.notes.len() + self.hosts.len() + self.groups.len()
    }
}

impl std::fmt::Debug for Durable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Durable").field("dir", &self.dir).field("events", &self.next).finish_non_exhaustive()
    }
}

impl Durable {
    /// Opens a directory, or makes it. `who` is told to those who try in the meantime.
    pub fn open(dir: &Path, who: &str) -> Result<Durable> {
        let holder = Holder::of(dir, who)?;
        crate::look::clean(dir);
        Durable::held(dir, holder)
    }

    /// Opens a directory that is held.
    fn held(dir: &Path, holder: Holder) -> Result<Durable> {
        if !Durable::exists(dir) && !log::files(dir)?.is_empty() {
            let text = "has a visit log and no engine; `everfresh rebuild` makes it anew";
            return Err(Error::Store(format!("{} {text}", dir.display())));
        }
        let engine = Engine::open(dir)?;
        let kept = engine.kept()?;
        engine.forget_others(kept)?;
        let generation = engine.generations().last().copied().unwrap_or(kept).max(kept);
        let events = engine.events(generation)?;
        let next = next_event(dir, &engine, kept)?;
        let names = Names::load(&engine)?;
        Ok(Durable {
            dir: dir.to_owned(),
            names,
            staged: Staged::default(),
            generation,
            next,
            open: Some((engine, events)),
            leased: Leased::new(),
            keeping: None,
            named: Named::default(),
            _holder: holder,
            look: None,
        })
    }

    /// Was the end of the engine's log torn when it was opened, as a power failure leaves it? What was left out was not acknowledged, unless the
    /// disk lost what it had said to have written.
    pub fn was_torn(&self) -> bool {
        self.open.as_ref().is_some_and(|(engine, _)| engine.was_torn)
    }

    /// Opens a store that another process has open, as it is on the disk at this moment: to look. What is written goes nowhere.
    pub fn look(dir: &Path, who: &str) -> Result<Durable> {
        let (look, holder) = crate::look::copy(dir, who)?;
        let mut store = Durable::held(look.path(), holder)?;
        store.look = Some(look);
        Ok(store)
    }

    /// Has another process this directory open?
    pub fn is_held(dir: &Path) -> bool {
        !crate::holder::is_free(dir)
    }

    /// Is there a store in this directory?
    pub fn exists(dir: &Path) -> bool {
        dir.join("engine").is_dir()
    }

    /// Removes a store: its engine, its visit log and, if nothing else is in it, its directory.
    pub fn remove(dir: &Path, who: &str) -> Result<()> {
        let _holder = Holder::of(dir, who)?;
        for part in ["engine", "visits"].map(|part| dir.join(part)).iter().filter(|part| part.is_dir()) {
            fs::remove_dir_all(part).map_err(|error| failed(&part.display().to_string())(&error))?;
        }
        let holder = dir.join("holder");
        fs::remove_file(&holder).map_err(|error| failed(&holder.display().to_string())(&error))?;
        // Others may keep something there.
        let _ = fs::remove_dir(dir);
        Ok(())
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// How many events there were in all.
    pub const fn events(&self) -> u64 {
        self.next
    }

    /// Names of hosts and groups.
    pub const fn names(&self) -> &Names {
        &self.names
    }

    fn engine(&mut self) -> Result<&(Engine, Keyspace)> {
        let opened = match self.open.take() {
            Some(open) => open,
            None => self.reopen()?,
        };
        Ok(self.open.insert(opened))
    }

    pub(crate) fn open_engine(&mut self) -> Result<&Engine> {
        self.engine().map(|(engine, _)| engine)
    }

    /// Opens the engine again after a failure. What was refused then may have reached the disk: it did not happen.
    fn reopen(&mut self) -> Result<(Engine, Keyspace)> {
        // A state that could not be kept is kept the next time; its thread must let go of the engine.
        let _ = self.settle();
        let engine = Engine::open(&self.dir)?;
        let events = engine.events(self.generation)?;
        let mut batch = engine.db.batch().durability(Some(PersistMode::SyncAll));
        for entry in events.range(self.next.to_be_bytes()..) {
            batch.remove(&events, entry.key().map_err(|error| failed("events")(&error))?);
        }
        batch.commit().map_err(|error| failed("events")(&error))?;
        Ok((engine, events))
    }

    /// The address of a page.
    pub fn address(&mut self, page: PageId) -> Result<Option<String>> {
        if let Some(address) = self.staged.pages.get(&page) {
            return Ok(Some(address.clone()));
        }
        let (engine, _) = self.engine()?;
        let found = engine.pages.get(page.0.to_be_bytes()).map_err(|error| failed("names")(&error))?;
        Ok(found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The number that an address has, or would have, and whether it has it: `knows` tells which pages there are.
    ///
    /// Two addresses with the same hash are told apart: the second gets the next number.
    pub fn page(&mut self, address: &str, knows: impl Fn(PageId) -> bool) -> Result<(PageId, bool)> {
        let mut page = page_id(address);
        while knows(page) || self.staged.pages.contains_key(&page) {
            if self.address(page)?.is_some_and(|found| found == address) {
                return Ok((page, true));
            }
            page.0 = page.0.wrapping_add(1);
        }
        Ok((page, false))
    }

    /// Gives a page its address, with the next events that are appended.
    pub fn name_page(&mut self, page: PageId, address: &str) {
        if self.keeping.is_some() {
            self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(page);
        }
        self.staged.pages.insert(page, address.to_owned());
    }

    /// Keeps what a crawler wants to remember of a page, with the next events that are appended.
    pub fn note(&mut self, page: PageId, note: Vec<u8>) {
        self.staged.notes.insert(page, note);
    }

    /// What was last noted of a page.
    pub fn noted(&mut self, page: PageId) -> Result<Option<Vec<u8>>> {
        if let Some(note) = self.staged.notes.get(&page) {
            return Ok(Some(note.clone()));
        }
        let (engine, _) = self.engine()?;
        let found = engine.notes.get(page.0.to_be_bytes()).map_err(|error| failed("notes")(&error))?;
        Ok(found.map(|bytes| bytes.to_vec()))
    }

    /// The host of a name, new if need be.
    pub fn host(&mut self, name: &str) -> Result<HostId> {
        if let Some(host) = self.names.find_host(name) {
            return Ok(host);
        }
        let host = self.names.next_host()?;
        self.name_host(host, name);
        Ok(host)
    }

    /// The group of a name, new if need be.
    pub fn group(&mut self, name: &str) -> Result<GroupId> {
        if let Some(group) = self.names.find_group(name) {
            return Ok(group);
        }
        let group = self.names.next_group()?;
        self.name_group(group, name);
        Ok(group)
    }

    pub(crate) fn name_host(&mut self, host: HostId, name: &str) {
        self.names.set_host(host, name);
        self.staged.hosts.push((host, name.to_owned()));
    }

    pub(crate) fn name_group(&mut self, group: GroupId, name: &str) {
        self.names.set_group(group, name);
        self.staged.groups.push((group, name.to_owned()));
    }

    /// Writes what is staged now.
    pub fn flush(&mut self) -> Result<()> {
        self.append(&[])
    }

    /// Waits until what is kept in the background is kept, or says why it is not.
    pub fn settle(&mut self) -> Result<()> {
        let Some(keeping) = self.keeping.take() else { return Ok(()) };
        let ended = keeping.join().unwrap_or_else(|_| Err(Error::Store("keeping a state was cut off".to_owned())));
        self.leased = ended?;
        Ok(())
    }

    /// Is a state being kept in the background?
    pub fn is_keeping(&self) -> bool {
        self.keeping.as_ref().is_some_and(|keeping| !keeping.is_finished())
    }

    /// Bytes on disk: the engine's, and the visit log's.
    pub fn disk_bytes(&mut self) -> Result<(u64, u64)> {
        let log = log::files(&self.dir)?.iter().filter_map(|path| path.metadata().ok()).map(|data| data.len()).sum();
        let (engine, _) = self.engine()?;
        Ok((engine.db.disk_space().map_err(|error| failed("engine")(&error))?, log))
    }

    /// Hands over the pages that were leased since a time, once for each time. The visit log is in `dir`, which is another directory than
    /// that of a copy that is looked at.
    pub fn leased_since(&mut self, dir: &Path, since_s: f64, take: &mut dyn FnMut(PageId)) -> Result<()> {
        self.settle()?;
        let (engine, _) = self.engine()?;
        engine.replay(&mut |event| {
            match event {
                Event::Leased { now_s, page, .. } if *now_s >= since_s => take(*page),
                _ => {}
            }
            Ok(())
        })?;
        let kept = engine.kept()?;
        let is_older = |path: &PathBuf| log::generation(path).is_some_and(|generation| generation < kept);
        for path in log::files(dir)?.into_iter().rev().filter(is_older) {
            if !log::leased_since(&path, since_s, take)? {
                break;
            }
        }
        Ok(())
    }

    /// Hands over every visit that came back, in the order in which they did. The visit log is in `dir`, which is another directory than
    /// that of a copy that is looked at.
    pub fn visits(&mut self, dir: &Path, take: &mut dyn FnMut(Visited) -> Result<()>) -> Result<()> {
        self.settle()?;
        let leased = self.leased.clone();
        let (engine, _) = self.engine()?;
        let kept = engine.kept()?;
        let is_older = |path: &PathBuf| log::generation(path).is_some_and(|generation| generation < kept);
        for path in log::files(dir)?.into_iter().filter(is_older) {
            log::read(&path, &mut |Read { row, address, .. }| match (row.event, row.page, address) {
                (Event::Completed { now_s, outcome, .. }, Some(page), Some(address)) => {
                    take(Visited { page, address, now_s, outcome })
                }
                _ => Ok(()),
            })?;
        }
        let mut roll = Roll { engine: engine.clone(), dir: dir.to_owned(), leased, removed: Vec::new() };
        engine.replay(&mut |event| {
            let (Some(page), Event::Completed { now_s, outcome, .. }) = (roll.page_of(event), *event) else {
                return Ok(());
            };
            let address = engine.pages.get(page.0.to_be_bytes()).map_err(|error| failed("names")(&error))?;
            let Some(address) = address else { return Ok(()) };
            take(Visited { page, address: String::from_utf8_lossy(&address).into_owned(), now_s, outcome })
        })
    }

    /// Begins with a state that so many events led to, which are in the visit log before a generation.
    pub(crate) fn found(&mut self, state: &State, generation: u64, events: u64) -> Result<()> {
        self.flush()?;
        (self.generation, self.next) = (generation - 1, events);
        self.keep(state)?;
        self.settle()
    }

    /// Writes what is staged, if it is much.
    pub(crate) fn flush_some(&mut self) -> Result<()> {
        if self.staged.len() < 10_000 { Ok(()) } else { self.flush() }
    }

    fn write(&mut self, events: &[Event]) -> Result<()> {
        let (staged, next) = (std::mem::take(&mut self.staged), self.next);
        let done = self.engine().and_then(|(engine, log)| commit(engine, log, &staged, next, events));
        if done.is_ok() {
            self.next += (staged.events.len() + events.len()) as u64;
        } else {
            (self.staged, self.open) = (staged, None);
        }
        done.map_err(|error| why(error, &self.dir))
    }
}

/// A visit that came back.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// The page.
    pub page: PageId,
    /// Its address.
    pub address: String,
    /// When it came back.
    pub now_s: f64,
    /// What it found.
    pub outcome: Outcome,
}

/// An engine that could not write out a table in the background says only that it has stopped: the disk tells why.
fn why(error: Error, dir: &Path) -> Error {
    match error {
        Error::Store(text) if text.contains("Poisoned") && is_full(dir) => {
            Error::Store(format!("no space left in {} ({text})", dir.display()))
        }
        other => other,
    }
}

/// Writes what is staged and events after it, all or nothing.
fn commit(engine: &Engine, log: &Keyspace, staged: &Staged, next: u64, events: &[Event]) -> Result<()> {
    let mut batch = engine.db.batch().durability(Some(PersistMode::SyncAll));
    // In order they find their places in the engine's table from each other's, in memory that was just read.
    let mut pages: Vec<_> = staged.pages.iter().collect();
    pages.sort_unstable_by_key(|(page, _)| **page);
    for (page, address) in pages {
        batch.insert(&engine.pages, page.0.to_be_bytes(), address.as_bytes());
    }
    for (page, note) in &staged.notes {
        batch.insert(&engine.notes, page.0.to_be_bytes(), note.as_slice());
    }
    for (host, name) in &staged.hosts {
        batch.insert(&engine.hosts, host.0.to_be_bytes(), name.as_bytes());
    }
    for (group, name) in &staged.groups {
        batch.insert(&engine.groups, u32::from(group.0).to_be_bytes(), name.as_bytes());
    }
    let all = [staged.events.as_slice(), events].concat();
    if !all.is_empty() {
        batch.insert(log, next.to_be_bytes(), record::of_events(&all)?);
    }
    batch.commit().map_err(|error| failed("events")(&error))
}

/// One more than the number of the last event, which the visit log cannot be ahead of.
pub(crate) fn next_event(dir: &Path, engine: &Engine, kept: u64) -> Result<u64> {
    let next = next_known(engine, kept)?;
    if log::last_number(dir)?.is_some_and(|last| last >= next) {
        return Err(damaged("the engine, which has lost events that the visit log has,"));
    }
    Ok(next)
}

fn next_known(engine: &Engine, kept: u64) -> Result<u64> {
    for generation in engine.generations().into_iter().rev().filter(|generation| *generation >= kept) {
        if let Some(entry) = engine.events(generation)?.last_key_value() {
            let (key, value) = entry.into_inner().map_err(|error| failed("events")(&error))?;
            let first = key.as_ref().try_into().map_or(0, u64::from_be_bytes);
            return Ok(first + record::events(&value)?.len() as u64);
        }
    }
    engine.counted()
}

impl Store for Durable {
    fn append(&mut self, events: &[Event]) -> Result<()> {
        if events.is_empty() && self.staged.len() == 0 {
            return Ok(());
        }
        self.write(events)
    }

    fn stage(&mut self, events: &[Event]) -> Result<()> {
        self.staged.events.extend_from_slice(events);
        Ok(())
    }

    fn keep(&mut self, state: &State) -> Result<()> {
        self.flush()?;
        self.settle()?;
        let (generation, next) = (self.generation + 1, self.next);
        let (engine, _) = self.engine()?;
        let (engine, events) = (engine.clone(), engine.events(generation)?);
        let roll =
            Roll { engine: engine.clone(), dir: self.dir.clone(), leased: self.leased.clone(), removed: Vec::new() };
        (self.open, self.generation) = (Some((engine, events)), generation);
        self.named = Named::default();
        let keep = Keep { generation, next, state: state.clone(), roll, named: Arc::clone(&self.named) };
        let thread = std::thread::Builder::new().name("keep".to_owned()).spawn(move || keep.run());
        self.keeping = Some(thread.map_err(|error| failed("a thread")(&error))?);
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Option<State>> {
        self.settle()?;
        let (engine, _) = self.engine()?;
        let state = engine.kept_state()?;
        self.leased = state.iter().flat_map(State::live).collect();
        Ok(state)
    }

    fn replay(&mut self, take: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        self.settle()?;
        self.engine()?.0.replay(take)
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; what is not kept is replayed.
        let _ = self.settle();
    }
}
