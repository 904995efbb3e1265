//! Gigantic pages are read in bounded memory.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The length of the text in bytes, and the memory that may be resident.
const LENGTH: usize = 300_000_000;
const MOST: u64 = 50_000_000;

/// Writes a text of words that are all different, between two lines of their own.
fn write(path: &Path, before: &str, after: &str) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    file.write_all(before.as_bytes()).unwrap();
    let (mut written, mut word, mut number) = (0, [b' '; 9], 0_u64);
    while written < LENGTH {
        number += 1;
        let mut rest = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for letter in &mut word[..8] {
            *letter = b'a' + (rest >> 59) as u8 % 26;
            rest = rest.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(number);
        }
        file.write_all(&word).unwrap();
        written += word.len();
    }
    file.write_all(after.as_bytes()).unwrap();
    file.flush().unwrap();
}

/// What the program prints, and the most memory that was resident.
fn measured(arguments: &[&str]) -> (String, u64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everfresh"));
    let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kibibytes.unwrap_or(0) * 1024);
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    (format!("{said}{}", String::from_utf8(output.stdout).unwrap()), peak)
}

/// A text of 300 MB as a file, and as a line of JSON: of both the same sample is looked at.
#[test]
fn a_gigantic_page_needs_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, json) = (folder.path().join("archive"), folder.path().join("pages.jsonl"));
    std::fs::create_dir(&archive).unwrap();
    let mut printed = Vec::new();
    for (path, of, before, after) in [
        (archive.join("page@20240501.txt"), &archive, "", ""),
        (json.clone(), &json, "{\"text\": \"", "\", \"page\": \"page\", \"time\": \"2024-05-01\"}\n"),
    ] {
        write(&path, before, after);
        let (text, peak) = measured(&["longevity", of.to_str().unwrap(), "--now", "2024-05-02", "--json"]);
        println!("{} MB resident at most", peak / 1_000_000);
        assert!(peak > 0 && peak < MOST, "{peak} bytes were resident");
        assert!(text.contains("1 page with more than 2048 fragments") && text.contains("standard error"), "{text}");
        std::fs::remove_file(&path).unwrap();
        printed.push(text);
    }
    assert_eq!(printed[0], printed[1]);
}
