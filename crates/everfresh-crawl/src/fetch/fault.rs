use super::names::{NoSuchHost, OutOfReach};
use super::visit::{Failure, Reason};
use hickory_resolver::net::NetError;
use std::error::Error;
use std::io;

/// There was no connection in time.
#[derive(Debug, thiserror::Error)]
#[error("no connection within {0:?}")]
pub(crate) struct NoConnection(pub(crate) std::time::Duration);

/// What an error of the client means: the innermost fact decides, and all of them are told.
pub(crate) fn failure(error: &(dyn Error + 'static), connecting: bool) -> Failure {
    let chain: Vec<&(dyn Error + 'static)> = std::iter::successors(Some(error), |error| inner(*error)).collect();
    let otherwise = if connecting { Reason::Connect } else { Reason::Cut };
    let reason = chain.iter().rev().find_map(|error| reason(*error)).unwrap_or(otherwise);
    Failure::new(reason, told(&chain))
}

/// Was the connection closed before a byte of the answer came?
pub(crate) fn is_hung_up(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| inner(*error)).any(|error| {
        let is_reset = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionReset;
        error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message)
            || error.downcast_ref::<io::Error>().is_some_and(is_reset)
    })
}

/// The next fact inwards. An IO error that wraps another one names that one's source, and would hide it.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.map(|error| error as &(dyn Error + 'static)).or_else(|| error.source())
}

fn reason(error: &(dyn Error + 'static)) -> Option<Reason> {
    if error.is::<OutOfReach>() {
        Some(Reason::PrivateAddress)
    } else if error.is::<NoConnection>() {
        Some(Reason::Timeout)
    } else if error.is::<NoSuchHost>() {
        Some(Reason::NoSuchHost)
    } else if error.is::<NetError>() {
        Some(Reason::Dns)
    } else if let Some(error) = error.downcast_ref::<rustls::Error>() {
        let certificate =
            matches!(error, rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented);
        Some(if certificate { Reason::Certificate } else { Reason::Connect })
    } else {
        error.downcast_ref::<hyper::Error>().and_then(of_protocol)
    }
}

fn of_protocol(error: &hyper::Error) -> Option<Reason> {
    if error.is_parse_too_large() {
        Some(Reason::HeadTooLarge)
    } else if error.is_parse() {
        Some(Reason::Malformed)
    } else if error.is_timeout() {
        Some(Reason::Timeout)
    } else {
        None
    }
}

/// What the client says of where an error came from, which the error itself says better.
const WRAPPINGS: [&str; 3] = ["client error (Connect)", "client error (SendRequest)", "dns error"];

/// From the outside in, without saying anything twice.
fn told(chain: &[&(dyn Error + 'static)]) -> String {
    let mut text = String::new();
    for (number, error) in chain.iter().enumerate() {
        let fact = error.to_string();
        let is_wrapping = WRAPPINGS.contains(&fact.as_str()) && number + 1 < chain.len();
        if !is_wrapping && !text.contains(&fact) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&fact);
        }
    }
    text
}
