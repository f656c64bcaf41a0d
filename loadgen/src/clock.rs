//! The system's clocks, in nanoseconds.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// What the wall clock (CLOCK_REALTIME) is ahead of CLOCK_MONOTONIC, in nanoseconds.
#[must_use]
pub fn unix_ahead_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime)).saturating_sub(monotonic_ns())
}

/// CPU that this process has spent, in nanoseconds.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU that this thread has spent, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
