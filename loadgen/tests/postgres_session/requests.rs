//! Requests in all protocols, their answers, errors, captures, and connections that end.

use std::time::Duration;

use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::session::{Captured, ReadBuffer, Reply, ServerError, SessionError};
use dyno_loadgen::wire::postgres;
use rustix::event::{PollFd, PollFlags, poll};

use crate::server;

/// Sends what is in the output and receives until the answer is complete, as a worker does.
fn exchange(session: &mut PostgresSession, reply: &mut Reply) -> Result<(), SessionError> {
    let mut buffer = ReadBuffer::new();
    reply.clear();
    while !session.flush()? {
        wait(session, PollFlags::OUT);
    }
    while !session.receive(&mut buffer, reply)? {
        wait(session, PollFlags::IN);
    }
    Ok(())
}

fn wait(session: &PostgresSession, flags: PollFlags) {
    poll(&mut [PollFd::new(session, flags)], None).expect("poll");
}

fn encode_simple(session: &mut PostgresSession, sql: &str) {
    let output = session.output();
    output.clear();
    let mark = postgres::simple_begin(output);
    output.extend_from_slice(sql.as_bytes());
    postgres::simple_end(output, mark);
}

/// Runs SQL by the hot path.
fn simple(session: &mut PostgresSession, sql: &str) -> Result<Reply, SessionError> {
    encode_simple(session, sql);
    let mut reply = Reply::default();
    exchange(session, &mut reply)?;
    Ok(reply)
}

#[test]
fn a_simple_request_tells_the_rows_of_all_its_statements() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    for blocking in [true, false] {
        if !blocking {
            session.set_nonblocking().expect("set");
        }
        for (sql, rows) in [
            ("CREATE TEMP TABLE simple (id int)", 0),
            ("INSERT INTO simple SELECT generate_series(1, 50)", 50),
            ("UPDATE simple SET id = 0 WHERE id <= 7", 7),
            ("SELECT 1; SELECT generate_series(1, 20)", 21),
            ("COPY simple TO STDOUT", 50),
            ("DELETE FROM simple WHERE id > 48", 2),
            ("", 0),
            ("DROP TABLE simple", 0),
        ] {
            let reply = simple(&mut session, sql).expect(sql);
            assert_eq!((reply.rows, reply.error), (rows, None), "{sql}");
        }
    }
}

#[test]
fn an_error_is_reported_with_its_code_and_the_session_goes_on() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let reply = simple(&mut session, "SELECT 1/0").expect("an answer");
    let error = reply.error.expect("an error");
    assert_eq!(
        (error.code_text(), &*error.message),
        ("22012", "division by zero")
    );
    let SessionError::Server(error) = session.query("SELECT * FROM no_such").expect_err("none")
    else {
        panic!("another error")
    };
    assert_eq!(error.code_text(), "42P01");
    let SessionError::Server(_) = session.prepare("bad", "SELEC 1").expect_err("bad SQL") else {
        panic!("another error")
    };
    assert_eq!(simple(&mut session, "SELECT 1").expect("an answer").rows, 1);
    assert!(matches!(
        session.query("SELECT '\0'"),
        Err(SessionError::Protocol(_))
    ));
    assert_eq!(
        session
            .query("SELECT 7")
            .expect("an answer")
            .first_integer()
            .expect("7"),
        7
    );
}

/// Encodes an INSERT of one row of int4, int8 and text.
fn encode_row(output: &mut Vec<u8>, statement: &[u8], (a, b, c): (i32, i64, &str)) {
    let mark = postgres::bind_begin(output, statement, &[true, true, false]);
    postgres::parameter(output, |output| output.extend_from_slice(&a.to_be_bytes()));
    postgres::parameter(output, |output| output.extend_from_slice(&b.to_be_bytes()));
    postgres::parameter(output, |output| output.extend_from_slice(c.as_bytes()));
    postgres::bind_end(output, mark);
    postgres::execute_sync(output);
}

#[test]
fn prepared_and_extended_requests_carry_binary_and_text_parameters() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    session.set_nonblocking().expect("set");
    session
        .query("CREATE TEMP TABLE typed (a int4, b int8, c text)")
        .expect("a table");
    let sql = "INSERT INTO typed VALUES ($1, $2, $3)";
    let types = session.prepare("one", sql).expect("prepared");
    assert_eq!(types, [23, 20, 25], "the types int4, int8 and text");
    let mut reply = Reply::default();

    session.output().clear();
    encode_row(session.output(), b"one", (-7, i64::MIN, "prepared ä"));
    exchange(&mut session, &mut reply).expect("an answer");
    assert_eq!((reply.rows, &reply.error), (1, &None));

    session.output().clear();
    postgres::parse_unnamed(session.output(), sql.as_bytes(), &[]);
    encode_row(session.output(), b"", (i32::MAX, 1 << 40, ""));
    exchange(&mut session, &mut reply).expect("an answer");
    assert_eq!((reply.rows, &reply.error), (1, &None));

    let seen = session
        .query("SELECT a, b, c FROM typed ORDER BY a")
        .expect("rows")
        .rows;
    let texts: Vec<Vec<&str>> = seen
        .iter()
        .map(|row| {
            row.iter()
                .map(|value| value.as_deref().expect("set"))
                .collect()
        })
        .collect();
    assert_eq!(
        texts,
        [
            ["-7", "-9223372036854775808", "prepared ä"],
            ["2147483647", "1099511627776", ""],
        ]
    );
}

#[test]
fn an_error_of_a_prepared_request_is_followed_by_the_next_request() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    session
        .query("CREATE TEMP TABLE keyed (a int4 PRIMARY KEY, b int8, c text)")
        .expect("a table");
    session
        .prepare("one", "INSERT INTO keyed VALUES ($1, $2, $3)")
        .expect("prepared");
    let mut reply = Reply::default();
    for (key, code) in [(1, None), (1, Some("23505")), (2, None)] {
        session.output().clear();
        encode_row(session.output(), b"one", (key, 0, "x"));
        exchange(&mut session, &mut reply).expect("an answer");
        assert_eq!(reply.error.as_ref().map(ServerError::code_text), code);
        assert_eq!(reply.rows, u64::from(code.is_none()));
    }
}

#[test]
fn large_answers_are_passed_over_at_any_cut() {
    let Some(server) = server::shared() else {
        return;
    };
    for target in [server.target(), server.tcp("dyno", None)] {
        let mut session =
            PostgresSession::connect(&target, Duration::from_secs(10)).expect("let in");
        session.set_nonblocking().expect("set");
        let many = "SELECT g, repeat('x', g % 300) FROM generate_series(1, 40000) g";
        assert_eq!(simple(&mut session, many).expect("an answer").rows, 40_000);
        let wide = "SELECT repeat('y', 3000000), 1";
        assert_eq!(simple(&mut session, wide).expect("an answer").rows, 1);
        let after = session.query("SELECT 5").expect("an answer");
        assert_eq!(after.first_integer().expect("5"), 5);
        let kept = session.query(wide).expect("an answer").rows;
        assert_eq!(kept[0][0].as_ref().map(String::len), Some(3_000_000));
    }
}

#[test]
fn a_large_request_is_sent_in_pieces() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    session.set_nonblocking().expect("set");
    let sql = format!("SELECT length('{}')", "z".repeat(8 << 20));
    let mut is_sent_at_once = || {
        encode_simple(&mut session, &sql);
        let at_once = session.flush().expect("sent");
        let mut reply = Reply::default();
        exchange(&mut session, &mut reply).expect("an answer");
        assert_eq!((reply.rows, reply.error), (1, None));
        at_once
    };
    // 8 MiB do not fit into a socket, unless the server takes them as fast as they are sent.
    assert!((0..100).any(|_| !is_sent_at_once()));
}

#[test]
fn a_capture_keeps_columns_rows_and_notices_up_to_its_limit() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    session.capture(true);
    simple(&mut session, "SELECT 1 AS one, NULL AS none").expect("an answer");
    let kept = session.take_captured();
    assert_eq!(kept.columns, ["one", "none"]);
    assert_eq!(kept.rows, [[Some("1".to_owned()), None]]);
    assert_eq!(kept.affected, 1);

    let notices = "DO $$ BEGIN FOR i IN 1..1100 LOOP RAISE NOTICE 'number %', i; END LOOP; END $$";
    simple(&mut session, notices).expect("an answer");
    simple(&mut session, "SELECT generate_series(1, 1100)").expect("an answer");
    let kept = session.take_captured();
    assert_eq!(
        (kept.notices.len(), kept.rows.len(), kept.affected),
        (1000, 1000, 1100)
    );
    assert_eq!(kept.notices[999], "number 1000");

    session.capture(false);
    simple(&mut session, "SELECT 1").expect("an answer");
    assert_eq!(session.take_captured(), Captured::default());
}

#[test]
fn a_capture_outlives_a_query_beside_it() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    session.capture(true);
    simple(&mut session, "SELECT 1 AS mine").expect("an answer");
    session.query("SELECT 2 AS other").expect("an answer");
    assert_eq!(session.take_captured().columns, ["mine"]);
}

#[test]
fn a_backend_that_is_killed_at_work_is_lost_with_the_servers_reason() {
    let Some(server) = server::shared() else {
        return;
    };
    let (mut session, mut killer) = (server.session(), server.session());
    let pid = session.server_pid();
    let kill = format!(
        "SELECT pg_sleep(0.2), pg_terminate_backend({pid}) FROM pg_stat_activity WHERE pid = {pid}"
    );
    let thread = std::thread::spawn(move || killer.query(&kill).map(drop));
    encode_simple(&mut session, "SELECT pg_sleep(60)");
    let mut reply = Reply::default();
    let error = exchange(&mut session, &mut reply).expect_err("killed");
    thread.join().expect("ended").expect("killed it");
    let SessionError::Lost(text) = error else {
        panic!("another error: {error:?}")
    };
    assert!(text.contains("57P01"), "{text}");
    assert_eq!(reply.error.expect("the reason").code_text(), "57P01");
}

#[test]
fn a_backend_that_is_killed_while_idle_is_lost_at_the_next_request() {
    let Some(server) = server::shared() else {
        return;
    };
    let (mut session, mut killer) = (server.session(), server.session());
    let kill = format!("SELECT pg_terminate_backend({})", session.server_pid());
    killer.query(&kill).expect("killed it");
    std::thread::sleep(Duration::from_millis(200));
    for _ in 0..2 {
        let error = simple(&mut session, "SELECT 1").expect_err("gone");
        assert!(matches!(error, SessionError::Lost(_)), "{error:?}");
    }
}

#[test]
fn a_statement_that_asks_for_data_is_an_error_and_not_a_wait() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    session
        .query("CREATE TEMP TABLE asked (id int)")
        .expect("a table");
    let error = simple(&mut session, "COPY asked FROM STDIN").expect_err("no data");
    assert!(matches!(error, SessionError::Protocol(_)), "{error:?}");
    assert!(error.to_string().contains("`fills`"), "{error}");
}
