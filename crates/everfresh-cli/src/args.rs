//! Every command and flag: the help, the man pages and the completions come from here.

use std::path::PathBuf;

use anstyle::{AnsiColor, Effects, Style};
use clap::builder::Styles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use everfresh::longevity::Cut;
use everfresh::{Allocation, Frequency, Objective, Order, Period, Rate, Unit};
use everfresh_sim::contest::Entrant;
use everfresh_sim::entry::Parameter;
use everfresh_sim::papers::Paper;
use everfresh_sim::world::Rates;

use crate::desk::args::{
    AddArgs, BackupArgs, ExplainArgs, ExportArgs, ForecastArgs, NoticeArgs, PinArgs, RebuildArgs, RemoveArgs,
    StatusArgs,
};
use crate::run::args::{AuditArgs, CatArgs, DiffArgs, HistoryArgs, RunArgs};

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
pub(crate) const HEADING: Style = Style::new().effects(Effects::BOLD);

const STYLES: Styles = Styles::styled().header(HEADING).usage(HEADING).error(ERROR);

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  the machine failed: a file or stdout could not be written
  2  bad input or a bad call; the message names the file, line, column, value and bound
  130  interrupted; nothing was written

Quantities:
  rates, frequencies, budgets and benefits are amounts per time: 3/day, 1/2weeks, 0.457/year
  periods are times: 45min, 1h30min, 2weeks; rates, frequencies and periods may also be `never`
  units: s, min, h, day, week, month (30 days), year (365 days)

An infinite number (the period of a page that is never visited) is null in JSON, empty in CSV,
and infinite in Parquet and Arrow.";

/// Keeps copies of things that change on their own as fresh as a budget of visits allows, and says how fresh they are.
#[derive(Debug, Parser)]
#[command(name = "everfresh", version, styles = STYLES, after_help = EXIT_CODES, max_term_width = 120)]
pub(crate) struct Program {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Keeps copies of pages as fresh as a budget allows, for as long as it runs
    Run(RunArgs),
    /// Takes pages into a store, from lists, sitemaps and tables
    Add(AddArgs),
    /// Tells how fresh the copies are believed to be, and what is spent
    Status(StatusArgs),
    /// Tells what this budget and others will give, and which promises cannot be kept
    Forecast(ForecastArgs),
    /// Tells what is known of a page, when it is visited next, and why then
    Explain(ExplainArgs),
    /// Forgets pages and all that was learnt of them; copies stay
    Remove(RemoveArgs),
    /// Visits a page every so often, whatever is known of it
    Pin(PinArgs),
    /// Says that pages changed, to a run that goes on or to the next
    Notice(NoticeArgs),
    /// Writes what is known of every page as a table
    Export(ExportArgs),
    /// Derives all state anew from the visit log
    Rebuild(RebuildArgs),
    /// Copies a store, whole, while a run may have it open
    Backup(BackupArgs),
    /// Measures how fresh the copies are, by visiting a random sample now
    Audit(AuditArgs),
    /// Prints the copy of a page
    Cat(CatArgs),
    /// Lists the versions of a page
    History(HistoryArgs),
    /// Tells what changed in the text of a page
    Diff(DiffArgs),
    /// Describes every key of everfresh.toml
    Reference,
    /// Decides how often each page of a table is visited
    Plan(PlanArgs),
    /// Learns from visits how often each page changes, and how sure that is
    Estimate(EstimateArgs),
    /// Measures how long the content of pages stays, from snapshots of them, and when a visit is worth it
    Longevity(LongevityArgs),
    /// Tells what every budget would give, and the budget that a freshness or an age needs
    Budget(BudgetArgs),
    /// Tells how fresh a copy is under a visit period, or the period that a freshness needs
    Freshness(FreshnessArgs),
    /// Finds the visits that earn most when a visit costs and a right copy pays
    Income(IncomeArgs),
    /// Splits visits a day over pages that change exactly once in each of some intervals a day
    Split(SplitArgs),
    /// Tells from a log of visits how fresh the copies were, and what other policies would have made of as many visits
    Compare(CompareArgs),
    /// Runs policies in a world, synthetic or recorded, and tells how fresh each kept the copies
    Simulate(SimulateArgs),
    /// Shows on a web of its own, whose truth is known, how fresh Everfresh and other crawlers keep their copies
    Demo(crate::demo::args::DemoArgs),
    /// Computes every table and figure of the papers anew, beside what they print
    Papers(PapersArgs),
    /// Prints the completions for a shell
    #[command(
        after_help = "Example:\n  everfresh completions bash > ~/.local/share/bash-completion/completions/everfresh"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Prints the man page, or writes one for every command into a directory
    #[command(
        after_help = "Examples:\n  everfresh man | man -l -\n  everfresh man --directory ~/.local/share/man/man1"
    )]
    Man {
        /// Where to write everfresh.1, everfresh-plan.1 and the others
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

const PLAN_EXAMPLES: &str = "\
Examples:
  everfresh plan --example
  everfresh plan pages.csv --budget 500/day
  everfresh plan pages.csv --budget 500/day --objective age --out plan.csv
  everfresh plan pages.csv --price 6h                  visit when that gains 6 hours of freshness
  everfresh plan pages.csv --cost 0.002 --json         weights are benefits per day
  everfresh plan shards/ --budget 1e6/day --out plan.parquet --plot plan.svg
  everfresh plan pages.parquet --budget 1e6/day --host-cap 5000/day --floor 0.05 --out plan.parquet
  zcat pages.csv.gz | everfresh plan - --budget 1/min --rate-column changes --unit week

Tables are CSV or TSV (also .gz, .zst), Parquet or Arrow files, of any size: they are read twice
and not held. With caps of hosts they are read some times more, and the names of hosts, four bytes a
page and up to half a gigabyte of pages on full hosts are kept. Names of pages are checked for
repetition, in one reading more, where there are at most four million rows.

Columns: page,rate[,weight][,cost][,count][,min_period][,max_period][,host][,curve,shape]. A rate
without a unit is per --unit, a period without one in it. A row with a count stands for so many
pages. A page whose rate is empty is visited only as its max_period promises: no share of --floor
goes to it.

A cap of a host counts what the budget counts: with a cost column cost, not visits. Of the rows
a,1/day and b,2/day of cost 10 and 1 on one host, --host-cap 2/day has b visited twice a day and a
never, since one visit to it costs what the cap allows in five days.

A curve is the chance that a page has changed, t after a visit:
  exponential (or empty)  1 - e^(-rate t)
  lomax    1 - (1 + rate t/shape)^(-shape): the rate is a guess, the vaguer the smaller the shape
  weibull  1 - e^(-(rate t)^shape): each visit comes right after a change, which makes the next
           likelier (shape below 1) or rarer (above)
  bursts   P(1/shape, (g rate t)^shape) with g = Gamma(1 + 1/shape): changes come in bursts, at that
           mean rate, the wilder the smaller the shape (0.1 to 1), and visits at any time
Pages with a shape are planned for freshness in fixed order, one by one: some two million pages a
second, where others go in hundreds of millions. For age, harmonic and random order rates alone
count, unless --curve-column asks for curves, which is then an error.

The result has the names of the pages and frequency_per_day, period_days, price_days (the price of
a page whose host is at its cap is the host's), freshness, age_days, reason.";

#[derive(Debug, Args)]
#[command(after_help = PLAN_EXAMPLES)]
pub(crate) struct PlanArgs {
    /// Tables of pages: files, directories of them, or `-` for stdin
    #[arg(value_name = "PAGES", required_unless_present = "example")]
    pub pages: Vec<PathBuf>,
    /// Plan the built-in table instead: CGM03 Table IV, five pages and five visits a day
    #[arg(long, conflicts_with = "pages")]
    pub example: bool,
    #[command(flatten)]
    pub price: PriceArgs,
    /// What to make large (freshness) or small (age, harmonic)
    #[arg(long, value_enum, default_value_t = ObjectiveArg::Freshness)]
    pub objective: ObjectiveArg,
    /// How visits are shared out
    #[arg(long, value_enum, default_value_t = AllocationArg::Optimal)]
    pub allocation: AllocationArg,
    /// In which order pages are visited
    #[arg(long, value_enum, default_value_t = OrderArg::Fixed)]
    pub order: OrderArg,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Draw how often pages are visited against how often they change (CGM03 figure 11), to a .svg or .html file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// The column of weights [default: `weight` if there is one, else all 1]
    #[arg(long, value_name = "NAME")]
    pub weight_column: Option<String>,
    /// The column of how many pages a row stands for [default: `count` if there is one, else all 1]
    #[arg(long, value_name = "NAME")]
    pub count_column: Option<String>,
    /// The column of the shortest times between visits [default: `min_period` if there is one]; an empty field is no bound
    #[arg(long, value_name = "NAME")]
    pub min_period_column: Option<String>,
    /// The column of the longest times between visits, which are promises [default: `max_period` if there is one]
    #[arg(long, value_name = "NAME")]
    pub max_period_column: Option<String>,
    #[command(flatten)]
    pub curves: CurveArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

const ESTIMATE_EXAMPLES: &str = "\
Examples:
  everfresh estimate visits.parquet --out pages.parquet
  everfresh estimate visits.parquet | everfresh plan --budget 1000/day -
  everfresh estimate crawl/ --time-column fetched --digest-column sha1 --group-column site
  everfresh estimate visits.csv --estimator drifting --half-life 90days
  everfresh estimate visits.csv --estimator renewal --hours
  everfresh estimate visits.csv --report changes.html --out pages.csv
  everfresh estimate commits.csv --rows changes --now 2024-05-01

Tables are CSV or TSV (also .gz, .zst), Parquet or Arrow files. Columns: page, time and one of
digest (a change is a digest that differs from the last), changed (0 or 1, false or true: since the
visit before) or last_modified (a time; a change if it is later than the visit before or differs
from the last one, without a date if it is the time of the visit or no later than the visit before);
and group and host if there are such: pages of a group (as their first rows name it) are taken to be
alike, and so are those of a host, within its group. Times are seconds since 1970, dates such as
2024-05-01, 2024-05-01 12:00:00 (UTC), 2024-05-01T14:00:00+02:00 or Wed, 01 May 2024 12:00:00 GMT,
or timestamps; they count in whole seconds.

Rows may come in any order. Where the visits of each page come in the order of their times, the
table is read once, else again and sorted, in 256 MB of memory and temporary files. Visits of a page
in the same second count as one, which saw a change if one of them did (the first of a page sees
none); one without a digest, flag or date and one in the future are skipped. All that is said. A
page without a visit that counts has the rate of its like. A change after so long a time that there
had to be one tells nothing: gamma leaves it out. All pages are held, also where the table is
sorted, since what they have in common is learnt from all: some 300 bytes for a page with a name of
30 letters, up to 400 by other estimators than gamma, and by likelihood up to 2 KB more for one with
65 different times before visits that found a change. Those with a prior other than gamma, and
--hours, read again.

The result goes to --out, else as CSV to stdout: page, rate, rate_low, rate_high (changes per day;
rate_high is empty where every visit found a change, since nothing then bounds the rate from above),
knowledge_changes and knowledge_days (the visits told as much as watching the page without pause for
so many days and seeing so many changes), estimator, visits, changes, first_seen, last_seen, curve
and shape, and group and host. The truth lies between rate_low and rate_high nine times in ten if
changes are Poisson and the rates of pages differ by a gamma law, somewhat more often where they
differ by decades, and less than half the time where changes come in bursts: there use --estimator
drifting --dispersion with the dispersion that --report finds. Of a page that was visited once the
estimators without a prior know nothing: its rate is empty; of one that was never seen to change
they say 0, and a plan never visits it.

The curve is lomax (shape: alpha) where the rate is not known exactly: a plan then knows what not
knowing costs. With --curves it is bursts (shape: k) where the gaps of pages of such rates are no
Poisson page's and that makes more of long quiet times than not knowing the rate does. Pages that
change like clockwork have the curve of Poisson pages. Plans for age and harmonic, and for random
order, read rates alone.";

#[derive(Debug, Args)]
#[command(after_help = ESTIMATE_EXAMPLES)]
pub(crate) struct EstimateArgs {
    #[command(flatten)]
    pub visits: VisitArgs,
    /// What the rows are
    #[arg(long, value_enum, default_value_t = RowsArg::Visits,
        conflicts_with_all = ["digest_column", "changed_column", "last_modified_column"])]
    pub rows: RowsArg,
    /// How rates are estimated
    #[arg(long, value_enum, default_value_t = EstimatorArg::Gamma)]
    pub estimator: EstimatorArg,
    /// For --estimator drifting: what was seen counts half after this time [default: it counts for ever]
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    pub half_life: Option<Period>,
    /// For --estimator drifting: how much more the number of changes varies than that of a Poisson page [default: 1]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub dispersion: Option<f64>,
    /// Learn at which hours (UTC) and weekdays the pages of each group change, and reckon with that where it foresees visits
    /// better than a constant rate
    #[arg(long)]
    pub hours: bool,
    /// Write the table to a file in the format of its ending: .csv, .tsv, .json, .jsonl (also with .gz or .zst), .parquet,
    /// .arrow, .ipc, .feather or .arrows; `-` is CSV to stdout
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// Which columns `curve` and `shape` to write, by which `everfresh plan` knows how copies diverge [default: rates, with an
    /// estimator that has a prior; bursts if nothing is named]
    #[arg(long, value_name = "WHICH", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "bursts")]
    pub curves: Option<CurvesArg>,
    /// Draw how often pages change, by group, whether changes are Poisson and whether they come as often as foreseen, to a
    /// .html file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// A table of visits, and what its columns are called.
#[derive(Debug, Args)]
pub(crate) struct VisitArgs {
    /// Tables of visits: files, directories of them, or `-` for stdin
    #[arg(value_name = "VISITS", required = true)]
    pub visits: Vec<PathBuf>,
    /// Later visits are in the future [default: the clock]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub now: Option<u32>,
    /// The column that names the pages
    #[arg(long, value_name = "NAME", default_value = "page")]
    pub page_column: String,
    /// The column of the times of visits
    #[arg(long, value_name = "NAME", default_value = "time")]
    pub time_column: String,
    #[command(flatten)]
    pub told: ToldArgs,
    /// The column of groups [default: `group` if there is one]
    #[arg(long, value_name = "NAME")]
    pub group_column: Option<String>,
    /// The column of hosts [default: `host` if there is one]
    #[arg(long, value_name = "NAME")]
    pub host_column: Option<String>,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  everfresh compare visits.parquet
  everfresh compare crawl/ --time-column fetched --digest-column sha1 --policies all
  everfresh compare visits.csv --eagerness 0.9 --json

Tables are those of `everfresh estimate`. What happened between two visits nobody saw: where the
second found a change, changes are drawn as those of a page that changes at random as often as is
likeliest for it, or one is placed by --eagerness (OP08 appendix B); one that the source dates
happened then. Each page counts from its first visit to its last. Of more than 5000 pages some are
drawn evenly.

Your own visits stand first. All others make as many, and learn only from their own. `optimal` is
told each page's mean rate: the best where pages change at random, elsewhere others may have more
(hs-s is told how equality is lost, page by page). An error is one standard error, over pages and
over runs.";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub visits: VisitArgs,
    /// The policies to compare with, or `all`; names and parameters as in `everfresh simulate --help`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "uniform,optimal,posterior")]
    pub policies: Vec<String>,
    /// When a change that a visit found happened: 1 right after the visit before, 0 right before this one [default: as on a
    /// page that changes at random, as often as is likeliest, unseen changes too]
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub eagerness: Option<f64>,
    /// The seed: the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How many runs, each with the next seed, every policy has
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which column says what a visit saw.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct ToldArgs {
    /// The column of digests of the content [default: `digest` if there is one]
    #[arg(long, value_name = "NAME")]
    pub digest_column: Option<String>,
    /// The column that says whether the page had changed [default: `changed` if there is one]
    #[arg(long, value_name = "NAME")]
    pub changed_column: Option<String>,
    /// The column of the times of the last change [default: `last_modified` if there is one]
    #[arg(long, value_name = "NAME")]
    pub last_modified_column: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowsArg {
    /// Visits, of which a column says what they saw
    Visits,
    /// Changes, each at its time, and all there were: a commit log, the dates of a feed. A page is known from its first row on, which does
    /// not count as a change, to --now if that is given, else to the last time of the table
    Changes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CurvesArg {
    /// Neither: the rate alone
    None,
    /// How exactly each rate is known (lomax; of estimators that learn a shape of the times between changes, that)
    Rates,
    /// That, and where changes come in bursts (bursts): the visits of some pages are read once more
    Bursts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EstimatorArg {
    /// What is known of all pages and of the group, and what the visits told beyond that
    Gamma,
    /// The same, for pages that change their habits
    Drifting,
    /// The same, for pages that change in bursts: times between changes of a Weibull law, whose shape is learnt
    Renewal,
    /// The same, for pages with busy and quiet times, whose rhythm is learnt
    TwoRates,
    /// Changes seen over time: low for pages that change faster than they are visited
    Naive,
    /// Corrected for that, for regular visits (Cho and Garcia-Molina)
    Ratio,
    /// The likeliest rate, for visits at any times
    Likelihood,
    /// From the times of last changes (Cho and Garcia-Molina)
    LastChange,
}

const LONGEVITY_EXAMPLES: &str = "\
Examples:
  everfresh longevity archive/ --price 1h
  everfresh longevity snapshots.jsonl.zst --budget 100/day --out pages.csv
  everfresh longevity archive/ --page news --draw news.svg
  everfresh longevity trace/ --every 12h --json
  everfresh longevity archive/ --out - | everfresh plan --budget 100/day -

Snapshots are
  a directory of dated files, compressed or not: PAGE/TIME.txt or PAGE@TIME.txt with any ending or
  none, where PAGE may be in folders and TIME is 2024-05-01, 2024-05-01T12:00:00Z (also with - for
  :), 20240501, 20240501120000 or seconds since 1970;
  a file of JSON lines (also .gz, .zst) or `-`: {\"page\": ..., \"time\": ..., \"text\": ...}, or p, t
  and x, in any order;
  a directory with the file shingles.csv.zst (or .gz, or plain): page,time_unix,n,added,removed, by
  page and time, the hashes of fragments that came and went, and pages.csv.gz with their names. A
  trace says when pages changed: they are taken as visited --every so often.
Texts are taken as they are: take the tags out of HTML first. Of a page with more than 2048 fragments
an even sample is kept, the same for all versions, so that files may be of any size.

A page is a set of fragments; divergence is the share of them that two versions do not have in
common. What every version has is static, what the next change removes churns, what stays longer
scrolls. The curve shown is fitted to the page itself; utility, period and divergence follow what is
believed of it, in which the other pages have a part, since the past of a page alone foretells its
future badly (--by fitted: without them). Utility is divergence times time: a visit is worth it when
that reaches the price. In --out and --json the columns rate, weight, curve and shape are what is
believed, as near as a Lomax curve times a weight comes to it, for `everfresh plan`.";

#[derive(Debug, Args)]
#[command(after_help = LONGEVITY_EXAMPLES)]
pub(crate) struct LongevityArgs {
    /// A directory of dated files, a file of JSON lines (`-`: stdin), or the directory of a trace
    #[arg(value_name = "SNAPSHOTS")]
    pub snapshots: PathBuf,
    /// Visit a page when that gains this much divergence times time, such as 1h
    #[arg(long, value_name = "TIME", value_parser = positive_time, conflicts_with = "budget")]
    pub price: Option<Period>,
    /// Find the price at which all pages together are visited this often
    #[arg(long, value_name = "AMOUNT/TIME", value_parser = budget)]
    pub budget: Option<f64>,
    /// Which curve utilities and periods follow
    #[arg(long, value_enum, default_value_t = CurveArg::Believed)]
    pub by: CurveArg,
    /// Only this page
    #[arg(long, value_name = "PAGE")]
    pub page: Option<String>,
    /// Do not read the other pages at all
    #[arg(long, requires = "page", conflicts_with = "budget")]
    pub alone: bool,
    /// Draw the life lines of the page's fragments and its divergence curve, to a .svg or .html file
    #[arg(long, value_name = "FILE", requires = "page")]
    pub draw: Option<PathBuf>,
    /// What a fragment is: so many words in a row (1 to 64), `lines`, or `whole` for the whole text
    #[arg(long, value_name = "CUT", default_value = "8", value_parser = cut)]
    pub fragments: Cut,
    /// How often the pages of a trace are taken as visited
    #[arg(long, value_name = "TIME", default_value = "1day", value_parser = positive_time)]
    pub every: Period,
    /// The time for which utilities are told [default: the clock]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub now: Option<u32>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CurveArg {
    /// What the page and all others say together; a quiet page keeps a share of doubt
    Believed,
    /// What is closest to the page's own snapshots
    Fitted,
}

impl CurveArg {
    /// The one that was not asked for.
    pub(crate) const fn other(self) -> CurveArg {
        match self {
            CurveArg::Believed => CurveArg::Fitted,
            CurveArg::Fitted => CurveArg::Believed,
        }
    }

    /// For legends.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            CurveArg::Believed => "believed, with all pages",
            CurveArg::Fitted => "fitted to this page",
        }
    }
}

const BUDGET_EXAMPLES: &str = "\
Examples:
  everfresh budget pages.csv --target 0.8
  everfresh budget pages.parquet --budget 500/day --plot curve.svg
  everfresh budget pages.csv --objective age --target-age 2h --json
  everfresh budget pages.csv --cost 0.002 --worth 0.01/day
  everfresh budget pages.csv --target 0.8 --host-cap 500/day --floor 0.05

Shards on several machines, with one budget:
  everfresh budget shard-7.parquet --save shard-7.rough.outlook                        on each
  everfresh budget *.rough.outlook --budget 900000/day --json                          together
  everfresh budget shard-7.parquet --around 0.1228days --save shard-7.near.outlook     on each
  everfresh budget *.near.outlook --budget 900000/day --json                           together
  everfresh plan shard-7.parquet --price 0.12279863451177902days                       on each
The first price_days spends the budget to about 1e-4. Read around it, pages about to be given up
are kept one by one: the second, with all its digits, spends it to 1e-9 where is_exact says so; else
one page is just given up, and no price spends it more exactly.

Tables are those of `everfresh plan`, read once, after names are checked as there. A gain is what
one more visit (or unit of cost) per time adds to the mean freshness, or takes from the mean age or
penalty. Periods and curves (for freshness in fixed order) count, of up to 16 million pages
(`everfresh estimate` writes curves unless it is told --curves=none).

Caps of hosts and a floor are another matter for each budget: a plan is made for each, which reads
the tables about four times with a floor and ten with caps. Nine budgets are on the curve then,
--budget is two more and a --target some six. With a floor, a gain is that of a visit beyond it.";

#[derive(Debug, Args)]
#[command(after_help = BUDGET_EXAMPLES)]
pub(crate) struct BudgetArgs {
    /// Tables of pages: files, directories of them, or `-` for stdin; or what --save made of them
    #[arg(value_name = "PAGES", required = true)]
    pub pages: Vec<PathBuf>,
    /// What does this budget give, and twice as much?
    #[arg(long, value_name = "AMOUNT/TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<f64>,
    /// Which budget gives this mean freshness?
    #[arg(long, value_name = "SHARE", value_parser = target, allow_hyphen_values = true)]
    pub target: Option<f64>,
    /// Which budget gives this mean age? Needs --objective age
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    pub target_age: Option<Period>,
    /// Which budget is best if a visit costs this much (times the cost column)? Needs --worth
    #[arg(long, value_name = "MONEY", value_parser = positive, allow_hyphen_values = true, requires = "worth")]
    pub cost: Option<f64>,
    /// What a fresh copy of weight 1 earns
    #[arg(long, value_name = "MONEY/TIME", value_parser = benefit, allow_hyphen_values = true, requires = "cost")]
    pub worth: Option<Benefit>,
    /// What to make large (freshness) or small (age, harmonic)
    #[arg(long, value_enum, default_value_t = ObjectiveArg::Freshness)]
    pub objective: ObjectiveArg,
    /// In which order pages are visited
    #[arg(long, value_enum, default_value_t = OrderArg::Fixed)]
    pub order: OrderArg,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Draw the objective against the budget, to a .svg or .html file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Read for plans near this price, which a first outlook told, so that a budget's price there is right to nine digits
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, conflicts_with_all = ["floor", "host_cap", "host_caps"])]
    pub around: Option<String>,
    /// Keep what was read in an .outlook file, which can be given in the place of its tables, also beside those of others
    #[arg(long, value_name = "FILE", conflicts_with_all = ["floor", "host_cap", "host_caps"])]
    pub save: Option<PathBuf>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// The column of weights [default: `weight` if there is one, else all 1]
    #[arg(long, value_name = "NAME")]
    pub weight_column: Option<String>,
    /// The column of how many pages a row stands for [default: `count` if there is one, else all 1]
    #[arg(long, value_name = "NAME")]
    pub count_column: Option<String>,
    /// The column of the shortest times between visits [default: `min_period` if there is one]; an empty field is no bound
    #[arg(long, value_name = "NAME")]
    pub min_period_column: Option<String>,
    /// The column of the longest times between visits, which are promises [default: `max_period` if there is one]
    #[arg(long, value_name = "NAME")]
    pub max_period_column: Option<String>,
    #[command(flatten)]
    pub curves: CurveArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Where a table says by which law its pages change.
#[derive(Debug, Args)]
pub(crate) struct CurveArgs {
    /// The column of curves: exponential, lomax, weibull or bursts [default: `curve` if there is one, else all exponential]
    #[arg(long, value_name = "NAME")]
    pub curve_column: Option<String>,
    /// The column of the shapes of the other curves [default: `shape` if there are curves]
    #[arg(long, value_name = "NAME")]
    pub shape_column: Option<String>,
}

/// What limits a plan besides its budget.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// A share of the budget that is spread evenly over all pages with weight, so that a wrong rate starves none
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub floor: Option<f64>,
    /// What may be spent on each host: visits per time; where the table has costs, cost per time
    #[arg(long, value_name = "AMOUNT/TIME", value_parser = cap, allow_hyphen_values = true)]
    pub host_cap: Option<f64>,
    /// A table of hosts with caps of their own: host,cap
    #[arg(long, value_name = "FILE")]
    pub host_caps: Option<PathBuf>,
    /// The column of hosts, for caps
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub host_column: String,
}

impl LimitArgs {
    /// Are hosts capped?
    pub(crate) const fn cap_hosts(&self) -> bool {
        self.host_cap.is_some() || self.host_caps.is_some()
    }
}

/// Where the price of a visit comes from.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct PriceArgs {
    /// Spend exactly this: visits per time, or cost per time where the table has costs
    #[arg(long, value_name = "AMOUNT/TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<f64>,
    /// Visit a page when that gains this much: a time, such as 6h, for freshness and harmonic; for age a squared time, 2h2
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub price: Option<String>,
    /// What a visit really costs (times the cost column); weights are then benefits per --unit
    #[arg(long, value_name = "MONEY", value_parser = positive, allow_hyphen_values = true)]
    pub cost: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct ColumnArgs {
    /// The column that names the pages
    #[arg(long, value_name = "NAME", default_value = "page")]
    pub page_column: String,
    /// The column of rates
    #[arg(long, value_name = "NAME", default_value = "rate")]
    pub rate_column: String,
    /// The column of what one visit costs [default: `cost` if there is one, else all the same]
    #[arg(long, value_name = "NAME")]
    pub cost_column: Option<String>,
    /// The unit of time of bare numbers in the table, and of amounts in the text for people [default: day]
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<Unit>,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print the whole result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the table to a file in the format of its ending: .csv, .tsv, .json, .jsonl (also with .gz or .zst), .parquet,
    /// .arrow, .ipc, .feather or .arrows; `-` is CSV to stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Rows of the table to print; --json and --out always have all
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub rows: usize,
}

const FRESHNESS_EXAMPLES: &str = "\
Examples:
  everfresh freshness --rate 1/day --period 1day
  everfresh freshness --rate 1/day --target 0.8
  everfresh freshness --rate 1/week --target-age 2h --json
  everfresh freshness --rate 1/day --period 1day --delta 0.5    many pages, whose rates differ";

#[derive(Debug, Args)]
#[command(after_help = FRESHNESS_EXAMPLES)]
pub(crate) struct FreshnessArgs {
    /// How often the page changes
    #[arg(long, value_name = "N/TIME")]
    pub rate: Rate,
    #[command(flatten)]
    pub question: Question,
    /// Many pages instead of one, with gamma-distributed rates: their standard deviation over their mean, --rate
    #[arg(long, value_name = "D", value_parser = not_negative, allow_hyphen_values = true, conflicts_with_all = ["target", "target_age"])]
    pub delta: Option<f64>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is asked of a page.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Question {
    /// It is visited this often: how fresh is the copy?
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    pub period: Option<Period>,
    /// It is visited at this frequency: how fresh is the copy?
    #[arg(long, value_name = "N/TIME")]
    pub frequency: Option<Frequency>,
    /// The copy is to be fresh this share of the time: how often must it be visited?
    #[arg(long, value_name = "SHARE", value_parser = target, allow_hyphen_values = true)]
    pub target: Option<f64>,
    /// The copy is to be no older than this on average: how often must it be visited?
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    pub target_age: Option<Period>,
}

const SPLIT_EXAMPLES: &str = "\
Examples:
  everfresh split --changes 9,1 --visits 10
  everfresh split --changes 9,1 --visits 10 --given 9,1

The model of CGM03 section 5.2: a day is cut into as many intervals as the page changes, and it changes once in each, at a
moment unknown. The benefit of visits is the share of the day for which they make the copy fresh.";

#[derive(Debug, Args)]
#[command(after_help = SPLIT_EXAMPLES)]
pub(crate) struct SplitArgs {
    /// How often each page changes a day
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', required = true)]
    pub changes: Vec<u32>,
    /// Visits a day to split over them
    #[arg(long, value_name = "N")]
    pub visits: u32,
    /// A split to compare with the best
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    pub given: Option<Vec<u32>>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

const PAPERS_EXAMPLES: &str = "\
Examples:
  everfresh papers
  everfresh papers --only CGM03,RN15
  everfresh papers --out report           report/papers.html with pictures, and CSV beside it
  everfresh papers --data traces/news --data traces/terms --out report

A number of ours matches if it rounds to the printed one. Slips of the papers are named. Where the
data of a paper are not public, a world made from the seed stands in; those numbers are not judged.
With --data recorded pages stand in as well (CGM03 figures 14, 15, 17; OP08 figures 3, 6, 8 to 11),
from a directory as `everfresh simulate --world trace:DIR` reads it.";

#[derive(Debug, Args)]
#[command(after_help = PAPERS_EXAMPLES)]
pub(crate) struct PapersArgs {
    /// Only these papers
    #[arg(long, value_name = "PAPER,...", value_enum, value_delimiter = ',', ignore_case = true)]
    pub only: Vec<PaperArg>,
    /// A recorded trace that stands in for data that are not public; may be given several times
    #[arg(long, value_name = "DIR")]
    pub data: Vec<PathBuf>,
    /// Write a page with pictures, papers.html, and the numbers as CSV into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What the worlds that stand in for data are made from
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,
    /// Print all numbers and curves as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaperArg {
    /// Effective page refresh policies for web crawlers
    #[value(name = "CGM03")]
    Cgm03,
    /// Synchronizing a database to improve freshness, the technical report
    #[value(name = "CGM99")]
    Cgm99,
    /// The same at SIGMOD
    #[value(name = "CGM00")]
    Cgm00,
    /// Recrawl scheduling based on information longevity
    #[value(name = "OP08")]
    Op08,
    /// Long-term optimization for decaying information
    #[value(name = "RN15")]
    Rn15,
}

impl From<PaperArg> for Paper {
    fn from(word: PaperArg) -> Self {
        match word {
            PaperArg::Cgm03 => Paper::Cgm03,
            PaperArg::Cgm99 => Paper::Cgm99,
            PaperArg::Cgm00 => Paper::Cgm00,
            PaperArg::Op08 => Paper::Op08,
            PaperArg::Rn15 => Paper::Rn15,
        }
    }
}

const INCOME_EXAMPLES: &str = "\
Examples:
  everfresh income --rate 0.457/year --benefit 1/year --cost 1
  everfresh income --rate 1/10days --benefit 1/day --decay linear
  everfresh income --half-life 1day --observed-frequency 75/day
  everfresh income pages.csv --benefit 0.3/day --budget 270/month

The table is CSV (TSV if the file ends in .tsv) with a header: page,rate[,benefit][,cost].
Where a column is missing the flag counts.";

#[derive(Debug, Args)]
#[command(after_help = INCOME_EXAMPLES)]
pub(crate) struct IncomeArgs {
    /// A table of pages; `-` reads CSV from stdin
    #[arg(value_name = "PAGES", required_unless_present_any = ["rate", "half_life"])]
    pub pages: Option<PathBuf>,
    /// How often the one page changes
    #[arg(long, value_name = "N/TIME", conflicts_with_all = ["pages", "half_life"])]
    pub rate: Option<Rate>,
    /// The time after which the copy of the one page is wrong with probability 1/2
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true, conflicts_with = "pages")]
    pub half_life: Option<Period>,
    /// What a right copy earns; amounts in the output are per the same time, unless --unit says another
    #[arg(long, value_name = "MONEY/TIME", value_parser = benefit, allow_hyphen_values = true)]
    pub benefit: Option<Benefit>,
    /// What a visit costs
    #[arg(long, value_name = "MONEY", default_value_t = 1.0, value_parser = positive, allow_hyphen_values = true)]
    pub cost: f64,
    /// How copies go wrong in time
    #[arg(long, value_enum, default_value_t = DecayArg::Exponential)]
    pub decay: DecayArg,
    /// The shape of weibull decay (below 1: bursts) or of lomax decay (the smaller, the less the rate is known)
    #[arg(long, value_name = "K", value_parser = positive, allow_hyphen_values = true, required_if_eq_any = [("decay", "weibull"), ("decay", "lomax")])]
    pub shape: Option<f64>,
    /// Find the benefit for which this frequency would be the best
    #[arg(long, value_name = "N/TIME", conflicts_with_all = ["pages", "benefit", "budget", "out"])]
    pub observed_frequency: Option<Frequency>,
    /// What is lost by spending exactly this instead: visits times cost, per time
    #[arg(long, value_name = "AMOUNT/TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<f64>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// The column of benefits [default: `benefit` if there is one]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["rate", "half_life"])]
    pub benefit_column: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}

const SIMULATE_EXAMPLES: &str = "\
Examples:
  everfresh simulate
  everfresh simulate --world lognormal --pages 100000 --budget 0.2/day/page --policies all --days 365 --seed 7
  everfresh simulate --world gamma --habit bursty --policies uniform,optimal,posterior --seeds 5
  everfresh simulate --world trace:data/terms --from 2023-01-01 --budget 1/30days/page --report out.html
  everfresh simulate --world trace:data/terms --objective content --hold-peers --json
  everfresh simulate --habit regions --objective content --policies fs-d,bound-based:rho=5,first=2h,cgm";

const SIMULATE_WORDS: &str = "\
fs-s and hs-s are told mean curves, of content and of equality, fs-d and hs-d changes as they
happen (OP08); bayes is told how rates are distributed, not which page has which. Who learns does so
from its own visits only; curve-fitting, bound-based and cgm as OP08 has them, longevity by curves
that are believed with care; scheduler is all that `everfresh run` does, in worlds of 17 years at
most. The rules of other crawlers have their defaults; they choose their own load, but for meguri's.

A trace is a directory with visits.csv.gz (page,time_unix,content_hash,kind: a row for each
revision) and, for --objective content, shingles.csv.zst (page,time_unix,n,added,removed).

The result: visits, the share of time that copies were fresh, their age, the share of content that
differed (staleness); how much of the optimum's gain over uniform at the same visits the policy
has; and how many of its visits the optimum needs for the same. An error is one standard error of the
number before it: over pages, and over runs too where there are several (--seeds); that of the gain
is over pages. Visits with a star are more than 2 % off the budget.

The optimum is `optimal` where pages change at random at constant rates (poisson, mortal). Elsewhere
known rates are not all there is to know: it is `optimal` or hs-s there, whichever has more at the
budget, and for content fs-s; the second line says who. All of these give a page one period for good,
so that who learns what holds now, a rate that drifted or an hour, can have more than 100 %.";

/// What stands after the flags of `simulate`, with every policy by name.
fn simulate_help() -> String {
    let mut text = format!("{SIMULATE_EXAMPLES}\n\nPolicies:\n");
    for (kind, names) in Entrant::kinds() {
        let mut line = format!("  {kind:14} ");
        for (number, name) in names.iter().enumerate() {
            let comma = if number + 1 < names.len() { "," } else { "" };
            if line.len() + name.len() + 2 > 98 {
                text.push_str(&format!("{line}\n"));
                line = " ".repeat(17);
            }
            line.push_str(&format!(" {name}{comma}"));
        }
        text.push_str(&format!("{line}\n"));
    }
    format!("{text}\n{}\n{SIMULATE_WORDS}", parameters_help())
}

/// Which policies have parameters, and what these are.
fn parameters_help() -> String {
    let mut text = "Parameters, as in bound-based:rho=5,first=2h,cgm:\n".to_owned();
    let mut before: &[_] = &[];
    for entrant in Entrant::all().filter(|entrant| !entrant.parameters().is_empty()) {
        let parameters = entrant.parameters();
        let like = Entrant::all().filter(|other| other.parameters() == parameters).map(Entrant::name);
        if parameters != before {
            let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name()).collect();
            text.push_str(&format!("  {:23} {}\n", like.collect::<Vec<_>>().join(", "), names.join(", ")));
        }
        before = parameters;
    }
    for (name, meaning, default) in Parameter::all() {
        text.push_str(&format!("  {name:10} {meaning}\n  {:10} [default: {default}]\n", ""));
    }
    text
}

#[derive(Debug, Args)]
#[command(after_help = simulate_help())]
pub(crate) struct SimulateArgs {
    /// How rates differ between pages (constant, gamma, lognormal, log-uniform, five-classes), `trace:DIR`, or
    /// `snapshots:PATH`, a directory of dated files or JSON lines as `everfresh longevity` reads them
    #[arg(long, value_name = "WORLD", default_value = "lognormal")]
    pub world: WorldArg,
    /// How pages of a synthetic world change [default: poisson]
    #[arg(long, value_enum)]
    pub habit: Option<HabitArg>,
    /// How weights differ between pages of a synthetic world [default: uniform]
    #[arg(long, value_enum)]
    pub weights: Option<WeightsArg>,
    /// How many pages a synthetic world has; of a trace, at most so many, evenly drawn [default: 2000, a trace all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub pages: Option<u64>,
    /// Visits per time, for all pages or `/page`
    #[arg(long, value_name = "N/TIME[/page]", default_value = "0.2/day/page", value_parser = load)]
    pub budget: Load,
    /// The policies to compare, or `all`; those of OP08 with parameters, as `bound-based:rho=5,first=2h`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "all")]
    pub policies: Vec<String>,
    /// How long a synthetic world lasts [default: 365]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub days: Option<f64>,
    /// The time at the start that does not count, in which policies learn
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub warmup: Option<Period>,
    /// From when on a trace is replayed: a date, or seconds since 1970 [default: when half of its pages are there]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub from: Option<u32>,
    /// Until when a trace is replayed [default: its end]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub to: Option<u32>,
    /// How often the collector of a trace looked: a change may have happened at any time since [default: times are exact]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub looked_every: Option<Period>,
    /// Where between two looks a change lies: 1 right after the first, 0 right before the second (OP08 appendix B)
    /// [default: half way in a trace, in snapshots as each page's own content tells]
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub eagerness: Option<f64>,
    /// What the gain is measured by
    #[arg(long, value_enum, default_value_t = GoalArg::Freshness)]
    pub objective: GoalArg,
    /// In which order pages are visited
    #[arg(long, value_enum, default_value_t = OrderArg::Fixed)]
    pub order: OrderArg,
    /// Hold the rules that choose their own load to the budget: all their intervals times the same factor
    #[arg(long)]
    pub hold_peers: bool,
    /// The share of visits that fail
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub failures: Option<f64>,
    /// How long a visit takes on average
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub latency: Option<Period>,
    /// Over how many hosts the pages of a synthetic world are spread; those of a trace are its folders
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub hosts: u32,
    /// The most visits that a host allows
    #[arg(long, value_name = "N/TIME", value_parser = cap)]
    pub host_cap: Option<f64>,
    /// What a fresh copy of a page of weight 1 earns: the table gets a column of net income (RN15)
    #[arg(long, value_name = "MONEY/TIME", value_parser = benefit, allow_hyphen_values = true)]
    pub benefit: Option<Benefit>,
    /// What a visit costs
    #[arg(long, value_name = "MONEY", default_value_t = 1.0, value_parser = positive, allow_hyphen_values = true, requires = "benefit")]
    pub visit_cost: f64,
    /// The seed: the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How many runs, each with the next seed, every policy has
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Draw what every policy reaches at other budgets too, as OP08 figures 6, 8, 9, 11 and 12, to an .html file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A world by name.
#[derive(Clone, Debug)]
pub(crate) enum WorldArg {
    Rates(Rates),
    Trace(PathBuf),
    Snapshots(PathBuf),
}

impl std::str::FromStr for WorldArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(folder) = text.strip_prefix("trace:") {
            return Ok(WorldArg::Trace(folder.into()));
        }
        if let Some(path) = text.strip_prefix("snapshots:") {
            return Ok(WorldArg::Snapshots(path.into()));
        }
        let Some(rates) = Rates::ALL.into_iter().find(|rates| rates.name() == text) else {
            return Err(
                "must be constant, gamma, lognormal, log-uniform, five-classes, trace:DIR or snapshots:PATH".into()
            );
        };
        Ok(WorldArg::Rates(rates))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HabitArg {
    /// At random, at constant rates
    Poisson,
    /// Busy and quiet times in turn
    Bursty,
    /// By the hour of the day or the day of the week
    Periodic,
    /// At rates that are drawn anew every few months
    Drifting,
    /// At random, with pages that appear and vanish
    Mortal,
    /// In regions: static, overwritten, scrolling (OP08)
    Regions,
    /// The same as texts, of which policies see sketches
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightsArg {
    /// All alike
    Uniform,
    /// By rank, drawn at random
    Zipf,
    /// By rank, pages that change often first
    ZipfByRate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GoalArg {
    /// Copies equal to their sources
    Freshness,
    /// Copies like their sources: the share of content that differs counts
    Content,
}

/// Visits per second, for each page or for all.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    PerPage(f64),
    InAll(f64),
}

fn load(text: &str) -> Result<Load, String> {
    match text.strip_suffix("/page") {
        Some(each) => positive_per_time("budget", each).map(Load::PerPage),
        None => positive_per_time("budget", text).map(Load::InAll),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectiveArg {
    /// The share of time that a copy is fresh
    Freshness,
    /// The time since the first change that a copy misses
    Age,
    /// n missed changes cost 1 + 1/2 + ... + 1/n: gives up no page, forgives wrong rates
    Harmonic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllocationArg {
    /// The best for the objective
    Optimal,
    /// The same frequency for every page that changes
    Uniform,
    /// A frequency in proportion to the page's rate
    Proportional,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderArg {
    /// The same order each round
    Fixed,
    /// A new shuffle each round
    Random,
    /// Each visit picks any page
    PurelyRandom,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecayArg {
    /// Changes come at random: 1 - e^(-rate t) wrong after t
    Exponential,
    /// All are wrong after 1/rate
    Linear,
    /// Changes come in bursts, or the likelier the longer ago the last: needs --shape
    Weibull,
    /// The rate is a guess: needs --shape
    Lomax,
}

/// Pairs the words of the command line with the library's values, both ways.
macro_rules! words {
    ($arg:ident, $library:ident: $($case:ident $word:literal),*) => {
        impl From<$arg> for $library {
            fn from(word: $arg) -> Self {
                match word { $($arg::$case => $library::$case),* }
            }
        }

        impl Word for $library {
            fn word(self) -> &'static str {
                match self { $($library::$case => $word),* }
            }
        }
    };
}

/// How a value is called in the output.
pub(crate) trait Word {
    fn word(self) -> &'static str;
}

words!(ObjectiveArg, Objective: Freshness "freshness", Age "age", Harmonic "harmonic");
words!(AllocationArg, Allocation: Optimal "optimal", Uniform "uniform", Proportional "proportional");
words!(OrderArg, Order: Fixed "fixed", Random "random", PurelyRandom "purely-random");

/// A budget in amounts per second.
pub(crate) fn budget(text: &str) -> Result<f64, String> {
    positive_per_time("budget", text)
}

/// A cap of hosts in amounts per second.
fn cap(text: &str) -> Result<f64, String> {
    positive_per_time("cap", text)
}

/// A moment in whole seconds since 1970.
pub(crate) fn moment(text: &str) -> Result<u32, String> {
    crate::table::moment(text)
}

/// How texts are cut into fragments.
fn cut(text: &str) -> Result<Cut, String> {
    match text {
        "lines" => Ok(Cut::LINES),
        "whole" => Ok(Cut::WHOLE),
        _ => {
            let words =
                text.parse().map_err(|_| format!("expected a number of words, `lines` or `whole`, got {text}"))?;
            Cut::words(words).map_err(|error| error.to_string())
        }
    }
}

/// A share, 0 and 1 among them.
pub(crate) fn part(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "expected a number".to_owned())?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(format!("must be between 0 and 1, got {text}")) }
}

/// A share above 0.
fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "expected a number".to_owned())?;
    if value > 0.0 && value <= 1.0 { Ok(value) } else { Err(format!("must be above 0 and at most 1, got {text}")) }
}

/// Money per second, and the unit of time that it was written with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Benefit {
    pub per_second: f64,
    pub unit: Unit,
}

fn benefit(text: &str) -> Result<Benefit, String> {
    let per_second = positive_per_time("benefit", text)?;
    let time = text.rsplit('/').next().unwrap_or_default();
    let unit = time.trim_start_matches(|c: char| !c.is_alphabetic()).parse().unwrap_or(Unit::Day);
    Ok(Benefit { per_second, unit })
}

fn positive_per_time(what: &'static str, text: &str) -> Result<f64, String> {
    match everfresh::units::parse_per_time(what, text, None) {
        Ok(per_second) if per_second > 0.0 => Ok(per_second),
        Ok(_) | Err(everfresh::Error::OutOfBounds { .. }) => {
            Err(format!("{what} must be positive and finite, got {text}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "expected a number".to_owned())?;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err(format!("must be positive and finite, got {text}")) }
}

fn not_negative(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "expected a number".to_owned())?;
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(format!("must be at least 0 and finite, got {text}"))
    }
}

fn target(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "expected a number".to_owned())?;
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(format!("freshness must be above 0 and below 1, got {text}"))
    }
}

pub(crate) fn positive_time(text: &str) -> Result<Period, String> {
    match text.parse::<Period>() {
        Ok(period) if period > Period::ZERO => Ok(period),
        Ok(_) | Err(everfresh::Error::OutOfBounds { .. }) => Err(format!("must be positive, got {text}")),
        Err(error) => Err(error.to_string()),
    }
}
