//! Writes rows in COPY's binary form (PostgreSQL documentation, COPY, "Binary Format").

use super::row::{ColumnKind, Ranges, Rows, float4, write_digits};
use crate::value::{mix_in, write_pattern};

/// Seconds from 1970 to 2000, where PostgreSQL's timestamps begin.
const EPOCH_2000_S: i64 = 946_684_800;

/// What PostgreSQL's columns can hold: times from 4713 BC to 294276 AD.
pub(super) const RANGES: Ranges = Ranges {
    timestamp_s: (-210_866_803_200, 9_224_318_015_999),
};

/// Appends what COPY data begin with: signature, flags, no extension.
pub(super) fn write_header(out: &mut Vec<u8>) {
    out.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
}

/// Appends what COPY data end with.
pub(super) fn write_trailer(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xff, 0xff]);
}

/// Appends the row of that number, counted from 0.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, rows: &Rows, row: u64) {
    out.extend_from_slice(&rows.count.to_be_bytes());
    for column in &rows.columns {
        let row = column.row(row);
        match &column.kind {
            ColumnKind::Int4(number) => {
                out.extend_from_slice(&[0, 0, 0, 4]);
                // The low half is the number itself: its range was checked.
                out.extend_from_slice(&number.of(row).to_be_bytes()[4..]);
            }
            ColumnKind::Int8(number) => write_8(out, number.of(row)),
            ColumnKind::Float4(number, format) => {
                out.extend_from_slice(&[0, 0, 0, 4]);
                out.extend_from_slice(&float4(number.of(row), *format).to_be_bytes());
            }
            ColumnKind::Timestamp(number) => {
                write_8(out, (number.of(row) - EPOCH_2000_S) * 1_000_000);
            }
            ColumnKind::Digits(number, format) => {
                field(out, |out| write_digits(out, number.of(row), *format));
            }
            ColumnKind::Text(state, shape) => {
                field(out, |out| shape.write(out, mix_in(*state, row)));
            }
            ColumnKind::Pattern(state, pattern) => {
                field(out, |out| write_pattern(out, pattern, mix_in(*state, row)));
            }
            ColumnKind::Join(parts) => {
                field(out, |out| {
                    parts.iter().for_each(|part| part.write(out, row))
                });
            }
        }
    }
}

#[inline]
fn write_8(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&[0, 0, 0, 8]);
    out.extend_from_slice(&number.to_be_bytes());
}

/// Appends what `write` writes, with its length in front.
#[inline]
fn field(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    crate::wire::postgres::parameter(out, write);
}
