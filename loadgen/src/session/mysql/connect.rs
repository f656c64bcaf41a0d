//! How a session is let in: the greeting, TLS where it is asked for, then the exchange of authentication.

use std::time::Instant;

use super::MySqlSession;
use super::auth::{Handshake, Step};
use super::framing::Framing;
use super::greeting::{Greeting, HandshakeAnswer};
use super::reader::Reader;
use crate::session::connect::{Cut, Opening, Opens, agreed_tls};
use crate::session::error::{ServerError, SessionError};
use crate::session::exchange::refuse_nul;
use crate::session::incoming::{Incoming, Reply};
use crate::session::password::Privacy;
use crate::session::target::Target;
use crate::wire::mysql;
use crate::wire::{MySqlChoice, Wire};

impl Opens for Reader {
    fn shake_hands(
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
        let mut opening = Opening::new(Framing::new(), target, deadline);
        let (number, body) = opening.next(session)?;
        let greeting = greeting(&body)?;
        let mut number = number.wrapping_add(1);
        let remedy = "give it `ssl_cert` and `ssl_key`";
        if let Some(tls) = agreed_tls(target, greeting.has_tls(), remedy)? {
            // Nobody may put something in front of TLS.
            if !opening.rest().is_empty() {
                let text = "something came behind its greeting".to_owned();
                return Err(SessionError::Protocol(text));
            }
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
            let (number, body) = opening.next(session)?;
            match handshake.take(&body)? {
                Step::Wait => {}
                Step::Send(bytes) => {
                    mysql::packet(&mut session.output, number.wrapping_add(1), &bytes);
                }
                Step::LetIn { status } => {
                    let (framing, rest) = opening.end();
                    session.reader = Reader::after(framing, greeting.ends_descriptions());
                    session.reader.set_server(&greeting, status);
                    session.reader.feed(&rest, &mut Reply::default())?;
                    return Ok(greeting.connection);
                }
            }
        }
    }
}

impl Cut for Framing {
    fn cut(&mut self, input: &mut &[u8]) -> Result<Option<(u8, Vec<u8>)>, SessionError> {
        let packet = self.next(input, |_| true);
        Ok(packet.map(|packet| (packet.number, packet.body.to_vec())))
    }
}

/// Reads the greeting, or the refusal that comes in its place: too many connections, a host that is blocked.
fn greeting(body: &[u8]) -> Result<Greeting, SessionError> {
    if body.first() == Some(&0xff) {
        return Err(SessionError::Server(ServerError::of_packet(body)?));
    }
    Greeting::of_packet(body)
}
