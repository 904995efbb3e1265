//! The durable store keeps what it acknowledged: the suite of all stores, the visit log, rebuilding, and who holds what.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation
)]

mod common;

use common::{copy_all, settings, step};
use everfresh::Unit;
use everfresh_sched::{Error, HostId, Memory, Outcome, PageId, PageTerms, Scheduler, Settings, Store, checks};
use everfresh_store::{Durable, log, page_id, rebuild};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

fn open(dir: &Path) -> Durable {
    Durable::open(dir, "a test").unwrap()
}

fn scheduler(dir: &Path) -> Scheduler<Durable> {
    Scheduler::open(settings(), open(dir), 0.0).unwrap()
}

#[test]
fn it_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let reopen = |store: Durable| {
        let dir = store.dir().to_owned();
        drop(store);
        Durable::open(&dir, "a test")
    };
    assert_eq!(checks::conforms(open(dir.path()), reopen), Ok(()));
}

/// Works to a step, keeping states on the way, and compares with a scheduler in memory.
#[test]
fn the_visit_log_alone_gives_back_all_state() {
    let dir = tempfile::tempdir().unwrap();
    let mut memory = Scheduler::open(settings(), Memory::new(), 0.0).unwrap();
    let mut durable = scheduler(dir.path());
    for number in 0..3000 {
        step(&mut memory, number).unwrap();
        step(&mut durable, number).unwrap();
        if number % 700 == 699 {
            durable.compact().unwrap();
            memory.finish_plan().unwrap();
        }
    }
    // A rebuild would make the rest of a plan, too, which takes further events.
    for finished in [memory.finish_plan(), durable.finish_plan()] {
        finished.unwrap();
    }
    durable.store_mut().flush().unwrap();
    assert!(durable.state() == memory.state());
    let events = durable.store().events();
    assert!(events > 10_000, "{events}");
    drop(durable);
    let files = log::files(dir.path()).unwrap();
    assert_eq!(files.len(), 4);
    let rebuilt = rebuild(dir.path(), "a test", &mut |_| {}).unwrap();
    assert_eq!((rebuilt.events, rebuilt.files, rebuilt.lost), (events, 5, None));
    let opened = scheduler(dir.path());
    assert!(opened.state() == memory.state());
    assert_eq!(opened.store().events(), events);
    drop(opened);
    // Without the engine, and once more after that.
    for _ in 0..2 {
        std::fs::remove_dir_all(dir.path().join("engine")).unwrap();
        let rebuilt = rebuild(dir.path(), "a test", &mut |_| {}).unwrap();
        assert_eq!(rebuilt.events, events);
        assert!(scheduler(dir.path()).state() == memory.state());
    }
    let mut went_on = scheduler(dir.path());
    for number in 3000..3500 {
        step(&mut memory, number).unwrap();
        step(&mut went_on, number).unwrap();
    }
    assert!(went_on.state() == memory.state());
}

#[test]
fn a_damaged_engine_is_rebuilt_and_what_is_lost_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let mut durable = scheduler(dir.path());
    (0..200).for_each(|number| step(&mut durable, number).unwrap());
    durable.compact().unwrap();
    durable.store_mut().settle().unwrap();
    let kept = durable.state().clone();
    step(&mut durable, 200).unwrap();
    drop(durable);
    for entry in walk(&dir.path().join("engine")) {
        std::fs::write(entry, b"nothing that an engine wrote").unwrap();
    }
    assert!(Durable::open(dir.path(), "a test").is_err());
    let rebuilt = rebuild(dir.path(), "a test", &mut |_| {}).unwrap();
    assert!(rebuilt.lost.is_some());
    assert!(*scheduler(dir.path()).state() == kept);
    // What may be the only place of what was lost stays, however often it is rebuilt.
    assert!(rebuild(dir.path(), "a test", &mut |_| {}).unwrap().lost.is_none());
    assert!(dir.path().join("engine.lost").is_dir() && dir.path().join("engine.old").is_dir());
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_row_says_which_page_was_visited() {
    let dir = tempfile::tempdir().unwrap();
    let mut scheduler = self::scheduler(dir.path());
    let address = "https://example.org/a";
    let (page, is_known) = scheduler.store_mut().page(address, |_| false).unwrap();
    assert_eq!((page, is_known), (page_id(address), false));
    let host = scheduler.store_mut().host("example.org").unwrap();
    scheduler.store_mut().name_page(page, address);
    scheduler.add(0.0, page, PageTerms::new(host)).unwrap();
    let lease = scheduler.lease(1.0, 1).unwrap()[0];
    // The lease is in one file, what the visit found in the next.
    scheduler.compact().unwrap();
    scheduler.complete(2.5, lease.id, everfresh_sched::Outcome::Unchanged).unwrap();
    scheduler.compact().unwrap();
    scheduler.store_mut().settle().unwrap();
    let mut found = Vec::new();
    for path in log::files(dir.path()).unwrap() {
        log::read(&path, &mut |read| {
            found.push((read.row.number, read.address, read.host));
            Ok(())
        })
        .unwrap();
    }
    let address = Some(address.to_owned());
    assert_eq!(
        found,
        [
            (0, None, None),
            (1, address.clone(), Some("example.org".to_owned())),
            (2, address.clone(), None),
            (3, address, None)
        ]
    );
}

#[test]
fn names_and_notes_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let (a, b) = (store.host("a.example").unwrap(), store.host("b.example").unwrap());
    assert_eq!((a, b, store.host("a.example").unwrap()), (HostId(0), HostId(1), HostId(0)));
    let group = store.group("news").unwrap();
    store.name_page(PageId(9), "https://a.example/");
    store.note(PageId(9), vec![1, 2]);
    store.note(PageId(9), vec![3]);
    assert_eq!(store.noted(PageId(9)), Ok(Some(vec![3])));
    store.flush().unwrap();
    drop(store);
    let mut store = open(dir.path());
    assert_eq!(store.names().host(b), Some("b.example"));
    assert_eq!(store.names().find_group("news"), Some(group));
    assert_eq!(store.names().find_group("default").map(|group| group.0), Some(0));
    assert_eq!(store.address(PageId(9)), Ok(Some("https://a.example/".to_owned())));
    assert_eq!(store.noted(PageId(9)), Ok(Some(vec![3])));
}

#[test]
fn a_page_that_comes_back_while_a_state_is_kept_has_its_address() {
    let dir = tempfile::tempdir().unwrap();
    let mut scheduler = self::scheduler(dir.path());
    let (page, terms) = (PageId(9), PageTerms::new(HostId(0)));
    let add = |scheduler: &mut Scheduler<Durable>| {
        scheduler.store_mut().name_page(page, "https://a.example/");
        scheduler.add(1.0, page, terms).unwrap();
    };
    add(&mut scheduler);
    for round in 0..100 {
        scheduler.remove(1.0, page).unwrap();
        scheduler.compact().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(100 * round));
        add(&mut scheduler);
        scheduler.store_mut().settle().unwrap();
        assert_eq!(scheduler.store_mut().address(page), Ok(Some("https://a.example/".to_owned())), "round {round}");
    }
    scheduler.remove(1.0, page).unwrap();
    scheduler.compact().unwrap();
    scheduler.store_mut().settle().unwrap();
    assert_eq!(scheduler.store_mut().address(page), Ok(None));
}

#[test]
fn two_addresses_with_one_hash_are_two_pages() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let address = "https://example.org/";
    let hash = page_id(address);
    store.name_page(hash, "https://example.org/which-hashes-the-same");
    assert_eq!(store.page(address, |_| false), Ok((PageId(hash.0.wrapping_add(1)), false)));
}

#[test]
fn who_comes_second_hears_who_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let _first = Durable::open(dir.path(), "everfresh run urls.txt").unwrap();
    let Err(Error::Store(text)) = Durable::open(dir.path(), "a test") else { panic!("it was opened twice") };
    let who = format!("is held by process {}, everfresh run urls.txt; only one may have it open", std::process::id());
    assert!(text.ends_with(&who), "{text}");
}

#[test]
fn a_store_can_be_looked_at_while_another_works() {
    let dir = tempfile::tempdir().unwrap();
    let mut scheduler = self::scheduler(dir.path());
    let (known, looks) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let is_over = || looks.load(Ordering::SeqCst) >= 10;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over() {
                let before = known.load(Ordering::SeqCst);
                let store = Durable::look(dir.path(), "a test that looks").unwrap();
                let looked = Scheduler::resume(store, 1.0, |settings| Ok(settings.unwrap())).unwrap();
                let after = known.load(Ordering::SeqCst);
                let (pages, named) = (looked.state().len(), looked.into_store().address(PageId(1)).unwrap());
                // What was acknowledged before is there, and what is being written may be.
                assert!((before..=after + 200).contains(&pages), "{before} {pages} {after}");
                assert!(pages == 0 || named.as_deref() == Some("http://a.example/1"));
                looks.fetch_add(1, Ordering::SeqCst);
            }
        });
        for group in (0..2000_u64).take_while(|_| !is_over()) {
            let pages: Vec<(PageId, PageTerms)> =
                (0..200).map(|page| (PageId(1 + 200 * group + page), PageTerms::new(HostId(0)))).collect();
            for (page, _) in &pages {
                scheduler.store_mut().name_page(*page, &format!("http://a.example/{}", page.0));
            }
            scheduler.add_all(1.0, &pages).unwrap();
            known.fetch_add(pages.len(), Ordering::SeqCst);
            if group % 100 == 99 {
                scheduler.compact().unwrap();
            }
        }
    });
    assert!(is_over());
    let left = std::fs::read_dir(dir.path()).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with(".look")));
}

#[test]
fn a_log_that_is_cut_off_or_has_a_gap_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut durable = scheduler(dir.path());
    for number in 0..300 {
        step(&mut durable, number).unwrap();
        if number % 100 == 99 {
            durable.compact().unwrap();
        }
    }
    durable.store_mut().settle().unwrap();
    drop(durable);
    std::fs::remove_dir_all(dir.path().join("engine")).unwrap();
    let files = log::files(dir.path()).unwrap();
    let moved = dir.path().join("elsewhere");
    std::fs::rename(&files[1], &moved).unwrap();
    let text = rebuild(dir.path(), "a test", &mut |_| {}).unwrap_err().to_string();
    assert!(text.contains("the visit log has a gap"), "{text}");
    let whole = std::fs::read(&moved).unwrap();
    std::fs::write(&files[1], &whole[..whole.len() / 2]).unwrap();
    let text = rebuild(dir.path(), "a test", &mut |_| {}).unwrap_err().to_string();
    assert!(text.contains(&files[1].display().to_string()), "{text}");
    std::fs::write(&files[1], whole).unwrap();
    rebuild(dir.path(), "a test", &mut |_| {}).unwrap();
}

/// So many bits are flipped.
fn flips() -> usize {
    std::env::var("EVERFRESH_FLIPS").map_or(200, |flips| flips.parse().unwrap())
}

#[test]
fn a_bit_of_the_log_that_is_another_is_found_out_or_means_nothing() {
    let (dir, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut durable = scheduler(dir.path());
    (0..150).for_each(|number| step(&mut durable, number).unwrap());
    durable.compact().unwrap();
    durable.store_mut().settle().unwrap();
    let state = durable.state().clone();
    drop(durable);
    let [file] = &log::files(dir.path()).unwrap()[..] else { panic!("there must be one file") };
    let whole = std::fs::read(file).unwrap();
    let spoilt = copy.path().join("visits/00000000.parquet");
    std::fs::create_dir(copy.path().join("visits")).unwrap();
    let (seed, bits) = (20_261_118, flips());
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut refused, mut by_hash) = (0, 0);
    for _ in 0..bits {
        let mut bytes = whole.clone();
        let bit = rng.random_range(0..8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&spoilt, bytes).unwrap();
        match rebuild(copy.path(), "a test", &mut |_| {}) {
            Ok(_) => assert!(*scheduler(copy.path()).state() == state, "seed {seed}: bit {bit} makes another state"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("visits/00000000.parquet"), "seed {seed}: bit {bit}: {text}");
                refused += 1;
                by_hash += u32::from(text.contains("the hash of its rows"));
            }
        }
        _ = std::fs::remove_dir_all(copy.path().join("engine"));
    }
    println!("{bits} bits of {} bytes: {refused} refused, {by_hash} of them by the hash of the rows", whole.len());
    assert!(refused > bits / 2 && by_hash > 0, "{refused} were refused, {by_hash} of them by the hash");
}

/// A store with visits, and a plan that is being made.
fn planning(dir: &Path) -> Scheduler<Durable> {
    let mut scheduler = self::scheduler(dir);
    let pages: Vec<_> = (0..100).map(|id| (PageId(id), PageTerms::new(HostId(0)))).collect();
    scheduler.add_all(0.0, &pages).unwrap();
    for lease in scheduler.lease(1.0, 5).unwrap() {
        scheduler.complete(1.0, lease.id, Outcome::Unchanged).unwrap();
    }
    (0..9).for_each(|_| assert!(!scheduler.plan_on(2.0, 40).unwrap()));
    scheduler.store_mut().flush().unwrap();
    scheduler
}

#[test]
fn a_plan_that_was_being_made_is_made_by_a_rebuild_and_known_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected = Memory::new();
    let scheduler = planning(dir.path());
    expected.keep(scheduler.state()).unwrap();
    drop(scheduler);
    let mut expected = Scheduler::open(settings(), expected, 0.0).unwrap();
    expected.finish_plan().unwrap();
    rebuild(dir.path(), "a test", &mut |_| {}).unwrap();
    let mut scheduler = self::scheduler(dir.path());
    assert!(!scheduler.is_planning() && scheduler.state() == expected.state());
    scheduler.plan_on(500.0, 1).unwrap();
    for lease in scheduler.lease(1000.0, 5).unwrap() {
        scheduler.complete(1000.0, lease.id, Outcome::Unchanged).unwrap();
    }
    scheduler.compact().unwrap();
    scheduler.store_mut().settle().unwrap();
    let before = scheduler.state().clone();
    drop(scheduler);
    rebuild(dir.path(), "a test", &mut |_| {}).unwrap();
    assert!(*self::scheduler(dir.path()).state() == before);
}

/// Cut off after the visit log was written and before the word that its state counts; then the engine's log loses its end.
#[test]
fn an_engine_that_knows_less_than_the_visit_log_is_refused() {
    let (dir, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut scheduler = planning(dir.path());
    copy_all(&dir.path().join("engine"), &copy.path().join("engine"));
    scheduler.compact().unwrap();
    scheduler.store_mut().settle().unwrap();
    let events = scheduler.store().events();
    drop(scheduler);
    copy_all(&dir.path().join("visits"), &copy.path().join("visits"));
    let engine = std::fs::read_dir(copy.path().join("engine")).unwrap().map(|entry| entry.unwrap().path());
    let journal = engine.filter(|path| path.extension().is_some_and(|end| end == "jnl")).max().unwrap();
    let bytes = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &bytes[..200]).unwrap();
    let text = Durable::open(copy.path(), "a test").unwrap_err().to_string();
    assert!(text.contains("lost events that the visit log has") && text.contains("everfresh rebuild"), "{text}");
    assert_eq!(rebuild(copy.path(), "a test", &mut |_| {}).unwrap().events, events);
}

/// Bytes on the disk: logs are made longer before they are written.
fn disk_bytes(dir: &Path) -> u64 {
    walk(dir).iter().filter_map(|path| path.metadata().ok()).map(|about| about.blocks() * 512).sum()
}

#[test]
fn a_small_store_stays_small_however_long_it_works() {
    let dir = tempfile::tempdir().unwrap();
    let mut scheduler = Scheduler::open(Settings::new(1e6, Unit::Second).unwrap(), open(dir.path()), 0.0).unwrap();
    let pages: Vec<_> = (0..2000).map(|page| (PageId(page), PageTerms::new(HostId(page as u32 % 20)))).collect();
    for (page, _) in &pages {
        scheduler.store_mut().name_page(*page, &format!("https://example.org/a/page/of/some/length/{}", page.0));
    }
    scheduler.add_all(0.0, &pages).unwrap();
    drop(scheduler);
    let begun = disk_bytes(dir.path());
    let mut store = open(dir.path());
    // Visits with a note of each page, 400 MB in all.
    let mut most = 0;
    for round in 0..200u32 {
        for page in 0..2000u64 {
            let note: Vec<u8> = (0..1000u32).map(|byte| (byte.wrapping_mul(round + 7) >> 3) as u8).collect();
            store.note(PageId(page), note);
        }
        store.flush().unwrap();
        most = most.max(disk_bytes(dir.path()));
    }
    drop(store);
    let ended = disk_bytes(&dir.path().join("engine"));
    println!("{begun} bytes after adding, {most} at most, {ended} in the end");
    assert!(begun < 2 << 20, "{begun}");
    assert!(most < 256 << 20 && ended < 160 << 20, "{most} at most, {ended} in the end");
}
