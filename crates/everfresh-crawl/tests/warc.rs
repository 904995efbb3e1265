//! Copies: what is written is read back, by this crate and by others, whatever happens to the files.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../everfresh-store/tests/common/python.rs"]
mod python;

use everfresh_crawl::content::Rules;
use everfresh_crawl::warc::{
    Archive, Error, Exchange, Index, Kind, Original, Prepared, Reader, Record, Settings, Truncated, Version, Writer,
    answer_head, payload_digest,
};
use flate2::write::GzEncoder;
use jiff::Timestamp;
use proptest::prelude::*;
use python::{python_with, run};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
static LONG: [u8; 100_000] = [7; 100_000];
const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";

fn exchange<'a>(target: &'a str, second: i64, body: &'a [u8]) -> Exchange<'a> {
    let address = Some("192.0.2.7".parse().unwrap());
    let (page, request, date) = (None, Some(ASKED), time(second));
    Exchange { target, page, date, address, request, head: HEAD, body, truncated: None }
}

fn archive(folder: &Path) -> Archive {
    Archive::open(folder, Settings::default()).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "gz" || ending == "warc"));
    paths.sort();
    paths
}

fn records(path: &Path) -> Vec<Record> {
    Reader::open(path, 0, 1 << 30).unwrap().map(|found| found.unwrap().record).collect()
}

fn kinds(path: &Path) -> Vec<Kind> {
    records(path).iter().map(Record::kind).collect()
}

/// A page that is answered twice with the same bytes, once with others and once with 304; a file; a body cut short.
fn sample(folder: &Path) -> Vec<Version> {
    let mut archive = archive(folder);
    let page = "http://a.example/menü?x=1";
    let versions = [
        archive.keep(&exchange(page, 0, b"<p>soup")).unwrap(),
        archive.keep(&exchange(page, 60, b"<p>soup")).unwrap(),
        archive.keep(&exchange(page, 120, b"<p>fish")).unwrap(),
        archive
            .keep_unchanged(&Exchange { head: b"HTTP/1.1 304 Not Modified\r\n\r\n", ..exchange(page, 180, b"") })
            .unwrap()
            .unwrap(),
        archive.keep_resource("file:///menu.txt", time(240), "text/plain", b"soup\nfish\n").unwrap(),
        archive
            .keep(&Exchange { truncated: Some(Truncated::Length), ..exchange("http://b.example/", 300, &LONG) })
            .unwrap(),
    ];
    archive.sync().unwrap();
    versions.to_vec()
}

#[test]
fn versions_are_found_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let versions = sample(folder.path());
    for archive in [archive(folder.path()), Archive::read_only(folder.path()).unwrap()] {
        let page = &versions[0].address;
        assert_eq!(archive.history(page).unwrap(), &versions[..4]);
        assert_eq!(
            archive.history(page).unwrap().iter().map(|v| v.revisit).collect::<Vec<_>>(),
            [false, true, false, true]
        );
        assert_eq!(archive.current(page).unwrap(), Some(versions[3].clone()));
        assert_eq!(archive.at(page, time(119)).unwrap(), Some(versions[1].clone()));
        assert_eq!(archive.at(page, time(-1)).unwrap(), None);
        let bodies: Vec<Vec<u8>> = versions.iter().map(|version| archive.read(version).unwrap().bytes).collect();
        let expected: [&[u8]; 6] = [b"<p>soup", b"<p>soup", b"<p>fish", b"<p>fish", b"soup\nfish\n", &LONG];
        assert_eq!(bodies, expected);
        assert!(archive.history("http://a.example/").unwrap().is_empty());
        let diff = archive.diff(&versions[0], &versions[3], &Rules::default()).unwrap();
        let name = |second: i64| format!("{page} {}", time(second));
        assert_eq!(diff, format!("--- {}\n+++ {}\n@@ -1 +1 @@\n-soup\n+fish\n", name(0), name(180)));
        assert_eq!(archive.diff(&versions[2], &versions[3], &Rules::default()).unwrap(), "");
    }
}

#[test]
fn records_of_redirected_pages_name_who_answered_and_are_found_by_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let (page, first, second) = ("http://a.example/", "https://a.example/home", "https://b.example/");
    let from = |target, at, body| Exchange { page: Some(page), ..exchange(target, at, body) };
    let mut writing = archive(folder.path());
    let versions = [
        writing.keep(&from(first, 0, b"<p>soup")).unwrap(),
        writing
            .keep_prepared(&from(first, 60, b"<p>soup"), &Prepared::of(&from(first, 60, b"<p>soup"), 1).unwrap())
            .unwrap(),
        // The same bytes of another address are an answer of their own.
        writing.keep(&from(second, 120, b"<p>soup")).unwrap(),
        writing.keep_unchanged(&from(second, 180, b"")).unwrap().unwrap(),
        // Who is no longer redirected is as everybody.
        writing.keep(&from(page, 240, b"<p>soup")).unwrap(),
    ];
    writing.settle().unwrap();
    drop(writing);
    let targets = [Some(first), Some(first), Some(second), Some(second), None];
    assert_eq!(versions.each_ref().map(|version| version.target.as_deref()), targets);
    assert_eq!(versions.each_ref().map(|version| version.revisit), [false, true, false, true, false]);
    let check = |archive: &Archive| {
        assert_eq!(archive.history(page).unwrap(), versions);
        assert!(archive.history(first).unwrap().is_empty());
        for version in &versions {
            assert_eq!(archive.read(version).unwrap().bytes, b"<p>soup");
            let record = archive.record(version).unwrap();
            assert_eq!(record.target(), Some(version.target.as_deref().unwrap_or(page)));
            let refers = version.target.as_deref().filter(|_| version.revisit);
            assert_eq!(record.field("WARC-Refers-To-Target-URI"), refers);
        }
    };
    check(&Archive::read_only(folder.path()).unwrap());
    // The index is made anew from the records alone.
    fs::remove_dir_all(folder.path().join("index")).unwrap();
    check(&archive(folder.path()));
}

#[test]
fn records_say_what_the_standard_asks() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path());
    let records = records(&files(folder.path())[0]);
    let (request, response, revisit) = (Kind::Request, Kind::Response, Kind::Revisit);
    let expected = [
        Kind::Info,
        request,
        response,
        request,
        revisit,
        request,
        response,
        request,
        revisit,
        Kind::Resource,
        request,
        response,
    ];
    assert_eq!(records.iter().map(Record::kind).collect::<Vec<_>>(), expected);
    let has = |at: usize, name: &str| records[at].field(name).unwrap().to_owned();
    assert_eq!(has(1, "WARC-Concurrent-To"), has(2, "WARC-Record-ID"));
    assert_eq!(has(2, "WARC-IP-Address"), "192.0.2.7");
    assert_eq!(has(2, "WARC-Date"), "2023-11-14T22:13:20Z");
    assert_eq!(has(2, "WARC-Payload-Digest"), payload_digest(b"<p>soup"));
    assert_eq!(has(2, "WARC-Block-Digest"), payload_digest(&[HEAD, b"<p>soup"].concat()));
    assert_eq!(has(4, "WARC-Profile"), "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest");
    assert_eq!(has(4, "WARC-Payload-Digest"), has(2, "WARC-Payload-Digest"));
    assert_eq!(has(4, "WARC-Refers-To-Date"), has(2, "WARC-Date"));
    assert_eq!(has(4, "WARC-Refers-To-Target-URI"), has(2, "WARC-Target-URI"));
    assert_eq!(records[4].block(), HEAD);
    assert_eq!(has(8, "WARC-Profile"), "http://netpreserve.org/warc/1.1/revisit/server-not-modified");
    assert_eq!(has(8, "WARC-Refers-To-Date"), has(6, "WARC-Date"));
    assert_eq!(has(11, "WARC-Truncated"), "length");
    assert!(String::from_utf8_lossy(records[0].block()).contains("software: everfresh/"));
}

/// A Python with warcio.
fn python_with_warcio() -> PathBuf {
    python_with("warcio-1.7", &["warcio==1.7.*"], "import warcio")
}

const WARCIO: &str = "
import sys
from warcio.archiveiterator import ArchiveIterator
with open(sys.argv[1], 'rb') as file:
    for record in ArchiveIterator(file, check_digests='raise'):
        body = record.content_stream().read()
        status = record.http_headers.get_statuscode() if record.http_headers else '-'
        print(record.rec_type, record.rec_headers.get_header('WARC-Target-URI') or '-', status, len(body))
";

#[test]
fn warcio_reads_every_record_and_checks_every_digest() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path());
    let path = files(folder.path())[0].clone();
    let python = python_with_warcio();
    let found = run(&python, &["-c", WARCIO, path.to_str().unwrap()]);
    let page = "http://a.example/menü?x=1";
    let expected = [
        format!("warcinfo - - {}", records(&path)[0].block().len()),
        format!("request {page} - 0"),
        format!("response {page} 200 7"),
        format!("request {page} - 0"),
        format!("revisit {page} 200 0"),
        format!("request {page} - 0"),
        format!("response {page} 200 7"),
        format!("request {page} - 0"),
        format!("revisit {page} 304 0"),
        "resource file:///menu.txt - 10".to_owned(),
        "request http://b.example/ - 0".to_owned(),
        "response http://b.example/ 200 100000".to_owned(),
    ];
    let found: Vec<String> = found.lines().map(|line| line.replace(" / ", " - ")).collect();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        // What warcio calls the status of a request is its address.
        let skip_status = |line: &str| {
            line.split(' ').enumerate().filter(|(at, _)| *at != 2).map(|(_, word)| word.to_owned()).collect::<Vec<_>>()
        };
        if expected.starts_with("request") {
            assert_eq!(skip_status(found), skip_status(&expected));
        } else {
            assert_eq!(*found, expected);
        }
    }
    run(&python, &["-m", "warcio.cli", "check", path.to_str().unwrap()]);
}

#[test]
fn every_offset_is_a_gzip_member_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let versions = sample(folder.path());
    let script = "
import gzip, sys
data = open(sys.argv[1], 'rb').read()
for pair in sys.argv[2:]:
    start, length = map(int, pair.split('+'))
    text = gzip.decompress(data[start:start + length])
    assert text.startswith(b'WARC/1.1\\r\\n') and text.endswith(b'\\r\\n\\r\\n'), text
";
    let path = files(folder.path())[0].to_str().unwrap().to_owned();
    let places: Vec<String> = versions.iter().map(|version| format!("{}+{}", version.offset, version.length)).collect();
    let mut arguments = vec!["-c", script, &path];
    arguments.extend(places.iter().map(String::as_str));
    run(Path::new("python3"), &arguments);
}

#[test]
fn a_torn_tail_is_cut_wherever_it_was_torn() {
    let folder = tempfile::tempdir().unwrap();
    let versions = sample(folder.path());
    let path = files(folder.path())[0].clone();
    let whole = fs::read(&path).unwrap();
    let last = versions.last().unwrap();
    for lost in [1, 4, 8, 60, usize::try_from(last.length).unwrap() - 1] {
        fs::write(&path, &whole[..whole.len() - lost]).unwrap();
        let mut archive = archive(folder.path());
        assert_eq!(archive.cut_bytes(), last.length - lost as u64, "{lost} lost");
        assert!(archive.history(&last.address).unwrap().is_empty(), "{lost} lost");
        assert_eq!(archive.history(&versions[0].address).unwrap(), &versions[..4]);
        let again = archive.keep(&exchange(&last.address, 400, b"again")).unwrap();
        assert_eq!(archive.read(&again).unwrap().bytes, b"again");
        drop(archive);
        assert!(Reader::open(&path, 0, 1 << 30).unwrap().all(|found| found.is_ok()), "{lost} lost");
    }
}

#[test]
fn what_was_settled_is_not_read_again_and_what_came_after_is() {
    let folder = tempfile::tempdir().unwrap();
    let versions = sample(folder.path());
    archive(folder.path()).settle().unwrap();
    let path = files(folder.path())[0].clone();
    let settled = fs::metadata(&path).unwrap().len();
    let mut later = archive(folder.path());
    later.keep(&exchange("http://c.example/", 400, b"later")).unwrap();
    drop(later);
    // Damage before the mark would have made the writer begin another file, if it had read that far.
    let mut bytes = fs::read(&path).unwrap();
    bytes[usize::try_from(versions[2].offset + versions[2].length / 2).unwrap()] ^= 0x55;
    bytes.pop();
    fs::write(&path, &bytes).unwrap();
    let mut archive = archive(folder.path());
    assert!(archive.cut_bytes() > 0);
    let again = archive.keep(&exchange("http://c.example/", 500, b"again")).unwrap();
    assert_eq!(files(folder.path()).len(), 1);
    assert!(again.offset >= settled);
    assert_eq!(archive.read(&again).unwrap().bytes, b"again");
    // A mark beyond the end of its file is worth nothing.
    drop(archive);
    fs::write(&path, &bytes[..usize::try_from(versions[1].offset + 10).unwrap()]).unwrap();
    assert_eq!(self::archive(folder.path()).history(&versions[0].address).unwrap(), &versions[..1]);
}

#[test]
fn damage_in_the_middle_costs_what_it_hits_and_nothing_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let versions = sample(folder.path());
    let path = files(folder.path())[0].clone();
    let mut bytes = fs::read(&path).unwrap();
    let hit = usize::try_from(versions[2].offset + versions[2].length / 2).unwrap();
    bytes[hit] ^= 0x55;
    fs::write(&path, &bytes).unwrap();
    let found: Vec<_> = Reader::open(&path, 0, 1 << 30).unwrap().collect();
    let errors: Vec<u64> = found
        .iter()
        .filter_map(|found| match found {
            Err(Error::Damaged { offset, .. }) => Some(*offset),
            _ => None,
        })
        .collect();
    assert_eq!((found.len(), errors), (12, vec![versions[2].offset]));
    // Without an index the whole file is checked: it stays, and the next record begins another.
    fs::remove_dir_all(folder.path().join("index")).unwrap();
    let mut archive = archive(folder.path());
    assert_eq!((archive.cut_bytes(), fs::metadata(&path).unwrap().len()), (0, bytes.len() as u64));
    assert_eq!(archive.history(&versions[0].address).unwrap().len(), 3);
    archive.keep(&exchange("http://c.example/", 500, b"new")).unwrap();
    assert_eq!(files(folder.path()).len(), 2);
}

/// Files are read in pieces of 65,536 bytes; the first two bytes of a record may lie in different ones.
#[test]
fn a_record_that_begins_with_the_last_byte_of_a_piece_is_found() {
    let keep = |folder: &Path, length: usize| {
        let mut archive = Archive::open(folder, Settings { level: 0, ..Settings::default() }).unwrap();
        archive.keep_resource("file:///long", time(0), "text/plain", &vec![b'x'; length]).unwrap();
        let next = archive.keep_resource("file:///next", time(1), "text/plain", b"soup").unwrap();
        archive.keep_resource("file:///last", time(2), "text/plain", b"fish").unwrap();
        archive.settle().unwrap();
        next.offset
    };
    let offset = keep(tempfile::tempdir().unwrap().path(), 60_000);
    for last in [65_534, 65_535, 65_536] {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(keep(folder.path(), 60_000 + last - usize::try_from(offset).unwrap()), last as u64);
        assert_eq!(kinds(&files(folder.path())[0]).len(), 4);
        // An index that is made anew has it, and nothing is taken for damage.
        fs::remove_dir_all(folder.path().join("index")).unwrap();
        fs::remove_file(folder.path().join("synced.json")).unwrap();
        let mut archive = archive(folder.path());
        assert_eq!(archive.history("file:///next").unwrap().len(), 1);
        archive.keep_resource("file:///new", time(3), "text/plain", b"salad").unwrap();
        assert_eq!(files(folder.path()).len(), 1);
    }
}

#[test]
fn zeros_that_a_power_failure_leaves_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let versions = sample(folder.path());
    let path = files(folder.path())[0].clone();
    let whole = fs::read(&path).unwrap();
    let first = usize::try_from(versions[2].offset).unwrap();
    for from in (first..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[from..].fill(0);
        fs::write(&path, &bytes).unwrap();
        let mut archive = archive(folder.path());
        assert!(archive.history(&versions[0].address).unwrap().starts_with(&versions[..2]), "zeros from {from}");
        archive.keep(&exchange("http://c.example/", 400, b"later")).unwrap();
        drop(archive);
        assert!(Reader::open(&path, 0, 1 << 30).unwrap().all(|found| found.is_ok()), "zeros from {from}");
    }
}

#[test]
fn an_index_that_is_not_as_it_was_left_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let pages: Vec<String> = (0..33_500).map(|page| format!("file:///page/{page}")).collect();
    let mut archive = archive(folder.path());
    for (second, page) in (0..).zip(&pages) {
        archive.keep_resource(page, time(second), "text/plain", page.as_bytes()).unwrap();
    }
    archive.settle().unwrap();
    drop(archive);
    let index = folder.path().join("index");
    let names = ["00000001.cdxj", "tail.cdxj", "progress.json"].map(|name| index.join(name));
    let left = names.clone().map(|path| fs::read(path).unwrap());
    let all_there = |what: &str| {
        let archive = self::archive(folder.path());
        let is_there = |page: &&String| archive.history(page).unwrap().len() == 1;
        assert_eq!(pages.iter().step_by(331).filter(is_there).count(), pages.len().div_ceil(331), "{what}");
    };
    all_there("as it was left");
    for (path, bytes) in names.iter().zip(&left) {
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        all_there(&format!("{} cut", path.display()));
        fs::remove_file(path).unwrap();
        all_there(&format!("{} removed", path.display()));
    }
    // What an interrupted merge left behind is no part of it.
    fs::write(index.join("00000009.cdxj"), "nonsense\n").unwrap();
    all_there("with a leftover");
    assert!(!index.join("00000009.cdxj").exists());
}

#[test]
fn the_same_bytes_of_a_file_are_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut archive = archive(folder.path());
    for (second, text) in [(0, "soup"), (1, "soup"), (2, "fish"), (3, "fish")] {
        archive.keep_resource("file:///menu", time(second), "text/plain", text.as_bytes()).unwrap();
    }
    let check = |archive: &Archive| {
        let history = archive.history("file:///menu").unwrap();
        assert_eq!(history.iter().map(|version| version.revisit).collect::<Vec<_>>(), [false, true, false, true]);
        let texts: Vec<Vec<u8>> = history.iter().map(|version| archive.read(version).unwrap().bytes).collect();
        assert_eq!(texts, [b"soup", b"soup", b"fish", b"fish"]);
    };
    check(&archive);
    drop(archive);
    fs::remove_dir_all(folder.path().join("index")).unwrap();
    check(&self::archive(folder.path()));
    let not_modified = Exchange { head: b"HTTP/1.1 304 Not Modified\r\n\r\n", ..exchange("http://d.example/", 9, b"") };
    assert_eq!(self::archive(folder.path()).keep_unchanged(&not_modified).unwrap(), None);
}

#[test]
fn a_lost_index_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let versions = sample(folder.path());
    fs::remove_dir_all(folder.path().join("index")).unwrap();
    let archive = archive(folder.path());
    for version in &versions {
        assert!(archive.history(&version.address).unwrap().contains(version));
    }
}

#[test]
fn files_roll_and_a_folder_is_held_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        Settings { most_bytes: 2000, about: vec![("operator".to_owned(), "me".to_owned())], ..Settings::default() };
    let mut archive = Archive::open(folder.path(), settings.clone()).unwrap();
    for second in 0..20 {
        archive.keep(&exchange("http://a.example/", second, format!("{second}").as_bytes())).unwrap();
    }
    let error = Archive::open(folder.path(), settings.clone()).unwrap_err();
    assert!(error.to_string().ends_with("another process holds it"), "{error}");
    drop(archive);
    let many = files(folder.path());
    assert!(many.len() > 5);
    for path in &many {
        assert_eq!(kinds(path)[0], Kind::Info);
        assert!(fs::metadata(path).unwrap().len() < 4000);
    }
    let archive = Archive::open(folder.path(), settings).unwrap();
    let history = archive.history("http://a.example/").unwrap();
    let bodies: Vec<Vec<u8>> = history.iter().map(|version| archive.read(version).unwrap().bytes).collect();
    assert_eq!(bodies, (0..20).map(|second| second.to_string().into_bytes()).collect::<Vec<_>>());
}

#[test]
fn nothing_that_would_break_a_record_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut archive = archive(folder.path());
    for target in ["", "http://a.example/\r\nWARC-Type: x", "http://a.example/ b", "a\u{0}b"] {
        let error = archive.keep(&exchange(target, 0, b"")).unwrap_err();
        assert!(error.to_string().starts_with("cannot write a record: address must be one word, got"), "{error}");
    }
    let head = answer_head("HTTP/1.1", 200, "OK\r\nX: y", [("A", "b\r\nC: d")], None);
    assert_eq!(head, b"HTTP/1.1 200 OK  X: y\r\nA: b  C: d\r\n\r\n");
    let original = Original { target: "http://a.example/", date: time(0), payload_digest: "sha1:A\r\nB: c" };
    let mut writer = Writer::open(&folder.path().join("other"), Settings::default()).unwrap();
    assert!(writer.revisit(&exchange("http://a.example/", 0, b""), &original).is_err());
    assert!(Writer::open(folder.path(), Settings { prefix: "../x".to_owned(), ..Settings::default() }).is_err());
}

/// A record as some other tool may write it.
fn foreign(kind: &str, more: &str, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: <http://f.example/>\r\nWARC-Date: 2020-02-02T02:02:02Z\r\n{more}\
         content-length: {}\r\n\r\n",
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn files_of_other_tools_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n4\r\nsoup\r\n0\r\n\r\n";
    let one = foreign("response", "Content-Type: application/http; msgtype=response\r\n", chunked);
    let two = foreign("metadata", "X-Long: a\r\n  b\r\n", b"via: nobody");
    fs::write(folder.path().join("plain.warc"), [one.clone(), two.clone()].concat()).unwrap();
    fs::write(folder.path().join("whole.warc.gz"), packed(&[one.clone(), two.clone(), one.clone()].concat())).unwrap();
    fs::write(folder.path().join("each.warc.gz"), [packed(&one), packed(&two)].concat()).unwrap();
    for (path, many) in files(folder.path()).iter().zip([2, 2, 3]) {
        let found = records(path);
        assert_eq!(found.len(), many, "{}", path.display());
        assert_eq!(found[0].http().unwrap().content(1 << 20).as_ref(), b"soup");
        assert_eq!(found[1].field("x-long"), Some("a b"));
        assert_eq!(found[0].target(), Some("http://f.example/"));
    }
    let archive = archive(folder.path());
    let history = archive.history("http://f.example/").unwrap();
    assert_eq!(history.len(), 3); // the second one in the file that is packed as a whole has no offset of its own
    assert!(history.iter().all(|version| archive.read(version).unwrap().bytes == b"soup"));
}

#[test]
fn hostile_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.warc.gz");
    let good = packed(&foreign("response", "", b"HTTP/1.1 200 OK\r\n\r\n"));
    let huge = b"WARC/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n".to_vec();
    let endless = [b"WARC/1.1\r\n".as_slice(), &b"a".repeat(3 << 20)].concat();
    for bad in [
        packed(&huge),
        huge,
        packed(&endless),
        packed(b""),
        vec![0x1F, 0x8B, 8],
        b"\0\0\0".to_vec(),
        packed(b"WARC/1.1\r\n\r\n"),
    ] {
        fs::write(&path, [bad.as_slice(), b"\n", &good].concat()).unwrap();
        let found: Vec<_> = Reader::open(&path, 0, 1 << 20).unwrap().collect();
        assert!(found[0].is_err());
        assert!(found.last().unwrap().is_ok(), "{found:?}");
        let first = Reader::read_at(&path, 0, 1 << 20);
        assert!(matches!(first, Err(Error::Damaged { offset: 0, .. })), "{first:?}");
    }
}

#[test]
fn an_index_finds_every_address_among_many_in_few_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::open(&folder.path().join("index"), folder.path()).unwrap();
    let version = |page: u32, visit: u32| Version {
        address: format!("http://h{}.example/{page}", page % 97),
        target: None,
        date: time(i64::from(visit)),
        status: Some(200),
        media_type: None,
        digest: format!("sha1:{page}"),
        revisit: visit > 0,
        original: (visit > 0).then(|| time(0)),
        file: String::from("x.warc.gz"),
        offset: u64::from(page),
        length: 1,
    };
    let pages = 35_000;
    for visit in 0..3 {
        for page in 0..pages {
            index.put(&version(page, visit)).unwrap();
        }
    }
    index.flush().unwrap();
    let reader = Index::read_only(&folder.path().join("index")).unwrap();
    for page in (0..pages).step_by(997).chain([pages - 1]) {
        let expected: Vec<Version> = (0..3).map(|visit| version(page, visit)).collect();
        assert_eq!(index.history(&expected[0].address).unwrap(), expected);
        assert_eq!(reader.history(&expected[0].address).unwrap(), expected);
        assert_eq!(index.last(&expected[0].address).unwrap(), expected.last().cloned());
    }
    assert!(index.history("http://h1.example/none").unwrap().is_empty());
    assert_eq!(index.last("http://h1.example/none").unwrap(), None);
    let sorted = fs::read_dir(folder.path().join("index")).unwrap().count();
    assert!(sorted <= 4, "{sorted} files");
}

#[test]
fn the_last_version_is_found_behind_others_that_are_not_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let index = || Index::open(&folder.path().join("index"), folder.path()).unwrap();
    let mut filled = index();
    let version = |address: &str, second: u32, status: u16| Version {
        address: address.to_owned(),
        target: None,
        date: time(i64::from(second)),
        status: Some(status),
        media_type: Some("text/html".repeat(1 + second as usize % 60)),
        digest: "sha1:x".to_owned(),
        revisit: false,
        original: None,
        file: String::from("x.warc.gz"),
        offset: u64::from(second),
        length: 1,
    };
    // Two addresses share a key, and one of them ends with answers that are no content; enough of all for a sorted file.
    let (lower, upper) = ("http://a.example/x", "http://a.example/X");
    for second in 0..33_000 {
        let (address, status) = match second {
            0..100 => (lower, 200),
            100..20_000 => (upper, 200),
            20_000..25_000 => (lower, 404),
            _ => (if second % 2 == 0 { "http://a.example/w" } else { "http://a.example/y" }, 200),
        };
        filled.put(&version(address, second, status)).unwrap();
    }
    assert!(folder.path().join("index/00000001.cdxj").exists());
    let last = |address: &str| filled.last(address).unwrap().map(|version| version.offset);
    assert_eq!(last(lower), Some(99));
    assert_eq!(last(upper), Some(19_999));
    assert_eq!((last("http://a.example/w"), last("http://a.example/y")), (Some(32_998), Some(32_999)));
    assert_eq!((last("http://a.example/"), last("http://a.example/z")), (None, None));
}

#[test]
fn a_reference_to_lost_content_is_not_referred_to_again() {
    let folder = tempfile::tempdir().unwrap();
    // Every record has a file of its own.
    let settings = Settings { most_bytes: 1, ..Settings::default() };
    let mut archive = Archive::open(folder.path(), settings.clone()).unwrap();
    let target = "http://a.example/";
    let kept = archive.keep(&exchange(target, 0, b"soup")).unwrap();
    for second in 1..4 {
        let again = archive.keep(&exchange(target, second, b"soup")).unwrap();
        assert_eq!((again.revisit, again.original), (true, Some(kept.date)));
    }
    archive.settle().unwrap();
    drop(archive);
    fs::remove_file(folder.path().join(&kept.file)).unwrap();
    let mut archive = Archive::open(folder.path(), settings).unwrap();
    assert!(archive.keep_unchanged(&exchange(target, 5, b"")).unwrap().is_none());
    assert!(!archive.keep(&exchange(target, 6, b"soup")).unwrap().revisit);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_is_kept_comes_back(
        visits in prop::collection::vec((0_u8..3, prop::collection::vec(any::<u8>(), 0..300), any::<bool>()), 1..20),
        most_bytes in 200_u64..5000,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { most_bytes, ..Settings::default() };
        let mut archive = Archive::open(folder.path(), settings.clone()).unwrap();
        let mut expected: Vec<(Version, Vec<u8>)> = Vec::new();
        for (second, (page, body, reopen)) in visits.into_iter().enumerate() {
            let target = format!("http://a.example/{page}");
            let kept = archive.keep(&exchange(&target, i64::try_from(second).unwrap(), &body)).unwrap();
            expected.push((kept, body));
            if reopen {
                drop(archive);
                archive = Archive::open(folder.path(), settings.clone()).unwrap();
            }
        }
        for (version, body) in &expected {
            prop_assert_eq!(&archive.read(version).unwrap().bytes, body);
            prop_assert_eq!(archive.history(&version.address).unwrap().iter().filter(|found| *found == version).count(), 1);
        }
    }

    #[test]
    fn no_bytes_stop_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..400), good in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.warc");
        let record = foreign("response", "", &bytes);
        let mut packed = packed(&record);
        if !good {
            let at = bytes.first().map_or(0, |byte| usize::from(*byte) % packed.len());
            packed[at] = packed[at].wrapping_add(1);
        }
        fs::write(&path, [packed.as_slice(), &bytes].concat()).unwrap();
        let found = Reader::open(&path, 0, 1 << 20).unwrap().take(1000).flatten().count();
        prop_assert!(!good || found >= 1);
    }
}
