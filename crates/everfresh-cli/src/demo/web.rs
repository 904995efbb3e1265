//! The demo's web: one real HTTP server per site, on loopback.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use super::site::{SITES, Site, Validator};
use super::text;
use super::world::{Page, World};
use crate::output::machine;
use crate::run::clock::Clock;

/// After an accept that failed (too many open files), this is waited.
const BREATH: Duration = Duration::from_millis(20);

/// Servers that have their addresses and do not answer yet.
pub(super) struct Bound {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
}

/// The time of the web.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    pub clock: Clock,
    /// When the world begins.
    pub start_s: f64,
    /// How many seconds of the web a second of its visitors is: 1 for those who go by the same clock.
    pub seconds_per_visitors: f64,
}

/// Servers that answer until this is dropped.
pub(super) struct Serving {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A server that panicked has nothing left to be ended.
            let _ = thread.join();
        }
    }
}

/// One site as its server knows it.
struct Server {
    world: Arc<World>,
    site: &'static Site,
    /// The pages by path.
    pages: HashMap<String, usize>,
    time: Time,
    /// Requests so far.
    asked: AtomicU64,
}

type Answer = Response<Full<Bytes>>;

impl Bound {
    /// Takes a port for every site. On one address of loopback: not every system has more, and ports are hosts, too.
    pub(super) fn new() -> Result<Bound> {
        let bind = || -> std::io::Result<(TcpListener, SocketAddr)> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let bound: std::io::Result<Vec<_>> = SITES.iter().map(|_| bind()).collect();
        let (listeners, addresses) =
            bound.map_err(|error| machine("cannot open a port on 127.0.0.1", error))?.into_iter().unzip();
        Ok(Bound { listeners, addresses })
    }

    /// The address of a page.
    pub(super) fn address(&self, page: &Page) -> String {
        format!("http://{}{}", self.addresses[page.site], page.path)
    }

    /// Begins to answer.
    pub(super) fn serve(self, world: &Arc<World>, time: Time) -> Result<Serving> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot serve")?;
        let servers: Vec<Arc<Server>> = (0..SITES.len()).map(|site| Arc::new(Server::new(world, site, time))).collect();
        let (stop, stopped) = oneshot::channel::<()>();
        let listeners = self.listeners;
        let work = move || {
            runtime.block_on(async {
                for (listener, server) in listeners.into_iter().zip(servers) {
                    tokio::spawn(accept(listener, server));
                }
                // Whether it was sent or dropped, the end is meant.
                let _ = stopped.await;
            });
        };
        let thread = std::thread::Builder::new().name("web".to_owned()).spawn(work).context("cannot serve")?;
        Ok(Serving { stop: Some(stop), thread: Some(thread) })
    }
}

async fn accept(listener: TcpListener, server: Arc<Server>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        // Without it answers are as right, only slower.
        let _ = stream.set_nodelay(true);
        let server = server.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let server = server.clone();
                async move { Ok::<_, Infallible>(server.answer(&request).await) }
            });
            // A visitor that hangs up ends the connection, nothing else.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Server {
    fn new(world: &Arc<World>, site: usize, time: Time) -> Server {
        let of_site = world.pages.iter().enumerate().filter(|(_, page)| page.site == site);
        let pages = of_site.map(|(number, page)| (page.path.clone(), number)).collect();
        Server { world: world.clone(), site: &SITES[site], pages, time, asked: AtomicU64::new(0) }
    }

    async fn answer(&self, request: &Request<Incoming>) -> Answer {
        if !self.site.delay.is_zero() {
            tokio::time::sleep(self.site.delay).await;
        }
        let now_s = self.time.clock.now_s();
        let mut answer = match request.uri().path() {
            "/robots.txt" => self.robots(),
            path => match self.pages.get(path).and_then(|number| self.world.pages.get(*number)) {
                Some(page) => self.page(page, request.headers(), now_s),
                None => nothing(),
            },
        };
        dated(answer.headers_mut(), header::DATE, now_s);
        answer
    }

    fn robots(&self) -> Answer {
        let mut text = String::from("User-agent: *\nDisallow: /private/\n");
        if let Some(delay) = self.site.crawl_delay_s {
            text.push_str(&format!("Crawl-delay: {}\n", delay / self.time.seconds_per_visitors));
        }
        filled(StatusCode::OK, "text/plain", text)
    }

    fn page(&self, page: &Page, asked: &HeaderMap, now_s: f64) -> Answer {
        // When all days have gone by they begin again.
        let time_s = (now_s - self.time.start_s).rem_euclid(self.world.length_s);
        if self.world.is_faulty(page, time_s) {
            return filled(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", "a fault\n".to_owned());
        }
        let (said, since_s) = page.at(time_s);
        let Some(said) = said else { return nothing() };
        let changed_s = now_s - (time_s - since_s);
        let validator = match self.site.validator {
            Validator::Nothing => None,
            Validator::Tag => Some((header::ETAG, header::IF_NONE_MATCH, format!("W/\"{}-{said}\"", page.number))),
            Validator::Date => Some((header::LAST_MODIFIED, header::IF_MODIFIED_SINCE, http_date(changed_s))),
        };
        let is_known = |name, value: &str| asked.get(name).is_some_and(|known| known.as_bytes() == value.as_bytes());
        let mut answer = match &validator {
            Some((_, condition, value)) if is_known(condition, value) => {
                filled(StatusCode::NOT_MODIFIED, "text/html; charset=utf-8", String::new())
            }
            _ => {
                let html = text::html(self.site.name, &self.world.blocks(page, said), &self.foot(now_s));
                filled(StatusCode::OK, "text/html; charset=utf-8", html)
            }
        };
        if let Some((name, _, value)) = validator
            && let Ok(value) = value.parse()
        {
            answer.headers_mut().insert(name, value);
        }
        answer
    }

    /// The foot of a page: on some sites another one with every answer.
    fn foot(&self, now_s: f64) -> String {
        if !self.site.has_clock {
            return format!("The {} of the demo", self.site.name);
        }
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        format!("It is {}. You are visitor {asked}.", http_date(now_s))
    }
}

fn filled(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    answer
}

fn nothing() -> Answer {
    filled(StatusCode::NOT_FOUND, "text/plain", "nothing here\n".to_owned())
}

fn http_date(seconds: f64) -> String {
    let since = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default();
    httpdate::fmt_http_date(UNIX_EPOCH.checked_add(since).unwrap_or_else(SystemTime::now))
}

fn dated(headers: &mut HeaderMap, name: header::HeaderName, seconds: f64) {
    if let Ok(value) = http_date(seconds).parse() {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::look::{self, Held, Listed, Saw};
    use crate::demo::world::DAY_S;
    use everfresh_crawl::fetch::{Address, Sources};

    const START: f64 = 1_767_571_200.0;

    /// A web whose time stands still, and its pages.
    fn still(world: &Arc<World>, time_s: f64) -> (Serving, Vec<Listed>) {
        let bound = Bound::new().unwrap();
        let listed = |page: &Page| Listed { address: Address::of_page(&bound.address(page)).unwrap(), host: 0 };
        let pages = world.pages.iter().map(listed).collect();
        let time = Time { clock: Clock::fast(START + time_s, 0.0), start_s: START, seconds_per_visitors: 1.0 };
        (bound.serve(world, time).unwrap(), pages)
    }

    fn looking<T>(work: impl AsyncFnOnce(Sources) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { work(look::sources().unwrap()).await })
    }

    fn date(time_s: f64) -> jiff::Timestamp {
        Clock::fast(START + time_s, 0.0).date()
    }

    /// What a visit to a page must see.
    fn expected(world: &World, page: &Page, time_s: f64) -> Saw {
        match page.at(time_s).0 {
            _ if page.is_forbidden => Saw::Failed { retryable: false },
            _ if world.is_faulty(page, time_s) => Saw::Failed { retryable: true },
            None => Saw::Gone,
            Some(said) => {
                let digest = text::digest(&world.blocks(page, said));
                Saw::Text { digest, divergence: 1.0, last_change: None }
            }
        }
    }

    fn without_date(saw: Saw) -> Saw {
        match saw {
            Saw::Text { digest, divergence, .. } => Saw::Text { digest, divergence, last_change: None },
            other => other,
        }
    }

    #[test]
    fn pages_say_what_the_truth_says() {
        let world = Arc::new(World::new(400, 10.0, 2));
        for time_s in [0.0, 3.3 * DAY_S, 9.9 * DAY_S, 13.3 * DAY_S] {
            let (_serving, pages) = still(&world, time_s);
            looking(async |sources| {
                for (page, listed) in world.pages.iter().zip(&pages) {
                    let (saw, _) = look::look(&sources, listed, date(time_s), &mut Held::default()).await;
                    // The fourth time is the second once more: days begin again.
                    let expected = expected(&world, page, time_s % world.length_s);
                    assert_eq!(without_date(saw), expected, "{page:?} at {time_s}");
                }
            });
        }
    }

    #[test]
    fn a_second_visit_finds_the_same_text_and_a_304_where_there_are_validators() {
        let world = Arc::new(World::new(300, 10.0, 2));
        let time_s = 4.4 * DAY_S;
        let (_serving, pages) = still(&world, time_s);
        looking(async |sources| {
            for (page, listed) in world.pages.iter().zip(&pages) {
                let mut held = Held::default();
                let (first, _) = look::look(&sources, listed, date(time_s), &mut held).await;
                let (second, _) = look::look(&sources, listed, date(time_s), &mut held).await;
                let expected = match first {
                    Saw::Text { .. } => Saw::Same { not_modified: page.site().validator != Validator::Nothing },
                    other => other,
                };
                assert_eq!(second, expected, "{page:?}");
            }
        });
    }

    #[test]
    fn a_server_says_when_a_page_changed_and_how_patient_one_must_be() {
        let world = Arc::new(World::new(600, 10.0, 2));
        let time_s = 8.0 * DAY_S;
        let (_serving, pages) = still(&world, time_s);
        looking(async |sources| {
            let (mut dated, mut patient) = (0, 0);
            for (page, listed) in world.pages.iter().zip(&pages) {
                let (saw, manners) = look::look(&sources, listed, date(time_s), &mut Held::default()).await;
                let delay = manners.first().and_then(|manners| manners.crawl_delay).map(|delay| delay.as_secs_f64());
                assert_eq!(delay, page.site().crawl_delay_s);
                patient += usize::from(delay.is_some());
                if let Saw::Text { last_change: Some(since), .. } = saw {
                    assert!((since.seconds() - (time_s - page.at(time_s).1)).abs() <= 1.0, "{page:?}");
                    dated += 1;
                }
            }
            assert!(dated > 20 && patient > 5, "{dated} {patient}");
        });
    }
}
