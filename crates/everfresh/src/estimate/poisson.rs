//! Is it Poisson? The times between changes of pages, grouped by their mean, against the exponential law (CGM03 figure 14).
//!
//! Visits see a change only at the next visit, so that every time between two changes is known to within the visit grid.
//! From the visit that found one change on, a Poisson page has no memory, and the time to the visit that finds the next is
//! an exponential one rounded up to a visit. Given that N of M visits found a change, every choice of the N is as likely as
//! any other, whatever the rate: a gap is longer than x with probability
//!
//! `S(x) = Π over i < N of (T - x - i g)/(T - i g)`, T the time watched, g = T/M the grid,
//!
//! which is exact for regular visits and needs no estimate of the rate. All figures here are corrected by it.

use super::{Observation, Seen};
use crate::curve::{DivergenceCurve, Exponential, Lomax, Weibull};
use crate::units::{Period, Rate, Unit};
use std::collections::BTreeMap;

/// One page's times between detected changes.
struct Gaps {
    /// From the visit that found a change to the last quiet one, and to the one that found the next.
    gaps: Vec<(f64, f64)>,
    /// From the first change to the last visit.
    total: f64,
    /// After the last change.
    tail: f64,
    /// The mean time between visits.
    grid: f64,
}

/// A dated change is known to a thousandth of its gap.
const DATED: f64 = 0.999;

impl Gaps {
    /// Collects the gaps of a page, from its first change on; none for a page that changed less than twice.
    fn of(observations: &[Observation]) -> Option<Gaps> {
        let first = observations.iter().position(Observation::has_changed)?;
        let dated = observations.iter().any(|observation| matches!(observation.seen(), Seen::LastChange(_)));
        let gaps =
            if dated { Gaps::dated(&observations[first..]) } else { Gaps::on_a_grid(&observations[first + 1..]) };
        (!gaps.gaps.is_empty()).then_some(gaps)
    }

    /// From visit to visit.
    fn on_a_grid(observations: &[Observation]) -> Gaps {
        let (mut gaps, mut waited, mut total) = (Vec::new(), 0.0, 0.0);
        for observation in observations {
            let elapsed = observation.elapsed().seconds();
            total += elapsed;
            if observation.has_changed() {
                gaps.push((waited, waited + elapsed));
                waited = 0.0;
            } else {
                waited += elapsed;
            }
        }
        Gaps { gaps, total, tail: waited, grid: total / observations.len().max(1) as f64 }
    }

    /// From the last quiet visit back to the date of the change before it: time runs backwards here, since what lies before
    /// a dated change, back to the visit before, may hide others. The last of these gaps has the place of the tail.
    fn dated(observations: &[Observation]) -> Gaps {
        let (mut gaps, mut tail, mut total) = (Vec::new(), 0.0, 0.0);
        for (i, observation) in observations.iter().enumerate() {
            let elapsed = observation.elapsed().seconds();
            let known = match observation.seen() {
                Seen::LastChange(since) => since.seconds(),
                Seen::Unchanged => elapsed,
                Seen::Changed | Seen::Changes(_) => elapsed / 2.0,
            };
            if observation.has_changed() && i > 0 {
                gaps.push((tail * DATED, tail));
                tail = 0.0;
            }
            tail += known;
            total += known;
        }
        Gaps { gaps, total, tail, grid: 0.0 }
    }

    fn mean(&self) -> f64 {
        self.total / self.gaps.len() as f64
    }

    /// The gaps of the second half of the time, the unfinished one included, and the mean gap of the first; none without a change
    /// in the first.
    ///
    /// Pages that are grouped by the very gaps that are looked at seem regular: who changed five times has no room for a long gap.
    fn later(&self) -> Option<(f64, Vec<Spell>)> {
        let middle = self.total / 2.0;
        let (mut at, mut early, mut later) = (0.0, 0.0, Vec::new());
        let tail = (self.tail > 0.0).then_some((self.tail, f64::INFINITY));
        for (low, high) in self.gaps.iter().copied().chain(tail) {
            if at + high <= middle {
                early += 1.0;
            } else {
                later.push(Spell { survived: (middle - at).clamp(0.0, low), low, high });
            }
            at += high;
        }
        (early > 0.0).then_some((middle / early, later))
    }

    /// P(a gap is longer than x), if the page is Poisson.
    fn survival(&self, x: f64) -> f64 {
        let n = self.gaps.len();
        if x >= self.total - (n as f64 - 1.0) * self.grid {
            return 0.0;
        }
        // Many changes on a fine grid: the product is a power.
        if n > 500 && n as f64 * self.grid < 1e-3 * self.total {
            return (n as f64 * (-x / self.total).ln_1p()).exp();
        }
        let step = |i: usize| {
            let before = self.total - i as f64 * self.grid;
            (before - x) / before
        };
        (0..n).map(step).product::<f64>().clamp(0.0, 1.0)
    }

    /// The squared relative deviation of all gaps, the unfinished one included, over what a Poisson page has on this grid.
    fn dispersion(&self) -> Option<f64> {
        let n = self.gaps.len() as f64;
        let mean = self.total / (n + 1.0);
        let squares: f64 = self.gaps.iter().map(|(_, high)| (high - mean).powi(2)).sum();
        let found = (squares + (self.tail - mean).powi(2)) / ((n + 1.0) * mean * mean);
        // N of M places without replacement: the variance of the spacings.
        let share = if self.grid > 0.0 { 1.0 - n * self.grid / self.total } else { 1.0 };
        let expected = n / (n + 2.0) * share;
        // Where nearly every visit finds a change, the grid hides all there is to see.
        (share > 0.1).then(|| found / expected)
    }
}

/// A gap of which it is known that it was longer than `survived`: it ended between `low` and `high`, or has not ended.
#[derive(Clone, Copy)]
struct Spell {
    survived: f64,
    low: f64,
    high: f64,
}

/// The law that fits the times between changes best, as the curve that plans use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Poisson pages of one rate.
    Exponential(Exponential),
    /// Poisson pages whose rates differ.
    Lomax(Lomax),
    /// Bursty pages (shape below 1) or regular ones (above).
    Weibull(Weibull),
}

impl Law {
    /// The name.
    pub const fn name(&self) -> &'static str {
        match self {
            Law::Exponential(_) => "exponential",
            Law::Lomax(_) => "Lomax",
            Law::Weibull(_) => "Weibull",
        }
    }

    /// Its curve.
    pub fn curve(&self) -> &dyn DivergenceCurve {
        match self {
            Law::Exponential(curve) => curve,
            Law::Lomax(curve) => curve,
            Law::Weibull(curve) => curve,
        }
    }
}

/// A bar of the picture: the share of gaps up to a length, as seen and as a Poisson page would have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// From the bar before up to this length.
    pub up_to: Period,
    /// The share of gaps that were seen.
    pub seen: f64,
    /// The share that Poisson pages with as many changes at these visits would show.
    pub expected: f64,
}

/// What was found of the pages whose mean time between changes is alike within a factor of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The shortest and the longest mean time between changes.
    pub mean_gap: (Period, Period),
    /// The pages.
    pub pages: usize,
    /// Their times between changes.
    pub gaps: usize,
    /// Kolmogorov's distance of the gaps from the exponential law: 0 to 1.
    pub distance: f64,
    /// The distance that chance explains, 19 times in 20: `1.36/sqrt(gaps)`.
    pub by_chance: f64,
    /// The share of pages whose own gaps pass as exponential by the same measure; about 0.95 or more of Poisson pages do.
    pub passing: f64,
    /// The squared relative deviation of the gaps: 1 for Poisson, more for bursts, less for clockwork. None where nearly
    /// every visit found a change.
    pub dispersion: Option<f64>,
    /// CGM03 figure 14: ten bars of half a mean gap each.
    pub bars: Vec<Bar>,
    /// Mean ln P per gap of exponential, Lomax and Weibull, each fitted to half of the pages and judged on the other: pages whose
    /// first half of visits had such a mean gap, by the gaps of the second half. None for fewer than two.
    pub held_out: Option<[f64; 3]>,
    /// The winner: the exponential law unless another is clearly better, and Lomax unless Weibull is clearly better. Lomax is not
    /// among them where the dispersion exceeds 1.5: what varies within pages is not explained by rates that differ between them.
    pub law: Law,
    /// The shape of that law: α of Lomax, k of Weibull.
    pub shape: Option<f64>,
}

impl Group {
    /// Do the gaps pass as exponential?
    pub fn passes(&self) -> bool {
        self.distance <= self.by_chance
    }
}

/// Examines pages, each as its observations in order, and says for each group of like pages how they change.
///
/// Pages that changed less than three times are left out: two changes have one gap, which is compared with nothing. Groups come
/// with their mean gap rising.
pub fn examine<'a>(pages: impl IntoIterator<Item = &'a [Observation]>) -> Vec<Group> {
    let mut groups: BTreeMap<i32, (Vec<Gaps>, Vec<Vec<Spell>>)> = BTreeMap::new();
    for gaps in pages.into_iter().filter_map(Gaps::of) {
        if let Some((mean, later)) = gaps.later() {
            groups.entry(octave(mean)).or_default().1.push(later);
        }
        if gaps.gaps.len() >= 2 {
            groups.entry(octave(gaps.mean())).or_default().0.push(gaps);
        }
    }
    let seen = groups.into_iter().filter(|(_, (pages, _))| !pages.is_empty());
    seen.map(|(octave, (pages, later))| group(octave, &pages, &later)).collect()
}

/// Between which powers of two a time lies, in days.
#[expect(clippy::cast_possible_truncation, reason = "a binary exponent")]
fn octave(seconds: f64) -> i32 {
    (seconds / Unit::Day.seconds()).log2().floor() as i32
}

fn group(octave: i32, pages: &[Gaps], later: &[Vec<Spell>]) -> Group {
    let gaps: usize = pages.iter().map(|page| page.gaps.len()).sum();
    let from = Unit::Day.seconds() * f64::from(octave).exp2();
    let dispersion = dispersion(pages);
    let is_bursty = dispersion.is_some_and(|dispersion| dispersion > BURSTY);
    let (held_out, law, shape) = verdict(later, from * std::f64::consts::SQRT_2, is_bursty);
    Group {
        mean_gap: (Period::raw(from), Period::raw(2.0 * from)),
        pages: pages.len(),
        gaps,
        distance: distance(pages),
        by_chance: by_chance(gaps),
        passing: pages.iter().filter(|page| passes(page)).count() as f64 / pages.len() as f64,
        dispersion,
        bars: bars(pages, gaps),
        held_out,
        law,
        shape,
    }
}

/// Kolmogorov's distance that 19 of 20 samples stay within.
fn by_chance(gaps: usize) -> f64 {
    1.36 / (gaps as f64).sqrt()
}

fn passes(page: &Gaps) -> bool {
    distance(std::slice::from_ref(page)) <= by_chance(page.gaps.len())
}

/// Kolmogorov's distance of the gaps' probabilities from the uniform law, each spread over the visit it fell in.
fn distance(pages: &[Gaps]) -> f64 {
    const BINS: usize = 400;
    let gaps: usize = pages.iter().map(|page| page.gaps.len()).sum();
    let mut mass = [0.0; BINS + 1];
    for page in pages {
        for (low, high) in &page.gaps {
            let scale = |x: f64| (1.0 - page.survival(x)) * BINS as f64;
            let (from, to) = (scale(*low), scale(*high).max(scale(*low) + 1e-9));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the bins")]
            let (first, last) = (from as usize, (to as usize).min(BINS));
            for (bin, mass) in mass.iter_mut().enumerate().take(last + 1).skip(first) {
                *mass += (to.min(bin as f64 + 1.0) - from.max(bin as f64)).max(0.0) / (to - from);
            }
        }
    }
    let mut sum = 0.0;
    let mut worst = 0.0f64;
    for (bin, mass) in mass.iter().enumerate().take(BINS) {
        sum += mass / gaps as f64;
        worst = worst.max((sum - (bin + 1) as f64 / BINS as f64).abs());
    }
    worst
}

fn dispersion(pages: &[Gaps]) -> Option<f64> {
    let figures = pages.iter().filter_map(|page| Some((page.dispersion()?, page.gaps.len() as f64)));
    let (sum, weight) = figures.fold((0.0, 0.0), |(sum, weight), (d, n)| (sum + d * n, weight + n));
    (weight > 0.0).then(|| sum / weight)
}

/// Shares of gaps by length, seen and expected.
fn bars(pages: &[Gaps], gaps: usize) -> Vec<Bar> {
    let total: f64 = pages.iter().map(|page| page.total).sum();
    let width = total / gaps as f64 / 2.0;
    let mut before = (0.0, 0.0);
    let mut bars = Vec::new();
    for bar in 1..=10 {
        let up_to = f64::from(bar) * width;
        let (mut seen, mut expected) = (0.0, 0.0);
        for page in pages {
            seen += page.gaps.iter().filter(|(_, high)| *high <= up_to).count() as f64;
            // A gap is seen at a visit: the last one before the end of the bar counts.
            let last = if page.grid > 0.0 { (up_to / page.grid + 1e-9).floor() * page.grid } else { up_to };
            expected += page.gaps.len() as f64 * (1.0 - page.survival(last));
        }
        let (seen, expected) = (seen / gaps as f64, expected / gaps as f64);
        bars.push(Bar { up_to: Period::raw(up_to), seen: seen - before.0, expected: expected - before.1 });
        before = (seen, expected);
    }
    bars
}

/// Spells of nearly the same bounds together, and how many.
type Cells = Vec<(f64, Spell)>;

fn cells<'a>(pages: impl Iterator<Item = &'a Vec<Spell>>) -> Cells {
    // Sign, exponent and four bits of the mantissa.
    #[expect(clippy::cast_possible_truncation, reason = "a bucket")]
    let bits = |x: f64| (x as f32).to_bits() >> 19;
    let mut buckets: BTreeMap<[u32; 3], (f64, [f64; 3])> = BTreeMap::new();
    for Spell { survived, low, high } in pages.flatten() {
        let bounds = [*survived, *low, *high];
        let (n, sums) = buckets.entry(bounds.map(bits)).or_default();
        *n += 1.0;
        sums.iter_mut().zip(bounds).for_each(|(sum, bound)| *sum += bound);
    }
    let mean = |(n, [survived, low, high]): (f64, [f64; 3])| {
        (n, Spell { survived: survived / n, low: low / n, high: high / n })
    };
    buckets.into_values().map(mean).collect()
}

/// ln P(gaps) under a law, up to the same constant for all laws.
fn log_likelihood(cells: &Cells, survival: impl Fn(f64) -> f64) -> f64 {
    let one = |spell: &Spell| {
        let ended = (survival(spell.low) - survival(spell.high)).max(1e-12) / survival(spell.survived).max(1e-12);
        ended.min(1.0).ln()
    };
    cells.iter().map(|(n, spell)| n * one(spell)).sum()
}

const LAWS: usize = 3;

/// P(longer than x) under one of the three laws, with a time for its scale and its shape.
fn survival(law: usize, scale: f64, shape: f64, x: f64) -> f64 {
    match law {
        0 => (-x / scale).exp(),
        // The shape is α; its scale β follows from the median, so that both can be sought apart.
        1 => (-shape * (x / scale * (std::f64::consts::LN_2 / shape).exp_m1()).ln_1p()).exp(),
        _ => (-(x / scale).powf(shape)).exp(),
    }
}

/// The shapes that are tried.
const SHAPES: [(f64, f64); LAWS] = [(1.0, 1.0), (0.15, 50.0), (0.2, 3.0)];

/// The likeliest scale and shape: the scale by golden section, inside the shape by golden section.
fn fit(law: usize, cells: &Cells) -> (f64, f64) {
    let (mut time, mut count) = (0.0, 0.0);
    for (n, spell) in cells {
        let ended = spell.high.is_finite();
        time += n * (if ended { spell.high } else { spell.low } - spell.survived);
        count += n * f64::from(u8::from(ended));
    }
    // As if one more had just ended.
    let mean = time / (count + 1.0);
    let best_scale = |shape: f64| {
        golden((mean * 1e-3).ln(), (mean * 1e3).ln(), |s| log_likelihood(cells, |x| survival(law, s.exp(), shape, x)))
    };
    let (low, high) = SHAPES[law];
    if low == high {
        return (best_scale(low).0.exp(), low);
    }
    let shape = golden(low.ln(), high.ln(), |shape| best_scale(shape.exp()).1).0.exp();
    (best_scale(shape).0.exp(), shape)
}

/// The maximum of a function with one peak: where, and how high.
fn golden(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> (f64, f64) {
    const RATIO: f64 = 0.618_033_988_749_895;
    let (mut a, mut b) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut fa, mut fb) = (function(a), function(b));
    for _ in 0..24 {
        if fa > fb {
            (high, b, fb) = (b, a, fa);
            a = high - RATIO * (high - low);
            fa = function(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + RATIO * (high - low);
            fb = function(b);
        }
    }
    if fa > fb { (a, fa) } else { (b, fb) }
}

/// By so much, as a logarithm, a law must fit held-out gaps better than a simpler one to replace it: 20 to 1, as with a profile.
const BETTER: f64 = 3.0;

/// Where the gaps of each page vary more than this, compared with a Poisson page, it is no Poisson page of whatever rate.
const BURSTY: f64 = 1.5;

/// Held-out ln P per gap of the three laws, and the winner, fitted to all pages; where there are none, the exponential law of
/// that mean.
fn verdict(pages: &[Vec<Spell>], mean: f64, is_bursty: bool) -> (Option<[f64; LAWS]>, Law, Option<f64>) {
    if pages.len() < 2 {
        return (None, Law::Exponential(Exponential::new(Rate::estimated(1.0 / mean))), None);
    }
    let half = |parity: usize| cells(pages.iter().skip(parity).step_by(2));
    let halves = [half(0), half(1)];
    let count: f64 = halves.iter().flatten().map(|(n, _)| n).sum();
    let mut held_out = [0.0; LAWS];
    for (law, sum) in held_out.iter_mut().enumerate() {
        for (train, test) in [(&halves[0], &halves[1]), (&halves[1], &halves[0])] {
            let (scale, shape) = fit(law, train);
            *sum += log_likelihood(test, |x| survival(law, scale, shape, x));
        }
    }
    let mut winner = 0;
    // Pages whose rates differ do not explain what varies within each.
    for law in if is_bursty { 2 } else { 1 }..LAWS {
        winner = if held_out[law] > held_out[winner] + BETTER { law } else { winner };
    }
    let (law, shape) = law_of(winner, &cells(pages.iter()));
    (Some(held_out.map(|sum| sum / count)), law, shape)
}

/// A law fitted to spells, and its shape.
fn law_of(law: usize, cells: &Cells) -> (Law, Option<f64>) {
    let (scale, shape) = fit(law, cells);
    let rate = Rate::estimated(1.0 / scale);
    let fitted = match law {
        1 => Lomax::with_half_life(Period::raw(scale), shape).map(Law::Lomax),
        2 => Weibull::new(rate, shape).map(Law::Weibull),
        _ => return (Law::Exponential(Exponential::new(rate)), None),
    };
    fitted.map_or((Law::Exponential(Exponential::new(rate)), None), |fitted| (fitted, Some(shape)))
}
