use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::borrow::Cow;
use std::io::Read;

/// An HTTP message as it stands in a record: read leniently, since servers write what they like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http<'a> {
    /// The status of an answer; nothing for a request.
    pub status: Option<u16>,
    /// Names and values in their order, trimmed.
    pub fields: Vec<(String, String)>,
    /// What follows the empty line, as it was sent.
    pub body: &'a [u8],
}

impl<'a> Http<'a> {
    /// Cuts a message into head and body; a message without an empty line has no body.
    pub fn parse(message: &'a [u8]) -> Http<'a> {
        let (head, body) = split_head(message);
        let head = String::from_utf8_lossy(head);
        let mut lines = head.lines();
        let first = lines.next().unwrap_or_default();
        let status = first.strip_prefix("HTTP/").and_then(|rest| rest.split_ascii_whitespace().nth(1));
        Http { status: status.and_then(|status| status.parse().ok()), fields: fields(lines), body }
    }

    /// The value of the first field of that name, in whatever case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body with transfer and content codings undone, at most `most_bytes` of it.
    ///
    /// A body that is not in the coding that it names is left as it is: other tools store what they decoded under the head
    /// that they received.
    pub fn content(&self, most_bytes: u64) -> Cow<'a, [u8]> {
        let mut content = Cow::Borrowed(self.body);
        let codings = [self.field("transfer-encoding"), self.field("content-encoding")];
        // Transfer codings were applied last, and of several codings the last one was.
        for coding in codings.into_iter().flatten().flat_map(|codings| codings.rsplit(',')) {
            if let Some(decoded) = decode(coding.trim(), &content, most_bytes) {
                content = Cow::Owned(decoded);
            }
        }
        if let Ok(most) = usize::try_from(most_bytes)
            && content.len() > most
        {
            content = Cow::Owned(content[..most].to_vec());
        }
        content
    }
}

/// Head and body, without the empty line between them.
fn split_head(message: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while let Some(line) = message[at..].iter().position(|byte| *byte == b'\n') {
        let end = at + line + 1;
        match &message[end..] {
            [b'\n', body @ ..] | [b'\r', b'\n', body @ ..] => return (&message[..end], body),
            _ => at = end,
        }
    }
    (message, &[])
}

/// Fields from the lines of a head; a line that begins with white space continues the one before.
pub(super) fn fields<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in lines {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    fields
}

/// What the bytes were before the coding; nothing if they are not in it.
fn decode(coding: &str, bytes: &[u8], most_bytes: u64) -> Option<Vec<u8>> {
    match coding.to_ascii_lowercase().as_str() {
        "chunked" => dechunk(bytes),
        "gzip" | "x-gzip" => inflate(MultiGzDecoder::new(bytes), most_bytes),
        // Some servers mean the bare stream.
        "deflate" => {
            inflate(ZlibDecoder::new(bytes), most_bytes).or_else(|| inflate(DeflateDecoder::new(bytes), most_bytes))
        }
        "br" => inflate(brotli::Decompressor::new(bytes, 4096), most_bytes),
        "zstd" => inflate(zstd::Decoder::new(bytes).ok()?, most_bytes),
        _ => None,
    }
}

/// At most so many bytes of a stream; of a stream that breaks off, what came before, if anything.
pub(crate) fn inflate(stream: impl Read, most_bytes: u64) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let read = stream.take(most_bytes).read_to_end(&mut decoded);
    (read.is_ok() || !decoded.is_empty()).then_some(decoded)
}

/// A body out of its chunks (RFC 9112 section 7.1); nothing if it is not in chunks. What is cut off ends where it ends.
fn dechunk(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line_end = bytes.iter().take(1024).position(|byte| *byte == b'\n');
        let Some(line_end) = line_end else {
            return (bytes.is_empty() && !body.is_empty()).then_some(body);
        };
        let line = std::str::from_utf8(&bytes[..line_end]).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        bytes = &bytes[line_end + 1..];
        if size == 0 || size >= bytes.len() {
            body.extend_from_slice(&bytes[..size.min(bytes.len())]);
            return Some(body);
        }
        body.extend_from_slice(&bytes[..size]);
        bytes = &bytes[size..];
        bytes = bytes.strip_prefix(b"\r\n").or_else(|| bytes.strip_prefix(b"\n"))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn content(head: &str, body: &[u8]) -> Vec<u8> {
        let message = [format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").as_bytes(), body].concat();
        Http::parse(&message).content(1 << 20).into_owned()
    }

    #[test]
    fn heads_are_read_as_servers_write_them() {
        let http = Http::parse(b"HTTP/1.0 404 Not  Found\nA: 1\n b\nnonsense\nC:\xFF\n\nrest\n\n");
        assert_eq!(http.status, Some(404));
        assert_eq!((http.field("a"), http.field("c")), (Some("1 b"), Some("\u{FFFD}")));
        assert_eq!(http.body, b"rest\n\n");
        assert_eq!(Http::parse(b"GET / HTTP/1.1\r\n\r\n").status, None);
        assert_eq!(Http::parse(b"").body, b"");
    }

    #[test]
    fn codings_are_undone_in_order() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"plain").unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(content("Content-Encoding: gzip", &gzip), b"plain");
        assert_eq!(content("Content-Encoding: GZIP", b"plain"), b"plain"); // decoded by whoever stored it
        let (a, b) = gzip.split_at(9);
        let head = format!("{:x};x=y\r\n", a.len());
        let tail = format!("\r\n{:X}\r\n", b.len());
        let chunked = [head.as_bytes(), a, tail.as_bytes(), b, b"\r\n0\r\n\r\n"].concat();
        assert_eq!(content("Transfer-Encoding: chunked\r\nContent-Encoding: gzip", &chunked), b"plain");
        assert_eq!(content("Transfer-Encoding: chunked", b"plain"), b"plain");
        assert_eq!(content("Transfer-Encoding: chunked", b"5\r\npla"), b"pla"); // the connection broke
        assert_eq!(content("Transfer-Encoding: chunked", b"ffffffffffffffff\r\npla"), b"pla");
        let zstd = zstd::encode_all(b"plain".as_slice(), 1).unwrap();
        assert_eq!(content("Content-Encoding: zstd", &zstd), b"plain");
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&vec![0; 10 << 20]).unwrap();
        assert_eq!(content("Content-Encoding: gzip", &gzip.finish().unwrap()).len(), 1 << 20);
    }
}
