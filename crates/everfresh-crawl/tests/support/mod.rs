//! Real servers on loopback for the tests: what they send is written byte by byte, so that it can be wrong.
#![allow(dead_code, unreachable_pub, reason = "every test takes what it needs")]

use everfresh_crawl::fetch::{
    Address, Agent, Ask, Failure, Fetched, Limits, Outcome, Reach, Settings, Source, Visit, Web,
};
use jiff::Timestamp;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The date of all visits, unless time matters.
pub fn date() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

pub fn agent() -> Agent {
    Agent::new("everfresh", "0.1", "https://example.com/bot").unwrap()
}

/// Short limits, so that whoever drips is found out soon; loopback is in reach, robots.txt is not asked.
pub fn settings() -> Settings {
    let limits = Limits {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_secs(2),
        visit: Duration::from_secs(6),
        slowest_bytes_per_s: 1000,
        grace: Duration::from_millis(700),
        body_bytes: 2 << 20,
        ..Limits::default()
    };
    let reach = Reach::public().and("127.0.0.0/8".parse().unwrap());
    Settings { limits, reach, obey_robots: false, ..Settings::new(agent()) }
}

pub fn web() -> Web {
    Web::new(settings()).unwrap()
}

pub async fn look(web: &Web, address: &str) -> Visit {
    web.look(&Ask::new(Address::of_page(address).unwrap(), date())).await
}

pub fn fetched(visit: Visit) -> Fetched {
    match visit.outcome {
        Outcome::Fetched(fetched) => fetched,
        other => panic!("not fetched: {other}"),
    }
}

pub fn failure(visit: Visit) -> Failure {
    match visit.outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("no failure: {other}"),
    }
}

/// A request as it came: its first line and headers.
pub type Heads = Arc<Mutex<Vec<String>>>;

/// A server that answers each request on a connection with what a function makes of its head, and counts.
pub struct Server {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    pub heads: Heads,
}

impl Server {
    /// Answers with bytes, by the path; keeps the connection.
    pub async fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
        let heads = Heads::default();
        let (answer, seen) = (Arc::new(answer), heads.clone());
        let server = Server::talking(move |mut stream| {
            let (answer, seen) = (answer.clone(), seen.clone());
            async move {
                while let Some(head) = request(&mut stream).await {
                    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    seen.lock().unwrap().push(head);
                    if stream.write_all(&answer(&path)).await.is_err() {
                        return;
                    }
                }
            }
        });
        Server { heads, ..server.await }
    }

    /// Does with every connection what a function does with it.
    pub async fn talking<F>(talk: impl Fn(TcpStream) -> F + Send + 'static) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(talk(stream));
            }
        });
        Server { address, connections, heads: Heads::default() }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// The requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The first lines of the requests so far, without the protocol.
    pub fn lines(&self) -> Vec<String> {
        let line = |head: &String| head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
        self.heads().iter().map(line).collect()
    }
}

/// Reads the head of a request; nothing at the end of a connection.
pub async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// Writes the same again and again, with a pause, until nobody listens.
pub async fn drip(stream: &mut (impl AsyncWrite + Unpin), drop: &[u8], pause: Duration) {
    while stream.write_all(drop).await.is_ok() && stream.flush().await.is_ok() {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
}

/// A whole response.
pub fn response(status: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
    for header in headers {
        out += &format!("{header}\r\n");
    }
    [out.as_bytes(), b"\r\n", body].concat()
}
