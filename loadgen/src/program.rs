//! Compiles a job into what every worker reads and none changes.

mod choice;
mod cursor;
mod renewal;
mod sample;
mod statement;
mod think;

use crate::draw::Values;
use crate::expression::ScriptCode;
use crate::job::{Capture, Connect, Instruction, Job, Marks, OnLost, Otherwise, Piece, Role};
use crate::record::{Code, Shape, number_code};
use crate::samples::Samples;
use crate::statement::Statement;
use crate::wire::Wire;
pub use choice::{Choices, Choosing};
pub use cursor::CursorCode;
pub use renewal::Renewal;
pub use sample::Sample;
pub use statement::{Column, StatementCode};
use think::Thinks;

/// A job in the form that workers run.
#[derive(Debug)]
pub struct Compiled {
    /// The values and what they share.
    pub values: Values,
    /// By the statement's index.
    pub statements: Box<[StatementCode]>,
    /// The steps of all programs of all roles, each program's one after the other.
    pub steps: Box<[Step]>,
    /// By the role's index.
    pub roles: Box<[RoleCode]>,
    /// By the cursor's index.
    pub cursors: Box<[CursorCode]>,
    /// Whether each reading of a cursor has a connection of its own.
    pub reads_over_new_connections: bool,
    /// The protocol that requests are written in; the fake takes PostgreSQL's.
    pub wire: Wire,
    /// Whether operations are traced.
    pub trace: bool,
    /// Whether no message may quote what the server says of values.
    pub private: bool,
    /// What is kept of what statements return.
    pub capture: Box<[Capture]>,
    /// What scripts compute.
    pub script: ScriptCode,
    /// Which operations are logged; none where none are.
    pub log: Option<Sample>,
}

/// What a role runs and how it takes errors.
#[derive(Debug)]
pub struct RoleCode {
    /// The role's name.
    pub name: String,
    /// Its programs.
    pub choices: Choices,
    /// How long its connections are idle before and after each of them; none: nothing is between them.
    pub thinks: Option<Box<Thinks>>,
    /// The names of its operations, by their index.
    pub operations: Box<[String]>,
    /// By the operation's index: the first of the role's programs that it is, from 0.
    pub scripts: Box<[usize]>,
    /// The statements that it sends.
    pub statements: Box<[usize]>,
    /// What each of its connections sends before them.
    pub session: Box<[String]>,
    /// How long the server lets a statement take; none: as it says itself.
    pub statement_limit_s: Option<f64>,
    /// Codes after which an operation is tried again.
    pub retry: Box<[Code]>,
    /// How many times it is tried in all; `u32::MAX`: without limit.
    pub tries: u32,
    /// The longest response time that is wanted; `u64::MAX`: none is too long.
    pub limit_ns: u64,
    /// What follows an error then.
    pub otherwise: Otherwise,
    /// What follows the loss of a connection.
    pub on_lost: OnLost,
    /// Whether each operation has a connection of its own.
    pub connects_each: bool,
    /// How its connections are made anew after each pause; none: they last.
    pub renewal: Option<Box<Renewal>>,
    /// Which of its operations are marks, and the program that these run.
    pub marks: Option<(Marks, Program)>,
}

/// One program in one role: what an operation keeps of it from its beginning to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Program {
    /// The index of its first step in [`Compiled::steps`]; the last is [`Step::End`] or [`Step::EndScript`].
    pub first: usize,
    /// The index of its operation in the role.
    pub operation: usize,
    /// Whether it sends more than one statement, or is a script: each statement is timed for itself too.
    pub transaction: bool,
    /// Whether it computes with variables, branches or pipelines.
    pub script: bool,
    /// Whether each of several statements commits by itself, as none begins a transaction.
    pub commits_each: bool,
}

/// One step of a program.
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
    /// Makes an assignment.
    Set(usize),
    /// Goes on elsewhere unless a condition is true.
    Unless {
        /// The branch's index.
        branch: usize,
        /// The step that comes else.
        to: usize,
    },
    /// Goes on elsewhere.
    Jump(usize),
    /// Leaves the connection idle as long as a variable says.
    Rest(usize),
    /// Sends a statement, or in a pipeline gathers it.
    Pipe {
        /// The statement's index.
        statement: usize,
        /// The index of the statement's own operation in the role.
        operation: usize,
    },
    /// Begins to gather what is sent.
    Pipeline,
    /// Ends a part of a pipeline.
    Sync,
    /// Sends what was gathered.
    Flush,
    /// Completes the operation of a script.
    EndScript,
    /// Ends the operation of a script as rolled back.
    RolledBack,
    /// Completes the operation.
    End,
}

impl Compiled {
    /// Compiles a valid job that draws no values from files.
    #[must_use]
    pub fn new(job: &Job) -> Self {
        Self::with(job, Samples::default())
    }

    /// Compiles a valid job, with its files as they were read.
    #[must_use]
    pub fn with(job: &Job, samples: Samples) -> Self {
        let mut steps = Vec::new();
        let roles = job.roles.iter();
        Self {
            values: Values::with(job, samples),
            statements: (0..job.statements.len())
                .map(|index| StatementCode::new(job, index))
                .collect(),
            roles: roles.map(|role| role_code(job, role, &mut steps)).collect(),
            steps: steps.into(),
            cursors: job.cursors.iter().map(CursorCode::new).collect(),
            reads_over_new_connections: job
                .cursors
                .iter()
                .any(|cursor| cursor.connect == Connect::Each),
            wire: Wire::of(job).unwrap_or(Wire::Postgres),
            trace: job.trace,
            private: job.is_private(),
            capture: job.capture.as_slice().into(),
            script: ScriptCode::new(job),
            log: job.log.as_ref().map(|log| Sample::new(job, log.share)),
        }
    }

    /// Returns a statement for a table's number.
    #[inline]
    #[must_use]
    pub fn statement(&self, index: usize, table: u32) -> &Statement {
        match &*self.statements[index].by_table {
            [only] => only,
            by_table => &by_table[table as usize],
        }
    }

    /// Whether some role's connections are made anew after each pause.
    #[must_use]
    pub fn renews(&self) -> bool {
        self.roles.iter().any(|role| role.renewal.is_some())
    }

    /// Returns the tables' numbers that a statement is compiled for: 0 alone where it names none.
    #[must_use]
    pub fn tables(&self, index: usize) -> std::ops::Range<u32> {
        0..u32::try_from(self.statements[index].by_table.len()).unwrap_or(u32::MAX)
    }

    /// Returns the shape of the records of a job with this many clients.
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

/// Compiles a role; appends the steps of its programs to `steps`.
fn role_code(job: &Job, role: &Role, steps: &mut Vec<Step>) -> RoleCode {
    let mut operations = Vec::new();
    let mut below = 0;
    let mut choices = Vec::new();
    let mut scripts = Vec::new();
    for (script, choice) in role.choose.iter().enumerate() {
        if choice.weight == 0 {
            continue;
        }
        below += u64::from(choice.weight);
        let program = compile_program(job, choice.program, &mut operations, steps);
        scripts.resize(operations.len().max(scripts.len()), script);
        choices.push((below, program));
    }
    let thinks = Thinks::of(role, choices.iter().map(|(_, program)| program.first));
    let mut marked = |marks: Marks| compile_program(job, marks.program, &mut operations, steps);
    let marks = role.marks.map(|marks| (marks, marked(marks)));
    scripts.resize(operations.len(), role.choose.len());
    RoleCode {
        name: role.name.clone(),
        choices: Choices::new(role.choice, choices.into()),
        thinks,
        operations: operations.into(),
        scripts: scripts.into(),
        statements: job.statements_of(role).into_iter().collect(),
        session: role.session_of(job.engine).into(),
        statement_limit_s: role.statement_limit_s,
        retry: role
            .on_error
            .retry
            .iter()
            .filter_map(|code| match code.parse() {
                Ok(number) if code.len() < 5 => Some(number_code(number)),
                _ => code.as_bytes().try_into().ok(),
            })
            .collect(),
        tries: match role.on_error.tries {
            0 => u32::MAX,
            tries => tries,
        },
        limit_ns: role.latency_limit_ns(),
        otherwise: role.on_error.otherwise,
        on_lost: role.on_lost,
        connects_each: role.connect == Connect::Each,
        renewal: Renewal::of(job, role).map(Box::new),
        marks,
    }
}

/// Compiles a program for a role: appends its steps to `steps`, and to `operations` the names that are new to the role.
fn compile_program(
    job: &Job,
    program: usize,
    operations: &mut Vec<String>,
    steps: &mut Vec<Step>,
) -> Program {
    let mut operation = |name: &str| {
        operations
            .iter()
            .position(|known| known == name)
            .unwrap_or_else(|| {
                operations.push(name.to_owned());
                operations.len() - 1
            })
    };
    let first = steps.len();
    let transaction = job.is_transaction(program);
    let own = transaction.then(|| operation(&job.programs[program].name));
    let mut last = 0;
    let code = &job.programs[program].code;
    for instruction in code {
        steps.push(match *instruction {
            Instruction::Draw(value) => Step::Draw(value),
            Instruction::Sleep(us) => Step::Sleep(us as u64 * 1000),
            Instruction::Set(assignment) => Step::Set(assignment),
            Instruction::Unless(branch) => Step::Unless {
                branch,
                to: first + job.branches[branch].to,
            },
            Instruction::Jump(to) => Step::Jump(first + to),
            Instruction::Rest(sleep) => Step::Rest(sleep),
            Instruction::Pipeline => Step::Pipeline,
            Instruction::Sync => Step::Sync,
            Instruction::Flush => Step::Flush,
            Instruction::RolledBack => Step::RolledBack,
            Instruction::Send(statement) => {
                last = operation(&job.statements[statement].name);
                let operation = last;
                if code.contains(&Instruction::Pipeline) {
                    Step::Pipe {
                        statement,
                        operation,
                    }
                } else {
                    Step::Send {
                        statement,
                        operation,
                    }
                }
            }
        });
    }
    let script = job.is_script(program);
    steps.push(if script { Step::EndScript } else { Step::End });
    Program {
        first,
        operation: own.unwrap_or(last),
        transaction,
        script,
        commits_each: transaction && !begins_transaction(job, program),
    }
}

/// Tells whether a statement of a program begins a transaction.
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
        let programs = code.roles[2].choices.programs().iter();
        let programs: Vec<_> = programs
            .map(|(below, program)| (*below, program.operation, program.transaction))
            .collect();
        assert_eq!(programs, [(1, 0, false), (2, 1, false), (3, 2, false)]);
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
        let (_, program) = code.roles[0].choices.programs()[0];
        assert_eq!((program.operation, program.transaction), (0, true));
        let steps = code.steps[program.first..].iter();
        let steps = steps.take_while(|step| **step != Step::End);
        assert_eq!(steps.count(), 4);
        assert_eq!(
            code.statement(1, 1).sql,
            "CREATE INDEX pi2_marketsegment ON pi2 (productid,customerid,price)"
        );
    }

    #[test]
    fn a_statement_has_its_tables_name_and_number_in_it() {
        let code = example("prepare");
        assert_eq!(code.statement(2, 2).sql, "CREATE INDEX k_3 ON sbtest3(k)");
        assert!(code.roles[0].choices.programs()[0].1.commits_each);
        assert!(
            !example("qr100").roles[0].choices.programs()[0]
                .1
                .commits_each
        );
    }

    #[test]
    fn a_tables_number_has_as_many_digits_as_it_is_to_have_at_least() {
        let path = format!("{}/contract/job-prepare.json", env!("CARGO_MANIFEST_DIR"));
        let mut job = Job::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        job.tables.insert("sbtest".to_owned(), 10);
        for (digits, number) in [(1, "3"), (2, "03"), (4, "0003")] {
            job.table_digits.insert("sbtest".to_owned(), digits);
            job.check().unwrap();
            let sql = format!("CREATE INDEX k_{number} ON sbtest{number}(k)");
            assert_eq!(Compiled::new(&job).statement(2, 2).sql, sql);
        }
        assert_eq!(job.table_name("sbtest", 9), "sbtest0010");
    }

    #[test]
    fn a_table_without_a_number_is_called_by_its_name_alone() {
        let path = format!("{}/contract/job-prepare.json", env!("CARGO_MANIFEST_DIR"));
        let mut job = Job::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        job.tables.insert("sbtest".to_owned(), 0);
        let code = Compiled::new(&job);
        assert_eq!(code.tables(2), 0..1);
        assert_eq!(code.statement(2, 0).sql, "CREATE INDEX k_ ON sbtest(k)");
    }

    #[test]
    fn cursors_are_found_through_the_bounds_of_values() {
        let code = example("qp100");
        let points = &code.statements[2];
        assert_eq!(*points.needs, [0, 1], "the points between tail and head");
        assert_eq!(*points.advances, [1]);
        assert_eq!(*code.statements[1].advances, [0]);
        assert_eq!(
            code.cursors[0].sql("pi2"),
            "SELECT min(transactionid) FROM pi2"
        );
    }
}
