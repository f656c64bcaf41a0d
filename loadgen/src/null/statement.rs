//! What a statement is answered with, as far as its SQL tells: by its first word, and its parameters.

/// What running a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It returns a row.
    Row,
    /// It changes a row.
    Change,
    /// It opens a transaction.
    Begin,
    /// It ends a transaction.
    End,
    /// Nothing else.
    Nothing,
}

/// A statement that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) effect: Effect,
    /// What PostgreSQL says when it is done.
    pub(super) tag: &'static [u8],
    /// How many values are bound to it.
    pub(super) parameters: u16,
}

/// How a protocol writes the place of a value in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// `$1`, `$2` …: PostgreSQL's.
    Numbered,
    /// `?`: MySQL's.
    Question,
}

/// Why a statement is not answered.
pub(super) const REFUSED: &str =
    "the null server answers one statement in a request, and no COPY, LOAD DATA or PREPARE by SQL";

/// The first words that are not answered as if they had done something.
const NOT_ANSWERED: [&[u8]; 6] = [b"", b"COPY", b"LOAD", b"PREPARE", b"EXECUTE", b"DEALLOCATE"];

/// First words with what they do and PostgreSQL's tag; all others do nothing.
const KNOWN: [(&[u8], Effect, &[u8]); 17] = [
    (b"SELECT", Effect::Row, b"SELECT 1"),
    (b"INSERT", Effect::Change, b"INSERT 0 1"),
    (b"UPDATE", Effect::Change, b"UPDATE 1"),
    (b"DELETE", Effect::Change, b"DELETE 1"),
    (b"BEGIN", Effect::Begin, b"BEGIN"),
    (b"COMMIT", Effect::End, b"COMMIT"),
    (b"ROLLBACK", Effect::End, b"ROLLBACK"),
    (b"END", Effect::End, b"COMMIT"),
    (b"ABORT", Effect::End, b"ROLLBACK"),
    (b"START", Effect::Begin, b"START TRANSACTION"),
    (b"MERGE", Effect::Change, b"MERGE 1"),
    (b"REPLACE", Effect::Change, b"INSERT 0 1"),
    (b"VALUES", Effect::Row, b"SELECT 1"),
    (b"TABLE", Effect::Row, b"SELECT 1"),
    (b"WITH", Effect::Row, b"SELECT 1"),
    (b"SHOW", Effect::Row, b"SHOW"),
    (b"EXPLAIN", Effect::Row, b"EXPLAIN"),
];

impl Statement {
    /// Reads a request's statement; returns none for what is not answered.
    #[inline]
    pub(super) fn of(sql: &[u8], mark: Mark) -> Option<Self> {
        let mut words = sql
            .split(|byte| !byte.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default();
        let is_first = |word: &[u8]| word.eq_ignore_ascii_case(first);
        if NOT_ANSWERED.into_iter().any(is_first) {
            return None;
        }
        let known = KNOWN.into_iter().find(|(word, ..)| is_first(word));
        let (_, mut effect, tag) = known.unwrap_or((b"", Effect::Nothing, b"OK"));
        // A ROLLBACK to a savepoint ends no transaction.
        if effect == Effect::End && words.any(|word| word.eq_ignore_ascii_case(b"TO")) {
            effect = Effect::Nothing;
        }
        Some(Self {
            effect,
            tag,
            parameters: parameters(sql, mark)?,
        })
    }
}

/// Counts a statement's values: the greatest n of its `$n`, or its `?`, outside of quotes; returns none where another
/// statement stands behind it.
fn parameters(sql: &[u8], mark: Mark) -> Option<u16> {
    let mut count = 0_u16;
    let mut quote = None;
    let mut rest = sql.iter().copied().enumerate();
    while let Some((at, byte)) = rest.next() {
        match (quote, byte) {
            (Some(_), b'\\') if mark == Mark::Question => drop(rest.next()),
            (Some(open), _) if open == byte => quote = None,
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b';') if !sql[at + 1..].trim_ascii().is_empty() => return None,
            (None, b'$') if mark == Mark::Numbered => count = count.max(number(&sql[at + 1..])),
            (None, b'?') if mark == Mark::Question => count = count.saturating_add(1),
            _ => {}
        }
    }
    Some(count)
}

/// Returns the number at the front of a text; 0 where there is none.
fn number(text: &[u8]) -> u16 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u16, digit| {
        number
            .saturating_mul(10)
            .saturating_add((digit - b'0').into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_the_effect_and_the_tag_of_its_first_word() {
        for (sql, effect, tag) in [
            ("select c from t", Effect::Row, "SELECT 1"),
            (" ( (values (1)))", Effect::Row, "SELECT 1"),
            ("INSERT INTO t VALUES (1)", Effect::Change, "INSERT 0 1"),
            ("update t set a=1", Effect::Change, "UPDATE 1"),
            ("Replace into t values (1)", Effect::Change, "INSERT 0 1"),
            ("begin isolation level serializable", Effect::Begin, "BEGIN"),
            ("START TRANSACTION", Effect::Begin, "START TRANSACTION"),
            ("END", Effect::End, "COMMIT"),
            ("ROLLBACK;", Effect::End, "ROLLBACK"),
            ("ROLLBACK TO SAVEPOINT s", Effect::Nothing, "ROLLBACK"),
            ("CREATE UNIQUE INDEX i ON t (a)", Effect::Nothing, "OK"),
            ("VACUUM (ANALYZE) t", Effect::Nothing, "OK"),
        ] {
            let expected = Statement {
                effect,
                tag: tag.as_bytes(),
                parameters: 0,
            };
            for mark in [Mark::Numbered, Mark::Question] {
                assert_eq!(Statement::of(sql.as_bytes(), mark), Some(expected), "{sql}");
            }
        }
    }

    #[test]
    fn what_is_not_answered_is_told_from_what_does_nothing() {
        for sql in [
            "",
            " ; ",
            "COPY t FROM STDIN",
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
            "prepare s as SELECT 1",
            "EXECUTE s(1)",
            "DEALLOCATE ALL",
            "BEGIN; UPDATE t SET a=1",
        ] {
            assert_eq!(Statement::of(sql.as_bytes(), Mark::Numbered), None, "{sql}");
        }
    }

    #[test]
    fn parameters_are_counted_outside_of_quotes() {
        for (sql, mark, count) in [
            ("SELECT 1; ", Mark::Numbered, 0),
            ("SELECT ';', $1;", Mark::Numbered, 1),
            ("SELECT $2, $1, $2", Mark::Numbered, 2),
            ("SELECT '$9', \"$8\", $3", Mark::Numbered, 3),
            ("SELECT $1 || 'it''s $5' || $12", Mark::Numbered, 12),
            (r"SELECT '\', $1", Mark::Numbered, 1),
            ("SELECT '$9", Mark::Numbered, 0),
            ("SELECT $99999999", Mark::Numbered, u16::MAX),
            ("SELECT ? + ?", Mark::Question, 2),
            (r"SELECT '?', `?`, '\'?', ?", Mark::Question, 1),
            ("SELECT '?\\", Mark::Question, 0),
        ] {
            let statement = Statement::of(sql.as_bytes(), mark).expect(sql);
            assert_eq!(statement.parameters, count, "{sql}");
        }
    }
}
