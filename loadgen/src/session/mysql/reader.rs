//! Understands the server's answers to requests, as far as the hot path needs them.
//!
//! (MySQL documentation, "MySQL Client/Server Protocol": "Command Phase", "Text Resultset", "Binary Protocol Resultset".)

use super::capture::{Column, column, gather_row};
use super::framing::{Framing, Packet};
use super::greeting::Greeting;
use crate::session::capture::Capture;
use crate::session::error::{ServerError, SessionError};
use crate::session::fields::Fields;
use crate::session::incoming::{Bulk, Incoming, Reply};
use crate::wire::mysql;
use crate::wire::mysql::PAYLOAD_BYTES_MAX;

/// The first byte of a packet that says how a statement went.
const OK: u8 = 0x00;
const ERROR: u8 = 0xff;
const END: u8 = 0xfe;
const LOCAL_FILE: u8 = 0xfb;
/// A packet that begins as the last one of a result and is as long as this is a row.
const END_BYTES_MAX: usize = 9;

/// A transaction is open.
const IN_TRANSACTION: u16 = 0x0001;
/// Another answer to the same request follows.
const MORE_RESULTS: u16 = 0x0008;
/// `\` has no meaning in literals.
const NO_BACKSLASH_ESCAPES: u16 = 0x0200;

/// More rows than one statement can have touched: what says so counts wrongly.
const ROWS_MAX: u64 = 1 << 48;

/// What the next packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// How a statement went, or how many columns its result has.
    Answer,
    /// A description of a column; so many are still to come.
    Columns(u64),
    /// A row, or the end of the result.
    Row,
    /// The number of a prepared statement.
    Statement,
    /// A description of a parameter or column of a prepared statement; so many are still to come.
    Descriptions(u64),
}

/// A statement that the server has prepared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The server's number of it.
    pub id: u32,
    /// How many parameters it has.
    pub parameters: u16,
}

/// The state of a session's incoming side between two reads.
#[derive(Debug)]
pub struct Reader {
    framing: Framing,
    pub(super) answer: Answer,
    mariadb: bool,
}

/// How far the answer to a request has come.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Answer {
    /// Whether a request has been made whose answer is not complete.
    asked: bool,
    expect: Expect,
    /// The number that the next packet of an answer has.
    pub(super) number: u8,
    /// Whether descriptions are followed by a packet that ends them, as with servers that are older.
    ends_descriptions: bool,
    /// Rows of the result that is being read.
    rows: u64,
    /// Whether they are in binary form, as those of prepared statements are.
    binary: bool,
    capture: Option<Box<Capture<Column>>>,
    /// The columns of the result that comes in, where a script wants its rows.
    gathered: Vec<Column>,
    /// The error that the server sent unasked, as it does before it ends a session.
    parting: Option<ServerError>,
    pub(super) prepared: Prepared,
    /// What the server doubted in the last statement that gave no rows.
    pub(super) warnings: u16,
    /// How far the data of a LOAD DATA LOCAL are.
    bulk: Bulk,
    /// Whether `\` stands for itself in literals, by what the server said last.
    plain_backslashes: bool,
}

impl Reader {
    /// Makes the incoming side of a session that has been let in.
    #[must_use]
    pub fn after(framing: Framing, ends_descriptions: bool) -> Self {
        Self {
            framing,
            answer: Answer {
                asked: false,
                expect: Expect::Answer,
                number: 1,
                ends_descriptions,
                rows: 0,
                binary: false,
                capture: None,
                gathered: Vec::new(),
                parting: None,
                prepared: Prepared::default(),
                warnings: 0,
                bulk: Bulk::Unexpected,
                plain_backslashes: false,
            },
            mariadb: false,
        }
    }

    /// Keeps what the server said of itself, by its greeting and when it let us in.
    pub(super) fn set_server(&mut self, greeting: &Greeting, status: u16) {
        self.mariadb = greeting.is_mariadb();
        self.answer.plain_backslashes = status & NO_BACKSLASH_ESCAPES != 0;
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.mariadb
    }

    pub(super) fn takes_backslashes_as_they_are(&self) -> bool {
        self.answer.plain_backslashes
    }

    /// Returns the statement that was prepared last.
    pub(super) fn prepared(&self) -> Prepared {
        self.answer.prepared
    }

    /// Takes note that the request that is made now prepares a statement.
    pub fn ask_to_prepare(&mut self) {
        self.answer.expect = Expect::Statement;
    }
}

impl Answer {
    /// Tells whether a packet with that first byte is needed even where it is cut.
    #[inline]
    fn wants(&self, gathers: bool) -> impl Fn(u8) -> bool + use<> {
        let all = match self.expect {
            Expect::Row | Expect::Columns(_) => self.capture.is_some() || gathers,
            Expect::Descriptions(_) => false,
            Expect::Answer | Expect::Statement => true,
        };
        move |first| all || first >= END
    }

    /// Takes one packet of those that come; true when the answer to a request is complete.
    #[inline]
    fn receive(&mut self, packet: &Packet, reply: &mut Reply) -> Result<bool, SessionError> {
        if packet.continues {
            self.number = packet.number.wrapping_add(1);
            return Ok(false);
        }
        if !self.asked {
            if packet.first != ERROR {
                return Err(unasked());
            }
            self.parting = Some(ServerError::of_packet(packet.body)?);
            return Ok(false);
        }
        // The server may give its reason for ending the session at any time, with a number of its own.
        if packet.number != self.number && packet.first != ERROR {
            return Err(out_of_order(packet.number, self.number));
        }
        self.number = packet.number.wrapping_add(1);
        let complete = self.take(packet, reply)?;
        if complete {
            (self.asked, self.expect) = (false, Expect::Answer);
        }
        Ok(complete)
    }

    /// Takes one packet; true when the answer is complete.
    #[inline]
    fn take(&mut self, packet: &Packet, reply: &mut Reply) -> Result<bool, SessionError> {
        match (self.expect, packet.first) {
            (_, ERROR) => {
                let error = ServerError::of_packet(packet.body)?;
                reply.error.get_or_insert(error);
                Ok(true)
            }
            (Expect::Row, END) if packet.length < PAYLOAD_BYTES_MAX => {
                self.end_of_rows(packet, reply)
            }
            (Expect::Row, _) => {
                self.rows += 1;
                if let Some(results) = reply.gathering()
                    && packet.length < PAYLOAD_BYTES_MAX
                {
                    gather_row(results, &self.gathered, packet.body, self.binary)?;
                }
                match &mut self.capture {
                    Some(capture) if packet.length < PAYLOAD_BYTES_MAX => {
                        capture.take_row(packet.body, self.binary)?;
                    }
                    _ => {}
                }
                Ok(false)
            }
            (Expect::Columns(left), first) => {
                if let Some(capture) = &mut self.capture
                    && !(first == END && packet.length < END_BYTES_MAX)
                {
                    capture.take_column(packet.body)?;
                }
                if let Some(results) = reply.gathering()
                    && !(first == END && packet.length < END_BYTES_MAX)
                {
                    let (name, column) = column(packet.body)?;
                    results.name(name);
                    self.gathered.push(column);
                }
                self.expect = match left {
                    0..=1 => Expect::Row,
                    more => Expect::Columns(more - 1),
                };
                Ok(false)
            }
            (Expect::Answer, OK) => {
                let done = Done::of_packet(packet.body)?;
                self.warnings = done.warnings;
                self.count(done.affected, reply)?;
                if let Some(capture) = &mut self.capture {
                    capture.take_info(done.info)?;
                }
                Ok(self.has_ended(done.status, done.affected, reply))
            }
            (Expect::Answer, LOCAL_FILE) => {
                if self.bulk != Bulk::Offered {
                    return Err(local_unexpected());
                }
                self.bulk = Bulk::Wanted;
                Ok(false)
            }
            (Expect::Answer, _) => self.begin_result(packet, reply),
            (Expect::Statement, OK) => self.take_prepared(packet),
            (Expect::Statement, _) => Err(misplaced()),
            (Expect::Descriptions(left), _) => {
                self.expect = Expect::Descriptions(left.saturating_sub(1));
                Ok(left <= 1)
            }
        }
    }

    #[inline]
    fn begin_result(&mut self, packet: &Packet, reply: &mut Reply) -> Result<bool, SessionError> {
        let columns = Fields(packet.body).length()?;
        if !(1..=COLUMNS_MAX).contains(&columns) {
            return Err(misplaced());
        }
        self.rows = 0;
        self.expect = Expect::Columns(columns + u64::from(self.ends_descriptions));
        if let Some(capture) = &mut self.capture {
            capture.begin();
        }
        if let Some(results) = reply.gathering() {
            results.begin_result(u16::try_from(columns).unwrap_or(u16::MAX));
            self.gathered.clear();
        }
        Ok(false)
    }

    /// Takes the packet behind the last row: an OK of another first byte, or an EOF of the older form.
    #[inline]
    fn end_of_rows(&mut self, packet: &Packet, reply: &mut Reply) -> Result<bool, SessionError> {
        let status = if self.ends_descriptions {
            let mut fields = Fields(packet.body);
            fields.bytes(3)?;
            fields.le_u16()?
        } else {
            Done::of_packet(packet.body)?.status
        };
        let rows = self.rows;
        self.count(rows, reply)?;
        Ok(self.has_ended(status, rows, reply))
    }

    #[inline]
    fn count(&mut self, rows: u64, reply: &mut Reply) -> Result<(), SessionError> {
        if rows > ROWS_MAX {
            return Err(miscounted());
        }
        reply.rows = reply.rows.saturating_add(rows);
        if let Some(capture) = &mut self.capture {
            let affected = &mut capture.captured.affected;
            *affected = affected.saturating_add(rows);
        }
        Ok(())
    }

    #[inline]
    fn has_ended(&mut self, status: u16, rows: u64, reply: &mut Reply) -> bool {
        self.expect = Expect::Answer;
        reply.in_block = status & IN_TRANSACTION != 0;
        self.plain_backslashes = status & NO_BACKSLASH_ESCAPES != 0;
        if let Some(results) = &mut reply.results {
            results.complete(rows);
        }
        status & MORE_RESULTS == 0
    }

    fn take_prepared(&mut self, packet: &Packet) -> Result<bool, SessionError> {
        let mut fields = Fields(packet.body);
        fields.u8()?;
        let id = fields.le_u32()?;
        let columns = fields.le_u16()?;
        let parameters = fields.le_u16()?;
        self.prepared = Prepared { id, parameters };
        let described =
            |count: u16| u64::from(count) + u64::from(self.ends_descriptions && count > 0);
        let left = described(parameters) + described(columns);
        self.expect = Expect::Descriptions(left);
        Ok(left == 0)
    }
}

/// The most columns that a result can have (4,096 in a table; MySQL documentation, "Limits on Table Column Count"; a
/// join of several has more).
const COLUMNS_MAX: u64 = u16::MAX as u64;

impl Incoming for Reader {
    type Column = Column;

    const SERVER: &'static str = "MySQL or MariaDB";

    fn new() -> Self {
        Self::after(Framing::new(), false)
    }

    #[inline]
    fn ask(&mut self) {
        let answer = &mut self.answer;
        (answer.asked, answer.number, answer.binary) = (true, 1, false);
        answer.expect = Expect::Answer;
    }

    #[inline]
    fn ask_by(&mut self, request: &[u8]) {
        self.ask();
        // The answer's numbers go on behind those of the request.
        self.answer.number = mysql::packets(request);
        self.answer.binary = mysql::is_execution(request);
    }

    fn feed(&mut self, bytes: &[u8], reply: &mut Reply) -> Result<bool, SessionError> {
        let Self {
            framing, answer, ..
        } = self;
        let (mut input, mut ready) = (bytes, false);
        let gathers = reply.gathering().is_some();
        while let Some(packet) = framing.next(&mut input, answer.wants(gathers)) {
            ready |= answer.receive(&packet, reply)?;
        }
        Ok(ready)
    }

    fn kept(&mut self) -> &mut Option<Box<Capture<Column>>> {
        &mut self.answer.capture
    }

    fn bulk(&mut self) -> &mut Bulk {
        &mut self.answer.bulk
    }

    fn take_parting(&mut self) -> Option<ServerError> {
        self.answer.parting.take()
    }

    fn goodbye(out: &mut Vec<u8>) {
        mysql::quit(out);
    }

    fn text(out: &mut Vec<u8>, sql: &[u8]) {
        mysql::query(out, sql);
    }
}

/// What a packet says that tells how a statement went.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done<'a> {
    affected: u64,
    pub(super) status: u16,
    warnings: u16,
    /// A line for people, such as `Rows matched: 1  Changed: 0  Warnings: 0`; empty for most statements.
    info: &'a [u8],
}

impl<'a> Done<'a> {
    /// Reads a packet that begins with OK, or with END behind rows.
    #[inline]
    pub(super) fn of_packet(body: &'a [u8]) -> Result<Self, SessionError> {
        let mut fields = Fields(body);
        fields.u8()?;
        let affected = fields.length()?;
        fields.length()?;
        let status = fields.le_u16()?;
        let warnings = fields.le_u16()?;
        Ok(Self {
            affected,
            status,
            warnings,
            info: fields.0,
        })
    }
}

#[cold]
fn miscounted() -> SessionError {
    SessionError::Protocol("an answer of the server counts more rows than can be".to_owned())
}

#[cold]
fn misplaced() -> SessionError {
    SessionError::Protocol("the server sent a packet that does not belong here".to_owned())
}

#[cold]
fn unasked() -> SessionError {
    SessionError::Protocol(
        "the server sent a packet that nobody had asked for: an answer too many".to_owned(),
    )
}

#[cold]
fn out_of_order(number: u8, expected: u8) -> SessionError {
    SessionError::Protocol(format!(
        "the server sent packet {number} where {expected} had to come"
    ))
}

#[cold]
fn local_unexpected() -> SessionError {
    SessionError::Protocol(
        "the server waits for the data of a file: a statement cannot give them, use `fills`"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests;
