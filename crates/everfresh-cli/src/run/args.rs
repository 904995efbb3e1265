//! The flags of `everfresh run` and of the commands on copies.

use std::path::PathBuf;

use clap::Args;

use crate::args::budget;
use crate::desk::args::StoreArgs;

const RUN_EXAMPLES: &str = "\
Examples:
  everfresh run urls.txt --budget 500/day
  everfresh run everfresh.toml
  everfresh run urls.txt --budget 500/day --once          from cron
  everfresh run                                           goes on with the store

Everything is kept in one directory: what is known of pages, the visit log (visits/*.parquet) and
the copies (copies/*.warc.gz). Lists and configuration are read again when they change. Ctrl-C stops
when the visits under way have come back; whatever was acknowledged survives a power cut.
EVERFRESH_LOG chooses what is logged: a level (error, warn, info, debug, trace), or levels of parts,
as in info,everfresh_crawl=debug.
status, explain, forecast, export, audit, backup, notice, cat, history and diff work while a run
goes on.
`everfresh reference` describes every key of everfresh.toml.";

/// Which pages, and how they are visited.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// Lists of addresses, sitemaps or tables, or one everfresh.toml; none goes on with what the store has
    #[arg(value_name = "FILE")]
    pub what: Vec<PathBuf>,
    /// The directory for everything that is kept; everfresh-data, beside the configuration if there is one, unless that names another
    #[arg(long, value_name = "DIR", env = "EVERFRESH_STORE")]
    pub data: Option<PathBuf>,
    /// How hosts can reach you: an address of the web or of mail, in every User-Agent
    #[arg(long, value_name = "ADDRESS")]
    pub contact: Option<String>,
    /// A private network that may be visited, such as 127.0.0.0/8
    #[arg(long, value_name = "NETWORK")]
    pub allow: Vec<String>,
}

/// Keeps copies of pages fresh.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// What may be spent: visits per time
    #[arg(long, value_name = "AMOUNT/TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<f64>,
    /// Spend what the time since the last run has brought, at most a day's, see each page at most once, then end
    #[arg(long)]
    pub once: bool,
    /// Visits that go on at a time, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub parallel: Option<u16>,
    /// Log lines as JSON, also on a terminal
    #[arg(long)]
    pub json: bool,
    /// Log lines instead of the live view
    #[arg(long)]
    pub plain: bool,
}

/// Measures how fresh the copies are.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  everfresh audit --sample 200\n  everfresh audit everfresh.toml --sample 200 --json"
)]
pub(crate) struct AuditArgs {
    /// So many pages are visited, drawn by weight
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..))]
    pub sample: u16,
    /// The seed of the draw; another each time unless given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub source: SourceArgs,
    /// JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Prints a copy.
#[derive(Debug, Args)]
pub(crate) struct CatArgs {
    /// The page's address
    #[arg(value_name = "PAGE")]
    pub page: String,
    /// The copy as it was at this time
    #[arg(long, value_name = "TIME", value_parser = crate::args::moment)]
    pub at: Option<u32>,
    /// What counts as its text, instead of the bytes
    #[arg(long)]
    pub text: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Lists the versions of a page.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The page's address
    #[arg(value_name = "PAGE")]
    pub page: String,
    #[command(flatten)]
    pub store: StoreArgs,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Tells what changed in the text of a page.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The page's address
    #[arg(value_name = "PAGE")]
    pub page: String,
    /// From the version at this time; unless given, from the last that differs
    #[arg(value_name = "FROM", value_parser = crate::args::moment)]
    pub from: Option<u32>,
    /// To the version at this time; unless given, to the current one
    #[arg(value_name = "TO", value_parser = crate::args::moment)]
    pub to: Option<u32>,
    #[command(flatten)]
    pub store: StoreArgs,
}
