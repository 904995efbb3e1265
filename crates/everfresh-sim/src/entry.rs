//! A policy with its parameters, as it is named: `bound-based:rho=5,first=2h`.

use crate::contest::Entrant;
use crate::engine::{Conditions, Watch, run};
use crate::score::Score;
use crate::world::World;
use crate::{price, truth};
use everfresh::estimate::{Habits, Prior};
use everfresh::longevity::{self, Beliefs, ContentPrior, LearningPhase, Memory, RiskControl, WarmUp};
use everfresh::policy::{AtPrice, Clairvoyance, Foreknowing, Priced};
use everfresh::{Period, Rate, Unit};
use std::fmt;
use std::str::FromStr;

use Entrant as E;
use Parameter as P;

/// What can be set of a policy of OP08.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// T, the utility at which a visit is worth its cost.
    Price,
    /// ρ of OP08 section 4.5.
    Rho,
    /// l of the learning phase and of the warm-up.
    Step,
    /// The visits of the warm-up of OP08 section 5.3.
    Visits,
    /// The first period of the bound-based search.
    First,
    /// h, how many change profiles.
    Profiles,
    /// m, how many fragments of a base version.
    Fragments,
    /// How many points of a profile.
    Points,
}

/// A parameter as people are told of it.
struct Words {
    parameter: Parameter,
    name: &'static str,
    meaning: &'static str,
    default: &'static str,
    /// The least and the largest value; of times in seconds.
    bounds: (f64, f64),
    is_time: bool,
}

const fn time(parameter: P, name: &'static str, meaning: &'static str, default: &'static str) -> Words {
    Words { parameter, name, meaning, default, bounds: (1.0, 1e12), is_time: true }
}

impl Words {
    const fn number(self, least: f64, most: f64) -> Words {
        Words { bounds: (least, most), is_time: false, ..self }
    }

    /// What a value must be.
    fn must_be(&self) -> String {
        if self.is_time {
            return "a time between 1 second and 1e12 seconds, as 6h".to_owned();
        }
        let kind = if self.parameter == P::Rho { "a number" } else { "a whole number" };
        format!("{kind} between {} and {}", self.bounds.0, self.bounds.1)
    }

    fn read(&self, text: &str) -> Option<f64> {
        let value = if self.is_time { text.parse::<Period>().ok()?.seconds() } else { text.parse().ok()? };
        let is_whole = self.is_time || self.parameter == P::Rho || value.fract() == 0.0;
        (is_whole && value >= self.bounds.0 && value <= self.bounds.1).then_some(value)
    }

    fn write(&self, value: f64) -> String {
        let period = Period::of(value, Unit::Second).ok().filter(|_| self.is_time);
        let text = period.map_or_else(|| value.to_string(), |period| period.to_string());
        format!("{}={text}", self.name)
    }
}

/// In the order of [`Parameter`].
const PARAMETERS: [Words; 8] = [
    time(P::Price, "price", "a visit is worth so much time of a copy that is all wrong (T)", "what spends the budget"),
    time(P::Rho, "rho", "the most that may be lost between visits, in prices", "10").number(1.0, 1e9),
    time(
        P::Step,
        "step",
        "the n-th period of learning and of warm-up is at most n times this (l)",
        "1/8 of the mean period, or more",
    ),
    time(
        P::Visits,
        "visits",
        "visits of a warm-up whose periods are exactly those",
        "cgm: 8 or half of all, curve-fitting: 0",
    )
    .number(0.0, 1e6),
    time(P::First, "first", "the period with which the search begins", "the price"),
    time(P::Profiles, "profiles", "change profiles kept of a page (h)", "1").number(1.0, 16.0),
    time(P::Fragments, "fragments", "fragments kept of a base version (m)", "8").number(1.0, 4096.0),
    time(P::Points, "points", "points kept of a profile", "12").number(2.0, 255.0),
];

const _: () = {
    let mut place = 0;
    while place < PARAMETERS.len() {
        assert!(PARAMETERS[place].parameter as usize == place, "parameters are found by their place");
        place += 1;
    }
};

impl Parameter {
    fn words(self) -> &'static Words {
        &PARAMETERS[self as usize]
    }

    /// Every parameter: its name, what it is, and what it is where nobody says.
    pub fn all() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        PARAMETERS.iter().map(|words| (words.name, words.meaning, words.default))
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.words().name
    }
}

impl Entrant {
    /// What can be set of it.
    pub const fn parameters(self) -> &'static [Parameter] {
        match self {
            E::FsS | E::HsS | E::FsD | E::HsD => &[P::Price],
            E::CurveFitting => &[P::Price, P::Rho, P::Step, P::Visits, P::Profiles, P::Fragments, P::Points],
            E::Longevity => &[P::Price, P::Rho, P::Step, P::Profiles, P::Fragments, P::Points],
            E::BoundBased => &[P::Price, P::Rho, P::First, P::Profiles, P::Fragments, P::Points],
            E::Cgm => &[P::Price, P::Step, P::Visits],
            _ => &[],
        }
    }
}

/// What is believed of pages before their visits: about a change between two.
fn beliefs(conditions: &Conditions) -> Option<Beliefs> {
    let rate = Prior::new(0.5, Rate::per(conditions.budget, Unit::Second).ok()?).ok()?;
    Some(Beliefs { rate, habits: Habits::STEADY, content: ContentPrior::default() })
}

/// Why a policy cannot be had by a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// Nobody is called so.
    #[error("no policy `{name}`; there are {}", known(), name = .0)]
    Policy(String),
    /// It has no such parameter.
    #[error("{} has no parameter `{name}`; {}", .entrant.name(), of(*.entrant))]
    Parameter {
        /// The policy.
        entrant: Entrant,
        /// What it was to be.
        name: String,
    },
    /// The value is none that the parameter can have.
    #[error("{}: {} must be {}, got `{value}`", .entrant.name(), .parameter.name(), .parameter.words().must_be())]
    Value {
        /// The policy.
        entrant: Entrant,
        /// The parameter.
        parameter: Parameter,
        /// What it was to be.
        value: String,
    },
}

fn known() -> String {
    Entrant::all().map(Entrant::name).collect::<Vec<_>>().join(", ")
}

/// Which parameters a policy has, in words.
fn of(entrant: Entrant) -> String {
    let names: Vec<&str> = entrant.parameters().iter().map(|parameter| parameter.name()).collect();
    if names.is_empty() { "it has none".to_owned() } else { format!("there are {}", names.join(", ")) }
}

/// A policy with those of its parameters that were set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    entrant: Entrant,
    values: [Option<f64>; PARAMETERS.len()],
}

impl From<Entrant> for Entry {
    fn from(entrant: Entrant) -> Entry {
        Entry { entrant, values: [None; PARAMETERS.len()] }
    }
}

impl FromStr for Entry {
    type Err = Unknown;

    /// `name`, or `name:parameter=value,parameter=value`.
    fn from_str(text: &str) -> Result<Entry, Unknown> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let mut entry =
            Entry::from(Entrant::named(name.trim()).ok_or_else(|| Unknown::Policy(name.trim().to_owned()))?);
        for pair in rest.into_iter().flat_map(|rest| rest.split(',')) {
            entry.set(pair)?;
        }
        Ok(entry)
    }
}

impl fmt::Display for Entry {
    /// As it was named, with the parameters that were set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = PARAMETERS.iter().zip(self.values);
        let pairs: Vec<String> = set.filter_map(|(words, value)| value.map(|value| words.write(value))).collect();
        let colon = if pairs.is_empty() { "" } else { ":" };
        f.pad(&format!("{}{colon}{}", self.entrant.name(), pairs.join(",")))
    }
}

/// OP08 section 4.5: no more than so many times the price is risked.
const RHO: f64 = 10.0;

/// Periods of the learning phase and of the warm-up grow by so much of the mean period.
const STEP: f64 = 0.125;

/// Visits of the warm-up of CGM's policy, at most.
const WARM_UP: f64 = 8.0;

/// Pages on which a price is calibrated, and how close the load must come to the budget.
const CALIBRATION_PAGES: usize = 1000;
const CALIBRATED: f64 = 0.01;

/// The lowest price that is tried, in mean periods: that of pages with a change in fifty thousand visits.
const CHEAPEST: f64 = 1e-5;

impl Entry {
    /// Policies by their names, with commas between them and `all` for all; whoever is named twice is there once.
    ///
    /// No name has an equals sign, so that a piece with one and no colon is another parameter of the policy before it.
    pub fn list(text: &str) -> Result<Vec<Entry>, Unknown> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for piece in text.split(',').map(str::trim) {
            match names.last_mut() {
                Some(last) if piece.contains('=') && !piece.contains(':') && last.contains(':') => {
                    last.push(',');
                    last.push_str(piece);
                }
                _ => names.push(piece.to_owned()),
            }
        }
        for name in names {
            let named = if name == "all" { Entrant::all().map(Entry::from).collect() } else { vec![name.parse()?] };
            for entry in named {
                if !entries.contains(&entry) {
                    entries.push(entry);
                }
            }
        }
        Ok(entries)
    }

    /// Sets a parameter from `name=value`.
    fn set(&mut self, pair: &str) -> Result<(), Unknown> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (entrant, name, value) = (self.entrant, name.trim(), value.trim());
        let found = entrant.parameters().iter().find(|parameter| parameter.name() == name);
        let parameter = *found.ok_or_else(|| Unknown::Parameter { entrant, name: name.to_owned() })?;
        let read = parameter.words().read(value);
        self.values[parameter as usize] =
            Some(read.ok_or_else(|| Unknown::Value { entrant, parameter, value: value.to_owned() })?);
        Ok(())
    }

    fn get(&self, parameter: Parameter) -> Option<f64> {
        self.values[parameter as usize]
    }

    /// The policy.
    pub const fn entrant(&self) -> Entrant {
        self.entrant
    }

    /// Was its price set? Then its load is what comes of that.
    pub fn has_price(&self) -> bool {
        self.get(P::Price).is_some()
    }

    /// Does it choose its own load?
    pub fn chooses_load(&self) -> bool {
        self.has_price() || self.entrant.chooses_load()
    }

    /// l of CGM's warm-up, in seconds, and its visits.
    fn warm_up(&self, conditions: &Conditions) -> (f64, f64) {
        let step_s = self.get(P::Step).unwrap_or(STEP / conditions.budget);
        (step_s, self.get(P::Visits).unwrap_or_else(|| warm_up_visits(conditions)))
    }

    /// How long CGM's policy warms up with these parameters, in seconds: `l (1 + 2 + ... + n)`.
    pub fn warm_up_s(&self, conditions: &Conditions) -> f64 {
        let (step_s, visits) = self.warm_up(conditions);
        step_s * visits * (visits + 1.0) / 2.0
    }

    /// The curve-fitting policy after the same warm-up as CGM's, to be compared with it (OP08 section 5.3); others as they are.
    #[must_use]
    pub fn warmed_up_like(mut self, cgm: &Entry, conditions: &Conditions) -> Entry {
        if self.entrant == E::CurveFitting {
            let (step_s, visits) = cgm.warm_up(conditions);
            self.values[P::Step as usize] = Some(step_s);
            self.values[P::Visits as usize] = Some(visits);
        }
        self
    }

    /// Runs it: at the load that it chooses or that its price makes, all others at the budget; nothing when the watch stopped it.
    pub fn run(&self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        let Some(price) = self.price(world, conditions, watch)? else {
            return self.entrant.run_steered(world, conditions, watch);
        };
        self.run_at(price, world, conditions, watch)
    }

    /// The same, but a rule that chooses its own load is held to the budget.
    pub fn run_held(&self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        if self.entrant.chooses_load() {
            return self.entrant.run_held(world, conditions, watch);
        }
        self.run(world, conditions, watch)
    }

    /// The price at which it is to run, in seconds, if it is made for one: its own, that of the conditions, or that at which it
    /// comes to the budget; nothing when the watch stopped the search.
    #[expect(clippy::option_option, reason = "outside whether it was stopped, inside whether there is one")]
    pub(crate) fn price(&self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Option<f64>> {
        let given = Some(conditions.price).filter(|price| *price > 0.0 && self.entrant.needs_price());
        match self.get(P::Price).or(given) {
            Some(price) => Some(Some(price)),
            None if self.entrant.needs_price() => self.calibrated(world, conditions, watch).map(Some),
            None => Some(None),
        }
    }

    /// The price at which it comes to the budget, found on a sample of the world.
    fn calibrated(&self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<f64> {
        let sample = world.sample(CALIBRATION_PAGES);
        // Prices beyond these are none that anybody means. Where so few visits are to be made that all belong to the warm-up, none makes
        // more of them, and a search without end would have the few pages behind it visited every second.
        let least = (CHEAPEST / conditions.budget).max(1e-3);
        let within = |price: f64| price.clamp(least, 1e15);
        let load = |price: f64| {
            let score = self.run_at(within(price), &sample, conditions, &|_: f64| watch.goes_on(0.0));
            score.map_or(conditions.budget, |score| score.load())
        };
        let price = within(price::meeting(conditions.budget, 0.2 / conditions.budget, CALIBRATED, load));
        watch.goes_on(0.0).then_some(price)
    }

    /// Runs a policy of OP08 at a price.
    pub(crate) fn run_at(
        &self,
        price: f64,
        world: &World,
        conditions: &Conditions,
        watch: &dyn Watch,
    ) -> Option<Score> {
        let conditions = &Conditions { price, ..*conditions };
        match self.entrant {
            E::FsS => run(world, Priced(truth::told(world, conditions, true)), conditions, watch),
            E::HsS => run(world, Priced(truth::told(world, conditions, false)), conditions, watch),
            E::FsD => run(world, Foreknowing(Clairvoyance::Content), conditions, watch),
            E::HsD => run(world, Foreknowing(Clairvoyance::Whole), conditions, watch),
            E::CurveFitting => self.run_fitting(world, conditions, watch),
            E::BoundBased => self.run_bounds(world, conditions, watch),
            E::Longevity => self.run_longevity(world, conditions, watch),
            E::Cgm => self.run_cgm(world, conditions, watch),
            _ => None,
        }
    }

    /// OP08 section 4.2.
    fn run_fitting(&self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        let price = seconds(conditions.price)?;
        let step = seconds(self.get(P::Step).unwrap_or_else(|| learning_step_s(conditions)))?;
        let (rho, warm_up) = (self.get(P::Rho).unwrap_or(RHO), whole(self.get(P::Visits).unwrap_or(0.0)));
        let beliefs = beliefs(conditions)?;
        let made = |price| RiskControl::new(longevity::CurveFitting::new(price, beliefs)?, price, rho);
        // A schedule of its own for the first visits, or a bound for all.
        if warm_up > 0 {
            let made = |price| WarmUp::new(made(price)?, step, warm_up);
            return run(world, AtPrice::new(price, self.memory()?, made).ok()?, conditions, watch);
        }
        let made = |price| LearningPhase::new(made(price)?, step);
        run(world, AtPrice::new(price, self.memory()?, made).ok()?, conditions, watch)
    }

    /// Ours with profiles: as the curve-fitting policy, by curves that are believed with care.
    fn run_longevity(&self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        let price = seconds(conditions.price)?;
        let step = seconds(self.get(P::Step).unwrap_or_else(|| learning_step_s(conditions)))?;
        let (rho, beliefs) = (self.get(P::Rho).unwrap_or(RHO), beliefs(conditions)?);
        let made = |price| {
            let content = longevity::Content::new(price, beliefs)?;
            LearningPhase::new(RiskControl::new(content, price, rho)?, step)
        };
        run(world, AtPrice::new(price, self.memory()?, made).ok()?, conditions, watch)
    }

    /// OP08 section 4.3.
    fn run_bounds(&self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        let (price, rho) = (seconds(conditions.price)?, self.get(P::Rho).unwrap_or(RHO));
        let first = self.get(P::First).and_then(seconds);
        // A period below the price cannot be worth it: U(t) <= t.
        let made = |price| RiskControl::new(longevity::BoundBased::new(price, first.unwrap_or(price))?, price, rho);
        run(world, AtPrice::new(price, self.memory()?, made).ok()?, conditions, watch)
    }

    /// OP08 section 5.3.
    fn run_cgm(&self, world: &World, conditions: &Conditions, watch: &dyn Watch) -> Option<Score> {
        let price = seconds(conditions.price)?;
        let (step_s, visits) = self.warm_up(conditions);
        let (step, visits) = (seconds(step_s)?, whole(visits));
        let made = |price| WarmUp::new(longevity::Cgm::new(price)?, step, visits);
        run(world, AtPrice::new(price, Memory::SMALL, made).ok()?, conditions, watch)
    }

    /// How much is remembered of profiles.
    fn memory(&self) -> Option<Memory> {
        let of = |parameter, default: usize| self.get(parameter).map_or(default, |value| whole(value) as usize);
        let small = Memory::SMALL;
        Memory::new(
            of(P::Profiles, small.profiles()),
            of(P::Fragments, small.fragments()),
            of(P::Points, small.points()),
        )
        .ok()
    }
}

fn seconds(value: f64) -> Option<Period> {
    Period::of(value, Unit::Second).ok()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number that was checked")]
const fn whole(value: f64) -> u32 {
    value as u32
}

/// l of the learning phase, in seconds: periods `l n` after the n-th visit, which alone may take at most half the budget.
fn learning_step_s(conditions: &Conditions) -> f64 {
    let visits = conditions.budget * conditions.duration_s;
    (STEP / conditions.budget).max(8.0 / (visits * conditions.budget))
}

/// The visits of the warm-up: no more than half of all there are, soon over, so that the rest can be learnt from.
fn warm_up_visits(conditions: &Conditions) -> f64 {
    (conditions.budget * conditions.duration_s / 2.0).clamp(1.0, WARM_UP).floor()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_their_parameters_and_written_so() {
        let entries = Entry::list("uniform, bound-based:rho=5,first=90min,cgm:visits=3 ,uniform,cgm").unwrap();
        let names: Vec<String> = entries.iter().map(Entry::to_string).collect();
        assert_eq!(names, ["uniform", "bound-based:rho=5,first=1.5h", "cgm:visits=3", "cgm"]);
        for entry in entries {
            assert_eq!(entry.to_string().parse::<Entry>().unwrap(), entry);
        }
        assert_eq!(Entry::list("all").unwrap().len(), Entrant::all().count());
    }

    #[test]
    fn what_is_unknown_is_said_with_what_is_known() {
        let said = |text: &str| Entry::list(text).unwrap_err().to_string();
        assert!(said("best").starts_with("no policy `best`; there are uniform, proportional"));
        assert_eq!(said("cgm:rho=3"), "cgm has no parameter `rho`; there are price, step, visits");
        assert_eq!(said("uniform:price=3h"), "uniform has no parameter `price`; it has none");
        assert_eq!(
            said("bound-based:first=1h,rho=0.5"),
            "bound-based: rho must be a number between 1 and 1000000000, got `0.5`"
        );
        assert_eq!(
            said("curve-fitting:profiles=1.5"),
            "curve-fitting: profiles must be a whole number between 1 and 16, got `1.5`"
        );
        for time in ["price=0s", "price=never", "price", "price=3", "price=-2h"] {
            let said = said(&format!("fs-d:{time}"));
            assert!(said.contains("price must be a time between 1 second and 1e12 seconds, as 6h"), "{said}");
        }
        // A parameter of nobody.
        assert!(said("rho=3").starts_with("no policy `rho=3`"));
    }
}
