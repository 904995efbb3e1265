//! Plans in slices, and what happens between them: nobody comes twice, nobody is lost, and whoever replays the log goes on alike.

#![allow(clippy::unwrap_used)]

use everfresh::{Period, Unit};
use everfresh_sched::{HostId, HostLimits, Memory, Outcome, PageId, PageTerms, Scheduler, Settings};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const DAY: f64 = 86_400.0;

fn seconds(seconds: f64) -> Period {
    Period::of(seconds, Unit::Second).unwrap()
}

fn open(settings: Settings) -> Scheduler<Memory> {
    Scheduler::open(settings, Memory::new(), 0.0).unwrap()
}

fn per_day(budget: f64) -> Settings {
    Settings::new(budget, Unit::Day).unwrap()
}

/// A scheduler from the log of another.
fn replayed(scheduler: &Scheduler<Memory>, now_s: f64) -> Scheduler<Memory> {
    let twin = Scheduler::open(*scheduler.state().settings(), scheduler.store().clone(), now_s).unwrap();
    assert!(twin.state() == scheduler.state());
    twin
}

/// The pages that are leased now.
fn leased(scheduler: &mut Scheduler<Memory>, now_s: f64, most: usize) -> Vec<u64> {
    scheduler.lease(now_s, most).unwrap().iter().map(|lease| lease.page.0).collect()
}

#[test]
fn sums_do_not_depend_on_slices() {
    let make = || {
        let mut scheduler = open(per_day(1000.0));
        for id in 0..10_000u32 {
            let terms = PageTerms::new(HostId(0)).with_cost(0.1 + f64::from(id) / 7.0).unwrap();
            scheduler.add(0.0, PageId(id.into()), terms).unwrap();
        }
        scheduler
    };
    let (mut whole, mut sliced) = (make(), make());
    whole.replan(DAY).unwrap();
    while !sliced.plan_on(DAY, 777).unwrap() {}
    assert!(whole.state() == sliced.state());
}

/// Two pages wait together, on one level and due at one time; the plan has come to one of them.
#[test]
fn pages_that_the_plan_has_come_to_stand_where_they_stood() {
    let mut scheduler = open(per_day(DAY));
    for id in 0..2 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0)).pinned(seconds(600.0)).unwrap()).unwrap();
    }
    for lease in scheduler.lease(600.0, 2).unwrap() {
        scheduler.complete(600.0, lease.id, Outcome::Unchanged).unwrap();
    }
    scheduler.block(601.0, HostId(0), 1300.0).unwrap();
    assert!(scheduler.lease(1250.0, 2).unwrap().is_empty());
    // Habits, counting one page and the other, four turns of hosts and groups, the price, and the first page's due time.
    (0..9).for_each(|_| assert!(!scheduler.plan_on(1260.0, 1).unwrap()));
    let mut twin = replayed(&scheduler, 1260.0);
    let leases = leased(&mut scheduler, 1400.0, 2);
    assert_eq!((leases.len(), &leases), (2, &leased(&mut twin, 1400.0, 2)));
}

/// Pinned pages that are looked at for one that may come early are not there twice afterwards: they would fill what is looked at.
#[test]
fn who_is_looked_at_within_a_plan_does_not_count_twice_after_it() {
    let mut scheduler = open(per_day(1e5).with_floor(0.0).unwrap());
    for id in 0..40 {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0)).pinned(seconds(5000.0)).unwrap()).unwrap();
    }
    for now_s in (0..=5100).step_by(10).map(f64::from) {
        for lease in scheduler.lease(now_s, 100).unwrap() {
            scheduler.complete(now_s, lease.id, Outcome::Unchanged).unwrap();
        }
    }
    let now_s = 5101.0;
    for id in 100..110 {
        let terms = PageTerms::new(HostId(1)).with_weight(0.0).unwrap();
        let terms = terms.with_periods(Period::ZERO, seconds(1000.0 * DAY)).unwrap();
        scheduler.add(now_s, PageId(id), terms).unwrap();
    }
    // Habits, counting, four turns of hosts and groups, the price.
    (0..7).for_each(|_| assert!(!scheduler.plan_on(now_s, 1000).unwrap()));
    assert!(leased(&mut scheduler, now_s, 1)[0] >= 100, "somebody comes early");
    while !scheduler.plan_on(now_s, 1000).unwrap() {}
    let mut twin = replayed(&scheduler, now_s);
    let later = leased(&mut scheduler, now_s + 2.0, 1);
    assert_eq!((later.len(), &later), (1, &leased(&mut twin, now_s + 2.0, 1)));
}

/// A plan may rest for ever: who waits rises all the same, and nobody starves.
#[test]
fn a_plan_that_rests_starves_nobody() {
    for slices in [1, 2, 5, 8, 10, 12] {
        let mut scheduler = open(per_day(300.0).with_floor(0.5).unwrap());
        for id in 0..100u32 {
            let terms = PageTerms::new(HostId(id % 3)).with_weight(f64::from(id % 20)).unwrap();
            scheduler.add(0.0, PageId(id.into()), terms).unwrap();
        }
        let mut seen = vec![0.0f64; 101];
        for step in 0..3000 {
            let now_s = f64::from(step) * 600.0;
            if step == 300 {
                scheduler.replan(now_s).unwrap();
                scheduler.add(now_s, PageId(100), PageTerms::new(HostId(4)).pinned(seconds(1e5)).unwrap()).unwrap();
                (0..slices).for_each(|_| _ = scheduler.plan_on(now_s, 30).unwrap());
            }
            for lease in scheduler.lease(now_s, 10).unwrap() {
                seen[usize::try_from(lease.page.0).unwrap()] = now_s;
                scheduler.complete(now_s, lease.id, Outcome::Unchanged).unwrap();
            }
        }
        let latest = seen.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(1.8e6 - latest < 2.0 * DAY, "after {slices} slices a page waits since {latest}");
    }
}

#[test]
fn a_price_that_fell_as_far_as_prices_fall_rises_when_there_is_more_to_visit() {
    // A visit a second of each of ten pages is less than there is.
    let settings = Settings::new(20.0, Unit::Second).unwrap();
    let (mut scheduler, mut other) = (open(settings), open(settings));
    let add = |scheduler: &mut Scheduler<Memory>, ids: std::ops::Range<u64>| {
        ids.for_each(|id| scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap());
    };
    add(&mut scheduler, 0..10);
    scheduler.replan(0.0).unwrap();
    let lowest = scheduler.status(0.0).price;
    add(&mut scheduler, 10..10_000);
    add(&mut other, 0..10_000);
    for scheduler in [&mut scheduler, &mut other] {
        scheduler.replan(0.0).unwrap();
    }
    let (price, expected) = (scheduler.status(0.0).price, other.status(0.0).price);
    assert!(lowest < 1e-30 && (price / expected - 1.0).abs() < 0.01, "{lowest:e}, then {price:e}, not {expected:e}");
}

#[test]
fn a_full_host_keeps_its_price_from_plan_to_plan() {
    let limits = HostLimits::NONE.with_gap(seconds(1.0)).unwrap();
    let mut scheduler = open(Settings::new(10.0, Unit::Second).unwrap().with_limits(limits));
    (0..1000).for_each(|id| scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0))).unwrap());
    let mut plan = || {
        scheduler.replan(0.0).unwrap();
        scheduler.explain(0.0, PageId(0)).unwrap().period.seconds()
    };
    let periods: Vec<f64> = (0..6).map(|_| plan()).collect();
    assert!(periods[1..].iter().all(|period| (period / 971.0 - 1.0).abs() < 0.01), "{periods:?}");
}

/// What is rebuilt from the log at any moment leases the same pages ever after, also within plans.
#[test]
fn whoever_replays_goes_on_alike_at_any_moment() {
    for seed in 0..3 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut scheduler = open(per_day(2000.0).with_burst(3.0).unwrap().with_seed(seed));
        let mut now_s = 0.0;
        for step in 0..1500u64 {
            now_s += 200.0 * rng.random::<f64>();
            match rng.random_range(0..20) {
                0..3 => {
                    let terms = PageTerms::new(HostId(rng.random_range(0..6)));
                    let weight = f64::from(rng.random_range(0..5));
                    scheduler.add(now_s, PageId(step), terms.with_weight(weight).unwrap()).unwrap();
                }
                3 => _ = scheduler.remove(now_s, PageId(rng.random_range(0..step.max(1)))),
                4 => scheduler.block(now_s, HostId(rng.random_range(0..6)), now_s + 500.0).unwrap(),
                5..12 => _ = scheduler.plan_on(now_s, rng.random_range(1..30)).unwrap(),
                _ => {}
            }
            let mut twin = (step % 50 == 0).then(|| replayed(&scheduler, now_s));
            let leases = scheduler.lease(now_s, 5).unwrap();
            if let Some(twin) = &mut twin {
                assert_eq!(leases, twin.lease(now_s, 5).unwrap(), "seed {seed}, step {step}");
            }
            for lease in leases {
                let changed = Outcome::Changed { divergence: 1.0, last_change: None };
                let outcome =
                    [Outcome::Unchanged, changed, Outcome::Failed { retryable: true }][rng.random_range(0..3)];
                scheduler.complete(now_s, lease.id, outcome).unwrap();
            }
            scheduler = match twin {
                Some(_) if step % 100 == 0 => replayed(&scheduler, now_s),
                _ => scheduler,
            };
        }
    }
}
