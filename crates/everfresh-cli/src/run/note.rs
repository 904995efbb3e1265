//! What a run remembers of a page between visits: how to ask whether it changed, and how to tell.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use everfresh_crawl::content::{Known, Rules};
use everfresh_crawl::fetch::Validators;
use everfresh_crawl::warc::Archive;
use everfresh_sched::{PageId, Scheduler};
use everfresh_store::{Durable, page_id};
use serde::{Deserialize, Serialize};

use crate::desk::{self, failure};

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
    /// Since when it is gone or not to be kept, in seconds since 1970.
    pub absent_since: Option<u64>,
    /// The rules by which the copy was read: selectors of parts to keep, and of parts to ignore.
    pub rules: [Vec<String>; 2],
    /// The feed or sitemap that named the page, if it was taken in for that: its rules are the page's.
    pub named_by: Option<u64>,
}

/// The first byte of a note.
const VERSION: u8 = 3;
/// What such notes do not say, as it is read: nothing of archiving; nothing of what follows it.
const EARLIER: [(u8, &[u8]); 2] = [(1, &[0; 5]), (2, &[0; 4])];

#[derive(Serialize, Deserialize)]
struct Stored {
    validators: Option<(String, Option<String>, Option<String>)>,
    known: Option<Vec<u8>>,
    was_gone: bool,
    forbids_archiving: Option<bool>,
    absent_since: Option<u64>,
    rules: [Vec<String>; 2],
    named_by: Option<u64>,
}

/// Which parts of pages count: what a configuration says, or else the rules by which their copies were read.
#[derive(Debug, Default)]
pub(crate) struct AllRules {
    /// Pages of which the configuration says it.
    pub named: HashMap<PageId, Arc<Rules>>,
    /// Is there a configuration? Where it says nothing of a page, the usual parts count.
    pub is_configured: bool,
    usual: Arc<Rules>,
}

impl AllRules {
    /// The rules of a page.
    pub(crate) fn of(&self, page: PageId, note: &Note) -> Arc<Rules> {
        let by_feed = || note.named_by.and_then(|feed| self.named.get(&PageId(feed)));
        match self.named.get(&page).or_else(by_feed) {
            Some(rules) => Arc::clone(rules),
            None if self.is_configured => Arc::clone(&self.usual),
            None => note.rules().map_or_else(|| Arc::clone(&self.usual), Arc::new),
        }
    }
}

impl Note {
    /// The rules by which the copy was read, if they were not the usual ones.
    pub(crate) fn rules(&self) -> Option<Rules> {
        let [keep, ignore] = self.rules.each_ref().map(|texts| texts.iter().map(String::as_str).collect::<Vec<_>>());
        // They were rules once; a version that no longer knows a selector reads as usual.
        Rules::new(&keep, &ignore).ok().filter(|rules| *rules != Rules::default())
    }

    /// What is remembered of the page with an address, also while a run has the store open.
    pub(crate) fn look(data: &Path, address: &str) -> Result<Note> {
        if !Durable::exists(data) {
            return Ok(Note::default());
        }
        let mut store = Durable::look(data, &desk::who()).map_err(failure)?;
        let mut page = page_id(address);
        // Two addresses may share a number: the second has the next.
        while let Some(named) = store.address(page).map_err(failure)? {
            if named == address {
                let noted = store.noted(page).map_err(failure)?;
                return Ok(noted.map_or_else(Note::default, |note| Note::decode(&note)));
            }
            page.0 = page.0.wrapping_add(1);
        }
        Ok(Note::default())
    }

    /// What is remembered of a page, and its rules. After the state was rebuilt from the visit log, and where the rules are others than
    /// before, that is what the copy says.
    pub(crate) fn of(
        scheduler: &mut Scheduler<Durable>,
        archive: Option<&Archive>,
        page: PageId,
        address: &str,
        all: &AllRules,
    ) -> Result<(Note, Arc<Rules>)> {
        let noted = scheduler.store_mut().noted(page).map_err(failure)?;
        let mut note = noted.map_or_else(Note::default, |note| Note::decode(&note));
        let rules = all.of(page, &note);
        let is_comparable = note.known.as_ref().is_some_and(|known| known.is_read_by(&rules));
        if let (false, Some(_), Some(archive)) = (is_comparable, scheduler.state().seen_s(page), archive) {
            // A copy that cannot be read is none, and one that is older than what is known says nothing of it.
            let copy = archive.current(address).ok().flatten().and_then(|copy| archive.content(&copy, &rules).ok());
            let is_last =
                |copy: &Known| note.known.as_ref().is_none_or(|known| known.bytes_digest() == copy.bytes_digest());
            if let Some(known) = copy.map(|content| Known::of(&content)).filter(is_last) {
                note.known = Some(known);
                note.rules.clone_from(rules.written());
            }
        }
        Ok((note, rules))
    }

    /// As bytes, to be stored.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let validators = self.validators.clone().map(|one| (one.address, one.etag, one.last_modified));
        let Note { was_gone, forbids_archiving, absent_since, named_by, .. } = *self;
        let (known, rules) = (self.known.as_ref().map(Known::encode), self.rules.clone());
        let stored = Stored { validators, known, was_gone, forbids_archiving, absent_since, rules, named_by };
        // Nothing in it can fail to be written; an empty note is read as one of which nothing is known.
        postcard::to_extend(&stored, vec![VERSION]).unwrap_or_default()
    }

    /// What was stored; a note that cannot be read is forgotten, and the next visit is unconditional.
    pub(crate) fn decode(bytes: &[u8]) -> Note {
        let Some((version, rest)) = bytes.split_first() else { return Note::default() };
        let stored = match EARLIER.iter().find(|(earlier, _)| earlier == version) {
            // Zeros are nothing.
            Some((_, unsaid)) => postcard::from_bytes::<Stored>(&[rest, unsaid].concat()),
            None if *version == VERSION => postcard::from_bytes::<Stored>(rest),
            None => return Note::default(),
        };
        let Ok(stored) = stored else { return Note::default() };
        let known = stored.known.and_then(|bytes| Known::decode(&bytes).ok());
        let validators =
            stored.validators.map(|(address, etag, last_modified)| Validators { address, etag, last_modified });
        // Without the copy, "not modified" would say nothing.
        let validators = validators.filter(|_| known.is_some());
        let Stored { was_gone, forbids_archiving, absent_since, rules, named_by, .. } = stored;
        Note { validators, known, was_gone, forbids_archiving, absent_since, rules, named_by }
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
        let note = Note {
            validators: Some(validators),
            known: Some(known),
            was_gone: true,
            forbids_archiving: Some(true),
            ..Note::default()
        };
        let bytes = note.encode();
        assert_eq!(Note::decode(&bytes), note);
        assert!(bytes.len() < 500, "{}", bytes.len());
        // The fields that came later are at the end: one byte each, and archiving has two.
        let earlier = |version: u8, less: usize| Note::decode(&[&[version], &bytes[1..bytes.len() - less]].concat());
        assert_eq!(earlier(2, 4), note);
        assert_eq!(earlier(1, 6), Note { forbids_archiving: None, ..note.clone() });
        for length in 0..bytes.len() {
            assert!(Note::decode(&bytes[..length]).validators.is_none(), "{length}");
        }
        let rules = [vec!["#prices".to_owned()], vec![".clock".to_owned(), "td > i".to_owned()]];
        let note = Note { rules, named_by: Some(7), absent_since: Some(1_700_000_000), ..note };
        assert_eq!(Note::decode(&note.encode()), note);
    }

    #[test]
    fn a_page_has_its_own_rules_or_those_of_its_feed_or_those_it_was_read_by() {
        let rules = |selector: &str| Rules::new(&[selector], &[]).unwrap();
        let noted = Note { rules: rules("#noted").written().clone(), named_by: Some(1), ..Note::default() };
        let mut all = AllRules::default();
        assert_eq!(*all.of(PageId(2), &noted), rules("#noted"));
        assert_eq!(*all.of(PageId(2), &Note::default()), Rules::default());
        // A configuration that no longer says anything of a page means the usual.
        all.is_configured = true;
        assert_eq!(*all.of(PageId(2), &noted), Rules::default());
        all.named.insert(PageId(1), Arc::new(rules("#feed")));
        assert_eq!(*all.of(PageId(2), &noted), rules("#feed"));
        assert_eq!(*all.of(PageId(3), &Note::default()), Rules::default());
        all.named.insert(PageId(2), Arc::new(rules("#own")));
        assert_eq!(*all.of(PageId(2), &noted), rules("#own"));
    }
}
