//! `everfresh backup`: a copy of a store, whole, while a run may have it open.

use std::path::Path;

use anyhow::{Result, bail};
use everfresh_crawl::warc;
use everfresh_store::{BackedUp, Backup, Durable, Kind, backups};

use super::args::{BackupArgs, StoreArgs};
use super::{failure, who};
use crate::interrupt::{self, Unfinished};
use crate::output;
use crate::run::clock::Clock;

/// The index of copies may be merged while it is copied: it is begun again so often.
const TRIES: u32 = 10;

/// `everfresh backup`
pub(crate) fn run(args: &BackupArgs) -> Result<()> {
    if !Durable::exists(&args.store.data) {
        bail!("cannot find a store in `{}`", args.store.data.display());
    }
    let _unfinished = Unfinished::begin();
    let mut backup = Backup::begin(&args.store.data, &args.into, &who()).map_err(failure)?;
    backup.store().map_err(failure)?;
    // After it: copies are on the disk before their visits are acknowledged.
    let folder = args.store.data.join("copies");
    if folder.is_dir() {
        take_copies(&mut backup, &folder)?;
    }
    let done = backup.finish(&name(&args.store)).map_err(failure)?;
    let removed = args.keep.map_or(Ok(0), |keep| forget(&args.into, keep.into(), &done.path))?;
    if args.json {
        return output::print_json(&serde_json::json!({
            "path": done.path, "events": done.events, "copied_bytes": done.copied, "shared_bytes": done.shared,
            "removed": removed,
        }));
    }
    output::say(&told(&done, removed));
    Ok(())
}

fn told(done: &BackedUp, removed: usize) -> String {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let removed = if removed == 0 { String::new() } else { format!(", and removed {removed} before it") };
    format!(
        "backed up {} to `{}`: {} copied, {} as in the one before{removed}",
        output::count(done.events as f64, "event"),
        done.path.display(),
        megabytes(done.copied),
        megabytes(done.shared),
    )
}

fn take_copies(backup: &mut Backup, folder: &Path) -> Result<()> {
    for _ in 0..TRIES {
        let parts = warc::parts(folder).map_err(|error| output::machine("cannot back up the copies", error))?;
        let mut is_whole = true;
        for part in parts {
            interrupt::check()?;
            let kind = if part.grows { Kind::Grows } else { Kind::Fixed };
            is_whole &= backup.take(&Path::new("copies").join(part.name), kind).map_err(failure)?;
        }
        if is_whole {
            return Ok(());
        }
    }
    Err(output::machine("cannot back up the copies", "their index changes all the time"))
}

/// Names in the order of time, which every file system takes.
fn name(args: &StoreArgs) -> String {
    let millis = args.now.map_or_else(|| Clock::Real.date().as_millisecond(), |second| 1000 * i64::from(second));
    let date = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    date.strftime("%Y-%m-%dT%H-%M-%S.%3fZ").to_string()
}

/// Removes all but the last so many backups; the one that was just made stays in any case.
fn forget(into: &Path, keep: usize, made: &Path) -> Result<usize> {
    let all = backups(into).map_err(failure)?;
    let old = &all[..all.len().saturating_sub(keep)];
    for path in old.iter().filter(|path| *path != made) {
        std::fs::remove_dir_all(path).map_err(|error| output::machine("cannot remove an old backup", error))?;
    }
    Ok(old.iter().filter(|path| *path != made).count())
}
