//! Pages in columns, and the sources that hand them out in chunks.

use rayon::prelude::*;

use crate::curve::Shape;
use crate::error::{Error, LARGEST, Result, SMALLEST, magnitude, magnitude_or_zero, within};
use crate::order::{Objective, Order};
use crate::units::Period;
use std::ops::Bound;

/// Pages in columns of one length; all times in seconds. A column that is missing stands for its default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns<'a> {
    /// λ: changes per second, 0 for a static page, or between 1e-20 and 1e20.
    pub rate: &'a [f64],
    /// w: 0, or between 1e-20 and 1e20. Default 1.
    pub weight: Option<&'a [f64]>,
    /// c, what a visit costs: between 1e-20 and 1e20. Default 1.
    pub cost: Option<&'a [f64]>,
    /// How many pages a row stands for: positive, at most 1e20. Default 1.
    pub count: Option<&'a [f64]>,
    /// The shortest time between visits; 0 for any. Default 0.
    pub min_period: Option<&'a [f64]>,
    /// The longest time between visits, a promise; infinite for any. Default infinite.
    pub max_period: Option<&'a [f64]>,
    /// The host of each page, as its place in the list of caps.
    pub host: Option<&'a [u32]>,
    /// The shapes of the curves. Default exponential; others are planned for freshness under fixed order only.
    pub shape: Option<&'a [Shape]>,
}

/// A page that is not legal: its place in the chunk, and why.
pub type BadPage = (usize, Error);

/// Pages that can be read again and again, in chunks.
pub trait Pages {
    /// What reading can fail with, besides bad pages.
    type Error: From<Error>;

    /// Calls `each` on every chunk of pages, perhaps in parallel, and `take` on the results, in the order of the pages.
    ///
    /// The chunks must be the same in every scan: then the result of a plan does not depend on the number of threads.
    fn scan<T: Send>(
        &self,
        each: &(dyn Fn(Columns<'_>) -> std::result::Result<T, BadPage> + Sync),
        take: &mut dyn FnMut(T),
    ) -> std::result::Result<(), Self::Error>;

    /// May there be pages with other curves than the exponential?
    fn have_shapes(&self) -> bool {
        false
    }

    /// Calls `each` on some pages that stand for all, and returns about which share of all they are.
    fn sample(&self, each: &mut dyn FnMut(Columns<'_>)) -> std::result::Result<f64, Self::Error>;

    /// The same with more pages, if they are at hand, so that they stand for each large host; perhaps in parallel.
    fn large_sample(&self, each: &(dyn Fn(Columns<'_>) + Sync)) -> std::result::Result<f64, Self::Error> {
        self.sample(&mut |chunk| each(chunk))
    }
}

/// Pages that are handled together: large enough that adding up costs nothing, small enough to share out.
const CHUNK: usize = 1 << 20;

/// Chunks whose results are held at the same time.
const TOGETHER: usize = 128;

/// Pages without bounds are handled in blocks.
pub(super) use crate::kernel::BLOCK;

/// A sample is so many blocks of so many pages.
const SAMPLE_BLOCKS: usize = 64;
const SAMPLE_BLOCK: usize = 1 << 12;

/// A large one has one of so many runs of pages, from everywhere: pages of a host may lie together.
const LARGE_SAMPLE: usize = 32;
const RUN: usize = 64;

impl<'a> Columns<'a> {
    /// Pages of weight and cost 1 without bounds.
    pub fn new(rate: &'a [f64]) -> Self {
        Columns { rate, ..Columns::default() }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rate.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rate.is_empty()
    }

    /// The same, if all columns have one length.
    pub(super) fn checked(self) -> Result<Self> {
        let n = self.len();
        let numbers = [self.weight, self.cost, self.count, self.min_period, self.max_period];
        let others = [self.host.map(<[u32]>::len), self.shape.map(<[Shape]>::len)];
        let lengths = numbers.into_iter().flatten().map(<[f64]>::len).chain(others.into_iter().flatten());
        match lengths.into_iter().find(|other| *other != n) {
            Some(other) => {
                Err(Error::Inconsistent(format!("columns must be of one length, got {n} rates and {other} others")))
            }
            None => Ok(self),
        }
    }

    /// The rows of a range.
    pub(super) fn part(self, start: usize, end: usize) -> Columns<'a> {
        let part = |column: Option<&'a [f64]>| column.map(|column| &column[start..end]);
        Columns {
            rate: &self.rate[start..end],
            weight: part(self.weight),
            cost: part(self.cost),
            count: part(self.count),
            min_period: part(self.min_period),
            max_period: part(self.max_period),
            host: self.host.map(|column| &column[start..end]),
            shape: self.shape.map(|column| &column[start..end]),
        }
    }

    /// The chunks, each with the place of its first page.
    fn chunks(self) -> impl IndexedParallelIterator<Item = (usize, Columns<'a>)> {
        let n = self.len();
        (0..n.div_ceil(CHUNK)).into_par_iter().map(move |i| (i * CHUNK, self.part(i * CHUNK, n.min((i + 1) * CHUNK))))
    }

    /// Fills a column chunk by chunk, and returns the sums of what `fill` returns, in order.
    pub(super) fn fill(self, out: &mut [f64], fill: impl Fn(Columns<'a>, &mut [f64]) -> f64 + Sync + Send) -> Vec<f64> {
        let parts = self.chunks().zip(out.par_chunks_mut(CHUNK));
        parts.map(|((_, chunk), out)| fill(chunk, out)).collect()
    }

    /// Some runs of pages without other columns than rates, weights and hosts, copied out.
    fn runs(self) -> (Vec<f64>, Option<Vec<f64>>, Option<Vec<u32>>) {
        fn pick<T: Copy>(column: &[T]) -> Vec<T> {
            column.chunks(RUN).step_by(LARGE_SAMPLE).flatten().copied().collect()
        }
        (pick(self.rate), self.weight.map(pick), self.host.map(pick))
    }

    /// Looks at a page that comes later. A machine fetches ahead by itself, but not into the next 4 KiB of memory, which are the next block.
    #[inline(always)]
    pub(super) fn glance(&self, i: usize) {
        if i < self.len() {
            std::hint::black_box((
                self.rate[i],
                self.weight.map(|column| column[i]),
                self.host.map(|column| column[i]),
            ));
        }
    }

    /// The host of a page: the first where there is no such column.
    #[inline(always)]
    pub(super) fn host_of(&self, i: usize) -> u32 {
        self.host.map_or(0, |column| column[i])
    }

    /// One row.
    #[inline(always)]
    pub(super) fn one(&self, i: usize) -> One {
        let at = |column: Option<&[f64]>, default: f64| column.map_or(default, |column| column[i]);
        One {
            rate: self.rate[i],
            weight: at(self.weight, 1.0),
            cost: at(self.cost, 1.0),
            count: at(self.count, 1.0),
            promise: at(self.max_period, f64::INFINITY).recip(),
            most: at(self.min_period, 0.0).recip(),
            host: self.host_of(i),
            shape: self.shape.map_or(Shape::Exponential, |column| column[i]),
        }
    }

    /// Finds the first page that is not legal.
    pub(super) fn check_each(self) -> std::result::Result<(), BadPage> {
        let found = (0..self.len()).find(|i| !self.one(*i).is_legal());
        found.map_or(Ok(()), |i| Err((i, self.one(i).illness())))
    }

    /// Are there no columns but rates, and perhaps weights and hosts?
    pub(super) fn is_plain(&self) -> bool {
        let others = [self.cost, self.count, self.min_period, self.max_period];
        others.iter().all(Option::is_none) && self.shape.is_none()
    }
}

impl Pages for Columns<'_> {
    type Error = Error;

    fn scan<T: Send>(
        &self,
        each: &(dyn Fn(Columns<'_>) -> std::result::Result<T, BadPage> + Sync),
        take: &mut dyn FnMut(T),
    ) -> Result<()> {
        let n = self.len().div_ceil(CHUNK);
        for start in (0..n).step_by(TOGETHER) {
            let some = self.chunks().skip(start).take(TOGETHER);
            let results: Vec<_> = some.map(|(first, chunk)| (first, each(chunk))).collect();
            for (first, result) in results {
                let at_place = |(place, error): BadPage| {
                    Error::Inconsistent(format!("page {}, counted from 0: {error}", first + place))
                };
                take(result.map_err(at_place)?);
            }
        }
        Ok(())
    }

    fn have_shapes(&self) -> bool {
        self.shape.is_some()
    }

    fn sample(&self, each: &mut dyn FnMut(Columns<'_>)) -> Result<f64> {
        let n = self.len();
        if n <= SAMPLE_BLOCKS * SAMPLE_BLOCK {
            each(*self);
            return Ok(1.0);
        }
        for block in 0..SAMPLE_BLOCKS {
            let start = (n - SAMPLE_BLOCK) / (SAMPLE_BLOCKS - 1) * block;
            each(self.part(start, start + SAMPLE_BLOCK));
        }
        Ok((SAMPLE_BLOCKS * SAMPLE_BLOCK) as f64 / n as f64)
    }

    fn large_sample(&self, each: &(dyn Fn(Columns<'_>) + Sync)) -> Result<f64> {
        if !self.is_plain() || self.len() <= CHUNK {
            return self.sample(&mut |chunk| each(chunk));
        }
        let seen = self.chunks().map(|(_, chunk)| {
            let (rate, weight, host) = chunk.runs();
            each(Columns { weight: weight.as_deref(), host: host.as_deref(), ..Columns::new(&rate) });
            rate.len()
        });
        Ok(seen.sum::<usize>() as f64 / self.len() as f64)
    }
}

/// Finds the first page whose curve cannot be planned on these terms; reads nothing where there cannot be any.
pub(super) fn refuse_shapes<P: Pages>(
    pages: &P,
    order: Order,
    objective: Objective,
) -> std::result::Result<(), P::Error> {
    let on = match (objective, order) {
        (Objective::Freshness, Order::Fixed) => return Ok(()),
        (Objective::Age, _) => "age",
        (Objective::Harmonic, _) => "the harmonic objective",
        (Objective::Freshness, Order::Random | Order::PurelyRandom) => "visits in random order",
    };
    if !pages.have_shapes() {
        return Ok(());
    }
    let of_chunk = |chunk: Columns<'_>| {
        let other = chunk.shape.unwrap_or_default().iter().position(|shape| *shape != Shape::Exponential);
        other.map_or(Ok(()), |place| Err((place, Error::CurveNotPlanned { on })))
    };
    pages.scan(&of_chunk, &mut |()| {})
}

/// One page, as the loops see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    pub rate: f64,
    pub weight: f64,
    pub cost: f64,
    pub count: f64,
    /// The frequency that its maximum period promises.
    pub promise: f64,
    /// The frequency that its minimum period allows.
    pub most: f64,
    pub host: u32,
    pub shape: Shape,
}

impl One {
    #[inline(always)]
    pub(super) const fn plain(rate: f64, weight: f64) -> One {
        let shape = Shape::Exponential;
        One { rate, weight, cost: 1.0, count: 1.0, promise: 0.0, most: f64::INFINITY, host: 0, shape }
    }

    /// What it spends at a price, if nothing keeps it from that.
    pub(super) fn spending<R: super::rule::Rule>(&self, rule: R, price: f64) -> f64 {
        let (scale, y) = rule.place(self);
        self.count * self.cost * scale * rule.answer(price * y, self.shape)
    }

    /// Is every value within its bounds?
    #[inline(always)]
    pub(super) fn is_legal(&self) -> bool {
        let sane = |x: f64| (SMALLEST..=LARGEST).contains(&x);
        let sane_or_zero = |x: f64| x == 0.0 || sane(x);
        sane_or_zero(self.rate)
            & sane_or_zero(self.weight)
            & sane(self.cost)
            & (self.count > 0.0)
            & (self.count <= LARGEST)
            & sane_or_zero(self.promise)
            & (sane(self.most) | (self.most == f64::INFINITY))
            & (self.promise <= self.most)
            && (self.shape == Shape::Exponential || self.shape.checked().is_ok())
    }

    /// Why it is not legal.
    pub(super) fn illness(&self) -> Error {
        let period = |what, frequency: f64| {
            let seconds = frequency.recip();
            if seconds == 0.0 || seconds.is_infinite() { Ok(0.0) } else { magnitude(what, seconds) }
        };
        let check = || -> Result<()> {
            magnitude_or_zero("rate", self.rate)?;
            magnitude_or_zero("weight", self.weight)?;
            magnitude("cost", self.cost)?;
            self.shape.checked()?;
            within("count", self.count, Bound::Excluded(0.0), Bound::Included(LARGEST), "positive and at most 1e20")?;
            if self.promise == f64::INFINITY {
                return Err(Error::OutOfBounds { what: "maximum period", bound: "positive", value: 0.0 });
            }
            period("minimum period in seconds", self.most)?;
            period("maximum period in seconds", self.promise)?;
            Ok(())
        };
        check().err().unwrap_or_else(|| {
            let period = |frequency: f64| Period::raw(frequency.recip());
            Error::Inconsistent(format!(
                "minimum period must not exceed the maximum period, got {} and {}",
                period(self.most),
                period(self.promise)
            ))
        })
    }
}
