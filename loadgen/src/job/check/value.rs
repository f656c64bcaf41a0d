//! What makes a job's values valid.

use super::{Check, ensure, ensure_index, ensure_names, refuse};
use crate::job::{
    Bound, Computed, Format, Job, JoinPart, JoinValue, JoinWord, Maker, Permuted, SampleColumn,
    Scope, Value,
};
use crate::value::skewed::{ITERATIONS_MAX, PARAMETER_MIN};
use crate::value::{Bounds, Distribution, TextShape, zipf};
use std::collections::BTreeSet;

/// The longest text that a value may make: a mistake in a job must not exhaust the memory.
const TEXT_CHARACTERS_MAX: u32 = 4 << 20;

/// The most characters of an alphabet, as many as [`TextShape`] draws evenly.
const ALPHABET_CHARACTERS_MAX: usize = 128;

impl Job {
    pub(super) fn check_values(&self) -> Check {
        ensure_names(
            "values",
            self.values.iter().map(|value| value.name.as_str()),
        )?;
        for (index, value) in self.values.iter().enumerate() {
            self.check_value(index, value)?;
        }
        Ok(())
    }

    fn check_value(&self, index: usize, value: &Value) -> Check {
        let key = format!("values[{index}]");
        match &value.maker {
            Maker::Uniform(low, high) => {
                for bound in [low, high] {
                    if let Bound::Cursor(bound) = bound {
                        let key = format!("{key}.uniform");
                        ensure_index(bound.cursor, self.cursors.len(), key, "cursors")?;
                    }
                }
            }
            Maker::Add { .. } | Maker::Sum { .. } => {
                self.check_bases(&format!("{key}.add"), index)?;
            }
            Maker::Skewed(distribution) => check_distribution(&key, distribution)?,
            Maker::Permutation(permuted) => self.check_permutation(&key, index, permuted)?,
            Maker::Compute(computed) => self.check_computed(&key, index, computed)?,
            Maker::Join(parts) => self.check_joined(&key, index, parts)?,
            Maker::Text(shape) => check_text(&key, shape)?,
            Maker::Sequence(sequence) => ensure(
                sequence.each >= 1,
                format!("{key}.sequence.each"),
                "is 0; give at least 1",
            )?,
            Maker::Count(_) => self.check_count(&key, value)?,
            Maker::Newest(newest) => ensure(
                matches!(
                    self.values.get(newest.value).map(|value| &value.maker),
                    Some(Maker::Count(_))
                ),
                format!("{key}.newest.value"),
                "names no `count`; give the index of one",
            )?,
            Maker::Item(_) => ensure(
                value.per == Scope::Item,
                format!("{key}.per"),
                "an `item` counts the items of a repetition; only `per` item can it do so",
            )?,
            Maker::Sample(sample) => self.check_sample(&key, value, sample)?,
            Maker::Client(_)
            | Maker::Pattern(_)
            | Maker::Clock
            | Maker::Constant(_)
            | Maker::Row(_) => {}
        }
        ensure(
            !value.maker.is_text() || value.format == Format::Text,
            format!("{key}.format"),
            "a text, pattern, join or sample is written as `text`",
        )
    }

    fn check_sample(&self, key: &str, value: &Value, sample: &SampleColumn) -> Check {
        ensure(
            self.samples.contains_key(&sample.of),
            format!("{key}.sample.of"),
            "`samples` has no such file; add its path",
        )?;
        ensure(
            value.per == Scope::Item,
            format!("{key}.per"),
            "a `sample` is drawn once for each operation; leave it out",
        )
    }

    fn check_count(&self, key: &str, value: &Value) -> Check {
        ensure(
            value.per == Scope::Transaction,
            format!("{key}.per"),
            "a `count` gives an operation one number; only `per` transaction can it do so",
        )?;
        ensure(
            self.segment.of == 1,
            "segment",
            "processes cannot share a `count`; use one",
        )
    }

    fn check_computed(&self, key: &str, index: usize, computed: &Computed) -> Check {
        let key = format!("{key}.compute");
        if let Some(foreign) = computed.foreign() {
            return Err(refuse(
                format!("{key}.expression"),
                format!("{foreign} is for scripts alone; compute with whole numbers"),
            ));
        }
        ordered(computed.range, &key)?;
        self.check_bases(&key, index)
    }

    fn check_joined(&self, key: &str, index: usize, parts: &[JoinPart]) -> Check {
        let key = format!("{key}.join");
        self.check_base_indices(&key, index)?;
        for (number, part) in parts.iter().enumerate() {
            let key = format!("{key}[{number}]");
            if let JoinPart::Value(JoinValue {
                when: Some(when), ..
            })
            | JoinPart::Word(JoinWord {
                when: Some(when), ..
            }) = part
            {
                let key = format!("{key}.when");
                self.check_number(&key, *when)?;
                self.check_scope(&key, index, *when)?;
            }
            match part {
                JoinPart::Text(_) => {}
                JoinPart::Value(part) => {
                    let key = format!("{key}.value");
                    let sampled = matches!(self.values[part.value].maker, Maker::Sample(_));
                    ensure(!sampled, &key, "a sample can be NULL; it stands alone")?;
                    self.check_scope(&key, index, part.value)?;
                }
                JoinPart::Word(part) => {
                    ensure(!part.of.is_empty(), format!("{key}.of"), "give a word")?;
                    let key = format!("{key}.at");
                    self.check_number(&key, part.at)?;
                    self.check_scope(&key, index, part.at)?;
                }
            }
        }
        Ok(())
    }

    /// Checks the values that a number is computed from.
    fn check_bases(&self, key: &str, index: usize) -> Check {
        self.check_base_indices(key, index)?;
        for base in self.values[index].maker.bases() {
            self.check_number(key, base)?;
            self.check_scope(key, index, base)?;
        }
        Ok(())
    }

    /// Checks that the values from which another is made exist, and that none is made from itself.
    fn check_base_indices(&self, key: &str, index: usize) -> Check {
        for base in self.values[index].maker.bases() {
            ensure_index(base, self.values.len(), key.to_owned(), "values")?;
        }
        ensure(
            self.bases(index).is_some(),
            key,
            "the value is computed from itself; name another",
        )
    }

    fn check_number(&self, key: &str, base: usize) -> Check {
        let base = &self.values[base];
        ensure(
            !base.maker.is_text(),
            key,
            format!(
                "nothing can be computed from `{}`, which is a text",
                base.name
            ),
        )
    }

    fn check_scope(&self, key: &str, index: usize, base: usize) -> Check {
        let base = &self.values[base];
        ensure(
            base.per >= self.values[index].per,
            key,
            format!(
                "`{}` changes more often than what is computed from it; give it the same `per` or a wider one",
                base.name
            ),
        )
    }

    fn check_permutation(&self, key: &str, index: usize, permuted: &Permuted) -> Check {
        let key = format!("{key}.permutation");
        self.check_bases(&key, index)?;
        ordered(permuted.range, &key)?;
        self.check_permuted(index, None)
    }

    /// Refuses a permutation of a value that is known to leave its range; `rows` are those of the fill that it is for.
    pub(super) fn check_permuted(&self, index: usize, rows: Option<u64>) -> Check {
        let Maker::Permutation(Permuted { value, range }) = self.values[index].maker else {
            return Ok(());
        };
        let Some((least, greatest)) = self.range_of(value, rows) else {
            return Ok(());
        };
        ensure(
            i128::from(range.low) <= least && greatest <= i128::from(range.high),
            format!("values[{index}].permutation.range"),
            format!(
                "`{}` runs from {least} to {greatest}, which is not inside of {} to {}",
                self.values[value].name, range.low, range.high
            ),
        )
    }

    /// The least and the greatest number that a value can be, where the job alone says it.
    fn range_of(&self, index: usize, rows: Option<u64>) -> Option<(i128, i128)> {
        let both = |range: Bounds| Some((range.low.into(), range.high.into()));
        match &self.values[index].maker {
            Maker::Uniform(Bound::Integer(low), Bound::Integer(high)) => {
                both((*low, *high.max(low)).into())
            }
            Maker::Skewed(distribution) => both(distribution.range()),
            Maker::Permutation(permuted) => both(permuted.range),
            Maker::Compute(computed) => both(computed.range),
            Maker::Constant(number) => both((*number, *number).into()),
            Maker::Row(first) => {
                let first = i128::from(*first);
                Some((first, first + i128::from(rows?) - 1))
            }
            Maker::Add { value, plus } => {
                let (least, greatest) = self.range_of(*value, rows)?;
                Some((least + i128::from(*plus), greatest + i128::from(*plus)))
            }
            Maker::Sum { value, other } => {
                // Two that have something in common may not reach their bounds together.
                let with_bases = |index| Some((self.bases(index)?, index));
                let (bases, value) = with_bases(*value)?;
                let (others, other) = with_bases(*other)?;
                let common = bases.contains(&other)
                    || others.contains(&value)
                    || value == other
                    || bases.iter().any(|base| others.contains(base));
                if common {
                    return None;
                }
                let (one, two) = (self.range_of(value, rows)?, self.range_of(other, rows)?);
                Some((one.0 + two.0, one.1 + two.1))
            }
            _ => None,
        }
    }

    /// The values that a value is computed from, each once and behind those that it is computed from itself; none where
    /// they form a circle or one does not exist.
    #[must_use]
    pub fn bases(&self, index: usize) -> Option<Vec<usize>> {
        let (mut bases, mut above) = (Vec::new(), BTreeSet::new());
        let mut open = vec![(index, false)];
        while let Some((at, done)) = open.pop() {
            if done {
                above.remove(&at);
                bases.push(at);
            } else if !bases.contains(&at) {
                if !above.insert(at) {
                    return None;
                }
                open.push((at, true));
                let maker = &self.values.get(at)?.maker;
                open.extend(maker.bases().into_iter().map(|base| (base, false)));
            }
        }
        bases.pop();
        Some(bases)
    }
}

/// Refuses a range whose first bound is above its second.
fn ordered(range: Bounds, key: &str) -> Check {
    ensure(
        range.low <= range.high,
        format!("{key}.range"),
        format!(
            "the lower bound {} is above the upper bound {}",
            range.low, range.high
        ),
    )
}

fn check_distribution(key: &str, distribution: &Distribution) -> Check {
    let (maker, parameter, valid, wanted) = match distribution {
        Distribution::Zipf(shape) => (
            "zipf",
            "exponent",
            (0.0..=zipf::EXPONENT_MAX).contains(&shape.exponent),
            format!("a number from 0 to {}", zipf::EXPONENT_MAX),
        ),
        Distribution::Pareto(shape) => (
            "pareto",
            "h",
            shape.h > 0.0 && shape.h < 1.0,
            "a number above 0 and below 1".to_owned(),
        ),
        Distribution::Special(shape) => {
            for (name, percent) in [("percent", shape.percent), ("share", shape.share)] {
                ensure(
                    (0.0..=100.0).contains(&percent),
                    format!("{key}.special.{name}"),
                    format!("{percent} is no percentage; give 0 to 100"),
                )?;
            }
            iterations("special", shape.iterations)
        }
        Distribution::Bates(shape) => iterations("bates", shape.iterations),
        Distribution::Gaussian(shape) => (
            "gaussian",
            "parameter",
            shape.parameter.is_finite() && shape.parameter >= PARAMETER_MIN,
            format!("a number from {PARAMETER_MIN}"),
        ),
        Distribution::Exponential(shape) => (
            "exponential",
            "parameter",
            shape.parameter.is_finite() && shape.parameter > 0.0,
            "a number above 0".to_owned(),
        ),
    };
    ordered(distribution.range(), &format!("{key}.{maker}"))?;
    ensure(
        valid,
        format!("{key}.{maker}.{parameter}"),
        format!("give {wanted}"),
    )
}

/// Maker, parameter, whether it is valid, and what would be.
fn iterations(maker: &'static str, iterations: u32) -> (&'static str, &'static str, bool, String) {
    let valid = (1..=ITERATIONS_MAX).contains(&iterations);
    let wanted = format!("1 to {ITERATIONS_MAX}");
    (maker, "iterations", valid, wanted)
}

fn check_text(key: &str, shape: &TextShape) -> Check {
    ensure(
        shape.length_min <= shape.length_max,
        format!("{key}.text.length"),
        "the first length must not be above the second",
    )?;
    ensure(
        shape.length_max <= TEXT_CHARACTERS_MAX,
        format!("{key}.text.length"),
        format!("at most {TEXT_CHARACTERS_MAX} characters"),
    )?;
    ensure(
        (0.0..=1.0).contains(&shape.random),
        format!("{key}.text.random"),
        "a share is between 0 and 1",
    )?;
    ensure(
        !shape.fill.is_empty() && shape.fill.is_ascii(),
        format!("{key}.text.fill"),
        "give at least one ASCII character",
    )?;
    ensure(
        shape.alphabet.is_ascii() && shape.alphabet.len() <= ALPHABET_CHARACTERS_MAX,
        format!("{key}.text.alphabet"),
        format!("give at most {ALPHABET_CHARACTERS_MAX} ASCII characters"),
    )
}
