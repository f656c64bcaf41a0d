//! Compiles statements, once for each table, into parts of bytes and values, and writes them into a session's buffer
//! without allocation or formatter.

mod compile;
mod parameter;
mod postgres;
#[cfg(test)]
mod tests;

use crate::draw::{Draw, Values};
use crate::expression::{Registers, Scalar};
use crate::job::{Format, Job, Maker, Protocol, ResultForm};
use crate::samples::{Backslash, Parameter};
use crate::text::{date_time, write_integer};
use crate::wire::mysql::{self, ParameterType};
use crate::wire::{self, Wire};
use compile::{declared, execute_parts, parts, statement_draws, wire_name, write_sql};
pub use parameter::{Bound, Handle, Overflow, ParameterKind, Parameters};
use postgres::PostgresParameters;

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
    /// For each parameter what it comes from.
    pub sources: Box<[Source]>,
    /// The values that are drawn once for the statement.
    draws: Box<[usize]>,
    /// Whether PostgreSQL parses it with its first execution, as it may need what scripts make before.
    pub late: bool,
    /// The types that it declares for its parameters in PostgreSQL's protocol, by OID; none: the server infers them.
    pub declared: Box<[u32]>,
    /// Whether it sends all values as text and names no form of theirs, as libpq does.
    libpq: bool,
    /// In which form it asks PostgreSQL for rows.
    results: ResultForm,
    /// Whether it has the portal described, as libpq has, and as variables need it that take columns by their names.
    describes: bool,
    parts: Box<[Part]>,
}

/// What a parameter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A value, by its index.
    Value(usize),
    /// A cursor.
    Cursor,
    /// A variable: each time it may be of another kind.
    Variable,
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
    /// Executed by the number that the server gave it; with the types of its parameters, and whether those change.
    MySqlExecute(Box<[u8]>, bool),
}

impl Form {
    fn new(job: &Job, protocol: Protocol, sources: &[Source]) -> Self {
        let mysql = matches!(Wire::of(job), Some(Wire::MySql(_)));
        match (mysql, protocol) {
            (true, Protocol::Prepared) => Self::MySqlExecute(
                sources
                    .iter()
                    .flat_map(|source| parameter_type(job, *source).bytes())
                    .collect(),
                sources.iter().any(|source| varies(job, *source)),
            ),
            (true, _) => Self::MySqlText,
            (false, Protocol::Simple | Protocol::Execute) => Self::Text,
            (false, Protocol::Extended) => Self::Unnamed,
            (false, Protocol::Prepared) => Self::Named,
        }
    }
}

/// Tells whether the type of a parameter of MySQL is known only when it is written: a variable's, that of a file's value.
fn varies(job: &Job, source: Source) -> bool {
    match source {
        Source::Cursor => false,
        Source::Variable => true,
        Source::Value(index) => matches!(job.values[index].maker, Maker::Sample(_)),
    }
}

/// Returns the type that a parameter of MySQL has; one that varies is written when it is known.
fn parameter_type(job: &Job, source: Source) -> ParameterType {
    match source {
        Source::Cursor => ParameterType::BigInt,
        Source::Variable => ParameterType::Null,
        Source::Value(index) => match job.values[index].format {
            Format::Integer => ParameterType::BigInt,
            Format::Decimal2 | Format::Hundredths => ParameterType::Decimal,
            Format::Text => ParameterType::VarString,
            Format::Timestamp => ParameterType::DateTime,
        },
    }
}

/// A part of a statement: what is written, or in binary form bound.
#[derive(Debug)]
enum Part {
    Bytes(Box<[u8]>),
    Value(usize),
    Cursor(usize),
    Variable(usize),
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
        let statement = &job.statements[index];
        let (mut sql, mut sources) = (String::new(), Vec::new());
        let numbered = !job.engine.is_mysql();
        let pieces = job.bound_pieces(index);
        write_sql(&pieces, table, numbered, (&mut sql, &mut sources));
        let wire_name = wire_name(&statement.name, index, table);
        let types = match statement.types.join(",") {
            none if none.is_empty() => none,
            types => format!("({types})"),
        };
        let parts = if statement.protocol == Protocol::Execute {
            execute_parts(job, &pieces, &wire_name)
        } else {
            parts(job, &pieces, table)
        };
        Self {
            protocol: statement.protocol,
            form: Form::new(job, statement.protocol, &sources),
            prepare: format!("PREPARE {wire_name}{types} AS {sql}"),
            wire_name,
            late: statement.place.is_some()
                && numbered
                && matches!(statement.protocol, Protocol::Extended | Protocol::Prepared)
                && sources.iter().all(|source| *source == Source::Variable),
            sql,
            sources: sources.into(),
            draws: statement_draws(job, index),
            declared: declared(statement),
            libpq: statement.libpq,
            results: match statement.into {
                Some(_) => ResultForm::Text,
                None => statement.results,
            },
            describes: statement.libpq || statement.into.is_some(),
            parts,
        }
    }

    /// Appends the request that runs the statement once, with values drawn anew.
    ///
    /// # Errors
    /// Returns [`Overflow`] where a number does not fit its parameter; nothing usable is left in `out` then.
    #[inline]
    pub fn encode<'a>(
        &self,
        values: &Values,
        draw: &mut Draw,
        bound: impl Into<Bound<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<(), Overflow> {
        self.gather(values, draw, bound, out)?;
        if matches!(self.form, Form::Unnamed | Form::Named) {
            wire::postgres::sync(out);
        }
        Ok(())
    }

    /// Does the same without the end of a request of the extended protocol, which the caller appends behind several.
    ///
    /// # Errors
    /// As [`Statement::encode`].
    #[inline]
    pub fn gather<'a>(
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
        match &self.form {
            Form::Text => {
                let mark = wire::postgres::simple_begin(out);
                let mut sink = Literals::new(values, parameters);
                write(&self.parts, values, draw, out, &mut sink);
                wire::postgres::simple_end(out, mark);
                Ok(())
            }
            Form::MySqlText => {
                let mark = mysql::query_begin(out);
                let mut sink = Literals::new(values, parameters);
                write(&self.parts, values, draw, out, &mut sink);
                mysql::end(out, mark);
                Ok(())
            }
            Form::MySqlExecute(types, vary) => {
                let declared = (handle.declares || *vary).then_some(&**types);
                let mark = mysql::execute_begin(out, handle.id, types.len() / 2, declared);
                let mut sink = MySqlParameters {
                    values,
                    mark,
                    count: types.len() / 2,
                    written: 0,
                };
                write(&self.parts, values, draw, out, &mut sink);
                mysql::end(out, mark);
                Ok(())
            }
            Form::Unnamed | Form::Named => {
                let name = self.parse_if_needed(handle.declares, out);
                let mark = if self.libpq {
                    wire::postgres::bind_texts_begin(out, name, parameters.kinds.len())
                } else {
                    wire::postgres::bind_begin(out, name, &parameters.binary)
                };
                let mut sink = PostgresParameters::new(values, &parameters.kinds);
                write(&self.parts, values, draw, out, &mut sink);
                sink.fitted()?;
                self.execute_bound(out, mark);
                Ok(())
            }
        }
    }

    /// Appends a request that binds a prepared statement of PostgreSQL to values drawn anew, and executes nothing: it is
    /// planned.
    ///
    /// # Errors
    /// As [`Statement::encode`].
    pub fn bind<'a>(
        &self,
        values: &Values,
        draw: &mut Draw,
        bound: impl Into<Bound<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<(), Overflow> {
        self.gather(values, draw, bound, out)?;
        out.truncate(out.len() - wire::postgres::EXECUTE.len());
        wire::postgres::sync(out);
        Ok(())
    }

    /// Returns the parameters' kinds by the server's types.
    ///
    /// # Errors
    /// Returns one sentence where the job has other values than the server expects.
    pub fn parameters(&self, values: &Values, oids: &[u32]) -> Result<Parameters, String> {
        let mut kinds: Vec<_> = oids.iter().map(|oid| ParameterKind::of_oid(*oid)).collect();
        if kinds.len() != self.sources.len() {
            return Err(format!(
                "the server sees {} parameters where the job has {} values",
                kinds.len(),
                self.sources.len()
            ));
        }
        for (number, (kind, source)) in (1..).zip(kinds.iter_mut().zip(&self.sources)) {
            let value = match source {
                Source::Value(index) if values.is_sample(*index) => {
                    *kind = ParameterKind::Sample;
                    continue;
                }
                Source::Value(index) if !self.libpq => &values.list[*index],
                Source::Cursor if !self.libpq => continue,
                _ => {
                    *kind = ParameterKind::Text;
                    continue;
                }
            };
            let held = match value.format {
                Format::Text | Format::Timestamp => Some("a text"),
                Format::Hundredths => Some("a number with decimals"),
                Format::Integer | Format::Decimal2 => None,
            };
            if let Some(held) = held.filter(|_| *kind != ParameterKind::Text) {
                return Err(format!(
                    "parameter ${number} is an integer, but value `{}` is {held}",
                    value.name
                ));
            }
        }
        Ok(Parameters::new(kinds))
    }
}

/// Takes what a statement is made of, part by part, and appends it to `out` in one of the forms of a request.
trait Sink {
    /// Takes the bytes between values; where values are bound, there are none.
    #[inline]
    fn bytes(&mut self, _out: &mut Vec<u8>, _bytes: &[u8]) {}

    /// Takes a value as it was drawn last.
    fn value(&mut self, out: &mut Vec<u8>, index: usize, draw: &Draw);

    /// Takes a cursor's number.
    fn cursor(&mut self, out: &mut Vec<u8>, number: i64);

    /// Takes what a variable holds.
    fn variable(&mut self, out: &mut Vec<u8>, index: usize, variables: &Registers);
}

/// Gives parts to a sink, and draws the values of each item of a repetition before it.
#[inline]
fn write(
    parts: &[Part],
    values: &Values,
    draw: &mut Draw,
    out: &mut Vec<u8>,
    sink: &mut impl Sink,
) {
    for part in parts {
        match part {
            Part::Bytes(bytes) => sink.bytes(out, bytes),
            Part::Value(index) => sink.value(out, *index, draw),
            Part::Cursor(index) => sink.cursor(out, draw.cursors[*index]),
            Part::Variable(index) => sink.variable(out, *index, &draw.variables),
            Part::Repeat {
                count,
                separator,
                draws,
                parts,
            } => {
                for number in 0..*count {
                    if number > 0 {
                        sink.bytes(out, separator);
                    }
                    draw.begin_item(values, number, draws);
                    write(parts, values, draw, out, sink);
                }
                draw.end_items();
            }
        }
    }
}

/// Writes a text with literals.
struct Literals<'a> {
    values: &'a Values,
    backslash: Backslash,
}

impl<'a> Literals<'a> {
    #[inline]
    fn new(values: &'a Values, parameters: &Parameters) -> Self {
        let backslash = values.backslash(parameters.plain_backslashes);
        Self { values, backslash }
    }
}

impl Sink for Literals<'_> {
    /// Appends bytes; a comma or a bracket is most of them, which needs no call to copy.
    #[inline]
    fn bytes(&mut self, out: &mut Vec<u8>, bytes: &[u8]) {
        match bytes {
            [byte] => out.push(*byte),
            bytes => out.extend_from_slice(bytes),
        }
    }

    #[inline]
    fn value(&mut self, out: &mut Vec<u8>, index: usize, draw: &Draw) {
        match self.values.list[index].format {
            Format::Integer | Format::Decimal2 | Format::Hundredths => {
                self.values.write(out, index, draw);
            }
            Format::Text | Format::Timestamp => {
                self.values.write_quoted(out, (index, self.backslash), draw);
            }
        }
    }

    #[inline]
    fn cursor(&mut self, out: &mut Vec<u8>, number: i64) {
        write_integer(out, number);
    }

    #[inline]
    fn variable(&mut self, out: &mut Vec<u8>, index: usize, variables: &Registers) {
        variables.write(out, index);
    }
}

/// Writes the parameters of a prepared statement of MySQL.
struct MySqlParameters<'a> {
    values: &'a Values,
    /// Where the request begins.
    mark: usize,
    /// How many parameters there are, and how many have been written.
    count: usize,
    written: usize,
}

impl MySqlParameters<'_> {
    /// Declares the type of the next parameter.
    #[inline]
    fn declare(&mut self, out: &mut [u8], type_: ParameterType) {
        mysql::declare(out, self.mark, (self.written, self.count), type_);
        self.written += 1;
    }

    /// Takes a value of a file, by the type of how it stood there.
    #[inline]
    fn sample(&mut self, out: &mut Vec<u8>, parameter: Parameter) {
        self.declare(
            out,
            match parameter {
                Parameter::Null => ParameterType::Null,
                Parameter::Integer(_) => ParameterType::BigInt,
                Parameter::Unsigned(_) => ParameterType::UnsignedBigInt,
                Parameter::Double(_) => ParameterType::Double,
                Parameter::Decimal(_) => ParameterType::Decimal,
                Parameter::Text(_) => ParameterType::VarString,
            },
        );
        match parameter {
            Parameter::Null => {}
            Parameter::Integer(number) => mysql::integer(out, number),
            Parameter::Unsigned(number) => mysql::unsigned(out, number),
            Parameter::Double(number) => mysql::double(out, number),
            Parameter::Decimal(bytes) | Parameter::Text(bytes) => {
                mysql::text(out, |out| out.extend_from_slice(bytes));
            }
        }
    }
}

impl Sink for MySqlParameters<'_> {
    #[inline]
    fn value(&mut self, out: &mut Vec<u8>, index: usize, draw: &Draw) {
        if let Some(sampled) = self.values.sampled(index, draw) {
            self.sample(out, sampled.parameter());
            return;
        }
        self.written += 1;
        match self.values.list[index].format {
            Format::Integer => mysql::integer(out, draw.drawn(index)),
            Format::Timestamp => mysql::date_time(out, date_time(draw.drawn(index))),
            Format::Decimal2 | Format::Hundredths | Format::Text => {
                mysql::text(out, |out| self.values.write(out, index, draw));
            }
        }
    }

    #[inline]
    fn cursor(&mut self, out: &mut Vec<u8>, number: i64) {
        self.written += 1;
        mysql::integer(out, number);
    }

    fn variable(&mut self, out: &mut Vec<u8>, index: usize, variables: &Registers) {
        let type_ = match variables.given(index) {
            Some(Scalar::Null) => ParameterType::Null,
            Some(Scalar::Integer(_) | Scalar::Boolean(_)) => ParameterType::BigInt,
            Some(Scalar::Double(_)) => ParameterType::Double,
            None => ParameterType::VarString,
        };
        self.declare(out, type_);
        match variables.given(index) {
            Some(Scalar::Null) => {}
            Some(Scalar::Integer(number)) => mysql::integer(out, number),
            Some(Scalar::Boolean(truth)) => mysql::integer(out, i64::from(truth)),
            Some(Scalar::Double(number)) => mysql::double(out, number),
            None => mysql::text(out, |out| variables.write(out, index)),
        }
    }
}
