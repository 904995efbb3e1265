//! Every policy at many budgets: the curves of cost against staleness of OP08 figures 6, 8, 9, 11 and 12.

use anyhow::Result;
use everfresh::Unit;
use everfresh_sim::Conditions;
use everfresh_sim::contest::{Contest, Entrant};
use everfresh_sim::entry::Entry;

use super::Runner;

/// A picture: what it shows, and the curve of each policy in it.
pub(super) struct Figure {
    pub words: String,
    pub curves: Vec<(Entry, Curve)>,
}

/// Visits per page and day, and what is left of divergence.
pub(super) type Curve = Vec<(f64, f64)>;

/// Factors of the budget.
const BUDGETS: [f64; 6] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0];

/// Pages of a sweep, at most.
const PAGES: usize = 2000;

/// Which part of the time counts.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// All but the warm-up that was asked for.
    Whole,
    /// The first half, in which policies learn.
    First,
    /// The second half, after they have learnt.
    Last,
    /// What follows the warm-up of CGM's policy.
    AfterWarmUp,
}

impl Part {
    fn of(self, conditions: Conditions, cgm: &Entry) -> Conditions {
        let half_s = conditions.duration_s / 2.0;
        match self {
            Part::Whole => conditions,
            Part::First => {
                Conditions { duration_s: half_s, warmup_s: conditions.warmup_s.min(half_s / 2.0), ..conditions }
            }
            Part::Last => Conditions { warmup_s: half_s.max(conditions.warmup_s), ..conditions },
            Part::AfterWarmUp => {
                let warm_up_s = cgm.warm_up_s(&conditions).min(half_s);
                Conditions { warmup_s: warm_up_s.max(conditions.warmup_s), ..conditions }
            }
        }
    }
}

/// What is drawn, and of whom.
struct Plan {
    words: &'static str,
    part: Part,
    entries: Vec<Entry>,
}

const TOLD: &str = "Told the truth, or nothing: cost against what is left of divergence (OP08 figure 6).";
const LEARNING: &str = "Who learns from its own visits, in the first half of the time (OP08 figure 8): learning costs visits, and \
                        little is known yet. The optimum and FS-D are told.";
const LEARNT: &str = "The same in the second half (OP08 figure 9), after they have learnt.";
const SAME_WARM_UP: &str = "Curve-fitting against CGM's policy, which sees only whether a page changed, after the same warm-up (OP08 \
                            figures 11 and 12).";
const HELD: &str = "Other crawlers' rules beside them: held to the same budgets.";
const OWN: &str = "Other crawlers' rules beside them: at the load they chose.";

/// The pictures that have somebody to show; references are drawn beside them.
fn plans(entries: &[Entry], are_held: bool) -> Vec<Plan> {
    let plan = |words, part, is_shown: &dyn Fn(Entrant) -> bool, is_reference: &dyn Fn(Entrant) -> bool| {
        let chosen = entries.iter().filter(|entry| is_shown(entry.entrant()) || is_reference(entry.entrant()));
        let is_any = entries.iter().any(|entry| is_shown(entry.entrant()));
        Plan { words, part, entries: if is_any { chosen.copied().collect() } else { Vec::new() } }
    };
    let told = |entrant: Entrant| !entrant.is_peer() && !entrant.learns();
    let bounds = |entrant| matches!(entrant, Entrant::Uniform | Entrant::Optimal | Entrant::FsD);
    let rivals = |entrant| matches!(entrant, Entrant::CurveFitting | Entrant::Cgm);
    let mut plans = vec![
        plan(TOLD, Part::Whole, &told, &Entrant::is_landmark),
        plan(LEARNING, Part::First, &Entrant::learns, &bounds),
        plan(LEARNT, Part::Last, &Entrant::learns, &bounds),
    ];
    let has = |wanted: Entrant| entries.iter().any(|entry| entry.entrant() == wanted);
    if has(Entrant::CurveFitting) && has(Entrant::Cgm) {
        plans.push(plan(SAME_WARM_UP, Part::AfterWarmUp, &rivals, &bounds));
    }
    plans.push(plan(if are_held { HELD } else { OWN }, Part::Whole, &Entrant::is_peer, &Entrant::is_landmark));
    plans.retain(|plan| !plan.entries.is_empty());
    plans
}

impl Runner<'_> {
    /// Every policy at an eighth to four times the budget; those that choose their own load at that.
    pub(super) fn sweep(&self, contest: &Contest<'_>, entries: &[Entry]) -> Result<Vec<Figure>> {
        let world = contest.world.sample(PAGES);
        let plans = plans(entries, contest.hold_peers);
        let all: usize = plans.iter().map(|plan| plan.entries.len()).sum();
        let cgm = *entries.iter().find(|entry| entry.entrant() == Entrant::Cgm).unwrap_or(&Entry::from(Entrant::Cgm));
        let (mut done, mut figures) = (0.0, Vec::new());
        for Plan { words, part, entries } in plans {
            let mut curves = Vec::new();
            for entry in entries {
                let contest = Contest { world: &world, seeds: 1, ..*contest };
                let curve = self.curve(&contest, entry, part, &cgm, done / all as f64)?;
                curves.push((entry, curve));
                done += 1.0;
            }
            figures.push(Figure { words: words.to_owned(), curves });
        }
        Ok(figures)
    }

    fn curve(&self, contest: &Contest<'_>, entry: Entry, part: Part, cgm: &Entry, share: f64) -> Result<Curve> {
        let own = entry.has_price() || entry.chooses_load() && !contest.hold_peers;
        let mut points = Vec::new();
        for factor in BUDGETS.iter().filter(|factor| !own || **factor == 1.0) {
            let budget = contest.conditions.budget * factor;
            let conditions = part.of(Conditions { budget, ..contest.conditions }, cgm);
            let contest = Contest { conditions, ..*contest };
            let entry = if part == Part::AfterWarmUp { entry.warmed_up_like(cgm, &conditions) } else { entry };
            let name = entry.entrant().name();
            for score in self.watched(share, 0.0, name, |watch| contest.run(entry, &watch))? {
                let left = 1.0 - contest.goal.reached(&score).mean;
                points.push((score.load() * Unit::Day.seconds(), left));
            }
        }
        Ok(points)
    }
}
