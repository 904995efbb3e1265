use crate::event::LeaseId;
use crate::terms::PageId;

/// What can be wrong with an operation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value is out of its bounds.
    #[error(transparent)]
    Value(#[from] everfresh::Error),
    /// The page was never added, or was removed.
    #[error("cannot find page {}: it must have been added", .0.0)]
    UnknownPage(PageId),
    /// The page is there already, and not retired.
    #[error("cannot add page {}: it must not be known yet", .0.0)]
    KnownPage(PageId),
    /// The lease was completed, has expired, or was never given.
    #[error("cannot complete lease {}: it must be live", .0.0)]
    DeadLease(LeaseId),
    /// A log that no scheduler wrote.
    #[error("cannot replay the log: {0}")]
    Log(&'static str),
    /// The store could not do its work. The operation did not happen and may be tried again.
    #[error("cannot reach the store: {0}")]
    Store(String),
}

/// The result of everything here that can go wrong.
pub type Result<T> = std::result::Result<T, Error>;
