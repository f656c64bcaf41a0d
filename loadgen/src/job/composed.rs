//! What values are made from that are made of other values.

use super::Expression;
use crate::value::Bounds;
use serde::{Deserialize, Serialize};

/// Which value is permuted, and within which range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permuted {
    /// The index of the other value.
    pub value: usize,
    /// The range that is permuted.
    pub range: Bounds,
}

/// What is computed from other values. The generator neither draws nor fails in it: `range` is what the caller has
/// proved, and what would lie outside is the nearest number of the range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Computed {
    /// The expression; its variables are values, by their indices.
    pub expression: Expression,
    /// The least and the greatest number that it can be.
    pub range: Bounds,
}

impl Computed {
    /// The values in the expression, each once.
    pub(super) fn bases(&self) -> Vec<usize> {
        let mut bases = Vec::new();
        self.expression.walk(&mut |part| {
            if let Expression::Variable(index) = part
                && !bases.contains(index)
            {
                bases.push(*index);
            }
        });
        bases
    }

    /// What of the expression cannot be computed from values alone; none where all can.
    #[must_use]
    pub fn foreign(&self) -> Option<String> {
        let mut foreign = None;
        self.expression.walk(&mut |part| {
            let refused = match part {
                Expression::Integer(_) | Expression::Boolean(_) | Expression::Variable(_) => None,
                Expression::Double(_) => Some("a double".to_owned()),
                Expression::Null => Some("null".to_owned()),
                Expression::Error(_) => Some("an error".to_owned()),
                Expression::Drawn(_) => Some("a drawn value".to_owned()),
                Expression::Call(function, _) if function.is_of_integers() => None,
                Expression::Call(function, _) => Some(format!("`{}`", function.name())),
            };
            foreign = foreign.take().or(refused);
        });
        foreign
    }
}

/// A part of a joined text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JoinPart {
    /// The same each time.
    Text(String),
    /// A value as it is written, without quotes.
    Value(JoinValue),
    /// A word of a list.
    Word(JoinWord),
}

impl JoinPart {
    /// The indices of the values that it is made from, and that of its condition.
    pub(super) fn bases(&self) -> impl Iterator<Item = usize> {
        let (base, when) = match self {
            Self::Text(_) => (None, None),
            Self::Value(part) => (Some(part.value), part.when),
            Self::Word(part) => (Some(part.at), part.when),
        };
        base.into_iter().chain(when)
    }
}

/// A value in a joined text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinValue {
    /// The index of the value.
    pub value: usize,
    /// The index of the value that is 0 where the part is left out; null: it always stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<usize>,
}

/// A word in a joined text, by a number modulo the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinWord {
    /// The words, the one of number 0 first.
    pub of: Vec<String>,
    /// The index of the value that is the word's number.
    pub at: usize,
    /// The index of the value that is 0 where the part is left out; null: it always stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<usize>,
}

impl JoinWord {
    /// The word of a number.
    #[inline]
    #[must_use]
    pub fn word(&self, number: i64) -> &str {
        let index = number.rem_euclid(i64::try_from(self.of.len()).unwrap_or(i64::MAX));
        &self.of[usize::try_from(index).unwrap_or_default()]
    }
}
