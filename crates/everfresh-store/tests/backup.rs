//! Backups: of a store that another process works with, interrupted, on a full disk; restored and rebuilt.

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
use everfresh_sched::Result;
use everfresh_store::{BackedUp, Backup, Durable, Kind, backups, rebuild};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use small_disk::{SMALL_DISK, fill, on_a_small_disk};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use worker::{Expected, KEEP, WORKER, Worker, open, scheduler, work};

fn back_up(dir: &Path, into: &Path, name: &str) -> Result<BackedUp> {
    let mut backup = Backup::begin(dir, into, "a test that backs up")?;
    backup.store()?;
    backup.finish(name)
}

/// A store that has kept its state some times.
fn worked(dir: &Path, steps: u64) {
    let mut durable = scheduler(dir);
    for number in 0..steps {
        step(&mut durable, number).unwrap();
        if number % KEEP == KEEP - 1 {
            durable.compact().unwrap();
        }
    }
    durable.store_mut().settle().unwrap();
}

fn is_part(path: &Path) -> bool {
    path.file_name().unwrap().to_string_lossy().starts_with(".part")
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn what_was_acknowledged_before_is_in_a_backup_while_a_process_works() {
    if let Ok(dir) = std::env::var(WORKER) {
        return work(Path::new(&dir));
    }
    let (dir, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let before = scheduler(dir.path());
    let mut expected = Expected::of(&before, 0);
    drop(before);
    let worker = Worker::start("what_was_acknowledged_before_is_in_a_backup_while_a_process_works", dir.path(), 0);
    let begun = Instant::now();
    let mut all = Vec::new();
    for number in 0..5 {
        // Something new each time, and the state kept in between.
        let more = all.last().map_or(1, |(_, done): &(u64, BackedUp)| done.events + 800);
        while worker.told() < more {
            assert!(begun.elapsed() < Duration::from_mins(2), "{} of {more} events", worker.told());
            std::thread::sleep(Duration::from_millis(1));
        }
        let told = worker.told();
        all.push((told, back_up(dir.path(), into.path(), &format!("backup {number}")).unwrap()));
    }
    let told = worker.kill();
    assert!(told >= all[4].0 && all[4].1.shared > 0, "{told} {all:?}");
    for (told, done) in &all {
        let opened = scheduler(&done.path);
        assert_eq!(opened.store().events(), done.events);
        assert!(done.events >= *told, "{told} events were acknowledged, {} are there", done.events);
        assert!(*opened.state() == expected.after(done.events), "{} events give another state", done.events);
    }
    // Restored elsewhere, rebuilt from its visit log, and worked with.
    let (told, done) = &all[4];
    let restored = tempfile::tempdir().unwrap();
    copy_all(&done.path, restored.path());
    let rebuilt = rebuild(restored.path(), "a test", &mut |_| {}).unwrap();
    // The rest of a plan that was being made takes further events.
    assert!(rebuilt.events >= done.events && rebuilt.lost.is_none() && rebuilt.files > 3, "{rebuilt:?} {told}");
    let mut restored = scheduler(restored.path());
    (50_000_000..50_000_050).for_each(|number| step(&mut restored, number).unwrap());
    restored.compact().unwrap();
}

#[test]
fn files_that_stay_are_copied_once_and_backups_do_not_need_each_other() {
    let (dir, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    worked(dir.path(), 10 * KEEP);
    std::fs::create_dir(dir.path().join("copies")).unwrap();
    std::fs::write(dir.path().join("copies/one"), "never changes").unwrap();
    std::fs::write(dir.path().join("copies/two"), "grows").unwrap();
    let take = |name: &str| {
        let mut backup = Backup::begin(dir.path(), into.path(), "a test").unwrap();
        backup.store().unwrap();
        assert!(backup.take(Path::new("copies/one"), Kind::Fixed).unwrap());
        assert!(backup.take(Path::new("copies/two"), Kind::Grows).unwrap());
        assert!(!backup.take(Path::new("copies/three"), Kind::Fixed).unwrap());
        backup.finish(name).unwrap()
    };
    let (first, second) = (take("1"), take("2"));
    assert!(first.shared == 0 && second.shared > 10_000, "{first:?} {second:?}");
    assert_eq!(first.copied, second.copied + second.shared);
    // What happens to the store happens to it alone.
    std::fs::write(dir.path().join("copies/one"), "damage").unwrap();
    let state = scheduler(dir.path()).state().clone();
    std::fs::remove_dir_all(dir.path()).unwrap();
    for done in [first, second] {
        assert_eq!(std::fs::read(done.path.join("copies/one")).unwrap(), b"never changes");
        let mut opened = scheduler(&done.path);
        assert!(*opened.state() == state);
        // To work with one changes nothing in the others, nor does to remove it.
        (10 * KEEP..14 * KEEP).for_each(|number| step(&mut opened, number).unwrap());
        opened.compact().unwrap();
        drop(opened);
        std::fs::remove_dir_all(done.path).unwrap();
    }
}

#[test]
fn a_backup_needs_a_directory_of_its_own_and_a_new_name() {
    let (dir, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    worked(dir.path(), 20);
    let text = Backup::begin(dir.path(), dir.path(), "a test").unwrap_err().to_string();
    assert!(text.contains("backups need a directory of their own"), "{text}");
    back_up(dir.path(), into.path(), "1").unwrap();
    let text = back_up(dir.path(), into.path(), "1").unwrap_err().to_string();
    assert!(text.contains("is there already"), "{text}");
    let other = Backup::begin(dir.path(), into.path(), "another").unwrap();
    let text = back_up(dir.path(), into.path(), "2").unwrap_err().to_string();
    assert!(text.contains("is held by process"), "{text}");
    drop(other);
    // Nothing is left of what was not finished.
    assert!(entries(into.path()).iter().all(|path| !is_part(path)) && backups(into.path()).unwrap().len() == 1);
}

/// Backs up without end.
fn back_up_again_and_again(dir: &Path) -> ! {
    for number in 0.. {
        back_up(&dir.join("store"), &dir.join("backups"), &format!("{}-{number:06}", std::process::id())).unwrap();
        println!("acknowledged {}", number + 1);
    }
    std::process::exit(1)
}

#[test]
fn a_backup_that_is_killed_is_none_and_the_others_stay() {
    if let Ok(dir) = std::env::var(WORKER) {
        back_up_again_and_again(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let (store, into) = (dir.path().join("store"), dir.path().join("backups"));
    worked(&store, 3 * KEEP);
    let state = scheduler(&store).state().clone();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(20_261_117);
    let (mut parts, mut whole) = (0, 0);
    for _ in 0..15 {
        let worker = Worker::start("a_backup_that_is_killed_is_none_and_the_others_stay", dir.path(), 0);
        std::thread::sleep(Duration::from_millis(rng.random_range(20..250)));
        let told = worker.kill() as usize;
        let all = if into.exists() { entries(&into) } else { Vec::new() };
        parts += all.iter().filter(|path| is_part(path)).count();
        let found = if into.exists() { backups(&into).unwrap() } else { Vec::new() };
        assert!(found.len() >= told, "{told} were told, {} are there", found.len());
        for path in found {
            assert!(*open(&path).unwrap().state() == state);
            std::fs::remove_dir_all(path).unwrap();
            whole += 1;
        }
    }
    println!("{whole} whole, {parts} in part");
    assert!(whole > 5 && parts > 2, "{whole} whole, {parts} in part");
    back_up(&store, &into, "last").unwrap();
    assert!(entries(&into).iter().all(|path| !is_part(path)));
}

#[test]
fn a_full_disk_leaves_the_backups_that_there_are() {
    let Ok(dir) = std::env::var(SMALL_DISK) else {
        return on_a_small_disk(160, "a_full_disk_leaves_the_backups_that_there_are");
    };
    let (store, into) = (tempfile::tempdir().unwrap(), Path::new(&dir).join("backups"));
    worked(store.path(), 3 * KEEP);
    back_up(store.path(), &into, "1").unwrap();
    let state = scheduler(store.path()).state().clone();
    let ballast = Path::new(&dir).join("ballast");
    fill(&ballast);
    let text = back_up(store.path(), &into, "2").unwrap_err().to_string();
    assert!(text.to_lowercase().contains("space"), "{text}");
    assert_eq!(backups(&into).unwrap(), [into.join("1")]);
    assert!(entries(&into).iter().all(|path| !is_part(path)));
    std::fs::remove_file(ballast).unwrap();
    back_up(store.path(), &into, "2").unwrap();
    for name in ["1", "2"] {
        assert!(*scheduler(&into.join(name)).state() == state);
        assert!(Durable::exists(&into.join(name)));
    }
}
