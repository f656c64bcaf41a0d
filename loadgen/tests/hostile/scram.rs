//! Servers that cheat in the exchange by which both sides prove that they know the password.

use crate::script::{Act, authentication, message, ready, refused};
use dyno_loadgen::session::SessionError;

/// A script that offers SCRAM and then does what it likes.
fn offered(acts: &[Act]) -> Vec<Act> {
    let offer = authentication(10, b"SCRAM-SHA-256\0\0");
    [&[Act::Startup, Act::Send(offer)], acts].concat()
}

fn assert_no_entry(acts: &[Act], words: &str) {
    let error = refused(offered(acts));
    let SessionError::Auth(text) = &error else {
        panic!("another error: {error:?}")
    };
    assert!(text.contains("`dyno`") && text.contains(words), "{text}");
}

#[test]
fn a_challenge_that_is_none_is_refused() {
    for (challenge, words) in [
        ("r=other,s=c2FsdA==,i=4096", "invalid nonce"),
        ("r={nonce}x,s=c2FsdA==,i=2147483647", "iteration count"),
        ("r={nonce}x,s=c2FsdA==,i=100001", "iteration count"),
        ("r={nonce}x,s=c2FsdA==,i=4294967296", "challenge"),
        ("r={nonce}x,s=c2FsdA==,i=-1", "challenge"),
        ("r={nonce}x,s=???,i=4096", "challenge"),
        ("r={nonce}x", "challenge"),
        ("", "challenge"),
    ] {
        assert_no_entry(&[Act::Challenge(challenge), Act::Listen], words);
    }
}

#[test]
fn a_server_that_does_not_know_the_password_is_refused() {
    let challenge = Act::Challenge("r={nonce}x,s=c2FsdA==,i=4096");
    let let_in = [authentication(0, b""), ready()].concat();
    for (proof, words) in [
        (authentication(12, b"v=d3Jvbmc="), "SCRAM proof"),
        (authentication(12, b"e=invalid-proof"), "SCRAM proof"),
        (authentication(12, b"junk"), "SCRAM proof"),
        (let_in, "did not prove"),
    ] {
        assert_no_entry(
            &[
                challenge.clone(),
                Act::Request,
                Act::Send(proof),
                Act::Listen,
            ],
            words,
        );
    }
}

#[test]
fn a_server_that_skips_or_repeats_parts_is_refused() {
    let begun = authentication(10, b"SCRAM-SHA-256\0\0");
    let challenge = Act::Challenge("r={nonce}x,s=c2FsdA==,i=4096");
    let early = authentication(12, b"v=d3Jvbmc=");
    for acts in [
        vec![Act::Request, Act::Send(early)],
        vec![
            challenge.clone(),
            Act::Request,
            Act::Send(authentication(11, b"r=x,s=c2FsdA==,i=1")),
        ],
        vec![Act::Request, Act::Send(ready())],
        vec![Act::Request, Act::Send(message(b'K', &[0; 8]))],
        vec![
            Act::Request,
            Act::Send(begun),
            challenge,
            Act::Request,
            Act::Send(authentication(0, b"")),
        ],
    ] {
        let error = refused(offered(&[&acts[..], &[Act::Listen]].concat()));
        assert!(
            matches!(error, SessionError::Auth(_) | SessionError::Protocol(_)),
            "{acts:?}: {error:?}"
        );
    }
    for mechanisms in [&b"\0"[..], b"", b"SCRAM-SHA-512\0\0"] {
        let offer = Act::Send(authentication(10, mechanisms));
        let error = refused(vec![Act::Startup, offer, Act::Listen]);
        assert!(error.to_string().contains("SCRAM-SHA-256"), "{error}");
    }
}
