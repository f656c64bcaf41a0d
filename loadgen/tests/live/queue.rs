//! The generator's own queue, which is the same by whichever way it waits.

use crate::generator::{selects, server};
use crate::io_uring_here;
use crate::process::run;
use crate::server::Server;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_loadgen::event::{Event, Status};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// Far more than there are processors, so that sessions take them from the worker that has sent to them.
const CONNECTIONS: u32 = 32;

fn add(whole: &mut Histogram<u64>, text: &str) {
    let bytes = STANDARD.decode(text).unwrap();
    let part: Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .unwrap();
    whole.add(part).unwrap();
}

/// The medians of the generator's queue in microseconds and of service times in nanoseconds, of a query that takes the server a while.
fn medians(server: &Server, wait: &str) -> [u64; 2] {
    let mut job = selects(server, CONNECTIONS, 1.0);
    (job["wait"], job["threads"]) = (wait.into(), 1.into());
    job["statements"][0]["pieces"] =
        serde_json::json!(["SELECT count(*) FROM generate_series(1, 1000)"]);
    let ended = run(&job);
    assert_eq!(ended.done().0, Status::Ok, "{:?}", ended.done());
    let [mut queue, mut service] = [(); 2].map(|()| Histogram::new(3).unwrap());
    for event in &ended.events {
        if let Event::Tick(tick) = event {
            add(&mut queue, &tick.queue);
            let operations = tick.operations.values();
            operations.for_each(|operation| add(&mut service, &operation.service));
        }
    }
    [queue, service].map(|times| times.value_at_quantile(0.5))
}

#[test]
fn what_the_server_does_is_not_the_generators_queue_by_either_way() {
    let Some(server) = server() else { return };
    if !io_uring_here::allowed() {
        return;
    }
    let found = ["epoll", "io_uring"].map(|wait| medians(&server, wait));
    for [queue_us, service_ns] in found {
        assert!(
            queue_us * 4000 < service_ns,
            "by epoll and by io_uring [queue in µs, service in ns]: {found:?}"
        );
    }
}
