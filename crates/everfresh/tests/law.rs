//! Every number that the papers print and that the law reproduces, and the digits computed for it.

#![allow(clippy::unwrap_used, clippy::panic)]

use everfresh::curve::{DivergenceCurve, Exponential};
use everfresh::gamma_model::GammaModel;
use everfresh::income::{Asset, Population, explaining_benefit};
use everfresh::kernel::{g, g_complement_inverse, g_inverse, h};
use everfresh::{Allocation, Objective, Order, Page, Period, Plan, Price, Rate, Terms, Unit};

/// Equal to all printed digits: half a unit in the last printed place.
#[track_caller]
fn digits(value: f64, printed: &str) {
    let expected: f64 = printed.parse().unwrap();
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let last_place = 10f64.powi(exponent.parse::<i32>().unwrap() - i32::try_from(places).unwrap());
    // A value that lies on the rounding edge may fall to either side by its own last place.
    assert!(
        (value - expected).abs() <= 0.5 * last_place + 4.0 * f64::EPSILON * value.abs(),
        "{value} is not {printed}"
    );
}

fn per_day(rate: f64) -> Rate {
    Rate::per(rate, Unit::Day).unwrap()
}

/// r; freshness under fixed, random and purely random order; f times age under the same.
///
/// A table in circulation has ...189e-9 for the age under random order at 1e-8; its own next row, the expansion
/// `r/4 - 31/360 r^2` and 80 digits say ...139e-9.
const TABLE_II: &str = include_str!("digits/table-ii.txt");

#[test]
fn cgm03_table_ii_freshness_and_age() {
    let rows: Vec<Vec<&str>> = TABLE_II.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 9);
    for row in rows {
        let r: f64 = row[0].parse().unwrap();
        for (i, order) in Order::ALL.into_iter().enumerate() {
            digits(order.freshness(r), row[i + 1]);
            digits(order.age_in_periods(r), row[i + 4]);
        }
    }
}

#[test]
fn utilities_and_their_inverse() {
    for (r, printed_g, printed_h) in [
        (1e-8, "4.99999996666667e-17", "3.33333332083333e-25"),
        (1e-4, "4.99966667916633e-9", "3.3332083366666e-13"),
        (0.01, "4.96679133402659e-5", "3.3208665973411e-7"),
        (0.1, "0.00467884016044447", "0.00032115983955553"),
        (1.0, "0.264241117657115", "0.235758882342885"),
        (10.0, "0.999500600772613", "49.0004993992274"),
    ] {
        digits(g(r), printed_g);
        digits(h(r), printed_h);
    }
    for (y, printed) in [
        (1e-12, "1.41421422904019e-6"),
        (1e-6, "0.00141488066147934"),
        (1e-3, "0.0454020177694896"),
        (0.1, "0.531811608389612"),
        (0.5, "1.67834699001666"),
    ] {
        digits(g_inverse(y), printed);
    }
    // Near 1 the decimal y is not a double; its distance from 1 is one, to all digits.
    for (q, printed) in [(0.1, "3.88972016986743"), (1e-3, "9.23341347645159"), (1e-6, "16.6884207908599")] {
        digits(g_complement_inverse(q), printed);
        assert!((g_inverse(1.0 - q) / g_complement_inverse(q) - 1.0).abs() < 1e-10);
    }
}

#[test]
fn cgm99_gamma_model() {
    for (delta_squared, r, freshness, age) in [
        (0.25f64, 1.0, "0.650666666667", "0.126666666667"),
        (0.25, 5.0, "0.24325560128", "0.318930041152"),
        (0.81, 1.0, "0.683813814359", "0.116608058081"),
        (4.0, 5.0, "0.587326502153", "0.17617552728"),
        (1.0, 1.0, "0.69314718056", "0.11370563888"),
        (0.5, 1.0, "0.666666666667", "0.121860432433"),
    ] {
        let model = GammaModel::new(delta_squared.sqrt()).unwrap();
        digits(model.uniform_freshness(r).unwrap(), freshness);
        digits(model.uniform_age_in_periods(r).unwrap(), age);
        assert!(model.uniform_freshness(r).unwrap() >= model.proportional_freshness(r).unwrap());
        let proportional = model.proportional_age_in_periods(r).unwrap();
        assert!(model.uniform_age_in_periods(r).unwrap() <= proportional);
        assert_eq!(proportional.is_infinite(), delta_squared >= 1.0);
    }
    let model = GammaModel::new(0.5).unwrap();
    digits(model.proportional_freshness(1.0).unwrap(), "0.632120558829");
    digits(model.proportional_age_in_periods(1.0).unwrap(), "0.176160745105");
}

fn frequencies(pages: &[Page], objective: Objective, budget_per_day: f64) -> Vec<f64> {
    let price = Price::for_budget(budget_per_day, Unit::Day).unwrap();
    let plan = Plan::new(pages, Terms { objective, ..Terms::new(price) }).unwrap();
    plan.entries().iter().map(|entry| entry.frequency.per_day()).collect()
}

#[track_caller]
fn check_frequencies(pages: &[Page], objective: Objective, budget_per_day: f64, printed: &str) {
    let ours = frequencies(pages, objective, budget_per_day);
    for (value, printed) in ours.iter().zip(printed.split_whitespace()) {
        digits(*value, printed);
    }
    assert_eq!(ours.len(), printed.split_whitespace().count());
}

#[test]
fn cgm03_table_iv() {
    let pages: Vec<Page> = [1.0, 2.0, 3.0, 4.0, 5.0].map(|rate| Page::new(per_day(rate))).to_vec();
    check_frequencies(&pages, Objective::Freshness, 5.0, "1.150 1.358 1.354 1.138 0.000");
    check_frequencies(&pages, Objective::Age, 5.0, "0.835 0.968 1.034 1.071 1.093");
}

#[test]
fn cgm03_table_v() {
    let pages: Vec<Page> = [(1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (2.0, 1.0), (2.0, 2.0), (2.0, 3.0)]
        .map(|(weight, rate)| Page::new(per_day(rate)).with_weight(weight).unwrap())
        .to_vec();
    check_frequencies(&pages, Objective::Freshness, 6.0, "0.778 0.764 0.000 1.282 1.556 1.621");
    check_frequencies(&pages, Objective::Age, 6.0, "0.765 0.881 0.936 0.994 1.167 1.258");
}

/// CGM03 section 5.4: the curve of f against λ at price 1 has its maximum at (0.53, 0.3) and ends at λ = 1.
#[test]
fn cgm03_section_5_4_maximum() {
    let f = |rate: f64| rate / g_inverse(rate);
    let best = (1..100_000).map(|i| f64::from(i) * 1e-5).max_by(|a, b| f(*a).total_cmp(&f(*b))).unwrap();
    digits(best, "0.535");
    digits(f(best), "0.298");
    assert!(f(1.0 - 1e-12) > 0.0);
    assert_eq!(f(1.0), 0.0);
    digits(Order::Fixed.ratio_for_freshness(0.8).unwrap(), "0.46421");
}

/// The classes of CGM03 figure 17: mean intervals in days, and the share of pages in each.
const INTERVALS: [f64; 5] = [1.0, 7.0, 30.0, 120.0, 365.0];

/// Classes as pages: a share of the pages has that share of weight and of cost.
fn classes(shares: [f64; 5]) -> Vec<Page> {
    let class = |(interval, share): (f64, f64)| {
        Page::new(per_day(1.0 / interval)).with_weight(share).unwrap().with_cost(share).unwrap()
    };
    INTERVALS.into_iter().zip(shares).filter(|(_, share)| *share > 0.0).map(class).collect()
}

#[track_caller]
fn check_table_vii(shares: [f64; 5], allocation: Allocation, freshness: &str, age_days: &str) {
    let price = Price::for_budget(shares.iter().sum::<f64>() / 30.0, Unit::Day).unwrap();
    let pages = classes(shares);
    let plan = |objective| Plan::new(&pages, Terms { objective, allocation, ..Terms::new(price) }).unwrap();
    digits(plan(Objective::Freshness).totals().freshness, freshness);
    digits(plan(Objective::Age).totals().age.days(), age_days);
}

#[test]
fn cgm03_table_vii_overall() {
    let overall = [0.23, 0.15, 0.16, 0.16, 0.30];
    check_table_vii(overall, Allocation::Proportional, "0.129", "406");
    check_table_vii(overall, Allocation::Uniform, "0.573", "5.61");
    check_table_vii(overall, Allocation::Optimal, "0.616", "4.30");
}

fn per_year(rate: f64) -> Rate {
    Rate::per(rate, Unit::Year).unwrap()
}

fn years(n: f64) -> Period {
    Period::of(n, Unit::Year).unwrap()
}

/// RN15's four groups: rate a year, best period in years, best net income a year.
const GROUPS: [(f64, &str, &str); 4] =
    [(0.457, "3.38", "0.213"), (0.316, "3.61", "0.319"), (0.163, "4.42", "0.486"), (0.098, "5.36", "0.591")];

#[test]
fn rn15_table_2() {
    let printed =
        [[94, 89, 80, 66, 39, 22], [96, 93, 86, 74, 50, 30], [98, 96, 92, 85, 68, 49], [99, 98, 95, 91, 79, 64]];
    for ((rate, _, _), row) in GROUPS.into_iter().zip(printed) {
        for (period, percent) in [0.25, 0.5, 1.0, 2.0, 5.0, 10.0].into_iter().zip(row) {
            let staleness = Exponential::new(per_year(rate)).mean_divergence(years(period));
            digits(100.0 * (1.0 - staleness), &percent.to_string());
        }
    }
}

#[test]
fn rn15_optimal_periods_and_incomes() {
    let assets: Vec<_> =
        GROUPS.map(|(rate, _, _)| Asset::new(Exponential::new(per_year(rate)), 1.0, Unit::Year, 1.0).unwrap()).to_vec();
    for ((_, period, income), asset) in GROUPS.into_iter().zip(&assets) {
        let best = asset.optimum();
        digits(best.period.seconds() / Unit::Year.seconds(), period);
        digits(best.net_income_per_second * Unit::Year.seconds(), income);
        assert!(!best.is_futile());
    }
    let population = Population::new(assets).unwrap();
    let mean = |income: f64| income * Unit::Year.seconds() / 4.0;
    digits(mean(population.optimum().net_income_per_second), "0.40266");
    // The uniform period that RN15 compares with: the inverse of the mean frequency.
    let uniform = population.at_frequency(years(4.06).frequency());
    digits(mean(uniform.net_income_per_second), "0.39733");
    let mean_period = years(4.0 / (population.optimum().visits.per_second() * Unit::Year.seconds()));
    digits(mean_period.seconds() / Unit::Year.seconds(), "4.06");
}

/// 270 pages in the five classes, read as half-lives, visited by a month of 30 days.
fn sites(benefit_cost_ratio: f64) -> Population<Exponential> {
    let shares = [0.23, 0.15, 0.16, 0.16, 0.30];
    let asset = |(interval, share): (f64, f64)| {
        let rate = Rate::from_half_life(Period::of(interval, Unit::Day).unwrap()).unwrap();
        let pages = 270.0 * share;
        Asset::new(Exponential::new(rate), benefit_cost_ratio * pages, Unit::Day, pages).unwrap()
    };
    Population::new(INTERVALS.into_iter().zip(shares).map(asset).collect()).unwrap()
}

#[test]
fn rn15_web_pages() {
    for (ratio, visits, loss_percent) in [
        (0.1, "92", "23.0"),
        (0.3, "243", "0.2"),
        (0.355, "270", "0.0"),
        (0.5, "333", "0.5"),
        (1.0, "1033", "6.0"),
        (10.0, "4712", "25.8"),
        (100.0, "16018", "31.9"),
    ] {
        let population = sites(ratio);
        // With a cost of 1 per page the spending counts the visits.
        digits(population.optimum().spending_per_second * Unit::Month.seconds(), visits);
        digits(100.0 * population.loss_on_budget(270.0, Unit::Month).unwrap().unwrap(), loss_percent);
    }
}

#[test]
fn rn15_search_engine() {
    let observed = "75/day".parse().unwrap();
    let benefit = |half_life: f64| {
        let rate = Rate::from_half_life(Period::of(half_life, Unit::Day).unwrap()).unwrap();
        explaining_benefit(&Exponential::new(rate), observed).unwrap() * Unit::Day.seconds()
    };
    digits(benefit(1.0), "16331");
    digits(benefit(0.5), "8216");
}
