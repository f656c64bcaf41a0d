//! What programs compute with: variables, expressions, and the instructions that use them.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// A register that each connection has for as long as its client lives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// The variable's name, for messages.
    pub name: String,
    /// What it holds before anything is assigned to it; null: it is not set, and cannot be computed with.
    #[serde(default)]
    pub initial: Option<Initial>,
}

/// What a variable holds at first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initial {
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A boolean.
    Boolean(bool),
    /// A text, which is taken for what it looks like where it is computed with.
    Text(String),
    /// The number of the client.
    Client(FirstClient),
    /// A seed.
    Seed(SeedOf),
}

/// How clients are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstClient {
    /// The number of client 0.
    pub first: i64,
}

/// Which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedOf {
    /// The job's.
    Random,
    /// One that is derived from the job's, for hashes and permutations.
    Default,
}

/// Gives a variable the value of an expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The index of the variable.
    pub variable: usize,
    /// What it is given.
    pub expression: Expression,
    /// Where it was written, for messages.
    pub place: String,
}

/// Goes on elsewhere in the program unless an expression is true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// The expression.
    pub unless: Expression,
    /// The instruction of the same program with which it goes on, further down.
    pub to: usize,
    /// Where it was written, for messages.
    pub place: String,
}

/// A sleep that lasts as long as a variable says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rest {
    /// The index of the variable.
    pub variable: usize,
    /// What one of it is, in microseconds.
    pub unit_us: u32,
    /// Where it was written, for messages.
    pub place: String,
}

/// Which variables take the columns of a statement's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Into {
    /// By the column's name the index of the variable; other columns are passed over.
    pub columns: BTreeMap<String, usize>,
    /// What stands in front of the columns' names in those of variables.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// Whether each of several results is taken, of each its last row, if it has one; else the last result, which has to
    /// have one row.
    #[serde(default)]
    pub every: bool,
}

/// What is computed: a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Json", into = "Json")]
pub enum Expression {
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A boolean.
    Boolean(bool),
    /// Nothing.
    Null,
    /// What a variable holds, by its index.
    Variable(usize),
    /// A function of others.
    Call(Function, Vec<Expression>),
}

/// The functions and operators of expressions, as pgbench has them (its documentation, "Built-in Operators" and "Built-In
/// Functions").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum Function {
    And,
    Or,
    Case,
    Not,
    IsNull,
    IsTrue,
    IsFalse,
    Lt,
    Le,
    Eq,
    Ne,
    Gt,
    Ge,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    BitNot,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Negate,
    Abs,
    Double,
    Exp,
    Greatest,
    Least,
    HashMurmur2,
    HashFnv1a,
    Int,
    Ln,
    Mod,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
    Debug,
}

/// The most arguments of a function; a `case` may have more.
pub const ARGUMENTS_MAX: usize = 16;

impl Function {
    /// Whether it takes so many arguments.
    #[must_use]
    pub fn takes(self, arguments: usize) -> bool {
        match self {
            Self::Pi => arguments == 0,
            Self::Not
            | Self::IsNull
            | Self::IsTrue
            | Self::IsFalse
            | Self::BitNot
            | Self::Negate
            | Self::Abs
            | Self::Double
            | Self::Exp
            | Self::Int
            | Self::Ln
            | Self::Sqrt
            | Self::Debug => arguments == 1,
            Self::Permute
            | Self::RandomExponential
            | Self::RandomGaussian
            | Self::RandomZipfian => arguments == 3,
            Self::Greatest | Self::Least => (1..=ARGUMENTS_MAX).contains(&arguments),
            Self::Case => arguments >= 3 && arguments % 2 == 1,
            _ => arguments == 2,
        }
    }
}

impl Expression {
    /// Visits it and all that it consists of.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        if let Self::Call(_, arguments) = self {
            for argument in arguments {
                argument.walk(visit);
            }
        }
    }
}

/// What an expression in JSON has to look like.
const SHAPE: &str = "an expression is a list: `[\"integer\", 5]`, `[\"double\", 1.5]`, `[\"boolean\", true]`, `[\"null\"]`, \
                     `[\"variable\", 0]`, or a function and its arguments";

impl TryFrom<Json> for Expression {
    type Error = String;

    fn try_from(json: Json) -> Result<Self, String> {
        let Json::Array(list) = json else {
            return Err(SHAPE.to_owned());
        };
        let mut list = list.into_iter();
        let Some(Json::String(name)) = list.next() else {
            return Err(SHAPE.to_owned());
        };
        let leaf = |value: Option<Self>| value.ok_or_else(|| SHAPE.to_owned());
        match (name.as_str(), list.as_slice()) {
            ("integer", [value]) => leaf(value.as_i64().map(Self::Integer)),
            // Of another expression it is the function.
            ("double", [value]) if !value.is_array() => leaf(value.as_f64().map(Self::Double)),
            ("boolean", [value]) => leaf(value.as_bool().map(Self::Boolean)),
            ("variable", [value]) => {
                let index = value.as_u64().and_then(|index| usize::try_from(index).ok());
                leaf(index.map(Self::Variable))
            }
            ("null", []) => Ok(Self::Null),
            ("integer" | "boolean" | "variable" | "null", _) => Err(SHAPE.to_owned()),
            _ => {
                let function: Function = serde_json::from_value(Json::String(name.clone()))
                    .map_err(|_| format!("no function `{name}`"))?;
                let arguments: Result<Vec<_>, _> = list.map(Self::try_from).collect();
                let arguments = arguments?;
                if !function.takes(arguments.len()) {
                    let count = arguments.len();
                    return Err(format!("`{name}` does not take {count} arguments"));
                }
                Ok(Self::Call(function, arguments))
            }
        }
    }
}

impl From<Expression> for Json {
    fn from(expression: Expression) -> Self {
        match expression {
            Expression::Integer(number) => json!(["integer", number]),
            Expression::Double(number) => json!(["double", number]),
            Expression::Boolean(truth) => json!(["boolean", truth]),
            Expression::Null => json!(["null"]),
            Expression::Variable(index) => json!(["variable", index]),
            Expression::Call(function, arguments) => {
                let arguments = arguments.into_iter().map(Self::from);
                std::iter::once(json!(function)).chain(arguments).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Expression, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_expression_is_read_as_it_is_written() {
        let text = r#"["case",["lt",["variable",3],["double",1.5]],["null"],["greatest",["integer",-9223372036854775808],["pi"]]]"#;
        let expression = parsed(text).unwrap();
        assert_eq!(serde_json::to_string(&expression).unwrap(), text);
        let mut variables = Vec::new();
        expression.walk(&mut |part| {
            if let Expression::Variable(index) = part {
                variables.push(*index);
            }
        });
        assert_eq!(variables, [3]);
    }

    #[test]
    fn what_is_no_expression_is_refused_with_the_reason() {
        for (text, reason) in [
            ("5", SHAPE),
            (r#"["integer", 1.5]"#, SHAPE),
            (r#"["integer", 1, 2]"#, SHAPE),
            (r#"["variable", -1]"#, SHAPE),
            (r#"["shell", ["integer", 1]]"#, "no function `shell`"),
            (
                r#"["pi", ["integer", 1]]"#,
                "`pi` does not take 1 arguments",
            ),
            (
                r#"["case", ["null"], ["null"]]"#,
                "`case` does not take 2 arguments",
            ),
            (
                r#"["add", ["integer", 1]]"#,
                "`add` does not take 1 arguments",
            ),
        ] {
            let refused = parsed(text).unwrap_err();
            assert!(refused.starts_with(reason), "{text}: {refused}");
        }
    }
}
