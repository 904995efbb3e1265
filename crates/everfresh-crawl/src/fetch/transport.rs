use super::body::{ACCEPTED, Bound, Decoder};
use super::fault::{self, NoConnection};
use super::limits::ends;
use super::names::{BoxError, Names, OutOfReach};
use super::settings::Settings;
use super::visit::{Exchange, Failure, Reason, Validators};
use bytes::Bytes;
use everfresh::{Error, Result};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{HttpConnector, HttpInfo};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use tower_service::Service;
use url::{Host, Url};

/// What is read of a body that nobody wants, so that its connection can be used again.
const DRAINED_BYTES: u64 = 64 << 10;

/// One request after another, within limits: no redirects, no robots.txt.
pub(crate) struct Transport {
    client: Client<Timed<HttpsConnector<HttpConnector<Names>>>, Empty<Bytes>>,
    headers: HeaderMap,
    pub(crate) settings: Settings,
}

/// What is sent.
pub(crate) struct Wish<'a> {
    pub(crate) url: &'a Url,
    pub(crate) method: Method,
    pub(crate) date: Timestamp,
    pub(crate) validators: Option<&'a Validators>,
    pub(crate) deadline: Instant,
}

/// What comes back: the head, and a body that is still on its way.
pub(crate) struct Answer {
    pub(crate) exchange: Exchange,
    pub(crate) body: Incoming,
}

impl Transport {
    pub(crate) fn new(settings: Settings) -> Result<Transport> {
        let limits = &settings.limits;
        let mut tcp = HttpConnector::new_with_resolver(Names::new(&settings.dns_servers, settings.reach.clone())?);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls_config(&settings)?);
        let connector = tls.https_or_http().enable_http1().enable_http2().wrap_connector(tcp);
        let header_bytes = limits.header_bytes.max(8 << 10);
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(settings.idle)
            .pool_max_idle_per_host(settings.idle_per_host)
            .http1_max_buf_size(header_bytes)
            .http1_max_headers(limits.headers)
            .http2_max_header_list_size(u32::try_from(header_bytes).unwrap_or(u32::MAX))
            .http2_adaptive_window(true)
            .build(Timed { connector, longest: limits.connect });
        Ok(Transport { client, headers: usual_headers(&settings), settings })
    }

    /// Asks, and waits for the head. A server may hang up on a connection that was kept just when it is used again, which is nobody's
    /// fault: then it is asked once more.
    pub(crate) async fn send(&self, wish: &Wish<'_>) -> std::result::Result<Answer, Failure> {
        self.check_reach(wish.url)?;
        let (request, mut sent) = self.request(wish)?;
        let first_byte = self.settings.limits.first_byte;
        let until = wish.deadline.min(ends(first_byte));
        let mut response = timeout_at(until, self.client.request(request)).await;
        if matches!(&response, Ok(Err(error)) if !error.is_connect() && fault::is_hung_up(error)) {
            response = timeout_at(until, self.client.request(self.request(wish)?.0)).await;
        }
        let response = response
            .map_err(|_| Failure::new(Reason::Timeout, format!("no whole head of a response within {first_byte:?}")))?
            .map_err(|error| fault::failure(&error, error.is_connect()))?;
        if let (false, Some(host)) = (sent.contains_key(header::HOST), host_header(wish.url)) {
            sent.insert(header::HOST, host);
        }
        let answer = answer(wish, sent, response);
        if answer.exchange.headers.len() > self.settings.limits.headers {
            return Err(Failure::new(Reason::HeadTooLarge, "more headers than the limit").with(answer.exchange));
        }
        Ok(answer)
    }

    /// An address of the internet protocol never comes to the resolver, so it is judged here.
    fn check_reach(&self, url: &Url) -> std::result::Result<(), Failure> {
        let ip: IpAddr = match url.host() {
            Some(Host::Ipv4(ip)) => ip.into(),
            Some(Host::Ipv6(ip)) => ip.into(),
            _ => return Ok(()),
        };
        if self.settings.reach.permits(ip) {
            return Ok(());
        }
        let name = url.host_str().unwrap_or_default().to_owned();
        Err(Failure::new(Reason::PrivateAddress, OutOfReach { name, ip }.to_string()))
    }

    fn request(&self, wish: &Wish<'_>) -> std::result::Result<(Request<Empty<Bytes>>, HeaderMap), Failure> {
        let uri: Uri =
            wish.url.as_str().parse().map_err(|error| {
                Failure::new(Reason::Unsupported, format!("`{}` cannot be sent: {error}", wish.url))
            })?;
        let mut request = Request::new(Empty::new());
        *request.method_mut() = wish.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers.clone();
        for validators in wish.validators.iter().filter(|validators| validators.address == wish.url.as_str()) {
            let conditions =
                [(header::IF_NONE_MATCH, &validators.etag), (header::IF_MODIFIED_SINCE, &validators.last_modified)];
            for (name, text) in conditions {
                if let Some(value) = text.as_ref().and_then(|text| HeaderValue::from_str(text).ok()) {
                    request.headers_mut().insert(name, value);
                }
            }
        }
        let headers = request.headers().clone();
        Ok((request, headers))
    }

    /// Reads a body to its end or its bounds, whichever comes first; `wire_bytes` counts what came, also if it is of no use.
    pub(crate) async fn read(
        &self,
        answer: &mut Answer,
        bound: Bound,
        deadline: Instant,
        wire_bytes: &mut u64,
    ) -> std::result::Result<Bytes, Failure> {
        let encoding = answer.exchange.headers.get(header::CONTENT_ENCODING);
        let encoding = encoding.map_or(Ok(""), HeaderValue::to_str).unwrap_or("?");
        let mut decoder = Decoder::new(encoding, bound)
            .map_err(|error| Failure::new(Reason::Local, format!("cannot set up a decoder: {error}")))?
            .ok_or_else(|| Failure::new(Reason::Malformed, format!("content is encoded as `{encoding}`")))?;
        let start = Instant::now();
        let mut more = true;
        while more {
            let until = deadline.min(start + self.patience(decoder.wire_bytes()));
            let Ok(frame) = timeout_at(until, answer.body.frame()).await else { return Err(too_late(until, deadline)) };
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|error| fault::failure(&error, false))?;
            if let Ok(piece) = frame.into_data() {
                *wire_bytes += piece.len() as u64;
                more = decoder.push(piece)?;
            }
        }
        decoder.finish(!more)
    }

    /// How long the next piece may take if so much has come: the grace, and the time for what came at the slowest pace.
    fn patience(&self, wire_bytes: u64) -> Duration {
        let slowest = f64::from(self.settings.limits.slowest_bytes_per_s);
        // A year is more than any visit has, and what there is without a limit.
        let earned = (wire_bytes as f64 / slowest).min(3e7);
        self.settings.limits.grace + Duration::try_from_secs_f64(earned).unwrap_or_default()
    }

    /// Reads what little is left of an answer whose body is not wanted.
    pub(crate) async fn drain(answer: &mut Answer) {
        let small = hyper::body::Body::size_hint(&answer.body).lower() <= DRAINED_BYTES;
        let all = async {
            let mut left = DRAINED_BYTES;
            while let Some(Ok(frame)) = answer.body.frame().await {
                left = left.saturating_sub(frame.data_ref().map_or(0, |data| data.len() as u64));
                if left == 0 {
                    break;
                }
            }
        };
        if small {
            // Whoever cannot send a few bytes at once is worth no second visit on this connection.
            let _ = timeout(Duration::from_millis(500), all).await;
        }
    }
}

fn too_late(until: Instant, deadline: Instant) -> Failure {
    if until == deadline {
        Failure::new(Reason::Timeout, "the visit took longer than its limit")
    } else {
        Failure::new(Reason::TooSlow, "the body came more slowly than the limit")
    }
}

fn usual_headers(settings: &Settings) -> HeaderMap {
    HeaderMap::from_iter([
        (header::USER_AGENT, settings.agent.header().clone()),
        (header::ACCEPT, HeaderValue::from_static("*/*")),
        (header::ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED)),
    ])
}

fn host_header(url: &Url) -> Option<HeaderValue> {
    let host = url.host_str()?;
    let text = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    HeaderValue::try_from(text).ok()
}

fn answer(wish: &Wish<'_>, request_headers: HeaderMap, response: Response<Incoming>) -> Answer {
    let (head, body) = response.into_parts();
    let phrase = head.extensions.get::<hyper::ext::ReasonPhrase>();
    let exchange = Exchange {
        date: wish.date,
        url: wish.url.clone(),
        method: wish.method.clone(),
        request_headers,
        version: head.version,
        status: head.status,
        phrase: phrase.map(|phrase| String::from_utf8_lossy(phrase.as_bytes()).into_owned()),
        ip: head.extensions.get::<HttpInfo>().map(|info| info.remote_addr().ip()),
        headers: head.headers,
    };
    Answer { exchange, body }
}

fn tls_config(settings: &Settings) -> Result<rustls::ClientConfig> {
    let unusable = |error: rustls::Error| Error::Inconsistent(format!("cannot set up TLS: {error}"));
    let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for authority in &settings.authorities {
        roots.add(authority.clone()).map_err(unusable)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// A connector that gives up in time: name, TCP and TLS together.
#[derive(Clone)]
struct Timed<C> {
    connector: C,
    longest: Duration,
}

impl<C> Service<Uri> for Timed<C>
where
    C: Service<Uri, Error = BoxError>,
    C::Response: Send,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<std::result::Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, longest) = (self.connector.call(uri), self.longest);
        Box::pin(async move { timeout(longest, connecting).await.map_err(|_| NoConnection(longest))? })
    }
}
