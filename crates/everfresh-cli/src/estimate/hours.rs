//! The hours and weekdays at which pages change, by group: learnt from some pages, and used where they foresee visits better.

use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;
use everfresh::estimate::{Clock, Evidence, Prior, Profile};

use super::report::{Seen, shortened};
use super::visits::GroupName;
use super::{Learner, Table, watched};
use crate::chart;
use crate::output::{Grid, count, number};

/// What is known of the hours of each group, by its number. Pages of few groups are asked, of however many there are.
pub(super) struct Hours(Vec<Option<Box<OfGroup>>>);

#[derive(Clone, Default)]
struct OfGroup {
    profile: Profile,
    pages: usize,
    /// Where the profile foresees visits better than a constant rate.
    clock: Option<Clock>,
}

/// Reads a table once more to learn the hours of its groups, by which it is read from then on.
pub(super) fn learnt(table: Table) -> Result<Table> {
    let mut learner = watched(table, 1.0)?;
    let pages = Arc::clone(&learner.pages);
    let seen = learner.record(&pages)?;
    let hours = Hours::of(&seen, |group| learner.model.priors.of(group))?;
    let Learner { mut table, .. } = learner;
    table.hours = Some(Arc::new(hours));
    Ok(table)
}

impl Hours {
    /// Foresees the visits of these pages with hours and without, and learns from each in turn.
    pub(super) fn of(pages: &[Seen], prior: impl Fn(u32) -> Prior) -> everfresh::Result<Hours> {
        let mut groups: Vec<Option<Box<OfGroup>>> = Vec::new();
        for page in pages {
            let number = page.group as usize;
            groups.resize(groups.len().max(number + 1), None);
            let group = groups[number].get_or_insert_default();
            group.pages += 1;
            group.learn(page, prior(page.group))?;
        }
        for group in groups.iter_mut().flatten() {
            group.clock = group.profile.clock();
        }
        Ok(Hours(groups))
    }

    pub(super) fn clock(&self, group: u32) -> Option<&Clock> {
        self.0.get(group as usize)?.as_ref()?.clock.as_ref()
    }

    /// How many groups have hours of their own, of how many.
    fn used(&self) -> (usize, usize) {
        let seen = self.0.iter().flatten();
        (seen.clone().filter(|group| group.clock.is_some()).count(), seen.count())
    }

    pub(super) fn summary(&self) -> String {
        let (used, groups) = self.used();
        if used == 0 {
            return "hours and weekdays foresee visits nowhere better than a constant rate, and are not used"
                .to_owned();
        }
        let groups = count(groups as f64, "group");
        format!(
            "hours and weekdays foresee visits better than a constant rate in {used} of {groups}, and are used there"
        )
    }

    /// A picture of the hours of the group that gains most, and words about all.
    pub(super) fn section(&self, names: &[GroupName], are_used: bool) -> Result<(String, String)> {
        let seen =
            self.0.iter().enumerate().filter_map(|(number, group)| Some((group.as_deref()?, name(names, number))));
        let mut groups: Vec<(&OfGroup, String)> = seen.collect();
        groups
            .sort_by(|(a, one), (b, other)| b.profile.gain().total_cmp(&a.profile.gain()).then_with(|| one.cmp(other)));
        let mut grid =
            Grid::new(&["group", "pages", "gain", "is better", "Monday to Friday", "weekend", "busiest hour"]);
        for (group, name) in groups.iter().take(SHOWN) {
            grid.row(group.row(name));
        }
        let what = if are_used {
            "The rates above reckon with them there."
        } else {
            "With --hours rates reckon with them there."
        };
        let words = format!(
            "## At which hours do pages change?\n\n{}\nEvery visit was foreseen twice, from those before it: with the hours (UTC) and weekdays of its group and without. The gain is the\n\
             logarithm of how much likelier they made what was seen; above 3 they are better. The days are times the mean of all. {what}\n",
            grid.text()
        );
        let best = groups.first().filter(|(group, _)| group.clock.is_some());
        let picture = best.map_or_else(|| Ok(String::new()), |(group, name)| group.picture(name))?;
        Ok((picture, words))
    }
}

/// Groups that are shown, those with the largest gains.
const SHOWN: usize = 10;

/// What a group is called: all pages where there are no groups.
fn name(names: &[GroupName], number: usize) -> String {
    let words = |name: &GroupName| name.parts().into_iter().flatten().collect::<Vec<_>>().join(" / ");
    names.get(number).map_or_else(|| "all pages".to_owned(), words)
}

impl OfGroup {
    /// The mean factor over some weekdays, Monday being 0, and hours.
    fn mean_over(&self, days: Range<usize>, hours: Range<usize>) -> f64 {
        let all = days.len() * hours.len();
        let sum: f64 = days
            .flat_map(|day| hours.clone().map(move |hour| (day, hour)))
            .map(|(day, hour)| self.profile.factor(day, hour))
            .sum();
        sum / all as f64
    }

    fn row(&self, name: &str) -> Vec<String> {
        let of_hour = |hour: &usize| self.mean_over(0..7, *hour..hour + 1);
        let busiest = (0..24).max_by(|a, b| of_hour(a).total_cmp(&of_hour(b))).unwrap_or(0);
        vec![
            shortened(name),
            self.pages.to_string(),
            number(self.profile.gain()),
            if self.clock.is_some() { "yes" } else { "no" }.to_owned(),
            number(self.mean_over(0..5, 0..24)),
            number(self.mean_over(5..7, 0..24)),
            format!("{busiest} h: {}", number(of_hour(&busiest))),
        ]
    }

    /// The share of changes in each hour of the day.
    fn picture(&self, name: &str) -> Result<String> {
        let shares = (0..24).map(|hour| self.mean_over(0..7, hour..hour + 1) / 24.0).collect();
        let hours: Vec<String> = (0..24).map(|hour| format!("{hour} h")).collect();
        chart::bars(&hours, &[(name.to_owned(), shares)], "share of changes")
    }

    fn learn(&mut self, page: &Seen, prior: Prior) -> everfresh::Result<()> {
        let (mut told, mut start) = (Evidence::NONE, f64::from(page.first));
        for visit in &page.visits {
            self.profile.observe(start, visit, told.posterior(prior).mean())?;
            told.observe(&prior, visit);
            start += visit.elapsed().seconds();
        }
        Ok(())
    }
}
