use crate::curve::{DivergenceCurve, Scroll};
use crate::error::{Error, Result};
use crate::numeric::{Tail, poisson_tails};
use crate::units::{Period, Rate};

/// A part of a page that changes in its own way (OP08 section 3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    share: f64,
    rate: Rate,
    items: u32,
    is_list: bool,
}

impl Region {
    /// The most items of a scroll region: the curve of a page takes time in proportion.
    pub const MOST_ITEMS: u32 = 10_000;

    /// Churn: every change overwrites the whole region, which holds `share` of the page's fragments, above 0 and at most 1.
    pub fn churn(share: f64, rate: Rate) -> Result<Self> {
        Scroll::new(rate, 1, share)?;
        Ok(Region { share, rate, items: 1, is_list: false })
    }

    /// Scroll: every change appends one of `items` (K, at most 10,000) items of the same length and drops the oldest.
    pub fn scroll(share: f64, rate: Rate, items: u32) -> Result<Self> {
        Scroll::new(rate, items, share)?;
        if items > Region::MOST_ITEMS {
            let (what, bound) = ("number of items of a region", "between 1 and 10000");
            return Err(Error::OutOfBounds { what, bound, value: f64::from(items) });
        }
        Ok(Region { share, rate, items, is_list: true })
    }

    /// Its share of the page's fragments.
    pub const fn share(&self) -> f64 {
        self.share
    }

    /// How often it changes.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// K: after how many changes a fragment is gone. 1 for churn.
    pub const fn items(&self) -> u32 {
        self.items
    }

    /// Is it a list whose items scroll away?
    pub const fn is_list(&self) -> bool {
        self.is_list
    }

    /// `P(lifetime <= t)` of a fragment: K changes have happened (OP08 section 3.3).
    ///
    /// ```
    /// use everfresh::longevity::Region;
    /// use everfresh::{Period, Unit};
    /// // OP08 figure 4: churn and scroll (K = 10) with a rate of 0.25 a day, after four days.
    /// let four_days = Period::of(4.0, Unit::Day)?;
    /// let churn = Region::churn(0.5, "0.25/day".parse()?)?;
    /// let scroll = Region::scroll(0.5, "0.25/day".parse()?, 10)?;
    /// assert!((churn.lifetime_by(four_days) - 0.632).abs() < 1e-3);
    /// assert!(scroll.lifetime_by(four_days) < 1e-6);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn lifetime_by(&self, elapsed: Period) -> f64 {
        Scroll::new(self.rate, self.items, self.share).map_or(0.0, |list| list.lifetime_by(elapsed))
    }

    /// How many fragments come into being per second, as a share of the page: each lives K changes.
    fn births(&self) -> f64 {
        self.share * self.rate.per_second() / f64::from(self.items)
    }
}

/// A page made of regions that change independently, the rest of it being static (OP08 section 3.3), and its divergence curve.
///
/// With the shares `a_i` of the page and the replaced parts `q_i` of the regions (0 or 1 for churn, `min(j, K)/K` for scroll after
/// j changes), a share `q = Σ a_i q_i` of the page is gone and as much is new, and the Jaccard distance is `2q/(1+q)`. This
/// is concave in q: the distances of the regions do not add up, nor is the distance at the mean q the mean distance. The exact expectation
/// follows from `1/(1+q) = ∫ e^-s e^(-sq) ds`, which turns independent regions into factors:
///
/// `D(t) = 2 ∫ e^-s (1 - Π_i E e^(-s a_i q_i(t))) ds`
///
/// with `1 - E e^(-s a q) = (1 - y) Σ_j y^(j-1) P(J >= j)`, `y = e^(-sa/K)`, j = 1..K and `J ~ Poisson(λt)`. Sixteen points of Gauss
/// and Laguerre give the integral to 2e-15 for every page; with a single region D is that of
/// [`Churn`](crate::curve::Churn) or [`Scroll`]. The utility is the integral of `t D'(t)`, by Gauss's rule in steps as short as the
/// regions demand, to about 1e-13.
///
/// Exact for items of equal numbers of fragments none of which occurs twice. Where fragments are k words, a new item of n words
/// also changes those k - 1 fragments that reach over its edges: D rises as if its share were larger by up to (k - 1)/n of itself.
///
/// ```
/// use everfresh::curve::DivergenceCurve;
/// use everfresh::longevity::{Region, Regions};
/// use everfresh::Period;
/// let advertisement = Region::churn(0.2, "12/day".parse()?)?;
/// let recipes = Region::scroll(0.3, "1/day".parse()?, 10)?;
/// let page = Regions::new(&[advertisement, recipes])?;
/// assert!((page.divergence(Period::NEVER) - 2.0 * 0.5 / 1.5).abs() < 1e-14);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Regions {
    regions: Vec<Region>,
    /// Times and the utility at them, in steps over which the integral is exact.
    knots: Vec<(f64, f64)>,
}

impl Regions {
    /// A page of these regions; their shares are at most 1 together. Without regions it is static.
    pub fn new(regions: &[Region]) -> Result<Self> {
        let share: f64 = regions.iter().map(Region::share).sum();
        // Shares such as 0.1 + 0.2 + 0.7 may come out a rounding above 1.
        if share > 1.0 + 1e-12 {
            let (what, bound) = ("share of all regions together", "at most 1");
            return Err(Error::OutOfBounds { what, bound, value: share });
        }
        let mut page = Regions { regions: regions.to_vec(), knots: vec![(0.0, 0.0)] };
        page.integrate();
        Ok(page)
    }

    /// The regions that change.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The share of the page that never changes.
    pub fn static_share(&self) -> f64 {
        let changing: f64 = self.regions.iter().filter(|r| r.rate != Rate::STATIC).map(Region::share).sum();
        (1.0 - changing).max(0.0)
    }

    /// `P(lifetime <= t)` of a fragment that is not static, over all that come into being (OP08 figure 5); 0 for a static page.
    pub fn lifetime_by(&self, elapsed: Period) -> f64 {
        let births: f64 = self.regions.iter().map(Region::births).sum();
        let gone: f64 = self.regions.iter().map(|region| region.births() * region.lifetime_by(elapsed)).sum();
        if births == 0.0 { 0.0 } else { gone / births }
    }

    /// For every node s of the integral: `Σ ln E e^(-s a_i q_i)`, and minus its derivative per second.
    fn factors(&self, elapsed: Period) -> [(f64, f64); 16] {
        let mut factors = [(0.0, 0.0); 16];
        for region in self.regions.iter().filter(|region| region.rate * elapsed > 0.0) {
            for (factor, (gone, slope)) in factors.iter_mut().zip(region.gone(elapsed)) {
                // Where e^-s is below the last place of 1 the weight of the node is too.
                let gone = gone.min(1.0 - f64::EPSILON);
                factor.0 += (-gone).ln_1p();
                factor.1 += slope / (1.0 - gone);
            }
        }
        factors
    }

    /// Where the utility has reached its ceiling in every digit.
    fn end(&self) -> f64 {
        self.regions.iter().map(Region::end).fold(0.0, f64::max)
    }

    /// The next step of the integral of `t D'(t)`: short enough for the fastest region that is still changing.
    fn step(&self, t: f64) -> f64 {
        let active = self.regions.iter().filter(|region| t < region.end());
        active.map(|region| region.step(t)).fold(f64::INFINITY, f64::min)
    }

    /// Lays the knots, up to where U has reached its ceiling.
    fn integrate(&mut self) {
        let end = self.end();
        let (mut t, mut total) = (0.0, 0.0);
        while t < end {
            let next = (t + self.step(t)).min(end);
            total += self.integral(t, next);
            t = next;
            self.knots.push((t, total));
        }
    }

    /// The integral of `t D'(t)` over one step.
    fn integral(&self, from: f64, to: f64) -> f64 {
        let (middle, half) = (f64::midpoint(from, to), (to - from) / 2.0);
        let at = |x: f64| x * self.slope(Period::raw(x));
        half * LEGENDRE.iter().map(|(x, w)| w * (at(middle - half * x) + at(middle + half * x))).sum::<f64>()
    }
}

impl Region {
    /// For every node s: `1 - E e^(-saq)`, and its derivative per second. Horner's scheme, all terms positive.
    fn gone(&self, elapsed: Period) -> [(f64, f64); 16] {
        let r = self.rate * elapsed;
        let per_item = self.share / f64::from(self.items);
        if r.is_infinite() {
            return LAGUERRE.map(|(s, _)| (-(-s * self.share).exp_m1(), 0.0));
        }
        let (mut sums, stays) = ([(0.0, 0.0); 16], LAGUERRE.map(|(s, _)| (-s * per_item).exp()));
        for Tail { point_before, at_least, .. } in poisson_tails(self.items, r) {
            for (sum, y) in sums.iter_mut().zip(stays) {
                *sum = (sum.0 * y + at_least, sum.1 * y + point_before);
            }
        }
        let mut gone = [(0.0, 0.0); 16];
        for ((gone, sum), (s, _)) in gone.iter_mut().zip(sums).zip(LAGUERRE) {
            let leaves = -(-s * per_item).exp_m1();
            *gone = (leaves * sum.0, self.rate.per_second() * leaves * sum.1);
        }
        gone
    }

    /// When all items are replaced for certain.
    fn end(&self) -> f64 {
        let k = f64::from(self.items);
        if self.rate == Rate::STATIC { 0.0 } else { (k + 10.0 * k.sqrt() + 45.0) / self.rate.per_second() }
    }

    /// A change, or half the spread of the number of changes, whichever is longer.
    fn step(&self, t: f64) -> f64 {
        let per_second = self.rate.per_second();
        (per_second * t / 4.0).sqrt().max(1.0) / per_second
    }
}

impl DivergenceCurve for Regions {
    fn divergence(&self, elapsed: Period) -> f64 {
        let factors = self.factors(elapsed).into_iter().zip(LAGUERRE);
        2.0 * factors.map(|((log, _), (_, weight))| weight * -log.exp_m1()).sum::<f64>()
    }

    fn slope(&self, elapsed: Period) -> f64 {
        if elapsed == Period::ZERO {
            // Small regions at their first change: dq/dt = Σ a_i λ_i / K_i, but each step is `2d/(1+d)` of the page.
            let first = |region: &Region| {
                let d = region.share / f64::from(region.items);
                region.rate.per_second() * 2.0 * d / (1.0 + d)
            };
            return self.regions.iter().map(first).sum();
        }
        let factors = self.factors(elapsed).into_iter().zip(LAGUERRE);
        2.0 * factors.map(|((log, slope), (_, weight))| weight * log.exp() * slope).sum::<f64>()
    }

    fn area(&self, elapsed: Period) -> f64 {
        let divergence = self.divergence(elapsed);
        match elapsed.seconds() * divergence {
            rising if rising.is_finite() => (rising - self.utility(elapsed)).max(0.0),
            _ if divergence > 0.0 => f64::INFINITY,
            _ => 0.0,
        }
    }

    fn utility(&self, elapsed: Period) -> f64 {
        let t = elapsed.seconds();
        let next = self.knots.partition_point(|knot| knot.0 <= t);
        let (from, before) = self.knots[next - 1];
        if next == self.knots.len() { before } else { before + self.integral(from, t) }
    }

    fn ceiling(&self) -> f64 {
        self.knots.last().map_or(0.0, |knot| knot.1)
    }
}

/// Nodes and weights of Gauss and Laguerre for `∫ e^-s f(s) ds` over 0..infinity.
const LAGUERRE: [(f64, f64); 16] = [
    (0.087_649_410_478_927_84, 0.206_151_714_957_801),
    (0.462_696_328_915_080_8, 0.331_057_854_950_884_2),
    (1.141_057_774_831_227, 0.265_795_777_644_214_15),
    (2.129_283_645_098_380_6, 0.136_296_934_296_377_54),
    (3.437_086_633_893_206_6, 0.047_328_928_694_125_22),
    (5.078_018_614_549_768, 0.011_299_900_080_339_453),
    (7.070_338_535_048_234, 0.001_849_070_943_526_310_9),
    (9.438_314_336_391_939, 0.000_204_271_915_308_278_46),
    (12.214_223_368_866_16, 0.000_014_844_586_873_981_299),
    (15.441_527_368_781_617, 6.828_319_330_871_2e-7),
    (19.180_156_856_753_135, 1.881_024_841_079_673e-8),
    (23.515_905_693_991_908, 2.862_350_242_973_881_6e-10),
    (28.578_729_742_882_14, 2.127_079_033_224_103e-12),
    (34.583_398_702_286_62, 6.297_967_002_517_868e-15),
    (41.940_452_647_688_33, 5.050_473_700_035_513e-18),
    (51.701_160_339_543_32, 4.161_462_370_372_855e-22),
];

/// Nodes and weights of Gauss and Legendre with ten points over -1..1, the positive half.
const LEGENDRE: [(f64, f64); 5] = [
    (0.148_874_338_981_631_22, 0.295_524_224_714_752_87),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996_35),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
    (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
];
