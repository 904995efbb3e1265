use super::address::Address;
use super::body::Bound;
use super::limits::ends;
use super::manners::Manners;
use super::robots::{AllRobots, Robots};
use super::settings::Settings;
use super::transport::{Answer, Transport, Wish};
use super::visit::{Ask, Exchange, Failure, Fetched, Gone, Hints, NotModified, Outcome, Reason, Redirect, Visit};
use super::{Looking, Source};
use everfresh::Result;
use http::{Method, StatusCode, header};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::debug;
use url::Url;

/// The web: HTTP/1.1 and HTTP/2, with or without TLS. Cheap to clone; one serves any number of tasks and hosts.
///
/// It keeps connections, names and robots.txt in common, and nothing of pages: what is to be remembered of a page, the
/// caller gets and gives. Cookies there are none.
#[derive(Clone)]
pub struct Web {
    inner: Arc<Inner>,
}

struct Inner {
    transport: Transport,
    robots: AllRobots,
}

/// Where a visit goes next.
enum Step {
    Done(Outcome),
    /// What was said is needed if the way is not bearable.
    Follow(Redirect, Exchange),
    /// There is something: ask for the whole of it.
    Whole,
}

impl Web {
    /// A client for the whole program; it needs a Tokio runtime once it is asked.
    pub fn new(settings: Settings) -> Result<Web> {
        let robots = AllRobots::new(settings.robots_bytes);
        Ok(Web { inner: Arc::new(Inner { transport: Transport::new(settings)?, robots }) })
    }

    /// What the robots.txt of a page's host says: read now, or kept from before.
    pub async fn robots(&self, url: &Url, date: Timestamp) -> Arc<Robots> {
        self.inner.robots.of(&self.inner.transport, url, date).await
    }

    /// What robots.txt said, of all hosts, a line for each; nothing if none was read since this was last asked. Who comes now and
    /// then and asks each time would ask too much.
    pub fn robots_to_remember(&self) -> Option<String> {
        self.inner.robots.to_remember()
    }

    /// Takes in [such lines](Web::robots_to_remember) of an earlier run: they are believed for the rest of their time.
    pub fn recall_robots(&self, lines: &str, date: Timestamp) {
        self.inner.robots.recall(lines, date, &self.inner.transport);
    }

    /// The crawl-delay that the robots.txt of a host (`https://example.org`) asks for, if it was read before and is obeyed.
    pub fn known_delay(&self, host: &str) -> Option<Duration> {
        let settings = &self.inner.transport.settings;
        self.inner.robots.known_delay(host, settings.limits.crawl_delay).filter(|_| settings.obey_robots)
    }

    async fn visit(&self, ask: &Ask) -> Visit {
        let Address::Http(url) = &ask.address else {
            return Visit::failed(Reason::Unsupported, format!("`{}` is not a page of the web", ask.address));
        };
        let mut visit = Visit::of(Outcome::Failed(Failure::new(Reason::Unsupported, "not visited")));
        visit.outcome = self.walk(ask, url, &mut visit).await.unwrap_or_else(Outcome::Failed);
        visit.manners.retain(|manners| !manners.says_nothing());
        visit
    }

    /// From redirect to redirect until something is found.
    async fn walk(&self, ask: &Ask, url: &Url, visit: &mut Visit) -> std::result::Result<Outcome, Failure> {
        let limits = &self.inner.transport.settings.limits;
        let mut deadline = ends(limits.visit);
        let mut url = url.clone();
        let mut method = if ask.was_gone { Method::HEAD } else { Method::GET };
        loop {
            // Reading robots.txt has a limit of its own.
            let began = Instant::now();
            self.check_robots(&url, ask.date, visit).await?;
            deadline += began.elapsed();
            visit.requests += 1;
            let validators = ask.remembered.as_ref();
            let wish = Wish { url: &url, method: method.clone(), date: ask.date, validators, deadline };
            let answer = self.inner.transport.send(&wish).await?;
            let Exchange { status, headers, .. } = &answer.exchange;
            debug!(url = url.as_str(), status = status.as_u16(), "answered");
            manners_of(visit, &url).note(*status, headers, ask.date, limits);
            match self.step(ask, answer, deadline, visit).await? {
                Step::Done(outcome) => return Ok(outcome),
                Step::Whole => method = Method::GET,
                Step::Follow(redirect, exchange) => {
                    check_way(visit, &redirect, limits.redirects).map_err(|failure| failure.with(exchange))?;
                    url = redirect.to.clone();
                    visit.redirects.push(redirect);
                }
            }
        }
    }

    async fn check_robots(&self, url: &Url, date: Timestamp, visit: &mut Visit) -> std::result::Result<(), Failure> {
        if !self.inner.transport.settings.obey_robots {
            return Ok(());
        }
        let robots = self.robots(url, date).await;
        let said = robots.manners();
        let manners = manners_of(visit, url);
        (manners.crawl_delay, manners.earlier_delay) = (said.crawl_delay, said.earlier_delay);
        manners.blocked_until = manners.blocked_until.max(said.blocked_until.filter(|until| *until > date));
        manners.slow_down |= said.slow_down && manners.blocked_until.is_some();
        robots.refusal(url).map_or(Ok(()), Err)
    }

    /// What an answer means.
    async fn step(
        &self,
        ask: &Ask,
        mut answer: Answer,
        deadline: Instant,
        visit: &mut Visit,
    ) -> std::result::Result<Step, Failure> {
        let status = answer.exchange.status;
        let head_only = answer.exchange.method == Method::HEAD;
        match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                Transport::drain(&mut answer).await;
                Ok(Step::Done(gone(answer.exchange)))
            }
            StatusCode::NOT_MODIFIED if !head_only => self.not_modified(ask, answer.exchange).map(Step::Done),
            _ if is_redirect(status) => {
                Transport::drain(&mut answer).await;
                let exchange = answer.exchange;
                match redirected(&exchange) {
                    Ok(to) => Ok(Step::Follow(Redirect { from: exchange.url.clone(), to, status }, exchange)),
                    Err(failure) => Err(failure.with(exchange)),
                }
            }
            // A server that does not know HEAD says so in many ways; only its being busy is not asked about twice.
            _ if head_only && !is_fault(status) => Ok(Step::Whole),
            _ if status.is_success() && status != StatusCode::PARTIAL_CONTENT => {
                self.fetched(ask, answer, deadline, visit).await.map(Step::Done)
            }
            _ => {
                Transport::drain(&mut answer).await;
                let message = format!("status {status}");
                Err(Failure::new(refusal(status), message).with(answer.exchange))
            }
        }
    }

    async fn fetched(
        &self,
        ask: &Ask,
        mut answer: Answer,
        deadline: Instant,
        visit: &mut Visit,
    ) -> std::result::Result<Outcome, Failure> {
        let transport = &self.inner.transport;
        let bound = Bound::of(&transport.settings.limits);
        let body = transport.read(&mut answer, bound, deadline, &mut visit.wire_bytes).await;
        let exchange = answer.exchange;
        let body = match body {
            Ok(body) => body,
            Err(failure) => return Err(failure.with(exchange)),
        };
        let address = exchange.url.to_string();
        let content_type = exchange.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        Ok(Outcome::Fetched(Fetched {
            content_type: content_type.map(str::to_owned),
            hints: self.hints(ask, &exchange),
            address,
            body,
            exchange: Some(exchange),
        }))
    }

    fn not_modified(&self, ask: &Ask, exchange: Exchange) -> std::result::Result<Outcome, Failure> {
        let asked = |name| exchange.request_headers.contains_key(name);
        if !asked(header::IF_NONE_MATCH) && !asked(header::IF_MODIFIED_SINCE) {
            let failure = Failure::new(Reason::Malformed, "not modified, but nobody had asked");
            return Err(failure.with(exchange));
        }
        let mut hints = self.hints(ask, &exchange);
        // A 304 need not repeat what it does not change.
        hints.validators = hints.validators.or_else(|| ask.remembered.clone());
        Ok(Outcome::NotModified(NotModified { address: exchange.url.to_string(), hints, exchange: Some(exchange) }))
    }

    fn hints(&self, ask: &Ask, exchange: &Exchange) -> Hints {
        Hints::of(&exchange.headers, exchange.url.as_str(), ask.date, self.inner.transport.settings.agent.token())
    }
}

impl Source for Web {
    fn look<'a>(&'a self, ask: &'a Ask) -> Looking<'a> {
        Box::pin(self.visit(ask))
    }
}

fn manners_of<'a>(visit: &'a mut Visit, url: &Url) -> &'a mut Manners {
    let host = url.origin().ascii_serialization();
    let known = visit.manners.iter().position(|manners| manners.host == host);
    let at = known.unwrap_or(visit.manners.len());
    if known.is_none() {
        visit.manners.push(Manners::of(host));
    }
    &mut visit.manners[at]
}

fn gone(exchange: Exchange) -> Outcome {
    Outcome::Gone(Gone {
        address: exchange.url.to_string(),
        for_good: exchange.status == StatusCode::GONE,
        exchange: Some(exchange),
    })
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn is_fault(status: StatusCode) -> bool {
    let unknown = matches!(status, StatusCode::NOT_IMPLEMENTED | StatusCode::METHOD_NOT_ALLOWED);
    !unknown && (status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS)
}

fn refusal(status: StatusCode) -> Reason {
    match status.as_u16() {
        429 | 503 => Reason::Busy,
        408 | 425 | 500.. => Reason::ServerFault,
        400..=499 => Reason::Refused,
        _ => Reason::Malformed,
    }
}

/// Is the way still bearable, and no circle?
fn check_way(visit: &Visit, next: &Redirect, most: usize) -> std::result::Result<(), Failure> {
    let been = next.to == next.from || visit.redirects.iter().any(|redirect| redirect.from == next.to);
    if been {
        return Err(Failure::new(Reason::RedirectLoop, format!("redirected to `{}` again", next.to)));
    }
    if visit.redirects.len() >= most {
        return Err(Failure::new(Reason::TooManyRedirects, format!("more than {most} redirects")));
    }
    Ok(())
}

/// Where a redirect leads: to another page of the web, or it leads nowhere.
pub(crate) fn redirected(exchange: &Exchange) -> std::result::Result<Url, Failure> {
    let bad = |why: String| Failure::new(Reason::BadRedirect, why);
    let location = exchange.headers.get(header::LOCATION).ok_or_else(|| bad("redirected to nowhere".to_owned()))?;
    // Servers write other bytes than ASCII as they are; most often they mean UTF-8.
    let location = String::from_utf8_lossy(location.as_bytes());
    let to = exchange.url.join(&location).map_err(|error| bad(format!("redirected to `{location}`: {error}")))?;
    match Address::of_page(to.as_str()) {
        Ok(Address::Http(url)) => Ok(url),
        Ok(_) => Err(bad(format!("redirected out of the web, to `{location}`"))),
        Err(error) => Err(bad(format!("redirected out of the web: {error}"))),
    }
}
