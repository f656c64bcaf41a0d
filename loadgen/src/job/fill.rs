//! Bulk loads of a job, and their columns.

use super::{Source, is_default};
use serde::{Deserialize, Serialize};

/// A bulk load into every table of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// The tables' name without its number.
    pub table: String,
    /// Connections in all, shared out to the tables; 0 = min(4, cores).
    #[serde(default)]
    pub streams: u32,
    /// Rows of each table; of children, places: `most` for each row of their parent; a guess where they come `from`
    /// elsewhere.
    pub rows: u64,
    /// Of which rows these are children; null: of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Children>,
    /// The columns in order; empty where the rows come `from` elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<FillColumn>,
    /// What gives the rows in place of values.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from: Option<Source>,
    /// Whether PostgreSQL takes the rows as old ones (FREEZE): over one connection for each table, which it empties first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub frozen: bool,
    /// SQL that is run for each table when its rows are there; `{t}` is the table, `{number}` its number.
    #[serde(default)]
    pub after: Vec<String>,
}

impl Fill {
    /// The rows of each table, of children as many as are likely.
    #[must_use]
    pub fn expected_rows(&self) -> u64 {
        let share = |children: &Children| {
            let likely = (children.least + children.most).div_ceil(2);
            self.rows / children.most.max(1) * likely
        };
        self.per.as_ref().map_or(self.rows, share)
    }
}

/// The rows of another table, each of which has some of a table's rows as its children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Children {
    /// The parent's name without its number; there are as many tables of it.
    pub table: String,
    /// The parent's columns, as its own fill has them.
    pub columns: Vec<FillColumn>,
    /// The index of the value that is how many children a row has.
    pub count: usize,
    /// The fewest that a row can have.
    pub least: u64,
    /// The most.
    pub most: u64,
}

/// One column of a fill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillColumn {
    /// The column's name.
    pub name: String,
    /// Its type on the wire.
    #[serde(rename = "type")]
    pub type_: ColumnType,
    /// The index of its value.
    pub value: usize,
    /// Of a `numeric`, how many of its digits stand behind the point.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: u32,
    /// The index of the value that is not 0 where the column is NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_if: Option<usize>,
    /// It changes with every so many rows.
    #[serde(default = "each_row", skip_serializing_if = "is_each_row")]
    pub each: u64,
}

fn each_row() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_each_row(each: &u64) -> bool {
    *each == 1
}

/// The types that a fill writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// A 2-byte integer.
    Int2,
    /// A 4-byte integer.
    Int4,
    /// An 8-byte integer.
    Int8,
    /// A 4-byte floating-point number.
    Float4,
    /// An 8-byte floating-point number.
    Float8,
    /// A decimal number; its value counts units of its last digit.
    Numeric,
    /// text, varchar or char.
    Text,
    /// timestamp without time zone; its value counts seconds since 1970.
    Timestamp,
    /// A date; its value counts days since 1970-01-01.
    Date,
}
