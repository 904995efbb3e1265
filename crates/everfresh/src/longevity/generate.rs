use super::regions::{Region, Regions};
use crate::error::{Error, Result};
use crate::units::{Period, Rate};
use rand_core::Rng;
use std::collections::VecDeque;

/// Writes a page that lives as the generative model says (OP08 section 3.3): its text at any time, in readable words.
///
/// A region of share a has that share of the page's lines, at least one for each item; each line is a sentence of eight words, none of
/// which is written twice. A list shows its newest item first. The same rng gives the same page.
///
/// ```
/// use everfresh::longevity::{Cut, Fragments, Generator, Region, Regions};
/// use everfresh::{Period, Unit};
/// use rand::SeedableRng;
/// let news = Regions::new(&[Region::scroll(0.5, "1/day".parse()?, 5)?])?;
/// let mut page = Generator::new(&news, 40, rand::rngs::SmallRng::seed_from_u64(1))?;
/// let before = Fragments::of(&page.text(), Cut::LINES);
/// while page.advance(Period::of(1.0, Unit::Hour)?)? == 0 {}
/// let after = Fragments::of(&page.text(), Cut::LINES);
/// assert_eq!(after.len(), 40);
/// assert!((before.distance(&after) - 2.0 * 0.1 / 1.1).abs() < 1e-12); // one of five items, half of the page
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generator<R> {
    rng: R,
    template: String,
    regions: Vec<Living>,
}

/// A region with its text.
#[derive(Clone, Debug)]
struct Living {
    region: Region,
    /// Newest first.
    items: VecDeque<String>,
    lines_per_item: usize,
    /// Seconds until the next change.
    next: f64,
}

/// Changes beyond which an interval is taken to have replaced everything.
const MANY: f64 = 1e6;

impl<R: Rng> Generator<R> {
    /// A page of about `lines` lines, 1 to 1,000,000, at the time of its first version.
    pub fn new(regions: &Regions, lines: usize, rng: R) -> Result<Self> {
        if lines == 0 || lines > 1_000_000 {
            let (what, bound) = ("number of lines of a page", "between 1 and 1000000");
            return Err(Error::OutOfBounds { what, bound, value: lines as f64 });
        }
        let mut page = Generator { rng, template: String::new(), regions: Vec::new() };
        page.template = page.item(lines_of(regions.static_share(), lines));
        for region in regions.regions() {
            let lines_per_item = lines_of(region.share() / f64::from(region.items()), lines).max(1);
            let items = (0..region.items()).map(|_| page.item(lines_per_item)).collect();
            let next = page.wait(region.rate());
            page.regions.push(Living { region: *region, items, lines_per_item, next });
        }
        Ok(page)
    }

    /// Lets time pass, and says how many changes there were (a million or more may be counted roughly).
    pub fn advance(&mut self, elapsed: Period) -> Result<u64> {
        let seconds = crate::error::not_negative("elapsed time of a page, in seconds,", elapsed.seconds())?;
        let mut regions = std::mem::take(&mut self.regions);
        let changes = regions.iter_mut().map(|living| self.live(living, seconds)).sum();
        self.regions = regions;
        Ok(changes)
    }

    /// The time until the next change of any region; never for a page without regions that change.
    ///
    /// Advancing by it makes that change happen.
    pub fn next_change(&self) -> Period {
        Period::raw(self.regions.iter().map(|living| living.next).fold(f64::INFINITY, f64::min))
    }

    fn live(&mut self, living: &mut Living, seconds: f64) -> u64 {
        let rate = living.region.rate();
        let (mut changes, mut left) = (0_u64, seconds);
        if rate.per_second() * seconds > MANY {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
            let many = (rate.per_second() * seconds) as u64;
            (changes, living.next, left) = (many, self.wait(rate), 0.0);
        }
        while living.next <= left {
            left -= living.next;
            living.next = self.wait(rate);
            changes += 1;
        }
        living.next -= left;
        for _ in 0..changes.min(u64::from(living.region.items())) {
            living.items.pop_back();
            living.items.push_front(self.item(living.lines_per_item));
        }
        changes
    }

    /// The page as it stands: template first, then the regions, an item on one or more lines.
    pub fn text(&self) -> String {
        let items = self.regions.iter().flat_map(|living| &living.items);
        std::iter::once(&self.template).chain(items).map(String::as_str).collect()
    }

    /// An exponential waiting time in seconds.
    fn wait(&mut self, rate: Rate) -> f64 {
        if rate == Rate::STATIC { f64::INFINITY } else { -(-self.uniform()).ln_1p() / rate.per_second() }
    }

    /// At least 0 and below 1.
    fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn item(&mut self, lines: usize) -> String {
        let mut text = String::with_capacity(lines * 64);
        for _ in 0..lines {
            self.sentence(&mut text);
        }
        text
    }

    /// Eight words, the first with a capital.
    fn sentence(&mut self, text: &mut String) {
        let start = text.len();
        for _ in 0..8 {
            if text.len() > start {
                text.push(' ');
            }
            self.word(text);
        }
        if let Some(first) = text.get_mut(start..=start) {
            first.make_ascii_uppercase();
        }
        text.push_str(".\n");
    }

    /// Two syllables, one time in four three: 33 million words that can be said.
    fn word(&mut self, text: &mut String) {
        let mut bits = self.rng.next_u64();
        let mut pick = |from: &[&'static str]| {
            let choices = from.len() as u64;
            let picked = usize::try_from(bits % choices).ok().and_then(|at| from.get(at));
            bits /= choices;
            picked.copied().unwrap_or_default()
        };
        let syllables = if pick(&ONSETS).len() > 1 { 3 } else { 2 };
        for _ in 0..syllables {
            text.push_str(pick(&ONSETS));
            text.push_str(pick(&VOWELS));
        }
        text.push_str(pick(&ENDS));
    }
}

const ONSETS: [&str; 20] =
    ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "st", "tr", "pl", "ch"];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "ou", "ai"];
const ENDS: [&str; 8] = ["", "n", "r", "s", "t", "l", "d", "ng"];

fn lines_of(share: f64, lines: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the number of lines")]
    let lines = (share * lines as f64).round() as usize;
    lines
}
