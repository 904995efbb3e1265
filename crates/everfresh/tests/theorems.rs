//! What the papers prove, on random instances; and the fast solver against the slow and obvious one.

#![allow(clippy::unwrap_used, clippy::panic)]

use everfresh::curve::{DivergenceCurve, Exponential, Linear, Lomax, Observed, Weibull};
use everfresh::income::{Asset, Population};
use everfresh::plan::Reason;
use everfresh::{Allocation, Frequency, Objective, Order, Page, Period, Plan, Price, Rate, Terms, Unit};
use proptest::prelude::*;

fn per_day(rate: f64) -> Rate {
    Rate::per(rate, Unit::Day).unwrap()
}

fn page((log_rate, weight, cost): (f64, f64, f64)) -> Page {
    Page::new(per_day(10f64.powf(log_rate))).with_weight(weight).unwrap().with_cost(cost).unwrap()
}

/// Rates over eight decades, weights and costs over two.
fn any_pages() -> impl Strategy<Value = Vec<Page>> {
    prop::collection::vec((-5.0..3.0, 0.1..10.0, 0.1..10.0).prop_map(page), 1..30)
}

/// The same without weights and costs, as CGM03 section 5 has it.
fn plain_pages() -> impl Strategy<Value = Vec<Page>> {
    prop::collection::vec((-5.0..3.0).prop_map(|log_rate| page((log_rate, 1.0, 1.0))), 1..30)
}

fn any_objective() -> impl Strategy<Value = Objective> {
    prop::sample::select(Objective::ALL.to_vec())
}

fn any_order() -> impl Strategy<Value = Order> {
    prop::sample::select(Order::ALL.to_vec())
}

fn plan(pages: &[Page], objective: Objective, order: Order, allocation: Allocation, budget_per_day: f64) -> Plan {
    let price = Price::for_budget(budget_per_day, Unit::Day).unwrap();
    Plan::new(pages, Terms { objective, order, allocation, price }).unwrap()
}

/// Weighted divergence of one page at a frequency per second, by the definitions.
fn loss(page: &Page, objective: Objective, order: Order, frequency: f64) -> f64 {
    let frequency = Frequency::per(frequency, Unit::Second).unwrap();
    let r = page.rate() / frequency;
    let divergence = match objective {
        Objective::Age => order.age(page.rate(), frequency.period()).seconds(),
        _ => order.mean_divergence(objective, r),
    };
    page.weight() * divergence
}

/// The slow and obvious way: bisect the price, and at each price bisect each page's frequency on the slope of its loss.
mod oracle {
    use super::*;

    /// The gain of one more visit, in its textbook form where there is one (CGM03 theorem 5.5's proof for freshness), which
    /// cancels for small r; the library's own form there. Its digits are checked elsewhere.
    fn gain(page: &Page, objective: Objective, order: Order, f: f64) -> f64 {
        let lambda = page.rate().per_second();
        let r = lambda / f;
        let textbook = match (order, objective) {
            (Order::Fixed, Objective::Freshness) => (1.0 - (-r).exp()) / lambda - (-r).exp() / f,
            (Order::Fixed, Objective::Harmonic) => (r - 1.0 + (-r).exp()) / lambda,
            (Order::Fixed, Objective::Age) => (r * r / 2.0 - 1.0 + (1.0 + r) * (-r).exp()) / (lambda * lambda),
            (Order::PurelyRandom, Objective::Freshness) => lambda / (f + lambda).powi(2),
            (Order::PurelyRandom, Objective::Harmonic) => lambda / (f * (f + lambda)),
            (Order::PurelyRandom, Objective::Age) => lambda * (2.0 * f + lambda) / (f * f * (f + lambda).powi(2)),
            (Order::Random, _) => f64::NAN,
        };
        let ours = order.utility(objective, r) / lambda.powi(objective.time_power());
        page.weight() * if textbook.is_finite() && r > 0.1 && r < 1e6 { textbook } else { ours }
    }

    fn bisect(mut low: f64, mut high: f64, is_above: impl Fn(f64) -> bool) -> f64 {
        for _ in 0..200 {
            let middle = (low * high).sqrt();
            if is_above(middle) { high = middle } else { low = middle }
        }
        (low * high).sqrt()
    }

    /// The frequency at which the slope of weight x divergence falls to price x cost.
    fn frequency(page: &Page, objective: Objective, order: Order, price: f64) -> f64 {
        let rate = page.rate().per_second();
        let gain = |f: f64| gain(page, objective, order, f);
        if gain(rate * 1e-18) <= price * page.cost() {
            return 0.0;
        }
        bisect(rate * 1e-18, rate * 1e18, |f| gain(f) < price * page.cost())
    }

    pub(super) fn frequencies(pages: &[Page], objective: Objective, order: Order, budget: f64) -> Vec<f64> {
        let at = |price: f64| -> Vec<f64> { pages.iter().map(|p| frequency(p, objective, order, price)).collect() };
        let spent = |price: f64| -> f64 { at(price).iter().zip(pages).map(|(f, p)| f * p.cost()).sum() };
        at(bisect(1e-30, 1e30, |price| spent(price) < budget))
    }
}

proptest! {
    #[test]
    fn a_budget_is_spent(pages in any_pages(), objective in any_objective(), order in any_order(), log_budget in -6.0..6.0f64) {
        let budget = 10f64.powf(log_budget);
        for allocation in Allocation::ALL {
            let plan = plan(&pages, objective, order, allocation, budget);
            let spent = plan.totals().spending_per_second * Unit::Day.seconds();
            prop_assert!((spent / budget - 1.0).abs() < 1e-12, "{allocation:?} {spent} {budget}");
        }
    }

    /// At the bounds of what is accepted nothing hangs, nothing is NaN and the budget is spent.
    #[test]
    fn a_budget_is_spent_at_the_edges(
        pages in prop::collection::vec((-20.0..20.0f64, -20.0..20.0f64, -20.0..20.0f64), 1..6),
        objective in any_objective(), order in any_order(), log_budget in -20.0..20.0f64,
    ) {
        let power = |log: f64| 10f64.powf(log);
        let page = |(rate, weight, cost): (f64, f64, f64)| {
            let page = Page::new(Rate::per(power(rate), Unit::Second).unwrap());
            page.with_weight(power(weight)).unwrap().with_cost(power(cost)).unwrap()
        };
        let pages: Vec<Page> = pages.into_iter().map(page).collect();
        let price = Price::for_budget(power(log_budget), Unit::Second).unwrap();
        for allocation in Allocation::ALL {
            let plan = Plan::new(&pages, Terms { objective, order, allocation, price }).unwrap();
            let spent = plan.totals().spending_per_second / power(log_budget);
            prop_assert!((spent - 1.0).abs() < 1e-12, "{allocation:?} spends {spent}");
            let sane = |entry: &everfresh::plan::Entry| (0.0..=1.0).contains(&entry.freshness) && entry.age >= Period::ZERO;
            prop_assert!(plan.entries().iter().all(sane), "{:?}", plan.entries());
        }
    }

    #[test]
    fn no_exchange_of_visits_improves_an_optimal_plan(
        pages in any_pages(), objective in any_objective(), order in any_order(), log_budget in -4.0..4.0f64,
        from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), share in 1e-6..1.0f64,
    ) {
        let plan = plan(&pages, objective, order, Allocation::Optimal, 10f64.powf(log_budget));
        let frequency = |i: usize| plan.entries()[i].frequency.per_second();
        let visited: Vec<usize> = (0..pages.len()).filter(|&i| frequency(i) > 0.0).collect();
        let (from, to) = (visited[from.index(visited.len())], to.index(pages.len()));
        if from == to {
            return Ok(());
        }
        // Take a share of one page's visits and give the other what they cost.
        let taken = share * frequency(from) * 0.999_999;
        let given = taken * pages[from].cost() / pages[to].cost();
        let lost = |i: usize, f: f64| loss(&pages[i], objective, order, f);
        let before = lost(from, frequency(from)) + lost(to, frequency(to));
        let after = lost(from, frequency(from) - taken) + lost(to, frequency(to) + given);
        prop_assert!(before.is_infinite() && after.is_infinite() || after >= before - 1e-12 * before, "{before} {after}");
    }

    #[test]
    fn the_solver_equals_plain_bisection(
        pages in any_pages(), objective in any_objective(), order in any_order(), log_budget in -3.0..4.0f64,
    ) {
        let budget = 10f64.powf(log_budget);
        let ours = plan(&pages, objective, order, Allocation::Optimal, budget);
        let theirs = oracle::frequencies(&pages, objective, order, budget / Unit::Day.seconds());
        let spent: f64 = theirs.iter().zip(&pages).map(|(f, p)| f * p.cost()).sum();
        // Where a page is about to be given up, bisection cannot spend the budget exactly; there is nothing to compare.
        prop_assume!((spent * Unit::Day.seconds() / budget - 1.0).abs() < 1e-10);
        for (entry, f) in ours.entries().iter().zip(theirs) {
            prop_assert!((entry.frequency.per_second() - f).abs() <= 1e-8 * (f + spent), "{} {f}", entry.frequency.per_second());
        }
    }

    /// CGM03 theorems 5.1 and 5.2, and beyond them: optimal is never worse than uniform.
    #[test]
    fn uniform_is_never_worse_than_proportional(pages in plain_pages(), order in any_order(), log_budget in -4.0..4.0f64) {
        let budget = 10f64.powf(log_budget);
        let of = |objective, allocation| *plan(&pages, objective, order, allocation, budget).totals();
        let freshness = |allocation| of(Objective::Freshness, allocation).freshness;
        let age = |allocation| of(Objective::Age, allocation).age.seconds();
        let harmonic = |allocation| of(Objective::Harmonic, allocation).harmonic;
        let (uniform, proportional, optimal) = (Allocation::Uniform, Allocation::Proportional, Allocation::Optimal);
        prop_assert!(freshness(uniform) >= freshness(proportional) * (1.0 - 1e-12));
        prop_assert!(age(uniform) <= age(proportional) * (1.0 + 1e-12));
        prop_assert!(freshness(optimal) >= freshness(uniform) * (1.0 - 1e-12));
        prop_assert!(age(optimal) <= age(uniform) * (1.0 + 1e-12));
        prop_assert!(harmonic(optimal) <= harmonic(uniform) * (1.0 + 1e-12));
    }

    /// CGM03 theorem 5.5: the curve of f against λ at price μ is the curve at price 1, scaled by 1/μ.
    #[test]
    fn the_curve_scales_with_the_price(log_rate in -5.0..-0.1f64, order in any_order(), mu in 0.01..100.0f64) {
        let rate = 10f64.powf(log_rate);
        let frequency = |rate: f64, price: f64| {
            let price = Price::given(price, Unit::Day).unwrap();
            let plan = Plan::new(&[Page::new(per_day(rate))], Terms { order, ..Terms::new(price) }).unwrap();
            plan.entries()[0].frequency.per_day()
        };
        let (scaled, one) = (frequency(rate / mu, mu), frequency(rate, 1.0));
        prop_assert!((mu * scaled / one - 1.0).abs() < 1e-11, "{scaled} {one}");
    }

    /// CGM03 theorems 6.3 and 6.4: k times the weight scales the curve by k for freshness, by √k for age.
    #[test]
    fn the_curve_scales_with_the_weight(log_rate in -5.0..-0.1f64, order in any_order(), k in 0.01..100.0f64) {
        let rate = 10f64.powf(log_rate);
        let frequency = |objective, rate: f64, weight: f64| {
            let price = Price::given(1.0, Unit::Day).unwrap();
            let page = Page::new(per_day(rate)).with_weight(weight).unwrap();
            Plan::new(&[page], Terms { objective, order, ..Terms::new(price) }).unwrap().entries()[0].frequency.per_day()
        };
        for (objective, scale) in [(Objective::Freshness, k), (Objective::Harmonic, k), (Objective::Age, k.sqrt())] {
            let (heavy, light) = (frequency(objective, scale * rate, k), frequency(objective, rate, 1.0));
            prop_assert!((heavy / light / scale - 1.0).abs() < 1e-11, "{objective:?} {heavy} {light}");
        }
    }

    /// RN15: no other period earns more.
    #[test]
    fn optimal_income_beats_every_perturbed_period(
        log_rate in -3.0..2.0f64, log_benefit in -2.0..4.0f64, factor in 0.01..100.0f64, shape in 0.3..3.0f64, which in 0..4,
    ) {
        let rate = per_day(10f64.powf(log_rate));
        let curve: Box<dyn DivergenceCurve> = match which {
            0 => Box::new(Exponential::new(rate)),
            1 => Box::new(Linear::new(rate)),
            2 => Box::new(Weibull::new(rate, shape).unwrap()),
            _ => Box::new(Lomax::with_mean_rate(shape, rate).unwrap()),
        };
        let asset = Asset::new(curve, 10f64.powf(log_benefit), Unit::Day, 1.0).unwrap();
        let best = asset.optimum();
        let around = if best.is_futile() { Period::of(factor, Unit::Day).unwrap() } else {
            Period::of(best.period.seconds() * factor, Unit::Second).unwrap()
        };
        let other = asset.net_income_per_second(around);
        let slack = 1e-12 * (other.abs() + best.net_income_per_second.abs());
        prop_assert!(other <= best.net_income_per_second + slack, "{other} {best:?}");
        // Futile means that even the best visit does not earn more than its cost, which is 1.
        prop_assert!(!best.is_futile() || best.most_per_visit <= 1.0 + 1e-12);
    }

    /// The budget of the optimum brings the optimum back; any other loses.
    #[test]
    fn a_fixed_budget_only_loses(rates in prop::collection::vec(-3.0..2.0f64, 1..12), log_ratio in -1.0..3.0f64, factor in 0.05..20.0f64) {
        let asset = |log_rate: f64| Asset::new(Exponential::new(per_day(10f64.powf(log_rate))), 10f64.powf(log_ratio), Unit::Day, 1.0).unwrap();
        let population = Population::new(rates.into_iter().map(asset).collect()).unwrap();
        let best = population.optimum();
        prop_assume!(best.spending_per_second > 0.0);
        let per_day = best.spending_per_second * Unit::Day.seconds();
        let same = population.loss_on_budget(per_day, Unit::Day).unwrap().unwrap();
        prop_assert!(same.abs() < 1e-9, "{same}");
        let other = population.on_budget(per_day * factor, Unit::Day).unwrap();
        prop_assert!((other.spending_per_second / best.spending_per_second / factor - 1.0).abs() < 1e-12);
        prop_assert!(other.net_income_per_second <= best.net_income_per_second * (1.0 + 1e-12));
    }
}

/// OP08's lower bounds start level: before the first point a visit gains nothing, and no budget buys one.
#[test]
fn a_budget_beyond_what_gains_is_not_spent() {
    let day = |n: f64| Period::of(n, Unit::Day).unwrap();
    for points in [[(day(1.0), 0.0), (day(2.0), 1.0)], [(day(1.0), 0.0), (day(1.0), 1.0)]] {
        for cost in [0.1, 1.0] {
            let curve = Observed::new(&points).unwrap();
            let population = Population::new(vec![Asset::new(curve, 1.0, Unit::Day, cost).unwrap()]).unwrap();
            let income = population.on_budget(5.0, Unit::Day).unwrap();
            assert!((income.visits.per_day() - 1.0).abs() < 1e-6, "{income:?}");
            let income = population.on_budget(0.3 * cost, Unit::Day).unwrap();
            assert!((income.spending_per_second * Unit::Day.seconds() - 0.3 * cost).abs() < 1e-12, "{income:?}");
        }
    }
    assert_eq!(Observed::new(&[(day(1.0), 0.5)]).unwrap().period(f64::NAN), Period::ZERO);
    // So many visits gain less than the smallest number; they are not made.
    for cost in [1.0, 1e-20] {
        let steep = Weibull::new(per_day(1.0), 50.0).unwrap();
        let population = Population::new(vec![Asset::new(steep, 1.0, Unit::Day, cost).unwrap()]).unwrap();
        let income = population.on_budget(1e7, Unit::Day).unwrap();
        assert!(income.visits.per_day().is_finite() && income.visits > Frequency::NEVER, "{income:?}");
    }
}

#[test]
fn only_frequencies_that_can_be_best_are_explained() {
    let explain = |curve: &dyn DivergenceCurve, frequency: &str| {
        everfresh::income::explaining_benefit(&curve, frequency.parse().unwrap()).map_err(|error| error.to_string())
    };
    let linear = Linear::new(per_day(1.0));
    assert!(explain(&linear, "1.1/day").is_ok());
    assert!(
        explain(&linear, "0.5/day").unwrap_err().starts_with("no benefit makes 3.5/week the best frequency: so late")
    );
    let constant = Exponential::new(Rate::STATIC);
    assert!(explain(&constant, "1/day").unwrap_err().contains("do not differ after so short a time"));
    assert!(explain(&linear, "never").unwrap_err().contains("observed frequency must be positive"));
}

/// A page at the edge of being given up is a wall for the solver: the price is right even when the search starts there.
#[test]
fn prices_are_right_for_one_page() {
    for rate in 1..200 {
        for order in Order::ALL {
            let page = Page::new(per_day(f64::from(rate)));
            let by_budget = plan(&[page], Objective::Freshness, order, Allocation::Optimal, 100.0);
            let ratio = f64::from(rate) / 100.0;
            let price = order.utility(Objective::Freshness, ratio) / page.rate().per_second();
            assert!((by_budget.price().unwrap() / price - 1.0).abs() < 1e-12, "{rate} {order:?}");
        }
    }
}

proptest! {
    /// Bounds lie inside the optimum: they are kept, the budget is spent as far as they allow, and no exchange of visits that
    /// keeps them improves the plan.
    #[test]
    fn bounds_are_kept_inside_the_optimum(
        pages in prop::collection::vec(((-4.0..3.0, 0.1..10.0, 0.1..10.0).prop_map(page), -3.0..2.0f64, 0.0..2.0f64), 2..20),
        objective in any_objective(), order in any_order(), spare in 0.0..1.0f64,
        from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), share in 1e-6..1.0f64,
    ) {
        let bounded = |(page, log_min, log_ratio): (Page, f64, f64)| {
            let min = 10f64.powf(log_min);
            let period = |days: f64| Period::of(days, Unit::Day).unwrap();
            page.with_periods(period(min), period(min * 10f64.powf(log_ratio))).unwrap()
        };
        let pages: Vec<Page> = pages.into_iter().map(bounded).collect();
        let bound = |page: &Page| (page.max_period().frequency().per_second(), page.min_period().frequency().per_second());
        let cost = |side: fn((f64, f64)) -> f64| pages.iter().map(|page| page.cost() * side(bound(page))).sum::<f64>();
        let (least, most) = (cost(|bound| bound.0), cost(|bound| bound.1));
        let budget = least + spare * (most - least);
        let price = Price::for_budget(budget, Unit::Second).unwrap();
        for allocation in Allocation::ALL {
            let plan = Plan::new(&pages, Terms { objective, order, allocation, price }).unwrap();
            prop_assert!((plan.totals().spending_per_second / budget - 1.0).abs() < 1e-11, "{allocation:?} {plan:?}");
            for (page, entry) in pages.iter().zip(plan.entries()) {
                let (low, high) = bound(page);
                prop_assert!((low..=high).contains(&entry.frequency.per_second()));
            }
        }
        let plan = Plan::new(&pages, Terms { objective, order, ..Terms::new(price) }).unwrap();
        let (from, to) = (from.index(pages.len()), to.index(pages.len()));
        let frequency = |i: usize| plan.entries()[i].frequency.per_second();
        let room = (frequency(from) - bound(&pages[from]).0) * pages[from].cost();
        let moved = share * room.min((bound(&pages[to]).1 - frequency(to)) * pages[to].cost());
        let lost = |i: usize, f: f64| loss(&pages[i], objective, order, f);
        let before = lost(from, frequency(from)) + lost(to, frequency(to));
        let after = lost(from, frequency(from) - moved / pages[from].cost()) + lost(to, frequency(to) + moved / pages[to].cost());
        prop_assert!(from == to || after >= before - 1e-11 * before, "{before} {after}");
    }
}

#[test]
fn promises_beyond_the_budget_are_refused() {
    let days = |n: f64| Period::of(n, Unit::Day).unwrap();
    let pages = [per_day(1.0), Rate::STATIC].map(|rate| Page::new(rate).with_periods(Period::ZERO, days(0.5)).unwrap());
    let terms = |budget: f64| Terms::new(Price::for_budget(budget, Unit::Day).unwrap());
    let refused = Plan::new(&pages, terms(3.0)).unwrap_err().to_string();
    assert_eq!(refused, "cannot plan: the maximum periods alone cost 4 per day, 1 more than the budget of 3");
    // Exactly enough is enough; more goes to the page that changes.
    let plan = Plan::new(&pages, terms(4.0)).unwrap();
    assert!(plan.entries().iter().all(|entry| entry.reason == Reason::AtMaxPeriod), "{plan:?}");
    let plan = Plan::new(&pages, terms(10.0)).unwrap();
    let visits: Vec<f64> = plan.entries().iter().map(|entry| entry.frequency.per_day().round()).collect();
    assert_eq!(visits, [8.0, 2.0]);
    // Minimum periods that leave money over.
    let slow = Page::new(per_day(1.0)).with_periods(days(2.0), Period::NEVER).unwrap();
    let plan = Plan::new(&[slow], terms(3.0)).unwrap();
    assert_eq!((plan.entries()[0].frequency.per_day(), plan.entries()[0].reason), (0.5, Reason::AtMinPeriod));
    assert_eq!(
        Page::new(per_day(1.0)).with_periods(days(2.0), days(1.0)).unwrap_err().to_string(),
        "minimum period must not exceed the maximum period, got 2days and 1day"
    );
    assert_eq!(
        Page::new(per_day(1.0)).with_periods(Period::ZERO, Period::ZERO).unwrap_err().to_string(),
        "maximum period must be positive, got 0"
    );
}

/// One page and a budget of a hundredth of its rate: no price in floating point spends it, and still it is spent.
#[test]
fn a_starving_budget_is_spent_to_the_last_digit() {
    for budget in [1.0, 0.1, 0.01, 1e-3, 1e-6] {
        for pages in [vec![Page::new(per_day(1.0))], vec![Page::new(per_day(1.0)); 7]] {
            let plan = plan(&pages, Objective::Freshness, Order::Fixed, Allocation::Optimal, budget);
            let spent = plan.totals().spending_per_second * Unit::Day.seconds();
            assert!((spent / budget - 1.0).abs() < 1e-12, "{budget} {spent}");
            assert!(plan.entries().iter().all(|entry| entry.reason == Reason::Visited), "{budget}");
        }
    }
}

#[test]
fn reasons_are_told() {
    let pages = [
        Page::new(per_day(1.0)),
        Page::new(Rate::STATIC),
        Page::new(per_day(1.0)).with_weight(0.0).unwrap(),
        Page::new(per_day(50.0)),
    ];
    let plan = plan(&pages, Objective::Freshness, Order::Fixed, Allocation::Optimal, 1.0);
    let reasons: Vec<Reason> = plan.entries().iter().map(|entry| entry.reason).collect();
    let worth = Unit::Day.seconds() / 50.0;
    assert_eq!(reasons[..3], [Reason::Visited, Reason::Static, Reason::Weightless]);
    assert!(matches!(reasons[3], Reason::TooExpensive { worth: w } if (w / worth - 1.0).abs() < 1e-12), "{reasons:?}");
    assert!(plan.price().unwrap() > worth);
    let [visited, fixed, weightless, given_up] = plan.entries() else { panic!("four pages") };
    assert!(visited.freshness > 0.6 && visited.age < Period::of(1.0, Unit::Day).unwrap());
    assert_eq!((fixed.freshness, fixed.age), (1.0, Period::ZERO));
    assert_eq!((weightless.freshness, weightless.age), (0.0, Period::NEVER));
    assert_eq!((given_up.freshness, given_up.age), (0.0, Period::NEVER));
    // The page without weight does not count; the one given up makes the mean age infinite.
    assert_eq!(plan.totals().age, Period::NEVER);
    assert!((plan.totals().kept.unwrap().weight_share - 2.0 / 3.0).abs() < 1e-15);
}

#[test]
fn impossible_plans_are_refused() {
    let refused = |pages: &[Page]| {
        let price = Price::for_budget(1.0, Unit::Day).unwrap();
        Plan::new(pages, Terms { allocation: Allocation::Uniform, ..Terms::new(price) }).unwrap_err().to_string()
    };
    assert_eq!(refused(&[]), "cannot plan: there are no pages");
    assert_eq!(refused(&[Page::new(per_day(1.0)).with_weight(0.0).unwrap()]), "cannot plan: all weights are zero");
    let price = |budget: f64| Price::for_budget(budget, Unit::Day).unwrap_err().to_string();
    assert_eq!(price(-3.0), "budget must be positive and finite, got -3");
    assert_eq!(price(f64::NAN), "budget must be positive and finite, got NaN");
    assert_eq!(Price::given(0.0, Unit::Day).unwrap_err().to_string(), "price must be positive and finite, got 0");
    assert_eq!(
        Page::new(per_day(1.0)).with_cost(0.0).unwrap_err().to_string(),
        "cost must be positive and finite, got 0"
    );
    // A price above every worth: nothing is visited, and no allocation spends anything.
    let price = Price::given(100.0, Unit::Day).unwrap();
    for (allocation, is) in [(Allocation::Uniform, "NothingSpent"), (Allocation::Optimal, "TooExpensive")] {
        let plan = Plan::new(&[Page::new(per_day(1.0))], Terms { allocation, ..Terms::new(price) }).unwrap();
        assert!(format!("{:?}", plan.entries()[0].reason).starts_with(is));
        assert_eq!(plan.totals().kept, None);
    }
    // Static pages only: nothing to spend on, and no error.
    let price = Price::for_budget(1.0, Unit::Day).unwrap();
    for allocation in Allocation::ALL {
        let plan = Plan::new(&[Page::new(Rate::STATIC)], Terms { allocation, ..Terms::new(price) }).unwrap();
        assert_eq!((plan.totals().freshness, plan.totals().spending_per_second), (1.0, 0.0));
    }
}

/// A price, the budget that it spends and the price for that budget are one plan.
#[test]
fn price_and_budget_are_two_ways_to_say_the_same() {
    let pages: Vec<Page> = (1..=5).map(|n| Page::new(per_day(f64::from(n)))).collect();
    for objective in Objective::ALL {
        for order in Order::ALL {
            let given = Price::given(0.15, Unit::Day).unwrap();
            let by_price = Plan::new(&pages, Terms { objective, order, ..Terms::new(given) }).unwrap();
            let budget = by_price.totals().spending_per_second * Unit::Day.seconds();
            let by_budget = plan(&pages, objective, order, Allocation::Optimal, budget);
            for (a, b) in by_price.entries().iter().zip(by_budget.entries()) {
                assert!((a.frequency.per_day() - b.frequency.per_day()).abs() < 1e-9, "{objective:?} {order:?}");
            }
            let uniform =
                Plan::new(&pages, Terms { objective, order, allocation: Allocation::Uniform, price: given }).unwrap();
            assert!((uniform.totals().spending_per_second / by_price.totals().spending_per_second - 1.0).abs() < 1e-12);
        }
    }
}
