//! Drawing the values of one connection's operations.
//!
//! Each draw is mix64 of (seed, step, role, connection, operation, number of the draw), so that what is drawn does not
//! depend on time, and an operation that is tried again draws the same.

use crate::job::{Bound, Format, Maker, Value};
use crate::text::{write_integer, write_timestamp};
use crate::value::{mix, mix_in, name_part, uniform, write_pattern};

/// The number of the draw that chooses an operation's program; those of its values count from 0.
const CHOICE: u64 = u64::MAX;

/// The job's values and what they share; the same for all connections.
#[derive(Debug)]
pub struct Values {
    /// The values as the job describes them.
    pub list: Vec<Value>,
    utc_offset_s: i64,
}

impl Values {
    /// The values of a job; local time is `utc_offset_s` ahead of UTC.
    #[must_use]
    pub fn new(list: &[Value], utc_offset_s: i32) -> Self {
        Self {
            list: list.to_vec(),
            utc_offset_s: i64::from(utc_offset_s),
        }
    }

    /// Appends what a value is, without quotes.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, index: usize, drawn: i64) {
        let value = &self.list[index];
        let random = drawn.cast_unsigned();
        match &value.maker {
            Maker::Text(shape) => shape.write(out, random),
            Maker::Pattern(pattern) => write_pattern(out, pattern.as_bytes(), random),
            _ => write_number(out, value.format, drawn),
        }
    }
}

/// Appends a number in a format, without quotes.
#[inline]
fn write_number(out: &mut Vec<u8>, format: Format, number: i64) {
    match format {
        Format::Integer | Format::Text => write_integer(out, number),
        Format::Decimal2 => {
            write_integer(out, number);
            out.extend_from_slice(b".00");
        }
        Format::Timestamp => write_timestamp(out, number),
    }
}

/// What one connection has drawn, and the state that its draws come from.
#[derive(Debug)]
pub struct Draw {
    connection: u64,
    operation: u64,
    next: u64,
    /// One for each of the job's values: a number, or a text's random number.
    drawn: Box<[i64]>,
    /// One for each of the job's cursors: what statements write and values are bounded by.
    pub cursors: Box<[i64]>,
    /// Wall-clock time in seconds since 1970, UTC, for values of `clock`.
    pub unix_s: i64,
}

impl Draw {
    /// The state of a connection that has drawn nothing.
    #[must_use]
    pub fn new(
        seed: u64,
        step: &str,
        role: &str,
        connection: u64,
        values: usize,
        cursors: usize,
    ) -> Self {
        let state = mix(seed, &[name_part(step), name_part(role), connection]);
        Self {
            connection: state,
            operation: state,
            next: 0,
            drawn: vec![0; values].into_boxed_slice(),
            cursors: vec![0; cursors].into_boxed_slice(),
            unix_s: 0,
        }
    }

    /// Begins the operation of this number, for the first time or again.
    #[inline]
    pub fn begin(&mut self, operation: u64) {
        self.operation = mix_in(self.connection, operation);
        self.next = 0;
    }

    /// A number below `weights` that chooses the operation's program.
    #[inline]
    #[must_use]
    pub fn choose(&self, weights: u64) -> u64 {
        let high = i64::try_from(weights).unwrap_or(i64::MAX) - 1;
        uniform(mix_in(self.operation, CHOICE), 0, high).unsigned_abs()
    }

    /// Draws a value anew.
    #[inline]
    pub fn draw(&mut self, values: &Values, index: usize) {
        self.drawn[index] = match &values.list[index].maker {
            Maker::Uniform(low, high) => {
                let (low, high) = (self.bound(low), self.bound(high));
                uniform(self.random(), low, high)
            }
            Maker::Add { value, plus } => self.drawn[*value].saturating_add(*plus),
            Maker::Text(_) | Maker::Pattern(_) => self.random().cast_signed(),
            Maker::Clock => self.unix_s + values.utc_offset_s,
            Maker::Constant(number) | Maker::Row(number) => *number,
        };
    }

    /// What a value was drawn as last.
    #[inline]
    #[must_use]
    pub fn drawn(&self, index: usize) -> i64 {
        self.drawn[index]
    }

    #[inline]
    fn random(&mut self) -> u64 {
        let random = mix_in(self.operation, self.next);
        self.next += 1;
        random
    }

    #[inline]
    fn bound(&self, bound: &Bound) -> i64 {
        match bound {
            Bound::Integer(number) => *number,
            Bound::Cursor(bound) => self.cursors[bound.cursor].saturating_add(bound.plus),
        }
    }
}
