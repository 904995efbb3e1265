//! Records of every version stay readable: `records/` has what each wrote.
//!
//! `v1.hex` is what version 1 wrote at first, `v1-groups.hex` what it writes since groups have limits, plans are made in slices, and what was learnt of
//! divergences is kept (what hints take: tests/hints.rs). `EVERFRESH_WRITE=1 cargo test -p everfresh-sched --test records` writes the latter anew, for a new version.

#![allow(clippy::unwrap_used)]

use everfresh::{Period, Unit};
use everfresh_sched::{
    Event, GroupId, GroupRule, HintKind, HostId, HostLimits, Memory, Outcome, PageId, PageTerms, Result, Scheduler,
    Settings, State, Week, Zone, record,
};
use std::fmt::Write as _;

fn seconds(seconds: f64) -> Period {
    Period::of(seconds, Unit::Second).unwrap()
}

/// A scheduler that met every kind of event, and the events.
fn scheduler() -> (Scheduler<Memory>, Vec<Event>) {
    let settings = Settings::new(100.0, Unit::Day).unwrap().with_start(1.7e9).unwrap().with_seed(3);
    let mut scheduler = Scheduler::open(settings, Memory::new(), 1.7e9).unwrap();
    let at = |step: f64| 1.7e9 + 1000.0 * step;
    let week = Week::of(|day, hour| day < 5 && hour > 7).unwrap().in_zone(Zone::named("Europe/Berlin").unwrap());
    let limits = HostLimits::NONE.with_gap(seconds(2.5)).unwrap().with_concurrency(3).unwrap();
    scheduler.limit(at(0.0), HostId(1), limits.with_week(week)).unwrap();
    scheduler.rule(at(0.0), GroupId(7), GroupRule::Every(seconds(5000.0))).unwrap();
    for page in 0..4 {
        let terms = PageTerms::new(HostId(0)).with_weight(1.5).unwrap();
        scheduler.add(at(1.0), PageId(page), terms).unwrap();
    }
    let terms = PageTerms::new(HostId(0)).in_group(GroupId(7)).with_cost(2.0).unwrap();
    scheduler.change(at(1.5), PageId(1), terms.with_periods(seconds(10.0), seconds(1e6)).unwrap()).unwrap();
    scheduler.change(at(1.5), PageId(2), terms.pinned(seconds(1e4)).unwrap()).unwrap();
    scheduler.replan(at(2.0)).unwrap();
    let outcomes = [
        Outcome::Changed { divergence: 0.25, last_change: Some(seconds(60.0)) },
        Outcome::Unchanged,
        Outcome::Failed { retryable: false },
        Outcome::Gone,
    ];
    for step in 0..40u32 {
        let now_s = at(3.0 + f64::from(step));
        for lease in scheduler.lease(now_s, 1).unwrap() {
            if lease.id.0 % 5 != 4 {
                scheduler.complete(now_s, lease.id, outcomes[(lease.id.0 % 4) as usize]).unwrap();
            }
        }
    }
    scheduler.hint(at(50.0), PageId(0), HintKind::Feed, at(49.5)).unwrap();
    scheduler.block(at(50.0), HostId(0), at(60.0)).unwrap();
    scheduler.remove(at(51.0), PageId(3)).unwrap();
    // From here on what `v1.hex` does not have.
    scheduler.limit_group(at(52.0), GroupId(7), limits).unwrap();
    scheduler.block_group(at(52.0), GroupId(8), at(60.0)).unwrap();
    while !scheduler.plan_on(at(53.0), 2).unwrap() {}
    for lease in scheduler.lease(at(61.0), 4).unwrap() {
        scheduler.complete(at(61.0), lease.id, outcomes[0]).unwrap();
    }
    let events = scheduler.store().events().to_vec();
    (scheduler, events)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|place| u8::from_str_radix(&hex[place..place + 2], 16).unwrap()).collect()
}

/// The records of events and state, a line each: the events first.
fn written() -> String {
    let (scheduler, events) = scheduler();
    let mut text = hex(&record::of_events(&events).unwrap()) + "\n";
    scheduler
        .state()
        .write(&mut |record| {
            text.push_str(&(hex(record) + "\n"));
            Ok(())
        })
        .unwrap();
    text
}

/// The path of a fixture.
fn stored(name: &str) -> String {
    format!("{}/tests/records/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What a fixture's events come to, and the state that it has; both must tell the same.
fn read(name: &str, count: usize) -> (State, State) {
    let text = std::fs::read_to_string(stored(name)).unwrap();
    let mut lines = text.lines().map(bytes);
    let events = record::events(&lines.next().unwrap()).unwrap();
    assert_eq!(events.len(), count);
    let mut folded = None;
    for event in &events {
        State::fold(&mut folded, event).unwrap();
    }
    let state = State::read(lines.map(Result::Ok)).unwrap().unwrap();
    let (folded, mut pages) = (folded.unwrap(), state.pages().collect::<Vec<_>>());
    pages.sort_unstable();
    assert_eq!(pages, [PageId(0), PageId(1), PageId(2)]);
    assert_eq!((state.settings(), state.host_limits(HostId(1))), (folded.settings(), folded.host_limits(HostId(1))));
    for page in pages {
        assert_eq!((state.terms(page), state.seen_s(page)), (folded.terms(page), folded.seen_s(page)));
    }
    assert_eq!(state.live().collect::<Vec<_>>(), folded.live().collect::<Vec<_>>());
    (state, folded)
}

#[test]
fn records_of_version_1_are_readable() {
    let (state, _) = read("v1.hex", 29);
    assert_eq!(state.group_limits(GroupId(7)), HostLimits::NONE);
}

#[test]
fn what_version_1_writes_since_groups_have_limits_is_readable() {
    if std::env::var("EVERFRESH_WRITE").is_ok() {
        std::fs::write(stored("v1-groups.hex"), written()).unwrap();
    }
    let (_, events) = scheduler();
    for kind in ["GroupLimited", "GroupBlocked", "Planned", "Hinted", "Blocked", "Removed", "Altered", "Ruled"] {
        assert!(events.iter().any(|event| format!("{event:?}").starts_with(kind)), "{kind}");
    }
    let (state, folded) = read("v1-groups.hex", events.len());
    assert_eq!(state.group_limits(GroupId(7)), folded.group_limits(GroupId(7)));
    assert!(state.group_limits(GroupId(7)).gap() == seconds(2.5) && state.group_limits(GroupId(8)) == HostLimits::NONE);
}

#[test]
fn a_state_comes_back_as_it_was() {
    let (scheduler, events) = scheduler();
    let records: Vec<Vec<u8>> = written().lines().skip(1).map(bytes).collect();
    let read = State::read(records.into_iter().map(Result::Ok)).unwrap().unwrap();
    assert!(read == *scheduler.state());
    assert_eq!(record::events(&record::of_events(&events).unwrap()), Ok(events));
}
