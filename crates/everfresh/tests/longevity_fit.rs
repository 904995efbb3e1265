//! Change profiles: fits find what made the points, bounds hold, and the searches end where they should.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, unreachable_pub)]

mod longevity;

use everfresh::curve::checks::{DivergenceUnit, conforms};
use everfresh::curve::{Churn, DivergenceCurve, Exponential, Lomax, Observed, Scaled, Scroll};
use everfresh::estimate::{Estimator, Prior, Ratio};
use everfresh::longevity::{
    Adjustment, BoundBased, BoundSearch, Bounds, Cgm, Content, ContentPrior, CurveFitting, Fitted, LearningPhase,
    OnlinePolicy, Point, RiskControl, Visit, WarmUp, combine, fit, fit_churn, fit_scroll, utility_bounds,
};
use everfresh::{Period, Rate, Unit};
use proptest::prelude::{prop, prop_assert, proptest};
use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;

const DAY: f64 = Unit::Day.seconds();

fn days(n: f64) -> Period {
    Period::of(n, Unit::Day).unwrap()
}

fn per_day(changes: f64) -> Rate {
    Rate::per(changes, Unit::Day).unwrap()
}

fn point(day: f64, divergence: f64) -> Point {
    Point::new(days(day), divergence).unwrap()
}

fn few() -> Scaled<Lomax> {
    Scaled::new(Lomax::with_mean_rate(0.5, per_day(0.03)).unwrap(), 0.2).unwrap()
}

/// The points of a curve itself, without noise.
fn points_of(curve: &impl DivergenceCurve, times: impl IntoIterator<Item = f64>) -> Vec<Point> {
    times.into_iter().map(|day| point(day, curve.divergence(days(day)))).collect()
}

fn exponential(rng: &mut impl Rng, rate: f64) -> f64 {
    -(1.0 - rng.random::<f64>()).ln() / rate
}

/// What visits every `step` days see of a list of `items` that gets one at `rate` a day: one profile per base, as the
/// process itself has it. A list of one item is a region that is overwritten.
fn simulated_profile(rng: &mut impl Rng, rate: f64, items: u32, share: f64, step: f64, count: u32) -> Vec<Point> {
    let (mut replaced, mut next, items) = (0.0f64, exponential(rng, rate), f64::from(items));
    let mut points = Vec::new();
    for visit in 1..=count {
        let now = step * f64::from(visit);
        while next <= now {
            replaced = (replaced + 1.0).min(items);
            next += exponential(rng, rate);
        }
        points.push(point(now, 2.0 * share * replaced / (items + share * replaced)));
    }
    points
}

#[test]
fn exact_churn_is_found() {
    for (rate, depth) in [(0.05, 0.9), (0.3, 0.1), (1.0, 1.0), (2.0, 0.3)] {
        let truth = Churn::new(per_day(rate), depth).unwrap();
        let Fitted::Churn(found) = fit(&points_of(&truth, (1..=12).map(f64::from)), few()) else { panic!("no churn") };
        assert!((found.depth() / depth - 1.0).abs() < 0.02, "{found:?} for {truth:?}");
        assert!((found.rate().per_day() / rate - 1.0).abs() < 0.03, "{found:?} for {truth:?}");
    }
}

#[test]
fn exact_scroll_is_found() {
    for items in [3, 5, 10, 20, 50, 100] {
        for share in [0.1, 0.5, 1.0] {
            let rate = f64::from(items) / 8.0;
            let truth = Scroll::new(per_day(rate), items, share).unwrap();
            let Fitted::Scroll(found) = fit(&points_of(&truth, (1..=14).map(f64::from)), few()) else {
                panic!("no scroll for {truth:?}")
            };
            assert_eq!(found.items(), items);
            assert!((found.share() / share - 1.0).abs() < 0.02, "{found:?} for {truth:?}");
            assert!((found.rate().per_day() / rate - 1.0).abs() < 0.02, "{found:?} for {truth:?}");
        }
    }
}

/// Forty profiles of a simulated page together tell share, rate and the length of the list.
#[test]
fn simulated_pages_are_found() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
    for (rate, items, share) in [(0.3, 1, 0.4), (1.0, 1, 0.05), (1.5, 10, 0.6), (4.0, 20, 0.3)] {
        let profiles: Vec<_> = (0..200).map(|_| simulated_profile(&mut rng, rate, items, share, 1.0, 14)).collect();
        let combined = combine(profiles.iter().map(Vec::as_slice));
        assert_eq!(combined.len(), 14);
        let (found_rate, found_items, found_share) = match fit(&combined, few()) {
            Fitted::Churn(churn) => (churn.rate(), 1, churn.depth() / (2.0 - churn.depth())),
            Fitted::Scroll(scroll) => (scroll.rate(), scroll.items(), scroll.share()),
            other => panic!("{other:?}"),
        };
        println!("rate {rate}, K {items}, share {share}: {found_rate}, {found_items}, {found_share:.3}");
        assert!((found_share / share - 1.0).abs() < 0.15, "share {found_share} for {share}");
        // Rate and K are known together: what is fixed is the time that the list takes, and nearly the length.
        let (pace, found_pace) = (rate / f64::from(items), found_rate.per_day() / f64::from(found_items));
        assert!((found_pace / pace - 1.0).abs() < 0.15, "pace {found_pace} for {pace}");
        let steps = (f64::from(found_items) / f64::from(items)).ln().abs();
        assert!(steps < 1.0, "K = {found_items} for {items}");
    }
}

#[test]
fn few_points_are_not_overfitted() {
    let points = [point(1.0, 0.0), point(2.0, 0.3), point(3.0, 0.3), point(4.0, 0.9)];
    for n in 0..=4 {
        assert_eq!(fit(&points[..n], few()), Fitted::Lomax(few()));
    }
    let quiet: Vec<Point> = (1..=5).map(|day| point(f64::from(day), 0.0)).collect();
    assert_eq!(fit(&quiet, few()), Fitted::Static);
    // Five points are enough for churn, never for a list.
    let list = Scroll::new(per_day(10.0), 50, 0.5).unwrap();
    assert!(matches!(fit(&points_of(&list, (1..=5).map(f64::from)), few()), Fitted::Churn(_)));
}

proptest! {
    /// No least-squares fit on a fine grid of rates and depths beats the one found, by more than the tables are exact to.
    #[test]
    fn the_fit_is_the_best_there_is(values in prop::collection::vec((0.1..30.0f64, 0.0..=1.0f64), 6..14)) {
        let points: Vec<Point> = values.iter().map(|(day, divergence)| point(*day, *divergence)).collect();
        let error = |curve: &dyn DivergenceCurve| -> f64 {
            points.iter().map(|p| (curve.divergence(p.elapsed()) - p.divergence()).powi(2)).sum()
        };
        let found = error(&fit(&points, few()));
        for i in 0..60 {
            for depth in 1..=20 {
                let rate = per_day(0.005 * 1.2f64.powi(i));
                let churn = error(&Churn::new(rate, f64::from(depth) / 10.0).unwrap());
                prop_assert!(found <= churn + 0.01 * churn.max(0.05), "{found} {churn}");
            }
        }
    }

    /// Whatever the points: a legal curve that rises, in any order of the points.
    #[test]
    fn any_points_give_a_curve(values in prop::collection::vec((1e-12..1e12f64, 0.0..=1.0f64), 0..20)) {
        let points: Vec<Point> = values.iter().map(|(s, d)| Point::new(Period::of(*s, Unit::Second).unwrap(), *d).unwrap()).collect();
        let curve = fit(&points, few());
        let mut before = 0.0;
        for t in -14..14 {
            let d = curve.divergence(Period::of(10f64.powi(t), Unit::Second).unwrap());
            prop_assert!((0.0..=1.0).contains(&d) && d >= before - 1e-12);
            before = d;
        }
    }

    /// Every non-decreasing curve through the points lies between the bounds, and its utility too.
    #[test]
    fn bounds_hold(steps in prop::collection::vec((0.1..5.0f64, 0.0..0.1f64), 1..10), window in 0.1..1.0f64) {
        let (mut t, mut d) = (0.0, 0.0);
        let mut points = Vec::new();
        for (wait, rise) in &steps {
            (t, d) = (t + wait, d + rise);
            points.push(point(t, d));
        }
        let bounds = Bounds::new(&points).unwrap();
        let line = Observed::new(&points.iter().map(|p| (p.elapsed(), p.divergence())).collect::<Vec<_>>()).unwrap();
        let at = days(t * window);
        let slack = 1e-2 * t * DAY;
        prop_assert!(bounds.lower(at) <= line.divergence(at) && line.divergence(at) <= bounds.upper(at));
        let (least, most) = bounds.area(at);
        prop_assert!(least <= line.area(at) * (1.0 + 1e-12) && line.area(at) <= most * (1.0 + 1e-12));
        let utility = bounds.utility(at);
        prop_assert!(utility.low <= line.utility(at) + slack && line.utility(at) <= utility.high + slack);
        prop_assert!(utility.low <= utility.high);
    }
}

#[test]
fn fitted_curves_conform() {
    conforms(DivergenceUnit::Share, |_| Fitted::Static);
    conforms(DivergenceUnit::Share, |s| Fitted::Churn(Churn::new(per_day(3.0 / s), 0.4).unwrap()));
    conforms(DivergenceUnit::Share, |s| Fitted::Scroll(Scroll::new(per_day(3.0 / s), 20, 0.4).unwrap()));
    for (alpha, depth) in [(0.3, 0.7), (2.0, 1.0), (7.5, 0.013)] {
        conforms(DivergenceUnit::Share, |s| {
            Fitted::Lomax(Scaled::new(Lomax::with_mean_rate(alpha, per_day(3.0 / s)).unwrap(), depth).unwrap())
        });
    }
}

/// OP08 appendix A, whose utility is `1/λ - (t + 1/λ) e^-λt`.
#[test]
fn appendix_a() {
    for (lambda, t) in [(2.0f64, 0.7f64), (0.1, 3.0), (1.0, 20.0)] {
        let paper = 1.0 / lambda - (t + 1.0 / lambda) * (-lambda * t).exp();
        for curve in
            [&Exponential::new(per_day(lambda)) as &dyn DivergenceCurve, &Churn::new(per_day(lambda), 1.0).unwrap()]
        {
            assert!((curve.utility(days(t)) / DAY - paper).abs() < 1e-12);
        }
    }
}

#[test]
fn bad_points_are_refused() {
    for (seconds, divergence) in [(1.0, f64::NAN), (1.0, -0.1), (1.0, 1.1), (0.0, 0.1), (f64::INFINITY, 0.5)] {
        let error = Point::new(Period::of(seconds, Unit::Second).unwrap(), divergence).unwrap_err().to_string();
        assert!(error.contains("must be"), "{error}");
    }
    for times in [[2.0, 1.0], [2.0, 2.0]] {
        let error = Bounds::new(&times.map(|day| point(day, 0.1))).unwrap_err().to_string();
        assert!(error.starts_with("points of a profile must be in order of time, got"), "{error}");
    }
    assert!(BoundSearch::new(Period::ZERO).is_err() && BoundSearch::new(Period::NEVER).is_err());
}

/// OP08 footnote 3: fragments come back. The bounds enclose all observations and do not fall themselves.
#[test]
fn falling_divergence_is_enclosed() {
    let profile = [point(1.0, 0.3), point(2.0, 0.1), point(3.0, 0.2), point(5.0, 0.2)];
    let bounds = Bounds::new(&profile).unwrap();
    let lower: Vec<f64> = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 9.0].map(|t| bounds.lower(days(t))).to_vec();
    let upper: Vec<f64> = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 9.0].map(|t| bounds.upper(days(t))).to_vec();
    assert_eq!(lower, [0.0, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2]);
    assert_eq!(upper, [0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 1.0]);
    assert!(matches!(fit(&combine([&profile[..], &[point(8.0, 0.1)]]), few()), Fitted::Churn(_)));
}

/// The three cases of OP08 section 4.3, step 4, on a page that diverges by a tenth a day: U(t) = t²/20 days.
#[test]
fn the_rule_of_section_4_3() {
    let mut search = BoundSearch::new(days(2.0)).unwrap();
    let price = 0.8 * DAY;
    let mut profile = Vec::new();
    let mut visit = |search: &mut BoundSearch, elapsed: f64| {
        search.visited(days(elapsed));
        let window = search.window().days();
        profile.push(point(window, 0.1 * window));
        let bounds = Bounds::new(&profile).unwrap();
        search.adjust(utility_bounds([&bounds], search.window()), price)
    };
    // After 2 days U is at most 2 x 0.2 = 0.4 < 0.8: twice the window from now on.
    assert_eq!(visit(&mut search, 2.0), Adjustment::Doubled);
    assert_eq!(search.period(), days(4.0));
    // After 3: at most 0.9 less the 0.2 of the last day, which is below the price; twice the window of 3 days.
    assert_eq!(visit(&mut search, 1.0), Adjustment::Doubled);
    assert_eq!(search.period(), days(6.0));
    // After 4: between 1.6 less (0.4 + 0.3 + 0.4) and less (0.2 + 0.3): the price lies between.
    assert_eq!(visit(&mut search, 1.0), Adjustment::Kept);
    assert_eq!((search.period(), search.window()), (days(6.0), days(4.0)));
    // After 10: at least 10 - (1.1 + 6) days: the search starts anew with half the period.
    assert_eq!(visit(&mut search, 6.0), Adjustment::Restarted);
    assert_eq!((search.period(), search.window()), (days(3.0), Period::ZERO));
}

/// Not a test of speed on a busy machine, but of its magnitude: a profile of 12 points, fitted.
#[test]
fn a_fit_takes_microseconds() {
    let list = Scroll::new(per_day(1.5), 10, 0.5).unwrap();
    let points = points_of(&list, (1..=12).map(f64::from));
    // The best of many rounds: the first makes the tables, others are disturbed.
    let best = (0..200).map(|_| {
        let start = std::time::Instant::now();
        for _ in 0..10 {
            std::hint::black_box(fit(std::hint::black_box(&points), few()));
        }
        start.elapsed() / 10
    });
    let best = best.min().unwrap();
    println!("{best:?} a fit");
    assert!(best.as_millis() < 1);
}

/// A page with a list of K items (one: a region that is overwritten), as a policy's visits find it.
#[derive(Clone, Copy)]
struct World {
    per_day: f64,
    items: u32,
    share: f64,
}

impl World {
    fn curve(&self) -> Scroll {
        Scroll::new(per_day(self.per_day), self.items, self.share).unwrap()
    }

    fn divergence(&self, changes: usize) -> f64 {
        let (k, m) = (f64::from(self.items), (changes as f64).min(f64::from(self.items)));
        2.0 * self.share * m / (k + self.share * m)
    }
}

/// Visits a page by a policy for so many days, with h = 5 profiles; `divergence` is that between two times. Says when the visits
/// were.
fn visits<P: OnlinePolicy>(policy: &P, span: f64, divergence: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let (mut memory, mut times) = (policy.discovered(), Vec::new());
    let mut profiles: Vec<(f64, Vec<Point>)> = Vec::new();
    let mut now = 0.0;
    while now < span {
        for (base, profile) in &mut profiles {
            profile.push(point(now - *base, divergence(*base, now)));
        }
        let before = *times.last().unwrap_or(&now);
        times.push(now);
        let kept: Vec<&[Point]> = profiles.iter().map(|(_, profile)| profile.as_slice()).collect();
        let visits = u32::try_from(times.len()).unwrap();
        let visit = Visit { elapsed: days(now - before), visits, divergence: divergence(before, now), profiles: &kept };
        let period = policy.next_period(&mut memory, &visit).unwrap().days();
        if profiles.len() == 5 {
            profiles.remove(0);
        }
        profiles.push((now, Vec::new()));
        now += period;
    }
    times
}

/// The mean divergence of the copy of a simulated page, and the visits per day: over the second half, when it has been learnt.
fn run<P: OnlinePolicy>(policy: &P, world: World, span: f64, seed: u64) -> (f64, f64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut changes = vec![exponential(&mut rng, world.per_day)];
    while changes[changes.len() - 1] < span {
        changes.push(changes[changes.len() - 1] + exponential(&mut rng, world.per_day));
    }
    let until = |t: f64| changes.partition_point(|change| *change <= t);
    let mut times = visits(policy, span, |base, now| world.divergence(until(now) - until(base)));
    times.push(span);
    let (mut counted, mut area) = (0.0, 0.0);
    for pair in times.windows(2).filter(|pair| pair[0] >= span / 2.0) {
        counted += 1.0;
        // The divergence is a step function: what each change adds, for the rest of the time.
        for (i, change) in changes[until(pair[0])..until(pair[1])].iter().enumerate() {
            area += (world.divergence(i + 1) - world.divergence(i)) * (pair[1] - change);
        }
    }
    (area / (span / 2.0), counted / (span / 2.0))
}

const WORLDS: [World; 4] = [
    World { per_day: 0.2, items: 1, share: 0.5 },
    World { per_day: 0.05, items: 1, share: 1.0 },
    World { per_day: 2.0, items: 20, share: 0.5 },
    World { per_day: 0.5, items: 10, share: 0.3 },
];

/// OP08 section 4.3: on a page that diverges after every visit as it did after the one before, the search goes round the optimal
/// period for ever, from wherever it started, and the mean period and what it costs come out near the optimum.
#[test]
fn the_bound_based_search_converges() {
    for world in WORLDS {
        let (curve, price) = (world.curve(), days(0.3));
        let best = curve.period(price.seconds());
        let cost = |period: Period| curve.mean_divergence(period) + price.days() / period.days();
        for start in [0.01, 0.3, 1.0, 10.0, 100.0] {
            let policy = BoundBased::new(price, days(best.days() * start)).unwrap();
            let policy = RiskControl::new(policy, price, 10.0).unwrap();
            let times = visits(&policy, 3000.0, |base, now| curve.divergence(days(now - base)));
            let settled: Vec<f64> = times.windows(2).skip(times.len() / 2).map(|pair| pair[1] - pair[0]).collect();
            let mean = settled.iter().sum::<f64>() / settled.len() as f64;
            let areas: f64 = settled.iter().map(|period| curve.area(days(*period)) / DAY).sum();
            let relative = (areas / settled.len() as f64 + price.days()) / mean / cost(best);
            println!(
                "K {} from {start:>5} x {best:.3}: mean period {:.3} of it, cost {relative:.3} of the least",
                world.items,
                mean / best.days()
            );
            println!(
                "{:?}",
                settled
                    .iter()
                    .rev()
                    .take(8)
                    .rev()
                    .map(|p| (p / best.days() * 1000.0).round() / 1000.0)
                    .collect::<Vec<_>>()
            );
        }
    }
}

/// What every policy costs on simulated pages whose habits stay, divergence and visits at their price, relative to the least.
#[test]
fn policies_on_stationary_pages() {
    let rate = Prior::new(0.5, per_day(0.1)).unwrap();
    let content = ContentPrior::default();
    println!("cost of each policy relative to the least there is, and its mean period");
    for world in WORLDS {
        let price = days(0.3);
        let curve = world.curve();
        let best = curve.period(price.seconds());
        let least = curve.mean_divergence(best) + price.days() / best.days();
        let cost = |name: &str, run: &dyn Fn(u64) -> (f64, f64)| {
            let (mut divergence, mut visits) = (0.0, 0.0);
            for seed in 0..10 {
                let (d, v) = run(seed);
                (divergence, visits) = (divergence + d / 10.0, visits + v / 10.0);
            }
            let relative = (divergence + price.days() * visits) / least;
            print!("  {name} {relative:.3} ({:.2} days)", 1.0 / visits);
            relative
        };
        print!("K {} rate {}: {best} {least:.3}", world.items, world.per_day);
        let bound = RiskControl::new(BoundBased::new(price, days(1.0)).unwrap(), price, 10.0).unwrap();
        let bound = cost("bounds", &|seed| run(&bound, world, 1500.0, seed));
        let fitting = LearningPhase::new(CurveFitting::new(price, rate, content).unwrap(), days(0.2)).unwrap();
        let fitting = RiskControl::new(fitting, price, 10.0).unwrap();
        let fitting = cost("fit", &|seed| run(&fitting, world, 1500.0, seed));
        let believing = Content::new(price, rate, content).unwrap();
        let believing = cost("believed", &|seed| run(&believing, world, 1500.0, seed));
        let cgm = WarmUp::new(Cgm::new(price).unwrap(), days(0.2), 10).unwrap();
        let cgm = RiskControl::new(cgm, price, 10.0).unwrap();
        let cgm = cost("CGM", &|seed| run(&cgm, world, 1500.0, seed));
        println!();
        let _ = (bound, fitting, believing, cgm);
    }
}

/// The curves that each way of learning makes of the first halves, in the order of [`WAYS`].
fn learnt_curves(pages: &[longevity::Page]) -> Vec<Vec<Box<dyn DivergenceCurve>>> {
    let halves: Vec<_> = pages.iter().map(|page| page.past(0, page.len() / 2)).collect();
    let quarters: Vec<_> = pages.iter().map(|page| page.past(0, page.len() / 4)).collect();
    let second: Vec<_> = pages.iter().map(|page| page.past(page.len() / 4, page.len() / 2)).collect();
    let (prior, early, late) =
        (longevity::learnt_rates(&halves), longevity::learnt_rates(&quarters), longevity::learnt_rates(&second));
    let forth = quarters.iter().zip(&second).map(|(past, next)| past.lesson(early, next));
    let back = quarters.iter().zip(&second).map(|(past, next)| next.lesson(late, past));
    let lessons: Vec<_> = forth.chain(back).collect();
    let learnt = ContentPrior::default().learn(&lessons).of_group(halves.iter().map(|past| past.depths));
    println!("{learnt:.3?}");
    let mut curves: Vec<Vec<Box<dyn DivergenceCurve>>> = WAYS.iter().map(|_| Vec::new()).collect();
    for past in &halves {
        let rate = past.rate(prior);
        let mut estimator = Ratio::new();
        past.seen.iter().for_each(|seen| estimator.observe(seen));
        let constant = estimator.estimate().rate;
        let depth = past.depths.mean().unwrap_or(1.0).min(1.0);
        let few = Scaled::new(rate.curve().unwrap(), learnt.depth_of(past.depths)).unwrap();
        curves[0].push(Box::new(Exponential::new(constant)));
        curves[1].push(Box::new(Churn::new(constant, depth).unwrap()));
        curves[2].push(Box::new(few));
        curves[3].push(Box::new(fit_churn(&past.points)));
        curves[4].push(Box::new(fit_scroll(&past.points)));
        curves[5].push(Box::new(fit(&past.points, few)));
        curves[6].push(Box::new(learnt.believed(&rate, past.depths, &past.points).unwrap()));
    }
    curves
}

const WAYS: [&str; 7] = ["constant rate", "times depth", "Lomax x depth", "churn", "scroll", "fit", "believed"];

/// Fitted on the first half of real histories and scored on the second.
#[test]
fn real_pages_are_foreseen() {
    let Some(folder) = longevity::data() else { return };
    for trace in longevity::TRACES {
        let pages = longevity::pages(&folder.join(trace), 250);
        let uniform = [10.0, 30.0].map(|period| longevity::staleness(&pages, &vec![period; pages.len()]));
        println!(
            "{trace}: {} pages; uniform visits every 30 days {:.4}, every 90 {:.4}",
            pages.len(),
            uniform[0],
            uniform[1]
        );
        for (way, curves) in WAYS.iter().zip(learnt_curves(&pages)) {
            let errors = [1, 3, 10, 30].map(|lag| format!("{:.4}", longevity::error(&pages, &curves, lag))).join(" ");
            let plans = [0.1, 1.0 / 30.0]
                .map(|budget| format!("{:.4}", longevity::frozen_plan(&pages, &curves, budget)))
                .join(" ");
            println!("  {way:<14} {errors}   {plans}");
        }
    }
}
