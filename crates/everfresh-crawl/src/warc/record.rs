use super::http::{Http, fields};
use jiff::Timestamp;
use std::io::{self, BufRead, Read};

/// The longest head of a record that is read.
const LONGEST_HEAD: usize = 1 << 20;

/// What a record is (`WARC-Type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// About the file.
    Info,
    /// What was asked.
    Request,
    /// What was answered, in full.
    Response,
    /// What was there without asking over a network, or without the protocol's head.
    Resource,
    /// What was answered, where it was the same as before.
    Revisit,
    /// Anything else.
    Other,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Info => "warcinfo",
            Kind::Request => "request",
            Kind::Response => "response",
            Kind::Resource => "resource",
            Kind::Revisit => "revisit",
            Kind::Other => "metadata",
        }
    }

    fn from_name(name: &str) -> Kind {
        let known = [Kind::Info, Kind::Request, Kind::Response, Kind::Resource, Kind::Revisit];
        known.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name)).unwrap_or(Kind::Other)
    }
}

/// A record: named fields and a block of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    fields: Vec<(String, String)>,
    block: Vec<u8>,
}

impl Record {
    /// What it is.
    pub fn kind(&self) -> Kind {
        self.field("WARC-Type").map_or(Kind::Other, Kind::from_name)
    }

    /// The value of the first field of that name, in whatever case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// All fields, in their order.
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The address that it is about; older tools put it in angle brackets.
    pub fn target(&self) -> Option<&str> {
        self.field("WARC-Target-URI").map(|target| target.trim_start_matches('<').trim_end_matches('>'))
    }

    /// When it was made.
    pub fn date(&self) -> Option<Timestamp> {
        self.field("WARC-Date")?.parse().ok()
    }

    /// Its bytes: a whole HTTP message for a response.
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    /// The HTTP message in it, if that is what it says it has.
    pub fn http(&self) -> Option<Http<'_>> {
        let is_http = self.field("Content-Type").is_some_and(|kind| kind.trim_start().starts_with("application/http"));
        // Some tools leave the type away; then the target tells.
        let is_web = || self.target().is_some_and(|target| target.starts_with("http"));
        let has_message = matches!(self.kind(), Kind::Request | Kind::Response | Kind::Revisit);
        (has_message && (is_http || is_web())).then(|| Http::parse(&self.block))
    }

    /// Reads the next record, and the empty lines before it; nothing at the end.
    ///
    /// An error of the kind [`io::ErrorKind::InvalidData`] is one of the bytes, not of the machine. A block above
    /// `most_bytes` is not read.
    pub(super) fn read(input: &mut impl BufRead, most_bytes: u64) -> io::Result<Option<Record>> {
        if !skip_empty_lines(input)? {
            return Ok(None);
        }
        let head = read_head(input)?;
        let mut lines = head.lines();
        if !lines.next().is_some_and(|version| version.starts_with("WARC/")) {
            return Err(bad("it must begin with `WARC/`"));
        }
        let mut record = Record { fields: fields(lines), block: Vec::new() };
        let length = record.field("Content-Length").and_then(|length| length.parse::<u64>().ok());
        let length = length.ok_or_else(|| bad("it must have a `Content-Length`"))?;
        if length > most_bytes {
            return Err(bad(&format!("its block must have at most {most_bytes} bytes, got {length}")));
        }
        let read = input.take(length).read_to_end(&mut record.block)?;
        if read as u64 != length {
            return Err(bad(&format!("its block must have {length} bytes, got {read}")));
        }
        Ok(Some(record))
    }
}

pub(super) fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Goes to the next byte that is not of an empty line, and says whether there is one.
pub(super) fn skip_empty_lines(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(false);
        }
        let empty = buffer.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let found = empty < buffer.len();
        input.consume(empty);
        if found {
            return Ok(true);
        }
    }
}

/// Lines up to the empty one.
fn read_head(input: &mut impl BufRead) -> io::Result<String> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        input.take((LONGEST_HEAD - before) as u64).read_until(b'\n', &mut head)?;
        let line = &head[before..];
        if line == b"\r\n" || line == b"\n" {
            return Ok(String::from_utf8_lossy(&head).into_owned());
        }
        if !line.ends_with(b"\n") {
            return Err(bad("its head must end with an empty line"));
        }
    }
}
