//! In which order pages that are due are visited when not all can be: by what a visit is worth by now.
//!
//! The law: where more is due than can be visited, the price is in truth higher, and a page's turn comes when `w U(t) / c` has
//! reached that. What a page is worth grows with the time since it was seen, at its own pace, and nobody computes that
//! for all who wait at each choice. So values are rounded down to levels, half a binade each; a page waits on its
//! level, and rises when its time has come. On a level, who was due first is first.
//!
//! Promises stand above all values: pins, group periods, maximum periods and the floor. Where they ask for more than
//! there is, all of them are late by about the same factor: their levels are of time since the last visit over time promised.
//!
//! All of it follows from pages and plan: whoever rebuilds the queues finds everybody on the same level.

use crate::state::State;
use crate::terms::GroupRule;
use crate::tick::Tick;
use std::cmp::{Ordering, Reverse};

/// Who is first: the highest level, then who was due first, whatever the epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    pub(crate) level: Reverse<i16>,
    pub(crate) due: Tick,
    /// Of the plan under which it was found.
    pub(crate) epoch: u16,
}

impl Ord for Rank {
    fn cmp(&self, other: &Rank) -> Ordering {
        (self.level, self.due).cmp(&(other.level, other.due))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank {
    fn eq(&self, other: &Rank) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank {}

/// The first level of those to whom a visit was promised by now.
pub(crate) const PROMISED: i16 = 1000;
/// The last of them: late by a factor of a million.
const LATEST: i16 = PROMISED + 40;
/// Levels in a binade.
const FINENESS: f64 = 2.0;
/// Values this many levels below the price, and above it, are told apart.
const BELOW: i16 = 8;
const ABOVE: i16 = 24;

/// How much a level is above the first: `2^(levels/2)`.
fn factor(levels: i16) -> f64 {
    (f64::from(levels) / FINENESS).exp2()
}

impl State {
    /// The level of the price of the plan.
    #[expect(clippy::cast_possible_truncation, reason = "prices are between 1e-40 and 1e40")]
    fn level_of_price(&self) -> i16 {
        (FINENESS * self.price.log2()).floor().clamp(-300.0, 300.0) as i16
    }

    /// The most time between visits that was promised, in seconds.
    pub(crate) fn promised_s(&self, slot: u32) -> f64 {
        let rare = self.pages.rare(slot);
        match (rare.pin_s, self.rule(self.pages.get(slot).group)) {
            (Some(pin), _) => pin,
            (None, GroupRule::Every(period)) => period.seconds(),
            (None, GroupRule::Aim(_)) => rare.max_s.min(self.floor_s()),
        }
    }

    /// From when on a page is on a level or above.
    fn reaches(&self, slot: u32, level: i16) -> Tick {
        let (page, promised) = (self.pages.get(slot), self.promised_s(slot));
        if level >= PROMISED {
            return Tick::ceil(page.saw.seconds() + promised * factor(level - PROMISED));
        }
        let wanted = match self.rule(page.group) {
            GroupRule::Aim(aim) if page.weight > 0.0 && self.pages.rare(slot).pin_s.is_none() => {
                self.wanted_s(slot, aim, factor(level), self.round()).0
            }
            _ => f64::INFINITY,
        };
        Tick::ceil(page.saw.seconds() + wanted.min(promised))
    }

    /// The level of a page at a time.
    fn level(&self, slot: u32, at: Tick) -> i16 {
        let price = self.level_of_price();
        let (mut level, lowest, highest) = if self.reaches(slot, PROMISED) <= at {
            (PROMISED, PROMISED, LATEST)
        } else {
            (price, price - BELOW, price + ABOVE)
        };
        while level < highest && self.reaches(slot, level + 1) <= at {
            level += 1;
        }
        while level > lowest && self.reaches(slot, level) > at {
            level -= 1;
        }
        level
    }

    /// The rank at a time of a page that is due, and when it rises.
    pub(crate) fn rank(&self, slot: u32, at: Tick) -> (Rank, Tick) {
        let level = self.level(slot, at);
        let next = if level == self.level_of_price() + ABOVE { PROMISED } else { level + 1 };
        let rises = if level == LATEST { Tick::LAST } else { self.reaches(slot, next) };
        (Rank { level: Reverse(level), due: self.pages.get(slot).due, epoch: self.queues.epoch() }, rises)
    }
}
