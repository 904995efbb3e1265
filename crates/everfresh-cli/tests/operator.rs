//! What an operator does with a store while a run has it open: backups, notices, and a look at it. Sources are files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use everfresh::Unit;
use everfresh_sched::{Outcome, PageTerms, Scheduler, Settings};
use everfresh_store::Durable;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn everfresh(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everfresh"));
    command.current_dir(dir).args(arguments).env_remove("EVERFRESH_STORE").output().unwrap()
}

fn said(dir: &Path, arguments: &[&str]) -> String {
    let output = everfresh(dir, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

fn refused(dir: &Path, arguments: &[&str], code: i32) -> String {
    let output = everfresh(dir, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

fn json(dir: &Path, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&said(dir, &[arguments, &["--json"]].concat())).unwrap()
}

/// Some files as sources, and what is asked of all.
fn sources(dir: &Path, files: u32, budget: &str, each: &str) -> Vec<String> {
    let mut config = format!("budget = \"{budget}\"\ncontact = \"me@example.org\"\n[limits]\ngap = \"0s\"\n");
    let mut pages = Vec::new();
    for number in 0..files {
        let path = dir.join(format!("{number}.txt"));
        std::fs::write(&path, format!("the words {number}\n")).unwrap();
        pages.push(path.display().to_string());
        config.push_str(&format!("[[sources]]\naddress = \"{}\"\n{each}\n", path.display()));
    }
    std::fs::write(dir.join("everfresh.toml"), config).unwrap();
    pages
}

/// A run that goes on; killed when it is dropped.
struct Running {
    process: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Running {
    fn start(dir: &Path) -> Running {
        let mut process = Command::new(env!("CARGO_BIN_EXE_everfresh"))
            .current_dir(dir)
            .args(["run", "everfresh.toml"])
            .env_remove("EVERFRESH_STORE")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, lines) = std::sync::mpsc::channel();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Running { process, lines }
    }

    /// Waits for a line that has these words.
    fn hears(&self, words: &str) -> String {
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("never heard `{words}`"));
            if line.contains(words) {
                return line;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn backups(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

#[test]
fn a_store_is_backed_up_while_a_run_goes_on_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let pages = sources(dir, 20, "10000000/day", "pin = \"1s\"");
    assert!(refused(dir, &["backup", "backups"], 2).contains("cannot find a store in `everfresh-data`"));
    let running = Running::start(dir);
    running.hears("unchanged");
    let first = json(dir, &["backup", "backups"]);
    assert!(first["events"].as_u64().unwrap() > 60 && first["shared_bytes"] == 0, "{first}");
    running.hears("unchanged");
    let text = said(dir, &["backup", "backups", "--keep", "2"]);
    assert!(text.contains(" copied, ") && !text.contains("removed"), "{text}");
    running.hears("unchanged");
    let last = json(dir, &["backup", "backups", "--keep", "1"]);
    assert_eq!(last["removed"], 2);
    drop(running);
    let last = last["path"].as_str().unwrap();
    assert_eq!(backups(&dir.join("backups")), [dir.join(last)]);
    // It is a store: it can be looked at and worked with where it is.
    assert_eq!(json(dir, &["status", "--data", last])["pages"], 20);
    for (number, page) in pages.iter().enumerate() {
        assert_eq!(said(dir, &["cat", "--data", last, page]), format!("the words {number}\n"));
    }
    // And it is copied to where the store was, rebuilt and run.
    std::fs::remove_dir_all(dir.join("everfresh-data")).unwrap();
    let copied = Command::new("cp").args(["-r", last, "everfresh-data"]).current_dir(dir).status().unwrap();
    assert!(copied.success());
    assert!(said(dir, &["rebuild"]).contains("rebuilt 20 pages"));
    std::fs::write(dir.join("7.txt"), "other words\n").unwrap();
    // By then every page is due again, and the budget has brought a visit for each.
    std::thread::sleep(Duration::from_millis(2500));
    let text = said(dir, &["run", "everfresh.toml", "--once"]);
    assert!(text.contains("20 visits: 1 changed, 19 unchanged"), "{text}");
    assert_eq!(json(dir, &["history", &pages[7]]).as_array().unwrap().last().unwrap()["same_as_before"], false);
    assert!(refused(dir, &["backup", "everfresh-data"], 1).contains("backups need a directory of their own"));
}

#[test]
fn a_notice_reaches_the_run_that_goes_on_or_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert!(refused(dir, &["notice", "/nowhere"], 2).contains("cannot find a store"));
    // After the first visits there is nothing left to spend for hours.
    let pages = sources(dir, 3, "9/day", "");
    let running = Running::start(dir);
    running.hears("copied");
    let copied = |page: &&String| !json(dir, &["explain", page])["freshness"].is_null();
    let page = pages.iter().find(copied).unwrap();
    let before = json(dir, &["explain", page]);
    assert_eq!((&before["hint"], &before["state"]), (&serde_json::Value::Null, &"live".into()));
    std::thread::sleep(Duration::from_millis(200));
    let text = said(dir, &["notice", page, "/never/added"]);
    assert!(text.contains("left a notice of 2 pages: the run takes it in at once"), "{text}");
    running.hears("a notice of a page that is not known");
    let after = json(dir, &["explain", page]);
    assert!(after["hint"] == "notice" && after["hint_believed"].as_f64().unwrap() > 0.75, "{after}");
    assert!(after["due"].as_str() < before["due"].as_str(), "{before} {after}");
    let told = said(dir, &["explain", page]);
    assert!(told.contains("notice, believed 80.0 %") && told.contains("stale after a day, a week, 30 days"), "{told}");
    drop(running);
    // Without a run it waits for the next.
    assert!(said(dir, &["notice", page]).contains("the next run takes it in"));
    let left = || std::fs::read_dir(dir.join("everfresh-data/notices")).unwrap().count();
    assert_eq!(left(), 1);
    said(dir, &["run", "everfresh.toml", "--once"]);
    assert_eq!(left(), 0);
    std::fs::write(dir.join("everfresh-data/notices/1.jsonl"), "nothing that a notice is\n").unwrap();
    assert!(said(dir, &["run", "everfresh.toml", "--once"]).contains("a notice cannot be read"));
    assert_eq!(left(), 0);
}

/// A store with a page that was there in 2024 and was gone since, after so many visits at most: how many there were.
fn gone(data: &Path, address: &str, most: usize) -> usize {
    let start_s = 1.7e9;
    let settings = Settings::new(100.0, Unit::Day).unwrap().with_start(start_s).unwrap();
    let store = Durable::open(data, "a test").unwrap();
    let mut scheduler = Scheduler::open(settings, store, start_s).unwrap();
    let (page, _) = scheduler.store_mut().page(address, |_| false).unwrap();
    let host = scheduler.store_mut().host("file").unwrap();
    scheduler.store_mut().name_page(page, address);
    scheduler.add(start_s, page, PageTerms::new(host)).unwrap();
    let mut now_s = start_s;
    let mut visits = 0;
    while visits < most {
        let Some(next) = scheduler.next_wakeup(now_s) else { break };
        now_s = next.max(now_s + 1.0);
        for lease in scheduler.lease(now_s, 1).unwrap() {
            let outcome = if visits == 0 { Outcome::Unchanged } else { Outcome::Gone };
            scheduler.complete(now_s, lease.id, outcome).unwrap();
            visits += 1;
        }
    }
    scheduler.compact().unwrap();
    visits
}

#[test]
fn pages_that_are_retired_can_be_listed_and_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let page = sources(dir, 1, "100/day", "").pop().unwrap();
    gone(&dir.join("everfresh-data"), &format!("file://{page}"), usize::MAX);
    assert_eq!(json(dir, &["status"])["retired"], 1);
    assert!(said(dir, &["export"]).contains(",retired,"));
    let told = said(dir, &["explain", &page]);
    assert!(told.contains("it was gone for good: `everfresh add` takes it back"), "{told}");
    // Who runs a list each night does not ask for it again each night.
    assert!(said(dir, &["run", "everfresh.toml", "--once"]).contains("0 visits"));
    std::fs::write(dir.join("list.txt"), &page).unwrap();
    assert!(said(dir, &["add", "list.txt"]).contains("added 1 page"));
    assert_eq!(json(dir, &["status"])["retired"], 0);
    assert!(said(dir, &["run", "everfresh.toml", "--once"]).contains("1 visit"));
    let spent = json(dir, &["status"]);
    assert_eq!((&spent["spent_last_day"], &spent["retired"]), (&1.0.into(), &0.into()), "{spent}");
}

#[test]
fn a_run_says_which_pages_it_gives_up() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let page = sources(dir, 1, "100/day", "").pop().unwrap();
    let address = format!("file://{page}");
    let last = gone(&dir.join("elsewhere"), &address, usize::MAX) - 1;
    gone(&dir.join("everfresh-data"), &address, last);
    std::fs::remove_file(&page).unwrap();
    let told = said(dir, &["run", "everfresh.toml", "--once"]);
    assert!(told.contains("gone for good") && told.contains(&address), "{told}");
    assert_eq!(json(dir, &["status"])["retired"], 1);
}

#[test]
fn a_store_whose_clock_was_ahead_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("list.txt"), "https://a.example/\nhttps://a.example/2\n").unwrap();
    let words = "nothing becomes due until then";
    let added = said(dir, &["add", "list.txt", "--budget", "10/day", "--now", "2026-01-01T00:00:00Z"]);
    assert!(!added.contains(words) && !said(dir, &["status"]).contains(words));
    assert!(!said(dir, &["pin", "https://a.example/", "1h", "--now", "2035-01-01T00:00:00Z"]).contains(words));
    let told = said(dir, &["status", "--now", "2030-01-01T00:00:00Z"]);
    assert!(told.contains("2030-01-01T00:00:00Z and the store has heard of 2035-01-01T00:00:00Z"), "{told}");
}

#[test]
fn a_clock_that_is_not_set_begins_no_store() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("list.txt"), "https://a.example/\n").unwrap();
    let add = ["add", "list.txt", "--budget", "10/day", "--now"];
    let told = refused(dir, &[&add[..], &["1970-03-01T00:00:00Z"]].concat(), 2);
    assert!(told.contains("the clock must be set") && !dir.join("everfresh-data").exists(), "{told}");
    said(dir, &[&add[..], &["2021-03-01T00:00:00Z"]].concat());
    let told = refused(dir, &["status", "--now", "2040-01-01T00:00:00Z"], 2);
    assert!(told.contains("tells times apart until 2038-"), "{told}");
}

#[test]
fn who_stays_does_not_spend_what_one_who_came_and_went_was_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    sources(dir, 60, "1/s", "pin = \"1s\"");
    let first = said(dir, &["run", "everfresh.toml", "--once"]);
    assert!(first.contains("60 visits"), "{first}");
    let running = Running::start(dir);
    std::thread::sleep(Duration::from_secs(6));
    drop(running);
    // Ten at once and one a second: a day's would be thousands.
    let spent = json(dir, &["status"])["spent_last_day"].as_f64().unwrap();
    assert!((60.0..=60.0 + 22.0).contains(&spent), "{spent}");
}

#[test]
fn who_comes_after_days_spends_what_they_have_brought() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let pages = sources(dir, 60, "60/day", "");
    std::fs::write(dir.join("list.txt"), pages.join("\n")).unwrap();
    said(dir, &["add", "list.txt", "--budget", "60/day", "--now", "2026-01-01T00:00:00Z"]);
    let first = said(dir, &["run", "everfresh.toml", "--once"]);
    assert!(first.contains("60 visits"), "{first}");
}

#[test]
fn many_pages_are_changed_together() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let list: Vec<String> = (0..25_000).map(|number| format!("https://a.example/{number}")).collect();
    std::fs::write(dir.join("list.txt"), list.join("\n")).unwrap();
    said(dir, &["add", "list.txt", "--budget", "10/day"]);
    assert!(said(dir, &["add", "list.txt", "--weight", "3"]).contains("25000 of them changed"));
    assert_eq!(said(dir, &["export"]).matches(",live,3.0,").count(), 25_000);
    assert!(said(dir, &["remove", "https://a.example/1", "https://a.example/2"]).contains("forgot 2 pages"));
    assert_eq!(json(dir, &["status"])["pages"], 24_998);
}

/// What a list does not say of a page stays as it is; what it says last counts.
#[test]
fn lists_say_more_of_pages_that_are_known() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let page = "https://a.example/1";
    let add = |table: &str, options: &[&str]| {
        std::fs::write(dir.join("list.csv"), table).unwrap();
        said(dir, &[&["add", "list.csv"], options].concat())
    };
    let terms = || {
        let explained = json(dir, &["explain", page]);
        ["min_period_days", "max_period_days", "weight"].map(|key| explained[key].as_f64())
    };
    add(&format!("address\n{page}\n"), &["--budget", "10/day", "--max-period", "1h"]);
    add(&format!("address,min_period\n{page},10min\n"), &[]);
    assert_eq!(terms(), [Some(1.0 / 144.0), Some(1.0 / 24.0), Some(1.0)]);
    std::fs::write(dir.join("crossed.csv"), format!("address,min_period\n{page},2h\n")).unwrap();
    let crossed = refused(dir, &["add", "crossed.csv"], 2);
    assert!(crossed.contains("line 2") && crossed.contains("cannot set its bounds"), "{crossed}");
    add(&format!("address,weight,host\n{page},2,farm\n"), &[]);
    assert_eq!(terms(), [Some(1.0 / 144.0), Some(1.0 / 24.0), Some(2.0)]);
    assert!(json(dir, &["explain", page])["host"] == "farm");
    let told = said(dir, &["explain", page]);
    assert!(told.contains("weight 2, at least 10min between visits, at most 1h between visits"), "{told}");
    let told = add("address,weight\nhttps://a.example/2,5\nhttps://a.example/2,7\n", &[]);
    assert!(told.contains("added 1 page; 1 were known"), "{told}");
    assert_eq!(json(dir, &["explain", "https://a.example/2"])["weight"], 7.0);
}

#[test]
fn an_index_of_sitemaps_is_no_list_of_pages() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let index = "<?xml version=\"1.0\"?><sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
                 <sitemap><loc>https://a.example/news.xml</loc></sitemap></sitemapindex>";
    std::fs::write(dir.join("index.xml"), index).unwrap();
    let told = refused(dir, &["add", "index.xml", "--budget", "10/day"], 2);
    assert!(told.contains("it is an index of sitemaps") && told.contains("follow = true"), "{told}");
}

#[test]
fn what_is_done_to_pages_is_told_to_machines() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let pages = sources(dir, 3, "1000/day", "");
    said(dir, &["run", "everfresh.toml", "--once"]);
    let address = |page: &str| format!("file://{page}");
    let pinned = json(dir, &["pin", &pages[0], "1h"]);
    assert_eq!((&pinned["page"], &pinned["pinned_s"]), (&address(&pages[0]).into(), &3600.0.into()));
    assert_eq!(json(dir, &["explain", &pages[0]])["waits_for"], "its pin");
    assert_eq!(json(dir, &["pin", &pages[0], "--off"])["pinned_s"], serde_json::Value::Null);
    let noticed = json(dir, &["notice", &pages[0], &pages[1]]);
    assert_eq!(noticed["pages"], serde_json::json!([address(&pages[0]), address(&pages[1])]));
    assert_eq!(noticed["taken_in_at_once"], false);
    let removed = json(dir, &["remove", &pages[2]]);
    assert_eq!(removed, serde_json::json!({ "removed": [address(&pages[2])], "pages": 2 }));
    let rebuilt = json(dir, &["rebuild"]);
    assert_eq!((&rebuilt["pages"], &rebuilt["lost"]), (&2.into(), &serde_json::Value::Null));
    assert!(rebuilt["events"].as_u64().unwrap() >= 8, "{rebuilt}");
}

/// `script` gives the program a terminal of its own.
#[test]
#[cfg(target_os = "linux")]
fn on_a_terminal_there_is_a_view_that_is_drawn_over() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    sources(dir, 20, "864000/day", "pin = \"1s\"");
    let (columns, rows) = (60, 20);
    let command = format!(
        "stty cols {columns} rows {rows}; exec timeout -s INT 4 '{}' run everfresh.toml",
        env!("CARGO_BIN_EXE_everfresh")
    );
    let script = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "typescript"])
        .current_dir(dir)
        .env_remove("EVERFRESH_STORE")
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = std::fs::read_to_string(dir.join("typescript")).unwrap();
    // `timeout` says 124, or what the program ended with when it was interrupted.
    assert!(matches!(script.status.code(), Some(124 | 130 | 0)), "{:?}: {text}", script.status);
    let frames: Vec<&str> = text.split("A\u{1b}[J").collect();
    assert!(frames.len() >= 4, "{} frames: {text}", frames.len());
    for words in ["freshness", "age", "price", "spending", "due and waiting", "hosts slowed down", "visits"] {
        assert!(frames[2].contains(words), "{words}: {}", frames[2]);
    }
    for line in frames[2].lines().filter(|line| !line.contains('\u{1b}')) {
        assert!(line.trim_end().chars().count() <= columns, "{line}");
    }
    assert!(frames[2].lines().count() <= rows, "{}", frames[2]);
    // What was done stays when the view ends.
    assert!(text.contains(" visits: ") && text.contains(" unchanged, 0 gone, 0 failed"), "{text}");
}
