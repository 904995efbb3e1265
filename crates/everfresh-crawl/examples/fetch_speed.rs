//! How many pages a second one client fetches from a server in the same process, on loopback:
//! `cargo run --release --example fetch_speed -p everfresh-crawl`.

use everfresh_crawl::fetch::{Address, Agent, Ask, Outcome, Reach, Settings, Source, Web};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PAGES: usize = 20_000;
const TASKS: usize = 32;
const BODY_BYTES: usize = 16 << 10;

/// Answers every request with the same page; a client that waits for its answers sends one head at a time.
async fn serve(mut stream: TcpStream) {
    let mut page = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY_BYTES}\r\n\r\n").into_bytes();
    page.resize(page.len() + BODY_BYTES, b'x');
    let mut buffer = [0; 4096];
    let mut held = 0;
    while let Ok(read) = stream.read(&mut buffer[held..]).await {
        held += read;
        let whole = buffer[..held].ends_with(b"\r\n\r\n");
        if read == 0 || (whole && stream.write_all(&page).await.is_err()) {
            return;
        }
        held = if whole { 0 } else { held };
    }
}

async fn visits(web: Web, address: String) -> anyhow::Result<()> {
    for page in 0..PAGES / TASKS {
        let ask = Ask::new(Address::of_page(&format!("{address}/{page}"))?, jiff::Timestamp::UNIX_EPOCH);
        let visit = web.look(&ask).await;
        anyhow::ensure!(matches!(visit.outcome, Outcome::Fetched(_)), "{}", visit.outcome);
    }
    Ok(())
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stdout, reason = "it is what the example is for")]
async fn main() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    let mut settings = Settings::new(Agent::new("everfresh", "0.1", "https://example.com/bot")?);
    settings.reach = Reach::anywhere();
    settings.idle_per_host = TASKS;
    settings.obey_robots = false;
    let web = Web::new(settings)?;
    let start = Instant::now();
    let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(visits(web.clone(), address.clone()))).collect();
    for task in tasks {
        task.await??;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{PAGES} pages of {BODY_BYTES} bytes in {seconds:.2} s: {:.0} a second", PAGES as f64 / seconds);
    Ok(())
}
