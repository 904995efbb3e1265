//! What budgets give under caps of hosts and a floor: a plan for each budget, since which hosts are full and how high the floor is change with it.

use std::cell::Cell;

use anyhow::{Result, anyhow};
use everfresh::plan::stream::{Limits, Outlook, Pages, Point, Solution, Tally};
use everfresh::{Error, Objective, Price, Terms, Unit};

use crate::interrupt;
use crate::plan::FilePages;

/// Tables, what limits their plans, and what they would give without that.
pub(crate) struct Limited<'a> {
    pages: &'a FilePages<'a>,
    limits: &'a Limits,
    outlook: &'a Outlook,
    plans: Cell<usize>,
}

/// A target is reached to such a share of what is stale there (of age, of penalty).
const REACHED: f64 = 1e-9;

/// A budget is not sought further beyond what promises need than by such a factor.
const MOST_BEYOND: f64 = 1e6;

/// Steps of a search: the secant's error is soon the product of the last two.
const MOST_STEPS: usize = 100;

impl<'a> Limited<'a> {
    pub(crate) fn new(pages: &'a FilePages<'a>, limits: &'a Limits, outlook: &'a Outlook) -> Self {
        Limited { pages, limits, outlook, plans: Cell::new(0) }
    }

    /// What a budget, in cost per second, gives; where not all of it can be spent, the best there is.
    pub(crate) fn at_budget(&self, budget: f64) -> Result<Point> {
        self.point(Price::for_budget(budget, Unit::Second)?)
    }

    /// What is given at a price in seconds, squared for age.
    pub(crate) fn at_price(&self, price: f64) -> Result<Point> {
        self.point(Price::given(price, Unit::Second)?)
    }

    fn point(&self, price: Price) -> Result<Point> {
        interrupt::check()?;
        self.plans.set(self.plans.get() + 1);
        let (objective, order) = (self.outlook.objective(), self.outlook.order());
        self.pages.call_pass(&format!("plan {}, finding the price", self.plans.get()));
        let solution = Solution::of(self.pages, Terms { objective, order, ..Terms::new(price) }, self.limits)?;
        self.pages.call_pass(&format!("plan {}, summing up", self.plans.get()));
        let mut tally = Tally::default();
        self.pages.scan(&|columns| Ok(solution.tally(columns)), &mut |part: Tally| tally.merge(&part))?;
        let totals = tally.totals();
        let value = match objective {
            Objective::Freshness => totals.freshness,
            Objective::Age => totals.age.seconds(),
            Objective::Harmonic => totals.harmonic,
        };
        let price = solution.price();
        Ok(Point { price, spending: totals.spending_per_second, value, gain: price / totals.weight })
    }

    /// The least budget that gives a value.
    ///
    /// Limits make plans worse, so it is not below what is enough without them; and as a rule each unit of a budget gains less than the one
    /// before, so a secant through two budgets that are not enough meets the value at one that is no more than enough: the search comes from
    /// one side, in some six plans where halving takes thirty. Where a floor fills a host to its cap that rule has an exception: a budget
    /// that is more than enough bounds the search.
    pub(crate) fn for_value(&self, value: f64) -> Result<Point> {
        let free = self.outlook.for_value(value)?;
        if free.spending == 0.0 {
            // Static pages are enough.
            return Ok(free);
        }
        let (mut budget, mut point) = self.feasible(free.spending)?;
        let mut lack = self.lack(&point, value);
        let (mut slope, mut low, mut enough) = (point.gain, point, None::<Point>);
        for step in 1..=MOST_STEPS {
            let is_first = step == 1;
            if lack.abs() <= REACHED * self.divergence(value) || lack < 0.0 && is_first {
                return Ok(point);
            }
            if lack < 0.0 {
                enough = Some(point);
            } else if point.spending < budget * (1.0 - 1e-9) || slope <= 0.0 {
                return Err(self.out_of_reach(value, &point));
            } else {
                low = point;
            }
            // Where all of a budget is promised prices tell nothing, and the first slope is not one.
            budget = if slope.is_finite() { point.spending + lack / slope } else { 2.0 * point.spending };
            if let Some(enough) = &enough {
                if enough.spending < low.spending * (1.0 + REACHED) {
                    return Ok(*enough);
                }
                let is_between = budget > low.spending && budget < enough.spending && step % 4 != 0;
                budget = if is_between { budget } else { (low.spending * enough.spending).sqrt() };
            }
            let (last, last_lack) = (point, lack);
            point = self.at_budget(budget)?;
            lack = self.lack(&point, value);
            slope = (last_lack - lack) / (point.spending - last.spending);
        }
        Err(self.out_of_reach(value, &point))
    }

    fn out_of_reach(&self, value: f64, best: &Point) -> anyhow::Error {
        let what = match self.outlook.objective() {
            Objective::Freshness => "freshness",
            Objective::Age => "age in seconds",
            Objective::Harmonic => "harmonic penalty",
        };
        anyhow!(
            "{what} {value} is out of reach: caps of hosts, minimum periods and the floor allow {} at best",
            best.value
        )
    }

    /// The plan of a budget, or of the least there is one for: what promises and the floor cost grows with the budget.
    fn feasible(&self, mut budget: f64) -> Result<(f64, Point)> {
        // Close to what is needed at first, then ever further beyond it, since that may grow nearly as fast as the budget.
        let mut beyond = 1e-3;
        loop {
            match self.at_budget(budget) {
                Err(error) => match error.downcast_ref() {
                    Some(Error::Infeasible { needed_per_second, .. }) if beyond < MOST_BEYOND => {
                        budget = needed_per_second * (1.0 + beyond);
                        beyond *= 2.0;
                    }
                    _ => return Err(error),
                },
                Ok(point) => return Ok((budget, point)),
            }
        }
    }

    /// What is stale at a value, or age or penalty themselves.
    fn divergence(&self, value: f64) -> f64 {
        if self.outlook.objective() == Objective::Freshness { 1.0 - value } else { value }
    }

    /// How much a point is worse than a value.
    fn lack(&self, point: &Point, value: f64) -> f64 {
        self.divergence(point.value) - self.divergence(value)
    }
}
