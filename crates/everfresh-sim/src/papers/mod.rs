//! Every table and figure of the five papers, computed anew: ours beside the printed number.
//!
//! One function makes one [`Exhibit`]. Where a formula or printed data suffice, the numbers are judged: a number of ours
//! *matches* if it rounds to the print. What is wrong with the print is named as a slip and counted by itself. Where the
//! data of a paper are not public, a world of ours stands in, made from the seed: the numbers then stand side by side and
//! are not judged.

// Every exhibit is made by the same kind of function, whether or not it can fail.
#![allow(clippy::unnecessary_wraps)]

mod cgm00;
mod cgm03;
mod cgm99;
mod exhibit;
mod op08;
mod path;
mod recording;
mod rn15;

pub use exhibit::{Axis, Exhibit, Figure, Mark, Note, Paper, Picture, Printed, Scale, Series, Verdict};
pub use recording::Recording;

use everfresh::Result;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Makes an exhibit from the seed of its world.
type Maker = fn(u64) -> Result<Exhibit>;

/// Every exhibit of every paper, in order. The same seed gives the same exhibits, whatever the number of threads.
///
/// ```
/// use everfresh_sim::papers::{Verdict, all};
/// let exhibits = all(7)?;
/// let table_iv = exhibits.iter().find(|exhibit| exhibit.slug() == "cgm03-table-iv").ok_or(everfresh::Error::Empty("none"))?;
/// // Ten numbers; the first for age, 0.835, is printed as 0.84.
/// assert_eq!((table_iv.count(Verdict::Match), table_iv.count(Verdict::Near)), (9, 1));
/// # Ok::<(), everfresh::Error>(())
/// ```
pub fn all(seed: u64) -> Result<Vec<Exhibit>> {
    Paper::ALL.iter().map(|paper| of(*paper, seed)).collect::<Result<Vec<_>>>().map(|papers| papers.concat())
}

/// Every exhibit of one paper, in order.
pub fn of(paper: Paper, seed: u64) -> Result<Vec<Exhibit>> {
    let makers: &[Maker] = match paper {
        Paper::Cgm03 => &cgm03::EXHIBITS,
        Paper::Cgm99 => &cgm99::EXHIBITS,
        Paper::Cgm00 => &cgm00::EXHIBITS,
        Paper::Op08 => &op08::EXHIBITS,
        Paper::Rn15 => &rn15::EXHIBITS,
    };
    makers.par_iter().map(|make| make(seed)).collect()
}

/// The exhibits of a paper whose data are not public, of a recorded trace in their place: CGM03 figures 14, 15 and 17, and OP08 figures 3, 6 and
/// 8 to 11 where the trace has fragments, as far as it has pages that tell something of them.
pub fn of_trace(paper: Paper, trace: &Recording, seed: u64) -> Result<Vec<Exhibit>> {
    match paper {
        Paper::Cgm03 => cgm03::of_trace(trace, seed),
        Paper::Op08 => op08::of_trace(trace),
        Paper::Cgm99 | Paper::Cgm00 | Paper::Rn15 => Ok(Vec::new()),
    }
}

/// The random numbers of one exhibit: its own, so that exhibits do not depend on each other.
fn random(seed: u64, exhibit: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(1000).wrapping_add(exhibit))
}

/// A curve drawn through `steps + 1` evenly spaced places from `low` to `high`.
fn curve(low: f64, high: f64, steps: u32, y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let place = |i: u32| low + (high - low) * f64::from(i) / f64::from(steps);
    (0..=steps).map(place).map(|x| (x, y(x))).collect()
}

/// A curve drawn through places that are evenly spaced by their logarithms.
fn log_curve(low: f64, high: f64, steps: u32, y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    curve(low.ln(), high.ln(), steps, |x| y(x.exp())).into_iter().map(|(x, y)| (x.exp(), y)).collect()
}

/// The highest of some points.
fn peak(points: &[(f64, f64)]) -> (f64, f64) {
    let highest = points.iter().copied().filter(|(_, y)| !y.is_nan()).max_by(|a, b| a.1.total_cmp(&b.1));
    highest.unwrap_or((f64::NAN, f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    static EXHIBITS: LazyLock<Vec<Exhibit>> = LazyLock::new(|| all(7).unwrap());

    fn exhibits() -> &'static [Exhibit] {
        &EXHIBITS
    }

    /// A slip that would come out after all is none: then the note is wrong.
    #[test]
    fn slips_do_not_match() {
        for exhibit in exhibits() {
            for figure in exhibit.figures.iter().filter(|figure| figure.slip.is_some()) {
                let judged = Figure { slip: None, ..figure.clone() }.verdict();
                assert!([Verdict::Near, Verdict::Differs].contains(&judged), "{} {figure:?}", exhibit.slug());
            }
        }
    }

    #[test]
    fn names_are_told_apart() {
        let mut slugs: Vec<String> = exhibits().iter().map(Exhibit::slug).collect();
        let count = slugs.len();
        slugs.sort();
        slugs.dedup();
        assert_eq!(slugs.len(), count);
    }

    #[test]
    fn every_exhibit_shows_something() {
        for exhibit in exhibits() {
            let name = exhibit.slug();
            assert!(!exhibit.figures.is_empty() || !exhibit.pictures.is_empty(), "{name} is empty");
            assert!(!exhibit.caption.is_empty(), "{name} says nothing");
            for picture in &exhibit.pictures {
                assert!(!picture.series.is_empty(), "{name} has an empty picture");
                assert!(picture.series.iter().all(|series| !series.points.is_empty()), "{name}: an empty series");
            }
            assert!(exhibit.figures.iter().all(|figure| !figure.ours.is_nan()), "{name} has a number that is none");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_exhibits_on_any_number_of_threads() {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(format!("{:?}", exhibits()), format!("{:?}", alone.install(|| all(7).unwrap())));
        assert_ne!(format!("{:?}", of(Paper::Cgm03, 8).unwrap()), format!("{:?}", of(Paper::Cgm03, 7).unwrap()));
    }
}
