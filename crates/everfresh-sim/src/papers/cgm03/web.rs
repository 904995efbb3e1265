//! Section 7: the web of 1999.

use everfresh::estimate::{Estimator, Naive, Observation, Ratio};
use everfresh::{Allocation, Objective, Page, Period, Plan, Price, Rate, Result, Terms, Unit};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::papers::path::poisson;
use crate::papers::recording::{Lived, Recording};
use crate::papers::{Axis, Exhibit, Figure, Mark, Paper, Picture, Printed, log_curve, random};

/// The five classes of pages: how many days between changes, and the shares that the text gives for all sites.
const INTERVALS: [f64; 5] = [1.0, 7.0, 30.0, 120.0, 365.0];
const OVERALL: [f64; 5] = [0.23, 0.15, 0.16, 0.16, 0.30];
/// The shares of these two stand only in a figure; these are fitted to the printed results of Table VII.
const COM: [f64; 5] = [0.41, 0.23, 0.06, 0.19, 0.11];
const GOV: [f64; 5] = [0.00, 0.15, 0.01, 0.31, 0.53];

const FITTED: &str = "The shares of com and gov stand only in a figure. Ours (com .41 .23 .06 .19 .11, gov .00 .15 .01 \
                      .31 .53) are fitted to the printed results, so these columns are shown, not judged.";

/// A plan for the five classes, each page visited once in thirty days on average, changing `faster` times as often.
///
/// A class is one page whose weight and cost are its share.
fn plan(shares: [f64; 5], faster: f64, allocation: Allocation, objective: Objective) -> Result<Plan> {
    let class = |(days, share): (f64, f64)| {
        Page::new(Rate::per(faster / days, Unit::Day)?).with_weight(share)?.with_cost(share)
    };
    let classes = INTERVALS.into_iter().zip(shares).filter(|(_, share)| *share > 0.0);
    let pages = classes.map(class).collect::<Result<Vec<_>>>()?;
    let price = Price::for_budget(shares.iter().sum::<f64>() / 30.0, Unit::Day)?;
    Plan::new(&pages, Terms { objective, allocation, ..Terms::new(price) })
}

fn freshness(shares: [f64; 5], faster: f64, allocation: Allocation) -> Result<f64> {
    Ok(plan(shares, faster, allocation, Objective::Freshness)?.totals().freshness)
}

fn age_days(shares: [f64; 5], allocation: Allocation) -> Result<f64> {
    Ok(plan(shares, 1.0, allocation, Objective::Age)?.totals().age.days())
}

const POLICIES: [(Allocation, &str); 3] =
    [(Allocation::Proportional, "proportional"), (Allocation::Uniform, "uniform"), (Allocation::Optimal, "optimal")];

/// What Table VII prints for one column of sites: freshness, age, and the places of the age.
type Column = [(f64, f64, i32); 3];

fn columns(name: &str, shares: [f64; 5], printed: Column) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for ((allocation, policy), (fresh, age, places)) in POLICIES.into_iter().zip(printed) {
        figures.push(
            Figure::new(policy, format!("{name}: freshness"), freshness(shares, 1.0, allocation)?)
                .beside(Printed::new(fresh, 2)),
        );
        figures.push(
            Figure::new(policy, format!("{name}: age, days"), age_days(shares, allocation)?)
                .beside(Printed::new(age, places)),
        );
    }
    Ok(figures)
}

/// The columns of all sites, which two earlier papers print too, and what the texts read off them.
///
/// They say by how many times the age of the proportional policy is worse than the best: 93 or a round 100.
pub(in crate::papers) fn overall(times_worse: Printed) -> Result<Vec<Figure>> {
    let mut figures = columns("overall", OVERALL, [(0.12, 400.0, -2), (0.57, 5.6, 1), (0.62, 4.3, 1)])?;
    let [proportional, uniform, optimal] = POLICIES.map(|(allocation, _)| age_days(OVERALL, allocation));
    let (uniform, optimal) = (uniform?, optimal?);
    let fresher = freshness(OVERALL, 1.0, Allocation::Optimal)? / freshness(OVERALL, 1.0, Allocation::Proportional)?;
    figures.extend([
        Figure::new("% by which freshness rises, proportional to optimal", "", 100.0 * (fresher - 1.0))
            .beside(Printed::new(500.0, -2))
            .slip("from 0.12 to 0.62 is a rise to five times as much, by 400 %, not by 500 %"),
        Figure::new("% by which age falls, uniform to optimal", "", 100.0 * (1.0 - optimal / uniform))
            .beside(Printed::new(23.0, 0)),
        Figure::new("age, proportional over optimal", "", proportional? / optimal).beside(times_worse),
    ]);
    Ok(figures)
}

/// Table VII: what three policies would give.
pub(super) fn table_vii(_seed: u64) -> Result<Exhibit> {
    let com = columns("com", COM, [(0.07, 386.0, 0), (0.38, 8.5, 1), (0.44, 7.4, 1)])?;
    let gov = columns("gov", GOV, [(0.69, 19.3, 1), (0.82, 2.0, 1), (0.85, 1.3, 1)])?;
    Ok(Exhibit::new(
        Paper::Cgm03,
        "Table VII",
        "Freshness and age of the web of 1999 in five classes (changing every day, week, month, four months, year), each \
         page visited once in thirty days on average.",
    )
    .with_figures(overall(Printed::new(93.0, 0))?)
    .with_figures(com.into_iter().chain(gov).map(Figure::on_our_world))
    .with_remark(FITTED)
    .with_remark("93 is 400 over 4.3, both rounded; with all digits it is 94."))
}

/// Figure 18: the same when pages change more or less often.
pub(super) fn figure_18(_seed: u64) -> Result<Exhibit> {
    let axes = Picture::new(
        "",
        Axis::log("how many times as often pages change"),
        Axis::linear("freshness").from_to(0.0, 1.0),
    );
    let picture = POLICIES.into_iter().fold(axes, |picture, (allocation, name)| {
        let value = |faster: f64| freshness(OVERALL, faster, allocation).unwrap_or(f64::NAN);
        picture.with(name, Mark::Line, log_curve(1.0 / 16.0, 128.0, 120, value))
    });
    let at = |faster, allocation| freshness(OVERALL, faster, allocation);
    let figures = [
        Figure::new("x = 4, proportional (\"almost 0\")", "", at(4.0, Allocation::Proportional)?)
            .beside(Printed::new(0.0, 1)),
        Figure::new("x = 4, uniform", "", at(4.0, Allocation::Uniform)?).beside(Printed::above(0.4, 1)),
        Figure::new("x = 4, optimal", "", at(4.0, Allocation::Optimal)?).beside(Printed::above(0.4, 1)),
        Figure::new(
            "x = 64, optimal over uniform",
            "",
            at(64.0, Allocation::Optimal)? / at(64.0, Allocation::Uniform)?,
        )
        .beside(Printed::new(2.0, 0)),
        Figure::new("x = 1, optimal (as Table VII)", "", at(1.0, Allocation::Optimal)?).beside(Printed::new(0.62, 2)),
    ];
    Ok(Exhibit::new(
        Paper::Cgm03,
        "Figure 18",
        "Freshness under three policies if all pages changed x times as often, visits staying the same.",
    )
    .with_figures(figures)
    .with_picture(picture))
}

/// How long the paper watched its pages, in days: from 17 February to 24 June 1999, a visit each.
const DAYS: u32 = 128;

/// On which of the days a page was seen to have changed since the day before.
fn seen_changes(rate_per_day: f64, rng: &mut Xoshiro256PlusPlus) -> Vec<u32> {
    let mut days: Vec<u32> = Vec::new();
    for time in poisson(rate_per_day, f64::from(DAYS), rng) {
        // Times lie between 0 and 128.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let day = time.floor() as u32 + 1;
        if days.last() != Some(&day) {
            days.push(day);
        }
    }
    days
}

/// A Poisson page as daily visits see it.
fn simulated(rate_per_day: f64, rng: &mut Xoshiro256PlusPlus) -> Lived {
    Lived { changes: Vec::new(), seen: seen_changes(rate_per_day, rng), days: DAYS }
}

/// Gaps between changes of some pages.
struct Gaps {
    /// The share of gaps of 1, 2, ... days, as far as they are shown.
    shares: Vec<(f64, f64)>,
    pages: usize,
    /// The standard deviation of all of them over their mean: 1 for Poisson pages.
    deviation: f64,
}

impl Gaps {
    /// Those of the pages that were seen to change every `interval` days, within a tenth; the longest that is shown has `most` days.
    fn of(interval: f64, most: usize, pages: impl Iterator<Item = Lived>) -> Gaps {
        let (mut counts, mut chosen, mut sums) = (vec![0.0; most + 1], 0, [0.0; 3]);
        for page in pages.filter(|page| (page.seen_interval() / interval - 1.0).abs() <= 0.1) {
            chosen += 1;
            for pair in page.seen.windows(2) {
                let gap = pair[1] - pair[0];
                let days = f64::from(gap);
                sums = [sums[0] + 1.0, sums[1] + days, sums[2] + days * days];
                if let Some(count) = counts.get_mut(gap as usize) {
                    *count += 1.0;
                }
            }
        }
        let [all, days, squares] = sums;
        let share = |(gap, count): (usize, f64)| (gap as f64, count / all);
        Gaps {
            shares: counts.into_iter().enumerate().skip(1).map(share).filter(|(_, share)| *share > 0.0).collect(),
            pages: chosen,
            deviation: (all * squares / (days * days) - 1.0).max(0.0).sqrt(),
        }
    }
}

/// A picture of figure 14: gaps among pages that change every `interval` days, against the exponential law.
fn gaps_picture(title: &str, interval: f64, seen: &'static str, shares: Vec<(f64, f64)>) -> Picture {
    let line = shares.iter().map(|(gap, _)| (*gap, (-gap / interval).exp() / interval)).collect();
    Picture::new(title, Axis::linear("days between changes"), Axis::log("share of gaps"))
        .with(seen, Mark::Dots, shares)
        .with("Poisson", Mark::Line, line)
}

const GAPS: &str = "How often a gap between two changes has so many days, among pages that were seen to change every 10 and every \
                    20 days; the line is what a Poisson process says.";

/// The two pictures of figure 14: what each is called, every how many days its pages change, and the longest gap shown.
const GAP_PICTURES: [(&str, f64, usize); 2] = [("(a) every 10 days", 10.0, 60), ("(b) every 20 days", 20.0, 80)];

/// Figure 14: gaps between changes against the exponential law.
pub(super) fn figure_14(seed: u64) -> Result<Exhibit> {
    let rng = &mut random(seed, 14);
    let mut exhibit = Exhibit::new(Paper::Cgm03, "Figure 14", GAPS);
    for (title, interval, most) in GAP_PICTURES {
        let pages = (0..20_000).map(|_| simulated(3.0 / interval / 9f64.powf(rng.random::<f64>()), rng));
        let gaps = Gaps::of(interval, most, pages);
        exhibit = exhibit.with_picture(gaps_picture(title, interval, "simulated", gaps.shares));
    }
    Ok(exhibit.with_remark(format!(
        "The paper's pages are not public. On our world: Poisson pages visited daily for {DAYS} days, chosen by the \
         average gap that was seen, within a tenth (seed {seed}). Gaps near {DAYS} days cannot be seen whole, which bends \
         the dots down at the right."
    )))
}

/// Figure 14 of a trace: only where pages change that often.
pub(super) fn traced_figure_14(trace: &Recording) -> Result<Option<Exhibit>> {
    let mut exhibit = Exhibit::new(Paper::Cgm03, format!("Figure 14 ({})", trace.name), GAPS);
    for (title, interval, most) in GAP_PICTURES {
        let gaps = Gaps::of(interval, most, trace.pages.iter().cloned());
        if gaps.shares.len() < 2 {
            continue;
        }
        exhibit = exhibit.with_figures([
            Figure::new(title, "pages", gaps.pages as f64).on_our_world(),
            Figure::new(title, "standard deviation of gaps over their mean", gaps.deviation)
                .beside(Printed::formula(1.0))
                .on_our_world(),
        ]);
        exhibit = exhibit.with_picture(gaps_picture(title, interval, "recorded", gaps.shares));
    }
    let is_empty = exhibit.pictures.is_empty();
    Ok((!is_empty)
        .then(|| exhibit.with_remark(by_the_day(trace)).with_remark("The printed column is the exponential law's.")))
}

/// How a trace was looked at.
fn by_the_day(trace: &Recording) -> String {
    format!(
        "The paper's pages are not public. On the trace {}: {} pages that were there for 60 days or more, as daily visits would see them.",
        trace.name,
        trace.pages.len()
    )
}

/// Figure 17 of a trace.
pub(super) fn traced_figure_17(trace: &Recording) -> Result<Option<Exhibit>> {
    if trace.pages.is_empty() {
        return Ok(None);
    }
    let mut found = [[0.0; 5]; 2];
    for page in &trace.pages {
        let (naive, ratio) = estimated_bins(page)?;
        for (kind, bin) in [naive, ratio].into_iter().enumerate() {
            found[kind][bin] += 1.0 / trace.pages.len() as f64;
        }
    }
    let [naive, ratio] = found;
    let picture = classes(&trace.name).with("plain estimate", Mark::Bars, bars(&naive)).with(
        "corrected estimate",
        Mark::Bars,
        bars(&ratio),
    );
    let figures = BINS.iter().zip(OVERALL).zip(naive).map(|((name, printed), ours)| {
        Figure::new(*name, "share of pages, plain estimate", ours).beside(Printed::new(printed, 2)).on_our_world()
    });
    let caption =
        "Shares of pages by their average time between changes, beside those that the paper found on the web of 1999.";
    Ok(Some(
        Exhibit::new(Paper::Cgm03, format!("Figure 17 ({})", trace.name), caption)
            .with_figures(figures)
            .with_picture(picture)
            .with_remark(by_the_day(trace)),
    ))
}

/// Bins of the estimated interval, in days, as the figure has them.
const BINS: [&str; 5] = ["a day", "a week", "a month", "4 months", "longer"];
const EDGES: [f64; 4] = [1.0, 7.0, 30.0, 120.0];

fn bin(interval_days: f64) -> usize {
    EDGES.iter().filter(|edge| interval_days > **edge).count()
}

/// What daily visits make of a page: the bins of the plain and of the corrected estimate of its interval.
fn estimated_bins(page: &Lived) -> Result<(usize, usize)> {
    let (mut naive, mut ratio) = (Naive::default(), Ratio::default());
    let day = Period::of(1.0, Unit::Day)?;
    for number in 1..=page.days {
        let changed = page.seen.binary_search(&number).is_ok();
        let seen = if changed { Observation::changed(day)? } else { Observation::unchanged(day)? };
        naive.observe(&seen);
        ratio.observe(&seen);
    }
    let interval = |estimator: &dyn Estimator| estimator.estimate().rate.per_day().recip();
    Ok((bin(interval(&naive)), bin(interval(&ratio))))
}

/// Shares of the bins: as drawn, by the plain estimate, by the corrected one.
fn bin_shares(shares: [f64; 5], rng: &mut Xoshiro256PlusPlus) -> Result<[[f64; 5]; 3]> {
    let pages = 2000;
    let bounds: [f64; 6] = [0.02, 1.0, 7.0, 30.0, 120.0, 1200.0];
    let mut found = [[0.0; 5]; 3];
    for (class, share) in shares.into_iter().enumerate() {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        for _ in 0..(share * f64::from(pages)).round() as usize {
            let interval = bounds[class] * (bounds[class + 1] / bounds[class]).powf(rng.random::<f64>());
            let (naive, ratio) = estimated_bins(&simulated(interval.recip(), rng))?;
            for (kind, bin) in [class, naive, ratio].into_iter().enumerate() {
                found[kind][bin] += 1.0 / f64::from(pages);
            }
        }
    }
    Ok(found)
}

fn bars(shares: &[f64; 5]) -> Vec<(f64, f64)> {
    shares.iter().enumerate().map(|(i, share)| (i as f64, *share)).collect()
}

fn classes(title: &str) -> Picture {
    Picture::new(title, Axis::classes("time between changes, up to", &BINS), Axis::linear("share of pages"))
}

/// Figure 17: how often pages change, as daily visits see it.
pub(super) fn figure_17(seed: u64) -> Result<Exhibit> {
    let rng = &mut random(seed, 17);
    let mut exhibit = Exhibit::new(
        Paper::Cgm03,
        "Figure 17",
        "Shares of pages by their average time between changes, as drawn and as four months of daily visits show them.",
    );
    for (title, shares) in [("(a) all sites", OVERALL), ("(b) com", COM), ("(b) gov", GOV)] {
        let [drawn, naive, ratio] = bin_shares(shares, rng)?;
        if shares == OVERALL {
            exhibit = exhibit.with_figures(BINS.iter().zip(OVERALL).zip(naive).map(|((name, printed), ours)| {
                Figure::new(*name, "share of pages, plain estimate", ours)
                    .beside(Printed::new(printed, 2))
                    .on_our_world()
            }));
        }
        exhibit = exhibit.with_picture(
            classes(title)
                .with("as drawn", Mark::Bars, bars(&drawn))
                .with("plain estimate", Mark::Bars, bars(&naive))
                .with("corrected estimate", Mark::Bars, bars(&ratio)),
        );
    }
    Ok(exhibit
        .with_remark(format!(
            "The paper's pages are not public. On our world: 2000 Poisson pages drawn with the paper's shares, evenly by \
             the logarithm within each class, visited daily for {DAYS} days (seed {seed}). Daily visits see at most a \
             change a day, so the plain estimate (days over changes seen) moves fast pages to the right; the corrected \
             one moves most of them back."
        ))
        .with_remark(FITTED))
}
