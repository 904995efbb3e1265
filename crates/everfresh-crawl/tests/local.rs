//! Files, directories and commands as sources.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use everfresh_crawl::fetch::{Address, Agent, Ask, Limits, Outcome, Reason, Settings, Source, Sources, Visit};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

fn sources(limits: Limits) -> Sources {
    let agent = Agent::new("everfresh", "0.1", "mail@example.com").unwrap();
    Sources::new(Settings { limits, ..Settings::new(agent) }).unwrap()
}

fn limits() -> Limits {
    Limits { visit: Duration::from_secs(2), body_bytes: 1000, entries: 20, ..Limits::default() }
}

fn ask(address: &str) -> Ask {
    Ask::new(Address::configured(address).unwrap(), jiff::Timestamp::UNIX_EPOCH)
}

async fn look(address: &str) -> Visit {
    sources(limits()).look(&ask(address)).await
}

fn body(visit: &Visit) -> String {
    match &visit.outcome {
        Outcome::Fetched(fetched) => String::from_utf8(fetched.body.to_vec()).unwrap(),
        other => panic!("not fetched: {other}"),
    }
}

fn reason(visit: &Visit) -> Reason {
    match &visit.outcome {
        Outcome::Failed(failure) => failure.reason,
        other => panic!("no failure: {other}"),
    }
}

fn made_long_ago(path: &Path) {
    let then = SystemTime::now() - Duration::from_hours(1);
    fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

#[tokio::test]
async fn a_file_is_read_once_until_somebody_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b.txt");
    fs::write(&path, "one").unwrap();
    let address = path.to_str().unwrap();
    let first = look(address).await;
    assert_eq!(body(&first), "one");
    let Outcome::Fetched(fetched) = first.outcome else { panic!("not fetched") };
    assert!(fetched.address.ends_with("/a%20b.txt"), "{}", fetched.address);
    assert!(fetched.hints.validators.is_none(), "written just now: the next write could have the same date");
    made_long_ago(&path);
    let Outcome::Fetched(fetched) = look(address).await.outcome else { panic!("not fetched") };
    let remembered = fetched.hints.validators.unwrap();
    let again = sources(limits()).look(&ask(address).remembering(remembered.clone())).await;
    assert!(matches!(again.outcome, Outcome::NotModified(_)));
    fs::write(&path, "two").unwrap();
    made_long_ago(&path);
    let changed = sources(limits()).look(&ask(address).remembering(remembered)).await;
    assert_eq!(body(&changed), "two");
}

#[tokio::test]
async fn what_is_no_file_is_gone_or_refused() {
    assert!(matches!(look("/no/such/file").await.outcome, Outcome::Gone(_)));
    assert!(matches!(look("/dev/null/x").await.outcome, Outcome::Gone(_)));
    assert_eq!(reason(&look("/dev/zero").await), Reason::Refused);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("long"), [b'x'; 1001]).unwrap();
    fs::write(folder.path().join("fits"), [b'x'; 1000]).unwrap();
    assert_eq!(reason(&look(folder.path().join("long").to_str().unwrap()).await), Reason::TooLarge);
    assert_eq!(body(&look(folder.path().join("fits").to_str().unwrap()).await).len(), 1000);
}

#[cfg(unix)]
#[tokio::test]
async fn a_directory_is_its_listing_and_links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("b/c")).unwrap();
    for (name, text) in [("z.txt", "12"), ("b/c/a.txt", "123"), ("b/two\nlines", "")] {
        fs::write(root.join(name), text).unwrap();
        let date = SystemTime::UNIX_EPOCH + Duration::from_hours(24);
        fs::File::options().write(true).open(root.join(name)).unwrap().set_modified(date).unwrap();
    }
    std::os::unix::fs::symlink(root, root.join("b/loop")).unwrap();
    let listing = body(&look(root.to_str().unwrap()).await).replace(root.to_str().unwrap(), "ROOT");
    let day = "1970-01-02T00:00:00Z";
    let expected = format!("b/c/a.txt\t3\t{day}\nb/loop\t-> ROOT\nb/two\\nlines\t0\t{day}\nz.txt\t2\t{day}\n");
    assert_eq!(listing, expected);
    for i in 0..20 {
        fs::write(root.join(format!("more-{i}")), "").unwrap();
    }
    assert_eq!(reason(&look(root.to_str().unwrap()).await), Reason::TooLarge);
}

#[cfg(unix)]
#[tokio::test]
async fn a_commands_output_is_content() {
    assert_eq!(body(&look("exec:printf '%s|' a 'b c' $HOME").await), "a|b c|$HOME|");
    assert_eq!(body(&look("exec:cat").await), "", "nothing to read");
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_fails_says_why() {
    let visit = look("exec:sh -c 'echo output; echo complaint >&2; exit 3'").await;
    assert_eq!(reason(&visit), Reason::Local);
    assert_eq!(visit.outcome.to_string(), "failed: the command ended with exit status: 3: complaint");
    assert_eq!(reason(&look("exec:/no/such/program").await), Reason::Local);
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_takes_too_long_dies_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let alive = folder.path().join("alive");
    let script = format!("(while true; do echo x >> {}; sleep 0.1; done) & wait", alive.display());
    let start = Instant::now();
    assert_eq!(reason(&look(&format!("exec:sh -c '{script}'")).await), Reason::Timeout);
    assert!(start.elapsed() < Duration::from_secs(4));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let length = fs::metadata(&alive).unwrap().len();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(fs::metadata(&alive).unwrap().len(), length, "the child still writes");
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_writes_too_much_is_stopped() {
    let start = Instant::now();
    assert_eq!(reason(&look("exec:yes").await), Reason::TooLarge);
    assert_eq!(body(&look("exec:sh -c 'yes complaint | head -c 1000000 >&2; echo done'").await), "done\n");
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn each_source_knows_its_own_addresses_only() {
    let sources = sources(limits());
    let other = sources.web().look(&ask("/etc/hosts")).await;
    assert_eq!(reason(&other), Reason::Unsupported);
}
