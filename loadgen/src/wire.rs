//! The protocols that servers speak: the bytes of requests, and what is kept of answers.
//!
//! What understands the server's bytes is a session's reader (`session`).

pub mod mysql;
pub mod postgres;

use crate::job::{CharacterSet, Engine, Job};

/// The protocol that a server speaks, with what a client chooses in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// PostgreSQL's, version 3.0.
    Postgres,
    /// MySQL's and MariaDB's.
    MySql(MySqlChoice),
}

/// What a client of MySQL chooses when it connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MySqlChoice {
    /// The character set of statements and results.
    pub character_set: CharacterSet,
    /// Whether an UPDATE counts the rows that it found, not those that it changed.
    pub found_rows: bool,
}

impl Wire {
    /// Returns that of a job's engine; none of the fake.
    #[must_use]
    pub fn of(job: &Job) -> Option<Self> {
        match job.engine {
            Engine::Postgres => Some(Self::Postgres),
            Engine::Mysql | Engine::Mariadb => Some(Self::MySql(MySqlChoice {
                character_set: job.character_set,
                found_rows: job.found_rows,
            })),
            Engine::Fake => None,
        }
    }

    /// Appends the request that runs a statement as a text.
    pub fn text(self, out: &mut Vec<u8>, sql: &[u8]) {
        match self {
            Self::Postgres => postgres::simple(out, sql),
            Self::MySql(_) => mysql::query(out, sql),
        }
    }
}

/// Which results of an answer are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    /// None.
    #[default]
    Nothing,
    /// The last one.
    Last,
    /// All that have rows, of each its last row.
    Every,
    /// None, but how many rows each had.
    Counts,
}
