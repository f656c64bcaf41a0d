//! In which form columns hold numbers, and which ones they can hold.

use crate::job::{ColumnType, Format};
use crate::text::{write_hundredths, write_integer};

/// The seconds of a day.
pub(in crate::fill) const DAY_S: i64 = 86_400;

/// What a server's columns can hold, where servers differ in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fill) struct Ranges {
    /// Times in seconds from 1970.
    pub(in crate::fill) timestamp_s: (i64, i64),
}

impl Ranges {
    /// Returns the least and the greatest number that a column of this type can hold.
    pub(super) fn of(self, type_: ColumnType) -> (i64, i64) {
        match type_ {
            ColumnType::Int2 => (i16::MIN.into(), i16::MAX.into()),
            ColumnType::Int4 => (i32::MIN.into(), i32::MAX.into()),
            ColumnType::Int8 | ColumnType::Numeric | ColumnType::Text => (i64::MIN, i64::MAX),
            // Whole numbers that a float holds exactly, so that a hundredth of one is the nearest float.
            ColumnType::Float4 => (-(1 << 24), 1 << 24),
            ColumnType::Float8 => (-(1 << 53), 1 << 53),
            ColumnType::Timestamp => self.timestamp_s,
            ColumnType::Date => (
                self.timestamp_s.0.div_euclid(DAY_S),
                self.timestamp_s.1.div_euclid(DAY_S),
            ),
        }
    }
}

/// Appends a number as a text in a format; as its column is a text, a time is its seconds.
#[inline]
pub(in crate::fill) fn write_digits(out: &mut Vec<u8>, number: i64, format: Format) {
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
pub(in crate::fill) fn float4(number: i64, format: Format) -> f32 {
    match format {
        Format::Hundredths => number as f32 / 100.0,
        _ => number as f32,
    }
}

/// Returns the double nearest to a number in a format; [`Ranges`] has seen to it that it is exact before the division.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
pub(in crate::fill) fn float8(number: i64, format: Format) -> f64 {
    match format {
        Format::Hundredths => number as f64 / 100.0,
        _ => number as f64,
    }
}
