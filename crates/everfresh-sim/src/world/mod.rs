//! Worlds: pages with sources that change on their own, synthetic or recorded.
//!
//! A [`World`] says what there is; a `Pair` is one page as it lives through a run: the source with its next change, and the
//! copy that was last made of it. Every page has its own stream of random numbers, drawn from the seed and its place, so that
//! a run gives the same bytes on any number of threads.

mod content;
mod process;
mod recorded;
mod synthetic;
mod text;

pub use content::Layout;
pub use process::Process;
pub use recorded::{History, Revision};
pub use synthetic::{Habit, Rates, Synthetic, Weights};

use content::Content;
use everfresh::longevity;
use everfresh::policy::About;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;
use recorded::Replay;
pub(crate) use recorded::Versions;
use std::sync::Arc;
use text::Written;

/// Pages, and what befalls visits to them.
#[derive(Clone, Debug)]
pub struct World {
    /// What to call it.
    pub name: String,
    /// The pages.
    pub pages: Vec<Page>,
    /// The most visits per second that a host allows, by its number; hosts beyond the list have no limit.
    pub host_caps: Vec<f64>,
    /// The share of visits that fail.
    pub failures: f64,
    /// How long a visit takes, on average, in seconds.
    pub latency_s: f64,
    /// Is the end of a page known, so that no visit is lost to find it out? So it is where only the record of a page ends.
    pub ends_are_known: bool,
}

/// A page of a world.
#[derive(Clone, Debug)]
pub struct Page {
    /// Which random numbers are its own.
    pub key: u64,
    /// What policies are told. The rate is the true mean rate; only policies that are told it may look.
    pub about: About,
    /// The host, by its number.
    pub host: u32,
    /// When the page appears, in seconds from the start of the world.
    pub born_s: f64,
    /// When it is gone; infinite for never.
    pub dies_s: f64,
    /// How it changes.
    pub source: Source,
}

/// How a page changes.
#[derive(Clone, Debug)]
pub enum Source {
    /// At random times, all of it.
    Whole(Process),
    /// At random times, regions of it (OP08 section 3.3).
    Regions(Arc<Layout>),
    /// The same as a text in words: policies see sketches of it.
    Text(Arc<longevity::Regions>),
    /// As it was recorded.
    Recorded(Arc<History>),
}

impl World {
    /// A world of these pages in which every visit succeeds at once.
    pub fn new(name: impl Into<String>, mut pages: Vec<Page>) -> World {
        for (page, number) in pages.iter_mut().zip(0..) {
            page.about.number = number;
        }
        World { name: name.into(), pages, host_caps: Vec::new(), failures: 0.0, latency_s: 0.0, ends_are_known: false }
    }

    /// Do all pages change at random, all of them at constant rates?
    pub fn is_poisson(&self) -> bool {
        self.pages.iter().all(|page| matches!(page.source, Source::Whole(Process::Poisson { .. })))
    }

    /// Every n-th page of the world, at most `most` of them, which live as they would in the whole: of what a host allows, they
    /// get their share.
    #[must_use]
    pub fn sample(&self, most: usize) -> World {
        let pages: Vec<Page> = self.pages.iter().step_by(self.step(most)).cloned().collect();
        let of_each = |pages: &[Page]| {
            let mut numbers = vec![0.0; self.host_caps.len()];
            for page in pages {
                numbers.get_mut(page.host as usize).into_iter().for_each(|number| *number += 1.0);
            }
            numbers
        };
        let shares = of_each(&pages).into_iter().zip(of_each(&self.pages));
        let share = |(cap, (some, all)): (&f64, (f64, f64))| if some > 0.0 { cap * some / all } else { *cap };
        let host_caps = self.host_caps.iter().zip(shares).map(share).collect();
        let World { failures, latency_s, ends_are_known, .. } = *self;
        World { host_caps, failures, latency_s, ends_are_known, ..World::new(self.name.clone(), pages) }
    }

    /// The step of [`World::sample`].
    pub(crate) fn step(&self, most: usize) -> usize {
        self.pages.len().div_ceil(most.max(1)).max(1)
    }
}

/// Random numbers for one page: the same for a seed, a page and a purpose, whatever else is drawn.
pub(crate) fn stream(seed: u64, key: u64, purpose: u64) -> SplitMix64 {
    let mut mixer = SplitMix64::seed_from_u64(seed ^ purpose.rotate_left(40));
    let base: u64 = mixer.random();
    SplitMix64::seed_from_u64(base ^ key.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A source and the copy last made of it.
#[derive(Clone, Debug)]
pub(crate) enum Pair {
    Whole { process: Process, rng: SplitMix64, next_s: f64, version: [u64; 1], copy: u64 },
    Regions(Box<Content>),
    Text(Box<Written>),
    Recorded(Box<Replay>),
}

impl Pair {
    /// The page as it is when it appears, with a copy just made.
    pub(crate) fn new(page: &Page, seed: u64) -> Pair {
        let rng = stream(seed, page.key, 1);
        match &page.source {
            Source::Whole(process) => Pair::whole(process.clone(), page.born_s, rng),
            // A page that cannot be written stays as it is.
            Source::Text(regions) => match Written::new(regions, page.born_s, rng.clone()) {
                Ok(text) => Pair::Text(Box::new(text)),
                Err(_) => Pair::whole(Process::Poisson { rate: 0.0 }, page.born_s, rng),
            },
            Source::Regions(layout) => Pair::Regions(Box::new(Content::new(layout, page.born_s, rng))),
            Source::Recorded(history) => Pair::Recorded(Box::new(Replay::new(history, page.born_s))),
        }
    }

    fn whole(mut process: Process, born_s: f64, mut rng: SplitMix64) -> Pair {
        let next_s = process.next_after(born_s, &mut rng);
        let version = [rng.random::<u64>()];
        Pair::Whole { process, rng, next_s, version, copy: version[0] }
    }

    /// When the source changes next, in seconds; infinite for never.
    pub(crate) fn next_s(&self) -> f64 {
        match self {
            Pair::Whole { next_s, .. } => *next_s,
            Pair::Regions(content) => content.next_s(),
            Pair::Text(text) => text.next_s(),
            Pair::Recorded(replay) => replay.next_s(),
        }
    }

    /// Lets that change happen.
    pub(crate) fn change(&mut self) {
        match self {
            Pair::Whole { process, rng, next_s, version, .. } => {
                *next_s = process.next_after(*next_s, rng);
                version[0] = version[0].wrapping_add(1);
            }
            Pair::Regions(content) => content.change(),
            Pair::Text(text) => text.change(),
            Pair::Recorded(replay) => replay.change(),
        }
    }

    /// Makes a copy of the source as it is.
    pub(crate) fn copy(&mut self) {
        match self {
            Pair::Whole { version, copy, .. } => *copy = version[0],
            Pair::Regions(content) => content.copy(),
            Pair::Text(text) => text.copy(),
            Pair::Recorded(replay) => replay.copy(),
        }
    }

    /// How far the copy is from the source: 0 when they are equal, at most 1.
    pub(crate) fn divergence(&self) -> f64 {
        match self {
            Pair::Whole { version, copy, .. } => f64::from(u8::from(version[0] != *copy)),
            Pair::Regions(content) => content.divergence(),
            Pair::Text(text) => text.divergence(),
            Pair::Recorded(replay) => replay.divergence(),
        }
    }

    /// How far the copy is from the source as far as a visit sees it.
    pub(crate) fn seen_divergence(&self) -> f64 {
        match self {
            Pair::Text(text) => text.seen_divergence(),
            other => other.divergence(),
        }
    }

    /// Are copy and source equal?
    pub(crate) fn is_fresh(&self) -> bool {
        match self {
            Pair::Recorded(replay) => replay.is_fresh(),
            other => other.divergence() == 0.0,
        }
    }

    /// The fragments of the source, as sorted hashes.
    pub(crate) fn fragments(&self) -> &[u64] {
        match self {
            Pair::Whole { version, .. } => version,
            Pair::Regions(content) => content.fragments(),
            Pair::Text(text) => text.fragments(),
            Pair::Recorded(replay) => replay.fragments(),
        }
    }
}
