//! `everfresh.toml`: sources, groups, hosts, budget. Every key is in [`KEYS`], from which the reference comes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use everfresh::Period;
use everfresh::policy::Aim;
use everfresh_crawl::content::Rules;
use everfresh_crawl::fetch;
use everfresh_sched::{GroupRule, HostLimits, Week, Zone};
use serde::Deserialize;

/// A key of the configuration: where, what kind, what it means.
pub(crate) struct Key {
    pub table: &'static str,
    pub name: &'static str,
    pub kind: &'static str,
    pub meaning: &'static str,
}

const fn key(table: &'static str, name: &'static str, kind: &'static str, meaning: &'static str) -> Key {
    Key { table, name, kind, meaning }
}

/// Every key there is. `everfresh reference` prints it.
pub(crate) const KEYS: [Key; 46] = [
    key("", "budget", "\"500/day\"", "what may be spent: visits (or cost) per time; needed, here or as --budget"),
    key("", "data", "path", "the directory for everything that is kept; everfresh-data beside this file unless set"),
    key("", "objective", "word", "what to keep: freshness (the default), age, harmonic or content"),
    key("", "floor", "share", "a share of the budget that is spread evenly over all pages; 0.05 unless set"),
    key("", "contact", "text", "how hosts can reach you: an address of the web or of mail, in every User-Agent"),
    key("", "workers", "number", "visits that go on at a time, at most; 64 unless set"),
    key("", "replan", "time", "how often the price is found anew; 10min unless set"),
    key("", "copies", "true or false", "whether copies are kept, as WARC files; true unless set"),
    key(
        "",
        "most_pages",
        "number",
        "from so many pages on, feeds and sitemaps that are followed bring in no more; 1000000 unless set",
    ),
    key("", "log", "word", "what is written for people where no terminal is: lines (the default) or json"),
    key("fetch", "connect", "time", "until there is a connection; 10s unless set"),
    key("fetch", "first_byte", "time", "until the head of an answer has come; 30s unless set"),
    key("fetch", "visit", "time", "for one whole visit with all its redirects; 60s unless set"),
    key("fetch", "body_bytes", "number", "bytes of a body, decoded, at most; 16777216 unless set"),
    key("fetch", "redirects", "number", "redirects that are followed; 10 unless set"),
    key(
        "fetch",
        "robots",
        "true or false",
        "whether robots.txt is obeyed; true unless set, and false is for one's own hosts",
    ),
    key(
        "fetch",
        "allow",
        "list of networks",
        "private networks that may be visited, such as \"10.0.0.0/8\"; none unless set",
    ),
    key(
        "fetch",
        "authorities",
        "list of paths",
        "PEM files with authorities of certificates that are trusted beside those of browsers; none unless set",
    ),
    key(
        "limits",
        "gap",
        "time",
        "between the starts of two visits to a host that has no limits of its own; 1s unless set",
    ),
    key("limits", "visits", "\"100/hour\"", "visits to such a host in a time, at most"),
    key("limits", "concurrency", "number", "visits to such a host at a time, at most; 2 unless set"),
    key(
        "limits",
        "hours",
        "\"mon-fri 22-6\"",
        "when visits to such a host may begin: days and hours, several with commas",
    ),
    key("limits", "zone", "text", "the time zone of the hours, such as Europe/Berlin; UTC unless set"),
    key("hosts.NAME", "gap", "time", "the same for one host, by name: \"https://example.org\""),
    key("hosts.NAME", "visits", "\"100/hour\"", "the same for one host"),
    key("hosts.NAME", "concurrency", "number", "the same for one host"),
    key("hosts.NAME", "hours", "\"mon-fri 22-6\"", "when visits to it may begin: days and hours, several with commas"),
    key("hosts.NAME", "zone", "text", "the time zone of the hours, such as Europe/Berlin; UTC unless set"),
    key("groups.NAME", "objective", "word", "what to keep for the pages of a group"),
    key("groups.NAME", "period", "time", "visit its pages every so often, whatever is known of them"),
    key("groups.NAME", "gap", "time", "between the starts of two visits to its pages, on whatever hosts"),
    key("groups.NAME", "visits", "\"100/hour\"", "visits to its pages in a time, at most"),
    key("groups.NAME", "concurrency", "number", "visits to its pages at a time, at most"),
    key("groups.NAME", "hours", "\"mon-fri 22-6\"", "when visits to its pages may begin, as for hosts"),
    key("groups.NAME", "zone", "text", "the time zone of the hours; UTC unless set"),
    key(
        "sources",
        "address",
        "text",
        "a page: http://, https://, a file (seen from this one), or exec: and a command; address or list is needed",
    ),
    key(
        "sources",
        "list",
        "path",
        "a list of pages, a sitemap or a table, as `everfresh add` takes it; who is taken off it stays until `everfresh remove`",
    ),
    key("sources", "group", "text", "the group of these pages"),
    key("sources", "weight", "number", "how much a fresh copy of them matters; 1 unless set"),
    key("sources", "cost", "number", "what a visit costs, in the unit of the budget; 1 unless set"),
    key("sources", "min_period", "time", "visit them no more often"),
    key("sources", "max_period", "time", "visit them no less often, as far as budget and hosts allow"),
    key("sources", "pin", "time", "visit them every so often, whatever is known of them"),
    key(
        "sources",
        "keep",
        "list of selectors",
        "the parts of a page that count, by CSS selector; its main content unless set",
    ),
    key("sources", "ignore", "list of selectors", "parts that do not count, by CSS selector"),
    key(
        "sources",
        "follow",
        "true or false",
        "whether the pages that a feed or sitemap names are taken in; false unless set",
    ),
];

/// The reference as Markdown.
pub(crate) fn reference() -> String {
    let mut text = String::from("# everfresh.toml\n\nTimes are written as 45min or 1h30min.\n");
    let mut table = None;
    for key in &KEYS {
        if table != Some(key.table) {
            let name = match key.table {
                "" => "At the top".to_owned(),
                "sources" => "`[[sources]]`, as many as there are".to_owned(),
                name => format!("`[{name}]`"),
            };
            text.push_str(&format!("\n## {name}\n\n| key | value | meaning |\n| --- | --- | --- |\n"));
            table = Some(key.table);
        }
        text.push_str(&format!("| `{}` | {} | {} |\n", key.name, key.kind, key.meaning));
    }
    text
}

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub budget: Option<String>,
    pub data: Option<PathBuf>,
    pub objective: Option<String>,
    pub floor: Option<f64>,
    pub contact: Option<String>,
    pub workers: Option<usize>,
    pub replan: Option<String>,
    pub copies: Option<bool>,
    pub most_pages: Option<usize>,
    pub log: Option<String>,
    #[serde(default)]
    pub fetch: Fetch,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub hosts: BTreeMap<String, Limits>,
    #[serde(default)]
    pub groups: BTreeMap<String, Group>,
    #[serde(default)]
    pub sources: Vec<Source>,
}

/// How the web is visited.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fetch {
    pub connect: Option<String>,
    pub first_byte: Option<String>,
    pub visit: Option<String>,
    pub body_bytes: Option<usize>,
    pub redirects: Option<usize>,
    pub robots: Option<bool>,
    #[serde(default)]
    pub allow: Vec<String>,
    #[serde(default)]
    pub authorities: Vec<PathBuf>,
}

/// What a host bears.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub gap: Option<String>,
    pub visits: Option<String>,
    pub concurrency: Option<u32>,
    pub hours: Option<String>,
    pub zone: Option<String>,
}

/// What is asked for a group.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub objective: Option<String>,
    pub period: Option<String>,
    pub gap: Option<String>,
    pub visits: Option<String>,
    pub concurrency: Option<u32>,
    pub hours: Option<String>,
    pub zone: Option<String>,
}

/// Pages.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    pub address: Option<String>,
    pub list: Option<PathBuf>,
    pub group: Option<String>,
    pub weight: Option<f64>,
    pub cost: Option<f64>,
    pub min_period: Option<String>,
    pub max_period: Option<String>,
    pub pin: Option<String>,
    #[serde(default)]
    pub keep: Vec<String>,
    #[serde(default)]
    pub ignore: Vec<String>,
    #[serde(default)]
    pub follow: bool,
}

impl Config {
    /// Reads a file; what is wrong is said with its line, and a key that is not known with the nearest that is.
    pub(crate) fn read(path: &Path) -> Result<Config> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{shown}`"))?;
        let config = Config::parse(&text).with_context(|| format!("cannot read `{shown}`"))?;
        config.check().with_context(|| format!("cannot use `{shown}`"))?;
        Ok(config)
    }

    pub(crate) fn parse(text: &str) -> Result<Config> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            let message = in_words(error.message());
            let hint = nearest(&message).map(|key| format!("; did you mean `{key}`?"));
            anyhow!("line {line}: {message}{}", hint.unwrap_or_default())
        })
    }

    /// What may be spent, per second.
    pub(crate) fn budget(&self) -> Result<Option<f64>> {
        let Some(text) = &self.budget else { return Ok(None) };
        let budget =
            everfresh::units::parse_per_time("budget", text, None).context("budget must be visits per time")?;
        if budget > 0.0 { Ok(Some(budget)) } else { bail!("budget must be positive, got `{text}`") }
    }

    /// Every value can be used.
    pub(crate) fn check(&self) -> Result<()> {
        self.budget()?;
        self.fetch.times().context("fetch")?;
        self.limits.limits(default_limits()).context("limits")?;
        for (name, limits) in &self.hosts {
            limits.limits(HostLimits::NONE).with_context(|| format!("hosts.{name}"))?;
        }
        for (name, group) in &self.groups {
            group.rule().and_then(|_| group.limits()).with_context(|| format!("groups.{name}"))?;
        }
        for (number, source) in (1..).zip(&self.sources) {
            source.check().with_context(|| format!("source {number}"))?;
        }
        self.objective.as_deref().map(aim).transpose()?;
        self.replan.as_deref().map(|text| time("replan", text)).transpose()?;
        if let Some(share) = self.floor
            && !(0.0..=1.0).contains(&share)
        {
            bail!("floor must be between 0 and 1, got {share}");
        }
        if self.workers == Some(0) {
            bail!("workers must be at least 1, got 0");
        }
        Ok(())
    }
}

/// A message of the parser, with what users call what it expects.
fn in_words(message: &str) -> String {
    let kinds = [("usize", "a whole number"), ("u32", "a whole number"), ("f64", "a number")];
    kinds.iter().fold(message.to_owned(), |text, (kind, words)| {
        text.replace(&format!("expected {kind}"), &format!("expected {words}"))
    })
}

/// The keys that a message of the parser names: one that is not known, and those that its table has.
fn named(message: &str) -> Option<(&str, Vec<&str>)> {
    let mut names = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    Some((names.next()?, names.collect()))
}

/// The key of the same table that is nearest to one that is not known, if one is near.
fn nearest(message: &str) -> Option<&str> {
    let (unknown, known) = named(message)?;
    let best = known.into_iter().map(|name| (strsim::damerau_levenshtein(unknown, name), name)).min()?;
    (best.0 <= 1 + unknown.len() / 3).then_some(best.1)
}

/// What an unknown host bears unless something is said: what a person would do.
pub(crate) fn default_limits() -> HostLimits {
    let second = Period::of(1.0, everfresh::Unit::Second).unwrap_or(Period::ZERO);
    let limits = HostLimits::NONE.with_gap(second).and_then(|limits| limits.with_concurrency(2));
    limits.unwrap_or(HostLimits::NONE)
}

/// A word of the configuration as what the policy aims at.
pub(crate) fn aim(word: &str) -> Result<Aim> {
    Ok(match word {
        "freshness" => Aim::Freshness,
        "age" => Aim::Age,
        "harmonic" => Aim::Harmonic,
        "content" => Aim::Content,
        other => bail!("objective must be freshness, age, harmonic or content, got `{other}`"),
    })
}

pub(crate) fn time(what: &str, text: &str) -> Result<Period> {
    match text.parse::<Period>() {
        Ok(period) if period > Period::ZERO && period < Period::NEVER => Ok(period),
        Ok(_) => bail!("{what} must be positive and finite, got `{text}`"),
        Err(error) => Err(error).with_context(|| format!("{what} must be a time such as 6h")),
    }
}

impl Fetch {
    /// How long a connection, the head of an answer and a visit may take, where that is said.
    pub(crate) fn times(&self) -> Result<[Option<Duration>; 3]> {
        let bounded = |what: &str, text: &Option<String>| -> Result<Option<Duration>> {
            let Some(text) = text else { return Ok(None) };
            let time = Duration::try_from_secs_f64(time(what, text)?.seconds()).unwrap_or(Duration::MAX);
            if time > fetch::Limits::LONGEST {
                bail!("{what} must be at most 1day, got `{text}`");
            }
            Ok(Some(time))
        };
        let visit = bounded("visit", &self.visit)?;
        Ok([bounded("connect", &self.connect)?, bounded("first_byte", &self.first_byte)?, visit])
    }
}

impl Limits {
    /// What it says, where it says something, instead of `default`.
    pub(crate) fn limits(&self, default: HostLimits) -> Result<HostLimits> {
        let says_pace = self.gap.is_some() || self.visits.is_some();
        let mut limits = if says_pace { default.paced(Period::ZERO)? } else { default };
        if let Some(gap) = &self.gap {
            limits = limits.with_gap(if gap == "0s" { Period::ZERO } else { time("gap", gap)? })?;
        }
        if let Some(visits) = &self.visits {
            let per_second = everfresh::units::parse_per_time("visits", visits, None)?;
            if per_second <= 0.0 {
                bail!("visits must be positive, got `{visits}`");
            }
            limits = limits.with_gap(Period::of(1.0 / per_second, everfresh::Unit::Second)?)?;
        }
        if let Some(concurrency) = self.concurrency {
            limits = limits.with_concurrency(concurrency)?;
        }
        if let Some(hours) = &self.hours {
            limits = limits.with_week(week(hours, self.zone.as_deref())?);
        } else if self.zone.is_some() {
            bail!("a zone needs hours");
        }
        Ok(limits)
    }
}

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// `mon-fri 22-6, sun 0-24`: days and hours, each from one to another, the last hour not included.
fn week(hours: &str, zone: Option<&str>) -> Result<Week> {
    let mut open = [[false; 24]; 7];
    for part in hours.split(',') {
        let words: Vec<&str> = part.split_whitespace().collect();
        let (days, range) = match words[..] {
            [days, range] => (days, range),
            [range] => ("mon-sun", range),
            _ => bail!("hours must be written as mon-fri 22-6, got `{part}`"),
        };
        let day = |name: &str| DAYS.iter().position(|day| *day == name.trim().to_lowercase());
        let (first, last) = days.split_once('-').unwrap_or((days, days));
        let (Some(first), Some(last)) = (day(first), day(last)) else {
            bail!("days must be mon, tue, wed, thu, fri, sat or sun, got `{days}`");
        };
        let hour = |text: &str| text.trim().trim_end_matches(":00").parse::<usize>().ok().filter(|hour| *hour <= 24);
        let Some((Some(from), Some(to))) = range.split_once('-').map(|(from, to)| (hour(from), hour(to))) else {
            bail!("hours must be from 0 to 24, as in 22-6, got `{range}`");
        };
        let length = if to > from { to - from } else { to + 24 - from };
        for step in 0..=(last + 7 - first) % 7 {
            for hour in from..from + length {
                open[(first + step + hour / 24) % 7][hour % 24] = true;
            }
        }
    }
    let week = Week::of(|day, hour| open[usize::from(day)][usize::from(hour)])?;
    match zone {
        Some(name) => {
            let refused = |_| anyhow!("zone must be a known one whose clocks follow one yearly rule, got `{name}`");
            Ok(week.in_zone(Zone::named(name).map_err(refused)?))
        }
        None => Ok(week),
    }
}

impl Group {
    /// The group's rule.
    pub(crate) fn rule(&self) -> Result<Option<GroupRule>> {
        match (&self.objective, &self.period) {
            (Some(_), Some(_)) => bail!("a group has an objective or a period, not both"),
            (Some(word), None) => Ok(Some(GroupRule::Aim(aim(word)?))),
            (None, Some(period)) => Ok(Some(GroupRule::Every(time("period", period)?))),
            (None, None) => Ok(None),
        }
    }

    /// What the group bears, whatever its hosts bear.
    pub(crate) fn limits(&self) -> Result<HostLimits> {
        let Group { gap, visits, concurrency, hours, zone, .. } = self;
        let (gap, visits, hours, zone) = (gap.clone(), visits.clone(), hours.clone(), zone.clone());
        Limits { gap, visits, concurrency: *concurrency, hours, zone }.limits(HostLimits::NONE)
    }
}

impl Source {
    fn check(&self) -> Result<()> {
        if self.address.is_some() == self.list.is_some() {
            bail!("it must have an address or a list, and not both");
        }
        self.rules()?;
        for (name, text) in [("min_period", &self.min_period), ("max_period", &self.max_period), ("pin", &self.pin)] {
            text.as_deref().map(|text| time(name, text)).transpose()?;
        }
        Ok(())
    }

    /// Which parts of its pages count.
    pub(crate) fn rules(&self) -> Result<Rules> {
        let keep: Vec<&str> = self.keep.iter().map(String::as_str).collect();
        let ignore: Vec<&str> = self.ignore.iter().map(String::as_str).collect();
        Ok(Rules::new(&keep, &ignore)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented_and_read() {
        let all = r#"
            budget = "500/day"
            data = "d"
            objective = "age"
            floor = 0.1
            contact = "me@example.org"
            workers = 3
            replan = "1h"
            copies = false
            most_pages = 9
            log = "json"
            [fetch]
            connect = "1s"
            first_byte = "2s"
            visit = "3s"
            body_bytes = 4
            redirects = 5
            robots = false
            allow = ["10.0.0.0/8"]
            authorities = ["ca.pem"]
            [limits]
            gap = "2s"
            visits = "10/min"
            concurrency = 1
            [hosts."https://a.example"]
            gap = "2s"
            visits = "10/min"
            concurrency = 1
            hours = "mon-fri 22-6, sun 0-24"
            zone = "Europe/Berlin"
            [groups.news]
            objective = "content"
            [groups.careful]
            visits = "6/hour"
            hours = "22-6"
            [groups.fixed]
            period = "1h"
            [[sources]]
            address = "https://a.example/"
            group = "news"
            weight = 2
            cost = 3
            min_period = "1h"
            max_period = "2h"
            pin = "90min"
            keep = ["main"]
            ignore = [".clock"]
            follow = true
            [[sources]]
            list = "urls.txt"
        "#;
        let config = Config::parse(all).unwrap();
        config.check().unwrap();
        for key in &KEYS {
            assert!(all.contains(&format!("{} = ", key.name)), "{}.{}", key.table, key.name);
        }
    }

    #[test]
    fn the_keys_of_every_table_are_those_that_are_read() {
        let tables = ["fetch", "limits", "hosts", "groups", "sources"];
        for (table, text) in [
            ("", "nonsense = 1"),
            ("fetch", "[fetch]\nnonsense = 1"),
            ("limits", "[limits]\nnonsense = 1"),
            ("hosts.NAME", "[hosts.NAME]\nnonsense = 1"),
            ("groups.NAME", "[groups.NAME]\nnonsense = 1"),
            ("sources", "[[sources]]\nnonsense = 1"),
        ] {
            let error = toml::from_str::<Config>(text).unwrap_err();
            let mut read = named(error.message()).unwrap().1;
            read.retain(|name| !table.is_empty() || !tables.contains(name));
            let mut documented: Vec<&str> = KEYS.iter().filter(|key| key.table == table).map(|key| key.name).collect();
            read.sort_unstable();
            documented.sort_unstable();
            assert_eq!(read, documented, "{table}");
        }
    }

    #[test]
    fn the_example_for_new_users_can_be_used() {
        let readme = include_str!("../../../../README.md");
        let example = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let config = Config::parse(example).unwrap();
        config.check().unwrap();
        assert_eq!(config.sources.len(), 2);
    }

    #[test]
    fn wrong_keys_and_values_are_said_with_their_place() {
        let said = |text: &str| format!("{:#}", Config::parse(text).and_then(|config| config.check()).unwrap_err());
        let text = said("budget = \"1/day\"\n[limits]\nconcurency = 2\n");
        assert!(
            text.starts_with("line 3: unknown field `concurency`") && text.ends_with("did you mean `concurrency`?"),
            "{text}"
        );
        // Keys of other tables are no help.
        let text = said("[fetch]\ngap = \"1s\"");
        assert!(text.contains("unknown field `gap`") && !text.contains("did you mean"), "{text}");
        assert!(said("sorces = []").ends_with("did you mean `sources`?"));
        assert!(said("[fetch]\nvisit = \"5e11years\"").contains("fetch: visit must be at most 1day, got `5e11years`"));
        assert!(said("[fetch]\nconnect = \"1e13years\"").contains("fetch: connect must be at most 1day"));
        assert!(said("[hosts.x]\nhours = \"mon-fri 22-30\"").contains("hosts.x: hours must be from 0 to 24"));
        assert!(said("[[sources]]\nweight = 1").contains("source 1: it must have an address or a list"));
        assert!(said("workers = \"x\"").contains("line 1: invalid type: string \"x\", expected a whole number"));
        assert!(said("floor = 2").contains("floor must be between 0 and 1"));
        assert!(said("objective = \"speed\"").contains("objective must be freshness"));
        assert!(said("[limits]\ngap = \"fast\"").contains("gap must be a time"));
        assert!(said("budget = \"0/day\"").contains("budget must be positive, got `0/day`"));
        assert!(said("budget = \"-1/day\"").contains("budget must be visits per time: budget must be at least 0"));
        let zone = "[groups.x]\nhours = \"1-2\"\nzone = \"Africa/Casablanca\"";
        assert!(
            said(zone).contains("groups.x: zone must be a known one whose clocks follow one yearly rule, got `Africa")
        );
    }

    #[test]
    fn hours_go_past_midnight_and_round_the_week() {
        let week = week("sat-sun 22-2", None).unwrap();
        // 2026-01-05 was a Monday.
        let monday = 1_767_571_200.0;
        assert_eq!(week.wait_s(monday + 3600.0), 0.0);
        assert_eq!(week.wait_s(monday + 2.0 * 3600.0), (5.0 * 24.0 + 20.0) * 3600.0);
    }
}
