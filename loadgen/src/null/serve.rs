//! The threads of the null server: each waits for all its connections by epoll and answers what has come.

use super::Protocol;
use super::session::Session;
use crate::shared::Waker;
use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 256;

/// What is read at once: some pieces of COPY data, and far more than any batch of requests.
const INPUT_BYTES: usize = 256 << 10;

/// What the waker's events are marked with.
const WAKER_MARK: u64 = u64::MAX;

/// The threads and the way to them.
pub(super) struct Pool {
    threads: Vec<Thread>,
    /// Connections that have been dealt out.
    pub(super) dealt_out: usize,
}

struct Thread {
    arrivals: Sender<OwnedFd>,
    waker: Waker,
    handle: JoinHandle<Result<()>>,
}

impl Pool {
    /// Starts threads without connections; `ended` is woken if one of them fails.
    ///
    /// # Errors
    /// Where the operating system has no thread or descriptor left.
    pub(super) fn start(protocol: Protocol, count: usize, ended: &Waker) -> Result<Self> {
        let threads = (0..count).map(|index| start_one(protocol, index, ended));
        let threads: Result<Vec<_>> = threads.collect();
        Ok(Self {
            threads: threads?,
            dealt_out: 0,
        })
    }

    /// Gives a connection to the next thread.
    pub(super) fn deal_out(&mut self, stream: OwnedFd) {
        let thread = &self.threads[self.dealt_out % self.threads.len()];
        self.dealt_out += 1;
        // A thread that has failed has ended the server.
        let _ = thread.arrivals.send(stream);
        thread.waker.wake();
    }

    /// Ends the threads and closes their connections.
    ///
    /// # Errors
    /// What a thread failed with.
    pub(super) fn join(self) -> Result<()> {
        let mut outcome = Ok(());
        for thread in self.threads {
            drop(thread.arrivals);
            thread.waker.wake();
            if let Ok(ended) = thread.handle.join() {
                outcome = outcome.and(ended);
            }
        }
        outcome
    }
}

fn start_one(protocol: Protocol, index: usize, ended: &Waker) -> Result<Thread> {
    let (arrivals, arriving) = channel();
    let waker = Waker::new().context("cannot make an eventfd")?;
    let mut serving = Serving::new(protocol, arriving, waker.clone())?;
    let ended = ended.clone();
    let thread = std::thread::Builder::new().name(format!("null-{index}"));
    let handle = thread.spawn(move || {
        let outcome = serving.run();
        ended.wake();
        outcome
    })?;
    Ok(Thread {
        arrivals,
        waker,
        handle,
    })
}

/// A connection and what could not be sent to it yet.
struct Connection {
    stream: OwnedFd,
    session: Session,
    unsent: Vec<u8>,
}

/// One thread's connections.
struct Serving {
    protocol: Protocol,
    epoll: OwnedFd,
    waker: Waker,
    arriving: Receiver<OwnedFd>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    input: Box<[u8]>,
    output: Vec<u8>,
}

impl Serving {
    fn new(protocol: Protocol, arriving: Receiver<OwnedFd>, waker: Waker) -> Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &waker,
            EventData::new_u64(WAKER_MARK),
            EventFlags::IN,
        )?;
        Ok(Self {
            protocol,
            epoll,
            waker,
            arriving,
            connections: Vec::new(),
            free: Vec::new(),
            input: vec![0; INPUT_BYTES].into(),
            output: Vec::with_capacity(INPUT_BYTES),
        })
    }

    /// Answers until the other end of `arriving` is dropped.
    fn run(&mut self) -> Result<()> {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for Event { flags, data } in events.iter().copied() {
                match usize::try_from(data.u64()) {
                    Ok(index) if data.u64() != WAKER_MARK => self.attend(index, flags),
                    _ => {
                        if !self.take_arrivals()? {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    /// Takes new connections in; false where no more will come.
    fn take_arrivals(&mut self) -> Result<bool> {
        self.waker.forget();
        loop {
            let stream = match self.arriving.try_recv() {
                Ok(stream) => stream,
                Err(TryRecvError::Empty) => return Ok(true),
                Err(TryRecvError::Disconnected) => return Ok(false),
            };
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
        }
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
    /// One receive, one send; false where the connection is over.
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
