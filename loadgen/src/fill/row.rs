//! Writes one row in COPY's binary form (PostgreSQL documentation, COPY, "Binary Format").

use super::number::{Number, NumberKind};
use crate::job::{Bound, ColumnType, Fill, Format, Maker, Value};
use crate::value::{Permutation, Skewed, TextShape, mix, mix_in, name_part, write_pattern};

/// Seconds from 1970 to 2000, where PostgreSQL's timestamps begin.
const EPOCH_2000_S: i64 = 946_684_800;
/// The range of PostgreSQL's timestamps in seconds from 1970 (4713 BC to 294276 AD).
const TIMESTAMP_S: (i64, i64) = (-210_866_803_200, 9_224_318_015_999);

/// How a table's rows are made; checked when it is built, so that no row can fail.
#[derive(Debug)]
pub(super) struct RowWriter<'a> {
    field_count: [u8; 2],
    columns: Vec<Column<'a>>,
}

#[derive(Debug)]
struct Column<'a> {
    /// The row's number is divided by this first.
    each: u64,
    kind: ColumnKind<'a>,
}

#[derive(Debug)]
enum ColumnKind<'a> {
    Int4(Number),
    Int8(Number),
    Timestamp(Number),
    /// Digits, and `.00` after them where that is true.
    Digits(Number, bool),
    Text(u64, &'a TextShape),
    Pattern(u64, &'a [u8]),
}

impl<'a> RowWriter<'a> {
    /// The rows of the table of that name.
    ///
    /// # Errors
    /// A column that cannot hold its value, as the rest of a sentence about the table.
    pub(super) fn new(
        fill: &'a Fill,
        values: &'a [Value],
        seed: u64,
        table: &str,
    ) -> Result<Self, String> {
        let count = u16::try_from(fill.columns.len()).map_err(|_| "it has too many columns")?;
        let state = mix(seed, &[name_part("fill"), name_part(table)]);
        let plan = Plan {
            fill,
            values,
            seed,
            state,
        };
        let columns = fill.columns.iter().enumerate().map(|(index, column)| {
            let kind = plan.column(index)?;
            Ok(Column {
                each: column.each,
                kind,
            })
        });
        Ok(Self {
            field_count: count.to_be_bytes(),
            columns: columns.collect::<Result<_, String>>()?,
        })
    }

    /// Appends the row of that number, counted from 0.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>, row: u64) {
        out.extend_from_slice(&self.field_count);
        for column in &self.columns {
            let row = if column.each == 1 {
                row
            } else {
                row / column.each
            };
            match &column.kind {
                ColumnKind::Int4(number) => {
                    out.extend_from_slice(&[0, 0, 0, 4]);
                    // The low half is the number itself: its range was checked.
                    out.extend_from_slice(&number.of(row).to_be_bytes()[4..]);
                }
                ColumnKind::Int8(number) => write_8(out, number.of(row)),
                ColumnKind::Timestamp(number) => {
                    write_8(out, (number.of(row) - EPOCH_2000_S) * 1_000_000);
                }
                ColumnKind::Digits(number, decimals) => {
                    field(out, |out| write_digits(out, number.of(row), *decimals));
                }
                ColumnKind::Text(state, shape) => {
                    field(out, |out| shape.write(out, mix_in(*state, row)));
                }
                ColumnKind::Pattern(state, pattern) => {
                    field(out, |out| write_pattern(out, pattern, mix_in(*state, row)));
                }
            }
        }
    }
}

/// What columns are made from, while the writer is built.
struct Plan<'a> {
    fill: &'a Fill,
    values: &'a [Value],
    seed: u64,
    state: u64,
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
        let number = || self.number(column.value, index, values.len());
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
            (_, Maker::Text(_) | Maker::Pattern(_)) => refuse("a text needs the type `text`"),
            (type_, _) => {
                let Some(number) = number() else {
                    return refuse(
                        "a fill has no cursor, clock or sequence, and sums of at most 64 bits whose \
                         columns change together",
                    );
                };
                let (low, high) = range(type_);
                let (least, greatest) = number.range();
                if least < low.into() || greatest > high.into() {
                    return refuse(&format!(
                        "it runs from {least} to {greatest}, the type from {low} to {high}"
                    ));
                }
                Ok(match type_ {
                    ColumnType::Int4 => ColumnKind::Int4(number),
                    ColumnType::Int8 => ColumnKind::Int8(number),
                    ColumnType::Timestamp => ColumnKind::Timestamp(number),
                    ColumnType::Text => {
                        ColumnKind::Digits(number, value.format == Format::Decimal2)
                    }
                })
            }
        }
    }

    /// The number that a value stands for in a column; `None` where it is none, or not a pure one.
    /// A value that another is computed from is the one of the column that shows it, if there is one.
    fn number(&self, value: usize, column: usize, depth_max: usize) -> Option<Number> {
        let base = |base: usize| {
            let mut columns = self.fill.columns.iter();
            let shown = columns.position(|column| column.value == base);
            let shown = shown.unwrap_or(column);
            if self.fill.columns[shown].each != self.fill.columns[column].each {
                return None;
            }
            self.number(base, shown, depth_max.checked_sub(1)?)
        };
        let kind = match &self.values.get(value)?.maker {
            Maker::Uniform(Bound::Integer(low), Bound::Integer(high)) => {
                NumberKind::Uniform(self.random(column), *low, *high)
            }
            Maker::Skewed(distribution) => NumberKind::Skewed(
                self.random(column),
                Box::new(Skewed::new(distribution, self.seed)),
            ),
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
            Maker::Uniform(..)
            | Maker::Sequence(_)
            | Maker::Item(_)
            | Maker::Client(_)
            | Maker::Sum { .. }
            | Maker::Clock
            | Maker::Text(_)
            | Maker::Pattern(_) => return None,
        };
        Some(Number { kind, plus: 0 })
    }

    fn random(&self, column: usize) -> u64 {
        mix_in(self.state, column as u64)
    }
}

/// The least and the greatest number that a column of this type can hold.
fn range(type_: ColumnType) -> (i64, i64) {
    match type_ {
        ColumnType::Int4 => (i32::MIN.into(), i32::MAX.into()),
        ColumnType::Int8 | ColumnType::Text => (i64::MIN, i64::MAX),
        ColumnType::Timestamp => TIMESTAMP_S,
    }
}

/// What COPY data begin with: signature, flags, no extension.
pub(super) fn write_header(out: &mut Vec<u8>) {
    out.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
}

/// What COPY data end with.
pub(super) fn write_trailer(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xff, 0xff]);
}

#[inline]
fn write_8(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&[0, 0, 0, 8]);
    out.extend_from_slice(&number.to_be_bytes());
}

/// Appends what `write` writes, with its length in front.
#[inline]
fn field(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    crate::session::postgres::encode::parameter(out, write);
}

/// Appends a number in decimal digits without going through a formatter.
fn write_digits(out: &mut Vec<u8>, number: i64, decimals: bool) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        first -= 1;
        digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[first..]);
    if decimals {
        out.extend_from_slice(b".00");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{FillColumn, Permuted, Scope};
    use crate::value::Distribution;
    use crate::value::zipf::Zipf;
    use std::collections::BTreeSet;

    fn value(name: &str, maker: Maker) -> Value {
        Value {
            name: name.to_owned(),
            per: Scope::Item,
            format: Format::Integer,
            maker,
        }
    }

    fn fill(columns: &[(ColumnType, usize)]) -> Fill {
        let column = |(index, &(type_, value)): (usize, &(ColumnType, usize))| FillColumn {
            name: format!("c{index}"),
            type_,
            value,
            each: 1,
        };
        let columns = columns.iter().enumerate().map(column).collect();
        Fill {
            table: "t".to_owned(),
            streams: 1,
            rows: 1000,
            columns,
            after: Vec::new(),
        }
    }

    /// The fields of a row on the wire.
    fn fields(fill: &Fill, values: &[Value], row: u64) -> Vec<Vec<u8>> {
        let writer = RowWriter::new(fill, values, 1, "t1").expect("valid");
        let mut out = Vec::new();
        writer.write(&mut out, row);
        let (count, mut rest) = out.split_at(2);
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let (length, after) = rest.split_at(4);
            let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
            let (field, after) = after.split_at(length);
            fields.push(field.to_vec());
            rest = after;
        }
        assert_eq!(
            usize::from(u16::from_be_bytes([count[0], count[1]])),
            fields.len()
        );
        fields
    }

    #[test]
    fn numbers_are_written_in_the_form_of_their_column() {
        let mut cents = value("price", Maker::Constant(7));
        cents.format = Format::Decimal2;
        let values = [
            value("id", Maker::Row(1)),
            value("least", Maker::Constant(i64::MIN)),
            cents,
        ];
        let types = [
            (ColumnType::Int4, 0),
            (ColumnType::Int8, 1),
            (ColumnType::Text, 0),
            (ColumnType::Text, 1),
            (ColumnType::Text, 2),
            (ColumnType::Timestamp, 0),
        ];
        let expected: [&[u8]; 6] = [
            &[0, 0, 0, 10],
            &i64::MIN.to_be_bytes(),
            b"10",
            b"-9223372036854775808",
            b"7.00",
            &(-(EPOCH_2000_S - 10) * 1_000_000).to_be_bytes(),
        ];
        assert_eq!(fields(&fill(&types), &values, 9), expected);
    }

    #[test]
    fn columns_of_one_value_differ_and_a_sum_follows_the_column_that_shows_its_base() {
        let uniform = Maker::Uniform(Bound::Integer(0), Bound::Integer(1 << 40));
        let values = [
            value("a", uniform),
            value(
                "sum",
                Maker::Add {
                    value: 0,
                    plus: 100,
                },
            ),
        ];
        let int8 = ColumnType::Int8;
        let fields = fields(&fill(&[(int8, 1), (int8, 0), (int8, 0)]), &values, 5);
        let number = |field: &[u8]| i64::from_be_bytes(field.try_into().expect("eight bytes"));
        assert_eq!(number(&fields[0]), number(&fields[1]) + 100);
        assert_ne!(fields[1], fields[2]);
    }

    #[test]
    fn distributions_and_permutations_of_the_row_fill_columns() {
        let range = (1, 1000).into();
        let zipf = Maker::Skewed(Distribution::Zipf(Zipf {
            range,
            exponent: 1.0,
            scattered: false,
        }));
        let values = [
            value("id", Maker::Row(1)),
            value("key", Maker::Permutation(Permuted { value: 0, range })),
            value("ranked", zipf),
            value("moved", Maker::Permutation(Permuted { value: 2, range })),
        ];
        let int8 = ColumnType::Int8;
        let fill = fill(&[(int8, 1), (int8, 2), (int8, 3)]);
        let permutation = Permutation::new(1, range);
        let mut keys = BTreeSet::new();
        let mut firsts = 0;
        for row in 0..1000 {
            let fields = fields(&fill, &values, row);
            let number = |field: usize| i64::from_be_bytes(fields[field][..].try_into().unwrap());
            assert_eq!(number(0), permutation.number(row.cast_signed() + 1));
            assert_eq!(
                number(2),
                permutation.number(number(1)),
                "of the column that shows it"
            );
            keys.insert(number(0));
            firsts += u32::from(number(1) == 1);
        }
        assert_eq!(keys, (1..=1000).collect(), "each key once");
        // 1 / H(1000) = 13.4 % of the rows, with a standard deviation of 11.
        assert!((100..170).contains(&firsts), "{firsts}");
    }

    #[test]
    fn a_column_that_changes_every_so_many_rows_holds_its_value_between() {
        let mut fill = fill(&[(ColumnType::Int4, 0), (ColumnType::Int4, 1)]);
        for column in &mut fill.columns {
            column.each = 300;
        }
        let uniform = Maker::Uniform(Bound::Integer(0), Bound::Integer(1 << 30));
        // Of 1,000 rows there are 4 numbers: a fifth would not fit.
        let first = i64::from(i32::MAX) - 3;
        let values = [value("row", Maker::Row(first)), value("random", uniform)];
        let rows = [0, 299, 300, 999].map(|row| fields(&fill, &values, row));
        assert_eq!(rows[0], rows[1]);
        assert_ne!(rows[0][1], rows[2][1]);
        let number =
            |row: &[Vec<u8>]| i32::from_be_bytes(row[0].as_slice().try_into().expect("four bytes"));
        let numbers: Vec<_> = rows.iter().map(|row| i32::MAX - number(row)).collect();
        assert_eq!(numbers, [3, 3, 2, 0]);
    }

    #[test]
    fn rows_and_tables_differ_and_a_row_is_the_same_every_time() {
        let fill = fill(&[(ColumnType::Text, 0)]);
        let values = [value("c", Maker::Pattern("###########-@@@@".to_owned()))];
        let row = |seed, table, row| {
            let mut out = Vec::new();
            let writer = RowWriter::new(&fill, &values, seed, table).expect("valid");
            writer.write(&mut out, row);
            out
        };
        assert_eq!(row(1, "t1", 7), row(1, "t1", 7));
        assert_ne!(row(1, "t1", 7), row(1, "t1", 8));
        assert_ne!(row(1, "t1", 7), row(1, "t2", 7));
        assert_ne!(row(1, "t1", 7), row(2, "t1", 7));
    }

    #[test]
    fn a_value_that_its_column_cannot_hold_is_refused_before_the_first_row() {
        let big = Maker::Uniform(Bound::Integer(0), Bound::Integer(1 << 31));
        for (type_, maker, word) in [
            (ColumnType::Int4, big, "2147483648"),
            (
                ColumnType::Int4,
                Maker::Row(i64::from(i32::MAX) - 500),
                "2147484146",
            ),
            (
                ColumnType::Timestamp,
                Maker::Constant(i64::MAX),
                "9223372036854775807",
            ),
            (ColumnType::Int8, Maker::Pattern("#".to_owned()), "`text`"),
            (ColumnType::Int8, Maker::Clock, "no cursor, clock"),
            (ColumnType::Int8, Maker::Add { value: 0, plus: 1 }, "sums"),
        ] {
            let (fill, values) = (fill(&[(type_, 0)]), [value("v", maker)]);
            let refused = RowWriter::new(&fill, &values, 1, "t1").expect_err("refused");
            assert!(
                refused.contains(word) && refused.contains("`c0`"),
                "{refused}"
            );
        }
    }
}
