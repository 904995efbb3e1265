//! From bytes to what counts as a change.
