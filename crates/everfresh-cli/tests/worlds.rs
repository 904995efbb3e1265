//! `everfresh simulate` on recorded pages, what it draws, and what an interrupt leaves of it.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const DAY: u32 = 86_400;
/// 2024-01-01.
const START: u32 = 1_704_067_200;

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_everfresh")).arg("simulate").args(arguments).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = simulate(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn report(world: &str, arguments: &[&str]) -> Value {
    let usual = ["--world", world, "--policies", "uniform,posterior", "--json", "--budget", "1/3days/page"];
    serde_json::from_str(&text(&[&usual, arguments].concat())).unwrap()
}

/// One number of the first policy, uniform.
fn of_uniform(report: &Value, key: &str) -> f64 {
    assert_eq!(report["policies"][0]["policy"], "uniform");
    report["policies"][0][key].as_f64().unwrap()
}

/// When page n changes: every n + 1 days, at six, for 90 days.
fn changes(page: u32) -> impl Iterator<Item = u32> {
    (0..90).step_by(page as usize + 1).map(|day| START + day * DAY + 6 * 3600)
}

/// Twelve pages of four fragments, of which each change replaces one.
fn write_trace(folder: &Path) {
    let mut visits = "page,time_unix,content_hash,kind\n".to_owned();
    let mut shingles = "page,time_unix,n,added,removed\n".to_owned();
    for page in 0..12 {
        for (number, time) in changes(page).enumerate() {
            let kind = if number == 0 { "f" } else { "u" };
            writeln!(visits, "p{page},{time},{page}-{number},{kind}").unwrap();
            let fragment = |number: usize| format!("{page:x}{number:04x}");
            let (added, removed) = if number == 0 {
                ((1..5).map(|n| fragment(0xf00 + n)).collect::<Vec<_>>().join(" "), String::new())
            } else if number < 5 {
                (fragment(number), fragment(0xf00 + number))
            } else {
                (fragment(number), fragment(number - 4))
            };
            writeln!(shingles, "p{page},{time},4,{added},{removed}").unwrap();
        }
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(visits.as_bytes()).unwrap();
    std::fs::write(folder.join("visits.csv.gz"), packed.finish().unwrap()).unwrap();
    std::fs::write(folder.join("shingles.csv.zst"), zstd::bulk::compress(shingles.as_bytes(), 1).unwrap()).unwrap();
}

#[test]
fn a_trace_is_replayed_from_one_day_to_another() {
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path());
    let world = format!("trace:{}", folder.path().display());
    let month = ["--from", "2024-01-11", "--to", "2024-02-10"];
    let exact = report(&world, &month);
    assert_eq!((exact["pages"].as_u64(), exact["days"].as_f64()), (Some(12), Some(30.0)));
    assert!((of_uniform(&exact, "visits") - 120.0).abs() <= 6.0, "{exact}");
    let fresh = of_uniform(&exact, "freshness");
    assert!((0.3..0.95).contains(&fresh), "{exact}");
    assert!(["optimal", "hs-s"].contains(&exact["optimum"].as_str().unwrap()), "{exact}");
    // Who looked right after every change recorded exact times; a look after two days moves changes back, and copies are stale for longer.
    let looked = |eagerness: &str| {
        let looked = ["--looked-every", "2days", "--eagerness", eagerness];
        report(&world, &[&month[..], &looked].concat())["policies"].clone()
    };
    assert_eq!(looked("0"), exact["policies"]);
    assert_ne!(looked("1"), exact["policies"]);
    assert_ne!(looked("1"), looked("0.5"));
}

#[test]
fn a_trace_has_content() {
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path());
    let world = format!("trace:{}", folder.path().display());
    let (whole, parts) = (report(&world, &[]), report(&world, &["--objective", "content"]));
    assert_eq!((parts["objective"].as_str(), parts["optimum"].as_str()), (Some("content"), Some("fs-s")));
    // One change leaves three fragments of five: most stale copies are 0.4 off, and none of them wholly.
    let (stale, diverged) = (1.0 - of_uniform(&parts, "freshness"), of_uniform(&parts, "staleness"));
    assert!(diverged > 0.39 * stale && diverged < 0.7 * stale, "{diverged} of {stale}");
    assert!((of_uniform(&whole, "staleness") - stale).abs() < 1e-9, "without fragments a copy is right or wrong");
}

#[test]
fn a_window_beyond_the_trace_is_said_in_dates() {
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path());
    let world = format!("trace:{}", folder.path().display());
    let said = |arguments: &[&str]| {
        let output = simulate(&[&["--world", world.as_str(), "--policies", "uniform"], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let beyond = said(&["--from", "2030-01-01"]);
    assert!(beyond.contains("nothing is known after 2024-03-30T06:00:00Z"), "{beyond}");
    assert!(beyond.contains("a window from 2030-01-01T00:00:00Z"), "{beyond}");
    let turned = said(&["--from", "2024-02-01", "--to", "2024-01-15"]);
    assert!(turned.contains("got 2024-02-01T00:00:00Z to 2024-01-15T00:00:00Z"), "{turned}");
}

#[test]
fn a_directory_of_snapshots_is_a_world() {
    let folder = tempfile::tempdir().unwrap();
    for page in 0..3u32 {
        let own = folder.path().join(format!("p{page}"));
        std::fs::create_dir(&own).unwrap();
        for day in 0..40u32 {
            let version = day / (page + 1);
            let words = format!("page {page} stays as it was\nversion {version} has {version} new lines\nthe end\n");
            std::fs::write(own.join(format!("{}.txt", START + day * DAY)), words).unwrap();
        }
    }
    let world = format!("snapshots:{}", folder.path().display());
    let found = report(&world, &["--eagerness", "0.5"]);
    assert_eq!((found["pages"].as_u64(), found["days"].as_f64()), (Some(3), Some(39.0)));
    assert!((0.1..0.9).contains(&of_uniform(&found, "freshness")), "{found}");
    assert_ne!(report(&world, &["--eagerness", "1"])["policies"], found["policies"]);
    // Where pages do not change at random the table says who the optimum is.
    let table = text(&["--world", &world, "--policies", "uniform", "--budget", "1/3days/page"]);
    assert!(table.contains("; the optimum: "), "{table}");
}

#[test]
fn a_report_is_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.html");
    let arguments = ["--pages", "60", "--days", "40", "--policies", "uniform,optimal,posterior"];
    let table = text(&[&arguments[..], &["--report", path.to_str().unwrap()]].concat());
    assert_eq!(table, text(&arguments), "the table is the same with a report");
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.contains("<title>Policies compared</title>") && page.trim_end().ends_with("</html>"));
    // Told, learning, learnt, and the share of the gain.
    assert_eq!(page.matches("<svg").count(), 4, "{}", page.len());
    assert!(page.contains("posterior") && page.contains("world: lognormal poisson, 60 pages for 40 days"));
}

#[test]
fn an_interrupt_ends_a_simulation_and_leaves_no_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.html");
    let interrupted = |after_ms: u64| {
        let child = Command::new(env!("CARGO_BIN_EXE_everfresh"))
            .args(["simulate", "--pages", "20000", "--report", path.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        let asked = Instant::now();
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
        output
    };
    // The program is there once it listens; before, which may be long on a busy machine, the signal ends it without a word.
    let outputs = [500, 2000, 5000].into_iter().map(interrupted);
    let output = outputs.into_iter().find(|output| output.status.code().is_some()).unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "error: interrupted; nothing was written\n");
    assert!(output.stdout.is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
