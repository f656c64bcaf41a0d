//! The hot path allocates nothing once its buffers have grown.

use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::session::{ReadBuffer, Reply};
use dyno_loadgen::wire::postgres;
use rustix::event::{PollFd, PollFlags, poll};

use crate::memory::allocations;
use crate::server;

/// One operation: a simple request, then a prepared one with an answer of 300 KB.
fn operation(session: &mut PostgresSession, buffer: &mut ReadBuffer, reply: &mut Reply) {
    let output = session.output();
    output.clear();
    let mark = postgres::simple_begin(output);
    output.extend_from_slice(b"INSERT INTO hot VALUES (1), (2), (3)");
    postgres::simple_end(output, mark);
    exchange(session, buffer, reply, 3);

    let output = session.output();
    output.clear();
    let mark = postgres::bind_begin(output, b"many", &[true]);
    postgres::parameter(output, |output| {
        output.extend_from_slice(&300_i32.to_be_bytes());
    });
    postgres::bind_end(output, mark);
    postgres::execute_sync(output);
    exchange(session, buffer, reply, 300);
}

fn exchange(session: &mut PostgresSession, buffer: &mut ReadBuffer, reply: &mut Reply, rows: u64) {
    reply.clear();
    while !session.flush().expect("sent") {
        poll(&mut [PollFd::new(session, PollFlags::OUT)], None).expect("poll");
    }
    while !session.receive(buffer, reply).expect("received") {
        poll(&mut [PollFd::new(session, PollFlags::IN)], None).expect("poll");
    }
    assert_eq!((reply.rows, &reply.error), (rows, &None));
}

#[test]
fn requests_and_answers_allocate_nothing() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    session
        .query("CREATE TEMP TABLE hot (id int)")
        .expect("a table");
    let sql = "SELECT repeat('x', 1000) FROM generate_series(1, $1)";
    session.prepare("many", sql).expect("prepared");
    session.set_nonblocking().expect("set");
    let (mut buffer, mut reply) = (ReadBuffer::new(), Reply::default());
    operation(&mut session, &mut buffer, &mut reply);
    let before = allocations();
    for _ in 0..200 {
        operation(&mut session, &mut buffer, &mut reply);
    }
    assert_eq!(allocations() - before, 0);
}
