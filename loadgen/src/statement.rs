//! Statements, compiled once for each table into pieces of bytes and values, and written into a session's buffer
//! without allocation or formatter.

mod compile;
mod parameter;
#[cfg(test)]
mod tests;

use crate::draw::{Draw, Values};
use crate::job::{Format, Job, Protocol};
use crate::session::Wire;
use crate::session::mysql::encode as mysql;
use crate::session::mysql::encode::ParameterType;
use crate::session::postgres::encode;
use crate::text::{date_time, write_integer};
use compile::{execute_parts, parts, statement_draws, wire_name, write_sql};
pub use parameter::{Bound, Handle, Overflow, ParameterKind, Parameters};

/// One statement for one table.
#[derive(Debug)]
pub struct Statement {
    /// How it is sent.
    pub protocol: Protocol,
    form: Form,
    /// Its name in the server, for `prepared` and `execute`.
    pub wire_name: String,
    /// The SQL with `$n` (MySQL: `?`) for its values; what `prepared`, `extended` and `execute` have parsed.
    pub sql: String,
    /// For `execute`: the SQL that prepares it.
    pub prepare: String,
    /// The values that are drawn once for the statement.
    draws: Box<[usize]>,
    parts: Box<[Part]>,
}

/// How a statement's request is written.
#[derive(Debug)]
enum Form {
    /// A text with literals, in PostgreSQL's protocol.
    Text,
    /// Parsed, bound and executed without a name.
    Unnamed,
    /// Bound and executed by its name.
    Named,
    /// A text with literals, in MySQL's protocol.
    MySqlText,
    /// Executed by the number that the server gave it; with the types of its parameters.
    MySqlExecute(Box<[u8]>),
}

impl Form {
    fn new(job: &Job, protocol: Protocol, parts: &[Part]) -> Self {
        let mysql = matches!(Wire::of(job), Some(Wire::MySql(_)));
        match (mysql, protocol) {
            (true, Protocol::Prepared) => Self::MySqlExecute(
                sources(parts)
                    .into_iter()
                    .flat_map(|value| [parameter_type(job, value) as u8, 0])
                    .collect(),
            ),
            (true, _) => Self::MySqlText,
            (false, Protocol::Simple | Protocol::Execute) => Self::Text,
            (false, Protocol::Extended) => Self::Unnamed,
            (false, Protocol::Prepared) => Self::Named,
        }
    }
}

/// The type that a value, or none for a cursor, has as a parameter of MySQL.
fn parameter_type(job: &Job, value: Option<usize>) -> ParameterType {
    match value.map(|index| job.values[index].format) {
        None | Some(Format::Integer) => ParameterType::BigInt,
        Some(Format::Decimal2) => ParameterType::Decimal,
        Some(Format::Text) => ParameterType::VarString,
        Some(Format::Timestamp) => ParameterType::DateTime,
    }
}

/// A part of a statement: what is written, or in binary form bound.
#[derive(Debug)]
enum Part {
    Bytes(Box<[u8]>),
    Value(usize),
    Cursor(usize),
    Repeat {
        count: u32,
        separator: Box<[u8]>,
        draws: Box<[usize]>,
        parts: Box<[Part]>,
    },
}

impl Statement {
    /// Compiles a valid job's statement for one table (its full name, such as `pi1`).
    #[must_use]
    pub fn compile(job: &Job, index: usize, table: &str) -> Self {
        let source = &job.statements[index];
        let (mut sql, mut places) = (String::new(), 0);
        let numbered = !job.engine.is_mysql();
        write_sql(&source.pieces, table, numbered, (&mut sql, &mut places));
        let wire_name = wire_name(&source.name, index, table);
        let types = match source.types.join(",") {
            none if none.is_empty() => none,
            types => format!("({types})"),
        };
        let parts = if source.protocol == Protocol::Execute {
            execute_parts(job, &source.pieces, &wire_name)
        } else {
            parts(job, &source.pieces, table)
        };
        Self {
            protocol: source.protocol,
            form: Form::new(job, source.protocol, &parts),
            prepare: format!("PREPARE {wire_name}{types} AS {sql}"),
            wire_name,
            sql,
            draws: statement_draws(job, index),
            parts,
        }
    }

    /// Appends the request that runs the statement once, with values drawn anew.
    ///
    /// # Errors
    /// [`Overflow`], by which nothing usable is left in `out`.
    #[inline]
    pub fn encode<'a>(
        &self,
        values: &Values,
        draw: &mut Draw,
        bound: impl Into<Bound<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<(), Overflow> {
        for index in &self.draws {
            draw.draw(values, *index);
        }
        let Bound { parameters, handle } = bound.into();
        let name: &[u8] = match &self.form {
            Form::Text => {
                let mark = encode::simple_begin(out);
                write_literals(&self.parts, values, draw, out);
                encode::simple_end(out, mark);
                return Ok(());
            }
            Form::MySqlText => {
                let mark = mysql::query_begin(out);
                write_literals(&self.parts, values, draw, out);
                mysql::end(out, mark);
                return Ok(());
            }
            Form::MySqlExecute(types) => {
                let declared = handle.declares.then_some(&**types);
                let mark = mysql::execute_begin(out, handle.id, types.len() / 2, declared);
                write_values(&self.parts, values, draw, out);
                mysql::end(out, mark);
                return Ok(());
            }
            Form::Unnamed => {
                encode::parse_unnamed(out, self.sql.as_bytes());
                b""
            }
            Form::Named => self.wire_name.as_bytes(),
        };
        let mark = encode::bind_begin(out, name, &parameters.binary);
        let mut place = 0;
        bind(
            &self.parts,
            values,
            draw,
            &parameters.kinds,
            &mut place,
            out,
        )?;
        encode::bind_end(out, mark);
        encode::execute_sync(out);
        Ok(())
    }

    /// The parameters' kinds by the server's types.
    ///
    /// # Errors
    /// Where the job has other values than the server expects; one sentence.
    pub fn parameters(&self, values: &Values, oids: &[u32]) -> Result<Parameters, String> {
        let kinds: Vec<_> = oids.iter().map(|oid| ParameterKind::of_oid(*oid)).collect();
        let sources = self.sources();
        if kinds.len() != sources.len() {
            return Err(format!(
                "the server sees {} parameters where the job has {} values",
                kinds.len(),
                sources.len()
            ));
        }
        for (place, (kind, source)) in kinds.iter().zip(&sources).enumerate() {
            let Some(value) = source.map(|index| &values.list[index]) else {
                continue;
            };
            let text = matches!(value.format, Format::Text | Format::Timestamp);
            if text && *kind != ParameterKind::Text {
                return Err(format!(
                    "parameter ${} is an integer, but value `{}` is a text",
                    place + 1,
                    value.name
                ));
            }
        }
        Ok(Parameters::new(kinds))
    }

    /// For each parameter the value it comes from, or none for a cursor.
    #[must_use]
    pub fn sources(&self) -> Vec<Option<usize>> {
        sources(&self.parts)
    }
}

fn sources(parts: &[Part]) -> Vec<Option<usize>> {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Part::Bytes(_) => {}
            Part::Value(index) => all.push(Some(*index)),
            Part::Cursor(_) => all.push(None),
            Part::Repeat { count, parts, .. } => {
                let each = sources(parts);
                for _ in 0..*count {
                    all.extend_from_slice(&each);
                }
            }
        }
    }
    all
}

#[inline]
fn write_literals(parts: &[Part], values: &Values, draw: &mut Draw, out: &mut Vec<u8>) {
    for part in parts {
        match part {
            Part::Bytes(bytes) => write_bytes(out, bytes),
            Part::Value(index) => write_literal(values, *index, draw, out),
            Part::Cursor(index) => write_integer(out, draw.cursors[*index]),
            Part::Repeat {
                count,
                separator,
                draws,
                parts,
            } => {
                for number in 0..*count {
                    if number > 0 {
                        out.extend_from_slice(separator);
                    }
                    draw.begin_item(values, number, draws);
                    write_literals(parts, values, draw, out);
                }
                draw.end_items();
            }
        }
    }
}

/// Appends bytes; a comma or a bracket is most of them, which needs no call to copy.
#[inline]
fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes {
        [byte] => out.push(*byte),
        bytes => out.extend_from_slice(bytes),
    }
}

#[inline]
fn write_literal(values: &Values, index: usize, draw: &Draw, out: &mut Vec<u8>) {
    match values.list[index].format {
        Format::Integer | Format::Decimal2 => values.write(out, index, draw),
        Format::Text | Format::Timestamp => values.write_quoted(out, index, draw),
    }
}

/// Appends the parameters of a prepared statement of MySQL.
#[inline]
fn write_values(parts: &[Part], values: &Values, draw: &mut Draw, out: &mut Vec<u8>) {
    for part in parts {
        match part {
            Part::Bytes(_) => {}
            Part::Value(index) => write_value(values, *index, draw, out),
            Part::Cursor(index) => mysql::integer(out, draw.cursors[*index]),
            Part::Repeat {
                count,
                draws,
                parts,
                ..
            } => {
                for number in 0..*count {
                    draw.begin_item(values, number, draws);
                    write_values(parts, values, draw, out);
                }
                draw.end_items();
            }
        }
    }
}

#[inline]
fn write_value(values: &Values, index: usize, draw: &Draw, out: &mut Vec<u8>) {
    match values.list[index].format {
        Format::Integer => mysql::integer(out, draw.drawn(index)),
        Format::Timestamp => mysql::date_time(out, date_time(draw.drawn(index))),
        Format::Decimal2 | Format::Text => mysql::text(out, |out| values.write(out, index, draw)),
    }
}

#[inline]
fn bind(
    parts: &[Part],
    values: &Values,
    draw: &mut Draw,
    kinds: &[ParameterKind],
    place: &mut usize,
    out: &mut Vec<u8>,
) -> Result<(), Overflow> {
    for part in parts {
        let (number, value) = match part {
            Part::Bytes(_) => continue,
            Part::Repeat {
                count,
                draws,
                parts,
                ..
            } => {
                for number in 0..*count {
                    draw.begin_item(values, number, draws);
                    bind(parts, values, draw, kinds, place, out)?;
                }
                draw.end_items();
                continue;
            }
            Part::Value(index) => (draw.drawn(*index), Some(*index)),
            Part::Cursor(index) => (draw.cursors[*index], None),
        };
        let kind = kinds[*place];
        *place += 1;
        let overflow = Overflow {
            number,
            place: *place,
        };
        match kind {
            ParameterKind::Int2 => {
                let number = i16::try_from(number).map_err(|_| overflow)?;
                encode::parameter(out, |out| out.extend_from_slice(&number.to_be_bytes()));
            }
            ParameterKind::Int4 => {
                let number = i32::try_from(number).map_err(|_| overflow)?;
                encode::parameter(out, |out| out.extend_from_slice(&number.to_be_bytes()));
            }
            ParameterKind::Int8 => {
                encode::parameter(out, |out| out.extend_from_slice(&number.to_be_bytes()));
            }
            ParameterKind::Text => encode::parameter(out, |out| match value {
                Some(index) => values.write(out, index, draw),
                None => write_integer(out, number),
            }),
        }
    }
    Ok(())
}
