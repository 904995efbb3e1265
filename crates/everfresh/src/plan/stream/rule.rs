//! What a page answers to a price, under each allocation.

use fearless_simd::Simd;

use super::columns::One;
use crate::curve::Shape;
use crate::kernel::{Lookup, Reciprocal};
use crate::numeric::lanes_of;
use crate::plan::Allocation;

/// A page without bounds is visited with `f = scale x answer(price x resistance)`; `answer` falls.
pub(super) trait Rule: Copy + Send + Sync {
    /// Does a visit gain nothing at all, whatever it costs?
    fn is_out(self, page: &One) -> bool;
    /// Scale and resistance.
    fn place(self, page: &One) -> (f64, f64);
    /// Resistance x weight of pages of cost 1; 0 where there is no cliff to be below of.
    fn pressure<S: Simd>(self, rates: S::f64s) -> S::f64s;
    fn answer(self, x: f64, shape: Shape) -> f64;
    /// The answers of the exponential shape to at most [`BLOCK`](super::columns::BLOCK) x, of which all hold.
    fn answers(self, xs: &[f64], lookup: &mut Lookup, answers: &mut [f64]);
    /// Can x be answered together with others?
    fn holds(self, x: f64) -> bool;
    /// Can all be?
    #[inline(always)]
    fn holds_all(self, xs: &[f64]) -> bool {
        xs.iter().fold(true, |all, x| all & self.holds(*x))
    }
    /// The answer, and how much less of it per ln x.
    fn answer_with_fall(self, x: f64, shape: Shape) -> (f64, f64);
    /// The cubic that `answer(x (1 + d))` of the exponential shape is for small d, by its coefficients.
    fn answer_around(self, x: f64) -> [f64; 4];
    /// The sum of masses times such cubics over at most [`BLOCK`](super::columns::BLOCK) x, of which all hold and none is at the cliff.
    fn sum_around(self, xs: &[f64], masses: &[f64], lookup: &mut Lookup) -> [f64; 4];
    /// From here up the answer is 0, and just below it falls like a cliff; infinite where there is none.
    fn cliff(self, shape: Shape) -> f64;
    /// Do all answers of this shape lie in the table, so that a histogram can tell them?
    fn is_tabled(self, shape: Shape) -> bool;
}

/// The law: `f = λ / u^-1(T y)`, `y = c λ^p / w`, with p = 2 where it is squared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Optimal<const SQUARED: bool> {
    pub table: &'static Reciprocal,
    pub cliff: f64,
}

impl<const SQUARED: bool> Rule for Optimal<SQUARED> {
    #[inline(always)]
    fn is_out(self, page: &One) -> bool {
        (page.rate == 0.0) | (page.weight == 0.0)
    }

    #[inline(always)]
    fn place(self, page: &One) -> (f64, f64) {
        let mass = page.cost * page.rate;
        (page.rate, (if SQUARED { mass * page.rate } else { mass }) / page.weight)
    }

    #[inline(always)]
    fn pressure<S: Simd>(self, rates: S::f64s) -> S::f64s {
        if SQUARED { rates * rates } else { rates }
    }

    #[inline(always)]
    fn answer(self, x: f64, shape: Shape) -> f64 {
        if shape == Shape::Exponential { self.table.at(x) } else { shape.visits(x) }
    }

    #[inline(always)]
    fn answers(self, xs: &[f64], lookup: &mut Lookup, answers: &mut [f64]) {
        self.table.all_at(xs, lookup, answers);
    }

    #[inline(always)]
    fn holds(self, x: f64) -> bool {
        self.table.holds(x)
    }

    #[inline(always)]
    fn answer_with_fall(self, x: f64, shape: Shape) -> (f64, f64) {
        if shape == Shape::Exponential { self.table.with_fall(x) } else { shape.visits_with_fall(x) }
    }

    #[inline(always)]
    fn answer_around(self, x: f64) -> [f64; 4] {
        self.table.around(x)
    }

    #[inline(always)]
    fn sum_around(self, xs: &[f64], masses: &[f64], lookup: &mut Lookup) -> [f64; 4] {
        self.table.sum_around(xs, masses, lookup)
    }

    #[inline(always)]
    fn cliff(self, shape: Shape) -> f64 {
        if shape == Shape::Exponential { self.cliff } else { shape.ceiling() }
    }

    #[inline(always)]
    fn is_tabled(self, shape: Shape) -> bool {
        shape == Shape::Exponential
    }
}

/// The same frequency for all pages that change, or one in proportion to the rate: `f = scale / price`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Even {
    pub by_rate: bool,
}

impl Even {
    pub(super) fn new(allocation: Allocation) -> Self {
        Even { by_rate: allocation == Allocation::Proportional }
    }
}

impl Rule for Even {
    fn is_out(self, page: &One) -> bool {
        page.rate == 0.0
    }

    fn place(self, page: &One) -> (f64, f64) {
        (if self.by_rate { page.rate } else { 1.0 }, 1.0)
    }

    #[inline(always)]
    fn pressure<S: Simd>(self, rates: S::f64s) -> S::f64s {
        rates * 0.0
    }

    fn answer(self, x: f64, _: Shape) -> f64 {
        x.recip()
    }

    #[inline(always)]
    fn answers(self, xs: &[f64], _: &mut Lookup, answers: &mut [f64]) {
        answers.iter_mut().zip(xs).for_each(|(answer, x)| *answer = x.recip());
    }

    #[inline(always)]
    fn holds(self, _: f64) -> bool {
        true
    }

    fn answer_with_fall(self, x: f64, _: Shape) -> (f64, f64) {
        (x.recip(), x.recip())
    }

    fn answer_around(self, x: f64) -> [f64; 4] {
        [x.recip(), -x.recip(), x.recip(), -x.recip()]
    }

    #[inline(always)]
    fn sum_around(self, xs: &[f64], masses: &[f64], _: &mut Lookup) -> [f64; 4] {
        let sum = lanes_of(xs, masses, |x, mass| mass / x);
        [sum, -sum, sum, -sum]
    }

    fn cliff(self, _: Shape) -> f64 {
        f64::INFINITY
    }

    fn is_tabled(self, _: Shape) -> bool {
        true
    }
}

/// Evaluates an expression with the rule of some terms, in code of its own for each.
macro_rules! with_rule {
    ($terms:expr, |$rule:ident| $body:expr) => {{
        let terms = $terms;
        let table = $crate::kernel::Reciprocal::of(terms.order, terms.objective);
        let cliff = terms.objective.ceiling();
        match terms.allocation {
            $crate::plan::Allocation::Optimal if terms.objective.time_power() == 2 => {
                let $rule = $crate::plan::stream::rule::Optimal::<true> { table, cliff };
                $body
            }
            $crate::plan::Allocation::Optimal => {
                let $rule = $crate::plan::stream::rule::Optimal::<false> { table, cliff };
                $body
            }
            allocation => {
                let $rule = $crate::plan::stream::rule::Even::new(allocation);
                $body
            }
        }
    }};
}
pub(super) use with_rule;
