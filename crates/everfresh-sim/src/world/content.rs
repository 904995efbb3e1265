use everfresh::longevity::jaccard_distance;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::SplitMix64;
use std::collections::VecDeque;
use std::sync::Arc;

/// A page made of regions (OP08 section 3.3): static text, text that is overwritten, a list that scrolls. Rates per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// The fragments that stay.
    pub fixed: u32,
    /// The fragments that every change of this region replaces.
    pub churn: u32,
    /// How often it does.
    pub churn_rate: f64,
    /// The items of the list, K.
    pub items: u32,
    /// The fragments of an item.
    pub item: u32,
    /// How often an item is added and the oldest dropped.
    pub scroll_rate: f64,
}

impl Layout {
    /// How often anything changes.
    pub fn rate(&self) -> f64 {
        let churn = if self.churn > 0 { self.churn_rate } else { 0.0 };
        let scroll = if self.items > 0 { self.scroll_rate } else { 0.0 };
        churn + scroll
    }
}

/// A page of regions and its copy.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    layout: Arc<Layout>,
    rng: SplitMix64,
    next_s: f64,
    fixed: Vec<u64>,
    churn: Vec<u64>,
    items: VecDeque<Vec<u64>>,
    now: Vec<u64>,
    copy: Vec<u64>,
}

fn draw(rng: &mut impl Rng, number: u32) -> Vec<u64> {
    (0..number).map(|_| rng.random()).collect()
}

impl Content {
    pub(crate) fn new(layout: &Arc<Layout>, born_s: f64, mut rng: SplitMix64) -> Content {
        let fixed = draw(&mut rng, layout.fixed);
        let churn = draw(&mut rng, layout.churn);
        let items = (0..layout.items).map(|_| draw(&mut rng, layout.item)).collect();
        let layout = Arc::clone(layout);
        let (next_s, now, copy) = (born_s, Vec::new(), Vec::new());
        let mut content = Content { layout, rng, next_s, fixed, churn, items, now, copy };
        content.gather();
        content.copy();
        content.wait();
        content
    }

    fn wait(&mut self) {
        let rate = self.layout.rate();
        let unit: f64 = Exp1.sample(&mut self.rng);
        self.next_s += if rate > 0.0 { unit / rate } else { f64::INFINITY };
    }

    fn gather(&mut self) {
        self.now.clear();
        self.now.extend(self.fixed.iter().chain(&self.churn).chain(self.items.iter().flatten()));
        self.now.sort_unstable();
    }

    pub(crate) const fn next_s(&self) -> f64 {
        self.next_s
    }

    pub(crate) fn change(&mut self) {
        let scrolls = if self.layout.items > 0 { self.layout.scroll_rate } else { 0.0 };
        if self.rng.random::<f64>() * self.layout.rate() < scrolls {
            self.items.pop_front();
            let item = draw(&mut self.rng, self.layout.item);
            self.items.push_back(item);
        } else {
            self.churn = draw(&mut self.rng, self.layout.churn);
        }
        self.gather();
        self.wait();
    }

    pub(crate) fn copy(&mut self) {
        self.copy.clone_from(&self.now);
    }

    pub(crate) fn divergence(&self) -> f64 {
        jaccard_distance(&self.now, &self.copy)
    }

    pub(crate) fn fragments(&self) -> &[u64] {
        &self.now
    }
}
