//! Hints: what others say of a page between visits, believed as far as it has proven right.
//!
//! A hint says that a page changed (or will change) at a time `t_h` after the last visit. It is true with a probability p that is learnt;
//! from then on the copy is fresh with probability `(1-p)(1 - D(t))`, which is what it would be had more time passed: `1 - D(t + s)` with
//! `1 + (t_h + s)/β = (1 + t_h/β) (1-p)^(-1/α)` on a Lomax curve. So a visit is due s earlier than by the law, but not before `t_h`
//! (Busa-Fekete et al., WWW 2025, count signals of change as time, too). A page of which it is sure that it changed has the value of
//! its ceiling, the mean time for which a new copy will be fresh: one that changes too fast for the price is not worth a visit
//! whatever is said of it. (A jump of the curve itself would undervalue a change soon after a visit, as if that came each time.)
//!
//! What the next visit finds teaches p: nothing new, the hint was wrong; something new, it was right with
//! probability `p / (p + (1-p) D)`, since the change may have come without it. A host's p is held to that of its group, that
//! to the kind's, and that to a first guess.

use crate::chance;
use crate::page::Trouble;
use crate::state::{Round, State};
use crate::tick::Tick;
use everfresh::Period;
use everfresh::curve::DivergenceCurve;
use everfresh::policy::Aim;
use serde::{Deserialize, Serialize};

/// Where a hint comes from. An `ETag` is none: it says nothing before a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HintKind {
    /// A notice for this very change, such as a push or a hook.
    Push,
    /// The date of an entry in a feed.
    Feed,
    /// The date of a page in a sitemap.
    Sitemap,
    /// A Last-Modified date that was seen without a visit.
    LastModified,
    /// The end of the time for which a copy may be kept: Cache-Control's max-age, or Expires.
    Expires,
}

impl HintKind {
    /// The share of hints that is taken to be right before any was tried.
    const fn first_guess(self) -> f64 {
        match self {
            HintKind::Push => 0.8,
            HintKind::Feed | HintKind::LastModified => 0.6,
            HintKind::Sitemap => 0.3,
            HintKind::Expires => 0.1,
        }
    }

    /// Does it speak of what was? Then a date to come was meant for now, or is a mistake that the next visit finds out.
    const fn is_of_the_past(self) -> bool {
        matches!(self, HintKind::Feed | HintKind::Sitemap | HintKind::LastModified)
    }
}

/// A hint that no visit has tried yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) kind: HintKind,
    pub(crate) changed: Tick,
    /// The probability with which it was believed when it came.
    pub(crate) believed: f32,
}

/// Of whose hints something is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Whose {
    All,
    Group(u16),
    Host(u32),
}

/// How many hints were right, and how many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tried {
    right: f64,
    all: f64,
}

/// What is held to something more general counts that as so many hints.
const HELD: f64 = 4.0;
/// Of hints, so many count at most: who begins to lie is found out.
const MEMORY: f64 = 100.0;
/// The share of pages on which promises are tried that have not proven right, and the share of right ones from which on they have.
const TRIED: f64 = 0.125;
const PROVEN: f32 = 0.2;

impl Tried {
    fn add(&mut self, right: f64) {
        let kept = if self.all < MEMORY { 1.0 } else { 1.0 - 1.0 / MEMORY };
        (self.right, self.all) = (self.right * kept + right, self.all * kept + 1.0);
    }

    fn share_towards(self, general: f64) -> f64 {
        (self.right + HELD * general) / (self.all + HELD)
    }
}

impl State {
    /// The probability with which a hint for a page is believed.
    fn believed(&self, slot: u32, kind: HintKind) -> f64 {
        let page = self.pages.get(slot);
        let of = |whose: Whose| self.hints.get(&(whose, kind)).copied().unwrap_or_default();
        let whose = [Whose::All, Whose::Group(page.group), Whose::Host(page.host)];
        whose.into_iter().fold(kind.first_guess(), |general, whose| of(whose).share_towards(general))
    }

    /// Takes in a hint, unless it tells of nothing new, or a better one is pending.
    pub(crate) fn hint(&mut self, slot: u32, kind: HintKind, changed_at_s: f64) {
        #[expect(clippy::cast_possible_truncation, reason = "a probability needs few digits")]
        let believed = self.believed(slot, kind) as f32;
        let page = self.pages.get(slot);
        if matches!(self.pages.trouble(slot), Trouble::Gone(_) | Trouble::Retired) && kind == HintKind::Push {
            // Somebody says that it is there again. Dates in feeds and sitemaps are read again and again, and would have it probed each time.
            return self.wait_until(slot, Tick::ceil(self.now_s));
        }
        let changed = self.date_of_hint(kind, changed_at_s);
        if !page.is_copied() || changed <= page.saw || !self.is_worth_keeping(slot, kind, believed) {
            return;
        }
        // The newest promise takes the place of the one before it.
        let better = |old: Pending| old.believed >= believed && !(old.kind == kind && kind == HintKind::Expires);
        if self.pages.rare(slot).hint.is_some_and(better) {
            return;
        }
        self.pages.set_hint(slot, Some(Pending { kind, changed, believed }));
        if self.pages.trouble(slot) == Trouble::None {
            self.reschedule(slot);
        }
    }

    /// When a page changes by a hint.
    fn date_of_hint(&self, kind: HintKind, changed_at_s: f64) -> Tick {
        let at = (changed_at_s - self.settings.start_s).max(0.0);
        Tick::floor(if kind.is_of_the_past() { at.min(self.now_s) } else { at })
    }

    /// Almost every answer of the web says how long it may be kept, and few mean it. Until they have proven right, such hints are
    /// tried on some pages and not held in memory for all.
    fn is_worth_keeping(&self, slot: u32, kind: HintKind, believed: f32) -> bool {
        let is_tried = || chance::lot(self.settings.seed, self.pages.id(slot).0, u64::MAX - 2) < TRIED;
        kind != HintKind::Expires || believed >= PROVEN || is_tried()
    }

    /// How long after a visit the next is due at a price, in seconds, whatever is hinted.
    pub(crate) fn plain_s(&self, slot: u32, aim: Aim, price: f64, round: Round) -> f64 {
        let (aim, unit_s) = self.common(aim, round);
        self.policy.period_quickly(aim, &self.about(slot), &self.memory(slot), price * unit_s).seconds()
    }

    /// U(elapsed) of a page, in seconds for every aim.
    pub(crate) fn utility_s(&self, slot: u32, aim: Aim, elapsed: Period) -> f64 {
        let (aim, unit_s) = self.common(aim, self.round());
        self.policy.utility(aim, &self.about(slot), &self.memory(slot), elapsed) / unit_s
    }

    /// An aim, and what its utilities are divided by so that groups with different aims can share a price. While pages are not told apart, visits for
    /// freshness are those for age.
    fn common(&self, aim: Aim, round: Round) -> (Aim, f64) {
        match aim {
            Aim::Freshness if !self.policy.tells_pages_apart() => (Aim::Age, round.stale_age_s),
            Aim::Age => (aim, round.stale_age_s),
            _ => (aim, 1.0),
        }
    }

    /// How long after a visit the next is due at a price, in seconds, and whether that is for a hint.
    pub(crate) fn wanted_s(&self, slot: u32, aim: Aim, price: f64, round: Round) -> (f64, bool) {
        let (about, memory) = (self.about(slot), self.memory(slot));
        let plain = self.plain_s(slot, aim, price, round);
        let Some(hint) = self.pages.rare(slot).hint else { return (plain, false) };
        let elapsed = hint.changed.seconds() - self.pages.get(slot).saw.seconds();
        if plain <= elapsed || plain.is_infinite() {
            return (plain, false);
        }
        let Ok(curve) = self.policy.curve(&about, &memory) else { return (plain, false) };
        let stretch = (-f64::from(hint.believed)).ln_1p() / -curve.alpha();
        let sooner = (curve.beta().seconds() + elapsed) * stretch.exp_m1();
        ((plain - sooner).max(elapsed), true)
    }

    /// Learns from a visit how far hints can be believed; true if it was probably this hint's change that was found.
    pub(crate) fn try_hint(&mut self, slot: u32, now: f64, changed: bool) -> bool {
        let Some(hint) = self.pages.rare(slot).hint else { return false };
        if Tick::floor(now) < hint.changed {
            // It speaks of a time to come. What it said of it still counts if nothing changed before.
            if changed {
                self.pages.set_hint(slot, None);
            }
            return false;
        }
        self.pages.set_hint(slot, None);
        let (page, believed) = (*self.pages.get(slot), f64::from(hint.believed));
        let curve = self.policy.curve(&self.about(slot), &self.memory(slot));
        let without = curve.map_or(0.0, |curve| curve.divergence(self.elapsed(slot, now)));
        let right = if changed { believed / (believed + (1.0 - believed) * without) } else { 0.0 };
        for whose in [Whose::All, Whose::Group(page.group), Whose::Host(page.host)] {
            self.hints.entry((whose, hint.kind)).or_default().add(right);
        }
        right > 0.5
    }
}
