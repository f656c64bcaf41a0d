//! A statement as workers send it: for every table that it may go to, with what its replies are taken for.

use crate::draw::class_part;
use crate::job::Job;
use crate::statement::Statement;
use crate::wire::Keep;
use std::sync::Arc;

/// A column's name and the variable that takes it; none where such a column fails the step.
pub type Column = (Box<[u8]>, Option<usize>);

/// One statement, for all tables that it may go to.
#[derive(Debug)]
pub struct StatementCode {
    /// By the table's number; one entry where it names no table.
    pub(super) by_table: Box<[Statement]>,
    /// What its class draws tables with.
    pub class: u64,
    /// The cursors that it needs.
    pub needs: Box<[usize]>,
    /// The cursors that its generation advances.
    pub advances: Box<[usize]>,
    /// What stands in its notices in front of the rows that it has done.
    pub progress: Option<Arc<[u8]>>,
    /// Which results are kept for variables.
    pub keep: Keep,
    /// The columns that variables take.
    pub into: Box<[Column]>,
    /// What stands in front of the columns' names in those of variables.
    pub prefix: String,
    /// Where it was written.
    pub place: String,
}

impl StatementCode {
    /// Compiles a valid job's statement.
    pub(super) fn new(job: &Job, index: usize) -> Self {
        let statement = &job.statements[index];
        let cursors = 0..job.cursors.len();
        let advances: Box<[usize]> = cursors
            .filter(|cursor| job.cursors[*cursor].on == Some(index))
            .collect();
        let mut needs = job.cursors_of(index);
        needs.extend(&advances);
        Self {
            by_table: match job.tables_of(index).first() {
                Some(of) => (0..job.table_count(of))
                    .map(|number| Statement::compile(job, index, &job.table_name(of, number)))
                    .collect(),
                None => [Statement::compile(job, index, "")].into(),
            },
            class: class_part(statement.class.as_ref().unwrap_or(&statement.name)),
            needs: needs.into_iter().collect(),
            advances,
            progress: statement
                .progress
                .as_deref()
                .map(|text| Arc::from(text.as_bytes())),
            keep: match &statement.into {
                None => Keep::Nothing,
                Some(into) if into.every => Keep::Every,
                Some(_) => Keep::Last,
            },
            into: statement
                .into
                .iter()
                .flat_map(|into| &into.columns)
                .map(|(name, variable)| (name.as_bytes().into(), *variable))
                .collect(),
            prefix: statement
                .into
                .as_ref()
                .map_or_else(String::new, |into| into.prefix.clone()),
            place: statement.place.as_ref().unwrap_or(&statement.name).clone(),
        }
    }
}
