//! Numbers as functions of the row.

use crate::expression::Formula;
use crate::value::{Bounds, Permutation, Skewed, mix_in, uniform};

/// A number as a function of the row.
#[derive(Debug, Clone)]
pub(in crate::fill) struct Number {
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
    /// Two others, added.
    Sum(Box<(Number, Number)>),
    Computed(Box<Computation>),
    Constant(i64),
    /// The number of row 0, and how many numbers there are.
    Row(i64, u64),
    /// The parent's number, of which so many rows in a row are children.
    OfParent(Box<Number>, u64),
    /// The number of the first child, and how many there are at most.
    Child(i64, u64),
}

/// What is computed from others, each by the index of its value.
#[derive(Debug, Clone)]
pub(super) struct Computation {
    pub(super) formula: Formula,
    pub(super) bases: Vec<(usize, Number)>,
}

impl Computation {
    fn of(&self, row: u64) -> i64 {
        self.formula.number(&|value| {
            let mut bases = self.bases.iter();
            let base = bases.find(|(index, _)| *index == value);
            base.map_or(0, |(_, number)| number.of(row))
        })
    }
}

impl Number {
    /// Returns the number of a row.
    #[inline]
    pub(in crate::fill) fn of(&self, row: u64) -> i64 {
        let number = match &self.kind {
            NumberKind::Uniform(state, low, high) => uniform(mix_in(*state, row), *low, *high),
            NumberKind::Skewed(state, skewed) => skewed.number(mix_in(*state, row)),
            NumberKind::Permuted(permuted) => permuted.1.number(permuted.0.of(row)),
            NumberKind::Sum(two) => two.0.of(row).wrapping_add(two.1.of(row)),
            NumberKind::Computed(computation) => computation.of(row),
            NumberKind::Constant(number) => *number,
            NumberKind::Row(first, _) => first.wrapping_add_unsigned(row),
            NumberKind::OfParent(number, places) => number.of(row / places),
            NumberKind::Child(first, places) => first.wrapping_add_unsigned(row % places),
        };
        number.wrapping_add(self.plus)
    }

    /// Returns the least and the greatest number that can come, without the limits of an `i64`.
    pub(super) fn range(&self) -> (i128, i128) {
        let both = |range: Bounds| (range.low.into(), range.high.into());
        let (low, high): (i128, i128) = match &self.kind {
            NumberKind::Uniform(_, low, high) => ((*low).into(), (*high.max(low)).into()),
            NumberKind::Skewed(_, skewed) => both(skewed.range()),
            NumberKind::Permuted(permuted) => both(permuted.1.range()),
            NumberKind::Sum(two) => {
                let (one, other) = (two.0.range(), two.1.range());
                (one.0 + other.0, one.1 + other.1)
            }
            NumberKind::Computed(computation) => both(computation.formula.range()),
            NumberKind::Constant(number) => ((*number).into(), (*number).into()),
            NumberKind::OfParent(number, _) => number.range(),
            NumberKind::Row(first, count) | NumberKind::Child(first, count) => {
                let first = i128::from(*first);
                (first, first + i128::from(*count) - 1)
            }
        };
        (low + i128::from(self.plus), high + i128::from(self.plus))
    }
}
