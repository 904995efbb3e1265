//! Whatever a server does, it costs one visit, within its limits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod support;

use everfresh_crawl::fetch::{Address, Ask, Limits, Outcome, Reach, Reason, Settings, Source, Web};
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Server, date, drip, failure, fetched, look, request, response, settings, web};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const SECOND: Duration = Duration::from_secs(1);

/// A server that reads a request and then talks as it likes.
async fn after_request<F>(talk: impl Fn(TcpStream) -> F + Send + Sync + Clone + 'static) -> Server
where
    F: Future<Output = ()> + Send + 'static,
{
    Server::talking(move |mut stream| {
        let talk = talk.clone();
        async move {
            if request(&mut stream).await.is_some() {
                talk(stream).await;
            }
        }
    })
    .await
}

/// The reason for which a visit fails, which it does within a time; the same client still works afterwards.
async fn reason(server: &Server, within: Duration) -> Reason {
    let web = web();
    let start = Instant::now();
    let failure = failure(look(&web, &server.url("/")).await);
    assert!(start.elapsed() < within, "{failure} after {:?}", start.elapsed());
    let good = Server::answering(|_| response("200 OK", &[], b"fine")).await;
    assert_eq!(fetched(look(&web, &good.url("/")).await).body, "fine");
    failure.reason
}

#[tokio::test]
async fn a_kept_connection_on_which_the_server_hangs_up_costs_no_visit() {
    let server = Server::talking(|mut stream| async move {
        if request(&mut stream).await.is_some() {
            stream.write_all(&response("200 OK", &[], b"fine")).await.unwrap();
            // The second request on a connection is read and not answered.
            request(&mut stream).await;
        }
    })
    .await;
    let web = web();
    for _ in 0..5 {
        assert_eq!(fetched(look(&web, &server.url("/")).await).body, "fine");
    }
    let deaf = after_request(|_| async {}).await;
    assert_eq!(reason(&deaf, 5 * SECOND).await, Reason::Cut);
}

#[tokio::test]
async fn an_endless_body_is_too_large() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        drip(&mut stream, &[b'x'; 8192], Duration::ZERO).await;
    });
    assert_eq!(reason(&server.await, 5 * SECOND).await, Reason::TooLarge);
}

#[tokio::test]
async fn endless_chunks_are_too_large() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
        drip(&mut stream, format!("64\r\n{}\r\n", "x".repeat(100)).repeat(200).as_bytes(), Duration::ZERO).await;
    });
    assert_eq!(reason(&server.await, 5 * SECOND).await, Reason::TooLarge);
}

#[tokio::test]
async fn a_gzip_bomb_is_a_bomb() {
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    bomb.write_all(&vec![0; 100 << 20]).unwrap();
    let bomb = bomb.finish().unwrap();
    let server = Server::answering(move |_| response("200 OK", &["Content-Encoding: gzip"], &bomb)).await;
    assert_eq!(reason(&server, 5 * SECOND).await, Reason::Bomb);
}

#[tokio::test]
async fn headers_that_drip_time_out() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
        drip(&mut stream, b"X-Y: z\r\n", Duration::from_millis(50)).await;
    });
    assert_eq!(reason(&server.await, 4 * SECOND).await, Reason::Timeout);
}

#[tokio::test]
async fn silence_times_out() {
    let server = after_request(|stream| async move {
        tokio::time::sleep(60 * SECOND).await;
        drop(stream);
    });
    assert_eq!(reason(&server.await, 4 * SECOND).await, Reason::Timeout);
}

#[tokio::test]
async fn a_body_that_drips_is_too_slow() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        drip(&mut stream, b"x", Duration::from_millis(20)).await;
    });
    assert_eq!(reason(&server.await, 3 * SECOND).await, Reason::TooSlow);
}

#[tokio::test]
async fn a_body_just_fast_enough_ends_with_the_time_of_the_visit() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        drip(&mut stream, &[b'x'; 200], Duration::from_millis(20)).await;
    });
    assert_eq!(reason(&server.await, 8 * SECOND).await, Reason::Timeout);
}

#[tokio::test]
async fn a_flood_of_headers_is_too_large_a_head() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
        drip(&mut stream, b"X-Y: z\r\n", Duration::ZERO).await;
    });
    assert_eq!(reason(&server.await, 4 * SECOND).await, Reason::HeadTooLarge);
}

#[tokio::test]
async fn one_endless_header_is_too_large_a_head() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nX-Y: ").await.unwrap();
        drip(&mut stream, &[b'z'; 4096], Duration::ZERO).await;
    });
    assert_eq!(reason(&server.await, 4 * SECOND).await, Reason::HeadTooLarge);
}

#[tokio::test]
async fn more_headers_than_the_limit_is_too_large_a_head() {
    let many = |count: usize| {
        let headers: Vec<String> = (0..count).map(|i| format!("X-{i}: y")).collect();
        response("200 OK", &headers.iter().map(String::as_str).collect::<Vec<_>>(), b"x")
    };
    let most = Limits::default().headers;
    // Content-Length is one as well.
    let server = Server::answering(move |path| many(if path == "/few" { most - 1 } else { most })).await;
    assert_eq!(fetched(look(&web(), &server.url("/few")).await).body, "x");
    assert_eq!(reason(&server, SECOND).await, Reason::HeadTooLarge);
}

#[tokio::test]
async fn a_redirect_loop_is_found_at_once() {
    let server = Server::answering(|path| {
        let next = if path == "/a" { "/b" } else { "/a" };
        response("302 Found", &[&format!("Location: {next}")], b"elsewhere")
    })
    .await;
    assert_eq!(reason(&server, SECOND).await, Reason::RedirectLoop);
    assert_eq!(server.lines(), ["GET /", "GET /a", "GET /b"]);
    assert_eq!(server.connections(), 1, "the connection serves all hops");
}

#[tokio::test]
async fn a_page_that_redirects_to_itself_is_a_loop() {
    let server = Server::answering(|_| response("301 Moved Permanently", &["Location: /#again"], b"")).await;
    assert_eq!(reason(&server, SECOND).await, Reason::RedirectLoop);
}

#[tokio::test]
async fn endless_redirects_are_too_many() {
    let server = Server::answering(|path| {
        let next: u32 = path[1..].parse().unwrap_or(0) + 1;
        response("302 Found", &[&format!("Location: /{next}")], b"")
    })
    .await;
    assert_eq!(reason(&server, SECOND).await, Reason::TooManyRedirects);
    assert_eq!(server.lines().len(), Limits::default().redirects + 1);
}

#[tokio::test]
async fn redirects_out_of_the_web_lead_nowhere() {
    for location in ["file:///etc/passwd", "exec:id", "/\u{0}", "http://", "javascript:1", "http://u:p@127.0.0.1/"] {
        let server = Server::answering(move |_| response("302 Found", &[&format!("Location: {location}")], b"")).await;
        let reason = failure(look(&web(), &server.url("/")).await).reason;
        assert!([Reason::BadRedirect, Reason::Malformed].contains(&reason), "{location}: {reason:?}");
    }
    let server = Server::answering(|_| response("302 Found", &[], b"")).await;
    assert_eq!(reason(&server, SECOND).await, Reason::BadRedirect);
}

#[tokio::test]
async fn a_body_shorter_than_its_length_is_cut() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort").await.unwrap();
    });
    assert_eq!(reason(&server.await, SECOND).await, Reason::Cut);
}

#[tokio::test]
async fn what_follows_a_body_longer_than_its_length_is_nobodys_answer() {
    let server = Server::answering(|path| match path {
        "/long" => {
            b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngoodHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".to_vec()
        }
        _ => response("200 OK", &[], b"next"),
    })
    .await;
    let web = web();
    for _ in 0..20 {
        assert_eq!(fetched(look(&web, &server.url("/long")).await).body, "good");
        assert_eq!(fetched(look(&web, &server.url("/next")).await).body, "next");
    }
}

#[tokio::test]
async fn contradicting_lengths_are_malformed() {
    let server =
        Server::answering(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ngood!".to_vec());
    assert_eq!(reason(&server.await, SECOND).await, Reason::Malformed);
}

#[tokio::test]
async fn a_length_beyond_all_memory_takes_none() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\nx").await.unwrap();
    });
    assert_eq!(reason(&server.await, SECOND).await, Reason::Cut);
}

#[tokio::test]
async fn a_connection_cut_before_the_answer_is_cut() {
    let server = after_request(|stream| async move { drop(stream) }).await;
    assert_eq!(reason(&server, SECOND).await, Reason::Cut);
}

#[tokio::test]
async fn a_connection_cut_in_a_chunk_is_cut() {
    let server = after_request(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\nhalf").await.unwrap();
    });
    assert_eq!(reason(&server.await, SECOND).await, Reason::Cut);
}

#[tokio::test]
async fn nobody_listening_is_no_connection() {
    let server = Server::answering(|_| Vec::new()).await;
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let failed = failure(look(&web(), &format!("http://{port}/")).await);
    assert_eq!(failed.reason, Reason::Connect, "{failed}");
    assert!(failed.reason.retryable());
    drop(server);
}

#[tokio::test]
async fn garbage_is_malformed() {
    let garbage: Vec<u8> = (0..5000_u32).map(|i| ((i * 7919) >> 3).to_le_bytes()[0] | 0x80).collect();
    let server = after_request(move |mut stream| {
        let garbage = garbage.clone();
        async move { stream.write_all(&garbage).await.unwrap() }
    });
    assert_eq!(reason(&server.await, SECOND).await, Reason::Malformed);
}

#[tokio::test]
async fn content_in_an_unknown_code_is_malformed() {
    for (encoding, body) in
        [("rot13", "uryyb"), ("gzip", "this is no gzip"), ("br", "nor brotli"), ("zstd", "nor that")]
    {
        let header = format!("Content-Encoding: {encoding}");
        let server = Server::answering(move |_| response("200 OK", &[&header], body.as_bytes())).await;
        assert_eq!(reason(&server, SECOND).await, Reason::Malformed, "{encoding}");
    }
}

#[tokio::test]
async fn a_busy_server_says_when_to_come_again() {
    for (status, after, seconds) in [("429 Slow", "120", 120), ("503 Wait", "Fri, 15 Jan 2027 08:10:00 GMT", 600)] {
        let header = format!("Retry-After: {after}");
        let server = Server::answering(move |_| response(status, &[&header], b"later")).await;
        let visit = look(&web(), &server.url("/")).await;
        let [manners] = visit.manners.as_slice() else { panic!("{:?}", visit.manners) };
        assert_eq!(manners.host, format!("http://{}", server.address));
        assert!(manners.slow_down);
        assert_eq!(manners.blocked_until.unwrap().as_second() - date().as_second(), seconds, "{status}");
        let failed = failure(visit);
        assert_eq!((failed.reason, failed.reason.retryable()), (Reason::Busy, true));
        assert_eq!(failed.exchange.unwrap().status.as_u16().to_string(), status[..3]);
    }
}

#[tokio::test]
async fn every_status_has_its_class() {
    let server = Server::answering(|path| response(&format!("{} X", &path[1..]), &[], b"")).await;
    let web = web();
    let mut classes = Vec::new();
    for status in
        [200, 203, 204, 206, 300, 304, 400, 401, 403, 404, 408, 410, 418, 425, 429, 451, 500, 502, 503, 599, 999]
    {
        let class = match look(&web, &server.url(&format!("/{status}"))).await.outcome {
            Outcome::Fetched(_) => "fetched".to_owned(),
            Outcome::NotModified(_) => "not modified".to_owned(),
            Outcome::Gone(gone) => format!("gone{}", if gone.for_good { " for good" } else { "" }),
            Outcome::Failed(failure) => format!("{:?}", failure.reason),
        };
        classes.push(format!("{status} {class}"));
    }
    let expected = "200 fetched, 203 fetched, 204 fetched, 206 Malformed, 300 Malformed, 304 Malformed, 400 Refused, \
        401 Refused, 403 Refused, 404 gone, 408 ServerFault, 410 gone for good, 418 Refused, 425 ServerFault, 429 Busy, \
        451 Refused, 500 ServerFault, 502 ServerFault, 503 Busy, 599 ServerFault, 999 ServerFault";
    assert_eq!(classes.join(", "), expected);
}

#[tokio::test]
async fn private_addresses_are_refused_in_every_spelling() {
    let server = Server::answering(|_| response("200 OK", &[], b"secret")).await;
    let web = Web::new(Settings { reach: Reach::public(), ..settings() }).unwrap();
    let port = server.address.port();
    for host in ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "0"] {
        let failed = failure(look(&web, &format!("http://{host}:{port}/")).await);
        assert_eq!(failed.reason, Reason::PrivateAddress, "{host}: {failed}");
        assert!(!failed.reason.retryable());
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let server =
        Server::answering(|_| response("302 Found", &["Location: http://169.254.169.254/latest/meta-data"], b""));
    assert_eq!(reason(&server.await, SECOND).await, Reason::PrivateAddress);
}

#[tokio::test]
async fn a_head_suffices_where_nothing_is_and_brings_the_whole_where_something_is() {
    let server = Server::answering(|path| match path {
        "/gone" => b"HTTP/1.1 404 Not Found\r\nContent-Length: 9999\r\n\r\n".to_vec(),
        "/moved" => b"HTTP/1.1 301 Moved\r\nLocation: /gone\r\nContent-Length: 9\r\n\r\n".to_vec(),
        _ => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
    })
    .await;
    let web = web();
    let probe = |path: &str| Ask::new(Address::of_page(&server.url(path)).unwrap(), date()).probing();
    assert!(matches!(web.look(&probe("/gone")).await.outcome, Outcome::Gone(_)));
    assert!(matches!(web.look(&probe("/moved")).await.outcome, Outcome::Gone(_)));
    let back = web.look(&probe("/back")).await;
    assert_eq!(back.requests, 2);
    fetched(back);
    assert_eq!(server.lines(), ["HEAD /gone", "HEAD /moved", "HEAD /gone", "HEAD /back", "GET /back"]);
}

#[tokio::test]
async fn permanent_redirects_are_reported_up_to_the_first_temporary_one() {
    let server = Server::answering(|path| match path {
        "/1" => response("301 Moved", &["Location: /2"], b""),
        "/2" => response("308 Moved", &["Location: /3"], b""),
        "/3" => response("307 For now", &["Location: /4"], b""),
        "/4" => response("301 Moved", &["Location: /5"], b""),
        _ => response("200 OK", &[], b"here"),
    })
    .await;
    let visit = look(&web(), &server.url("/1")).await;
    assert_eq!(visit.moved_to().unwrap().path(), "/3");
    assert_eq!((visit.redirects.len(), visit.requests), (4, 5));
    assert_eq!(fetched(visit).address, server.url("/5"));
    assert!(look(&web(), &server.url("/3")).await.moved_to().is_none());
}

#[tokio::test]
async fn what_a_warc_record_needs_is_there() {
    let server = Server::answering(|_| {
        response("200 Sure thing", &["Content-Type: text/plain", "ETag: \"e\"", "X-Robots-Tag: noarchive"], b"body")
    })
    .await;
    let found = fetched(look(&web(), &server.url("/a?b=c")).await);
    let exchange = found.exchange.unwrap();
    let request = String::from_utf8(exchange.request_head()).unwrap();
    let sorted = |head: &str| {
        let mut lines: Vec<String> = head.lines().map(str::to_ascii_lowercase).collect();
        lines[1..].sort();
        lines
    };
    assert_eq!(sorted(&request), sorted(&server.heads()[0]), "as it was sent");
    assert!(request.contains("user-agent: everfresh/0.1 (+https://example.com/bot)\r\n"));
    let head = String::from_utf8(exchange.response_head(found.body.len())).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 Sure thing\r\n"), "{head}");
    assert!(head.contains("x-crawl-content-length: 4\r\n") && head.ends_with("content-length: 4\r\n\r\n"), "{head}");
    assert_eq!((exchange.ip, exchange.date), (Some(server.address.ip()), date()));
    assert_eq!(found.content_type.as_deref(), Some("text/plain"));
    assert_eq!(found.hints.validators.unwrap().etag.as_deref(), Some("\"e\""));
    assert!(found.hints.no_archive);
}

#[tokio::test]
async fn validators_go_only_to_whom_they_came_from() {
    let server = Server::answering(|path| match path {
        "/old" => response("302 Found", &["Location: /new"], b""),
        _ => response("200 OK", &["ETag: \"e\""], b"x"),
    })
    .await;
    let web = web();
    let validators = fetched(look(&web, &server.url("/new")).await).hints.validators.unwrap();
    let ask = Ask::new(Address::of_page(&server.url("/old")).unwrap(), date()).remembering(validators);
    fetched(web.look(&ask).await);
    let asked: Vec<bool> = server.heads().iter().map(|head| head.contains("if-none-match: \"e\"")).collect();
    assert_eq!(asked, [false, false, true]);
}

#[tokio::test]
async fn cookies_are_not_kept() {
    let server = Server::answering(|_| response("200 OK", &["Set-Cookie: a=b; Path=/"], b"x")).await;
    let web = web();
    fetched(look(&web, &server.url("/")).await);
    fetched(look(&web, &server.url("/")).await);
    assert!(server.heads().iter().all(|head| !head.to_lowercase().contains("cookie")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_serves_many_tasks_on_few_connections() {
    let server = Arc::new(Server::answering(|path| response("200 OK", &[], path.as_bytes())).await);
    let web = web();
    let visits = (0..8).map(|task| {
        let (web, server) = (web.clone(), server.clone());
        tokio::spawn(async move {
            for page in 0..200 {
                let path = format!("/{task}/{page}");
                assert_eq!(fetched(look(&web, &server.url(&path)).await).body, path);
            }
        })
    });
    for visit in visits.collect::<Vec<_>>() {
        visit.await.unwrap();
    }
    assert!(server.connections() <= 40, "{} connections for 1600 visits", server.connections());
}
