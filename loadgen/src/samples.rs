//! Files of tuples that values are drawn from: read and checked before a step, and kept in one block of memory each.
//!
//! A line of such a file is `{"weight": 3, "values": [5, null, "O'Brien", true]}`. The values of an operation come from
//! one tuple, so that what belongs together in production stays together. No message quotes a value.

mod sampled;

use crate::job::{CharacterSet, Job, Maker};
use crate::value::uniform;
use sampled::Form;
pub use sampled::{Backslash, Parameter, Sampled};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The largest file that is read: a mistake in a job must not exhaust the memory.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The files of a job, in the order of its `samples`.
#[derive(Debug, Default)]
pub struct Samples(Box<[Tuples]>);

impl Samples {
    /// Reads the files of a valid job.
    ///
    /// # Errors
    /// One sentence with the file, its line, and what is wrong there.
    pub fn read(job: &Job) -> Result<Self, String> {
        let files = job.samples.iter();
        let read = files.map(|(sha256, path)| {
            file(job, sha256, path).map_err(|problem| format!("`{path}`: {problem}"))
        });
        Ok(Self::of(read.collect::<Result<_, _>>()?))
    }

    /// Takes the tuples of files that have been read, in the order of the job's `samples`.
    #[must_use]
    pub fn of(files: Vec<Tuples>) -> Self {
        Self(files.into())
    }

    /// The tuples of a file, by its place in the job.
    #[inline]
    #[must_use]
    pub fn file(&self, index: usize) -> &Tuples {
        &self.0[index]
    }
}

fn file(job: &Job, sha256: &str, path: &str) -> Result<Tuples, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(format!(
            "has {bytes} bytes; at most {FILE_BYTES_MAX}: keep fewer tuples"
        ));
    }
    let content = std::fs::read(path).map_err(unreadable)?;
    if hexadecimal(&Sha256::digest(&content)) != sha256 {
        return Err(
            "is not the file that the job was made for, by its SHA-256; make the job again"
                .to_owned(),
        );
    }
    let tuples = Tuples::parse(&content)?;
    let needed = job.values.iter().filter_map(|value| match &value.maker {
        Maker::Sample(sample) if sample.of == sha256 => Some(sample.column + 1),
        _ => None,
    });
    let (needed, there) = (needed.max().unwrap_or(0), tuples.columns);
    if needed > there {
        return Err(format!(
            "has {there} values in each line, and the job wants number {needed}"
        ));
    }
    let latin1 = job.engine.is_mysql() && job.character_set == CharacterSet::Latin1;
    if latin1 && !tuples.bytes.is_ascii() {
        return Err(
            "has characters beyond ASCII; give the job the `character_set` utf8mb4".to_owned(),
        );
    }
    Ok(tuples)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The tuples of one file.
#[derive(Debug)]
pub struct Tuples {
    /// All values, one behind the other.
    bytes: Box<[u8]>,
    /// Where each value stands: those of a tuple lie together.
    cells: Box<[Cell]>,
    /// How many values a tuple has.
    columns: usize,
    /// For each tuple its weight and those of all before it.
    below: Box<[i64]>,
}

/// Where a value stands, and how it is written.
#[derive(Debug, Clone, Copy)]
struct Cell {
    start: usize,
    length: u32,
    form: Form,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(default = "one")]
    weight: u64,
    #[serde(borrow)]
    values: Vec<&'a RawValue>,
}

fn one() -> u64 {
    1
}

impl Tuples {
    /// Reads the tuples of a file's content.
    ///
    /// # Errors
    /// The line, and what is wrong there.
    pub fn parse(content: &[u8]) -> Result<Self, String> {
        let (mut bytes, mut cells, mut below) = (Vec::new(), Vec::new(), Vec::new());
        let (mut columns, mut sum) = (0, 0_i64);
        for (number, line) in (1..).zip(content.split(|byte| *byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let wrong = |problem: String| format!("line {number}: {problem}");
            let line: Line =
                serde_json::from_slice(line).map_err(|error| wrong(refusal(&error)))?;
            if below.is_empty() {
                columns = line.values.len();
            }
            if columns == 0 {
                return Err(wrong("has no values".to_owned()));
            }
            if line.values.len() != columns {
                return Err(wrong(format!(
                    "has {} values where the lines before have {columns}",
                    line.values.len()
                )));
            }
            sum = i64::try_from(line.weight)
                .ok()
                .filter(|weight| *weight > 0)
                .and_then(|weight| sum.checked_add(weight))
                .ok_or_else(|| {
                    wrong("give a `weight` from 1 on, all together below 2^63".to_owned())
                })?;
            below.push(sum);
            for (place, value) in (1..).zip(line.values) {
                let cell = take(value, &mut bytes)
                    .map_err(|problem| wrong(format!("value {place} {problem}")))?;
                cells.push(cell);
            }
        }
        if below.is_empty() {
            return Err("has no tuple; write a line for each".to_owned());
        }
        Ok(Self {
            bytes: bytes.into(),
            cells: cells.into(),
            columns,
            below: below.into(),
        })
    }

    /// Draws a tuple by the weights; returns the number of its first value.
    #[inline]
    #[must_use]
    pub fn draw(&self, random: u64) -> usize {
        let all = self.below.last().copied().unwrap_or(1);
        let drawn = uniform(random, 0, all - 1);
        self.below.partition_point(|below| *below <= drawn) * self.columns
    }

    /// A value by its number: that of its tuple's first one, and its column.
    #[inline]
    #[must_use]
    pub fn sampled(&self, number: usize) -> Sampled<'_> {
        let Cell {
            start,
            length,
            form,
        } = self.cells[number];
        let bytes = &self.bytes[start..start + length as usize];
        Sampled { bytes, form }
    }
}

/// What is wrong with a line that is no tuple, without a word of what stands in it.
fn refusal(error: &serde_json::Error) -> String {
    if error.is_data() {
        r#"is no tuple; write {"weight": 1, "values": [5, "text", null]}"#.to_owned()
    } else {
        format!("is no JSON from column {} on", error.column())
    }
}

/// Appends a value's bytes, and says where they are.
fn take(value: &RawValue, bytes: &mut Vec<u8>) -> Result<Cell, String> {
    let start = bytes.len();
    let raw = value.get();
    let form = match raw.as_bytes() {
        [b'n', ..] => Form::Null,
        [b'"', ..] => {
            let text: String = serde_json::from_str(raw)
                .map_err(|_| "is no text that UTF-8 can hold".to_owned())?;
            bytes.extend_from_slice(text.as_bytes());
            form(text.as_bytes())?
        }
        [b'[' | b'{', ..] => {
            return Err(
                "is a list or an object; write a number, a text, true, false or null".to_owned(),
            );
        }
        number => {
            bytes.extend_from_slice(number);
            Form::Bare
        }
    };
    let length = u32::try_from(bytes.len() - start).map_err(|_| "is too long".to_owned())?;
    Ok(Cell {
        start,
        length,
        form,
    })
}

fn form(text: &[u8]) -> Result<Form, String> {
    if text.contains(&0) {
        Err("has a NUL character, which no statement can hold".to_owned())
    } else if text.contains(&b'\\') {
        Ok(Form::Escaped)
    } else if text.contains(&b'\'') {
        Ok(Form::Quoted)
    } else {
        Ok(Form::Plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::mix;
    use proptest::prelude::*;

    fn literal(line: &str, backslash: Backslash) -> String {
        let tuples = Tuples::parse(line.as_bytes()).unwrap();
        let mut out = Vec::new();
        for number in 0..tuples.columns {
            if number > 0 {
                out.push(b',');
            }
            tuples.sampled(number).write_literal(&mut out, backslash);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_literal_stands_as_it_did_in_the_statement() {
        let line = r#"{"values": [5, 1.50, -3e2, null, true, "x", "5", "O'Brien", "a\\'b", ""]}"#;
        assert_eq!(
            literal(line, Backslash::ByForm),
            r"5,1.50, -3e2,NULL,true,'x','5','O''Brien', E'a\\''b',''"
        );
        assert_eq!(
            literal(line, Backslash::Doubled),
            r"5,1.50, -3e2,NULL,true,'x','5','O''Brien','a\\''b',''"
        );
        assert_eq!(
            literal(line, Backslash::AsItIs),
            r"5,1.50, -3e2,NULL,true,'x','5','O''Brien','a\''b',''"
        );
    }

    #[test]
    fn a_parameter_of_mysql_has_the_type_of_how_it_stood() {
        let line = r#"{"values": [42, -42, "42", 18446744073709551615, 18446744073709551616, 1.50, -0.1, 1.5e3, true,
            false, null, "", -9223372036854775808]}"#
            .replace('\n', " ");
        let tuples = Tuples::parse(line.as_bytes()).unwrap();
        let parameters: Vec<_> = (0..tuples.columns)
            .map(|number| tuples.sampled(number).parameter())
            .collect();
        assert_eq!(
            parameters,
            [
                Parameter::Integer(42),
                Parameter::Integer(-42),
                Parameter::Text(b"42"),
                Parameter::Unsigned(u64::MAX),
                Parameter::Decimal(b"18446744073709551616"),
                Parameter::Decimal(b"1.50"),
                Parameter::Decimal(b"-0.1"),
                Parameter::Double(1500.0),
                Parameter::Integer(1),
                Parameter::Integer(0),
                Parameter::Null,
                Parameter::Text(b""),
                Parameter::Integer(i64::MIN),
            ]
        );
    }

    #[test]
    fn tuples_come_as_often_as_they_weigh_and_stay_together() {
        let content = br#"{"weight": 80, "values": ["a", 1]}
{"weight": 19, "values": ["b", 2]}

{"values": ["c", null]}
"#;
        let tuples = Tuples::parse(content).unwrap();
        let mut counts = [0_u32; 3];
        for draw in 0..100_000 {
            let first = tuples.draw(mix(5, &[draw]));
            let pair = [first, first + 1].map(|number| tuples.sampled(number).bytes());
            let place = match pair {
                [Some(b"a"), Some(b"1")] => 0,
                [Some(b"b"), Some(b"2")] => 1,
                [Some(b"c"), None] => 2,
                _ => panic!("values of two tuples: {pair:?}"),
            };
            counts[place] += 1;
        }
        // Of 100,000 draws, each is within five standard deviations.
        for (count, expected) in counts.into_iter().zip([80_000.0, 19_000.0, 1_000.0]) {
            let deviation = (expected * (1.0 - expected / 100_000.0_f64)).sqrt();
            assert!(
                (f64::from(count) - expected).abs() < 5.0 * deviation,
                "{counts:?}"
            );
        }
    }

    #[test]
    fn a_bad_file_is_refused_with_its_line_and_without_its_values() {
        for (content, problem) in [
            ("", "has no tuple"),
            ("\n\n", "has no tuple"),
            (
                "{\"values\": [1]}\n{\"values\": [1, 2]}",
                "line 2: has 2 values",
            ),
            ("{\"values\": [1]}\n\n{\"values\": [1", "line 3: is no JSON"),
            ("{\"values\": \"secret\"}", "line 1: is no tuple"),
            ("{\"values\": [1], \"secret\": 1}", "line 1: is no tuple"),
            ("{\"weight\": 1}", "line 1: is no tuple"),
            ("{\"values\": []}", "line 1: has no values"),
            (
                "{\"weight\": 0, \"values\": [1]}",
                "line 1: give a `weight`",
            ),
            ("{\"weight\": -1, \"values\": [1]}", "line 1: is no tuple"),
            (
                "{\"weight\": 9223372036854775807, \"values\": [1]}\n{\"values\": [1]}",
                "line 2: give a `weight`",
            ),
            (
                "{\"values\": [1, [\"secret\"]]}",
                "line 1: value 2 is a list",
            ),
            (
                "{\"values\": [\"secret\\u0000\"]}",
                "line 1: value 1 has a NUL",
            ),
            (
                "{\"values\": [\"secret\\ud800\"]}",
                "line 1: value 1 is no text",
            ),
        ] {
            let error = Tuples::parse(content.as_bytes()).unwrap_err();
            assert!(error.contains(problem), "{content}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(Tuples::parse(b"{\"values\": [\"\xff\"]}").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_tuples_or_one_line(content: Vec<u8>) {
            if let Err(error) = Tuples::parse(&content) {
                prop_assert!(!error.contains('\n'));
            }
        }

        #[test]
        fn any_text_comes_back_as_it_was(text in "[^\0]*") {
            let line = format!("{{\"values\": [{}]}}", serde_json::to_string(&text).unwrap());
            let tuples = Tuples::parse(line.as_bytes()).unwrap();
            prop_assert_eq!(tuples.sampled(0).bytes(), Some(text.as_bytes()));
            let mut out = Vec::new();
            tuples.sampled(0).write_literal(&mut out, Backslash::Doubled);
            let inner = String::from_utf8(out).unwrap();
            let inner = inner.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap();
            prop_assert_eq!(inner.replace("''", "'").replace("\\\\", "\\"), text);
        }
    }
}
