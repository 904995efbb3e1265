use super::address::Address;
use super::limits::Limits;
use super::visit::{Ask, Failure, Fetched, Gone, Hints, NotModified, Outcome, Reason, Validators, Visit};
use super::{Looking, Source};
use bytes::Bytes;
use jiff::Timestamp;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A file that was written so recently could be written again with the same date and length, so its date proves nothing.
const RACY: Duration = Duration::from_secs(2);

/// Folders inside folders that are followed.
const DEPTH: usize = 64;

/// Files and directories.
///
/// The content of a directory is its listing, with all folders below: a line for each file with its path, length and date
/// of change, sorted. Links are listed, not followed. Devices, pipes and sockets are never opened.
#[derive(Clone, Debug, Default)]
pub struct Files {
    limits: Limits,
}

impl Files {
    /// Within [`Limits::body_bytes`], [`Limits::entries`] and [`Limits::visit`]; the others have no meaning here.
    pub fn new(limits: Limits) -> Files {
        Files { limits }
    }

    async fn visit(&self, ask: &Ask) -> Visit {
        let Address::File(path) = &ask.address else {
            return Visit::failed(Reason::Unsupported, format!("`{}` is not a file", ask.address));
        };
        let (path, limits, remembered) = (path.clone(), self.limits.clone(), ask.remembered.clone());
        let address = ask.address.to_string();
        // A disk that hangs holds a thread, but not the visit.
        let looking = tokio::task::spawn_blocking(move || look(&path, address, &limits, remembered.as_ref()));
        match tokio::time::timeout(self.limits.visit, looking).await {
            Ok(Ok(outcome)) => Visit::of(outcome),
            Ok(Err(error)) => Visit::failed(Reason::Local, format!("cannot look: {error}")),
            Err(_) => Visit::failed(Reason::Timeout, "the visit took longer than its limit"),
        }
    }
}

impl Source for Files {
    fn look<'a>(&'a self, ask: &'a Ask) -> Looking<'a> {
        Box::pin(self.visit(ask))
    }
}

fn look(path: &Path, address: String, limits: &Limits, remembered: Option<&Validators>) -> Outcome {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Outcome::Gone(Gone { address, for_good: false, exchange: None }),
        Err(error) => return Outcome::Failed(failure(path, &error)),
    };
    let content = if metadata.is_dir() {
        listing(path, limits).map(|body| (body, Some("text/plain; charset=utf-8"), Hints::default()))
    } else if metadata.is_file() {
        let hints = hints(&metadata, &address);
        if hints.validators.is_some() && hints.validators.as_ref() == remembered {
            return Outcome::NotModified(NotModified { address, hints, exchange: None });
        }
        content(path, limits).map(|body| (body, None, hints))
    } else {
        Err(Failure::new(Reason::Refused, format!("`{}` is neither a file nor a directory", path.display())))
    };
    content.map_or_else(Outcome::Failed, |(body, content_type, hints)| {
        let content_type = content_type.map(str::to_owned);
        Outcome::Fetched(Fetched { address, content_type, body, hints, exchange: None })
    })
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    let refused = error.kind() == io::ErrorKind::PermissionDenied;
    let reason = if refused { Reason::Refused } else { Reason::Local };
    Failure::new(reason, format!("cannot read `{}`: {error}", path.display()))
}

fn content(path: &Path, limits: &Limits) -> Result<Bytes, Failure> {
    let most = limits.body_bytes as u64;
    let mut body = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut body));
    read.map_err(|error| failure(path, &error))?;
    if body.len() as u64 > most {
        return Err(Failure::new(Reason::TooLarge, format!("`{}` is longer than the limit", path.display())));
    }
    Ok(body.into())
}

/// What the file system says of a file. Its validator is all that changes when somebody writes.
fn hints(metadata: &Metadata, address: &str) -> Hints {
    let Ok(modified) = metadata.modified() else { return Hints::default() };
    // The file system dates by the clock, so it is the clock that is asked.
    let settled = SystemTime::now().duration_since(modified).is_ok_and(|elapsed| elapsed > RACY);
    let etag = tag(metadata, modified);
    let validators = Validators { address: address.to_owned(), etag: Some(etag), last_modified: None };
    Hints {
        validators: settled.then_some(validators),
        last_modified: Timestamp::try_from(modified).ok(),
        ..Hints::default()
    }
}

#[cfg(unix)]
fn tag(metadata: &Metadata, _: SystemTime) -> String {
    use std::os::unix::fs::MetadataExt;
    let (modified, changed) = ((metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec()));
    format!("{:x}-{:x}-{modified:?}-{changed:?}", metadata.ino(), metadata.len())
}

#[cfg(not(unix))]
fn tag(metadata: &Metadata, modified: SystemTime) -> String {
    format!("{:x}-{modified:?}", metadata.len())
}

fn listing(root: &Path, limits: &Limits) -> Result<Bytes, Failure> {
    let mut lines = Vec::new();
    let mut bytes = 0;
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| failure(&folder, &error))? {
            let path = entry.map_err(|error| failure(&folder, &error))?.path();
            let Some(metadata) = present(fs::symlink_metadata(&path)).map_err(|error| failure(&path, &error))? else {
                continue;
            };
            if metadata.is_dir() && depth < DEPTH {
                folders.push((path, depth + 1));
                continue;
            }
            let line = line(root, &path, &metadata);
            bytes += line.len();
            lines.push(line);
            if lines.len() > limits.entries || bytes > limits.body_bytes {
                return Err(Failure::new(Reason::TooLarge, format!("`{}` has too many entries", root.display())));
            }
        }
    }
    lines.sort_unstable();
    Ok(lines.concat().into())
}

/// What vanished while we looked is not there.
fn present(found: io::Result<Metadata>) -> io::Result<Option<Metadata>> {
    match found {
        Err(error) if is_absent(&error) => Ok(None),
        found => found.map(Some),
    }
}

/// `path`, tab, length, tab, date; a name with a line break in it keeps to one line.
fn line(root: &Path, path: &Path, metadata: &Metadata) -> String {
    let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().escape_debug().to_string();
    if metadata.is_symlink() {
        let to = fs::read_link(path).unwrap_or_default();
        return format!("{name}\t-> {}\n", to.to_string_lossy().escape_debug());
    }
    let modified = metadata.modified().ok().and_then(|modified| Timestamp::try_from(modified).ok());
    let modified = modified.map_or_else(|| "-".to_owned(), |modified| modified.to_string());
    format!("{name}\t{}\t{modified}\n", metadata.len())
}
