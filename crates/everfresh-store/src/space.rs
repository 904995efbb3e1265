//! A disk that is full: whether it is, told by trying.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// So much is written to see whether there is space: what the engine and the copies want for a group of visits.
const PROBE_BYTES: usize = 16 << 20;
const PROBE: &str = ".space";

/// Is there no space for more in a directory? Whatever else is wrong with it is not.
pub fn is_full(dir: &Path) -> bool {
    let path = dir.join(PROBE);
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&vec![0x5a; PROBE_BYTES])?;
        file.sync_all()
    });
    // If it cannot be removed it is written over the next time.
    let _ = std::fs::remove_file(&path);
    written.is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}
