//! What a worker sends, byte for byte: cursors, further tries, and that nothing depends on time or threads.

use super::{Channels, Output, Worker};
use crate::job::{Arrivals, Job, Pace, Per, Piece, Queue, RoleStop, Segment, Stop, TableBy};
use crate::layout::{WorkerLayout, layout};
use crate::message::{Message, Note};
use crate::program::Compiled;
use crate::record::{Histogram, TickRecord};
use crate::session::fake::{FakeSessions, RequestLog};
use crate::shared::{Phase, Shared, Waker};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time at which the steps of these tests start.
pub(super) const START_NS: u64 = 1_000_000_000_000;

/// No step of these tests takes its workers as long.
const LONG: Duration = Duration::from_mins(1);

pub(super) fn example(name: &str, fake: &str) -> Job {
    let path = format!("{}/contract/job-{name}.json", env!("CARGO_MANIFEST_DIR"));
    let mut job: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    job["engine"] = "fake".into();
    job["fake"] = serde_json::from_str(fake).unwrap();
    Job::parse(&job.to_string()).unwrap()
}

/// Requests by role and connection number, as text, in the order in which they were sent.
pub(super) type Requests = BTreeMap<(String, u32), Vec<String>>;

/// Runs a job on that many workers, each with a fake of its own, and gives what each connection sent.
pub(super) fn requests(job: &Job, threads: usize) -> Requests {
    run(step(job, threads, 0), false).0
}

/// The workers of a step that has been let go and has not begun, each with a fake of its own.
pub(super) struct Step {
    pub(super) shared: Arc<Shared>,
    pub(super) workers: Vec<Worker<FakeSessions>>,
    /// By worker: its connections' names, and what they sent.
    logs: Vec<(Vec<(String, u32)>, RequestLog)>,
    outputs: Receiver<Output>,
    messages: Receiver<Message>,
}

/// A job's step on so many workers, where each reply takes a worker so long.
pub(super) fn step(job: &Job, threads: usize, handling_ns: u64) -> Step {
    let code = Arc::new(Compiled::new(job));
    let layouts = layout(job, threads);
    let wakers: Vec<_> = layouts.iter().map(|_| Waker::new().unwrap()).collect();
    let shared = Arc::new(Shared::new(job, &layouts, &wakers, 0));
    shared.command(Phase::Running, START_NS);
    let (output, outputs) = channel();
    let (to_caller, messages) = channel();
    let (mut logs, mut workers) = (Vec::new(), Vec::new());
    for (index, layout) in layouts.iter().enumerate() {
        let (mut sessions, opened) =
            FakeSessions::open(job, &code, layout, 0, wakers[index].clone());
        let log = RequestLog::default();
        (sessions.log, sessions.handling_ns) = (Some(Arc::clone(&log)), handling_ns);
        logs.push((names(job, layout), log));
        let (_, spare) = channel();
        let channels = Channels {
            output: output.clone(),
            messages: to_caller.clone(),
            spare,
        };
        let (code, shared) = (Arc::clone(&code), Arc::clone(&shared));
        workers.push(Worker::new(
            index, job, code, layout, shared, sessions, opened, channels,
        ));
    }
    Step {
        shared,
        workers,
        logs,
        outputs,
        messages,
    }
}

/// Runs a step to its end, with a pause that takes effect at the first tick if so asked for.
fn run(step: Step, paused: bool) -> (Requests, Vec<TickRecord>) {
    let shared = step.shared;
    if paused {
        shared.command(Phase::Pausing, START_NS);
    }
    let workers = step.workers.into_iter();
    let threads: Vec<_> = workers
        .map(|worker| std::thread::spawn(move || worker.run()))
        .collect();
    if paused {
        let message = || step.messages.recv_timeout(LONG).unwrap();
        while !matches!(message(), Message::Note(_, Note::Paused)) {}
        shared.command(Phase::Running, START_NS);
    }
    // Each worker ends when it is drained: the step as a whole has ended by itself before, unless a worker panics.
    while shared.ended().is_none() && !threads.iter().any(JoinHandle::is_finished) {
        std::thread::yield_now();
    }
    shared.command(Phase::Closing, START_NS);
    for thread in threads {
        thread.join().unwrap();
    }
    let mut requests = Requests::new();
    for (names, log) in step.logs {
        for (session, bytes) in log.lock().unwrap().iter() {
            let text = String::from_utf8_lossy(&bytes[5..bytes.len() - 1]).into_owned();
            requests
                .entry(names[*session].clone())
                .or_default()
                .push(text);
        }
    }
    (requests, ticks(&step.outputs))
}

/// The ticks that a step's workers have written.
fn ticks(outputs: &Receiver<Output>) -> Vec<TickRecord> {
    let ticks = outputs.try_iter().filter_map(|output| match output {
        Output::Tick(_, record) => Some(*record),
        Output::Event(_) | Output::End => None,
    });
    let mut ticks: Vec<_> = ticks.collect();
    // The last has no time: only what was in flight as the window closed.
    ticks.pop();
    ticks
}

/// The ticks of a job on one worker; some, as it has operations (a segment without any ends at once).
pub(super) fn ticks_of(job: &Job, handling_ns: u64) -> Vec<TickRecord> {
    let (_, ticks) = run(step(job, 1, handling_ns), false);
    assert!(!ticks.is_empty());
    ticks
}

/// The same with a pause that takes effect at the first tick and lasts a second.
pub(super) fn paused_ticks_of(job: &Job) -> Vec<TickRecord> {
    run(step(job, 1, 0), true).1
}

/// What each connection sends with such a pause, on that many workers.
pub(super) fn requests_around_a_pause(job: &Job, threads: usize) -> Requests {
    run(step(job, threads, 0), true).0
}

fn names(job: &Job, layout: &WorkerLayout) -> Vec<(String, u32)> {
    let groups = layout.groups.iter();
    let mut names: Vec<_> = groups
        .flat_map(|group| {
            let role = &job.roles[group.role].name;
            group
                .connections
                .iter()
                .map(move |connection| (role.clone(), connection.number))
        })
        .collect();
    names.extend(
        layout
            .probes
            .iter()
            .map(|client| ("probe".to_owned(), *client)),
    );
    names
}

pub(super) fn of<'a>(requests: &'a Requests, role: &str, connection: u32) -> &'a [String] {
    requests
        .get(&(role.to_owned(), connection))
        .map_or(&[], Vec::as_slice)
}

/// The number behind `>= ` in a DELETE.
fn low(delete: &str) -> i64 {
    let rest = delete.split(">= ").nth(1).unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_cursor_is_read_before_the_0th_1001st_and_2002nd_generation() {
    let mut job = example("l.i1", r#"{"default_us": 10, "cursor": {"tail": 7}}"#);
    job.roles[0].stop = Some(RoleStop {
        operations: Some(2500),
    });
    let requests = requests(&job, 1);
    let deletes = of(&requests, "delete", 0);
    assert_eq!(deletes.len(), 2500);
    let lows: Vec<_> = deletes.iter().map(|delete| low(delete)).collect();
    let expected: Vec<_> = (0..2500).map(|number| 7 + 50 * (number % 1001)).collect();
    assert_eq!(
        lows, expected,
        "it grows by 50 and begins anew with each reading"
    );
    for client in 0..2 {
        let sql = format!("SELECT min(transactionid) FROM pi{}", client + 1);
        assert_eq!(of(&requests, "probe", client), vec![sql; 3]);
    }
}

#[test]
fn a_cursor_that_is_never_read_again_is_counted_up_from_its_first_reading() {
    let mut job = example("l.i1", r#"{"default_us": 100, "cursor": {"tail": 7}}"#);
    job.cursors[0].resync_every = None;
    job.roles[0].stop = Some(RoleStop {
        operations: Some(2_500),
    });
    job.check().unwrap();
    let requests = requests(&job, 1);
    for client in 0..2 {
        assert_eq!(of(&requests, "probe", client).len(), 1);
        let lows = of(&requests, "delete", client).iter();
        let lows: Vec<_> = lows.map(|delete| low(delete)).collect();
        let expected: Vec<_> = (0..2_500).map(|number| 7 + 50 * number).collect();
        assert_eq!(lows, expected);
    }
}

/// How many deletes of client 0 had been sent when its tail was read, for each reading; deletes are `slow` times slower.
fn deletes_at_readings(queued: bool, slow: f64, per_s: Option<f64>) -> Vec<usize> {
    let mut job = example("l.i1", r#"{"default_us": 100, "cursor": {"tail": 7}}"#);
    job.clients = 1;
    (job.cursors[0].queued, job.cursors[0].resync_every) = (queued, Some(99));
    job.roles[0].stop = Some(RoleStop {
        operations: Some(301),
    });
    if let Some(per_s) = per_s {
        let arrivals = Arrivals::Burst;
        job.roles[0].pace = Pace::Rate { arrivals, per_s };
    }
    let service = &mut job.fake.as_mut().unwrap().service_us;
    service.insert("delete".to_owned(), 100.0 * slow);
    job.check().unwrap();
    let step = step(&job, 1, 0);
    let (names, log) = (step.logs[0].0.clone(), Arc::clone(&step.logs[0].1));
    let (requests, _) = run(step, false);
    let lows: Vec<_> = of(&requests, "delete", 0)
        .iter()
        .map(|delete| low(delete))
        .collect();
    let expected: Vec<_> = (0..301).map(|number| 7 + 50 * (number % 100)).collect();
    assert_eq!(
        lows, expected,
        "a reading is used by the statement that it is for"
    );
    let (mut deletes, mut readings) = (0, Vec::new());
    for (session, _) in log.lock().unwrap().iter() {
        match &*names[*session].0 {
            "delete" => deletes += 1,
            "probe" => readings.push(deletes),
            _ => {}
        }
    }
    readings
}

#[test]
fn a_queued_cursor_is_read_while_earlier_statements_wait_in_the_queue() {
    assert_eq!(deletes_at_readings(false, 10.0, None), [0, 100, 200, 300]);
    // Eight are queued, and one has been sent and not been answered.
    assert_eq!(deletes_at_readings(true, 10.0, None), [0, 92, 192, 292]);
}

#[test]
fn a_queued_cursor_sees_all_deletes_where_inserts_are_what_takes_long() {
    let readings = deletes_at_readings(true, 0.1, None);
    assert_eq!(readings, [0, 100, 200, 300]);
}

#[test]
fn a_queued_cursor_of_paced_inserts_is_read_in_the_burst_of_its_statement() {
    // Bursts of ten at the whole second: of those before, all deletes have been done.
    let readings = deletes_at_readings(true, 10.0, Some(10.0));
    assert_eq!(readings[0], 0);
    assert!(
        readings[1..]
            .iter()
            .zip([100, 200, 300])
            .all(|(at, next)| (next - 9..=next).contains(at)),
        "{readings:?}"
    );
}

#[test]
fn keys_lie_between_the_cursors() {
    let mut job = example(
        "qp100",
        r#"{"default_us": 50, "cursor": {"tail": 1000, "head": 1400}}"#,
    );
    job.roles[0].stop = Some(RoleStop {
        operations: Some(3),
    });
    let requests = requests(&job, 1);
    let points = of(&requests, "query", 1);
    assert!(points.len() > 10_000);
    for text in points {
        let keys = text
            .strip_prefix("EXECUTE s2_points_pi2(")
            .unwrap()
            .strip_suffix(')')
            .unwrap();
        let keys: Vec<i64> = keys.split(',').map(|key| key.parse().unwrap()).collect();
        assert_eq!(keys.len(), 10);
        assert!(keys.iter().all(|key| (1000..1400).contains(key)), "{text}");
    }
    let heads = of(&requests, "probe", 1)
        .iter()
        .filter(|sql| sql.contains("max"));
    assert_eq!(
        heads.count(),
        points.len().div_ceil(100),
        "each hundred queries"
    );
}

#[test]
fn a_further_try_sends_the_same_bytes_and_moves_no_cursor() {
    let description = r#"{"default_us": 10, "errors": [{"statement": "delete", "every": 7, "code": "40001"},
                                                      {"statement": "insert", "every": 5, "code": "40P01"}]}"#;
    let mut job = example("l.i1", description);
    (job.clients, job.values[0]) = (1, job.values[1].clone());
    job.roles[0].stop = Some(RoleStop {
        operations: Some(700),
    });
    let again = requests(&job, 1);
    job.fake.as_mut().unwrap().errors.clear();
    let once = requests(&job, 1);
    for role in ["insert", "delete"] {
        let mut sent = of(&again, role, 0).to_vec();
        assert!(sent.len() > 800, "{} {role}s", sent.len());
        sent.dedup();
        assert_eq!(sent, of(&once, role, 0));
    }
}

#[test]
fn a_transaction_that_fails_begins_anew_after_a_rollback_of_what_is_open() {
    let description =
        r#"{"default_us": 10, "errors": [{"statement": "pdc", "every": 2, "code": "40001"}]}"#;
    for begins in [true, false] {
        let mut job = example("l.x", description);
        job.clients = 1;
        job.roles[0].stop = Some(RoleStop {
            operations: Some(2),
        });
        if begins {
            job.statements[0]
                .pieces
                .insert(0, Piece::Text("BEGIN; ".to_owned()));
        }
        let requests = requests(&job, 1);
        let sent = of(&requests, "index", 0);
        let words: Vec<_> = sent
            .iter()
            .filter_map(|text| text.split(' ').next())
            .collect();
        let first = if begins { "BEGIN;" } else { "INSERT" };
        let whole = [first, "CREATE", "CREATE", "CREATE"];
        let rollback: &[_] = if begins { &["ROLLBACK"] } else { &[] };
        // The second's last statement is refused.
        assert_eq!(words, [&whole, &whole, rollback, &whole].concat());
        let again = 8 + rollback.len();
        assert_eq!(sent[4], sent[again], "with the same values");
    }
}

#[test]
fn what_is_sent_depends_neither_on_time_nor_on_threads_nor_on_segments() {
    let mut job = example("l.i1", r#"{"default_us": 100, "cursor": {"tail": 3}}"#);
    job.clients = 4;
    job.tables.insert("pi".to_owned(), 4);
    // The clock is the one value that time may change.
    job.values[0] = job.values[1].clone();
    job.roles[0].stop = Some(RoleStop {
        operations: Some(60),
    });
    let whole = requests(&job, 1);
    assert_eq!(of(&whole, "insert", 3).len(), 60);
    assert_ne!(
        of(&whole, "insert", 3)[0],
        of(&whole, "insert", 2)[0].replace("pi3", "pi4")
    );
    assert_eq!(requests(&job, 3), whole, "on three threads");
    let mut slow = job.clone();
    let fake = slow.fake.as_mut().unwrap();
    (fake.default_us, fake.jitter) = (3333.0, 0.5);
    slow.roles[0].pace = Pace::Rate {
        arrivals: Arrivals::Burst,
        per_s: 20.0,
    };
    assert_eq!(requests(&slow, 1), whole, "at another speed and pace");
    let mut parts = Requests::new();
    for index in 0..2 {
        job.segment = Segment { index, of: 2 };
        parts.extend(requests(&job, 1));
    }
    assert_eq!(parts, whole, "in two processes");
    job.segment = Segment::default();
    job.step = "l.i2".to_owned();
    assert_ne!(requests(&job, 1), whole, "another step draws other values");
}

#[test]
fn threads_deal_out_the_arrivals_of_a_role_of_the_step() {
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        let mut job = example("l.i0", r#"{"default_us": 100}"#);
        job.values[0] = job.values[1].clone();
        let role = &mut job.roles[0];
        (role.per, role.connections) = (Per::Step, 6);
        role.table.as_mut().unwrap().by = TableBy::ByConnection;
        role.stop = Some(RoleStop {
            operations: Some(50),
        });
        role.pace = Pace::Rate {
            arrivals,
            per_s: 1000.0,
        };
        assert_eq!(layout(&job, 4).len(), 1, "{arrivals:?}");
        job.roles[0].queue = Queue::Thread;
        assert_eq!(layout(&job, 4).len(), 4, "{arrivals:?}");
        let whole = requests(&job, 1);
        assert_eq!(whole.values().map(Vec::len).sum::<usize>(), 50);
        assert_eq!(requests(&job, 4), whole, "{arrivals:?}");
    }
}

/// A hundred closed clients whose replies come all at once, and a role of the step that is paced beside them.
fn crowd() -> Job {
    let mut job = example("l.i0", r#"{"default_us": 2000}"#);
    job.statements[0].pieces = vec![Piece::Text("SELECT 1".to_owned())];
    job.clients = 100;
    job.roles[0].stop = None;
    let mut paced = job.roles[0].clone();
    (paced.name, paced.per, paced.connections) = ("paced".to_owned(), Per::Step, 20);
    paced.pace = Pace::Rate {
        arrivals: Arrivals::Even,
        per_s: 1000.0,
    };
    job.roles.push(paced);
    job.stop = Stop {
        seconds: Some(1.0),
        ..Stop::default()
    };
    job.check().unwrap();
    job
}

/// What a histogram has counted, at least something.
fn counts<const FINE: bool>(histogram: &Histogram<FINE>) -> &hdrhistogram::Histogram<u32> {
    histogram.counts().unwrap()
}

#[test]
fn the_generators_own_queue_and_delay_are_told_apart_from_the_servers() {
    // A crowd of a hundred takes a worker 2 ms: the last reply lies unread so long.
    let ticks = ticks_of(&crowd(), 20_000);
    let [closed, paced] = [&ticks[0].roles[0], &ticks[0].roles[1]];
    assert_eq!(
        (counts(&closed.lag).max(), counts(&closed.queue).min()),
        (0, 20)
    );
    assert!(
        (1990..2500).contains(&counts(&closed.queue).max()),
        "{}",
        counts(&closed.queue).max()
    );
    let service_ns = counts(&closed.operations[0].service).max();
    assert!(service_ns >= 1000 * (1980 + counts(&closed.queue).max()));
    assert_eq!(counts(&paced.lag).len(), 1000);
    assert!(
        (50..=90).contains(&counts(&paced.lag).max()),
        "{}: what is due does not wait for a whole crowd's replies",
        counts(&paced.lag).max()
    );
    let ticks = ticks_of(&crowd(), 0);
    for role in &ticks[0].roles {
        assert_eq!((counts(&role.lag).max(), counts(&role.queue).max()), (0, 0));
    }
}

#[test]
fn what_waited_for_a_cursor_is_late_but_not_by_the_generator() {
    let description = r#"{"default_us": 100, "service_us": {"tail": 5000}, "cursor": {"tail": 3}}"#;
    let mut job = example("l.i1", description);
    job.clients = 1;
    job.roles[0].stop = Some(RoleStop {
        operations: Some(50),
    });
    let ticks = ticks_of(&job, 0);
    let delete = &ticks[0].roles[1];
    assert_eq!(
        (delete.operations[0].count, counts(&delete.lag).len()),
        (50, 49)
    );
    assert_eq!((delete.late_us_max, counts(&delete.lag).max()), (5000, 0));
}
