//! Sessions over sockets and the system's clock, with time limits in nanoseconds.
//!
//! A worker waits in one of these ways ([`Way`]): in the receive of its only connection; by epoll, level-triggered; or by
//! io_uring, by which the kernel has received already when the wait returns ([`Uring`]). The waker, the alarm and room to
//! send are always waited for by epoll, which io_uring then watches as one descriptor.

use super::alarm::Alarm;
use super::cancel::Canceller;
use super::opening::{open_one, purposes};
use super::readable::Readable;
use super::remaking::{CONNECT_TIMEOUT, Remade, Remaking};
use super::slot::Slot;
use super::uring::Uring;
use super::way::{receives, way};
use super::{
    AnySession, Captured, Command, Opened, ReadBuffer, Ready, Reconnects, Reply, Sent,
    SessionError, Sessions, Targets,
};
use crate::clock::{self, monotonic_ns};
use crate::event::Way;
use crate::job::Wait;
use crate::layout::WorkerLayout;
use crate::program::Compiled;
use crate::shared::Waker;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{Shutdown, shutdown};
use rustix::time::Timespec;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    way: Way,
    uring: Option<Uring>,
    /// Why it is not io_uring that waits, where it should.
    refused: Option<String>,
    readable: Readable,
    targets: Arc<Targets>,
    remaking: Remaking,
}

impl LiveSessions {
    /// Connects and prepares all sessions of a worker; `opened` is called with each one's index as soon as it is in.
    /// `busy`: none of them ever waits for its schedule.
    ///
    /// # Errors
    /// One sentence that names the role and statement, or says why the worker cannot wait as it should.
    pub fn open(
        code: &Arc<Compiled>,
        layout: &WorkerLayout,
        targets: &Arc<Targets>,
        (wait, busy): (Wait, bool),
        waker: Waker,
        reconnects: &Arc<Reconnects>,
        mut opened: impl FnMut(usize, Opened),
    ) -> Result<Self, String> {
        let text = |error: SessionError| error.to_string();
        let way = way(wait, layout.connections(), busy, targets.any_tls());
        let remaking = Remaking::new(code, targets, &waker, reconnects);
        let mut sessions = Self::new(way, Arc::clone(targets), waker, remaking).map_err(text)?;
        if way == Way::IoUring {
            sessions.receive_by_uring(wait, layout.connections())?;
        }
        for (index, purpose) in purposes(layout).into_iter().enumerate() {
            let deadline = Instant::now() + CONNECT_TIMEOUT;
            let (session, prepared) = open_one(code, targets, &purpose, deadline)?;
            let brief = purpose.is_for_one_operation(code);
            sessions.slots.push(Slot::new(purpose));
            if brief {
                session.close();
            } else {
                sessions.place(index, session).map_err(text)?;
            }
            opened(index, prepared);
        }
        Ok(sessions)
    }

    fn new(
        way: Way,
        targets: Arc<Targets>,
        waker: Waker,
        remaking: Remaking,
    ) -> Result<Self, SessionError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let alarm = Alarm::new(&epoll, ALARM_MARK)?;
        let mark = EventData::new_u64(WAKER_MARK);
        epoll::add(&epoll, &waker, mark, EventFlags::IN)?;
        Ok(Self {
            slots: Vec::new(),
            epoll,
            waker,
            alarm,
            request: Vec::with_capacity(REQUEST_BYTES),
            buffer: ReadBuffer::new(),
            events: Vec::with_capacity(EVENTS_MAX),
            way,
            uring: None,
            refused: None,
            readable: Readable::default(),
            targets,
            remaking,
        })
    }

    /// Sets io_uring up; where it is not allowed, epoll remains, unless the job wants nothing else.
    fn receive_by_uring(&mut self, wait: Wait, sessions: usize) -> Result<(), String> {
        match Uring::new(sessions, self.epoll.as_fd()) {
            Ok(uring) => self.uring = Some(uring),
            Err(error) if wait == Wait::IoUring => {
                return Err(format!(
                    "io_uring is not allowed here: {error}; leave `wait` out"
                ));
            }
            Err(error) => {
                self.way = Way::Epoll;
                self.refused = Some(error.to_string());
            }
        }
        Ok(())
    }

    /// Takes a session into a slot.
    fn place(&mut self, index: usize, mut session: AnySession) -> Result<(), SessionError> {
        if receives(self.way) {
            set_socket_timeout(&session, Timeout::Recv, Some(BLOCKED_MAX))?;
            set_socket_timeout(&session, Timeout::Send, Some(BLOCKED_MAX))?;
            session.set_blocking()?;
        } else {
            session.set_nonblocking()?;
        }
        if let Some(uring) = &mut self.uring {
            session.set_fed();
            uring.begin(index, session.as_fd())?;
        } else {
            let mark = EventData::new_u64(index as u64);
            epoll::add(&self.epoll, &session, mark, EventFlags::IN)?;
        }
        let slot = &mut self.slots[index];
        (slot.session, slot.error, slot.in_flight, slot.writing) =
            (Some(session), None, false, false);
        Ok(())
    }

    /// Watches whether the session can be written to, or stops it.
    fn watch_writing(&mut self, index: usize, writing: bool) -> Result<(), SessionError> {
        let slot = &mut self.slots[index];
        if let Some(session) = &slot.session {
            let mark = EventData::new_u64(index as u64);
            match (&self.uring, writing) {
                (None, false) => epoll::modify(&self.epoll, session, mark, EventFlags::IN),
                (None, true) => {
                    let flags = EventFlags::IN | EventFlags::OUT;
                    epoll::modify(&self.epoll, session, mark, flags)
                }
                (Some(_), true) => epoll::add(&self.epoll, session, mark, EventFlags::OUT),
                (Some(_), false) => epoll::delete(&self.epoll, session),
            }?;
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

    /// Waits by epoll for what its events say, at most so long.
    #[inline]
    fn wait_by_epoll(&mut self, limit: Option<&Timespec>) -> Result<(), SessionError> {
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), limit) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what the events of epoll say.
    #[inline]
    fn take_events(&mut self, ready: &mut Vec<Ready>) -> Result<(), SessionError> {
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
        Ok(())
    }

    /// Sends what has been gathered, waits by io_uring, and takes what has come.
    #[inline]
    fn wait_by_uring(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> Result<(), SessionError> {
        let Some(uring) = &mut self.uring else {
            return Ok(());
        };
        let asked_ns = monotonic_ns();
        let look_ns = self.readable.own_ns(asked_ns);
        let waits_ns = uring.submit(asked_ns, &mut self.readable)?;
        let limit = self.alarm.limit(until_ns, asked_ns)?;
        let ended_ns = uring.wait(limit)?.then(monotonic_ns);
        self.readable.looked_twice(look_ns, waits_ns, ended_ns);
        if uring.collect(|index| ready.push(Ready::Session(index))) {
            self.wait_by_epoll(Some(&Timespec::default()))?;
            self.take_events(ready)?;
        }
        self.take_unsent(ready)
    }

    /// Has what did not fit a socket sent when it does; another error shows at the next receive.
    #[inline]
    fn take_unsent(&mut self, ready: &mut Vec<Ready>) -> Result<(), SessionError> {
        while let Some((index, rest)) = self.uring.as_mut().and_then(Uring::unsent) {
            let slot = &mut self.slots[index];
            match (rest, &mut slot.session) {
                (_, None) => {}
                (Ok(rest), Some(session)) => {
                    session.keep(rest);
                    self.watch_writing(index, true)?;
                }
                (Err(error), Some(_)) => {
                    slot.error = Some(error.into());
                    ready.push(Ready::Session(index));
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn remade(&mut self, (index, outcome): Remade) -> Ready {
        let placed =
            outcome.and_then(|(session, opened)| self.place(index, session).map(|()| opened));
        Ready::Reconnected(index, placed)
    }

    /// Closes a session's connection, if it is open.
    fn lose(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.in_flight = false;
        let Some(session) = slot.session.take() else {
            return;
        };
        if let Some(uring) = &mut self.uring {
            uring.end(index);
            // One that the server has closed is shut down already.
            let _ = shutdown(&session, Shutdown::Both);
        }
    }

    /// Has a session made on another thread: once, or again and again for a while.
    fn make(&mut self, session: usize, again: bool) {
        self.lose(session);
        self.slots[session].purpose.sessions += 1;
        let purpose = self.slots[session].purpose.clone();
        self.remaking.start(session, purpose, again);
    }
}

impl Drop for LiveSessions {
    /// Also where not all could be opened: the kernel would hold the others for a while after their end here.
    fn drop(&mut self) {
        for session in 0..self.slots.len() {
            self.lose(session);
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
        clock::process_cpu_ns()
    }

    fn thread_cpu_ns(&mut self) -> u64 {
        clock::thread_cpu_ns()
    }

    fn thread_runnable_ns(&self) -> Option<u64> {
        clock::thread_runnable_ns()
    }

    #[inline]
    fn output(&mut self, _session: usize) -> &mut Vec<u8> {
        &mut self.request
    }

    #[inline]
    fn send(&mut self, session: usize, sent: Sent, now_ns: u64) -> Result<(), SessionError> {
        let slot = &mut self.slots[session];
        let Some(open) = &mut slot.session else {
            return Err(SessionError::Lost("the connection is lost".to_owned()));
        };
        slot.sent_ns = self.readable.own_ns(now_ns);
        let gathered = match &mut self.uring {
            Some(uring) => uring.send(session, &self.request, &mut self.readable)?,
            None => false,
        };
        let whole = if gathered {
            open.ask_by(&self.request);
            true
        } else {
            open.send(&self.request)?
        };
        if !(gathered || receives(self.way)) {
            self.readable.sent(now_ns, monotonic_ns(), 1);
        }
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
        if receives(self.way) && self.slots[0].in_flight && !self.slots[0].writing {
            self.readable.blocked();
            ready.push(Ready::Session(0));
            return Ok(());
        }
        if self.uring.is_some() {
            self.wait_by_uring(until_ns, ready)?;
        } else {
            let asked_ns = monotonic_ns();
            let limit = self.alarm.limit(until_ns, asked_ns)?;
            self.wait_by_epoll(limit.as_ref())?;
            let events = self.events.len();
            let full = events == self.events.capacity();
            self.readable.waited(asked_ns, monotonic_ns(), events, full);
            self.take_events(ready)?;
        }
        while let Some(remade) = self.remaking.next() {
            let remade = self.remade(remade);
            ready.push(remade);
        }
        Ok(())
    }

    #[inline]
    fn queue_ns(&self, session: usize, now_ns: u64) -> u64 {
        let left_ns = self
            .uring
            .as_ref()
            .map_or(0, |uring| uring.left_ns(session));
        self.readable
            .queue_ns((self.slots[session].sent_ns, left_ns), now_ns)
    }

    #[inline]
    fn receive(&mut self, session: usize, reply: &mut Reply) -> Result<bool, SessionError> {
        let slot = &mut self.slots[session];
        let Some(open) = &mut slot.session else {
            return Ok(false);
        };
        let taken = self
            .uring
            .as_mut()
            .and_then(|uring| uring.take(session, |bytes| open.take(bytes, reply)));
        let outcome = match (taken, slot.error.take()) {
            (Some(taken), _) => taken,
            (None, Some(error)) => Err(error),
            (None, None) if self.uring.is_some() => Ok(false),
            (None, None) => open.receive(&mut self.buffer, reply),
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

    fn capture(&mut self, session: usize) {
        if let Some(open) = &mut self.slots[session].session {
            open.capture(true);
        }
    }

    fn reconnect(&mut self, session: usize) {
        self.make(session, true);
    }

    fn open(&mut self, session: usize) {
        self.make(session, false);
    }

    fn end(&mut self, session: usize) {
        if let Some(open) = &mut self.slots[session].session {
            open.say_goodbye();
        }
        self.lose(session);
    }

    fn ways(&self) -> Option<(Way, Option<&str>)> {
        Some((self.way, self.refused.as_deref()))
    }

    fn no_buffers(&self) -> u64 {
        self.uring.as_ref().map_or(0, Uring::no_buffers)
    }

    fn close(&mut self) -> Result<(), SessionError> {
        self.remaking.clear();
        let mut outcome = Ok(());
        for (place, target) in self.targets.all() {
            let in_flight = self.slots.iter().filter(|slot| slot.in_flight);
            let here = in_flight.filter(|slot| self.targets.place(slot.purpose.role()) == place);
            let sessions = here.filter_map(|slot| slot.session.as_ref());
            let keys: Vec<_> = sessions.map(AnySession::cancel_key).collect();
            outcome = outcome.and(Canceller::new(target).cancel(&keys));
        }
        for session in 0..self.slots.len() {
            self.end(session);
        }
        outcome
    }
}
