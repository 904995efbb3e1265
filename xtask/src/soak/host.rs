//! A host that fails on demand: it answers, refuses connections, hangs, breaks off, or says that it has too much to do.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};

/// What a host does to its visitors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Answers,
    /// Nobody listens at its port.
    Refuses,
    /// Connections are taken and nothing is ever said.
    Hangs,
    /// Half an answer, then nothing more.
    Breaks,
    /// 503, with a word on when to come back.
    Overloaded,
}

impl Mood {
    pub(super) const ALL: [Mood; 5] = [Mood::Answers, Mood::Refuses, Mood::Hangs, Mood::Breaks, Mood::Overloaded];
}

/// How often the host looks whether its mood has changed.
const LOOK: Duration = Duration::from_millis(20);
/// Who takes longer to ask is hung up on.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections that are left hanging at a time, at most.
const HANGING: usize = 256;

/// A server in threads of its own, until it is dropped.
pub(super) struct Host {
    pub address: SocketAddr,
    mood: Arc<AtomicU8>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Host {
    pub(super) fn start() -> Result<Host> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot open a port on 127.0.0.1")?;
        let address = listener.local_addr()?;
        let (mood, is_over) = (Arc::new(AtomicU8::new(0)), Arc::new(AtomicBool::new(false)));
        let (its_mood, its_end) = (Arc::clone(&mood), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || serve(Some(listener), address, &its_mood, &its_end));
        Ok(Host { address, mood, is_over, thread: Some(thread) })
    }

    pub(super) fn set(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::Relaxed);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A server that panicked has nothing left to be ended.
            let _ = thread.join();
        }
    }
}

fn serve(mut listener: Option<TcpListener>, address: SocketAddr, mood: &AtomicU8, is_over: &AtomicBool) {
    let mut hanging: Vec<TcpStream> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let now = Mood::ALL.get(usize::from(mood.load(Ordering::Relaxed))).copied().unwrap_or(Mood::Answers);
        if now == Mood::Refuses {
            listener = None;
        } else if listener.is_none() {
            // The port may be somebody's for a moment: then it is tried again.
            listener = TcpListener::bind(address).ok();
        }
        if now != Mood::Hangs {
            hanging.clear();
        }
        let taken = listener.as_ref().and_then(|listener| {
            listener.set_nonblocking(true).ok()?;
            listener.accept().ok()
        });
        match taken {
            None => std::thread::sleep(LOOK),
            Some((stream, _)) if now == Mood::Hangs => {
                hanging.truncate(HANGING - 1);
                hanging.push(stream);
            }
            Some((stream, _)) => {
                // A visitor that hangs up is none of our business.
                std::thread::spawn(move || drop(answer(stream, now)));
            }
        }
    }
}

/// Reads one head and answers it.
fn answer(mut stream: TcpStream, mood: Mood) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut piece)?;
        if read == 0 || head.len() > 1 << 16 {
            return Ok(());
        }
        head.extend_from_slice(&piece[..read]);
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split(' ').nth(1).unwrap_or("/");
    let (status, kind, body) = match path {
        _ if mood == Mood::Overloaded => ("503 Service Unavailable\r\nretry-after: 3", "text/plain", String::new()),
        "/robots.txt" => ("200 OK", "text/plain", "User-agent: *\nAllow: /\n".to_owned()),
        path => ("200 OK", "text/html", format!("<main><h1>Page {path}</h1><p>What it says never changes.</p></main>")),
    };
    let length = if mood == Mood::Breaks { 2 * body.len() + 1 } else { body.len() };
    let text =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all((text + &body).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a visitor gets: everything until the connection ends.
    fn visit(host: &Host) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(host.address)?;
        stream.set_read_timeout(Some(Duration::from_millis(300)))?;
        stream.write_all(b"GET /1 HTTP/1.1\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn a_host_does_as_it_is_told() {
        let host = Host::start().unwrap();
        let after = |mood| {
            host.set(mood);
            std::thread::sleep(Duration::from_millis(200));
            visit(&host)
        };
        assert!(after(Mood::Answers).unwrap().contains("<h1>Page /1</h1>"));
        assert!(after(Mood::Refuses).is_err());
        assert!(after(Mood::Hangs).is_err());
        assert!(after(Mood::Overloaded).unwrap().starts_with("HTTP/1.1 503 Service Unavailable\r\nretry-after: 3"));
        let broken = after(Mood::Breaks).unwrap();
        let (head, body) = broken.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", 2 * body.len() + 1)));
        assert!(after(Mood::Answers).unwrap().contains("200 OK"));
    }
}
