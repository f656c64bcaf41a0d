//! What the parts of an operation cost: `cargo bench --bench hot_path [-- NAME]`. No server, no socket.
//!
//! Times are of a loop that does nothing else, so caches are warm: a lower bound, and a way to see what a change does.

use divan::Bencher;
use divan::counter::ItemsCount;
use dyno_loadgen::draw::{Draw, Values};
use dyno_loadgen::job::{Engine, Format, Job, Protocol};
use dyno_loadgen::record::{Rows, Shape, TickRecord, Times};
use dyno_loadgen::run::run;
use dyno_loadgen::session::{Incoming, Reply, mysql, postgres};
use dyno_loadgen::statement::{ParameterKind, Parameters, Source, Statement};
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::mpsc::channel;
use wire::{message, mysql_packet};

#[path = "../tests/harness/wire.rs"]
mod wire;

/// Whose requests are written and whose answers are read.
const SERVERS: [Engine; 2] = [Engine::Postgres, Engine::Mysql];

/// Operations of one run of the whole engine.
const OPERATIONS: u64 = 100_000;

/// Of the whole engine: as few as benchmarks have, and as many as are held in one thread.
const CLIENTS: [u64; 4] = [8, 64, 512, 2_000];

fn main() {
    divan::main();
}

/// An example of the contract, for a server.
fn example(name: &str, server: Engine) -> Job {
    let path = format!("{}/contract/job-{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("an example");
    let job = Job::parse(&text).expect("a valid job");
    Job {
        engine: server,
        ..job
    }
}

/// A job whose one statement is a point query with a uniform key.
fn point_query(server: Engine) -> Job {
    let mut job = serde_json::to_value(example("l.i0", server)).expect("a job");
    job["values"] = json!([
        {"name": "id", "per": "statement", "format": "integer", "uniform": [1, 1_000_000]},
        {"name": "c", "per": "statement", "format": "text", "pattern": "###########-###########-@@@"},
        {"name": "data", "per": "statement", "format": "text",
         "text": {"fill": "a", "length": [10, 20], "random": 0.375}}]);
    job["statements"][0]["protocol"] = "prepared".into();
    job["statements"][0]["pieces"] = json!(["SELECT c FROM sbtest1 WHERE id = ", {"value": 0}]);
    serde_json::from_value(job).expect("a job")
}

fn draw_of(job: &Job) -> Draw {
    Draw::new(job, &job.roles[0], 0)
}

/// Encodes a statement again and again, each time with new values.
fn encode(bencher: Bencher, job: &Job, table: &str, parameters: &Parameters) {
    let values = Values::new(job);
    let statement = Statement::compile(job, 0, table);
    let (mut draw, mut out, mut number) = (draw_of(job), Vec::with_capacity(1 << 16), 0);
    bencher.bench_local(|| {
        out.clear();
        draw.begin(number);
        number += 1;
        let encoded = statement.encode(&values, &mut draw, parameters, &mut out);
        black_box((encoded, &out)).1.len()
    });
}

#[divan::bench(args = SERVERS)]
fn encode_point_query_prepared(bencher: Bencher, server: Engine) {
    let parameters = Parameters::new(vec![ParameterKind::Int4]);
    encode(bencher, &point_query(server), "sbtest1", &parameters);
}

#[divan::bench(args = SERVERS)]
fn encode_insert_of_50_rows_in_literals(bencher: Bencher, server: Engine) {
    let job = example("l.i1", server);
    encode(bencher, &job, "pi1", &Parameters::default());
}

#[divan::bench(args = SERVERS)]
fn encode_insert_of_50_rows_prepared(bencher: Bencher, server: Engine) {
    let mut job = example("l.i1", server);
    job.statements[0].protocol = Protocol::Prepared;
    job.statements[0].types.clear();
    let values = Values::new(&job);
    let sources = Statement::compile(&job, 0, "pi1").sources;
    let integer = |index: usize| values.list[index].format == Format::Integer;
    let kinds = sources.iter().map(|source| match source {
        Source::Cursor => ParameterKind::Int4,
        Source::Value(index) if integer(*index) => ParameterKind::Int4,
        Source::Value(_) | Source::Variable => ParameterKind::Text,
    });
    let parameters = Parameters::new(kinds.collect());
    encode(bencher, &job, "pi1", &parameters);
}

/// Draws a value of the point query's job, and writes it.
fn draw(bencher: Bencher, index: usize) {
    let job = point_query(Engine::Postgres);
    let values = Values::new(&job);
    let (mut draw, mut out) = (draw_of(&job), Vec::with_capacity(1 << 10));
    bencher.bench_local(|| {
        out.clear();
        draw.draw(&values, index);
        values.write(&mut out, index, &draw);
        black_box(&out).len()
    });
}

#[divan::bench]
fn draw_uniform(bencher: Bencher) {
    draw(bencher, 0);
}

#[divan::bench]
fn draw_pattern(bencher: Bencher) {
    draw(bencher, 1);
}

#[divan::bench]
fn draw_text(bencher: Bencher) {
    draw(bencher, 2);
}

/// Packets of MySQL's that follow each other, as they answer a request.
fn packets(bodies: &[&[u8]]) -> Vec<u8> {
    let numbered = (1..).zip(bodies);
    let packets = numbered.map(|(number, body)| mysql_packet(number, body));
    packets.collect::<Vec<_>>().concat()
}

/// Reads an answer again and again, as a session does that nobody captures.
fn parse(bencher: Bencher, mut reader: impl Incoming, answer: &[u8]) {
    let mut reply = Reply::default();
    bencher.bench_local(|| {
        reply.clear();
        reader.ask();
        let complete = reader.feed(black_box(answer), &mut reply);
        assert!(complete.expect("valid"));
        reply.rows
    });
}

/// What a server sends: of PostgreSQL these messages, or of MySQL these packets.
fn parse_answer(bencher: Bencher, server: Engine, messages: &[Vec<u8>], bodies: &[&[u8]]) {
    if server.is_mysql() {
        let reader = mysql::Reader::after(mysql::Framing::new(), false);
        parse(bencher, reader, &packets(bodies));
    } else {
        let reader = postgres::Reader::new(postgres::Framing::new());
        let ends = [messages.concat(), message(b'Z', b"I")].concat();
        parse(bencher, reader, &ends);
    }
}

/// Reads an answer of so many rows of one text of 100 characters, to a prepared statement.
fn parse_rows(bencher: Bencher, server: Engine, rows: usize) {
    let tag = message(b'C', format!("SELECT {rows}\0").as_bytes());
    let text = [b'x'; 100];
    let row = message(b'D', &[[0, 1, 0, 0, 0, 100].as_slice(), &text].concat());
    let column = b"\x03def\x02ib\x01t\x02t1\x01c\x01c\x0c\x08\0\x90\x01\0\0\xfe\0\0\0\0\0";
    let binary = [[0, 0, 100].as_slice(), &text].concat();
    let (count, end): (&[u8], &[u8]) = (b"\x01", b"\xfe\0\0\x02\0\0\0");
    let mut bodies = vec![count, column];
    bodies.resize(2 + rows, &binary);
    bodies.push(end);
    let messages = [message(b'2', b""), row.repeat(rows), tag];
    parse_answer(bencher, server, &messages, &bodies);
}

#[divan::bench(args = SERVERS)]
fn parse_one_row(bencher: Bencher, server: Engine) {
    parse_rows(bencher, server, 1);
}

#[divan::bench(args = SERVERS)]
fn parse_ten_rows(bencher: Bencher, server: Engine) {
    parse_rows(bencher, server, 10);
}

#[divan::bench(args = SERVERS)]
fn parse_error(bencher: Bencher, server: Engine) {
    let error = b"SERROR\0VERROR\0C40001\0Mcould not serialize access due to concurrent update\0\0";
    let packet =
        b"\xff\xbd\x04#40001Deadlock found when trying to get lock; try restarting transaction";
    let messages = [message(b'2', b""), message(b'E', error)];
    parse_answer(bencher, server, &messages, &[packet]);
}

#[divan::bench]
fn record_operation(bencher: Bencher) {
    let mut record = TickRecord::new(&Shape(vec![(8, 1)]));
    let mut number = 0_u64;
    bencher.bench_local(|| {
        number += 1;
        let end_ns = 100_000 + (number % 1000) * 1000;
        let times = Times::new(0, 10_000, black_box(end_ns));
        record.roles[0].complete(3, 0, times, Rows::beyond(0, 1));
    });
}

/// The engine alone, on the fake's clock: a worker's whole turn for each operation of so many clients, whose roles are
/// made of the one that has the point query. What it takes is shown for all operations, and as operations a second.
fn engine(bencher: Bencher, clients: u64, roles: impl FnOnce(Value) -> Vec<Value>) {
    let mut job = serde_json::to_value(point_query(Engine::Postgres)).expect("a job");
    job["engine"] = "fake".into();
    job["server"] = Value::Null;
    job["fake"] = json!({"default_us": 100});
    job["autostart"] = true.into();
    (job["clients"], job["tables"]) = (clients.into(), json!({"pi": 1}));
    let mut roles = roles(job["roles"][0].take());
    let operations = OPERATIONS / clients / roles.len() as u64;
    roles[0]["stop"] = json!({"operations": operations});
    job["stop"] = json!({"roles": [roles[0]["name"]]});
    job["roles"] = roles.into();
    let job: Job = serde_json::from_value(job).expect("a job");
    job.check().expect("valid");
    bencher
        .counter(ItemsCount::new(OPERATIONS))
        .bench_local(|| {
            let (sender, receiver) = channel();
            run(&job, (sender, &receiver), Box::new(std::io::sink()))
        });
}

/// The role at a client's part of a common rate.
fn paced(mut role: Value, clients: u64) -> Value {
    let per_s = 2_000.0 / clients as f64;
    role["pace"] = json!({"kind": "rate", "arrivals": "poisson", "per_s": per_s});
    role
}

/// One operation after the other.
#[divan::bench(sample_count = 20, args = CLIENTS)]
fn engine_on_the_fake(bencher: Bencher, clients: u64) {
    engine(bencher, clients, |role| vec![role]);
}

/// Each client at its part of a common rate.
#[divan::bench(sample_count = 20, args = CLIENTS)]
fn engine_on_the_fake_paced(bencher: Bencher, clients: u64) {
    engine(bencher, clients, |role| vec![paced(role, clients)]);
}

/// The same with a second role that is tied to the first.
#[divan::bench(sample_count = 20, args = CLIENTS)]
fn engine_on_the_fake_paced_pairs(bencher: Bencher, clients: u64) {
    engine(bencher, clients, |role| {
        let mut tied = role.clone();
        (tied["name"], tied["stop"]) = ("tied".into(), Value::Null);
        tied["pace"] = json!({"kind": "tied", "to": role["name"], "lead": 8});
        vec![paced(role, clients), tied]
    });
}
