//! Opening a session for what a worker has it for: let in, with its statements prepared for every table they may name.

use super::mysql::MySqlSession;
use super::postgres::PostgresSession;
use super::{AnySession, Opened, SessionError, Targets};
use crate::job::{Capture, Protocol};
use crate::layout::{Walk, WorkerLayout};
use crate::program::Compiled;
use crate::statement::{Parameters, Statement};
use std::fmt;
use std::ops::Range;
use std::time::Instant;

/// What a session is made for.
#[derive(Debug, Clone)]
pub(super) struct Purpose {
    /// The role's index; none for a probe.
    role: Option<usize>,
    table: u32,
    walk: Walk,
    /// The connection's number in its role.
    number: u64,
    /// How many sessions were made for it before.
    pub(super) sessions: u64,
}

impl Purpose {
    /// The role's index; none for a probe.
    pub(super) fn role(&self) -> Option<usize> {
        self.role
    }

    /// Tells whether the session lasts no longer than an operation, or the reading of a cursor.
    pub(super) fn is_for_one_operation(&self, code: &Compiled) -> bool {
        self.role.map_or(code.reads_over_new_connections, |role| {
            code.roles[role].connects_each
        })
    }

    /// The tables that a statement may be sent for.
    fn tables(&self, code: &Compiled, statement: usize) -> Range<u32> {
        match self.walk {
            Walk::Draw { .. } | Walk::Turn { .. } => code.tables(statement),
            Walk::Stay => self.table..self.table + 1,
        }
    }
}

/// What the sessions of a worker are made for, in the layout's order.
pub(super) fn purposes(layout: &WorkerLayout) -> Vec<Purpose> {
    let of_groups = layout.groups.iter().flat_map(|group| {
        let role = Some(group.role);
        group.connections.iter().map(move |connection| Purpose {
            role,
            table: connection.table,
            walk: connection.walk,
            number: u64::from(connection.number),
            sessions: 0,
        })
    });
    of_groups
        .chain(layout.probes.iter().map(|_| Purpose {
            role: None,
            table: 0,
            walk: Walk::Stay,
            number: 0,
            sessions: 0,
        }))
        .collect()
}

/// Connects and prepares what the purpose needs.
///
/// # Errors
/// One sentence that names the role and statement.
pub(super) fn open_one(
    code: &Compiled,
    targets: &Targets,
    purpose: &Purpose,
    deadline: Instant,
) -> Result<(AnySession, Opened), String> {
    let timeout = deadline.saturating_duration_since(Instant::now());
    let name = purpose.role.map_or("probe", |role| &code.roles[role].name);
    let in_role = |error: SessionError| format!("role `{name}`: {error}");
    let mut session =
        AnySession::connect(targets.of_role(purpose.role), timeout).map_err(in_role)?;
    session.set_nonblocking().map_err(in_role)?;
    session.limit(Some(deadline));
    if code.private {
        quiet(&mut session).map_err(in_role)?;
    }
    for sql in purpose
        .role
        .map_or(&[][..], |role| &code.roles[role].session)
    {
        session
            .query(sql)
            .map_err(|error| format!("role `{name}`, `session`: {error}"))?;
    }
    let (parameters, thread) = match &mut session {
        AnySession::Postgres(session) => (prepare(code, session, purpose), None),
        AnySession::MySql(session) => {
            // Nobody looks at a thread that is gone with its operation, and asking is a request of its own.
            let thread = if purpose.is_for_one_operation(code) {
                None
            } else {
                session.server_tid().map_err(in_role)?
            };
            (prepare_mysql(code, session, purpose), thread)
        }
    };
    let parameters = parameters.map_err(|error| format!("role `{name}`, {error}"))?;
    if let AnySession::Postgres(session) = &mut session {
        bind(code, session, purpose, &parameters).map_err(in_role)?;
    }
    session.limit(None);
    session.capture(!code.capture.is_empty() || purpose.role.is_none());
    let server_pid = session.server_pid();
    Ok((
        session,
        Opened {
            server_pid,
            server_tid: thread,
            parameters: parameters.into(),
        },
    ))
}

/// What keeps a session's statements, and errors that quote values, out of the server's log: results keep that of the
/// lab's own servers.
const QUIET: &str = "SET log_min_messages = fatal; SET log_min_error_statement = panic; \
     SET log_min_duration_statement = -1; SET log_statement = none; SET auto_explain.log_min_duration = -1";

/// The state of what a user may not do.
const DENIED: &[u8; 5] = b"42501";

/// Keeps the session's values out of PostgreSQL's log, as far as its user may: one who may not has a server elsewhere.
fn quiet(session: &mut AnySession) -> Result<(), SessionError> {
    let AnySession::Postgres(session) = session else {
        return Ok(());
    };
    match session.query(QUIET) {
        Err(SessionError::Server(error)) if error.code == *DENIED => Ok(()),
        outcome => outcome.map(|_| ()),
    }
}

fn named(statement: &Statement, error: &dyn fmt::Display) -> String {
    format!("statement {}: {error}", statement.wire_name)
}

/// Prepares what a role sends, for every table that it may name; the numbers of each statement by its index.
fn prepare_mysql(
    code: &Compiled,
    session: &mut MySqlSession,
    purpose: &Purpose,
) -> Result<Vec<Parameters>, String> {
    let plain = session.takes_backslashes_as_they_are();
    let none = Parameters::default().with_backslashes(plain);
    let mut parameters = vec![none; code.statements.len()];
    let mut prepared = 0;
    let of_role = purpose.role.map(|role| &code.roles[role].statements);
    for index in of_role.into_iter().flatten() {
        let mut numbers = Vec::new();
        for table in purpose.tables(code, *index) {
            let statement = code.statement(*index, table);
            if statement.protocol != Protocol::Prepared {
                break;
            }
            let known = session
                .prepare(&statement.sql)
                .map_err(|error| named(statement, &error))?;
            let values = statement.sources.len();
            if usize::from(known.parameters) != values {
                let problem = format!(
                    "the server sees {} parameters where the job has {values} values",
                    known.parameters
                );
                return Err(named(statement, &problem));
            }
            numbers.push(known.id);
        }
        parameters[*index] = Parameters::numbered(numbers, prepared).with_backslashes(plain);
        prepared += parameters[*index].prepared();
    }
    Ok(parameters)
}

/// Has prepared statements planned so often that the server has chosen how, where the role's connections are made anew.
///
/// What the server refuses ends it: the statement's executions will be refused, too, and are counted.
fn bind(
    code: &Compiled,
    session: &mut PostgresSession,
    purpose: &Purpose,
    parameters: &[Parameters],
) -> Result<(), SessionError> {
    let Some(role) = purpose.role.map(|role| &code.roles[role]) else {
        return Ok(());
    };
    let prepared = |index: &&usize| {
        let statement = code.statement(**index, purpose.table);
        statement.protocol == Protocol::Prepared && !statement.sources.is_empty()
    };
    let mut outcome = Ok(());
    if let Some(renewal) = &role.renewal {
        renewal.draws(purpose.number, purpose.sessions, |draw| {
            for index in role.statements.iter().filter(prepared) {
                let statement = code.statement(*index, purpose.table);
                let mut fits = true;
                let asked = session.ask(|out| {
                    fits = statement
                        .bind(&code.values, draw, &parameters[*index], out)
                        .is_ok();
                });
                match asked {
                    Ok(()) if fits => {}
                    Ok(()) | Err(SessionError::Server(_)) => return false,
                    Err(error) => {
                        outcome = Err(error);
                        return false;
                    }
                }
            }
            true
        });
    }
    outcome
}

/// Prepares what a role sends, for every table that it may name; the parameters of each statement by its index.
fn prepare(
    code: &Compiled,
    session: &mut PostgresSession,
    purpose: &Purpose,
) -> Result<Vec<Parameters>, String> {
    if session.escapes_backslashes() && code.values.has_backslash() {
        return Err(
            "the server's `standard_conforming_strings` is off, and a value has a backslash: take one of them away"
                .to_owned(),
        );
    }
    let of_role = || purpose.role.map(|role| &code.roles[role].statements);
    let follows = |index: &usize| code.statements[*index].progress.is_some();
    if code.capture.contains(&Capture::Notices) || of_role().into_iter().flatten().any(follows) {
        // A role or a database may keep notices from its sessions.
        session
            .query("SET client_min_messages = notice")
            .map_err(|error| error.to_string())?;
    }
    let mut parsed = Vec::new();
    let mut parameters = vec![Parameters::default(); code.statements.len()];
    let mut late = 0;
    for index in of_role().into_iter().flatten() {
        let tables = purpose.tables(code, *index);
        let only = code.statement(*index, tables.start);
        if only.late && tables.len() == 1 {
            parameters[*index] = Parameters::late(only.sources.len(), late);
            late += 1;
            continue;
        }
        for statement in tables.map(|table| code.statement(*index, table)) {
            match statement.protocol {
                Protocol::Simple => {}
                Protocol::Execute => {
                    session
                        .query(&statement.prepare)
                        .map_err(|error| named(statement, &error))?;
                }
                Protocol::Extended => parsed.push((*index, statement, "")),
                Protocol::Prepared => parsed.push((*index, statement, &*statement.wire_name)),
            }
        }
    }
    let asked: Vec<_> = parsed
        .iter()
        .map(|(_, statement, name)| (*name, &*statement.sql, &*statement.declared))
        .collect();
    let mut types = Vec::new();
    if let Err(error) = session.prepare_all(&asked, &mut types) {
        let refused = parsed.get(types.len()).or(parsed.last());
        return Err(refused.map_or_else(String::new, |(_, refused, _)| named(refused, &error)));
    }
    let mut previous = None;
    for ((index, statement, _), oids) in parsed.iter().zip(&types) {
        let own = statement
            .parameters(&code.values, oids)
            .map_err(|error| named(statement, &error))?;
        if previous == Some(*index) && parameters[*index] != own {
            let error =
                "its parameters have other types than for the table before; make all tables alike";
            return Err(named(statement, &error));
        }
        previous = Some(*index);
        parameters[*index] = own;
    }
    Ok(parameters)
}
