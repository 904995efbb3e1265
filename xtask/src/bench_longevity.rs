//! `cargo xtask bench longevity`: text into fragments and sketches, beside hashing its bytes, and profiles of pages.
//!
//! One canonical workload: the text of pages that the generator writes, words of ASCII letters in sentences, as one long text
//! and as pages of 16 kB; and pages with a list of ten items, visited twenty times. The bound is one hash over the same bytes.
//! `bench/longevity.md` has dated results.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use everfresh::curve::{Lomax, Scaled};
use everfresh::longevity::{
    Cut, Fitted, Fragments, Generator, Memory, Profiles, Region, Regions, Shingler, Sink, Sketch, Sketcher, fit,
};
use everfresh::{Period, Rate, Unit};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bench::Options;

/// So many lines of text, of about 60 bytes, and a tenth as many pages with profiles.
pub const OPTIONS: Options = Options { pages: 200_000, rival_pages: 0, runs: 5, hosts: 0 };

const SEED: u64 = 7;
const VISITS: u64 = 20;
const PAGE_BYTES: usize = 1 << 14;

/// Looks at fragments and keeps nothing.
struct Count(u64);

impl Sink for Count {
    fn take(&mut self, fragment: u64) {
        self.0 += fragment & 1;
    }
}

/// The best time of some runs.
fn best<T>(runs: usize, mut work: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// Measures and returns what to print.
pub fn run(options: Options) -> Result<String> {
    let Options { pages: lines, runs, .. } = options;
    let text = Generator::new(&Regions::new(&[])?, lines, Xoshiro256PlusPlus::seed_from_u64(SEED))?.text();
    let mut said = format!("{:.1} MB of text (seed {SEED}), one core, best of {runs}\n\n", text.len() as f64 / 1e6);
    said.push_str(&speeds(&text, runs)?);
    said.push_str(&profiles((lines / 10).max(10), runs)?);
    Ok(said)
}

fn speeds(text: &str, runs: usize) -> Result<String> {
    let bound = best(runs, || rapidhash::v3::rapidhash_v3(text.as_bytes()));
    let shingles = best(runs, || shingled(text, Count(0)).0);
    let sketcher = |m: usize| -> Result<f64> {
        let fresh = Sketcher::new(m)?;
        Ok(best(runs, || shingled(text, fresh.clone()).finish()))
    };
    let (small, large) = (sketcher(8)?, sketcher(256)?);
    let pages: Vec<&str> =
        text.as_bytes().chunks(PAGE_BYTES).filter_map(|page| std::str::from_utf8(page).ok()).collect();
    let fresh = Sketcher::new(8)?;
    let one_by_one =
        best(runs, || pages.iter().map(|page| shingled(page, fresh.clone()).finish().len()).sum::<usize>());
    let exact = best(runs, || pages.iter().map(|page| Fragments::of(page, Cut::EIGHT_WORDS).len()).sum::<usize>());
    let mut said = "what                                      MB/s   of the bound\n".to_owned();
    for (what, seconds) in [
        ("hash of the bytes, the bound", bound),
        ("8-grams of words", shingles),
        ("8-grams and a sketch of 8", small),
        ("8-grams and a sketch of 256", large),
        ("the same, pages of 16 kB, a sketch of 8", one_by_one),
        ("the same, pages of 16 kB, exact sets", exact),
    ] {
        let speed = text.len() as f64 / seconds / 1e6;
        let _ = writeln!(said, "{what:<39} {speed:>6.0} {:>14.3}", bound / seconds);
    }
    Ok(said)
}

fn shingled<S: Sink>(text: &str, sink: S) -> S {
    let mut shingler = Shingler::new(Cut::EIGHT_WORDS, sink);
    shingler.push(text);
    shingler.finish()
}

/// Versions of a page with a list, as a visit every day finds them.
fn versions(seed: u64) -> Result<Vec<Sketch>> {
    let list = Regions::new(&[Region::scroll(0.5, Rate::per(0.5, Unit::Day)?, 10)?])?;
    let mut page = Generator::new(&list, 40, Xoshiro256PlusPlus::seed_from_u64(seed))?;
    let day = Period::of(1.0, Unit::Day)?;
    let mut versions = Vec::new();
    for _ in 0..VISITS {
        versions.push(Sketch::of(&page.text(), Cut::EIGHT_WORDS, 8)?);
        page.advance(day)?;
    }
    Ok(versions)
}

fn profiles(pages: usize, runs: usize) -> Result<String> {
    let histories = (0..pages.min(500) as u64).map(|page| versions(SEED + page)).collect::<Result<Vec<_>>>()?;
    let few = Scaled::new(Lomax::with_mean_rate(0.5, Rate::per(1.0, Unit::Month)?)?, 0.2)?;
    let visits = (histories.len() as u64 * VISITS) as f64;
    let mut said = "\nprofiles                     extended   and refitted   bytes in mean   at most\n".to_owned();
    for (words, memory) in [("1 of 12 points, m = 8", Memory::SMALL), ("5 of 12 points, m = 8", Memory::new(5, 8, 12)?)]
    {
        let (mut bytes, mut most, mut lists) = (0, 0, 0_usize);
        let extended = best(runs, || all(memory, &histories, |_| {}));
        let refitted = best(runs, || {
            all(memory, &histories, |page| {
                lists += usize::from(matches!(fit(&page.points(), few), Fitted::Scroll(_)));
            })
        });
        for history in &histories {
            let length = visited(memory, history, |_| {}).map_or(0, |page| page.encode().len());
            (bytes, most) = (bytes + length, most.max(length));
        }
        let (extended, refitted) = (extended / visits * 1e6, refitted / visits * 1e6);
        let mean = bytes as f64 / histories.len() as f64;
        let _ = writeln!(said, "{words:<26} {extended:>8.2} us {refitted:>11.2} us {mean:>15.0} {most:>9}");
        anyhow::ensure!(lists > 0, "some lists are recognised");
    }
    Ok(said)
}

/// All pages after all their visits; the number of their profiles, so that no work is left out.
fn all(memory: Memory, histories: &[Vec<Sketch>], mut after: impl FnMut(&Profiles)) -> usize {
    let one = |history: &Vec<Sketch>| visited(memory, history, &mut after).map_or(0, |page| page.profiles().len());
    histories.iter().map(one).sum()
}

/// A page after all its visits, with something done after each.
fn visited(memory: Memory, history: &[Sketch], mut after: impl FnMut(&Profiles)) -> everfresh::Result<Profiles> {
    let mut page = Profiles::new(memory);
    for (day, version) in (1_u64..).zip(history) {
        page.visit(day * 86_400, version)?;
        after(&page);
    }
    Ok(page)
}
