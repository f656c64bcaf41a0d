//! Makes connections anew as a pause ends, where their role says so: nothing counts before all are there.
//!
//! A session is asked something before it ends, such as which plans it has run. What the server plans for a new session is
//! chosen while that is opened, by binds of its statements; so each turn has one of many choices, and a step their mean.

use super::state::State;
use super::{Mode, Worker};
use crate::event::Event;
use crate::session::{Sent, Sessions};
use crate::wire::Keep;

impl<S: Sessions> Worker<S> {
    /// Begins to make connections anew that do nothing; the worker goes on when those of all workers are there.
    #[cold]
    pub(super) fn renew(&mut self) {
        self.mode = Mode::Renewing;
        self.leave(|state| state == State::Idle);
        self.all_renewed();
    }

    /// Tells whether all sessions have been asked their last, and asks them before.
    #[cold]
    pub(super) fn has_left(&mut self) -> bool {
        if self.renewing.is_none() {
            self.leave(|state| matches!(state, State::Idle | State::Done));
        }
        self.renewing == Some(0)
    }

    /// Asks sessions in these states what they are asked last.
    fn leave(&mut self, states: impl Fn(State) -> bool) {
        self.renewing = Some(0);
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            let Some(renewal) = &self.code.roles[connection.role].renewal else {
                continue;
            };
            if !states(connection.state) {
                continue;
            }
            self.sessions.capture(index);
            let out = self.sessions.output(index);
            out.clear();
            self.code.wire.text(out, renewal.ask.as_bytes());
            let connection = &mut self.connections[index];
            let idle = &mut self.groups[connection.group].idle;
            idle.retain(|idle| *idle != index);
            connection.state = State::Leaving;
            connection.renewing = true;
            connection.reply.begin(Keep::Nothing);
            self.renewing = self.renewing.map(|count| count + 1);
            if self.sessions.send(index, Sent::Ask, self.now_ns).is_err() {
                self.left(index);
            }
        }
    }

    /// Takes what a session has answered at its end; an error of the server leaves out what it has not answered.
    #[cold]
    pub(super) fn told(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.reply.error = None;
        let (role, client, number) = (connection.role, connection.client, connection.number);
        let rows = self.sessions.take_captured(index).rows;
        self.write(Event::SessionEnd {
            mono_ns: self.now_ns,
            role: self.code.roles[role].name.clone(),
            client,
            connection: number,
            rows,
        });
        self.left(index);
    }

    /// Has another session made for one that is over, unless the step is.
    #[cold]
    pub(super) fn left(&mut self, index: usize) {
        self.connections[index].state = State::Lost;
        self.connections[index].reply.error = None;
        if self.mode == Mode::Renewing {
            self.sessions.end(index);
            self.sessions.open(index);
        } else {
            self.connections[index].state = State::Done;
            self.renewed(index);
        }
    }

    /// Counts a connection that has been made anew.
    #[cold]
    pub(super) fn renewed(&mut self, index: usize) {
        if std::mem::take(&mut self.connections[index].renewing) {
            self.renewing = self.renewing.map(|count| count - 1);
            self.all_renewed();
        }
    }

    /// Tells the others, where all of this worker's have been made anew in a pause.
    fn all_renewed(&mut self) {
        if self.mode == Mode::Renewing && self.renewing == Some(0) {
            self.renewing = None;
            self.now_ns = self.sessions.now_ns();
            self.shared.renew(self.now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::job::Renew;
    use crate::worker::tests::{example, requests_around_a_pause};

    #[test]
    fn each_session_is_asked_as_its_last_and_does_all_that_it_did_otherwise() {
        let mut job = example("l.i0", r#"{"default_us": 300}"#);
        let plain = requests_around_a_pause(&job, 1);
        let (ask, binds) = ("what did you do".to_owned(), 3);
        job.roles[0].renew = Some(Renew { binds, ask });
        job.check().unwrap();
        for threads in [1, 2] {
            let renewed = requests_around_a_pause(&job, threads);
            assert_eq!(renewed.len(), plain.len());
            for (connection, mut sent) in renewed {
                assert!(sent.last().unwrap().starts_with("what"), "at its end");
                let before = sent.len();
                sent.retain(|text| !text.starts_with("what"));
                assert_eq!(before - sent.len(), 2, "in the pause, and at its end");
                assert_eq!(sent.len(), plain[&connection].len());
            }
        }
    }

    #[test]
    fn sessions_that_wait_for_a_schedule_last() {
        let mut job = example("qr100", r#"{"default_us": 10}"#);
        job.roles[0].renew = Some(Renew {
            binds: 0,
            ask: String::new(),
        });
        let error = job.check().unwrap_err().to_string();
        assert!(error.contains("roles[0].renew"), "{error}");
    }
}
