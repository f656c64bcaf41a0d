//! How the rows of a table are made: each column as a function of seed, table, row and column.
//!
//! What they hold is the same for all servers; [`binary`](super::binary) and [`lines`](super::lines) write them.

use crate::expression::Formula;
use crate::job::{Bound, ColumnType, Fill, Format, JoinPart, JoinWord, Maker, Value};
use crate::text::{write_hundredths, write_integer};
use crate::value::{
    Bounds, Permutation, Skewed, TextShape, mix, mix_in, name_part, uniform, write_pattern,
};

/// What a server's columns can hold, where servers differ in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ranges {
    /// Times in seconds from 1970.
    pub(super) timestamp_s: (i64, i64),
}

/// How a table's rows are made; checked when they are built, so that no row can fail.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    /// How many columns there are.
    pub(super) count: u16,
    pub(super) columns: Vec<Column<'a>>,
}

/// How the values of a column are made.
#[derive(Debug)]
pub(super) struct Column<'a> {
    /// The row's number is divided by this first.
    each: u64,
    pub(super) kind: ColumnKind<'a>,
}

impl Column<'_> {
    /// Returns the number that a row counts with in this column.
    #[inline]
    pub(super) fn row(&self, row: u64) -> u64 {
        if self.each == 1 { row } else { row / self.each }
    }
}

#[derive(Debug)]
pub(super) enum ColumnKind<'a> {
    Int4(Number),
    Int8(Number),
    /// Of a number in that format.
    Float4(Number, Format),
    Timestamp(Number),
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
        let state = mix(seed, &[name_part("fill"), name_part(table)]);
        let plan = Plan {
            fill,
            values,
            seed,
            state,
            ranges,
        };
        let columns = fill.columns.iter().enumerate().map(|(index, column)| {
            let kind = plan.column(index)?;
            Ok(Column {
                each: column.each,
                kind,
            })
        });
        Ok(Self {
            count,
            columns: columns.collect::<Result<_, String>>()?,
        })
    }
}

/// What a column has to be, as the rest of a sentence about it.
const IMPURE: &str = "a fill has no cursor, clock or sequence, and sums of at most 64 bits whose columns change together, \
                      of two values at least one in a column of its own";

/// What columns are made from, while the writer is built.
struct Plan<'a> {
    fill: &'a Fill,
    values: &'a [Value],
    seed: u64,
    state: u64,
    ranges: Ranges,
}

/// Where a value is drawn: for a column, from a state, and from so many others at most.
#[derive(Debug, Clone, Copy)]
struct At {
    column: usize,
    state: u64,
    depth: usize,
}

impl<'a> Plan<'a> {
    fn column(&self, index: usize) -> Result<ColumnKind<'a>, String> {
        let column = &self.fill.columns[index];
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
                    ColumnType::Int4 => ColumnKind::Int4(number),
                    ColumnType::Int8 => ColumnKind::Int8(number),
                    ColumnType::Float4 => ColumnKind::Float4(number, value.format),
                    ColumnType::Timestamp => ColumnKind::Timestamp(number),
                    ColumnType::Text => ColumnKind::Digits(number, value.format),
                })
            }
        }
    }

    /// Returns the number that a value stands for in a column; `None` where it is none, or not a pure one. It draws from
    /// `state`. A value that another is computed from is the one of the column that shows it, if there is one.
    fn number(&self, value: usize, at: At) -> Option<Number> {
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
                let each = self.fill.columns[column].each;
                NumberKind::Row(*first, self.fill.rows.div_ceil(each))
            }
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
            | Maker::Item(_)
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
                JoinPart::Word(word) => parts.push(Part::Word(self.apart(word.at, at)?, word)),
                JoinPart::Value(part) => {
                    let place = self.place(part.value, at)?;
                    let value = self.values.get(part.value)?;
                    match &value.maker {
                        Maker::Text(shape) => parts.push(Part::Text(place.state, shape)),
                        Maker::Pattern(pattern) => {
                            parts.push(Part::Pattern(place.state, pattern.as_bytes()));
                        }
                        Maker::Join(_) => self.join(part.value, place, parts)?,
                        _ => {
                            let number = self.number(part.value, place)?;
                            parts.push(Part::Digits(number, value.format));
                        }
                    }
                }
            }
        }
        Some(())
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
    /// column, from a state of its own.
    fn place(&self, value: usize, at: At) -> Option<At> {
        let depth = at.depth.checked_sub(1)?;
        let Some(shown) = self.shown(value) else {
            let state = mix_in(at.state, value as u64);
            return Some(At { state, depth, ..at });
        };
        let columns = &self.fill.columns;
        let together = columns[shown].each == columns[at.column].each;
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
        let mut columns = self.fill.columns.iter();
        columns.position(|column| column.value == value)
    }

    fn random(&self, column: usize) -> u64 {
        mix_in(self.state, column as u64)
    }
}

impl Ranges {
    /// Returns the least and the greatest number that a column of this type can hold.
    fn of(self, type_: ColumnType) -> (i64, i64) {
        match type_ {
            ColumnType::Int4 => (i32::MIN.into(), i32::MAX.into()),
            ColumnType::Int8 | ColumnType::Text => (i64::MIN, i64::MAX),
            // Whole numbers that a float holds exactly, so that a hundredth of one is the nearest float.
            ColumnType::Float4 => (-(1 << 24), 1 << 24),
            ColumnType::Timestamp => self.timestamp_s,
        }
    }
}

/// A number as a function of the row.
#[derive(Debug, Clone)]
pub(super) struct Number {
    kind: NumberKind,
    plus: i64,
}

#[derive(Debug, Clone)]
enum NumberKind {
    /// Random state of the column, low, high.
    Uniform(u64, i64, i64),
    /// Random state of the column, and what is drawn from.
    Skewed(u64, Box<Skewed>),
    /// Another number, permuted.
    Permuted(Box<(Number, Permutation)>),
    /// Two others, added.
    Sum(Box<(Number, Number)>),
    Computed(Box<Computation>),
    Constant(i64),
    /// The number of row 0, and how many numbers there are.
    Row(i64, u64),
}

/// What is computed from others, each by the index of its value.
#[derive(Debug, Clone)]
struct Computation {
    formula: Formula,
    bases: Vec<(usize, Number)>,
}

impl Computation {
    fn of(&self, row: u64) -> i64 {
        self.formula.number(&|value| {
            let mut bases = self.bases.iter();
            let base = bases.find(|(index, _)| *index == value);
            base.map_or(0, |(_, number)| number.of(row))
        })
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
        }
    }
}

impl Number {
    /// Returns the number of a row.
    #[inline]
    pub(super) fn of(&self, row: u64) -> i64 {
        let number = match &self.kind {
            NumberKind::Uniform(state, low, high) => uniform(mix_in(*state, row), *low, *high),
            NumberKind::Skewed(state, skewed) => skewed.number(mix_in(*state, row)),
            NumberKind::Permuted(permuted) => permuted.1.number(permuted.0.of(row)),
            NumberKind::Sum(two) => two.0.of(row).wrapping_add(two.1.of(row)),
            NumberKind::Computed(computation) => computation.of(row),
            NumberKind::Constant(number) => *number,
            NumberKind::Row(first, _) => first.wrapping_add_unsigned(row),
        };
        number.wrapping_add(self.plus)
    }

    /// Returns the least and the greatest number that can come, without the limits of an `i64`.
    fn range(&self) -> (i128, i128) {
        let both = |range: Bounds| (range.low.into(), range.high.into());
        let (low, high): (i128, i128) = match &self.kind {
            NumberKind::Uniform(_, low, high) => ((*low).into(), (*high.max(low)).into()),
            NumberKind::Skewed(_, skewed) => both(skewed.range()),
            NumberKind::Permuted(permuted) => both(permuted.1.range()),
            NumberKind::Sum(two) => {
                let (one, other) = (two.0.range(), two.1.range());
                (one.0 + other.0, one.1 + other.1)
            }
            NumberKind::Computed(computation) => both(computation.formula.range()),
            NumberKind::Constant(number) => ((*number).into(), (*number).into()),
            NumberKind::Row(first, rows) => {
                let first = i128::from(*first);
                (first, first + i128::from(*rows) - 1)
            }
        };
        (low + i128::from(self.plus), high + i128::from(self.plus))
    }
}

/// Appends a number as a text in a format; as its column is a text, a time is its seconds.
#[inline]
pub(super) fn write_digits(out: &mut Vec<u8>, number: i64, format: Format) {
    match format {
        Format::Integer | Format::Text | Format::Timestamp => write_integer(out, number),
        Format::Decimal2 => {
            write_integer(out, number);
            out.extend_from_slice(b".00");
        }
        Format::Hundredths => write_hundredths(out, number),
    }
}

/// Returns the float nearest to a number in a format; [`Ranges`] has seen to it that it is exact before the division.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "at most 2^24")]
pub(super) fn float4(number: i64, format: Format) -> f32 {
    match format {
        Format::Hundredths => number as f32 / 100.0,
        _ => number as f32,
    }
}

#[cfg(test)]
pub(super) mod tests;
