//! Which columns are wanted, and where they stand in a file.

use anyhow::{Result, bail};
use arrow_schema::{DataType, Schema};
use everfresh::Unit;

use super::Wish;
use super::quantity::{self, Quantity};

/// A column of numbers that is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub name: String,
    pub required: bool,
    pub quantity: Quantity,
    /// The number of another column: only where that one is there does this one mean anything.
    pub beside: Option<usize>,
}

impl Wanted {
    /// A column that must be there.
    pub(crate) fn required(name: &str, quantity: Quantity) -> Wanted {
        Wanted { name: name.to_owned(), required: true, quantity, beside: None }
    }

    /// A column that may be there: one that was asked for by name must.
    pub(crate) fn optional(asked: Option<&str>, default: &str, quantity: Quantity) -> Wanted {
        Wanted { name: asked.unwrap_or(default).to_owned(), required: asked.is_some(), quantity, beside: None }
    }

    /// The same column, which counts only where that of this number is there.
    pub(crate) fn beside(self, other: usize) -> Wanted {
        Wanted { beside: Some(other), ..self }
    }
}

/// The columns that are wanted of a table.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// Names the page; comes out in the type that it has.
    pub key: Option<String>,
    /// By which pages are grouped: text or integers; comes out in the type that it has.
    pub host: Option<String>,
    pub numbers: Vec<Wanted>,
    /// Further columns of text, integers or bytes, by name, and whether they must be there; they come out in their types.
    pub texts: Vec<(String, bool)>,
    /// The unit of time of bare numbers.
    pub unit: Unit,
}

impl Columns {
    /// A header that would do: what names the page, what must be there, and the first of what may tell more where little must.
    pub(super) fn header(&self) -> String {
        let required = self.numbers.iter().filter(|wanted| wanted.required).map(|wanted| &wanted.name);
        let text = self.texts.first().map(|(name, _)| name).filter(|name| !name.is_empty());
        let names: Vec<&str> = self.key.iter().chain(required).chain(text).map(String::as_str).collect();
        names.join(",")
    }
}

/// Where the wanted columns stand in one file.
#[derive(Debug)]
pub(super) struct Places {
    /// The names of all columns, as the file spells them.
    pub names: Vec<String>,
    pub key: Option<usize>,
    pub host: Option<usize>,
    pub numbers: Vec<Option<usize>>,
    pub texts: Vec<Option<usize>>,
}

impl Places {
    /// Finds every column; `place` is where the file names them, for messages.
    pub(super) fn find(columns: &Columns, names: Vec<String>, place: &str) -> Result<Places> {
        let required = |name: &String| require(&names, name, place);
        let key = columns.key.as_ref().map(required).transpose()?;
        let host = columns.host.as_ref().map(required).transpose()?;
        let place_of = |name: &str, is_required: bool| match name {
            // A column that nobody wants.
            "" if !is_required => Ok(None),
            _ if is_required => require(&names, name, place).map(Some),
            _ => find(&names, name, place),
        };
        let numbers = columns.numbers.iter().map(|wanted| place_of(&wanted.name, wanted.required));
        let mut numbers: Vec<Option<usize>> = numbers.collect::<Result<_>>()?;
        for (number, wanted) in columns.numbers.iter().enumerate() {
            if wanted.beside.is_some_and(|other| numbers[other].is_none()) {
                numbers[number] = None;
            }
        }
        let texts = columns.texts.iter().map(|(name, is_required)| place_of(name, *is_required));
        let texts = texts.collect::<Result<_>>()?;
        Ok(Places { names, key, host, numbers, texts })
    }

    /// Finds every column by a schema and checks that its type can be read; `name` is the file's.
    pub(super) fn fit(columns: &Columns, schema: &Schema, name: &str) -> Result<Places> {
        let places = Places::find(columns, schema.fields().iter().map(|field| field.name().clone()).collect(), name)?;
        let check = |index: Option<usize>, fits: &dyn Fn(&DataType) -> bool, expected: &str| match index {
            Some(index) if !fits(schema.field(index).data_type()) => {
                let (column, kind) = (&places.names[index], schema.field(index).data_type());
                bail!("{name}: column `{column}` is {kind}, expected {expected}")
            }
            _ => Ok(()),
        };
        check(places.key, &is_key, "text, an integer or bytes")?;
        check(places.host, &is_host, "text or an integer")?;
        for (index, wanted) in places.numbers.iter().zip(&columns.numbers) {
            check(*index, &|kind| wanted.quantity.reads(kind), wanted.quantity.readable())?;
        }
        for index in &places.texts {
            check(*index, &is_key, "text, an integer or bytes")?;
        }
        Ok(places)
    }

    /// The columns that are read, each once, in the order of the file.
    pub(super) fn taken(&self, wish: Wish) -> Vec<usize> {
        let mut taken: Vec<usize> = self.all(wish).collect();
        taken.sort_unstable();
        taken.dedup();
        taken
    }

    /// How often a column is wanted.
    pub(super) fn taken_times(&self, index: usize, wish: Wish) -> usize {
        self.all(wish).filter(|taken| *taken == index).count()
    }

    fn all(&self, wish: Wish) -> impl Iterator<Item = usize> {
        let (key, host) = (self.key.filter(|_| wish.with_key), self.host.filter(|_| wish.with_host));
        self.numbers.iter().chain(&self.texts).copied().chain([key, host]).flatten()
    }
}

fn require(names: &[String], name: &str, place: &str) -> Result<usize> {
    if let Some(index) = find(names, name, place)? {
        return Ok(index);
    }
    let there: Vec<String> = names.iter().map(|column| format!("`{column}`")).collect();
    bail!("{place}: there is no column `{name}`: the columns are {}", there.join(", "))
}

fn find(names: &[String], name: &str, place: &str) -> Result<Option<usize>> {
    let mut places = names.iter().enumerate().filter(|(_, column)| column.eq_ignore_ascii_case(name));
    let first = places.next();
    if let (Some((a, _)), Some((b, _))) = (first, places.next()) {
        bail!("{place}: column `{name}` is there twice, as column {} and {}", a + 1, b + 1);
    }
    Ok(first.map(|(index, _)| index))
}

fn is_key(kind: &DataType) -> bool {
    let bytes =
        matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_));
    bytes || is_host(kind)
}

fn is_host(kind: &DataType) -> bool {
    kind.is_integer() || quantity::is_text(kind)
}
