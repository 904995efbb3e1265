//! Figures 6 and 8 to 12: what policies cost, and how stale their copies are.

use std::ops::Range;

use everfresh::estimate::{Habits, Prior};
use everfresh::longevity::offline::Staleness;
use everfresh::longevity::{
    Beliefs, BoundBased, Cgm, ContentPrior, CurveFitting, LearningPhase, Memory, OnlinePolicy, RiskControl, WarmUp,
};
use everfresh::{Period, Rate, Result, Unit};

use super::replay::{Dynamic, Every, Online, Outcome, Static, replay};
use super::world::{Collection, STEP_DAYS, Watched, step};
use crate::papers::recording::Recording;
use crate::papers::{Axis, Exhibit, Figure, Mark, Paper, Picture, Printed};

/// Pages of a collection.
const PAGES: u64 = 300;

/// The prices at which a policy is tried, in days.
const PRICES: [f64; 11] = [0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.2, 2.0, 3.5, 6.0, 12.0];

/// Snapshots between uniform visits.
const PERIODS: [f64; 8] = [1.0, 1.25, 1.6, 2.0, 3.0, 5.0, 8.0, 14.0];

/// How much of every page is remembered where nothing is saved: h = 5 profiles, all fragments.
fn all_memory() -> Result<Memory> {
    Memory::new(5, 4096, 12)
}

/// Pages with their snapshots, and where they are from.
pub(super) struct Stage {
    pages: Vec<Watched>,
    made: String,
    /// Stands behind the names of figures.
    of: String,
}

impl Stage {
    /// Pages of the generative model.
    fn modelled(collection: Collection, seed: u64) -> Result<Stage> {
        Ok(Stage { pages: collection.pages(PAGES, seed)?, made: made(collection, seed), of: String::new() })
    }

    /// Recorded pages; none where there are too few that change.
    pub(super) fn recorded(trace: &Recording) -> Option<Stage> {
        let pages: Vec<Watched> = trace.snapshots.iter().cloned().map(Watched::new).collect();
        let changing = pages.iter().filter(|page| !page.is_static()).count();
        let made = format!(
            "The paper's pages are not public. On the trace {}: the last 30 snapshots, one every second day, of {} pages, of which {changing} \
             changed meanwhile.",
            trace.name,
            pages.len()
        );
        (changing >= 10).then(|| Stage { pages, made, of: format!(" ({})", trace.name) })
    }

    fn snapshots(&self) -> usize {
        self.pages.first().map_or(0, Watched::snapshots)
    }

    /// With so much of it counting.
    fn trial(&self, window: Range<usize>) -> Trial<'_> {
        Trial { pages: &self.pages, window }
    }

    /// An exhibit of policies: their curves, and how stale each is at the same cost.
    fn exhibit(&self, name: &str, caption: &str, policies: &[Named], cost: f64) -> Exhibit {
        exhibit(&format!("{name}{}", self.of), caption, policies, cost).with_remark(self.made.clone())
    }
}

/// A collection, and the snapshots that count.
struct Trial<'a> {
    pages: &'a [Watched],
    window: Range<usize>,
}

impl Trial<'_> {
    /// Every page that changes equally often, as the paper has it; or all, as one who does not know which do must.
    fn uniform(&self, knows_static: bool) -> Result<Vec<Outcome>> {
        let period =
            |page: &Watched, period: f64| if knows_static && page.is_static() { f64::INFINITY } else { period };
        let at =
            |every: f64| replay(self.pages, &self.window, |number, page| Ok(Every::new(period(page, every), number)));
        PERIODS.into_iter().map(at).collect()
    }

    /// The outcomes at every price.
    fn priced(&self, at: impl Fn(&Trial<'_>, Period) -> Result<Outcome>) -> Result<Vec<Outcome>> {
        PRICES.into_iter().map(|days| at(self, Period::of(days, Unit::Day)?)).collect()
    }

    fn dynamic(&self, staleness: Staleness) -> Result<Vec<Outcome>> {
        self.priced(|trial, price| replay(trial.pages, &trial.window, |_, page| Dynamic::new(staleness, page, price)))
    }

    fn online<P: OnlinePolicy + Sync>(
        &self,
        memory: Memory,
        policy: impl Fn(Period) -> Result<P>,
    ) -> Result<Vec<Outcome>> {
        self.priced(|trial, price| {
            let policy = policy(price)?;
            replay(trial.pages, &trial.window, |_, page| Online::new(&policy, memory, page))
        })
    }

    fn curve_fitting(&self, memory: Memory) -> Result<Vec<Outcome>> {
        // Learning costs visits: the dearer they are, the slower it goes.
        self.online(memory, |price| {
            let learning = Period::of((4.0 * price.days()).max(STEP_DAYS), Unit::Day)?;
            LearningPhase::new(fitting(price)?, learning)
        })
    }

    fn bound_based(&self, memory: Memory) -> Result<Vec<Outcome>> {
        self.online(memory, |price| RiskControl::new(BoundBased::new(price, step()?)?, price, 10.0))
    }
}

/// What the curve-fitting policy believes before a visit: a change in two weeks, give or take, and nothing of depth.
fn fitting(price: Period) -> Result<CurveFitting> {
    let rate = Prior::new(0.5, Rate::per(1.0 / 14.0, Unit::Day)?)?;
    CurveFitting::new(price, Beliefs { rate, habits: Habits::STEADY, content: ContentPrior::default() })
}

/// How stale copies are at a cost, between the outcomes next to it.
fn staleness_at(outcomes: &[Outcome], cost: f64) -> f64 {
    let points: Vec<(f64, f64)> = outcomes.iter().map(|outcome| (outcome.cost, outcome.staleness)).collect();
    between(points, cost)
}

/// What it costs to be so stale.
fn cost_at(outcomes: &[Outcome], staleness: f64) -> f64 {
    let points: Vec<(f64, f64)> = outcomes.iter().map(|outcome| (outcome.staleness, outcome.cost)).collect();
    between(points, staleness)
}

/// On straight lines through points; beyond them as at the last.
fn between(mut points: Vec<(f64, f64)>, x: f64) -> f64 {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let next = points.partition_point(|point| point.0 < x).clamp(1, points.len() - 1);
    let ((x0, y0), (x1, y1)) = (points[next - 1], points[next]);
    if x1 == x0 { y0 } else { y0 + (y1 - y0) * ((x - x0) / (x1 - x0)).clamp(0.0, 1.0) }
}

/// Named outcomes.
type Named = (&'static str, Vec<Outcome>);

/// An exhibit of policies: their curves, and how stale each is at the same cost.
fn exhibit(name: &str, caption: &str, policies: &[Named], cost: f64) -> Exhibit {
    let axes = Picture::new(
        "",
        Axis::linear("visits per page and snapshot").from_to(0.0, 0.5),
        Axis::linear("mean divergence of copies"),
    );
    let picture = policies.iter().fold(axes, |picture, (name, outcomes)| {
        let mut points: Vec<(f64, f64)> = outcomes.iter().map(|outcome| (outcome.cost, outcome.staleness)).collect();
        // Where visits are rare several prices cost the same: the curve falls through them.
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        picture.with(*name, Mark::Line, points.clone()).with(format!("{name}, at a price"), Mark::Dots, points)
    });
    let figure = |(name, outcomes): &Named| {
        Figure::new(*name, format!("divergence at {cost} visits"), staleness_at(outcomes, cost)).on_our_world()
    };
    Exhibit::new(Paper::Op08, name, caption).with_picture(picture).with_figures(policies.iter().map(figure))
}

/// How this world was made.
fn made(collection: Collection, seed: u64) -> String {
    let like = if collection == Collection::HighQuality {
        "half of them static"
    } else {
        "three in ten static, changing faster"
    };
    format!(
        "The paper's pages are not public. On our world: {PAGES} pages of the generative model, {like}, {} snapshots every \
         second day (seed {seed}).",
        collection.snapshots()
    )
}

/// Figure 6: policies that know the histories beforehand.
pub(super) fn figure_6(seed: u64) -> Result<Exhibit> {
    offline(&Stage::modelled(Collection::HighQuality, seed)?)
}

pub(super) fn offline(stage: &Stage) -> Result<Exhibit> {
    let trial = stage.trial(0..29);
    let by_fragments =
        trial.priced(|trial, price| replay(trial.pages, &trial.window, |_, page| Static::by_fragments(page, price)))?;
    let by_changes =
        trial.priced(|trial, price| replay(trial.pages, &trial.window, |_, page| Static::by_changes(page, price)))?;
    let policies = [
        ("uniform", trial.uniform(true)?),
        ("HS-S", by_changes),
        ("FS-S", by_fragments),
        ("HS-D", trial.dynamic(Staleness::Holistic)?),
        ("FS-D", trial.dynamic(Staleness::Fragment)?),
    ];
    let caption = "What offline policies cost and how stale copies are: by whether pages change (HS) or by how much of them does \
                   (FS), from means (S) or from what really happened (D). Lower and further left is better.";
    Ok(stage.exhibit("Figure 6", caption, &policies, 0.1))
}

/// The policies of figures 8 and 9.
fn learning(stage: &Stage, window: Range<usize>) -> Result<[Named; 5]> {
    let trial = stage.trial(window);
    Ok([
        ("uniform, all pages", trial.uniform(false)?),
        ("uniform, told which are static", trial.uniform(true)?),
        ("bound-based", trial.bound_based(all_memory()?)?),
        ("curve-fitting", trial.curve_fitting(all_memory()?)?),
        ("FS-D", trial.dynamic(Staleness::Fragment)?),
    ])
}

const ONLINE: &str = "Five profiles a page, all fragments; the bound-based policy risks ten times the price, the curve-fitting one learns \
                      in steps of four times the price, at least two days. The paper's uniform policy is told which pages never change; in 60 \
                      days policies that must find out do not make up for that here.";

/// Figure 8: while they learn.
pub(super) fn figure_8(seed: u64) -> Result<Exhibit> {
    let caption = "Policies that learn from their own visits, in the first 30 days: about as good as uniform visits to all pages.";
    beginning(&Stage::modelled(Collection::HighQuality, seed)?, caption)
}

pub(super) fn beginning(stage: &Stage, caption: &str) -> Result<Exhibit> {
    Ok(stage.exhibit("Figure 8", caption, &learning(stage, 0..15)?, 0.2).with_remark(ONLINE))
}

/// Figure 9: when they have learnt.
pub(super) fn figure_9(seed: u64) -> Result<Exhibit> {
    let caption = "The same in the last 30 days: both are better than uniform visits to all pages. FS-D knows what no online policy can.";
    learnt(&Stage::modelled(Collection::HighQuality, seed)?, caption)
}

pub(super) fn learnt(stage: &Stage, caption: &str) -> Result<Exhibit> {
    Ok(stage.exhibit("Figure 9", caption, &learning(stage, 15..29)?, 0.2).with_remark(ONLINE))
}

/// Figure 10: with less memory.
pub(super) fn figure_10(seed: u64) -> Result<Exhibit> {
    with_less_memory(&Stage::modelled(Collection::HighQuality, seed)?)
}

pub(super) fn with_less_memory(stage: &Stage) -> Result<Exhibit> {
    let trial = stage.trial(15..29);
    let small = Memory::SMALL;
    let policies = [
        ("bound-based, all", trial.bound_based(all_memory()?)?),
        ("bound-based, m = 8, h = 1", trial.bound_based(small)?),
        ("curve-fitting, all", trial.curve_fitting(all_memory()?)?),
        ("curve-fitting, m = 8, h = 1", trial.curve_fitting(small)?),
    ];
    let caption = "What saving memory costs: one profile and eight fragments a page, at most 128 bytes, against five profiles and \
                   all fragments.";
    Ok(stage.exhibit("Figure 10", caption, &policies, 0.2).with_remark(ONLINE))
}

/// Curve-fitting and CGM after the same warm-up of five visits, 30 days.
fn against_cgm(stage: &Stage) -> Result<[Named; 3]> {
    let trial = stage.trial(15..stage.snapshots() - 1);
    let memory = all_memory()?;
    Ok([
        ("uniform, all pages", trial.uniform(false)?),
        ("CGM", trial.online(memory, |price| WarmUp::new(Cgm::new(price)?, step()?, 5))?),
        ("curve-fitting", trial.online(memory, |price| WarmUp::new(fitting(price)?, step()?, 5))?),
    ])
}

/// Figure 11: against the policy of CGM.
pub(super) fn figure_11(seed: u64) -> Result<Exhibit> {
    let stage = Stage::modelled(Collection::HighQuality, seed)?;
    let remark = "Curve-fitting saved the paper half of the visits; on our world it saves about a tenth.";
    Ok(beside_cgm(&stage)?.with_remark(remark))
}

pub(super) fn beside_cgm(stage: &Stage) -> Result<Exhibit> {
    let policies = against_cgm(stage)?;
    let target = staleness_at(&policies[2].1, 0.2);
    let caption = "Curve-fitting against the policy of Cho and Garcia-Molina, which sees only whether a page changed, after the same \
                   warm-up.";
    Ok(stage.exhibit("Figure 11", caption, &policies, 0.2).with_figures([Figure::new(
        "visits that CGM needs to be as close as curve-fitting with 0.2",
        "",
        cost_at(&policies[1].1, target),
    )
    .beside(Printed::new(0.4, 1))
    .on_our_world()]))
}

/// Figure 12: the same on pages that change more.
pub(super) fn figure_12(seed: u64) -> Result<Exhibit> {
    let caption = "The same on pages of which more changes, and faster: staleness cannot be brought as low.";
    let stage = Stage::modelled(Collection::Random, seed)?;
    Ok(stage
        .exhibit("Figure 12", caption, &against_cgm(&stage)?, 0.2)
        .with_remark("The paper saw curve-fitting ahead here too; on our world the two are about equal."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divergences(exhibit: &Exhibit) -> Vec<(&str, f64)> {
        exhibit.figures.iter().map(|figure| (figure.row.as_str(), figure.ours)).collect()
    }

    fn of(named: &[(&str, f64)], name: &str) -> f64 {
        named.iter().find(|(found, _)| *found == name).unwrap().1
    }

    /// What the paper finds, on other worlds: fragments tell more than changes, and knowing what happened most of all.
    #[test]
    fn offline_policies_rank_as_in_the_paper() {
        for seed in [1, 2, 3] {
            let exhibit = figure_6(seed).unwrap();
            let at = divergences(&exhibit);
            let [uniform, fs_s, hs_s, fs_d, hs_d] =
                ["uniform", "FS-S", "HS-S", "FS-D", "HS-D"].map(|name| of(&at, name));
            assert!(fs_d < hs_d && fs_d < fs_s && fs_s < hs_s && fs_s < uniform, "{seed}: {at:?}");
        }
    }

    #[test]
    fn online_policies_rank_as_in_the_paper() {
        for seed in [1, 2, 3] {
            let steady = figure_9(seed).unwrap();
            let at = divergences(&steady);
            for name in ["bound-based", "curve-fitting"] {
                assert!(
                    of(&at, name) < of(&at, "uniform, all pages") && of(&at, name) > of(&at, "FS-D"),
                    "{seed}: {at:?}"
                );
            }
            let rivals = figure_11(seed).unwrap();
            let at = divergences(&rivals);
            assert!(of(&at, "curve-fitting") < of(&at, "CGM"), "{seed}: {at:?}");
        }
    }

    #[test]
    fn straight_lines_go_through_points_and_end_with_them() {
        let points = vec![(2.0, 5.0), (1.0, 3.0), (4.0, 5.0)];
        let at = |x| between(points.clone(), x);
        assert_eq!([at(0.0), at(1.0), at(1.5), at(3.0), at(9.0)], [3.0, 3.0, 4.0, 5.0, 5.0]);
    }
}
