use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong with the copies.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Somebody else writes there.
    #[error("cannot write to {}: another process holds it", path.display())]
    Held {
        /// The file that is held.
        path: PathBuf,
    },
    /// Bytes that are no record, or only a part of one.
    #[error("cannot read the record at byte {offset} of {}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the record begins, or should.
        offset: u64,
        /// What is wrong.
        why: String,
    },
    /// A value that would make a record unreadable.
    #[error("cannot write a record: {what} must be {bound}, got `{value}`")]
    Refused {
        /// What the value stands for.
        what: &'static str,
        /// The bound, in words that follow "must be".
        bound: &'static str,
        /// The value.
        value: String,
    },
    /// A revisit whose original is not among the copies.
    #[error("cannot find what {address} was on {date}: its copy must have been kept")]
    Lost {
        /// The address of the original.
        address: String,
        /// Its date.
        date: String,
    },
}

impl Error {
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { what, path, source }
    }
}

/// The result of everything here that can go wrong.
pub type Result<T> = std::result::Result<T, Error>;
