//! TLS, HTTP/2 and names, with real servers of each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod support;

use everfresh_crawl::fetch::{Reach, Reason, Settings, Web};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Server, failure, fetched, look, response, settings};
use tokio::net::UdpSocket;
use tokio_rustls::TlsAcceptor;

/// An authority and a certificate of it for a name.
fn certified(name: &str) -> (CertificateDer<'static>, CertificateDer<'static>, PrivateKeyDer<'static>) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    (authority.der().clone(), leaf.der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into()))
}

fn acceptor(leaf: CertificateDer<'static>, key: PrivateKeyDer<'static>, protocols: &[&str]) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_no_client_auth().with_single_cert(vec![leaf], key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// A server of the protocols that it names, with TLS.
async fn secure(leaf: CertificateDer<'static>, key: PrivateKeyDer<'static>, protocols: &[&str]) -> Server {
    let acceptor = acceptor(leaf, key, protocols);
    Server::talking(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let serve = service_fn(|request: http::Request<hyper::body::Incoming>| async move {
                let text = format!("{:?} {}", request.version(), request.uri().path());
                let mut response = http::Response::new(Full::new(bytes::Bytes::from(text)));
                if request.uri().path() == "/flood" {
                    let value = http::HeaderValue::from_str(&"x".repeat(5000)).unwrap();
                    (0..40).for_each(|i| {
                        let name = http::HeaderName::try_from(format!("x-{i}")).unwrap();
                        response.headers_mut().insert(name, value.clone());
                    });
                }
                Ok::<_, std::convert::Infallible>(response)
            });
            let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            let _ = builder.serve_connection(TokioIo::new(stream), serve).await;
        }
    })
    .await
}

fn trusting(authority: CertificateDer<'static>) -> Web {
    Web::new(Settings { authorities: vec![authority], ..settings() }).unwrap()
}

#[tokio::test]
async fn http_2_is_spoken_where_it_is_offered_on_one_connection() {
    let (authority, leaf, key) = certified("127.0.0.1");
    let server = secure(leaf, key, &["h2", "http/1.1"]).await;
    let web = trusting(authority);
    for page in 0..5 {
        let found = fetched(look(&web, &format!("https://{}/{page}", server.address)).await);
        assert_eq!(found.body, format!("HTTP/2.0 /{page}"));
        let exchange = found.exchange.unwrap();
        assert_eq!((exchange.version, exchange.ip), (http::Version::HTTP_2, Some(server.address.ip())));
        let head = String::from_utf8(exchange.request_head()).unwrap();
        assert!(head.contains(&format!("host: {}\r\n", server.address)), "{head}");
    }
    assert_eq!(server.connections(), 1);
    let failed = failure(look(&web, &format!("https://{}/flood", server.address)).await);
    assert!([Reason::HeadTooLarge, Reason::Cut].contains(&failed.reason), "{failed}");
}

#[tokio::test]
async fn authorities_come_from_pem_files() {
    let (authority, leaf, key) = certified("127.0.0.1");
    let server = secure(leaf, key, &["h2"]).await;
    let dir = tempfile::tempdir().unwrap();
    let (good, empty) = (dir.path().join("ca.pem"), dir.path().join("empty.pem"));
    let base64 = data_encoding::BASE64.encode(&authority);
    std::fs::write(&good, format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")).unwrap();
    std::fs::write(&empty, "").unwrap();
    let mut settings = settings();
    settings.trust(&good).unwrap();
    let refused = settings.trust(&empty).unwrap_err().to_string();
    assert!(refused.ends_with("empty.pem` as a file of certificates: there is no certificate in it"), "{refused}");
    assert!(settings.trust(&dir.path().join("none.pem")).is_err());
    fetched(look(&Web::new(settings).unwrap(), &format!("https://{}/", server.address)).await);
}

#[tokio::test]
async fn http_1_is_spoken_where_http_2_is_not_offered() {
    let (authority, leaf, key) = certified("127.0.0.1");
    let server = secure(leaf, key, &["http/1.1"]).await;
    let found = fetched(look(&trusting(authority), &format!("https://{}/a", server.address)).await);
    assert_eq!(found.body, "HTTP/1.1 /a");
}

#[tokio::test]
async fn certificates_that_are_not_valid_are_refused() {
    let (authority, leaf, key) = certified("127.0.0.1");
    let server = secure(leaf, key, &[]).await;
    let failed = failure(look(&support::web(), &format!("https://{}/", server.address)).await);
    assert_eq!(failed.reason, Reason::Certificate, "unknown authority: {failed}");
    assert!(!failed.reason.retryable());
    let (other, leaf, key) = certified("elsewhere.example");
    let server = secure(leaf, key, &[]).await;
    let failed = failure(look(&trusting(other), &format!("https://{}/", server.address)).await);
    assert_eq!(failed.reason, Reason::Certificate, "another name: {failed}");
    drop(authority);
}

#[tokio::test]
async fn a_server_without_tls_is_no_connection() {
    let server = Server::answering(|_| response("200 OK", &[], b"")).await;
    let talks_first = Server::talking(|mut stream| async move {
        let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, &response("400 Bad", &[], b"plain")).await;
        tokio::time::sleep(std::time::Duration::from_secs(9)).await;
    });
    let failed = failure(look(&support::web(), &format!("https://{}/", talks_first.await.address)).await);
    assert_eq!(failed.reason, Reason::Connect, "{failed}");
    drop(server);
}

/// A server of names that answers every question for an IPv4 address with the next of a list, valid for no time at all, and
/// knows no IPv6 and no name that begins with "no".
async fn names(answers: Vec<Ipv4Addr>) -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        let mut buffer = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let question = &buffer[12..length];
            let end = question.iter().position(|byte| *byte == 0).unwrap() + 5;
            let for_ipv4 = question[end - 4..end - 2] == [0, 1];
            let unknown = question[1..].starts_with(b"no");
            let mut out = vec![buffer[0], buffer[1], 0x81, if unknown { 0x83 } else { 0x80 }, 0, 1, 0, 0, 0, 0, 0, 0];
            out.extend_from_slice(&question[..end]);
            if for_ipv4 && !unknown {
                out[7] = 1;
                let answer = answers[count.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1)];
                out.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                out.extend_from_slice(&answer.octets());
            }
            let _ = socket.send_to(&out, from).await;
        }
    });
    (address, asked)
}

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

#[tokio::test]
async fn names_are_asked_for_once() {
    let server =
        Server::answering(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi".to_vec()).await;
    let (dns, asked) = names(vec![HERE]).await;
    let web = Web::new(Settings { dns_servers: vec![dns], ..settings() }).unwrap();
    for _ in 0..10 {
        let url = format!("http://page.example:{}/", server.address.port());
        assert_eq!(fetched(look(&web, &url).await).body, "hi");
    }
    assert_eq!((asked.load(Ordering::Relaxed), server.connections()), (1, 10));
    assert!(server.heads()[0].contains("host: page.example"));
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_no_host() {
    let (dns, _) = names(vec![HERE]).await;
    let web = Web::new(Settings { dns_servers: vec![dns], ..settings() }).unwrap();
    let failed = failure(look(&web, "http://nowhere.example/").await);
    assert_eq!(failed.reason, Reason::NoSuchHost, "{failed}");
}

#[tokio::test]
async fn a_name_that_points_to_a_private_address_is_refused() {
    let server = Server::answering(|_| response("200 OK", &[], b"secret")).await;
    let (dns, _) = names(vec![HERE]).await;
    let web = Web::new(Settings { dns_servers: vec![dns], reach: Reach::public(), ..settings() }).unwrap();
    let failed = failure(look(&web, &format!("http://page.example:{}/", server.address.port())).await);
    assert_eq!(failed.reason, Reason::PrivateAddress, "{failed}");
    assert!(failed.message.contains("127.0.0.1"), "{failed}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_that_points_elsewhere_the_next_time_gains_nothing() {
    let server = Server::answering(|_| response("200 OK", &[], b"secret")).await;
    // First a public address where nobody answers (TEST-NET-3, permitted for this), then loopback.
    let (dns, _) = names(vec![Ipv4Addr::new(203, 0, 113, 1), HERE]).await;
    let reach = Reach::public().and("203.0.113.0/24".parse().unwrap());
    let mut settings = Settings { dns_servers: vec![dns], reach, ..settings() };
    settings.limits.connect = std::time::Duration::from_millis(300);
    let url = format!("http://page.example:{}/", server.address.port());
    for _ in 0..2 {
        // Two clients, so that the second question is asked for certain.
        let web = Web::new(settings.clone()).unwrap();
        failure(look(&web, &url).await);
        failure(look(&web, &url).await);
    }
    assert_eq!(server.connections(), 0);
}
