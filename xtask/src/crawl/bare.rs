//! A bare load generator: as many connections, every page once, bodies read and dropped.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Seconds that it takes to fetch so many pages.
pub(super) fn fetch(port: u16, pages: usize, connections: usize) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    let start = Instant::now();
    runtime.block_on(async {
        let all: Vec<_> =
            (0..connections).map(|first| tokio::spawn(fetch_some(port, (first..pages).step_by(connections)))).collect();
        for one in all {
            one.await??;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    Ok(start.elapsed().as_secs_f64())
}

async fn connect(port: u16) -> Result<SendRequest<Empty<Bytes>>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // It ends with its sender.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

async fn fetch_some(port: u16, pages: impl Iterator<Item = usize>) -> Result<()> {
    let mut sender = connect(port).await?;
    for page in pages {
        let answer = ask(&mut sender, &format!("/pages/{page}")).await?;
        ensure!(answer > 9_000, "a page must have its bytes, got {answer}");
    }
    Ok(())
}

/// The bytes of an answer.
async fn ask(sender: &mut SendRequest<Empty<Bytes>>, path: &str) -> Result<usize> {
    sender.ready().await?;
    let request = Request::get(path).header("host", "127.0.0.1").body(Empty::new())?;
    let mut body = sender.send_request(request).await?.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(bytes)
}

/// Asks for one path.
pub(super) fn ask_once(port: u16, path: &str) -> Result<usize> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(async { ask(&mut connect(port).await?, path).await })
}
