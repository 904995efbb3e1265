//! Python programs that read what we write; the tests of copies use it too.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program and gives what it printed, or says what went wrong.
pub(crate) fn run(program: &Path, arguments: &[&str]) -> String {
    let found = Command::new(program).args(arguments).output();
    let found = found.unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    let errors = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.success(), "{} {arguments:?} failed:\n{errors}", program.display());
    String::from_utf8(found.stdout).unwrap()
}

/// A Python with packages of its own, made once under the build folder. `imports` is a program that needs all of them.
pub(crate) fn python_with(name: &str, packages: &[&str], imports: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let python = home.join("bin/python");
    let is_there = Command::new(&python).args(["-c", imports]).status().is_ok_and(|status| status.success());
    if !is_there {
        run(Path::new("python3"), &["-m", "venv", home.to_str().unwrap()]);
        run(&python, &[&["-m", "pip", "install", "--quiet"], packages].concat());
    }
    python
}
