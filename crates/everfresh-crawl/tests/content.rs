//! What bytes say: pages, feeds, sitemaps, JSON and the rest, well-formed, broken and hostile.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use everfresh_crawl::content::{Compared, Content, Digest, HintFrom, Kind, Known, MOST_HINTS, Rules};
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::Write;
use std::time::{Duration, Instant};

fn page(html: &str) -> Content {
    Content::read(html.as_bytes(), Some("text/html"), &Rules::default())
}

fn check(html: &str, expected: &str) {
    assert_eq!(page(html).text(), expected, "{html}");
}

#[test]
fn a_block_is_a_line_and_white_space_is_one_space() {
    check("<p>one  <b>tw</b>o\n\tthree<br>four<p>five&nbsp;six&#32;&amp;", "one two three\nfour\nfive six &");
    check("a<div>b</div>c", "a\nb\nc");
    check("<ul><li>one<li>two</ul><table><tr><td>1<td>2</table>", "one\ntwo\n1\n2");
    check("", "");
    check("no markup at all", "no markup at all");
    check("<b>one</b><i>two</i> <u> three</u>", "onetwo three");
}

#[test]
fn what_nobody_sees_does_not_count() {
    check("<head><style>p{}</style><script>if(a<b)'<p>x'</script></head><p>seen<!-- <p>no -->", "seen");
    check("<p>a<svg><text>b</text></svg><noscript>c</noscript><template><p>d</template><p>e", "a\ne");
    check("<p hidden>a</p><p style='color:red; Display : NONE'>b<p aria-hidden=true>c<p>d", "d");
    check("<body style='visibility:hidden'><p>shown by a script", "");
    check("<p>x<textarea>y</textarea><select><option>z</select>", "x");
}

#[test]
fn what_is_around_the_content_does_not_count() {
    check("<header>Logo</header><nav>Home</nav><p>text</p><aside>more</aside><footer>(c)</footer>", "text");
    check("<article><header><h1>Head</h1></header><p>text</article>", "Head\ntext");
    check("<div role=navigation>x</div><div class='site-footer'>x</div><div id=cookie-banner>x</div><p>text", "text");
    // Names of layouts, and of the page, say nothing.
    check("<body class='has-nav sidebar'><div class=content-sidebar-wrap>text<div class=no-ads>too", "text\ntoo");
    check("<div id=page-container class='wide int-nav'><p>text<div role=search class=container>x</div>", "text");
    check("<p>before<main><p>text</main><p>after", "text");
    check("<p>before<div role=main><p class=share-price>text</div>", "text");
    check(
        "<p>a long text that the page is about, in many words<article>teaser</article>",
        "a long text that the page is about, in many words\nteaser",
    );
    check("<a href=/>Home</a><div><a href=/>About us</a></div><p>text <a href=/>link</a>", "text link");
    check("<div><a href=/>A headline of many words is content</a></div>", "A headline of many words is content");
}

#[test]
fn broken_markup_is_read_as_browsers_read_it() {
    check("<nav><ul><li>x</nav><p>text", "text");
    check("<p hidden>a<p>b", "b");
    check("<div><nav>x</div>text", "text");
    check("</p></div></x>text</html>more", "text\nmore");
    check("<p>a < b && c &lt d <3", "a < b && c < d <3");
    check("<p>text<script>never closed", "text");
    check("<p>text<!-- never closed", "text");
    check("<p title='never closed>text", "");
    check("<b><p>one</b>two</p>three", "onetwo\nthree");
    check("<p>text<script src='x.js'/>var a=1;</script> more", "text\nmore");
    check("<p>a<svg/>b<svg><g/><path/></svg>c<math><mi/></math>d", "a\nb\nc\nd");
}

#[test]
fn titles_and_wishes_are_found() {
    let content = page(
        "<title> The\n menu </title><meta name=ROBOTS content='noindex, NOARCHIVE'><p>x<svg><title>no</title></svg>",
    );
    assert_eq!((content.title(), content.forbids_archiving(), content.text()), (Some("The menu"), true, "x"));
    assert!(!page("<meta name=robots content='noindex'><meta name=description content=noarchive>").forbids_archiving());
    // As in a header.
    for (wish, forbids) in [("none", true), ("all, None", true), ("otherbot: none", false), ("nothing", false)] {
        assert_eq!(page(&format!("<meta name=robots content='{wish}'>x")).forbids_archiving(), forbids, "{wish}");
    }
    assert_eq!(page("<title></title>x").title(), None);
}

#[test]
fn rules_choose_the_parts() {
    let html =
        "<header>h</header><nav class=n>n</nav><div id=a>one <span class=t>12:00</span> two</div><div id=b>three</div>";
    let read = |keep: &[&str], ignore: &[&str]| {
        let rules = Rules::new(keep, ignore).unwrap();
        Content::read(html.as_bytes(), Some("text/html"), &rules).text().to_owned()
    };
    assert_eq!(read(&["#a"], &[".t"]), "one two");
    assert_eq!(read(&["#b", ".n"], &[]), "n\nthree");
    assert_eq!(read(&[], &["#a", "#b"]), "");
    assert_eq!(read(&["span"], &[]), "12:00");
    assert_eq!(read(&[], &["div > span"]), "one two\nthree");
    assert_eq!(read(&["main"], &[]), "");
    for wrong in ["", "a +", "::before", "p:has(a)"] {
        assert!(Rules::new(&[wrong], &[]).unwrap_err().to_string().starts_with("cannot read `"), "{wrong}");
    }
}

#[test]
fn packed_sitemaps_are_unpacked_and_other_packed_files_are_not() {
    let pack = |text: &str| {
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    let entries = (0..200)
        .map(|n| format!("<url><loc>http://a.b/{n}</loc><lastmod>1970-01-02</lastmod></url>"))
        .collect::<Vec<_>>()
        .concat();
    let packed = pack(&format!("<?xml version='1.0'?><urlset>{entries}</urlset>"));
    let read = |bytes: &[u8]| Content::read(bytes, Some("application/gzip"), &Rules::default());
    let content = read(&packed);
    assert_eq!((content.kind(), content.hints().len()), (Kind::Sitemap, 200));
    assert_eq!((content.hints()[7].changed_at, content.hints()[7].from), (Some(86_400), HintFrom::Sitemap));
    assert_eq!(content.bytes_digest(), Digest::of(&packed));
    // Cut off: what came is read.
    let cut = read(&packed[..packed.len() / 2]);
    assert!(cut.kind() == Kind::Sitemap && (1..200).contains(&cut.hints().len()), "{:?}", cut.hints().len());
    assert_eq!(read(&pack("no sitemap")).kind(), Kind::Other);
    assert_eq!(read(&[0x1F, 0x8B, 8, 0, 1]).kind(), Kind::Other);
    let many = format!("<urlset>{}</urlset>", "<url><loc>x</loc></url>".repeat(MOST_HINTS + 10));
    assert_eq!(read(&pack(&many)).hints().len(), MOST_HINTS);
}

#[test]
fn what_cannot_be_read_as_what_it_claims_is_text_or_bytes() {
    let read = |bytes: &[u8], named: &str| Content::read(bytes, Some(named), &Rules::default());
    let broken = read(b"{\"a\": 1,}  \n\n", "application/json");
    assert_eq!((broken.kind(), broken.text()), (Kind::Text, "{\"a\": 1,}"));
    assert_eq!(read(b"<rss><channel><item>", "application/rss+xml").kind(), Kind::Text);
    assert_eq!(read(b"<urlset></urlset>", "text/xml").kind(), Kind::Text);
    let image = read(b"\x89PNG\r\n\x1a\n", "image/png");
    assert_eq!((image.kind(), image.text(), image.charset()), (Kind::Other, "", None));
    assert_eq!(image.text_digest(), image.bytes_digest());
}

#[test]
fn a_change_is_one_of_the_text() {
    let words = |from: u32| (from..from + 200).map(|n| format!("w{n} ")).collect::<Vec<_>>().concat();
    let known = Known::of(&page(&format!("<nav>a</nav><main>{}</main><script>1</script>", words(0))));
    let same = page(&format!("<nav>b</nav><main class=x>{}</main><script>2</script>", words(0)));
    assert_eq!(known.compare(&same), Compared::Unchanged);
    let narrow = Rules::new(&["main"], &[]).unwrap();
    let is_of = |rules: &Rules| Known::of(&page("<main>x</main>")).is_of(b"<main>x</main>", rules);
    assert!(is_of(&Rules::default()) && !is_of(&narrow) && !known.is_of(b"x", &Rules::default()));
    let Compared::Changed { divergence } = known.compare(&page(&format!("<main>{}</main>", words(100)))) else {
        panic!()
    };
    // 93 of the 286 fragments of both are common to both: 1 - 93/293.
    assert!((divergence - (1.0 - 93.0 / 293.0)).abs() < 0.15, "{divergence}");
    let other = page(&format!("<main>{}</main>", words(1000)));
    assert_eq!(known.compare(&other), Compared::Changed { divergence: 1.0 });
    let rules = Rules::new(&["main"], &[]).unwrap();
    let bytes = format!("<main>{}</main>", words(0));
    assert_eq!(known.compare(&Content::read(bytes.as_bytes(), Some("text/html"), &rules)), Compared::OtherReading);
    let image = |byte: u8| Content::read(&[byte], Some("image/png"), &Rules::default());
    assert_eq!(Known::of(&image(1)).compare(&image(2)), Compared::Changed { divergence: 1.0 });
    assert_eq!(Known::of(&image(1)).compare(&image(1)), Compared::Unchanged);
}

#[test]
fn what_is_known_is_stored_the_same_for_ever() {
    let known = Known::of(&page("<p>one two three four five six seven eight nine ten"));
    let hex = known.encode().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let stored = include_str!("content/known-v1.hex").trim();
    assert_eq!(hex, stored);
    let bytes: Vec<u8> =
        (0..stored.len() / 2).map(|at| u8::from_str_radix(&stored[2 * at..2 * at + 2], 16).unwrap()).collect();
    assert_eq!(Known::decode(&bytes).unwrap(), known);
    let error = |bytes: &[u8]| Known::decode(bytes).unwrap_err().to_string();
    assert_eq!(error(&[9]), "cannot read what is known of a copy: version must be 1, got 9");
    assert_eq!(error(&[]), "cannot read what is known of a copy: there must be at least one byte, got none");
    assert!(error(&bytes[..40]).ends_with("damaged or cut off"));
    let long = (0..10_000).map(|n| format!("w{n} ")).collect::<Vec<_>>().concat();
    assert_eq!(Known::of(&page(&long)).encode().len(), Known::MOST_BYTES);
}

/// Hostile pages, by name, of about `n` parts.
fn hostile(n: usize) -> Vec<(&'static str, String)> {
    let attributes = (0..n).map(|at| format!("a{at}=1 ")).collect::<Vec<_>>().concat();
    vec![
        ("nested", "<div>".repeat(n)),
        ("nested and closed", "<div>".repeat(n) + &"</div>".repeat(n)),
        ("nested and closed wrongly", "<div>".repeat(n) + &"</section>".repeat(n)),
        ("formatting", "<b><i>".repeat(n) + "<p>" + &"</b>".repeat(n)),
        ("paragraphs in divisions", "<div><p>".repeat(n)),
        ("links", "<a href=x>".repeat(n)),
        ("articles", "<article>x".repeat(n)),
        ("attributes", format!("<div {attributes}>")),
        ("classes", format!("<div class='{}'>", "nav-a ".repeat(n))),
        ("styles", "<p style='display'>".repeat(n)),
        ("angles", "<".repeat(10 * n)),
        ("ampersands", "&".repeat(10 * n)),
        ("comments", "<!--".repeat(n)),
        ("nulls", "\0".repeat(10 * n)),
        ("feed", format!("<rss><channel>{}", "<item>".repeat(n))),
        ("atom", format!("<feed>{}", "<entry><content type='xhtml'>".repeat(n))),
        ("sitemap", format!("<urlset>{}", "<url><loc>".repeat(n))),
        ("entities", format!("<urlset><url><loc>{}</loc></url>", "&a;".repeat(n))),
        ("json", "[".repeat(10 * n)),
        ("objects", "{\"a\":".repeat(n)),
        ("deep enough", format!("{}{}{}", "[".repeat(120), "1,".repeat(n) + "1", "]".repeat(120))),
    ]
}

#[test]
fn hostile_pages_cost_linear_time() {
    let rules = [Rules::default(), Rules::new(&["div > p b"], &["a[href] i", "section"]).unwrap()];
    for (name, html) in hostile(100_000) {
        for rules in &rules {
            let start = Instant::now();
            let content = Content::read(html.as_bytes(), None, rules);
            let _known = Known::of(&content).compare(&page("x"));
            let took = start.elapsed();
            // Quadratic time would be minutes; linear is tenths of a second on a machine that is busy, unoptimised.
            assert!(took < Duration::from_secs(15), "{name} took {took:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_stop_the_reading(bytes in prop::collection::vec(any::<u8>(), 0..600), named in prop::sample::select(vec![
        "text/html", "application/rss+xml", "application/json", "text/plain", "application/xml", "", "text/html; charset=shift_jis",
        "text/html; charset=utf-16", "image/png", "nonsense",
    ])) {
        let content = Content::read(&bytes, Some(named), &Rules::default());
        prop_assert_eq!(content.bytes_digest(), Digest::of(&bytes));
        let known = Known::of(&content);
        prop_assert_eq!(known.compare(&content), Compared::Unchanged);
        prop_assert_eq!(Known::decode(&known.encode()).unwrap(), known);
    }

    #[test]
    fn soup_of_tags_never_stops_the_reading(parts in prop::collection::vec(prop::sample::select(vec![
        "<p>", "</p>", "<div class=nav>", "</div>", "<nav>", "</nav>", "<a href=x>", "</a>", "<main>", "</main>", "word ", "<b>", "</b>",
        "<script>", "</script>", "<!--", "-->", "<td>", "&amp;", "&#x110000;", "<br/>", "<svg/>", "<title>", "</title>", "\u{A0}", "é", "<",
    ]), 0..60), keep in any::<bool>()) {
        let html = parts.concat();
        let rules = if keep { Rules::new(&["div"], &["b"]).unwrap() } else { Rules::default() };
        let text = Content::read(html.as_bytes(), Some("text/html"), &rules).text().to_owned();
        prop_assert!(!text.contains("  ") && !text.contains("\n\n") && text.trim() == text, "{:?} from {:?}", text, html);
    }

    #[test]
    fn canonical_json_is_the_same_value(value in json()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let content = Content::read(text.as_bytes(), Some("application/json"), &Rules::default());
        let found: serde_json::Value = serde_json::from_str(content.text()).unwrap();
        prop_assert_eq!(&found, &value);
        let again = Content::read(content.text().as_bytes(), Some("application/json"), &Rules::default());
        prop_assert_eq!(again.text(), content.text());
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "\\PC{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map("\\PC{0,5}", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}
