//! What makes a job's variables, and the programs that compute with them, valid.

use super::{Check, ensure, ensure_index, ensure_names, refuse};
use crate::job::{Expression, Initial, Instruction, Job, Piece, Program, Protocol, Statement};

impl Job {
    pub(super) fn check_variables(&self) -> Check {
        let names = self.variables.iter().map(|variable| variable.name.as_str());
        ensure_names("variables", names)?;
        for (index, variable) in self.variables.iter().enumerate() {
            let nul = matches!(&variable.initial, Some(Initial::Text(text)) if text.contains('\0'));
            let key = format!("variables[{index}].initial");
            ensure(!nul, key, "a text cannot hold a NUL")?;
        }
        for (index, assignment) in self.assignments.iter().enumerate() {
            let key = format!("assignments[{index}]");
            self.check_variable(assignment.variable, format!("{key}.variable"))?;
            let key = format!("{key}.expression");
            if let Expression::Drawn(value) = assignment.expression {
                ensure_index(value, self.values.len(), key.clone(), "values")?;
                ensure(
                    !self.values[value].maker.is_text(),
                    key,
                    "is a text; only numbers can be computed with",
                )?;
                continue;
            }
            self.check_expression(&assignment.expression, &key)?;
        }
        for (index, branch) in self.branches.iter().enumerate() {
            self.check_expression(&branch.unless, &format!("branches[{index}].unless"))?;
        }
        for (index, sleep) in self.sleeps.iter().enumerate() {
            self.check_variable(sleep.variable, format!("sleeps[{index}].variable"))?;
        }
        Ok(())
    }

    pub(super) fn check_variable(&self, index: usize, key: String) -> Check {
        ensure_index(index, self.variables.len(), key, "variables")
    }

    fn check_expression(&self, expression: &Expression, key: &str) -> Check {
        let mut outcome = Ok(());
        expression.walk(&mut |part| match (&outcome, part) {
            (Ok(()), Expression::Variable(index)) => {
                outcome = self.check_variable(*index, key.to_owned());
            }
            (Ok(()), Expression::Drawn(_)) => {
                outcome = Err(refuse(key, "a drawn value is the whole of an assignment"));
            }
            _ => {}
        });
        outcome
    }

    /// Checks where the columns of a statement go, and that its variables can be sent.
    pub(super) fn check_script_of(&self, statement: &Statement, key: &str) -> Check {
        let has_variables = has_variables(&statement.pieces);
        ensure(
            statement.protocol != Protocol::Execute || !(has_variables || statement.into.is_some()),
            format!("{key}.protocol"),
            "`execute` has neither variables nor `into`; give `simple`, `extended` or `prepared`",
        )?;
        for (name, variable) in statement.into.iter().flat_map(|into| &into.columns) {
            if let Some(variable) = variable {
                self.check_variable(*variable, format!("{key}.into.columns.{name}"))?;
            }
        }
        Ok(())
    }

    /// Checks an instruction that only scripts have, by its place in the program.
    pub(super) fn check_script_line(&self, program: &Program, line: usize, key: &str) -> Check {
        let forward = |to: usize| {
            ensure(
                (line + 1..=program.code.len()).contains(&to),
                key,
                format!(
                    "goes to instruction {to}; give one further down, at most {}, the end",
                    program.code.len()
                ),
            )
        };
        let key = key.to_owned();
        match program.code[line] {
            Instruction::Set(index) => {
                ensure_index(index, self.assignments.len(), key, "assignments")
            }
            Instruction::Unless(index) => {
                ensure_index(index, self.branches.len(), key.clone(), "branches")?;
                forward(self.branches[index].to)
            }
            Instruction::Jump(to) => forward(to),
            Instruction::Rest(index) => ensure_index(index, self.sleeps.len(), key, "sleeps"),
            Instruction::Pipeline | Instruction::Sync | Instruction::Flush => {
                ensure(
                    !self.engine.is_mysql(),
                    key.clone(),
                    format!("the engine `{}` has no pipelines", self.engine.name()),
                )?;
                let mut code = program.code.iter();
                let simple = code.any(|instruction| {
                    matches!(instruction, Instruction::Send(index) if self.is_text(*index))
                });
                ensure(
                    !simple,
                    key,
                    "cannot use pipeline mode with the simple query protocol; give all statements `extended` or `prepared`",
                )
            }
            Instruction::Draw(_)
            | Instruction::Send(_)
            | Instruction::Sleep(_)
            | Instruction::RolledBack => Ok(()),
        }
    }

    /// Whether a statement is sent as a text, which pipelines do not take.
    fn is_text(&self, statement: usize) -> bool {
        let protocol = self.statements.get(statement).map(|one| one.protocol);
        matches!(protocol, Some(Protocol::Simple | Protocol::Execute))
    }

    /// Whether a program computes, branches or pipelines, sends what uses variables, or sends nothing and sleeps.
    #[must_use]
    pub fn is_script(&self, program: usize) -> bool {
        let sleeps = |one: &Instruction| matches!(one, Instruction::Sleep(_));
        if self.sends(program) == 0 && self.programs[program].code.iter().any(sleeps) {
            return true;
        }
        let mut code = self.programs[program].code.iter();
        code.any(|instruction| match instruction {
            Instruction::Send(index) => {
                let statement = &self.statements[*index];
                statement.into.is_some() || has_variables(&statement.pieces)
            }
            other => other.is_of_scripts(),
        })
    }

    /// Whether results of a role's statements are kept: for variables, or to count the rows of pipelines.
    #[must_use]
    pub fn takes_results(&self, role: usize) -> bool {
        let programs = self.roles[role].programs();
        let mut code = programs.flat_map(|program| &self.programs[program].code);
        code.any(|instruction| match instruction {
            Instruction::Send(statement) => self.statements[*statement].into.is_some(),
            other => *other == Instruction::Pipeline,
        })
    }

    /// Whether a program's sleeps may stand anywhere: it is a script, or was written as one.
    pub(super) fn sleeps_anywhere(&self, program: usize) -> bool {
        let mut code = self.programs[program].code.iter();
        let placed = code.any(|instruction| {
            matches!(instruction, Instruction::Send(index) if self.statements[*index].place.is_some())
        });
        placed || self.is_script(program)
    }
}

/// Whether pieces have variables, those of repetitions too.
pub(super) fn has_variables(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Variable(_) => true,
        Piece::Repeat { pieces, .. } => has_variables(pieces),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use crate::job::Job;
    use serde_json::{Value as Json, json};

    /// A script of two statements, and its change.
    fn refused(change: impl FnOnce(&mut Json)) -> String {
        let path = format!("{}/contract/job-script.json", env!("CARGO_MANIFEST_DIR"));
        let mut job: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        change(&mut job);
        Job::parse(&job.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn a_script_that_points_nowhere_is_refused_with_the_key() {
        let code = |line: Json| refused(|job| job["programs"][0]["code"][1] = line);
        for (instruction, key) in [
            (json!(["set", 99]), "99 is not an index of `assignments`"),
            (json!(["unless", 99]), "99 is not an index of `branches`"),
            (json!(["rest", 99]), "99 is not an index of `sleeps`"),
            (
                json!(["jump", 1]),
                "goes to instruction 1; give one further down",
            ),
            (json!(["jump", 999]), "goes to instruction 999"),
            (json!(["shell", 0]), "no instruction `shell`"),
        ] {
            let refused = code(instruction);
            assert!(
                refused.contains("programs[0].code[1]") && refused.contains(key),
                "{refused}"
            );
        }
        for (path, key) in [
            ("/assignments/0/variable", "`assignments[0].variable`: 99"),
            ("/sleeps/0/variable", "`sleeps[0].variable`: 99"),
        ] {
            let refused = refused(|job| *job.pointer_mut(path).unwrap() = 99.into());
            assert!(refused.contains(key), "{refused}");
        }
        for (expression, key) in [
            (json!(["drawn", 99]), "99 is not an index of `values`"),
            (json!(["not", ["drawn", 0]]), "the whole of an assignment"),
        ] {
            let refused = refused(|job| job["assignments"][0]["expression"] = expression);
            assert!(refused.contains(key), "{refused}");
        }
        let refused =
            refused(|job| job["branches"][0]["unless"] = json!(["not", ["variable", 99]]));
        assert!(refused.contains("`branches[0].unless`: 99 is not an index of `variables`"));
    }

    #[test]
    fn pipelines_are_for_the_extended_protocols_of_postgresql() {
        let pipeline = json!([["pipeline", 0], ["send", 0], ["flush", 0]]);
        let simple = refused(|job| {
            job["programs"][0]["code"] = pipeline.clone();
            job["statements"][0] =
                json!({"name": "begin", "protocol": "simple", "pieces": ["BEGIN"]});
        });
        assert!(
            simple.contains("cannot use pipeline mode with the simple query protocol"),
            "{simple}"
        );
    }
}
