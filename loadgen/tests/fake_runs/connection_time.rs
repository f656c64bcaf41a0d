//! The rate of operations that take any time, in windows and in turns: counted by when they begin, and by the time that
//! their connections were at them, it has no bias.

use crate::harness::{Played, play};
use crate::timed;
use dyno_loadgen::event::{Event, Tick};
use dyno_loadgen::job::{Arrivals, Pace};

/// Operations that count, and the time of connections in seconds, of a role.
fn counted(played: &Played) -> (u64, f64) {
    let ticks: Vec<&Tick> = played
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Tick(tick) if tick.measured => Some(tick),
            _ => None,
        })
        .collect();
    let clients = ticks.iter().flat_map(|tick| &tick.per_client);
    let time_ns: u64 = ticks.iter().filter_map(|tick| tick.connection_ns).sum();
    (clients.map(|client| client[0]).sum(), time_ns as f64 / 1e9)
}

/// A job of so many connections whose operations take so long, in a window of `window_s`, in turns where `turns_s` says.
fn played(delay_ms: f64, connections: u32, window_s: f64, turns_s: Option<f64>) -> Played {
    let turns = turns_s.map_or(String::new(), |turns_s| {
        format!(r#", "turns_s": {turns_s}"#)
    });
    let fake = format!(r#"{{"default_us": {}{turns}}}"#, delay_ms * 1000.0);
    let mut job = timed(&fake, window_s, 1.0);
    job.clients = connections;
    play(&job)
}

#[test]
fn the_rate_of_operations_of_any_length_is_exact_in_windows_and_in_turns() {
    let mut told = 0;
    for delay_ms in [
        0.1, 3.0, 19.0, 21.0, 100.1, 103.2, 195.0, 205.0, 750.0, 1240.0, 5000.0,
    ] {
        for (window_s, turns_s) in [
            (10.0, None),
            (2.0, None),
            (8.0, Some(1.0)),
            (8.0, Some(0.2)),
            (16.0, Some(2.0)),
        ] {
            let (count, time_s) = counted(&played(delay_ms, 4, window_s, turns_s));
            if count == 0 {
                assert!(
                    delay_ms >= 195.0 && time_s == 0.0,
                    "{delay_ms} ms, {turns_s:?}"
                );
                continue;
            }
            let ratio = count as f64 / time_s * delay_ms / 1000.0;
            assert!(
                (ratio - 1.0).abs() < 1e-9,
                "{delay_ms} ms in {window_s} s, turns {turns_s:?}: {ratio} of the true rate"
            );
            told += 1;
        }
    }
    assert!(told > 40, "{told} of 55 tell a rate");
}

#[test]
fn time_in_which_a_connection_is_idle_by_its_schedule_or_lost_counts() {
    let mut job = timed(r#"{"default_us": 30000, "turns_s": 1.0}"#, 8.0, 1.0);
    job.clients = 4;
    let per_s = 7.3;
    job.roles[0].pace = Pace::Rate {
        arrivals: Arrivals::Even,
        per_s,
    };
    let (count, time_s) = counted(&play(&job));
    let rate = count as f64 / time_s;
    assert!(
        (rate / per_s - 1.0).abs() < 0.03,
        "{rate} of {per_s} a second"
    );
    // From 5 s to 7 s nobody is served: those are seconds without operations, and no shorter window.
    let job = timed(
        r#"{"default_us": 1000, "stalls": [{"at_s": 5.0, "for_s": 2.0}]}"#,
        10.0,
        1.0,
    );
    let (count, time_s) = counted(&play(&job));
    assert_eq!((count, (time_s * 10.0).round()), (16_000, 200.0));
}

#[test]
fn a_sleep_that_a_pause_cuts_short_counts_with_its_whole_time() {
    let mut job = timed(r#"{"default_us": 1000, "turns_s": 1.0}"#, 8.0, 1.0);
    job.clients = 1;
    let send = job.programs[0].code[0];
    job.programs[0].name = "pair".to_owned();
    job.programs[0].code = vec![send, dyno_loadgen::job::Instruction::Sleep(300_000), send];
    let (count, time_s) = counted(&play(&job));
    let each_s = time_s / count as f64;
    assert!(
        (each_s - 0.302).abs() < 1e-6,
        "{each_s} s in place of 0.302"
    );
}
