//! A fast static server: pages that lie ready in memory, with validators, on all addresses of loopback.

use std::convert::Infallible;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

/// Bodies that are made beforehand, in two versions each; pages beyond that have the body of another.
const BODIES: usize = 1000;
/// Bytes of a body, about.
const BODY_BYTES: usize = 10_000;
/// After this was asked for, pages with even numbers have changed.
pub(super) const FLIP: &str = "/flip";

struct Pages {
    bodies: [Vec<Bytes>; 2],
    is_flipped: AtomicBool,
}

/// A free port, on all addresses of loopback.
pub(super) fn bind() -> Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).context("cannot open a port")?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Answers without end, on one thread.
pub(super) fn serve(listener: TcpListener) -> Result<()> {
    let version = |version| (0..BODIES).map(|number| Bytes::from(body(number, version))).collect();
    let pages = Arc::new(Pages { bodies: [version(0), version(1)], is_flipped: AtomicBool::new(false) });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot serve")?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let pages = Arc::clone(&pages);
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let answer = pages.answer(&request);
                    async move { Ok::<_, Infallible>(answer) }
                });
                // A visitor that hangs up ends the connection, nothing else.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

impl Pages {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if path == FLIP {
            self.is_flipped.store(true, Ordering::Relaxed);
            return Response::default();
        }
        let Some(number) = path.strip_prefix("/pages/").and_then(|number| number.parse::<usize>().ok()) else {
            let mut nothing = Response::default();
            *nothing.status_mut() = StatusCode::NOT_FOUND;
            return nothing;
        };
        let version = usize::from(number.is_multiple_of(2) && self.is_flipped.load(Ordering::Relaxed));
        let tag = format!("\"{number}-{version}\"");
        let is_known =
            request.headers().get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let body = if is_known { Bytes::new() } else { self.bodies[version][number % BODIES].clone() };
        let mut answer = Response::new(Full::new(body));
        if is_known {
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        answer
    }
}

/// A page as they are: a head, navigation, headings, paragraphs with links, a footer, a script. In its second version one paragraph
/// in five is another.
fn body(number: usize, version: usize) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page {number}</title>\
         <meta name=\"description\" content=\"What page {number} is about\"><link rel=\"stylesheet\" href=\"/style.css\">\
         <script>window.config = {{ \"page\": {number}, \"a\": 1 < 2 }};</script></head><body>\n<nav><ul>"
    );
    for link in 0..20 {
        page.push_str(&format!("<li class=\"item\"><a href=\"/section/{link}\">Section {link}</a></li>\n"));
    }
    page.push_str("</ul></nav><main id=\"content\"><h1>A page of many words</h1>\n");
    let mut paragraph = 0;
    while page.len() < BODY_BYTES - 300 {
        let is_other = version > 0 && paragraph % 5 == 0;
        add_paragraph(&mut page, number * 1000 + paragraph + if is_other { 1 << 40 } else { 0 });
        paragraph += 1;
    }
    page.push_str("</main><footer><p>All rights are reserved, some are not.</p></footer><script src=\"/a.js\"></script></body></html>\n");
    page
}

/// Sixty words, some of them links, from a generator with this seed.
fn add_paragraph(page: &mut String, seed: usize) {
    const WORDS: [&str; 16] = [
        "the", "of", "market", "season", "report", "a", "engine", "after", "river", "because", "public", "seven",
        "garden", "law", "between", "morning",
    ];
    let mut random = seed as u64 + 1;
    page.push_str("<p class=\"text\">");
    for word in 0..60 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = random >> 40;
        match (word % 20, usize::try_from(number % 24).unwrap_or(0)) {
            (7, _) => page.push_str(&format!("<a href=\"/w/{number}\" rel=\"nofollow\">name{number}</a> &amp; ")),
            (_, common @ ..16) => page.push_str(&format!("{} ", WORDS[common])),
            _ => page.push_str(&format!("w{number} ")),
        }
    }
    page.push_str("</p>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_of_their_size_and_a_part_of_them_changes() {
        let (first, second) = (body(7, 0), body(7, 1));
        assert!((9_500..11_000).contains(&first.len()), "{}", first.len());
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::HashSet<_>>();
        let (first, second) = (lines(&first), lines(&second));
        let gone = first.difference(&second).count();
        assert!((2..8).contains(&gone), "{gone} of {}", first.len());
    }
}
