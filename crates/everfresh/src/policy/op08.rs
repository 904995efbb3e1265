use super::{About, Clairvoyance, Policy, Pricing, Visit};
use crate::curve::DivergenceCurve;
use crate::error::Result;
use crate::longevity::{self, Fragments, Memory, OnlinePolicy, Point, Profiles, Sketch};
use crate::units::Period;

/// A policy of OP08 section 4, which is made for one price, behind the trait of all policies.
///
/// It keeps the page's change profiles, tells the policy of every visit, and waits as long as that says. The papers' pages
/// weigh and cost the same; here a page of weight w and cost c has a policy that is made for `T c/w`, as the law says.
#[derive(Clone, Copy, Debug)]
pub struct AtPrice<F, P> {
    made: F,
    price_s: f64,
    /// For a page of weight and cost 1.
    common: P,
    memory: Memory,
}

impl<F: Fn(Period) -> Result<P>, P> AtPrice<F, P> {
    /// What `made` makes of a price, at this one, with so much memory of profiles.
    pub fn new(price: Period, memory: Memory, made: F) -> Result<AtPrice<F, P>> {
        let common = made(price)?;
        Ok(AtPrice { made, price_s: price.seconds(), common, memory })
    }
}

/// What [`AtPrice`] remembers of a page.
#[derive(Clone, Debug)]
pub struct Profiled<M> {
    inner: M,
    profiles: Profiles,
    visits: u32,
    period: Period,
}

/// A page that weighs so little or costs so much that its price is beyond these, in seconds, is one at the bound.
const PRICES: (f64, f64) = (1e-6, 1e15);

impl<F: Fn(Period) -> Result<P>, P: OnlinePolicy + Clone> AtPrice<F, P> {
    /// The policy of a page, by its weight and cost.
    fn policy(&self, about: &About) -> P {
        let own = about.threshold(self.price_s).clamp(PRICES.0, PRICES.1);
        let made = if own == self.price_s { None } else { (self.made)(Period::raw(own)).ok() };
        made.unwrap_or_else(|| self.common.clone())
    }

    /// Tells of a visit; one that cannot be taken in (a second one in the same second) changes nothing.
    fn tell(
        &self,
        policy: &P,
        page: &mut Profiled<P::Memory>,
        (now_s, elapsed): (f64, Period),
        divergence: f64,
        fragments: &[u64],
    ) {
        let fragments = Fragments::from_hashes(fragments.to_vec());
        let Ok(sketch) = Sketch::from_fragments(&fragments, self.memory.fragments()) else { return };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "time goes on from 0")]
        if page.profiles.visit(now_s.max(0.0) as u64, &sketch).is_err() {
            return;
        }
        page.visits = page.visits.saturating_add(1);
        let points: Vec<Vec<Point>> = page.profiles.profiles().map(longevity::ChangeProfile::points).collect();
        let profiles: Vec<&[Point]> = points.iter().map(Vec::as_slice).collect();
        let visit = longevity::Visit { elapsed, visits: page.visits, divergence, profiles: &profiles };
        if let Ok(period) = policy.next_period(&mut page.inner, &visit) {
            page.period = period;
        }
    }
}

impl<F, P> Policy for AtPrice<F, P>
where
    F: Fn(Period) -> Result<P> + Sync,
    P: OnlinePolicy + Clone + Sync,
    P::Memory: Send + Sync,
{
    type Memory = Profiled<P::Memory>;

    fn remember(&self, about: &About, now_s: f64, fragments: &[u64]) -> Self::Memory {
        let policy = self.policy(about);
        let (inner, profiles) = (policy.discovered(), Profiles::new(self.memory));
        let mut page = Profiled { inner, profiles, visits: 0, period: Period::NEVER };
        self.tell(&policy, &mut page, (now_s, Period::ZERO), 0.0, fragments);
        page
    }

    fn observe(&self, about: &About, page: &mut Self::Memory, visit: &Visit<'_>) {
        if visit.saw() {
            let policy = self.policy(about);
            self.tell(&policy, page, (visit.now_s, visit.elapsed), visit.divergence(), visit.fragments);
        }
    }

    fn period(&self, _: &About, page: &Self::Memory, _: f64) -> Period {
        page.period
    }

    fn pricing(&self) -> Pricing {
        Pricing::Given
    }
}

/// The static policies of OP08 section 3.4, FS-S and HS-S: told every page's true divergence curve, by its number.
#[derive(Clone, Debug)]
pub struct Told<C>(pub Vec<C>);

impl<C: DivergenceCurve + Sync> Policy for Told<C> {
    type Memory = ();

    fn remember(&self, _: &About, _: f64, _: &[u64]) {}

    fn observe(&self, _: &About, (): &mut (), _: &Visit<'_>) {}

    fn period(&self, about: &About, (): &(), price: f64) -> Period {
        self.0.get(about.number as usize).map_or(Period::NEVER, |curve| curve.period(about.threshold(price)))
    }
}

/// A policy at the price that it is given, whatever load comes of that: OP08's administrator sets T, not a budget.
#[derive(Clone, Debug)]
pub struct Priced<P>(pub P);

impl<P: Policy> Policy for Priced<P> {
    type Memory = P::Memory;

    fn remember(&self, about: &About, now_s: f64, fragments: &[u64]) -> P::Memory {
        self.0.remember(about, now_s, fragments)
    }

    fn observe(&self, about: &About, memory: &mut P::Memory, visit: &Visit<'_>) {
        self.0.observe(about, memory, visit);
    }

    fn period(&self, about: &About, memory: &P::Memory, price: f64) -> Period {
        self.0.period(about, memory, price)
    }

    fn learn(&mut self, pages: &[(&About, &P::Memory)]) {
        self.0.learn(pages);
    }

    fn pricing(&self) -> Pricing {
        Pricing::Given
    }
}

/// The dynamic policies of OP08 section 3.4, FS-D and HS-D: they go when what really happened is worth the price.
#[derive(Clone, Copy, Debug)]
pub struct Foreknowing(pub Clairvoyance);

impl Policy for Foreknowing {
    type Memory = ();

    fn remember(&self, _: &About, _: f64, _: &[u64]) {}

    fn observe(&self, _: &About, (): &mut (), _: &Visit<'_>) {}

    fn period(&self, _: &About, (): &(), _: f64) -> Period {
        Period::NEVER
    }

    fn pricing(&self) -> Pricing {
        Pricing::Given
    }

    fn clairvoyance(&self) -> Clairvoyance {
        self.0
    }
}
