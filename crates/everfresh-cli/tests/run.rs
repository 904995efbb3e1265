//! `everfresh run` and the commands on its store, against a real server on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation
)]

#[path = "../../everfresh-store/tests/common/small_disk.rs"]
mod small_disk;

use small_disk::{SMALL_DISK, fill, on_a_small_disk};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What a server has: paths and bodies. Every answer has a validator, and is asked for conditionally.
type Pages = Arc<Mutex<HashMap<String, String>>>;

struct Web {
    pages: Pages,
    /// The paths that were asked for.
    asked: Arc<Mutex<Vec<String>>>,
    address: String,
}

impl Web {
    fn start() -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let pages = Pages::default();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (served, seen) = (Arc::clone(&pages), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (served, seen) = (Arc::clone(&served), Arc::clone(&seen));
                std::thread::spawn(move || serve(stream, &served, &seen));
            }
        });
        Web { pages, asked, address }
    }

    fn times_asked(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }

    fn set(&self, path: &str, body: &str) {
        self.pages.lock().unwrap().insert(path.to_owned(), body.to_owned());
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }
}

static CLOCK: AtomicUsize = AtomicUsize::new(1);

fn serve(stream: TcpStream, pages: &Pages, asked: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let path = line.split(' ').nth(1)?.to_owned();
        asked.lock().ok()?.push(path.clone());
        let mut known = None;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            if header.trim().is_empty() {
                break;
            }
            let (name, value) = header.split_once(':')?;
            if name.eq_ignore_ascii_case("if-none-match") {
                known = Some(value.trim().to_owned());
            }
        }
        let body = pages.lock().ok()?.get(&path).cloned();
        let answer = match body {
            None => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
            // An answer of another kind.
            Some(head) if head.starts_with("HTTP/1.1 ") => head,
            Some(body) => {
                // Whoever asks here gets all of it every time.
                let salt = if path.contains("untagged") { CLOCK.fetch_add(1, Ordering::Relaxed) } else { 0 };
                let tag = format!("\"{salt}-{:x}\"", body.len() * 31 + body.bytes().map(usize::from).sum::<usize>());
                if known.as_deref() == Some(tag.as_str()) {
                    format!("HTTP/1.1 304 Not Modified\r\netag: {tag}\r\n\r\n")
                } else {
                    let kind = if path.contains("sitemap") { "application/xml" } else { "text/html" };
                    let length = body.len();
                    format!(
                        "HTTP/1.1 200 OK\r\netag: {tag}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
                    )
                }
            }
        };
        stream.write_all(answer.as_bytes()).ok()?;
    }
}

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

const RUN: [&str; 7] = ["run", "everfresh.toml", "--once", "--budget", "100000/day", "--allow", "127.0.0.0/8"];
const CONFIG: &str = "[limits]\ngap = \"0s\"\n[[sources]]\nlist = \"urls.txt\"\n";

fn page(words: &str) -> String {
    format!(
        "<html><body><main><h1>News</h1><p>{words} of a page that is otherwise always the same</p></main></body></html>"
    )
}

#[test]
fn copies_follow_their_sources() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    for number in 0..5 {
        web.set(&format!("/{number}"), &page(&format!("the words {number}")));
    }
    let list: String = (0..6).map(|number| web.url(&format!("/{number}")) + "\n").collect();
    std::fs::write(dir.join("urls.txt"), format!("# pages\n\n{list}")).unwrap();
    std::fs::write(dir.join("everfresh.toml"), CONFIG).unwrap();
    let first = said(dir, &RUN);
    assert!(first.contains("5 changed, 0 unchanged, 1 gone, 0 failed"), "{first}");
    assert!(first.contains("hosts cannot reach you: --contact"), "{first}");
    let one = web.url("/1");
    assert!(said(dir, &["cat", &one]).contains("the words 1 of a page"));
    web.set("/1", &page("quite other words"));
    // A pinned page is visited when its time has come.
    said(dir, &["pin", &one, "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let second = said(dir, &RUN);
    assert!(second.matches("http://").count() <= 6, "each page at most once: {second}");
    assert!(second.contains(&format!("{one} changed by ")), "{second}");
    assert_eq!(
        said(dir, &["cat", "--text", &one]),
        "News\nquite other words of a page that is otherwise always the same\n"
    );
    let diff = said(dir, &["diff", &one]);
    assert!(diff.contains("\n-the words 1 of a page") && diff.contains("\n+quite other words of"), "{diff}");
    let history = said(dir, &["history", &one, "--json"]);
    let versions: Vec<serde_json::Value> = serde_json::from_str(&history).unwrap();
    let status: Vec<u64> = versions.iter().map(|version| version["status"].as_u64().unwrap()).collect();
    assert!(status.len() >= 2 && status.iter().all(|status| [200, 304].contains(status)), "{history}");
    // However long all of that took.
    said(dir, &["pin", &one, "1h"]);
    let explained: serde_json::Value = serde_json::from_str(&said(dir, &["explain", &one, "--json"])).unwrap();
    assert_eq!((&explained["changes"], &explained["waits_for"]), (&1.into(), &"its pin".into()));
}

#[test]
fn the_same_bytes_are_not_read_again_and_still_not_kept_where_that_was_asked() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let (kept, forbidden) = (web.url("/untagged/1"), web.url("/untagged/2"));
    web.set("/untagged/1", &page("the words"));
    web.set("/untagged/2", &format!("<meta name=robots content=noarchive>{}", page("the words")));
    std::fs::write(dir.join("urls.txt"), format!("{kept}\n{forbidden}\n")).unwrap();
    std::fs::write(dir.join("everfresh.toml"), CONFIG.to_owned() + "pin = \"1s\"\n").unwrap();
    assert!(said(dir, &RUN).contains("2 changed, 0 unchanged"));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let second = said(dir, &RUN);
    assert!(second.contains("0 changed, 2 unchanged"), "{second}");
    let history = said(dir, &["history", &kept, "--json"]);
    let versions: Vec<serde_json::Value> = serde_json::from_str(&history).unwrap();
    let again: Vec<bool> = versions.iter().map(|version| version["same_as_before"].as_bool().unwrap()).collect();
    assert_eq!(again, [false, true], "{history}");
    assert!(refused(dir, &["history", &forbidden], 2).contains("cannot find a copy"));
}

#[test]
fn what_is_not_kept_comes_whole_and_what_must_not_be_kept_is_not() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let (one, forbidden) = (web.url("/1"), web.url("/2"));
    web.set("/1", &page("the words"));
    web.set("/2", &format!("<meta name=robots content=noarchive>{}", page("the words")));
    std::fs::write(dir.join("urls.txt"), format!("{one}\n{forbidden}\n")).unwrap();
    let config = CONFIG.to_owned() + "pin = \"1s\"\n";
    let run = |config: &str| {
        std::fs::write(dir.join("everfresh.toml"), config).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        said(dir, &RUN)
    };
    // What was seen while no copies were kept is "not modified" when they are: that is no copy, and asked for again.
    assert!(run(&format!("copies = false\n{config}")).contains("2 changed"));
    assert!(run(&config).contains("0 changed, 2 unchanged"));
    assert!(refused(dir, &["cat", &one], 2).contains("cannot find a copy"));
    assert!(run(&config).contains("0 changed, 2 unchanged"));
    assert!(said(dir, &["cat", &one]).contains("the words of a page"));
    assert!(refused(dir, &["history", &forbidden], 2).contains("cannot find a copy"));
    // A time that `history` prints names that version.
    web.set("/1", &page("quite other words"));
    assert!(run(&config).contains("1 changed"));
    let history = said(dir, &["history", &one, "--json"]);
    let versions: Vec<serde_json::Value> = serde_json::from_str(&history).unwrap();
    let last = versions.last().unwrap()["time"].as_str().unwrap();
    assert!(said(dir, &["cat", &one, "--at", last]).contains("quite other words"), "{history}");
    // After a rebuild the copies say what was there.
    said(dir, &["rebuild"]);
    let audit = ["audit", "everfresh.toml", "--allow", "127.0.0.0/8", "--contact", "me@example.org", "--json"];
    let audit: serde_json::Value = serde_json::from_str(&said(dir, &audit)).unwrap();
    let counts = (&audit["fresh"], &audit["stale"], &audit["not_compared"]);
    assert_eq!(counts, (&1.into(), &0.into(), &1.into()), "{audit}");
    assert!(run(&config).contains("1 changed, 1 unchanged"), "only what was kept can be compared");
    // Who is removed and comes back is new.
    said(dir, &["remove", &one]);
    let again = run(&config);
    assert!(again.contains(&format!("{one} copied ")), "{again}");
}

#[test]
fn who_comes_now_and_then_waits_for_gaps_and_hears_why_nothing_was_done() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let list: String = (0..3).map(|number| web.url(&format!("/{number}")) + "\n").collect();
    (0..3).for_each(|number| web.set(&format!("/{number}"), &page("the words")));
    std::fs::write(dir.join("urls.txt"), list).unwrap();
    let config = format!("{CONFIG}[hosts.\"{}\"]\ngap = \"1s\"\n", web.address);
    std::fs::write(dir.join("everfresh.toml"), config).unwrap();
    let budget = ["run", "everfresh.toml", "--once", "--budget", "3/day", "--allow", "127.0.0.0/8", "--json"];
    let first = said(dir, &budget);
    assert!(first.contains("\"changed\":3"), "{first}");
    assert!(first.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{first}");
    let second = said(dir, &budget);
    assert!(second.contains("no visit could be made now") && second.contains("the next can be made in"), "{second}");
}

#[test]
fn lines_are_chosen_by_level_and_read_by_machines() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    web.set("/1", &page("the words"));
    std::fs::write(dir.join("urls.txt"), web.url("/1")).unwrap();
    std::fs::write(dir.join("everfresh.toml"), CONFIG).unwrap();
    let run = |level: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everfresh"));
        command.current_dir(dir).args(RUN).args(["--json", "--contact", "me@example.org"]).env("EVERFRESH_LOG", level);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let text = run("debug");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find =
        |key: &str, value: &str| lines.iter().find(|line| line[key] == value).unwrap_or_else(|| panic!("{text}"));
    let answered: Vec<&str> = lines.iter().filter_map(|line| line["url"].as_str()).collect();
    assert!(answered.contains(&web.url("/1").as_str()), "{text}");
    let visit = find("event", "visit");
    assert_eq!((&visit["page"], &visit["outcome"]), (&web.url("/1").into(), &"changed".into()));
    assert!(visit["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    assert_eq!(find("event", "end")["visits"], 1);
    assert_eq!(run("error"), "");
    assert!(run("nonsense").contains("cannot read EVERFRESH_LOG"), "{}", run("nonsense"));
    assert!(
        run("everfresh=loud").contains("cannot read EVERFRESH_LOG: it must be a level"),
        "{}",
        run("everfresh=loud")
    );
}

#[test]
fn what_is_known_survives_and_is_rebuilt_from_the_log() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    for number in 0..3 {
        web.set(&format!("/{number}"), &page(&format!("the words {number}")));
    }
    let urls = |numbers: std::ops::Range<u32>| {
        numbers.map(|number| format!("{},{number}.5\n", web.url(&format!("/{number}"))))
    };
    std::fs::write(dir.join("pages.csv"), "url,weight\n".to_owned() + &urls(0..3).collect::<String>()).unwrap();
    assert!(refused(dir, &["add", "pages.csv"], 2).contains("--budget must be given"));
    let added = said(dir, &["add", "pages.csv", "--budget", "100000/day", "--group", "shop", "--json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&added).unwrap()["added"], 3);
    assert!(
        said(dir, &["add", "pages.csv"]).contains("added 0 pages; 3 were known, 0 of them changed; there are 3 now")
    );
    assert!(said(dir, &["add", "pages.csv", "--max-period", "1day"]).contains("3 of them changed"));
    let run = said(dir, &["run", "--once", "--allow", "127.0.0.0/8"]);
    assert!(run.contains("1 visit: 1 changed") || run.contains("visits: "), "{run}");
    let now = (jiff::Timestamp::now().as_second() + 60).to_string();
    let before = said(dir, &["export", "--now", &now]);
    assert!(before.contains(",shop,live,2.5,1.0,"), "{before}");
    std::fs::remove_dir_all(dir.join("everfresh-data/engine")).unwrap();
    assert!(refused(dir, &["status"], 2).contains("`everfresh rebuild` makes it anew"));
    // Nothing begins anew over a visit log.
    assert!(refused(dir, &["run", "--once", "--budget", "1/day"], 1).contains("has a visit log and no engine"));
    assert!(said(dir, &["rebuild"]).contains("rebuilt 3 pages from "));
    assert_eq!(said(dir, &["export", "--now", &now]), before);
    assert!(said(dir, &["remove", &web.url("/0")]).contains("forgot 1 page; copies stay in `everfresh-data/copies`"));
    assert!(refused(dir, &["explain", &web.url("/0")], 2).contains("it must have been added"));
    let status: serde_json::Value = serde_json::from_str(&said(dir, &["status", "--json"])).unwrap();
    assert_eq!((&status["pages"], &status["groups"][0]["name"]), (&2.into(), &"shop".into()));
    let forecast = said(dir, &["forecast"]);
    assert!(forecast.contains("all promises can be kept"), "{forecast}");
}

#[test]
fn robots_txt_is_asked_for_once_by_many_runs() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    web.set("/robots.txt", "user-agent: *\ndisallow: /secret\n");
    web.set("/secret", &page("the words"));
    web.set("/open", &page("other words"));
    std::fs::write(dir.join("urls.txt"), [web.url("/secret"), web.url("/open")].join("\n")).unwrap();
    std::fs::write(dir.join("everfresh.toml"), CONFIG).unwrap();
    for _ in 0..3 {
        said(dir, &RUN);
    }
    said(dir, &["audit", "everfresh.toml", "--allow", "127.0.0.0/8"]);
    let asked = ["/robots.txt", "/secret"].map(|path| web.times_asked(path));
    assert_eq!(asked, [1, 0]);
    assert!(web.times_asked("/open") >= 2);
    // What is damaged is asked for again.
    std::fs::write(dir.join("everfresh-data/robots.jsonl"), "{\"host\":").unwrap();
    said(dir, &["audit", "everfresh.toml", "--allow", "127.0.0.0/8"]);
    assert_eq!(web.times_asked("/robots.txt"), 2);
}

#[test]
fn a_diff_is_that_of_texts_past_versions_that_only_look_otherwise() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let address = web.url("/page");
    std::fs::write(
        dir.join("everfresh.toml"),
        format!("[limits]\ngap = \"0s\"\n[[sources]]\naddress = \"{address}\"\n"),
    )
    .unwrap();
    for (words, footer) in [("some words", 1), ("other words", 2), ("other words", 3), ("other words", 4)] {
        web.set("/page", &page(words).replace("</body>", &format!("<footer>{footer}</footer></body>")));
        let run = said(dir, &RUN);
        assert!(run.contains(&address), "{run}");
        if (words, footer) == ("some words", 1) {
            assert!(refused(dir, &["diff", &address], 2).contains("whose text differs: there must be two versions"));
            said(dir, &["pin", &address, "1s"]);
        }
        // Until it is due again.
        std::thread::sleep(std::time::Duration::from_millis(1500));
    }
    let diff = said(dir, &["diff", &address]);
    assert!(diff.contains("\n-some words of a page") && diff.contains("\n+other words of a page"), "{diff}");
}

#[test]
fn an_audit_counts_what_is_stale() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    (0..8).for_each(|number| web.set(&format!("/{number}"), &page(&format!("the words {number}"))));
    // Of two there is nothing to copy.
    let list: String = (0..10).map(|number| web.url(&format!("/{number}")) + "\n").collect();
    std::fs::write(dir.join("urls.txt"), list).unwrap();
    std::fs::write(dir.join("everfresh.toml"), CONFIG).unwrap();
    assert!(refused(dir, &["audit"], 2).contains("cannot find a store"));
    said(dir, &RUN);
    web.set("/0", &page("quite other words"));
    web.set("/1", &page("quite other words, too"));
    let audit = said(
        dir,
        &["audit", "everfresh.toml", "--allow", "127.0.0.0/8", "--seed", "1", "--json", "--contact", "me@example.org"],
    );
    let audit: serde_json::Value = serde_json::from_str(&audit).unwrap();
    assert_eq!((&audit["fresh"], &audit["stale"], &audit["failed"]), (&6.into(), &2.into(), &0.into()));
    assert_eq!((&audit["measured_freshness"], &audit["without_copy"]), (&0.75.into(), &2.into()));
    // What is estimated is so of the same copies, which were made a moment ago.
    assert!(audit["estimated_freshness"].as_f64().unwrap() > 0.9, "{audit}");
}

#[test]
fn sitemaps_feeds_files_and_commands_are_sources() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    web.set("/new", &page("the words"));
    let sitemap = format!(
        "<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>{}</loc></url></urlset>",
        web.url("/new")
    );
    web.set("/sitemap.xml", &sitemap);
    std::fs::write(dir.join("notes.txt"), "some notes\n").unwrap();
    let config = format!(
        "budget = \"100000/day\"\n[limits]\ngap = \"0s\"\n[fetch]\nallow = [\"127.0.0.0/8\"]\n\
         [[sources]]\naddress = \"{}\"\nfollow = true\n[[sources]]\naddress = \"{}\"\n[[sources]]\naddress = \"exec:echo hello\"\n",
        web.url("/sitemap.xml"),
        dir.join("notes.txt").display()
    );
    std::fs::write(dir.join("everfresh.toml"), config).unwrap();
    said(dir, &["run", "everfresh.toml", "--once"]);
    said(dir, &["run", "everfresh.toml", "--once"]);
    assert_eq!(said(dir, &["cat", "exec:echo hello"]), "hello\n");
    assert_eq!(said(dir, &["cat", &dir.join("notes.txt").display().to_string()]), "some notes\n");
    assert!(said(dir, &["cat", &web.url("/new")]).contains("the words of a page"));
}

/// A sitemap with these addresses, as they are written.
fn sitemap(addresses: &[&str]) -> String {
    let entry = |address: &&str| format!("<url><loc>{address}</loc></url>");
    let entries: String = addresses.iter().map(entry).collect();
    format!("<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{entries}</urlset>")
}

fn json(dir: &Path, arguments: &[&str]) -> serde_json::Value {
    let output = everfresh(dir, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Until a pin of a second has come round.
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(1500));
}

#[test]
fn visits_are_exported_for_estimates_and_comparisons() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let source = |path: &str| format!("[[sources]]\naddress = \"{}\"\npin = \"1s\"\ngroup = \"shop\"\n", web.url(path));
    let config = format!("[limits]\ngap = \"0s\"\n{}{}{}", source("/same"), source("/other"), source("/gone"));
    std::fs::write(dir.join("everfresh.toml"), config).unwrap();
    web.set("/same", &page("the words"));
    for turn in 0..3 {
        web.set("/other", &page(&format!("the words of turn {turn}")));
        said(dir, &RUN);
        pause();
    }
    let visits = said(dir, &["export", "--visits"]);
    assert_eq!(visits.lines().next(), Some("page,time,changed,host,group"));
    let of = |path: &str| -> Vec<&str> { visits.lines().filter(|line| line.starts_with(&web.url(path))).collect() };
    let ends = |path: &str, changed: &str| {
        let end = format!("Z,{changed},{},shop", web.url(""));
        of(path).iter().filter(|line| line.ends_with(&end)).count()
    };
    // What was not there was not seen.
    assert_eq!((of("/same").len(), of("/other").len(), of("/gone").len()), (3, 3, 0), "{visits}");
    assert_eq!((ends("/same", "true"), ends("/same", "false"), ends("/other", "true")), (1, 2, 3), "{visits}");
    std::fs::remove_dir_all(dir.join("everfresh-data/engine")).unwrap();
    said(dir, &["rebuild"]);
    assert_eq!(said(dir, &["export", "--visits"]), visits, "from the log alone");
    said(dir, &["export", "--visits", "--out", "visits.parquet"]);
    let estimates = said(dir, &["estimate", "visits.parquet"]);
    assert_eq!(estimates.lines().filter(|line| line.starts_with("http")).count(), 2, "{estimates}");
    assert!(said(dir, &["compare", "visits.parquet"]).contains("visits"));
}

#[test]
fn a_sitemap_of_the_web_names_no_files_and_its_links_are_seen_from_it() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    std::fs::write(dir.join("secret.txt"), "a secret\n").unwrap();
    let secret = dir.join("secret.txt").display().to_string();
    let without_scheme = web.url("/other").replace("http:", "");
    let body = sitemap(&[&format!("file://{secret}"), &secret, "/posts/1", "posts/2", &without_scheme, "exec:id"]);
    web.set("/blog/sitemap.xml", &body);
    // Where it was redirected to is where its links are seen from.
    web.set("/sitemap", "HTTP/1.1 302 Found\r\nlocation: /blog/sitemap.xml\r\ncontent-length: 0\r\n\r\n");
    for path in ["/posts/1", "/blog/posts/2", "/other"] {
        web.set(path, &page("the words").replace("</main>", "</main><p id=prices>soup 4.50</p>"));
    }
    let config = format!(
        "[limits]\ngap = \"0s\"\n[[sources]]\naddress = \"{}\"\nfollow = true\nkeep = [\"#prices\"]\n",
        web.url("/sitemap")
    );
    std::fs::write(dir.join("everfresh.toml"), config).unwrap();
    said(dir, &RUN);
    said(dir, &RUN);
    let pages = said(dir, &["export"]);
    assert!(!pages.contains("file:") && !pages.contains("exec:"), "{pages}");
    for path in ["/posts/1", "/blog/posts/2", "/other"] {
        assert!(pages.contains(&web.url(path)), "{path}: {pages}");
        // Pages that are followed are read by the rules of their source.
        assert_eq!(said(dir, &["cat", "--text", &web.url(path)]), "soup 4.50\n", "{path}");
    }
}

#[test]
fn pages_are_read_by_their_rules_whether_or_not_somebody_repeats_them() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let address = web.url("/untagged");
    let set = |price: &str, clock: u32| {
        web.set("/untagged", &format!("<main><p id=prices>soup {price}</p><p id=clock>it is {clock}</p></main>"));
    };
    let source = format!("[limits]\ngap = \"0s\"\n[[sources]]\naddress = \"{address}\"\npin = \"1s\"\n");
    let configure = |keep: &str| std::fs::write(dir.join("everfresh.toml"), format!("{source}{keep}\n")).unwrap();
    configure("keep = [\"#prices\"]");
    set("4.50", 1);
    said(dir, &RUN);
    let audit = ["audit", "--allow", "127.0.0.0/8", "--contact", "me@example.org", "--json"];
    set("4.50", 2);
    assert_eq!(json(dir, &audit)["fresh"], 1, "what does not count may change");
    set("9.90", 3);
    let measured = json(dir, &audit);
    assert_eq!((&measured["fresh"], &measured["stale"]), (&0.into(), &1.into()), "{measured}");
    pause();
    let run = said(dir, &["run", "--once", "--allow", "127.0.0.0/8"]);
    assert!(run.contains("1 changed, 0 unchanged"), "{run}");
    assert_eq!(said(dir, &["cat", "--text", &address]), "soup 9.90\n");
    let diff = said(dir, &["diff", &address]);
    assert!(diff.contains("\n-soup 4.50\n+soup 9.90") && !diff.contains("it is"), "{diff}");
    // By other rules than before, the copy is read again by them.
    configure("ignore = [\"#prices\"]");
    set("1.00", 3);
    pause();
    let run = said(dir, &RUN);
    assert!(run.contains("0 changed, 1 unchanged"), "{run}");
    assert_eq!(said(dir, &["cat", "--text", &address]), "it is 3\n");
    set("1.00", 4);
    pause();
    assert!(said(dir, &RUN).contains("1 changed, 0 unchanged"));
    // Where there is no copy, nothing can be compared, and that is counted.
    configure("");
    set("2.00", 4);
    std::fs::rename(dir.join("everfresh-data/copies"), dir.join("copies")).unwrap();
    let audit = ["audit", "everfresh.toml", "--allow", "127.0.0.0/8"];
    assert!(refused(dir, &audit, 2).contains("none of the 1 pages could be seen and compared"));
    std::fs::rename(dir.join("copies"), dir.join("everfresh-data/copies")).unwrap();
    assert!(said(dir, &audit).contains("0 could not be seen, 0 not compared"));
}

#[test]
fn a_page_that_is_gone_or_no_longer_to_be_kept_is_said_to_be_so() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let (gone, forbidden) = (web.url("/gone"), web.url("/forbidden"));
    web.set("/gone", &page("the words"));
    web.set("/forbidden", &page("the words"));
    std::fs::write(dir.join("urls.txt"), format!("{gone}\n{forbidden}\n")).unwrap();
    std::fs::write(dir.join("everfresh.toml"), CONFIG.to_owned() + "pin = \"1s\"\n").unwrap();
    said(dir, &RUN);
    assert!(!said(dir, &["history", &gone]).contains("since"));
    web.pages.lock().unwrap().remove("/gone");
    web.set("/forbidden", &format!("<meta name=robots content=none>{}", page("other words")));
    pause();
    said(dir, &RUN);
    let year = jiff::Timestamp::now().to_string()[..5].to_owned();
    for command in ["cat", "history"] {
        let text = said(dir, &[command, &gone]);
        assert!(text.contains(&format!("gone since {year}")) && text.contains("is from before"), "{text}");
        let text = said(dir, &[command, &forbidden]);
        assert!(text.contains(&format!("not kept since {year}")), "{text}");
    }
    web.set("/forbidden", &page("other words"));
    pause();
    said(dir, &RUN);
    assert!(!said(dir, &["cat", &forbidden]).contains("since"));
}

#[test]
fn an_audit_spares_hosts_that_ask_for_it() {
    let (busy, open, dir) = (Web::start(), Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let list: String = (0..3).map(|number| busy.url(&format!("/{number}")) + "\n").collect();
    (0..3).for_each(|number| busy.set(&format!("/{number}"), &page("the words")));
    open.set("/", &page("the words"));
    std::fs::write(dir.join("urls.txt"), list + &open.url("/")).unwrap();
    std::fs::write(dir.join("everfresh.toml"), CONFIG.to_owned() + "pin = \"1s\"\n").unwrap();
    said(dir, &RUN);
    let answer = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 3600\r\ncontent-length: 0\r\n\r\n";
    (0..3).for_each(|number| busy.set(&format!("/{number}"), answer));
    let asked = || busy.asked.lock().unwrap().len();
    let before = asked();
    let audit = ["audit", "--allow", "127.0.0.0/8", "--contact", "me@example.org", "--json"];
    let counted = |audit: &serde_json::Value| ["fresh", "failed", "left_alone"].map(|key| audit[key].as_u64().unwrap());
    assert_eq!(counted(&json(dir, &audit)), [1, 1, 2]);
    assert_eq!(asked(), before + 1);
    // A run hears it, too, and from then on the host is left alone.
    pause();
    said(dir, &RUN);
    let before = asked();
    assert_eq!(counted(&json(dir, &audit)), [1, 0, 3]);
    assert_eq!(asked(), before);
    let text = said(dir, &audit[..5]);
    assert!(text.contains("not counted: 3 pages whose hosts or groups want to be left alone now"), "{text}");
    // So it is with a group that is closed at this hour.
    let closed = (jiff::Timestamp::now().as_second() / 3600 % 24 + 12) % 24;
    let hours = format!("{closed}-{}", closed + 1);
    let config = format!("{CONFIG}pin = \"1s\"\ngroup = \"night\"\n[groups.night]\nhours = \"{hours}\"\n");
    std::fs::write(dir.join("everfresh.toml"), config).unwrap();
    said(dir, &RUN);
    assert!(refused(dir, &audit, 2).contains("cannot audit now: 4 pages of hosts or groups that are closed"));
}

#[test]
fn a_configuration_stands_alone_and_its_paths_begin_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::create_dir(dir.join("sub")).unwrap();
    std::fs::write(dir.join("sub/notes.txt"), "some notes\n").unwrap();
    std::fs::write(dir.join("urls.txt"), "https://example.org/\n").unwrap();
    let config = "budget = \"1000/day\"\n[limits]\ngap = \"0s\"\n[[sources]]\naddress = \"./notes.txt\"\n";
    std::fs::write(dir.join("sub/everfresh.toml"), config).unwrap();
    for files in [["urls.txt", "sub/everfresh.toml"], ["sub/everfresh.toml", "urls.txt"]] {
        let text = refused(dir, &[&["run", "--once"], &files[..]].concat(), 2);
        assert!(text.contains("cannot use `sub/everfresh.toml` beside others"), "{text}");
    }
    said(dir, &["run", "sub/everfresh.toml", "--once"]);
    assert!(dir.join("sub/everfresh-data").is_dir() && !dir.join("everfresh-data").exists());
    assert_eq!(said(dir, &["cat", "file:sub/notes.txt", "--data", "sub/everfresh-data"]), "some notes\n");
    // What cannot be run begins no store.
    std::fs::write(dir.join("bad.txt"), "https://example.org/\nnowhere\n").unwrap();
    for list in ["missing.txt", "bad.txt"] {
        assert!(refused(dir, &["run", list, "--budget", "1/day"], 2).contains(list));
        assert!(!dir.join("everfresh-data").exists(), "{list}");
    }
}

#[test]
fn what_a_configuration_no_longer_says_holds_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for name in ["1.txt", "2.txt"] {
        std::fs::write(dir.join(name), "some notes\n").unwrap();
    }
    let [first, second] = ["1.txt", "2.txt"].map(|name| dir.join(name).display().to_string());
    let configure = |keys: &str, rule: &str| {
        let text = format!(
            "budget = \"1000/day\"\n[[sources]]\naddress = \"{first}\"\n{keys}\n[[sources]]\naddress = \"{second}\"\n\
             group = \"slow\"\n{rule}\n"
        );
        std::fs::write(dir.join("everfresh.toml"), text).unwrap();
        said(dir, &["run", "everfresh.toml", "--once"]);
    };
    let row = |page: &str| {
        let (pages, name) = (said(dir, &["export"]), format!("file://{page}"));
        pages.lines().find(|line| line.starts_with(&name)).unwrap().split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let waits = |page: &str| json(dir, &["explain", page, "--json"])["waits_for"].as_str().unwrap().to_owned();
    let keys = "weight = 5\ncost = 2\ngroup = \"news\"\nmin_period = \"1h\"\nmax_period = \"9days\"\npin = \"3h\"";
    configure(keys, "[groups.slow]\nperiod = \"2h\"");
    assert!(row(&first).iter().any(|cell| cell == "5.0") && row(&first).iter().any(|cell| cell == "news"));
    assert_eq!((waits(&first).as_str(), waits(&second).as_str()), ("its pin", "its group's period"));
    // What was set beside the configuration stays.
    said(dir, &["pin", &second, "1h"]);
    configure("", "[groups.slow]");
    let cells = row(&first);
    assert!(!cells.iter().any(|cell| ["5.0", "2.0", "news"].contains(&cell.as_str())), "{cells:?}");
    assert!(cells.iter().any(|cell| cell == "default"), "{cells:?}");
    assert_ne!(waits(&first), "its pin");
    assert_eq!(waits(&second), "its pin");
    said(dir, &["pin", &second, "--off"]);
    assert_ne!(waits(&second), "its group's period");
    // Nor does what was said of a group that is no longer named at all.
    configure("", "[groups.slow]\nperiod = \"2h\"");
    assert_eq!(waits(&second), "its group's period");
    configure("", "");
    assert_ne!(waits(&second), "its group's period");
}

#[test]
fn a_sitemap_brings_in_no_more_pages_than_there_may_be() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let names: Vec<String> = (0..50).map(|number| format!("/{number}")).collect();
    web.set("/sitemap.xml", &sitemap(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    let source = format!("[limits]\ngap = \"0s\"\n[[sources]]\naddress = \"{}\"\n", web.url("/sitemap.xml"));
    let config = format!("most_pages = 20\n{source}follow = true\npin = \"1s\"\n");
    std::fs::write(dir.join("everfresh.toml"), config).unwrap();
    let text = said(dir, &RUN);
    assert_eq!(text.matches("as many pages as there may be").count(), 1, "{text}");
    let pages = || said(dir, &["export"]).lines().count() - 1;
    assert_eq!(pages(), 20);
    pause();
    said(dir, &RUN);
    assert_eq!(pages(), 20);
}

#[test]
fn a_copy_of_a_redirected_page_names_who_answered() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    web.set("/old", "HTTP/1.1 302 Found\r\nlocation: /new\r\ncontent-length: 0\r\n\r\n");
    web.set("/new", &page("the words"));
    std::fs::write(dir.join("urls.txt"), web.url("/old")).unwrap();
    std::fs::write(dir.join("everfresh.toml"), CONFIG.to_owned() + "pin = \"1s\"\n").unwrap();
    said(dir, &RUN);
    pause();
    assert!(said(dir, &RUN).contains("0 changed, 1 unchanged"));
    assert!(said(dir, &["cat", &web.url("/old")]).contains("the words"));
    assert!(said(dir, &["history", &web.url("/old")]).contains("as before"));
    let copies = std::fs::read_dir(dir.join("everfresh-data/copies")).unwrap().flatten().map(|entry| entry.path());
    let file = copies.into_iter().find(|path| path.extension().is_some_and(|end| end == "gz")).unwrap();
    let mut text = Vec::new();
    let mut unpacked = flate2::read::MultiGzDecoder::new(std::fs::File::open(file).unwrap());
    std::io::Read::read_to_end(&mut unpacked, &mut text).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    let (new, old) = (web.url("/new"), web.url("/old"));
    // Two visits, each with what was asked and what was answered.
    assert_eq!(text.matches(&format!("WARC-Target-URI: {new}\r\n")).count(), 4, "{text}");
    assert_eq!(text.matches(&format!("X-Everfresh-Page: {old}\r\n")).count(), 2, "{text}");
}

#[test]
fn bad_calls_are_said_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert!(refused(dir, &["add", "missing.txt", "--budget", "1/day"], 2).contains("cannot read `missing.txt`"));
    assert!(!dir.join("everfresh-data").exists(), "no store is begun for nothing");
    std::fs::write(dir.join("urls.txt"), "https://example.org/\nexec:rm -rf .\n").unwrap();
    let text = refused(dir, &["add", "urls.txt", "--budget", "1/day"], 2);
    assert!(
        text.contains("urls.txt, line 2") && text.contains("commands may stand in the configuration only"),
        "{text}"
    );
    assert!(!dir.join("everfresh-data").exists(), "a list that cannot be added begins no store");
    std::fs::create_dir(dir.join("everfresh-data")).unwrap();
    std::fs::write(dir.join("everfresh-data/mine.txt"), "").unwrap();
    refused(dir, &["add", "urls.txt", "--budget", "1/day"], 2);
    let left: Vec<_> = std::fs::read_dir(dir.join("everfresh-data")).unwrap().collect();
    assert!(left.len() == 1 && refused(dir, &["status"], 2).contains("cannot find a store"), "{left:?}");
    std::fs::write(dir.join("good.txt"), "https://example.org/good\n").unwrap();
    said(dir, &["add", "good.txt", "--budget", "1/day"]);
    // What is there stays, and so does what stood before the bad line.
    refused(dir, &["add", "urls.txt"], 2);
    assert!(said(dir, &["status"]).contains("pages"));
    std::fs::write(dir.join("pages.csv"), "url,weight\nhttps://example.org/,heavy\n").unwrap();
    let text = refused(dir, &["add", "pages.csv"], 2);
    assert!(text.contains("pages.csv, line 2: column weight must be a number, got `heavy`"), "{text}");
    std::fs::write(dir.join("pages.csv"), "link\nhttps://example.org/\n").unwrap();
    assert!(
        refused(dir, &["add", "pages.csv"], 2)
            .contains("there must be a column address (or url, or page); there are link")
    );
    std::fs::write(dir.join("everfresh.toml"), "budgett = \"1/day\"\n").unwrap();
    assert!(refused(dir, &["run", "everfresh.toml"], 2).contains("line 1: unknown field `budgett`"));
    assert!(refused(dir, &["cat", "https://example.org/"], 2).contains("cannot find copies"));
    assert!(refused(dir, &["run", "--budget", "-1/day"], 2).contains("budget must be positive"));
}

#[test]
fn who_comes_second_hears_who_runs() {
    let (web, dir) = (Web::start(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    web.set("/", &page("the words"));
    std::fs::write(dir.join("urls.txt"), web.url("/")).unwrap();
    let mut running = Command::new(env!("CARGO_BIN_EXE_everfresh"))
        .current_dir(dir)
        .args(["run", "urls.txt", "--budget", "10/day", "--allow", "127.0.0.0/8", "--contact", "me@example.org"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("copied"), "{first}");
    let text = refused(dir, &["run", "urls.txt"], 1);
    assert!(
        text.contains(&format!("is held by process {}, ", running.id())) && text.contains(" run urls.txt"),
        "{text}"
    );
    assert!(refused(dir, &["pin", &web.url("/"), "1h"], 1).contains("is held by process"));
    // Copies can be read meanwhile, and all that is known can be looked at, and measured.
    assert!(said(dir, &["cat", &web.url("/")]).contains("the words"));
    let status: serde_json::Value = serde_json::from_str(&said(dir, &["status", "--json"])).unwrap();
    assert_eq!(status["pages"], 1, "{status}");
    assert!(said(dir, &["explain", &web.url("/"), "--json"]).contains("waits_for"));
    assert!(said(dir, &["export"]).contains(&web.url("/")));
    let audit = ["audit", "urls.txt", "--allow", "127.0.0.0/8", "--contact", "me@example.org", "--json"];
    assert_eq!(serde_json::from_str::<serde_json::Value>(&said(dir, &audit)).unwrap()["fresh"], 1);
    let leftovers = std::fs::read_dir(dir.join("everfresh-data")).unwrap().flatten();
    assert!(leftovers.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with(".look")));
    let stopped = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    assert!(running.wait().unwrap().success());
    let last = lines.last().unwrap().unwrap();
    assert!(last.ends_with(" INFO 1 visit: 1 changed, 0 unchanged, 0 gone, 0 failed"), "{last}");
}

#[test]
fn a_full_disk_is_waited_out_and_loses_nothing() {
    let Ok(dir) = std::env::var(SMALL_DISK) else {
        return on_a_small_disk(160, "a_full_disk_is_waited_out_and_loses_nothing");
    };
    let (web, dir) = (Web::start(), Path::new(&dir));
    (0..40).for_each(|number| web.set(&format!("/{number}"), &page(&format!("the words {number}"))));
    let list: String = (0..40).map(|number| web.url(&format!("/{number}")) + "\n").collect();
    std::fs::write(dir.join("urls.txt"), list).unwrap();
    std::fs::write(dir.join("everfresh.toml"), CONFIG).unwrap();
    let mut running = Command::new(env!("CARGO_BIN_EXE_everfresh"))
        .current_dir(dir)
        .args(["run", "everfresh.toml", "--budget", "100/s", "--allow", "127.0.0.0/8", "--contact", "me@example.org"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map(Result::unwrap);
    let visited = lines.by_ref().filter(|line| line.contains(" copied ")).take(40).count();
    assert_eq!(visited, 40, "every page is visited, in whatever order");
    fill(&dir.join("ballast"));
    assert!(lines.any(|line| line.contains("is full: waiting for space")), "a full disk is said");
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(running.try_wait().unwrap().is_none(), "it goes on");
    web.set("/7", &page("quite other words"));
    std::fs::remove_file(dir.join("ballast")).unwrap();
    assert!(lines.any(|line| line.ends_with("there is space again: going on")));
    let changed = web.url("/7") + " changed by ";
    assert!(lines.any(|line| line.contains(&changed)), "work goes on");
    let stopped = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    let last = lines.last().unwrap();
    assert!(running.wait().unwrap().success() && last.contains("0 gone, 0 failed"), "{last}");
    assert!(said(dir, &["cat", &web.url("/7")]).contains("quite other words"));
    for number in 0..40 {
        let text = said(dir, &["cat", &web.url(&format!("/{number}"))]);
        assert!(text.contains("otherwise always the same"), "{text}");
    }
}
