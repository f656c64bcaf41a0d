//! The worker threads of a step: starting them with their sessions, and what they did in all.

use crate::clock::{monotonic_ns, unix_ahead_ns};
use crate::event::{Event, Totals};
use crate::job::{Job, Pace};
use crate::layout::WorkerLayout;
use crate::message::{Message, Note, Output};
use crate::program::Compiled;
use crate::record::TickRecord;
use crate::session::fake::FakeSessions;
use crate::session::live::LiveSessions;
use crate::session::{Opened, RECONNECTS_AT_ONCE_MAX, Reconnects, Sessions, Targets};
use crate::shared::{Shared, Waker};
use crate::worker::{Channels, Worker};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;

/// How late the kernel may let a worker wake, to save power: not at all.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

/// The worker threads of a step.
pub(super) struct Workers {
    pub(super) shared: Arc<Shared>,
    threads: Vec<JoinHandle<Vec<Totals>>>,
    /// How many have nothing in flight any more.
    pub(super) drained: usize,
    /// How many have ended before they were to: by an error of the operating system.
    pub(super) ended: usize,
    pub(super) count: usize,
}

impl Workers {
    /// Starts the worker threads; each connects by itself.
    ///
    /// # Errors
    /// One sentence: no password, or no memory or descriptors.
    pub(super) fn spawn(
        job: &Job,
        code: &Arc<Compiled>,
        layouts: &[WorkerLayout],
        spare_ends: Vec<Receiver<Box<TickRecord>>>,
        output: &Sender<Output>,
        messages: &Sender<Message>,
    ) -> Result<Self, String> {
        let targets = Targets::of_job(job).map_err(|error| error.to_string())?;
        let wakers: Result<Vec<_>, _> = layouts.iter().map(|_| Waker::new()).collect();
        let wakers = wakers.map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared::new(job, layouts, &wakers, unix_ahead_ns()));
        let reconnects = Reconnects::new(RECONNECTS_AT_ONCE_MAX);
        let mut threads = Vec::new();
        for (index, spare) in spare_ends.into_iter().enumerate() {
            let start = Start {
                index,
                job: job.clone(),
                code: Arc::clone(code),
                layout: layouts[index].clone(),
                shared: Arc::clone(&shared),
                targets: targets.clone(),
                waker: wakers[index].clone(),
                reconnects: Arc::clone(&reconnects),
                channels: Channels {
                    output: output.clone(),
                    messages: messages.clone(),
                    spare,
                },
            };
            let thread = std::thread::Builder::new().name(format!("worker-{index}"));
            threads.push(thread.spawn(move || start.run()).map_err(|error| {
                format!("no thread can be started for worker {index}: {error}")
            })?);
        }
        Ok(Self {
            shared,
            threads,
            drained: 0,
            ended: 0,
            count: layouts.len(),
        })
    }

    /// Waits for the threads' ends; what each role did in all.
    pub(super) fn join(&mut self, code: &Compiled) -> BTreeMap<String, Totals> {
        let mut totals: BTreeMap<String, Totals> = BTreeMap::new();
        for thread in self.threads.drain(..) {
            for (role, part) in code.roles.iter().zip(thread.join().unwrap_or_default()) {
                totals.entry(role.name.clone()).or_default().merge(part);
            }
        }
        totals
    }
}

/// What a worker thread starts with.
struct Start {
    index: usize,
    job: Job,
    code: Arc<Compiled>,
    layout: WorkerLayout,
    shared: Arc<Shared>,
    targets: Option<Arc<Targets>>,
    waker: Waker,
    reconnects: Arc<Reconnects>,
    channels: Channels,
}

/// Tells when a thread panics, so that nobody waits for it.
struct PanicGuard(usize, Sender<Message>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let note =
                Note::Failed("a worker thread panicked; this is a bug of dyno-loadgen".to_owned());
            let _ = self.1.send(Message::Note(self.0, note));
        }
    }
}

/// Keeps the current thread to one processor.
fn keep_to(processor: u32) -> rustix::io::Result<()> {
    let mut processors = CpuSet::new();
    processors.set(processor as usize);
    sched_setaffinity(None, &processors)
}

impl Start {
    fn run(self) -> Vec<Totals> {
        let connections = self.connections();
        let _guard = PanicGuard(self.index, self.channels.messages.clone());
        if let Some(processor) = self.processor()
            && let Err(error) = keep_to(processor)
        {
            return self.failed(format!(
                "worker {} may not run on processor {processor}: {error}",
                self.index
            ));
        }
        // Where the kernel refuses, timers are a little late.
        let _ = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS));
        let mut opened = Vec::new();
        let Some(targets) = &self.targets else {
            let (sessions, prepared) = FakeSessions::open(
                &self.job,
                &self.code,
                &self.layout,
                monotonic_ns(),
                self.waker.clone(),
            );
            for (index, prepared) in prepared.into_iter().enumerate() {
                self.connected(&connections[index], &prepared);
                opened.push(prepared);
            }
            return self.work(sessions, opened);
        };
        let outcome = LiveSessions::open(
            &self.code,
            &self.layout,
            targets,
            (self.job.wait, self.is_busy()),
            self.waker.clone(),
            &self.reconnects,
            |index, prepared| {
                self.connected(&connections[index], &prepared);
                opened.push(prepared);
            },
        );
        match outcome {
            Ok(sessions) => self.work(sessions, opened),
            Err(reason) => self.failed(reason),
        }
    }

    /// Says why this worker cannot have its sessions; it has done nothing.
    fn failed(&self, reason: String) -> Vec<Totals> {
        let note = Message::Note(self.index, Note::Failed(reason));
        let _ = self.channels.messages.send(note);
        Vec::new()
    }

    /// The processor that this worker keeps to; none: it has no place of its own.
    fn processor(&self) -> Option<u32> {
        self.job.processors.get(self.index).copied()
    }

    /// Whether no connection of this worker ever waits for its schedule.
    fn is_busy(&self) -> bool {
        let mut roles = self
            .layout
            .groups
            .iter()
            .map(|group| &self.job.roles[group.role]);
        roles.all(|role| matches!(role.pace, Pace::Closed {}) && !role.thinks())
    }

    /// Role, client and number of each session, in the sessions' order.
    fn connections(&self) -> Vec<(String, u32, u32)> {
        let groups = self.layout.groups.iter();
        let of_roles = groups.flat_map(|group| {
            let name = &self.job.roles[group.role].name;
            group
                .connections
                .iter()
                .map(move |connection| (name.clone(), group.client, connection.number))
        });
        let of_probes = self
            .layout
            .probes
            .iter()
            .map(|client| ("probe".to_owned(), *client, *client));
        of_roles.chain(of_probes).collect()
    }

    /// Says whose a session of the server is, unless it is closed again before the first operation.
    fn connected(&self, (role, client, connection): &(String, u32, u32), opened: &Opened) {
        let mut roles = self.code.roles.iter();
        if roles.any(|code| code.connects_each && code.name == *role)
            || (role == "probe" && self.code.reads_over_new_connections)
        {
            return;
        }
        let _ = self.channels.output.send(Output::Event(Event::Connected {
            mono_ns: monotonic_ns(),
            role: role.clone(),
            client: *client,
            connection: *connection,
            server_pid: opened.server_pid,
            server_tid: opened.server_tid,
            processor: self.processor(),
        }));
    }

    fn work<S: Sessions>(self, sessions: S, opened: Vec<Opened>) -> Vec<Totals> {
        let messages = self.channels.messages.clone();
        let worker = Worker::new(
            self.index,
            &self.job,
            self.code,
            &self.layout,
            self.shared,
            sessions,
            opened,
            self.channels,
        );
        let _ = messages.send(Message::Note(self.index, Note::Ready));
        worker.run()
    }
}
