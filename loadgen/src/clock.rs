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

/// How long this thread has been ready to run without a processor, since it was started; none where the kernel does not tell.
#[must_use]
pub fn thread_runnable_ns() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().nth(1)?.parse().ok()
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
