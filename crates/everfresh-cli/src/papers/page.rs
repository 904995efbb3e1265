//! The exhibits as one page that needs nothing else.

use anyhow::Result;
use everfresh_sim::papers::{Exhibit, Figure, Mark, Note, Paper, Picture, Verdict};

use super::picture::{self, colours, variable};
use super::{files, summary};

const STYLE: &str = include_str!("page.css");

/// Text that stands in a page as it is.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The whole page.
pub(super) fn html(exhibits: &[Exhibit], seed: u64) -> Result<String> {
    let shown = |paper: &Paper| exhibits.iter().any(|exhibit| exhibit.paper == *paper);
    let papers: Vec<Paper> = Paper::ALL.into_iter().filter(shown).collect();
    let mut body = String::new();
    for paper in &papers {
        body.push_str(&format!("<h2 id=\"{0}\">{0}</h2>\n<p>{1}</p>\n", paper.short(), escaped(paper.title())));
        for exhibit in exhibits.iter().filter(|exhibit| exhibit.paper == *paper) {
            body.push_str(&section(exhibit)?);
        }
    }
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>The papers, computed anew</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>The papers, computed anew</h1>\n{}{}{body}</body>\n</html>\n",
        introduction(exhibits, seed),
        contents(exhibits, &papers),
    ))
}

fn introduction(exhibits: &[Exhibit], seed: u64) -> String {
    let legend: String = [
        (Verdict::Match, "ours rounds to the print"),
        (Verdict::Near, "within one unit of the last printed place"),
        (Verdict::Slip, "the print cannot be right"),
        (Verdict::Differs, "neither, and not explained"),
        (Verdict::World, "on a world of ours or recorded pages, not judged"),
    ]
    .map(|(verdict, words)| {
        let word = verdict.word();
        format!("<li><span class=\"{word}\">{} {word}</span> {words}</li>\n", summary::total(exhibits, verdict))
    })
    .concat();
    format!(
        "<p>{}</p>\n<ul class=\"legend\">\n{legend}</ul>\n",
        escaped(summary::in_words(exhibits, seed).trim_end()).replace('\n', " ")
    )
}

/// Links to every exhibit.
fn contents(exhibits: &[Exhibit], papers: &[Paper]) -> String {
    let links = |paper: &Paper| -> String {
        let of = exhibits.iter().filter(|exhibit| exhibit.paper == *paper);
        let link = |exhibit: &Exhibit| format!("<a href=\"#{}\">{}</a>", exhibit.slug(), escaped(&exhibit.name));
        let links: Vec<String> = of.map(link).collect();
        format!("<li><b>{}</b> {}</li>\n", paper.short(), links.join(" "))
    };
    format!("<nav><ul>\n{}</ul></nav>\n", papers.iter().map(links).collect::<String>())
}

fn section(exhibit: &Exhibit) -> Result<String> {
    let mut text = format!(
        "<section id=\"{}\">\n<h3>{} {}</h3>\n<p>{}</p>\n",
        exhibit.slug(),
        exhibit.paper.short(),
        escaped(&exhibit.name),
        escaped(&exhibit.caption)
    );
    if !exhibit.pictures.is_empty() {
        let pictures = exhibit.pictures.iter().map(figure).collect::<Result<String>>()?;
        text.push_str(&format!("<div class=\"pictures\">\n{pictures}</div>\n"));
    }
    text.push_str(&tables(&exhibit.figures));
    for slip in exhibit.slips() {
        text.push_str(&format!("<p class=\"note\"><span class=\"slip\">slip</span> {}</p>\n", escaped(slip)));
    }
    for note in &exhibit.notes {
        if let Note::Remark(remark) = note {
            text.push_str(&format!("<p class=\"note\">{}</p>\n", escaped(remark)));
        }
    }
    text.push_str(&downloads(exhibit));
    text.push_str("</section>\n");
    Ok(text)
}

/// Links to the files beside the page.
fn downloads(exhibit: &Exhibit) -> String {
    let numbers = (!exhibit.figures.is_empty()).then(|| ("numbers", files::numbers_name(exhibit)));
    let curves = (!exhibit.pictures.is_empty()).then(|| ("curves", files::curves_name(exhibit)));
    let link = |(what, name): (&str, String)| format!("<a href=\"{name}\">{what}</a>");
    let links: Vec<String> = numbers.into_iter().chain(curves).map(link).collect();
    format!("<p class=\"files\">CSV: {}</p>\n", links.join(", "))
}

/// A picture with its title and the names of its series.
fn figure(of: &Picture) -> Result<String> {
    let item = |(number, (series, colour)): (usize, (&everfresh_sim::papers::Series, usize))| {
        // Dots that belong to the line before them need no words of their own.
        let belongs = number > 0 && colours(of)[number - 1] == colour;
        if belongs {
            return String::new();
        }
        let kind = match series.mark {
            Mark::Line | Mark::Strokes => "line",
            Mark::Dashed => "dashed",
            Mark::Dots => "dot",
            Mark::Bars | Mark::Area => "block",
        };
        let name = escaped(&series.name);
        format!("<li><i class=\"{kind}\" style=\"color:{}\"></i>{name}</li>\n", variable(colour))
    };
    let names: String = of.series.iter().zip(colours(of)).enumerate().map(item).collect();
    let title = if of.title.is_empty() { String::new() } else { format!("<b>{}</b>\n", escaped(&of.title)) };
    Ok(format!("<figure>\n<figcaption>{title}<ul>\n{names}</ul></figcaption>\n{}</figure>\n", picture::svg(of)?))
}

/// The numbers: those with a column as a table like the paper's, the others as a list of claims.
fn tables(figures: &[Figure]) -> String {
    let (claims, cells): (Vec<&Figure>, Vec<&Figure>) = figures.iter().partition(|figure| figure.column.is_empty());
    format!("{}{}", matrix(&cells), list(&claims))
}

/// In the order of their first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

fn matrix(figures: &[&Figure]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let columns = distinct(figures.iter().map(|figure| figure.column.as_str()));
    let rows = distinct(figures.iter().map(|figure| figure.row.as_str()));
    let head = |column: &&str| format!("<th>{}</th>", escaped(column));
    let heads: String = columns.iter().map(head).collect();
    let cell = |row: &str, column: &str| {
        let figure = figures.iter().find(|figure| figure.row == row && figure.column == column);
        figure.map_or("<td></td>".to_owned(), |figure| {
            let printed =
                figure.printed.as_ref().map(|printed| format!("<small>{}</small>", escaped(&printed.to_string())));
            format!("<td>{}{}</td>", ours(figure), printed.unwrap_or_default())
        })
    };
    let line = |row: &&str| {
        let cells: String = columns.iter().map(|column| cell(row, column)).collect();
        format!("<tr><th>{}</th>{cells}</tr>\n", escaped(row))
    };
    let lines: String = rows.iter().map(line).collect();
    format!(
        "<div class=\"wide\"><table>\n<thead><tr><th><span class=\"key\">ours<small>paper</small></span></th>{heads}</tr></thead>\n\
         <tbody>\n{lines}</tbody>\n</table></div>\n"
    )
}

fn list(figures: &[&Figure]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let line = |figure: &&Figure| {
        let printed = figure.printed.as_ref().map(|printed| escaped(&printed.to_string())).unwrap_or_default();
        format!("<tr><th>{}</th><td>{}</td><td>{printed}</td></tr>\n", escaped(&figure.row), ours(figure))
    };
    let lines: String = figures.iter().map(line).collect();
    format!(
        "<div class=\"wide\"><table class=\"claims\">\n<thead><tr><th></th><th>ours</th><th>paper</th></tr></thead>\n\
         <tbody>\n{lines}</tbody>\n</table></div>\n"
    )
}

/// Our number, marked with its verdict.
fn ours(figure: &Figure) -> String {
    let word = figure.verdict().word();
    let text = if figure.ours.is_infinite() { "∞".to_owned() } else { figure.ours_text() };
    format!("<span class=\"{word}\" title=\"{word}\">{text}</span>")
}
