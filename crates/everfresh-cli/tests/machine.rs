//! What machines get: JSON and files with all digits, pipes, exit codes, man pages and completions.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use everfresh::income::{Asset, explaining_benefit};
use everfresh::{Objective, Order, Page, Plan, Price, Rate, Terms, Unit, curve::Exponential};
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
    // What the tables of the solver hold.
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value} is not {expected}");
}

/// The plan of the example, from the library.
fn example(objective: Objective, order: Order) -> Plan {
    let pages: Vec<Page> = (1..=5).map(|n| Page::new(Rate::per(f64::from(n), Unit::Day).unwrap())).collect();
    let price = Price::for_budget(5.0, Unit::Day).unwrap();
    Plan::new(&pages, Terms { objective, order, ..Terms::new(price) }).unwrap()
}

#[test]
fn plan_as_json_has_all_digits() {
    let report = json(&["plan", "--example", "--order", "random", "--json"]);
    let plan = example(Objective::Freshness, Order::Random);
    assert_eq!(report["objective"], "freshness");
    assert_eq!(report["order"], "random");
    assert_eq!(report["allocation"], "optimal");
    assert_eq!(report["given_up"], 1.0);
    near(&report["price_days"], plan.price().unwrap() / Unit::Day.seconds());
    near(&report["allocations"][2]["freshness"], plan.totals().freshness);
    assert_eq!(report["allocations"][2]["age_days"], Value::Null, "JSON has no infinity");
    near(&report["allocations"][2]["spending_per_day"], 5.0);
    for (row, entry) in report["pages"].as_array().unwrap().iter().zip(plan.entries()) {
        near(&row["frequency_per_day"], entry.frequency.per_day());
        near(&row["freshness"], entry.freshness);
        match row["age_days"].as_f64() {
            Some(_) => near(&row["age_days"], entry.age.days()),
            None => assert!(entry.age.days().is_infinite()),
        }
    }
    assert_eq!(report["pages"][4]["reason"], "given up");
    assert_eq!(report["pages"][4]["period_days"], Value::Null);
}

/// CGM03 Table II at nine frequency ratios: a page visited once a day that changes r times.
#[test]
fn table_ii_comes_out_of_the_command_line() {
    let table = include_str!("../../everfresh/tests/digits/table-ii.txt");
    for line in table.lines() {
        let row: Vec<&str> = line.split_whitespace().collect();
        let report = json(&["freshness", "--rate", &format!("{}/day", row[0]), "--period", "1day", "--json"]);
        for i in 0..3 {
            let close = |value: &Value, printed: &str| {
                let (value, printed) = (value.as_f64().unwrap(), printed.parse::<f64>().unwrap());
                assert!((value / printed - 1.0).abs() < 1e-11, "{value} is not {printed}");
            };
            close(&report["orders"][i]["freshness"], row[i + 1]);
            close(&report["orders"][i]["age_days"], row[i + 4]);
        }
    }
}

/// RN15 Table 2: percent right, for four rates a year and six periods.
#[test]
fn rn15_table_2_comes_out_of_the_command_line() {
    for (rate, row) in [
        ("0.457/year", [94.0, 89.0, 80.0, 66.0, 39.0, 22.0]),
        ("0.316/year", [96.0, 93.0, 86.0, 74.0, 50.0, 30.0]),
        ("0.163/year", [98.0, 96.0, 92.0, 85.0, 68.0, 49.0]),
        ("0.098/year", [99.0, 98.0, 95.0, 91.0, 79.0, 64.0]),
    ] {
        for (period, percent) in ["0.25years", "0.5years", "1year", "2years", "5years", "10years"].into_iter().zip(row)
        {
            let report = json(&["freshness", "--rate", rate, "--period", period, "--json"]);
            let freshness = report["orders"][0]["freshness"].as_f64().unwrap();
            assert_eq!((100.0 * freshness).round(), percent, "{rate} {period}");
        }
    }
}

/// RN15's web pages: the best number of visits a month for a ratio of benefit to cost, and the loss with 270.
#[test]
fn rn15_web_pages_come_out_of_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sites.csv");
    for (ratio, visits, loss_percent) in [
        (0.1, 92.0, "23.0"),
        (0.3, 243.0, "0.2"),
        (0.355, 270.0, "0.0"),
        (0.5, 333.0, "0.5"),
        (1.0, 1033.0, "6.0"),
        (10.0, 4712.0, "25.8"),
        (100.0, 16018.0, "31.9"),
    ] {
        let mut table = "page,rate,benefit,cost\n".to_owned();
        for (days, share) in [(1.0, 0.23), (7.0, 0.15), (30.0, 0.16), (120.0, 0.16), (365.0, 0.30)] {
            let (rate, sites) = (std::f64::consts::LN_2 / days, 270.0 * share);
            table += &format!("{days},{rate},{},{sites}\n", ratio * sites);
        }
        std::fs::write(&path, table).unwrap();
        let report = json(&["income", path.to_str().unwrap(), "--budget", "270/month", "--json"]);
        assert_eq!((30.0 * report["best"]["spending_per_day"].as_f64().unwrap()).round(), visits, "{ratio}");
        assert_eq!(format!("{:.1}", 100.0 * report["loss_on_budget"].as_f64().unwrap()), loss_percent, "{ratio}");
    }
}

#[test]
fn freshness_as_json_has_all_digits() {
    let report = json(&["freshness", "--rate", "1/day", "--target", "0.8", "--json"]);
    for (row, order) in report["orders"].as_array().unwrap().iter().zip(Order::ALL) {
        near(&row["period_days"], order.ratio_for_freshness(0.8).unwrap());
        near(&row["freshness"], 0.8);
    }
}

/// CGM99's gamma model, with the digits computed for it.
#[test]
fn the_gamma_model_comes_out_of_the_command_line() {
    for (delta, r, freshness, age) in [
        ("0.5", "1", 0.650_666_666_667, 0.126_666_666_667),
        ("0.5", "5", 0.243_255_601_28, 0.318_930_041_152),
        ("0.9", "1", 0.683_813_814_359, 0.116_608_058_081),
        ("2", "5", 0.587_326_502_153, 0.176_175_527_28),
        ("1", "1", std::f64::consts::LN_2, 0.113_705_638_88),
    ] {
        let rate = format!("{r}/day");
        let report = json(&["freshness", "--rate", &rate, "--period", "1day", "--delta", delta, "--json"]);
        let uniform = &report["allocations"][0];
        assert!((uniform["freshness"].as_f64().unwrap() - freshness).abs() < 1e-12, "{uniform}");
        assert!((uniform["age_days"].as_f64().unwrap() - age).abs() < 1e-12, "{uniform}");
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
        assert_eq!(header.join(" "), "page frequency_per_day period_days price_days freshness age_days reason");
        for (record, entry) in reader.records().zip(plan.entries()) {
            let record = record.unwrap();
            assert!((record[1].parse::<f64>().unwrap() - entry.frequency.per_day()).abs() < 1e-9);
            assert_eq!(record[2].is_empty(), entry.frequency.per_day() == 0.0);
        }
    }
    let path = directory.path().join("income.json");
    stdout(&["income", "--rate", "1/week", "--benefit", "1/day", "--out", path.to_str().unwrap()]);
    let rows: Value = serde_json::from_reader(File::open(&path).unwrap()).unwrap();
    assert_eq!(rows[0]["verdict"], "worth it");
    follow_links(directory.path());
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 5, "no temporary file stays: {left:?}");
}

/// A link stays a link, its file keeps its mode, and a device is written to as it is.
fn follow_links(directory: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    let (real, link) = (directory.join("real.csv"), directory.join("link.csv"));
    std::fs::write(&real, "old").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("real.csv", &link).unwrap();
    stdout(&["plan", "--example", "--out", link.to_str().unwrap()]);
    assert!(link.is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().starts_with("page,"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
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
    for (table, said) in [
        ("page,rate\r\na,1\r\nb,2\r\nc,-5\r\n", "stdin:4: column `rate`"),
        ("page,rate\na,1\n\n\nb,-5\n", "stdin:5: column `rate`"),
        ("page,rate\r\na,1\r\na,1\r\n", "stdin:3: column `page`: `a` is there twice, first on line 2"),
        ("page,rate\n\"a\nb\",1\nc,-1\n", "stdin:4: column `rate`"),
        ("page,rate\ra,1\rb,x\r", "stdin:3: column `rate`"),
        ("\n\npage,ratex\na,1\n", "stdin:3: there is no column `rate`"),
    ] {
        let output = pipe(&["plan", "-", "--budget", "1/day"], table);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(said), "{table:?}: {error}");
    }
    let output = pipe(&["plan", "-", "--budget", "1/day", "--json"], "page,rate\na\u{7f}b,1\nab,1\n");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["pages"][0]["page"], "a\u{7f}b");
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

/// A file that may not grow is a failure like a full disk: it is said, and nothing half-written stays.
#[test]
fn a_bound_on_the_size_of_files_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let rows: Vec<String> = (0..20_000).map(|row| format!("page-{row},{}\n", 1 + row % 9)).collect();
    std::fs::write(path("pages.csv"), format!("page,rate\n{}", rows.concat())).unwrap();
    for out in ["plan.csv", "plan.parquet", "plan.arrow", "plan.csv.gz"] {
        let program = env!("CARGO_BIN_EXE_everfresh");
        let script =
            format!("ulimit -f 64; exec {program} plan {} --budget 1/day --out {}", path("pages.csv"), path(out));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(1) && said.contains("File too large"),
            "{out}: {:?} {said}",
            output.status
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "{out}");
    }
}

/// Hosts have names, which no thread may number: plans are the same byte for byte, whoever meets which host first.
#[test]
fn plans_with_caps_do_not_depend_on_threads() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(path("pages")).unwrap();
    let mut seed = 7;
    for file in 0..40 {
        let row = |row: usize| {
            let host = (noise(&mut seed).powi(3) * 2000.0).floor();
            format!(
                "{file}/{row},{},{},host-{host}.example\n",
                10_f64.powf(4.0 * noise(&mut seed) - 2.0),
                noise(&mut seed)
            )
        };
        let rows: String = (0..2000).map(row).collect();
        std::fs::write(path(&format!("pages/{file:02}.csv")), format!("page,rate,weight,host\n{rows}")).unwrap();
    }
    let plan = |threads: usize, allocation: &str| {
        let arguments =
            ["plan", &path("pages"), "--budget", "20000/day", "--host-cap", "30/day", "--allocation", allocation];
        let output = everfresh().args(arguments).arg("--json").env("RAYON_NUM_THREADS", threads.to_string()).output();
        output.unwrap().stdout
    };
    for allocation in ["optimal", "uniform"] {
        let one = plan(1, allocation);
        let report: Value = serde_json::from_slice(&one).unwrap();
        for totals in report["allocations"].as_array().unwrap() {
            near(&totals["spending_per_day"], 20_000.0);
        }
        assert!(report["hosts_at_cap"].as_f64().unwrap() > 10.0, "{}", report["hosts_at_cap"]);
        for _ in 0..4 {
            assert!(plan(4, allocation) == one, "{allocation}");
        }
    }
}

#[test]
fn colours_are_for_terminals() {
    assert!(!stdout(&["plan", "--example"]).contains('\u{1b}'));
}

#[test]
fn man_pages_and_completions_know_every_command() {
    let commands = ["plan", "estimate", "longevity", "budget", "freshness", "income", "split", "completions", "man"];
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

/// Pages that are alike for sixty days and then change 25 times as often: what all of them were like must not hold each of them back.
#[test]
fn habits_that_all_pages_break_are_followed() {
    let (mut random, mut rows) = (1_u64, String::from("page,time,changed\n"));
    for page in 0..60 {
        for day in 0..100 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let rate: f64 = if day < 60 { 0.02 } else { 0.5 };
            let has_changed = (random >> 33) as f64 / f64::from(1_u32 << 31) < -(-rate).exp_m1();
            rows.push_str(&format!("{page},{},{}\n", 1_700_000_000 + 86_400 * day, u8::from(has_changed)));
        }
    }
    let told = pipe(&["estimate", "--estimator", "drifting", "--half-life", "20days", "-"], &rows).stdout;
    let rates: Vec<f64> = String::from_utf8(told)
        .unwrap()
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap().parse().unwrap())
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    // Of what was seen, 22 of 28 days that still count are new: (22 × 0.5 + 6 × 0.02 + 2) / (28 + 2 / 0.21) = 0.35.
    assert!(rates.len() == 60 && (0.28..0.42).contains(&mean), "{mean}");
}

/// CGM03 Table VII, overall column, from five rows that stand for a million pages and from a million rows: the same digits.
#[test]
fn table_vii_comes_out_of_counts_and_of_a_million_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let classes =
        [("1/day", 230_000), ("1/week", 150_000), ("1/month", 160_000), ("1/4months", 160_000), ("1/year", 300_000)];
    let mut counted = "page,rate,count\n".to_owned();
    let mut expanded = "page,rate\n".to_owned();
    for (class, (rate, count)) in classes.iter().enumerate() {
        counted.push_str(&format!("{class},{rate},{count}\n"));
        (0..*count).for_each(|i| expanded.push_str(&format!("{class}-{i},{rate}\n")));
    }
    std::fs::write(path("counted.csv"), counted).unwrap();
    std::fs::write(path("expanded.csv"), expanded).unwrap();
    // Allocation, freshness, age in days: law.md's digits behind the printed 0.12, 400; 0.57, 5.6; 0.62, 4.3.
    for (objective, index, freshness, age) in [
        ("freshness", 0, 0.573, 5.61),
        ("freshness", 1, 0.129, 406.0),
        ("freshness", 2, 0.616, f64::NAN),
        ("age", 2, 0.5736, 4.30),
    ] {
        let asked =
            |table: &str| ["plan", table, "--budget", "1000000/30days", "--objective", objective].map(str::to_owned);
        let mut arguments = asked(&path("counted.csv")).to_vec();
        arguments.push("--json".to_owned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let report = json(&arguments);
        let totals = &report["allocations"][index];
        let digits = |value: &Value, expected: f64| {
            let value = value.as_f64().unwrap_or(f64::NAN);
            assert!(
                expected.is_nan() || (value / expected - 1.0).abs() < 4e-3,
                "{objective} {index}: {value} {expected}"
            );
        };
        assert_eq!(report["pages"][0]["count"].as_i64(), Some(230_000), "whole counts are integers");
        digits(&totals["freshness"], freshness);
        digits(&totals["age_days"], age);
        if index < 2 {
            continue; // The other allocations come from the same plans.
        }
        let mut arguments = asked(&path("expanded.csv")).to_vec();
        arguments.extend(["--out".to_owned(), path("plan.csv")]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        stdout(&arguments);
        let mut rows = csv::Reader::from_path(path("plan.csv")).unwrap();
        let mut seen = 0;
        for row in rows.records() {
            let row = row.unwrap();
            let class: usize = row[0].split('-').next().unwrap().parse().unwrap();
            near(&report["pages"][class]["frequency_per_day"], row[1].parse().unwrap());
            seen += 1;
        }
        assert_eq!(seen, 1_000_000);
    }
}

/// Runs a command on what is given to its stdin.
#[track_caller]
fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = everfresh()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Ten pages, visited daily for 40 days: page n changes every n days. By page, or by time.
fn visits(by_time: bool) -> String {
    let mut visits: Vec<(u32, u32)> = (1..=10).flat_map(|page| (0..40).map(move |day| (page, day))).collect();
    if by_time {
        visits.sort_by_key(|(page, day)| (*day, *page));
    }
    let row = |(page, day): &(u32, u32)| format!("p{page:02},{},{},{}\n", day * 86_400, day / page, page % 2);
    "page,time,digest,group\n".to_owned() + &visits.iter().map(row).collect::<String>()
}

#[test]
fn estimates_feed_plans() {
    let estimates = piped(&["estimate", "-"], visits(false).as_bytes());
    let plan = piped(&["plan", "--budget", "5/day", "--json", "-"], &estimates.stdout);
    let report: Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert_eq!(report["pages"].as_array().unwrap().len(), 10);
    assert_eq!(report["pages"][0]["page"], "p01");
    assert!(
        String::from_utf8(estimates.stdout.clone()).unwrap().contains(",lomax,"),
        "the plan knows what is not known"
    );
    // Where plans know no curves, rates alone count, unless curves were asked for.
    let age = ["plan", "--budget", "5/day", "--objective", "age", "-"];
    let told = piped(&age, &estimates.stdout);
    assert!(String::from_utf8(told.stderr).unwrap().contains("rates alone count"));
    let rates = piped(&["estimate", "-", "--curves=none"], visits(false).as_bytes()).stdout;
    assert_eq!(told.stdout, piped(&age, &rates).stdout);
    let budget = ["budget", "--target-age", "1day", "--objective", "age", "-"];
    assert_eq!(piped(&budget, &estimates.stdout).stdout, piped(&budget, &rates).stdout);
}

/// Numbers that look random: Knuth's multiplicative generator.
fn noise(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1_u64 << 53) as f64
}

/// 400 pages of 8 groups with irregular visits and random changes: page, time, version, group.
fn many_visits() -> Vec<(usize, u64, u32, usize)> {
    let (mut seed, mut rows) = (7, Vec::new());
    for page in 0..400 {
        let rate = 10_f64.powf(3.0 * noise(&mut seed) - 2.5);
        let (mut time, mut version) = (1_700_000_000, 0);
        for _ in 0..12 {
            rows.push((page, time, version, page % 8));
            let days = 0.1 + 5.0 * noise(&mut seed);
            version += u32::from(noise(&mut seed) < -f64::exp_m1(-rate * days));
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let seconds = (days * 86_400.0) as u64;
            time += seconds;
        }
    }
    rows
}

/// The rows as a table in so many files of a folder.
fn write_visits(folder: &Path, rows: &[(usize, u64, u32, usize)], files: usize) {
    for (number, rows) in rows.chunks(rows.len().div_ceil(files)).enumerate() {
        let row =
            |(page, time, version, group): &(usize, u64, u32, usize)| format!("p{page},{time},v{version},g{group}\n");
        let text = "page,time,digest,group\n".to_owned() + &rows.iter().map(row).collect::<String>();
        std::fs::write(folder.join(format!("{number:02}.csv")), text).unwrap();
    }
}

/// By page, by time, pages shuffled, all rows shuffled; in one batch or many: the same numbers to the last digit.
#[test]
fn estimates_do_not_depend_on_the_order_of_the_rows() {
    let by_page = many_visits();
    let (mut by_time, mut shuffled_pages, mut shuffled, mut seed) =
        (by_page.clone(), by_page.clone(), by_page.clone(), 3);
    by_time.sort_by_key(|(page, time, ..)| (*time, *page));
    shuffled_pages.sort_by_key(|(page, time, ..)| (page * 7919 % 400, *time));
    shuffled.sort_by_cached_key(|_| noise(&mut seed).to_bits());
    for estimator in ["gamma", "drifting", "renewal", "two-rates", "likelihood"] {
        let mut results = Vec::new();
        for (rows, files) in
            [(&by_page, 1), (&by_page, 9), (&by_time, 5), (&shuffled_pages, 7), (&shuffled, 1), (&shuffled, 6)]
        {
            let folder = tempfile::tempdir().unwrap();
            write_visits(folder.path(), rows, files);
            let folder = folder.path().to_str().unwrap();
            results.push(stdout(&["estimate", folder, "--estimator", estimator, "--curves", "--hours"]));
        }
        assert!(results[0].lines().count() == 401, "{}", results[0]);
        assert!(results.iter().all(|result| *result == results[0]), "{estimator}");
    }
}

#[test]
fn estimates_find_how_often_pages_change() {
    let text = String::from_utf8(piped(&["estimate", "-"], visits(false).as_bytes()).stdout).unwrap();
    for (row, days) in text.lines().skip(1).zip(1..).skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let rate: f64 = fields[1].parse().unwrap();
        // Detected changes of a page with as many a day are biased low, which the estimate takes off; a few stay uncertain.
        assert!(rate * f64::from(days) > 0.6 && rate * f64::from(days) < 1.8, "{row}");
    }
}

/// 60 pages with Weibull gaps of about 30 hours on average, visited every hour.
fn bursty_visits(shape: f64) -> String {
    let (mut seed, mut text) = (11, "page,time,changed\n".to_owned());
    for page in 0..60 {
        let scale = if shape < 1.0 { 9.0 } else { 30.0 };
        let mut gap = || scale * (-(1.0 - noise(&mut seed)).ln()).powf(1.0 / shape);
        let mut next = gap();
        for hour in 0..1500 {
            let changed = next < f64::from(hour);
            while next < f64::from(hour) {
                next += gap();
            }
            text.push_str(&format!("{page},{},{}\n", hour * 3600, u8::from(changed)));
        }
    }
    text
}

/// Pages whose changes come in bursts get such curves, which foretell what visits see; Poisson pages get Lomax ones.
#[test]
fn curves_tell_bursts_from_poisson() {
    use everfresh::curve::{Bursts, DivergenceCurve, Lomax};
    for (shape, is_bursty) in [(0.4, true), (1.0, false)] {
        let text = bursty_visits(shape);
        let curves = String::from_utf8(piped(&["estimate", "-", "--curves"], text.as_bytes()).stdout).unwrap();
        // Every two days: which share of visits finds a change, and which do the curves foretell?
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let changed = |hours: &[&str]| hours.iter().any(|line| line.ends_with('1'));
        let seen = lines.chunks(1500).flat_map(|page| page[1..].chunks_exact(48)).map(changed);
        let seen: Vec<f64> = seen.map(|changed| f64::from(u8::from(changed))).collect();
        let seen = seen.iter().sum::<f64>() / seen.len() as f64;
        let two_days = everfresh::Period::of(2.0, everfresh::Unit::Day).unwrap();
        let foretold = curves.lines().skip(1).map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let rate = everfresh::Rate::per(fields[1].parse().unwrap(), everfresh::Unit::Day).unwrap();
            let shape = fields[12].parse().unwrap();
            match fields[11] {
                "bursts" => Bursts::new(rate, shape).unwrap().divergence(two_days),
                _ => Lomax::with_mean_rate(shape, rate).unwrap().divergence(two_days),
            }
        });
        let foretold = foretold.sum::<f64>() / 60.0;
        assert!((foretold / seen - 1.0).abs() < 0.12, "{shape}: {foretold} foretold, {seen} seen");
        let bursts = curves.lines().filter(|line| line.contains(",bursts,")).count();
        assert!(if is_bursty { bursts > 40 } else { bursts == 0 }, "{shape}, {bursts}: {curves}");
    }
}

/// The mean freshness of pages of these rates per day under the plan that is made from these visits: each by the curve that is true of it.
fn freshness_of_plan(visits: &str, curves: &str, shape: f64, rates: &[f64]) -> f64 {
    use everfresh::{Frequency, Period, curve::Shape};
    let table = piped(&["estimate", "-", curves], visits.as_bytes()).stdout;
    let budget = format!("{}/day", rates.len() as f64 / 5.0);
    let plan = String::from_utf8(piped(&["plan", "--budget", &budget, "--out", "-", "-"], &table).stdout).unwrap();
    let mut lines = plan.lines();
    let column = lines.next().unwrap().split(',').position(|name| name == "frequency_per_day").unwrap();
    let one = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let frequency = Frequency::per(fields[column].parse().unwrap(), Unit::Day).unwrap();
        if frequency == Frequency::NEVER {
            return 0.0;
        }
        let rate = Rate::per(rates[fields[0].parse::<usize>().unwrap()], Unit::Day).unwrap();
        let period: Period = frequency.period();
        Shape::Bursts(shape).freshness_and_age(rate * period).0
    };
    lines.map(one).sum::<f64>() / rates.len() as f64
}

/// 2000 Poisson pages, their rates by a gamma law of shape 1/2, visited so often, every half a day to day and a half.
fn poisson_visits(seed: u64, visits: u32) -> (Vec<f64>, String) {
    let (mut seed, mut rates, mut text) = (seed, Vec::new(), "page,time,changed\n".to_owned());
    for page in 0..2000 {
        // The square of a normal number (Box and Muller).
        let normal = (-2.0 * (1.0 - noise(&mut seed)).ln()).sqrt() * (std::f64::consts::TAU * noise(&mut seed)).cos();
        let rate = (0.3 * normal * normal).max(1e-9);
        let mut time = 1_500_000_000.0;
        text.push_str(&format!("{page},{time},0\n"));
        for _ in 1..visits {
            let seconds = (86_400.0 * (0.5 + noise(&mut seed))).round();
            time += seconds;
            let changed = noise(&mut seed) < -f64::exp_m1(-rate * seconds / 86_400.0);
            text.push_str(&format!("{page},{time},{}\n", u8::from(changed)));
        }
        rates.push(rate);
    }
    (rates, text)
}

/// Curves make plans better on pages that are what estimates take them for: not knowing the rate has its price once, and pages of which a
/// few visits are known are not taken for bursty.
#[test]
fn curves_make_plans_of_poisson_pages_better() {
    for (visits, gain) in [(4, 2e-3), (6, 2e-3), (12, 5e-4), (30, 1e-4)] {
        let [mut none, mut rates, mut bursts] = [0.0; 3];
        for seed in 0..2 {
            let (truth, text) = poisson_visits(seed, visits);
            let freshness = |curves| freshness_of_plan(&text, curves, 1.0, &truth) / 2.0;
            none += freshness("--curves=none");
            rates += freshness("--curves=rates");
            bursts += freshness("--curves");
        }
        println!("{visits} visits: {none:.5} by rates alone, {rates:.5} by lomax curves, {bursts:.5} with bursts");
        assert!(rates > none + gain, "{visits}: {rates} {none}");
        assert!((bursts - rates).abs() < 1e-4, "{visits}: {bursts} {rates}");
    }
}

/// Where changes do come in bursts, of mean rates that differ, plans that know of bursts are better than those that know of rates.
#[test]
fn curves_make_plans_of_bursty_pages_better() {
    let (mut seed, mut rates, mut text) = (5, Vec::new(), "page,time,changed\n".to_owned());
    for page in 0..500 {
        // Weibull gaps of shape 1/2 have twice their scale for their mean.
        let rate = 0.03 * 100_f64.powf(noise(&mut seed));
        let mut gap = || 0.5 / rate * (1.0 - noise(&mut seed)).ln().powi(2);
        // Long ago something changed; then it was watched for 60 days.
        let mut next = -2000.0;
        for visit in 0..240 {
            let day = f64::from(visit) / 4.0;
            let changed = next < day;
            while next < day {
                next += gap();
            }
            text.push_str(&format!("{page},{},{}\n", visit * 21_600, u8::from(changed)));
        }
        rates.push(rate);
    }
    let freshness = |curves| freshness_of_plan(&text, curves, 0.5, &rates);
    let [none, lomax, bursts] = ["--curves=none", "--curves=rates", "--curves"].map(freshness);
    println!("{none:.5} by rates alone, {lomax:.5} by lomax curves, {bursts:.5} with bursts");
    assert!(bursts > lomax + 2e-3 && bursts > none + 2e-3, "{bursts} {lomax} {none}");
}

/// Bursts and busy times: what all pages have in common is learnt and said, and nothing where there is none.
#[test]
fn estimators_of_bursts_learn_how_pages_burst() {
    for (shape, renewal, rhythm) in
        [(0.4, "that of shape 0.4 ", "times as many changes"), (1.0, "no Weibull law", "no busy")]
    {
        let text = bursty_visits(shape);
        for (estimator, said) in [("renewal", renewal), ("two-rates", rhythm)] {
            let told = piped(&["estimate", "-", "--estimator", estimator], text.as_bytes());
            let summary = String::from_utf8(told.stderr).unwrap();
            assert!(summary.contains(said), "{shape}, {estimator}: {summary}");
            let table = String::from_utf8(told.stdout).unwrap();
            let rates = table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<f64>().unwrap());
            let mean = rates.sum::<f64>() / 60.0;
            assert!(table.contains(estimator) && (0.5..1.3).contains(&mean), "{shape}, {estimator}: {mean}");
        }
    }
}

/// Pages that change in the morning only, some of them visited twice every morning and some every night, or at any hour.
#[test]
fn hours_are_reckoned_with_where_there_are_any() {
    for (has_hours, said) in
        [(true, "better than a constant rate in 1 of 1 group"), (false, "nowhere better than a constant rate")]
    {
        let (mut seed, mut text) = (5, "page,time,changed\n".to_owned());
        for page in 0..100 {
            // Morning is from 6 to 12 h. Half of the pages are seen at 6, 9 and 12 h, half at 18, 21 and 24 h.
            let first = if page % 2 == 0 { 6 } else { 18 };
            for day in 0..60 {
                for visit in 0..3 {
                    let mornings = match (visit, has_hours, page % 2 == 0) {
                        (0, true, true) => 0.0,
                        (0, true, false) => 1.0,
                        (0, false, _) => 0.75,
                        (_, true, true) => 0.5,
                        (_, true, false) => 0.0,
                        (_, false, _) => 0.125,
                    };
                    let changed = noise(&mut seed) < -f64::exp_m1(-0.5 * mornings);
                    let time = (day * 24 + first + 3 * visit) * 3600;
                    text.push_str(&format!("{page},{time},{}\n", u8::from(changed)));
                }
            }
        }
        let told = piped(&["estimate", "-", "--hours"], text.as_bytes());
        let summary = String::from_utf8(told.stderr).unwrap();
        assert!(summary.contains(said), "{summary}");
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("changes.html");
        piped(&["estimate", "-", "--report", report.to_str().unwrap()], text.as_bytes());
        let page = std::fs::read_to_string(&report).unwrap();
        assert!(page.contains("<h2>At which hours do pages change?</h2>") && page.contains("busiest hour"));
        assert_eq!(page.contains("share of changes"), has_hours);
        // Both halves change once in two days, whatever the hours of their visits.
        let table = String::from_utf8(told.stdout).unwrap();
        let rates: Vec<f64> =
            table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
        let mean = rates.iter().sum::<f64>() / 100.0;
        assert!((0.475..0.53).contains(&mean), "{mean}");
    }
}

/// Hosts within groups: a page of which nothing is known is like its host, where its host is known, else like its group.
#[test]
fn hosts_are_told_apart_within_their_groups() {
    let (mut seed, mut text) = (3, "page,time,changed,group,host\n".to_owned());
    for page in 0..160 {
        let (group, host) = (page % 2, page / 2 % 4);
        let rate = [0.02, 0.2][group] * [1.0, 1.0, 1.0, 6.0][host];
        for day in 0..30 {
            let changed = noise(&mut seed) < -f64::exp_m1(-rate);
            text.push_str(&format!("p{page},{},{},g{group},h{host}\n", day * 86_400, u8::from(changed)));
        }
    }
    for (group, host) in [("g0", "h0"), ("g0", "h3"), ("g0", "new"), ("g1", "h0"), ("g1", "h3"), ("g1", "new")] {
        text.push_str(&format!("once {group} {host},0,0,{group},{host}\n"));
    }
    let told = piped(&["estimate", "-"], text.as_bytes());
    let (table, summary) = (String::from_utf8(told.stdout).unwrap(), String::from_utf8(told.stderr).unwrap());
    assert!(
        summary.contains("2 groups, each held to that as by ") && summary.contains("10 hosts, each held to its group")
    );
    assert!(table.lines().next().unwrap().ends_with(",last_seen,curve,shape,group,host"));
    assert!(table.contains(",g1,h3\n"), "{table}");
    let once = |which: &str| -> f64 {
        let line = table.lines().find(|line| line.starts_with(&format!("once {which},"))).unwrap();
        line.split(',').nth(1).unwrap().parse().unwrap()
    };
    assert!(once("g0 h3") > 3.0 * once("g0 h0") && once("g1 h3") > 3.0 * once("g1 h0"), "{table}");
    assert!(once("g1 new") > 3.0 * once("g0 new") && once("g0 new") > 1.2 * once("g0 h0"), "{table}");
}

/// Whatever letters the names of groups and hosts are of, they come out as they went in, alone and in pairs.
#[test]
fn groups_come_out_as_they_went_in() {
    let names = ["a\u{1f}b", "a", "1:a", "\u{1f}", "1:", "ä"];
    for (columns, head) in [(1, "page,time,changed,group"), (2, "page,time,changed,group,host")] {
        let mut text = head.to_owned() + "\n";
        let mut expected = Vec::new();
        for (page, group) in names.iter().enumerate() {
            let both = [*group, names[names.len() - 1 - page]][..columns].join(",");
            text.push_str(&format!("p{page},0,0,{both}\np{page},86400,{},{both}\n", page % 2));
            expected.push(both);
        }
        let table = String::from_utf8(piped(&["estimate", "-"], text.as_bytes()).stdout).unwrap();
        let found: Vec<String> =
            table.lines().skip(1).map(|line| line.split(',').skip(13).collect::<Vec<_>>().join(",")).collect();
        assert_eq!(found, expected, "{table}");
    }
}

/// The first row of a page names its group, be it skipped or not: in one batch as in several.
#[test]
fn a_skipped_row_names_the_group() {
    let rows = ["p,1000,,old", "p,90000,0,new", "p,180000,1,new", "q,1000,0,new", "q,90000,0,new"];
    let mut results = Vec::new();
    for files in [1, 5] {
        let folder = tempfile::tempdir().unwrap();
        for (number, rows) in rows.chunks(rows.len() / files).enumerate() {
            let text = format!("page,time,changed,group\n{}\n", rows.join("\n"));
            std::fs::write(folder.path().join(format!("{number}.csv")), text).unwrap();
        }
        results.push(stdout(&["estimate", folder.path().to_str().unwrap()]));
    }
    assert!(results[0].lines().any(|line| line.starts_with("p,") && line.ends_with(",old")), "{}", results[0]);
    assert_eq!(results[0], results[1]);
}

/// A file and a stream of Arrow, with dictionaries and timestamps, say the same as CSV.
#[test]
fn estimates_are_the_same_from_arrow() {
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray, TimestampSecondArray};
    use std::sync::Arc;
    let folder = tempfile::tempdir().unwrap();
    let rows = many_visits();
    write_visits(folder.path(), &rows, 1);
    let expected = stdout(&["estimate", folder.path().join("00.csv").to_str().unwrap()]);
    let names: Vec<String> = rows.iter().map(|(page, ..)| format!("p{page}")).collect();
    let pages: DictionaryArray<Int32Type> = names.iter().map(String::as_str).collect();
    let times = TimestampSecondArray::from_iter_values(rows.iter().map(|(_, time, ..)| i64::try_from(*time).unwrap()));
    let digests = StringArray::from_iter_values(rows.iter().map(|(_, _, version, _)| format!("v{version}")));
    let groups = StringArray::from_iter_values(rows.iter().map(|(.., group)| format!("g{group}")));
    let columns: [(&str, ArrayRef); 4] = [
        ("page", Arc::new(pages)),
        ("time", Arc::new(times)),
        ("digest", Arc::new(digests)),
        ("group", Arc::new(groups)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let (file, stream) = (folder.path().join("visits.arrow"), folder.path().join("visits.arrows"));
    let mut writer = arrow_ipc::writer::FileWriter::try_new(File::create(&file).unwrap(), &batch.schema()).unwrap();
    for first in (0..batch.num_rows()).step_by(1000) {
        writer.write(&batch.slice(first, 1000.min(batch.num_rows() - first))).unwrap();
    }
    writer.finish().unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(File::create(&stream).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    for path in [file, stream] {
        assert_eq!(stdout(&["estimate", path.to_str().unwrap()]), expected, "{}", path.display());
    }
}

#[test]
fn estimates_are_the_same_from_parquet() {
    use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray, TimestampMillisecondArray};
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("visits.parquet"), folder.path().join("pages.parquet"));
    let pages: ArrayRef = std::sync::Arc::new(StringArray::from(vec!["a", "a", "b", "a", "b"]));
    let day = 86_400_000;
    let times: ArrayRef =
        std::sync::Arc::new(TimestampMillisecondArray::from(vec![0, day, day, 3 * day, 4 * day]).with_timezone("UTC"));
    let changed: ArrayRef = std::sync::Arc::new(BooleanArray::from(vec![false, true, false, false, true]));
    let batch = RecordBatch::try_from_iter([("page", pages), ("time", times), ("changed", changed)]).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(File::create(&file).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let text = "page,time,changed\na,0,0\na,1970-01-02,1\nb,86400,false\na,1970-01-04 00:00:00,0\nb,345600,true\n";
    let expected = piped(&["estimate", "-"], text.as_bytes()).stdout;
    assert_eq!(stdout(&["estimate", file.to_str().unwrap()]).as_bytes(), expected);
    // And through Parquet to a plan.
    stdout(&["estimate", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let report = json(&["plan", out.to_str().unwrap(), "--budget", "1/day", "--json"]);
    assert_eq!(report["pages"][1]["page"], "b");
}

#[test]
fn the_report_of_estimates_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("changes.html");
    piped(&["estimate", "-", "--report", report.to_str().unwrap()], visits(true).as_bytes());
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(
        page.contains("1 week to 1 month") && page.contains("<h2>Are changes Poisson?</h2>") && page.contains("<svg")
    );
    assert!(page.contains("<h2>Do changes come as often as foreseen?</h2>") && page.contains("within chance"));
    // What the summary says in two lines stands in two paragraphs.
    assert!(page.contains("<p>a page changes "), "{page}");
    assert!(!page.contains("href=") && !page.contains("src="));
    let refused = everfresh().args(["estimate", "-", "--report", "changes.svg"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// A log of changes is asked whether its changes are Poisson, and bursts in it get their curve; nothing was foreseen of it.
#[test]
fn a_log_of_bursts_has_its_check_and_its_curves() {
    let (mut seed, mut text) = (3, "page,time\n".to_owned());
    for page in 0..80 {
        let mut time = 1_500_000_000.0;
        for _ in 0..60 {
            text.push_str(&format!("{page},{time:.0}\n"));
            // Weibull of shape 1/2, with a mean of two days.
            time += 60.0 + 86_400.0 * (1.0 - noise(&mut seed)).ln().powi(2);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("changes.html");
    let arguments = ["estimate", "-", "--rows", "changes", "--curves", "--report", report.to_str().unwrap()];
    let table = String::from_utf8(piped(&arguments, text.as_bytes()).stdout).unwrap();
    let bursts = table.lines().filter(|line| line.contains(",bursts,")).count();
    assert!(bursts > 60, "{bursts}: {table}");
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(page.contains("<h2>Are changes Poisson?</h2>") && page.contains("Weibull"), "{page}");
    assert!(page.contains("none was foreseen") && !page.contains("as often as foreseen?</h2>"), "{page}");
}

/// Figure 17 has no class for a page that was visited once, under an estimator that knows nothing of such: it is counted apart.
#[test]
fn the_report_counts_unknown_pages_apart() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("changes.html");
    let table = "page,time,changed\na,0,0\na,86400,1\na,172800,1\nonce,0,0\n";
    let figure = |estimator: &str| {
        piped(&["estimate", "-", "--estimator", estimator, "--report", report.to_str().unwrap()], table.as_bytes());
        let page = std::fs::read_to_string(&report).unwrap();
        page.split("<h2>Mean times between changes</h2>").nth(1).unwrap().split("<h2>").next().unwrap().to_owned()
    };
    let naive = figure("naive");
    assert!(naive.contains("not known") && naive.contains("1 page") && naive.contains("100.0 %"), "{naive}");
    assert!(!figure("gamma").contains("not known"));
}

/// Rows that are changes are asked for as such also where a few digests repeat.
#[test]
fn a_log_of_changes_is_known_by_nearly_all_rows() {
    let rows = |repeats: u32| {
        let row = |row: u32| format!("p,{},{}\n", row * 1000, row.max(repeats));
        "page,time,digest\n".to_owned() + &(0..400).map(row).collect::<String>()
    };
    let said = |repeats| String::from_utf8(piped(&["estimate", "-"], rows(repeats).as_bytes()).stderr).unwrap();
    assert!(said(2).contains("warning: 99.5 % of 399 later visits found a change"), "{}", said(2));
    assert!(said(2).contains("--rows changes"));
    assert!(said(8).contains("hint: 98.0 % of the visits found a change"), "{}", said(8));
}

/// A month in which nobody came, and after which every page had changed, of course, leaves rates where they were.
#[test]
fn an_outage_leaves_rates_where_they_were() {
    let mut seed = 5;
    let mut text = "page,time,digest\n".to_owned();
    let mut digests = [0; 40];
    for (page, hour) in (0..40).flat_map(|page| (0..30).map(move |hour| (page, hour))) {
        digests[page] += u32::from(noise(&mut seed) < 0.5);
        text.push_str(&format!("p{page},{},{}\n", hour * 3600, digests[page]));
    }
    let outage = (0..40).map(|page| format!("p{page},{},last\n", 60 * 86_400)).collect::<Vec<_>>().concat();
    let rates = |text: &str| -> Vec<f64> {
        let table = String::from_utf8(piped(&["estimate", "-"], text.as_bytes()).stdout).unwrap();
        table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect()
    };
    for (before, after) in rates(&text).iter().zip(rates(&(text.clone() + &outage))) {
        assert!((after / before - 1.0).abs() < 0.01, "{before} {after}");
    }
}

/// Names of groups that are long, or of several lines, or marked up, leave the picture and the table in order.
#[test]
fn long_names_of_groups_do_not_run_into_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("changes.html");
    let mut table = "page,time,changed,group\n".to_owned();
    for (page, time) in (0..6).flat_map(|page| (1..5).map(move |time| (page, time))) {
        let long = "very ".repeat(40);
        table.push_str(&format!("{page},{},{},\"<b>{page}\n{long}\"\n", time * 86_400, page % 2));
    }
    piped(&["estimate", "-", "--report", report.to_str().unwrap()], table.as_bytes());
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(!page.contains("<b>") && !page.contains(&"very ".repeat(20)), "{page}");
    // Four groups beside all pages are drawn, each with a key of its own: no two at the same height.
    let keys: Vec<&str> = page.split("<text ").filter(|text| text.contains("&lt;b&gt;")).collect();
    let heights: std::collections::HashSet<&str> =
        keys.iter().filter_map(|key| key.split("y=\"").nth(1)?.split('"').next()).collect();
    assert_eq!((keys.len(), heights.len()), (4, 4), "{page}");
}

/// Pictures have a dot for every page of few, and pages of HTML hold the picture and the words.
#[test]
fn pictures_are_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    stdout(&["plan", "--example", "--plot", &path("plan.svg")]);
    let svg = std::fs::read_to_string(path("plan.svg")).unwrap();
    // Five pages and the one of the legend.
    assert_eq!(svg.matches("<circle").count(), 6, "{svg}");
    assert!(svg.contains("never visited") && svg.contains("the law for a page of weight 1"), "{svg}");
    std::fs::write(path("pages.csv"), "page,rate\na,1\nb,3\n").unwrap();
    stdout(&["budget", &path("pages.csv"), "--target", "0.5", "--plot", &path("curve.html")]);
    let page = std::fs::read_to_string(path("curve.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("for freshness 0.5: budget"), "{page}");
    assert_eq!(page.matches("<circle").count(), 1, "the answer is a dot on the curve");
}

/// The life lines of a list above its divergence: a stripe for every stay of a fragment, a dot for every separation.
#[test]
fn life_lines_are_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let line = |day: u64| {
        let text = (day..day + 3).map(|item| format!("item {item}\\n")).collect::<Vec<_>>().concat();
        format!("{{\"p\": \"list\", \"t\": {}, \"x\": \"menu\\n{text}\"}}\n", day * 86_400)
    };
    std::fs::write(path("list.jsonl"), (0..10).map(line).collect::<Vec<_>>().concat()).unwrap();
    let list = path("list.jsonl");
    let common = ["longevity", &list, "--page", "list", "--fragments", "lines", "--price", "1h", "--now", "864000"];
    let drawn = |name: &str| {
        stdout(&[&common[..], &["--draw", &path(name)]].concat());
        std::fs::read_to_string(path(name)).unwrap()
    };
    let svg = drawn("list.svg");
    // The menu and twelve items, three kinds in one legend and the utility in the other, and the paper.
    assert_eq!(svg.matches("<rect").count(), 13 + 3 + 1 + 1, "{svg}");
    assert!(svg.contains("always there") && svg.contains("utility at the period: 1h"), "{svg}");
    let page = drawn("list.html");
    assert!(page.contains("scroll of 3") && page.contains("<svg viewBox"), "{page}");
}

/// What `longevity` writes goes into `plan` as it is. A page whose own fit has no weight gets the same period from both; of others the plan
/// knows a curve of the same height and half-time.
#[test]
fn longevity_feeds_plans() {
    let snapshots = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/longevity.in/snapshots.jsonl");
    let common = ["longevity", snapshots, "--fragments", "lines", "--price", "2h", "--now", "2024-05-29T06:00:00Z"];
    let table = stdout(&[&common[..], &["--out", "-"]].concat());
    let plan = piped(&["plan", "--price", "2h", "--json", "-"], table.as_bytes());
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    let report = json(&[&common[..], &["--json"]].concat());
    for (planned, page) in plan["pages"].as_array().unwrap().iter().zip(report["pages"].as_array().unwrap()) {
        assert_eq!(planned["page"], page["page"]);
        let ratio = planned["period_days"].as_f64().unwrap() / page["period_days"].as_f64().unwrap();
        let weight = page["fit_weight"].as_f64().unwrap();
        println!("{}: {ratio} at a weight of {weight}", page["page"]);
        assert!((ratio - 1.0).abs() < if weight == 0.0 { 1e-6 } else { 0.25 }, "{page}: {ratio}");
    }
}

/// Pages of which nothing is known, as estimators without a prior write them, are named, not visited, and do not count.
#[test]
fn pages_without_a_rate_are_left_alone() {
    let visits = "page,time,changed\na,0,0\na,86400,1\na,172800,0\nonce,0,0\n";
    let estimates = piped(&["estimate", "-", "--estimator", "naive"], visits.as_bytes());
    let table = String::from_utf8(estimates.stdout.clone()).unwrap();
    assert!(table.contains("\nonce,,"), "{table}");
    let with = piped(&["plan", "-", "--budget", "1/day", "--json"], &estimates.stdout);
    let said = String::from_utf8(with.stderr).unwrap();
    assert_eq!(said, "1 row without a rate: these pages are not visited and count for nothing\n");
    let with: Value = serde_json::from_slice(&with.stdout).unwrap();
    assert_eq!(with["pages"][1]["reason"], "rate unknown");
    assert!(with["pages"][1]["freshness"].is_null() && with["pages"][1]["frequency_per_day"] == 0.0, "{with}");
    let promised = piped(&["plan", "-", "--budget", "1/day"], b"page,rate,max_period\na,1,\nb,,10days\n");
    let said = String::from_utf8(promised.stderr).unwrap();
    assert!(said.contains("these pages are visited only as max_period promises"), "{said}");
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with("once")).collect();
    let without = piped(&["plan", "-", "--budget", "1/day", "--json"], rows.join("\n").as_bytes());
    let without: Value = serde_json::from_slice(&without.stdout).unwrap();
    assert_eq!((&with["pages"][0], &with["allocations"]), (&without["pages"][0], &without["allocations"]));
    let people = piped(&["plan", "-", "--budget", "1/day"], table.as_bytes());
    assert!(String::from_utf8(people.stdout).unwrap().contains("rate unknown"));
    let budget = piped(&["budget", "-", "--target", "0.8"], table.as_bytes());
    assert!(budget.status.success(), "{budget:?}");
}

/// What is read is not replaced, and a place that is not there is found out before the work.
#[test]
fn outputs_are_checked_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("visits.csv"), "page,time,changed\na,0,0\na,86400,1\n").unwrap();
    std::os::unix::fs::symlink("visits.csv", path("link.csv")).unwrap();
    let refused = |arguments: &[&str], why: &str| {
        let output = everfresh().args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(why), "{arguments:?}: {said}");
    };
    let (visits, link, folder) = (path("visits.csv"), path("link.csv"), directory.path().to_str().unwrap());
    refused(&["estimate", &visits, "--out", &visits], "it is what is read, and would be replaced");
    refused(&["estimate", &visits, "--out", &link], "it is what is read");
    refused(&["estimate", folder, "--out", &visits], "it is what is read");
    refused(&["plan", &visits, "--budget", "1/day", "--out", &visits], "it is what is read");
    refused(&["longevity", &visits, "--out", &link], "it is what is read");
    // So are caps and pictures, and a new table among those that are read would be one of them the next time.
    std::fs::write(path("pages.csv"), "page,rate,host\na,1,x\n").unwrap();
    std::fs::write(path("caps.csv"), "host,cap\nx,1\n").unwrap();
    let (pages, caps) = (path("pages.csv"), path("caps.csv"));
    let plan = ["plan", &pages, "--budget", "1/day", "--host-caps", &caps];
    refused(&[&plan[..], &["--out", &caps]].concat(), "it is what is read, and would be replaced");
    std::fs::write(path("pages.svg"), "page,rate\na,1\n").unwrap();
    refused(&["budget", &path("pages.svg"), "--plot", &path("pages.svg")], "it is what is read");
    refused(&["plan", folder, "--budget", "1/day", "--out", &path("new.csv")], "it would be one of the tables in");
    assert_eq!(std::fs::read_to_string(path("caps.csv")).unwrap(), "host,cap\nx,1\n");
    std::fs::write(path("named.csv"), "freshness,rate\na,1\n").unwrap();
    let twice = ["plan", &path("named.csv"), "--budget", "1/day", "--page-column", "freshness", "--json"];
    refused(&twice, "the result would have two columns `freshness`");
    // The report is looked at before the table, which is not there either.
    let absent = path("absent/report.html");
    refused(&["estimate", "nowhere.csv", "--out", "-", "--report", &absent], "there is no such directory");
    refused(&["estimate", "nowhere.csv", "--out", &path("absent/rates.csv")], "there is no such directory");
    refused(&["longevity", "nowhere", "--page", "a", "--draw", &path("absent/a.svg")], "there is no such directory");
    assert!(std::fs::read_to_string(visits).unwrap().starts_with("page,time,changed"));
}

/// Pipes in directories are not waited for, links to directories are not followed, and both are said.
#[test]
fn what_is_no_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(path("a")).unwrap();
    for day in 1..4 {
        std::fs::write(path(&format!("a/2024-05-0{day}.txt")), format!("soup {day}")).unwrap();
    }
    std::os::unix::fs::symlink("a", path("b")).unwrap();
    assert!(Command::new("mkfifo").args([path("a/2024-05-05.txt"), path("a/pages.csv")]).status().unwrap().success());
    let folder = directory.path().to_str().unwrap();
    let output = everfresh().args(["longevity", folder, "--now", "2024-05-03"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    for why in [
        "1 directory skipped: a link to a directory may lead in a circle (first: ",
        "2 files skipped: it is no regular file, or is not there (first: ",
    ] {
        assert!(said.contains(why), "{said}");
    }
    let output = everfresh().args(["plan", folder, "--budget", "1/day"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("pages.csv` skipped: it is no regular file") && said.contains("/b` skipped: a link"),
        "{said}"
    );
    assert!(said.contains("there is no table in this directory"), "{said}");
}

/// A page with a single version is drawn too: on axes that a person can read.
#[test]
fn a_single_version_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("one.jsonl"), "{\"page\": \"a\", \"time\": 86400, \"text\": \"soup of the day\"}\n").unwrap();
    for now in ["86400", "172800"] {
        let svg = path("one.svg");
        stdout(&["longevity", &path("one.jsonl"), "--page", "a", "--fragments", "1", "--now", now, "--draw", &svg]);
        let svg = std::fs::read_to_string(svg).unwrap();
        let labels: Vec<&str> = svg.lines().map(str::trim).filter(|line| line.parse::<f64>().is_ok()).collect();
        assert!(labels.contains(&"0.5") && labels.iter().all(|label| label.len() < 7), "{labels:?}");
    }
}

#[test]
fn simulate_as_json_says_under_which_conditions() {
    let report = json(&[
        "simulate",
        "--pages",
        "50",
        "--days",
        "30",
        "--policies",
        "stormcrawler,uniform,uniform",
        "--objective",
        "content",
        "--order",
        "random",
        "--hold-peers",
        "--failures",
        "0.1",
        "--latency",
        "1h",
        "--warmup",
        "3days",
        "--hosts",
        "5",
        "--host-cap",
        "1/day",
        "--seeds",
        "2",
        "--json",
    ]);
    assert_eq!((&report["objective"], &report["order"]), (&"content".into(), &"random".into()));
    assert_eq!((&report["peers_held"], &report["seeds"], &report["hosts"]), (&true.into(), &2.into(), &5.into()));
    for (key, value) in [("failures", 0.1), ("latency_s", 3600.0), ("warmup_days", 3.0), ("host_cap_per_day", 1.0)] {
        near(&report[key], value);
    }
    let rows = report["policies"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["policy"].as_str().unwrap()).collect::<Vec<_>>(), ["stormcrawler", "uniform"]);
    for row in rows {
        // Five hosts allow a visit a day each, half of the budget, in 27 days.
        let (visits, freshness) = (row["visits"].as_f64().unwrap(), row["freshness"].as_f64().unwrap());
        assert!((100.0..=140.0).contains(&visits) && row["misses_budget"] == true, "{row}");
        assert!((0.1..0.9).contains(&freshness) && row["freshness_error"].as_f64().unwrap() < 0.1, "{row}");
    }
}

#[test]
fn every_policy_is_in_the_help_and_among_all() {
    let help = stdout(&["simulate", "--help"]);
    let all = json(&["simulate", "--pages", "5", "--days", "5", "--policies", "all,uniform", "--json"]);
    let names = all["policies"].as_array().unwrap().iter().map(|row| row["policy"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 20 && names[0] == "uniform", "{names:?}");
    for name in names {
        let is_in = help.split(|letter: char| letter.is_whitespace() || letter == ',').any(|word| word == name);
        assert!(is_in, "{name} is not in the help");
    }
    assert!(help.lines().all(|line| line.len() <= 120), "{help}");
}

#[test]
fn a_report_says_what_the_peers_were_held_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.html");
    let args = ["simulate", "--pages", "30", "--days", "20", "--policies", "uniform,optimal,heritrix", "--report"];
    for (flags, words, no_words) in [
        (&[][..], "at the load they chose", "held to the same budgets"),
        (&["--hold-peers"], "held to the same budgets", "at the load they chose"),
    ] {
        stdout(&[&args[..], &[path.to_str().unwrap()], flags].concat());
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page.contains(words) && !page.contains(no_words) && page.matches("<svg").count() >= 3, "{flags:?}");
        assert!(page.contains("heritrix"), "{flags:?}");
    }
}

/// The curves of cost against staleness of OP08, each only where there is somebody to show.
#[test]
fn a_report_has_the_pictures_of_op08() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.html");
    let figures = ["OP08 figure 6", "OP08 figure 8", "OP08 figure 9", "OP08 figures 11 and 12"];
    for (policies, drawn) in [
        // At prices of their own: none has to be found for every budget.
        ("uniform,fs-s,fs-d:price=1day,curve-fitting:price=1day,cgm:price=1day", &figures[..]),
        ("uniform,fs-s,posterior", &figures[..3]),
        ("uniform,fs-s", &figures[..1]),
    ] {
        let args = ["simulate", "--pages", "10", "--days", "40", "--habit", "regions", "--objective", "content"];
        stdout(&[&args[..], &["--policies", policies, "--report", path.to_str().unwrap()]].concat());
        let page = std::fs::read_to_string(&path).unwrap();
        let found: Vec<&str> = figures.into_iter().filter(|figure| page.contains(figure)).collect();
        assert_eq!(found, drawn, "{policies}");
        assert!(
            page.matches("<svg").count() >= drawn.len() && page.contains("mean divergence of content"),
            "{policies}"
        );
    }
}

#[test]
fn compare_as_json_has_the_same_numbers() {
    let visits = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/compare.in/visits.csv");
    let args = ["compare", visits, "--now", "2026-01-01", "--policies", "uniform,posterior"];
    let (report, text) = (json(&[&args[..], &["--json"]].concat()), stdout(&args));
    assert_eq!((&report["pages"], &report["visits"]), (&12.into(), &228.into()));
    for row in report["policies"].as_array().unwrap() {
        assert!(text.contains(&format!("{:.4}", row["freshness"].as_f64().unwrap())), "{row}\n{text}");
    }
    near(&report["could_be"], report["policies"][1]["freshness"].as_f64().unwrap());
}

/// RN15's net income of pages that change every ten days and are visited every five, 400 of them for half a year.
#[test]
fn simulated_income_is_that_of_the_closed_form() {
    let report = json(&[
        "simulate",
        "--world",
        "constant",
        "--pages",
        "400",
        "--days",
        "180",
        "--budget",
        "1/5days/page",
        "--policies",
        "uniform",
        "--warmup",
        "10days",
        "--benefit",
        "3/day",
        "--visit-cost",
        "2",
        "--json",
    ]);
    let curve = Exponential::new(Rate::per(0.1, Unit::Day).unwrap());
    let asset = Asset::new(curve, 3.0, Unit::Day, 2.0).unwrap();
    let expected = asset.net_income_per_second(everfresh::Period::of(5.0, Unit::Day).unwrap()) * Unit::Day.seconds();
    let (income, error) =
        (&report["policies"][0]["income_per_page_per_day"], &report["policies"][0]["freshness_error"]);
    let off = income.as_f64().unwrap() - expected;
    assert!(off.abs() < 3.0 * 3.0 * error.as_f64().unwrap(), "{income} is not {expected}");
}
