//! What a role's connections do as they begin and end, where they are made anew after each pause.

use crate::draw::Draw;
use crate::job::{Job, Protocol, Role};
use crate::statement::Statement;

/// How a role's connections are made anew.
#[derive(Debug)]
pub struct Renewal {
    job: Job,
    role: Role,
    /// How often each prepared statement with values is bound first.
    binds: u64,
    /// What is asked last.
    pub ask: String,
}

impl Renewal {
    /// How a role of a valid job does it; none where its connections last.
    pub(super) fn of(job: &Job, role: &Role) -> Option<Self> {
        let renew = role.renew.as_ref()?;
        let prepared = |index: &usize| {
            let statement = Statement::compile(job, *index, "");
            let values = statement.protocol == Protocol::Prepared && !statement.sources.is_empty();
            values.then_some(statement.wire_name)
        };
        let name = job.statements_of(role).iter().find_map(prepared);
        Some(Self {
            job: job.clone(),
            role: role.clone(),
            binds: renew.binds.into(),
            ask: renew.ask.replace("dyno_prepared", &name.unwrap_or_default()),
        })
    }

    /// Draws for each bind of a new session, the `session`th of a connection, what an operation of its own would draw: those
    /// that are timed count from 0, these down from the greatest number.
    pub fn draws(&self, connection: u64, session: u64, mut bind: impl FnMut(&mut Draw) -> bool) {
        let mut draw = Draw::new(&self.job, &self.role, connection);
        for number in 0..self.binds {
            draw.begin(u64::MAX - session * self.binds - number);
            if !bind(&mut draw) {
                return;
            }
        }
    }
}
