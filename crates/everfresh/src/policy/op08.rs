use super::{About, Clairvoyance, Policy, Pricing, Visit};
use crate::curve::DivergenceCurve;
use crate::longevity::{self, Fragments, Memory, OnlinePolicy, Point, Profiles, Sketch};
use crate::units::Period;

/// A policy of OP08 section 4, which is made for one price, behind the trait of all policies.
///
/// It keeps the page's change profiles, tells the policy of every visit, and waits as long as that says.
#[derive(Clone, Copy, Debug)]
pub struct AtPrice<P> {
    policy: P,
    memory: Memory,
}

impl<P> AtPrice<P> {
    /// The policy, with so much memory of profiles.
    pub const fn new(policy: P, memory: Memory) -> AtPrice<P> {
        AtPrice { policy, memory }
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

impl<P: OnlinePolicy> AtPrice<P> {
    /// Tells of a visit; one that cannot be taken in (a second one in the same second) changes nothing.
    fn tell(&self, page: &mut Profiled<P::Memory>, now_s: f64, elapsed: Period, divergence: f64, fragments: &[u64]) {
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
        if let Ok(period) = self.policy.next_period(&mut page.inner, &visit) {
            page.period = period;
        }
    }
}

impl<P> Policy for AtPrice<P>
where
    P: OnlinePolicy + Sync,
    P::Memory: Send + Sync,
{
    type Memory = Profiled<P::Memory>;

    fn remember(&self, _: &About, now_s: f64, fragments: &[u64]) -> Self::Memory {
        let (inner, profiles) = (self.policy.discovered(), Profiles::new(self.memory));
        let mut page = Profiled { inner, profiles, visits: 0, period: Period::NEVER };
        self.tell(&mut page, now_s, Period::ZERO, 0.0, fragments);
        page
    }

    fn observe(&self, _: &About, page: &mut Self::Memory, visit: &Visit<'_>) {
        if visit.saw() {
            self.tell(page, visit.now_s, visit.elapsed, visit.divergence(), visit.fragments);
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
