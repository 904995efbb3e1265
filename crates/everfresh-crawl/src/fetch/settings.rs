use super::limits::Limits;
use super::reach::Reach;
use everfresh::{Error, Result};
use http::HeaderValue;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// Who we say we are: in the User-Agent of every request, and in robots.txt.
///
/// ```
/// use everfresh_crawl::fetch::Agent;
///
/// let agent = Agent::new("everfresh", "0.1", "https://example.com/bot")?;
/// assert_eq!(agent.header(), "everfresh/0.1 (+https://example.com/bot)");
/// assert!(Agent::new("everfresh", "0.1", " ").is_err());
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    token: String,
    header: HeaderValue,
}

impl Agent {
    /// A product of letters, `-` and `_` (RFC 9309 section 2.2.1), its version, and how to reach whoever runs it: an address
    /// of the web or of mail.
    pub fn new(product: &str, version: &str, contact: &str) -> Result<Agent> {
        let unreadable = |what, text: &str, why: &str| Error::Unreadable { what, text: text.into(), why: why.into() };
        if product.is_empty() || !product.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(&byte)) {
            return Err(unreadable("product name", product, "it must consist of letters, - and _"));
        }
        let contact = contact.trim();
        if contact.is_empty() {
            return Err(Error::Empty("a contact is needed: an address of the web or of mail that hosts can turn to"));
        }
        let header = HeaderValue::try_from(format!("{product}/{version} (+{contact})"))
            .map_err(|_| unreadable("contact", contact, "it must consist of printable letters"))?;
        Ok(Agent { token: product.to_ascii_lowercase(), header })
    }

    /// The name that robots.txt knows, in lower case.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The value of the User-Agent header.
    pub fn header(&self) -> &HeaderValue {
        &self.header
    }
}

/// How the web is visited.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who we are.
    pub agent: Agent,
    /// What a visit may cost.
    pub limits: Limits,
    /// Where we may go.
    pub reach: Reach,
    /// Is robots.txt asked? By default yes; no is for one's own hosts.
    pub obey_robots: bool,
    /// Who is asked for addresses; by default whom the system names, and its file of hosts.
    pub dns_servers: Vec<SocketAddr>,
    /// Authorities that are trusted beside Mozilla's, for networks that have their own.
    pub authorities: Vec<CertificateDer<'static>>,
    /// Connections that are kept for the next visit, per host. Default 64: fewer than visits go on at a host would be closed and
    /// opened without end.
    pub idle_per_host: usize,
    /// For how long. Default 20 s: with tens of thousands of hosts, open files are what runs out.
    pub idle: Duration,
    /// Bytes of robots.txt rules that are kept for all hosts together; the least used are read again. Default 64 MiB.
    pub robots_bytes: u64,
}

impl Settings {
    /// Trusts the authorities of a PEM file, too, of which there must be one at least.
    pub fn trust(&mut self, path: &Path) -> Result<()> {
        let bad =
            |why: String| Error::Unreadable { what: "file of certificates", text: path.display().to_string(), why };
        let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
        let found = found.map_err(|error| bad(error.to_string()))?;
        if found.is_empty() {
            return Err(bad("there is no certificate in it".to_owned()));
        }
        self.authorities.extend(found);
        Ok(())
    }

    /// The defaults, for everything but who we are.
    pub fn new(agent: Agent) -> Settings {
        Settings {
            agent,
            limits: Limits::default(),
            reach: Reach::public(),
            obey_robots: true,
            dns_servers: Vec::new(),
            authorities: Vec::new(),
            idle_per_host: 64,
            idle: Duration::from_secs(20),
            robots_bytes: 64 << 20,
        }
    }
}
