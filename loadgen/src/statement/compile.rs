//! Compiling a statement's pieces: to SQL with parameters, and to parts of bytes and values.

use super::Part;
use crate::job::{Job, Piece, Scope};
use std::collections::BTreeSet;

/// The longest part of a statement's name that its name in the server keeps (identifiers end at 63 bytes).
const NAME_BYTES_MAX: usize = 32;

/// A name that no other statement of a connection has, of letters, digits and underlines.
pub(super) fn wire_name(name: &str, index: usize, table: &str) -> String {
    let plain: String = name
        .chars()
        .take(NAME_BYTES_MAX)
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    format!(
        "s{index}_{plain}{}{table}",
        if table.is_empty() { "" } else { "_" }
    )
}

/// Appends the SQL with a mark for each value, `$n` where they are numbered, else `?`; counts them.
pub(super) fn write_sql(
    pieces: &[Piece],
    table: &str,
    numbered: bool,
    (sql, places): (&mut String, &mut usize),
) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => sql.push_str(text),
            Piece::Table(_) => sql.push_str(table),
            Piece::Number(of) => sql.push_str(table.strip_prefix(of.as_str()).unwrap_or_default()),
            Piece::Value(_) | Piece::Cursor(_) => {
                *places += 1;
                if numbered {
                    sql.push('$');
                    sql.push_str(&places.to_string());
                } else {
                    sql.push('?');
                }
            }
            Piece::Repeat {
                repeat,
                separator,
                pieces,
            } => {
                for number in 0..*repeat {
                    if number > 0 {
                        sql.push_str(separator);
                    }
                    write_sql(pieces, table, numbered, (sql, places));
                }
            }
        }
    }
}

/// The parts of a statement's text; neighbouring texts become one.
pub(super) fn parts(job: &Job, pieces: &[Piece], table: &str) -> Box<[Part]> {
    let mut parts = Vec::new();
    let mut bytes = Vec::new();
    for piece in pieces {
        let part = match piece {
            Piece::Text(text) => {
                bytes.extend_from_slice(text.as_bytes());
                continue;
            }
            Piece::Table(_) => {
                bytes.extend_from_slice(table.as_bytes());
                continue;
            }
            Piece::Number(of) => {
                let number = table.strip_prefix(of.as_str()).unwrap_or_default();
                bytes.extend_from_slice(number.as_bytes());
                continue;
            }
            Piece::Value(index) => Part::Value(*index),
            Piece::Cursor(index) => Part::Cursor(*index),
            Piece::Repeat {
                repeat,
                separator,
                pieces,
            } => Part::Repeat {
                count: *repeat,
                separator: separator.as_bytes().into(),
                draws: item_draws(job, pieces),
                parts: self::parts(job, pieces, table),
            },
        };
        if !bytes.is_empty() {
            parts.push(Part::Bytes(std::mem::take(&mut bytes).into()));
        }
        parts.push(part);
    }
    if !bytes.is_empty() {
        parts.push(Part::Bytes(bytes.into()));
    }
    parts.into()
}

/// The parts of `EXECUTE name(value, …)`.
pub(super) fn execute_parts(job: &Job, pieces: &[Piece], wire_name: &str) -> Box<[Part]> {
    let arguments = argument_parts(job, pieces);
    let start = format!("EXECUTE {wire_name}");
    if arguments.is_empty() {
        return [Part::Bytes(start.into_bytes().into())].into();
    }
    let mut parts = vec![Part::Bytes(format!("{start}(").into_bytes().into())];
    parts.extend(arguments);
    parts.push(Part::Bytes(b")".as_slice().into()));
    parts.into()
}

/// The values of pieces alone, with commas between them.
fn argument_parts(job: &Job, pieces: &[Piece]) -> Vec<Part> {
    let mut parts = Vec::new();
    for piece in pieces {
        let part = match piece {
            Piece::Text(_) | Piece::Table(_) | Piece::Number(_) => continue,
            Piece::Value(index) => Part::Value(*index),
            Piece::Cursor(index) => Part::Cursor(*index),
            Piece::Repeat { repeat, pieces, .. } => {
                let arguments = argument_parts(job, pieces);
                if arguments.is_empty() {
                    continue;
                }
                Part::Repeat {
                    count: *repeat,
                    separator: b",".as_slice().into(),
                    draws: item_draws(job, pieces),
                    parts: arguments.into(),
                }
            }
        };
        if !parts.is_empty() {
            parts.push(Part::Bytes(b",".as_slice().into()));
        }
        parts.push(part);
    }
    parts
}

/// The values of scope `item` that pieces use directly, and those they add to, which come first.
fn item_draws(job: &Job, pieces: &[Piece]) -> Box<[usize]> {
    let used = pieces.iter().filter_map(|piece| match piece {
        Piece::Value(index) => Some(*index),
        _ => None,
    });
    draws(job, used, &[Scope::Item])
}

/// What is drawn once for a statement: all values of scope `statement`, and of scope `item` those outside of repetitions.
pub(super) fn statement_draws(job: &Job, index: usize) -> Box<[usize]> {
    let anywhere = job.values_of(index);
    let statement = draws(job, anywhere.into_iter(), &[Scope::Statement]);
    let item = item_draws(job, &job.statements[index].pieces);
    statement.into_iter().chain(item).collect()
}

fn draws(job: &Job, used: impl Iterator<Item = usize>, scopes: &[Scope]) -> Box<[usize]> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    for index in used {
        let bases = job.bases(index).unwrap_or_default();
        for value in bases.into_iter().chain([index]) {
            if scopes.contains(&job.values[value].per) && seen.insert(value) {
                order.push(value);
            }
        }
    }
    order.into()
}
