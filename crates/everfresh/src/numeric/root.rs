//! One root finder for every inverse: Newton's method in logarithms, inside a bracket.

/// A positive, non-decreasing function at one x.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluation {
    /// The value: 0 to infinity.
    pub value: f64,
    /// The elasticity `d ln value / d ln x`: exact for speed, or at most a small factor too large.
    pub elasticity: f64,
}

/// The x at which a positive non-decreasing function reaches `target`, from any positive start.
///
/// Utilities are power laws at both ends of their domain (`U ~ t^2` for small t), and a power law is a straight line in
/// logarithms: Newton's method there needs one step from anywhere on it. The step multiplies x, so the relative
/// accuracy does not depend on the magnitude. A bracket catches every step that leaves it, and bisects whenever two
/// steps did not halve it, so that flat and vertical stretches only cost time.
///
/// Returns 0 or infinity where the target is not reached between the smallest and the largest number.
pub(crate) fn solve(target: f64, start: f64, function: impl Fn(f64) -> Evaluation) -> f64 {
    let mut bracket = (0.0f64, f64::INFINITY);
    let mut width_before = f64::INFINITY;
    let mut last_step = f64::INFINITY;
    let mut x = start.clamp(f64::MIN_POSITIVE, f64::MAX);
    for iteration in 1..=400 {
        let Evaluation { value, elasticity } = function(x);
        let gap = (value / target).ln();
        if gap == 0.0 {
            return x;
        }
        if gap < 0.0 {
            bracket.0 = x;
        } else {
            bracket.1 = x;
        }
        // No slope to follow (flat, vertical or not known): the comparisons below fail and the bracket decides.
        let step = if elasticity > 0.0 && elasticity.is_finite() { -gap / elasticity } else { f64::NAN };
        // Done, or down to the rounding noise of the function: a step no smaller than the last. A tiny step over a wide
        // gap is neither: the function is a wall here and the root may be far below it.
        let close = gap.abs() < 1e-3;
        if close && (step.abs() < 1e-14 || (step.abs() < 1e-13 && step.abs() > 0.5 * last_step)) {
            return x * step.exp();
        }
        last_step = step.abs();
        let width = (bracket.1 / bracket.0).ln();
        if width < 3.0 * f64::EPSILON {
            return x;
        }
        let wall = !close && step.abs() < 1e-6;
        let stalled = wall || iteration % 3 == 0 && width.is_finite() && width > 0.5 * width_before;
        if iteration % 3 == 0 {
            width_before = width;
        }
        let next = x * step.clamp(-40.0, 40.0).exp();
        x = if !stalled && next > bracket.0 && next < bracket.1 { next } else { between(bracket, x) };
        if x == 0.0 || x.is_infinite() {
            return x;
        }
    }
    x
}

/// The geometric middle of a bracket; while it is open on one side, far out on that side.
fn between((low, high): (f64, f64), x: f64) -> f64 {
    const LEAP: f64 = 1e6;
    match (low > 0.0, high.is_finite()) {
        (true, true) => low.sqrt() * high.sqrt(),
        (true, false) => x * LEAP,
        (false, _) => x / LEAP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: f64, start: f64, expected: f64, function: impl Fn(f64) -> Evaluation) {
        let found = solve(target, start, function);
        assert!((found - expected).abs() <= 4e-13 * expected, "{found} {expected}");
    }

    #[test]
    fn power_laws_are_found_from_anywhere() {
        for start in [1e-300, 1.0, 1e300] {
            check(9e-20, start, 3e-10, |x| Evaluation { value: x * x, elasticity: 2.0 });
        }
    }

    #[test]
    fn useless_elasticities_only_cost_time() {
        for elasticity in [0.0, f64::NAN, 1e-9, 1.0, 20.0, -1.0, f64::INFINITY] {
            check(2.0, 1.0, 2f64.powf(0.2), |x| Evaluation { value: x.powi(5), elasticity });
        }
    }

    #[test]
    fn jumps_are_bracketed() {
        let step = |x: f64| Evaluation { value: if x < 7.0 { 0.0 } else { 5.0 }, elasticity: 0.0 };
        check(3.0, 1.0, 7.0, step);
    }

    /// Close to its ceiling 1 the inverse 1/(1-x) is a wall: its slope there says nothing of a root far below.
    #[test]
    fn walls_are_left() {
        let wall = |x: f64| Evaluation {
            value: if x < 1.0 { x / (1.0 - x) } else { f64::INFINITY },
            elasticity: 1.0 / (1.0 - x),
        };
        check(1e-3, 1.0 - 1e-15, 1e-3 / 1.001, wall);
    }

    #[test]
    fn unreached_targets_run_to_the_end() {
        let flat = |_: f64| Evaluation { value: 1.0, elasticity: 0.0 };
        assert_eq!(solve(2.0, 1.0, flat), f64::INFINITY);
        assert_eq!(solve(0.5, 1.0, flat), 0.0);
    }
}
