//! Records as gzip members, made by whoever has time: no file is needed for it.

use super::digest::payload_digest;
use super::error::{Error, Result};
use super::record::Kind;
use super::write::{Exchange, PAGE, about, check_address, id};
use libdeflater::{CompressionLvl, Compressor};
use std::cell::RefCell;
use std::io;
use std::path::Path;

thread_local! {
    /// A compressor's tables are hundreds of kilobytes, which would be made for each record; records are often smaller.
    static COMPRESSOR: RefCell<Option<(u32, Compressor)>> = const { RefCell::new(None) };
}

/// An answer made ready to be kept: the digest of its payload, and its records, compressed.
///
/// That is most of the work of keeping it, and needs no archive: threads that fetch can do it beside each other, while one keeps what
/// they found. See [`super::Archive::keep_prepared`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    pub(super) digest: String,
    pub(super) records: Records,
}

impl Prepared {
    /// Compresses an answer at a level of 0 to 9, as [`super::Settings::level`] has it.
    ///
    /// ```
    /// use everfresh_crawl::warc::{Archive, Exchange, Prepared, Settings, answer_head};
    /// let head = answer_head("HTTP/1.1", 200, "OK", [("Content-Type", "text/plain")], Some(4));
    /// let date = "2024-05-01T00:00:00Z".parse()?;
    /// let (target, page, request, address, truncated) = ("http://a.example/", None, None, None, None);
    /// let answer = Exchange { target, page, date, address, request, head: &head, body: b"soup", truncated };
    /// let folder = tempfile::tempdir()?;
    /// let mut archive = Archive::open(folder.path(), Settings::default())?;
    /// let version = archive.keep_prepared(&answer, &Prepared::of(&answer, 2)?)?;
    /// assert_eq!(archive.read(&version)?.bytes, b"soup");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(exchange: &Exchange<'_>, level: u32) -> Result<Prepared> {
        let digest = payload_digest(exchange.body);
        let records = response(exchange, &digest, level)?;
        Ok(Prepared { digest, records })
    }
}

/// What was asked, if that is kept, and what was answered, each a gzip member, behind each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) bytes: Vec<u8>,
    /// Where the answer begins.
    pub(super) answer_at: usize,
}

/// An answer in full.
pub(super) fn response(exchange: &Exchange<'_>, payload: &str, level: u32) -> Result<Records> {
    let block = [exchange.head, exchange.body].concat();
    records(exchange, Kind::Response, &block, vec![("WARC-Payload-Digest", payload.to_owned())], level)
}

/// An answer of a kind, and before it what was asked.
pub(super) fn records(
    exchange: &Exchange<'_>,
    kind: Kind,
    block: &[u8],
    more: Vec<(&'static str, String)>,
    level: u32,
) -> Result<Records> {
    let name = id();
    let mut bytes = match exchange.request {
        Some(request) => {
            let mut fields = about(Kind::Request, &id(), exchange.date, Some(exchange.target))?;
            fields.push(("Content-Type", "application/http; msgtype=request".to_owned()));
            fields.push(("WARC-Concurrent-To", name.clone()));
            member(&fields, request, level)?
        }
        None => Vec::new(),
    };
    let answer_at = bytes.len();
    let mut fields = about(kind, &name, exchange.date, Some(exchange.target))?;
    fields.push(("Content-Type", "application/http; msgtype=response".to_owned()));
    fields.extend(exchange.address.map(|address| ("WARC-IP-Address", address.to_string())));
    fields.extend(exchange.truncated.map(|why| ("WARC-Truncated", why.name().to_owned())));
    if let Some(page) = exchange.page.filter(|page| *page != exchange.target) {
        check_address(page)?;
        fields.push((PAGE, page.to_owned()));
    }
    fields.extend(more);
    bytes.extend_from_slice(&member(&fields, block, level)?);
    Ok(Records { bytes, answer_at })
}

/// A record as a gzip member.
pub(super) fn member(fields: &[(&str, String)], block: &[u8], level: u32) -> Result<Vec<u8>> {
    let length = block.len();
    let mut record = Vec::with_capacity(length + 1024);
    record.extend_from_slice(b"WARC/1.1\r\n");
    for (name, value) in fields {
        for text in [name, ": ", value, "\r\n"] {
            record.extend_from_slice(text.as_bytes());
        }
    }
    let digest = payload_digest(block);
    record.extend_from_slice(format!("WARC-Block-Digest: {digest}\r\nContent-Length: {length}\r\n\r\n").as_bytes());
    record.extend_from_slice(block);
    record.extend_from_slice(b"\r\n\r\n");
    pack(&record, level.min(9)).map_err(Error::file("compress", Path::new("a record")))
}

/// Bytes as one gzip member, by the compressor of this thread.
fn pack(bytes: &[u8], level: u32) -> io::Result<Vec<u8>> {
    let wanted = CompressionLvl::new(level.cast_signed()).map_err(|_| io::ErrorKind::InvalidInput)?;
    COMPRESSOR.with_borrow_mut(|kept| {
        let (_, gzip) = match kept {
            Some(kept) if kept.0 == level => kept,
            other => other.insert((level, Compressor::new(wanted))),
        };
        let mut out = vec![0; gzip.gzip_compress_bound(bytes.len())];
        let length = gzip.gzip_compress(bytes, &mut out).map_err(io::Error::other)?;
        out.truncate(length);
        Ok(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn one_compressor_packs_many_members_of_any_length_and_level() {
        let mut random = 1_u32;
        for length in [0, 1, 10, 300, 70_000, 1_000_000, 5] {
            for level in [1, 2, 9, 0] {
                let noise = std::iter::repeat_with(|| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (random >> 24) as u8
                });
                let text: Vec<u8> = noise.take(length).collect();
                let packed = pack(&text, level).unwrap();
                let mut back = Vec::new();
                flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut back).unwrap();
                assert!(back == text, "{length} bytes, level {level}");
            }
        }
    }
}
