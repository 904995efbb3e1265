use super::{Rules, Said};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, Tokenizer};
use std::borrow::Cow;

/// The attribute that marks what a rule keeps.
pub(super) const KEPT: &str = "data-everfresh-kept";

/// Whom a page names that means us.
const AGENT: &str = "everfresh";

/// How far up an end tag looks for what it closes: a bound, so that time stays linear in deeply nested pages.
const DEEPEST_CLOSED: usize = 256;

/// The text of a page.
///
/// One pass, without a tree: the text is cut into blocks where a browser would begin a new line, each block knows where it
/// stands, and at the end it is decided which places count. Decisions hang on the structure and on the block itself, hardly
/// ever on how blocks compare: a score over the whole page would take another part of it for the main one after a
/// small change, and the copy would seem wholly changed.
pub(super) fn read(html: &str, rules: &Rules) -> Said {
    let html = rules.marked(html);
    let mut page = Page { only_kept: rules.keeps(), ..Page::default() };
    let take = |event: CallbackEvent<'_>, _: Span<()>| -> Option<()> {
        page.take(&event);
        None
    };
    let mut emitter = CallbackEmitter::new(take);
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(html.as_ref(), Lenient(emitter)).for_each(drop);
    page.finish()
}

/// Asks for no errors: looking for them letter by letter took a fifth of the time of reading.
struct Lenient<E>(E);

impl<E: Emitter> ForwardingEmitter for Lenient<E> {
    type Token = E::Token;

    fn inner(&mut self) -> &mut impl Emitter<Token = E::Token> {
        &mut self.0
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }
}

/// Does the value of a robots meta element or of an `X-Robots-Tag` header ask that no copy be kept? What stands behind the name of an
/// agent is meant for it alone; `agent` is ours.
///
/// ```
/// use everfresh_crawl::content::forbids_archiving;
/// let forbids = |robots| forbids_archiving(robots, "everfresh");
/// assert!(forbids("noindex, NoArchive") && forbids("none"));
/// assert!(forbids("everfresh: noarchive"));
/// assert!(!forbids("otherbot: noarchive, none") && !forbids("noindex"));
/// ```
pub fn forbids_archiving(robots: &str, agent: &str) -> bool {
    let mut for_us = true;
    robots.split(',').any(|directive| {
        let mut directive = directive.trim();
        if let Some((name, rest)) = directive.split_once(':').filter(|(name, _)| is_agent(name.trim())) {
            for_us = name.trim().eq_ignore_ascii_case(agent);
            directive = rest.trim();
        }
        for_us && ["noarchive", "none"].iter().any(|word| directive.eq_ignore_ascii_case(word))
    })
}

/// Directives with a value of their own look like agents.
fn is_agent(name: &str) -> bool {
    let valued = ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];
    !valued.iter().any(|directive| name.eq_ignore_ascii_case(directive))
}

/// What an element is to the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Part of a line.
    Inline,
    /// Begins and ends a line.
    Block,
    /// A block that cannot stand in another of its kind or in a paragraph: its end may be left away.
    Item,
    /// Ends a line, and has no content.
    Break,
    /// Has no content.
    Void,
    /// A link.
    Link,
    /// Never visible, or no prose.
    Unseen,
    /// Around the content: navigation and the like.
    Around,
    /// Around the content, unless it is in an article.
    Header,
    Main,
    Article,
    Title,
    Meta,
    /// The page itself, whose class says nothing of its content.
    Root,
}

fn role(name: &[u8]) -> Role {
    match name {
        b"a" => Role::Link,
        b"p" | b"li" | b"td" | b"th" | b"tr" | b"dt" | b"dd" => Role::Item,
        b"div" | b"section" | b"ul" | b"ol" | b"dl" | b"table" | b"thead" | b"tbody" | b"tfoot" | b"caption"
        | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"pre" | b"blockquote" | b"figure" | b"figcaption"
        | b"address" | b"form" | b"fieldset" | b"details" | b"summary" | b"center" | b"hgroup" | b"legend"
        | b"dialog" => Role::Block,
        b"br" | b"hr" => Role::Break,
        b"img" | b"input" | b"link" | b"source" | b"area" | b"base" | b"col" | b"embed" | b"param" | b"track"
        | b"wbr" => Role::Void,
        b"script" | b"style" | b"noscript" | b"template" | b"svg" | b"math" | b"iframe" | b"object" | b"canvas"
        | b"video" | b"audio" | b"select" | b"button" | b"textarea" | b"datalist" | b"map" | b"noframes"
        | b"noembed" | b"xmp" | b"head" => Role::Unseen,
        b"nav" | b"footer" | b"aside" | b"menu" => Role::Around,
        b"header" => Role::Header,
        b"main" => Role::Main,
        b"article" => Role::Article,
        b"title" => Role::Title,
        b"meta" => Role::Meta,
        b"html" | b"body" => Role::Root,
        _ => Role::Inline,
    }
}

/// Where a block stands; an element has what the one around it has, and its own.
const SKIPPED: u8 = 1;
const MAIN: u8 = 2;
const ARTICLE: u8 = 4;
const LINK: u8 = 8;
const KEPT_BY_RULE: u8 = 16;
/// Only in a tag: its names say that it is around the content; they speak of layout; its role says that it is around.
const AROUND: u8 = 32;
const LAYOUT: u8 = 64;
const LANDMARK: u8 = 128;

/// A name's first fifteen letters and its length: two names that share these are mistaken for each other.
fn name_code(name: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let length = name.len().min(15);
    bytes[..length].copy_from_slice(&name[..length]);
    bytes[15] = name.len().to_le_bytes()[0];
    u128::from_le_bytes(bytes)
}

#[derive(Clone, Copy, Debug)]
struct Open {
    name: u128,
    role: Role,
    place: u8,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    start: usize,
    end: usize,
    link_bytes: usize,
    place: u8,
}

/// The attribute whose value comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attribute {
    #[default]
    Other,
    Role,
    Names,
    AriaHidden,
    Style,
    MetaName,
    MetaContent,
}

/// The start tag that is being read.
#[derive(Debug)]
struct Tag {
    name: u128,
    role: Role,
    attribute: Attribute,
    /// What its attributes say of its place, and whether they say that it is around the content.
    marks: u8,
    meta_name: Vec<u8>,
    meta_content: Vec<u8>,
}

#[derive(Debug, Default)]
struct Page {
    only_kept: bool,
    open: Vec<Open>,
    tag: Option<Tag>,
    text: Vec<u8>,
    blocks: Vec<Block>,
    block_start: usize,
    link_bytes: usize,
    /// White space was seen since the last word.
    space: bool,
    title: Option<Vec<u8>>,
    forbids_archiving: bool,
}

impl Page {
    fn take(&mut self, event: &CallbackEvent<'_>) {
        match *event {
            CallbackEvent::String { value } => self.characters(value),
            CallbackEvent::OpenStartTag { name } => self.start(name),
            CallbackEvent::AttributeName { name } => self.attribute(name),
            CallbackEvent::AttributeValue { value } => self.value(value),
            CallbackEvent::CloseStartTag { self_closing } => self.started(self_closing),
            CallbackEvent::EndTag { name } => self.end(name),
            _ => {}
        }
    }

    fn place(&self) -> u8 {
        self.open.last().map_or(0, |open| open.place)
    }

    fn start(&mut self, name: &[u8]) {
        let (meta_name, meta_content) = (Vec::new(), Vec::new());
        let (attribute, role) = (Attribute::Other, role(name));
        let tag = Tag { name: name_code(name), role, attribute, marks: 0, meta_name, meta_content };
        self.tag = Some(tag);
    }

    fn attribute(&mut self, name: &[u8]) {
        let Some(tag) = &mut self.tag else { return };
        let is_meta = tag.role == Role::Meta;
        tag.attribute = match name {
            b"role" => Attribute::Role,
            b"class" | b"id" => Attribute::Names,
            b"aria-hidden" => Attribute::AriaHidden,
            b"style" => Attribute::Style,
            b"name" if is_meta => Attribute::MetaName,
            b"content" if is_meta => Attribute::MetaContent,
            _ => Attribute::Other,
        };
        tag.marks |= if name == b"hidden" { SKIPPED } else { 0 };
        tag.marks |= if name == KEPT.as_bytes() { KEPT_BY_RULE } else { 0 };
    }

    fn value(&mut self, value: &[u8]) {
        let Some(tag) = &mut self.tag else { return };
        let mark = |found: bool, mark: u8| if found { mark } else { 0 };
        tag.marks |= match tag.attribute {
            Attribute::Other => 0,
            Attribute::Role => role_mark(value.trim_ascii()),
            Attribute::Names => names_mark(value),
            Attribute::AriaHidden => mark(value == b"true", SKIPPED),
            Attribute::Style => mark(hides(value), SKIPPED),
            Attribute::MetaName => {
                tag.meta_name = value.to_vec();
                0
            }
            Attribute::MetaContent => {
                tag.meta_content = value.to_vec();
                0
            }
        };
    }

    /// The start tag is complete: the element is open from here on, if it can have content.
    fn started(&mut self, self_closing: bool) {
        let Some(tag) = self.tag.take() else { return };
        match tag.role {
            Role::Void => return,
            Role::Meta => return self.meta(&tag),
            Role::Break => return self.end_block(),
            _ => {}
        }
        if tag.role != Role::Inline && tag.role != Role::Link {
            self.end_block();
            self.imply_end(&tag);
        }
        let before = self.place();
        let place = before | self.own_place(&tag, before);
        if (place ^ before) & KEPT_BY_RULE != 0 {
            self.end_block();
        }
        if !self_closing || !self.may_close_itself(&tag) {
            self.open.push(Open { name: tag.name, role: tag.role, place });
        }
    }

    /// In SVG and `MathML` an element may be closed at once; elsewhere the slash means nothing.
    fn may_close_itself(&self, tag: &Tag) -> bool {
        let foreign = [name_code(b"svg"), name_code(b"math")];
        let mut around = self.open.iter().rev().take(DEEPEST_CLOSED).map(|open| open.name);
        foreign.contains(&tag.name) || around.any(|name| foreign.contains(&name))
    }

    /// What an element adds to the place that it is in.
    fn own_place(&self, tag: &Tag, around: u8) -> u8 {
        let is_page = matches!(tag.role, Role::Main | Role::Article | Role::Root);
        let is_around = match tag.role {
            Role::Around => true,
            Role::Header => around & (MAIN | ARTICLE) == 0,
            _ if tag.marks & LANDMARK != 0 => tag.marks & MAIN == 0,
            _ => tag.marks & (AROUND | LAYOUT | MAIN) == AROUND,
        };
        let mut place = tag.marks & (MAIN | KEPT_BY_RULE);
        let is_unseen = tag.marks & SKIPPED != 0 || matches!(tag.role, Role::Unseen | Role::Title);
        if is_unseen || is_around && !is_page && !self.only_kept {
            place |= SKIPPED;
        }
        place
            | match tag.role {
                Role::Main => MAIN,
                Role::Article => ARTICLE,
                Role::Link => LINK,
                _ => 0,
            }
    }

    /// A paragraph ends where the next block begins, and an item where the next item does.
    fn imply_end(&mut self, tag: &Tag) {
        if let Some(last) = self.open.last()
            && last.role == Role::Item
            && (last.name == tag.name || last.name == name_code(b"p"))
        {
            self.open.pop();
        }
    }

    fn end(&mut self, name: &[u8]) {
        self.tag = None;
        let (role, code) = (role(name), name_code(name));
        let inline = matches!(role, Role::Inline | Role::Link);
        if !inline {
            self.end_block();
        }
        let nearest = self.open.iter().rev().take(DEEPEST_CLOSED);
        // What is part of a line does not close what holds lines.
        let mut reachable = nearest.take_while(|open| !inline || matches!(open.role, Role::Inline | Role::Link));
        if let Some(up) = reachable.position(|open| open.name == code) {
            let closed = self.open.len() - 1 - up;
            if self.place() & KEPT_BY_RULE != 0 {
                self.end_block();
            }
            self.open.truncate(closed);
        }
    }

    fn meta(&mut self, tag: &Tag) {
        let named = |name: &str| tag.meta_name.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        if named("robots") || named(AGENT) {
            self.forbids_archiving |= forbids_archiving(&String::from_utf8_lossy(&tag.meta_content), AGENT);
        }
    }

    fn characters(&mut self, value: &[u8]) {
        if self.title.is_none() && self.open.last().is_some_and(|open| open.role == Role::Title) {
            self.title = Some(value.to_vec());
            return;
        }
        let place = self.place();
        if place & SKIPPED != 0 || (self.only_kept && place & KEPT_BY_RULE == 0) {
            return;
        }
        let before = self.text.len();
        let value = plain_spaces(value);
        for run in value.split(u8::is_ascii_whitespace) {
            self.word(run);
            self.space = true;
        }
        // The last run has white space behind it only if it is empty.
        self.space = value.last().is_some_and(u8::is_ascii_whitespace);
        if place & LINK != 0 {
            self.link_bytes += self.text.len() - before;
        }
    }

    /// Adds letters without white space, behind a space if there was some.
    fn word(&mut self, word: &[u8]) {
        if word.is_empty() {
            return;
        }
        if self.space && self.text.len() > self.block_start {
            self.text.push(b' ');
        }
        self.space = false;
        self.text.extend_from_slice(word);
    }

    fn end_block(&mut self) {
        let end = self.text.len();
        if end > self.block_start {
            let place = self.place();
            self.blocks.push(Block { start: self.block_start, end, link_bytes: self.link_bytes, place });
            self.text.push(b'\n');
        }
        self.block_start = self.text.len();
        self.link_bytes = 0;
        self.space = false;
    }

    fn finish(mut self) -> Said {
        self.end_block();
        let place = self.content_place();
        let chosen = |block: &&Block| if place == 0 { !self.is_menu_entry(block) } else { block.place & place != 0 };
        let mut text = Vec::with_capacity(self.text.len());
        for block in self.blocks.iter().filter(chosen) {
            text.extend_from_slice(&self.text[block.start..block.end]);
            text.push(b'\n');
        }
        text.pop();
        let title = self.title.map(|title| clean(&title));
        Said { text: into_text(text), title, hints: Vec::new(), forbids_archiving: self.forbids_archiving }
    }

    /// The place that holds what the page is about; 0 for all of it.
    fn content_place(&self) -> u8 {
        if self.only_kept {
            return 0;
        }
        if self.blocks.iter().any(|block| block.place & MAIN != 0) {
            return MAIN;
        }
        // Some pages call the teasers at their edge articles: these are not what the page is about.
        let length = |place: u8| -> usize {
            self.blocks.iter().filter(|block| block.place & place == place).map(|block| block.end - block.start).sum()
        };
        if 2 * length(ARTICLE) >= length(0).max(1) { ARTICLE } else { 0 }
    }

    /// A few words that are nothing but a link, outside of all content.
    fn is_menu_entry(&self, block: &Block) -> bool {
        let bytes = &self.text[block.start..block.end];
        let few_words = bytes.split(|byte| *byte == b' ').nth(4).is_none();
        !self.only_kept && few_words && block.link_bytes * 10 >= bytes.len() * 8
    }
}

/// A text in one line.
fn clean(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Bytes in which spaces that do not break are spaces like all others: editors put them in and take them out.
fn plain_spaces(bytes: &[u8]) -> Cow<'_, [u8]> {
    const UNBROKEN: &[u8] = "\u{A0}".as_bytes();
    if !bytes.windows(2).any(|pair| pair == UNBROKEN) {
        return Cow::Borrowed(bytes);
    }
    let mut plain = bytes.to_vec();
    for at in 1..plain.len() {
        if plain[at - 1..=at] == *UNBROKEN {
            plain[at - 1..=at].copy_from_slice(b"  ");
        }
    }
    Cow::Owned(plain)
}

/// Bytes as text; the parser hands over what it got, which was text.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// What a `role` says of a place (WAI-ARIA's landmarks and the like).
fn role_mark(value: &[u8]) -> u8 {
    match value {
        b"main" => MAIN,
        b"navigation" | b"banner" | b"contentinfo" | b"complementary" | b"search" | b"menu" | b"menubar"
        | b"dialog" | b"alertdialog" | b"toolbar" => LANDMARK,
        _ => 0,
    }
}

/// Does a `style` hide the element?
fn hides(style: &[u8]) -> bool {
    let letters: Vec<u8> =
        style.iter().take(256).filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_lowercase).collect();
    [b"display:none".as_slice(), b"visibility:hidden"]
        .iter()
        .any(|hidden| letters.windows(hidden.len()).any(|part| part == *hidden))
}

/// What the names in a `class` or `id` say of a place.
///
/// Around the content is what has one of some words as the first or the last part of a name (`site-footer`, `cookie_banner`),
/// or as the last if it may be what the content is about (`post-share`, not `share-price`). If any name of the element speaks
/// of layout, the others do too (`content-sidebar-wrap`, `has-nav`, `container int-nav`): it holds more than that.
fn names_mark(names: &[u8]) -> u8 {
    let mut mark = 0;
    for name in names.split(u8::is_ascii_whitespace).filter(|name| (2..=40).contains(&name.len())) {
        let mut parts = name.split(|byte| matches!(byte, b'-' | b'_'));
        let (first, last) = (parts.clone().next(), parts.clone().next_back());
        if first.is_some_and(is_around_word) || last.is_some_and(|last| is_around_word(last) || is_extra_word(last)) {
            mark |= AROUND;
        }
        if parts.any(is_layout_word) {
            mark |= LAYOUT;
        }
    }
    mark
}

/// A short word in lower case, for comparison.
fn lower(word: &[u8], buffer: &mut [u8; 16]) -> usize {
    let length = if word.len() > buffer.len() { 0 } else { word.len() };
    for (to, from) in buffer.iter_mut().zip(&word[..length]) {
        *to = from.to_ascii_lowercase();
    }
    length
}

fn is_around_word(word: &[u8]) -> bool {
    let mut buffer = [0; 16];
    let length = lower(word, &mut buffer);
    matches!(
        &buffer[..length],
        b"nav"
            | b"navbar"
            | b"navigation"
            | b"sidebar"
            | b"breadcrumb"
            | b"breadcrumbs"
            | b"footer"
            | b"cookie"
            | b"cookies"
            | b"consent"
            | b"gdpr"
            | b"advert"
            | b"adverts"
            | b"advertisement"
            | b"adsense"
            | b"pagination"
    )
}

fn is_extra_word(word: &[u8]) -> bool {
    let mut buffer = [0; 16];
    let length = lower(word, &mut buffer);
    matches!(&buffer[..length], b"share" | b"sharing" | b"social" | b"newsletter" | b"ads" | b"sponsored" | b"pager")
}

fn is_layout_word(word: &[u8]) -> bool {
    let mut buffer = [0; 16];
    let length = lower(word, &mut buffer);
    matches!(
        &buffer[..length],
        b"has"
            | b"with"
            | b"without"
            | b"no"
            | b"is"
            | b"show"
            | b"layout"
            | b"wrap"
            | b"wrapper"
            | b"container"
            | b"content"
            | b"page"
            | b"body"
            | b"row"
            | b"grid"
            | b"main"
    )
}
