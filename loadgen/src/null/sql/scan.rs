//! Where words and statements of SQL stand: outside of quoted texts and comments.

use super::Name;

/// Whose SQL it is, which says how texts are quoted and what a comment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::null) enum Dialect {
    /// PostgreSQL's.
    Postgres,
    /// MySQL's and MariaDB's, in their default modes.
    Mysql,
}

impl Dialect {
    /// Cuts the first statement off at its `;`; none where only white space and comments are left.
    pub(in crate::null) fn next_statement<'a>(self, sql: &mut &'a [u8]) -> Option<&'a [u8]> {
        while !sql.is_empty() {
            let statement = self.cut(sql);
            if self.words(statement).next().is_some() {
                return Some(statement);
            }
        }
        None
    }

    fn cut<'a>(self, sql: &mut &'a [u8]) -> &'a [u8] {
        let mut at = if sql.contains(&b';') { 0 } else { sql.len() };
        while at < sql.len() {
            if sql[at] == b';' {
                let statement = &sql[..at];
                *sql = &sql[at + 1..];
                return statement;
            }
            at = self.after(sql, at);
        }
        std::mem::take(sql)
    }

    /// The words of a statement.
    #[inline]
    pub(in crate::null) fn words(self, sql: &[u8]) -> Words<'_> {
        let at = 0;
        Words {
            dialect: self,
            sql,
            at,
        }
    }

    /// The end of what begins at `at`: of a quoted text or name, or of a comment; else the next byte.
    pub(in crate::null) fn after(self, sql: &[u8], at: usize) -> usize {
        match self {
            Self::Postgres => after_postgres(sql, at),
            Self::Mysql => after_mysql(sql, at),
        }
    }
}

fn after_postgres(sql: &[u8], at: usize) -> usize {
    let rest = &sql[at + 1..];
    let end = |pattern: &[u8], from: usize| end(sql, at + 1 + from, pattern);
    match sql[at] {
        quote @ (b'\'' | b'"') => end(&[quote], 0),
        b'-' if rest.first() == Some(&b'-') => end(b"\n", 1),
        b'/' if rest.first() == Some(&b'*') => end(b"*/", 1),
        b'$' => {
            let tag = rest.iter().take_while(|byte| is_of_word(**byte)).count();
            let quotes = rest.get(tag) == Some(&b'$') && !rest[0].is_ascii_digit();
            if quotes {
                end(&sql[at..=at + tag + 1], tag + 1)
            } else {
                at + 1
            }
        }
        _ => at + 1,
    }
}

/// A backslash guards the next byte of a text; `--` begins a comment only before a blank, as `5--1` is 6.
fn after_mysql(sql: &[u8], at: usize) -> usize {
    let rest = &sql[at + 1..];
    let blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    match sql[at] {
        b'`' => end(sql, at + 1, b"`"),
        quote @ (b'\'' | b'"') => {
            let mut at = at + 1;
            while at < sql.len() && sql[at] != quote {
                at += if sql[at] == b'\\' { 2 } else { 1 };
            }
            sql.len().min(at + 1)
        }
        b'#' => end(sql, at + 1, b"\n"),
        b'-' if rest.first() == Some(&b'-') && blank(rest.get(1)) => end(sql, at + 2, b"\n"),
        b'/' if rest.first() == Some(&b'*') => end(sql, at + 2, b"*/"),
        _ => at + 1,
    }
}

/// The end of the first such pattern from a place on; of the SQL where there is none.
fn end(sql: &[u8], from: usize, pattern: &[u8]) -> usize {
    let mut windows = sql[from..].windows(pattern.len());
    let place = windows.position(|window| window == pattern);
    place.map_or(sql.len(), |place| from + place + pattern.len())
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The words of a statement, without what is quoted or a comment.
pub(in crate::null) struct Words<'a> {
    dialect: Dialect,
    sql: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    /// The next word as tags have it: in upper case, and what is no ASCII as `?`; empty where there is none.
    pub(in crate::null) fn upper(&mut self) -> Name {
        let mut name = Name::new(self.next().unwrap_or_default());
        name.raise();
        name
    }

    /// The next word or quoted name; empty where there is none.
    pub(in crate::null) fn name(&mut self) -> Name {
        let rest = self.rest();
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
        let at = self.at + blank.count();
        if self.sql.get(at) != Some(&b'"') {
            return Name::folded(self.next().unwrap_or_default());
        }
        self.at = self.dialect.after(self.sql, at);
        Name::new(
            self.sql[at + 1..self.at]
                .strip_suffix(b"\"")
                .unwrap_or_default(),
        )
    }

    /// What stands behind the words so far.
    pub(in crate::null) fn rest(&self) -> &'a [u8] {
        &self.sql[self.at..]
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !is_of_word(*self.sql.get(self.at)?) {
            self.at = self.dialect.after(self.sql, self.at);
        }
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| is_of_word(**byte)).count();
        self.at += length;
        Some(&rest[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements of a text.
    fn statements(dialect: Dialect, sql: &str) -> Vec<String> {
        let mut rest = sql.as_bytes();
        let cut = std::iter::from_fn(|| dialect.next_statement(&mut rest));
        cut.map(|sql| String::from_utf8_lossy(sql).into_owned())
            .collect()
    }

    #[test]
    fn statements_are_cut_at_semicolons_outside_of_quotes() {
        for (sql, expected) in [
            ("SELECT 1", vec!["SELECT 1"]),
            (
                "BEGIN;UPDATE t;COMMIT;",
                vec!["BEGIN", "UPDATE t", "COMMIT"],
            ),
            (" ;; -- nothing; at all\n;", vec![]),
            (
                "SELECT ';', \";\", $a$;$a$ /* ; */; DO $$ ; $$",
                vec!["SELECT ';', \";\", $a$;$a$ /* ; */", " DO $$ ; $$"],
            ),
            ("SELECT ';", vec!["SELECT ';"]),
        ] {
            assert_eq!(statements(Dialect::Postgres, sql), expected, "{sql}");
        }
    }

    #[test]
    fn mysql_has_quotes_and_comments_of_its_own() {
        for (sql, expected) in [
            (
                r"SELECT '\';', `;`, 1; SELECT 2",
                vec![r"SELECT '\';', `;`, 1", " SELECT 2"],
            ),
            (
                "SELECT ';', \"\\\";\" # ;\n; SELECT 5--1; -- ;",
                vec!["SELECT ';', \"\\\";\" # ;\n", " SELECT 5--1"],
            ),
            ("SELECT $a$;b$", vec!["SELECT $a$", "b$"]),
            ("/* ; */ --\n#;", vec![]),
            (r"SELECT '\", vec![r"SELECT '\"]),
        ] {
            assert_eq!(statements(Dialect::Mysql, sql), expected, "{sql}");
        }
    }
}
