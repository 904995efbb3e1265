//! Keeping a state: the visit log of what led to it, then the state, then the word that it counts.

use crate::engine::Engine;
use crate::failed;
use crate::log::{self, Row};
use everfresh_sched::{Event, LeaseId, PageId, Result, State, record};
use fjall::Keyspace;
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Live leases and their pages.
pub(crate) type Leased = BTreeMap<LeaseId, PageId>;

pub(crate) struct Keep {
    /// The state is that with which this generation of events begins.
    pub(crate) generation: u64,
    /// The number of its first event.
    pub(crate) next: u64,
    pub(crate) state: State,
    pub(crate) roll: Roll,
    pub(crate) named: Named,
}

/// Pages that were given a name since a state began to be kept: they have come back, whatever the state knows.
pub(crate) type Named = Arc<Mutex<HashSet<PageId, RandomState>>>;

impl Keep {
    /// All in an order in which it may be cut off anywhere. Gives back what is leased in that state.
    pub(crate) fn run(mut self) -> Result<Leased> {
        let engine = self.roll.engine.clone();
        for generation in engine.generations().into_iter().filter(|generation| *generation < self.generation) {
            self.roll.write(generation)?;
        }
        write_state(&engine.state(self.generation)?, &self.state)?;
        engine.count_from(self.generation, self.next)?;
        self.forget_names()?;
        Ok(self.state.live().collect())
    }

    /// Forgets addresses and notes of pages that were removed and have not come back.
    fn forget_names(&self) -> Result<()> {
        let engine = &self.roll.engine;
        // Held until they are gone: whoever comes back later is named later.
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let is_gone = |page: &&PageId| !self.state.knows(**page) && !named.contains(page);
        let mut batch = engine.db.batch();
        for page in self.roll.removed.iter().filter(is_gone) {
            batch.remove(&engine.pages, page.0.to_be_bytes());
            batch.remove(&engine.notes, page.0.to_be_bytes());
        }
        batch.commit().map_err(|error| failed("names")(&error))
    }
}

fn write_state(kept: &Keyspace, state: &State) -> Result<()> {
    let mut ingestion = kept.start_ingestion().map_err(|error| failed("state")(&error))?;
    let mut number = 0u32;
    state.write(&mut |record| {
        ingestion.write(number.to_be_bytes(), record).map_err(|error| failed("state")(&error))?;
        number += 1;
        Ok(())
    })?;
    ingestion.finish().map_err(|error| failed("state")(&error))
}

/// From the engine into the visit log.
pub(crate) struct Roll {
    pub(crate) engine: Engine,
    pub(crate) dir: PathBuf,
    /// What is leased when the events begin.
    pub(crate) leased: Leased,
    /// Pages that were removed in them.
    pub(crate) removed: Vec<PageId>,
}

impl Roll {
    /// Writes a generation of events.
    pub(crate) fn write(&mut self, generation: u64) -> Result<()> {
        let events = self.engine.events(generation)?;
        if events.first_key_value().is_none() {
            return Ok(());
        }
        let mut file = log::Writer::new(&self.dir, generation)?;
        for entry in events.iter() {
            let (key, value) = entry.into_inner().map_err(|error| failed("events")(&error))?;
            let first = key.as_ref().try_into().map_or(0, u64::from_be_bytes);
            for (number, event) in (first..).zip(record::events(&value)?) {
                let page = self.page_of(&event);
                file.push(Row { number, event, page }, &self.engine)?;
            }
        }
        file.finish(&self.engine)
    }

    /// The page that an event is about.
    pub(crate) fn page_of(&mut self, event: &Event) -> Option<PageId> {
        match *event {
            Event::Added { page, .. } | Event::Altered { page, .. } | Event::Hinted { page, .. } => Some(page),
            Event::Removed { page, .. } => {
                self.removed.push(page);
                Some(page)
            }
            Event::Leased { page, lease, .. } => {
                self.leased.insert(lease, page);
                Some(page)
            }
            Event::Completed { lease, .. } | Event::Expired { lease, .. } => self.leased.remove(&lease),
            _ => None,
        }
    }
}
