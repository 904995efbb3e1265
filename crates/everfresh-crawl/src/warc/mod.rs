//! Copies in WARC files, and the index to the current ones.
