//! How fast bytes become text, sketches and records, on one core.
//!
//! `cargo run --release --example content_speed -p everfresh-crawl [FOLDER OF HTML FILES]`; without a folder, on pages that are
//! made here. Times are those of the processor where the system tells them, so that a busy machine does not matter.

#![allow(clippy::print_stdout)]

use everfresh_crawl::content::{Content, Known, Rules};
use everfresh_crawl::warc::{Archive, Exchange, Settings, answer_head};
use jiff::Timestamp;
use std::error::Error;
use std::time::Instant;

/// Bytes of a page as speeds are counted in.
const PAGE: f64 = 16_384.0;

fn main() -> Result<(), Box<dyn Error>> {
    let pages = match std::env::args().nth(1) {
        Some(folder) => {
            std::fs::read_dir(folder)?.map(|entry| std::fs::read(entry?.path())).collect::<Result<Vec<_>, _>>()?
        }
        None => (0..200).map(made_page).collect(),
    };
    let bytes: usize = pages.iter().map(Vec::len).sum();
    println!("{} pages, {:.1} MB", pages.len(), bytes as f64 / 1e6);
    let rules = Rules::new(&["main", "article", "body"], &[".clock"])?;
    let html = Some("text/html");
    let read = |page: &[u8], rules: &Rules| Content::read(page, html, rules);
    measure("read", bytes, || Ok(pages.iter().map(|page| read(page, &Rules::default()).text().len()).sum()))?;
    measure("read, with rules", bytes, || Ok(pages.iter().map(|page| read(page, &rules).text().len()).sum()))?;
    measure("read and sketch", bytes, || {
        Ok(pages.iter().map(|page| Known::of(&read(page, &Rules::default())).sketch().len()).sum())
    })?;
    measure("the same bytes again", bytes, || {
        let known = Known::of(&read(&pages[0], &Rules::default()));
        Ok(pages.iter().map(|page| usize::from(known.is_of(page, &Rules::default()))).sum())
    })?;
    for level in [1, 2, 6] {
        let folder = tempfile::tempdir()?;
        let mut archive = Archive::open(folder.path(), Settings { level, ..Settings::default() })?;
        let mut second = 0;
        measure(&format!("keep, level {level}"), bytes, || {
            let mut kept = 0;
            for (at, page) in pages.iter().enumerate() {
                second += 1;
                let head = answer_head("HTTP/1.1", 200, "OK", [("Content-Type", "text/html")], Some(page.len() as u64));
                let (target, date) = (format!("http://a.example/{second}/{at}"), Timestamp::from_second(second)?);
                let (request, address, truncated) = (Some(b"GET / HTTP/1.1\r\n\r\n".as_slice()), None, None);
                let (target, head, body, page) = (target.as_str(), head.as_slice(), page.as_slice(), None);
                kept += archive.keep(&Exchange { target, page, date, address, request, head, body, truncated })?.length;
            }
            archive.sync()?;
            Ok(usize::try_from(kept)?)
        })?;
    }
    Ok(())
}

/// Repeats work for a second and prints its speed.
fn measure(
    what: &str,
    bytes: usize,
    mut work: impl FnMut() -> Result<usize, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (start, wall) = (processor_s(), Instant::now());
    let spent = || processor_s().zip(start).map_or(wall.elapsed().as_secs_f64(), |(now, start)| now - start);
    let (mut rounds, mut sum) = (0.0, 0);
    while spent() < 1.0 {
        sum = work()?;
        rounds += 1.0;
    }
    let per_second = rounds * bytes as f64 / spent();
    println!("{what:22} {:8.1} MB/s {:8.0} pages of 16 kB/s   ({sum})", per_second / 1e6, per_second / PAGE);
    Ok(())
}

/// Seconds that this thread had a processor, where the system says so.
fn processor_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// A page of about 16 kB: a head, navigation, paragraphs with links, a footer.
fn made_page(number: usize) -> Vec<u8> {
    let mut page = format!(
        "<!doctype html><html><head><title>Page {number}</title><meta charset=utf-8><style>p{{margin:0}}</style></head><body class=\"page\">"
    );
    page.push_str("<nav class=\"site-nav\"><ul>");
    (0..30).for_each(|n| page.push_str(&format!("<li class=\"item\"><a href=\"/section/{n}\">Section {n}</a></li>")));
    page.push_str("</ul></nav><main id=\"content\"><h1>Heading</h1>");
    let mut word = number;
    while page.len() < 15_500 {
        page.push_str("<p class=\"text\">");
        for n in 0..60 {
            word = word.wrapping_mul(25_214_903_917).wrapping_add(11) % 4093;
            page.push_str(&if n % 20 == 7 {
                format!("<a href=\"/w/{word}\">word{word}</a> &amp; ")
            } else {
                format!("w{word} ")
            });
        }
        page.push_str("</p>\n");
    }
    page.push_str("</main><footer>All rights</footer><script>var a = 1 < 2;</script></body></html>");
    page.into_bytes()
}
