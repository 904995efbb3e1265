//! Real histories of documents: which estimator foresees their changes best, and are they Poisson?
//!
//! The traces are not part of the project. They are looked for where `EVERFRESH_DATA` says, else at `../shared/data` beside
//! the workspace; where they are not, the tests say so and pass. For the tables:
//! `cargo test --release -p everfresh --test traces -- --nocapture` (`EVERFRESH_PAGES` pages of each trace, 200 unless said).
//!
//! A page is visited every three days from 2023 on, or from when it is first seen, to the end of its trace or its deletion;
//! a visit finds a change when the content differs from that at the last visit. A change of the collector's extraction (`t`)
//! is none; a change in a mass edit (`b`) is one. Priors are learnt from the first half of every page's visits; shapes, habits
//! and rhythms are those that, with priors from the first quarter, foresaw the second best. The second half is then foreseen,
//! each visit from all before it. Two see more: when the last change was.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use everfresh::curve::{Bursts, DivergenceCurve, Exponential, Weibull};
use everfresh::estimate::{
    Drifting, Estimator, Foresight, Gamma, Habits, Hierarchy, LastChange, MaximumLikelihood, Naive, Observation, Prior,
    Profile, Ratio, Renewal, Sightings, TwoRate, TwoRates, best_shape, foresight, poisson,
};
use everfresh::{Period, Rate, Unit};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

const TRACES: [&str; 7] = ["eol-releases", "gh-trending", "mamip", "mdn", "ota-contrib", "ota-pga", "telegram-web"];
const DAY: u64 = 86_400;
/// The start of 2023.
const FROM: u64 = 1_672_531_200;

fn data() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("EVERFRESH_DATA").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("no traces at {}: nothing tested", folder.display());
    None
}

fn days(n: f64) -> Period {
    Period::of(n, Unit::Day).unwrap()
}

fn rows(file: &Path) -> Vec<Vec<String>> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// A page: its group and when it had which content (none when gone).
struct History {
    group: String,
    versions: Vec<(u64, Option<usize>)>,
}

/// The pages of a trace, evenly drawn, and the time of its last row.
fn histories(folder: &Path) -> (Vec<History>, u64) {
    let groups: HashMap<String, String> = rows(&folder.join("pages.csv.gz"))
        .into_iter()
        .map(|row| (row[0].clone(), row[1].rsplit_once('/').map_or(String::new(), |(group, _)| group.to_owned())))
        .collect();
    let rows = rows(&folder.join("visits.csv.gz"));
    let end = rows.iter().map(|row| row[1].parse::<u64>().unwrap()).max().unwrap();
    let mut pages: Vec<(String, History, HashMap<String, usize>)> = Vec::new();
    for row in rows {
        if pages.last().is_none_or(|(page, ..)| *page != row[0]) {
            let group = groups.get(&row[0]).cloned().unwrap_or_default();
            pages.push((row[0].clone(), History { group, versions: Vec::new() }, HashMap::new()));
        }
        let (_, history, known) = pages.last_mut().unwrap();
        let before = history.versions.last().and_then(|(_, content)| *content);
        let content = match (row[2].as_str(), before) {
            ("-", _) => None,
            (hash, Some(same)) if row[4] == "t" => {
                known.insert(hash.to_owned(), same);
                Some(same)
            }
            (hash, _) => {
                let next = known.len();
                Some(*known.entry(hash.to_owned()).or_insert(next))
            }
        };
        history.versions.push((row[1].parse().unwrap(), content));
    }
    let wanted: usize = std::env::var("EVERFRESH_PAGES").map_or(200, |n| n.parse().unwrap());
    let step = pages.len().div_ceil(wanted);
    (pages.into_iter().step_by(step).map(|(_, history, _)| history).collect(), end)
}

/// What visits see of a change.
#[derive(Clone, Copy, PartialEq)]
enum Sight {
    /// That there was one.
    Bare,
    /// When the last one was.
    Dated,
}

impl History {
    /// The content at a time, none when gone, and since when it was that.
    fn at(&self, time: u64) -> (u64, Option<usize>) {
        let known = self.versions.partition_point(|(since, _)| *since <= time);
        let content = self.versions[..known].last().and_then(|(_, content)| *content);
        let same = self.versions[..known].iter().rev().take_while(|(_, other)| *other == content);
        (same.last().map_or(time, |(since, _)| *since), content)
    }
}

/// What visits every `period` seconds see, until the page is gone.
fn visits(history: &History, end: u64, period: u64, sight: Sight) -> Vec<Observation> {
    let mut now = FROM.max(history.versions[0].0);
    let (mut seen, mut before) = (Vec::new(), history.at(now).1);
    while now + period <= end && before.is_some() {
        now += period;
        let (since, content) = history.at(now);
        if content.is_some() {
            let seconds = |seconds: u64| Period::of(seconds as f64, Unit::Second).unwrap();
            seen.push(match sight {
                Sight::Dated if content != before => Observation::dated(seconds(period), seconds(now - since)).unwrap(),
                _ => Observation::between((now - period) as f64, now as f64, content != before).unwrap(),
            });
        }
        before = content;
    }
    seen
}

/// A page's visits: those to learn shared numbers from, and those to foresee.
#[derive(Clone)]
struct Page {
    group: usize,
    first: Vec<Observation>,
    second: Vec<Observation>,
}

impl Page {
    /// The first half alone, halved again.
    fn quartered(&self) -> Page {
        let mut first = self.first.clone();
        let second = first.split_off(first.len() / 2);
        Page { group: self.group, first, second }
    }
}

fn pages(histories: &[History], end: u64, sight: Sight) -> Vec<Page> {
    let mut groups: HashMap<String, usize> = HashMap::new();
    let mut pages = Vec::new();
    for history in histories {
        let mut first = visits(history, end, 3 * DAY, sight);
        if first.len() >= 20 {
            let next = groups.len();
            let group = *groups.entry(history.group.clone()).or_insert(next);
            let second = first.split_off(first.len() / 2);
            pages.push(Page { group, first, second });
        }
    }
    pages
}

/// The score of an estimator on the second halves, each page by one made for it.
fn score<E: Estimator>(pages: &[Page], make: impl Fn(&Page) -> E) -> f64 {
    let one = |page: &Page| {
        let mut estimator = make(page);
        foresight(&mut estimator, &page.first);
        foresight(&mut estimator, &page.second)
    };
    pages.iter().map(one).fold(Foresight::default(), Foresight::plus).mean()
}

/// The candidate that foresaw the second halves best.
fn choose<C: Copy, E: Estimator>(pages: &[Page], candidates: &[C], make: impl Fn(C, &Page) -> E) -> C {
    let scored = candidates.iter().map(|c| (score(pages, |page| make(*c, page)), *c));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
}

/// The priors of all groups, learnt from the first halves; thrice, since evidence depends on the prior it was weighed under.
fn learn(pages: &[Page]) -> Hierarchy {
    let base = Prior::new(0.5, Rate::per(1.0, Unit::Month).unwrap()).unwrap();
    let mut learnt = Hierarchy::new(base);
    for _ in 0..3 {
        let mut next = Hierarchy::new(base);
        for page in pages {
            let mut seen = Sightings::NONE;
            for observation in &page.first {
                seen.observe(observation);
            }
            next.add(page.group, seen.weighed(&learnt.prior(page.group)));
        }
        next.learn();
        learnt = next;
    }
    learnt
}

/// The names and scores of all estimators on a trace, and the numbers that were learnt.
fn compare(pages: &[Page], dated: &[Page]) -> (Vec<(&'static str, f64)>, String) {
    let hierarchy = learn(pages);
    let all = hierarchy.global();
    let mut habits = Vec::new();
    for half_life in [Period::NEVER, days(720.0), days(240.0), days(90.0), days(30.0)] {
        for dispersion in [1.0, 2.0, 5.0, 10.0] {
            habits.push(Habits::new(half_life, dispersion).unwrap());
        }
    }
    let quarters: Vec<Page> = pages.iter().map(Page::quartered).collect();
    let early = learn(&quarters).global();
    let habit = choose(&quarters, &habits, |habits, _| Drifting::new(early, habits));
    let shape = best_shape(early, &pages.iter().map(|page| page.first.as_slice()).collect::<Vec<_>>());
    let mut rhythms = Vec::new();
    for busy in [3.0, 10.0, 30.0] {
        for quiet in [30.0, 100.0, 300.0] {
            for contrast in [5.0, 30.0, 100.0] {
                rhythms.push(TwoRates::new(days(busy), days(quiet), contrast).unwrap());
            }
        }
    }
    let rhythm = choose(&quarters, &rhythms, |rhythm, _| TwoRate::new(early, rhythm));
    let scores = vec![
        ("one rate", score(pages, |_| Gamma::new(Prior::new(1e6, all.mean()).unwrap()))),
        ("naive", score(pages, |_| Naive::new())),
        ("ratio", score(pages, |_| Ratio::new())),
        ("likelihood", score(pages, |_| MaximumLikelihood::new())),
        ("gamma", score(pages, |_| Gamma::new(all))),
        ("by group", score(pages, |page| Gamma::new(hierarchy.prior(page.group)))),
        ("drifting", score(pages, |_| Drifting::new(all, habit))),
        ("renewal", score(pages, |_| Renewal::new(all, shape).unwrap())),
        ("two rates", score(pages, |_| TwoRate::new(all, rhythm))),
        ("last change", score(dated, |_| LastChange::new())),
        ("gamma, dated", score(dated, |_| Gamma::new(all))),
    ];
    let learnt = format!(
        "prior {:.2} at {}, groups held back by {} pages, half-life {}, dispersion {}, shape {shape}",
        all.alpha(),
        all.mean(),
        hierarchy.pooling(),
        habit.half_life(),
        habit.dispersion()
    );
    (scores, learnt)
}

#[test]
fn real_documents_are_foreseen() {
    let Some(folder) = data() else { return };
    for trace in TRACES {
        let (histories, end) = histories(&folder.join(trace));
        let [pages, dated] = [Sight::Bare, Sight::Dated].map(|sight| pages(&histories, end, sight));
        let visits: usize = pages.iter().map(|page| page.second.len()).sum();
        let changed: usize = pages.iter().flat_map(|page| &page.second).filter(|seen| seen.has_changed()).count();
        let (scores, learnt) = compare(&pages, &dated);
        println!("\n{trace}: {} pages, {visits} visits held out, {changed} found a change", pages.len());
        println!("  {learnt}");
        for (name, score) in &scores {
            println!("  {name:<13} {score:>9.5}");
        }
        let of = |name: &str| scores.iter().find(|(n, _)| *n == name).unwrap().1;
        let plain = of("naive").max(of("ratio")).max(of("likelihood")).max(of("last change"));
        let best = ["gamma", "drifting", "renewal", "two rates"].map(of).into_iter().fold(f64::MIN, f64::max);
        assert!(of("gamma") > plain, "{trace}: a prior foresees better than none");
        assert!(best > of("one rate"), "{trace}: pages differ");
    }
}

/// CGM03 figure 17: shares of pages by their mean time between changes, as the naive estimator has it.
fn figure_17(pages: &[Vec<Observation>]) {
    let mut shares = [0.0; 5];
    let pages: Vec<_> = pages.iter().filter(|page| !page.is_empty()).collect();
    for page in &pages {
        let changes = page.iter().filter(|seen| seen.has_changed()).count() as f64;
        let interval = page.len() as f64 / 2.0 / changes;
        let bar = [1.0, 7.0, 30.0, 120.0].iter().filter(|bound| interval > **bound).count();
        shares[bar] += 100.0 / pages.len() as f64;
    }
    let [day, week, month, months, never] = shares;
    println!(
        "  changed every day {day:.0}%, week {week:.0}%, month {month:.0}%, 4 months {months:.0}%, less {never:.0}%"
    );
}

/// How many visits find a change, and how many the curves of pages of their rates foretell: Poisson pages, bursts with the dispersion of
/// the gaps, and the Weibull law of the gaps, which is right for visits that come right after changes.
fn curves_foretell(histories: &[History], end: u64, groups: &[poisson::Group]) {
    let prior = Prior::new(0.5, Rate::per(1.0, Unit::Month).unwrap()).unwrap();
    for period in [3.0, 10.0, 30.0] {
        let (mut seen, mut visited, mut foretold) = (0.0, 0.0, [0.0; 3]);
        for history in histories {
            let mut page = Sightings::NONE;
            for visit in &visits(history, end, DAY / 2, Sight::Bare) {
                page.observe(visit);
            }
            let rate = page.estimate(prior).rate;
            let gap = Period::of(1.0 / rate.per_day(), Unit::Day).unwrap();
            let like = groups.iter().find(|group| (group.mean_gap.0..group.mean_gap.1).contains(&gap));
            let dispersion = like.and_then(|group| group.dispersion).unwrap_or(1.0).max(1.0);
            let bursts = Bursts::with_dispersion(rate, dispersion).unwrap();
            let scale = Weibull::new(Rate::per(1.0, Unit::Second).unwrap(), bursts.shape()).unwrap().ceiling();
            let gaps = Weibull::new(Rate::per(rate.per_day() * scale, Unit::Day).unwrap(), bursts.shape()).unwrap();
            let curves: [&dyn DivergenceCurve; 3] = [&Exponential::new(rate), &bursts, &gaps];
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let late = visits(history, end, period as u64 * DAY, Sight::Bare);
            visited += late.len() as f64;
            seen += late.iter().filter(|visit| visit.has_changed()).count() as f64;
            for (sum, curve) in foretold.iter_mut().zip(curves) {
                *sum += late.len() as f64 * curve.divergence(days(period));
            }
        }
        let [exponential, bursts, weibull] = foretold.map(|sum| 100.0 * sum / visited);
        let seen = 100.0 * seen / visited;
        println!(
            "  every {period} days {seen:.2}% find a change; Poisson {exponential:.2}%, bursts {bursts:.2}%, law of the gaps {weibull:.2}%"
        );
        assert!((bursts - seen).abs() <= (exponential - seen).abs() + 0.1 * seen, "bursts foretell no worse");
    }
}

/// Whether hours and weekdays, learnt over all pages of a trace, foresee visits every six hours better than a constant rate.
fn hours_and_weekdays(histories: &[History], end: u64) -> String {
    let prior = Prior::new(0.5, Rate::per(1.0, Unit::Month).unwrap()).unwrap();
    let mut profile = Profile::new();
    for history in histories {
        let (mut page, mut start) = (Gamma::new(prior), FROM.max(history.versions[0].0) as f64);
        for observation in visits(history, end, DAY / 4, Sight::Bare) {
            let rate = page.estimate().rate;
            profile.observe(start, &observation, rate).unwrap();
            page.observe(&observation);
            start += observation.elapsed().seconds();
        }
    }
    let verdict = if profile.is_better() { "used" } else { "not used" };
    let sunday: f64 = (0..24).map(|hour| profile.factor(6, hour)).sum::<f64>() / 24.0;
    let tuesday: f64 = (0..24).map(|hour| profile.factor(1, hour)).sum::<f64>() / 24.0;
    format!("hours and weekdays: {verdict}, gain {:.0}; Tuesday {tuesday:.2}, Sunday {sunday:.2}", profile.gain())
}

#[test]
fn real_documents_are_not_quite_poisson() {
    let Some(folder) = data() else { return };
    for trace in TRACES {
        let (histories, end) = histories(&folder.join(trace));
        let pages: Vec<Vec<Observation>> =
            histories.iter().map(|history| visits(history, end, DAY / 2, Sight::Bare)).collect();
        println!("\n{trace}, visited twice a day");
        figure_17(&pages);
        println!("  {}", hours_and_weekdays(&histories, end));
        let groups = poisson::examine(pages.iter().map(Vec::as_slice));
        curves_foretell(&histories, end, &groups);
        println!(
            "  mean gap       pages passing   gaps  distance  by chance  dispersion  held out: exp    Lomax  Weibull  law"
        );
        for group in groups {
            let held_out = group.held_out.map_or([f64::NAN; 3], |scores| scores);
            let [exponential, lomax, weibull] = held_out.map(|score| format!("{score:.3}").replace("NaN", "-"));
            println!(
                "  {:>6} {:>8} {:>5} {:>6.0}% {:>6} {:>9.3} {:>10.3} {:>11} {exponential:>14} {lomax:>8} {weibull:>8}  {}",
                format!("{:.2}", group.mean_gap.0),
                format!("{:.2}", group.mean_gap.1),
                group.pages,
                100.0 * group.passing,
                group.gaps,
                group.distance,
                group.by_chance,
                group.dispersion.map_or(String::new(), |d| format!("{d:.2}")),
                group.law.name()
            );
            assert!(
                group.distance.is_finite()
                    && group.held_out.is_none_or(|scores| scores.iter().all(|score| score.is_finite()))
            );
        }
    }
}
