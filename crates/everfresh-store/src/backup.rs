//! Backups of a store that another process may work with.

use crate::durable::next_event;
use crate::engine::Engine;
use crate::failed;
use crate::holder::Holder;
use crate::log;
use crate::look;
use everfresh_sched::{Error, Result};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How directories of backups in the making begin.
const PREFIX: &str = ".part-";
/// So many bytes are copied at a time.
const BLOCK: usize = 1 << 16;

/// A backup in the making: a store in a directory of its own, `INTO/NAME`, which appears whole and on the disk or not at all.
///
/// [`Backup::store`] takes the engine as it is at one moment, so that whatever was acknowledged before is in it, and the visit log up to
/// there; [`Backup::take`] takes what belongs to it and was on the disk before it was acknowledged. Files that never change are
/// linked from the backup before, if that has them; nothing is linked from the store itself, so that damage there stays there.
#[derive(Debug)]
pub struct Backup {
    dir: PathBuf,
    into: PathBuf,
    who: String,
    part: TempDir,
    before: Option<PathBuf>,
    done: BackedUp,
    _holder: Holder,
}

/// What is in a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackedUp {
    /// Where it is.
    pub path: PathBuf,
    /// Events that led to what it knows.
    pub events: u64,
    /// Bytes that were copied.
    pub copied: u64,
    /// Bytes that the backup before had already.
    pub shared: u64,
}

/// May a file grow or be replaced, or does it stay as it is?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is copied every time.
    Grows,
    /// It is copied once.
    Fixed,
}

impl Backup {
    /// Begins a backup of the store in `dir` beside those that there are in `into`.
    pub fn begin(dir: &Path, into: &Path, who: &str) -> Result<Backup> {
        if into.join("engine").exists() || into.join("visits").exists() {
            return Err(Error::Store(format!("{} is a store: backups need a directory of their own", into.display())));
        }
        let holder = Holder::of(into, who)?;
        clean(into);
        let (before, part) = (backups(into)?.pop(), tempfile::Builder::new().prefix(PREFIX).tempdir_in(into));
        let (dir, into, who) = (dir.to_owned(), into.to_owned(), who.to_owned());
        let part = part.map_err(|error| failed(&into.display().to_string())(&error))?;
        Ok(Backup { dir, into, who, part, before, done: BackedUp::default(), _holder: holder })
    }

    /// Takes the engine as it is at this moment, and the visit log of what led to it.
    pub fn store(&mut self) -> Result<()> {
        let (look, _holder) = look::copy(&self.dir, &self.who)?;
        for path in walk(&look.path().join("engine")).map_err(|error| failed("engine")(&error))? {
            let is_table = path.parent().is_some_and(|parent| parent.ends_with("tables"));
            let name = path.strip_prefix(look.path()).map_err(|error| failed("engine")(&error))?;
            self.copy(&path, name, if is_table { Kind::Fixed } else { Kind::Grows })?;
        }
        // It opens, and says what the visit log must have: what is later is in the engine.
        let engine = Engine::open(look.path())?;
        let kept = engine.kept()?;
        self.done.events = next_event(look.path(), &engine, kept)?;
        for path in log::files(&self.dir)? {
            if log::generation(&path).is_some_and(|generation| generation < kept)
                && let Some(name) = path.file_name()
            {
                self.copy(&path, &Path::new("visits").join(name), Kind::Fixed)?;
            }
        }
        Ok(())
    }

    /// Takes a file of the store's directory, by its name there; false if it is gone.
    pub fn take(&mut self, name: &Path, kind: Kind) -> Result<bool> {
        let from = self.dir.join(name);
        if !from.exists() {
            return Ok(false);
        }
        self.copy(&from, name, kind).map(|()| true)
    }

    fn copy(&mut self, from: &Path, name: &Path, kind: Kind) -> Result<()> {
        let (to, before) = (self.part.path().join(name), self.before.as_ref().map(|before| before.join(name)));
        let before = before.filter(|_| kind == Kind::Fixed);
        let bytes = copy(from, &to, before.as_deref()).map_err(|error| failed(&from.display().to_string())(&error))?;
        match bytes {
            Copied::Anew(bytes) => self.done.copied += bytes,
            Copied::Linked(bytes) => self.done.shared += bytes,
        }
        Ok(())
    }

    /// Lets the backup appear under a name, which must be new.
    pub fn finish(mut self, name: &str) -> Result<BackedUp> {
        let path = self.into.join(name);
        let shown = path.display().to_string();
        if path.exists() {
            return Err(Error::Store(format!("{shown} is there already")));
        }
        let on_disk = sync_folders(self.part.path())
            .and_then(|()| fs::rename(self.part.path(), &path))
            .and_then(|()| sync(&self.into));
        on_disk.map_err(|error| failed(&shown)(&error))?;
        self.done.path = path;
        Ok(self.done)
    }
}

/// The backups in a directory, the first name first.
pub fn backups(into: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(into).map_err(|error| failed(&into.display().to_string())(&error))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_backup(path)).collect();
    found.sort();
    Ok(found)
}

fn is_backup(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !is_hidden && path.join("engine").is_dir()
}

/// Removes what was left by processes that were killed; nobody else is at work here.
fn clean(into: &Path) {
    for entry in fs::read_dir(into).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // The next time, then.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

enum Copied {
    Anew(u64),
    Linked(u64),
}

/// Copies a file as long as it is now, onto the disk, with the time of its last change; or links what was copied before, if
/// length and time tell that it is the same.
fn copy(from: &Path, to: &Path, before: Option<&Path>) -> io::Result<Copied> {
    let source = File::open(from)?;
    let about = source.metadata()?;
    let (length, modified) = (about.len(), about.modified()?);
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    let is_same = |path: &&Path| {
        fs::metadata(path).is_ok_and(|about| about.len() == length && about.modified().is_ok_and(|at| at == modified))
    };
    if let Some(before) = before.filter(is_same)
        && fs::hard_link(before, to).is_ok()
    {
        return Ok(Copied::Linked(length));
    }
    let mut target = File::create(to)?;
    let copied = copy_bytes(&mut source.take(length), &mut target)?;
    target.set_modified(modified)?;
    target.sync_all()?;
    Ok(Copied::Anew(copied))
}

/// Copies bytes, but for blocks of zeros, which become holes: logs are made longer before they are written. Says how many were
/// written.
fn copy_bytes(source: &mut impl Read, target: &mut File) -> io::Result<u64> {
    let (mut block, mut length, mut written) = (vec![0; BLOCK], 0, 0);
    loop {
        let read = match source.read(&mut block) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        length += read as u64;
        if block[..read].iter().any(|byte| *byte != 0) {
            target.write_all(&block[..read])?;
            written += read as u64;
        } else {
            target.seek(SeekFrom::Start(length))?;
        }
    }
    target.set_len(length)?;
    Ok(written)
}

/// All files below a folder.
fn walk(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(walk(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

/// Brings the names in all folders below one onto the disk.
fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_folders(&path)?;
        }
    }
    sync(folder)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
