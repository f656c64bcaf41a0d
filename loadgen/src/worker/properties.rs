//! What is promised of every job, on random ones: what is sent depends neither on time nor on threads nor on segments.

use super::tests::{Requests, example, of, requests};
use crate::job::{Arrivals, FakeError, Job, OnError, Pace, Per, RoleStop, Segment, TableBy};
use proptest::prelude::*;

/// What changes from run to run and must not matter.
#[derive(Debug, Clone)]
struct Circumstances {
    threads: usize,
    segments: u32,
    service_us: u32,
    pace: Option<(Arrivals, u32)>,
    /// Each so many executions fail and are tried again.
    errors_every: Option<u64>,
}

fn circumstances() -> impl Strategy<Value = Circumstances> {
    let arrivals = prop_oneof![
        Just(Arrivals::Even),
        Just(Arrivals::Poisson),
        Just(Arrivals::Burst)
    ];
    (
        1_usize..4,
        1_u32..4,
        1_u32..20_000,
        prop::option::of((arrivals, 1_u32..2000)),
        prop::option::of(2_u64..30),
    )
        .prop_map(
            |(threads, segments, service_us, pace, errors_every)| Circumstances {
                threads,
                segments,
                service_us,
                pace,
                errors_every,
            },
        )
}

/// What is sent: the same in all circumstances.
#[derive(Debug, Clone)]
struct Content {
    seed: u64,
    clients: u32,
    connections: u32,
    operations: u64,
    per: Per,
    /// Inserts with tied deletes that follow a cursor, instead of inserts alone.
    tied: bool,
    /// Tables that are drawn for each operation, of so many.
    drawn: Option<u32>,
}

fn content() -> impl Strategy<Value = Content> {
    (
        any::<u64>(),
        1_u32..5,
        1_u32..5,
        1_u64..60,
        any::<[bool; 2]>(),
        prop::option::of(1_u32..9),
    )
        .prop_map(
            |(seed, clients, connections, operations, [of_step, tied], drawn)| Content {
                seed,
                clients,
                connections: if tied { 1 } else { connections },
                operations,
                per: if of_step && !tied {
                    Per::Step
                } else {
                    Per::Client
                },
                tied,
                drawn: drawn.filter(|_| !tied),
            },
        )
}

fn job(content: &Content, around: &Circumstances) -> Job {
    let name = if content.tied { "l.i1" } else { "l.i0" };
    let description = format!(
        r#"{{"default_us": {}, "jitter": 0.5, "cursor": {{"tail": 3}}}}"#,
        around.service_us
    );
    let cursorless = description.replace(r#", "cursor": {"tail": 3}"#, "");
    let mut job = example(
        name,
        if content.tied {
            &description
        } else {
            &cursorless
        },
    );
    // The clock is the one value that time may change.
    job.values[0].maker = job.values[1].maker.clone();
    (job.seed, job.clients) = (content.seed, content.clients);
    let tables = content.drawn.unwrap_or(content.clients);
    job.tables.insert("pi".to_owned(), tables);
    let role = &mut job.roles[0];
    if let (Some(_), Some(table)) = (content.drawn, &mut role.table) {
        table.by = TableBy::Uniform;
    }
    (role.per, role.connections) = (content.per, content.connections);
    role.stop = Some(RoleStop {
        operations: Some(content.operations),
    });
    if let Some((arrivals, per_s)) = around.pace {
        role.pace = Pace::Rate {
            arrivals,
            per_s: f64::from(per_s),
        };
    }
    if let (Some(every), Some(fake)) = (around.errors_every, &mut job.fake) {
        role.on_error = OnError {
            retry: vec!["40001".to_owned()],
            tries: u32::MAX,
            ..OnError::default()
        };
        fake.errors = vec![FakeError {
            statement: "insert".to_owned(),
            every,
            code: "40001".to_owned(),
        }];
    }
    job
}

/// All that the processes send of which a job consists in these circumstances; a further try once.
fn sent(content: &Content, around: &Circumstances) -> Requests {
    let mut job = job(content, around);
    let shared_bursts =
        content.per == Per::Step && matches!(around.pace, Some((Arrivals::Burst, _)));
    let enough = match content.per {
        Per::Client => content.clients,
        Per::Step => content.connections,
    };
    let segments = if shared_bursts {
        1
    } else {
        around.segments.min(enough)
    };
    let mut all = Requests::new();
    for index in 0..segments {
        job.segment = Segment {
            index,
            of: segments,
        };
        job.check().unwrap();
        for (connection, mut texts) in requests(&job, around.threads) {
            // No two operations draw the same hundred rows.
            texts.dedup();
            assert!(
                all.insert(connection, texts).is_none(),
                "sent by two processes"
            );
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_sent_depends_on_the_content_alone(content in content(), around in circumstances()) {
        let plain = Circumstances { threads: 1, segments: 1, service_us: 100, pace: None, errors_every: None };
        let expected = sent(&content, &plain);
        prop_assert_eq!(&sent(&content, &around), &expected);
        let places = match content.per {
            Per::Client => content.clients,
            Per::Step => 1,
        };
        let counts: Vec<_> = (0..places * content.connections)
            .map(|number| of(&expected, "insert", number).len() as u64)
            .collect();
        prop_assert_eq!(counts.iter().sum::<u64>(), content.operations * u64::from(places));
        for share in counts.chunks(usize::try_from(content.connections).unwrap()) {
            prop_assert!(share.is_sorted_by(|first, second| first >= second), "the remainder goes to the first");
            prop_assert!(share[0] - share[share.len() - 1] <= 1);
        }
    }
}
