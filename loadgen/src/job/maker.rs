//! A job's values: what each is made from. In JSON the maker is one key among the value's own.

use super::composed::{Computed, JoinPart, Permuted};
use super::{Format, Scope};
use crate::value::skewed::{Bates, Exponential, Gaussian, Pareto, Special};
use crate::value::zipf::Zipf;
use crate::value::{Distribution, TextShape};
use serde::{Deserialize, Serialize};

/// A value that statements and fills use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawValue", into = "RawValue")]
pub struct Value {
    /// The value's name.
    pub name: String,
    /// How long it stays the same.
    pub per: Scope,
    /// How it is written as a literal.
    pub format: Format,
    /// What it is made from.
    pub maker: Maker,
}

/// What a value is made from.
#[derive(Debug, Clone, PartialEq)]
pub enum Maker {
    /// An integer between two bounds, both inclusive.
    Uniform(Bound, Bound),
    /// An integer of a range, some likelier than others.
    Skewed(Distribution),
    /// Another value and a number.
    Add {
        /// The index of the other value.
        value: usize,
        /// What is added.
        plus: i64,
    },
    /// Two other values together.
    Sum {
        /// The index of the one.
        value: usize,
        /// The index of the other.
        other: usize,
    },
    /// Another value in its place in a permutation of a range.
    Permutation(Permuted),
    /// What an expression makes of other values.
    Compute(Computed),
    /// A text that is joined of others.
    Join(Vec<JoinPart>),
    /// A number that no two operations of a role in a step share.
    Sequence(Sequence),
    /// The next number of a counter that all connections of the step share.
    Count(Count),
    /// The newest number of a counter up to which all operations have ended.
    Newest(Newest),
    /// The item's number in its repetition.
    Item(ItemNumber),
    /// The client's number.
    Client(ClientNumber),
    /// A text, partly random.
    Text(TextShape),
    /// A text in which `#` is a random digit and `@` a random letter.
    Pattern(String),
    /// The local wall-clock time in whole seconds.
    Clock,
    /// Always the same.
    Constant(i64),
    /// The row's number in a fill, from this one on.
    Row(i64),
    /// A column of the operation's tuple of a file.
    Sample(SampleColumn),
}

impl Maker {
    /// The indices of the values that this one is computed from itself.
    #[must_use]
    pub fn bases(&self) -> Vec<usize> {
        match self {
            Self::Add { value, .. } => vec![*value],
            Self::Sum { value, other } => vec![*value, *other],
            Self::Permutation(permuted) => vec![permuted.value],
            Self::Compute(computed) => computed.bases(),
            Self::Join(parts) => parts.iter().flat_map(JoinPart::bases).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether it makes a text, with which nothing can be computed.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Text(_) | Self::Pattern(_) | Self::Sample(_) | Self::Join(_)
        )
    }
}

/// Numbers counted up over a role's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// That of the first operation of the role's first connection.
    pub first: i64,
    /// So many operations after each other have the same.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub each: u64,
    /// What lies between two different ones.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub step: i64,
}

/// Numbers counted up by all connections of a step together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The first of them.
    pub first: i64,
}

/// How far a counter's operations have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Newest {
    /// The index of the value that takes the counter's numbers.
    pub value: usize,
}

/// Numbers counted up over the items of a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemNumber {
    /// That of the first item, and outside of repetitions.
    pub first: i64,
}

/// A column of a file's tuples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleColumn {
    /// The file, by its key in the job's `samples`.
    pub of: String,
    /// The column's number, from 0.
    pub column: usize,
}

/// A number of each client's own: of each connection's in a role of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientNumber {
    /// That of client 0.
    pub first: i64,
    /// What lies between two clients.
    pub step: i64,
}

fn one<T: From<u8>>() -> T {
    T::from(1)
}

fn is_one<T: From<u8> + PartialEq>(number: &T) -> bool {
    *number == one()
}

/// A bound of a uniform value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bound {
    /// A number.
    Integer(i64),
    /// A cursor's value and a number.
    Cursor(CursorBound),
}

/// A cursor as a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CursorBound {
    /// The index of the cursor.
    pub cursor: usize,
    /// What is added.
    #[serde(default)]
    pub plus: i64,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAdd {
    value: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plus: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other: Option<usize>,
}

impl TryFrom<RawAdd> for Maker {
    type Error = String;

    fn try_from(raw: RawAdd) -> Result<Self, String> {
        let value = raw.value;
        match (raw.plus, raw.other) {
            (Some(_), Some(_)) => Err("an `add` has `plus` or `other`, not both".to_owned()),
            (_, Some(other)) => Ok(Self::Sum { value, other }),
            (plus, None) => Ok(Self::Add {
                value,
                plus: plus.unwrap_or(0),
            }),
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawText {
    fill: String,
    length: (u32, u32),
    random: f64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    alphabet: String,
}

#[derive(Clone, Serialize, Deserialize)]
enum RawClock {
    #[serde(rename = "second")]
    Second,
}

/// The makers that a value can have, as keys beside its own; one of them is given.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawValue {
    name: String,
    #[serde(default)]
    per: Scope,
    format: Format,
    #[serde(skip_serializing_if = "Option::is_none")]
    uniform: Option<(Bound, Bound)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zipf: Option<Zipf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pareto: Option<Pareto>,
    #[serde(skip_serializing_if = "Option::is_none")]
    special: Option<Special>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bates: Option<Bates>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gaussian: Option<Gaussian>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exponential: Option<Exponential>,
    #[serde(skip_serializing_if = "Option::is_none")]
    add: Option<RawAdd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permutation: Option<Permuted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compute: Option<Computed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    join: Option<Vec<JoinPart>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<Sequence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<Count>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<Newest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<ItemNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<ClientNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<RawText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<RawClock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constant: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<SampleColumn>,
}

impl RawValue {
    fn distributions(&self) -> [Option<Distribution>; 6] {
        [
            self.zipf.map(Distribution::Zipf),
            self.pareto.map(Distribution::Pareto),
            self.special.map(Distribution::Special),
            self.bates.map(Distribution::Bates),
            self.gaussian.map(Distribution::Gaussian),
            self.exponential.map(Distribution::Exponential),
        ]
    }
}

impl TryFrom<RawValue> for Value {
    type Error = String;

    fn try_from(raw: RawValue) -> Result<Self, String> {
        let distributions = raw.distributions().into_iter().flatten().map(Maker::Skewed);
        let others = [
            raw.uniform.map(|(low, high)| Maker::Uniform(low, high)),
            raw.add.map(Maker::try_from).transpose()?,
            raw.permutation.map(Maker::Permutation),
            raw.compute.map(Maker::Compute),
            raw.join.map(Maker::Join),
            raw.sequence.map(Maker::Sequence),
            raw.count.map(Maker::Count),
            raw.newest.map(Maker::Newest),
            raw.item.map(Maker::Item),
            raw.client.map(Maker::Client),
            raw.text.map(|text| {
                Maker::Text(TextShape {
                    fill: text.fill,
                    length_min: text.length.0,
                    length_max: text.length.1,
                    random: text.random,
                    alphabet: text.alphabet,
                })
            }),
            raw.pattern.map(Maker::Pattern),
            raw.clock.map(|RawClock::Second| Maker::Clock),
            raw.constant.map(Maker::Constant),
            raw.row.map(Maker::Row),
            raw.sample.map(Maker::Sample),
        ];
        let mut given = distributions.chain(others.into_iter().flatten());
        match (given.next(), given.next()) {
            (Some(maker), None) => Ok(Self {
                name: raw.name,
                per: raw.per,
                format: raw.format,
                maker,
            }),
            _ => Err(format!(
                "value `{}` needs exactly one of `uniform`, `zipf`, `pareto`, `special`, `bates`, `gaussian`, \
                 `exponential`, `add`, `permutation`, `compute`, `join`, `sequence`, `count`, `newest`, `item`, \
                 `client`, `text`, `pattern`, `clock`, `constant`, `row`, `sample`",
                raw.name
            )),
        }
    }
}

impl From<Value> for RawValue {
    fn from(value: Value) -> Self {
        let mut raw = Self {
            name: value.name,
            per: value.per,
            format: value.format,
            uniform: None,
            zipf: None,
            pareto: None,
            special: None,
            bates: None,
            gaussian: None,
            exponential: None,
            add: None,
            permutation: None,
            compute: None,
            join: None,
            sequence: None,
            count: None,
            newest: None,
            item: None,
            client: None,
            text: None,
            pattern: None,
            clock: None,
            constant: None,
            row: None,
            sample: None,
        };
        match value.maker {
            Maker::Uniform(low, high) => raw.uniform = Some((low, high)),
            Maker::Skewed(Distribution::Zipf(shape)) => raw.zipf = Some(shape),
            Maker::Skewed(Distribution::Pareto(shape)) => raw.pareto = Some(shape),
            Maker::Skewed(Distribution::Special(shape)) => raw.special = Some(shape),
            Maker::Skewed(Distribution::Bates(shape)) => raw.bates = Some(shape),
            Maker::Skewed(Distribution::Gaussian(shape)) => raw.gaussian = Some(shape),
            Maker::Skewed(Distribution::Exponential(shape)) => raw.exponential = Some(shape),
            Maker::Add { value, plus } => raw.add = Some(added(value, Some(plus), None)),
            Maker::Sum { value, other } => raw.add = Some(added(value, None, Some(other))),
            Maker::Permutation(permuted) => raw.permutation = Some(permuted),
            Maker::Compute(computed) => raw.compute = Some(computed),
            Maker::Join(parts) => raw.join = Some(parts),
            Maker::Sequence(sequence) => raw.sequence = Some(sequence),
            Maker::Count(count) => raw.count = Some(count),
            Maker::Newest(newest) => raw.newest = Some(newest),
            Maker::Item(item) => raw.item = Some(item),
            Maker::Client(client) => raw.client = Some(client),
            Maker::Text(shape) => {
                raw.text = Some(RawText {
                    fill: shape.fill,
                    length: (shape.length_min, shape.length_max),
                    random: shape.random,
                    alphabet: shape.alphabet,
                });
            }
            Maker::Pattern(pattern) => raw.pattern = Some(pattern),
            Maker::Clock => raw.clock = Some(RawClock::Second),
            Maker::Constant(number) => raw.constant = Some(number),
            Maker::Row(first) => raw.row = Some(first),
            Maker::Sample(sample) => raw.sample = Some(sample),
        }
        raw
    }
}

fn added(value: usize, plus: Option<i64>, other: Option<usize>) -> RawAdd {
    RawAdd { value, plus, other }
}
