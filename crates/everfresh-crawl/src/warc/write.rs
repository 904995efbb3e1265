use super::digest::payload_digest;
use super::error::{Error, Result};
use super::member::{self, Prepared, Records};
use super::read::Reader;
use super::record::Kind;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The profiles of revisits (WARC 1.1 section 6.7).
const SAME_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The file that says up to where the last one is known to be on the disk.
const MARK: &str = "synced.json";
/// It is written anew after so many bytes: what is behind it is read when the folder is opened after a crash.
const MARKED_BYTES: u64 = 64 << 20;

/// How files are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How file names begin.
    pub prefix: String,
    /// A file that has this many bytes gets no further record.
    pub most_bytes: u64,
    /// The level of compression, 0 to 9.
    pub level: u32,
    /// What the first record of each file says, beside the software and the format: `operator`, `robots` and the like.
    pub about: Vec<(String, String)>,
}

impl Settings {
    /// The level of compression unless another is asked for: at the next, copies are a fiftieth smaller and take a third longer
    /// (bench/crawl.md).
    pub const LEVEL: u32 = 1;
}

impl Default for Settings {
    /// `everfresh-*.warc.gz` of about a gigabyte, which is what other archives have, at [`Settings::LEVEL`].
    fn default() -> Self {
        Settings {
            prefix: "everfresh".to_owned(),
            most_bytes: 1_000_000_000,
            level: Settings::LEVEL,
            about: Vec::new(),
        }
    }
}

/// A visit by HTTP, as it is kept.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The address that was asked: where redirects ended.
    pub target: &'a str,
    /// The address under which the copy is looked up, if that is another: where redirects began.
    pub page: Option<&'a str>,
    /// When.
    pub date: Timestamp,
    /// Who answered.
    pub address: Option<IpAddr>,
    /// What was sent, head and body.
    pub request: Option<&'a [u8]>,
    /// The head of the answer, with the empty line: see [`answer_head`].
    pub head: &'a [u8],
    /// The body of the answer.
    pub body: &'a [u8],
    /// Why the body is not whole, if it is not.
    pub truncated: Option<Truncated>,
}

impl<'a> Exchange<'a> {
    /// The address under which the copy is looked up.
    pub fn page(&self) -> &'a str {
        self.page.unwrap_or(self.target)
    }
}

/// The field of a record that names [`Exchange::page`] where that is not the target: the index is made anew from it.
pub(super) const PAGE: &str = "X-Everfresh-Page";

/// Why a body ends before its end (`WARC-Truncated`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncated {
    /// There was too much of it.
    Length,
    /// It took too long.
    Time,
    /// The connection broke.
    Disconnect,
}

impl Truncated {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Truncated::Length => "length",
            Truncated::Time => "time",
            Truncated::Disconnect => "disconnect",
        }
    }
}

/// The copy that a revisit found again.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// Its address.
    pub target: &'a str,
    /// Its date, as its record has it.
    pub date: Timestamp,
    /// The digest of its payload, as its record has it.
    pub payload_digest: &'a str,
}

/// Where a record was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the file, in the folder.
    pub file: String,
    /// Where the record begins.
    pub offset: u64,
    /// How many bytes it takes.
    pub length: u64,
}

/// Writes records into the files of a folder: WARC 1.1, a gzip member for each record.
///
/// A record reaches the operating system as a whole or not at all, as far as that can be told; it reaches the disk with
/// [`Writer::sync`]. What a crash left of a last record is cut off when the folder is opened again.
///
/// The `warc` crate (0.4) was tried first: it compresses a file as one member, in which no record can be found by its offset,
/// writes fields in the order of a hash table, and takes a short write for a whole one.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    settings: Settings,
    open: Option<Open>,
    /// The number of the last file.
    serial: u64,
    cut_bytes: u64,
}

#[derive(Debug)]
struct Open {
    name: String,
    file: File,
    length: u64,
    /// Up to here the next opening need not look for damage.
    marked: u64,
}

/// Up to here a file was on the disk once.
#[derive(Serialize, Deserialize)]
struct Mark {
    file: String,
    bytes: u64,
}

impl Mark {
    /// None after the first crash of a folder, or of another version: then there is more to read.
    fn read(folder: &Path) -> Option<Mark> {
        serde_json::from_slice(&fs::read(folder.join(MARK)).ok()?).ok()
    }
}

impl Writer {
    /// Goes on where the last file of the folder ends, or begins in an empty one; the folder is made if it is not there.
    ///
    /// What came after the last mark is read for that: what a power failure leaves need not be at the end, and nothing but the records
    /// themselves tells. A file with damage before whole records is left as it is: the next record begins a new one.
    pub fn open(folder: &Path, settings: Settings) -> Result<Writer> {
        check("prefix", &settings.prefix, "letters, digits, `_` and `-`", |c| {
            c.is_ascii_alphanumeric() || "_-".contains(c)
        })?;
        fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
        let mut writer = Writer { folder: folder.to_owned(), settings, open: None, serial: 0, cut_bytes: 0 };
        let last =
            files(folder)?.into_iter().filter_map(|name| Some((serial(&name, &writer.settings.prefix)?, name))).max();
        if let Some((serial, name)) = last {
            writer.serial = serial;
            writer.open = writer.reopen(name)?;
        }
        Ok(writer)
    }

    /// Lets go of its file.
    pub(super) fn into_settings(self) -> Settings {
        self.settings
    }

    /// How many bytes of a torn record were cut off on opening.
    pub const fn cut_bytes(&self) -> u64 {
        self.cut_bytes
    }

    fn reopen(&mut self, name: String) -> Result<Option<Open>> {
        let path = self.folder.join(&name);
        let mut file = OpenOptions::new().read(true).write(true).open(&path).map_err(Error::file("open", &path))?;
        hold(&file, &path)?;
        let length = file.metadata().map_err(Error::file("read", &path))?.len();
        let marked = Mark::read(&self.folder).filter(|mark| mark.file == name && mark.bytes <= length);
        let marked = marked.map_or(0, |mark| mark.bytes);
        let Some(whole) = whole_until(&path, marked)? else { return Ok(None) };
        if whole < length {
            self.cut_bytes = length - whole;
            file.set_len(whole).and_then(|()| file.sync_all()).map_err(Error::file("cut", &path))?;
        }
        file.seek(SeekFrom::Start(whole)).map_err(Error::file("write", &path))?;
        Ok(Some(Open { name, file, length: whole, marked }))
    }

    /// Keeps an answer, and before it what was asked; the place is that of the answer.
    pub fn response(&mut self, exchange: &Exchange<'_>) -> Result<Place> {
        let payload = payload_digest(exchange.body);
        self.append(exchange.date, &member::response(exchange, &payload, self.settings.level)?)
    }

    /// Keeps an answer that was made ready before.
    pub fn prepared(&mut self, at: Timestamp, prepared: &Prepared) -> Result<Place> {
        self.append(at, &prepared.records)
    }

    /// Keeps that the answer had the payload of an earlier one; its head is kept, its body is not.
    pub fn revisit(&mut self, exchange: &Exchange<'_>, original: &Original<'_>) -> Result<Place> {
        self.again(exchange, original, SAME_PAYLOAD)
    }

    /// Keeps that the source said that nothing changed (304).
    pub fn not_modified(&mut self, exchange: &Exchange<'_>, original: &Original<'_>) -> Result<Place> {
        self.again(exchange, original, NOT_MODIFIED)
    }

    fn again(&mut self, exchange: &Exchange<'_>, original: &Original<'_>, profile: &str) -> Result<Place> {
        let fields = reference(original, profile)?;
        let records = member::records(exchange, Kind::Revisit, exchange.head, fields, self.settings.level)?;
        self.append(exchange.date, &records)
    }

    /// Keeps bytes that came without HTTP: a file, what a command printed.
    pub fn resource(&mut self, target: &str, at: Timestamp, content_type: &str, bytes: &[u8]) -> Result<Place> {
        check("content type", content_type, "one line", |c| !c.is_control())?;
        let mut fields = about(Kind::Resource, &id(), at, Some(target))?;
        fields.push(("Content-Type", content_type.to_owned()));
        fields.push(("WARC-Payload-Digest", payload_digest(bytes)));
        let bytes = member::member(&fields, bytes, self.settings.level)?;
        self.append(at, &Records { bytes, answer_at: 0 })
    }

    /// Keeps that such bytes were those of an earlier copy.
    pub fn resource_again(
        &mut self,
        target: &str,
        at: Timestamp,
        content_type: &str,
        original: &Original<'_>,
    ) -> Result<Place> {
        check("content type", content_type, "one line", |c| !c.is_control())?;
        let mut fields = about(Kind::Revisit, &id(), at, Some(target))?;
        fields.push(("Content-Type", content_type.to_owned()));
        fields.extend(reference(original, SAME_PAYLOAD)?);
        let bytes = member::member(&fields, &[], self.settings.level)?;
        self.append(at, &Records { bytes, answer_at: 0 })
    }

    /// Everything that was written is on the disk when this returns.
    pub fn sync(&mut self) -> Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        open.file.sync_data().map_err(Error::file("write", &self.folder.join(&open.name)))
    }

    /// Is there so much behind the last mark that another is due?
    pub(super) fn wants_mark(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.length - open.marked >= MARKED_BYTES)
    }

    /// As [`Writer::sync`], and remembers that the file is on the disk up to here: the next opening need not read it.
    pub fn mark(&mut self) -> Result<()> {
        self.sync()?;
        let Some(open) = &mut self.open else { return Ok(()) };
        write_whole(&self.folder.join(MARK), &Mark { file: open.name.clone(), bytes: open.length })?;
        open.marked = open.length;
        Ok(())
    }

    /// Writes records in one piece; the place is that of the answer.
    fn append(&mut self, at: Timestamp, records: &Records) -> Result<Place> {
        if self.open.as_ref().is_none_or(|open| open.length >= self.settings.most_bytes) {
            self.begin(at)?;
        }
        let Some(open) = &mut self.open else {
            return Err(Error::file("open", &self.folder)(io::Error::other("no file")));
        };
        let path = self.folder.join(&open.name);
        if let Err(source) = open.file.write_all(&records.bytes) {
            // Half a record must not stand before whole ones; if it cannot be taken back, the next opening does.
            let back = open.file.set_len(open.length).and_then(|()| open.file.seek(SeekFrom::Start(open.length)));
            if back.is_err() {
                self.open = None;
            }
            return Err(Error::file("write", &path)(source));
        }
        let offset = open.length + records.answer_at as u64;
        let length = (records.bytes.len() - records.answer_at) as u64;
        open.length = offset + length;
        Ok(Place { file: open.name.clone(), offset, length })
    }

    /// Begins a new file with the record that says what it is.
    fn begin(&mut self, at: Timestamp) -> Result<()> {
        self.sync()?;
        self.open = None;
        self.serial += 1;
        let name = format!("{}-{}-{:08}.warc.gz", self.settings.prefix, digits(at), self.serial);
        let path = self.folder.join(&name);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(Error::file("make", &path))?;
        hold(&file, &path)?;
        let mut fields = about(Kind::Info, &id(), at, None)?;
        fields.push(("WARC-Filename", name.clone()));
        fields.push(("Content-Type", "application/warc-fields".to_owned()));
        let mut block =
            format!("software: everfresh/{}\r\nformat: WARC File Format 1.1\r\n", env!("CARGO_PKG_VERSION"));
        for (name, value) in &self.settings.about {
            check("name of a field", name, "one word", |c| c.is_ascii_alphanumeric() || c == '-')?;
            check("value of a field", value, "one line", |c| !c.is_control())?;
            block.push_str(&format!("{name}: {value}\r\n"));
        }
        let member = member::member(&fields, block.as_bytes(), self.settings.level)?;
        file.write_all(&member).and_then(|()| file.sync_all()).map_err(Error::file("write", &path))?;
        sync_folder(&self.folder)?;
        self.open = Some(Open { name, file, length: member.len() as u64, marked: 0 });
        Ok(())
    }
}

/// The head of an answer as it is kept, from what a client hands over.
///
/// `decoded` says that the client undid codings: their fields then stand under the names that other crawlers give them
/// (`X-Crawler-Content-Encoding`), so that nobody undoes them twice, and the length is that of the body as it is kept.
///
/// ```
/// use everfresh_crawl::warc::answer_head;
/// let head = answer_head("HTTP/1.1", 200, "OK", [("Content-Encoding", "gzip"), ("ETag", "\"a\"")], Some(5));
/// let expected = "HTTP/1.1 200 OK\r\nX-Crawler-Content-Encoding: gzip\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\n";
/// assert_eq!(String::from_utf8(head).unwrap(), expected);
/// ```
pub fn answer_head<'f>(
    version: &str,
    status: u16,
    reason: &str,
    fields: impl IntoIterator<Item = (&'f str, &'f str)>,
    decoded: Option<u64>,
) -> Vec<u8> {
    let mut head = format!("{} {status} {}\r\n", one_line(version), one_line(reason));
    for (name, value) in fields {
        let hidden = ["content-encoding", "transfer-encoding", "content-length"];
        let hide = decoded.is_some() && hidden.iter().any(|hidden| name.eq_ignore_ascii_case(hidden));
        head.push_str(&format!("{}{}: {}\r\n", if hide { "X-Crawler-" } else { "" }, one_line(name), one_line(value)));
    }
    if let Some(length) = decoded {
        head.push_str(&format!("Content-Length: {length}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// A text in which nothing ends a line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The fields by which a revisit names the copy that it found again.
fn reference(original: &Original<'_>, profile: &str) -> Result<Vec<(&'static str, String)>> {
    check_address(original.target)?;
    check("payload digest", original.payload_digest, "one word", |c| c.is_ascii_graphic())?;
    Ok(vec![
        ("WARC-Payload-Digest", original.payload_digest.to_owned()),
        ("WARC-Profile", profile.to_owned()),
        ("WARC-Refers-To-Target-URI", original.target.to_owned()),
        ("WARC-Refers-To-Date", date(original.date)),
    ])
}

/// The fields that every record has.
pub(super) fn about(kind: Kind, id: &str, at: Timestamp, target: Option<&str>) -> Result<Vec<(&'static str, String)>> {
    let mut fields =
        vec![("WARC-Type", kind.name().to_owned()), ("WARC-Record-ID", id.to_owned()), ("WARC-Date", date(at))];
    if let Some(target) = target {
        check_address(target)?;
        fields.push(("WARC-Target-URI", target.to_owned()));
    }
    Ok(fields)
}

pub(super) fn id() -> String {
    format!("<urn:uuid:{}>", uuid::Uuid::new_v4())
}

/// A date as records have it, to the millisecond.
pub(super) fn date(at: Timestamp) -> String {
    to_millisecond(at).to_string()
}

/// What is left of a date when it is written down.
pub(super) fn to_millisecond(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}

/// A date in 14 digits, as indexes and file names have it.
pub(super) fn digits(at: Timestamp) -> String {
    at.strftime("%Y%m%d%H%M%S").to_string()
}

/// An address goes into lines of fields and indexes: it must not end them.
pub(super) fn check_address(address: &str) -> Result<()> {
    check("address", address, "one word", |c| !c.is_control() && !c.is_whitespace())
}

fn check(what: &'static str, value: &str, bound: &'static str, good: impl Fn(char) -> bool) -> Result<()> {
    if !value.is_empty() && value.chars().all(good) {
        return Ok(());
    }
    Err(Error::Refused { what, bound, value: value.escape_debug().take(200).collect() })
}

/// The WARC files of a folder by name, in order.
pub(super) fn files(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::file("read", folder))? {
        let name = entry.map_err(Error::file("read", folder))?.file_name();
        if let Some(name) = name.to_str().filter(|name| is_warc(name)) {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn is_warc(name: &str) -> bool {
    let name = Path::new(name.strip_suffix(".gz").unwrap_or(name));
    name.extension().is_some_and(|ending| ending == "warc")
}

/// The number in the name of a file of ours.
pub(super) fn serial(name: &str, prefix: &str) -> Option<u64> {
    let rest = name.strip_prefix(prefix)?.strip_prefix('-')?.strip_suffix(".warc.gz")?;
    rest.split_once('-')?.1.parse().ok()
}

/// Where the whole records of a file end, which is not before `from`; nothing if there are whole ones behind damage.
fn whole_until(path: &Path, from: u64) -> Result<Option<u64>> {
    let mut whole = from;
    let mut damaged = false;
    for found in Reader::open(path, from, u64::MAX)? {
        match found {
            Ok(_) if damaged => return Ok(None),
            Ok(found) => whole = found.offset + found.length,
            // Damage may show only behind what seemed to be a record.
            Err(Error::Damaged { offset, .. }) => (damaged, whole) = (true, whole.min(offset)),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(whole))
}

/// So often, a hundredth of a second apart, a file is tried that somebody holds.
const TRIES: u32 = 50;

/// Takes a file for ourselves. Whoever starts a process holds for a moment, until the other program begins, what was let go just now.
fn hold(file: &File, path: &Path) -> Result<()> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(10)),
            Err(fs::TryLockError::Error(source)) => return Err(Error::file("hold", path)(source)),
        }
    }
    Err(Error::Held { path: path.to_owned() })
}

/// Writes a small file beside and renames it: others see the old one or the new one, whole.
pub(super) fn write_whole(path: &Path, value: &impl Serialize) -> Result<()> {
    let begun = path.with_extension("begun");
    let written = serde_json::to_vec(value).map_err(io::Error::from).and_then(|json| {
        let mut file = File::create(&begun)?;
        file.write_all(&json)?;
        file.sync_all()?;
        fs::rename(&begun, path)
    });
    written.map_err(Error::file("write", path))
}

/// The name of a new file is on the disk when this returns.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::file("write", folder))
}
