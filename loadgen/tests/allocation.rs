//! The engine allocates nothing for an operation: ten times as many in a second make no difference.

#![expect(
    unsafe_code,
    reason = "an allocator can only be given by an unsafe trait"
)]

mod harness;

use dyno_loadgen::job::{Job, Pace, Protocol, Stop};
use harness::{fake, play};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The system's allocator, counting what all threads ask of it.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, bytes) }
    }
}

/// Operations and allocations of a second with inserts, tied deletes by a cursor, and queries in three protocols.
fn second(service_us: u32) -> (u64, u64) {
    let mut job = fake("qr100", &format!(r#"{{"default_us": {service_us}}}"#));
    job.roles[0].pace = Pace::Closed {};
    job.roles[0].stop = None;
    job.cursors[0].resync_every = None;
    for (statement, protocol) in [(3, Protocol::Prepared), (4, Protocol::Extended)] {
        job.statements[statement].protocol = protocol;
        job.statements[statement].types.clear();
    }
    count(job)
}

/// Operations and allocations of a second in which each maker of numbers is drawn from.
fn second_of_values(service_us: u32) -> (u64, u64) {
    let mut job = fake("values", &format!(r#"{{"default_us": {service_us}}}"#));
    job.roles[0].stop = None;
    count(job)
}

/// Operations and allocations of a job that lasts a second.
fn count(mut job: Job) -> (u64, u64) {
    job.stop = Stop {
        seconds: Some(1.0),
        ..Stop::default()
    };
    let before = ALLOCATIONS.load(Relaxed);
    let played = play(&job);
    let allocations = ALLOCATIONS.load(Relaxed) - before;
    let roles = job.roles.iter();
    let operations = roles.map(|role| played.totals(&role.name)[0]).sum();
    (operations, allocations)
}

#[test]
fn an_operation_allocates_nothing() {
    compare(second, 5_900);
    compare(second_of_values, 5_900);
}

/// Refuses allocations for the operations that are more where the server is ten times as fast.
fn compare(second: impl Fn(u32) -> (u64, u64), least: u64) {
    let (few, allocations_of_few) = second(1000);
    let (many, allocations_of_many) = second(100);
    assert!(few > least && many > least * 10, "{few} and {many}");
    let more = allocations_of_many.saturating_sub(allocations_of_few);
    assert!(
        more < 100,
        "{more} allocations more for {} operations more",
        many - few
    );
}
