//! On which line of a text a record stands.
//!
//! The CSV reader tells where a record starts, but before it has skipped what ends the record above: with CRLF, or after empty
//! lines, its own line numbers are too small.

/// How many lines end in a text: CR, LF or both.
pub(super) fn ends(text: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', text).count();
    let lone = memchr::memchr_iter(b'\r', text).filter(|&at| text.get(at + 1) != Some(&b'\n')).count();
    (feeds + lone) as u64
}

/// The line, counted from 0, of the first record at or after a byte.
pub(super) fn line_of(text: &[u8], byte: usize) -> u64 {
    let byte = byte.min(text.len());
    let above = text[byte..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    ends(&text[..byte + above])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, records: &[(usize, u64)]) {
        for (byte, line) in records {
            assert_eq!(line_of(text.as_bytes(), *byte) + 1, *line, "{text:?} byte {byte}");
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
