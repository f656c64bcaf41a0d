//! Compiling a job's expressions: what is the same each time is computed here.

use super::register::constant_of;
use super::{Expression, Scalar, function, range};
use crate::job::{self, Function, Job, Rest};

/// What the scripts of a job compute, by the indices that its programs name it by.
#[derive(Debug)]
pub struct ScriptCode {
    /// The names of the variables.
    pub variables: Box<[String]>,
    /// What is assigned.
    pub assignments: Box<[AssignmentCode]>,
    /// What decides where a program goes on.
    pub branches: Box<[BranchCode]>,
    /// Sleeps as long as variables say.
    pub sleeps: Box<[Rest]>,
}

/// A variable and what it is given.
#[derive(Debug)]
pub struct AssignmentCode {
    /// The index of the variable.
    pub variable: usize,
    /// What it is given.
    pub expression: Expression,
    /// Where it was written.
    pub place: String,
}

/// What has to be true for a program to go straight on.
#[derive(Debug)]
pub struct BranchCode {
    /// The condition.
    pub condition: Expression,
    /// Where it was written.
    pub place: String,
}

impl ScriptCode {
    /// Compiles those of a valid job.
    #[must_use]
    pub fn new(job: &Job) -> Self {
        let mut compiler = Compiler::new(job);
        let assignments = job.assignments.iter().map(|assignment| AssignmentCode {
            variable: assignment.variable,
            expression: compiler.compile(&assignment.expression, &assignment.place),
            place: assignment.place.clone(),
        });
        let assignments = assignments.collect();
        let branches = job.branches.iter().map(|branch| BranchCode {
            condition: compiler.compile(&branch.unless, &branch.place),
            place: branch.place.clone(),
        });
        Self {
            assignments,
            branches: branches.collect(),
            sleeps: job.sleeps.clone().into(),
            variables: job.variables.iter().map(|one| one.name.clone()).collect(),
        }
    }
}

/// Compiles the expressions of a job.
#[derive(Debug)]
pub(super) struct Compiler {
    /// By the variable's index: what it always is, where nothing is ever assigned to it.
    constants: Vec<Option<Scalar>>,
    slots: usize,
}

impl Compiler {
    /// Makes one for a valid job.
    pub(super) fn new(job: &Job) -> Self {
        let variables = 0..job.variables.len();
        Self {
            constants: variables.map(|index| constant_of(job, index)).collect(),
            slots: 0,
        }
    }

    /// Compiles an expression that was written at a place.
    pub(super) fn compile(&mut self, expression: &job::Expression, place: &str) -> Expression {
        match expression {
            job::Expression::Integer(number) => Expression::Constant(Scalar::Integer(*number)),
            job::Expression::Double(number) => Expression::Constant(Scalar::Double(*number)),
            job::Expression::Boolean(truth) => Expression::Constant(Scalar::Boolean(*truth)),
            job::Expression::Null => Expression::Constant(Scalar::Null),
            job::Expression::Error(reason) => Expression::Error(reason.as_str().into()),
            job::Expression::Drawn(value) => Expression::Drawn(*value),
            job::Expression::Variable(index) => match self.constants[*index] {
                Some(constant) => Expression::Constant(constant),
                None => Expression::Variable(*index),
            },
            job::Expression::Call(function, arguments) => {
                let arguments = arguments.iter();
                let arguments = arguments.map(|one| self.compile(one, place)).collect();
                folded(self.call(*function, arguments, place))
            }
        }
    }

    /// Returns the call of a function with as many arguments as it takes.
    fn call(
        &mut self,
        function: Function,
        mut arguments: Vec<Expression>,
        place: &str,
    ) -> Expression {
        match function {
            Function::And => Expression::And(Box::new(exactly(arguments))),
            Function::Or => Expression::Or(Box::new(exactly(arguments))),
            Function::Case => Expression::Case(arguments.into()),
            Function::Greatest | Function::Least => {
                Expression::Extremum(function, arguments.into())
            }
            Function::Pi => Expression::Constant(Scalar::Double(std::f64::consts::PI)),
            Function::Random => Expression::Random(Box::new(exactly(arguments))),
            Function::Permute => Expression::Permute(Box::new(exactly(arguments)), self.slot()),
            Function::RandomExponential | Function::RandomGaussian | Function::RandomZipfian => {
                Expression::Skewed(function, Box::new(exactly(arguments)), self.slot())
            }
            Function::Debug => {
                let [argument] = exactly(arguments);
                Expression::Debug(Box::new((place.to_owned(), argument)))
            }
            // pgbench knows these by the operands' other order.
            Function::Gt | Function::Ge => {
                arguments.reverse();
                let less = match function {
                    Function::Gt => Function::Lt,
                    _ => Function::Le,
                };
                Expression::Binary(less, Box::new(exactly(arguments)))
            }
            _ if arguments.len() == 2 => Expression::Binary(function, Box::new(exactly(arguments))),
            _ => {
                let [argument] = exactly(arguments);
                Expression::Unary(function, Box::new(argument))
            }
        }
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }
}

/// Returns as many arguments as there are.
fn exactly<const COUNT: usize>(arguments: Vec<Expression>) -> [Expression; COUNT] {
    let arguments: Result<[Expression; COUNT], _> = arguments.try_into();
    arguments.expect("a valid job gives as many arguments as a function takes")
}

/// Returns a call of constants as what it gives; what it cannot give is said when it is asked for.
fn folded(call: Expression) -> Expression {
    let constant = |part: &Expression| match part {
        Expression::Constant(constant) => Some(*constant),
        _ => None,
    };
    let value = match &call {
        Expression::Unary(function, argument) => {
            constant(argument).and_then(|value| function::unary(*function, value).ok())
        }
        Expression::Binary(function, pair) => {
            let pair = constant(&pair[0]).zip(constant(&pair[1]));
            pair.and_then(|(left, right)| function::binary(*function, left, right).ok())
        }
        Expression::Extremum(function, arguments) => {
            let values: Option<Vec<_>> = arguments.iter().map(constant).collect();
            values.and_then(|values| function::extremum(*function, &values).ok())
        }
        Expression::Random(pair) => {
            let pair = constant(&pair[0]).zip(constant(&pair[1]));
            let range = pair.and_then(|(low, high)| range(low, high).ok());
            return range.map_or(call, |range| Expression::Uniform(range.low, range.high));
        }
        _ => None,
    };
    value.map_or(call, Expression::Constant)
}
