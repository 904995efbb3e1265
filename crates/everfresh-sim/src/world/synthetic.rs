use super::{Layout, Page, Process, Source, World, stream};
use everfresh::longevity::{Region, Regions};
use everfresh::policy::About;
use everfresh::{Rate, Unit};
use rand::RngExt;
use rand_distr::{Distribution, Gamma, LogNormal};
use rand_xoshiro::SplitMix64;
use std::f64::consts::TAU;
use std::sync::Arc;

/// How rates differ between pages; all have about one change in ten days in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// All alike.
    Constant,
    /// CGM99 section 5.1, with shape 0.5.
    Gamma,
    /// Of standard deviation 2 in the logarithm.
    Lognormal,
    /// Anything from one change in three years to ten a day.
    LogUniform,
    /// CGM03 table VII: mean intervals of 1, 7, 30, 120 and 365 days.
    FiveClasses,
}

/// How weights differ between pages; their mean is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// All alike.
    Uniform,
    /// By rank, drawn at random: `1/rank`.
    Zipf,
    /// By rank, pages that change often first.
    ZipfByRate,
}

/// How pages of a synthetic world change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Poisson.
    Poisson,
    /// In bursts.
    Bursty,
    /// By the hour of the day and the day of the week.
    Periodic,
    /// At rates that change.
    Drifting,
    /// Poisson, with pages that appear and vanish.
    Mortal,
    /// In regions (OP08).
    Regions,
    /// In regions of text.
    Text,
}

impl Habit {
    /// Its name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Habit::Poisson => "poisson",
            Habit::Bursty => "bursty",
            Habit::Periodic => "periodic",
            Habit::Drifting => "drifting",
            Habit::Mortal => "mortal",
            Habit::Regions => "regions",
            Habit::Text => "text",
        }
    }
}

/// A synthetic world, described.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synthetic {
    /// How many pages.
    pub pages: usize,
    /// How rates differ.
    pub rates: Rates,
    /// How weights differ.
    pub weights: Weights,
    /// How pages change.
    pub habit: Habit,
    /// How long the world lasts, in seconds: what births and deaths go by.
    pub duration_s: f64,
    /// The seed of everything.
    pub seed: u64,
}

const DAY: f64 = 86_400.0;

impl Rates {
    /// Its name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Rates::Constant => "constant",
            Rates::Gamma => "gamma",
            Rates::Lognormal => "lognormal",
            Rates::LogUniform => "log-uniform",
            Rates::FiveClasses => "five-classes",
        }
    }

    /// All of them.
    pub const ALL: [Rates; 5] =
        [Rates::Constant, Rates::Gamma, Rates::Lognormal, Rates::LogUniform, Rates::FiveClasses];

    /// A rate per second.
    fn draw(self, rng: &mut SplitMix64) -> f64 {
        let per_day = match self {
            Rates::Constant => 0.1,
            Rates::Gamma => Gamma::new(0.5, 0.2).map_or(0.1, |gamma| gamma.sample(rng)),
            Rates::Lognormal => LogNormal::new(0.1f64.ln(), 2.0).map_or(0.1, |normal| normal.sample(rng)),
            Rates::LogUniform => 1e-3 * 1e4f64.powf(rng.random()),
            Rates::FiveClasses => {
                let share: f64 = rng.random();
                // The shares of CGM03 figure 17, overall.
                match share {
                    s if s < 0.23 => 1.0,
                    s if s < 0.38 => 1.0 / 7.0,
                    s if s < 0.54 => 1.0 / 30.0,
                    s if s < 0.70 => 1.0 / 120.0,
                    _ => 1.0 / 365.0,
                }
            }
        };
        // Beyond a change a second there is nothing to keep fresh.
        per_day.clamp(1e-9, DAY) / DAY
    }
}

impl Synthetic {
    /// Makes the world.
    pub fn build(&self) -> World {
        let mut pages: Vec<Page> = (0..self.pages as u64).map(|key| self.page(key)).collect();
        self.weigh(&mut pages);
        World::new(format!("{} {}", self.rates.name(), self.habit.name()), pages)
    }

    fn page(&self, key: u64) -> Page {
        let mut rng = stream(self.seed, key, 2);
        let rate = self.rates.draw(&mut rng);
        let (born_s, dies_s) = self.life(&mut rng);
        let source = self.source(rate, &mut rng);
        let rate = match &source {
            Source::Regions(layout) => layout.rate(),
            Source::Text(regions) => regions.regions().iter().map(|region| region.rate().per_second()).sum(),
            _ => rate,
        };
        let about = About::new(Rate::per(rate, Unit::Second).unwrap_or(Rate::STATIC));
        Page { key, about, host: 0, born_s, dies_s, source }
    }

    fn life(&self, rng: &mut SplitMix64) -> (f64, f64) {
        if self.habit != Habit::Mortal {
            return (0.0, f64::INFINITY);
        }
        // Half the pages are there from the start; a page lives for half the world's time on average.
        let born = (rng.random::<f64>() * 2.0 - 1.0).max(0.0) * self.duration_s;
        let life = -rng.random::<f64>().ln() * self.duration_s / 2.0;
        (born, born + life)
    }

    fn source(&self, rate: f64, rng: &mut SplitMix64) -> Source {
        let process = match self.habit {
            Habit::Poisson | Habit::Mortal => Process::Poisson { rate },
            Habit::Bursty => Process::Bursty {
                // A tenth of the time busy, with nine tenths of the changes; a burst is about five changes.
                busy: 9.0 * rate,
                quiet: rate / 9.0,
                tire: 9.0 * rate / 5.0,
                wake: rate / 5.0,
                is_busy: false,
                until_s: f64::NAN,
            },
            Habit::Periodic => {
                let cycle_s = if rng.random::<bool>() { DAY } else { 7.0 * DAY };
                Process::Periodic { rate, depth: 0.9, cycle_s, phase: TAU * rng.random::<f64>() }
            }
            Habit::Drifting => {
                Process::Drifting { middle: rate, sigma: 1.5, breaks: 1.0 / (120.0 * DAY), rate, until_s: f64::NAN }
            }
            Habit::Regions => return Source::Regions(Arc::new(layout(rate, rng))),
            Habit::Text => {
                let regions = regions(&layout(rate, rng));
                return regions
                    .map_or(Source::Whole(Process::Poisson { rate }), |regions| Source::Text(Arc::new(regions)));
            }
        };
        Source::Whole(process)
    }

    fn weigh(&self, pages: &mut [Page]) {
        if self.weights == Weights::Uniform || pages.is_empty() {
            return;
        }
        let mut order: Vec<usize> = (0..pages.len()).collect();
        if self.weights == Weights::ZipfByRate {
            order.sort_by(|a, b| pages[*b].about.rate.per_second().total_cmp(&pages[*a].about.rate.per_second()));
        } else {
            order.sort_by_cached_key(|index| stream(self.seed, *index as u64, 3).random::<u64>());
        }
        let whole: f64 = (1..=pages.len()).map(|rank| 1.0 / rank as f64).sum();
        for (rank, index) in order.into_iter().enumerate() {
            pages[index].about.weight = pages.len() as f64 / whole / (rank + 1) as f64;
        }
    }
}

/// The same page as shares of a text.
fn regions(layout: &Layout) -> everfresh::Result<Regions> {
    let (churn, list) = (f64::from(layout.churn), f64::from(layout.items * layout.item));
    let whole = f64::from(layout.fixed) + churn + list;
    let rate = |per_second: f64| Rate::per(per_second, Unit::Second);
    let mut regions = Vec::new();
    if layout.churn > 0 {
        regions.push(Region::churn(churn / whole, rate(layout.churn_rate)?)?);
    }
    if layout.items > 0 {
        regions.push(Region::scroll(list / whole, rate(layout.scroll_rate)?, layout.items)?);
    }
    Regions::new(&regions)
}

/// A page of OP08's kinds: a third static but for a corner, a third mostly churn, a third a list that scrolls.
fn layout(rate: f64, rng: &mut SplitMix64) -> Layout {
    let kind: f64 = rng.random();
    let base = Layout { fixed: 24, churn_rate: 4.0 * rate, scroll_rate: rate, ..Layout::default() };
    if kind < 1.0 / 3.0 {
        Layout { churn: 4, ..base }
    } else if kind < 2.0 / 3.0 {
        Layout { fixed: 8, churn: 24, ..base }
    } else {
        Layout { fixed: 8, churn: 2, items: [5, 10, 20][rng.random_range(0..3)], item: 2, ..base }
    }
}
