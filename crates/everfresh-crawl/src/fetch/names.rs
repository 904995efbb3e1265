use super::reach::Reach;
use everfresh::{Error, Result};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hyper_util::client::legacy::connect::dns::Name;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Names whose answers are kept.
const CACHED_NAMES: u64 = 65_536;

/// Answers are kept at least so long, whatever they say: a page is not worth a question each.
const SHORTEST: Duration = Duration::from_secs(30);
/// And at most so long.
const LONGEST: Duration = Duration::from_hours(6);

/// From names to addresses that may be connected to.
///
/// The connection goes to the very addresses that were judged here, so a name that points elsewhere a moment later gains nothing.
#[derive(Clone)]
pub(crate) struct Names {
    resolver: Arc<TokioResolver>,
    reach: Arc<Reach>,
}

/// All addresses of a name are out of reach.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` points to {ip}, which is not a public address and not allowed")]
pub(crate) struct OutOfReach {
    pub(crate) name: String,
    pub(crate) ip: IpAddr,
}

/// Nobody has this name, or none with an address.
#[derive(Debug, thiserror::Error)]
#[error("there is no host `{0}`")]
pub(crate) struct NoSuchHost(String);

impl Names {
    pub(crate) fn new(servers: &[SocketAddr], reach: Reach) -> Result<Names> {
        let mut builder = if servers.is_empty() {
            // Without a configuration of the system there are still addresses and its file of hosts.
            TokioResolver::builder_tokio().unwrap_or_else(|_| with_servers(Vec::new()))
        } else {
            with_servers(servers.iter().map(|server| name_server(*server)).collect())
        };
        let options = builder.options_mut();
        options.cache_size = CACHED_NAMES;
        options.positive_min_ttl = Some(SHORTEST);
        options.positive_max_ttl = Some(LONGEST);
        options.negative_max_ttl = Some(Duration::from_mins(5));
        let resolver = builder
            .build()
            .map_err(|error| Error::Inconsistent(format!("cannot set up the resolver of names: {error}")))?;
        Ok(Names { resolver: Arc::new(resolver), reach: Arc::new(reach) })
    }

    async fn addresses(self, name: String) -> std::result::Result<Vec<SocketAddr>, BoxError> {
        let found = self.resolver.lookup_ip(name.as_str()).await.map_err(|error| -> BoxError {
            let is_nobody = error.is_nx_domain() || error.is_no_records_found();
            if is_nobody { Box::new(NoSuchHost(name.clone())) } else { Box::new(error) }
        })?;
        let found: Vec<IpAddr> = found.iter().collect();
        let within: Vec<SocketAddr> =
            found.iter().filter(|ip| self.reach.permits(**ip)).map(|ip| SocketAddr::new(*ip, 0)).collect();
        match found.first() {
            Some(ip) if within.is_empty() => Err(Box::new(OutOfReach { name, ip: *ip })),
            _ => Ok(within),
        }
    }
}

fn with_servers(servers: Vec<NameServerConfig>) -> hickory_resolver::ResolverBuilder<TokioRuntimeProvider> {
    let config = ResolverConfig::from_parts(None, Vec::new(), servers);
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
}

fn name_server(server: SocketAddr) -> NameServerConfig {
    let on_port = |mut connection: ConnectionConfig| {
        connection.port = server.port();
        connection
    };
    NameServerConfig::new(server.ip(), true, vec![on_port(ConnectionConfig::udp()), on_port(ConnectionConfig::tcp())])
}

impl Service<Name> for Names {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = self.clone().addresses(name.as_str().to_owned());
        Box::pin(async move { Ok(addresses.await?.into_iter()) })
    }
}
