//! Takes errors of the server and the loss of connections: operations are tried again, or given up, and counted.

use super::state::State;
use super::{Mode, Worker};
use crate::event::Event;
use crate::job::{OnLost, Otherwise};
use crate::program::{RoleCode, Step};
use crate::record::number_code;
use crate::record::{self, Code, Outcome};
use crate::session::{Opened, Sent, ServerError, SessionError, Sessions};
use crate::wire::{Keep, Wire};

/// Errors of one role and code that are written; all are counted.
pub(crate) const ERRORS_WRITTEN_MAX: u32 = 20;

/// The code that the loss of a connection counts as: connection_failure.
const LOST_CODE: Code = *b"08006";

impl<S: Sessions> Worker<S> {
    /// Takes an error of the server: the operation is tried again, or given up.
    #[cold]
    pub(super) fn refused(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let Some(error) = connection.reply.error.take() else {
            return;
        };
        let role = &self.code.roles[connection.role];
        let error = told(self.code.private, error);
        let retryable = retried(&role.retry, &error);
        let operation = &connection.operation;
        let again = retryable
            && operation.tries < role.tries
            && self.now_ns.saturating_sub(operation.due_ns) <= role.limit_ns
            && !matches!(self.mode, Mode::Draining | Mode::Holding);
        let fatal = !again
            && match role.otherwise {
                Otherwise::FailStep => true,
                Otherwise::Count => false,
                Otherwise::CountRetryable => !retryable,
            };
        connection.pipeline.open = false;
        let program = connection.operation.program;
        if program.script {
            // Statements behind the error were skipped, and with them perhaps their preparing.
            connection.executed.fill(false);
        }
        // PostgreSQL tells whether a transaction is open.
        let closed = !connection.reply.in_block && self.code.wire == Wire::Postgres;
        let transaction = program.transaction && !closed;
        self.count_error(index, &error, fatal);
        if fatal {
            let connection = &self.connections[index];
            let place = match self.code.steps[connection.operation.step] {
                Step::Send { statement, .. } | Step::Pipe { statement, .. } => {
                    self.code.statements[statement].place.clone()
                }
                _ => format!("role `{}`", self.code.roles[connection.role].name),
            };
            let role = &self.code.roles[connection.role];
            self.fail(failure(role, &place, &error));
        }
        let connection = &mut self.connections[index];
        connection.operation.failed = (!again).then(|| error.tally());
        if transaction {
            // The server may be within a transaction that only a ROLLBACK ends.
            connection.state = State::RollingBack;
            connection.reply.begin(Keep::Nothing);
            let out = self.sessions.output(index);
            out.clear();
            self.code.wire.text(out, b"ROLLBACK");
            if let Err(error) = self.sessions.send(index, Sent::Rollback, self.now_ns) {
                self.lost(index, &error);
            }
        } else {
            self.rolled_back(index);
        }
    }

    /// Begins an operation anew, or ends it, when nothing of it is open after an error.
    #[cold]
    pub(super) fn rolled_back(&mut self, index: usize) {
        if let Some(code) = self.connections[index].operation.failed {
            self.fail_operation(index, code);
            return;
        }
        let connection = &mut self.connections[index];
        let operation = &mut connection.operation;
        operation.tries += 1;
        (operation.rows, operation.rows_counted, operation.rows_said) = (0, 0, 0);
        operation.step = operation.program.first;
        operation.statement_due_ns = self.now_ns;
        connection.draw.begin(operation.number);
        for (cursor, was) in connection.draw.cursors.iter_mut().zip(&connection.cursors) {
            *cursor = was.unwrap_or(*cursor);
        }
        let (role, own) = (connection.role, operation.program.operation);
        self.totals[role].retries += 1;
        if self.operation_counts(index) {
            self.record.roles[role].operations[own].retries += 1;
        }
        self.go_on(index);
    }

    /// Ends an operation that its last error has ended.
    fn fail_operation(&mut self, index: usize, code: Code) {
        let connection = &self.connections[index];
        let (role, operation) = (connection.role, &connection.operation);
        let totals = &mut self.totals[role];
        totals.failed += 1;
        totals.retried += u64::from(operation.tries > 1);
        if self.operation_counts(index) {
            let own = operation.program.operation;
            self.record.roles[role].operations[own].fail(code, operation.tries);
        }
        if self.code.trace {
            self.trace(index, Some(code));
        }
        let own = self.connections[index].operation.program.operation;
        self.log(index, own, Outcome::Failed(code));
        self.finish(index);
    }

    /// Counts an error and writes it, if not too many of its kind have been.
    fn count_error(&mut self, index: usize, error: &ServerError, fatal: bool) {
        let connection = &self.connections[index];
        let (role, own) = (connection.role, connection.operation.program.operation);
        let code = error.tally();
        self.totals[role].errors += 1;
        if self.operation_counts(index) {
            self.record.roles[role].error(connection.client, own, code);
        }
        let written = self.written.entry((role, code)).or_default();
        *written += 1;
        if *written <= ERRORS_WRITTEN_MAX || fatal {
            self.write(Event::Error {
                mono_ns: self.now_ns,
                role: self.code.roles[role].name.clone(),
                client: connection.client,
                connection: connection.number,
                operation: self.code.roles[role].operations[own].clone(),
                code: record::code_text(code),
                message: error.message.clone(),
                fatal,
            });
        }
    }

    /// Takes the loss of a connection: ends its operation, if it had one, and has the connection made anew.
    #[cold]
    pub(super) fn lost(&mut self, index: usize, error: &SessionError) {
        match (self.mode, self.connections[index].state) {
            // It has nothing more to do, or is being made anew already.
            (_, State::Leaving) => self.left(index),
            (Mode::Holding, _) | (_, State::Connecting | State::Done | State::Lost) => {}
            (_, State::Idle | State::Thinking) => {
                self.count_loss(index, error);
                self.make_anew(index);
            }
            (_, State::AwaitsCursor) => {
                self.leave_probe(index);
                self.lose_operation(index, error);
            }
            (_, State::InFlight | State::RollingBack | State::Asleep) => {
                self.lose_operation(index, error);
            }
        }
    }

    /// Ends the operation of a lost connection.
    pub(super) fn lose_operation(&mut self, index: usize, error: &SessionError) {
        let code = self.count_loss(index, error);
        let connection = &mut self.connections[index];
        (connection.pipeline.open, connection.reply.in_block) = (false, false);
        self.fail_operation(index, code);
        let connection = &self.connections[index];
        let between = matches!(connection.state, State::Idle | State::Thinking);
        if between && !self.code.roles[connection.role].connects_each {
            self.make_anew(index);
        }
    }

    /// Counts a loss, by the server's own code where it gave one; the step fails where its role says so. Returns the code.
    fn count_loss(&mut self, index: usize, error: &SessionError) -> Code {
        let connection = &mut self.connections[index];
        let server = connection.reply.error.take();
        let (code, number) = server.map_or((LOST_CODE, 0), |error| (error.code, error.number));
        let error = ServerError {
            code,
            number,
            message: error.to_string(),
        };
        let (role, connection) = (connection.role, connection.number);
        let fatal = self.code.roles[role].on_lost == OnLost::FailStep;
        self.count_error(index, &error, fatal);
        if fatal {
            let (role, reason) = (&self.code.roles[role].name, &error.message);
            self.fail(format!(
                "role `{role}`: connection {connection} was lost: {reason}"
            ));
        }
        error.tally()
    }

    /// Takes an idle connection out of its group, and has it made anew unless the step has failed by its loss.
    fn make_anew(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.state = State::Lost;
        let idle = &mut self.groups[connection.group].idle;
        idle.retain(|idle| *idle != index);
        if self.code.roles[connection.role].on_lost == OnLost::Reconnect {
            self.sessions.reconnect(index);
        }
    }

    /// Takes a lost connection that has been made anew, or the reason why it cannot be.
    #[cold]
    pub(super) fn reconnected(&mut self, index: usize, outcome: Result<Opened, SessionError>) {
        self.renewed(index);
        if self.connections[index].state == State::Connecting {
            self.connected(index, outcome);
            return;
        }
        let connection = &mut self.connections[index];
        let name = self.code.roles[connection.role].name.clone();
        let opened = match outcome {
            Ok(opened) => opened,
            Err(error) => {
                self.fail(format!(
                    "role `{name}`: a connection could not be made anew: {error}"
                ));
                return;
            }
        };
        connection.take_parameters(opened.parameters);
        let (client, number) = (connection.client, connection.number);
        self.now_ns = self.sessions.now_ns();
        self.write(Event::Connected {
            mono_ns: self.now_ns,
            role: name,
            client,
            connection: number,
            server_pid: opened.server_pid,
            server_tid: opened.server_tid,
            processor: self.processor,
        });
        let connection = &mut self.connections[index];
        connection.free_ns = self.now_ns;
        if connection.state == State::Lost && !self.thinks_again(index) {
            self.is_free(index);
        }
    }
}

/// Returns an error as messages may tell it.
fn told(private: bool, error: ServerError) -> ServerError {
    if private {
        error.without_values()
    } else {
        error
    }
}

/// Why a step failed by an error of the statement at that place.
fn failure(role: &RoleCode, place: &str, error: &ServerError) -> String {
    if !error.is_time_out(role.statement_limit_s.is_some()) {
        return format!("{place}: the server answered: {error}");
    }
    let limit = role.statement_limit_s.map_or_else(
        || "the server's own limit".to_owned(),
        |limit_s| format!("its limit of {limit_s} s"),
    );
    let code = error.code_text();
    format!("{place}: timed out: the server ended it at {limit} (SQLSTATE {code})")
}

/// Tells whether an operation is tried again after an error: by its SQLSTATE or by MySQL's number.
fn retried(codes: &[Code], error: &ServerError) -> bool {
    codes.contains(&error.code) || (error.number > 0 && codes.contains(&number_code(error.number)))
}
