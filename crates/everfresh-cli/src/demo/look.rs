//! A visit: the same fetcher and the same change detection for every crawler of the demo.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use everfresh::{Period, Unit};
use everfresh_crawl::content::{Compared, Content, Digest, Known, Rules};
use everfresh_crawl::fetch::{
    Address, Agent, Ask, Fetched, Hints, Limits, Manners, Outcome, Reach, Settings, Source, Sources, Validators, Visit,
};
use jiff::Timestamp;

/// A page as crawlers are told of it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub address: Address,
    /// The number of its host.
    pub host: u32,
}

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Saw {
    /// Another text than the copy's, or the first.
    Text {
        digest: Digest,
        divergence: f64,
        last_change: Option<Period>,
    },
    /// The copy's text; the server said so itself (304), or it was read and compared.
    Same {
        not_modified: bool,
    },
    Gone,
    Failed {
        retryable: bool,
    },
}

/// A visit, as it is told to whoever keeps the score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The place of the page in the list.
    pub page: usize,
    /// When the visit was over.
    pub at_s: f64,
    pub saw: Saw,
}

/// What a crawler holds of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    validators: Option<Validators>,
    known: Option<Known>,
    is_gone: bool,
}

impl Held {
    pub(crate) fn has_copy(&self) -> bool {
        self.known.is_some()
    }
}

/// The numbers of hosts by their names, as manners name them.
pub(crate) fn hosts(pages: &[Listed]) -> HashMap<String, u32> {
    pages.iter().map(|page| (page.address.host(), page.host)).collect()
}

/// A fetcher that reaches this machine and nothing else of what is not public. It needs a clock only for its limits.
pub(crate) fn sources() -> Result<Sources> {
    let agent = Agent::new("everfresh", env!("CARGO_PKG_VERSION"), "demo@localhost")?;
    let limits = Limits { visit: Duration::from_secs(10), first_byte: Duration::from_secs(10), ..Limits::default() };
    let reach = Reach::public().and("127.0.0.0/8".parse()?);
    Ok(Sources::new(Settings { limits, reach, idle_per_host: 16, ..Settings::new(agent) })?)
}

/// Visits a page, and takes in what is new.
pub(crate) async fn look(sources: &Sources, page: &Listed, date: Timestamp, held: &mut Held) -> (Saw, Vec<Manners>) {
    let mut ask = Ask::new(page.address.clone(), date);
    ask.remembered = held.validators.clone().filter(|_| held.has_copy() && !held.is_gone);
    ask.was_gone = held.is_gone;
    let Visit { outcome, manners, .. } = sources.look(&ask).await;
    (judged(outcome, date, held), manners)
}

fn judged(outcome: Outcome, date: Timestamp, held: &mut Held) -> Saw {
    match outcome {
        Outcome::Fetched(fetched) => compared(&fetched, date, held),
        Outcome::NotModified(found) => {
            held.validators = found.hints.validators;
            Saw::Same { not_modified: true }
        }
        Outcome::Gone(_) => {
            held.is_gone = true;
            Saw::Gone
        }
        Outcome::Failed(failure) => Saw::Failed { retryable: failure.reason.retryable() },
    }
}

fn compared(fetched: &Fetched, date: Timestamp, held: &mut Held) -> Saw {
    held.validators.clone_from(&fetched.hints.validators);
    let was_gone = std::mem::replace(&mut held.is_gone, false);
    let content = Content::read(&fetched.body, fetched.content_type.as_deref(), &Rules::default());
    let compared = held.known.as_ref().map(|known| known.compare(&content));
    let divergence = match compared {
        Some(Compared::Unchanged) if !was_gone => return Saw::Same { not_modified: false },
        Some(Compared::Unchanged) => 0.0,
        Some(Compared::Changed { divergence }) => divergence,
        Some(Compared::OtherReading) | None => 1.0,
    };
    held.known = Some(Known::of(&content));
    Saw::Text { digest: content.text_digest(), divergence, last_change: since_change(&fetched.hints, date) }
}

/// How long ago the source says that it changed.
fn since_change(hints: &Hints, date: Timestamp) -> Option<Period> {
    let seconds = date.duration_since(hints.last_modified?).as_secs_f64();
    Period::of(seconds, Unit::Second).ok()
}
