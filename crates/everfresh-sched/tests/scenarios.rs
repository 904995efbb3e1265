//! What an operator asks for, one claim a test.

#![allow(clippy::unwrap_used)]

use everfresh::policy::Aim;
use everfresh::{Period, Unit};
use everfresh_sched::{
    Binding, Closed, Constraints, Error, Event, GroupId, GroupRule, HintKind, HostId, HostLimits, Lease, LeaseId,
    Memory, Outcome, PageId, PageTerms, Scheduler, Settings, Store, Trouble, Week,
};
use std::collections::{BTreeMap, BTreeSet};

const DAY: f64 = 86_400.0;
const HOUR: f64 = 3600.0;

fn seconds(seconds: f64) -> Period {
    Period::of(seconds, Unit::Second).unwrap()
}

fn open(settings: Settings) -> Scheduler<Memory> {
    Scheduler::open(settings, Memory::new(), 0.0).unwrap()
}

fn per_day(visits: f64) -> Settings {
    Settings::new(visits, Unit::Day).unwrap()
}

/// Follows the wake-ups to an end, replanning now and then; every lease is answered at once. All leases, with times.
fn drive(
    scheduler: &mut Scheduler<Memory>,
    (from_s, to_s): (f64, f64),
    replan_s: f64,
    mut answer: impl FnMut(f64, &Lease) -> Outcome,
) -> Vec<(f64, Lease)> {
    let (mut now_s, mut replan_at_s, mut all) = (from_s, from_s, Vec::new());
    while now_s < to_s {
        if now_s >= replan_at_s {
            scheduler.replan(now_s).unwrap();
            replan_at_s = now_s + replan_s;
        }
        for lease in scheduler.lease(now_s, 100).unwrap() {
            scheduler.complete(now_s, lease.id, answer(now_s, &lease)).unwrap();
            all.push((now_s, lease));
        }
        let next = scheduler.next_wakeup(now_s).unwrap_or(f64::INFINITY);
        now_s = next.max(now_s + 1e-3).min(replan_at_s).min(to_s);
    }
    all
}

fn unchanged(_: f64, _: &Lease) -> Outcome {
    Outcome::Unchanged
}

fn changed_by_turns(now_s: f64, lease: &Lease) -> Outcome {
    if (now_s / HOUR + lease.page.0 as f64) % 3.0 < 1.0 {
        return Outcome::Changed { divergence: 1.0, last_change: None };
    }
    Outcome::Unchanged
}

/// Sources that change every so many hours, each at its own time.
fn changing_every(hours: f64) -> impl FnMut(f64, &Lease) -> Outcome {
    let mut seen: BTreeMap<u64, f64> = BTreeMap::new();
    move |now_s, lease| {
        let version = (now_s / HOUR / hours + lease.page.0 as f64 * 0.618).floor();
        match seen.insert(lease.page.0, version) {
            Some(before) if before == version => Outcome::Unchanged,
            _ => Outcome::Changed { divergence: 1.0, last_change: None },
        }
    }
}

#[test]
fn a_page_takes_at_most_64_bytes_beyond_its_key() {
    // Just before and just after the index doubles, and between.
    for pages in [50_000usize, 57_344, 57_345, 100_000] {
        let mut scheduler = open(per_day(1000.0));
        scheduler.reserve(pages);
        for id in 0..pages as u64 {
            scheduler.add(0.0, PageId(id), PageTerms::new(HostId((id % 1000) as u32))).unwrap();
        }
        // After adding, after a plan, and after visits that came before they were due.
        for round in 0..3 {
            let bytes = scheduler.resident_bytes() as f64 / pages as f64;
            println!("{pages} pages: {bytes:.1} bytes a page");
            assert!(bytes <= 64.0, "{bytes} at {pages}");
            match round {
                0 => scheduler.replan(0.0).unwrap(),
                _ => drop(drive(&mut scheduler, (0.0, 10.0 * DAY), 20.0 * DAY, unchanged)),
            }
        }
    }
}

/// Thrice as long each time, or nine times as long where visits are rarer: a page that was visited every hour is soon found to be there again.
#[test]
fn pages_that_are_gone_are_probed_ever_more_rarely_then_retired_but_not_forgotten() {
    let mut scheduler = open(per_day(100.0));
    for id in 0..3 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap();
    }
    let gone = |_: f64, lease: &Lease| if lease.page.0 == 1 { Outcome::Gone } else { Outcome::Unchanged };
    let visits = drive(&mut scheduler, (0.0, 500.0 * DAY), 10.0 * DAY, gone);
    let probes: Vec<f64> = visits.iter().filter(|(_, lease)| lease.page.0 == 1).map(|(now, _)| now / DAY).collect();
    // Visited some 33 times a day: after 4 misses nine times nine times nine times that is longer than 27 days.
    assert_eq!(probes.len(), 6, "{probes:?}");
    for (pair, expected) in probes.windows(2).zip([1.0, 3.0, 9.0, 27.0]) {
        assert!(((pair[1] - pair[0]) / expected - 1.0).abs() < 0.06, "{probes:?}");
    }
    assert!((81.0..365.0).contains(&(probes[5] - probes[4])), "{probes:?}");
    assert_eq!(scheduler.explain(500.0 * DAY, PageId(1)).unwrap().binding, Binding::Retired);
    assert_eq!(scheduler.status(500.0 * DAY).retired, 1);
    // It is asked for again.
    scheduler.add(500.0 * DAY, PageId(1), PageTerms::new(HostId(0))).unwrap();
    let visits = drive(&mut scheduler, (500.0 * DAY, 510.0 * DAY), DAY, unchanged);
    assert!(visits.iter().any(|(_, lease)| lease.page.0 == 1));
}

/// Groups with different aims share a price: equal pages get about as many visits whatever their groups aim at.
#[test]
fn no_aim_takes_the_visits_of_the_others() {
    let aims = [Aim::Freshness, Aim::Age, Aim::Harmonic, Aim::Content];
    for (budget, days) in [(400.0, 40.0), (20.0, 400.0)] {
        let mut scheduler = open(per_day(budget));
        for (group, aim) in (0..).zip(aims) {
            scheduler.rule(0.0, GroupId(group), GroupRule::Aim(aim)).unwrap();
        }
        for id in 0..200 {
            let group = GroupId(u16::try_from(id % 4).unwrap());
            scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0)).in_group(group)).unwrap();
        }
        let mut changing = changing_every(30.0 * 24.0);
        let visits = drive(&mut scheduler, (0.0, days * DAY), DAY, |now_s, lease| changing(now_s, lease));
        let second_half = visits.iter().filter(|(now_s, _)| *now_s > days / 2.0 * DAY);
        let mut of = [0.0; 4];
        second_half.for_each(|(_, lease)| of[(lease.page.0 % 4) as usize] += 1.0);
        let all: f64 = of.iter().sum();
        println!("{budget}: {of:?}");
        for (visits, aim) in of.into_iter().zip(aims) {
            assert!((0.15..0.4).contains(&(visits / all)), "{aim:?}: {visits} of {all}");
        }
    }
}

/// What is in trouble must not cost more than what is not: with a visit to each page in fifty days, a page that is gone is probed once, after
/// nine days, and then retired, and one that fails is tried again a few times and then as often as others.
#[test]
fn trouble_costs_no_more_than_a_page_is_visited_anyway() {
    let mut scheduler = open(per_day(2.0).with_floor(0.0).unwrap());
    for id in 0..100 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap();
    }
    let outcome = |_: f64, lease: &Lease| match lease.page.0 {
        0..20 => Outcome::Gone,
        20..40 => Outcome::Failed { retryable: true },
        _ => Outcome::Unchanged,
    };
    let visits = drive(&mut scheduler, (0.0, 1000.0 * DAY), 10.0 * DAY, outcome);
    let of = |ids: std::ops::Range<u64>| {
        visits.iter().filter(|(_, lease)| ids.contains(&lease.page.0)).count() as f64 / 20.0
    };
    let (gone, failing, live) = (of(0..20), of(20..40), of(40..60));
    assert_eq!(scheduler.status(1000.0 * DAY).retired, 20);
    assert_eq!(gone, 2.0);
    assert!(failing < 1.3 * live && live > 20.0, "{failing} {live}");
    for id in 0..20 {
        let times: Vec<f64> = visits.iter().filter(|(_, lease)| lease.page.0 == id).map(|(now, _)| now / DAY).collect();
        // At first all pages are due, and whoever is due first is visited first: some wait, but none for as long as its period.
        assert!((8.5..40.0).contains(&(times[1] - times[0])), "{times:?}");
    }
}

/// A hint may bring a visit about that finds nothing: the probes after it are as rare as without it.
#[test]
fn a_hint_of_a_page_that_is_gone_makes_no_frequent_probes() {
    let mut scheduler = open(per_day(2.0));
    for id in 0..100 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap();
    }
    let visits = drive(&mut scheduler, (0.0, 120.0 * DAY), 10.0 * DAY, unchanged);
    let page = visits.last().unwrap().1.page;
    scheduler.hint(120.0 * DAY, page, HintKind::Push, 120.0 * DAY).unwrap();
    let gone = |_: f64, lease: &Lease| if lease.page == page { Outcome::Gone } else { Outcome::Unchanged };
    let visits = drive(&mut scheduler, (120.0 * DAY, 600.0 * DAY), 10.0 * DAY, gone);
    let times: Vec<f64> = visits.iter().filter(|(_, lease)| lease.page == page).map(|(now, _)| now / DAY).collect();
    assert!(times[0] < 140.0 && times.len() == 2 && times[1] - times[0] > 8.0, "{times:?}");
}

/// A page that was gone, and whose host then went away, is asked for no more often than one that is there.
#[test]
fn a_page_that_was_gone_and_then_fails_costs_no_more_than_others() {
    let mut scheduler = open(per_day(2.0).with_floor(0.0).unwrap());
    (0..100).for_each(|id| scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap());
    let mut seen = BTreeSet::new();
    let outcome = |_: f64, lease: &Lease| match lease.page.0 {
        0..20 if seen.insert(lease.page) => Outcome::Gone,
        0..20 => Outcome::Failed { retryable: true },
        _ => Outcome::Unchanged,
    };
    let visits = drive(&mut scheduler, (0.0, 1500.0 * DAY), 10.0 * DAY, outcome);
    let of = |ids: std::ops::Range<u64>| visits.iter().filter(|(_, lease)| ids.contains(&lease.page.0)).count();
    let (failing, live) = (of(0..20) as f64, of(20..40) as f64);
    assert!(failing < 1.3 * live && failing > 0.5 * live, "{failing} {live}");
}

/// Somebody says that a retired page is there again, and its visit fails: it is probed once more, and found.
#[test]
fn a_notice_of_a_retired_page_is_not_lost_with_one_failure() {
    let mut scheduler = open(per_day(2.0));
    (0..100).for_each(|id| scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap());
    let page = PageId(1);
    let gone = |_: f64, lease: &Lease| if lease.page == page { Outcome::Gone } else { Outcome::Unchanged };
    drive(&mut scheduler, (0.0, 900.0 * DAY), 10.0 * DAY, gone);
    assert_eq!(scheduler.state().trouble(page), Some(Trouble::Retired));
    scheduler.hint(900.0 * DAY, page, HintKind::Push, 900.0 * DAY).unwrap();
    let mut seen = 0;
    let fails_first = |_: f64, lease: &Lease| {
        seen += u32::from(lease.page == page);
        if lease.page == page && seen == 1 { Outcome::Failed { retryable: true } } else { Outcome::Unchanged }
    };
    drive(&mut scheduler, (900.0 * DAY, 960.0 * DAY), 10.0 * DAY, fails_first);
    assert_eq!((seen, scheduler.state().trouble(page)), (2, Some(Trouble::None)));
}

/// An older log may have probes after the page would be retired today: it stays so, and can be taken back.
#[test]
fn a_retired_page_stays_so_whatever_an_older_log_has() {
    let settings = per_day(2.0);
    let mut scheduler = open(settings);
    for id in 0..100 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap();
    }
    let gone = |_: f64, lease: &Lease| if lease.page.0 == 1 { Outcome::Gone } else { Outcome::Unchanged };
    let visits = drive(&mut scheduler, (0.0, 900.0 * DAY), 10.0 * DAY, gone);
    assert_eq!(scheduler.status(900.0 * DAY).retired, 1);
    let (now_s, lease) = (901.0 * DAY, LeaseId(visits.last().unwrap().1.id.0 + 1));
    let mut store = scheduler.into_store();
    let probe = Event::Leased { now_s, lease, page: PageId(1) };
    store.append(&[probe, Event::Completed { now_s, lease, outcome: Outcome::Gone }]).unwrap();
    let mut scheduler = Scheduler::open(settings, store, now_s).unwrap();
    assert_eq!(scheduler.status(now_s).retired, 1);
    scheduler.add(now_s, PageId(1), PageTerms::new(HostId(0))).unwrap();
}

#[test]
fn failures_back_off_and_erase_nothing() {
    let mut scheduler = open(per_day(100.0).with_floor(0.0).unwrap());
    for id in 0..5 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap();
    }
    drive(&mut scheduler, (0.0, 30.0 * DAY), DAY, changed_by_turns);
    let before = scheduler.explain(30.0 * DAY, PageId(2)).unwrap();
    assert!(before.visits > 100 && before.changes > 10, "{before:?}");
    let fails = |now_s: f64, lease: &Lease| match lease.page.0 {
        2 => Outcome::Failed { retryable: true },
        3 => Outcome::Failed { retryable: false },
        _ => changed_by_turns(now_s, lease),
    };
    let visits = drive(&mut scheduler, (30.0 * DAY, 60.0 * DAY), DAY, fails);
    let of = |id: u64| visits.iter().filter(|(_, lease)| lease.page.0 == id).count();
    // 15 minutes doubled eleven times are 21 days; a day doubled four times 15.
    assert!((11..=12).contains(&of(2)) && (4..=5).contains(&of(3)), "{} {}", of(2), of(3));
    let after = scheduler.explain(60.0 * DAY, PageId(2)).unwrap();
    assert_eq!((after.visits, after.changes), (before.visits, before.changes));
    assert!((after.rate.per_day() / before.rate.per_day() - 1.0).abs() < 0.05, "{after:?}");
    assert!(matches!(after.binding, Binding::Backoff { failures: 11..=12 }), "{after:?}");
    let visits = drive(&mut scheduler, (60.0 * DAY, 90.0 * DAY), DAY, changed_by_turns);
    assert!(visits.iter().filter(|(_, lease)| lease.page.0 == 2).count() > 100);
}

#[test]
fn a_worker_that_is_lost_gives_its_page_back() {
    let mut scheduler = open(per_day(DAY));
    scheduler.add(0.0, PageId(7), PageTerms::new(HostId(0))).unwrap();
    let lease = scheduler.lease(0.0, 1).unwrap()[0];
    assert_eq!(scheduler.lease(599.0, 1).unwrap(), []);
    assert_eq!(scheduler.next_wakeup(599.0), Some(600.0));
    assert_eq!(scheduler.complete(600.0, lease.id, Outcome::Unchanged), Err(Error::DeadLease(lease.id)));
    let next = scheduler.next_wakeup(600.0).unwrap();
    assert!((next / 1500.0 - 1.0).abs() < 0.05, "{next}");
    assert_eq!(scheduler.lease(next, 1).unwrap()[0].page, PageId(7));
}

/// Time that was heard of, but not written down, must not pass a second time for whoever replays the log.
#[test]
fn a_crash_after_the_clock_was_set_back_spends_no_time_twice() {
    let settings = per_day(100.0).with_burst(4.0).unwrap();
    let mut scheduler = open(settings);
    for id in 0..50 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0)).pinned(seconds(60.0)).unwrap()).unwrap();
    }
    assert_eq!(scheduler.lease(100.0, 10).unwrap().len(), 4);
    // The clock is two hours ahead for a moment, in which nothing happens.
    scheduler.next_wakeup(7300.0);
    let leases = scheduler.lease(101.0, 10).unwrap();
    assert_eq!((leases.len(), leases[0].until_s), (4, 7900.0));
    let mut rebuilt = Scheduler::open(settings, scheduler.store().clone(), 101.0).unwrap();
    // No time has passed since.
    assert_eq!(rebuilt.lease(7300.0, 10).unwrap(), []);
    rebuilt.complete(7899.0, leases[0].id, Outcome::Unchanged).unwrap();
}

#[test]
fn explanations_name_what_binds() {
    let limits = HostLimits::NONE.with_gap(seconds(10.0)).unwrap().with_concurrency(1).unwrap();
    let mut scheduler = open(per_day(DAY).with_burst(2.0).unwrap());
    let pinned = |host: u32| PageTerms::new(HostId(host)).pinned(seconds(100.0)).unwrap();
    for id in 0..6 {
        scheduler.add(0.0, PageId(id), pinned(u32::from(id >= 3))).unwrap();
    }
    scheduler.limit(0.0, HostId(0), limits).unwrap();
    scheduler.block(0.0, HostId(1), 5000.0).unwrap();
    assert_eq!(binding(&scheduler, 0.0, 0), Binding::Pin);
    let leases = scheduler.lease(1000.0, 10).unwrap();
    assert_eq!(leases.len(), 1);
    let (leased, other) = (leases[0].page.0, (leases[0].page.0 + 1) % 3);
    assert_eq!(
        binding(&scheduler, 1000.0, leased),
        Binding::Leased { lease: leases[0].id, until_s: leases[0].until_s }
    );
    assert_eq!(binding(&scheduler, 1000.0, other), Binding::Host(Closed::Concurrency));
    scheduler.complete(1001.0, leases[0].id, Outcome::Unchanged).unwrap();
    assert_eq!(binding(&scheduler, 1001.0, other), Binding::Host(Closed::Gap { until_s: 1010.0 }));
    assert_eq!(binding(&scheduler, 1001.0, 4), Binding::Host(Closed::Blocked { until_s: 5000.0 }));
    // Whichever comes first: the end of the gap, or the next turn of who was visited.
    let turn_s = scheduler.explain(1001.0, PageId(leased)).unwrap().due_s.unwrap();
    assert_eq!(scheduler.next_wakeup(1001.0), Some(turn_s.min(1010.0)));
    scheduler.unblock(1001.0, HostId(1)).unwrap();
    assert_eq!(scheduler.lease(1001.0, 10).unwrap().len(), 2);
    assert_eq!(scheduler.status(1001.0).backlog, 3);
    let budget = (3..6).filter(|id| binding(&scheduler, 1001.0, *id) == Binding::Budget).count();
    assert_eq!(budget, 1);
}

#[test]
fn hosts_get_no_more_than_they_bear_and_their_best_pages_get_it() {
    let mut scheduler = open(per_day(2000.0));
    let six_an_hour = HostLimits::NONE.with_visits(6, seconds(HOUR)).unwrap();
    scheduler.limit(0.0, HostId(0), six_an_hour).unwrap();
    for id in 0..200u64 {
        // Half of the pages on the host that bears little; every fourth counts ten times.
        let terms = PageTerms::new(HostId((id % 2) as u32)).with_weight(if id % 4 < 2 { 1.0 } else { 10.0 }).unwrap();
        scheduler.add(0.0, PageId(id), terms).unwrap();
    }
    drive(&mut scheduler, (0.0, 20.0 * DAY), DAY, changed_by_turns);
    let visits = drive(&mut scheduler, (20.0 * DAY, 50.0 * DAY), DAY, changed_by_turns);
    let times: Vec<f64> = visits.iter().filter(|(_, lease)| lease.host.0 == 0).map(|(now, _)| *now).collect();
    // Six gaps of ten minutes, each rounded to what a double holds of the time.
    let seven = times.windows(7).map(|seven| seven[6] - seven[0]).fold(f64::INFINITY, f64::min);
    assert!(seven >= HOUR - 1e-8, "seven in {seven} s");
    let share = times.len() as f64 / (30.0 * 144.0);
    assert!((0.95..=1.0).contains(&share), "{share} of what it bears");
    let total = visits.len() as f64 / (30.0 * 2000.0);
    assert!((total - 1.0).abs() < 0.01, "{total} of the budget");
    let of = |host: u32, heavy: bool| {
        visits.iter().filter(|(_, l)| l.host.0 == host && (l.page.0 % 4 >= 2) == heavy).count() as f64
    };
    // With periods that go as the root of the price, ten times the weight is about three times the visits.
    assert!(of(0, true) / of(0, false) > 1.8, "{} {}", of(0, true), of(0, false));
    assert!(of(1, true) / of(1, false) > 1.8, "{} {}", of(1, true), of(1, false));
}

#[test]
fn spending_follows_the_budget_within_two_percent_of_a_day() {
    let mut scheduler = open(per_day(500.0));
    for id in 0..300u32 {
        scheduler.add(0.0, PageId(id.into()), PageTerms::new(HostId(id % 7))).unwrap();
    }
    let visits = drive(&mut scheduler, (0.0, 40.0 * DAY), 6.0 * HOUR, changed_by_turns);
    for day in 0..40 {
        let from = f64::from(day) * DAY;
        let spent = visits.iter().filter(|(now, _)| (from..from + DAY).contains(now)).count() as f64;
        assert!((spent / 500.0 - 1.0).abs() < 0.02, "{spent} on day {day}");
    }
}

#[test]
fn no_page_waits_longer_than_the_floor_allows() {
    let mut scheduler = open(per_day(400.0));
    for id in 0..200 {
        // Half of them count for nothing, but their owner wants them watched.
        let terms = PageTerms::new(HostId(0)).with_weight(f64::from(u8::from(id % 2 == 0))).unwrap();
        scheduler.add(0.0, PageId(id), terms).unwrap();
    }
    let visits = drive(&mut scheduler, (0.0, 60.0 * DAY), DAY, changed_by_turns);
    // All once for 5 % of the budget: 200 / (0.05 x 400) days.
    let floor_s = 10.0 * DAY;
    let mut last: BTreeMap<u64, f64> = BTreeMap::new();
    for (now, lease) in &visits {
        let before = last.insert(lease.page.0, *now).unwrap_or(0.0);
        assert!(now - before < 1.06 * floor_s, "page {} waited {} days", lease.page.0, (now - before) / DAY);
    }
    assert_eq!(last.len(), 200);
    let worthless = visits.iter().filter(|(_, lease)| lease.page.0 % 2 == 1).count() as f64 / visits.len() as f64;
    assert!((0.02..0.05).contains(&worthless), "{worthless}");
}

#[test]
fn new_pages_and_known_ones_share() {
    let mut scheduler = open(per_day(200.0));
    for id in 0..100 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap();
    }
    drive(&mut scheduler, (0.0, 30.0 * DAY), DAY, changed_by_turns);
    for id in 100..400 {
        scheduler.add(30.0 * DAY, PageId(id), PageTerms::new(HostId(0))).unwrap();
    }
    let visits = drive(&mut scheduler, (30.0 * DAY, 40.0 * DAY), DAY, changed_by_turns);
    let new: BTreeSet<u64> = visits.iter().map(|(_, lease)| lease.page.0).filter(|id| *id >= 100).collect();
    let old = visits.iter().filter(|(_, lease)| lease.page.0 < 100).count();
    assert!(new.len() == 300 && old > 100, "{} new pages seen, {old} visits to known ones", new.len());
}

#[test]
fn pins_and_group_periods_are_kept_and_nothing_bunches() {
    let mut scheduler = open(per_day(5000.0));
    scheduler.rule(0.0, GroupId(1), GroupRule::Every(seconds(6.0 * HOUR))).unwrap();
    for id in 0..240 {
        let terms = PageTerms::new(HostId(0));
        let terms = if id % 2 == 0 { terms.in_group(GroupId(1)) } else { terms.pinned(seconds(6.0 * HOUR)).unwrap() };
        scheduler.add(0.0, PageId(id), terms).unwrap();
    }
    let visits = drive(&mut scheduler, (0.0, 10.0 * DAY), DAY, unchanged);
    assert!((visits.len() as f64 / 9600.0 - 1.0).abs() < 0.02, "{}", visits.len());
    // 40 an hour by chance; all at once would be 240.
    for hour in 24..240 {
        let from = f64::from(hour) * HOUR;
        let number = visits.iter().filter(|(now, _)| (from..from + HOUR).contains(now)).count();
        assert!((15..=70).contains(&number), "{number} in hour {hour}");
    }
    // For a day nobody came: all are late together, and apart again afterwards.
    let visits = drive(&mut scheduler, (11.0 * DAY, 15.0 * DAY), DAY, unchanged);
    for hour in 276..360 {
        let from = f64::from(hour) * HOUR;
        let number = visits.iter().filter(|(now, _)| (from..from + HOUR).contains(now)).count();
        assert!((15..=70).contains(&number), "{number} in hour {hour}");
    }
}

#[test]
fn the_next_visit_is_when_the_host_is_open() {
    let (mut scheduler, _, _) = nights(6, 3000.0);
    let now_s = NIGHTS_S + 40.0 * DAY + 12.0 * HOUR;
    scheduler.replan(now_s).unwrap();
    let page = PageId(0);
    scheduler.change(now_s, page, scheduler.state().terms(page).unwrap().pinned(seconds(HOUR)).unwrap()).unwrap();
    let told = scheduler.explain(now_s, page).unwrap();
    let hour = (told.due_s.unwrap() - NIGHTS_S) / HOUR + 2.0;
    assert!(hour % 24.0 < 6.0, "{hour}");
    assert!(matches!(told.binding, Binding::Host(Closed::Hours { .. })), "{:?}", told.binding);
}

/// A real clock; a host that is visited in some hours only, in a zone two hours east, and at most 30 times an hour. After ten days:
/// the times of its visits in the next thirty, and the number of all.
fn nights(hours: u8, budget_per_day: f64) -> (Scheduler<Memory>, Vec<f64>, usize) {
    let settings = per_day(budget_per_day).with_start(NIGHTS_S).unwrap();
    let mut scheduler = Scheduler::open(settings, Memory::new(), NIGHTS_S).unwrap();
    let nights = Week::of(|_, hour| hour < hours).unwrap().east_of_utc(7200).unwrap();
    let limits = HostLimits::NONE.with_visits(30, seconds(HOUR)).unwrap().with_week(nights);
    scheduler.limit(NIGHTS_S, HostId(0), limits).unwrap();
    for id in 0..1000u32 {
        scheduler.add(NIGHTS_S, PageId(id.into()), PageTerms::new(HostId(id % 2))).unwrap();
    }
    let later_s = NIGHTS_S + 10.0 * DAY;
    drive(&mut scheduler, (NIGHTS_S, later_s), DAY, changed_by_turns);
    let visits = drive(&mut scheduler, (later_s, later_s + 30.0 * DAY), DAY, changed_by_turns);
    let at_night = visits.iter().filter(|(_, lease)| lease.host.0 == 0).map(|(now, _)| *now);
    (scheduler, at_night.collect(), visits.len())
}

const NIGHTS_S: f64 = 1_767_571_200.0;

#[test]
fn hosts_are_visited_in_their_hours_and_get_what_they_bear_there() {
    // The budget's visits are 7 s, 29 s, 86 s, and then up to half an hour apart, those of the host 120 s.
    let budgets = [12_000.0, 3000.0, 1000.0, 500.0, 200.0, 50.0];
    for (hours, budget) in budgets.map(|budget| [(6, budget), (1, budget)]).into_iter().flatten() {
        let (scheduler, at_night, all) = nights(hours, budget);
        for now_s in &at_night {
            let hour = ((now_s - NIGHTS_S) / HOUR + 2.0) % 24.0;
            assert!(hour < f64::from(hours), "visited at {hour}");
        }
        // Where visits are sparse, it can have all that the budget brings in its hours, and at most a burst more.
        let could = f64::from(hours) * 30f64.min(budget / 24.0);
        let most = (30.0 * f64::from(hours)).min(could + (0.01 * budget).clamp(1.0, 10.0));
        let share = at_night.len() as f64 / 30.0 / could;
        println!("{hours} hours, {budget} a day: {share:.3} of what it can have, {all} in all");
        // Within 4 %, and five visits of the thirty days.
        let about = 0.96 - 5.0 / 30.0 / could..=1.01 * most / could;
        assert!(about.contains(&share), "{share} of what it can have in {hours} hours, {budget} a day");
        assert!((all as f64 / (30.0 * budget) - 1.0).abs() < 0.01, "{all} of {budget} a day");
        let noon_s = NIGHTS_S + 40.5 * DAY;
        let waiting = (0..1000).filter(|id| {
            let binding = scheduler.explain(noon_s, PageId(*id)).unwrap().binding;
            matches!(binding, Binding::Host(Closed::Hours { until_s }) if until_s == NIGHTS_S + 41.0 * DAY - 7200.0)
        });
        assert!(waiting.count() > 0);
    }
}

#[test]
fn with_less_budget_what_is_worth_least_goes_first() {
    let settings = per_day(2000.0).with_floor(0.0).unwrap();
    let mut scheduler = open(settings);
    for id in 0..300u32 {
        let weight = [1.0, 10.0, 100.0][id as usize % 3];
        scheduler.add(0.0, PageId(id.into()), PageTerms::new(HostId(0)).with_weight(weight).unwrap()).unwrap();
    }
    drive(&mut scheduler, (0.0, 20.0 * DAY), DAY, changed_by_turns);
    let shares = |visits: &[(f64, Lease)]| {
        [0, 1, 2].map(|class| visits.iter().filter(|(_, lease)| lease.page.0 % 3 == class).count() as f64 / 20.0)
    };
    let rich = shares(&drive(&mut scheduler, (20.0 * DAY, 40.0 * DAY), DAY, changed_by_turns));
    // A twentieth of the budget, from one opening to the next.
    let settings = per_day(100.0).with_floor(0.0).unwrap();
    let mut scheduler = Scheduler::open(settings, scheduler.into_store(), 40.0 * DAY).unwrap();
    let poor = shares(&drive(&mut scheduler, (40.0 * DAY, 60.0 * DAY), DAY, changed_by_turns));
    let (before, after): (f64, f64) = (rich.iter().sum(), poor.iter().sum());
    assert!((before / 2000.0 - 1.0).abs() < 0.01 && (after / 100.0 - 1.0).abs() < 0.02, "{before} {after}");
    // The light pages lose all but a fiftieth, the heavy ones keep most of what is left.
    assert!(poor[0] / rich[0] < 0.02 && poor[2] > 0.8 * after, "{rich:?} {poor:?}");
}

#[test]
fn a_host_that_is_blocked_for_good_does_not_keep_anybody_awake() {
    let mut scheduler = open(per_day(DAY));
    let limits = HostLimits::NONE.with_week(Week::of(|_, hour| hour < 6).unwrap());
    scheduler.limit(0.0, HostId(0), limits).unwrap();
    scheduler.add(0.0, PageId(0), PageTerms::new(HostId(0)).pinned(seconds(60.0)).unwrap()).unwrap();
    scheduler.block(0.0, HostId(0), f64::INFINITY).unwrap();
    assert_eq!(scheduler.lease(100.0, 1).unwrap(), []);
    assert_eq!(scheduler.next_wakeup(100.0), Some(f64::INFINITY));
    scheduler.unblock(100.0, HostId(0)).unwrap();
    assert_eq!(scheduler.lease(100.0, 1).unwrap().len(), 1);
}

#[test]
fn a_clock_that_jumps_back_stands_still() {
    let mut scheduler = open(per_day(DAY));
    for id in 0..50 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap();
    }
    assert_eq!(scheduler.lease(1000.0, 50).unwrap().len(), 1);
    assert_eq!(scheduler.lease(10.0, 50).unwrap().len(), 0);
    assert_eq!(scheduler.lease(f64::INFINITY, 50).unwrap().len(), 0);
    assert_eq!(scheduler.lease(1001.0, 50).unwrap().len(), 1);
}

#[test]
fn a_plan_does_not_depend_on_the_number_of_threads() {
    let mut scheduler = open(per_day(20_000.0));
    scheduler.limit(0.0, HostId(3), HostLimits::NONE.with_gap(seconds(500.0)).unwrap()).unwrap();
    for id in 0..20_000u32 {
        let terms = PageTerms::new(HostId(id % 11)).with_weight(1.0 + f64::from(id % 13)).unwrap();
        scheduler.add(0.0, PageId(id.into()), terms.with_cost(1.0 + f64::from(id % 3) / 3.0).unwrap()).unwrap();
    }
    drive(&mut scheduler, (0.0, DAY), DAY, changed_by_turns);
    let planned = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut scheduler = Scheduler::open(per_day(20_000.0), scheduler.store().clone(), DAY).unwrap();
        pool.install(|| scheduler.replan(DAY).unwrap());
        scheduler
    };
    let (one, three) = (planned(1), planned(3));
    assert!(one.state() == three.state());
    assert!(one.state() != scheduler.state());
}

/// Pages with and without limits of their hosts and groups, after a day of visits.
fn busy(pages: u32) -> Scheduler<Memory> {
    let mut scheduler = open(per_day(f64::from(pages)).with_limits(HostLimits::NONE.with_gap(seconds(5.0)).unwrap()));
    scheduler.limit(0.0, HostId(3), HostLimits::NONE.with_gap(seconds(500.0)).unwrap()).unwrap();
    scheduler.limit_group(0.0, GroupId(2), HostLimits::NONE.with_gap(seconds(300.0)).unwrap()).unwrap();
    for id in 0..pages {
        let terms = PageTerms::new(HostId(id % 11)).with_weight(1.0 + f64::from(id % 13)).unwrap();
        let group = if id % 7 == 0 { GroupId(2) } else { GroupId(0) };
        scheduler.add(0.0, PageId(id.into()), terms.in_group(group)).unwrap();
    }
    drive(&mut scheduler, (0.0, DAY), DAY, changed_by_turns);
    scheduler
}

#[test]
fn a_plan_in_slices_is_the_plan() {
    let (mut whole, mut sliced) = (busy(3000), busy(3000));
    whole.replan(DAY).unwrap();
    let slices = (1..1000).find(|_| sliced.plan_on(DAY, 100).unwrap()).unwrap();
    assert!(slices > 2 * 30 && whole.state() == sliced.state(), "{slices}");
    let next = |scheduler: &mut Scheduler<Memory>| drive(scheduler, (DAY, 1.5 * DAY), DAY, changed_by_turns);
    assert_eq!(next(&mut whole), next(&mut sliced));
    assert!(sliced.plan_on(2.0 * DAY, 0).unwrap_err().to_string().contains("at least 1"));
}

#[test]
fn while_a_plan_is_made_pages_are_visited_added_changed_and_limited() {
    let mut scheduler = busy(3000);
    let (mut now_s, mut visits, mut plans) = (DAY, 0, 0);
    for step in 0..3000u32 {
        now_s += 2.0;
        plans += u32::from(scheduler.plan_on(now_s, 50).unwrap());
        for lease in scheduler.lease(now_s, 5).unwrap() {
            scheduler.complete(now_s, lease.id, Outcome::Unchanged).unwrap();
            visits += 1;
        }
        match step % 100 {
            10 => scheduler.add(now_s, PageId(u64::from(10_000 + step)), PageTerms::new(HostId(40 + step))).unwrap(),
            20 => scheduler.remove(now_s, PageId(step.into())).unwrap(),
            30 => scheduler.change(now_s, PageId(step.into()), PageTerms::new(HostId(5))).unwrap(),
            // All queues are set anew, whatever the plan had done.
            40 => scheduler.rule(now_s, GroupId(9), GroupRule::Every(seconds(60.0))).unwrap(),
            _ => {}
        }
    }
    assert!(plans > 10 && visits > 150, "{plans} plans, {visits} visits");
    // Nobody was forgotten on the way: on the floor each comes within a few rounds.
    while !scheduler.plan_on(now_s, 1000).unwrap() {}
    let seen: BTreeSet<u64> = drive(&mut scheduler, (now_s, now_s + 40.0 * DAY), DAY, changed_by_turns)
        .iter()
        .map(|(_, lease)| lease.page.0)
        .collect();
    assert_eq!(seen.len(), scheduler.state().len());
}

/// A day and a half of nothing, for pages that are worth little and some that are worth much: who is visited first afterwards?
#[test]
fn after_a_pause_what_is_worth_most_comes_first_and_promises_before_all() {
    let mut scheduler = open(per_day(2400.0).with_burst(1.0).unwrap());
    for id in 0..1000u32 {
        let terms = PageTerms::new(HostId(id % 5)).with_weight(if id % 50 == 0 { 400.0 } else { 1.0 }).unwrap();
        let terms = if id % 100 == 1 { terms.pinned(seconds(6.0 * HOUR)).unwrap() } else { terms };
        scheduler.add(0.0, PageId(id.into()), terms).unwrap();
    }
    let mut answer = changing_every(30.0);
    drive(&mut scheduler, (0.0, 30.0 * DAY), DAY, &mut answer);
    let relaxed = scheduler.overload(30.0 * DAY);
    // Nobody came for a day and a half.
    let back_s = 31.5 * DAY;
    let backlog = scheduler.status(back_s).backlog;
    let overload = scheduler.overload(back_s);
    assert!(backlog > 200 && overload.backlog == backlog && overload.promised >= 10, "{overload:?}");
    assert!(overload.freshness_lost > 0.3 && relaxed.freshness_lost < 0.02, "{overload:?} {relaxed:?}");
    assert!((overload.clears_s / (backlog as f64 * 36.0) - 1.0).abs() < 1e-9, "{overload:?}");
    let visits = drive(&mut scheduler, (back_s, back_s + 36.0 * 60.0), DAY, &mut answer);
    let order: Vec<u64> = visits.iter().map(|(_, lease)| lease.page.0).collect();
    assert!(order.len() >= 40, "{}", order.len());
    let place = |is: fn(u64) -> bool| order.iter().take(45).filter(|id| is(**id)).count();
    // The ten that were promised, and the twenty that are worth most, are among the first.
    assert_eq!((place(|id| id % 100 == 1), place(|id| id % 50 == 0)), (10, 20), "{order:?}");
    // Nor do they wait behind the rest of the backlog, which takes ten hours, for their next visits: only until they are worth as much as
    // those that wait since yesterday.
    let later = drive(&mut scheduler, (back_s + 36.0 * 60.0, back_s + 8.0 * HOUR), DAY, &mut answer);
    let heavy = |visits: &[(f64, Lease)]| visits.iter().filter(|(_, lease)| lease.page.0 % 50 == 0).count();
    assert!(heavy(&later) >= 20, "{}", heavy(&later));
    assert!(order[..12].iter().filter(|id| **id % 100 == 1).count() >= 8, "{order:?}");
}

/// Twice as much is pinned as the budget can do, at periods of an hour and of a day: all are late by about the same factor.
#[test]
fn promises_that_cannot_be_kept_are_late_by_the_same_factor() {
    let mut scheduler = open(per_day(480.0));
    for id in 0..500u32 {
        let hours = if id < 20 { 1.0 } else { 24.0 };
        let terms = PageTerms::new(HostId(0)).pinned(seconds(hours * HOUR)).unwrap();
        scheduler.add(0.0, PageId(id.into()), terms).unwrap();
    }
    drive(&mut scheduler, (0.0, 20.0 * DAY), DAY, unchanged);
    let broken = scheduler.forecast(1.0).unwrap().broken;
    assert!(broken.len() == 1 && broken[0].host.is_none() && (broken[0].late() - 2.0).abs() < 1e-6, "{broken:?}");
    assert_eq!(scheduler.forecast(2.1).unwrap().broken, []);
    let visits = drive(&mut scheduler, (20.0 * DAY, 60.0 * DAY), DAY, unchanged);
    let short = visits.iter().filter(|(_, lease)| lease.page.0 < 20).count() as f64 / (40.0 * 480.0);
    assert!((short - 0.5).abs() < 0.07, "{short} of the visits");
    assert!((visits.len() as f64 / (40.0 * 480.0) - 1.0).abs() < 0.01, "{}", visits.len());
    let overload = scheduler.overload(60.0 * DAY);
    // After a late visit the next turn comes within the period that was promised.
    let late = overload.promised as f64 / overload.backlog as f64;
    assert!((1.7..3.0).contains(&overload.latest) && (0.7..=1.0).contains(&late), "{overload:?}");
}

#[test]
fn forecasts_name_the_hosts_that_cannot_keep_promises() {
    let mut scheduler = open(per_day(10_000.0));
    // 12 visits an hour; 40 pages that must be seen every two hours, and some that need not.
    scheduler.limit(0.0, HostId(7), HostLimits::NONE.with_visits(12, seconds(HOUR)).unwrap()).unwrap();
    for id in 0..300u64 {
        let terms = PageTerms::new(HostId(if id < 60 { 7 } else { 1 }));
        let most = if id < 40 { seconds(2.0 * HOUR) } else { Period::NEVER };
        scheduler.add(0.0, PageId(id), terms.with_periods(Period::ZERO, most).unwrap()).unwrap();
    }
    drive(&mut scheduler, (0.0, 10.0 * DAY), DAY, changing_every(30.0));
    let forecast = scheduler.forecast(1.0).unwrap();
    assert_eq!((forecast.full_hosts, forecast.broken.len(), forecast.sample), (1, 1, 300), "{forecast:?}");
    let broken = forecast.broken[0];
    assert_eq!(broken.host, Some(HostId(7)));
    // 20 an hour were promised, and a visit in 14.4 hours (300 pages with 5 % of the budget) to each of the rest.
    let promised = 20.0 + 20.0 / 14.4;
    assert!((broken.promised_per_s * HOUR / promised - 1.0).abs() < 1e-6, "{broken:?}");
    assert!((broken.late() / (promised / 12.0) - 1.0).abs() < 1e-6, "{broken:?}");
    let standing = scheduler.standing(10.0 * DAY, 1);
    assert_eq!((standing.groups.len(), standing.hosts.len(), standing.sample), (1, 1, 300));
    assert_eq!(standing.hosts[0].0, HostId(7));
    assert!(standing.hosts[0].1.now.freshness < standing.all.freshness, "{standing:?}");
}

/// What holds a page back.
fn binding(scheduler: &Scheduler<Memory>, now_s: f64, page: u64) -> Binding {
    scheduler.explain(now_s, PageId(page)).unwrap().binding
}

/// Visits of a day to 60 pages on 60 hosts, a third of them in group 1, by group; and the most that group 1 had at once.
fn visits_of_a_day(limits: HostLimits, budget_per_day: f64) -> (Scheduler<Memory>, [usize; 2], usize) {
    let settings = Settings::new(budget_per_day, Unit::Day).unwrap().with_burst(5.0).unwrap();
    let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0).unwrap();
    scheduler.limit_group(0.0, GroupId(1), limits).unwrap();
    for id in 0..60u32 {
        let terms = PageTerms::new(HostId(id)).in_group(GroupId(u16::from(id % 3 == 0)));
        scheduler.add(0.0, PageId(id.into()), terms).unwrap();
    }
    let (mut visits, mut live, mut most, mut last) = ([0; 2], Vec::new(), 0, f64::NEG_INFINITY);
    for step in 0..3 * 8640u32 {
        let now_s = f64::from(step) * 10.0;
        if step % 360 == 0 {
            scheduler.replan(now_s).unwrap();
        }
        for lease in scheduler.lease(now_s, 100).unwrap() {
            let group = usize::from(lease.page.0.is_multiple_of(3));
            if group == 1 {
                assert!(now_s - last >= limits.gap().seconds(), "after {} s", now_s - last);
                assert_eq!(limits.week().wait_s(now_s), 0.0);
                last = now_s;
            }
            visits[group] += usize::from(step >= 2 * 8640);
            live.push((now_s + 150.0, lease.id, group));
        }
        most = most.max(live.iter().filter(|(_, _, group)| *group == 1).count());
        live.retain(|(until_s, lease, _)| {
            let goes_on = *until_s > now_s;
            if !goes_on {
                let outcome = Outcome::Changed { divergence: 1.0, last_change: None };
                scheduler.complete(now_s, *lease, outcome).unwrap();
            }
            goes_on
        });
    }
    (scheduler, visits, most)
}

#[test]
fn a_group_bears_what_it_bears_on_whatever_hosts_and_others_have_the_rest() {
    let gap = HostLimits::NONE.with_visits(2, Period::of(1.0, Unit::Hour).unwrap()).unwrap();
    let (mut scheduler, [others, limited], most) = visits_of_a_day(gap, 600.0);
    // Its twenty pages would have a third of 600 visits and get 48; what is left goes to the others.
    assert!((45..=48).contains(&limited) && most <= 1, "{limited} {most}");
    assert!(others + limited > 580, "{others} {limited}");
    let now_s = 3.0 * DAY;
    let forecast = scheduler.forecast(1.0).unwrap();
    assert_eq!((forecast.full_hosts, forecast.full_groups), (0, 1));
    // All but one or two that are being visited, or about to be.
    let priced = (0..20).filter(|id| binding(&scheduler, now_s, 3 * id) == Binding::GroupPrice).count();
    let visited = |binding| matches!(binding, Binding::Leased { .. } | Binding::Group(_));
    let others = (0..20).filter(|id| visited(binding(&scheduler, now_s, 3 * id))).count();
    assert!(priced >= 18 && priced + others == 20, "{priced} {others}");
    assert_eq!(binding(&scheduler, now_s, 1), Binding::Price);
    let later_s = now_s + 7200.0;
    let leased = scheduler.lease(later_s, 100).unwrap();
    assert_eq!(leased.iter().filter(|lease| lease.page.0.is_multiple_of(3)).count(), 1);
    let waits = Binding::Group(Closed::Gap { until_s: later_s + 1800.0 });
    assert!((0..20).any(|id| binding(&scheduler, later_s, 3 * id) == waits));
}

#[test]
fn groups_have_leases_hours_and_blocks_of_their_own() {
    let (_, [others, limited], most) = visits_of_a_day(HostLimits::NONE.with_concurrency(2).unwrap(), 3000.0);
    assert!(most == 2 && limited > 100 && others > 1500, "{most} {limited} {others}");
    let nights = HostLimits::NONE.with_week(Week::of(|_, hour| hour < 6).unwrap());
    let (mut scheduler, [others, limited], _) = visits_of_a_day(nights, 600.0);
    assert!((20..200).contains(&limited) && others > 300, "{limited} {others}");
    let now_s = 3.0 * DAY + 3600.0;
    scheduler.block_group(now_s, GroupId(0), now_s + 7200.0).unwrap();
    let leased = scheduler.lease(now_s, 100).unwrap();
    assert!(!leased.is_empty() && leased.iter().all(|lease| lease.page.0.is_multiple_of(3)), "{leased:?}");
    let wakeup = scheduler.next_wakeup(now_s + 1.0).unwrap();
    assert!(wakeup <= now_s + 7200.0);
    let reopened = Scheduler::open(*scheduler.state().settings(), scheduler.store().clone(), now_s).unwrap();
    assert!(reopened.state() == scheduler.state());
    let later_s = now_s + 1800.0;
    scheduler.unblock_group(later_s, GroupId(0)).unwrap();
    scheduler.block_group(later_s, GroupId(1), later_s + 7200.0).unwrap();
    let leased = scheduler.lease(later_s, 100).unwrap();
    assert!(!leased.is_empty() && leased.iter().all(|lease| !lease.page.0.is_multiple_of(3)), "{leased:?}");
}

/// Two workers with hosts of their own, each of which comes when it was told to: all leases, with times.
fn drive_two(
    scheduler: &mut Scheduler<Memory>,
    (from_s, to_s): (f64, f64),
    wanted: &[Constraints],
) -> Vec<(f64, Lease)> {
    let (mut replan_at_s, mut all, mut next_s) = (from_s, Vec::new(), vec![from_s; wanted.len()]);
    loop {
        let worker = (0..wanted.len()).min_by(|a, b| next_s[*a].total_cmp(&next_s[*b])).unwrap();
        let now_s = next_s[worker].min(replan_at_s);
        if now_s >= to_s {
            return all;
        }
        if now_s >= replan_at_s {
            scheduler.replan(now_s).unwrap();
            replan_at_s = now_s + DAY;
            continue;
        }
        for lease in scheduler.lease_within(now_s, 100, &wanted[worker]).unwrap() {
            scheduler.complete(now_s, lease.id, changed_by_turns(now_s, &lease)).unwrap();
            all.push((now_s, lease));
        }
        let next = scheduler.next_wakeup_within(now_s, &wanted[worker]).unwrap_or(f64::INFINITY);
        next_s[worker] = next.max(now_s + 1e-3).min(to_s);
    }
}

/// Pages of two weights on ten hosts.
fn two_weights(burst: f64) -> Scheduler<Memory> {
    let mut scheduler = open(per_day(2000.0).with_burst(burst).unwrap());
    for id in 0..400u32 {
        let weight = if id % 4 == 0 { 10.0 } else { 1.0 };
        let terms = PageTerms::new(HostId(id % 10)).with_weight(weight).unwrap();
        scheduler.add(0.0, PageId(id.into()), terms.in_group(GroupId((id % 3) as u16))).unwrap();
    }
    scheduler
}

#[test]
fn workers_with_hosts_of_their_own_spend_the_budget_as_one_that_takes_all() {
    let few = Constraints::new().on((0..3).map(HostId));
    let rest = Constraints::new().not_on((0..3).map(HostId));
    let groups = [Constraints::new().in_groups([GroupId(0)]), Constraints::new().in_groups([GroupId(1), GroupId(2)])];
    let heavy = |visits: &[(f64, Lease)]| visits.iter().filter(|(_, lease)| lease.page.0 % 4 == 0).count() as f64;
    let mut alone = two_weights(10.0);
    drive(&mut alone, (0.0, 10.0 * DAY), DAY, changed_by_turns);
    let alone = drive(&mut alone, (10.0 * DAY, 30.0 * DAY), DAY, changed_by_turns);
    for wanted in [vec![few, rest], groups.to_vec()] {
        let mut scheduler = two_weights(10.0);
        drive_two(&mut scheduler, (0.0, 10.0 * DAY), &wanted);
        let visits = drive_two(&mut scheduler, (10.0 * DAY, 30.0 * DAY), &wanted);
        assert!((visits.len() as f64 / 40_000.0 - 1.0).abs() < 0.01, "{} visits", visits.len());
        assert!((heavy(&visits) / heavy(&alone) - 1.0).abs() < 0.02, "{} {}", heavy(&visits), heavy(&alone));
        let of_three = |visits: &[(f64, Lease)]| visits.iter().filter(|(_, lease)| lease.host.0 < 3).count() as f64;
        assert!((of_three(&visits) / of_three(&alone) - 1.0).abs() < 0.02, "{}", of_three(&visits));
        let replayed = Scheduler::open(*scheduler.state().settings(), scheduler.store().clone(), 30.0 * DAY).unwrap();
        assert!(replayed.state() == scheduler.state());
    }
}

#[test]
fn nothing_is_lost_when_nobody_comes_for_what_is_first() {
    let mut scheduler = two_weights(10.0);
    // Hosts 3 to 9 have no worker.
    let wanted = [Constraints::new().on((0..3).map(HostId))];
    let visits = drive_two(&mut scheduler, (0.0, 10.0 * DAY), &wanted);
    assert!((visits.len() as f64 / 20_000.0 - 1.0).abs() < 0.02, "{} visits", visits.len());
    assert!(visits.iter().all(|(_, lease)| lease.host.0 < 3));
    // When one comes it finds them first, and what was kept for them.
    let rest = scheduler.lease_within(10.0 * DAY, 1000, &Constraints::new().not_on((0..3).map(HostId))).unwrap();
    assert!(rest.len() >= 9, "{}", rest.len());
}

#[test]
fn dear_pages_are_visited_beside_those_who_take_cheap_ones_only() {
    let mut scheduler = open(per_day(2400.0).with_burst(20.0).unwrap());
    for id in 0..300u32 {
        let terms = PageTerms::new(HostId(id % 5)).pinned(seconds(6.0 * HOUR)).unwrap();
        let terms = terms.with_cost(if id % 30 == 0 { 15.0 } else { 1.0 }).unwrap();
        scheduler.add(0.0, PageId(id.into()), terms).unwrap();
    }
    // 1160 visits of cost 1 and 40 of cost 15 are promised a day: 1760 of 2400.
    let wanted = [Constraints::new().costing_at_most(2.0), Constraints::new()];
    let visits = drive_two(&mut scheduler, (0.0, 10.0 * DAY), &wanted);
    let dear = visits.iter().filter(|(_, lease)| lease.page.0 % 30 == 0).count();
    let cheap = visits.len() - dear;
    assert!((380..=400).contains(&dear) && (11_300..=11_600).contains(&cheap), "{dear} {cheap}");
    let wanted = [Constraints::new().costing_at_most(2.0)];
    let visits = drive_two(&mut scheduler, (10.0 * DAY, 20.0 * DAY), &wanted);
    assert!(visits.iter().all(|(_, lease)| lease.page.0 % 30 != 0) && visits.len() > 11_300, "{}", visits.len());
}

#[test]
fn so_many_of_so_many_hosts_and_never_two_workers_at_one_page() {
    let mut scheduler = two_weights(200.0);
    scheduler.replan(0.0).unwrap();
    let wanted = Constraints::new().at_most_per_host(3).of_at_most_hosts(4);
    let mut seen = BTreeSet::new();
    for round in 0..5 {
        let leases = scheduler.lease_within(DAY, 100, &wanted).unwrap();
        let hosts: BTreeSet<HostId> = leases.iter().map(|lease| lease.host).collect();
        assert_eq!((leases.len(), hosts.len()), (12, 4), "round {round}");
        assert!(leases.iter().all(|lease| seen.insert(lease.page)));
    }
    for nothing in [
        wanted.clone().on([]),
        wanted.clone().in_groups([GroupId(77)]),
        wanted.clone().at_most_per_host(0),
        wanted.clone().of_at_most_hosts(0),
        wanted.clone().costing_at_most(0.5),
        wanted.clone().costing_at_most(f64::NAN),
        wanted.clone().on([HostId(3)]).not_on([HostId(3)]),
    ] {
        assert_eq!(scheduler.lease_within(DAY, 100, &nothing).unwrap(), [], "{nothing:?}");
    }
    // Whoever asked for nothing changed nothing.
    let rest = scheduler.lease(DAY, 1000).unwrap();
    assert!(rest.iter().all(|lease| seen.insert(lease.page)) && rest.len() > 10, "{}", rest.len());
}

/// Seconds for which this thread was on a processor, however busy the machine is.
fn processor_s() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// A host by name, or all but one, among 100,000 that are due: with a look at each of them it would take an hour.
#[test]
fn whoever_asks_for_one_host_does_not_wait_for_the_others() {
    let hosts = 100_000u32;
    let mut scheduler = open(per_day(1e7).with_burst(1e6).unwrap());
    scheduler.reserve(hosts as usize);
    for host in 0..hosts {
        let terms = PageTerms::new(HostId(host)).pinned(seconds(HOUR)).unwrap();
        scheduler.add(0.0, PageId(host.into()), terms.in_group(GroupId((host % 2) as u16))).unwrap();
    }
    let begun_s = processor_s();
    for host in (0..hosts).step_by(2) {
        let wanted = match host % 3 {
            0 => Constraints::new().on([HostId(host)]),
            1 => Constraints::new().on([HostId(host)]).in_groups([GroupId(0)]),
            _ => Constraints::new().not_on([HostId(host)]).in_groups([GroupId(1)]).at_most_per_host(1),
        };
        assert_eq!(scheduler.lease_within(2.0 * HOUR, 1, &wanted).unwrap().len(), 1, "host {host}");
        assert!(scheduler.next_wakeup_within(2.0 * HOUR, &wanted).is_some());
    }
    let took_s = processor_s() - begun_s;
    println!("{} asked in {took_s} s", hosts / 2);
    assert!(took_s < 60.0, "{took_s} s");
}
