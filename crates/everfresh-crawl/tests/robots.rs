//! robots.txt by RFC 9309: what it means, as a table, and how it is asked for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod support;

use everfresh_crawl::fetch::{Address, Ask, Reason, Robots, Settings, Source, Web};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::{Server, date, failure, fetched, look, response, settings};

const EXAMPLE: &str = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
    User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
    User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n";
const LONGEST: &str = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
const MERGED: &str = "user-agent: a\ndisallow: /x\nuser-agent: b\ndisallow: /y\nuser-agent: a\ndisallow: /z\n";
const SPECIAL: &str =
    "user-agent: a\nallow: /file-with-a-%2A.html\ndisallow: /file-with-a-*.html\ndisallow: /foo-%24\n";

/// Section, text, agent, path, allowed.
const CASES: &[(&str, &str, &str, &str, bool)] = &[
    ("5.1", EXAMPLE, "foobot", "/", false),
    ("5.1", EXAMPLE, "foobot", "/example/page.html", true),
    ("5.1", EXAMPLE, "foobot", "/example/allowed.gif", true),
    ("5.1", EXAMPLE, "barbot", "/example/page.html", false),
    ("5.1", EXAMPLE, "bazbot", "/example/page.html", false),
    ("5.1", EXAMPLE, "bazbot", "/x.gif", true),
    ("5.1", EXAMPLE, "quxbot", "/example/", true),
    ("5.1", EXAMPLE, "other", "/a/x.gif", false),
    ("5.1", EXAMPLE, "other", "/a/x.gif?y", true),
    ("5.1", EXAMPLE, "other", "/publications/x", true),
    ("5.2", LONGEST, "foobot", "/example/page/disallowed.gif", false),
    ("5.2", LONGEST, "foobot", "/example/page/x", true),
    ("2.2.1 groups of an agent are one", MERGED, "a", "/x", false),
    ("2.2.1 groups of an agent are one", MERGED, "a", "/z", false),
    ("2.2.1 and not another's", MERGED, "a", "/y", true),
    ("2.2.1 letters of any size", "USER-AGENT: EverFresh\nDisALLOW: /x", "everfresh", "/x", false),
    ("2.2.1 a version behind it", "user-agent: everfresh/1.0 (x)\ndisallow: /x", "everfresh", "/x", false),
    ("2.2.1 no part of ours", "user-agent: ever\ndisallow: /x", "everfresh", "/x", true),
    ("2.2.1 no longer one", "user-agent: everfresh-news\ndisallow: /x", "everfresh", "/x", true),
    (
        "2.2.1 * only without our own",
        "user-agent: *\ndisallow: /\nuser-agent: everfresh\nallow: /a",
        "everfresh",
        "/b",
        true,
    ),
    ("2.2.1 nobody's rules", "user-agent: x\ndisallow: /", "everfresh", "/b", true),
    ("2.2.1 rules before a group", "disallow: /\nuser-agent: everfresh\ndisallow: /a", "everfresh", "/b", true),
    ("2.2.1 nothing", "", "everfresh", "/b", true),
    ("2.2.2 an empty rule", "user-agent: *\ndisallow:", "everfresh", "/b", true),
    ("2.2.2 an empty rule", "user-agent: *\ndisallow: /\nallow:", "everfresh", "/b", false),
    ("2.2.2 allow wins a tie", "user-agent: *\ndisallow: /p\nallow: /p", "everfresh", "/p", true),
    ("2.2.2 allow wins a tie", "user-agent: *\nallow: /p\ndisallow: /p", "everfresh", "/p", true),
    ("2.2.2 the longest wins", "user-agent: *\nallow: /f\ndisallow: /f/p", "everfresh", "/f/p", false),
    ("2.2.2 size of letters", "user-agent: *\ndisallow: /A", "everfresh", "/a", true),
    ("2.2.2 itself", "user-agent: *\ndisallow: /", "everfresh", "/robots.txt", true),
    ("2.2.2 UTF-8", "user-agent: *\ndisallow: /bar/ツ", "everfresh", "/bar/%E3%83%84", false),
    ("2.2.2 encoded", "user-agent: *\ndisallow: /bar/%E3%83%84", "everfresh", "/bar/ツ", false),
    ("2.2.2 encoded small", "user-agent: *\ndisallow: /bar/%e3%83%84", "everfresh", "/bar/%E3%83%84", false),
    ("2.2.2 needlessly encoded", "user-agent: *\ndisallow: /bar/%62%61%7A", "everfresh", "/bar/baz", false),
    ("2.2.2 needlessly encoded", "user-agent: *\ndisallow: /bar/baz", "everfresh", "/bar/%62%61%7A", false),
    ("2.2.2 encoded with reason", "user-agent: *\ndisallow: /a%2Fb", "everfresh", "/a/b", true),
    ("2.2.2 query", "user-agent: *\ndisallow: /b?z=https%3A%2F%2Ff", "everfresh", "/b?z=https%3A%2F%2Ff", false),
    ("2.2.3 a star itself", SPECIAL, "a", "/file-with-a-*.html", true),
    ("2.2.3 a star", SPECIAL, "a", "/file-with-a-b.html", false),
    ("2.2.3 a dollar itself", SPECIAL, "a", "/foo-$", false),
    ("2.2.3 star inside", "user-agent: *\ndisallow: /this/*/exactly", "everfresh", "/this/is/it/exactly/so", false),
    ("2.2.3 star at the end", "user-agent: *\ndisallow: /fish*", "everfresh", "/fish.html", false),
    ("2.2.3 end", "user-agent: *\nallow: /this$\ndisallow: /", "everfresh", "/this", true),
    ("2.2.3 end", "user-agent: *\nallow: /this$\ndisallow: /", "everfresh", "/this/x", false),
    ("2.2.3 comments", "user-agent: * # all\ndisallow: /x # no\n# end", "everfresh", "/x", false),
    ("2.2 other marks mean nothing", "user-agent: *\ndisallow: /a.b", "everfresh", "/aXb", true),
    ("2.2 other marks mean nothing", "user-agent: *\ndisallow: /a(b[c", "everfresh", "/a(b[c", false),
    ("2.2 blanks", "  user-agent :  everfresh  \n\t disallow\t:\t/x\t", "everfresh", "/x", false),
    ("2.2 ends of lines", "user-agent: everfresh\r\ndisallow: /x\r\n", "everfresh", "/x", false),
    ("2.2 ends of lines", "user-agent: everfresh\rdisallow: /x\r", "everfresh", "/x", false),
    ("2.2 byte order mark", "\u{feff}user-agent: everfresh\ndisallow: /x", "everfresh", "/x", false),
    ("2.2 empty lines in a group", "user-agent: everfresh\n\ndisallow: /x", "everfresh", "/x", false),
    ("2.2.4 other records", "user-agent: a\nsitemap: http://e/s\nuser-agent: b\ndisallow: /x", "a", "/x", false),
    ("2.2.4 other records", "user-agent: a\nfoo: bar\nuser-agent: b\ndisallow: /x", "a", "/x", false),
    ("no records", "<html><body>Disallow: /</body></html>", "everfresh", "/x", true),
];

#[test]
fn the_cases_of_the_rfc() {
    let wrong: Vec<_> = CASES
        .iter()
        .filter(|(_, text, agent, path, allowed)| {
            let url = format!("http://example.com{path}").parse().unwrap();
            Robots::parse(text.as_bytes(), agent).allows(&url) != *allowed
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn bytes_that_are_no_text_spoil_only_their_line() {
    let robots =
        Robots::parse(b"# caf\xe9\nuser-agent: *\ndisallow: /\xff\xfe\ndisallow: /a\0b\ndisallow: /x\n", "everfresh");
    assert!(!robots.allows(&"http://e/x".parse().unwrap()));
    assert!(robots.allows(&"http://e/y".parse().unwrap()));
}

#[test]
fn hostile_rules_take_no_time() {
    let stars = format!("user-agent: *\n{}", format!("disallow: /{}b$\n", "*a".repeat(1000)).repeat(200));
    let url = format!("http://e/{}", "a".repeat(2000)).parse().unwrap();
    let start = std::time::Instant::now();
    assert!(Robots::parse(stars.as_bytes(), "everfresh").allows(&url));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

fn obeying() -> Web {
    Web::new(Settings { obey_robots: true, ..settings() }).unwrap()
}

/// A server with such a robots.txt and a page for everything else.
async fn with_robots(robots: Vec<u8>) -> Server {
    let page = |_: &str| response("200 OK", &[], b"page");
    Server::answering(move |path| if path == "/robots.txt" { robots.clone() } else { page(path) }).await
}

async fn outcome(robots: Vec<u8>) -> Result<(), Reason> {
    let server = with_robots(robots).await;
    match look(&obeying(), &server.url("/page")).await.outcome {
        everfresh_crawl::fetch::Outcome::Failed(failure) => Err(failure.reason),
        _ => Ok(()),
    }
}

#[tokio::test]
async fn what_an_answer_means() {
    assert_eq!(outcome(response("200 OK", &[], b"user-agent: *\ndisallow: /page")).await, Err(Reason::Robots));
    assert_eq!(outcome(response("200 OK", &[], b"")).await, Ok(()));
    for status in ["400", "401", "403", "404", "410", "429", "451"] {
        assert_eq!(outcome(response(&format!("{status} X"), &[], b"disallow: /")).await, Ok(()), "{status}");
    }
    for status in ["500", "502", "503", "599"] {
        let robots = response(&format!("{status} X"), &[], b"");
        assert_eq!(outcome(robots).await, Err(Reason::RobotsUnreachable), "{status}");
    }
    assert_eq!(outcome(b"garbage\r\n\r\n".to_vec()).await, Err(Reason::RobotsUnreachable));
    assert!(Reason::RobotsUnreachable.retryable() && !Reason::Robots.retryable());
}

#[tokio::test]
async fn five_redirects_are_followed_and_more_mean_that_there_is_none() {
    for (last, expected) in [(5, Err(Reason::Robots)), (6, Ok(()))] {
        let server = Server::answering(move |path| {
            let hop: u32 = path.trim_start_matches("/hop").parse().unwrap_or(0);
            match path {
                "/page" => response("200 OK", &[], b"page"),
                _ if hop == last => response("200 OK", &[], b"user-agent: *\ndisallow: /"),
                _ => response("301 Moved", &[&format!("Location: /hop{}", hop + 1)], b""),
            }
        })
        .await;
        let visit = look(&obeying(), &server.url("/page")).await;
        let found = if let everfresh_crawl::fetch::Outcome::Failed(failure) = visit.outcome {
            Err(failure.reason)
        } else {
            Ok(())
        };
        assert_eq!(found, expected, "{last} redirects");
    }
}

#[tokio::test]
async fn five_hundred_kibibytes_are_read_and_no_more() {
    let comment = format!("{}\n", "#".repeat(99)).repeat(5110);
    let early = format!("{comment}user-agent: *\ndisallow: /\n");
    assert!(early.len() < 500 << 10);
    assert_eq!(outcome(response("200 OK", &[], early.as_bytes())).await, Err(Reason::Robots));
    let late = format!("{comment}{comment}user-agent: *\ndisallow: /\n");
    assert_eq!(outcome(response("200 OK", &[], late.as_bytes())).await, Ok(()));
}

#[tokio::test]
async fn the_host_is_told_its_delay_and_its_sitemaps() {
    let robots = response("200 OK", &[], b"user-agent: *\ncrawl-delay: 2.5\nsitemap: https://example.com/map.xml\n");
    let server = with_robots(robots).await;
    let web = obeying();
    let visit = look(&web, &server.url("/page")).await;
    assert_eq!(visit.manners[0].crawl_delay, Some(Duration::from_millis(2500)));
    assert_eq!(visit.requests, 1, "robots.txt is not counted");
    let robots = web.robots(&server.url("/page").parse().unwrap(), date()).await;
    assert_eq!(robots.sitemaps()[0].as_str(), "https://example.com/map.xml");
    fetched(visit);
    assert_eq!(server.lines(), ["GET /robots.txt", "GET /page"]);
}

#[tokio::test]
async fn a_busy_robots_txt_slows_the_host_down() {
    let server = with_robots(response("429 Slow", &["Retry-After: 60"], b"")).await;
    let visit = look(&obeying(), &server.url("/page")).await;
    assert!(visit.manners[0].slow_down);
    assert_eq!(visit.manners[0].blocked_until, Some(date() + SignedDuration::from_secs(60)));
    fetched(visit);
}

#[tokio::test]
async fn redirects_are_judged_by_the_robots_txt_of_where_they_lead() {
    let strict = with_robots(response("200 OK", &[], b"user-agent: everfresh\ndisallow: /")).await;
    let location = format!("Location: {}", strict.url("/page"));
    let server = Server::answering(move |path| match path {
        "/robots.txt" => response("404 Not Found", &[], b""),
        _ => response("302 Found", &[&location], b""),
    })
    .await;
    assert_eq!(failure(look(&obeying(), &server.url("/")).await).reason, Reason::Robots);
    assert_eq!(strict.lines(), ["GET /robots.txt"]);
}

#[tokio::test]
async fn many_who_come_at_once_ask_once() {
    let server = Arc::new(with_robots(response("200 OK", &[], b"user-agent: *\nallow: /")).await);
    let web = obeying();
    let visits: Vec<_> = (0..50)
        .map(|_| {
            let (web, server) = (web.clone(), server.clone());
            tokio::spawn(async move { fetched(look(&web, &server.url("/page")).await) })
        })
        .collect();
    for visit in visits {
        visit.await.unwrap();
    }
    assert_eq!(server.lines().iter().filter(|line| line.contains("robots")).count(), 1);
}

/// Is the page allowed at a time after the first visit?
async fn allowed(web: &Web, server: &Server, after: SignedDuration) -> bool {
    let at: Timestamp = date() + after;
    let ask = Ask::new(Address::of_page(&server.url("/page")).unwrap(), at);
    !matches!(web.look(&ask).await.outcome, everfresh_crawl::fetch::Outcome::Failed(_))
}

/// A server whose robots.txt is another one each time.
async fn with_many_robots(answers: Vec<Vec<u8>>) -> Server {
    let asked = AtomicUsize::new(0);
    Server::answering(move |path| match path {
        "/robots.txt" => answers[asked.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1)].clone(),
        _ => response("200 OK", &[], b"page"),
    })
    .await
}

#[tokio::test]
async fn it_is_believed_for_a_day_and_then_asked_for_with_its_validators() {
    let open = response("200 OK", &["ETag: \"1\""], b"user-agent: *\nallow: /");
    let same = b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec();
    let shut = response("200 OK", &[], b"user-agent: *\ndisallow: /");
    let server = with_many_robots(vec![open, same, shut]).await;
    let web = obeying();
    let hours = SignedDuration::from_hours;
    let asked = || server.lines().iter().filter(|line| line.contains("robots")).count();
    assert!(allowed(&web, &server, hours(0)).await);
    assert!(allowed(&web, &server, hours(23)).await);
    assert_eq!(asked(), 1);
    assert!(allowed(&web, &server, hours(24)).await);
    assert_eq!(asked(), 2);
    assert!(server.heads().iter().any(|head| head.contains("/robots.txt") && head.contains("if-none-match: \"1\"")));
    assert!(allowed(&web, &server, hours(47)).await);
    assert!(!allowed(&web, &server, hours(48)).await);
    assert_eq!(asked(), 3);
}

#[tokio::test]
async fn out_of_reach_it_forbids_for_thirty_days_and_is_asked_for_ever_more_rarely() {
    let server = with_many_robots(vec![response("500 X", &[], b"")]).await;
    let web = obeying();
    let mins = SignedDuration::from_mins;
    let asked = || server.lines().iter().filter(|line| line.contains("robots")).count();
    assert!(!allowed(&web, &server, mins(0)).await);
    assert!(!allowed(&web, &server, SignedDuration::from_secs(59)).await);
    assert_eq!(asked(), 1);
    for (minute, questions) in [(1, 2), (2, 3), (3, 3), (4, 4), (64, 5), (90, 5), (124, 6)] {
        assert!(!allowed(&web, &server, mins(minute)).await);
        assert_eq!(asked(), questions, "minute {minute}");
    }
    assert!(!allowed(&web, &server, SignedDuration::from_hours(30 * 24 - 1)).await);
    assert!(allowed(&web, &server, SignedDuration::from_hours(30 * 24)).await);
}

#[tokio::test]
async fn out_of_reach_or_busy_what_was_known_counts() {
    for status in ["503 X", "429 X"] {
        let shut = response("200 OK", &[], b"user-agent: *\ndisallow: /page");
        let gone = response("404 X", &[], b"");
        let server = with_many_robots(vec![shut, response(status, &[], b""), gone]).await;
        let web = obeying();
        assert!(!allowed(&web, &server, SignedDuration::ZERO).await);
        assert!(!allowed(&web, &server, SignedDuration::from_hours(25)).await, "{status}");
        assert!(allowed(&web, &server, SignedDuration::from_hours(50)).await, "{status}");
    }
}

#[tokio::test]
async fn a_delay_that_is_no_longer_asked_for_is_named() {
    let long = response("200 OK", &[], b"user-agent: *\ncrawl-delay: 500");
    let server = with_many_robots(vec![long, response("200 OK", &[], b"user-agent: *\ncrawl-delay: 2")]).await;
    let web = obeying();
    for (hours, delay, earlier) in
        [(0, 500, None), (23, 500, None), (24, 2, Some(500)), (47, 2, Some(500)), (48, 2, None)]
    {
        let date = date() + SignedDuration::from_hours(hours);
        let ask = Ask::new(Address::of_page(&server.url("/page")).unwrap(), date);
        let manners = web.look(&ask).await.manners.remove(0);
        let seconds = |delay: Option<Duration>| delay.map(|delay| delay.as_secs());
        assert_eq!((seconds(manners.crawl_delay), seconds(manners.earlier_delay)), (Some(delay), earlier), "{hours}");
    }
}

#[tokio::test]
async fn what_was_read_is_remembered_by_the_next_run_for_the_rest_of_its_time() {
    let rules = b"user-agent: *\ndisallow: /page\ncrawl-delay: 3 # caf\xe9";
    let same = b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec();
    let server = with_many_robots(vec![response("200 OK", &["ETag: \"1\""], rules), same]).await;
    let hours = SignedDuration::from_hours;
    let asked = || server.lines().iter().filter(|line| line.contains("robots")).count();
    let web = obeying();
    assert_eq!(web.robots_to_remember(), None, "nothing was read");
    assert!(!allowed(&web, &server, hours(0)).await);
    let lines = web.robots_to_remember().unwrap();
    assert_eq!((lines.lines().count(), web.robots_to_remember()), (1, None));

    let next = obeying();
    next.recall_robots(&format!("no line of ours\n{lines}{{\"host\":\"http://x\"}}\n"), date() + hours(20));
    let visit = look(&next, &server.url("/page")).await;
    assert_eq!(visit.manners[0].crawl_delay, Some(Duration::from_secs(3)));
    assert_eq!(failure(visit).reason, Reason::Robots);
    assert!(!allowed(&next, &server, hours(23)).await);
    assert_eq!((asked(), next.robots_to_remember()), (1, None));
    assert!(!allowed(&next, &server, hours(24)).await);
    assert_eq!(asked(), 2);
    assert!(
        server.heads().last().unwrap().contains("if-none-match: \"1\""),
        "the second time it is asked conditionally"
    );

    // A clock that went wrong makes nobody believe for years.
    let later = obeying();
    later.recall_robots(&lines.replace("2027", "2099"), date());
    assert!(!allowed(&later, &server, hours(25)).await);
    assert_eq!(asked(), 3);
}

#[tokio::test]
async fn the_thirty_days_out_of_reach_are_counted_over_runs_each_of_which_asks() {
    let server = with_many_robots(vec![response("500 X", &[], b"")]).await;
    let asked = || server.lines().iter().filter(|line| line.contains("robots")).count();
    let mut lines = String::new();
    for (day, is_allowed) in [(0, false), (29, false), (30, true)] {
        let (web, at) = (obeying(), SignedDuration::from_hours(24 * day));
        web.recall_robots(&lines, date() + at);
        assert_eq!(allowed(&web, &server, at).await, is_allowed, "day {day}");
        lines = web.robots_to_remember().unwrap();
    }
    assert_eq!(asked(), 3);
}

#[tokio::test]
async fn a_host_whose_rules_cannot_be_read_rests_until_they_are_asked_for_again() {
    let server = Server::answering(|_| response("503 Busy", &[], b"")).await;
    let visit = look(&obeying(), &server.url("/page")).await;
    assert_eq!(visit.manners[0].blocked_until, Some(date() + SignedDuration::from_secs(60)));
}
