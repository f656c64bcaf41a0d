//! Writes rows as the lines that LOAD DATA reads: a tab between values, `\\` before what would be read otherwise.
//!
//! (MySQL documentation, "LOAD DATA Statement", "Field and Line Handling".)

use super::row::{ColumnKind, DAY_S, Ranges, Rows, write_digits};
use crate::text::{write_integer, write_scaled, write_timestamp};
use crate::value::{mix_in, write_pattern};

/// What MySQL's columns can hold: times from 1000-01-01 to 9999-12-31, without a fraction.
pub(super) const RANGES: Ranges = Ranges {
    timestamp_s: (-30_610_224_000, 253_402_300_799),
};

/// What stands for NULL, between tabs.
const NULL: &[u8] = b"\\N";

/// The length of a time of day behind a date, with its space.
const TIME_BYTES: usize = " 00:00:00".len();

/// The statement that asks for the lines of some columns of a table. The bytes that cut them are written as numbers, as
/// a `sql_mode` may take the meaning from a backslash in a text. Lines are UTF-8, whatever the table holds.
pub(super) fn statement(table: &str, columns: &str) -> String {
    format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS TERMINATED BY X'09' \
         ESCAPED BY X'5C' LINES TERMINATED BY X'0A' ({columns})"
    )
}

/// Appends the row of that number, counted from 0.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, rows: &Rows, row: u64) {
    for column in &rows.columns {
        let row = column.row(row);
        match &column.kind {
            _ if column.is_null(row) => out.extend_from_slice(NULL),
            ColumnKind::Int2(number) | ColumnKind::Int4(number) | ColumnKind::Int8(number) => {
                write_integer(out, number.of(row));
            }
            ColumnKind::Numeric(number, scale) => write_scaled(out, number.of(row), *scale),
            ColumnKind::Date(number) => {
                write_timestamp(out, number.of(row) * DAY_S);
                out.truncate(out.len() - TIME_BYTES);
            }
            ColumnKind::Timestamp(number) => write_timestamp(out, number.of(row)),
            ColumnKind::Float4(number, format)
            | ColumnKind::Float8(number, format)
            | ColumnKind::Digits(number, format) => {
                write_digits(out, number.of(row), *format);
            }
            ColumnKind::Text(state, shape) => {
                escaped(out, |out| shape.write(out, mix_in(*state, row)));
            }
            ColumnKind::Pattern(state, pattern) => {
                escaped(out, |out| write_pattern(out, pattern, mix_in(*state, row)));
            }
            ColumnKind::Join(parts) => {
                escaped(out, |out| {
                    for part in parts {
                        part.write(out, row);
                    }
                });
            }
        }
        out.push(b'\t');
    }
    // The last value ends the line.
    if let Some(last) = out.last_mut() {
        *last = b'\n';
    }
}

/// Appends what `write` writes, so that LOAD DATA reads it as it is.
#[inline]
fn escaped(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    write(out);
    if out[start..].iter().any(|byte| escape(*byte).is_some()) {
        escape_from(out, start);
    }
}

/// What stands behind the backslash for a byte that cannot stand for itself.
#[inline]
fn escape(byte: u8) -> Option<u8> {
    match byte {
        b'\t' => Some(b't'),
        b'\n' => Some(b'n'),
        b'\\' => Some(b'\\'),
        _ => None,
    }
}

#[cold]
fn escape_from(out: &mut Vec<u8>, start: usize) {
    let text = out.split_off(start);
    for byte in text {
        match escape(byte) {
            Some(letter) => out.extend_from_slice(&[b'\\', letter]),
            None => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::{fill, value};
    use super::*;
    use crate::job::{ColumnType, Fill, Format, Maker, Value};

    fn line(fill: &Fill, values: &[Value], row: u64) -> String {
        let rows = Rows::new(fill, values, 1, "t1", RANGES).expect("valid");
        let mut out = b"before\n".to_vec();
        write(&mut out, &rows, row);
        String::from_utf8(out.split_off(7)).expect("UTF-8")
    }

    #[test]
    fn values_are_written_between_tabs_in_the_form_of_their_column() {
        let mut cents = value("price", Maker::Constant(7));
        cents.format = Format::Decimal2;
        let values = [
            value("id", Maker::Row(1)),
            value("least", Maker::Constant(i64::MIN)),
            cents,
            value("when", Maker::Constant(951_782_399)),
            Value {
                format: Format::Hundredths,
                ..value("part", Maker::Constant(-5))
            },
        ];
        let types = [
            (ColumnType::Int4, 0),
            (ColumnType::Int8, 1),
            (ColumnType::Text, 0),
            (ColumnType::Text, 2),
            (ColumnType::Timestamp, 3),
            (ColumnType::Float4, 4),
            (ColumnType::Float4, 0),
        ];
        assert_eq!(
            line(&fill(&types), &values, 9),
            "10\t-9223372036854775808\t10\t7.00\t2000-02-28 23:59:59\t-0.05\t10\n"
        );
    }

    #[test]
    fn what_cuts_lines_and_values_is_escaped() {
        let pattern = "a\tb\nc\\N 'é'";
        let values = [value("c", Maker::Pattern(pattern.to_owned()))];
        let text = ColumnType::Text;
        assert_eq!(
            line(&fill(&[(text, 0), (text, 0)]), &values, 0),
            "a\\tb\\nc\\\\N 'é'\ta\\tb\\nc\\\\N 'é'\n"
        );
    }

    #[test]
    fn a_time_that_mysql_has_not_is_refused() {
        for (seconds, holds) in [
            (-30_610_224_000, true),
            (-30_610_224_001, false),
            (253_402_300_799, true),
            (253_402_300_800, false),
        ] {
            let values = [value("when", Maker::Constant(seconds))];
            let fill = fill(&[(ColumnType::Timestamp, 0)]);
            let made = Rows::new(&fill, &values, 1, "t1", RANGES);
            assert_eq!(made.is_ok(), holds, "{seconds}");
        }
        let values = [value("when", Maker::Constant(-30_610_224_000))];
        let first = line(&fill(&[(ColumnType::Timestamp, 0)]), &values, 0);
        assert_eq!(first, "1000-01-01 00:00:00\n");
    }
}
