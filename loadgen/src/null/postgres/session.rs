//! The server's side of a conversation: what has come goes in, answers come out. No socket, no clock.

use super::command::{self, Command, Effect, Statement};
use super::reply;
use super::startup::Startup;
use crate::null::copy::Counter;
use crate::null::session::Over;
use crate::null::sql::{Dialect, Name};
use crate::session::postgres::framing::Framing;
use std::collections::BTreeMap;

/// A connection's state.
pub(in crate::null) struct Session {
    /// What has come of a startup packet; none after it.
    startup: Option<Startup>,
    framing: Framing,
    conversation: Conversation,
}

impl Session {
    /// A session that waits for a startup packet.
    pub(in crate::null) fn new() -> Self {
        Self {
            startup: Some(Startup::default()),
            framing: Framing::new(),
            conversation: Conversation::default(),
        }
    }

    /// Takes what was read and appends the answers to `out`; false where the connection is to be closed then.
    pub(in crate::null) fn take(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> bool {
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
        while let Some(startup) = &mut self.startup {
            if !startup.take(input)? {
                return Ok(());
            }
            if startup.answer(out)? {
                self.startup = None;
            }
        }
        loop {
            match self.framing.next(input, |_| true) {
                Ok(Some(message)) => self.conversation.message(message.tag, message.body, out)?,
                Ok(None) => return Ok(()),
                Err(_) => return Err(Over::Broken("a message's length cannot be")),
            }
        }
    }
}

/// Things by name, one of which may have none.
#[derive(Debug)]
struct Named<T> {
    unnamed: Option<T>,
    named: BTreeMap<Name, T>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self {
            unnamed: None,
            named: BTreeMap::new(),
        }
    }
}

impl<T> Named<T> {
    fn get(&self, name: &[u8]) -> Option<&T> {
        if name.is_empty() {
            self.unnamed.as_ref()
        } else {
            self.named.get(&Name::new(name))
        }
    }

    fn set(&mut self, name: &[u8], thing: T) {
        if name.is_empty() {
            self.unnamed = Some(thing);
        } else {
            self.named.insert(Name::new(name), thing);
        }
    }

    fn remove(&mut self, name: &[u8]) {
        if name.is_empty() {
            self.unnamed = None;
        } else {
            self.named.remove(&Name::new(name));
        }
    }

    fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }
}

/// A statement that has been parsed.
#[derive(Debug, Clone, Copy)]
struct Prepared {
    statement: Statement,
    parameters: u16,
}

/// A statement that can be executed.
#[derive(Debug, Clone, Copy)]
struct Portal {
    statement: Statement,
    binary: bool,
}

/// COPY data that are coming.
#[derive(Debug)]
struct Copying {
    counter: Counter,
    /// What stood behind the COPY in a simple query; none in the extended protocol.
    simple_rest: Option<Vec<u8>>,
}

/// What a session keeps after its start.
#[derive(Debug, Default)]
struct Conversation {
    statements: Named<Prepared>,
    portals: Named<Portal>,
    in_transaction: bool,
    /// After an error in the extended protocol everything is passed over up to a Sync.
    skipping: bool,
    copying: Option<Copying>,
}

impl Conversation {
    #[inline]
    fn message(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<(), Over> {
        if tag == b'X' {
            return Err(Over::Goodbye);
        }
        if self.copying.is_some() {
            return self.copy_data(tag, body, out);
        }
        let mut fields = Fields(body);
        match tag {
            b'S' => self.sync(out),
            b'Q' => {
                self.skipping = false;
                self.query(fields.text()?, out);
            }
            b'P' | b'B' | b'D' | b'E' | b'C' if self.skipping => {}
            b'P' => self.parse(&mut fields, out)?,
            b'B' => self.bind(&mut fields, out)?,
            b'D' => self.describe(&mut fields, out)?,
            b'E' => self.execute(&mut fields, out)?,
            b'C' => self.close(&mut fields, out)?,
            // Flush: answers go out with each batch anyway. COPY's messages after its end are allowed.
            b'H' | b'd' | b'c' | b'f' => {}
            _ => return Err(Over::Broken("this message does not belong here")),
        }
        Ok(())
    }

    fn sync(&mut self, out: &mut Vec<u8>) {
        self.skipping = false;
        if !self.in_transaction {
            self.portals.clear();
        }
        reply::ready(out, self.in_transaction);
    }

    /// Runs each statement of a simple query.
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        let mut rest = sql;
        let mut any = false;
        while let Some(sql) = Dialect::Postgres.next_statement(&mut rest) {
            any = true;
            match self.command(sql) {
                Err(problem) => {
                    reply::error(out, "ERROR", "26000", problem);
                    break;
                }
                Ok(statement) => {
                    if let Effect::CopyIn { binary } = statement.effect {
                        self.copy_begin(binary, Some(rest.to_vec()), out);
                        return;
                    }
                    if statement.effect == Effect::Row {
                        out.extend_from_slice(reply::COLUMN_TEXT);
                    }
                    self.run(&statement, false, out);
                }
            }
        }
        if !any {
            out.extend_from_slice(reply::EMPTY);
        }
        reply::ready(out, self.in_transaction);
    }

    /// The statement that a command comes down to; PREPARE and its kin take effect here.
    fn command(&mut self, sql: &[u8]) -> Result<Statement, &'static str> {
        const UNKNOWN: &str = "there is no prepared statement of this name";
        match Command::of(sql) {
            Command::Run(statement) => Ok(statement),
            Command::Execute(name) => {
                let prepared = self.statements.get(name.as_bytes());
                prepared.map(|prepared| prepared.statement).ok_or(UNKNOWN)
            }
            Command::Prepare { name, sql } => {
                let prepared = self.prepared(sql)?;
                self.statements.set(name.as_bytes(), prepared);
                Ok(Statement::plain(b"PREPARE"))
            }
            Command::Deallocate(Some(name)) => {
                self.statements.remove(name.as_bytes());
                Ok(Statement::plain(b"DEALLOCATE"))
            }
            Command::Deallocate(None) => {
                self.statements.clear();
                Ok(Statement::plain(b"DEALLOCATE ALL"))
            }
        }
    }

    fn prepared(&mut self, sql: &[u8]) -> Result<Prepared, &'static str> {
        Ok(Prepared {
            statement: match Command::of(sql) {
                Command::Prepare { .. } => return Err("a PREPARE cannot be prepared here"),
                _ => self.command(sql)?,
            },
            parameters: command::parameters(sql),
        })
    }

    /// What a statement returns after the description of its columns.
    #[inline]
    fn run(&mut self, statement: &Statement, binary: bool, out: &mut Vec<u8>) {
        match statement.effect {
            Effect::Row if binary => out.extend_from_slice(reply::ROW_BINARY),
            Effect::Row => out.extend_from_slice(reply::ROW_TEXT),
            Effect::Begin => self.in_transaction = true,
            Effect::End => self.in_transaction = false,
            Effect::CopyOut => out.extend_from_slice(reply::COPY_OUT),
            Effect::Empty => {
                out.extend_from_slice(reply::EMPTY);
                return;
            }
            Effect::None | Effect::CopyIn { .. } => {}
        }
        reply::complete(out, statement.tag.as_bytes());
    }

    fn parse(&mut self, fields: &mut Fields, out: &mut Vec<u8>) -> Result<(), Over> {
        let (name, sql) = (fields.text()?, fields.text()?);
        match self.prepared(sql) {
            Ok(prepared) => {
                self.statements.set(name, prepared);
                out.extend_from_slice(reply::PARSED);
            }
            Err(problem) => self.refuse("26000", problem, out),
        }
        Ok(())
    }

    fn bind(&mut self, fields: &mut Fields, out: &mut Vec<u8>) -> Result<(), Over> {
        let (portal, statement) = (fields.text()?, fields.text()?);
        let formats = usize::from(fields.u16()?);
        fields.bytes(2 * formats)?;
        for _ in 0..fields.u16()? {
            let length = fields.u32()?;
            // A NULL has the length -1 and no bytes.
            fields
                .bytes(i32::try_from(length).map_or(0, |length| length.unsigned_abs() as usize))?;
        }
        let binary = fields.u16()? > 0 && fields.u16()? == 1;
        match self.statements.get(statement) {
            Some(Prepared { statement, .. }) => {
                let statement = *statement;
                self.portals.set(portal, Portal { statement, binary });
                out.extend_from_slice(reply::BOUND);
            }
            None => self.refuse("26000", "there is no prepared statement of this name", out),
        }
        Ok(())
    }

    fn describe(&mut self, fields: &mut Fields, out: &mut Vec<u8>) -> Result<(), Over> {
        let (kind, name) = (fields.u8()?, fields.text()?);
        let (effect, binary) = if kind == b'S' {
            let Some(prepared) = self.statements.get(name) else {
                self.refuse("26000", "there is no prepared statement of this name", out);
                return Ok(());
            };
            reply::parameters(out, prepared.parameters);
            (prepared.statement.effect, false)
        } else {
            let Some(portal) = self.portals.get(name) else {
                self.refuse("34000", "there is no portal of this name", out);
                return Ok(());
            };
            (portal.statement.effect, portal.binary)
        };
        out.extend_from_slice(match (effect, binary) {
            (Effect::Row, true) => reply::COLUMN_BINARY,
            (Effect::Row, false) => reply::COLUMN_TEXT,
            _ => reply::NO_DATA,
        });
        Ok(())
    }

    #[inline]
    fn execute(&mut self, fields: &mut Fields, out: &mut Vec<u8>) -> Result<(), Over> {
        match self.portals.get(fields.text()?) {
            Some(&Portal { statement, binary }) => match statement.effect {
                Effect::CopyIn { binary } => self.copy_begin(binary, None, out),
                _ => self.run(&statement, binary, out),
            },
            None => self.refuse("34000", "there is no portal of this name", out),
        }
        Ok(())
    }

    fn close(&mut self, fields: &mut Fields, out: &mut Vec<u8>) -> Result<(), Over> {
        let (kind, name) = (fields.u8()?, fields.text()?);
        if kind == b'S' {
            self.statements.remove(name);
        } else {
            self.portals.remove(name);
        }
        out.extend_from_slice(reply::CLOSED);
        Ok(())
    }

    fn copy_begin(&mut self, binary: bool, simple_rest: Option<Vec<u8>>, out: &mut Vec<u8>) {
        out.extend_from_slice(if binary {
            reply::COPY_IN_BINARY
        } else {
            reply::COPY_IN
        });
        self.copying = Some(Copying {
            counter: Counter::new(binary),
            simple_rest,
        });
    }

    /// Takes a message of a COPY. A Flush or Sync meanwhile means nothing.
    fn copy_data(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<(), Over> {
        match (tag, &mut self.copying) {
            (b'd', Some(copying)) => copying.counter.take(body),
            (b'H' | b'S', _) => {}
            (b'c' | b'f', copying) => {
                if let Some(copying) = copying.take() {
                    self.copy_end(&copying, tag == b'c', out);
                }
            }
            _ => return Err(Over::Broken("this message does not belong into a COPY")),
        }
        Ok(())
    }

    fn copy_end(&mut self, copying: &Copying, done: bool, out: &mut Vec<u8>) {
        const FAILED: &str = "COPY from stdin failed: the client has given it up";
        match (done, &copying.simple_rest) {
            (true, Some(rest)) => {
                reply::copied(out, copying.counter.rows());
                if rest.is_empty() {
                    reply::ready(out, self.in_transaction);
                } else {
                    self.query(rest, out);
                }
            }
            (true, None) => reply::copied(out, copying.counter.rows()),
            (false, Some(_)) => {
                reply::error(out, "ERROR", "57014", FAILED);
                reply::ready(out, self.in_transaction);
            }
            (false, None) => self.refuse("57014", FAILED, out),
        }
    }

    /// Reports an error in the extended protocol.
    #[cold]
    fn refuse(&mut self, code: &str, problem: &str, out: &mut Vec<u8>) {
        reply::error(out, "ERROR", code, problem);
        self.skipping = true;
    }
}

/// The fields of a message that are left.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    #[inline]
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Over> {
        let (front, rest) = self.0.split_at_checked(count).ok_or(CUT)?;
        self.0 = rest;
        Ok(front)
    }

    /// A text up to its NUL.
    #[inline]
    fn text(&mut self) -> Result<&'a [u8], Over> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(CUT)?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(text)
    }

    fn u8(&mut self) -> Result<u8, Over> {
        Ok(self.bytes(1)?[0])
    }

    #[inline]
    fn u16(&mut self) -> Result<u16, Over> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    #[inline]
    fn u32(&mut self) -> Result<u32, Over> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

/// The problem with a message whose fields go beyond its end.
const CUT: Over = Over::Broken("a message ends before its fields do");
