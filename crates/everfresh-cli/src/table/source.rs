//! Where bytes come from: files, directories of them, stdin. All can be read from any place, by several threads at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;

use crate::interrupt;
use crate::output::{self, machine};
use crate::whole::Room;

/// Endings of tables, by which those in a directory are known.
const ENDINGS: [&str; 7] = ["csv", "tsv", "parquet", "arrow", "arrows", "ipc", "feather"];

/// A named run of bytes.
#[derive(Clone)]
pub(super) struct Source {
    /// For messages.
    pub name: String,
    pub size: u64,
    data: Data,
}

#[derive(Clone)]
enum Data {
    File(Arc<File>),
    Memory(Bytes),
}

/// How text is compressed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// What the first bytes of a source say that it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Text(Compression),
    Parquet,
    ArrowFile,
    ArrowStream,
}

impl Source {
    pub(super) fn memory(name: &str, bytes: impl Into<Bytes>) -> Source {
        let bytes = bytes.into();
        Source { name: name.to_owned(), size: bytes.len() as u64, data: Data::Memory(bytes) }
    }

    pub(super) fn file(name: String, file: File) -> Result<Source> {
        let size = file.metadata().with_context(|| name.clone())?.len();
        Ok(Source { name, size, data: Data::File(Arc::new(file)) })
    }

    fn open(path: &Path) -> Result<Source> {
        let name = path.display().to_string();
        let cannot = |error: io::Error| anyhow!("cannot open `{name}`: {error}");
        let file = File::open(path).map_err(cannot)?;
        if file.metadata().map_err(cannot)?.is_file() {
            return Source::file(name, file);
        }
        // A pipe gives its bytes once, and a table is read several times.
        let file = spool(file, &name)?;
        Source::file(name, file)
    }

    /// Reads at a place, as much as there is and fits.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.data {
            Data::File(file) => read_file_at(file, buffer, offset),
            Data::Memory(bytes) => {
                let rest = bytes.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
                let length = rest.len().min(buffer.len());
                buffer[..length].copy_from_slice(&rest[..length]);
                Ok(length)
            }
        }
    }

    /// A range that must be there.
    pub(super) fn bytes(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        if offset.checked_add(length as u64).is_none_or(|end| end > self.size) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends too early"));
        }
        if let (Data::Memory(bytes), Ok(start)) = (&self.data, usize::try_from(offset)) {
            return Ok(bytes.slice(start..start + length));
        }
        let mut buffer = vec![0; length];
        self.reader(offset).read_exact(&mut buffer)?;
        Ok(buffer.into())
    }

    /// Reads on from a place.
    pub(super) fn reader(&self, offset: u64) -> SourceReader {
        SourceReader { source: self.clone(), offset, read: Arc::default() }
    }

    /// The bytes of a text, whatever it is compressed with; `read` counts those of the file.
    pub(super) fn text(&self, compression: Compression, read: &Arc<AtomicU64>) -> io::Result<Box<dyn Read>> {
        let reader = || SourceReader { read: Arc::clone(read), ..self.reader(0) };
        let buffered = || BufReader::with_capacity(1 << 18, reader());
        Ok(match compression {
            Compression::None => Box::new(reader()),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered())),
            Compression::Zstd => Box::new(zstd::Decoder::with_buffer(buffered())?),
        })
    }

    /// What the first bytes say.
    pub(super) fn kind(&self) -> Result<Kind> {
        let mut start = [0; 8];
        let length = self.read_at(&mut start, 0).with_context(|| format!("cannot read `{}`", self.name))?;
        let packed = match &start[..length] {
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some("bzip2"),
            [0xFD, b'7', b'z', b'X', b'Z', ..] => Some("xz"),
            _ => None,
        };
        if let Some(packed) = packed {
            bail!(
                "{}: it is packed with {packed}, which is not read: unpack it first, or pack it with gzip or zstd",
                self.name
            );
        }
        Ok(match &start[..length] {
            [b'P', b'A', b'R', b'1', ..] => Kind::Parquet,
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Kind::ArrowFile,
            [0xFF, 0xFF, 0xFF, 0xFF, ..] => Kind::ArrowStream,
            [0x1F, 0x8B, ..] => Kind::Text(Compression::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Kind::Text(Compression::Zstd),
            _ => Kind::Text(Compression::None),
        })
    }
}

#[cfg(unix)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// A place in a source that moves on as it is read.
pub(super) struct SourceReader {
    source: Source,
    offset: u64,
    /// How much has been read.
    read: Arc<AtomicU64>,
}

impl SourceReader {
    /// Where it reads on.
    pub(super) const fn place(&self) -> u64 {
        self.offset
    }
}

impl Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read_at(buffer, self.offset)?;
        self.offset += length as u64;
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// The sources that paths name: files, all tables in directories, stdin for `-`.
pub(super) fn sources(paths: &[PathBuf]) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in paths {
        if path == Path::new("-") {
            if sources.iter().any(|source: &Source| source.name == "stdin") {
                bail!("`-` is there twice: stdin can be read once");
            }
            sources.push(Source::file("stdin".to_owned(), spool(io::stdin().lock(), "stdin")?)?);
        } else if path.is_dir() {
            let mut found = Vec::new();
            walk(path, &mut found)?;
            if found.is_empty() {
                bail!(
                    "`{}`: there is no table in this directory: {}",
                    path.display(),
                    ENDINGS.map(|e| format!(".{e}")).join(", ")
                );
            }
            for file in found {
                sources.push(Source::open(&file)?);
            }
        } else {
            sources.push(Source::open(path)?);
        }
    }
    Ok(sources)
}

/// A text that is read once, from its beginning, whatever it is compressed with.
pub(crate) struct TextFile {
    /// For messages.
    pub name: String,
    /// Bytes of the file.
    pub size: u64,
    /// The text.
    pub reader: Box<dyn Read>,
    /// How many bytes of the file were read.
    pub read: Arc<AtomicU64>,
}

/// Opens a text; `-` is stdin.
pub(crate) fn open_text(path: &Path) -> Result<TextFile> {
    let source = if path == Path::new("-") {
        Source::file("stdin".to_owned(), spool(io::stdin().lock(), "stdin")?)?
    } else {
        Source::open(path)?
    };
    let Kind::Text(compression) = source.kind()? else { bail!("`{}` is a table, not a text", source.name) };
    let read = Arc::default();
    let reader = source.text(compression, &read).with_context(|| format!("cannot read `{}`", source.name))?;
    Ok(TextFile { name: source.name, size: source.size, reader, read })
}

/// The tables in a directory and those below it, sorted by name.
fn walk(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let cannot = |error: io::Error| anyhow!("cannot open `{}`: {error}", directory.display());
    let entries = std::fs::read_dir(directory).map_err(cannot)?.collect::<io::Result<Vec<_>>>().map_err(cannot)?;
    let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() && path.is_symlink() {
            output::say(&format!("`{}` skipped: a link to a directory may lead in a circle", path.display()));
        } else if path.is_dir() {
            walk(&path, found)?;
        } else if is_table(&name) && path.is_file() {
            found.push(path);
        } else if is_table(&name) {
            // A pipe in a directory would be waited for, perhaps for ever.
            output::say(&format!("`{}` skipped: it is no regular file, or is not there", path.display()));
        }
    }
    Ok(())
}

/// Is a file of this name in a directory read as a table?
pub(crate) fn is_table(name: &str) -> bool {
    let name = name.to_lowercase();
    let text = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst"));
    let ending = |name: &str| name.rsplit_once('.').map(|(_, ending)| ending.to_owned()).unwrap_or_default();
    match text {
        Some(text) => ["csv", "tsv"].contains(&ending(text).as_str()),
        None => ENDINGS.contains(&ending(&name).as_str()),
    }
}

/// Does a name say that its fields are divided by tabs?
pub(super) fn is_tsv(name: &str) -> bool {
    let name = name.to_lowercase();
    let text = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    Path::new(text).extension().is_some_and(|ending| ending == "tsv")
}

/// Copies what can be read once into a file without a name, which goes away with the program.
fn spool(source: impl Read, name: &str) -> Result<File> {
    let cannot = |error: io::Error| machine(format_args!("cannot keep what `{name}` gives in a temporary file"), error);
    let mut file = tempfile::tempfile().map_err(cannot)?;
    let mut source = BufReader::with_capacity(1 << 20, source);
    let mut room = Room::of_a_file();
    loop {
        interrupt::check()?;
        let bytes = source.fill_buf().with_context(|| format!("cannot read `{name}`"))?;
        if bytes.is_empty() {
            return Ok(file);
        }
        room.take(bytes.len()).and_then(|()| file.write_all(bytes)).map_err(cannot)?;
        let length = bytes.len();
        source.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_in_directories_are_known_by_their_endings() {
        for name in ["a.csv", "A.CSV", "a.tsv.gz", "a.csv.zst", "part-0.parquet", "a.b.arrow", "x.feather"] {
            assert!(is_table(name), "{name}");
        }
        for name in ["a.txt", "csv", "a.parquet.gz", "a.csv.bak", "a.gz", "README.md"] {
            assert!(!is_table(name), "{name}");
        }
        assert!(is_tsv("a/b.TSV.gz") && is_tsv("b.tsv") && !is_tsv("b.csv") && !is_tsv("tsv"));
    }

    #[test]
    fn kinds_are_known_by_their_first_bytes() {
        let kind = |bytes: &'static [u8]| Source::memory("x", bytes).kind().unwrap();
        assert_eq!(kind(b""), Kind::Text(Compression::None));
        assert_eq!(kind(b"P"), Kind::Text(Compression::None));
        assert_eq!(kind(b"PAR1xxxx"), Kind::Parquet);
        assert_eq!(kind(b"ARROW1\0\0"), Kind::ArrowFile);
        assert_eq!(kind(b"\xFF\xFF\xFF\xFF\x10\0\0\0"), Kind::ArrowStream);
        assert_eq!(kind(b"\x1F\x8B\x08"), Kind::Text(Compression::Gzip));
        assert_eq!(kind(b"\x28\xB5\x2F\xFD"), Kind::Text(Compression::Zstd));
        let refused = |bytes: &'static [u8]| Source::memory("x", bytes).kind().unwrap_err().to_string();
        assert!(refused(b"BZh91AY&").starts_with("x: it is packed with bzip2"));
        assert!(refused(b"\xFD7zXZ\0\0\x04").starts_with("x: it is packed with xz"));
    }
}
