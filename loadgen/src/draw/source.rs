//! What each of a job's values is drawn from, with all that can be computed beforehand.

use crate::expression::Formula;
use crate::job::{Bound, ClientNumber, Job, Maker, SampleColumn, Sequence, Value};
use crate::value::{Permutation, Skewed, mix, name_part};

/// What the key of a file is drawn with, apart from all other draws.
const SAMPLE: &str = "sample";

/// What a value is drawn from; small, so that those of a statement lie close together.
#[derive(Debug)]
pub(super) enum Source {
    Uniform(Bound, Bound),
    Skewed(Box<Skewed>),
    /// Another value and a number.
    Add(usize, i64),
    /// Two other values.
    Sum(usize, usize),
    /// Another value, permuted.
    Permuted(usize, Box<Permutation>),
    Computed(Box<Formula>),
    /// Counted over the role's operations.
    Sequence(Sequence),
    /// The next number of a counter, by its place.
    Count(usize),
    /// How far a counter's operations have ended.
    Newest(usize),
    /// From this number on, counted over a repetition's items.
    Item(i64),
    Client(ClientNumber),
    /// The random number itself, of which a text is made when it is written.
    Random,
    Clock,
    Constant(i64),
    Sample(SampleSource),
}

/// A column of a file, by the file's place among the job's, and what its tuples are drawn with.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampleSource {
    pub(super) file: usize,
    pub(super) column: usize,
    pub(super) part: u64,
}

impl SampleSource {
    fn new(job: &Job, sample: &SampleColumn) -> Self {
        let mut files = job.samples.keys();
        Self {
            file: files.position(|key| *key == sample.of).unwrap_or_default(),
            column: sample.column,
            part: mix(name_part(SAMPLE), &[name_part(&sample.of)]),
        }
    }
}

impl Source {
    /// What the value of this index is drawn from.
    pub(super) fn new(index: usize, job: &Job) -> Self {
        let seed = job.seed;
        let counter = |value: usize| counts(&job.values[..value]).count();
        match &job.values[index].maker {
            Maker::Count(_) => Self::Count(counter(index)),
            Maker::Newest(newest) => Self::Newest(counter(newest.value)),
            Maker::Uniform(low, high) => Self::Uniform(*low, *high),
            Maker::Skewed(distribution) => Self::Skewed(Box::new(Skewed::new(distribution, seed))),
            Maker::Add { value, plus } => Self::Add(*value, *plus),
            Maker::Sum { value, other } => Self::Sum(*value, *other),
            Maker::Permutation(permuted) => {
                let permutation = Permutation::new(seed, permuted.range);
                Self::Permuted(permuted.value, Box::new(permutation))
            }
            Maker::Compute(computed) => Self::Computed(Box::new(Formula::new(computed))),
            // What it consists of has been drawn when it is written.
            Maker::Join(_) => Self::Constant(0),
            Maker::Sequence(sequence) => Self::Sequence(*sequence),
            Maker::Item(item) => Self::Item(item.first),
            Maker::Client(client) => Self::Client(*client),
            Maker::Text(_) | Maker::Pattern(_) => Self::Random,
            Maker::Clock => Self::Clock,
            Maker::Constant(number) | Maker::Row(number) => Self::Constant(*number),
            Maker::Sample(sample) => Self::Sample(SampleSource::new(job, sample)),
        }
    }
}

/// What values of the maker `count` begin with.
pub(super) fn counts(values: &[Value]) -> impl Iterator<Item = i64> {
    values.iter().filter_map(|value| match &value.maker {
        Maker::Count(count) => Some(count.first),
        _ => None,
    })
}
