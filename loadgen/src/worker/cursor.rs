//! Reads cursors, numbers of a client, over a connection of its own, and counts them up in between.

use super::state::{Connection, Group, State};
use super::{Mode, Worker};
use crate::job::Job;
use crate::layout::WorkerLayout;
use crate::program::Compiled;
use crate::session::{Captured, Opened, Reply, Sent, SessionError, Sessions};

/// A client's cursors and the connection that reads them.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) client: u32,
    /// By the cursor's index: the SQL that reads it in the client's table.
    sql: Box<[Box<[u8]>]>,
    values: Box<[Value]>,
    /// The cursor that is being read, and whether for a statement that is still to come.
    reading: Option<(usize, bool)>,
    /// The cursor whose reading for a statement that is still to come has to wait for another reading.
    wanted: Option<usize>,
    /// What has come of the reply so far.
    reply: Reply,
    /// Connections that wait for a reading, in the order in which they came.
    waiting: Vec<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Value {
    number: i64,
    /// Generations since it was read; none before the first reading.
    since: Option<u64>,
    /// What was read for the generation that will need a reading.
    ahead: Option<i64>,
}

/// A cursor of a tied pair that is read when its statement would enter a queue.
#[derive(Debug)]
pub(super) struct Queued {
    probe: usize,
    cursor: usize,
    /// The generation for which it is read next, and how many later the one after that.
    next: u64,
    every: u64,
}

/// Returns, by pacing, the cursors that are read ahead. A first reading never is.
pub(super) fn queued(
    job: &Job,
    layout: &WorkerLayout,
    groups: &[Group],
    pacings: usize,
) -> Vec<Option<Queued>> {
    let mut found: Vec<_> = std::iter::repeat_with(|| None).take(pacings).collect();
    for (cursor, of_job) in job.cursors.iter().enumerate() {
        let role = of_job.on.filter(|_| of_job.queued);
        let (Some(role), Some(resync_every)) =
            (role.and_then(|on| job.queued_role(on)), of_job.resync_every)
        else {
            continue;
        };
        for group in groups.iter().filter(|group| group.role == role) {
            if let Ok(probe) = layout.probes.binary_search(&group.client) {
                let every = resync_every.saturating_add(1);
                found[group.pacing] = Some(Queued {
                    probe,
                    cursor,
                    next: every,
                    every,
                });
            }
        }
    }
    found
}

/// Returns the probes of a worker's clients.
pub(super) fn probes(
    job: &Job,
    code: &Compiled,
    layout: &WorkerLayout,
    connections: &[Connection],
) -> Vec<Probe> {
    let mut users: Vec<Vec<&Connection>> = vec![Vec::new(); layout.probes.len()];
    for connection in connections {
        if let Some(probe) = connection.probe {
            users[probe].push(connection);
        }
    }
    let new_probe = |(client, connections): (&u32, &Vec<&Connection>)| {
        let table = connections
            .first()
            .and_then(|user| {
                Some(job.table_name(&job.roles[user.role].table.as_ref()?.of, user.table))
            })
            .unwrap_or_default();
        Probe {
            client: *client,
            sql: code
                .cursors
                .iter()
                .map(|cursor| cursor.sql(&table).into_bytes().into())
                .collect(),
            values: vec![Value::default(); code.cursors.len()].into(),
            reading: None,
            wanted: None,
            reply: Reply::default(),
            waiting: Vec::with_capacity(connections.len()),
        }
    };
    layout.probes.iter().zip(&users).map(new_probe).collect()
}

impl<S: Sessions> Worker<S> {
    /// Tells whether a statement can be generated now; else its operation waits for a reading that has been asked for.
    #[inline]
    pub(super) fn cursors_ready(&mut self, index: usize, statement: usize) -> bool {
        let statement = &self.code.statements[statement];
        let Some(probe) = self.connections[index]
            .probe
            .filter(|_| !statement.needs.is_empty())
        else {
            return true;
        };
        let operation = &self.connections[index].operation;
        if operation.step < operation.generated {
            return true;
        }
        let of_client = &mut self.probes[probe];
        let stale = statement.needs.iter().copied().find(|cursor| {
            let value = &mut of_client.values[*cursor];
            let advanced = statement.advances.contains(cursor);
            let resync_every = self.code.cursors[*cursor].resync_every;
            let old = advanced && value.since.is_some_and(|since| since > resync_every);
            if old && let Some(number) = value.ahead.take() {
                (value.number, value.since) = (number, Some(0));
                return false;
            }
            value.since.is_none() || old
        });
        match stale {
            None => true,
            Some(cursor) => {
                let connection = &mut self.connections[index];
                connection.state = State::AwaitsCursor;
                connection.operation.awaited_cursor |= connection.operation.sent_ns == 0;
                self.probes[probe].waiting.push(index);
                self.read_cursor(probe, cursor, false);
                false
            }
        }
    }

    /// Reads the cursor of a pair whose next statement to need a reading would enter its queue by now.
    #[inline]
    pub(super) fn read_queued(&mut self, pacing: usize) {
        let Some(queued) = &mut self.queued[pacing] else {
            return;
        };
        let begun = self.pacings[pacing].begun();
        if begun.is_some_and(|begun| begun.queues(queued.next, self.now_ns)) {
            queued.next = queued.next.saturating_add(queued.every);
            let (probe, cursor) = (queued.probe, queued.cursor);
            self.read_cursor(probe, cursor, true);
        }
    }

    /// Asks for a cursor, if nothing is being read; `ahead`: for a statement that is still to come.
    fn read_cursor(&mut self, probe: usize, cursor: usize, ahead: bool) {
        let of_client = &mut self.probes[probe];
        if of_client.reading.is_some() {
            of_client.wanted = Some(cursor).filter(|_| ahead).or(of_client.wanted);
            return;
        }
        of_client.wanted = of_client.wanted.filter(|wanted| *wanted != cursor);
        of_client.reading = Some((cursor, ahead));
        of_client.reply.clear();
        self.busy += 1;
        if self.code.reads_over_new_connections {
            self.sessions.open(self.connections.len() + probe);
        } else {
            self.send_cursor(probe, cursor);
        }
    }

    /// Goes on with a reading that has its connection, or ends it where it cannot have one.
    #[cold]
    pub(super) fn probe_connected(&mut self, probe: usize, outcome: Result<Opened, SessionError>) {
        match (outcome, self.probes[probe].reading) {
            (Ok(_), Some((cursor, _))) => self.send_cursor(probe, cursor),
            (Ok(_), None) => self.sessions.end(self.connections.len() + probe),
            (Err(error), _) => self.probe_failed(probe, &error.to_string()),
        }
    }

    fn send_cursor(&mut self, probe: usize, cursor: usize) {
        let session = self.connections.len() + probe;
        let out = self.sessions.output(session);
        out.clear();
        self.code.wire.text(out, &self.probes[probe].sql[cursor]);
        self.now_ns = self.sessions.now_ns();
        if let Err(error) = self
            .sessions
            .send(session, Sent::Cursor(cursor), self.now_ns)
        {
            self.probe_failed(probe, &error.to_string());
        }
    }

    /// Gives a statement the cursors' values, as they are or, in a further try, as they were; and counts the generation.
    #[inline]
    pub(super) fn use_cursors(&mut self, index: usize, statement: usize) {
        let connection = &mut self.connections[index];
        let Some(probe) = connection.probe else {
            return;
        };
        if connection.operation.step < connection.operation.generated {
            return;
        }
        for cursor in &self.code.statements[statement].needs {
            let number = self.probes[probe].values[*cursor].number;
            connection.draw.cursors[*cursor] = number;
            connection.cursors[*cursor].get_or_insert(number);
        }
    }

    /// Counts the cursors up after a statement has been generated.
    #[inline]
    pub(super) fn advance_cursors(&mut self, index: usize, statement: usize) {
        let connection = &mut self.connections[index];
        let Some(probe) = connection.probe else {
            return;
        };
        let again = connection.operation.step < connection.operation.generated;
        for cursor in &self.code.statements[statement].advances {
            let advance = self.code.cursors[*cursor].advance;
            connection.draw.cursors[*cursor] =
                connection.draw.cursors[*cursor].saturating_add(advance);
            if !again {
                let value = &mut self.probes[probe].values[*cursor];
                value.number = value.number.saturating_add(advance);
                value.since = value.since.map(|since| since + 1);
            }
        }
    }

    /// Takes a reply of a probe's connection.
    pub(super) fn receive_cursor(&mut self, probe: usize) {
        let session = self.connections.len() + probe;
        match self
            .sessions
            .receive(session, &mut self.probes[probe].reply)
        {
            Ok(false) => return,
            Ok(true) => {}
            Err(error) => {
                self.probe_failed(probe, &error.to_string());
                return;
            }
        }
        self.now_ns = self.sessions.now_ns();
        let captured = self.sessions.take_captured(session);
        if self.code.reads_over_new_connections {
            self.sessions.end(session);
        }
        let Some((cursor, ahead)) = self.probes[probe].reading.take() else {
            return;
        };
        self.busy -= 1;
        let outcome = match self.probes[probe].reply.error.take() {
            Some(error) => Err(error.to_string()),
            None => number(&captured),
        };
        match outcome {
            Ok(number) => {
                let value = &mut self.probes[probe].values[cursor];
                if ahead {
                    value.ahead = Some(number);
                } else {
                    *value = Value {
                        number,
                        since: Some(0),
                        ahead: None,
                    };
                }
                let mut waiting = std::mem::take(&mut self.probes[probe].waiting);
                for index in waiting.drain(..) {
                    self.go_on(index);
                }
                // Connections that still wait have put themselves into the new list; the old one's room is kept.
                waiting.append(&mut self.probes[probe].waiting);
                self.probes[probe].waiting = waiting;
                if let Some(wanted) = self.probes[probe].wanted.take() {
                    self.read_cursor(probe, wanted, true);
                }
            }
            Err(error) => {
                let name = &self.code.cursors[cursor].name;
                self.fail(format!("cursor `{name}`: {error}"));
                self.give_up_waiting(probe);
            }
        }
    }

    fn probe_failed(&mut self, probe: usize, error: &str) {
        if self.probes[probe].reading.take().is_some() {
            self.busy -= 1;
        }
        if self.mode != Mode::Holding {
            self.fail(format!(
                "the connection that reads cursors of client {}: {error}",
                self.probes[probe].client
            ));
        }
        self.give_up_waiting(probe);
    }

    /// Takes an operation, which will not go on, from those that wait for a reading.
    pub(super) fn leave_probe(&mut self, index: usize) {
        let connection = &self.connections[index];
        let (group, probe) = (connection.group, connection.probe);
        self.count_unsent(group, self.now_ns);
        if let Some(probe) = probe {
            self.probes[probe]
                .waiting
                .retain(|waiting| *waiting != index);
        }
    }

    /// Ends the operations that wait for a reading that will not come.
    fn give_up_waiting(&mut self, probe: usize) {
        for index in std::mem::take(&mut self.probes[probe].waiting) {
            self.finish(index);
        }
    }
}

/// Returns the first column of the first row; 0 where there is none or it is NULL.
fn number(captured: &Captured) -> Result<i64, String> {
    match captured.rows.first().and_then(|row| row.first()) {
        None | Some(None) => Ok(0),
        Some(Some(text)) => text
            .trim()
            .parse()
            .map_err(|_| format!("`{text}` is no integer of 64 bits; let the SQL return one")),
    }
}
