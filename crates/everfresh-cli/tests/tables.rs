//! Tables that come through pipes, and what an interrupt leaves.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::Value;

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_everfresh"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn pages(bytes: &[u8]) -> usize {
    let mut child = start(&["plan", "-", "--budget", "1/day", "--json"]);
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["pages"].as_array().unwrap().len()
}

fn table() -> RecordBatch {
    let page: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let rate: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    RecordBatch::try_from_iter([("page", page), ("rate", rate)]).unwrap()
}

#[test]
fn stdin_is_a_table_of_any_format() {
    let text = b"page\trate\na\t1\nb\t2\n";
    assert_eq!(pages(text), 2);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(text).unwrap();
    assert_eq!(pages(&packer.finish().unwrap()), 2);
    assert_eq!(pages(&zstd::bulk::compress(text, 1).unwrap()), 2);
    let mut writer = ArrowWriter::try_new(Vec::new(), table().schema(), None).unwrap();
    writer.write(&table()).unwrap();
    assert_eq!(pages(&writer.into_inner().unwrap()), 2);
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &table().schema()).unwrap();
    writer.write(&table()).unwrap();
    assert_eq!(pages(&writer.into_inner().unwrap()), 2);
}

#[test]
fn income_reads_parquet_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), table().schema(), None).unwrap();
    writer.write(&table()).unwrap();
    writer.close().unwrap();
    let path = path.to_str().unwrap();
    let output = start(&["income", path, "--benefit", "3/day", "--json"]).wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["pages"][1]["page"], "b");
    assert_eq!(report["pages"][1]["rate_per_day"], 2.0);
    let output = start(&["income", path]).wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("say what right copies earn"), "{said}");
}

#[test]
fn an_interrupt_leaves_nothing() {
    for signal in ["-INT", "-TERM"] {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("plan.csv");
        let mut child = start(&["plan", "-", "--budget", "1/day", "--out", out.to_str().unwrap()]);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"page,rate\na,1\n").unwrap();
        // The program is there once it listens; before, the signal would end it without a word.
        std::thread::sleep(Duration::from_millis(300));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        // It ends at once, although it waits for more.
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "error: interrupted; nothing was written\n");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        drop(stdin);
    }
}

/// While a file is written, the first interrupt waits for the end of a batch, and takes the file away.
#[test]
fn an_interrupt_takes_an_unfinished_file_away() {
    let directory = tempfile::tempdir().unwrap();
    let (pages, out) = (directory.path().join("pages.csv"), directory.path().join("out"));
    std::fs::create_dir(&out).unwrap();
    let rows: Vec<String> = (0..400_000).map(|n| format!("p{n},{}\n", 1 + n % 9)).collect();
    std::fs::write(&pages, format!("page,rate\n{}", rows.concat())).unwrap();
    let table = out.join("plan.csv");
    let child = start(&["plan", pages.to_str().unwrap(), "--budget", "9/day", "--out", table.to_str().unwrap()]);
    let is_begun = || std::fs::read_dir(&out).unwrap().count() > 0;
    while !is_begun() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    // It may have been done before the signal came.
    let is_done = output.status.success();
    assert!(is_done || output.status.code() == Some(130), "{output:?}");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), usize::from(is_done));
}
