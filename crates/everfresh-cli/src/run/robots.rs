//! What hosts said in robots.txt, kept beside the store: a run that comes now and then must not ask for it each time.

use std::fs;
use std::path::Path;

use anyhow::Result;
use everfresh_crawl::fetch::Sources;
use jiff::Timestamp;

use crate::output;

const FILE: &str = "robots.jsonl";

/// Takes in what the last run kept. What cannot be read is asked for.
pub(crate) fn recall(sources: &Sources, data: &Path) {
    if let Ok(lines) = fs::read_to_string(data.join(FILE)) {
        sources.web().recall_robots(&lines, Timestamp::now());
    }
}

/// Keeps what was read since the last time, if anything.
pub(crate) fn remember(sources: &Sources, data: &Path) -> Result<()> {
    let Some(lines) = sources.web().robots_to_remember() else { return Ok(()) };
    // Whoever is cut off here has the file as it was, or the new one.
    let new = data.join(format!("{FILE}.new"));
    let written = fs::write(&new, lines).and_then(|()| fs::rename(&new, data.join(FILE)));
    written.map_err(|error| output::machine("cannot keep what robots.txt says", error))
}
