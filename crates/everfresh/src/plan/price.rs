use crate::error::{Result, magnitude, positive, within};
use crate::numeric::{Evaluation, Sum, solve};
use crate::order::Objective;
use crate::units::Unit;
use std::ops::{Bound, Range};

/// Where the price of a visit comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price(Origin);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Origin {
    Given { value: f64, unit: Unit },
    Budget { per_second: f64 },
}

impl Price {
    /// A price set by an administrator (OP08 section 4.4): a visit must gain `value` times weight times `unit` per cost
    /// (times `unit` squared for age). Positive and finite.
    pub fn given(value: f64, unit: Unit) -> Result<Self> {
        // Twice the magnitude: a price may be a squared time.
        within(
            "price in seconds",
            positive("price", value)? * unit.seconds(),
            Bound::Included(1e-40),
            Bound::Included(1e40),
            "between 1e-40 and 1e40",
        )?;
        Ok(Price(Origin::Given { value, unit }))
    }

    /// The price that spends exactly `amount` of cost per `unit` (with all costs 1: visits). Positive and finite.
    pub fn for_budget(amount: f64, unit: Unit) -> Result<Self> {
        let per_second = positive("budget", amount)? / unit.seconds();
        Ok(Price(Origin::Budget { per_second: magnitude("budget per second", per_second)? }))
    }

    /// The real cost of a visit (RN15), where weights are benefits per `per`: a visit of cost 1 really costs `cost`.
    pub fn for_cost(cost: f64, per: Unit) -> Result<Self> {
        Ok(Price(Origin::Given { value: magnitude("cost of a visit", cost)?, unit: per }))
    }

    /// The budget in cost per second, if it comes from one.
    pub const fn budget_per_second(&self) -> Option<f64> {
        match self.0 {
            Origin::Given { .. } => None,
            Origin::Budget { per_second } => Some(per_second),
        }
    }

    /// The same per second: a price in weight x seconds (squared for age), or a budget per second.
    pub(crate) fn in_seconds(self, objective: Objective) -> Funding {
        match self.0 {
            Origin::Given { value, unit } => Funding::Price(value * unit.seconds().powi(objective.time_power())),
            Origin::Budget { per_second } => Funding::Budget(per_second),
        }
    }
}

/// What pays for the visits, in seconds.
pub(crate) enum Funding {
    Price(f64),
    Budget(f64),
}

/// How often a page is visited at a price.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    /// Visits per second.
    pub frequency: f64,
    /// `-d ln f / d ln T`.
    pub elasticity: f64,
}

impl Response {
    pub(crate) const NEVER: Response = Response { frequency: 0.0, elasticity: 0.0 };
}

/// Pages that want visits, the fewer the higher the price.
pub(crate) trait Demand {
    fn len(&self) -> usize;
    /// What one visit to the page costs.
    fn cost(&self, page: usize) -> f64;
    /// The price from which on the page is not visited; 0 if it never is.
    fn worth(&self, page: usize) -> f64;
    /// About the price at which the budget is spent: where the search starts. Some page is worth a visit.
    fn start(&self, budget: f64) -> f64;
    fn response(&self, page: usize, price: f64) -> Response;

    /// What the pages of a range spend at a price, and how much less of it per ln price.
    fn spending_of(&self, pages: Range<usize>, price: f64) -> Spending {
        let mut spending = Spending::default();
        for page in pages {
            let Response { frequency, elasticity } = self.response(page, price);
            spending.spent.add(self.cost(page) * frequency);
            spending.fall.add(self.cost(page) * frequency * elasticity);
        }
        spending
    }

    /// The same for all pages.
    fn spending(&self, price: f64) -> Spending {
        self.spending_of(0..self.len(), price)
    }
}

/// What is spent, and how much less of it per ln price.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spending {
    pub spent: Sum,
    pub fall: Sum,
}

/// The price at which the demand spends the budget, and the frequencies there, exact to the last places.
pub(crate) fn spend(budget: f64, demand: &impl Demand) -> (f64, Vec<f64>) {
    let frequency = |page: usize, price: f64| demand.response(page, price).frequency;
    if (0..demand.len()).all(|page| demand.worth(page) == 0.0) {
        return (0.0, (0..demand.len()).map(|page| frequency(page, 1.0)).collect());
    }
    let blend = Blend::spending(budget, demand.start(budget), |price| {
        let Spending { spent, fall } = demand.spending(price);
        (spent.value(), fall.value())
    });
    (blend.price, (0..demand.len()).map(|page| blend.mix(|price| frequency(page, price))).collect())
}

/// A price that spends a budget to the last place.
///
/// Spending falls from infinity to nothing as the price rises, so one number solves for all pages. It falls steeply just
/// below the price at which a page is given up (its frequency there is `λ / -ln(1 - T/T_max)`), so steeply that
/// neighbouring prices in floating point may spend very different sums. What is left open between two prices
/// that differ in the last places is settled by blending their frequencies: all of them are equally good there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Blend {
    /// The price: 0 where not all of the budget can be spent, infinite where all of it is promised.
    pub price: f64,
    /// Of the frequencies at the prices `low` and `high`, `share` of the first and the rest of the second.
    low: f64,
    high: f64,
    share: f64,
}

impl Blend {
    /// Exactly at a price.
    pub(crate) const fn at(price: f64) -> Self {
        Blend { price, low: price, high: price, share: 1.0 }
    }

    /// The price at which `budget` is spent, near `start`; `spending` gives what is spent and how much less per ln price.
    pub(crate) fn spending(budget: f64, start: f64, spending: impl Fn(f64) -> (f64, f64)) -> Self {
        Blend::spending_within(1e-13, budget, start, spending)
    }

    /// The same where one price is as good as two that spend the budget to such a share.
    pub(crate) fn spending_within(
        tolerance: f64,
        budget: f64,
        start: f64,
        spending: impl Fn(f64) -> (f64, f64),
    ) -> Self {
        let price = solve(budget.recip(), start, |price| {
            let (spent, fall) = spending(price);
            Evaluation { value: spent.recip(), elasticity: fall / spent }
        });
        // Curves that start level gain nothing from visits beyond some frequency, and minimum periods forbid them: then
        // not all of the budget can be spent.
        if price < f64::MIN_POSITIVE {
            // The lowest price at which no gain underflows.
            let lowest =
                (0..60).map(|step| f64::MIN_POSITIVE * 1e10f64.powi(step)).find(|&price| spending(price).0.is_finite());
            return Blend { price: 0.0, ..Blend::at(lowest.unwrap_or(1.0)) };
        }
        // All of it goes into what was promised, or the price is right.
        if price.is_infinite() || (spending(price).0 / budget - 1.0).abs() < tolerance {
            return Blend::at(price);
        }
        Blend::around(price, budget, |price| spending(price).0)
    }

    /// The two prices next to `price` between which something that falls with the price reaches a target, and their shares.
    pub(crate) fn around(price: f64, target: f64, value: impl Fn(f64) -> f64) -> Self {
        let (low, high) = neighbours(price, |price| value(price) >= target);
        let (most, least) = (value(low), value(high));
        Blend { price, low, high, share: (target - least) / (most - least) }
    }

    /// Not all can be spent: the price is 0, and the pages answer as to 1, each at its upper bound.
    pub(crate) const fn unspent() -> Self {
        Blend { price: 0.0, ..Blend::at(1.0) }
    }

    /// Is it one price, with nothing to mix?
    pub(crate) fn is_one(&self) -> bool {
        self.low == self.high
    }

    /// A price at which pages answer as they do here: not 0 where not all can be spent.
    pub(crate) const fn near(&self) -> f64 {
        self.low
    }

    /// The same in a unit that is smaller by `factor`.
    pub(crate) fn times(&self, factor: f64) -> Self {
        Blend { price: self.price * factor, low: self.low * factor, high: self.high * factor, ..*self }
    }

    /// The two prices that are blended.
    pub(crate) const fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// What lies between the answers to the lower and the higher price.
    pub(crate) fn between(&self, more: f64, less: f64) -> f64 {
        less + self.share * (more - less)
    }

    /// What a page answers to the price.
    #[inline(always)]
    pub(crate) fn mix(&self, answer: impl Fn(f64) -> f64) -> f64 {
        let more = answer(self.low);
        if self.is_one() {
            return more;
        }
        // A rare call, made indirect so that the one above is inlined.
        let answer: &dyn Fn(f64) -> f64 = &answer;
        self.between(more, answer(self.high))
    }
}

/// The closest prices around `price` of which the lower spends enough and the higher not.
///
/// The root is right to the last places, so a few doublings of the last place reach beyond it; sixty reach everything.
fn neighbours(price: f64, enough: impl Fn(f64) -> bool) -> (f64, f64) {
    let steps = || (0..60).map(|doublings| f64::EPSILON * f64::from(doublings).exp2());
    let low = steps().map(|step| price / (1.0 + step)).find(|&low| enough(low)).unwrap_or(0.0);
    let high = steps().map(|step| price * (1.0 + step)).find(|&high| !enough(high)).unwrap_or(f64::INFINITY);
    (low, high)
}
