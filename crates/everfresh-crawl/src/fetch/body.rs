use super::limits::Limits;
use super::visit::{Failure, Reason};
use bytes::{Bytes, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};
use std::fmt;
use std::io::{self, Write};
use zstd::stream::raw::{InBuffer, Operation, OutBuffer};

/// What we say that we understand.
pub(crate) const ACCEPTED: &str = "gzip, br, zstd, deflate";

/// Up to here nobody asks about proportions: short pages of spaces are harmless.
const RATIO_MATTERS: usize = 1 << 20;

/// Windows of zstd that HTTP allows (RFC 9659): 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// How much is read at most, and what happens then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Decoded bytes.
    pub(crate) bytes: usize,
    /// Decoded bytes for one on the wire.
    pub(crate) ratio: u32,
    /// Is what came until then good enough? (It is for robots.txt.)
    pub(crate) cut: bool,
}

impl Bound {
    pub(crate) fn of(limits: &Limits) -> Bound {
        Bound { bytes: limits.body_bytes, ratio: limits.body_ratio, cut: false }
    }
}

/// Takes a body piece by piece and decodes it within bounds.
pub(crate) struct Decoder {
    bound: Bound,
    wire_bytes: u64,
    coding: Coding,
}

enum Coding {
    Plain(Plain),
    Inflate(Inflate),
    Brotli(Box<brotli::DecompressorWriter<Sink>>),
    Zstd(Zstd),
}

impl Decoder {
    /// For a Content-Encoding; nothing if it is none that we accept.
    pub(crate) fn new(encoding: &str, bound: Bound) -> io::Result<Option<Decoder>> {
        let sink = Sink { bound, wire_bytes: 0, out: Vec::new() };
        let coding = match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Coding::Plain(Plain::default()),
            "gzip" | "x-gzip" => Coding::Inflate(Inflate::new(Format::Gzip, sink)),
            "deflate" => Coding::Inflate(Inflate::new(Format::Unknown, sink)),
            "br" => Coding::Brotli(Box::new(brotli::DecompressorWriter::new(sink, 16 << 10))),
            "zstd" => Coding::Zstd(Zstd::new(sink)?),
            _ => return Ok(None),
        };
        Ok(Some(Decoder { bound, wire_bytes: 0, coding }))
    }

    pub(crate) fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    /// Takes the next piece. Is there any use in more?
    pub(crate) fn push(&mut self, piece: Bytes) -> Result<bool, Failure> {
        self.wire_bytes += piece.len() as u64;
        match self.decode(piece) {
            Ok(()) => Ok(true),
            Err(error) if self.bound.cut && Excess::of(&error) == Some(Excess::Bytes) => Ok(false),
            Err(error) => Err(failure(&error)),
        }
    }

    fn decode(&mut self, piece: Bytes) -> io::Result<()> {
        let wire_bytes = self.wire_bytes;
        match &mut self.coding {
            Coding::Plain(plain) => plain.push(piece, self.bound.bytes),
            Coding::Inflate(inflate) => feed(inflate, |inflate| &mut inflate.sink, wire_bytes, &piece),
            Coding::Brotli(brotli) => feed(brotli.as_mut(), |brotli| brotli.get_mut(), wire_bytes, &piece),
            Coding::Zstd(zstd) => feed(zstd, |zstd| &mut zstd.sink, wire_bytes, &piece),
        }
    }

    /// The decoded body; what ends in the middle is not one, unless it was cut by us.
    pub(crate) fn finish(self, cut: bool) -> Result<Bytes, Failure> {
        if cut {
            return Ok(self.coding.so_far());
        }
        // A response may say that it is encoded and have nothing to encode.
        if self.wire_bytes == 0 {
            return Ok(Bytes::new());
        }
        self.coding.whole().map_err(|error| failure(&error))
    }
}

fn feed<D: Write>(decoder: &mut D, sink: fn(&mut D) -> &mut Sink, wire_bytes: u64, piece: &[u8]) -> io::Result<()> {
    sink(decoder).wire_bytes = wire_bytes;
    decoder.write_all(piece)?;
    // Decoders hold back what they decoded last; it must count now.
    decoder.flush()
}

fn has_zlib_head(piece: &[u8]) -> bool {
    let [first, second, ..] = piece else { return piece.first().is_some_and(|first| first & 0x0f == 8) };
    first & 0x0f == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0
}

impl Coding {
    fn whole(self) -> io::Result<Bytes> {
        let sink = match self {
            Coding::Plain(plain) => return Ok(plain.whole()),
            Coding::Inflate(inflate) => inflate.finish()?,
            Coding::Brotli(brotli) => brotli.into_inner().map_err(|_| io::ErrorKind::UnexpectedEof)?,
            Coding::Zstd(zstd) => zstd.finish()?,
        };
        Ok(sink.out.into())
    }

    fn so_far(mut self) -> Bytes {
        let sink = match &mut self {
            Coding::Plain(plain) => return std::mem::take(plain).whole(),
            Coding::Inflate(inflate) => &mut inflate.sink,
            Coding::Brotli(brotli) => brotli.get_mut(),
            Coding::Zstd(zstd) => &mut zstd.sink,
        };
        std::mem::take(&mut sink.out).into()
    }
}

/// A body that comes as it is: in one piece, most often, which is not copied.
#[derive(Default)]
struct Plain {
    first: Bytes,
    rest: BytesMut,
}

impl Plain {
    fn push(&mut self, mut piece: Bytes, most: usize) -> io::Result<()> {
        let room = most - self.first.len().max(self.rest.len());
        let excess = piece.len() > room;
        piece.truncate(room);
        if self.first.is_empty() && self.rest.is_empty() {
            self.first = piece;
        } else {
            if self.rest.is_empty() {
                self.rest.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.rest.extend_from_slice(&piece);
        }
        if excess { Err(Excess::Bytes.into()) } else { Ok(()) }
    }

    fn whole(self) -> Bytes {
        if self.rest.is_empty() { self.first } else { self.rest.freeze() }
    }
}

/// Where decoders write: it takes so much and no more.
struct Sink {
    bound: Bound,
    wire_bytes: u64,
    out: Vec<u8>,
}

impl Write for Sink {
    fn write(&mut self, decoded: &[u8]) -> io::Result<usize> {
        let room = self.bound.bytes - self.out.len();
        self.out.extend_from_slice(&decoded[..decoded.len().min(room)]);
        if self.out.len() > RATIO_MATTERS && self.out.len() as u64 > self.wire_bytes * u64::from(self.bound.ratio) {
            return Err(Excess::Ratio.into());
        }
        if decoded.len() > room { Err(Excess::Bytes.into()) } else { Ok(decoded.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is around deflated bytes.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Gzip,
    Zlib,
    Raw,
    /// Called "deflate", nothing has come yet: it should have a zlib head, and from some servers has none.
    Unknown,
}

impl Format {
    fn inflater(self) -> Decompress {
        match self {
            Format::Gzip => Decompress::new_gzip(15),
            Format::Zlib => Decompress::new(true),
            Format::Raw | Format::Unknown => Decompress::new(false),
        }
    }
}

/// gzip and deflate, pushed, knowing whether a stream is open: the writers of the crate take half a stream for a whole one.
struct Inflate {
    format: Format,
    inflater: Decompress,
    sink: Sink,
    open: bool,
}

impl Inflate {
    fn new(format: Format, sink: Sink) -> Inflate {
        Inflate { format, inflater: format.inflater(), sink, open: true }
    }

    fn begin(&mut self, format: Format) {
        (self.format, self.inflater, self.open) = (format, format.inflater(), true);
    }

    fn finish(self) -> io::Result<Sink> {
        if self.open { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(self.sink) }
    }

    /// Takes some of the bytes; how many, and whether there is more inside.
    fn some(&mut self, piece: &[u8]) -> io::Result<(usize, bool)> {
        let mut room = [0; 16 << 10];
        let (taken, given) = (self.inflater.total_in(), self.inflater.total_out());
        let status = self.inflater.decompress(piece, &mut room, FlushDecompress::None).map_err(io::Error::other)?;
        let taken = usize::try_from(self.inflater.total_in() - taken).unwrap_or(piece.len());
        let given = usize::try_from(self.inflater.total_out() - given).unwrap_or(room.len());
        self.sink.write_all(&room[..given])?;
        self.open = status != Status::StreamEnd;
        Ok((taken, self.open && given == room.len()))
    }
}

impl Write for Inflate {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.format == Format::Unknown {
            self.begin(if has_zlib_head(piece) { Format::Zlib } else { Format::Raw });
        }
        let mut left = piece;
        let mut inside = false;
        while !left.is_empty() || inside {
            if !self.open && (self.format != Format::Gzip || left.first() != Some(&0x1f)) {
                // What pads a whole stream is nothing.
                break;
            }
            if !self.open {
                self.begin(Format::Gzip);
            }
            let (taken, more) = self.some(left)?;
            if taken == 0 && !more && !inside {
                return Err(io::ErrorKind::InvalidData.into());
            }
            left = &left[taken..];
            inside = more;
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// zstd, pushed, with a bound on its window, knowing whether a frame is open.
struct Zstd {
    decoder: zstd::stream::raw::Decoder<'static>,
    sink: Sink,
    open: bool,
}

impl Zstd {
    fn new(sink: Sink) -> io::Result<Zstd> {
        let mut decoder = zstd::stream::raw::Decoder::new()?;
        decoder.set_parameter(zstd::stream::raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
        Ok(Zstd { decoder, sink, open: true })
    }

    fn finish(self) -> io::Result<Sink> {
        if self.open { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(self.sink) }
    }
}

impl Write for Zstd {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let mut room = [0; 16 << 10];
        let mut input = InBuffer::around(piece);
        loop {
            let mut output = OutBuffer::around(&mut room[..]);
            self.open = self.decoder.run(&mut input, &mut output)? != 0;
            let decoded = output.pos();
            self.sink.write_all(&room[..decoded])?;
            // A full buffer may mean that there is more inside.
            if input.pos() == piece.len() && decoded < room.len() {
                return Ok(piece.len());
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What was too much.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Excess {
    Bytes,
    Ratio,
}

impl Excess {
    fn of(error: &io::Error) -> Option<Excess> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Excess::Bytes => "the body is longer than the limit",
            Excess::Ratio => "the body grows out of proportion when decoded",
        })
    }
}

impl std::error::Error for Excess {}

impl From<Excess> for io::Error {
    fn from(excess: Excess) -> io::Error {
        io::Error::other(excess)
    }
}

fn failure(error: &io::Error) -> Failure {
    match Excess::of(error) {
        Some(Excess::Bytes) => Failure::new(Reason::TooLarge, Excess::Bytes.to_string()),
        Some(Excess::Ratio) => Failure::new(Reason::Bomb, Excess::Ratio.to_string()),
        None => Failure::new(Reason::Malformed, format!("cannot decode the body: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;

    const BOUND: Bound = Bound { bytes: 4 << 20, ratio: 200, cut: false };

    fn encoded(encoding: &str, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        match encoding {
            "gzip" => flate2::write::GzEncoder::new(&mut out, Compression::best()).write_all(body).unwrap(),
            "deflate" => flate2::write::ZlibEncoder::new(&mut out, Compression::best()).write_all(body).unwrap(),
            "raw" => flate2::write::DeflateEncoder::new(&mut out, Compression::best()).write_all(body).unwrap(),
            "br" => brotli::CompressorWriter::new(&mut out, 4096, 9, 22).write_all(body).unwrap(),
            "zstd" => out = zstd::bulk::compress(body, 3).unwrap(),
            _ => out.extend_from_slice(body),
        }
        out
    }

    fn decoded(encoding: &str, wire: &[u8], piece: usize, bound: Bound) -> Result<Bytes, Failure> {
        let encoding = if encoding == "raw" { "deflate" } else { encoding };
        let mut decoder = Decoder::new(encoding, bound).unwrap().unwrap();
        let mut more = true;
        for piece in wire.chunks(piece) {
            more = decoder.push(Bytes::copy_from_slice(piece))?;
            if !more {
                break;
            }
        }
        decoder.finish(!more)
    }

    const ALL: [&str; 6] = ["identity", "gzip", "deflate", "raw", "br", "zstd"];

    #[test]
    fn every_coding_gives_back_what_went_in_whatever_the_pieces() {
        let body: Vec<u8> = (0..200_000_u32).map(|i| (i.wrapping_mul(i) >> 7).to_le_bytes()[0]).collect();
        for encoding in ALL {
            let wire = encoded(encoding, &body);
            for piece in [2, 1000, wire.len()] {
                assert_eq!(decoded(encoding, &wire, piece, BOUND).unwrap(), body, "{encoding} by {piece}");
            }
            assert!(decoded(encoding, &[], 1, BOUND).unwrap().is_empty(), "{encoding}: nothing");
        }
    }

    #[test]
    fn bombs_are_defused_early() {
        let bomb = vec![0; 16 << 20];
        for encoding in ["gzip", "deflate", "raw", "br", "zstd"] {
            let wire = encoded(encoding, &bomb);
            let large = Bound { bytes: 1 << 30, ..BOUND };
            assert_eq!(decoded(encoding, &wire, 1 << 14, large).unwrap_err().reason, Reason::Bomb, "{encoding}");
            let ratio = Bound { ratio: u32::MAX, ..BOUND };
            assert_eq!(decoded(encoding, &wire, 1 << 14, ratio).unwrap_err().reason, Reason::TooLarge, "{encoding}");
        }
    }

    #[test]
    fn a_body_as_long_as_the_limit_is_not_too_long() {
        let body: Vec<u8> = (0..5000_u32).flat_map(|i| (i.wrapping_mul(2_654_435_761)).to_le_bytes()).collect();
        for encoding in ALL {
            let wire = encoded(encoding, &body);
            let bound = |bytes| Bound { bytes, ..BOUND };
            assert_eq!(decoded(encoding, &wire, 999, bound(body.len())).unwrap(), body, "{encoding}");
            let error = decoded(encoding, &wire, 999, bound(body.len() - 1)).unwrap_err();
            assert_eq!(error.reason, Reason::TooLarge, "{encoding}");
            let cut = Bound { cut: true, ..bound(1234) };
            assert_eq!(decoded(encoding, &wire, 999, cut).unwrap(), body[..1234], "{encoding}");
        }
    }

    #[test]
    fn bodies_that_end_early_or_are_no_code_are_malformed() {
        let body = b"some words that are long enough to be encoded ".repeat(50);
        for encoding in ["gzip", "deflate", "br", "zstd"] {
            let wire = encoded(encoding, &body);
            let error = decoded(encoding, &wire[..wire.len() / 2], 64, BOUND).unwrap_err();
            assert_eq!(error.reason, Reason::Malformed, "{encoding}, half");
            let error = decoded(encoding, b"<html>not encoded at all</html>", 64, BOUND).unwrap_err();
            assert_eq!(error.reason, Reason::Malformed, "{encoding}, plain");
        }
        assert!(Decoder::new("rot13", BOUND).unwrap().is_none());
        assert!(Decoder::new("gzip, br", BOUND).unwrap().is_none());
    }
}
