//! A thread for each connection, which sends and sleeps in its receive: two calls an operation, and no other.

use super::{Client, Keys, Outcome, READ_BUFFER_BYTES};
use anyhow::{Result, anyhow};
use dyno_loadgen::clock::monotonic_ns;
use rustix::net::{RecvFlags, recv};
use std::thread;
use std::time::Duration;

pub(super) fn run(clients: Vec<Client>, key_max: u64, duration: Duration) -> Result<Outcome> {
    let start_ns = monotonic_ns();
    let end_ns = start_ns + u64::try_from(duration.as_nanos())?;
    let threads: Vec<_> = (0..)
        .zip(clients)
        .map(|(number, client)| {
            let keys = Keys::new(key_max, number);
            thread::spawn(move || operations(client, keys, end_ns))
        })
        .collect();
    let mut done = 0;
    for thread in threads {
        done += thread
            .join()
            .map_err(|_| anyhow!("a thread has failed"))??;
    }
    Ok(Outcome {
        operations: done,
        active_ns: monotonic_ns() - start_ns,
    })
}

fn operations(mut client: Client, mut keys: Keys, end_ns: u64) -> Result<u64> {
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    let mut done = 0;
    while monotonic_ns() < end_ns {
        client.ask(keys.next())?;
        loop {
            let (count, _) = recv(&client.session, &mut buffer[..], RecvFlags::empty())?;
            if client.is_whole(&buffer[..count])? {
                break;
            }
        }
        done += 1;
    }
    Ok(done)
}
