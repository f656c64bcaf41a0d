//! One thread waits for any socket to become readable, then receives and sends by a call each.

use super::{Client, Keys, Outcome, READ_BUFFER_BYTES};
use anyhow::Result;
use dyno_loadgen::clock::monotonic_ns;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::{RecvFlags, recv};
use std::time::Duration;

const EVENTS_MAX: usize = 256;

pub(super) fn run(mut clients: Vec<Client>, mut keys: Keys, duration: Duration) -> Result<Outcome> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (number, client) in clients.iter().enumerate() {
        let data = EventData::new_u64(number as u64);
        epoll::add(&epoll, &client.session, data, EventFlags::IN)?;
    }
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
    let duration_ns = u64::try_from(duration.as_nanos())?;
    let start_ns = monotonic_ns();
    for client in &mut clients {
        client.ask(keys.next())?;
    }
    let mut operations = 0;
    loop {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), None)?;
        for event in &events {
            let client = &mut clients[usize::try_from(event.data.u64())?];
            let (count, _) = recv(&client.session, &mut buffer[..], RecvFlags::empty())?;
            if client.is_whole(&buffer[..count])? {
                operations += 1;
                client.ask(keys.next())?;
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
