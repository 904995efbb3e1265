//! What a paper shows, and what comes out here: values without pictures.

use std::fmt;

/// A paper, by its short name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paper {
    /// Cho & Garcia-Molina, TODS 28(4), 2003.
    Cgm03,
    /// Cho & Garcia-Molina, technical report, 1999.
    Cgm99,
    /// Cho & Garcia-Molina, SIGMOD 2000.
    Cgm00,
    /// Olston & Pandey, WWW 2008.
    Op08,
    /// Razniewski & Nutt, WebDB 2015.
    Rn15,
}

impl Paper {
    /// Every paper, in the order in which they are shown.
    pub const ALL: [Paper; 5] = [Paper::Cgm03, Paper::Cgm99, Paper::Cgm00, Paper::Op08, Paper::Rn15];

    /// The short name: `CGM03`.
    pub const fn short(self) -> &'static str {
        match self {
            Paper::Cgm03 => "CGM03",
            Paper::Cgm99 => "CGM99",
            Paper::Cgm00 => "CGM00",
            Paper::Op08 => "OP08",
            Paper::Rn15 => "RN15",
        }
    }

    /// Authors, title and place.
    pub const fn title(self) -> &'static str {
        match self {
            Paper::Cgm03 => "Cho & Garcia-Molina, Effective page refresh policies for web crawlers, TODS 28(4), 2003",
            Paper::Cgm99 => {
                "Cho & Garcia-Molina, Synchronizing a database to improve freshness, technical report, 1999"
            }
            Paper::Cgm00 => "Cho & Garcia-Molina, Synchronizing a database to improve freshness, SIGMOD 2000",
            Paper::Op08 => "Olston & Pandey, Recrawl scheduling based on information longevity, WWW 2008",
            Paper::Rn15 => {
                "Razniewski & Nutt, Long-term Optimization of Update Frequencies for Decaying Information, WebDB 2015"
            }
        }
    }
}

/// A table or a figure of a paper, computed anew.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// Whose it is.
    pub paper: Paper,
    /// What the paper calls it: `Table IV`, `Figure 11`, `Section 6`; with the name of a trace where that stands for the paper's data.
    pub name: String,
    /// What it shows, in our words.
    pub caption: String,
    /// The numbers, ours beside the printed ones.
    pub figures: Vec<Figure>,
    /// The curves.
    pub pictures: Vec<Picture>,
    /// What a reader should know: on what data, and what is wrong with the print.
    pub notes: Vec<Note>,
}

impl Exhibit {
    /// An exhibit to which figures, pictures and notes are added.
    pub fn new(paper: Paper, name: impl Into<String>, caption: impl Into<String>) -> Self {
        let (name, caption) = (name.into(), caption.into());
        Exhibit { paper, name, caption, figures: Vec::new(), pictures: Vec::new(), notes: Vec::new() }
    }

    /// With more numbers.
    #[must_use]
    pub fn with_figures(mut self, figures: impl IntoIterator<Item = Figure>) -> Self {
        self.figures.extend(figures);
        self
    }

    /// With one more picture.
    #[must_use]
    pub fn with_picture(mut self, picture: Picture) -> Self {
        self.pictures.push(picture);
        self
    }

    /// With a remark.
    #[must_use]
    pub fn with_remark(mut self, text: impl Into<String>) -> Self {
        self.notes.push(Note::Remark(text.into()));
        self
    }

    /// With a slip of the paper that is not one of a number.
    #[must_use]
    pub fn with_slip(mut self, text: impl Into<String>) -> Self {
        self.notes.push(Note::Slip(text.into()));
        self
    }

    /// A name that can be part of a file's: `cgm03-table-iv`.
    pub fn slug(&self) -> String {
        let words = format!("{} {}", self.paper.short(), self.name).to_lowercase();
        let parts = words.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("-")
    }

    /// How many figures have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.figures.iter().filter(|figure| figure.verdict() == verdict).count()
    }

    /// Every slip of this exhibit, those of numbers first; the same words once.
    pub fn slips(&self) -> Vec<&str> {
        let of_numbers = self.figures.iter().filter_map(|figure| figure.slip.as_deref());
        let of_words = self.notes.iter().filter_map(|note| match note {
            Note::Slip(text) => Some(text.as_str()),
            Note::Remark(_) => None,
        });
        let mut slips: Vec<&str> = Vec::new();
        for slip in of_numbers.chain(of_words) {
            if !slips.contains(&slip) {
                slips.push(slip);
            }
        }
        slips
    }
}

/// Something said about an exhibit.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// How it was computed, on which data, what to see.
    Remark(String),
    /// What the paper has wrong.
    Slip(String),
}

/// One number of an exhibit.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The row it stands in: a page, a policy, or what is claimed.
    pub row: String,
    /// The column it stands in, with the unit; empty where there is only one.
    pub column: String,
    /// What the paper prints; nothing where it draws without a number.
    pub printed: Option<Printed>,
    /// What comes out here.
    pub ours: f64,
    /// Why the printed number cannot be right, where it is not.
    pub slip: Option<String>,
    /// Computed on a world of ours or on recorded pages, because the paper's data are not public: shown beside the print, but not judged by it.
    pub on_our_world: bool,
}

impl Figure {
    /// A number of ours, at a row and a column.
    pub fn new(row: impl Into<String>, column: impl Into<String>, ours: f64) -> Self {
        Figure { row: row.into(), column: column.into(), printed: None, ours, slip: None, on_our_world: false }
    }

    /// Beside what the paper prints.
    #[must_use]
    pub fn beside(mut self, printed: Printed) -> Self {
        self.printed = Some(printed);
        self
    }

    /// With the reason why the print cannot be right.
    #[must_use]
    pub fn slip(mut self, why: impl Into<String>) -> Self {
        self.slip = Some(why.into());
        self
    }

    /// Computed on a world of ours.
    #[must_use]
    pub fn on_our_world(mut self) -> Self {
        self.on_our_world = true;
        self
    }

    /// How ours and the print compare.
    pub fn verdict(&self) -> Verdict {
        if self.on_our_world {
            return Verdict::World;
        }
        let Some(printed) = &self.printed else { return Verdict::Unprinted };
        if self.slip.is_some() {
            Verdict::Slip
        } else if printed.holds(self.ours) {
            Verdict::Match
        } else if printed.almost_holds(self.ours) {
            Verdict::Near
        } else {
            Verdict::Differs
        }
    }

    /// Ours for people: one digit more than the print has, or four digits.
    pub fn ours_text(&self) -> String {
        match &self.printed {
            Some(Printed { decimals: Some(decimals), .. }) if self.ours.is_finite() => {
                let is_count = *decimals <= 0 && self.ours.fract() == 0.0;
                let places = if is_count { 0 } else { usize::try_from(decimals + 1).unwrap_or(0) };
                format!("{:.places$}", self.ours)
            }
            _ => everfresh::units::significant(self.ours, 4),
        }
    }
}

/// How a number of ours and the printed one compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Ours rounds to the print, or keeps the bound that the paper states.
    Match,
    /// Within one unit of the last printed place: the paper rounded on the way, or cut off.
    Near,
    /// The print cannot be right, and the exhibit says why.
    Slip,
    /// Neither, and not explained.
    Differs,
    /// On a world of ours or recorded pages: not to be judged by the print.
    World,
    /// The paper prints no number here.
    Unprinted,
}

impl Verdict {
    /// Every verdict, best first.
    pub const ALL: [Verdict; 6] =
        [Verdict::Match, Verdict::Near, Verdict::Slip, Verdict::Differs, Verdict::World, Verdict::Unprinted];

    /// One word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Match => "match",
            Verdict::Near => "near",
            Verdict::Slip => "slip",
            Verdict::Differs => "differs",
            Verdict::World => "world",
            Verdict::Unprinted => "unprinted",
        }
    }
}

/// How the printed number and ours are to be related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Above,
    Below,
}

/// A number as a paper prints it.
#[derive(Clone, Debug)]
pub struct Printed {
    text: String,
    value: f64,
    /// The last printed place.
    unit: f64,
    /// Digits behind the point; negative for a number rounded to tens or thousands; nothing for a fraction or a formula.
    decimals: Option<i32>,
    relation: Relation,
}

impl Printed {
    /// A number printed with so many digits behind the point; -3 is a number of whole thousands.
    ///
    /// ```
    /// use everfresh_sim::papers::{Figure, Printed, Verdict};
    /// let freshness = |ours| Figure::new("e1", "", ours).beside(Printed::new(0.63, 2)).verdict();
    /// assert_eq!([0.634, 0.636, 0.65].map(freshness), [Verdict::Match, Verdict::Near, Verdict::Differs]);
    /// assert_eq!(Printed::new(16_000.0, -3).to_string(), "16000");
    /// ```
    pub fn new(value: f64, decimals: i32) -> Self {
        let places = usize::try_from(decimals).unwrap_or(0);
        Printed {
            text: format!("{value:.places$}"),
            value,
            unit: 10f64.powi(-decimals),
            decimals: Some(decimals),
            relation: Relation::Equal,
        }
    }

    /// A printed fraction.
    pub fn fraction(numerator: u32, denominator: u32) -> Self {
        let value = f64::from(numerator) / f64::from(denominator);
        Printed::exact(format!("{numerator}/{denominator}"), value)
    }

    /// The value of a printed formula, evaluated as it stands there: ours must equal it but for what cancels in it.
    pub fn formula(value: f64) -> Self {
        Printed::exact(everfresh::units::significant(value, 6), value)
    }

    fn exact(text: String, value: f64) -> Self {
        let unit = 1e-9 * value.abs().max(1e-3);
        Printed { text, value, unit, decimals: None, relation: Relation::Equal }
    }

    /// The paper says only that it is more than this.
    pub fn above(value: f64, decimals: i32) -> Self {
        let number = Printed::new(value, decimals);
        Printed { text: format!("above {}", number.text), decimals: None, relation: Relation::Above, ..number }
    }

    /// The paper says only that it is less than this.
    pub fn below(value: f64, decimals: i32) -> Self {
        let number = Printed::new(value, decimals);
        Printed { text: format!("below {}", number.text), decimals: None, relation: Relation::Below, ..number }
    }

    /// The number itself.
    pub const fn value(&self) -> f64 {
        self.value
    }

    /// Does ours round to it, or keep the bound? A value on the edge of rounding may fall to either side.
    fn holds(&self, ours: f64) -> bool {
        match self.relation {
            Relation::Equal if self.value.is_infinite() => ours == self.value,
            Relation::Equal => (ours - self.value).abs() <= 0.5 * self.unit * (1.0 + 1e-9),
            Relation::Above => ours > self.value,
            Relation::Below => ours < self.value,
        }
    }

    /// Within one unit of the last printed place; a bound holds or does not.
    fn almost_holds(&self, ours: f64) -> bool {
        self.relation == Relation::Equal && (ours - self.value).abs() <= self.unit * (1.0 + 1e-9)
    }
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Curves on two axes.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What this one of several shows; empty where there is only one.
    pub title: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
}

impl Picture {
    /// An empty picture.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Picture { title: title.into(), x, y, series: Vec::new() }
    }

    /// With one more series.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, mark: Mark, points: Vec<(f64, f64)>) -> Self {
        self.series.push(Series { name: name.into(), mark, points });
        self
    }
}

/// An axis, with the unit in its words.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What stands beside it.
    pub words: &'static str,
    /// How numbers are laid out on it.
    pub scale: Scale,
    /// The least range that it shows, beyond what the data need.
    pub range: Option<(f64, f64)>,
}

/// How numbers are laid out on an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithms; only positive numbers have a place.
    Log,
    /// Classes with names: number 0 is the first, at 0.5.
    Classes(Vec<String>),
}

impl Axis {
    /// An even axis.
    pub const fn linear(words: &'static str) -> Self {
        Axis { words, scale: Scale::Linear, range: None }
    }

    /// A logarithmic axis.
    pub const fn log(words: &'static str) -> Self {
        Axis { words, scale: Scale::Log, range: None }
    }

    /// An axis of named classes.
    pub fn classes(words: &'static str, names: &[&str]) -> Self {
        Axis { words, scale: Scale::Classes(names.iter().map(|name| (*name).to_owned()).collect()), range: None }
    }

    /// The same axis that shows at least this range.
    #[must_use]
    pub const fn from_to(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// How they are drawn.
    pub mark: Mark,
    /// x and y; what is not finite is left out.
    pub points: Vec<(f64, f64)>,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through them.
    Line,
    /// A broken line through them: a bound, a prediction.
    Dashed,
    /// A dot at each.
    Dots,
    /// A bar up to each; x is the number of its class.
    Bars,
    /// The area that they surround.
    Area,
    /// A stroke from the first to the second, the third to the fourth, and so on.
    Strokes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_judged_by_its_printed_places() {
        let verdict = |printed: Printed, ours| Figure::new("", "", ours).beside(printed).verdict();
        assert_eq!(verdict(Printed::new(0.63, 2), 0.625), Verdict::Match);
        assert_eq!(verdict(Printed::new(0.12, 2), 0.1287), Verdict::Near);
        assert_eq!(verdict(Printed::new(0.12, 2), 0.1301), Verdict::Differs);
        assert_eq!(verdict(Printed::new(16_000.0, -3), 16_331.0), Verdict::Match);
        assert_eq!(verdict(Printed::fraction(36, 72), 0.5), Verdict::Match);
        assert_eq!(verdict(Printed::fraction(36, 72), 0.500_01), Verdict::Differs);
        assert_eq!(verdict(Printed::formula(f64::INFINITY), f64::INFINITY), Verdict::Match);
        assert_eq!(verdict(Printed::above(0.4, 1), 0.41), Verdict::Match);
        assert_eq!(verdict(Printed::above(0.4, 1), 0.399), Verdict::Differs);
        assert_eq!(verdict(Printed::below(0.4, 1), f64::NAN), Verdict::Differs);
        assert_eq!(Figure::new("", "", 1.0).verdict(), Verdict::Unprinted);
    }

    #[test]
    fn a_world_of_ours_is_not_judged() {
        let figure = Figure::new("", "", 9.0).beside(Printed::new(0.67, 2)).on_our_world();
        assert_eq!(figure.verdict(), Verdict::World);
    }

    #[test]
    fn ours_shows_one_digit_more_than_the_print() {
        let text = |printed, ours| Figure::new("", "", ours).beside(printed).ours_text();
        assert_eq!(text(Printed::new(0.84, 2), 0.834_72), "0.835");
        assert_eq!(text(Printed::new(16_000.0, -3), 16_331.4), "16331");
        assert_eq!(text(Printed::fraction(1, 36), 1.0 / 36.0), "0.02778");
    }
}
