//! Hosts that say they have too much to do, without a date: each time they are left alone for twice as long.
//!
//! The rests themselves are in the store, as every rest is; how long the last one was is kept beside it, so that the next run does not
//! begin with short ones.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::beside;

const FILE: &str = "slowed.json";
/// The first rest, and the longest.
const FIRST_S: f64 = 60.0;
const LONGEST_S: f64 = 86_400.0;

/// How long hosts last rested, by name.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Slowed {
    rests_s: BTreeMap<String, f64>,
    is_news: bool,
}

impl Slowed {
    /// What the last run kept. What cannot be read, or is no such time, is forgotten.
    pub(crate) fn recall(data: &Path) -> Slowed {
        let text = beside::recall(data, FILE).unwrap_or_default();
        let mut rests_s: BTreeMap<String, f64> = serde_json::from_str(&text).unwrap_or_default();
        rests_s.retain(|_, rest_s| (FIRST_S..=LONGEST_S).contains(rest_s));
        Slowed { rests_s, is_news: false }
    }

    /// Keeps what is different since the last time, if anything.
    pub(crate) fn remember(&mut self, data: &Path) -> Result<()> {
        if self.is_news {
            beside::remember(data, FILE, &serde_json::to_string(&self.rests_s)?, "which hosts are slowed down")?;
            self.is_news = false;
        }
        Ok(())
    }

    /// How long a host rests that says so now.
    pub(crate) fn rest_s(&mut self, host: &str) -> f64 {
        self.is_news = true;
        let rest_s = self.rests_s.get(host).map_or(FIRST_S, |before| (2.0 * before).min(LONGEST_S));
        self.rests_s.insert(host.to_owned(), rest_s);
        rest_s
    }

    /// A host has answered as one would wish.
    pub(crate) fn forget(&mut self, host: &str) {
        self.is_news |= self.rests_s.remove(host).is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_from_run_to_run_until_the_host_answers() {
        let dir = tempfile::tempdir().unwrap();
        let mut slowed = Slowed::recall(dir.path());
        assert_eq!([slowed.rest_s("a"), slowed.rest_s("a"), slowed.rest_s("b")], [60.0, 120.0, 60.0]);
        slowed.remember(dir.path()).unwrap();
        let mut next = Slowed::recall(dir.path());
        assert_eq!(next, slowed);
        assert_eq!(next.rest_s("a"), 240.0);
        next.forget("a");
        next.remember(dir.path()).unwrap();
        let mut last = Slowed::recall(dir.path());
        assert_eq!([last.rest_s("a"), last.rest_s("b")], [60.0, 120.0]);
        assert!((0..20).map(|_| last.rest_s("a")).all(|rest_s| rest_s <= LONGEST_S));
    }

    #[test]
    fn what_cannot_be_read_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["{", "[]", r#"{"a": 0.0}"#, r#"{"a": 1e300}"#, r#"{"a": -60}"#] {
            std::fs::write(dir.path().join(FILE), text).unwrap();
            assert_eq!(Slowed::recall(dir.path()), Slowed::default(), "{text}");
        }
    }
}
