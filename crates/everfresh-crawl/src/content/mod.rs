//! From bytes to what counts as a change.
//!
//! Bytes lie: a page with a clock, a session number or another advertisement is another file at every visit, though nothing
//! in it changed. So a visit's bytes are read for what they say, and copies are compared by that:
//!
//! * [`Content::read`]: the kind, the character set, the text, the hints in feeds and sitemaps, and two digests;
//! * [`Rules`]: which parts of a page count, by CSS selector;
//! * [`Known`]: what is remembered of a copy, in a few hundred bytes;
//! * [`Compared`]: whether a copy has changed, and how far.

mod charset;
mod feed;
mod html;
mod json;
mod kind;
mod known;
mod rules;
mod sitemap;

pub use html::forbids_archiving;
pub use known::{Compared, Digest, Known};
pub use rules::Rules;

/// What kind of thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A page: its visible main content is its text.
    Html = 1,
    /// RSS, Atom or JSON Feed: titles and contents of its entries are its text.
    Feed = 2,
    /// A sitemap, or an index of sitemaps: addresses and dates are its text.
    Sitemap = 3,
    /// JSON: its canonical form is its text.
    Json = 4,
    /// Any other text, with white space at the ends of lines and at both ends gone.
    Text = 5,
    /// Anything else: its bytes are all there is to compare.
    Other = 6,
}

impl Kind {
    /// Does it speak of other pages, in [`Content::hints`]?
    pub const fn names_pages(self) -> bool {
        matches!(self, Kind::Feed | Kind::Sitemap)
    }
}

/// What a feed or a sitemap says of another page.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// The address, as it is written there.
    pub address: String,
    /// When the page is said to have changed, in seconds since the epoch; of a day alone, its beginning in UTC.
    pub changed_at: Option<i64>,
    /// Where the hint comes from.
    pub from: HintFrom,
    /// How often the page is said to change, in seconds (`changefreq`; `always` is 0, `never` is nothing).
    pub period_s: Option<u32>,
    /// How the page is said to compare with others of its site, 0 to 1 (`priority`).
    pub priority: Option<f64>,
}

/// Where a hint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintFrom {
    /// In an entry of a feed.
    Feed,
    /// In a sitemap.
    Sitemap,
    /// In an index of sitemaps: the address is that of a sitemap.
    SitemapIndex,
}

/// The most hints that are taken from one file; the protocol of sitemaps allows no more.
pub const MOST_HINTS: usize = 50_000;

/// What the bytes of a visit say.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    kind: Kind,
    charset: Option<&'static str>,
    title: Option<String>,
    text: String,
    hints: Vec<Hint>,
    forbids_archiving: bool,
    bytes_digest: Digest,
    text_digest: Digest,
    reading: u64,
}

/// What a reader of one kind makes of a text.
#[derive(Debug, Default)]
struct Said {
    text: String,
    title: Option<String>,
    hints: Vec<Hint>,
    forbids_archiving: bool,
}

impl Said {
    fn text(text: String) -> Said {
        Said { text, ..Said::default() }
    }
}

impl Content {
    /// Reads bytes without transfer or content codings, by what the source says they are and what they look like.
    ///
    /// Nothing is an error: what cannot be read as what it claims to be is read as the next simpler thing. Time and memory
    /// are linear in the bytes, whatever they are.
    ///
    /// ```
    /// use everfresh_crawl::content::{Content, Kind, Rules};
    /// let page = b"<title>Menu</title><nav>Home</nav><main><h1>Today</h1><p>Soup &amp; bread<script>1</script></main>";
    /// let content = Content::read(page, Some("text/html; charset=utf-8"), &Rules::default());
    /// assert_eq!((content.kind(), content.title()), (Kind::Html, Some("Menu")));
    /// assert_eq!(content.text(), "Today\nSoup & bread");
    /// let json = Content::read(b"{\"b\": 2.50, \"a\": [1, null]}", None, &Rules::default());
    /// assert_eq!(json.text(), "{\"a\":[1,null],\"b\":2.5}");
    /// ```
    pub fn read(bytes: &[u8], content_type: Option<&str>, rules: &Rules) -> Content {
        let unpacked = kind::unpack(bytes);
        let (text, charset) = charset::decode(&unpacked, content_type);
        let kind = kind::of(&unpacked, &text, content_type);
        let (kind, said) = said(kind, &text, rules);
        let is_text = kind != Kind::Other;
        let bytes_digest = Digest::of(bytes);
        Content {
            text_digest: if is_text { Digest::of(said.text.as_bytes()) } else { bytes_digest },
            kind,
            charset: is_text.then_some(charset),
            title: said.title.filter(|title| !title.is_empty()),
            text: said.text,
            hints: said.hints,
            forbids_archiving: said.forbids_archiving,
            bytes_digest,
            reading: rules.reading(),
        }
    }

    /// What kind of thing it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The character set that was found, by its name in the WHATWG Encoding Standard; nothing for [`Kind::Other`].
    pub const fn charset(&self) -> Option<&'static str> {
        self.charset
    }

    /// The title of a page or a feed.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The text: what counts. Empty for [`Kind::Other`].
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What a feed or sitemap says of other pages, at most [`MOST_HINTS`].
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }

    /// Does the page itself ask that no copy be kept (`noarchive`)? A header can ask too: see [`forbids_archiving`].
    pub const fn forbids_archiving(&self) -> bool {
        self.forbids_archiving
    }

    /// The digest of the bytes as they came.
    pub const fn bytes_digest(&self) -> Digest {
        self.bytes_digest
    }

    /// The digest of the text; for [`Kind::Other`] that of the bytes.
    pub const fn text_digest(&self) -> Digest {
        self.text_digest
    }
}

/// Reads a text as what it is taken for, or, if it is not that after all, as the next simpler thing.
fn said(kind: Kind, text: &str, rules: &Rules) -> (Kind, Said) {
    let found = match kind {
        Kind::Html => Some(html::read(text, rules)),
        Kind::Feed => feed::read(text, rules),
        Kind::Sitemap => sitemap::read(text),
        Kind::Json => json::canonical(text).map(Said::text),
        Kind::Text => Some(Said::text(trimmed(text))),
        Kind::Other => Some(Said::default()),
    };
    found.map_or_else(|| (Kind::Text, Said::text(trimmed(text))), |said| (kind, said))
}

/// The lines of a text without white space at their ends, and without empty ones at both ends.
fn trimmed(text: &str) -> String {
    let mut trimmed = String::with_capacity(text.len());
    for line in text.lines() {
        trimmed.push_str(line.trim_end());
        trimmed.push('\n');
    }
    trimmed.trim_matches('\n').to_owned()
}

impl Content {
    /// The text in lines that can be compared by eye; for what is no text, its digest.
    pub(crate) fn in_lines(&self) -> String {
        let mut lines = match self.kind {
            Kind::Json => json::in_lines(&self.text),
            Kind::Other => format!("bytes {}", self.bytes_digest),
            _ => self.text.clone(),
        };
        lines.push('\n');
        lines
    }
}
