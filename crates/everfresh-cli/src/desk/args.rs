//! The commands on a store of pages.

use std::path::PathBuf;

use clap::Args;
use everfresh::Period;

use crate::args::{budget, moment, part, positive, positive_time};

/// Where everything is kept, unless something else is said.
pub(crate) const DATA: &str = "everfresh-data";

/// Which store.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The directory with all that is known of the pages
    #[arg(long, value_name = "DIR", default_value = DATA, env = "EVERFRESH_STORE")]
    pub data: PathBuf,
    /// Act as if it were this time: seconds since 1970, or 2026-11-15T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub now: Option<u32>,
}

const ADD_EXAMPLES: &str = "\
Examples:
  everfresh add urls.txt --budget 500/day
  everfresh add sitemap.xml --group blog --weight 2
  everfresh add pages.csv
  generate-urls | everfresh add -

A list has one address a line; empty lines and those that begin with # are skipped. A sitemap is an
.xml file, also .gz. A table is CSV with a column address (or url, page) and any of weight, cost, group,
host, min_period, max_period, pin. Addresses that are known already keep what was learnt of them, and
get the weight, group and bounds that are given.";

/// Takes pages in.
#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES)]
pub(crate) struct AddArgs {
    /// Lists of addresses, sitemaps or tables, or `-` for a list on stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// What may be spent: visits per time. Needed once, and where it is to be another
    #[arg(long, value_name = "AMOUNT/TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<f64>,
    /// A share of the budget that is spread evenly over all pages, so that a wrong belief is found out
    #[arg(long, value_name = "SHARE", value_parser = part, allow_hyphen_values = true)]
    pub floor: Option<f64>,
    #[command(flatten)]
    pub terms: TermArgs,
    /// JSON instead of a sentence
    #[arg(long)]
    pub json: bool,
}

/// What is asked for pages.
#[derive(Debug, Args)]
pub(crate) struct TermArgs {
    /// The group: pages of a group are learnt together
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// How much a fresh copy matters
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub weight: Option<f64>,
    /// What a visit costs, in the unit of the budget
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub cost: Option<f64>,
    /// Visit no more often than this
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub min_period: Option<Period>,
    /// Visit no less often than this, as far as budget and host allow
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub max_period: Option<Period>,
}

/// Tells of one page.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The page's address
    #[arg(value_name = "PAGE")]
    pub page: String,
    #[command(flatten)]
    pub store: StoreArgs,
    /// JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Forgets pages.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The pages' addresses
    #[arg(required = true, value_name = "PAGE")]
    pub pages: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// JSON instead of a sentence
    #[arg(long)]
    pub json: bool,
}

/// Visits a page every so often, whatever is known of it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  everfresh pin https://example.org/ 1h\n  everfresh pin https://example.org/ --off"
)]
pub(crate) struct PinArgs {
    /// The page's address
    #[arg(value_name = "PAGE")]
    pub page: String,
    /// The time between visits
    #[arg(value_name = "TIME", value_parser = positive_time, required_unless_present = "off")]
    pub period: Option<Period>,
    /// Let the price decide again
    #[arg(long, conflicts_with = "period")]
    pub off: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    /// JSON instead of a sentence
    #[arg(long)]
    pub json: bool,
}

const NOTICE_EXAMPLES: &str = "\
Example:
  everfresh notice https://example.org/news      from a hook of whoever publishes it

A page that was visited since then is left as it is. A run that goes on takes a notice in at once; if
there is none, the next one does. How far notices of a host and a group are believed is learnt: those
that were right bring a visit sooner, those that were wrong lose their weight. `everfresh explain`
tells.";

/// Says that pages changed just now.
#[derive(Debug, Args)]
#[command(after_help = NOTICE_EXAMPLES)]
pub(crate) struct NoticeArgs {
    /// The pages' addresses
    #[arg(required = true, value_name = "PAGE")]
    pub pages: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// JSON instead of a sentence
    #[arg(long)]
    pub json: bool,
}

/// Derives all state anew from the visit log.
#[derive(Debug, Args)]
pub(crate) struct RebuildArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    /// JSON instead of a sentence
    #[arg(long)]
    pub json: bool,
}

const BACKUP_EXAMPLES: &str = "\
Examples:
  everfresh backup /backups/news
  everfresh backup /backups/news --keep 14      from cron
  everfresh status --data /backups/news/2026-11-17T03-00-00.000Z

Each backup is a store in a directory of its own, named by its time in UTC, with all that was
acknowledged when it began: what is known of pages, the visit log and the copies. It appears whole
and on the disk, or not at all. Files that never change are copied once and shared by the backups
after. A run may go on meanwhile. To restore one, copy it to where the store was.";

/// Copies a store while a run may have it open.
#[derive(Debug, Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub(crate) struct BackupArgs {
    /// The directory of backups
    #[arg(value_name = "DIR")]
    pub into: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Remove older backups when it is made, so that so many are left
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub keep: Option<u16>,
    /// JSON instead of a sentence
    #[arg(long)]
    pub json: bool,
}

/// How things stand.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    /// So many hosts and groups are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub rows: usize,
    /// JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// What will be.
#[derive(Debug, Args)]
pub(crate) struct ForecastArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    /// JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Writes what is known of every page as a table, or every visit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  everfresh export --out pages.csv
  everfresh plan pages.csv --rate-column rate_per_day --budget 1000/day
  everfresh export --visits --out visits.parquet
  everfresh compare visits.parquet                        what could the same visits have given?")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    /// A row for every visit that saw its page, with whether it had changed, as `estimate` and `compare` take them
    #[arg(long)]
    pub visits: bool,
    /// A .csv or .parquet file; stdout, as CSV, if there is none
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}
