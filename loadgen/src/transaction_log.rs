//! Writes the log of operations in the form of pgbench's transaction log: a file for each role, a line for each operation.
//!
//! A line has the connection's number, how many operations it has come to, the response time in microseconds (or
//! `skipped`, or the kind of the failure), the program's number, the end in seconds and microseconds since 1970; at a rate
//! how late it was sent, and where operations may be tried again how often that was (PostgreSQL's documentation, pgbench,
//! "Per-Transaction Logging").

use crate::job::{Engine, Job, Pace};
use crate::program::Compiled;
use crate::record::{Code, LogRecord, Outcome, microseconds};
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// The files of a step's log.
#[derive(Debug)]
pub struct TransactionLog {
    /// By the role's index.
    files: Vec<RoleFile>,
    unix_ahead_ns: u64,
    deadlock: Code,
    serialization: Option<Code>,
}

#[derive(Debug)]
struct RoleFile {
    file: BufWriter<File>,
    /// Whether lines say how late an operation was sent, and how often it was tried again.
    columns: [bool; 2],
}

impl TransactionLog {
    /// Makes the files of a job's log; none where it has no log. `unix_ahead_ns`: what the wall clock is ahead.
    ///
    /// # Errors
    /// One sentence that names the file that cannot be made.
    pub fn create(job: &Job, unix_ahead_ns: u64) -> Result<Option<Self>, String> {
        let Some(log) = &job.log else {
            return Ok(None);
        };
        let mut files = Vec::new();
        for role in &job.roles {
            let path = log.path(&role.name);
            let file = File::create(&path);
            let file =
                file.map_err(|error| format!("the log `{path}` cannot be written: {error}"))?;
            let columns = [
                matches!(role.pace, Pace::Rate { .. }),
                role.on_error.tries != 1,
            ];
            files.push(RoleFile {
                file: BufWriter::new(file),
                columns,
            });
        }
        let innodb = matches!(job.engine, Engine::Mysql | Engine::Mariadb);
        Ok(Some(Self {
            files,
            unix_ahead_ns,
            deadlock: if innodb { *b"40001" } else { *b"40P01" },
            serialization: (!innodb).then_some(*b"40001"),
        }))
    }

    /// Writes lines, in their order.
    ///
    /// # Errors
    /// As the files'.
    pub fn write(&mut self, code: &Compiled, lines: &[LogRecord]) -> io::Result<()> {
        for line in lines {
            let script = code.roles[line.role].scripts[line.operation];
            let (word, late_us) = match line.outcome {
                Outcome::Done {
                    response_ns,
                    late_ns,
                } => (Err(microseconds(response_ns)), microseconds(late_ns)),
                Outcome::Failed(code) => (Ok(self.kind(code)), 0),
                Outcome::Skipped => (Ok("skipped"), 0),
            };
            let end_us = (line.end_ns + self.unix_ahead_ns) / 1000;
            let RoleFile { file, columns } = &mut self.files[line.role];
            write!(file, "{} {} ", line.connection, line.number)?;
            match word {
                Ok(word) => write!(file, "{word}")?,
                Err(response_us) => write!(file, "{response_us}")?,
            }
            write!(
                file,
                " {script} {} {}",
                end_us / 1_000_000,
                end_us % 1_000_000
            )?;
            if columns[0] {
                write!(file, " {late_us}")?;
            }
            if columns[1] {
                write!(file, " {}", line.retries)?;
            }
            writeln!(file)?;
        }
        self.files.iter_mut().try_for_each(|role| role.file.flush())
    }

    /// The kind of a failure, in pgbench's words. InnoDB has deadlocks only, as 40001.
    fn kind(&self, code: Code) -> &'static str {
        if code == self.deadlock {
            "deadlock"
        } else if Some(code) == self.serialization {
            "serialization"
        } else {
            "other"
        }
    }
}
