//! Fills a table with rows that programs or files give: each part is a COPY (PostgreSQL), or LOAD DATA LOCAL in chunks
//! (MySQL and MariaDB).

use super::load::{CHUNK_BYTES_MAX, doubted, explained};
use super::pieces::Stream;
use super::records::{Gave, Records};
use super::supply::Supply;
use super::{CONNECT_MAX, Form, Halt, copy};
use crate::job::Source;
use crate::session::mysql::MySqlSession;
use crate::session::postgres::PostgresSession;
use crate::session::{ReadBuffer, SessionError, Target};
use crate::wire::postgres;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The parts of a table's rows, which its connections take one after the other.
pub(super) struct Parts<'a> {
    source: &'a Source,
    table: &'a str,
    /// The statement that asks the server to take rows.
    request: String,
    /// Whether rows are frozen as they come, in one transaction that empties the table first.
    frozen: bool,
    next: AtomicUsize,
    gave: Mutex<Vec<(usize, Gave)>>,
}

impl<'a> Parts<'a> {
    /// Plans the load of a table.
    pub(super) fn new(source: &'a Source, table: &'a str, form: Form, frozen: bool) -> Self {
        Self {
            source,
            table,
            request: request(source, table, form, frozen),
            frozen: frozen && form == Form::Copy,
            next: AtomicUsize::new(0),
            gave: Mutex::new(Vec::new()),
        }
    }

    /// Returns how many parts there are.
    pub(super) fn len(&self) -> usize {
        self.source.parts.len()
    }

    /// Returns what each part gave that has come to its end, by its number.
    pub(super) fn gave(&self) -> Vec<(usize, Gave)> {
        let mut gave = self
            .gave
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        gave.sort_by_key(|(part, _)| *part);
        gave
    }

    /// Sends parts until none is left. One that is halted gives its rows up.
    ///
    /// # Errors
    /// The server's, the connection's, or `Protocol` for a program or a file that cannot be read to its end, and for rows
    /// that the server has not kept as they are. Of that part the server has kept nothing in PostgreSQL, and no more
    /// than earlier chunks in MySQL and MariaDB.
    pub(super) fn send(
        &self,
        form: Form,
        stream: &Stream,
        target: &Target,
        halt: &Halt,
    ) -> Result<(), SessionError> {
        match form {
            Form::Copy => self.copy(stream, target, halt),
            Form::Lines => self.load(stream, target, halt),
        }
    }

    /// Takes the next part; none where all have been taken.
    fn take(&self) -> Result<Option<(usize, Records)>, SessionError> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(part) = self.source.parts.get(index) else {
            return Ok(None);
        };
        let supply = Supply::open(part, &self.source.folder)?;
        Ok(Some((index, Records::new(supply, self.source.header))))
    }

    fn has_given(&self, part: usize, records: Records) {
        self.gave
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((part, records.gave()));
    }

    fn copy(&self, stream: &Stream, target: &Target, halt: &Halt) -> Result<(), SessionError> {
        let mut session = PostgresSession::connect(target, CONNECT_MAX)?;
        stream.is_connected(session.server_pid());
        if self.frozen {
            session.query("BEGIN")?;
            session.query(&format!("TRUNCATE {}", self.table))?;
        }
        let mut all = 0;
        while let Some((part, mut records)) = self.take()? {
            let kept = self.copy_part(&mut session, &mut records, stream, halt)?;
            if halt.is_on() {
                return Ok(());
            }
            self.has_given(part, records);
            if self.frozen {
                all += kept;
            } else {
                stream.has_kept(kept);
            }
        }
        if self.frozen {
            session.query("COMMIT")?;
            stream.has_kept(all);
        }
        session.close();
        Ok(())
    }

    /// Copies a part; returns the rows that the server has kept.
    fn copy_part(
        &self,
        session: &mut PostgresSession,
        records: &mut Records,
        stream: &Stream,
        halt: &Halt,
    ) -> Result<u64, SessionError> {
        let (mut buffer, mut sent, mut begun) = (ReadBuffer::new(), 0, false);
        while let Some((bytes, rows)) = records.next(halt)? {
            if !begun {
                session.bulk_begin(&self.request)?;
                begun = true;
            }
            let output = session.output();
            output.clear();
            let mark = postgres::copy_data_begin(output);
            output.extend_from_slice(bytes);
            postgres::copy_data_end(output, mark);
            session.copy_send(&mut buffer)?;
            stream.has_sent(rows, bytes.len() as u64);
            sent += rows;
        }
        if !begun {
            return Ok(0);
        }
        if halt.is_on() {
            return copy::give_up(session).map(|()| 0);
        }
        let output = session.output();
        output.clear();
        postgres::copy_done(output);
        all_kept(session.copy_end()?, sent)
    }

    fn load(&self, stream: &Stream, target: &Target, halt: &Halt) -> Result<(), SessionError> {
        let mut session = MySqlSession::connect(target, CONNECT_MAX)?;
        stream.is_connected(session.server_pid());
        while let Some((part, mut records)) = self.take()? {
            while self.load_chunk(&mut session, &mut records, stream, halt)? {}
            if halt.is_on() {
                return Ok(());
            }
            self.has_given(part, records);
        }
        session.close();
        Ok(())
    }

    /// Loads a chunk in a transaction of its own; false where there are no records left.
    fn load_chunk(
        &self,
        session: &mut MySqlSession,
        records: &mut Records,
        stream: &Stream,
        halt: &Halt,
    ) -> Result<bool, SessionError> {
        let (mut chunk_bytes, mut sent) = (0, 0);
        while chunk_bytes < CHUNK_BYTES_MAX
            && let Some((bytes, rows)) = records.next(halt)?
        {
            if chunk_bytes == 0 {
                session.query("START TRANSACTION")?;
                session.bulk_begin(&self.request).map_err(explained)?;
            }
            session.local_send(bytes)?;
            stream.has_sent(rows, bytes.len() as u64);
            chunk_bytes += bytes.len() as u64;
            sent += rows;
        }
        if chunk_bytes == 0 {
            return Ok(false);
        }
        let loaded = session.local_end()?;
        if halt.is_on() {
            session.query("ROLLBACK")?;
            return Ok(false);
        }
        if loaded.warnings > 0 {
            return Err(doubted(session, loaded)?);
        }
        session.query("COMMIT")?;
        stream.has_kept(all_kept(loaded.rows, sent)?);
        Ok(true)
    }
}

/// Returns the rows that the server has kept, which have to be those that were sent.
fn all_kept(kept: u64, sent: u64) -> Result<u64, SessionError> {
    if kept == sent {
        return Ok(kept);
    }
    Err(SessionError::Protocol(format!(
        "the server kept {kept} of {sent} rows"
    )))
}

/// The statement that asks for the rows of a table. The bytes that cut them are written as numbers, as a `sql_mode` may
/// take the meaning from a backslash in a text; that no byte escapes others makes an unquoted NULL null.
fn request(source: &Source, table: &str, form: Form, frozen: bool) -> String {
    let columns = if source.columns.is_empty() {
        String::new()
    } else {
        format!(" ({})", source.columns.join(", "))
    };
    match form {
        Form::Copy => {
            let freeze = if frozen { ", FREEZE" } else { "" };
            format!(
                "COPY {table}{columns} FROM STDIN (FORMAT csv, NULL 'NULL', ENCODING 'UTF8'{freeze})"
            )
        }
        Form::Lines => format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' \
             OPTIONALLY ENCLOSED BY X'22' ESCAPED BY '' LINES TERMINATED BY X'0A'{columns}"
        ),
    }
}
