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
    /// By the column's name the index of the variable, none where a value has the name: such a column fails the step.
    /// Other columns are passed over.
    pub columns: BTreeMap<String, Option<usize>>,
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
    /// What a value was drawn as last, by its index; the whole of an assignment's expression, never a part.
    Drawn(usize),
    /// What cannot be computed, and why.
    Error(String),
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

/// How deep an expression may nest: what computes it calls itself as often.
const DEPTH_MAX: usize = 1_000;

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

    /// Whether it makes whole numbers and truth values of whole numbers and truth values, and draws nothing.
    #[must_use]
    pub fn is_of_integers(self) -> bool {
        !matches!(
            self,
            Self::Double
                | Self::Exp
                | Self::Int
                | Self::Ln
                | Self::Permute
                | Self::Pi
                | Self::Power
                | Self::Random
                | Self::RandomExponential
                | Self::RandomGaussian
                | Self::RandomZipfian
                | Self::Sqrt
                | Self::Debug
        )
    }

    /// What a job calls it.
    #[must_use]
    pub fn name(self) -> String {
        let name = json!(self);
        name.as_str().unwrap_or_default().to_owned()
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
                     `[\"variable\", 0]`, `[\"error\", \"why\"]`, a function and its arguments, or `[\"postfix\", …]`";

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
        if name == "postfix" {
            return postfix(list);
        }
        if let Some(leaf) = leaf(&name, list.as_slice()) {
            return leaf;
        }
        let arguments: Result<Vec<_>, _> = list.map(Self::try_from).collect();
        call(function(name)?, arguments?)
    }
}

/// Returns what has no arguments, by the word in front; none where the word is a function's.
fn leaf(name: &str, rest: &[Json]) -> Option<Result<Expression, String>> {
    let made = match (name, rest) {
        ("integer", [value]) => value.as_i64().map(Expression::Integer),
        // Of another expression it is the function.
        ("double", [value]) if !value.is_array() => value.as_f64().map(Expression::Double),
        ("boolean", [value]) => value.as_bool().map(Expression::Boolean),
        ("variable" | "drawn", [value]) => {
            let index = value.as_u64().and_then(|index| usize::try_from(index).ok());
            let form = if name == "drawn" {
                Expression::Drawn
            } else {
                Expression::Variable
            };
            index.map(form)
        }
        ("error", [Json::String(reason)]) => Some(Expression::Error(reason.clone())),
        ("null", []) => Some(Expression::Null),
        ("integer" | "boolean" | "variable" | "drawn" | "error" | "null", _) => None,
        _ => return None,
    };
    Some(made.ok_or_else(|| SHAPE.to_owned()))
}

/// Returns the function of a name.
fn function(name: String) -> Result<Function, String> {
    let refused = format!("no function `{name}`");
    serde_json::from_value(Json::String(name)).map_err(|_| refused)
}

/// Returns the call of a function.
fn call(function: Function, arguments: Vec<Expression>) -> Result<Expression, String> {
    if !function.takes(arguments.len()) {
        let (name, count) = (function.name(), arguments.len());
        return Err(format!("`{name}` does not take {count} arguments"));
    }
    Ok(Expression::Call(function, arguments))
}

/// A function in a list of parts: how many of those in front of it are its arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Apply {
    call: String,
    of: usize,
}

/// Returns an expression whose parts stand behind one another, arguments before their function: it may nest deeper than
/// readers of JSON go.
fn postfix(parts: impl Iterator<Item = Json>) -> Result<Expression, String> {
    // Each with how deep it nests.
    let mut stack: Vec<(Expression, usize)> = Vec::new();
    for part in parts {
        if part.is_array() {
            stack.push((Expression::try_from(part)?, 1));
            continue;
        }
        let apply: Apply = serde_json::from_value(part).map_err(|_| SHAPE.to_owned())?;
        let first = stack.len().checked_sub(apply.of).ok_or(SHAPE)?;
        let (arguments, depths): (Vec<_>, Vec<_>) = stack.drain(first..).unzip();
        let depth = 1 + depths.into_iter().max().unwrap_or(0);
        if depth > DEPTH_MAX {
            return Err(format!("an expression nests at most {DEPTH_MAX} deep"));
        }
        stack.push((call(function(apply.call)?, arguments)?, depth));
    }
    match stack.pop() {
        Some((expression, _)) if stack.is_empty() => Ok(expression),
        _ => Err(SHAPE.to_owned()),
    }
}

impl From<Expression> for Json {
    fn from(expression: Expression) -> Self {
        match expression {
            Expression::Integer(number) => json!(["integer", number]),
            Expression::Double(number) => json!(["double", number]),
            Expression::Boolean(truth) => json!(["boolean", truth]),
            Expression::Null => json!(["null"]),
            Expression::Error(reason) => json!(["error", reason]),
            Expression::Drawn(index) => json!(["drawn", index]),
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
    fn an_expression_in_parts_is_the_tree_that_they_make() {
        let parts = r#"["postfix",["variable",3],["double",1],{"call":"double","of":1},{"call":"lt","of":2},["error","no"],["null"],{"call":"case","of":3}]"#;
        let tree =
            r#"["case",["lt",["variable",3],["double",["double",1]]],["error","no"],["null"]]"#;
        assert_eq!(parsed(parts).unwrap(), parsed(tree).unwrap());
        let sum = |terms: usize| {
            let term = r#",["integer",1],{"call":"add","of":2}"#;
            parsed(&format!(
                r#"["postfix",["integer",1]{}]"#,
                term.repeat(terms - 1)
            ))
        };
        assert!(sum(DEPTH_MAX).is_ok());
        let refused = sum(DEPTH_MAX + 1).unwrap_err();
        assert!(
            refused.starts_with("an expression nests at most 1000 deep"),
            "{refused}"
        );
    }

    #[test]
    fn what_is_no_expression_is_refused_with_the_reason() {
        for (text, reason) in [
            ("5", SHAPE),
            (r#"["integer", 1.5]"#, SHAPE),
            (r#"["integer", 1, 2]"#, SHAPE),
            (r#"["variable", -1]"#, SHAPE),
            (r#"["error", 1]"#, SHAPE),
            (r#"["postfix"]"#, SHAPE),
            (r#"["postfix", 1]"#, SHAPE),
            (r#"["postfix", ["null"], ["null"]]"#, SHAPE),
            (r#"["postfix", ["null"], {"call": "add", "of": 2}]"#, SHAPE),
            (
                r#"["postfix", ["null"], {"call": "shell", "of": 1}]"#,
                "no function `shell`",
            ),
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
