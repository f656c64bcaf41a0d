//! A worker on the test's own thread, and sessions that count what it allocates from one request to the next.

use crate::memory::allocations;
use dyno_loadgen::clock::{monotonic_ns, unix_ahead_ns};
use dyno_loadgen::job::{Job, Wait};
use dyno_loadgen::layout::{WorkerLayout, layout};
use dyno_loadgen::message::{Command, Message, Note, Output};
use dyno_loadgen::program::Compiled;
use dyno_loadgen::record::TickRecord;
use dyno_loadgen::samples::Samples;
use dyno_loadgen::session::fake::FakeSessions;
use dyno_loadgen::session::live::LiveSessions;
use dyno_loadgen::session::{Captured, Reconnects, Reply, SessionError, Target, Targets};
use dyno_loadgen::session::{Opened, Ready, Sent, Sessions};
use dyno_loadgen::shared::{End, Phase, Shared, Waker};
use dyno_loadgen::worker::{Channels, Worker};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Requests after which buffers have grown.
const WARM_UP: u64 = 500;

/// What a worker allocated.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// After the warm-up: requests before which, since the one before, something was allocated.
    pub(crate) with_allocations: u64,
    /// The most allocations between two of them.
    pub(crate) most: u64,
    /// Ticks that were handed over.
    pub(crate) ticks: u64,
    before: u64,
}

/// Sessions that are looked at from outside.
struct Counted<S> {
    sessions: S,
    tally: Rc<RefCell<Tally>>,
}

impl<S: Sessions> Sessions for Counted<S> {
    const COMMANDS_AT_TICKS: bool = S::COMMANDS_AT_TICKS;

    fn now_ns(&mut self) -> u64 {
        self.sessions.now_ns()
    }

    fn command_ns(&mut self, command: Command, at_ns: u64) -> u64 {
        self.sessions.command_ns(command, at_ns)
    }

    fn process_cpu_ns(&mut self) -> u64 {
        self.sessions.process_cpu_ns()
    }

    fn thread_cpu_ns(&mut self) -> u64 {
        self.sessions.thread_cpu_ns()
    }

    fn output(&mut self, session: usize) -> &mut Vec<u8> {
        self.sessions.output(session)
    }

    fn send(&mut self, session: usize, sent: Sent, now_ns: u64) -> Result<(), SessionError> {
        let mut tally = self.tally.borrow_mut();
        let now = allocations();
        tally.sent += 1;
        if tally.sent > WARM_UP {
            let more = now - tally.before;
            tally.with_allocations += u64::from(more > 0);
            tally.most = tally.most.max(more);
        }
        tally.before = now;
        self.sessions.send(session, sent, now_ns)
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> Result<(), SessionError> {
        self.sessions.wait(until_ns, ready)
    }

    fn queue_ns(&self, session: usize, now_ns: u64) -> u64 {
        self.sessions.queue_ns(session, now_ns)
    }

    fn receive(&mut self, session: usize, reply: &mut Reply) -> Result<bool, SessionError> {
        self.sessions.receive(session, reply)
    }

    fn gathered(&mut self, session: usize, statement: usize) {
        self.sessions.gathered(session, statement);
    }

    fn computed(&mut self) {
        self.sessions.computed();
    }

    fn take_captured(&mut self, session: usize) -> Captured {
        self.sessions.take_captured(session)
    }

    fn reconnect(&mut self, session: usize) {
        self.sessions.reconnect(session);
    }

    fn open(&mut self, session: usize) {
        self.sessions.open(session);
    }

    fn end(&mut self, session: usize) {
        self.sessions.end(session);
    }

    fn close(&mut self) -> Result<(), SessionError> {
        self.sessions.close()
    }
}

/// A job with all that its one worker needs but sessions.
struct Stage<'a> {
    job: &'a Job,
    code: Arc<Compiled>,
    layout: WorkerLayout,
    waker: Waker,
}

impl<'a> Stage<'a> {
    fn new(job: &'a Job) -> Self {
        job.check().unwrap();
        let mut layouts = layout(job, 1);
        assert_eq!(layouts.len(), 1);
        Self {
            job,
            code: Arc::new(Compiled::with(job, Samples::read(job).unwrap())),
            layout: layouts.remove(0),
            waker: Waker::new().unwrap(),
        }
    }

    fn run<S: Sessions>(self, sessions: S, opened: Vec<Opened>) -> Tally {
        let Self {
            job,
            code,
            layout,
            waker,
        } = self;
        let tally = Rc::new(RefCell::new(Tally::default()));
        let counted = Counted {
            sessions,
            tally: Rc::clone(&tally),
        };
        let layouts = std::slice::from_ref(&layout);
        let shared = Arc::new(Shared::new(job, layouts, &[waker], unix_ahead_ns()));
        let (spares, spare) = channel();
        let ((output, outputs), (messages, notes)) = (channel(), channel());
        let channels = Channels {
            output,
            messages,
            spare,
        };
        shared.command(Phase::Running, monotonic_ns());
        let writer = std::thread::spawn(move || take_ticks(&outputs, &spares));
        let closer = Arc::clone(&shared);
        let caller = std::thread::spawn(move || close_when_drained(&notes, &closer));
        Worker::new(
            0,
            job,
            code,
            &layout,
            Arc::clone(&shared),
            counted,
            opened,
            channels,
        )
        .run();
        caller.join().unwrap();
        assert_eq!(shared.ended(), Some(End::Done));
        let mut tally = Rc::into_inner(tally).unwrap().into_inner();
        tally.ticks = writer.join().unwrap();
        tally
    }
}

/// Gives records back, as the writer does; the number of ticks.
fn take_ticks(outputs: &Receiver<Output>, spares: &Sender<Box<TickRecord>>) -> u64 {
    let mut ticks = 0;
    for output in outputs {
        if let Output::Tick(_, mut record) = output {
            ticks += 1;
            record.clear();
            let _ = spares.send(record);
        }
    }
    ticks
}

fn close_when_drained(notes: &Receiver<Message>, shared: &Shared) {
    for message in notes {
        if let Message::Note(_, Note::Drained) = message {
            shared.command(Phase::Closing, monotonic_ns());
        }
    }
}

/// Plays a job on the fake.
pub(crate) fn on_fake(job: &Job) -> Tally {
    let stage = Stage::new(job);
    let waker = stage.waker.clone();
    let (sessions, opened) =
        FakeSessions::open(job, &stage.code, &stage.layout, monotonic_ns(), waker);
    stage.run(sessions, opened)
}

/// Plays a job on a server.
pub(crate) fn on_server(job: &Job, target: &Target, wait: Wait) -> Tally {
    let (stage, mut opened) = (Stage::new(job), Vec::new());
    let sessions = LiveSessions::open(
        &stage.code,
        &stage.layout,
        &Targets::of_server(target.clone()),
        (wait, true),
        stage.waker.clone(),
        &Reconnects::new(1),
        |_, one| opened.push(one),
    )
    .unwrap();
    stage.run(sessions, opened)
}
