//! Simulated pages and what estimators make of them: shared by the tests and by `examples/learning.rs`.

use everfresh::curve::{DivergenceCurve, Exponential, Lomax};
use everfresh::estimate::{
    Drifting, Estimate, Estimator, Gamma, Habits, Interval, LastChange, MaximumLikelihood, Naive, Observation, Prior,
    Ratio, Renewal, Sightings, TwoRate, TwoRates,
};
use everfresh::{Page, Period, Plan, Price, Rate, Result, Terms, Unit};
use rand::prelude::*;
use rand_distr::Distribution;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The names of the estimators, in the order of [`estimators`].
pub const NAMES: [&str; 8] =
    ["naive", "ratio", "likelihood", "last change", "gamma", "drifting", "renewal .7", "two rates"];

/// One of each, of which those with a prior have this one; fresh.
pub fn estimators(prior: Prior) -> Result<[Box<dyn Estimator>; 8]> {
    let mean = Period::of(1.0 / prior.mean().per_day(), Unit::Day)?;
    let rhythm = TwoRates::new(mean, mean, 3.0)?;
    Ok([
        Box::new(Naive::new()),
        Box::new(Ratio::new()),
        Box::new(MaximumLikelihood::new()),
        Box::new(LastChange::new()),
        Box::new(Gamma::new(prior)),
        Box::new(Drifting::new(prior, Habits::STEADY)),
        Box::new(Renewal::new(prior, 0.7)?),
        Box::new(TwoRate::new(prior, rhythm)),
    ])
}

pub fn seeded(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

pub fn days(n: f64) -> Result<Period> {
    Period::of(n, Unit::Day)
}

/// What a visit `elapsed` days after another sees of a Poisson page: bare, and with the date of the last change.
pub fn poisson_visit(rng: &mut impl Rng, per_day: f64, elapsed: f64) -> Result<(Observation, Observation)> {
    let since = -(1.0 - rng.random::<f64>()).ln() / per_day;
    if since < elapsed {
        Ok((Observation::changed(days(elapsed)?)?, Observation::last_change(days(elapsed)?, days(since)?)?))
    } else {
        let quiet = Observation::unchanged(days(elapsed)?)?;
        Ok((quiet, quiet))
    }
}

/// Mean and standard deviation of estimate / truth for every estimator, at `r` changes per visit and `visits` visits.
pub fn bias(seed: u64, r: f64, visits: u32, pages: u32) -> Result<[(f64, f64); 8]> {
    let mut rng = seeded(seed);
    let mut sums = [(0.0, 0.0); 8];
    // The prior: about one change a visit, give or take a factor of ten.
    let prior = Prior::new(0.5, Rate::per(1.0, Unit::Day)?)?;
    for _ in 0..pages {
        let mut all = estimators(prior)?;
        for _ in 0..visits {
            let (bare, dated) = poisson_visit(&mut rng, r, 1.0)?;
            for (estimator, name) in all.iter_mut().zip(NAMES) {
                estimator.observe(if name == "last change" { &dated } else { &bare });
            }
        }
        for (sum, estimator) in sums.iter_mut().zip(&all) {
            let ratio = estimator.estimate().rate.per_day() / r;
            *sum = (sum.0 + ratio, sum.1 + ratio * ratio);
        }
    }
    let n = f64::from(pages);
    Ok(sums.map(|(sum, squares)| (sum / n, (squares / n - (sum / n).powi(2)).max(0.0).sqrt())))
}

/// Days between visits, from and to: nobody visits regularly.
pub const IRREGULAR: (f64, f64) = (0.1, 30.0);
/// Every visit long after the next change of most pages.
pub const LATE: (f64, f64) = (20.0, 30.0);

/// Days between two visits, log-uniform.
pub fn between(rng: &mut impl Rng, (from, to): (f64, f64)) -> f64 {
    from * (to / from).powf(rng.random::<f64>())
}

pub fn irregular(rng: &mut impl Rng) -> f64 {
    between(rng, IRREGULAR)
}

/// A rate per day, drawn from a prior.
pub fn draw(rng: &mut impl Rng, prior: Prior) -> f64 {
    let scale = Unit::Day.seconds() / prior.beta().seconds();
    rand_distr::Gamma::new(prior.alpha(), scale).map_or(0.0, |gamma| gamma.sample(rng))
}

/// The shares of pages whose rate lies below, in and above the interval, and the decades that 99 % of the rates span.
pub struct Coverage {
    pub below: f64,
    pub inside: f64,
    pub above: f64,
    pub decades: f64,
}

pub fn coverage(seed: u64, prior: Prior, gaps: (f64, f64), visits: u32, pages: u32) -> Result<Coverage> {
    let mut rng = seeded(seed);
    let (mut below, mut above, mut rates) = (0.0, 0.0, Vec::new());
    for _ in 0..pages {
        let rate = draw(&mut rng, prior).max(1e-15);
        rates.push(rate);
        let mut page = Gamma::new(prior);
        for _ in 0..visits {
            let elapsed = between(&mut rng, gaps);
            page.observe(&poisson_visit(&mut rng, rate, elapsed)?.0);
        }
        let interval = page.estimate().interval;
        below += f64::from(u8::from(rate < interval.low.per_day()));
        above += f64::from(u8::from(interval.high.is_some_and(|high| rate > high.per_day())));
    }
    rates.sort_by(f64::total_cmp);
    let at = |share: f64| rates[(share * rates.len() as f64) as usize];
    let n = f64::from(pages);
    let inside = 1.0 - (below + above) / n;
    Ok(Coverage { below: below / n, inside, above: above / n, decades: (at(0.995) / at(0.005)).log10() })
}

/// How rates differ from page to page: by a gamma law, by its shape and its mean per day, or evenly over six decades, .001 to 1000 per day.
#[derive(Clone, Copy)]
pub enum Law {
    Gamma(f64, f64),
    SixDecades,
}

impl Law {
    pub fn draw(self, rng: &mut impl Rng) -> Result<f64> {
        match self {
            Law::Gamma(shape, mean) => Ok(draw(rng, Prior::new(shape, Rate::per(mean, Unit::Day)?)?).max(1e-12)),
            Law::SixDecades => Ok(10f64.powf(6.0 * rng.random::<f64>() - 3.0)),
        }
    }
}

/// Pages that were visited daily, as often as told and once before, and their rates per day.
pub fn daily(seed: u64, law: Law, visits: u32, pages: u32) -> Result<Vec<(f64, Sightings)>> {
    let mut rng = seeded(seed);
    let page = |_| {
        let rate = law.draw(&mut rng)?;
        let mut seen = Sightings::NONE;
        for _ in 0..visits {
            seen.observe(&poisson_visit(&mut rng, rate, 1.0)?.0);
        }
        Ok((rate, seen))
    };
    (0..pages).map(page).collect()
}

/// The share of pages whose rate lies in its interval.
pub fn inside(pages: &[(f64, Sightings)], interval: impl Fn(&Sightings) -> Interval) -> f64 {
    let holds = |rate: f64, seen: &Sightings| {
        let Interval { low, high, .. } = interval(seen);
        low.per_day() <= rate && high.is_none_or(|high| rate <= high.per_day())
    };
    pages.iter().filter(|(rate, seen)| holds(*rate, seen)).count() as f64 / pages.len() as f64
}

/// The prior that pages tell of, and the share of them in their intervals under it, as `everfresh estimate` gives both.
pub fn learnt_coverage(pages: &[(f64, Sightings)]) -> (Option<Prior>, f64) {
    let seen: Vec<Sightings> = pages.iter().map(|(_, seen)| *seen).collect();
    let prior = Prior::learnt_from(&seen);
    let under = |seen: &Sightings| prior.map_or_else(|| seen.alone(), |prior| Some(seen.believed(prior)));
    let none = Naive::new().estimate().interval;
    (prior, inside(pages, |seen| under(seen).map_or(none, |prior| seen.estimate_open(prior).interval)))
}

/// The mean freshness under the true rates (per day) of pages visited with these periods.
fn freshness(rates: &[f64], periods: impl Iterator<Item = Period>) -> Result<f64> {
    let mut sum = 0.0;
    for (rate, period) in rates.iter().zip(periods) {
        sum += Exponential::new(Rate::per(*rate, Unit::Day)?).mean_freshness(period);
    }
    Ok(sum / rates.len() as f64)
}

/// The periods of the plan that takes estimated rates for true.
fn planned(rates: impl Iterator<Item = Rate>, per_day: f64) -> Result<Vec<Period>> {
    let pages: Vec<Page> = rates.map(Page::new).collect();
    let plan = Plan::new(&pages, Terms::new(Price::for_budget(per_day, Unit::Day)?))?;
    Ok(plan.entries().iter().map(|entry| entry.frequency.period()).collect())
}

/// The periods of the plan by curves: all are visited at one utility, that which spends the budget.
fn planned_by_curves(curves: &[Lomax], per_day: f64) -> Vec<Period> {
    let periods = |price: f64| -> Vec<Period> { curves.iter().map(|curve| curve.period(price)).collect() };
    let (mut low, mut high) = (1e-6f64, 1e12f64);
    for _ in 0..60 {
        let price = (low * high).sqrt();
        let spent: f64 = periods(price).iter().map(|period| period.frequency().per_day()).sum();
        if spent > per_day { low = price } else { high = price }
    }
    periods((low * high).sqrt())
}

/// A page never seen to change is no static page: without this, estimators without a prior lose it, and most of the freshness.
fn at_least_half_a_change(estimate: &Estimate) -> Result<Rate> {
    if estimate.rate > Rate::STATIC {
        return Ok(estimate.rate);
    }
    Rate::per(0.5 / estimate.knowledge.exposure.days(), Unit::Day)
}

/// Freshness of plans from estimates: the optimum with known rates, all pages alike, then every estimator, then the gamma
/// posterior through its curve, from bare changes and from dated ones.
pub struct Plans {
    pub optimum: f64,
    pub uniform: f64,
    pub estimated: [f64; 8],
    pub curve: f64,
    pub dated: f64,
}

pub fn plans(seed: u64, prior: Prior, visits: u32, pages: u32, budget_per_page: f64) -> Result<Plans> {
    let mut rng = seeded(seed);
    let budget = budget_per_page * f64::from(pages);
    let (mut rates, mut estimates) = (Vec::new(), vec![Vec::new(); 8]);
    let (mut bare_curves, mut dated_curves) = (Vec::new(), Vec::new());
    for _ in 0..pages {
        let rate = draw(&mut rng, prior).max(1e-9);
        let (mut all, mut of_bare, mut of_dated) = (estimators(prior)?, Gamma::new(prior), Gamma::new(prior));
        for _ in 0..visits {
            let elapsed = irregular(&mut rng);
            let (bare, dated) = poisson_visit(&mut rng, rate, elapsed)?;
            for (estimator, name) in all.iter_mut().zip(NAMES) {
                estimator.observe(if name == "last change" { &dated } else { &bare });
            }
            of_bare.observe(&bare);
            of_dated.observe(&dated);
        }
        rates.push(rate);
        bare_curves.push(of_bare.curve()?);
        dated_curves.push(of_dated.curve()?);
        for (estimates, estimator) in estimates.iter_mut().zip(&all) {
            estimates.push(at_least_half_a_change(&estimator.estimate())?);
        }
    }
    let known = rates.iter().map(|rate| Rate::per(*rate, Unit::Day)).collect::<Result<Vec<_>>>()?;
    let mut estimated = [0.0; 8];
    for (result, estimates) in estimated.iter_mut().zip(estimates) {
        *result = freshness(&rates, planned(estimates.into_iter(), budget)?.into_iter())?;
    }
    Ok(Plans {
        optimum: freshness(&rates, planned(known.into_iter(), budget)?.into_iter())?,
        uniform: freshness(&rates, rates.iter().map(|_| days(1.0 / budget_per_page).unwrap_or(Period::NEVER)))?,
        estimated,
        curve: freshness(&rates, planned_by_curves(&bare_curves, budget).into_iter())?,
        dated: freshness(&rates, planned_by_curves(&dated_curves, budget).into_iter())?,
    })
}

/// Visits to a page whose changes are a Weibull renewal process of this shape and mean rate, one per `elapsed` days.
pub fn weibull_visits(
    rng: &mut impl Rng,
    per_day: f64,
    shape: f64,
    elapsed: f64,
    visits: u32,
) -> Result<Vec<Observation>> {
    let scale = 1.0 / (per_day * gamma_function(1.0 + 1.0 / shape));
    let mut gap = || scale * (-(1.0 - rng.random::<f64>()).ln()).powf(1.0 / shape);
    // Start in the middle of its life, not at a change.
    let mut next = gap();
    while next < 20.0 / per_day {
        next += gap();
    }
    next -= 20.0 / per_day;
    let mut seen = Vec::new();
    for visit in 1..=visits {
        let now = f64::from(visit) * elapsed;
        let changed = next < now;
        while next < now {
            next += gap();
        }
        seen.push(if changed {
            Observation::changed(days(elapsed)?)?
        } else {
            Observation::unchanged(days(elapsed)?)?
        });
    }
    Ok(seen)
}

/// Γ(x) for x of a few, by Stirling's series: the library's is not public.
fn gamma_function(x: f64) -> f64 {
    if x < 12.0 {
        return gamma_function(x + 1.0) / x;
    }
    (std::f64::consts::TAU / x).sqrt() * (x / std::f64::consts::E).powf(x) * (1.0 / (12.0 * x)).exp()
}
