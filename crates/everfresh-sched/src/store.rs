use crate::error::Result;
use crate::event::Event;
use crate::state::State;

/// Where events are kept.
///
/// What [`Store::append`] has acknowledged is there after any crash, all of it or none, in the order in which it came.
/// [`checks::conforms`](crate::checks::conforms) tests that, as far as it shows without crashes.
pub trait Store {
    /// Appends events, all or none.
    fn append(&mut self, events: &[Event]) -> Result<()>;

    /// Takes events that are written before the next that are appended, and with them; until then a crash may lose them. An empty
    /// append is enough.
    fn stage(&mut self, events: &[Event]) -> Result<()> {
        self.append(events)
    }

    /// Keeps a state, which stands for all events so far; these may be forgotten, or moved elsewhere.
    fn keep(&mut self, snapshot: &State) -> Result<()>;

    /// The last state that was kept, if any.
    fn snapshot(&mut self) -> Result<Option<State>>;

    /// Hands over every event since that state, in order, until one is refused.
    fn replay(&mut self, take: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()>;
}

/// A store that lasts as long as it is held.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    snapshot: Option<Box<State>>,
    events: Vec<Event>,
}

impl Memory {
    /// An empty one.
    pub const fn new() -> Memory {
        Memory { snapshot: None, events: Vec::new() }
    }

    /// The events since the last snapshot.
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

impl Store for Memory {
    fn append(&mut self, events: &[Event]) -> Result<()> {
        self.events.extend_from_slice(events);
        Ok(())
    }

    fn keep(&mut self, snapshot: &State) -> Result<()> {
        self.snapshot = Some(Box::new(snapshot.clone()));
        self.events.clear();
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Option<State>> {
        Ok(self.snapshot.as_deref().cloned())
    }

    fn replay(&mut self, take: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
        self.events.iter().try_for_each(take)
    }
}
