//! Where the rows of a fill come from that are not made of values: programs and files.

use serde::{Deserialize, Serialize};

/// Rows that programs or files give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// How they are written.
    pub format: SourceFormat,
    /// Whether the first record of each part names the columns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub header: bool,
    /// The columns in the order of the records; empty: the table's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The folder in which programs work.
    #[serde(default)]
    pub folder: String,
    /// The arguments by which a program tells its version, for the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub version: Vec<String>,
    /// What to do where a program is not there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// The rows, part by part; streams take parts in their order.
    pub parts: Vec<SourcePart>,
}

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceFormat {
    /// RFC 4180, in UTF-8, with lines that end by a newline alone; an unquoted `NULL` is null.
    Csv,
}

/// A part of the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourcePart {
    /// What a program writes to standard output: its path or name, and its arguments.
    Command(Vec<String>),
    /// A file's content.
    File(String),
}
