//! Prices of full hosts and what all pages spend around the plan's price, in one scan where a sample foretells both.
//!
//! A sample tells about where the price will lie and which hosts may come near their caps there. The scan lists the pages of
//! these, gathers all others around that price, and sums up what the others' hosts spend at the lowest price of the window, many hosts in a
//! sum. If one of these is too large the hosts are looked at one by one, and if the sample has missed one that is full the scan is repeated with it.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::columns::Pages;
use super::first_guess;
use super::gather::{Bounds, Gathered, Window};
use super::hosts::{FREE_TOGETHER, HostPrice, Hosts, Places, solve_lists};
use super::listed::{Listed, Sieve, Sorted, Usual};
use super::loads::{Full, Loads, Pools};
use super::rule::Rule;

/// Hosts that would spend so much of their caps, at a quarter of the price without caps, are listed: few of those that a sample of some
/// tens of their pages takes for less turn out to be full.
const NEAR: f64 = 0.5;

/// A smaller share of all pages does not tell which hosts are near their caps.
const LEAST_SAMPLE: f64 = 1.0 / 64.0;

/// Scans, of which one is usual, before the longer way is gone.
const SCANS: u32 = 4;

/// What a plan spends in a window of prices.
pub(super) type Foreseen = Option<(Window, Gathered)>;

/// Gives each host that may reach its cap, at any price of a window, a price of its own, and tells what is spent in the window;
/// none where pages have bounds or are too many, or where no window holds. `guess` is the price without caps.
pub(super) fn foresee<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &mut Bounds<'_>,
    budget: f64,
    guess: f64,
) -> Result<Foreseen, P::Error> {
    if bounds.floor > 0.0 {
        return Ok(None);
    }
    let caps = bounds.hosts.caps();
    let usual = Usual::of(pages, rule, guess / 4.0)?;
    let Some(mut near) = near_their_caps(pages, rule, bounds, usual.lowest())? else { return Ok(None) };
    let about = |full: &Full| HostPrice::about(usual.price(full.excess), caps[full.host as usize]);
    let places = |near: &[Full]| Places::of(caps.len(), near.iter().map(|full| full.host));
    bounds.hosts = Hosts::with(caps, places(&near), near.iter().map(about).collect());
    let mut window = Window::wide(first_guess(pages, rule, bounds, budget)?);
    bounds.hosts = Hosts::new(caps);
    for _ in 0..SCANS {
        let Some((parts, mut gathered, missed)) = scan(pages, rule, bounds, &places(&near), window)? else {
            return Ok(None);
        };
        if !missed.is_empty() {
            near.extend(missed);
            continue;
        }
        // Of hosts whose prices may lie below the window nothing need be known but that.
        let prices = solve_lists(rule, caps, &near, &usual.from(window.lowest()), &parts)?;
        gather_listed(rule, &prices, &parts, window, &mut gathered);
        let hosts = Hosts::with(caps, places(&near), prices);
        gathered.end(&hosts, window, 1.0);
        let price = gathered.price(rule, budget).near();
        if gathered.tells(window, price) {
            bounds.hosts = hosts;
            return Ok(Some((window, gathered)));
        }
        window = Window::wide(window.base * price);
    }
    Ok(None)
}

/// The hosts that a sample takes to be near their caps at a price; none where the pages have bounds, would be too
/// many to list, or where there is no sample that tells.
fn near_their_caps<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &Bounds<'_>,
    price: f64,
) -> Result<Option<Vec<Full>>, P::Error> {
    let loads = Loads::new(bounds.hosts.caps().len());
    let share = pages.large_sample(&|chunk| loads.add_some(chunk, rule, bounds, price))?;
    let mut near = loads.from(NEAR * share);
    for full in &mut near {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate, not negative")]
        let rows = (full.rows as f64 / share) as usize;
        (full.rows, full.excess) = (rows, full.excess / share);
    }
    let is_little = near.iter().map(|full| full.rows).sum::<usize>() <= FREE_TOGETHER;
    Ok((loads.are_free() && is_little && share >= LEAST_SAMPLE).then_some(near))
}

/// What a scan found: the pages of the listed hosts, what all others spend in the window, and those of their hosts that are full.
type Scanned = (Vec<Sorted>, Gathered, Vec<Full>);

/// Parts the pages by whether their hosts are listed; none where there are such with bounds, or too many.
fn scan<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &Bounds<'_>,
    places: &Places,
    window: Window,
) -> Result<Option<Scanned>, P::Error> {
    let caps = bounds.hosts.caps();
    let sieve = Sieve::new(rule, bounds, places, window.lowest());
    let listed = AtomicUsize::new(0);
    let (mut parts, mut gathered, mut pools) = (Vec::new(), Gathered::new(), Pools::new(caps.len()));
    let mut is_whole = true;
    pages.scan(
        &|chunk| {
            if listed.load(Ordering::Relaxed) > FREE_TOGETHER {
                return Ok(None);
            }
            let found = sieve.part(chunk, window)?;
            let count = found.as_ref().map_or(0, |(sorted, _, _)| sorted.len());
            listed.fetch_add(count, Ordering::Relaxed);
            Ok(found)
        },
        &mut |found| match found {
            Some((sorted, part, some)) if is_whole => {
                parts.push(sorted);
                gathered.merge(part);
                pools.merge(&some);
            }
            _ => {
                is_whole = false;
                parts.clear();
            }
        },
    )?;
    if !is_whole {
        return Ok(None);
    }
    let is_other = |host: u32| places.get(host).is_none();
    let mut missed = Vec::new();
    if pools.may_be_full(caps, is_other) {
        missed = Loads::of(pages, rule, bounds, window.lowest())?.from(1.0);
        missed.retain(|full| is_other(full.host));
    }
    Ok(Some((parts, gathered, missed)))
}

/// Hosts whose pages are gathered together: the same whatever the number of threads.
const TOGETHER: usize = 256;

/// Adds what the pages of listed hosts spend, where that depends on the plan's price.
fn gather_listed<R: Rule>(rule: R, prices: &[HostPrice], parts: &[Sorted], window: Window, gathered: &mut Gathered) {
    let some = prices.par_chunks(TOGETHER).enumerate().map(|(i, prices)| {
        let mut part = Gathered::new();
        for (place, own) in (i * TOGETHER..).zip(prices).filter(|(_, own)| own.blend.price <= window.highest()) {
            Listed::of(parts, place).gather(rule, own.blend, window, &mut part);
        }
        part
    });
    some.collect::<Vec<Gathered>>().into_iter().for_each(|part| gathered.merge(part));
}
