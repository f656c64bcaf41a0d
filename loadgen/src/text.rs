//! Numbers, times and texts as bytes, appended to a buffer without a formatter.

use std::fmt::Write;

const SECONDS_PER_DAY: i64 = 86_400;
const DIGITS: &[u8; 10] = b"0123456789";

/// Appends an integer in decimal digits.
#[inline]
pub fn write_integer(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends so many hundredths as a number with two decimals: 12345 as `123.45`.
#[inline]
pub fn write_hundredths(out: &mut Vec<u8>, hundredths: i64) {
    if hundredths < 0 {
        out.push(b'-');
    }
    let hundredths = hundredths.unsigned_abs();
    out.extend_from_slice(itoa::Buffer::new().format(hundredths / 100).as_bytes());
    let digit = |number: u64| b'0' + u8::try_from(number % 10).unwrap_or(0);
    out.extend_from_slice(&[b'.', digit(hundredths / 10), digit(hundredths)]);
}

/// Appends so many units of the last of `scale` decimals: 12345 of 4 as `1.2345`.
#[inline]
pub fn write_scaled(out: &mut Vec<u8>, number: i64, scale: u32) {
    if number < 0 {
        out.push(b'-');
    }
    let (number, one) = (number.unsigned_abs(), 10_u64.pow(scale));
    out.extend_from_slice(itoa::Buffer::new().format(number / one).as_bytes());
    if scale == 0 {
        return;
    }
    out.push(b'.');
    let mut place = one / 10;
    while place > 0 {
        out.push(b'0' + u8::try_from(number / place % 10).unwrap_or(0));
        place /= 10;
    }
}

/// The significant digits of a double: as many as every double of so many keeps (C's `DBL_DIG`).
const DOUBLE_DIGITS: usize = 15;

/// Room for a double in scientific notation: sign, digits, point, `e`, and an exponent of three digits with its sign.
const DOUBLE_BYTES_MAX: usize = DOUBLE_DIGITS + 8;

/// Bytes on the stack that a formatter writes to.
struct Stack {
    bytes: [u8; DOUBLE_BYTES_MAX],
    length: usize,
}

impl Write for Stack {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let room = self
            .bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Appends a double with 15 significant digits as C's `%.15g` writes it: without zeros at its end, and with an exponent
/// where that is below -4 or above 14; and what is no number as PostgreSQL's programs write it. The digits come from a formatter, which asks for no memory.
pub fn write_double(out: &mut Vec<u8>, number: f64) {
    if !number.is_finite() {
        let infinite: &[u8] = if number < 0.0 {
            b"-Infinity"
        } else {
            b"Infinity"
        };
        out.extend_from_slice(if number.is_nan() { b"NaN" } else { infinite });
        return;
    }
    let mut text = Stack {
        bytes: [0; DOUBLE_BYTES_MAX],
        length: 0,
    };
    // A number has room: the digits are as many as are asked for.
    let _ = write!(text, "{number:.*e}", DOUBLE_DIGITS - 1);
    let text = &text.bytes[..text.length];
    let (sign, text) = match text {
        [b'-', rest @ ..] => (&b"-"[..], rest),
        rest => (&b""[..], rest),
    };
    let mark = text
        .iter()
        .position(|byte| *byte == b'e')
        .unwrap_or(text.len());
    let exponent = str::from_utf8(&text[mark..]).map_or("", |exponent| &exponent[1..]);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // One digit, a point, the others.
    let mut digits = [0; DOUBLE_DIGITS];
    digits[0] = text[0];
    digits[1..].copy_from_slice(&text[2..mark]);
    let used = digits
        .iter()
        .rposition(|digit| *digit != b'0')
        .map_or(1, |last| last + 1);
    out.extend_from_slice(sign);
    write_digits(out, &digits[..used], exponent);
}

/// Appends the significant digits of a number whose first stands for so many powers of ten.
fn write_digits(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    let (first, rest) = digits.split_at(1);
    match usize::try_from(exponent) {
        Ok(whole) if whole < DOUBLE_DIGITS => {
            let whole = whole + 1;
            out.extend_from_slice(&digits[..whole.min(digits.len())]);
            out.resize(out.len() + whole.saturating_sub(digits.len()), b'0');
            if digits.len() > whole {
                out.push(b'.');
                out.extend_from_slice(&digits[whole..]);
            }
        }
        Err(_) if exponent >= -4 => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + exponent.unsigned_abs() as usize - 1, b'0');
            out.extend_from_slice(digits);
        }
        _ => {
            out.extend_from_slice(first);
            if !rest.is_empty() {
                out.push(b'.');
                out.extend_from_slice(rest);
            }
            out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
            if exponent.unsigned_abs() < 10 {
                out.push(b'0');
            }
            write_integer(out, i64::from(exponent.unsigned_abs()));
        }
    }
}

/// Year, then month, day, hour, minute and second of a time that counts seconds since 1970-01-01 00:00:00.
#[inline]
#[must_use]
pub fn date_time(seconds: i64) -> (i64, [u8; 5]) {
    let (year, month, day) = civil(seconds.div_euclid(SECONDS_PER_DAY));
    let second = seconds.rem_euclid(SECONDS_PER_DAY);
    let parts = [month, day, second / 3600, second / 60 % 60, second % 60];
    (year, parts.map(|part| u8::try_from(part).unwrap_or(0)))
}

/// Appends `YYYY-MM-DD HH:MM:SS` of a time that counts seconds since 1970-01-01 00:00:00.
#[inline]
pub fn write_timestamp(out: &mut Vec<u8>, seconds: i64) {
    let (year, month, day) = civil(seconds.div_euclid(SECONDS_PER_DAY));
    let second = seconds.rem_euclid(SECONDS_PER_DAY);
    let mut text = *b"0000-00-00 00:00:00";
    let four_digits = (0..10_000).contains(&year);
    let begin = if four_digits {
        write_two(&mut text, 0, year / 100);
        write_two(&mut text, 2, year % 100);
        0
    } else {
        write_integer(out, year);
        4
    };
    let parts = [month, day, second / 3600, second / 60 % 60, second % 60];
    for (part, at) in parts.into_iter().zip([5, 8, 11, 14, 17]) {
        write_two(&mut text, at, part);
    }
    out.extend_from_slice(&text[begin..]);
}

/// Writes a number below 100 as two digits.
#[inline]
fn write_two(text: &mut [u8; 19], at: usize, number: i64) {
    let number = usize::try_from(number).unwrap_or_default();
    text[at] = DIGITS[number / 10 % 10];
    text[at + 1] = DIGITS[number % 10];
}

/// Year, month and day of a day counted from 1970-01-01.
///
/// "days to civil" of Howard Hinnant, "chrono-compatible low-level date algorithms" (2014): eras of 400 years that begin on 1 March.
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_month)
}

/// Appends what `write` appends in single quotes, with the special characters in it doubled.
#[inline]
pub fn write_quoted(out: &mut Vec<u8>, special: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'\'');
    let start = out.len();
    write(out);
    if out[start..].iter().any(|byte| special.contains(byte)) {
        double(out, start, special);
    }
    out.push(b'\'');
}

#[cold]
fn double(out: &mut Vec<u8>, start: usize, special: &[u8]) {
    let mut at = start;
    while at < out.len() {
        if special.contains(&out[at]) {
            out.insert(at, out[at]);
            at += 1;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timestamp(seconds: i64) -> String {
        let mut out = Vec::new();
        write_timestamp(&mut out, seconds);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn timestamps_are_right_at_the_turns_of_the_calendar() {
        assert_eq!(timestamp(0), "1970-01-01 00:00:00");
        assert_eq!(timestamp(951_782_399), "2000-02-28 23:59:59");
        assert_eq!(timestamp(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(timestamp(4_107_542_400), "2100-03-01 00:00:00");
        assert_eq!(timestamp(-1), "1969-12-31 23:59:59");
        assert_eq!(timestamp(253_402_300_800), "10000-01-01 00:00:00");
    }

    #[test]
    fn hundredths_have_two_decimals_of_any_size_and_sign() {
        for (hundredths, expected) in [
            (0, "0.00"),
            (7, "0.07"),
            (-7, "-0.07"),
            (40, "0.40"),
            (12_345, "123.45"),
            (-100_000, "-1000.00"),
            (i64::MIN, "-92233720368547758.08"),
        ] {
            let mut out = b"x".to_vec();
            write_hundredths(&mut out, hundredths);
            assert_eq!(String::from_utf8_lossy(&out[1..]), expected);
        }
    }

    #[test]
    fn units_of_the_last_decimal_keep_their_zeros() {
        for (number, scale, expected) in [
            (0, 0, "0"),
            (-7, 0, "-7"),
            (0, 4, "0.0000"),
            (12_345, 4, "1.2345"),
            (-50, 4, "-0.0050"),
            (i64::MIN, 18, "-9.223372036854775808"),
        ] {
            let mut out = b"x".to_vec();
            write_scaled(&mut out, number, scale);
            assert_eq!(String::from_utf8_lossy(&out[1..]), expected);
        }
    }

    #[test]
    fn quotes_in_a_text_are_doubled() {
        let mut out = b"x".to_vec();
        write_quoted(&mut out, b"'", |out| out.extend_from_slice(b"it's \\'"));
        assert_eq!(out, b"x'it''s \\'''");
        out.clear();
        write_quoted(&mut out, b"'\\", |out| {
            out.extend_from_slice(b"it's \\'");
        });
        assert_eq!(out, b"'it''s \\\\'''");
    }

    #[test]
    fn doubles_are_written_as_c_writes_them_with_fifteen_digits() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (-100.0, "-100"),
            (0.1 + 0.2, "0.3"),
            (std::f64::consts::PI, "3.14159265358979"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (123_456_789_012_345_678.0, "1.23456789012346e+17"),
            (999_999_999_999_999.9, "1e+15"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (5e-324, "4.94065645841247e-324"),
            (f64::MAX, "1.79769313486232e+308"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
            (-f64::NAN, "NaN"),
        ] {
            let mut out = Vec::new();
            write_double(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    proptest! {
        #[test]
        fn a_double_of_fifteen_digits_reads_as_it_was(digits in -999_999_999_999_999_i64..=999_999_999_999_999, exponent in -300..280) {
            let number: f64 = format!("{digits}e{exponent}").parse().unwrap();
            let mut out = Vec::new();
            write_double(&mut out, number);
            let again: f64 = String::from_utf8(out).unwrap().parse().unwrap();
            prop_assert_eq!(again.to_bits(), number.to_bits());
        }

        #[test]
        fn integers_read_as_they_are(number: i64) {
            let mut out = Vec::new();
            write_integer(&mut out, number);
            prop_assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}
