//! How the rows of a table are made: each column as a function of seed, table, row and column.
//!
//! What they hold is the same for all servers; [`binary`](super::binary) and [`lines`](super::lines) write them.

mod form;
mod number;

use crate::expression::Formula;
use crate::job::{Bound, ColumnType, Fill, FillColumn, Format, JoinPart, JoinWord, Maker, Value};
use crate::value::{Permutation, Skewed, TextShape, mix, mix_in, name_part, write_pattern};
pub(super) use form::{DAY_S, Ranges, float4, float8, write_digits};
pub(super) use number::Number;
use number::{Computation, NumberKind};

/// How a table's rows are made; checked when they are built, so that no row can fail.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    /// How many columns there are.
    pub(super) count: u16,
    pub(super) columns: Vec<Column<'a>>,
    /// Of children, how many a parent has, and for how many each has places.
    children: Option<(Number, u64)>,
}

/// How the values of a column are made.
#[derive(Debug)]
pub(super) struct Column<'a> {
    /// The row's number is divided by this first.
    each: u64,
    /// It is NULL where this is not 0.
    null_if: Option<Number>,
    pub(super) kind: ColumnKind<'a>,
}

impl Column<'_> {
    /// Returns the number that a row counts with in this column.
    #[inline]
    pub(super) fn row(&self, row: u64) -> u64 {
        if self.each == 1 { row } else { row / self.each }
    }

    /// Tells whether the column is NULL in a row, by the number with which the row counts in it.
    #[inline]
    pub(super) fn is_null(&self, row: u64) -> bool {
        match &self.null_if {
            None => false,
            Some(number) => number.of(row) != 0,
        }
    }
}

#[derive(Debug)]
pub(super) enum ColumnKind<'a> {
    Int2(Number),
    Int4(Number),
    Int8(Number),
    /// Of a number in that format.
    Float4(Number, Format),
    /// Of a number in that format.
    Float8(Number, Format),
    /// Of a number with so many decimals.
    Numeric(Number, u32),
    Timestamp(Number),
    Date(Number),
    /// A number as a text, in that format.
    Digits(Number, Format),
    Text(u64, &'a TextShape),
    Pattern(u64, &'a [u8]),
    Join(Vec<Part<'a>>),
}

/// A part of a joined text.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Fixed(&'a str),
    Digits(Number, Format),
    Text(u64, &'a TextShape),
    Pattern(u64, &'a [u8]),
    Word(Number, &'a JoinWord),
    /// Others, where the number is not 0.
    When(Number, Vec<Self>),
}

impl<'a> Rows<'a> {
    /// Plans the rows of the table of that name.
    ///
    /// # Errors
    /// A column that cannot hold its value, as the rest of a sentence about the table.
    pub(super) fn new(
        fill: &'a Fill,
        values: &'a [Value],
        seed: u64,
        table: &str,
        ranges: Ranges,
    ) -> Result<Self, String> {
        let count = u16::try_from(fill.columns.len()).map_err(|_| "it has too many columns")?;
        let number = table.strip_prefix(fill.table.as_str()).unwrap_or_default();
        let family = fill.per.as_ref().map(|per| {
            let parent = format!("{}{number}", per.table);
            let rows = fill.rows / per.most.max(1);
            let plan = Plan::new((&per.columns, rows), values, seed, &parent, ranges);
            Box::new(Family {
                parent: plan,
                places: per.most.max(1),
            })
        });
        let plan = Plan {
            family,
            ..Plan::new((&fill.columns, fill.rows), values, seed, table, ranges)
        };
        let columns = fill.columns.iter().enumerate().map(|(index, column)| {
            let kind = plan.column(index)?;
            let null_if = column.null_if.map(|value| {
                let number = plan.apart(value, plan.at(index));
                number.ok_or_else(|| format!("column `{}`: `null_if`: {IMPURE}", column.name))
            });
            Ok(Column {
                each: column.each,
                null_if: null_if.transpose()?,
                kind,
            })
        });
        let columns = columns.collect::<Result<_, String>>()?;
        let children = fill.per.as_ref().map(|per| {
            let number = plan.apart(per.count, plan.at(0));
            let number = number.ok_or_else(|| format!("how many children there are: {IMPURE}"))?;
            let (least, most) = number.range();
            if least < 0 || most > i128::from(per.most) {
                return Err(format!(
                    "its parents have {least} to {most} children, and places for {}",
                    per.most
                ));
            }
            Ok((number, per.most.max(1)))
        });
        Ok(Self {
            count,
            columns,
            children: children.transpose()?,
        })
    }

    /// Tells whether there is a row of that number: of children, places beyond those that their parent has are empty.
    #[inline]
    pub(super) fn is_there(&self, row: u64) -> bool {
        match &self.children {
            None => true,
            Some((count, places)) => (row % places).cast_signed() < count.of(row),
        }
    }

    /// Returns how many of the first rows there are.
    pub(super) fn there(&self, rows: u64) -> u64 {
        match &self.children {
            None => rows,
            Some((count, places)) => (0..rows / places)
                .map(|parent| count.of(parent * places).cast_unsigned())
                .sum(),
        }
    }
}

/// What a column has to be, as the rest of a sentence about it.
const IMPURE: &str = "a fill has no cursor, clock or sequence, and sums of at most 64 bits whose columns change together, \
                      of two values at least one in a column of its own";

/// What columns are made from, while the writer is built.
struct Plan<'a> {
    columns: &'a [FillColumn],
    rows: u64,
    values: &'a [Value],
    seed: u64,
    state: u64,
    ranges: Ranges,
    /// Of children alone.
    family: Option<Box<Family<'a>>>,
}

/// How the rows are made that children belong to, and how many places each has for them.
struct Family<'a> {
    parent: Plan<'a>,
    places: u64,
}

/// Where a value is drawn: for a column, from a state, and from so many others at most.
#[derive(Debug, Clone, Copy)]
struct At {
    column: usize,
    state: u64,
    depth: usize,
}

impl<'a> Plan<'a> {
    fn new(
        (columns, rows): (&'a [FillColumn], u64),
        values: &'a [Value],
        seed: u64,
        table: &str,
        ranges: Ranges,
    ) -> Self {
        Self {
            columns,
            rows,
            values,
            seed,
            state: mix(seed, &[name_part("fill"), name_part(table)]),
            ranges,
            family: None,
        }
    }

    fn column(&self, index: usize) -> Result<ColumnKind<'a>, String> {
        let column = &self.columns[index];
        let values = self.values;
        let value = values.get(column.value).ok_or_else(|| {
            format!(
                "column `{}` has value {}, which there is not",
                column.name, column.value
            )
        })?;
        let number = || self.number(column.value, self.at(index));
        let refuse = |problem: &str| {
            Err(format!(
                "column `{}` with value `{}`: {problem}",
                column.name, value.name
            ))
        };
        if value.maker.is_text() && self.of_parent(column.value).is_some() {
            return refuse("children take no text of their parent");
        }
        match (column.type_, &value.maker) {
            (ColumnType::Text, Maker::Text(shape)) => {
                Ok(ColumnKind::Text(self.random(index), shape))
            }
            (ColumnType::Text, Maker::Pattern(pattern)) => {
                Ok(ColumnKind::Pattern(self.random(index), pattern.as_bytes()))
            }
            (ColumnType::Text, Maker::Join(_)) => {
                let mut joined = Vec::new();
                match self.join(column.value, self.at(index), &mut joined) {
                    Some(()) => Ok(ColumnKind::Join(joined)),
                    None => refuse(IMPURE),
                }
            }
            (_, Maker::Text(_) | Maker::Pattern(_) | Maker::Join(_)) => {
                refuse("a text needs the type `text`")
            }
            (type_, _) => {
                let Some(number) = number() else {
                    return refuse(IMPURE);
                };
                let (low, high) = self.ranges.of(type_);
                let (least, greatest) = number.range();
                if least < low.into() || greatest > high.into() {
                    return refuse(&format!(
                        "it runs from {least} to {greatest}, the type from {low} to {high}"
                    ));
                }
                Ok(match type_ {
                    ColumnType::Int2 => ColumnKind::Int2(number),
                    ColumnType::Int4 => ColumnKind::Int4(number),
                    ColumnType::Int8 => ColumnKind::Int8(number),
                    ColumnType::Float4 => ColumnKind::Float4(number, value.format),
                    ColumnType::Float8 => ColumnKind::Float8(number, value.format),
                    ColumnType::Numeric => ColumnKind::Numeric(number, column.scale),
                    ColumnType::Timestamp => ColumnKind::Timestamp(number),
                    ColumnType::Date => ColumnKind::Date(number),
                    ColumnType::Text => ColumnKind::Digits(number, value.format),
                })
            }
        }
    }

    /// Returns the number that a value stands for in a column; `None` where it is none, or not a pure one. It draws from
    /// `state`. A value that another is computed from is the one of the column that shows it, if there is one.
    fn number(&self, value: usize, at: At) -> Option<Number> {
        if let Some(number) = self.of_parent(value) {
            return number;
        }
        let shown = |value: usize| self.shown(value).is_some();
        let base = |base: usize| self.base(base, at);
        let (column, state) = (at.column, at.state);
        let kind = match &self.values.get(value)?.maker {
            Maker::Uniform(Bound::Integer(low), Bound::Integer(high)) => {
                NumberKind::Uniform(state, *low, *high)
            }
            Maker::Skewed(distribution) => {
                NumberKind::Skewed(state, Box::new(Skewed::new(distribution, self.seed)))
            }
            Maker::Permutation(permuted) => {
                let permutation = Permutation::new(self.seed, permuted.range);
                NumberKind::Permuted(Box::new((base(permuted.value)?, permutation)))
            }
            Maker::Constant(number) => NumberKind::Constant(*number),
            Maker::Row(first) => {
                let each = self.columns[column].each;
                NumberKind::Row(*first, self.rows.div_ceil(each))
            }
            Maker::Item(item) => NumberKind::Child(item.first, self.family.as_ref()?.places),
            Maker::Add { value, plus } => {
                let mut number = base(*value)?;
                number.plus = number.plus.checked_add(*plus)?;
                return Some(number);
            }
            maker @ Maker::Compute(computed) => {
                let bases = maker.bases().into_iter();
                let bases = bases.map(|base| Some((base, self.apart(base, at)?)));
                NumberKind::Computed(Box::new(Computation {
                    formula: Formula::new(computed),
                    bases: bases.collect::<Option<_>>()?,
                }))
            }
            // Two that no column shows would be drawn alike, from the state of this one.
            Maker::Sum { value, other } if shown(*value) || shown(*other) => {
                NumberKind::Sum(Box::new((base(*value)?, base(*other)?)))
            }
            Maker::Uniform(..)
            | Maker::Sequence(_)
            | Maker::Count(_)
            | Maker::Newest(_)
            | Maker::Client(_)
            | Maker::Sum { .. }
            | Maker::Clock
            | Maker::Text(_)
            | Maker::Pattern(_)
            | Maker::Join(_)
            | Maker::Sample(_) => return None,
        };
        Some(Number { kind, plus: 0 })
    }

    /// Appends the parts of a joined text; `None` where one is not a pure function of the row.
    fn join(&self, value: usize, at: At, parts: &mut Vec<Part<'a>>) -> Option<()> {
        let Maker::Join(written) = &self.values.get(value)?.maker else {
            return None;
        };
        for part in written {
            match part {
                JoinPart::Text(text) => parts.push(Part::Fixed(text)),
                JoinPart::Word(word) => {
                    let part = Part::Word(self.apart(word.at, at)?, word);
                    self.push(vec![part], word.when, at, parts)?;
                }
                JoinPart::Value(part) => {
                    let mut own = Vec::new();
                    self.value(part.value, at, &mut own)?;
                    self.push(own, part.when, at, parts)?;
                }
            }
        }
        Some(())
    }

    /// Appends parts that stand by a condition, where there is one.
    fn push(
        &self,
        own: Vec<Part<'a>>,
        when: Option<usize>,
        at: At,
        parts: &mut Vec<Part<'a>>,
    ) -> Option<()> {
        match when {
            None => parts.extend(own),
            Some(when) => parts.push(Part::When(self.apart(when, at)?, own)),
        }
        Some(())
    }

    /// Appends a value as a part of a text.
    fn value(&self, index: usize, at: At, parts: &mut Vec<Part<'a>>) -> Option<()> {
        let place = self.place(index, at)?;
        let value = self.values.get(index)?;
        if value.maker.is_text() && self.of_parent(index).is_some() {
            return None;
        }
        match &value.maker {
            Maker::Text(shape) => parts.push(Part::Text(place.state, shape)),
            Maker::Pattern(pattern) => {
                parts.push(Part::Pattern(place.state, pattern.as_bytes()));
            }
            Maker::Join(_) => self.join(index, place, parts)?,
            _ => parts.push(Part::Digits(self.number(index, place)?, value.format)),
        }
        Some(())
    }

    /// Returns the number that a value is in the parent's row, where a column of the parent shows it.
    #[expect(
        clippy::option_option,
        reason = "none where no column shows it, and within where it is no pure number"
    )]
    fn of_parent(&self, value: usize) -> Option<Option<Number>> {
        let family = self.family.as_ref()?;
        let column = family.parent.shown(value)?;
        let number = family.parent.number(value, family.parent.at(column));
        let each = family.parent.columns[column].each;
        Some(number.map(|number| Number {
            kind: NumberKind::OfParent(Box::new(number), family.places * each),
            plus: 0,
        }))
    }

    /// Returns the number that another is computed from, where that takes one base: it draws as the column does.
    fn base(&self, value: usize, at: At) -> Option<Number> {
        let place = self.place(value, at)?;
        let state = match self.shown(value) {
            Some(_) => place.state,
            None => at.state,
        };
        self.number(value, At { state, ..place })
    }

    /// Returns the number that another is computed from, where that takes several: each draws by itself.
    fn apart(&self, value: usize, at: At) -> Option<Number> {
        self.number(value, self.place(value, at)?)
    }

    /// Where a value is drawn from which another is computed: in the column that shows it; without one, in the other's
    /// column, from a state of its own, so that it is the same for all that is computed from it in a row.
    fn place(&self, value: usize, at: At) -> Option<At> {
        let depth = at.depth.checked_sub(1)?;
        let Some(shown) = self.shown(value) else {
            let state = mix_in(mix_in(self.state, u64::MAX), value as u64);
            return Some(At { state, depth, ..at });
        };
        let together = self.columns[shown].each == self.columns[at.column].each;
        together.then(|| At {
            depth,
            ..self.at(shown)
        })
    }

    fn at(&self, column: usize) -> At {
        At {
            column,
            state: self.random(column),
            depth: self.values.len(),
        }
    }

    /// The first column that shows a value.
    fn shown(&self, value: usize) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|column| column.value == value)
    }

    fn random(&self, column: usize) -> u64 {
        mix_in(self.state, column as u64)
    }
}

impl Part<'_> {
    /// Appends it as it is in a row.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>, row: u64) {
        match self {
            Self::Fixed(text) => out.extend_from_slice(text.as_bytes()),
            Self::Digits(number, format) => write_digits(out, number.of(row), *format),
            Self::Text(state, shape) => shape.write(out, mix_in(*state, row)),
            Self::Pattern(state, pattern) => write_pattern(out, pattern, mix_in(*state, row)),
            Self::Word(number, words) => {
                out.extend_from_slice(words.word(number.of(row)).as_bytes());
            }
            Self::When(number, parts) => {
                if number.of(row) != 0 {
                    for part in parts {
                        part.write(out, row);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
