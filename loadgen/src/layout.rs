//! Lays out who does what: the connections and groups that this process has, by thread, with their quotas.
//!
//! Everything here follows from the job alone, so that k processes with segments do what one would.

use crate::job::{Arrivals, Job, Pace, Per, Queue, Role, TableBy};
use crate::pace::{self, Burst, Even, Pacing, Poisson, Schedule, Share};
use crate::record::{RECORDS_PER_WORKER, Shape};
use std::collections::BTreeSet;

/// One connection of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionLayout {
    /// Its number within the role, over all clients and segments.
    pub number: u32,
    /// Its table, as an index from 0; where it goes from table to table, the first.
    pub table: u32,
    /// Whether and how its operations go from table to table.
    pub walk: Walk,
    /// Operations that it does; none: until the step ends.
    pub quota: Option<u64>,
}

/// How a connection's operations go from table to table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// They stay with one.
    Stay,
    /// Each adds so much to the table's index, modulo the count.
    Turn {
        /// What is added.
        step: u32,
        /// How many tables there are.
        tables: u32,
    },
    /// Each draws one of so many for each class of its statements.
    Draw {
        /// How many tables there are.
        tables: u32,
    },
}

/// The connections of one role that share a client and a pace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupLayout {
    /// The role's index.
    pub role: usize,
    /// The client's number; 0 for a role of the step.
    pub client: u32,
    /// Its connections, at least one.
    pub connections: Vec<ConnectionLayout>,
}

impl GroupLayout {
    /// Returns the operations of all its connections; none: until the step ends.
    #[must_use]
    pub fn quota(&self) -> Option<u64> {
        self.connections
            .iter()
            .map(|connection| connection.quota)
            .sum()
    }
}

/// What one worker thread has: groups that belong together, and the clients that need cursors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkerLayout {
    /// The groups; both members of a pair are in the same worker.
    pub groups: Vec<GroupLayout>,
    /// Clients whose cursors are read by a connection of their own.
    pub probes: Vec<u32>,
}

impl WorkerLayout {
    /// Returns how many connections it has, those of the probes included.
    #[must_use]
    pub fn connections(&self) -> usize {
        let of_groups: usize = self
            .groups
            .iter()
            .map(|group| group.connections.len())
            .sum();
        of_groups + self.probes.len()
    }
}

/// Returns what the histograms of all workers and of the writer take when everything has been done once: each worker's by its
/// roles, in as many records as it has, and the writer's one record with all.
#[must_use]
pub fn histogram_bytes_max(workers: &[WorkerLayout], shape: &Shape) -> u64 {
    let roles = |worker: &WorkerLayout| -> BTreeSet<usize> {
        worker.groups.iter().map(|group| group.role).collect()
    };
    let of_workers = workers
        .iter()
        .map(|worker| shape.histogram_bytes(&roles(worker)));
    let all = workers.iter().flat_map(roles).collect();
    RECORDS_PER_WORKER * of_workers.sum::<u64>() + shape.histogram_bytes(&all)
}

/// Shares a job's roles out among at most `threads` workers; none is without a connection.
#[must_use]
pub fn layout(job: &Job, threads: usize) -> Vec<WorkerLayout> {
    let threads = threads.max(1);
    let mut workers = vec![WorkerLayout::default(); threads];
    for role in 0..job.roles.len() {
        match job.roles[role].per {
            Per::Client => {
                for (number, client) in own_clients(job).enumerate() {
                    let group = client_group(job, role, client);
                    workers[number % threads].groups.push(group);
                }
            }
            Per::Step => add_step_role(job, role, &mut workers),
        }
    }
    for worker in &mut workers {
        worker.probes = probes(job, &worker.groups);
    }
    workers.retain(|worker| worker.connections() > 0);
    workers
}

/// Returns the threads of a job: one for each of its processors, or what it says, or max(1, cores / 8).
#[must_use]
pub fn threads(job: &Job) -> usize {
    if !job.processors.is_empty() {
        return job.processors.len();
    }
    if job.threads > 0 {
        return job.threads as usize;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores / 8).max(1)
}

fn own_clients(job: &Job) -> impl Iterator<Item = u32> {
    let segment = job.segment;
    (0..job.clients).filter(move |client| client % segment.of == segment.index)
}

fn client_group(job: &Job, role: usize, client: u32) -> GroupLayout {
    let count = job.roles[role].connections;
    let connections = (0..count)
        .map(|rank| connection(job, role, client, client * count + rank, rank, count))
        .collect();
    GroupLayout {
        role,
        client,
        connections,
    }
}

/// Lays out the connections of a step's role: on one thread where they share arrivals, a tie or a cursor, else spread.
fn add_step_role(job: &Job, role: usize, workers: &mut [WorkerLayout]) {
    let count = job.roles[role].connections;
    let own: Vec<_> = (0..count)
        .filter(|number| number % job.segment.of == job.segment.index)
        .map(|number| connection(job, role, 0, number, number, count))
        .collect();
    let tied = job.tied_by(role).is_some();
    let alone = match job.roles[role].pace {
        Pace::Closed {} => true,
        // Arrivals are dealt out by number, as between processes.
        Pace::Rate { .. } => job.roles[role].queue == Queue::Thread,
        Pace::Tied { .. } => false,
    } && !tied
        && !uses_cursors(job, role);
    let threads = workers.len();
    for (thread, worker) in workers.iter_mut().enumerate() {
        let connections: Vec<_> = own
            .iter()
            .enumerate()
            .filter(|(rank, _)| {
                if alone {
                    rank % threads == thread
                } else {
                    thread == 0
                }
            })
            .map(|(_, connection)| connection.clone())
            .collect();
        if !connections.is_empty() {
            worker.groups.push(GroupLayout {
                role,
                client: 0,
                connections,
            });
        }
    }
}

/// Lays out connection `number` of a role, which is number `rank` of the `count` that share the role's quota.
fn connection(
    job: &Job,
    role: usize,
    client: u32,
    number: u32,
    rank: u32,
    count: u32,
) -> ConnectionLayout {
    let source = &job.roles[role];
    let table = source.table.as_ref().map_or(0, |table| {
        let chosen = match table.by {
            TableBy::Own => client,
            TableBy::ByConnection | TableBy::InTurn => number,
            TableBy::Uniform => 0,
        };
        chosen % job.table_count(&table.of)
    });
    let quota = job.quota_of(role).map(|all| share(all, rank, count));
    ConnectionLayout {
        number,
        table,
        walk: walk(job, source),
        quota,
    }
}

fn walk(job: &Job, role: &Role) -> Walk {
    let Some(table) = &role.table else {
        return Walk::Stay;
    };
    let tables = job.table_count(&table.of);
    match table.by {
        TableBy::Own | TableBy::ByConnection => Walk::Stay,
        TableBy::InTurn => {
            let clients = match role.per {
                Per::Client => job.clients,
                Per::Step => 1,
            };
            let step = (role.connections * clients) % tables;
            Walk::Turn { step, tables }
        }
        TableBy::Uniform => Walk::Draw { tables },
    }
}

/// Returns the part of a quota that number `rank` of `count` has; the first have one more each where it does not divide.
fn share(all: u64, rank: u32, count: u32) -> u64 {
    let (rank, count) = (u64::from(rank), u64::from(count));
    all / count + u64::from(rank < all % count)
}

/// Tells whether a role's statements need a cursor.
#[must_use]
pub fn uses_cursors(job: &Job, role: usize) -> bool {
    let statements = job.statements_of(&job.roles[role]);
    statements
        .iter()
        .any(|statement| job.uses_cursors(*statement))
}

fn probes(job: &Job, groups: &[GroupLayout]) -> Vec<u32> {
    let mut clients: Vec<_> = groups
        .iter()
        .filter(|group| uses_cursors(job, group.role))
        .map(|group| group.client)
        .collect();
    clients.sort_unstable();
    clients.dedup();
    clients
}

/// Returns the pacing of a group: its own, or with the group that is tied to it.
#[must_use]
pub fn pacing(job: &Job, group: &GroupLayout, lead: Option<u64>) -> Pacing {
    let schedule = match &job.roles[group.role].pace {
        Pace::Rate { arrivals, per_s } => rate(job, group, *arrivals, *per_s),
        Pace::Closed {} | Pace::Tied { .. } => Schedule::Closed,
    };
    match lead {
        Some(lead) => Pacing::pair(schedule, group.quota(), lead),
        None => Pacing::single(schedule, group.quota()),
    }
}

/// Returns the schedule of a group at a rate: all of its client's arrivals, or its connections' part of the role's.
fn rate(job: &Job, group: &GroupLayout, arrivals: Arrivals, per_s: f64) -> Schedule {
    let role = &job.roles[group.role];
    let numbers = group.connections.iter().map(|one| u64::from(one.number));
    let share = match role.per {
        Per::Client => Share::whole(),
        Per::Step => Share::new(u64::from(role.connections), numbers.collect()),
    };
    match arrivals {
        Arrivals::Even => Schedule::Even(Even::new(per_s, share)),
        Arrivals::Burst => Schedule::Burst(Burst::new(per_s)),
        Arrivals::Poisson => {
            let seed = pace::seed(job.seed, &job.step, &role.name, group.client);
            Schedule::Poisson(Poisson::new(per_s, seed, share))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{RoleStop, Segment};
    use proptest::prelude::*;

    fn example(name: &str) -> Job {
        let path = format!("{}/contract/job-{name}.json", env!("CARGO_MANIFEST_DIR"));
        Job::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    #[test]
    fn all_roles_of_a_client_are_on_one_thread_with_one_probe() {
        let mut job = example("qr100");
        job.clients = 5;
        let workers = layout(&job, 2);
        assert_eq!(workers.len(), 2);
        let clients = |worker: &WorkerLayout, role| -> Vec<u32> {
            let of_role = worker.groups.iter().filter(|group| group.role == role);
            of_role.map(|group| group.client).collect()
        };
        for role in 0..3 {
            assert_eq!(clients(&workers[0], role), [0, 2, 4]);
            assert_eq!(clients(&workers[1], role), [1, 3]);
        }
        assert_eq!(
            (&workers[0].probes, workers[0].connections()),
            (&vec![0, 2, 4], 12)
        );
        let tables: Vec<_> = workers[0]
            .groups
            .iter()
            .map(|group| group.connections[0].table)
            .collect();
        assert_eq!(tables, [0; 9], "clients 0, 2 and 4 of two tables");
    }

    #[test]
    fn a_step_role_goes_by_connection_and_is_spread_where_it_shares_nothing() {
        let job = example("cleanup");
        let workers = layout(&job, 8);
        let vacuums: Vec<_> = workers
            .iter()
            .flat_map(|worker| &worker.groups)
            .filter(|group| group.role == 0)
            .collect();
        assert_eq!(vacuums.len(), 2, "each on a thread");
        assert_eq!(
            (
                vacuums[0].connections[0].table,
                vacuums[1].connections[0].table
            ),
            (0, 1)
        );
        assert!(vacuums.iter().all(|group| group.quota() == Some(1)));
    }

    #[test]
    fn connections_share_the_tables_out_in_turn() {
        let mut job = example("l.i0");
        job.tables.insert("pi".to_owned(), 5);
        job.roles[0].per = Per::Step;
        job.roles[0].connections = 2;
        job.roles[0].stop = Some(RoleStop {
            operations: Some(5),
        });
        job.roles[0].table.as_mut().unwrap().by = TableBy::InTurn;
        let workers = layout(&job, 1);
        let connections = &workers[0].groups[0].connections;
        let turns: Vec<_> = connections
            .iter()
            .map(|one| (one.table, one.walk, one.quota))
            .collect();
        // Tables 0, 2, 4 and 1, 3.
        let turn = Walk::Turn { step: 2, tables: 5 };
        assert_eq!(turns, [(0, turn, Some(3)), (1, turn, Some(2))]);
        let walk_by = |by| {
            let mut job = job.clone();
            job.roles[0].table.as_mut().unwrap().by = by;
            layout(&job, 1)[0].groups[0].connections[1].walk
        };
        assert_eq!(walk_by(TableBy::ByConnection), Walk::Stay);
        assert_eq!(walk_by(TableBy::Uniform), Walk::Draw { tables: 5 });
    }

    #[test]
    fn no_more_threads_than_there_is_work() {
        assert_eq!(layout(&example("l.i0"), 16).len(), 2);
        assert!(threads(&example("l.i0")) == 1);
        let mut placed = example("l.i0");
        placed.processors = vec![4, 5, 6];
        assert_eq!(threads(&placed), 3);
    }

    proptest! {
        #[test]
        fn quotas_add_up_over_connections_threads_and_segments(
            all in 1_u64..10_000, count in 1_u32..20, of in 1_u32..5, threads in 1_usize..5, clients in 1_u32..6,
        ) {
            for name in ["cleanup", "l.i0"] {
                let mut job = example(name);
                job.clients = clients;
                job.roles.truncate(1);
                job.roles[0].connections = count;
                job.roles[0].stop = Some(RoleStop { operations: Some(all) });
                let mut numbers = Vec::new();
                let mut sum = 0;
                for index in 0..of {
                    job.segment = Segment { index, of };
                    for group in layout(&job, threads).iter().flat_map(|worker| &worker.groups) {
                        sum += group.quota().unwrap();
                        numbers.extend(group.connections.iter().map(|connection| connection.number));
                    }
                }
                numbers.sort_unstable();
                let times = if name == "l.i0" { clients } else { 1 };
                prop_assert_eq!(numbers, (0..count * times).collect::<Vec<_>>());
                prop_assert_eq!(sum, all * u64::from(times));
            }
        }
    }
}
