//! What makes a job's roles valid.

use super::{
    Check, DAY_S, JobError, ensure, ensure_index, ensure_names, ensure_positive, ensure_retry,
    refuse, session, think,
};
use crate::job::{
    Arrivals, Connect, Instruction, Job, Marks, OnLost, Pace, Per, Queue, Role, TableBy,
};
use std::collections::BTreeSet;

/// The most operations that a tied role may be ahead.
const LEAD_MAX: u64 = 65_536;

/// The most connections of one role, over all clients.
const CONNECTIONS_MAX: u64 = 100_000;

/// The most connections of one fill: each is a thread.
pub(super) const STREAMS_MAX: u32 = 64;

/// Names of roles that the generator's own events use.
const RESERVED: [&str; 2] = ["probe", "fill"];

impl Job {
    /// The index of the role of this name.
    pub(super) fn role(&self, name: &str, key: &str) -> Result<usize, JobError> {
        self.roles
            .iter()
            .position(|role| role.name == name)
            .ok_or_else(|| {
                let names: Vec<_> = self.roles.iter().map(|role| role.name.as_str()).collect();
                refuse(
                    key,
                    format!("no role is called `{name}`; there are {}", names.join(", ")),
                )
            })
    }

    /// The role that this one is tied to, in a valid job.
    #[must_use]
    pub fn tied_to(&self, role: usize) -> Option<usize> {
        match &self.roles[role].pace {
            Pace::Tied { to, .. } => self.roles.iter().position(|other| other.name == *to),
            _ => None,
        }
    }

    /// Returns the role that is tied to a role.
    #[must_use]
    pub fn tied_by(&self, role: usize) -> Option<usize> {
        (0..self.roles.len()).find(|other| self.tied_to(*other) == Some(role))
    }

    /// Tells whether a role is among those that end the step, or tied to one.
    #[must_use]
    pub fn ends_step(&self, role: usize) -> bool {
        let partners = [self.tied_to(role), self.tied_by(role)];
        let mut several = partners.into_iter().flatten().chain([role]);
        several.any(|one| self.stop.roles.contains(&self.roles[one].name))
    }

    /// The quota of a role, or of the role that it is tied to.
    #[must_use]
    pub fn quota_of(&self, role: usize) -> Option<u64> {
        self.roles[self.tied_to(role).unwrap_or(role)].quota()
    }

    /// The statements that a role's programs send, each once.
    #[must_use]
    pub fn statements_of(&self, role: &Role) -> BTreeSet<usize> {
        role.programs()
            .flat_map(|program| &self.programs[program].code)
            .filter_map(|instruction| match instruction {
                Instruction::Send(statement) => Some(*statement),
                _ => None,
            })
            .collect()
    }

    pub(super) fn check_roles(&self) -> Check {
        ensure(
            !self.roles.is_empty(),
            "roles",
            "the job has neither `roles` nor `fills`; give one of them",
        )?;
        ensure_names("roles", self.roles.iter().map(|role| role.name.as_str()))?;
        for (index, role) in self.roles.iter().enumerate() {
            let key = format!("roles[{index}]");
            ensure(
                !RESERVED.contains(&role.name.as_str()),
                format!("{key}.name"),
                format!(
                    "`{}` is taken by the generator itself; take another",
                    role.name
                ),
            )?;
            self.check_connections(role, &key)?;
            self.check_programs_of(role, &key)?;
            self.check_table(role, &key)?;
            self.check_pace(index, &key)?;
            ensure(
                role.quota() != Some(0),
                format!("{key}.stop.operations"),
                "is 0; leave the role out",
            )?;
            self.check_after(index, &key)?;
            self.check_limits(role, &key)?;
            session::check(role, &key)?;
            ensure(
                role.queue == Queue::Role
                    || matches!(
                        role.pace,
                        Pace::Closed {}
                            | Pace::Rate {
                                arrivals: Arrivals::Even | Arrivals::Poisson,
                                ..
                            }
                    ),
                format!("{key}.queue"),
                "only even and random arrivals can be dealt out; take `role`",
            )?;
            for (code_index, code) in role.on_error.retry.iter().enumerate() {
                let key = format!("{key}.on_error.retry[{code_index}]");
                ensure_retry(code, self.engine, key)?;
            }
        }
        Ok(())
    }

    fn check_limits(&self, role: &Role, key: &str) -> Check {
        if let Some(limit_ms) = role.latency_limit_ms {
            let key = format!("{key}.latency_limit_ms");
            ensure_positive(limit_ms, &key)?;
            ensure(limit_ms <= DAY_S * 1e3, key, "is more than a day")?;
        }
        ensure(
            role.on_error.tries > 0
                || role.latency_limit_ms.is_some()
                || self.stop.seconds.is_some(),
            format!("{key}.on_error.tries"),
            "is 0, without limit, which needs an end; give the role `latency_limit_ms` or the step `seconds`",
        )
    }

    fn check_connections(&self, role: &Role, key: &str) -> Check {
        let all = role.connections_of(self.clients);
        ensure(
            (1..=CONNECTIONS_MAX).contains(&all),
            format!("{key}.connections"),
            format!("{all} connections in all; give 1 to {CONNECTIONS_MAX}"),
        )
    }

    /// Whether each process has connections, and a part of all that has to end before it does.
    pub(super) fn check_segment(&self) -> Check {
        let (index, of) = (self.segment.index, self.segment.of);
        ensure(
            index < of,
            "segment",
            "`index` must be below `of`, and `of` at least 1",
        )?;
        let mut most = 1;
        for (index, role) in self.roles.iter().enumerate() {
            let (parts, key, what) = match role.per {
                Per::Client => (self.clients, "segment.of".to_owned(), "clients"),
                Per::Step => (
                    role.connections,
                    format!("roles[{index}].connections"),
                    "connections",
                ),
            };
            most = most.max(parts);
            let tied = self.tied_to(index).is_some() || self.tied_by(index).is_some();
            ensure(
                of <= parts || !(tied || self.ends_step(index)),
                key,
                format!("{of} processes for {parts} {what}; give at most one each"),
            )?;
        }
        ensure(
            of <= most,
            "segment.of",
            format!("{of} processes, some without a connection; give at most {most}"),
        )
    }

    fn check_programs_of(&self, role: &Role, key: &str) -> Check {
        let mut weights = 0;
        for (index, choice) in role.choose.iter().enumerate() {
            let key = format!("{key}.choose[{index}].program");
            ensure_index(choice.program, self.programs.len(), key, "programs")?;
            weights += u64::from(choice.weight);
        }
        ensure(
            weights > 0,
            format!("{key}.choose"),
            "chooses nothing; give a program with a weight above 0",
        )?;
        think::check(role, weights, key)?;
        self.check_marks(role, key)?;
        Self::check_renewal(role, key)?;
        let statements = self.statements_of(role);
        for choice in &role.choose {
            let program = &self.programs[choice.program];
            let clash = self.is_transaction(choice.program)
                && statements
                    .iter()
                    .any(|index| self.statements[*index].name == program.name);
            ensure(
                !clash,
                format!("programs[{}].name", choice.program),
                format!(
                    "role `{}` also counts a statement called `{}`; rename one",
                    role.name, program.name
                ),
            )?;
        }
        Ok(())
    }

    /// Marks need one connection that lasts, operations that follow each other, and a quota that holds them all.
    fn check_marks(&self, role: &Role, key: &str) -> Check {
        let Some(marks) = role.marks else {
            return Ok(());
        };
        let key = format!("{key}.marks");
        ensure_index(
            marks.program,
            self.programs.len(),
            format!("{key}.program"),
            "programs",
        )?;
        let lasting = role.connect == Connect::Once && role.on_lost == OnLost::FailStep;
        ensure(
            lasting && role.connections_of(self.clients) == 1 && role.pace == Pace::Closed {},
            &key,
            "cuts the operations of one connection that lasts, at a closed pace; leave it out",
        )?;
        let least = marks.warmup.saturating_add(Marks::BEFORE + 2);
        ensure(
            role.quota().is_some_and(|quota| quota >= least),
            key,
            format!("the role's `stop.operations` counts marks, too; give at least {least}"),
        )
    }

    /// Connections that are made anew after pauses do nothing in these.
    fn check_renewal(role: &Role, key: &str) -> Check {
        let closed = role.pace == Pace::Closed {} && !role.thinks() && role.marks.is_none();
        ensure(
            role.renew.is_none() || closed && role.connect == Connect::Once,
            format!("{key}.renew"),
            "is of connections that last, at a closed pace without think times; leave it out",
        )
    }

    /// Whether a program is timed as a whole and each of its statements for itself: it sends several, or is a script.
    #[must_use]
    pub fn is_transaction(&self, program: usize) -> bool {
        self.sends(program) > 1 || self.is_script(program)
    }

    /// How many statements a program sends.
    #[must_use]
    pub fn sends(&self, program: usize) -> usize {
        self.programs[program]
            .code
            .iter()
            .filter(|instruction| matches!(instruction, Instruction::Send(_)))
            .count()
    }

    fn check_table(&self, role: &Role, key: &str) -> Check {
        let by = role.table.as_ref().map(|table| table.by);
        if let Some(table) = &role.table {
            ensure(
                self.tables.contains_key(&table.of),
                format!("{key}.table.of"),
                format!("`tables` has no `{}`; add its count", table.of),
            )?;
        }
        for statement in self.statements_of(role) {
            let name = &self.statements[statement].name;
            let cursors = self.uses_cursors(statement);
            ensure(
                !(matches!(by, Some(TableBy::InTurn | TableBy::Uniform)) && cursors),
                format!("{key}.table.by"),
                format!(
                    "statement `{name}` has a cursor, which is read from one table; take `own` or `by_connection`"
                ),
            )?;
            for name in self.tables_of(statement) {
                let fits = role.table.as_ref().is_some_and(|table| table.of == name);
                ensure(
                    fits,
                    format!("{key}.table"),
                    format!(
                        "statement `{}` names a table of `{name}`; say which",
                        self.statements[statement].name
                    ),
                )?;
            }
            for cursor in self.cursors_of(statement) {
                let cursor = &self.cursors[cursor];
                ensure(
                    role.table.is_some() || !cursor.start.contains("{t}"),
                    format!("{key}.table"),
                    format!("cursor `{}` names the role's table; say which", cursor.name),
                )?;
            }
        }
        Ok(())
    }

    fn check_pace(&self, index: usize, key: &str) -> Check {
        let role = &self.roles[index];
        match &role.pace {
            Pace::Closed {} => Ok(()),
            Pace::Rate { arrivals, per_s } => {
                ensure_positive(*per_s, &format!("{key}.pace.per_s"))?;
                ensure(
                    self.segment.of == 1 || role.per == Per::Client || *arrivals != Arrivals::Burst,
                    format!("{key}.pace.arrivals"),
                    "bursts of a role `per` step cannot be shared by segments; use `per` client or one segment",
                )
            }
            Pace::Tied { to, lead } => {
                let key = format!("{key}.pace.to");
                let partner = self.role(to, &key)?;
                self.check_tie(index, partner, &key)?;
                ensure(
                    (1..=LEAD_MAX).contains(lead),
                    format!("roles[{index}].pace.lead"),
                    format!("give 1 to {LEAD_MAX}"),
                )
            }
        }
    }

    fn check_tie(&self, index: usize, partner: usize, key: &str) -> Check {
        let (role, other) = (&self.roles[index], &self.roles[partner]);
        ensure(
            index != partner,
            key,
            "a role cannot be tied to itself; name another",
        )?;
        ensure(
            !matches!(other.pace, Pace::Tied { .. }),
            key,
            format!(
                "`{}` is tied itself; name a role with a pace of its own",
                other.name
            ),
        )?;
        ensure(
            role.per == other.per,
            key,
            "both roles of a pair need the same `per`",
        )?;
        let tied = (0..self.roles.len()).filter(|role| self.tied_to(*role) == Some(partner));
        ensure(
            tied.count() == 1,
            key,
            format!("two roles are tied to `{}`; a pair has two", other.name),
        )?;
        ensure(
            role.quota().is_none(),
            format!("roles[{index}].stop"),
            format!("a tied role does as much as `{}`; leave it out", other.name),
        )?;
        ensure(
            role.after.is_empty(),
            format!("roles[{index}].after"),
            format!("a tied role starts with `{}`; put it there", other.name),
        )
    }

    fn check_after(&self, index: usize, key: &str) -> Check {
        for (place, name) in self.roles[index].after.iter().enumerate() {
            let key = format!("{key}.after[{place}]");
            let awaited = self.role(name, &key)?;
            ensure(
                self.quota_of(awaited).is_some(),
                &key,
                format!("role `{name}` ends with the step only; give it `stop.operations`"),
            )?;
            ensure(
                self.segment.of == 1,
                key,
                "processes with segments do not know of each other; use one segment",
            )?;
        }
        ensure(
            !self.waits_for(index, index, &mut BTreeSet::new()),
            format!("{key}.after"),
            "the role would wait for itself; break the circle",
        )
    }

    /// Whether `role` starts only after `target` has ended, by way of any number of others.
    fn waits_for(&self, role: usize, target: usize, seen: &mut BTreeSet<usize>) -> bool {
        let leader = self.tied_to(role).unwrap_or(role);
        let awaited: Vec<usize> = self.roles[leader]
            .after
            .iter()
            .filter_map(|name| self.roles.iter().position(|other| other.name == *name))
            .map(|other| self.tied_to(other).unwrap_or(other))
            .collect();
        let target = self.tied_to(target).unwrap_or(target);
        awaited.iter().any(|other| {
            *other == target || (seen.insert(*other) && self.waits_for(*other, target, seen))
        })
    }
}
