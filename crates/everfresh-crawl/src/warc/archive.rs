use super::digest::payload_digest;
use super::error::{Error, Result};
use super::index::{Index, Version};
use super::member::Prepared;
use super::read::Reader;
use super::record::{Kind, Record};
use super::write::{Exchange, Original, Place, Settings, Writer, date, to_millisecond};
use crate::content::{Content, Rules};
use jiff::Timestamp;
use similar::TextDiff;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder of the index, in that of the records.
pub(super) const INDEX: &str = "index";
/// The largest copy that is read back.
const MOST_BYTES: u64 = 1 << 30;
/// How long two texts may be compared before the rest is taken for wholly different.
const DIFF_TIME: Duration = Duration::from_secs(5);

/// The copies: records, and the index to them.
///
/// ```
/// use everfresh_crawl::content::Rules;
/// use everfresh_crawl::warc::{Archive, Settings};
/// let folder = tempfile::tempdir()?;
/// let mut archive = Archive::open(folder.path(), Settings::default())?;
/// for (date, text) in [("2024-05-01T00:00:00Z", "soup\nsalad\n"), ("2024-05-02T00:00:00Z", "soup\nfish\n")] {
///     archive.keep_resource("file:///menu", date.parse()?, "text/plain", text.as_bytes())?;
/// }
/// let history = archive.history("file:///menu")?;
/// assert_eq!(archive.read(&history[1])?.bytes, b"soup\nfish\n");
/// let diff = archive.diff(&history[0], &history[1], &Rules::default())?;
/// assert!(diff.ends_with(" soup\n-salad\n+fish\n"), "{diff}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    /// Nothing for who only reads.
    writer: Option<Writer>,
    /// Those of a writer that could not be opened again.
    settings: Option<Settings>,
    index: Index,
}

/// A copy as it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The status of the answer that had the content; nothing where there was no HTTP.
    pub status: Option<u16>,
    /// The fields of its head.
    pub fields: Vec<(String, String)>,
    /// The content type that the source gave.
    pub content_type: Option<String>,
    /// The content, with codings undone.
    pub bytes: Vec<u8>,
}

impl Archive {
    /// Opens a folder of copies to add to them, and makes good what a crash left: torn records, missing lines of the index.
    pub fn open(folder: &Path, settings: Settings) -> Result<Archive> {
        let writer = Writer::open(folder, settings)?;
        let index = Index::open(&folder.join(INDEX), folder)?;
        Ok(Archive { folder: folder.to_owned(), writer: Some(writer), settings: None, index })
    }

    /// Opens a folder of copies to read them, while another process may add to them.
    pub fn read_only(folder: &Path) -> Result<Archive> {
        let index = Index::read_only(&folder.join(INDEX))?;
        Ok(Archive { folder: folder.to_owned(), writer: None, settings: None, index })
    }

    /// Opens the folder again to add to it, after something could not be written: what was written in part is made good.
    pub fn reopen(&mut self) -> Result<()> {
        // Whoever holds the file must let go of it first.
        let Some(settings) = self.writer.take().map(Writer::into_settings).or_else(|| self.settings.clone()) else {
            return Ok(());
        };
        self.settings = Some(settings.clone());
        *self = Archive::open(&self.folder, settings)?;
        Ok(())
    }

    /// How many bytes of a torn record were cut off on opening.
    pub fn cut_bytes(&self) -> u64 {
        self.writer.as_ref().map_or(0, Writer::cut_bytes)
    }

    /// Keeps an answer: in full, or, if the current copy has the same payload, as a reference to it.
    ///
    /// Whether a copy may be kept at all (`noarchive`) is for the caller to ask first.
    pub fn keep(&mut self, exchange: &Exchange<'_>) -> Result<Version> {
        let digest = payload_digest(exchange.body);
        let original = self.same(exchange, &digest)?;
        let writer = writer(&mut self.writer, &self.folder)?;
        let place = match &original {
            Some(original) => writer.revisit(exchange, &original.refer())?,
            None => writer.response(exchange)?,
        };
        self.note(exchange, place, digest, original)
    }

    /// The same for an answer that was made ready before, by whoever fetched it.
    pub fn keep_prepared(&mut self, exchange: &Exchange<'_>, prepared: &Prepared) -> Result<Version> {
        let original = self.same(exchange, &prepared.digest)?;
        let writer = writer(&mut self.writer, &self.folder)?;
        let place = match &original {
            Some(original) => writer.revisit(exchange, &original.refer())?,
            None => writer.prepared(exchange.date, prepared)?,
        };
        self.note(exchange, place, prepared.digest.clone(), original)
    }

    /// Keeps that the source said that nothing changed (304); without a copy that this could be said of, nothing.
    pub fn keep_unchanged(&mut self, exchange: &Exchange<'_>) -> Result<Option<Version>> {
        let Some(original) = self.original(exchange.page())? else { return Ok(None) };
        let place = writer(&mut self.writer, &self.folder)?.not_modified(exchange, &original.refer())?;
        self.note(exchange, place, original.digest.clone(), Some(original)).map(Some)
    }

    /// Keeps bytes that came without HTTP: in full, or as a reference to the current copy.
    pub fn keep_resource(&mut self, address: &str, at: Timestamp, content_type: &str, bytes: &[u8]) -> Result<Version> {
        let digest = payload_digest(bytes);
        let original = self.original(address)?.filter(|original| original.digest == digest);
        let writer = writer(&mut self.writer, &self.folder)?;
        let place = match &original {
            Some(original) => writer.resource_again(address, at, content_type, &original.refer())?,
            None => writer.resource(address, at, content_type, bytes)?,
        };
        self.put((address, None), at, None, Some(media_type(content_type)), digest, original, place)
    }

    /// Everything that was kept is on the disk when this returns.
    pub fn sync(&mut self) -> Result<()> {
        if self.writer.as_ref().is_some_and(Writer::wants_mark) {
            return self.settle();
        }
        self.writer.as_mut().map_or(Ok(()), Writer::sync)?;
        self.index.flush()
    }

    /// The same, and the next opening finds nothing to make good: for the end of a run, and now and then.
    pub fn settle(&mut self) -> Result<()> {
        self.writer.as_mut().map_or(Ok(()), Writer::mark)?;
        self.index.save()
    }

    /// All versions of an address, the oldest first.
    pub fn history(&self, address: &str) -> Result<Vec<Version>> {
        self.index.history(address)
    }

    /// The newest version of an address that has content.
    pub fn current(&self, address: &str) -> Result<Option<Version>> {
        self.index.current(address)
    }

    /// The version that was current at a time.
    pub fn at(&self, address: &str, time: Timestamp) -> Result<Option<Version>> {
        self.index.at(address, time)
    }

    /// The content of a version; of one that was the same as before, that of the one before.
    pub fn read(&self, version: &Version) -> Result<Kept> {
        let mut record = self.record(version)?;
        // A reference to a reference is no use of ours, but other tools have written some.
        for _ in 0..8 {
            if record.kind() != Kind::Revisit {
                break;
            }
            record = self.record(&self.referred(&record, version)?)?;
        }
        Ok(match record.http() {
            Some(http) => Kept {
                status: http.status,
                content_type: http.field("Content-Type").map(str::to_owned),
                bytes: http.content(MOST_BYTES).into_owned(),
                fields: http.fields,
            },
            None => Kept {
                status: None,
                content_type: record.field("Content-Type").map(str::to_owned),
                bytes: record.block().to_vec(),
                fields: Vec::new(),
            },
        })
    }

    /// The record of a version, as it stands in its file.
    pub fn record(&self, version: &Version) -> Result<Record> {
        Reader::read_at(&self.folder.join(&version.file), version.offset, MOST_BYTES)
    }

    /// What a version says, by the rules of its source.
    pub fn content(&self, version: &Version, rules: &Rules) -> Result<Content> {
        let kept = self.read(version)?;
        Ok(Content::read(&kept.bytes, kept.content_type.as_deref(), rules))
    }

    /// What changed in the text between two versions, as a unified diff with three lines around; empty if nothing did.
    ///
    /// Bytes that are no text are compared by their digests.
    pub fn diff(&self, from: &Version, to: &Version, rules: &Rules) -> Result<String> {
        let (before, after) = (self.content(from, rules)?.in_lines(), self.content(to, rules)?.in_lines());
        let name = |version: &Version| format!("{} {}", version.address, date(version.date));
        let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(&before, &after);
        Ok(diff.unified_diff().missing_newline_hint(false).header(&name(from), &name(to)).to_string())
    }

    /// The content that the last version has or refers to.
    fn original(&self, address: &str) -> Result<Option<Held>> {
        let Some(last) = self.index.last(address)? else { return Ok(None) };
        let date = if last.revisit { last.original } else { Some(last.date) };
        if let Some(date) = date {
            return Ok(Some(Held::of(last, date)));
        }
        // What was found again in the records does not say whether that is still there.
        let own = |version: &Version| version.is_content() && !version.revisit;
        let original = self.index.history(address)?.into_iter().rfind(own);
        Ok(original.map(|version| (version.date, version)).map(|(date, version)| Held::of(version, date)))
    }

    /// The content that the last version has, if this is an answer of the same address with the same: a revisit refers to that.
    fn same(&self, exchange: &Exchange<'_>, digest: &str) -> Result<Option<Held>> {
        let held = self.original(exchange.page())?;
        Ok(held.filter(|held| held.digest == digest && held.target == exchange.target))
    }

    /// The version that a revisit refers to.
    fn referred(&self, record: &Record, version: &Version) -> Result<Version> {
        // A page that was redirected is found by its own address; what another tool wrote may refer to any.
        let named = self.referred_at(&version.address, record)?;
        let other = record.field("WARC-Refers-To-Target-URI").filter(|other| *other != version.address);
        match (named, other) {
            (Some(found), _) => Ok(found),
            (None, Some(other)) => self.referred_at(other, record)?.ok_or_else(|| lost(other, record)),
            (None, None) => Err(lost(&version.address, record)),
        }
    }

    /// The same among the versions of an address.
    fn referred_at(&self, address: &str, record: &Record) -> Result<Option<Version>> {
        let named = record.field("WARC-Refers-To-Date").and_then(|date| date.parse::<Timestamp>().ok());
        let digest = record.field("WARC-Payload-Digest");
        let history = self.index.history(address)?;
        let own = || history.iter().filter(|found| !found.revisit);
        // By date; without one, as older tools have it, by digest.
        let by_date = own().rfind(|found| named.is_some_and(|date| to_millisecond(date) == found.date));
        let found = by_date.or_else(|| own().rfind(|found| digest == Some(found.digest.as_str())));
        Ok(found.cloned())
    }

    fn note(
        &mut self,
        exchange: &Exchange<'_>,
        place: Place,
        digest: String,
        original: Option<Held>,
    ) -> Result<Version> {
        let http = super::Http::parse(exchange.head);
        let named = http.field("Content-Type").map(media_type);
        let target = (exchange.target != exchange.page()).then_some(exchange.target);
        self.put((exchange.page(), target), exchange.date, http.status, named, digest, original, place)
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a version")]
    fn put(
        &mut self,
        (address, target): (&str, Option<&str>),
        at: Timestamp,
        status: Option<u16>,
        media_type: Option<String>,
        digest: String,
        original: Option<Held>,
        place: Place,
    ) -> Result<Version> {
        let (address, target, date) = (address.to_owned(), target.map(str::to_owned), to_millisecond(at));
        let Place { file, offset, length } = place;
        let (revisit, original) = (original.is_some(), original.map(|original| original.date));
        let version =
            Version { address, target, date, status, media_type, digest, revisit, original, file, offset, length };
        self.index.put(&version)?;
        Ok(version)
    }
}

/// Content that is in the archive: whence and when it came, and its digest.
struct Held {
    target: String,
    date: Timestamp,
    digest: String,
}

impl Held {
    /// What a version has, or refers to with a date of its own.
    fn of(version: Version, date: Timestamp) -> Held {
        Held { target: version.target.unwrap_or(version.address), date, digest: version.digest }
    }

    fn refer(&self) -> Original<'_> {
        Original { target: &self.target, date: self.date, payload_digest: &self.digest }
    }
}

fn lost(address: &str, record: &Record) -> Error {
    let named = record.field("WARC-Refers-To-Date").and_then(|date| date.parse::<Timestamp>().ok());
    Error::Lost { address: address.to_owned(), date: named.map_or("an unknown day".to_owned(), date) }
}

fn writer<'w>(writer: &'w mut Option<Writer>, folder: &Path) -> Result<&'w mut Writer> {
    writer.as_mut().ok_or_else(|| Error::file("write", folder)(std::io::ErrorKind::ReadOnlyFilesystem.into()))
}

/// A content type without its parameters.
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_owned()
}
