//! Is it Poisson? The times between changes of pages, grouped by their mean, against the exponential law (CGM03 figure 14).
//!
//! Visits see a change only at the next visit, so that every time between two changes is known to within the visits. From
//! the visit that found one change on, a Poisson page has no memory: what it would show is known from the visits alone. So each page is
//! compared with [`REPLICAS`] Poisson pages at the very same visits that show as many changes, whatever the rate: a
//! Monte Carlo test (Barnard 1963; Besag & Clifford 1989), which needs no theory of grids. Of N changes in M visits, N of the M are
//! drawn: every time between two visits gets an exponential clock that runs as fast as the time is long, and the first N that ring are those
//! with a change. For regular visits every choice is as likely as any other, and the test exact; for irregular ones it is the likelihood of the
//! choice, averaged over the rates (with all rates alike beforehand, and the time that stayed quiet as a factor). The draws depend
//! on nothing but the place of the page among those examined: the same pages give the same answer.

use super::{Observation, Seen};
use crate::curve::{DivergenceCurve, Exponential, Lomax, Weibull};
use crate::numeric::spread;
use crate::units::{Period, Rate, Unit};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// One page's times between detected changes.
struct Gaps {
    /// From the visit that found a change to the last quiet one, and to the one that found the next.
    gaps: Vec<(f64, f64)>,
    /// From the first change to the last visit.
    total: f64,
    /// After the last change.
    tail: f64,
    /// The times between visits; where changes are dated, that before the first change is among them. None where no visits were needed.
    visits: Vec<f64>,
    known: Known,
}

/// What is known of the times of changes.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// Between which visits they lie.
    Visits,
    /// The date of the last before each visit.
    Dates,
    /// All of them.
    All,
}

/// A dated change is known to a thousandth of its gap.
const DATED: f64 = 0.999;

/// The time before a visit that is known to have no change, where changes are dated.
fn known(observation: &Observation) -> f64 {
    let elapsed = observation.elapsed().seconds();
    match observation.seen() {
        Seen::LastChange(since) => since.seconds(),
        Seen::Unchanged => elapsed,
        Seen::Changed | Seen::Changes(_) => elapsed / 2.0,
    }
}

impl Gaps {
    /// Collects the gaps of a page, from its first change on; none for a page that changed less than twice.
    fn of(observations: &[Observation]) -> Option<Gaps> {
        let first = observations.iter().position(Observation::has_changed)?;
        let dated = observations.iter().any(|observation| matches!(observation.seen(), Seen::LastChange(_)));
        let later = &observations[if dated { first } else { first + 1 }..];
        let visits = later.iter().map(|observation| observation.elapsed().seconds()).collect();
        let changed = later.iter().map(Observation::has_changed);
        let gaps = if dated {
            Gaps::dated(visits, later.iter().map(known).zip(changed))
        } else {
            Gaps::on_a_grid(visits, changed)
        };
        (!gaps.gaps.is_empty()).then_some(gaps)
    }

    /// The gaps of a page whose changes are all known, each at the end of an observation; none for a page without a change.
    fn logged(observations: &[Observation]) -> Option<Gaps> {
        let (mut gaps, mut waited, mut total) = (Vec::new(), 0.0, 0.0);
        for observation in observations {
            waited += observation.elapsed().seconds();
            total += observation.elapsed().seconds();
            if observation.has_changed() {
                gaps.push((waited * DATED, waited));
                waited = 0.0;
            }
        }
        let gaps = Gaps { gaps, total, tail: waited, visits: Vec::new(), known: Known::All };
        (!gaps.gaps.is_empty()).then_some(gaps)
    }

    /// From visit to visit: the times between them, and whether each found a change.
    fn on_a_grid(visits: Vec<f64>, changed: impl Iterator<Item = bool>) -> Gaps {
        let (mut gaps, mut waited) = (Vec::new(), 0.0);
        for (elapsed, has_changed) in visits.iter().zip(changed) {
            if has_changed {
                gaps.push((waited, waited + elapsed));
                waited = 0.0;
            } else {
                waited += elapsed;
            }
        }
        Gaps { gaps, total: visits.iter().sum(), tail: waited, visits, known: Known::Visits }
    }

    /// From the last quiet visit back to the date of the change before it: time runs backwards here, since what lies before
    /// a dated change, back to the visit before, may hide others. The last of these gaps has the place of the tail.
    ///
    /// `known` has for every visit the time without a change before it, and whether it found one.
    fn dated(visits: Vec<f64>, known: impl Iterator<Item = (f64, bool)>) -> Gaps {
        let (mut gaps, mut tail, mut total) = (Vec::new(), 0.0, 0.0);
        for (i, (known, has_changed)) in known.enumerate() {
            if has_changed && i > 0 {
                gaps.push((tail * DATED, tail));
                tail = 0.0;
            }
            tail += known;
            total += known;
        }
        Gaps { gaps, total, tail, visits, known: Known::Dates }
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

    /// A Poisson page at the same visits with as many changes.
    fn anew(&self, draws: &mut Draws) -> Gaps {
        match self.known {
            Known::Visits => self.anew_on_a_grid(draws),
            Known::Dates => self.anew_with_dates(draws),
            Known::All => self.anew_at_any_time(draws),
        }
    }

    fn clocks(&self, draws: &mut Draws) -> Vec<f64> {
        self.visits.iter().map(|elapsed| -draws.uniform().ln() / elapsed).collect()
    }

    fn anew_on_a_grid(&self, draws: &mut Draws) -> Gaps {
        let clocks = self.clocks(draws);
        let last = *clocks.clone().select_nth_unstable_by(self.gaps.len() - 1, f64::total_cmp).1;
        Gaps::on_a_grid(self.visits.clone(), clocks.into_iter().map(|clock| clock <= last))
    }

    /// N changes of a Poisson page lie as N points thrown at random, whatever the rate.
    fn anew_at_any_time(&self, draws: &mut Draws) -> Gaps {
        let mut times: Vec<f64> = self.gaps.iter().map(|_| draws.uniform() * self.total).collect();
        times.sort_unstable_by(f64::total_cmp);
        let mut before = 0.0;
        let gap = |time: f64| {
            let gap = time - std::mem::replace(&mut before, time);
            (gap * DATED, gap)
        };
        let gaps = times.into_iter().map(gap).collect();
        Gaps { gaps, total: self.total, tail: self.total - before, visits: Vec::new(), known: Known::All }
    }

    /// The dates are drawn at the likeliest rate.
    fn anew_with_dates(&self, draws: &mut Draws) -> Gaps {
        let (n, mut clocks) = (self.gaps.len(), self.clocks(draws));
        // The first visit found the change from which on the page was watched.
        clocks[0] = 0.0;
        let last = *clocks.clone().select_nth_unstable_by(n, f64::total_cmp).1;
        let rate = (n + 1) as f64 / self.total;
        let mut since = |elapsed: f64| -(draws.uniform() * (-rate * elapsed).exp_m1()).ln_1p() / rate;
        let known: Vec<(f64, bool)> = self
            .visits
            .iter()
            .zip(clocks)
            .map(|(elapsed, clock)| if clock <= last { (since(*elapsed), true) } else { (*elapsed, false) })
            .collect();
        Gaps::dated(self.visits.clone(), known.into_iter())
    }

    /// The mean of its gaps, the unfinished one among them.
    fn scale(&self) -> f64 {
        self.total / (self.gaps.len() + 1) as f64
    }

    /// What is counted of the page, on a scale with this mean, with bars of this width.
    fn tally(&self, mean: f64, width: f64) -> Tally {
        let mut tally = Tally { places: [0; PLACES], bars: [0; BARS] };
        let place = |share: f64, of: usize| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0, and then bounded")]
            let place = share as usize;
            place.min(of)
        };
        for (_, high) in &self.gaps {
            // Where on the scale of an exponential law; any scale does for what is only compared.
            let share = -(-high / mean).exp_m1();
            tally.places[place(share * PLACES as f64, PLACES - 1)] += 1;
            // Up to the end of a bar, which belongs to it.
            let bar = place((high / width - 1e-9).max(0.0), BARS);
            if let Some(count) = tally.bars.get_mut(bar) {
                *count += 1;
            }
        }
        tally
    }

    /// The squared relative deviation of all gaps, the unfinished one included.
    fn deviation(&self) -> f64 {
        let (n, mean) = (self.gaps.len() as f64, self.scale());
        let squares: f64 = self.gaps.iter().map(|(_, high)| (high - mean).powi(2)).sum();
        (squares + (self.tail - mean).powi(2)) / ((n + 1.0) * mean * mean)
    }

    /// Does nearly every visit find a change, so that there is nothing to see between them?
    fn is_hidden(&self) -> bool {
        self.known == Known::Visits && self.gaps.len() as f64 > 0.9 * self.visits.len() as f64
    }
}

/// Poisson pages that each page is compared with.
pub const REPLICAS: usize = 99;

/// Of the page and its replicas together, so many of the most extreme are called extreme: 5 %.
const EXTREME: usize = (REPLICAS + 1) / 20;

/// Places on the scale of gaps, and bars of the picture.
const PLACES: usize = 100;
const BARS: usize = 10;

/// Numbers between 0 and 1 that look random, the same for the same seed (`SplitMix64`).
struct Draws(u64);

impl Draws {
    fn new(seed: u64) -> Draws {
        Draws(spread(seed))
    }

    /// Above 0 and below 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        ((spread(self.0) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }
}

/// How many gaps a page, or a group, has in each place and in each bar.
#[derive(Clone, Copy)]
struct Tally {
    places: [u32; PLACES],
    bars: [u32; BARS],
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.places.iter_mut().zip(other.places).for_each(|(sum, more)| *sum += more);
        self.bars.iter_mut().zip(other.bars).for_each(|(sum, more)| *sum += more);
    }
}

/// A page's own figures: does it pass, and its dispersion.
struct Judged {
    passes: bool,
    dispersion: Option<f64>,
}

/// Tallies of a page, then of its replicas, and what they say of it.
fn judge(page: &Gaps, seed: u64, width: f64) -> (Vec<Tally>, Judged) {
    let (mut draws, scale) = (Draws::new(seed), page.scale());
    let (mut tallies, mut deviations) = (vec![page.tally(scale, width)], 0.0);
    for _ in 0..REPLICAS {
        let replica = page.anew(&mut draws);
        tallies.push(replica.tally(scale, width));
        deviations += replica.deviation() / REPLICAS as f64;
    }
    let distances = distances(&tallies);
    let extreme = distances[1..].iter().filter(|distance| **distance >= distances[0]).count();
    let dispersion = (!page.is_hidden() && deviations > 0.0).then(|| page.deviation() / deviations);
    (tallies, Judged { passes: extreme >= EXTREME, dispersion })
}

/// Kolmogorov's distance of each tally from the mean of all of them: all are treated alike, so that the first is as likely as any other
/// to be the most extreme, if it is one of them.
fn distances(tallies: &[Tally]) -> Vec<f64> {
    let gaps: u32 = tallies[0].places.iter().sum();
    let mut mean = [0.0; PLACES];
    for tally in tallies {
        mean.iter_mut().zip(tally.places).for_each(|(sum, count)| *sum += f64::from(count) / tallies.len() as f64);
    }
    let distance = |tally: &Tally| {
        let (mut apart, mut worst) = (0.0, 0.0_f64);
        for (count, mean) in tally.places.iter().zip(mean) {
            apart += f64::from(*count) - mean;
            worst = worst.max(apart.abs());
        }
        // Sums of shares are not exact: nearer than this is the same.
        (worst / f64::from(gaps.max(1)) * 1e9).round() / 1e9
    };
    tallies.iter().map(distance).collect()
}

/// A gap of which it is known that it was longer than `survived`: it ended between `low` and `high`, or has not ended.
#[derive(Clone, Copy)]
struct Spell {
    survived: f64,
    low: f64,
    high: f64,
}

/// The law that fits the times from one change to the next best, as the curve of a copy that was made at a change.
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
    /// Kolmogorov's distance of the gaps from those of Poisson pages at the same visits: 0 to 1.
    pub distance: f64,
    /// The distance that chance explains, 19 times in 20: that of the fifth farthest of [`REPLICAS`] groups of such pages.
    pub by_chance: f64,
    /// The share of pages whose own gaps pass by the same measure; about 0.95 or more of Poisson pages do.
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
    /// Weibull is among them only where the gaps do not pass as exponential or the dispersion exceeds 1.5: that the gaps of many pages
    /// together look like those of a bursty one says nothing of any of them.
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
    examined(pages.into_iter().filter_map(Gaps::of))
}

/// Examines pages whose changes are all known, as from a log of changes: each page is known from a change on, and every observation of
/// a change ends when that change happened.
///
/// No visits stand between, so that the gaps are compared with those of as many changes thrown into the same time at random. Pages
/// that changed less than twice after the first are left out.
pub fn examine_logs<'a>(pages: impl IntoIterator<Item = &'a [Observation]>) -> Vec<Group> {
    examined(pages.into_iter().filter_map(Gaps::logged))
}

fn examined(pages: impl Iterator<Item = Gaps>) -> Vec<Group> {
    let mut groups: BTreeMap<i32, (Vec<Gaps>, Vec<Vec<Spell>>)> = BTreeMap::new();
    for gaps in pages {
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
    let width = pages.iter().map(|page| page.total).sum::<f64>() / gaps as f64 / 2.0;
    let (tallies, judged) = compare(octave, pages, width);
    let mut distances = distances(&tallies);
    let distance = distances.remove(0);
    distances.sort_by(f64::total_cmp);
    let dispersion = dispersion(pages, &judged);
    let by_chance = distances[REPLICAS - EXTREME];
    let is_bursty = dispersion.is_some_and(|dispersion| dispersion > BURSTY);
    // What varies within each page is not explained by rates that differ, nor what differs between pages by bursts.
    let candidates = [true, !is_bursty, is_bursty || distance > by_chance];
    let (held_out, law, shape) = verdict(later, from * std::f64::consts::SQRT_2, candidates);
    Group {
        mean_gap: (Period::raw(from), Period::raw(2.0 * from)),
        pages: pages.len(),
        gaps,
        distance,
        by_chance,
        passing: judged.iter().filter(|page| page.passes).count() as f64 / pages.len() as f64,
        dispersion,
        bars: bars(&tallies, gaps, width),
        held_out,
        law,
        shape,
    }
}

/// Pages that are compared before their tallies are added up.
const CHUNK: usize = 32;

/// The tallies of all pages together, then those of their replicas; and what is said of each page.
fn compare(octave: i32, pages: &[Gaps], width: f64) -> (Vec<Tally>, Vec<Judged>) {
    let of_chunk = |(number, chunk): (usize, &[Gaps])| {
        let mut sums: Vec<Tally> = Vec::new();
        let mut judged = Vec::with_capacity(chunk.len());
        for (page, gaps) in chunk.iter().enumerate() {
            let seed = u64::from(octave.cast_unsigned()) << 32 ^ (number * CHUNK + page) as u64;
            let (tallies, said) = judge(gaps, seed, width);
            judged.push(said);
            add_up(&mut sums, tallies);
        }
        (sums, judged)
    };
    let parts: Vec<_> = pages.par_chunks(CHUNK).enumerate().map(of_chunk).collect();
    let (mut sums, mut judged) = (Vec::new(), Vec::with_capacity(pages.len()));
    for (tallies, said) in parts {
        add_up(&mut sums, tallies);
        judged.extend(said);
    }
    (sums, judged)
}

fn add_up(sums: &mut Vec<Tally>, more: Vec<Tally>) {
    if sums.is_empty() {
        *sums = more;
    } else {
        sums.iter_mut().zip(&more).for_each(|(sum, more)| sum.add(more));
    }
}

fn dispersion(pages: &[Gaps], judged: &[Judged]) -> Option<f64> {
    let figures = pages.iter().zip(judged).filter_map(|(page, said)| Some((said.dispersion?, page.gaps.len() as f64)));
    let (sum, weight) = figures.fold((0.0, 0.0), |(sum, weight), (d, n)| (sum + d * n, weight + n));
    (weight > 0.0).then(|| sum / weight)
}

/// Shares of gaps by length, seen and expected.
fn bars(tallies: &[Tally], gaps: usize, width: f64) -> Vec<Bar> {
    let bar = |number: usize| {
        let share = |tally: &Tally| f64::from(tally.bars[number]) / gaps as f64;
        let expected = tallies[1..].iter().map(share).sum::<f64>() / REPLICAS as f64;
        Bar { up_to: Period::raw((number + 1) as f64 * width), seen: share(&tallies[0]), expected }
    };
    (0..BARS).map(bar).collect()
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

/// Held-out ln P per gap of the three laws, and the winner of those that may win, fitted to all pages; where there are none, the
/// exponential law of that mean.
fn verdict(pages: &[Vec<Spell>], mean: f64, may_win: [bool; LAWS]) -> (Option<[f64; LAWS]>, Law, Option<f64>) {
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
    for law in (1..LAWS).filter(|law| may_win[*law]) {
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
