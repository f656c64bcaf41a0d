//! A statement: its text, and how it is sent.

use super::{Into, Piece, is_default, null_as_default};
use serde::{Deserialize, Serialize};

/// The SQL types that a statement may declare for its parameters, with their OIDs (pg_type.dat of PostgreSQL).
const DECLARED: [(&str, u32); 8] = [
    ("smallint", 21),
    ("int", 23),
    ("bigint", 20),
    ("real", 700),
    ("double precision", 701),
    ("text", 25),
    ("varchar", 1043),
    ("timestamp", 1114),
];

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

/// Returns the OID of a type that a statement may declare.
///
/// # Errors
/// Returns the names that are known.
pub fn declared_oid(name: &str) -> Result<u32, String> {
    DECLARED
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, oid)| *oid)
        .ok_or_else(|| DECLARED.map(|(known, _)| format!("`{known}`")).join(", "))
}
