//! Files that appear whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, bail};
use tempfile::NamedTempFile;

use crate::interrupt::Unfinished;
use crate::table;

/// A file being written beside its place, hidden, and moved there when it is whole. Dropped before, nothing of it stays.
pub(crate) struct WholeFile {
    path: PathBuf,
    sink: Sink,
    room: Room,
    ahead: Option<Ahead>,
    /// Bytes since the disk was last asked to begin.
    unasked: usize,
}

/// After so many bytes the disk is asked to begin: else it does nothing until the end of the file, and is waited for there.
const ASK_AFTER: usize = 64 << 20;

/// A thread that waits for the disk while the rest of a file is made. What it fails with counts: the system tells a failure once.
struct Ahead {
    ask: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Ahead {
    fn begin(file: &File) -> io::Result<Ahead> {
        let file = file.try_clone()?;
        let (ask, asked) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().spawn(move || asked.iter().try_for_each(|()| file.sync_data()))?;
        Ok(Ahead { ask, thread })
    }

    /// Asks, unless that was done and the disk has not come to it yet.
    fn ask(&self) {
        let _ = self.ask.try_send(());
    }

    fn end(self) -> io::Result<()> {
        drop(self.ask);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that waits for the disk ended")))
    }
}

enum Sink {
    /// The temporary file, which goes away before the note that it is there; and what an existing one allowed.
    Beside(NamedTempFile, Option<Permissions>, Unfinished),
    /// A device or a pipe, written to as it is.
    Direct(File),
    Stdout(io::Stdout),
}

impl WholeFile {
    /// Begins a file.
    pub(crate) fn create(path: &Path) -> io::Result<WholeFile> {
        // A link is followed, and what is no file (a device, a pipe) is written to as it is.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let existing = path.metadata().ok();
        if existing.as_ref().is_some_and(|existing| !existing.is_file() && !existing.is_dir()) {
            let sink = Sink::Direct(File::options().write(true).open(&path)?);
            return Ok(WholeFile { path, sink, room: Room::endless(), ahead: None, unasked: 0 });
        }
        if existing.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut temporary = tempfile::Builder::new();
        temporary.prefix(PREFIX).suffix(SUFFIX);
        // A temporary file is private; the result is as readable as any other new file.
        #[cfg(unix)]
        temporary.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let unfinished = Unfinished::begin();
        remove_left(directory);
        let file = temporary.tempfile_in(directory).map_err(without_path)?;
        // By the lock others know that somebody writes it. Where files have none, none is removed.
        let _ = file.as_file().try_lock();
        let sink = Sink::Beside(file, existing.map(|existing| existing.permissions()), unfinished);
        Ok(WholeFile { path, sink, room: Room::of_a_file(), ahead: None, unasked: 0 })
    }

    /// Stdout, which has no place to be moved to.
    pub(crate) fn stdout() -> WholeFile {
        let sink = Sink::Stdout(io::stdout());
        WholeFile { path: PathBuf::from("-"), sink, room: Room::endless(), ahead: None, unasked: 0 }
    }

    /// Makes the file appear.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.ahead.map_or(Ok(()), Ahead::end)?;
        match self.sink {
            Sink::Beside(file, permissions, _unfinished) => {
                file.as_file().sync_all()?;
                if let Some(permissions) = permissions {
                    file.as_file().set_permissions(permissions)?;
                }
                file.persist(&self.path)?;
                Ok(())
            }
            Sink::Direct(mut file) => file.flush(),
            Sink::Stdout(mut stdout) => stdout.flush(),
        }
    }

    /// Has what was written so far put on the disk, in a thread of its own.
    fn ask_disk(&mut self) -> io::Result<()> {
        if let (Sink::Beside(file, ..), None) = (&self.sink, &self.ahead) {
            self.ahead = Some(Ahead::begin(file.as_file())?);
        }
        if let Some(ahead) = &self.ahead {
            ahead.ask();
        }
        Ok(())
    }

    fn sink(&mut self) -> &mut dyn Write {
        match &mut self.sink {
            Sink::Beside(file, ..) => file.as_file_mut(),
            Sink::Direct(file) => file,
            Sink::Stdout(stdout) => stdout,
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room.take(bytes.len())?;
        let written = self.sink().write(bytes)?;
        self.room.give_back(bytes.len() - written);
        self.unasked += written;
        if self.unasked >= ASK_AFTER {
            self.unasked = 0;
            self.ask_disk()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink().flush()
    }
}

/// How the names of temporary files begin.
const PREFIX: &str = ".everfresh-";
const SUFFIX: &str = ".part";

/// A file that was begun so recently may not have its lock yet.
const RECENT: Duration = Duration::from_mins(1);

/// Removes what runs left in a directory that were killed: a lock ends with its process, however that ends.
fn remove_left(directory: &Path) {
    let Ok(entries) = directory.read_dir() else { return };
    let is_ours = |entry: &std::fs::DirEntry| entry.file_name().to_str().is_some_and(is_temporary);
    for path in entries.flatten().filter(is_ours).map(|entry| entry.path()) {
        if is_left(&path).unwrap_or(false) {
            // If it cannot be removed it stays, as it would have without this.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Is it a name that we give to temporary files, and hardly anybody else to anything?
fn is_temporary(name: &str) -> bool {
    let own = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    own.is_some_and(|own| own.len() == 6 && own.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Is it a file that nobody writes any more? One from the future may be new.
fn is_left(path: &Path) -> io::Result<bool> {
    let about = path.symlink_metadata()?;
    let is_old = about.modified()?.elapsed().is_ok_and(|age| age >= RECENT);
    Ok(about.is_file() && is_old && File::options().write(true).open(path)?.try_lock().is_ok())
}

/// How much a new file may still grow where the system sets a bound (`ulimit -f`). To write beyond it is answered by a signal that ends
/// the program without a word and leaves a temporary file behind, so it is not tried.
pub(crate) struct Room(u64);

impl Room {
    /// No bound.
    pub(crate) const fn endless() -> Room {
        Room(u64::MAX)
    }

    /// That of a file that is empty.
    #[cfg(unix)]
    pub(crate) fn of_a_file() -> Room {
        Room(rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX))
    }

    #[cfg(not(unix))]
    pub(crate) const fn of_a_file() -> Room {
        Room::endless()
    }

    /// Takes room for so many bytes, or fails as the system would.
    pub(crate) fn take(&mut self, bytes: usize) -> io::Result<()> {
        let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "File too large: see `ulimit -f`");
        self.0 = self.0.checked_sub(bytes as u64).ok_or_else(too_large)?;
        Ok(())
    }

    fn give_back(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes as u64);
    }
}

/// Can a file be there? Better asked before the work than found out after it.
pub(crate) fn check_place(path: &Path) -> Result<()> {
    match path.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            bail!("cannot write `{}`: there is no such directory", path.display())
        }
        _ if path.is_dir() => bail!("cannot write `{}`: it is a directory", path.display()),
        _ => Ok(()),
    }
}

/// Is none of the inputs, or of the files in them, what is to be written?
pub(crate) fn check_not_read(path: &Path, inputs: &[PathBuf]) -> Result<()> {
    let Ok(place) = path.canonicalize() else { return check_not_beside(path, inputs) };
    let is_read = |input: &PathBuf| {
        input.canonicalize().is_ok_and(|input| place == input || (input.is_dir() && place.starts_with(input)))
    };
    // A device or a pipe is not replaced.
    if place.is_file() && inputs.iter().any(is_read) {
        bail!("cannot write `{}`: it is what is read, and would be replaced", path.display());
    }
    Ok(())
}

/// Is a new file none that would be read with the others of an input's directory the next time?
fn check_not_beside(path: &Path, inputs: &[PathBuf]) -> Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let Ok(folder) = folder.canonicalize() else { return Ok(()) };
    let is_within =
        |input: &&PathBuf| input.is_dir() && input.canonicalize().is_ok_and(|input| folder.starts_with(input));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match inputs.iter().find(is_within).filter(|_| table::is_table(&name)) {
        Some(input) => bail!(
            "cannot write `{}`: it would be one of the tables in `{}`, all of which are read",
            path.display(),
            input.display()
        ),
        None => Ok(()),
    }
}

/// The error without the path of the temporary file, which says nothing to people.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    text.split_once(" at path ").map_or(error, |(cause, _)| io::Error::other(cause))
}
