//! Drawing the values of one connection's operations.
//!
//! Each draw is mix64 of (seed, step, role, connection, operation, number of the draw), so that what is drawn does not
//! depend on time, and an operation that is tried again draws the same.

mod source;

use crate::counter::Counter;
use crate::expression::Scalar;
use crate::expression::{Expression, Outcome, Registers};
use crate::job::{Bound, Format, Job, JoinPart, Maker, Per, Role, Value};
use crate::samples::{Backslash, Sampled, Samples};
use crate::text::{write_hundredths, write_integer, write_quoted, write_timestamp};
use crate::value::{mix, mix_in, name_part, uniform, write_pattern};
use source::{Source, counts};

/// The number of the draw that chooses an operation's program; those of its values count from 0.
const CHOICE: u64 = u64::MAX;

/// What decks are shuffled with, apart from all draws.
const DECK: &str = "deck";

/// What the name of a class of statements is drawn with, apart from all other draws.
const TABLE: &str = "table";

/// The longest text of a time: a year of any length, and 15 characters.
const TIME_BYTES_MAX: usize = 35;

/// The job's values and what they share; the same for all connections.
#[derive(Debug)]
pub struct Values {
    /// The values as the job describes them.
    pub list: Vec<Value>,
    /// What each is drawn from, with all that can be computed beforehand.
    sources: Box<[Source]>,
    /// Whether what is written can have a character in it that has a meaning in literals, which has to be doubled then.
    quotes: Box<[bool]>,
    is_mysql: bool,
    samples: Samples,
    /// One for each value of the maker `count`, in their order.
    counters: Box<[Counter]>,
    utc_offset_s: i64,
}

/// A class of statements as a part of the seed of its operations' tables.
#[must_use]
pub fn class_part(class: &str) -> u64 {
    mix(name_part(TABLE), &[name_part(class)])
}

impl Values {
    /// The values of a job that draws none from files.
    #[must_use]
    pub fn new(job: &Job) -> Self {
        Self::with(job, Samples::default())
    }

    /// The values of a job, with its files as they were read.
    #[must_use]
    pub fn with(job: &Job, samples: Samples) -> Self {
        let special = Backslash::of(job.engine.is_mysql(), false).special();
        Self {
            is_mysql: job.engine.is_mysql(),
            samples,
            list: job.values.clone(),
            counters: counts(&job.values).map(Counter::new).collect(),
            sources: (0..job.values.len())
                .map(|index| Source::new(index, job))
                .collect(),
            quotes: (0..job.values.len())
                .map(|index| can_hold(&job.values, index, special))
                .collect(),
            utc_offset_s: i64::from(job.utc_offset_s),
        }
    }

    /// Whether a value comes from a file.
    #[inline]
    #[must_use]
    pub fn is_sample(&self, index: usize) -> bool {
        matches!(self.sources[index], Source::Sample(_))
    }

    /// Whether a value was drawn as NULL last.
    #[inline]
    #[must_use]
    pub fn is_null(&self, index: usize, draw: &Draw) -> bool {
        self.sampled(index, draw)
            .is_some_and(|sampled| sampled.bytes().is_none())
    }

    /// What a value of a file was drawn as last; none where it is another value.
    #[inline]
    #[must_use]
    pub fn sampled(&self, index: usize, draw: &Draw) -> Option<Sampled<'_>> {
        let Source::Sample(source) = &self.sources[index] else {
            return None;
        };
        let number = usize::try_from(draw.drawn(index)).unwrap_or_default();
        Some(self.samples.file(source.file).sampled(number))
    }

    /// What a backslash is in a session's literals.
    #[must_use]
    pub fn backslash(&self, as_it_is: bool) -> Backslash {
        Backslash::of(self.is_mysql, as_it_is)
    }

    /// Appends what a value was drawn as last, in quotes; that of a file as the literal that it was.
    #[inline]
    pub fn write_quoted(&self, out: &mut Vec<u8>, at: (usize, Backslash), draw: &Draw) {
        let (index, backslash) = at;
        if let Some(sampled) = self.sampled(index, draw) {
            sampled.write_literal(out, backslash);
        } else if self.quotes[index] {
            write_quoted(out, backslash.special(), |out| self.write(out, index, draw));
        } else {
            out.push(b'\'');
            self.write(out, index, draw);
            out.push(b'\'');
        }
    }

    /// Whether a value can have a backslash in it that stands in literals as the server's settings say.
    #[must_use]
    pub fn has_backslash(&self) -> bool {
        (0..self.list.len()).any(|index| can_hold(&self.list, index, b"\\"))
    }

    /// Appends what a value was drawn as last, without quotes.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, index: usize, draw: &Draw) {
        let value = &self.list[index];
        let drawn = draw.drawn(index);
        let random = drawn.cast_unsigned();
        match &value.maker {
            Maker::Clock if drawn == draw.time_s => out.extend_from_slice(&draw.time),
            Maker::Text(shape) => shape.write(out, random),
            Maker::Pattern(pattern) => write_pattern(out, pattern.as_bytes(), random),
            Maker::Join(parts) => {
                for part in parts {
                    match part {
                        JoinPart::Text(text) => out.extend_from_slice(text.as_bytes()),
                        JoinPart::Value(part) if draw.is_on(part.when) => {
                            self.write(out, part.value, draw);
                        }
                        JoinPart::Word(part) if draw.is_on(part.when) => {
                            out.extend_from_slice(part.word(draw.drawn(part.at)).as_bytes());
                        }
                        JoinPart::Value(_) | JoinPart::Word(_) => {}
                    }
                }
            }
            Maker::Sample(_) => {
                let sampled = self.sampled(index, draw);
                out.extend_from_slice(sampled.and_then(Sampled::bytes).unwrap_or_default());
            }
            _ => write_number(out, value.format, drawn),
        }
    }
}

/// Whether a text of this value can have one of the characters in it: numbers, times and base64 have none.
fn can_hold(values: &[Value], index: usize, characters: &[u8]) -> bool {
    let holds = |text: &str| text.bytes().any(|byte| characters.contains(&byte));
    match &values[index].maker {
        Maker::Text(shape) => holds(&shape.fill) || holds(&shape.alphabet),
        Maker::Pattern(pattern) => holds(pattern),
        Maker::Join(parts) => parts.iter().any(|part| match part {
            JoinPart::Text(text) => holds(text),
            JoinPart::Value(part) => can_hold(values, part.value, characters),
            JoinPart::Word(part) => part.of.iter().any(|word| holds(word)),
        }),
        _ => false,
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
        Format::Hundredths => write_hundredths(out, number),
        Format::Timestamp => write_timestamp(out, number),
    }
}

/// What one connection has drawn, and the state that its draws come from.
#[derive(Debug)]
pub struct Draw {
    connection: u64,
    operation: u64,
    next: u64,
    /// The connection's number and how many the role has, and by both the operation's number among all of the role.
    of_role: (u64, u64),
    sequence: u64,
    /// The number of the item in its repetition, from 0.
    item: i64,
    /// The number of the client, or in a role of the step of the connection.
    client: i64,
    /// One for each of the job's values: a number, or a text's random number.
    drawn: Box<[i64]>,
    /// One for each counter: the number that the operation has taken of it.
    counted: Box<[Option<i64>]>,
    /// One for each of the job's cursors: what statements write and values are bounded by.
    pub cursors: Box<[i64]>,
    /// One for each of the job's variables: what they hold.
    pub variables: Registers,
    /// Wall-clock time in seconds since 1970, UTC, for values of `clock`.
    pub unix_s: i64,
    /// The local time that was drawn last, and its text: a statement writes it with every row.
    time_s: i64,
    time: Vec<u8>,
}

impl Draw {
    /// The state of a role's connection, by its number in the role, that has drawn nothing.
    #[must_use]
    pub fn new(job: &Job, role: &Role, connection: u64) -> Self {
        let parts = [name_part(&job.step), name_part(&role.name), connection];
        let state = mix(job.seed, &parts);
        let client = match role.per {
            Per::Client => connection / u64::from(role.connections),
            Per::Step => connection,
        }
        .cast_signed();
        Self {
            connection: state,
            operation: state,
            next: 0,
            of_role: (connection, role.connections_of(job.clients)),
            sequence: connection,
            item: 0,
            client,
            variables: Registers::new(job, client),
            drawn: vec![0; job.values.len()].into_boxed_slice(),
            counted: counts(&job.values).map(|_| None).collect(),
            cursors: vec![0; job.cursors.len()].into_boxed_slice(),
            unix_s: 0,
            time_s: i64::MIN,
            time: Vec::with_capacity(TIME_BYTES_MAX),
        }
    }

    /// Begins the operation of this number, for the first time or again.
    #[inline]
    pub fn begin(&mut self, operation: u64) {
        let (connection, connections) = self.of_role;
        self.operation = mix_in(self.connection, operation);
        self.sequence = operation.wrapping_mul(connections).wrapping_add(connection);
        self.next = 0;
    }

    /// Ends the operation, for good: others may refer to what it has counted.
    #[inline]
    pub fn end(&mut self, values: &Values) {
        for (counter, counted) in values.counters.iter().zip(&mut self.counted) {
            if let Some(number) = counted.take() {
                counter.end(number);
            }
        }
    }

    /// A number below `weights` that chooses the operation's program.
    #[inline]
    #[must_use]
    pub fn choose(&self, weights: u64) -> u64 {
        let high = i64::try_from(weights).unwrap_or(i64::MAX) - 1;
        uniform(mix_in(self.operation, CHOICE), 0, high).unsigned_abs()
    }

    /// A random number for what happens beside the operation, by a part that is not a draw's number.
    #[inline]
    #[must_use]
    pub fn beside(&self, part: u64) -> u64 {
        mix_in(self.operation, part)
    }

    /// The seed of the connection's deck of this number, whatever its operations draw.
    #[must_use]
    pub fn deck(&self, number: u64) -> u64 {
        mix_in(mix_in(self.connection, name_part(DECK)), number)
    }

    /// One of `tables` for all statements of a class in this operation; `class` as [`class_part`] makes it.
    #[inline]
    #[must_use]
    pub fn table(&self, class: u64, tables: u32) -> u32 {
        let number = uniform(mix_in(self.operation, class), 0, i64::from(tables) - 1);
        u32::try_from(number).unwrap_or(0)
    }

    /// Draws a value anew.
    #[inline]
    pub fn draw(&mut self, values: &Values, index: usize) {
        self.drawn[index] = match &values.sources[index] {
            Source::Uniform(low, high) => {
                let (low, high) = (self.bound(low), self.bound(high));
                uniform(self.random(), low, high)
            }
            Source::Skewed(skewed) => skewed.number(self.random()),
            Source::Add(value, plus) => self.drawn[*value].saturating_add(*plus),
            Source::Sum(value, other) => self.drawn[*value].saturating_add(self.drawn[*other]),
            Source::Permuted(value, permutation) => permutation.number(self.drawn[*value]),
            Source::Computed(formula) => formula.number(&|value| self.drawn[value]),
            Source::Sequence(sequence) => {
                let turn = (self.sequence / sequence.each).cast_signed();
                sequence
                    .first
                    .wrapping_add(turn.wrapping_mul(sequence.step))
            }
            Source::Count(counter) => {
                let take = || values.counters[*counter].take();
                *self.counted[*counter].get_or_insert_with(take)
            }
            Source::Newest(counter) => values.counters[*counter].newest(),
            Source::Item(first) => first.wrapping_add(self.item),
            Source::Client(of) => of.first.wrapping_add(self.client.wrapping_mul(of.step)),
            Source::Random => self.random().cast_signed(),
            Source::Clock => self.read_clock(values.utc_offset_s),
            Source::Constant(number) => *number,
            Source::Sample(source) => {
                let random = mix_in(self.operation, source.part);
                let first = values.samples.file(source.file).draw(random);
                ((first + source.column) as u64).cast_signed()
            }
        };
    }

    /// Computes an expression with what the variables hold.
    ///
    /// # Errors
    /// What cannot be computed.
    #[inline]
    pub fn evaluate(&mut self, expression: &Expression) -> Outcome {
        if let Expression::Drawn(value) = expression {
            return Ok(Scalar::Integer(self.drawn[*value]));
        }
        let (operation, next) = (self.operation, &mut self.next);
        let mut random = || {
            let random = mix_in(operation, *next);
            *next += 1;
            random
        };
        expression.evaluate(&mut self.variables, &mut random)
    }

    /// Begins an item of a repetition, by its number from 0: draws the values that each item has of its own.
    #[inline]
    pub fn begin_item(&mut self, values: &Values, number: u32, draws: &[usize]) {
        self.item = i64::from(number);
        for index in draws {
            self.draw(values, *index);
        }
    }

    /// Ends a repetition.
    #[inline]
    pub fn end_items(&mut self) {
        self.item = 0;
    }

    /// What a value was drawn as last.
    #[inline]
    #[must_use]
    pub fn drawn(&self, index: usize) -> i64 {
        self.drawn[index]
    }

    /// Whether a part stands whose condition is that value: it always does without one.
    #[inline]
    fn is_on(&self, condition: Option<usize>) -> bool {
        condition.is_none_or(|index| self.drawn[index] != 0)
    }

    #[inline]
    fn read_clock(&mut self, utc_offset_s: i64) -> i64 {
        let now_s = self.unix_s + utc_offset_s;
        if now_s != self.time_s {
            self.time_s = now_s;
            self.time.clear();
            write_timestamp(&mut self.time, now_s);
        }
        now_s
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

#[cfg(test)]
mod tests;
