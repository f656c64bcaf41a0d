//! What a statement of MySQL's SQL is answered with, by its first words.

use super::reply::Refusal;
use crate::null::sql::{Dialect, Words};

/// What running a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It changes that many rows.
    Changed(u64),
    /// It returns a row.
    Row,
    /// It opens a transaction.
    Begin,
    /// It ends a transaction.
    End,
}

/// What a statement asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command<'a> {
    /// To be run.
    Run(Effect),
    /// To take data from the client, from what it calls a file.
    Load(&'a [u8]),
    /// Something that is not to be had here.
    Refused(Refusal),
}

impl<'a> Command<'a> {
    /// What one statement asks for.
    pub(super) fn of(sql: &'a [u8]) -> Self {
        let mut words = Dialect::Mysql.words(sql);
        let first = words.upper();
        Self::Run(match first.as_bytes() {
            b"SELECT" | b"VALUES" | b"TABLE" | b"WITH" | b"SHOW" | b"EXPLAIN" | b"DESCRIBE"
            | b"DESC" | b"ANALYZE" | b"CHECK" | b"CHECKSUM" | b"OPTIMIZE" | b"REPAIR" => {
                Effect::Row
            }
            b"INSERT" | b"UPDATE" | b"DELETE" | b"REPLACE" => Effect::Changed(1),
            b"BEGIN" | b"START" => Effect::Begin,
            b"COMMIT" => Effect::End,
            b"ROLLBACK" => rollback(words),
            b"LOAD" => return load(words),
            b"PREPARE" | b"EXECUTE" | b"DEALLOCATE" => {
                return Self::Refused(Refusal {
                    code: 1295,
                    state: b"HY000",
                    problem: "the null server prepares by the protocol only, not by SQL",
                });
            }
            b"" => {
                return Self::Refused(Refusal {
                    code: 1065,
                    state: b"42000",
                    problem: "Query was empty",
                });
            }
            _ => Effect::Changed(0),
        })
    }
}

/// A ROLLBACK to a savepoint ends no transaction.
fn rollback(mut words: Words) -> Effect {
    if words.any(|word| word.eq_ignore_ascii_case(b"TO")) {
        Effect::Changed(0)
    } else {
        Effect::End
    }
}

/// `LOAD DATA [LOW_PRIORITY | CONCURRENT] LOCAL INFILE 'file' …`; without LOCAL nothing is loaded.
fn load(mut words: Words) -> Command {
    let mut local = false;
    let found = words.any(|word| {
        local |= word.eq_ignore_ascii_case(b"LOCAL");
        word.eq_ignore_ascii_case(b"INFILE")
    });
    if !local || !found {
        return Command::Run(Effect::Changed(0));
    }
    let rest = words.rest().trim_ascii_start();
    let end = if rest.is_empty() {
        0
    } else {
        Dialect::Mysql.after(rest, 0)
    };
    // Between its quotes; there is nothing where it has none.
    Command::Load(
        rest[..end]
            .get(1..end.saturating_sub(1))
            .unwrap_or_default(),
    )
}

/// How many parameters a statement has: its `?`, as far as the protocol counts.
pub(super) fn parameters(sql: &[u8]) -> u16 {
    let (mut at, mut count) = (0, 0_u16);
    while at < sql.len() {
        count = count.saturating_add(u16::from(sql[at] == b'?'));
        at = Dialect::Mysql.after(sql, at);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_effect() {
        for (sql, effect) in [
            ("select c from t", Effect::Row),
            ("/* x */ (SELECT 1)", Effect::Row),
            ("SHOW WARNINGS", Effect::Row),
            ("analyze table t", Effect::Row),
            ("INSERT INTO t VALUES (1)", Effect::Changed(1)),
            ("Replace into t values (1)", Effect::Changed(1)),
            ("BEGIN", Effect::Begin),
            ("START TRANSACTION", Effect::Begin),
            ("COMMIT", Effect::End),
            ("ROLLBACK", Effect::End),
            ("ROLLBACK TO SAVEPOINT s", Effect::Changed(0)),
            ("ALTER TABLE t ADD INDEX (k)", Effect::Changed(0)),
            ("LOAD DATA INFILE 'local' INTO TABLE t", Effect::Changed(0)),
        ] {
            assert_eq!(Command::of(sql.as_bytes()), Command::Run(effect), "{sql}");
        }
    }

    #[test]
    fn data_are_asked_for_by_the_name_of_their_file() {
        for (sql, file) in [
            ("LOAD DATA LOCAL INFILE 'rows' INTO TABLE t", "rows"),
            (
                "load data concurrent local infile\n\"/a b\" into table t",
                "/a b",
            ),
            ("LOAD DATA LOCAL INFILE", ""),
            ("LOAD DATA LOCAL INFILE '", ""),
        ] {
            assert_eq!(
                Command::of(sql.as_bytes()),
                Command::Load(file.as_bytes()),
                "{sql}"
            );
        }
    }

    #[test]
    fn parameters_are_counted_outside_of_quotes() {
        for (sql, count) in [
            ("SELECT 1", 0),
            ("SELECT ? + ?", 2),
            (r"SELECT '?', `?`, '\'?', ? /* ? */ # ?", 1),
            ("SELECT 1 -- ?\n, ?", 1),
        ] {
            assert_eq!(parameters(sql.as_bytes()), count, "{sql}");
        }
    }
}
