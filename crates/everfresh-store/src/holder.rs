//! Who has a store open: a file that says so, for those who come second.

use everfresh_sched::{Error, Result};
use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

/// So often it is tried to take a directory.
const TRIES: u32 = 5;

/// The right to a directory, until dropped or killed.
#[derive(Debug)]
pub(crate) struct Holder(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

impl Holder {
    /// Takes the directory for `who`, or says who has it.
    pub(crate) fn of(dir: &Path, who: &str) -> Result<Holder> {
        fs::create_dir_all(dir).map_err(|error| Error::Store(format!("{}: {error}", dir.display())))?;
        let path = dir.join("holder");
        let failed = |error: std::io::Error| Error::Store(format!("{}: {error}", path.display()));
        let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(failed)?;
        for tries_left in (0..TRIES).rev() {
            match file.try_lock() {
                Ok(()) => break,
                // Somebody may only ask whether it is free.
                Err(TryLockError::WouldBlock) if tries_left > 0 => std::thread::sleep(Duration::from_millis(10)),
                Err(TryLockError::WouldBlock) => return Err(Error::Store(held(dir, file))),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        // What the file says is for people: a disk that is full must not keep anybody from opening a store.
        if file.set_len(0).is_ok() {
            let _ = writeln!(file, "process {}, {who}", std::process::id());
        }
        Ok(Holder(file))
    }
}

/// Has nobody the directory, as far as can be told?
pub(crate) fn is_free(dir: &Path) -> bool {
    File::open(dir.join("holder")).map_or(true, |file| file.try_lock().is_ok())
}

fn held(dir: &Path, file: File) -> String {
    let mut who = String::new();
    let read = file.take(1000).read_to_string(&mut who);
    let who = if read.is_ok() && !who.trim().is_empty() { who.trim() } else { "another process" };
    format!("{} is held by {who}; only one may have it open", dir.display())
}
