use super::Kind;
use flate2::read::MultiGzDecoder;
use std::borrow::Cow;
use std::io::Read;

/// The most bytes that a packed file is unpacked to: what the protocol of sitemaps allows.
const MOST_UNPACKED: u64 = 50 << 20;

/// A feed or sitemap that was packed as a file (`sitemap.xml.gz`) unpacked; anything else as it is.
pub(super) fn unpack(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.starts_with(&[0x1F, 0x8B, 8]) {
        return Cow::Borrowed(bytes);
    }
    let mut start = Vec::new();
    let mut stream = MultiGzDecoder::new(bytes).take(MOST_UNPACKED);
    // What broke off is as good as what came before.
    let _cut = stream.by_ref().take(4096).read_to_end(&mut start);
    if xml_kind(&String::from_utf8_lossy(&start)).is_none() {
        return Cow::Borrowed(bytes);
    }
    let _cut = stream.read_to_end(&mut start);
    Cow::Owned(start)
}

/// What the bytes are, by the type that the source gives and by how they begin.
pub(super) fn of(bytes: &[u8], text: &str, content_type: Option<&str>) -> Kind {
    let named =
        content_type.map_or("", |named| named.split(';').next().unwrap_or_default()).trim().to_ascii_lowercase();
    match named.as_str() {
        "application/rss+xml" | "application/atom+xml" | "application/rdf+xml" => xml_kind(text).unwrap_or(Kind::Feed),
        "application/feed+json" => Kind::Feed,
        "text/html" | "application/xhtml+xml" => xml_kind(text).unwrap_or(Kind::Html),
        name if name == "text/json" || name == "application/json" || name.ends_with("+json") => json_kind(text),
        name if is_binary(name) => Kind::Other,
        "text/css" | "text/csv" | "text/javascript" | "application/javascript" | "text/markdown" => Kind::Text,
        _ => sniffed(bytes, text),
    }
}

/// Types whose bytes are no text, whatever they look like.
fn is_binary(name: &str) -> bool {
    let is_svg = name == "image/svg+xml";
    ["image/", "audio/", "video/", "font/"].iter().any(|start| name.starts_with(start)) && !is_svg
        || ["application/pdf", "application/zip", "application/wasm"].contains(&name)
}

/// By the first bytes alone.
fn sniffed(bytes: &[u8], text: &str) -> Kind {
    if let Some(kind) = xml_kind(text) {
        return kind;
    }
    match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => json_kind(text),
        _ if is_text(bytes, text) => Kind::Text,
        _ => Kind::Other,
    }
}

/// A feed in JSON says so near its beginning.
fn json_kind(text: &str) -> Kind {
    let start: String = text.chars().take(512).collect();
    if start.contains("jsonfeed.org/version") { Kind::Feed } else { Kind::Json }
}

/// No control characters but white space, and hardly anything that is no character.
fn is_text(bytes: &[u8], text: &str) -> bool {
    let start = || text.chars().take(4096);
    let control = |c: char| c.is_control() && !c.is_whitespace() && c != '\u{1B}';
    let wrong = start().filter(|c| *c == '\u{FFFD}').count();
    !bytes.is_empty() && !start().any(control) && wrong * 100 <= start().count()
}

/// The kind of a text in angle brackets by its first element; nothing if it has none that is known.
fn xml_kind(text: &str) -> Option<Kind> {
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}');
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->")?.1;
        } else if rest.starts_with("<?") {
            rest = rest.split_once('>')?.1;
        } else if let Some(doctype) = rest.strip_prefix("<!") {
            let (doctype, behind) = doctype.split_once('>')?;
            if doctype.to_ascii_lowercase().trim_start_matches("doctype").trim_start().starts_with("html") {
                return Some(Kind::Html);
            }
            rest = behind;
        } else {
            break;
        }
    }
    let name = rest.strip_prefix('<')?;
    let end = name.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?;
    let name = name.get(..end.min(64))?.to_ascii_lowercase();
    match name.rsplit(':').next()? {
        "urlset" | "sitemapindex" => Some(Kind::Sitemap),
        "rss" | "feed" | "rdf" => Some(Kind::Feed),
        "html" | "head" | "body" | "title" | "meta" | "div" | "p" | "script" | "main" | "h1" | "table" | "a" => {
            Some(Kind::Html)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_type_and_by_look() {
        let of = |text: &str, named: Option<&str>| super::of(text.as_bytes(), text, named);
        assert_eq!(of("anything", Some("text/html; charset=utf-8")), Kind::Html);
        assert_eq!(of("<?xml version='1.0'?><rss version='2.0'>", Some("text/html")), Kind::Feed);
        assert_eq!(of("<?xml?><!-- x --><urlset xmlns='a'>", Some("application/xml")), Kind::Sitemap);
        assert_eq!(of("<rdf:RDF>", None), Kind::Feed);
        assert_eq!(of("\n<!DOCTYPE html><p>", None), Kind::Html);
        assert_eq!(of("{\"a\":1}", Some("text/plain")), Kind::Json);
        assert_eq!(of("{\"version\": \"https://jsonfeed.org/version/1\"}", Some("application/json")), Kind::Feed);
        assert_eq!(of("a,b\n1,2\n", Some("application/octet-stream")), Kind::Text);
        assert_eq!(of("\0\u{1}PNG", None), Kind::Other);
        assert_eq!(of("%PDF", Some("application/pdf")), Kind::Other);
        assert_eq!(of("", None), Kind::Other);
        assert_eq!(of("<", None), Kind::Text);
    }
}
