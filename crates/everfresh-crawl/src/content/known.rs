use super::{Content, Kind, Rules};
use everfresh::longevity::{Cut, Sketch};
use everfresh::{Error, Result};
use std::fmt;

/// BLAKE3 of some bytes: stored and compared, the same on every machine for ever.
///
/// ```
/// use everfresh_crawl::content::Digest;
/// let digest = Digest::of(b"");
/// assert_eq!(digest.to_string(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// Its 32 bytes.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// What a visit says of a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compared {
    /// The text is the same.
    Unchanged,
    /// The text is another.
    Changed {
        /// The Jaccard distance of the fragments (OP08 equation 3), estimated from sketches: 0 to 1, and 1 where only
        /// equality is known. It is 0 where less changed than the sketch sees: punctuation, or a word in a long text.
        divergence: f64,
    },
    /// The copy was read by other rules: its text is not comparable. Reading the copy's bytes by today's rules helps.
    OtherReading,
}

/// What is remembered of a copy to compare it with what the next visit finds.
///
/// ```
/// use everfresh_crawl::content::{Compared, Content, Known, Rules};
/// let read = |page: &str| Content::read(page.as_bytes(), Some("text/html"), &Rules::default());
/// let known = Known::of(&read("<p>one two three four five six seven eight nine"));
/// assert_eq!(known.compare(&read("<body><p class=x>One two three four five six seven eight nine</p>")), Compared::Changed { divergence: 0.0 });
/// assert_eq!(known.compare(&read("<p id=1>one two three four five six seven eight nine")), Compared::Unchanged);
/// let ten = read("<p>one two three four five six seven eight nine ten");
/// assert_eq!(known.compare(&ten), Compared::Changed { divergence: 1.0 / 3.0 }); // 2 of 3 fragments of eight words
/// assert_eq!(known.compare_known(&Known::of(&ten)), known.compare(&ten));
/// assert_eq!(Known::decode(&known.encode())?, known);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    kind: Kind,
    reading: u64,
    bytes_digest: Digest,
    text_digest: Digest,
    sketch: Sketch,
}

/// The first byte of what [`Known::encode`] writes.
const VERSION: u8 = 1;
/// Bytes of version 1 without fragments: version, kind, reading, two digests, the number of fragments, the check.
const FIXED: usize = 1 + 1 + 8 + 32 + 32 + 2 + 2;

impl Known {
    /// How many fragments are kept: at 256 bytes, a divergence of one half is known to 0.06.
    pub const FRAGMENTS: usize = 64;
    /// The most bytes that [`Known::encode`] writes.
    pub const MOST_BYTES: usize = FIXED + 4 * Known::FRAGMENTS;

    /// What is to be remembered of a content.
    pub fn of(content: &Content) -> Known {
        let Content { kind, reading, bytes_digest, text_digest, .. } = *content;
        Known { kind, reading, bytes_digest, text_digest, sketch: sketch(&content.text) }
    }

    /// Is it what these bytes say by these rules? Then there is nothing to read.
    pub fn is_of(&self, bytes: &[u8], rules: &Rules) -> bool {
        self.is_read_by(rules) && self.bytes_digest == Digest::of(bytes)
    }

    /// Was the copy read by these rules? Only then can its text be compared with what they find.
    pub fn is_read_by(&self, rules: &Rules) -> bool {
        self.reading == rules.reading()
    }

    /// What the copy is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The digest of the copy's bytes.
    pub const fn bytes_digest(&self) -> Digest {
        self.bytes_digest
    }

    /// The digest of the copy's text.
    pub const fn text_digest(&self) -> Digest {
        self.text_digest
    }

    /// The sketch of the copy's fragments of eight words.
    pub const fn sketch(&self) -> &Sketch {
        &self.sketch
    }

    /// Compares the copy with what was found.
    pub fn compare(&self, found: &Content) -> Compared {
        let digests = (found.bytes_digest, found.reading, found.text_digest);
        self.same(digests).unwrap_or_else(|| self.distance(&sketch(&found.text)))
    }

    /// Compares the copy with what is known of what was found: for those who need both, whose text is cut into fragments once.
    pub fn compare_known(&self, found: &Known) -> Compared {
        let digests = (found.bytes_digest, found.reading, found.text_digest);
        self.same(digests).unwrap_or_else(|| self.distance(&found.sketch))
    }

    /// What digests of bytes and text and the rules say; nothing if the texts differ.
    fn same(&self, (bytes, reading, text): (Digest, u64, Digest)) -> Option<Compared> {
        if self.bytes_digest == bytes {
            return Some(Compared::Unchanged);
        }
        if self.reading != reading {
            return Some(Compared::OtherReading);
        }
        (self.text_digest == text).then_some(Compared::Unchanged)
    }

    fn distance(&self, found: &Sketch) -> Compared {
        // Of texts without words only equality is known.
        let wordless = self.sketch.is_empty() && found.is_empty();
        Compared::Changed { divergence: if wordless { 1.0 } else { self.sketch.distance(found).value } }
    }

    /// Everything as bytes, to be stored: at most [`Known::MOST_BYTES`].
    ///
    /// Version 1: version, kind, reading in 8 bytes, the digests of bytes and text in 32 each, the number of fragments in 2, the
    /// fragments in 4 each, a check of 2 bytes; the least byte of a number comes first.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.kind as u8];
        bytes.extend(self.reading.to_le_bytes());
        bytes.extend(self.bytes_digest.0);
        bytes.extend(self.text_digest.0);
        let fragments = self.sketch.kept();
        bytes.extend(u16::try_from(fragments.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(fragments.iter().flat_map(|fragment| fragment.to_le_bytes()));
        bytes.extend(check(&bytes));
        bytes
    }

    /// What [`Known::encode`] wrote; bytes that are cut off, damaged or of another version are an error.
    pub fn decode(bytes: &[u8]) -> Result<Known> {
        let bad = |why: &str| Error::Inconsistent(format!("cannot read what is known of a copy: {why}"));
        match bytes.first() {
            Some(&VERSION) => {}
            Some(other) => return Err(bad(&format!("version must be {VERSION}, got {other}"))),
            None => return Err(bad("there must be at least one byte, got none")),
        }
        let (body, sum) = bytes.split_last_chunk::<2>().ok_or_else(|| bad("the check is missing"))?;
        if check(body) != *sum {
            return Err(bad("the check does not match: the bytes are damaged or cut off"));
        }
        parts(&body[1..]).ok_or_else(|| bad("the bytes are not what was written"))
    }
}

/// The parts behind the version.
fn parts(bytes: &[u8]) -> Option<Known> {
    let (kind, rest) = bytes.split_first()?;
    let (reading, rest) = rest.split_first_chunk::<8>()?;
    let (bytes_digest, rest) = rest.split_first_chunk::<32>()?;
    let (text_digest, rest) = rest.split_first_chunk::<32>()?;
    let (many, fragments) = rest.split_first_chunk::<2>()?;
    if fragments.len() != 4 * usize::from(u16::from_le_bytes(*many)) {
        return None;
    }
    let kept = fragments.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
    let kinds = [Kind::Html, Kind::Feed, Kind::Sitemap, Kind::Json, Kind::Text, Kind::Other];
    Some(Known {
        kind: kinds.into_iter().find(|found| *found as u8 == *kind)?,
        reading: u64::from_le_bytes(*reading),
        bytes_digest: Digest(*bytes_digest),
        text_digest: Digest(*text_digest),
        sketch: Sketch::from_parts(kept, u32::try_from(Known::FRAGMENTS).ok()?)?,
    })
}

fn check(bytes: &[u8]) -> [u8; 2] {
    let [a, b, ..] = Digest::of(bytes).0;
    [a, b]
}

/// The sketch of a text; the number of fragments is one that can be kept.
fn sketch(text: &str) -> Sketch {
    Sketch::of(text, Cut::EIGHT_WORDS, Known::FRAGMENTS).unwrap_or_default()
}
