//! Writes rows in COPY's binary form (PostgreSQL documentation, COPY, "Binary Format").

use super::row::{ColumnKind, Ranges, Rows, float4, float8, write_digits};
use crate::value::{mix_in, write_pattern};

/// Seconds from 1970 to 2000, where PostgreSQL's timestamps begin.
const EPOCH_2000_S: i64 = 946_684_800;

/// Days from 1970 to 2000, where PostgreSQL's dates begin.
const EPOCH_2000_DAYS: i64 = EPOCH_2000_S / 86_400;

/// The length of a field that is NULL.
const NULL: [u8; 4] = (-1_i32).to_be_bytes();

/// What one digit of a numeric counts up to.
const NUMERIC_BASE: u64 = 10_000;

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
        if column.is_null(row) {
            out.extend_from_slice(&NULL);
            continue;
        }
        match &column.kind {
            ColumnKind::Int2(number) => {
                out.extend_from_slice(&[0, 0, 0, 2]);
                // The low quarter is the number itself: its range was checked.
                out.extend_from_slice(&number.of(row).to_be_bytes()[6..]);
            }
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
            ColumnKind::Float8(number, format) => {
                out.extend_from_slice(&[0, 0, 0, 8]);
                out.extend_from_slice(&float8(number.of(row), *format).to_be_bytes());
            }
            ColumnKind::Numeric(number, scale) => write_numeric(out, number.of(row), *scale),
            ColumnKind::Date(number) => {
                out.extend_from_slice(&[0, 0, 0, 4]);
                let days = number.of(row) - EPOCH_2000_DAYS;
                out.extend_from_slice(&days.to_be_bytes()[4..]);
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
                    for part in parts {
                        part.write(out, row);
                    }
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

/// Appends a decimal number, so many units of the last of `scale` decimals, in the form of `numeric_send`
/// (`src/backend/utils/adt/numeric.c`): how many digits of base 10,000, the power of the first, the sign, the decimals
/// that are shown, the digits without zeros at both ends.
fn write_numeric(out: &mut Vec<u8>, number: i64, scale: u32) {
    let one = 10_u64.pow(scale);
    let (mut whole, part) = (number.unsigned_abs() / one, number.unsigned_abs() % one);
    let groups = scale.div_ceil(4);
    let mut part = u128::from(part) * 10_u128.pow(groups * 4 - scale);
    // Five digits hold 64 bits, five more 18 decimals.
    let mut digits = [0_u16; 10];
    for digit in digits[5..5 + groups as usize].iter_mut().rev() {
        *digit = u16::try_from(part % u128::from(NUMERIC_BASE)).unwrap_or_default();
        part /= u128::from(NUMERIC_BASE);
    }
    for digit in digits[..5].iter_mut().rev() {
        *digit = u16::try_from(whole % NUMERIC_BASE).unwrap_or_default();
        whole /= NUMERIC_BASE;
    }
    let first = digits.iter().position(|digit| *digit != 0);
    let last = digits.iter().rposition(|digit| *digit != 0);
    let kept = match (first, last) {
        (Some(first), Some(last)) => first..last + 1,
        _ => 0..0,
    };
    let weight = match i16::try_from(kept.start) {
        Ok(start) if !kept.is_empty() => 4 - start,
        _ => 0,
    };
    let short = |number: usize| u16::try_from(number).unwrap_or_default().to_be_bytes();
    let sign: u16 = if number < 0 { 0x4000 } else { 0 };
    field(out, |out| {
        out.extend_from_slice(&short(kept.len()));
        out.extend_from_slice(&weight.to_be_bytes());
        out.extend_from_slice(&sign.to_be_bytes());
        out.extend_from_slice(&short(scale as usize));
        for digit in &digits[kept.clone()] {
            out.extend_from_slice(&digit.to_be_bytes());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_is_written_as_postgresql_sends_it() {
        // By `SELECT encode(numeric_send(-10.00), 'hex')`.
        for (number, scale, hex) in [
            (0, 0, "0000000000000000"),
            (0, 2, "0000000000000002"),
            (1, 0, "00010000000000000001"),
            (-1000, 2, "0001000040000002000a"),
            (1_234_567, 2, "0003000100000002000109291a2c"),
            (5, 4, "0001ffff000000040005"),
            (1999, 4, "0001ffff0000000407cf"),
            (10_000, 0, "00010001000000000001"),
            (50_000, 2, "000100000000000201f4"),
        ] {
            let mut out = Vec::new();
            write_numeric(&mut out, number, scale);
            let bytes = hex.as_bytes().chunks(2).map(|pair| {
                let pair = str::from_utf8(pair).expect("ASCII");
                u8::from_str_radix(pair, 16).expect("hexadecimal")
            });
            let expected: Vec<u8> = bytes.collect();
            assert_eq!(out[4..], expected, "{number} of {scale}");
        }
    }
}
