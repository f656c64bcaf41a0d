//! A session as a worker of the generator uses it: it asks, and is never held up.

use crate::script::{SOON, assert_line};
use dyno_loadgen::session::{AnySession, ReadBuffer, Reply, SessionError};
use dyno_loadgen::wire::{MySqlChoice, Wire};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::{Duration, Instant};

/// How long a session is looked at that gets no answer.
const LOOKED_AT: Duration = Duration::from_secs(1);

/// A worker's session, from one that has been let in.
pub(crate) fn worker(mut session: AnySession) -> AnySession {
    session.set_nonblocking().expect("set");
    session
}

/// Sends `SELECT 1` and receives as a worker does; none where the answer does not come.
pub(crate) fn ask(session: &mut AnySession) -> Result<Option<Reply>, SessionError> {
    let (mut buffer, mut reply) = (ReadBuffer::new(), Reply::default());
    let wire = match session {
        AnySession::Postgres(_) => Wire::Postgres,
        AnySession::MySql(_) => Wire::MySql(MySqlChoice::default()),
    };
    let mut request = Vec::new();
    wire.text(&mut request, b"SELECT 1");
    assert!(session.send(&request)?, "a short request is sent at once");
    let asked = Instant::now();
    while asked.elapsed() < LOOKED_AT {
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
        poll(&mut [PollFd::new(session, PollFlags::IN)], Some(&limit)).expect("poll");
        let start = Instant::now();
        let complete = session.receive(&mut buffer, &mut reply)?;
        assert!(start.elapsed() < SOON, "a receive holds the worker");
        if complete {
            return Ok(Some(reply));
        }
    }
    Ok(None)
}

/// The error that the session ends with, when it is asked again and again.
pub(crate) fn broken(mut session: AnySession, capturing: bool) -> SessionError {
    session.capture(capturing);
    let start = Instant::now();
    loop {
        match ask(&mut session) {
            Ok(_) => assert!(start.elapsed() < SOON, "it goes on"),
            Err(error) => {
                assert_line(&error.to_string());
                return error;
            }
        }
    }
}
