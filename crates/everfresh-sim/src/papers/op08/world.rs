//! Pages made by the generative model of section 3.3, seen every second day as the paper saw its own.

use everfresh::longevity::{Cut, Fragments, Generator, History, Region, Regions};
use everfresh::{Period, Rate, Result, Unit};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::papers::random;
use crate::papers::recording::STEP_S;

/// Days between two snapshots.
pub(super) const STEP_DAYS: f64 = 2.0;

/// Lines of a page.
const LINES: usize = 60;

/// The step as a period.
pub(super) fn step() -> Result<Period> {
    Period::of(STEP_DAYS, Unit::Day)
}

/// Snapshots of a page with these regions.
pub(super) fn history(regions: &Regions, lines: usize, snapshots: usize, rng: Xoshiro256PlusPlus) -> Result<History> {
    let mut page = Generator::new(regions, lines, rng)?;
    let mut fragments = Fragments::of(&page.text(), Cut::LINES);
    let mut versions = vec![(0, fragments.clone())];
    for number in 1..snapshots as u64 {
        if page.advance(step()?)? > 0 {
            fragments = Fragments::of(&page.text(), Cut::LINES);
        }
        versions.push((number * STEP_S, fragments.clone()));
    }
    History::new(versions)
}

/// Between two numbers, evenly by the logarithm.
fn between(low: f64, high: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
    low * (high / low).powf(rng.random::<f64>())
}

/// A collection of pages, as the paper has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collection {
    /// Half of the pages are static, nine tenths of the content.
    HighQuality,
    /// More content changes, and faster.
    Random,
}

impl Collection {
    /// Snapshots of every page, as many as the paper has.
    pub(super) const fn snapshots(self) -> usize {
        match self {
            Collection::HighQuality => 30,
            Collection::Random => 50,
        }
    }

    fn static_pages(self) -> f64 {
        if self == Collection::HighQuality { 0.5 } else { 0.3 }
    }

    fn churn(self, rng: &mut Xoshiro256PlusPlus) -> Result<Region> {
        let (share, per_day) = match self {
            Collection::HighQuality => (between(0.03, 0.4, rng), between(0.01, 3.0, rng)),
            Collection::Random => (between(0.05, 0.6, rng), between(0.02, 6.0, rng)),
        };
        Region::churn(share, Rate::per(per_day, Unit::Day)?)
    }

    fn scroll(self, rng: &mut Xoshiro256PlusPlus) -> Result<Region> {
        let items = [5, 10, 20, 40][rng.random_range(0..4)];
        let share = match self {
            Collection::HighQuality => between(0.08, 0.3, rng),
            Collection::Random => between(0.15, 0.4, rng),
        };
        Region::scroll(share, Rate::per(between(0.1, 2.0, rng), Unit::Day)?, items)
    }

    /// What a page is made of: of those that change 7 in 10 churn, 2 scroll and churn, 1 scrolls.
    fn regions(self, rng: &mut Xoshiro256PlusPlus) -> Result<Regions> {
        if rng.random::<f64>() < self.static_pages() {
            return Regions::new(&[]);
        }
        match rng.random::<f64>() {
            kind if kind < 0.7 => Regions::new(&[self.churn(rng)?]),
            kind if kind < 0.9 => Regions::new(&[self.churn(rng)?, self.scroll(rng)?]),
            _ => Regions::new(&[self.scroll(rng)?]),
        }
    }

    /// So many pages, made from a seed.
    pub(super) fn pages(self, count: u64, seed: u64) -> Result<Vec<Watched>> {
        let page = |number: u64| {
            let mut rng = random(seed, 800);
            // Each page has numbers of its own, whatever the others draw.
            rng = Xoshiro256PlusPlus::seed_from_u64(rng.random::<u64>() ^ number);
            let regions = self.regions(&mut rng)?;
            Ok(Watched::new(history(&regions, LINES, self.snapshots(), rng)?))
        };
        (0..count).into_par_iter().map(page).collect()
    }
}

/// A page with the divergence between all its snapshots.
pub(super) struct Watched {
    pub(super) history: History,
    /// `D(base, later)` by base and steps later.
    divergence: Vec<Vec<f64>>,
    pub(super) eagerness: f64,
}

/// `D(base, later)` by steps later, from none on: measured only where the page changed.
fn divergence_from(history: &History, base: usize) -> Vec<f64> {
    let mut divergence = vec![0.0];
    for pair in history.versions()[base..].windows(2) {
        let last = divergence[divergence.len() - 1];
        let is_same = pair[0].1 == pair[1].1;
        divergence.push(if is_same { last } else { history.versions()[base].1.distance(&pair[1].1) });
    }
    divergence
}

impl Watched {
    pub(super) fn new(history: History) -> Watched {
        let divergence = (0..history.versions().len()).map(|base| divergence_from(&history, base)).collect();
        // A page of which no three snapshots differ has nothing to interpolate.
        let eagerness = history.eagerness().unwrap_or(0.5);
        Watched { history, divergence, eagerness }
    }

    pub(super) fn snapshots(&self) -> usize {
        self.divergence.len()
    }

    /// The divergence of two snapshots, the base first.
    pub(super) fn divergence(&self, base: usize, later: usize) -> f64 {
        self.divergence[base][later - base]
    }

    /// Divergence from a base by steps later, from one on.
    pub(super) fn profile(&self, base: usize) -> &[f64] {
        &self.divergence[base][1..]
    }

    pub(super) fn is_static(&self) -> bool {
        self.history.changes() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the paper says of its collection holds of ours, roughly.
    #[test]
    fn half_of_the_pages_and_most_of_the_content_are_static() {
        let pages = Collection::HighQuality.pages(400, 5).unwrap();
        let fixed = pages.iter().filter(|page| page.is_static()).count();
        assert!((160..260).contains(&fixed), "{fixed}");
        let content: f64 = pages.iter().map(|page| page.history.makeup().static_share).sum::<f64>() / 400.0;
        assert!((0.85..0.95).contains(&content), "{content}");
    }
}
