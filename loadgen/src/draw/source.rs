//! What each of a job's values is drawn from, with all that can be computed beforehand.

use crate::expression::Formula;
use crate::job::{Bound, ClientNumber, Job, Maker, SampleColumn, Sequence};
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
    pub(super) fn new(maker: &Maker, job: &Job) -> Self {
        let seed = job.seed;
        match maker {
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
