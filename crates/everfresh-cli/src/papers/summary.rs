//! The exhibits for a terminal: what matches, and what does not.

use everfresh_sim::papers::{Exhibit, Figure, Verdict};

use crate::output::Grid;

/// The verdicts that have a column.
const COLUMNS: [Verdict; 5] = [Verdict::Match, Verdict::Near, Verdict::Slip, Verdict::Differs, Verdict::World];

/// How many figures of all exhibits have a verdict.
pub(super) fn total(exhibits: &[Exhibit], verdict: Verdict) -> usize {
    exhibits.iter().map(|exhibit| exhibit.count(verdict)).sum()
}

/// The whole text.
pub(super) fn text(exhibits: &[Exhibit], seed: u64) -> String {
    let mut text = grid(exhibits);
    text.push('\n');
    text.push_str(&in_words(exhibits, seed));
    text.push('\n');
    text.push_str(&list("slips of the papers:", exhibits, |exhibit| {
        exhibit.slips().into_iter().map(str::to_owned).collect()
    }));
    text.push_str(&list("\nneither matching nor a known slip:", exhibits, |exhibit| {
        exhibit.figures.iter().filter(|figure| figure.verdict() == Verdict::Differs).map(difference).collect()
    }));
    text
}

fn grid(exhibits: &[Exhibit]) -> String {
    let headings = ["paper", "exhibit", "match", "near", "slip", "differs", "world"];
    let mut grid = Grid::new(&headings).left(1);
    let cell = |count: usize| if count == 0 { "-".to_owned() } else { count.to_string() };
    for exhibit in exhibits {
        let mut row = vec![exhibit.paper.short().to_owned(), exhibit.name.clone()];
        row.extend(COLUMNS.map(|verdict| cell(exhibit.count(verdict))));
        grid.row(row);
    }
    let mut row = vec!["all".to_owned(), String::new()];
    row.extend(COLUMNS.map(|verdict| cell(total(exhibits, verdict))));
    grid.row(row);
    grid.text()
}

/// The count of matches, and what the columns mean.
pub(super) fn in_words(exhibits: &[Exhibit], seed: u64) -> String {
    let count = |verdict| total(exhibits, verdict);
    let [matches, near, slips, differ, world] = COLUMNS.map(count);
    let mut text = format!(
        "{matches} of {} printed numbers and formulas match: ours rounds to the print.\n\
         {near} are near, within one unit of the last printed place; {slips} are slips of the papers; {differ} differ.\n",
        matches + near + slips + differ
    );
    if world > 0 {
        text.push_str(&format!(
            "{world} more are not judged: where data are not public, ours come from worlds of our own (seed {seed}), \
             recorded pages (--data) or fitted shares.\n"
        ));
    }
    text
}

fn difference(figure: &Figure) -> String {
    let printed = figure.printed.as_ref().map(ToString::to_string).unwrap_or_default();
    let place =
        if figure.column.is_empty() { figure.row.clone() } else { format!("{}, {}", figure.row, figure.column) };
    format!("{place}: {}, printed {printed}", figure.ours_text())
}

/// A heading and a line for each thing to say, with all exhibits of which it is said; nothing where there is nothing.
fn list(heading: &str, exhibits: &[Exhibit], things: impl Fn(&Exhibit) -> Vec<String>) -> String {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for exhibit in exhibits {
        let name = format!("{} {}", exhibit.paper.short(), exhibit.name);
        for thing in things(exhibit) {
            match said.iter_mut().find(|(words, _)| *words == thing) {
                Some((_, names)) => names.push(name.clone()),
                None => said.push((thing, vec![name.clone()])),
            }
        }
    }
    let line = |(words, names): &(String, Vec<String>)| format!("  {}: {words}\n", names.join(", "));
    let lines: String = said.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("{heading}\n{lines}") }
}
