//! Plans: which page is visited how often, and what that gives.
//!
//! A plan is a value without dates, made from pages (rate, weight, cost) on [`Terms`]: an [`Objective`], an [`Order`], an
//! [`Allocation`] and a [`Price`]. The optimal allocation is the law: every page is visited at the frequency where its
//! weight times the utility of one more visit equals the price times the cost of a visit (CGM03 problem 5.3, theorem
//! 6.3). With `y = T c λ^p / w`, p = 1 (2 for age), and u the utility of [`Order::utility`]:
//!
//! `f = λ / u^-1(y)`, and never where y reaches the ceiling of u: the page is given up.

mod price;
pub mod stream;

use price::Funding;
pub use price::Price;
pub(crate) use price::{Demand, Response, Spending, spend};
use rayon::prelude::*;

use crate::error::{Error, Result, magnitude, magnitude_or_zero};
use crate::numeric::{Evaluation, Sum, solve};
use crate::order::{Objective, Order};
use crate::units::{Frequency, Period, Rate};

/// A page as a plan sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    rate: Rate,
    weight: f64,
    cost: f64,
    min_period: Period,
    max_period: Period,
}

impl Page {
    /// A page that changes at `rate`, of weight 1 and visit cost 1.
    pub const fn new(rate: Rate) -> Self {
        Page { rate, weight: 1.0, cost: 1.0, min_period: Period::ZERO, max_period: Period::NEVER }
    }

    /// The same page with bounds on the time between visits: at least `min_period` (zero: any), at most `max_period`
    /// (never: any). The maximum is a promise: it is kept even where no visit is worth its price.
    ///
    /// The bounds lie inside the optimum: what they free or bind is shared out again among the other pages.
    pub fn with_periods(self, min_period: Period, max_period: Period) -> Result<Self> {
        if min_period > max_period {
            return Err(Error::Inconsistent(format!(
                "minimum period must not exceed the maximum period, got {min_period} and {max_period}"
            )));
        }
        for (what, seconds) in
            [("minimum period in seconds", min_period.seconds()), ("maximum period in seconds", max_period.seconds())]
        {
            if seconds > 0.0 && seconds.is_finite() {
                magnitude(what, seconds)?;
            }
        }
        if max_period == Period::ZERO {
            return Err(Error::OutOfBounds { what: "maximum period", bound: "positive", value: 0.0 });
        }
        Ok(Page { min_period, max_period, ..self })
    }

    /// A frequency kept within the bounds of the page.
    fn bounded(&self, per_second: f64) -> f64 {
        per_second.clamp(self.max_period.frequency().per_second(), self.min_period.frequency().per_second())
    }

    /// The same page with another weight (importance, or benefit per time): 0, or between 1e-20 and 1e20.
    pub fn with_weight(self, weight: f64) -> Result<Self> {
        Ok(Page { weight: magnitude_or_zero("weight", weight)?, ..self })
    }

    /// The same page with another cost of one visit: between 1e-20 and 1e20.
    pub fn with_cost(self, cost: f64) -> Result<Self> {
        Ok(Page { cost: magnitude("cost", cost)?, ..self })
    }

    /// λ, how often it changes.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// w, its importance or benefit per time.
    pub const fn weight(&self) -> f64 {
        self.weight
    }

    /// c, what one visit costs.
    pub const fn cost(&self) -> f64 {
        self.cost
    }

    /// The shortest time between two visits; zero for any.
    pub const fn min_period(&self) -> Period {
        self.min_period
    }

    /// The longest time between two visits; never for any.
    pub const fn max_period(&self) -> Period {
        self.max_period
    }

    /// `c λ^p / w`: times the price it is the utility at which the page is visited (in the unit of [`Order::utility`]).
    ///
    /// It is all that the price of a plan needs to know of a page. Infinite for a page without weight.
    pub fn resistance(&self, objective: Objective) -> f64 {
        self.cost * self.rate.per_second().powi(objective.time_power()) / self.weight
    }

    /// What a visit gains at most per cost: the price at which the page is given up.
    fn worth(&self, objective: Objective) -> f64 {
        if self.is_out() { 0.0 } else { objective.ceiling() / self.resistance(objective) }
    }

    /// Nothing can be gained by a visit: it does not change, or it does not count.
    fn is_out(&self) -> bool {
        self.rate == Rate::STATIC || self.weight == 0.0
    }
}

/// How the visits are shared out (CGM03 section 3, item 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocation {
    /// Every page that changes equally often.
    Uniform,
    /// Every page in proportion to its rate.
    Proportional,
    /// So that no exchange of visits between pages improves the objective.
    Optimal,
}

impl Allocation {
    /// Every allocation.
    pub const ALL: [Allocation; 3] = [Allocation::Uniform, Allocation::Proportional, Allocation::Optimal];
}

/// Why a page is visited, or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// It is visited.
    Visited,
    /// It does not change: always fresh without a visit.
    Static,
    /// It has no weight: nothing is gained by a visit.
    Weightless,
    /// A visit gains at most `worth` per cost, which does not exceed the price: given up (CGM03: penalised; RN15: futile).
    TooExpensive {
        /// The price below which it would be visited, in the unit of [`Plan::price`].
        worth: f64,
    },
    /// Nothing is spent at all.
    NothingSpent,
    /// Visited as seldom as its maximum period allows: that promise binds.
    AtMaxPeriod,
    /// Visited as often as its minimum period allows: without it there would be more visits.
    AtMinPeriod,
    /// Visited as often as the even share of the floor demands: by its rate and weight it would be less.
    AtFloor,
    /// Its host is at its cap, and has a higher price than the plan: without the cap there would be more visits.
    AtHostCap,
}

/// What a plan says of one page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// f, how often it is visited.
    pub frequency: Frequency,
    /// The share of time that its copy is fresh.
    pub freshness: f64,
    /// The mean age of its copy; never (infinite) for a page that changes and is not visited.
    pub age: Period,
    /// Why.
    pub reason: Reason,
}

/// On which terms a plan is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// What the plan makes large or small.
    pub objective: Objective,
    /// The order of visits that it assumes.
    pub order: Order,
    /// How it shares out the visits.
    pub allocation: Allocation,
    /// What pays for them.
    pub price: Price,
}

impl Terms {
    /// The optimal allocation for freshness under fixed order.
    pub const fn new(price: Price) -> Self {
        Terms { objective: Objective::Freshness, order: Order::Fixed, allocation: Allocation::Optimal, price }
    }
}

/// Which page is visited how often, and what that gives.
#[derive(Clone, Debug)]
pub struct Plan {
    terms: Terms,
    price: Option<f64>,
    entries: Vec<Entry>,
    totals: Totals,
}

/// The sums and means of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// Visits per time, over all pages.
    pub visits: Frequency,
    /// Cost per second, over all pages.
    pub spending_per_second: f64,
    /// The weighted mean freshness.
    pub freshness: f64,
    /// The weighted mean age: infinite where a page with weight changes and is not visited.
    pub age: Period,
    /// The same without the pages that are given up; nothing where no page with weight is left.
    pub kept: Option<Kept>,
    /// The weighted mean harmonic penalty: infinite like the age.
    pub harmonic: f64,
    /// The sum of the weights.
    pub weight: f64,
}

/// The pages of a plan that are visited or static.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// Their weighted mean age.
    pub age: Period,
    /// The share of all weight that they hold.
    pub weight_share: f64,
}

impl Plan {
    /// Makes the plan.
    ///
    /// Under the uniform and the proportional allocation a price or a cost stands for the budget that the optimum would
    /// spend at it, so that allocations are compared at the same spending.
    ///
    /// # Errors
    ///
    /// No pages; no weight on any of them; maximum periods that cost more than the budget.
    pub fn new(pages: &[Page], terms: Terms) -> Result<Self> {
        if pages.is_empty() {
            return Err(Error::Empty("cannot plan: there are no pages"));
        }
        if pages.iter().all(|page| page.weight == 0.0) {
            return Err(Error::Empty("cannot plan: all weights are zero"));
        }
        let Terms { objective, order, allocation, .. } = terms;
        let demand = ExponentialPages { pages, objective, order };
        demand.check_promises(terms.price)?;
        let (price, frequencies) = match allocation {
            Allocation::Optimal => {
                let (price, frequencies) = demand.answer(terms.price);
                (Some(price), frequencies)
            }
            Allocation::Uniform => (None, in_proportion(pages, demand.budget(terms.price), |_| 1.0)),
            Allocation::Proportional => {
                (None, in_proportion(pages, demand.budget(terms.price), |page| page.rate.per_second()))
            }
        };
        let entries: Vec<Entry> = pages
            .iter()
            .zip(&frequencies)
            .map(|(page, &f)| entry(page, objective, order, Frequency::raw(f), price))
            .collect();
        let totals = totals(pages, &entries, order);
        Ok(Plan { terms, price, entries, totals })
    }

    /// The terms on which it was made.
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// T, the price of a visit: what a visit must gain per cost, in weight x seconds (x seconds squared for age).
    ///
    /// Only an optimal plan has one: under the others visits are made at very different gains.
    pub const fn price(&self) -> Option<f64> {
        self.price
    }

    /// What it says of each page, in the order of the pages.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Its sums and means.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }
}

/// Pages with exponential sources, as a demand for visits.
struct ExponentialPages<'a> {
    pages: &'a [Page],
    objective: Objective,
    order: Order,
}

impl ExponentialPages<'_> {
    /// The optimal frequencies at a price, or at the price that spends a budget.
    fn answer(&self, price: Price) -> (f64, Vec<f64>) {
        match price.in_seconds(self.objective) {
            Funding::Price(price) => {
                (price, (0..self.len()).map(|page| self.response(page, price).frequency).collect())
            }
            Funding::Budget(per_second) => spend(per_second, self),
        }
    }

    /// The maximum periods must not cost more than the budget, if there is one.
    fn check_promises(&self, price: Price) -> Result<()> {
        let Funding::Budget(budget_per_second) = price.in_seconds(self.objective) else { return Ok(()) };
        let promised = self.pages.iter().map(|page| page.cost * page.bounded(0.0));
        let needed_per_second = promised.collect::<Sum>().value();
        if needed_per_second > budget_per_second * (1.0 + 1e-12) {
            return Err(Error::Infeasible { needed_per_second, budget_per_second, with_floor: false });
        }
        Ok(())
    }

    /// Cost per second: as given, or what the optimum spends at the price.
    fn budget(&self, price: Price) -> f64 {
        match price.in_seconds(self.objective) {
            Funding::Budget(per_second) => per_second,
            Funding::Price(price) => self.spending(price).spent.value(),
        }
    }
}

impl Demand for ExponentialPages<'_> {
    fn len(&self) -> usize {
        self.pages.len()
    }

    fn cost(&self, page: usize) -> f64 {
        self.pages[page].cost
    }

    fn worth(&self, page: usize) -> f64 {
        self.pages[page].worth(self.objective)
    }

    /// For many pages the price of a sample; for few the mean price at which a page is visited about as often as it changes.
    fn start(&self, budget: f64) -> f64 {
        if self.len() < 10_000 {
            let wanting = self.pages.iter().filter(|page| !page.is_out());
            let scales: Vec<f64> = wanting.map(|page| page.resistance(self.objective).recip()).collect();
            return scales.iter().copied().collect::<Sum>().value() / scales.len() as f64;
        }
        // Every so many pages, with their share of the budget.
        let some: Vec<Page> = self.pages.iter().step_by(self.len() / 1000).copied().collect();
        let share = some.len() as f64 / self.len() as f64;
        let (price, _) = spend(budget * share, &ExponentialPages { pages: &some, ..*self });
        if price > 0.0 && price.is_finite() { price } else { 1.0 }
    }

    /// In parallel, the chunks added up in their order: the same on any number of threads.
    fn spending(&self, price: f64) -> Spending {
        const CHUNK: usize = 1 << 12;
        let chunk = |i: usize| self.spending_of(i * CHUNK..self.len().min((i + 1) * CHUNK), price);
        let parts: Vec<Spending> = (0..self.len().div_ceil(CHUNK)).into_par_iter().map(chunk).collect();
        let mut whole = Spending::default();
        for part in parts {
            whole.spent.add(part.spent.value());
            whole.fall.add(part.fall.value());
        }
        whole
    }

    fn response(&self, page: usize, price: f64) -> Response {
        let page = &self.pages[page];
        let never = Response { frequency: page.bounded(0.0), elasticity: 0.0 };
        if page.is_out() {
            return never;
        }
        let ratio = self.order.ratio_at_utility(self.objective, price * page.resistance(self.objective));
        if ratio.is_infinite() {
            return never;
        }
        let free = page.rate.per_second() / ratio;
        let frequency = page.bounded(free);
        let elasticity =
            if frequency == free { self.order.utility_elasticity(self.objective, ratio).recip() } else { 0.0 };
        Response { frequency, elasticity }
    }
}

/// Frequencies in proportion to a share, kept within the bounds of the pages, that spend the budget; static pages have no
/// share.
fn in_proportion(pages: &[Page], budget_per_second: f64, share: impl Fn(&Page) -> f64) -> Vec<f64> {
    let share = |page: &Page| if page.rate == Rate::STATIC { 0.0 } else { share(page) };
    let whole = pages.iter().map(|page| page.cost * share(page)).collect::<Sum>().value();
    if whole == 0.0 {
        return pages.iter().map(|page| page.bounded(0.0)).collect();
    }
    // An infinite factor, where not all can be spent, is none to a page without a share.
    let wanted = |page: &Page, factor: f64| if share(page) == 0.0 { 0.0 } else { factor * share(page) };
    // Without bounds this is the factor at once; with them it takes some steps.
    let factor = solve(budget_per_second, budget_per_second / whole, |factor| {
        let mut spent = Sum::default();
        let mut free = Sum::default();
        for page in pages {
            let wanted = wanted(page, factor);
            let frequency = page.bounded(wanted);
            spent.add(page.cost * frequency);
            free.add(if frequency == wanted { page.cost * wanted } else { 0.0 });
        }
        Evaluation { value: spent.value(), elasticity: free.value() / spent.value() }
    });
    pages.iter().map(|page| page.bounded(wanted(page, factor))).collect()
}

fn entry(page: &Page, objective: Objective, order: Order, frequency: Frequency, price: Option<f64>) -> Entry {
    // On a bound, but for the last places of a price.
    let reaches = |f: Frequency, bound: Frequency| f.per_second() >= bound.per_second() * (1.0 - 1e-12);
    let reason = if frequency > Frequency::NEVER && reaches(page.max_period.frequency(), frequency) {
        Reason::AtMaxPeriod
    } else if reaches(frequency, page.min_period.frequency()) {
        Reason::AtMinPeriod
    } else if page.rate == Rate::STATIC {
        Reason::Static
    } else if frequency > Frequency::NEVER {
        Reason::Visited
    } else if page.weight == 0.0 {
        Reason::Weightless
    } else if price.is_some() {
        Reason::TooExpensive { worth: page.worth(objective) }
    } else {
        Reason::NothingSpent
    };
    let age = order.age(page.rate, frequency.period());
    Entry { frequency, freshness: order.freshness(page.rate / frequency), age, reason }
}

fn totals(pages: &[Page], entries: &[Entry], order: Order) -> Totals {
    let weight = pages.iter().map(|page| page.weight).collect::<Sum>().value();
    let both = || pages.iter().zip(entries);
    // A page without weight counts for nothing, not even where its age is infinite.
    let weighted = |value: &dyn Fn(&Page, &Entry) -> f64| {
        let terms = both().filter(|(page, _)| page.weight > 0.0).map(|(page, entry)| page.weight * value(page, entry));
        terms.collect::<Sum>().value()
    };
    let if_kept = |value: f64, entry: &Entry| if entry.age == Period::NEVER { 0.0 } else { value };
    let kept_weight = weighted(&|_, entry| if_kept(1.0, entry));
    let kept_age = weighted(&|_, entry| if_kept(entry.age.seconds(), entry));
    Totals {
        visits: Frequency::raw(entries.iter().map(|entry| entry.frequency.per_second()).collect::<Sum>().value()),
        spending_per_second: both()
            .map(|(page, entry)| page.cost * entry.frequency.per_second())
            .collect::<Sum>()
            .value(),
        freshness: weighted(&|_, entry| entry.freshness) / weight,
        age: Period::raw(weighted(&|_, entry| entry.age.seconds()) / weight),
        kept: (kept_weight > 0.0)
            .then(|| Kept { age: Period::raw(kept_age / kept_weight), weight_share: kept_weight / weight }),
        harmonic: weighted(&|page, entry| order.harmonic(page.rate / entry.frequency)) / weight,
        weight,
    }
}
