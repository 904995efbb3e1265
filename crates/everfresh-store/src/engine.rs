//! The engine's keyspaces, by name.

use crate::failed;
use everfresh_sched::{Error, Event, Result, State, record};
use fjall::compaction::Leveled;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::io::{Seek, SeekFrom, Write};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open database and what is always there of it.
#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) db: Database,
    /// Which state counts.
    pub(crate) meta: Keyspace,
    /// Pages to addresses.
    pub(crate) pages: Keyspace,
    pub(crate) hosts: Keyspace,
    pub(crate) groups: Keyspace,
    /// What a crawler remembers of a page.
    pub(crate) notes: Keyspace,
    /// Was the last group of its log torn, and left out?
    pub(crate) was_torn: bool,
}

/// The state of a generation was true when its events began; that of generation 0 is none.
const KEPT: &str = "kept";
/// The number of the first event after it.
const COUNTED: &str = "counted";
/// Blocks are read through a cache of this size.
const CACHE: u64 = 64 << 20;
/// Each keyspace holds so much in memory before it writes it out: a run that notes every visit should not grow for hours.
const MEMTABLE: u64 = 16 << 20;
/// Logs are given up once all keyspaces have written out what they say. Those of which little is written would keep them up to the engine's
/// 512 MB; now they are written out when one log is full. That is 64 MB, which the engine does not let anybody choose.
const LOGS: u64 = 64 << 20;
/// So many of them are written out before they are merged; from twenty on the engine would make writers wait. Keys are looked up one by
/// one, which filters in memory make cheap.
const RUNS: u8 = 12;

impl Engine {
    pub(crate) fn open(dir: &Path) -> Result<Engine> {
        let path = dir.join("engine");
        let shown = path.display().to_string();
        // An engine that finds its log damaged may panic.
        let open = || catch_unwind(|| Database::builder(&path).cache_size(CACHE).max_journaling_size(LOGS).open());
        let (mut opened, mut was_torn) = (open(), false);
        if let Ok(Err(fjall::Error::JournalRecovery(_))) = &opened
            && let Some(cut) = leave_out_last_group(&path).map_err(|error| failed(&shown)(&error))?
        {
            opened = open();
            was_torn = matches!(opened, Ok(Ok(_)));
            if !was_torn {
                cut.put_back().map_err(|error| failed(&shown)(&error))?;
            }
        }
        let db = opened.map_err(|_| damaged(&shown))?.map_err(|error| failed(&shown)(&error))?;
        let open = |name| keyspace(&db, name);
        Ok(Engine {
            meta: open("meta")?,
            pages: open("pages")?,
            hosts: open("hosts")?,
            groups: open("groups")?,
            notes: open("notes")?,
            was_torn,
            db,
        })
    }

    pub(crate) fn events(&self, generation: u64) -> Result<Keyspace> {
        keyspace(&self.db, &format!("events-{generation:016x}"))
    }

    pub(crate) fn state(&self, generation: u64) -> Result<Keyspace> {
        keyspace(&self.db, &format!("state-{generation:016x}"))
    }

    /// All generations of which there are events, in order.
    pub(crate) fn generations(&self) -> Vec<u64> {
        let mut found: Vec<u64> = self.numbered("events-").map(|(_, number)| number).collect();
        found.sort_unstable();
        found
    }

    fn numbered(&self, prefix: &str) -> impl Iterator<Item = (String, u64)> {
        let names = self.db.list_keyspace_names();
        names.into_iter().filter_map(move |name| {
            let number = u64::from_str_radix(name.strip_prefix(prefix)?, 16).ok()?;
            Some((name.to_string(), number))
        })
    }

    /// The generation whose state counts.
    ///
    /// What it replaced goes only after that word is on the disk: if the word still names what is gone, the log lost its end.
    pub(crate) fn kept(&self) -> Result<u64> {
        let kept = self.meta_number(KEPT)?;
        let is_there = match kept {
            0 => self.generations().first().is_none_or(|first| *first == 0),
            _ => self.numbered("state-").any(|(_, number)| number == kept),
        };
        if is_there { Ok(kept) } else { Err(damaged("the engine, which has lost the state that counts,")) }
    }

    fn meta_number(&self, key: &str) -> Result<u64> {
        let value = self.meta.get(key).map_err(|error| failed("meta")(&error))?;
        Ok(value.and_then(|bytes| bytes.as_ref().try_into().ok()).map_or(0, u64::from_be_bytes))
    }

    /// From now on the state of a generation counts, after so many events; what led to it is forgotten.
    pub(crate) fn count_from(&self, generation: u64, events: u64) -> Result<()> {
        let mut batch = self.db.batch().durability(Some(PersistMode::SyncAll));
        batch.insert(&self.meta, KEPT, generation.to_be_bytes());
        batch.insert(&self.meta, COUNTED, events.to_be_bytes());
        batch.commit().map_err(|error| failed("meta")(&error))?;
        self.forget_others(generation)
    }

    /// That state, if any.
    pub(crate) fn kept_state(&self) -> Result<Option<State>> {
        let kept = self.kept()?;
        if kept == 0 {
            return Ok(None);
        }
        let records = self.state(kept)?;
        let state = State::read(records.iter().map(|entry| entry.value().map_err(|error| failed("state")(&error))))?;
        state.map(Some).ok_or_else(|| damaged("the state that counts"))
    }

    /// How many events there were when it was kept.
    pub(crate) fn counted(&self) -> Result<u64> {
        self.meta_number(COUNTED)
    }

    /// Deletes events before a generation, and states of others: leftovers of what was interrupted included.
    ///
    /// A state goes before the events that follow it, and these go in order: what is left shows that something is missing.
    pub(crate) fn forget_others(&self, kept: u64) -> Result<()> {
        let states = self.numbered("state-").filter(|(_, number)| *number != kept);
        let mut events: Vec<_> = self.numbered("events-").filter(|(_, number)| *number < kept).collect();
        events.sort_unstable_by_key(|(_, number)| *number);
        for (name, _) in states.chain(events).collect::<Vec<_>>() {
            let old = keyspace(&self.db, &name)?;
            self.db.delete_keyspace(old).map_err(|error| failed(&name)(&error))?;
        }
        Ok(())
    }

    /// Reads all events from the state that counts on, each of which must follow the one before.
    pub(crate) fn replay(&self, take: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        let (kept, mut next) = (self.kept()?, self.counted()?);
        for generation in self.generations().into_iter().filter(|generation| *generation >= kept) {
            for entry in self.events(generation)?.iter() {
                let (key, value) = entry.into_inner().map_err(|error| failed("events")(&error))?;
                if key.as_ref() != next.to_be_bytes() {
                    return Err(damaged("the engine, which has lost events,"));
                }
                let events = record::events(&value)?;
                next += events.len() as u64;
                events.iter().try_for_each(&mut *take)?;
            }
        }
        Ok(())
    }
}

/// A group of the engine's log ends with these bytes.
const GROUP_END: &[u8] = b"FJL\x03";

/// What was cut off a log.
struct Cut {
    log: PathBuf,
    from: usize,
    bytes: Vec<u8>,
}

impl Cut {
    /// Nothing was gained: the log is to be as it was.
    fn put_back(&self) -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).open(&self.log)?;
        file.seek(SeekFrom::Start(self.from as u64))?;
        file.write_all(&self.bytes)?;
        file.sync_all()
    }
}

/// Cuts the last group off the engine's log; none where there is no group.
///
/// A disk writes sectors in any order. When the power fails while a group is written, its end may be on the disk and its middle not: the engine leaves
/// out a group without an end by itself, and refuses a log whose last group has an end and is not what its checksum says. Each group is synced before
/// the next begins, so that no other can be torn so; if another is damaged, the log is refused as before, with all that it has.
fn leave_out_last_group(engine: &Path) -> std::io::Result<Option<Cut>> {
    let entries = std::fs::read_dir(engine)?.collect::<std::io::Result<Vec<_>>>()?;
    let logs =
        entries.iter().map(std::fs::DirEntry::path).filter(|path| path.extension().is_some_and(|end| end == "jnl"));
    let Some(log) = logs.max() else { return Ok(None) };
    let mut bytes = std::fs::read(&log)?;
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if written == 0 {
        return Ok(None);
    }
    let before = bytes[..written - 1].windows(GROUP_END.len()).rposition(|some| some == GROUP_END);
    let from = before.map_or(0, |end| end + GROUP_END.len());
    let file = std::fs::OpenOptions::new().write(true).open(&log)?;
    file.set_len(from as u64)?;
    file.sync_all()?;
    Ok(Some(Cut { log, from, bytes: bytes.split_off(from) }))
}

pub(crate) fn damaged(shown: &str) -> Error {
    Error::Store(format!("{shown} is damaged; `everfresh rebuild` makes it anew from the visit log"))
}

fn keyspace(db: &Database, name: &str) -> Result<Keyspace> {
    let merging = Arc::new(Leveled::default().with_l0_threshold(RUNS));
    let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE).compaction_strategy(merging.clone());
    db.keyspace(name, options).map_err(|error| failed(name)(&error))
}
