//! What a worker counts in a tick. Each worker owns its record; another thread serialises it and gives it back empty.

use crate::timeline::Cut;
use hdrhistogram::{CreationError, Histogram};

/// The longest time that a histogram tells apart: one hour in microseconds. Longer ones count as this.
pub const HISTOGRAM_US_MAX: u64 = 3_600_000_000;

/// Significant decimal digits of a histogram.
const HISTOGRAM_DIGITS: u8 = 3;

/// Five characters of a SQLSTATE; or the number of an error of MySQL, with spaces behind it.
pub type Code = [u8; 5];

/// A code as it is written.
#[must_use]
pub fn code_text(code: Code) -> String {
    String::from_utf8_lossy(&code).trim_end().to_owned()
}

/// A histogram of times in microseconds, from 1 µs to [`HISTOGRAM_US_MAX`].
///
/// # Errors
/// None with these bounds; the type is the crate's.
pub fn histogram() -> Result<Histogram<u32>, CreationError> {
    Histogram::new_with_bounds(1, HISTOGRAM_US_MAX, HISTOGRAM_DIGITS)
}

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
#[derive(Debug, Clone, PartialEq)]
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
    /// Completion − due.
    pub response: Histogram<u32>,
    /// Completion − sent.
    pub service: Histogram<u32>,
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
    pub lag: Histogram<u32>,
    /// Handling of a reply − the earliest moment at which it may have been readable: the generator's own queue.
    pub queue: Histogram<u32>,
}

/// One operation, for jobs with `trace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRecord {
    /// The role's index.
    pub role: usize,
    /// The client's number.
    pub client: u32,
    /// The connection's number within the role.
    pub connection: u32,
    /// The operation's index in its role.
    pub operation: usize,
    /// The operation's number on its connection.
    pub number: u64,
    /// When it was due.
    pub due_ns: u64,
    /// When it was sent first.
    pub start_ns: u64,
    /// When it completed.
    pub end_ns: u64,
    /// Rows of its replies.
    pub rows: u64,
    /// The error that it ended with.
    pub error: Option<Code>,
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
}

/// A reply's times in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Completion − due.
    pub response_us: u64,
    /// Completion − sent.
    pub service_us: u64,
}

impl Times {
    /// The times of what was due, sent and completed at these nanoseconds.
    #[inline]
    #[must_use]
    pub fn new(due_ns: u64, sent_ns: u64, end_ns: u64) -> Self {
        Self {
            response_us: microseconds(end_ns.saturating_sub(due_ns)),
            service_us: microseconds(end_ns.saturating_sub(sent_ns)),
        }
    }
}

/// Nanoseconds in microseconds, to the nearest.
#[inline]
#[must_use]
pub fn microseconds(time_ns: u64) -> u64 {
    (time_ns + 500) / 1000
}

impl OperationRecord {
    fn new() -> Result<Self, CreationError> {
        Ok(Self {
            count: 0,
            rows: 0,
            empty: 0,
            max_us: 0,
            errors: Vec::new(),
            retries: 0,
            response: histogram()?,
            service: histogram()?,
        })
    }

    /// Counts one that completed without error.
    #[inline]
    pub fn complete(&mut self, times: Times, rows: u64) {
        self.count += 1;
        self.rows += rows;
        self.empty += u64::from(rows == 0);
        self.max_us = self.max_us.max(times.response_us);
        self.response.saturating_record(times.response_us);
        self.service.saturating_record(times.service_us);
    }

    /// Counts errors of a code.
    pub fn error(&mut self, code: Code, count: u64) {
        match self.errors.iter_mut().find(|(known, _)| *known == code) {
            Some((_, errors)) => *errors += count,
            None => self.errors.push((code, count)),
        }
    }

    fn clear(&mut self) {
        (self.count, self.rows, self.empty) = (0, 0, 0);
        (self.max_us, self.retries) = (0, 0);
        self.errors.clear();
        self.response.reset();
        self.service.reset();
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.rows += other.rows;
        self.empty += other.empty;
        self.max_us = self.max_us.max(other.max_us);
        self.retries += other.retries;
        for (code, count) in &other.errors {
            self.error(*code, *count);
        }
        add(&mut self.response, &other.response);
        add(&mut self.service, &other.service);
    }
}

/// Adds a part of [`histogram`]'s form to the whole.
fn add(whole: &mut Histogram<u32>, part: &Histogram<u32>) {
    if !part.is_empty() {
        // Both have the same bounds, so that no value lies outside.
        let _ = whole.add(part);
    }
}

impl RoleRecord {
    fn new(clients: usize, operations: usize) -> Result<Self, CreationError> {
        let operations: Result<Vec<_>, _> =
            (0..operations).map(|_| OperationRecord::new()).collect();
        Ok(Self {
            per_client: vec![ClientRecord::default(); clients].into(),
            operations: operations?.into(),
            late_us_max: 0,
            backlog: 0,
            lag: histogram()?,
            queue: histogram()?,
        })
    }

    /// Counts an operation that completed without error.
    #[inline]
    pub fn complete(&mut self, client: u32, operation: usize, times: Times, rows: u64) {
        self.operations[operation].complete(times, rows);
        let record = &mut self.per_client[client as usize];
        record.count += 1;
        record.rows += rows;
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

    fn clear(&mut self) {
        self.per_client.fill(ClientRecord::default());
        self.operations.iter_mut().for_each(OperationRecord::clear);
        self.late_us_max = 0;
        self.backlog = 0;
        self.lag.reset();
        self.queue.reset();
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
        add(&mut self.lag, &other.lag);
        add(&mut self.queue, &other.queue);
    }
}

/// The shape of a job's records: for each role its clients and its operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape(pub Vec<(usize, usize)>);

impl TickRecord {
    /// An empty record.
    ///
    /// # Errors
    /// As [`histogram`].
    pub fn new(shape: &Shape) -> Result<Self, CreationError> {
        let roles: Result<Vec<_>, _> = shape
            .0
            .iter()
            .map(|(clients, operations)| RoleRecord::new(*clients, *operations))
            .collect();
        Ok(Self {
            cut: Cut {
                number: 0,
                end_ns: 0,
                active_ns: 0,
                measured: false,
            },
            process_cpu_ns: 0,
            roles: roles?.into(),
            trace: Vec::new(),
        })
    }

    /// Forgets everything, so that it can be used again without allocation.
    pub fn clear(&mut self) {
        self.roles.iter_mut().for_each(RoleRecord::clear);
        self.trace.clear();
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> TickRecord {
        TickRecord::new(&Shape(vec![(2, 1), (1, 2)])).unwrap()
    }

    #[test]
    fn a_cleared_record_is_as_new() {
        let mut used = record();
        used.roles[1].complete(0, 1, Times::new(0, 500, 2_600), 7);
        used.roles[1].complete(0, 1, Times::new(0, 0, 0), 0);
        assert_eq!(used.roles[1].operations[1].empty, 1, "one had no row");
        used.roles[0].error(1, 0, *b"40001");
        used.roles[0].late_us_max = 3;
        used.roles[0].lag.saturating_record(4);
        used.roles[1].queue.saturating_record(5);
        assert_eq!(
            used.roles[1].operations[1].max_us, 3,
            "rounded to the nearest"
        );
        used.clear();
        assert_eq!(used.roles, record().roles);
    }

    #[test]
    fn times_beyond_an_hour_count_as_an_hour() {
        let mut used = record();
        let day_ns = 86_400_000_000_000;
        used.roles[0].complete(0, 0, Times::new(0, 0, day_ns), 1);
        let operation = &used.roles[0].operations[0];
        assert_eq!(
            (operation.max_us, operation.response.len()),
            (day_ns / 1000, 1)
        );
        assert!(operation.response.max() >= HISTOGRAM_US_MAX);
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
                        part.roles[role].complete(0, 0, Times::new(0, time_ns / 2, time_ns), rows);
                        part.roles[role].operations[0].retries += rows % 2;
                    }
                    part.roles[role].lag.saturating_record(time_ns / 3000);
                    part.roles[role].queue.saturating_record(time_ns / 5000);
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
