//! What hosts ask of `everfresh run`, on real servers on loopback: gaps, rests, and who is spared when redirects lead elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The status line and further headers that a server answers a path with, after a while.
type Answers = dyn Fn(&str) -> (String, String, Duration) + Send + Sync;

struct Host {
    address: String,
    /// What was asked for, and when; robots.txt not counted.
    asked: Arc<Mutex<Vec<(Instant, String)>>>,
    robots: Arc<Mutex<String>>,
}

impl Host {
    fn start(answers: Box<Answers>) -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (asked, robots, answers) = (Arc::default(), Arc::default(), Arc::<Answers>::from(answers));
        let (seen, rules) = (Arc::clone(&asked), Arc::clone(&robots));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, rules, answers) = (Arc::clone(&seen), Arc::clone(&rules), Arc::clone(&answers));
                std::thread::spawn(move || serve(stream, &seen, &rules, &*answers));
            }
        });
        Host { address, asked, robots }
    }

    /// A host whose pages are there.
    fn plain() -> Host {
        Host::start(Box::new(|_| ("200 OK".to_owned(), String::new(), Duration::ZERO)))
    }

    fn asks(&self, robots: &str) {
        robots.clone_into(&mut self.robots.lock().unwrap());
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    fn times_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// The least time between two questions, as the host sees it: off by whatever the machine is busy with.
    fn least_gap(&self) -> Duration {
        let asked = self.asked.lock().unwrap();
        asked.windows(2).map(|two| two[1].0 - two[0].0).min().unwrap()
    }
}

fn serve(
    mut stream: TcpStream,
    asked: &Mutex<Vec<(Instant, String)>>,
    robots: &Mutex<String>,
    answers: &Answers,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let path = line.split(' ').nth(1)?.to_owned();
        while line.trim() != "" {
            line.clear();
            reader.read_line(&mut line).ok()?;
        }
        let (status, headers, body) = if path == "/robots.txt" {
            ("200 OK".to_owned(), String::new(), robots.lock().ok()?.clone())
        } else {
            asked.lock().ok()?.push((Instant::now(), path.clone()));
            let (status, headers, wait) = answers(&path);
            std::thread::sleep(wait);
            (status, headers, format!("<p>the words of {path} that stay as they are</p>"))
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: text/html\r\n{headers}content-length: {length}\r\n\r\n{body}"
        )
        .ok()?;
    }
}

fn said(dir: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everfresh"));
    let output = command.current_dir(dir).args(arguments).env_remove("EVERFRESH_STORE").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

fn visit_all(dir: &Path) -> String {
    said(dir, &["run", "everfresh.toml", "--once"])
}

/// How long each host is left alone yet, longest first.
fn resting(dir: &Path) -> Vec<(String, f64)> {
    let status: serde_json::Value = serde_json::from_str(&said(dir, &["status", "--json"])).unwrap();
    let one = |rest: &serde_json::Value| (rest["host"].as_str().unwrap().to_owned(), rest["seconds"].as_f64().unwrap());
    status["resting"].as_array().unwrap().iter().map(one).collect()
}

/// Visited by every run.
const SOON: &str = "pin = \"1s\"";

/// Pages of a configuration, each with further lines.
fn configure(dir: &Path, limits: &str, pages: &[String], each: &str) {
    let start = "budget = \"100000/day\"\ncontact = \"me@example.org\"\n[fetch]\nallow = [\"127.0.0.0/8\"]\n";
    let sources: Vec<String> =
        pages.iter().map(|page| format!("[[sources]]\naddress = \"{page}\"\n{each}\n")).collect();
    std::fs::write(dir.join("everfresh.toml"), format!("{start}{limits}{}", sources.concat())).unwrap();
}

#[test]
fn hosts_by_name_have_what_all_have_where_nothing_else_is_said() {
    let (host, dir) = (Host::plain(), tempfile::tempdir().unwrap());
    let pages = ["/1", "/2", "/3"].map(|path| host.url(path));
    let limits = format!("[limits]\ngap = \"3s\"\n[hosts.\"{}\"]\nconcurrency = 1\n", host.address);
    configure(dir.path(), &limits, &pages, "");
    visit_all(dir.path());
    assert_eq!(host.times_asked(), 3);
    assert!(host.least_gap() > Duration::from_secs(2), "{:?}", host.least_gap());
}

#[test]
fn a_rest_is_not_shortened_by_who_comes_back_later() {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::start(Box::new(|path| {
        let busy = "503 Service Unavailable".to_owned();
        match path {
            "/long" => (busy, "retry-after: 3600\r\n".to_owned(), Duration::ZERO),
            _ => (busy, String::new(), Duration::from_millis(700)),
        }
    }));
    configure(
        dir.path(),
        "[limits]\ngap = \"0s\"\nconcurrency = 2\n",
        &["/long", "/short"].map(|path| host.url(path)),
        "",
    );
    visit_all(dir.path());
    assert_eq!(host.times_asked(), 2);
    let resting = resting(dir.path());
    assert!(resting.len() == 1 && resting[0].1 > 3500.0, "{resting:?}");
}

#[test]
fn a_crawl_delay_ends_when_it_is_no_longer_asked_for() {
    let (host, dir) = (Host::plain(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    host.asks("User-agent: *\nCrawl-delay: 7\n");
    configure(dir, "[limits]\ngap = \"0s\"\n", &[host.url("/1")], SOON);
    let gap_s = || {
        let word = "gap_s=";
        let text = visit_all(dir);
        text.split(word).nth(1).map(|rest| rest.split_whitespace().next().unwrap().parse::<f64>().unwrap())
    };
    assert_eq!(gap_s(), Some(7.0));
    assert_eq!(gap_s(), None, "it is as it was");
    // A day later robots.txt is read again.
    let kept = dir.join("everfresh-data/robots.jsonl");
    let mut line: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
    line["read_again"] = "2026-01-01T00:00:00Z".into();
    std::fs::write(&kept, format!("{line}\n")).unwrap();
    host.asks("User-agent: *\nDisallow:\n");
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(gap_s(), Some(0.0));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(gap_s(), None);
    assert!(host.times_asked() >= 3);
}

#[test]
fn who_redirects_lead_to_is_spared() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let busy = |_: &str| ("429 Too Many Requests".to_owned(), "retry-after: 3600\r\n".to_owned(), Duration::ZERO);
    let there = Host::start(Box::new(busy));
    let to = there.address.clone();
    let here = Host::start(Box::new(move |path| {
        ("301 Moved Permanently".to_owned(), format!("location: {to}{path}\r\n"), Duration::ZERO)
    }));
    configure(dir, "[limits]\ngap = \"0s\"\nconcurrency = 1\n", &["/1", "/2"].map(|path| here.url(path)), SOON);
    visit_all(dir);
    let asked = there.times_asked();
    assert!(resting(dir).iter().any(|(host, rest_s)| *host == there.address && *rest_s > 3500.0), "{:?}", resting(dir));
    std::thread::sleep(Duration::from_secs(2));
    visit_all(dir);
    // Whoever was led there once waits with it from then on.
    assert!(there.times_asked() <= 2 && asked >= 1, "{asked} and then {}", there.times_asked());
    let pages = here.asked.lock().unwrap().len();
    std::thread::sleep(Duration::from_secs(2));
    visit_all(dir);
    assert_eq!(here.times_asked(), pages);
}

#[test]
fn a_host_that_is_no_longer_named_has_what_all_have() {
    let (host, dir) = (Host::plain(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let pages = ["/1", "/2", "/3"].map(|path| host.url(path));
    // A run that comes and goes waits one and a half of the usual gap for more; meanwhile there is something to spend again.
    let usual = "[limits]\ngap = \"1s\"\n";
    configure(dir, &format!("{usual}[hosts.\"{}\"]\ngap = \"4s\"\n", host.address), &pages, "");
    visit_all(dir);
    assert!(host.least_gap() > Duration::from_millis(2500), "{:?}", host.least_gap());
    host.asked.lock().unwrap().clear();
    std::thread::sleep(Duration::from_millis(1500));
    configure(dir, usual, &pages, SOON);
    visit_all(dir);
    assert!(host.least_gap() < Duration::from_secs(3), "{:?}", host.least_gap());
}

#[test]
fn a_host_by_name_gets_its_crawl_delay_from_the_first_visit_of_the_next_run_on() {
    let (host, dir) = (Host::plain(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    host.asks("User-agent: *\nCrawl-delay: 2\n");
    let limits = format!("[limits]\ngap = \"1s\"\n[hosts.\"{}\"]\nconcurrency = 1\n", host.address);
    configure(dir, &limits, &["/1", "/2"].map(|path| host.url(path)), SOON);
    visit_all(dir);
    host.asked.lock().unwrap().clear();
    std::thread::sleep(Duration::from_secs(2));
    visit_all(dir);
    assert!(host.times_asked() >= 2);
    assert!(host.least_gap() > Duration::from_millis(1500), "{:?}", host.least_gap());
}

#[test]
fn a_host_that_had_too_much_to_do_is_slowed_down_further_by_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let host =
        Host::start(Box::new(|_| ("503 Service Unavailable".to_owned(), String::new(), Duration::from_millis(10))));
    configure(dir, "[limits]\ngap = \"0s\"\n", &[host.url("/1")], "");
    visit_all(dir);
    let kept = dir.join("everfresh-data/slowed.json");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), format!("{{\"{}\":60.0}}", host.address));
    assert!((50.0..=60.0).contains(&resting(dir)[0].1), "{:?}", resting(dir));
    // As if the run before had come to eight minutes, with a store that has forgotten the rest.
    std::fs::remove_dir_all(dir.join("everfresh-data")).unwrap();
    std::fs::create_dir(dir.join("everfresh-data")).unwrap();
    std::fs::write(&kept, format!("{{\"{}\":480.0}}", host.address)).unwrap();
    visit_all(dir);
    assert!((950.0..=960.0).contains(&resting(dir)[0].1), "{:?}", resting(dir));
}
