//! What is counted: windows, ticks, transactions, segments, fills.

use crate::harness;
use crate::harness::{Played, fake, play};
use crate::{SECOND_NS, histograms, inserts, timed};
use dyno_loadgen::event::{Event, Status};
use dyno_loadgen::job::{ChoiceRule, Instruction, Job, Maker, Per, Piece, RoleStop, Segment};

#[test]
fn planted_service_times_give_exact_throughput() {
    for (service_us, window_ns) in [(500, 2_000_000_000), (525, 2_100_000_000)] {
        let played = play(&inserts(
            &format!(r#"{{"default_us": {service_us}}}"#),
            4000,
        ));
        assert_eq!((played.status, played.active_ns()), (Status::Ok, window_ns));
        assert_eq!(played.totals("insert"), [8000, 800_000, 0, 0]);
        let counts = played.counts("insert");
        assert_eq!(counts.iter().sum::<u64>(), 8000);
        assert_eq!(
            counts[0],
            2 * (SECOND_NS / 1000 / service_us),
            "a whole second"
        );
        let [response, service] = histograms(&played.ticks("insert"), "insert");
        for histogram in [response, service] {
            assert_eq!((histogram.min(), histogram.max()), (service_us, service_us));
            assert_eq!(histogram.len(), 8000);
        }
    }
}

#[test]
fn a_timed_window_opens_after_the_warm_up_and_has_what_is_in_flight_at_its_end_apart() {
    let played = play(&timed(r#"{"default_us": 300}"#, 3.0, 1.5));
    let open_ns = played.find(|event| match event {
        Event::WindowOpen { mono_ns } => Some(*mono_ns),
        _ => None,
    });
    assert_eq!(open_ns - played.start_ns(), 1_500_000_000);
    assert_eq!(played.active_ns(), 3 * SECOND_NS);
    assert_eq!(
        played.counts("insert"),
        [6666, 6666, 6668],
        "3,333.3 a second and client"
    );
    assert_eq!(played.drained("insert").connection_ns, Some(6 * SECOND_NS));
    let numbers: Vec<_> = played
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Tick(tick) => Some((tick.tick, tick.active_ns / 1_000_000, tick.measured)),
            _ => None,
        })
        .collect();
    assert_eq!(
        numbers,
        [
            (-1, 500, false),
            (0, 1000, false),
            (1, 1000, true),
            (2, 1000, true),
            (3, 1000, true),
            (4, 0, true)
        ]
    );
    assert_eq!(
        played.totals("insert")[0],
        30_002,
        "with the warm-up and the two in flight"
    );
}

/// Inserts of two clients behind a role that takes 1.5 s, in a step that is to warm up for so long.
fn behind_a_lead_in(warmup_s: f64) -> Played {
    let mut job = inserts(r#"{"default_us": 300}"#, 1000);
    let fake = job.fake.as_mut().unwrap();
    fake.service_us.insert("first".to_owned(), 1_500_000.0);
    let mut first = job.roles[0].clone();
    (first.name, first.per, first.table) = ("first".to_owned(), Per::Step, None);
    first.choose[0].program = job.programs.len();
    first.stop = Some(RoleStop {
        operations: Some(1),
    });
    let mut statement = job.statements[0].clone();
    "first".clone_into(&mut statement.name);
    let mut program = job.programs[0].clone();
    "first".clone_into(&mut program.name);
    program.code = vec![Instruction::Send(job.statements.len())];
    job.programs.push(program);
    job.statements.push(statement);
    job.roles[0].after = vec![first.name.clone()];
    job.roles.push(first);
    job.stop.warmup_s = warmup_s;
    job.check().expect("a step bound by work may warm up");
    play(&job)
}

#[test]
fn a_window_bound_by_work_opens_after_the_warm_up_and_has_what_begins_with_it() {
    let played = behind_a_lead_in(1.5);
    let open_ns = played.find(|event| match event {
        Event::WindowOpen { mono_ns } => Some(*mono_ns),
        _ => None,
    });
    assert_eq!(open_ns - played.start_ns(), 1_500_000_000);
    assert_eq!(played.active_ns(), 300_000_000, "a thousand of 300 us");
    assert_eq!(played.counts("insert"), [2000]);
    assert_eq!(played.totals("first")[0], 1);
    assert_eq!(played.status, Status::Ok);
}

#[test]
fn a_step_whose_work_is_done_before_its_window_opens_has_failed() {
    let played = behind_a_lead_in(60.0);
    assert_eq!(played.status, Status::Failed);
    let reason = played.reason().unwrap();
    assert!(
        reason.contains("within the 60 s of the warm-up"),
        "{reason}"
    );
}

#[test]
fn a_transaction_is_timed_as_a_whole_and_each_statement_too() {
    let description = r#"{"service_us": {"insert": 1000, "marketsegment": 2000, "registersegment": 3000, "pdc": 4000}, "default_us": 1}"#;
    let played = play(&fake("l.x", description));
    let ticks = played.ticks("index");
    assert_eq!(ticks.len(), 1);
    let times: Vec<_> = ticks[0]
        .operations
        .iter()
        .map(|(name, operation)| (name.as_str(), operation.count, operation.max_us))
        .collect();
    assert_eq!(
        times,
        [
            ("insert", 2, 1000),
            ("insert-and-index", 2, 10_000),
            ("marketsegment", 2, 2000),
            ("pdc", 2, 4000),
            ("registersegment", 2, 3000)
        ]
    );
    assert_eq!(ticks[0].per_client, [[1, 100, 0, 10_000]; 2]);
    let traced = played.events.iter().filter(|event| {
        matches!(event, Event::Operation { operation, rows: 100, error: None, .. } if operation == "insert-and-index")
    });
    assert_eq!(traced.count(), 2);
}

#[test]
fn rows_of_statements_that_commit_by_themselves_count_when_they_do() {
    let description = r#"{"service_us": {"insert": 500000}, "default_us": 1000000}"#;
    let rows = |job: &Job| -> Vec<[u64; 2]> {
        let played = play(job);
        assert_eq!(played.totals("index")[..2], [2, 200]);
        let ticks = played.ticks("index");
        let clients = ticks.iter().map(|tick| &tick.per_client[0]);
        clients.map(|client| [client[0], client[1]]).collect()
    };
    let mut job = fake("l.x", description);
    assert_eq!(rows(&job), [[0, 100], [0, 0], [0, 0], [1, 0]]);
    job.statements[1].pieces = vec![Piece::Text("begin".to_owned())];
    assert_eq!(rows(&job), [[0, 0], [0, 0], [0, 0], [1, 100]]);
}

#[test]
fn segments_together_do_what_one_process_does() {
    let mut job = inserts(r#"{"default_us": 500, "jitter": 0.1}"#, 500);
    job.clients = 4;
    let whole = play(&job);
    let parts: Vec<_> = (0..2)
        .map(|index| {
            job.segment = Segment { index, of: 2 };
            play(&job)
        })
        .collect();
    let last = |played: &Played, client: usize| {
        played.find(|event| match event {
            Event::WindowClose { ended, .. } => {
                Some(ended["insert"][client].map(|end_ns| end_ns - played.start_ns()))
            }
            _ => None,
        })
    };
    for client in 0..4 {
        assert_eq!(last(&parts[client % 2], client), last(&whole, client));
        assert_eq!(last(&parts[1 - client % 2], client), None);
    }
}

#[test]
fn a_fill_reports_rows_each_second() {
    let played = play(&fake(
        "fill",
        r#"{"service_us": {"row": 10}, "default_us": 1}"#,
    ));
    assert_eq!(
        (played.status, played.active_ns()),
        (Status::Ok, 10 * SECOND_NS)
    );
    assert_eq!(played.counts("fill"), [200_000; 10]);
    assert_eq!(played.totals("fill"), [2_000_000, 2_000_000, 0, 0]);
}

#[test]
fn clocks_and_bounds_by_cursors_are_the_only_values_that_time_changes() {
    // The choice of programs follows from the seed alone: service times do not matter.
    let counts = |service_us: u64| {
        let mut job = fake("qr100", &format!(r#"{{"default_us": {service_us}}}"#));
        job.roles.drain(..2);
        job.cursors[0].queued = false;
        job.roles[0].stop = Some(RoleStop {
            operations: Some(3000),
        });
        job.stop.roles = vec!["query".to_owned()];
        let played = play(&job);
        let ticks = played.ticks("query");
        let count = |name: &str| {
            ticks
                .iter()
                .map(|tick| tick.operations[name].count)
                .sum::<u64>()
        };
        [count("market"), count("register"), count("pdc")]
    };
    let counted = counts(100);
    assert_eq!(counted, counts(777));
    assert_eq!(counted.iter().sum::<u64>(), 6000);
    assert!(
        counted.iter().all(|count| (1880..2120).contains(count)),
        "{counted:?}"
    );
    assert!(matches!(
        harness::example("qr100").values[0].maker,
        Maker::Clock
    ));
}

#[test]
fn what_is_furthest_behind_is_chosen_by_each_connection_whatever_fails_and_comes_again() {
    let counts = |operations: u64, errors: &str| {
        let mut job = fake(
            "qr100",
            &format!(r#"{{"default_us": 100, "errors": [{errors}]}}"#),
        );
        job.roles.truncate(3);
        let role = &mut job.roles[2];
        role.choice = ChoiceRule::Deficit;
        (role.choose[0].weight, role.choose[1].weight) = (5, 2);
        role.connections = 3;
        role.stop = Some(RoleStop {
            operations: Some(3 * operations),
        });
        role.on_error.retry = vec!["40001".to_owned()];
        role.on_error.tries = 2;
        let query = role.name.clone();
        job.stop.roles = vec![query.clone()];
        let played = play(&job);
        assert_eq!(played.status, Status::Ok);
        let counted = ["market", "register", "pdc"].map(|name| {
            let ticks = played.ticks(&query);
            let of_name = ticks.iter().filter_map(|tick| tick.operations.get(name));
            of_name.map(|operation| operation.count).sum::<u64>()
        });
        (counted, played.totals(&query)[3])
    };
    // Of 2 clients with 3 connections each: by weights of 5, 2 and 1 each connection's 80, and 3 of the next turn.
    assert_eq!(counts(80, ""), ([300, 120, 60], 0));
    assert_eq!(counts(83, ""), ([312, 126, 60], 0));
    let error = r#"{"statement": "register", "every": 7, "code": "40001"}"#;
    let (counted, retries) = counts(80, error);
    assert_eq!(counted, [300, 120, 60], "a further try is no operation");
    assert_eq!(retries, 19, "120 and 19 tries again, each seventh fails");
}

#[test]
fn executions_without_a_row_are_counted_by_statement_and_by_transaction() {
    let played = play(&fake(
        "tables",
        r#"{"default_us": 100, "rows": {"point": 0, "points": 7}}"#,
    ));
    let sums = |name: &str| {
        let ticks = played.ticks("query");
        let of_name = ticks.iter().filter_map(|tick| tick.operations.get(name));
        of_name.fold([0, 0, 0], |[count, rows, empty], operation| {
            [
                count + operation.count,
                rows + operation.rows,
                empty + operation.empty,
            ]
        })
    };
    assert_eq!(sums("BEGIN"), [2000, 0, 2000]);
    assert_eq!(sums("point"), [4000, 0, 4000]);
    assert_eq!(sums("points"), [2000, 14_000, 0]);
    assert_eq!(sums("mixed"), [2000, 20_000, 0], "some statement had a row");
    let bare = play(&inserts(
        r#"{"default_us": 500, "rows": {"insert": 0}}"#,
        100,
    ));
    let tick = bare.ticks("insert")[0];
    assert_eq!(tick.operations["insert"].empty, 200);
}
