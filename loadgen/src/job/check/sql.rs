//! What makes a job's cursors, statements and programs valid.

use super::{Check, ensure, ensure_index, ensure_names};
use crate::job::{
    Bound, Instruction, Job, Maker, Piece, Protocol, ResultForm, Scope, Statement, declared_oid,
};
use std::collections::BTreeSet;

/// Parameters of one statement in either protocol: the count is 16 bits wide.
const PARAMETERS_MAX: usize = 65_535;

/// Bytes of text that a statement may repeat: a slip such as a repeat of 4 billion ends here.
const REPEAT_MAX: u32 = 1_000_000;

/// The longest sleep of a program: a day.
const SLEEP_US_MAX: usize = 86_400_000_000;

impl Job {
    pub(super) fn check_cursors(&self) -> Check {
        ensure_names(
            "cursors",
            self.cursors.iter().map(|cursor| cursor.name.as_str()),
        )?;
        for (index, cursor) in self.cursors.iter().enumerate() {
            let key = format!("cursors[{index}]");
            ensure(
                !cursor.start.trim().is_empty() && !cursor.start.contains('\0'),
                format!("{key}.start"),
                "give the SQL that reads it, without NUL",
            )?;
            if let Some(on) = cursor.on {
                ensure_index(on, self.statements.len(), format!("{key}.on"), "statements")?;
            }
            ensure(
                cursor.connect == self.cursors[0].connect,
                format!("{key}.connect"),
                "one connection of a client reads all of its cursors; give all of them the same",
            )?;
        }
        Ok(())
    }

    /// Checks that what a queued cursor waits for is the one statement of a role of a pair.
    pub(super) fn check_queued(&self) -> Check {
        for (index, cursor) in self.cursors.iter().enumerate() {
            let fits = cursor.on.is_some_and(|on| self.queued_role(on).is_some());
            ensure(
                !cursor.queued || fits,
                format!("cursors[{index}].queued"),
                "needs an `on` that is the one statement of a role of a tied pair; leave it out",
            )?;
        }
        Ok(())
    }

    pub(super) fn check_statements(&self) -> Check {
        ensure_names(
            "statements",
            self.statements
                .iter()
                .map(|statement| statement.name.as_str()),
        )?;
        for (index, statement) in self.statements.iter().enumerate() {
            let key = format!("statements[{index}]");
            ensure(
                !statement.pieces.is_empty(),
                format!("{key}.pieces"),
                "is empty; give the SQL",
            )?;
            ensure(
                statement.class.as_deref() != Some(""),
                format!("{key}.class"),
                "is empty; give it a name, or leave it out",
            )?;
            self.check_progress(index, &key)?;
            let pieces = format!("{key}.pieces");
            self.check_pieces(&statement.pieces, &pieces, false)?;
            let bound = self.bound_pieces(index);
            let parameters = bound.iter().map(Piece::parameters);
            let parameters = parameters.fold(0, usize::saturating_add);
            ensure(
                statement.protocol == Protocol::Simple || parameters <= PARAMETERS_MAX,
                format!("{key}.pieces"),
                format!("{parameters} parameters; at most {PARAMETERS_MAX}, or use `simple`"),
            )?;
            ensure(
                !self.engine.is_mysql()
                    || matches!(statement.protocol, Protocol::Simple | Protocol::Prepared),
                format!("{key}.protocol"),
                format!(
                    "the engine `{}` has no such protocol; give `simple` or `prepared`",
                    self.engine.name()
                ),
            )?;
            self.check_script_of(statement, &key)?;
            self.check_types(statement, parameters, &key)?;
        }
        Ok(())
    }

    /// Checks the types that a statement declares for so many parameters, and whether it can be sent as
    /// libpq does and answered in the form that it asks for.
    fn check_types(&self, statement: &Statement, parameters: usize, key: &str) -> Check {
        let types = statement.types.len();
        let binds = !self.engine.is_mysql()
            && matches!(statement.protocol, Protocol::Extended | Protocol::Prepared);
        ensure(
            match statement.protocol {
                Protocol::Execute => types == parameters,
                _ if binds => types == parameters || types == 0,
                _ => types == 0,
            },
            format!("{key}.types"),
            format!(
                "{types} types for {parameters} values; give one for each with `execute`, one for each or none with PostgreSQL's `extended` and `prepared`, else none"
            ),
        )?;
        for (index, name) in statement.types.iter().enumerate().filter(|_| binds) {
            let known = declared_oid(name);
            ensure(
                known.is_ok(),
                format!("{key}.types[{index}]"),
                format!(
                    "no type `{name}`; give one of {}",
                    known.err().unwrap_or_default()
                ),
            )?;
        }
        ensure(
            binds || !statement.libpq,
            format!("{key}.libpq"),
            "is for `extended` and `prepared` of the engine `postgres`; leave it out",
        )?;
        ensure(
            binds || statement.results == ResultForm::Binary,
            format!("{key}.results"),
            "is for `extended` and `prepared` of the engine `postgres`; leave it out",
        )
    }

    /// Checks what a statement's notices are searched for.
    fn check_progress(&self, statement: usize, key: &str) -> Check {
        let Some(text) = &self.statements[statement].progress else {
            return Ok(());
        };
        let key = format!("{key}.progress");
        ensure(
            !text.is_empty() && !text.contains('\0'),
            key.clone(),
            "give the text in front of the number of rows",
        )?;
        ensure(
            !self.engine.is_mysql(),
            key.clone(),
            "is for the engine `postgres`, whose statements send notices while they run; leave it out",
        )?;
        let gathered = self.programs.iter().any(|program| {
            program.code.contains(&Instruction::Pipeline)
                && program.code.contains(&Instruction::Send(statement))
        });
        ensure(
            !gathered,
            key,
            "notices of a pipeline are not of one statement; leave it out, or send it alone",
        )
    }

    /// Checks pieces, and those of repetitions.
    fn check_pieces(&self, pieces: &[Piece], key: &str, repeated: bool) -> Check {
        for (index, piece) in pieces.iter().enumerate() {
            let key = format!("{key}[{index}]");
            match piece {
                Piece::Text(text) => {
                    ensure(!text.contains('\0'), key, "SQL cannot hold a NUL")?;
                }
                Piece::Value(value) => {
                    ensure_index(*value, self.values.len(), key.clone(), "values")?;
                    self.check_written(*value, &key, repeated)?;
                }
                Piece::Cursor(cursor) => {
                    ensure_index(*cursor, self.cursors.len(), key, "cursors")?;
                }
                Piece::Variable(variable) => {
                    self.check_variable(*variable, key)?;
                }
                Piece::Table(name) | Piece::Number(name) => ensure(
                    self.tables.contains_key(name),
                    key,
                    format!("`tables` has no `{name}`; add its count"),
                )?,
                Piece::Repeat { repeat, pieces, .. } => {
                    ensure(
                        (1..=REPEAT_MAX).contains(repeat),
                        format!("{key}.repeat"),
                        format!("give 1 to {REPEAT_MAX}"),
                    )?;
                    self.check_pieces(pieces, &format!("{key}.pieces"), true)?;
                }
            }
        }
        Ok(())
    }

    /// Checks that a value, with what it is computed from, can stand in a statement, or in a repetition there.
    fn check_written(&self, value: usize, key: &str, repeated: bool) -> Check {
        let bases = self.bases(value).unwrap_or_default();
        for value in std::iter::once(value).chain(bases) {
            let value = &self.values[value];
            let row = matches!(value.maker, Maker::Row(_));
            ensure(!row, key, "a `row` value is for fills only")?;
            ensure(
                !(repeated && matches!(value.maker, Maker::Sample(_))),
                key,
                format!(
                    "`{}` is a sample, the same in all items; write them out",
                    value.name
                ),
            )?;
            let stuck = matches!(value.maker, Maker::Sequence(_)) && value.per == Scope::Item;
            ensure(
                !(repeated && stuck),
                key,
                format!(
                    "`{}` counts operations, so all items would have the same; give it `per` statement if that is meant",
                    value.name
                ),
            )?;
        }
        Ok(())
    }

    pub(super) fn check_programs(&self) -> Check {
        ensure_names(
            "programs",
            self.programs.iter().map(|program| program.name.as_str()),
        )?;
        for (index, program) in self.programs.iter().enumerate() {
            let mut drawn = BTreeSet::new();
            let (mut sends, mut asleep) = (0, Vec::new());
            for (line, instruction) in program.code.iter().enumerate() {
                let key = format!("programs[{index}].code[{line}]");
                match *instruction {
                    Instruction::Draw(value) => {
                        ensure_index(value, self.values.len(), key.clone(), "values")?;
                        ensure(
                            self.values[value].per == Scope::Transaction,
                            &key,
                            "only a value `per` transaction is drawn by a program",
                        )?;
                        self.check_drawn(value, &drawn, &key)?;
                        drawn.insert(value);
                    }
                    Instruction::Send(statement) => {
                        ensure_index(statement, self.statements.len(), key.clone(), "statements")?;
                        for value in self.values_of(statement) {
                            if self.values[value].per == Scope::Transaction {
                                ensure(
                                    drawn.contains(&value),
                                    &key,
                                    format!(
                                        "`{}` is `per` transaction; draw it before",
                                        self.values[value].name
                                    ),
                                )?;
                            }
                            self.check_drawn(value, &drawn, &key)?;
                        }
                        sends += 1;
                    }
                    Instruction::Sleep(us) => {
                        asleep.push(line);
                        ensure(
                            us <= SLEEP_US_MAX,
                            key,
                            format!("sleeps {us} µs; at most {SLEEP_US_MAX}, a day"),
                        )?;
                    }
                    _ => self.check_script_line(program, line, &key)?,
                }
            }
            if !self.sleeps_anywhere(index) {
                for line in asleep {
                    check_sleep(
                        &program.code,
                        line,
                        format!("programs[{index}].code[{line}]"),
                    )?;
                }
            }
            ensure(
                sends > 0 || self.is_script(index),
                format!("programs[{index}].code"),
                "sends no statement; add a `send`",
            )?;
        }
        Ok(())
    }

    /// Refuses a value that adds to one of scope `transaction` that the program has not drawn.
    fn check_drawn(&self, value: usize, drawn: &BTreeSet<usize>, key: &str) -> Check {
        for base in self.bases(value).unwrap_or_default() {
            ensure(
                self.values[base].per != Scope::Transaction || drawn.contains(&base),
                key,
                format!(
                    "`{}` is `per` transaction; draw it before",
                    self.values[base].name
                ),
            )?;
        }
        Ok(())
    }

    /// The values that a statement writes, each once.
    #[must_use]
    pub fn values_of(&self, statement: usize) -> BTreeSet<usize> {
        let mut values = BTreeSet::new();
        walk(&self.statements[statement].pieces, &mut |piece| {
            if let Piece::Value(index) = piece {
                values.insert(*index);
            }
        });
        values
    }

    /// The cursors that a statement needs: as literals, or as bounds of its values.
    #[must_use]
    pub fn cursors_of(&self, statement: usize) -> BTreeSet<usize> {
        let mut cursors = BTreeSet::new();
        walk(&self.statements[statement].pieces, &mut |piece| {
            if let Piece::Cursor(index) = piece {
                cursors.insert(*index);
            }
        });
        for value in self.values_of(statement) {
            let bases = self.bases(value).unwrap_or_default();
            for index in std::iter::once(value).chain(bases) {
                if let Maker::Uniform(low, high) = self.values[index].maker {
                    for bound in [low, high] {
                        if let Bound::Cursor(bound) = bound {
                            cursors.insert(bound.cursor);
                        }
                    }
                }
            }
        }
        cursors
    }

    /// Whether a statement needs a cursor or moves one.
    #[must_use]
    pub fn uses_cursors(&self, statement: usize) -> bool {
        let mut cursors = self.cursors.iter();
        cursors.any(|cursor| cursor.on == Some(statement)) || !self.cursors_of(statement).is_empty()
    }

    /// The tables that a statement names.
    #[must_use]
    pub fn tables_of(&self, statement: usize) -> BTreeSet<&str> {
        let mut tables = BTreeSet::new();
        walk(&self.statements[statement].pieces, &mut |piece| {
            if let Piece::Table(name) | Piece::Number(name) = piece {
                tables.insert(name.as_str());
            }
        });
        tables
    }

    /// How many tables there are of a name that `tables` has.
    #[must_use]
    pub fn table_count(&self, of: &str) -> u32 {
        self.tables[of].max(1)
    }

    /// The full name of a table; its number counts from 0, its name from 1. One without a number is called as `of` says.
    #[must_use]
    pub fn table_name(&self, of: &str, number: u32) -> String {
        if self.tables.get(of) == Some(&0) {
            return of.to_owned();
        }
        let digits = self.table_digits.get(of).copied().unwrap_or(1);
        format!("{of}{:0digits$}", number + 1)
    }
}

/// Visits every piece, those of repetitions too.
fn walk<'a>(pieces: &'a [Piece], visit: &mut impl FnMut(&'a Piece)) {
    for piece in pieces {
        visit(piece);
        if let Piece::Repeat { pieces, .. } = piece {
            walk(pieces, visit);
        }
    }
}

/// A sleep is within a program: before it, it would be lateness; after it, pace.
fn check_sleep(code: &[Instruction], line: usize, key: String) -> Check {
    let sends = |part: &[Instruction]| part.iter().any(|one| matches!(one, Instruction::Send(_)));
    let within = sends(&code[..line]) && sends(&code[line + 1..]);
    ensure(within, key, "a `sleep` stands between two `send`s")
}
