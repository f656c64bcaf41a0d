//! One thread waits for completions: each connection has one multishot receive, which takes a buffer of a ring that
//! the kernel knows, and all requests of a batch are sent by the call that waits for the next.
#![expect(
    unsafe_code,
    reason = "the kernel reads and writes memory that it is given here"
)]

use super::{Client, Keys, Outcome};
use anyhow::{Context, Result, anyhow, ensure};
use dyno_loadgen::clock::monotonic_ns;
use io_uring::types::{BufRingEntry, Fixed};
use io_uring::{IoUring, Submitter, cqueue, opcode, squeue};
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

const ENTRIES: u32 = 4096;
const BUFFERS: u16 = 1024;
const BUFFER_BYTES: u32 = 4096;
const PAGE_BYTES: usize = 4096;
const GROUP: u16 = 0;
/// Of a send, which says something only where it fails.
const SENT: u64 = u64::MAX;

pub(super) fn run(mut clients: Vec<Client>, mut keys: Keys, duration: Duration) -> Result<Outcome> {
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(ENTRIES)
        .context("io_uring is not allowed here")?;
    let sockets: Vec<_> = clients
        .iter()
        .map(|client| client.session.as_fd().as_raw_fd())
        .collect();
    ring.submitter().register_files(&sockets)?;
    let mut buffers = Buffers::register(&ring.submitter())?;
    let duration_ns = u64::try_from(duration.as_nanos())?;
    let start_ns = monotonic_ns();
    for (number, client) in (0..).zip(&mut clients) {
        let mut queue = ring.submission();
        push(&mut queue, &receive(number))?;
        push(&mut queue, &ask(number, client, keys.next()))?;
    }
    let mut operations = 0;
    loop {
        ring.submit_and_wait(1)?;
        let (_, mut queue, completions) = ring.split();
        for completion in completions {
            let (result, flags) = (completion.result(), completion.flags());
            let length = usize::try_from(result)
                .map_err(|_| anyhow!("io_uring: {}", std::io::Error::from_raw_os_error(-result)));
            if completion.user_data() == SENT {
                length?;
                continue;
            }
            let number = u32::try_from(completion.user_data())?;
            // All buffers may be taken at a moment; the receive then begins anew.
            if let Some(buffer) = cqueue::buffer_select(flags) {
                let client = &mut clients[number as usize];
                let whole = client.is_whole(buffers.read(buffer, length?))?;
                buffers.give_back(buffer);
                if whole {
                    operations += 1;
                    push(&mut queue, &ask(number, client, keys.next()))?;
                }
            } else {
                ensure!(result != 0, "the server has closed a connection");
                ensure!(result == -NO_BUFFERS, "io_uring: error {result}");
            }
            if !cqueue::more(flags) {
                push(&mut queue, &receive(number))?;
            }
        }
        let active_ns = monotonic_ns() - start_ns;
        if active_ns >= duration_ns {
            return Ok(Outcome {
                operations,
                active_ns,
            });
        }
    }
}

const NO_BUFFERS: i32 = 105; // ENOBUFS

/// A connection's receive, which goes on until the kernel says otherwise.
fn receive(number: u32) -> squeue::Entry {
    opcode::RecvMulti::new(Fixed(number), GROUP)
        .build()
        .user_data(number.into())
}

/// A connection's request, which lies in its client; it is sent when the answer comes, and only then changed.
fn ask(number: u32, client: &mut Client, key: i32) -> squeue::Entry {
    client.turn_to(key);
    let length = u32::try_from(client.request.bytes.len()).unwrap_or(u32::MAX);
    opcode::Send::new(Fixed(number), client.request.bytes.as_ptr(), length)
        .build()
        .flags(squeue::Flags::SKIP_SUCCESS)
        .user_data(SENT)
}

fn push(queue: &mut squeue::SubmissionQueue<'_>, entry: &squeue::Entry) -> Result<()> {
    // SAFETY: what entries point to are requests of clients, which live as long as the loop.
    unsafe { queue.push(entry) }.context("more requests than the queue holds")
}

/// The ring of buffers that the kernel takes from, and the buffers.
struct Buffers {
    ring: NonNull<BufRingEntry>,
    memory: Vec<u8>,
    tail: u16,
}

impl Buffers {
    fn register(submitter: &Submitter<'_>) -> Result<Self> {
        let bytes = usize::from(BUFFERS) * size_of::<BufRingEntry>();
        let layout = Layout::from_size_align(bytes, PAGE_BYTES)?;
        // SAFETY: the size is not 0. It is never freed: the kernel may write there until the process ends.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(ring) = NonNull::new(memory.cast()) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the memory is as long as it says, and stays.
        unsafe {
            submitter.register_buf_ring_with_flags(ring.as_ptr() as u64, BUFFERS, GROUP, 0)?;
        };
        let mut buffers = Self {
            ring,
            memory: vec![0; usize::from(BUFFERS) * BUFFER_BYTES as usize],
            tail: 0,
        };
        for buffer in 0..BUFFERS {
            buffers.give_back(buffer);
        }
        Ok(buffers)
    }

    /// What the kernel has written to a buffer.
    fn read(&self, buffer: u16, length: usize) -> &[u8] {
        let begin = usize::from(buffer) * BUFFER_BYTES as usize;
        &self.memory[begin..begin + length]
    }

    /// Lets the kernel take a buffer again.
    fn give_back(&mut self, buffer: u16) {
        let place = usize::from(self.tail % BUFFERS);
        let begin = usize::from(buffer) * BUFFER_BYTES as usize;
        // SAFETY: the place is in the ring, and the kernel does not read it before the tail is beyond it.
        let entry = unsafe { self.ring.add(place).as_mut() };
        entry.set_addr(self.memory[begin..].as_ptr() as u64);
        entry.set_len(BUFFER_BYTES);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the ring's memory; the kernel reads it, this thread alone writes it.
        let tail = unsafe { &*BufRingEntry::tail(self.ring.as_ptr()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}
