//! Sessions over sockets and the system's clock: epoll, level-triggered, with time limits in nanoseconds.

use super::alarm::Alarm;
use super::cancel::Canceller;
use super::opening::{Purpose, open_one, purposes};
use super::readable::Readable;
use super::{
    AnySession, Captured, Command, Opened, ReadBuffer, Ready, Reconnects, Reply, Sent,
    SessionError, Sessions, Targets,
};
use crate::layout::WorkerLayout;
use crate::program::Compiled;
use crate::shared::Waker;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How long a server may take to let a session in and prepare its statements.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a lost session is tried to be made anew.
const RECONNECT_SECONDS_MAX: Duration = Duration::from_mins(1);

/// The distance of two tries.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// How long a worker with one connection stays in a receive or send; by then it looks at ticks and commands.
const BLOCKED_MAX: Duration = Duration::from_millis(20);

/// Room for a request from the start; it grows with the longest.
const REQUEST_BYTES: usize = 1 << 10;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 256;

/// What the waker's events are marked with.
const WAKER_MARK: u64 = u64::MAX;

/// What the alarm's events are marked with.
const ALARM_MARK: u64 = u64::MAX - 1;

/// A connection of a worker, or the place of a lost one.
#[derive(Debug)]
struct Slot {
    session: Option<AnySession>,
    purpose: Purpose,
    /// An error met while sending went on in the background.
    error: Option<SessionError>,
    in_flight: bool,
    writing: bool,
}

/// The sessions of one worker.
pub struct LiveSessions {
    slots: Vec<Slot>,
    epoll: OwnedFd,
    waker: Waker,
    alarm: Alarm,
    /// The request that is being encoded, of whichever session.
    request: Vec<u8>,
    buffer: ReadBuffer,
    events: Vec<Event>,
    /// One session that is always busy: its receive waits, which is cheaper than epoll and a receive.
    blocking: bool,
    readable: Readable,
    targets: Arc<Targets>,
    code: Arc<Compiled>,
    reconnecting: usize,
    reconnects: Arc<Reconnects>,
    reconnected: (Sender<Reconnected>, Receiver<Reconnected>),
}

type Reconnected = (usize, Result<(AnySession, Opened), SessionError>);

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// What the wall clock (CLOCK_REALTIME) is ahead of CLOCK_MONOTONIC, in nanoseconds.
#[must_use]
pub fn unix_ahead_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime)).saturating_sub(monotonic_ns())
}

/// CPU that this process has spent, in nanoseconds.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

impl LiveSessions {
    /// Connects and prepares all sessions of a worker; `opened` is called with each one's index as soon as it is in.
    ///
    /// # Errors
    /// One sentence that names the role and statement.
    pub fn open(
        code: &Arc<Compiled>,
        layout: &WorkerLayout,
        targets: &Arc<Targets>,
        blocking: bool,
        waker: Waker,
        reconnects: &Arc<Reconnects>,
        mut opened: impl FnMut(usize, Opened),
    ) -> Result<Self, String> {
        let text = |error: SessionError| error.to_string();
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|error| text(error.into()))?;
        let alarm = Alarm::new(&epoll, ALARM_MARK).map_err(text)?;
        let mut sessions = Self {
            alarm,
            slots: Vec::new(),
            epoll,
            waker,
            request: Vec::with_capacity(REQUEST_BYTES),
            buffer: ReadBuffer::new(),
            events: Vec::with_capacity(EVENTS_MAX),
            blocking: blocking && layout.connections() == 1,
            readable: Readable::default(),
            targets: Arc::clone(targets),
            code: Arc::clone(code),
            reconnecting: 0,
            reconnects: Arc::clone(reconnects),
            reconnected: channel(),
        };
        epoll::add(
            &sessions.epoll,
            &sessions.waker,
            EventData::new_u64(WAKER_MARK),
            EventFlags::IN,
        )
        .map_err(|error| text(error.into()))?;
        for purpose in purposes(layout) {
            let index = sessions.slots.len();
            let (session, prepared) =
                open_one(code, targets, &purpose, Instant::now() + CONNECT_TIMEOUT)?;
            sessions.slots.push(Slot {
                session: None,
                purpose,
                error: None,
                in_flight: false,
                writing: false,
            });
            if sessions.slots[index].purpose.is_for_one_operation(code) {
                session.close();
            } else {
                sessions.place(index, session).map_err(text)?;
            }
            opened(index, prepared);
        }
        Ok(sessions)
    }

    /// Takes a session into a slot.
    fn place(&mut self, index: usize, mut session: AnySession) -> Result<(), SessionError> {
        if self.blocking {
            set_socket_timeout(&session, Timeout::Recv, Some(BLOCKED_MAX))?;
            set_socket_timeout(&session, Timeout::Send, Some(BLOCKED_MAX))?;
            session.set_blocking()?;
        } else {
            session.set_nonblocking()?;
        }
        epoll::add(
            &self.epoll,
            &session,
            EventData::new_u64(index as u64),
            EventFlags::IN,
        )?;
        let slot = &mut self.slots[index];
        (slot.session, slot.error, slot.in_flight, slot.writing) =
            (Some(session), None, false, false);
        Ok(())
    }

    /// Watches whether the session can be written to, or stops it.
    fn watch_writing(&mut self, index: usize, writing: bool) -> Result<(), SessionError> {
        let slot = &mut self.slots[index];
        if let Some(session) = &slot.session {
            let flags = if writing {
                EventFlags::IN | EventFlags::OUT
            } else {
                EventFlags::IN
            };
            epoll::modify(
                &self.epoll,
                session,
                EventData::new_u64(index as u64),
                flags,
            )?;
            slot.writing = writing;
        }
        Ok(())
    }

    /// Goes on sending what did not fit; an error shows at the next receive.
    fn go_on_sending(&mut self, index: usize) {
        let Some(session) = &mut self.slots[index].session else {
            return;
        };
        let outcome = match session.flush() {
            Ok(false) => return,
            Ok(true) => self.watch_writing(index, false),
            Err(error) => Err(error),
        };
        self.slots[index].error = outcome.err();
    }

    fn take_reconnected(&mut self, ready: &mut Vec<Ready>) {
        while let Ok((index, outcome)) = self.reconnected.1.try_recv() {
            self.reconnecting -= 1;
            let outcome =
                outcome.and_then(|(session, opened)| self.place(index, session).map(|()| opened));
            ready.push(Ready::Reconnected(index, outcome));
        }
    }

    fn lose(&mut self, index: usize) {
        self.slots[index].session = None;
        self.slots[index].in_flight = false;
    }

    /// Has a session made on another thread: once, or again and again for a while.
    fn make(&mut self, session: usize, again: bool) {
        self.lose(session);
        self.reconnecting += 1;
        let (code, targets, waker) = (
            Arc::clone(&self.code),
            Arc::clone(&self.targets),
            self.waker.clone(),
        );
        let (sender, purpose) = (
            self.reconnected.0.clone(),
            self.slots[session].purpose.clone(),
        );
        let patience = if again {
            RECONNECT_SECONDS_MAX
        } else {
            CONNECT_TIMEOUT
        };
        let reconnect = move || {
            let deadline = Instant::now() + patience;
            let outcome = loop {
                let outcome = open_one(&code, &targets, &purpose, deadline);
                if outcome.is_err() {
                    // Also where nobody tries again here: the next operation might.
                    std::thread::sleep(RECONNECT_PAUSE);
                }
                if outcome.is_ok() || !again || Instant::now() >= deadline {
                    break outcome.map_err(SessionError::Lost);
                }
            };
            // Where the worker has ended meanwhile nobody minds.
            let _ = sender.send((session, outcome));
            waker.wake();
        };
        if let Err(error) = self.reconnects.add(Box::new(reconnect)) {
            let reason = SessionError::Lost(format!(
                "no thread can be started for it: {error}; raise the limit of processes (`ulimit -u`, `pids.max`)"
            ));
            let _ = self.reconnected.0.send((session, Err(reason)));
            self.waker.wake();
        }
    }
}

impl Sessions for LiveSessions {
    const COMMANDS_AT_TICKS: bool = false;

    #[inline]
    fn now_ns(&mut self) -> u64 {
        monotonic_ns()
    }

    fn command_ns(&mut self, _command: Command, at_ns: u64) -> u64 {
        at_ns
    }

    fn process_cpu_ns(&mut self) -> u64 {
        process_cpu_ns()
    }

    fn thread_cpu_ns(&mut self) -> u64 {
        nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
    }

    #[inline]
    fn output(&mut self, _session: usize) -> &mut Vec<u8> {
        &mut self.request
    }

    #[inline]
    fn send(&mut self, session: usize, sent: Sent, _now_ns: u64) -> Result<(), SessionError> {
        let slot = &mut self.slots[session];
        let Some(open) = &mut slot.session else {
            return Err(SessionError::Lost("the connection is lost".to_owned()));
        };
        let whole = open.send(&self.request)?;
        if let Sent::Pipeline(answers) = sent {
            open.await_answers(answers);
        }
        slot.in_flight = true;
        if !whole {
            self.watch_writing(session, true)?;
        }
        Ok(())
    }

    #[inline]
    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> Result<(), SessionError> {
        if self.blocking && self.slots[0].in_flight && !self.slots[0].writing {
            self.readable.blocked();
            ready.push(Ready::Session(0));
            return Ok(());
        }
        let asked_ns = monotonic_ns();
        let timeout = self.alarm.limit(until_ns, asked_ns)?;
        self.events.clear();
        match epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            timeout.as_ref(),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let full = self.events.len() == self.events.capacity();
        self.readable
            .waited(asked_ns, monotonic_ns(), self.events.len(), full);
        for place in 0..self.events.len() {
            let Event { flags, data } = self.events[place];
            let mark = data.u64();
            if mark == WAKER_MARK {
                self.waker.forget();
                continue;
            }
            if mark == ALARM_MARK {
                self.alarm.forget()?;
                continue;
            }
            let index = usize::try_from(mark).unwrap_or(usize::MAX);
            if flags.contains(EventFlags::OUT) {
                self.go_on_sending(index);
            }
            if flags.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP)
                || self.slots[index].error.is_some()
            {
                ready.push(Ready::Session(index));
            }
        }
        if self.reconnecting > 0 {
            self.take_reconnected(ready);
        }
        Ok(())
    }

    #[inline]
    fn readable_ns(&self) -> u64 {
        self.readable.since_ns()
    }

    #[inline]
    fn receive(&mut self, session: usize, reply: &mut Reply) -> Result<bool, SessionError> {
        let slot = &mut self.slots[session];
        let Some(open) = &mut slot.session else {
            return Ok(false);
        };
        let outcome = match slot.error.take() {
            Some(error) => Err(error),
            None => open.receive(&mut self.buffer, reply),
        };
        match outcome {
            Ok(complete) => {
                slot.in_flight &= !complete;
                Ok(complete)
            }
            Err(error) => {
                self.lose(session);
                Err(error)
            }
        }
    }

    #[inline]
    fn gathered(&mut self, _session: usize, _statement: usize) {}

    #[inline]
    fn computed(&mut self) {}

    fn take_captured(&mut self, session: usize) -> Captured {
        self.slots[session]
            .session
            .as_mut()
            .map(AnySession::take_captured)
            .unwrap_or_default()
    }

    fn reconnect(&mut self, session: usize) {
        self.make(session, true);
    }

    fn open(&mut self, session: usize) {
        self.make(session, false);
    }

    fn end(&mut self, session: usize) {
        if let Some(open) = self.slots[session].session.take() {
            open.close();
        }
        self.lose(session);
    }

    fn close(&mut self) -> Result<(), SessionError> {
        self.reconnects.clear();
        let mut outcome = Ok(());
        for (place, targets) in self.targets.all() {
            let in_flight = self.slots.iter().filter(|slot| slot.in_flight);
            let here = in_flight.filter(|slot| self.targets.place(slot.purpose.role()) == place);
            let sessions = here.filter_map(|slot| slot.session.as_ref());
            let keys: Vec<_> = sessions.map(AnySession::cancel_key).collect();
            outcome = outcome.and(Canceller::new(targets).cancel(&keys));
        }
        for slot in &mut self.slots {
            if let Some(session) = slot.session.take() {
                session.close();
            }
        }
        outcome
    }
}
