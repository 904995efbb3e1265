use super::{Estimator, Observation};

/// How well visits were foreseen, each from those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Foresight {
    /// The sum of ln P(what the visit saw), changed or not; 0 is perfect.
    pub log_likelihood: f64,
    /// The number of visits.
    pub visits: u64,
}

impl Foresight {
    /// Adds another.
    #[must_use]
    pub fn plus(self, other: Foresight) -> Foresight {
        Foresight { log_likelihood: self.log_likelihood + other.log_likelihood, visits: self.visits + other.visits }
    }

    /// Per visit.
    pub fn mean(self) -> f64 {
        if self.visits == 0 { 0.0 } else { self.log_likelihood / self.visits as f64 }
    }
}

/// No estimator is believed to be surer than this: else one surprise would outweigh every other visit.
const SUREST: f64 = 1e-6;

/// Scores an estimator by foresight: what it says of each visit, before it is told.
///
/// The predictive log-likelihood of held-out data, where every visit is held out once (Dawid's prequential score). The
/// estimator ends up having observed all of it. Probabilities are kept 1e-6 away from 0 and 1.
pub fn foresight<'a>(
    estimator: &mut (impl Estimator + ?Sized),
    observations: impl IntoIterator<Item = &'a Observation>,
) -> Foresight {
    let mut total = Foresight::default();
    for observation in observations {
        let changed = estimator.change_probability(observation.elapsed()).clamp(SUREST, 1.0 - SUREST);
        total.log_likelihood += if observation.has_changed() { changed.ln() } else { (-changed).ln_1p() };
        total.visits += 1;
        estimator.observe(observation);
    }
    total
}

/// The candidate (a shape, a rhythm, habits, a prior) under which these pages' visits were foreseen best, each page by the
/// estimator that `make` gives it; one for which it gives none is passed over. Nothing without candidates.
///
/// Of candidates that foresee equally well, the last wins. Which model fits a group is found in the same way, among several
/// estimators boxed as `dyn Estimator`.
pub fn best_foreseen<C: Copy, E: Estimator>(
    candidates: impl IntoIterator<Item = C>,
    pages: &[&[Observation]],
    make: impl Fn(C) -> Option<E>,
) -> Option<C> {
    let score = |candidate: C| -> Option<f64> {
        let mut sum = 0.0;
        for page in pages {
            sum += foresight(&mut make(candidate)?, *page).log_likelihood;
        }
        Some(sum)
    };
    let scored = candidates.into_iter().filter_map(|candidate| Some((score(candidate)?, candidate)));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// A richer model must have foreseen visits better than a plain one by so many standard errors over pages.
const BETTER: f64 = 3.0;

/// Were these pages' visits clearly better foreseen by one estimator than by another, a page at a time?
pub(super) fn is_clearly_better<E: Estimator, F: Estimator>(
    pages: &[&[Observation]],
    one: impl Fn() -> E,
    other: impl Fn() -> F,
) -> bool {
    let gain = |page: &&[Observation]| {
        foresight(&mut one(), *page).log_likelihood - foresight(&mut other(), *page).log_likelihood
    };
    let gains: Vec<f64> = pages.iter().map(gain).collect();
    let (sum, squares) = gains.iter().fold((0.0, 0.0), |(sum, squares), gain| (sum + gain, squares + gain * gain));
    let error = (squares - sum * sum / gains.len() as f64).max(0.0).sqrt();
    sum > BETTER * error.max(1.0)
}
