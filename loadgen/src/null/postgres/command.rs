//! What a statement is answered with, as far as its SQL tells: its tag, whether it has a row, what it changes.

use crate::null::sql::{Dialect, Name, Words};

/// What running a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing but its tag.
    None,
    /// It returns a row.
    Row,
    /// It opens a transaction.
    Begin,
    /// It ends a transaction.
    End,
    /// It asks for COPY data: in binary form, or lines.
    CopyIn {
        /// Whether they are in binary form.
        binary: bool,
    },
    /// It gives COPY data, none.
    CopyOut,
    /// There is no statement.
    Empty,
}

/// A statement that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) tag: Name,
    pub(super) effect: Effect,
}

impl Statement {
    fn new(tag: &[u8], effect: Effect) -> Self {
        let tag = Name::new(tag);
        Self { tag, effect }
    }

    /// A statement that does nothing.
    pub(super) fn plain(tag: &[u8]) -> Self {
        Self::new(tag, Effect::None)
    }
}

/// What a statement's SQL asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command<'a> {
    /// To be run.
    Run(Statement),
    /// To be kept under a name.
    Prepare {
        /// Its name.
        name: Name,
        /// Its SQL.
        sql: &'a [u8],
    },
    /// To run what is kept under a name.
    Execute(Name),
    /// To forget what is kept under a name, or all.
    Deallocate(Option<Name>),
}

impl<'a> Command<'a> {
    /// What one statement asks for.
    pub(super) fn of(sql: &'a [u8]) -> Self {
        let mut words = Dialect::Postgres.words(sql);
        let first = words.upper();
        let (tag, effect): (&[u8], _) = match first.as_bytes() {
            b"SELECT" | b"VALUES" | b"TABLE" | b"WITH" => (b"SELECT 1", Effect::Row),
            b"INSERT" => (b"INSERT 0 1", Effect::None),
            b"UPDATE" => (b"UPDATE 1", Effect::None),
            b"DELETE" => (b"DELETE 1", Effect::None),
            b"MERGE" => (b"MERGE 1", Effect::None),
            b"BEGIN" => (b"BEGIN", Effect::Begin),
            b"START" => (b"START TRANSACTION", Effect::Begin),
            b"COMMIT" | b"END" => (b"COMMIT", Effect::End),
            b"ROLLBACK" | b"ABORT" => (b"ROLLBACK", rollback(words)),
            b"PREPARE" => return prepare(words),
            b"EXECUTE" => return Self::Execute(words.name()),
            b"DEALLOCATE" => return deallocate(words),
            b"COPY" => (b"COPY 0", copy(words)),
            b"CREATE" | b"ALTER" | b"DROP" => return Self::Run(definition(first, words)),
            b"TRUNCATE" => (b"TRUNCATE TABLE", Effect::None),
            b"LOCK" => (b"LOCK TABLE", Effect::None),
            b"DECLARE" => (b"DECLARE CURSOR", Effect::None),
            b"CLOSE" => (b"CLOSE CURSOR", Effect::None),
            b"DISCARD" => (b"DISCARD ALL", Effect::None),
            b"" => (b"", Effect::Empty),
            other => (other, Effect::None),
        };
        Self::Run(Statement::new(tag, effect))
    }
}

/// A ROLLBACK to a savepoint ends no transaction.
fn rollback(mut words: Words) -> Effect {
    if words.any(|word| word.eq_ignore_ascii_case(b"TO")) {
        Effect::None
    } else {
        Effect::End
    }
}

/// `PREPARE name (types) AS statement`.
fn prepare(mut words: Words) -> Command {
    let name = words.name();
    let _as = words.find(|word| word.eq_ignore_ascii_case(b"AS"));
    let sql = words.rest();
    Command::Prepare { name, sql }
}

/// `DEALLOCATE [PREPARE] name | ALL`.
fn deallocate(mut words: Words) -> Command {
    let mut name = words.name();
    if name.as_bytes() == b"prepare" {
        name = words.name();
    }
    Command::Deallocate((name.as_bytes() != b"all").then_some(name))
}

fn copy(words: Words) -> Effect {
    let (mut into, mut out, mut binary) = (false, false, false);
    for word in words {
        into |= word.eq_ignore_ascii_case(b"STDIN");
        out |= word.eq_ignore_ascii_case(b"STDOUT");
        binary |= word.eq_ignore_ascii_case(b"BINARY");
    }
    match (into, out) {
        (true, _) => Effect::CopyIn { binary },
        (_, true) => Effect::CopyOut,
        _ => Effect::None,
    }
}

/// `CREATE UNIQUE INDEX …`: the tag is the first word and the kind of object.
fn definition(first: Name, mut words: Words) -> Statement {
    const BETWEEN: [&[u8]; 9] = [
        b"OR",
        b"REPLACE",
        b"UNIQUE",
        b"TEMP",
        b"TEMPORARY",
        b"GLOBAL",
        b"LOCAL",
        b"UNLOGGED",
        b"RECURSIVE",
    ];
    let mut tag = first;
    let mut kind = words.upper();
    while BETWEEN.contains(&kind.as_bytes()) {
        kind = words.upper();
    }
    tag.push(b" ");
    tag.push(kind.as_bytes());
    if kind.as_bytes() == b"MATERIALIZED" {
        tag.push(b" VIEW");
    }
    let effect = Effect::None;
    Statement { tag, effect }
}

/// How many parameters a statement has: the greatest n of its `$n`.
pub(super) fn parameters(sql: &[u8]) -> u16 {
    let (mut at, mut most) = (0, 0);
    while let Some(distance) = sql[at..].iter().position(|byte| b"$'\"-/".contains(byte)) {
        at += distance;
        let digits = sql[at + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let number = digits.fold(0_u16, |number, digit| {
            number
                .saturating_mul(10)
                .saturating_add((digit - b'0').into())
        });
        if sql[at] == b'$' {
            most = most.max(number);
        }
        at = Dialect::Postgres.after(sql, at);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tag: &str, effect: Effect) -> Command<'static> {
        Command::Run(Statement::new(tag.as_bytes(), effect))
    }

    #[test]
    fn a_command_has_its_tag_and_its_effect() {
        for (sql, tag, effect) in [
            ("select c from t", "SELECT 1", Effect::Row),
            (" ( (values (1)))", "SELECT 1", Effect::Row),
            (
                "-- insert\n/* x */ With a AS (SELECT 1) TABLE a",
                "SELECT 1",
                Effect::Row,
            ),
            ("INSERT INTO t VALUES (1)", "INSERT 0 1", Effect::None),
            ("update t set a=1", "UPDATE 1", Effect::None),
            ("begin isolation level serializable", "BEGIN", Effect::Begin),
            ("START TRANSACTION", "START TRANSACTION", Effect::Begin),
            ("END", "COMMIT", Effect::End),
            ("ROLLBACK", "ROLLBACK", Effect::End),
            ("ROLLBACK WORK TO SAVEPOINT s", "ROLLBACK", Effect::None),
            (
                "CREATE UNIQUE INDEX i ON t (a)",
                "CREATE INDEX",
                Effect::None,
            ),
            ("create or replace temp view v", "CREATE VIEW", Effect::None),
            (
                "DROP MATERIALIZED VIEW v",
                "DROP MATERIALIZED VIEW",
                Effect::None,
            ),
            ("TRUNCATE t", "TRUNCATE TABLE", Effect::None),
            ("VACUUM (ANALYZE) t", "VACUUM", Effect::None),
            (
                "COPY t FROM STDIN (FORMAT binary)",
                "COPY 0",
                Effect::CopyIn { binary: true },
            ),
            (
                "copy t (binary_, b) from stdin",
                "COPY 0",
                Effect::CopyIn { binary: false },
            ),
            ("COPY t TO STDOUT", "COPY 0", Effect::CopyOut),
            ("COPY t FROM '/stdin'", "COPY 0", Effect::None),
            ("", "", Effect::Empty),
        ] {
            assert_eq!(Command::of(sql.as_bytes()), run(tag, effect), "{sql}");
        }
    }

    #[test]
    fn prepared_statements_go_by_names_as_sql_has_them() {
        let name = Name::new(b"s1_point");
        for sql in [
            "PREPARE S1_Point(int, text) AS SELECT 1",
            "prepare\"s1_point\" AS SELECT 1",
        ] {
            let prepare = Command::of(sql.as_bytes());
            assert_eq!(
                prepare,
                Command::Prepare {
                    name,
                    sql: b" SELECT 1"
                },
                "{sql}"
            );
        }
        assert_eq!(Command::of(b"EXECUTE s1_point(7)"), Command::Execute(name));
        assert_eq!(
            Command::of(b"DEALLOCATE PREPARE S1_POINT"),
            Command::Deallocate(Some(name))
        );
        assert_eq!(Command::of(b"DEALLOCATE ALL"), Command::Deallocate(None));
        assert_ne!(Command::of(b"EXECUTE \"S1_point\""), Command::Execute(name));
    }

    #[test]
    fn parameters_are_counted_outside_of_quotes() {
        for (sql, count) in [
            ("SELECT 1", 0),
            ("SELECT $2, $1, $2", 2),
            (
                "SELECT '$9', \"$8\", $q$ $7 $q$, $$ $6 $$ /* $5 */ -- $4\n, $3",
                3,
            ),
            ("SELECT 1 - $1 / $2", 2),
            ("SELECT $1 || 'it''s $5' || $12", 12),
            ("SELECT '$9", 0),
        ] {
            assert_eq!(parameters(sql.as_bytes()), count, "{sql}");
        }
    }
}
