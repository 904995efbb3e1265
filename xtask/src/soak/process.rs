//! The processes of a soak: the web, the program, and the memory it takes.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::check::Told;
use super::{Course, text_of};

/// Who is asked to end gets so long.
const LAST_TIME: Duration = Duration::from_mins(2);
/// The web names its pages within this time.
const FIRST_TIME: Duration = Duration::from_mins(1);

/// Sends a signal to a process that was started here.
pub(super) fn signal(name: &str, process: u32) -> Result<()> {
    let done = Command::new("kill").arg(format!("-{name}")).arg(process.to_string()).status()?;
    if done.success() { Ok(()) } else { bail!("cannot send {name} to process {process}") }
}

/// `everfresh demo --serve`, until it is dropped.
pub(super) struct Web(Child);

impl Web {
    /// A day of it goes by in a minute.
    pub(super) fn start(program: &Path, dir: &Path, pages: u32, length: Duration) -> Result<Web> {
        let days = (length.as_secs() / 60).max(1);
        let mut command = Command::new(program);
        command.args(["demo", "--serve", "pages.txt", "--pages"]).arg(pages.to_string());
        command.arg("--days").arg(days.to_string()).arg("--takes").arg(format!("{days}min")).current_dir(dir);
        let web = Web(command.stderr(Stdio::null()).spawn().context("cannot start the web")?);
        let (start, list) = (Instant::now(), dir.join("pages.txt"));
        while !list.exists() {
            if start.elapsed() > FIRST_TIME {
                bail!("the web did not begin");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(web)
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `everfresh run`, and a thread that takes down what it says.
pub(super) struct Running {
    child: Child,
    lines: Option<JoinHandle<Told>>,
}

impl Running {
    pub(super) fn start(course: &Course) -> Result<Running> {
        let mut command = course.command();
        command.arg("run").arg(course.config()).args(["--json", "--parallel", "32"]);
        let began = Instant::now();
        let mut child = command.stderr(Stdio::piped()).spawn().context("cannot start the program")?;
        let said = child.stderr.take().context("it must say something")?;
        let lines = std::thread::spawn(move || {
            let mut told = Told::default();
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                told.take(&line, began.elapsed());
            }
            told
        });
        Ok(Running { child, lines: Some(lines) })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// It must not end by itself.
    pub(super) fn check(&mut self) -> Result<()> {
        let Some(ended) = self.child.try_wait()? else { return Ok(()) };
        let mut told = Told::default();
        self.hear(&mut told)?;
        bail!("the program ended by itself ({ended}): {}", told.last_words())
    }

    pub(super) fn kill(mut self, told: &mut Told) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.hear(told)
    }

    /// Ends it as Ctrl-C does, which must succeed.
    pub(super) fn ask_to_end(mut self, told: &mut Told) -> Result<()> {
        signal("INT", self.id())?;
        let start = Instant::now();
        let ended = loop {
            if let Some(ended) = self.child.try_wait()? {
                break ended;
            }
            if start.elapsed() > LAST_TIME {
                bail!("the program did not end within {LAST_TIME:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        self.hear(told)?;
        if !ended.success() {
            bail!("the program ended with {ended}: {}", told.last_words());
        }
        Ok(())
    }

    fn hear(&mut self, told: &mut Told) -> Result<()> {
        if let Some(lines) = self.lines.take() {
            told.add(lines.join().map_err(|_| anyhow!("nobody took down what the program said"))?);
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the program may take: 64 MiB of blocks that the engine keeps, as much again for its tables in memory, 10 MiB for the tail of the
/// index of copies, and what a program and its allocator need.
const MOST_MIB: f64 = 192.0;

/// What memory the program had, sampled.
pub(super) struct Memory {
    start: Instant,
    sampled: Option<Instant>,
    /// Seconds from the start, the process, and its resident memory in KiB.
    samples: Vec<(f64, u32, u64)>,
}

impl Memory {
    pub(super) fn new(start: Instant) -> Memory {
        Memory { start, sampled: None, samples: Vec::new() }
    }

    /// Looks once a second.
    pub(super) fn sample(&mut self, process: u32) {
        if self.sampled.is_some_and(|last| last.elapsed() < Duration::from_secs(1)) {
            return;
        }
        self.sampled = Some(Instant::now());
        // A process that has just ended has none.
        let Ok(status) = text_of(Path::new(&format!("/proc/{process}/status"))) else { return };
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = line.and_then(|line| line.split_whitespace().next()).and_then(|value| value.parse().ok());
        self.samples.extend(resident.map(|resident| (self.start.elapsed().as_secs_f64(), process, resident)));
    }

    /// The highest of all, which must be within its bound, and the last run in tenths of its time.
    pub(super) fn tell(&self, text: &mut String) -> Result<()> {
        let mib = |kib: u64| kib as f64 / 1024.0;
        let most = self.samples.iter().map(|sample| sample.2).max().unwrap_or(0);
        let _ = writeln!(text, "most memory, of all runs  {:>10.1} MiB of {MOST_MIB} allowed", mib(most));
        let last = self.samples.last().map_or(0, |sample| sample.1);
        let last: Vec<_> = self.samples.iter().filter(|sample| sample.1 == last).collect();
        let span = last.first().zip(last.last()).map_or(0.0, |(first, last)| last.0 - first.0);
        let _ = writeln!(text, "memory of the last run, the most in each tenth of its {:.1} min, in MiB:", span / 60.0);
        let tenths = last.chunks(last.len().div_ceil(10).max(1));
        for most in tenths.map(|tenth| tenth.iter().map(|sample| sample.2).max().unwrap_or(0)) {
            let _ = write!(text, " {:.1}", mib(most));
        }
        text.push('\n');
        ensure!(
            mib(most) <= MOST_MIB,
            "the program took {:.1} MiB of memory, {MOST_MIB} are allowed:\n{text}",
            mib(most)
        );
        Ok(())
    }
}
