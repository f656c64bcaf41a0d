//! Compiling a statement's pieces: to SQL with parameters, and to parts of bytes and values.

use super::{Part, Source};
use crate::job::{Job, Piece, Protocol, Scope, declared_oid};
use std::collections::BTreeSet;

/// The longest part of a statement's name that its name in the server keeps (identifiers end at 63 bytes).
const NAME_BYTES_MAX: usize = 32;

/// Returns a name that no other statement of a connection has, of letters, digits and underlines.
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

/// Returns the OIDs of the types that a statement declares where its protocol has OIDs.
pub(super) fn declared(statement: &crate::job::Statement) -> Box<[u32]> {
    let types = match statement.protocol {
        Protocol::Extended | Protocol::Prepared => &*statement.types,
        Protocol::Simple | Protocol::Execute => &[],
    };
    types
        .iter()
        .map(|name| declared_oid(name).expect("a valid job names types that are known"))
        .collect()
}

/// Appends the SQL with a mark for each value, `$n` where they are numbered, else `?`; and to `sources` for each mark what
/// it stands for.
pub(super) fn write_sql(
    pieces: &[Piece],
    table: &str,
    numbered: bool,
    (sql, sources): (&mut String, &mut Vec<Source>),
) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => sql.push_str(text),
            Piece::Table(_) => sql.push_str(table),
            Piece::Number(of) => sql.push_str(table.strip_prefix(of.as_str()).unwrap_or_default()),
            Piece::Value(_) | Piece::Cursor(_) | Piece::Variable(_) => {
                sources.push(match piece {
                    Piece::Value(index) => Source::Value(*index),
                    Piece::Variable(_) => Source::Variable,
                    _ => Source::Cursor,
                });
                if numbered {
                    sql.push('$');
                    sql.push_str(&sources.len().to_string());
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
                    write_sql(pieces, table, numbered, (sql, sources));
                }
            }
        }
    }
}

/// Returns the parts of a statement's text; neighbouring texts become one.
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
            Piece::Variable(index) => Part::Variable(*index),
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

/// Returns the parts of `EXECUTE name(value, …)`.
pub(super) fn execute_parts(job: &Job, pieces: &[Piece], wire_name: &str) -> Box<[Part]> {
    let text = |text: &str| Piece::Text(text.to_owned());
    let mut call = vec![text("EXECUTE "), text(wire_name)];
    let arguments = arguments(pieces);
    if !arguments.is_empty() {
        call.push(text("("));
        call.extend(arguments);
        call.push(text(")"));
    }
    parts(job, &call, "")
}

/// Returns the values of pieces alone, with commas between them.
fn arguments(pieces: &[Piece]) -> Vec<Piece> {
    let comma = || ",".to_owned();
    let mut arguments = Vec::new();
    for piece in pieces {
        let argument = match piece {
            Piece::Text(_) | Piece::Table(_) | Piece::Number(_) => continue,
            Piece::Value(_) | Piece::Cursor(_) | Piece::Variable(_) => piece.clone(),
            Piece::Repeat { repeat, pieces, .. } => match self::arguments(pieces) {
                none if none.is_empty() => continue,
                pieces => Piece::Repeat {
                    repeat: *repeat,
                    separator: comma(),
                    pieces,
                },
            },
        };
        if !arguments.is_empty() {
            arguments.push(Piece::Text(comma()));
        }
        arguments.push(argument);
    }
    arguments
}

/// Returns the values of scope `item` that pieces use directly, and before each those that it is made of.
fn item_draws(job: &Job, pieces: &[Piece]) -> Box<[usize]> {
    let used = pieces.iter().filter_map(|piece| match piece {
        Piece::Value(index) => Some(*index),
        _ => None,
    });
    draws(job, used, &[Scope::Item])
}

/// Returns what is drawn once for a statement: all values of scope `statement`, and of scope `item` those outside of
/// repetitions.
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
