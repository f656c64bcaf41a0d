//! What the fake server answers to each statement, and when it replies a planted error.

use crate::job::{Fake, Piece, Statement, nanoseconds};
use crate::session::{Reply, Results, ServerError};

/// A statement as the fake answers it.
#[derive(Debug)]
pub(super) struct StatementPlan {
    /// How long it takes.
    pub(super) service_ns: u64,
    rows: u64,
    /// Each so many executions end with this code.
    errors: Vec<(u64, [u8; 5])>,
    executions: u64,
    /// Whether a transaction is open behind it; none where it does not change that.
    opens: Option<bool>,
    /// The columns that variables take, and the rows that have them.
    into: (Box<[Box<[u8]>]>, u64),
}

/// How long the fake takes over a statement or a cursor.
pub(super) fn service_ns(fake: &Fake, name: &str) -> u64 {
    nanoseconds(fake.service_us.get(name).unwrap_or(&fake.default_us) / 1e6)
}

impl StatementPlan {
    pub(super) fn new(fake: &Fake, statement: &Statement) -> Self {
        let name = &statement.name;
        let errors = fake.errors.iter().filter(|error| error.statement == *name);
        let columns = statement.into.iter().flat_map(|into| &into.columns);
        let taken = columns.filter(|(_, variable)| variable.is_some());
        let columns = taken.map(|(column, _)| column.as_bytes().into());
        Self {
            service_ns: service_ns(fake, name),
            rows: *fake.rows.get(name).unwrap_or(&statement.rows),
            errors: errors
                .filter_map(|error| Some((error.every, error.code.as_bytes().try_into().ok()?)))
                .collect(),
            executions: 0,
            opens: opens(&statement.pieces),
            into: (columns.collect(), *fake.rows.get(name).unwrap_or(&1)),
        }
    }

    pub(super) fn answer(&mut self, reply: &mut Reply) {
        self.executions += 1;
        let mut errors = self.errors.iter();
        let planted = errors.find(|(every, _)| self.executions.is_multiple_of(*every));
        if let Some((_, code)) = planted {
            reply.error = Some(ServerError {
                code: *code,
                number: 0,
                message: "planted by the fake".to_owned(),
            });
            return;
        }
        reply.rows += self.rows;
        reply.in_block = self.opens.unwrap_or(reply.in_block);
        if let Some(results) = &mut reply.results {
            self.fill(results);
        }
    }

    /// Gives the columns that variables take, each with 1 in it.
    fn fill(&self, results: &mut Results) {
        let (names, rows) = &self.into;
        if !names.is_empty() {
            results.begin_result(u16::try_from(names.len()).unwrap_or(u16::MAX));
            for name in names {
                results.name(name);
            }
            for _ in 0..*rows {
                results.begin_row();
                for _ in names {
                    results.value(Some(b"1"));
                }
            }
        }
        results.complete(self.rows);
    }
}

/// Whether a statement begins a transaction or ends one, by its first word.
fn opens(pieces: &[Piece]) -> Option<bool> {
    let Some(Piece::Text(text)) = pieces.first() else {
        return None;
    };
    let word = text.split_whitespace().next()?.trim_end_matches(';');
    let is = |words: &[&str]| words.iter().any(|other| word.eq_ignore_ascii_case(other));
    if is(&["BEGIN", "START"]) {
        Some(true)
    } else if is(&["COMMIT", "END", "ROLLBACK", "ABORT"]) {
        Some(false)
    } else {
        None
    }
}
