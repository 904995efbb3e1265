//! `cargo xtask bench crawl`: pages per second of `everfresh run` on loopback, beside a bare load generator and Scrapy.
//!
//! One canonical workload: pages of 10 kB on sixteen hosts of a server in a process of its own, which lie ready in its memory. The
//! program visits each once: fetched, parsed, cut into fragments, kept as WARC, scheduled, each visit on the disk before it counts.
//! Then half of the pages change, and it visits each again: half are told that nothing changed (304). All share the same cores, the
//! server included: so the time of the processor that the program itself takes is told too.

mod bare;
mod server;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::bench::{Options, command, processor_times};

/// Twenty thousand pages; two thousand for Scrapy.
pub const OPTIONS: Options = Options { pages: 20_000, rival_pages: 2000, runs: 1, hosts: 16 };

/// Requests at a time.
const PARALLEL: usize = 256;
/// So many times as many pages are queued when the memory is measured, for so long.
const QUEUED: usize = 5;
const QUEUED_TIME: Duration = Duration::from_secs(10);

/// Serves pages, says at which port, and never returns: `cargo xtask bench crawl` starts it.
pub fn serve(out: &mut dyn std::io::Write) -> Result<()> {
    let (listener, port) = server::bind()?;
    writeln!(out, "{port}")?;
    out.flush()?;
    server::serve(listener)
}

/// The server in a process of its own.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Result<Server> {
        let mut child = Command::new(std::env::current_exe()?).arg("serve-pages").stdout(Stdio::piped()).spawn()?;
        let mut said = String::new();
        let out = child.stdout.take().context("the server must say its port")?;
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut said)?;
        let port = said.trim().parse().with_context(|| format!("a port must be a number, got `{said}`"))?;
        Ok(Server { child, port })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures and returns what to print.
pub fn run(options: Options) -> Result<String> {
    let program = crate::bench_files::program()?;
    let server = Server::start()?;
    let rival = (options.rival_pages > 0).then(install_scrapy).transpose()?;
    measure(options, &program, server.port, rival.as_deref())
}

fn measure(options: Options, program: &Path, port: u16, python: Option<&Path>) -> Result<String> {
    let folder = crate::root().join("target/bench");
    std::fs::create_dir_all(&folder)?;
    let folder = tempfile::tempdir_in(folder).context("cannot make a folder for the bench")?;
    let bench = Bench { program, port, hosts: options.hosts.clamp(1, 200), dir: folder.path() };
    let pages = options.pages;
    let mut text = format!("{pages} pages of 10 kB on {} hosts, {PARALLEL} requests at a time\n\n", bench.hosts);
    let _ = writeln!(text, "{:28}{:>10}{:>13}{:>19}", "", "pages/s", "of the bare", "processor us/page");
    let (busy, start) = (own_s()?, bare::fetch(port, pages, PARALLEL)?);
    let bare = Speed { pages, seconds: start, processor_s: own_s()? - busy };
    bare.tell("bare load generator", &bare, &mut text);
    bench.add("first", pages)?;
    bench.run("first", pages)?.tell("everfresh, first visits", &bare, &mut text);
    bare::ask_once(port, server::FLIP)?;
    // No page is visited twice within a second: with few pages all of them would still be too young.
    std::thread::sleep(Duration::from_secs(1));
    bench.run("first", pages)?.tell("everfresh, half changed", &bare, &mut text);
    if let Some(python) = python {
        bench.scrapy(python, options.rival_pages)?.tell("Scrapy, title and text only", &bare, &mut text);
    }
    let queued = QUEUED * pages;
    let peak = bench.memory(queued)?;
    let _ = writeln!(text, "\nmost memory with {queued} pages queued: {:.0} MiB", peak as f64 / 1024.0);
    Ok(text)
}

/// What was done in what time.
struct Speed {
    pages: usize,
    seconds: f64,
    processor_s: f64,
}

impl Speed {
    fn per_s(&self) -> f64 {
        self.pages as f64 / self.seconds
    }

    fn tell(&self, name: &str, bare: &Speed, text: &mut String) {
        let (speed, share) = (self.per_s(), self.per_s() / bare.per_s());
        let micros = 1e6 * self.processor_s / self.pages as f64;
        let _ = writeln!(text, "{name:28}{speed:>10.0}{share:>13.3}{micros:>19.0}");
    }
}

struct Bench<'b> {
    program: &'b Path,
    port: u16,
    hosts: usize,
    dir: &'b Path,
}

impl Bench<'_> {
    /// Addresses of pages, one a line: every address of loopback is a host.
    fn list(&self, pages: usize) -> String {
        let line = |page: usize| format!("http://127.0.0.{}:{}/pages/{page}\n", 1 + page % self.hosts, self.port);
        (0..pages).map(line).collect()
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.program);
        command.current_dir(self.dir.join(name)).env_remove("EVERFRESH_STORE").stderr(Stdio::null());
        command
    }

    /// Begins a store with so many pages.
    fn add(&self, name: &str, pages: usize) -> Result<()> {
        let dir = self.dir.join(name);
        std::fs::create_dir_all(&dir)?;
        std::fs::write(dir.join("urls.txt"), self.list(pages))?;
        let config = "[limits]\ngap = \"0s\"\nconcurrency = 64\n[fetch]\nallow = [\"127.0.0.0/8\"]\n";
        std::fs::write(dir.join("everfresh.toml"), config)?;
        let done = self.command(name).args(["add", "urls.txt", "--budget", "1000000000/day"]).status()?;
        ensure!(done.success(), "cannot add pages");
        Ok(())
    }

    fn visiting(&self, name: &str) -> Result<Child> {
        let mut command = self.command(name);
        command.args(["run", "everfresh.toml", "--once", "--json", "--contact", "bench@example.org", "--parallel"]);
        Ok(command.arg(PARALLEL.to_string()).stderr(Stdio::piped()).spawn()?)
    }

    /// Visits every page once.
    fn run(&self, name: &str, pages: usize) -> Result<Speed> {
        let (busy, start) = (children_s()?, Instant::now());
        let done = self.visiting(name)?.wait_with_output()?;
        let (seconds, processor_s) = (start.elapsed().as_secs_f64(), children_s()? - busy);
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.lines().last().unwrap_or_default();
        ensure!(done.status.success(), "the program failed: {last}");
        let end: serde_json::Value = serde_json::from_str(last).with_context(|| format!("it said `{last}`"))?;
        ensure!(end["visits"] == pages && end["failed"] == 0, "{pages} visits were to be made: {last}");
        Ok(Speed { pages, seconds, processor_s })
    }

    /// The most memory, in KiB, while many pages are queued.
    fn memory(&self, pages: usize) -> Result<u64> {
        self.add("queued", pages)?;
        let mut child = self.visiting("queued")?;
        let mut said = child.stderr.take().context("it must say something")?;
        let reading = std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let (start, mut is_asked, mut peak) = (Instant::now(), false, 0);
        while child.try_wait()?.is_none() {
            peak = peak.max(crate::bench_files::peak_of(&child));
            if !is_asked && start.elapsed() > QUEUED_TIME {
                Command::new("kill").arg("-INT").arg(child.id().to_string()).status()?;
                is_asked = true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // What it said is of no use.
        let _ = reading.join();
        Ok(peak)
    }

    fn scrapy(&self, python: &Path, pages: usize) -> Result<Speed> {
        let list = self.dir.join("scrapy.txt");
        std::fs::write(&list, self.list(pages))?;
        let script = crate::root().join("bench/rivals/crawl.py");
        let busy = children_s()?;
        let said = command(Command::new(python).arg(script).arg(list).arg(PARALLEL.to_string()))?;
        let processor_s = children_s()? - busy;
        let mut words = said.split_whitespace();
        let (seen, seconds) = (words.next().map(str::parse::<usize>), words.next().map(str::parse::<f64>));
        let (Some(Ok(seen)), Some(Ok(seconds))) = (seen, seconds) else { bail!("Scrapy said `{said}`") };
        ensure!(seen == pages, "Scrapy saw {seen} of {pages} pages");
        Ok(Speed { pages, seconds, processor_s })
    }
}

/// The interpreter of a virtual environment that has Scrapy.
fn install_scrapy() -> Result<PathBuf> {
    let folder = crate::root().join("target/bench/scrapy");
    let python = folder.join("bin/python");
    if !folder.join("bin/scrapy").exists() {
        command(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        command(Command::new(&python).args(["-m", "pip", "install", "--quiet", "scrapy"]))?;
    }
    Ok(python)
}

/// Seconds that this process had a processor, and those that its children had which have ended.
fn own_s() -> Result<f64> {
    processor_times().map(|(own, _)| own)
}

fn children_s() -> Result<f64> {
    processor_times().map(|(_, children)| children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the program as tests have it, and the server in a thread.
    #[test]
    fn a_tiny_size_runs() {
        let program = crate::soak::program().unwrap();
        let (listener, port) = server::bind().unwrap();
        std::thread::spawn(move || server::serve(listener));
        let text = measure(Options { pages: 60, hosts: 3, ..OPTIONS }, &program, port, None).unwrap();
        assert!(text.contains("everfresh, half changed") && text.contains("with 300 pages queued"), "{text}");
    }
}
