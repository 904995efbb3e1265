use super::error::{Error, Result};
use super::read::{Located, Reader};
use super::record::Kind;
use super::segment::{self, Segment};
use super::write::{check_address, digits, files, sync_folder, to_millisecond, write_whole};
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
const TAIL: &str = "tail.cdxj";
const PROGRESS: &str = "progress.json";

/// A version of a page: where its record is, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The address.
    #[serde(rename = "url")]
    pub address: String,
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
    /// The name of the file.
    #[serde(rename = "filename")]
    pub file: String,
    /// Where in the file.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
}

impl Version {
    /// What the index keeps of a record; nothing for a record that is no version of a page.
    fn of(found: &Located, file: &str) -> Option<Version> {
        let record = &found.record;
        if !found.alone || !matches!(record.kind(), Kind::Response | Kind::Revisit | Kind::Resource) {
            return None;
        }
        let http = record.http();
        let media_type = http.as_ref().map_or(record.field("Content-Type"), |http| http.field("Content-Type"));
        let address = record.target().filter(|target| check_address(target).is_ok())?;
        Some(Version {
            address: address.to_owned(),
            date: to_millisecond(record.date()?),
            status: http.as_ref().and_then(|http| http.status),
            media_type: media_type.map(|named| named.split(';').next().unwrap_or_default().trim().to_owned()),
            digest: record.field("WARC-Payload-Digest").unwrap_or("-").to_owned(),
            revisit: record.kind() == Kind::Revisit,
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
/// derived: what is missing is read from the records on opening.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    /// The largest and oldest first.
    segments: Vec<Segment>,
    tail: BTreeSet<String>,
    /// Nothing for who only reads.
    file: Option<File>,
    /// Lines of the tail that are not in its file yet.
    unwritten: String,
    /// Up to where each file of records is indexed.
    progress: BTreeMap<String, u64>,
}

impl Index {
    /// Opens the index in `folder` to write, and indexes what the files in `records` have beyond it.
    pub fn open(folder: &Path, records: &Path) -> Result<Index> {
        fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
        let mut index = Index::load(folder)?;
        if !index.fits(records) {
            index = Index::empty(folder)?;
        }
        index.file = Some(index.open_tail()?);
        index.catch_up(records)?;
        Ok(index)
    }

    /// Opens the index to look things up, while another process may write it.
    pub fn read_only(folder: &Path) -> Result<Index> {
        // A file may be merged away between being listed and being opened: then the list is out of date.
        let mut index = Index::load(folder)?;
        for _ in 0..10 {
            if index.segments.iter().all(|segment| segment.path.exists()) {
                break;
            }
            index = Index::load(folder)?;
        }
        Ok(index)
    }

    fn load(folder: &Path) -> Result<Index> {
        // The tail first: a line that moves from it to a sorted file meanwhile is then seen twice, not never.
        let text = match fs::read(folder.join(TAIL)) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::file("read", &folder.join(TAIL))(error)),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let tail: BTreeSet<String> =
            whole.lines().filter(|line| Version::from_line(line).is_some()).map(str::to_owned).collect();
        let mut progress: BTreeMap<String, u64> = fs::read(folder.join(PROGRESS))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        for version in tail.iter().filter_map(|line| Version::from_line(line)) {
            note(&mut progress, &version.file, version.offset + version.length);
        }
        Ok(Index {
            folder: folder.to_owned(),
            segments: segments(folder)?,
            tail,
            file: None,
            unwritten: String::new(),
            progress,
        })
    }

    fn empty(folder: &Path) -> Result<Index> {
        for name in [TAIL, PROGRESS]
            .map(|name| folder.join(name))
            .into_iter()
            .chain(segments(folder)?.into_iter().map(|segment| segment.path))
        {
            match fs::remove_file(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::file("remove", &name)(error));
                }
                _ => {}
            }
        }
        Index::load(folder)
    }

    /// Is what the index knows still there? Not after records were lost or files removed.
    fn fits(&self, records: &Path) -> bool {
        let known = self
            .progress
            .iter()
            .all(|(name, until)| fs::metadata(records.join(name)).is_ok_and(|found| found.len() >= *until));
        // Sorted files without a word of what they index cannot be trusted.
        known && (self.segments.is_empty() || !self.progress.is_empty())
    }

    fn open_tail(&self) -> Result<File> {
        let path = self.folder.join(TAIL);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(Error::file("open", &path))?;
        // Whole lines only: a line may have been torn.
        let lines: String = self.tail.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let written =
            file.set_len(0).and_then(|()| file.write_all(lines.as_bytes())).and_then(|()| file.seek(SeekFrom::End(0)));
        written.map_err(Error::file("write", &path))?;
        Ok(file)
    }

    /// Indexes records that are not indexed yet, and says how many versions there were.
    fn catch_up(&mut self, records: &Path) -> Result<u64> {
        let mut many = 0;
        for name in files(records)? {
            let path = records.join(&name);
            let length = fs::metadata(&path).map_err(Error::file("read", &path))?.len();
            let from = self.progress.get(&name).copied().unwrap_or(0);
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
                        note(&mut self.progress, &name, found.offset + found.length);
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
        note(&mut self.progress, &version.file, version.offset + version.length);
        self.tail.insert(line);
        if self.tail.len() >= LONGEST_TAIL { self.settle() } else { Ok(()) }
    }

    /// Makes a sorted file of the tail, and fewer of many.
    fn settle(&mut self) -> Result<()> {
        let lines = self.tail.iter().map(|line| Ok(line.clone()));
        let made = segment::write(&self.next_path(), lines)?;
        self.segments.push(made);
        while let [.., older, newer] = self.segments.as_slice()
            && older.bytes < RATIO * newer.bytes
        {
            let (older, newer) = (older.clone(), newer.clone());
            let merged = segment::merge(&older, &newer, &self.next_path())?;
            for gone in [&older, &newer] {
                fs::remove_file(&gone.path).map_err(Error::file("remove", &gone.path))?;
            }
            self.segments.truncate(self.segments.len() - 2);
            self.segments.push(merged);
        }
        write_whole(&self.folder.join(PROGRESS), &self.progress)?;
        sync_folder(&self.folder)?;
        self.tail.clear();
        self.unwritten.clear();
        self.file = Some(self.open_tail()?);
        Ok(())
    }

    fn next_path(&self) -> PathBuf {
        let last = self.segments.iter().filter_map(|segment| number(&segment.path)).max().unwrap_or(0);
        self.folder.join(format!("{:08}.cdxj", last + 1))
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
        versions.sort_by(|a, b| (a.date, &a.file, a.offset).cmp(&(b.date, &b.file, b.offset)));
        versions.dedup();
        Ok(versions)
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
        written.map_err(Error::file("write", &self.folder.join(TAIL)))
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
