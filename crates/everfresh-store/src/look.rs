//! A look at a store that another process holds: a copy of the engine's files, as they are at one moment.
//!
//! Tables are never changed once they are written, so that they are linked; logs only grow, so that what was read of them is what a crash
//! at that moment would have left. If no table and no log came or went while all of them were taken, they belong together.

use crate::holder::Holder;
use everfresh_sched::{Error, Result};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How directories of such copies begin.
const PREFIX: &str = ".look-";

/// The engine may write tables out just then: it is tried for so long.
const PATIENCE: Duration = Duration::from_secs(30);
/// With pauses of this length.
const PAUSE: Duration = Duration::from_millis(50);

/// The files of the engine in `dir`, in a directory of their own that goes when it is dropped; held for `who`, so that nobody takes it for
/// a leftover.
pub(crate) fn copy(dir: &Path, who: &str) -> Result<(TempDir, Holder)> {
    let failed = |error: io::Error| Error::Store(format!("cannot look at {}: {error}", dir.display()));
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        // Beside the store, where files can be linked; elsewhere if nothing may be written there.
        let beside = tempfile::Builder::new().prefix(PREFIX).tempdir_in(dir);
        let look = beside.or_else(|_| tempfile::tempdir()).map_err(failed)?;
        let (holder, engine) = (Holder::of(look.path(), who)?, dir.join("engine"));
        let before = moment(&engine).map_err(failed)?;
        let taken = take(&engine, &look.path().join("engine"));
        let is_whole = taken.is_ok() && moment(&engine).map_err(failed)? == before;
        match taken {
            Ok(()) if is_whole => return Ok((look, holder)),
            // A table that was merged away.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => std::thread::sleep(PAUSE),
        }
    }
    Err(Error::Store(format!("cannot look at {}: it changes all the time", dir.display())))
}

/// Removes copies that processes left which were killed.
pub(crate) fn clean(dir: &Path) {
    let leftovers = fs::read_dir(dir).into_iter().flatten().flatten();
    for look in leftovers.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        if crate::holder::is_free(&look.path()) {
            // The next time, then.
            let _ = fs::remove_dir_all(look.path());
        }
    }
}

/// Which logs there are, and which tables count in each keyspace.
fn moment(engine: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(engine)? {
        found.push((entry?.file_name().to_string_lossy().into_owned(), Vec::new()));
    }
    for entry in fs::read_dir(engine.join("keyspaces"))? {
        let path = entry?.path();
        // One that is just being made has none yet.
        let current = fs::read(path.join("current")).unwrap_or_default();
        found.push((path.to_string_lossy().into_owned(), current));
    }
    found.sort();
    Ok(found)
}

/// Takes logs before tables: what moves from one to the other meanwhile is then there twice, not never.
fn take(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut folders = Vec::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            folders.push((path, target));
        } else if !(from.ends_with("tables") && fs::hard_link(&path, &target).is_ok()) {
            fs::copy(&path, &target)?;
        }
    }
    folders.iter().try_for_each(|(path, target)| take(path, target))
}
