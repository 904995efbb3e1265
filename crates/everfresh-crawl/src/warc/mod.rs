//! Copies in WARC files, and the index to the current ones.
//!
//! * [`Writer`] and [`Reader`]: records (WARC 1.1, ISO 28500:2017) in files that other tools read, and theirs;
//! * [`Index`]: from an address to its versions, in sorted files that are made anew from the records if they are lost;
//! * [`Archive`]: both together: keep a version, find it again, say what changed between two;
//! * [`parts`]: the files, for who copies them.

mod archive;
mod digest;
mod error;
mod http;
mod index;
mod member;
mod parts;
mod read;
mod record;
mod segment;
mod write;

pub use archive::{Archive, Kept};
pub use digest::payload_digest;
pub use error::{Error, Result};
pub use http::Http;
pub use index::{Index, Version};
pub use member::Prepared;
pub use parts::{Part, parts};
pub use read::{Located, Reader};
pub use record::{Kind, Record};
pub use write::{Exchange, Original, Place, Settings, Truncated, Writer, answer_head};
