//! Takes an operation through its course: begins it when its pace allows it, sends its statements, completes it. What
//! goes wrong is in `failure`.

use super::state::{Course, Operation, State};
use super::{Mode, Worker};
use crate::event::Event;
use crate::job::Capture;
use crate::layout::Walk;
use crate::program::Step;
use crate::record::{Code, Outcome, Rows, Times, TraceRecord, microseconds};
use crate::session::{Sent, Sessions};

impl<S: Sessions> Worker<S> {
    /// Starts what can start in the groups that something has happened to.
    #[inline]
    pub(super) fn start_due(&mut self) {
        while let Some(index) = self.due_groups.pop() {
            while self.mode == Mode::Running && self.shared.end_ns() == u64::MAX {
                let group = &mut self.groups[index];
                let Some(pacing) = self.pacings[group.pacing].begun_mut() else {
                    break;
                };
                let going = group.course == Course::Going && !group.computing;
                if !going || !pacing.ready(group.member, self.now_ns) {
                    break;
                }
                let Some(connection) = group.idle.pop_front() else {
                    break;
                };
                let skips = pacing.can_skip();
                let allowed_ns = pacing.start(group.member, self.now_ns);
                let of_pair = group.pacing;
                if skips && self.is_too_late(connection, allowed_ns) {
                    self.skip(connection, allowed_ns);
                } else {
                    self.begin(connection, allowed_ns);
                }
                self.read_queued(of_pair);
            }
            self.await_arrival(index);
        }
    }

    /// Begins the next operation of an idle connection, which its pacing has allowed.
    #[inline]
    fn begin(&mut self, index: usize, allowed_ns: u64) {
        let connection = &mut self.connections[index];
        let group = &self.groups[connection.group];
        let due_ns = if group.closed {
            allowed_ns.max(connection.completed_ns)
        } else {
            allowed_ns
        };
        self.due_groups.extend(group.partner);
        connection.quota -= 1;
        connection.operation = Operation {
            number: connection.begun,
            tries: 1,
            due_ns,
            begun_ns: self.now_ns,
            statement_due_ns: due_ns,
            ..Operation::default()
        };
        if let (Walk::Turn { step, tables }, true) = (connection.walk, connection.begun > 0) {
            connection.table = (connection.table + step) % tables;
        }
        connection.begun += 1;
        connection.cursors.fill(None);
        connection.draw.begin(connection.operation.number);
        connection.draw.unix_s = unix_s(self.now_ns, self.shared.unix_ahead_ns);
        let role = &self.code.roles[connection.role];
        let program = match role.marks {
            Some((marks, program)) if marks.cut(connection.operation.number, connection.quota) => {
                program
            }
            _ => role
                .choices
                .take(&connection.draw, &mut connection.choosing),
        };
        (connection.operation.program, connection.operation.step) = (program, program.first);
        self.busy += 1;
        if self.code.roles[self.connections[index].role].connects_each {
            self.connect(index);
        } else {
            self.go_on(index);
        }
    }

    /// Runs an operation's program up to its next statement, and sends that.
    #[inline]
    pub(super) fn go_on(&mut self, index: usize) {
        loop {
            let connection = &mut self.connections[index];
            let operation = &mut connection.operation;
            match self.code.steps[operation.step] {
                Step::Draw(value) => {
                    connection.draw.draw(&self.code.values, value);
                    operation.step += 1;
                }
                Step::Send { statement, .. } => {
                    if self.cursors_ready(index, statement) {
                        self.generate(index, statement);
                    }
                    return;
                }
                Step::Sleep(duration_ns) => {
                    operation.step += 1;
                    if self.falls_asleep(index, duration_ns) {
                        return;
                    }
                }
                Step::End => {
                    self.complete(index);
                    return;
                }
                step => {
                    if !self.run_script(index, step) {
                        return;
                    }
                }
            }
        }
    }

    /// Writes a statement into the session's buffer and sends it.
    #[inline]
    pub(super) fn generate(&mut self, index: usize, statement: usize) {
        self.use_cursors(index, statement);
        let connection = &mut self.connections[index];
        connection.draw.unix_s = unix_s(self.now_ns, self.shared.unix_ahead_ns);
        let code = &self.code;
        if let Walk::Draw { tables } = connection.walk {
            connection.table = connection
                .draw
                .table(code.statements[statement].class, tables);
        }
        let out = self.sessions.output(index);
        out.clear();
        let table = connection.table;
        let bound = connection.parameters[statement].bound(table, &mut connection.executed);
        let encoded =
            code.statement(statement, table)
                .encode(&code.values, &mut connection.draw, bound, out);
        self.advance_cursors(index, statement);
        let connection = &mut self.connections[index];
        connection.operation.generated = connection
            .operation
            .generated
            .max(connection.operation.step + 1);
        connection.state = State::InFlight;
        connection.reply.begin(self.code.statements[statement].keep);
        connection.operation.statement_rows_said = 0;
        if let Some(text) = &self.code.statements[statement].progress {
            connection.reply.progress.follow(text);
        }
        if let Err(overflow) = encoded {
            let name = &self.code.statement(statement, connection.table).wire_name;
            self.fail(format!("statement {name}: {overflow}"));
            self.finish(index);
            return;
        }
        self.send(index, Sent::Statement(statement));
    }

    /// Sends what is in the session's buffer.
    #[inline]
    pub(super) fn send(&mut self, index: usize, sent: Sent) {
        self.now_ns = self.sessions.now_ns();
        let operation = &mut self.connections[index].operation;
        operation.statement_sent_ns = self.now_ns;
        if operation.sent_ns == 0 {
            operation.sent_ns = self.now_ns;
            self.sent_first(index);
        }
        if let Err(error) = self.sessions.send(index, sent, self.now_ns) {
            self.lost(index, &error);
        }
    }

    /// Counts how late an operation's first statement is: behind its schedule, and by the generator's own doing.
    #[inline]
    pub(super) fn sent_first(&mut self, index: usize) {
        if !self.counts() {
            return;
        }
        let connection = &self.connections[index];
        let operation = &connection.operation;
        let role = &mut self.record.roles[connection.role];
        role.late(operation.due_ns, self.now_ns);
        if !operation.awaited_cursor {
            let possible_ns = operation.due_ns.max(connection.free_ns);
            let lag_us = microseconds(self.now_ns.saturating_sub(possible_ns));
            role.lag.record(lag_us);
        }
    }

    /// Takes what a connection has received.
    #[inline]
    pub(super) fn receive(&mut self, index: usize) {
        let reply = &mut self.connections[index].reply;
        match self.sessions.receive(index, reply) {
            Ok(false) if !reply.progress.follows() => {}
            Ok(complete) => {
                self.now_ns = self.sessions.now_ns();
                if self.mode == Mode::Running || self.mode == Mode::Pausing {
                    self.pass_time(self.now_ns, false);
                }
                if self.connections[index].reply.progress.follows() {
                    self.progressed(index);
                    if !complete {
                        return;
                    }
                }
                match self.connections[index].state {
                    State::InFlight => self.replied(index),
                    State::RollingBack => self.rolled_back(index),
                    State::Leaving => self.told(index),
                    State::Idle
                    | State::Connecting
                    | State::AwaitsCursor
                    | State::Asleep
                    | State::Thinking
                    | State::Done
                    | State::Lost => {}
                }
            }
            Err(error) => {
                self.now_ns = self.sessions.now_ns();
                self.lost(index, &error);
            }
        }
    }

    /// Takes a statement's reply, which is complete.
    #[inline]
    fn replied(&mut self, index: usize) {
        let counts = self.operation_counts(index);
        if counts {
            let connection = &self.connections[index];
            let queue_ns = self.sessions.queue_ns(index, self.now_ns);
            let role = &mut self.record.roles[connection.role];
            role.queue.record(microseconds(queue_ns));
        }
        if !self.code.capture.is_empty() {
            self.write_captured(index);
        }
        if self.connections[index].reply.error.is_some() {
            self.refused(index);
            return;
        }
        let connection = &mut self.connections[index];
        let operation = &mut connection.operation;
        operation.rows += connection.reply.rows.max(operation.statement_rows_said);
        if operation.program.script && !self.take_results(index) {
            return;
        }
        let connection = &mut self.connections[index];
        let operation = &mut connection.operation;
        if operation.program.transaction {
            let said = operation.statement_rows_said;
            let rows = Rows::beyond(said, connection.reply.rows.max(said));
            let step = self.code.steps[operation.step];
            if let (true, Step::Send { operation: own, .. } | Step::Pipe { operation: own, .. }) =
                (counts, step)
            {
                let times = Times::new(
                    operation.statement_due_ns,
                    operation.statement_sent_ns,
                    self.now_ns,
                );
                let role = &mut self.record.roles[connection.role];
                role.operations[own].complete(times, rows);
            }
            if counts && operation.program.commits_each {
                let role = &mut self.record.roles[connection.role];
                role.per_client[connection.client as usize].rows += rows.uncounted;
                operation.rows_counted += rows.uncounted;
            }
            operation.statement_due_ns = self.now_ns;
        }
        operation.step += 1;
        self.go_on(index);
    }

    /// Completes an operation that has done its program.
    #[inline]
    pub(super) fn complete(&mut self, index: usize) {
        let (counts, counts_now) = (self.operation_counts(index), self.counts());
        let connection = &mut self.connections[index];
        let operation = &connection.operation;
        let totals = &mut self.totals[connection.role];
        totals.count += 1;
        let rows = Rows::beyond(operation.rows_said, operation.rows);
        totals.rows += rows.uncounted;
        let response_ns = self.now_ns.saturating_sub(operation.due_ns);
        let over_limit = u64::from(response_ns > self.code.roles[connection.role].limit_ns);
        let retried = u64::from(operation.tries > 1);
        totals.over_limit += over_limit;
        totals.retried += retried;
        if counts {
            let program = operation.program;
            let times = Times::new(operation.due_ns, operation.sent_ns, self.now_ns);
            let role = &mut self.record.roles[connection.role];
            role.complete(connection.client, program.operation, times, rows);
            // Of what its statements had counted for the client, the notices' part is out already.
            role.per_client[connection.client as usize].rows -=
                operation.rows_counted - operation.rows_said;
            let own = &mut role.operations[program.operation];
            own.over_limit += over_limit;
            own.retried += retried;
        } else if operation.rows_said > 0 && counts_now {
            // What a running statement reports counts when it does so, and the rest when it ends.
            let (client, own) = (connection.client as usize, operation.program.operation);
            let role = &mut self.record.roles[connection.role];
            role.per_client[client].rows += rows.uncounted;
            role.operations[own].rows += rows.uncounted;
        }
        if self.code.trace {
            self.trace(index, None);
        }
        if self.code.log.is_some() {
            let operation = &self.connections[index].operation;
            let late_ns = operation.sent_ns.saturating_sub(operation.due_ns);
            let outcome = Outcome::Done {
                response_ns,
                late_ns,
            };
            self.log(index, operation.program.operation, outcome);
        }
        self.finish(index);
    }

    /// Ends an operation, however it went: its connection takes the next, or is done.
    #[inline]
    pub(super) fn finish(&mut self, index: usize) {
        self.busy -= 1;
        let from_ns = self.counted_from_ns.unwrap_or(u64::MAX);
        let connection = &mut self.connections[index];
        connection.draw.end(&self.code.values);
        if connection.operation.begun_ns < from_ns {
            connection.uncounted_ns = self.now_ns.saturating_add(connection.unslept_ns);
        }
        (connection.completed_ns, connection.free_ns) = (self.now_ns, self.now_ns);
        if self.code.roles[connection.role].connects_each {
            self.sessions.end(index);
        }
        let group = &mut self.groups[connection.group];
        if !matches!(self.mode, Mode::Draining | Mode::Holding) {
            group.last_ns = Some(self.now_ns);
        }
        if connection.quota == 0 || group.course != Course::Going {
            connection.state = State::Done;
            let group = connection.group;
            self.one_done(group);
        } else if self.code.roles[connection.role].thinks.is_none() || !self.thinks(index, true) {
            self.is_free(index);
        }
    }

    /// Lets a connection begin its next operation.
    #[inline]
    pub(super) fn is_free(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.state = State::Idle;
        self.groups[connection.group].idle.push_back(index);
        self.due_groups.push(connection.group);
    }

    /// Keeps an operation for its event, unless it ended after the window's close.
    #[cold]
    pub(super) fn trace(&mut self, index: usize, error: Option<Code>) {
        if matches!(self.mode, Mode::Draining | Mode::Holding) {
            return;
        }
        let connection = &self.connections[index];
        let operation = &connection.operation;
        self.record.trace.push(TraceRecord {
            role: connection.role,
            client: connection.client,
            connection: connection.number,
            operation: operation.program.operation,
            number: operation.number,
            due_ns: operation.due_ns,
            start_ns: operation.sent_ns,
            end_ns: self.now_ns,
            rows: operation.rows,
            error,
        });
    }

    #[cold]
    fn write_captured(&mut self, index: usize) {
        let mut captured = self.sessions.take_captured(index);
        if !self.code.capture.contains(&Capture::Rows) {
            captured.columns.clear();
            captured.rows.clear();
        }
        if !self.code.capture.contains(&Capture::Notices) {
            captured.notices.clear();
        }
        let connection = &self.connections[index];
        let role = &self.code.roles[connection.role];
        let program = connection.operation.program;
        if role
            .marks
            .is_some_and(|(_, mark)| mark.first != program.first)
        {
            return;
        }
        let (Step::Send { operation, .. } | Step::Pipe { operation, .. }) =
            self.code.steps[connection.operation.step]
        else {
            return;
        };
        self.write(Event::Captured {
            mono_ns: self.now_ns,
            role: role.name.clone(),
            client: connection.client,
            connection: connection.number,
            statement: role.operations[operation].clone(),
            columns: captured.columns,
            rows: captured.rows,
            notices: captured.notices,
        });
    }
}

#[inline]
pub(super) fn unix_s(now_ns: u64, ahead_ns: u64) -> i64 {
    ((now_ns + ahead_ns) / 1_000_000_000).cast_signed()
}
