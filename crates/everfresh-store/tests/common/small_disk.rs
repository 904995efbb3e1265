//! A small disk for tests that fill it; those of the program use it too.

use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Where the small disk is, for a test that was started on one.
pub(crate) const SMALL_DISK: &str = "EVERFRESH_TEST_DIR";

/// Runs a test of this program again in a mount namespace of its own, with a disk of so many MB under [`SMALL_DISK`].
pub(crate) fn on_a_small_disk(megabytes: u32, test: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size={megabytes}m tmpfs \"${SMALL_DISK}\"");
    let script = format!("{mount} && exec \"$0\" \"$1\" --exact --nocapture");
    let exe = std::env::current_exe().unwrap();
    let run = |flags: &str| {
        let mut command = Command::new("unshare");
        command.arg(flags).args(["sh", "-c", &script]).arg(&exe).arg(test).env(SMALL_DISK, dir.path());
        command.output().expect("unshare must be there (util-linux)")
    };
    // Root may mount at once; others within a user namespace.
    let as_root = run("-m");
    let output = if as_root.status.success() { as_root } else { run("-rm") };
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Writes until there is no space.
pub(crate) fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).unwrap();
    let block = vec![0u8; 1 << 16];
    while file.write_all(&block).is_ok() {}
    while file.write_all(&block[..512]).is_ok() {}
}
