//! Files that appear whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file being written beside its place, hidden, and moved there when it is whole. Dropped before, nothing of it stays.
pub(crate) struct WholeFile {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    /// The temporary file, and what an existing one allowed.
    Beside(NamedTempFile, Option<Permissions>),
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
            return Ok(WholeFile { path, sink });
        }
        if existing.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut temporary = tempfile::Builder::new();
        temporary.prefix(".everfresh-");
        // A temporary file is private; the result is as readable as any other new file.
        #[cfg(unix)]
        temporary.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = temporary.tempfile_in(directory).map_err(without_path)?;
        let sink = Sink::Beside(file, existing.map(|existing| existing.permissions()));
        Ok(WholeFile { path, sink })
    }

    /// Stdout, which has no place to be moved to.
    pub(crate) fn stdout() -> WholeFile {
        WholeFile { path: PathBuf::from("-"), sink: Sink::Stdout(io::stdout()) }
    }

    /// Makes the file appear.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.sink {
            Sink::Beside(file, permissions) => {
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

    fn sink(&mut self) -> &mut dyn Write {
        match &mut self.sink {
            Sink::Beside(file, _) => file.as_file_mut(),
            Sink::Direct(file) => file,
            Sink::Stdout(stdout) => stdout,
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink().flush()
    }
}

/// The error without the path of the temporary file, which says nothing to people.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    text.split_once(" at path ").map_or(error, |(cause, _)| io::Error::other(cause))
}
