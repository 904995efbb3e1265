//! All state, from the visit log alone.

use crate::durable::{Durable, next_event};
use crate::engine::Engine;
use crate::failed;
use crate::holder::Holder;
use crate::keep::Roll;
use crate::log::{self, Read, Row};
use everfresh_sched::{Error, Event, Result, State};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What was rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Events that were read.
    pub events: u64,
    /// Files they were in.
    pub files: usize,
    /// Pages that are there now.
    pub pages: usize,
    /// Why events that were not yet in the visit log are lost, if they are: the engine could not be read.
    pub lost: Option<String>,
}

/// Rebuilds a store whose engine is lost or not trusted, from `DIR/visits`.
///
/// What happened since the log was last written is first taken from the engine, if that can be read; the old engine is moved to
/// `DIR/engine.old`, or, if it cannot be read, to `DIR/engine.lost`, which no later call removes. What crawlers noted of pages is lost: their next visits are unconditional.
pub fn rebuild(dir: &Path, who: &str, progress: &mut dyn FnMut(u64)) -> Result<Rebuilt> {
    let _holder = Holder::of(dir, who)?;
    let lost = if Durable::exists(dir) { roll_rest(dir).err().map(|error| error.to_string()) } else { None };
    let files = log::files(dir)?;
    let Some(last) = files.last().and_then(|path| log::generation(path)) else {
        return Err(Error::Store(format!("{}: there must be a visit log", dir.join("visits").display())));
    };
    let new = dir.join("rebuilt");
    let cleared = fs::remove_dir_all(&new).or_else(gone_is_fine);
    cleared.map_err(|error| failed(&new.display().to_string())(&error))?;
    let mut store = Durable::open(&new, who)?;
    let mut replay = Replay::default();
    for path in &files {
        let shown = path.display().to_string();
        log::read(path, &mut |read| {
            progress(read.row.number);
            name(&mut store, &read)?;
            // Rows come before the hash of all of them is compared: damage may show as something that cannot have happened.
            replay.take(&read).map_err(|error| failed(&shown)(&error))
        })?;
    }
    let last = if store.write_rest_of_plan(dir, last + 1, &mut replay)? { last + 1 } else { last };
    let Some(state) = replay.state else {
        return Err(Error::Store("the visit log must begin with settings".to_owned()));
    };
    store.found(&state, last + 1, replay.events)?;
    drop(store);
    swap(dir, &new, lost.is_some()).map_err(|error| failed(&new.display().to_string())(&error))?;
    Ok(Rebuilt { events: replay.events, files: files.len(), pages: state.len(), lost })
}

fn gone_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Writes into the visit log what only the engine has.
fn roll_rest(dir: &Path) -> Result<()> {
    let engine = Engine::open(dir)?;
    let kept = engine.kept()?;
    // It would write over what it has lost.
    next_event(dir, &engine, kept)?;
    let leased = engine.kept_state()?.map(|state| state.live().collect()).unwrap_or_default();
    let mut roll = Roll { engine: engine.clone(), dir: dir.to_owned(), leased, removed: Vec::new() };
    engine.generations().into_iter().filter(|generation| *generation >= kept).try_for_each(|one| roll.write(one))
}

impl Durable {
    /// Makes the rest of a plan that was being made, and writes it down as a generation of its own: whoever rebuilds again finds it.
    fn write_rest_of_plan(&mut self, dir: &Path, generation: u64, replay: &mut Replay) -> Result<bool> {
        let mut file = None;
        while let Some(event) = replay.state.as_ref().and_then(State::rest_of_plan) {
            let file = match &mut file {
                Some(file) => file,
                none => none.insert(log::Writer::new(dir, generation)?),
            };
            let row = Row { number: replay.events, event, page: None };
            file.push(row, self.open_engine()?)?;
            State::fold(&mut replay.state, &event)?;
            replay.events += 1;
        }
        let is_any = file.is_some();
        file.map_or(Ok(()), |file| file.finish(self.open_engine()?))?;
        Ok(is_any)
    }
}

#[derive(Default)]
struct Replay {
    state: Option<State>,
    events: u64,
}

impl Replay {
    fn take(&mut self, read: &Read) -> Result<()> {
        if read.row.number != self.events {
            let text = format!("event {} must come next, got {}", self.events, read.row.number);
            return Err(Error::Store(format!("the visit log has a gap: {text}")));
        }
        self.events += 1;
        State::fold(&mut self.state, &read.row.event)
    }
}

/// Gives pages, hosts and groups their names, where these are first told.
fn name(store: &mut Durable, read: &Read) -> Result<()> {
    match (&read.row.event, &read.host, &read.group) {
        (Event::Added { page, terms, .. } | Event::Altered { page, terms, .. }, host, group) => {
            if let Some(address) = &read.address {
                store.name_page(*page, address);
            }
            if let Some(name) = host
                && store.names().host(terms.host()).is_none()
            {
                store.name_host(terms.host(), name);
            }
            if let Some(name) = group
                && store.names().group(terms.group()).is_none()
            {
                store.name_group(terms.group(), name);
            }
        }
        (Event::Limited { host, .. } | Event::Blocked { host, .. }, Some(name), _) => store.name_host(*host, name),
        (
            Event::Ruled { group, .. } | Event::GroupLimited { group, .. } | Event::GroupBlocked { group, .. },
            _,
            Some(name),
        ) => store.name_group(*group, name),
        _ => {}
    }
    store.flush_some()
}

/// Puts the new engine in the place of the old one, which stays for good where something is nowhere else.
fn swap(dir: &Path, new: &Path, is_lost: bool) -> io::Result<()> {
    let engine = dir.join("engine");
    let old = if is_lost { unused(dir, "engine.lost") } else { dir.join("engine.old") };
    fs::remove_dir_all(&old).or_else(gone_is_fine)?;
    fs::rename(&engine, &old).or_else(gone_is_fine)?;
    fs::rename(new.join("engine"), &engine)?;
    fs::remove_dir_all(new)
}

/// A name that nothing in a directory has yet: this one, or with a number.
fn unused(dir: &Path, name: &str) -> PathBuf {
    let named = |number: u32| dir.join(if number == 1 { name.to_owned() } else { format!("{name}.{number}") });
    (1..=u32::MAX).map(named).find(|path| !path.exists()).unwrap_or_else(|| dir.join(name))
}
