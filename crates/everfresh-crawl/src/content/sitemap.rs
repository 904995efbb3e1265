use super::{Hint, HintFrom, MOST_HINTS, Said};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use quick_xml::events::Event;
use quick_xml::reader::Reader;

/// The addresses of a sitemap or an index of sitemaps (protocol 0.9), a line each with its date.
///
/// Nothing if it names no address. What is broken ends the list, and what came before it counts.
pub(super) fn read(text: &str) -> Option<Said> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let mut list = List::default();
    while list.hints.len() < MOST_HINTS {
        match reader.read_event() {
            Ok(Event::Start(tag)) => list.start(tag.local_name().as_ref()),
            Ok(Event::End(tag)) => list.end(tag.local_name().as_ref()),
            Ok(Event::Text(piece)) => list.value.push_str(&piece.xml10_content()),
            Ok(Event::CData(piece)) => list.value.push_str(&piece.xml10_content()),
            Ok(Event::GeneralRef(entity)) => list.value.extend(character(&entity)),
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let lines =
        list.hints.iter().zip(&list.dates).map(|(hint, date)| format!("{} {date}", hint.address).trim_end().to_owned());
    let text = lines.collect::<Vec<_>>().join("\n");
    (!list.hints.is_empty()).then(|| Said { text, hints: list.hints, ..Said::default() })
}

/// The character that an entity stands for.
fn character(entity: &quick_xml::events::BytesRef<'_>) -> Option<char> {
    if let Ok(Some(found)) = entity.resolve_char_ref() {
        return Some(found);
    }
    let name: &str = entity;
    quick_xml::escape::resolve_predefined_entity(name).and_then(|found| found.chars().next())
}

#[derive(Debug, Default)]
struct List {
    value: String,
    from_index: bool,
    /// Nothing outside of an entry.
    entry: Option<Entry>,
    hints: Vec<Hint>,
    /// As written.
    dates: Vec<String>,
}

#[derive(Debug, Default)]
struct Entry {
    address: String,
    date: String,
    period_s: Option<u32>,
    priority: Option<f64>,
}

impl List {
    fn start(&mut self, name: &str) {
        self.value.clear();
        if matches!(name, "url" | "sitemap") {
            self.from_index = name == "sitemap";
            self.entry = Some(Entry::default());
        }
    }

    fn end(&mut self, name: &str) {
        let value = std::mem::take(&mut self.value);
        let value = value.trim();
        if matches!(name, "url" | "sitemap") {
            self.close();
            return;
        }
        let Some(entry) = &mut self.entry else { return };
        match name {
            // Images and videos in an entry have addresses too; the page's comes first.
            "loc" if entry.address.is_empty() => value.clone_into(&mut entry.address),
            "lastmod" => value.clone_into(&mut entry.date),
            "changefreq" => entry.period_s = period_s(value),
            "priority" => entry.priority = value.parse().ok().filter(|priority| (0.0..=1.0).contains(priority)),
            _ => {}
        }
    }

    fn close(&mut self) {
        let Some(entry) = self.entry.take().filter(|entry| !entry.address.is_empty()) else { return };
        let from = if self.from_index { HintFrom::SitemapIndex } else { HintFrom::Sitemap };
        let changed_at = seconds(&entry.date);
        let Entry { address, date, period_s, priority } = entry;
        self.hints.push(Hint { address, changed_at, from, period_s, priority });
        self.dates.push(date);
    }
}

fn period_s(name: &str) -> Option<u32> {
    const DAY: u32 = 86_400;
    Some(match name.to_ascii_lowercase().as_str() {
        "always" => 0,
        "hourly" => 3600,
        "daily" => DAY,
        "weekly" => 7 * DAY,
        "monthly" => 30 * DAY,
        "yearly" => 365 * DAY,
        _ => return None,
    })
}

/// Seconds since the epoch from a date in the W3C's profile of ISO 8601: a year, a month, a day or a time.
pub(super) fn seconds(date: &str) -> Option<i64> {
    let date = date.trim();
    if let Ok(time) = date.parse::<Timestamp>() {
        return Some(time.as_second());
    }
    let padded = match date.len() {
        4 => format!("{date}-01-01"),
        7 => format!("{date}-01"),
        _ => date.to_owned(),
    };
    let civil = padded.parse::<Date>().map(|day| day.to_datetime(jiff::civil::Time::midnight()));
    let civil = padded.parse::<DateTime>().or(civil).ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_the_protocol_allows() {
        for (date, expected) in [
            ("1970", Some(0)),
            ("1970-02", Some(31 * 86_400)),
            ("1970-01-02", Some(86_400)),
            ("1970-01-01T01:00+01:00", Some(0)),
            ("1970-01-01T00:00:05Z", Some(5)),
            ("1970-01-01T00:00:05.75-00:30", Some(1805)),
            ("1970-01-01T00:01:00", Some(60)),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(seconds(date), expected, "{date}");
        }
    }

    #[test]
    fn a_sitemap_is_a_list_of_hints() {
        let said = read(
            "<?xml version='1.0'?><s:urlset xmlns:s='x' xmlns:i='y'><s:url><s:loc> http://a.b/?x=1&amp;y=2 </s:loc>\
             <s:lastmod>1970-01-02</s:lastmod><s:changefreq>Weekly</s:changefreq><s:priority>0.8</s:priority>\
             <i:image><i:loc>http://a.b/i.png</i:loc></i:image></s:url>\
             <s:url><s:loc><![CDATA[http://a.b/c]]></s:loc><s:priority>7</s:priority></s:url><s:url><s:loc>cut",
        )
        .unwrap();
        assert_eq!(said.text, "http://a.b/?x=1&y=2 1970-01-02\nhttp://a.b/c");
        assert_eq!(
            said.hints[0],
            Hint {
                address: "http://a.b/?x=1&y=2".to_owned(),
                changed_at: Some(86_400),
                from: HintFrom::Sitemap,
                period_s: Some(604_800),
                priority: Some(0.8)
            }
        );
        assert_eq!((said.hints.len(), said.hints[1].priority), (2, None));
    }

    #[test]
    fn an_index_names_sitemaps() {
        let said = read("<sitemapindex><sitemap><loc>http://a.b/1.xml.gz</loc></sitemap></sitemapindex>").unwrap();
        assert_eq!((said.hints[0].from, said.hints[0].changed_at), (HintFrom::SitemapIndex, None));
        assert!(read("<urlset></urlset>").is_none());
    }
}
