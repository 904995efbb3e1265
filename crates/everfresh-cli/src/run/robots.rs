//! What hosts said in robots.txt, kept beside the store: a run that comes now and then must not ask for it each time.

use std::path::Path;

use anyhow::Result;
use everfresh_crawl::fetch::Sources;
use jiff::Timestamp;

use super::beside;

const FILE: &str = "robots.jsonl";

/// Takes in what the last run kept. What cannot be read is asked for.
pub(crate) fn recall(sources: &Sources, data: &Path) {
    if let Some(lines) = beside::recall(data, FILE) {
        sources.web().recall_robots(&lines, Timestamp::now());
    }
}

/// Keeps what was read since the last time, if anything.
pub(crate) fn remember(sources: &Sources, data: &Path) -> Result<()> {
    let Some(lines) = sources.web().robots_to_remember() else { return Ok(()) };
    beside::remember(data, FILE, &lines, "what robots.txt says")
}
