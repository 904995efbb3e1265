use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use std::borrow::Cow;

/// How many bytes of a page are searched for what it says of itself (WHATWG HTML section 13.2.3.2).
const SEARCHED: usize = 1024;
/// How many bytes are looked at to guess.
const GUESSED: usize = 1 << 16;

/// The text of the bytes and the name of the character set: by byte order mark, else by the source's header, else by what
/// the bytes say of themselves, else UTF-8 if they are, else by a guess.
///
/// What is no character in that set becomes U+FFFD.
pub(super) fn decode<'b>(bytes: &'b [u8], content_type: Option<&str>) -> (Cow<'b, str>, &'static str) {
    let labelled = || content_type.and_then(label_in).and_then(encoding);
    let said = || declared(bytes).and_then(encoding).map(|found| if is_wide(found) { UTF_8 } else { found });
    let marked = Encoding::for_bom(bytes).map(|(found, _)| found);
    let found = marked.or_else(labelled).or_else(said);
    // Most bytes are UTF-8 whatever is said of them, and hardly any others are by chance, unless they are plain ASCII.
    if marked.is_none_or(|found| found == UTF_8)
        && found.is_none_or(|found| found == UTF_8 || !is_wide(found) && has_wide_character(bytes))
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return (Cow::Borrowed(text.trim_start_matches('\u{FEFF}')), UTF_8.name());
    }
    let found = found.unwrap_or_else(|| guess(bytes));
    let (text, used, _) = found.decode(bytes);
    (text, used.name())
}

/// Is there a byte that is not ASCII?
fn has_wide_character(bytes: &[u8]) -> bool {
    !bytes.is_ascii()
}

/// UTF-16 cannot be what bytes say of themselves in ASCII.
fn is_wide(found: &'static Encoding) -> bool {
    found == encoding_rs::UTF_16LE || found == encoding_rs::UTF_16BE
}

fn encoding(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes())
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[..bytes.len().min(GUESSED)], true);
    detector.guess(None, Utf8Detection::Allow)
}

/// The value of `charset` in a content type.
fn label_in(content_type: &str) -> Option<&str> {
    let at = content_type.to_ascii_lowercase().find("charset")?;
    value(&content_type[at + "charset".len()..])
}

/// What follows a name: an equals sign and a value, in quotation marks or not.
fn value(rest: &str) -> Option<&str> {
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quoted = rest.starts_with(['"', '\'']);
    let rest = rest.trim_start_matches(['"', '\'']);
    let end = rest.find(|c: char| matches!(c, '"' | '\'' | '>' | ';') || (!quoted && (c.is_whitespace() || c == '/')));
    Some(rest[..end.unwrap_or(rest.len())].trim()).filter(|value| !value.is_empty())
}

/// What the first bytes say: `<?xml encoding="...">`, `<meta charset=...>` or the same in its content.
fn declared(bytes: &[u8]) -> Option<&str> {
    let start = &bytes[..bytes.len().min(SEARCHED)];
    // Only ASCII counts here, and a declaration ends before whatever is not.
    let valid = start.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let start = if valid.len() < start.len() { ascii_part(start) } else { valid };
    if let Some(declaration) = start.trim_start().strip_prefix("<?xml") {
        let declaration = declaration.split("?>").next()?;
        return value(&declaration[declaration.find("encoding")? + "encoding".len()..]);
    }
    let lower = start.to_ascii_lowercase();
    lower.match_indices("<meta").find_map(|(at, _)| {
        let end = lower[at..].find('>').map_or(lower.len(), |end| at + end + 1);
        let found = lower[at..end].find("charset")?;
        value(&start[at + found + "charset".len()..end])
    })
}

/// The bytes up to the last declaration that is all ASCII.
fn ascii_part(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(bytes.len());
    let mut best = std::str::from_utf8(&bytes[..end]).unwrap_or("");
    // A title in another script may stand before the declaration: look at each later run of ASCII too.
    for run in bytes.split(|byte| !byte.is_ascii()) {
        if let Ok(text) = std::str::from_utf8(run)
            && text.to_ascii_lowercase().contains("charset")
        {
            best = text;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], content_type: Option<&str>, expected: (&str, &str)) {
        let (text, name) = decode(bytes, content_type);
        assert_eq!((text.as_ref(), name), expected);
    }

    #[test]
    fn the_mark_comes_before_the_header_and_the_header_before_the_page() {
        check(b"\xEF\xBB\xBFcaf\xC3\xA9", Some("text/html; charset=latin1"), ("café", "UTF-8"));
        check(b"\xFF\xFEa\0\xE9\0", Some("text/html; charset=utf-8"), ("aé", "UTF-16LE"));
        check(b"caf\xE9", Some("text/plain; Charset=\"iso-8859-1\""), ("café", "windows-1252"));
        let page = b"<meta charset=windows-1251>\xCF\xF0\xE8";
        check(page, Some("text/html; charset=koi8-r"), ("<meta charset=windows-1251>оПХ", "KOI8-R"));
        check(page, Some("text/html"), ("<meta charset=windows-1251>При", "windows-1251"));
        check(page, Some("text/html; charset=nonsense"), ("<meta charset=windows-1251>При", "windows-1251"));
    }

    #[test]
    fn pages_and_xml_say_what_they_are() {
        let page = b"<title>\xCF\xF0\xE8</title><META http-equiv=Content-Type content='text/html; charset=cp1251'>";
        assert_eq!(decode(page, None).1, "windows-1251");
        check(
            b"<?xml version='1.0' encoding='ISO-8859-2'?>\xE1",
            None,
            ("<?xml version='1.0' encoding='ISO-8859-2'?>á", "ISO-8859-2"),
        );
        // A page that names UTF-16 in ASCII is not in UTF-16.
        check(b"<meta charset=utf-16>a", None, ("<meta charset=utf-16>a", "UTF-8"));
    }

    #[test]
    fn wrong_labels_are_seen_through() {
        check("naïve – ‘quoted’".as_bytes(), Some("text/html; charset=iso-8859-1"), ("naïve – ‘quoted’", "UTF-8"));
        check(b"caf\xE9", Some("text/html; charset=utf-8"), ("caf\u{FFFD}", "UTF-8"));
        check(b"", None, ("", "UTF-8"));
    }

    #[test]
    fn what_nobody_says_is_guessed() {
        let text = "Съешь же ещё этих мягких французских булок да выпей чаю. ".repeat(4);
        let (bytes, ..) = encoding_rs::WINDOWS_1251.encode(&text);
        check(&bytes, None, (&text, "windows-1251"));
        let text = "いろはにほへと ちりぬるを わかよたれそ つねならむ".repeat(4);
        let (bytes, ..) = encoding_rs::SHIFT_JIS.encode(&text);
        check(&bytes, None, (&text, "Shift_JIS"));
    }
}
