//! What stored bytes look like: events and states, as versioned records in postcard's format, which is fixed.
//!
//! Stores check that bytes are those that were written; here only what they mean is checked. Variants and fields are added at the
//! end and never taken out within a version; `tests/records/v1.hex` holds records of version 1, which must stay readable.

use crate::error::{Error, Result};
use crate::event::Event;
use crate::page::Page;
use crate::state::State;

/// The first byte of every record.
const VERSION: u8 = 1;
/// So many pages are in a record: 3.5 kB.
const BLOCK: usize = 64;

/// The record of events that happened together.
pub fn of_events(events: &[Event]) -> Result<Vec<u8>> {
    postcard::to_extend(events, vec![VERSION]).map_err(|error| Error::Store(error.to_string()))
}

/// The events of a record.
pub fn events(record: &[u8]) -> Result<Vec<Event>> {
    parse(record)
}

fn parse<'a, T: serde::Deserialize<'a>>(record: &'a [u8]) -> Result<T> {
    parse_first(record).map(|(first, _)| first)
}

/// What is known of all. States without groups' leases were written once: none of them had limits. So were states that had learnt
/// nothing of divergences, and such as did not know how many visits hints bring about.
fn head_of(record: &[u8]) -> Result<State> {
    let (mut state, mut rest): (State, _) = parse_first(record)?;
    if !rest.is_empty() {
        (state.gates, rest) = postcard::take_from_bytes(rest).map_err(|error| unreadable(&error))?;
    }
    if !rest.is_empty() {
        let divergences;
        (divergences, rest) = postcard::take_from_bytes(rest).map_err(|error| unreadable(&error))?;
        state.policy.restore_divergences(state.pages.panels.values_mut(), divergences);
    }
    if !rest.is_empty() {
        state.hinted_share = postcard::from_bytes(rest).map_err(|error| unreadable(&error))?;
    }
    Ok(state)
}

fn unreadable(error: &postcard::Error) -> Error {
    Error::Store(format!("cannot read a record: {error}"))
}

/// The first value of a record, and the bytes after it.
fn parse_first<'a, T: serde::Deserialize<'a>>(record: &'a [u8]) -> Result<(T, &'a [u8])> {
    match record {
        [VERSION, rest @ ..] => postcard::take_from_bytes(rest).map_err(|error| unreadable(&error)),
        [version, ..] => Err(Error::Store(format!("records must be of version {VERSION}, got {version}"))),
        [] => Err(Error::Store("a record must not be empty".to_owned())),
    }
}

impl State {
    /// Hands over the records of this state, in order: what is known of all, then the pages in blocks.
    pub fn write(&self, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let failed = |error: postcard::Error| Error::Store(error.to_string());
        let mut record = postcard::to_extend(self, vec![VERSION]).map_err(failed)?;
        record = postcard::to_extend(&self.gates, record).map_err(failed)?;
        record = postcard::to_extend(&self.policy.divergences(self.pages.panels.values()), record).map_err(failed)?;
        record = postcard::to_extend(&self.hinted_share, record).map_err(failed)?;
        put(&record)?;
        for block in self.pages.blocks(BLOCK) {
            record.truncate(1);
            record = postcard::to_extend(&block, record).map_err(failed)?;
            put(&record)?;
        }
        Ok(())
    }

    /// A state from its records, in order; none where there are none.
    pub fn read<R: AsRef<[u8]>>(records: impl IntoIterator<Item = Result<R>>) -> Result<Option<State>> {
        let mut records = records.into_iter();
        let Some(head) = records.next() else { return Ok(None) };
        let mut state = head_of(head?.as_ref())?;
        for record in records {
            let (ids, pages): (Vec<u64>, Vec<Page>) = parse(record?.as_ref())?;
            state.pages.append(&ids, &pages);
        }
        state.derive();
        Ok(Some(state))
    }

    /// Makes what is not written down.
    fn derive(&mut self) {
        self.gates.0.values_mut().for_each(|gate| gate.live = 0);
        for live in self.leases.values() {
            self.gates.of(self.pages.get(live.slot).group).live += 1;
        }
        self.expiries = self.leases.iter().map(|(lease, live)| (live.until_s.to_bits(), *lease)).collect();
        self.enqueue_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_records_are_refused() {
        for record in [&[][..], &[0], &[VERSION], &[VERSION + 1, 0], &[VERSION, 1, 200]] {
            assert!(matches!(events(record), Err(Error::Store(_))), "{record:?}");
        }
        assert_eq!(events(&of_events(&[]).unwrap()), Ok(Vec::new()));
    }
}
