//! Counts what a worker does in a tick. Each worker owns its record; another thread serialises it and gives it back empty.

mod code;
mod histogram;
mod kept;
mod sums;
mod times;

pub use code::{Code, code_text, number_code};
pub use histogram::{
    FINE_HISTOGRAM_BYTES, HISTOGRAM_BYTES, HISTOGRAM_US_MAX, Histogram, no_counts,
};
pub use kept::{LogRecord, Outcome, TraceRecord};
pub use sums::{Sum, Sums};
pub use times::{Times, microseconds};

use crate::timeline::Cut;
use std::collections::BTreeSet;

/// The records of a worker where the writer keeps up: one that it fills, and one on its way to the writer and back.
pub const RECORDS_PER_WORKER: u64 = 2;

/// The most records of a worker that wait for the writer, each of a second: where nobody reads the events, memory would grow
/// without an end.
pub const RECORDS_UNREAD_MAX: usize = 20;

/// One client's part of a role's tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientRecord {
    /// Completed operations without error.
    pub count: u64,
    /// Rows of their replies.
    pub rows: u64,
    /// Errors, those that were tried again too.
    pub errors: u64,
    /// The longest response time in microseconds.
    pub max_us: u64,
}

/// One operation's part of a role's tick.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OperationRecord {
    /// Completed operations without error.
    pub count: u64,
    /// Rows of their replies.
    pub rows: u64,
    /// Those of which no reply had a row.
    pub empty: u64,
    /// The longest response time in microseconds, exactly.
    pub max_us: u64,
    /// Errors by code.
    pub errors: Vec<(Code, u64)>,
    /// How often an operation was tried again.
    pub retries: u64,
    /// Operations that were tried again at least once, whatever became of them.
    pub retried: u64,
    /// Operations that ended without success, by the code of their last error.
    pub failed: Vec<(Code, u64)>,
    /// Operations that ended by rolling back what they did, as they were to.
    pub rolled_back: u64,
    /// Operations that were never begun, as they were later already than the latency limit.
    pub skipped: u64,
    /// Of those that completed without error, those whose response time was over the latency limit.
    pub over_limit: u64,
    /// Completion − due, in microseconds.
    pub response: Histogram,
    /// Completion − sent, in nanoseconds.
    pub service: Histogram<true>,
    /// The exact sums of the same, and of first sending − due.
    pub sums: Sums,
}

/// One role's part of a tick.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleRecord {
    /// By client's number.
    pub per_client: Box<[ClientRecord]>,
    /// By the operation's index in its role.
    pub operations: Box<[OperationRecord]>,
    /// The longest from when an operation was due to its first sending, or to where it was still unsent, in microseconds.
    pub late_us_max: u64,
    /// Operations due and not sent, at the end of the tick.
    pub backlog: u64,
    /// First sending − the moment when the operation was due and its connection free: the generator's own delay.
    pub lag: Histogram,
    /// Handling of a reply − the earliest moment at which it may have been readable: the generator's own queue.
    pub queue: Histogram,
    /// Connections that operations opened for themselves.
    pub connects: Connects,
    /// For how long connections had operations that count, all together, where that ended in the tick.
    pub connection_ns: Option<u64>,
}

/// Connections that were opened, and how long that took in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connects {
    /// How many.
    pub count: u64,
    /// All together.
    pub sum_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Connects {
    /// Counts one.
    pub fn add(&mut self, time_us: u64) {
        self.count += 1;
        self.sum_us += time_us;
        self.max_us = self.max_us.max(time_us);
    }

    fn merge(&mut self, part: Self) {
        self.count += part.count;
        self.sum_us += part.sum_us;
        self.max_us = self.max_us.max(part.max_us);
    }
}

/// What one worker counted in one tick.
#[derive(Debug, Clone)]
pub struct TickRecord {
    /// Which tick.
    pub cut: Cut,
    /// CPU of the whole process up to the cut, without what is not to count.
    pub process_cpu_ns: u64,
    /// By the role's index.
    pub roles: Box<[RoleRecord]>,
    /// Operations in the order of their completion.
    pub trace: Vec<TraceRecord>,
    /// The same of those of the log.
    pub log: Vec<LogRecord>,
}

/// The rows of what completed.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// All of them.
    pub all: u64,
    /// Those that no tick has counted yet.
    pub uncounted: u64,
}

impl Rows {
    /// Returns all rows of which `counted` have been counted already.
    #[inline]
    #[must_use]
    pub fn beyond(counted: u64, all: u64) -> Self {
        Self {
            all,
            uncounted: all.saturating_sub(counted),
        }
    }
}

impl OperationRecord {
    /// Counts one that completed without error.
    #[inline]
    pub fn complete(&mut self, times: Times, rows: Rows) {
        self.count += 1;
        self.rows += rows.uncounted;
        self.empty += u64::from(rows.all == 0);
        self.max_us = self.max_us.max(times.response_us);
        self.response.record(times.response_us);
        self.service.record(times.service_ns);
        self.sums.add(times);
    }

    /// Counts errors of a code.
    pub fn error(&mut self, code: Code, count: u64) {
        add(&mut self.errors, code, count);
    }

    /// Counts an operation that ended with an error, after so many tries.
    pub fn fail(&mut self, code: Code, tries: u32) {
        add(&mut self.failed, code, 1);
        self.retried += u64::from(tries > 1);
    }

    fn clear(&mut self) {
        (self.count, self.rows, self.empty) = (0, 0, 0);
        (self.max_us, self.retries, self.retried) = (0, 0, 0);
        (self.rolled_back, self.skipped, self.over_limit) = (0, 0, 0);
        self.errors.clear();
        self.failed.clear();
        self.response.clear();
        self.service.clear();
        self.sums = Sums::default();
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.rows += other.rows;
        self.empty += other.empty;
        self.max_us = self.max_us.max(other.max_us);
        self.retries += other.retries;
        self.retried += other.retried;
        self.rolled_back += other.rolled_back;
        self.skipped += other.skipped;
        self.over_limit += other.over_limit;
        for (code, count) in &other.errors {
            add(&mut self.errors, *code, *count);
        }
        for (code, count) in &other.failed {
            add(&mut self.failed, *code, *count);
        }
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.sums.merge(other.sums);
    }
}

/// Adds to the count of a code.
fn add(counts: &mut Vec<(Code, u64)>, code: Code, count: u64) {
    match counts.iter_mut().find(|(known, _)| *known == code) {
        Some((_, known)) => *known += count,
        None => counts.push((code, count)),
    }
}

impl RoleRecord {
    fn new(clients: usize, operations: usize) -> Self {
        Self {
            per_client: vec![ClientRecord::default(); clients].into(),
            operations: vec![OperationRecord::default(); operations].into(),
            late_us_max: 0,
            backlog: 0,
            lag: Histogram::default(),
            queue: Histogram::default(),
            connects: Connects::default(),
            connection_ns: None,
        }
    }

    /// Counts an operation that completed without error.
    #[inline]
    pub fn complete(&mut self, client: u32, operation: usize, times: Times, rows: Rows) {
        self.operations[operation].complete(times, rows);
        let record = &mut self.per_client[client as usize];
        record.count += 1;
        record.rows += rows.uncounted;
        record.max_us = record.max_us.max(times.response_us);
    }

    /// Counts how late what was due at `due_ns` was at `at_ns`, by its first sending or still unsent.
    #[inline]
    pub fn late(&mut self, due_ns: u64, at_ns: u64) {
        let late_us = microseconds(at_ns.saturating_sub(due_ns));
        self.late_us_max = self.late_us_max.max(late_us);
    }

    /// Counts an error.
    pub fn error(&mut self, client: u32, operation: usize, code: Code) {
        self.operations[operation].error(code, 1);
        self.per_client[client as usize].errors += 1;
    }

    fn make_room_as(&mut self, other: &Self) {
        for (own, other) in self.operations.iter_mut().zip(&other.operations) {
            own.response.make_room_as(&other.response);
            own.service.make_room_as(&other.service);
        }
        self.lag.make_room_as(&other.lag);
        self.queue.make_room_as(&other.queue);
    }

    fn clear(&mut self) {
        self.per_client.fill(ClientRecord::default());
        self.operations.iter_mut().for_each(OperationRecord::clear);
        self.late_us_max = 0;
        self.backlog = 0;
        self.lag.clear();
        self.queue.clear();
        self.connects = Connects::default();
        self.connection_ns = None;
    }

    fn merge(&mut self, other: &Self) {
        for (whole, part) in self.per_client.iter_mut().zip(&other.per_client) {
            whole.count += part.count;
            whole.rows += part.rows;
            whole.errors += part.errors;
            whole.max_us = whole.max_us.max(part.max_us);
        }
        for (whole, part) in self.operations.iter_mut().zip(&other.operations) {
            whole.merge(part);
        }
        self.late_us_max = self.late_us_max.max(other.late_us_max);
        self.backlog += other.backlog;
        self.lag.merge(&other.lag);
        self.queue.merge(&other.queue);
        self.connects.merge(other.connects);
        if let Some(part_ns) = other.connection_ns {
            *self.connection_ns.get_or_insert(0) += part_ns;
        }
    }
}

/// The shape of a job's records: for each role its clients and its operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape(pub Vec<(usize, usize)>);

impl Shape {
    /// Returns the bytes that the histograms of these roles take in one record at most.
    #[must_use]
    pub fn histogram_bytes(&self, roles: &BTreeSet<usize>) -> u64 {
        let of_operation = HISTOGRAM_BYTES + FINE_HISTOGRAM_BYTES;
        let of_role = |role: &usize| self.0[*role].1 as u64 * of_operation + 2 * HISTOGRAM_BYTES;
        roles.iter().map(of_role).sum()
    }
}

impl TickRecord {
    /// Makes an empty record; its histograms have no memory yet.
    #[must_use]
    pub fn new(shape: &Shape) -> Self {
        let roles = shape.0.iter();
        Self {
            cut: Cut {
                number: 0,
                end_ns: 0,
                active_ns: 0,
                measured: false,
            },
            process_cpu_ns: 0,
            roles: roles
                .map(|(clients, operations)| RoleRecord::new(*clients, *operations))
                .collect(),
            trace: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Takes memory for what `other` has counted, so that this is done at a tick and no operation waits for it.
    pub fn make_room_as(&mut self, other: &Self) {
        for (own, other) in self.roles.iter_mut().zip(&other.roles) {
            own.make_room_as(other);
        }
    }

    /// Forgets everything, so that it can be used again without allocation.
    pub fn clear(&mut self) {
        self.roles.iter_mut().for_each(RoleRecord::clear);
        self.process_cpu_ns = 0;
        self.trace.clear();
        self.log.clear();
    }

    /// Adds what another worker counted in the same tick.
    pub fn merge(&mut self, other: &mut Self) {
        debug_assert_eq!(self.cut.number, other.cut.number);
        for (whole, part) in self.roles.iter_mut().zip(&other.roles) {
            whole.merge(part);
        }
        self.process_cpu_ns = self.process_cpu_ns.max(other.process_cpu_ns);
        self.trace.append(&mut other.trace);
        self.trace.sort_by_key(|record| record.end_ns);
        self.log.append(&mut other.log);
        self.log.sort_by_key(|record| record.end_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> TickRecord {
        TickRecord::new(&Shape(vec![(2, 1), (1, 2)]))
    }

    #[test]
    fn a_cleared_record_is_as_new() {
        let mut used = record();
        used.roles[1].complete(0, 1, Times::new(0, 500, 2_600), Rows::beyond(0, 7));
        used.roles[1].complete(0, 1, Times::new(0, 0, 0), Rows::beyond(0, 0));
        assert_eq!(used.roles[1].operations[1].empty, 1, "one had no row");
        used.roles[0].error(1, 0, *b"40001");
        used.roles[0].late_us_max = 3;
        used.roles[0].lag.record(4);
        used.roles[1].queue.record(5);
        assert_eq!(
            used.roles[1].operations[1].max_us, 3,
            "rounded to the nearest"
        );
        used.clear();
        assert_eq!(used.roles, record().roles);
    }

    #[test]
    fn times_of_days_are_told_apart_and_those_beyond_31_count_as_31() {
        let mut used = record();
        let day_ns = 86_400_000_000_000;
        for days in [1, 30, 400] {
            let times = Times::new(0, 0, days * day_ns);
            used.roles[0].complete(0, 0, times, Rows::beyond(0, 1));
        }
        let operation = &used.roles[0].operations[0];
        let response = operation.response.counts().unwrap();
        assert_eq!((operation.max_us, response.len()), (400 * day_ns / 1000, 3));
        for (days, quantile) in [(1, 0.3), (30, 0.6), (31, 0.9)] {
            let time_us = days * day_ns / 1000;
            assert!(
                response.equivalent(response.value_at_quantile(quantile), time_us),
                "{days} days"
            );
        }
    }

    /// How many of a record's histograms have taken their memory.
    fn with_memory(record: &TickRecord) -> usize {
        let of_operation =
            |one: &OperationRecord| [one.response.has_room(), one.service.has_room()];
        let all = record.roles.iter().flat_map(|role| {
            let operations = role.operations.iter().flat_map(of_operation);
            operations.chain([role.lag.has_room(), role.queue.has_room()])
        });
        all.filter(|taken| *taken).count()
    }

    #[test]
    fn a_histogram_takes_its_memory_when_it_first_counts_and_keeps_it() {
        let (mut used, mut next, mut whole) = (record(), record(), record());
        assert_eq!(with_memory(&used), 0);
        used.roles[1].complete(0, 1, Times::new(0, 500, 2_600), Rows::beyond(0, 7));
        used.roles[1].lag.record(4);
        assert_eq!(with_memory(&used), 3, "response, service and lag");
        next.make_room_as(&used);
        whole.merge(&mut used);
        used.clear();
        for record in [&used, &next, &whole] {
            assert_eq!(with_memory(record), 3);
        }
        assert_eq!(next.roles, record().roles, "room alone counts nothing");
    }

    #[test]
    fn what_the_histograms_of_some_roles_take_is_known_beforehand() {
        let bytes = |fine| 4 * no_counts(fine).distinct_values() as u64;
        assert_eq!(HISTOGRAM_BYTES, bytes(false));
        assert_eq!(FINE_HISTOGRAM_BYTES, bytes(true));
        let shape = Shape(vec![(2, 1), (1, 2), (9, 9)]);
        let bytes = shape.histogram_bytes(&BTreeSet::from([0, 1]));
        assert_eq!(bytes, 7 * HISTOGRAM_BYTES + 3 * FINE_HISTOGRAM_BYTES);
    }

    proptest! {
        #[test]
        fn the_merge_of_parts_is_the_whole(
            replies in prop::collection::vec((0_usize..2, 0_u64..5_000_000_000, 0_u64..100, any::<bool>()), 0..60),
        ) {
            let (mut whole, mut parts) = (record(), [record(), record()]);
            for (role, time_ns, rows, failed) in replies {
                for part in [&mut whole, &mut parts[usize::from(time_ns % 3 == 0)]] {
                    if failed {
                        part.roles[role].error(0, 0, *b"40001");
                    } else {
                        part.roles[role].complete(0, 0, Times::new(0, time_ns / 2, time_ns), Rows::beyond(0, rows));
                        part.roles[role].operations[0].retries += rows % 2;
                    }
                    part.roles[role].lag.record(time_ns / 3000);
                    part.roles[role].queue.record(time_ns / 5000);
                    let late_us_max = &mut part.roles[role].late_us_max;
                    *late_us_max = (*late_us_max).max(time_ns / 1000);
                }
            }
            let [first, second] = &mut parts;
            first.merge(second);
            prop_assert_eq!(&first.roles, &whole.roles);
        }
    }
}
