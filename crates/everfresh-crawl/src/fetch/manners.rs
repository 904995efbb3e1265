use super::limits::Limits;
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use std::time::{Duration, SystemTime};

/// What a host asks of its visitors. The scheduler keeps the gaps; this is what it must know for that.
#[derive(Clone, Debug, PartialEq)]
pub struct Manners {
    /// The host as [`Address::host`](super::Address::host) names it. With redirects it need not be the page's own.
    pub host: String,
    /// The gap between two visits that its robots.txt asks for, at most [`Limits::crawl_delay`].
    pub crawl_delay: Option<Duration>,
    /// The longer gap that it asked for before it was read anew.
    pub earlier_delay: Option<Duration>,
    /// Until when it wants to be left alone (Retry-After), at most [`Limits::retry_after`] ahead.
    pub blocked_until: Option<Timestamp>,
    /// It said that we are too fast, or that it has too much to do (429, 503), with or without a date.
    pub slow_down: bool,
}

impl Manners {
    pub(crate) fn of(host: String) -> Manners {
        Manners { host, crawl_delay: None, earlier_delay: None, blocked_until: None, slow_down: false }
    }

    pub(crate) fn says_nothing(&self) -> bool {
        self.crawl_delay.or(self.earlier_delay).is_none() && self.blocked_until.is_none() && !self.slow_down
    }

    /// Notes what a response asks for.
    pub(crate) fn note(&mut self, status: StatusCode, headers: &HeaderMap, date: Timestamp, limits: &Limits) {
        let busy = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        self.slow_down |= busy;
        if busy || status.is_server_error() {
            self.blocked_until = self.blocked_until.max(retry_after(headers, date, limits.retry_after));
        }
    }
}

/// Until when a response asks to be left alone: seconds or an HTTP date (RFC 9110 section 10.2.3), if in the future.
pub(crate) fn retry_after(headers: &HeaderMap, date: Timestamp, longest: Duration) -> Option<Timestamp> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let latest = date.checked_add(longest).unwrap_or(Timestamp::MAX);
    let until = if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        // More digits than a number holds is as far ahead as any.
        let seconds = text.parse().map_or(longest, Duration::from_secs);
        date.checked_add(seconds.min(longest)).unwrap_or(latest)
    } else {
        http_date(text)?
    };
    (until > date).then(|| until.min(latest))
}

/// A date in any of the three forms of HTTP (RFC 9110 section 5.6.7).
pub(crate) fn http_date(text: &str) -> Option<Timestamp> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Timestamp::from_second(i64::try_from(since.as_secs()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> Option<i64> {
        let headers = HeaderMap::from_iter([(header::RETRY_AFTER, text.parse().unwrap())]);
        let date = Timestamp::from_second(784_111_777).unwrap();
        retry_after(&headers, date, Duration::from_hours(1)).map(|until| until.as_second() - date.as_second())
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_believed_up_to_a_limit() {
        for (text, expected) in [
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("0", None),
            ("86400", Some(3600)),
            ("99999999999999999999999999", Some(3600)),
            ("Sun, 06 Nov 1994 08:59:37 GMT", Some(600)),
            ("Sunday, 06-Nov-94 08:59:37 GMT", Some(600)),
            ("Sun Nov  6 08:59:37 1994", Some(600)),
            ("Sat, 06 Nov 2094 08:59:37 GMT", Some(3600)),
            ("Sun, 06 Nov 1994 08:49:36 GMT", None),
            ("-5", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(after(text), expected, "{text}");
        }
    }

    #[test]
    fn only_the_busy_are_slow_and_only_faults_block() {
        let headers = HeaderMap::from_iter([(header::RETRY_AFTER, "5".parse().unwrap())]);
        let noted = |status: u16| {
            let mut manners = Manners::of("h".into());
            let status = StatusCode::from_u16(status).unwrap();
            manners.note(status, &headers, Timestamp::UNIX_EPOCH, &Limits::default());
            (manners.slow_down, manners.blocked_until.is_some())
        };
        assert_eq!(noted(429), (true, true));
        assert_eq!(noted(503), (true, true));
        assert_eq!(noted(500), (false, true));
        assert_eq!(noted(301), (false, false));
        assert_eq!(noted(200), (false, false));
    }
}
