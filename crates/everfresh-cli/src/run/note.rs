//! What a run remembers of a page between visits: how to ask whether it changed, and how to tell.

use anyhow::Result;
use everfresh_crawl::content::{Known, Rules};
use everfresh_crawl::fetch::Validators;
use everfresh_crawl::warc::Archive;
use everfresh_sched::{PageId, Scheduler};
use everfresh_store::Durable;
use serde::{Deserialize, Serialize};

use crate::desk::failure;

/// What is kept beside the schedule of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Note {
    /// What makes the next request conditional.
    pub validators: Option<Validators>,
    /// What the copy says, to compare.
    pub known: Option<Known>,
    /// Was nothing there the last time?
    pub was_gone: bool,
    /// Does the source ask that no copy be kept? Nothing where that was not noted.
    pub forbids_archiving: Option<bool>,
}

/// The first byte of a note.
const VERSION: u8 = 2;
/// Before, nothing was said of archiving.
const FIRST_VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct Stored {
    validators: Option<(String, Option<String>, Option<String>)>,
    known: Option<Vec<u8>>,
    was_gone: bool,
    forbids_archiving: Option<bool>,
}

impl Note {
    /// What is remembered of a page. After the state was rebuilt from the visit log that is what the copy says.
    pub(crate) fn of(
        scheduler: &mut Scheduler<Durable>,
        archive: Option<&Archive>,
        page: PageId,
        address: &str,
        rules: &Rules,
    ) -> Result<Note> {
        let noted = scheduler.store_mut().noted(page).map_err(failure)?;
        let mut note = noted.map_or_else(Note::default, |note| Note::decode(&note));
        if let (None, Some(_), Some(archive)) = (&note.known, scheduler.state().seen_s(page), archive) {
            // A copy that cannot be read is none.
            let copy = archive.current(address).ok().flatten().and_then(|copy| archive.content(&copy, rules).ok());
            note.known = copy.map(|content| Known::of(&content));
        }
        Ok(note)
    }

    /// As bytes, to be stored.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let validators = self.validators.clone().map(|one| (one.address, one.etag, one.last_modified));
        let Note { was_gone, forbids_archiving, .. } = *self;
        let stored = Stored { validators, known: self.known.as_ref().map(Known::encode), was_gone, forbids_archiving };
        // Nothing in it can fail to be written; an empty note is read as one of which nothing is known.
        postcard::to_extend(&stored, vec![VERSION]).unwrap_or_default()
    }

    /// What was stored; a note that cannot be read is forgotten, and the next visit is unconditional.
    pub(crate) fn decode(bytes: &[u8]) -> Note {
        let stored = match bytes {
            [VERSION, rest @ ..] => postcard::from_bytes::<Stored>(rest),
            // A zero is nothing.
            [FIRST_VERSION, rest @ ..] => postcard::from_bytes::<Stored>(&[rest, &[0]].concat()),
            _ => return Note::default(),
        };
        let Ok(stored) = stored else { return Note::default() };
        let known = stored.known.and_then(|bytes| Known::decode(&bytes).ok());
        let validators =
            stored.validators.map(|(address, etag, last_modified)| Validators { address, etag, last_modified });
        // Without the copy, "not modified" would say nothing.
        let validators = validators.filter(|_| known.is_some());
        Note { validators, known, was_gone: stored.was_gone, forbids_archiving: stored.forbids_archiving }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everfresh_crawl::content::Content;

    #[test]
    fn notes_come_back_and_damaged_ones_are_forgotten() {
        let known = Known::of(&Content::read(b"<p>some text", Some("text/html"), &Rules::default()));
        let validators =
            Validators { address: "https://a.example/".into(), etag: Some("\"1\"".into()), last_modified: None };
        let note =
            Note { validators: Some(validators), known: Some(known), was_gone: true, forbids_archiving: Some(true) };
        let bytes = note.encode();
        assert_eq!(Note::decode(&bytes), note);
        assert!(bytes.len() < 500, "{}", bytes.len());
        let mut first = bytes.clone();
        first[0] = FIRST_VERSION;
        first.truncate(bytes.len() - 2);
        assert_eq!(Note::decode(&first), Note { forbids_archiving: None, ..note });
        for length in 0..bytes.len() {
            assert!(Note::decode(&bytes[..length]).validators.is_none(), "{length}");
        }
    }
}
