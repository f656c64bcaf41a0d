//! Many short pauses of a step on several threads: none is lost, and no operation.

use crate::process::Generator;
use crate::programs::{NullServer, done};
use dyno_loadgen::event::{Event, Status};
use serde_json::{Value, json};

const PAUSES: usize = 30;
const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn each_of_a_flurry_of_pauses_takes_place_and_all_active_time_is_kept() {
    let server = NullServer::start();
    let mut job = server.job("l.i0");
    (job["autostart"], job["threads"], job["clients"]) = (false.into(), 2.into(), 20.into());
    job["values"] = json!([]);
    job["statements"][0]["pieces"] = json!(["SELECT 1"]);
    job["roles"][0]["stop"] = Value::Null;
    job["stop"] = json!({"roles": [], "seconds": 0.5, "warmup_s": 0.0, "seconds_max": null});
    let mut generator = Generator::start(&job);
    generator.until("ready");
    generator.command("go");
    for _ in 0..PAUSES {
        generator.command("pause");
        generator.command("resume");
    }
    generator.until("window_close");
    generator.command("stop");
    let ended = generator.end();
    let count = |wanted: fn(&Event) -> bool| {
        let events = ended.events.iter();
        events.filter(|event| wanted(event)).count()
    };
    assert_eq!(count(|event| matches!(event, Event::Paused { .. })), PAUSES);
    assert_eq!(
        count(|event| matches!(event, Event::Resumed { .. })),
        PAUSES
    );
    let (mut active_ns, mut counted) = (0, 0);
    for event in &ended.events {
        if let Event::Tick(tick) = event {
            active_ns += tick.active_ns;
            counted += tick.operations["insert"].count;
        }
    }
    assert_eq!(active_ns, SECOND_NS / 2);
    let done = done(&ended);
    assert_eq!((done.status, done.reason), (Status::Ok, None));
    let insert = done.totals["insert"];
    assert!(insert.errors == 0 && insert.count > counted, "{insert:?}");
    let shares = done.threads.iter().map(|thread| thread.busy_share);
    assert!(
        shares.clone().all(|share| share > 0.0 && share <= 1.05),
        "{shares:?}"
    );
}
