//! The report: how often pages change, by group (CGM03 figure 17), whether their changes are Poisson (figure 14), and whether
//! changes come as often as foreseen.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use everfresh::estimate::poisson::{self, Group};
use everfresh::estimate::{Ends, Estimate, Estimator, Observation};
use everfresh::{Period, Rate, Unit};

use super::hours::Hours;
use super::model::Model;
use super::priors::Priors;
use super::rows::Place;
use super::store::Page;
use super::visits::Told;
use super::{Learner, calibration};
use crate::chart;
use crate::output::{self, Grid, number, percent};

/// Pages that are asked whether they are Poisson, and what is remembered of each at most.
const ASKED: usize = 5000;
const OBSERVATIONS: usize = 10_000;

/// Groups that are shown, the largest.
const SHOWN: usize = 20;

/// The classes of CGM03 figure 17, by their upper ends in days.
const CLASSES: [(&str, f64); 5] = [
    ("up to 1 day", 1.0),
    ("1 day to 1 week", 7.0),
    ("1 week to 1 month", 30.0),
    ("1 to 4 months", 120.0),
    ("more", f64::INFINITY),
];

/// Pages by the mean time between their changes, and those of which nothing is known.
#[derive(Clone, Default)]
struct Classes {
    known: [u64; CLASSES.len()],
    unknown: u64,
}

impl Classes {
    fn add(&mut self, rate: Option<Rate>) {
        let Some(rate) = rate else {
            self.unknown += 1;
            return;
        };
        let days = (rate.per_second() * Unit::Day.seconds()).recip();
        let class = CLASSES.iter().position(|(_, up_to)| days <= *up_to).unwrap_or(CLASSES.len() - 1);
        self.known[class] += 1;
    }

    /// Those of which something is known.
    fn pages(&self) -> u64 {
        self.known.iter().sum()
    }

    fn shares(&self) -> [f64; CLASSES.len()] {
        self.known.map(|pages| pages as f64 / self.pages().max(1) as f64)
    }
}

/// Remembers what the visits of some pages saw.
struct Recorder;

impl Model for Recorder {
    type State = Option<Vec<Observation>>;

    fn observe(&self, _: u32, state: &mut Self::State, observation: &Observation) {
        if let Some(seen) = state.as_mut().filter(|seen| seen.len() < OBSERVATIONS) {
            seen.push(*observation);
        }
    }

    fn estimate(&self, _: u32, _: &Page<Self::State>, _: &mut Ends) -> everfresh::Result<Estimate> {
        Ok(everfresh::estimate::Naive::new().estimate())
    }

    fn foresee(&self, _: u32, _: &[Observation], _: Period) -> f64 {
        0.0
    }
}

/// The name of a group, and its shares.
type Series = (String, Vec<f64>);

/// The group of a page, its first visit, in seconds since 1970, and what those after it saw.
pub(super) struct Seen {
    pub group: u32,
    pub first: u32,
    pub visits: Vec<Observation>,
}

impl<M: Model> Learner<M> {
    /// Reads the visits of some pages once more, evenly drawn by name.
    pub(super) fn record(&mut self, pages: &[Place]) -> Result<Vec<Seen>> {
        let step = pages.len().div_ceil(ASKED).max(1);
        let asked: HashSet<Place> = pages.iter().copied().step_by(step).collect();
        let lend = |(number, shard): (u8, &mut super::Shard<M::State>)| {
            shard.lend(|page| {
                let is_asked = u32::try_from(page).is_ok_and(|page| asked.contains(&(number, page)));
                is_asked.then(Vec::new)
            })
        };
        let mut shards: Vec<_> = (0..).zip(&mut self.shards).map(lend).collect();
        let result = self.table.scan("looking at changes", &Recorder, &mut shards);
        // By name: shards differ from run to run, and sums depend on their order.
        let mut seen = Vec::new();
        for (shard, page) in pages {
            let shard = &mut shards[usize::from(*shard)];
            let (group, page) = (shard.group(*page as usize), &mut shard.pages[*page as usize]);
            seen.extend(page.state.take().map(|visits| Seen { group, first: page.first, visits }));
        }
        self.shards.iter_mut().zip(shards).for_each(|(shard, lent)| shard.take_back(lent));
        result.map(|_| seen)
    }

    /// Writes the report.
    pub(super) fn report(&self, path: &Path, summary: &str, groups: &[Group], seen: &[Seen]) -> Result<()> {
        let (histogram, shares) = self.histogram()?;
        let mut sections = vec![
            (String::new(), summary.replace('\n', "\n\n")),
            (chart::bars(&CLASSES.map(|(words, _)| words.to_owned()), &shares, "share of pages")?, histogram),
        ];
        if self.table.reader.told == Told::EveryChange {
            let why = "Rows are changes, not visits: none was foreseen, so nothing is said of whether they come as \
                often as foreseen, nor of hours and weekdays.";
            sections.push((String::new(), why.to_owned()));
        } else {
            self.foreseen(seen, &mut sections)?;
        }
        sections.push((String::new(), self.verdict(groups)));
        sections.extend(groups.iter().map(gaps).collect::<Result<Vec<_>>>()?);
        chart::write_page(path, "How pages change", &sections)
    }

    /// Whether changes come as often as foreseen, and at which hours.
    fn foreseen(&self, seen: &[Seen], sections: &mut Vec<(String, String)>) -> Result<()> {
        let unknown = Priors::new()?.all;
        let calibration = calibration::of(&self.model, seen);
        sections.push((calibration.picture()?, calibration.words()));
        let learnt = match &self.table.hours {
            Some(hours) => Arc::clone(hours),
            None => Arc::new(Hours::of(seen, |group| self.model.priors().map_or(unknown, |priors| priors.of(group)))?),
        };
        sections.push(learnt.section(&self.table.groups.names(), self.table.hours.is_some())?);
        Ok(())
    }

    fn verdict(&self, groups: &[Group]) -> String {
        let others = match self.table.reader.told {
            Told::EveryChange => "pages with as many changes",
            Told::Digest | Told::Changed | Told::LastModified => "pages at the same visits, regular or not",
        };
        verdict(groups, others)
    }

    /// CGM03 figure 17: as a table, and the shares of all pages and of the largest groups.
    fn histogram(&self) -> Result<(String, Vec<Series>)> {
        let names = self.table.groups.names();
        let (mut all, mut by_group) = (Classes::default(), BTreeMap::<&str, Classes>::new());
        let mut ends = Ends::default();
        for shard in &self.shards {
            for (number, page) in shard.pages.iter().enumerate() {
                let group = shard.group(number);
                let rate =
                    if self.is_known(page) { Some(self.model.estimate(group, page, &mut ends)?.rate) } else { None };
                all.add(rate);
                if let Some(name) = names.get(group as usize) {
                    by_group.entry(&name.group).or_default().add(rate);
                }
            }
        }
        let mut groups: Vec<(&str, &Classes)> = by_group.iter().map(|(name, classes)| (*name, classes)).collect();
        groups.sort_by_key(|(name, classes)| (std::cmp::Reverse(classes.pages()), *name));
        groups.truncate(SHOWN);
        groups.insert(0, ("all pages", &all));
        let mut headings = vec!["group", "pages"];
        headings.extend(CLASSES.map(|(words, _)| words));
        let are_some_unknown = all.unknown > 0;
        if are_some_unknown {
            headings.push("not known");
        }
        let mut grid = Grid::new(&headings);
        for (name, classes) in &groups {
            let mut row = vec![shortened(name), classes.pages().to_string()];
            row.extend(classes.shares().map(percent));
            row.extend(are_some_unknown.then(|| output::count(classes.unknown as f64, "page")));
            grid.row(row);
        }
        let drawn = groups.iter().take(5).map(|(name, classes)| ((*name).to_owned(), classes.shares().to_vec()));
        let mut text = format!("## Mean times between changes\n\n{}", grid.text());
        if are_some_unknown {
            text.push_str(
                "\nOf pages that were not visited again nothing is known: they are in no class and no share.\n",
            );
        }
        Ok((text, drawn.collect()))
    }
}

/// A name that leaves room for the other columns.
pub(super) fn shortened(name: &str) -> String {
    shortened_to(30, name)
}

/// The first letters of a name, where it has more.
pub(super) fn shortened_to(letters: usize, name: &str) -> String {
    match name.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// CGM03 figure 14 for a group: its picture, and what it shows.
fn gaps(group: &Group) -> Result<(String, String)> {
    let words: Vec<String> = group.bars.iter().map(|bar| format!("{:.2}", bar.up_to)).collect();
    let seen = group.bars.iter().map(|bar| bar.seen).collect();
    let expected = group.bars.iter().map(|bar| bar.expected).collect();
    let shares = [("seen".to_owned(), seen), ("if Poisson".to_owned(), expected)];
    let (from, to) = group.mean_gap;
    let title = format!(
        "## Pages that change every {from:.2} to {to:.2}\n\nThe times between their changes: {} gaps, by their upper ends.",
        group.gaps
    );
    Ok((chart::bars(&words, &shares, "share of gaps")?, title))
}

/// Whether changes are Poisson, by group; `others` are the Poisson pages that they are compared with.
fn verdict(groups: &[Group], others: &str) -> String {
    if groups.is_empty() {
        return "## Are changes Poisson?\n\nNo page that was looked at changed three times: nobody knows.".to_owned();
    }
    let mut grid = Grid::new(&[
        "mean gap",
        "pages",
        "gaps",
        "distance",
        "by chance",
        "passes",
        "pages that pass",
        "dispersion",
        "best law",
    ]);
    for group in groups {
        let (from, to) = group.mean_gap;
        grid.row(vec![
            format!("{from:.2} to {to:.2}"),
            group.pages.to_string(),
            group.gaps.to_string(),
            number(group.distance),
            number(group.by_chance),
            if group.passes() { "yes" } else { "no" }.to_owned(),
            percent(group.passing),
            group.dispersion.map_or_else(|| "?".to_owned(), number),
            group.law.name().to_owned(),
        ]);
    }
    let asked = output::count(groups.iter().map(|group| group.pages).sum::<usize>() as f64, "page");
    format!(
        "## Are changes Poisson?\n\n{}\n{asked} with three changes or more, by the mean time between them. The distance is Kolmogorov's from Poisson\n\
         {others}, drawn {} times; chance explains as much as `by chance` 19 times\n\
         in 20. The dispersion is 1 for Poisson pages, more for bursts, less for clockwork. The best law foresees gaps\n\
         of other pages best: Lomax is that of Poisson pages whose rates differ, Weibull is asked only where gaps do not pass\n\
         or their dispersion is above 1.5.\n",
        grid.text(),
        poisson::REPLICAS
    )
}
