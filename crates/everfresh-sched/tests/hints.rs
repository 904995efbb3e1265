//! Hints that are right raise the freshness at the same number of visits; hints that lie lose their weight and cost little.

#![allow(clippy::unwrap_used)]

use everfresh::Unit;
use everfresh_sched::{
    Binding, GroupId, HintKind, HostId, Memory, Outcome, PageId, PageTerms, Scheduler, Settings, State,
};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

const DAY: f64 = 86_400.0;
const PAGES: usize = 100;
const PER_DAY: f64 = 150.0;

#[derive(Clone, Copy, PartialEq)]
enum Hints {
    None,
    /// Every change of every page is told, an instant after it.
    Right,
    /// As many, at times that have nothing to do with changes.
    Lying,
}

struct Run {
    freshness: f64,
    visits_per_day: f64,
    scheduler: Scheduler<Memory>,
}

/// Poisson sources, from once in three days to five times a day, for 150 days of which the first 50 are not counted.
fn run(hints: Hints) -> Run {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let rates: Vec<f64> = (0..PAGES).map(|_| 0.3 * 16f64.powf(rng.random()) / DAY).collect();
    let mut wait = |rate: f64| {
        let one: f64 = Exp1.sample(&mut rng);
        one / rate
    };
    let mut changes: Vec<f64> = rates.iter().map(|rate| wait(*rate)).collect();
    let mut lies: Vec<f64> = rates.iter().map(|rate| wait(*rate)).collect();
    let mut stale = [true; PAGES];
    let settings = Settings::new(PER_DAY, Unit::Day).unwrap().with_burst(4.0).unwrap();
    let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0).unwrap();
    for page in 0..PAGES as u64 {
        scheduler.add(0.0, PageId(page), PageTerms::new(HostId(0))).unwrap();
    }
    let (mut fresh, mut steps, mut visits) = (0.0, 0.0, 0.0);
    for step in 0..150 * 288u32 {
        let now_s = f64::from(step) * 300.0;
        if step % 288 == 0 {
            scheduler.replan(now_s).unwrap();
            scheduler.compact().unwrap();
        }
        for page in 0..PAGES {
            while changes[page] <= now_s {
                stale[page] = true;
                if hints == Hints::Right {
                    scheduler.hint(now_s, PageId(page as u64), HintKind::Push, changes[page]).unwrap();
                }
                changes[page] += wait(rates[page]);
            }
            while lies[page] <= now_s {
                if hints == Hints::Lying {
                    scheduler.hint(now_s, PageId(page as u64), HintKind::Push, lies[page]).unwrap();
                }
                lies[page] += wait(rates[page]);
            }
        }
        let counts = f64::from(u8::from(step >= 50 * 288));
        for lease in scheduler.lease(now_s, 10).unwrap() {
            let was = std::mem::replace(&mut stale[usize::try_from(lease.page.0).unwrap()], false);
            let changed = Outcome::Changed { divergence: 1.0, last_change: None };
            scheduler.complete(now_s, lease.id, if was { changed } else { Outcome::Unchanged }).unwrap();
            visits += counts;
        }
        fresh += counts * stale.iter().filter(|stale| !**stale).count() as f64 / PAGES as f64;
        steps += counts;
    }
    Run { freshness: fresh / steps, visits_per_day: visits / 100.0, scheduler }
}

#[test]
fn right_hints_are_worth_much_and_lies_cost_little() {
    let [none, right, lying] = [Hints::None, Hints::Right, Hints::Lying].map(run);
    println!("freshness {} without, {} with, {} with lies", none.freshness, right.freshness, lying.freshness);
    for run in [&none, &right, &lying] {
        assert!((run.visits_per_day / PER_DAY - 1.0).abs() < 0.02, "{}", run.visits_per_day);
    }
    assert!(right.freshness > none.freshness + 0.1, "{} {}", right.freshness, none.freshness);
    assert!(lying.freshness > 0.97 * none.freshness, "{} {}", lying.freshness, none.freshness);
    // Right ones bring visits about, which is known again after the state was stored.
    let mut records = Vec::new();
    let state = right.scheduler.state();
    let mut keep = |record: &[u8]| {
        records.push(record.to_vec());
        Ok(())
    };
    state.write(&mut keep).unwrap();
    let read = State::read(records.into_iter().map(Ok)).unwrap().unwrap();
    assert!(state.hinted_share() > 0.1 && read.hinted_share() == state.hinted_share(), "{}", state.hinted_share());
    let now_s = 150.0 * DAY;
    let believed = |run: Run| {
        let mut scheduler = run.scheduler;
        // All are asked, since an earlier hint may be pending for some.
        let pages = (0..PAGES as u64).map(PageId);
        pages.clone().for_each(|page| scheduler.hint(now_s, page, HintKind::Push, now_s).unwrap());
        let hints = pages.filter_map(|page| scheduler.explain(now_s, page).unwrap().hint);
        let believed: Vec<f64> = hints.map(|(_, believed)| believed).collect();
        believed.iter().sum::<f64>() / believed.len() as f64
    };
    let (right, lying) = (believed(right), believed(lying));
    println!("believed {right}, lies {lying}");
    assert!(right > 0.9 && lying < 0.2, "{right} {lying}");
}

/// Notices of one host are always right, those of the other always wrong; one group has none.
#[test]
fn each_host_and_each_kind_is_believed_by_itself() {
    let settings = Settings::new(1000.0, Unit::Day).unwrap();
    let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0).unwrap();
    let terms = |page: u32, group: u16| PageTerms::new(HostId(page % 2)).in_group(GroupId(group));
    (0..20).for_each(|page| scheduler.add(0.0, PageId(page.into()), terms(page, 0)).unwrap());
    let (mut now_s, end_s) = (0.0, 60.0 * DAY);
    while now_s < end_s {
        // Those that are asked in the end have been seen by then.
        if now_s == 20.0 * DAY {
            (100..110).for_each(|page| scheduler.add(now_s, PageId(page.into()), terms(page, 1)).unwrap());
        }
        for lease in scheduler.lease(now_s, 100).unwrap() {
            let is_hinted = scheduler.explain(now_s, lease.page).unwrap().hint.is_some();
            let changed = Outcome::Changed { divergence: 1.0, last_change: None };
            let is_right = is_hinted && lease.page.0.is_multiple_of(2);
            scheduler.complete(now_s, lease.id, if is_right { changed } else { Outcome::Unchanged }).unwrap();
        }
        // In the last weeks there are none, so that the others get their turn.
        if now_s < 25.0 * DAY {
            (0..20).for_each(|page| scheduler.hint(now_s + 60.0, PageId(page), HintKind::Push, now_s + 60.0).unwrap());
        }
        now_s += 1800.0;
    }
    let mut believed = |page: u64, kind: HintKind| {
        scheduler.hint(end_s, PageId(page), kind, end_s).unwrap();
        scheduler.explain(end_s, PageId(page)).unwrap().hint.unwrap()
    };
    let (right, wrong) = (believed(100, HintKind::Push).1, believed(101, HintKind::Push).1);
    assert!(right > 0.9 && wrong < 0.1, "{right} {wrong}");
    // Of feeds nothing is known yet.
    let (kind, first_guess) = believed(103, HintKind::Feed);
    assert!(kind == HintKind::Feed && (first_guess - 0.6).abs() < 1e-6, "{first_guess}");
}

#[test]
fn explanations_name_the_hint() {
    let settings = Settings::new(10.0, Unit::Day).unwrap();
    let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0).unwrap();
    scheduler.add(0.0, PageId(1), PageTerms::new(HostId(0))).unwrap();
    // Before there is a copy, and for a time before the last visit, hints say nothing.
    scheduler.hint(0.0, PageId(1), HintKind::Feed, 0.0).unwrap();
    let lease = scheduler.lease(10.0, 1).unwrap()[0];
    scheduler.complete(20.0, lease.id, Outcome::Unchanged).unwrap();
    scheduler.hint(30.0, PageId(1), HintKind::Feed, 15.0).unwrap();
    assert_eq!(scheduler.explain(30.0, PageId(1)).unwrap().hint, None);
    let due_s = scheduler.explain(30.0, PageId(1)).unwrap().due_s.unwrap();
    scheduler.hint(30.0, PageId(1), HintKind::Expires, 30.0 + 0.2 * due_s).unwrap();
    scheduler.hint(31.0, PageId(1), HintKind::Push, 30.0 + 0.5 * due_s).unwrap();
    let explained = scheduler.explain(31.0, PageId(1)).unwrap();
    assert!(
        matches!(explained.hint, Some((HintKind::Push, believed)) if (believed - 0.8).abs() < 1e-6),
        "{explained:?}"
    );
    assert_eq!(explained.binding, Binding::Hint);
    assert!(explained.due_s.unwrap() < due_s && explained.due_s.unwrap() >= 29.8 + 0.5 * due_s, "{explained:?}");
    assert!(scheduler.hint(31.0, PageId(2), HintKind::Push, 31.0).is_err());
}

/// Asked twice an hour, which spends half of the budget, with a right hint for each of 20 pages at every turn. After five days others come
/// that nobody hints at: the days until each is seen first, and the share of the visits of the next ten days that goes to them.
fn beside_hints(new: u32, plans: bool) -> (Vec<f64>, f64) {
    let settings = Settings::new(1000.0, Unit::Day).unwrap();
    let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0).unwrap();
    (0..20).for_each(|page| scheduler.add(0.0, PageId(page), PageTerms::new(HostId(0))).unwrap());
    let (mut first, mut visits) = (BTreeMap::new(), [0.0; 2]);
    for turn in 0..48 * 15u32 {
        let now_s = f64::from(turn) * 1800.0;
        if turn == 48 * 5 {
            let pages = (100..100 + u64::from(new)).map(PageId);
            pages.for_each(|page| scheduler.add(now_s, page, PageTerms::new(HostId(0))).unwrap());
        }
        if plans && turn % 48 == 0 {
            scheduler.replan(now_s).unwrap();
        }
        for lease in scheduler.lease(now_s, 100).unwrap() {
            let is_new = lease.page.0 >= 100;
            let changed = Outcome::Changed { divergence: 1.0, last_change: None };
            scheduler.complete(now_s, lease.id, if is_new { Outcome::Unchanged } else { changed }).unwrap();
            visits[usize::from(is_new)] += f64::from(u8::from(turn >= 48 * 5));
            if is_new {
                first.entry(lease.page).or_insert(now_s / DAY - 5.0);
            }
        }
        (0..20).for_each(|page| scheduler.hint(now_s + 60.0, PageId(page), HintKind::Push, now_s + 60.0).unwrap());
    }
    (first.into_values().collect(), visits[1] / (visits[0] + visits[1]))
}

#[test]
fn neither_new_pages_nor_those_with_hints_at_every_turn_starve() {
    // Ten pages of thirty with five hundredths of the budget: 0.6 days; 200 of 220: 4.4 days. Before any plan it is five days.
    for (new, plans, days) in [(10, true, 0.65), (200, true, 4.6), (10, false, 5.1), (200, false, 5.6)] {
        let (seen, share) = beside_hints(new, plans);
        let latest = seen.iter().copied().fold(0.0, f64::max);
        println!(
            "{new} new, plans {plans}: {} seen, the last after {latest:.2} days, {share:.3} of visits",
            seen.len()
        );
        assert!(seen.len() == new as usize && latest < days, "{new} {plans}: {} seen, {latest}", seen.len());
        assert!(share < 0.2, "{new} {plans}: {share}");
    }
}

/// A notice is for one visit: what it brings about once is not planned for again, and nobody is told that it would be.
#[test]
fn one_hint_moves_neither_the_price_nor_what_is_expected() {
    let settings = Settings::new(2.0, Unit::Day).unwrap();
    let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0).unwrap();
    (0..100).for_each(|page| scheduler.add(0.0, PageId(page), PageTerms::new(HostId(0))).unwrap());
    for hour in 0..60 * 24u32 {
        let now_s = f64::from(hour) * 3600.0;
        if hour % 24 == 0 {
            scheduler.replan(now_s).unwrap();
        }
        for lease in scheduler.lease(now_s, 10).unwrap() {
            let changed = Outcome::Changed { divergence: 1.0, last_change: None };
            let is_new = lease.page.0.is_multiple_of(3);
            scheduler.complete(now_s, lease.id, if is_new { changed } else { Outcome::Unchanged }).unwrap();
        }
    }
    let now_s = 60.0 * DAY;
    scheduler.replan(now_s).unwrap();
    let told = |scheduler: &mut Scheduler<Memory>| {
        let [as_is, doubled] = [1.0, 2.0].map(|factor| scheduler.forecast(factor).unwrap().all.freshness);
        let other = scheduler.explain(now_s, PageId(2)).unwrap().period.seconds();
        [scheduler.status(now_s).price, scheduler.expected().freshness, as_is, doubled, other]
    };
    let before = told(&mut scheduler);
    let page = PageId(1);
    let own = scheduler.explain(now_s, page).unwrap().period;
    scheduler.hint(now_s, page, HintKind::Push, now_s).unwrap();
    scheduler.replan(now_s).unwrap();
    for (before, after) in before.into_iter().zip(told(&mut scheduler)) {
        assert!((after / before - 1.0).abs() < 0.01, "{before} {after}");
    }
    // The page itself is due at once.
    let explained = scheduler.explain(now_s, page).unwrap();
    assert_eq!((explained.due_s, explained.binding, explained.period), (Some(now_s), Binding::Budget, own));
}

/// So many pages that were seen a minute ago at the latest, each of which is visited again every second.
fn seen(pages: u64, now_s: f64) -> Scheduler<Memory> {
    let start_s = now_s - 60.0;
    let settings = Settings::new(1000.0, Unit::Second).unwrap().with_start(start_s).unwrap();
    let mut scheduler = Scheduler::open(settings, Memory::new(), start_s).unwrap();
    let second = everfresh::Period::of(1.0, Unit::Second).unwrap();
    for page in 1..=pages {
        scheduler.add(start_s, PageId(page), PageTerms::new(HostId(0)).pinned(second).unwrap()).unwrap();
    }
    visit(&mut scheduler, now_s - 58.0, Outcome::Unchanged);
    scheduler
}

/// Visits all that are due.
fn visit(scheduler: &mut Scheduler<Memory>, now_s: f64, outcome: Outcome) -> usize {
    let leases = scheduler.lease(now_s, 1000).unwrap();
    for lease in &leases {
        scheduler.complete(now_s, lease.id, outcome).unwrap();
    }
    leases.len()
}

#[test]
fn dates_to_come_are_found_out_and_make_room_for_others() {
    let now_s = 1.7e9;
    let mut scheduler = seen(1, now_s);
    let believed = |scheduler: &mut Scheduler<Memory>, at_s: f64| {
        scheduler.hint(at_s, PageId(1), HintKind::Sitemap, at_s + 1e9).unwrap();
        scheduler.explain(at_s, PageId(1)).unwrap().hint.unwrap().1
    };
    let first = believed(&mut scheduler, now_s);
    visit(&mut scheduler, now_s + 60.0, Outcome::Unchanged);
    assert!(scheduler.explain(now_s + 60.0, PageId(1)).unwrap().hint.is_none());
    let second = believed(&mut scheduler, now_s + 120.0);
    assert!(second < first, "{second} after {first}");
}

#[test]
fn promises_are_tried_on_some_pages_and_end_with_a_change() {
    let now_s = 1.7e9;
    let mut scheduler = seen(400, now_s);
    let all = |scheduler: &mut Scheduler<Memory>, at_s: f64| {
        for page in 1..=400 {
            scheduler.hint(at_s, PageId(page), HintKind::Expires, at_s + 1e6).unwrap();
        }
        (1..=400).filter(|page| scheduler.explain(at_s, PageId(*page)).unwrap().hint.is_some()).count()
    };
    assert!((30..=70).contains(&all(&mut scheduler, now_s)));
    let changed = Outcome::Changed { divergence: 1.0, last_change: None };
    assert_eq!(visit(&mut scheduler, now_s + 10.0, changed), 400);
    assert!((1..=400).all(|page| scheduler.explain(now_s + 10.0, PageId(page)).unwrap().hint.is_none()));
}

#[test]
fn a_notice_brings_back_a_page_that_was_gone() {
    let now_s = 1.7e9;
    let mut scheduler = seen(1, now_s);
    assert_eq!(visit(&mut scheduler, now_s, Outcome::Gone), 1);
    scheduler.hint(now_s + 100.0, PageId(1), HintKind::Feed, now_s + 50.0).unwrap();
    assert_eq!(visit(&mut scheduler, now_s + 100.0, Outcome::Unchanged), 0, "feeds are read again and again");
    scheduler.hint(now_s + 100.0, PageId(1), HintKind::Push, now_s + 50.0).unwrap();
    assert_eq!(visit(&mut scheduler, now_s + 101.0, Outcome::Unchanged), 1);
}
