//! What the parts of an operation cost: `cargo bench --bench hot_path [-- NAME]`. No server, no socket.
//!
//! Times are of a loop that does nothing else, so caches are warm: a lower bound, and a way to see what a change does.

use divan::Bencher;
use divan::counter::ItemsCount;
use dyno_loadgen::draw::{Draw, Values};
use dyno_loadgen::job::{Format, Job, Protocol};
use dyno_loadgen::record::{Rows, Shape, TickRecord, Times};
use dyno_loadgen::run::run;
use dyno_loadgen::session::postgres::{Framing, Reader};
use dyno_loadgen::session::{Incoming, Reply};
use dyno_loadgen::statement::{ParameterKind, Parameters, Source, Statement};
use std::hint::black_box;
use std::sync::mpsc::channel;

/// Operations of one run of the whole engine.
const OPERATIONS: u64 = 100_000;

fn main() {
    divan::main();
}

/// An example of the contract.
fn example(name: &str) -> Job {
    let path = format!("{}/contract/job-{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("an example");
    Job::parse(&text).expect("a valid job")
}

/// A job whose one statement is a point query with a uniform key.
fn point_query() -> Job {
    let mut job = serde_json::to_value(example("l.i0")).expect("a job");
    job["values"] = serde_json::json!([
        {"name": "id", "per": "statement", "format": "integer", "uniform": [1, 1_000_000]},
        {"name": "c", "per": "statement", "format": "text", "pattern": "###########-###########-@@@"},
        {"name": "data", "per": "statement", "format": "text",
         "text": {"fill": "a", "length": [10, 20], "random": 0.375}}]);
    job["statements"][0]["protocol"] = "prepared".into();
    job["statements"][0]["pieces"] =
        serde_json::json!(["SELECT c FROM sbtest1 WHERE id = ", {"value": 0}]);
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

#[divan::bench]
fn encode_point_query_prepared(bencher: Bencher) {
    let parameters = Parameters::new(vec![ParameterKind::Int4]);
    encode(bencher, &point_query(), "sbtest1", &parameters);
}

#[divan::bench]
fn encode_insert_of_50_rows_in_literals(bencher: Bencher) {
    encode(bencher, &example("l.i1"), "pi1", &Parameters::default());
}

#[divan::bench]
fn encode_insert_of_50_rows_prepared(bencher: Bencher) {
    let mut job = example("l.i1");
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
    let job = point_query();
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

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
    [&[tag], &length[..], body].concat()
}

/// Reads an answer again and again, as a session does that nobody captures.
fn parse(bencher: Bencher, messages: &[Vec<u8>]) {
    let answer = [&messages.concat()[..], &message(b'Z', b"I")].concat();
    let (mut reader, mut reply) = (Reader::new(Framing::new()), Reply::default());
    bencher.bench_local(|| {
        reply.clear();
        reader.ask();
        let complete = reader.feed(black_box(&answer), &mut reply);
        assert!(complete.expect("valid"));
        reply.rows
    });
}

/// A row of one text of 100 characters.
fn row() -> Vec<u8> {
    message(
        b'D',
        &[[0, 1, 0, 0, 0, 100].as_slice(), &[b'x'; 100]].concat(),
    )
}

#[divan::bench]
fn parse_one_row(bencher: Bencher) {
    let tag = message(b'C', b"SELECT 1\0");
    parse(bencher, &[message(b'2', b""), row(), tag]);
}

#[divan::bench]
fn parse_ten_rows(bencher: Bencher) {
    let tag = message(b'C', b"SELECT 10\0");
    parse(bencher, &[message(b'2', b""), row().repeat(10), tag]);
}

#[divan::bench]
fn parse_error(bencher: Bencher) {
    let error = b"SERROR\0VERROR\0C40001\0Mcould not serialize access due to concurrent update\0\0";
    parse(bencher, &[message(b'2', b""), message(b'E', error)]);
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

/// The engine alone: a worker's whole turn for each operation, on the fake's clock. What it takes is shown for all of
/// them, and as operations a second.
#[divan::bench(sample_count = 20)]
fn engine_on_the_fake(bencher: Bencher) {
    let mut job = serde_json::to_value(point_query()).expect("a job");
    job["engine"] = "fake".into();
    job["server"] = serde_json::Value::Null;
    job["fake"] = serde_json::json!({"default_us": 100});
    job["autostart"] = true.into();
    (job["clients"], job["tables"]) = (8.into(), serde_json::json!({"pi": 1}));
    job["roles"][0]["stop"] = serde_json::json!({"operations": OPERATIONS / 8});
    job["stop"] = serde_json::json!({"roles": [job["roles"][0]["name"]]});
    let job: Job = serde_json::from_value(job).expect("a job");
    job.check().expect("valid");
    bencher
        .counter(ItemsCount::new(OPERATIONS))
        .bench_local(|| {
            let (sender, receiver) = channel();
            run(&job, (sender, &receiver), Box::new(std::io::sink()))
        });
}
