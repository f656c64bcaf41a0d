//! The fake: an in-process server whose answers and times follow from the job, on a clock that jumps to the next event.
//!
//! What is planted here (a service time, a stall, an error each so often) has an exact answer in the events.

mod statement_plan;

use super::{Captured, Command, Opened, Ready, Reply, Sent, SessionError, Sessions};
use crate::job::{Fake, Format, Job, SETTLE_NS, nanoseconds};
use crate::layout::WorkerLayout;
use crate::program::Compiled;
use crate::shared::{Phase, Waker};
use crate::statement::{ParameterKind, Parameters, Source};
use crate::value::{mix, name_part};
use statement_plan::{StatementPlan, service_ns};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, PoisonError};

/// CPU that the generator is said to spend on an operation.
pub const CPU_NS_PER_REPLY: u64 = 5_000;

/// How long the fake takes to let a lost session in again.
const RECONNECT_NS: u64 = 1_000_000;

/// How long a pause lasts, as no time passes by itself.
const PAUSE_NS: u64 = 1_000_000_000;

/// The first of the process numbers that are given out; above what Linux gives.
const FIRST_PID: u32 = 10_000_000;

/// How long computing takes that sends nothing, as time would not pass else.
const COMPUTING_NS: u64 = 10_000;

/// Requests in the order in which they were sent, with their sessions.
pub type RequestLog = Arc<Mutex<Vec<(usize, Vec<u8>)>>>;

/// A fake server and the sessions of the one worker that uses it.
#[derive(Debug)]
pub struct FakeSessions {
    now_ns: u64,
    start_ns: u64,
    fake: Fake,
    seed: u64,
    statements: Box<[StatementPlan]>,
    cursors: Box<[CursorPlan]>,
    sessions: Box<[FakeSession]>,
    events: BinaryHeap<Reverse<(u64, u64, usize, What)>>,
    sequence: u64,
    replies: u64,
    next_pid: u32,
    opened: Arc<[Parameters]>,
    waker: Waker,
    /// When its turn ends, and whether it has: the pause that follows ends by itself, too.
    turn: Option<(u64, bool)>,
    /// What of a turn follows a pause and does not count.
    settle_ns: u64,
    /// When the last wait ended.
    waited_ns: u64,
    /// Where requests are kept, for tests.
    pub log: Option<RequestLog>,
    /// How long a worker takes over a reply, for tests; else none.
    pub handling_ns: u64,
}

#[derive(Debug)]
struct CursorPlan {
    service_ns: u64,
    value: i64,
}

#[derive(Debug)]
struct FakeSession {
    /// Part of the seed of its jitter: the same whatever else runs.
    identity: u64,
    requests: u64,
    output: Vec<u8>,
    in_flight: Option<Sent>,
    /// When it was given its last request.
    sent_ns: u64,
    /// The statements of its pipeline.
    gathered: Vec<usize>,
    /// Counts its lives, so that replies to an earlier one are dropped.
    life: u64,
    lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Reply(u64),
    Lost,
    Reconnected,
    /// The same for an operation in flight, which is waited for as replies are.
    Opened,
}

impl FakeSessions {
    /// The sessions of a worker whose clock stands at `now_ns`, and what each was prepared as.
    #[must_use]
    pub fn open(
        job: &Job,
        code: &Compiled,
        layout: &WorkerLayout,
        now_ns: u64,
        waker: Waker,
    ) -> (Self, Vec<Opened>) {
        let fake = job.fake.clone().unwrap_or_default();
        let statements = job.statements.iter();
        let statements = statements.map(|statement| StatementPlan::new(&fake, statement));
        let cursors = job.cursors.iter().map(|cursor| CursorPlan {
            service_ns: service_ns(&fake, &cursor.name),
            value: *fake.cursor.get(&cursor.name).unwrap_or(&0),
        });
        let mut identities = Vec::new();
        for group in &layout.groups {
            let role = name_part(&job.roles[group.role].name);
            identities.extend(
                group
                    .connections
                    .iter()
                    .map(|connection| (role, connection.number)),
            );
        }
        identities.extend(
            layout
                .probes
                .iter()
                .map(|client| (name_part("probe"), *client)),
        );
        let session = |(role, number): &(u64, u32)| FakeSession {
            identity: mix(job.seed, &[name_part(&job.step), *role, u64::from(*number)]),
            requests: 0,
            output: Vec::with_capacity(64 << 10),
            in_flight: None,
            sent_ns: 0,
            gathered: Vec::new(),
            life: 0,
            lost: false,
        };
        let mut fake = Self {
            now_ns,
            start_ns: now_ns,
            seed: name_part("jitter"),
            statements: statements.collect(),
            cursors: cursors.collect(),
            sessions: identities.iter().map(session).collect(),
            events: BinaryHeap::new(),
            sequence: 0,
            replies: 0,
            next_pid: FIRST_PID,
            opened: parameters(job, code),
            fake,
            waker,
            turn: None,
            settle_ns: job.stop.settle_s.map_or(SETTLE_NS, nanoseconds),
            waited_ns: now_ns,
            log: None,
            handling_ns: 0,
        };
        let opened = (0..fake.sessions.len()).map(|_| fake.opened()).collect();
        (fake, opened)
    }

    /// Begins a turn, where it takes such.
    fn begin_turn(&mut self, from_ns: u64) {
        let length_s = self.fake.turns_s;
        self.turn = length_s.map(|length_s| (from_ns + nanoseconds(length_s), false));
    }

    /// Loses a session after so long.
    #[cfg(test)]
    pub(crate) fn lose(&mut self, session: usize, after_ns: u64) {
        self.at(self.now_ns + after_ns, session, What::Lost);
    }

    fn opened(&mut self) -> Opened {
        self.next_pid += 1;
        Opened {
            server_pid: self.next_pid - 1,
            server_tid: None,
            parameters: Arc::clone(&self.opened),
        }
    }

    fn at(&mut self, time_ns: u64, session: usize, what: What) {
        self.sequence += 1;
        self.events
            .push(Reverse((time_ns, self.sequence, session, what)));
    }

    /// When a request of `service_ns` completes: later by what a stall holds it up.
    fn completion_ns(&self, sent_ns: u64, service_ns: u64) -> u64 {
        let mut end_ns = sent_ns + service_ns;
        for stall in &self.fake.stalls {
            let from_ns = self.start_ns + nanoseconds(stall.at_s);
            let until_ns = from_ns + nanoseconds(stall.for_s);
            if (from_ns..until_ns).contains(&end_ns) {
                end_ns = until_ns + (end_ns - from_ns.max(sent_ns));
            }
        }
        end_ns
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive time in ns fits"
    )]
    fn jittered(&mut self, session: usize, service_ns: u64) -> u64 {
        let session = &mut self.sessions[session];
        session.requests += 1;
        if self.fake.jitter == 0.0 {
            return service_ns;
        }
        let random = mix(self.seed, &[session.identity, session.requests]) as f64 / u64::MAX as f64;
        (service_ns as f64 * (1.0 + self.fake.jitter * (2.0 * random - 1.0))).round() as u64
    }

    fn answer(&mut self, session: usize, sent: Sent, reply: &mut Reply) {
        match sent {
            Sent::Statement(index) => self.statements[index].answer(reply),
            Sent::Pipeline(_) => {
                let gathered = &mut self.sessions[session].gathered;
                for index in gathered.drain(..) {
                    // Behind an error nothing is done.
                    if reply.error.is_none() {
                        self.statements[index].answer(reply);
                    }
                }
            }
            Sent::Rollback => reply.in_block = false,
            Sent::Cursor(_) | Sent::Ask => {}
        }
    }
}

/// The parameters of each statement: integers in eight bytes, the rest as text.
fn parameters(job: &Job, code: &Compiled) -> Arc<[Parameters]> {
    let integer = |index: usize| job.values[index].format == Format::Integer;
    let kind = |source| match source {
        Source::Cursor => ParameterKind::Int8,
        Source::Value(index) if integer(index) => ParameterKind::Int8,
        Source::Value(index) if code.values.is_sample(index) => ParameterKind::Sample,
        Source::Value(_) | Source::Variable => ParameterKind::Text,
    };
    (0..job.statements.len())
        .map(|index| {
            let sources = code.statement(index, 0).sources.iter().copied();
            Parameters::new(sources.map(kind).collect())
        })
        .collect()
}

impl Sessions for FakeSessions {
    const COMMANDS_AT_TICKS: bool = true;

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn command_ns(&mut self, command: Command, at_ns: u64) -> u64 {
        match command {
            Command::Go | Command::GoAt(_) => {
                self.now_ns = self.now_ns.max(at_ns);
                self.start_ns = self.now_ns;
                self.begin_turn(self.now_ns);
                if let Some(lost_at_s) = self.fake.lost_at_s {
                    for session in 0..self.sessions.len() {
                        self.at(self.start_ns + nanoseconds(lost_at_s), session, What::Lost);
                    }
                }
            }
            Command::Resume => {
                self.now_ns += PAUSE_NS;
                self.begin_turn(self.now_ns + self.settle_ns);
            }
            Command::Pause | Command::Stop => {}
        }
        self.now_ns
    }

    fn turn(&mut self, quiet: bool) -> Option<Phase> {
        let (end_ns, over) = self.turn?;
        if over {
            return quiet.then_some(Phase::Running);
        }
        self.turn = Some((end_ns, self.now_ns >= end_ns));
        (self.now_ns >= end_ns).then_some(Phase::Pausing)
    }

    fn gathered(&mut self, session: usize, statement: usize) {
        self.sessions[session].gathered.push(statement);
    }

    fn computed(&mut self) {
        self.now_ns += COMPUTING_NS;
    }

    fn process_cpu_ns(&mut self) -> u64 {
        self.replies * CPU_NS_PER_REPLY
    }

    fn thread_cpu_ns(&mut self) -> u64 {
        self.replies * CPU_NS_PER_REPLY
    }

    fn output(&mut self, session: usize) -> &mut Vec<u8> {
        &mut self.sessions[session].output
    }

    fn send(&mut self, session: usize, sent: Sent, now_ns: u64) -> Result<(), SessionError> {
        if self.sessions[session].lost {
            return Err(SessionError::Lost(
                "the fake has lost the connection".to_owned(),
            ));
        }
        if let Some(log) = &self.log {
            let request = (session, self.sessions[session].output.clone());
            log.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(request);
        }
        let service_ns = match sent {
            Sent::Statement(index) => self.statements[index].service_ns,
            Sent::Cursor(index) => self.cursors[index].service_ns,
            Sent::Pipeline(_) => {
                let gathered = self.sessions[session].gathered.iter();
                gathered
                    .map(|index| self.statements[*index].service_ns)
                    .sum()
            }
            Sent::Rollback | Sent::Ask => nanoseconds(self.fake.default_us / 1e6),
        };
        let service_ns = self.jittered(session, service_ns).max(1);
        self.sessions[session].in_flight = Some(sent);
        self.sessions[session].sent_ns = now_ns;
        let life = self.sessions[session].life;
        self.at(
            self.completion_ns(now_ns, service_ns),
            session,
            What::Reply(life),
        );
        Ok(())
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> Result<(), SessionError> {
        let replies = |events: &BinaryHeap<Reverse<(u64, u64, usize, What)>>| {
            events
                .iter()
                .any(|Reverse((.., what))| matches!(what, What::Reply(_) | What::Opened))
        };
        let next_ns = self
            .events
            .peek()
            .map_or(u64::MAX, |Reverse((time_ns, ..))| *time_ns);
        let (turn_ns, over) = self.turn.unwrap_or((u64::MAX, false));
        // One that ended long ago is of a step that has ended, too.
        let turn_ns = if over || turn_ns <= self.now_ns {
            u64::MAX
        } else {
            turn_ns
        };
        let target_ns = next_ns.min(until_ns).min(turn_ns);
        if until_ns == u64::MAX && over && !replies(&self.events) {
            return Ok(());
        }
        if until_ns == u64::MAX && !replies(&self.events) {
            // No time passes by itself: only a command can go on.
            return self.waker.wait().map_err(SessionError::Io);
        }
        self.now_ns = self.now_ns.max(target_ns);
        self.waited_ns = self.now_ns;
        while let Some(Reverse((time_ns, _, session, what))) = self.events.peek().copied() {
            if time_ns > self.now_ns {
                break;
            }
            self.events.pop();
            match what {
                What::Reply(life) if life == self.sessions[session].life => {
                    ready.push(Ready::Session(session));
                }
                What::Reply(_) => {}
                What::Lost => {
                    self.sessions[session].lost = true;
                    self.sessions[session].life += 1;
                    self.sessions[session].gathered.clear();
                    ready.push(Ready::Session(session));
                }
                What::Reconnected | What::Opened => {
                    self.sessions[session].lost = false;
                    let opened = self.opened();
                    ready.push(Ready::Reconnected(session, Ok(opened)));
                }
            }
        }
        Ok(())
    }

    fn queue_ns(&self, session: usize, now_ns: u64) -> u64 {
        now_ns - self.waited_ns.max(self.sessions[session].sent_ns)
    }

    fn receive(&mut self, session: usize, reply: &mut Reply) -> Result<bool, SessionError> {
        if self.sessions[session].lost {
            return Err(SessionError::Lost(
                "the fake has lost the connection".to_owned(),
            ));
        }
        let Some(sent) = self.sessions[session].in_flight else {
            return Ok(false);
        };
        self.replies += 1;
        self.now_ns += self.handling_ns;
        self.answer(session, sent, reply);
        Ok(true)
    }

    fn take_captured(&mut self, session: usize) -> Captured {
        match self.sessions[session].in_flight {
            Some(Sent::Cursor(index)) => Captured {
                columns: vec!["cursor".to_owned()],
                rows: vec![vec![Some(self.cursors[index].value.to_string())]],
                ..Captured::default()
            },
            Some(Sent::Statement(_) | Sent::Ask) => Captured {
                columns: vec!["fake".to_owned()],
                rows: vec![vec![Some("row".to_owned())]],
                notices: vec!["the fake did it".to_owned()],
                ..Captured::default()
            },
            Some(Sent::Rollback | Sent::Pipeline(_)) | None => Captured::default(),
        }
    }

    fn reconnect(&mut self, session: usize) {
        self.sessions[session].in_flight = None;
        self.at(self.now_ns + RECONNECT_NS, session, What::Reconnected);
    }

    fn open(&mut self, session: usize) {
        self.sessions[session].in_flight = None;
        self.at(self.now_ns + RECONNECT_NS, session, What::Opened);
    }

    fn end(&mut self, session: usize) {
        self.sessions[session].in_flight = None;
    }

    fn close(&mut self) -> Result<(), SessionError> {
        Ok(())
    }
}
