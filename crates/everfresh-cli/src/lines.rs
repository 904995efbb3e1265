//! On which line a byte of a stream stands.
//!
//! The CSV reader tells where a record starts, but before it has skipped what ends the record above: with CRLF, or after empty
//! lines, its own line numbers are too small. So the stream notes its newlines as it passes, and forgets those that are
//! behind the record being read.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;

/// The newlines that have passed and are not forgotten yet.
#[derive(Default)]
pub(crate) struct Lines {
    /// How many newlines have been forgotten.
    behind: u64,
    /// Where each newline (CR, LF or both) starts and ends.
    newlines: VecDeque<(u64, u64)>,
}

impl Lines {
    /// The line of the first record at or after a byte; asked in the order of the bytes.
    pub(crate) fn line_of(&mut self, byte: u64) -> u64 {
        let mut place = byte;
        while let Some(&(start, end)) = self.newlines.front() {
            if start > place {
                break;
            }
            // What starts here, or earlier, is above the record.
            place = place.max(end);
            self.newlines.pop_front();
            self.behind += 1;
        }
        self.behind + 1
    }
}

/// A stream that notes its newlines.
pub(crate) struct Noted {
    source: Box<dyn Read>,
    lines: Rc<RefCell<Lines>>,
    /// Bytes passed, and whether the last was a CR.
    passed: u64,
    after_cr: bool,
}

impl Noted {
    pub(crate) fn new(source: Box<dyn Read>) -> (Noted, Rc<RefCell<Lines>>) {
        let lines = Rc::default();
        (Noted { source, lines: Rc::clone(&lines), passed: 0, after_cr: false }, lines)
    }
}

impl Read for Noted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        let mut lines = self.lines.borrow_mut();
        for byte in &buffer[..n] {
            match (byte, lines.newlines.back_mut()) {
                // The second half of a CRLF; its first half may be forgotten already.
                (b'\n', Some((_, end))) if self.after_cr && *end == self.passed => *end += 1,
                (b'\n', _) if self.after_cr => {}
                (b'\n' | b'\r', _) => lines.newlines.push_back((self.passed, self.passed + 1)),
                _ => {}
            }
            self.after_cr = *byte == b'\r';
            self.passed += 1;
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &'static str, records: &[(u64, u64)]) {
        let (mut stream, lines) = Noted::new(Box::new(text.as_bytes()));
        io::copy(&mut stream, &mut io::sink()).unwrap();
        for (byte, line) in records {
            assert_eq!(lines.borrow_mut().line_of(*byte), *line, "{text:?} byte {byte}");
        }
    }

    #[test]
    fn records_are_on_their_lines_whatever_ends_them() {
        check("a\nb\nc\n", &[(0, 1), (2, 2), (4, 3)]);
        // The reader has taken the CR, not the LF.
        check("a\r\nb\r\nc\r\n", &[(0, 1), (2, 2), (5, 3)]);
        check("a\rb\rc\r", &[(0, 1), (2, 2), (4, 3)]);
        check("a\n\n\nb\n", &[(0, 1), (2, 4)]);
        check("a\r\n\r\n\r\nb\r\n", &[(0, 1), (2, 4)]);
        // A quoted newline belongs to the record that starts above it.
        check("\"a\nb\",1\nc,2\n", &[(0, 1), (8, 3)]);
    }
}
