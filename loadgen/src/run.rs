//! Running a step from its job to its last event: sets up the workers, takes commands, and says how it ended.

mod abort;
mod close;
mod fills;
mod pause;
mod starting;
mod unread;
mod workers;

use crate::clock::{monotonic_ns, process_cpu_ns, unix_ahead_ns};
use crate::event::{Event, Status, ThreadUse, Totals};
use crate::job::{Engine, Job};
use crate::layout::{self, WorkerLayout};
use crate::message::{Closed, Command, FillNote, Message, Note, Output};
use crate::program::Compiled;
use crate::record::TickRecord;
use crate::samples::Samples;
use crate::shared::{End, Phase};
use crate::transaction_log::TransactionLog;
use crate::writer::Writer;
use abort::given_up;
use pause::Pauses;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use workers::Workers;

/// How long operations in flight may take after a signal, when the caller has gone, or after a failure; then the server is
/// told to end them. Together with what that takes (`abort.rs`) less than `dyno` waits for before it ends this process by force.
const HASTE_MAX: Duration = Duration::from_secs(10);

/// A worker's descriptors beside its connections: for epoll and io_uring, to be woken, and for its alarm.
const DESCRIPTORS_PER_THREAD: usize = 4;

/// Other descriptors: standard input and output, what was inherited, files of /proc.
const DESCRIPTORS_BESIDE: usize = 16;

/// What this generator is, for its first event.
#[derive(Debug, Clone)]
pub struct Build {
    /// The package's version.
    pub version: String,
    /// The commit it was built from; none outside git.
    pub commit: Option<String>,
}

impl Build {
    /// The first event.
    #[must_use]
    pub fn hello(&self) -> Event {
        Event::Hello {
            mono_ns: monotonic_ns(),
            protocol: crate::job::PROTOCOL,
            version: self.version.clone(),
            commit: self.commit.clone(),
            profile: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            }
            .to_owned(),
            pid: std::process::id(),
        }
    }
}

/// Runs a valid job; writes its events after `hello`. Commands and signals come by `messages`, which the step's own
/// threads use too.
#[must_use]
pub fn run(
    job: &Job,
    messages: (Sender<Message>, &Receiver<Message>),
    output: Box<dyn Write + Send>,
) -> Status {
    let (sender, receiver) = messages;
    // What is wrong with a file is said by `done`, behind `hello`.
    let (samples, unread) = match Samples::read(job) {
        Ok(samples) => (samples, None),
        Err(reason) => (Samples::default(), Some(reason)),
    };
    let code = Arc::new(Compiled::with(job, samples));
    let threads = if job.engine == Engine::Fake {
        1
    } else {
        layout::threads(job)
    };
    let workers = layout::layout(job, threads);
    let (spares, spare_ends): (Vec<_>, Vec<_>) = workers.iter().map(|_| channel()).unzip();
    let (output_sender, output_end) = channel();
    let (log, refused) = match TransactionLog::create(job, unix_ahead_ns()) {
        Ok(log) => (log, None),
        Err(reason) => (None, Some(reason)),
    };
    let writer = Writer::new(Arc::clone(&code), code.shape(job), output, spares, log);
    let lost = sender.clone();
    let thread = std::thread::Builder::new().name("writer".to_owned());
    let writer = thread.spawn(move || {
        if let Err(error) = writer.run(&output_end) {
            let _ = lost.send(Message::OutputLost(error.to_string()));
        }
    });
    let writer = match writer {
        Ok(writer) => writer,
        Err(error) => {
            eprintln!("dyno-loadgen: no thread can be started to write events: {error}");
            return Status::Failed;
        }
    };
    let mut step = Step {
        job,
        sender,
        receiver,
        output: output_sender,
        caller: Caller::default(),
    };
    let ending = if let Some(reason) = unread.or(refused) {
        Ending::before_start(End::Failed(reason))
    } else if job.fills.is_empty() {
        step.load(&code, &workers, spare_ends)
    } else {
        step.fill()
    };
    let is_unread = ending.end == End::Unread;
    let status = step.done(ending);
    let _ = step.output.send(Output::End);
    if is_unread {
        unread::give_up(&writer);
    } else {
        // It has written all, or has failed before.
        let _ = writer.join();
    }
    status
}

/// How a step ended, and what `done` says of it.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) end: End,
    pub(crate) mono_ns: u64,
    pub(crate) totals: BTreeMap<String, Totals>,
    pub(crate) cpu_us: u64,
    pub(crate) threads: Vec<ThreadUse>,
}

impl Ending {
    /// The end of a step that did nothing.
    pub(crate) fn before_start(end: End) -> Self {
        Self {
            end,
            mono_ns: monotonic_ns(),
            totals: BTreeMap::new(),
            cpu_us: process_cpu_ns() / 1000,
            threads: Vec::new(),
        }
    }
}

/// What the caller has asked for so far.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    /// When the step may start: 0 for at once; none while it has to wait.
    go_ns: Option<u64>,
    /// Pauses and their ends that were asked for before that.
    early: Vec<Command>,
    pub(crate) stop: bool,
    signals: u32,
    /// When operations in flight are given up.
    deadline: Option<Instant>,
}

/// A step in its course.
pub(crate) struct Step<'a> {
    pub(crate) job: &'a Job,
    pub(crate) sender: Sender<Message>,
    receiver: &'a Receiver<Message>,
    output: Sender<Output>,
    pub(crate) caller: Caller,
}

/// What a message means beyond what the caller wants.
#[derive(Debug)]
pub(crate) enum Turn {
    /// The caller wants something else now.
    Caller(Option<Command>),
    /// A worker's note.
    Note(usize, Note),
    /// A fill's.
    Fill(FillNote),
    /// Nothing has come in the time given.
    Timeout,
    /// Operations in flight are to be given up.
    Abort,
}

impl Step<'_> {
    pub(crate) fn write(&self, event: Event) {
        // Where the writer has failed, a message says so.
        let _ = self.output.send(Output::Event(event));
    }

    /// Waits for the next message, at most until `until`.
    pub(crate) fn turn(&mut self, until: Option<Instant>) -> Turn {
        let limit = [until, self.caller.deadline].into_iter().flatten().min();
        let message = match limit {
            None => self
                .receiver
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
            Some(limit) => self
                .receiver
                .recv_timeout(limit.saturating_duration_since(Instant::now())),
        };
        let message = match message {
            Ok(message) => message,
            Err(_)
                if self
                    .caller
                    .deadline
                    .is_some_and(|deadline| deadline <= Instant::now()) =>
            {
                return Turn::Abort;
            }
            Err(_) => return Turn::Timeout,
        };
        match message {
            Message::Note(worker, note) => Turn::Note(worker, note),
            Message::Fill(note) => Turn::Fill(note),
            Message::Command(command) => {
                match command {
                    Command::Go => self.caller.go_ns = Some(0),
                    Command::GoAt(at_ns) => self.caller.go_ns = Some(at_ns),
                    Command::Stop => self.caller.stop = true,
                    Command::Pause | Command::Resume => {}
                }
                Turn::Caller(Some(command))
            }
            Message::InputEnded if self.job.autostart => Turn::Caller(None),
            Message::InputEnded | Message::OutputLost(_) => self.stop_soon(),
            Message::BadCommand(error) => {
                Self::complain(&error);
                self.stop_soon()
            }
            Message::Signal => {
                self.caller.signals += 1;
                if self.caller.signals > 1 {
                    return Turn::Abort;
                }
                self.stop_soon()
            }
        }
    }

    /// The caller will not wait for long.
    fn stop_soon(&mut self) -> Turn {
        self.caller.stop = true;
        self.caller
            .deadline
            .get_or_insert_with(|| Instant::now() + HASTE_MAX);
        Turn::Caller(Some(Command::Stop))
    }

    fn complain(error: &str) {
        eprintln!(
            "dyno-loadgen: standard input: {error}; commands are {{\"do\": \"go\"|\"pause\"|\"resume\"|\"stop\"}}"
        );
    }

    fn done(&self, ending: Ending) -> Status {
        let (status, reason) = match ending.end {
            End::Done => (Status::Ok, None),
            End::Stopped(reason) => (Status::Stopped, Some(reason)),
            End::Failed(reason) => (Status::Failed, Some(reason)),
            End::Unread => (Status::Failed, Some(unread::reason())),
        };
        self.write(Event::Done {
            mono_ns: ending.mono_ns,
            status,
            reason,
            totals: ending.totals,
            peak_rss_bytes: peak_rss_bytes(),
            cpu_us: ending.cpu_us,
            threads: ending.threads,
        });
        status
    }

    /// Runs the roles of a job.
    fn load(
        &mut self,
        code: &Arc<Compiled>,
        layouts: &[WorkerLayout],
        spare_ends: Vec<Receiver<Box<TickRecord>>>,
    ) -> Ending {
        let began = Instant::now();
        if let Err(reason) = allow_descriptors(layouts) {
            return Ending::before_start(End::Failed(reason));
        }
        let (output, messages) = (&self.output, &self.sender);
        let workers = Workers::spawn(self.job, code, layouts, spare_ends, output, messages);
        let mut workers = match workers {
            Ok(workers) => workers,
            Err(reason) => return Ending::before_start(End::Failed(reason)),
        };
        if let Err(end) = self.wait_for_workers(layouts.len()) {
            return Ending::before_start(end);
        }
        let setup_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.write(Event::Ready {
            mono_ns: monotonic_ns(),
            connections: layouts.iter().map(WorkerLayout::connections).sum(),
            threads: layouts.len(),
            setup_us: if self.is_fake() { 0 } else { setup_us },
            histogram_bytes_max: layout::histogram_bytes_max(layouts, &code.shape(self.job)),
        });
        if let Some(start_ns) = self.wait_for_go() {
            workers.shared.command(Phase::Running, start_ns);
            self.measure(code, &mut workers)
        } else {
            workers.shared.command(Phase::Closing, monotonic_ns());
            workers.join(code);
            Ending::before_start(End::Stopped("stopped before the start".to_owned()))
        }
    }

    /// From the start to the last connection's close.
    fn measure(&mut self, code: &Compiled, workers: &mut Workers) -> Ending {
        let Some(closed) = self.wait_for_close(workers) else {
            return self.aborted(workers, given_up());
        };
        let ends = closed.iter().map(|closed| closed.end_ns);
        let end_ns = ends.max().unwrap_or_default();
        let event = close::window_close(self.job, &workers.shared, &closed, end_ns);
        self.write(event);
        if let Err(end) = self.hold(workers) {
            return self.aborted(workers, end);
        }
        workers.shared.command(Phase::Closing, monotonic_ns());
        let totals = workers.join(code);
        let end = workers.shared.ended().unwrap_or(End::Done);
        let threads: Vec<_> = closed.iter().map(|closed| closed.thread.clone()).collect();
        let (mono_ns, cpu_us) = if self.is_fake() {
            (end_ns, threads.iter().map(|thread| thread.cpu_us).sum())
        } else {
            (monotonic_ns(), process_cpu_ns() / 1000)
        };
        Ending {
            end: close::in_window(end, &closed, &self.job.stop),
            mono_ns,
            totals,
            cpu_us,
            threads,
        }
    }

    /// Whether time and CPU are the fake's own.
    fn is_fake(&self) -> bool {
        self.job.engine == Engine::Fake
    }

    fn wait_for_workers(&mut self, count: usize) -> Result<(), End> {
        let mut ready = 0;
        while ready < count {
            match self.turn(None) {
                Turn::Note(_, Note::Ready) => ready += 1,
                Turn::Note(_, Note::Failed(reason)) => return Err(End::Failed(reason)),
                Turn::Abort => return Err(End::Stopped("stopped while connecting".to_owned())),
                _ if self.caller.stop => {
                    return Err(End::Stopped("stopped while connecting".to_owned()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Passes commands on until all workers have closed the window; none where they are to be given up.
    fn wait_for_close(&mut self, workers: &mut Workers) -> Option<Vec<Closed>> {
        let mut closed: Vec<Option<Closed>> = vec![None; workers.count];
        let mut pauses = Pauses::new(workers.count);
        for command in self.caller.early.drain(..) {
            pauses.want(command == Command::Pause);
        }
        if let Some(phase) = pauses.command() {
            workers.shared.command(phase, monotonic_ns());
        }
        let mut stopped = false;
        while closed.iter().any(Option::is_none) {
            match self.turn(None) {
                Turn::Note(worker, Note::Closed(note)) => closed[worker] = Some(note),
                Turn::Note(_, Note::Drained) => workers.drained += 1,
                Turn::Note(_, Note::Ended(_)) => {
                    workers.ended += 1;
                    return None;
                }
                Turn::Note(_, Note::Paused) => pauses.quiet = true,
                Turn::Note(_, Note::Resumed) => pauses.going += 1,
                Turn::Note(_, Note::Failed(reason)) => {
                    workers.shared.end(monotonic_ns(), End::Failed(reason));
                    return None;
                }
                Turn::Caller(Some(Command::Pause)) => pauses.want(true),
                Turn::Caller(Some(Command::Resume)) => pauses.want(false),
                Turn::Abort => return None,
                _ => {}
            }
            if self.caller.stop && !stopped {
                stopped = true;
                workers.shared.command(Phase::Stopping, monotonic_ns());
            } else if let (Some(phase), false) = (pauses.command(), stopped) {
                workers.shared.command(phase, monotonic_ns());
            }
        }
        Some(closed.into_iter().flatten().collect())
    }

    /// Keeps the connections until the caller has read its counters and nothing is in flight.
    fn hold(&mut self, workers: &mut Workers) -> Result<(), End> {
        let patience = match workers.shared.ended() {
            Some(End::Failed(_)) => HASTE_MAX.min(self.job.stop.drain_max()),
            _ => self.job.stop.drain_max(),
        };
        let drained_until = Instant::now() + patience;
        while workers.drained < workers.count || !(self.caller.stop || self.job.autostart) {
            let until = (workers.drained < workers.count).then_some(drained_until);
            match self.turn(until) {
                Turn::Note(_, Note::Drained) => workers.drained += 1,
                Turn::Note(_, Note::Failed(reason)) => return Err(End::Failed(reason)),
                Turn::Note(_, Note::Ended(_)) => {
                    workers.ended += 1;
                    return Err(given_up());
                }
                Turn::Abort => return Err(given_up()),
                Turn::Timeout if until.is_some_and(|until| until <= Instant::now()) => {
                    return Err(self.never_drained());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Lets the process have as many connections as it may; its limit of descriptors, where there is one.
pub(crate) fn raise_descriptor_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, connecting says so.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    getrlimit(Resource::Nofile).current
}

/// Lets the process have a descriptor for each connection.
///
/// # Errors
/// Where it may not have so many; one sentence.
fn allow_descriptors(layouts: &[WorkerLayout]) -> Result<(), String> {
    let connections: usize = layouts.iter().map(WorkerLayout::connections).sum();
    let beside = DESCRIPTORS_PER_THREAD * layouts.len() + DESCRIPTORS_BESIDE;
    match raise_descriptor_limit() {
        Some(limit) if ((connections + beside) as u64) > limit => Err(format!(
            "{connections} connections are more than this process may open: its limit of open files is {limit}, and \
             {beside} are needed beside; raise it (`ulimit -n`) or have fewer connections"
        )),
        _ => Ok(()),
    }
}

/// The most memory that this process has had resident; 0 where /proc does not tell.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| {
            rest.trim()
                .trim_end_matches("kB")
                .trim()
                .parse::<u64>()
                .ok()
        });
    kilobytes.unwrap_or_default() * 1024
}
