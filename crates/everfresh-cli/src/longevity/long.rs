//! A line of JSON that is too long to be held: its text goes through the fragmenter as it comes, the rest is read as in every line.

use std::io::BufRead;

use anyhow::Result;
use everfresh::longevity::{Cut, Shingler};

use super::rows::Row;
use super::sample::{Sample, Sampler};
use crate::interrupt;

/// Bytes of a line that is read whole, and of what a longer one may have beside its text.
pub(super) const LONGEST: usize = 1 << 23;

/// A snapshot from a long line.
pub(super) struct Long {
    pub page: String,
    pub time: u64,
    pub sample: Sample,
}

/// Reads a line on to its end, of which `begun` is the beginning; or says what is wrong with it.
pub(super) fn read(begun: &[u8], rest: &mut impl BufRead, cut: Cut) -> Result<Result<Long, String>> {
    let mut line = Line::new(cut);
    if let Err(why) = line.take(begun) {
        return Ok(Err(why));
    }
    loop {
        interrupt::check()?;
        let piece = rest.fill_buf()?;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(piece.len());
        if let Err(why) = line.take(&piece[..length]) {
            return Ok(Err(why));
        }
        let is_last = end.is_some() || piece.is_empty();
        rest.consume(length + usize::from(end.is_some()));
        if is_last {
            return Ok(line.finish());
        }
    }
}

/// A line between two pieces.
struct Line {
    /// What was read, with `""` in the place of the text.
    others: Vec<u8>,
    /// Where in `others` the last string began.
    string: usize,
    place: Place,
    depth: u32,
    /// Is a string here the name of a field of the line, and is the next value the text?
    is_name: bool,
    text_is_next: bool,
    text: Shingler<Sampler>,
    escape: Escape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Between,
    String,
    /// Behind a backslash in a string.
    Escaped,
    Text,
}

impl Line {
    fn new(cut: Cut) -> Line {
        Line {
            others: Vec::new(),
            string: 0,
            place: Place::Between,
            depth: 0,
            is_name: false,
            text_is_next: false,
            text: Sampler::shingler(cut),
            escape: Escape::default(),
        }
    }

    fn take(&mut self, mut piece: &[u8]) -> Result<(), String> {
        while let Some((&byte, behind)) = piece.split_first() {
            if self.place == Place::Text {
                piece = self.take_text(piece)?;
                continue;
            }
            self.others.push(byte);
            match self.place {
                Place::Between => self.between(byte),
                Place::String if byte == b'\\' => self.place = Place::Escaped,
                Place::String if byte == b'"' => self.place = Place::Between,
                Place::Escaped => self.place = Place::String,
                Place::String | Place::Text => {}
            }
            if self.others.len() > LONGEST {
                return Err(format!("a line may have {LONGEST} bytes beside its text, got more"));
            }
            piece = behind;
        }
        Ok(())
    }

    /// A byte outside strings.
    fn between(&mut self, byte: u8) {
        match byte {
            b'"' if self.text_is_next => self.place = Place::Text,
            b'"' => (self.place, self.string) = (Place::String, self.others.len()),
            b'{' | b'[' => {
                self.depth += 1;
                self.is_name = self.depth == 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' => self.is_name = self.depth == 1,
            b':' if self.is_name => {
                let name = self.others[self.string..].split(|byte| *byte == b'"').next().unwrap_or_default();
                self.text_is_next = Row::TEXT.iter().any(|text| text.as_bytes() == name);
                self.is_name = false;
            }
            _ => {}
        }
        if !matches!(byte, b':' | b'"') && !byte.is_ascii_whitespace() {
            self.text_is_next = false;
        }
    }

    /// Takes in the text up to the next character that is not as it seems, and says what is left.
    fn take_text<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], String> {
        if self.escape.is_open() {
            let mut utf8 = [0; 4];
            if let Some(letter) = self.escape.take(piece[0])? {
                self.text.push(letter.encode_utf8(&mut utf8));
            }
            return Ok(&piece[1..]);
        }
        let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
        let (plain, rest) = piece.split_at(piece.iter().position(special).unwrap_or(piece.len()));
        if !plain.is_empty() {
            self.escape.must_be_whole()?;
        }
        self.text.push_bytes(plain);
        match rest.split_first() {
            None => Ok(rest),
            Some((b'\\', behind)) => {
                self.escape.begin();
                Ok(behind)
            }
            Some((b'"', behind)) => {
                self.escape.must_be_whole()?;
                self.others.push(b'"');
                (self.place, self.text_is_next) = (Place::Between, false);
                Ok(behind)
            }
            Some(_) => Err("control character in a string".to_owned()),
        }
    }

    fn finish(self) -> Result<Long, String> {
        let others = self.others.trim_ascii_end();
        // Columns would be those of what is left of the line.
        let plain = |why: String| match why.split_once(": ") {
            Some((column, why)) if column.starts_with("column ") => why.to_owned(),
            _ => why,
        };
        let row = Row::read(others).map_err(plain)?;
        Ok(Long { page: row.page, time: row.time, sample: self.text.finish().finish() })
    }
}

/// What follows a backslash in a string, as it comes.
#[derive(Default)]
struct Escape {
    /// Digits of a code still to come, and those that came.
    state: EscapeState,
    /// The first half of a pair of codes.
    high: Option<u16>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum EscapeState {
    #[default]
    None,
    Begun,
    Code {
        digits: u8,
        code: u16,
    },
}

impl Escape {
    fn is_open(&self) -> bool {
        self.state != EscapeState::None
    }

    fn begin(&mut self) {
        self.state = EscapeState::Begun;
    }

    fn must_be_whole(&self) -> Result<(), String> {
        if self.high.is_some() { Err("half of a surrogate pair".to_owned()) } else { Ok(()) }
    }

    /// The next byte; a character when it is complete.
    fn take(&mut self, byte: u8) -> Result<Option<char>, String> {
        let (digits, code) = match self.state {
            EscapeState::Code { digits, code } => (digits, code),
            _ if byte == b'u' => {
                self.state = EscapeState::Code { digits: 0, code: 0 };
                return Ok(None);
            }
            _ => {
                self.must_be_whole()?;
                self.state = EscapeState::None;
                return short(byte).map(Some);
            }
        };
        let digit = char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
        let code = code << 4 | digit.ok_or("invalid escape")?;
        self.state = EscapeState::Code { digits: digits + 1, code };
        if digits < 3 {
            return Ok(None);
        }
        self.state = EscapeState::None;
        if self.high.is_none() && (0xD800..0xDC00).contains(&code) {
            self.high = Some(code);
            return Ok(None);
        }
        let units = self.high.take().into_iter().chain([code]);
        match char::decode_utf16(units).next() {
            Some(Ok(letter)) => Ok(Some(letter)),
            _ => Err("half of a surrogate pair".to_owned()),
        }
    }
}

/// The character of an escape of one letter.
fn short(byte: u8) -> Result<char, String> {
    Ok(match byte {
        b'"' | b'\\' | b'/' => char::from(byte),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return Err("invalid escape".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(line: &str, piece: usize) -> Result<Long, String> {
        let bytes = line.as_bytes();
        let mut rest = std::io::BufReader::with_capacity(piece, &bytes[bytes.len().min(3)..]);
        read(&bytes[..bytes.len().min(3)], &mut rest, Cut::words(1).unwrap()).unwrap()
    }

    #[test]
    fn a_long_line_is_a_line() {
        for line in [
            r#"{"page": "a", "time": 5, "text": "Soup, \"salad\" and\nbr\u0065ad \\ \ud83c\udf5e caf\u00e9 \/ end"}"#,
            r#"{"x":"one two","p":7,"t":"2024-05-01","other":{"text":"no","list":["x",1]},"more":"text"}"#,
            r#" { "t" : 1 , "a\"b" : [ {"x":"y"} , "text" ] , "text" : "" , "page":"p" } "#,
        ] {
            let row = Row::read(line.trim().as_bytes()).unwrap();
            let whole = Sample::of(&row.text, Cut::words(1).unwrap());
            for piece in [1, 2, 3, 7, 1000] {
                let long = in_pieces(line, piece).unwrap();
                assert_eq!((long.page, long.time), (row.page.clone(), row.time));
                assert_eq!(long.sample.fragments, whole.fragments, "{line} by {piece}");
            }
        }
    }

    #[test]
    fn what_is_no_line_is_no_long_line() {
        for line in [
            r#"{"page":"a","time":5,"text":"no end"#,
            r#"{"page":"a","time":5,"text":"half \ud83c"}"#,
            r#"{"page":"a","time":5,"text":"half \ud83c more"}"#,
            r#"{"page":"a","time":5,"text":"half \udf5e"}"#,
            r#"{"page":"a","time":5,"text":"\q"}"#,
            r#"{"page":"a","time":5,"text":"\u00g0"}"#,
            "{\"page\":\"a\",\"time\":5,\"text\":\"a\tb\"}",
            r#"{"page":"a","time":5,"text":"a","text":"b"}"#,
            r#"{"page":"a","time":5,"text":7}"#,
            r#"{"page":"a","text":"b"}"#,
            "",
        ] {
            assert!(Row::read(line.as_bytes()).is_err(), "{line}");
            assert!(in_pieces(line, 2).is_err(), "{line}");
        }
    }
}
