//! Processes that are killed, logs that are torn, disks that are full.
//!
//! `EVERFRESH_CRASHES=3000 cargo test -p everfresh-store --test crash` kills that many processes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation
)]

mod common;
#[path = "common/small_disk.rs"]
mod small_disk;
#[path = "common/worker.rs"]
mod worker;

use common::{copy_all, step};
use everfresh_sched::{HostId, Outcome, PageId, PageTerms};
use everfresh_store::{Durable, rebuild};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use small_disk::{SMALL_DISK, fill, on_a_small_disk};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use worker::{Expected, KEEP, WORKER, Worker, open, scheduler, work};

/// So many workers live with one store.
const YOUNG: u64 = 50;

/// Lets a worker go on from a step for a while, which begins with its first acknowledged event if it should come to work; kills it, and
/// gives the events that were acknowledged.
fn work_and_kill(dir: &Path, from: u64, after: Duration, works: bool) -> u64 {
    let worker = Worker::start("killed_at_any_time_nothing_is_lost", dir, from);
    let begun = Instant::now();
    while works && worker.told() == 0 {
        assert!(begun.elapsed() < Duration::from_mins(1), "a worker does not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(after);
    worker.kill()
}

#[test]
fn killed_at_any_time_nothing_is_lost() {
    if let Ok(dir) = std::env::var(WORKER) {
        return work(Path::new(&dir));
    }
    let rounds: u64 = std::env::var("EVERFRESH_CRASHES").map_or(25, |rounds| rounds.parse().unwrap());
    let seed = 20_261_116;
    println!("seed {seed}");
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut dir = tempfile::tempdir().unwrap();
    let (mut acknowledged, mut torn) = (0, 0);
    for round in 0..rounds {
        // A store grows, and takes longer to open than its worker lives.
        if round % YOUNG == YOUNG - 1 {
            dir = tempfile::tempdir().unwrap();
        }
        let from = round * 10_000;
        let before = scheduler(dir.path());
        let mut expected = Expected::of(&before, from);
        drop(before);
        let told = work_and_kill(dir.path(), from, Duration::from_millis(rng.random_range(20..300)), round % 3 > 0);
        if round % 5 == 0 {
            tear_anyhow(dir.path(), &mut expected, &mut rng);
            torn += 1;
        }
        let after = scheduler(dir.path());
        let events = after.store().events();
        assert!(events >= told, "round {round}: {told} events were acknowledged, {events} are there");
        assert!(*after.state() == expected.after(events), "round {round}: {events} events give another state");
        acknowledged += u64::from(told > expected.first);
        if round % 100 == 99 {
            println!("{} killed, {acknowledged} of them after something was acknowledged", round + 1);
        }
    }
    println!("{rounds} killed, {acknowledged} of them after something was acknowledged; {torn} copies torn");
    assert!(acknowledged > rounds / 2, "{acknowledged} of {rounds} came to work");
}

/// A log may lose its end at any byte, also of what was on the disk: it is read up to there, or refused and rebuilt.
#[test]
fn a_log_that_is_cut_anywhere_is_read_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = scheduler(dir.path());
    let mut expected = Expected::of(&worker, 0);
    for number in 0..2 * KEEP + 10 {
        step(&mut worker, number).unwrap();
        if number % KEEP == KEEP - 1 {
            worker.compact().unwrap();
        }
    }
    drop(worker);
    let length = written(&std::fs::read(journal(dir.path())).unwrap());
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(20_261_117);
    let (mut left, mut refused) = (length, 0);
    while let Some(less) = left.checked_sub(rng.random_range(1..=length / 50)) {
        left = less;
        refused += u32::from(tear(dir.path(), &mut expected, |log| log.truncate(left)).is_some());
    }
    assert!(refused > 0, "no cut took the word which state counts");
}

/// A disk may write sectors in any order: when the power fails before a group of events is acknowledged, some of its sectors are there and
/// others are not, whatever stands before or behind them. Then the group is there whole, or not at all.
#[test]
fn sectors_that_were_written_in_any_order_are_a_whole_group_or_none() {
    const SECTOR: usize = 512;
    let seed = 20_261_118;
    println!("seed {seed}");
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let dir = tempfile::tempdir().unwrap();
    let mut worker = scheduler(dir.path());
    (0..2 * KEEP).for_each(|number| step(&mut worker, number).unwrap());
    let (mut wholes, mut torn, mut cut) = (0, 0, 0);
    for round in 0..60u64 {
        let (state, events) = (worker.state().clone(), worker.store().events());
        let journal_before = journal(dir.path());
        let before = std::fs::read(&journal_before).unwrap();
        let pages = (0..rng.random_range(1..200)).map(|more| (PageId((round << 32) + more), PageTerms::new(HostId(0))));
        worker.add_all(KEEP as f64, &pages.collect::<Vec<_>>()).unwrap();
        let copy = tempfile::tempdir().unwrap();
        copy_all(dir.path(), copy.path());
        let log = journal(copy.path());
        let mut after = std::fs::read(&log).unwrap();
        assert_eq!(journal(dir.path()), journal_before, "the engine began another log");
        // All but one in so many came to the disk.
        let missing = [2, 4, 16, 1000][rng.random_range(0..4)];
        for (sector, bytes) in after.chunks_mut(SECTOR).enumerate() {
            let was = before.get(sector * SECTOR..).unwrap_or_default();
            if rng.random_range(0..missing) == 0 {
                bytes.fill(0);
                bytes.iter_mut().zip(was).for_each(|(byte, was)| *byte = *was);
            }
        }
        std::fs::write(log, after).unwrap();
        let found = scheduler(copy.path());
        cut += u32::from(found.store().was_torn());
        let is_whole = found.store().events() > events;
        let (wanted, count) = if is_whole { (worker.state(), worker.store().events()) } else { (&state, events) };
        assert_eq!(found.store().events(), count, "round {round}");
        assert!(found.state() == wanted, "round {round}: another state");
        if is_whole { wholes += 1 } else { torn += 1 }
    }
    println!("{wholes} groups were whole, {torn} torn, of which the engine refused {cut}");
    assert!(wholes > 5 && torn > 5 && (1..=torn).contains(&cut), "{wholes} {torn} {cut}");
}

/// A log that is damaged where no power failure does it is refused, and refused again, without losing another byte.
#[test]
fn a_log_that_is_refused_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = scheduler(dir.path());
    (0..KEEP).for_each(|number| step(&mut worker, number).unwrap());
    drop(worker);
    let log = journal(dir.path());
    let whole = std::fs::read(&log).unwrap();
    let (length, mut refused) = (written(&whole), 0);
    for place in (length / 4..length / 2).step_by(length / 200 + 1) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x55;
        std::fs::write(&log, &bytes).unwrap();
        let copy = tempfile::tempdir().unwrap();
        copy_all(dir.path(), copy.path());
        for _ in 0..2 {
            if let Err(error) = open(copy.path())
                && error.to_string().contains("JournalRecovery")
            {
                refused += 1;
                assert!(std::fs::read(journal(copy.path())).unwrap() == bytes, "byte {place}: another log");
            }
        }
    }
    println!("{refused} refused");
    assert!(refused > 3 && refused % 2 == 0, "{refused}");
}

/// Tears the end off the engine's log in a copy, and puts zeros or rubbish there.
fn tear_anyhow(dir: &Path, expected: &mut Expected, rng: &mut Xoshiro256PlusPlus) {
    let is_rubbish = rng.random();
    let refused = tear(dir, expected, |log| {
        let written = written(log);
        log.truncate(written - rng.random_range(0..200.min(written + 1)));
        log.extend((0..rng.random_range(0..100)).map(|_| if is_rubbish { rng.random::<u8>() } else { 0 }));
    });
    assert!(refused.is_none_or(|said| is_rubbish || said.contains("has lost")));
}

/// Spoils the engine's log in a copy: what is left must be a beginning of what happened, and if it is refused, what is rebuilt.
/// Gives the words of the refusal.
fn tear(dir: &Path, expected: &mut Expected, spoil: impl FnOnce(&mut Vec<u8>)) -> Option<String> {
    let copy = tempfile::tempdir().unwrap();
    copy_all(dir, copy.path());
    let log = journal(copy.path());
    let mut bytes = std::fs::read(&log).unwrap();
    spoil(&mut bytes);
    std::fs::write(log, bytes).unwrap();
    let (found, refused) = match open(copy.path()) {
        Ok(found) => (found, None),
        Err(error) => {
            assert!(error.to_string().contains("everfresh rebuild"), "{error}");
            rebuild(copy.path(), "a test", &mut |_| {}).unwrap();
            (open(copy.path()).unwrap(), Some(error.to_string()))
        }
    };
    let events = found.store().events();
    assert!(events < expected.first || *found.state() == expected.after(events), "{events} events, torn; {refused:?}");
    refused
}

/// The log that the engine writes to.
fn journal(dir: &Path) -> PathBuf {
    let engine = std::fs::read_dir(dir.join("engine")).unwrap().map(|entry| entry.unwrap().path());
    engine.filter(|path| path.extension().is_some_and(|end| end == "jnl")).max().unwrap()
}

/// So much of a log is written; the engine makes it longer beforehand.
fn written(log: &[u8]) -> usize {
    log.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

#[test]
fn a_full_disk_loses_nothing_and_work_goes_on_when_there_is_space() {
    let Ok(dir) = std::env::var(SMALL_DISK) else {
        return on_a_small_disk(96, "a_full_disk_loses_nothing_and_work_goes_on_when_there_is_space");
    };
    let (ballast, store) = (Path::new(&dir).join("ballast"), Path::new(&dir).join("store"));
    let mut durable = scheduler(&store);
    (0..100).for_each(|number| step(&mut durable, number).unwrap());
    let leases = durable.lease(58.0, 3).unwrap();
    assert!(!leases.is_empty());
    fill(&ballast);
    let (before, text) = (1u64..)
        .find_map(|number| {
            let before = durable.state().clone();
            let pages: Vec<_> =
                (0..500).map(|more| (PageId((number << 32) + more), PageTerms::new(HostId(0)))).collect();
            durable.add_all(60.0, &pages).err().map(|error| (before, error.to_string()))
        })
        .unwrap();
    assert!(text.to_lowercase().contains("space"), "{text}");
    assert!(*durable.state() == before);
    // It is opened anew; what that has freed is taken, too.
    let again = Path::new(&dir).join("more ballast");
    assert_eq!(durable.store_mut().address(PageId(0)), Ok(None));
    fill(&again);
    // Visits that come back meanwhile are taken in, and written when there is space.
    let visits: Vec<_> = leases.iter().map(|lease| (lease.id, Outcome::Unchanged)).collect();
    durable.hold();
    assert!(durable.complete_all(60.0, &visits).unwrap().iter().all(Result::is_ok));
    let more: Vec<_> = (0..500).map(|more| (PageId(u64::MAX - more), PageTerms::new(HostId(0)))).collect();
    durable.add_all(60.0, &more).unwrap();
    assert!(durable.lease(60.0, 5).is_err() && durable.state().live().all(|(lease, _)| lease < leases[0].id));
    for path in [ballast, again] {
        std::fs::remove_file(path).unwrap();
    }
    durable.release().unwrap();
    (200..400).for_each(|number| step(&mut durable, number).unwrap());
    durable.compact().unwrap();
    let (state, events) = (durable.state().clone(), durable.store().events());
    drop(durable);
    let opened = scheduler(&store);
    assert_eq!(opened.store().events(), events);
    assert!(*opened.state() == state);
}

#[test]
fn a_read_only_disk_is_said_and_work_goes_on_when_it_may_be_written() {
    let Ok(dir) = std::env::var(SMALL_DISK) else {
        return on_a_small_disk(96, "a_read_only_disk_is_said_and_work_goes_on_when_it_may_be_written");
    };
    let remount = |how: &str| {
        let done = Command::new("mount").args(["-o", how, &dir]).status().unwrap();
        assert!(done.success());
    };
    let store = Path::new(&dir).join("store");
    let mut durable = scheduler(&store);
    (0..100).for_each(|number| step(&mut durable, number).unwrap());
    let state = durable.state().clone();
    drop(durable);
    remount("remount,ro");
    let text = Durable::open(&store, "a test").unwrap_err().to_string();
    assert!(text.to_lowercase().contains("read-only"), "{text}");
    remount("remount,rw");
    let mut durable = scheduler(&store);
    assert!(*durable.state() == state);
    (100..200).for_each(|number| step(&mut durable, number).unwrap());
}
