//! What people see of a run: a live view on a terminal, log lines elsewhere.

use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, bail};
use everfresh::Unit;
use everfresh_sched::Outcome;
use tracing::info;

use super::args::RunArgs;
use super::keeper::{Keeper, Tally, Watch};
use super::log::Log;
use super::visit::Found;
use crate::desk::explain::moment;
use crate::desk::status::time;
use crate::output::{self, Grid};

/// How often the view is drawn, and files are looked at.
const FRAME: Duration = Duration::from_millis(500);
/// Between two drawings so many times as long passes as one takes.
const DRAWING: u32 = 20;
const LOOK: Duration = Duration::from_secs(2);
/// So many of the last visits are shown.
const LAST: usize = 8;

pub(crate) struct View {
    style: Style,
    last: VecDeque<String>,
    drawn: Option<Instant>,
    lines: usize,
    files: Vec<(PathBuf, Option<SystemTime>)>,
    looked: Instant,
    is_stale: bool,
}

enum Style {
    Live,
    Lines(Log),
    Json(Log),
}

impl View {
    pub(crate) fn new(args: &RunArgs, log: Option<&str>) -> Result<View> {
        let style = match log {
            _ if args.json => Style::Json(Log::begin(true)?),
            Some("json") => Style::Json(Log::begin(true)?),
            Some("lines") | None if std::io::stderr().is_terminal() && !args.plain => Style::Live,
            Some("lines") | None => Style::Lines(Log::begin(false)?),
            Some(other) => bail!("log must be lines or json, got `{other}`"),
        };
        let (last, files) = (VecDeque::new(), Vec::new());
        Ok(View { style, last, drawn: None, lines: 0, files, looked: Instant::now(), is_stale: false })
    }

    /// Watches these files for changes.
    pub(crate) fn begin(&mut self, files: &[(PathBuf, Option<SystemTime>)]) {
        self.files = files.to_vec();
        self.is_stale = false;
    }

    /// Has a file changed?
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale
    }

    pub(crate) fn end(&mut self, tally: &Tally) {
        let Tally { visits, changed, unchanged, gone, failed } = *tally;
        if matches!(self.style, Style::Json(_)) {
            info!(event = "end", visits, changed, unchanged, gone, failed);
        } else {
            let visits = output::count(visits as f64, "visit");
            self.say(&format!("{visits}: {changed} changed, {unchanged} unchanged, {gone} gone, {failed} failed"));
        }
        self.flush();
    }

    fn say(&mut self, text: &str) {
        match self.style {
            // It stays above the view, which begins anew below.
            Style::Live => {
                self.lines = 0;
                output::say(text);
            }
            Style::Lines(_) => info!("{text}"),
            Style::Json(_) => info!(event = "word", said = text),
        }
    }

    /// What was logged is seen when this returns.
    fn flush(&mut self) {
        if let Style::Lines(log) | Style::Json(log) = &mut self.style {
            // Without a stderr there is nobody to tell.
            let _ = log.flush();
        }
    }

    fn look_at_files(&mut self) {
        if self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        // A file that is away for a moment, while an editor writes it, has not changed.
        let changed = |(path, before): &(PathBuf, Option<SystemTime>)| {
            let now = super::modified(path);
            now.is_some() && now != *before
        };
        self.is_stale = self.files.iter().any(changed);
    }

    fn draw(&mut self, keeper: &mut Keeper) {
        if self.drawn.is_some_and(|drawn| Instant::now() < drawn + FRAME) {
            return;
        }
        let begun = Instant::now();
        let summary = summary(keeper);
        // To look at millions of pages takes time, of which visits should have more.
        self.drawn = Some(Instant::now() + DRAWING * begun.elapsed());
        let (width, height) = terminal_size::terminal_size_of(std::io::stderr())
            .map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)));
        // Where there is little room the newest visits are shown.
        let room = height.saturating_sub(1 + summary.lines().count());
        let newest = self.last.iter().skip(self.last.len().saturating_sub(room)).map(String::as_str);
        let text = fitted(summary.lines().chain(newest), width, height);
        let mut out = anstream::stderr().lock();
        // Over what was drawn before.
        let up = if self.lines > 0 { format!("\x1b[{}A\x1b[J", self.lines) } else { String::new() };
        self.lines = text.lines().count();
        let _ = write!(out, "{up}{text}");
        let _ = out.flush();
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.flush();
    }
}

/// As many lines as fit on a terminal, each cut to its width: one that wraps would be drawn over in part only.
fn fitted<'l>(lines: impl Iterator<Item = &'l str>, width: usize, height: usize) -> String {
    // The cursor stands below the last line.
    let shown = lines.take(height.saturating_sub(1).max(1));
    shown.map(|line| line.chars().take(width.max(1)).chain(['\n']).collect::<String>()).collect()
}

/// How things stand, in a few lines.
fn summary(keeper: &mut Keeper) -> String {
    let now_s = keeper.clock.now_s();
    let status = keeper.scheduler.status(now_s);
    let standing = keeper.scheduler.standing(now_s, 0).all;
    let expected = keeper.expected();
    let mut grid = Grid::new(&[&moment(now_s), ""]).left(1);
    let mut line = |name: &str, value: String| grid.row(vec![name.to_owned(), value]);
    line(
        "pages",
        format!("{}, {} failing, {} gone, {} retired", status.pages, status.failing, status.gone, status.retired),
    );
    let percent = output::percent;
    line("freshness", format!("{} now, {} expected", percent(standing.freshness), percent(expected.freshness)));
    line("age", format!("{} now, {} expected", time(standing.age_s), time(expected.age_s)));
    line("price", time(status.steered_price));
    let (budget, spent) = (keeper.scheduler.state().settings().budget_per_second(), keeper.spending_per_s(now_s));
    line("spending", format!("{} of {} a day", output::per(spent, Unit::Day), output::per(budget, Unit::Day)));
    line("due and waiting", format!("{}, {} under way", status.backlog, keeper.going_on()));
    line("hosts slowed down", keeper.resting(now_s).to_string());
    let tally = &keeper.tally;
    line("visits", format!("{}, {} changed, {} failed", tally.visits, tally.changed, tally.failed));
    grid.text()
}

/// A visit in a line, which may be longer than a terminal is wide: what matters less comes last.
fn line(found: &Found) -> String {
    let word = word(found.outcome);
    let said = found.said.strip_prefix(word).unwrap_or(&found.said).trim_start_matches(": ");
    let line = format!("{}  {word:9}  {}  {said}", moment(found.at_s), found.address);
    line.trim_end().chars().filter(|letter| !letter.is_control()).collect()
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Unchanged => "unchanged",
        Outcome::Changed { .. } => "changed",
        Outcome::Gone => "gone",
        Outcome::Failed { .. } => "failed",
    }
}

impl Watch for View {
    fn visited(&mut self, found: &Found) {
        match self.style {
            Style::Live => {
                if self.last.len() == LAST {
                    self.last.pop_front();
                }
                self.last.push_back(line(found));
            }
            Style::Lines(_) => info!("{} {}", found.address, found.said),
            Style::Json(_) => {
                info!(event = "visit", page = found.address, outcome = word(found.outcome), said = found.said);
            }
        }
    }

    fn moment(&mut self, keeper: &mut Keeper) -> Result<()> {
        self.look_at_files();
        match self.style {
            Style::Live => self.draw(keeper),
            Style::Lines(_) | Style::Json(_) => self.flush(),
        }
        Ok(())
    }

    fn word(&mut self, text: &str) {
        self.say(text);
        self.flush();
    }

    fn goes_on(&self) -> bool {
        !self.is_stale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_no_wider_and_no_higher_than_its_terminal() {
        let lines = ["one two three", "vier fünf", "six"];
        assert_eq!(fitted(lines.into_iter(), 6, 24), "one tw\nvier f\nsix\n");
        assert_eq!(fitted(lines.into_iter(), 80, 3), "one two three\nvier fünf\n");
        // A terminal that says it has no size gets what can be drawn over.
        assert_eq!(fitted(lines.into_iter(), 0, 0), "o\n");
    }
}
