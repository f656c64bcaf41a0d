//! The numbers of a filled column, as functions of the row.

use crate::value::{Bounds, Permutation, Skewed, mix_in, uniform};

/// A number as a function of the row.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub(super) kind: NumberKind,
    pub(super) plus: i64,
}

#[derive(Debug, Clone)]
pub(super) enum NumberKind {
    /// Random state of the column, low, high.
    Uniform(u64, i64, i64),
    /// Random state of the column, and what is drawn from.
    Skewed(u64, Box<Skewed>),
    /// Another number, permuted.
    Permuted(Box<(Number, Permutation)>),
    Constant(i64),
    /// The number of row 0, and how many numbers there are.
    Row(i64, u64),
}

impl Number {
    #[inline]
    pub(super) fn of(&self, row: u64) -> i64 {
        let number = match &self.kind {
            NumberKind::Uniform(state, low, high) => uniform(mix_in(*state, row), *low, *high),
            NumberKind::Skewed(state, skewed) => skewed.number(mix_in(*state, row)),
            NumberKind::Permuted(permuted) => permuted.1.number(permuted.0.of(row)),
            NumberKind::Constant(number) => *number,
            NumberKind::Row(first, _) => first.wrapping_add_unsigned(row),
        };
        number.wrapping_add(self.plus)
    }

    /// The least and the greatest number that can come; without the limits of an `i64`.
    pub(super) fn range(&self) -> (i128, i128) {
        let both = |range: Bounds| (range.low.into(), range.high.into());
        let (low, high): (i128, i128) = match &self.kind {
            NumberKind::Uniform(_, low, high) => ((*low).into(), (*high.max(low)).into()),
            NumberKind::Skewed(_, skewed) => both(skewed.range()),
            NumberKind::Permuted(permuted) => both(permuted.1.range()),
            NumberKind::Constant(number) => ((*number).into(), (*number).into()),
            NumberKind::Row(first, rows) => {
                let first = i128::from(*first);
                (first, first + i128::from(*rows) - 1)
            }
        };
        (low + i128::from(self.plus), high + i128::from(self.plus))
    }
}
