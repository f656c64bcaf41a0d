//! Tests of statements: as text, bound, and what does not fit.

use super::*;
use crate::job::Maker;
use crate::samples::{Samples, Tuples};

fn job() -> Job {
    Job::parse(
        r#"{"protocol": 1, "seed": 1, "step": "s", "engine": "fake", "fake": {"default_us": 1}, "clients": 1,
            "utc_offset_s": 3600, "tables": {"t": 3},
            "values": [{"name": "id", "per": "item", "format": "integer", "uniform": [1, 9]},
                       {"name": "next", "per": "item", "format": "decimal2", "add": {"value": 0, "plus": 100}},
                       {"name": "text", "per": "statement", "format": "text", "pattern": "it's #"},
                       {"name": "now", "per": "statement", "format": "timestamp", "clock": "second"}],
            "cursors": [{"name": "tail", "start": "SELECT 1"}],
            "statements": [
              {"name": "Insert-it", "protocol": "simple", "pieces": ["INSERT INTO ", {"table": "t"}, " VALUES ",
                {"repeat": 2, "separator": ", ", "pieces": ["(", {"value": 0}, ",", {"value": 1}, ",", {"value": 2}, ",", {"value": 3}, ")"]}]},
              {"name": "get", "protocol": "execute", "types": ["bigint", "bigint", "bigint"],
               "pieces": ["SELECT ", {"cursor": 0}, " FROM ", {"table": "t"}, " WHERE id IN (", {"repeat": 2, "separator": ",", "pieces": [{"value": 0}]}, ")"]},
              {"name": "bound", "protocol": "prepared", "pieces": ["SELECT ", {"value": 0}, ", ", {"value": 2}]}],
            "programs": [{"name": "p", "code": [["send", 0], ["send", 1], ["send", 2]]}],
            "roles": [{"name": "r", "per": "client", "connections": 1, "choose": [{"program": 0, "weight": 1}],
                       "table": {"of": "t", "by": "own"}, "pace": {"kind": "closed"}}],
            "stop": {"seconds": 1}}"#,
    )
    .unwrap()
}

fn draw(job: &Job) -> (Values, Draw) {
    let mut draw = Draw::new(job, &job.roles[0], 0);
    draw.begin(0);
    draw.cursors[0] = -7;
    draw.unix_s = 86_400;
    (Values::new(job), draw)
}

#[test]
fn a_simple_statement_holds_literals_and_draws_anew_for_each_item() {
    let job = job();
    let (values, mut draw) = draw(&job);
    let statement = Statement::compile(&job, 0, "t2");
    let mut out = Vec::new();
    statement
        .encode(&values, &mut draw, &Parameters::default(), &mut out)
        .unwrap();
    let text = String::from_utf8(out[5..out.len() - 1].to_vec()).unwrap();
    assert_eq!((out[0], out[out.len() - 1]), (b'Q', 0));
    let rows: Vec<_> = text
        .strip_prefix("INSERT INTO t2 VALUES (")
        .and_then(|rest| rest.strip_suffix(")"))
        .unwrap()
        .split("), (")
        .map(|row| row.split(',').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for row in &rows {
        let id: i64 = row[0].parse().unwrap();
        assert!((1..=9).contains(&id));
        assert_eq!(
            row[1],
            format!("{}.00", id + 100),
            "it adds to the item's own value"
        );
        assert!(row[2].starts_with("'it''s ") && row[2].ends_with('\''));
        assert_eq!(row[3], "'1970-01-02 01:00:00'");
    }
    assert_eq!(
        rows[0][2], rows[1][2],
        "a value per statement stays the same"
    );
}

#[test]
fn execute_prepares_with_types_and_sends_literals() {
    let job = job();
    let (values, mut draw) = draw(&job);
    let statement = Statement::compile(&job, 1, "t1");
    assert_eq!(
        statement.prepare,
        "PREPARE s1_get_t1(bigint,bigint,bigint) AS SELECT $1 FROM t1 WHERE id IN ($2,$3)"
    );
    let mut out = Vec::new();
    statement
        .encode(&values, &mut draw, &Parameters::default(), &mut out)
        .unwrap();
    let text = String::from_utf8_lossy(&out[5..out.len() - 1]).into_owned();
    let arguments = text.strip_prefix("EXECUTE s1_get_t1(-7,").unwrap();
    assert_eq!(
        arguments.trim_end_matches(')').split(',').count(),
        2,
        "{text}"
    );
}

#[test]
fn a_number_too_large_for_its_parameter_is_an_error() {
    let mut job = job();
    job.values[0].maker = Maker::Constant(3_000_000_000);
    let (values, mut draw) = draw(&job);
    let statement = Statement::compile(&job, 2, "");
    let parameters = statement.parameters(&values, &[23, 25]).unwrap();
    let error = statement
        .encode(&values, &mut draw, &parameters, &mut Vec::new())
        .unwrap_err();
    assert_eq!(
        error,
        Overflow {
            number: 3_000_000_000,
            parameter: 1
        }
    );
    let wide = statement.parameters(&values, &[20, 25]).unwrap();
    let mut out = Vec::new();
    statement
        .encode(&values, &mut draw, &wide, &mut out)
        .unwrap();
    assert!(
        out.windows(8)
            .any(|bytes| bytes == 3_000_000_000_i64.to_be_bytes())
    );
    assert!(
        statement
            .parameters(&values, &[20, 23])
            .unwrap_err()
            .contains("$2")
    );
    assert!(statement.parameters(&values, &[20]).is_err());
}

#[test]
fn hundredths_are_written_with_their_point_and_no_integer_takes_them() {
    let mut job = job();
    job.values[0].maker = Maker::Constant(12_345);
    job.values[0].format = Format::Hundredths;
    let (values, mut draw) = draw(&job);
    let statement = Statement::compile(&job, 2, "");
    let mut out = Vec::new();
    let real = statement.parameters(&values, &[700, 25]).unwrap();
    statement
        .encode(&values, &mut draw, &real, &mut out)
        .unwrap();
    assert!(out.windows(6).any(|bytes| bytes == b"123.45"));
    let error = statement.parameters(&values, &[23, 25]).unwrap_err();
    assert!(error.contains("is a number with decimals"), "{error}");
    let literals = Statement::compile(&job, 1, "t1");
    let mut out = Vec::new();
    literals
        .encode(&values, &mut draw, &Parameters::default(), &mut out)
        .unwrap();
    assert!(out.ends_with(b"(-7,123.45,123.45)\0"));
}

#[test]
fn a_second_try_draws_the_same() {
    let job = job();
    let (values, mut draw) = draw(&job);
    let statement = Statement::compile(&job, 0, "t1");
    let mut tries = [Vec::new(), Vec::new(), Vec::new()];
    for (number, out) in [5, 5, 6].into_iter().zip(&mut tries) {
        draw.begin(number);
        statement
            .encode(&values, &mut draw, &Parameters::default(), out)
            .unwrap();
    }
    assert_eq!(tries[0], tries[1]);
    assert_ne!(tries[0], tries[2]);
}

const SAMPLES: &[u8] = br#"{"values": [true, "O'Brien", null]}"#;

/// A job of statements on values of a file, and the values with that file.
fn sampled(engine: &str, protocols: [&str; 2]) -> (Job, Values, Draw) {
    sampled_of(SAMPLES, engine, protocols)
}

fn sampled_of(samples: &[u8], engine: &str, protocols: [&str; 2]) -> (Job, Values, Draw) {
    let pieces =
        r#"["SELECT ", {"value": 0}, ", ", {"value": 1}, ", ", {"value": 2}, ", ", {"value": 0}]"#;
    let job = format!(
        r#"{{"protocol": 1, "seed": 1, "step": "s", "engine": "{engine}", "fake": {{"default_us": 1}}, "clients": 1,
            "server": {{"host": "/tmp", "port": 1, "user": "u", "database": "d"}},
            "samples": {{"ab": "unread"}},
            "values": [{{"name": "a", "format": "text", "sample": {{"of": "ab", "column": 0}}}},
                       {{"name": "b", "format": "text", "sample": {{"of": "ab", "column": 1}}}},
                       {{"name": "c", "format": "text", "sample": {{"of": "ab", "column": 2}}}}],
            "statements": [{{"name": "x", "protocol": "{}", "pieces": {pieces}}},
                           {{"name": "y", "protocol": "{}", "pieces": {pieces}}}],
            "programs": [{{"name": "p", "code": [["send", 0], ["send", 1]]}}],
            "roles": [{{"name": "r", "per": "client", "connections": 1, "choose": [{{"program": 0, "weight": 1}}],
                       "pace": {{"kind": "closed"}}}}],
            "stop": {{"seconds": 1}}}}"#,
        protocols[0], protocols[1]
    );
    let job = Job::parse(&job).unwrap();
    let values = Values::with(&job, Samples::of(vec![Tuples::parse(samples).unwrap()]));
    let mut draw = Draw::new(&job, &job.roles[0], 0);
    draw.begin(0);
    (job, values, draw)
}

#[test]
fn a_sample_is_a_literal_or_a_parameter_that_stands_once() {
    let (job, values, mut draw) = sampled("fake", ["simple", "extended"]);
    let mut out = Vec::new();
    Statement::compile(&job, 0, "")
        .encode(&values, &mut draw, &Parameters::default(), &mut out)
        .unwrap();
    assert_eq!(
        &out[5..out.len() - 1],
        b"SELECT true, 'O''Brien', NULL, true"
    );
    let statement = Statement::compile(&job, 1, "");
    assert_eq!(statement.sql, "SELECT $1, $2, $3, $1");
    // Integers are texts, too: whatever their type, the file may hold what does not fit it.
    let parameters = statement.parameters(&values, &[20, 25, 25]).unwrap();
    let mut out = Vec::new();
    statement
        .encode(&values, &mut draw, &parameters, &mut out)
        .unwrap();
    let bound = b"\0\x03\0\0\0\x04true\0\0\0\x07O'Brien\xff\xff\xff\xff";
    assert!(
        out.windows(bound.len()).any(|bytes| bytes == bound),
        "{out:?}"
    );
}

#[test]
fn a_sample_of_mysql_has_its_type_in_each_of_its_places() {
    let (job, values, mut draw) = sampled("mysql", ["prepared", "simple"]);
    let statement = Statement::compile(&job, 0, "");
    assert_eq!(statement.sql, "SELECT ?, ?, ?, ?");
    let parameters = Parameters::numbered(vec![7], 0);
    let mut out = Vec::new();
    let bound = parameters.bound(0, &mut [false]);
    statement
        .encode(&values, &mut draw, bound, &mut out)
        .unwrap();
    // Statement 7 once, the third parameter is NULL: BIGINT, VAR_STRING, NULL, BIGINT, then what these are.
    let expected = b"\x17\x07\0\0\0\0\x01\0\0\0\x04\x01\x08\0\xfd\0\x06\0\x08\0\x01\0\0\0\0\0\0\0\x07O'Brien\x01\0\0\0\0\0\0\0";
    assert_eq!(&out[4..], expected);
    let bound = parameters.bound(0, &mut [true]);
    let mut again = Vec::new();
    statement
        .encode(&values, &mut draw, bound, &mut again)
        .unwrap();
    assert_eq!(
        out, again,
        "types are declared each time, as another tuple may have others"
    );
}

#[test]
fn a_backslash_stands_in_mysqls_literals_as_the_session_takes_it() {
    let (job, values, mut draw) = sampled_of(
        br#"{"values": ["a\\'b", 1, 2]}"#,
        "mysql",
        ["simple", "simple"],
    );
    let statement = Statement::compile(&job, 0, "");
    for (plain, literal) in [(false, r"'a\\''b'"), (true, r"'a\''b'")] {
        let parameters = Parameters::default().with_backslashes(plain);
        let mut out = Vec::new();
        statement
            .encode(&values, &mut draw, &parameters, &mut out)
            .unwrap();
        let text = String::from_utf8(out[5..].to_vec()).unwrap();
        assert!(text.starts_with(&format!("SELECT {literal}, ")), "{text}");
    }
}

#[test]
fn a_bind_is_what_runs_a_prepared_statement_without_its_execution() {
    let job = job();
    let (values, mut draws) = draw(&job);
    let statement = Statement::compile(&job, 2, "");
    let kinds = vec![ParameterKind::Int8, ParameterKind::Text];
    let parameters = Parameters::new(kinds);
    let (mut whole, mut bound) = (Vec::new(), Vec::new());
    statement
        .encode(&values, &mut draws, &parameters, &mut whole)
        .unwrap();
    draws.begin(0);
    statement
        .bind(&values, &mut draws, &parameters, &mut bound)
        .unwrap();
    let sync = b"S\0\0\0\x04";
    let start = whole.len() - sync.len() - wire::postgres::EXECUTE.len();
    assert_eq!(&whole[start..], [wire::postgres::EXECUTE, sync].concat());
    whole.drain(start..whole.len() - sync.len());
    assert_eq!(bound, whole);
}
