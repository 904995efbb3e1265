use super::error::{Error, Result};
use super::record::{Record, bad, skip_empty_lines};
use flate2::bufread::GzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The first bytes of a gzip member as every WARC file has them: the magic number and the one method there is.
const GZIP: [u8; 3] = [0x1F, 0x8B, 8];
const BUFFER: usize = 1 << 16;

/// A record and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Where the record begins in the file; if it is not `alone`, where the gzip member begins that it is in.
    pub offset: u64,
    /// How many bytes of the file it takes, empty lines behind it not counted where the file is not compressed.
    pub length: u64,
    /// Can it be read from its offset? Not if it is one of several in a gzip member, and not the first.
    pub alone: bool,
    /// The record.
    pub record: Record,
}

/// The records of a file in order, whoever wrote it: plain, compressed record by record, or compressed as a whole.
///
/// Damage costs the records that it hits: each is an error, after which reading goes on with the next whole record.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    /// Nothing once the end is reached, or the machine failed.
    source: Option<Source>,
    most_bytes: u64,
}

type Unpacked = BufReader<GzDecoder<BufReader<File>>>;

#[derive(Debug)]
enum Source {
    /// Between members, or in a plain file.
    Plain(BufReader<File>),
    /// In a member that began there; `first` until its first record is read.
    Member { offset: u64, first: bool, input: Box<Unpacked> },
}

impl Reader {
    /// From byte `offset` of a file on, where a record must begin. Blocks of more than `most_bytes` are errors.
    pub fn open(path: &Path, offset: u64, most_bytes: u64) -> Result<Reader> {
        let mut file = File::open(path).map_err(Error::file("open", path))?;
        file.seek(SeekFrom::Start(offset)).map_err(Error::file("read", path))?;
        let source = Some(Source::Plain(BufReader::with_capacity(BUFFER, file)));
        Ok(Reader { path: path.to_owned(), source, most_bytes })
    }

    /// The one record at an offset.
    pub fn read_at(path: &Path, offset: u64, most_bytes: u64) -> Result<Record> {
        let missing = || Error::Damaged { path: path.to_owned(), offset, why: "the file ends before it".to_owned() };
        Ok(Reader::open(path, offset, most_bytes)?.next().ok_or_else(missing)??.record)
    }

    fn step(&mut self) -> Option<Result<Located>> {
        loop {
            match self.source.take()? {
                Source::Plain(input) => match self.begin(input) {
                    Ok(Some(source)) => self.source = Some(source),
                    Ok(None) => return None,
                    Err(error) => return Some(Err(error)),
                },
                Source::Member { offset, first, input } => {
                    if let Some(found) = self.in_member(offset, first, input) {
                        return Some(found);
                    }
                }
            }
            if let Some(Source::Plain(_)) = self.source
                && let Some(found) = self.plain()
            {
                return Some(found);
            }
        }
    }

    /// Looks at what comes: a member is opened.
    fn begin(&self, mut input: BufReader<File>) -> Result<Option<Source>> {
        let failed = || Error::file("read", &self.path);
        let buffer = ahead(&mut input).map_err(failed())?;
        if buffer.is_empty() {
            return Ok(None);
        }
        if !buffer.starts_with(&GZIP[..2]) {
            return Ok(Some(Source::Plain(input)));
        }
        let offset = input.stream_position().map_err(failed())?;
        Ok(Some(Source::Member {
            offset,
            first: true,
            input: Box::new(BufReader::with_capacity(BUFFER, GzDecoder::new(input))),
        }))
    }

    /// The next record of a plain file, if the source is at one.
    fn plain(&mut self) -> Option<Result<Located>> {
        let Some(Source::Plain(mut input)) = self.source.take() else { return None };
        let start = match skip_empty_lines(&mut input).and_then(|more| Ok((more, input.stream_position()?))) {
            Ok((true, start)) => start,
            Ok((false, _)) => return None,
            Err(source) => return Some(Err(Error::file("read", &self.path)(source))),
        };
        // A file may turn from plain to compressed where it was put together from others.
        match ahead(&mut input).map(|bytes| bytes.starts_with(&GZIP[..2])) {
            Ok(true) => {
                self.source = Some(Source::Plain(input));
                return None;
            }
            Ok(false) => {}
            Err(source) => return Some(Err(Error::file("read", &self.path)(source))),
        }
        let found = Record::read(&mut input, self.most_bytes).and_then(|found| Ok((found, input.stream_position()?)));
        match found {
            Ok((Some(record), end)) => {
                self.source = Some(Source::Plain(input));
                Some(Ok(Located { offset: start, length: end - start, alone: true, record }))
            }
            Ok((None, _)) => None,
            Err(error) => Some(Err(self.damaged(start, &error, input))),
        }
    }

    /// The next record of a member; nothing at its end, which checks its sum.
    fn in_member(&mut self, offset: u64, first: bool, mut input: Box<Unpacked>) -> Option<Result<Located>> {
        let found = Record::read(&mut *input, self.most_bytes)
            .and_then(|found| Ok((found, skip_empty_lines(&mut *input)?)))
            .and_then(
                |(found, more)| if first && found.is_none() { Err(bad("it is empty")) } else { Ok((found, more)) },
            );
        let (record, more) = match found {
            Ok((Some(record), more)) => (record, more),
            Ok((None, _)) => {
                self.source = Some(Source::Plain(input.into_inner().into_inner()));
                return None;
            }
            Err(error) => return Some(Err(self.damaged(offset, &error, input.into_inner().into_inner()))),
        };
        let end = input.get_mut().get_mut().stream_position();
        self.source = Some(if more {
            Source::Member { offset, first: false, input }
        } else {
            Source::Plain(input.into_inner().into_inner())
        });
        let end = match end {
            Ok(end) => end,
            Err(source) => return Some(Err(Error::file("read", &self.path)(source))),
        };
        Some(Ok(Located { offset, length: end - offset, alone: first, record }))
    }

    /// Notes damage, and goes to the next place where a whole record may begin.
    fn damaged(&mut self, offset: u64, error: &io::Error, mut input: BufReader<File>) -> Error {
        match self.resume(offset, &mut input) {
            Ok(true) => self.source = Some(Source::Plain(input)),
            Ok(false) => {}
            Err(source) => return Error::file("read", &self.path)(source),
        }
        Error::Damaged { path: self.path.clone(), offset, why: error.to_string() }
    }

    /// Puts the input at the next beginning of a record behind `offset`, and says whether there is one.
    fn resume(&self, offset: u64, input: &mut BufReader<File>) -> io::Result<bool> {
        input.seek(SeekFrom::Start(offset + 1))?;
        while let Some(at) = next_candidate(input)? {
            if self.begins_record(at) {
                input.seek(SeekFrom::Start(at))?;
                return Ok(true);
            }
            input.seek(SeekFrom::Start(at + 1))?;
        }
        Ok(false)
    }

    /// Does a record begin there, as far as its first bytes tell?
    fn begins_record(&self, offset: u64) -> bool {
        let begins = || -> io::Result<bool> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut input = BufReader::with_capacity(4096, file);
            let mut first = [0; 5];
            if input.fill_buf()?.starts_with(&GZIP) {
                GzDecoder::new(input).read_exact(&mut first)?;
            } else {
                input.read_exact(&mut first)?;
            }
            Ok(&first == b"WARC/")
        };
        begins().unwrap_or(false)
    }
}

/// The next bytes, two at least unless the file ends: a buffer may end between them.
fn ahead(input: &mut BufReader<File>) -> io::Result<&[u8]> {
    if input.fill_buf()?.len() < 2 {
        let at = input.stream_position()?;
        input.seek(SeekFrom::Start(at))?;
    }
    input.fill_buf()
}

/// The place of the next magic number of gzip, or of a line that begins like a record.
fn next_candidate(input: &mut BufReader<File>) -> io::Result<Option<u64>> {
    let mut at = input.stream_position()?;
    // The last bytes before, in which a mark may have begun.
    let mut window = [0_u8; 6];
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let length = buffer.len();
        for byte in buffer {
            window.rotate_left(1);
            window[5] = *byte;
            at += 1;
            if window[3..] == GZIP {
                return Ok(Some(at - 3));
            }
            if &window == b"\nWARC/" {
                return Ok(Some(at - 5));
            }
        }
        input.consume(length);
    }
}

impl Iterator for Reader {
    type Item = Result<Located>;

    fn next(&mut self) -> Option<Result<Located>> {
        self.step()
    }
}
