//! What machines get: JSON and files with all digits, pipes, exit codes, man pages and completions.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use everfresh::income::{Asset, explaining_benefit};
use everfresh::{Allocation, Objective, Order, Page, Plan, Price, Rate, Unit, curve::Exponential};
use serde_json::Value;

fn everfresh() -> Command {
    Command::new(env!("CARGO_BIN_EXE_everfresh"))
}

#[track_caller]
fn stdout(arguments: &[&str]) -> String {
    let output = everfresh().args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(arguments)).unwrap()
}

#[track_caller]
fn near(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() <= 1e-12 * expected.abs(), "{value} is not {expected}");
}

/// The plan of the example, from the library.
fn example(objective: Objective, order: Order) -> Plan {
    let pages: Vec<Page> = (1..=5).map(|n| Page::new(Rate::per(f64::from(n), Unit::Day).unwrap())).collect();
    let price = Price::for_budget(5.0, Unit::Day).unwrap();
    Plan::new(&pages, objective, order, Allocation::Optimal, price).unwrap()
}

#[test]
fn plan_as_json_has_all_digits() {
    let report = json(&["plan", "--example", "--order", "random", "--json"]);
    let plan = example(Objective::Freshness, Order::Random);
    assert_eq!(report["objective"], "freshness");
    assert_eq!(report["order"], "random");
    assert_eq!(report["allocation"], "optimal");
    assert_eq!(report["given_up"], 1);
    near(&report["price"], plan.price().unwrap() / Unit::Day.seconds());
    near(&report["allocations"][2]["freshness"], plan.totals().freshness);
    assert_eq!(report["allocations"][2]["age_days"], Value::Null, "JSON has no infinity");
    near(&report["allocations"][2]["spending_per_day"], 5.0);
    for (row, entry) in report["pages"].as_array().unwrap().iter().zip(plan.entries()) {
        near(&row["frequency_per_day"], entry.frequency.per_day());
        near(&row["freshness"], entry.freshness);
        assert_eq!(row["age_days"].as_f64(), Some(entry.age.days()).filter(|days| days.is_finite()));
    }
    assert_eq!(report["pages"][4]["reason"], "given up");
    assert_eq!(report["pages"][4]["period_days"], Value::Null);
}

#[test]
fn freshness_as_json_has_all_digits() {
    let report = json(&["freshness", "--rate", "1/day", "--target", "0.8", "--json"]);
    for (row, order) in report["orders"].as_array().unwrap().iter().zip(Order::ALL) {
        near(&row["period_days"], order.ratio_for_freshness(0.8).unwrap());
        near(&row["freshness"], 0.8);
    }
}

#[test]
fn income_as_json_has_all_digits() {
    let arguments = ["income", "--rate", "0.457/year", "--benefit", "1/year", "--budget", "1/year", "--json"];
    let report = json(&arguments);
    let curve = Exponential::new(Rate::per(0.457, Unit::Year).unwrap());
    let best = Asset::new(curve, 1.0, Unit::Year, 1.0).unwrap().optimum();
    near(&report["pages"][0]["period_days"], best.period.days());
    near(&report["best"]["net_income_per_day"], best.net_income_per_second * Unit::Day.seconds());
    near(&report["on_budget"]["spending_per_day"], 1.0 / 365.0);
    assert!(report["loss_on_budget"].as_f64().unwrap() > 0.5);
    let report = json(&["income", "--rate", "0.457/year", "--observed-frequency", "2/day", "--json"]);
    near(
        &report["benefit_cost_ratio_per_day"],
        explaining_benefit(&curve, "2/day".parse().unwrap()).unwrap() * Unit::Day.seconds(),
    );
}

#[test]
fn out_writes_the_format_of_its_ending() {
    let directory = tempfile::tempdir().unwrap();
    let plan = example(Objective::Freshness, Order::Fixed);
    for (ending, delimiter) in [("csv", b','), ("tsv", b'\t')] {
        let path = directory.path().join(format!("plan.{ending}"));
        let said = stdout(&["plan", "--example", "--out", path.to_str().unwrap()]);
        assert!(said.contains("optimal") && !said.contains("e1 "), "the table goes to the file: {said}");
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_path(&path).unwrap();
        let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(
            header.join(" "),
            "page rate_per_day weight cost frequency_per_day period_days freshness age_days reason"
        );
        for (record, entry) in reader.records().zip(plan.entries()) {
            let record = record.unwrap();
            assert!((record[4].parse::<f64>().unwrap() - entry.frequency.per_day()).abs() < 1e-12);
            assert_eq!(record[5].is_empty(), entry.frequency.per_day() == 0.0);
        }
    }
    let path = directory.path().join("income.json");
    stdout(&["income", "--rate", "1/week", "--benefit", "1/day", "--out", path.to_str().unwrap()]);
    let rows: Value = serde_json::from_reader(File::open(&path).unwrap()).unwrap();
    assert_eq!(rows[0]["verdict"], "worth it");
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "no temporary file stays: {left:?}");
}

fn pipe(arguments: &[&str], input: &str) -> Output {
    let mut child = everfresh()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn stdin_is_a_table() {
    let output = pipe(&["plan", "-", "--budget", "1/day", "--json"], "\u{feff}Page , Rate\n\"a, b\",2\n");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["pages"][0]["page"], "a, b");
    near(&report["pages"][0]["frequency_per_day"], 1.0);
    let output = pipe(&["plan", "-", "--budget", "1/day"], "page,rate\na,-1\n");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "error: stdin:2: column `rate`: rate must be at least 0 and finite, got -1\n");
}

#[test]
fn a_full_disk_is_a_failure_and_a_closed_pipe_is_not() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = everfresh().args(["plan", "--example"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot write to stdout: No space left on device"), "{said}");
    let mut child =
        everfresh().args(["plan", "--example"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn colours_are_for_terminals() {
    assert!(!stdout(&["plan", "--example"]).contains('\u{1b}'));
}

#[test]
fn man_pages_and_completions_know_every_command() {
    let commands = ["plan", "freshness", "income", "completions", "man"];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&["completions", shell]);
        assert!(commands.iter().all(|command| script.contains(command)), "{shell}");
    }
    assert!(stdout(&["man"]).starts_with(".ie"));
    let directory = tempfile::tempdir().unwrap();
    stdout(&["man", "--directory", directory.path().join("man1").to_str().unwrap()]);
    for command in commands {
        let page = std::fs::read_to_string(directory.path().join(format!("man1/everfresh-{command}.1"))).unwrap();
        assert!(page.contains("everfresh"), "{command}");
    }
    let page = std::fs::read_to_string(directory.path().join("man1/everfresh-plan.1")).unwrap();
    assert!(page.contains("budget") && page.contains("Examples"), "{page}");
}
