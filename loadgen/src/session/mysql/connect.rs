//! How a session is let in: the greeting, TLS where it is asked for, then the exchange of authentication.

use std::time::Instant;

use super::auth::{Handshake, Step};
use super::framing::Framing;
use super::greeting::{Greeting, HandshakeAnswer};
use super::reader::Reader;
use super::{MySqlSession, encode};
use crate::session::error::{ServerError, SessionError};
use crate::session::exchange::{Incoming, ReadBuffer, SMALL_BUFFER_BYTES, refuse_nul};
use crate::session::password::Privacy;
use crate::session::reply::Reply;
use crate::session::socket;
use crate::session::target::Target;
use crate::session::wire::{MySqlChoice, Wire};

/// The exchange from the greeting on; the stream is not blocking yet. Returns the server's number of the connection.
pub(super) fn shake_hands(
    session: &mut MySqlSession,
    target: &Target,
    deadline: Instant,
) -> Result<u32, SessionError> {
    for value in [&target.user, &target.database, &target.application_name] {
        refuse_nul(value)?;
    }
    let choice = match target.wire {
        Wire::MySql(choice) => choice,
        Wire::Postgres => MySqlChoice::default(),
    };
    let mut packets = Packets::new(target, deadline);
    let (number, body) = packets.next(session)?;
    let greeting = greeting(&body)?;
    let mut number = number.wrapping_add(1);
    let tls = target.tls.as_ref();
    if tls.is_some_and(|tls| tls.is_needed) && !greeting.has_tls() {
        return Err(SessionError::Tls(format!(
            "the server at `{}` has no TLS: give it `ssl_cert` and `ssl_key`, or ask for none",
            socket::place(target)
        )));
    }
    if let Some(tls) = tls.filter(|_| greeting.has_tls()) {
        packets.refuse_rest()?;
        greeting.ask_for_tls(&mut session.output, choice);
        session.send_before(target, deadline)?;
        session.encrypt(tls, target, deadline)?;
        number = number.wrapping_add(1);
    }
    let privacy = Privacy::of(&session.stream, target);
    let password = target.password.as_deref();
    let (mut handshake, proof) = Handshake::begin(&greeting, &target.user, password, privacy)?;
    greeting.answer(
        &mut session.output,
        number,
        &HandshakeAnswer {
            choice,
            user: &target.user,
            database: &target.database,
            application_name: &target.application_name,
            method: handshake.method(),
            proof: &proof,
        },
    );
    loop {
        session.send_before(target, deadline)?;
        let (number, body) = packets.next(session)?;
        match handshake.take(&body)? {
            Step::Wait => {}
            Step::Send(bytes) => {
                encode::packet(&mut session.output, number.wrapping_add(1), &bytes);
            }
            Step::LetIn { status } => {
                session.reader = Reader::after(packets.framing, greeting.ends_descriptions());
                session.reader.set_server(&greeting, status);
                let rest = &packets.buffer.0[packets.taken..packets.received];
                session.reader.feed(rest, &mut Reply::default())?;
                return Ok(greeting.connection);
            }
        }
    }
}

/// The greeting, or the refusal that comes in its place: too many connections, a host that is blocked.
fn greeting(body: &[u8]) -> Result<Greeting, SessionError> {
    if body.first() == Some(&0xff) {
        return Err(SessionError::Server(ServerError::of_packet(body)?));
    }
    Greeting::of_packet(body)
}

/// The packets of the exchange, one after the other.
struct Packets<'a> {
    target: &'a Target,
    deadline: Instant,
    framing: Framing,
    buffer: ReadBuffer,
    /// What has been read, and how much of it is taken.
    received: usize,
    taken: usize,
}

impl<'a> Packets<'a> {
    fn new(target: &'a Target, deadline: Instant) -> Self {
        Self {
            target,
            deadline,
            framing: Framing::new(),
            buffer: ReadBuffer::of(SMALL_BUFFER_BYTES),
            received: 0,
            taken: 0,
        }
    }

    /// The next packet: its number and payload.
    fn next(&mut self, session: &mut MySqlSession) -> Result<(u8, Vec<u8>), SessionError> {
        loop {
            let mut input = &self.buffer.0[self.taken..self.received];
            let before = input.len();
            let packet = self.framing.next(&mut input, |_| true);
            self.taken += before - input.len();
            if let Some(packet) = packet {
                return Ok((packet.number, packet.body.to_vec()));
            }
            self.received = session.read_before(&mut self.buffer, self.target, self.deadline)?;
            self.taken = 0;
        }
    }

    /// Refuses what came behind the greeting: nobody may put something in front of TLS.
    fn refuse_rest(&self) -> Result<(), SessionError> {
        if self.taken < self.received {
            return Err(SessionError::Protocol(
                "something came behind its greeting".to_owned(),
            ));
        }
        Ok(())
    }
}
