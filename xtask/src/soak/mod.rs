//! `cargo xtask soak`: the demo's web kept fresh by the real program for as long as one likes, with the program killed, the web
//! stopped and hosts failing at random; then everything is counted.
//!
//! What the program says of a visit, it says after the visit is on the disk: those lines are what must not be lost. The visit log
//! says when visits were given out, also those that a kill cut off: these must keep the budget. See `check.rs`.

mod check;
mod host;
mod process;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use host::{Host, Mood};
use process::{Memory, Running, Web, signal};

/// What to do, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long the program runs, restarts included.
    pub length: Duration,
    /// Pages of the demo's web.
    pub pages: u32,
    /// Visits per second that may be made.
    pub budget_per_s: u32,
    /// The seed of what goes wrong and when.
    pub seed: u64,
}

/// An hour of 2,000 pages at 200 visits a second: so that what is kept in memory comes to its bound within the time that is left in peace.
pub const OPTIONS: Options =
    Options { length: Duration::from_hours(1), pages: 2000, budget_per_s: 200, seed: 20_261_116 };

/// Hosts that fail, and pages of each.
const HOSTS: usize = 3;
const HOST_PAGES: usize = 40;
/// The program is left alone for this last share of the time, so that its memory can be seen over a long run.
const IN_PEACE: f64 = 0.4;
/// One end in so many is asked for, not forced.
const ASKED_ONE_OF: u32 = 5;
const TICK: Duration = Duration::from_millis(100);

/// What was done to the program and to its web.
#[derive(Debug, Default)]
struct Harm {
    killed: u64,
    asked: u64,
    stopped_web: u64,
    moods: [u64; Mood::ALL.len()],
}

/// Runs, and returns what to print; an error if something was lost or overspent. Without a program, the one that tests have is built.
///
/// The files stay where something was wrong, so that the cause can be found.
pub fn run(options: Options, program: Option<PathBuf>) -> Result<String> {
    let program = program.map_or_else(self::program, |path| Ok(path.canonicalize()?))?;
    let folder = crate::root().join("target/bench");
    std::fs::create_dir_all(&folder)?;
    let folder = tempfile::tempdir_in(folder).context("cannot make a folder for the soak")?;
    let course = Course { options, program, dir: folder.path().to_owned() };
    go(&course).map_err(|error| error.context(format!("the soak failed; its files are in {}", folder.keep().display())))
}

/// The whole of it.
fn go(course: &Course) -> Result<String> {
    let options = course.options;
    let web = Web::start(&course.program, &course.dir, options.pages, options.length)?;
    let hosts: Vec<Host> = (0..HOSTS).map(|_| Host::start()).collect::<Result<_>>()?;
    let pages = course.write_list(&hosts)?;
    let start = Instant::now();
    let mut drive = Drive::new(course, &web, &hosts);
    let (told, memory) = drive.run()?;
    let seconds = start.elapsed().as_secs_f64();
    let harm = drive.harm;
    drop(web);
    let mut text = format!(
        "{:.1} min, {} pages, {} of them on {HOSTS} hosts that fail; {} visits/s allowed; seed {}\n\n",
        seconds / 60.0,
        pages.len(),
        HOSTS * HOST_PAGES,
        options.budget_per_s,
        options.seed
    );
    let _ = writeln!(text, "killed (-9)               {:>8}", harm.killed);
    let _ = writeln!(text, "asked to end              {:>8}", harm.asked);
    let _ = writeln!(text, "web stopped for a while   {:>8}", harm.stopped_web);
    for (mood, times) in Mood::ALL.iter().zip(harm.moods) {
        let _ = writeln!(text, "{:26}{times:>8}", format!("a host {}", format!("{mood:?}").to_lowercase()));
    }
    check::check(course, &pages, &told, &mut text)?;
    memory.tell(&mut text)?;
    Ok(text)
}

/// The program as tests have it: with every assertion.
pub(crate) fn program() -> Result<PathBuf> {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    // Within the tests of the workspace it is there: built alone it would compile its dependencies a second time.
    let what = if cfg!(test) { ["test", "--no-run", "--workspace"] } else { ["build", "--package", "everfresh-cli"] };
    cargo.args(what).arg("--quiet").current_dir(crate::root());
    if !cargo.status()?.success() {
        bail!("cannot build the program");
    }
    Ok(crate::root().join("target/debug/everfresh"))
}

/// Where and with what it is done.
pub(crate) struct Course {
    options: Options,
    program: PathBuf,
    dir: PathBuf,
}

impl Course {
    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.current_dir(&self.dir).env_remove("EVERFRESH_STORE");
        command
    }

    /// Adds the pages of the hosts that fail to those of the web, writes the configuration, and names all pages.
    fn write_list(&self, hosts: &[Host]) -> Result<Vec<String>> {
        let path = self.dir.join("pages.txt");
        let mut list = std::fs::read_to_string(&path)?;
        for host in hosts {
            (0..HOST_PAGES).for_each(|page| list.push_str(&format!("http://{}/{page}\n", host.address)));
        }
        std::fs::write(&path, &list)?;
        let budget = self.options.budget_per_s;
        let config = format!(
            "data = \"data\"\nbudget = \"{budget}/s\"\ncontact = \"soak@example.org\"\nreplan = \"30s\"\n\
             [limits]\ngap = \"0s\"\nconcurrency = 4\n\
             [fetch]\nallow = [\"127.0.0.0/8\"]\nconnect = \"2s\"\nfirst_byte = \"2s\"\nvisit = \"5s\"\n\
             [[sources]]\nlist = \"pages.txt\"\n"
        );
        std::fs::write(self.config(), config)?;
        Ok(list.lines().map(str::to_owned).collect())
    }

    fn config(&self) -> PathBuf {
        self.dir.join("everfresh.toml")
    }
}

/// The time while the program runs.
struct Drive<'c> {
    course: &'c Course,
    web: &'c Web,
    hosts: &'c [Host],
    rng: Xoshiro256PlusPlus,
    harm: Harm,
    /// When the web goes on, if it is stopped.
    web_back: Option<Instant>,
}

impl<'c> Drive<'c> {
    fn new(course: &'c Course, web: &'c Web, hosts: &'c [Host]) -> Drive<'c> {
        let rng = Xoshiro256PlusPlus::seed_from_u64(course.options.seed);
        Drive { course, web, hosts, rng, harm: Harm::default(), web_back: None }
    }

    /// A time from now on, of at most a minute and at most a part of the whole.
    fn soon(&mut self, longest_s: f64) -> Instant {
        let most = longest_s.min(self.course.options.length.as_secs_f64() / 6.0);
        Instant::now() + Duration::from_secs_f64(self.rng.random_range(0.15 * most..most))
    }

    /// Lets the program run, ends it and starts it again; says what it told of visits, and what memory it had.
    fn run(&mut self) -> Result<(check::Told, Memory)> {
        let start = Instant::now();
        let end = start + self.course.options.length;
        let peace = start + self.course.options.length.mul_f64(1.0 - IN_PEACE);
        let (mut told, mut memory) = (check::Told::default(), Memory::new(start));
        let mut running = Running::start(self.course)?;
        let (mut next_end, mut next_fault) = (self.soon(60.0), self.soon(20.0));
        while Instant::now() < end {
            std::thread::sleep(TICK);
            memory.sample(running.id());
            running.check()?;
            let now = Instant::now();
            if self.web_back.is_some_and(|back| now >= back) {
                self.web_goes_on()?;
            }
            if now >= next_fault {
                self.fault()?;
                next_fault = self.soon(20.0);
            }
            if now >= next_end && now < peace {
                self.end(running, &mut told)?;
                running = Running::start(self.course)?;
                next_end = self.soon(60.0);
            }
        }
        self.web_goes_on()?;
        running.ask_to_end(&mut told)?;
        Ok((told, memory))
    }

    fn end(&mut self, running: Running, told: &mut check::Told) -> Result<()> {
        if self.rng.random_range(0..ASKED_ONE_OF) == 0 {
            self.harm.asked += 1;
            return running.ask_to_end(told);
        }
        self.harm.killed += 1;
        running.kill(told)
    }

    /// Something else goes wrong, or right.
    fn fault(&mut self) -> Result<()> {
        let who = self.rng.random_range(0..=self.hosts.len());
        let mood = self.rng.random_range(0..Mood::ALL.len());
        if let Some(host) = self.hosts.get(who) {
            host.set(Mood::ALL[mood]);
            self.harm.moods[mood] += 1;
        } else if self.web_back.is_none() {
            signal("STOP", self.web.id())?;
            self.harm.stopped_web += 1;
            self.web_back = Some(self.soon(8.0));
        }
        Ok(())
    }

    fn web_goes_on(&mut self) -> Result<()> {
        self.web_back = None;
        signal("CONT", self.web.id())
    }
}

/// A file that must be there, as text.
fn text_of(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_seconds_of_it_lose_nothing() {
        let options = Options { length: Duration::from_secs(12), pages: 100, ..OPTIONS };
        let text = run(options, None).unwrap();
        assert!(text.contains("acknowledged"), "{text}");
    }
}
