//! Servers that go wrong in their answers, as a worker's session sees it.

use crate::script::{Act, answer, error, let_in, message, ready, session};
use crate::worker::{ask, broken, worker};
use dyno_loadgen::session::{AnySession, ReadBuffer, Reply, SessionError};
use rustix::event::{PollFd, PollFlags, poll};

fn worker_session(acts: &[Act]) -> AnySession {
    worker(AnySession::Postgres(session(let_in(acts))))
}

fn assert_broken(acts: &[Act], words: &str) {
    for capturing in [false, true] {
        let error = broken(worker_session(acts), capturing);
        assert!(
            matches!(error, SessionError::Protocol(_)) && error.to_string().contains(words),
            "{acts:?}: {error:?}"
        );
    }
}

#[test]
fn an_answer_byte_by_byte_is_an_answer() {
    for capturing in [false, true] {
        let mut session = worker_session(&[Act::Request, Act::Trickle(answer()), Act::AnswerAll]);
        session.capture(capturing);
        for _ in 0..3 {
            let reply = ask(&mut session).expect("valid").expect("an answer");
            assert_eq!((reply.rows, reply.error), (1, None));
        }
    }
}

#[test]
fn a_server_that_closes_at_any_byte_of_an_answer_is_lost() {
    let whole = answer();
    for cut in 0..whole.len() {
        let acts = [Act::Request, Act::Send(whole[..cut].to_vec())];
        let mut session = worker_session(&acts);
        let error = ask(&mut session).expect_err("cut");
        assert!(matches!(error, SessionError::Lost(_)), "{cut}: {error:?}");
    }
}

#[test]
fn an_answer_too_many_is_an_error() {
    let twice = [answer(), answer()].concat();
    for answers in [twice, [answer(), ready()].concat()] {
        assert_broken(&[Act::AnswerAllWith(answers)], "nobody had asked for");
    }
}

#[test]
fn an_answer_without_a_request_is_an_error() {
    let mut session = worker_session(&[Act::Answer(1), Act::Send(answer()), Act::Listen]);
    ask(&mut session).expect("valid").expect("an answer");
    poll(&mut [PollFd::new(&session, PollFlags::IN)], None).expect("poll");
    let received = session.receive(&mut ReadBuffer::new(), &mut Reply::default());
    assert!(matches!(received, Err(SessionError::Protocol(_))));
}

#[test]
fn what_does_not_belong_into_an_answer_is_an_error() {
    for (bytes, words) in [
        (message(b'G', b"\0\0\0"), "`fills`"),
        (message(b'W', b"\0\0\0"), "`W`"),
        (message(b'R', &[0; 4]), "`R`"),
        (message(b'K', &[0; 8]), "`K`"),
        (message(0xff, b""), "`\\xff`"),
        (message(b'C', b""), "does not end"),
        (message(b'C', b"SELECT 1"), "does not end"),
        (message(b'C', b"SELECT 99999999999999999999\0"), "more rows"),
        (message(b'E', b"Mno end"), "does not end"),
        (b"C\x7f\xff\xff\xff".to_vec(), "2147483643 bytes"),
        (b"E\x04\0\0\x05".to_vec(), "67108865 bytes"),
        (b"D\xff\xff\xff\xff".to_vec(), "-1 bytes"),
        (b"D\0\0\0\x03".to_vec(), "3 bytes"),
    ] {
        assert_broken(&[Act::AnswerAllWith(bytes)], words);
    }
}

#[test]
fn rows_that_are_too_short_are_an_error_to_who_keeps_them() {
    for bytes in [
        message(b'T', b"\xff\xff"),
        message(b'T', b"\0\x01name without its end"),
        message(b'D', b"\0\x01\0\0\0\x09short"),
        message(b'D', b"\xff\xff\xff\xff"),
        message(b't', b"\xff\xff"),
    ] {
        let error = broken(worker_session(&[Act::AnswerAllWith(bytes)]), true);
        assert!(matches!(error, SessionError::Protocol(_)), "{error:?}");
    }
}

#[test]
fn a_row_without_end_leaves_a_worker_its_time_and_its_memory() {
    let endless = [b"D\x7f\xff\xff\xff".to_vec(), vec![0; 1 << 20]].concat();
    let before = peak_rss_bytes();
    let mut session = worker_session(&[Act::Request, Act::Send(endless), Act::Listen]);
    assert!(ask(&mut session).expect("not wrong so far").is_none());
    let more = peak_rss_bytes().saturating_sub(before);
    assert!(more < 512 << 20, "{more} bytes");
}

#[test]
fn messages_without_end_leave_a_worker_its_time() {
    let row = message(b'D', b"\0\x01\0\0\0\x011");
    for bytes in [error(b'N', "00000", "note"), message(b'S', b"a\0b\0"), row] {
        for capturing in [false, true] {
            let mut session = worker_session(&[Act::Request, Act::Endless(bytes.clone())]);
            session.capture(capturing);
            assert!(ask(&mut session).expect("not wrong so far").is_none());
        }
    }
}

/// The most memory that this process has had.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() * 1024
}
