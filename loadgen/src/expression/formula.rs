//! Expressions over the values of an operation or a row: of whole numbers and truth values, without draws.

use super::{Outcome, Scalar, function};
use crate::job::{ARGUMENTS_MAX, Computed, Expression, Function};
use crate::value::Bounds;

/// What is computed from other values, ready to be computed.
#[derive(Debug, Clone)]
pub struct Formula {
    tree: Tree,
    range: Bounds,
}

#[derive(Debug, Clone)]
enum Tree {
    Constant(Scalar),
    /// What a value was drawn as, by its index.
    Value(usize),
    Unary(Function, Box<Tree>),
    Binary(Function, Box<[Tree; 2]>),
    /// False where the first is; for `or` true.
    Lazy(bool, Box<[Tree; 2]>),
    Case(Box<[Tree]>),
    Extremum(Function, Box<[Tree]>),
}

impl Formula {
    /// Makes that of a valid job's value.
    #[must_use]
    pub fn new(computed: &Computed) -> Self {
        Self {
            tree: Tree::new(&computed.expression),
            range: computed.range,
        }
    }

    /// The least and the greatest number that it can be.
    #[must_use]
    pub fn range(&self) -> Bounds {
        self.range
    }

    /// Returns the number that it makes of values, by their indices. The caller of the generator has proved that it can
    /// be computed and lies in its range; where that is wrong it is the nearest number of the range, or the least.
    #[inline]
    pub fn number(&self, value: &impl Fn(usize) -> i64) -> i64 {
        match self.tree.evaluate(value) {
            Ok(Scalar::Integer(number)) => number.clamp(self.range.low, self.range.high),
            _ => self.range.low,
        }
    }
}

impl Tree {
    fn new(expression: &Expression) -> Self {
        match expression {
            Expression::Integer(number) => Self::Constant(Scalar::Integer(*number)),
            Expression::Boolean(truth) => Self::Constant(Scalar::Boolean(*truth)),
            Expression::Variable(index) => Self::Value(*index),
            Expression::Call(function, arguments) => Self::call(*function, arguments),
            Expression::Double(_)
            | Expression::Null
            | Expression::Error(_)
            | Expression::Drawn(_) => Self::Constant(Scalar::Null),
        }
    }

    fn call(function: Function, arguments: &[Expression]) -> Self {
        let tree = |at: usize| Self::new(&arguments[at]);
        let all = || arguments.iter().map(Self::new).collect();
        match (function, arguments.len()) {
            (Function::And, _) => Self::Lazy(false, Box::new([tree(0), tree(1)])),
            (Function::Or, _) => Self::Lazy(true, Box::new([tree(0), tree(1)])),
            (Function::Case, _) => Self::Case(all()),
            (Function::Greatest | Function::Least, _) => Self::Extremum(function, all()),
            (Function::Gt, _) => Self::Binary(Function::Lt, Box::new([tree(1), tree(0)])),
            (Function::Ge, _) => Self::Binary(Function::Le, Box::new([tree(1), tree(0)])),
            (_, 2) => Self::Binary(function, Box::new([tree(0), tree(1)])),
            _ => Self::Unary(function, Box::new(tree(0))),
        }
    }

    #[inline]
    fn evaluate(&self, value: &impl Fn(usize) -> i64) -> Outcome {
        match self {
            Self::Constant(constant) => Ok(*constant),
            Self::Value(index) => Ok(Scalar::Integer(value(*index))),
            Self::Unary(function, argument) => {
                function::unary(*function, argument.evaluate(value)?)
            }
            Self::Binary(function, pair) => function::binary(
                *function,
                pair[0].evaluate(value)?,
                pair[1].evaluate(value)?,
            ),
            Self::Lazy(deciding, pair) => {
                let first = pair[0].evaluate(value)?;
                if first.boolean()? == *deciding {
                    return Ok(first);
                }
                pair[1].evaluate(value)
            }
            Self::Case(branches) => {
                for branch in branches.chunks(2) {
                    match branch {
                        [condition, then] if condition.evaluate(value)?.is_true() => {
                            return then.evaluate(value);
                        }
                        [otherwise] => return otherwise.evaluate(value),
                        _ => {}
                    }
                }
                Ok(Scalar::Null)
            }
            Self::Extremum(function, arguments) => {
                let mut values = [Scalar::Null; ARGUMENTS_MAX];
                for (place, argument) in values.iter_mut().zip(arguments) {
                    *place = argument.evaluate(value)?;
                }
                function::extremum(*function, &values[..arguments.len()])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(expression: &str, low: i64, high: i64) -> Formula {
        let expression = serde_json::from_str(expression).expect("an expression");
        let range = (low, high).into();
        Formula::new(&Computed { expression, range })
    }

    /// TPC-C's NURand, clause 2.1.6, by hand: (((17 | 5) + 3) % 10) + 1.
    #[test]
    fn whole_numbers_are_computed_as_in_scripts() {
        let nurand = r#"["add",["remainder",["add",["bit_or",["variable",0],["variable",1]],["integer",3]],["integer",10]],["integer",1]]"#;
        assert_eq!(formula(nurand, 1, 10).number(&|index| [17, 5][index]), 5);
        let case = r#"["case",["ge",["variable",0],["integer",12]],["subtract",["variable",0],["integer",2]],["greatest",["variable",1],["integer",7]]]"#;
        assert_eq!(formula(case, 0, 100).number(&|index| [12, 9][index]), 10);
        assert_eq!(formula(case, 0, 100).number(&|index| [11, 9][index]), 9);
        assert_eq!(formula(case, 0, 100).number(&|index| [11, 3][index]), 7);
        let lazy = r#"["case",["or",["eq",["variable",0],["integer",1]],["and",["lt",["variable",0],["integer",0]],["not",["boolean",false]]]],["integer",1],["integer",2]]"#;
        for (value, expected) in [(1, 1), (-5, 1), (0, 2)] {
            assert_eq!(formula(lazy, 0, 9).number(&|_| value), expected, "{value}");
        }
    }

    /// The hash of YCSB's `Utils.fnvhash64`: the values come from its documentation of FNV-1a, 64 bits, low byte first.
    #[test]
    fn a_hash_of_eight_bytes_is_fnv_1a() {
        let hash = formula(
            r#"["hash_fnv1a",["variable",0],["integer",0]]"#,
            i64::MIN,
            i64::MAX,
        );
        for number in [0_i64, 1, 1 << 40] {
            let bytes = number.to_le_bytes();
            let expected = bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
            });
            assert_eq!(hash.number(&|_| number), expected.cast_signed(), "{number}");
        }
    }

    #[test]
    fn what_cannot_be_computed_stays_in_the_range() {
        let divided = formula(r#"["divide",["integer",10],["variable",0]]"#, 2, 5);
        for (value, expected) in [(0, 2), (1, 5), (3, 3), (10, 2)] {
            assert_eq!(divided.number(&|_| value), expected, "{value}");
        }
    }
}
