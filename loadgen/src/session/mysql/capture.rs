//! Reads what a session of MySQL's protocol keeps of an answer: columns, rows, the line about a statement.

use crate::session::capture::{Capture, Row};
use crate::session::error::{SessionError, one_line};
use crate::session::fields::Fields;
use crate::session::results::Results;
use crate::text::{write_double, write_integer};
use std::fmt::Write;

/// What stands for NULL in a row of texts.
const NULL: u8 = 0xfb;
/// Set in a column's flags where its numbers have no sign.
const UNSIGNED: u16 = 0x20;

/// A column's type and flags.
#[derive(Debug, Clone, Copy, Default)]
pub struct Column {
    type_: u8,
    unsigned: bool,
}

impl Capture<Column> {
    /// Takes the description of a column ("Column Definition").
    pub(super) fn take_column(&mut self, body: &[u8]) -> Result<(), SessionError> {
        let (name, column) = column(body)?;
        self.keep_column(name, column);
        Ok(())
    }

    /// Takes a row, as texts or in binary form.
    pub(super) fn take_row(&mut self, body: &[u8], binary: bool) -> Result<(), SessionError> {
        self.keep_row(body, if binary { binary_row } else { text_row })
    }

    /// Takes what the server says about a statement in a line.
    pub(super) fn take_info(&mut self, info: &[u8]) -> Result<(), SessionError> {
        // Servers put its length in front; the documentation has it without.
        let info = Fields(info).counted().unwrap_or(info);
        if info.is_empty() {
            return Ok(());
        }
        self.keep_notice(info, |info| Ok(one_line(info)))
    }
}

/// Reads the name of a column and what it is from its description ("Column Definition").
pub(super) fn column(body: &[u8]) -> Result<(&[u8], Column), SessionError> {
    let mut fields = Fields(body);
    // Catalogue, schema, table, table as it is called in the schema.
    for _ in 0..4 {
        fields.counted()?;
    }
    let name = fields.counted()?;
    fields.counted()?;
    // The length of what follows, character set, width.
    fields.bytes(1 + 2 + 4)?;
    let type_ = fields.u8()?;
    let unsigned = fields.le_u16()? & UNSIGNED != 0;
    Ok((name, Column { type_, unsigned }))
}

/// Keeps a row for variables, as texts or in binary form; integers, doubles and texts take no memory of their own.
pub(super) fn gather_row(
    results: &mut Results,
    columns: &[Column],
    body: &[u8],
    binary: bool,
) -> Result<(), SessionError> {
    let mut fields = Fields(body);
    results.begin_row();
    let nulls = if binary {
        fields.u8()?;
        fields.bytes((columns.len() + 2).div_ceil(8))?
    } else {
        &[]
    };
    for (place, column) in (2..).zip(columns) {
        if binary && nulls[place / 8] >> (place % 8) & 1 == 1 {
            results.value(None);
        } else if let ([NULL, rest @ ..], false) = (fields.0, binary) {
            fields.0 = rest;
            results.value(None);
        } else if !binary {
            results.value(Some(fields.counted()?));
        } else {
            results.value_by(|out| write_binary(*column, &mut fields, out))?;
        }
    }
    Ok(())
}

/// Appends a value in binary form as its text.
fn write_binary(
    column: Column,
    fields: &mut Fields,
    out: &mut Vec<u8>,
) -> Result<(), SessionError> {
    match (column.type_, column.unsigned) {
        (3 | 9, false) => write_integer(out, fields.le_u32()?.cast_signed().into()),
        (8, false) => write_integer(out, i64::from_le_bytes(fields.array()?)),
        (5, _) => write_double(out, f64::from_le_bytes(fields.array()?)),
        (1..=13, _) => out.extend_from_slice(binary_value(column, fields)?.as_bytes()),
        _ => out.extend_from_slice(fields.counted()?),
    }
    Ok(())
}

fn text_row(columns: &[Column], body: &[u8]) -> Result<Row, SessionError> {
    let mut fields = Fields(body);
    let mut row = Vec::with_capacity(columns.len());
    for _ in columns {
        if let [NULL, rest @ ..] = fields.0 {
            fields.0 = rest;
            row.push(None);
        } else {
            let value = fields.counted()?;
            row.push(Some(String::from_utf8_lossy(value).into_owned()));
        }
    }
    Ok(row)
}

/// Reads a row in binary form: a zero, a bit for each column that is NULL (the first two are not used), the values.
fn binary_row(columns: &[Column], body: &[u8]) -> Result<Row, SessionError> {
    let mut fields = Fields(body);
    fields.u8()?;
    let nulls = fields.bytes((columns.len() + 2).div_ceil(8))?;
    let mut row = Vec::with_capacity(columns.len());
    for (place, column) in (2..).zip(columns) {
        let null = nulls[place / 8] >> (place % 8) & 1 == 1;
        row.push(if null {
            None
        } else {
            Some(binary_value(*column, &mut fields)?)
        });
    }
    Ok(row)
}

/// Reads a value in binary form as its text ("Binary Protocol Value"; the numbers are those of `enum_field_types`).
fn binary_value(column: Column, fields: &mut Fields) -> Result<String, SessionError> {
    Ok(match (column.type_, column.unsigned) {
        (1, true) => fields.u8()?.to_string(),
        (1, false) => fields.u8()?.cast_signed().to_string(),
        (2 | 13, true) => fields.le_u16()?.to_string(),
        (2 | 13, false) => fields.le_u16()?.cast_signed().to_string(),
        (3 | 9, true) => fields.le_u32()?.to_string(),
        (3 | 9, false) => fields.le_u32()?.cast_signed().to_string(),
        (8, true) => u64::from_le_bytes(fields.array()?).to_string(),
        (8, false) => i64::from_le_bytes(fields.array()?).to_string(),
        (4, _) => f32::from_le_bytes(fields.array()?).to_string(),
        (5, _) => f64::from_le_bytes(fields.array()?).to_string(),
        (10, _) => date_time(fields, false)?,
        (7 | 12, _) => date_time(fields, true)?,
        (11, _) => time(fields)?,
        _ => String::from_utf8_lossy(fields.counted()?).into_owned(),
    })
}

/// Reads year to day, to second, or to microsecond, by the length in front: zeros at the end are left out.
fn date_time(fields: &mut Fields, with_clock: bool) -> Result<String, SessionError> {
    let length = fields.u8()?;
    let mut rest = Fields(fields.bytes(length.into())?);
    let (year, month, day) = match length {
        0 => (0, 0, 0),
        _ => (rest.le_u16()?, rest.u8()?, rest.u8()?),
    };
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if length > 4 {
        text.push(' ');
        clock(&mut text, &mut rest, 0, length > 7)?;
    } else if with_clock {
        text.push_str(" 00:00:00");
    }
    Ok(text)
}

/// Reads a span of time: its sign, days, hours to seconds and microseconds.
fn time(fields: &mut Fields) -> Result<String, SessionError> {
    let length = fields.u8()?;
    let mut rest = Fields(fields.bytes(length.into())?);
    if length == 0 {
        return Ok("00:00:00".to_owned());
    }
    let mut text = String::from(if rest.u8()? == 1 { "-" } else { "" });
    let days = rest.le_u32()?;
    clock(&mut text, &mut rest, days, length > 8)?;
    Ok(text)
}

fn clock(
    text: &mut String,
    rest: &mut Fields,
    days: u32,
    microseconds: bool,
) -> Result<(), SessionError> {
    let (hour, minute, second) = (rest.u8()?, rest.u8()?, rest.u8()?);
    let hours = u64::from(days) * 24 + u64::from(hour);
    // Writing into a String cannot fail.
    let _ = write!(text, "{hours:02}:{minute:02}:{second:02}");
    if microseconds {
        let _ = write!(text, ".{:06}", rest.le_u32()?);
    }
    Ok(())
}
