use super::{Hint, HintFrom, MOST_HINTS, Rules, Said, html};
use feed_rs::model::{Entry, Feed};
use feed_rs::parser::Builder;

/// How deep a feed may be nested: its parser calls itself for every level.
const DEEPEST: usize = 200;

/// The entries of a feed (RSS, Atom, JSON Feed): titles and contents as lines, addresses and dates as hints.
///
/// The dates are not part of the text: many feeds give the time of the visit. Nothing for what is no feed.
pub(super) fn read(text: &str, rules: &Rules) -> Option<Said> {
    if deeper_than(text, DEEPEST) {
        return None;
    }
    let parser = Builder::new().id_generator(|_, _, _| String::new()).build();
    let feed = parser.parse(text.as_bytes()).ok()?;
    let mut lines = Vec::new();
    lines.extend(feed.title.as_ref().map(|title| html::read(&title.content, &Rules::default()).text));
    for entry in &feed.entries {
        lines.extend(entry_lines(entry, rules));
    }
    lines.retain(|line| !line.is_empty());
    let title = feed.title.as_ref().map(|title| title.content.clone());
    Some(Said { text: lines.join("\n"), title, hints: hints(&feed), forbids_archiving: false })
}

/// The title and the fullest text of an entry; either may have markup in it.
fn entry_lines(entry: &Entry, rules: &Rules) -> [String; 2] {
    let title = entry.title.as_ref().map(|title| html::read(&title.content, &Rules::default()).text);
    let body = entry.content.as_ref().and_then(|content| content.body.as_deref());
    let body = body.or(entry.summary.as_ref().map(|summary| summary.content.as_str()));
    [title.unwrap_or_default(), body.map(|body| html::read(body, rules).text).unwrap_or_default()]
}

fn hints(feed: &Feed) -> Vec<Hint> {
    let hint = |entry: &Entry| {
        // Where a link says nothing of its kind, it is that of the page.
        let page = |link: &&feed_rs::model::Link| link.rel.as_deref().is_none_or(|kind| kind == "alternate");
        let link = entry.links.iter().find(page).or(entry.links.first())?;
        let changed_at = entry.updated.or(entry.published).map(|date| date.timestamp());
        Some(Hint { address: link.href.clone(), changed_at, from: HintFrom::Feed, period_s: None, priority: None })
    };
    feed.entries.iter().filter_map(hint).take(MOST_HINTS).collect()
}

/// Does a text open more elements, or brackets, than that without closing them? Comments and strings may count too much.
fn deeper_than(text: &str, most: usize) -> bool {
    let mut depth = 0_usize;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match (byte, bytes.get(at + 1)) {
            (b'<', Some(b'/')) | (b'/', Some(b'>')) => depth = depth.saturating_sub(1),
            (b'<', Some(next)) if next.is_ascii_alphabetic() => depth += 1,
            _ => {}
        }
        if depth > most {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_lines_and_hints() {
        let said = read(
            "<rss version='2.0'><channel><title>News</title><lastBuildDate>Mon, 05 Jan 1970 00:00:00 GMT</lastBuildDate>\
             <item><title>Soup &amp;amp; bread</title><link>http://a.b/1</link><pubDate>Fri, 02 Jan 1970 00:00:00 GMT</pubDate>\
             <description>&lt;p&gt;Hot&lt;/p&gt;&lt;p&gt;cheap&lt;/p&gt;</description></item></channel></rss>",
            &Rules::default(),
        )
        .unwrap();
        assert_eq!(said.text, "News\nSoup & bread\nHot\ncheap");
        assert_eq!((said.hints[0].address.as_str(), said.hints[0].changed_at), ("http://a.b/1", Some(86_400)));
    }

    #[test]
    fn atom_and_json_are_feeds_too() {
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title><id>x</id><entry><id>y</id><title>E</title>\
             <link rel='self' href='http://a.b/self'/><link href='http://a.b/e'/><published>1970-01-01T00:00:07Z</published>\
             <content type='html'>&lt;b&gt;C&lt;/b&gt;</content></entry></feed>";
        let said = read(atom, &Rules::default()).unwrap();
        assert_eq!((said.text.as_str(), said.hints[0].address.as_str()), ("T\nE\nC", "http://a.b/e"));
        assert_eq!(said.hints[0].changed_at, Some(7));
        let json = "{\"version\":\"https://jsonfeed.org/version/1\",\"title\":\"T\",\"items\":[{\"id\":\"1\",\"url\":\"http://a.b/j\",\
             \"content_text\":\"C\",\"date_published\":\"1970-01-01T00:00:09Z\"}]}";
        let said = read(json, &Rules::default()).unwrap();
        assert_eq!((said.text.as_str(), said.hints[0].changed_at), ("T\nC", Some(9)));
        assert!(read("<html></html>", &Rules::default()).is_none());
    }
}
