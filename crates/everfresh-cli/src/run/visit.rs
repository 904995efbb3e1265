//! One visit: go and look, read what came, compare it with the copy.

use std::sync::Arc;

use bytes::Bytes;
use everfresh::{Period, Unit};
use everfresh_crawl::content::{Compared, Content, Hint, Known, Rules};
use everfresh_crawl::fetch::{Address, Ask, Exchange, Fetched, Hints, Manners, Outcome as Came, Source, Sources};
use everfresh_crawl::warc::{self, Prepared};
use everfresh_sched::{LeaseId, Outcome, PageId};

use super::clock::Clock;
use super::note::Note;

/// What is to be visited.
pub(crate) struct Task {
    pub lease: LeaseId,
    pub page: PageId,
    pub address: Address,
    pub note: Note,
    pub rules: Arc<Rules>,
    /// Copies are compressed at this level; none are kept without one.
    pub level: Option<u32>,
}

/// What a visit found.
pub(crate) struct Found {
    pub lease: LeaseId,
    pub page: PageId,
    pub address: String,
    /// When it came back.
    pub at_s: f64,
    pub outcome: Outcome,
    /// Did the source itself say that nothing changed?
    pub is_not_modified: bool,
    /// The outcome for people.
    pub said: String,
    pub manners: Vec<Manners>,
    /// The host that it led to at last.
    pub host: String,
    /// Could what came be compared with the copy? Not if that was read by other rules.
    pub is_compared: bool,
    /// What a feed or a sitemap says of other pages: of those that it may name, by their addresses seen from there.
    pub hints: Vec<(Address, Hint)>,
    /// When the source says that it changed last.
    pub last_modified_s: Option<f64>,
    /// How long it says that it stays as it is.
    pub fresh_for_s: Option<f64>,
    pub copy: Option<Copy>,
    /// Nothing, if what is remembered stays as it is.
    pub note: Option<Note>,
}

/// What is kept of a visit.
pub(crate) enum Copy {
    /// An answer of the web, and, if it is not what the copy is anyway, made ready to be kept.
    Answer { exchange: Box<Exchange>, body: Bytes, prepared: Option<Prepared> },
    /// The word of the web that nothing changed.
    Unchanged { exchange: Box<Exchange> },
    /// Bytes that came otherwise.
    Resource { content_type: String, bytes: Bytes },
}

/// Goes and looks.
pub(crate) async fn visit(sources: &Sources, task: Task, clock: Clock) -> Found {
    let mut ask = Ask::new(task.address.clone(), clock.date());
    // Whoever was gone and is back is seen whole.
    ask.remembered = task.note.validators.clone().filter(|_| !task.note.was_gone);
    ask.was_gone = task.note.was_gone;
    let came = sources.look(&ask).await;
    let last = came.redirects.last().map(|redirect| Address::Http(redirect.to.clone()).host());
    let mut found =
        Found { said: came.outcome.to_string(), manners: came.manners, ..Found::nothing(&task, clock.now_s()) };
    found.host = last.unwrap_or(found.host);
    match came.outcome {
        Came::Fetched(fetched) => found.read(fetched, &task),
        Came::NotModified(same) => {
            found.outcome = Outcome::Unchanged;
            found.is_not_modified = true;
            found.take_hints(&same.hints);
            // Of what must not be kept no word is kept either.
            let exchange = same.exchange.filter(|_| task.note.forbids_archiving != Some(true));
            found.note = Some(Note { validators: same.hints.validators, ..task.note });
            found.copy = exchange.map(|exchange| Copy::Unchanged { exchange: Box::new(exchange) });
        }
        Came::Gone(_) => {
            found.outcome = Outcome::Gone;
            let absent_since = if task.note.was_gone { task.note.absent_since } else { Some(found.second()) };
            found.note = Some(Note { was_gone: true, absent_since, ..task.note });
        }
        Came::Failed(failure) => found.outcome = Outcome::Failed { retryable: failure.reason.retryable() },
    }
    found
}

impl Found {
    /// A visit of which nothing is known but that it ended at this time.
    pub(crate) fn nothing(task: &Task, at_s: f64) -> Found {
        Found {
            lease: task.lease,
            page: task.page,
            address: task.address.to_string(),
            at_s,
            outcome: Outcome::Failed { retryable: true },
            is_not_modified: false,
            said: "failed: the visit broke off".to_owned(),
            host: task.address.host(),
            manners: Vec::new(),
            is_compared: true,
            hints: Vec::new(),
            last_modified_s: None,
            fresh_for_s: None,
            copy: None,
            note: None,
        }
    }

    /// The second in which it came back, as notes have it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
    fn second(&self) -> u64 {
        self.at_s as u64
    }

    fn take_hints(&mut self, hints: &Hints) {
        self.last_modified_s = hints.last_modified.map(|date| date.as_millisecond() as f64 / 1e3);
        self.fresh_for_s = hints.fresh_for.map(|time| time.as_secs_f64());
    }

    /// Reads what came and compares it with the copy.
    fn read(&mut self, fetched: Fetched, task: &Task) {
        self.take_hints(&fetched.hints);
        let (known, forbids_archiving) = self.understand(&fetched, task);
        let compared = task.note.known.as_ref().map(|before| before.compare_known(&known));
        self.outcome = match compared {
            Some(Compared::Unchanged) if task.note.was_gone => self.changed(0.0),
            // By other rules than the copy was read: nothing can be said, and what was learnt stays.
            Some(Compared::Unchanged | Compared::OtherReading) => Outcome::Unchanged,
            Some(Compared::Changed { divergence }) => self.changed(divergence),
            None => self.changed(1.0),
        };
        self.is_compared = compared != Some(Compared::OtherReading);
        self.said = match (compared, self.outcome) {
            (Some(Compared::OtherReading), _) => "read by other rules than its copy, and not compared".to_owned(),
            (None, _) if forbids_archiving => format!("read {} bytes, not to be kept", fetched.body.len()),
            (None, _) => format!("copied {} bytes", fetched.body.len()),
            (_, Outcome::Changed { divergence, .. }) => format!("changed by {:.0} %", 100.0 * divergence),
            _ => "unchanged".to_owned(),
        };
        let is_other = task.note.known.as_ref().is_none_or(|before| before.bytes_digest() != known.bytes_digest());
        let validators = fetched.hints.validators;
        let was_forbidden = task.note.forbids_archiving == Some(true) && !task.note.was_gone;
        let since = if was_forbidden { task.note.absent_since } else { Some(self.second()) };
        self.note = Some(Note {
            validators,
            known: Some(known),
            was_gone: false,
            forbids_archiving: Some(forbids_archiving),
            absent_since: since.filter(|_| forbids_archiving),
            rules: task.rules.written().clone(),
            named_by: task.note.named_by,
        });
        let level = task.level.filter(|_| is_other);
        self.copy = (!forbids_archiving).then(|| {
            let (content_type, bytes) = (fetched.content_type, fetched.body);
            if let Some(exchange) = fetched.exchange {
                let prepared = level.and_then(|level| prepared(&self.address, &exchange, &bytes, level));
                return Copy::Answer { exchange: Box::new(exchange), body: bytes, prepared };
            }
            Copy::Resource {
                content_type: content_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
                bytes,
            }
        });
    }

    /// What is to be known of what came, and whether it must not be kept. The bytes of the copy need not be read again, unless by other
    /// rules, or for what they say of other pages.
    fn understand(&mut self, fetched: &Fetched, task: &Task) -> (Known, bool) {
        let is_same = |known: &&Known| known.is_of(&fetched.body, &task.rules) && !known.kind().names_pages();
        if let (Some(known), Some(false)) = (task.note.known.as_ref().filter(is_same), task.note.forbids_archiving) {
            return (known.clone(), fetched.hints.no_archive);
        }
        let content = Content::read(&fetched.body, fetched.content_type.as_deref(), &task.rules);
        if let Ok(here) = Address::configured(&fetched.address) {
            let seen = |hint: &Hint| Some((here.link(&hint.address).ok()?, hint.clone()));
            self.hints = content.hints().iter().filter_map(seen).collect();
        }
        (Known::of(&content), fetched.hints.no_archive || content.forbids_archiving())
    }

    fn changed(&self, divergence: f64) -> Outcome {
        let ago = self.last_modified_s.map(|then| self.at_s - then).filter(|ago| *ago >= 0.0);
        let last_change = ago.and_then(|ago| Period::of(ago, Unit::Second).ok());
        Outcome::Changed { divergence, last_change }
    }
}

/// Compresses an answer here, beside other visits: the one thread that keeps copies has enough to do. What cannot be made ready is
/// refused with its reason when it is kept.
fn prepared(address: &str, exchange: &Exchange, body: &[u8], level: u32) -> Option<Prepared> {
    let (request, head) = (exchange.request_head(), exchange.response_head(body.len()));
    Prepared::of(&record(address, exchange, &request, &head, body), level).ok()
}

/// An exchange as an archive keeps it: by the address that answered, to be looked up by the one that the page has here.
pub(crate) fn record<'a>(
    page: &'a str,
    exchange: &'a Exchange,
    request: &'a [u8],
    head: &'a [u8],
    body: &'a [u8],
) -> warc::Exchange<'a> {
    let (target, page, date, address) = (exchange.url.as_str(), Some(page), exchange.date, exchange.ip);
    warc::Exchange { target, page, date, address, request: Some(request), head, body, truncated: None }
}
