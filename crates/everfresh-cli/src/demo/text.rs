//! The texts of the demo's pages: each follows from the seed, the page and the number of the text.

use std::fmt::Write;

use everfresh_crawl::content::Digest;
use rand::RngExt;

use super::site::Shape;
use super::world::dice;

const WORDS: [&str; 64] = [
    "amber", "anchor", "apple", "autumn", "barley", "basket", "beacon", "birch", "bridge", "candle", "canyon", "cedar",
    "cherry", "cloud", "clover", "copper", "coral", "cotton", "dawn", "delta", "ember", "falcon", "fern", "field",
    "flint", "forest", "garden", "ginger", "glacier", "granite", "harbor", "hazel", "heron", "honey", "island",
    "ivory", "jasmine", "juniper", "lantern", "laurel", "linen", "maple", "marble", "meadow", "mint", "mirror", "oak",
    "olive", "orchard", "pebble", "pepper", "pine", "quartz", "river", "saffron", "sage", "silver", "spruce", "stone",
    "thistle", "timber", "valley", "walnut", "willow",
];

/// Parts of a page that are replaced in turn.
const PARTS: u32 = 4;
/// Items of a list.
const ITEMS: u32 = 10;

/// What a block is made for, so that none has the random numbers of another.
const HEADING: u32 = 16;
const FIXED: u32 = 17;
const ITEM: u32 = 18;
const PART: u32 = 32;

fn sentence(seed: u64, page: u32, purpose: u32, index: u32, words: usize) -> String {
    let mut rng = dice(seed, page, purpose, index);
    let words: Vec<&str> = (0..words).map(|_| WORDS[rng.random_range(0..WORDS.len())]).collect();
    words.join(" ") + "."
}

/// The blocks of a page: a heading, what stays, and what changes.
pub(super) fn blocks(seed: u64, page: u32, shape: Shape, text: u32) -> Vec<String> {
    let mut blocks = vec![sentence(seed, page, HEADING, 0, 4)];
    blocks.extend((0..3).map(|number| sentence(seed, page, FIXED, number, 40)));
    match shape {
        // The k-th change replaces part k modulo their number.
        Shape::Churn => blocks.extend((0..PARTS).map(|part| {
            let replaced = (text + (PARTS - part) % PARTS) / PARTS;
            sentence(seed, page, PART + part, replaced, 20)
        })),
        Shape::Scroll => blocks.extend((text..text + ITEMS).rev().map(|item| sentence(seed, page, ITEM, item, 12))),
        Shape::Revert => blocks.push(sentence(seed, page, PART, text, 20)),
    }
    blocks
}

/// The digest that a reader finds of a page with these blocks.
pub(super) fn digest(blocks: &[String]) -> Digest {
    Digest::of(blocks.join("\n").as_bytes())
}

/// A page with these blocks, and what is around them.
pub(super) fn html(site: &str, blocks: &[String], foot: &str) -> String {
    let heading = blocks.first().map_or("", String::as_str);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{heading} - {site}</title>\n\
         <nav><a href=\"/\">{site}</a></nav>\n<main>\n<h1>{heading}</h1>\n"
    );
    for block in blocks.iter().skip(1) {
        // Writing to a string does not fail.
        let _ = writeln!(html, "<p>{block}</p>");
    }
    html.push_str("</main>\n<footer>");
    html.push_str(foot);
    html.push_str("</footer>\n</html>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use everfresh_crawl::content::{Content, Rules};

    #[test]
    fn a_reader_finds_the_text_and_nothing_of_what_is_around_it() {
        for shape in [Shape::Churn, Shape::Scroll, Shape::Revert] {
            for text in 0..30 {
                let blocks = blocks(1, 7, shape, text);
                let html = html("wiki", &blocks, &format!("served at {text}"));
                let content = Content::read(html.as_bytes(), Some("text/html"), &Rules::default());
                assert_eq!(content.text(), blocks.join("\n"));
                assert_eq!(content.text_digest(), digest(&blocks));
            }
        }
    }

    #[test]
    fn a_change_replaces_one_part() {
        for (shape, blocks_changed) in [(Shape::Churn, 1), (Shape::Revert, 1)] {
            for text in 0..12 {
                let (before, after) = (blocks(1, 3, shape, text), blocks(1, 3, shape, text + 1));
                let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
                assert_eq!(changed, blocks_changed, "{shape:?} {text}");
            }
        }
        let (before, after) = (blocks(1, 3, Shape::Scroll, 4), blocks(1, 3, Shape::Scroll, 5));
        assert_eq!(before[4..13], after[5..14]);
        assert_ne!(before[4], after[4]);
    }

    #[test]
    fn no_two_texts_of_a_page_are_equal() {
        for shape in [Shape::Churn, Shape::Scroll, Shape::Revert] {
            let mut digests: Vec<_> = (0..2000).map(|text| *digest(&blocks(1, 3, shape, text)).bytes()).collect();
            digests.sort_unstable();
            digests.dedup();
            assert_eq!(digests.len(), 2000);
        }
    }
}
