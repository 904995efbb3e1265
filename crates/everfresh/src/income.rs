//! Net income: what visits are worth when each costs real money (RN15).
//!
//! A copy that is right earns a benefit B per time and a visit costs C. Visited every I, a page with the decay curve
//! `1 - D` has the net income `B (1 - area(I)/I) - C/I` per time (RN15 equation 3), which is largest where
//! `B U(I) = C`: the law with the real cost as the price. A page with `B sup U <= C` is *futile*: no visit ever pays.
//! The resources that a business needs are the sum over its pages; running on a fixed budget instead loses income.

use crate::curve::DivergenceCurve;
use crate::error::{Error, Result, magnitude, positive};
use crate::numeric::Sum;
use crate::plan::{Demand, Response, spend};
use crate::units::{Frequency, Period, Unit};

/// A page with what a right copy of it earns and what a visit to it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asset<C> {
    curve: C,
    benefit: f64,
    cost: f64,
}

/// The best that can be had from a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optimum {
    /// The best period; never for a futile page and for a static one.
    pub period: Period,
    /// Visits per time.
    pub frequency: Frequency,
    /// The share of time that the copy is right.
    pub freshness: f64,
    /// Benefit less cost, per second.
    pub net_income_per_second: f64,
    /// What one visit earns at most, `B sup U`: futile if that does not exceed the cost.
    pub most_per_visit: f64,
}

impl Optimum {
    /// Is no visit worth its cost? A copy that is always right without one is not futile.
    pub fn is_futile(&self) -> bool {
        self.period == Period::NEVER && self.freshness < 1.0
    }
}

impl<C: DivergenceCurve> Asset<C> {
    /// A page that earns `benefit` per `per` while its copy is right, and costs `cost` per visit; both positive.
    ///
    /// ```
    /// use everfresh::Unit;
    /// use everfresh::curve::Linear;
    /// use everfresh::income::Asset;
    /// // RN15 section 1: page A is outdated within ten days, benefit 1 a day, cost 1: a visit every 4.5 days.
    /// let page = Asset::new(Linear::new("1/10days".parse()?), 1.0, Unit::Day, 1.0)?;
    /// let best = page.optimum();
    /// assert!((best.period.days() - 4.47).abs() < 0.005);
    /// assert!((10.0 * best.net_income_per_second * Unit::Day.seconds() - 5.53).abs() < 0.005);
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn new(curve: C, benefit: f64, per: Unit, cost: f64) -> Result<Self> {
        let benefit = magnitude("benefit per second", positive("benefit", benefit)? / per.seconds())?;
        Ok(Asset { curve, benefit, cost: magnitude("cost", cost)? })
    }

    /// The curve of the page.
    pub const fn curve(&self) -> &C {
        &self.curve
    }

    /// The share of time that the copy is right when visited every `period`.
    pub fn freshness(&self, period: Period) -> f64 {
        self.curve.mean_freshness(period)
    }

    /// Benefit less cost, per second, when visited every `period` (RN15 equation 3).
    pub fn net_income_per_second(&self, period: Period) -> f64 {
        self.benefit * self.freshness(period) - self.cost * period.frequency().per_second()
    }

    /// The period at which the net income is largest, `B U(I) = C` (RN15 equation 6 for exponential decay).
    pub fn optimum(&self) -> Optimum {
        let period = self.curve.period(self.cost / self.benefit);
        Optimum {
            period,
            frequency: period.frequency(),
            freshness: self.freshness(period),
            net_income_per_second: self.net_income_per_second(period),
            most_per_visit: self.benefit * self.curve.ceiling(),
        }
    }
}

/// The benefit per second and per cost of a visit that makes an observed frequency the best: `B/C = 1/U(1/f)`.
///
/// RN15 section 6 asks it of a page that a search engine visits 75 times a day. An error where no benefit explains the
/// frequency: no visits at all; a page that does not diverge in that time; visits so rare that each gains all it can.
///
/// ```
/// use everfresh::curve::Exponential;
/// use everfresh::income::explaining_benefit;
/// use everfresh::{Rate, Unit};
/// let page = Exponential::new(Rate::from_half_life("1day".parse()?)?);
/// let per_day = explaining_benefit(&page, "75/day".parse()?)? * Unit::Day.seconds();
/// assert_eq!(per_day.round(), 16_331.0);
/// # Ok::<(), everfresh::Error>(())
/// ```
pub fn explaining_benefit(curve: &impl DivergenceCurve, frequency: Frequency) -> Result<f64> {
    positive("observed frequency", frequency.per_second())?;
    let utility = curve.utility(frequency.period());
    let refuse =
        |why: &str| Err(Error::Inconsistent(format!("no benefit makes {frequency} the best frequency: {why}")));
    if utility.recip().is_infinite() {
        return refuse("copy and source do not differ after so short a time");
    }
    if utility >= curve.ceiling() {
        return refuse("so late a visit gains no more than a later one, so that none at all is better");
    }
    Ok(utility.recip())
}

/// What a population of pages earns, visited in some way.
#[derive(Clone, Debug)]
pub struct Income {
    /// Visits per time to each page.
    pub frequencies: Vec<Frequency>,
    /// Visits per time to all pages: the resources it needs.
    pub visits: Frequency,
    /// Cost per second.
    pub spending_per_second: f64,
    /// Benefit less cost, per second.
    pub net_income_per_second: f64,
}

impl Income {
    /// The share of this income that is lost by having `other` instead; nothing where there is no income to lose.
    pub fn loss_with(&self, other: &Income) -> Option<f64> {
        let best = self.net_income_per_second;
        (best > 0.0).then(|| 1.0 - other.net_income_per_second / best)
    }
}

/// Many pages of one business.
#[derive(Clone, Debug)]
pub struct Population<C> {
    assets: Vec<Asset<C>>,
}

impl<C: DivergenceCurve> Population<C> {
    /// A population of at least one page.
    pub fn new(assets: Vec<Asset<C>>) -> Result<Self> {
        if assets.is_empty() {
            return Err(Error::Empty("a population must have at least one page"));
        }
        Ok(Population { assets })
    }

    /// The pages.
    pub fn assets(&self) -> &[Asset<C>] {
        &self.assets
    }

    /// Every page at its own optimum: the long-term best, and the resources that it takes.
    pub fn optimum(&self) -> Income {
        self.visited(self.assets.iter().map(|asset| asset.optimum().frequency).collect())
    }

    /// Every page at the same frequency.
    pub fn at_frequency(&self, frequency: Frequency) -> Income {
        self.visited(vec![frequency; self.assets.len()])
    }

    /// A fixed budget of cost per `per`, spent in the best way (the short-term optimum, CGM03).
    ///
    /// It is spent whole, but for curves that start level: there visits beyond some frequency gain nothing.
    pub fn on_budget(&self, budget: f64, per: Unit) -> Result<Income> {
        let per_second = magnitude("budget per second", positive("budget", budget)? / per.seconds())?;
        let (_, frequencies) = spend(per_second, self);
        Ok(self.visited(frequencies.into_iter().map(Frequency::raw).collect()))
    }

    /// The share of the best net income that is lost by spending exactly `budget` per `per` instead.
    ///
    /// Nothing where no page is worth a visit: there is no income to lose a share of.
    pub fn loss_on_budget(&self, budget: f64, per: Unit) -> Result<Option<f64>> {
        Ok(self.optimum().loss_with(&self.on_budget(budget, per)?))
    }

    fn visited(&self, frequencies: Vec<Frequency>) -> Income {
        let both = || self.assets.iter().zip(&frequencies);
        Income {
            visits: Frequency::raw(frequencies.iter().map(|f| f.per_second()).collect::<Sum>().value()),
            spending_per_second: both().map(|(asset, f)| asset.cost * f.per_second()).collect::<Sum>().value(),
            net_income_per_second: both().map(|(a, f)| a.net_income_per_second(f.period())).collect::<Sum>().value(),
            frequencies,
        }
    }
}

impl<C: DivergenceCurve> Demand for Population<C> {
    fn len(&self) -> usize {
        self.assets.len()
    }

    fn cost(&self, page: usize) -> f64 {
        self.assets[page].cost
    }

    fn worth(&self, page: usize) -> f64 {
        let asset = &self.assets[page];
        asset.benefit * asset.curve.ceiling() / asset.cost
    }

    /// The mean of prices at which the pages are visited about as often as they change.
    fn start(&self, _budget: f64) -> f64 {
        let scale = |page: usize| match self.worth(page) {
            worth if worth.is_finite() => worth / 2.0,
            _ => self.assets[page].benefit / self.assets[page].cost,
        };
        let wanting: Vec<f64> = (0..self.len()).filter(|&page| self.worth(page) > 0.0).map(scale).collect();
        wanting.iter().copied().collect::<Sum>().value() / wanting.len() as f64
    }

    fn response(&self, page: usize, price: f64) -> Response {
        let asset = &self.assets[page];
        // A gain that underflows would be reached at once, by endless visits.
        let utility = (price * asset.cost / asset.benefit).max(f64::MIN_POSITIVE);
        let period = asset.curve.period(utility);
        if period == Period::NEVER {
            return Response::NEVER;
        }
        // d ln U / d ln t = t² D'/U; the frequency answers with its inverse.
        let elasticity = utility / (period.seconds().powi(2) * asset.curve.slope(period));
        Response { frequency: period.frequency().per_second(), elasticity }
    }
}
