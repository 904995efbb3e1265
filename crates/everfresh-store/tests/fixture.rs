//! The visit log is the ground state: files that were written once stay readable. `logs/` has one of every version.
//!
//! `EVERFRESH_WRITE=1 cargo test -p everfresh-store --test fixture` writes that of the present version, for a new one.

#![allow(clippy::unwrap_used)]

use everfresh::{Period, Unit};
use everfresh_sched::{
    GroupId, GroupRule, HintKind, HostLimits, Lease, Outcome, PageId, PageTerms, Scheduler, Settings, Trouble,
};
use everfresh_store::{Durable, log, rebuild};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const START_S: f64 = 1_800_000_000.125;
const DAY: f64 = 86_400.0;

fn seconds(seconds: f64) -> Period {
    Period::of(seconds, Unit::Second).unwrap()
}

fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs/v1.parquet")
}

fn found(lease: &Lease) -> Outcome {
    match lease.page.0 {
        0 => Outcome::Changed { divergence: 0.25, last_change: Some(seconds(30.5)) },
        1 => Outcome::Failed { retryable: true },
        2 => Outcome::Failed { retryable: false },
        3 => Outcome::Gone,
        _ => Outcome::Unchanged,
    }
}

/// A store that met every kind of event.
fn work(dir: &Path) {
    let settings = Settings::new(20.0, Unit::Day).unwrap().with_start(START_S).unwrap().with_seed(3);
    let mut scheduler = Scheduler::open(settings, Durable::open(dir, "a test").unwrap(), START_S).unwrap();
    let store = scheduler.store_mut();
    let (host, group) = (store.host("host.example").unwrap(), store.group("news, odd").unwrap());
    for page in 0..6 {
        scheduler.store_mut().name_page(PageId(page), &format!("https://host.example/ä?page={page}"));
        scheduler.add(START_S, PageId(page), PageTerms::new(host).in_group(group)).unwrap();
    }
    let limits = HostLimits::NONE.with_gap(seconds(2.5)).unwrap().with_concurrency(3).unwrap();
    scheduler.limit(START_S, host, limits).unwrap();
    scheduler.limit_group(START_S, group, limits).unwrap();
    scheduler.rule(START_S, GroupId(9), GroupRule::Every(seconds(5000.0))).unwrap();
    for hour in 0..5 * 24u32 {
        let now_s = START_S + 3600.0 * f64::from(hour);
        if hour % 24 == 0 {
            while !scheduler.plan_on(now_s, 2).unwrap() {}
        }
        for lease in scheduler.lease(now_s, 1).unwrap() {
            // One worker in ten is lost.
            if lease.id.0 % 10 != 9 {
                scheduler.complete(now_s + 2.5, lease.id, found(&lease)).unwrap();
            }
        }
    }
    let now_s = START_S + 5.0 * DAY;
    let terms = PageTerms::new(host).in_group(group).with_cost(2.0).unwrap();
    scheduler.change(now_s, PageId(4), terms.pinned(seconds(1e4)).unwrap()).unwrap();
    scheduler.hint(now_s, PageId(0), HintKind::Feed, now_s - 1.0).unwrap();
    scheduler.block(now_s, host, now_s + 60.0).unwrap();
    scheduler.block_group(now_s, group, now_s + 60.0).unwrap();
    scheduler.remove(now_s, PageId(5)).unwrap();
    scheduler.replan(now_s).unwrap();
    scheduler.compact().unwrap();
    scheduler.store_mut().settle().unwrap();
}

/// How many events of each kind a file has.
fn kinds(file: &Path) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    log::read(file, &mut |read| {
        let kind = format!("{:?}", read.row.event);
        *kinds.entry(kind.split([' ', '{']).next().unwrap().to_owned()).or_default() += 1;
        Ok(())
    })
    .unwrap();
    kinds
}

#[test]
fn a_visit_log_of_version_1_is_readable_and_has_all_that_happened() {
    if std::env::var("EVERFRESH_WRITE").is_ok() {
        let dir = tempfile::tempdir().unwrap();
        work(dir.path());
        let files = log::files(dir.path()).unwrap();
        assert_eq!(files.len(), 1);
        fs::create_dir_all(stored().parent().unwrap()).unwrap();
        fs::copy(&files[0], stored()).unwrap();
    }
    let kinds = kinds(&stored());
    let expected = [
        ("Added", 6),
        ("Altered", 1),
        ("Blocked", 1),
        ("Configured", 1),
        ("GroupBlocked", 1),
        ("GroupLimited", 1),
        ("Hinted", 1),
        ("Limited", 1),
        ("Removed", 1),
        ("Replanned", 1),
        ("Ruled", 1),
    ];
    for (kind, count) in expected {
        assert_eq!(kinds.get(kind), Some(&count), "{kind}: {kinds:?}");
    }
    for kind in ["Leased", "Completed", "Expired", "Planned"] {
        assert!(kinds.get(kind).is_some_and(|count| *count > 5), "{kind}: {kinds:?}");
    }
}

#[test]
fn a_store_is_rebuilt_from_a_visit_log_of_version_1() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("visits")).unwrap();
    fs::copy(stored(), dir.path().join("visits/00000000.parquet")).unwrap();
    let rebuilt = rebuild(dir.path(), "a test", &mut |_| {}).unwrap();
    assert!(rebuilt.lost.is_none());
    let (settings, now_s) = (Settings::new(20.0, Unit::Day).unwrap(), START_S + 5.0 * DAY);
    let settings = settings.with_start(START_S).unwrap().with_seed(3);
    let mut scheduler = Scheduler::open(settings, Durable::open(dir.path(), "a test").unwrap(), now_s).unwrap();
    let page = |page: u64| scheduler.explain(now_s, PageId(page)).unwrap();
    let (changing, still) = (page(0), page(4));
    assert!(changing.visits > 5 && changing.changes == changing.visits, "{changing:?}");
    assert!(still.visits > 5 && still.changes == 0 && still.terms.cost() == 2.0, "{still:?}");
    assert!(changing.hint.is_some());
    assert!(matches!(page(1).trouble, Trouble::Failing(_)) && matches!(page(2).trouble, Trouble::Failing(_)));
    assert!(matches!(page(3).trouble, Trouble::Gone(_)));
    assert!(scheduler.explain(now_s, PageId(5)).is_err());
    let store = scheduler.store_mut();
    assert_eq!(store.address(PageId(0)).unwrap().as_deref(), Some("https://host.example/ä?page=0"));
    let (host, group) = (store.host("host.example").unwrap(), store.group("news, odd").unwrap());
    assert_eq!(
        (scheduler.state().host_limits(host).gap(), scheduler.state().group_limits(group).gap()),
        (seconds(2.5), seconds(2.5))
    );
}
