//! The inverses by table: `1/u^-1(y)` to ten digits in a few nanoseconds.
//!
//! A plan for many pages evaluates `f = λ / u^-1(T y)` for each. The reciprocal of an inverse is smooth in ln y, so a cubic
//! on every 64th of a binade holds it to about 1e-10, and the bits of y are the address of its coefficients: no
//! logarithm, no division, no loop. For freshness, where y ends at 1, the upper half is addressed by the bits of 1 - y,
//! which keep the digits there.
//!
//! Many y are answered together in three loops: their places, the cubics at these, and the values of the cubics. Only the second
//! goes through memory by the page; of the others the compiler makes vector instructions.

use std::sync::OnceLock;

use crate::numeric::lanes;
use crate::order::{Objective, Order};

/// Cubics per binade, as a power of two.
const FINENESS: u32 = 6;
const SHIFT: u32 = 52 - FINENESS;

/// The bits of a double that hold its exponent, and those behind it.
const EXPONENT: u64 = 0x7ff << 52;
const MANTISSA: u64 = (1 << 52) - 1;

/// Places for cubics, a power of two, so that an address needs no check. Those that are not taken are zero.
const PLACES: usize = 1 << 14;

/// So many y are answered together at most: what that takes stays in the nearest cache.
pub(crate) const BLOCK: usize = 512;

/// The address of a positive number: its exponent and the first bits behind it.
const fn key(x: f64) -> u64 {
    x.to_bits() >> SHIFT
}

/// Cubics for a function, one for each 64th of each binade from `2^low` to `2^high`.
fn cubics(low: i32, high: i32, function: impl Fn(f64) -> f64) -> Vec<[f64; 4]> {
    let piece = |key: u64| {
        let (start, end) = (f64::from_bits(key << SHIFT), f64::from_bits((key + 1) << SHIFT));
        cubic(|u| function(start + u * (end - start)))
    };
    (key(f64::from(low).exp2())..key(f64::from(high).exp2())).map(piece).collect()
}

/// Four Chebyshev points of 0..1.
pub(crate) fn chebyshev_nodes() -> [f64; 4] {
    [1.0, 3.0, 5.0, 7.0].map(|k: f64| 0.5 - 0.5 * (k * std::f64::consts::PI / 8.0).cos())
}

/// The cubic through these points of a function.
fn cubic(function: impl Fn(f64) -> f64) -> [f64; 4] {
    let nodes = chebyshev_nodes();
    interpolate(&nodes, nodes.map(function))
}

/// The cubic through four points, by its coefficients.
pub(crate) fn interpolate(nodes: &[f64; 4], mut d: [f64; 4]) -> [f64; 4] {
    // Newton's divided differences, then expanded into powers.
    for order in 1..4 {
        for i in (order..4).rev() {
            d[i] = (d[i] - d[i - 1]) / (nodes[i] - nodes[i - order]);
        }
    }
    let mut c = [d[3], 0.0, 0.0, 0.0];
    for (i, node) in nodes[..3].iter().enumerate().rev() {
        // c := c (u - node) + d[i]
        for j in (1..4).rev() {
            c[j] = c[j - 1] - node * c[j];
        }
        c[0] = d[i] - node * c[0];
    }
    c
}

/// The reciprocal of an inverse utility, by table.
#[derive(Debug)]
pub struct Reciprocal {
    order: Order,
    objective: Objective,
    /// The y that the table spans.
    smallest: f64,
    largest: f64,
    /// From here up a cubic is addressed by 1 - y.
    split: f64,
    /// What to subtract from the address, below and above the split.
    low_base: u64,
    high_base: u64,
    /// Those below the split, and those above it.
    cubics: Box<[[f64; 4]; PLACES]>,
}

/// What it takes to answer many y together.
pub(crate) struct Lookup {
    places: [u32; BLOCK],
    us: [f64; BLOCK],
    rows: [[f64; 4]; BLOCK],
    /// How far u moves as y does.
    pers: [f64; BLOCK],
    terms: [[f64; BLOCK]; 4],
}

impl Lookup {
    pub(crate) const fn new() -> Self {
        let [us, pers] = [[0.0; BLOCK]; 2];
        Lookup { places: [0; BLOCK], us, rows: [[0.0; 4]; BLOCK], pers, terms: [[0.0; BLOCK]; 4] }
    }
}

/// A cubic in u as one in the share by which y changes, around a place on it.
#[inline(always)]
fn moved([a, b, c, d]: &[f64; 4], u: f64, per: f64) -> [f64; 4] {
    let bend = c + 3.0 * d * u;
    let slope = b + u * (c + bend);
    [a + u * (b + u * (c + u * d)), per * slope, per * per * bend, per * per * per * d]
}

/// Cubics in their places.
#[expect(clippy::large_stack_arrays, reason = "made once for each table, and a boxed slice would not know its length")]
fn placed(cubics: Vec<[f64; 4]>) -> Box<[[f64; 4]; PLACES]> {
    let mut places = Box::new([[0.0; 4]; PLACES]);
    places.iter_mut().zip(cubics).for_each(|(place, cubic)| *place = cubic);
    places
}

/// The table for freshness, whose utility has a ceiling.
fn bounded(order: Order) -> Reciprocal {
    const LOW: i32 = -64;
    let inverse = |y: f64| order.ratio_at_utility(Objective::Freshness, y);
    let mut all = cubics(LOW, -1, |y| inverse(y).recip());
    let below = all.len() as u64;
    // Down to the last place of 1 - y, and up to 1/2.
    all.extend(cubics(-54, 0, |q| order.ratio_at_complement(q.min(0.75)).recip()));
    Reciprocal {
        order,
        objective: Objective::Freshness,
        smallest: f64::from(LOW).exp2(),
        largest: f64::INFINITY,
        split: 0.5,
        low_base: key(f64::from(LOW).exp2()),
        high_base: key((-54f64).exp2()).wrapping_sub(below),
        cubics: placed(all),
    }
}

/// The table of an objective without a ceiling.
fn unbounded(order: Order, objective: Objective) -> Reciprocal {
    const HIGH: i32 = 64;
    let low = if objective == Objective::Age { -96 } else { -64 };
    let smallest = f64::from(low).exp2();
    Reciprocal {
        order,
        objective,
        smallest,
        largest: f64::from(HIGH).exp2(),
        split: f64::INFINITY,
        low_base: key(smallest),
        high_base: 0,
        cubics: placed(cubics(low, HIGH, |y| order.ratio_at_utility(objective, y).recip())),
    }
}

impl Reciprocal {
    /// The table for an order and an objective, built once (some milliseconds).
    pub fn of(order: Order, objective: Objective) -> &'static Reciprocal {
        static TABLES: [OnceLock<Reciprocal>; 9] = [const { OnceLock::new() }; 9];
        TABLES[3 * order as usize + objective as usize].get_or_init(|| match objective {
            Objective::Freshness => bounded(order),
            Objective::Age | Objective::Harmonic => unbounded(order, objective),
        })
    }

    /// `1/u^-1(y)`: 0 from the ceiling up, infinite at 0. Relative error below 1e-9.
    ///
    /// ```
    /// use everfresh::kernel::{Reciprocal, g_inverse};
    /// use everfresh::{Objective, Order};
    /// let table = Reciprocal::of(Order::Fixed, Objective::Freshness);
    /// assert!((table.at(0.3) * g_inverse(0.3) - 1.0).abs() < 1e-9);
    /// assert_eq!(table.at(1.0), 0.0);
    /// ```
    #[inline(always)]
    pub fn at(&self, y: f64) -> f64 {
        if y < self.smallest || y >= self.largest {
            return self.outside(y);
        }
        let (_, [a, b, c, d], u) = self.locate(y);
        a + u * (b + u * (c + u * d))
    }

    /// `1/u^-1(y)` and how much less of it per ln y.
    #[inline(always)]
    pub fn with_fall(&self, y: f64) -> (f64, f64) {
        if y < self.smallest || y >= self.largest {
            let value = self.outside(y);
            return (value, value / self.order.utility_elasticity(self.objective, value.recip()));
        }
        let (bits, [a, b, c, d], u) = self.locate(y);
        let slope = b + u * (2.0 * c + u * (3.0 * d));
        // A cubic spans a 64th of 2^e; 2^-e has the mirrored exponent. Above the split x falls as y rises.
        let per_x = slope * f64::from_bits((2046 << 52) - (bits & EXPONENT)) * 64.0;
        let fall = if y >= self.split { per_x * y } else { -per_x * y };
        (a + u * (b + u * (c + u * d)), fall)
    }

    /// The cubic that `1/u^-1(y (1 + d))` is for small d, by its coefficients; y is below the ceiling.
    ///
    /// It is that of the table, which holds there to ten digits, and beyond to the fourth power of how far d leads, over
    /// how far y is from 0 and from the ceiling.
    #[inline(always)]
    pub(crate) fn around(&self, y: f64) -> [f64; 4] {
        if y < self.smallest || y >= self.largest {
            // A power of y, as far out as that.
            let (value, fall) = self.with_fall(y);
            let s = fall / value;
            return [value, -fall, fall * (s + 1.0) / 2.0, -fall * (s + 1.0) * (s + 2.0) / 6.0];
        }
        let (bits, cubic, u) = self.locate(y);
        moved(cubic, u, self.per(y, bits))
    }

    /// How far u moves per share of y, whose bits are those of its address; see [`Reciprocal::with_fall`].
    #[inline(always)]
    fn per(&self, y: f64, bits: u64) -> f64 {
        let per = f64::from_bits((2046 << 52) - (bits & EXPONENT)) * 64.0 * y;
        if y >= self.split { -per } else { per }
    }

    /// The sum of masses times [`Reciprocal::around`] over at most [`BLOCK`] y below the ceiling that the table holds.
    #[inline(always)]
    pub(crate) fn sum_around(&self, ys: &[f64], masses: &[f64], lookup: &mut Lookup) -> [f64; 4] {
        let n = ys.len();
        for (((y, place), u), per) in ys.iter().zip(&mut lookup.places).zip(&mut lookup.us).zip(&mut lookup.pers) {
            let bits;
            (bits, *place, *u) = self.place(*y);
            *per = self.per(*y, bits);
        }
        for (place, row) in lookup.places.iter().zip(&mut lookup.rows).take(n) {
            *row = self.cubics[*place as usize % PLACES];
        }
        let [first, second, third, fourth] = &mut lookup.terms;
        let rows = lookup.rows.iter().zip(&lookup.us).zip(&lookup.pers).zip(masses).take(n);
        let terms = first.iter_mut().zip(second).zip(third).zip(fourth);
        for ((((a, b), c), d), (((row, u), per), mass)) in terms.zip(rows) {
            let around = moved(row, *u, *per);
            (*a, *b, *c, *d) = (mass * around[0], mass * around[1], mass * around[2], mass * around[3]);
        }
        lookup.terms.each_ref().map(|terms| lanes(&terms[..n]))
    }

    /// Is y a place of the table, or above the ceiling?
    #[inline(always)]
    pub(crate) fn holds(&self, y: f64) -> bool {
        (y >= self.smallest) & (y < self.largest)
    }

    /// `1/u^-1(y)` of at most [`BLOCK`] y that the table holds.
    #[inline(always)]
    pub(crate) fn all_at(&self, ys: &[f64], lookup: &mut Lookup, values: &mut [f64]) {
        for ((y, place), u) in ys.iter().zip(&mut lookup.places).zip(&mut lookup.us) {
            (_, *place, *u) = self.place(*y);
        }
        for (place, row) in lookup.places.iter().zip(&mut lookup.rows).take(ys.len()) {
            *row = self.cubics[*place as usize % PLACES];
        }
        for ((value, [a, b, c, d]), u) in values.iter_mut().zip(&lookup.rows).zip(&lookup.us).take(ys.len()) {
            *value = a + u * (b + u * (c + u * d));
        }
    }

    /// The bits that y is addressed by, its cubic and its place on it.
    #[inline(always)]
    fn locate(&self, y: f64) -> (u64, &[f64; 4], f64) {
        let (bits, place, u) = self.place(y);
        (bits, &self.cubics[place as usize % PLACES], u)
    }

    /// The bits that y is addressed by, the place of its cubic and the place on that. No branch: which half a page falls into
    /// cannot be foreseen.
    #[inline(always)]
    fn place(&self, y: f64) -> (u64, u32, f64) {
        // All ones in the upper half: positive numbers are ordered like their bits. A choice would become a branch.
        let upper = 0u64.wrapping_sub(u64::from(y.to_bits() >= self.split.to_bits()));
        let base = self.high_base & upper | self.low_base & !upper;
        // From the ceiling up it is 0, whose place is not taken.
        let below_ceiling = 1.0 - if y < 1.0 { y } else { 1.0 };
        let bits = below_ceiling.to_bits() & upper | y.to_bits() & !upper;
        // The last bits are all that is asked for.
        let place = ((bits >> SHIFT).wrapping_sub(base) & (PLACES as u64 - 1)) as u32;
        // The bits behind the address as a number in 1..2, less one.
        let u = f64::from_bits((bits << FINENESS) & MANTISSA | 1f64.to_bits()) - 1.0;
        (bits, place, u)
    }

    /// Beyond the table, where hardly a page is: the exact inverse.
    #[cold]
    fn outside(&self, y: f64) -> f64 {
        self.order.ratio_at_utility(self.objective, y).recip()
    }
}

/// `ln(1 - e^-r)`, the logarithm of the chance of a change within r = λt, by table: an error of less than 1e-9.
///
/// A posterior of a rate asks for it at some dozen rates, times three lengths; two functions of the C library take ten times as long.
#[derive(Debug)]
pub(crate) struct LogChance {
    cubics: Vec<[f64; 4]>,
}

impl LogChance {
    const LOW: i32 = -40;
    const HIGH: i32 = 6;

    /// The table, built once (a millisecond).
    pub(crate) fn table() -> &'static LogChance {
        static TABLE: OnceLock<LogChance> = OnceLock::new();
        TABLE.get_or_init(|| LogChance { cubics: cubics(LogChance::LOW, LogChance::HIGH, LogChance::exact) })
    }

    fn exact(r: f64) -> f64 {
        (-(-r).exp_m1()).max(f64::MIN_POSITIVE).ln()
    }

    /// At r >= 0; at 0 that of the smallest number.
    #[inline]
    pub(crate) fn at(&self, r: f64) -> f64 {
        let place = key(r).wrapping_sub(((1023 + Self::LOW) as u64) << FINENESS);
        match self.cubics.get(usize::try_from(place).unwrap_or(usize::MAX)) {
            Some([a, b, c, d]) => {
                let u = f64::from_bits((r.to_bits() << FINENESS) & MANTISSA | 1f64.to_bits()) - 1.0;
                a + u * (b + u * (c + u * d))
            }
            None => LogChance::exact(r),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Order;
    use fearless_simd::{Level, dispatch};

    /// Every place of the domain, at steps that hit all parts of the cubics.
    fn domain() -> impl Iterator<Item = f64> {
        (-400_000..=300_000).map(|i| (f64::from(i) / 3_333.3).exp2())
    }

    fn check(order: Order, objective: Objective) {
        let table = Reciprocal::of(order, objective);
        let mut worst: f64 = 0.0;
        let near_one = (1..540).map(|i| 1.0 - (-f64::from(i) / 10.0).exp2());
        // The other orders have no fast inverse to compare with: fewer points.
        let step = if order == Order::Fixed { 1 } else { 37 };
        for y in domain().step_by(step).chain(near_one) {
            let exact = order.ratio_at_utility(objective, y);
            let error = if exact.is_infinite() { table.at(y) } else { (table.at(y) * exact - 1.0).abs() };
            worst = worst.max(error);
        }
        assert!(worst < 1e-9, "{order:?} {objective:?}: {worst:e}");
        for y in (-80..80).map(|i| (f64::from(i) + 0.37).exp2()).filter(|y| *y < objective.ceiling()).chain([0.7, 0.99])
        {
            let exact = order.ratio_at_utility(objective, y);
            let fall = exact.recip() / order.utility_elasticity(objective, exact);
            // That elasticity is given to its leading term where r is small.
            let tolerance = if (order, objective) == (Order::Random, Objective::Age) { 1e-2 } else { 1e-5 };
            assert!((table.with_fall(y).1 / fall - 1.0).abs() < tolerance, "{order:?} {objective:?} {y}: {fall}");
        }
    }

    /// A cubic around y tells what the table has beside y.
    #[test]
    fn cubics_are_moved_to_any_place() {
        for (order, objective) in Order::ALL.into_iter().zip(Objective::ALL) {
            let table = Reciprocal::of(order, objective);
            for y in (-140..140).map(|i| (f64::from(i) / 2.0 + 0.37).exp2()).chain([0.51, 0.7, 0.85]) {
                let [a, b, c, d] = table.around(y);
                // At twelve sixteenths of the ceiling, a hundredth is near enough.
                for change in [-0.01f64, -0.001, 0.0, 0.003, 0.01].into_iter().filter(|_| y < 0.9 * objective.ceiling())
                {
                    let told = a + change * (b + change * (c + change * d));
                    let there = table.at(y * (1.0 + change));
                    assert!(
                        (told / there - 1.0).abs() < 1e-4 * change.abs().max(1e-5),
                        "{objective:?} {y} {change}: {told} {there}"
                    );
                }
            }
        }
    }

    /// The sums of many are those of one by one.
    #[test]
    fn many_are_summed_as_one_by_one() {
        for objective in Objective::ALL {
            let table = Reciprocal::of(Order::Fixed, objective);
            let ys: Vec<f64> = (0..200).map(|i| (f64::from(i) / 20.0 - 9.99).exp2()).filter(|y| *y < 0.9).collect();
            let masses: Vec<f64> = (0..ys.len()).map(|i| 1.0 + (i % 7) as f64).collect();
            let mut sums = [0.0; 4];
            for (y, mass) in ys.iter().zip(&masses) {
                sums.iter_mut().zip(table.around(*y)).for_each(|(sum, part)| *sum += mass * part);
            }
            let mut lookup = Lookup::new();
            let together = dispatch!(Level::new(), _ => table.sum_around(&ys, &masses, &mut lookup));
            for (sum, together) in sums.iter().zip(together) {
                assert!((together / sum - 1.0).abs() < 1e-13, "{objective:?}: {together} {sum}");
            }
        }
    }

    /// Many y together are answered to the same bits as one by one, at the ceiling and above it too.
    #[test]
    fn many_are_answered_as_one_by_one() {
        for (order, objective) in Order::ALL.into_iter().flat_map(|order| Objective::ALL.map(|other| (order, other))) {
            let table = Reciprocal::of(order, objective);
            let ceiling = [1.0 - f64::EPSILON / 2.0, 1.0, 1.0 + f64::EPSILON, 1e19];
            let all = (-600..600).map(|i| (f64::from(i) / 9.5).exp2()).chain(ceiling).filter(|y| table.holds(*y));
            let all: Vec<f64> = all.collect();
            for ys in all.chunks(BLOCK - 1) {
                let mut values = vec![f64::NAN; ys.len()];
                let mut lookup = Lookup::new();
                dispatch!(Level::new(), _ => table.all_at(ys, &mut lookup, &mut values));
                for (y, value) in ys.iter().zip(values) {
                    assert_eq!(table.at(*y).to_bits(), value.to_bits(), "{order:?} {objective:?} {y}");
                    assert_eq!(value == 0.0, *y >= objective.ceiling(), "{order:?} {objective:?} {y}");
                }
            }
        }
    }

    #[test]
    fn chances_equal_the_exact_ones() {
        let table = LogChance::table();
        for r in domain().chain([0.0, f64::MIN_POSITIVE, 1e-300, 64.0, 1e9, f64::INFINITY]) {
            let (exact, ours) = (LogChance::exact(r), table.at(r));
            assert!((exact - ours).abs() < 1e-9, "{r}: {exact} {ours}");
        }
    }

    #[test]
    fn tables_equal_the_exact_inverses() {
        for order in Order::ALL {
            for objective in Objective::ALL {
                check(order, objective);
            }
        }
    }
}
