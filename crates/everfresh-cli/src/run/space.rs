//! Failures for want of space.

use std::io::ErrorKind;
use std::path::Path;

use everfresh_store::is_full;

/// Did something fail for want of space? The engine's errors are words; where these do not tell, the disk is asked.
pub(crate) fn is_of_space(error: &anyhow::Error, dir: &Path) -> bool {
    let full = std::io::Error::from(ErrorKind::StorageFull).to_string();
    let words = format!("{error:#}").to_lowercase();
    words.contains(&full) || words.contains("no space left") || is_full(dir)
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
