//! A job compiled: what every worker reads and none changes.

use crate::draw::{Values, class_part};
use crate::job::{Capture, Instruction, Job, OnLost, Otherwise, Piece, Role};
use crate::record::{Code, Shape};
use crate::session::{Wire, number_code};
use crate::statement::Statement;

/// A job in the form that workers run.
#[derive(Debug)]
pub struct Compiled {
    /// The values and what they share.
    pub values: Values,
    /// By the statement's index, then by the table's number; one entry where it names no table.
    statements: Box<[Box<[Statement]>]>,
    /// By the statement's index: what its class draws tables with.
    pub classes: Box<[u64]>,
    /// By the statement's index: the cursors it needs.
    pub needs: Box<[Box<[usize]>]>,
    /// By the statement's index: the cursors that its generation advances.
    pub advances: Box<[Box<[usize]>]>,
    /// By the role's index.
    pub roles: Box<[RoleCode]>,
    /// By the cursor's index.
    pub cursors: Box<[CursorCode]>,
    /// The protocol that requests are written in; the fake takes PostgreSQL's.
    pub wire: Wire,
    /// Whether operations are traced.
    pub trace: bool,
    /// What is kept of what statements return.
    pub capture: Box<[Capture]>,
}

/// What a role runs and how it takes errors.
#[derive(Debug)]
pub struct RoleCode {
    /// The role's name.
    pub name: String,
    /// Programs with the sum of the weights up to and with theirs.
    choices: Box<[(u64, ProgramCode)]>,
    /// The names of its operations; an operation's index is its place here.
    pub operations: Box<[String]>,
    /// The statements that it sends.
    pub statements: Box<[usize]>,
    /// Codes after which an operation is tried again.
    pub retry: Box<[Code]>,
    /// How many times it is tried in all.
    pub tries: u32,
    /// What follows an error then.
    pub otherwise: Otherwise,
    /// What follows the loss of a connection.
    pub on_lost: OnLost,
}

/// One program in one role.
#[derive(Debug)]
pub struct ProgramCode {
    /// Its instructions.
    pub steps: Box<[Step]>,
    /// The index of its operation in the role.
    pub operation: usize,
    /// Whether it sends more than one statement, which then are timed for themselves too.
    pub transaction: bool,
    /// Whether each of several statements commits by itself, as none begins a transaction.
    pub commits_each: bool,
}

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Draws a value.
    Draw(usize),
    /// Sends a statement.
    Send {
        /// The statement's index.
        statement: usize,
        /// The index of the statement's own operation in the role; the program's where it sends nothing else.
        operation: usize,
    },
    /// Leaves the connection idle for so long, in nanoseconds.
    Sleep(u64),
}

/// How a cursor is read and counted up.
#[derive(Debug)]
pub struct CursorCode {
    /// The cursor's name.
    pub name: String,
    start: String,
    /// What it grows by.
    pub advance: i64,
    /// It is read again when more than this many have been generated.
    pub resync_every: u64,
}

impl CursorCode {
    /// The SQL that reads it in a table.
    #[must_use]
    pub fn sql(&self, table: &str) -> String {
        self.start.replace("{t}", table)
    }
}

impl RoleCode {
    /// The program that a number below [`RoleCode::weights`] chooses.
    #[inline]
    #[must_use]
    pub fn program(&self, number: u64) -> usize {
        self.choices
            .iter()
            .position(|(below, _)| number < *below)
            .unwrap_or(0)
    }

    /// The sum of the weights.
    #[inline]
    #[must_use]
    pub fn weights(&self) -> u64 {
        self.choices.last().map_or(1, |(below, _)| *below)
    }

    /// The program at this place.
    #[inline]
    #[must_use]
    pub fn code(&self, program: usize) -> &ProgramCode {
        &self.choices[program].1
    }

    /// Whether there is more than one program to choose from.
    #[inline]
    #[must_use]
    pub fn chooses(&self) -> bool {
        self.choices.len() > 1
    }
}

impl Compiled {
    /// Compiles a valid job.
    #[must_use]
    pub fn new(job: &Job) -> Self {
        let statements = 0..job.statements.len();
        Self {
            values: Values::new(job),
            statements: statements
                .clone()
                .map(|index| for_tables(job, index))
                .collect(),
            classes: job
                .statements
                .iter()
                .map(|statement| class_part(statement.class.as_ref().unwrap_or(&statement.name)))
                .collect(),
            needs: statements
                .clone()
                .map(|index| {
                    let on = (0..job.cursors.len())
                        .filter(|cursor| job.cursors[*cursor].on == Some(index));
                    let mut needs = job.cursors_of(index);
                    needs.extend(on);
                    needs.into_iter().collect()
                })
                .collect(),
            advances: statements
                .map(|index| {
                    let cursors = 0..job.cursors.len();
                    cursors
                        .filter(|cursor| job.cursors[*cursor].on == Some(index))
                        .collect()
                })
                .collect(),
            roles: job.roles.iter().map(|role| role_code(job, role)).collect(),
            cursors: job
                .cursors
                .iter()
                .map(|cursor| CursorCode {
                    name: cursor.name.clone(),
                    start: cursor.start.clone(),
                    advance: cursor.advance,
                    resync_every: cursor.resync_every.unwrap_or(u64::MAX),
                })
                .collect(),
            wire: Wire::of(job).unwrap_or(Wire::Postgres),
            trace: job.trace,
            capture: job.capture.as_slice().into(),
        }
    }

    /// A statement for a table's number.
    #[inline]
    #[must_use]
    pub fn statement(&self, index: usize, table: u32) -> &Statement {
        let by_table = &self.statements[index];
        &by_table[if by_table.len() == 1 {
            0
        } else {
            table as usize
        }]
    }

    /// The tables' numbers that a statement is compiled for: 0 alone where it names none.
    #[must_use]
    pub fn tables(&self, index: usize) -> std::ops::Range<u32> {
        0..u32::try_from(self.statements[index].len()).unwrap_or(u32::MAX)
    }

    /// The shape of the records of a job with this many clients.
    #[must_use]
    pub fn shape(&self, job: &Job) -> Shape {
        let clients = |role: &Role| match role.per {
            crate::job::Per::Client => job.clients as usize,
            crate::job::Per::Step => 1,
        };
        Shape(
            self.roles
                .iter()
                .zip(&job.roles)
                .map(|(code, role)| (clients(role), code.operations.len()))
                .collect(),
        )
    }
}

/// The full name of a table; its number counts from 0, its name from 1.
#[must_use]
pub fn table_name(of: &str, number: u32) -> String {
    format!("{of}{}", number + 1)
}

fn for_tables(job: &Job, index: usize) -> Box<[Statement]> {
    match job.tables_of(index).first() {
        Some(of) => (0..job.tables[*of])
            .map(|number| Statement::compile(job, index, &table_name(of, number)))
            .collect(),
        None => [Statement::compile(job, index, "")].into(),
    }
}

fn role_code(job: &Job, role: &Role) -> RoleCode {
    let mut operations = Vec::new();
    let mut below = 0;
    let mut choices = Vec::new();
    for choice in role.choose.iter().filter(|choice| choice.weight > 0) {
        below += u64::from(choice.weight);
        choices.push((below, program_code(job, choice.program, &mut operations)));
    }
    RoleCode {
        name: role.name.clone(),
        choices: choices.into(),
        operations: operations.into(),
        statements: job.statements_of(role).into_iter().collect(),
        retry: role
            .on_error
            .retry
            .iter()
            .filter_map(|code| match code.parse() {
                Ok(number) if code.len() < 5 => Some(number_code(number)),
                _ => code.as_bytes().try_into().ok(),
            })
            .collect(),
        tries: role.on_error.tries,
        otherwise: role.on_error.otherwise,
        on_lost: role.on_lost,
    }
}

fn program_code(job: &Job, program: usize, operations: &mut Vec<String>) -> ProgramCode {
    let mut operation = |name: &str| {
        operations
            .iter()
            .position(|known| known == name)
            .unwrap_or_else(|| {
                operations.push(name.to_owned());
                operations.len() - 1
            })
    };
    let transaction = job.sends(program) > 1;
    let own = transaction.then(|| operation(&job.programs[program].name));
    let mut last = 0;
    let steps = job.programs[program]
        .code
        .iter()
        .map(|instruction| match *instruction {
            Instruction::Draw(value) => Step::Draw(value),
            Instruction::Sleep(us) => Step::Sleep(us as u64 * 1000),
            Instruction::Send(statement) => {
                last = operation(&job.statements[statement].name);
                Step::Send {
                    statement,
                    operation: last,
                }
            }
        })
        .collect();
    ProgramCode {
        steps,
        operation: own.unwrap_or(last),
        transaction,
        commits_each: transaction && !begins_transaction(job, program),
    }
}

/// Whether a statement of a program begins a transaction.
fn begins_transaction(job: &Job, program: usize) -> bool {
    job.programs[program].code.iter().any(|instruction| {
        let Instruction::Send(statement) = instruction else {
            return false;
        };
        let Some(Piece::Text(text)) = job.statements[*statement].pieces.first() else {
            return false;
        };
        let word = text.split_whitespace().next().unwrap_or_default();
        let word = word.trim_end_matches(';');
        word.eq_ignore_ascii_case("BEGIN") || word.eq_ignore_ascii_case("START")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str) -> Compiled {
        let path = format!("{}/contract/job-{name}.json", env!("CARGO_MANIFEST_DIR"));
        Compiled::new(&Job::parse(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    #[test]
    fn a_single_statement_is_an_operation_of_its_name() {
        let code = example("qr100");
        assert_eq!(*code.roles[2].operations, ["market", "register", "pdc"]);
        let chosen: Vec<_> = (0..code.roles[2].weights())
            .map(|number| code.roles[2].program(number))
            .collect();
        assert_eq!(chosen, [0, 1, 2]);
        assert!(!code.roles[2].code(1).transaction);
    }

    #[test]
    fn a_transaction_is_timed_as_a_whole_and_by_statement() {
        let code = example("l.x");
        let names = [
            "insert-and-index",
            "insert",
            "marketsegment",
            "registersegment",
            "pdc",
        ];
        assert_eq!(*code.roles[0].operations, names);
        let program = code.roles[0].code(0);
        assert_eq!(
            (program.operation, program.transaction, program.steps.len()),
            (0, true, 4)
        );
        assert_eq!(
            code.statement(1, 1).sql,
            "CREATE INDEX pi2_marketsegment ON pi2 (productid,customerid,price)"
        );
    }

    #[test]
    fn a_statement_has_its_tables_name_and_number_in_it() {
        let code = example("prepare");
        assert_eq!(code.statement(2, 2).sql, "CREATE INDEX k_3 ON sbtest3(k)");
        assert!(code.roles[0].code(0).commits_each);
        assert!(!example("qr100").roles[0].code(0).commits_each);
    }

    #[test]
    fn cursors_are_found_through_the_bounds_of_values() {
        let code = example("qp100");
        assert_eq!(*code.needs[2], [0, 1], "the points between tail and head");
        assert_eq!(
            (&*code.advances[1], &*code.advances[2]),
            ([0].as_slice(), [1].as_slice())
        );
        assert_eq!(
            code.cursors[0].sql("pi2"),
            "SELECT min(transactionid) FROM pi2"
        );
    }
}
