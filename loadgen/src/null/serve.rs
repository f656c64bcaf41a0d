//! The null server's loop: waits for all its connections by epoll and answers what has come.

use super::listener::Listener;
use super::{Protocol, Session};
use crate::shared::Waker;
use anyhow::{Context, Result, bail};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::OwnedFd;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 256;

/// What is read at once: far more than any batch of requests.
const INPUT_BYTES: usize = 256 << 10;

/// What events of the listener and of the server's end are marked with; a connection's have its index.
const LISTENER_MARK: u64 = u64::MAX;
const END_MARK: u64 = u64::MAX - 1;

/// A connection and what could not be sent to it yet.
struct Connection {
    stream: OwnedFd,
    session: Session,
    unsent: Vec<u8>,
}

/// The connections and what is waited for beside them.
pub(super) struct Server<'a> {
    protocol: Protocol,
    listener: &'a Listener,
    epoll: OwnedFd,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    input: Box<[u8]>,
    output: Vec<u8>,
}

impl<'a> Server<'a> {
    /// Makes a server without connections, which ends when `ended` is woken.
    ///
    /// # Errors
    /// Where the operating system has no descriptor left.
    pub(super) fn new(protocol: Protocol, listener: &'a Listener, ended: &Waker) -> Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mark = EventData::new_u64;
        epoll::add(&epoll, listener, mark(LISTENER_MARK), EventFlags::IN)?;
        epoll::add(&epoll, ended, mark(END_MARK), EventFlags::IN)?;
        Ok(Self {
            protocol,
            listener,
            epoll,
            connections: Vec::new(),
            free: Vec::new(),
            input: vec![0; INPUT_BYTES].into(),
            output: Vec::with_capacity(INPUT_BYTES),
        })
    }

    /// Takes connections in and answers them, until the end.
    ///
    /// # Errors
    /// Where no descriptor is left for a connection; one line.
    pub(super) fn run(&mut self) -> Result<()> {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for Event { flags, data } in events.iter().copied() {
                match data.u64() {
                    END_MARK => return Ok(()),
                    LISTENER_MARK => self.take_arrivals()?,
                    index => self.attend(usize::try_from(index)?, flags),
                }
            }
        }
    }

    /// Takes in all connections that wait.
    fn take_arrivals(&mut self) -> Result<()> {
        loop {
            match self.listener.accept() {
                Ok(Some(stream)) => self.take_in(stream)?,
                Ok(None) => return Ok(()),
                Err(Errno::MFILE | Errno::NFILE) => bail!(
                    "no descriptor is left for connection {}: raise the limit of open files (`ulimit -n`)",
                    self.connections.len() - self.free.len() + 1
                ),
                Err(error) => return Err(error).context("cannot accept a connection"),
            }
        }
    }

    fn take_in(&mut self, stream: OwnedFd) -> Result<()> {
        // What a server says first goes out when the socket takes it, which is at once.
        let mut unsent = Vec::new();
        let session = Session::new(self.protocol, &mut unsent);
        let flags = if unsent.is_empty() {
            EventFlags::IN
        } else {
            EventFlags::OUT
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let data = EventData::new_u64(index as u64);
        epoll::add(&self.epoll, &stream, data, flags)?;
        self.connections[index] = Some(Connection {
            stream,
            session,
            unsent,
        });
        Ok(())
    }

    /// Reads what a connection has sent and answers it, or goes on sending.
    fn attend(&mut self, index: usize, flags: EventFlags) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let goes_on = if flags.contains(EventFlags::OUT) || !connection.unsent.is_empty() {
            connection.go_on_sending(index, &self.epoll)
        } else {
            connection.answer(index, &self.epoll, &mut self.input, &mut self.output)
        };
        if !goes_on {
            self.connections[index] = None;
            self.free.push(index);
        }
    }
}

impl Connection {
    /// Receives once and sends once; returns false where the connection is over.
    fn answer(
        &mut self,
        index: usize,
        epoll: &OwnedFd,
        input: &mut [u8],
        output: &mut Vec<u8>,
    ) -> bool {
        let count = match recv(&self.stream, &mut *input, RecvFlags::empty()) {
            Ok((0, _)) => return false,
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) => return false,
        };
        output.clear();
        let goes_on = self.session.take(&input[..count], output);
        if output.is_empty() {
            return goes_on;
        }
        let sent = match send(&self.stream, output, SendFlags::NOSIGNAL) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return false,
        };
        if sent == output.len() || !goes_on {
            return goes_on;
        }
        // Nothing is read from who does not read: else the answers would pile up here.
        self.unsent.extend_from_slice(&output[sent..]);
        self.watch(index, epoll, EventFlags::OUT)
    }

    fn go_on_sending(&mut self, index: usize, epoll: &OwnedFd) -> bool {
        match send(&self.stream, &self.unsent, SendFlags::NOSIGNAL) {
            Ok(sent) => drop(self.unsent.drain(..sent)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return false,
        }
        !self.unsent.is_empty() || self.watch(index, epoll, EventFlags::IN)
    }

    fn watch(&self, index: usize, epoll: &OwnedFd, flags: EventFlags) -> bool {
        let data = EventData::new_u64(index as u64);
        epoll::modify(epoll, &self.stream, data, flags).is_ok()
    }
}
