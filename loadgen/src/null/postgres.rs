//! The server's side of PostgreSQL's protocol: what has come goes in, answers come out. No socket, no clock.
//!
//! (PostgreSQL documentation, "Frontend/Backend Protocol".)

use super::Over;
use super::statement::{Effect, Mark, REFUSED, Statement};
use crate::session::fields::Fields;
use crate::session::postgres::framing::Framing;
use std::collections::BTreeMap;

mod reply;
#[cfg(test)]
mod tests;

/// The longest startup packet, as PostgreSQL's.
const STARTUP_BYTES_MAX: usize = 10_000;
/// The shortest: its length and a code.
const STARTUP_BYTES_MIN: usize = 8;
/// What its length takes, which counts itself.
const LENGTH_BYTES: usize = 4;

/// Codes that a startup packet begins with.
const PROTOCOL_3: u32 = 3 << 16;
const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;

/// A connection's state.
pub(super) struct Session {
    /// What has come of a startup packet; none after it.
    startup: Option<Vec<u8>>,
    framing: Framing,
    conversation: Conversation,
}

impl Session {
    /// Makes a session that waits for a startup packet.
    pub(super) fn new() -> Self {
        Self {
            startup: Some(Vec::new()),
            framing: Framing::new(),
            conversation: Conversation::default(),
        }
    }

    /// Takes what was read and appends the answers to `out`; returns false where the connection is to be closed then.
    pub(super) fn take(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> bool {
        match self.take_all(&mut input, out) {
            Ok(()) => true,
            Err(Over::Goodbye) => false,
            Err(Over::Broken(problem)) => {
                reply::error(out, "FATAL", "08P01", problem);
                false
            }
        }
    }

    fn take_all(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<(), Over> {
        while let Some(packet) = &mut self.startup {
            if !take_startup(packet, input)? {
                return Ok(());
            }
            if has_begun(packet, out)? {
                self.startup = None;
            }
        }
        while let Some(message) = self.framing.next(input, |_| true)? {
            self.conversation.take(message.tag, message.body, out)?;
        }
        Ok(())
    }
}

/// Takes what belongs to a startup packet, which has no type; returns false where the input ends before it does.
fn take_startup(packet: &mut Vec<u8>, input: &mut &[u8]) -> Result<bool, Over> {
    loop {
        let length = match packet.first_chunk() {
            None => LENGTH_BYTES,
            Some(length) => u32::from_be_bytes(*length) as usize,
        };
        let known = packet.len() >= LENGTH_BYTES;
        if known && !(STARTUP_BYTES_MIN..=STARTUP_BYTES_MAX).contains(&length) {
            return Err(Over::Broken("this is no startup packet"));
        }
        if known && packet.len() == length {
            return Ok(true);
        }
        let missing = length - packet.len();
        let (front, rest) = input.split_at(input.len().min(missing));
        packet.extend_from_slice(front);
        *input = rest;
        if front.len() < missing {
            return Ok(false);
        }
    }
}

/// Answers a startup packet and empties it; returns true where the session has begun, else another packet comes.
fn has_begun(packet: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<bool, Over> {
    let code = Fields(&packet[LENGTH_BYTES..]).be_u32()?;
    packet.clear();
    match code {
        PROTOCOL_3 => {
            reply::welcome(out);
            reply::ready(out, false);
            Ok(true)
        }
        SSL_REQUEST => {
            out.extend_from_slice(reply::UNENCRYPTED);
            Ok(false)
        }
        CANCEL_REQUEST => Err(Over::Goodbye),
        _ => Err(Over::Broken("only protocol 3.0 is spoken here")),
    }
}

/// What a session keeps after its start.
#[derive(Debug, Default)]
struct Conversation {
    statements: BTreeMap<Vec<u8>, Statement>,
    /// The statement that was bound last, and whether its row is wanted in binary form.
    bound: Option<(Statement, bool)>,
    in_transaction: bool,
    /// After an error in the extended protocol everything is passed over up to a Sync.
    skipping: bool,
}

impl Conversation {
    #[inline]
    fn take(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<(), Over> {
        let mut fields = Fields(body);
        match tag {
            b'S' => {
                self.skipping = false;
                reply::ready(out, self.in_transaction);
            }
            b'Q' => {
                self.skipping = false;
                self.query(fields.text()?, out);
            }
            b'P' | b'B' | b'D' | b'E' | b'C' if self.skipping => {}
            b'P' => self.parse(&mut fields, out)?,
            b'B' => self.bind(&mut fields, out)?,
            b'D' => self.describe(&mut fields, out)?,
            b'E' => self.execute(out),
            b'C' => {
                if fields.u8()? == b'S' {
                    self.statements.remove(fields.text()?);
                }
                out.extend_from_slice(reply::CLOSED);
            }
            // Flush: answers go out with each batch anyway.
            b'H' => {}
            b'X' => return Err(Over::Goodbye),
            _ => return Err(Over::Broken("this message does not belong here")),
        }
        Ok(())
    }

    /// Runs the statement of a simple query.
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        match Statement::of(sql, Mark::Numbered) {
            None => reply::error(out, "ERROR", "0A000", REFUSED),
            Some(statement) => {
                if statement.effect == Effect::Row {
                    out.extend_from_slice(reply::COLUMN_TEXT);
                }
                self.run(statement, false, out);
            }
        }
        reply::ready(out, self.in_transaction);
    }

    /// Says what a statement does after the description of its columns.
    #[inline]
    fn run(&mut self, statement: Statement, binary: bool, out: &mut Vec<u8>) {
        match statement.effect {
            Effect::Row if binary => out.extend_from_slice(reply::ROW_BINARY),
            Effect::Row => out.extend_from_slice(reply::ROW_TEXT),
            Effect::Begin => self.in_transaction = true,
            Effect::End => self.in_transaction = false,
            Effect::Change | Effect::Nothing => {}
        }
        reply::complete(out, statement.tag);
    }

    fn parse(&mut self, fields: &mut Fields, out: &mut Vec<u8>) -> Result<(), Over> {
        let (name, sql) = (fields.text()?, fields.text()?);
        match Statement::of(sql, Mark::Numbered) {
            Some(statement) => {
                self.statements.insert(name.to_vec(), statement);
                out.extend_from_slice(reply::PARSED);
            }
            None => self.refuse("0A000", REFUSED, out),
        }
        Ok(())
    }

    /// Binds a statement. The values are passed over; there is one portal, whatever it is called.
    #[inline]
    fn bind(&mut self, fields: &mut Fields, out: &mut Vec<u8>) -> Result<(), Over> {
        let (_portal, name) = (fields.text()?, fields.text()?);
        let formats = usize::from(fields.be_u16()?);
        fields.bytes(2 * formats)?;
        for _ in 0..fields.be_u16()? {
            // A NULL has the length -1 and no bytes.
            let length = fields.be_u32()?.cast_signed();
            fields.bytes(usize::try_from(length).unwrap_or(0))?;
        }
        let binary = fields.be_u16()? > 0 && fields.be_u16()? == 1;
        match self.statements.get(name) {
            Some(statement) => {
                self.bound = Some((*statement, binary));
                out.extend_from_slice(reply::BOUND);
            }
            None => self.refuse("26000", UNKNOWN, out),
        }
        Ok(())
    }

    fn describe(&mut self, fields: &mut Fields, out: &mut Vec<u8>) -> Result<(), Over> {
        let described = if fields.u8()? == b'S' {
            let statement = self.statements.get(fields.text()?).copied();
            statement.map(|statement| {
                reply::parameters(out, statement.parameters);
                (statement, false)
            })
        } else {
            self.bound
        };
        match described {
            Some((statement, binary)) => {
                out.extend_from_slice(match (statement.effect, binary) {
                    (Effect::Row, true) => reply::COLUMN_BINARY,
                    (Effect::Row, false) => reply::COLUMN_TEXT,
                    _ => reply::NO_DATA,
                });
            }
            None => self.refuse("26000", UNKNOWN, out),
        }
        Ok(())
    }

    #[inline]
    fn execute(&mut self, out: &mut Vec<u8>) {
        match self.bound {
            Some((statement, binary)) => self.run(statement, binary, out),
            None => self.refuse("34000", "nothing is bound", out),
        }
    }

    /// Reports an error in the extended protocol.
    #[cold]
    fn refuse(&mut self, code: &str, problem: &str, out: &mut Vec<u8>) {
        reply::error(out, "ERROR", code, problem);
        self.skipping = true;
    }
}

const UNKNOWN: &str = "there is no prepared statement of this name";
