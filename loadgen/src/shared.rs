//! What the workers of a step and its caller know in common: commands, progress, how it ended, and how one wakes another.
//!
//! Keeps atomic numbers that a worker reads once each round; nothing here is written on the hot path. A waker is an
//! eventfd, so that a worker waits for it beside its sockets.

use crate::job::Job;
use crate::layout::WorkerLayout;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

/// What the caller wants at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Nothing has been started.
    Waiting,
    /// Make load.
    Running,
    /// Begin nothing.
    Pausing,
    /// End the step.
    Stopping,
    /// Close the connections when nothing is in flight.
    Closing,
    /// Close the connections at once.
    Aborting,
}

const PHASES: [Phase; 6] = [
    Phase::Waiting,
    Phase::Running,
    Phase::Pausing,
    Phase::Stopping,
    Phase::Closing,
    Phase::Aborting,
];

/// Why a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// As the job said.
    Done,
    /// By the caller, a signal, or `seconds_max`.
    Stopped(String),
    /// By an error.
    Failed(String),
    /// As nobody has read the events for long.
    Unread,
}

/// How far a role has come, over all clients and workers.
#[derive(Debug, Default)]
struct Progress {
    groups_left: AtomicU32,
    ended_ns: AtomicU64,
}

impl Progress {
    fn of(groups: usize) -> Self {
        let groups_left = AtomicU32::new(u32::try_from(groups).unwrap_or(u32::MAX));
        Self {
            groups_left,
            ended_ns: AtomicU64::new(0),
        }
    }

    /// Counts a group that has ended; true for the last.
    fn finish(&self, ended_ns: u64) -> bool {
        self.ended_ns.fetch_max(ended_ns, SeqCst);
        self.groups_left.fetch_sub(1, SeqCst) == 1
    }

    fn ended(&self) -> Option<u64> {
        (self.groups_left.load(SeqCst) == 0).then(|| self.ended_ns.load(SeqCst))
    }
}

/// The common state of a step.
#[derive(Debug)]
pub struct Shared {
    phase: AtomicU8,
    go_ns: AtomicU64,
    command_ns: AtomicU64,
    quiet: AtomicU32,
    paused_ns: AtomicU64,
    renewed: AtomicU32,
    renewed_ns: AtomicU64,
    end_ns: AtomicU64,
    end: Mutex<Option<End>>,
    roles: Box<[Progress]>,
    stop: Progress,
    stops: Box<[bool]>,
    wakers: Box<[Waker]>,
    /// What the wall clock is ahead of CLOCK_MONOTONIC.
    pub unix_ahead_ns: u64,
}

impl Shared {
    /// Makes the state of a step that has not started.
    #[must_use]
    pub fn new(job: &Job, workers: &[WorkerLayout], wakers: &[Waker], unix_ahead_ns: u64) -> Self {
        let groups = |role| {
            workers
                .iter()
                .flat_map(|worker| &worker.groups)
                .filter(move |group| group.role == role)
        };
        let stops: Box<[bool]> = (0..job.roles.len())
            .map(|role| job.ends_step(role))
            .collect();
        let stop_groups = (0..job.roles.len())
            .filter(|role| stops[*role])
            .map(|role| groups(role).count())
            .sum();
        Self {
            phase: AtomicU8::new(Phase::Waiting as u8),
            go_ns: AtomicU64::new(0),
            command_ns: AtomicU64::new(0),
            quiet: AtomicU32::new(0),
            paused_ns: AtomicU64::new(0),
            renewed: AtomicU32::new(0),
            renewed_ns: AtomicU64::new(0),
            end_ns: AtomicU64::new(u64::MAX),
            end: Mutex::new(None),
            roles: (0..job.roles.len())
                .map(|role| Progress::of(groups(role).count()))
                .collect(),
            stop: Progress::of(stop_groups),
            stops,
            wakers: wakers.into(),
            unix_ahead_ns,
        }
    }

    /// Returns what the caller wants.
    #[inline]
    #[must_use]
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(SeqCst))]
    }

    /// Returns when the step starts or has started, by the real clock.
    #[must_use]
    pub fn go_ns(&self) -> u64 {
        self.go_ns.load(SeqCst)
    }

    /// Returns when the caller gave its last command, by the real clock.
    #[must_use]
    pub fn command_ns(&self) -> u64 {
        self.command_ns.load(SeqCst)
    }

    /// Gives a command.
    pub fn command(&self, phase: Phase, at_ns: u64) {
        if self.phase() == Phase::Waiting {
            self.go_ns.store(at_ns, SeqCst);
        }
        self.command_ns.store(at_ns, SeqCst);
        if phase == Phase::Pausing {
            self.quiet.store(0, SeqCst);
            self.renewed.store(0, SeqCst);
        }
        self.phase.store(phase as u8, SeqCst);
        self.wake();
    }

    fn wake(&self) {
        self.wakers.iter().for_each(Waker::wake);
    }

    /// Takes note that a worker has nothing in flight any more; returns to the last one when that was.
    #[must_use]
    pub fn quiet(&self, at_ns: u64) -> Option<u64> {
        self.paused_ns.fetch_max(at_ns, SeqCst);
        let all = self.quiet.fetch_add(1, SeqCst) as usize + 1 == self.wakers.len();
        all.then(|| self.paused_ns())
    }

    /// Tells whether no worker has anything in flight, in a pause.
    #[must_use]
    pub fn all_quiet(&self) -> bool {
        self.quiet.load(SeqCst) as usize == self.wakers.len()
    }

    /// Returns when all were quiet.
    #[must_use]
    pub fn paused_ns(&self) -> u64 {
        self.paused_ns.load(SeqCst)
    }

    /// Takes note that all connections of a worker that are made anew after a pause have been; the last one wakes all.
    pub fn renew(&self, at_ns: u64) {
        self.renewed_ns.fetch_max(at_ns, SeqCst);
        if self.renewed.fetch_add(1, SeqCst) as usize + 1 == self.wakers.len() {
            self.wake();
        }
    }

    /// Returns when those of all workers had been; none while some are being made.
    #[must_use]
    pub fn renewed_ns(&self) -> Option<u64> {
        let all = self.renewed.load(SeqCst) as usize == self.wakers.len();
        all.then(|| self.renewed_ns.load(SeqCst))
    }

    /// Returns when the step ended; `u64::MAX` while it goes on.
    #[inline]
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.end_ns.load(SeqCst)
    }

    /// Ends the step at this time for this reason, if it has not ended before.
    pub fn end(&self, at_ns: u64, end: End) {
        let mut ended = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.is_none() {
            *ended = Some(end);
            self.end_ns.store(at_ns, SeqCst);
            drop(ended);
            self.wake();
        }
    }

    /// Returns why the step ended.
    #[must_use]
    pub fn ended(&self) -> Option<End> {
        self.end
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Tells whether the step's end depends on a role.
    #[must_use]
    pub fn stops(&self, role: usize) -> bool {
        self.stops[role]
    }

    /// Takes note that a group of a role has done its last operation.
    pub fn group_ended(&self, role: usize, ended_ns: u64) {
        if self.stops[role] && self.stop.finish(ended_ns) {
            self.end(self.stop.ended_ns.load(SeqCst), End::Done);
        }
        if self.roles[role].finish(ended_ns) {
            self.wake();
        }
    }

    /// Returns when all groups of a role had ended; none while some go on.
    #[must_use]
    pub fn role_ended_ns(&self, role: usize) -> Option<u64> {
        self.roles[role].ended()
    }
}

/// Both ends of a wake-up call; clones share it.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Makes a waker that nobody has called.
    ///
    /// # Errors
    /// Where the operating system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(
            0,
            EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC,
        )?)))
    }

    /// Wakes whoever waits, or the next who does.
    pub fn wake(&self) {
        // The counter can only be full where a call is pending anyway.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Forgets calls, after waking by one.
    pub fn forget(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0_u8; 8][..]);
    }

    /// Waits for a call, and forgets it.
    ///
    /// # Errors
    /// Where the operating system refuses to wait.
    pub fn wait(&self) -> io::Result<()> {
        let mut waiting = [PollFd::new(&*self.0, PollFlags::IN)];
        match poll(&mut waiting, None) {
            Err(rustix::io::Errno::INTR) | Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        self.forget();
        Ok(())
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
