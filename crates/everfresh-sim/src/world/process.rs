use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};
use std::f64::consts::TAU;

/// When the changes of a page happen. Rates are per second.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    /// A Poisson process of constant rate; 0 for a page that never changes.
    Poisson {
        /// λ.
        rate: f64,
    },
    /// Busy and quiet times in turn, each of exponential length: changes in bursts.
    Bursty {
        /// λ in busy times.
        busy: f64,
        /// λ in quiet times.
        quiet: f64,
        /// How often a busy time ends.
        tire: f64,
        /// How often a quiet time ends.
        wake: f64,
        /// Is it busy now?
        is_busy: bool,
        /// When that ends; NaN before the first.
        until_s: f64,
    },
    /// A Poisson process whose rate follows the day or the week: `λ (1 + depth sin(2π t/cycle + phase))`.
    Periodic {
        /// The mean λ.
        rate: f64,
        /// How far the rate goes up and down, 0 to 1.
        depth: f64,
        /// A day or a week, in seconds.
        cycle_s: f64,
        /// Where in the cycle the page stands.
        phase: f64,
    },
    /// A Poisson process whose rate is drawn anew now and then: habits that break.
    Drifting {
        /// The rate about which it is drawn.
        middle: f64,
        /// The standard deviation of the logarithm of the rate.
        sigma: f64,
        /// How often a habit breaks.
        breaks: f64,
        /// λ now.
        rate: f64,
        /// When that ends; NaN before the first.
        until_s: f64,
    },
}

fn gap(rate: f64, rng: &mut impl Rng) -> f64 {
    let unit: f64 = Exp1.sample(rng);
    if rate > 0.0 { unit / rate } else { f64::INFINITY }
}

impl Process {
    /// The time of the first change after `now`, in seconds.
    pub fn next_after(&mut self, now: f64, rng: &mut impl Rng) -> f64 {
        match self {
            Process::Poisson { rate } => now + gap(*rate, rng),
            Process::Periodic { rate, depth, cycle_s, phase } => {
                // Thinning: candidates at the highest rate, each kept in proportion to the rate at its time.
                let highest = *rate * (1.0 + *depth);
                let mut time = now;
                loop {
                    time += gap(highest, rng);
                    let here = 1.0 + *depth * (TAU * time / *cycle_s + *phase).sin();
                    if !time.is_finite() || rng.random::<f64>() * (1.0 + *depth) < here {
                        return time;
                    }
                }
            }
            Process::Bursty { busy, quiet, tire, wake, is_busy, until_s } => {
                if until_s.is_nan() {
                    *is_busy = rng.random::<f64>() * (*tire + *wake) < *wake;
                    *until_s = now + gap(if *is_busy { *tire } else { *wake }, rng);
                }
                in_phases(now, until_s, rng, |ends, rng| {
                    if let Some(now) = ends {
                        *is_busy = !*is_busy;
                        return now + gap(if *is_busy { *tire } else { *wake }, rng);
                    }
                    if *is_busy { *busy } else { *quiet }
                })
            }
            Process::Drifting { middle, sigma, breaks, rate, until_s } => {
                let draw = |rng: &mut _| *middle * (*sigma * normal(rng) - *sigma * *sigma / 2.0).exp();
                if until_s.is_nan() {
                    *rate = draw(rng);
                    *until_s = now + gap(*breaks, rng);
                }
                in_phases(now, until_s, rng, |ends, rng| {
                    if let Some(now) = ends {
                        *rate = draw(rng);
                        return now + gap(*breaks, rng);
                    }
                    *rate
                })
            }
        }
    }
}

fn normal<R: Rng>(rng: &mut R) -> f64 {
    rand_distr::StandardNormal.sample(rng)
}

/// The next change where phases of constant rate follow each other: `phase(None)` is the rate now, `phase(Some(now))` begins
/// the next phase and gives its end.
fn in_phases<R: Rng>(
    mut now: f64,
    until_s: &mut f64,
    rng: &mut R,
    mut phase: impl FnMut(Option<f64>, &mut R) -> f64,
) -> f64 {
    loop {
        let rate = phase(None, rng);
        let time = now + gap(rate, rng);
        if time <= *until_s || until_s.is_infinite() {
            return time;
        }
        now = *until_s;
        *until_s = phase(Some(now), rng);
    }
}
