//! The uniform and the proportional allocation under caps, in one scan.
//!
//! Their pages are visited with `f = scale / price`, so all that counts of a host is what one visit to each of its pages, times their
//! scales, costs: its mass. A host spends `mass / price`, or its cap if that is less, and the price at which all spend the budget
//! follows from a sorted list of `mass / cap`, the prices at which hosts are full.

use super::columns::{Columns, Pages};
use super::gather::Bounds;
use super::hosts::{HostPrice, Hosts, Places};
use super::loads::check_hosts;
use super::rule::Rule;
use crate::plan::price::Blend;

/// The price that spends the budget, as a base and a factor of it, and prices for hosts that are full; none where pages have bounds.
pub(super) fn spend<R: Rule, P: Pages>(
    pages: &P,
    rule: R,
    bounds: &mut Bounds<'_>,
    budget: f64,
) -> Result<Option<(f64, Blend)>, P::Error> {
    let mut are_free = bounds.floor == 0.0;
    pages.sample(&mut |chunk| are_free &= is_free(chunk))?;
    if !are_free {
        return Ok(None);
    }
    let caps = bounds.hosts.caps();
    let mut masses = vec![0.0; caps.len()];
    let of_chunk = |chunk: Columns<'_>| {
        check_hosts(chunk, caps.len())?;
        let mut some = Vec::with_capacity(chunk.len());
        for i in 0..chunk.len() {
            let page = chunk.one(i);
            if !page.is_legal() {
                return Err((i, page.illness()));
            }
            if !rule.is_out(&page) {
                some.push((page.host, page.count * page.cost * rule.place(&page).0));
            }
        }
        Ok(is_free(chunk).then_some(some))
    };
    // In the order of the pages: so the sums do not depend on the number of threads.
    pages.scan(&of_chunk, &mut |some| match some {
        Some(some) => some.into_iter().for_each(|(host, mass): (u32, f64)| masses[host as usize] += mass),
        None => are_free = false,
    })?;
    if !are_free {
        return Ok(None);
    }
    let price = price(caps, &masses, budget);
    let at = price.unwrap_or(0.0);
    let full = (0u32..).zip(caps.iter().zip(&masses)).filter(|(_, (cap, mass))| **mass > at * **cap && cap.is_finite());
    let prices: Vec<HostPrice> = full.clone().map(|(_, (cap, mass))| HostPrice::about(mass / cap, *cap)).collect();
    // Where not all can be spent every host is full, at any price below those of all.
    let below = prices.iter().map(|own| own.blend.price).fold(1.0, f64::min) / 2.0;
    bounds.hosts = Hosts::with(caps, Places::of(caps.len(), full.map(|(host, _)| host)), prices);
    Ok(Some(price.map_or((below, Blend::unspent()), |price| (price, Blend::at(1.0)))))
}

fn is_free(chunk: Columns<'_>) -> bool {
    chunk.min_period.is_none() && chunk.max_period.is_none()
}

/// The price at which hosts of these masses spend the budget; none where the caps allow less.
fn price(caps: &[f64], masses: &[f64], budget: f64) -> Option<f64> {
    let mut hosts: Vec<(f64, f64)> = caps.iter().copied().zip(masses.iter().copied()).collect();
    hosts.retain(|(_, mass)| *mass > 0.0);
    // From the one that is full at the lowest price to the one that is at the highest.
    hosts.sort_by(|(cap, mass), (other_cap, other)| (mass / cap).total_cmp(&(other / other_cap)));
    // What all from each one on spend when they are full. Added up, not subtracted: caps may be far larger than the budget.
    let mut full = vec![0.0; hosts.len() + 1];
    for (k, (cap, _)) in hosts.iter().enumerate().rev() {
        full[k] = full[k + 1] + cap;
    }
    if full[0] <= budget {
        return None;
    }
    let mut free = 0.0;
    for ((cap, mass), full) in hosts.iter().zip(&full) {
        // Those before this one spend freely, the others are full.
        let price = free / (budget - full);
        if budget > *full && price <= mass / cap {
            return Some(price);
        }
        free += mass;
    }
    Some(free / budget)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_spends_the_budget_or_the_caps_allow_less() {
        let masses = [1.0, 4.0, 0.0, 2.0, 8.0];
        let caps = [1.0, 1.0, 5.0, f64::INFINITY, 1e20];
        for budget in [0.1, 1.0, 3.0, 10.0, 1e6, 1e19, 1e22] {
            let price = price(&caps, &masses, budget).unwrap();
            let spent: f64 = caps.iter().zip(masses).map(|(cap, mass)| cap.min(mass / price)).sum();
            assert!((spent / budget - 1.0).abs() < 1e-12, "{budget}: {price} spends {spent}");
        }
        assert_eq!(price(&[1.0, 2.0], &[1.0, 5.0], 3.5), None);
        assert_eq!(price(&[1.0], &[0.0], 3.5), None);
    }
}
