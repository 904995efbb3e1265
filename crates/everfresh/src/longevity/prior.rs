use super::{Fitted, Point, fit};
use crate::curve::{DivergenceCurve, Lomax, Scaled};
use crate::error::{Result, within};
use crate::estimate::Posterior;
use crate::units::Period;
use std::ops::Bound;

/// How far the changes of a page moved it: their number and the sum of their divergences. 8 bytes.
///
/// The divergence of a change is that between copy and source when a visit finds them to differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Depths {
    changes: f32,
    sum: f32,
}

impl Depths {
    /// No change seen.
    pub const NONE: Depths = Depths { changes: 0.0, sum: 0.0 };

    /// Takes in that a visit found the page moved by `divergence`, above 0 and at most 1.
    pub fn observe(&mut self, divergence: f64) -> Result<()> {
        let divergence = share("divergence of a change", divergence)?;
        self.changes += 1.0;
        #[expect(clippy::cast_possible_truncation, reason = "seven digits of evidence suffice")]
        let moved = divergence as f32;
        self.sum += moved;
        Ok(())
    }

    /// The number of changes.
    pub fn changes(&self) -> f64 {
        f64::from(self.changes)
    }

    /// The mean divergence of a change; none without changes.
    pub fn mean(&self) -> Option<f64> {
        (self.changes > 0.0).then(|| f64::from(self.sum) / self.changes())
    }
}

fn share(what: &'static str, value: f64) -> Result<f64> {
    within(what, value, Bound::Excluded(0.0), Bound::Included(1.0), "above 0 and at most 1")
}

fn part(what: &'static str, value: f64) -> Result<f64> {
    within(what, value, Bound::Included(0.0), Bound::Included(1.0), "between 0 and 1")
}

/// What is believed of the changes of a group's pages, beside how often they come: five numbers that all of them share.
///
/// * the **depth** μ of a change, which counts as much as m changes that a page showed itself: after n changes that moved
///   the page by `d_i` it is `(m μ + Σ d_i)/(m + n)`, as under a beta prior (and as in Bühlmann's credibility, 1967);
/// * the **spread** s: where changes fall. At 0 every change overwrites the same region, and a page never differs by more than
///   the depth of one change; at 1 each falls anywhere, so that changes add up until nothing is left. In the end a page
///   of depth d differs by `d + s (1 - d)`;
/// * the **dispersion** φ: how many changes seen count as one witness of the page's rate. Real pages change in bursts and change
///   their habits, so that what one page did says less of what it will do than Poisson changes would;
/// * the **trust** τ in curves fitted to a page's own points, 0 to 1.
///
/// [`ContentPrior::learn`] finds them from what pages did next.
///
/// ```
/// use everfresh::longevity::{ContentPrior, Depths};
/// // The group says 0.2, which counts as three changes; the page has shown two of 0.4: (0.6 + 0.8)/5.
/// let mut depths = Depths::NONE;
/// depths.observe(0.4)?;
/// depths.observe(0.4)?;
/// assert!((ContentPrior::default().depth_of(depths) - 0.28).abs() < 1e-7);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContentPrior {
    depth: f64,
    depth_changes: f64,
    spread: f64,
    dispersion: f64,
    trust: f64,
}

/// The values among which [`ContentPrior::learn`] chooses.
const DEPTH_CHANGES: [f64; 3] = [1.0, 3.0, 10.0];
const DISPERSIONS: [f64; 3] = [1.0, 3.0, 10.0];

/// As many pages the numbers that learning started from count. Many: what pages do in one stretch of time they do together.
const BASE_PAGES: f64 = 100.0;

/// With so many witnesses of its own a page's fit gets half of the trust.
const TRUSTED_CHANGES: f64 = 3.0;

/// Fits never have more than this share of the say: pages change their habits together, and no lesson of the past shows that.
const MOST_TRUST: f64 = 0.5;

impl Default for ContentPrior {
    /// Where nothing is known: a change moves a fifth of the page (for three changes' worth), changes spread a little, three
    /// changes are one witness, and fits have a tenth of the say. About the middle of what document collections show.
    fn default() -> Self {
        ContentPrior { depth: 0.2, depth_changes: 3.0, spread: 0.15, dispersion: 3.0, trust: 0.1 }
    }
}

impl ContentPrior {
    /// The same with another depth of a change, above 0 and at most 1, that counts as `changes` changes, 0.01 to 1e6.
    pub fn with_depth(self, depth: f64, changes: f64) -> Result<Self> {
        let counts = "changes that the depth counts as";
        within(counts, changes, Bound::Included(0.01), Bound::Included(1e6), "between 0.01 and 1e6")?;
        Ok(ContentPrior { depth: share("depth of a change", depth)?, depth_changes: changes, ..self })
    }

    /// The same with another spread, 0 to 1.
    pub fn with_spread(self, spread: f64) -> Result<Self> {
        Ok(ContentPrior { spread: part("spread of changes", spread)?, ..self })
    }

    /// The same with another dispersion, 1 to 1000.
    pub fn with_dispersion(self, dispersion: f64) -> Result<Self> {
        within("dispersion", dispersion, Bound::Included(1.0), Bound::Included(1000.0), "between 1 and 1000")?;
        Ok(ContentPrior { dispersion, ..self })
    }

    /// The same with another trust in fits, 0 to 1.
    pub fn with_trust(self, trust: f64) -> Result<Self> {
        Ok(ContentPrior { trust: part("trust", trust)?, ..self })
    }

    /// μ, the mean divergence of a change.
    pub const fn depth(&self) -> f64 {
        self.depth
    }

    /// m, as how many changes of a page the depth counts.
    pub const fn depth_changes(&self) -> f64 {
        self.depth_changes
    }

    /// s, where changes fall: 0 always in the same place, 1 anywhere.
    pub const fn spread(&self) -> f64 {
        self.spread
    }

    /// φ, how many changes make one witness.
    pub const fn dispersion(&self) -> f64 {
        self.dispersion
    }

    /// τ, the trust in fits.
    pub const fn trust(&self) -> f64 {
        self.trust
    }

    /// The depth of a change of a page that showed these: `(m μ + Σ d_i)/(m + n)`.
    pub fn depth_of(&self, depths: Depths) -> f64 {
        let all = self.depth_changes * self.depth + f64::from(depths.sum);
        (all / (self.depth_changes + depths.changes())).clamp(f64::EPSILON, 1.0)
    }

    /// The prior of a part of the pages: the same, but for a depth moved by what the pages of the part showed.
    ///
    /// Each page counts by its credibility `n/(n + m)`, and the depth of `self` as one page that is known well.
    #[must_use]
    pub fn of_group(&self, pages: impl IntoIterator<Item = Depths>) -> ContentPrior {
        ContentPrior { depth: self.credible_mean(pages, 1.0), ..*self }
    }

    fn credible_mean(&self, pages: impl IntoIterator<Item = Depths>, base_pages: f64) -> f64 {
        let (mut sum, mut weight) = (base_pages * self.depth, base_pages);
        for depths in pages {
            let credibility = depths.changes() / (depths.changes() + self.depth_changes);
            sum += credibility * depths.mean().unwrap_or(0.0);
            weight += credibility;
        }
        (sum / weight).clamp(f64::EPSILON, 1.0)
    }

    /// The curve of a page without a fit: what its rate, its depths and this prior say.
    fn without_fit(&self, rate: &Posterior, depths: Depths) -> Result<Scaled<Lomax>> {
        let depth = self.depth_of(depths);
        let end = depth + self.spread * (1.0 - depth);
        let rate = rate.evidence().scaled(1.0 / self.dispersion).posterior(rate.prior());
        Scaled::new(Lomax::new(rate.alpha(), Period::raw(rate.beta().seconds() * end / depth))?, end)
    }

    /// How much the fit of a page counts: `τ k/(k + 3)` with the k witnesses that its changes are.
    fn weight_of_fit(&self, rate: &Posterior) -> f64 {
        let witnesses = rate.evidence().changes() / self.dispersion;
        self.trust * witnesses / (witnesses + TRUSTED_CHANGES)
    }

    /// What is to be believed of a page: its curve, after what its visits saw.
    ///
    /// `rate` is the gamma posterior of how often the page changes, `depths` how far its changes moved it, `points` its combined
    /// change profiles; of a new page all are empty, and the curve is that of its group.
    ///
    /// Without a fit, changes come at a rate that is Gamma(A, B), with `A = α + k/φ` and `B = β + e/φ`; a change moves the page by d
    /// and in the end the page differs by `E = d + s (1 - d)`. If each change replaces the share d/E of what changes at all,
    /// wherever it is, then at rate λ the divergence is `E (1 - e^(-λ t d/E))`, and over all that λ may be
    ///
    /// `D(t) = E (1 - (1 + t d/(E B))^-A)`
    ///
    /// which starts as the depth times the rate, `d A/B`. A quiet page has A = α left: its curve still rises, so that it is
    /// visited again however long it was quiet. The curve [`fit`]ted to the points takes part with the weight `τ k/(k + 3)`.
    ///
    /// Fails where the rate is not of a legal magnitude.
    ///
    /// ```
    /// use everfresh::curve::DivergenceCurve;
    /// use everfresh::estimate::{Evidence, Prior};
    /// use everfresh::longevity::{ContentPrior, Depths};
    /// use everfresh::{Period, Unit};
    /// // Pages of the group change about once in 50 days; a change moves a fifth. This one was quiet for a year.
    /// let rates = Prior::new(0.5, "1/50days".parse()?)?;
    /// let year = Period::of(1.0, Unit::Year)?;
    /// let (new, quiet) = (Evidence::NONE.posterior(rates), Evidence::watched(0, year)?.posterior(rates));
    /// let group = ContentPrior::default();
    /// let visits = |rate| Ok::<_, everfresh::Error>(group.believed(rate, Depths::NONE, &[])?.period(Unit::Day.seconds()));
    /// // Visited every month when new, and every two months now: the quiet year is believed, but not for ever.
    /// assert_eq!(format!("{:.0} {:.0}", visits(&new)?.days(), visits(&quiet)?.days()), "30 61");
    /// # Ok::<(), everfresh::Error>(())
    /// ```
    pub fn believed(&self, rate: &Posterior, depths: Depths, points: &[Point]) -> Result<Believed> {
        let doubtful = self.without_fit(rate, depths)?;
        let weight = self.weight_of_fit(rate);
        let fitted = if weight > 0.0 { fit(points, doubtful) } else { Fitted::Lomax(doubtful) };
        Ok(Believed { doubtful, fitted, weight })
    }
}

/// The curve that is believed of a page: a mixture of a fit to its own points and of what is known of its group.
///
/// Made by [`ContentPrior::believed`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Believed {
    doubtful: Scaled<Lomax>,
    fitted: Fitted,
    weight: f64,
}

impl Believed {
    /// The fit to the page's own points.
    pub const fn fitted(&self) -> &Fitted {
        &self.fitted
    }

    /// The curve that takes the rest of the weight: a rate known only in part, times what its changes amount to.
    pub const fn doubtful(&self) -> &Scaled<Lomax> {
        &self.doubtful
    }

    /// How much the fit counts, 0 to 1.
    pub const fn weight(&self) -> f64 {
        self.weight
    }

    fn mix(&self, doubtful: f64, fitted: impl FnOnce(&Fitted) -> f64) -> f64 {
        // A curve of no weight is not asked: lists take time, and infinite ceilings must not count.
        if self.weight == 0.0 { doubtful } else { (1.0 - self.weight) * doubtful + self.weight * fitted(&self.fitted) }
    }
}

impl DivergenceCurve for Believed {
    fn divergence(&self, elapsed: Period) -> f64 {
        self.mix(self.doubtful.divergence(elapsed), |fitted| fitted.divergence(elapsed))
    }

    fn slope(&self, elapsed: Period) -> f64 {
        self.mix(self.doubtful.slope(elapsed), |fitted| fitted.slope(elapsed))
    }

    fn area(&self, elapsed: Period) -> f64 {
        self.mix(self.doubtful.area(elapsed), |fitted| fitted.area(elapsed))
    }

    fn utility(&self, elapsed: Period) -> f64 {
        self.mix(self.doubtful.utility(elapsed), |fitted| fitted.utility(elapsed))
    }

    fn ceiling(&self) -> f64 {
        self.mix(self.doubtful.ceiling(), DivergenceCurve::ceiling)
    }
}

/// A page to learn from: what was known of it at some time, and what came after.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// How often it changed, until then.
    pub rate: Posterior,
    /// How far, until then.
    pub depths: Depths,
    /// Its change profiles, combined, until then.
    pub points: &'a [Point],
    /// Its change profiles after that time, with bases not before it.
    pub next: &'a [Point],
}

impl Lesson<'_> {
    /// The mean square of what a prior, without fits, got wrong.
    fn error(&self, prior: &ContentPrior) -> f64 {
        let Ok(curve) = prior.without_fit(&self.rate, self.depths) else { return 1.0 };
        let squares = self.next.iter().map(|point| (point.divergence() - curve.divergence(point.elapsed())).powi(2));
        squares.sum::<f64>() / self.next.len() as f64
    }

    /// How much higher the points, of the past and of what came next, are than a prior's curve, on average.
    fn shortfall(&self, prior: &ContentPrior) -> f64 {
        let Ok(curve) = prior.without_fit(&self.rate, self.depths) else { return 0.0 };
        let points = self.points.iter().chain(self.next);
        let above = points.map(|point| point.divergence() - curve.divergence(point.elapsed()));
        above.sum::<f64>() / (self.points.len() + self.next.len()) as f64
    }

    /// By how much a fit moves the prediction, times itself and times what was wrong without it: the two sums of a regression.
    fn stacking(&self, prior: &ContentPrior) -> (f64, f64) {
        let full = ContentPrior { trust: 1.0, ..*prior };
        let Ok(curve) = full.believed(&self.rate, self.depths, self.points) else { return (0.0, 0.0) };
        let (mut moved, mut along) = (0.0, 0.0);
        for point in self.next {
            let before = curve.doubtful.divergence(point.elapsed());
            let by = curve.divergence(point.elapsed()) - before;
            moved += by * by;
            along += by * (point.divergence() - before);
        }
        let n = self.next.len() as f64;
        (moved / n, along / n)
    }
}

impl ContentPrior {
    /// Learns the five numbers from pages, as far as these differ from `self`, which counts as a hundred pages.
    ///
    /// * m and φ: those, of a few, under which what came next was foreseen best, by the mean square of what was wrong, every
    ///   page counting alike;
    /// * μ: the mean over pages, each counting by its credibility `n/(n + m)`;
    /// * s: that under which the pages' points, past and next, are as high on average as their curves. Means, because squares would
    ///   follow the few pages that were rewritten at once;
    /// * τ: by regression of what came next on what the pages' own fits would change (stacking: Wolpert 1992, Breiman 1996),
    ///   at most one half.
    ///
    /// Lessons of which nothing is known next are passed over; without any other the answer is `self`.
    #[must_use]
    pub fn learn(&self, lessons: &[Lesson<'_>]) -> ContentPrior {
        let lessons: Vec<&Lesson<'_>> = lessons.iter().filter(|lesson| !lesson.next.is_empty()).collect();
        if lessons.is_empty() {
            return *self;
        }
        let error = |prior: &ContentPrior| lessons.iter().map(|lesson| lesson.error(prior)).sum::<f64>();
        let scored = self.candidates(&lessons).into_iter().map(|prior| (error(&prior), prior));
        let best = scored.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(*self, |(_, prior)| prior);
        let pages = lessons.len() as f64;
        let learnt = self.moved_to(&best, pages / (pages + BASE_PAGES));
        ContentPrior { trust: self.stacked(&learnt, &lessons), ..learnt }
    }

    /// Every pair of m and φ, with the depth and the spread that go with it.
    fn candidates(&self, lessons: &[&Lesson<'_>]) -> Vec<ContentPrior> {
        let mut candidates = Vec::new();
        for depth_changes in DEPTH_CHANGES {
            let prior = ContentPrior { depth_changes, ..*self };
            let depth = prior.credible_mean(lessons.iter().map(|lesson| lesson.depths), 1.0);
            for dispersion in DISPERSIONS {
                let prior = ContentPrior { depth, dispersion, ..prior };
                candidates.push(ContentPrior { spread: prior.level_spread(lessons), ..prior });
            }
        }
        candidates
    }

    /// The spread under which points and curves are equally high on average, by halving: curves rise with the spread.
    fn level_spread(&self, lessons: &[&Lesson<'_>]) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..10 {
            let spread = (low + high) / 2.0;
            let prior = ContentPrior { spread, ..*self };
            if lessons.iter().map(|lesson| lesson.shortfall(&prior)).sum::<f64>() > 0.0 {
                low = spread;
            } else {
                high = spread;
            }
        }
        (low + high) / 2.0
    }

    /// The trust in fits under a prior that is otherwise learnt: that of `self`, as of a hundred pages that fits move as they
    /// do these on average, moved by what these say.
    fn stacked(&self, learnt: &ContentPrior, lessons: &[&Lesson<'_>]) -> f64 {
        let sums = lessons.iter().map(|lesson| lesson.stacking(learnt));
        let (moved, along) = sums.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let base = moved / lessons.len() as f64 * BASE_PAGES;
        if moved > 0.0 { ((along + base * self.trust) / (moved + base)).clamp(0.0, MOST_TRUST) } else { self.trust }
    }

    /// A share of the way to another: numbers that multiply go by their logarithms. The depth is that of the other.
    fn moved_to(&self, other: &ContentPrior, share: f64) -> ContentPrior {
        let geometric = |from: f64, to: f64| from * (to / from).powf(share);
        ContentPrior {
            depth: other.depth,
            depth_changes: geometric(self.depth_changes, other.depth_changes),
            spread: self.spread + share * (other.spread - self.spread),
            dispersion: geometric(self.dispersion, other.dispersion),
            trust: self.trust,
        }
    }
}
