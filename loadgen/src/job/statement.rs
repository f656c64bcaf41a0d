//! A statement: its text, and how it is sent.

use super::{Into, Job, Maker, Piece, is_default, null_as_default};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How a statement is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Literals in the simple query protocol.
    Simple,
    /// Parse, Bind and Execute of the unnamed statement each time.
    Extended,
    /// Bind and Execute of a named statement that was parsed once.
    Prepared,
    /// SQL-level PREPARE once, then EXECUTE with literals.
    Execute,
}

/// In which form the server sends rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultForm {
    /// Each value as its type's binary form.
    #[default]
    Binary,
    /// Each value as text.
    Text,
}

/// One statement of SQL in pieces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The statement's name.
    pub name: String,
    /// How it is sent.
    pub protocol: Protocol,
    /// Its text, values and table names in order.
    pub pieces: Vec<Piece>,
    /// The SQL types of its parameters: for `execute`, and where `extended` and `prepared` declare them.
    #[serde(default, deserialize_with = "null_as_default")]
    pub types: Vec<String>,
    /// Whether `extended` and `prepared` send what libpq sends: values as text, and the portal described.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub libpq: bool,
    /// In which form `extended` and `prepared` of PostgreSQL ask for rows; what variables take is text in any case.
    #[serde(default, skip_serializing_if = "is_default")]
    pub results: ResultForm,
    /// The nominal number of rows of one execution; shown, not checked.
    #[serde(default)]
    pub rows: u64,
    /// Statements of a class share an operation's table where tables are drawn; null: its own, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What stands in a notice in front of the number of rows that the running statement has done; PostgreSQL only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Which variables take what it returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<Into>,
    /// Where it was written, for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Job {
    /// The pieces of a statement as they are bound, by its index: where parameters have numbers, a value of a file is one
    /// parameter wherever it stands, as it was the client's. (`GROUP BY date_trunc($1, x)` needs the same `$1`.)
    #[must_use]
    pub fn bound_pieces(&self, statement: usize) -> Cow<'_, [Piece]> {
        let statement = &self.statements[statement];
        if self.engine.is_mysql() || statement.protocol == Protocol::Simple {
            return Cow::Borrowed(&statement.pieces);
        }
        let (mut numbers, mut count) = (BTreeMap::new(), 0_usize);
        let mut bound = |piece: &Piece| {
            if let Piece::Value(index) = piece
                && matches!(self.values[*index].maker, Maker::Sample(_))
                && let Some(number) = numbers.get(index)
            {
                return Piece::Text(format!("${number}"));
            }
            count = count.saturating_add(piece.parameters());
            if let Piece::Value(index) = piece {
                numbers.insert(*index, count);
            }
            piece.clone()
        };
        Cow::Owned(statement.pieces.iter().map(&mut bound).collect())
    }
}
