//! The ordinary behaviour of a server that everybody runs: conditional requests, compression, redirects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod support;

use everfresh_crawl::fetch::{Address, Ask, Outcome, Source, Web};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use support::{date, fetched, look, web};
use tempfile::TempDir;

/// nginx on a port of its own; it ends with the test.
struct Nginx {
    child: Child,
    folder: TempDir,
    port: u16,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server's program; where it is missing and Debian's packages can be had, it is installed.
fn program() -> &'static str {
    static PROGRAM: OnceLock<Option<&str>> = OnceLock::new();
    let found = PROGRAM.get_or_init(|| find().or_else(|| install().then(find).flatten()));
    found.expect("these tests need nginx, on the PATH or as /usr/sbin/nginx: apt-get install nginx-light")
}

fn find() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("-v").stderr(Stdio::null()).status().is_ok();
    ["nginx", "/usr/sbin/nginx"].into_iter().find(runs)
}

fn install() -> bool {
    let install = "apt-get install --yes --no-install-recommends nginx-light";
    let script = format!("{install} || (apt-get update && {install})");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
    command.status().is_ok_and(|done| done.success())
}

impl Nginx {
    async fn start() -> Nginx {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let root = folder.path();
        fs::create_dir(root.join("www")).unwrap();
        fs::create_dir(root.join("www/folder")).unwrap();
        fs::write(root.join("www/folder/index.html"), "<p>folder</p>").unwrap();
        fs::write(root.join("nginx.conf"), config(root.to_str().unwrap(), port)).unwrap();
        let child = Command::new(program())
            .args(["-e", "error.log", "-p"])
            .arg(root)
            .args(["-c", "nginx.conf"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let nginx = Nginx { child, folder, port };
        nginx.wait().await;
        nginx
    }

    async fn wait(&self) {
        for _ in 0..200 {
            if tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("nginx does not answer: {:?}", fs::read_to_string(self.folder.path().join("error.log")));
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Writes a page that was last changed at a second.
    fn write(&self, name: &str, text: &str, second: u64) {
        let path = self.folder.path().join("www").join(name);
        fs::write(&path, text).unwrap();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
    }
}

fn config(root: &str, port: u16) -> String {
    format!(
        "daemon off; master_process off; pid nginx.pid; events {{ worker_connections 64; }}
         http {{ access_log off; gzip on; gzip_min_length 100; gzip_types text/plain; default_type text/plain;
         types {{ text/html html; }}
         client_body_temp_path {root}/t1; proxy_temp_path {root}/t2; fastcgi_temp_path {root}/t3;
         uwsgi_temp_path {root}/t4; scgi_temp_path {root}/t5;
         server {{ listen 127.0.0.1:{port}; root {root}/www; absolute_redirect off;
           location /cached/ {{ expires 1h; try_files /a.txt =404; }}
           location /moved {{ return 308 /a.txt; }}
           location /secret {{ return 403; }}
           location /never {{ return 410; }} }} }}"
    )
}

async fn again(web: &Web, nginx: &Nginx, path: &str, found: &everfresh_crawl::fetch::Fetched) -> Outcome {
    let ask = Ask::new(Address::of_page(&nginx.url(path)).unwrap(), date());
    web.look(&ask.remembering(found.hints.validators.clone().unwrap())).await.outcome
}

#[tokio::test]
async fn an_unchanged_page_costs_a_304() {
    let nginx = Nginx::start().await;
    nginx.write("a.txt", "one", 1_700_000_000);
    let web = web();
    let found = fetched(look(&web, &nginx.url("/a.txt")).await);
    assert_eq!(found.body, "one");
    assert_eq!(found.hints.last_modified.unwrap().as_second(), 1_700_000_000);
    let Outcome::NotModified(same) = again(&web, &nginx, "/a.txt", &found).await else { panic!("modified") };
    assert_eq!(same.exchange.unwrap().status, 304);
    assert_eq!(same.hints.validators, found.hints.validators);
    nginx.write("a.txt", "two", 1_700_000_001);
    let Outcome::Fetched(changed) = again(&web, &nginx, "/a.txt", &found).await else { panic!("not modified") };
    assert_eq!(changed.body, "two");
    fs::remove_file(nginx.folder.path().join("www/a.txt")).unwrap();
    assert!(matches!(again(&web, &nginx, "/a.txt", &found).await, Outcome::Gone(_)));
}

#[tokio::test]
async fn the_date_alone_suffices_for_a_304() {
    let nginx = Nginx::start().await;
    nginx.write("a.txt", "one", 1_700_000_000);
    let web = web();
    let mut found = fetched(look(&web, &nginx.url("/a.txt")).await);
    if let Some(validators) = &mut found.hints.validators {
        validators.etag = None;
    }
    assert!(matches!(again(&web, &nginx, "/a.txt", &found).await, Outcome::NotModified(_)));
}

#[tokio::test]
async fn gzip_saves_bytes_and_a_weak_tag_still_makes_a_304() {
    let nginx = Nginx::start().await;
    let text = "many words that come again and again ".repeat(1000);
    nginx.write("long.txt", &text, 1_700_000_000);
    let web = web();
    let visit = look(&web, &nginx.url("/long.txt")).await;
    assert!(visit.wire_bytes * 20 < text.len() as u64, "{} bytes", visit.wire_bytes);
    let found = fetched(visit);
    assert_eq!(found.body, text);
    assert!(found.hints.validators.as_ref().unwrap().etag.as_ref().unwrap().starts_with("W/"));
    let head = String::from_utf8(found.exchange.as_ref().unwrap().response_head(found.body.len())).unwrap();
    assert!(head.contains("x-crawl-content-encoding: gzip\r\n"), "{head}");
    assert!(matches!(again(&web, &nginx, "/long.txt", &found).await, Outcome::NotModified(_)));
}

#[tokio::test]
async fn ordinary_answers_have_their_classes() {
    let nginx = Nginx::start().await;
    nginx.write("a.txt", "one", 1_700_000_000);
    let web = web();
    let cached = fetched(look(&web, &nginx.url("/cached/x")).await);
    assert_eq!(cached.hints.fresh_for, Some(Duration::from_hours(1)));
    let moved = look(&web, &nginx.url("/moved")).await;
    assert_eq!(moved.moved_to().unwrap().path(), "/a.txt");
    assert_eq!(fetched(moved).body, "one");
    let folder = look(&web, &nginx.url("/folder")).await;
    assert_eq!(folder.moved_to().unwrap().path(), "/folder/");
    assert_eq!(fetched(folder).content_type.as_deref(), Some("text/html"));
    assert_eq!(
        support::failure(look(&web, &nginx.url("/secret")).await).reason,
        everfresh_crawl::fetch::Reason::Refused
    );
    assert!(matches!(look(&web, &nginx.url("/never")).await.outcome, Outcome::Gone(gone) if gone.for_good));
    let probe = Ask::new(Address::of_page(&nginx.url("/a.txt")).unwrap(), date()).probing();
    assert_eq!(fetched(web.look(&probe).await).body, "one");
}
