//! Ctrl-C: the first ends the work between two batches, the second ends the program at once.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

/// The exit code that shells give to what SIGINT ended.
pub(crate) const EXIT_CODE: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// The user, or the system, asked the program to end.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; nothing was written")
    }
}

impl std::error::Error for Interrupted {}

/// Begins to listen for SIGINT, SIGTERM and SIGHUP.
pub(crate) fn watch() {
    let listening = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(EXIT_CODE));
        }
    });
    // Without a handler the signal ends the program as it always did; only a temporary file may stay.
    drop(listening);
}

/// Was the program asked to end?
pub(crate) fn is_wanted() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// An error once the program was asked to end.
pub(crate) fn check() -> Result<()> {
    if is_wanted() { Err(Interrupted.into()) } else { Ok(()) }
}
