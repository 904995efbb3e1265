//! Every closed form against digits computed elsewhere with 80 digits (`digits/generate.py`), over the whole domain.

#![allow(clippy::unwrap_used, clippy::panic)]

use everfresh::curve::{DivergenceCurve, Lomax, Scroll, Weibull};
use everfresh::gamma_model::GammaModel;
use everfresh::numeric::ein;
use everfresh::{Objective, Order, Period, Rate, Unit, kernel};

/// The bound for closed forms; inverses have a tighter one.
const CLOSED: f64 = 1e-12;
const INVERSE: f64 = 1e-13;

fn order(name: &str) -> Order {
    match name {
        "fixed" => Order::Fixed,
        "random" => Order::Random,
        "purely-random" => Order::PurelyRandom,
        _ => panic!("order {name}"),
    }
}

fn objective(name: &str) -> Objective {
    match name {
        "freshness" => Objective::Freshness,
        "age" => Objective::Age,
        "harmonic" => Objective::Harmonic,
        _ => panic!("objective {name}"),
    }
}

fn seconds(t: f64) -> Period {
    Period::of(t, Unit::Second).unwrap()
}

fn of_curve(curve: &impl DivergenceCurve, what: &str, t: f64) -> f64 {
    match what {
        "divergence" => curve.divergence(seconds(t)),
        "area" => curve.area(seconds(t)),
        "utility" => curve.utility(seconds(t)),
        "freshness" => curve.mean_freshness(seconds(t)),
        _ => panic!("{what} of a curve"),
    }
}

/// Our value of a row, and how near it has to be.
fn ours(function: &str, [a, b, c]: [f64; 3]) -> (f64, f64) {
    let one = Rate::per(1.0, Unit::Second).unwrap();
    let parts: Vec<&str> = function.split('.').collect();
    match parts[..] {
        ["freshness", o] => (order(o).freshness(a), CLOSED),
        ["staleness", o] => (order(o).staleness(a), CLOSED),
        ["age", o] => (order(o).age_in_periods(a), CLOSED),
        ["harmonic", o] => (order(o).harmonic(a), CLOSED),
        ["utility", what, o] => (order(o).utility(objective(what), a), CLOSED),
        ["ein"] => (ein(a), CLOSED),
        ["g_inverse"] => (kernel::g_inverse(a), INVERSE),
        ["h_inverse"] => (kernel::h_inverse(a), INVERSE),
        ["k_inverse"] => (kernel::k_inverse(a), INVERSE),
        ["random_utility_inverse"] => (Order::Random.ratio_at_utility(Objective::Freshness, a), INVERSE),
        ["ratio_for_freshness", o] => (order(o).ratio_for_freshness(a).unwrap(), INVERSE),
        ["lomax", what] => (of_curve(&Lomax::new(a, seconds(1.0)).unwrap(), what, b), CLOSED),
        ["weibull", what] => (of_curve(&Weibull::new(one, a).unwrap(), what, b), CLOSED),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
        ["scroll", what] => (of_curve(&Scroll::new(one, a as u32, b).unwrap(), what, c), CLOSED),
        ["gamma", "freshness"] => (GammaModel::new(a).unwrap().uniform_freshness(b).unwrap(), CLOSED),
        ["gamma", "age"] => (GammaModel::new(a).unwrap().uniform_age_in_periods(b).unwrap(), CLOSED),
        _ => panic!("no function {function}"),
    }
}

#[test]
fn closed_forms_have_their_digits() {
    let mut reader = csv::Reader::from_reader(include_str!("digits/digits.csv").as_bytes());
    let mut rows = 0;
    let mut bad = Vec::new();
    for record in reader.records() {
        let record = record.unwrap();
        let argument = |i: usize| if record[i].is_empty() { 0.0 } else { record[i].parse().unwrap() };
        let expected: f64 = record[4].parse().unwrap();
        let (value, tolerance) = ours(&record[0], [argument(1), argument(2), argument(3)]);
        let error = (value / expected - 1.0).abs();
        if error > tolerance || error.is_nan() {
            bad.push(format!("{}: {value} is off by {error:.1e}", record.iter().collect::<Vec<_>>().join(",")));
        }
        rows += 1;
    }
    assert!(bad.is_empty(), "{} of {rows} rows:\n{}", bad.len(), bad.join("\n"));
    assert!(rows > 1800, "only {rows} rows");
}

/// The inverses that have no table: back through the function, whose digits are checked above.
#[test]
fn inverses_come_back() {
    for order in Order::ALL {
        for objective in Objective::ALL {
            for i in -80..=60 {
                let r = 10f64.powf(f64::from(i) / 10.0);
                let y = order.utility(objective, r);
                let found = order.ratio_at_utility(objective, y);
                // Near the ceiling a rounding of y moves r far; what must come back is y.
                let again = order.utility(objective, found);
                let conditioning = order.utility_elasticity(objective, r);
                let tolerance = 1e-13 + 1e-15 / conditioning;
                if y < objective.ceiling() * (1.0 - 1e-14) {
                    assert!((found / r - 1.0).abs() < tolerance, "{order:?} {objective:?} {r}: {found}");
                    assert!((again / y - 1.0).abs() < 1e-13, "{order:?} {objective:?} {r}: {again} {y}");
                }
            }
        }
        for i in 1..100 {
            let freshness = f64::from(i) / 100.0;
            let r = order.ratio_for_freshness(freshness).unwrap();
            assert!((order.freshness(r) / freshness - 1.0).abs() < 1e-14, "{order:?} {freshness}");
            let r = order.ratio_for_age(freshness * 30.0).unwrap();
            assert!((r * order.age_in_periods(r) / (freshness * 30.0) - 1.0).abs() < 1e-14, "{order:?} {freshness}");
        }
    }
}
