//! Ctrl-C: ends the program at once, unless a file is being written; then the work ends between two batches, so that nothing of the
//! file stays, and only a second one ends the program at once.

use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use crate::output;

/// The exit code that shells give to what SIGINT ended.
pub(crate) const EXIT_CODE: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Files of which something would stay behind if the program ended now.
static UNFINISHED: Mutex<usize> = Mutex::new(0);

fn unfinished() -> MutexGuard<'static, usize> {
    // Whoever counts does nothing that could fail half-way.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While there is one, the first interrupt does not end the program.
pub(crate) struct Unfinished(());

impl Unfinished {
    pub(crate) fn begin() -> Unfinished {
        *unfinished() += 1;
        Unfinished(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        *unfinished() -= 1;
    }
}

/// The user, or the system, asked the program to end.
#[derive(Debug)]
pub(crate) struct Interrupted(pub &'static str);

/// What is true of most commands.
const NOTHING: &str = "nothing was written";

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted; {}", self.0)
    }
}

impl std::error::Error for Interrupted {}

/// Begins to listen for SIGINT, SIGTERM and SIGHUP.
pub(crate) fn watch() {
    let listening = ctrlc::set_handler(|| {
        let is_second = ASKED.swap(true, Ordering::Relaxed);
        // Held to the end: no file begins any more.
        let unfinished = unfinished();
        if !is_second && *unfinished == 0 {
            // A line of progress may stand there.
            let clear = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
            output::say(&format!("{clear}{}", output::error_line(&Interrupted(NOTHING).into())));
        }
        if is_second || *unfinished == 0 {
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
    if is_wanted() { Err(Interrupted(NOTHING).into()) } else { Ok(()) }
}
