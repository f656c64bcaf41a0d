//! Connections by io_uring: one call sends the requests of many, and receives from all that have answered.
//!
//! Each socket has one multishot receive, which goes on until the socket ends. For what comes it takes a buffer of a
//! ring that the kernel knows, and puts an entry into the queue of completions. Requests are gathered and leave together,
//! at the latest when the worker waits. Sent one by one, each would wake a server process that may take the processor
//! from the worker.
//!
//! The unsafe call rests on this. The kernel reads a request only within the call that submits it, because the send may
//! not wait; what does not fit the socket then comes back. It writes only to [`Buffers`]. All other entries hold
//! descriptors and numbers, no pointers.
#![expect(
    unsafe_code,
    reason = "the kernel reads the requests that it is given here"
)]

pub mod buffers;

use buffers::Buffers;

use super::readable::{Readable, SEND_NS_MAX};
use crate::clock::monotonic_ns;
use io_uring::types::{self, Fd, SubmitArgs};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// The most requests that leave by one call, so that the first does not wait long for the last.
const SENDS_MAX: usize = 64;

/// Room for these, and for a receive and a poll: the next power of two.
const ENTRIES: u32 = 128;

/// The longest request that is gathered.
const REQUEST_BYTES_MAX: usize = 4 << 10;

/// Fewest and most buffers. More sockets than these may have something at once: their receives end for want of a buffer and
/// begin anew, which costs a call of the kernel for many, and each waits for its turn. Only the pages that a reply reaches
/// take memory.
const BUFFERS_MIN: u16 = 64;
const BUFFERS_MAX: u16 = 8192;

/// The most completions that the kernel makes room for.
const COMPLETIONS_MAX: usize = 1 << 16;

/// What the completion that tells of the other descriptor is marked with.
const OTHER: u64 = u64::MAX;

/// The bit that marks the completion of a send, which comes only where not all was sent.
const SEND: u64 = 1 << 63;

/// Beyond it a completion's mark would be that of a send.
const GENERATION_MAX: u32 = u32::MAX >> 1;

/// A send that may not wait, and says nothing where all was sent.
const SEND_FLAGS: SendFlags = SendFlags::DONTWAIT
    .union(SendFlags::NOSIGNAL)
    .union(WAIT_ALL);
const WAIT_ALL: SendFlags = SendFlags::from_bits_retain(0x100); // MSG_WAITALL: less than all is an error

/// What one place has: the sockets of its sessions, one after the other.
#[derive(Debug, Default)]
struct Place {
    /// The number of the socket now; that of a completion tells whether it is of an earlier one.
    generation: u32,
    /// None where there is no socket at the moment.
    socket: Option<RawFd>,
    /// Buffers that it has filled and nobody has taken: the first and the last of a chain.
    untaken: Option<[Filled; 2]>,
    /// Its end or its error, which comes after those.
    end: Option<Result<(), Errno>>,
    /// When its last request had left at the latest, by the worker's clock.
    left_ns: u64,
}

/// A request that was gathered.
#[derive(Debug)]
struct Request {
    place: usize,
    generation: u32,
    bytes: Range<usize>,
}

/// A buffer and how many bytes it has.
#[derive(Debug, Clone, Copy)]
struct Filled {
    buffer: u16,
    length: u16,
}

/// The connections of one worker.
pub(super) struct Uring {
    ring: IoUring,
    buffers: Buffers,
    /// By buffer: the one that the same socket has filled after it.
    next: Box<[Option<Filled>]>,
    places: Vec<Place>,
    /// Places whose receive is over, for want of a buffer, while the socket goes on: the first has waited longest.
    stopped: VecDeque<usize>,
    /// How often a receive was over for want of a buffer.
    no_buffers: u64,
    /// Requests of which no completion is taken yet, and how many of them have left.
    requests: Vec<Request>,
    left: usize,
    /// The bytes of these.
    gathered: Box<[u8]>,
    /// By place: what did not leave of its request, or why.
    unsent: Vec<(usize, Result<Range<usize>, Errno>)>,
    other: RawFd,
    /// Whether the other descriptor is watched.
    watching: bool,
}

impl Uring {
    /// Makes room for so many sockets, and watches another descriptor, which has to stay open. The thread that calls this
    /// is the only one that may use it.
    ///
    /// # Errors
    /// Where the kernel is older than Linux 6.1, or does not allow io_uring to this process.
    pub(super) fn new(sockets: usize, other: BorrowedFd<'_>) -> io::Result<Self> {
        let count = u16::try_from(2 * sockets).unwrap_or(BUFFERS_MAX);
        let count = count.clamp(BUFFERS_MIN, BUFFERS_MAX).next_power_of_two();
        Self::with_buffers(count, sockets, other)
    }

    /// The same with so many buffers, a power of two.
    fn with_buffers(count: u16, sockets: usize, other: BorrowedFd<'_>) -> io::Result<Self> {
        // Room for all that may come between two waits: a buffer, an end, a stop and a send of each. What is beyond the most
        // that there can be, the kernel keeps itself.
        let completions = usize::from(count) + 3 * sockets + 1;
        let completions = u32::try_from(completions.min(COMPLETIONS_MAX)).unwrap_or(u32::MAX);
        let ring: IoUring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(completions)
            .build(ENTRIES)?;
        let buffers = Buffers::register(&ring.submitter(), count)?;
        Ok(Self {
            ring,
            next: vec![None; usize::from(count)].into(),
            buffers,
            places: (0..sockets).map(|_| Place::default()).collect(),
            stopped: VecDeque::with_capacity(sockets),
            no_buffers: 0,
            requests: Vec::with_capacity(sockets),
            left: 0,
            gathered: vec![0; sockets * REQUEST_BYTES_MAX].into(),
            unsent: Vec::new(),
            other: other.as_raw_fd(),
            watching: false,
        })
    }

    /// Begins to receive from a place's next socket.
    ///
    /// # Errors
    /// Where the kernel refuses it.
    pub(super) fn begin(&mut self, place: usize, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.places[place].socket = Some(socket.as_raw_fd());
        self.receive(place)?;
        // At once: the descriptor may be another socket's later.
        self.ring.submit()?;
        Ok(())
    }

    /// Forgets a place's socket and what came from it. Who calls this shuts the socket down before closing it: the kernel
    /// holds it open as long as it receives from it.
    pub(super) fn end(&mut self, place: usize) {
        while self.take(place, |_| ()).is_some() {}
        self.stopped.retain(|stopped| *stopped != place);
        let place = &mut self.places[place];
        place.socket = None;
        place.generation = (place.generation + 1) & GENERATION_MAX;
    }

    /// Gathers a place's request; false where it does not fit, so that the caller sends it.
    ///
    /// # Errors
    /// Where the kernel refuses those that had been gathered.
    #[inline]
    pub(super) fn send(
        &mut self,
        place: usize,
        request: &[u8],
        readable: &mut Readable,
    ) -> io::Result<bool> {
        let begin = self.requests.last().map_or(0, |last| last.bytes.end);
        let bytes = begin..begin + request.len();
        if request.len() > REQUEST_BYTES_MAX || bytes.end > self.gathered.len() {
            return Ok(false);
        }
        self.gathered[bytes.clone()].copy_from_slice(request);
        let generation = self.places[place].generation;
        self.requests.push(Request {
            place,
            generation,
            bytes,
        });
        if self.requests.len() - self.left == SENDS_MAX {
            self.submit(monotonic_ns(), readable)?;
        }
        Ok(true)
    }

    /// Sends what has been gathered, and receives what has come; returns when that began, at `asked_ns`, or ended.
    ///
    /// # Errors
    /// Where the kernel refuses it.
    #[inline]
    pub(super) fn submit(&mut self, asked_ns: u64, readable: &mut Readable) -> io::Result<u64> {
        for number in self.left..self.requests.len() {
            self.push_send(number)?;
        }
        let mut due = self.left < self.requests.len() || self.ring.submission().taskrun();
        while due {
            self.ring.submit()?;
            // A kernel that is short of memory takes a part of them.
            due = !self.ring.submission().is_empty();
        }
        if self.left == self.requests.len() {
            return Ok(asked_ns);
        }
        let mut left_ns = readable.own_ns(asked_ns);
        let ended_ns = monotonic_ns();
        readable.sent(asked_ns, ended_ns, self.requests.len() - self.left);
        // The kernel sends them in their order.
        for request in &self.requests[self.left..] {
            left_ns = (left_ns + SEND_NS_MAX).min(readable.own_ns(ended_ns));
            self.places[request.place].left_ns = left_ns;
        }
        self.left = self.requests.len();
        Ok(ended_ns)
    }

    /// When a place's last request had left at the latest, by the worker's clock, if it was gathered.
    #[inline]
    pub(super) fn left_ns(&self, place: usize) -> u64 {
        self.places[place].left_ns
    }

    /// How often a receive was over for want of a buffer.
    pub(super) fn no_buffers(&self) -> u64 {
        self.no_buffers
    }

    /// Sleeps until something comes, at most so long, unless something is there; true where it may have slept.
    ///
    /// # Errors
    /// Where the operating system refuses to wait.
    #[inline]
    pub(super) fn wait(&mut self, limit: Option<Timespec>) -> io::Result<bool> {
        self.go_on_receiving()?;
        if !self.watching {
            let flags = u32::from(PollFlags::IN.bits());
            let entry = opcode::PollAdd::new(Fd(self.other), flags).build();
            self.push(&entry.user_data(OTHER))?;
            self.watching = true;
        }
        if !self.ring.completion().is_empty() {
            return Ok(false);
        }
        let submitter = self.ring.submitter();
        let outcome = match limit {
            None => submitter.submit_and_wait(1),
            Some(limit) => {
                let limit = types::Timespec::new()
                    .sec(limit.tv_sec.unsigned_abs())
                    .nsec(u32::try_from(limit.tv_nsec).unwrap_or_default());
                submitter.submit_with_args(1, &SubmitArgs::new().timespec(&limit))
            }
        };
        match outcome.map_err(|error| (Errno::from_io_error(&error), error)) {
            Ok(_) | Err((Some(Errno::INTR | Errno::TIME), _)) => Ok(true),
            Err((_, error)) => Err(error),
        }
    }

    /// Takes what has come; calls `ready` with a place for each part that it can [`take`](Self::take). True where the other
    /// descriptor is ready.
    #[inline]
    pub(super) fn collect(&mut self, mut ready: impl FnMut(usize)) -> bool {
        let mut other = false;
        while let Some(completion) = { self.ring.completion().next() } {
            let mark = completion.user_data();
            if mark == OTHER {
                (self.watching, other) = (false, true);
            } else if mark & SEND != 0 {
                self.not_all_sent(mark & !SEND, completion.result());
            } else if let Some(place) = self.received(&completion) {
                ready(place);
            }
        }
        if self.unsent.is_empty() {
            self.requests.clear();
            self.left = 0;
        }
        other
    }

    /// Takes the next request of which not all has left, with the rest of it.
    #[cold]
    pub(super) fn unsent(&mut self) -> Option<(usize, Result<&[u8], Errno>)> {
        let (place, rest) = self.unsent.pop()?;
        Some((place, rest.map(|rest| &self.gathered[rest])))
    }

    /// Takes the next part of what a place's socket has given, or its end, which is no bytes or an error; none where nothing
    /// has come.
    #[inline]
    pub(super) fn take<T>(
        &mut self,
        place: usize,
        take: impl FnOnce(Result<&[u8], Errno>) -> T,
    ) -> Option<T> {
        let place = &mut self.places[place];
        let Some([first, last]) = place.untaken else {
            return place.end.take().map(|end| take(end.map(|()| &[][..])));
        };
        let next = self.next[usize::from(first.buffer)].take();
        place.untaken = next.map(|next| [next, last]);
        let taken = take(Ok(self.buffers.read(first.buffer, first.length.into())));
        self.buffers.give(first.buffer);
        Some(taken)
    }

    /// Takes note of what a socket has given, or of its end; the place where there is something to take.
    #[inline]
    fn received(&mut self, completion: &cqueue::Entry) -> Option<usize> {
        let (number, generation) = number_and_generation(completion.user_data());
        let (result, flags) = (completion.result(), completion.flags());
        let filled = match (cqueue::buffer_select(flags), result.try_into()) {
            (Some(buffer), Ok(length @ 1..)) => Some(Filled { buffer, length }),
            _ => None,
        };
        let place = &mut self.places[number];
        if place.generation != generation {
            if let Some(filled) = filled {
                self.buffers.give(filled.buffer);
            }
            return None;
        }
        if let Some(filled) = filled {
            if let Some([_, last]) = &mut place.untaken {
                self.next[usize::from(last.buffer)] = Some(filled);
                *last = filled;
            } else {
                place.untaken = Some([filled; 2]);
            }
        } else if result >= 0 {
            place.end = Some(Ok(()));
        } else if result != -Errno::NOBUFS.raw_os_error() {
            place.end = Some(Err(Errno::from_raw_os_error(-result)));
        } else {
            self.no_buffers += 1;
        }
        if !cqueue::more(flags) && place.end.is_none() {
            self.stopped.push_back(number);
        }
        (filled.is_some() || place.end.is_some()).then_some(number)
    }

    /// Takes note of a send that has sent less than all, or failed.
    #[cold]
    fn not_all_sent(&mut self, number: u64, result: i32) {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let Request {
            place,
            generation,
            bytes,
        } = &self.requests[number];
        if self.places[*place].generation != *generation {
            return;
        }
        let outcome = match (usize::try_from(result), Errno::from_raw_os_error(-result)) {
            (Ok(sent), _) => Ok(bytes.start + sent..bytes.end),
            (_, Errno::AGAIN | Errno::INTR) => Ok(bytes.clone()),
            // The socket's end, with what the server has said before it, comes by its receive.
            (_, Errno::PIPE | Errno::CONNRESET) => return,
            (_, error) => Err(error),
        };
        self.unsent.push((*place, outcome));
    }

    /// Adds the send of a request, unless its socket is gone.
    #[inline]
    fn push_send(&mut self, number: usize) -> io::Result<()> {
        let request = &self.requests[number];
        let place = &self.places[request.place];
        let (Some(socket), true) = (place.socket, place.generation == request.generation) else {
            return Ok(());
        };
        let bytes = &self.gathered[request.bytes.clone()];
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let entry = opcode::Send::new(Fd(socket), bytes.as_ptr(), length)
            .flags(SEND_FLAGS.bits().cast_signed())
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(SEND | number as u64);
        self.push(&entry)
    }

    /// Begins receives anew that are over, by one call for many: those that have waited longest, as many as may find a buffer
    /// now. So no socket waits for another one's third answer.
    #[inline]
    fn go_on_receiving(&mut self) -> io::Result<()> {
        if self.stopped.is_empty() {
            return Ok(());
        }
        for _ in 0..self.stopped.len().min(self.next.len()) {
            if let Some(place) = self.stopped.pop_front() {
                self.receive(place)?;
            }
        }
        self.ring.submit()?;
        Ok(())
    }

    /// Adds the receive of a place's socket, if it has one.
    fn receive(&mut self, place: usize) -> io::Result<()> {
        let Place {
            socket, generation, ..
        } = self.places[place];
        let Some(socket) = socket else {
            return Ok(());
        };
        let mark = u64::from(generation) << 32 | place as u64;
        let entry = opcode::RecvMulti::new(Fd(socket), Buffers::GROUP).build();
        self.push(&entry.user_data(mark))
    }

    /// Adds an entry; where there is no room, the kernel takes those before it first.
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        if self.ring.submission().is_full() {
            self.ring.submit()?;
        }
        // SAFETY: what an entry points to stays, as the beginning of this file says.
        unsafe { self.ring.submission().push(entry) }.map_err(io::Error::other)
    }
}

/// The place that a completion is marked with, and its socket's number there.
fn number_and_generation(mark: u64) -> (usize, u32) {
    let [low, high] = [mark & u64::from(u32::MAX), mark >> 32];
    (
        usize::try_from(low).unwrap_or(usize::MAX),
        u32::try_from(high).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests;
