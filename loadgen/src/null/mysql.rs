//! The server's side of MySQL's protocol: packets go in, answers come out. No socket, no clock.
//!
//! (MySQL documentation, "MySQL Client/Server Protocol".)

use super::Over;
use super::statement::{Effect, Mark, REFUSED, Statement};
use crate::session::fields::Fields;
use crate::session::mysql::Framing;
use crate::wire::mysql::PAYLOAD_BYTES_MAX;
use reply::{AUTOCOMMIT, IN_TRANSACTION, Reply, capability};
use std::collections::BTreeMap;

mod reply;
#[cfg(test)]
mod tests;

/// The most statements that a session keeps, as many as a server does by default.
const STATEMENTS_MAX: usize = 16_382;

/// The shortest answer to a greeting: flags, the longest packet, the character set and what is unused.
const ANSWER_BYTES_MIN: usize = 32;

/// What an execution has before its values: number, flags of a cursor, iterations.
const EXECUTION_BYTES: usize = 9;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_PING: u8 = 0x0e;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

/// The problem with a request whose fields go beyond its end.
const CUT: Over = Over::Broken("a request ends before its fields do");

/// A connection's state.
pub(super) struct Session {
    framing: Framing,
    /// The number that the next packet has.
    expected: u8,
    conversation: Conversation,
}

impl Session {
    /// Begins a session with a client that has just come, which is greeted.
    pub(super) fn new(out: &mut Vec<u8>) -> Self {
        Reply::new(out, u8::MAX).greeting();
        Self {
            framing: Framing::new(),
            expected: 1,
            conversation: Conversation::default(),
        }
    }

    /// Takes what was read and appends the answers to `out`; returns false where the connection is to be closed then.
    pub(super) fn take(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> bool {
        match self.take_all(&mut input, out) {
            Ok(()) => true,
            Err(Over::Goodbye) => false,
            Err(Over::Broken(problem)) => {
                Reply::new(out, self.expected).error(1043, "08S01", problem);
                false
            }
        }
    }

    fn take_all(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<(), Over> {
        while let Some(packet) = self.framing.next(input, |_| true) {
            if packet.length == PAYLOAD_BYTES_MAX {
                return Err(Over::Broken("a request is longer than 16 MiB"));
            }
            if packet.number != self.expected {
                return Err(Over::Broken("a packet's number is out of turn"));
            }
            let reply = Reply::new(out, packet.number);
            if self.expected == 0 {
                self.conversation.take(packet.body, reply)?;
            } else {
                self.conversation.let_in(packet.body, reply)?;
                // Each command counts from 0.
                self.expected = 0;
            }
        }
        Ok(())
    }
}

/// What a session keeps after its start.
#[derive(Debug, Default)]
struct Conversation {
    /// Whether the client takes result sets without EOF (CLIENT_DEPRECATE_EOF).
    without_eof: bool,
    statements: BTreeMap<u32, Statement>,
    last_id: u32,
    in_transaction: bool,
}

impl Conversation {
    /// Takes the answer to the greeting. Anybody is let in, with any password.
    fn let_in(&mut self, body: &[u8], mut reply: Reply) -> Result<(), Over> {
        let flags = Fields(body).le_u32()?;
        if body.len() < ANSWER_BYTES_MIN || flags & capability::PROTOCOL_41 == 0 {
            return Err(Over::Broken(
                "this answers no greeting of MySQL's protocol 4.1",
            ));
        }
        self.without_eof = flags & capability::DEPRECATE_EOF != 0;
        reply.ok(0);
        Ok(())
    }

    #[inline]
    fn take(&mut self, body: &[u8], mut reply: Reply) -> Result<(), Over> {
        reply.without_eof = self.without_eof;
        reply.status = self.status();
        let (&kind, body) = body.split_first().ok_or(CUT)?;
        match kind {
            COM_QUIT => return Err(Over::Goodbye),
            COM_QUERY => match Statement::of(body, Mark::Question) {
                Some(statement) => self.run(statement.effect, false, reply),
                None => reply.error(1295, "HY000", REFUSED),
            },
            COM_STMT_PREPARE => self.prepare(body, reply),
            COM_STMT_EXECUTE => self.execute(body, reply)?,
            COM_STMT_CLOSE => drop(self.statements.remove(&Fields(body).le_u32()?)),
            COM_PING => reply.ok(0),
            _ => reply.error(1047, "08S01", "the null server does not know this command"),
        }
        Ok(())
    }

    #[inline]
    fn status(&self) -> u16 {
        if self.in_transaction {
            AUTOCOMMIT | IN_TRANSACTION
        } else {
            AUTOCOMMIT
        }
    }

    /// Says what a statement does.
    #[inline]
    fn run(&mut self, effect: Effect, binary: bool, mut reply: Reply) {
        match effect {
            Effect::Begin => self.in_transaction = true,
            Effect::End => self.in_transaction = false,
            Effect::Change | Effect::Row | Effect::Nothing => {}
        }
        reply.status = self.status();
        match effect {
            Effect::Row => reply.row(binary),
            Effect::Change => reply.ok(1),
            Effect::Begin | Effect::End | Effect::Nothing => reply.ok(0),
        }
    }

    fn prepare(&mut self, sql: &[u8], mut reply: Reply) {
        let Some(statement) = Statement::of(sql, Mark::Question) else {
            return reply.error(1295, "HY000", REFUSED);
        };
        if self.statements.len() >= STATEMENTS_MAX {
            let problem = "a session keeps at most 16382 prepared statements";
            return reply.error(1461, "42000", problem);
        }
        self.last_id = self.last_id.wrapping_add(1);
        self.statements.insert(self.last_id, statement);
        let columns = u16::from(statement.effect == Effect::Row);
        reply.prepared(self.last_id, columns, statement.parameters);
    }

    /// Runs what was prepared. The values are passed over; there is no cursor.
    #[inline]
    fn execute(&mut self, body: &[u8], mut reply: Reply) -> Result<(), Over> {
        let id = Fields(body).le_u32()?;
        let Some(statement) = self.statements.get(&id) else {
            let problem = "there is no prepared statement of this number";
            reply.error(1243, "HY000", problem);
            return Ok(());
        };
        // Behind the fixed part: a bit for each NULL, and whether types follow.
        let parameters = usize::from(statement.parameters);
        let least = EXECUTION_BYTES + parameters.div_ceil(8) + usize::from(parameters > 0);
        if body.len() < least {
            return Err(CUT);
        }
        self.run(statement.effect, true, reply);
        Ok(())
    }
}
