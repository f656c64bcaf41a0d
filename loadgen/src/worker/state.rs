//! Holds what a worker keeps of connections, groups and roles that wait for others.

use super::script::Pipeline;
use crate::draw::Draw;
use crate::job::{Job, Pace, Per};
use crate::layout::{self, GroupLayout, Walk, WorkerLayout};
use crate::pace::Pacing;
use crate::program::{Choosing, Compiled, Program};
use crate::session::{Opened, Reply};
use crate::shared::Shared;
use crate::statement::Parameters;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It can begin an operation.
    Idle,
    /// Its operation waits for a connection of its own.
    Connecting,
    /// Its operation waits for the reading of a cursor.
    AwaitsCursor,
    /// A statement is in flight.
    InFlight,
    /// Its operation lasts, but nothing is in flight until a time has come.
    Asleep,
    /// It begins no operation until a time has come, as nobody has anything for it to do.
    Thinking,
    /// A ROLLBACK is in flight, after an error.
    RollingBack,
    /// Its session is asked what it is asked last.
    Leaving,
    /// It has done its quota (which may be nothing), or its role has stopped.
    Done,
    /// It is being made anew.
    Lost,
}

/// An operation in its course.
#[derive(Debug, Default)]
pub(super) struct Operation {
    pub(super) number: u64,
    pub(super) program: Program,
    /// The index of the step that comes, or whose reply is awaited.
    pub(super) step: usize,
    /// Steps below this have been generated once: another try changes no cursor.
    pub(super) generated: usize,
    pub(super) tries: u32,
    pub(super) due_ns: u64,
    /// When its connection began it.
    pub(super) begun_ns: u64,
    /// When its first statement was sent first; 0 before.
    pub(super) sent_ns: u64,
    pub(super) statement_due_ns: u64,
    pub(super) statement_sent_ns: u64,
    /// When its sleep ends, or what follows it before the next.
    pub(super) wake_ns: u64,
    /// When it asked for its connection.
    pub(super) asked_ns: u64,
    pub(super) rows: u64,
    /// Whether it waited for the reading of a cursor before it was sent first.
    pub(super) awaited_cursor: bool,
    /// Of the operation's rows, what the client's ticks have counted already, those of the running statement too.
    pub(super) rows_counted: u64,
    /// Of the operation's rows, what its statements have said before they ended.
    pub(super) rows_said: u64,
    /// Of these, what the running statement has said.
    pub(super) statement_rows_said: u64,
    /// The error that a ROLLBACK follows.
    pub(super) failed: Option<crate::record::Code>,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) role: usize,
    pub(super) client: u32,
    pub(super) number: u32,
    pub(super) table: u32,
    /// Whether and how its operations go from table to table.
    pub(super) walk: Walk,
    pub(super) group: usize,
    /// The index of its client's probe; none where its statements need no cursor.
    pub(super) probe: Option<usize>,
    pub(super) state: State,
    /// Whether its session is being ended, and another made.
    pub(super) renewing: bool,
    /// Operations that it may still begin.
    pub(super) quota: u64,
    pub(super) begun: u64,
    /// Operations that were due and that it has left out.
    pub(super) skipped: u64,
    pub(super) completed_ns: u64,
    /// When its last operation that does not count ended: one that it had begun before those that count.
    pub(super) uncounted_ns: u64,
    /// By how much its operation's sleeps were cut short.
    pub(super) unslept_ns: u64,
    /// Since when it could have begun another: its last completion, or when it was made anew.
    pub(super) free_ns: u64,
    pub(super) draw: Draw,
    /// What it keeps of the choice of its programs.
    pub(super) choosing: Choosing,
    /// What cursors were when the operation needed them first.
    pub(super) cursors: Box<[Option<i64>]>,
    /// One for all connections that have the same.
    pub(super) parameters: Arc<[Parameters]>,
    /// Which of its prepared statements it has executed, with MySQL.
    pub(super) executed: Box<[bool]>,
    /// What has come of the reply so far, as it may come in several parts.
    pub(super) reply: Reply,
    pub(super) operation: Operation,
    /// What a script gathers to send it together.
    pub(super) pipeline: Pipeline,
}

/// How far a group has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// It begins operations.
    Going,
    /// It begins no more, short of its quota or without one.
    Stopping,
    /// It was stopped, and nothing is in flight.
    Stopped,
    /// It has done its quota.
    Done,
}

impl Course {
    /// Tells whether all its connections are done.
    pub(super) fn ended(self) -> bool {
        matches!(self, Self::Stopped | Self::Done)
    }
}

/// The connections of a role that share a client.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) role: usize,
    pub(super) client: u32,
    pub(super) pacing: usize,
    /// Its part in a pair: 0 has the schedule, 1 is tied.
    pub(super) member: usize,
    /// The other group of a pair.
    pub(super) partner: Option<usize>,
    /// Whether its pace has no schedule: it is due at the previous completion where that is later.
    pub(super) closed: bool,
    pub(super) connections: Vec<usize>,
    /// Those whose state is idle, whether the pacing has begun or not.
    pub(super) idle: VecDeque<usize>,
    /// Connections that are not done.
    pub(super) left: usize,
    pub(super) course: Course,
    pub(super) last_ns: Option<u64>,
    /// Whether it has completed an operation that sent nothing, and others have their turn before its next.
    pub(super) computing: bool,
    /// Whether it is among those whose schedule the worker awaits.
    pub(super) awaited: bool,
}

/// A pacing that has not begun, as its role waits for others.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) pacing: usize,
    /// The groups that share it: one, or both of a pair.
    pub(super) groups: Vec<usize>,
    /// Roles that must have ended.
    pub(super) after: Vec<usize>,
    /// How long it waits from then, or from the start, as its client begins later than others.
    pub(super) delay_ns: u64,
}

/// The parts of a worker that its layout gives.
pub(super) struct Parts {
    pub(super) connections: Vec<Connection>,
    pub(super) groups: Vec<Group>,
    pub(super) pacings: Vec<Pacing>,
    pub(super) waiting: Vec<Waiting>,
}

/// Builds a worker's parts; every pacing waits until the step starts.
pub(super) fn build(
    job: &Job,
    code: &Compiled,
    layout: &WorkerLayout,
    opened: Vec<Opened>,
) -> Parts {
    let mut parts = Parts {
        connections: Vec::new(),
        groups: Vec::new(),
        pacings: Vec::new(),
        waiting: Vec::new(),
    };
    let mut opened = opened.into_iter();
    for (index, group) in layout.groups.iter().enumerate() {
        let first = parts.connections.len();
        let probe = layout.probes.binary_search(&group.client).ok();
        let uses_cursors = layout::uses_cursors(job, group.role);
        for connection in &group.connections {
            let number = u64::from(connection.number);
            let draw = Draw::new(job, &job.roles[group.role], number);
            let quota = connection.quota.unwrap_or(u64::MAX);
            let parameters = shared(opened.next(), parts.connections.last());
            parts.connections.push(Connection {
                role: group.role,
                client: group.client,
                number: connection.number,
                table: connection.table,
                walk: connection.walk,
                group: index,
                probe: probe.filter(|_| uses_cursors),
                state: if quota > 0 { State::Idle } else { State::Done },
                renewing: false,
                quota,
                begun: 0,
                skipped: 0,
                completed_ns: 0,
                uncounted_ns: 0,
                unslept_ns: 0,
                free_ns: 0,
                choosing: code.roles[group.role].choices.begin(&draw),
                draw,
                cursors: vec![None; job.cursors.len()].into(),
                executed: none_executed(&parameters),
                parameters,
                reply: Reply {
                    results: job.takes_results(group.role).then(Box::default),
                    ..Reply::default()
                },
                operation: Operation::default(),
                pipeline: Pipeline::default(),
            });
        }
        parts
            .groups
            .push(new_group(job, group, first, &parts.connections));
    }
    add_pacings(job, layout, &mut parts);
    parts
}

/// Returns a flag for each of a connection's prepared statements.
fn none_executed(parameters: &[Parameters]) -> Box<[bool]> {
    vec![false; parameters.iter().map(Parameters::prepared).sum()].into()
}

impl Connection {
    /// Takes what a connection that was made anew has prepared.
    pub(super) fn take_parameters(&mut self, parameters: Arc<[Parameters]>) {
        self.executed = none_executed(&parameters);
        self.parameters = parameters;
    }

    /// Returns when its operation was due, where that waits for a cursor or a connection before anything of it was sent;
    /// in a closed pace it is due only when it has its connection.
    pub(super) fn unsent_due_ns(&self, closed: bool) -> Option<u64> {
        let waits = match self.state {
            State::AwaitsCursor => self.operation.sent_ns == 0,
            State::Connecting => !closed,
            _ => false,
        };
        waits.then_some(self.operation.due_ns)
    }
}

/// Returns a connection's parameters: the previous connection's own where they are the same, so that all are read from
/// one place in memory.
fn shared(opened: Option<Opened>, previous: Option<&Connection>) -> Arc<[Parameters]> {
    let own = opened.map(|opened| opened.parameters).unwrap_or_default();
    match previous {
        Some(previous) if previous.parameters == own => Arc::clone(&previous.parameters),
        _ => own,
    }
}

/// Returns the group of the connections from `first` on.
fn new_group(job: &Job, layout: &GroupLayout, first: usize, all: &[Connection]) -> Group {
    let connections: Vec<_> = (first..all.len()).collect();
    let mut idle = VecDeque::with_capacity(connections.len());
    idle.extend((first..all.len()).filter(|index| all[*index].state == State::Idle));
    let leader = job.tied_to(layout.role).unwrap_or(layout.role);
    let closed = matches!(job.roles[leader].pace, Pace::Closed {});
    Group {
        role: layout.role,
        client: layout.client,
        pacing: 0,
        member: 0,
        partner: None,
        closed,
        left: connections.len(),
        idle,
        connections,
        course: Course::Going,
        last_ns: None,
        computing: false,
        awaited: false,
    }
}

/// Gives each group its pacing, one for both of a pair.
fn add_pacings(job: &Job, layout: &WorkerLayout, parts: &mut Parts) {
    let groups = parts.groups.iter().enumerate();
    let groups: std::collections::BTreeMap<_, _> = groups
        .map(|(index, group)| ((group.role, group.client), index))
        .collect();
    for index in 0..parts.groups.len() {
        let role = parts.groups[index].role;
        if job.tied_to(role).is_some() {
            continue;
        }
        let client = parts.groups[index].client;
        let tied = job.tied_by(role);
        let partner = tied.and_then(|tied| groups.get(&(tied, client)).copied());
        let lead = partner.and_then(|partner| match job.roles[parts.groups[partner].role].pace {
            Pace::Tied { lead, .. } => Some(lead),
            _ => None,
        });
        let pacing = parts.pacings.len();
        parts
            .pacings
            .push(layout::pacing(job, &layout.groups[index], lead));
        parts.groups[index].pacing = pacing;
        if let Some(partner) = partner {
            parts.groups[index].partner = Some(partner);
            let tied = &mut parts.groups[partner];
            (tied.pacing, tied.member, tied.partner) = (pacing, 1, Some(index));
        }
        let after = &job.roles[role].after;
        let after = (0..job.roles.len())
            .filter(|other| after.contains(&job.roles[*other].name))
            .collect();
        let groups = std::iter::once(index).chain(partner).collect();
        let apart = job.apart.filter(|_| job.roles[role].per == Per::Client);
        parts.waiting.push(Waiting {
            pacing,
            groups,
            after,
            delay_ns: apart.map_or(0, |apart| apart.delay_ns(client)),
        });
    }
}

/// What a client's end depends on and what ends with it.
#[derive(Debug, Clone, Default)]
pub(super) struct ClientEnd {
    /// Groups that have to end before it does; none where a role of the step is among those that end it.
    pub(super) left: u32,
    /// Groups that stop with it, as they have no quota.
    pub(super) stops: Vec<usize>,
}

/// Returns the ends of a worker's clients, by the client's number.
pub(super) fn client_ends(job: &Job, layout: &WorkerLayout, shared: &Shared) -> Vec<ClientEnd> {
    let mut ends = vec![ClientEnd::default(); job.clients as usize];
    for (index, group) in layout.groups.iter().enumerate() {
        if group.quota().is_none() && job.roles[group.role].per == Per::Client {
            ends[group.client as usize].stops.push(index);
        }
    }
    let by_client =
        (0..job.roles.len()).all(|role| !shared.stops(role) || job.roles[role].per == Per::Client);
    if by_client {
        for group in layout
            .groups
            .iter()
            .filter(|group| shared.stops(group.role))
        {
            ends[group.client as usize].left += 1;
        }
    }
    ends
}
