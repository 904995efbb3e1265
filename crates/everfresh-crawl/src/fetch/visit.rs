use super::address::Address;
use super::manners::Manners;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;
use url::Url;

/// What is asked of a source.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Where to look.
    pub address: Address,
    /// The date of the visit: what WARC records and caches are dated by.
    pub date: Timestamp,
    /// What the copy came with, if there is a copy.
    pub remembered: Option<Validators>,
    /// Was nothing there the last time? Then the web is asked for the head alone (HEAD), and for the body only if there
    /// is something again. Elsewhere HEAD saves nothing: an unchanged page costs a 304 without a body, a changed one is wanted.
    pub was_gone: bool,
}

impl Ask {
    /// Asks for a page of which nothing is known.
    pub fn new(address: Address, date: Timestamp) -> Ask {
        Ask { address, date, remembered: None, was_gone: false }
    }

    /// Asks whether anything is different from what came with these.
    #[must_use]
    pub fn remembering(mut self, validators: Validators) -> Ask {
        self.remembered = Some(validators);
        self
    }

    /// Asks whether a page that was gone is back.
    #[must_use]
    pub fn probing(mut self) -> Ask {
        self.was_gone = true;
        self
    }
}

/// What a source gave with its content so that it can be asked "anything else since?" (RFC 9110 section 8.8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// The address that gave them, after redirects: another one's 304 would mean nothing.
    pub address: String,
    /// The entity tag as it was written, with its quotation marks.
    pub etag: Option<String>,
    /// The date of the last change as it was written.
    pub last_modified: Option<String>,
}

/// What the source says of itself; the scheduler may believe it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// To be remembered for the next visit, if there is anything to remember.
    pub validators: Option<Validators>,
    /// When it says that it changed last.
    pub last_modified: Option<Timestamp>,
    /// For how long it says that it will not change: Cache-Control's max-age less Age, or else Expires less the date.
    pub fresh_for: Option<Duration>,
    /// It asks not to be kept (X-Robots-Tag: noarchive or none, for everybody or for us).
    pub no_archive: bool,
}

/// What came of going to look.
#[derive(Clone, Debug)]
pub struct Visit {
    /// What was found.
    pub outcome: Outcome,
    /// The redirects that were followed, in order.
    pub redirects: Vec<Redirect>,
    /// What the hosts that were met ask of us; empty where they ask nothing.
    pub manners: Vec<Manners>,
    /// Requests that were sent, those for robots.txt not counted.
    pub requests: u32,
    /// Bytes of bodies that came over the wire, before decoding.
    pub wire_bytes: u64,
}

/// The classes of what is found; see [`everfresh`'s vocabulary](crate) for "gone" and "failed".
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Content came. Whether it differs from the copy is for [`content`](crate::content) to say.
    Fetched(Fetched),
    /// The source says that nothing is different.
    NotModified(NotModified),
    /// Nothing is there: 404 or 410, or no such file.
    Gone(Gone),
    /// Nothing could be seen.
    Failed(Failure),
}

/// Content.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Where it was found, after redirects.
    pub address: String,
    /// Its media type as the source gave it.
    pub content_type: Option<String>,
    /// The bytes, decoded.
    pub body: Bytes,
    /// What the source says of itself.
    pub hints: Hints,
    /// What went over the wire, if it was HTTP.
    pub exchange: Option<Exchange>,
}

/// The content of the copy.
#[derive(Clone, Debug)]
pub struct NotModified {
    /// Where that was said, after redirects.
    pub address: String,
    /// What the source says of itself; validators are those of the answer or else those remembered.
    pub hints: Hints,
    /// What went over the wire, if it was HTTP.
    pub exchange: Option<Exchange>,
}

/// Nothing there.
#[derive(Clone, Debug)]
pub struct Gone {
    /// Where nothing is, after redirects.
    pub address: String,
    /// Did the source say that this is for good (410)?
    pub for_good: bool,
    /// What went over the wire, if it was HTTP.
    pub exchange: Option<Exchange>,
}

/// Why nothing could be seen.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The class of the reason.
    pub reason: Reason,
    /// The reason in words, for people.
    pub message: String,
    /// What went over the wire, if an HTTP head came back.
    pub exchange: Option<Box<Exchange>>,
}

impl Failure {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Failure {
        Failure { reason, message: message.into(), exchange: None }
    }

    pub(crate) fn with(mut self, exchange: Exchange) -> Failure {
        self.exchange = Some(Box::new(exchange));
        self
    }
}

/// The classes of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The name does not exist.
    NoSuchHost,
    /// Nobody answered what the name's address is.
    Dns,
    /// No connection, or none that both sides could agree on.
    Connect,
    /// The certificate is not valid for the name.
    Certificate,
    /// An address that is not for everybody, and not permitted.
    PrivateAddress,
    /// No connection, head or whole answer within its time.
    Timeout,
    /// The body came too slowly.
    TooSlow,
    /// The connection ended before the answer did.
    Cut,
    /// What came is not HTTP, or not decodable.
    Malformed,
    /// More headers than bearable.
    HeadTooLarge,
    /// More content than bearable.
    TooLarge,
    /// Content that grows out of all proportion when decoded.
    Bomb,
    /// A redirect to where we have been.
    RedirectLoop,
    /// More redirects than bearable.
    TooManyRedirects,
    /// A redirect to nowhere, or out of the web.
    BadRedirect,
    /// The host asks to be left alone for a while (429, 503).
    Busy,
    /// The host has a fault of its own (5xx), or was too impatient (408, 425).
    ServerFault,
    /// We must not see it, or asked wrongly: other 4xx, no permission for a file.
    Refused,
    /// robots.txt forbids it.
    Robots,
    /// robots.txt could not be read, so everything counts as forbidden for now.
    RobotsUnreachable,
    /// A command ended with a fault, or a file could not be read.
    Local,
    /// No source of this kind is there.
    Unsupported,
}

impl Reason {
    /// Could it be otherwise soon?
    pub fn retryable(self) -> bool {
        use Reason::{Busy, Connect, Cut, Dns, Local, RobotsUnreachable, ServerFault, Timeout, TooSlow};
        matches!(self, Dns | Connect | Timeout | TooSlow | Cut | Busy | ServerFault | RobotsUnreachable | Local)
    }
}

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Who redirected.
    pub from: Url,
    /// To where.
    pub to: Url,
    /// How: 301 and 308 are for good.
    pub status: StatusCode,
}

impl Redirect {
    /// Is the old address to be forgotten?
    pub fn is_permanent(&self) -> bool {
        matches!(self.status, StatusCode::MOVED_PERMANENTLY | StatusCode::PERMANENT_REDIRECT)
    }
}

impl Visit {
    pub(crate) fn of(outcome: Outcome) -> Visit {
        Visit { outcome, redirects: Vec::new(), manners: Vec::new(), requests: 0, wire_bytes: 0 }
    }

    pub(crate) fn failed(reason: Reason, message: impl Into<String>) -> Visit {
        Visit::of(Outcome::Failed(Failure::new(reason, message)))
    }

    /// The page's new address, if permanent redirects lead there from the first on; a temporary one ends the way.
    pub fn moved_to(&self) -> Option<&Url> {
        self.redirects.iter().take_while(|redirect| redirect.is_permanent()).last().map(|redirect| &redirect.to)
    }
}

/// A request and the head of its response: with the body, all that a WARC record needs.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When, as it was asked.
    pub date: Timestamp,
    /// The address that was asked, the last of its redirects.
    pub url: Url,
    /// GET or HEAD.
    pub method: Method,
    /// The headers that were sent, Host included.
    pub request_headers: HeaderMap,
    /// The protocol that was spoken.
    pub version: Version,
    /// The status.
    pub status: StatusCode,
    /// The server's words for it, if it had its own.
    pub phrase: Option<String>,
    /// The headers that came.
    pub headers: HeaderMap,
    /// Who answered.
    pub ip: Option<IpAddr>,
}

impl Exchange {
    /// The request as HTTP/1.1 writes it, with the empty line; HTTP/2 has no form of its own in WARC.
    pub fn request_head(&self) -> Vec<u8> {
        let target = &self.url[url::Position::BeforePath..url::Position::AfterQuery];
        let mut head = format!("{} {target} HTTP/1.1\r\n", self.method).into_bytes();
        self.request_headers.iter().for_each(|(name, value)| push_header(&mut head, name.as_str(), value));
        head.extend_from_slice(b"\r\n");
        head
    }

    /// The response's head as it belongs to the decoded body, with the empty line.
    ///
    /// What described the bytes on the wire (Content-Encoding, Transfer-Encoding, Content-Length) keeps its values under
    /// names with `X-Crawl-` in front, as Common Crawl's archives have it; Content-Length is that of the decoded body.
    pub fn response_head(&self, body_bytes: usize) -> Vec<u8> {
        let phrase = self.phrase.as_deref().or(self.status.canonical_reason()).unwrap_or_default();
        let mut head = format!("HTTP/1.1 {} {phrase}\r\n", self.status.as_u16()).into_bytes();
        for (name, value) in &self.headers {
            let of_wire = [header::CONTENT_ENCODING, header::TRANSFER_ENCODING, header::CONTENT_LENGTH].contains(name);
            let name = if of_wire { format!("x-crawl-{name}") } else { name.to_string() };
            push_header(&mut head, &name, value);
        }
        head.extend_from_slice(format!("content-length: {body_bytes}\r\n\r\n").as_bytes());
        head
    }
}

fn push_header(head: &mut Vec<u8>, name: &str, value: &HeaderValue) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value.as_bytes());
    head.extend_from_slice(b"\r\n");
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Fetched(fetched) => write!(f, "fetched {} bytes", fetched.body.len()),
            Outcome::NotModified(_) => f.write_str("not modified"),
            Outcome::Gone(_) => f.write_str("gone"),
            Outcome::Failed(failure) => write!(f, "failed: {failure}"),
        }
    }
}
