//! What the demo prints and draws: `everfresh demo --plot docs/demo.svg` makes the picture of the README.

use std::path::Path;

use anyhow::Result;
use plotters::prelude::*;
use serde::Serialize;

use super::args::DemoArgs;
use super::score::Score;
use super::world::DAY_S;
use crate::chart::{self, LAW, PAGES};
use crate::output::{self, Grid, number, percent};

/// The scores of all crawlers by name, ours first, uniform second.
pub(super) type Scores = Vec<(&'static str, Score)>;

#[derive(Serialize)]
struct Machines {
    pages: u32,
    days: u32,
    budget_per_page_per_day: f64,
    seed: u64,
    takes_s: f64,
    crawlers: Vec<MachineRow>,
}

#[derive(Serialize)]
struct MachineRow {
    crawler: &'static str,
    visits: u64,
    freshness: f64,
    freshness_second_half: f64,
    ratio_to_uniform: Option<f64>,
    age_days: f64,
    changes_found: u64,
    not_modified: u64,
    gone: u64,
    failures: u64,
    freshness_over_time: Vec<f64>,
}

/// Freshness over the second half, relative to that of uniform visits.
fn ratio(scores: &Scores, score: &Score) -> f64 {
    score.second_half
        / scores.iter().find(|(name, _)| *name == "uniform").map_or(f64::NAN, |(_, score)| score.second_half)
}

pub(super) fn print(args: &DemoArgs, scores: &Scores) -> Result<()> {
    if args.json { output::print_json(&machines(args, scores)) } else { output::print(&people(args, scores)) }
}

fn machines(args: &DemoArgs, scores: &Scores) -> Machines {
    let row = |(crawler, score): &(&'static str, Score)| MachineRow {
        crawler,
        visits: score.visits,
        freshness: score.freshness,
        freshness_second_half: score.second_half,
        ratio_to_uniform: output::finite(ratio(scores, score)),
        age_days: score.age_s / DAY_S,
        changes_found: score.changes,
        not_modified: score.not_modified,
        gone: score.gone,
        failures: score.failures,
        freshness_over_time: score.over_time.clone(),
    };
    Machines {
        pages: args.pages,
        days: args.days,
        budget_per_page_per_day: args.budget,
        seed: args.seed,
        takes_s: args.takes.seconds(),
        crawlers: scores.iter().map(row).collect(),
    }
}

fn people(args: &DemoArgs, scores: &Scores) -> String {
    let half = number(f64::from(args.days) / 2.0);
    let later = format!("from day {half} on");
    let mut grid = Grid::new(&[
        "crawler",
        "visits",
        "freshness",
        &later,
        "to uniform",
        "age in days",
        "changes found",
        "304",
        "gone",
        "failed",
    ]);
    for (name, score) in scores {
        grid.row(vec![
            (*name).to_owned(),
            score.visits.to_string(),
            percent(score.freshness),
            percent(score.second_half),
            format!("{:.2}", ratio(scores, score)),
            number(score.age_s / DAY_S),
            score.changes.to_string(),
            score.not_modified.to_string(),
            score.gone.to_string(),
            score.failures.to_string(),
        ]);
    }
    format!(
        "{} pages on {} hosts for {} days; budget: {} visits per page and day; seed {}\n\n{}\n{}\n",
        args.pages,
        super::site::SITES.len(),
        args.days,
        number(args.budget),
        args.seed,
        grid.text(),
        sentence(scores, &half)
    )
}

fn sentence(scores: &Scores, half: &str) -> String {
    let each = |of: &dyn Fn(&Score) -> String| {
        let others: Vec<String> = scores.iter().skip(1).map(|(name, score)| format!("{name} {}", of(score))).collect();
        others.join(", ")
    };
    let Some((_, ours)) = scores.first() else { return String::new() };
    let mut text = format!(
        "With as many visits as the others, Everfresh kept {} of the copies fresh from day {half} on; {}.",
        percent(ours.second_half),
        each(&|score| percent(score.second_half))
    );
    // Freshness is what it aims at; what that costs elsewhere is said, too.
    if scores.iter().any(|(_, score)| score.age_s < ours.age_s) {
        let age = |score: &Score| format!("{:.1} days", score.age_s / DAY_S);
        text.push_str(&format!("\nThe mean age of its copies was {}; {}.", age(ours), each(&age)));
    }
    text
}

/// Draws freshness over time.
pub(super) fn plot(path: &Path, args: &DemoArgs, scores: &Scores) -> Result<()> {
    let svg = picture(args, scores)?;
    chart::write(path, "Who was how fresh", &svg, &people(args, scores))
}

const INKS: [RGBColor; 4] = [LAW, RGBColor(0, 158, 115), PAGES, RGBColor(204, 121, 167)];

fn picture(args: &DemoArgs, scores: &Scores) -> Result<String> {
    let days = f64::from(args.days);
    let top = scores.iter().flat_map(|(_, score)| &score.over_time).fold(0.1_f64, |top, share| top.max(*share));
    chart::sized((760, 440), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .margin_right(110)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..days, 0.0..(1.1 * top).min(1.0))?;
        chart
            .configure_mesh()
            .x_desc("days")
            .y_desc("share of copies that are fresh")
            .x_label_formatter(&|day| number(*day))
            .y_label_formatter(&|share| format!("{:.0} %", 100.0 * share))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .label_style(("sans-serif", 13))
            .draw()?;
        for (number, (_, score)) in scores.iter().enumerate() {
            let width = days / score.over_time.len() as f64;
            let points = score.over_time.iter().enumerate().map(|(part, share)| ((part as f64 + 0.5) * width, *share));
            let thick = if number == 0 { 3 } else { 2 };
            chart.draw_series(LineSeries::new(points, INKS[number % INKS.len()].stroke_width(thick)))?;
        }
        for (y, number) in label_places(scores) {
            let style = ("sans-serif", 13).into_font().color(&INKS[number % INKS.len()]);
            let (x, y) = chart.backend_coord(&(days, y));
            area.draw(&Text::new(scores[number].0.to_owned(), (x + 6, y - 7), style))?;
        }
        Ok(())
    })
}

/// Where the names stand, each at the end of its line, moved apart where they would touch.
fn label_places(scores: &Scores) -> Vec<(f64, usize)> {
    let last = |score: &Score| {
        let end = &score.over_time[score.over_time.len().saturating_sub(3)..];
        end.iter().sum::<f64>() / end.len().max(1) as f64
    };
    let top = scores.iter().flat_map(|(_, score)| &score.over_time).fold(0.1_f64, |top, share| top.max(*share));
    let least = 0.045 * (1.1 * top).min(1.0);
    let mut places: Vec<(f64, usize)> =
        scores.iter().zip(0..).map(|((_, score), number)| (last(score), number)).collect();
    places.sort_by(|a, b| b.0.total_cmp(&a.0));
    for next in 1..places.len() {
        places[next].0 = places[next].0.min(places[next - 1].0 - least);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_touch() {
        let score = |share: f64| Score { over_time: vec![share; 5], ..Score::default() };
        let scores = vec![("a", score(0.6)), ("b", score(0.5)), ("c", score(0.505)), ("d", score(0.495))];
        let places = label_places(&scores);
        assert_eq!(places.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [0, 2, 1, 3]);
        assert!(places.windows(2).all(|pair| pair[0].0 - pair[1].0 >= 0.029), "{places:?}");
    }
}
