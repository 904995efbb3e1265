//! On pages that change as Poisson processes do, the scheduler reaches what the plan at their true rates foretells.

#![allow(clippy::unwrap_used)]

use everfresh::{Page, Period, Plan, Price, Rate, Terms, Unit};
use everfresh_sched::{Forecast, HostId, Memory, Outcome, PageId, PageTerms, Scheduler, Settings};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

const DAY: f64 = 86_400.0;

/// A source that changes at a rate, and the copy of it.
struct Source {
    rate_per_s: f64,
    weight: f64,
    next_change_s: f64,
    /// When the copy became stale, if it is.
    stale_since_s: Option<f64>,
    /// Since when time counts, and the time since then that the copy was fresh.
    from_s: f64,
    fresh_s: f64,
}

impl Source {
    /// Lives up to a time.
    fn live(&mut self, to_s: f64, rng: &mut Xoshiro256PlusPlus) {
        while self.next_change_s < to_s {
            if self.stale_since_s.is_none() {
                self.stale_since_s = Some(self.next_change_s);
                self.fresh_s += (self.next_change_s - self.from_s).max(0.0);
            }
            let wait: f64 = Exp1.sample(rng);
            self.next_change_s += wait / self.rate_per_s;
        }
    }

    fn visit(&mut self, now_s: f64) -> Outcome {
        if self.stale_since_s.take().is_some() {
            self.from_s = now_s.max(self.from_s);
            return Outcome::Changed { divergence: 1.0, last_change: None };
        }
        Outcome::Unchanged
    }

    fn count_from(&mut self, now_s: f64) {
        (self.from_s, self.fresh_s) = (now_s, 0.0);
    }

    fn fresh_by(&self, now_s: f64) -> f64 {
        self.fresh_s + if self.stale_since_s.is_none() { now_s - self.from_s } else { 0.0 }
    }
}

struct Run {
    freshness: f64,
    spent: f64,
    /// The mean of what the scheduler believed of the freshness at each plan.
    believed: f64,
    scheduler: Scheduler<Memory>,
}

/// Drives a scheduler by its own wake-ups.
fn run(sources: &mut [Source], settings: Settings, (warmup_s, end_s): (f64, f64), replan_s: f64) -> Run {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0).unwrap();
    for (source, id) in sources.iter().zip(0..) {
        scheduler.add(0.0, PageId(id), PageTerms::new(HostId(0)).with_weight(source.weight).unwrap()).unwrap();
    }
    let (mut now_s, mut replan_at_s, mut spent, mut warm) = (0.0, 0.0, 0u32, false);
    let mut believed = Vec::new();
    while now_s < end_s {
        if now_s >= replan_at_s {
            scheduler.replan(now_s).unwrap();
            scheduler.compact().unwrap();
            replan_at_s = now_s + replan_s;
            believed.extend(warm.then(|| scheduler.standing(now_s, 0).all.freshness));
        }
        if now_s >= warmup_s && !warm {
            for source in sources.iter_mut() {
                source.live(now_s, &mut rng);
                source.count_from(now_s);
            }
            warm = true;
        }
        for lease in scheduler.lease(now_s, usize::MAX).unwrap() {
            let source = &mut sources[usize::try_from(lease.page.0).unwrap()];
            source.live(now_s, &mut rng);
            scheduler.complete(now_s, lease.id, source.visit(now_s)).unwrap();
            spent += u32::from(warm);
        }
        now_s = scheduler.next_wakeup(now_s).unwrap().max(now_s + 1e-3).min(replan_at_s);
    }
    let weight: f64 = sources.iter().map(|source| source.weight).sum();
    for source in sources.iter_mut() {
        source.live(now_s, &mut rng);
    }
    let fresh: f64 = sources.iter().map(|source| source.weight * source.fresh_by(now_s)).sum();
    let (freshness, spent) = (fresh / weight / (now_s - warmup_s), f64::from(spent) / (now_s - warmup_s));
    Run { freshness, spent, believed: believed.iter().sum::<f64>() / believed.len() as f64, scheduler }
}

fn sources(number: usize, rng: &mut Xoshiro256PlusPlus) -> Vec<Source> {
    let one = |_| {
        // From once in three days to five times a day.
        let rate_per_s = 0.3 * (16f64).powf(rng.random()) / DAY;
        let weight = if rng.random::<f64>() < 0.3 { 3.0 } else { 1.0 };
        let wait: f64 = Exp1.sample(rng);
        let next_change_s = wait / rate_per_s;
        Source { rate_per_s, weight, next_change_s, stale_since_s: None, from_s: 0.0, fresh_s: 0.0 }
    };
    (0..number).map(one).collect()
}

#[test]
fn freshness_is_what_the_plan_foretells() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut sources = sources(400, &mut rng);
    let pages: Vec<Page> = sources
        .iter()
        .map(|source| {
            Page::new(Rate::per(source.rate_per_s, Unit::Second).unwrap()).with_weight(source.weight).unwrap()
        })
        .collect();
    let budget = 800.0;
    let plan = Plan::new(&pages, Terms::new(Price::for_budget(budget, Unit::Day).unwrap())).unwrap();
    let settings = Settings::new(budget, Unit::Day).unwrap().with_seed(3);
    let run = run(&mut sources, settings, (60.0 * DAY, 360.0 * DAY), DAY);
    let foretold = plan.totals().freshness;
    println!("freshness {} of {foretold} foretold, {} visits a day", run.freshness, run.spent * DAY);
    assert!((run.freshness / foretold - 1.0).abs() < 0.01, "{} {foretold}", run.freshness);
    assert!((run.spent * DAY / budget - 1.0).abs() < 0.001, "{}", run.spent * DAY);
    println!("believed {}", run.believed);
    assert!((run.believed / run.freshness - 1.0).abs() < 0.02, "{} {}", run.believed, run.freshness);
    for factor in [0.5, 1.0, 2.0] {
        let Forecast { all, spending_per_s, broken, .. } = run.scheduler.forecast(factor).unwrap();
        if factor == 1.0 {
            let told = run.scheduler.expected().freshness;
            assert!((told / all.freshness - 1.0).abs() < 0.01, "{told} {}", all.freshness);
        }
        let plan = Plan::new(&pages, Terms::new(Price::for_budget(factor * budget, Unit::Day).unwrap())).unwrap();
        let (freshness, age_s) = (plan.totals().freshness, plan.totals().age.seconds());
        println!("{factor}: {} of {freshness}, age {} of {age_s}", all.freshness, all.age_s);
        assert!((all.freshness / freshness - 1.0).abs() < 0.02, "{} {freshness}", all.freshness);
        // The plan gives pages up where the scheduler keeps a floor.
        assert!(age_s.is_infinite() || (all.age_s / age_s - 1.0).abs() < 0.1, "{} {age_s}", all.age_s);
        assert!((spending_per_s * DAY / budget / factor - 1.0).abs() < 1e-3 && broken.is_empty(), "{spending_per_s}");
    }
    assert!(run.scheduler.forecast(0.0).is_err() && run.scheduler.forecast(f64::NAN).is_err());
}

#[test]
fn times_before_the_start_do_not_exist() {
    let settings = Settings::new(1.0, Unit::Second).unwrap().with_start(1e9).unwrap();
    let mut scheduler = Scheduler::open(settings, Memory::new(), 0.0).unwrap();
    scheduler.add(f64::NAN, PageId(1), PageTerms::new(HostId(0))).unwrap();
    let leases = scheduler.lease(f64::NEG_INFINITY, 5).unwrap();
    assert_eq!(leases.len(), 1);
    assert_eq!(leases[0].until_s, 1e9 + 600.0);
    assert_eq!(scheduler.explain(0.0, PageId(1)).unwrap().elapsed, Period::ZERO);
}
