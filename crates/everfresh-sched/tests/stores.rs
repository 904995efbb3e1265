//! Every store passes the suite, and those that lose something do not.

use everfresh_sched::{Error, Event, Memory, Result, State, Store, checks};

#[test]
fn memory_conforms() {
    assert_eq!(checks::conforms(Memory::new(), Ok), Ok(()));
}

/// What is wrong with a store.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// Some appends are acknowledged and lost.
    Loses,
    /// Snapshots are acknowledged and lost, and the events before them forgotten.
    Forgets,
    /// Events before a snapshot are replayed on top of it.
    Repeats,
    /// The last event of a batch is missing after opening again.
    Tears,
}

struct Faulty {
    fault: Fault,
    memory: Memory,
    /// All events ever.
    past: Memory,
    appends: u32,
}

impl Store for Faulty {
    fn append(&mut self, events: &[Event]) -> Result<()> {
        self.appends += 1;
        let kept = match self.fault {
            Fault::Loses if self.appends.is_multiple_of(50) => &[],
            Fault::Tears if events.len() > 1 => &events[1..],
            _ => events,
        };
        self.past.append(kept)?;
        self.memory.append(kept)
    }

    fn keep(&mut self, snapshot: &State) -> Result<()> {
        self.memory.keep(snapshot)
    }

    fn snapshot(&mut self) -> Result<Option<State>> {
        if self.fault == Fault::Forgets { Ok(None) } else { self.memory.snapshot() }
    }

    fn replay(&mut self, take: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        if self.fault == Fault::Repeats { self.past.replay(take) } else { self.memory.replay(take) }
    }
}

#[test]
fn faulty_stores_do_not_conform() {
    for fault in [Fault::Loses, Fault::Forgets, Fault::Repeats, Fault::Tears] {
        let store = Faulty { fault, memory: Memory::new(), past: Memory::new(), appends: 0 };
        let found = checks::conforms(store, Ok);
        let named = matches!(found, Err(Error::Store(_) | Error::Log(_) | Error::KnownPage(_) | Error::DeadLease(_)));
        assert!(named, "{found:?}");
    }
}
