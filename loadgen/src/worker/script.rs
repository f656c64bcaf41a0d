//! Runs what only scripts have: assignments, branches, sleeps by a variable, pipelines, results that variables take.
//!
//! A script may send nothing at all. Then its connection is never waited for: so that ticks, commands and other
//! connections have their turn, such operations are begun for a short while in each round of the worker, of each group
//! in turn.

use super::operation::unix_s;
use super::state::State;
use super::{Mode, Worker};
use crate::layout::Walk;
use crate::program::Step;
use crate::record::{Outcome, Rows, Times};
use crate::session::{Sent, Sessions};
use crate::wire::{Keep, postgres};

/// How long operations that send nothing are begun before everything else has its turn.
const TURN_NS: u64 = 50_000;

/// The longest sleep: a day.
const SLEEP_NS_MAX: u64 = 86_400_000_000_000;

/// Whether a prefix and a column's name make a variable's: letters, digits, `_` and all beyond ASCII, and no digit in front.
fn can_name(prefix: &str, name: &[u8]) -> bool {
    let mut bytes = prefix.bytes().chain(name.iter().copied());
    let begins = |byte: u8| !byte.is_ascii() || byte.is_ascii_alphabetic() || byte == b'_';
    bytes.next().is_some_and(begins) && bytes.all(|byte| begins(byte) || byte.is_ascii_digit())
}

/// What a connection gathers between the beginning of a pipeline and its sending.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    pub(super) open: bool,
    request: Vec<u8>,
    /// Synchronisations, each of which is answered.
    answers: u32,
    /// The statements' own operations in the role.
    operations: Vec<usize>,
}

impl<S: Sessions> Worker<S> {
    /// Does a step that only scripts have, and those of its kind that follow; returns whether the program goes on at once.
    /// A function of its own, so that other programs' steps have no more to carry.
    #[inline(never)]
    pub(super) fn run_script(&mut self, index: usize, step: Step) -> bool {
        match step {
            Step::Rest(sleep) => self.rest(index, sleep),
            Step::Pipe { statement, .. } if self.connections[index].pipeline.open => {
                self.cursors_ready(index, statement) && self.gather(index, step)
            }
            Step::Pipe { statement, .. } => {
                if self.cursors_ready(index, statement) {
                    self.generate(index, statement);
                }
                false
            }
            Step::Pipeline => self.begin_pipeline(index),
            Step::Sync => self.synchronise(index),
            Step::Flush => {
                self.send_pipeline(index);
                false
            }
            Step::EndScript => {
                self.end_script(index, Worker::complete);
                false
            }
            Step::RolledBack => {
                self.end_script(index, Worker::roll_back);
                false
            }
            _ => self.compute(index),
        }
    }

    /// Makes assignments and goes through branches up to the next step of another kind.
    #[inline]
    fn compute(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        let code = &*self.code;
        let step = &mut connection.operation.step;
        let (fault, place) = loop {
            match code.steps[*step] {
                Step::Set(assignment) => {
                    let assignment = &code.script.assignments[assignment];
                    match connection.draw.evaluate(&assignment.expression) {
                        Ok(value) => connection.draw.variables.set(assignment.variable, value),
                        Err(fault) => break (fault, &assignment.place),
                    }
                    *step += 1;
                }
                Step::Unless { branch, to } => {
                    let branch = &code.script.branches[branch];
                    match connection.draw.evaluate(&branch.condition) {
                        Ok(value) => *step = if value.is_true() { *step + 1 } else { to },
                        Err(fault) => break (fault, &branch.place),
                    }
                }
                Step::Jump(to) => *step = to,
                _ => return true,
            }
        };
        let reason = format!("{place}: {}", fault.text(&code.script.variables));
        self.give_up(index, reason);
        false
    }

    /// Ends an operation that cannot go on, and with it the step.
    #[cold]
    fn give_up(&mut self, index: usize, reason: String) {
        self.fail(reason);
        self.finish(index);
    }

    /// Gives up where a program as a whole is at fault.
    #[cold]
    fn give_up_program(&mut self, index: usize, reason: &str) -> bool {
        let connection = &self.connections[index];
        let role = &self.code.roles[connection.role];
        let name = &role.operations[connection.operation.program.operation];
        let reason = format!("script `{name}`: {reason}");
        self.give_up(index, reason);
        false
    }

    /// Sleeps as long as a variable says; returns whether the program goes on at once.
    fn rest(&mut self, index: usize, sleep: usize) -> bool {
        let connection = &mut self.connections[index];
        let rest = &self.code.script.sleeps[sleep];
        if !connection.draw.variables.is_set(rest.variable) {
            let name = &self.code.script.variables[rest.variable];
            let reason = format!("{}: undefined variable \"{name}\"", rest.place);
            self.give_up(index, reason);
            return false;
        }
        let Some(number) = connection.draw.variables.leading_integer(rest.variable) else {
            let name = &self.code.script.variables[rest.variable];
            let mut text = Vec::new();
            connection.draw.variables.write(&mut text, rest.variable);
            let text = String::from_utf8_lossy(&text);
            let reason = format!(
                "{}: invalid sleep time \"{text}\" for variable \"{name}\"",
                rest.place
            );
            self.give_up(index, reason);
            return false;
        };
        let unit_ns = u64::from(rest.unit_us) * 1000;
        let duration_ns = u64::try_from(number).unwrap_or(0).saturating_mul(unit_ns);
        connection.operation.step += 1;
        !self.falls_asleep(index, duration_ns.min(SLEEP_NS_MAX))
    }

    fn begin_pipeline(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        let pipeline = &mut connection.pipeline;
        if pipeline.open {
            return self.give_up_program(index, "\\startpipeline: already in pipeline mode");
        }
        pipeline.request.clear();
        pipeline.operations.clear();
        (pipeline.open, pipeline.answers) = (true, 0);
        connection.operation.step += 1;
        true
    }

    /// Writes a statement behind those that are to be sent with it.
    fn gather(&mut self, index: usize, step: Step) -> bool {
        let Step::Pipe {
            statement,
            operation,
        } = step
        else {
            return true;
        };
        let code = &self.code.statements[statement];
        if code.keep != Keep::Nothing {
            let reason = format!(
                "{}: \\gset and \\aset are not allowed in pipeline mode",
                code.place
            );
            self.give_up(index, reason);
            return false;
        }
        self.use_cursors(index, statement);
        let connection = &mut self.connections[index];
        connection.draw.unix_s = unix_s(self.now_ns, self.shared.unix_ahead_ns);
        let code = &self.code;
        if let Walk::Draw { tables } = connection.walk {
            let class = code.statements[statement].class;
            connection.table = connection.draw.table(class, tables);
        }
        let table = connection.table;
        let bound = connection.parameters[statement].bound(table, &mut connection.executed);
        let compiled = code.statement(statement, table);
        let request = &mut connection.pipeline.request;
        let gathered = compiled.gather(&code.values, &mut connection.draw, bound, request);
        connection.pipeline.operations.push(operation);
        self.sessions.gathered(index, statement);
        self.advance_cursors(index, statement);
        let operation = &mut self.connections[index].operation;
        operation.generated = operation.generated.max(operation.step + 1);
        operation.step += 1;
        if let Err(overflow) = gathered {
            let name = &self.code.statement(statement, table).wire_name;
            self.give_up(index, format!("statement {name}: {overflow}"));
            return false;
        }
        true
    }

    fn synchronise(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        let pipeline = &mut connection.pipeline;
        if !pipeline.open {
            return self.give_up_program(index, "\\syncpipeline: not in pipeline mode");
        }
        postgres::sync(&mut pipeline.request);
        pipeline.answers += 1;
        connection.operation.step += 1;
        true
    }

    /// Sends a pipeline, all of which is waited for.
    fn send_pipeline(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let pipeline = &mut connection.pipeline;
        if !pipeline.open {
            self.give_up_program(index, "\\endpipeline: not in pipeline mode");
            return;
        }
        postgres::sync(&mut pipeline.request);
        pipeline.answers += 1;
        let out = self.sessions.output(index);
        out.clear();
        out.extend_from_slice(&pipeline.request);
        let sent = Sent::Pipeline(pipeline.answers);
        connection.state = State::InFlight;
        connection.reply.begin(Keep::Counts);
        self.send(index, sent);
    }

    /// Takes what a script's statement or pipeline was answered; returns whether it goes on.
    pub(super) fn take_results(&mut self, index: usize) -> bool {
        let counts = self.operation_counts(index);
        let connection = &mut self.connections[index];
        let Some(results) = &connection.reply.results else {
            return true;
        };
        match self.code.steps[connection.operation.step] {
            Step::Flush => {
                connection.pipeline.open = false;
                let operation = &connection.operation;
                let (due_ns, sent_ns) = (operation.statement_due_ns, operation.statement_sent_ns);
                let times = Times::new(due_ns, sent_ns, self.now_ns);
                let role = &mut self.record.roles[connection.role];
                let rows = results.counts.iter().copied().chain(std::iter::repeat(0));
                for (own, rows) in connection.pipeline.operations.iter().zip(rows) {
                    if counts {
                        role.operations[*own].complete(times, Rows::beyond(0, rows));
                    }
                }
            }
            Step::Send { statement, .. } | Step::Pipe { statement, .. } => {
                let code = &self.code.statements[statement];
                if code.keep == Keep::Last && results.rows() != 1 {
                    let rows = results.rows();
                    let reason = format!("{}: expected one row, got {rows}", code.place);
                    self.give_up(index, reason);
                    return false;
                }
                let variables = &mut connection.draw.variables;
                let mut refused = None;
                results.visit(|name, value| {
                    let mut into = code.into.iter();
                    let taken = into.find(|(column, _)| **column == *name);
                    let why = match taken {
                        Some((_, None)) => ", as a value has this name; rename one of them",
                        _ if !can_name(&code.prefix, name) => "",
                        Some((_, Some(variable))) => {
                            variables.set_text(*variable, value);
                            return;
                        }
                        None => return,
                    };
                    refused.get_or_insert_with(|| {
                        let name = String::from_utf8_lossy(name);
                        let (place, prefix) = (&code.place, &code.prefix);
                        format!("{place}: error storing into variable {prefix}{name}{why}")
                    });
                });
                if let Some(reason) = refused {
                    self.give_up(index, reason);
                    return false;
                }
            }
            _ => {}
        }
        true
    }

    /// Completes an operation whose script has come to its end by `complete`, unless it left something open.
    #[inline]
    fn end_script(&mut self, index: usize, complete: fn(&mut Self, usize)) {
        let connection = &self.connections[index];
        if connection.pipeline.open {
            self.give_up_program(index, "end of script reached with pipeline open");
        } else if connection.reply.in_block {
            let reason = "end of script reached without completing the last transaction";
            self.give_up_program(index, reason);
        } else {
            if connection.operation.sent_ns == 0 {
                self.has_computed(index);
            }
            complete(self, index);
        }
    }

    /// Ends an operation that has rolled back what it did, as it was to: it is neither complete nor failed.
    fn roll_back(&mut self, index: usize) {
        let counts = self.operation_counts(index);
        let connection = &self.connections[index];
        let operation = &connection.operation;
        let (role, own) = (connection.role, operation.program.operation);
        let retried = u64::from(operation.tries > 1);
        self.totals[role].rolled_back += 1;
        self.totals[role].retried += retried;
        let record = &mut self.record.roles[role];
        if counts {
            record.operations[own].rolled_back += 1;
            record.operations[own].retried += retried;
        }
        let outcome = Outcome::Done {
            response_ns: self.now_ns.saturating_sub(operation.due_ns),
            late_ns: operation.sent_ns.saturating_sub(operation.due_ns),
        };
        if self.code.trace {
            self.trace(index, None);
        }
        self.log(index, own, outcome);
        self.finish(index);
    }

    /// Takes the time of an operation that neither sent anything nor slept, and lets its group wait for its turn.
    #[inline]
    fn has_computed(&mut self, index: usize) {
        self.connections[index].operation.sent_ns = self.now_ns;
        self.sent_first(index);
        self.sessions.computed();
        self.now_ns = self.sessions.now_ns();
        if self.mode == Mode::Running || self.mode == Mode::Pausing {
            self.pass_time(self.now_ns, false);
        }
        let group = self.connections[index].group;
        if !std::mem::replace(&mut self.groups[group].computing, true) {
            self.computing.push_back(group);
        }
    }

    /// Begins operations of groups that send nothing, one after the other, for a while.
    pub(super) fn take_turns(&mut self) {
        let until_ns = self.now_ns.saturating_add(TURN_NS);
        while self.mode == Mode::Running && self.now_ns < until_ns {
            let Some(group) = self.computing.pop_front() else {
                return;
            };
            self.groups[group].computing = false;
            self.due_groups.push(group);
            self.start_due();
        }
    }
}
