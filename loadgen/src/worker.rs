//! Runs the connections of some clients, on a thread: what they do and when.
//!
//! A worker is a state machine over [`Sessions`]: it does not know whether a server and a clock are real. Its files:
//! `state` (what it keeps), `operation` (begin, send, reply, complete), `progress` (rows before the reply),
//! `failure` (errors, lost connections),
//! `counting` (which operations count, and for how long their connections had such), `skipping` (what is too late to
//! begin), `connecting` (a connection for each operation), `renewing` (another for each turn), `logging`, `cursor`, `sleep`, `think` (idle times between
//! operations), `arrivals` (what schedules let start), `script` (what computes), `time` (ticks, pauses, the end), `spares` (empty records).

mod arrivals;
mod connecting;
mod counting;
mod cursor;
mod failure;
#[cfg(test)]
mod lateness;
mod logging;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod marks;
mod operation;
mod progress;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod readings;
mod renewing;
mod script;
#[cfg(test)]
mod scripts;
mod skipping;
mod sleep;
mod spares;
mod state;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod tests;
mod think;
mod time;
#[cfg(test)]
mod waiting;

use crate::event::{Event, Totals};
use crate::job::Job;
use crate::layout::WorkerLayout;
use crate::message::{Message, Note, Output};
use crate::pace::Pacing;
use crate::program::Compiled;
use crate::record::{Code, Shape, TickRecord};
use crate::session::{Opened, Ready, Sessions};
use crate::shared::{End, Phase, Shared};
use crate::timeline::Timeline;
use arrivals::Awaited;
use cursor::{Probe, Queued};
use sleep::Sleepers;
use state::{ClientEnd, Connection, Group, Waiting};

pub(crate) use failure::ERRORS_WRITTEN_MAX;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// Where a worker sends to.
#[derive(Debug)]
pub struct Channels {
    /// Events and ticks.
    pub output: Sender<Output>,
    /// To the thread that runs the step.
    pub messages: Sender<Message>,
    /// Records that come back empty.
    pub spare: Receiver<Box<TickRecord>>,
}

/// How long an operation that is due may wait while replies are taken.
const PATIENCE_NS: u64 = 50_000;

/// How long before the step's start a worker is awake, so that it starts on time and not when the kernel has woken it.
const AWAKE_NS: u64 = 2_000_000;

/// What a worker does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Waits for the step to start.
    Waiting,
    /// Makes load.
    Running,
    /// Begins nothing; waits for what is in flight.
    Pausing,
    /// Is quiet.
    Paused,
    /// Is quiet, and its connections are made anew before it goes on.
    Renewing,
    /// The window is closed; waits for what is in flight.
    Draining,
    /// Holds its connections until it may close them.
    Holding,
}

/// A worker thread's state.
pub struct Worker<S: Sessions> {
    index: usize,
    /// The processor that it keeps to; none: it has no place of its own.
    processor: Option<u32>,
    sessions: S,
    code: Arc<Compiled>,
    shared: Arc<Shared>,
    channels: Channels,
    shape: Shape,
    stop: crate::job::Stop,
    connections: Vec<Connection>,
    groups: Vec<Group>,
    /// Groups that wait for their schedule.
    awaited: Awaited,
    /// When schedules are looked at even while replies are taken: a while after the next operation is due.
    impatient_ns: u64,
    pacings: Vec<Pacing>,
    waiting: Vec<Waiting>,
    /// When the first of those begins that wait for a time alone.
    starts_ns: u64,
    probes: Vec<Probe>,
    /// By pacing: the cursor that is read for statements still to come.
    queued: Vec<Option<Queued>>,
    sleepers: Sleepers,
    /// By client.
    client_ends: Vec<ClientEnd>,
    mode: Mode,
    timeline: Timeline,
    /// Since when operations count that begin; none where none does.
    counted_from_ns: Option<u64>,
    /// Up to when: as a pause began, or the window closed.
    counted_until_ns: u64,
    record: Box<TickRecord>,
    /// How many records there are: this one, those that wait for the writer, and those that have come back.
    records: usize,
    /// The record of the tick that has just ended, until the writer gets it, and whether the window opens with its end.
    full: Option<(Box<TickRecord>, bool)>,
    totals: Vec<Totals>,
    /// By role and code: errors that were written.
    written: BTreeMap<(usize, Code), u32>,
    /// The clock as it was read last.
    now_ns: u64,
    start_ns: u64,
    /// When schedules came to a stand, from the command of a pause to its end.
    stood_ns: Option<u64>,
    cpu: time::Cpu,
    /// How long the thread had been ready to run without a processor when the step started.
    runnable_ns: u64,
    /// Sessions that are asked their last, or made anew; none where nothing has begun of it.
    renewing: Option<usize>,
    /// Operations in flight or waiting for a cursor, and cursors being read.
    busy: usize,
    /// Groups that may have something to start.
    due_groups: Vec<usize>,
    /// Groups that have just completed an operation that sent nothing, and wait for their turn.
    computing: VecDeque<usize>,
}

impl<S: Sessions> Worker<S> {
    /// Makes a worker of a valid job with its sessions in the layout's order: groups' connections, then probes.
    #[must_use]
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a part of its own, used once"
    )]
    pub fn new(
        index: usize,
        job: &Job,
        code: Arc<Compiled>,
        layout: &WorkerLayout,
        shared: Arc<Shared>,
        sessions: S,
        opened: Vec<Opened>,
        channels: Channels,
    ) -> Self {
        let shape = code.shape(job);
        let parts = state::build(job, &code, layout, opened);
        let probes = cursor::probes(job, &code, layout, &parts.connections);
        let queued = cursor::queued(job, layout, &parts.groups, parts.pacings.len());
        Self {
            index,
            processor: job.processors.get(index).copied(),
            sessions,
            stop: job.stop.clone(),
            client_ends: state::client_ends(job, layout, &shared),
            sleepers: Sleepers::with_capacity(parts.connections.len()),
            connections: parts.connections,
            awaited: Awaited::with_capacity(parts.groups.len()),
            impatient_ns: u64::MAX,
            groups: parts.groups,
            pacings: parts.pacings,
            waiting: parts.waiting,
            starts_ns: u64::MAX,
            probes,
            queued,
            mode: Mode::Waiting,
            timeline: Timeline::new(&job.stop, 0),
            counted_from_ns: None,
            counted_until_ns: u64::MAX,
            record: Box::new(TickRecord::new(&shape)),
            records: 1,
            full: None,
            totals: vec![Totals::default(); job.roles.len()],
            written: BTreeMap::new(),
            now_ns: 0,
            start_ns: 0,
            stood_ns: None,
            cpu: time::Cpu::default(),
            runnable_ns: 0,
            renewing: None,
            busy: 0,
            due_groups: Vec::with_capacity(layout.groups.len() * 2),
            computing: VecDeque::with_capacity(layout.groups.len()),
            shape,
            code,
            shared,
            channels,
        }
    }

    /// Runs the step to its end and closes the sessions; returns what each role did in all.
    pub fn run(mut self) -> Vec<Totals> {
        let mut ready = Vec::with_capacity(self.connections.len() + self.probes.len());
        while !self.finished() {
            let until_ns = self.wake_ns();
            self.impatient_ns = until_ns.saturating_add(PATIENCE_NS);
            if let Err(error) = self.sessions.wait(until_ns, &mut ready) {
                self.shared.end(self.now_ns, End::Failed(error.to_string()));
                break;
            }
            for ready in ready.drain(..) {
                self.take(ready);
            }
            self.on_time();
        }
        if self.mode == Mode::Holding {
            // What was in flight as the window closed.
            self.end_record(self.timeline.drained(self.now_ns), false);
        }
        self.hand_over();
        let closed = self.sessions.close();
        self.note(Note::Ended(closed.err().map(|error| error.to_string())));
        self.totals
    }

    fn finished(&mut self) -> bool {
        match self.shared.phase() {
            Phase::Aborting => true,
            Phase::Closing => match self.mode {
                Mode::Holding => self.has_left(),
                mode => mode == Mode::Waiting,
            },
            _ => false,
        }
    }

    /// Returns when the worker has something to do by itself.
    fn wake_ns(&self) -> u64 {
        match self.mode {
            _ if self.full.is_some() => self.now_ns,
            Mode::Waiting if self.shared.phase() > Phase::Waiting => {
                self.shared.go_ns().saturating_sub(AWAKE_NS)
            }
            Mode::Waiting | Mode::Paused | Mode::Renewing | Mode::Draining | Mode::Holding => {
                u64::MAX
            }
            Mode::Pausing => self.timeline.wake_ns(),
            Mode::Running if !self.computing.is_empty() => self.now_ns,
            Mode::Running => {
                let until_ns = self.timeline.wake_ns().min(self.due_ns());
                let until_ns = until_ns.min(self.sleepers.wake_ns()).min(self.starts_ns);
                until_ns.min(self.settles_ns().unwrap_or(u64::MAX))
            }
        }
    }

    /// Takes what a session has, and does not let what becomes due meanwhile wait for all others.
    #[inline]
    fn take(&mut self, ready: Ready) {
        match ready {
            Ready::Session(session) if session < self.connections.len() => self.receive(session),
            Ready::Session(session) => self.receive_cursor(session - self.connections.len()),
            Ready::Reconnected(session, outcome) if session < self.connections.len() => {
                self.reconnected(session, outcome);
            }
            Ready::Reconnected(session, outcome) => {
                self.probe_connected(session - self.connections.len(), outcome);
            }
        }
        self.start_due();
        if self.now_ns >= self.impatient_ns && self.mode == Mode::Running {
            self.wake_sleepers();
            self.admit();
            self.start_due();
            let until_ns = self.due_ns().min(self.sleepers.wake_ns());
            self.impatient_ns = until_ns.saturating_add(PATIENCE_NS);
        }
    }

    /// Does what time and commands ask for.
    #[inline]
    fn on_time(&mut self) {
        self.now_ns = self.sessions.now_ns();
        self.hand_over();
        if self.mode == Mode::Running || self.mode == Mode::Pausing {
            self.pass_time(self.now_ns, true);
        } else if matches!(self.mode, Mode::Paused | Mode::Renewing)
            && self.shared.end_ns() != u64::MAX
        {
            self.close_window();
        }
        if self.mode == Mode::Running {
            self.start_waiting(self.start_ns);
            self.wake_sleepers();
            self.admit();
            self.start_due();
            if !self.computing.is_empty() {
                self.take_turns();
            }
        }
        if matches!(self.mode, Mode::Running | Mode::Paused)
            && let Some(phase) = self.sessions.turn(self.mode == Mode::Paused)
        {
            self.shared.command(phase, self.now_ns);
            self.obey();
        }
        if !S::COMMANDS_AT_TICKS || !matches!(self.mode, Mode::Running | Mode::Pausing) {
            self.obey();
        }
        self.quieten();
    }

    fn fail(&self, reason: String) {
        self.shared.end(self.now_ns, End::Failed(reason));
    }

    fn note(&self, note: Note) {
        // The step's thread outlives the workers, unless it has given them up.
        let _ = self.channels.messages.send(Message::Note(self.index, note));
    }

    fn write(&self, event: Event) {
        // The writer outlives the workers; where it has failed, the step is being stopped.
        let _ = self.channels.output.send(Output::Event(event));
    }
}
