use super::body::Bound;
use super::limits::ends;
use super::manners::Manners;
use super::transport::{Transport, Wish};
use super::visit::{Exchange, Failure, Hints, Reason, Validators};
use super::web::redirected;
use bytes::Bytes;
use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use url::Url;

/// Bytes of a robots.txt that are read (RFC 9309 section 2.5), and one that tells that there are more.
const READ_BYTES: usize = (500 << 10) + 1;
/// Redirects to it that are followed (section 2.3.1.2).
const REDIRECTS: usize = 5;
/// How long it is believed (section 2.4).
const BELIEVED: SignedDuration = SignedDuration::from_hours(24);
/// After how long out of reach it counts as not there (section 2.3.1.4).
const GIVEN_UP: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How soon one that is out of reach is asked for again, at first and at last.
const RETRY: (SignedDuration, SignedDuration) = (SignedDuration::from_mins(1), SignedDuration::from_hours(1));

/// How long a host rests that has too much to do for its robots.txt and does not say for how long.
const TOO_MUCH: SignedDuration = SignedDuration::from_mins(1);

/// What the robots.txt of a host says to us (RFC 9309), and when it was read.
///
/// | answer | meaning |
/// | --- | --- |
/// | 2xx | what it says: the first 500 KiB |
/// | 304 | what it said |
/// | up to five redirects | what is found there; after more, everything is allowed |
/// | 4xx | everything is allowed; a 429 leaves what was known before, and the host is [slowed down](Manners) |
/// | 5xx, no answer | what was known before, or else nothing is allowed; after 30 days everything is |
///
/// It is read again after 24 hours; out of reach, after a minute, then in growing steps up to an hour. All of that can be
/// [remembered](super::Web::robots_to_remember) from one run to the next.
#[derive(Clone, Debug)]
pub struct Robots {
    rules: Rules,
    validators: Option<Validators>,
    unreachable_since: Option<Timestamp>,
    read_again: Timestamp,
    /// Roughly what it takes to keep.
    bytes: u64,
    manners: Manners,
}

#[derive(Clone, Debug)]
enum Rules {
    /// These, and the text that they were read from.
    Given(Arc<robotxt::Robots>, Arc<str>),
    /// There are none.
    None,
    /// They could not be read: why.
    Unknown(Failure),
}

impl Robots {
    /// What a robots.txt says to an agent, by its product token.
    ///
    /// ```
    /// use everfresh_crawl::fetch::Robots;
    ///
    /// let robots = Robots::parse(b"user-agent: *\ndisallow: /*.gif$\ncrawl-delay: 2", "everfresh");
    /// assert!(robots.allows(&"http://example.com/a.gif?b".parse().unwrap()));
    /// assert!(!robots.allows(&"http://example.com/a.gif".parse().unwrap()));
    /// assert_eq!(robots.crawl_delay().unwrap().as_secs(), 2);
    /// ```
    pub fn parse(text: &[u8], agent: &str) -> Robots {
        // Bytes that are no text spoil their lines only.
        let text = String::from_utf8_lossy(text);
        let rules = robotxt::Robots::parse(&with_bare_agents(text.as_bytes()), agent);
        let rules = Rules::Given(Arc::new(rules), text.as_ref().into());
        Robots { bytes: 3 * text.len() as u64, ..Robots::with(rules) }
    }

    fn with(rules: Rules) -> Robots {
        let manners = Manners::of(String::new());
        Robots { rules, validators: None, unreachable_since: None, read_again: Timestamp::MAX, bytes: 0, manners }
    }

    /// May it be visited? Path and query decide.
    pub fn allows(&self, url: &Url) -> bool {
        match &self.rules {
            Rules::Given(rules, _) => {
                rules.is_allowed(&literal(&url[url::Position::BeforePath..url::Position::AfterQuery]))
            }
            Rules::None => true,
            Rules::Unknown(_) => false,
        }
    }

    /// The gap between visits that it asks for, if any.
    pub fn crawl_delay(&self) -> Option<Duration> {
        if let Rules::Given(rules, _) = &self.rules { rules.crawl_delay() } else { None }
    }

    /// The same, as far as it is heeded.
    fn bearable_delay(&self, longest: Duration) -> Option<Duration> {
        self.crawl_delay().map(|delay| delay.min(longest))
    }

    /// The sitemaps that it names.
    pub fn sitemaps(&self) -> &[Url] {
        if let Rules::Given(rules, _) = &self.rules { rules.sitemaps() } else { &[] }
    }

    /// Why it could not be read, if so.
    pub fn unreachable(&self) -> Option<&Failure> {
        if let Rules::Unknown(failure) = &self.rules { Some(failure) } else { None }
    }

    /// What the host asks of us: the crawl-delay, and whatever it said when robots.txt was read.
    pub(crate) fn manners(&self) -> &Manners {
        &self.manners
    }

    /// Nothing if the page may be visited, or else why not.
    pub(crate) fn refusal(&self, url: &Url) -> Option<Failure> {
        if self.allows(url) {
            return None;
        }
        let Some(failure) = self.unreachable() else {
            return Some(Failure::new(Reason::Robots, format!("robots.txt forbids `{}`", url.path())));
        };
        // Where the page itself could not be reached for good, that is the better reason.
        let telling = matches!(failure.reason, Reason::PrivateAddress | Reason::Certificate | Reason::NoSuchHost);
        let reason = if telling { failure.reason } else { Reason::RobotsUnreachable };
        Some(Failure::new(reason, format!("cannot read robots.txt: {failure}")))
    }
}

/// Marks that mean something in rules stand for themselves in an address, which rules write as `%2A` and `%24` (RFC 9309
/// section 2.2.3).
fn literal(path: &str) -> String {
    path.replace('*', "%2A").replace('$', "%24")
}

/// Cuts what follows the product token in `user-agent` lines: people copy the whole header into them, and mean the product.
fn with_bare_agents(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(0);
        let (name, value) = line.split_at(colon);
        // A byte order mark may stand in front.
        if !name.trim_ascii().to_ascii_lowercase().ends_with(b"user-agent") {
            out.extend_from_slice(line);
            continue;
        }
        let value = value[1..].trim_ascii_start();
        let token = |byte: &u8| byte.is_ascii_alphabetic() || b"-_*".contains(byte);
        let end = value.iter().position(|byte| !token(byte)).unwrap_or(value.len());
        out.extend_from_slice(name);
        out.push(b':');
        out.extend_from_slice(&value[..end]);
        out.push(b'\n');
    }
    out
}

/// What is remembered of a host from one run to the next.
#[derive(Serialize, Deserialize)]
struct Remembered {
    host: String,
    said: Said,
    validators: Option<Validators>,
    unreachable_since: Option<Timestamp>,
    read_again: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Text(String),
    Nothing,
    /// It could not be read: then the next run asks at once, since there may be another reason by now.
    Unknown,
}

impl Remembered {
    fn of(host: String, robots: &Robots) -> Remembered {
        let said = match &robots.rules {
            Rules::Given(_, text) => Said::Text(text.to_string()),
            Rules::None => Said::Nothing,
            Rules::Unknown(_) => Said::Unknown,
        };
        let Robots { validators, unreachable_since, read_again, .. } = robots.clone();
        Remembered { host, said, validators, unreachable_since, read_again }
    }

    /// As it was, and believed for no longer than if it had been read at this date.
    fn recalled(self, date: Timestamp, agent: &str, longest_delay: Duration) -> Robots {
        let (rules, read_again) = match self.said {
            Said::Text(text) => (Robots::parse(text.as_bytes(), agent), self.read_again),
            Said::Nothing => (Robots::with(Rules::None), self.read_again),
            Said::Unknown => {
                let failure = Failure::new(Reason::RobotsUnreachable, "it was out of reach");
                (Robots::with(Rules::Unknown(failure)), date)
            }
        };
        let read_again = read_again.min(after(date, BELIEVED));
        let Remembered { host, validators, unreachable_since, .. } = self;
        let manners = Manners { crawl_delay: rules.bearable_delay(longest_delay), ..Manners::of(host) };
        Robots { validators, unreachable_since, read_again, manners, ..rules }
    }
}

/// The robots.txt of all hosts, each read once by whoever comes first.
pub(crate) struct AllRobots {
    known: Cache<String, Arc<Robots>, Weight>,
    /// Was one read that is not remembered yet?
    is_news: AtomicBool,
}

#[derive(Clone)]
struct Weight;

impl Weighter<String, Arc<Robots>> for Weight {
    fn weight(&self, host: &String, robots: &Arc<Robots>) -> u64 {
        robots.bytes + host.len() as u64 + 512
    }
}

impl AllRobots {
    pub(crate) fn new(bytes: u64) -> AllRobots {
        // The estimate of hosts only sizes tables.
        let hosts = usize::try_from(bytes / 2048).unwrap_or(usize::MAX).max(16);
        AllRobots { known: Cache::with_weighter(hosts, bytes, Weight), is_news: AtomicBool::new(false) }
    }

    /// A line for each host; nothing if none was read since the last time.
    pub(crate) fn to_remember(&self) -> Option<String> {
        self.is_news.swap(false, Ordering::Relaxed).then(|| {
            let line = |(host, robots): (String, Arc<Robots>)| {
                // Nothing in it can fail to be written.
                serde_json::to_string(&Remembered::of(host, &robots)).unwrap_or_default() + "\n"
            };
            self.known.iter().map(line).collect()
        })
    }

    /// The delay that a host is known to ask for.
    pub(crate) fn known_delay(&self, host: &str, longest: Duration) -> Option<Duration> {
        self.known.peek(host).and_then(|robots| robots.bearable_delay(longest))
    }

    /// Takes such lines in. One that cannot be read is left out: its host is asked.
    pub(crate) fn recall(&self, lines: &str, date: Timestamp, transport: &Transport) {
        let (agent, longest_delay) = (transport.settings.agent.token(), transport.settings.limits.crawl_delay);
        for remembered in lines.lines().filter_map(|line| serde_json::from_str::<Remembered>(line).ok()) {
            let host = remembered.host.clone();
            self.known.insert(host, Arc::new(remembered.recalled(date, agent, longest_delay)));
        }
    }

    pub(crate) async fn of(&self, transport: &Transport, url: &Url, date: Timestamp) -> Arc<Robots> {
        let host = url.origin().ascii_serialization();
        let known = self.known.get(&host);
        if let Some(robots) = known.as_ref().filter(|robots| date < robots.read_again) {
            return robots.clone();
        }
        if let Some(stale) = &known {
            self.known.remove_if(&host, |robots| Arc::ptr_eq(robots, stale));
        }
        match self.known.get_value_or_guard_async(&host).await {
            Ok(robots) => robots,
            Err(place) => {
                let robots = Arc::new(read(transport, url, host, date, known.as_deref()).await);
                // Whoever was faster read the same file.
                let _ = place.insert(robots.clone());
                self.is_news.store(true, Ordering::Relaxed);
                robots
            }
        }
    }
}

/// What came of asking.
enum Found {
    Text(Bytes, Option<Validators>),
    NotModified,
    /// 4xx, or too many redirects.
    Unavailable,
    /// 429.
    TooFast,
    Unreachable(Failure),
}

async fn read(transport: &Transport, url: &Url, host: String, date: Timestamp, known: Option<&Robots>) -> Robots {
    let limits = &transport.settings.limits;
    let mut manners = Manners::of(host);
    let validators = known.and_then(|known| known.validators.as_ref());
    let found = ask(transport, url, date, validators, &mut manners).await;
    if manners.slow_down && manners.blocked_until.is_none() {
        // Too much already, and no word of when it will be less.
        manners.blocked_until = Some(after(date, TOO_MUCH));
    }
    let mut robots = concluded(found, known, date, transport.settings.agent.token());
    manners.crawl_delay = robots.bearable_delay(limits.crawl_delay);
    let earlier = known.and_then(|known| known.bearable_delay(limits.crawl_delay));
    manners.earlier_delay = earlier.filter(|earlier| manners.crawl_delay.is_none_or(|delay| delay < *earlier));
    if robots.unreachable().is_some() {
        // Until it is asked again every page would fail: better the host rests.
        manners.blocked_until = manners.blocked_until.max(Some(robots.read_again));
    }
    robots.manners = manners;
    robots
}

fn after(date: Timestamp, wait: SignedDuration) -> Timestamp {
    date.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// What an answer means, given what was known before.
fn concluded(found: Found, known: Option<&Robots>, date: Timestamp, agent: &str) -> Robots {
    let after = |wait| after(date, wait);
    let before = known.filter(|known| known.unreachable().is_none());
    match (found, before) {
        (Found::Text(text, validators), _) => {
            Robots { validators, read_again: after(BELIEVED), ..Robots::parse(&text, agent) }
        }
        (Found::NotModified, Some(before)) => {
            Robots { read_again: after(BELIEVED), unreachable_since: None, ..before.clone() }
        }
        (Found::TooFast, Some(before)) => {
            Robots { read_again: after(RETRY.1), unreachable_since: None, ..before.clone() }
        }
        (Found::TooFast, None) => Robots { read_again: after(RETRY.1), ..Robots::with(Rules::None) },
        // A 304 to a question without conditions says nothing.
        (Found::Unavailable | Found::NotModified, _) => {
            Robots { read_again: after(BELIEVED), ..Robots::with(Rules::None) }
        }
        (Found::Unreachable(failure), before) => {
            let since = known.and_then(|known| known.unreachable_since).unwrap_or(date);
            let elapsed = date.duration_since(since);
            let rules = match before {
                Some(before) => before.clone(),
                None if elapsed >= GIVEN_UP => Robots::with(Rules::None),
                None => Robots::with(Rules::Unknown(failure)),
            };
            let read_again = after(elapsed.clamp(RETRY.0, RETRY.1));
            Robots { unreachable_since: Some(since), read_again, ..rules }
        }
    }
}

async fn ask(
    transport: &Transport,
    url: &Url,
    date: Timestamp,
    validators: Option<&Validators>,
    manners: &mut Manners,
) -> Found {
    let deadline = ends(transport.settings.limits.visit);
    let mut url = url.clone();
    url.set_path("/robots.txt");
    url.set_query(None);
    for _ in 0..=REDIRECTS {
        let wish = Wish { url: &url, method: Method::GET, date, validators, deadline };
        let mut answer = match transport.send(&wish).await {
            Ok(answer) => answer,
            Err(failure) => return Found::Unreachable(failure),
        };
        let Exchange { status, headers, .. } = &answer.exchange;
        manners.note(*status, headers, date, &transport.settings.limits);
        if status.is_redirection() && *status != StatusCode::NOT_MODIFIED {
            let Ok(next) = redirected(&answer.exchange) else { return Found::Unavailable };
            Transport::drain(&mut answer).await;
            url = next;
            continue;
        }
        if status.is_success() {
            let hints = Hints::of(headers, url.as_str(), date, transport.settings.agent.token());
            let bound = Bound { bytes: READ_BYTES, ratio: transport.settings.limits.body_ratio, cut: true };
            let text = transport.read(&mut answer, bound, deadline, &mut 0).await;
            return text.map_or_else(Found::Unreachable, |text| Found::Text(text, hints.validators));
        }
        let found = of_status(*status);
        Transport::drain(&mut answer).await;
        return found;
    }
    Found::Unavailable
}

fn of_status(status: StatusCode) -> Found {
    match status {
        StatusCode::NOT_MODIFIED => Found::NotModified,
        StatusCode::TOO_MANY_REQUESTS => Found::TooFast,
        status if status.is_client_error() => Found::Unavailable,
        status => Found::Unreachable(Failure::new(Reason::ServerFault, format!("status {status}"))),
    }
}
