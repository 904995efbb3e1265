//! The laboratory against closed forms, against itself on other threads, and against the rankings of the papers.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use everfresh::curve::Observed;
use everfresh::longevity::{BoundBased, Cgm, Fragments, History, Memory};
use everfresh::policy::peers::{
    CommaFeed, Feed, Feedbin, Fixed, Held, Heritrix, Meguri, Miniflux, NewsBlur, NutchAdaptive, StormCrawler,
};
use everfresh::policy::{
    About, Aim, AtPrice, Bayes, Clairvoyance, Foreknowing, Greedy, Known, Policy, Posterior, Proportional, Told,
    Uniform, checks,
};
use everfresh::{Objective, Order, Period, Rate, Unit};
use everfresh_sim::contest::{Contest, Entrant, Goal};
use everfresh_sim::entry::Entry;
use everfresh_sim::trace::{Window, load, of_snapshots};
use everfresh_sim::world::{Habit, Page, Process, Rates, Source, Synthetic, Weights, World};
use everfresh_sim::{Conditions, Score, run};
use std::io::Write;
use std::path::{Path, PathBuf};

const DAY: f64 = 86_400.0;

fn always(_: f64) -> bool {
    true
}

fn poisson_page(key: u64, per_day: f64) -> Page {
    let rate = Rate::per(per_day, Unit::Day).unwrap();
    let source = Source::Whole(Process::Poisson { rate: rate.per_second() });
    Page { key, about: About::new(rate), host: 0, born_s: 0.0, dies_s: f64::INFINITY, source }
}

fn alike(pages: u64, per_day: f64) -> World {
    World::new("alike", (0..pages).map(|key| poisson_page(key, per_day)).collect())
}

fn synthetic(habit: Habit, pages: usize) -> World {
    let (rates, weights, duration_s) = (Rates::Lognormal, Weights::Uniform, 200.0 * DAY);
    Synthetic { pages, rates, weights, habit, duration_s, seed: 3 }.build()
}

fn conditions(days: f64, per_day: f64) -> Conditions {
    let (duration_s, budget) = (days * DAY, per_day / DAY);
    Conditions { duration_s, warmup_s: 0.0, budget, price: 0.0, order: Order::Fixed, seed: 11 }
}

/// CGM03 table II: the three orders, over r from 0.1 to 10, within three standard errors.
#[test]
fn freshness_and_age_are_those_of_table_two() {
    for order in Order::ALL {
        for r in [0.1, 0.3, 1.0, 3.0, 10.0] {
            // One visit a day, r changes a day; the first days are not yet in the rhythm.
            let conditions = Conditions { order, warmup_s: 20.0 * DAY, ..conditions(220.0, 1.0) };
            let score = run(&alike(300, r), Uniform, &conditions, &always).unwrap();
            let (freshness, age) = (score.freshness(), score.age_s());
            let (expected, expected_age) = (order.freshness(r), order.age_in_periods(r));
            let off = (freshness.mean - expected) / freshness.error;
            let age_off = (age.mean / DAY - expected_age) / (age.error / DAY);
            assert!(off.abs() < 3.0 && age_off.abs() < 3.0, "{order:?} r = {r}: {off:.2} and {age_off:.2} errors off");
            assert!(freshness.error < 0.01 * expected.max(0.05), "{order:?} r = {r}: too blurred to tell");
        }
    }
}

#[test]
fn one_seed_one_result_on_any_number_of_threads() {
    let world = synthetic(Habit::Bursty, 600);
    let of = |threads: usize| -> Score {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&world, Posterior::new(Aim::Freshness), &conditions(100.0, 0.3), &always).unwrap())
    };
    let (one, three) = (of(1), of(3));
    assert_eq!(one, three);
    assert!(one.visits() > 10_000);
}

/// Every policy that obeys a budget.
fn on_budget() -> impl Iterator<Item = Entrant> {
    Entrant::all().filter(|entrant| !entrant.chooses_load())
}

/// Whoever obeys a budget makes as many visits as another.
#[test]
fn budgets_are_kept() {
    for habit in [Habit::Poisson, Habit::Drifting, Habit::Periodic, Habit::Mortal, Habit::Regions] {
        let world = synthetic(habit, 500);
        let ours = [Entrant::Posterior, Entrant::Harmonic, Entrant::Content, Entrant::Scheduler];
        for entrant in [Entrant::Uniform, Entrant::Optimal].into_iter().chain(ours) {
            let score = entrant.run(&world, &conditions(200.0, 0.2), &always).unwrap();
            let spent = score.load() * DAY / 0.2;
            assert!((spent - 1.0).abs() < 0.01, "{habit:?} {}: {spent}", entrant.name());
        }
    }
}

/// Pages that die, of which a visit that finds nothing tells: it is paid for when it is made, and not where it would be after the end.
#[test]
fn budgets_are_kept_where_pages_die() {
    let (rates, weights, habit, duration_s) = (Rates::Lognormal, Weights::Uniform, Habit::Mortal, 100.0 * DAY);
    let world = Synthetic { pages: 1000, rates, weights, habit, duration_s, seed: 1 }.build();
    let ours = [Entrant::Posterior, Entrant::Harmonic, Entrant::Content, Entrant::Scheduler];
    let there_s: f64 = world.pages.iter().map(|page| (page.dies_s.min(duration_s) - page.born_s).max(0.0)).sum();
    for per_day in [0.0005, 0.002, 0.02, 0.07, 0.13, 0.2] {
        for entrant in [Entrant::Uniform, Entrant::Optimal, Entrant::Greedy].into_iter().chain(ours) {
            let score = entrant.run(&world, &conditions(100.0, per_day), &always).unwrap();
            let (spent, allowed) = (score.visits() as f64, there_s * per_day / DAY);
            // Up to twelve visits a page are counted; of more, some hundredths are not worth visits that are less regular.
            let slack = if per_day < 0.12 { 2.0 + 0.003 * allowed } else { 0.02 * allowed };
            assert!((spent - allowed).abs() < slack, "{} at {per_day}: {spent} of {allowed}", entrant.name());
        }
    }
}

/// The same by every policy on a budget, in a run so short that some have hardly warmed up.
#[test]
fn budgets_are_kept_by_all() {
    let world = synthetic(Habit::Poisson, 300);
    for entrant in on_budget() {
        let score = entrant.run(&world, &conditions(60.0, 0.2), &always).unwrap();
        let spent = score.load() * DAY / 0.2;
        // meguri funds pages or starves them, and has nothing between.
        let slack = if entrant == Entrant::Meguri { 0.1 } else { 0.025 };
        assert!((spent - 1.0).abs() < slack, "{}: {spent}", entrant.name());
    }
}

/// Visits that take time or fail are visits.
#[test]
fn budgets_are_kept_in_bad_weather() {
    let mut world = synthetic(Habit::Poisson, 300);
    for (failures, latency_s, per_day) in [(0.0, DAY, 0.8), (0.5, 0.0, 0.2)] {
        (world.failures, world.latency_s) = (failures, latency_s);
        let ours = [Entrant::Posterior, Entrant::Content, Entrant::Scheduler];
        for entrant in [Entrant::Uniform, Entrant::Optimal, Entrant::Greedy].into_iter().chain(ours) {
            let score = entrant.run(&world, &conditions(200.0, per_day), &always).unwrap();
            let spent = score.load() * DAY / per_day;
            assert!((spent - 1.0).abs() < 0.03, "{} at {failures}, {latency_s} s: {spent}", entrant.name());
        }
    }
}

/// The plan's predicted freshness comes true.
#[test]
fn the_optimum_is_what_the_plan_says() {
    let world = synthetic(Habit::Poisson, 3000);
    let rates: Vec<f64> = world.pages.iter().map(|page| page.about.rate.per_second()).collect();
    let pages: Vec<everfresh::Page> = world.pages.iter().map(|page| everfresh::Page::new(page.about.rate)).collect();
    let budget = everfresh::Price::for_budget(0.2 * rates.len() as f64, Unit::Day).unwrap();
    let plan = everfresh::Plan::new(&pages, everfresh::Terms::new(budget)).unwrap();
    let conditions = Conditions { warmup_s: 100.0 * DAY, ..conditions(400.0, 0.2) };
    let score = run(&world, Known(Objective::Freshness), &conditions, &always).unwrap();
    let (measured, said) = (score.freshness(), plan.totals().freshness);
    assert!((measured.mean - said).abs() < 0.004, "{measured:?} {said}");
    let uniform = run(&world, Uniform, &conditions, &always).unwrap();
    let gain = score.fresher_than(&uniform);
    assert!(gain.mean > 10.0 * gain.error, "{gain:?}");
    let proportional = run(&world, Proportional, &conditions, &always).unwrap();
    assert!(proportional.freshness().mean < uniform.freshness().mean, "CGM03 theorem: uniform beats proportional");
}

/// Whoever always visits the page that is worth it most needs no solver: the frequencies are those of the optimum.
#[test]
fn greedy_is_optimal() {
    let world = synthetic(Habit::Poisson, 2000);
    let conditions = Conditions { warmup_s: 50.0 * DAY, ..conditions(200.0, 0.2) };
    let (greedy, optimal) = (Entrant::Greedy, Entrant::Optimal);
    let (greedy, optimal) =
        (greedy.run(&world, &conditions, &always).unwrap(), optimal.run(&world, &conditions, &always).unwrap());
    assert!((greedy.load() / optimal.load() - 1.0).abs() < 0.02, "{} {}", greedy.load(), optimal.load());
    let gain = greedy.fresher_than(&optimal);
    assert!(gain.mean.abs() < 0.004, "{gain:?}");
}

/// Texts in words are kept as regions are; policies see sketches of them.
#[test]
fn texts_are_kept_as_regions_are() {
    let world = synthetic(Habit::Text, 60);
    let conditions = conditions(100.0, 0.2);
    let left = |entrant: Entrant| entrant.run(&world, &conditions, &always).unwrap().divergence().mean;
    let (uniform, told, bound) = (left(Entrant::Uniform), left(Entrant::FsS), left(Entrant::FsD));
    assert!(bound < told && told < uniform, "FS-D {bound}, FS-S {told}, uniform {uniform}");
    assert!((0.05..0.6).contains(&uniform), "{uniform}");
}

/// A page that was seen as A, A, B, A on days 0, 2, 4 and 6: B from day 3 to day 5.
#[test]
fn snapshots_are_a_world() {
    let versions = [(0.0, vec![1, 2]), (2.0, vec![1, 2]), (4.0, vec![2, 3]), (6.0, vec![1, 2])];
    let page: Vec<(f64, Vec<u64>)> = versions.map(|(day, fragments)| (1e9 + day * DAY, fragments)).into();
    let alone = vec![(1e9, vec![7])];
    let world_of = |eagerness: Option<f64>| {
        let window = Window { eagerness, ..Window::default() };
        of_snapshots("archive", &[page.clone(), alone.clone()], &window).unwrap()
    };
    // Where between two snapshots it changed does not matter if it changes back; it does if it ends changed.
    for eagerness in [0.0, 0.25, 0.5, 1.0] {
        let (world, duration_s) = world_of(Some(eagerness));
        assert_eq!((world.pages.len(), duration_s), (1, 6.0 * DAY));
        // One visit in a million days: the copy of day 0 is equal but for two days, and then differs in two of three fragments.
        let score = run(&world, Uniform, &Conditions { seed: 1, ..conditions(6.0, 1e-6) }, &always).unwrap();
        assert!((score.freshness().mean - 4.0 / 6.0).abs() < 1e-9, "{:?}", score.freshness());
        assert!((score.divergence().mean - 2.0 / 3.0 * 2.0 / 6.0).abs() < 1e-9, "{:?}", score.divergence());
    }
    let ends = |eagerness: Option<f64>| {
        let versions = [(0.0, vec![1, 2]), (2.0, vec![1, 2]), (4.0, vec![1, 3]), (6.0, vec![4, 5])];
        let page: Vec<(f64, Vec<u64>)> = versions.map(|(day, fragments)| (1e9 + day * DAY, fragments)).into();
        let window = Window { eagerness, ..Window::default() };
        let (world, _) = of_snapshots("archive", &[page], &window).unwrap();
        run(&world, Uniform, &Conditions { seed: 1, ..conditions(6.0, 1e-6) }, &always).unwrap().freshness().mean
    };
    for (eagerness, fresh_days) in [(0.0, 4.0), (0.25, 3.5), (0.5, 3.0), (1.0, 2.0)] {
        assert!((ends(Some(eagerness)) - fresh_days / 6.0).abs() < 1e-9, "{eagerness}");
    }
    // The page's own: what OP08 appendix B makes of its triples.
    let fragments = [vec![1, 2], vec![1, 2], vec![1, 3], vec![4, 5]].map(Fragments::from_hashes);
    let history = History::new((0u64..).map(|day| day * 172_800).zip(fragments).collect()).unwrap();
    let own = history.eagerness().unwrap();
    assert!(own > 0.0 && own < 1.0 && own != 0.5, "{own}");
    assert!((ends(None) - (4.0 - 2.0 * own) / 6.0).abs() < 1e-9);
}

/// A trace of one page from its rows, of revisions and of fragments.
fn trace(name: &str, visits: &[&str], shingles: &[&str]) -> Result<(World, f64), everfresh_sim::trace::Error> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let text = |header: &str, rows: &[&str]| [&[header], rows].concat().join("\n") + "\n";
    let visits = text("page,time_unix,content_hash,size,kind", visits);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(visits.as_bytes()).unwrap();
    std::fs::write(folder.join("visits.csv.gz"), packed.finish().unwrap()).unwrap();
    let shingles = text("page,time_unix,n,added,removed", shingles);
    let packed = zstd::encode_all(shingles.as_bytes(), 1).unwrap();
    std::fs::write(folder.join("shingles.csv.zst"), packed).unwrap();
    load(&folder, &Window { with_fragments: true, ..Window::default() })
}

/// The mean divergence from the first revision of all that follow.
fn staleness(world: &World, duration_s: f64) -> f64 {
    let conditions = Conditions { duration_s, seed: 1, ..conditions(1.0, 1e-6) };
    run(world, Uniform, &conditions, &always).unwrap().divergence().mean
}

/// Half of the time nothing is left of the first revision, however the rows tell it.
#[test]
fn traces_are_replayed_row_by_row() {
    // Two revisions in one second.
    let visits = ["p,100,a,9,f", "p,200,b,9,u", "p,200,c,9,u", "p,300,-,0,d"];
    let (world, duration_s) =
        trace("second", &visits, &["p,100,2,1 2,", "p,200,2,3,1", "p,200,2,4,2", "p,300,0,,3 4"]).unwrap();
    assert!((staleness(&world, duration_s) - 0.5).abs() < 1e-9);
    // A page that was gone comes back with other content.
    let visits = ["p,100,a,9,f", "p,150,-,0,d", "p,200,b,9,u", "p,300,-,0,d"];
    let (world, duration_s) =
        trace("gone", &visits, &["p,100,2,1 2,", "p,150,0,,1 2", "p,200,2,3 4,", "p,300,0,,3 4"]).unwrap();
    assert!((staleness(&world, duration_s) - 0.5).abs() < 1e-9);
    // Fragments move in a second in which the list has no revision.
    let visits = ["p,100,a,9,f", "p,200,b,9,u", "p,300,-,0,d"];
    let (world, duration_s) =
        trace("unlisted", &visits, &["p,100,2,1 2,", "p,150,2,3,1", "p,200,2,4,2", "p,300,0,,3 4"]).unwrap();
    assert!((staleness(&world, duration_s) - 0.5).abs() < 1e-9);
    // Rows that do not add up are no trace.
    let error =
        trace("odd", &["p,100,a,9,f", "p,200,b,9,u"], &["p,100,2,1 2,", "p,200,3,3,1"]).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("2 fragments are there now, got `3`"), "{error}");
}

/// A collector that looks every so often finds changes late: they are moved back, but never to before the change before.
#[test]
fn changes_of_a_trace_lie_between_two_looks() {
    let visits = ["p,1000,a,9,f", "p,2000,b,9,u", "p,2100,c,9,u", "p,2100,d,9,u", "p,3000,-,0,d"];
    let shingles = ["p,1000,1,1,", "p,2000,1,2,1", "p,2100,1,3,2", "p,2100,1,4,3", "p,3000,0,,4"];
    trace("looks", &visits, &shingles).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("looks");
    let times = |looked_every_s: f64, eagerness: Option<f64>| {
        let (world, duration_s) = load(&folder, &Window { looked_every_s, eagerness, ..Window::default() }).unwrap();
        let Source::Recorded(history) = &world.pages[0].source else { panic!("recorded") };
        let times: Vec<f64> = history.revisions.iter().map(|revision| revision.time_s).collect();
        assert_eq!(duration_s, 2000.0, "it was looked until then");
        (times, world.pages[0].dies_s)
    };
    assert_eq!(times(0.0, None), (vec![0.0, 1000.0, 1100.0, 1100.0], 2000.0));
    assert_eq!(times(400.0, None), (vec![0.0, 800.0, 1050.0, 1050.0], 1800.0));
    assert_eq!(times(400.0, Some(1.0)), (vec![0.0, 600.0, 1000.0, 1000.0], 1600.0));
    assert_eq!(times(400.0, Some(0.0)), times(0.0, None));
}

/// OP08 section 5 on recorded pages: whoever is told the curves of content leaves less of it stale than uniform, and than whoever is
/// told only of equality. Where the traces are.
#[test]
fn content_of_traces_is_kept_as_op08_ranks() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("EVERFRESH_DATA").map_or_else(beside, PathBuf::from);
    for (name, every_days) in [("ota-pga", 7.0), ("eol-releases", 1.0), ("mamip", 30.0)] {
        let folder = data.join(name);
        if !folder.exists() {
            eprintln!("not tested: there is no trace `{}`", folder.display());
            continue;
        }
        let window = Window { from_unix: Some(1_672_531_200.0), with_fragments: true, ..Window::default() };
        let (world, duration_s) = load(&folder, &window).unwrap();
        let world = world.sample(300);
        let conditions = Conditions { duration_s, ..conditions(1.0, 1.0 / every_days) };
        let contest = Contest { world: &world, conditions, seeds: 3, goal: Goal::Content, hold_peers: false };
        let left = |entrant: Entrant| {
            let scores = contest.run(entrant, &always).unwrap();
            scores.iter().map(|score| score.divergence().mean).sum::<f64>() / 3.0
        };
        let (uniform, fs_s, hs_s) = (left(Entrant::Uniform), left(Entrant::FsS), left(Entrant::HsS));
        eprintln!("{name}, {every_days} days: FS-S {fs_s:.6}, HS-S {hs_s:.6}, uniform {uniform:.6}");
        assert!(fs_s < hs_s && fs_s < uniform, "{name}: FS-S {fs_s}, HS-S {hs_s}, uniform {uniform}");
    }
}

/// Ours learns from its visits alone, and gains over uniform in every kind of world.
#[test]
fn learning_pays_in_every_world() {
    for habit in [Habit::Poisson, Habit::Bursty, Habit::Periodic, Habit::Drifting, Habit::Mortal] {
        let world = synthetic(habit, 1500);
        let conditions = conditions(200.0, 0.5);
        let uniform = Entrant::Uniform.run(&world, &conditions, &always).unwrap();
        for entrant in [Entrant::Posterior, Entrant::Scheduler] {
            let ours = entrant.run(&world, &conditions, &always).unwrap();
            let gain = ours.fresher_than(&uniform);
            assert!(gain.mean > 3.0 * gain.error, "{habit:?} {}: {gain:?}", entrant.name());
        }
    }
}

/// The scheduler, with a floor under every page and visits when its bucket has them, is as good as the policy that it is made of.
#[test]
fn the_scheduler_does_as_its_policy_does() {
    for habit in [Habit::Poisson, Habit::Bursty, Habit::Mortal] {
        let mut world = synthetic(habit, 1000);
        // It probes pages that are gone for a while, for they may come back; in the laboratory they do not.
        world.ends_are_known = true;
        let conditions = Conditions { warmup_s: 60.0 * DAY, ..conditions(200.0, 0.5) };
        let run = |entrant: Entrant| entrant.run(&world, &conditions, &always).unwrap();
        let (uniform, policy, ours) = (run(Entrant::Uniform), run(Entrant::Posterior), run(Entrant::Scheduler));
        let (gain, behind) = (policy.fresher_than(&uniform), policy.fresher_than(&ours));
        println!("{habit:?}: {gain:?}, of which the scheduler lacks {behind:?}");
        assert!(behind.mean < 0.2 * gain.mean + 3.0 * behind.error, "{habit:?}: {gain:?} {behind:?}");
        assert_eq!(ours, run(Entrant::Scheduler), "one seed, one result");
    }
}

/// Where nothing can be told of pages ours is uniform, visit by visit, for content as for freshness.
#[test]
fn pages_that_are_alike_are_visited_as_by_uniform() {
    let world = alike(100, 0.05);
    let conditions = conditions(700.0, 1.0 / 7.0);
    let score = |entrant: Entrant| entrant.run(&world, &conditions, &always).unwrap();
    let uniform = score(Entrant::Uniform);
    for entrant in [Entrant::Posterior, Entrant::Content] {
        let ours = score(entrant);
        let off = ours.freshness().mean - uniform.freshness().mean;
        assert!(off.abs() < 1e-5 && ours.visits() == uniform.visits(), "{}: {off}", entrant.name());
    }
}

/// Pages that change every day at three, seen once a day: nobody tells ours the hour, and it comes to visit soon after it.
#[test]
fn pages_that_change_by_the_clock_are_visited_by_it() {
    let versions =
        |page: u64| (0..300u32).map(move |day| (1e9 + (0.625 + f64::from(day)) * DAY, vec![page, u64::from(day)]));
    let pages: Vec<Vec<(f64, Vec<u64>)>> = (0..40).map(|page| versions(1000 + page).collect()).collect();
    let half_way = Window { eagerness: Some(0.5), ..Window::default() };
    let (world, duration_s) = of_snapshots("daily", &pages, &half_way).unwrap();
    let conditions = Conditions { duration_s, warmup_s: 100.0 * DAY, ..conditions(0.0, 1.0) };
    let fresh = |entrant: Entrant| entrant.run_held(&world, &conditions, &always).unwrap().freshness().mean;
    let (uniform, ours) = (fresh(Entrant::Uniform), fresh(Entrant::Posterior));
    assert!((0.4..0.6).contains(&uniform) && ours > 0.85, "uniform {uniform}, ours {ours}");
    for peer in Entrant::all().filter(|entrant| entrant.is_peer()) {
        assert!(fresh(peer) < ours, "{} {}, ours {ours}", peer.name(), fresh(peer));
    }
}

/// After twenty visits a page, exact Bayes with the true prior has no more than the optimum, and ours most of what that has.
#[test]
fn ours_has_most_of_what_visits_can_tell() {
    let world = synthetic(Habit::Poisson, 800);
    let conditions = Conditions { warmup_s: 140.0 * DAY, ..conditions(420.0, 1.0 / 7.0) };
    let score = |entrant: Entrant| entrant.run(&world, &conditions, &always).unwrap();
    let uniform = score(Entrant::Uniform);
    let gain = |entrant: Entrant| score(entrant).fresher_than(&uniform).mean;
    let (optimal, bayes, ours) = (gain(Entrant::Optimal), gain(Entrant::Bayes), gain(Entrant::Posterior));
    assert!(bayes < optimal, "exact Bayes gains {bayes}, the optimum {optimal}");
    assert!(bayes > 0.4 * optimal, "exact Bayes gains {bayes}, the optimum {optimal}");
    assert!(ours > 0.8 * bayes, "ours gains {ours}, exact Bayes {bayes}");
}

/// OP08 section 5: on pages with lists and advertisements, policies that see content beat those that see only change, and
/// knowing what really happens is a bound that none passes.
#[test]
fn content_is_kept_as_op08_ranks() {
    let world = synthetic(Habit::Regions, 300);
    let conditions = conditions(200.0, 0.2);
    let left = |entrant: Entrant| entrant.run(&world, &conditions, &always).unwrap().divergence().mean;
    let (uniform, fs_s, hs_s) = (left(Entrant::Uniform), left(Entrant::FsS), left(Entrant::HsS));
    let fs_d = left(Entrant::FsD);
    let (fitting, bounds, cgm, ours) =
        (left(Entrant::CurveFitting), left(Entrant::BoundBased), left(Entrant::Cgm), left(Entrant::Content));
    assert!(fs_s < hs_s && fs_s < uniform, "fragments {fs_s}, whole {hs_s}, uniform {uniform}");
    assert!(fitting < cgm && bounds < cgm && ours < cgm, "fitting {fitting}, bounds {bounds}, ours {ours}, cgm {cgm}");
    assert!((bounds / fitting - 1.0).abs() < 0.25, "fitting {fitting}, bounds {bounds}");
    for online in [fitting, bounds, cgm, ours] {
        assert!(fs_d < online, "FS-D {fs_d}, online {online}");
    }
}

/// A price that is set is kept, whatever the budget: for every policy that has one, the dearer the rarer.
#[test]
fn a_price_that_is_set_makes_the_load() {
    let world = synthetic(Habit::Regions, 100);
    for name in ["fs-s", "hs-s", "fs-d", "hs-d", "curve-fitting", "bound-based", "cgm"] {
        let load = |price: &str, per_day: f64| {
            let entry: Entry = format!("{name}:price={price}").parse().unwrap();
            assert!(entry.has_price() && entry.chooses_load(), "{name}");
            let contest = Contest {
                world: &world,
                conditions: conditions(150.0, per_day),
                seeds: 1,
                goal: Goal::Content,
                hold_peers: true,
            };
            contest.run(entry, &always).unwrap()[0].load() * DAY
        };
        let (cheap, dear) = (load("2h", 0.2), load("2days", 0.2));
        assert!(cheap > 1.5 * dear && dear > 0.0, "{name}: {cheap} and {dear} visits a day");
        // What curve-fitting and cgm take for usual goes by the budget.
        if !["curve-fitting", "cgm"].contains(&name) {
            assert_eq!(load("2days", 0.2), load("2days", 2.0), "{name}");
        }
    }
}

/// Every parameter does something: what is set far off its default makes other visits.
#[test]
fn every_parameter_counts() {
    let world = synthetic(Habit::Regions, 100);
    let conditions = conditions(200.0, 0.2);
    let run = |name: &str| name.parse::<Entry>().unwrap().run(&world, &conditions, &always).unwrap();
    for (name, pairs) in [
        ("curve-fitting", &["rho=1", "step=3h", "visits=10", "profiles=5", "fragments=100", "points=3"][..]),
        ("bound-based", &["rho=2", "first=20days", "profiles=5", "fragments=100", "points=3"]),
        ("cgm", &["step=1h", "visits=20"]),
    ] {
        // At one price, so that no calibration moves the load.
        let usual = run(&format!("{name}:price=1day"));
        for pair in pairs {
            assert_ne!(run(&format!("{name}:price=1day,{pair}")), usual, "{name}:{pair}");
        }
    }
    let (careful, bold) = (run("curve-fitting:price=1day,rho=1"), run("curve-fitting:price=1day,rho=100"));
    assert!(careful.visits() > bold.visits(), "{} and {} visits", careful.visits(), bold.visits());
}

/// The law has weight and cost for OP08's policies too: of pages that change alike, heavy and cheap ones are visited more.
#[test]
fn op08s_policies_mind_weight_and_cost() {
    let mut world = alike(150, 0.2);
    for (page, kind) in world.pages.iter_mut().zip((0..3).cycle()) {
        page.about.number = u32::try_from(page.key).unwrap();
        (page.about.weight, page.about.cost) = [(1.0, 1.0), (3.0, 1.0), (1.0, 3.0)][kind];
    }
    for name in ["fs-s", "hs-s", "fs-d", "hs-d", "curve-fitting", "bound-based", "cgm"] {
        let score = Entrant::named(name).unwrap().run(&world, &conditions(200.0, 0.1), &always).unwrap();
        let visits = |kind: usize| score.pages.iter().skip(kind).step_by(3).map(|page| page.visits).sum::<u32>();
        let (plain, heavy, dear) = (visits(0), visits(1), visits(2));
        assert!(heavy * 10 > plain * 11, "{name}: {heavy} visits to heavy pages, {plain} to others");
        assert!(dear * 11 < plain * 10, "{name}: {dear} visits to dear pages, {plain} to others");
    }
}

#[test]
fn hosts_are_held_to_their_caps() {
    let mut world = synthetic(Habit::Poisson, 200);
    for page in world.pages.iter_mut().take(50) {
        page.host = 1;
    }
    // Host 1 allows a tenth of what its pages would get, host 2 one visit in ten runs.
    world.pages[199].host = 2;
    world.host_caps = vec![f64::INFINITY, 0.1 * 50.0 * 0.2 / DAY, 0.1 / (200.0 * DAY)];
    for entrant in Entrant::all() {
        let score = entrant.run(&world, &conditions(200.0, 0.2), &always).unwrap();
        let visits = f64::from(score.pages[..50].iter().map(|page| page.visits).sum::<u32>());
        assert!(visits <= 201.0, "{}: {visits}", entrant.name());
        assert!(score.pages[199].visits <= 1, "{}: {:?}", entrant.name(), score.pages[199]);
        // Nutch alone asks for less.
        let least = if matches!(entrant, Entrant::Nutch | Entrant::NutchAdaptive) { 0.0 } else { 100.0 };
        assert!(visits >= least, "{}: {visits}", entrant.name());
    }
}

/// Where hosts hold all pages back, those who are told the rates still make the best of it.
#[test]
fn caps_leave_the_order_of_policies() {
    let mut world = synthetic(Habit::Poisson, 400);
    for (page, number) in world.pages.iter_mut().zip(0..) {
        page.host = number % 4;
    }
    world.host_caps = vec![0.5 * 100.0 * 0.2 / DAY; 4];
    let fresh = |entrant: Entrant| entrant.run(&world, &conditions(200.0, 0.2), &always).unwrap().freshness().mean;
    let (uniform, optimal, greedy) = (fresh(Entrant::Uniform), fresh(Entrant::Optimal), fresh(Entrant::Greedy));
    let told = fresh(Entrant::FsD);
    assert!(uniform < optimal && uniform < greedy && optimal < told, "{uniform} {optimal} {greedy} {told}");
    assert!((greedy - optimal).abs() < 0.02, "{greedy} {optimal}");
}

/// A sample of a host's pages gets its share of what the host allows.
#[test]
fn a_sample_has_its_share_of_caps() {
    let mut world = synthetic(Habit::Poisson, 8);
    for (page, host) in world.pages.iter_mut().zip([0, 0, 0, 0, 1, 1, 1, 2]) {
        page.host = host;
    }
    world.host_caps = vec![4.0, 3.0, 1.0];
    assert_eq!(world.sample(4).host_caps, [2.0, 2.0, 1.0]);
}

#[test]
fn failed_visits_cost_and_teach_nothing() {
    let mut world = synthetic(Habit::Poisson, 500);
    let well = Entrant::Posterior.run(&world, &conditions(100.0, 0.3), &always).unwrap();
    world.failures = 0.4;
    let ill = Entrant::Posterior.run(&world, &conditions(100.0, 0.3), &always).unwrap();
    assert!(ill.freshness().mean < well.freshness().mean - 0.01);
    assert!(ill.freshness().mean > 0.5 * well.freshness().mean);
}

/// At the same visits ours is fresher than every rule of another crawler.
#[test]
fn ours_beats_the_peers_at_their_own_load() {
    let world = synthetic(Habit::Poisson, 400);
    for peer in Entrant::all().filter(|entrant| entrant.is_peer()) {
        let theirs = peer.run(&world, &conditions(200.0, 0.2), &always).unwrap();
        let budget = Conditions { budget: theirs.load(), ..conditions(200.0, 0.2) };
        let ours = Entrant::Posterior.run(&world, &budget, &always).unwrap();
        let gain = ours.fresher_than(&theirs);
        if peer == Entrant::Nutch {
            // Seven visits a page, all alike: there is little to learn, and learning costs a little.
            assert!(gain.mean > -0.01, "{}: {gain:?}", peer.name());
        } else {
            assert!(gain.mean > 3.0 * gain.error, "{}: {gain:?}", peer.name());
        }
    }
}

#[test]
fn a_contest_measures_against_the_optimum() {
    let world = synthetic(Habit::Poisson, 600);
    let contest = Contest {
        world: &world,
        conditions: conditions(150.0, 0.3),
        seeds: 2,
        goal: Goal::Freshness,
        hold_peers: false,
    };
    let scores = contest.run(Entrant::Optimal, &always).unwrap();
    let frontier = contest.frontier(&[scores[0].load()], &always).unwrap();
    let optimal = contest.standing(Entrant::Optimal, &scores, &frontier);
    assert_eq!(frontier.optimum(), Entrant::Optimal);
    let share = optimal.share.unwrap();
    assert!((share.mean - 1.0).abs() < 0.1 && share.error < 0.1, "{optimal:?}");
    assert!((optimal.optimum_needs.unwrap() - 1.0).abs() < 0.05, "{optimal:?}");
    let uniform = contest.standing(Entrant::Uniform, &contest.run(Entrant::Uniform, &always).unwrap(), &frontier);
    assert!(uniform.share.unwrap().mean.abs() < 0.1 && uniform.optimum_needs.unwrap() < 0.95, "{uniform:?}");
    assert!(contest.run(Entrant::Uniform, &|_: f64| false).is_none(), "a run can be stopped");
}

/// Pages whose rates change: the mean of the past is no better than uniform, and nobody who is told has less than the optimum.
#[test]
fn the_optimum_is_whoever_has_most_of_those_who_are_told() {
    for habit in [Habit::Drifting, Habit::Bursty, Habit::Periodic] {
        let world = synthetic(habit, 400);
        let contest = Contest {
            world: &world,
            conditions: conditions(200.0, 0.2),
            seeds: 1,
            goal: Goal::Freshness,
            hold_peers: false,
        };
        let entrants = [Entrant::Optimal, Entrant::HsS];
        let scores = entrants.map(|entrant| contest.run(entrant, &always).unwrap());
        let frontier = contest.frontier(&[scores[0][0].load()], &always).unwrap();
        let reached = scores.each_ref().map(|scores| scores[0].freshness().mean);
        let best = entrants[usize::from(reached[1] > reached[0])];
        assert_eq!(frontier.optimum(), best, "{habit:?}: {reached:?}");
        for (entrant, scores) in entrants.into_iter().zip(&scores) {
            let share = contest.standing(entrant, scores, &frontier).share.unwrap().mean;
            assert!(share < 1.03, "{habit:?} {}: {share}", entrant.name());
        }
    }
}

/// With several seeds all are compared with uniform and optimum at the same seeds.
#[test]
fn shares_of_the_gain_are_over_all_seeds() {
    let world = synthetic(Habit::Bursty, 300);
    let conditions = conditions(60.0, 0.2);
    let contest = Contest { world: &world, conditions, seeds: 4, goal: Goal::Freshness, hold_peers: false };
    let entrants = [Entrant::Uniform, Entrant::HsS, Entrant::Optimal];
    let scores = entrants.map(|entrant| contest.run(entrant, &always).unwrap());
    let loads: Vec<f64> = scores.iter().flatten().map(Score::load).collect();
    let frontier = contest.frontier(&loads, &always).unwrap();
    let share = |at: usize| contest.standing(entrants[at], &scores[at], &frontier).share.unwrap().mean;
    let (uniform, told, rates) = (share(0), share(1), share(2));
    assert!(uniform.abs() < 0.03 && (told - 1.0).abs() < 0.03, "uniform {uniform}, curves {told}");
    // Who knows rates alone takes bursts for changes at random.
    assert!(frontier.optimum() == Entrant::HsS && rates < 0.9, "{:?}, rates {rates}", frontier.optimum());
}

#[test]
fn every_policy_passes_the_suite() {
    fn check<P: Policy>(policy: &P) {
        checks::conforms(policy).unwrap();
    }
    check(&Uniform);
    check(&Proportional);
    for objective in Objective::ALL {
        check(&Known(objective));
    }
    for aim in [Aim::Freshness, Aim::Age, Aim::Harmonic, Aim::Content] {
        check(&Posterior::new(aim));
    }
    check(&Fixed::NUTCH);
    check(&NutchAdaptive);
    check(&StormCrawler::DEFAULT);
    check(&StormCrawler::NEWS);
    check(&Heritrix);
    check(&Feed(Miniflux));
    check(&Feed(CommaFeed));
    check(&Feed(NewsBlur));
    check(&Feed(Feedbin));
    check(&Meguri);
    check(&Greedy(Known(Objective::Freshness)));
    check(&Held(NutchAdaptive));
    check(&Held(Feed(NewsBlur)));
    let curve =
        Observed::new(&[(Period::of(1.0, Unit::Day).unwrap(), 0.5), (Period::of(9.0, Unit::Day).unwrap(), 0.8)]);
    check(&Told(vec![curve.unwrap()]));
    check(&Foreknowing(Clairvoyance::Content));
    check(&Foreknowing(Clairvoyance::Whole));
    // `Priced` hands on what another policy makes of the price that it is given, and cannot keep a period at all prices as `AtPrice` does.
    let price = Period::of(6.0, Unit::Hour).unwrap();
    check(&AtPrice::new(price, Memory::SMALL, Cgm::new).unwrap());
    check(&AtPrice::new(price, Memory::SMALL, |price| BoundBased::new(price, price)).unwrap());
    check(&Bayes::new(&[Rate::per(0.01, Unit::Day).unwrap(), Rate::per(3.0, Unit::Day).unwrap()]).unwrap());
}
