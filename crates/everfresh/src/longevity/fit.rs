use super::Point;
use crate::curve::{Churn, DivergenceCurve, Lomax, Scaled, Scroll};
use crate::units::{Period, Rate};
use std::sync::LazyLock;

/// A divergence curve fitted to points: small and `Copy`, kept with its page (OP08 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fitted {
    /// The page was never seen to differ.
    Static,
    /// A region that is overwritten.
    Churn(Churn),
    /// A list that scrolls.
    Scroll(Scroll),
    /// Too few points for either: a rate known only as a gamma posterior, times the mean divergence of a change.
    Lomax(Scaled<Lomax>),
}

/// A static page is a curve too: it stays at zero.
macro_rules! of_curve {
    ($self:expr, $static:expr, $method:ident($($argument:expr),*)) => {
        match $self {
            Fitted::Static => $static,
            Fitted::Churn(curve) => curve.$method($($argument),*),
            Fitted::Scroll(curve) => curve.$method($($argument),*),
            Fitted::Lomax(curve) => curve.$method($($argument),*),
        }
    };
}

impl DivergenceCurve for Fitted {
    fn divergence(&self, elapsed: Period) -> f64 {
        of_curve!(self, 0.0, divergence(elapsed))
    }

    fn slope(&self, elapsed: Period) -> f64 {
        of_curve!(self, 0.0, slope(elapsed))
    }

    fn area(&self, elapsed: Period) -> f64 {
        of_curve!(self, 0.0, area(elapsed))
    }

    fn utility(&self, elapsed: Period) -> f64 {
        of_curve!(self, 0.0, utility(elapsed))
    }

    fn ceiling(&self) -> f64 {
        of_curve!(self, 0.0, ceiling())
    }

    fn period(&self, utility: f64) -> Period {
        let never = if utility > 0.0 { Period::NEVER } else { Period::ZERO };
        of_curve!(self, never, period(utility))
    }
}

/// Fits a divergence curve to points by least squares, churn or scroll, whichever explains them better.
///
/// Churn is `d (1 - e^-λt)`, scroll the curve of a list of K items with the share a of the page ([`Scroll`]); d and a are at
/// most 1, and what is left of 1 is the static share of the page, the floor under how alike two versions remain. The
/// paper takes the closer fit; since a list has one parameter more and churn among its cases (K = 1), it here must be closer
/// by more than that explains: the smaller `AICc` (Hurvich & Tsai 1989) wins, with 2 and 3 parameters and the unknown
/// error. That criterion exists from 5 points for churn and from 6 for scroll: with fewer points, of which three parameters
/// would explain anything, the answer is `few`. Points that never differ make [`Fitted::Static`].
///
/// Points may fall (fragments that come back, OP08 footnote 3) and come in any order: the curve goes between them.
///
/// For a given K and rate the depth is a linear least-squares problem, so that only the rate is searched for (variable
/// projection), by tables of the shapes of lists of 1 to 100 items, neighbours a fifth to a half apart. Longer lists look like those
/// of 100: straight lines until all is replaced.
///
/// ```
/// use everfresh::curve::{Churn, DivergenceCurve, Lomax, Scaled};
/// use everfresh::longevity::{Fitted, Point, fit};
/// use everfresh::{Period, Unit};
/// // A region that is overwritten twice a day, where a change moves 0.3 of the page, seen every six hours.
/// let truth = Churn::new("2/day".parse()?, 0.3)?;
/// let at = |n| Period::of(6.0 * f64::from(n), Unit::Hour);
/// let points = (1..=8).map(|n| Point::new(at(n)?, truth.divergence(at(n)?))).collect::<Result<Vec<_>, _>>()?;
/// let few = Scaled::new(Lomax::with_mean_rate(0.5, "1/month".parse()?)?, 0.1)?;
/// let Fitted::Churn(churn) = fit(&points, few) else { panic!("no churn") };
/// assert!((churn.depth() - 0.3).abs() < 0.003);
/// assert!((churn.rate().per_day() - 2.0).abs() < 0.05);
/// # Ok::<(), everfresh::Error>(())
/// ```
pub fn fit(points: &[Point], few: Scaled<Lomax>) -> Fitted {
    let sample = Sample::of(points);
    if points.len() < FEWEST {
        return Fitted::Lomax(few);
    }
    if sample.squares == 0.0 {
        return Fitted::Static;
    }
    let churn = sample.search(0);
    let scroll = sample.best_list(churn);
    let better = if sample.criterion(&scroll) < sample.criterion(&churn) { scroll } else { churn };
    better.curve().unwrap_or(Fitted::Static)
}

/// The churn curve that is closest to the points, however few: static without any that differ (OP08 section 4.2, step 2).
pub fn fit_churn(points: &[Point]) -> Fitted {
    let sample = Sample::of(points);
    if sample.squares == 0.0 {
        return Fitted::Static;
    }
    sample.search(0).curve().unwrap_or(Fitted::Static)
}

/// The scroll curve (K > 1) that is closest to the points, however few: static without any that differ (OP08 section 4.2,
/// step 2).
pub fn fit_scroll(points: &[Point]) -> Fitted {
    let sample = Sample::of(points);
    if sample.squares == 0.0 {
        return Fitted::Static;
    }
    sample.best_list(sample.search(0)).curve().unwrap_or(Fitted::Static)
}

/// The points from which `AICc` exists for churn: two parameters, the error, and two more.
const FEWEST: usize = 5;

/// The numbers of items that there are tables for.
const SIZES: [u32; 18] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100];

/// The places of those that are tried first, and then how far from the best of them others are: the error has one valley.
const FIRST_SIZES: [usize; 5] = [1, 4, 8, 12, 17];
const NEARER: [usize; 2] = [2, 1];

/// Points as the search wants them: logarithms of time, so that another rate is another offset.
struct Sample {
    log_times: Vec<f64>,
    divergences: Vec<f64>,
    squares: f64,
    earliest: f64,
    latest: f64,
}

/// A curve on trial: `depth` times the shape of a list whose items, one after the other, last `e^-log_pace` seconds in all.
#[derive(Clone, Copy, Debug)]
struct Trial {
    size: usize,
    log_pace: f64,
    depth: f64,
    error: f64,
    step: f64,
}

/// The steps of the first search, in logarithms: the error of a fit is smooth on that scale.
const STRIDE: f64 = 0.6;

/// A valley of the grid is refined if its error is at most so many times the least.
const NEARLY: f64 = 1.1;

impl Sample {
    fn of(points: &[Point]) -> Sample {
        let log_times: Vec<f64> = points.iter().map(|point| point.elapsed().seconds().ln()).collect();
        let divergences: Vec<f64> = points.iter().map(Point::divergence).collect();
        Sample {
            squares: divergences.iter().map(|d| d * d).sum(),
            earliest: log_times.iter().copied().fold(f64::INFINITY, f64::min),
            latest: log_times.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            log_times,
            divergences,
        }
    }

    /// The best depth for a size and pace, what it leaves unexplained, and the Gauss-Newton step of the pace. `shape_depth`
    /// is a guess of the depth, on which the shape depends a little.
    fn trial(&self, size: usize, log_pace: f64, shape_depth: f64) -> Trial {
        let row = Row::of(size, shape_depth);
        // Sums of shape, its slope and the data, each times each.
        let (mut sd, mut ss, mut gd, mut gs, mut gg) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (log_time, divergence) in self.log_times.iter().zip(&self.divergences) {
            let (shape, slope) = row.at(log_time + log_pace);
            sd += shape * divergence;
            ss += shape * shape;
            gd += slope * divergence;
            gs += slope * shape;
            gg += slope * slope;
        }
        let free = sd / ss;
        let depth = free.clamp(0.0, 1.0);
        // A depth that is free takes the part of the step that it can explain itself.
        let steepness = if free < 1.0 { gg - gs * gs / ss } else { gg };
        let step = (gd - depth * gs) / (depth * steepness);
        let error = (self.squares - depth * (2.0 * sd - depth * ss)).max(0.0);
        Trial { size, log_pace, depth, error, step: if step.is_finite() { step.clamp(-STRIDE, STRIDE) } else { 0.0 } }
    }

    /// The best pace: the valleys of a coarse grid that are nearly as deep as the deepest, each refined. Scattered points may have two
    /// valleys, of which the grid cannot tell the deeper.
    fn search(&self, size: usize) -> Trial {
        let grid = self.scan(size);
        let error = |i: usize| grid.get(i).map_or(f64::INFINITY, |trial| trial.error);
        let least = grid.iter().map(|trial| trial.error).fold(f64::INFINITY, f64::min);
        let is_valley = |i: &usize| {
            let here = error(*i);
            here <= error(i.wrapping_sub(1)) && here <= error(i + 1) && here <= NEARLY * least
        };
        let valleys = (0..grid.len()).filter(is_valley).map(|i| self.refine(grid[i]));
        valleys.min_by(|a, b| a.error.total_cmp(&b.error)).unwrap_or_else(|| self.refine(grid[0]))
    }

    /// Trials on a coarse grid of paces: from a page of which a twentieth was replaced at the last point to one that
    /// was replaced ten times over before the first.
    fn scan(&self, size: usize) -> Vec<Trial> {
        let (from, to) = (-self.latest - 3.0, -self.earliest + 2.4);
        let mut trials = vec![self.trial(size, from, 0.5)];
        let (mut pace, mut depth) = (from + STRIDE, trials[0].depth);
        while pace < to {
            let trial = self.trial(size, pace, depth);
            depth = trial.depth;
            trials.push(trial);
            pace += STRIDE;
        }
        trials
    }

    /// The best pace around that of a trial, by Gauss and Newton, halving steps that lead up; the depth that the shape assumes
    /// follows.
    fn refine(&self, start: Trial) -> Trial {
        let mut best = self.trial(start.size, start.log_pace, start.depth);
        let mut step = best.step;
        for _ in 0..6 {
            let next = self.trial(best.size, best.log_pace + step, best.depth);
            if next.error < best.error {
                best = next;
                step = next.step;
            } else {
                step /= 2.0;
            }
            if step.abs() < 1e-3 {
                break;
            }
        }
        best
    }

    /// The best list. The time that a list takes hardly depends on its length, so that each length starts where the one before it
    /// ended; the longest lists, the least like churn, are searched for on their own.
    fn best_list(&self, churn: Trial) -> Trial {
        let mut best = self.search(SIZES.len() - 1);
        let mut last = churn;
        for size in FIRST_SIZES {
            last = self.refine(Trial { size, ..last });
            if last.error < best.error {
                best = last;
            }
        }
        for stride in NEARER {
            let middle = best;
            for size in [middle.size.saturating_sub(stride).max(1), (middle.size + stride).min(SIZES.len() - 1)] {
                let trial = self.refine(Trial { size, ..middle });
                if trial.error < best.error {
                    best = trial;
                }
            }
        }
        best
    }

    /// `AICc` of a trial: `n ln(error/n) + 2k + 2k(k+1)/(n-k-1)`, k counting the unknown error. Infinite without enough points.
    fn criterion(&self, trial: &Trial) -> f64 {
        let n = self.divergences.len() as f64;
        let k = if trial.size == 0 { 3.0 } else { 4.0 };
        if n < k + 2.0 {
            return f64::INFINITY;
        }
        let variance = (trial.error / n).max(FINEST * FINEST);
        n * variance.ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0)
    }
}

/// Errors below this are none: the tables are no finer, and no measured divergence is.
const FINEST: f64 = 1e-3;

impl Trial {
    /// The exact curve; none of no depth.
    fn curve(&self) -> Option<Fitted> {
        let items = SIZES[self.size];
        let rate = Rate::estimated(self.log_pace.exp() * f64::from(items));
        if self.size == 0 {
            return Churn::new(rate, self.depth).ok().map(Fitted::Churn);
        }
        Scroll::new(rate, items, share_of_depth(self.depth)).ok().map(Fitted::Scroll)
    }
}

/// The share a of a page whose full replacement moves it by the depth `d = 2a/(1+a)`.
fn share_of_depth(depth: f64) -> f64 {
    depth / (2.0 - depth)
}

/// Tables of the shapes `D(t)/D(∞)` of lists, over `ln(λt/K)` and the share of the page.
struct Shapes {
    rows: Vec<[f32; COLUMNS]>,
}

const SHARES: usize = 5;
const COLUMNS: usize = 385;
/// The first column, as `ln(λt/K)`: a ten-thousandth of full replacement. The last is beyond full replacement.
const FIRST: f64 = -9.0;
const STEP: f64 = 1.0 / 32.0;
const LAST_PLACE: f64 = (COLUMNS - 1) as f64;

static SHAPES: LazyLock<Shapes> = LazyLock::new(Shapes::new);

impl Shapes {
    fn new() -> Shapes {
        let shares = |size: u32| (0..SHARES).map(move |i| (size, i as f64 / (SHARES - 1) as f64));
        let rows = SIZES.into_iter().flat_map(shares).map(|(size, share)| shape_row(size, share)).collect();
        Shapes { rows }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "seven digits of a shape suffice for the search")]
fn shape_row(size: u32, share: f64) -> [f32; COLUMNS] {
    // A share of 0 is the limit in which fragments replaced and divergence are proportional.
    let list = Scroll::new(Rate::estimated(f64::from(size)), size, share.max(1e-9));
    std::array::from_fn(|column| {
        let elapsed = Period::raw((FIRST + STEP * column as f64).exp());
        list.as_ref().map_or(1.0, |list| (list.divergence(elapsed) / list.divergence(Period::NEVER)) as f32)
    })
}

/// The shape for one size and share, between two rows of the table.
struct Row {
    low: &'static [f32; COLUMNS],
    high: &'static [f32; COLUMNS],
    part: f64,
}

impl Row {
    fn of(size: usize, depth: f64) -> Row {
        let place = share_of_depth(depth) * (SHARES - 1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a depth is between 0 and 1")]
        let index = (place as usize).min(SHARES - 2);
        let rows = &SHAPES.rows[size * SHARES + index..];
        Row { low: &rows[0], high: &rows[1], part: place - index as f64 }
    }

    /// The shape at `ln(λt/K)` and its slope there. Without branches: this is all that the search does.
    #[inline(always)]
    fn at(&self, log: f64) -> (f64, f64) {
        // Before the first column the shape is nil for any purpose; after the last it is level.
        let place = ((log - FIRST) / STEP).clamp(0.0, LAST_PLACE);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the table")]
        let index = (place as u32 as usize).min(COLUMNS - 2);
        let mixed = |column: usize| {
            let (low, high) = (f64::from(self.low[column]), f64::from(self.high[column]));
            low + self.part * (high - low)
        };
        let (here, next) = (mixed(index), mixed(index + 1));
        (here + (place - index as f64) * (next - here), (next - here) / STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fitted_curve_takes_32_bytes() {
        assert_eq!(size_of::<Fitted>(), 32);
    }

    #[test]
    fn the_tables_are_the_curves() {
        for (index, size) in SIZES.into_iter().enumerate() {
            for share in [0.02, 0.1, 0.3, 0.6, 0.9, 1.0] {
                let list = Scroll::new(Rate::estimated(f64::from(size)), size, share).unwrap();
                let depth = list.divergence(Period::NEVER);
                for i in -80..=40 {
                    let log = f64::from(i) / 10.0 + 0.013;
                    let exact = list.divergence(Period::raw(log.exp()));
                    let found = depth * Row::of(index, depth).at(log).0;
                    assert!((found - exact).abs() < 1.5e-3, "K = {size}, a = {share}, {log}: {found} {exact}");
                }
            }
        }
    }
}
