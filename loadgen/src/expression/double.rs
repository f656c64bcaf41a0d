//! Reads a double as C's `strtod` does, which pgbench asks: hexadecimal and infinite ones, too, and what is no number.

/// Returns the number that a text without a sign is; none where it is none, or too large or small for a double.
pub(super) fn read(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return hexadecimal(digits);
    }
    if lower == "inf" || lower == "infinity" {
        return Some(f64::INFINITY);
    }
    if let Some(rest) = lower.strip_prefix("nan") {
        let tag = rest
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'));
        let is_tag = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_nan = rest.is_empty() || tag.is_some_and(|tag| tag.bytes().all(is_tag));
        return is_nan.then_some(f64::NAN);
    }
    // Anything else is a second sign, or a word that Rust alone knows.
    if !lower.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let number: f64 = lower.parse().ok()?;
    let mut digits = lower.bytes().take_while(|byte| *byte != b'e');
    (number.is_normal() || digits.all(|byte| !matches!(byte, b'1'..=b'9'))).then_some(number)
}

/// Returns the number of hexadecimal digits, which may have a point and a power of two.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once('p').unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let mut number = 0_u64;
    let mut exponent: i32 = power.parse().ok()?;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        let fits = number >> 56 == 0;
        if fits {
            number = number << 4 | digit;
        } else {
            // More than a double keeps: the last bit says whether there is anything.
            number |= u64::from(digit != 0);
        }
        exponent = match (fits, index < whole.len()) {
            (true, false) => exponent.checked_sub(4)?,
            (false, true) => exponent.checked_add(4)?,
            _ => exponent,
        };
    }
    // In two steps, as the power alone may be beyond those of a double.
    let half = exponent / 2;
    let value = number as f64 * 2_f64.powi(half) * 2_f64.powi(exponent - half);
    (number == 0 || value.is_normal()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        for (text, number) in [
            ("1.5", 1.5),
            (".5e1", 5.0),
            ("1.", 1.0),
            ("0e-999", 0.0),
            ("0x10", 16.0),
            ("0X.8P+4", 8.0),
            ("0x1p-1022", f64::MIN_POSITIVE),
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x1000000000000080000", 2_f64.powi(72)),
            ("0x10000000000000800000", 2_f64.powi(76)),
            ("0x10000000000000800001", 2_f64.powi(76) + 2_f64.powi(24)),
            ("Infinity", f64::INFINITY),
            ("inf", f64::INFINITY),
        ] {
            assert_eq!(read(text), Some(number), "{text}");
        }
        for text in ["nan", "NaN(x_1)"] {
            assert!(read(text).is_some_and(f64::is_nan), "{text}");
        }
    }

    #[test]
    fn what_is_none_or_does_not_fit_is_refused() {
        for text in [
            "",
            ".",
            "e5",
            "1e",
            "1 ",
            "--1",
            "infinit",
            "nan(",
            "nan(-)",
            "0x",
            "0x.",
            "0xp1",
            "0x1p",
            "0x1g",
            "0x1p1024",
            "0x1p-1080",
            "1e309",
            ".1e310",
            "1e-400",
            "4e-320",
            "1_000",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
