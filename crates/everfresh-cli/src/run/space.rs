//! A disk that is full: whether it is, told by trying.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// So much is written to see whether there is space: what the engine and the copies want for a group of visits.
const PROBE_BYTES: usize = 16 << 20;
const PROBE: &str = ".space";

/// Did something fail for want of space? The engine's errors are words; where these do not tell, the disk is asked.
pub(crate) fn is_of_space(error: &anyhow::Error, dir: &Path) -> bool {
    let full = std::io::Error::from(ErrorKind::StorageFull).to_string();
    let words = format!("{error:#}").to_lowercase();
    words.contains(&full) || words.contains("no space left") || is_full(dir)
}

/// Is there no space for more in a directory? Whatever else is wrong with it is not.
pub(crate) fn is_full(dir: &Path) -> bool {
    let path = dir.join(PROBE);
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&vec![0x5a; PROBE_BYTES])?;
        file.sync_all()
    });
    // If it cannot be removed it is written over the next time.
    let _ = std::fs::remove_file(&path);
    written.is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_space_or_none_at_all_is_not_full() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_full(dir.path()) && !is_full(&dir.path().join("missing")));
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
        let of = |text: &str| is_of_space(&anyhow::anyhow!("cannot use the store: {text}"), dir.path());
        assert!(of("events: No space left on device (os error 28)") && !of("Permission denied (os error 13)"));
    }
}
