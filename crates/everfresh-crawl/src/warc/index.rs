use super::error::{Error, Result};
use super::read::{Located, Reader};
use super::record::Kind;
use super::segment::{self, Segment};
use super::write::{PAGE, check_address, digits, files, sync_folder, to_millisecond, write_whole};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Lines in the tail before it becomes a sorted file: the memory that an index takes, about 10 MB.
const LONGEST_TAIL: usize = 1 << 15;
/// Two neighbouring files are merged when the older is less than so many times as large.
const RATIO: u64 = 4;
pub(super) const TAIL: &str = "tail.cdxj";
const PROGRESS: &str = "progress.json";

/// A version of a page: where its record is, and what it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Version {
    /// The address of the page.
    #[serde(rename = "url")]
    pub address: String,
    /// The address that gave the content, if that is another: where redirects ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// When it was visited, to the millisecond.
    pub date: Timestamp,
    /// The status of the answer; nothing where there was no HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The media type that the source gave.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "mime")]
    pub media_type: Option<String>,
    /// The digest of the payload, as in its record.
    pub digest: String,
    /// Was it the same as before? Then its record refers to the one that has the content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revisit: bool,
    /// When that content came, if it was known as this was put: not of what was found again in the records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Timestamp>,
    /// The name of the file.
    #[serde(rename = "filename")]
    pub file: String,
    /// Where in the file.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
}

/// The same record: what was put, and what is found again of it in the records, are one version.
impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        (self.date, self.status, self.revisit) == (other.date, other.status, other.revisit)
            && (self.offset, self.length) == (other.offset, other.length)
            && (&self.address, &self.target, &self.media_type) == (&other.address, &other.target, &other.media_type)
            && (&self.digest, &self.file) == (&other.digest, &other.file)
    }
}

impl Eq for Version {}

impl Version {
    /// What the index keeps of a record; nothing for a record that is no version of a page.
    fn of(found: &Located, file: &str) -> Option<Version> {
        let record = &found.record;
        if !found.alone || !matches!(record.kind(), Kind::Response | Kind::Revisit | Kind::Resource) {
            return None;
        }
        let http = record.http();
        let media_type = http.as_ref().map_or(record.field("Content-Type"), |http| http.field("Content-Type"));
        let good = |address: &&str| check_address(address).is_ok();
        let target = record.target().filter(good)?;
        let page = record.field(PAGE).filter(good);
        Some(Version {
            address: page.unwrap_or(target).to_owned(),
            target: page.map(|_| target.to_owned()),
            date: to_millisecond(record.date()?),
            status: http.as_ref().and_then(|http| http.status),
            media_type: media_type.map(|named| named.split(';').next().unwrap_or_default().trim().to_owned()),
            digest: record.field("WARC-Payload-Digest").unwrap_or("-").to_owned(),
            revisit: record.kind() == Kind::Revisit,
            // What it refers to may be lost.
            original: None,
            file: file.to_owned(),
            offset: found.offset,
            length: found.length,
        })
    }

    /// Is it content, rather than an error? A source that said that nothing changed has content.
    pub fn is_content(&self) -> bool {
        self.status.is_none_or(|status| (200..300).contains(&status) || status == 304)
    }

    fn line(&self) -> Result<String> {
        let json =
            serde_json::to_string(self).map_err(|error| Error::file("index", Path::new(&self.file))(error.into()))?;
        Ok(format!("{} {} {json}", sort_key(&self.address), digits(self.date)))
    }

    fn from_line(line: &str) -> Option<Version> {
        serde_json::from_str(line.splitn(3, ' ').nth(2)?).ok()
    }
}

/// From addresses to versions: files of sorted lines in the form that other tools read (CDXJ), and a short tail.
///
/// A lookup halves its way through a few files, and needs memory for the versions of one address only; so does a reader
/// beside the writer, without a lock, which is why this is not an embedded store. New lines go to the tail, which is kept in
/// memory too and becomes a sorted file when it is long; files of like size are merged, so that there are few. All of it is
/// derived: what is missing is read from the records on opening, and an index that is not as it was left is made anew.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    /// The largest and oldest first.
    segments: Vec<Segment>,
    tail: BTreeSet<String>,
    /// Nothing for who only reads.
    file: Option<File>,
    /// Bytes of whole lines in the file of the tail.
    tail_bytes: u64,
    /// Lines of the tail that are not in its file yet.
    unwritten: String,
    /// Up to where each file of records is indexed.
    records: BTreeMap<String, u64>,
}

/// What an index was when it was last written down.
#[derive(Debug, Serialize, Deserialize)]
struct Progress {
    /// Up to where each file of records was indexed.
    records: BTreeMap<String, u64>,
    /// The sorted files and their bytes.
    segments: BTreeMap<String, u64>,
    /// The tail had so many bytes; it may have grown since.
    tail_bytes: u64,
}

impl Progress {
    fn read(folder: &Path) -> Option<Progress> {
        serde_json::from_slice(&fs::read(folder.join(PROGRESS)).ok()?).ok()
    }
}

impl Index {
    /// Opens the index in `folder` to write, and indexes what the files in `records` have beyond it.
    pub fn open(folder: &Path, records: &Path) -> Result<Index> {
        fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
        let progress = Progress::read(folder);
        // Lines that came later may speak of records that a crash took; they are read from the records again.
        let mut index = Index::load(folder, progress.as_ref().map_or(0, |progress| progress.tail_bytes))?;
        match progress {
            Some(progress) if index.is_as_left(&progress, records) => {
                index.leave_out(|name| !progress.segments.contains_key(name))?;
                index.records = progress.records;
            }
            None if index.segments.is_empty() => {}
            _ => index = Index::empty(folder)?,
        }
        index.file = Some(index.open_tail()?);
        index.catch_up(records)?;
        index.flush()?;
        Ok(index)
    }

    /// Opens the index to look things up, while another process may write it.
    pub fn read_only(folder: &Path) -> Result<Index> {
        // A file may be merged away between being listed and being opened: then the list is out of date.
        let mut index = Index::load(folder, u64::MAX)?;
        for _ in 0..10 {
            if index.segments.iter().all(|segment| segment.path.exists()) {
                break;
            }
            index = Index::load(folder, u64::MAX)?;
        }
        Ok(index)
    }

    /// What there is, with so many bytes of the tail at most.
    fn load(folder: &Path, tail_bytes: u64) -> Result<Index> {
        // The tail first: a line that moves from it to a sorted file meanwhile is then seen twice, not never.
        let mut text = match fs::read(folder.join(TAIL)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::file("read", &folder.join(TAIL))(error)),
        };
        text.truncate(usize::try_from(tail_bytes).unwrap_or(usize::MAX));
        // A line may have been torn.
        text.truncate(text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        let lines = String::from_utf8_lossy(&text);
        let tail = lines.lines().filter(|line| Version::from_line(line).is_some()).map(str::to_owned).collect();
        Ok(Index {
            folder: folder.to_owned(),
            segments: segments(folder)?,
            tail,
            file: None,
            tail_bytes: text.len() as u64,
            unwritten: String::new(),
            records: BTreeMap::new(),
        })
    }

    fn empty(folder: &Path) -> Result<Index> {
        // What is written down goes first: without it nothing else is trusted.
        for name in [PROGRESS, TAIL] {
            remove(&folder.join(name))?;
        }
        let mut index = Index::load(folder, 0)?;
        index.leave_out(|_| true)?;
        Ok(index)
    }

    /// Removes sorted files, by name.
    fn leave_out(&mut self, is_out: impl Fn(&str) -> bool) -> Result<()> {
        let (gone, kept) = self.segments.drain(..).partition(|segment| is_out(&segment.name()));
        self.segments = kept;
        let gone: Vec<Segment> = gone;
        gone.iter().try_for_each(|segment| remove(&segment.path))
    }

    /// Is all still there that was written down? Not after records were lost, or files of the index cut or removed.
    fn is_as_left(&self, progress: &Progress, records: &Path) -> bool {
        let has =
            |name: &String, until: &u64| fs::metadata(records.join(name)).is_ok_and(|found| found.len() >= *until);
        let is_there = |(name, bytes): (&String, &u64)| {
            self.segments.iter().any(|segment| segment.name() == *name && segment.bytes == *bytes)
        };
        progress.records.iter().all(|(name, until)| has(name, until))
            && progress.segments.iter().all(is_there)
            && progress.tail_bytes == self.tail_bytes
    }

    fn open_tail(&self) -> Result<File> {
        let path = self.folder.join(TAIL);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let mut file = opened.map_err(Error::file("open", &path))?;
        let cut = file.set_len(self.tail_bytes).and_then(|()| file.seek(SeekFrom::End(0)));
        cut.map_err(Error::file("write", &path))?;
        Ok(file)
    }

    /// Indexes records that are not indexed yet, and says how many versions there were.
    fn catch_up(&mut self, records: &Path) -> Result<u64> {
        let mut many = 0;
        for name in files(records)? {
            let path = records.join(&name);
            let length = fs::metadata(&path).map_err(Error::file("read", &path))?.len();
            let from = self.records.get(&name).copied().unwrap_or(0);
            if from >= length {
                continue;
            }
            for found in Reader::open(&path, from, u64::MAX)? {
                match found {
                    Ok(found) => {
                        if let Some(version) = Version::of(&found, &name) {
                            self.put(&version)?;
                            many += 1;
                        }
                        note(&mut self.records, &name, found.offset + found.length);
                    }
                    Err(Error::Damaged { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(many)
    }

    /// Adds a version.
    pub fn put(&mut self, version: &Version) -> Result<()> {
        check_address(&version.address)?;
        let line = version.line()?;
        if self.file.is_none() {
            return Err(Error::file("write", &self.folder.join(TAIL))(io::ErrorKind::ReadOnlyFilesystem.into()));
        }
        self.unwritten.push_str(&line);
        self.unwritten.push('\n');
        note(&mut self.records, &version.file, version.offset + version.length);
        self.tail.insert(line);
        if self.tail.len() >= LONGEST_TAIL { self.settle() } else { Ok(()) }
    }

    /// Makes a sorted file of the tail, and fewer of many. The new files count once that is written down, and only then do the old
    /// ones go: whatever is interrupted, one or the other is whole.
    fn settle(&mut self) -> Result<()> {
        let mut number = self.segments.iter().filter_map(|segment| number(&segment.path)).max().unwrap_or(0);
        let mut next_path = || {
            number += 1;
            self.folder.join(format!("{number:08}.cdxj"))
        };
        let (mut segments, mut gone) = (self.segments.clone(), Vec::new());
        segments.push(segment::write(&next_path(), self.tail.iter().map(|line| Ok(line.clone())))?);
        while let [.., older, newer] = segments.as_slice()
            && older.bytes < RATIO * newer.bytes
        {
            let merged = segment::merge(older, newer, &next_path())?;
            gone.extend(segments.drain(segments.len() - 2..));
            segments.push(merged);
        }
        self.segments = segments;
        self.write_down(0)?;
        sync_folder(&self.folder)?;
        gone.iter().try_for_each(|segment| remove(&segment.path))?;
        self.tail.clear();
        self.unwritten.clear();
        self.tail_bytes = 0;
        self.file = Some(self.open_tail()?);
        Ok(())
    }

    fn write_down(&self, tail_bytes: u64) -> Result<()> {
        let segments = self.segments.iter().map(|segment| (segment.name(), segment.bytes)).collect();
        let progress = Progress { records: self.records.clone(), segments, tail_bytes };
        write_whole(&self.folder.join(PROGRESS), &progress)
    }

    /// All versions of an address, the oldest first.
    pub fn history(&self, address: &str) -> Result<Vec<Version>> {
        let prefix = format!("{} ", sort_key(address));
        let mut lines = Vec::new();
        for segment in &self.segments {
            segment.find(&prefix, &mut lines)?;
        }
        lines.extend(self.tail.range(prefix.clone()..).take_while(|line| line.starts_with(&prefix)).cloned());
        let mut versions: Vec<Version> = lines.iter().filter_map(|line| Version::from_line(line)).collect();
        versions.retain(|version| version.address == address);
        // What was put and then found again in the records is one version: the one that says most comes first.
        let key = |version: &Version| (version.date, version.file.clone(), version.offset, version.original.is_none());
        versions.sort_by_cached_key(key);
        versions.dedup();
        Ok(versions)
    }

    /// The version of an address that was put last and has content. However many versions there are, few are looked at.
    pub fn last(&self, address: &str) -> Result<Option<Version>> {
        let prefix = format!("{} ", sort_key(address));
        let wanted =
            |line: &str| Version::from_line(line).filter(|version| version.address == address && version.is_content());
        let end = format!("{prefix}\u{10ffff}");
        if let Some(last) = self.tail.range(prefix.clone()..end).rev().find_map(|line| wanted(line)) {
            return Ok(Some(last));
        }
        for segment in self.segments.iter().rev() {
            if let Some(last) = segment.find_last(&prefix, wanted)? {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }

    /// The newest version of an address that has content, or had it last.
    pub fn current(&self, address: &str) -> Result<Option<Version>> {
        Ok(self.history(address)?.into_iter().rfind(Version::is_content))
    }

    /// The version that was the newest with content at a time.
    pub fn at(&self, address: &str, time: Timestamp) -> Result<Option<Version>> {
        let history = self.history(address)?;
        Ok(history.into_iter().rfind(|version| version.date <= time && version.is_content()))
    }

    /// Everything that was put can be looked up by others when this returns. It need not be on the disk: what is lost is read from
    /// the records when the index is opened again.
    pub fn flush(&mut self) -> Result<()> {
        let lines = std::mem::take(&mut self.unwritten);
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(lines.as_bytes()));
        written.map_err(Error::file("write", &self.folder.join(TAIL)))?;
        self.tail_bytes += lines.len() as u64;
        Ok(())
    }

    /// The same, on the disk, so that the next opening need not read the records again.
    pub fn save(&mut self) -> Result<()> {
        self.flush()?;
        let synced = self.file.as_ref().map_or(Ok(()), File::sync_data);
        synced.map_err(Error::file("write", &self.folder.join(TAIL)))?;
        self.write_down(self.tail_bytes)
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file("remove", path)(error)),
        _ => Ok(()),
    }
}

fn note(progress: &mut BTreeMap<String, u64>, file: &str, until: u64) {
    match progress.get_mut(file) {
        Some(known) => *known = until.max(*known),
        None => {
            progress.insert(file.to_owned(), until);
        }
    }
}

/// The sorted files of a folder, oldest first.
fn segments(folder: &Path) -> Result<Vec<Segment>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::file("read", folder))? {
        let path = entry.map_err(Error::file("read", folder))?.path();
        if number(&path).is_some()
            && let Ok(about) = fs::metadata(&path)
        {
            found.push(Segment { path, bytes: about.len() });
        }
    }
    found.sort_by_key(|segment| number(&segment.path));
    Ok(found)
}

/// The number of a sorted file, by its name.
fn number(path: &Path) -> Option<u64> {
    path.extension().filter(|ending| *ending == "cdxj")?;
    path.file_stem()?.to_str()?.parse().ok()
}

/// What lines are sorted by: the host from its end, then the rest, in lower case, so that sites lie together.
///
/// Addresses may share a key; the line has the address itself.
fn sort_key(address: &str) -> String {
    let lower = address.to_lowercase();
    let Some((scheme, rest)) = lower.split_once("://") else { return lower };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if host.is_empty() || !scheme.starts_with("http") {
        return lower;
    }
    let (host, port) = host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port)));
    let mut labels: Vec<&str> = host.strip_prefix("www.").unwrap_or(host).split('.').collect();
    labels.reverse();
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}){}", labels.join(","), if path.is_empty() { "/" } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_put_sites_together() {
        assert_eq!(sort_key("https://www.Example.com/A?b=C"), "com,example)/a?b=c");
        assert_eq!(sort_key("http://a.example.com:8080"), "com,example,a:8080)/");
        assert_eq!(sort_key("file:///tmp/x"), "file:///tmp/x");
        assert_eq!(sort_key("urn:x"), "urn:x");
    }
}
