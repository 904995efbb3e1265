use super::manners::http_date;
use super::visit::{Hints, Validators};
use crate::content::forbids_archiving;
use http::{HeaderMap, HeaderName, header};
use jiff::Timestamp;
use std::time::Duration;

/// Longer validators than this are not remembered: they are kept for every page.
const LONGEST_VALIDATOR: usize = 512;

impl Hints {
    /// What the head of a response from `address` says; `agent` is our product token in lower case.
    pub(crate) fn of(headers: &HeaderMap, address: &str, date: Timestamp, agent: &str) -> Hints {
        Hints {
            validators: validators(headers, address),
            last_modified: dated(headers, &header::LAST_MODIFIED),
            fresh_for: fresh_for(headers, date),
            no_archive: no_archive(headers, agent),
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn dated(headers: &HeaderMap, name: &HeaderName) -> Option<Timestamp> {
    text(headers, name).and_then(http_date)
}

fn validators(headers: &HeaderMap, address: &str) -> Option<Validators> {
    let short = |name| text(headers, name).filter(|text| !text.is_empty() && text.len() <= LONGEST_VALIDATOR);
    let etag = short(&header::ETAG).map(str::to_owned);
    let last_modified = short(&header::LAST_MODIFIED).filter(|text| http_date(text).is_some()).map(str::to_owned);
    let any = etag.is_some() || last_modified.is_some();
    any.then(|| Validators { address: address.to_owned(), etag, last_modified })
}

/// How long a response says it is fresh (RFC 9111 section 4.2.1, for a private cache).
fn fresh_for(headers: &HeaderMap, date: Timestamp) -> Option<Duration> {
    let directives = || {
        let values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).map(|directive| directive.trim().to_ascii_lowercase())
    };
    if directives().any(|directive| directive == "no-cache" || directive == "no-store") {
        return None;
    }
    let seconds = |text: &str| text.trim_matches('"').parse().ok().map(Duration::from_secs);
    if let Some(max_age) = directives().find_map(|directive| seconds(directive.strip_prefix("max-age=")?)) {
        let spent = text(headers, &header::AGE).and_then(seconds).unwrap_or_default();
        return Some(max_age.saturating_sub(spent));
    }
    let sent = dated(headers, &header::DATE).unwrap_or(date);
    let expires = dated(headers, &header::EXPIRES)?;
    Duration::try_from(expires.duration_since(sent)).ok()
}

/// Does an X-Robots-Tag forbid keeping? A value may begin with the name of the agent that it is meant for.
fn no_archive(headers: &HeaderMap, agent: &str) -> bool {
    let values = headers.get_all("x-robots-tag").iter().filter_map(|value| value.to_str().ok());
    values.into_iter().any(|value| forbids_archiving(value, agent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(lines: &[(&str, &str)]) -> Hints {
        let parsed = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        let mut headers = HeaderMap::new();
        for (name, value) in lines.iter().map(parsed) {
            headers.append(name, value);
        }
        Hints::of(&headers, "http://a/", Timestamp::from_second(784_111_777).unwrap(), "everfresh")
    }

    #[test]
    fn freshness_is_max_age_less_age_or_else_expires() {
        let seconds = |lines: &[(&str, &str)]| hints(lines).fresh_for.map(|fresh| fresh.as_secs());
        let expires = ("expires", "Sun, 06 Nov 1994 08:59:37 GMT");
        assert_eq!(seconds(&[("cache-control", "public, Max-Age=60")]), Some(60));
        assert_eq!(seconds(&[("cache-control", "max-age=60"), ("age", "50")]), Some(10));
        assert_eq!(seconds(&[("cache-control", "max-age=60"), ("age", "500")]), Some(0));
        assert_eq!(seconds(&[("cache-control", "max-age=60"), expires]), Some(60));
        assert_eq!(seconds(&[("cache-control", "no-cache, max-age=60"), expires]), None);
        assert_eq!(seconds(&[expires]), Some(600));
        assert_eq!(seconds(&[expires, ("date", "Sun, 06 Nov 1994 08:58:37 GMT")]), Some(60));
        assert_eq!(seconds(&[("expires", "0")]), None);
        assert_eq!(seconds(&[("cache-control", "max-age=many")]), None);
    }

    #[test]
    fn noarchive_counts_when_it_is_meant_for_us() {
        let forbidden = |value: &str| hints(&[("x-robots-tag", value)]).no_archive;
        for value in [
            "noarchive",
            "nofollow, NoArchive",
            "none",
            "everfresh: noarchive",
            "otherbot: none, everfresh: none",
            "unavailable_after: 25 Jun 2030 15:00:00 PST, noarchive",
        ] {
            assert!(forbidden(value), "{value}");
        }
        for value in ["noindex", "otherbot: noarchive", "otherbot: nofollow, noarchive", "all", ""] {
            assert!(!forbidden(value), "{value}");
        }
        assert!(hints(&[("x-robots-tag", "otherbot: none"), ("x-robots-tag", "noarchive")]).no_archive);
    }

    #[test]
    fn validators_are_kept_as_written_unless_they_are_useless() {
        let found = hints(&[("etag", "W/\"a\""), ("last-modified", "yesterday")]);
        let expected = Validators { address: "http://a/".into(), etag: Some("W/\"a\"".into()), last_modified: None };
        assert_eq!(found.validators, Some(expected));
        assert_eq!(hints(&[("etag", &"x".repeat(LONGEST_VALIDATOR + 1))]).validators, None);
        assert_eq!(hints(&[]).validators, None);
        let dated = hints(&[("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")]);
        assert_eq!(dated.last_modified.map(Timestamp::as_second), Some(784_111_777));
    }
}
