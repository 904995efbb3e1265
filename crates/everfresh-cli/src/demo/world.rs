//! What every page of the demo's web says at any time: known in advance, so that the truth is known.

use std::f64::consts::FRAC_PI_2;

use everfresh_crawl::content::Digest;
use everfresh_sim::world::Process;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::site::{Habit, SITES, Shape, Site};
use super::text;

pub(super) const DAY_S: f64 = 86_400.0;
/// A page answers with faults for so long at least.
const FAULT_S: f64 = DAY_S / 4.0;

/// What a page says: the number of a text, equal where texts are equal, or none where nothing is.
pub(super) type Said = Option<u32>;

/// All pages and all that happens to them. Times are in seconds from the start.
#[derive(Debug)]
pub(super) struct World {
    pub pages: Vec<Page>,
    pub length_s: f64,
    pub seed: u64,
}

/// A page and its life.
#[derive(Clone, Debug)]
pub(super) struct Page {
    /// Its number among all pages.
    pub number: u32,
    /// Its place in [`SITES`].
    pub site: usize,
    pub path: String,
    /// Is it one that robots.txt forbids?
    pub is_forbidden: bool,
    /// When it changes, in order.
    changes_s: Vec<f64>,
    /// When it is gone for good; infinite for never.
    gone_s: f64,
}

/// Random numbers for one purpose: the same whatever else is drawn.
pub(super) fn dice(seed: u64, page: u32, purpose: u32, index: u32) -> SplitMix64 {
    let base = SplitMix64::seed_from_u64(seed).random::<u64>();
    let place = (u64::from(page) << 32) | (u64::from(purpose) << 24);
    let mixed = SplitMix64::seed_from_u64(base ^ place).random::<u64>();
    SplitMix64::seed_from_u64(mixed ^ u64::from(index))
}

impl World {
    pub(super) fn new(pages: u32, days: f64, seed: u64) -> World {
        let length_s = days * DAY_S;
        let pages = (0..pages).map(|number| Page::new(number, length_s, seed)).collect();
        World { pages, length_s, seed }
    }

    /// Does a page answer with a fault at a time?
    pub(super) fn is_faulty(&self, page: &Page, time_s: f64) -> bool {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a world lasts for few years")]
        let slot = (time_s / FAULT_S) as u32;
        dice(self.seed, page.number, 2, slot).random::<f64>() < page.site().faults
    }

    /// The blocks of a page's text.
    pub(super) fn blocks(&self, page: &Page, text: u32) -> Vec<String> {
        text::blocks(self.seed, page.number, page.site().shape, text)
    }

    /// What a page said when it had a text with this digest, at a time or before; none if it never did.
    pub(super) fn said(&self, page: &Page, digest: Digest, time_s: f64) -> Option<Said> {
        let latest = u32::try_from(page.changes_s.partition_point(|change| *change <= time_s)).unwrap_or(u32::MAX);
        let has = |text: &u32| text::digest(&self.blocks(page, *text)) == digest;
        (0..=latest).rev().map(|change| page.text(change)).find(has).map(Some)
    }
}

impl Page {
    fn new(number: u32, length_s: f64, seed: u64) -> Page {
        let mut rng = dice(seed, number, 1, 0);
        let site = at_share(rng.random_range(0..100));
        let described = &SITES[site];
        let mut process = process(described, &mut rng);
        let dies = rng.random::<f64>() < described.vanishing;
        let gone_s = if dies { length_s * rng.random::<f64>() } else { f64::INFINITY };
        let next = |time: &f64| Some(process.next_after(*time, &mut rng));
        let changes_s =
            std::iter::successors(Some(0.0), next).skip(1).take_while(|time| *time < length_s.min(gone_s)).collect();
        let is_forbidden = described.forbids_one_of > 0 && number.is_multiple_of(described.forbids_one_of);
        let path = format!("/{}/{number}", if is_forbidden { "private" } else { "page" });
        Page { number, site, path, is_forbidden, changes_s, gone_s }
    }

    pub(super) fn site(&self) -> &'static Site {
        &SITES[self.site]
    }

    /// The text after so many changes.
    fn text(&self, changes: u32) -> u32 {
        if self.site().shape == Shape::Revert && changes.is_multiple_of(2) { 0 } else { changes }
    }

    /// What it says at a time, and since when.
    pub(super) fn at(&self, time_s: f64) -> (Said, f64) {
        if time_s >= self.gone_s {
            return (None, self.gone_s);
        }
        let changes = self.changes_s.partition_point(|change| *change <= time_s);
        let since_s = changes.checked_sub(1).map_or(0.0, |last| self.changes_s[last]);
        (Some(self.text(u32::try_from(changes).unwrap_or(u32::MAX))), since_s)
    }

    /// All that it says, each with when that begins, from the start on.
    pub(super) fn history(&self) -> impl Iterator<Item = (f64, Said)> {
        let texts = (1..).zip(&self.changes_s).map(|(changes, time)| (*time, Some(self.text(changes))));
        let end = self.gone_s.is_finite().then_some((self.gone_s, None));
        std::iter::once((0.0, Some(0))).chain(texts).chain(end)
    }
}

/// The site that has a page of this lot, 0 to 99.
fn at_share(lot: u32) -> usize {
    let mut below = 0;
    let found = SITES.iter().position(|site| {
        below += site.share;
        lot < below
    });
    found.unwrap_or(0)
}

fn process(site: &Site, rng: &mut SplitMix64) -> Process {
    let (least, most) = site.per_day;
    let rate = least * (most / least).powf(rng.random()) / DAY_S;
    match site.habit {
        Habit::Never => Process::Poisson { rate: 0.0 },
        Habit::Steady => Process::Poisson { rate },
        // A tenth of the time busy, with nine tenths of the changes; a burst is about five changes.
        Habit::Bursts => Process::Bursty {
            busy: 9.0 * rate,
            quiet: rate / 9.0,
            tire: 9.0 * rate / 5.0,
            wake: rate / 5.0,
            is_busy: false,
            until_s: f64::NAN,
        },
        // Days begin at midnight, so that most happens at noon.
        Habit::Daytime => Process::Periodic { rate, depth: 0.95, cycle_s: DAY_S, phase: -FRAC_PI_2 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_a_hundred() {
        assert_eq!(SITES.iter().map(|site| site.share).sum::<u32>(), 100);
        assert_eq!((at_share(0), at_share(99)), (0, SITES.len() - 1));
    }

    #[test]
    fn the_same_seed_gives_the_same_lives_and_another_others() {
        let lives =
            |seed| World::new(200, 20.0, seed).pages.iter().map(|page| page.changes_s.clone()).collect::<Vec<_>>();
        assert_eq!(lives(3), lives(3));
        assert_ne!(lives(3), lives(4));
    }

    #[test]
    fn what_a_page_says_at_a_time_is_the_last_of_its_history_before() {
        let world = World::new(300, 15.0, 5);
        let mut rng = dice(9, 0, 0, 0);
        for page in &world.pages {
            for _ in 0..20 {
                let time = world.length_s * rng.random::<f64>();
                let last = page.history().take_while(|(since, _)| *since <= time).last().unwrap();
                assert_eq!(page.at(time), (last.1, last.0), "{page:?} at {time}");
            }
        }
    }

    #[test]
    fn pages_change_as_often_as_their_site_says() {
        let world = World::new(4000, 60.0, 1);
        for (number, site) in SITES.iter().enumerate() {
            let of_site: Vec<&Page> = world.pages.iter().filter(|page| page.site == number).collect();
            let days: f64 = of_site.iter().map(|page| page.gone_s.min(world.length_s) / DAY_S).sum();
            let changes: usize = of_site.iter().map(|page| page.changes_s.len()).sum();
            let (least, most) = site.per_day;
            let mean = if site.habit == Habit::Never { 0.0 } else { (most - least) / (most / least).ln() };
            let seen = changes as f64 / days;
            assert!((seen - mean).abs() <= 0.2 * mean, "{}: {seen} instead of {mean}", site.name);
        }
    }

    #[test]
    fn faults_take_their_share_of_time() {
        let world = World::new(2000, 50.0, 1);
        let faulty: Vec<&Page> = world.pages.iter().filter(|page| page.site().faults > 0.0).collect();
        let slots = (0..200).map(|slot| FAULT_S * (f64::from(slot) + 0.5));
        let hits = slots.flat_map(|time| faulty.iter().map(move |page| (page, time)));
        let share =
            hits.filter(|(page, time)| world.is_faulty(page, *time)).count() as f64 / 200.0 / faulty.len() as f64;
        assert!((share - 0.15).abs() < 0.02, "{share}");
    }
}
