//! What a connection's variables hold.

use super::scatter::Scatter;
use super::{Fault, Outcome, Scalar};
use crate::job::{Expression, Function, Initial, Job, SeedOf};
use crate::value::{Distribution, Skewed, mix, name_part};
use std::io::Write;

/// What `debug` shows at most, of each connection: it stands in loops that run a million times a second.
const SHOWN_MAX: u32 = 1000;

/// One of a job's seeds, which hashes and permutations have where a script gives them none.
const DEFAULT_SEED: &str = "default seed of scripts";

/// The variables of one connection, and what it keeps of computations.
#[derive(Debug)]
pub struct Registers {
    list: Box<[Register]>,
    slots: Box<[Slot]>,
    shown: u32,
}

/// One variable.
#[derive(Debug, Default)]
struct Register {
    value: Scalar,
    form: Form,
    /// The text that it was given, or of another time; its room is kept.
    text: Vec<u8>,
}

/// How a variable was given what it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Form {
    /// As a value.
    #[default]
    Value,
    /// As a text, which nobody has computed with.
    Text,
    /// As a text that has been taken for a value.
    Taken,
    /// Not at all yet; the text is what stands for it in a statement's text.
    Unset,
}

/// What was computed of the last parameters of a distribution or permutation.
#[derive(Debug, Default)]
enum Slot {
    #[default]
    Empty,
    Skewed(Distribution, Skewed),
    Scatter(Scatter),
}

impl Registers {
    /// Makes those of a client's connection, as they are before anything is assigned.
    #[must_use]
    pub fn new(job: &Job, client: i64) -> Self {
        let mut registers = Self {
            list: job.variables.iter().map(|_| Register::default()).collect(),
            slots: (0..slots(job)).map(|_| Slot::default()).collect(),
            shown: 0,
        };
        for (index, variable) in job.variables.iter().enumerate() {
            match &variable.initial {
                Some(Initial::Text(text)) => registers.set_text(index, text.as_bytes()),
                Some(initial) => registers.set(index, first(job, initial, client)),
                None => {
                    registers.set_text(index, format!(":{}", variable.name).as_bytes());
                    registers.list[index].form = Form::Unset;
                }
            }
        }
        registers
    }

    /// Whether a variable has been given anything.
    #[inline]
    #[must_use]
    pub fn is_set(&self, index: usize) -> bool {
        self.list[index].form != Form::Unset
    }

    /// Gives a variable a value.
    #[inline]
    pub fn set(&mut self, index: usize, value: Scalar) {
        let register = &mut self.list[index];
        (register.value, register.form) = (value, Form::Value);
    }

    /// Gives a variable a text.
    pub fn set_text(&mut self, index: usize, text: &[u8]) {
        let register = &mut self.list[index];
        register.text.clear();
        register.text.extend_from_slice(text);
        register.form = Form::Text;
    }

    /// Returns what can be computed with.
    ///
    /// # Errors
    /// A text that looks like no value, and a variable that was given nothing.
    #[inline]
    pub fn value(&mut self, index: usize) -> Outcome {
        let register = &mut self.list[index];
        if matches!(register.form, Form::Text | Form::Unset) {
            register.take(index)?;
        }
        Ok(register.value)
    }

    /// Returns the value where it was given as one; null where nothing was given, none of a text.
    #[inline]
    #[must_use]
    pub fn given(&self, index: usize) -> Option<Scalar> {
        let register = &self.list[index];
        match register.form {
            Form::Value => Some(register.value),
            Form::Unset => Some(Scalar::Null),
            Form::Text | Form::Taken => None,
        }
    }

    /// Appends what a variable holds, as text; its name where it was given nothing, as a script has it.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, index: usize) {
        let register = &self.list[index];
        match register.form {
            Form::Value => register.value.write(out),
            Form::Text | Form::Taken | Form::Unset => out.extend_from_slice(&register.text),
        }
    }

    /// Returns the whole number that a variable's text begins with, as C's `atoi` takes it; none where it begins with none.
    #[must_use]
    pub fn leading_integer(&mut self, index: usize) -> Option<i64> {
        let register = &mut self.list[index];
        if register.form == Form::Value {
            register.text.clear();
            register.value.write(&mut register.text);
        }
        let text = register.text.trim_ascii_start();
        let sign = if text.starts_with(b"-") { -1 } else { 1 };
        let signs = usize::from(text.starts_with(b"-") || text.starts_with(b"+"));
        let digits = text[signs..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let number = digits.fold(None, |number: Option<i64>, digit| {
            let number = number.unwrap_or(0).saturating_mul(10);
            Some(number.saturating_add(i64::from(digit - b'0')))
        });
        number.map(|number| sign * number)
    }

    /// Draws an integer; what a distribution needs is computed anew only where it is another one than the last time.
    pub(super) fn skewed(&mut self, slot: usize, wanted: &Distribution, random: u64) -> i64 {
        if let Slot::Skewed(kept, skewed) = &mut self.slots[slot] {
            if kept != wanted {
                (*kept, *skewed) = (*wanted, Skewed::new(wanted, 0));
            }
            return skewed.number(random);
        }
        let skewed = Skewed::new(wanted, 0);
        let number = skewed.number(random);
        self.slots[slot] = Slot::Skewed(*wanted, skewed);
        number
    }

    /// Returns a number's place in a permutation, which is made anew only where it is another one than the last time.
    pub(super) fn permuted(&mut self, slot: usize, number: i64, size: i64, seed: i64) -> i64 {
        if let Slot::Scatter(scatter) = &self.slots[slot]
            && scatter.key == (size, seed)
        {
            return scatter.at(number);
        }
        let scatter = Scatter::new(size, seed);
        let place = scatter.at(number);
        self.slots[slot] = Slot::Scatter(scatter);
        place
    }

    /// Shows a value on standard error, with the place that wants it shown.
    #[cold]
    pub(super) fn show(&mut self, place: &str, value: Scalar) {
        if self.shown > SHOWN_MAX {
            return;
        }
        self.shown += 1;
        let mut line = format!("debug({place}): ").into_bytes();
        if self.shown > SHOWN_MAX {
            line.extend_from_slice(b"nothing more is shown of this connection");
        } else if value == Scalar::Null {
            line.extend_from_slice(b"null");
        } else {
            line.extend_from_slice(value.kind().as_bytes());
            line.push(b' ');
            value.write(&mut line);
        }
        line.push(b'\n');
        // Where nobody reads it, nobody misses it.
        let _ = std::io::stderr().lock().write_all(&line);
    }
}

impl Register {
    #[cold]
    fn take(&mut self, index: usize) -> Result<(), Box<Fault>> {
        if self.form == Form::Unset {
            return Err(Box::new(Fault::Undefined(index)));
        }
        let text = str::from_utf8(&self.text).unwrap_or("\u{fffd}");
        let read = Scalar::read(text);
        let malformed = |problem| Box::new(Fault::Malformed(index, text.to_owned(), problem));
        self.value = read.map_err(malformed)?;
        self.form = Form::Taken;
        Ok(())
    }
}

/// Returns what a variable holds at first, unless it is a text.
fn first(job: &Job, initial: &Initial, client: i64) -> Scalar {
    match initial {
        Initial::Integer(number) => Scalar::Integer(*number),
        Initial::Double(number) => Scalar::Double(*number),
        Initial::Boolean(truth) => Scalar::Boolean(*truth),
        Initial::Client(numbered) => Scalar::Integer(numbered.first.wrapping_add(client)),
        Initial::Seed(SeedOf::Random) => Scalar::Integer(job.seed.cast_signed()),
        Initial::Seed(SeedOf::Default) => {
            Scalar::Integer(mix(job.seed, &[name_part(DEFAULT_SEED)]).cast_signed())
        }
        Initial::Text(_) => Scalar::Null,
    }
}

/// Returns what a variable always is on all connections: nothing is ever assigned to it.
pub(super) fn constant_of(job: &Job, index: usize) -> Option<Scalar> {
    let mut assigned = job.assignments.iter().map(|assignment| assignment.variable);
    let into = job.statements.iter().filter_map(|one| one.into.as_ref());
    let mut stored = into.flat_map(|into| into.columns.values());
    if assigned.any(|other| other == index) || stored.any(|other| *other == Some(index)) {
        return None;
    }
    match &job.variables[index].initial {
        None | Some(Initial::Client(_)) => None,
        Some(Initial::Text(text)) => Scalar::read(text).ok(),
        Some(initial) => Some(first(job, initial, 0)),
    }
}

/// How many distributions and permutations the job's expressions have.
fn slots(job: &Job) -> usize {
    let mut count = 0;
    let mut visit = |part: &Expression| {
        count += usize::from(matches!(
            part,
            Expression::Call(
                Function::Permute
                    | Function::RandomExponential
                    | Function::RandomGaussian
                    | Function::RandomZipfian,
                _
            )
        ));
    };
    for assignment in &job.assignments {
        assignment.expression.walk(&mut visit);
    }
    for branch in &job.branches {
        branch.unless.walk(&mut visit);
    }
    count
}
