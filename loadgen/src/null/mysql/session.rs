//! A session of MySQL's protocol: packets go in, answers come out. No socket, no clock.

use super::command::{self, Command, Effect};
use super::handshake::{self, Awaits};
use super::packet::Packets;
use super::reply::{Refusal, Reply, capability, status};
use crate::null::copy::Counter;
use crate::null::session::Over;
use crate::null::sql::Dialect;
use std::collections::BTreeMap;

/// The most statements that a session keeps, as many as a server does by default.
const STATEMENTS_MAX: usize = 16_382;

const BAD_REQUEST: u16 = 1043;
const UNKNOWN_STATEMENT: Refusal = Refusal {
    code: 1243,
    state: b"HY000",
    problem: "there is no prepared statement of this number",
};

/// A connection's state.
pub(in crate::null) struct Session {
    packets: Packets,
    entry: Entry,
    conversation: Conversation,
}

impl Session {
    /// A session with a client that has just come, which is greeted.
    pub(in crate::null) fn new(out: &mut Vec<u8>) -> Self {
        let mut packets = Packets::default();
        let mut reply = Reply::new(out, u8::MAX);
        reply.greeting();
        packets.expected = reply.number;
        Self {
            packets,
            entry: Entry::Greeted,
            conversation: Conversation::default(),
        }
    }

    /// Takes what was read and appends the answers to `out`; false where the connection is to be closed then.
    pub(in crate::null) fn take(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> bool {
        match self.take_all(&mut input, out) {
            Ok(()) => true,
            Err(Over::Goodbye) => false,
            Err(Over::Broken(problem)) => {
                Reply::new(out, self.packets.expected.wrapping_sub(1)).error(Refusal {
                    code: BAD_REQUEST,
                    state: b"08S01",
                    problem,
                });
                false
            }
        }
    }

    fn take_all(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<(), Over> {
        while let Some(packet) = self.packets.next(input)? {
            let mut reply = Reply::new(out, packet.number);
            match self.entry {
                Entry::Let => self.conversation.take(packet.body, &mut reply)?,
                Entry::Greeted => {
                    let client = handshake::read(packet.body)?;
                    self.conversation.capabilities = client.capabilities;
                    self.entry = let_in(client.awaits, &mut reply);
                }
                Entry::Switched => self.entry = let_in(Awaits::Ok, &mut reply),
            }
            // A new command counts from 0 again; an answer and the data of a LOAD DATA go on counting.
            let goes_on = self.conversation.loading.is_some() || self.entry != Entry::Let;
            self.packets.expected = if goes_on { reply.number } else { 0 };
        }
        Ok(())
    }
}

/// How far a client is in being let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// It has been greeted.
    Greeted,
    /// It has been told to answer by another plugin.
    Switched,
    /// It has been let in.
    Let,
}

fn let_in(awaits: Awaits, reply: &mut Reply) -> Entry {
    match awaits {
        Awaits::Switch => {
            reply.switch();
            return Entry::Switched;
        }
        Awaits::FastPath => reply.fast_path(),
        Awaits::Ok => {}
    }
    reply.ok(0, b"");
    Entry::Let
}

/// A statement that has been prepared.
#[derive(Debug, Clone, Copy)]
struct Prepared {
    effect: Effect,
    parameters: u16,
}

/// Data of a LOAD DATA that are coming.
#[derive(Debug)]
struct Loading {
    counter: Counter,
    /// What stood behind it in its request.
    rest: Vec<u8>,
}

/// What a session keeps after its start.
#[derive(Debug, Default)]
struct Conversation {
    capabilities: u32,
    statements: BTreeMap<u32, Prepared>,
    last_id: u32,
    in_transaction: bool,
    loading: Option<Loading>,
}

impl Conversation {
    #[inline]
    fn take(&mut self, body: &[u8], reply: &mut Reply) -> Result<(), Over> {
        reply.without_eof = self.has(capability::DEPRECATE_EOF);
        reply.status = self.status();
        if self.loading.is_some() {
            self.load_data(body, reply);
            return Ok(());
        }
        let (&kind, body) = body
            .split_first()
            .ok_or(Over::Broken("a command has no bytes"))?;
        match kind {
            COM_QUIT => return Err(Over::Goodbye),
            COM_QUERY => self.query(body, reply),
            COM_STMT_PREPARE => self.prepare(body, reply),
            COM_STMT_EXECUTE => self.execute(body, reply)?,
            COM_STMT_CLOSE => {
                self.statements.remove(&id(body)?);
            }
            // Parameters that come by themselves are not answered, and not kept.
            COM_STMT_SEND_LONG_DATA => {}
            COM_STMT_RESET => match self.statements.get(&id(body)?) {
                Some(_) => reply.ok(0, b""),
                None => reply.error(UNKNOWN_STATEMENT),
            },
            COM_INIT_DB | COM_PING => reply.ok(0, b""),
            COM_RESET_CONNECTION => {
                self.statements.clear();
                self.in_transaction = false;
                reply.status = self.status();
                reply.ok(0, b"");
            }
            COM_SET_OPTION => self.set_option(body, reply)?,
            COM_STATISTICS => reply.text(b"null server of dbdyno"),
            _ => reply.error(Refusal {
                code: 1047,
                state: b"08S01",
                problem: "the null server does not know this command",
            }),
        }
        Ok(())
    }

    #[inline]
    fn has(&self, capability: u32) -> bool {
        self.capabilities & capability != 0
    }

    #[inline]
    fn status(&self) -> u16 {
        let transaction = if self.in_transaction {
            status::IN_TRANSACTION
        } else {
            0
        };
        status::AUTOCOMMIT | transaction
    }

    /// Runs each statement of a text request.
    fn query(&mut self, sql: &[u8], reply: &mut Reply) {
        let mut rest = sql;
        let mut sql = Dialect::Mysql.next_statement(&mut rest).unwrap_or_default();
        loop {
            let mut after = rest;
            let next = Dialect::Mysql.next_statement(&mut after);
            if next.is_some() && !self.has(capability::MULTI_STATEMENTS) {
                reply.error(Refusal {
                    code: 1064,
                    state: b"42000",
                    problem: "several statements in one request, which the client has not asked for",
                });
                return;
            }
            match Command::of(sql) {
                Command::Run(effect) => self.run(effect, false, next.is_some(), reply),
                Command::Load(file) => return self.load(file, rest, reply),
                Command::Refused(refusal) => return reply.error(refusal),
            }
            let Some(next) = next else { return };
            (sql, rest) = (next, after);
        }
    }

    /// What a statement is answered with; `more` where another answer follows.
    #[inline]
    fn run(&mut self, effect: Effect, binary: bool, more: bool, reply: &mut Reply) {
        match effect {
            Effect::Begin => self.in_transaction = true,
            Effect::End => self.in_transaction = false,
            Effect::Changed(_) | Effect::Row => {}
        }
        reply.status = self.status() | more_results(more);
        match effect {
            Effect::Row => reply.row(binary),
            Effect::Changed(rows) => reply.ok(rows, b""),
            Effect::Begin | Effect::End => reply.ok(0, b""),
        }
    }

    fn prepare(&mut self, sql: &[u8], reply: &mut Reply) {
        let effect = match Command::of(sql) {
            Command::Run(effect) => effect,
            Command::Refused(refusal) => return reply.error(refusal),
            Command::Load(_) => {
                return reply.error(Refusal {
                    code: 1295,
                    state: b"HY000",
                    problem: "a LOAD DATA cannot be prepared",
                });
            }
        };
        if self.statements.len() >= STATEMENTS_MAX {
            return reply.error(Refusal {
                code: 1461,
                state: b"42000",
                problem: "a session keeps at most 16382 prepared statements",
            });
        }
        self.last_id = self.last_id.wrapping_add(1);
        let parameters = command::parameters(sql);
        let prepared = Prepared { effect, parameters };
        self.statements.insert(self.last_id, prepared);
        let columns = u16::from(effect == Effect::Row);
        reply.prepared(self.last_id, columns, parameters);
    }

    /// Runs what was prepared. The values are passed over; there is no cursor.
    #[inline]
    fn execute(&mut self, body: &[u8], reply: &mut Reply) -> Result<(), Over> {
        const FIXED_BYTES: usize = 9;
        const CURSOR_FLAGS: usize = 4;
        let Some(&Prepared { effect, parameters }) = self.statements.get(&id(body)?) else {
            reply.error(UNKNOWN_STATEMENT);
            return Ok(());
        };
        // Behind the fixed part: a bit for each NULL, and whether types follow.
        let parameters = usize::from(parameters);
        let least = FIXED_BYTES + parameters.div_ceil(8) + usize::from(parameters > 0);
        if body.len() < least {
            return Err(CUT);
        }
        if body[CURSOR_FLAGS] != 0 {
            reply.error(Refusal {
                code: 1295,
                state: b"HY000",
                problem: "the null server has no cursors",
            });
            return Ok(());
        }
        self.run(effect, true, false, reply);
        Ok(())
    }

    /// Whether a text request may have several statements.
    fn set_option(&mut self, body: &[u8], reply: &mut Reply) -> Result<(), Over> {
        let option = *body.first().ok_or(CUT)?;
        if option == 0 {
            self.capabilities |= capability::MULTI_STATEMENTS;
        } else {
            self.capabilities &= !capability::MULTI_STATEMENTS;
        }
        reply.eof();
        Ok(())
    }

    fn load(&mut self, file: &[u8], rest: &[u8], reply: &mut Reply) {
        if !self.has(capability::LOCAL_FILES) {
            return reply.error(Refusal {
                code: 3948,
                state: b"42000",
                problem: "the client has not said that it can load local data",
            });
        }
        reply.ask_for(file);
        self.loading = Some(Loading {
            counter: Counter::new(false),
            rest: rest.to_vec(),
        });
    }

    /// Takes a packet of data; an empty one ends them.
    fn load_data(&mut self, data: &[u8], reply: &mut Reply) {
        let Some(loading) = &mut self.loading else {
            return;
        };
        if !data.is_empty() {
            loading.counter.take(data);
            return;
        }
        let rows = loading.counter.rows();
        let rest = std::mem::take(&mut loading.rest);
        self.loading = None;
        let more = Dialect::Mysql.next_statement(&mut &rest[..]).is_some();
        reply.status |= more_results(more);
        let info = format!("Records: {rows}  Deleted: 0  Skipped: 0  Warnings: 0");
        reply.ok(rows, info.as_bytes());
        if more {
            self.query(&rest, reply);
        }
    }
}

/// The bit that says whether another answer follows.
#[inline]
fn more_results(more: bool) -> u16 {
    if more { status::MORE_RESULTS } else { 0 }
}

const COM_QUIT: u8 = 0x01;
const COM_INIT_DB: u8 = 0x02;
const COM_QUERY: u8 = 0x03;
const COM_STATISTICS: u8 = 0x09;
const COM_PING: u8 = 0x0e;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_SEND_LONG_DATA: u8 = 0x18;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_STMT_RESET: u8 = 0x1a;
const COM_SET_OPTION: u8 = 0x1b;
const COM_RESET_CONNECTION: u8 = 0x1f;

/// The problem with a request whose fields go beyond its end.
const CUT: Over = Over::Broken("a request ends before its fields do");

/// The number of the statement that a request begins with.
#[inline]
fn id(body: &[u8]) -> Result<u32, Over> {
    let id = body.first_chunk().ok_or(CUT)?;
    Ok(u32::from_le_bytes(*id))
}
