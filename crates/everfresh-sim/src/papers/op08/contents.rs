//! Figures 1, 2, 3 and 7: what pages show, and what is known of them.

use everfresh::longevity::{Bounds, History, Point, Region, Regions};
use everfresh::{Period, Rate, Result, Unit};

use super::world::{Collection, STEP_DAYS, history};
use crate::papers::recording::Recording;
use crate::papers::{Axis, Exhibit, Figure, Mark, Paper, Picture, Printed, curve, random};

const DAY: f64 = Unit::Day.seconds();

fn per_day(rate: f64) -> Result<Rate> {
    Rate::per(rate, Unit::Day)
}

/// The two pages of figures 1 and 2: mostly churn, and one with a list that scrolls through in a month or two.
fn two_pages(seed: u64) -> Result<[(&'static str, History); 2]> {
    let churning = Regions::new(&[Region::churn(0.8, per_day(1.0)?)?])?;
    let scrolling = Regions::new(&[Region::churn(0.1, per_day(1.0)?)?, Region::scroll(0.4, per_day(0.25)?, 10)?])?;
    Ok([
        ("page A", history(&churning, 20, 50, random(seed, 801))?),
        ("page B", history(&scrolling, 20, 50, random(seed, 803))?),
    ])
}

const TWO_PAGES: &str = "The paper's pages are not public. Ours: A is four fifths churn, overwritten daily; B is half static, with a list \
                         of ten items of which one is replaced every four days, and some churn";

/// Figure 1: which fragments were there when.
pub(super) fn figure_1(seed: u64) -> Result<Exhibit> {
    let mut exhibit = Exhibit::new(
        Paper::Op08,
        "Figure 1",
        "Two pages in time: each stroke is a fragment, from the snapshot that first has it to the last one.",
    );
    for (name, history) in two_pages(seed)? {
        let strokes = history.spells().iter().enumerate().flat_map(|(number, spell)| {
            let day = |snapshot: usize| snapshot as f64 * STEP_DAYS;
            [(day(spell.first), number as f64), (day(spell.last + 1), number as f64)]
        });
        exhibit = exhibit.with_picture(
            Picture::new(name, Axis::linear("days"), Axis::linear("fragments, by first appearance")).with(
                "a fragment is there",
                Mark::Strokes,
                strokes.collect(),
            ),
        );
    }
    Ok(exhibit.with_remark(format!("{TWO_PAGES} (seed {seed}).")))
}

/// Days after which the second figure looks.
const UTILITY_SNAPSHOT: usize = 20;

/// Divergence from the first snapshot, in days and share, and the utility of a visit at the end, in days.
fn diverging(history: &History) -> (Vec<(f64, f64)>, f64) {
    let versions = history.versions();
    let at = |number: usize| (number as f64 * STEP_DAYS, versions[0].1.distance(&versions[number].1));
    let points: Vec<(f64, f64)> = (0..=UTILITY_SNAPSHOT).map(at).collect();
    let area: f64 = points.windows(2).map(|pair| STEP_DAYS * (pair[0].1 + pair[1].1) / 2.0).sum();
    let end = points[UTILITY_SNAPSHOT];
    (points, end.0 * end.1 - area)
}

/// Figure 2: divergence curves, and utility as an area.
pub(super) fn figure_2(seed: u64) -> Result<Exhibit> {
    let mut exhibit = Exhibit::new(
        Paper::Op08,
        "Figure 2",
        "How far the two pages diverge from their first snapshot. The utility of a visit is the area above the curve, up to \
         where it has come.",
    );
    let mut utilities = Vec::new();
    for (name, history) in two_pages(seed)? {
        let (points, utility) = diverging(&history);
        utilities.push(utility);
        let end = points[UTILITY_SNAPSHOT];
        let mut area = points.clone();
        area.push((0.0, end.1));
        exhibit = exhibit
            .with_picture(
                Picture::new(name, Axis::linear("days"), Axis::linear("divergence").from_to(0.0, 1.0))
                    .with("utility", Mark::Area, area)
                    .with("divergence", Mark::Line, points),
            )
            .with_figures([
                Figure::new(name, "divergence after 40 days", end.1).on_our_world(),
                Figure::new(name, "utility of a visit then, days", utility).on_our_world(),
            ]);
    }
    Ok(exhibit
        .with_figures([Figure::new("utility of B over that of A", "", utilities[1] / utilities[0])
            .beside(Printed::above(1.0, 0))
            .on_our_world()])
        .with_remark(format!("{TWO_PAGES} (seed {seed}).")))
}

/// The correlation coefficient of pairs; none where one of the two is always the same.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).sum::<f64>() / n;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let product = |pick: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(pick).sum::<f64>();
    let (xx, yy) = (product(&|pair| (pair.0 - x).powi(2)), product(&|pair| (pair.1 - y).powi(2)));
    (xx * yy > 0.0).then(|| product(&|pair| (pair.0 - x) * (pair.1 - y)) / (xx * yy).sqrt())
}

/// Figure 3: change frequency against longevity, and of what content is made.
pub(super) fn figure_3(seed: u64) -> Result<Exhibit> {
    let pages = Collection::HighQuality.pages(1000, seed)?;
    let histories: Vec<&History> = pages.iter().map(|page| &page.history).collect();
    Ok(frequency_and_longevity("Figure 3", &histories).with_remark(format!(
        "The paper's pages are not public. On our world: 1000 pages of the generative model, half of them static, the others \
         churn (7 in 10), lists and churn (2) or lists (1), seen every second day for 60 days (seed {seed})."
    )))
}

/// Figure 3 of a trace; none where hardly a fragment was seen to come and go.
pub(super) fn traced_figure_3(trace: &Recording) -> Option<Exhibit> {
    let histories: Vec<&History> = trace.snapshots.iter().collect();
    let known = histories.iter().filter(|history| history.longevity().is_some()).count();
    (known >= 10).then(|| {
        frequency_and_longevity(&format!("Figure 3 ({})", trace.name), &histories).with_remark(format!(
            "The paper's pages are not public. On the trace {}: the last 30 snapshots, one every second day, of {} pages.",
            trace.name,
            histories.len()
        ))
    })
}

fn frequency_and_longevity(name: &str, histories: &[&History]) -> Exhibit {
    let points: Vec<(f64, f64)> =
        histories.iter().filter_map(|history| history.change_frequency().zip(history.longevity())).collect();
    let shares: Vec<(f64, f64)> = histories
        .iter()
        .map(|history| history.makeup())
        .map(|makeup| (makeup.churn_share, makeup.scroll_share))
        .collect();
    let churn: f64 = shares.iter().map(|share| share.0).sum();
    let scroll: f64 = shares.iter().map(|share| share.1).sum();
    let world = |what, ours, value| Figure::new(what, "", ours).beside(Printed::new(value, 2)).on_our_world();
    Exhibit::new(
        Paper::Op08,
        name,
        "How often a page changes against how many snapshots its fragments last on average: the one does not tell the other.",
    )
    .with_picture(
        Picture::new(
            "",
            Axis::linear("share of snapshots that differ from the last").from_to(0.0, 1.0),
            Axis::log("mean lifetime of fragments, snapshots"),
        )
        .with("a page", Mark::Dots, points.clone()),
    )
    .with_figures(correlation(&points).map(|of| world("correlation, without its sign", of.abs(), 0.67)))
    .with_figures([
        world("share of churn in the content that changes", churn / (churn + scroll), 0.67),
        world("share of lists in the content that changes", scroll / (churn + scroll), 0.33),
    ])
}

/// Figure 7: what a change profile leaves open.
pub(super) fn figure_7(_seed: u64) -> Result<Exhibit> {
    let seen = [(2.0, 0.2), (5.0, 0.2), (13.0, 0.3)];
    let period = |days: f64| Period::of(days, Unit::Day);
    let points = seen.iter().map(|&(day, share)| Point::new(period(day)?, share)).collect::<Result<Vec<_>>>()?;
    let bounds = Bounds::new(&points)?;
    let end = period(13.0)?;
    let (least, most) = bounds.area(end);
    let utility = bounds.utility(end);
    let bound = |side: fn(&Bounds, Period) -> f64| {
        let bounds = &bounds;
        curve(0.0, 13.0, 1300, move |day| period(day).map_or(0.0, |elapsed| side(bounds, elapsed)))
    };
    let under = |mut points: Vec<(f64, f64)>| {
        points.push((13.0, 0.0));
        points
    };
    // The paper draws a profile without numbers; the one of section 4.1 can be added up by hand.
    let hand =
        |row: &str, ours: f64, by_hand: f64| Figure::new(row, "days", ours / DAY).beside(Printed::formula(by_hand));
    Ok(Exhibit::new(
        Paper::Op08,
        "Figure 7",
        "What is known of the divergence between visits: it may have jumped right after one (upper bound) or right before the \
         next (lower bound).",
    )
    .with_picture(
        Picture::new("", Axis::linear("days since the base version"), Axis::linear("divergence").from_to(0.0, 0.35))
            .with("A_min", Mark::Area, under(bound(Bounds::lower)))
            .with("upper bound", Mark::Line, bound(Bounds::upper))
            .with("lower bound", Mark::Line, bound(Bounds::lower))
            .with("seen at visits", Mark::Dots, seen.to_vec()),
    )
    .with_figures([
        hand("A_min, least area", least, 11.0 * 0.2),
        hand("A_max, largest area", most, 5.0 * 0.2 + 8.0 * 0.3),
        hand("U_min, least utility", utility.low, 13.0 * 0.3 - 3.4),
        hand("U_max, largest utility", utility.high, 13.0 * 0.3 - 2.2),
    ])
    .with_remark("The profile is the paper's example in section 4.1; the printed column is its rule of section 4.3, added up by hand."))
}
