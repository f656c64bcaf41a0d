//! One thread waits for completions: each connection has one multishot receive, which takes a buffer of a ring that
//! the kernel knows, and all requests of a batch are sent by the call that waits for the next.
#![expect(
    unsafe_code,
    reason = "the kernel reads the requests that it is given here"
)]

use super::{Client, Keys, Outcome};
use anyhow::{Context, Result, anyhow, ensure};
use dyno_loadgen::clock::monotonic_ns;
use dyno_loadgen::session::uring::buffers::Buffers;
use io_uring::types::Fixed;
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

const ENTRIES: u32 = 4096;
const BUFFERS: u16 = 1024;
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
    let mut buffers = Buffers::register(&ring.submitter(), BUFFERS)?;
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
                buffers.give(buffer);
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
    opcode::RecvMulti::new(Fixed(number), Buffers::GROUP)
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
