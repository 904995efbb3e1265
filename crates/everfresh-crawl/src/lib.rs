//! The sources: the only crate that talks to what is being copied.
//!
//! * [`fetch`]: going to look, within limits, and what came back;
//! * [`content`]: from bytes to what counts as a change;
//! * [`warc`]: the copies, in files that other tools read.

pub mod content;
pub mod fetch;
pub mod warc;
