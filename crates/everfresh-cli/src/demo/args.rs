use std::path::PathBuf;

use clap::Args;
use everfresh::Period;

const EXAMPLES: &str = "\
Examples:
  everfresh demo
  everfresh demo --plot demo.html --seed 7
  everfresh demo --pages 500 --days 20 --takes 20s --json
  everfresh demo --serve pages.txt              only the web; try other commands, or other crawlers, on it

The web is made of real servers on loopback: pages that never change, pages of which parts are replaced, lists that
scroll, news by day, tickers, offers that come and go, servers with faults, pages that vanish, a slow host, and one
with a robots.txt that forbids and asks for patience. On some of them every answer has other bytes though the text is
the same. Everfresh and three other crawlers visit them at the same time, with the same fetcher and the same number
of visits. What every page said at any time is known, so that freshness is measured, not estimated.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// How many pages the web has
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    pub pages: u32,
    /// How many days of the web go by
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
    /// Visits per page and day that every crawler has
    #[arg(long, value_name = "N", default_value_t = 0.2, value_parser = budget, allow_negative_numbers = true)]
    pub budget: f64,
    /// In how much time all the days go by
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = takes, allow_hyphen_values = true)]
    pub takes: Period,
    /// The seed: the same seed gives the same web
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Draw freshness over time, to a .svg or .html file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Only serve the web, days beginning again when all have gone by, until Ctrl-C; its addresses go to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["budget", "plot", "json"])]
    pub serve: Option<PathBuf>,
}

fn budget(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(visits) if (0.001..=100.0).contains(&visits) => Ok(visits),
        _ => Err(format!("visits per page and day must be between 0.001 and 100, got {text}")),
    }
}

fn takes(text: &str) -> Result<Period, String> {
    match text.parse::<Period>() {
        Ok(time) if (1.0..=86_400.0).contains(&time.seconds()) => Ok(time),
        Ok(time) => Err(format!("it must take between 1 s and a day, got {time}")),
        Err(error) => Err(error.to_string()),
    }
}
