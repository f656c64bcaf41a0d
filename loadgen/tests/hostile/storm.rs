//! A server that loses all of its connections in one moment, as when it restarts.

use crate::process::Generator;
use crate::program::job;
use crate::script::welcome;
use dyno_loadgen::event::{Event, Status};
use dyno_loadgen::session::RECONNECTS_AT_ONCE_MAX;
use serde_json::json;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Far more than are made anew at a time.
const CONNECTIONS: usize = 300;

/// What the server knows of its connections.
struct Storm {
    /// All of the first are in, and are lost.
    lost: Barrier,
    begun: AtomicUsize,
    /// Connections that have come and are not let in yet: now, and at most.
    at_the_door: AtomicUsize,
    at_the_door_max: AtomicUsize,
}

impl Storm {
    fn serve(&self, mut stream: &TcpStream) -> io::Result<()> {
        let first = self.begun.fetch_add(1, SeqCst) < CONNECTIONS;
        if !first {
            let now = self.at_the_door.fetch_add(1, SeqCst) + 1;
            self.at_the_door_max.fetch_max(now, SeqCst);
        }
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let rest = u64::from(u32::from_be_bytes(length)) - 4;
        io::copy(&mut stream.take(rest), &mut io::sink())?;
        if first {
            stream.write_all(&welcome())?;
            self.lost.wait();
            std::thread::sleep(Duration::from_millis(200));
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
        self.at_the_door.fetch_sub(1, SeqCst);
        stream.write_all(&welcome())?;
        io::copy(&mut stream, &mut io::sink()).map(drop)
    }
}

#[test]
fn hundreds_of_connections_lost_at_once_all_come_back_a_bounded_number_at_a_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut job = job(Vec::new(), u32::try_from(CONNECTIONS).unwrap());
    job["server"]["port"] = listener.local_addr().unwrap().port().into();
    job["roles"][0]["on_lost"] = "reconnect".into();
    // So rarely that nothing is asked for but by the clock: what is idle is lost, too.
    job["roles"][0]["pace"] = json!({"kind": "rate", "arrivals": "even", "per_s": 0.001});
    job["stop"]["seconds"] = 600.0.into();
    let storm = Arc::new(Storm {
        lost: Barrier::new(CONNECTIONS),
        begun: AtomicUsize::new(0),
        at_the_door: AtomicUsize::new(0),
        at_the_door_max: AtomicUsize::new(0),
    });
    let server = Arc::clone(&storm);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            // Where the client has gone, the connection is over.
            std::thread::spawn(move || server.serve(&stream));
        }
    });
    let mut generator = Generator::start(&job);
    for _ in 0..2 * CONNECTIONS {
        generator.until("connected");
    }
    generator.command("stop");
    let ended = generator.end();
    assert_eq!(ended.done().0, Status::Stopped);
    let connected = ended.events.iter();
    let connected = connected.filter(|event| matches!(event, Event::Connected { .. }));
    assert_eq!(connected.count(), 2 * CONNECTIONS, "each once more");
    let most = storm.at_the_door_max.load(SeqCst);
    assert!((2..=RECONNECTS_AT_ONCE_MAX).contains(&most), "{most}");
}
