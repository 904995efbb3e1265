//! The streaming solver equals the exact one under every kind of constraint, whatever the number of threads, and every page
//! of its plans satisfies the conditions of Karush, Kuhn and Tucker.

// Counts in these tables are small whole numbers.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use everfresh::curve::{Bursts, DivergenceCurve, Exponential, Lomax, Shape, Weibull};
use everfresh::income::{Asset, Population};
use everfresh::kernel::Reciprocal;
use everfresh::plan::Reason;
use everfresh::plan::stream::{Columns, Limits, Outcome, Outlook, Solution, plan};
use everfresh::{Allocation, Frequency, Objective, Order, Page, Period, Plan, Price, Rate, Terms, Unit};
use proptest::prelude::*;

/// Pages of a random table.
#[derive(Clone, Debug, Default)]
struct Table {
    rate: Vec<f64>,
    weight: Vec<f64>,
    cost: Vec<f64>,
    count: Vec<f64>,
    min_period: Vec<f64>,
    max_period: Vec<f64>,
    host: Vec<u32>,
    /// None for exponential pages.
    shape: Vec<Shape>,
}

impl Table {
    fn columns(&self) -> Columns<'_> {
        Columns {
            rate: &self.rate,
            weight: Some(&self.weight),
            cost: Some(&self.cost),
            count: Some(&self.count),
            min_period: Some(&self.min_period),
            max_period: Some(&self.max_period),
            host: Some(&self.host),
            shape: Some(&*self.shape).filter(|shapes| !shapes.is_empty()),
        }
    }

    /// Rates, weights, costs and bounds, without hosts and counts.
    fn plain(&self) -> Columns<'_> {
        Columns { host: None, count: None, ..self.columns() }
    }

    fn wants_visits(&self) -> bool {
        self.rate.iter().zip(&self.weight).any(|(rate, weight)| rate * weight > 0.0)
    }
}

/// A page about to be given up answers to the last digits of the price, and gets what all others leave of the budget: it takes up what
/// the kernels misjudge of them (1e-9 of each) and what the spending is off (1e-9).
const LEFT_OVER: f64 = 2e-9;

fn power(range: std::ops::Range<f64>) -> impl Strategy<Value = f64> {
    range.prop_map(|log| 10f64.powf(log))
}

fn table(most: usize, bounded: bool) -> impl Strategy<Value = Table> {
    let zero_or = |range| prop_oneof![1 => Just(0.0), 9 => power(range)];
    let min = if bounded { prop_oneof![Just(0.0), power(-2.0..2.0)].boxed() } else { Just(0.0).boxed() };
    let slack =
        if bounded { prop_oneof![Just(f64::INFINITY), power(0.0..4.0)].boxed() } else { Just(f64::INFINITY).boxed() };
    let page = (zero_or(-6.0..3.0), zero_or(-3.0..3.0), power(-2.0..2.0), 1u8..5, min, slack, 0u32..4);
    prop::collection::vec(page, 1..most).prop_map(|pages| {
        let mut table = Table::default();
        for (rate, weight, cost, count, min, slack, host) in pages {
            table.rate.push(rate);
            table.weight.push(weight);
            table.cost.push(cost);
            table.count.push(f64::from(count));
            table.min_period.push(min);
            table.max_period.push(if min > 0.0 { min * slack } else { slack });
            table.host.push(host);
        }
        table
    })
}

/// The same with curves of all kinds.
fn mixed(most: usize, bounded: bool) -> impl Strategy<Value = Table> {
    let shape = prop_oneof![
        Just(Shape::Exponential),
        power(-1.0..3.0).prop_map(Shape::Lomax),
        Just(Shape::Lomax(1.0)),
        power(-0.7..0.7).prop_map(Shape::Weibull),
        power(-1.0..0.0).prop_map(Shape::Bursts),
    ];
    (table(most, bounded), prop::collection::vec(shape, most))
        .prop_map(|(table, shapes)| Table { shape: shapes[..table.rate.len()].to_vec(), ..table })
}

/// The curve of a page that changes.
fn curve(shape: Shape, rate: f64) -> Box<dyn DivergenceCurve> {
    let rate = Rate::per(rate, Unit::Second).unwrap();
    match shape {
        Shape::Exponential => Box::new(Exponential::new(rate)),
        Shape::Lomax(alpha) => Box::new(Lomax::with_mean_rate(alpha, rate).unwrap()),
        Shape::Weibull(shape) => Box::new(Weibull::new(rate, shape).unwrap()),
        Shape::Bursts(shape) => Box::new(Bursts::new(rate, shape).unwrap()),
    }
}

fn terms(objective: Objective, budget: f64) -> Terms {
    Terms { objective, ..Terms::new(Price::for_budget(budget, Unit::Second).unwrap()) }
}

/// The exact plan of the same columns.
fn exact(columns: Columns<'_>, terms: Terms) -> Plan {
    let at = |column: Option<&[f64]>, i: usize, default: f64| column.map_or(default, |column| column[i]);
    let page = |i: usize| {
        let page = Page::new(Rate::per(columns.rate[i], Unit::Second).unwrap());
        let page = page.with_weight(at(columns.weight, i, 1.0)).unwrap().with_cost(at(columns.cost, i, 1.0)).unwrap();
        let period = |seconds: f64| {
            if seconds.is_infinite() { Period::NEVER } else { Period::of(seconds, Unit::Second).unwrap() }
        };
        let (min, max) = (at(columns.min_period, i, 0.0), at(columns.max_period, i, f64::INFINITY));
        page.with_periods(period(min), period(max)).unwrap()
    };
    let pages: Vec<Page> = (0..columns.rate.len()).map(page).collect();
    Plan::new(&pages, terms).unwrap()
}

#[track_caller]
fn check(columns: Columns<'_>, terms: Terms) {
    let mut ours = vec![f64::NAN; columns.rate.len()];
    let outcome = plan(columns, terms, &Limits::default(), &mut ours).unwrap();
    let exact = exact(columns, terms);
    let spent = exact.totals().spending_per_second;
    assert!((outcome.spent / spent - 1.0).abs() < 1e-9, "{terms:?} spends {} not {spent}", outcome.spent);
    if let Some(price) = exact.price().filter(|price| *price > 0.0 && price.is_finite()) {
        assert!((outcome.price / price - 1.0).abs() < 1e-8, "{terms:?} price {} {price}", outcome.price);
    }
    for (i, (ours, theirs)) in ours.iter().zip(exact.entries()).enumerate() {
        let theirs = theirs.frequency.per_second();
        assert!((ours - theirs).abs() <= 1e-7 * theirs + LEFT_OVER * spent, "{terms:?} page {i}: {ours} {theirs}");
    }
}

proptest! {
    #[test]
    fn streaming_equals_exact(table in table(200, false), log_budget in -4.0..4.0f64) {
        prop_assume!(table.wants_visits());
        for objective in Objective::ALL {
            check(table.plain(), terms(objective, 10f64.powf(log_budget)));
        }
    }

    #[test]
    fn streaming_equals_exact_with_bounds(table in table(60, true), log_slack in -3.0..3.0f64) {
        prop_assume!(table.wants_visits());
        let promised: f64 = table.cost.iter().zip(&table.max_period).map(|(cost, max)| cost / max).sum();
        let budget = promised + 10f64.powf(log_slack);
        for objective in Objective::ALL {
            for order in Order::ALL {
                for allocation in Allocation::ALL {
                    check(table.plain(), Terms { order, allocation, ..terms(objective, budget) });
                }
            }
        }
    }

    /// A row of count n is n rows.
    #[test]
    fn counts_are_repeated_rows(table in table(30, true), log_slack in -3.0..3.0f64) {
        prop_assume!(table.wants_visits());
        let columns = Columns { host: None, ..table.columns() };
        let mut rows = Table::default();
        let mut promised = 0.0;
        for i in 0..table.rate.len() {
            let times = table.count[i] as usize;
            rows.rate.extend(vec![table.rate[i]; times]);
            rows.weight.extend(vec![table.weight[i]; times]);
            rows.cost.extend(vec![table.cost[i]; times]);
            rows.min_period.extend(vec![table.min_period[i]; times]);
            rows.max_period.extend(vec![table.max_period[i]; times]);
            promised += table.count[i] * table.cost[i] / table.max_period[i];
        }
        let terms = terms(Objective::Freshness, promised + 10f64.powf(log_slack));
        let mut few = vec![0.0; table.rate.len()];
        let mut many = vec![0.0; rows.rate.len()];
        let one = plan(columns, terms, &Limits::default(), &mut few).unwrap();
        let other = plan(rows.plain(), terms, &Limits::default(), &mut many).unwrap();
        prop_assert!((one.spent / other.spent - 1.0).abs() < 1e-9);
        let repeated = few.iter().zip(&table.count).flat_map(|(f, count)| vec![*f; *count as usize]);
        for (a, b) in repeated.zip(many) {
            prop_assert!((a - b).abs() <= 1e-7 * b + LEFT_OVER * one.spent, "{a} {b}");
        }
    }

    /// The exact plan of pages with curves of their own: that of a business with a fixed budget.
    #[test]
    fn mixed_curves_equal_the_exact_plan(table in mixed(60, false), log_budget in -4.0..4.0f64) {
        prop_assume!(table.wants_visits());
        let budget = 10f64.powf(log_budget);
        let mut ours = vec![f64::NAN; table.rate.len()];
        let outcome = plan(table.plain(), terms(Objective::Freshness, budget), &Limits::default(), &mut ours).unwrap();
        prop_assert!((outcome.spent / budget - 1.0).abs() < 1e-9, "spends {} of {budget}", outcome.spent);
        let wanting: Vec<usize> = (0..ours.len()).filter(|i| table.rate[*i] * table.weight[*i] > 0.0).collect();
        let asset = |i: &usize| {
            let curve = curve(table.shape[*i], table.rate[*i]);
            Asset::new(curve, table.weight[*i], Unit::Second, table.cost[*i]).unwrap()
        };
        let exact = Population::new(wanting.iter().map(asset).collect()).unwrap();
        let exact = exact.on_budget(budget, Unit::Second).unwrap();
        for (i, theirs) in wanting.iter().zip(exact.frequencies) {
            let (ours, theirs) = (ours[*i], theirs.per_second());
            prop_assert!((ours - theirs).abs() <= 1e-7 * theirs + LEFT_OVER * budget, "page {i}: {ours} {theirs}");
        }
    }

    #[test]
    fn every_page_satisfies_the_conditions_of_the_optimum(
        table in prop_oneof![table(60, true), mixed(60, true)],
        log_slack in -2.0..3.0f64,
        floor in prop_oneof![Just(0.0), 0.0..0.5f64],
        caps in prop::collection::vec(prop_oneof![Just(f64::INFINITY), power(-2.0..3.0)], 4),
    ) {
        prop_assume!(table.wants_visits());
        let cost = |i: usize| table.count[i] * table.cost[i];
        let promised = |host: Option<u32>| -> f64 {
            let of_host = (0..table.rate.len()).filter(|i| host.is_none_or(|host| table.host[*i] == host));
            of_host.map(|i| cost(i) / table.max_period[i]).sum()
        };
        let hosts = (0u32..).zip(caps);
        let caps: Vec<f64> = hosts.map(|(host, cap)| cap + 1.01 * promised(Some(host))).collect();
        // The floor may exceed the promises everywhere.
        let budget = (promised(None) + 10f64.powf(log_slack)) / (1.0 - floor);
        let limits = Limits { floor, caps };
        for objective in Objective::ALL {
            for order in Order::ALL {
                // Pages with curves of their own are planned for freshness in fixed order.
                if (objective, order) == (Objective::Freshness, Order::Fixed) || table.shape.is_empty() {
                    conditions(&table, Terms { order, ..terms(objective, budget) }, &limits);
                }
            }
        }
    }
}

/// Karush, Kuhn and Tucker, page by page: what a visit more would gain per cost is the price of the page's host, more where
/// it is visited as often as it may be, and less where it is visited as seldom as it may be. A host's price is the plan's
/// unless its cap is spent.
#[track_caller]
fn conditions(table: &Table, terms: Terms, limits: &Limits) {
    let columns = table.columns();
    let Terms { objective, order, .. } = terms;
    let mut frequencies = vec![0.0; columns.rate.len()];
    let outcome = plan(columns, terms, limits, &mut frequencies).unwrap();
    let solution = Solution::of(&columns, terms, limits).unwrap();
    let mut answers = Vec::new();
    solution.answers(columns, |_, some| answers.extend(some.one_by_one()));
    let mut spent_on = vec![0.0; limits.caps.len()];
    let total: f64 = (0..columns.rate.len())
        .map(|i| {
            assert_eq!(answers[i].frequency, frequencies[i]);
            spent_on[table.host[i] as usize] += table.count[i] * table.cost[i] * frequencies[i];
            table.count[i] * table.cost[i] * frequencies[i]
        })
        .sum();
    for (spent, cap) in spent_on.iter().zip(&limits.caps) {
        assert!(*spent <= cap * (1.0 + 1e-8), "a host spends {spent} of {cap}");
    }
    for i in 0..columns.rate.len() {
        let (rate, weight, cost) = (table.rate[i], table.weight[i], table.cost[i]);
        let (f, price) = (frequencies[i], answers[i].price);
        let (low, high) = (table.max_period[i].recip(), table.min_period[i].recip());
        assert!(f >= low * (1.0 - 1e-12) && f <= high * (1.0 + 1e-12), "{f} is not within {low}..{high}");
        if price > outcome.price {
            let host = table.host[i] as usize;
            assert!((spent_on[host] / limits.caps[host] - 1.0).abs() < 1e-8, "host {host} has a price and money left");
        }
        if rate == 0.0 || weight == 0.0 || price.is_infinite() {
            continue;
        }
        let gain = |f: f64| {
            let utility = match table.shape.get(i) {
                Some(shape) => curve(*shape, rate).utility(Frequency::per(f, Unit::Second).unwrap().period()),
                None => order.utility(objective, rate / f) / rate.powi(objective.time_power()),
            };
            weight * utility / cost
        };
        // At the floor too a page is visited as seldom as it may be.
        let reason = answers[i].reason;
        let at_high = f >= high * (1.0 - 1e-12);
        let at_low = f <= low * (1.0 + 1e-12) || reason == Reason::AtFloor || at_high && limits.floor > 0.0;
        assert!(at_low || gain(f * (1.0 - 1e-6)) >= price * (1.0 - 1e-6), "page {i} gains too little: {reason:?}");
        assert!(at_high || gain(f * (1.0 + 1e-6) + 1e-9 * total) <= price * (1.0 + 1e-6), "page {i} gains too much");
    }
}

#[test]
fn starving_budgets_are_spent() {
    for budget in [1.0, 0.1, 1e-3, 1e-6] {
        check(Columns::new(&[1.0; 7]), terms(Objective::Freshness, budget));
    }
}

/// A block of identical pages about to be given up is one page to the search; slow, this would take minutes unoptimised.
#[test]
fn large_blocks_of_identical_pages_are_planned() {
    let rate = vec![2.0; 300_000];
    for budget in [1e-9, 1.0, 1e5] {
        let mut out = vec![0.0; rate.len()];
        let terms = terms(Objective::Freshness, budget);
        let outcome = plan(Columns::new(&rate), terms, &Limits::default(), &mut out).unwrap();
        assert!((outcome.spent / budget - 1.0).abs() < 1e-9, "{outcome:?}");
        assert!(out.iter().all(|f| (f * 3e5 / budget - 1.0).abs() < 1e-9));
    }
}

/// Rates over six decades, seeded.
fn many_rates(n: usize) -> Vec<f64> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        10f64.powf((state >> 11) as f64 / (1u64 << 53) as f64 * 6.0 - 4.0)
    };
    (0..n).map(|_| next()).collect()
}

/// Two and a half chunks, by one thread and by three: the same bits. The second half of them is sorted, so that a sample of
/// blocks misleads.
#[test]
fn the_number_of_threads_does_not_matter() {
    let n = 5 << 19;
    let mut rate = many_rates(n);
    rate[n / 2..].sort_by(f64::total_cmp);
    let host: Vec<u32> = (0..n).map(|i| (i % 1000) as u32).collect();
    let caps: Vec<f64> = (0..1000).map(|host| if host % 2 == 0 { 90.0 } else { f64::INFINITY }).collect();
    let columns = Columns { host: Some(&host), ..Columns::new(&rate) };
    let run = |threads: usize, limits: &Limits| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut frequencies = vec![0.0; n];
        let terms = terms(Objective::Freshness, 1e5);
        let outcome: Outcome = pool.install(|| plan(columns, terms, limits, &mut frequencies)).unwrap();
        assert!((outcome.spent / 1e5 - 1.0).abs() < 1e-9, "{outcome:?}");
        (outcome, frequencies)
    };
    for limits in [Limits::default(), Limits { floor: 0.05, caps }] {
        assert!(run(1, &limits) == run(3, &limits));
    }
}

/// More pages than a sample holds, each with a shape of its own: the budget is spent, on any number of threads, and the
/// outlook agrees.
#[test]
fn many_mixed_curves_are_planned() {
    let n = 3 << 17;
    let rate = many_rates(n);
    let weight: Vec<f64> = rate.iter().rev().map(|rate| rate.sqrt()).collect();
    let shape: Vec<Shape> = rate
        .iter()
        .enumerate()
        .map(|(i, rate)| match i % 4 {
            0 => Shape::Lomax(0.3 + rate),
            1 => Shape::Weibull(0.4 + rate.fract()),
            _ => Shape::Exponential,
        })
        .collect();
    let host: Vec<u32> = (0..n).map(|i| (i % 100) as u32).collect();
    let columns = Columns { weight: Some(&weight), shape: Some(&shape), host: Some(&host), ..Columns::new(&rate) };
    let run = |threads: usize, limits: &Limits| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut frequencies = vec![0.0; n];
        let terms = terms(Objective::Freshness, 1e4);
        let outcome = pool.install(|| plan(columns, terms, limits, &mut frequencies)).unwrap();
        assert!((outcome.spent / 1e4 - 1.0).abs() < 1e-9, "{outcome:?}");
        (outcome, frequencies)
    };
    let caps: Vec<f64> = (0..100).map(|host| if host % 2 == 0 { 50.0 } else { f64::INFINITY }).collect();
    for limits in [Limits::default(), Limits { floor: 0.0, caps }] {
        assert!(run(1, &limits) == run(3, &limits));
    }
    let few = columns_of(columns, 5_000);
    let solution = Solution::of(&few, terms(Objective::Freshness, 100.0), &Limits::default()).unwrap().price();
    let outlook = Outlook::of(&few, Order::Fixed, Objective::Freshness).unwrap();
    assert!((outlook.at_budget(100.0).unwrap().price / solution - 1.0).abs() < 1e-6);
}

/// The first rows.
fn columns_of(columns: Columns<'_>, n: usize) -> Columns<'_> {
    Columns {
        rate: &columns.rate[..n],
        weight: columns.weight.map(|column| &column[..n]),
        shape: columns.shape.map(|column| &column[..n]),
        ..Columns::default()
    }
}

#[test]
fn shapes_are_planned_for_freshness_in_fixed_order() {
    let shape = [Shape::Exponential, Shape::Lomax(2.0)];
    let columns = Columns { shape: Some(&shape), ..Columns::new(&[1.0, 2.0]) };
    let refused = |columns: Columns<'_>, terms: Terms| {
        plan(columns, terms, &Limits::default(), &mut [0.0; 2]).unwrap_err().to_string()
    };
    assert_eq!(
        refused(columns, terms(Objective::Age, 1.0)),
        "page 1, counted from 0: only exponential pages are planned for age: other curves for freshness under fixed order"
    );
    let random = Terms { order: Order::Random, ..terms(Objective::Freshness, 1.0) };
    assert!(refused(columns, random).contains("planned for visits in random order"));
    assert!(Outlook::of(&columns, Order::Fixed, Objective::Harmonic).is_err());
    let strange = Columns { shape: Some(&[Shape::Exponential, Shape::Weibull(99.0)]), ..columns };
    assert_eq!(
        refused(strange, terms(Objective::Freshness, 1.0)),
        "page 1, counted from 0: Weibull shape must be between 0.02 and 50, got 99"
    );
    // A column of exponential shapes is none.
    let plain = Columns { shape: Some(&[Shape::Exponential; 2]), ..columns };
    let run = |columns: Columns<'_>| {
        let mut out = [0.0; 2];
        plan(columns, terms(Objective::Age, 1.0), &Limits::default(), &mut out).unwrap();
        out
    };
    assert_eq!(run(plain), run(Columns::new(&[1.0, 2.0])));
}

#[test]
fn bad_columns_are_refused() {
    let none = Limits::default();
    let refused = |columns: Columns<'_>, limits: &Limits, budget: f64| {
        let mut out = vec![0.0; columns.len()];
        plan(columns, terms(Objective::Age, budget), limits, &mut out).unwrap_err().to_string()
    };
    assert_eq!(refused(Columns::new(&[]), &none, 1.0), "cannot plan: there are no pages");
    assert_eq!(
        refused(Columns::new(&[1.0, f64::NAN]), &none, 1.0),
        "page 1, counted from 0: rate must be at least 0 and finite, got NaN"
    );
    assert_eq!(
        refused(Columns { weight: Some(&[1.0, -3.0]), ..Columns::new(&[1.0, 2.0]) }, &none, 1.0),
        "page 1, counted from 0: weight must be at least 0 and finite, got -3"
    );
    assert_eq!(
        refused(Columns { weight: Some(&[1.0]), ..Columns::new(&[1.0, 2.0]) }, &none, 1.0),
        "columns must be of one length, got 2 rates and 1 others"
    );
    let bounds = Columns { min_period: Some(&[2.0]), max_period: Some(&[1.0]), ..Columns::new(&[1.0]) };
    assert!(refused(bounds, &none, 1.0).contains("minimum period must not exceed"));
    let promise = Columns { max_period: Some(&[1.0]), ..Columns::new(&[1.0]) };
    assert!(refused(promise, &none, 0.5).contains("the maximum periods alone cost 86400 per day, 43200 more"));
    let capped = Limits { caps: vec![0.5], ..Limits::default() };
    assert!(refused(promise, &capped, 2.0).contains("on host 0 alone cost 86400 per day, 43200 more than its cap"));
    let strange = Columns { host: Some(&[7]), ..Columns::new(&[1.0]) };
    assert!(refused(strange, &capped, 2.0).contains("host 7, counted from 0, has no cap: there are 1"));
    let floor = Limits { floor: 1.5, ..Limits::default() };
    assert_eq!(refused(Columns::new(&[1.0]), &floor, 1.0), "floor must be between 0 and 1, got 1.5");
    // A price, which needs no search, has its pages checked too.
    let given = Terms::new(Price::given(1.0, Unit::Second).unwrap());
    let refused = plan(bounds, given, &none, &mut [0.0]).unwrap_err().to_string();
    assert!(refused.starts_with("page 0, counted from 0: minimum period must not exceed"), "{refused}");
    // Nothing to visit is no error.
    let mut out = [1.0];
    let outcome = plan(Columns::new(&[0.0]), terms(Objective::Age, 1.0), &none, &mut out).unwrap();
    assert_eq!((outcome.spent, out), (0.0, [0.0]));
}

/// The exact solver starts from a sample when there are many pages: it spends the budget just the same.
#[test]
fn large_exact_plans_spend_their_budget() {
    let rate: Vec<f64> = (1..20_000).map(|i| f64::from(i) / 1000.0).collect();
    for objective in Objective::ALL {
        check(Columns::new(&rate), terms(objective, 1e4));
    }
}

/// A host whose cap cannot carry the floor shares it out; the others keep it.
#[test]
fn a_floor_bows_to_a_cap() {
    let columns = Columns { host: Some(&[0, 0, 1, 1]), ..Columns::new(&[1.0, 0.0, 1.0, 0.0]) };
    let limits = Limits { floor: 0.4, caps: vec![0.1, f64::INFINITY] };
    let mut out = [0.0; 4];
    plan(columns, terms(Objective::Freshness, 2.0), &limits, &mut out).unwrap();
    assert_eq!(out.map(|f| format!("{f:.3}")), ["0.050", "0.050", "1.700", "0.200"]);
}

/// The budget questions agree with the plans that they are about, and with each other.
#[test]
fn outlooks_foretell_plans() {
    let rate = many_rates(2_000);
    let weight: Vec<f64> = rate.iter().rev().map(|rate| rate.sqrt()).collect();
    let min_period: Vec<f64> = (0..2_000).map(|i| if i % 5 == 0 { 0.5 } else { 0.0 }).collect();
    for min_period in [None, Some(min_period.as_slice())] {
        let columns = Columns { weight: Some(&weight), min_period, ..Columns::new(&rate) };
        for (objective, order) in
            Objective::ALL.into_iter().flat_map(|objective| Order::ALL.map(|order| (objective, order)))
        {
            let outlook = Outlook::of(&columns, order, objective).unwrap();
            for budget in [3.0, 300.0, 2e3] {
                let point = outlook.at_budget(budget).unwrap();
                let plan = exact(columns, Terms { order, ..terms(objective, budget) });
                let totals = plan.totals();
                let value = match objective {
                    Objective::Freshness => totals.freshness,
                    Objective::Age => totals.age.seconds(),
                    Objective::Harmonic => totals.harmonic,
                };
                assert!((point.spending / budget - 1.0).abs() < 1e-4, "{objective:?} {point:?}");
                assert!((point.value / value - 1.0).abs() < 1e-4, "{objective:?} {budget} {point:?} {value}");
                assert!((point.price / plan.price().unwrap() - 1.0).abs() < 1e-3, "{point:?}");
                let back = outlook.for_value(value).unwrap();
                assert!((back.spending / budget - 1.0).abs() < 1e-2, "{objective:?} {back:?} {point:?}");
                // The gain is the slope.
                let more = outlook.at_budget(budget * 1.01).unwrap();
                let slope = (more.value - point.value).abs() / (0.01 * budget);
                assert!((slope / point.gain - 1.0).abs() < 0.02, "{objective:?} {slope} {point:?}");
            }
        }
    }
    // So many that they are not kept one by one.
    let rate = many_rates(100_000);
    let columns = Columns::new(&rate);
    for objective in Objective::ALL {
        let outlook = Outlook::of(&columns, Order::Fixed, objective).unwrap();
        for budget in [1e3, 1e5] {
            let terms = terms(objective, budget);
            let limits = Limits::default();
            let solution = Solution::of(&columns, terms, &limits).unwrap();
            let totals = solution.tally(columns).totals();
            let point = outlook.at_budget(budget).unwrap();
            let value = match objective {
                Objective::Freshness => totals.freshness,
                Objective::Age => totals.age.seconds(),
                Objective::Harmonic => totals.harmonic,
            };
            assert!((point.value / value - 1.0).abs() < 1e-5, "{objective:?} {point:?} {value}");
            assert!((point.price / solution.price() - 1.0).abs() < 1e-3, "{objective:?} {point:?}");
            // Read again around that price, in three parts, it is the plan's.
            let read = |from: usize, to: usize| {
                Outlook::around(&Columns::new(&rate[from..to]), Order::Fixed, objective, point.price).unwrap()
            };
            let mut near = read(0, 20_000);
            near.merge(read(20_000, 70_000)).unwrap();
            near.merge(read(70_000, 100_000)).unwrap();
            let point = near.at_budget(budget).unwrap();
            assert!((point.price / solution.price() - 1.0).abs() < 1e-9, "{objective:?} {point:?}");
            assert!(near.is_exact(&point) && near.exact_prices().unwrap().contains(&point.price));
        }
    }
    let slow = [1.0];
    let columns = Columns { min_period: Some(&slow), ..Columns::new(&slow) };
    let outlook = Outlook::of(&columns, Order::Fixed, Objective::Freshness).unwrap();
    let refused = outlook.for_value(0.9).unwrap_err().to_string();
    assert!(refused.starts_with("freshness 0.9 is out of reach: the minimum periods allow 0.632"), "{refused}");
    assert!(outlook.for_value(1.0).is_err() && outlook.at_budget(f64::NAN).is_err());
}

/// Columns of nothing but rates, weights and hosts take a shorter way, to the same plan.
#[test]
fn the_short_way_and_the_long_way_agree() {
    let n = 60_000;
    let rate = many_rates(n);
    let weight: Vec<f64> = rate.iter().rev().map(|rate| if *rate > 90.0 { 0.0 } else { rate.sqrt() }).collect();
    // Hosts of very different sizes, the first with half of all pages.
    let host: Vec<u32> = (0..n).map(|i| if i % 2 == 0 { 0 } else { ((i * i) % 997) as u32 }).collect();
    let ones = vec![1.0; n];
    for caps in
        [Vec::new(), vec![2.0; 997], vec![8.0; 997], (0..997).map(|host| f64::from(host) / 10.0 + 0.1).collect()]
    {
        let limits = Limits { floor: 0.0, caps };
        let short = Columns { weight: Some(&weight), host: Some(&host), ..Columns::new(&rate) };
        let long = Columns { cost: Some(&ones), ..short };
        for objective in Objective::ALL {
            let run = |columns: Columns<'_>| {
                let mut out = vec![0.0; n];
                let outcome = plan(columns, terms(objective, 4e3), &limits, &mut out).unwrap();
                (outcome, out)
            };
            let ((one, short), (other, long)) = (run(short), run(long));
            assert!((one.price - other.price).abs() <= 1e-9 * other.price, "{one:?} {other:?}");
            assert!((one.spent / other.spent - 1.0).abs() < 1e-9, "{objective:?} {one:?}");
            for ((a, b), host) in short.iter().zip(&long).zip(&host) {
                let left_over = limits.caps.get(*host as usize).map_or(0.0, |cap| LEFT_OVER * cap);
                assert!((a - b).abs() <= 1e-7 * b + left_over.max(1e-9), "{objective:?} {a} {b}");
            }
            let mut spent_on = vec![0.0; 997];
            host.iter().zip(&short).for_each(|(host, f)| spent_on[*host as usize] += f);
            for (spent, cap) in spent_on.iter().zip(&limits.caps) {
                assert!(*spent <= cap * (1.0 + 1e-9), "a host spends {spent} of {cap}");
            }
        }
    }
}

/// Hosts of very different sizes, more pages than a sample holds and none that is odd: every full host spends its cap to nine digits, every
/// other what its pages want at the plan's price, on any number of threads.
#[test]
fn full_hosts_spend_their_caps() {
    let (n, hosts) = (3 << 19, 4000u32);
    let (rate, random) = (many_rates(n), many_rates(3 * n));
    let weight: Vec<f64> = random[n..2 * n].iter().map(|x| (x / 100.0).powf(0.7)).collect();
    // As many pages on hosts 1 to 2 as on hosts 2 to 4.
    let host_of = |x: &f64| (f64::from(hosts).powf((x.log10() + 4.0) / 6.0)) as u32;
    let host: Vec<u32> = random[2 * n..].iter().map(host_of).collect();
    let columns = Columns { weight: Some(&weight), host: Some(&host), ..Columns::new(&rate) };
    let table = Reciprocal::of(Order::Fixed, Objective::Freshness);
    for (budget, cap) in [(1e5, 40.0), (1e5, 100.0), (1e6, 2e3)] {
        let limits = Limits { floor: 0.0, caps: vec![cap; hosts as usize] };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut frequencies = vec![0.0; n];
            let outcome =
                pool.install(|| plan(columns, terms(Objective::Freshness, budget), &limits, &mut frequencies)).unwrap();
            (outcome, frequencies)
        };
        let (outcome, frequencies) = run(1);
        assert!((outcome.spent / budget - 1.0).abs() < 1e-9, "{outcome:?}");
        let (mut spent, mut wanted) = (vec![0.0; hosts as usize], vec![0.0; hosts as usize]);
        for (i, host) in host.iter().enumerate() {
            spent[*host as usize] += frequencies[i];
            wanted[*host as usize] += rate[i] * table.at(outcome.price * rate[i] / weight[i]);
        }
        let full = wanted.iter().filter(|wanted| **wanted > cap).count();
        assert!((10..hosts as usize / 2).contains(&full), "{full} hosts are full");
        for (host, (spent, wanted)) in spent.iter().zip(&wanted).enumerate() {
            let right = wanted.min(cap);
            assert!((spent - right).abs() <= 2e-9 * right, "host {host}: {spent} instead of {right}, cap {cap}");
        }
        assert!((outcome, frequencies) == run(3));
    }
}
