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
            ask: renew
                .ask
                .replace("dyno_prepared", &name.unwrap_or_default()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Renew;
    use std::collections::BTreeSet;

    #[test]
    fn each_session_draws_for_itself_and_again_the_same() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/contract/job-sample.json");
        let mut job = Job::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        let ask = "SELECT 1 FROM dyno_prepared".to_owned();
        job.roles[0].renew = Some(Renew { binds: 20, ask });
        let renewal = Renewal::of(&job, &job.roles[0]).unwrap();
        let drawn = |connection, session| {
            let mut numbers = Vec::new();
            renewal.draws(connection, session, |draw| {
                numbers.push(draw.choose(u64::MAX));
                true
            });
            numbers
        };
        assert_eq!(drawn(0, 3), drawn(0, 3));
        let places = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let all: BTreeSet<_> = places.iter().flat_map(|(c, s)| drawn(*c, *s)).collect();
        assert_eq!(all.len(), 80);
        assert!(!renewal.ask.contains("dyno_prepared"));
    }
}
