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

/// What a killed run left is removed by the next one beside it; what somebody writes, or has just begun, is not.
#[test]
fn what_a_killed_run_left_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let hour = Duration::from_hours(1);
    let begun = |name: &str, age: Duration| {
        let file = File::create(path(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - age).unwrap();
        file
    };
    drop([
        begun(".everfresh-aB3xY9.part", hour),
        begun(".everfresh-of-others.part", hour),
        begun(".everfresh-notes", hour),
    ]);
    drop(begun(".everfresh-aB3xY8.part", Duration::ZERO));
    let written = begun(".everfresh-aB3xY7.part", hour);
    written.try_lock().unwrap();
    std::fs::write(path("pages.csv"), "page,rate\na,1\n").unwrap();
    let (pages, out) = (path("pages.csv").display().to_string(), path("plan.csv").display().to_string());
    said(&["plan", &pages, "--budget", "1/day", "--out", &out], 0);
    let mut names: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let stay = [".everfresh-aB3xY7.part", ".everfresh-aB3xY8.part", ".everfresh-notes", ".everfresh-of-others.part"];
    assert_eq!(names, [&stay[..], &["pages.csv", "plan.csv"]].concat());
}

fn said(arguments: &[&str], code: i32) -> String {
    let output = start(arguments).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    if code == 0 { String::from_utf8_lossy(&output.stdout).into_owned() } else { text }
}

/// Shards on several machines: what was read of each is kept, first of all prices, then around the one that this tells; all have one price,
/// and each is planned at it.
#[test]
fn shards_are_planned_at_one_price_without_being_brought_together() {
    const BUDGET: f64 = 9000.0;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let shards = ["0", "1", "2"];
    let mut whole = "page,rate,weight\n".to_owned();
    for (shard, name) in (0..3u32).zip(shards) {
        let mut text = "page,rate,weight\n".to_owned();
        for page in 0..12_000u32 {
            let rate = 0.001 * (f64::from((page * 7919 + shard) % 12_000) / 750.0).exp2();
            let row = format!("{shard}-{page},{rate},{}\n", 1 + (page + shard) % 9);
            text.push_str(&row);
            whole.push_str(&row);
        }
        std::fs::write(path(&format!("{name}.csv")), text).unwrap();
    }
    std::fs::write(path("whole.csv"), whole).unwrap();
    let read = |arguments: &[&str]| serde_json::from_str::<Value>(&said(arguments, 0)).unwrap();
    let together = |files: &[String]| {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        read(&[&["budget", "--budget", &format!("{BUDGET}/day"), "--json"], files.as_slice()].concat())["answers"][0]
            .clone()
    };
    let saved = |name: &str, options: &[&str]| {
        let (table, outlook) = (path(&format!("{name}.csv")), path(&format!("{name}-{}.outlook", options.len())));
        said(&[&["budget", &table, "--save", &outlook], options].concat(), 0);
        outlook
    };
    let price_of = |answer: &Value| format!("{}days", answer["price_days"].as_f64().unwrap());
    let rough = together(&shards.map(|name| saved(name, &[])));
    assert_eq!(rough["is_exact"], false);
    let around = price_of(&rough);
    let near = shards.map(|name| saved(name, &["--around", &around]));
    let exact = together(&near);
    assert_eq!(exact["is_exact"], true);
    let spent = |name: &str, price: &[&str]| {
        let plan = read(&[&["plan", &path(&format!("{name}.csv")), "--json"], price].concat());
        plan["allocations"].as_array().unwrap().iter().find(|row| row["allocation"] == "optimal").unwrap()
            ["spending_per_day"].as_f64().unwrap()
    };
    let off = |answer: &Value| {
        let price = price_of(answer);
        let spent: f64 = shards.iter().map(|name| spent(name, &["--price", &price])).sum();
        (spent / BUDGET - 1.0).abs()
    };
    assert!(off(&rough) < 1e-3, "{}", off(&rough));
    assert!(off(&exact) < 1e-9, "{}", off(&exact));
    let whole = read(&["plan", &path("whole.csv"), "--json", "--budget", &format!("{BUDGET}/day")]);
    let ratio = exact["price_days"].as_f64().unwrap() / whole["price_days"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    // A table beside what was saved of the others is the same.
    let mixed = ["budget", &path("0.csv"), "--around", &around, &near[1], &near[2], "--budget", "9000/day", "--json"];
    assert_eq!(read(&mixed)["answers"][0], exact);
    // Of a budget whose price lies elsewhere it is said.
    let output = start(&["budget", &near[0], "--budget", "4000/day"]).wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("is not exact: read again with --around 1.3"), "{words}");
}

/// Under caps of hosts and a floor what is said of a budget is what its plan says, and what is said of a target reaches it.
#[test]
fn budgets_under_caps_and_a_floor_are_those_of_plans() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let mut text = "page,rate,weight,host\n".to_owned();
    for page in 0..3000u32 {
        let rate = 0.01 * (f64::from(page * 7919 % 3000) / 300.0).exp2();
        text.push_str(&format!("{page},{rate},{},h{}\n", 1 + page % 9, page % 7 * (page % 2)));
    }
    std::fs::write(path("pages.csv"), text).unwrap();
    std::fs::write(path("caps.csv"), "host,cap\nh0,150\nh3,1000\n").unwrap();
    let (pages, caps) = (path("pages.csv"), path("caps.csv"));
    let read = |arguments: &[&str]| serde_json::from_str::<Value>(&said(arguments, 0)).unwrap();
    let all: [&[&str]; 3] = [
        &["--host-cap", "100/day"],
        &["--floor", "0.3"],
        &["--host-cap", "100/day", "--host-caps", &caps, "--floor", "0.2"],
    ];
    for limits in all {
        for (objective, column, target) in
            [("freshness", "freshness", "--target"), ("age", "age_days", "--target-age"), ("harmonic", "harmonic", "")]
        {
            let common = [&[pages.as_str(), "--json", "--objective", objective], limits].concat();
            let plan = |budget: &str| {
                let plan = read(&[&["plan", "--budget", budget], common.as_slice()].concat());
                plan["allocations"].as_array().unwrap().iter().find(|row| row["allocation"] == "optimal").unwrap()
                    [column]
                    .as_f64()
                    .unwrap()
            };
            let told = read(&[&["budget", "--budget", "500/day"], common.as_slice()].concat());
            let value = plan("500/day");
            for row in [&told["answers"][0], &told["curve"][4]] {
                let ratio = row[column].as_f64().unwrap() / value;
                assert!((ratio - 1.0).abs() < 1e-9, "{limits:?} {objective} {ratio}");
                assert!((row["budget_per_day"].as_f64().unwrap() / 500.0 - 1.0).abs() < 1e-9);
            }
            assert_eq!(told["curve"].as_array().unwrap().len(), 9);
            // Caps cost something, and the price is the slope: 1 % more gains as much, but for a floor that grows with it.
            let free = read(&["budget", "--budget", "500/day", "--json", &pages, "--objective", objective]);
            let better = free["answers"][0][column].as_f64().unwrap() / value;
            let is_better = if objective == "freshness" { better > 1.001 } else { better < 0.999 };
            assert!(is_better || !limits.contains(&"--host-cap"), "{objective} {better}");
            if !limits.contains(&"--floor") {
                let slope = (plan("505/day") - value).abs() / 5.0;
                let ratio = told["answers"][0]["gain_per_daily_cost"].as_f64().unwrap() / slope;
                assert!((ratio - 1.0).abs() < 0.03, "{objective} {ratio}");
            }
            if !target.is_empty() {
                let days = if objective == "age" { "days" } else { "" };
                let found = read(&[&["budget", target, &format!("{value}{days}")], common.as_slice()].concat());
                let budget = found["answers"][0]["budget_per_day"].as_f64().unwrap();
                assert!((budget / 500.0 - 1.0).abs() < 1e-6, "{limits:?} {objective} {budget}");
                let reached = plan(&format!("{budget}/day")) / value;
                assert!((reached - 1.0).abs() < 1e-8, "{limits:?} {objective} {reached}");
            }
        }
    }
    let beyond = said(&["budget", &pages, "--target", "0.99", "--host-cap", "60/day"], 2);
    assert!(
        beyond.contains("freshness 0.99 is out of reach: caps of hosts, minimum periods and the floor allow 0."),
        "{beyond}"
    );
    let saved = said(&["budget", &pages, "--floor", "0.1", "--save", &path("pages.outlook")], 2);
    assert!(
        saved.contains("'--save <FILE>' cannot be used with") || saved.contains("cannot be used with '--save"),
        "{saved}"
    );
    let floor = said(&["budget", &pages, "--floor", "0.1", "--cost", "1", "--worth", "1/day"], 2);
    assert!(floor.contains("a floor is a share of a budget: it needs one, not a price"), "{floor}");
}

#[test]
fn an_outlook_that_is_damaged_or_for_something_else_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("pages.csv"), "page,rate\na,1\nb,2\n").unwrap();
    let (pages, outlook) = (path("pages.csv"), path("pages.outlook"));
    assert!(said(&["budget", &pages, "--save", &path("pages.csv2")], 2).contains("--save must end in .outlook"));
    said(&["budget", &pages, "--save", &outlook], 0);
    assert!(said(&["budget", &outlook, "--objective", "age"], 2).contains("--objective freshness --order fixed"));
    assert!(said(&["budget", &outlook, "--save", &outlook], 2).contains("pages.outlook"));
    let whole = std::fs::read(&outlook).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&outlook, &whole[..length]).unwrap();
        assert!(said(&["budget", &outlook], 2).contains("cannot read"), "{length}");
    }
    // A bit that means nothing may be another; all others are noticed.
    let (right, mut unnoticed) = (said(&["budget", &pages], 0), 0);
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        std::fs::write(&outlook, &bytes).unwrap();
        let output = start(&["budget", &outlook]).wait_with_output().unwrap();
        if output.status.success() {
            assert_eq!(String::from_utf8_lossy(&output.stdout), right, "{place}");
            unnoticed += 1;
        } else {
            assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read"), "{place}: {output:?}");
        }
    }
    assert!(unnoticed <= 2, "{unnoticed}");
}
