//! Figures 4 and 5: how long fragments live.

use everfresh::longevity::{History, Lifetime, Region, Regions};
use everfresh::{Period, Rate, Result, Unit};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::world::history;
use crate::papers::{Axis, Exhibit, Figure, Mark, Paper, Picture, Printed, curve, random};

fn days(length: f64) -> Period {
    Period::of(length, Unit::Day).unwrap_or(Period::ZERO)
}

/// The lifetime distribution as the paper prints it: K changes have happened at λt = r.
fn printed_lifetime(items: u32, r: f64) -> f64 {
    let mut term = (-r).exp();
    let mut left = term;
    for i in 1..items {
        term *= r / f64::from(i);
        left += term;
    }
    1.0 - left
}

/// Figure 4: lifetimes in churn and in a list.
pub(super) fn figure_4(_seed: u64) -> Result<Exhibit> {
    let rate = Rate::per(0.25, Unit::Day)?;
    let regions = [("churn", Region::churn(1.0, rate)?), ("list of 10", Region::scroll(1.0, rate, 10)?)];
    let mut picture = Picture::new("", Axis::linear("days"), Axis::linear("share of fragments gone").from_to(0.0, 1.0));
    let mut figures = Vec::new();
    for (name, region) in regions {
        picture = picture.with(name, Mark::Line, curve(0.0, 80.0, 320, |t| region.lifetime_by(days(t))));
        for t in [5.0, 10.0, 20.0, 40.0, 60.0] {
            let printed = Printed::formula(printed_lifetime(region.items(), 0.25 * t));
            figures
                .push(Figure::new(name, format!("gone after {t} days"), region.lifetime_by(days(t))).beside(printed));
        }
    }
    Ok(Exhibit::new(
        Paper::Op08,
        "Figure 4",
        "How long a fragment lives in a region that is overwritten and in a list of ten items, both changing every four days. \
         The printed column is the paper's formula, evaluated as it stands.",
    )
    .with_picture(picture)
    .with_figures(figures))
}

/// A group of pages by the K of most of their fragments.
struct Group {
    name: &'static str,
    items: &'static [u32],
}

const GROUPS: [Group; 3] = [
    Group { name: "K = 1", items: &[1] },
    Group { name: "K = 2", items: &[2] },
    Group { name: "K > 2", items: &[3, 5, 8] },
];

/// Pages of each group, and days between which their snapshots lie.
const PAGES: u64 = 300;
const SNAPSHOTS: usize = 30;

/// A page that changes every four days: most of what changes lives K changes, a little is overwritten each time.
fn page(items: u32) -> Result<Regions> {
    let list = Region::scroll(0.4, Rate::per(0.2, Unit::Day)?, items)?;
    Regions::new(&[list, Region::churn(0.1, Rate::per(0.05, Unit::Day)?)?])
}

/// Whole lifetimes that snapshots show, in days.
fn seen_lifetimes(history: &History) -> Vec<f64> {
    let seen = |lifetime| match lifetime {
        Lifetime::Seen(period) => Some(period.days()),
        Lifetime::LongerThan(_) => None,
    };
    history.spells().iter().filter_map(|spell| seen(history.lifetime(spell))).collect()
}

/// The lifetimes seen on all pages of a group, in order, and the mean of the model's distributions over its pages.
fn group(group: &Group, seed: u64) -> Result<(Vec<f64>, Vec<Regions>)> {
    let models = group.items.iter().map(|items| page(*items)).collect::<Result<Vec<_>>>()?;
    let mut rng = random(seed, 805);
    let base: u64 = rng.random();
    let one = |number: u64| {
        let model = &models[usize::try_from(number).unwrap_or(0) % models.len()];
        let rng = Xoshiro256PlusPlus::seed_from_u64(base ^ number);
        Ok(seen_lifetimes(&history(model, 40, SNAPSHOTS, rng)?))
    };
    let pages = (0..PAGES).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
    let mut lifetimes = pages.concat();
    lifetimes.sort_by(f64::total_cmp);
    Ok((lifetimes, models))
}

/// Figure 5: lifetimes that snapshots show, against the model.
pub(super) fn figure_5(seed: u64) -> Result<Exhibit> {
    let mut exhibit = Exhibit::new(
        Paper::Op08,
        "Figure 5",
        "How long fragments that are not static were seen to live on pages that change every four days, by the K of most of \
         them; the lines are the model's.",
    );
    let mut picture = Picture::new("", Axis::linear("days"), Axis::linear("share of fragments gone").from_to(0.0, 1.0));
    for of in &GROUPS {
        let (lifetimes, models) = group(of, seed)?;
        let model = |t: f64| models.iter().map(|page| page.lifetime_by(days(t))).sum::<f64>() / models.len() as f64;
        // The middle of two snapshots to the middle of two others: times come in steps of two days.
        let share = |t: f64| lifetimes.partition_point(|lifetime| *lifetime <= t) as f64 / lifetimes.len() as f64;
        let dots = (1..=25).map(|step| f64::from(step) * 2.0).map(|t| (t + 1.0, share(t))).collect();
        picture = picture.with(of.name, Mark::Line, curve(0.0, 56.0, 224, model)).with(
            format!("{}, seen", of.name),
            Mark::Dots,
            dots,
        );
        exhibit = exhibit.with_figures([10.0, 20.0].map(|t| {
            Figure::new(of.name, format!("gone after {t} days"), share(t))
                .beside(Printed::formula(model(t)))
                .on_our_world()
        }));
    }
    Ok(exhibit.with_picture(picture).with_remark(format!(
        "The paper's pages are not public. On our world: {PAGES} pages for each group, four fifths of whose changes are of the \
         list, seen every second day for 60 days (seed {seed}); the printed column is the model's. Only lives seen whole count, \
         which favours short ones: the dots rise above the lines, as the paper's did at the right end."
    )))
}
