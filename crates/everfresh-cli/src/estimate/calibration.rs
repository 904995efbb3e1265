//! Do changes come as often as foreseen? The last visit of each page is foreseen from those before it.

use anyhow::Result;

use super::model::Model;
use super::report::Seen;
use crate::chart::{self, Dot};
use crate::output::{Grid, count, number, percent};

/// Classes of foreseen probabilities, of equally many pages, and pages of a class at least.
const CLASSES: usize = 10;
const FEWEST: usize = 20;

/// Pages of about the same foreseen probability of a change.
struct Class {
    pages: usize,
    foreseen: f64,
    seen: f64,
}

impl Class {
    /// By how much chance may move the share, 19 times in 20.
    fn by_chance(&self) -> f64 {
        1.96 * (self.foreseen * (1.0 - self.foreseen) / self.pages as f64).sqrt()
    }
}

/// What was foreseen of the last visits of some pages, and what they saw.
pub(super) struct Calibration {
    classes: Vec<Class>,
    pages: usize,
    /// The mean of ln P of what was seen.
    log_likelihood: f64,
}

/// Foresees the last observation of each page. The priors know of it, which for one observation in many does not count.
pub(super) fn of<M: Model>(model: &M, pages: &[Seen]) -> Calibration {
    let mut foreseen: Vec<(f64, bool)> = Vec::new();
    for page in pages {
        if let Some((last, before)) = page.visits.split_last().filter(|(_, before)| !before.is_empty()) {
            foreseen.push((model.foresee(page.group, before, last.elapsed()), last.has_changed()));
        }
    }
    foreseen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let log = |(p, changed): &(f64, bool)| if *changed { p.max(1e-12).ln() } else { (1.0 - p).max(1e-12).ln() };
    let log_likelihood = foreseen.iter().map(log).sum::<f64>() / foreseen.len().max(1) as f64;
    let class = |some: &[(f64, bool)]| Class {
        pages: some.len(),
        foreseen: some.iter().map(|(p, _)| p).sum::<f64>() / some.len() as f64,
        seen: some.iter().filter(|(_, changed)| *changed).count() as f64 / some.len() as f64,
    };
    let size = foreseen.len().div_ceil(CLASSES).max(FEWEST);
    let classes = foreseen.chunks(size).map(class).collect();
    Calibration { classes, pages: foreseen.len(), log_likelihood }
}

impl Calibration {
    /// Seen against foreseen; nothing without pages.
    pub(super) fn picture(&self) -> Result<String> {
        if self.pages == 0 {
            return Ok(String::new());
        }
        let dot = |class: &Class| Dot { x: class.foreseen, y: class.seen, spread: class.by_chance() };
        chart::calibration(&self.classes.iter().map(dot).collect::<Vec<_>>())
    }

    pub(super) fn words(&self) -> String {
        if self.pages == 0 {
            return "## Do changes come as often as foreseen?\n\nNo page was visited thrice: nobody knows.".to_owned();
        }
        let mut grid = Grid::new(&["foreseen", "seen", "by chance", "pages"]);
        for class in &self.classes {
            grid.row(vec![
                percent(class.foreseen),
                percent(class.seen),
                format!("+- {}", percent(class.by_chance())),
                class.pages.to_string(),
            ]);
        }
        format!(
            "## Do changes come as often as foreseen?\n\n{}\nThe last visit of {}, foreseen from those before it, {} of about the same probability of a change together.\n\
             Chance explains a distance as far as `by chance` 19 times in 20. The mean logarithm of the probability of what\n\
             was seen is {}.\n",
            grid.text(),
            count(self.pages as f64, "page"),
            self.classes.first().map_or(0, |class| class.pages),
            number(self.log_likelihood)
        )
    }
}
