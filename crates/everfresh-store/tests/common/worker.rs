//! A process that works without end until it is killed, and what it must have done.

use super::common::{settings, step};
use everfresh_sched::{Memory, Result, Scheduler, State, Store};
use everfresh_store::Durable;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Where a test that was started as a worker works.
pub(crate) const WORKER: &str = "EVERFRESH_TEST_DIR";
const FROM: &str = "EVERFRESH_TEST_FROM";
/// A worker keeps its state every so many steps.
pub(crate) const KEEP: u64 = 40;

pub(crate) fn open(dir: &Path) -> Result<Scheduler<Durable>> {
    Scheduler::open(settings(), Durable::open(dir, "a test")?, 0.0)
}

pub(crate) fn scheduler(dir: &Path) -> Scheduler<Durable> {
    open(dir).unwrap()
}

/// Works without end, and tells after each step how many events are acknowledged.
pub(crate) fn work(dir: &Path) {
    let from: u64 = std::env::var(FROM).unwrap().parse().unwrap();
    let mut scheduler = scheduler(dir);
    let mut out = std::io::stdout();
    for number in from.. {
        step(&mut scheduler, number).unwrap();
        if number % KEEP == KEEP - 1 {
            scheduler.compact().unwrap();
        }
        writeln!(out, "acknowledged {}", scheduler.store().events()).unwrap();
        out.flush().unwrap();
    }
}

/// A worker, and how many events it has told to be acknowledged.
pub(crate) struct Worker {
    process: Child,
    told: Arc<AtomicU64>,
    reading: JoinHandle<()>,
}

impl Worker {
    /// Starts this program again with one test, which is to [`work`] in `dir` from a step on.
    pub(crate) fn start(test: &str, dir: &Path, from: u64) -> Worker {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(WORKER, dir)
            .env(FROM, from.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (told, lines) = (Arc::new(AtomicU64::new(0)), BufReader::new(process.stdout.take().unwrap()).lines());
        let tells = Arc::clone(&told);
        let reading = std::thread::spawn(move || {
            for line in lines.map_while(std::result::Result::ok) {
                if let Some(count) = line.strip_prefix("acknowledged ").and_then(|count| count.parse().ok()) {
                    tells.store(count, Ordering::SeqCst);
                }
            }
        });
        Worker { process, told, reading }
    }

    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::SeqCst)
    }

    /// Kills it, and gives the events that were acknowledged.
    pub(crate) fn kill(mut self) -> u64 {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.reading.join().unwrap();
        self.told.load(Ordering::SeqCst)
    }
}

/// What a worker does from a state on, event by event.
pub(crate) struct Expected {
    state: State,
    pub(crate) first: u64,
    next_step: u64,
    scheduler: Scheduler<Memory>,
}

impl Expected {
    pub(crate) fn of(durable: &Scheduler<Durable>, from: u64) -> Expected {
        let mut memory = Memory::new();
        memory.keep(durable.state()).unwrap();
        let scheduler = Scheduler::open(settings(), memory, 0.0).unwrap();
        Expected { state: durable.state().clone(), first: durable.store().events(), next_step: from, scheduler }
    }

    /// The state after so many events in all.
    pub(crate) fn after(&mut self, events: u64) -> State {
        let count = (events - self.first) as usize;
        while self.scheduler.store().events().len() < count {
            step(&mut self.scheduler, self.next_step).unwrap();
            if self.next_step % KEEP == KEEP - 1 {
                // As before a state is kept.
                self.scheduler.finish_plan().unwrap();
            }
            self.next_step += 1;
        }
        let mut state = Some(self.state.clone());
        for event in &self.scheduler.store().events()[..count] {
            State::fold(&mut state, event).unwrap();
        }
        state.unwrap()
    }
}
