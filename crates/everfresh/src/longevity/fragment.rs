use crate::error::{Error, Result};
use crate::numeric::spread;
use rapidhash::v3::rapidhash_v3;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;

/// How a text is cut into fragments (OP08 section 2.1.1).
///
/// All three rest on the same words: those of Unicode (UAX #29), letter case folded, so that what changes only punctuation,
/// white space or case changes no fragment. Nothing is normalised beyond that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Words(u8),
    Lines,
    Whole,
}

impl Cut {
    /// The most words that a fragment can have.
    pub const MOST_WORDS: usize = 64;
    /// Every line with a word in it is a fragment: for lists, whose items stand on lines.
    pub const LINES: Cut = Cut(Kind::Lines);
    /// The whole text is one fragment: divergence is then holistic staleness, 0 or 1 (OP08 section 2.1.1).
    pub const WHOLE: Cut = Cut(Kind::Whole);
    /// Eight words in a row: long enough that few fragments occur twice by chance.
    pub const EIGHT_WORDS: Cut = Cut(Kind::Words(8));

    /// Every `k` words in a row are a fragment (shingling), k from 1 to 64.
    ///
    /// A text of n >= k words has n - k + 1 of them, repetitions counted; a shorter one is a single fragment, and one
    /// without words has none.
    pub fn words(k: usize) -> Result<Cut> {
        if let Ok(words @ 1..=64) = u8::try_from(k) {
            return Ok(Cut(Kind::Words(words)));
        }
        let (what, bound) = ("number of words of a fragment", "between 1 and 64");
        Err(Error::OutOfBounds { what, bound, value: k as f64 })
    }
}

/// What takes the fragments of a text as they come: 64-bit hashes, uniform, with repetitions.
pub trait Sink {
    /// Takes the next fragment.
    fn take(&mut self, fragment: u64);
}

impl Sink for Vec<u64> {
    fn take(&mut self, fragment: u64) {
        self.push(fragment);
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn take(&mut self, fragment: u64) {
        (**self).take(fragment);
    }
}

/// Cuts a text that comes in pieces into fragments, in bounded memory whatever its length.
///
/// Each word is hashed once (rapidhash version 3, whose values are fixed for ever), and the hashes `w_1 .. w_k` of k words
/// in a row roll into one number, `Σ w_i B^(k-i)` mod 2^64 with an odd B, which a last mixing spreads evenly. Fragments are
/// the same on every machine and may be stored.
///
/// Bytes that are not UTF-8 count as U+FFFD, which is part of no word. A run of more than 64 KiB without ASCII white space
/// may be cut where a piece ends.
///
/// ```
/// use everfresh::longevity::{Cut, Shingler};
/// let mut shingler = Shingler::new(Cut::words(2)?, Vec::new());
/// shingler.push("The quick br");
/// shingler.push("own fox, the QUICK brown dog.");
/// let fragments = shingler.finish();
/// assert_eq!(fragments.len(), 7); // the+quick quick+brown brown+fox fox+the the+quick quick+brown brown+dog
/// assert_eq!(fragments[0], fragments[4]);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shingler<S> {
    window: Window,
    sink: S,
    /// The end of the last piece, from its last white space on: its last word may go on in the next.
    carry: Vec<u8>,
    /// A word that is folded outside the fast path; kept for its memory.
    folded: String,
}

/// The longest run without white space that waits for its end.
const LONGEST_RUN: usize = 1 << 16;

impl<S: Sink> Shingler<S> {
    /// Nothing of the text yet.
    pub fn new(cut: Cut, sink: S) -> Self {
        Shingler { window: Window::new(cut), sink, carry: Vec::new(), folded: String::new() }
    }

    /// The next piece of the text; a piece may end in the middle of a word.
    pub fn push(&mut self, piece: &str) {
        self.push_bytes(piece.as_bytes());
    }

    /// The next piece as bytes; it may end in the middle of a character.
    pub fn push_bytes(&mut self, piece: &[u8]) {
        let mut rest = piece;
        if !self.carry.is_empty() {
            let end = piece.iter().position(u8::is_ascii_whitespace);
            let (run, behind) = piece.split_at(end.unwrap_or(piece.len()));
            self.carry.extend_from_slice(run);
            rest = behind;
            let run = std::mem::take(&mut self.carry);
            if end.is_some() {
                self.scan(&run);
            } else {
                self.wait(&run);
            }
        }
        let (complete, begun) = rest.split_at(rest.iter().rposition(u8::is_ascii_whitespace).unwrap_or(0));
        self.scan(complete);
        self.wait(begun);
    }

    /// Keeps a run whose end has not come, unless it is too long.
    fn wait(&mut self, run: &[u8]) {
        let kept = if run.len() > LONGEST_RUN { incomplete_end(run) } else { run.len() };
        let (complete, begun) = run.split_at(run.len() - kept);
        self.scan(complete);
        self.carry.extend_from_slice(begun);
    }

    /// The end of the text: hands back what took the fragments.
    pub fn finish(mut self) -> S {
        let run = std::mem::take(&mut self.carry);
        self.scan(&run);
        self.window.end(&mut self.sink);
        self.sink
    }

    /// Takes in bytes that end where a word ends.
    fn scan(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at = match CLASS[usize::from(byte)] {
                Class::Word => self.ascii_word(bytes, at),
                Class::NotAscii => self.run(bytes, at),
                Class::LineEnd => {
                    self.window.line_end(&mut self.sink);
                    at + 1
                }
                Class::Other => at + 1,
            };
        }
    }

    /// Takes in the word at `start` eight bytes at a time, and says where it ends.
    ///
    /// Words that are long, near the end of the text or mixed with other scripts go the slow way, with the same result.
    #[inline(always)]
    fn ascii_word(&mut self, bytes: &[u8], start: usize) -> usize {
        let mut folded = [0; 48];
        let (mut at, mut length) = (start, 0);
        while let (Some(eight), Some(room)) = (bytes.get(at..at + 8), folded.get_mut(length..length + 8)) {
            let eight = Eight::of(eight);
            room.copy_from_slice(&eight.folded.to_le_bytes());
            at += eight.words;
            length += eight.words;
            if eight.words == 8 {
                continue;
            }
            match joint(bytes, at) {
                Joint::Break => {
                    self.hashed(&folded[..length]);
                    return at;
                }
                Joint::Join => {
                    folded[length] = bytes[at];
                    (at, length) = (at + 1, length + 1);
                }
                Joint::Unknown => break,
            }
        }
        self.run(bytes, start)
    }

    /// Takes in all words of the run from `start` to the next white space by the rules of Unicode, and says where it ends.
    #[cold]
    fn run(&mut self, bytes: &[u8], start: usize) -> usize {
        let rest = &bytes[start..];
        let run = &rest[..rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len())];
        let text: Cow<'_, str> = String::from_utf8_lossy(run);
        let mut folded = std::mem::take(&mut self.folded);
        for word in text.unicode_words() {
            folded.clear();
            folded.extend(word.chars().flat_map(fold));
            self.hashed(folded.as_bytes());
        }
        self.folded = folded;
        start + run.len()
    }

    #[inline(always)]
    fn hashed(&mut self, word: &[u8]) {
        // As in Unicode's own definition, underscores alone are no word.
        if word.first() == Some(&b'_') && word.iter().all(|byte| *byte == b'_') {
            return;
        }
        self.window.word(rapidhash_v3(word), &mut self.sink);
    }
}

/// How many bytes at the end of a run belong to a character that is not complete: 0 to 3.
fn incomplete_end(run: &[u8]) -> usize {
    let tail = &run[run.len().saturating_sub(3)..];
    let begun = tail.iter().rposition(|byte| *byte >= 0xC0).map(|at| &tail[at..]);
    begun.filter(|begun| std::str::from_utf8(begun).is_err_and(|e| e.error_len().is_none())).map_or(0, <[u8]>::len)
}

/// The case of a letter folded: by way of the capital, so that ς, σ and Σ, or ß and SS, are the same.
fn fold(letter: char) -> impl Iterator<Item = char> {
    letter.to_uppercase().flat_map(char::to_lowercase)
}

/// What a byte is, as far as words are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    LineEnd,
    Other,
    NotAscii,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte: u8 = 0;
    loop {
        table[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => Class::Word,
            b'\n' | b'\r' => Class::LineEnd,
            0x80..=0xFF => Class::NotAscii,
            _ => Class::Other,
        };
        if byte == 0xFF {
            break table;
        }
        byte += 1;
    }
};

/// Eight bytes of text at once.
struct Eight {
    /// The letters among them in lower case.
    folded: u64,
    /// How many of them, from the first, are ASCII letters, digits or underscores.
    words: usize,
}

impl Eight {
    #[inline(always)]
    fn of(bytes: &[u8]) -> Eight {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGH: u64 = 0x80 * ONES;
        // In every byte: the high bit of `at_least(y, c)` says whether the low seven bits of y are at least c.
        let at_least = |y: u64, c: u8| (y & !HIGH) + (0x80 - u64::from(c)) * ONES;
        let mut array = [0; 8];
        array.copy_from_slice(bytes);
        let x = u64::from_le_bytes(array);
        let lower = x | (0x20 * ONES);
        let letters = at_least(lower, b'a') & !at_least(lower, b'z' + 1);
        let digits = at_least(x, b'0') & !at_least(x, b'9' + 1);
        let underscores = !at_least(x ^ (u64::from(b'_') * ONES), 1);
        let words = (letters | digits | underscores) & !x & HIGH;
        Eight { folded: x | (letters & words) >> 2, words: (words ^ HIGH).trailing_zeros() as usize / 8 }
    }
}

/// Whether a word goes on behind a byte that is no letter, digit or underscore.
enum Joint {
    /// The word has ended.
    Break,
    /// The byte joins letters, as in `don't`, or digits, as in `3.14`.
    Join,
    /// A byte beyond ASCII decides.
    Unknown,
}

/// Rules WB6, WB7, WB11 and WB12 of UAX #29 for ASCII, at a byte behind a word.
#[inline(always)]
fn joint(bytes: &[u8], at: usize) -> Joint {
    let (joins_letters, joins_digits) = match bytes.get(at) {
        Some(b'\'' | b'.') => (true, true),
        Some(b':') => (true, false),
        Some(b',' | b';') => (false, true),
        Some(0x80..=0xFF) => return Joint::Unknown,
        _ => return Joint::Break,
    };
    match (bytes[at - 1], bytes.get(at + 1)) {
        (_, Some(0x80..=0xFF)) => Joint::Unknown,
        (before, Some(behind)) if joins_letters && before.is_ascii_alphabetic() && behind.is_ascii_alphabetic() => {
            Joint::Join
        }
        (before, Some(behind)) if joins_digits && before.is_ascii_digit() && behind.is_ascii_digit() => Joint::Join,
        _ => Joint::Break,
    }
}

/// The last words, rolled into one number.
#[derive(Clone, Debug)]
struct Window {
    cut: Cut,
    /// The hashes of the last k words, the oldest at `next`.
    last: [u64; Cut::MOST_WORDS],
    next: usize,
    rolled: u64,
    /// `B^k`.
    leaving: u64,
    /// Words since the start of the text, or of the line.
    words: u64,
}

/// B, odd and 3 modulo 8: of all odd numbers these lose the fewest bits when words trade places, at most 8 of 64.
const BASE: u64 = 0x9E37_79B9_7F4A_7C1B;

impl Window {
    fn new(cut: Cut) -> Window {
        let k = if let Kind::Words(k) = cut.0 { u32::from(k) } else { 0 };
        Window { cut, last: [0; 64], next: 0, rolled: 0, leaving: BASE.wrapping_pow(k), words: 0 }
    }

    #[inline(always)]
    fn word(&mut self, hash: u64, sink: &mut impl Sink) {
        self.words += 1;
        let Kind::Words(k) = self.cut.0 else {
            self.rolled = spread(self.rolled.wrapping_mul(BASE).wrapping_add(hash));
            return;
        };
        let oldest = std::mem::replace(&mut self.last[self.next & 63], hash);
        self.next = if self.next + 1 == usize::from(k) { 0 } else { self.next + 1 };
        let longer = self.rolled.wrapping_mul(BASE).wrapping_add(hash);
        self.rolled = longer.wrapping_sub(oldest.wrapping_mul(self.leaving));
        if self.words >= u64::from(k) {
            sink.take(spread(self.rolled));
        }
    }

    fn line_end(&mut self, sink: &mut impl Sink) {
        if self.cut == Cut::LINES && self.words > 0 {
            sink.take(self.rolled);
            (self.rolled, self.words) = (0, 0);
        }
    }

    fn end(&mut self, sink: &mut impl Sink) {
        match self.cut.0 {
            Kind::Words(k) if 0 < self.words && self.words < u64::from(k) => sink.take(spread(self.rolled)),
            Kind::Lines | Kind::Whole if self.words > 0 => sink.take(self.rolled),
            _ => {}
        }
    }
}
