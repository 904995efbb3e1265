//! The sites of the demo's web: how their pages change, and how their servers behave.

use std::time::Duration;

/// When the pages of a site change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    Never,
    /// At any time alike.
    Steady,
    /// Several changes in a short time, then none for long.
    Bursts,
    /// Mostly about noon.
    Daytime,
}

/// What of a page changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One of its parts is replaced.
    Churn,
    /// An item is put on top of a list, and the last one falls off.
    Scroll,
    /// A part is replaced, and with the next change the page is what it was at first.
    Revert,
}

/// What a server gives with a page so that the next visit may cost a 304.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Validator {
    Nothing,
    Tag,
    Date,
}

/// A site, described.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub name: &'static str,
    /// Of a hundred pages, so many are here.
    pub share: u32,
    pub habit: Habit,
    pub shape: Shape,
    /// The least and the most changes per day of its pages; logarithms between are alike.
    pub per_day: (f64, f64),
    pub validator: Validator,
    /// Does every answer have a clock and a number at its foot? Then bytes differ where the text does not.
    pub has_clock: bool,
    /// How long an answer takes, in real time.
    pub delay: Duration,
    /// The share of time in which a page answers with a fault.
    pub faults: f64,
    /// The share of pages that are gone for good before the end.
    pub vanishing: f64,
    /// Seconds of the web's time between two visits that robots.txt asks for.
    pub crawl_delay_s: Option<f64>,
    /// One of so many pages is forbidden by robots.txt; 0 for none.
    pub forbids_one_of: u32,
}

const PLAIN: Site = Site {
    name: "",
    share: 0,
    habit: Habit::Steady,
    shape: Shape::Churn,
    per_day: (0.05, 0.5),
    validator: Validator::Nothing,
    has_clock: false,
    delay: Duration::ZERO,
    faults: 0.0,
    vanishing: 0.0,
    crawl_delay_s: None,
    forbids_one_of: 0,
};

/// All sites; their shares are a hundred in all.
///
/// A quarter never changes, a quarter changes many times a day, the rest in weeks and days: as with the web's pages of CGM03
/// figure 17, what can be kept fresh lies between what needs no visit and what no visit helps.
pub(super) const SITES: [Site; 11] = [
    Site { name: "almanac", share: 24, habit: Habit::Never, validator: Validator::Tag, ..PLAIN },
    Site { name: "wiki", share: 16, validator: Validator::Tag, ..PLAIN },
    Site { name: "shop", share: 10, habit: Habit::Bursts, per_day: (0.1, 1.0), has_clock: true, ..PLAIN },
    Site { name: "forum", share: 10, shape: Shape::Scroll, per_day: (0.2, 4.0), has_clock: true, ..PLAIN },
    Site {
        name: "news",
        share: 14,
        habit: Habit::Daytime,
        shape: Shape::Scroll,
        per_day: (4.0, 24.0),
        validator: Validator::Date,
        ..PLAIN
    },
    Site { name: "ticker", share: 12, per_day: (24.0, 96.0), ..PLAIN },
    Site { name: "offers", share: 4, shape: Shape::Revert, per_day: (0.1, 2.0), has_clock: true, ..PLAIN },
    Site { name: "faulty", share: 3, faults: 0.15, ..PLAIN },
    Site { name: "vanishing", share: 2, vanishing: 0.6, validator: Validator::Date, ..PLAIN },
    Site { name: "slow", share: 2, delay: Duration::from_millis(25), ..PLAIN },
    Site {
        name: "patient",
        share: 3,
        per_day: (0.05, 1.0),
        crawl_delay_s: Some(600.0),
        forbids_one_of: 8,
        validator: Validator::Tag,
        ..PLAIN
    },
];
