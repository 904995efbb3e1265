//! The optimal plan for columns of any length, in three passes.
//!
//! At price T a page is visited with `f = λ / u^-1(T y)`, `y = c λ^p / w`: the whole demand depends on the pages only through
//! the distribution of y, weighted with `c λ`. So
//!
//! 1. one pass gathers that distribution in a [`Histogram`] of log y, in which the price is a root of a function of one
//!    number, found in microseconds however many pages there are;
//! 2. one pass at that price sums what is spent and its slope, and corrects the price;
//! 3. one pass writes the frequencies, and checks what they spend.
//!
//! Chunks of fixed size are added up in their order: the result does not depend on the number of threads. It equals
//! [`Plan`](super::Plan) to nine digits, which is what the tables of [`Reciprocal`] hold.

use rayon::prelude::*;

use crate::error::{Error, LARGEST, Result, SMALLEST, magnitude};
use crate::kernel::Reciprocal;
use crate::numeric::{Evaluation, Sum, solve};
use crate::order::Objective;

/// Calls a method with the power of the objective as a constant, so that the loops over pages do not ask for it.
macro_rules! by_power {
    ($objective:expr, $this:ident . $method:ident ( $($argument:expr),* )) => {
        if $objective.time_power() == 2 { $this.$method::<true>($($argument),*) } else { $this.$method::<false>($($argument),*) }
    };
}

/// Pages in columns: rates in changes per any one unit of time; a missing column is all ones.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// λ: 0 for a static page, or between 1e-20 and 1e20.
    pub rate: &'a [f64],
    /// w: 0, or between 1e-20 and 1e20.
    pub weight: Option<&'a [f64]>,
    /// c: between 1e-20 and 1e20.
    pub cost: Option<&'a [f64]>,
}

/// What a plan of columns comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// T, in weight x time (squared for age) per cost, in the unit of the rates; 0 where no page wants a visit.
    pub price: f64,
    /// What the frequencies spend, per the same unit: the budget, but for one part in a billion.
    pub spent: f64,
}

/// Pages that are handled together: large enough that adding up histograms costs nothing, small enough to share out.
const CHUNK: usize = 1 << 20;

/// Chunks whose histograms are held at the same time.
const TOGETHER: usize = 64;

/// The spending error that is accepted, relative to the budget.
const TOLERANCE: f64 = 5e-10;

/// Fills `frequencies` with the optimal plan under fixed order that spends `budget`.
///
/// ```
/// use everfresh::Objective;
/// use everfresh::plan::stream::{Columns, plan};
/// // CGM03 Table IV.
/// let columns = Columns { rate: &[1.0, 2.0, 3.0, 4.0, 5.0], weight: None, cost: None };
/// let mut frequencies = [0.0; 5];
/// plan(columns, Objective::Freshness, 5.0, &mut frequencies)?;
/// assert_eq!(frequencies.map(|f| format!("{f:.3}")), ["1.150", "1.358", "1.354", "1.138", "0.000"]);
/// # Ok::<(), everfresh::Error>(())
/// ```
///
/// # Errors
///
/// Columns of different lengths or none, and the first page with a rate, weight or cost out of bounds, by its place.
pub fn plan(columns: Columns<'_>, objective: Objective, budget: f64, frequencies: &mut [f64]) -> Result<Outcome> {
    let columns = columns.checked(frequencies.len())?;
    magnitude("budget", budget)?;
    let histogram = Histogram::of(columns, objective)?;
    let Some(first) = histogram.price(budget) else {
        frequencies.fill(0.0);
        return Ok(Outcome { price: 0.0, spent: 0.0 });
    };
    let mut seen = Bracket::default();
    let mut price = first;
    for _ in 0..12 {
        let polish = columns.polish(objective, price);
        seen.note(price, polish.spent(), budget);
        let next = seen.keep_inside(polish.price(budget));
        let change = (next / price - 1.0).abs();
        let near = change < NEAR / 4.0;
        price = next;
        if near {
            let spent =
                columns.write(frequencies, |chunk, out| by_power!(objective, chunk.apply(objective, price, out)));
            if (spent / budget - 1.0).abs() < TOLERANCE {
                return Ok(Outcome { price, spent });
            }
            seen.note(price, spent, budget);
            // No price in floating point does better.
            if change < 2.0 * f64::EPSILON {
                break;
            }
        }
    }
    Ok(blend(columns, objective, budget, seen, frequencies))
}

/// What a pass at one price tells of the prices around it.
///
/// Spending is smooth in the price but for the pages that are about to be given up, whose frequency falls off a cliff.
/// The smooth part is followed along its slope; those few pages are kept one by one.
struct Polish {
    table: &'static Reciprocal,
    price: f64,
    /// What the pages that are not on the cliff spend, and how much less per ln price.
    smooth: f64,
    fall: f64,
    /// (mass, y) of the pages on the cliff.
    cliff: Vec<(f64, f64)>,
}

/// A page is on the cliff if the price is so near to the one at which it is given up.
const NEAR: f64 = 1.0 / 512.0;

impl Polish {
    fn new(objective: Objective, price: f64) -> Self {
        Polish { table: Reciprocal::of(objective), price, smooth: 0.0, fall: 0.0, cliff: Vec::new() }
    }

    fn spent(&self) -> f64 {
        self.around(self.price).0
    }

    /// What is spent at a price near by, and how much less per ln price.
    fn around(&self, price: f64) -> (f64, f64) {
        // The smooth part as the power law that has its value and slope.
        let power = if self.smooth > 0.0 { self.fall / self.smooth } else { 0.0 };
        let smooth = self.smooth * (self.price / price).powf(power);
        let (mut spent, mut fall) = (Sum::default(), smooth * power);
        spent.add(smooth);
        for (mass, y) in &self.cliff {
            let (value, falls) = self.table.with_fall(price * y);
            spent.add(mass * value);
            fall += mass * falls;
        }
        (spent.value(), fall)
    }

    /// The price at which the budget is spent, as far as can be told from here.
    fn price(&self, budget: f64) -> f64 {
        solve(budget.recip(), self.price, |price| {
            let (spent, fall) = self.around(price);
            Evaluation { value: spent.recip(), elasticity: fall / spent }
        })
    }

    /// Pages of the same y are one: a large block of them would make every step of the search as slow as a pass.
    fn merge_cliff(&mut self) {
        self.cliff.sort_by(|a, b| a.1.total_cmp(&b.1));
        self.cliff.dedup_by(|next, kept| {
            let same = next.1 == kept.1;
            if same {
                kept.0 += next.0;
            }
            same
        });
    }

    /// Adds what another part of the pages tells of the same price.
    fn add(&mut self, other: Polish) {
        self.smooth += other.smooth;
        self.fall += other.fall;
        self.cliff.extend(other.cliff);
    }
}

/// The prices tried so far that are nearest from below (spending enough) and from above.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    low: f64,
    high: f64,
}

impl Default for Bracket {
    fn default() -> Self {
        Bracket { low: 0.0, high: f64::INFINITY }
    }
}

impl Bracket {
    fn note(&mut self, price: f64, spent: f64, budget: f64) {
        if spent >= budget {
            self.low = self.low.max(price);
        } else {
            self.high = self.high.min(price);
        }
    }

    fn keep_inside(self, price: f64) -> f64 {
        if price >= self.low && price <= self.high { price } else { self.middle() }
    }

    fn middle(self) -> f64 {
        match (self.low > 0.0, self.high.is_finite()) {
            (true, true) => self.low.sqrt() * self.high.sqrt(),
            (true, false) => self.low * 2.0,
            (false, _) => self.high / 2.0,
        }
    }
}

/// Where no price spends the budget, because a page is about to be given up: close in on the place, then mix both sides.
///
/// The same as in the exact solver, and as good: all frequencies in between are optimal there to the last places.
fn blend(
    columns: Columns<'_>,
    objective: Objective,
    budget: f64,
    mut seen: Bracket,
    frequencies: &mut [f64],
) -> Outcome {
    let spending = |price: f64| columns.sum(|chunk| by_power!(objective, chunk.spending(objective, price)));
    for _ in 0..120 {
        if seen.low > 0.0 && seen.high.is_finite() && seen.high / seen.low - 1.0 < 4.0 * f64::EPSILON {
            break;
        }
        let middle = seen.middle();
        seen.note(middle, spending(middle), budget);
    }
    let (most, least) = (spending(seen.low), spending(seen.high));
    let share = (budget - least) / (most - least);
    let spent = columns.write(frequencies, |chunk, out| {
        let below = by_power!(objective, chunk.apply(objective, seen.low, out));
        let mut above = vec![0.0; out.len()];
        let above_spent = by_power!(objective, chunk.apply(objective, seen.high, &mut above));
        out.iter_mut().zip(above).for_each(|(f, less)| *f = less + share * (*f - less));
        above_spent + share * (below - above_spent)
    });
    Outcome { price: seen.low, spent }
}

impl<'a> Columns<'a> {
    fn checked(self, frequencies: usize) -> Result<Self> {
        let n = self.rate.len();
        let others = [self.weight.map(<[f64]>::len), self.cost.map(<[f64]>::len), Some(frequencies)];
        if let Some(other) = others.into_iter().flatten().find(|other| *other != n) {
            return Err(Error::Inconsistent(format!(
                "columns must be of one length, got {n} rates and {other} others"
            )));
        }
        if n == 0 {
            return Err(Error::Empty("cannot plan: there are no pages"));
        }
        Ok(self)
    }

    fn chunks(self) -> impl IndexedParallelIterator<Item = Columns<'a>> {
        let part = move |column: &'a [f64], i: usize| &column[i * CHUNK..column.len().min((i + 1) * CHUNK)];
        (0..self.rate.len().div_ceil(CHUNK)).into_par_iter().map(move |i| Columns {
            rate: part(self.rate, i),
            weight: self.weight.map(|column| part(column, i)),
            cost: self.cost.map(|column| part(column, i)),
        })
    }

    /// A sum over chunks, in their order.
    fn sum(self, of_chunk: impl Fn(Columns<'a>) -> f64 + Sync + Send) -> f64 {
        self.chunks().map(of_chunk).collect::<Vec<f64>>().into_iter().collect::<Sum>().value()
    }

    /// Writes each chunk of the frequencies, and sums what it spends.
    fn write(self, frequencies: &mut [f64], of_chunk: impl Fn(Columns<'a>, &mut [f64]) -> f64 + Sync + Send) -> f64 {
        let parts = self.chunks().zip(frequencies.par_chunks_mut(CHUNK));
        let spent: Vec<f64> = parts.map(|(chunk, out)| of_chunk(chunk, out)).collect();
        spent.into_iter().collect::<Sum>().value()
    }

    /// Calls `visit(place, λ, w, c)` for every page, in a loop of its own for each set of columns.
    #[inline(always)]
    fn each(self, mut visit: impl FnMut(usize, f64, f64, f64)) {
        let rates = self.rate.iter().copied().enumerate();
        match (self.weight, self.cost) {
            (None, None) => rates.for_each(|(i, rate)| visit(i, rate, 1.0, 1.0)),
            (Some(weight), None) => rates.zip(weight).for_each(|((i, rate), &weight)| visit(i, rate, weight, 1.0)),
            (None, Some(cost)) => rates.zip(cost).for_each(|((i, rate), &cost)| visit(i, rate, 1.0, cost)),
            (Some(weight), Some(cost)) => {
                rates
                    .zip(weight.iter().zip(cost))
                    .for_each(|((i, rate), (&weight, &cost))| visit(i, rate, weight, cost));
            }
        }
    }

    /// What all pages tell of a price, the chunks in their order.
    fn polish(self, objective: Objective, price: f64) -> Polish {
        let mut whole = Polish::new(objective, price);
        let parts: Vec<Polish> =
            self.chunks().map(|chunk| by_power!(objective, chunk.polish_chunk(objective, price))).collect();
        for part in parts {
            whole.add(part);
        }
        whole.merge_cliff();
        whole
    }

    fn polish_chunk<const SQUARED: bool>(self, objective: Objective, price: f64) -> Polish {
        let Polish { table, mut smooth, mut fall, mut cliff, .. } = Polish::new(objective, price);
        let has_cliff = objective.ceiling().is_finite();
        self.each(|_, rate, weight, cost| {
            if rate == 0.0 {
                return;
            }
            let (mass, y) = (cost * rate, resistance::<SQUARED>(rate, weight, cost));
            if has_cliff && (price * y - 1.0).abs() < NEAR {
                cliff.push((mass, y));
                return;
            }
            let (value, falls) = table.with_fall(price * y);
            smooth += mass * value;
            fall += mass * falls;
        });
        Polish { table, price, smooth, fall, cliff }
    }

    /// What the pages of a chunk spend at a price.
    fn spending<const SQUARED: bool>(self, objective: Objective, price: f64) -> f64 {
        let table = Reciprocal::of(objective);
        let mut spent = 0.0;
        self.each(|_, rate, weight, cost| {
            spent += cost * frequency::<SQUARED>(table, rate, weight, cost, price);
        });
        spent
    }

    /// Writes the frequencies of a chunk, and returns what they spend.
    fn apply<const SQUARED: bool>(self, objective: Objective, price: f64, out: &mut [f64]) -> f64 {
        let table = Reciprocal::of(objective);
        let out = &mut out[..self.rate.len()];
        let mut spent = 0.0;
        self.each(|i, rate, weight, cost| {
            let frequency = frequency::<SQUARED>(table, rate, weight, cost, price);
            out[i] = frequency;
            spent += cost * frequency;
        });
        spent
    }
}

/// `c λ^p / w`, with p = 2 where it is squared: infinite for a page without weight.
#[inline(always)]
fn resistance<const SQUARED: bool>(rate: f64, weight: f64, cost: f64) -> f64 {
    let mass = cost * rate;
    (if SQUARED { mass * rate } else { mass }) / weight
}

/// `λ / u^-1(T y)`, and nothing for a page that does not change or does not count.
#[inline(always)]
fn frequency<const SQUARED: bool>(table: &Reciprocal, rate: f64, weight: f64, cost: f64, price: f64) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    rate * table.at(price * resistance::<SQUARED>(rate, weight, cost))
}

/// Buckets per binade of y, as a power of two; their addresses are the first bits of y.
const FINENESS: u32 = 8;
const SHIFT: u32 = 52 - FINENESS;

/// The width of a bucket in ln y, on average, and the parts that one is cut into where spending is steep.
const WIDTH: f64 = std::f64::consts::LN_2 / 256.0;
const CLIFF_PARTS: u32 = 32;

/// The distribution of y over the pages, with mass `c λ`: all that the price of a plan needs to know of them.
///
/// Histograms add up: of chunks, of files, of machines.
#[derive(Clone, Debug)]
pub struct Histogram {
    objective: Objective,
    first: u64,
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    mass: f64,
    /// The sum of mass x y: its mean cancels the first-order error of the bucket's width.
    moment: f64,
}

impl Histogram {
    /// An empty histogram. It spans every y that legal pages can have: 1e-80 to 1e80.
    pub fn new(objective: Objective) -> Self {
        let key = |y: f64| y.to_bits() >> SHIFT;
        let (first, last) = (key(SMALLEST.powi(4)), key(LARGEST.powi(4)));
        let buckets = vec![Bucket::default(); usize::try_from(last - first + 2).unwrap_or(0)];
        Histogram { objective, first, buckets }
    }

    fn of(columns: Columns<'_>, objective: Objective) -> Result<Self> {
        let mut whole = Histogram::new(objective);
        let n = columns.rate.len().div_ceil(CHUNK);
        for start in (0..n).step_by(TOGETHER) {
            let part = columns.chunks().skip(start).take(TOGETHER).enumerate().map(|(i, chunk)| {
                let mut histogram = Histogram::new(objective);
                by_power!(objective, histogram.add_chunk(chunk))
                    .map_err(|(place, error)| ((start + i) * CHUNK + place, error))?;
                Ok(histogram)
            });
            let part: Vec<_> = part.collect();
            for histogram in part {
                whole.merge(&histogram.map_err(|(place, error)| at_place(place, &error))?);
            }
        }
        Ok(whole)
    }

    /// Adds the pages of columns.
    ///
    /// # Errors
    ///
    /// Columns of different lengths or none, and the first page with a value out of bounds, by its place.
    pub fn add(&mut self, columns: Columns<'_>) -> Result<()> {
        let columns = columns.checked(columns.rate.len())?;
        by_power!(self.objective, self.add_chunk(columns)).map_err(|(place, error)| at_place(place, &error))
    }

    /// Adds the pages of columns; the first bad one is an error with its place.
    fn add_chunk<const SQUARED: bool>(&mut self, columns: Columns<'_>) -> std::result::Result<(), (usize, Error)> {
        let legal = |x: f64| (SMALLEST..=LARGEST).contains(&x);
        let mut bad = None;
        columns.each(|i, rate, weight, cost| {
            if !(legal(rate) & legal(weight) & legal(cost)) {
                if let (None, Err(error)) = (&bad, check_page(rate, weight, cost)) {
                    bad = Some((i, error));
                }
                return;
            }
            let y = resistance::<SQUARED>(rate, weight, cost);
            let key = usize::try_from((y.to_bits() >> SHIFT) - self.first).unwrap_or(0);
            let bucket = &mut self.buckets[key];
            bucket.mass += cost * rate;
            bucket.moment += cost * rate * y;
        });
        bad.map_or(Ok(()), Err)
    }

    /// Adds another histogram of the same objective.
    pub fn merge(&mut self, other: &Histogram) {
        for (bucket, other) in self.buckets.iter_mut().zip(&other.buckets) {
            bucket.mass += other.mass;
            bucket.moment += other.moment;
        }
    }

    fn filled(&self) -> impl Iterator<Item = (f64, f64)> {
        self.buckets.iter().filter(|bucket| bucket.mass > 0.0).map(|bucket| (bucket.mass, bucket.moment / bucket.mass))
    }

    /// What is spent at a price, and how much less of it per ln price.
    fn spending(&self, price: f64) -> (f64, f64) {
        let table = Reciprocal::of(self.objective);
        let (mut spent, mut fall) = (0.0, 0.0);
        for (mass, y) in self.filled() {
            let on_cliff = (price * y / self.objective.ceiling() - 1.0).abs() < 1.0 / 32.0;
            let parts = if on_cliff { CLIFF_PARTS } else { 1 };
            for part in 0..parts {
                // Within a bucket on the cliff, as if the pages were spread evenly around their mean.
                let offset = (f64::from(part) + 0.5) / f64::from(parts) - 0.5;
                let (value, falls) = table.with_fall(price * y * (1.0 + offset * WIDTH));
                spent += mass * value / f64::from(parts);
                fall += mass * falls / f64::from(parts);
            }
        }
        (spent, fall)
    }

    /// The price at which about `budget` is spent; nothing where no page wants a visit.
    pub fn price(&self, budget: f64) -> Option<f64> {
        // The heaviest bucket is as good a place to start as any.
        let (_, y) = self.filled().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(solve(budget.recip(), y.recip() / 2.0, |price| {
            let (spent, fall) = self.spending(price);
            Evaluation { value: spent.recip(), elasticity: fall / spent }
        }))
    }
}

fn at_place(place: usize, error: &Error) -> Error {
    Error::Inconsistent(format!("page {place}, counted from 0: {error}"))
}

/// Why a page is not counted: an error, or it does not change or has no weight.
fn check_page(rate: f64, weight: f64, cost: f64) -> Result<()> {
    crate::error::magnitude_or_zero("rate", rate)?;
    crate::error::magnitude_or_zero("weight", weight)?;
    magnitude("cost", cost)?;
    Ok(())
}
