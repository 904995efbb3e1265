//! Small files that a run keeps beside the store: each is there as it was, or as it is now.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::output;

/// What was last kept under a name, if it can be read.
pub(crate) fn recall(data: &Path, name: &str) -> Option<String> {
    fs::read_to_string(data.join(name)).ok()
}

/// Keeps a text under a name; an error says what could not be kept.
pub(crate) fn remember(data: &Path, name: &str, text: &str, what: &str) -> Result<()> {
    let new = data.join(format!("{name}.new"));
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, data.join(name)));
    written.map_err(|error| output::machine(format!("cannot keep {what}"), error))
}
