//! Requests of PostgreSQL's extended protocol: what stands before and behind the parameters, and the parameters.

use super::{Form, Overflow, ParameterKind, Sink, Statement};
use crate::draw::{Draw, Values};
use crate::expression::Registers;
use crate::job::ResultForm;
use crate::text::write_integer;
use crate::wire::postgres;

impl Statement {
    /// Parses the statement if it has no name, or if nothing has executed it yet; returns its name.
    #[inline]
    pub(super) fn parse_if_needed(&self, declares: bool, out: &mut Vec<u8>) -> &[u8] {
        let (name, sql) = (self.wire_name.as_bytes(), self.sql.as_bytes());
        if matches!(self.form, Form::Unnamed) {
            postgres::parse_unnamed(out, sql, &self.declared);
            return b"";
        }
        if declares {
            // What an error skipped may be there or not.
            postgres::close_statement(out, name);
            postgres::parse_named(out, name, sql, &self.declared);
        }
        name
    }

    /// Ends the bind that begins at the mark, and executes what it bound.
    #[inline]
    pub(super) fn execute_bound(&self, out: &mut Vec<u8>, mark: usize) {
        match self.results {
            ResultForm::Binary => postgres::bind_end(out, mark),
            ResultForm::Text => postgres::bind_end_text(out, mark),
        }
        if self.describes {
            postgres::describe_portal(out);
        }
        postgres::execute(out);
    }
}

/// Binds the parameters of a statement of PostgreSQL, each as the server wants it.
pub(super) struct PostgresParameters<'a> {
    values: &'a Values,
    kinds: &'a [ParameterKind],
    /// How many have been bound.
    bound: usize,
    /// The first number that did not fit.
    overflow: Option<Overflow>,
}

impl<'a> PostgresParameters<'a> {
    /// Binds parameters of these kinds.
    #[inline]
    pub(super) fn new(values: &'a Values, kinds: &'a [ParameterKind]) -> Self {
        Self {
            values,
            kinds,
            bound: 0,
            overflow: None,
        }
    }

    /// Tells whether all numbers fitted.
    #[inline]
    pub(super) fn fitted(&self) -> Result<(), Overflow> {
        self.overflow.map_or(Ok(()), Err)
    }
}

impl PostgresParameters<'_> {
    /// Binds the next parameter: a number, or what `text` appends.
    #[inline]
    fn bind(&mut self, out: &mut Vec<u8>, number: i64, text: impl FnOnce(&mut Vec<u8>)) {
        let kind = self.kinds[self.bound];
        self.bound += 1;
        let fits = match kind {
            ParameterKind::Int2 => i16::try_from(number).map(|number| {
                postgres::parameter(out, |out| out.extend_from_slice(&number.to_be_bytes()));
            }),
            ParameterKind::Int4 => i32::try_from(number).map(|number| {
                postgres::parameter(out, |out| out.extend_from_slice(&number.to_be_bytes()));
            }),
            ParameterKind::Int8 => {
                postgres::parameter(out, |out| out.extend_from_slice(&number.to_be_bytes()));
                Ok(())
            }
            ParameterKind::Text | ParameterKind::Sample => {
                postgres::parameter(out, text);
                Ok(())
            }
        };
        if fits.is_err() {
            self.overflow.get_or_insert(Overflow {
                number,
                parameter: self.bound,
            });
        }
    }
}

impl Sink for PostgresParameters<'_> {
    #[inline]
    fn value(&mut self, out: &mut Vec<u8>, index: usize, draw: &Draw) {
        let values = self.values;
        if self.kinds[self.bound] == ParameterKind::Sample && values.is_null(index, draw) {
            self.bound += 1;
            postgres::null_parameter(out);
            return;
        }
        self.bind(out, draw.drawn(index), |out| values.write(out, index, draw));
    }

    #[inline]
    fn cursor(&mut self, out: &mut Vec<u8>, number: i64) {
        self.bind(out, number, |out| write_integer(out, number));
    }

    /// Binds a text, whatever it holds: null is the word, as in pgbench; NULL is what was given nothing yet.
    #[inline]
    fn variable(&mut self, out: &mut Vec<u8>, index: usize, variables: &Registers) {
        self.bound += 1;
        if variables.is_set(index) {
            postgres::parameter(out, |out| variables.write(out, index));
        } else {
            postgres::null_parameter(out);
        }
    }
}
