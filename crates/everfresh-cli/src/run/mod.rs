//! `everfresh run`: one command, a list of addresses and a budget; from then on the copies are as fresh as the budget allows.

pub(crate) mod args;
pub(crate) mod audit;
mod beside;
pub(crate) mod clock;
pub(crate) mod config;
pub(crate) mod copies;
mod dropped;
pub(crate) mod keeper;
mod log;
pub(crate) mod note;
pub(crate) mod notices;
mod robots;
mod slowed;
mod space;
mod view;
pub(crate) mod visit;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use everfresh::{Period, Unit};
use everfresh_crawl::fetch::{Agent, Reach, Settings as FetchSettings, Sources, Web};
use everfresh_crawl::warc::{self, Archive};
use everfresh_sched::{GroupRule, HostId, HostLimits, PageId};
use everfresh_store::Durable;

use crate::desk::add::Adding;
use crate::desk::args::{DATA, StoreArgs, TermArgs};
use crate::desk::list::{self, Listed};
use crate::desk::{self, Desk, failure};
use crate::interrupt::{self, Unfinished};
use crate::output;
use args::{RunArgs, SourceArgs};
use clock::Clock;
use config::{Config, Source, default_limits, time};
use keeper::{Keeper, Until, Watch, runtime};
use note::AllRules;
use view::View;

/// `everfresh run`
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let _unfinished = Unfinished::begin();
    let mut setup = Setup::of(&args.source)?;
    let runtime = runtime()?;
    let mut view = View::new(args, setup.config.log.as_deref())?;
    setup.complaint(&args.source).iter().for_each(|text| view.word(text));
    let mut keeper = setup.keeper(args, None)?;
    loop {
        let until = if args.once { Until::Idle } else { Until::Stopped };
        view.begin(&setup.files);
        runtime.block_on(keeper.run(until, &mut view))?;
        if args.once && keeper.tally.visits == 0 {
            view.word(&keeper.why_idle());
        }
        view.end(&keeper.tally);
        if !view.is_stale() || interrupt::is_wanted() {
            return Ok(());
        }
        let before = (std::mem::take(&mut keeper.rules), std::mem::take(&mut keeper.follows));
        drop(keeper);
        // A file changed: what is wrong with it is said, and the run goes on as it was.
        let changed = Setup::of(&args.source).and_then(|setup| setup.keeper(args, None).map(|keeper| (setup, keeper)));
        match changed {
            Ok(changed) => (setup, keeper) = changed,
            Err(error) => {
                view.word(&format!("kept as it was: {error:#}"));
                setup.files.iter_mut().for_each(|(path, time)| *time = modified(path));
                keeper = setup.keeper(args, Some(before))?;
            }
        }
    }
}

/// What a run is told.
pub(crate) struct Setup {
    pub config: Config,
    /// Is there an everfresh.toml?
    is_configured: bool,
    pub data: PathBuf,
    /// Where relative paths begin.
    base: PathBuf,
    /// The files it came from, and when they were last changed.
    pub files: Vec<(PathBuf, Option<SystemTime>)>,
}

impl Setup {
    fn of(args: &SourceArgs) -> Result<Setup> {
        let mut setup = Setup {
            config: Config::default(),
            is_configured: false,
            data: PathBuf::from(DATA),
            base: PathBuf::new(),
            files: Vec::new(),
        };
        for path in &args.what {
            if path.extension().is_none_or(|end| end != "toml") {
                setup.config.sources.push(Source { list: Some(path.clone()), ..Source::default() });
            } else if args.what.len() > 1 {
                bail!("cannot use `{}` beside others: a configuration names its own lists", path.display());
            } else {
                setup.configure(path)?;
            }
        }
        if let Some(data) = &args.data {
            setup.data.clone_from(data);
        }
        let lists: Vec<PathBuf> = setup.config.sources.iter().filter_map(|source| source.list.clone()).collect();
        for list in lists {
            let path = setup.base.join(&list);
            setup.watch(&path);
        }
        Ok(setup)
    }

    /// Takes what a configuration says; paths in it begin where it is.
    fn configure(&mut self, path: &Path) -> Result<()> {
        self.config = Config::read(path)?;
        self.is_configured = true;
        path.parent().unwrap_or(Path::new("")).clone_into(&mut self.base);
        self.data = self.base.join(self.config.data.as_deref().unwrap_or(Path::new(DATA)));
        for source in &mut self.config.sources {
            source.address = source.address.take().map(|address| list::seen_from(&self.base, address));
        }
        self.watch(path);
        Ok(())
    }

    fn watch(&mut self, path: &Path) {
        self.files.push((path.to_owned(), modified(path)));
    }

    /// Opens everything, and takes in what the configuration names, unless that was done before.
    fn keeper(&self, args: &RunArgs, known: Option<(AllRules, HashSet<PageId>)>) -> Result<Keeper> {
        let lists = self.config.sources.iter().filter_map(|source| source.list.as_ref()).filter(|_| known.is_none());
        lists.into_iter().try_for_each(|list| list::check(&self.base.join(list)))?;
        let sources = self.sources(&args.source)?;
        let (is_new, is_followed) = (!Durable::exists(&self.data), self.is_configured && known.is_none());
        let mut desk = self.desk(args)?;
        let (rules, follows, limits) = match self.fill(&mut desk, sources.web(), known) {
            Err(error) if is_new && !interrupt::is_wanted() => {
                // Whoever corrects a list begins with the next try, and may mean another place.
                drop(desk);
                Durable::remove(&self.data, &desk::who()).map_err(failure)?;
                return Err(error);
            }
            filled => filled?,
        };
        if let (true, Some((config, _))) = (is_followed, self.files.first()) {
            dropped::remember(&self.data, config)?;
        }
        let archive = if self.config.copies.unwrap_or(true) {
            let settings = warc::Settings::default();
            let opened = Archive::open(&self.data.join("copies"), settings);
            Some(opened.map_err(|error| output::machine("cannot open the copies", error))?)
        } else {
            None
        };
        let mut keeper = Keeper::new(desk.scheduler, archive, sources, Clock::Real);
        (keeper.rules, keeper.follows, keeper.limits) = (rules, follows, limits);
        keeper.workers = args.parallel.map(usize::from).or(self.config.workers).unwrap_or(64);
        keeper.most_pages = self.config.most_pages.unwrap_or(keeper.most_pages);
        if let Some(replan) = &self.config.replan {
            keeper.replan_s = time("replan", replan)?.seconds();
        }
        Ok(keeper)
    }

    /// Takes in all that is named, with its limits; without pages there is nothing to run.
    fn fill(&self, desk: &mut Desk, web: &Web, known: Option<(AllRules, HashSet<PageId>)>) -> Result<Filled> {
        let (rules, follows) = match known {
            Some(known) => known,
            None if self.is_configured => {
                dropped::take_back(self, desk)?;
                self.take_in_sources(desk)?
            }
            None => self.take_in_sources(desk)?,
        };
        let limits = self.apply_limits(desk, web)?;
        if desk.scheduler.state().is_empty() {
            bail!("cannot run without pages: give a list of addresses, or `everfresh add` some");
        }
        Ok((rules, follows, limits))
    }

    fn store(&self) -> StoreArgs {
        StoreArgs { data: self.data.clone(), now: None }
    }

    fn desk(&self, args: &RunArgs) -> Result<Desk> {
        let store = self.store();
        let budget = args.budget.or(self.config.budget()?);
        let rule = self.config.objective.as_deref().map(config::aim).transpose()?.map(GroupRule::Aim);
        let limits = self.config.limits.limits(default_limits())?;
        let is_once = args.once;
        Desk::begin_with(&store, budget, self.config.floor, |settings| {
            let mut settings = settings.with_limits(limits);
            if let Some(rule) = rule {
                settings = settings.with_rule(rule)?;
            }
            // Whoever comes only now and then may spend what the time since then has brought, up to a day's; whoever stays may not.
            let per_second = settings.budget_per_second();
            if is_once {
                Ok(settings.with_burst((per_second * Unit::Day.seconds()).max(1.0))?)
            } else {
                Ok(settings.with_budget(per_second, Unit::Second)?)
            }
        })
    }

    /// Takes pages in; says which have rules of their own, and which are followed.
    fn take_in_sources(&self, desk: &mut Desk) -> Result<(AllRules, HashSet<PageId>)> {
        let (mut rules, mut follows) = (AllRules::default(), HashSet::new());
        rules.is_configured = self.is_configured;
        for (number, source) in (1..).zip(&self.config.sources) {
            let own = (!source.keep.is_empty() || !source.ignore.is_empty()).then(|| source.rules()).transpose()?;
            let own = own.map(Arc::new);
            for address in self.take_in(desk, source).with_context(|| format!("source {number}"))? {
                let page = desk.find(&address)?.0;
                rules.named.extend(own.as_ref().map(|own| (page, Arc::clone(own))));
                follows.extend(source.follow.then_some(page));
            }
        }
        Ok((rules, follows))
    }

    /// Which parts of pages count.
    fn rules(&self, desk: &mut Desk) -> Result<AllRules> {
        Ok(self.take_in_sources(desk)?.0)
    }

    /// Takes the pages of a source in; names those of which more is said than the store keeps.
    fn take_in(&self, desk: &mut Desk, source: &Source) -> Result<Vec<String>> {
        let says_more = source.follow || !source.keep.is_empty() || !source.ignore.is_empty();
        let (terms, pin) = (terms(source)?, source.pin.as_deref().map(|text| time("pin", text)).transpose()?);
        let mut named = Vec::new();
        let mut adding = Adding::new(desk, &terms);
        let mut take = |listed: Listed| {
            if says_more {
                named.push(listed.address.clone());
            }
            adding.take(&Listed { pin: pin.or(listed.pin), ..listed })
        };
        self.each_page(source, &mut take)?;
        adding.finish()?;
        Ok(named)
    }

    /// Hands over every page of a source.
    fn each_page(&self, source: &Source, take: &mut dyn FnMut(Listed) -> Result<()>) -> Result<()> {
        match (&source.address, &source.list) {
            (Some(address), _) => take(Listed { address: list::configured(address)?, ..Listed::default() }),
            (None, Some(list)) => list::read(&self.base.join(list), take),
            (None, None) => Ok(()),
        }
    }

    /// Sets the limits of hosts and groups; says which hosts have theirs by name.
    fn apply_limits(&self, desk: &mut Desk, web: &Web) -> Result<HashMap<HostId, HostLimits>> {
        let mut named = HashMap::new();
        let usual = *desk.scheduler.state().settings().limits();
        for (name, limits) in &self.config.hosts {
            let address = list::configured(name).ok().filter(|address| !address.starts_with("file:"));
            let Some(address) = address else {
                bail!("cannot limit the host `{name}`: it must have its scheme, as in \"https://example.org\"")
            };
            let name = list::host(&address);
            let host = desk.scheduler.store_mut().host(&name).map_err(failure)?;
            let limits: HostLimits = limits.limits(usual)?;
            named.insert(host, limits);
            let asked = web.known_delay(&name).map_or(0.0, |delay| delay.as_secs_f64());
            desk.limit_host(host, limits.with_gap(Period::of(asked, Unit::Second)?)?)?;
        }
        hold_to_usual_gap(desk, &named)?;
        for (name, group) in &self.config.groups {
            let (rule, limits) = (group.rule()?, group.limits()?);
            let group = desk.scheduler.store_mut().group(name).map_err(failure)?;
            rule.map_or(Ok(()), |rule| desk.rule_group(group, rule))?;
            desk.limit_group(group, limits)?;
        }
        Ok(named)
    }

    /// What should be said of the settings, though it may be as it is.
    fn complaint(&self, args: &SourceArgs) -> Option<&'static str> {
        let has_contact = args.contact.is_some() || self.config.contact.is_some();
        let text = "hosts cannot reach you: --contact puts an address of the web or of mail into every User-Agent";
        (!has_contact).then_some(text)
    }

    /// All that can be visited, with what hosts said in robots.txt before.
    fn sources(&self, args: &SourceArgs) -> Result<Sources> {
        let sources = Sources::new(self.fetching(args)?)?;
        robots::recall(&sources, &self.data);
        Ok(sources)
    }

    fn fetching(&self, args: &SourceArgs) -> Result<FetchSettings> {
        let config = &self.config.fetch;
        let contact = args.contact.as_ref().or(self.config.contact.as_ref());
        let contact = contact.map_or(NO_CONTACT, String::as_str);
        let mut settings = FetchSettings::new(Agent::new("everfresh", env!("CARGO_PKG_VERSION"), contact)?);
        let limits = &mut settings.limits;
        let [connect, first_byte, visit] = config.times()?;
        limits.connect = connect.unwrap_or(limits.connect);
        limits.first_byte = first_byte.unwrap_or(limits.first_byte);
        limits.visit = visit.unwrap_or(limits.visit);
        limits.body_bytes = config.body_bytes.unwrap_or(limits.body_bytes);
        limits.redirects = config.redirects.unwrap_or(limits.redirects);
        settings.obey_robots = config.robots.unwrap_or(true);
        for path in &config.authorities {
            settings.trust(&self.base.join(path))?;
        }
        for network in config.allow.iter().chain(&args.allow) {
            let parsed =
                network.parse().with_context(|| format!("cannot read the network `{network}`, as in 10.0.0.0/8"))?;
            settings.reach = std::mem::replace(&mut settings.reach, Reach::public()).and(parsed);
        }
        Ok(settings)
    }
}

/// Hosts that got their limits from an earlier run, as by their robots.txt, have at least the gap that all have now.
fn hold_to_usual_gap(desk: &mut Desk, named: &HashMap<HostId, HostLimits>) -> Result<()> {
    let usual = *desk.scheduler.state().settings().limits();
    let is_short = |(host, limits): &(HostId, HostLimits)| !named.contains_key(host) && limits.gap() < usual.gap();
    let short: Vec<_> = desk.scheduler.state().limited_hosts().filter(is_short).collect();
    for (host, limits) in short {
        desk.scheduler.limit(desk.now_s, host, limits.with_gap(usual.gap())?).map_err(failure)?;
    }
    Ok(())
}

/// Which parts of pages count, which are followed, and which gaps hosts have by name.
type Filled = (AllRules, HashSet<PageId>, HashMap<HostId, HostLimits>);

/// What hosts read that want to know who visits them, where nobody said so.
const NO_CONTACT: &str = "no contact was given";

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}

fn terms(source: &Source) -> Result<TermArgs> {
    let period = |name: &str, text: &Option<String>| text.as_deref().map(|text| time(name, text)).transpose();
    Ok(TermArgs {
        group: source.group.clone(),
        weight: source.weight,
        cost: source.cost,
        min_period: period("min_period", &source.min_period)?,
        max_period: period("max_period", &source.max_period)?,
    })
}
