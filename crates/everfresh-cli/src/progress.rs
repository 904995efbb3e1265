//! A line on stderr that says how far a pass over a table is: for people, so only on a terminal.

use std::fmt;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::style::TemplateError;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

use crate::table::{Done, Input};

/// A line for work whose share done is known; it goes away when it is dropped.
pub(crate) struct ShareLine(ProgressBar);

impl ShareLine {
    pub(crate) fn new() -> ShareLine {
        if !io::stderr().is_terminal() {
            return ShareLine(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(1000);
        if let Ok(style) = ProgressStyle::with_template("{msg}: {percent} %, {eta} left") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        ShareLine(bar)
    }

    /// So much is done, and this is being worked on.
    pub(crate) fn at(&self, share: f64, work: &str) {
        if !self.0.is_hidden() {
            self.0.set_message(work.to_owned());
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is between 0 and 1")]
            self.0.set_position((1000.0 * share.clamp(0.0, 1.0)) as u64);
        }
    }
}

impl Drop for ShareLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Things per second in whole ones: more digits would only flicker.
fn per_second(rate: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and rounded")]
    let whole = rate.round() as u64;
    format!("{}/s", HumanCount(whole))
}

/// A style whose `rate` is rounded.
fn style(template: &str) -> Result<ProgressStyle, TemplateError> {
    let rate = |state: &ProgressState, text: &mut dyn fmt::Write| {
        // A line that cannot be drawn is not worth a word.
        let _ = text.write_str(&per_second(state.per_sec()));
    };
    Ok(ProgressStyle::with_template(template)?.with_key("rate", rate))
}

/// A line that counts, for work of which nobody knows how much there is; it goes away when it is dropped.
pub(crate) struct CountLine(ProgressBar);

impl CountLine {
    /// A line that counts `things`.
    pub(crate) fn new(things: &str) -> CountLine {
        if !io::stderr().is_terminal() {
            return CountLine(ProgressBar::hidden());
        }
        let bar = ProgressBar::no_length();
        if let Ok(style) = style(&format!("{{human_pos}} {things}, {{rate}}")) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        CountLine(bar)
    }

    /// So many are done.
    pub(crate) fn at(&self, count: u64) {
        self.0.set_position(count);
    }
}

impl Drop for CountLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The line of one pass; it goes away when the pass ends.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    by_rows: bool,
    rows_are: String,
}

impl ProgressLine {
    /// A line for a pass over `input`, called `pass`, whose rows are `rows_are`.
    pub(crate) fn new(pass: &str, input: &Input, rows_are: &str) -> ProgressLine {
        ProgressLine::of(pass, input.known_rows(), input.size(), rows_are)
    }

    /// A line for a pass over so many rows, or over so many bytes where nobody knows the rows.
    pub(crate) fn of(pass: &str, rows: Option<u64>, bytes: u64, rows_are: &str) -> ProgressLine {
        let by_rows = rows.is_some();
        if !io::stderr().is_terminal() {
            return ProgressLine { bar: ProgressBar::hidden(), by_rows, rows_are: String::new() };
        }
        let bar = ProgressBar::new(rows.unwrap_or(bytes));
        let text = if by_rows {
            format!("{{prefix}}: {{human_pos}} of {{human_len}} {rows_are}, {{rate}}, {{eta}} left")
        } else {
            "{prefix}: {msg}, {bytes} of {total_bytes}, {eta} left".to_owned()
        };
        // A line that cannot be drawn as wished is drawn plainly.
        if let Ok(style) = style(&text) {
            bar.set_style(style);
        }
        bar.set_prefix(pass.to_owned());
        bar.enable_steady_tick(Duration::from_millis(250));
        ProgressLine { bar, by_rows, rows_are: rows_are.to_owned() }
    }

    /// So much is done.
    pub(crate) fn at(&self, done: Done) {
        if self.by_rows {
            self.bar.set_position(done.rows);
        } else if !self.bar.is_hidden() {
            let rate = per_second(done.rows as f64 / self.bar.elapsed().as_secs_f64().max(1e-3));
            self.bar.set_message(format!("{} {}, {rate}", HumanCount(done.rows), self.rows_are));
            self.bar.set_position(done.bytes);
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::per_second;

    #[test]
    fn rates_are_whole() {
        assert_eq!(per_second(5_598_196.890_4), "5,598,197/s");
    }
}
