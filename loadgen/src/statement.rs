//! Statements, compiled once for each table into pieces of bytes and values, and written into a session's buffer
//! without allocation or formatter.

mod compile;

use crate::draw::{Draw, Values};
use crate::job::{Format, Job, Protocol};
use crate::session::postgres::encode;
use crate::text::write_integer;
use compile::{execute_parts, parts, statement_draws, wire_name, write_sql};
use std::fmt;

/// One statement for one table.
#[derive(Debug)]
pub struct Statement {
    /// How it is sent.
    pub protocol: Protocol,
    /// Its name in the server, for `prepared` and `execute`.
    pub wire_name: String,
    /// The SQL with `$n` for its values; what `prepared`, `extended` and `execute` have parsed.
    pub sql: String,
    /// For `execute`: the SQL that prepares it.
    pub prepare: String,
    /// The values that are drawn once for the statement.
    draws: Box<[usize]>,
    parts: Box<[Part]>,
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

/// How the server wants a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Two bytes.
    Int2,
    /// Four bytes.
    Int4,
    /// Eight bytes.
    Int8,
    /// Text form, of whatever type.
    Text,
}

impl ParameterKind {
    /// The kind of a type by its OID (pg_type.dat of PostgreSQL).
    #[must_use]
    pub fn of_oid(oid: u32) -> Self {
        match oid {
            21 => Self::Int2,
            23 => Self::Int4,
            20 => Self::Int8,
            _ => Self::Text,
        }
    }
}

/// The kinds of a statement's parameters on one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    kinds: Box<[ParameterKind]>,
    binary: Box<[bool]>,
}

impl Parameters {
    /// Parameters of these kinds.
    #[must_use]
    pub fn new(kinds: Vec<ParameterKind>) -> Self {
        Self {
            binary: kinds
                .iter()
                .map(|kind| *kind != ParameterKind::Text)
                .collect(),
            kinds: kinds.into_boxed_slice(),
        }
    }
}

/// A number that the type of its parameter cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// The number.
    pub number: i64,
    /// The parameter's place, from 1.
    pub place: usize,
}

impl fmt::Display for Overflow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} does not fit the integer type of parameter ${}; cast it to bigint in the SQL",
            self.number, self.place
        )
    }
}

impl Statement {
    /// Compiles a valid job's statement for one table (its full name, such as `pi1`).
    #[must_use]
    pub fn compile(job: &Job, index: usize, table: &str) -> Self {
        let source = &job.statements[index];
        let (mut sql, mut places) = (String::new(), 0);
        write_sql(&source.pieces, table, &mut sql, &mut places);
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
    pub fn encode(
        &self,
        values: &Values,
        draw: &mut Draw,
        parameters: &Parameters,
        out: &mut Vec<u8>,
    ) -> Result<(), Overflow> {
        for index in &self.draws {
            draw.draw(values, *index);
        }
        if matches!(self.protocol, Protocol::Simple | Protocol::Execute) {
            let mark = encode::simple_begin(out);
            write_literals(&self.parts, values, draw, out);
            encode::simple_end(out, mark);
            return Ok(());
        }
        let name: &[u8] = if self.protocol == Protocol::Extended {
            encode::parse_unnamed(out, self.sql.as_bytes());
            b""
        } else {
            self.wire_name.as_bytes()
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
        fn walk(parts: &[Part], sources: &mut Vec<Option<usize>>) {
            for part in parts {
                match part {
                    Part::Bytes(_) => {}
                    Part::Value(index) => sources.push(Some(*index)),
                    Part::Cursor(_) => sources.push(None),
                    Part::Repeat { count, parts, .. } => {
                        for _ in 0..*count {
                            walk(parts, sources);
                        }
                    }
                }
            }
        }
        let mut sources = Vec::new();
        walk(&self.parts, &mut sources);
        sources
    }
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
                    draw.item = i64::from(number);
                    for index in draws {
                        draw.draw(values, *index);
                    }
                    write_literals(parts, values, draw, out);
                }
                draw.item = 0;
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
                    draw.item = i64::from(number);
                    for index in draws {
                        draw.draw(values, *index);
                    }
                    bind(parts, values, draw, kinds, place, out)?;
                }
                draw.item = 0;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Maker;

    fn job() -> Job {
        Job::parse(
            r#"{"protocol": 1, "seed": 1, "step": "s", "engine": "fake", "fake": {"default_us": 1}, "clients": 1,
                "utc_offset_s": 3600, "tables": {"t": 3},
                "values": [{"name": "id", "per": "item", "format": "integer", "uniform": [1, 9]},
                           {"name": "next", "per": "item", "format": "decimal2", "add": {"value": 0, "plus": 100}},
                           {"name": "text", "per": "statement", "format": "text", "pattern": "it's #"},
                           {"name": "now", "per": "statement", "format": "timestamp", "clock": "second"}],
                "cursors": [{"name": "tail", "start": "SELECT 1"}],
                "statements": [
                  {"name": "Insert-it", "protocol": "simple", "pieces": ["INSERT INTO ", {"table": "t"}, " VALUES ",
                    {"repeat": 2, "separator": ", ", "pieces": ["(", {"value": 0}, ",", {"value": 1}, ",", {"value": 2}, ",", {"value": 3}, ")"]}]},
                  {"name": "get", "protocol": "execute", "types": ["bigint", "bigint", "bigint"],
                   "pieces": ["SELECT ", {"cursor": 0}, " FROM ", {"table": "t"}, " WHERE id IN (", {"repeat": 2, "separator": ",", "pieces": [{"value": 0}]}, ")"]},
                  {"name": "bound", "protocol": "prepared", "pieces": ["SELECT ", {"value": 0}, ", ", {"value": 2}]}],
                "programs": [{"name": "p", "code": [["send", 0], ["send", 1], ["send", 2]]}],
                "roles": [{"name": "r", "per": "client", "connections": 1, "choose": [{"program": 0, "weight": 1}],
                           "table": {"of": "t", "by": "own"}, "pace": {"kind": "closed"}}],
                "stop": {"seconds": 1}}"#,
        )
        .unwrap()
    }

    fn draw(job: &Job) -> (Values, Draw) {
        let mut draw = Draw::new(job, &job.roles[0], 0);
        draw.begin(0);
        draw.cursors[0] = -7;
        draw.unix_s = 86_400;
        (Values::new(job), draw)
    }

    #[test]
    fn a_simple_statement_holds_literals_and_draws_anew_for_each_item() {
        let job = job();
        let (values, mut draw) = draw(&job);
        let statement = Statement::compile(&job, 0, "t2");
        let mut out = Vec::new();
        statement
            .encode(&values, &mut draw, &Parameters::default(), &mut out)
            .unwrap();
        let text = String::from_utf8(out[5..out.len() - 1].to_vec()).unwrap();
        assert_eq!((out[0], out[out.len() - 1]), (b'Q', 0));
        let rows: Vec<_> = text
            .strip_prefix("INSERT INTO t2 VALUES (")
            .and_then(|rest| rest.strip_suffix(")"))
            .unwrap()
            .split("), (")
            .map(|row| row.split(',').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        for row in &rows {
            let id: i64 = row[0].parse().unwrap();
            assert!((1..=9).contains(&id));
            assert_eq!(
                row[1],
                format!("{}.00", id + 100),
                "it adds to the item's own value"
            );
            assert!(row[2].starts_with("'it''s ") && row[2].ends_with('\''));
            assert_eq!(row[3], "'1970-01-02 01:00:00'");
        }
        assert_eq!(
            rows[0][2], rows[1][2],
            "a value per statement stays the same"
        );
    }

    #[test]
    fn execute_prepares_with_types_and_sends_literals() {
        let job = job();
        let (values, mut draw) = draw(&job);
        let statement = Statement::compile(&job, 1, "t1");
        assert_eq!(
            statement.prepare,
            "PREPARE s1_get_t1(bigint,bigint,bigint) AS SELECT $1 FROM t1 WHERE id IN ($2,$3)"
        );
        let mut out = Vec::new();
        statement
            .encode(&values, &mut draw, &Parameters::default(), &mut out)
            .unwrap();
        let text = String::from_utf8_lossy(&out[5..out.len() - 1]).into_owned();
        let arguments = text.strip_prefix("EXECUTE s1_get_t1(-7,").unwrap();
        assert_eq!(
            arguments.trim_end_matches(')').split(',').count(),
            2,
            "{text}"
        );
    }

    #[test]
    fn a_number_too_large_for_its_parameter_is_an_error() {
        let mut job = job();
        job.values[0].maker = Maker::Constant(3_000_000_000);
        let (values, mut draw) = draw(&job);
        let statement = Statement::compile(&job, 2, "");
        let parameters = statement.parameters(&values, &[23, 25]).unwrap();
        let error = statement
            .encode(&values, &mut draw, &parameters, &mut Vec::new())
            .unwrap_err();
        assert_eq!(
            error,
            Overflow {
                number: 3_000_000_000,
                place: 1
            }
        );
        let wide = statement.parameters(&values, &[20, 25]).unwrap();
        let mut out = Vec::new();
        statement
            .encode(&values, &mut draw, &wide, &mut out)
            .unwrap();
        assert!(
            out.windows(8)
                .any(|bytes| bytes == 3_000_000_000_i64.to_be_bytes())
        );
        assert!(
            statement
                .parameters(&values, &[20, 23])
                .unwrap_err()
                .contains("$2")
        );
        assert!(statement.parameters(&values, &[20]).is_err());
    }

    #[test]
    fn a_second_try_draws_the_same() {
        let job = job();
        let (values, mut draw) = draw(&job);
        let statement = Statement::compile(&job, 0, "t1");
        let mut tries = [Vec::new(), Vec::new(), Vec::new()];
        for (number, out) in [5, 5, 6].into_iter().zip(&mut tries) {
            draw.begin(number);
            statement
                .encode(&values, &mut draw, &Parameters::default(), out)
                .unwrap();
        }
        assert_eq!(tries[0], tries[1]);
        assert_ne!(tries[0], tries[2]);
    }
}
