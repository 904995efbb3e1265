//! The commands on a store of pages: add, explain, status, forecast, remove, pin, rebuild, export, backup.

pub(crate) mod add;
pub(crate) mod args;
pub(crate) mod backup;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod list;
pub(crate) mod status;

use std::path::Path;

use anyhow::{Context, Result, bail};
use everfresh::{Period, Unit};
use everfresh_sched::{Error, GroupId, GroupRule, HostId, HostLimits, PageId, Scheduler, Settings};
use everfresh_store::{Durable, Rebuilt, rebuild as rebuild_store};

use crate::interrupt::Unfinished;
use crate::output;
use crate::run::clock::Clock;
use args::{PinArgs, RebuildArgs, RemoveArgs, StoreArgs};

/// A scheduler on a store, and the clock.
pub(crate) struct Desk {
    pub scheduler: Scheduler<Durable>,
    pub now_s: f64,
    /// The store is left in order, whenever somebody is interrupted.
    _unfinished: Unfinished,
}

/// Clocks may be set back by so much without a word.
pub(crate) const BEHIND_S: f64 = 60.0;

/// A clock that says less is not set: machines without a battery begin in 1970, and a store that began then would be at its end by now.
const UNSET_S: f64 = 1_577_836_800.0;

/// The command that this process runs, for whoever finds the store held.
pub(crate) fn who() -> String {
    std::env::args().collect::<Vec<_>>().join(" ")
}

/// The machine's fault or the caller's?
pub(crate) fn failure(error: Error) -> anyhow::Error {
    match error {
        Error::Store(_) => output::machine("cannot use the store", error),
        other => other.into(),
    }
}

impl Desk {
    /// Opens a store that is there, to look at it: also while another process has it, as it is at this moment.
    pub(crate) fn look(args: &StoreArgs) -> Result<Desk> {
        if !Durable::is_held(&args.data) {
            return Desk::open(args);
        }
        let now_s = args.now.map_or_else(|| Clock::Real.now_s(), f64::from);
        let unfinished = Unfinished::begin();
        let store = Durable::look(&args.data, &who()).map_err(failure)?;
        let scheduler =
            Scheduler::resume(store, now_s, |before| settled(before, None, None, now_s)).map_err(failure)?;
        Ok(Desk::of(scheduler, now_s, unfinished))
    }

    /// Opens a store that is there.
    pub(crate) fn open(args: &StoreArgs) -> Result<Desk> {
        if !Durable::exists(&args.data) && args.data.join("visits").is_dir() {
            bail!(
                "cannot find the engine in `{}`: `everfresh rebuild` makes it anew from the visit log",
                args.data.display()
            );
        }
        if !Durable::exists(&args.data) {
            bail!("cannot find a store in `{}`: `everfresh add` or `everfresh run` begins one", args.data.display());
        }
        Desk::begin(args, None, None)
    }

    /// Opens a store, or begins one with a budget in amounts per second.
    pub(crate) fn begin(args: &StoreArgs, budget: Option<f64>, floor: Option<f64>) -> Result<Desk> {
        Desk::begin_with(args, budget, floor, Ok)
    }

    /// The same with further settings.
    pub(crate) fn begin_with(
        args: &StoreArgs,
        budget: Option<f64>,
        floor: Option<f64>,
        further: impl FnOnce(Settings) -> everfresh_sched::Result<Settings>,
    ) -> Result<Desk> {
        let is_new = !Durable::exists(&args.data);
        if is_new && budget.is_none() {
            bail!("cannot begin a store in `{}`: --budget must be given, such as 500/day", args.data.display());
        }
        let now_s = args.now.map_or_else(|| Clock::Real.now_s(), f64::from);
        if is_new && now_s < UNSET_S {
            bail!("cannot begin a store at {}: the clock must be set", explain::moment(now_s));
        }
        let unfinished = Unfinished::begin();
        let store = Durable::open(&args.data, &who()).map_err(failure)?;
        let change = |before: Option<Settings>| further(settled(before, budget, floor, now_s)?);
        let scheduler = Scheduler::resume(store, now_s, change).map_err(failure)?;
        let ends_s = scheduler.state().ends_s();
        if now_s >= ends_s {
            bail!(
                "cannot go on at {}: this store tells times apart until {}",
                explain::moment(now_s),
                explain::moment(ends_s)
            );
        }
        Ok(Desk::of(scheduler, now_s, unfinished))
    }

    /// A clock that was ahead once holds up everything until that time comes: whoever set it should know.
    fn of(scheduler: Scheduler<Durable>, now_s: f64, unfinished: Unfinished) -> Desk {
        if scheduler.store().was_torn() {
            output::say(
                "the end of the store's log was torn, as by a power failure: its last group of events is left out; nobody was told that it is safe, unless the disk lost what it had written",
            );
        }
        let latest_s = scheduler.state().latest_s();
        if latest_s > now_s + BEHIND_S {
            output::say(&format!(
                "the clock says {} and the store has heard of {}: nothing becomes due until then",
                explain::moment(now_s),
                explain::moment(latest_s),
            ));
        }
        Desk { scheduler, now_s, _unfinished: unfinished }
    }

    /// The page with an address.
    pub(crate) fn page(&mut self, address: &str) -> Result<PageId> {
        let normal = list::configured(address)?;
        let (page, is_known) = self.find(&normal)?;
        if !is_known {
            bail!("cannot find the page `{normal}`: it must have been added");
        }
        Ok(page)
    }

    /// The number that an address has or would have, and whether it has it.
    pub(crate) fn find(&mut self, address: &str) -> Result<(PageId, bool)> {
        let (state, store) = self.scheduler.parts();
        store.page(address, |page| state.knows(page)).map_err(failure)
    }

    /// Gives a host its limits, if it has others.
    pub(crate) fn limit_host(&mut self, host: HostId, limits: HostLimits) -> Result<()> {
        if self.scheduler.state().host_limits(host) != limits {
            self.scheduler.limit(self.now_s, host, limits).map_err(failure)?;
        }
        Ok(())
    }

    /// Gives a group its limits, if it has others.
    pub(crate) fn limit_group(&mut self, group: GroupId, limits: HostLimits) -> Result<()> {
        if self.scheduler.state().group_limits(group) != limits {
            self.scheduler.limit_group(self.now_s, group, limits).map_err(failure)?;
        }
        Ok(())
    }

    /// Gives a group its rule, if it has another.
    pub(crate) fn rule_group(&mut self, group: GroupId, rule: GroupRule) -> Result<()> {
        if self.scheduler.state().group_rule(group) != rule {
            self.scheduler.rule(self.now_s, group, rule).map_err(failure)?;
        }
        Ok(())
    }

    /// Keeps the state, so that nothing is replayed on opening.
    pub(crate) fn close(mut self) -> Result<()> {
        self.scheduler.compact().map_err(failure)?;
        self.scheduler.store_mut().settle().map_err(failure)
    }
}

/// Settings as before, with what is asked for now.
fn settled(
    before: Option<Settings>,
    budget: Option<f64>,
    floor: Option<f64>,
    now_s: f64,
) -> everfresh_sched::Result<Settings> {
    let mut settings = match (before, budget) {
        (Some(before), None) => before,
        (Some(before), Some(budget)) => before.with_budget(budget, Unit::Second)?,
        (None, budget) => Settings::new(budget.unwrap_or(0.0), Unit::Second)?.with_start(now_s)?,
    };
    if let Some(share) = floor {
        settings = settings.with_floor(share)?;
    }
    Ok(settings)
}

/// `everfresh remove`
pub(crate) fn remove(args: &RemoveArgs) -> Result<()> {
    let mut desk = Desk::open(&args.store)?;
    let pages: Vec<PageId> = args.pages.iter().map(|page| desk.page(page)).collect::<Result<_>>()?;
    desk.scheduler.hold();
    for page in &pages {
        // What a run noted of it goes, too.
        desk.scheduler.store_mut().note(*page, Vec::new());
        desk.scheduler.remove(desk.now_s, *page).map_err(failure)?;
    }
    desk.scheduler.release().map_err(failure)?;
    if args.json {
        let removed = args.pages.iter().map(|page| list::configured(page)).collect::<Result<Vec<_>>>()?;
        let pages_left = desk.scheduler.state().len();
        return output::print_json(&serde_json::json!({ "removed": removed, "pages": pages_left }));
    }
    let copies = args.store.data.join("copies");
    let stay = if copies.is_dir() { format!("; copies stay in `{}`", copies.display()) } else { String::new() };
    output::say(&format!("forgot {}{stay}", output::count(pages.len() as f64, "page")));
    Ok(())
}

/// `everfresh pin`
pub(crate) fn pin(args: &PinArgs) -> Result<()> {
    let mut desk = Desk::open(&args.store)?;
    let page = desk.page(&args.page)?;
    let terms = desk.scheduler.state().terms(page)?;
    let terms = match args.period {
        Some(period) => terms.pinned(period).context("cannot pin")?,
        None => terms.unpinned(),
    };
    desk.scheduler.change(desk.now_s, page, terms).map_err(failure)?;
    let (address, period_s) = (list::configured(&args.page)?, args.period.map(Period::seconds));
    if args.json {
        return output::print_json(&serde_json::json!({ "page": address, "pinned_s": period_s }));
    }
    output::say(&match period_s {
        Some(period_s) => format!("`{address}` is visited every {} from now on", status::time(period_s)),
        None => format!("`{address}` is visited when the price says so"),
    });
    Ok(())
}

/// `everfresh rebuild`
pub(crate) fn rebuild(args: &RebuildArgs) -> Result<()> {
    check_there(&args.store.data)?;
    let line = crate::progress::CountLine::new("events");
    let rebuilt = rebuild_store(&args.store.data, &who(), &mut |number| line.at(number)).map_err(failure)?;
    drop(line);
    if args.json {
        let Rebuilt { pages, events, files, lost } = rebuilt;
        return output::print_json(
            &serde_json::json!({ "pages": pages, "events": events, "files": files, "lost": lost }),
        );
    }
    output::say(&format!(
        "rebuilt {} from {} in {}",
        output::count(rebuilt.pages as f64, "page"),
        output::count(rebuilt.events as f64, "event"),
        output::count(rebuilt.files as f64, "file"),
    ));
    if let Some(lost) = rebuilt.lost {
        output::say(&format!("what was not yet in the visit log is lost: {lost}"));
    }
    Ok(())
}

fn check_there(data: &Path) -> Result<()> {
    if data.is_dir() { Ok(()) } else { bail!("cannot find the directory `{}`", data.display()) }
}
