use super::html::KEPT;
use everfresh::Error;
use lol_html::html_content::Element;
use lol_html::{ElementContentHandlers, HtmlRewriter, MemorySettings, Selector, Settings};
use std::borrow::Cow;

/// Another number when the same bytes begin to be read as another text: what was remembered before is not comparable then.
const READING: u8 = 1;

/// The most memory that selectors may take on one page, and so how deep they look.
const MOST_MEMORY: usize = 4 << 20;

/// Which parts of a page count, by CSS selector.
///
/// Without rules, the main content counts. With parts to keep, these and nothing else: inside them nothing is taken for
/// navigation. Parts to ignore are gone before anything else is looked at. Selectors can name elements, classes, ids,
/// attributes, `:nth-child()`, `:not()` and the like, descendants and children (`a b`, `a > b`), not siblings. To a selector
/// an element whose end tag is left away (`<li>one<li>two`) reaches to the end of the one around it.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    keep: Vec<Selector>,
    ignore: Vec<Selector>,
    /// The selectors as written, kept ones first; what tells two sets of rules apart.
    written: [Vec<String>; 2],
}

impl Rules {
    /// Rules from selectors.
    ///
    /// ```
    /// use everfresh_crawl::content::{Content, Rules};
    /// let rules = Rules::new(&["#prices"], &[".clock", "td:nth-child(2)"])?;
    /// let page = b"<p>Hi<table id=prices><tr><td>Soup</td><td>old</td><td>4.50</td></tr></table><p id=prices>now <i class=clock>12:01</i>";
    /// assert_eq!(Content::read(page, Some("text/html"), &rules).text(), "Soup\n4.50\nnow");
    /// let error = Rules::new(&["h1 + p"], &[]).unwrap_err();
    /// assert!(error.to_string().starts_with("cannot read `h1 + p` as a selector: "));
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn new(keep: &[&str], ignore: &[&str]) -> Result<Rules, Error> {
        let parse = |selector: &&str| {
            let unreadable = |why: String| Error::Unreadable { what: "selector", text: (*selector).to_owned(), why };
            selector.parse::<Selector>().map_err(|error| unreadable(error.to_string()))
        };
        let written = [keep, ignore].map(|selectors| selectors.iter().map(|text| (*text).to_owned()).collect());
        let parse_all = |selectors: &[&str]| selectors.iter().map(parse).collect::<Result<Vec<_>, _>>();
        Ok(Rules { keep: parse_all(keep)?, ignore: parse_all(ignore)?, written })
    }

    /// The selectors as written: of parts to keep, and of parts to ignore.
    pub const fn written(&self) -> &[Vec<String>; 2] {
        &self.written
    }

    /// Are there parts to keep?
    pub(super) fn keeps(&self) -> bool {
        !self.keep.is_empty()
    }

    /// What tells this way to read bytes from all others.
    pub(super) fn reading(&self) -> u64 {
        let mut named = vec![READING];
        let [keep, ignore] = &self.written;
        if !keep.is_empty() || !ignore.is_empty() {
            named.extend(format!("{}\n\n{}", keep.join("\n"), ignore.join("\n")).bytes());
        }
        let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(&named).as_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// The page without what is ignored, and with marks on what is kept.
    ///
    /// A page that is nested too deep to be searched within the memory allowed is taken as it is.
    pub(super) fn marked<'h>(&self, html: &'h str) -> Cow<'h, str> {
        if self.keep.is_empty() && self.ignore.is_empty() {
            return Cow::Borrowed(html);
        }
        let mut settings = Settings::new()
            .with_strict(false)
            .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MOST_MEMORY));
        for selector in &self.keep {
            let mark = |element: &mut Element<'_, '_>| Ok(element.set_attribute(KEPT, "")?);
            let handlers = ElementContentHandlers::default().element(mark);
            settings = settings.append_element_content_handler((Cow::Borrowed(selector), handlers));
        }
        for selector in &self.ignore {
            let remove = |element: &mut Element<'_, '_>| {
                element.remove();
                Ok(())
            };
            let handlers = ElementContentHandlers::default().element(remove);
            settings = settings.append_element_content_handler((Cow::Borrowed(selector), handlers));
        }
        let mut marked = Vec::with_capacity(html.len());
        let mut rewriter = HtmlRewriter::new(settings, |piece: &[u8]| marked.extend_from_slice(piece));
        let done = rewriter.write(html.as_bytes()).and_then(|()| rewriter.end());
        match (done, String::from_utf8(marked)) {
            (Ok(()), Ok(marked)) => Cow::Owned(marked),
            _ => Cow::Borrowed(html),
        }
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Rules) -> bool {
        self.written == other.written
    }
}
