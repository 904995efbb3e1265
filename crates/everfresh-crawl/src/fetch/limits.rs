use std::time::Duration;
use tokio::time::Instant;

/// What one visit may cost at most. A source that wants more fails for this visit; nobody else notices.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Until there is a connection: name, TCP and TLS together. Default 10 s.
    pub connect: Duration,
    /// From the request until the last header has come, the connection included. Default 30 s.
    pub first_byte: Duration,
    /// One whole visit with all its redirects. Default 60 s.
    pub visit: Duration,
    /// What a body must bring on average once [`grace`](Limits::grace) has passed, in bytes on the wire per second.
    /// Default 512; 0 for no such limit.
    pub slowest_bytes_per_s: u32,
    /// How long a body may be slower than that. Default 10 s.
    pub grace: Duration,
    /// Bytes of a body, decoded. Default 16 MiB.
    pub body_bytes: usize,
    /// Decoded bytes for one byte on the wire, once a mebibyte is decoded: a page of text is far below, a bomb far above.
    /// Default 200.
    pub body_ratio: u32,
    /// Bytes of a response's head. At least 8 KiB (below, 8 KiB is meant). Default 64 KiB.
    pub header_bytes: usize,
    /// Headers of a response. Default 200.
    pub headers: usize,
    /// Redirects that are followed. Default 10.
    pub redirects: usize,
    /// For how long a server's Retry-After is believed. Default one day.
    pub retry_after: Duration,
    /// For how long a Crawl-delay is believed. Default 10 minutes.
    pub crawl_delay: Duration,
    /// Entries of a directory. Default 100,000.
    pub entries: usize,
}

impl Limits {
    /// A longer time for a connection, a head or a visit is this long: clocks end somewhere.
    pub const LONGEST: Duration = Duration::from_hours(24);
}

/// When such a time ends that begins now.
pub(crate) fn ends(time: Duration) -> Instant {
    Instant::now() + time.min(Limits::LONGEST)
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(30),
            visit: Duration::from_mins(1),
            slowest_bytes_per_s: 512,
            grace: Duration::from_secs(10),
            body_bytes: 16 << 20,
            body_ratio: 200,
            header_bytes: 64 << 10,
            headers: 200,
            redirects: 10,
            retry_after: Duration::from_hours(24),
            crawl_delay: Duration::from_mins(10),
            entries: 100_000,
        }
    }
}
