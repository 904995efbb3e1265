//! Fragments, sketches, profiles, regions and measurements (OP08) against oracles: other code, brute force, simulation.
//!
//! The real text is not part of the project: see `traces.rs` for where it is looked for.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use everfresh::curve::{Churn, DivergenceCurve, Scroll, checks};
use everfresh::longevity::{
    ChangeProfile, Class, Cut, Fragments, Generator, History, Lifetime, Memory, Point, Profiles, Region, Regions,
    Shingler, Sketch, Sketcher, Weighted,
};
use everfresh::{Period, Rate, Unit};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use unicode_segmentation::UnicodeSegmentation;

fn seeded(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn days(n: f64) -> Period {
    Period::of(n, Unit::Day).unwrap()
}

fn per_day(n: f64) -> Rate {
    Rate::per(n, Unit::Day).unwrap()
}

fn hashes(text: &str, cut: Cut) -> Vec<u64> {
    let mut shingler = Shingler::new(cut, Vec::new());
    shingler.push(text);
    shingler.finish()
}

fn grams(k: usize) -> Cut {
    Cut::words(k).unwrap()
}

/// The words of a text the slow way.
fn words(text: &str) -> Vec<String> {
    text.unicode_words().map(|word| word.to_uppercase().chars().flat_map(char::to_lowercase).collect()).collect()
}

/// The Jaccard distance of the k-grams of two texts, by strings.
fn naive_distance(a: &str, b: &str, k: usize) -> f64 {
    let set = |text: &str| {
        let words = words(text);
        let size = k.min(words.len().max(1));
        words.windows(size).map(|window| window.join(" ")).collect::<HashSet<_>>()
    };
    let (a, b) = (set(a), set(b));
    let either = a.union(&b).count();
    if either == 0 { 0.0 } else { a.symmetric_difference(&b).count() as f64 / either as f64 }
}

/// Texts of everything that decides about words: letters, digits, joints, other scripts, white space.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-cA-C]{1,12}",
        2 => "[0-2]{1,3}",
        3 => "[ \n]{1,2}",
        2 => "['.:,;_-]",
        1 => "[éßΣς]{1,2}",
        1 => "[東京カナ]{1,3}",
        1 => "[a-c]{30,90}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn fragments_are_those_of_the_words_of_unicode(a in texts(), b in texts(), k in 1_usize..5) {
        let (left, right) = (Fragments::of(&a, grams(k)), Fragments::of(&b, grams(k)));
        prop_assert_eq!(left.distance(&right), naive_distance(&a, &b, k), "{:?} {:?}", words(&a), words(&b));
        let many = words(&a).len();
        let expected = if many == 0 { 0 } else { (many + 1).saturating_sub(k).max(1) };
        prop_assert_eq!(hashes(&a, grams(k)).len(), expected);
    }

    #[test]
    fn pieces_make_no_difference(text in texts(), cuts in prop::collection::vec(0_usize..400, 0..6), k in 1_usize..5) {
        for cut in [grams(k), Cut::LINES, Cut::WHOLE] {
            let mut at: Vec<usize> = cuts.iter().map(|at| at % (text.len() + 1)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let mut shingler = Shingler::new(cut, Vec::new());
            for [from, to] in at.array_windows() {
                shingler.push_bytes(&text.as_bytes()[*from..*to]);
            }
            prop_assert_eq!(shingler.finish(), hashes(&text, cut));
        }
    }

    #[test]
    fn distances_are_metrics(a in texts(), b in texts(), c in texts()) {
        let [a, b, c] = [a, b, c].map(|text| Fragments::of(&text, grams(2)));
        prop_assert_eq!(a.distance(&a), 0.0);
        prop_assert_eq!(a.distance(&b), b.distance(&a));
        prop_assert!((0.0..=1.0).contains(&a.distance(&b)));
        prop_assert!(a.distance(&c) <= a.distance(&b) + b.distance(&c) + 1e-12);
        let weighted = |set: &Fragments| Weighted::new(set, |_| 2.5).unwrap();
        prop_assert!((weighted(&a).distance(&weighted(&b)) - a.distance(&b)).abs() < 1e-12);
    }

    #[test]
    fn sketches_of_unions_are_unions_of_sketches(a in 0_u64..300, b in 0_u64..300, c in 0_u64..300, m in 1_usize..40) {
        let set = |from: u64, to: u64| Fragments::from_names(from.min(to)..from.max(to));
        let sketch = |set: &Fragments| Sketch::from_fragments(set, m).unwrap();
        let (left, right) = (set(a, b), set(b, c));
        let both = Fragments::from_hashes([left.hashes(), right.hashes()].concat());
        let union = sketch(&left).union(&sketch(&right));
        prop_assert_eq!(&union, &sketch(&both));
        let found = sketch(&left).distance(&sketch(&right));
        prop_assert!((0.0..=1.0).contains(&found.value) && (0.0..=0.5).contains(&found.standard_error));
        if both.len() < m {
            prop_assert_eq!((found.value, found.standard_error), (left.distance(&right), 0.0));
            prop_assert_eq!(union.cardinality().value, both.len() as f64);
        }
    }

    #[test]
    fn damaged_bytes_are_an_error_or_another_page(visits in prop::collection::vec((1_u64..1_000_000, 0_u64..6), 0..40),
        at in 0_usize..500, bit in 0_u32..8, junk in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut page = Profiles::new(Memory::new(2, 8, 5).unwrap());
        let mut now = 1_700_000_000;
        for (step, version) in visits {
            now += step;
            page.visit(now, &Sketch::from_fragments(&Fragments::from_names(version..version + 9), 8).unwrap()).unwrap();
        }
        let bytes = page.encode();
        prop_assert_eq!(&Profiles::decode(&bytes).unwrap(), &page);
        let mut damaged = bytes.clone();
        let at = at % damaged.len();
        damaged[at] ^= 1 << bit;
        prop_assert!(Profiles::decode(&damaged).is_err());
        prop_assert!(Profiles::decode(&bytes[..at]).is_err());
        let _ = Profiles::decode(&junk);
    }
}

/// Sketches and profiles are stored: these values never change.
#[test]
fn fragments_are_the_same_for_ever() {
    let found = hashes("Caffè: don't pay 3.50€ — STRASSE, Straße\nzwei", grams(3));
    let expected = include_str!("longevity_data/fragments-v1.txt");
    assert_eq!(found.iter().map(|hash| format!("{hash:016x}")).collect::<Vec<_>>().join("\n"), expected.trim());
    assert_eq!(found.len(), 5); // caffè don't pay 3.50 strasse strasse zwei
}

#[test]
fn lines_and_whole_texts_are_fragments_too() {
    let lines = |text: &str| Fragments::of(text, Cut::LINES);
    assert_eq!(lines("one two\n\n --- \r\nthree\n").len(), 2);
    assert_eq!(lines("One  TWO!\nthree"), lines("three\none two"));
    assert_eq!(lines("a\nb\nc\nd").distance(&lines("z\na\nb\nc")), 0.4);
    let whole = |text: &str| Fragments::of(text, Cut::WHOLE);
    assert_eq!(whole("a b c").distance(&whole("a, b, c.")), 0.0);
    assert_eq!(whole("a b c").distance(&whole("a b d")), 1.0);
    assert_eq!(whole("a b").distance(&whole("b a")), 1.0);
}

#[test]
fn empty_and_tiny_pages_are_defined() {
    for cut in [grams(1), grams(8), Cut::LINES, Cut::WHOLE] {
        let set = |text: &str| Fragments::of(text, cut);
        let sketch = |text: &str| Sketch::of(text, cut, 8).unwrap();
        for nothing in ["", "\n\n", " ... — ", "___"] {
            assert!(set(nothing).is_empty() && sketch(nothing).is_empty(), "{nothing:?}");
            assert_eq!(set(nothing).distance(&set("")), 0.0);
            assert_eq!(set(nothing).distance(&set("word")), 1.0);
            assert_eq!(sketch(nothing).distance(&sketch("")).value, 0.0);
            assert_eq!(sketch(nothing).distance(&sketch("one word")).value, 1.0);
        }
        assert_eq!(set("word").len(), 1);
        assert_eq!(set("word").distance(&set("Word.")), 0.0);
    }
    for k in [0, 65, usize::MAX] {
        let error = Cut::words(k).unwrap_err().to_string();
        assert!(error.starts_with("number of words of a fragment must be between 1 and 64, got "), "{error}");
    }
    assert!(Sketcher::new(0).is_err() && Sketcher::new(4097).is_err());
    assert!(Memory::new(0, 8, 12).is_err() && Memory::new(1, 0, 12).is_err() && Memory::new(1, 8, 1).is_err());
    assert!(Weighted::from_pairs([(1, -1.0)]).is_err() && Weighted::from_pairs([(1, f64::NAN)]).is_err());
    assert_eq!(Weighted::from_pairs([(1, 0.0)]).unwrap(), Weighted::default());
}

#[test]
fn binary_and_gigantic_pages_take_little_memory() {
    let mut shingler = Shingler::new(Cut::EIGHT_WORDS, Sketcher::new(64).unwrap());
    let mut rng = seeded(3);
    let mut block = vec![0_u8; 1 << 20];
    for _ in 0..100 {
        rng.fill(&mut block[..1 << 12]);
        shingler.push_bytes(&block);
    }
    let sketch = shingler.finish().finish();
    assert!(sketch.cardinality().value > 50_000.0, "{:?}", sketch.cardinality());
    // One word of sixteen megabytes, in pieces.
    let mut shingler = Shingler::new(grams(1), Vec::new());
    let block = "é".repeat(1 << 19);
    (0..16).for_each(|_| shingler.push(&block));
    assert!(shingler.finish().len() < 300);
}

#[test]
fn regions_pass_the_suite_of_curves() {
    let make = |regions: &[(f64, f64, u32)], stretch: f64| {
        let rate = |per_day: f64| Rate::per(per_day / stretch, Unit::Day).unwrap();
        let one = |(share, per_day, items): &(f64, f64, u32)| Region::scroll(*share, rate(*per_day), *items).unwrap();
        Regions::new(&regions.iter().map(one).collect::<Vec<_>>()).unwrap()
    };
    for regions in [
        &[][..],
        &[(1.0, 1.0, 1)],
        &[(0.3, 0.2, 10)],
        &[(0.2, 12.0, 1), (0.3, 1.0, 10)],
        &[(0.1, 0.1, 1), (0.4, 3.0, 5), (0.5, 30.0, 12)],
    ] {
        checks::conforms(checks::DivergenceUnit::Share, |stretch| make(regions, stretch));
    }
}

#[test]
fn one_region_is_the_curve_of_that_region() {
    for elapsed in [0.001, 0.3, 2.0, 9.0, 40.0, 1000.0].map(days) {
        for share in [0.01, 0.4, 1.0] {
            for items in [1, 2, 10, 100] {
                let region = Regions::new(&[Region::scroll(share, per_day(0.7), items).unwrap()]).unwrap();
                let list = Scroll::new(per_day(0.7), items, share).unwrap();
                let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b, "{share} {items} {elapsed}: {a} {b}");
                close(region.divergence(elapsed), list.divergence(elapsed));
                close(region.slope(elapsed), list.slope(elapsed));
                close(region.utility(elapsed), list.utility(elapsed));
                close(region.ceiling(), list.ceiling());
            }
        }
    }
    let churn = Regions::new(&[Region::churn(0.5, per_day(1.0)).unwrap()]).unwrap();
    let curve = Churn::of_share(per_day(1.0), 0.5).unwrap();
    assert!((churn.area(days(3.0)) / curve.area(days(3.0)) - 1.0).abs() < 1e-13);
}

/// Two lists and an advertisement: the expectation summed over every state of all three.
#[test]
fn regions_equal_the_sum_over_their_states() {
    let regions = [(0.2, 2.0, 1_u32), (0.3, 0.5, 4), (0.1, 1.0, 3)];
    let made = regions.map(|(share, rate, items)| Region::scroll(share, per_day(rate), items).unwrap());
    let page = Regions::new(&made).unwrap();
    let gone = |rate: f64, items: u32, t: f64| {
        let point =
            |j: u32| (-rate * t).exp() * (rate * t).powf(f64::from(j)) / (1..=j).map(f64::from).product::<f64>();
        let mut states: Vec<f64> = (0..items).map(point).collect();
        states.push(1.0 - states.iter().sum::<f64>());
        states
    };
    for t in [0.2, 1.0, 5.0] {
        let states = regions.map(|(_, rate, items)| gone(rate, items, t));
        let (mut exact, mut q_mean, mut sum) = (0.0, 0.0, 0.0);
        for (i, p) in states[0].iter().enumerate() {
            for (j, q) in states[1].iter().enumerate() {
                for (k, r) in states[2].iter().enumerate() {
                    let gone = 0.2 * i as f64 + 0.3 * j as f64 / 4.0 + 0.1 * k as f64 / 3.0;
                    exact += p * q * r * 2.0 * gone / (1.0 + gone);
                    q_mean += p * q * r * gone;
                }
            }
        }
        for region in &made {
            sum += Regions::new(&[*region]).unwrap().divergence(days(t));
        }
        let found = page.divergence(days(t));
        assert!((found - exact).abs() < 4e-15, "{t}: {found} {exact}");
        // What would be wrong: the distance at the mean, and the sum of the regions' distances.
        assert!(2.0 * q_mean / (1.0 + q_mean) > exact + 1e-4 && sum > exact + 1e-3, "{t}: {exact}");
    }
}

/// Pages that the generator writes diverge as their curve says, in lines exactly and in 8-grams nearly.
#[test]
fn written_pages_follow_their_curve() {
    let regions = [Region::churn(0.2, per_day(0.5)).unwrap(), Region::scroll(0.3, per_day(1.0), 5).unwrap()];
    let page = Regions::new(&regions).unwrap();
    let (runs, times) = (1500, [0.3, 1.0, 3.0, 8.0]);
    let mut sums = [(0.0, 0.0, 0.0); 4];
    for run in 0..runs {
        let mut written = Generator::new(&page, 100, seeded(run)).unwrap();
        let before = written.text();
        let mut now = 0.0;
        for (sum, time) in sums.iter_mut().zip(times) {
            written.advance(days(time - now)).unwrap();
            now = time;
            let after = written.text();
            let distance = |cut: Cut| Fragments::of(&before, cut).distance(&Fragments::of(&after, cut));
            let d = distance(Cut::LINES);
            *sum = (sum.0 + d, sum.1 + d * d, sum.2 + distance(grams(8)));
        }
    }
    for (sum, time) in sums.iter().zip(times) {
        let n = runs as f64;
        let (mean, grams) = (sum.0 / n, sum.2 / n);
        let error = ((sum.1 / n - mean * mean) / n).sqrt();
        let expected = page.divergence(days(time));
        assert!((mean - expected).abs() < 4.0 * error, "{time} days: {mean} is not {expected} within {error}");
        // Items of six and of twenty lines, 48 words or more: 7/48 of an item's fragments more at the edges.
        assert!(grams > mean && grams < mean * (1.0 + 7.0 / 48.0), "{time} days: {grams} {mean}");
    }
}

#[test]
fn generators_are_as_their_seed_and_take_any_time() {
    let page = Regions::new(&[Region::scroll(0.5, per_day(24.0), 7).unwrap()]).unwrap();
    let text = |seed: u64, days: f64| {
        let mut written = Generator::new(&page, 30, seeded(seed)).unwrap();
        let changes = written.advance(Period::of(days, Unit::Day).unwrap()).unwrap();
        (written.text(), changes)
    };
    assert_eq!(text(1, 2.0), text(1, 2.0));
    assert_ne!(text(1, 2.0).0, text(2, 2.0).0);
    let (_, many) = text(1, 1e9);
    assert!((many as f64 / 24e9 - 1.0).abs() < 1e-3);
    let mut written = Generator::new(&page, 30, seeded(1)).unwrap();
    assert!(written.advance(Period::NEVER).is_err());
    assert!(Generator::new(&page, 0, seeded(1)).is_err());
    let two = [Region::churn(0.7, per_day(1.0)).unwrap(), Region::churn(0.4, per_day(1.0)).unwrap()];
    assert!(Regions::new(&two).unwrap_err().to_string().starts_with("share of all regions together must be at most 1"));
}

/// Estimates against exact distances: the squares of the errors as a share of those that were stated, and the mean error.
fn mean_square_of_errors(pairs: &[(Fragments, Fragments)], m: usize) -> (f64, f64) {
    let (mut squares, mut stated, mut bias) = (0.0, 0.0, 0.0);
    for (before, after) in pairs {
        let sketch = |set| Sketch::from_fragments(set, m).unwrap();
        let found = sketch(before).distance(&sketch(after));
        let error = found.value - before.distance(after);
        squares += error.powi(2);
        stated += found.standard_error.powi(2);
        bias += error;
    }
    (squares / stated, bias / pairs.len() as f64)
}

#[test]
fn sketches_are_right_within_their_error_on_written_text() {
    let page = Regions::new(&[Region::scroll(0.6, per_day(1.0), 40).unwrap()]).unwrap();
    let mut pairs = Vec::new();
    for seed in 0..600 {
        let mut written = Generator::new(&page, 200, seeded(seed)).unwrap();
        let before = Fragments::of(&written.text(), grams(4));
        written.advance(days(1.0 + (seed % 37) as f64)).unwrap();
        pairs.push((before, Fragments::of(&written.text(), grams(4))));
    }
    for m in [8, 32, 256] {
        let (square, bias) = mean_square_of_errors(&pairs, m);
        println!("m = {m}: mean squared error {square:.2} of what is stated, bias {bias:.4}");
        assert!((0.6..1.25).contains(&square), "{m}: {square}");
        assert!(bias.abs() < 4.0 * 0.5 / (m as f64 * 600.0).sqrt(), "{m}: {bias}");
    }
    let (set, m) = (&pairs[0].0, 256);
    let counted = Sketch::from_fragments(set, m).unwrap().cardinality();
    assert!((counted.value - set.len() as f64).abs() < 4.0 * counted.standard_error, "{counted:?} {}", set.len());
}

fn data() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("EVERFRESH_DATA").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("no traces at {}: nothing tested", folder.display());
    None
}

/// The first version of every real page with its second, its fifth and its twentieth, where they differ.
fn real_pairs(file: &Path, cut: Cut) -> Vec<(Fragments, Fragments)> {
    #[derive(serde::Deserialize)]
    struct Row<'a> {
        p: u64,
        #[serde(borrow)]
        x: std::borrow::Cow<'a, str>,
    }
    let mut decoder = zstd::Decoder::new(std::fs::File::open(file).unwrap()).unwrap();
    decoder.window_log_max(27).unwrap();
    let (mut pairs, mut page, mut version, mut first) = (Vec::new(), None, 0, Fragments::default());
    for line in std::io::BufRead::lines(std::io::BufReader::new(decoder)) {
        let line = line.unwrap();
        let row: Row<'_> = serde_json::from_str(&line).unwrap();
        version = if page == Some(row.p) { version + 1 } else { 1 };
        page = Some(row.p);
        match version {
            1 => first = Fragments::of(&row.x, cut),
            2 | 5 | 20 => pairs.push((first.clone(), Fragments::of(&row.x, cut))),
            _ => {}
        }
    }
    pairs.retain(|(before, after)| before != after);
    pairs
}

#[test]
fn sketches_are_right_within_their_error_on_real_text() {
    let Some(folder) = data() else { return };
    let pairs = real_pairs(&folder.join("ota-pga/text.jsonl.zst"), grams(8));
    for m in [8, 64, 512] {
        let (square, bias) = mean_square_of_errors(&pairs, m);
        println!("m = {m}: {} pairs, mean squared error {square:.2} of what is stated, bias {bias:.4}", pairs.len());
        // The pairs of a page share their first version: errors do not average out as if they were independent.
        assert!((0.5..1.5).contains(&square), "{m}: {square}");
        assert!(bias.abs() < 0.5 / (m as f64 * 20.0).sqrt(), "{m}: {bias}");
    }
}

fn sketch_of(names: std::ops::Range<u64>) -> Sketch {
    Sketch::from_fragments(&Fragments::from_names(names), 8).unwrap()
}

#[test]
fn a_small_page_takes_at_most_128_bytes() {
    let mut page = Profiles::new(Memory::SMALL);
    let mut now = 1_900_000_000;
    let mut largest = 0;
    for visit in 0..100_u64 {
        page.visit(now, &sketch_of(visit..visit + 200)).unwrap();
        // Up to seven years apart.
        now += 1 + (visit * 77_777_777) % 220_000_000;
        assert!(page.points().len() <= 12);
        largest = largest.max(page.encode().len());
        if visit > 13 {
            assert_eq!(page.points().len(), 12, "a new beginning forgets nothing at once");
        }
    }
    println!("at most {largest} bytes");
    assert!((110..=128).contains(&largest), "{largest}");
}

#[test]
fn version_1_is_read_for_ever() {
    let mut page = Profiles::new(Memory::new(2, 4, 6).unwrap());
    for visit in 0..9_u64 {
        let sketch = Sketch::from_fragments(&Fragments::from_names(visit / 2..visit / 2 + 5), 4).unwrap();
        page.visit(1_700_000_000 + visit * visit * 86_400, &sketch).unwrap();
    }
    let hex = page.encode().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let stored = include_str!("longevity_data/profiles-v1.hex").trim();
    assert_eq!(hex, stored);
    let bytes: Vec<u8> =
        (0..stored.len() / 2).map(|at| u8::from_str_radix(&stored[2 * at..2 * at + 2], 16).unwrap()).collect();
    assert_eq!(Profiles::decode(&bytes).unwrap(), page);
    let error = |bytes: &[u8]| Profiles::decode(bytes).unwrap_err().to_string();
    assert_eq!(error(&[2, 0, 0]), "cannot read profiles: version must be 1, got 2");
    assert_eq!(error(&[]), "cannot read profiles: there must be at least one byte, got none");
    assert!(error(&bytes[..20]).ends_with("damaged or cut off"));
}

#[test]
fn profiles_are_those_of_the_paper() {
    // OP08 section 4.1, at h = 5: every visit extends every profile.
    let mut page = Profiles::new(Memory::new(5, 16, 5).unwrap());
    let versions =
        [0, 1, 1, 2, 2, 4].map(|first| Sketch::from_fragments(&Fragments::from_names(first..first + 10), 16).unwrap());
    for (day, version) in (10..).zip(&versions) {
        page.visit(day * 86_400, version).unwrap();
    }
    let found: Vec<Vec<Point>> = page.profiles().map(ChangeProfile::points).collect();
    assert_eq!(page.profiles().map(|p| p.base_time_s() / 86_400).collect::<Vec<_>>(), [10, 11, 13, 15]);
    for (profile, points) in page.profiles().zip(&found) {
        let base = usize::try_from(profile.base_time_s() / 86_400 - 10).unwrap();
        assert!(points.len() + base == 5, "{points:?}");
        for (visit, point) in points.iter().enumerate() {
            let exact = versions[base].distance(&versions[base + 1 + visit]).value;
            assert!((point.divergence() - exact).abs() < 1e-5 && point.elapsed() == days(visit as f64 + 1.0));
        }
    }
}

#[test]
fn time_never_goes_back() {
    let mut page = Profiles::new(Memory::SMALL);
    page.visit(1000, &sketch_of(0..9)).unwrap();
    let before = page.clone();
    for time in [0, 999, 1000] {
        let error = page.visit(time, &sketch_of(0..9)).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("cannot extend a profile: time must be after the last visit at 1000 s, got {time} s")
        );
    }
    let error = page.visit(1000 + (1 << 32), &sketch_of(0..9)).unwrap_err().to_string();
    assert!(error.contains("less than 2^32 s after the base at 1000 s"), "{error}");
    let small = Sketch::from_fragments(&Fragments::from_names(0..9), 4).unwrap();
    assert!(page.visit(2000, &small).unwrap_err().to_string().contains("at least 8 fragments, got 4"));
    assert_eq!(page, before);
    let set = Fragments::from_names(0..3);
    let error = History::new(vec![(5, set.clone()), (5, set.clone())]).unwrap_err().to_string();
    assert_eq!(error, "times of a history must rise, got 5 s after 5 s");
    assert!(History::new(Vec::new()).is_err());
    let history = History::new(vec![(5, set)]).unwrap();
    assert!(history.divergence_at(0, 4, 0.5).is_err() && history.divergence_at(1, 6, 0.5).is_err());
    assert!(history.divergence_at(0, 6, 1.5).is_err());
}

#[test]
fn divergence_that_falls_is_kept_and_dull_points_go_first() {
    let mut page = Profiles::new(Memory::new(1, 8, 4).unwrap());
    for (day, first) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 4), (5, 1)] {
        page.visit(1 + day * 86_400, &sketch_of(first..first + 6)).unwrap();
    }
    let seen: Vec<(f64, f64)> = page.points().iter().map(|p| (p.elapsed().days(), p.divergence())).collect();
    assert_eq!(seen.iter().map(|p| p.0).collect::<Vec<_>>(), [2.0, 3.0, 4.0, 5.0]);
    assert!(seen[2].1 > seen[3].1 && seen[3].1 > 0.0, "{seen:?}");
}

#[test]
fn a_quiet_page_keeps_its_base_and_a_changing_one_gets_new_ones() {
    let (mut quiet, mut restless) = (Profiles::new(Memory::SMALL), Profiles::new(Memory::SMALL));
    for day in 0..100_u64 {
        quiet.visit(day * 86_400 + 1, &sketch_of(0..50)).unwrap();
        restless.visit(day * 86_400 + 1, &sketch_of(day * 50..day * 50 + 50)).unwrap();
    }
    assert_eq!(quiet.profiles().next().unwrap().base_time_s(), 1);
    assert_eq!(quiet.points().last().unwrap().elapsed(), days(99.0));
    assert!(restless.profiles().next().unwrap().base_time_s() > 80 * 86_400);
    assert!(restless.points().iter().all(|point| point.divergence() == 1.0));
}

fn watched(regions: &[Region], visits: u32, every: f64, seed: u64) -> History {
    let mut page = Generator::new(&Regions::new(regions).unwrap(), 120, seeded(seed)).unwrap();
    let mut versions = Vec::new();
    for visit in 0..visits {
        versions.push(((f64::from(visit) * every * 86_400.0) as u64, Fragments::of(&page.text(), Cut::LINES)));
        page.advance(days(every)).unwrap();
    }
    History::new(versions).unwrap()
}

#[test]
fn lifetimes_k_and_classes_of_written_pages_are_recovered() {
    let still = watched(&[], 30, 1.0, 1).makeup();
    assert_eq!((still.class, still.static_share, still.dominant_k), (Class::Static, 1.0, None));
    let churn = watched(&[Region::churn(0.4, per_day(0.25)).unwrap()], 400, 0.5, 2);
    let makeup = churn.makeup();
    assert_eq!((makeup.class, makeup.dominant_k), (Class::Churn, Some(1)));
    assert!((makeup.churn_share - 0.4).abs() < 0.01 && makeup.scroll_share == 0.0, "{makeup:?}");
    // The median of an exponential with a mean of four days.
    let median = churn.median_lifetime().unwrap().days();
    assert!((median / (4.0 * std::f64::consts::LN_2) - 1.0).abs() < 0.35, "{median}");
    let list = watched(&[Region::scroll(0.5, per_day(0.25), 10).unwrap()], 800, 0.5, 3);
    let makeup = list.makeup();
    assert!(matches!(makeup.class, Class::Scroll { items: 9..=10 }), "{makeup:?}");
    assert!(matches!(makeup.dominant_k, Some(9..=10)) && (makeup.scroll_share - 0.5).abs() < 0.01, "{makeup:?}");
    // OP08 figure 4: the median of ten changes is 38.7 days.
    let median = list.median_lifetime().unwrap().days();
    assert!((median / 38.7 - 1.0).abs() < 0.2, "{median}");
}

#[test]
fn an_advertisement_does_not_lengthen_a_list() {
    let ad = Region::churn(0.15, per_day(3.0)).unwrap();
    let list = Region::scroll(0.4, per_day(0.3), 5).unwrap();
    let history = watched(&[ad, list], 400, 0.5, 4);
    let makeup = history.makeup();
    assert!(matches!(makeup.class, Class::Scroll { items: 4..=5 }), "{makeup:?}");
    assert_eq!(makeup.dominant_k, Some(1), "counted by fragments the advertisement is what is most frequent");
    assert!((makeup.static_share - 0.45).abs() < 0.01, "{makeup:?}");
    // Some rotations go unseen between two visits, and then survive a change of the list alone.
    assert!((makeup.churn_share - 0.15).abs() < 0.06, "{makeup:?}");
    assert!((makeup.scroll_share - 0.4).abs() < 0.06, "{makeup:?}");
}

#[test]
fn censored_lifetimes_are_marked() {
    let set = |names: &[u64]| Fragments::from_names(names.iter().copied());
    let versions = vec![(0, set(&[1, 2])), (10, set(&[1, 3])), (30, set(&[1, 3, 2])), (40, set(&[1, 4]))];
    let history = History::new(versions).unwrap();
    let seen: Vec<(usize, usize, Lifetime)> =
        history.spells().iter().map(|spell| (spell.first, spell.last, history.lifetime(spell))).collect();
    let seconds = |s: f64| Period::of(s, Unit::Second).unwrap();
    assert_eq!(seen.len(), 5);
    for expected in [
        (0, 0, Lifetime::LongerThan(seconds(5.0))),
        (0, 3, Lifetime::LongerThan(seconds(40.0))),
        (1, 2, Lifetime::Seen(seconds(30.0))),
        (2, 2, Lifetime::Seen(seconds(15.0))),
        (3, 3, Lifetime::LongerThan(seconds(5.0))),
    ] {
        assert!(seen.contains(&expected), "{expected:?} in {seen:?}");
    }
    assert_eq!(history.longevity(), Some(1.5));
    let makeup = history.makeup();
    assert_eq!((makeup.churn_lives, makeup.scroll_lives), (1, 1));
    assert_eq!(history.changes(), 3);
}

/// Eagerness is high for churn, whose curve is concave, and about a half for a long list, whose curve is straight at first.
#[test]
fn eagerness_tells_churn_from_scroll_and_interpolates() {
    let churn = watched(&[Region::churn(0.5, per_day(2.0)).unwrap()], 200, 1.0, 5);
    let list = watched(&[Region::scroll(0.5, per_day(2.0), 60).unwrap()], 200, 1.0, 6);
    let (eager, slow) = (churn.eagerness().unwrap(), list.eagerness().unwrap());
    assert!(eager > 0.8 && slow < 0.65, "{eager} {slow}");
    let (times, e) = (list.versions(), slow);
    let at = |time: u64| list.divergence_at(3, time, e).unwrap();
    let between = u64::midpoint(times[7].0, times[8].0);
    let (low, high) = (at(times[7].0).min(at(times[8].0)), at(times[7].0).max(at(times[8].0)));
    assert!((low..=high).contains(&at(between)));
    assert_eq!(at(times[3].0), 0.0);
    assert_eq!(at(times[199].0 + 5), at(times[199].0));
}
