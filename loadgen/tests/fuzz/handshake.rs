//! The first exchange of a session.

use crate::EXPLORED;
use crate::bound::bounded;
use crate::stream::{Part, message};
use bolero::{TypeGenerator, check};
use dyno_loadgen::session::postgres::{Framing, Handshake};
use dyno_loadgen::session::{Privacy, SessionError};

/// A password that appears in nothing else.
const PASSWORD: &str = "pä55word-of-the-test";

/// Rounds of hashing in a challenge: few, as each explored exchange pays for them.
const ITERATIONS: u32 = 3;

/// What a server does next in the exchange.
#[derive(Debug, Clone, TypeGenerator)]
enum Turn {
    /// Asks for a proof by that method.
    Ask { method: Method, data: Vec<u8> },
    /// Offers SCRAM.
    Offer,
    /// Answers the client's nonce with a challenge that fits it.
    Challenge { nonce: Vec<u8>, salt: u32 },
    /// Lets the client in.
    LetIn,
    /// Anything else.
    Other(Part),
}

#[derive(Debug, Clone, Copy, TypeGenerator)]
enum Method {
    Clear,
    Md5,
    Sasl,
    Continue,
    Final,
    Any(u32),
}

impl Method {
    fn number(self) -> u32 {
        match self {
            Self::Clear => 3,
            Self::Md5 => 5,
            Self::Sasl => 10,
            Self::Continue => 11,
            Self::Final => 12,
            Self::Any(number) => number,
        }
    }
}

fn authentication(method: u32, data: &[u8]) -> Vec<u8> {
    message(b'R', &[&method.to_be_bytes(), data].concat())
}

impl Turn {
    /// The bytes, after what the client has sent so far.
    fn bytes(&self, sent: &[u8]) -> Vec<u8> {
        match self {
            Self::Ask { method, data } => authentication(method.number(), data),
            Self::Offer => authentication(10, b"SCRAM-SHA-256\0\0"),
            Self::Challenge { nonce, salt } => {
                let sent = String::from_utf8_lossy(sent);
                let begun = sent.rsplit("r=").next().unwrap_or_default();
                let more: String = nonce
                    .iter()
                    .map(|byte| char::from(b'!' + byte % 11))
                    .collect();
                let text = format!("r={begun}{more},s={:08},i={ITERATIONS}", salt % 100_000_000);
                authentication(11, text.as_bytes())
            }
            Self::LetIn => authentication(0, b""),
            Self::Other(part) => part.bytes(),
        }
    }

    /// Whether the password may be sent in clear text after it.
    fn asks_for_clear_text(&self) -> bool {
        match self {
            Self::Ask { method, .. } => method.number() == 3,
            Self::Other(_) => true,
            _ => false,
        }
    }
}

/// Plays the exchange; whether the session is ready, or the error, and what was sent.
fn exchange(turns: &[Turn], privacy: Privacy) -> (Result<bool, SessionError>, Vec<u8>) {
    let mut handshake = Handshake::new("dyno", Some(PASSWORD));
    handshake.privacy = privacy;
    let (mut framing, mut sent) = (Framing::new(), Vec::new());
    for turn in turns {
        let bytes = turn.bytes(&sent);
        let mut input = &bytes[..];
        loop {
            let taken = match framing.next(&mut input, |_| true) {
                Ok(None) => break,
                Ok(Some(message)) => handshake.take(message.tag, message.body, &mut sent),
                Err(error) => Err(error),
            };
            match taken {
                Ok(false) => (),
                outcome => return (outcome, sent),
            }
        }
    }
    (Ok(false), sent)
}

#[test]
fn any_exchange_ends_without_the_password_in_its_words() {
    check!()
        .with_type::<(Vec<Turn>, bool)>()
        .with_test_time(EXPLORED)
        .for_each(|(turns, private)| {
            let length = 1024 * turns.len() + format!("{turns:?}").len();
            let privacy = if *private {
                Privacy::Tls
            } else {
                Privacy::Open
            };
            let (outcome, sent) = bounded(length, || exchange(turns, privacy));
            if let Err(error) = &outcome {
                let line = error.to_string();
                assert!(!line.contains(PASSWORD), "{line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
            let told = sent
                .windows(PASSWORD.len())
                .any(|bytes| bytes == PASSWORD.as_bytes());
            let asked = turns.iter().any(Turn::asks_for_clear_text);
            assert!(!told || (asked && *private), "the password to others");
        });
}

#[test]
fn a_challenge_that_fits_is_answered_by_a_proof() {
    let challenge = Turn::Challenge {
        nonce: vec![1, 2, 3],
        salt: 7,
    };
    let (outcome, sent) = exchange(&[Turn::Offer, challenge], Privacy::Open);
    assert!(!outcome.expect("goes on"));
    assert!(String::from_utf8_lossy(&sent).contains(",p="));
}
